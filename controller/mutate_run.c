/* SPDX-License-Identifier: Apache-2.0 */
/* Objects through the engine, and the report of what it did. */
#include <stdio.h>
#include <string.h>

#include "api/patch/jsondiff.h"
#include "controller/ci-internal.h"

#define RUN_MEMORY_MAX ((size_t)256 << 20)

static yyjson_val *find_old(struct ek_ci *ci, yyjson_val *object)
{
    const char *key = ek_ci_key(ci, object);
    const char *kind = ek_json_str(object, "kind", NULL);
    const char *api_version = ek_json_str(object, "apiVersion", NULL);

    for (size_t i = 0; i < ci->old.n; i++) {
        yyjson_val *v = ci->old.list[i].value;
        const char *its_kind = ek_json_str(v, "kind", NULL);
        const char *its_version = ek_json_str(v, "apiVersion", NULL);
        if (its_kind && kind && !strcmp(its_kind, kind) && its_version && api_version &&
            !strcmp(its_version, api_version) && !strcmp(ek_ci_key(ci, v), key))
            return v;
    }
    return NULL;
}

static void add_kind(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name,
                     const struct ek_gvk *kind, const char *resource)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, root, name);

    yyjson_mut_obj_add_strcpy(doc, v, "group", kind->group);
    yyjson_mut_obj_add_strcpy(doc, v, "version", kind->version);
    yyjson_mut_obj_add_strcpy(doc, v, resource ? "resource" : "kind",
                              resource ? resource : kind->kind);
}

static void add_user(yyjson_mut_doc *doc, yyjson_mut_val *root,
                     const struct ek_mutate_options *options)
{
    yyjson_mut_val *user = yyjson_mut_obj_add_obj(doc, root, "userInfo");

    yyjson_mut_obj_add_strcpy(doc, user, "username", options->user);
    yyjson_mut_val *groups = yyjson_mut_obj_add_arr(doc, user, "groups");
    for (size_t i = 0; i < options->groups.n; i++)
        yyjson_mut_arr_add_strcpy(doc, groups, options->groups.items[i]);
    if (!options->groups.n)
        yyjson_mut_arr_add_str(doc, groups, "system:authenticated");
}

/* The object as an API server would hand it on: in its namespace. */
static yyjson_mut_val *placed(yyjson_mut_doc *doc, yyjson_val *object, const char *namespace)
{
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, object);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(copy, "metadata");

    if (!metadata)
        metadata = yyjson_mut_obj_add_obj(doc, copy, "metadata");
    if (*namespace && yyjson_mut_is_obj(metadata) && !yyjson_mut_obj_get(metadata, "namespace"))
        yyjson_mut_obj_add_strcpy(doc, metadata, "namespace", namespace);
    return copy;
}

static yyjson_doc *make_request(struct ek_ci *ci, const struct ek_mutate_options *options,
                                const struct ek_ci_object *object)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    struct ek_gvk kind = ek_ci_kind_of(ci, object->value);
    const char *namespace = ek_json_str(object->value, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object->value, "metadata", "name", NULL);
    yyjson_val *old = find_old(ci, object->value);
    struct ek_ci_resource r;

    if (!ek_ci_resource_of(ci, &kind, namespace != NULL, &r))
        ek_ci_note(ci,
                   "%s%s%s %s is not known: its resource is taken to be \"%s\"; give its "
                   "CustomResourceDefinition with -f",
                   kind.group, *kind.group ? "/" : "", kind.version, kind.kind,
                   r.resource.resource);
    namespace = !r.namespaced ? "" : namespace && *namespace ? namespace : "default";
    bool update = *options->operation ? !strcmp(options->operation, "UPDATE") : old != NULL;
    if (update && !old) {
        ek_ci_note(ci, "an updated object without one in --old is taken to be as it was before");
        old = object->value;
    }
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "uid", "00000000-0000-0000-0000-000000000000");
    add_kind(doc, root, "kind", &kind, NULL);
    add_kind(doc, root, "resource", &kind, r.resource.resource);
    add_kind(doc, root, "requestKind", &kind, NULL);
    add_kind(doc, root, "requestResource", &kind, r.resource.resource);
    if (name)
        yyjson_mut_obj_add_strcpy(doc, root, "name", name);
    if (*namespace || !strcmp(kind.kind, "Namespace"))
        yyjson_mut_obj_add_strcpy(doc, root, "namespace", *namespace ? namespace : name);
    yyjson_mut_obj_add_str(doc, root, "operation", update ? "UPDATE" : "CREATE");
    add_user(doc, root, options);
    yyjson_mut_obj_add_val(doc, root, "object", placed(doc, object->value, namespace));
    yyjson_mut_obj_add_val(doc, root, "oldObject",
                           update ? placed(doc, old, namespace) : yyjson_mut_null(doc));
    yyjson_mut_obj_add_bool(doc, root, "dryRun", true);
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return whole;
}

/* ---- The report ---- */

static const char *step_name(const struct ek_step *step)
{
    switch (step->result) {
    case EK_STEP_SKIPPED:
        return "skipped";
    case EK_STEP_IGNORED:
        return "failed, ignored";
    case EK_STEP_DENIED:
        return "denied";
    case EK_STEP_OBSERVED:
        return "observed";
    case EK_STEP_APPLIED:
        return step->n_changes ? "changed" : "unchanged";
    default:
        return "unmatched";
    }
}

static void add_value(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, yyjson_val *value)
{
    if (value)
        yyjson_mut_obj_add_val(doc, to, name, yyjson_val_mut_copy(doc, value));
}

static void add_step(yyjson_mut_doc *doc, yyjson_mut_val *steps, const struct ek_step *step)
{
    /* A second pass over what ran once, as all policies but few have, is not worth a line. */
    if (step->result == EK_STEP_UNMATCHED || (step->result == EK_STEP_SKIPPED && step->pass > 1))
        return;
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, steps), *changes;
    yyjson_mut_obj_add_strcpy(doc, v, "policy", step->bound->policy->name);
    if (strcmp(step->bound->binding->name, "none") != 0)
        yyjson_mut_obj_add_strcpy(doc, v, "binding", step->bound->binding->name);
    if (step->param && *step->param)
        yyjson_mut_obj_add_strcpy(doc, v, "param", step->param);
    yyjson_mut_obj_add_uint(doc, v, "pass", step->pass);
    yyjson_mut_obj_add_str(doc, v, "result", step_name(step));
    if (step->message)
        yyjson_mut_obj_add_strcpy(doc, v, "message", step->message);
    if (!step->n_changes)
        return;
    changes = yyjson_mut_obj_add_arr(doc, v, "changes");
    for (size_t i = 0; i < step->n_changes; i++) {
        yyjson_mut_val *c = yyjson_mut_arr_add_obj(doc, changes);
        yyjson_mut_obj_add_strcpy(doc, c, "path", step->changes[i].path);
        add_value(doc, c, "before", step->changes[i].before);
        add_value(doc, c, "after", step->changes[i].after);
        yyjson_mut_val *mutations = yyjson_mut_obj_add_arr(doc, c, "mutations");
        for (size_t k = 0; k < step->changes[i].n_mutations; k++)
            yyjson_mut_arr_add_uint(doc, mutations, step->changes[i].mutations[k]);
    }
}

static void add_fights(yyjson_mut_doc *doc, yyjson_mut_val *to,
                       const struct ek_mutation_outcome *outcome)
{
    if (!outcome->n_fights)
        return;
    yyjson_mut_val *fights = yyjson_mut_obj_add_arr(doc, to, "fights");
    for (size_t i = 0; i < outcome->n_fights; i++) {
        const struct ek_fight *f = &outcome->fights[i];
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, fights);
        yyjson_mut_obj_add_strcpy(doc, v, "path", f->path);
        yyjson_mut_val *parties = yyjson_mut_obj_add_arr(doc, v, "parties");
        for (size_t j = 0; j < f->n; j++) {
            yyjson_mut_val *party = yyjson_mut_arr_add_obj(doc, parties);
            yyjson_mut_obj_add_strcpy(doc, party, "policy", f->parties[j]->name);
            add_value(doc, party, "value", f->values ? f->values[j] : NULL);
        }
    }
}

static void add_outcome(yyjson_mut_doc *doc, yyjson_mut_val *v,
                        const struct ek_mutation_outcome *outcome,
                        const struct ek_admission_request *request)
{
    const char *result = !outcome->allowed ? "denied" : outcome->patch ? "changed" : "unchanged";

    yyjson_mut_obj_add_str(doc, v, "result", result);
    if (!outcome->allowed) {
        yyjson_mut_obj_add_strcpy(doc, v, "message", outcome->message ? outcome->message : "");
        yyjson_mut_val *causes = yyjson_mut_obj_add_arr(doc, v, "causes");
        for (size_t i = 0; i < outcome->n_causes; i++)
            yyjson_mut_arr_add_strcpy(doc, causes, outcome->causes[i]);
    }
    yyjson_mut_val *steps = yyjson_mut_obj_add_arr(doc, v, "policies");
    for (size_t i = 0; i < outcome->n_steps; i++)
        add_step(doc, steps, &outcome->steps[i]);
    if (outcome->allowed && !outcome->converged)
        yyjson_mut_obj_add_bool(doc, v, "converged", false);
    add_fights(doc, v, outcome);
    if (outcome->patch)
        yyjson_mut_obj_add_val(
            doc, v, "patch", yyjson_mut_val_mut_copy(doc, yyjson_mut_doc_get_root(outcome->patch)));
    add_value(doc, v, "before", request->object);
    if (outcome->allowed && outcome->result)
        add_value(doc, v, "object", yyjson_doc_get_root(outcome->result));
}

/* ---- Running ---- */

static int run_object(struct ek_ci *ci, const struct ek_mutate_options *options,
                      const struct ek_mutation_world *world, const struct ek_ci_object *object,
                      yyjson_mut_doc *doc, yyjson_mut_val *to, bool *ret_bad, struct ek_err *err)
{
    const struct ek_engine_options engine = {.trace = true};
    const struct ek_policy_set set = {ci->bound, ci->n_bound};
    struct ek_mutation_outcome outcome;
    struct ek_admission_request request;
    struct ek_arena *arena;
    yyjson_doc *whole = make_request(ci, options, object);

    int rc = whole ? ek_admission_request_read(yyjson_doc_get_root(whole), &request, err)
                   : ek_err_set(err, EK_E_NOMEM, "no memory");
    if (rc) {
        ek_err_prefix(err, "%s: %s", object->source, ek_ci_key(ci, object->value));
        yyjson_doc_free(whole);
        return rc;
    }
    arena = ek_arena_new(RUN_MEMORY_MAX);
    rc = ek_engine_run(&set, &request, world, &engine, arena, &outcome);
    if (rc) {
        ek_err_set(err, rc, "%s: %s: the policies could not be run: %s", object->source,
                   ek_ci_key(ci, object->value), ek_strerror(rc));
    } else {
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, to);
        yyjson_mut_obj_add_strcpy(doc, v, "source", object->source);
        yyjson_mut_obj_add_strcpy(doc, v, "apiVersion",
                                  ek_json_str(object->value, "apiVersion", NULL));
        yyjson_mut_obj_add_strcpy(doc, v, "kind", request.kind.kind);
        if (*request.namespace && strcmp(request.kind.kind, "Namespace") != 0)
            yyjson_mut_obj_add_strcpy(doc, v, "namespace", request.namespace);
        const char *name = ek_json_str(object->value, "metadata", "name", NULL);
        const char *start = ek_json_str(object->value, "metadata", "generateName", NULL);
        yyjson_mut_obj_add_strcpy(doc, v, "name", name ? name : start ? start : "");
        yyjson_mut_obj_add_strcpy(doc, v, "operation", request.operation);
        add_outcome(doc, v, &outcome, &request);
        *ret_bad = *ret_bad || !outcome.allowed;
        ek_mutation_outcome_done(&outcome);
    }
    ek_arena_free(arena);
    yyjson_doc_free(whole);
    return rc;
}

yyjson_doc *ek_mutate_report(struct ek_ci *ci, const struct ek_mutate_options *options,
                             bool *ret_bad, struct ek_err *err)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *objects = yyjson_mut_obj_add_arr(doc, root, "objects");
    struct ek_mutation_world world;
    int rc = 0;

    *ret_bad = false;
    yyjson_mut_doc_set_root(doc, root);
    ek_ci_world(ci, &world);
    for (size_t i = 0; i < ci->objects.n && !rc; i++)
        rc = run_object(ci, options, &world, &ci->objects.list[i], doc, objects, ret_bad, err);
    yyjson_mut_obj_add_val(doc, root, "notes", yyjson_mut_val_mut_copy(doc, ci->notes));
    yyjson_doc *report = rc ? NULL : yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return report;
}
