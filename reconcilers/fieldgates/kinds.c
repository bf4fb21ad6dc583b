/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/kinds.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

/* Of one kind's resolution: its findings are bounded, a CRD is at most 1.5 MiB. */
#define ARENA_LIMIT ((size_t)16 << 20)

static void kind_done(struct ek_gated_kind *kind)
{
    ek_gates_unref(kind->enforced);
    ek_arena_free(kind->arena);
    ek_gates_unref(kind->defined);
    ek_obj_unref(kind->obj);
    ek_obj_unref(kind->crd);
    *kind = (struct ek_gated_kind){0};
}

static int compare_name(const void *name, const void *kind)
{
    return strcmp(name, ek_obj_name(((const struct ek_gated_kind *)kind)->obj));
}

static struct ek_gated_kind *find(const struct ek_gated_kinds *kinds, const char *name)
{
    return kinds->n ? bsearch(name, kinds->kinds, kinds->n, sizeof *kinds->kinds, compare_name)
                    : NULL;
}

/* Of gates, what is status and the like does not matter; of a CRD, its spec and whether it is
 * established, which has no generation. */
static bool same_gates(const struct ek_obj *a, const struct ek_obj *b)
{
    return a == b || (!strcmp(ek_obj_uid(a), ek_obj_uid(b)) &&
                      ek_obj_generation(a) == ek_obj_generation(b) && ek_obj_generation(a) != 0);
}

static bool same_crd(const struct ek_obj *a, const struct ek_obj *b)
{
    return a == b || (a && b && !strcmp(ek_obj_uid(a), ek_obj_uid(b)) &&
                      !strcmp(ek_obj_resource_version(a), ek_obj_resource_version(b)));
}

static void resolve(struct ek_gated_kind *kind)
{
    struct ek_gates_resolution *r = &kind->resolution;

    if (!kind->crd)
        return;
    kind->arena = ek_arena_new(ARENA_LIMIT);
    kind->resolved = ek_gates_resolve(kind->defined, ek_obj_root(kind->crd), kind->arena, r,
                                      &kind->problem) == 0;
    if (kind->resolved)
        kind->enforced = ek_gates_new(ek_obj_root(kind->obj), r->refused, r->n_refused);
}

/* ordinal: among all kinds; of those beyond the limit the CRD is not followed. */
static void read_kind(struct ek_gated_kind *kind, size_t ordinal)
{
    if (!kind->crd && ordinal >= ek_gated_kinds_followed(ordinal + 1))
        ek_err_set(&kind->problem, EK_E_LIMIT,
                   "only the first %d CustomFeatureGates by name are enforced",
                   EK_GATES_REGISTERED_MAX);
    kind->defined = ek_gates_new(ek_obj_root(kind->obj), NULL, 0);
    resolve(kind);
}

/* Takes what is known of the kind out of old. The objects are renewed all the same: their status
 * may have changed. */
static bool keep(struct ek_gated_kind *kind, struct ek_gated_kind *old)
{
    bool moved = old && !old->crd && old->problem.code; /* it may be within the limit now */

    if (!old || moved || !same_gates(old->obj, kind->obj) || !same_crd(old->crd, kind->crd))
        return false;
    kind->defined = old->defined;
    kind->enforced = old->enforced;
    kind->arena = old->arena;
    kind->resolution = old->resolution;
    kind->resolved = old->resolved;
    kind->problem = old->problem;
    old->defined = old->enforced = NULL;
    old->arena = NULL;
    return true;
}

size_t ek_gated_kinds_followed(size_t n)
{
    return n < EK_GATES_REGISTERED_MAX ? n : EK_GATES_REGISTERED_MAX;
}

void ek_gated_kinds_update(struct ek_gated_kinds *kinds, struct ek_obj *const *objects,
                           const struct ek_obj *const *crds, size_t n)
{
    struct ek_gated_kinds next = {.n = n, .read = kinds->read};

    next.kinds = ek_xalloc((n + 1) * sizeof *next.kinds);
    for (size_t i = 0; i < n; i++) {
        struct ek_gated_kind *kind = &next.kinds[i];
        kind->obj = ek_obj_ref(objects[i]);
        kind->crd = ek_obj_ref(crds[i]);
        if (keep(kind, find(kinds, ek_obj_name(kind->obj))))
            continue;
        read_kind(kind, i);
        next.read++;
    }
    ek_gated_kinds_done(kinds);
    *kinds = next;
}

void ek_gated_kinds_done(struct ek_gated_kinds *kinds)
{
    for (size_t i = 0; i < kinds->n; i++)
        kind_done(&kinds->kinds[i]);
    ek_free(kinds->kinds);
    *kinds = (struct ek_gated_kinds){.read = kinds->read};
}

const struct ek_gated_kind *ek_gated_kinds_find(const struct ek_gated_kinds *kinds,
                                                const char *name)
{
    return find(kinds, name);
}

struct ek_gates_registered *ek_gated_kinds_registered(const struct ek_gated_kinds *kinds,
                                                      size_t *ret_n)
{
    struct ek_gates_registered *list = ek_xalloc((kinds->n + 1) * sizeof *list);
    size_t n = 0;

    for (size_t i = 0; i < kinds->n; i++) {
        const struct ek_gated_kind *kind = &kinds->kinds[i];
        if (kind->enforced)
            list[n++] =
                (struct ek_gates_registered){.gates = kind->enforced, .crd = &kind->resolution.crd};
    }
    *ret_n = n;
    return list;
}
