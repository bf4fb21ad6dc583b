/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that failed, and the namespaces that are judged. */
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/failforward/kept.h"
#include "controller/failforward/spaces.h"
#include "test/support/suite.h"

#define NOW INT64_C(1767225600000)

static const struct {
    const char *name;
    int code;
    bool undone, refused;
    unsigned times;
} rows[] = {
    {"an object that changed", EK_E_CONFLICT, true, false, 1},
    {"an object that changes all the time", EK_E_CONFLICT, true, true, EK_FF_CONFLICTS_MAX},
    {"an object that is gone", EK_E_NOENT, true, false, 1},
    {"a right that is missing", EK_E_FORBIDDEN, true, true, 1},
    {"a write that may have been carried out", EK_E_TIMEOUT, false, false, 1},
};

START_TEST(failures)
{
    struct ek_ff_kept_list list = {0};
    const struct ek_ff_memory undone = {.hops = 7};
    struct ek_err err = {0};

    ek_err_set(&err, rows[_i].code, "no");
    for (unsigned i = 0; i < rows[_i].times; i++)
        ek_ff_kept_fail(&list, "a", &undone, &err, NOW);
    const struct ek_ff_kept *kept = ek_ff_kept_get(&list, "a");
    ck_assert_msg((kept && kept->undone) == rows[_i].undone, "%s", rows[_i].name);
    ck_assert_msg((kept && *kept->refused) == rows[_i].refused, "%s", rows[_i].name);
    if (kept) {
        ck_assert_uint_eq(kept->memory.hops, 7);
        ck_assert((kept->until_ms > NOW) == rows[_i].refused);
        ek_ff_kept_remembered(&list, "a");
        ck_assert(!ek_ff_kept_get(&list, "a")->undone);
        ek_ff_kept_forget(&list, "a");
    }
    ck_assert_ptr_null(ek_ff_kept_get(&list, "a"));
    ck_assert_ptr_null(ek_ff_kept_get(&list, "b"));
    ek_ff_kept_done(&list);
}
END_TEST

START_TEST(one_of_several)
{
    struct ek_ff_kept_list list = {0};
    const struct ek_ff_memory undone = {0};
    struct ek_err err = {0};
    char uid[16];

    ek_err_set(&err, EK_E_CONFLICT, "no");
    for (int i = 0; i < 3; i++) {
        snprintf(uid, sizeof uid, "u%d", i);
        ek_ff_kept_fail(&list, uid, &undone, &err, NOW);
    }
    ek_ff_kept_forget(&list, "u0");
    ck_assert_ptr_null(ek_ff_kept_get(&list, "u0"));
    ck_assert_ptr_nonnull(ek_ff_kept_get(&list, "u1"));
    ck_assert_ptr_nonnull(ek_ff_kept_get(&list, "u2"));
    ek_ff_kept_done(&list);
}
END_TEST

/* ---- Namespaces ---- */

static void give(struct ek_ff_spaces *spaces, const char *const *names, size_t n)
{
    struct ek_obj *subs[4] = {NULL};

    for (size_t i = 0; i < n; i++) {
        EK_AUTOFREE char *json =
            ek_xasprintf("{\"metadata\":{\"namespace\":\"%s\",\"name\":\"op\"}}", names[i]);
        ck_assert_int_eq(ek_obj_parse(json, strlen(json), &subs[i], NULL), 0);
    }
    ek_ff_spaces_list(spaces, subs, n);
    for (size_t i = 0; i < n; i++)
        ek_obj_unref(subs[i]);
}

START_TEST(namespaces)
{
    struct ek_ff_spaces spaces = {0};
    struct ek_ff_verdict verdict = {.next.again_ms = NOW + 1000};
    static const char subscription[] = "{\"metadata\":{\"name\":\"op\"}}";

    /* "a-b/op" is before "a/op" among keys, and after it among names. */
    give(&spaces, (const char *[]){"a-b", "a", "a", "c"}, 4);
    ck_assert_uint_eq(spaces.n, 3);
    struct ek_ff_space *a = ek_ff_spaces_find(&spaces, "a");
    ck_assert_ptr_nonnull(ek_ff_spaces_find(&spaces, "a-b"));
    ck_assert(ek_ff_space_is_due(a, NOW));
    ck_assert_int_eq(ek_obj_parse(subscription, strlen(subscription), &verdict.subscription, NULL),
                     0);
    ek_ff_space_keep(a, &verdict, 1);
    ck_assert(!ek_ff_space_is_due(a, NOW));
    ck_assert(ek_ff_space_is_due(a, NOW + 1000));
    ek_ff_spaces_touch(&spaces, "a", false);
    ck_assert(ek_ff_space_is_due(a, NOW) && !a->is_stale);
    ek_ff_spaces_touch(&spaces, "a", true);
    ek_ff_spaces_touch(&spaces, "a", false);
    ck_assert(ek_ff_space_is_due(a, NOW) && a->is_stale);
    ek_ff_space_keep(a, &verdict, 1);
    ek_ff_spaces_touch(&spaces, "x", true);
    ck_assert(!ek_ff_space_is_due(a, NOW) && !a->is_stale);
    ek_ff_spaces_touch(&spaces, NULL, false);
    ck_assert(ek_ff_space_is_due(a, NOW) && !a->is_stale);
    ek_ff_spaces_touch(&spaces, NULL, true);
    ck_assert(a->is_stale && ek_ff_spaces_find(&spaces, "c")->is_stale);
    give(&spaces, (const char *[]){"a", "d"}, 2);
    ck_assert_uint_eq(spaces.n, 2);
    ck_assert_ptr_eq(ek_ff_spaces_find(&spaces, "a"), a);
    ck_assert_uint_eq(a->n_briefs, 1);
    ck_assert_ptr_null(ek_ff_spaces_find(&spaces, "c"));
    give(&spaces, NULL, 0);
    ck_assert_uint_eq(spaces.n, 0);
    ek_ff_spaces_done(&spaces);
    ek_obj_unref(verdict.subscription);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("kept");

    tcase_add_loop_test(tc, failures, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, one_of_several);
    tcase_add_test(tc, namespaces);
    return ek_test_run("kept", tc);
}
