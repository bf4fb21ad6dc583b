/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/openapi_view.h"

#include <string.h>

#include "api/base/mem.h"

_Static_assert(EK_OPENAPI_V2_DOCS_MAX >= EK_VIEW_PEERS_MAX, "one document of each API server");

static bool serve_the_same(const struct ek_view *view, size_t i, size_t j)
{
    for (int place = 0; place < EK_VIEW_PLACE_MAX; place++) {
        const struct ek_view_document *a = ek_view_own(view, i, place, EK_VIEW_V2);
        const struct ek_view_document *b = ek_view_own(view, j, place, EK_VIEW_V2);
        if (!a || !b || strcmp(a->etag, b->etag) != 0)
            return false;
    }
    return true;
}

bool ek_openapi_is_mixed(const struct ek_view *view)
{
    size_t n = 0;

    ek_view_peers(view, &n);
    for (size_t i = 1; i < n; i++)
        if (!serve_the_same(view, 0, i))
            return true;
    return false;
}

enum ek_route_serves ek_openapi_serves(const struct ek_view *view, size_t i,
                                       const struct ek_proxy_request *request,
                                       const struct ek_openapi_document *document)
{
    if (!request->is_resource && !document->group)
        return EK_ROUTE_YES;
    switch (request->is_resource
                ? ek_view_serves(view, i, request->group, request->version, request->resource,
                                 request->subresource)
                : ek_view_serves(view, i, document->group, document->version, "", "")) {
    case EK_VIEW_YES:
        return EK_ROUTE_YES;
    case EK_VIEW_NO:
        return EK_ROUTE_NO;
    default:
        return EK_ROUTE_UNKNOWN;
    }
}

bool ek_openapi_index(const struct ek_view *view, struct ek_str index, struct ek_buf *out)
{
    const char **group_versions = NULL;
    size_t n = 0, cursor = 0;

    for (const char *gv; (gv = ek_view_group_version(view, &cursor));) {
        group_versions = ek_xrealloc(group_versions, n + 1, sizeof *group_versions);
        group_versions[n++] = gv;
    }
    bool done = ek_openapi_merge(index, group_versions, n, out);
    ek_free(group_versions);
    return done;
}

/* ---- The gather ---- */

void ek_openapi_gather_done(struct ek_openapi_gather *gather)
{
    for (size_t i = 0; i < gather->n; i++)
        ek_free((void *)(uintptr_t)gather->docs[i].text.p);
    ek_document_done(&gather->made);
    ek_free(gather->content_type);
    *gather = (struct ek_openapi_gather){0};
}

bool ek_openapi_gather_takes(struct ek_openapi_gather *gather, const char *content_type)
{
    enum ek_openapi_v2_form form;

    if (!content_type || !ek_openapi_v2_form(content_type, &form) ||
        (gather->content_type && form != gather->form))
        return false;
    if (!gather->content_type)
        gather->content_type = ek_xstrdup(content_type);
    gather->form = form;
    return true;
}

size_t ek_openapi_gather_room(const struct ek_openapi_gather *gather)
{
    size_t room = EK_OPENAPI_GATHER_MAX - gather->size;

    if (gather->n == EK_OPENAPI_V2_DOCS_MAX)
        return 0;
    return room < EK_OPENAPI_GATHERED_MAX ? room : EK_OPENAPI_GATHERED_MAX;
}

void ek_openapi_gather_add(struct ek_openapi_gather *gather, size_t i, struct ek_str text)
{
    char *copy =
        text.len > 0 && text.len <= ek_openapi_gather_room(gather) ? ek_alloc(text.len) : NULL;

    if (!copy)
        return;
    memcpy(copy, text.p, text.len);
    gather->peers[gather->n] = i;
    gather->docs[gather->n++].text = (struct ek_str){copy, text.len};
    gather->size += text.len;
}

void ek_openapi_gather_merge(struct ek_openapi_gather *gather)
{
    EK_AUTO(ek_buf) body;

    ek_buf_init(&body, EK_OPENAPI_V2_MAX);
    gather->merged = ek_openapi_v2_merge(gather->form, gather->docs, gather->n, &body);
    if (gather->merged)
        ek_document_make(&gather->made, &body, NULL);
}

/* API servers whose resources may be missing in the merged document. */
static size_t count_missing(const struct ek_openapi_gather *gather, const struct ek_view *view)
{
    size_t n = 0, missing = 0;

    ek_view_peers(view, &n);
    for (size_t i = 0; i < n; i++) {
        bool covered = false;
        for (size_t d = 0; d < gather->n && !covered; d++)
            covered = gather->docs[d].used &&
                      (gather->peers[d] == i || serve_the_same(view, gather->peers[d], i));
        missing += !covered;
    }
    return missing;
}

size_t ek_openapi_gather_reply(const struct ek_openapi_gather *gather, const struct ek_view *view,
                               const char *accept_encoding, const char *if_none_match,
                               struct ek_negotiate_reply *ret)
{
    bool gzip = gather->made.gzip.len > 0 && ek_negotiate_takes_gzip(accept_encoding);
    bool known = ek_openapi_v2_is_known(if_none_match, gather->made.etag);
    const struct ek_buf *body = gzip ? &gather->made.gzip : &gather->made.body;

    *ret = (struct ek_negotiate_reply){.code = known ? 304 : 200,
                                       .content_type = gather->content_type,
                                       .etag = gather->made.etag,
                                       .cache_control = "no-cache, private",
                                       .vary = {"Accept", "Accept-Encoding"},
                                       .content_encoding = gzip ? "gzip" : NULL};
    ret->body = known ? EK_STR("") : (struct ek_str){body->data, body->len};
    return count_missing(gather, view);
}
