/* SPDX-License-Identifier: Apache-2.0 */
/* How much is registered for gated kinds, and what is left out beyond. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/gates_registration.h"
#include "test/support/json_text.h"
#include "test/support/suite.h"

#define KINDS 520

/* All that fits; never half of a kind, wherever the limit is within the last one, and the digest
 * covers what does not fit. */
START_TEST(leaves_out_what_does_not_fit)
{
    struct ek_gates_registered kinds[KINDS];
    struct ek_gates_crd crd = test_registration_crontabs();
    char bundle[2000] = {0};
    struct test_registration m;
    size_t in = 0;

    memset(bundle, 'x', sizeof bundle - 1 - 5 * (size_t)_i);
    for (size_t i = 0; i < KINDS; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("crontabs%zu.stable.example.com", i);
        kinds[i] = (struct ek_gates_registered){
            .gates =
                test_registration_gates(name, ALPHA("A", ".spec.a") "," IGNORE("B", ".spec.b")),
            .crd = &crd};
    }
    test_registration_make(kinds, KINDS, bundle, &m);
    size_t n = yyjson_mut_arr_size(yyjson_mut_obj_get(m.mutating, "webhooks"));
    ck_assert_uint_gt(n, 100);
    ck_assert_uint_eq((n - 1) % 2, 0);
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(m.validating, "webhooks")), n);
    for (size_t i = 0; i < KINDS; i++) {
        ck_assert(ek_gates_need_registration(&kinds[i]));
        in += ek_gates_registration_digest(m.mutating, m.validating, kinds[i].gates->name) != 0;
        ek_gates_unref(kinds[i].gates);
    }
    ck_assert_uint_eq(in, (n - 1) / 2);
    size_t size = 0;
    EK_AUTOFREE char *text = test_json_text(m.contents[0], &size);
    ck_assert_uint_lt(size, (size_t)1200 << 10);
    test_registration_done(&m);
}
END_TEST

/* As many kinds as are registered, and one more. */
START_TEST(kinds_are_bounded)
{
    const struct ek_gates *gates =
        test_registration_gates("crontabs.stable.example.com", ALPHA("A", ".spec.a"));
    struct ek_gates_registered kinds[EK_GATES_REGISTERED_MAX + 1];
    struct ek_gates_crd crd = test_registration_crontabs();
    struct test_registration m;

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        kinds[i] = (struct ek_gates_registered){.gates = gates, .crd = &crd};
    test_registration_make(kinds, EK_ARRAY_SIZE(kinds), NULL, &m);
    /* One more is the canary. */
    ck_assert_uint_eq(yyjson_mut_arr_size(yyjson_mut_obj_get(m.mutating, "webhooks")),
                      EK_GATES_REGISTERED_MAX + 1);
    ek_gates_unref(gates);
    test_registration_done(&m);
}
END_TEST

/* A name of a webhook has 253 octets at most. */
START_TEST(long_names_are_cut)
{
    static const char around[] = "fail..gates.evenkeel.dev";
    struct ek_gates_crd crd = test_registration_crontabs();

    for (size_t more = 0; more < 2; more++) {
        size_t len = 253 - strlen(around) + more;
        EK_AUTOFREE char *name = ek_xasprintf("a%0*d.example.com", (int)(len - 13), 0);
        struct test_registration m;
        for (size_t i = 60; i < len - 12; i += 60)
            name[i] = '.';
        const struct ek_gates *gates = test_registration_gates(name, ALPHA("A", ".spec.a"));
        test_registration_make(&(struct ek_gates_registered){.gates = gates, .crd = &crd}, 1, NULL,
                               &m);
        const char *got =
            yyjson_get_str(yyjson_ptr_get(ek_obj_root(m.contents[0]), "/webhooks/0/name"));
        ck_assert_uint_eq(strlen(name), len);
        ck_assert_msg((strstr(got, name) != NULL) == !more, "%s", got);
        ck_assert_uint_le(strlen(got), 253);
        ek_gates_unref(gates);
        test_registration_done(&m);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, leaves_out_what_does_not_fit, 0, 3);
    tcase_add_test(tc, kinds_are_bounded);
    tcase_add_test(tc, long_names_are_cut);
    return ek_test_run("gates registration limits", tc);
}
