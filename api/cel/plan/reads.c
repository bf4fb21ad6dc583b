/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields of which variables a program reads. What is said may be too much, never too little:
 * a value that goes through a function, a literal or a variable that is not followed counts as read
 * whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/cel/plan/plan.h"

/* More paths than this are not distinguished: what is above them is read whole. */
#define PATHS_MAX 1000u

/* An attribute that may be one of more paths than this reads them whole. */
#define ALTERNATIVES_MAX 16u

/* A bound for the text of one path. */
#define TEXT_MAX ((size_t)16 * 1024)

static struct ek_cel_paths *one(struct ek_cel_planner *p, struct ek_cel_path *path)
{
    struct ek_cel_paths *paths = ek_cel_plan_alloc(p, sizeof *paths);

    if (paths)
        paths->path = path;
    return paths;
}

struct ek_cel_paths *ek_cel_paths_of_slot(struct ek_cel_planner *p, uint32_t slot)
{
    if (slot >= p->n_slots)
        return NULL;
    if (!p->roots[slot]) {
        p->roots[slot] = ek_cel_plan_alloc(p, sizeof *p->roots[slot]);
        if (!p->roots[slot])
            return NULL;
        p->roots[slot]->slot = slot;
        p->roots[slot]->name = "";
    }
    return one(p, p->roots[slot]);
}

static bool same_step(const struct ek_cel_path *path, const char *name, size_t len, bool index)
{
    if (!path->name || !name)
        return !path->name && !name;
    return path->index == index && path->len == len && memcmp(path->name, name, len) == 0;
}

static struct ek_cel_path *step(struct ek_cel_planner *p, struct ek_cel_path *path,
                                const char *name, size_t len, bool index)
{
    struct ek_cel_path *child;

    for (child = path->child; child; child = child->sibling)
        if (same_step(child, name, len, index))
            return child;
    if (p->n_paths >= PATHS_MAX) {
        path->used = true;
        return path;
    }
    child = ek_cel_plan_alloc(p, sizeof *child);
    if (!child)
        return path;
    p->n_paths++;
    *child = (struct ek_cel_path){.parent = path, .sibling = path->child, .slot = path->slot};
    child->name = name;
    child->len = (uint32_t)len;
    child->index = index;
    path->child = child;
    return child;
}

struct ek_cel_paths *ek_cel_paths_step(struct ek_cel_planner *p, struct ek_cel_paths *paths,
                                       const struct ek_cel_val *key)
{
    struct ek_cel_paths *head = NULL, **tail = &head;
    const char *name = NULL;
    size_t len = 0;
    char number[24];

    if (!paths)
        return NULL;
    if (key && key->kind == EK_CEL_STRING) {
        name = key->s;
        len = key->n;
    } else if (key && key->kind == EK_CEL_INT) {
        len = (size_t)snprintf(number, sizeof number, "%" PRId64, key->i);
        char *copy = ek_cel_plan_alloc(p, len + 1);
        name = copy ? memcpy(copy, number, len + 1) : NULL;
    }
    for (; paths; paths = paths->next) {
        *tail = one(p, step(p, paths->path, name, len, key && key->kind == EK_CEL_INT));
        if (!*tail)
            break;
        tail = &(*tail)->next;
    }
    return head;
}

struct ek_cel_paths *ek_cel_paths_join(struct ek_cel_planner *p, struct ek_cel_paths *a,
                                       struct ek_cel_paths *b)
{
    struct ek_cel_paths *head = NULL, **tail = &head;
    uint32_t n = 0;

    for (int list = 0; list < 2; list++)
        for (struct ek_cel_paths *paths = list ? b : a; paths; paths = paths->next) {
            if (++n > ALTERNATIVES_MAX) {
                ek_cel_paths_use(paths);
                break;
            }
            *tail = one(p, paths->path);
            if (!*tail)
                return head;
            tail = &(*tail)->next;
        }
    return head;
}

void ek_cel_paths_use(struct ek_cel_paths *paths)
{
    for (; paths; paths = paths->next)
        paths->path->used = true;
}

static bool used_below(const struct ek_cel_path *path)
{
    for (; path; path = path->sibling)
        if (path->used || used_below(path->child))
            return true;
    return false;
}

void ek_cel_paths_use_leaves(struct ek_cel_paths *paths)
{
    for (; paths; paths = paths->next)
        if (!used_below(paths->path->child))
            paths->path->used = true;
}

/* ---- Listing --------------------------------------------------------------------------------- */

static bool is_identifier(const char *s, uint32_t len)
{
    if (!len || (*s >= '0' && *s <= '9'))
        return false;
    for (uint32_t i = 0; i < len; i++)
        if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
            !(s[i] >= '0' && s[i] <= '9') && s[i] != '_')
            return false;
    return true;
}

void ek_cel_path_push(struct ek_buf *buf, const char *name, uint32_t len)
{
    if (!name) {
        ek_buf_puts(buf, "[*]");
    } else if (is_identifier(name, len)) {
        ek_buf_puts(buf, buf->len ? "." : "");
        ek_buf_append(buf, name, len);
    } else {
        ek_buf_puts(buf, "[\"");
        for (uint32_t i = 0; i < len; i++) {
            if (name[i] == '"' || name[i] == '\\')
                ek_buf_puts(buf, "\\");
            ek_buf_append(buf, &name[i], 1);
        }
        ek_buf_puts(buf, "\"]");
    }
}

static void write_path(const struct ek_cel_path *path, struct ek_buf *buf)
{
    if (!path->parent)
        return;
    write_path(path->parent, buf);
    if (path->index)
        ek_buf_printf(buf, "[%s]", path->name);
    else
        ek_cel_path_push(buf, path->name, path->len);
}

static bool add_read(struct ek_cel_planner *p, const struct ek_cel_path *path, struct ek_buf *buf,
                     struct ek_cel_vec *reads)
{
    struct ek_cel_read read = {.slot = path->slot};
    char *text;

    ek_buf_reset(buf);
    write_path(path, buf);
    text = ek_cel_plan_alloc(p, buf->len + 1);
    if (!text)
        return false;
    read.path = memcpy(text, ek_buf_str(buf), buf->len + 1);
    return ek_cel_plan_push(p, reads, &read, sizeof read) != UINT32_MAX;
}

/* Paths are no deeper than the syntax tree. */
static bool add_reads(struct ek_cel_planner *p, const struct ek_cel_path *path, struct ek_buf *buf,
                      struct ek_cel_vec *reads)
{
    if (path->used)
        return add_read(p, path, buf, reads);
    for (path = path->child; path; path = path->sibling)
        if (!add_reads(p, path, buf, reads))
            return false;
    return true;
}

bool ek_cel_plan_reads(struct ek_cel_planner *p, struct ek_cel_vec *ret_reads)
{
    EK_AUTO(ek_buf) buf = {0};

    ek_buf_init(&buf, TEXT_MAX);
    for (uint32_t i = 0; i < p->n_slots; i++)
        if (p->roots[i] && !add_reads(p, p->roots[i], &buf, ret_reads))
            return false;
    return true;
}
