/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of `evenkeel run`, named as controller-runtime's scaffold names them, so that
 * manifests and habits carry over (ecosystem sheet, section 1, "Core flags" and "Log flags").
 */
#ifndef CONTROLLER_RUN_OPTIONS_H
#define CONTROLLER_RUN_OPTIONS_H

#include "controller/commands.h"
#include "controller/log.h"

struct ek_run_options {
    struct ek_cluster_options cluster;

    bool leader_elect;
    bool release_on_cancel;
    const char *election_namespace;
    const char *election_name;
    int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;

    const char *health_address;
    const char *metrics_address;
    bool metrics_secure;
    const char *metrics_cert_path, *metrics_cert_name, *metrics_cert_key;
    bool enable_http2; /* accepted because deployments pass it; HTTP/2 is never served */

    const char *webhook_address;
    int64_t webhook_threads; /* 0: by the machine */
    const char *webhook_cert_path, *webhook_cert_name, *webhook_cert_key;
    const char *webhook_namespace; /* "": the pod's */
    const char *webhook_service_name, *webhook_secret_name;
    const char *webhook_url; /* "": by the service */
    bool webhook_kube_system;

    const char *debug_socket; /* "0": none */

    bool zap_devel;
    const char *zap_encoder, *zap_level, *zap_time, *zap_stacktrace;
};

extern const struct ek_flag_group *const ek_run_flag_groups[];
extern const size_t ek_run_n_flag_groups;

/* Makes the log that the flags ask for. Errors: EK_E_INVAL naming the flag. */
int ek_run_options_log(const struct ek_run_options *options, struct ek_log **ret_log,
                       struct ek_err *err);

#endif
