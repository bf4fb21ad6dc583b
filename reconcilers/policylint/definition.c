/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/policylint/definition.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/words.h"
#include "api/fielderr.h"
#include "api/obj.h"
#include "api/objectmeta.h"
#include "reconcilers/mutation/compile.h"
#include "reconcilers/mutation/validation.h"
#include "reconcilers/policylint/definition_types.h"

#define RULE_COST_MAX       10000000u  /* StaticEstimatedCostLimit */
#define DEFINITION_COST_MAX 100000000u /* StaticEstimatedCRDCostLimit */
#define EXPENSIVE_MAX       4
#define DEPTH_MAX           200
#define DECLARED_MAX        1000000u
#define COMPARED_MAX        32 /* schemas that are compared with those of later versions */
#define BLANKS              " \t\r\n\v\f"

static const char *const reasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                      "FieldValueInvalid", "FieldValueRequired", NULL};

/* A field of an expression and its cost. */
struct expensive {
    const char *field;
    uint64_t cost;
};

struct linter {
    struct ek_arena *arena;
    int compat_minor;
    struct ek_field_errors fields, expressions; /* of the version at hand */
    uint64_t total;
    struct expensive expensive[EXPENSIVE_MAX]; /* descending */
    size_t n_expensive, rules;
    unsigned depth;
    size_t left; /* values that may still be declared: below each node with rules, all are */
    struct ek_definition_problem *list;
    size_t n;
};

/* A node of the schema on the way down. */
struct place {
    yyjson_val *schema;
    const char *path;
    const struct ek_decl *decl; /* NULL: not exposed */
    bool is_root;               /* of a resource */
    bool bounded;               /* then at most so many values of it are in an object */
    uint64_t cardinality;
    const char *uncorrelatable; /* below it old values have no new ones; NULL */
};

static bool is_blank(const char *s)
{
    return !s[strspn(s, BLANKS)];
}

static bool has_lines(const char *s)
{
    return s[strcspn(s, "\r\n")] != '\0';
}

static const char *trimmed(struct linter *l, const char *s)
{
    s += strspn(s, BLANKS);
    size_t len = strlen(s);
    while (len && strchr(BLANKS, s[len - 1]))
        len--;
    return ek_arena_strndup(l->arena, s, len);
}

static uint64_t product(uint64_t a, uint64_t b)
{
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* ---- Costs ---- */

static void observe(struct linter *l, const char *field, uint64_t cost)
{
    l->total = cost > UINT64_MAX - l->total ? UINT64_MAX : l->total + cost;
    if (cost < DEFINITION_COST_MAX / 100)
        return;
    size_t at = l->n_expensive < EXPENSIVE_MAX ? l->n_expensive++ : EXPENSIVE_MAX;
    for (; at && l->expensive[at - 1].cost < cost; at--)
        if (at < EXPENSIVE_MAX)
            l->expensive[at] = l->expensive[at - 1];
    if (at < EXPENSIVE_MAX)
        l->expensive[at] = (struct expensive){field, cost};
}

static const char *cost_text(struct linter *l, const char *what, uint64_t cost, uint64_t limit)
{
    static const char advice[] = "try simplifying the rule, or adding maxItems, maxProperties, and "
                                 "maxLength where arrays, maps, and strings are declared";
    double factor = (double)cost / (double)limit;
    const char *text = factor > 100.0 ? "more than 100x"
                       : factor < 1.5 ? ek_arena_printf(l->arena, "%fx", factor)
                                      : ek_arena_printf(l->arena, "%.1fx", factor);

    return ek_arena_printf(l->arena, "%s exceeds budget by factor of %s (%s)", what, text, advice);
}

/* ---- Compiling ---- */

/* The environments of one node: with oldSelf, and with an optional one. Each is made for the first
 * rule of its kind. */
struct envs {
    struct ek_cel_env *plain, *optional;
    struct ek_err err; /* why one of them cannot be made */
};

enum { SLOT_SELF, SLOT_OLD_SELF };

static struct ek_cel_env *make_env(struct linter *l, const struct place *at, bool optional,
                                   struct ek_err *err)
{
    struct ek_cel_env *env = ek_cel_env_new(
        &(struct ek_cel_env_options){.set = EK_CEL_ENV_KUBERNETES,
                                     .mode = l->compat_minor ? EK_CEL_NEW : EK_CEL_STORED,
                                     .compat_minor = l->compat_minor},
        err);
    const char *type =
        env ? ek_decl_declare(at->decl, "selfType", env, &l->left, l->arena, err) : NULL;
    const char *old =
        type && optional ? ek_arena_printf(l->arena, "optional_type(%s)", type) : type;

    if (type && ek_cel_env_declare(env, "self", type, err) == SLOT_SELF &&
        ek_cel_env_declare(env, "oldSelf", old, err) == SLOT_OLD_SELF)
        return env;
    ek_cel_env_unref(env);
    return NULL;
}

/* Go's encoding/json of a rule, as the API server shows it in errors. */
static const char *rule_text(struct linter *l, yyjson_val *rule)
{
    static const char *const names[][2] = {
        {"Rule", "rule"}, {"Message", "message"}, {"MessageExpression", "messageExpression"}};
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_val *reason = yyjson_obj_get(rule, "reason");
    yyjson_val *optional = yyjson_obj_get(rule, "optionalOldSelf");

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        yyjson_mut_obj_add_strcpy(doc, root, names[i][0], ek_json_text(rule, names[i][1]));
    yyjson_mut_obj_add_val(doc, root, "Reason",
                           reason ? yyjson_val_mut_copy(doc, reason) : yyjson_mut_null(doc));
    yyjson_mut_obj_add_strcpy(doc, root, "FieldPath", ek_json_text(rule, "fieldPath"));
    yyjson_mut_obj_add_val(doc, root, "OptionalOldSelf",
                           optional ? yyjson_val_mut_copy(doc, optional) : yyjson_mut_null(doc));
    char *json = yyjson_mut_val_write_opts(root, 0, &ek_json_xalc, NULL, NULL);
    EK_AUTO(ek_buf) escaped;
    ek_buf_init(&escaped, (size_t)64 << 20);
    ek_go_json(json ? json : "", &escaped);
    ek_free(json);
    yyjson_mut_doc_free(doc);
    return ek_arena_strdup(l->arena, ek_buf_str(&escaped));
}

/* The error of an expression: which the API server words for rules and messages of its own. */
static const char *compile(struct linter *l, struct ek_cel_env *env, const char *text, bool message,
                           const struct ek_cel_program **ret)
{
    static const char failed[] = "program instantiation failed";
    const char *error = NULL, *prefix = message ? "messageExpression " : "";
    enum ek_compile_error kind = ek_policy_compile(env, text, NULL, l->arena, ret, &error);

    if (kind == EK_COMPILE_INTERNAL && message && !strncmp(error, failed, sizeof failed - 1))
        return ek_arena_printf(l->arena, "messageExpression %s", error + sizeof "program");
    if (kind != EK_COMPILE_OK)
        return ek_arena_printf(l->arena, "%s%s", prefix, error);
    if (!strcmp(ek_cel_program_type(*ret), message ? "string" : "bool"))
        return NULL;
    ek_cel_program_unref((struct ek_cel_program *)(uintptr_t)*ret);
    *ret = NULL;
    return message ? "messageExpression must evaluate to a string"
                   : "cel expression must evaluate to a bool";
}

static void drop(const struct ek_cel_program *program)
{
    ek_cel_program_unref((struct ek_cel_program *)(uintptr_t)program);
}

static uint64_t estimate(struct ek_cel_env *env, const struct place *at, const char *text)
{
    uint64_t cost;

    return ek_cel_estimate(env, text, strlen(text), &at->decl->size, &cost) ? UINT64_MAX : cost;
}

static void lint_message(struct linter *l, const struct place *at, yyjson_val *rule,
                         struct ek_cel_env *env, const char *path)
{
    const char *text = ek_json_text(rule, "messageExpression");
    const char *field = ek_arena_printf(l->arena, "%s.messageExpression", path);
    const struct ek_cel_program *program = NULL;
    const char *error = *text ? compile(l, env, text, true, &program) : NULL;

    if (error)
        ek_field_invalid(&l->expressions, rule_text(l, rule), error, "%s", field);
    if (!program)
        return;
    uint64_t cost = estimate(env, at, text);
    if (cost > RULE_COST_MAX)
        ek_field_forbidden(&l->expressions,
                           cost_text(l, "estimated messageExpression cost", cost, RULE_COST_MAX),
                           "%s", field);
    observe(l, field, cost);
    drop(program);
}

/* What all objects together may pay for a rule. */
static uint64_t rule_cost(const struct place *at, uint64_t each)
{
    return product(each, at->bounded ? at->cardinality : EK_REQUEST_MAX / (at->decl->min_size + 1));
}

static struct ek_cel_env *env_for(struct linter *l, const struct place *at, bool optional,
                                  struct envs *envs)
{
    struct ek_cel_env **env = optional ? &envs->optional : &envs->plain;

    if (!*env && !envs->err.code)
        *env = make_env(l, at, optional, &envs->err);
    return *env;
}

static void lint_rule(struct linter *l, const struct place *at, yyjson_val *rule, struct envs *envs,
                      const char *path)
{
    yyjson_val *optional = yyjson_obj_get(rule, "optionalOldSelf");
    struct ek_cel_env *env = env_for(l, at, yyjson_is_true(optional), envs);
    const char *text = ek_json_text(rule, "rule"), *error;
    const char *field = ek_arena_printf(l->arena, "%s.rule", path);
    const struct ek_cel_program *program = NULL;
    uint64_t cost = 0;

    if (!env)
        return;
    error = compile(l, env, text, false, &program);
    if (program)
        cost = rule_cost(at, estimate(env, at, text));
    if (cost > RULE_COST_MAX)
        ek_field_forbidden(&l->expressions,
                           cost_text(l, "estimated rule cost", cost, RULE_COST_MAX), "%s", field);
    observe(l, field, cost);
    if (error)
        ek_field_invalid(&l->expressions, rule_text(l, rule), error, "%s", field);
    else
        lint_message(l, at, rule, env, path);
    bool transition = program && ek_cel_program_uses(program, SLOT_OLD_SELF);
    if (transition && at->uncorrelatable)
        ek_field_invalid(
            &l->expressions, ek_field_quote(&l->expressions, text),
            ek_arena_printf(l->arena,
                            "oldSelf cannot be used on the uncorrelatable portion of the schema "
                            "within %s",
                            at->uncorrelatable),
            "%s", field);
    else if (!transition && yyjson_is_bool(optional))
        ek_field_invalid(&l->expressions, yyjson_is_true(optional) ? "true" : "false",
                         "may not be set if oldSelf is not used in rule", "%s.optionalOldSelf",
                         path);
    drop(program);
}

static void unchecked(struct linter *l, const char *path, const char *why)
{
    if (l->n < EK_DEFINITION_PROBLEMS_MAX)
        l->list[l->n++] = (struct ek_definition_problem){path, why, true};
}

static void compile_rules(struct linter *l, const struct place *at, yyjson_val *rules)
{
    const char *path = ek_arena_printf(l->arena, "%s.x-kubernetes-validations", at->path);
    struct envs envs = {.plain = NULL};
    yyjson_val *rule;
    size_t i, n;

    if (!at->decl) {
        ek_field_internal(&l->expressions,
                          "internal error: failed to construct type information for "
                          "x-kubernetes-validations rules: unable to convert structural schema to "
                          "CEL declarations",
                          "%s", path);
        return;
    }
    yyjson_arr_foreach(rules, i, n, rule)
    {
        if (!ek_arena_exhausted(l->arena) && !ek_field_errors_full(&l->expressions))
            lint_rule(l, at, rule, &envs, ek_arena_printf(l->arena, "%s[%zu]", path, i));
    }
    if (envs.err.code)
        unchecked(l, path,
                  ek_arena_printf(l->arena, "the rules are not checked: %s", envs.err.message));
    ek_cel_env_unref(envs.plain);
    ek_cel_env_unref(envs.optional);
}

/* ---- Fields of a rule ---- */

/* One token of a fieldPath: a delimiter, a quoted name, or a name. NULL at the end. */
static const char *next_token(const char **p, struct ek_arena *arena)
{
    const char *start = *p;
    size_t len = 0;

    if (!*start)
        return NULL;
    if (*start == '\'') {
        for (len = 1; start[len] && !(start[len] == '\'' && start[len - 1] != '\\');)
            len++;
        len += start[len] == '\'';
    } else {
        len = strchr(".[]", *start) ? 1 : strcspn(start, ".[]");
    }
    *p = start + len;
    return ek_arena_strndup(arena, start, len);
}

static const char *unquote(const char *token, struct ek_arena *arena)
{
    size_t len = strlen(token), n = 0;
    char *out = ek_arena_alloc(arena, len + 1);

    if (len < 2 || token[0] != '\'' || token[len - 1] != '\'')
        return NULL;
    for (size_t i = 1; i < len - 1; i++) {
        if (token[i] == '\\' && i + 1 < len - 1)
            i++;
        out[n++] = token[i];
    }
    return out;
}

/* The schema below a name; NULL for none. */
static yyjson_val *descend(yyjson_val *schema, const char *name)
{
    yyjson_val *properties = yyjson_obj_get(schema, "properties");

    if (yyjson_obj_size(properties))
        return yyjson_obj_get(properties, name);
    yyjson_val *values = yyjson_obj_get(schema, "additionalProperties");
    return yyjson_is_obj(values) ? values : NULL;
}

/* Whether a fieldPath leads to a field (apiextensions-apiserver/pkg/apiserver/schema/cel/
 * validation.go: ValidFieldPath). */
static bool is_valid_path(yyjson_val *schema, const char *path, struct ek_arena *arena)
{
    const char *token;

    while ((token = next_token(&path, arena))) {
        const char *name = NULL;
        if (!strcmp(token, ".")) {
            name = next_token(&path, arena);
        } else if (!strcmp(token, "[") && (token = next_token(&path, arena))) {
            name = unquote(token, arena);
            token = next_token(&path, arena);
            if (!token || strcmp(token, "]") != 0)
                return false;
        }
        schema = name ? descend(schema, name) : NULL;
        if (!schema)
            return false;
    }
    return true;
}

static void lint_texts(struct linter *l, yyjson_val *rule, const char *path)
{
    const char *text = trimmed(l, ek_json_text(rule, "rule"));
    const char *message = ek_json_text(rule, "message"), *shown = trimmed(l, message);
    const char *expression = ek_json_text(rule, "messageExpression");

    if (!*text)
        ek_field_required(&l->fields, "rule is not specified", "%s.rule", path);
    else if (*message && !*shown)
        ek_field_invalid(&l->fields, ek_field_quote(&l->fields, message),
                         "must be non-empty if specified", "%s.message", path);
    else if (has_lines(shown))
        ek_field_invalid(&l->fields, ek_field_quote(&l->fields, message),
                         "must not contain line breaks", "%s.message", path);
    else if (has_lines(text) && !*shown)
        ek_field_required(&l->fields, "message must be specified if rule contains line breaks",
                          "%s.message", path);
    if (*expression && is_blank(expression))
        ek_field_required(&l->fields, "messageExpression must be non-empty if specified",
                          "%s.messageExpression", path);
}

static void lint_fields(struct linter *l, yyjson_val *schema, yyjson_val *rule, const char *path)
{
    yyjson_val *reason = yyjson_obj_get(rule, "reason");
    const char *field_path = ek_json_text(rule, "fieldPath");
    const char *quoted = ek_field_quote(&l->fields, field_path);

    lint_texts(l, rule, path);
    if (yyjson_is_str(reason) && !ek_is_one_of(yyjson_get_str(reason), reasons))
        ek_field_unsupported(&l->fields, yyjson_get_str(reason), reasons, "%s.reason", path);
    if (!*field_path)
        return;
    if (is_blank(field_path))
        ek_field_invalid(&l->fields, quoted, "must be non-empty if specified", "%s.fieldPath",
                         path);
    if (has_lines(field_path))
        ek_field_invalid(&l->fields, quoted, "must not contain line breaks", "%s.fieldPath", path);
    if (!is_valid_path(schema, field_path, l->arena))
        ek_field_invalid(&l->fields, quoted, "must be a valid path", "%s.fieldPath", path);
}

/* ---- The walk ---- */

static void walk(struct linter *l, const struct place *at);

/* How many values of its children a value of the schema may have at most. */
static bool children_of(yyjson_val *schema, uint64_t *ret)
{
    const char *type = ek_json_text(schema, "type"), *bound = NULL;
    yyjson_val *v;

    if (!strcmp(type, "array"))
        bound = "maxItems";
    else if (!strcmp(type, "object") && yyjson_obj_get(schema, "additionalProperties"))
        bound = "maxProperties";
    *ret = 1;
    if (!bound)
        return true;
    v = yyjson_obj_get(schema, bound);
    *ret = yyjson_is_sint(v) && yyjson_get_sint(v) < 0 ? 0 : yyjson_get_uint(v);
    return yyjson_is_int(v);
}

/* Goes down to a child. A declaration that the parent does not have, because the name cannot be
 * written in CEL, is made of the child alone. */
static void go_down(struct linter *l, const struct place *at, yyjson_val *schema, const char *path,
                    const struct ek_decl *decl, const char *uncorrelatable)
{
    uint64_t factor;
    struct place child = {.schema = schema, .path = path, .decl = decl};

    if (!yyjson_is_obj(schema))
        return;
    child.is_root = yyjson_is_true(yyjson_obj_get(schema, "x-kubernetes-embedded-resource"));
    child.bounded = at->bounded && children_of(at->schema, &factor);
    child.cardinality = child.bounded ? product(at->cardinality, factor) : 0;
    child.uncorrelatable = at->uncorrelatable ? at->uncorrelatable : uncorrelatable;
    walk(l, &child);
}

static void walk_properties(struct linter *l, const struct place *at)
{
    yyjson_val *properties = yyjson_obj_get(at->schema, "properties"), *key, *v;
    size_t i, n, next = 0;

    ek_json_each_member(properties, i, n, key, v)
    {
        const char *name = yyjson_get_str(key);
        go_down(l, at, v, ek_arena_printf(l->arena, "%s.properties[%s]", at->path, name),
                ek_decl_property(at->decl, name, &next), NULL);
    }
}

static void walk(struct linter *l, const struct place *at)
{
    yyjson_val *rules = yyjson_obj_get(at->schema, "x-kubernetes-validations"), *rule;
    size_t errors = l->fields.n, i, n;

    if (l->depth >= DEPTH_MAX)
        unchecked(l, at->path, "the schema is too deep: rules below are not checked");
    if (l->depth >= DEPTH_MAX || ek_arena_exhausted(l->arena))
        return;
    l->depth++;
    go_down(l, at, yyjson_obj_get(at->schema, "additionalProperties"),
            ek_arena_printf(l->arena, "%s.additionalProperties", at->path),
            ek_decl_element(at->decl), NULL);
    walk_properties(l, at);
    go_down(l, at, yyjson_obj_get(at->schema, "items"),
            ek_arena_printf(l->arena, "%s.items", at->path), ek_decl_element(at->decl),
            strcmp(ek_json_text(at->schema, "x-kubernetes-list-type"), "map") != 0 ? at->path
                                                                                   : NULL);
    yyjson_arr_foreach(rules, i, n, rule)
    {
        lint_fields(l, at->schema, rule,
                    ek_arena_printf(l->arena, "%s.x-kubernetes-validations[%zu]", at->path, i));
        l->rules++;
    }
    /* With an error here or below, the API server does not look at the expressions. */
    if (yyjson_arr_size(rules) && l->fields.n == errors) {
        struct place exposed = *at;
        if (!exposed.decl)
            exposed.decl = ek_decl_of(at->schema, at->is_root, l->arena);
        compile_rules(l, &exposed, rules);
    }
    l->depth--;
}

/* ---- All ---- */

static void take(struct linter *l, const struct ek_field_errors *errors)
{
    for (size_t i = 0; i < errors->n && l->n < EK_DEFINITION_PROBLEMS_MAX; i++) {
        const char *colon = strstr(errors->texts[i], ": ");
        l->list[l->n++] = (struct ek_definition_problem){
            colon ? ek_arena_strndup(l->arena, errors->texts[i], (size_t)(colon - errors->texts[i]))
                  : "",
            colon ? colon + 2 : errors->texts[i], false};
    }
}

static void lint_version(struct linter *l, yyjson_val *schema, size_t index)
{
    const char *path =
        ek_arena_printf(l->arena, "spec.versions[%zu].schema.openAPIV3Schema", index);
    const struct place root = {.schema = schema,
                               .path = path,
                               .decl = ek_decl_of(schema, true, l->arena),
                               .is_root = true,
                               .bounded = true,
                               .cardinality = 1};

    l->fields = (struct ek_field_errors){.arena = l->arena};
    l->expressions = (struct ek_field_errors){.arena = l->arena};
    l->total = 0;
    l->n_expensive = 0;
    walk(l, &root);
    for (size_t i = 0; l->total > DEFINITION_COST_MAX && i < l->n_expensive; i++)
        ek_field_forbidden(&l->expressions,
                           "contributed to estimated rule cost total exceeding cost limit for "
                           "entire OpenAPIv3 schema",
                           "%s", l->expensive[i].field);
    if (l->total > DEFINITION_COST_MAX)
        ek_field_forbidden(&l->expressions,
                           cost_text(l,
                                     "x-kubernetes-validations estimated rule cost total for "
                                     "entire OpenAPIv3 schema",
                                     l->total, DEFINITION_COST_MAX),
                           "%s", path);
    take(l, &l->fields);
    take(l, &l->expressions);
}

/* Whether the schema is that of an earlier version, which then has the problems. */
static bool is_repeated(yyjson_val *const *earlier, size_t n, yyjson_val *schema)
{
    bool repeated = false;

    for (size_t i = 0; i < n && !repeated; i++)
        repeated = ek_json_equal(schema, earlier[i]);
    return repeated;
}

int ek_definition_lint(yyjson_val *crd, int compat_minor, struct ek_arena *arena,
                       struct ek_definition_report *ret)
{
    struct linter l = {.arena = arena, .compat_minor = compat_minor, .left = DECLARED_MAX};
    yyjson_val *earlier[COMPARED_MAX], *version;
    size_t n_earlier = 0, i, n;

    *ret = (struct ek_definition_report){0};
    l.list = ek_arena_try(arena, EK_DEFINITION_PROBLEMS_MAX * sizeof *l.list);
    if (!l.list)
        return EK_E_LIMIT;
    l.fields = (struct ek_field_errors){.arena = arena};
    ek_validate_object_meta(&l.fields, yyjson_obj_get(crd, "metadata"), "metadata");
    take(&l, &l.fields);
    yyjson_arr_foreach(ek_json_get(crd, "spec", "versions", NULL), i, n, version)
    {
        yyjson_val *schema = ek_json_get(version, "schema", "openAPIV3Schema", NULL);
        if (!yyjson_is_obj(schema) || is_repeated(earlier, n_earlier, schema))
            continue;
        if (n_earlier < COMPARED_MAX)
            earlier[n_earlier++] = schema;
        lint_version(&l, schema, i);
    }
    *ret = (struct ek_definition_report){l.list, l.n, l.rules};
    return ek_arena_exhausted(arena) ? EK_E_LIMIT : 0;
}
