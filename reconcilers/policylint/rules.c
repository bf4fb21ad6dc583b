/* SPDX-License-Identifier: Apache-2.0 */
/* Match conditions that decide nothing, and policies that get in each other's way. */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/policylint/lint-internal.h"

#define EVAL_MEMORY ((size_t)4 << 20)
#define EVAL_COST   100000u

static const char *const operations[] = {"CREATE", "UPDATE", "CONNECT"};

/* ---- Conditions ---- */

/* Members of a request that are known from what a policy matches. */
static bool is_known(const char *path)
{
    static const char *const known[] = {"operation", "kind.group", "kind.version", "kind.kind"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(known); i++)
        if (!strcmp(path, known[i]))
            return true;
    return false;
}

/* True when a program reads nothing but known members of the request. */
static bool is_decided(const struct ek_cel_program *program)
{
    const struct ek_cel_read *reads;
    size_t n = ek_cel_program_reads(program, &reads);

    for (size_t i = 0; i < n; i++)
        if (reads[i].slot != EK_SLOT_REQUEST || !is_known(reads[i].path))
            return false;
    return true;
}

static yyjson_doc *make_request(const struct ek_gvk *kind, const char *operation)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *v = yyjson_mut_obj_add_obj(doc, root, "kind");

    yyjson_mut_obj_add_str(doc, v, "group", kind->group);
    yyjson_mut_obj_add_str(doc, v, "version", kind->version);
    yyjson_mut_obj_add_str(doc, v, "kind", kind->kind);
    yyjson_mut_obj_add_str(doc, root, "operation", operation);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

/* How often a condition is true, false, and neither. */
struct tally {
    size_t yes, no, other;
    bool failed; /* for want of memory */
};

static void try_one(const struct ek_cel_program *program, const struct ek_gvk *kind,
                    const char *operation, struct tally *tally)
{
    struct ek_cel_val vars[EK_SLOT_MAX] = {{0}};
    const struct ek_cel_limits limits = {.cost = EVAL_COST};
    struct ek_arena *arena = ek_arena_new(EVAL_MEMORY);
    yyjson_doc *request = make_request(kind, operation);
    struct ek_cel_result result;

    for (size_t i = 0; i < EK_SLOT_MAX; i++)
        vars[i] = ek_cel_null();
    vars[EK_SLOT_REQUEST] = ek_cel_from_json(yyjson_doc_get_root(request));
    bool ok = ek_cel_eval(program, vars, arena, &limits, &result);
    tally->failed =
        tally->failed || !request || (!ok && result.value.fault->kind == EK_CEL_E_MEMORY);
    if (!ok || result.value.kind != EK_CEL_BOOL)
        tally->other++;
    else if (result.value.b)
        tally->yes++;
    else
        tally->no++;
    yyjson_doc_free(request);
    ek_arena_free(arena);
}

static bool has_operation(const struct ek_policy *policy, const char *operation)
{
    yyjson_val *rule, *v;
    size_t k, n;

    for (size_t i = 0; policy->rules && (rule = ek_rules_at(policy->rules, i)); i++)
        yyjson_arr_foreach(yyjson_obj_get(rule, "operations"), k, n, v)
        {
            if (yyjson_equals_str(v, operation) || yyjson_equals_str(v, "*"))
                return true;
        }
    return false;
}

static void try_all(const struct ek_linter *l, const struct ek_cel_program *program,
                    struct tally *tally)
{
    static const struct ek_gvk no_kind = {"", "", ""};
    const struct ek_cel_read *reads;
    size_t n = l->at->n_kinds;

    if (ek_cel_program_reads(program, &reads) == 0) {
        try_one(program, &no_kind, operations[0], tally);
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < EK_ARRAY_SIZE(operations); k++)
            if (has_operation(l->at->policy, operations[k]))
                try_one(program, &l->at->kinds[i].kind, operations[k], tally);
}

void ek_lint_conditions(struct ek_linter *l)
{
    for (size_t i = 0; i < l->at->policy->n_conditions; i++) {
        const struct ek_expression *e = &l->at->policy->conditions[i];
        struct tally tally = {0};
        if (!e->program || !is_decided(e->program))
            continue;
        try_all(l, e->program, &tally);
        l->failed = l->failed || tally.failed;
        if (tally.no && !tally.yes && !tally.other)
            ek_lint_add(l, EK_LINT_WARNING, "never-true", e->field, e, 0,
                        "this is false for all that the policy matches: it never runs");
        else if (tally.yes && !tally.no && !tally.other)
            ek_lint_add(l, EK_LINT_INFO, "always-true", e->field, e, 0,
                        "this is true for all that the policy matches: it can be left out");
    }
}

/* ---- Pairs ---- */

static bool same_kind(const struct ek_gvk *a, const struct ek_gvk *b)
{
    return !strcmp(a->group, b->group) && !strcmp(a->version, b->version) &&
           !strcmp(a->kind, b->kind);
}

bool ek_lint_share_kind(const struct ek_lint_policy *a, const struct ek_lint_policy *b)
{
    for (size_t i = 0; i < a->n_kinds; i++)
        for (size_t j = 0; j < b->n_kinds; j++)
            if (same_kind(&a->kinds[i].kind, &b->kinds[j].kind))
                return true;
    return false;
}

/* One path, or one above the other. Items that are added to a list do not meet. */
static bool meet(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), less = n < m ? n : m;

    if (strncmp(a, b, less) != 0)
        return false;
    if (n == m)
        return !strstr(a, "[-]");
    return less > 0 && strchr(".[", (n < m ? b : a)[less]) != NULL;
}

static const char *shown(const struct ek_type_write *w)
{
    return w->removes ? "nothing" : w->value ? w->value : "what it computes";
}

/* What others may do to the value is the author's to say; only Evenkeel checks the answer. */
static const char *advice(const struct ek_policy *policy, const struct ek_mutation *mutation)
{
    if (mutation->safety != EK_SAFETY_NONE)
        return "";
    return policy->native
               ? ". The annotation " EK_POLICY_SAFETY_ANNOTATION
                 " says whether others may change the value: Exact denies requests in which they "
                 "did, Overwritable accepts them"
               : ". The field safety says whether others may change the value: Exact denies "
                 "requests in which they did, Overwritable accepts them";
}

static void pair(struct ek_linter *l, size_t i, size_t j)
{
    const struct ek_type_findings *a = &l->types[i], *b = &l->types[j];
    const struct ek_lint_policy *other = &l->input->policies[i];

    l->at = &l->input->policies[j];
    for (size_t x = 0; x < a->n_writes; x++)
        for (size_t y = 0; y < b->n_writes; y++) {
            const struct ek_type_write *u = &a->writes[x], *v = &b->writes[y];
            const struct ek_expression *e = &l->at->policy->mutations[v->mutation].expression;
            bool agree = !strcmp(u->path, v->path) &&
                         ((u->value && v->value && !strcmp(u->value, v->value)) ||
                          (u->removes && v->removes));
            if (agree || !meet(u->path, v->path))
                continue;
            ek_lint_add(l, EK_LINT_WARNING, "same-path", e->field, e, v->position,
                        "%s is set to %s here, and policy %s sets %s to %s: API servers run "
                        "policies in no fixed order%s",
                        v->path, shown(v), other->policy->name, u->path, shown(u),
                        advice(l->at->policy, &l->at->policy->mutations[v->mutation]));
        }
}

void ek_lint_pairs(struct ek_linter *l)
{
    for (size_t j = 1; j < l->input->n_policies; j++)
        for (size_t i = 0; i < j; i++)
            if (ek_lint_share_kind(&l->input->policies[i], &l->input->policies[j]))
                pair(l, i, j);
}
