/* SPDX-License-Identifier: Apache-2.0 */
/* Objects through the engine, and the report of the run. */
#include <stdio.h>
#include <string.h>

#include "api/patch/jsondiff.h"
#include "controller/manifests/manifests-internal.h"

#define RUN_MEMORY_MAX ((size_t)256 << 20)

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

/* The step that ended the request with an error which no failurePolicy covers; NULL: none did. */
static const struct ek_step *ending_step(const struct ek_mutation_outcome *outcome)
{
    const struct ek_step *last = NULL;

    for (size_t i = 0; i < outcome->n_steps && !outcome->allowed && !outcome->n_causes; i++)
        if (outcome->steps[i].result == EK_STEP_APPLIED)
            last = &outcome->steps[i];
    return last;
}

static void add_step(yyjson_mut_doc *doc, yyjson_mut_val *steps, const struct ek_step *step,
                     bool ends)
{
    /* A second pass over what ran once, as all policies but few have, is not worth a line. */
    if (step->result == EK_STEP_UNMATCHED || (step->result == EK_STEP_SKIPPED && step->pass > 1))
        return;
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, steps), *changes;
    yyjson_mut_obj_add_strcpy(doc, v, "policy", step->bound->policy->name);
    if (!step->bound->assumed)
        yyjson_mut_obj_add_strcpy(doc, v, "binding", step->bound->binding->name);
    if (step->param && *step->param)
        yyjson_mut_obj_add_strcpy(doc, v, "param", step->param);
    yyjson_mut_obj_add_uint(doc, v, "pass", step->pass);
    yyjson_mut_obj_add_str(doc, v, "result", ends ? "denied" : step_name(step));
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

static void add_denial(yyjson_mut_doc *doc, yyjson_mut_val *v,
                       const struct ek_mutation_outcome *outcome,
                       const struct ek_validating_outcome *verdict)
{
    const char *message = outcome->allowed ? verdict->message : outcome->message;

    yyjson_mut_obj_add_strcpy(doc, v, "message", message ? message : "");
    if (outcome->allowed)
        return;
    yyjson_mut_val *causes = yyjson_mut_obj_add_arr(doc, v, "causes");
    for (size_t i = 0; i < outcome->n_causes; i++)
        yyjson_mut_arr_add_strcpy(doc, causes, outcome->causes[i]);
}

/* One object that has been through the policies. */
struct written {
    struct ek_ci *ci;
    const struct ek_mutate_options *options;
    const struct ek_ci_object *file;
    const struct ek_admission_request *request;
};

/* The object as it goes back to its file; after: what policies made of it, without the parts that
 * the write does not store. A Scale is in no file. */
static yyjson_mut_val *for_file(const struct written *w, yyjson_mut_doc *doc, yyjson_val *after)
{
    bool is_file = !strcmp(ek_json_text(w->file->value, "kind"), w->request->kind.kind);
    yyjson_mut_val *object = is_file
                                 ? ek_mutate_carry(doc, w->file->value, w->request->object, after)
                                 : yyjson_val_mut_copy(doc, after);

    /* The namespace that only the request has. */
    yyjson_mut_val *metadata = yyjson_mut_obj_get(object, "metadata");
    if (!ek_json_get(w->file->value, "metadata", "namespace", NULL) &&
        yyjson_mut_equals_str(yyjson_mut_obj_get(metadata, "namespace"), w->request->namespace))
        yyjson_mut_obj_remove_key(metadata, "namespace");
    return object;
}

static void note_unstored(const struct written *w, unsigned unstored)
{
    const char *key = ek_ci_key(w->ci, w->file->value);

    if (unstored & EK_UNSTORED_PART)
        ek_ci_note(w->ci,
                   "%s %s: a write of %s does not store what policies change in the rest of it",
                   w->request->kind.kind, key,
                   *w->request->subresource ? "the status" : "an object with a subresource status");
    if (unstored & EK_UNSTORED_METADATA)
        ek_ci_note(w->ci,
                   "%s %s: what policies change in fields of metadata that API servers set is not "
                   "stored",
                   w->request->kind.kind, key);
    if (unstored & EK_UNSTORED_FIELDS)
        ek_ci_note(w->ci,
                   "%s %s: an API server drops fields that policies set, because the "
                   "CustomResourceDefinition does not declare the fields",
                   w->request->kind.kind, key);
}

/* after: what policies made of the object; NULL for the object without them. */
static yyjson_mut_val *result_of(const struct written *w, yyjson_mut_doc *doc, yyjson_val *after)
{
    yyjson_val *whole = after ? after : w->request->object;

    if (!after && !w->options->as_stored)
        return for_file(w, doc, whole);
    yyjson_mut_val *stored = yyjson_val_mut_copy(doc, whole);
    if (w->options->as_stored) {
        ek_mutate_store(w->ci, w->request, w->request->old_object, doc, stored);
        return stored;
    }
    unsigned unstored = ek_mutate_store(w->ci, w->request, w->request->object, doc, stored);
    if (!unstored)
        return for_file(w, doc, whole);
    note_unstored(w, unstored);
    yyjson_doc *part = yyjson_mut_val_imut_copy(stored, &ek_json_xalc);
    yyjson_mut_val *object = for_file(w, doc, yyjson_doc_get_root(part));
    yyjson_doc_free(part);
    return object;
}

static void add_outcome(const struct written *w, yyjson_mut_doc *doc, yyjson_mut_val *v,
                        const struct ek_mutation_outcome *outcome,
                        const struct ek_validating_outcome *verdict)
{
    bool allowed = outcome->allowed && verdict->allowed;
    yyjson_val *after = outcome->result ? yyjson_doc_get_root(outcome->result) : NULL;
    if (outcome->authored && !w->options->as_stored)
        after = outcome->authored;
    yyjson_mut_val *before = result_of(w, doc, NULL);
    yyjson_mut_val *object = allowed && after ? result_of(w, doc, after) : NULL;
    bool same = !outcome->patch || (object && yyjson_mut_equals(before, object));

    yyjson_mut_obj_add_str(doc, v, "result", !allowed ? "denied" : same ? "unchanged" : "changed");
    if (!allowed)
        add_denial(doc, v, outcome, verdict);
    const struct ek_step *ending = ending_step(outcome);
    yyjson_mut_val *steps = yyjson_mut_obj_add_arr(doc, v, "policies");
    for (size_t i = 0; i < outcome->n_steps; i++)
        add_step(doc, steps, &outcome->steps[i], &outcome->steps[i] == ending);
    ek_mutate_add_validation(doc, v, verdict);
    if (outcome->allowed && !outcome->converged)
        yyjson_mut_obj_add_bool(doc, v, "converged", false);
    add_fights(doc, v, outcome);
    if (outcome->patch)
        yyjson_mut_obj_add_val(
            doc, v, "patch", yyjson_mut_val_mut_copy(doc, yyjson_mut_doc_get_root(outcome->patch)));
    yyjson_mut_obj_add_val(doc, v, "before", before);
    if (object)
        yyjson_mut_obj_add_val(doc, v, "object", object);
}

static void add_name(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_ci_object *object,
                     const struct ek_admission_request *request)
{
    const char *name = ek_json_str(object->value, "metadata", "name", NULL);
    const char *start = ek_json_str(object->value, "metadata", "generateName", NULL);
    /* The kind of a subresource may differ from the kind in the file. */
    const char *api_version = ek_json_str(request->object, "apiVersion", NULL);

    yyjson_mut_obj_add_strcpy(doc, v, "source", object->source);
    yyjson_mut_obj_add_strcpy(doc, v, "apiVersion", api_version ? api_version : "");
    yyjson_mut_obj_add_strcpy(doc, v, "kind", request->kind.kind);
    if (*request->namespace && strcmp(request->kind.kind, "Namespace") != 0)
        yyjson_mut_obj_add_strcpy(doc, v, "namespace", request->namespace);
    yyjson_mut_obj_add_strcpy(doc, v, "name", name ? name : start ? start : "");
    if (*request->subresource)
        yyjson_mut_obj_add_strcpy(doc, v, "subresource", request->subresource);
    yyjson_mut_obj_add_strcpy(doc, v, "operation", request->operation);
}

/* ---- Running ---- */

static int hand_over(const struct written *w, const struct ek_mutation_outcome *outcome,
                     const struct ek_validating_outcome *verdict, ek_mutate_fn fn, void *ctx,
                     struct ek_err *err)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *v = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, v);
    add_name(doc, v, w->file, w->request);
    if (ek_mutate_is_checks(w->options)) /* to find a line takes as long as to read the file */
        yyjson_mut_obj_add_uint(doc, v, "sourceLine", ek_ci_path_line(w->file, "metadata.name"));
    add_outcome(w, doc, v, outcome, verdict);
    yyjson_doc *result = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    ek_json_write_whole(result);
    int rc = result ? fn(ctx, yyjson_doc_get_root(result), err)
                    : ek_err_set(err, EK_E_NOMEM, "no memory");
    yyjson_doc_free(result);
    return rc;
}

/* What comes after the mutations: what is stored is checked by the API server, then by the
 * validating policies (apiserver/pkg/registry/generic/registry/store.go: Create, Update). */
static int judge(struct ek_ci *ci, const struct ek_admission_request *request, yyjson_val *whole,
                 const struct ek_mutation_outcome *outcome, const struct ek_mutation_world *world,
                 struct ek_arena *arena, struct ek_validating_outcome *ret, struct ek_err *err)
{
    yyjson_val *object = outcome->result ? yyjson_doc_get_root(outcome->result) : NULL;
    yyjson_mut_doc *doc;
    int rc = 0;

    if (!object || (!outcome->patch && !ek_ci_crd_of(ci, &request->kind)))
        return ek_mutate_validate(ci, whole, object, world, arena, ret, err);
    doc = ek_json_doc_new();
    yyjson_mut_val *tree = yyjson_val_mut_copy(doc, object);
    ek_mutate_store(ci, request, request->old_object, doc, tree);
    yyjson_doc *stored = yyjson_mut_val_imut_copy(tree, &ek_json_xalc);
    const char *refusal = ek_mutate_refusal(ci, request, yyjson_doc_get_root(stored));
    if (refusal)
        *ret = (struct ek_validating_outcome){.message = refusal};
    else
        rc = ek_mutate_validate(ci, whole, yyjson_doc_get_root(stored), world, arena, ret, err);
    yyjson_doc_free(stored);
    yyjson_mut_doc_free(doc);
    return rc;
}

static int run_object(struct ek_ci *ci, const struct ek_mutate_options *options,
                      const struct ek_mutation_world *world, const struct ek_ci_object *object,
                      ek_mutate_fn fn, void *ctx, struct ek_err *err)
{
    const struct ek_engine_options engine = {.trace = true};
    const struct ek_policy_set set = {ci->bound, ci->n_bound};
    struct ek_mutation_outcome outcome;
    struct ek_admission_request request;
    struct ek_arena *arena;
    yyjson_doc *whole;

    int rc = ek_mutate_request(ci, options, object, &whole, err);
    if (!rc && !whole)
        return 0; /* it has no such subresource, which was noted */
    if (!rc)
        rc = ek_admission_request_read(yyjson_doc_get_root(whole), &request, err);
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
        if (outcome.allowed && outcome.result && outcome.patch)
            ek_ci_fields_check_result(
                ci, request.object,
                &(struct ek_ci_object){.value = yyjson_doc_get_root(outcome.result),
                                       .source = object->source});
        ek_mutate_assume(ci, &request, set.bound, set.n);
        struct ek_validating_outcome verdict = {.allowed = true};
        if (outcome.allowed)
            rc = judge(ci, &request, yyjson_doc_get_root(whole), &outcome, world, arena, &verdict,
                       err);
        if (rc)
            ek_err_prefix(err, "%s: %s", object->source, ek_ci_key(ci, object->value));
        else
            rc = hand_over(&(struct written){ci, options, object, &request}, &outcome, &verdict, fn,
                           ctx, err);
        ek_mutation_outcome_done(&outcome);
    }
    ek_arena_free(arena);
    yyjson_doc_free(whole);
    return rc;
}

int ek_mutate_each(struct ek_ci *ci, const struct ek_mutate_options *options, ek_mutate_fn fn,
                   void *ctx, struct ek_err *err)
{
    struct ek_mutation_world world;
    int rc = 0;

    ek_ci_world(ci, &world);
    for (size_t i = 0; i < ci->objects.n && !rc; i++)
        rc = run_object(ci, options, &world, &ci->objects.list[i], fn, ctx, err);
    return rc;
}
