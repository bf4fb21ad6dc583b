/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster that a folder of files stands for. */
#include <ctype.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "controller/manifests/manifests-internal.h"

/* ---- Resources ---- */

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static bool of_crd(const struct ek_ci *ci, const struct ek_gvk *kind, struct ek_ci_resource *ret)
{
    for (size_t i = 0; i < ci->crds.n; i++) {
        yyjson_val *spec = yyjson_obj_get(ci->crds.list[i].value, "spec");
        const char *plural = ek_json_str(spec, "names", "plural", NULL);
        if (!same(ek_json_str(spec, "group", NULL), kind->group) || !plural ||
            !same(ek_json_str(spec, "names", "kind", NULL), kind->kind))
            continue;
        ret->resource = (struct ek_gvr){kind->group, kind->version, plural};
        ret->namespaced = same(ek_json_str(spec, "scope", NULL), "Namespaced");
        return true;
    }
    return false;
}

static bool of_builtin(const struct ek_ci *ci, const struct ek_gvk *kind,
                       struct ek_ci_resource *ret)
{
    size_t n;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);

    for (size_t i = 0; i < n; i++) {
        if (strchr(all[i].resource, '/') || !ek_builtin_serves(&all[i], ci->minor) ||
            strcmp(all[i].kind_group, kind->group) != 0 || strcmp(all[i].kind, kind->kind) != 0 ||
            strcmp(all[i].kind_version, kind->version) != 0)
            continue;
        ret->resource = (struct ek_gvr){kind->group, kind->version, all[i].resource};
        ret->namespaced = all[i].namespaced;
        return true;
    }
    return false;
}

/* The plural as apimachinery guesses it (meta.UnsafeGuessKindToResource). */
static const char *guess_plural(struct ek_ci *ci, const char *kind)
{
    char *s = ek_arena_printf(ci->arena, "%sies", kind);
    size_t n = strlen(kind);

    for (char *p = s; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (n && s[n - 1] == 's')
        return memcpy(s + n, "es", 3), s;
    if (n && s[n - 1] == 'y')
        return memcpy(s + n - 1, "ies", 4), s;
    return memcpy(s + n, "s", 2), s;
}

bool ek_ci_resource_of(struct ek_ci *ci, const struct ek_gvk *kind, bool has_namespace,
                       struct ek_ci_resource *ret)
{
    if (of_crd(ci, kind, ret) || of_builtin(ci, kind, ret))
        return true;
    ret->resource = (struct ek_gvr){kind->group, kind->version, guess_plural(ci, kind->kind)};
    ret->namespaced = has_namespace;
    return false;
}

void ek_ci_each_kind(const struct ek_ci *ci,
                     void (*fn)(void *arg, const struct ek_gvr *resource, const char *subresource,
                                const struct ek_gvk *kind),
                     void *arg)
{
    size_t n;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);

    for (size_t i = 0; i < n; i++) {
        if (!ek_builtin_serves(&all[i], ci->minor))
            continue;
        const char *slash = strchr(all[i].resource, '/');
        const char *main =
            slash ? ek_arena_strndup(ci->arena, all[i].resource, (size_t)(slash - all[i].resource))
                  : all[i].resource;
        fn(arg, &(struct ek_gvr){all[i].group, all[i].version, main}, slash ? slash + 1 : "",
           &(struct ek_gvk){all[i].kind_group, all[i].kind_version, all[i].kind});
    }
    for (size_t i = 0; i < ci->crds.n; i++) {
        yyjson_val *spec = yyjson_obj_get(ci->crds.list[i].value, "spec"), *version;
        const char *group = ek_json_str(spec, "group", NULL);
        const char *plural = ek_json_str(spec, "names", "plural", NULL);
        const char *kind = ek_json_str(spec, "names", "kind", NULL);
        size_t j, max;
        yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), j, max, version)
        {
            const char *name = ek_json_str(version, "name", NULL);
            if (group && plural && kind && name)
                fn(arg, &(struct ek_gvr){group, name, plural}, "",
                   &(struct ek_gvk){group, name, kind});
        }
    }
}

/* ---- The engine's view of the files ---- */

static yyjson_val *made_namespace(struct ek_ci *ci, const char *name)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *metadata;

    yyjson_mut_obj_add_str(doc, root, "apiVersion", "v1");
    yyjson_mut_obj_add_str(doc, root, "kind", "Namespace");
    metadata = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_mut_obj_add_strcpy(doc, metadata, "name", name);
    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, metadata, "labels"),
                              "kubernetes.io/metadata.name", name);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *made = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    ek_ci_own(ci, made);
    return yyjson_doc_get_root(made);
}

/* The first of a name counts. */
static void put_namespace(struct ek_ci *ci, yyjson_val *object)
{
    const char *name = ek_json_str(object, "metadata", "name", NULL);

    if (name && !ek_map_get(&ci->namespaces, name))
        ek_map_put(&ci->namespaces, name, object);
}

static enum ek_world_answer find_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                           struct ek_err *err)
{
    struct ek_ci *ci = arg;

    (void)err;
    *ret_object = ek_map_get(&ci->namespaces, name);
    if (*ret_object)
        return EK_WORLD_FOUND;
    *ret_object = made_namespace(ci, name);
    put_namespace(ci, *ret_object);
    ek_map_put(&ci->made, ek_json_text(yyjson_obj_get(*ret_object, "metadata"), "name"),
               *ret_object);
    return EK_WORLD_FOUND;
}

static bool is_of_kind(yyjson_val *v, const char *api_version, const char *kind)
{
    return same(ek_json_str(v, "apiVersion", NULL), api_version) &&
           same(ek_json_str(v, "kind", NULL), kind);
}

static enum ek_world_answer param_scope(void *arg, const char *api_version, const char *kind,
                                        bool *ret_namespaced, struct ek_err *err)
{
    struct ek_ci *ci = arg;
    struct ek_gvk gvk = ek_ci_split_kind(ci, api_version, kind);
    struct ek_ci_resource resource;

    if (ek_ci_resource_of(ci, &gvk, false, &resource)) {
        *ret_namespaced = resource.namespaced;
        return EK_WORLD_FOUND;
    }
    /* Without a definition the params decide: one with a namespace has a namespaced kind. */
    for (size_t i = 0; i < ci->params.n; i++)
        if (is_of_kind(ci->params.list[i].seen, api_version, kind)) {
            *ret_namespaced =
                ek_json_str(ci->params.list[i].seen, "metadata", "namespace", NULL) != NULL;
            return EK_WORLD_FOUND;
        }
    ek_err_set(err, EK_E_NOENT, "paramKind kind `%s, Kind=%s` not known", api_version, kind);
    return EK_WORLD_FAILED;
}

struct query {
    const char *api_version, *kind, *namespace, *name;
    const struct ek_selector *selector;
    void (*add)(void *arg, yyjson_val *param);
    void *add_arg;
    size_t found;
};

static void try_params(struct ek_ci *ci, struct query *q, const struct ek_ci_objects *from)
{
    for (size_t i = 0; i < from->n; i++) {
        yyjson_val *v = from->list[i].seen;
        const char *home = ek_json_str(v, "metadata", "namespace", NULL);
        if (!is_of_kind(v, q->api_version, q->kind))
            continue;
        struct ek_gvk gvk = ek_ci_split_kind(ci, q->api_version, q->kind);
        struct ek_ci_resource resource;
        if (!home && ek_ci_resource_of(ci, &gvk, false, &resource) && resource.namespaced)
            home = "default";
        if (*q->namespace && !same(home, q->namespace))
            continue;
        if (*q->name
                ? !same(ek_json_str(v, "metadata", "name", NULL), q->name)
                : !ek_selector_matches(q->selector, ek_json_get(v, "metadata", "labels", NULL)))
            continue;
        q->add(q->add_arg, v);
        q->found++;
    }
}

static enum ek_world_answer params(void *arg, const char *api_version, const char *kind,
                                   const char *namespace, const char *name,
                                   const struct ek_selector *selector,
                                   void (*add)(void *add_arg, yyjson_val *param), void *add_arg,
                                   struct ek_err *err)
{
    struct ek_ci *ci = arg;
    struct query q = {api_version, kind, namespace, name, selector, add, add_arg, 0};

    (void)err;
    try_params(ci, &q, &ci->params);
    try_params(ci, &q, &ci->objects);
    if (q.found > 1)
        ek_ci_note(ci,
                   "a param selector finds %zu of %s: API servers use them in no fixed order, "
                   "here they go by file",
                   q.found, kind);
    return q.found ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

static enum ek_world_answer find_schema(void *arg, const struct ek_gvk *kind,
                                        const struct ek_schema **ret_schema, struct ek_err *err)
{
    struct ek_ci *ci = arg;

    *ret_schema = ek_ci_schema_of(ci, kind);
    if (*ret_schema)
        return EK_WORLD_FOUND;
    ek_err_set(err, EK_E_NOENT,
               "there is no schema for %s%s%s %s: give its CustomResourceDefinition with -f",
               kind->group, *kind->group ? "/" : "", kind->version, kind->kind);
    return EK_WORLD_FAILED;
}

/* ---- The authorizer ---- */

static bool lists(yyjson_val *rule, const char *member, struct ek_str want)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(rule, member), i, n, v)
    {
        const char *s = yyjson_get_str(v);
        size_t len = yyjson_get_len(v);
        if (!s)
            continue;
        if (!strcmp(s, "*") || (len == want.len && !memcmp(s, want.p ? want.p : "", len)))
            return true;
        if (len > 1 && s[len - 1] == '*' && len - 1 <= want.len && !memcmp(s, want.p, len - 1) &&
            !strcmp(member, "nonResourceURLs"))
            return true;
    }
    return false;
}

static bool allows(yyjson_val *rule, const struct ek_cel_authz_attributes *what,
                   struct ek_str resource)
{
    if (!lists(rule, "verbs", what->verb))
        return false;
    if (!what->is_resource)
        return lists(rule, "nonResourceURLs", what->path);
    return lists(rule, "apiGroups", what->group) && lists(rule, "resources", resource) &&
           (!yyjson_arr_size(yyjson_obj_get(rule, "resourceNames")) ||
            lists(rule, "resourceNames", what->name)) &&
           (!yyjson_obj_get(rule, "namespaces") || lists(rule, "namespaces", what->namespace_));
}

static bool any_allows(yyjson_val *rules, const struct ek_cel_authz_attributes *what,
                       struct ek_str resource)
{
    yyjson_val *rule;
    size_t i, n;

    yyjson_arr_foreach(rules, i, n, rule)
    {
        if (allows(rule, what, resource))
            return true;
    }
    return false;
}

static enum ek_world_answer authorize(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret)
{
    struct ek_ci *ci = arg;
    struct ek_str resource = what->resource;

    if (what->subresource.len) {
        const char *both = ek_arena_printf(ci->arena, "%.*s/%.*s", (int)resource.len, resource.p,
                                           (int)what->subresource.len, what->subresource.p);
        resource = ek_str_from(both);
    }
    if (!ci->allow && !ci->deny)
        ek_ci_note(ci, "a policy uses the authorizer, which only a cluster provides: everything is "
                       "denied; say what is allowed with --allow FILE");
    ret->allowed = !any_allows(ci->deny, what, resource) &&
                   (any_allows(ci->allow, what, resource) || (ci->deny && !ci->allow));
    return EK_WORLD_FOUND;
}

void ek_ci_world(struct ek_ci *ci, struct ek_mutation_world *ret)
{
    bool first = !ci->equivalents.each;

    ci->equivalents = (struct ek_equivalents){ek_ci_each_equivalent, ci};
    put_namespace(ci, first ? ci->namespace_object : NULL);
    for (size_t i = first ? 0 : ci->objects.n; i < ci->objects.n; i++)
        if (is_of_kind(ci->objects.list[i].seen, "v1", "Namespace"))
            put_namespace(ci, ci->objects.list[i].seen);
    *ret = (struct ek_mutation_world){.namespace = find_namespace,
                                      .param_scope = param_scope,
                                      .params = params,
                                      .schema = find_schema,
                                      .authorize = authorize,
                                      .equivalents = &ci->equivalents,
                                      .arg = ci};
}
