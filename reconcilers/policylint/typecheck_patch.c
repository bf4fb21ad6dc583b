/* SPDX-License-Identifier: Apache-2.0 */
/* JSONPatch{...} literals, by their paths. */
#include <string.h>

#include "api/base/quote.h"
#include "reconcilers/mutation/scopes.h"
#include "reconcilers/policylint/typecheck-internal.h"

#define POINTER_MAX ((size_t)16 << 10) /* octets of a JSON pointer that are looked at */
#define DEPTH_MAX   128u               /* members that it goes down */

/* As in a JSON pointer. */
static void put_escaped(struct ek_buf *out, struct ek_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '~')
            ek_buf_puts(out, "~0");
        else if (s.p[i] == '/')
            ek_buf_puts(out, "~1");
        else
            ek_buf_append(out, s.p + i, 1);
}

/* Appends the constant start of a text; false when it goes on with data. */
static bool put_constant(struct ek_buf *out, const struct ek_cel_node *node)
{
    if (ek_type_is_text(node)) {
        ek_buf_append(out, node->literal.s, node->literal.n);
        return true;
    }
    if (node->kind == EK_CEL_N_CALL && !strcmp(node->call.function, EK_CEL_OP_ADD) &&
        node->call.n == 2)
        return put_constant(out, node->call.args[0]) && put_constant(out, node->call.args[1]);
    if (ek_type_is_call(node, "jsonpatch", "escapeKey") && node->call.n == 1 &&
        ek_type_is_text(node->call.args[0])) {
        put_escaped(out, ek_type_text(node->call.args[0]));
        return true;
    }
    return false;
}

/* In place. */
static struct ek_str unescape(char *token, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        bool escape =
            token[i] == '~' && i + 1 < len && (token[i + 1] == '0' || token[i + 1] == '1');
        token[n++] = escape ? token[i + 1] == '0' ? '~' : '/' : token[i];
        i += escape;
    }
    return (struct ek_str){token, n};
}

static bool is_index(struct ek_str s)
{
    size_t digits = 0, sign = s.len > 1 && s.p[0] == '-';

    for (size_t i = sign; i < s.len; i++)
        digits += s.p[i] >= '0' && s.p[i] <= '9';
    return ek_str_eq(s, EK_STR("-")) || (s.len > sign && digits == s.len - sign);
}

static struct ek_shape step(struct ek_typewalk *w, struct ek_shape at, struct ek_str token,
                            uint32_t position, enum ek_type_use use)
{
    const struct ek_schema_type *t = ek_type_of(&at);
    char where[EK_QUOTE_SIZE], what[EK_QUOTE_SIZE];
    struct ek_shape next;

    if (t && t->list != EK_LIST_NONE) {
        if (!is_index(token))
            ek_type_report(w, EK_TYPE_MISMATCH, position,
                           "%s is a list: a path goes on with an index or \"-\", not %s",
                           ek_quote_short(ek_str_from(at.path), where),
                           ek_quote_short(token, what));
        next = ek_type_item(w, &at);
        next.path = ek_type_text_of(w->to, "%s[%.*s]", at.path, (int)token.len, token.p);
        return next;
    }
    next = ek_type_member(w, &at, token, position, use);
    next.path = t || !is_index(token)
                    ? ek_type_join(w, at.path, token)
                    : ek_type_text_of(w->to, "%s[%.*s]", at.path, (int)token.len, token.p);
    return next;
}

/* Whether a field may be missing in a valid object. In built-in kinds these are the lists and maps:
 * a Go struct is there, empty. The fields of the object itself are there in nearly all objects. */
static bool may_be_absent(const struct ek_shape *above, struct ek_str name, unsigned depth)
{
    const struct ek_schema_type *t = ek_type_of(above), *of;
    const struct ek_schema_field *f = t ? ek_schema_field(above->schema, t, name) : NULL;

    if (!f || f->flags & EK_SCHEMA_REQUIRED || f->initial != EK_SCHEMA_NONE || depth < 2)
        return false;
    struct ek_shape member = {.kind = EK_SHAPE_TYPED, .schema = above->schema, .type = f->type};
    of = ek_type_of(&member);
    struct ek_str in = ek_schema_text(above->schema, t->name);
    bool built_in = in.len > 7 && !memcmp(in.p, "io.k8s.", 7);
    return of && (!built_in || of->list != EK_LIST_NONE || (of->map && !of->n_fields));
}

/* Whether the policy reads a path in any expression, or what is below or above it. */
static bool is_read(const struct ek_typewalk *w, const char *path)
{
    const struct ek_scopes *scopes = w->policy->scopes;
    const char *read = ek_type_text_of(w->to, "object.%s", path);

    for (size_t i = 0; i < scopes->n_reads; i++)
        if (ek_scopes_touch(scopes->reads[i], read))
            return true;
    return false;
}

/* Whether an operation before, or an earlier mutation, writes a path. */
static bool is_written(const struct ek_typewalk *w, const char *path, uint32_t position)
{
    for (size_t i = 0; i < w->to->n_writes; i++) {
        const struct ek_type_write *write = &w->to->writes[i];
        size_t len = strlen(write->path);
        bool above = !strncmp(write->path, path, len) && (!path[len] || strchr(".[", path[len]));
        if (write->mutation < w->mutation ? ek_scopes_touch(write->path, path)
                                          : above && write->position < position)
            return true;
    }
    return false;
}

/* Operations that fail, or do more on each run, unless the policy looks at the object before. */
static void check_blind(struct ek_typewalk *w, const struct ek_cel_node *path, const char *op,
                        const struct ek_shape *at, const char *absent)
{
    char where[EK_QUOTE_SIZE];
    size_t len = strlen(at->path);

    if (w->tests)
        return;
    if (absent && !is_read(w, absent) && !is_written(w, absent, path->position))
        ek_type_report(w, EK_TYPE_ABSENT, path->position,
                       "%s may be absent, and %s fails below what is absent: add the parent where "
                       "has() is false, or use an ApplyConfiguration",
                       ek_quote_short(ek_str_from(absent), where), op);
    if (len < 4 || strcmp(at->path + len - 3, "[-]") != 0 || strcmp(op, "add") != 0)
        return;
    const char *list = ek_type_text_of(w->to, "%.*s", (int)(len - 3), at->path);
    if (!is_read(w, list))
        ek_type_report(w, EK_TYPE_GROWS, path->position,
                       "each run adds an item to %s: nothing tests whether the item is there",
                       ek_quote_short(ek_str_from(list), where));
}

/* Follows a pointer; returns where it ends, *ret_whole false when it goes on with data, or is
 * deeper than objects are; *ret_absent (NULL before) the first step above its end that may be
 * absent. */
static struct ek_shape follow(struct ek_typewalk *w, const struct ek_cel_node *node,
                              enum ek_type_use use, bool *ret_whole, const char **ret_absent)
{
    struct ek_shape at = w->object, above;
    unsigned depth = 0;
    EK_AUTO(ek_buf) text;

    at.path = "";
    ek_buf_init(&text, POINTER_MAX);
    *ret_whole = put_constant(&text, node);
    /* A cut one is as far as it goes. */
    if (text.failed) {
        w->to->failed = w->to->failed || text.failed == EK_E_NOMEM;
        *ret_whole = false;
        return (struct ek_shape){.kind = EK_SHAPE_ANY, .path = ""};
    }
    for (char *p = text.len ? strchr(text.data, '/') : NULL; p;) {
        char *token = p + 1;
        size_t len = strcspn(token, "/");
        bool last = !token[len];
        if ((last && !*ret_whole) || ++depth > DEPTH_MAX) {
            *ret_whole = false;
            break;
        }
        above = at;
        struct ek_str name = unescape(token, len);
        at = step(w, at, name, node->position, use);
        if (!last && !*ret_absent && may_be_absent(&above, name, depth))
            *ret_absent = at.path;
        p = last ? NULL : token + len;
    }
    return at;
}

void ek_type_operation(struct ek_typewalk *w, const struct ek_cel_node *node)
{
    const struct ek_cel_node *path = NULL, *value = NULL, *op = NULL, *from = NULL;
    const char *absent = NULL;
    bool whole = false;

    for (uint32_t i = 0; i < node->object.n; i++) {
        const struct ek_cel_field_init *f = &node->object.fields[i];
        if (!strcmp(f->name, "path"))
            path = f->value;
        else if (!strcmp(f->name, "value"))
            value = f->value;
        else if (!strcmp(f->name, "op"))
            op = f->value;
        else if (!strcmp(f->name, "from"))
            from = f->value;
    }
    if (op)
        ek_type_infer(w, op);
    if (from) {
        ek_type_infer(w, from);
        follow(w, from, EK_TYPE_READS, &whole, &absent);
    }
    if (value && w->policy->behaviour != EK_POLICY_EXTENDED)
        ek_type_crash(w, value);
    if (!path)
        return;
    ek_type_infer(w, path);
    const char *name = op && ek_type_is_text(op)
                           ? ek_type_text_of(w->to, "%.*s", (int)op->literal.n, op->literal.s)
                           : "";
    bool tests = !strcmp(name, "test"), removes = !strcmp(name, "remove");
    w->tests = w->tests || tests;
    /* A test of a path that no object has is how policies write that there is nothing to do. */
    if (tests && ek_type_is_text(path) && ek_str_eq(ek_type_text(path), EK_STR("/")))
        return;
    absent = NULL;
    bool sets = !strcmp(name, "add") || !strcmp(name, "replace");
    enum ek_type_use use = tests || removes ? EK_TYPE_TESTS : EK_TYPE_WRITES;
    struct ek_type_target to = {.shape = follow(w, path, use, &whole, &absent)};
    if (sets)
        check_blind(w, path, name, &to.shape, absent);
    if (!tests)
        ek_type_write(w, to.shape.path, path->position, removes ? NULL : value, removes);
    if (!whole)
        to.shape = (struct ek_shape){.kind = EK_SHAPE_ANY, .path = to.shape.path};
    if (value)
        ek_type_expect(w, value, &to);
}
