/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run_options.h"

#include <stddef.h>
#include <unistd.h>

#include "controller/debug_socket.h"

#define AT(member) .offset = offsetof(struct ek_run_options, member)

static const struct ek_flag cluster_flags[] = {
    EK_CLUSTER_FLAGS(struct ek_run_options, cluster),
};

static const struct ek_flag election_flags[] = {
    {.name = "leader-elect",
     .type = EK_FLAG_BOOL,
     AT(leader_elect),
     .initial = "false",
     .help = "Elect a leader among the replicas; only the leader writes"},
    {.name = "leader-election-namespace",
     .type = EK_FLAG_STRING,
     AT(election_namespace),
     .help = "`namespace` of the Lease; by default the pod's own"},
    {.name = "leader-election-id",
     .type = EK_FLAG_STRING,
     AT(election_name),
     .initial = "evenkeel-leader",
     .help = "`name` of the Lease"},
    {.name = "leader-election-lease-duration",
     .type = EK_FLAG_DURATION,
     AT(lease_duration_ms),
     .initial = "15s",
     .help = "How long others wait before they take over an unrenewed lease"},
    {.name = "leader-election-renew-deadline",
     .type = EK_FLAG_DURATION,
     AT(renew_deadline_ms),
     .initial = "10s",
     .help = "How long the leader tries to renew before it gives up and exits"},
    {.name = "leader-election-retry-period",
     .type = EK_FLAG_DURATION,
     AT(retry_period_ms),
     .initial = "2s",
     .help = "Time between two tries"},
    {.name = "leader-election-release-on-cancel",
     .type = EK_FLAG_BOOL,
     AT(release_on_cancel),
     .initial = "true",
     .help = "Give the lease back on a clean stop, so that another leads at once"},
};

static const struct ek_flag serving_flags[] = {
    {.name = "health-probe-bind-address",
     .type = EK_FLAG_STRING,
     AT(health_address),
     .initial = ":8081",
     .help = "`address` of /healthz and /readyz; 0 switches them off"},
    {.name = "metrics-bind-address",
     .type = EK_FLAG_STRING,
     AT(metrics_address),
     .initial = "0",
     .help = "`address` of /metrics, \":8443\" for HTTPS or \":8080\" for HTTP; 0 switches it off"},
    {.name = "metrics-secure",
     .type = EK_FLAG_BOOL,
     AT(metrics_secure),
     .initial = "true",
     .help = "Serve /metrics by HTTPS to authenticated and authorized clients; false: plain HTTP"},
    {.name = "metrics-cert-path",
     .type = EK_FLAG_STRING,
     AT(metrics_cert_path),
     .help = "`folder` with the serving certificate of /metrics; without it one is made"},
    {.name = "metrics-cert-name",
     .type = EK_FLAG_STRING,
     AT(metrics_cert_name),
     .initial = "tls.crt",
     .help = "`file` name of the certificate"},
    {.name = "metrics-cert-key",
     .type = EK_FLAG_STRING,
     AT(metrics_cert_key),
     .initial = "tls.key",
     .help = "`file` name of the key"},
    {.name = "enable-http2",
     .type = EK_FLAG_BOOL,
     AT(enable_http2),
     .initial = "false",
     .help = "Accepted for compatibility; HTTP/2 is not served"},
    {.name = "debug-socket",
     .type = EK_FLAG_STRING,
     AT(debug_socket),
     .initial = EK_DEBUG_SOCKET_DEFAULT,
     .help = "Abstract `socket` at which `evenkeel debug` is answered; 0 switches it off"},
};

static const struct ek_flag webhook_flags[] = {
    {.name = "webhook-bind-address",
     .type = EK_FLAG_STRING,
     AT(webhook_address),
     .initial = ":9443",
     .help = "`address` of the admission webhook; 0 switches it off"},
    {.name = "webhook-threads",
     .type = EK_FLAG_INT,
     AT(webhook_threads),
     .initial = "0",
     .help = "How many threads serve it; 0: one per core, at most 4"},
    {.name = "webhook-cert-path",
     .type = EK_FLAG_STRING,
     AT(webhook_cert_path),
     .help = "`folder` with its serving certificate (and ca.crt); without it one is made and "
             "renewed in a Secret"},
    {.name = "webhook-cert-name",
     .type = EK_FLAG_STRING,
     AT(webhook_cert_name),
     .initial = "tls.crt",
     .help = "`file` name of the certificate"},
    {.name = "webhook-cert-key",
     .type = EK_FLAG_STRING,
     AT(webhook_cert_key),
     .initial = "tls.key",
     .help = "`file` name of the key"},
    {.name = "webhook-namespace",
     .type = EK_FLAG_STRING,
     AT(webhook_namespace),
     .help = "`namespace` of its Service and Secret; by default the pod's own"},
    {.name = "webhook-service-name",
     .type = EK_FLAG_STRING,
     AT(webhook_service_name),
     .initial = "evenkeel-webhook",
     .help = "`name` of the Service that API servers reach it by"},
    {.name = "webhook-secret-name",
     .type = EK_FLAG_STRING,
     AT(webhook_secret_name),
     .initial = "evenkeel-webhook-cert",
     .help = "`name` of the Secret that its own certificates are kept in"},
    {.name = "webhook-url",
     .type = EK_FLAG_STRING,
     AT(webhook_url),
     .help = "`url` that API servers reach it by instead, \"https://10.0.0.7:9443\""},
    {.name = "webhook-kube-system",
     .type = EK_FLAG_BOOL,
     AT(webhook_kube_system),
     .initial = "false",
     .help =
         "Mutate in kube-system and kube-node-lease, and gate fields in kube-system, too, where a "
         "fault can stop the cluster"},
};

static const struct ek_flag log_flags[] = {
    {.name = "zap-devel",
     .type = EK_FLAG_BOOL,
     AT(zap_devel),
     .initial = "false",
     .help = "Development defaults: console encoder, debug level"},
    {.name = "zap-encoder", .type = EK_FLAG_STRING, AT(zap_encoder), .help = "`json` or console"},
    {.name = "zap-log-level",
     .type = EK_FLAG_STRING,
     AT(zap_level),
     .help = "debug, `info`, error, panic, or a number above 0"},
    {.name = "zap-time-encoding",
     .type = EK_FLAG_STRING,
     AT(zap_time),
     .initial = "rfc3339",
     .help = "epoch, millis, nano, iso8601, `rfc3339` or rfc3339nano"},
    {.name = "zap-stacktrace-level",
     .type = EK_FLAG_STRING,
     AT(zap_stacktrace),
     .initial = "error",
     .help = "Accepted for compatibility; there are no stack traces"},
};

static const struct ek_flag_group cluster_group = {"Flags", cluster_flags,
                                                   EK_ARRAY_SIZE(cluster_flags)};
static const struct ek_flag_group election_group = {"Leader election flags", election_flags,
                                                    EK_ARRAY_SIZE(election_flags)};
static const struct ek_flag_group serving_group = {"Serving flags", serving_flags,
                                                   EK_ARRAY_SIZE(serving_flags)};
static const struct ek_flag_group webhook_group = {"Webhook flags", webhook_flags,
                                                   EK_ARRAY_SIZE(webhook_flags)};
static const struct ek_flag_group log_group = {"Logging flags", log_flags,
                                               EK_ARRAY_SIZE(log_flags)};

const struct ek_flag_group *const ek_run_flag_groups[] = {
    &cluster_group, &election_group, &serving_group, &webhook_group, &log_group};
const size_t ek_run_n_flag_groups = EK_ARRAY_SIZE(ek_run_flag_groups);

int ek_run_options_log(const struct ek_run_options *options, struct ek_log **ret_log,
                       struct ek_err *err)
{
    const char *encoder = options->zap_devel ? "console" : "json";
    const char *level = options->zap_devel ? "debug" : "info";
    struct ek_log_config config = {.fd = STDERR_FILENO, .now_ns = ek_log_wall_clock};

    int rc = ek_log_encoder_parse(*options->zap_encoder ? options->zap_encoder : encoder,
                                  &config.encoder, err);
    if (rc)
        return ek_err_prefix(err, "--zap-encoder");
    rc = ek_log_level_parse(*options->zap_level ? options->zap_level : level, &config.level, err);
    if (rc)
        return ek_err_prefix(err, "--zap-log-level");
    rc = ek_log_time_parse(options->zap_time, &config.time_encoding, err);
    if (rc)
        return ek_err_prefix(err, "--zap-time-encoding");
    rc = ek_log_stacktrace_parse(options->zap_stacktrace, err);
    if (rc)
        return ek_err_prefix(err, "--zap-stacktrace-level");
    *ret_log = ek_log_new(&config);
    return 0;
}
