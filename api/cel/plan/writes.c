/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the value of an expression would write if it were applied to an object. As with reads, what
 * is said may be too much, never too little: what is no literal counts as written with all below.
 */
#include <string.h>

#include "api/cel/eval/flat.h"
#include "api/cel/plan/plan.h"
#include "api/cel/syntax/parse.h"

/* Memory for parsing a text once more; it was compiled with less. */
#define MEMORY_MAX ((size_t)512 << 20)

#define PATH_MAX_LEN ((size_t)16 * 1024)

/* Nodes that are looked at; a text that macros blow up has more. */
#define LOOKS_MAX 100000u

struct writes {
    void (*add)(void *arg, const char *path);
    void *arg;
    struct ek_buf path;
    uint32_t looks;
};

static void look(struct writes *w, const struct ek_cel_node *node);

static void report(struct writes *w)
{
    w->add(w->arg, ek_buf_str(&w->path));
}

/* Looks at node one step below; name NULL is any. */
static void look_below(struct writes *w, const char *name, size_t len,
                       const struct ek_cel_node *node)
{
    size_t before = w->path.len;

    ek_cel_path_push(&w->path, name, (uint32_t)len);
    look(w, node);
    w->path.len = before;
    if (w->path.data)
        w->path.data[before] = '\0';
}

/* ---- JSON patches ---- */

static bool is_text(const struct ek_cel_node *node)
{
    return node->kind == EK_CEL_N_LITERAL && node->literal.kind == EK_CEL_STRING;
}

static bool is_call(const struct ek_cel_node *node, const char *function, uint32_t n)
{
    return node->kind == EK_CEL_N_CALL && node->call.n == n &&
           strcmp(node->call.function, function) == 0;
}

static bool is_escape(const struct ek_cel_node *node)
{
    return is_call(node, "escapeKey", 1) && node->call.target &&
           node->call.target->kind == EK_CEL_N_IDENT &&
           !strcmp(node->call.target->ident, "jsonpatch") && is_text(node->call.args[0]);
}

static void escape(struct ek_buf *out, const struct ek_cel_val *text)
{
    for (uint32_t i = 0; i < text->n; i++) {
        if (text->s[i] == '~' || text->s[i] == '/')
            ek_buf_puts(out, text->s[i] == '~' ? "~0" : "~1");
        else
            ek_buf_append(out, &text->s[i], 1);
    }
}

/* Appends the constant start of a text; false when there is more that is not known. */
static bool constant_start(const struct ek_cel_node *node, struct ek_buf *out)
{
    if (is_text(node)) {
        ek_buf_append(out, node->literal.s, node->literal.n);
        return true;
    }
    if (is_escape(node)) {
        escape(out, &node->call.args[0]->literal);
        return true;
    }
    return is_call(node, EK_CEL_OP_ADD, 2) && constant_start(node->call.args[0], out) &&
           constant_start(node->call.args[1], out);
}

static bool is_index(const char *token, size_t len)
{
    size_t i = len && *token == '-';

    if (len == 1 && i)
        return true;
    while (i < len && token[i] >= '0' && token[i] <= '9')
        i++;
    return len && i == len;
}

/* Reports the path of a pointer; whole is true when the path is complete; a token that is not known
 * to its end is any. */
static void report_pointer(struct writes *w, char *pointer, bool whole)
{
    char *token = strchr(pointer, '/');

    while (token) {
        char *next = strchr(++token, '/'), *to = token;
        bool known = next || whole;
        if (next)
            *next = '\0';
        size_t len = strlen(token);
        bool index = is_index(token, len);
        for (const char *from = token; *from; from++) {
            bool escaped = *from == '~' && (from[1] == '0' || from[1] == '1');
            *to++ = escaped ? (from[1] == '0' ? '~' : '/') : *from;
            from += escaped;
        }
        ek_cel_path_push(&w->path, known && !index ? token : NULL, (uint32_t)(to - token));
        token = next;
    }
    report(w);
    ek_buf_reset(&w->path);
}

static void look_at_text(struct writes *w, const struct ek_cel_node *node)
{
    EK_AUTO(ek_buf) pointer;

    ek_buf_init(&pointer, PATH_MAX_LEN);
    bool whole = constant_start(node, &pointer) && !pointer.failed;
    if (pointer.len)
        report_pointer(w, pointer.data, whole);
    else
        report(w);
}

static void look_at_pointer(struct writes *w, const struct ek_cel_node *node)
{
    if (!is_call(node, EK_CEL_OP_CONDITIONAL, 3)) {
        look_at_text(w, node);
        return;
    }
    look_at_pointer(w, node->call.args[1]);
    look_at_pointer(w, node->call.args[2]);
}

static const struct ek_cel_node *field(const struct ek_cel_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->object.n; i++)
        if (!strcmp(node->object.fields[i].name, name))
            return node->object.fields[i].value;
    return NULL;
}

static bool is_op(const struct ek_cel_node *op, const char *name)
{
    return op && is_text(op) && op->literal.n == strlen(name) &&
           memcmp(op->literal.s, name, op->literal.n) == 0;
}

static void look_at_operation(struct writes *w, const struct ek_cel_node *node)
{
    const struct ek_cel_node *op = field(node, "op"), *path = field(node, "path");
    const struct ek_cel_node *from = field(node, "from");
    struct ek_buf outer = w->path;

    if (is_op(op, "test"))
        return;
    ek_buf_init(&w->path, PATH_MAX_LEN);
    if (path)
        look_at_pointer(w, path);
    if (from && !is_op(op, "copy"))
        look_at_pointer(w, from);
    ek_buf_done(&w->path);
    w->path = outer;
}

/* ---- Objects ---- */

static void look_at_struct(struct writes *w, const struct ek_cel_node *node)
{
    if (!strcmp(node->object.name + (*node->object.name == '.'), "JSONPatch")) {
        look_at_operation(w, node);
        return;
    }
    for (uint32_t i = 0; i < node->object.n; i++) {
        const struct ek_cel_field_init *init = &node->object.fields[i];
        look_below(w, init->name, strlen(init->name), init->value);
    }
}

static void look_at_map(struct writes *w, const struct ek_cel_node *node)
{
    if (node->map.n == 0)
        report(w);
    for (uint32_t i = 0; i < node->map.n; i++) {
        const struct ek_cel_node *key = node->map.entries[i].key;
        bool known = is_text(key);
        look_below(w, known ? key->literal.s : NULL, known ? key->literal.n : 0,
                   node->map.entries[i].value);
    }
}

/* Items of patches stand for themselves, those of other lists are one step down. */
static void look_at_list(struct writes *w, const struct ek_cel_node *node)
{
    if (node->list.n == 0 && w->path.len)
        report(w);
    for (uint32_t i = 0; i < node->list.n; i++) {
        const struct ek_cel_node *item = node->list.items[i];
        bool patch = item->kind == EK_CEL_N_STRUCT &&
                     !strcmp(item->object.name + (*item->object.name == '.'), "JSONPatch");
        if (patch)
            look_at_operation(w, item);
        else
            look_below(w, NULL, 0, item);
    }
}

static bool is_false(const struct ek_cel_node *node)
{
    return node->kind == EK_CEL_N_LITERAL && node->literal.kind == EK_CEL_BOOL && !node->literal.b;
}

static bool is_name(const struct ek_cel_node *node, const char *name)
{
    return node->kind == EK_CEL_N_IDENT && !strcmp(node->ident, name);
}

/* map, filter and their like gather a list in steps; cel.bind, whose loop never runs, is what its
 * result is. */
static void look_at_fold(struct writes *w, const struct ek_cel_node *node)
{
    if (is_false(node->fold.condition)) {
        look(w, node->fold.result);
        return;
    }
    if (!is_name(node->fold.result, node->fold.accu)) {
        report(w);
        return;
    }
    if (node->fold.init->kind != EK_CEL_N_LIST || node->fold.init->list.n)
        look(w, node->fold.init);
    look(w, node->fold.step);
}

/* Calls whose value is one of some arguments, or all of them together. */
static const struct through {
    const char *function;
    uint32_t n, first; /* arguments, and the first that counts */
    bool target;       /* so does the target */
} throughs[] = {
    {EK_CEL_OP_CONDITIONAL, 3, 1, false},
    {EK_CEL_OP_ADD, 2, 0, false},
    {"optional.of", 1, 0, false},
    {"optional.ofNonZeroValue", 1, 0, false},
    {"dyn", 1, 0, false},
    {"or", 1, 0, true},
    {"orValue", 1, 0, true},
};

static bool is_member_of(const struct ek_cel_node *node, const char *target, const char *function)
{
    return node->call.target && node->call.target->kind == EK_CEL_N_IDENT &&
           !strcmp(node->call.target->ident, target) && !strcmp(node->call.function, function);
}

static void look_at_call(struct writes *w, const struct ek_cel_node *node)
{
    bool of_optional =
        is_member_of(node, "optional", "of") || is_member_of(node, "optional", "ofNonZeroValue");

    if (of_optional && node->call.n == 1) {
        look(w, node->call.args[0]);
        return;
    }
    for (size_t i = 0; i < sizeof throughs / sizeof throughs[0]; i++) {
        const struct through *t = &throughs[i];
        if (!is_call(node, t->function, t->n) || (node->call.target != NULL) != t->target)
            continue;
        if (t->target)
            look(w, node->call.target);
        for (uint32_t a = t->first; a < t->n; a++)
            look(w, node->call.args[a]);
        return;
    }
    report(w);
}

static void look(struct writes *w, const struct ek_cel_node *node)
{
    if (w->looks++ >= LOOKS_MAX)
        return;
    switch ((enum ek_cel_node_kind)node->kind) {
    case EK_CEL_N_STRUCT:
        look_at_struct(w, node);
        break;
    case EK_CEL_N_MAP:
        look_at_map(w, node);
        break;
    case EK_CEL_N_LIST:
        look_at_list(w, node);
        break;
    case EK_CEL_N_FOLD:
        look_at_fold(w, node);
        break;
    case EK_CEL_N_CALL:
        look_at_call(w, node);
        break;
    case EK_CEL_N_IDENT: /* the list that a loop gathers adds nothing of its own */
        if (strcmp(node->ident, "@result") != 0)
            report(w);
        break;
    case EK_CEL_N_SELECT:
    case EK_CEL_N_LITERAL:
        report(w);
        break;
    }
}

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    return ek_cel_env_macro(arg, name, member, n);
}

int ek_cel_program_writes(const struct ek_cel_program *program,
                          void (*add)(void *arg, const char *path), void *arg)
{
    const struct ek_cel_env_rules *rules = ek_cel_env_rules(program->env);
    const struct ek_cel_parse_options options = {
        .find_macro = find_macro,
        .find_macro_arg = program->env,
        .optional_syntax = rules->optional_syntax,
        .backticks = rules->backticks,
    };
    struct writes w = {.add = add, .arg = arg};
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_arena *arena = ek_arena_new(MEMORY_MAX);
    struct ek_cel_ast ast;

    int rc = ek_cel_parse(program->text, strlen(program->text), &options, arena, &ast, &issues);
    ek_buf_init(&w.path, PATH_MAX_LEN);
    if (!rc)
        look(&w, ast.root);
    if (!rc && (w.looks >= LOOKS_MAX || w.path.failed))
        rc = EK_E_LIMIT;
    ek_buf_done(&w.path);
    ek_arena_free(arena);
    return rc;
}
