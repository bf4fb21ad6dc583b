/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a checked tree that types do not show: mixed literals, and constant arguments
 * that cannot work. All that is found is reported, as in the reference (cel-go 0.26,
 * cel/validator.go).
 */
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/cel/check/check-internal.h"
#include "api/cel/lib/strings.h"
#include "api/cel/regex/syntax.h"
#include "api/cel/text/time.h"

enum { UNSEEN, SEEN };

struct validation {
    const struct ek_cel_env_rules *rules;
    const struct ek_cel_ast *ast;
    struct ek_cel_issues *issues;
    bool wrong;
    const struct ek_cel_node *unnamed; /* first name of a type that is none at run time */
};

static void report(struct validation *v, uint32_t position, const char *message)
{
    v->wrong = true;
    ek_cel_issue_add(v->issues, EK_CEL_E_TYPE, v->ast->text, v->ast->len, position, "%s", message);
}

/* ---- Mixed literals -------------------------------------------------------------------------- */

static void expect_same(struct validation *v, const struct ek_cel_node *node,
                        const struct ek_cel_type *first, const struct ek_cel_type *type,
                        bool *ret_same)
{
    struct ek_buf text;

    *ret_same = ek_cel_type_equal(first, type);
    if (*ret_same)
        return;
    ek_buf_init(&text, EK_BUF_SMALL_MAX + 1); /* one that fails instead of aborting */
    ek_buf_puts(&text, "expected type '");
    ek_cel_type_message(first, &text);
    ek_buf_puts(&text, "' but found '");
    ek_cel_type_message(type, &text);
    ek_buf_puts(&text, "'");
    report(v, node->position, ek_buf_str(&text));
    ek_buf_done(&text);
}

static const struct ek_cel_type *content(const struct ek_cel_node *node, bool optional)
{
    bool unwrapped;

    return optional ? ek_cel_unwrap(node->type, &unwrapped) : node->type;
}

static void validate_list(struct validation *v, const struct ek_cel_node *node)
{
    const struct ek_cel_type *first = NULL;
    bool same = true;

    for (uint32_t i = 0; i < node->list.n && same; i++) {
        const struct ek_cel_type *type =
            content(node->list.items[i], node->list.optional && node->list.optional[i]);
        if (first)
            expect_same(v, node->list.items[i], first, type, &same);
        else
            first = type;
    }
}

static void validate_map(struct validation *v, const struct ek_cel_node *node)
{
    const struct ek_cel_type *key = NULL, *value = NULL;
    bool same;

    for (uint32_t i = 0; i < node->map.n; i++) {
        const struct ek_cel_map_entry *e = &node->map.entries[i];
        const struct ek_cel_type *type = content(e->value, e->optional);
        if (key) {
            expect_same(v, e->key, key, e->key->type, &same);
            expect_same(v, e->value, value, type, &same);
        } else {
            key = e->key->type;
            value = type;
        }
    }
}

/* ---- Constant arguments ---------------------------------------------------------------------- */

static bool valid_duration(const struct ek_cel_val *value)
{
    int64_t ns;

    return value->kind == EK_CEL_STRING && ek_cel_duration_parse(value->s, value->n, &ns);
}

static bool valid_timestamp(const struct ek_cel_val *value)
{
    struct ek_cel_val time = {.i = value->i};

    if (value->kind == EK_CEL_STRING) {
        if (!ek_cel_time_parse(value->s, value->n, &time))
            return false;
    } else if (value->kind != EK_CEL_INT) {
        return false;
    }
    return time.i >= EK_CEL_SECONDS_MIN && time.i <= EK_CEL_SECONDS_MAX;
}

static bool valid_regex(const struct ek_cel_val *value)
{
    struct ek_buf out;
    int rc;

    if (value->kind != EK_CEL_STRING || value->n > EK_CEL_REGEX_MAX)
        return true; /* the planner reports it */
    ek_buf_init(&out, ek_cel_regex_translated_max(value->n) + EK_BUF_SMALL_MAX + 1);
    rc = ek_cel_regex_translate(value->s, value->n, &out, NULL);
    ek_buf_done(&out);
    return rc != EK_E_PARSE;
}

static void validate_constant(struct validation *v, const struct ek_cel_node *node,
                              const char *function)
{
    static const struct {
        const char *function, *message;
        bool (*valid)(const struct ek_cel_val *value);
    } rules[] = {
        {"duration", "invalid duration argument", valid_duration},
        {"timestamp", "invalid timestamp argument", valid_timestamp},
        {"matches", "invalid matches argument", valid_regex},
    };

    if (!node->call.n || node->call.args[0]->kind != EK_CEL_N_LITERAL)
        return;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!strcmp(function, rules[i].function) && !rules[i].valid(&node->call.args[0]->literal))
            report(v, node->call.args[0]->position, rules[i].message);
}

static void validate_call(struct validation *v, const struct ek_cel_node *node,
                          const char *function)
{
    const struct ek_cel_node *at = node;
    char message[512];

    if (v->rules->validate_literals)
        validate_constant(v, node, function);
    if (!strcmp(function, "format") && !ek_cel_format_check(node, message, sizeof message, &at))
        report(v, at->position, message);
}

/* ---- The walk -------------------------------------------------------------------------------- */

/* In arguments of these, lists may be mixed. */
static bool exempts(const char *function)
{
    return !strcmp(function, "format") || !strcmp(function, "cel.@block");
}

static void validate_name(struct validation *v, const struct ek_cel_node *node)
{
    if (node->ref && node->ref->kind == EK_CEL_REF_TYPE &&
        node->ref->type->kind == EK_CEL_T_STRUCT && !v->unnamed)
        v->unnamed = node;
}

static void walk(struct validation *v, struct ek_cel_node *node, bool exempt);

static void walk_call(struct validation *v, const struct ek_cel_node *node, bool exempt)
{
    const char *function =
        node->ref && node->ref->function ? node->ref->function->def->name : node->call.function;

    validate_call(v, node, function);
    exempt = exempt || exempts(function);
    if (node->call.target && !(node->ref && node->ref->namespaced))
        walk(v, node->call.target, exempt);
    for (uint32_t i = 0; i < node->call.n; i++)
        walk(v, node->call.args[i], exempt);
}

static void walk_fold(struct validation *v, const struct ek_cel_node *node, bool exempt)
{
    walk(v, node->fold.range, exempt);
    walk(v, node->fold.init, exempt);
    walk(v, node->fold.condition, exempt);
    walk(v, node->fold.step, exempt);
    walk(v, node->fold.result, exempt);
}

static void walk(struct validation *v, struct ek_cel_node *node, bool exempt)
{
    bool mixed_forbidden = v->rules->homogeneous && !exempt;

    if (node->mark == SEEN)
        return;
    node->mark = SEEN;
    switch ((enum ek_cel_node_kind)node->kind) {
    case EK_CEL_N_LITERAL:
        break;
    case EK_CEL_N_IDENT:
        validate_name(v, node);
        break;
    case EK_CEL_N_SELECT:
        validate_name(v, node);
        if (!node->ref)
            walk(v, node->select.operand, exempt);
        break;
    case EK_CEL_N_CALL:
        walk_call(v, node, exempt);
        break;
    case EK_CEL_N_LIST:
        if (mixed_forbidden)
            validate_list(v, node);
        for (uint32_t i = 0; i < node->list.n; i++)
            walk(v, node->list.items[i], exempt);
        break;
    case EK_CEL_N_MAP:
        if (mixed_forbidden)
            validate_map(v, node);
        for (uint32_t i = 0; i < node->map.n; i++) {
            walk(v, node->map.entries[i].key, exempt);
            walk(v, node->map.entries[i].value, exempt);
        }
        break;
    case EK_CEL_N_STRUCT:
        for (uint32_t i = 0; i < node->object.n; i++)
            walk(v, node->object.fields[i].value, exempt);
        break;
    case EK_CEL_N_FOLD:
        walk_fold(v, node, exempt);
        break;
    }
}

/* Calls fn with the nodes below node, of all kinds. */
static void each_below(struct ek_cel_node *node, void (*fn)(struct ek_cel_node *below))
{
    switch ((enum ek_cel_node_kind)node->kind) {
    case EK_CEL_N_LITERAL:
    case EK_CEL_N_IDENT:
        break;
    case EK_CEL_N_SELECT:
        fn(node->select.operand);
        break;
    case EK_CEL_N_CALL:
        if (node->call.target)
            fn(node->call.target);
        for (uint32_t i = 0; i < node->call.n; i++)
            fn(node->call.args[i]);
        break;
    case EK_CEL_N_LIST:
        for (uint32_t i = 0; i < node->list.n; i++)
            fn(node->list.items[i]);
        break;
    case EK_CEL_N_MAP:
        for (uint32_t i = 0; i < node->map.n; i++) {
            fn(node->map.entries[i].key);
            fn(node->map.entries[i].value);
        }
        break;
    case EK_CEL_N_STRUCT:
        for (uint32_t i = 0; i < node->object.n; i++)
            fn(node->object.fields[i].value);
        break;
    case EK_CEL_N_FOLD:
        fn(node->fold.range);
        fn(node->fold.init);
        fn(node->fold.condition);
        fn(node->fold.step);
        fn(node->fold.result);
    }
}

static void unmark(struct ek_cel_node *node)
{
    if (node->mark == UNSEEN)
        return;
    node->mark = UNSEEN;
    each_below(node, unmark);
}

int ek_cel_validate(const struct ek_cel_env *env, const struct ek_cel_ast *ast,
                    struct ek_cel_issues *issues)
{
    struct validation v = {.rules = ek_cel_env_rules(env), .ast = ast, .issues = issues};
    char message[300];

    walk(&v, ast->root, false);
    unmark(ast->root);
    if (!v.wrong && v.unnamed) {
        /* The reference notices when it makes the program. */
        snprintf(message, sizeof message, "reference to undefined type: %s",
                 v.unnamed->ref->type->name);
        report(&v, v.unnamed->position, message);
    }
    return v.wrong ? EK_E_INVAL : 0;
}
