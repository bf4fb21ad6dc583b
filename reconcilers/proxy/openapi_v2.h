/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI v2 in front of API servers that serve different resources: one document with the paths
 * and the definitions of all of them.
 *
 * An API server sends /openapi/v2 as JSON or as Protocol Buffers (kube-openapi,
 * pkg/handler/handler.go; gnostic-models, openapiv2/OpenAPIv2.proto). Both are maps of names at
 * their second level. The merged document is that of the newest API server (info.version), with
 * what only others have appended. What several have under one name is the newest one's: unlike
 * kube-openapi, pkg/aggregator/aggregator.go:mergeSpecs, nothing is renamed, because a name is the
 * same Go type at another version, and a second definition of one kind would hide the first.
 *
 * Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_OPENAPI_V2_H
#define RECONCILERS_PROXY_OPENAPI_V2_H

#include "api/base/buf.h"
#include "reconcilers/proxy/request.h"

/* Documents of one merge. */
#define EK_OPENAPI_V2_DOCS_MAX 64

/* A merged document has at most so many octets. */
#define EK_OPENAPI_V2_MAX ((size_t)64 << 20)

enum ek_openapi_v2_form { EK_OPENAPI_V2_JSON, EK_OPENAPI_V2_PROTOBUF };

/* True for a GET of the document. */
bool ek_openapi_v2_is_document(const struct ek_proxy_request *request);

/* The form of a Content-Type; false for another one. */
bool ek_openapi_v2_form(const char *content_type, enum ek_openapi_v2_form *ret_form);

/* True when If-None-Match ("" for none) names the tag (RFC 9110, 13.1.2). */
bool ek_openapi_v2_is_known(const char *if_none_match, const char *etag);

struct ek_openapi_v2_doc {
    struct ek_str text; /* borrowed */
    bool used;          /* it is a document, and is in the merged one */
};

/* Appends the merged document of n (at most EK_OPENAPI_V2_DOCS_MAX) to out, and sets used of each.
 * False when none is a document, or when out or the memory is too small; nothing useful is in out
 * then. */
bool ek_openapi_v2_merge(enum ek_openapi_v2_form form, struct ek_openapi_v2_doc *docs, size_t n,
                         struct ek_buf *out);

#endif
