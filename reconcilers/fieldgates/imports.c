/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/imports.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/fieldgates/annotation.h"

/* A CRD, as it was when its annotation was refused. */
struct refusal {
    char *uid, *resource_version;
};

/* A CRD whose gates are to be made in this run. */
struct todo {
    struct ek_obj *crd; /* owned reference */
    struct ek_obj *obj; /* likewise: the CustomFeatureGates that follows it; NULL: to be made */
    char *refused;      /* why its annotation was refused in this run; NULL: it was not. Owned */
};

struct ek_gates_imports {
    struct refusal *refusals;
    size_t n_refusals;
    /* Of the run. */
    struct todo *todo;
    size_t n_todo, next;
    yyjson_mut_doc *doc;
    yyjson_mut_val *marks; /* data of the ConfigMap, as it is to be */
};

/* ---- Refusals ---- */

static struct refusal *find_refusal(const struct ek_gates_imports *imports,
                                    const struct ek_obj *crd)
{
    for (size_t i = 0; i < imports->n_refusals; i++)
        if (!strcmp(imports->refusals[i].uid, ek_obj_uid(crd)))
            return &imports->refusals[i];
    return NULL;
}

static bool is_refused(const struct ek_gates_imports *imports, const struct ek_obj *crd)
{
    const struct refusal *r = find_refusal(imports, crd);
    return r && !strcmp(r->resource_version, ek_obj_resource_version(crd));
}

static void remember_refusal(struct ek_gates_imports *imports, const struct ek_obj *crd)
{
    struct refusal *r = find_refusal(imports, crd);

    if (!r) {
        if (imports->n_refusals == EK_GATES_IMPORTS_MAX)
            return;
        imports->refusals =
            ek_xrealloc(imports->refusals, imports->n_refusals + 1, sizeof *imports->refusals);
        r = &imports->refusals[imports->n_refusals++];
        *r = (struct refusal){.uid = ek_xstrdup(ek_obj_uid(crd))};
    }
    ek_free(r->resource_version);
    r->resource_version = ek_xstrdup(ek_obj_resource_version(crd));
}

static void refuse(struct ek_gates_imports *imports, struct todo *todo, const char *why)
{
    todo->refused = ek_xstrdup(why);
    remember_refusal(imports, todo->crd);
}

/* ---- Beginning ---- */

static void forget_run(struct ek_gates_imports *imports)
{
    for (size_t i = 0; i < imports->n_todo; i++) {
        ek_obj_unref(imports->todo[i].crd);
        ek_obj_unref(imports->todo[i].obj);
        ek_free(imports->todo[i].refused);
    }
    ek_free(imports->todo);
    imports->todo = NULL;
    imports->n_todo = imports->next = 0;
    yyjson_mut_doc_free(imports->doc);
    imports->doc = NULL;
    imports->marks = NULL;
}

static void mark(struct ek_gates_imports *imports, const struct ek_obj *crd)
{
    yyjson_mut_obj_put(imports->marks, yyjson_mut_strcpy(imports->doc, ek_obj_name(crd)),
                       yyjson_mut_strcpy(imports->doc, ek_obj_uid(crd)));
}

/* An annotation that cannot be read is reported by the status of the object. */
static bool is_followed(const struct ek_obj *crd, const struct ek_obj *obj)
{
    yyjson_doc *spec = NULL;

    if (!ek_obj_annotation(obj, EK_GATES_IMPORTED_ANNOTATION) ||
        ek_gates_import_read(ek_obj_annotation(crd, EK_GATES_ANNOTATION), &spec, NULL))
        return false;
    bool is_new = ek_gates_import_is_new(obj, yyjson_doc_get_root(spec));
    yyjson_doc_free(spec);
    return is_new;
}

static void add_todo(struct ek_gates_imports *imports, const struct ek_obj *crd,
                     const struct ek_obj *obj)
{
    if (!is_refused(imports, crd))
        imports->todo[imports->n_todo++] =
            (struct todo){.crd = ek_obj_ref(crd), .obj = ek_obj_ref(obj)};
}

static void consider(struct ek_gates_imports *imports, const struct ek_obj *crd,
                     const struct ek_gated_kinds *kinds, yyjson_val *known)
{
    const char *name = ek_obj_name(crd);
    const struct ek_gated_kind *kind = ek_gated_kinds_find(kinds, name);
    bool is_known = yyjson_equals_str(yyjson_obj_get(known, name), ek_obj_uid(crd));

    if (is_known || kind)
        mark(imports, crd);
    if (kind && is_followed(crd, kind->obj))
        add_todo(imports, crd, kind->obj);
    else if (!is_known && !kind)
        add_todo(imports, crd, NULL);
}

/* Marks of CRDs that are gone, or without the annotation, are not kept. */
void ek_gates_imports_begin(struct ek_gates_imports *imports, struct ek_obj *const *crds, size_t n,
                            const struct ek_gated_kinds *kinds, yyjson_val *known)
{
    size_t found = 0;

    forget_run(imports);
    imports->doc = ek_json_doc_new();
    imports->marks = yyjson_mut_obj(imports->doc);
    imports->todo = ek_xalloc((n + 1) * sizeof *imports->todo);
    for (size_t i = 0; i < n && found < EK_GATES_IMPORTS_MAX; i++) {
        if (!ek_obj_annotation(crds[i], EK_GATES_ANNOTATION) ||
            ek_json_str(ek_obj_root(crds[i]), "metadata", "deletionTimestamp", NULL))
            continue;
        found++;
        consider(imports, crds[i], kinds, known);
    }
}

/* ---- Creating ---- */

static void plan_event(const struct ek_obj *crd, bool warning, const char *reason, const char *note,
                       struct ek_intents *intents, bool depends)
{
    struct ek_event event = {
        .regarding = {.api_version = "apiextensions.k8s.io/v1",
                      .kind = "CustomResourceDefinition",
                      .name = ek_obj_name(crd),
                      .uid = ek_obj_uid(crd),
                      .resource_version = ek_obj_resource_version(crd)},
        .warning = warning,
        .reason = reason,
        .action = "Import",
        .note = note,
    };
    ek_intents_event(intents, &event)->depends = depends;
}

static void plan_follow(struct todo *todo, yyjson_val *spec, const struct ek_resource *resource,
                        struct ek_intents *intents)
{
    struct ek_apply_target target = {.resource = resource,
                                     .name = ek_obj_name(todo->obj),
                                     .uid = ek_obj_uid(todo->obj),
                                     .resource_version = ek_obj_resource_version(todo->obj)};
    yyjson_mut_val *content = ek_gates_import_patch(todo->obj, spec, ek_intents_doc(intents));

    ek_intents_patch(intents, &target, content)->tag = EK_GATES_TAG_IMPORT;
    plan_event(todo->crd, false, "GatesFollowed",
               "Updated the CustomFeatureGates from the annotation " EK_GATES_ANNOTATION
               "; enabled, failurePolicy and onDisabled are unchanged",
               intents, true);
}

static void plan_create(struct todo *todo, yyjson_val *spec, const struct ek_resource *resource,
                        struct ek_intents *intents)
{
    struct ek_apply_target target = {.resource = resource, .name = ek_obj_name(todo->crd)};
    yyjson_mut_val *content = ek_gates_import_content(spec, ek_intents_doc(intents));

    ek_intents_create(intents, &target, content)->tag = EK_GATES_TAG_IMPORT;
    plan_event(todo->crd, false, "GatesImported",
               "Created the CustomFeatureGates from the annotation " EK_GATES_ANNOTATION
               "; the object is in effect, and follows the annotation while nobody else changes "
               "its gates",
               intents, true);
}

static void plan_import(struct ek_gates_imports *imports, struct todo *todo,
                        const struct ek_resource *resource, struct ek_intents *intents)
{
    const char *text = ek_obj_annotation(todo->crd, EK_GATES_ANNOTATION);
    struct ek_err err = {0};
    yyjson_doc *spec = NULL;

    if (ek_gates_import_read(text, &spec, &err)) {
        refuse(imports, todo, err.message);
        return;
    }
    if (todo->obj)
        plan_follow(todo, yyjson_doc_get_root(spec), resource, intents);
    else
        plan_create(todo, yyjson_doc_get_root(spec), resource, intents);
    yyjson_doc_free(spec);
    ek_intents_weigh(intents, strlen(text));
}

bool ek_gates_imports_plan(struct ek_gates_imports *imports, const struct ek_resource *resource,
                           struct ek_intents *intents)
{
    while (imports->next < imports->n_todo && !ek_intents_is_full(intents))
        plan_import(imports, &imports->todo[imports->next++], resource, intents);
    return imports->next < imports->n_todo;
}

void ek_gates_imports_answered(struct ek_gates_imports *imports, const char *name,
                               struct ek_err *err)
{
    for (size_t i = 0; i < imports->n_todo; i++) {
        struct todo *todo = &imports->todo[i];
        if (strcmp(ek_obj_name(todo->crd), name) != 0)
            continue;
        if (!err->code) {
            mark(imports, todo->crd);
        } else if (ek_apply_classify(err) == EK_APPLY_TERMINAL) {
            refuse(imports, todo, err->message);
            *err = (struct ek_err){0};
        } else if (err->code == EK_E_CONFLICT) { /* the run that the watch starts patches again */
            *err = (struct ek_err){0};
        }
        return;
    }
}

/* ---- Ending ---- */

static bool marks_are_current(const struct ek_gates_imports *imports, yyjson_val *known)
{
    struct ek_obj *marks = ek_obj_from_mut(imports->marks);
    bool same = marks && (known ? ek_json_equal(ek_obj_root(marks), known)
                                : yyjson_mut_obj_size(imports->marks) == 0);
    ek_obj_unref(marks);
    return same;
}

void ek_gates_imports_finish(struct ek_gates_imports *imports, const struct ek_resource *resource,
                             yyjson_val *known, struct ek_intents *intents)
{
    struct ek_apply_target target = {.resource = resource, .name = EK_GATES_IMPORTS_NAME};
    yyjson_mut_doc *doc = ek_intents_doc(intents);

    for (size_t i = 0; i < imports->n_todo; i++) {
        const struct todo *todo = &imports->todo[i];
        if (!todo->refused)
            continue;
        EK_AUTOFREE char *note = ek_xasprintf("%s: %s",
                                              todo->obj ? "The annotation is not followed"
                                                        : "No CustomFeatureGates was made",
                                              todo->refused);
        plan_event(todo->crd, true, "GatesNotImported", note, intents, false);
    }
    if (imports->marks && !marks_are_current(imports, known)) {
        yyjson_mut_val *content = yyjson_mut_obj(doc);
        yyjson_mut_obj_add_val(doc, content, "data", yyjson_mut_val_mut_copy(doc, imports->marks));
        ek_intents_apply(intents, &target, content)->tag = EK_GATES_TAG_MARKS;
    }
    forget_run(imports);
}

/* ---- Life ---- */

struct ek_gates_imports *ek_gates_imports_new(void)
{
    return ek_xalloc(sizeof(struct ek_gates_imports));
}

void ek_gates_imports_free(struct ek_gates_imports *imports)
{
    if (!imports)
        return;
    forget_run(imports);
    for (size_t i = 0; i < imports->n_refusals; i++) {
        ek_free(imports->refusals[i].uid);
        ek_free(imports->refusals[i].resource_version);
    }
    ek_free(imports->refusals);
    ek_free(imports);
}
