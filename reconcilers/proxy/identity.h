/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose request the API server sees: which headers of the client are dropped, passed on or set, and
 * which requests are refused.
 *
 * What reaches the API server is written again from the client's headers: names that carry an
 * identity are dropped first, then those that "Connection" names, and the proxy's own are set last,
 * so that no client can remove or add one. A request that would run as the account of the proxy is
 * refused. The list of attacks, each with its row, is in the README.
 *
 * Sources: RFC 9110 and 9112; apiserver 1.36, pkg/authentication/request/headerrequest/
 * requestheader.go; client-go 1.36, transport/round_trippers.go; CVE-2018-1002105, CVE-2021-31999.
 * Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_IDENTITY_H
#define RECONCILERS_PROXY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "reconcilers/proxy/answer.h"
#include "reconcilers/proxy/identity_names.h"

/* How the API server learns who a client with a certificate is. Tokens pass through in each mode.
 */
enum ek_identity_mode {
    EK_IDENTITY_TOKENS,      /* not at all: client certificates are not requested */
    EK_IDENTITY_FRONT_PROXY, /* X-Remote-* on a connection with the front-proxy certificate */
    EK_IDENTITY_IMPERSONATE, /* Impersonate-* with the credentials of the proxy */
};

/* The loop marker (KEP-4020 as built: apiserver 1.36, pkg/util/peerproxy/peerproxy_handler.go). */
#define EK_IDENTITY_MARKER "X-Kubernetes-Peer-Proxied"

struct ek_identity_pair {
    const char *name;
    const char *value;
};

/* A client whose certificate was verified by the cluster's client CA. Strings are not NULL. */
struct ek_identity_user {
    const char *name;          /* CN */
    const char *uid;           /* "" for none */
    const char *const *groups; /* O */
    size_t n_groups;
    const struct ek_identity_pair *extra; /* a key may stand more than once */
    size_t n_extra;
};

struct ek_identity_policy {
    enum ek_identity_mode mode;
    const struct ek_identity_names *servers; /* what the API servers say they take an identity
                                                from; NULL: not known, so that FRONT_PROXY refuses
                                                client certificates */
    /* Further names that the API servers take an identity from. */
    const char *const *names;
    size_t n_names;
    const char *const *prefixes;
    size_t n_prefixes;
};

struct ek_identity_request {
    int version; /* 10, 11 or 20: HTTP/1.0, 1.1, 2 */
    const char *method;
    const char *authority;                  /* ":authority" of HTTP/2, "" for none */
    bool ended;                             /* HTTP/2: the header ends the request (END_STREAM) */
    const struct ek_identity_pair *headers; /* as they came */
    size_t n_headers;
    const struct ek_identity_user *user; /* NULL: the connection has no verified certificate */
    bool unverified;                     /* it has one that cannot be verified; user is NULL */
    const char *host;                    /* the Host to send: the peer's "ip:port" */
    const char *remote_ip;               /* the client's, for X-Forwarded-For */
};

/* How the body of the request ends. */
enum ek_identity_body { EK_IDENTITY_NO_BODY, EK_IDENTITY_LENGTH, EK_IDENTITY_CHUNKED };

struct ek_identity_result {
    struct ek_proxy_answer refusal; /* code 0: not refused */
    bool ours;   /* goes on a connection with the credentials of the proxy (its front-proxy
                    certificate, or its token or certificate that may impersonate); else on one
                    without any. The two never share a connection. */
    bool marked; /* the client sent the loop marker */
    enum ek_identity_body body;
    uint64_t length;       /* with EK_IDENTITY_LENGTH */
    const char *upgrade;   /* "SPDY/3.1" or "websocket"; NULL without an upgrade */
    bool expects_continue; /* the client waits for "100 Continue" before it sends the body */
};

/*
 * Judges the request and appends its header lines for the API server to out ("Name: value\r\n",
 * Host first, without the empty line at the end), in HTTP/1.1. Framing is included:
 * Content-Length, "Transfer-Encoding: chunked", "Connection: Upgrade". With IMPERSONATE the caller
 * adds its own Authorization when it has no certificate. Nothing useful is in out after a refusal.
 * Returns 0, or the error of out.
 */
int ek_identity_forward(const struct ek_identity_policy *policy,
                        const struct ek_identity_request *request, struct ek_identity_result *ret,
                        struct ek_buf *out);

/* True when a header of an answer is not passed on to the client: hop-by-hop headers, and what
 * connection (the values of "Connection", NULL for none) names. upgraded: the answer is 101. */
bool ek_identity_drops_from_answer(const char *name, const char *connection, bool upgraded);

#endif
