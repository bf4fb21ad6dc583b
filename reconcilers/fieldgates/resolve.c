/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/resolve.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/schema/schema.h"
#include "reconcilers/fieldgates/place.h"

#define VERSIONS_MAX 64 /* of a CRD */

const char *ek_gate_finding_name(enum ek_gate_finding_kind kind)
{
    static const char *const names[EK_GATE_FINDINGS_MAX] = {
        [EK_GATE_PATH_UNRESOLVED] = "Unresolved",
        [EK_GATE_PATH_UNVERIFIED] = "Unverified",
        [EK_GATE_PATH_REQUIRED] = "Required",
        [EK_GATE_PATH_DEFAULTED] = "Defaulted",
        [EK_GATE_PATH_KEY] = "Key",
        [EK_GATE_PATH_IN_LIST] = "InList",
        [EK_GATE_PATH_NOT_IN_VERSION] = "NotInVersion",
        [EK_GATE_PATH_MAP_KEY] = "MapKey",
        [EK_GATE_SCALE_BY_VERSION] = "ScaleByVersion",
        [EK_GATE_STATUS_BY_VERSION] = "StatusByVersion",
    };

    return names[kind];
}

/* A version that requests may come in, or that is stored. */
struct version {
    const char *name;
    yyjson_val *schema;
    bool has_status;
    const struct ek_field_path *replicas; /* of its /scale; NULL without */
};

/* One look at a CRD; the path under examination is kept here, too. */
struct lint {
    struct ek_arena *arena;
    yyjson_val *root; /* the CRD */
    struct ek_gates_resolution *out;
    struct version versions[VERSIONS_MAX]; /* the storage version comes first */
    size_t n_versions;
    bool keeps_unknown;
    struct ek_schema *compiled; /* of the storage version, once a message wants it */

    struct ek_gate_finding *findings; /* room for EK_GATE_FINDINGS_KEPT */
    const char **refused;
    struct ek_gates_lack *lacks; /* room for one of each version and gate */
    size_t n_lacks;
    struct ek_gates_keyed_list *lists; /* room for each [*] of each path */
    size_t n_lists;
    const struct ek_gate *gate;
    const struct ek_field_path *path;
};

/* ---- The definition ---- */

static const char *text_of(struct lint *l, const char *text)
{
    return text ? ek_arena_strdup(l->arena, text) : "";
}

static const struct ek_field_path *read_replicas(struct lint *l, yyjson_val *version)
{
    const char *text = ek_json_str(version, "subresources", "scale", "specReplicasPath", NULL);
    struct ek_field_path *path = ek_arena_alloc(l->arena, sizeof *path);

    return text && !ek_field_path_parse(text, l->arena, path, NULL) ? path : NULL;
}

static int read_versions(struct lint *l, struct ek_err *err)
{
    yyjson_val *list = ek_json_get(l->root, "spec", "versions", NULL), *v;
    const char **served = ek_arena_alloc(l->arena, VERSIONS_MAX * sizeof *served);
    struct ek_gates_crd *crd = &l->out->crd;
    size_t i, n;

    if (yyjson_arr_size(list) >= VERSIONS_MAX)
        return ek_err_set(err, EK_E_LIMIT, "%s has %zu versions, more than the limit of %d",
                          ek_json_str(l->root, "metadata", "name", NULL), yyjson_arr_size(list),
                          VERSIONS_MAX - 1);
    l->n_versions = 1;
    yyjson_arr_foreach(list, i, n, v)
    {
        bool is_storage = yyjson_is_true(yyjson_obj_get(v, "storage"));
        bool is_served = yyjson_is_true(yyjson_obj_get(v, "served"));
        struct version read = {
            .name = text_of(l, ek_json_str(v, "name", NULL)),
            .schema = ek_json_get(v, "schema", "openAPIV3Schema", NULL),
            .has_status = yyjson_is_obj(ek_json_get(v, "subresources", "status", NULL)),
            .replicas = read_replicas(l, v),
        };
        if (is_storage)
            l->versions[0] = read;
        else if (is_served)
            l->versions[l->n_versions++] = read;
        if (is_served)
            served[crd->n_served++] = read.name;
    }
    crd->served = served;
    if (!l->versions[0].name)
        return ek_err_set(err, EK_E_PARSE, "the CustomResourceDefinition has no storage version");
    return 0;
}

static bool is_established(yyjson_val *root)
{
    yyjson_val *c;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(root, "status", "conditions", NULL), i, n, c)
    {
        if (yyjson_equals_str(yyjson_obj_get(c, "type"), "Established"))
            return yyjson_equals_str(yyjson_obj_get(c, "status"), "True");
    }
    return false;
}

static int read_crd(struct lint *l, struct ek_err *err)
{
    struct ek_gates_crd *crd = &l->out->crd;
    const char *api_version = ek_json_str(l->root, "apiVersion", NULL);
    const char *kind = ek_json_str(l->root, "kind", NULL);
    const char *strategy = ek_json_str(l->root, "spec", "conversion", "strategy", NULL);
    const char *scope = ek_json_str(l->root, "spec", "scope", NULL);

    if (!kind || strcmp(kind, "CustomResourceDefinition") != 0 || !api_version ||
        strcmp(api_version, "apiextensions.k8s.io/v1") != 0)
        return ek_err_set(
            err, EK_E_PARSE,
            "this is no CustomResourceDefinition of apiextensions.k8s.io/v1, but %s%s%s",
            api_version ? api_version : "something", kind ? ", Kind=" : "", kind ? kind : " else");
    crd->group = text_of(l, ek_json_str(l->root, "spec", "group", NULL));
    crd->plural = text_of(l, ek_json_str(l->root, "spec", "names", "plural", NULL));
    crd->kind = text_of(l, ek_json_str(l->root, "spec", "names", "kind", NULL));
    crd->namespaced = scope && !strcmp(scope, "Namespaced");
    crd->established = is_established(l->root);
    crd->converts = strategy && !strcmp(strategy, "Webhook");
    l->keeps_unknown = yyjson_is_true(ek_json_get(l->root, "spec", "preserveUnknownFields", NULL));
    int rc = read_versions(l, err);
    if (rc)
        return rc;
    crd->storage = l->versions[0].name;
    crd->shape.has_status = l->versions[0].has_status;
    for (size_t i = 0; i < l->n_versions && !crd->shape.replicas; i++)
        crd->shape.replicas = l->versions[i].replicas;
    return 0;
}

/* ---- Findings ---- */

static void refuse(struct lint *l)
{
    struct ek_gates_resolution *r = l->out;

    if (r->n_refused && !strcmp(r->refused[r->n_refused - 1], l->gate->name))
        return;
    l->refused[r->n_refused++] = l->gate->name;
}

/* A gate that is always open cannot do the harm that others are refused for. */
static void add(struct lint *l, enum ek_gate_finding_kind kind, const struct version *version,
                bool refused, const char *message)
{
    struct ek_gates_resolution *r = l->out;

    refused = refused && l->gate->stage != EK_GATE_STABLE;
    if (refused)
        refuse(l);
    if (r->n_findings < EK_GATE_FINDINGS_KEPT)
        l->findings[r->n_findings++] = (struct ek_gate_finding){
            kind, l->gate, l->path, version->name, message, refused, false};
}

#define SAY(l, kind, version, refused, ...)                                                        \
    add(l, kind, version, refused, ek_arena_printf((l)->arena, __VA_ARGS__))

/* ---- Paths that lead nowhere ---- */

/* What a compiled schema says of a path, with what may have been meant: better than we could. */
static const char *explain(struct lint *l)
{
    struct ek_err err = {0};
    EK_AUTO(ek_buf) dotted;
    uint32_t type;

    ek_buf_init(&dotted, EK_FIELD_PATH_MAX + EK_FIELD_PATH_NAMES_MAX);
    for (size_t i = 0; i < l->path->n; i++) {
        struct ek_str name = l->path->names[i];
        if (ek_field_path_is_each(name) || memchr(name.p, '.', name.len))
            return NULL;
        ek_buf_puts(&dotted, i ? "." : "");
        ek_buf_append(&dotted, name.p, name.len);
    }
    if (!l->compiled && ek_schema_compile_crd(l->root, l->versions[0].name, &l->compiled, NULL))
        return NULL;
    const struct ek_gates_crd *crd = &l->out->crd;
    if (ek_schema_find_kind(l->compiled, crd->group, crd->storage, crd->kind, &type, NULL))
        return NULL;
    return ek_schema_resolve(l->compiled, type, ek_str_from(ek_buf_str(&dotted)), &type, &err)
               ? ek_arena_strdup(l->arena, err.message)
               : NULL;
}

static void report_missing(struct lint *l, const struct ek_place *place)
{
    const char *why = explain(l);

    if (ek_field_path_is_each(l->path->names[place->depth]))
        why = ek_arena_printf(l->arena, "%s is neither a list nor a map",
                              ek_place_prefix(l->path, place->depth, l->arena));
    if (!why)
        why = ek_arena_printf(l->arena, "%s has no such member",
                              ek_place_prefix(l->path, place->depth, l->arena));
    SAY(l, EK_GATE_PATH_UNRESOLVED, &l->versions[0], false,
        "%s is no field of version %s, which is stored: %s", l->path->text, l->versions[0].name,
        why);
}

static void report_list(struct lint *l, const struct ek_place *place)
{
    const char *list = ek_place_prefix(l->path, place->depth, l->arena);

    if (place->kind == EK_PLACE_KEY)
        SAY(l, EK_GATE_PATH_KEY, &l->versions[0], true,
            "%s distinguishes the items of %s and cannot be taken from them; gate %s as a whole",
            l->path->text, list, list);
    else
        SAY(l, EK_GATE_PATH_IN_LIST, &l->versions[0], true,
            "%s is a list: write %s[*] for all of its items, or gate %s as a whole", list, list,
            list);
}

/* ---- Paths that would do harm ---- */

static void check_required(struct lint *l, const struct version *v, const struct ek_place *place)
{
    if (place->need == EK_PLACE_REQUIRED)
        SAY(l, EK_GATE_PATH_REQUIRED, v, true,
            "version %s requires %s: once it is dropped, every create fails; make it optional",
            v->name, l->path->text);
    else if (place->need == EK_PLACE_PERHAPS)
        SAY(l, EK_GATE_PATH_REQUIRED, v, false,
            "an alternative of version %s (anyOf, oneOf) requires %s: objects that chose it fail "
            "once it is dropped",
            v->name, l->path->text);
}

static void check_default(struct lint *l, const struct version *v, const struct ek_place *place)
{
    if (place->default_depth && place->default_depth == l->path->n)
        SAY(l, EK_GATE_PATH_DEFAULTED, v, true,
            "%s has a default in version %s, which puts it back when it is dropped; remove the "
            "default",
            l->path->text, v->name);
    else if (place->default_depth)
        SAY(l, EK_GATE_PATH_DEFAULTED, v, true,
            "%s, above %s, has a default in version %s that has the field and may put it back when "
            "it is dropped; remove the field from the default",
            ek_place_prefix(l->path, place->default_depth, l->arena), l->path->text, v->name);
}

/* ---- Lists on the way ---- */

static const char *const *read_keys(struct lint *l, yyjson_val *names, size_t *ret_n)
{
    const char **keys = ek_arena_alloc(l->arena, (yyjson_arr_size(names) + 1) * sizeof *keys);
    yyjson_val *name;
    size_t i, n;

    yyjson_arr_foreach(names, i, n, name)
    {
        keys[i] = text_of(l, yyjson_get_str(name));
    }
    *ret_n = yyjson_arr_size(names);
    return keys;
}

static bool is_known_list(const struct lint *l, const char *each)
{
    for (size_t i = 0; i < l->n_lists; i++)
        if (!strcmp(l->lists[i].each, each))
            return true;
    return false;
}

/* Keeps the keys of the lists that [*] of the path stands for. */
static void note_lists(struct lint *l, const struct version *storage)
{
    for (size_t i = 0; i < l->path->n; i++) {
        if (!ek_field_path_is_each(l->path->names[i]))
            continue;
        yyjson_val *list = ek_place_schema(storage->schema, l->path, i);
        const char *each = ek_place_prefix(l->path, i + 1, l->arena);
        if (!yyjson_equals_str(yyjson_obj_get(list, "x-kubernetes-list-type"), "map") ||
            is_known_list(l, each))
            continue;
        struct ek_gates_keyed_list *keyed = &l->lists[l->n_lists++];
        keyed->each = each;
        keyed->keys =
            read_keys(l, yyjson_obj_get(list, "x-kubernetes-list-map-keys"), &keyed->n_keys);
    }
}

/* Whether [*] of the path is at or below what is not declared: of a list or of a map? */
static bool is_each_unknown(const struct lint *l, const struct ek_place *place)
{
    for (size_t i = place->depth; i < l->path->n; i++)
        if (ek_field_path_is_each(l->path->names[i]))
            return true;
    return false;
}

static void report_unverified(struct lint *l, const struct ek_place *place)
{
    const char *where = ek_place_prefix(l->path, place->depth, l->arena);
    const char *storage = l->versions[0].name;

    if (is_each_unknown(l, place))
        SAY(l, EK_GATE_PATH_UNVERIFIED, &l->versions[0], true,
            "whether [*] of %s is of a list or of a map is not known: %s keeps fields that are "
            "not declared in version %s; declare the field, or gate %s as a whole",
            l->path->text, where, storage, where);
    else
        SAY(l, EK_GATE_PATH_UNVERIFIED, &l->versions[0], false,
            "whether %s is a field of version %s is not known: %s keeps fields that are not "
            "declared",
            l->path->text, storage, where);
}

/* The gate stays closed, and updates through v are to be denied. */
static void guard(struct lint *l, const struct version *v)
{
    struct ek_gate_finding *last = &l->findings[l->out->n_findings - 1];

    if (last->path == l->path && last->kind == EK_GATE_PATH_NOT_IN_VERSION)
        last->guarded = true; /* unless it is one too many to be kept */
    for (size_t i = 0; i < l->n_lacks; i++)
        if (!strcmp(l->lacks[i].gate, l->gate->name) && !strcmp(l->lacks[i].version, v->name))
            return;
    l->lacks[l->n_lacks++] =
        (struct ek_gates_lack){.version = v->name,
                               .gate = l->gate->name,
                               .path = l->path->text,
                               .status = v->has_status && !l->versions[0].has_status,
                               .scale = v->replicas && !l->versions[0].replicas};
}

/* A version through which writes come that says less than what is stored. True when no write
 * through it can set the field. */
static bool report_lacking(struct lint *l, const struct version *v)
{
    if (l->out->crd.converts)
        SAY(l, EK_GATE_PATH_NOT_IN_VERSION, v, false,
            "version %s has no %s: the conversion webhook must keep the field in writes through "
            "this version",
            v->name, l->path->text);
    else if (l->gate->on)
        SAY(l, EK_GATE_PATH_NOT_IN_VERSION, v, false,
            "version %s is served without %s: a write through it erases what is stored there; add "
            "the field to %s, or do not serve it",
            v->name, l->path->text, v->name);
    else {
        SAY(l, EK_GATE_PATH_NOT_IN_VERSION, v, false,
            "version %s is served without %s: a write through it erases what is stored there, so "
            "that updates through it are denied while the gate is off; add the field to %s, or do "
            "not serve it",
            v->name, l->path->text, v->name);
        guard(l, v);
        return true;
    }
    return false;
}

static void check_status(struct lint *l, const struct version *v)
{
    if (ek_str_eq(l->path->names[0], EK_STR("status")) &&
        v->has_status != l->versions[0].has_status)
        SAY(l, EK_GATE_STATUS_BY_VERSION, v, true,
            "version %s has %s /status, %s: it is not known which writes change %s; let all "
            "versions have it, or none",
            v->name, v->has_status ? "a" : "no",
            v->has_status ? "the stored version has none" : "the stored version has one",
            l->path->text);
}

/* /scale of any version is seen as one number: where does it go? */
static void check_scale(struct lint *l, const struct version *v)
{
    const struct ek_field_path *first = l->out->crd.shape.replicas;

    if (v->replicas && !l->versions[0].replicas && ek_field_path_covers(l->path, v->replicas)) {
        SAY(l, EK_GATE_SCALE_BY_VERSION, v, true,
            "version %s has the subresource scale, which sets %s, and the stored version has none: "
            "no webhook receives writes of the subresource; let the stored version have the "
            "subresource, too, or no version",
            v->name, v->replicas->text);
        return;
    }
    if (!v->replicas || !strcmp(v->replicas->text, first->text) ||
        (!ek_field_path_covers(l->path, v->replicas) && !ek_field_path_covers(l->path, first)))
        return;
    bool converts = l->out->crd.converts;
    SAY(l, EK_GATE_SCALE_BY_VERSION, v, !converts,
        "/scale of version %s sets %s, that of others %s: %s", v->name, v->replicas->text,
        first->text,
        converts ? "the conversion webhook must give both the same value"
                 : "it is not known which of them a request sets; use one specReplicasPath");
}

/* ---- The whole ---- */

static void check_version(struct lint *l, const struct version *v)
{
    struct ek_place place;

    ek_place_find(v->schema, l->keeps_unknown, l->path, &place);
    bool lacks = place.kind != EK_PLACE_DECLARED && place.kind != EK_PLACE_UNKNOWN;
    if (lacks && report_lacking(l, v))
        return;
    check_required(l, v, &place);
    check_default(l, v, &place);
    check_status(l, v);
    check_scale(l, v);
}

static void check_path(struct lint *l)
{
    const struct version *storage = &l->versions[0];
    struct ek_place place;

    ek_place_find(storage->schema, l->keeps_unknown, l->path, &place);
    note_lists(l, storage);
    if (place.kind == EK_PLACE_MISSING)
        report_missing(l, &place);
    else if (place.kind == EK_PLACE_IN_LIST || place.kind == EK_PLACE_KEY)
        report_list(l, &place);
    else if (place.kind == EK_PLACE_UNKNOWN)
        report_unverified(l, &place);
    if (place.map_key)
        SAY(l, EK_GATE_PATH_MAP_KEY, storage, false,
            "%s names one key of a map; the other keys are not gated", l->path->text);
    if ((place.kind != EK_PLACE_DECLARED && place.kind != EK_PLACE_UNKNOWN) ||
        l->gate->stage == EK_GATE_STABLE)
        return;
    check_required(l, storage, &place);
    check_default(l, storage, &place);
    for (size_t i = 1; i < l->n_versions; i++)
        check_version(l, &l->versions[i]);
}

static bool is_refused(const struct lint *l, const char *gate)
{
    for (size_t i = 0; i < l->out->n_refused; i++)
        if (!strcmp(l->refused[i], gate))
            return true;
    return false;
}

/* What is open for another reason guards nothing. */
static void fill_shape(struct lint *l)
{
    struct ek_gates_shape *shape = &l->out->crd.shape;

    for (size_t i = 0; i < l->out->n_findings; i++)
        if (is_refused(l, l->findings[i].gate->name))
            l->findings[i].guarded = false;
    for (size_t i = 0; i < l->n_lacks; i++)
        if (!is_refused(l, l->lacks[i].gate))
            l->lacks[shape->n_lacks++] = l->lacks[i];
    shape->lacks = l->lacks;
    shape->lists = l->lists;
    shape->n_lists = l->n_lists;
}

/* 0: refused, 1: guarded, 2: the rest. */
static int gravity(const struct ek_gate_finding *finding)
{
    return finding->refused ? 0 : finding->guarded ? 1 : 2;
}

static void put_grave_first(struct lint *l)
{
    size_t n = l->out->n_findings, at = 0;
    struct ek_gate_finding *sorted = ek_arena_alloc(l->arena, (n + 1) * sizeof *sorted);

    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < n; i++)
            if (gravity(&l->findings[i]) == pass)
                sorted[at++] = l->findings[i];
    l->out->findings = sorted;
}

int ek_gates_resolve(const struct ek_gates *gates, yyjson_val *crd, struct ek_arena *arena,
                     struct ek_gates_resolution *ret, struct ek_err *err)
{
    struct lint *l = ek_arena_alloc(arena, sizeof *l);

    *ret = (struct ek_gates_resolution){0};
    l->arena = arena;
    l->root = crd;
    l->out = ret;
    int rc = read_crd(l, err);
    if (rc)
        return rc;
    l->findings = ek_arena_alloc(arena, EK_GATE_FINDINGS_KEPT * sizeof *l->findings);
    ret->refused = l->refused = ek_arena_alloc(arena, (gates->n_gates + 1) * sizeof *l->refused);
    l->lacks = ek_arena_alloc(arena, (gates->n_gates * l->n_versions + 1) * sizeof *l->lacks);
    l->lists = ek_arena_alloc(arena, (size_t)EK_GATES_PATHS_MAX * EK_FIELD_PATH_EACH_MAX *
                                         sizeof *l->lists);
    for (size_t i = 0; i < gates->n_gates; i++) {
        l->gate = &gates->gates[i];
        for (size_t j = 0; j < l->gate->n_paths; j++) {
            l->path = &l->gate->paths[j];
            check_path(l);
        }
    }
    fill_shape(l);
    put_grave_first(l);
    ek_schema_unref(l->compiled);
    if (ek_arena_exhausted(arena))
        return ek_err_set(err, EK_E_LIMIT, "%s: the gates take too much memory", gates->name);
    return 0;
}
