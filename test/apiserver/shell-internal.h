/* SPDX-License-Identifier: Apache-2.0 */
/* What shell.c (listeners, time), shell_conn.c (sockets), shell_request.c (answers) and control.c
 * share. */
#ifndef TEST_APISERVER_SHELL_INTERNAL_H
#define TEST_APISERVER_SHELL_INTERNAL_H

#include "controller/http/conn.h"
#include "controller/http/tls.h"
#include "informers/client/client.h"
#include "test/apiserver/admission.h"
#include "test/apiserver/pki.h"
#include "test/apiserver/shell.h"

struct ek_listener {
    struct ek_apishell *shell;
    struct ek_apiserver_peer *peer;
    uv_tcp_t tcp;
    bool listening, hung;
    struct ek_tls_identity *identity;
    struct ek_http_route route;
    struct ek_http_conn_config http;
    struct ek_listener *next;
};

/* What a connection does with its socket. */
enum ek_shell_mode {
    EK_SHELL_HTTP,   /* the engine answers */
    EK_SHELL_DELAY,  /* a request waits until wake_ms, or for a webhook */
    EK_SHELL_STREAM, /* a watch, pulled when the last write is done */
    EK_SHELL_LAST,   /* what is in raw is sent, then the connection ends */
    EK_SHELL_STUCK,  /* nothing more is sent */
};

struct ek_shell_conn {
    struct ek_listener *listener;
    struct ek_shell_conn *prev, *next;
    uv_tcp_t tcp;
    uv_write_t write;
    struct ek_tls_session *tls;
    struct ek_http_conn *http;
    enum ek_shell_mode mode;
    struct ek_http_reply *reply; /* due, while the mode is DELAY */
    const struct ek_http_request *request;
    struct ek_admission *admission; /* owned: of the write that is being answered */
    struct ek_client *webhook;      /* owned: calls the webhook that it waits for */
    struct ek_apiserver_watch *watch;
    struct ek_buf raw; /* plaintext that bypasses the engine */
    size_t raw_sent;   /* of it */
    struct ek_buf out; /* ciphertext that is being written */
    struct ek_fault fault;
    size_t budget;   /* plaintext bytes before RESET, TRUNCATE or STALL strike; SIZE_MAX */
    int64_t wake_ms; /* monotonic; INT64_MAX for never */
    bool writing, reading, closing, eof, resets;
};

struct ek_apishell {
    struct ek_apishell_config config;
    struct ek_pki *pki;
    struct ek_faults faults;
    struct ek_listener *listeners;
    struct ek_shell_conn *conns;
    struct ek_shell_conn *current; /* whose engine is being run */
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_check_t check;
    int64_t armed_ms; /* when the timer is due, monotonic */
    int64_t tick_ms;  /* when the core wants to be called, wall */
    bool dirty;       /* something was written: streams have to look */
    bool closing;
    unsigned n_handles;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
    struct ek_apishell_stats stats;
};

int64_t ek_shell_wall(const struct ek_apishell *shell);
int64_t ek_shell_now(const struct ek_apishell *shell);

/* Makes sure that the timer fires by then (monotonic). */
void ek_shell_schedule(struct ek_apishell *shell, int64_t at_ms);

struct ek_listener *ek_shell_find(const struct ek_apishell *shell,
                                  const struct ek_apiserver_peer *peer);
void ek_shell_released(struct ek_apishell *shell);

/* shell_conn.c */
void ek_shell_accept(struct ek_listener *listener);
void ek_shell_conn_pump(struct ek_shell_conn *conn);
void ek_shell_conn_close(struct ek_shell_conn *conn);
/* Ends with a TCP reset instead of an orderly close. */
void ek_shell_conn_reset(struct ek_shell_conn *conn);
/* Called when a wake-up time may have come. */
void ek_shell_conn_wake(struct ek_shell_conn *conn, int64_t now_ms);

/* shell_request.c */
void ek_shell_handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply);
/* Answers a request whose delay is over. */
void ek_shell_answer(struct ek_shell_conn *conn, const struct ek_http_request *request,
                     struct ek_http_reply *reply);
/* Puts the next frames of a stream into raw. */
void ek_shell_pull(struct ek_shell_conn *conn);

/* shell_webhook.c: calls the webhook that the connection's write waits for; ek_shell_answer is
 * called again when it has answered or cannot be called. */
void ek_shell_webhook_call(struct ek_shell_conn *conn, const struct ek_http_request *request,
                           struct ek_http_reply *reply);
/* Ends the call without an answer. */
void ek_shell_webhook_cancel(struct ek_shell_conn *conn);

/* control.c: true when the request was for the control endpoint. */
bool ek_shell_control(struct ek_shell_conn *conn, const struct ek_http_request *request,
                      struct ek_http_reply *reply);

#endif
