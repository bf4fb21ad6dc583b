/* SPDX-License-Identifier: Apache-2.0 */
/* Gated writes that are not of a whole object, by row: status, scale, and what is not gated at all.
 */
#include "reconcilers/fieldgates/decide.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

/* ---- Status, subresources and other operations ---- */

#define STATUS_OFF GATES(OFF("P", ".status.phase") "," OFF("R", ".spec.replicas"))

static const struct {
    const char *name, *subresource;
    bool has_status;
    const char *old, *new, *stored; /* stored NULL: no patch */
    const char *warning;
} sides[] = {
    {"status write, spec frozen and discarded", "status", true, "{spec: {replicas: 3}}",
     "{spec: {replicas: 5}, status: {x: 1}}", NULL, NULL},
    {"status write, status gated", "status", true, "{status: {phase: a}}",
     "{spec: {replicas: 5}, status: {phase: b}}", "{spec: {replicas: 5}, status: {phase: a}}",
     FROZEN(".status.phase", "P")},
    {"status write, status gated and new", "status", true, "{}", "{status: {phase: b, x: 1}}",
     "{status: {x: 1}}", DROPPED(".status.phase", "P")},
    {"main write, status discarded", "", true, "{spec: {}, status: {phase: a}}",
     "{spec: {}, status: {phase: b}}", NULL, NULL},
    {"main create, status wiped", "", true, NULL, "{spec: {}, status: {phase: b}}", NULL, NULL},
    {"main write, status is no subresource", "", false, "{status: {phase: a}}",
     "{status: {phase: b}}", "{status: {phase: a}}", FROZEN(".status.phase", "P")},
    {"another subresource", "log", true, "{spec: {replicas: 3}}", "{spec: {replicas: 5}}", NULL,
     NULL},
};

START_TEST(test_sides)
{
    struct test_gates_case c = {STATUS_OFF,           sides[_i].old,
                                sides[_i].new,        sides[_i].subresource,
                                sides[_i].has_status, NULL};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    yyjson_doc *want = test_gates_yaml(sides[_i].stored ? sides[_i].stored : sides[_i].new);
    ck_assert(w.outcome.allowed);
    ck_assert_msg((w.outcome.patch != NULL) == (sides[_i].stored != NULL), "%s", sides[_i].name);
    ck_assert_msg(ek_json_equal(yyjson_doc_get_root(w.stored), yyjson_doc_get_root(want)), "%s",
                  sides[_i].name);
    ck_assert_uint_eq(w.outcome.n_warnings, sides[_i].warning ? 1 : 0);
    if (sides[_i].warning)
        ck_assert_str_eq(w.outcome.warnings[0], sides[_i].warning);
    const char *broken = test_gates_broken_law(&w);
    ck_assert_msg(!broken, "%s: %s", sides[_i].name, broken);
    yyjson_doc_free(want);
    test_gates_close(&w);
}
END_TEST

START_TEST(test_operations)
{
    static const char *const operations[] = {"DELETE", "CONNECT"};
    struct test_gates_case c = {R_OFF, "{spec: {}}", "{spec: {replicas: 3}}", NULL, 0, NULL};
    struct test_gates_write w;
    struct ek_gates_outcome outcome;

    test_gates_open(&w, &c);
    w.request.operation = operations[_i];
    ck_assert_int_eq(
        ek_gates_decide(w.gates, &w.shape, &w.request, w.arena, NULL, w.doc, &outcome, NULL), 0);
    ck_assert(outcome.allowed && !outcome.patch && !outcome.n_hits && !outcome.n_warnings);
    w.request.object = NULL;
    w.request.operation = "UPDATE";
    ck_assert_int_eq(
        ek_gates_decide(w.gates, &w.shape, &w.request, w.arena, NULL, w.doc, &outcome, NULL), 0);
    ck_assert(outcome.allowed && !outcome.patch);
    test_gates_close(&w);
}
END_TEST

/* ---- Scale ---- */

static const struct {
    const char *name, *spec, *replicas, *old, *new;
    const char *patch;  /* NULL: none */
    const char *denial; /* NULL: allowed */
    const char *warning;
} scales[] = {
    {"persisted: frozen", R_OFF, ".spec.replicas", SCALE("3"), SCALE("5"),
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]", NULL,
     FROZEN(".spec.replicas", "R")},
    {"persisted: frozen against 0", R_OFF, ".spec.replicas", SCALE("3"), SCALE_ZERO,
     "[{\"op\":\"add\",\"path\":\"/spec/replicas\",\"value\":3}]", NULL,
     FROZEN(".spec.replicas", "R")},
    {"persisted: frozen, no spec", R_OFF, ".spec.replicas", SCALE("3"), "{kind: Scale}",
     "[{\"op\":\"add\",\"path\":\"/spec\",\"value\":{\"replicas\":3}}]", NULL,
     FROZEN(".spec.replicas", "R")},
    {"0 persisted: frozen", R_OFF, ".spec.replicas", SCALE_ZERO, SCALE("5"),
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":0}]", NULL,
     FROZEN(".spec.replicas", "R")},
    {"unchanged", R_OFF, ".spec.replicas", SCALE("3"), SCALE("3"), NULL, NULL, NULL},
    {"not persisted: denied", R_OFF, ".spec.replicas", SCALE_NONE, SCALE("5"), NULL, CANNOT("set"),
     NULL},
    {"not persisted, to 0: denied", R_OFF, ".spec.replicas", SCALE_NONE, SCALE_ZERO, NULL,
     CANNOT("set"), NULL},
    {"neither old nor new", R_OFF, ".spec.replicas", SCALE_NONE, SCALE_NONE, NULL, NULL, NULL},
    {"on", R_ON, ".spec.replicas", SCALE_NONE, SCALE("5"), NULL, NULL, NULL},
    {"an ancestor is closed", GATES(OFF("S", ".spec")), ".spec.replicas", SCALE("3"), SCALE("5"),
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]", NULL, FROZEN(".spec", "S")},
    {"another path", R_OFF, ".spec.size", SCALE("3"), SCALE("5"), NULL, NULL, NULL},
    {"a custom path", GATES(OFF("Z", ".spec.pool.size")), ".spec.pool.size", SCALE("3"), SCALE("5"),
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]", NULL,
     FROZEN(".spec.pool.size", "Z")},
    {"no scale in the shape", R_OFF, NULL, SCALE("3"), SCALE("5"), NULL, NULL, NULL},
    {"deprecated", GATES(OLD("D", ".spec.replicas")), ".spec.replicas", SCALE("3"), SCALE("5"),
     NULL, NULL, USED(".spec.replicas")},
    {"rejected", REJECT(OFF("R", ".spec.replicas")), ".spec.replicas", SCALE("3"), SCALE("5"), NULL,
     CANNOT("changed"), NULL},
};

START_TEST(test_scale)
{
    struct test_gates_case c = {scales[_i].spec, scales[_i].old, scales[_i].new,
                                "scale",         true,           scales[_i].replicas};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    char *patch = w.outcome.patch ? yyjson_mut_val_write(w.outcome.patch, 0, NULL) : NULL;
    ck_assert_msg((patch != NULL) == (scales[_i].patch != NULL), "%s", scales[_i].name);
    if (patch)
        ck_assert_str_eq(patch, scales[_i].patch);
    ck_assert_msg(w.outcome.allowed == !scales[_i].denial, "%s", scales[_i].name);
    if (scales[_i].denial)
        ck_assert_str_eq(w.outcome.message, scales[_i].denial);
    ck_assert_uint_eq(w.outcome.n_warnings, scales[_i].warning ? 1 : 0);
    if (scales[_i].warning)
        ck_assert_str_eq(w.outcome.warnings[0], scales[_i].warning);
    const char *broken = test_gates_broken_law(&w);
    ck_assert_msg(!broken, "%s: %s", scales[_i].name, broken);
    free(patch);
    test_gates_close(&w);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, test_sides, 0, EK_ARRAY_SIZE(sides));
    tcase_add_loop_test(tcase, test_operations, 0, 2);
    tcase_add_loop_test(tcase, test_scale, 0, EK_ARRAY_SIZE(scales));
    return ek_test_run("gates_sides", tcase);
}
