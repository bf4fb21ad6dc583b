/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server on a loop in a thread of its own, and a blocking client for the test's thread. The
 * fixture has the handlers that server tests need; everything else is the server's own API.
 */
#ifndef TEST_SUPPORT_HTTP_FIXTURE_H
#define TEST_SUPPORT_HTTP_FIXTURE_H

#include <openssl/ssl.h>
#include <uv.h>

#include "controller/http/server.h"
#include "controller/http/tls.h"

struct http_fixture {
    uv_loop_t loop;
    uv_thread_t thread;
    uv_async_t async; /* runs the task below on the loop */
    uv_sem_t done;    /* posted when a task has run */
    void (*task)(struct http_fixture *fixture);
    struct ek_http_server *server;
    char address[64]; /* where it listens, or did */
    struct ek_http_server_stats stats;
    int64_t grace_ms;
    uv_sem_t closed;
    uv_prepare_t watch; /* looks at the counters in each turn of the loop */
    bool waiting;
    uv_sem_t empty;   /* posted when nobody is connected any more, while waiting */
    uv_sem_t entered; /* posted when /slow or /never has got a request */
};

/*
 * Starts a server for config (its bind address should be port 0; routes may be NULL). Paths of the
 * built-in table: /ok answers "ok"; /echo answers the body; /big answers 5 MB; /slow answers "slow"
 * after 50 ms; /never never answers. Fails the test when it cannot listen.
 */
void http_fixture_start(struct http_fixture *fixture, struct ek_http_server_config *config);

/* A self-signed certificate for the server's config, issued at a fixed time; the caller frees it.
 */
struct ek_tls_identity *http_fixture_identity(void);

/* Runs task on the loop's thread and waits for it. */
void http_fixture_run(struct http_fixture *fixture, void (*task)(struct http_fixture *fixture));

/* Begins to close the server; http_fixture_stop waits until it is closed, and for the thread. */
void http_fixture_begin_close(struct http_fixture *fixture, int64_t grace_ms);
void http_fixture_stop(struct http_fixture *fixture);

/* The server's counters. */
struct ek_http_server_stats http_fixture_stats(struct http_fixture *fixture);

/* Waits until at least one client has been accepted and the last has gone. */
void http_fixture_wait_empty(struct http_fixture *fixture);

/* Connects; reading gives up after ten minutes, which ends a hang. The other one returns -1 when
 * nobody listens, where http_connect fails the test. */
int http_connect(const struct http_fixture *fixture);
int http_try_connect(const struct http_fixture *fixture);

/* Sends text, then reads until the other side ends or limit bytes have come; owned, with its
 * length in *ret_len (may be NULL). */
char *http_exchange(int fd, const char *text, size_t limit, size_t *ret_len);

/* As http_exchange for one whole reply by its Content-Length, so that fd can be used again. */
char *http_request(int fd, const char *text);

/* A TLS client's session on fd, which does not verify; NULL when the handshake fails. alpn is in
 * wire format, NULL for none; max_version 0 for any. */
SSL *http_tls_connect(int fd, const char *alpn, int max_version);
char *http_tls_exchange(SSL *ssl, const char *text, size_t limit, size_t *ret_len);
void http_tls_close(SSL *ssl);

#endif
