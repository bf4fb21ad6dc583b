/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a view: the documents of one server, and the merged ones. Both count references, so
 * that views share what has not changed. */
#ifndef RECONCILERS_PEERS_VIEW_INTERNAL_H
#define RECONCILERS_PEERS_VIEW_INTERNAL_H

#include <stdatomic.h>

#include "api/base/map.h"
#include "reconcilers/peers/document.h"
#include "reconcilers/peers/view_build.h"

/* A document, and how it is shown. */
struct ek_view_page {
    struct ek_document document;
    struct ek_view_document shown;
};

/* What one server serves: a group version (resource ""), a resource, or with sub a subresource. */
struct ek_view_entry {
    const char *group, *version, *resource, *sub; /* borrowed from the documents */
    bool any; /* of a group version: it serves resources that it does not list */
};

/* The documents of one server. */
struct ek_view_part {
    atomic_uint refs;
    struct ek_api_groups *core, *groups; /* references */
    struct ek_view_entry *entries;       /* sorted */
    size_t n_entries;
    size_t n_repeats; /* names that are not the first of their kind */
    struct ek_view_page pages[EK_VIEW_PLACE_MAX][EK_VIEW_FORM_MAX];
};

/* A page of a merged group ("apps") or group version ("apps/v1", "/v1"). */
struct ek_view_named {
    char *key;
    struct ek_view_page page;
};

/* What was merged, and of what. */
struct ek_view_merge {
    atomic_uint refs;
    size_t n;                    /* servers */
    struct ek_view_part **parts; /* references */
    char **ids;
    char *as_id;
    char **excluded;
    size_t n_excluded;
    struct ek_view_page pages[EK_VIEW_PLACE_MAX][EK_VIEW_FORM_MAX];
    struct ek_view_named *named;
    size_t n_named;
    struct ek_map by_key; /* of named */
};

struct ek_view {
    atomic_uint refs;
    struct ek_view_peer *peers;  /* strings owned */
    struct ek_view_part **parts; /* of peers; NULL where nothing is known */
    size_t n;
    bool complete;
    struct ek_view_merge *merge; /* NULL while the view is not complete */
};

/* Makes the page of a body, which is released; a body that failed leaves the page empty. etag NULL:
 * that of the body. */
void ek_view_page_make(struct ek_view_page *page, struct ek_buf *body, const char *etag);
void ek_view_page_done(struct ek_view_page *page);

/* Fills the forms of one place. */
void ek_view_pages_fill(struct ek_view_page pages[EK_VIEW_FORM_MAX], enum ek_view_place place,
                        const struct ek_api_list *list);

struct ek_view_part *ek_view_part_new(const struct ek_api_groups *core,
                                      const struct ek_api_groups *groups);
struct ek_view_part *ek_view_part_ref(struct ek_view_part *part);
void ek_view_part_unref(struct ek_view_part *part);

/* Merges the parts of a view whose peers and parts are there. previous may be NULL. NULL when the
 * documents are too large. */
struct ek_view_merge *ek_view_merge_new(const struct ek_view *view,
                                        const struct ek_exclusions *exclusions,
                                        struct ek_view_merge *previous);
void ek_view_merge_unref(struct ek_view_merge *merge);

#endif
