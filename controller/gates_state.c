/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_state.h"

#include "api/mem.h"

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

static struct ek_gated_kind *find(const struct ek_gates_state *state, const char *name)
{
    size_t low = 0, high = state->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(ek_obj_name(state->kinds[mid].obj), name);
        if (order == 0)
            return &state->kinds[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
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
    if (!kind->crd && ordinal >= EK_GATES_REGISTERED_MAX)
        ek_err_set(&kind->problem, EK_E_LIMIT,
                   "only the first %d CustomFeatureGates by name are looked after",
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

void ek_gates_state_update(struct ek_gates_state *state, const struct ek_gates_watch *watch)
{
    struct ek_gates_state next = {.read = state->read};
    struct ek_obj **items =
        ek_store_snapshot(ek_gates_watch_store(watch, EK_GATES_OBJECTS), &next.n);

    next.kinds = ek_xalloc((next.n + 1) * sizeof *next.kinds);
    for (size_t i = 0; i < next.n; i++) {
        struct ek_gated_kind *kind = &next.kinds[i];
        kind->obj = ek_obj_ref(items[i]);
        kind->crd = ek_obj_ref(ek_gates_watch_crd(watch, ek_obj_name(items[i])));
        if (keep(kind, find(state, ek_obj_name(kind->obj))))
            continue;
        read_kind(kind, i);
        next.read++;
    }
    ek_snapshot_free(items, next.n);
    ek_gates_state_done(state);
    *state = next;
}

void ek_gates_state_done(struct ek_gates_state *state)
{
    for (size_t i = 0; i < state->n; i++)
        kind_done(&state->kinds[i]);
    ek_free(state->kinds);
    *state = (struct ek_gates_state){.read = state->read};
}

const struct ek_gated_kind *ek_gates_state_find(const struct ek_gates_state *state,
                                                const char *name)
{
    return find(state, name);
}

struct ek_gates_registered *ek_gates_state_registered(const struct ek_gates_state *state,
                                                      size_t *ret_n)
{
    struct ek_gates_registered *list = ek_xalloc((state->n + 1) * sizeof *list);
    size_t n = 0;

    for (size_t i = 0; i < state->n; i++) {
        const struct ek_gated_kind *kind = &state->kinds[i];
        if (kind->enforced)
            list[n++] =
                (struct ek_gates_registered){.gates = kind->enforced, .crd = &kind->resolution.crd};
    }
    *ret_n = n;
    return list;
}
