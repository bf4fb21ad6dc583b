/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test API server on sockets: one HTTPS listener per peer on a uv loop, watches as chunked
 * streams with back-pressure, and the faults of faults.h.
 *
 *     new -> add and start peers -> ... -> close -> (loop runs) -> on_closed
 *
 * A write that admission webhooks have to see waits while the shell calls them (admission.h).
 *
 * The shell serves certificates of an authority that it makes at birth. Requests and connections
 * are parsed by the project's own engines (controller/http/conn.h, controller/http/tls.h); this
 * file and its neighbours own the sockets, because faults need them.
 *
 * A control endpoint, for users in system:masters, drives it from outside:
 *     POST /_faults {"kind":...}    GET, DELETE /_faults
 *     POST /_peers {"peer":"cp-b","action":"stop|crash|start|hang|resume|expire|renew",
 *                   "binary":"1.35.1","emulation":"1.34","resourcesOff":"batch/v1"}
 *     POST /_compact
 *
 * Ownership: the server (core) is borrowed. Threading: the loop's thread.
 */
#ifndef TEST_APISERVER_SHELL_H
#define TEST_APISERVER_SHELL_H

#include <stdio.h>
#include <uv.h>

#include "test/apiserver/apiserver.h"
#include "test/apiserver/faults.h"

struct ek_apishell;

struct ek_apishell_config {
    uv_loop_t *loop;
    struct ek_apiserver *server;
    int64_t (*now_ms)(void *ctx); /* the clock of the storage, ms since the epoch; NULL: the
                                     system's */
    void *now_ctx;
    FILE *audit;   /* one JSON line per request; NULL for none */
    uint64_t seed; /* of the faults' chances */
};

/* Returns an owned shell without listeners. EK_E_TLS. */
int ek_apishell_new(const struct ek_apishell_config *config, struct ek_apishell **ret_shell,
                    struct ek_err *err);

/* The authority's certificate as PEM, borrowed: what clients must trust. */
const char *ek_apishell_ca(const struct ek_apishell *shell);

/*
 * Makes the peer listen on its address and port (0: a free one, which it keeps), and starts it in
 * the core. EK_E_IO with the system's reason.
 */
int ek_apishell_start_peer(struct ek_apishell *shell, struct ek_apiserver_peer *peer,
                           struct ek_err *err);

/* Ends the peer's listener and connections, in order or as by a crash. */
void ek_apishell_stop_peer(struct ek_apishell *shell, struct ek_apiserver_peer *peer, bool crash);

/* Resets all connections of a peer, of every peer for NULL; it goes on listening. */
void ek_apishell_cut(struct ek_apishell *shell, const struct ek_apiserver_peer *peer);

/* A hung peer accepts connections and reads nothing; its streams stand still. */
void ek_apishell_hang_peer(struct ek_apishell *shell, struct ek_apiserver_peer *peer, bool hangs);

/* Serves new connections with a certificate that ended yesterday, or with a good one again. */
int ek_apishell_expire_certificate(struct ek_apishell *shell, struct ek_apiserver_peer *peer,
                                   bool expired, struct ek_err *err);

/* To be called when an injected clock has moved: what is due is done in the next turn. */
void ek_apishell_poke(struct ek_apishell *shell);

/* The rules that every request is held against. */
struct ek_faults *ek_apishell_faults(struct ek_apishell *shell);

struct ek_apishell_stats {
    unsigned long requests, connections, streams; /* since the start */
    size_t open_connections, open_streams;
};
void ek_apishell_stats(const struct ek_apishell *shell, struct ek_apishell_stats *ret_stats);

/* "https://127.0.0.11:40001", owned. */
char *ek_apishell_url(const struct ek_apiserver_peer *peer);

/* Writes a kubeconfig with one context per peer and user: "<peer>" for the first user, and
 * "<user>@<peer>" for all; the first peer's is current. users and tokens are parallel. EK_E_IO. */
int ek_apishell_write_kubeconfig(const struct ek_apishell *shell, const char *path,
                                 const char *const *users, const char *const *tokens, size_t n,
                                 struct ek_err *err);

/* Closes everything; on_closed (may be NULL) is called from the loop when the shell is freed. */
void ek_apishell_close(struct ek_apishell *shell, void (*on_closed)(void *ctx), void *ctx);

#endif
