/* SPDX-License-Identifier: Apache-2.0 */
/* What was read, sorted: policies, bindings, definitions, schemas and the rest. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "api/version.h"
#include "controller/ci-internal.h"
#include "informers/file.h"
#include "reconcilers/mutation/order.h"

#define ARENA_MAX ((size_t)1 << 30)

void ek_ci_note(struct ek_ci *ci, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    size_t i, n;
    yyjson_mut_val *note;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    yyjson_mut_arr_foreach(ci->notes, i, n, note)
    {
        if (!strcmp(yyjson_mut_get_str(note), text))
            return;
    }
    yyjson_mut_arr_add_strcpy(ci->notes_doc, ci->notes, text);
}

struct ek_gvk ek_ci_split_kind(struct ek_ci *ci, const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');

    if (!slash)
        return (struct ek_gvk){"", api_version, kind};
    return (struct ek_gvk){ek_arena_strndup(ci->arena, api_version, (size_t)(slash - api_version)),
                           slash + 1, kind};
}

struct ek_gvk ek_ci_kind_of(struct ek_ci *ci, yyjson_val *object)
{
    const char *api_version = ek_json_str(object, "apiVersion", NULL);
    const char *kind = ek_json_str(object, "kind", NULL);

    return ek_ci_split_kind(ci, api_version ? api_version : "", kind ? kind : "");
}

const char *ek_ci_key(struct ek_ci *ci, yyjson_val *object)
{
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);

    if (!name) {
        name = ek_json_str(object, "metadata", "generateName", NULL);
        name = name ? ek_arena_printf(ci->arena, "%s*", name) : "";
    }
    return namespace && *namespace ? ek_arena_printf(ci->arena, "%s/%s", namespace, name) : name;
}

static void push(struct ek_ci_objects *to, const struct ek_ci_object *object)
{
    to->list = ek_xrealloc(to->list, to->n + 1, sizeof *to->list);
    to->list[to->n++] = *object;
}

/* ---- Schemas ---- */

void ek_ci_add_schema(struct ek_ci *ci, struct ek_schema *schema)
{
    ci->extra = ek_xrealloc(ci->extra, ci->n_extra + 1, sizeof *ci->extra);
    ci->extra[ci->n_extra++].schema = schema;
}

static int read_schema_file(struct ek_ci *ci, const char *path, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    size_t len = 0;
    struct ek_schema *schema = NULL;
    int rc = ek_file_read(path, EK_CI_FILE_MAX, &text, &len, err);

    yyjson_doc *doc = rc ? NULL : ek_json_parse(text, len, err);
    rc = doc ? ek_schema_compile(yyjson_doc_get_root(doc), &schema, err) : err->code;
    yyjson_doc_free(doc);
    if (rc)
        ek_err_prefix(err, "--schema %s", path);
    else
        ek_ci_add_schema(ci, schema);
    return rc;
}

static int read_schemas(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err)
{
    static const char prefix[] = "builtin";
    int rc = 0;

    ci->minor = EK_BUILTIN_MINOR_MAX;
    for (size_t i = 0; i < options->schemas.n && !rc; i++) {
        const char *s = options->schemas.items[i];
        const char *rest = strncmp(s, prefix, sizeof prefix - 1) ? NULL : s + sizeof prefix - 1;
        if (!strcmp(s, "cluster")) {
            rc = ek_ci_fetch(ci, &options->cluster, err);
        } else if (!rest || (*rest && *rest != ':')) {
            rc = read_schema_file(ci, s, err);
        } else if (*rest) {
            struct ek_minor v = ek_minor_parse(rest + 1);
            if (!v.known || v.major != 1)
                return ek_err_set(err, EK_E_INVAL, "--schema %s: this is no version such as 1.%d",
                                  s, EK_BUILTIN_MINOR_MAX);
            ci->minor = (int)v.minor;
        }
    }
    return rc ? rc : ek_schema_builtin_open(ci->minor, &ci->builtin, err);
}

/* Each served version of a definition. */
static void read_crd(struct ek_ci *ci, const struct ek_ci_object *object)
{
    yyjson_val *version;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(object->value, "spec", "versions", NULL), i, n, version)
    {
        const char *name = ek_json_str(version, "name", NULL);
        struct ek_schema *schema = NULL;
        struct ek_err err = {0};
        if (name && !ek_schema_compile_crd(object->value, name, &schema, &err))
            ek_ci_add_schema(ci, schema);
        else
            ek_ci_note(ci, "%s: %s %s: %s", object->source, ek_ci_key(ci, object->value),
                       name ? name : "", name ? err.message : "a version has no name");
    }
    push(&ci->crds, object);
}

/* What a cluster has; its schemas come from the cluster, too. */
void ek_ci_add_crds(struct ek_ci *ci, yyjson_doc *doc)
{
    yyjson_val *crd;
    size_t i, n;

    ci->docs = ek_xrealloc(ci->docs, ci->n_docs + 1, sizeof(yyjson_doc *));
    ci->docs[ci->n_docs++] = doc;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "items"), i, n, crd)
        push(&ci->crds, &(struct ek_ci_object){crd, "cluster"});
}

const struct ek_schema *ek_ci_schema_of(const struct ek_ci *ci, const struct ek_gvk *kind)
{
    uint32_t type;

    for (size_t i = ci->n_extra; i-- > 0;)
        if (!ek_schema_find_kind(ci->extra[i].schema, kind->group, kind->version, kind->kind, &type,
                                 NULL))
            return ci->extra[i].schema;
    return !ek_schema_find_kind(ci->builtin, kind->group, kind->version, kind->kind, &type, NULL)
               ? ci->builtin
               : NULL;
}

/* ---- Sorting ---- */

static bool is_ours(const struct ek_gvk *kind)
{
    return !strcmp(kind->group, "admissionregistration.k8s.io") ||
           !strcmp(kind->group, "evenkeel.dev");
}

static void sort_objects(struct ek_ci *ci, struct ek_ci_objects *read)
{
    for (size_t i = 0; i < read->n; i++) {
        struct ek_gvk kind = ek_ci_kind_of(ci, read->list[i].value);
        if (is_ours(&kind) && !strncmp(kind.kind, "MutatingAdmissionPolicy", 23))
            push(&ci->policies, &read->list[i]);
        else if (!strcmp(kind.kind, "CustomResourceDefinition"))
            read_crd(ci, &read->list[i]);
        else
            push(&ci->objects, &read->list[i]);
    }
    ek_free(read->list);
    *read = (struct ek_ci_objects){0};
}

int ek_ci_init(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err)
{
    struct ek_ci_objects read = {0};

    *ci = (struct ek_ci){.arena = ek_arena_new(ARENA_MAX), .notes_doc = ek_json_doc_new()};
    ci->notes = yyjson_mut_arr(ci->notes_doc);
    int rc = options->files.n ? read_schemas(ci, options, err)
                              : ek_err_set(err, EK_E_INVAL,
                                           "say which files: -f FILE, -f FOLDER or -f - for the "
                                           "standard input");
    for (size_t i = 0; i < options->files.n && !rc; i++)
        rc = ek_ci_read(ci, options->files.items[i], &read, err);
    for (size_t i = 0; i < options->params.n && !rc; i++)
        rc = ek_ci_read(ci, options->params.items[i], &ci->params, err);
    if (!rc)
        sort_objects(ci, &read);
    ek_free(read.list);
    return rc;
}

void ek_ci_done(struct ek_ci *ci)
{
    struct ek_ci_objects *all[] = {&ci->objects, &ci->params, &ci->old, &ci->policies, &ci->crds};

    for (size_t i = 0; i < ci->n_compiled; i++)
        ek_policy_unref(ci->compiled[i]);
    for (size_t i = 0; i < ci->n_bindings; i++)
        ek_binding_unref(ci->bindings[i]);
    for (size_t i = 0; i < ci->n_extra; i++)
        ek_schema_unref(ci->extra[i].schema);
    for (size_t i = 0; i < ci->n_docs; i++)
        yyjson_doc_free(ci->docs[i]);
    for (size_t i = 0; i < EK_ARRAY_SIZE(all); i++)
        ek_free(all[i]->list);
    ek_schema_unref(ci->builtin);
    ek_free(ci->compiled);
    ek_free(ci->compiled_source);
    ek_free(ci->bindings);
    ek_free(ci->bound);
    ek_free(ci->extra);
    ek_free(ci->docs);
    yyjson_mut_doc_free(ci->notes_doc);
    ek_arena_free(ci->arena);
    *ci = (struct ek_ci){0};
}

/* ---- Policies and bindings ---- */

static bool is_binding(const struct ek_ci_object *object)
{
    const char *kind = ek_json_str(object->value, "kind", NULL);
    return kind && !strcmp(kind, "MutatingAdmissionPolicyBinding");
}

static void pair(struct ek_ci *ci, const struct ek_policy *policy, const struct ek_binding *binding)
{
    ci->bound = ek_xrealloc(ci->bound, ci->n_bound + 1, sizeof *ci->bound);
    ci->bound[ci->n_bound++] = (struct ek_bound){
        .policy = policy, .binding = binding, .apply = policy->enforcement != EK_POLICY_OBSERVE};
}

/* A binding to everything, and to all params there are, for a policy that has none. */
static void bind_alone(struct ek_ci *ci, const struct ek_policy *policy)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec;

    yyjson_mut_obj_add_str(doc, root, "apiVersion",
                           policy->native ? "admissionregistration.k8s.io/v1"
                                          : "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind", "MutatingAdmissionPolicyBinding");
    yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "metadata"), "name", "none");
    spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_obj_add_strcpy(doc, spec, "policyName", policy->name);
    if (policy->has_params) {
        yyjson_mut_val *ref = yyjson_mut_obj_add_obj(doc, spec, "paramRef");
        yyjson_mut_obj_add_obj(doc, ref, "selector");
        yyjson_mut_obj_add_str(doc, ref, "parameterNotFoundAction", "Deny");
    }
    yyjson_mut_doc_set_root(doc, root);
    struct ek_obj *obj = ek_obj_from_mut(root);
    ci->bindings = ek_xrealloc(ci->bindings, ci->n_bindings + 1, sizeof(struct ek_binding *));
    ci->bindings[ci->n_bindings++] = ek_binding_new(obj);
    pair(ci, policy, ci->bindings[ci->n_bindings - 1]);
    ek_ci_note(ci,
               "policy %s has no binding in these files: it is taken to be bound to everything it "
               "matches%s",
               policy->name, policy->has_params ? ", with every param there is" : "");
    ek_obj_unref(obj);
    yyjson_mut_doc_free(doc);
}

static int by_policy(const void *a, const void *b)
{
    return strcmp((*(const struct ek_policy *const *)a)->name,
                  (*(const struct ek_policy *const *)b)->name);
}

/* Where each policy was read; sorting has moved them. */
static void find_sources(struct ek_ci *ci)
{
    for (size_t i = 0; i < ci->n_compiled; i++)
        for (size_t j = 0; j < ci->policies.n; j++) {
            const char *name = ek_json_str(ci->policies.list[j].value, "metadata", "name", NULL);
            if (!is_binding(&ci->policies.list[j]) && name && !strcmp(name, ci->compiled[i]->name))
                ci->compiled_source[i] = ci->policies.list[j].source;
        }
}

void ek_ci_bind(struct ek_ci *ci, int compat_minor)
{
    size_t n = ci->policies.n + 1;

    ci->compiled = ek_xalloc(n * sizeof(struct ek_policy *));
    ci->compiled_source = ek_xalloc(n * sizeof(char *));
    ci->bindings = ek_xalloc(n * sizeof(struct ek_binding *));
    for (size_t i = 0; i < ci->policies.n; i++) {
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_val(ci->policies.list[i].value);
        if (is_binding(&ci->policies.list[i]))
            ci->bindings[ci->n_bindings++] = ek_binding_new(obj);
        else
            ci->compiled[ci->n_compiled++] = ek_policy_new(obj, compat_minor);
    }
    if (ci->n_compiled)
        qsort(ci->compiled, ci->n_compiled, sizeof(struct ek_policy *), by_policy);
    find_sources(ci);
    ci->n_read_bindings = ci->n_bindings;
    for (size_t i = 0; i < ci->n_compiled; i++) {
        size_t before = ci->n_bound;
        for (size_t j = 0; j < ci->n_read_bindings; j++)
            if (!strcmp(ci->bindings[j]->policy_name, ci->compiled[i]->name) &&
                ci->bindings[j]->native == ci->compiled[i]->native)
                pair(ci, ci->compiled[i], ci->bindings[j]);
        if (ci->n_bound == before)
            bind_alone(ci, ci->compiled[i]);
    }
    ek_order_sort(ci->bound, ci->n_bound);
}
