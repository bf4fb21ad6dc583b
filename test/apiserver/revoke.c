/* SPDX-License-Identifier: Apache-2.0 */
/* What an administrator takes away from clients: tokens, and connections. */
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/server-internal.h"
#include "test/apiserver/shell-internal.h"

void ek_apiserver_revoke_token(struct ek_apiserver *server, const char *token)
{
    for (size_t i = 0; i < server->n_tokens; i++) {
        struct ek_test_token *row = &server->tokens[i];
        if (strcmp(row->token, token) != 0)
            continue;
        ek_free(row->token);
        ek_free(row->user);
        ek_free(row->groups);
        ek_free(row->rules);
        *row = server->tokens[--server->n_tokens];
        server->tokens[server->n_tokens] = (struct ek_test_token){0};
        return;
    }
}

void ek_apishell_cut(struct ek_apishell *shell, const struct ek_apiserver_peer *peer)
{
    for (struct ek_shell_conn *conn = shell->conns; conn; conn = conn->next) {
        if (!peer || conn->listener->peer == peer)
            ek_shell_conn_reset(conn);
    }
}
