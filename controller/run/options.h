/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of `evenkeel run`, named as controller-runtime's scaffold names them, so that
 * manifests carry over (kubebuilder's cmd/main.go; controller-runtime 86a0d40
 * pkg/log/zap/zap.go:BindFlags).
 */
#ifndef CONTROLLER_RUN_OPTIONS_H
#define CONTROLLER_RUN_OPTIONS_H

#include "controller/cli/commands.h"
#include "controller/telemetry/log.h"

struct ek_run_options {
    struct ek_cluster_options cluster;
    const char *probe_account;
    struct ek_flag_list subjects; /* none: all */

    bool leader_elect;
    bool release_on_cancel;
    const char *election_namespace;
    const char *election_name;
    int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;

    const char *health_address;
    const char *metrics_address;
    bool metrics_secure;
    const char *metrics_cert_path, *metrics_cert_name, *metrics_cert_key;
    const char *discovery_address;
    bool enable_http2; /* accepted because deployments pass it; HTTP/2 is never served */

    const char *webhook_address;
    int64_t webhook_threads;    /* 0: by the machine */
    const char *webhook_memory; /* "": by the container's limit */
    const char *webhook_cert_path, *webhook_cert_name, *webhook_cert_key;
    struct ek_flag_list webhook_cert_hosts; /* further names in the certificate that is made */
    const char *webhook_namespace;          /* "": the pod's */
    const char *webhook_service_name, *webhook_secret_name;
    const char *webhook_url; /* "": by the service */
    const char *webhook_client_ca_file, *webhook_client_names;
    const char *webhook_callers;
    bool webhook_refuse_unproven;
    bool webhook_kube_system;

    const char *debug_socket; /* "0": none */

    bool zap_devel;
    const char *zap_encoder, *zap_level, *zap_time, *zap_stacktrace;
};

/* The cluster and the log, for a command whose options begin with a struct ek_run_options. */
extern const struct ek_flag_group ek_run_cluster_group, ek_run_log_group;

#define EK_RUN_FLAG_GROUPS 6
extern const struct ek_flag_group *const ek_run_flag_groups[EK_RUN_FLAG_GROUPS];

/* Makes the log that the flags ask for. Errors: EK_E_INVAL naming the flag. */
int ek_run_options_log(const struct ek_run_options *options, struct ek_log **ret_log,
                       struct ek_err *err);

#endif
