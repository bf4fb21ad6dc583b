/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an API server serves, stores and has switched on: as it says itself, and as the data of
 * `evenkeel plan` predicts; and how two of these differ. Pure; everything lives in the arena or is
 * borrowed from the documents that were read.
 */
#ifndef RECONCILERS_REHEARSE_VIEW_H
#define RECONCILERS_REHEARSE_VIEW_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/arena.h"
#include "reconcilers/plan/data.h"
#include "reconcilers/rehearse/steps.h"

/* What is beyond is not read; types are counted. */
#define EK_REHEARSE_TYPES_MAX 20000
#define EK_REHEARSE_GATES_MAX 5000

struct ek_rehearse_type {
    const char *group, *version, *resource, *kind;
    bool namespaced, can_list, can_update, can_create;
    const char *hash;   /* storageVersionHash of discovery; "" without */
    const char *stored; /* "apps/v1", the version in which objects are stored; "" not known */
};

struct ek_rehearse_gate {
    const char *name;
    bool on;
};

/* Zero-initialise with arena. */
struct ek_rehearse_view {
    struct ek_arena *arena;
    struct ek_rehearse_type *types;
    size_t n_types, max_types;
    size_t beyond; /* types that were not read */
    struct ek_rehearse_gate *gates;
    size_t n_gates, max_gates;
};

/* Adds the resources of an APIResourceList (apimachinery/pkg/apis/meta/v1/types.go), subresources
 * left out; texts are copied. False when root is no such list. */
bool ek_rehearse_view_add(struct ek_rehearse_view *view, yyjson_val *root);

/* Adds a gate; name is copied. */
void ek_rehearse_view_gate(struct ek_rehearse_view *view, const char *name, bool on);

/* Sorts the types (group, resource, and the preferred version first, as they were added) and the
 * gates (name). */
void ek_rehearse_view_sort(struct ek_rehearse_view *view);

/* Something in which two views differ. */
struct ek_rehearse_difference {
    const char *what;  /* "api", "storage", "gate" */
    const char *name;  /* "apps/v1 deployments", "apps deployments", "SidecarContainers" */
    const char *a, *b; /* "served", "not served"; "apps/v1"; "on", "off", "absent" */
};

struct ek_rehearse_differences {
    struct ek_rehearse_difference *list;
    size_t n;
    size_t same; /* what was compared and is the same */
};

/* Compares two sorted views. known (may be NULL) leaves out what its data does not have: groups of
 * custom resources, and gates. Storage is compared where both views know it. */
void ek_rehearse_view_compare(const struct ek_rehearse_view *a, const struct ek_rehearse_view *b,
                              const struct ek_plan_data *known, struct ek_arena *arena,
                              struct ek_rehearse_differences *ret_differences);

/*
 * What the data of plans says of a start with n arguments at the versions of step: the sorted view
 * in ret_view, and the sentences with which the server refuses in ret_refusals (*ret_n of them).
 * False where the data does not have the binary: nothing is predicted.
 */
bool ek_rehearse_predict(const struct ek_plan_data *data, const struct ek_rehearse_step *step,
                         const char *const *args, size_t n, struct ek_arena *arena,
                         struct ek_rehearse_view *ret_view, const char *const **ret_refusals,
                         size_t *ret_n);

#endif
