/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/policylint/typecheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/hash.h"
#include "api/base/quote.h"
#include "api/cel/env/environment.h"
#include "api/cel/syntax/parse.h"
#include "reconcilers/mutation/compile.h"
#include "reconcilers/policylint/typecheck-internal.h"

#define WRITES_MAX 1000u
/* Groups, versions and kinds have at most 253, 63 and 63 characters. */
#define KINDS_TEXT_MAX ((size_t)EK_TYPECHECK_KINDS_MAX * 400)
#define PARSE_LIMIT    ((size_t)32 << 20) /* of one expression's tree */

/* ---- Collecting ---- */

void *ek_type_room(struct ek_type_collector *to, size_t size)
{
    void *p = to->failed ? NULL : ek_arena_try(to->arena, size);

    to->failed = !p;
    return p;
}

const char *ek_type_text_of(struct ek_type_collector *to, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = ek_type_room(to, (size_t)(n < 0 ? 0 : n) + 1);
    if (!text)
        return "";
    va_start(args, fmt);
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, fmt, args);
    va_end(args);
    return text;
}

static bool grow(struct ek_type_collector *to, void **array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? *cap * 2 : 16;
    void *bigger = ek_type_room(to, more * size);
    if (!bigger)
        return false;
    if (n)
        memcpy(bigger, *array, n * size);
    *array = bigger;
    *cap = more;
    return true;
}

static void add_kind(struct ek_typewalk *w, size_t i)
{
    uint64_t kind = (uint64_t)1 << w->kind;

    if (w->n_skipped) {
        w->to->kinds[i].skipped |= kind;
        return;
    }
    w->to->kinds[i].holds |= kind;
    w->to->list[i].denies |= w->to->list[i].problem == EK_TYPE_ATOMIC && !w->n_unsure;
}

void ek_type_report(struct ek_typewalk *w, enum ek_type_problem problem, uint32_t position,
                    const char *fmt, ...)
{
    struct ek_type_collector *to = w->to;
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (size_t i = 0; i < to->n; i++) {
        const struct ek_type_finding *f = &to->list[i];
        if (f->position == position && f->problem == problem && !strcmp(f->field, w->field) &&
            !strcmp(f->message, text)) {
            add_kind(w, i);
            return;
        }
    }
    size_t cap = to->cap;
    if (to->n >= EK_TYPECHECK_FINDINGS_MAX ||
        !grow(to, (void **)&to->kinds, to->n, &cap, sizeof *to->kinds) ||
        !grow(to, (void **)&to->list, to->n, &to->cap, sizeof *to->list))
        return;
    to->kinds[to->n] = (struct ek_type_of_kinds){0};
    to->list[to->n++] = (struct ek_type_finding){.field = w->field,
                                                 .position = position,
                                                 .message = ek_type_text_of(to, "%s", text),
                                                 .problem = problem};
    add_kind(w, to->n - 1);
}

void ek_type_note_test(struct ek_typewalk *w, uint32_t position, bool is_test)
{
    for (size_t i = 0; is_test && i < w->to->n; i++)
        if (w->to->list[i].position == position && !strcmp(w->to->list[i].field, w->field) &&
            w->to->list[i].problem == EK_TYPE_UNKNOWN_FIELD)
            w->to->kinds[i].by_test = true;
}

/* A constant as JSON; NULL for what is none. */
static const char *constant(struct ek_type_collector *to, const struct ek_cel_node *node)
{
    char quoted[EK_QUOTE_SIZE];

    if (!node || node->kind != EK_CEL_N_LITERAL)
        return NULL;
    switch (node->literal.kind) {
    case EK_CEL_STRING:
        return ek_type_text_of(to, "%s", ek_quote_short(ek_type_text(node), quoted));
    case EK_CEL_BOOL:
        return node->literal.b ? "true" : "false";
    case EK_CEL_INT:
        return ek_type_text_of(to, "%lld", (long long)node->literal.i);
    case EK_CEL_NULL:
        return "null";
    default:
        return NULL;
    }
}

void ek_type_write(struct ek_typewalk *w, const char *path, uint32_t position,
                   const struct ek_cel_node *value, bool removes)
{
    struct ek_type_collector *to = w->to;
    const uint64_t place[] = {w->mutation, position, ek_hash(path, strlen(path))};
    uint64_t hash = ek_hash(place, sizeof place);
    struct ek_table_cursor at = ek_table_at(hash);
    size_t i;

    if (w->n_skipped)
        return;
    while (ek_table_next(&to->written, &at, &i))
        if (to->writes[i].position == position && to->writes[i].mutation == w->mutation &&
            !strcmp(to->writes[i].path, path))
            return;
    if (to->n_writes >= WRITES_MAX ||
        !grow(to, (void **)&to->writes, to->n_writes, &to->cap_writes, sizeof *to->writes))
        return;
    if (ek_table_add(&to->written, hash, to->n_writes)) {
        to->failed = true;
        return;
    }
    to->writes[to->n_writes++] = (struct ek_type_write){.mutation = w->mutation,
                                                        .path = path,
                                                        .position = position,
                                                        .value = constant(to, value),
                                                        .removes = removes};
}

/* ---- One kind ---- */

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    return ek_cel_env_macro(arg, name, member, n);
}

/* Parses an expression that has compiled; false when that fails all the same (memory). */
static bool parse(struct ek_cel_env *env, const struct ek_expression *e, struct ek_arena *arena,
                  struct ek_cel_ast *ret)
{
    const struct ek_cel_parse_options options = {.find_macro = find_macro,
                                                 .find_macro_arg = env,
                                                 .optional_syntax = true,
                                                 .backticks = true};
    EK_AUTO(ek_cel_issues) issues = {0};

    return ek_cel_parse(e->text, strlen(e->text), &options, arena, ret, &issues) == 0;
}

struct ek_shape ek_type_shape_of(const struct ek_typecheck_kind *kind)
{
    struct ek_shape shape = {.kind = EK_SHAPE_ANY, .path = "", .place = ""};

    if (kind && kind->schema &&
        !ek_schema_find_kind(kind->schema, kind->kind.group, kind->kind.version, kind->kind.kind,
                             &shape.type, NULL)) {
        shape.kind = EK_SHAPE_TYPED;
        shape.schema = kind->schema;
        shape.root = &kind->kind;
    }
    return shape;
}

/* Shapes outlive trees: what they hold is in the collector's arena or the schema. ret_truth: NULL,
 * or gets what the expression is for all objects of the kind. */
static struct ek_shape check(struct ek_typewalk *w, struct ek_cel_env *env,
                             const struct ek_expression *e, const struct ek_type_target *target,
                             enum ek_truth *ret_truth)
{
    struct ek_arena *arena = ek_arena_new(PARSE_LIMIT);
    struct ek_shape shape = {.kind = EK_SHAPE_ANY};
    struct ek_cel_ast ast;

    w->field = e->field;
    w->steps = 0;
    w->scope = NULL;
    if (e->program && !parse(env, e, arena, &ast)) {
        w->to->failed = true;
    } else if (e->program) {
        w->ast = &ast;
        w->text_at = ast.text;
        w->text_position = 0;
        if (target)
            ek_type_expect(w, ast.root, target);
        else
            shape = ek_type_infer(w, ast.root);
        if (ret_truth)
            *ret_truth = ek_type_truth(w, ast.root);
        w->ast = NULL;
    }
    ek_arena_free(arena);
    return shape;
}

static void check_mutation(struct ek_typewalk *w, struct ek_cel_env *env,
                           const struct ek_mutation *m)
{
    const struct ek_type_target target = {
        .shape = w->object, .name = "Object", .atomics = !m->replace_atomics, .writes = true};

    w->tests = false;
    check(w, env, &m->expression, m->type == EK_MUTATION_APPLY ? &target : NULL, NULL);
    if (m->safety == EK_SAFETY_CONDITION)
        check(w, env, &m->condition, NULL, NULL);
}

/* False for a kind of which no object meets the matchConditions. */
static bool check_conditions(struct ek_typewalk *w, struct ek_cel_env *env)
{
    const struct ek_policy *policy = w->policy;
    bool excluded = false;

    w->n_variables = 0;
    w->n_unsure = w->n_skipped = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        w->n_skipped = pass == 0 || excluded; /* the first pass finds out whether they are met */
        for (size_t i = 0; i < policy->n_conditions; i++) {
            enum ek_truth truth = EK_TRUTH_UNKNOWN;
            check(w, env, &policy->conditions[i], NULL, &truth);
            excluded |= truth == EK_TRUTH_FALSE;
            w->n_unsure += pass == 1 && truth == EK_TRUTH_UNKNOWN;
        }
    }
    return !excluded;
}

/* False for a kind that the policy has nothing to do with. */
static bool check_kind(struct ek_typewalk *w, struct ek_cel_env *env)
{
    const struct ek_policy *policy = w->policy;
    bool is_met = check_conditions(w, env);

    for (size_t i = 0; i < policy->n_variables; i++) {
        w->truths[i] = EK_TRUTH_UNKNOWN;
        w->variables[i] = check(w, env, &policy->variables[i], NULL, &w->truths[i]);
        w->n_variables = i + 1;
    }
    for (size_t i = 0; i < policy->n_mutations; i++) {
        w->mutation = i;
        check_mutation(w, env, &policy->mutations[i]);
    }
    for (size_t i = 0; i < policy->n_validations; i++) {
        check(w, env, &policy->validations[i].expression, NULL, NULL);
        check(w, env, &policy->validations[i].message_expression, NULL, NULL);
    }
    for (size_t i = 0; i < policy->n_annotations; i++)
        check(w, env, &policy->annotations[i].value, NULL, NULL);
    return is_met;
}

/* ---- All kinds ---- */

static void put_kind(struct ek_buf *out, const struct ek_gvk *kind)
{
    ek_buf_printf(out, "%s%s%s%s %s", out->len ? ", " : "", kind->group, *kind->group ? "/" : "",
                  kind->version, kind->kind);
}

/* Fills in which kinds a finding holds for. Texts may differ from kind to kind, so that all
 * findings of one place count together. */
static void name_kinds(struct ek_type_collector *to, const struct ek_typecheck_kind *kinds,
                       uint64_t checked)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, KINDS_TEXT_MAX);
    for (size_t i = 0; i < to->n; i++) {
        struct ek_type_finding *f = &to->list[i];
        uint64_t together = 0;
        for (size_t j = 0; j < to->n; j++)
            if (to->list[j].position == f->position && to->list[j].problem == f->problem &&
                !strcmp(to->list[j].field, f->field))
                together |= to->kinds[j].holds | to->kinds[j].skipped;
        for (unsigned k = 0; k < 64; k++)
            if (to->kinds[i].holds >> k & 1u)
                put_kind(&text, &kinds[k].kind);
        f->kinds = ek_type_text_of(to, "%s", ek_buf_str(&text));
        to->failed = to->failed || text.failed;
        ek_buf_reset(&text);
        f->all_kinds = (together & checked) == checked;
    }
}

/* Removes what holds for no kind that comes to the place, and questions whether a field is there
 * that some kinds have. */
static void drop_answered(struct ek_type_collector *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < to->n; i++) {
        if (!to->kinds[i].holds || (to->kinds[i].by_test && !to->list[i].all_kinds))
            continue;
        to->kinds[kept] = to->kinds[i];
        to->list[kept++] = to->list[i];
    }
    to->n = kept;
}

/* Removes each finding whose message is the beginning of the message of another finding of the same
 * place. The longer message also has the suggested name, or the kind that has the field. */
static void drop_shorter(struct ek_type_collector *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < to->n; i++) {
        const struct ek_type_finding *f = &to->list[i];
        size_t len = strlen(f->message), longer = to->n;
        for (size_t j = 0; j < to->n && longer == to->n; j++)
            if (j != i && to->list[j].position == f->position &&
                to->list[j].problem == f->problem && !strcmp(to->list[j].field, f->field) &&
                strlen(to->list[j].message) > len && !strncmp(to->list[j].message, f->message, len))
                longer = j;
        if (longer < to->n) {
            to->kinds[longer].holds |= to->kinds[i].holds;
            to->kinds[longer].skipped |= to->kinds[i].skipped;
            to->list[longer].denies |= to->list[i].denies;
            to->list[i].position = EK_CEL_NOWHERE - 1; /* compared with no more */
        }
    }
    for (size_t i = 0; i < to->n; i++)
        if (to->list[i].position != EK_CEL_NOWHERE - 1) {
            to->kinds[kept] = to->kinds[i];
            to->list[kept++] = to->list[i];
        }
    to->n = kept;
}

static size_t rank(const struct ek_policy *policy, const char *field)
{
    size_t at = 0;

    for (size_t i = 0; i < policy->n_conditions; i++, at++)
        if (!strcmp(policy->conditions[i].field, field))
            return at;
    for (size_t i = 0; i < policy->n_variables; i++, at++)
        if (!strcmp(policy->variables[i].field, field))
            return at;
    for (size_t i = 0; i < policy->n_mutations; i++, at++)
        if (!strcmp(policy->mutations[i].expression.field, field))
            return at;
    for (size_t i = 0; i < policy->n_validations; i++, at += 2) {
        if (!strcmp(policy->validations[i].expression.field, field))
            return at;
        if (!strcmp(policy->validations[i].message_expression.field, field))
            return at + 1;
    }
    for (size_t i = 0; i < policy->n_annotations; i++, at++)
        if (!strcmp(policy->annotations[i].value.field, field))
            return at;
    return at;
}

/* A stable order by place; there are few. */
static void sort(const struct ek_policy *policy, struct ek_type_finding *list, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct ek_type_finding f = list[i];
        size_t j = i, at = rank(policy, f.field);
        for (; j > 0; j--) {
            size_t before = rank(policy, list[j - 1].field);
            if (before < at || (before == at && list[j - 1].position <= f.position))
                break;
            list[j] = list[j - 1];
        }
        list[j] = f;
    }
}

int ek_typecheck_policy_at(const struct ek_policy *policy, const struct ek_typecheck_kind *kinds,
                           size_t n_kinds, const struct ek_typecheck_kind *params,
                           const struct ek_type_gaps *gaps, struct ek_arena *arena,
                           struct ek_type_findings *ret)
{
    static const struct ek_typecheck_kind unknown = {.kind = {"", "", ""}};
    struct ek_type_collector to = {.arena = arena};
    struct ek_typewalk w = {
        .to = &to, .policy = policy, .gaps = gaps, .params = ek_type_shape_of(params)};
    struct ek_policy_envs envs = {0};
    struct ek_err err;
    uint64_t checked = 0;

    *ret = (struct ek_type_findings){0};
    n_kinds = n_kinds < EK_TYPECHECK_KINDS_MAX ? n_kinds : EK_TYPECHECK_KINDS_MAX;
    w.variables = ek_type_room(&to, (policy->n_variables + 1) * sizeof *w.variables);
    w.truths = ek_type_room(&to, (policy->n_variables + 1) * sizeof *w.truths);
    w.kinds = kinds;
    w.n_kinds = n_kinds;
    int rc = w.truths ? ek_policy_envs_init(&envs, policy->has_params,
                                            policy->behaviour == EK_POLICY_EXTENDED, 0, &err)
                      : EK_E_LIMIT;
    if (rc)
        return rc;
    to.failed = ek_table_init(&to.written, 0) != 0;
    /* Without any kind there still are params, and paths that mutations write. */
    for (size_t i = 0; !to.failed && (i < n_kinds || (i == 0 && n_kinds == 0)); i++) {
        w.kind = (unsigned)i;
        w.object = ek_type_shape_of(n_kinds ? &kinds[i] : &unknown);
        ret->n_kinds += w.object.kind == EK_SHAPE_TYPED;
        if (check_kind(&w, envs.mutation) && (w.object.kind == EK_SHAPE_TYPED || !checked))
            checked |= (uint64_t)1 << i;
    }
    ek_policy_envs_done(&envs);
    ek_table_done(&to.written);
    drop_shorter(&to);
    name_kinds(&to, n_kinds ? kinds : &unknown, checked);
    drop_answered(&to);
    sort(policy, to.list, to.n);
    ret->list = to.list;
    ret->n = to.n;
    ret->writes = to.writes;
    ret->n_writes = to.n_writes;
    return to.failed ? EK_E_LIMIT : 0;
}
