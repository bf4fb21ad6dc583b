/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of apiserver/pkg/util/peerproxy/gv_exclusion_manager_test.go (Kubernetes 1.36): the set,
 * what is reaped, what is noticed. */
#include "reconcilers/peers/custom_groups.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

#define NOW  ((int64_t)1000000)
#define KEPT EK_CUSTOM_GROUPS_KEPT_MS

/* An APIService: "example.com/v1" of a CRD, "+metrics.k8s.io/v1" with a service, "-apps/v1" of
 * kube-apiserver itself, "?a/v1" without label and service, "!a/v1" without a version. */
static struct ek_obj *service(const char *text)
{
    char kind = strchr("+-?!", text[0]) ? *text++ : ' ', json[512], group[64];
    const char *slash = strchr(text, '/');
    struct ek_obj *obj = NULL;

    snprintf(group, sizeof group, "%.*s", (int)(slash - text), text);
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"%s.%s\",\"labels\":{%s}},\"spec\":{\"group\":\"%s\"%s%s%s%s}}",
        slash + 1, group,
        kind == ' '   ? "\"kube-aggregator.kubernetes.io/automanaged\":\"true\""
        : kind == '-' ? "\"kube-aggregator.kubernetes.io/automanaged\":\"onstart\""
                      : "",
        group, kind == '!' ? "" : ",\"version\":\"", kind == '!' ? "" : slash + 1,
        kind == '!' ? "" : "\"",
        kind == '+' ? ",\"service\":{\"name\":\"s\",\"namespace\":\"n\"}" : "");
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &obj, NULL), 0);
    return obj;
}

/* Updates by a list such as "a/v1 b/v1", and compares what is left out. */
static void check(struct ek_custom_groups *groups, const char *list, int64_t now_ms,
                  const char *expected, int64_t again_ms)
{
    struct ek_obj *objs[16];
    char text[256], result[256] = "";
    size_t n = 0;
    int64_t again = -1;

    snprintf(text, sizeof text, "%s", list);
    for (char *rest = text, *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word)
            objs[n++] = service(word);
    const struct ek_exclusions *out = ek_custom_groups_update(groups, objs, n, now_ms, &again);
    for (size_t i = 0; i < out->n; i++)
        snprintf(result + strlen(result), sizeof result - strlen(result), "%s%s", i ? " " : "",
                 out->group_versions[i]);
    ck_assert_str_eq(result, expected);
    ck_assert_int_eq(again, again_ms);
    for (size_t i = 0; i < n; i++)
        ek_obj_unref(objs[i]);
}

static const struct {
    const char *label, *services, *expected;
} set_rows[] = {
    {"nothing", "", ""},
    {"of a CRD", "example.com/v1", "example.com/v1"},
    {"of an extension API server", "+metrics.k8s.io/v1beta1", "metrics.k8s.io/v1beta1"},
    {"of kube-apiserver", "-apps/v1 -batch/v1", ""},
    {"neither label nor service", "?a.example/v1", ""},
    {"without a version", "!a.example/v1", ""},
    {"sorted", "z.example/v1 +a.example/v2 a.example/v1", "a.example/v1 a.example/v2 z.example/v1"},
};

START_TEST(set)
{
    struct ek_custom_groups *groups = ek_custom_groups_new();

    check(groups, set_rows[_i].services, NOW, set_rows[_i].expected, 0);
    ek_custom_groups_free(groups);
}
END_TEST

START_TEST(gone_ones_stay_for_five_minutes)
{
    struct ek_custom_groups *groups = ek_custom_groups_new();

    check(groups, "a/v1 b/v1", NOW, "a/v1 b/v1", 0);
    check(groups, "b/v1", NOW + 1, "a/v1 b/v1", KEPT + 1);
    check(groups, "", NOW + 11, "a/v1 b/v1", KEPT - 9);
    /* Exactly five minutes are not enough. */
    check(groups, "", NOW + 1 + KEPT, "a/v1 b/v1", 1);
    check(groups, "", NOW + 2 + KEPT, "b/v1", 10);
    check(groups, "", NOW + 12 + KEPT, "", 0);
    ek_custom_groups_free(groups);
}
END_TEST

START_TEST(one_that_comes_back_is_active)
{
    struct ek_custom_groups *groups = ek_custom_groups_new();

    check(groups, "a/v1", NOW, "a/v1", 0);
    check(groups, "", NOW + 1, "a/v1", KEPT + 1);
    check(groups, "a/v1", NOW + 2, "a/v1", 0);
    check(groups, "a/v1", NOW + 2 + 2 * KEPT, "a/v1", 0);
    /* Its time begins anew. */
    check(groups, "", NOW + 3 + 2 * KEPT, "a/v1", KEPT + 1);
    ek_custom_groups_free(groups);
}
END_TEST

START_TEST(a_swap_of_equal_size_is_noticed)
{
    struct ek_custom_groups *groups = ek_custom_groups_new();

    check(groups, "a/v1", NOW, "a/v1", 0);
    check(groups, "b/v1", NOW + 1, "a/v1 b/v1", KEPT + 1);
    ek_custom_groups_free(groups);
}
END_TEST

START_TEST(a_clock_that_was_set_back_keeps_nothing_for_ever)
{
    struct ek_custom_groups *groups = ek_custom_groups_new();

    check(groups, "a/v1", NOW, "a/v1", 0);
    check(groups, "", NOW, "a/v1", KEPT + 1);
    check(groups, "", 500, "a/v1", KEPT + 1);
    check(groups, "", 501 + KEPT, "", 0);
    ek_custom_groups_free(groups);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("custom groups");

    tcase_add_loop_test(tcase, set, 0, (int)EK_ARRAY_SIZE(set_rows));
    tcase_add_test(tcase, gone_ones_stay_for_five_minutes);
    tcase_add_test(tcase, one_that_comes_back_is_active);
    tcase_add_test(tcase, a_swap_of_equal_size_is_noticed);
    tcase_add_test(tcase, a_clock_that_was_set_back_keeps_nothing_for_ever);
    return ek_test_run("custom_groups", tcase);
}
