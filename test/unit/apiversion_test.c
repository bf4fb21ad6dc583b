/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "api/apiversion.h"
#include "api/mem.h"

static const struct {
    const char *name;
    const char *a, *b;
    int64_t want;
} rows[] = {
    {"same", "v1", "v1", 0},
    {"spelling", "v01", "v1", 0},
    {"GA above beta", "v1", "v2beta1", 1},
    {"GA above alpha", "v1", "v12alpha1", 2},
    {"beta above alpha", "v1beta1", "v2alpha9", 1},
    {"majors", "v10", "v2", 8},
    {"minors", "v1beta1", "v1beta2", -1},
    {"far apart", "v9223372036854775807", "v1", INT64_MAX - 1},
    {"known above unknown", "v1alpha1", "foo", 1},
    {"too large is unknown", "v9223372036854775808", "v1alpha1", -1},
    {"minor too large is unknown", "v1beta9223372036854775808", "v1alpha1", -1},
    {"unknown names backwards", "version1", "version10", 1},
    {"unknown names backwards, reversed", "foo", "bar", -1},
    {"capital", "V1", "v1alpha1", -1},
    {"no number", "v", "v1alpha1", -1},
    {"no minor", "v1beta", "v1alpha1", -1},
    {"more behind", "v1beta1x", "v1alpha1", -1},
    {"blank behind", "v1 ", "v1alpha1", -1},
    {"sign", "v+1", "v1alpha1", -1},
    {"empty", "", "v1alpha1", -1},
};

START_TEST(names_compare)
{
    struct ek_str a = ek_str_from(rows[_i].a), b = ek_str_from(rows[_i].b);
    int64_t got = ek_apiversion_cmp(a, b);

    ck_assert_msg(got == rows[_i].want, "%s: %lld", rows[_i].name, (long long)got);
    ck_assert_msg(ek_apiversion_cmp(b, a) == -rows[_i].want, "%s, reversed", rows[_i].name);
}
END_TEST

START_TEST(names_sort_greatest_first)
{
    const char *names[] = {"v1alpha1", "foo10", "v2",      "v11alpha2", "v10",     "v3beta1",
                           "foo1",     "v1",    "v1beta1", "v12alpha1", "v10beta3"};
    static const char *const want[] = {"v10",      "v2",      "v1",        "v10beta3",
                                       "v3beta1",  "v1beta1", "v12alpha1", "v11alpha2",
                                       "v1alpha1", "foo1",    "foo10"};

    ek_apiversion_sort(names, EK_ARRAY_SIZE(names));
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        ck_assert_str_eq(names[i], want[i]);
    ek_apiversion_sort(names, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("apiversion");
    TCase *tcase = tcase_create("apiversion");
    SRunner *runner = srunner_create(suite);

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, names_compare, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, names_sort_greatest_first);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
