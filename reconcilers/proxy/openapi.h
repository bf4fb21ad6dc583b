/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI v3 in front of API servers that serve different group versions (KEP-2896): the index
 * /openapi/v3 lists the documents of all of them, and a document of one group version comes from an
 * API server that serves the group version.
 *
 * By kube-openapi, pkg/handler3/handler.go: the index is {"paths": {"apis/apps/v1":
 * {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=..."}}}. Without a hash the document is sent
 * without a term for caches. Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_OPENAPI_H
#define RECONCILERS_PROXY_OPENAPI_H

#include "reconcilers/proxy/request.h"

/* True for a GET of the index. */
bool ek_openapi_is_index(const struct ek_proxy_request *request);

/* The group version, or the group, whose document a request is about. */
struct ek_openapi_document {
    char *group;         /* owned; "" for core, NULL for a request that is about none */
    const char *version; /* in the text of group; "" for the document of a group */
};

/* Reads it; *ret is to be released by ek_openapi_document_done after any outcome. */
void ek_openapi_document_read(const struct ek_proxy_request *request,
                              struct ek_openapi_document *ret);
void ek_openapi_document_done(struct ek_openapi_document *document);
EK_CLEANUP(ek_openapi_document, ek_openapi_document_done)

/* True for a header of a request for the index, or for the document of OpenAPI v2, that is not
 * passed on, so that the answer is whole and not compressed. v2: the client chooses the form; the
 * index is JSON. */
bool ek_openapi_drops_header(const char *name, bool v2);

/*
 * Appends the index of one API server to out, with each of n group versions ("apps/v1", "/v1" of
 * core) that it does not list. False when it is no index; nothing useful is in out then.
 */
bool ek_openapi_merge(struct ek_str index, const char *const *group_versions, size_t n,
                      struct ek_buf *out);

#endif
