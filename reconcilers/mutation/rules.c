/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/rules.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

struct ek_rules {
    yyjson_doc *doc; /* owned copy of what was read */
    yyjson_val *included, *excluded;
    struct ek_selector *namespace_selector, *object_selector;
    bool exact;
};

static int read_selector(yyjson_val *parent, const char *name, struct ek_selector **ret_selector,
                         struct ek_err *err)
{
    yyjson_val *v = yyjson_obj_get(parent, name);

    /* Absent is what the server's defaulting makes of it: everything. */
    int rc = !v || yyjson_is_null(v) ? ek_selector_parse("", ret_selector, err)
                                     : ek_selector_from_json(v, ret_selector, err);
    if (rc)
        ek_err_prefix(err, "%s", name);
    return rc;
}

struct ek_rules *ek_rules_new(yyjson_val *match_resources, struct ek_err *err)
{
    struct ek_rules *rules = ek_xalloc(sizeof *rules);
    yyjson_mut_doc *copy = ek_json_doc_new();

    yyjson_mut_doc_set_root(copy, match_resources ? yyjson_val_mut_copy(copy, match_resources)
                                                  : yyjson_mut_obj(copy));
    rules->doc = yyjson_mut_doc_imut_copy(copy, &ek_json_xalc);
    yyjson_mut_doc_free(copy);
    yyjson_val *root = yyjson_doc_get_root(rules->doc);
    rules->included = yyjson_obj_get(root, "resourceRules");
    rules->excluded = yyjson_obj_get(root, "excludeResourceRules");
    const char *policy = ek_json_str(root, "matchPolicy", NULL);
    rules->exact = policy && !strcmp(policy, "Exact");
    if (read_selector(root, "namespaceSelector", &rules->namespace_selector, err) ||
        read_selector(root, "objectSelector", &rules->object_selector, err)) {
        ek_rules_free(rules);
        return NULL;
    }
    return rules;
}

void ek_rules_free(struct ek_rules *rules)
{
    if (!rules)
        return;
    ek_selector_free(rules->namespace_selector);
    ek_selector_free(rules->object_selector);
    yyjson_doc_free(rules->doc);
    ek_free(rules);
}

static bool is_namespace_object(const struct ek_gvr *r)
{
    return !*r->group && !strcmp(r->version, "v1") && !strcmp(r->resource, "namespaces");
}

/* What a request is about while rules are compared with it. */
struct subject {
    const struct ek_admission_request *request;
    const struct ek_gvr *resource;
};

static bool lists(yyjson_val *list, const char *item)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (s && (!strcmp(s, "*") || !strcmp(s, item)))
            return true;
    }
    return false;
}

static bool scope_fits(yyjson_val *rule, const struct subject *subject)
{
    const char *scope = ek_json_str(rule, "scope", NULL);

    if (!scope || !strcmp(scope, "*"))
        return true;
    /* A request for a Namespace object is in the namespace of its own name, yet cluster-scoped. */
    bool cluster = is_namespace_object(subject->resource) || !*subject->request->namespace;
    return cluster == !strcmp(scope, "Cluster");
}

static bool part_fits(const char *pattern, size_t len, const char *name)
{
    return (len == 1 && *pattern == '*') || (strlen(name) == len && !memcmp(pattern, name, len));
}

bool ek_rule_names_resource(yyjson_val *rule, const char *resource, const char *subresource)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(rule, "resources"), i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (!s)
            continue;
        size_t len = strcspn(s, "/");
        const char *sub = s[len] ? s + len + 1 : "";
        if (part_fits(s, len, resource) && part_fits(sub, strlen(sub), subresource))
            return true;
    }
    return false;
}

static bool name_fits(yyjson_val *rule, const struct ek_admission_request *request)
{
    yyjson_val *names = yyjson_obj_get(rule, "resourceNames");
    yyjson_val *v;
    size_t i, n;

    if (yyjson_arr_size(names) == 0)
        return true;
    yyjson_arr_foreach(names, i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (s && *s && !strcmp(s, request->name))
            return true;
    }
    return false;
}

static bool rule_fits(yyjson_val *rule, const struct subject *subject)
{
    return scope_fits(rule, subject) &&
           lists(yyjson_obj_get(rule, "operations"), subject->request->operation) &&
           lists(yyjson_obj_get(rule, "apiGroups"), subject->resource->group) &&
           lists(yyjson_obj_get(rule, "apiVersions"), subject->resource->version) &&
           ek_rule_names_resource(rule, subject->resource->resource,
                                  subject->request->subresource) &&
           name_fits(rule, subject->request);
}

/* Looks for an equivalent resource that one rule covers. */
struct search {
    yyjson_val *rule;
    const struct ek_admission_request *request;
    struct ek_gvr resource;
    struct ek_gvk kind;
    bool found;
};

static bool try_equivalent(void *arg, const struct ek_gvr *other, const struct ek_gvk *kind)
{
    struct search *search = arg;
    struct subject subject = {search->request, other};

    if (!rule_fits(search->rule, &subject))
        return false;
    search->resource = *other;
    search->kind = *kind;
    return search->found = true;
}

static bool any_rule_fits(yyjson_val *rules, bool exact, const struct ek_admission_request *request,
                          const struct ek_equivalents *equivalents, struct ek_gvr *ret_resource,
                          struct ek_gvk *ret_kind)
{
    struct subject subject = {request, &request->resource};
    yyjson_val *rule;
    size_t i, n;

    *ret_resource = request->resource;
    *ret_kind = request->kind;
    yyjson_arr_foreach(rules, i, n, rule)
    {
        if (rule_fits(rule, &subject))
            return true;
    }
    if (exact || !equivalents)
        return false;
    yyjson_arr_foreach(rules, i, n, rule)
    {
        struct search search = {.rule = rule, .request = request};
        equivalents->each(equivalents->arg, &request->resource, request->subresource,
                          try_equivalent, &search);
        if (search.found) {
            *ret_resource = search.resource;
            *ret_kind = search.kind;
            return true;
        }
    }
    return false;
}

static yyjson_val *labels_of(yyjson_val *object)
{
    return ek_json_get(object, "metadata", "labels", NULL);
}

static bool writes_namespace(const struct ek_admission_request *r)
{
    return !strcmp(r->resource.resource, "namespaces") && !*r->subresource &&
           (!strcmp(r->operation, "CREATE") || !strcmp(r->operation, "UPDATE"));
}

static enum ek_rules_answer match_namespace(const struct ek_rules *rules,
                                            const struct ek_admission_request *request,
                                            yyjson_val *namespace_object, struct ek_err *err)
{
    if (ek_selector_is_empty(rules->namespace_selector))
        return EK_RULES_YES;
    /* What is in no namespace is never left out by its labels. */
    if (!*request->namespace && strcmp(request->resource.resource, "namespaces") != 0)
        return EK_RULES_YES;
    yyjson_val *source = writes_namespace(request) ? request->object : namespace_object;
    if (!source) {
        ek_err_set(err, EK_E_NOENT, "namespaces \"%s\" not found", request->namespace);
        if (err)
            err->http_status = 404;
        return EK_RULES_ERROR;
    }
    return ek_selector_matches(rules->namespace_selector, labels_of(source)) ? EK_RULES_YES
                                                                             : EK_RULES_NO;
}

static bool match_object(const struct ek_rules *rules, const struct ek_admission_request *r)
{
    return ek_selector_is_empty(rules->object_selector) ||
           (r->object && ek_selector_matches(rules->object_selector, labels_of(r->object))) ||
           (r->old_object && ek_selector_matches(rules->object_selector, labels_of(r->old_object)));
}

enum ek_rules_answer
ek_rules_match(const struct ek_rules *rules, const struct ek_admission_request *request,
               yyjson_val *namespace_object, const struct ek_equivalents *equivalents,
               struct ek_gvr *ret_resource, struct ek_gvk *ret_kind, struct ek_err *err)
{
    enum ek_rules_answer in_namespace = match_namespace(rules, request, namespace_object, err);

    if (in_namespace == EK_RULES_NO || !match_object(rules, request))
        return EK_RULES_NO;
    if (any_rule_fits(rules->excluded, rules->exact, request, equivalents, ret_resource, ret_kind))
        return EK_RULES_NO;
    bool fits =
        any_rule_fits(rules->included, rules->exact, request, equivalents, ret_resource, ret_kind);
    if (!fits && yyjson_arr_size(rules->included) > 0)
        return EK_RULES_NO;
    /* A namespace that cannot be judged matters only to those whose rules match. */
    return in_namespace;
}

size_t ek_rules_len(const struct ek_rules *rules)
{
    return yyjson_arr_size(rules->included);
}

yyjson_val *ek_rules_at(const struct ek_rules *rules, size_t i)
{
    return yyjson_arr_get(rules->included, i);
}

yyjson_val *ek_rules_root(const struct ek_rules *rules)
{
    return yyjson_doc_get_root(rules->doc);
}
