/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata as the API server reads it into its one Go struct for all kinds, ObjectMeta: types are
 * checked, null is no value, empty values and unknown fields go, times get their one form. For the
 * metadata of a custom resource and of the resources within it. Source: Kubernetes 1.36,
 * apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go:GetObjectMetaWithOptions;
 * the errors are those of Go's encoding/json. Not for those outside this folder.
 */
#ifndef API_DECODE_METADATA_H
#define API_DECODE_METADATA_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/arena.h"
#include "api/base/work.h"

/* Paths of fields, in an arena. Those beyond EK_PATHS_MAX are counted, but not kept. */
#define EK_PATHS_MAX 1000u
struct ek_paths {
    const char **list;
    size_t n, cap;
    size_t n_all; /* with those that are not kept */
};

void ek_paths_add__(struct ek_paths *paths, struct ek_arena *arena, const char *path);

struct ek_metadata_reader {
    yyjson_mut_doc *doc;      /* of the metadata that is made */
    struct ek_arena *arena;   /* for texts */
    struct ek_work *work;     /* may be NULL */
    bool is_lenient;          /* a field of another type is left out, and no error */
    const char *at;           /* the path of metadata, for unknown fields: "spec.pod.metadata" */
    struct ek_paths *unknown; /* gets unknown fields: "metadata.labls" */
};

/*
 * Makes what a server keeps of metadata, a tree of doc or NULL with *ret_error, why it refuses it
 * (NULL: no memory, or the work is over). metadata is left as it is; its texts are borrowed.
 */
yyjson_mut_val *ek_metadata_read__(const struct ek_metadata_reader *reader,
                                   yyjson_mut_val *metadata, const char **ret_error);

#endif
