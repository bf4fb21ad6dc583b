/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/resolve.h"

#include <string.h>

#include "api/mem.h"
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
        return ek_err_set(err, EK_E_LIMIT, "%s has %zu versions, %d can be looked at",
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
        l->findings[r->n_findings++] =
            (struct ek_gate_finding){kind, l->gate, l->path, version->name, message, refused};
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
        if (memchr(name.p, '.', name.len))
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

static void tell_missing(struct lint *l, const struct ek_place *place)
{
    const char *why = explain(l);

    if (!why)
        why = ek_arena_printf(l->arena, "%s has no such member",
                              ek_place_prefix(l->path, place->depth, l->arena));
    SAY(l, EK_GATE_PATH_UNRESOLVED, &l->versions[0], false,
        "%s is no field of version %s, which is stored: %s", l->path->text, l->versions[0].name,
        why);
}

static void tell_list(struct lint *l, const struct ek_place *place)
{
    const char *list = ek_place_prefix(l->path, place->depth, l->arena);

    if (place->kind == EK_PLACE_KEY)
        SAY(l, EK_GATE_PATH_KEY, &l->versions[0], true,
            "%s tells the items of %s apart and cannot be taken from them; gate %s as a whole",
            l->path->text, list, list);
    else
        SAY(l, EK_GATE_PATH_IN_LIST, &l->versions[0], true,
            "%s is a list, and fields of its items cannot be gated; gate %s as a whole", list,
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
            "%s, above %s, has a default in version %s, which may put it back when it is dropped; "
            "remove the default",
            ek_place_prefix(l->path, place->default_depth, l->arena), l->path->text, v->name);
    else if (place->default_below)
        SAY(l, EK_GATE_PATH_DEFAULTED, v, true,
            "%s, below %s, has a default in version %s, which sets what nobody asked for; remove "
            "the default, or gate only fields without one",
            place->default_below, l->path->text, v->name);
}

/* A version through which writes come that says less than what is stored. */
static void tell_lacking(struct lint *l, const struct version *v)
{
    if (l->out->crd.converts)
        SAY(l, EK_GATE_PATH_NOT_IN_VERSION, v, false,
            "version %s has no %s: that writes through it keep the field is up to the conversion "
            "webhook",
            v->name, l->path->text);
    else
        SAY(l, EK_GATE_PATH_NOT_IN_VERSION, v, true,
            "version %s is served without %s: a write through it erases what is stored there, "
            "which no gate can prevent; add the field to %s, or do not serve it",
            v->name, l->path->text, v->name);
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
            "version %s has a /scale, which sets %s, the stored version has none: no webhook is "
            "asked about it; let the stored version have one, too, or none of them",
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
        converts ? "that both mean the same is up to the conversion webhook"
                 : "it is not known which of them a request means; let specReplicasPath be one");
}

/* ---- The whole ---- */

static void check_version(struct lint *l, const struct version *v)
{
    struct ek_place place;

    ek_place_find(v->schema, l->keeps_unknown, l->path, l->arena, &place);
    if (place.kind != EK_PLACE_DECLARED && place.kind != EK_PLACE_UNKNOWN)
        tell_lacking(l, v);
    check_required(l, v, &place);
    check_default(l, v, &place);
    check_status(l, v);
    check_scale(l, v);
}

static void check_path(struct lint *l)
{
    const struct version *storage = &l->versions[0];
    struct ek_place place;

    ek_place_find(storage->schema, l->keeps_unknown, l->path, l->arena, &place);
    if (place.kind == EK_PLACE_MISSING)
        tell_missing(l, &place);
    else if (place.kind == EK_PLACE_IN_LIST || place.kind == EK_PLACE_KEY)
        tell_list(l, &place);
    else if (place.kind == EK_PLACE_UNKNOWN)
        SAY(l, EK_GATE_PATH_UNVERIFIED, storage, false,
            "whether %s is a field of version %s cannot be told: %s keeps fields that are not "
            "declared",
            l->path->text, storage->name, ek_place_prefix(l->path, place.depth, l->arena));
    if (place.map_key)
        SAY(l, EK_GATE_PATH_MAP_KEY, storage, false,
            "%s goes through a map and names one of its keys; all other keys are open",
            l->path->text);
    if ((place.kind != EK_PLACE_DECLARED && place.kind != EK_PLACE_UNKNOWN) ||
        l->gate->stage == EK_GATE_STABLE)
        return;
    check_required(l, storage, &place);
    check_default(l, storage, &place);
    for (size_t i = 1; i < l->n_versions; i++)
        check_version(l, &l->versions[i]);
}

/* Those that are refused come first. */
static void put_grave_first(struct lint *l)
{
    size_t n = l->out->n_findings, at = 0;
    struct ek_gate_finding *sorted = ek_arena_alloc(l->arena, (n + 1) * sizeof *sorted);

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if (l->findings[i].refused == !pass)
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
    for (size_t i = 0; i < gates->n_gates; i++) {
        l->gate = &gates->gates[i];
        for (size_t j = 0; j < l->gate->n_paths; j++) {
            l->path = &l->gate->paths[j];
            check_path(l);
        }
    }
    put_grave_first(l);
    ek_schema_unref(l->compiled);
    if (ek_arena_exhausted(arena))
        return ek_err_set(err, EK_E_LIMIT, "%s: looking at its gates takes too much memory",
                          gates->name);
    return 0;
}
