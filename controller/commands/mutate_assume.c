/* SPDX-License-Identifier: Apache-2.0 */
/* What mutate takes for granted of a cluster, noted where an object depends on it. */
#include <string.h>

#include "controller/manifests/manifests-internal.h"
#include "reconcilers/mutation/invocation.h"

/* The one label that each Namespace has. */
#define NAME_LABEL "kubernetes.io/metadata.name"

#define NOTE_MAX 2048u

enum {
    READS_NAMESPACE = 1u << 0, /* an expression reads more of namespaceObject than the name */
    BY_POLICY = 1u << 1,       /* the namespaceSelector of the policy asks for other labels */
    BY_BINDING = 1u << 2,      /* that of the binding */
    COUNTED = 1u << 3,         /* the binding is made up, and the policy matched an object */
};

static void add_name(struct ek_ci_names *names, const char *name)
{
    if (names->n < EK_CI_NAMED_MAX)
        names->first[names->n] = name;
    names->n++;
}

/* ---- Policies ---- */

static bool selects_by_labels(const struct ek_rules *rules)
{
    yyjson_val *selector = yyjson_obj_get(ek_rules_root(rules), "namespaceSelector"), *key, *v;
    size_t i, n;

    ek_json_each_member(yyjson_obj_get(selector, "matchLabels"), i, n, key, v)
    {
        if (strcmp(yyjson_get_str(key), NAME_LABEL) != 0)
            return true;
    }
    yyjson_arr_foreach(yyjson_obj_get(selector, "matchExpressions"), i, n, v)
    {
        if (strcmp(ek_json_text(v, "key"), NAME_LABEL) != 0)
            return true;
    }
    return false;
}

static bool reads_namespace(const struct ek_expression *e)
{
    const struct ek_cel_read *list;
    size_t n = e->program ? ek_cel_program_reads(e->program, &list) : 0;

    for (size_t i = 0; i < n; i++)
        if (list[i].slot == EK_SLOT_NAMESPACE_OBJECT &&
            strcmp(list[i].path, "metadata.name") != 0 &&
            strcmp(list[i].path, "metadata.labels[\"" NAME_LABEL "\"]") != 0)
            return true;
    return false;
}

/* Match conditions have no namespaceObject (reconcilers/mutation/conditions.c). */
static bool policy_reads_namespace(const struct ek_policy *p)
{
    for (size_t i = 0; i < p->n_variables; i++)
        if (reads_namespace(&p->variables[i]))
            return true;
    for (size_t i = 0; i < p->n_mutations; i++)
        if (reads_namespace(&p->mutations[i].expression) ||
            reads_namespace(&p->mutations[i].condition))
            return true;
    for (size_t i = 0; i < p->n_validations; i++)
        if (reads_namespace(&p->validations[i].expression) ||
            reads_namespace(&p->validations[i].message_expression))
            return true;
    for (size_t i = 0; i < p->n_annotations; i++)
        if (reads_namespace(&p->annotations[i].value))
            return true;
    return false;
}

static void read_flags(const struct ek_bound *bound, size_t n, unsigned *flags)
{
    for (size_t i = 0; i < n; i++) {
        bool reads = policy_reads_namespace(bound[i].policy);
        bool by_policy = selects_by_labels(bound[i].policy->rules);
        bool by_binding = selects_by_labels(bound[i].binding->rules);
        flags[i] = (reads ? READS_NAMESPACE : 0) | (by_policy ? BY_POLICY : 0) |
                   (by_binding ? BY_BINDING : 0);
    }
}

/* ---- Requests ---- */

/* One request, and the Namespace that it is in. */
struct looking {
    struct ek_ci *ci;
    const struct ek_admission_request *request;
    yyjson_val *namespace;
    bool is_made; /* it is not among the files, and not counted yet */
};

/* Whether rules match. *ret_by_labels: they do, or do not, for labels that are not known. */
static bool matches(const struct looking *l, const struct ek_rules *rules, bool selects,
                    bool *ret_by_labels)
{
    struct ek_gvr resource;
    struct ek_gvk kind;
    struct ek_err err = {0};

    /* Without a Namespace that is needed, all else that matches is an error. */
    *ret_by_labels = selects && l->is_made &&
                     ek_rules_match(rules, l->request, NULL, &l->ci->equivalents, &resource, &kind,
                                    &err) == EK_RULES_ERROR &&
                     err.code == EK_E_NOENT;
    return ek_rules_match(rules, l->request, l->namespace, &l->ci->equivalents, &resource, &kind,
                          NULL) != EK_RULES_NO;
}

static void look_at(struct looking *l, const struct ek_bound *bound, unsigned *flags)
{
    struct ek_ci_assumed *assumed = &l->ci->assumed;
    const struct ek_policy *policy = bound->policy;
    bool by_policy, by_binding;
    bool is_matched = matches(l, policy->rules, *flags & BY_POLICY, &by_policy);
    bool is_bound = matches(l, bound->binding->rules, *flags & BY_BINDING, &by_binding);

    if (is_matched && bound->assumed && !(*flags & COUNTED)) {
        *flags |= COUNTED;
        add_name(&assumed->policies, policy->name);
        assumed->n_validating += policy->validating;
        assumed->have_params |= policy->has_params;
    }
    if (l->is_made && (is_matched || by_policy) && (is_bound || by_binding) &&
        (by_policy || by_binding || (*flags & READS_NAMESPACE))) {
        add_name(&assumed->namespaces,
                 ek_json_text(yyjson_obj_get(l->namespace, "metadata"), "name"));
        ek_map_take(&l->ci->made, l->request->namespace);
        l->is_made = false;
    }
}

void ek_mutate_assume(struct ek_ci *ci, const struct ek_admission_request *request,
                      const struct ek_bound *bound, size_t n)
{
    struct ek_ci_assumed *assumed = &ci->assumed;
    const char *name = request->namespace;
    struct looking l = {ci, request, ek_map_get(&ci->namespaces, name),
                        ek_map_get(&ci->made, name) != NULL};

    if (ek_run_is_exempt(request))
        return;
    if (!assumed->flags) {
        assumed->flags = ek_xalloc((ci->n_bound + ci->n_validating + 1) * sizeof *assumed->flags);
        read_flags(ci->bound, ci->n_bound, assumed->flags);
        read_flags(ci->validating, ci->n_validating, assumed->flags + ci->n_bound);
    }
    unsigned *flags = assumed->flags + (bound == ci->validating ? ci->n_bound : 0);
    for (size_t i = 0; i < n; i++)
        if ((bound[i].assumed && !(flags[i] & COUNTED)) || (l.is_made && flags[i] & ~COUNTED))
            look_at(&l, &bound[i], &flags[i]);
}

/* ---- Notes ---- */

/* "a", "a and b", "a, b and 7 more" */
static void put_names(const struct ek_ci_names *names, struct ek_buf *out)
{
    size_t shown = names->n < EK_CI_NAMED_MAX ? names->n : EK_CI_NAMED_MAX;

    for (size_t i = 0; i < shown; i++)
        ek_buf_printf(out, "%s%s", !i ? "" : i + 1 == names->n ? " and " : ", ", names->first[i]);
    if (names->n > shown)
        ek_buf_printf(out, " and %zu more", names->n - shown);
}

static void note_policies(struct ek_ci *ci)
{
    const struct ek_ci_assumed *a = &ci->assumed;
    bool one = a->policies.n == 1;
    EK_AUTO(ek_buf) names = {0};

    if (!a->policies.n)
        return;
    ek_buf_init(&names, NOTE_MAX);
    put_names(&a->policies, &names);
    ek_ci_note(ci, "%s %s %s no binding in these files: %s to be bound to everything %s%s%s",
               one ? "policy" : "policies", ek_buf_str(&names), one ? "has" : "have",
               one ? "it is taken" : "they are taken", one ? "it matches" : "they match",
               a->have_params ? ", with every param there is" : "",
               !a->n_validating                   ? ""
               : a->n_validating == a->policies.n ? ", with validationActions: [Deny]"
                                                  : ", validating policies with "
                                                    "validationActions: [Deny]");
}

static void note_namespaces(struct ek_ci *ci)
{
    const struct ek_ci_names *namespaces = &ci->assumed.namespaces;
    bool one = namespaces->n == 1;
    EK_AUTO(ek_buf) names = {0};

    if (!namespaces->n)
        return;
    ek_buf_init(&names, NOTE_MAX);
    put_names(namespaces, &names);
    ek_ci_note(ci, "%s %s %s not among the files: %s to have no labels but %s; add %s with -f",
               one ? "namespace" : "namespaces", ek_buf_str(&names), one ? "is" : "are",
               one ? "it is taken" : "they are taken", one ? "its name" : "their names",
               one ? "the Namespace" : "the Namespaces");
}

static bool has_policy(const struct ek_ci *ci, const struct ek_binding *b)
{
    for (size_t i = 0; i < ci->n_compiled; i++)
        if (!strcmp(b->policy_name, ci->compiled[i]->name) &&
            b->native == ci->compiled[i]->native && b->validating == ci->compiled[i]->validating)
            return true;
    return false;
}

static void note_bindings(struct ek_ci *ci)
{
    struct ek_ci_names found = {0};
    EK_AUTO(ek_buf) names = {0};

    for (size_t i = 0; i < ci->n_read_bindings && ci->objects.n; i++)
        if (*ci->bindings[i]->policy_name && !has_policy(ci, ci->bindings[i]))
            add_name(&found, ci->bindings[i]->name);
    if (!found.n)
        return;
    ek_buf_init(&names, NOTE_MAX);
    put_names(&found, &names);
    if (found.n == 1)
        ek_ci_note(ci, "the policy of binding %s is not among the files: the binding has no effect",
                   ek_buf_str(&names));
    else
        ek_ci_note(ci,
                   "the policies of bindings %s are not among the files: the bindings have no "
                   "effect",
                   ek_buf_str(&names));
}

void ek_mutate_note_assumed(struct ek_ci *ci)
{
    note_policies(ci);
    note_namespaces(ci);
    note_bindings(ci);
}
