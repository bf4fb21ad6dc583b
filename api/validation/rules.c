/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of x-kubernetes-validations: apiextensions-apiserver 1.36,
 * pkg/apiserver/schema/cel/{compilation,validation}.go. */
#include <string.h>

#include "api/base/words.h"
#include "api/cel/text/field.h"
#include "api/obj.h"
#include "api/validation/validation-internal.h"

/* apiserver/pkg/apis/cel/config.go: RuntimeCELCostBudget, MaxEvaluatedMessageExpressionSizeBytes.
 */
#define OBJECT_BUDGET 10000000u
#define MESSAGE_MAX   ((size_t)5 * 1024)

/* Of the text of a rule in an error. A message has at most 2048 characters in an API server
 * (apiextensions pkg/apis/apiextensions/validation/validation.go). */
#define RULE_TEXT_MAX ((size_t)16 * 1024)

#define SCRATCH_MAX ((size_t)16 << 20) /* memory of the rules of one value */

enum { SLOT_SELF, SLOT_OLD_SELF, N_SLOTS };

/* ---- Compiling ---- */

#define LOOKED_AT_MAX 4096 /* nodes of a schema below one path */

/* Whether lists of a schema are sets or maps. */
static bool is_unordered(yyjson_val *schema)
{
    const char *type = ek_json_text(schema, "x-kubernetes-list-type");

    return !strcmp(type, "set") || !strcmp(type, "map");
}

/* Whether rules have a field under its own name. */
static bool is_plain_name(yyjson_val *name)
{
    struct ek_arena *arena = ek_arena_new(EK_BUF_SMALL_MAX);
    const struct ek_str is = {yyjson_get_str(name), yyjson_get_len(name)};
    const char *escaped = is.p ? ek_cel_escaped_name(is, arena) : NULL;
    bool plain = escaped && !strcmp(escaped, is.p);

    ek_arena_free(arena);
    return plain;
}

/* Whether an API server compares sets or maps of a schema by something else than what identifies
 * the items here: the text of times, numbers that are integers, and keys under the names that rules
 * have for them (apiserver/pkg/cel/common/values.go: unstructuredSetList, unstructuredMapList). */
static bool is_odd(yyjson_val *schema)
{
    static const char *const formats[] = {"byte", "date", "date-time", "duration", NULL};
    yyjson_val *items = yyjson_obj_get(schema, "items"), *key;
    size_t i, n;

    if (!is_unordered(schema))
        return false;
    yyjson_arr_foreach(yyjson_obj_get(schema, "x-kubernetes-list-map-keys"), i, n, key)
    {
        if (!is_plain_name(key))
            return true;
    }
    return !strcmp(ek_json_text(items, "type"), "number") ||
           ek_is_one_of(ek_json_text(items, "format"), formats);
}

/* True where a list of which that is true is in the schema, or may be. */
static bool has_list(yyjson_val *schema, bool (*is)(yyjson_val *), size_t *n_seen)
{
    static const char *const parts[] = {"items", "additionalProperties"};
    yyjson_val *key, *value;
    size_t i, n;

    if (!yyjson_is_obj(schema))
        return false;
    if (++*n_seen > LOOKED_AT_MAX || is(schema))
        return true;
    for (i = 0; i < EK_ARRAY_SIZE(parts); i++)
        if (has_list(yyjson_obj_get(schema, parts[i]), is, n_seen))
            return true;
    ek_json_each_member(yyjson_obj_get(schema, "properties"), i, n, key, value)
    {
        if (has_list(value, is, n_seen))
            return true;
    }
    return false;
}

/* Appends a field's name of the schema for its name in rules (apiserver/pkg/cel/escaping.go:
 * Unescape). */
static void put_field(struct ek_buf *out, const char *name, size_t len)
{
    static const char *const escapes[][2] = {
        {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
    bool is_escaped = false;

    for (size_t i = 0; i < len;) {
        size_t k = 0;
        while (k < EK_ARRAY_SIZE(escapes) &&
               strncmp(name + i, escapes[k][0], strlen(escapes[k][0])) != 0)
            k++;
        bool is_one = k < EK_ARRAY_SIZE(escapes) && strlen(escapes[k][0]) <= len - i;
        ek_buf_append(out, is_one ? escapes[k][1] : name + i, is_one ? strlen(escapes[k][1]) : 1);
        i += is_one ? strlen(escapes[k][0]) : 1;
        is_escaped |= is_one;
    }
    if (is_escaped || len <= 4 || memcmp(name, "__", 2) != 0 ||
        memcmp(name + len - 2, "__", 2) != 0)
        return;
    ek_buf_reset(out); /* a word that CEL reserves */
    ek_buf_append(out, name + 2, len - 4);
}

static yyjson_val *field_of(yyjson_val *schema, const char *name, size_t len)
{
    bool is_key;
    EK_AUTO(ek_buf) field;

    ek_buf_init(&field, EK_BUF_SMALL_MAX);
    put_field(&field, name, len);
    return ek_vmember__(NULL, schema, (struct ek_str){ek_buf_str(&field), field.len}, &is_key);
}

/* True for a path of a read that ends at a value with a list of which that is true, or that cannot
 * be followed. Paths are those of ek_cel_program_reads. */
static bool ends_at_list(yyjson_val *schema, const char *path, bool (*is)(yyjson_val *))
{
    static const char *const identity[] = {"apiVersion", "kind", "metadata"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(identity); i++) {
        size_t len = strlen(identity[i]);
        if (!strncmp(path, identity[i], len) && (!path[len] || strchr(".[", path[len])))
            return false;
    }
    while (*path) {
        if (!schema)
            return true;
        if (!strncmp(path, "[*]", 3)) {
            yyjson_val *items = yyjson_obj_get(schema, "items");
            schema = items ? items : yyjson_obj_get(schema, "additionalProperties");
            path += 3;
            continue;
        }
        path += *path == '.';
        size_t len = strcspn(path, ".[");
        if (!len)
            return true; /* a quoted name: not followed */
        schema = field_of(schema, path, len);
        path += len;
    }
    size_t n_seen = 0;
    return !schema || has_list(schema, is, &n_seen);
}

static bool has_comparison(const char *text)
{
    return strstr(text, "==") || strstr(text, "!=");
}

/* Lists of sets and of maps are equal in any order, and their sum has each item once. CEL here adds
 * them as lists, and does not compare the odd ones. */
static bool is_undecided(const struct ek_cel_program *program, yyjson_val *schema, const char *text)
{
    const struct ek_cel_read *reads;
    size_t n = ek_cel_program_reads(program, &reads), n_seen = 0;
    bool adds = strchr(text, '+');

    if (!adds && (!has_comparison(text) || !has_list(schema, is_odd, &n_seen)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (reads[i].slot < N_SLOTS &&
            ends_at_list(schema, reads[i].path, adds ? is_unordered : is_odd))
            return true;
    return false;
}

static int make_env(struct ek_validator *v)
{
    const struct ek_cel_env_options options = {.set = EK_CEL_ENV_KUBERNETES, .mode = EK_CEL_STORED};

    if (v->env)
        return 0;
    v->env = ek_cel_env_new(&options, NULL);
    if (!v->env || ek_cel_env_declare(v->env, "self", "dyn", NULL) != SLOT_SELF ||
        ek_cel_env_declare(v->env, "oldSelf", "dyn", NULL) != SLOT_OLD_SELF)
        return EK_E_NOMEM;
    return 0;
}

static void compile_rule(struct ek_validator *v, yyjson_val *schema, yyjson_val *declared,
                         struct ek_vrule *rule)
{
    const char *text = ek_json_text(declared, "rule");
    const char *message = ek_json_text(declared, "messageExpression");
    EK_AUTO(ek_cel_issues) issues = {0};

    rule->rule = declared;
    rule->program = ek_cel_compile(v->env, text, strlen(text), NULL, &issues);
    if (!rule->program) {
        rule->why = issues.len && !ek_arena_exhausted(v->arena)
                        ? ek_arena_strdup(v->arena, issues.list[0].message)
                        : "no memory";
        return;
    }
    rule->reads_old = ek_cel_program_uses(rule->program, SLOT_OLD_SELF);
    rule->is_optional = yyjson_is_true(yyjson_obj_get(declared, "optionalOldSelf"));
    rule->is_undecided = is_undecided(rule->program, schema, text);
    if (*message)
        rule->message = ek_cel_compile(v->env, message, strlen(message), NULL, NULL);
    rule->message_reads_old = rule->message && ek_cel_program_uses(rule->message, SLOT_OLD_SELF);
}

int ek_vrules_compile__(struct ek_validator *v, struct ek_vnode *node)
{
    yyjson_val *list = yyjson_obj_get(node->schema, "x-kubernetes-validations"), *declared;
    size_t i, n;
    int rc = make_env(v);

    if (rc)
        return rc;
    node->rules = ek_arena_try(v->arena, yyjson_arr_size(list) * sizeof *node->rules);
    if (!node->rules)
        return EK_E_LIMIT;
    memset(node->rules, 0, yyjson_arr_size(list) * sizeof *node->rules);
    yyjson_arr_foreach(list, i, n, declared)
    {
        if (!*ek_json_text(declared, "rule"))
            continue;
        struct ek_vrule *rule = &node->rules[node->n_rules++];
        compile_rule(v, node->schema, declared, rule);
        node->reads_old |= rule->reads_old;
        node->compares |= has_comparison(ek_json_text(declared, "rule")) ||
                          has_comparison(ek_json_text(declared, "messageExpression"));
    }
    return 0;
}

void ek_vrules_done__(struct ek_vnode *node)
{
    for (size_t i = 0; i < node->n_rules; i++) {
        ek_cel_program_unref(node->rules[i].program);
        ek_cel_program_unref(node->rules[i].message);
    }
}

/* ---- Evaluating ---- */

/* A value that rules are evaluated for. */
struct judged {
    const struct ek_vnode *node;
    yyjson_val *value;
    struct ek_cel_val self, old_self; /* of the scratch of the walk */
    bool has_old;                     /* there is a value before, and a rule reads it */
    /* What rules without oldSelf may say if it is as before: the value, or in lists whose items are
     * not known by keys and below what is new, the nearest one above with a value before. */
    struct ek_vbefore *was;
    const struct ek_vpath *path;
};

static bool is_over(void *arg)
{
    return !ek_work_do(arg, 100);
}

static bool evaluate(struct ek_vwalk *w, const struct ek_cel_program *program,
                     const struct ek_cel_val *vars, struct ek_cel_result *ret)
{
    const struct ek_cel_limits limits = {.cost = EK_CEL_PER_CALL_LIMIT,
                                         .budget = &w->budget,
                                         .canceled = w->work ? is_over : NULL,
                                         .canceled_arg = w->work};

    return ek_cel_eval(program, vars, w->scratch, &limits, ret);
}

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without white space around it. */
static const char *trimmed(struct ek_vwalk *w, const char *s, size_t len)
{
    while (len && is_white(*s)) {
        s++;
        len--;
    }
    while (len && is_white(s[len - 1]))
        len--;
    return ek_arena_strndup(w->arena, s, len < RULE_TEXT_MAX ? len : RULE_TEXT_MAX);
}

static const char *rule_text(struct ek_vwalk *w, const struct ek_vrule *rule)
{
    const char *text = ek_json_text(rule->rule, "message");

    if (!*text)
        text = ek_json_text(rule->rule, "rule");
    return trimmed(w, text, strlen(text));
}

/* What a rule says of a value that breaks it. For a messageExpression oldSelf is no optional, and
 * not there where it has no value (validation.go:validateExpressions). */
static const char *detail_of(struct ek_vwalk *w, const struct ek_vrule *rule,
                             const struct judged *of)
{
    const char *message = ek_json_text(rule->rule, "message");
    const struct ek_cel_val vars[N_SLOTS] = {of->self, of->old_self};
    bool can = rule->message && (of->has_old || !rule->message_reads_old);
    struct ek_cel_result result;

    if (can && !w->hides && evaluate(w, rule->message, vars, &result) &&
        result.value.kind == EK_CEL_STRING) {
        const char *text = trimmed(w, result.value.s, result.value.n);
        if (*text && strlen(text) <= MESSAGE_MAX && !strchr(text, '\n'))
            return text;
    }
    return *message ? rule_text(w, rule)
                    : ek_arena_printf(w->arena, "failed rule: %s", rule_text(w, rule));
}

static void refuse(struct ek_vwalk *w, const struct ek_vrule *rule, const struct judged *of)
{
    const char *reason = ek_json_text(rule->rule, "reason"), *below;
    yyjson_val *value = of->value;

    if (!rule->reads_old && ek_vsame__(w, of->was))
        return;
    if (!ek_vkeeps__(w)) {
        ek_verror__(w, "", "%s", "");
        return;
    }
    const char *detail = detail_of(w, rule, of), *at = ek_vpath_text__(w, of->path, true);

    below = ek_json_text(rule->rule, "fieldPath");
    below += *below == '.';
    if (*below)
        at = ek_arena_printf(w->arena, "%s%s%s", at, *at ? "." : "", below);
    if (!strcmp(reason, "FieldValueForbidden"))
        ek_verror__(w, at, "Forbidden: %s", detail);
    else if (!strcmp(reason, "FieldValueRequired"))
        ek_verror__(w, at, "Required value: %s", detail);
    else if (!strcmp(reason, "FieldValueDuplicate") && !yyjson_is_ctn(value))
        ek_verror__(w, at, "Duplicate value: %s", ek_vtext__(w, value));
    else if (!strcmp(reason, "FieldValueDuplicate"))
        ek_verror__(w, at, "Duplicate value");
    else if (yyjson_is_ctn(value))
        ek_verror__(w, at, "Invalid value: %s", detail);
    else
        ek_verror__(w, at, "Invalid value: %s: %s", ek_vtext__(w, value), detail);
}

/* A rule that did not evaluate to a boolean. */
static void fail(struct ek_vwalk *w, yyjson_val *schema, const struct ek_vrule *rule,
                 const struct ek_cel_val *value, const struct ek_vpath *path)
{
    const char *type = ek_json_text(schema, "type");
    enum ek_cel_error_kind kind =
        value->kind == EK_CEL_ERROR ? value->fault->kind : EK_CEL_E_MEMORY;

    if (kind == EK_CEL_E_COST) {
        w->is_spent = true;
        ek_verror__(
            w, ek_vpath_text__(w, path, true),
            "Invalid value: \"%s\": validation failed due to running out of cost budget, no "
            "further validation rules will be run",
            type);
    } else if (kind == EK_CEL_E_EVAL && !ek_vkeeps__(w)) {
        ek_verror__(w, "", "%s", "");
    } else if (kind == EK_CEL_E_EVAL) {
        ek_verror__(w, ek_vpath_text__(w, path, true),
                    "Invalid value: \"%s\": %s evaluating rule: %s", type,
                    w->hides ? "error" : value->fault->message, rule_text(w, rule));
    } else if (!*w->unknown) {
        ek_vunknown__(w, path, "a rule cannot be evaluated: %s", rule_text(w, rule));
    }
}

static void check_rule(struct ek_vwalk *w, const struct ek_vrule *rule, const struct judged *of)
{
    struct ek_cel_val vars[N_SLOTS] = {of->self, of->old_self};
    struct ek_cel_result result;

    if (!rule->program) {
        ek_vunknown__(w, of->path, "a rule does not compile: %s", rule->why);
        return;
    }
    if (rule->reads_old && !of->has_old && !rule->is_optional)
        return;
    if (rule->is_undecided && *w->unknown)
        return;
    if (rule->is_undecided) {
        ek_vunknown__(w, of->path,
                      "a rule that adds lists without order, or compares lists of numbers or times "
                      "without order, is not evaluated: %s",
                      rule_text(w, rule));
        return;
    }
    if (rule->is_optional)
        vars[SLOT_OLD_SELF] = (struct ek_cel_val){.kind = EK_CEL_OPTIONAL,
                                                  .some = of->has_old ? &of->old_self : NULL};
    bool good = evaluate(w, rule->program, vars, &result) && result.value.kind == EK_CEL_BOOL;
    if (!good)
        fail(w, of->node->schema, rule, &result.value, of->path);
    else if (!result.value.b)
        refuse(w, rule, of);
}

/* The rules of a node of the schema at one value. old: NULL for a value that is new. */
static void check_node(struct ek_vwalk *w, struct judged *of, yyjson_val *old)
{
    bool is_root = of->path->step == EK_VSTEP_ROOT;
    const char *why, *why_old = NULL;

    ek_arena_reset(w->scratch);
    of->self = ek_vself__(w, of->node, of->value, is_root, &why);
    of->old_self = ek_cel_null();
    of->has_old = of->node->reads_old && old && !yyjson_is_null(old);
    if (of->has_old)
        of->old_self = ek_vself__(w, of->node, old, is_root, &why_old);
    if (why || why_old) {
        ek_vunknown__(w, of->path, "rules cannot be evaluated: %s", why ? why : why_old);
        return;
    }
    for (size_t i = 0; i < of->node->n_rules && !w->is_spent; i++)
        check_rule(w, &of->node->rules[i], of);
}

/* A value and all below it. old: what oldSelf is, NULL for none; was: as in struct judged. */
static void walk_rules(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, yyjson_val *old,
                       struct ek_vbefore *was, const struct ek_vpath *path);

static void walk_items(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, yyjson_val *old,
                       struct ek_vbefore *was, const struct ek_vpath *path)
{
    yyjson_val *items = yyjson_obj_get(schema, "items"), *item;
    struct ek_volds olds;
    size_t i, n;

    ek_volds_init__(&olds, w, schema, old);
    yyjson_arr_foreach(value, i, n, item)
    {
        const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
        struct ek_vbefore its = {.schema = items, .value = item};
        its.old = ek_volds_find__(&olds, w, item);
        walk_rules(w, items, item, its.old, its.old ? &its : was, &at);
    }
    ek_volds_done__(&olds);
}

static void walk_members(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, yyjson_val *old,
                         struct ek_vbefore *was, const struct ek_vpath *path)
{
    struct ek_members olds;
    yyjson_val *key, *member;
    size_t i, n;

    ek_members_init(&olds, old, w->work);
    ek_json_each_member(value, i, n, key, member)
    {
        struct ek_vpath at = {.up = path};
        bool is_key;
        at.name = (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)};
        yyjson_val *of = ek_vmember__(w->work, schema, at.name, &is_key);
        at.step = is_key ? EK_VSTEP_KEY : EK_VSTEP_FIELD;
        if (!of || !ek_vexposed__(of))
            continue;
        struct ek_vbefore its = {.schema = of, .value = member};
        its.old = ek_members_find(&olds, at.name);
        struct ek_vbefore *its_was = ek_vis_type__(&at) ? NULL : its.old ? &its : was;
        walk_rules(w, of, member, its.old, its_was, &at);
    }
    ek_members_done(&olds);
}

static void walk_rules(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value, yyjson_val *old,
                       struct ek_vbefore *was, const struct ek_vpath *path)
{
    struct judged of = {.value = value, .was = was, .path = path};

    if (!schema || yyjson_is_null(value) || w->is_spent || !ek_work_do(w->work, 1))
        return;
    of.node = ek_vnode_of__(w->validator, schema);
    if (of.node && of.node->n_rules)
        check_node(w, &of, old);
    if (yyjson_is_arr(value))
        walk_items(w, schema, value, old, was, path);
    else if (yyjson_is_obj(value))
        walk_members(w, schema, value, old, was, path);
}

void ek_vrules__(struct ek_vwalk *w, yyjson_val *object, yyjson_val *old)
{
    static const struct ek_vpath root = {.step = EK_VSTEP_ROOT};
    struct ek_vbefore was = {.schema = w->validator->is.schema, .old = old, .value = object};

    if (!w->validator->env)
        return;
    if (w->n_blocking) {
        ek_verror__(w, "",
                    "Invalid value: null: some validation rules were not checked because the "
                    "object was invalid; correct the existing errors to complete "
                    "validation");
        return;
    }
    w->scratch = ek_arena_new(SCRATCH_MAX);
    w->budget = OBJECT_BUDGET;
    w->is_spent = false;
    walk_rules(w, w->validator->is.schema, object, old, old ? &was : NULL, &root);
    ek_arena_free(w->scratch);
    w->scratch = NULL;
}
