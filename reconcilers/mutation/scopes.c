/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "api/patch/pointer.h"

/* Paths while they are collected. */
struct paths {
    struct ek_arena *arena;
    const char **list;
    size_t n, cap;
    bool full; /* more entries than the table holds */
};

static void add(void *arg, const char *path)
{
    struct paths *p = arg;

    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        const char **list = ek_arena_alloc(p->arena, cap * sizeof *list);
        if (p->n)
            memcpy(list, p->list, p->n * sizeof *list);
        p->list = list;
        p->cap = cap;
    }
    if (p->n >= 4 * (size_t)EK_SCOPES_MAX)
        p->full = true;
    else
        p->list[p->n++] = ek_arena_strdup(p->arena, path);
}

/* ---- Paths ---- */

/* The length of the first step of a path: ".name", `["a.b"]`, "[*]"; 0 at its end. */
static size_t step_len(const char *path)
{
    const char *p = path;

    if (*p == '[') {
        bool quoted = p[1] == '"';
        for (p += quoted ? 2 : 1; *p; p++) {
            if (quoted && *p == '\\' && p[1])
                p++;
            else if (quoted ? *p == '"' && p[1] == ']' : *p == ']')
                return (size_t)(p - path) + (quoted ? 2 : 1);
        }
        return (size_t)(p - path);
    }
    p += *p == '.';
    p += strcspn(p, ".[");
    return (size_t)(p - path);
}

static bool is_any(const char *step, size_t len)
{
    return len == 3 && !memcmp(step, "[*]", 3);
}

/* The same step, whether or not it is the path's first. */
static bool same_step(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t a_dot = *a == '.', b_dot = *b == '.';

    return a_len - a_dot == b_len - b_dot && !memcmp(a + a_dot, b + b_dot, a_len - a_dot);
}

/* Walks down two paths as long as they are one; loose: "[*]" is any step. Sets what is left. */
static void walk(const char **a, const char **b, bool loose)
{
    while (**a && **b) {
        size_t a_len = step_len(*a), b_len = step_len(*b);
        if (!same_step(*a, a_len, *b, b_len) &&
            !(loose && (is_any(*a, a_len) || is_any(*b, b_len))))
            return;
        *a += a_len;
        *b += b_len;
    }
}

bool ek_scopes_touch(const char *a, const char *b)
{
    walk(&a, &b, true);
    return !*a || !*b;
}

bool ek_scopes_is_above(const char *a, const char *b)
{
    walk(&a, &b, true);
    return !*a && *b;
}

static bool covers(const char *above, const char *path)
{
    walk(&above, &path, false);
    return !*above;
}

static unsigned depth_of(const char *path)
{
    unsigned n = 0;

    for (; *path; path += step_len(path))
        n++;
    return n;
}

/* ---- Lists of paths ---- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts, and takes out what another path covers. */
static void tidy(struct paths *p)
{
    size_t n = 0;

    if (p->n)
        qsort(p->list, p->n, sizeof *p->list, compare);
    /* What covers a path is its start, and so sorted before it. */
    for (size_t i = 0; i < p->n; i++) {
        bool covered = false;
        for (size_t j = 0; j < n && !covered; j++)
            covered = covers(p->list[j], p->list[i]);
        if (!covered)
            p->list[n++] = p->list[i];
    }
    p->n = n;
    if (n > EK_SCOPES_MAX)
        p->full = true;
}

static const char *common(const struct paths *p, struct ek_arena *arena)
{
    size_t len = p->n ? strlen(p->list[0]) : 0;

    for (size_t i = 1; i < p->n; i++) {
        const char *a = p->list[0], *b = p->list[i];
        walk(&a, &b, false);
        size_t same = (size_t)(a - p->list[0]);
        len = same < len ? same : len;
    }
    return p->n ? ek_arena_strndup(arena, p->list[0], len) : "";
}

/* ---- A policy ---- */

static void add_writes(struct paths *writes, const struct ek_mutation *m)
{
    const struct ek_cel_program *program = m->expression.program;

    if (program && ek_cel_program_writes(program, add, writes))
        writes->full = true;
}

static void add_reads(struct paths *reads, const struct ek_expression *e)
{
    static const char *const names[EK_SLOT_MAX] = {
        [EK_SLOT_OBJECT] = "object",
        [EK_SLOT_OLD_OBJECT] = "oldObject",
        [EK_SLOT_REQUEST] = "request",
        [EK_SLOT_NAMESPACE_OBJECT] = "namespaceObject",
        [EK_SLOT_AUTHORIZER] = "authorizer",
        [EK_SLOT_REQUEST_RESOURCE] = "authorizer.requestResource",
        [EK_SLOT_PARAMS] = "params",
    };
    const struct ek_cel_read *list;
    size_t n = e->program ? ek_cel_program_reads(e->program, &list) : 0;

    for (size_t i = 0; i < n; i++) {
        const char *name = list[i].slot < EK_SLOT_MAX ? names[list[i].slot] : NULL;
        const char *path = list[i].path;
        if (name)
            add(reads, ek_arena_printf(reads->arena, "%s%s%s", name,
                                       *path && *path != '[' ? "." : "", path));
    }
}

static void whole_if_full(struct paths *p, const char *whole)
{
    if (!p->full)
        return;
    p->n = 0;
    p->full = false;
    add(p, whole);
}

void ek_scopes_of(const struct ek_policy *policy, struct ek_arena *arena, struct ek_scopes *ret)
{
    struct paths writes = {.arena = arena}, reads = {.arena = arena};

    for (size_t i = 0; i < policy->n_conditions; i++)
        add_reads(&reads, &policy->conditions[i]);
    for (size_t i = 0; i < policy->n_variables; i++)
        add_reads(&reads, &policy->variables[i]);
    for (size_t i = 0; i < policy->n_mutations; i++) {
        add_writes(&writes, &policy->mutations[i]);
        add_reads(&reads, &policy->mutations[i].expression);
    }
    tidy(&writes);
    tidy(&reads);
    whole_if_full(&writes, "");
    whole_if_full(&reads, "object");
    const char *scope = common(&writes, arena);
    *ret = (struct ek_scopes){.writes = writes.list,
                              .n_writes = writes.n,
                              .reads = reads.list,
                              .n_reads = reads.n,
                              .scope = scope,
                              .depth = depth_of(scope)};
}

/* ---- Pointers ---- */

static bool is_index(struct ek_str token)
{
    size_t i = 0;

    while (i < token.len && token.p[i] >= '0' && token.p[i] <= '9')
        i++;
    return (token.len && i == token.len) || (token.len == 1 && *token.p == '-');
}

static bool is_identifier(struct ek_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return s.len > 0;
}

static void push(struct ek_buf *path, struct ek_str token)
{
    if (is_index(token)) {
        ek_buf_puts(path, "[*]");
    } else if (is_identifier(token)) {
        ek_buf_puts(path, path->len ? "." : "");
        ek_buf_append(path, token.p, token.len);
    } else {
        ek_buf_puts(path, "[\"");
        for (size_t i = 0; i < token.len; i++) {
            if (token.p[i] == '"' || token.p[i] == '\\')
                ek_buf_puts(path, "\\");
            ek_buf_append(path, &token.p[i], 1);
        }
        ek_buf_puts(path, "\"]");
    }
}

const char *ek_scopes_of_pointer(const char *pointer, struct ek_arena *arena)
{
    struct ek_str rest = ek_str_from(pointer), token;
    EK_AUTO(ek_buf) path;
    EK_AUTO(ek_buf) scratch;

    ek_buf_init(&path, (size_t)1 << 20);
    ek_buf_init(&scratch, (size_t)1 << 20);
    while (ek_pointer_next(&rest, &token))
        push(&path, ek_pointer_unescape(token, &scratch));
    return ek_arena_strdup(arena, ek_buf_str(&path));
}
