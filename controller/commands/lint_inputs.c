/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the checks of policies: matched kinds, their schemas, and a run on samples. */
#include <string.h>

#include "controller/commands/lint-internal.h"
#include "reconcilers/plan/fields.h"

#define RUN_MEMORY_MAX ((size_t)256 << 20)

/* ---- Kinds ---- */

struct matching {
    struct ek_ci *ci;
    const struct ek_policy *policy;
    struct ek_typecheck_kind *kinds; /* in the arena */
    size_t n;
};

static void add_kind(void *arg, const struct ek_gvr *resource, const char *subresource,
                     const struct ek_gvk *kind)
{
    struct matching *m = arg;

    if (m->n >= EK_TYPECHECK_KINDS_MAX || !ek_lint_covers(m->policy, resource, subresource))
        return;
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->kinds[i].kind.kind, kind->kind) &&
            !strcmp(m->kinds[i].kind.group, kind->group) &&
            !strcmp(m->kinds[i].kind.version, kind->version))
            return;
    m->kinds[m->n++] = (struct ek_typecheck_kind){*kind, ek_ci_schema_of(m->ci, kind)};
}

static const struct ek_typecheck_kind *params_of(struct ek_ci *ci, const struct ek_policy *policy)
{
    struct ek_typecheck_kind *ret = ek_arena_alloc(ci->arena, sizeof *ret);

    if (!policy->has_params)
        return NULL;
    ret->kind = ek_ci_split_kind(ci, policy->param_api_version, policy->param_kind);
    ret->schema = ek_ci_schema_of(ci, &ret->kind);
    return ret;
}

/* ---- Samples ---- */

static yyjson_doc *make_request(struct ek_ci *ci, yyjson_val *object)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *v;
    struct ek_gvk kind = ek_ci_kind_of(ci, object);
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);
    struct ek_ci_resource r;

    ek_ci_resource_of(ci, &kind, namespace != NULL, &r);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "uid", "00000000-0000-0000-0000-000000000000");
    v = yyjson_mut_obj_add_obj(doc, root, "kind");
    yyjson_mut_obj_add_strcpy(doc, v, "group", kind.group);
    yyjson_mut_obj_add_strcpy(doc, v, "version", kind.version);
    yyjson_mut_obj_add_strcpy(doc, v, "kind", kind.kind);
    v = yyjson_mut_obj_add_obj(doc, root, "resource");
    yyjson_mut_obj_add_strcpy(doc, v, "group", kind.group);
    yyjson_mut_obj_add_strcpy(doc, v, "version", kind.version);
    yyjson_mut_obj_add_strcpy(doc, v, "resource", r.resource.resource);
    if (name)
        yyjson_mut_obj_add_strcpy(doc, root, "name", name);
    if (r.namespaced)
        yyjson_mut_obj_add_strcpy(doc, root, "namespace", namespace ? namespace : "default");
    yyjson_mut_obj_add_str(doc, root, "operation", "CREATE");
    v = yyjson_mut_obj_add_obj(doc, root, "userInfo");
    yyjson_mut_obj_add_str(doc, v, "username", "ci");
    yyjson_mut_obj_add_val(doc, root, "object", yyjson_val_mut_copy(doc, object));
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

/* Runs one policy on object. *ret_result (owned) is set where that changes it. */
static bool changes(struct ek_ci *ci, const struct ek_policy *policy, yyjson_val *object,
                    yyjson_doc **ret_result)
{
    struct ek_mutation_world world;
    struct ek_admission_request request;
    struct ek_mutation_outcome outcome;
    struct ek_bound *bound = ek_xalloc((ci->n_bound + 1) * sizeof *bound);
    struct ek_policy_set set = {bound, 0};
    struct ek_arena *arena = ek_arena_new(RUN_MEMORY_MAX);
    yyjson_doc *whole = make_request(ci, object);

    *ret_result = NULL;
    for (size_t i = 0; i < ci->n_bound; i++)
        if (ci->bound[i].policy == policy)
            bound[set.n++] = ci->bound[i];
    ek_ci_world(ci, &world);
    bool ran =
        whole && !ek_admission_request_read(yyjson_doc_get_root(whole), &request, NULL) &&
        !ek_engine_run(&set, &request, &world, &(struct ek_engine_options){0}, arena, &outcome);
    if (ran) {
        if (outcome.allowed && outcome.patch && outcome.result)
            *ret_result = outcome.result;
        if (*ret_result)
            outcome.result = NULL; /* taken */
        ek_mutation_outcome_done(&outcome);
    }
    ek_free(bound);
    ek_arena_free(arena);
    yyjson_doc_free(whole);
    return *ret_result != NULL;
}

/* Whether a policy that may run on its own result changes that again, on any object of the files.
 * One run of the engine already contains the second pass, so that a third pass decides. */
static const char *find_restless(struct ek_ci *ci, const struct ek_policy *policy)
{
    for (size_t i = 0; i < ci->objects.n && !policy->n_problems; i++) {
        yyjson_doc *first, *second;
        if (!changes(ci, policy, ci->objects.list[i].seen, &first))
            continue;
        bool again = changes(ci, policy, yyjson_doc_get_root(first), &second);
        yyjson_doc_free(first);
        if (!again)
            continue;
        yyjson_doc_free(second);
        const char *kind = ek_json_str(ci->objects.list[i].value, "kind", NULL);
        return ek_arena_printf(ci->arena, "%s %s", kind, ek_ci_key(ci, ci->objects.list[i].value));
    }
    return NULL;
}

/* ---- All ---- */

static void fill(struct ek_ci *ci, size_t i, struct ek_lint_policy *ret)
{
    const struct ek_policy *policy = ci->compiled[i];
    struct matching m = {.ci = ci, .policy = policy};
    const struct ek_ci_object *object = ci->compiled_from[i];

    m.kinds = ek_arena_alloc(ci->arena, EK_TYPECHECK_KINDS_MAX * sizeof *m.kinds);
    ek_ci_each_kind(ci, add_kind, &m);
    *ret = (struct ek_lint_policy){.policy = policy,
                                   .object = ek_obj_from_val(object->value),
                                   .source = object->source,
                                   .kinds = m.kinds,
                                   .n_kinds = m.n,
                                   .params = params_of(ci, policy),
                                   .restless_on = find_restless(ci, policy)};
}

/* The CustomResourceDefinitions of the files, but not those that only bring schemas. */
static size_t find_definitions(struct ek_ci *ci, struct ek_lint_definition **ret)
{
    struct ek_lint_definition *list = ek_arena_alloc(ci->arena, (ci->objects.n + 1) * sizeof *list);
    size_t n = 0;

    for (size_t i = 0; i < ci->objects.n; i++) {
        const struct ek_ci_object *o = &ci->objects.list[i];
        if (ek_ci_is_definition(o))
            list[n++] = (struct ek_lint_definition){ek_lint_name(o), o->source, o->value};
    }
    *ret = list;
    return n;
}

static enum ek_lint_severity severity_of(enum ek_plan_severity severity)
{
    return severity == EK_PLAN_ERROR     ? EK_LINT_ERROR
           : severity == EK_PLAN_WARNING ? EK_LINT_WARNING
                                         : EK_LINT_INFO;
}

/* Which fields a version has is not known for all versions. */
static void say_no_fields(const struct ek_ci *ci, struct ek_plan_report *report)
{
    const struct ek_plan_data *data = &ci->fields->data;
    struct ek_minor to = ci->fields->target.to;
    char version[EK_MINOR_SIZE], oldest[EK_MINOR_SIZE], newest[EK_MINOR_SIZE];

    if (!to.known || ek_fields_have(data, to))
        return;
    const char *message = ek_arena_printf(
        ci->arena, "the fields of Kubernetes %s are not known, only those of %s to %s",
        ek_minor_format(to, version), ek_minor_format(data->oldest, oldest),
        ek_minor_format(data->newest, newest));
    ek_plan_report_add(report, &(struct ek_plan_finding){.severity = EK_PLAN_UNKNOWN,
                                                         .rule = "beyond-data",
                                                         .object = "",
                                                         .message = message});
}

const char *ek_lint_name(const struct ek_ci_object *object)
{
    const char *name = ek_json_str(object->value, "metadata", "name", NULL);
    return name ? name : "";
}

/* The object among so many that a finding is about; NULL for none. */
static const struct ek_ci_object *find_object(const struct ek_ci_object *const *list, size_t n,
                                              const struct ek_lint_finding *f)
{
    for (size_t i = 0; i < n; i++)
        if (f->source && !strcmp(list[i]->source, f->source) &&
            !strcmp(ek_lint_name(list[i]), f->policy))
            return list[i];
    return NULL;
}

static const struct ek_ci_object *find_definition(const struct ek_ci *ci,
                                                  const struct ek_lint_finding *f)
{
    for (size_t i = 0; i < ci->objects.n; i++) {
        const struct ek_ci_object *o = &ci->objects.list[i];
        if (ek_ci_is_definition(o) && find_object(&o, 1, f))
            return o;
    }
    return NULL;
}

/* The line of a finding about a policy, a binding or a definition: that of its field. */
static size_t line_of(const struct ek_ci *ci, const struct ek_lint_finding *f)
{
    const struct ek_ci_object *object = f->definition ? find_definition(ci, f)
                                        : f->binding
                                            ? find_object(ci->bindings_from, ci->n_read_bindings, f)
                                            : find_object(ci->compiled_from, ci->n_compiled, f);

    return object ? ek_ci_path_line(object, *f->field ? f->field : "metadata.name") : 0;
}

/* Adds what the version does not know of the objects of the files, and the lines of the rest. */
static int add_fields(struct ek_ci *ci, struct ek_lint_report *report)
{
    struct ek_plan_report *fields = &ci->fields->report;

    say_no_fields(ci, fields);
    struct ek_lint_finding *list =
        ek_arena_try(ci->arena, (report->n + fields->n + 1) * sizeof *list);
    if (!list || ek_arena_exhausted(fields->arena))
        return EK_E_LIMIT;
    if (report->n)
        memcpy(list, report->list, report->n * sizeof *list);
    for (size_t i = 0; i < report->n; i++)
        list[i].source_line = line_of(ci, &list[i]);
    for (size_t i = 0; i < fields->n; i++) {
        const struct ek_plan_finding *f = &fields->list[i];
        enum ek_lint_severity severity = severity_of(f->severity);
        report->n_severity[severity]++;
        list[report->n++] = (struct ek_lint_finding){.severity = severity,
                                                     .rule = f->rule,
                                                     .policy = "",
                                                     .object = f->object,
                                                     .source = *f->source ? f->source : NULL,
                                                     .source_line = f->line,
                                                     .field = f->field,
                                                     .message = f->message};
    }
    report->list = list;
    return 0;
}

int ek_lint_inputs(struct ek_ci *ci, int minor, struct ek_lint_report *ret, struct ek_err *err)
{
    struct ek_lint_policy *policies =
        ek_arena_alloc(ci->arena, (ci->n_compiled + 1) * sizeof *policies);
    const char **sources = ek_arena_alloc(ci->arena, (ci->n_bindings + 1) * sizeof *sources);
    struct ek_obj **objects =
        ek_arena_alloc(ci->arena, (ci->n_bindings + 1) * sizeof(struct ek_obj *));
    struct ek_lint_input input = {.policies = policies,
                                  .n_policies = ci->n_compiled,
                                  .bindings = ci->bindings,
                                  .binding_sources = sources,
                                  .binding_objects = (const struct ek_obj *const *)objects,
                                  .n_bindings = ci->n_read_bindings,
                                  .kubernetes_minor = minor,
                                  .gaps = ek_ci_fields_gaps(ci)};

    struct ek_lint_definition *definitions;
    input.n_definitions = find_definitions(ci, &definitions);
    input.definitions = definitions;
    for (size_t i = 0; i < ci->n_compiled; i++)
        fill(ci, i, &policies[i]);
    for (size_t i = 0; i < input.n_bindings; i++) {
        sources[i] = ci->bindings_from[i]->source;
        objects[i] = ek_obj_from_val(ci->bindings_from[i]->value);
    }
    int rc = ek_lint(&input, ci->arena, ret);
    for (size_t i = 0; i < ci->n_compiled; i++)
        ek_obj_unref((struct ek_obj *)(uintptr_t)policies[i].object);
    for (size_t i = 0; i < input.n_bindings; i++)
        ek_obj_unref(objects[i]);
    if (!rc)
        rc = add_fields(ci, ret);
    return rc ? ek_err_set(err, rc, "the policies cannot be checked: %s", ek_strerror(rc)) : 0;
}
