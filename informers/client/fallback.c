/* SPDX-License-Identifier: Apache-2.0 */
/* Other API servers while the configured server does not answer: ek_client_set_fallbacks. */
#include "informers/client/client-internal.h"

int ek_client_set_fallbacks(struct ek_client *client, const char *const *addresses, size_t n,
                            struct ek_err *err)
{
    if (!ek_client_verifies(client))
        return ek_err_set(err, EK_E_INVAL,
                          "the configuration has no certificate authority, or does not verify "
                          "certificates: no other API server can prove its identity");
    client->fallbacks = ek_xrealloc(NULL, n, sizeof *client->fallbacks);
    for (size_t i = 0; i < n; i++) {
        EK_AUTOFREE char *host = NULL;
        EK_AUTOFREE char *port = NULL;
        int rc = host_port_split__(addresses[i], &host, &port, err);
        if (rc)
            return rc;
        client->fallbacks[client->n_fallbacks++] = ek_xstrdup(addresses[i]);
    }
    return 0;
}

void fallback_aim__(struct ek_call *call)
{
    const struct ek_client *client = call->client;
    const char *to = client->turn ? client->fallbacks[client->turn - 1] : NULL;

    if (!call->falls_back || call->turn == client->turn)
        return;
    call->turn = client->turn;
    ek_free((void *)(uintptr_t)call->request.connect_to);
    call->request.connect_to = ek_xstrdup(to);
    ek_free(call->host);
    call->host = ek_xstrdup(to ? to : client->server.host_port);
}

void fallback_note__(const struct ek_call *call, CURLcode result)
{
    struct ek_client *client = call->client;

    /* Of many attempts that fail at one server, the first one moves on. */
    if (call->falls_back && result != CURLE_OK && !call->answer.status &&
        call->turn == client->turn)
        client->turn = (client->turn + 1) % (client->n_fallbacks + 1);
}

void fallback_done__(struct ek_client *client)
{
    for (size_t i = 0; i < client->n_fallbacks; i++)
        ek_free(client->fallbacks[i]);
    ek_free(client->fallbacks);
}
