/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of every gated write of lists and maps: random definitions, old and new objects (see
 * test_gates_seed). The new object is often an edit of the old one: items move, come, go, are
 * copied, and change.
 *
 *   - no item has a closed value that the old object did not have so often at that path; where keys
 *     match items, the value is the one of the old item
 *   - what no closed gate covers is stored as requested: patches touch closed fields alone
 *   - the patch applies, deciding the result changes nothing, and the backstop accepts it
 *   - a denial of what cannot be matched has closed values in the old list
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/suite.h"

#define ROUNDS    6000
#define ITEMS_MAX 4

static uint64_t state;

static unsigned rnd(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % below);
}

/* ---- Random input ---- */

struct item {
    unsigned name, port, mode, deep; /* 0: there is none */
    bool scalar;
};

struct list {
    struct item items[2 * ITEMS_MAX];
    unsigned n;
};

static struct item random_item(void)
{
    return (struct item){
        .name = rnd(4), .port = rnd(3), .mode = rnd(3), .deep = rnd(3), .scalar = !rnd(25)};
}

static void random_list(struct list *list)
{
    list->n = rnd(ITEMS_MAX + 1);
    for (unsigned i = 0; i < list->n; i++)
        list->items[i] = random_item();
}

static void insert(struct list *list, unsigned at, struct item item)
{
    memmove(&list->items[at + 1], &list->items[at], (list->n - at) * sizeof item);
    list->items[at] = item;
    list->n++;
}

static void take(struct list *list, unsigned at)
{
    list->n--;
    memmove(&list->items[at], &list->items[at + 1], (list->n - at) * sizeof *list->items);
}

static void edit(struct list *list)
{
    unsigned at = list->n ? rnd(list->n) : 0;
    struct item item = list->n ? list->items[at] : random_item();

    switch (rnd(7)) {
    case 0: /* a copy */
        if (list->n < 2 * ITEMS_MAX - 1)
            insert(list, rnd(list->n + 1), item);
        return;
    case 1: /* a new one */
        if (list->n < 2 * ITEMS_MAX - 1)
            insert(list, rnd(list->n + 1), random_item());
        return;
    case 2:
        if (list->n)
            take(list, at);
        return;
    case 3: /* moves */
        if (list->n) {
            take(list, at);
            insert(list, rnd(list->n + 1), item);
        }
        return;
    case 4:
        list->items[at].mode = rnd(3);
        return;
    case 5:
        list->items[at].port = rnd(3);
        return;
    default:
        list->items[at].deep = rnd(3);
    }
}

static void add_item(struct ek_buf *out, const struct item *item, bool null)
{
    const char *comma = "";

    if (item->scalar) {
        ek_buf_puts(out, null ? "null" : "7");
        return;
    }
    ek_buf_puts(out, "{");
    if (item->name) {
        ek_buf_printf(out, "\"name\":\"n%u\"", item->name);
        comma = ",";
    }
    if (item->port) {
        ek_buf_printf(out, "%s\"port\":%u", comma, item->port);
        comma = ",";
    }
    if (item->mode) {
        ek_buf_printf(out, "%s\"mode\":%u", comma, item->mode);
        comma = ",";
    }
    if (item->deep)
        ek_buf_printf(out, "%s\"deep\":{\"mode\":%u}", comma, item->deep);
    ek_buf_puts(out, "}");
}

static void add_object(struct ek_buf *out, const struct list *list, bool map)
{
    ek_buf_printf(out, "{\"spec\":{\"items\":%s", map ? "{" : "[");
    for (unsigned i = 0; i < list->n; i++) {
        ek_buf_puts(out, i ? "," : "");
        if (map) /* so that moved values are those of other keys */
            ek_buf_printf(out, "\"k%u\":", i);
        add_item(out, &list->items[i], rnd(2));
    }
    ek_buf_printf(out, "%s}}", map ? "}" : "]");
}

static void add_definition(struct ek_buf *out)
{
    static const char *const settings[] = {
        "\"preRelease\":\"alpha\"",
        "\"preRelease\":\"alpha\"",
        "\"preRelease\":\"alpha\",\"allowRemoval\":true",
        "\"preRelease\":\"beta\"",
        "\"preRelease\":\"deprecated\",\"default\":true",
        "\"preRelease\":\"deprecated\",\"default\":false",
    };
    static const char *const paths[] = {".spec.items[*].mode", ".spec.items[*].deep.mode",
                                        ".spec.items[*].deep", ".spec.items"};
    unsigned n = 1 + rnd(3), first = rnd(3);

    ek_buf_puts(out, "{\"featureGates\":[");
    for (unsigned i = 0; i < n; i++)
        ek_buf_printf(out, "%s{\"name\":\"G%u\",%s,\"fieldPaths\":[\"%s\"]}", i ? "," : "", i,
                      settings[rnd(sizeof settings / sizeof *settings)],
                      paths[(first + i) % (rnd(12) ? 3 : 4)]);
    ek_buf_puts(out, "]}");
}

/* ---- What is true ---- */

/* A path below an item. */
static yyjson_val *value_below(yyjson_val *item, const struct ek_field_path *path)
{
    for (size_t i = 3; item && i < path->n; i++)
        item = yyjson_obj_getn(item, path->names[i].p, path->names[i].len);
    return item;
}

static yyjson_val *items_of(yyjson_doc *doc)
{
    return yyjson_ptr_get(yyjson_doc_get_root(doc), "/spec/items");
}

/* How many items have that value at path. */
static unsigned count(yyjson_val *items, const struct ek_field_path *path, yyjson_val *value)
{
    yyjson_val *key, *item;
    unsigned found = 0;
    size_t i, n;

    yyjson_arr_foreach(items, i, n, item)
    {
        yyjson_val *own = value_below(item, path);
        found += own && ek_json_equal(own, value);
    }
    ek_json_each_member(items, i, n, key, item)
    {
        yyjson_val *own = value_below(item, path);
        found += own && ek_json_equal(own, value);
    }
    return found;
}

static void check_nothing_new(const struct test_gates_write *w, const struct ek_field_path *path)
{
    yyjson_val *stored = items_of(w->stored), *old = items_of(w->old), *key, *item;
    size_t i, n;

    yyjson_arr_foreach(stored, i, n, item)
    {
        yyjson_val *value = value_below(item, path);
        ck_assert_msg(!value || count(stored, path, value) <= count(old, path, value),
                      "%s: a value comes out of nowhere", path->text);
    }
    ek_json_each_member(stored, i, n, key, item)
    {
        yyjson_val *value = value_below(item, path);
        yyjson_val *before = value_below(yyjson_obj_get(old, yyjson_get_str(key)), path);
        ck_assert_msg(!value || ek_json_equal(value, before), "%s: of another key", path->text);
    }
}

static yyjson_val *item_named(yyjson_val *items, yyjson_val *name)
{
    yyjson_val *item, *found = NULL;
    size_t i, n, names = 0;

    yyjson_arr_foreach(items, i, n, item)
    {
        if (name && yyjson_equals(yyjson_obj_get(item, "name"), name)) {
            found = item;
            names++;
        }
    }
    return names == 1 ? found : NULL;
}

static bool has_names(yyjson_val *items)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(items, i, n, item)
    {
        if (!item_named(items, yyjson_obj_get(item, "name")))
            return false;
    }
    return true;
}

/* Whether a gate that is on has the parent of the path, with which the value may be removed. */
static bool has_open_parent(const struct ek_gates *gates, const struct ek_field_path *path)
{
    for (size_t g = 0; g < gates->n_gates; g++)
        for (size_t p = 0; p < gates->gates[g].n_paths; p++)
            if (gates->gates[g].on && gates->gates[g].paths[p].n < path->n &&
                ek_field_path_covers(&gates->gates[g].paths[p], path))
                return true;
    return false;
}

/* By keys, an item has the closed value of the old one, or none. */
static void check_keyed(const struct test_gates_write *w, const struct ek_gate *gate,
                        const struct ek_field_path *path)
{
    yyjson_val *stored = items_of(w->stored), *old = items_of(w->old), *item;
    size_t i, n;

    if (!has_names(stored) || !has_names(old))
        return;
    yyjson_arr_foreach(stored, i, n, item)
    {
        yyjson_val *value = value_below(item, path);
        yyjson_val *before = value_below(item_named(old, yyjson_obj_get(item, "name")), path);
        bool removed = !value && (gate->removable || has_open_parent(w->gates, path));
        ck_assert_msg(removed || (before ? value && ek_json_equal(value, before) : !value),
                      "%s: not that of the old item", path->text);
    }
}

/* The closed paths in force: no closed path above. */
static void check_closed(const struct test_gates_write *w, const struct ek_gate_node *node,
                         bool keyed)
{
    if (node->gate && !node->gate->on) {
        if (node->path->n < 4)
            return; /* the list as a whole: of another test */
        check_nothing_new(w, node->path);
        if (keyed)
            check_keyed(w, node->gate, node->path);
        return;
    }
    for (size_t i = 0; i < node->n_children; i++)
        check_closed(w, &node->children[i], keyed);
}

static void remove_closed(const struct ek_gates *gates, yyjson_mut_val *item)
{
    for (size_t g = 0; g < gates->n_gates; g++) {
        for (size_t p = 0; p < gates->gates[g].n_paths && !gates->gates[g].on; p++) {
            const struct ek_field_path *path = &gates->gates[g].paths[p];
            if (path->n == 5)
                yyjson_mut_obj_remove_key(yyjson_mut_obj_get(item, "deep"), "mode");
            else
                yyjson_mut_obj_remove_key(item, path->names[3].p);
        }
    }
    if (yyjson_mut_obj_size(yyjson_mut_obj_get(item, "deep")) == 0)
        yyjson_mut_obj_remove_key(item, "deep");
}

/* A copy without what closed paths of items name. */
static yyjson_doc *without_closed(const struct ek_gates *gates, yyjson_val *object)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, object), *key, *item;
    yyjson_mut_val *items = yyjson_mut_ptr_get(copy, "/spec/items");
    size_t i, n;

    yyjson_mut_arr_foreach(yyjson_mut_is_arr(items) ? items : NULL, i, n, item)
    {
        remove_closed(gates, item);
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(items) ? items : NULL, i, n, key, item)
    {
        remove_closed(gates, item);
    }
    yyjson_doc *result = yyjson_mut_val_imut_copy(copy, NULL);
    yyjson_mut_doc_free(doc);
    return result;
}

static bool gates_whole_list(const struct ek_gates *gates)
{
    for (size_t g = 0; g < gates->n_gates; g++)
        for (size_t p = 0; p < gates->gates[g].n_paths; p++)
            if (gates->gates[g].paths[p].n < 4)
                return true;
    return false;
}

static void check_open(const struct test_gates_write *w)
{
    if (gates_whole_list(w->gates))
        return;
    yyjson_doc *stored = without_closed(w->gates, yyjson_doc_get_root(w->stored));
    yyjson_doc *new = without_closed(w->gates, yyjson_doc_get_root(w->new));

    ck_assert_msg(ek_json_equal(yyjson_doc_get_root(stored), yyjson_doc_get_root(new)),
                  "an open value was touched");
    yyjson_doc_free(stored);
    yyjson_doc_free(new);
}

static bool holds_closed(const struct ek_gates *gates, yyjson_val *items)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(items, i, n, item)
    {
        for (size_t g = 0; g < gates->n_gates; g++)
            for (size_t p = 0; p < gates->gates[g].n_paths; p++)
                if (!gates->gates[g].on && value_below(item, &gates->gates[g].paths[p]))
                    return true;
    }
    return false;
}

/* Which of the interesting cases have been met: a test that meets none proves nothing. */
static struct {
    unsigned patched, denied, lost, deprecated, untouched;
} met;

static void check_write(const struct test_gates_write *w, bool keyed)
{
    const char *broken = test_gates_broken_law(w);

    ck_assert_msg(!broken, "%s", broken);
    met.denied += !w->outcome.allowed;
    if (!w->outcome.allowed) {
        ck_assert_msg(strstr(w->outcome.message, "in changed items"), "%s", w->outcome.message);
        ck_assert(holds_closed(w->gates, items_of(w->old)));
        return;
    }
    check_closed(w, w->gates->root, keyed);
    check_open(w);
    met.patched += w->outcome.patch != NULL;
    met.untouched += w->outcome.n_warnings == 0;
    for (size_t i = 0; i < w->outcome.n_hits; i++)
        met.deprecated += w->outcome.hits[i].deprecated;
    for (size_t i = 0; i < w->outcome.n_warnings; i++)
        met.lost += strstr(w->outcome.warnings[i], "with its parent") != NULL;
}

static void try_once(struct ek_buf *spec, struct ek_buf *old, struct ek_buf *new)
{
    bool creating = rnd(8) == 0, map = rnd(5) == 0, keyed = rnd(2);
    struct test_gates_write w;
    struct list list;

    ek_buf_reset(spec);
    ek_buf_reset(old);
    ek_buf_reset(new);
    add_definition(spec);
    random_list(&list);
    add_object(old, &list, map);
    if (!rnd(4))
        random_list(&list);
    for (unsigned n = rnd(4); n; n--)
        edit(&list);
    add_object(new, &list, map);
    struct test_gates_case c = {
        .spec = ek_buf_str(spec), .old = creating ? NULL : ek_buf_str(old), .new = ek_buf_str(new)};
    test_gates_open_keyed(&w, &c, keyed ? ".spec.items[*]" : NULL);
    check_write(&w, keyed);
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
    printf("%u patched, %u denied, %u with a loss, %u deprecated, %u untouched of %u\n",
           met.patched, met.denied, met.lost, met.deprecated, met.untouched, rounds);
    ck_assert_uint_gt(met.patched, rounds / 10);
    ck_assert_uint_gt(met.denied, rounds / 50);
    ck_assert_uint_gt(met.lost, rounds / 50);
    ck_assert_uint_gt(met.deprecated, rounds / 50);
    ck_assert_uint_gt(met.untouched, rounds / 50);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_test(tcase, test_property);
    return ek_test_run("gates_property_items", tcase);
}
