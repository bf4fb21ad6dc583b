/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery that the proxy serves itself: which document, in which form, with which headers.
 *
 * By the code of Kubernetes 1.36: pkg/endpoints/discovery/aggregated/{wrapper,negotiation,etag}.go,
 * pkg/endpoints/handlers/negotiation/negotiate.go,
 * pkg/endpoints/handlers/responsewriters/writers.go (k8s.io/apiserver),
 * github.com/munnerz/goautoneg. Two things differ: v2beta1 is served as servers up to 1.32 do, and
 * JSON and YAML are the only media types. A client that accepts nothing that these satisfy gets
 * 406; the clients of Kubernetes all name application/json or a wildcard.
 *
 * Discovery is not public: API servers require the permission of system:discovery. The proxy does
 * not know its clients, so a document goes out only after a peer has granted
 * ek_negotiate_permission_accept for the same path to this client (ek_negotiate_is_granted), now or
 * a moment before (controller/proxy/grants.h).
 *
 * Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_NEGOTIATE_H
#define RECONCILERS_PROXY_NEGOTIATE_H

#include "reconcilers/proxy/request.h"

enum ek_negotiate_kind {
    EK_NEGOTIATE_FORWARD,   /* not discovery, or not a GET or HEAD: goes to a peer */
    EK_NEGOTIATE_ROOT,      /* /api or /apis: merged, or the connection's peer's own */
    EK_NEGOTIATE_GROUP,     /* /apis/<group>: APIGroup */
    EK_NEGOTIATE_RESOURCES, /* /apis/<group>/<version>, /api/<version>: APIResourceList */
    EK_NEGOTIATE_REFUSE,    /* 406; see answer */
};

enum ek_negotiate_form { EK_NEGOTIATE_V2, EK_NEGOTIATE_V2BETA1, EK_NEGOTIATE_PLAIN };

/* Headers of the client; the first line of each name, "" when there is none (net/http:Header.Get).
 */
struct ek_negotiate_headers {
    const char *accept;
    const char *accept_encoding;
    const char *if_none_match;
    const char *user_agent;
};

struct ek_negotiate_choice {
    enum ek_negotiate_kind kind;
    bool core; /* ROOT: /api, else /apis */
    enum ek_negotiate_form form;
    bool own;                      /* ROOT: profile=nopeer */
    bool yaml;                     /* see ek_negotiate_yaml */
    bool pretty;                   /* JSON indented for people; see ek_negotiate_indent */
    const char *group;             /* GROUP, RESOURCES: of the request's text; "" for core */
    const char *version;           /* RESOURCES */
    char *text;                    /* owned */
    struct ek_proxy_answer answer; /* REFUSE; and 503 without memory */
};

/* Chooses; *ret is to be released by ek_negotiate_done. */
void ek_negotiate_choose(const struct ek_proxy_request *request,
                         const struct ek_negotiate_headers *headers,
                         struct ek_negotiate_choice *ret);
void ek_negotiate_done(struct ek_negotiate_choice *choice);
EK_CLEANUP(ek_negotiate_choice, ek_negotiate_done)

/* True when Accept-Encoding ("" for none) allows gzip. */
bool ek_negotiate_takes_gzip(const char *accept_encoding);

/* A document that was encoded and compressed once. */
struct ek_negotiate_document {
    struct ek_str body, gzip; /* gzip.len 0: there is none */
    const char *etag;         /* with quotes */
};

/* All strings are constant, or borrowed from the document. NULL: the header is not sent. */
struct ek_negotiate_reply {
    int code; /* 200 or 304 */
    const char *content_type;
    const char *etag;
    const char *cache_control;
    const char *vary[2]; /* one line each; NULL behind the last */
    const char *content_encoding;
    struct ek_str body; /* empty with 304 */
};

/* The reply with a document, which for choice->pretty and yaml is to be the made one: API servers
 * compress what they send, however it is written (writers.go:deferredResponseWriter.Write). The
 * code does not depend on that. */
void ek_negotiate_reply(const struct ek_negotiate_choice *choice,
                        const struct ek_negotiate_headers *headers,
                        const struct ek_negotiate_document *document,
                        struct ek_negotiate_reply *ret);

/* Appends compact JSON as encoding/json:Indent of Go does with two blanks and without a final line
 * feed, as apimachinery's serializer writes it. Returns what ek_buf_append returns. */
int ek_negotiate_indent(struct ek_str json, struct ek_buf *out);

/* Appends JSON as API servers write YAML (apimachinery/pkg/runtime/serializer/json:doEncode): the
 * members of objects in the order of their names. Returns 0, EK_E_PARSE for what is no JSON, or
 * what ek_yaml_write returns. */
int ek_negotiate_yaml(struct ek_str json, struct ek_buf *out);

/* The Accept header of the request by which the connection's peer judges the client: the path of
 * the client's request, the identity of the client, and If-None-Match with the tag of the peer's
 * own document, so that the peer answers 304. */
extern const char *const ek_negotiate_permission_accept;

/* True when the peer's answer to that request grants the document; else that answer goes to the
 * client as it is. A 404 grants too: authorization comes before it. */
bool ek_negotiate_is_granted(int status);

#endif
