/* SPDX-License-Identifier: Apache-2.0 */
/* What is read anew when a CustomFeatureGates or its CRD changes, and what can be enforced. */
#include <check.h>
#include <stdio.h>

#include "test/support/gates_kinds.h"
#include "test/support/suite.h"

#define NAME "crontabs.stable.example.com"

struct version {
    const char *uid;
    int generation;
    const char *gates;
    const char *more;        /* besides spec */
    const char *crd;         /* its uid; NULL: there is none */
    const char *crd_version; /* resourceVersion */
};

#define GATES TEST_ALPHA("A", ".spec.a")

static const struct {
    const char *name;
    struct version before, after;
    unsigned long read; /* by the second update */
} updates[] = {
    {"nothing changed", {"u", 1, GATES, "", "c", "1"}, {"u", 1, GATES, "", "c", "1"}, 0},
    {"the status changed",
     {"u", 1, GATES, "", "c", "1"},
     {"u", 1, GATES, ", status: {}", "c", "1"},
     0},
    {"the spec changed", {"u", 1, GATES, "", "c", "1"}, {"u", 2, GATES, "", "c", "1"}, 1},
    {"it was made anew", {"u", 1, GATES, "", "c", "1"}, {"v", 1, GATES, "", "c", "1"}, 1},
    {"no generation, which proves nothing",
     {"u", 0, GATES, "", "c", "1"},
     {"u", 0, GATES, "", "c", "1"},
     1},
    {"the CRD changed", {"u", 1, GATES, "", "c", "1"}, {"u", 1, GATES, "", "c", "2"}, 1},
    {"the CRD was made anew", {"u", 1, GATES, "", "c", "1"}, {"u", 1, GATES, "", "d", "1"}, 1},
    {"the CRD is gone", {"u", 1, GATES, "", "c", "1"}, {"u", 1, GATES, "", NULL, NULL}, 1},
    {"the CRD came", {"u", 1, GATES, "", NULL, NULL}, {"u", 1, GATES, "", "c", "1"}, 1},
    {"there is still none", {"u", 1, GATES, "", NULL, NULL}, {"u", 1, GATES, "", NULL, NULL}, 0},
};

static void update(struct ek_gated_kinds *kinds, const struct version *v)
{
    struct ek_obj *obj = test_gates(NAME, v->uid, v->generation, v->gates, v->more);
    struct ek_obj *crd = v->crd ? test_crd("crontabs", v->crd, v->crd_version, "") : NULL;
    const struct ek_obj *crds[] = {crd};

    ek_gated_kinds_update(kinds, &obj, crds, 1);
    ck_assert_ptr_eq(kinds->kinds[0].obj, obj);
    ek_obj_unref(obj);
    ek_obj_unref(crd);
}

START_TEST(reads_what_is_new)
{
    struct ek_gated_kinds kinds = {0};

    update(&kinds, &updates[_i].before);
    ck_assert_uint_eq(kinds.read, 1);
    update(&kinds, &updates[_i].after);
    ck_assert_msg(kinds.read == 1 + updates[_i].read, "%s: %lu", updates[_i].name, kinds.read);
    /* Kept or read, the result is that of the present objects. */
    ck_assert_msg(kinds.kinds[0].resolved == (updates[_i].after.crd != NULL), "%s",
                  updates[_i].name);
    ck_assert_msg((kinds.kinds[0].enforced != NULL) == (updates[_i].after.crd != NULL), "%s",
                  updates[_i].name);
    ek_gated_kinds_done(&kinds);
}
END_TEST

static const struct {
    const char *name, *gates;
    const char *crd; /* YAML of another object in its place; NULL: the CRD */
    bool enforced;
    const char *root; /* names below .spec that are gated; "" for none */
    const char *problem;
} readings[] = {
    {"gates are enforced", TEST_ALPHA("A", ".spec.a"), NULL, true, "a", ""},
    {"what is refused is not", TEST_ALPHA("A", ".spec.a") "," TEST_ALPHA("B", ".spec.must"), NULL,
     true, "a", ""},
    {"which leaves nothing", TEST_ALPHA("B", ".spec.must"), NULL, true, "", ""},
    {"no CRD at all", TEST_ALPHA("A", ".spec.a"), "{metadata: {name: " NAME "}}", false, "",
     "spec"},
};

START_TEST(reads_kinds)
{
    struct ek_gated_kinds kinds = {0};
    struct ek_obj *obj = test_gates(NAME, "u", 1, readings[_i].gates, "");
    struct ek_obj *crd =
        readings[_i].crd ? test_object(readings[_i].crd) : test_crd("crontabs", "c", "1", "");
    const struct ek_obj *crds[] = {crd};
    char got[64] = "";

    ek_gated_kinds_update(&kinds, &obj, crds, 1);
    const struct ek_gated_kind *kind = &kinds.kinds[0];
    ck_assert_msg((kind->enforced != NULL) == readings[_i].enforced, "%s", readings[_i].name);
    const struct ek_gate_node *spec =
        kind->enforced && kind->enforced->root->n_children ? kind->enforced->root->children : NULL;
    for (size_t i = 0; spec && i < spec->n_children; i++)
        snprintf(got, sizeof got, "%.*s", (int)spec->children[i].name.len,
                 spec->children[i].name.p);
    ck_assert_msg(!strcmp(got, readings[_i].root), "%s: %s", readings[_i].name, got);
    ck_assert_msg(!*readings[_i].problem == !kind->problem.code, "%s: %s", readings[_i].name,
                  kind->problem.message);
    ek_gated_kinds_done(&kinds);
    ek_obj_unref(obj);
    ek_obj_unref(crd);
}
END_TEST

#define MANY (EK_GATES_REGISTERED_MAX + 2)

/* The CRDs of kinds beyond the limit are not followed, which is a problem of these kinds; when one
 * comes within the limit, the problem is gone. */
START_TEST(follows_the_first)
{
    struct ek_obj *objects[MANY];
    const struct ek_obj *crds[MANY] = {NULL};
    struct ek_gated_kinds kinds = {0};

    ck_assert_uint_eq(ek_gated_kinds_followed(3), 3);
    ck_assert_uint_eq(ek_gated_kinds_followed(MANY), EK_GATES_REGISTERED_MAX);
    for (size_t i = 0; i < MANY; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("a%04zu.stable.example.com", i);
        objects[i] = test_gates(name, "u", 1, GATES, "");
    }
    ek_gated_kinds_update(&kinds, objects, crds, MANY);
    ck_assert_int_eq(kinds.kinds[EK_GATES_REGISTERED_MAX - 1].problem.code, 0);
    ck_assert_int_eq(kinds.kinds[EK_GATES_REGISTERED_MAX].problem.code, EK_E_LIMIT);
    ck_assert_ptr_nonnull(ek_gated_kinds_find(&kinds, "a0003.stable.example.com"));
    ck_assert_ptr_null(ek_gated_kinds_find(&kinds, "a0003.stable.example.con"));
    ek_gated_kinds_update(&kinds, objects + 1, crds, MANY - 1);
    ck_assert_int_eq(kinds.kinds[EK_GATES_REGISTERED_MAX - 1].problem.code, 0);
    ck_assert_int_eq(kinds.kinds[EK_GATES_REGISTERED_MAX].problem.code, EK_E_LIMIT);
    ek_gated_kinds_done(&kinds);
    for (size_t i = 0; i < MANY; i++)
        ek_obj_unref(objects[i]);
}
END_TEST

START_TEST(registers_what_is_enforced)
{
    struct ek_obj *objects[] = {test_gates("a.stable.example.com", "u", 1, GATES, ""),
                                test_gates("b.stable.example.com", "u", 1, GATES, "")};
    struct ek_obj *crd = test_crd("b", "c", "1", "");
    const struct ek_obj *crds[] = {NULL, crd};
    struct ek_gated_kinds kinds = {0};
    size_t n;

    ek_gated_kinds_update(&kinds, objects, crds, 2);
    struct ek_gates_registered *list = ek_gated_kinds_registered(&kinds, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(list[0].gates->name, "b.stable.example.com");
    ck_assert_str_eq(list[0].crd->plural, "b");
    ek_free(list);
    ek_gated_kinds_done(&kinds);
    ek_obj_unref(crd);
    for (size_t i = 0; i < 2; i++)
        ek_obj_unref(objects[i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, reads_what_is_new, 0, EK_ARRAY_SIZE(updates));
    tcase_add_loop_test(tc, reads_kinds, 0, EK_ARRAY_SIZE(readings));
    tcase_add_test(tc, follows_the_first);
    tcase_add_test(tc, registers_what_is_enforced);
    return ek_test_run("gated kinds", tc);
}
