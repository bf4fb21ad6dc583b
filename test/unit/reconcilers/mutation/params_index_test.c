/* SPDX-License-Identifier: Apache-2.0 */
/* Params that bindings name, by row; each answer is also that of a look at every object. */
#include "reconcilers/mutation/params_index.h"

#include <check.h>
#include <stdio.h>

#include "api/selector.h"
#include "test/support/suite.h"

#define OBJECTS 1000

static struct ek_obj *objects[OBJECTS];

/* c0, c1, ... in ten namespaces; each has labels of its own, of its namespace and of all. */
static void setup(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        EK_AUTOFREE char *text = ek_xasprintf(
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%d\","
            "\"namespace\":\"n%d\",\"labels\":{\"app\":\"a%d\",\"group\":\"g%d\",\"tier\":\"x\"}}}",
            i, i % 10, i, i % 100);
        yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
        yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
        objects[i] = ek_obj_from_mut(yyjson_mut_doc_get_root(copy));
        yyjson_mut_doc_free(copy);
        yyjson_doc_free(doc);
    }
}

static void teardown(void)
{
    for (int i = 0; i < OBJECTS; i++)
        ek_obj_unref(objects[i]);
}

static const struct {
    const char *name, *namespace, *selector; /* selector NULL: there is none */
    bool holds;
    uint64_t looked; /* objects that are compared at most */
} rows[] = {
    {"c7", "", NULL, true, 1},
    {"c1000", "", NULL, false, 0},
    {"c7", "n7", NULL, true, 1},
    {"c7", "n8", NULL, false, 1},
    {"", "", "app=a7", true, 1},
    {"", "", "app=none", false, 0},
    {"", "n7", "app=a7", true, 1},
    {"", "n8", "app=a7", false, 1},
    {"", "none", "tier=x", false, 0},
    {"", "n7", "tier=x", true, 1},
    {"", "", "tier=x,app=none", false, 0},
    {"", "", "tier=x,app=a7,group=g8", false, 1},
    {"", "", "app in (none, nobody, a9)", true, 1},
    {"", "", "tier", true, 1},
    {"", "", "!tier,app=a7", false, 1},
    {"", "n7", "!tier", false, 100},
    {"", "", "!tier", false, OBJECTS},
    {"", "", "", true, 1},
    {"", "", NULL, false, 0},
};

static bool look_at_all(const struct ek_params_wanted *wanted)
{
    for (int i = 0; i < OBJECTS; i++) {
        yyjson_val *labels = ek_json_get(ek_obj_root(objects[i]), "metadata", "labels", NULL);
        bool here = !*wanted->namespace || !strcmp(wanted->namespace, ek_obj_namespace(objects[i]));
        if (here &&
            (*wanted->name ? !strcmp(wanted->name, ek_obj_name(objects[i]))
                           : wanted->selector && ek_selector_matches(wanted->selector, labels)))
            return true;
    }
    return false;
}

START_TEST(finds_params)
{
    struct ek_params_index index;
    struct ek_selector *selector = NULL;

    if (rows[_i].selector)
        ck_assert_int_eq(ek_selector_parse(rows[_i].selector, &selector, NULL), 0);
    const struct ek_params_wanted wanted = {
        .name = rows[_i].name, .namespace = rows[_i].namespace, .selector = selector};
    ek_params_index_init(&index, objects, OBJECTS);
    ck_assert_int_eq(ek_params_index_holds(&index, &wanted), rows[_i].holds);
    ck_assert_int_eq(look_at_all(&wanted), rows[_i].holds);
    ck_assert_uint_le(index.looked, rows[_i].looked);
    ek_params_index_done(&index);
    ek_selector_free(selector);
}
END_TEST

START_TEST(finds_nothing_among_none)
{
    struct ek_params_index index;

    ek_params_index_init(&index, NULL, 0);
    ck_assert(!ek_params_index_holds(
        &index, &(struct ek_params_wanted){.name = "c7", .namespace = "", .selector = NULL}));
    ek_params_index_done(&index);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, finds_params, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, finds_nothing_among_none);
    return ek_test_run("params_index", tcase);
}
