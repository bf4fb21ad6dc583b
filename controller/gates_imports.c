/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_imports.h"

#include "api/mem.h"
#include "controller/apply.h"
#include "reconcilers/fieldgates/gates.h"
#include "reconcilers/fieldgates/import.h"

/* A CRD, as it was when its annotation was refused. */
struct refusal {
    char *uid, *resource_version;
};

struct ek_gates_imports {
    struct ek_client *client;
    const struct ek_gates_watch *watch;
    struct ek_recorder *recorder;
    struct ek_log *log;
    struct refusal *refusals;
    size_t n_refusals;
    /* Of the run under way. */
    struct ek_apply *apply;
    struct ek_obj **todo; /* CRDs whose gates are to be made; owned references */
    size_t n_todo, next;
    yyjson_mut_doc *doc;
    yyjson_mut_val *marks; /* data of the ConfigMap, as it is to be */
    struct ek_err failure;
    void (*on_done)(void *ctx, const struct ek_err *err);
    void *ctx;
};

/* ---- What is known ---- */

static yyjson_val *known_marks(const struct ek_gates_imports *imports)
{
    const struct ek_obj *obj = ek_gates_watch_only(imports->watch, EK_GATES_IMPORTS);
    return obj ? yyjson_obj_get(ek_obj_root(obj), "data") : NULL;
}

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

/* ---- Telling ---- */

static void tell(struct ek_gates_imports *imports, const struct ek_obj *crd, bool warning,
                 const char *reason, const char *note)
{
    struct ek_event event = {
        .regarding = {.api_version = "apiextensions.k8s.io/v1",
                      .kind = "CustomResourceDefinition",
                      .namespace = "",
                      .name = ek_obj_name(crd),
                      .uid = ek_obj_uid(crd),
                      .resource_version = ek_obj_resource_version(crd)},
        .warning = warning,
        .reason = reason,
        .action = "Import",
        .note = note,
    };

    if (imports->recorder)
        ek_recorder_record(imports->recorder, &event);
    if (imports->log)
        ek_log_info(imports->log, "Importing gates of an annotation", EK_S("crd", ek_obj_name(crd)),
                    EK_S("reason", reason), EK_S("note", note));
}

static void tell_refusal(struct ek_gates_imports *imports, const struct ek_obj *crd,
                         const char *why)
{
    EK_AUTOFREE char *note = ek_xasprintf("No CustomFeatureGates was made: %s", why);

    tell(imports, crd, true, "GatesNotImported", note);
    remember_refusal(imports, crd);
}

/* ---- Planning ---- */

static void mark(struct ek_gates_imports *imports, const struct ek_obj *crd)
{
    yyjson_mut_obj_put(imports->marks, yyjson_mut_strcpy(imports->doc, ek_obj_name(crd)),
                       yyjson_mut_strcpy(imports->doc, ek_obj_uid(crd)));
}

static void plan_one(struct ek_gates_imports *imports, const struct ek_obj *crd)
{
    const struct ek_store *gates = ek_gates_watch_store(imports->watch, EK_GATES_OBJECTS);
    const char *known = ek_json_str(known_marks(imports), ek_obj_name(crd), NULL);

    if ((known && !strcmp(known, ek_obj_uid(crd))) || ek_store_get(gates, ek_obj_name(crd)))
        mark(imports, crd);
    else if (!is_refused(imports, crd))
        imports->todo[imports->n_todo++] = ek_obj_ref(crd);
}

/* Marks of CRDs that are gone, or without the annotation, are not kept. */
static void plan(struct ek_gates_imports *imports)
{
    size_t n, found = 0;
    struct ek_obj **crds =
        ek_store_snapshot(ek_gates_watch_store(imports->watch, EK_GATES_CRDS), &n);

    imports->doc = ek_json_doc_new();
    imports->marks = yyjson_mut_obj(imports->doc);
    imports->todo = ek_xalloc((n + 1) * sizeof(struct ek_obj *));
    for (size_t i = 0; i < n && found < EK_GATES_IMPORTS_MAX; i++) {
        if (!ek_obj_annotation(crds[i], EK_GATES_ANNOTATION) ||
            ek_json_str(ek_obj_root(crds[i]), "metadata", "deletionTimestamp", NULL))
            continue;
        found++;
        plan_one(imports, crds[i]);
    }
    ek_snapshot_free(crds, n);
}

static bool marks_are_current(const struct ek_gates_imports *imports)
{
    struct ek_obj *wanted = ek_obj_from_mut(imports->marks);
    yyjson_val *known = known_marks(imports);
    bool same = wanted && (known ? ek_json_equal(ek_obj_root(wanted), known)
                                 : yyjson_mut_obj_size(imports->marks) == 0);
    ek_obj_unref(wanted);
    return same;
}

/* ---- Doing ---- */

static void forget_run(struct ek_gates_imports *imports)
{
    for (size_t i = 0; i < imports->n_todo; i++)
        ek_obj_unref(imports->todo[i]);
    ek_free(imports->todo);
    imports->todo = NULL;
    imports->n_todo = imports->next = 0;
    yyjson_mut_doc_free(imports->doc);
    imports->doc = NULL;
    imports->marks = NULL;
}

static void end(struct ek_gates_imports *imports)
{
    struct ek_err failure = imports->failure;

    forget_run(imports);
    imports->on_done(imports->ctx, failure.code ? &failure : NULL);
}

static void on_marked(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_gates_imports *imports = ctx;

    (void)obj;
    imports->apply = NULL;
    if (err && !imports->failure.code)
        imports->failure = *err;
    end(imports);
}

static void write_marks(struct ek_gates_imports *imports)
{
    struct ek_apply_target target = {.resource =
                                         ek_gates_watch_resource(imports->watch, EK_GATES_IMPORTS),
                                     .name = EK_GATES_IMPORTS_NAME};
    yyjson_mut_val *content = yyjson_mut_obj(imports->doc);

    yyjson_mut_obj_add_val(imports->doc, content, "data", imports->marks);
    imports->apply = ek_apply_object(imports->client, &target, content, on_marked, imports);
}

static void create_next(struct ek_gates_imports *imports);

static void on_created(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_gates_imports *imports = ctx;
    const struct ek_obj *crd = imports->todo[imports->next++];

    imports->apply = NULL;
    if (!err) {
        mark(imports, crd);
        if (obj)
            tell(imports, crd, false, "GatesImported",
                 "Made a CustomFeatureGates of the annotation " EK_GATES_ANNOTATION
                 "; from now on that object counts, and not the annotation");
    } else if (ek_apply_classify(err) == EK_APPLY_TERMINAL) {
        tell_refusal(imports, crd, err->message);
    } else if (!imports->failure.code) {
        imports->failure = *err;
    }
    create_next(imports);
}

/* NULL when the annotation cannot be read. Owned. */
static yyjson_mut_doc *make_object(const struct ek_obj *crd, yyjson_mut_val **ret_content,
                                   struct ek_err *err)
{
    yyjson_doc *spec = NULL;
    yyjson_mut_doc *doc;

    if (ek_gates_import_read(ek_obj_annotation(crd, EK_GATES_ANNOTATION), &spec, err))
        return NULL;
    doc = ek_json_doc_new();
    *ret_content = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_val(doc, *ret_content, "spec",
                           yyjson_val_mut_copy(doc, yyjson_doc_get_root(spec)));
    yyjson_doc_free(spec);
    return doc;
}

static void create_next(struct ek_gates_imports *imports)
{
    while (imports->next < imports->n_todo) {
        const struct ek_obj *crd = imports->todo[imports->next];
        struct ek_apply_target target = {
            .resource = ek_gates_watch_resource(imports->watch, EK_GATES_OBJECTS),
            .name = ek_obj_name(crd)};
        yyjson_mut_val *content;
        struct ek_err err = {0};
        yyjson_mut_doc *doc = make_object(crd, &content, &err);
        if (doc) {
            imports->apply =
                ek_apply_create(imports->client, &target, content, on_created, imports);
            yyjson_mut_doc_free(doc);
            return;
        }
        tell_refusal(imports, crd, err.message);
        imports->next++;
    }
    write_marks(imports);
}

/* What was done must be known, or it would be done again. */
static bool may_run(const struct ek_gates_imports *imports)
{
    const struct ek_informer *informer = ek_gates_watch_informer(imports->watch, EK_GATES_IMPORTS);
    struct ek_informer_status status;

    if (!informer || !ek_gates_watch_is_served(imports->watch))
        return false;
    ek_informer_status(informer, &status);
    return status.synced;
}

bool ek_gates_imports_run(struct ek_gates_imports *imports,
                          void (*on_done)(void *ctx, const struct ek_err *err), void *ctx)
{
    if (!may_run(imports))
        return false;
    plan(imports);
    if (imports->n_todo == 0 && marks_are_current(imports)) {
        forget_run(imports);
        return false;
    }
    imports->failure = (struct ek_err){0};
    imports->on_done = on_done;
    imports->ctx = ctx;
    create_next(imports);
    return true;
}

/* ---- Life ---- */

struct ek_gates_imports *ek_gates_imports_new(struct ek_client *client,
                                              const struct ek_gates_watch *watch,
                                              struct ek_recorder *recorder, struct ek_log *log)
{
    struct ek_gates_imports *imports = ek_xalloc(sizeof *imports);

    imports->client = client;
    imports->watch = watch;
    imports->recorder = recorder;
    imports->log = log;
    return imports;
}

void ek_gates_imports_free(struct ek_gates_imports *imports)
{
    if (!imports)
        return;
    ek_apply_cancel(imports->apply);
    forget_run(imports);
    for (size_t i = 0; i < imports->n_refusals; i++) {
        ek_free(imports->refusals[i].uid);
        ek_free(imports->refusals[i].resource_version);
    }
    ek_free(imports->refusals);
    ek_free(imports);
}
