/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of a binary, and the rules that a registry obeys. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/features.h"

static const char *const stage_names[] = {
#define X(name, text) text,
    EK_FEATURE_STAGES(X)
#undef X
};

const char *ek_feature_stage_name(enum ek_feature_stage stage)
{
    return stage < EK_FEATURE_STAGE_MAX ? stage_names[stage] : "";
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ek_feature *)a)->name, ((const struct ek_feature *)b)->name);
}

const struct ek_feature *ek_feature_find(const struct ek_feature_registry *registry,
                                         struct ek_str name)
{
    size_t low = 0, high = registry->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const char *at = registry->gates[mid].name;
        int sign = strncmp(at, name.p ? name.p : "", name.len);
        if (!sign && at[name.len])
            sign = 1;
        if (!sign)
            return &registry->gates[mid];
        if (sign < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

const struct ek_feature_spec *ek_feature_spec_at(const struct ek_feature *gate,
                                                 struct ek_minor emulation,
                                                 struct ek_minor min_compat)
{
    static const struct ek_feature_spec absent = {.from = {true, 0, 0},
                                                  .stage = EK_FEATURE_PRE_ALPHA};

    if (!min_compat.known)
        min_compat = ek_minor_offset(emulation, -1);
    for (size_t i = gate->n_specs; i-- > 0;) {
        const struct ek_feature_spec *spec = &gate->specs[i];
        if (ek_minor_cmp(spec->from, emulation) <= 0 &&
            (!spec->min_compat.known || ek_minor_cmp(min_compat, spec->min_compat) >= 0))
            return spec;
    }
    return &absent;
}

/* ---- Specifications ---- */

/* What the specifications of a gate were so far. */
struct history {
    bool beta, ga, deprecated, locked;
};

/* Reads major.minor. *ret_rest is NULL for that, "" without a version, else the whole version. */
static struct ek_minor read_minor(yyjson_val *value, const char **ret_rest)
{
    const char *text = yyjson_get_str(value);
    struct ek_version v;

    *ret_rest = NULL;
    if (!text || ek_version_parse(ek_str_from(text), EK_VERSION_ANY, &v)) {
        *ret_rest = "";
        return EK_MINOR_UNKNOWN;
    }
    if (v.n_components != 2)
        *ret_rest = text;
    return EK_MINOR(v.major, v.minor);
}

static bool read_stage(yyjson_val *value, enum ek_feature_stage *ret)
{
    for (size_t i = EK_FEATURE_ALPHA; i < EK_FEATURE_STAGE_MAX; i++)
        if (yyjson_equals_str(value, stage_names[i])) {
            *ret = (enum ek_feature_stage)i;
            return true;
        }
    return false;
}

static bool same_minor(struct ek_minor a, struct ek_minor b)
{
    return a.known == b.known && (!a.known || !ek_minor_cmp(a, b));
}

/* How the messages print a stage: GA is the empty text in the code. */
static const char *said(enum ek_feature_stage stage)
{
    return stage == EK_FEATURE_GA ? "" : stage_names[stage];
}

/* The rules on the minimum compatibility version of a specification. */
static int check_min_compat(const char *name, const struct ek_feature_spec *spec,
                            const struct ek_feature_spec *last, const char *rest,
                            struct ek_err *err)
{
    char a[EK_MINOR_SIZE], b[EK_MINOR_SIZE];

    if (!spec->min_compat.known)
        return 0;
    if (!last || !same_minor(spec->from, last->from))
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" specified MinCompatibilityVersion: %s without a "
                          "preceding entry at the same Version without MinCompatibilityVersion set",
                          name, rest ? rest : ek_minor_format(spec->min_compat, a));
    if (rest)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" specified patch MinCompatibilityVersion: %s", name, rest);
    if (ek_minor_cmp(spec->min_compat, spec->from) > 0)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" MinCompatibilityVersion %s greater than Version %s", name,
                          ek_minor_format(spec->min_compat, a), ek_minor_format(spec->from, b));
    return 0;
}

/* The rules on two specifications of one version. */
static int check_same_version(const char *name, const struct ek_feature_spec *spec,
                              const struct ek_feature_spec *last, struct ek_err *err)
{
    char a[EK_MINOR_SIZE], b[EK_MINOR_SIZE];

    if (!same_minor(spec->from, last->from))
        return 0;
    if (same_minor(spec->min_compat, last->min_compat))
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" lists duplicate entries with the same versions (%s = %s)",
                          name, ek_minor_format(spec->from, a), ek_minor_format(last->from, b));
    if (spec->stage != last->stage)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" lists stability changes with the same version (%s -> %s)",
                          name, said(last->stage), said(spec->stage));
    if (spec->locked != last->locked)
        return ek_err_set(
            err, EK_E_INVAL,
            "feature \"%s\" lists locked to default changes with the same version (%s -> %s)", name,
            last->locked ? "true" : "false", spec->locked ? "true" : "false");
    return 0;
}

/* The rules on how a gate may change. */
static int check_order(const char *name, const struct ek_feature_spec *spec,
                       const struct ek_feature_spec *last, const struct history *was,
                       struct ek_err *err)
{
    char a[EK_MINOR_SIZE], b[EK_MINOR_SIZE];

    ek_minor_format(spec->from, a);
    ek_minor_format(last->from, b);
    if (ek_minor_cmp(spec->from, last->from) < 0)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" lists version transitions in decreasing order (%s < %s)",
                          name, a, b);
    if (spec->min_compat.known && last->min_compat.known &&
        ek_minor_cmp(spec->min_compat, last->min_compat) < 0)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" lists min compatibility version transitions in "
                          "decreasing order (%s < %s)",
                          name, a, b);
    int rc = check_same_version(name, spec, last, err);
    if (rc)
        return rc;
    if (spec->stage == last->stage && spec->on == last->on && spec->locked == last->locked)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" lists transition without stability change (%s -> %s)",
                          name, b, a);
    if (was->locked && !spec->locked)
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" must not unlock after locking to default", name);
    if (spec->stage != EK_FEATURE_DEPRECATED && was->deprecated)
        return ek_err_set(err, EK_E_INVAL,
                          "deprecated feature \"%s\" must not resurrect from its terminal state",
                          name);
    if ((spec->stage == EK_FEATURE_ALPHA && (was->beta || was->ga)) ||
        (spec->stage == EK_FEATURE_BETA && was->ga))
        return ek_err_set(err, EK_E_INVAL,
                          "feature \"%s\" regresses stability from more stable level to %s in %s",
                          name, stage_names[spec->stage], a);
    return 0;
}

static int read_spec(const char *name, yyjson_val *value, struct ek_feature_spec *specs, size_t i,
                     struct history *was, struct ek_err *err)
{
    struct ek_feature_spec *spec = &specs[i], *last = i ? &specs[i - 1] : NULL;
    yyjson_val *compat = yyjson_obj_get(value, "minCompatibilityVersion");
    const char *rest, *compat_rest = NULL;

    spec->from = read_minor(yyjson_obj_get(value, "version"), &rest);
    if (rest)
        return *rest
                   ? ek_err_set(err, EK_E_INVAL, "feature \"%s\" specified patch version: %s", name,
                                rest)
                   : ek_err_set(err, EK_E_INVAL, "feature \"%s\" did not provide a version", name);
    if (!read_stage(yyjson_obj_get(value, "preRelease"), &spec->stage))
        return ek_err_set(err, EK_E_INVAL, "feature \"%s\" has no stage", name);
    spec->on = yyjson_get_bool(yyjson_obj_get(value, "default"));
    spec->locked = yyjson_get_bool(yyjson_obj_get(value, "lockToDefault"));
    if (compat)
        spec->min_compat = read_minor(compat, &compat_rest);
    int rc = check_min_compat(name, spec, last, compat_rest, err);
    if (!rc && !last && spec->stage == EK_FEATURE_DEPRECATED && spec->from.minor != 0)
        rc = ek_err_set(err, EK_E_INVAL,
                        "feature \"%s\" introduced as deprecated must provide a 1.0 entry "
                        "indicating initial state",
                        name);
    if (!rc && last)
        rc = check_order(name, spec, last, was, err);
    if (!spec->min_compat.known && last)
        spec->min_compat = last->min_compat; /* never lower than before */
    was->beta |= spec->stage == EK_FEATURE_BETA;
    was->ga |= spec->stage == EK_FEATURE_GA;
    was->deprecated |= spec->stage == EK_FEATURE_DEPRECATED;
    was->locked |= spec->locked;
    return rc;
}

static int read_gate(yyjson_val *value, struct ek_arena *arena, struct ek_feature *ret,
                     struct ek_err *err)
{
    yyjson_val *list = yyjson_obj_get(value, "specs"), *spec;
    const char *name = ek_json_str(value, "name", NULL);
    size_t i, n = yyjson_arr_size(list);
    struct history was = {0};
    int rc = 0;

    if (!name || !*name || !n)
        return ek_err_set(err, EK_E_INVAL, "a feature gate has no name or no specification");
    struct ek_feature_spec *specs = ek_arena_alloc(arena, n * sizeof *specs);
    *ret = (struct ek_feature){.name = name, .specs = specs, .n_specs = n};
    yyjson_arr_foreach(list, i, n, spec)
    {
        rc = rc ? rc : read_spec(name, spec, specs, i, &was, err);
    }
    return rc;
}

/* The gates that every registry has (defaultFeatures). */
static struct ek_feature special_gate(struct ek_arena *arena, const char *name,
                                      enum ek_feature_stage stage)
{
    struct ek_feature_spec *spec = ek_arena_alloc(arena, sizeof *spec);

    *spec = (struct ek_feature_spec){.from = EK_MINOR(0, 0), .stage = stage};
    return (struct ek_feature){.name = name, .specs = spec, .n_specs = 1};
}

int ek_feature_registry_read(yyjson_val *gates, struct ek_arena *arena,
                             struct ek_feature_registry *ret_registry, struct ek_err *err)
{
    size_t i, n = yyjson_arr_size(gates);
    yyjson_val *value;
    bool alpha = false, beta = false;

    *ret_registry =
        (struct ek_feature_registry){ek_arena_alloc(arena, (n + 2) * sizeof(struct ek_feature)), 0};
    yyjson_arr_foreach(gates, i, n, value)
    {
        struct ek_feature *gate = &ret_registry->gates[ret_registry->n++];
        int rc = read_gate(value, arena, gate, err);
        if (rc)
            return rc;
        alpha |= !strcmp(gate->name, "AllAlpha");
        beta |= !strcmp(gate->name, "AllBeta");
    }
    if (!alpha)
        ret_registry->gates[ret_registry->n++] = special_gate(arena, "AllAlpha", EK_FEATURE_ALPHA);
    if (!beta)
        ret_registry->gates[ret_registry->n++] = special_gate(arena, "AllBeta", EK_FEATURE_BETA);
    qsort(ret_registry->gates, ret_registry->n, sizeof(struct ek_feature), by_name);
    for (i = 1; i < ret_registry->n; i++)
        if (!by_name(&ret_registry->gates[i - 1], &ret_registry->gates[i]))
            return ek_err_set(err, EK_E_INVAL,
                              "feature gate \"%s\" with different spec already exists",
                              ret_registry->gates[i].name);
    return 0;
}

/* ---- Dependencies ---- */

/* The order of stability in which a gate may depend on another. */
static int stability(enum ek_feature_stage stage)
{
    static const int order[EK_FEATURE_STAGE_MAX] = {[EK_FEATURE_DEPRECATED] = 0,
                                                    [EK_FEATURE_PRE_ALPHA] = 1,
                                                    [EK_FEATURE_ALPHA] = 1,
                                                    [EK_FEATURE_BETA] = 2,
                                                    [EK_FEATURE_GA] = 3};
    return order[stage];
}

static int check_dependency(const struct ek_feature *gate, const struct ek_feature *need,
                            struct ek_err *err)
{
    char at[EK_MINOR_SIZE];

    for (size_t i = gate->n_specs; i-- > 0;) {
        const struct ek_feature_spec *spec = &gate->specs[i];
        const struct ek_feature_spec *other =
            ek_feature_spec_at(need, spec->from, spec->min_compat);
        ek_minor_format(spec->from, at);
        if (stability(spec->stage) > stability(other->stage))
            return ek_err_set(err, EK_E_INVAL,
                              "%s feature %s cannot depend on %s feature %s at version %s",
                              said(spec->stage), gate->name, said(other->stage), need->name, at);
        if (spec->on && !other->on)
            return ek_err_set(err, EK_E_INVAL,
                              "default-enabled feature %s cannot depend on default-disabled "
                              "feature %s at version %s",
                              gate->name, need->name, at);
        if (spec->locked && !other->locked)
            return ek_err_set(err, EK_E_INVAL,
                              "locked-to-default feature %s cannot depend on unlocked feature %s "
                              "at version %s",
                              gate->name, need->name, at);
    }
    return 0;
}

static int by_position(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static int link_gate(yyjson_val *value, struct ek_arena *arena,
                     struct ek_feature_registry *registry, struct ek_err *err)
{
    yyjson_val *list = yyjson_obj_get(value, "dependencies"), *item;
    const char *name = ek_json_str(value, "name", NULL);
    size_t i, n = yyjson_arr_size(list), n_needs = 0;

    if (!n)
        return 0;
    const struct ek_feature *gate = ek_feature_find(registry, ek_str_from(name));
    if (!gate)
        return ek_err_set(err, EK_E_INVAL, "cannot add dependency for unknown feature %s",
                          name ? name : "");
    size_t *needs = ek_arena_alloc(arena, n * sizeof *needs);
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *other = yyjson_get_str(item);
        const struct ek_feature *need = ek_feature_find(registry, ek_str_from(other));
        if (!need)
            return ek_err_set(err, EK_E_INVAL,
                              "cannot add dependency from %s to unknown feature %s", name,
                              other ? other : "");
        int rc = check_dependency(gate, need, err);
        if (rc)
            return rc;
        needs[n_needs++] = (size_t)(need - registry->gates);
    }
    qsort(needs, n_needs, sizeof *needs, by_position); /* gates are sorted, so this is by name */
    registry->gates[gate - registry->gates].needs = needs;
    registry->gates[gate - registry->gates].n_needs = n_needs;
    return 0;
}

/* Follows what is left from a gate that leads to a cycle, until the gate is on the cycle. */
static const struct ek_feature *enter_cycle(const struct ek_feature_registry *registry,
                                            const bool *done, size_t at)
{
    for (size_t step = 0; step < registry->n; step++)
        for (size_t k = 0; k < registry->gates[at].n_needs; k++)
            if (!done[registry->gates[at].needs[k]]) {
                at = registry->gates[at].needs[k];
                break;
            }
    return &registry->gates[at];
}

/* Takes away the gates whose dependencies are all taken away, until none is left to take: what
 * remains has a cycle. */
static const struct ek_feature *find_cycle(const struct ek_feature_registry *registry,
                                           struct ek_arena *arena)
{
    bool *done = ek_arena_alloc(arena, registry->n + 1);
    bool moved = true;

    while (moved) {
        moved = false;
        for (size_t i = 0; i < registry->n; i++) {
            bool ready = !done[i];
            for (size_t k = 0; k < registry->gates[i].n_needs && ready; k++)
                ready = done[registry->gates[i].needs[k]];
            done[i] |= ready;
            moved |= ready;
        }
    }
    for (size_t i = 0; i < registry->n; i++)
        if (!done[i])
            return enter_cycle(registry, done, i);
    return NULL;
}

int ek_feature_registry_link(yyjson_val *gates, struct ek_arena *arena,
                             struct ek_feature_registry *registry, struct ek_err *err)
{
    yyjson_val *value;
    size_t i, n;

    yyjson_arr_foreach(gates, i, n, value)
    {
        int rc = link_gate(value, arena, registry, err);
        if (rc)
            return rc;
    }
    const struct ek_feature *cycle = find_cycle(registry, arena);
    return cycle ? ek_err_set(err, EK_E_INVAL, "cycle detected with feature %s", cycle->name) : 0;
}
