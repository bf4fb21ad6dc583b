/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/views.h"

#include <string.h>

#include "api/obj.h"

static bool same_kind(const struct ek_gvk *a, const struct ek_gvk *b)
{
    return !strcmp(a->group, b->group) && !strcmp(a->version, b->version) &&
           !strcmp(a->kind, b->kind);
}

static const char *api_version(struct ek_run *run, const struct ek_gvk *kind)
{
    return *kind->group ? ek_arena_printf(run->arena, "%s/%s", kind->group, kind->version)
                        : kind->version;
}

/* Sets a member that is there, where it stands; else adds it. */
static bool put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                yyjson_mut_val *value)
{
    yyjson_mut_val *old = yyjson_mut_obj_get(object, name);

    if (!value || !old)
        return value && yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, name), value);
    old->tag = value->tag;
    old->uni = value->uni;
    return true;
}

static bool put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const char *s)
{
    return put(doc, object, name, yyjson_mut_strcpy(doc, s));
}

/* Counts the values of a document that is copied; false when the time is over. */
static bool count(struct ek_run *run, yyjson_val *root)
{
    return !root || ek_work_do(run->options->work, (uint64_t)(unsafe_yyjson_get_next(root) - root));
}

/* Sets *ret to a copy of object in the version of kind; NULL stays NULL. */
static int convert(struct ek_run *run, yyjson_val *object, const struct ek_gvk *kind,
                   yyjson_doc **ret)
{
    *ret = NULL;
    if (!object)
        return 0;
    if (!count(run, object))
        return EK_E_CANCELED;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *root = doc ? yyjson_val_mut_copy(doc, object) : NULL;
    if (root && put_str(doc, root, "apiVersion", api_version(run, kind)) &&
        put_str(doc, root, "kind", kind->kind)) {
        yyjson_mut_doc_set_root(doc, root);
        *ret = yyjson_mut_doc_imut_copy(doc, &ek_json_alc);
    }
    yyjson_mut_doc_free(doc);
    return *ret ? 0 : EK_E_NOMEM;
}

/* The request as expressions see it: kind and resource are those that were matched. */
static int convert_request(struct ek_run *run, const struct ek_invocation *invocation,
                           yyjson_doc **ret)
{
    static const char *const names[] = {"group", "version", "kind", "group", "version", "resource"};
    const char *const values[] = {invocation->kind.group,       invocation->kind.version,
                                  invocation->kind.kind,        invocation->resource.group,
                                  invocation->resource.version, invocation->resource.resource};
    if (!count(run, run->request->root))
        return EK_E_CANCELED;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *root = doc ? yyjson_val_mut_copy(doc, run->request->root) : NULL;
    bool fine = root != NULL;

    for (size_t part = 0; fine && part < 2; part++) {
        yyjson_mut_val *object = yyjson_mut_obj(doc);
        for (size_t i = 0; fine && i < 3; i++)
            fine = put_str(doc, object, names[3 * part + i], values[3 * part + i]);
        fine = fine && put(doc, root, part ? "resource" : "kind", object);
    }
    if (fine) {
        yyjson_mut_doc_set_root(doc, root);
        *ret = yyjson_mut_doc_imut_copy(doc, &ek_json_alc);
    }
    yyjson_mut_doc_free(doc);
    return *ret ? 0 : EK_E_NOMEM;
}

static struct ek_kind_view *find(struct ek_views *views, const struct ek_gvk *kind)
{
    for (size_t i = 0; i < views->n; i++)
        if (same_kind(&views->list[i].kind, kind))
            return &views->list[i];
    return NULL;
}

static int add(struct ek_views *views, struct ek_run *run, const struct ek_invocation *invocation)
{
    struct ek_kind_view *view = &views->list[views->n++];

    *view = (struct ek_kind_view){.kind = invocation->kind};
    int rc = convert(run, ek_working_object(views->main), &view->kind, &view->object);
    if (!rc)
        rc = convert(run, run->request->old_object, &view->kind, &view->old_object);
    if (!rc)
        rc = convert_request(run, invocation, &view->request);
    ek_working_init(&view->working, yyjson_doc_get_root(view->object));
    return rc;
}

int ek_views_init(struct ek_views *views, struct ek_run *run, struct ek_working *main,
                  struct ek_invocation *invocations, size_t n)
{
    bool foreign = false;
    int rc = 0;

    *views = (struct ek_views){.main = main};
    for (size_t i = 0; i < n && !foreign; i++)
        foreign = !same_kind(&invocations[i].kind, &run->request->kind);
    if (!foreign)
        return 0;
    views->list = ek_arena_try(run->arena, n * sizeof *views->list);
    if (!views->list)
        return EK_E_LIMIT;
    for (size_t i = 0; i < n && !rc; i++)
        if (!find(views, &invocations[i].kind))
            rc = add(views, run, &invocations[i]);
    for (size_t i = 0; i < n && !rc; i++)
        if (!same_kind(&invocations[i].kind, &run->request->kind))
            invocations[i].view = find(views, &invocations[i].kind);
    return rc;
}

struct ek_working *ek_views_working(struct ek_views *views, const struct ek_invocation *invocation,
                                    bool use)
{
    struct ek_kind_view *view = views->n ? find(views, &invocation->kind) : NULL;

    if (use)
        views->last = view;
    return view ? &view->working : views->main;
}

int ek_views_finish(struct ek_views *views, struct ek_run *run)
{
    struct ek_working *result = views->last ? &views->last->working : NULL;
    yyjson_val *base = views->main->base;
    int rc = 0;

    if (result && result->dirty && result->tree) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(result->tree);
        if (!put_str(result->tree, root, "apiVersion", api_version(run, &run->request->kind)))
            rc = EK_E_NOMEM;
        ek_working_done(views->main);
        *views->main = *result;
        yyjson_doc_free(views->main->doc);
        views->main->doc = NULL;
        views->main->base = base;
        views->main->changed = true;
        views->main->checked = false;
        views->main->authored = NULL; /* it is in the other version */
        *result = (struct ek_working){0};
    }
    for (size_t i = 0; i < views->n; i++) {
        ek_working_done(&views->list[i].working);
        yyjson_doc_free(views->list[i].object);
        yyjson_doc_free(views->list[i].old_object);
        yyjson_doc_free(views->list[i].request);
    }
    views->n = 0;
    return rc;
}

const char *ek_view_lost(const struct ek_kind_view *view, struct ek_run *run)
{
    const struct ek_gvk *from = &view->kind, *to = &run->request->kind;

    if (!strcmp(from->group, to->group))
        return ek_arena_printf(run->arena, "converting (%s.%s) to (%s.%s): unknown conversion",
                               from->version, from->kind, to->version, to->kind);
    return ek_arena_printf(run->arena,
                           "%s.%s is not suitable for converting to \"%s\" in scheme "
                           "\"pkg/api/legacyscheme/scheme.go:30\"",
                           from->version, from->kind, api_version(run, to));
}
