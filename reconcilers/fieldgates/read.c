/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/names.h"
#include "reconcilers/fieldgates/gates-internal.h"

/* Field paths of errors, without the member that follows. */
#define GATE  "spec.featureGates[%zu]"
#define PATHS GATE ".fieldPaths"

struct reading {
    struct ek_gates *gates;
    struct ek_gate *gate; /* the array */
    size_t n_paths;       /* of all gates so far */
    struct ek_arena *arena;
    struct ek_gates_growing__ *root;
    struct ek_field_errors *errors;
};

static const char *const on_disabled_names[] = {"Suppress", "Reject", NULL};
static const char *const failure_policy_names[] = {"Fail", "Ignore", NULL};

/* A value for an error; long ones are cut. */
static const char *shown(struct reading *r, yyjson_val *v)
{
    char quoted[EK_QUOTE_SIZE];

    if (yyjson_is_bool(v))
        return yyjson_get_bool(v) ? "true" : "false";
    if (yyjson_is_int(v))
        return ek_arena_printf(r->arena, "%lld", (long long)yyjson_get_sint(v));
    if (!yyjson_is_str(v))
        return ek_arena_printf(r->arena, "\"%s\"", yyjson_get_type_desc(v));
    struct ek_str s = {yyjson_get_str(v), yyjson_get_len(v)};
    return ek_arena_strdup(r->arena, ek_quote_short(s, quoted));
}

/* null stands for an absent member. */
static yyjson_val *member(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);

    return yyjson_is_null(v) ? NULL : v;
}

/* A string without octets of 0, which would make one text of two; NULL for anything else. */
static const char *text_of(yyjson_val *v)
{
    const char *s = yyjson_get_str(v);

    return s && strlen(s) == yyjson_get_len(v) ? s : NULL;
}

/* The index of a string in names, or fallback, with an error when it is none of them. */
static size_t choice(struct reading *r, yyjson_val *v, const char *const *names, size_t fallback,
                     const char *path)
{
    const char *s = text_of(v);

    if (!v)
        return fallback;
    for (size_t i = 0; s && names[i]; i++)
        if (!strcmp(names[i], s))
            return i;
    if (s && strlen(s) <= EK_GATE_NAME_MAX)
        ek_field_unsupported(r->errors, s, names, "%s", path);
    else
        ek_field_invalid(r->errors, shown(r, v), "is none of the supported values", "%s", path);
    return fallback;
}

/* True for what can stand in a warning: UTF-8 without control characters. */
static bool is_line(const char *s)
{
    struct ek_str rest = ek_str_from(s);
    unsigned rune;

    while (rest.len) {
        size_t n = ek_utf8_decode(rest, &rune);
        if (n == 0 || rune < 0x20 || (rune >= 0x7f && rune < 0xa0))
            return false;
        rest = (struct ek_str){rest.p + n, rest.len - n};
    }
    return true;
}

/* What is wrong with a name or a component; NULL for nothing. */
static const char *wrong_with_name(const char *s)
{
    if (!s)
        return "must be a string without NUL";
    if (strlen(s) > EK_GATE_NAME_MAX)
        return "must be no more than 253 bytes";
    return is_line(s) ? NULL : "must not have control characters";
}

/* ---- A gate ---- */

static enum ek_gate_setting read_setting(struct reading *r, yyjson_val *gate, const char *name,
                                         size_t i)
{
    yyjson_val *v = member(gate, name);

    if (!v)
        return EK_GATE_UNSET;
    if (!yyjson_is_bool(v)) {
        ek_field_invalid(r->errors, shown(r, v), "must be true or false", GATE ".%s", i, name);
        return EK_GATE_UNSET;
    }
    return yyjson_get_bool(v) ? EK_GATE_TRUE : EK_GATE_FALSE;
}

static const char *read_gate_name(struct reading *r, yyjson_val *v, size_t i)
{
    const char *name = text_of(v), *wrong = wrong_with_name(name);

    if (!v || (name && !*name)) {
        ek_field_required(r->errors, "", GATE ".name", i);
    } else if (wrong) {
        ek_field_invalid(r->errors, shown(r, v), wrong, GATE ".name", i);
    } else if (ek_gates_find(r->gates, name)) {
        ek_field_duplicate(r->errors, name, GATE ".name", i);
    } else {
        return ek_arena_strdup(r->arena, name);
    }
    return "";
}

static enum ek_gate_stage read_stage(struct reading *r, yyjson_val *v, size_t i)
{
    const char *s = text_of(v);

    if (!v || (s && !*s)) {
        ek_field_required(r->errors, "", GATE ".preRelease", i);
        return EK_GATE_STAGE_UNKNOWN;
    }
    return (enum ek_gate_stage)choice(r, v, ek_gate_stage_names__, EK_GATE_STAGE_UNKNOWN,
                                      ek_arena_printf(r->arena, GATE ".preRelease", i));
}

/* What a stage demands of default (V8). */
static void check_default(struct reading *r, const struct ek_gate *gate, size_t i)
{
    bool early = gate->stage == EK_GATE_ALPHA || gate->stage == EK_GATE_BETA;

    if (early && gate->initial == EK_GATE_TRUE)
        ek_field_invalid(r->errors, "true", "must be false, or left out, for alpha and beta fields",
                         GATE ".default", i);
    if (gate->stage == EK_GATE_STABLE && gate->initial == EK_GATE_FALSE)
        ek_field_invalid(r->errors, "false", "must be true, or left out, for stable fields",
                         GATE ".default", i);
    if (gate->stage == EK_GATE_DEPRECATED && gate->initial == EK_GATE_UNSET)
        ek_field_required(r->errors, "must be given for deprecated fields", GATE ".default", i);
}

/* The rule of a CRD version's deprecationWarning (V11); NULL for nothing wrong. */
static const char *wrong_with_warning(const char *s)
{
    if (!s || !is_line(s))
        return "must only contain printable UTF-8 characters";
    if (!*s)
        return "must not be an empty string";
    return strlen(s) > EK_GATE_WARNING_MAX ? "must be <= 256 characters long" : NULL;
}

static const char *read_warning(struct reading *r, yyjson_val *v, enum ek_gate_stage stage,
                                size_t i)
{
    const char *s = text_of(v), *wrong = wrong_with_warning(s);

    if (!v)
        return NULL;
    if (stage != EK_GATE_DEPRECATED)
        ek_field_invalid(r->errors, shown(r, v), "can only be set for deprecated fields",
                         GATE ".fieldDeprecationWarning", i);
    if (wrong)
        ek_field_invalid(r->errors, shown(r, v), wrong, GATE ".fieldDeprecationWarning", i);
    return wrong ? NULL : ek_arena_strdup(r->arena, s);
}

/* ---- Its paths ---- */

/* Reads a path into *ret and puts it into the trie. False when it is wrong, or somewhere already.
 */
static bool read_path(struct reading *r, yyjson_val *v, const struct ek_gate *gate, size_t i,
                      size_t k, struct ek_field_path *ret)
{
    const char *text = text_of(v);
    struct ek_err err;

    if (!text) {
        ek_field_invalid(r->errors, shown(r, v), "must be a string without NUL", PATHS "[%zu]", i,
                         k);
        return false;
    }
    if (ek_field_path_parse(text, r->arena, ret, &err)) {
        ek_field_invalid(r->errors, shown(r, v), err.message, PATHS "[%zu]", i, k);
        return false;
    }
    if (!*gate->name) /* its own error is said */
        return false;
    enum ek_gates_added__ added = ek_gates_trie_add__(r->arena, r->root, ret, gate);
    if (added == EK_GATES_THERE__)
        ek_field_duplicate(r->errors, ret->text, PATHS "[%zu]", i, k);
    if (added == EK_GATES_MIXED__)
        ek_field_invalid(r->errors, shown(r, v),
                         "must not have [*] where another path names a key of the map, nor the "
                         "other way round",
                         PATHS "[%zu]", i, k);
    return added == EK_GATES_ADDED__;
}

/* How many paths are read of those that there are. */
static size_t paths_to_read(struct reading *r, size_t n, size_t i)
{
    if (n > EK_GATE_PATHS_MAX) {
        ek_field_too_many(r->errors, n, EK_GATE_PATHS_MAX, PATHS, i);
        n = EK_GATE_PATHS_MAX;
    }
    if (n > EK_GATES_PATHS_MAX - r->n_paths) {
        ek_field_forbidden(r->errors, "there are more than 512 field paths in all", PATHS, i);
        n = EK_GATES_PATHS_MAX - r->n_paths;
    }
    r->n_paths += n;
    return n;
}

static void read_paths(struct reading *r, yyjson_val *list, struct ek_gate *gate, size_t i)
{
    if (list && !yyjson_is_arr(list)) {
        ek_field_invalid(r->errors, shown(r, list), "must be a list of field paths", PATHS, i);
        return;
    }
    if (yyjson_arr_size(list) == 0) {
        ek_field_required(r->errors, "must have at least one field path", PATHS, i);
        return;
    }
    size_t n = paths_to_read(r, yyjson_arr_size(list), i);
    struct ek_field_path *paths = ek_arena_alloc(r->arena, n * sizeof *paths);
    yyjson_val *v = yyjson_arr_get_first(list);
    for (size_t k = 0; k < n; k++, v = unsafe_yyjson_get_next(v))
        if (read_path(r, v, gate, i, k, &paths[gate->n_paths]))
            gate->n_paths++;
    gate->paths = paths;
}

static void read_gate(struct reading *r, yyjson_val *v, size_t i)
{
    struct ek_gate *gate = &r->gate[i];

    gate->name = "";
    gate->stage = EK_GATE_STAGE_UNKNOWN;
    if (!yyjson_is_obj(v)) {
        ek_field_invalid(r->errors, shown(r, v), "must be an object", GATE, i);
        v = NULL;
    } else {
        gate->name = read_gate_name(r, member(v, "name"), i);
        gate->enabled = read_setting(r, v, "enabled", i);
        gate->initial = read_setting(r, v, "default", i);
        gate->stage = read_stage(r, member(v, "preRelease"), i);
        check_default(r, gate, i);
        gate->warning = read_warning(r, member(v, "fieldDeprecationWarning"), gate->stage, i);
        gate->ignore_failures = choice(r, member(v, "failurePolicy"), failure_policy_names, 0,
                                       ek_arena_printf(r->arena, GATE ".failurePolicy", i)) == 1;
        gate->removable = read_setting(r, v, "allowRemoval", i) == EK_GATE_TRUE;
        read_paths(r, member(v, "fieldPaths"), gate, i);
    }
    gate->on = ek_gate_is_on(gate->stage, gate->enabled, gate->initial, &gate->rule);
    gate->ignored_enabled = gate->stage == EK_GATE_STABLE && gate->enabled == EK_GATE_FALSE;
}

/* ---- The object ---- */

/* A CRD's name is <plural>.<group>, and its group has a dot. */
static bool is_crd_name(const char *name)
{
    const char *wrong[EK_NAME_ERRORS_MAX];
    const char *dot = strchr(name, '.');

    return dot && strchr(dot + 1, '.') &&
           ek_name_check(EK_NAME_DNS1123_SUBDOMAIN, ek_str_from(name), wrong) == 0;
}

static bool is_our_own(const char *name)
{
    static const char group[] = ".evenkeel.dev";
    size_t len = strlen(name);

    return len >= sizeof group - 1 && !strcmp(name + len - (sizeof group - 1), group);
}

/* False when nothing must be gated by this object. */
static bool read_name(struct reading *r, yyjson_val *v)
{
    const char *name = text_of(v);

    if (!v || (name && !*name)) {
        ek_field_required(r->errors, "must be the name of a CustomResourceDefinition",
                          "metadata.name");
        return true;
    }
    if (!name || !is_crd_name(name)) {
        ek_field_invalid(r->errors, shown(r, v),
                         "must be the name of a CustomResourceDefinition, <plural>.<group>",
                         "metadata.name");
        return true;
    }
    r->gates->name = ek_arena_strdup(r->arena, name);
    if (is_our_own(name)) {
        ek_field_forbidden(r->errors, "the kinds of evenkeel.dev cannot be gated", "metadata.name");
        return false;
    }
    return true;
}

static void read_component(struct reading *r, yyjson_val *v)
{
    const char *component = text_of(v), *wrong = wrong_with_name(component);

    if (v && wrong)
        ek_field_invalid(r->errors, shown(r, v), wrong, "spec.component");
    else if (v)
        r->gates->component = ek_arena_strdup(r->arena, component);
}

static void read_gates(struct reading *r, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list);

    if (list && !yyjson_is_arr(list))
        ek_field_invalid(r->errors, shown(r, list), "must be a list of gates", "spec.featureGates");
    if (n > EK_GATES_MAX) {
        ek_field_too_many(r->errors, n, EK_GATES_MAX, "spec.featureGates");
        n = EK_GATES_MAX;
    }
    r->gate = ek_arena_alloc(r->arena, n * sizeof *r->gate);
    r->gates->gates = r->gate;
    yyjson_val *v = yyjson_arr_get_first(list);
    for (size_t i = 0; i < n; i++, v = unsafe_yyjson_get_next(v)) {
        read_gate(r, v, i);
        r->gates->n_gates++;
    }
}

void ek_gates_read__(struct ek_gates_inner__ *inner, yyjson_val *obj,
                     struct ek_gates_growing__ *root)
{
    struct ek_field_errors errors = {.arena = inner->arena};
    struct reading r = {
        .gates = &inner->gates, .arena = inner->arena, .root = root, .errors = &errors};
    yyjson_val *metadata = member(obj, "metadata"), *spec = member(obj, "spec");

    r.gates->name = r.gates->component = "";
    r.gates->generation = yyjson_get_sint(member(metadata, "generation"));
    bool gated = read_name(&r, member(metadata, "name"));
    read_component(&r, member(spec, "component"));
    r.gates->on_disabled = (enum ek_gates_on_disabled)choice(
        &r, member(spec, "onDisabled"), on_disabled_names, EK_GATES_SUPPRESS, "spec.onDisabled");
    read_gates(&r, member(spec, "featureGates"));
    if (!gated)
        *root = (struct ek_gates_growing__){.name = root->name};
    r.gates->problems = errors.texts;
    r.gates->n_problems = errors.n;
}
