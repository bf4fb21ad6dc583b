/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/options.h"

#include <stddef.h>
#include <unistd.h>

#include "controller/debug/socket.h"
#include "controller/http/server.h"
#include "controller/skew/probe_account.h"

#define AT(member) .offset = offsetof(struct ek_run_options, member)

static const struct ek_flag cluster_flags[] = {
    EK_CLUSTER_FLAGS(struct ek_run_options, cluster),
    {.name = "probe-service-account",
     .type = EK_FLAG_STRING,
     AT(probe_account),
     .initial = EK_PROBE_ACCOUNT_DEFAULT,
     .help = EK_PROBE_ACCOUNT_HELP,
     .check = ek_probe_account_check},
};

static const struct ek_flag subject_flags[] = {
    {.name = "subjects",
     .type = EK_FLAG_STRINGS,
     AT(subjects),
     .help = "The `subjects` to run, separated by commas: skew, policies, gates, plans, "
             "failforward; by "
             "default all. Without policies and gates, no webhook is served. policies, gates and "
             "plans need skew"},
};

static const struct ek_flag election_flags[] = {
    {.name = "leader-elect",
     .type = EK_FLAG_BOOL,
     AT(leader_elect),
     .initial = "false",
     .help = "Elect a leader among the replicas; only the leader writes to the cluster"},
    {.name = "leader-election-namespace",
     .type = EK_FLAG_STRING,
     AT(election_namespace),
     .help = "`namespace` of the Lease; by default the namespace of the pod"},
    {.name = "leader-election-id",
     .type = EK_FLAG_STRING,
     AT(election_name),
     .initial = "evenkeel-leader",
     .help = "`name` of the Lease"},
    {.name = "leader-election-lease-duration",
     .type = EK_FLAG_DURATION,
     AT(lease_duration_ms),
     .initial = "15s",
     .help = "How long other replicas wait before they acquire a Lease that is not renewed"},
    {.name = "leader-election-renew-deadline",
     .type = EK_FLAG_DURATION,
     AT(renew_deadline_ms),
     .initial = "10s",
     .help = "How long the leader tries to renew the Lease before it gives up and exits"},
    {.name = "leader-election-retry-period",
     .type = EK_FLAG_DURATION,
     AT(retry_period_ms),
     .initial = "2s",
     .help = "Time between two attempts to acquire or renew the Lease"},
    {.name = "leader-election-release-on-cancel",
     .type = EK_FLAG_BOOL,
     AT(release_on_cancel),
     .initial = "true",
     .help = "Release the Lease on a clean stop, so that another replica leads at once"},
};

static const struct ek_flag serving_flags[] = {
    {.name = "health-probe-bind-address",
     .type = EK_FLAG_STRING,
     AT(health_address),
     .initial = ":8081",
     .help = "`address` of /healthz and /readyz; 0 disables both",
     .check = ek_http_address_check},
    {.name = "metrics-bind-address",
     .type = EK_FLAG_STRING,
     AT(metrics_address),
     .initial = "0",
     .help = "`address` of /metrics and /debug/ui, \":8443\" for HTTPS or \":8080\" for HTTP; 0 "
             "disables both",
     .check = ek_http_address_check},
    {.name = "metrics-secure",
     .type = EK_FLAG_BOOL,
     AT(metrics_secure),
     .initial = "true",
     .help = "Serve /metrics and /debug/ui over HTTPS to authenticated and authorized clients; "
             "false means plain HTTP, without /debug/ui"},
    {.name = "metrics-cert-path",
     .type = EK_FLAG_STRING,
     AT(metrics_cert_path),
     .help = "`folder` with the serving certificate of /metrics and of discovery; by default a "
             "self-signed certificate is made"},
    {.name = "metrics-cert-name",
     .type = EK_FLAG_STRING,
     AT(metrics_cert_name),
     .initial = "tls.crt",
     .help = "`file` name of that serving certificate"},
    {.name = "metrics-cert-key",
     .type = EK_FLAG_STRING,
     AT(metrics_cert_key),
     .initial = "tls.key",
     .help = "`file` name of the key of that certificate"},
    {.name = "discovery-bind-address",
     .type = EK_FLAG_STRING,
     AT(discovery_address),
     .initial = "0",
     .help =
         "`address` of /api, /apis, /openapi and /version, such as \":6443\": the merged discovery "
         "documents and schemas of all API servers, over HTTPS to authenticated and authorized "
         "clients; 0 disables them. Needs the subject skew",
     .check = ek_http_address_check},
    {.name = "enable-http2",
     .type = EK_FLAG_BOOL,
     AT(enable_http2),
     .initial = "false",
     .help = "Accepted for compatibility; HTTP/2 is not served"},
    {.name = "debug-socket",
     .type = EK_FLAG_STRING,
     AT(debug_socket),
     .initial = EK_DEBUG_SOCKET_DEFAULT,
     .help = "Abstract `socket` for `evenkeel debug`; 0 disables the socket"},
};

static const struct ek_flag webhook_flags[] = {
    {.name = "webhook-bind-address",
     .type = EK_FLAG_STRING,
     AT(webhook_address),
     .initial = ":9443",
     .help = "`address` of the admission webhook; 0 disables the webhook",
     .check = ek_http_address_check},
    {.name = "webhook-threads",
     .type = EK_FLAG_INT,
     AT(webhook_threads),
     .initial = "0",
     .help = "Number of threads that serve the webhook, as far as the memory budget allows; 0 "
             "means one for each core, at most 4"},
    {.name = "webhook-memory-budget",
     .type = EK_FLAG_STRING,
     AT(webhook_memory),
     .help = "Maximum `memory` for admission requests and their connections, such as \"128Mi\"; by "
             "default half of the memory limit of the container"},
    {.name = "webhook-cert-path",
     .type = EK_FLAG_STRING,
     AT(webhook_cert_path),
     .help = "`folder` with the serving certificate of the webhook and ca.crt; by default Evenkeel "
             "makes and renews a certificate in a Secret"},
    {.name = "webhook-cert-name",
     .type = EK_FLAG_STRING,
     AT(webhook_cert_name),
     .initial = "tls.crt",
     .help = "`file` name of the serving certificate of the webhook"},
    {.name = "webhook-cert-key",
     .type = EK_FLAG_STRING,
     AT(webhook_cert_key),
     .initial = "tls.key",
     .help = "`file` name of the key of that certificate"},
    {.name = "webhook-cert-hosts",
     .type = EK_FLAG_STRINGS,
     AT(webhook_cert_hosts),
     .help = "Further DNS `names` and IP addresses of the certificate that Evenkeel makes, such as "
             "the name of the Service of `evenkeel proxy`"},
    {.name = "webhook-namespace",
     .type = EK_FLAG_STRING,
     AT(webhook_namespace),
     .help = "`namespace` of the Service and the Secret of the webhook; by default the namespace "
             "of the pod"},
    {.name = "webhook-service-name",
     .type = EK_FLAG_STRING,
     AT(webhook_service_name),
     .initial = "evenkeel-webhook",
     .help = "`name` of the Service through which API servers call the webhook"},
    {.name = "webhook-secret-name",
     .type = EK_FLAG_STRING,
     AT(webhook_secret_name),
     .initial = "evenkeel-webhook-cert",
     .help = "`name` of the Secret with the certificates that Evenkeel makes for the webhook"},
    {.name = "webhook-url",
     .type = EK_FLAG_STRING,
     AT(webhook_url),
     .help = "`url` at which API servers call the webhook instead of the Service, such as "
             "\"https://10.0.0.7:9443\""},
    {.name = "webhook-client-ca-file",
     .type = EK_FLAG_STRING,
     AT(webhook_client_ca_file),
     .help = "`file` with the certificate authorities of clients; API servers must then present a "
             "client certificate (AdmissionConfiguration, kubeConfigFile)"},
    {.name = "webhook-client-names",
     .type = EK_FLAG_STRING,
     AT(webhook_client_names),
     .help = "`names`, separated by commas, of which a client certificate must have one as common "
             "name or DNS name; by default any name is accepted"},
    {.name = "webhook-callers",
     .type = EK_FLAG_STRING,
     AT(webhook_callers),
     .initial = "apiservers",
     .help = "`addresses` whose reviews count if no client certificates are required: apiservers, "
             "prefixes such as 10.0.0.0/8, or any"},
    {.name = "webhook-refuse-unproven",
     .type = EK_FLAG_BOOL,
     AT(webhook_refuse_unproven),
     .initial = "false",
     .help = "Refuse reviews from other addresses, instead of responding without counting them"},
    {.name = "webhook-kube-system",
     .type = EK_FLAG_BOOL,
     AT(webhook_kube_system),
     .initial = "false",
     .help = "Mutate objects and gate fields in kube-system and kube-node-lease also, where a "
             "fault can stop "
             "the cluster"},
};

static const struct ek_flag log_flags[] = {
    {.name = "zap-devel",
     .type = EK_FLAG_BOOL,
     AT(zap_devel),
     .initial = "false",
     .help = "Use development defaults: console encoder, debug level"},
    {.name = "zap-encoder",
     .type = EK_FLAG_STRING,
     AT(zap_encoder),
     .help = "`encoding` of the log: json or console"},
    {.name = "zap-log-level",
     .type = EK_FLAG_STRING,
     AT(zap_level),
     .help = "`level` of the log: debug, info, error, panic, or a number above 0"},
    {.name = "zap-time-encoding",
     .type = EK_FLAG_STRING,
     AT(zap_time),
     .initial = "rfc3339",
     .help = "`encoding` of times: epoch, millis, nano, iso8601, rfc3339 or rfc3339nano"},
    {.name = "zap-stacktrace-level",
     .type = EK_FLAG_STRING,
     AT(zap_stacktrace),
     .initial = "error",
     .help = "Accepted for compatibility; logs contain no stack traces"},
};

const struct ek_flag_group ek_run_cluster_group = {"Flags", cluster_flags,
                                                   EK_ARRAY_SIZE(cluster_flags)};
static const struct ek_flag_group subject_group = {"Subject flags", subject_flags,
                                                   EK_ARRAY_SIZE(subject_flags)};
static const struct ek_flag_group election_group = {"Leader election flags", election_flags,
                                                    EK_ARRAY_SIZE(election_flags)};
static const struct ek_flag_group serving_group = {"Serving flags", serving_flags,
                                                   EK_ARRAY_SIZE(serving_flags)};
static const struct ek_flag_group webhook_group = {"Webhook flags", webhook_flags,
                                                   EK_ARRAY_SIZE(webhook_flags)};
const struct ek_flag_group ek_run_log_group = {"Logging flags", log_flags,
                                               EK_ARRAY_SIZE(log_flags)};

const struct ek_flag_group *const ek_run_flag_groups[EK_RUN_FLAG_GROUPS] = {
    &ek_run_cluster_group, &subject_group, &election_group,
    &serving_group,        &webhook_group, &ek_run_log_group};

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
