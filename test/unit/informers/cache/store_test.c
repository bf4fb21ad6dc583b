/* SPDX-License-Identifier: Apache-2.0 */
/* The store: its contract by rows, then random operations against a naive model. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/map.h"
#include "informers/cache/store.h"
#include "informers/queue/backoff.h"
#include "test/support/suite.h"

/* name/uid/rv[/group]; the group is a label. */
static struct ek_obj *make(const char *spec)
{
    char json[256], name[32] = "", uid[32] = "", rv[32] = "", group[32] = "";
    struct ek_obj *obj;

    ck_assert_int_ge(sscanf(spec, "%31[^/]/%31[^/]/%31[^/]/%31s", name, uid, rv, group), 3);
    int n = snprintf(json, sizeof json,
                     "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\","
                     "\"labels\":{\"group\":\"%s\"}}}",
                     name, uid, rv, group);
    ck_assert_int_eq(ek_obj_parse(json, (size_t)n, &obj, NULL), 0);
    return obj;
}

/* A handler that writes down its calls, and checks that the store holds it already. */
struct notes {
    struct ek_buf buf;
    const struct ek_store *store;
};

static void note(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                 const struct ek_obj *obj, bool initial)
{
    static const char *const names[] = {"add", "update", "delete"};
    struct notes *notes = ctx;

    if (obj)
        ck_assert_ptr_eq(ek_store_get(notes->store, ek_obj_key(obj)), obj);
    ck_assert_int_eq(old == NULL, change == EK_STORE_ADDED);
    ck_assert_int_eq(obj == NULL, change == EK_STORE_DELETED);
    ek_buf_printf(&notes->buf, "%s%s %s", initial ? "initial " : "", names[change],
                  ek_obj_key(old ? old : obj));
    if (old)
        ek_buf_printf(&notes->buf, " %s", ek_obj_resource_version(old));
    if (obj)
        ek_buf_printf(&notes->buf, " >%s", ek_obj_resource_version(obj));
    ek_buf_puts(&notes->buf, "; ");
}

/* Operations: "+spec" put, "-spec" remove, "=spec,spec" replace. */
static void apply(struct ek_store *store, const char *op)
{
    struct ek_obj *items[8];
    char specs[256], *save = NULL;
    size_t n = 0;

    snprintf(specs, sizeof specs, "%s", op + 1);
    for (char *spec = strtok_r(specs, ",", &save); spec; spec = strtok_r(NULL, ",", &save))
        items[n++] = make(spec);
    if (*op == '+')
        ek_store_put(store, items[0]);
    else if (*op == '-')
        ek_store_remove(store, items[0]);
    else
        ek_store_replace(store, items, n, "77");
    while (n)
        ek_obj_unref(items[--n]);
}

static const struct {
    const char *name;
    const char *ops[6];
    const char *told; /* to a handler added before */
    const char *keys; /* in the store at the end */
} rows[] = {
    {"add, update, delete",
     {"+a/u/1/g", "+a/u/2/g", "-a/u/3"},
     "add a >1; update a 1 >2; delete a 2; ",
     ""},
    {"remove what is not there", {"-a/u/3"}, "", ""},
    {"another uid is a deletion and an addition",
     {"+a/u/1/g", "+a/v/2/g"},
     "add a >1; delete a 1; add a >2; ",
     "a "},
    {"an update beside another object",
     {"+a/u/1/g", "+a/u/2/h", "+b/u/3/g"},
     "add a >1; update a 1 >2; add b >3; ",
     "a b "},
    {"replace tells deletions first, each in key order",
     {"+c/u/1/g", "+a/u/2/g", "+b/u/3/g", "=d/u/9/g,b/u/8/g"},
     "add c >1; add a >2; add b >3; initial delete a 2; initial delete c 1; "
     "initial update b 3 >8; initial add d >9; ",
     "b d "},
    {"replace with another uid",
     {"+a/u/1/g", "+b/u/2/g", "=a/v/3/g,b/u/4/g"},
     "add a >1; add b >2; initial delete a 1; initial add a >3; initial update b 2 >4; ",
     "a b "},
    {"replace with the same",
     {"=a/u/1/g", "=a/u/1/g"},
     "initial add a >1; initial update a 1 >1; ",
     "a "},
    {"replace by nothing", {"+a/u/1/g", "="}, "add a >1; initial delete a 1; ", ""},
    {"of one key twice the last counts", {"=a/u/1/h,a/u/2/g"}, "initial add a >2; ", "a "},
};

static char *keys_of(struct ek_obj **items, size_t n)
{
    struct ek_buf buf;

    ek_buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&buf, "%s ", ek_obj_key(items[i]));
    ek_snapshot_free(items, n);
    return ek_buf_steal(&buf);
}

START_TEST(changes_are_told)
{
    struct ek_store *store = ek_store_new();
    struct notes notes = {.store = store};

    ek_buf_init(&notes.buf, 4096);
    ek_store_add_handler(store, note, &notes);
    for (size_t i = 0; rows[_i].ops[i]; i++)
        apply(store, rows[_i].ops[i]);
    ck_assert_msg(!strcmp(ek_buf_str(&notes.buf), rows[_i].told), "%s: %s", rows[_i].name,
                  ek_buf_str(&notes.buf));
    size_t n;
    struct ek_obj **items = ek_store_snapshot(store, &n);
    EK_AUTOFREE char *keys = keys_of(items, n);
    ck_assert_msg(!strcmp(keys, rows[_i].keys), "%s: the store has %s", rows[_i].name, keys);
    ek_buf_done(&notes.buf);
    ek_store_free(store);
}
END_TEST

START_TEST(late_handlers_get_all_objects)
{
    struct ek_store *store = ek_store_new();
    struct notes notes = {.store = store};

    ek_buf_init(&notes.buf, 4096);
    apply(store, "+b/u/1/g");
    apply(store, "+a/u/2/h");
    ek_store_add_handler(store, note, &notes);
    ck_assert_str_eq(ek_buf_str(&notes.buf), "initial add a >2; initial add b >1; ");
    ek_buf_done(&notes.buf);
    ek_store_free(store);
}
END_TEST

static const struct {
    const char *a, *b;
    int rc, order;
} versions[] = {
    {"1", "2", 0, -1},
    {"10", "9", 0, 1},
    {"7", "7", 0, 0},
    {"0", "1", 0, -1},
    {"18446744073709551616", "18446744073709551615", 0, 1},
    {"99999999999999999999999999999999", "100000000000000000000000000000000", 0, -1},
    {"", "1", EK_E_PARSE, 0},
    {"1", "x", EK_E_PARSE, 0},
    {"01", "1", EK_E_PARSE, 0},
    {"1", "-1", EK_E_PARSE, 0},
    {"1 ", "1", EK_E_PARSE, 0},
};

START_TEST(resource_versions_are_integers_of_any_length)
{
    int order = 0;
    int rc = ek_resource_version_compare(versions[_i].a, versions[_i].b, &order);

    ck_assert_msg(rc == versions[_i].rc, "%s %s: %d", versions[_i].a, versions[_i].b, rc);
    if (rc == 0)
        ck_assert_msg((order > 0) - (order < 0) == versions[_i].order, "%s %s: %d", versions[_i].a,
                      versions[_i].b, order);
}
END_TEST

START_TEST(a_store_knows_how_far_it_is)
{
    struct ek_store *store = ek_store_new();

    ck_assert_str_eq(ek_store_resource_version(store), "");
    ck_assert(!ek_store_has_reached(store, "1"));
    apply(store, "=a/u/1");
    ck_assert_str_eq(ek_store_resource_version(store), "77");
    ek_store_set_resource_version(store, "100");
    ck_assert(ek_store_has_reached(store, "99"));
    ck_assert(ek_store_has_reached(store, "100"));
    ck_assert(!ek_store_has_reached(store, "101"));
    ek_store_free(store);
}
END_TEST

/* ---- random operations against a model: an array indexed by name ---- */

#define NAMES 12

struct model {
    char rv[NAMES][16]; /* "" when absent */
    char uid[NAMES][4];
    int live[NAMES]; /* what a handler thinks there is */
};

static void model_note(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                       const struct ek_obj *obj, bool initial)
{
    struct model *model = ctx;
    int i = ek_obj_name(old ? old : obj)[0] - 'a';

    (void)initial;
    ck_assert_int_eq(model->live[i], change != EK_STORE_ADDED);
    model->live[i] = change != EK_STORE_DELETED;
    if (change == EK_STORE_UPDATED)
        ck_assert_str_eq(ek_obj_uid(old), ek_obj_uid(obj));
}

static void model_check(const struct model *model, const struct ek_store *store)
{
    struct ek_buf all;
    size_t n;
    struct ek_obj **items = ek_store_snapshot(store, &n);

    ek_buf_init(&all, 4096);
    for (int i = 0; i < NAMES; i++) {
        char key[2] = {(char)('a' + i)};
        const struct ek_obj *obj = ek_store_get(store, key);
        ck_assert_str_eq(obj ? ek_obj_resource_version(obj) : "", model->rv[i]);
        ck_assert_int_eq(model->live[i], model->rv[i][0] != '\0');
        if (obj)
            ek_buf_printf(&all, "%c ", 'a' + i);
    }
    EK_AUTOFREE char *keys = keys_of(items, n);
    ck_assert_str_eq(keys, ek_buf_str(&all));
    ek_buf_done(&all);
}

static struct ek_obj *model_set(struct model *model, int i, struct ek_rand *rand, int rv)
{
    char spec[64];

    snprintf(model->rv[i], sizeof model->rv[i], "%d", rv);
    snprintf(model->uid[i], sizeof model->uid[i], "u%d", (int)(ek_rand_next(rand) % 2));
    snprintf(spec, sizeof spec, "%c/%s/%d", 'a' + i, model->uid[i], rv);
    return make(spec);
}

static void model_replace(struct model *model, struct ek_store *store, struct ek_rand *rand, int rv)
{
    struct ek_obj *items[NAMES];
    size_t n = 0;

    for (int i = 0; i < NAMES; i++) {
        model->rv[i][0] = '\0';
        if (ek_rand_next(rand) % 2)
            items[n++] = model_set(model, i, rand, rv);
    }
    ek_store_replace(store, items, n, "1");
    while (n)
        ek_obj_unref(items[--n]);
}

START_TEST(random_operations_match_the_model)
{
    struct ek_rand rand = {(uint64_t)_i};
    struct ek_store *store = ek_store_new();
    struct model model = {0};

    ek_store_add_handler(store, model_note, &model);
    for (int step = 1; step < 400; step++) {
        int i = (int)(ek_rand_next(&rand) % NAMES);
        uint64_t what = ek_rand_next(&rand) % 16;
        if (what == 0) {
            model_replace(&model, store, &rand, step);
        } else {
            struct ek_obj *obj = what < 6 ? make((char[]){(char)('a' + i), '/', 'u', '/', '1', 0})
                                          : model_set(&model, i, &rand, step);
            if (what < 6) {
                model.rv[i][0] = '\0';
                ek_store_remove(store, obj);
            } else {
                ek_store_put(store, obj);
            }
            ek_obj_unref(obj);
        }
        model_check(&model, store);
    }
    ek_store_free(store);
}
END_TEST

/* The map below the store, with enough keys to grow and with runs to shift back. */
START_TEST(the_map_matches_an_array)
{
    enum { KEYS = 500 };
    static char keys[KEYS][16];
    static void *values[KEYS];
    struct ek_rand rand = {(uint64_t)_i + 1};
    struct ek_map map = {0};
    size_t n = 0;

    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        values[i] = NULL;
    }
    for (int step = 0; step < 20000; step++) {
        size_t i = ek_rand_next(&rand) % KEYS;
        bool take = ek_rand_next(&rand) % 1000 < (step / 4000 % 2 ? 700 : 300);
        void *value = take ? NULL : &keys[ek_rand_next(&rand) % KEYS];
        void *before = take ? ek_map_take(&map, keys[i]) : ek_map_put(&map, keys[i], value);
        ck_assert_ptr_eq(before, values[i]);
        n += (value != NULL) - (values[i] != NULL);
        values[i] = value;
        ck_assert_uint_eq(map.n, n);
    }
    for (int i = 0; i < KEYS; i++)
        ck_assert_ptr_eq(ek_map_get(&map, keys[i]), values[i]);
    size_t cursor = 0, seen = 0;
    void *value;
    while (ek_map_next(&map, &cursor, NULL, &value))
        seen++;
    ck_assert_uint_eq(seen, n);
    ek_map_done(&map);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("store");

    tcase_add_loop_test(tcase, changes_are_told, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, late_handlers_get_all_objects);
    tcase_add_loop_test(tcase, resource_versions_are_integers_of_any_length, 0,
                        (int)EK_ARRAY_SIZE(versions));
    tcase_add_test(tcase, a_store_knows_how_far_it_is);
    tcase_add_loop_test(tcase, random_operations_match_the_model, 0, 10);
    tcase_add_loop_test(tcase, the_map_matches_an_array, 0, 3);
    return ek_test_run("store", tcase);
}
