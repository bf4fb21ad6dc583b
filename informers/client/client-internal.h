/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the API client share.
 *
 * client.c owns the calls and moves them between its lists (waiting for a time or for credentials,
 * running, doomed); fallback.c chooses the server of a call that names none; call_trust.c decides
 * which servers may see a credential; call.c sets one attempt up as a libcurl transfer and collects
 * what comes back; answer.c turns that into the error a caller sees and decides about another
 * attempt; url.c knows addresses.
 */
#ifndef INFORMERS_CLIENT_CLIENT_INTERNAL_H
#define INFORMERS_CLIENT_CLIENT_INTERNAL_H

#include <openssl/ssl.h>
#include <sys/queue.h>

#include "informers/client/client.h"
#include "informers/client/credentials.h"
#include "informers/client/kubeconfig.h"
#include "informers/client/pool.h"

#define EK_CLIENT_BODY_MAX        ((size_t)64 << 20)  /* of an answer, when the caller gives none */
#define EK_CLIENT_ERROR_BODY_MAX  ((size_t)256 << 10) /* of an answer that is no 2xx */
#define EK_CLIENT_HEADER_MAX      1024                /* of a header's value that is kept */
#define EK_CLIENT_TRIES_MAX       10                  /* requests per call, first one included */
#define EK_CLIENT_RETRY_AFTER_MAX INT64_C(60000)      /* longer waits are left to the caller */
#define EK_CLIENT_CONNECT_MS      30000L              /* Go's dialer has the same limit */

/* The name that every API server's certificate carries. */
#define API_SERVER_NAME "kubernetes.default.svc"

#define EK_NEVER UINT64_MAX

/* The configured server's address in pieces. Strings are owned. */
struct server_address {
    char *origin;    /* "https://host:port" */
    char *host_port; /* "host:port" */
    char *host;      /* an IPv6 address in its brackets */
    char *port;
    char *prefix; /* path before the API's, "" mostly; never ends in '/' */
    bool tls;
};

/* The certificate of the server: a struct ek_server_cert that owns its memory. */
struct cert_info {
    struct ek_server_cert shown;
    char fingerprint[65];
    char **names;
    size_t n_names;
};

/* What was seen during a handshake. Shared by the call and its connection, which may outlive it. */
struct tls_note {
    unsigned refs;
    long verify_error;       /* X509_V_ERR_* of a failed verification, X509_V_OK before */
    char *own_ip, *own_name; /* one of them must be in the certificate; NULL: neither. Owned */
    struct cert_info *seen;  /* the certificate that the server showed; NULL before */
};

/* What one attempt brought. Cleared before the next. */
struct call_answer {
    int status;         /* 0 when no status line came */
    bool got_body;      /* a body byte came */
    bool too_large;     /* the body exceeded its maximum */
    int stream_rc;      /* what on_data returned to end the request */
    struct ek_buf body; /* bounded */
    char *content_type; /* header values, NULL when absent */
    char *etag;
    char *warning;
    char *location;
    int64_t retry_after_ms; /* -1 without the header */
    struct cert_info *cert; /* of a connection that was established */
    struct tls_note *note;  /* of a handshake made for this attempt; NULL when there was none */
    char curl_text[CURL_ERROR_SIZE];
};

TAILQ_HEAD(call_list, ek_call);

struct ek_call {
    struct ek_client *client;
    TAILQ_ENTRY(ek_call) link;
    struct call_list *list; /* the one of the client's lists that it is in */

    struct ek_request request; /* strings are owned by the call */
    bool falls_back;           /* of no server of its own: request.connect_to is that of a fallback,
                                  NULL at the configured server */
    size_t turn;               /* of the client, when the attempt began */
    ek_response_fn on_done;
    void *ctx;

    uint64_t deadline; /* loop time, EK_NEVER for none */
    uint64_t wake_at;  /* loop time to go on, while waiting */
    bool awaits_credentials;
    unsigned tries;
    bool reset_retried, reauthenticated;

    /* The current attempt. */
    struct ek_auth *auth;
    struct ek_http *http;
    CURL *easy;
    struct curl_slist *headers, *connect_list;
    uint64_t started_ns;
    char *host; /* host:port, for messages and metrics */
    struct call_answer answer;
};

enum { LANE_SHARED, LANE_OWN, LANE_MAX };

struct ek_client {
    uv_loop_t *loop;
    struct ek_client_config *config;
    struct server_address server;
    char *user_agent;
    char *egress; /* ek_client_set_egress; NULL: none */
    char **fallbacks;
    size_t n_fallbacks;
    size_t turn; /* 0: the configured server, else fallbacks[turn - 1] */
    struct ek_credentials *credentials;
    struct ek_http *lanes[LANE_MAX]; /* pools for new transfers; NULL until needed */
    uint64_t lane_tls[LANE_MAX];     /* tls_generation they were made for */

    struct call_list waiting, ready, running, doomed;
    uv_timer_t timer;
    uint64_t timer_at;
    unsigned n_inside; /* on_data callbacks on the stack */

    ek_client_observer_fn observer;
    void *observer_ctx;

    bool closing;
    unsigned n_open; /* parts that are still to close */
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* What comes after an attempt. */
struct next_step {
    enum { STEP_FINISH, STEP_RETRY, STEP_REAUTHENTICATE } what;
    int64_t wait_ms; /* of STEP_RETRY */
};

/* url.c */
int server_address_parse__(const struct ek_client_config *config, struct server_address *ret,
                           struct ek_err *err);
void server_address_done__(struct server_address *address);
/* Splits "ip:port" or "[ip]:port" into owned parts (host with its brackets). EK_E_INVAL. */
int host_port_split__(const char *text, char **ret_host, char **ret_port, struct ek_err *err);

/* fallback.c */
/* Chooses the server of an attempt that is about to begin. */
void fallback_aim__(struct ek_call *call);
/* Takes note of how the attempt ended. */
void fallback_note__(const struct ek_call *call, CURLcode result);
void fallback_done__(struct ek_client *client);

/* call.c */
int call_attempt__(struct ek_call *call, struct ek_err *err);
void call_attempt_done__(struct ek_call *call);
void call_answer_reset__(struct ek_call *call);
void call_free__(struct ek_call *call);
/* libcurl's CURLOPT_HEADERFUNCTION: takes one line, size * n bytes, of any head. */
size_t call_on_header__(char *line, size_t size, size_t n, void *call);
/* Refuses what would break out of a request line or header. */
int call_check__(const struct ek_request *request, struct ek_err *err);

/* call_trust.c */
/* Refuses a request whose server could not prove to be one that may see its credential. EK_E_TLS,
 * EK_E_INVAL. call->auth is set. */
int call_trust__(const struct ek_call *call, struct ek_err *err);
/* True when the configured credentials belong into the request. */
bool call_shows_credentials__(const struct ek_call *call);

/* cert.c */
struct cert_info *cert_info_new__(X509 *cert);
void cert_info_free__(struct cert_info *info);
void tls_note_unref__(struct tls_note *note);
/* libcurl's CURLOPT_SSL_CTX_FUNCTION: our roots only, and a note of what the server shows. */
CURLcode cert_on_ssl_ctx__(CURL *easy, void *ssl_ctx, void *call);

/* answer.c */
struct next_step answer_next_step__(const struct ek_call *call, CURLcode result);
/* Fills err and returns its code; 0 for a good answer. */
int answer_error__(const struct ek_call *call, CURLcode result, struct ek_err *err);

#endif
