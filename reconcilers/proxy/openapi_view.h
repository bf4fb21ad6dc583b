/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI for all API servers of a view: which of them has a document, the index of OpenAPI v3, and
 * the gather of /openapi/v2, whose document is merged from those of several API servers. Used by
 * `evenkeel proxy`, which asks as its client, and by the discovery endpoint of `evenkeel run`,
 * which asks with its own account.
 *
 * The index is the one of an API server (kube-openapi, pkg/handler3/handler.go), with the group
 * versions that only others serve. OpenAPI v2 is merged while the API servers serve different
 * resources (openapi_v2.h).
 *
 * Pure. Threading: any thread; a gather belongs to one at a time.
 */
#ifndef RECONCILERS_PROXY_OPENAPI_VIEW_H
#define RECONCILERS_PROXY_OPENAPI_VIEW_H

#include "reconcilers/peers/document.h"
#include "reconcilers/peers/view.h"
#include "reconcilers/proxy/negotiate.h"
#include "reconcilers/proxy/openapi.h"
#include "reconcilers/proxy/openapi_v2.h"
#include "reconcilers/proxy/route.h"

/* An API server serves other resources than another one, or its documents are not known. */
bool ek_openapi_is_mixed(const struct ek_view *view);

/* Whether peers[i] of the view has what a request is about: its resource, or the group version of
 * its document. EK_ROUTE_YES for a request that is about neither. */
enum ek_route_serves ek_openapi_serves(const struct ek_view *view, size_t i,
                                       const struct ek_proxy_request *request,
                                       const struct ek_openapi_document *document);

/* Octets of an index, and of one to which group versions were added. */
#define EK_OPENAPI_INDEX_READ_MAX ((size_t)1 << 20)
#define EK_OPENAPI_INDEX_MAX      ((size_t)64 << 20)

/* Appends the index of one API server to out, with the group versions that it does not list and
 * others of the view serve. False when it is no index; nothing useful is in out then. */
bool ek_openapi_index(const struct ek_view *view, struct ek_str index, struct ek_buf *out);

/* Octets of the documents of one gather, and of each. */
#define EK_OPENAPI_GATHER_MAX   ((size_t)32 << 20)
#define EK_OPENAPI_GATHERED_MAX ((size_t)16 << 20)

/* Gathers at once, of a process: each may need the memory of EK_OPENAPI_GATHER_MAX octets of
 * documents, parsed. */
#define EK_OPENAPI_GATHERS_MAX 2

/* A zeroed struct is empty. */
struct ek_openapi_gather {
    char *content_type; /* of all documents; owned. NULL before the first */
    enum ek_openapi_v2_form form;
    size_t peers[EK_OPENAPI_V2_DOCS_MAX];                  /* of the view; of docs */
    struct ek_openapi_v2_doc docs[EK_OPENAPI_V2_DOCS_MAX]; /* texts are owned */
    size_t n, size;                                        /* documents, and their octets */
    bool merged;                                           /* made is the merged document */
    struct ek_document made;
};

void ek_openapi_gather_done(struct ek_openapi_gather *gather);

/* True when a response 200 of this Content-Type (NULL: none) is a document in the form of the first
 * one. The form of the first is kept. */
bool ek_openapi_gather_takes(struct ek_openapi_gather *gather, const char *content_type);

/* Octets that the next document may have. */
size_t ek_openapi_gather_room(const struct ek_openapi_gather *gather);

/* Adds a copy of the document of peers[i]; at most ek_openapi_gather_room octets, which are not
 * kept where there is no memory. */
void ek_openapi_gather_add(struct ek_openapi_gather *gather, size_t i, struct ek_str text);

/* Merges and compresses the documents, and sets merged. Takes long: not for a loop. */
void ek_openapi_gather_merge(struct ek_openapi_gather *gather);

/* The reply with the merged document, borrowed from the gather. Returns how many API servers of the
 * view have resources that it may lack. */
size_t ek_openapi_gather_reply(const struct ek_openapi_gather *gather, const struct ek_view *view,
                               const char *accept_encoding, const char *if_none_match,
                               struct ek_negotiate_reply *ret);

/* The text of the Warning header for a document that lacks resources of so many API servers. */
#define EK_OPENAPI_LACKS                                                                           \
    "299 - \"the document lacks resources of %zu API servers that did not send theirs\""

#endif
