/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the built-in API server, over sockets, on the loop of a clientbench. The programs
 * that include this link ek_apiserver. */
#ifndef TEST_SUPPORT_SHELLBENCH_H
#define TEST_SUPPORT_SHELLBENCH_H

#include <check.h>

#include "api/base/mem.h"
#include "test/apiserver/shell.h"
#include "test/support/clientbench.h"

/*
 * Starts the bench, a shell for server, and its peer, then points the client at that peer: config
 * gets the URL and the authority (config->server is replaced). audit may be NULL. Fails the test
 * where a step fails. The caller closes the shell with ek_apishell_close before clientbench_stop.
 */
static inline struct ek_apishell *shellbench_start(struct clientbench *bench,
                                                   struct ek_client_config *config,
                                                   struct ek_apiserver *server,
                                                   struct ek_apiserver_peer *peer, FILE *audit)
{
    struct ek_err err = {0};
    struct ek_apishell *shell;
    const struct ek_apishell_config sc = {
        .loop = &bench->loop, .server = server, .audit = audit, .seed = 1};

    clientbench_start(bench, config);
    ck_assert_msg(ek_apishell_new(&sc, &shell, &err) == 0, "%s", err.message);
    ck_assert_msg(ek_apishell_start_peer(shell, peer, &err) == 0, "%s", err.message);
    ek_client_close(bench->client, NULL, NULL);
    ek_free(config->server);
    config->server = ek_apishell_url(peer);
    config->ca_data = ek_xstrdup(ek_apishell_ca(shell));
    ck_assert_msg(ek_client_new(&bench->loop, config, "test/1.0", &bench->client, &err) == 0, "%s",
                  err.message);
    return shell;
}

#endif
