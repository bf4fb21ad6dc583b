/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of every gated write: random definitions, old and new objects (see
 * test_gates_seed).
 *
 *   - a closed gate's value never changes, unless the parent gave way to what is no object, or an
 *     open gate's field above it was removed
 *   - fields that no closed gate covers are stored as requested
 *   - the patch applies, deciding the result changes nothing, and the backstop accepts it
 *   - what was suppressed is what differs, and without a difference there is no patch
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/suite.h"

#define ROUNDS    4000
#define NAMES     4 /* of members, at each level */
#define DEPTH     4
#define GATES_MAX 6

static const char *const names[NAMES] = {"a", "b", "c/~d", "e'f"};
static uint64_t state;

static unsigned rnd(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % below);
}

/* ---- Random input ---- */

static void add_path(struct ek_buf *out)
{
    unsigned n = 1 + rnd(DEPTH);

    ek_buf_puts(out, "\".spec");
    for (unsigned i = 0; i < n; i++) {
        unsigned name = rnd(NAMES);
        if (name < 2)
            ek_buf_printf(out, ".%s", names[name]);
        else
            ek_buf_printf(out, "['%s']", name == 2 ? "c/~d" : "e\\\\'f");
    }
    ek_buf_puts(out, "\"");
}

static void add_definition(struct ek_buf *out)
{
    static const char *const stages[] = {"alpha", "beta", "stable", "deprecated"};
    static const char *const enabled[] = {"", "\"enabled\":true,", "\"enabled\":false,"};
    unsigned n = 1 + rnd(GATES_MAX);

    ek_buf_puts(out, "{\"featureGates\":[");
    for (unsigned i = 0; i < n; i++) {
        ek_buf_printf(out, "%s{\"name\":\"G%u\",\"preRelease\":\"%s\",%s\"fieldPaths\":[",
                      i ? "," : "", i, stages[rnd(4)], enabled[rnd(3)]);
        for (unsigned k = 1 + rnd(3); k; k--) {
            add_path(out);
            ek_buf_puts(out, k > 1 ? "," : "]}");
        }
    }
    ek_buf_puts(out, "]}");
}

static void add_scalar(struct ek_buf *out)
{
    static const char *const scalars[] = {"0", "1", "1.0", "\"1\"", "true", "null", "[1,2]", "[]"};

    ek_buf_puts(out, scalars[rnd(sizeof scalars / sizeof *scalars)]);
}

static void add_value(struct ek_buf *out, unsigned depth)
{
    bool any = false;

    if (depth > DEPTH || rnd(depth + 2) > 2) {
        add_scalar(out);
        return;
    }
    ek_buf_puts(out, "{");
    for (unsigned i = 0; i < NAMES; i++) {
        if (rnd(2))
            continue;
        ek_buf_printf(out, "%s\"%s\":", any ? "," : "", names[i]);
        add_value(out, depth + 1);
        any = true;
    }
    ek_buf_puts(out, "}");
}

static void add_object(struct ek_buf *out)
{
    ek_buf_puts(out, "{\"metadata\":{\"name\":\"a\"}");
    if (rnd(10)) {
        ek_buf_puts(out, ",\"spec\":");
        add_value(out, rnd(20) ? 0 : DEPTH + 1);
    }
    ek_buf_puts(out, "}");
}

/* new is often close to old: some of its text is that of old. */
static void change_scalars(struct ek_buf *object)
{
    for (size_t i = 0; i < object->len; i++)
        if (object->data[i] == '0' && rnd(2))
            object->data[i] = '1';
}

/* ---- What is true ---- */

static yyjson_val *member(yyjson_val *v, struct ek_str name)
{
    return yyjson_obj_getn(v, name.p, name.len);
}

/* True when the walk to path in new ends at a parent that cannot keep the value, or at an open
 * gate's field that new does not have as an object. */
static bool may_be_lost(const struct ek_gates *gates, const struct ek_field_path *path,
                        yyjson_val *new)
{
    const struct ek_gate_node *node = gates->root;
    yyjson_val *v = new;
    bool gone = false;

    for (size_t i = 0; i + 1 < path->n; i++) {
        const struct ek_gate_node *next = NULL;
        for (size_t k = 0; k < node->n_children; k++)
            if (ek_str_eq(node->children[k].name, path->names[i]))
                next = &node->children[k];
        v = gone ? NULL : member(v, path->names[i]);
        gone = gone || !v || yyjson_is_null(v);
        if (v && !yyjson_is_null(v) && !yyjson_is_obj(v))
            return true;
        if (gone && next->gate)
            return true;
        node = next;
    }
    return false;
}

static yyjson_val *value_at(yyjson_val *v, const struct ek_field_path *path)
{
    for (size_t i = 0; v && i < path->n; i++)
        v = member(v, path->names[i]);
    return v;
}

/* A closed path that is in force: no closed one above it. */
static void check_closed(const struct test_gates_write *w, const struct ek_gate_node *node)
{
    if (node->gate && !node->gate->on) {
        yyjson_val *new = yyjson_doc_get_root(w->new), *old = yyjson_doc_get_root(w->old);
        yyjson_val *before = value_at(old, node->path);
        yyjson_val *after = value_at(yyjson_doc_get_root(w->stored), node->path);
        if (!after && before && may_be_lost(w->gates, node->path, new))
            return;
        ck_assert_msg(before ? ek_json_equal(before, after) : !after, "closed %s changed",
                      node->path->text);
        return;
    }
    for (size_t i = 0; i < node->n_children; i++)
        check_closed(w, &node->children[i]);
}

static const struct ek_gate_node *child_of(const struct ek_gate_node *node, yyjson_val *key)
{
    for (size_t i = 0; node && i < node->n_children; i++)
        if (yyjson_equals_strn(key, node->children[i].name.p, node->children[i].name.len))
            return &node->children[i];
    return NULL;
}

/* True when from, less what is closed, is in to. */
static bool is_kept(const struct ek_gate_node *node, yyjson_val *from, yyjson_val *to)
{
    yyjson_val *key, *value;
    size_t i, n;

    if (node && node->gate && !node->gate->on)
        return true;
    if (!node || node->n_children == 0 || !yyjson_is_obj(from))
        return ek_json_equal(from, to) || (node && yyjson_is_null(from));
    ek_json_each_member(from, i, n, key, value)
    {
        const struct ek_gate_node *child = child_of(node, key);
        yyjson_val *other = yyjson_obj_getn(to, yyjson_get_str(key), yyjson_get_len(key));
        bool closed = child && child->gate && !child->gate->on;
        if (!closed && (!other || !is_kept(child, value, other)))
            return false;
    }
    return true;
}

static bool has_closed(const struct ek_gate_node *node)
{
    if (node->gate && !node->gate->on)
        return true;
    for (size_t i = 0; i < node->n_children; i++)
        if (has_closed(&node->children[i]))
            return true;
    return false;
}

/* What stored has more than new has is a closed value, or a parent of one. */
static bool is_nothing_new(const struct ek_gate_node *node, yyjson_val *stored, yyjson_val *new)
{
    yyjson_val *key, *value;
    size_t i, n;

    if (node && has_closed(node) && (!yyjson_is_obj(stored) || (node->gate && !node->gate->on)))
        return true;
    if (!node || !has_closed(node))
        return ek_json_equal(stored, new);
    ek_json_each_member(stored, i, n, key, value)
    {
        const struct ek_gate_node *child = child_of(node, key);
        yyjson_val *other = yyjson_obj_getn(new, yyjson_get_str(key), yyjson_get_len(key));
        if (!is_nothing_new(child, value, other))
            return false;
    }
    return true;
}

static bool any_suppressed(const struct ek_gates_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_hits; i++)
        if (!outcome->hits[i].deprecated)
            return true;
    return false;
}

static void check_write(const struct test_gates_write *w)
{
    const struct ek_gate_node *root = w->gates->root;
    yyjson_val *new = yyjson_doc_get_root(w->new), *stored = yyjson_doc_get_root(w->stored);

    ck_assert(w->outcome.allowed);
    const char *broken = test_gates_broken_law(w);
    ck_assert_msg(!broken, "%s", broken);
    check_closed(w, root);
    ck_assert_msg(is_kept(root, new, stored), "an open value was touched");
    ck_assert_msg(is_nothing_new(root, stored, new), "something was made up");
    ck_assert((w->outcome.patch != NULL) == any_suppressed(&w->outcome));
    ck_assert((w->outcome.patch != NULL) == !ek_json_equal(new, stored));
}

/* Which of the interesting cases have been met: a test that meets none proves nothing. */
static struct {
    unsigned patched, frozen_lost, deprecated, untouched;
} met;

static void count(const struct test_gates_write *w)
{
    met.patched += w->outcome.patch != NULL;
    met.untouched += w->outcome.n_warnings == 0;
    for (size_t i = 0; i < w->outcome.n_hits; i++)
        met.deprecated += w->outcome.hits[i].deprecated;
    for (size_t i = 0; i < w->outcome.n_warnings; i++)
        met.frozen_lost += strstr(w->outcome.warnings[i], "with its parent") != NULL;
}

static void try_once(struct ek_buf *spec, struct ek_buf *old, struct ek_buf *new)
{
    struct test_gates_write w;
    bool creating = rnd(5) == 0;

    ek_buf_reset(spec);
    ek_buf_reset(old);
    ek_buf_reset(new);
    add_definition(spec);
    add_object(old);
    if (rnd(2)) {
        add_object(new);
    } else {
        ek_buf_append(new, old->data, old->len);
        change_scalars(new);
    }
    struct test_gates_case c = {
        ek_buf_str(spec), creating ? NULL : ek_buf_str(old), ek_buf_str(new), NULL, 0, NULL};
    test_gates_open(&w, &c);
    count(&w);
    check_write(&w);
    test_gates_close(&w);
}

START_TEST(test_property)
{
    unsigned rounds = test_gates_rounds(ROUNDS);
    EK_AUTO(ek_buf) spec;
    EK_AUTO(ek_buf) old;
    EK_AUTO(ek_buf) new;

    ek_buf_init(&spec, 1 << 16);
    ek_buf_init(&old, 1 << 16);
    ek_buf_init(&new, 1 << 16);
    state = test_gates_seed();
    for (unsigned i = 0; i < rounds; i++)
        try_once(&spec, &old, &new);
    printf("%u patched, %u with a loss, %u deprecated, %u untouched of %u\n", met.patched,
           met.frozen_lost, met.deprecated, met.untouched, rounds);
    ck_assert_uint_gt(met.patched, rounds / 10);
    ck_assert_uint_gt(met.frozen_lost, rounds / 200);
    ck_assert_uint_gt(met.deprecated, rounds / 50);
    ck_assert_uint_gt(met.untouched, rounds / 50);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_test(tcase, test_property);
    return ek_test_run("gates_property", tcase);
}
