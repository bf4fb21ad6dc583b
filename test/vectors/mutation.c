/* SPDX-License-Identifier: Apache-2.0 */
/* Mutation cases: the policies of a case on the object that a webhook would have seen. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/gotypes/structural.h"
#include "api/gotypes/typed.h"
#include "api/obj.h"
#include "api/schema/schema.h"
#include "reconcilers/mutation/engine.h"
#include "reconcilers/mutation/validate.h"
#include "test/vectors/vectors.h"

#define SCHEMAS_MAX 64
#define ARENA_LIMIT ((size_t)256 << 20)

/* The schemas and custom resources of the recording. */
struct recording {
    struct ek_schema *schemas[SCHEMAS_MAX];
    char *names[SCHEMAS_MAX]; /* "apps_v1" */
    size_t n;
    yyjson_doc *crds;
};

#define STORED_MAX 64

/* One case as the engine's world. */
struct world {
    const struct recording *recording;
    yyjson_val *record;
    struct ek_arena *arena;
    yyjson_doc *stored[STORED_MAX]; /* params with the defaults that storing gave them */
    size_t n_stored;
};

static yyjson_doc *read_json(const char *folder, const char *name)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return yyjson_read_file(path, YYJSON_READ_NOFLAG, NULL, NULL);
}

static bool load_schemas(struct recording *recording, const char *data)
{
    char folder[4000];
    struct dirent *entry;
    struct ek_err err;

    snprintf(folder, sizeof folder, "%s/openapi", data);
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)) && recording->n < SCHEMAS_MAX) {
        yyjson_doc *doc = strstr(entry->d_name, ".json") ? read_json(folder, entry->d_name) : NULL;
        if (!doc)
            continue;
        if (ek_schema_compile(yyjson_doc_get_root(doc), &recording->schemas[recording->n], &err))
            fprintf(stderr, "ek-vectors: %s/%s: %s\n", folder, entry->d_name, err.message);
        else
            recording->names[recording->n++] =
                ek_xstrndup(entry->d_name, strlen(entry->d_name) - strlen(".json"));
        yyjson_doc_free(doc);
    }
    if (dir)
        closedir(dir);
    return recording->n > 0;
}

static void close_recording(void *state)
{
    struct recording *recording = state;

    for (size_t i = 0; i < recording->n; i++) {
        ek_schema_unref(recording->schemas[i]);
        ek_free(recording->names[i]);
    }
    yyjson_doc_free(recording->crds);
    ek_free(recording);
}

static void *open_recording(char **options, int n)
{
    if (n != 2 || strcmp(options[0], "--data") != 0) {
        fputs("ek-vectors: mutation needs --data DIR, with openapi/ and crds.json\n", stderr);
        return NULL;
    }
    struct recording *recording = ek_xalloc(sizeof *recording);
    recording->crds = read_json(options[1], "crds.json");
    if (load_schemas(recording, options[1]))
        return recording;
    fprintf(stderr, "ek-vectors: there is no schema in %s/openapi\n", options[1]);
    close_recording(recording);
    return NULL;
}

/* ---- The world of a case ---- */

static enum ek_world_answer find_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                           struct ek_err *err)
{
    const struct world *world = arg;
    yyjson_val *v = yyjson_obj_get(world->record, "namespaceObject");

    (void)name;
    (void)err;
    *ret_object = yyjson_is_obj(v) ? v : NULL;
    return *ret_object ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

static const char *group_of(struct ek_arena *arena, const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    return slash ? ek_arena_strndup(arena, api_version, (size_t)(slash - api_version)) : "";
}

/* Custom resources say their scope; of the built-in kinds used as params none is cluster-scoped but
 * those that the recording has without a namespace. */
static bool find_scope(const struct world *world, const char *api_version, const char *kind,
                       bool *ret_namespaced)
{
    const char *group = group_of(world->arena, api_version);
    yyjson_val *crds = yyjson_doc_get_root(world->recording->crds), *crd;
    size_t i, n;

    if (yyjson_is_obj(crds))
        crds = yyjson_obj_get(crds, "items");
    yyjson_arr_foreach(crds, i, n, crd)
    {
        const char *crd_group = ek_json_str(crd, "spec", "group", NULL);
        const char *crd_kind = ek_json_str(crd, "spec", "names", "kind", NULL);
        const char *scope = ek_json_str(crd, "spec", "scope", NULL);
        if (crd_group && crd_kind && !strcmp(crd_group, group) && !strcmp(crd_kind, kind)) {
            *ret_namespaced = scope && !strcmp(scope, "Namespaced");
            return true;
        }
    }
    static const char *const cluster_kinds[] = {
        "Namespace",     "Node",         "PersistentVolume",  "ClusterRole",
        "PriorityClass", "StorageClass", "ClusterRoleBinding"};
    *ret_namespaced = true;
    for (i = 0; i < EK_ARRAY_SIZE(cluster_kinds); i++)
        if (!strcmp(cluster_kinds[i], kind))
            *ret_namespaced = false;
    for (i = 0; i < world->recording->n; i++) {
        uint32_t type;
        const char *slash = strchr(api_version, '/');
        if (!ek_schema_find_kind(world->recording->schemas[i], group,
                                 slash ? slash + 1 : api_version, kind, &type, NULL))
            return true;
    }
    return false;
}

static enum ek_world_answer param_scope(void *arg, const char *api_version, const char *kind,
                                        bool *ret_namespaced, struct ek_err *err)
{
    if (find_scope(arg, api_version, kind, ret_namespaced))
        return EK_WORLD_FOUND;
    ek_err_set(err, EK_E_NOENT, "paramKind kind `%s, Kind=%s` not known", api_version, kind);
    return EK_WORLD_FAILED;
}

static bool is_param(yyjson_val *v, const char *api_version, const char *kind,
                     const char *namespace)
{
    const char *its_version = ek_json_str(v, "apiVersion", NULL);
    const char *its_kind = ek_json_str(v, "kind", NULL);
    const char *its_namespace = ek_json_str(v, "metadata", "namespace", NULL);

    return its_version && !strcmp(its_version, api_version) && its_kind &&
           !strcmp(its_kind, kind) && !strcmp(its_namespace ? its_namespace : "", namespace);
}

struct query {
    const char *api_version, *kind, *namespace, *name;
    const struct ek_selector *selector;
    void (*add)(void *arg, yyjson_val *param);
    void *add_arg;
    size_t found;
};

static void try_param(struct query *query, yyjson_val *v)
{
    const char *name = ek_json_str(v, "metadata", "name", NULL);

    if (!is_param(v, query->api_version, query->kind, query->namespace))
        return;
    if (*query->name
            ? !name || strcmp(name, query->name) != 0
            : !ek_selector_matches(query->selector, ek_json_get(v, "metadata", "labels", NULL)))
        return;
    query->add(query->add_arg, v);
    query->found++;
}

static enum ek_world_answer params(void *arg, const char *api_version, const char *kind,
                                   const char *namespace, const char *name,
                                   const struct ek_selector *selector,
                                   void (*add)(void *add_arg, yyjson_val *param), void *add_arg,
                                   struct ek_err *err)
{
    const struct world *world = arg;
    struct query query = {api_version, kind, namespace, name, selector, add, add_arg, 0};

    (void)err;
    for (size_t i = 0; i < world->n_stored; i++)
        try_param(&query, yyjson_doc_get_root(world->stored[i]));
    if (!query.found) /* the object itself exists before an update */
        try_param(&query, ek_json_get(world->record, "admission", "oldObject", NULL));
    return query.found ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

/* The schema that knows a kind, NULL when none does. */
static const struct ek_schema *schema_of(const struct recording *recording, const char *group,
                                         const char *version, const char *kind, uint32_t *ret_type)
{
    for (size_t i = 0; i < recording->n; i++)
        if (!ek_schema_find_kind(recording->schemas[i], group, version, kind, ret_type, NULL))
            return recording->schemas[i];
    return NULL;
}

static enum ek_world_answer find_schema(void *arg, const struct ek_gvk *kind,
                                        const struct ek_schema **ret_schema, struct ek_err *err)
{
    const struct world *world = arg;

    (void)err;
    const char *name =
        ek_arena_printf(world->arena, "%s_%s", *kind->group ? kind->group : "core", kind->version);
    *ret_schema = NULL;
    for (size_t i = 0; i < world->recording->n; i++)
        if (!strcmp(world->recording->names[i], name))
            *ret_schema = world->recording->schemas[i];
    if (!*ret_schema)
        return EK_WORLD_ABSENT;
    return EK_WORLD_FOUND;
}

/* Keeps an object as the server stores it, with defaults. */
static void store(struct world *world, yyjson_val *object)
{
    const char *api_version = ek_json_str(object, "apiVersion", NULL);
    const char *kind = ek_json_str(object, "kind", NULL);
    const char *slash = api_version ? strchr(api_version, '/') : NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, object);
    uint32_t type;
    const char *error;

    if (api_version && kind && world->n_stored < STORED_MAX) {
        const struct ek_schema *schema =
            schema_of(world->recording, group_of(world->arena, api_version),
                      slash ? slash + 1 : api_version, kind, &type);
        struct ek_typed typed = {schema, type, doc, false, world->arena, NULL};
        if (schema && strstr(api_version, "example.com"))
            ek_structural_defaults(schema, type, doc, copy, NULL, NULL);
        else if (schema)
            ek_typed_settle(&typed, copy, NULL, &error);
        yyjson_mut_doc_set_root(doc, copy);
        world->stored[world->n_stored++] = yyjson_mut_doc_imut_copy(doc, NULL);
    }
    yyjson_mut_doc_free(doc);
}

static void store_all(struct world *world)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(world->record, "params"), i, n, v) store(world, v);
    yyjson_arr_foreach(yyjson_obj_get(world->record, "existing"), i, n, v) store(world, v);
}

/* ---- Equivalent resources ---- */

/* Of the built-in ones: those that a server of 1.36 serves in two versions or groups. */
static const struct {
    struct ek_gvr resource;
    struct ek_gvk kind;
    unsigned family;
} families[] = {
    {{"autoscaling", "v1", "horizontalpodautoscalers"},
     {"autoscaling", "v1", "HorizontalPodAutoscaler"},
     0},
    {{"autoscaling", "v2", "horizontalpodautoscalers"},
     {"autoscaling", "v2", "HorizontalPodAutoscaler"},
     0},
    {{"", "v1", "events"}, {"", "v1", "Event"}, 1},
    {{"events.k8s.io", "v1", "events"}, {"events.k8s.io", "v1", "Event"}, 1},
};

static bool same_resource(const struct ek_gvr *a, const struct ek_gvr *b)
{
    return !strcmp(a->group, b->group) && !strcmp(a->version, b->version) &&
           !strcmp(a->resource, b->resource);
}

/* Other versions of one definition; true when fn wants no more. */
static bool each_version(yyjson_val *crd, const struct ek_gvr *resource,
                         bool (*fn)(void *, const struct ek_gvr *, const struct ek_gvk *),
                         void *fn_arg)
{
    const char *group = ek_json_str(crd, "spec", "group", NULL);
    const char *plural = ek_json_str(crd, "spec", "names", "plural", NULL);
    const char *kind = ek_json_str(crd, "spec", "names", "kind", NULL);
    yyjson_val *version;
    size_t i, n;

    if (!group || !plural || !kind || strcmp(group, resource->group) != 0 ||
        strcmp(plural, resource->resource) != 0)
        return false;
    yyjson_arr_foreach(ek_json_get(crd, "spec", "versions", NULL), i, n, version)
    {
        const char *name = ek_json_str(version, "name", NULL);
        if (name && strcmp(name, resource->version) != 0 &&
            fn(fn_arg, &(struct ek_gvr){group, name, plural}, &(struct ek_gvk){group, name, kind}))
            return true;
    }
    return false;
}

static void each_equivalent(void *arg, const struct ek_gvr *resource, const char *subresource,
                            bool (*fn)(void *, const struct ek_gvr *, const struct ek_gvk *),
                            void *fn_arg)
{
    const struct world *world = arg;
    yyjson_val *crds = yyjson_doc_get_root(world->recording->crds), *crd;
    size_t i, n;

    (void)subresource;
    for (i = 0; i < EK_ARRAY_SIZE(families); i++) {
        if (!same_resource(&families[i].resource, resource))
            continue;
        for (n = 0; n < EK_ARRAY_SIZE(families); n++)
            if (n != i && families[n].family == families[i].family &&
                fn(fn_arg, &families[n].resource, &families[n].kind))
                return;
    }
    if (yyjson_is_obj(crds))
        crds = yyjson_obj_get(crds, "items");
    yyjson_arr_foreach(crds, i, n, crd)
    {
        if (each_version(crd, resource, fn, fn_arg))
            return;
    }
}

static bool same(yyjson_val *check, const char *name, struct ek_str want)
{
    const char *s = ek_json_str(check, name, NULL);

    return ek_str_eq(ek_str_from(s ? s : ""), want);
}

/* Whether a recorded check is of the identity that is asked about: the user of the request, or the
 * service account that an expression names. */
static bool same_user(const struct world *world, yyjson_val *check,
                      const struct ek_cel_authz_attributes *what)
{
    const char *user =
        ek_json_str(world->record, "admission", "request", "userInfo", "username", NULL);

    if (what->account_name.len)
        user = ek_arena_printf(world->arena, "system:serviceaccount:%.*s:%.*s",
                               (int)what->account_namespace.len, what->account_namespace.p,
                               (int)what->account_name.len, what->account_name.p);
    return same(check, "user", ek_str_from(user ? user : ""));
}

static enum ek_world_answer authorize(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret)
{
    const struct world *world = arg;
    yyjson_val *check;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(world->record, "authorizerChecks"), i, n, check)
    {
        if (!same_user(world, check, what) || !same(check, "verb", what->verb) ||
            !same(check, "path", what->path) || !same(check, "resource", what->resource) ||
            !same(check, "group", what->group) || !same(check, "subresource", what->subresource) ||
            !same(check, "name", what->name) || !same(check, "namespace", what->namespace_))
            continue;
        const char *reason = ek_json_str(check, "reason", NULL);
        ret->allowed = yyjson_is_true(yyjson_obj_get(check, "allowed"));
        ret->reason = ek_str_from(reason ? reason : "");
        return EK_WORLD_FOUND;
    }
    return EK_WORLD_ABSENT;
}

/* ---- A case ---- */

struct objects {
    const struct ek_policy *policies[512];
    const struct ek_binding *bindings[512];
    struct ek_bound bound[4096];
    size_t n_policies, n_bindings, n_bound;
};

static void read_objects(struct objects *o, yyjson_val *record)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(record, "policies"), i, n, v)
    {
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_val(v);
        if (o->n_policies < EK_ARRAY_SIZE(o->policies))
            o->policies[o->n_policies++] = ek_policy_new(obj, 0);
    }
    yyjson_arr_foreach(yyjson_obj_get(record, "bindings"), i, n, v)
    {
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_val(v);
        if (o->n_bindings < EK_ARRAY_SIZE(o->bindings))
            o->bindings[o->n_bindings++] = ek_binding_new(obj);
    }
    for (i = 0; i < o->n_policies; i++)
        for (n = 0; n < o->n_bindings; n++)
            if (!strcmp(o->policies[i]->name, o->bindings[n]->policy_name) &&
                o->n_bound < EK_ARRAY_SIZE(o->bound))
                o->bound[o->n_bound++] = (struct ek_bound){
                    .policy = o->policies[i], .binding = o->bindings[n], .apply = true};
}

static void free_objects(struct objects *o)
{
    for (size_t i = 0; i < o->n_policies; i++)
        ek_policy_unref(o->policies[i]);
    for (size_t i = 0; i < o->n_bindings; i++)
        ek_binding_unref(o->bindings[i]);
    ek_free(o);
}

/* The request with the object and the old object that stand beside it in the record. */
static yyjson_doc *whole_request(yyjson_val *admission)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_obj_get(admission, "request"));
    static const char *const names[] = {"object", "oldObject"};

    yyjson_mut_doc_set_root(doc, root);
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        yyjson_val *v = yyjson_obj_get(admission, names[i]);
        yyjson_mut_obj_add(root, yyjson_mut_str(doc, names[i]),
                           v ? yyjson_val_mut_copy(doc, v) : yyjson_mut_null(doc));
    }
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return whole;
}

static void write_outcome(const struct ek_mutation_outcome *outcome, yyjson_mut_doc *doc,
                          yyjson_mut_val *answer)
{
    if (outcome->allowed) {
        ek_json_write_whole(outcome->result); /* as recordings have the numbers */
        yyjson_mut_obj_add_val(doc, answer, "result",
                               outcome->result
                                   ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(outcome->result))
                                   : yyjson_mut_null(doc));
        return;
    }
    yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, answer, "error");
    yyjson_mut_obj_add_int(doc, error, "code", outcome->code);
    yyjson_mut_obj_add_strcpy(doc, error, "reason", outcome->reason);
    yyjson_mut_obj_add_strcpy(doc, error, "message", outcome->message);
}

/* What validating policies say. */
static void write_verdict(const struct ek_validating_outcome *outcome, yyjson_mut_doc *doc,
                          yyjson_mut_val *answer)
{
    yyjson_mut_val *list, *annotations;

    yyjson_mut_obj_add_bool(doc, answer, "allowed", outcome->allowed);
    if (!outcome->allowed) {
        yyjson_mut_obj_add_int(doc, answer, "code", outcome->code);
        yyjson_mut_obj_add_strcpy(doc, answer, "reason", outcome->reason);
        yyjson_mut_obj_add_strcpy(doc, answer, "message", outcome->message);
    }
    list = yyjson_mut_obj_add_arr(doc, answer, "warnings");
    for (size_t i = 0; i < outcome->n_warnings; i++)
        yyjson_mut_arr_add_strcpy(doc, list, outcome->warnings[i]);
    annotations = yyjson_mut_obj_add_obj(doc, answer, "annotations");
    for (size_t i = 0; i < outcome->n_annotations; i++)
        yyjson_mut_obj_add(annotations, yyjson_mut_strcpy(doc, outcome->annotations[i].key),
                           yyjson_mut_strcpy(doc, outcome->annotations[i].value));
}

static int validate(const struct objects *objects, const struct ek_admission_request *request,
                    const struct ek_mutation_world *world, struct ek_arena *arena,
                    yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    struct ek_validating_outcome outcome;
    int rc = ek_validating_run(&(struct ek_policy_set){objects->bound, objects->n_bound}, request,
                               world, &(struct ek_engine_options){0}, arena, &outcome);

    if (!rc)
        write_verdict(&outcome, doc, answer);
    return rc;
}

static int mutate(const struct objects *objects, const struct ek_admission_request *request,
                  const struct ek_mutation_world *world, struct ek_arena *arena,
                  yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    struct ek_mutation_outcome outcome;
    int rc = ek_engine_run(&(struct ek_policy_set){objects->bound, objects->n_bound}, request,
                           world, &(struct ek_engine_options){0}, arena, &outcome);

    if (!rc) {
        write_outcome(&outcome, doc, answer);
        ek_mutation_outcome_done(&outcome);
    }
    return rc;
}

typedef int (*run_fn)(const struct objects *objects, const struct ek_admission_request *request,
                      const struct ek_mutation_world *world, struct ek_arena *arena,
                      yyjson_mut_doc *doc, yyjson_mut_val *answer);

static bool answer_by(run_fn run, void *state, yyjson_val *record, yyjson_mut_doc *doc,
                      yyjson_mut_val *answer)
{
    yyjson_val *admission = yyjson_obj_get(record, "admission");
    struct ek_admission_request request;
    struct ek_err err = {0};

    if (!yyjson_is_obj(admission)) /* one case was not seen by a webhook */
        return yyjson_mut_obj_add_null(doc, answer, "result");
    yyjson_doc *whole = whole_request(admission);
    bool ok = !ek_admission_request_read(yyjson_doc_get_root(whole), &request, &err);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct world world = {.recording = state, .record = record, .arena = arena};
    const struct ek_equivalents equivalents = {each_equivalent, &world};
    const struct ek_mutation_world callbacks = {.namespace = find_namespace,
                                                .param_scope = param_scope,
                                                .params = params,
                                                .schema = find_schema,
                                                .authorize = authorize,
                                                .equivalents = &equivalents,
                                                .arg = &world};
    struct objects *objects = ek_xalloc(sizeof *objects);

    store_all(&world);
    read_objects(objects, record);
    int rc = ok ? run(objects, &request, &callbacks, arena, doc, answer) : EK_E_PARSE;
    if (rc)
        fprintf(stderr, "ek-vectors: the engine: %s %s\n", ek_strerror(rc), err.message);
    free_objects(objects);
    for (size_t i = 0; i < world.n_stored; i++)
        yyjson_doc_free(world.stored[i]);
    ek_arena_free(arena);
    yyjson_doc_free(whole);
    return !rc;
}

static bool answer_case(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    return answer_by(mutate, state, record, doc, answer);
}

static bool answer_validating(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                              yyjson_mut_val *answer)
{
    return answer_by(validate, state, record, doc, answer);
}

const struct ek_vectors_subject ek_vectors_mutation = {.name = "mutation",
                                                       .options = "--data DIR",
                                                       .open = open_recording,
                                                       .close = close_recording,
                                                       .answer = answer_case};

const struct ek_vectors_subject ek_vectors_validating = {.name = "validating",
                                                         .options = "--data DIR",
                                                         .open = open_recording,
                                                         .close = close_recording,
                                                         .answer = answer_validating};
