/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns which field: metadata.managedFields kept up to date on every write, and server-side
 * apply on top of it.
 *
 * An entry is a manager's set of fields under one operation, API version and subresource. A write
 * by Update takes the fields that it changed away from the others; an Apply owns what it sent,
 * conflicts where another manager holds a field whose value would change, and gives back what it
 * no longer sends. The rules are those of structured-merge-diff in the API server.
 *
 * All functions work on mutable documents that the caller owns; time is an argument. Pure.
 */
#ifndef TEST_APISERVER_MANAGED_H
#define TEST_APISERVER_MANAGED_H

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "api/base/buf.h"
#include "test/apiserver/fieldset.h"

/* Who writes, and how. Borrowed strings. */
struct ek_field_manager {
    const char *name;        /* "kubectl", at most 128 bytes */
    const char *api_version; /* of the object as it was sent */
    const char *subresource; /* "status", or "" */
    bool has_status;         /* the kind has a status subresource: status is not owned by others */
};

/* What stood in the way of an Apply; owned texts. */
struct ek_conflicts {
    struct ek_conflict {
        char *holder; /* as messages show it: "name" using v1 at ... */
        char *path;   /* ".data.key" */
    } * items;
    size_t n;
};

void ek_conflicts_done(struct ek_conflicts *conflicts);

/* Appends what the API server says about the conflicts: "Apply failed with 1 conflict: ...". */
void ek_conflicts_format(const struct ek_conflicts *conflicts, struct ek_buf *out);

/* Sets managedFields of after (a value of doc), an object that a write other than Apply has made
 * out of before (NULL: it is new). */
void ek_managed_update(yyjson_mut_doc *doc, yyjson_mut_val *before, yyjson_mut_val *after,
                       const struct ek_shapes *shapes, const struct ek_field_manager *manager,
                       int64_t now_ms);

/*
 * Applies config to live (NULL: there is no object yet) and returns the new object in doc with its
 * managedFields. With conflicts and without force it returns NULL and fills *ret_conflicts.
 */
yyjson_mut_val *ek_managed_apply(yyjson_mut_doc *doc, yyjson_mut_val *live, yyjson_mut_val *config,
                                 const struct ek_shapes *shapes,
                                 const struct ek_field_manager *manager, bool force, int64_t now_ms,
                                 struct ek_conflicts *ret_conflicts);

#endif
