/* SPDX-License-Identifier: Apache-2.0 */
/* What was read, sorted: policies, bindings, definitions, schemas and the rest. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/words.h"
#include "api/schema/builtin.h"
#include "api/version.h"
#include "controller/manifests/files.h"
#include "controller/manifests/manifests-internal.h"
#include "informers/client/file.h"
#include "reconcilers/mutation/decoding.h"
#include "reconcilers/mutation/order.h"

#define ARENA_MAX ((size_t)1 << 30)

void ek_ci_note(struct ek_ci *ci, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (ek_map_get(&ci->noted, text))
        return;
    yyjson_mut_val *note = yyjson_mut_strcpy(ci->notes_doc, text);
    yyjson_mut_arr_append(ci->notes, note);
    ek_map_put(&ci->noted, yyjson_mut_get_str(note), note);
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

void ek_ci_own(struct ek_ci *ci, yyjson_doc *doc)
{
    ci->docs = ek_xrealloc(ci->docs, ci->n_docs + 1, sizeof(yyjson_doc *));
    ci->docs[ci->n_docs++] = doc;
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

/* An OpenAPI document, or CustomResourceDefinitions. */
static int read_schema_file(void *arg, const char *path, const char *shown, struct ek_err *err)
{
    struct ek_ci *ci = arg;
    struct ek_ci_objects crds = {0};
    struct ek_schema *schema = NULL;
    yyjson_doc *doc = NULL;
    int rc = ek_ci_read_documents(ci, path, shown, &doc, err);
    yyjson_val *first = rc ? NULL : yyjson_arr_get_first(yyjson_doc_get_root(doc));

    if (!rc && ek_json_str(first, "openapi", NULL)) {
        rc = ek_schema_compile(first, &schema, err);
        if (!rc)
            ek_ci_add_schema(ci, schema);
    } else if (!rc) {
        rc = ek_ci_read(ci, path, &crds, err);
    }
    for (size_t i = 0; i < crds.n && !rc; i++) {
        const char *kind = ek_json_str(crds.list[i].value, "kind", NULL);
        if (!strcmp(kind, "CustomResourceDefinition"))
            read_crd(ci, &crds.list[i]);
        else
            rc =
                ek_err_set(err, EK_E_INVAL,
                           "a %s is no schema: an OpenAPI v3 document or CustomResourceDefinitions "
                           "are required",
                           kind);
    }
    ek_free(crds.list);
    if (rc)
        ek_err_prefix(err, "--schema");
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
            rc = strcmp(s, "-") != 0
                     ? ek_manifests_each(s, read_schema_file, ci, err)
                     : ek_err_set(err, EK_E_INVAL, "--schema: the standard input is no schema");
        } else if (*rest) {
            struct ek_minor v = ek_minor_parse(rest + 1);
            if (!v.known || v.major != 1)
                return ek_err_set(err, EK_E_INVAL,
                                  "--schema %s: this is not a version such as 1.%d", s,
                                  EK_BUILTIN_MINOR_MAX);
            ci->minor = (int)v.minor;
        }
    }
    return rc ? rc : ek_schema_builtin_open(ci->minor, &ci->builtin, err);
}

/* What a cluster has; its schemas come from the cluster, too. */
void ek_ci_add_crds(struct ek_ci *ci, yyjson_doc *doc)
{
    yyjson_val *crd;
    size_t i, n;

    ek_ci_own(ci, doc);
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "items"), i, n, crd)
        push(&ci->crds, &(struct ek_ci_object){.value = crd, .seen = crd, .source = "cluster"});
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

/* A policy or a binding; evenkeel.dev has mutating ones alone. */
static bool is_policy(const struct ek_gvk *kind)
{
    bool native = !strcmp(kind->group, "admissionregistration.k8s.io");

    if (!strcmp(kind->kind, "ValidatingAdmissionPolicy") ||
        !strcmp(kind->kind, "ValidatingAdmissionPolicyBinding"))
        return native;
    return (native || !strcmp(kind->group, "evenkeel.dev")) &&
           !strncmp(kind->kind, "MutatingAdmissionPolicy", 23);
}

bool ek_ci_is_definition(const struct ek_ci_object *object)
{
    return !strcmp(ek_json_text(object->value, "kind"), "CustomResourceDefinition");
}

static void sort_objects(struct ek_ci *ci, struct ek_ci_objects *read)
{
    for (size_t i = 0; i < read->n; i++) {
        struct ek_gvk kind = ek_ci_kind_of(ci, read->list[i].value);
        if (is_policy(&kind))
            push(&ci->policies, &read->list[i]);
        else
            push(&ci->objects, &read->list[i]);
        if (ek_ci_is_definition(&read->list[i]))
            read_crd(ci, &read->list[i]);
    }
    ek_free(read->list);
    *read = (struct ek_ci_objects){0};
}

int ek_ci_init(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err)
{
    struct ek_ci_objects read = {0};

    *ci = (struct ek_ci){.arena = ek_arena_new(ARENA_MAX), .notes_doc = ek_json_doc_new()};
    ci->notes = yyjson_mut_arr(ci->notes_doc);
    ci->skip_unknown = options->skip_unknown;
    int rc = options->files.n || options->n_more_files
                 ? read_schemas(ci, options, err)
                 : ek_err_set(err, EK_E_INVAL,
                              "say which files: -f FILE, -f FOLDER or -f - for the "
                              "standard input");
    if (!rc)
        rc = ek_ci_fields_open(ci, options, err);
    for (size_t i = 0; i < options->files.n && !rc; i++)
        rc = ek_ci_read(ci, options->files.items[i], &read, err);
    for (size_t i = 0; i < options->n_more_files && !rc; i++)
        rc = ek_ci_read(ci, options->more_files[i], &read, err);
    for (size_t i = 0; i < options->params.n && !rc; i++)
        rc = ek_ci_read(ci, options->params.items[i], &ci->params, err);
    if (!rc)
        sort_objects(ci, &read);
    ek_free(read.list);
    if (ci->n_skipped)
        ek_ci_note(ci, "%zu document%s without apiVersion and kind %s left out", ci->n_skipped,
                   ci->n_skipped == 1 ? "" : "s", ci->n_skipped == 1 ? "is" : "are");
    return rc;
}

void ek_ci_done(struct ek_ci *ci)
{
    struct ek_ci_objects *all[] = {&ci->objects, &ci->params, &ci->old, &ci->policies, &ci->crds};
    size_t cursor = 0;
    void *validator;

    while (ek_map_next(&ci->validators, &cursor, NULL, &validator))
        ek_validator_free(validator);
    ek_map_done(&ci->validators);
    ek_map_done(&ci->noted);
    for (size_t i = 0; i < ci->n_compiled; i++)
        ek_policy_unref(ci->compiled[i]);
    for (size_t i = 0; i < ci->n_bindings; i++)
        ek_binding_unref(ci->bindings[i]);
    for (size_t i = 0; i < ci->n_extra; i++)
        ek_schema_unref(ci->extra[i].schema);
    for (size_t i = 0; i < ci->n_docs; i++)
        yyjson_doc_free(ci->docs[i]);
    for (size_t i = 0; i < ci->n_files; i++) {
        ek_manifest_lines_done(&ci->files[i]->lines);
        ek_free(ci->files[i]->text);
        ek_free(ci->files[i]->twins);
        ek_free(ci->files[i]);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(all); i++)
        ek_free(all[i]->list);
    ek_map_done(&ci->namespaces);
    ek_map_done(&ci->made);
    ek_map_done(&ci->olds);
    ek_schema_unref(ci->builtin);
    ek_ci_fields_free(ci->fields);
    ek_free(ci->compiled);
    ek_free(ci->compiled_from);
    ek_free(ci->bindings_from);
    ek_free(ci->bindings);
    ek_free(ci->bound);
    ek_free(ci->validating);
    ek_free(ci->assumed.flags);
    ek_free(ci->extra);
    ek_free(ci->docs);
    ek_free(ci->files);
    yyjson_mut_doc_free(ci->notes_doc);
    ek_arena_free(ci->arena);
    *ci = (struct ek_ci){0};
}

/* ---- Policies and bindings ---- */

bool ek_ci_is_binding(const struct ek_ci_object *object)
{
    const char *kind = ek_json_str(object->value, "kind", NULL);
    return kind && ek_ends_with(kind, "AdmissionPolicyBinding");
}

/* Whether a binding that is being paired was made up, as the last of the bindings. */
static bool is_assumed(const struct ek_ci *ci, const struct ek_binding *binding)
{
    return ci->n_bindings > ci->n_read_bindings && binding == ci->bindings[ci->n_bindings - 1];
}

/* Keeps the bindings of one policy, which come one after another, in the order of their names. */
static void pair_validating(struct ek_ci *ci, const struct ek_policy *policy,
                            const struct ek_binding *binding)
{
    size_t at = ci->n_validating++;

    ci->validating = ek_xrealloc(ci->validating, at + 1, sizeof *ci->validating);
    for (; at && ci->validating[at - 1].policy == policy &&
           strcmp(ci->validating[at - 1].binding->name, binding->name) > 0;
         at--)
        ci->validating[at] = ci->validating[at - 1];
    ci->validating[at] = (struct ek_bound){
        .policy = policy, .binding = binding, .apply = true, .assumed = is_assumed(ci, binding)};
}

static void pair(struct ek_ci *ci, const struct ek_policy *policy, const struct ek_binding *binding)
{
    if (policy->validating) {
        pair_validating(ci, policy, binding);
        return;
    }
    ci->bound = ek_xrealloc(ci->bound, ci->n_bound + 1, sizeof *ci->bound);
    ci->bound[ci->n_bound++] = (struct ek_bound){.policy = policy,
                                                 .binding = binding,
                                                 .apply = policy->enforcement != EK_POLICY_OBSERVE,
                                                 .assumed = is_assumed(ci, binding)};
}

/* A binding to everything, and to all params there are, for a policy that has none. */
static void bind_alone(struct ek_ci *ci, const struct ek_policy *policy)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec;

    yyjson_mut_obj_add_str(doc, root, "apiVersion",
                           policy->native ? "admissionregistration.k8s.io/v1"
                                          : "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind",
                           policy->validating ? "ValidatingAdmissionPolicyBinding"
                                              : "MutatingAdmissionPolicyBinding");
    yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "metadata"), "name", "none");
    spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_obj_add_strcpy(doc, spec, "policyName", policy->name);
    if (policy->validating)
        yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, spec, "validationActions"), "Deny");
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
    ek_obj_unref(obj);
    yyjson_mut_doc_free(doc);
}

/* A policy with what it was read from, while policies are sorted. */
struct sorted {
    const struct ek_policy *policy;
    const struct ek_ci_object *from;
};

static int by_policy(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = strcmp(x->policy->name, y->policy->name);

    return order ? order : (x->from > y->from) - (x->from < y->from);
}

/* Reads policies and bindings, policies in the order of their names. */
static void compile(struct ek_ci *ci, int compat_minor)
{
    struct sorted *sorted = ek_xalloc((ci->policies.n + 1) * sizeof *sorted);

    for (size_t i = 0; i < ci->policies.n; i++) {
        const struct ek_ci_object *from = &ci->policies.list[i];
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_val(from->value);
        if (ek_ci_is_binding(from)) {
            ci->bindings_from[ci->n_bindings] = from;
            ci->bindings[ci->n_bindings++] = ek_binding_new(obj);
        } else {
            sorted[ci->n_compiled++] = (struct sorted){ek_policy_new(obj, compat_minor), from};
        }
    }
    if (ci->n_compiled)
        qsort(sorted, ci->n_compiled, sizeof *sorted, by_policy);
    for (size_t i = 0; i < ci->n_compiled; i++) {
        ci->compiled[i] = sorted[i].policy;
        ci->compiled_from[i] = sorted[i].from;
    }
    ci->n_read_bindings = ci->n_bindings;
    ek_free(sorted);
}

/* Why API servers cannot decode a policy or a binding; NULL for one that they can. own: of
 * evenkeel.dev. */
static const char *undecoded(struct ek_ci *ci, const struct ek_ci_object *from, bool own)
{
    const struct ek_decoding_problem *list;
    size_t n = ek_decoding_problems(from->value, ek_ci_is_binding(from), own, ci->arena, &list);

    for (size_t i = 0; i < n; i++)
        if (!list[i].unknown)
            return list[i].message;
    return NULL;
}

/* Why API servers refuse a binding; NULL for one that they take. */
static const char *refusal(struct ek_ci *ci, size_t i)
{
    const struct ek_binding *b = ci->bindings[i];
    const char *why = undecoded(ci, ci->bindings_from[i], !b->native);

    return !why && b->n_problems ? b->problems[0] : why;
}

/* Why API servers refuse a policy; NULL for one that they take. */
static const char *policy_refusal(struct ek_ci *ci, size_t i)
{
    const struct ek_policy *p = ci->compiled[i];
    const char *why = undecoded(ci, ci->compiled_from[i], !p->native);

    return !why && p->n_problems ? p->problems[0] : why;
}

/* Pairs a policy with its bindings. A policy that API servers refuse is bound to nothing, and so is
 * one whose bindings are all refused. */
static void bind_policy(struct ek_ci *ci, size_t at)
{
    const struct ek_policy *policy = ci->compiled[at];
    bool named = false;

    if (policy_refusal(ci, at))
        return;
    for (size_t i = 0; i < ci->n_read_bindings; i++) {
        const struct ek_binding *b = ci->bindings[i];
        if (strcmp(b->policy_name, policy->name) != 0 || b->native != policy->native ||
            b->validating != policy->validating)
            continue;
        const char *why = refusal(ci, i);
        named = true;
        if (!why)
            pair(ci, policy, b);
        else
            ek_ci_note(ci, "binding %s is not used, because API servers refuse the binding: %s",
                       b->name, why);
    }
    if (!named)
        bind_alone(ci, policy);
}

void ek_ci_bind(struct ek_ci *ci, int compat_minor)
{
    size_t n = ci->policies.n + 1;

    ci->compiled = ek_xalloc(n * sizeof(struct ek_policy *));
    ci->compiled_from = ek_xalloc(n * sizeof(struct ek_ci_object *));
    ci->bindings = ek_xalloc(n * sizeof(struct ek_binding *));
    ci->bindings_from = ek_xalloc(n * sizeof(struct ek_ci_object *));
    compile(ci, compat_minor);
    for (size_t i = 0; i < ci->n_compiled; i++)
        bind_policy(ci, i);
    ek_order_sort(ci->bound, ci->n_bound);
}

/* The line of a field "spec.list[0].name" in the file of a policy; 0 where it is not known. */
static size_t line_of_field(struct ek_ci *ci, const struct ek_ci_object *from, const char *field,
                            size_t len)
{
    char *pointer = ek_arena_printf(ci->arena, "/%.*s", (int)len, field), *to = pointer;

    for (const char *c = pointer; *c; c++)
        if (*c != ']')
            *to++ = (char)(*c == '.' || *c == '[' ? '/' : *c);
    *to = '\0';
    return ek_ci_line(from, pointer);
}

int ek_ci_check_policies(struct ek_ci *ci, struct ek_err *err)
{
    for (size_t i = 0; i < ci->n_compiled; i++) {
        const struct ek_ci_object *from = ci->compiled_from[i];
        const char *why = policy_refusal(ci, i), *colon = why ? strstr(why, ": ") : NULL;
        size_t line = colon ? line_of_field(ci, from, why, (size_t)(colon - why)) : 0;
        char at[24] = "";
        if (line)
            snprintf(at, sizeof at, ":%zu", line);
        if (why)
            return ek_err_set(err, EK_E_INVAL, "%s%s: policy %s: API servers refuse the policy: %s",
                              from->source, at, ci->compiled[i]->name, why);
    }
    return 0;
}
