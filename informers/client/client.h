/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API client: HTTP requests to one cluster, on a uv loop, over one connection pool.
 *
 * A client owns a libcurl multi handle and the credentials of one kubeconfig context (or of the
 * pod it runs in). Requests are asynchronous; any number may be under way; HTTP/2 is used where
 * the server offers it. It re-reads tokens, certificates and CA files as client-go does
 * (transport/{token_source,cert_rotation,ca_rotation}.go), retries answers that carry Retry-After
 * (client-go/rest/with_retry.go: IsNextRetry), turns error answers (metav1.Status or not) into
 * struct ek_err, and bounds every body.
 *
 * A request goes to the configured server, or with connect_to to one process of the cluster by
 * its address. The client decides which server gets which credential, for every caller
 * (call_trust.c):
 *
 *   configured server       the configured credentials; over plain HTTP none at all, as kubectl
 *                           (client-go:tools/clientcmd/client_config.go, "only try to read the auth
 *                           information if we are secure")
 *   fallback                the same, as for connect_to
 *   connect_to              the configured credentials, once the server has proven the name
 *                           kubernetes.default.svc, which every API server's certificate carries,
 *                           by the configured authority
 *   connect_to with         the same, once the certificate has also the IP of connect_to or the
 *   own_name                name own_name, so that no other API server answers in its place
 *   connect_to with bearer  that token and nothing of the configured credentials (no client
 *                           certificate, no impersonation), once the server has proven tls_name
 *
 * TLS verifies the names, too, before our client certificate and the first byte of the request go
 * out. Where nothing is verified (insecure-skip-tls-verify) or no authority is configured,
 * connect_to is refused, unless connect_to is the very server that the configuration names.
 * Redirects are not followed.
 *
 * Threading: one loop thread. Callbacks run from the loop, never from inside the function that
 * started the request, exactly once per request unless it is cancelled, then never.
 */
#ifndef INFORMERS_CLIENT_CLIENT_H
#define INFORMERS_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "api/base/buf.h"
#include "api/base/err.h"

struct ek_client;
struct ek_call;
struct ek_client_config; /* informers/client/kubeconfig.h */

/* What the server's certificate says; strings are owned by the response. */
struct ek_server_cert {
    const char *fingerprint; /* SHA-256 of the DER, lower-case hex; "" when not known */
    const char **names;      /* subject alternative names: DNS names and IP addresses as text */
    size_t n_names;
    int64_t not_after_ms; /* end of validity, EK_TIME_UNSET when not known */
    bool verified;        /* the name that was called by, and what own_name requires, by the
                             authority, before the request */
};

struct ek_response {
    int status;               /* HTTP status; 0 when no answer came */
    struct ek_str body;       /* whole body; empty for streams */
    const char *content_type; /* header values, "" when absent */
    const char *etag;
    const char *warning;               /* first Warning header's text */
    const struct ek_server_cert *cert; /* of the connection that the answer came over, new or
                                          reused; NULL without TLS. Without an answer NULL, too,
                                          unless own_name refused it: it is the one of another
                                          API server then, not verified */
};

/*
 * Called once with the outcome. err is NULL for a 2xx or 304 answer; otherwise it says what went
 * wrong, and resp still holds what was received (status 0 when nothing was). Both are borrowed
 * for the time of the call.
 */
typedef void (*ek_response_fn)(void *ctx, const struct ek_response *resp, const struct ek_err *err);

/* Called with pieces of a streamed 2xx body as they come; returning non-zero ends the request with
 * that EK_E code. */
typedef int (*ek_data_fn)(void *ctx, const char *data, size_t len);

struct ek_request {
    const char *method;       /* NULL means GET */
    const char *path;         /* absolute path with its query, already percent-encoded */
    const char *accept;       /* NULL means application/json */
    const char *content_type; /* of body; NULL without a body */
    const char *body;         /* copied; NULL for none */
    size_t body_size;
    const char *if_none_match; /* ETag to send, NULL for none */
    int64_t timeout_ms;        /* for the whole request; 0 means none (watches) */
    size_t max_body;           /* largest body in bytes; 0 means 64 MiB. Ignored for streams */
    ek_data_fn on_data;        /* streams a 2xx body instead of keeping it; may be NULL */
    bool no_retry; /* report 429 and the like, and lost connections, at once; credentials that the
                      server refuses are still renewed once */
    const char *connect_to; /* "ip:port" of one process, by ek_client_set_egress or else directly;
                               NULL means the configured server */
    const char *tls_name;   /* with bearer: name or IP to verify; NULL: kubernetes.default.svc */
    const char *own_name;   /* with connect_to: the certificate must have its IP or this host name
                               ("" or an address: the IP alone) besides kubernetes.default.svc;
                               NULL: the name kubernetes.default.svc alone is verified */
    const char *bearer;     /* with connect_to: the token to send in place of the configured
                               credentials; NULL sends those. Copied, wiped, never in an error */
    const char *user_agent_suffix; /* appended after "/", e.g. "leader-election"; NULL for none */
    bool fresh_connection; /* use connections apart from all other requests', that are not used
                              again after any failure (leader election) */
};

/*
 * Makes a client. config is copied. user_agent is the full value to send. Errors: EK_E_INVAL for a
 * configuration that cannot work, EK_E_IO or EK_E_PARSE for unreadable certificate files; each
 * message names the file or field. Blocks for the first reading of files. Sets SIGPIPE to be
 * ignored in the whole process, once.
 */
int ek_client_new(uv_loop_t *loop, const struct ek_client_config *config, const char *user_agent,
                  struct ek_client **ret_client, struct ek_err *err);

/* Cancels what is under way and releases the client once its handles are closed; on_closed (may be
 * NULL) is called from the loop when nothing of it is left. NULL client is fine. */
void ek_client_close(struct ek_client *client, void (*on_closed)(void *ctx), void *ctx);

/*
 * Starts a request; everything in request is copied. on_done is called with ctx, see above. The
 * returned call is valid until on_done was called or it was cancelled.
 */
struct ek_call *ek_client_send(struct ek_client *client, const struct ek_request *request,
                               ek_response_fn on_done, void *ctx);

/* Ends a request without calling on_done; safe inside any callback. NULL is fine. */
void ek_call_cancel(struct ek_call *call);

/* Sends all requests with connect_to by a proxy of HTTP that opens a tunnel to the process
 * (CONNECT). url: "http://ip:port" without credentials, copied; nothing of a request but its
 * address is shown to the proxy. To be called before the first request. */
void ek_client_set_egress(struct ek_client *client, const char *url);

/*
 * Sets API servers of the cluster that requests for the configured server go to while no answer
 * comes from there. A request that ends without an answer lets the requests after it go to the next
 * server: the fallbacks one after the other, then the configured server again. The server that
 * answers stays, so that readers do not go back in time when another one returns. addresses:
 * n addresses "ip:port", copied. To be called once, before the first request. EK_E_INVAL for what
 * is no address, with the address in the message, and where ek_client_verifies is false.
 */
int ek_client_set_fallbacks(struct ek_client *client, const char *const *addresses, size_t n,
                            struct ek_err *err);

/* Whether the configuration can prove a process that it does not name: it has an authority, and
 * verification is not switched off. Where not, a request with a bearer contacts nobody. */
bool ek_client_verifies(const struct ek_client *client);

/* End of validity of the client certificate that the client shows now, from the configuration or a
 * plugin, in milliseconds since the epoch; EK_TIME_UNSET without one. */
int64_t ek_client_cert_not_after(const struct ek_client *client);

/* The configured server, "https://host:port"; borrowed. */
const char *ek_client_server(const struct ek_client *client);

/* Observes each finished HTTP exchange, for rest_client_requests_total: code is the status as text
 * or "<error>", host is host:port. fn must not send, cancel or close. */
typedef void (*ek_client_observer_fn)(void *ctx, const char *method, const char *code,
                                      const char *host, double seconds);
void ek_client_set_observer(struct ek_client *client, ek_client_observer_fn fn, void *ctx);

/* Appends s percent-encoded for use inside a query value or one path segment (RFC 3986). */
int ek_uri_escape(struct ek_buf *out, const char *s);

#endif
