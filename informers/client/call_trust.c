/* SPDX-License-Identifier: Apache-2.0 */
/* Which server may get which credential: the rule of client.h, checked before each attempt. */
#include <string.h>

#include "informers/client/client-internal.h"

bool ek_client_verifies(const struct ek_client *client)
{
    const struct ek_client_config *config = client->config;

    return !config->insecure_skip_tls_verify && (config->ca_data || config->ca_file);
}

/* True when the request goes to the address that the configuration itself names. */
static bool goes_where_configured(const struct ek_call *call)
{
    const struct server_address *server = &call->client->server;
    const char *to = call->request.connect_to;

    return !to || (server->tls && !strcmp(to, server->host_port));
}

int call_trust__(const struct ek_call *call, struct ek_err *err)
{
    const struct ek_request *request = &call->request;
    bool insecure = call->client->config->insecure_skip_tls_verify;

    if (!request->connect_to && (request->bearer || request->tls_name))
        return ek_err_set(err, EK_E_INVAL,
                          "a token or TLS name of a request needs an address of the request");
    if (request->tls_name && !request->bearer)
        return ek_err_set(err, EK_E_INVAL,
                          "the configured credentials go to kubernetes.default.svc, not to %.100s",
                          request->tls_name);
    if (goes_where_configured(call) && !request->bearer)
        return 0;
    if (insecure)
        return ek_err_set(err, EK_E_TLS,
                          "%s: not contacted: insecure-skip-tls-verify is set, so no certificate "
                          "is verified and credentials go to the configured server only; set "
                          "certificate-authority instead",
                          call->host);
    if (!call->auth->roots)
        return ek_err_set(err, EK_E_TLS,
                          "%s: not contacted: no certificate authority of the cluster is "
                          "configured, so no certificate proves the server; set "
                          "certificate-authority",
                          call->host);
    return 0;
}

bool call_shows_credentials__(const struct ek_call *call)
{
    return !call->request.bearer && (call->request.connect_to || call->client->server.tls);
}
