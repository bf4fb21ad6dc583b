/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_options.h"

#include <stddef.h>

#include "controller/http/server.h"
#include "controller/proxy/egress.h"
#include "controller/run/proxy_debug.h"
#include "reconcilers/proxy/fields.h"

#define AT(member) .offset = offsetof(struct ek_proxy_command_options, member)

/* All connections that the proxy takes, of any client (controller/proxy/proxy.h). */
#define CONNECTIONS_MAX 10000
#define REQUESTS_MAX    100000
#define ANSWER_MAX_MS   3600000

/* As spec.peers.probeInterval of a ControlPlane. */
#define DISCOVERY_MIN_MS 1000
#define DISCOVERY_MAX_MS 600000
#define DELAY_MAX_MS     600000

/* As API servers keep the user of a token (controller/proxy/grants.h). */
#define GRANT_MAX_MS 10000

_Static_assert(offsetof(struct ek_proxy_command_options, run) == 0, "shared groups fill run");

/* Without this listener there is no proxy. */
static int check_address(const char *value, struct ek_err *err)
{
    struct sockaddr_storage ignored;

    return ek_http_address_parse(value, &ignored, err);
}

static const struct ek_flag proxy_flags[] = {
    {.name = "config",
     .type = EK_FLAG_STRING,
     AT(config),
     .help = "`file` in YAML whose members are flags, such as \"bind-address: 10.0.0.1:7443\"; a "
             "flag of the command line replaces the member"},
    {.name = "bind-address",
     .type = EK_FLAG_STRING,
     AT(bind_address),
     .initial = ":7443",
     .help = "`address` at which clients connect",
     .check = check_address},
    {.name = "tls-cert-file",
     .type = EK_FLAG_STRING,
     AT(tls_cert_file),
     .help = "`file` with the serving certificate, followed by its intermediates; required, and "
             "read again when the file changes"},
    {.name = "tls-private-key-file",
     .type = EK_FLAG_STRING,
     AT(tls_private_key_file),
     .help = "`file` with the key of the serving certificate; required"},
    {.name = "client-ca-file",
     .type = EK_FLAG_STRING,
     AT(client_ca_file),
     .help = "`file` with the certificate authorities of clients, as the API servers have them; "
             "then clients may authenticate by certificate. By default only tokens identify "
             "clients"},
    {.name = "proxy-client-cert-file",
     .type = EK_FLAG_STRING,
     AT(proxy_client_cert_file),
     .help = "`file` with the front-proxy certificate, with which the proxy hands on the users of "
             "client certificates; this, or --impersonate, is required with --client-ca-file"},
    {.name = "proxy-client-key-file",
     .type = EK_FLAG_STRING,
     AT(proxy_client_key_file),
     .help = "`file` with the key of the front-proxy certificate"},
    {.name = "impersonate",
     .type = EK_FLAG_BOOL,
     AT(impersonate),
     .initial = "false",
     .help = "Hand on the users of client certificates by impersonation, with the token or the "
             "certificate of the kubeconfig or of the service account, which RBAC must allow to "
             "impersonate these users and groups"},
    {.name = "peer-ca-file",
     .type = EK_FLAG_STRING,
     AT(peer_ca_file),
     .help = "`file` with the certificate authorities of the API servers; by default those of the "
             "kubeconfig or of the service account"},
    {.name = "fallback-servers",
     .type = EK_FLAG_STRINGS,
     AT(fallback_servers),
     .help =
         "`addresses` (HOST:PORT) of API servers that the proxy reads the cluster from while the "
         "server of the kubeconfig does not answer. Each proves kubernetes.default.svc by the "
         "certificate authority of the kubeconfig"},
    {.name = "egress-proxy",
     .type = EK_FLAG_STRING,
     AT(egress_proxy),
     .help = "`URL` of an HTTP proxy, such as http://10.0.0.5:3128, by which API servers are "
             "requested and probed (CONNECT); the host is an IP address. By default API servers "
             "are reached directly, whatever the environment says"},
    {.name = "identity-headers",
     .type = EK_FLAG_STRINGS,
     AT(identity_headers),
     .help = "`names` of further headers from which the API servers take an identity. The proxy "
             "removes these headers from requests, as it removes X-Remote-*. It removes by itself, "
             "with the front-proxy certificate, what the flags of API servers name that begin with "
             "requestheader (ConfigMap kube-system/extension-apiserver-authentication)"},
    {.name = "identity-header-prefixes",
     .type = EK_FLAG_STRINGS,
     AT(identity_header_prefixes),
     .help = "`prefixes` of such headers"},
    {.name = "peer-bytes-per-second",
     .type = EK_FLAG_INT,
     AT(peer_rate),
     .initial = "0",
     .help = "How many bytes a second go to and from API servers, all of them together; 0 means "
             "no cap"},
    {.name = "connections-per-client",
     .type = EK_FLAG_INT,
     AT(client_connections),
     .initial = "1000",
     .help = "How many connections one client address may have at once, from 1 to 10000. Behind a "
             "load balancer or a gateway that replaces addresses, all clients have one address"},
    {.name = "requests-per-client",
     .type = EK_FLAG_INT,
     AT(client_requests),
     .initial = "2000",
     .help = "How many requests one client address may have under way at once, watches included, "
             "from 1 to 100000; then 429"},
    {.name = "response-timeout",
     .type = EK_FLAG_DURATION,
     AT(answer_ms),
     .initial = "75s",
     .help =
         "How long an API server may take to begin its response, from 1s to 1h; then 503. Set "
         "a longer time than --request-timeout of the API servers (60s). Watches, logs and exec "
         "have no such limit"},
    {.name = "access-log",
     .type = EK_FLAG_BOOL,
     AT(access_log),
     .initial = "false",
     .help = "Log each request at level info"},
    {.name = "discovery-interval",
     .type = EK_FLAG_DURATION,
     AT(discovery_ms),
     .initial = "5s",
     .help =
         "Time between two reads of the discovery documents of an API server, from 1s to 10m; a "
         "document that has not changed is not sent again"},
    {.name = "discovery-permission-ttl",
     .type = EK_FLAG_DURATION,
     AT(grant_ms),
     .initial = "10s",
     .help = "How long a client that an API server has allowed to read discovery may repeat that "
             "request, with the same credentials and from the same address, before an API server "
             "decides again, at most 10s, as API servers keep users of tokens; 0s means that an "
             "API server decides each time. A token or a role that was revoked counts for so long, "
             "after "
             "the time for which the API server keeps the token"},
    {.name = "drain-time",
     .type = EK_FLAG_DURATION,
     AT(drain_ms),
     .initial = "10s",
     .help = "How long requests may go on after SIGTERM and --shutdown-delay-duration; then their "
             "connections are closed"},
    {.name = "shutdown-delay-duration",
     .type = EK_FLAG_DURATION,
     AT(delay_ms),
     .initial = "0s",
     .help = "How long the proxy takes connections and requests as before after SIGTERM, while "
             "/readyz fails, so that load balancers and Services choose other replicas first"},
};

static const struct ek_flag serving_flags[] = {
    {.name = "health-probe-bind-address",
     .type = EK_FLAG_STRING,
     AT(run.health_address),
     .initial = ":8082",
     .help = "`address` of /healthz and /readyz; 0 disables both",
     .check = ek_http_address_check},
    {.name = "metrics-bind-address",
     .type = EK_FLAG_STRING,
     AT(run.metrics_address),
     .initial = "0",
     .help = "`address` of /metrics; 0 disables /metrics",
     .check = ek_http_address_check},
    {.name = "metrics-secure",
     .type = EK_FLAG_BOOL,
     AT(run.metrics_secure),
     .initial = "true",
     .help = "Serve /metrics over HTTPS to authenticated and authorized clients; false means plain "
             "HTTP"},
    {.name = "metrics-cert-path",
     .type = EK_FLAG_STRING,
     AT(run.metrics_cert_path),
     .help = "`folder` with the serving certificate of /metrics; by default a self-signed "
             "certificate is made"},
    {.name = "metrics-cert-name",
     .type = EK_FLAG_STRING,
     AT(run.metrics_cert_name),
     .initial = "tls.crt",
     .help = "`file` name of the serving certificate of /metrics"},
    {.name = "metrics-cert-key",
     .type = EK_FLAG_STRING,
     AT(run.metrics_cert_key),
     .initial = "tls.key",
     .help = "`file` name of the key of that certificate"},
    {.name = "debug-socket",
     .type = EK_FLAG_STRING,
     AT(run.debug_socket),
     .initial = EK_PROXY_DEBUG_SOCKET,
     .help = "Abstract `socket` for `evenkeel debug`; 0 disables the socket"},
};

static const struct ek_flag_group proxy_group = {"Proxy flags", proxy_flags,
                                                 EK_ARRAY_SIZE(proxy_flags)};
static const struct ek_flag_group serving_group = {"Serving flags", serving_flags,
                                                   EK_ARRAY_SIZE(serving_flags)};

const struct ek_flag_group *const ek_proxy_flag_groups[EK_PROXY_FLAG_GROUPS] = {
    &ek_run_cluster_group, &proxy_group, &serving_group, &ek_run_log_group};

/* A name that is none protects nothing, and an empty prefix would drop each header. */
static int check_names(const char *flag, const struct ek_flag_list *list, struct ek_err *err)
{
    for (size_t i = 0; i < list->n; i++)
        if (!ek_field_name_is_good(list->items[i]))
            return ek_err_set(err, EK_E_INVAL, "--%s: \"%.100s\" is not the name of a header", flag,
                              list->items[i]);
    return 0;
}

int ek_proxy_options_check(const struct ek_proxy_command_options *o, struct ek_err *err)
{
    bool has_cert = *o->proxy_client_cert_file, has_key = *o->proxy_client_key_file;

    if (!*o->tls_cert_file || !*o->tls_private_key_file)
        return ek_err_set(err, EK_E_INVAL,
                          "--tls-cert-file and --tls-private-key-file are required");
    if (has_cert != has_key)
        return ek_err_set(err, EK_E_INVAL,
                          "--proxy-client-cert-file and --proxy-client-key-file belong together");
    if (has_cert && o->impersonate)
        return ek_err_set(err, EK_E_INVAL,
                          "--proxy-client-cert-file and --impersonate exclude each other");
    if (o->impersonate && !*o->client_ca_file)
        return ek_err_set(err, EK_E_INVAL,
                          "--impersonate requires --client-ca-file: only users of client "
                          "certificates are impersonated");
    if (*o->client_ca_file && !has_cert && !o->impersonate)
        return ek_err_set(err, EK_E_INVAL,
                          "--client-ca-file requires --proxy-client-cert-file or --impersonate: "
                          "API servers accept the user of a client certificate only from the "
                          "front-proxy certificate, or from an account that may impersonate");
    if (has_cert && !*o->client_ca_file)
        return ek_err_set(err, EK_E_INVAL,
                          "--proxy-client-cert-file requires --client-ca-file: without client "
                          "certificates the front-proxy certificate is never used");
    if (o->discovery_ms < DISCOVERY_MIN_MS || o->discovery_ms > DISCOVERY_MAX_MS)
        return ek_err_set(err, EK_E_INVAL, "--discovery-interval is not between 1s and 10m");
    if (o->grant_ms < 0 || o->grant_ms > GRANT_MAX_MS)
        return ek_err_set(err, EK_E_INVAL, "--discovery-permission-ttl is not between 0s and 10s");
    if (o->client_connections < 1 || o->client_connections > CONNECTIONS_MAX)
        return ek_err_set(err, EK_E_INVAL, "--connections-per-client is not between 1 and 10000");
    if (o->client_requests < 1 || o->client_requests > REQUESTS_MAX)
        return ek_err_set(err, EK_E_INVAL, "--requests-per-client is not between 1 and 100000");
    if (o->answer_ms < 1000 || o->answer_ms > ANSWER_MAX_MS)
        return ek_err_set(err, EK_E_INVAL, "--response-timeout is not between 1s and 1h");
    if (o->peer_rate < 0)
        return ek_err_set(err, EK_E_INVAL, "--peer-bytes-per-second is negative");
    if (o->drain_ms < 0)
        return ek_err_set(err, EK_E_INVAL, "--drain-time is negative");
    if (o->delay_ms < 0 || o->delay_ms > DELAY_MAX_MS)
        return ek_err_set(err, EK_E_INVAL, "--shutdown-delay-duration is not between 0s and 10m");
    if (check_names("identity-headers", &o->identity_headers, err) ||
        check_names("identity-header-prefixes", &o->identity_header_prefixes, err))
        return EK_E_INVAL;
    struct ek_egress egress;
    int rc = *o->egress_proxy ? ek_egress_parse(o->egress_proxy, &egress, err) : 0;
    return rc ? ek_err_prefix(err, "--egress-proxy") : 0;
}
