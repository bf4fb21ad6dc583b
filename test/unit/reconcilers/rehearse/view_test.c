/* SPDX-License-Identifier: Apache-2.0 */
/* What servers serve, what plans predict, and the differences. */
#include "reconcilers/rehearse/view.h"

#include <string.h>

#include "api/obj.h"
#include "test/support/suite.h"

static struct ek_arena *arena;

static void setup(void)
{
    arena = ek_arena_new((size_t)64 << 20);
}

static void teardown(void)
{
    ek_arena_free(arena);
}

static void add(struct ek_rehearse_view *view, const char *json)
{
    yyjson_doc *doc = ek_json_parse(json, strlen(json), NULL);

    ck_assert(ek_rehearse_view_add(view, yyjson_doc_get_root(doc)));
    yyjson_doc_free(doc);
}

#define LIST(gv, resources) "{\"groupVersion\":\"" gv "\",\"resources\":[" resources "]}"
#define KIND(name, hash)                                                                           \
    "{\"name\":\"" name "\",\"kind\":\"K\",\"verbs\":[\"list\",\"update\"],"                       \
    "\"storageVersionHash\":\"" hash "\"}"

START_TEST(reading)
{
    struct ek_rehearse_view view = {.arena = arena};

    add(&view, LIST("b.io/v2", KIND("xs", "h") ",{\"name\":\"xs/status\"},{}"));
    add(&view, LIST("b.io/v1", KIND("xs", "h")));
    add(&view, LIST("v1", KIND("pods", "p")));
    ek_rehearse_view_sort(&view);
    ck_assert_uint_eq(view.n_types, 3);
    ck_assert_str_eq(view.types[0].resource, "pods");
    ck_assert_str_eq(view.types[0].group, "");
    ck_assert_str_eq(view.types[1].version, "v2"); /* the preferred version stays the first */
    ck_assert(view.types[1].can_list && view.types[1].can_update && !view.types[1].can_create);
    yyjson_doc *doc = ek_json_parse("{\"kind\":\"Status\"}", 17, NULL);
    ck_assert(!ek_rehearse_view_add(&view, yyjson_doc_get_root(doc)));
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(types_beyond_the_limit)
{
    struct ek_rehearse_view view = {.arena = arena};
    EK_AUTO(ek_buf) list;

    ek_buf_init(&list, (size_t)4 << 20);
    ek_buf_puts(&list, "{\"groupVersion\":\"v1\",\"resources\":[{},{\"name\":\"a/b\"}");
    for (int i = 0; i < EK_REHEARSE_TYPES_MAX; i++)
        ek_buf_printf(&list, ",{\"name\":\"r%d\"}", i);
    ek_buf_puts(&list, "]}");
    add(&view, ek_buf_str(&list));
    ck_assert_uint_eq(view.n_types, EK_REHEARSE_TYPES_MAX);
    ck_assert_uint_eq(view.beyond, 0);
    add(&view, LIST("v2", KIND("xs", "h") "," KIND("ys", "h") ",{}"));
    ck_assert_uint_eq(view.n_types, EK_REHEARSE_TYPES_MAX);
    ck_assert_uint_eq(view.beyond, 2);
}
END_TEST

START_TEST(differences)
{
    struct ek_rehearse_view a = {.arena = arena}, b = {.arena = arena};
    struct ek_rehearse_differences d;

    add(&a, LIST("b.io/v1", KIND("xs", "h") "," KIND("ys", "h")));
    add(&b, LIST("b.io/v1", KIND("xs", "h") "," KIND("zs", "h")));
    ek_rehearse_view_gate(&a, "On", true);
    ek_rehearse_view_gate(&a, "Old", true);
    ek_rehearse_view_gate(&b, "On", false);
    ek_rehearse_view_sort(&a);
    ek_rehearse_view_sort(&b);
    a.types[0].stored = "b.io/v1";
    b.types[0].stored = "b.io/v2";
    ek_rehearse_view_compare(&a, &b, NULL, arena, &d);
    ck_assert_uint_eq(d.n, 5);
    ck_assert_uint_eq(d.same, 1);
    ck_assert_str_eq(d.list[0].name, "b.io/v1 ys");
    ck_assert_str_eq(d.list[0].b, "not served");
    ck_assert_str_eq(d.list[1].name, "b.io/v1 zs");
    ck_assert_str_eq(d.list[1].a, "not served");
    ck_assert_str_eq(d.list[2].what, "storage");
    ck_assert_str_eq(d.list[2].name, "b.io xs");
    ck_assert_str_eq(d.list[2].b, "b.io/v2");
    ck_assert_str_eq(d.list[3].name, "Old");
    ck_assert_str_eq(d.list[3].b, "absent");
    ck_assert_str_eq(d.list[4].a, "on");
    ck_assert_str_eq(d.list[4].b, "off");
    ek_rehearse_view_compare(&a, &a, NULL, arena, &d);
    ck_assert_uint_eq(d.n, 0);
}
END_TEST

static const struct {
    const char *name, *arg;
    unsigned emulation, min_compat;
    const char *refusal; /* a part of the first; NULL: none */
} predictions[] = {
    {"defaults", "--profiling=false", 36, 35, NULL},
    {"a gate that is locked", "--feature-gates=ImageVolume=false", 36, 35,
     "cannot set feature gate ImageVolume to false, feature is locked to true"},
    {"the gate while the server emulates", "--feature-gates=ImageVolume=false", 35, 34, NULL},
    {"an API that comes later", "--runtime-config=resource.k8s.io/v1=true", 33, 33,
     "cannot enable version resource.k8s.io/v1 in runtime-config"},
};

START_TEST(prediction_row)
{
    EK_AUTO(ek_plan_data) data = {0};
    struct ek_rehearse_view view;
    const char *const *refusals;
    size_t n;

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){NULL, 0}, &data, NULL), 0);
    const struct ek_rehearse_step step = {.binary = data.binary,
                                          .emulation = EK_MINOR(1, predictions[_i].emulation),
                                          .min_compat = EK_MINOR(1, predictions[_i].min_compat)};
    ck_assert(
        ek_rehearse_predict(&data, &step, &predictions[_i].arg, 1, arena, &view, &refusals, &n));
    ck_assert_msg((n > 0) == (predictions[_i].refusal != NULL), "%s", predictions[_i].name);
    if (n)
        ck_assert_msg(strstr(refusals[0], predictions[_i].refusal) != NULL, "%s: %s",
                      predictions[_i].name, refusals[0]);
    else
        ck_assert(view.n_types > 50 && view.n_gates > 100);
}
END_TEST

START_TEST(another_binary_is_not_predicted)
{
    EK_AUTO(ek_plan_data) data = {0};
    struct ek_rehearse_view view;
    const char *const *refusals;
    size_t n;

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){NULL, 0}, &data, NULL), 0);
    const struct ek_rehearse_step step = {.binary = EK_MINOR(1, 30)};
    ck_assert(!ek_rehearse_predict(&data, &step, NULL, 0, arena, &view, &refusals, &n));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("view");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, reading);
    tcase_add_test(tcase, types_beyond_the_limit);
    tcase_add_test(tcase, differences);
    tcase_add_loop_test(tcase, prediction_row, 0, EK_ARRAY_SIZE(predictions));
    tcase_add_test(tcase, another_binary_is_not_predicted);
    return ek_test_run("rehearse view", tcase);
}
