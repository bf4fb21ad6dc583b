/* SPDX-License-Identifier: Apache-2.0 */
/* Results of mutations through validating policies, and what these say in the report. */
#include <string.h>

#include "controller/manifests/manifests-internal.h"

/* What the API server appends to metadata.generateName before validation is not known here. */
#define GENERATED "xxxxx"

static const char *result_name(enum ek_validating_result result)
{
    static const char *const names[] = {
        [EK_VALIDATING_PASSED] = "passed",           [EK_VALIDATING_SKIPPED] = "skipped",
        [EK_VALIDATING_IGNORED] = "failed, ignored", [EK_VALIDATING_AUDITED] = "audited",
        [EK_VALIDATING_WARNED] = "warned",           [EK_VALIDATING_DENIED] = "denied",
    };
    return names[result];
}

/* ---- Running ---- */

/* Names are generated between mutation and validation: policies see some name. */
static void add_generated_name(struct ek_ci *ci, yyjson_mut_doc *doc, yyjson_mut_val *request,
                               yyjson_mut_val *object)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(object, "metadata");
    const char *start = yyjson_mut_get_str(yyjson_mut_obj_get(metadata, "generateName"));
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(metadata, "name"));

    if (!start || !*start || (name && *name))
        return;
    const char *made = ek_arena_printf(ci->arena, "%s" GENERATED, start);
    yyjson_mut_obj_remove_key(metadata, "name");
    yyjson_mut_obj_add_strcpy(doc, metadata, "name", made);
    yyjson_mut_obj_remove_key(request, "name");
    yyjson_mut_obj_add_strcpy(doc, request, "name", made);
    ek_ci_note(ci,
               "the name of an object with generateName %s is taken to be %s for validating "
               "policies",
               start, made);
}

static yyjson_doc *whole_request(struct ek_ci *ci, yyjson_val *request, yyjson_val *object)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, request);
    yyjson_mut_val *mutated =
        yyjson_val_mut_copy(doc, object ? object : yyjson_obj_get(request, "object"));

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_remove_key(root, "object");
    yyjson_mut_obj_add_val(doc, root, "object", mutated);
    add_generated_name(ci, doc, root, mutated);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

/* Says that fields of another version were not converted. */
static void note_conversions(struct ek_ci *ci, const struct ek_admission_request *request,
                             const struct ek_validating_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_steps; i++)
        if (outcome->steps[i].converted)
            ek_ci_note(ci,
                       "policy %s matches %s %s in another version: of the object only the "
                       "apiVersion is converted",
                       outcome->steps[i].bound->policy->name, request->kind.version,
                       request->kind.kind);
}

int ek_mutate_validate(struct ek_ci *ci, yyjson_val *request, yyjson_val *object,
                       const struct ek_mutation_world *world, struct ek_arena *arena,
                       struct ek_validating_outcome *ret, struct ek_err *err)
{
    const struct ek_policy_set set = {ci->validating, ci->n_validating};
    struct ek_admission_request read;

    *ret = (struct ek_validating_outcome){.allowed = true};
    if (!set.n)
        return 0;
    yyjson_doc *whole = whole_request(ci, request, object);
    int rc = whole ? ek_admission_request_read(yyjson_doc_get_root(whole), &read, err)
                   : ek_err_set(err, EK_E_NOMEM, "no memory");
    if (!rc) {
        rc = ek_validating_run(&set, &read, world, &(struct ek_engine_options){0}, arena, ret);
        if (rc)
            ek_err_set(err, rc, "the validating policies could not be run: %s", ek_strerror(rc));
    }
    if (!rc) {
        note_conversions(ci, &read, ret);
        ek_mutate_assume(ci, &read, set.bound, set.n);
    }
    yyjson_doc_free(whole);
    return rc;
}

/* ---- The report ---- */

static void add_step(yyjson_mut_doc *doc, yyjson_mut_val *list,
                     const struct ek_validating_step *step)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, v, "policy", step->bound->policy->name);
    if (!step->bound->assumed)
        yyjson_mut_obj_add_strcpy(doc, v, "binding", step->bound->binding->name);
    if (*step->param)
        yyjson_mut_obj_add_strcpy(doc, v, "param", step->param);
    yyjson_mut_obj_add_str(doc, v, "result", result_name(step->result));
    if (step->message)
        yyjson_mut_obj_add_strcpy(doc, v, "message", step->message);
}

void ek_mutate_add_validation(yyjson_mut_doc *doc, yyjson_mut_val *result,
                              const struct ek_validating_outcome *outcome)
{
    yyjson_mut_val *list;

    if (outcome->n_steps) {
        list = yyjson_mut_obj_add_arr(doc, result, "validations");
        for (size_t i = 0; i < outcome->n_steps; i++)
            add_step(doc, list, &outcome->steps[i]);
    }
    if (outcome->n_warnings) {
        list = yyjson_mut_obj_add_arr(doc, result, "warnings");
        for (size_t i = 0; i < outcome->n_warnings; i++)
            yyjson_mut_arr_add_strcpy(doc, list, outcome->warnings[i]);
    }
    if (outcome->n_annotations) {
        list = yyjson_mut_obj_add_obj(doc, result, "auditAnnotations");
        for (size_t i = 0; i < outcome->n_annotations; i++)
            yyjson_mut_obj_add(list, yyjson_mut_strcpy(doc, outcome->annotations[i].key),
                               yyjson_mut_strcpy(doc, outcome->annotations[i].value));
    }
}
