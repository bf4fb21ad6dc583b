/* SPDX-License-Identifier: Apache-2.0 */
/* Gated writes that are denied, by row: in the mode that rejects, and by the backstop. */
#include "reconcilers/fieldgates/decide.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

/* ---- Reject ---- */

static const struct {
    const char *name, *spec, *old, *new;
    const char *denial; /* NULL: allowed */
    size_t hits;
} rejects[] = {
    {"set", REJECT(OFF("R", ".spec.replicas")), NULL, SPEC(", replicas: 3"), CANNOT("set"), 1},
    {"changed", REJECT(OFF("R", ".spec.replicas")), SPEC(", replicas: 3"), SPEC(", replicas: 5"),
     CANNOT("changed"), 1},
    {"removed", REJECT(OFF("R", ".spec.replicas")), SPEC(", replicas: 3"), SPEC(),
     CANNOT("removed"), 1},
    {"removed with its parent", REJECT(OFF("R", ".spec.replicas")), SPEC(", replicas: 3"), "{}",
     CANNOT("removed"), 1},
    {"unchanged", REJECT(OFF("R", ".spec.replicas")), SPEC(", replicas: 3"),
     "{spec: {image: b, replicas: 3}}", NULL, 0},
    {"on", REJECT(ON("R", ".spec.replicas")), NULL, SPEC(", replicas: 3"), NULL, 0},
    {"7' is allowed", REJECT(ON("Foo", FOO) "," OFF("Qux", QUX)), SPEC(", foo: {qux: 1}"), SPEC(),
     NULL, 0},
    {"a deprecated field of a denied write is not used",
     REJECT(OFF("R", ".spec.replicas") "," OLD("D", ".spec.d")), NULL, SPEC(", replicas: 3, d: 4"),
     CANNOT("set"), 1},
    {"several", REJECT(OFF("A", ".spec.a, .spec.b")), SPEC(", b: 1"), SPEC(", a: 1"),
     "field .spec.a cannot be set: feature gate A is off; "
     "field .spec.b cannot be removed: feature gate A is off",
     2},
    {"many", REJECT(OFF("A", ".spec.a, .spec.b, .spec.c, .spec.d, .spec.e, .spec.f, .spec.g")),
     NULL, SPEC(", a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1"),
     "field .spec.a cannot be set: feature gate A is off; "
     "field .spec.b cannot be set: feature gate A is off; "
     "field .spec.c cannot be set: feature gate A is off; "
     "field .spec.d cannot be set: feature gate A is off; "
     "field .spec.e cannot be set: feature gate A is off; and 2 more",
     7},
};

START_TEST(test_rejects)
{
    struct test_gates_case c = {rejects[_i].spec, rejects[_i].old, rejects[_i].new, NULL, 0, NULL};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert_msg(w.outcome.allowed == !rejects[_i].denial, "%s", rejects[_i].name);
    ck_assert(!w.outcome.patch);
    if (rejects[_i].denial) {
        ck_assert_str_eq(w.outcome.message, rejects[_i].denial);
        ck_assert_int_eq(w.outcome.code, 403);
        ck_assert_str_eq(w.outcome.reason, "Forbidden");
    }
    ck_assert_uint_eq(w.outcome.n_hits, rejects[_i].hits);
    const char *broken = test_gates_broken_law(&w);
    ck_assert_msg(!broken, "%s: %s", rejects[_i].name, broken);
    test_gates_close(&w);
}
END_TEST

/* ---- The backstop ---- */

static const struct {
    const char *name, *spec, *old, *final;
    const char *denial; /* NULL: allowed */
    int code;
} finals[] = {
    {"put back by a later mutator", R_OFF, NULL, SPEC(", replicas: 3"), CANNOT("set"), 422},
    {"changed by a later mutator", R_OFF, SPEC(", replicas: 3"), SPEC(", replicas: 5"),
     CANNOT("changed"), 422},
    {"removed by a later mutator", R_OFF, SPEC(", replicas: 3"), SPEC(), CANNOT("removed"), 422},
    {"its parent, too", R_OFF, SPEC(", replicas: 3"), "{}", CANNOT("removed"), 422},
    {"as decided", R_OFF, SPEC(", replicas: 3"), SPEC(", replicas: 3"), NULL, 0},
    {"an open gate's field", R_ON, SPEC(", replicas: 3"), SPEC(", replicas: 5"), NULL, 0},
    {"a deprecated field", GATES(OLD("D", ".spec.d")), NULL, SPEC(", d: 5"), NULL, 0},
    {"with Reject", REJECT(OFF("R", ".spec.replicas")), NULL, SPEC(", replicas: 3"), CANNOT("set"),
     403},
};

START_TEST(test_finals)
{
    struct test_gates_case c = {finals[_i].spec, finals[_i].old, finals[_i].final, NULL, 0, NULL};
    struct test_gates_write w;
    struct ek_gates_outcome o;

    test_gates_open(&w, &c);
    ck_assert_int_eq(ek_gates_verify(w.gates, &w.shape, &w.request, w.arena, NULL, &o, NULL), 0);
    ck_assert_msg(o.allowed == !finals[_i].denial, "%s", finals[_i].name);
    ck_assert(!o.patch && o.n_warnings == 0);
    ck_assert_uint_eq(o.n_hits, finals[_i].denial ? 1 : 0);
    if (finals[_i].denial) {
        ck_assert_str_eq(o.message, finals[_i].denial);
        ck_assert_int_eq(o.code, finals[_i].code);
    }
    test_gates_close(&w);
}
END_TEST

/* Validating webhooks see 0 where mutating ones see the sentinel. */
static const struct {
    const char *name, *old, *final;
    bool allowed;
} final_scales[] = {
    {"not persisted, not set", SCALE_ZERO, SCALE_ZERO, true},
    {"the sentinel is 0", SCALE_ZERO, SCALE_NONE, true},
    {"frozen", SCALE("3"), SCALE("3"), true},
    {"changed", SCALE("3"), SCALE("5"), false},
    {"set", SCALE_ZERO, SCALE("5"), false},
};

START_TEST(test_final_scales)
{
    struct test_gates_case c = {R_OFF, final_scales[_i].old, final_scales[_i].final, "scale",
                                true,  ".spec.replicas"};
    struct test_gates_write w;
    struct ek_gates_outcome o;

    test_gates_open(&w, &c);
    ck_assert_int_eq(ek_gates_verify(w.gates, &w.shape, &w.request, w.arena, NULL, &o, NULL), 0);
    ck_assert_msg(o.allowed == final_scales[_i].allowed, "%s", final_scales[_i].name);
    test_gates_close(&w);
}
END_TEST

/* ---- Versions without a gated field ---- */

static const struct {
    const char *name, *version, *subresource, *old, *final;
    bool allowed;
} versions[] = {
    {"through a version that lacks the field", "v2", NULL, SPEC(), SPEC(", bar: 1"), false},
    {"nothing is changed, but erased", "v2", NULL, SPEC(), SPEC(), false},
    {"the status", "v2", "status", SPEC(), SPEC(), false},
    {"through the stored version", "v1", NULL, SPEC(", replicas: 3"), SPEC(", replicas: 3"), true},
    {"a create", "v2", NULL, NULL, SPEC(), true},
    {"an object that is being deleted", "v2", NULL, SPEC(), "{metadata: {deletionTimestamp: now}}",
     true},
};

START_TEST(test_versions)
{
    static const struct ek_gates_lack lacks[] = {
        {.version = "v0", .gate = "R", .path = ".spec.replicas"},
        {.version = "v2", .gate = "R", .path = ".spec.replicas"}};
    struct test_gates_case c = {.spec = R_OFF,
                                .old = versions[_i].old,
                                .new = versions[_i].final,
                                .subresource = versions[_i].subresource,
                                .has_status = true};
    struct test_gates_write w;
    struct ek_gates_outcome o;

    test_gates_open(&w, &c);
    w.shape.lacks = lacks;
    w.shape.n_lacks = EK_ARRAY_SIZE(lacks);
    w.request.request_resource = (struct ek_gvr){"stable.example.com", versions[_i].version, ""};
    ck_assert_int_eq(ek_gates_verify(w.gates, &w.shape, &w.request, w.arena, NULL, &o, NULL), 0);
    ck_assert_msg(o.allowed == versions[_i].allowed, "%s", versions[_i].name);
    if (!o.allowed) {
        ck_assert_int_eq(o.code, 403);
        ck_assert_str_eq(o.message,
                         "version v2 has no field .spec.replicas, and an update through it would "
                         "erase the stored value, but feature gate R is off: update through a "
                         "version that has the field");
        ck_assert_uint_eq(o.n_hits, 1);
        ck_assert_str_eq(o.hits[0].path->text, ".spec.replicas");
    }
    test_gates_close(&w);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, test_rejects, 0, EK_ARRAY_SIZE(rejects));
    tcase_add_loop_test(tcase, test_finals, 0, EK_ARRAY_SIZE(finals));
    tcase_add_loop_test(tcase, test_final_scales, 0, EK_ARRAY_SIZE(final_scales));
    tcase_add_loop_test(tcase, test_versions, 0, EK_ARRAY_SIZE(versions));
    return ek_test_run("gates_denials", tcase);
}
