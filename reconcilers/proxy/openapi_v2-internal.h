/* SPDX-License-Identifier: Apache-2.0 */
/* What openapi_v2.c (requests, JSON) and openapi_v2_wire.c (Protocol Buffers) share. */
#ifndef RECONCILERS_PROXY_OPENAPI_V2_INTERNAL_H
#define RECONCILERS_PROXY_OPENAPI_V2_INTERNAL_H

#include "api/version.h"
#include "reconcilers/proxy/openapi_v2.h"

/* Indexes of documents, the newest first. */
struct ek_openapi_v2_order {
    size_t at[EK_OPENAPI_V2_DOCS_MAX];
    struct ek_minor versions[EK_OPENAPI_V2_DOCS_MAX]; /* by place */
    size_t n;
};

/* Adds one behind all that are as new or newer. version: info.version, "" for none. */
void ek_openapi_v2_order_add__(struct ek_openapi_v2_order *order, size_t i, const char *version);

bool ek_openapi_v2_merge_wire__(struct ek_openapi_v2_doc *docs, size_t n, struct ek_buf *out);

#endif
