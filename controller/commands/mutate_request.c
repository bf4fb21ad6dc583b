/* SPDX-License-Identifier: Apache-2.0 */
/* The admission request that an API server would make of an object in a file. */
#include <stdio.h>
#include <string.h>

#include "api/selector.h"
#include "controller/manifests/manifests-internal.h"

/* What is written. Texts live in the arena or are borrowed. */
struct target {
    struct ek_gvk kind;
    struct ek_gvr resource;
    bool namespaced;
    const char *subresource;
    bool creates, updates;    /* the subresource leaves no other choice */
    bool scales;              /* a Scale is to be made */
    yyjson_val *crd_scale;    /* of a CustomResourceDefinition; NULL: a built-in kind */
    yyjson_val *object, *old; /* as policies see them */
};

/* What --old is searched for; in the arena. NULL for an object without a kind. */
static const char *old_key(struct ek_ci *ci, yyjson_val *object)
{
    const char *kind = ek_json_str(object, "kind", NULL);
    const char *api_version = ek_json_str(object, "apiVersion", NULL);

    return kind && api_version
               ? ek_arena_printf(ci->arena, "%s %s %s", api_version, kind, ek_ci_key(ci, object))
               : NULL;
}

/* The first of a name counts. */
static yyjson_val *find_old(struct ek_ci *ci, yyjson_val *object)
{
    const char *key;

    for (size_t i = ci->olds.n ? ci->old.n : 0; i < ci->old.n; i++) {
        key = old_key(ci, ci->old.list[i].seen);
        if (key && !ek_map_get(&ci->olds, key))
            ek_map_put(&ci->olds, key, ci->old.list[i].seen);
    }
    key = ci->old.n ? old_key(ci, object) : NULL;
    return key ? ek_map_get(&ci->olds, key) : NULL;
}

/* ---- Subresources ---- */

static const struct ek_gvk scale_kind = {"autoscaling", "v1", "Scale"};

static bool is_kind(const struct ek_builtin_resource *row, const struct ek_gvk *kind)
{
    return !strcmp(row->kind_group, kind->group) && !strcmp(row->kind_version, kind->version) &&
           !strcmp(row->kind, kind->kind);
}

static bool take_crd(const struct ek_ci *ci, struct target *t)
{
    yyjson_val *subresource = ek_ci_crd_subresource(ci, &t->resource, t->subresource);

    if (!subresource)
        return false;
    t->updates = true;
    t->scales = !strcmp(t->subresource, "scale");
    t->crd_scale = t->scales ? subresource : NULL;
    return true;
}

/* Subresources that one connects to: nothing of theirs is mutated. */
static bool is_connected_to(const char *subresource)
{
    static const char *const names[] = {"attach", "exec", "log", "portforward", "proxy"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        if (!strcmp(subresource, names[i]))
            return true;
    return false;
}

/* The subresource that takes objects of this kind, where only one does: pods/eviction. */
static bool take_own_kind(struct ek_ci *ci, struct target *t)
{
    size_t n, len;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n), *found = NULL;

    for (size_t i = 0; i < n; i++) {
        const char *slash = strchr(all[i].resource, '/');
        if (!slash || strcmp(slash + 1, t->subresource) != 0 || !is_kind(&all[i], &t->kind) ||
            !ek_builtin_serves(&all[i], ci->minor))
            continue;
        if (found)
            return false;
        found = &all[i];
    }
    if (!found)
        return false;
    len = strcspn(found->resource, "/");
    t->resource = (struct ek_gvr){found->group, found->version,
                                  ek_arena_strndup(ci->arena, found->resource, len)};
    t->namespaced = found->namespaced;
    t->creates = true;
    return true;
}

/* Finds what the subresource of an object is; false when it has none. */
static bool take_subresource(struct ek_ci *ci, struct target *t)
{
    const struct ek_builtin_resource *row =
        ek_ci_builtin_subresource(ci, &t->resource, t->subresource);

    if (is_connected_to(t->subresource))
        return false;
    if (!row)
        return take_crd(ci, t) || take_own_kind(ci, t);
    if (is_kind(row, &t->kind)) {
        t->updates = true;
        return true;
    }
    t->updates = t->scales = is_kind(row, &scale_kind);
    return t->scales;
}

/* ---- The Scale of an object ---- */

/* The value at ".spec.replicas", as definitions say where it is. */
static yyjson_val *at_path(yyjson_val *object, const char *path)
{
    yyjson_val *v = object;

    if (!path)
        return NULL;
    while (v && *path == '.') {
        size_t len = strcspn(++path, ".");
        v = yyjson_obj_getn(v, path, len);
        path += len;
    }
    return v;
}

static yyjson_val *of_scaled(const struct target *t, yyjson_val *object, const char *member,
                             const char *path)
{
    return at_path(object,
                   t->crd_scale ? yyjson_get_str(yyjson_obj_get(t->crd_scale, member)) : path);
}

static void add_replicas(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *value)
{
    yyjson_mut_obj_add_sint(doc, to, "replicas", yyjson_is_int(value) ? yyjson_get_sint(value) : 0);
}

/* The label selector of a built-in kind; NULL for none, and for one that is no good. Owned. */
static struct ek_selector *builtin_selector(const struct target *t, yyjson_val *value)
{
    struct ek_selector *selector = NULL;
    yyjson_mut_doc *doc;

    /* Here alone it is a plain map. */
    if (strcmp(t->resource.resource, "replicationcontrollers") != 0) {
        ek_selector_from_json(value, &selector, NULL);
        return selector;
    }
    doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_val(doc, root, "matchLabels", yyjson_val_mut_copy(doc, value));
    yyjson_doc *copy = yyjson_mut_val_imut_copy(root, NULL);
    ek_selector_from_json(yyjson_doc_get_root(copy), &selector, NULL);
    yyjson_doc_free(copy);
    yyjson_mut_doc_free(doc);
    return selector;
}

/* The scale of built-in kinds has the selector as text; definitions name the path of the text. */
static void add_selector(const struct target *t, yyjson_mut_doc *doc, yyjson_mut_val *status,
                         yyjson_val *object)
{
    yyjson_val *v = of_scaled(t, object, "labelSelectorPath", ".spec.selector");
    struct ek_selector *selector;

    if (t->crd_scale) {
        if (yyjson_is_str(v))
            yyjson_mut_obj_add_val(doc, status, "selector", yyjson_val_mut_copy(doc, v));
        return;
    }
    selector = v ? builtin_selector(t, v) : NULL;
    EK_AUTO(ek_buf) text;
    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    if (selector && !ek_selector_format(selector, &text) && text.len)
        yyjson_mut_obj_add_strcpy(doc, status, "selector", ek_buf_str(&text));
    ek_selector_free(selector);
}

static yyjson_mut_val *make_scale(const struct target *t, yyjson_mut_doc *doc, yyjson_val *object)
{
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    yyjson_mut_val *scale = yyjson_mut_obj(doc), *metadata, *spec, *status;

    yyjson_mut_obj_add_str(doc, scale, "kind", "Scale");
    yyjson_mut_obj_add_str(doc, scale, "apiVersion", "autoscaling/v1");
    metadata = yyjson_mut_obj_add_obj(doc, scale, "metadata");
    for (size_t i = 0; i < EK_ARRAY_SIZE(kept); i++) {
        yyjson_val *v = ek_json_get(object, "metadata", kept[i], NULL);
        if (v)
            yyjson_mut_obj_add_val(doc, metadata, kept[i], yyjson_val_mut_copy(doc, v));
    }
    spec = yyjson_mut_obj_add_obj(doc, scale, "spec");
    add_replicas(doc, spec, of_scaled(t, object, "specReplicasPath", ".spec.replicas"));
    status = yyjson_mut_obj_add_obj(doc, scale, "status");
    add_replicas(doc, status, of_scaled(t, object, "statusReplicasPath", ".status.replicas"));
    add_selector(t, doc, status, object);
    return scale;
}

/* ---- The request ---- */

static void add_kind(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name,
                     const struct ek_gvk *kind)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, root, name);

    yyjson_mut_obj_add_strcpy(doc, v, "group", kind->group);
    yyjson_mut_obj_add_strcpy(doc, v, "version", kind->version);
    yyjson_mut_obj_add_strcpy(doc, v, "kind", kind->kind);
}

static void add_resource(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name,
                         const struct ek_gvr *resource)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, root, name);

    yyjson_mut_obj_add_strcpy(doc, v, "group", resource->group);
    yyjson_mut_obj_add_strcpy(doc, v, "version", resource->version);
    yyjson_mut_obj_add_strcpy(doc, v, "resource", resource->resource);
}

/* "key=value" each; a key may have several values. */
static void add_extra(yyjson_mut_doc *doc, yyjson_mut_val *extra,
                      const struct ek_mutate_options *options)
{
    for (size_t i = 0; i < options->extra.n; i++) {
        const char *text = options->extra.items[i], *value = strchr(text, '=') + 1;
        size_t len = (size_t)(value - text) - 1;
        yyjson_mut_val *list = yyjson_mut_obj_getn(extra, text, len);
        if (!list) {
            list = yyjson_mut_arr(doc);
            yyjson_mut_obj_add(extra, yyjson_mut_strncpy(doc, text, len), list);
        }
        yyjson_mut_arr_add_strcpy(doc, list, value);
    }
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
    if (options->extra.n)
        add_extra(doc, yyjson_mut_obj_add_obj(doc, user, "extra"), options);
}

/* The object as an API server would hand it on: in its namespace. */
static yyjson_mut_val *placed(const struct target *t, yyjson_mut_doc *doc, yyjson_val *object,
                              const char *namespace)
{
    yyjson_mut_val *copy =
        t->scales ? make_scale(t, doc, object) : yyjson_val_mut_copy(doc, object);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(copy, "metadata");

    if (!metadata)
        metadata = yyjson_mut_obj_add_obj(doc, copy, "metadata");
    if (*namespace && yyjson_mut_is_obj(metadata) && !yyjson_mut_obj_get(metadata, "namespace"))
        yyjson_mut_obj_add_strcpy(doc, metadata, "namespace", namespace);
    return copy;
}

/* Those of a dry run (apiserver/pkg/endpoints/handlers: create.go, update.go). */
static void add_options(yyjson_mut_doc *doc, yyjson_mut_val *root, bool updates,
                        const char *field_manager)
{
    yyjson_mut_val *options = yyjson_mut_obj_add_obj(doc, root, "options");

    yyjson_mut_obj_add_str(doc, options, "kind", updates ? "UpdateOptions" : "CreateOptions");
    yyjson_mut_obj_add_str(doc, options, "apiVersion", "meta.k8s.io/v1");
    yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, options, "dryRun"), "All");
    if (*field_manager)
        yyjson_mut_obj_add_strcpy(doc, options, "fieldManager", field_manager);
}

static yyjson_doc *write_request(const struct target *t, const struct ek_mutate_options *options,
                                 const char *namespace)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    const struct ek_gvk *kind = t->scales ? &scale_kind : &t->kind;
    const char *name = ek_json_str(t->object, "metadata", "name", NULL);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "uid", "00000000-0000-0000-0000-000000000000");
    add_kind(doc, root, "kind", kind);
    add_resource(doc, root, "resource", &t->resource);
    add_kind(doc, root, "requestKind", kind);
    add_resource(doc, root, "requestResource", &t->resource);
    if (*t->subresource) {
        yyjson_mut_obj_add_strcpy(doc, root, "subResource", t->subresource);
        yyjson_mut_obj_add_strcpy(doc, root, "requestSubResource", t->subresource);
    }
    if (name)
        yyjson_mut_obj_add_strcpy(doc, root, "name", name);
    if (*namespace || !strcmp(kind->kind, "Namespace"))
        yyjson_mut_obj_add_strcpy(doc, root, "namespace", *namespace ? namespace : name);
    yyjson_mut_obj_add_str(doc, root, "operation", t->old ? "UPDATE" : "CREATE");
    add_user(doc, root, options);
    yyjson_mut_obj_add_val(doc, root, "object", placed(t, doc, t->object, namespace));
    yyjson_mut_obj_add_val(doc, root, "oldObject",
                           t->old ? placed(t, doc, t->old, namespace) : yyjson_mut_null(doc));
    yyjson_mut_obj_add_bool(doc, root, "dryRun", true);
    add_options(doc, root, t->old != NULL, options->field_manager);
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return whole;
}

/* Whether it is an update, by the flag, by what was before, or by what the subresource allows. */
static int decide_operation(struct ek_ci *ci, const struct ek_mutate_options *options,
                            struct target *t, struct ek_err *err)
{
    bool asked_create = !strcmp(options->operation, "CREATE");
    bool asked_update = !strcmp(options->operation, "UPDATE");

    if ((t->creates && asked_update) || (t->updates && asked_create))
        return ek_err_set(err, EK_E_INVAL, "--operation %s: %s/%s is only ever %s",
                          options->operation, t->resource.resource, t->subresource,
                          t->creates ? "created" : "updated");
    t->old = find_old(ci, t->object);
    if (t->creates || asked_create) {
        t->old = NULL;
    } else if (!t->old && (t->updates || asked_update)) {
        ek_ci_note(ci, "an updated object without one in --old is taken to be as it was before");
        t->old = t->object;
    }
    return 0;
}

int ek_mutate_request(struct ek_ci *ci, const struct ek_mutate_options *options,
                      const struct ek_ci_object *object, yyjson_doc **ret_doc, struct ek_err *err)
{
    const char *namespace = ek_json_str(object->seen, "metadata", "namespace", NULL);
    struct target t = {.kind = ek_ci_kind_of(ci, object->seen),
                       .subresource = options->subresource,
                       .object = object->seen};
    struct ek_ci_resource r;
    bool known = ek_ci_resource_of(ci, &t.kind, namespace != NULL, &r);

    *ret_doc = NULL;
    t.resource = r.resource;
    t.namespaced = r.namespaced;
    if (*t.subresource && !take_subresource(ci, &t)) {
        ek_ci_note(ci, "%s %s is left out: %s has no subresource \"%s\" that it can be written to",
                   t.kind.kind, ek_ci_key(ci, object->seen), t.resource.resource, t.subresource);
        return 0;
    }
    if (!known && !t.creates)
        ek_ci_note(ci,
                   "%s%s%s %s is not known: its resource is taken to be \"%s\"; give its "
                   "CustomResourceDefinition with -f",
                   t.kind.group, *t.kind.group ? "/" : "", t.kind.version, t.kind.kind,
                   t.resource.resource);
    int rc = decide_operation(ci, options, &t, err);
    if (rc)
        return rc;
    if (t.namespaced && *options->namespace && namespace && *namespace &&
        strcmp(namespace, options->namespace) != 0)
        return ek_err_set(err, EK_E_INVAL,
                          "the namespace from the provided object \"%s\" does not match the "
                          "namespace \"%s\". You must pass '--namespace=%s' to perform this "
                          "operation.",
                          namespace, options->namespace, namespace);
    const char *by_default = *options->namespace ? options->namespace : "default";
    const char *own = namespace && *namespace ? namespace : by_default;
    *ret_doc = write_request(&t, options, t.namespaced ? own : "");
    return *ret_doc ? 0 : ek_err_set(err, EK_E_NOMEM, "no memory");
}
