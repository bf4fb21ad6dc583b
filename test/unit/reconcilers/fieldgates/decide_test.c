/* SPDX-License-Identifier: Apache-2.0 */
/* What gates make of a write, by row: the tables of KEP-2608, "Implementation"; a row with a prime
 * is a case that the KEP leaves open. */
#include "reconcilers/fieldgates/decide.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

enum moves { SAME, MOVES, FIRST };

static const struct row {
    const char *name, *spec, *old, *new;
    const char *stored; /* NULL: as requested, and so without a patch */
    enum moves generation;
    const char *warnings[3];
} rows[] = {
    /* The table of one field. */
    {"C1", R_OFF, NULL, SPEC(", replicas: 3"), SPEC(), FIRST, {DROPPED(".spec.replicas", "R")}},
    {"C2", R_ON, NULL, SPEC(", replicas: 3"), NULL, FIRST, {NULL}},
    {"U1", R_OFF, SPEC(), SPEC(", replicas: 5"), SPEC(), SAME, {DROPPED(".spec.replicas", "R")}},
    {"U2", R_ON, SPEC(), SPEC(", replicas: 5"), NULL, MOVES, {NULL}},
    {"U3",
     R_OFF,
     SPEC(", replicas: 3"),
     SPEC(", replicas: 5"),
     SPEC(", replicas: 3"),
     SAME,
     {FROZEN(".spec.replicas", "R")}},
    {"U4", R_ON, SPEC(", replicas: 3"), SPEC(", replicas: 5"), NULL, MOVES, {NULL}},
    {"U5",
     R_OFF,
     SPEC(", replicas: 3"),
     SPEC(),
     SPEC(", replicas: 3"),
     SAME,
     {KEPT(".spec.replicas", "R")}},
    {"U6",
     R_OFF,
     SPEC(", replicas: 3"),
     "{spec: {image: b, replicas: 5}}",
     "{spec: {image: b, replicas: 3}}",
     MOVES,
     {FROZEN(".spec.replicas", "R")}},
    {"U7", R_OFF, SPEC(", replicas: 3"), SPEC(", replicas: 3"), NULL, SAME, {NULL}},
    {"U8",
     R_OFF,
     SPEC(", replicas: 3"),
     "{metadata: {name: a, labels: {x: y}}, spec: {image: a, replicas: 3}}",
     NULL,
     SAME,
     {NULL}},
    {"removable: set",
     GATES(REMOVABLE("R", ".spec.replicas")),
     SPEC(),
     SPEC(", replicas: 5"),
     SPEC(),
     SAME,
     {DROPPED(".spec.replicas", "R")}},
    {"removable: changed",
     GATES(REMOVABLE("R", ".spec.replicas")),
     SPEC(", replicas: 3"),
     SPEC(", replicas: 5"),
     SPEC(", replicas: 3"),
     SAME,
     {FROZEN(".spec.replicas", "R")}},
    {"removable: removed",
     GATES(REMOVABLE("R", ".spec.replicas")),
     SPEC(", replicas: 3"),
     SPEC(),
     NULL,
     MOVES,
     {NULL}},
    {"removable: removed, with Reject",
     REJECT(REMOVABLE("R", ".spec.replicas")),
     SPEC(", replicas: 3"),
     SPEC(),
     NULL,
     MOVES,
     {NULL}},
    {"removable: removed with a parent without a gate",
     GATES(REMOVABLE("R", ".spec.foo.qux")),
     SPEC(", foo: {qux: 1}"),
     SPEC(),
     NULL,
     MOVES,
     {NULL}},
    {"removable: beside a frozen one, with their parent",
     GATES(REMOVABLE("R", ".spec.foo.qux") "," OFF("B", ".spec.foo.bar")),
     SPEC(", foo: {qux: 1, bar: 2}"),
     SPEC(),
     SPEC(", foo: {bar: 2}"),
     MOVES,
     {KEPT(".spec.foo.bar", "B")}},
    {"removable: removed with the field of an open gate",
     GATES(ON("Foo", ".spec.foo") "," REMOVABLE("R", ".spec.foo.qux")),
     SPEC(", foo: {qux: 1}"),
     SPEC(),
     NULL,
     MOVES,
     {NULL}},
    {"U9 a finalizer",
     R_OFF,
     SPEC(", replicas: 3"),
     "{metadata: {name: a, finalizers: []}, spec: {image: a, replicas: 3}}",
     NULL,
     SAME,
     {NULL}},

    /* The matrix of nested gates: foo {baz: 2, qux: 3} is requested. */
    {"row 1",
     PAIR(OFF, OFF),
     SPEC(),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(),
     SAME,
     {DROPPED(FOO, "Foo")}},
    {"row 2",
     PAIR(OFF, ON),
     SPEC(),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(),
     SAME,
     {DROPPED(FOO, "Foo")}},
    {"row 3",
     PAIR(ON, OFF),
     SPEC(),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {baz: 2}"),
     MOVES,
     {DROPPED(QUX, "Qux")}},
    {"row 4", PAIR(ON, ON), SPEC(), SPEC(", foo: {baz: 2, qux: 3}"), NULL, MOVES, {NULL}},
    {"row 5",
     PAIR(OFF, OFF),
     SPEC(", foo: {qux: 1}"),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {qux: 1}"),
     SAME,
     {FROZEN(FOO, "Foo")}},
    {"row 6",
     PAIR(OFF, ON),
     SPEC(", foo: {qux: 1}"),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {qux: 1}"),
     SAME,
     {FROZEN(FOO, "Foo")}},
    {"row 7",
     PAIR(ON, OFF),
     SPEC(", foo: {qux: 1}"),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {baz: 2, qux: 1}"),
     MOVES,
     {FROZEN(QUX, "Qux")}},
    {"row 8",
     PAIR(ON, ON),
     SPEC(", foo: {qux: 1}"),
     SPEC(", foo: {baz: 2, qux: 3}"),
     NULL,
     MOVES,
     {NULL}},
    {"row 1 on create",
     PAIR(OFF, OFF),
     NULL,
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(),
     FIRST,
     {DROPPED(FOO, "Foo")}},
    {"row 3 on create",
     PAIR(ON, OFF),
     NULL,
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {baz: 2}"),
     FIRST,
     {DROPPED(QUX, "Qux")}},

    /* What the proposal does not settle. */
    {"1' foo is persisted, without qux",
     PAIR(OFF, OFF),
     SPEC(", foo: {baz: 1}"),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {baz: 1}"),
     SAME,
     {FROZEN(FOO, "Foo")}},
    {"3' the same with foo on",
     PAIR(ON, OFF),
     SPEC(", foo: {baz: 1}"),
     SPEC(", foo: {baz: 2, qux: 3}"),
     SPEC(", foo: {baz: 2}"),
     MOVES,
     {DROPPED(QUX, "Qux")}},
    {"5' foo is removed while it is off",
     PAIR(OFF, ON),
     SPEC(", foo: {baz: 1, qux: 2}"),
     SPEC(),
     SPEC(", foo: {baz: 1, qux: 2}"),
     SAME,
     {KEPT(FOO, "Foo")}},
    {"7' foo is removed while it is on",
     PAIR(ON, OFF),
     SPEC(", foo: {qux: 1}"),
     SPEC(),
     NULL,
     MOVES,
     {LOST(QUX, "Qux")}},
    {"7'' foo is emptied while it is on",
     PAIR(ON, OFF),
     SPEC(", foo: {qux: 1}"),
     SPEC(", foo: {}"),
     SPEC(", foo: {qux: 1}"),
     SAME,
     {KEPT(QUX, "Qux")}},

    /* Parents that are gone, or no objects. */
    {"the parent of a frozen value is removed",
     R_OFF,
     "{spec: {replicas: 3, image: a}}",
     "{data: 1}",
     "{data: 1, spec: {replicas: 3}}",
     MOVES,
     {KEPT(".spec.replicas", "R")}},
    {"two frozen values of one parent",
     GATES(OFF("A", ".spec.x.a, .spec.x.b")),
     "{spec: {x: {a: 1, b: [2], c: 3}}}",
     "{}",
     "{spec: {x: {a: 1, b: [2]}}}",
     MOVES,
     {KEPT(".spec.x.a", "A"), KEPT(".spec.x.b", "A")}},
    {"the parent of a frozen value is null",
     GATES(OFF("Qux", QUX)),
     "{spec: {foo: {qux: 1}}}",
     "{spec: {foo: null}}",
     "{spec: {foo: {qux: 1}}}",
     SAME,
     {KEPT(QUX, "Qux")}},
    {"the parent of a frozen value is a scalar: the schema says no",
     GATES(OFF("Qux", QUX)),
     "{spec: {foo: {qux: 1}}}",
     "{spec: {foo: 5}}",
     NULL,
     MOVES,
     {LOST(QUX, "Qux")}},
    {"the parent of a frozen value is a list: likewise",
     GATES(OFF("Qux", QUX)),
     "{spec: {foo: {qux: 1}}}",
     "{spec: {foo: [{qux: 1}]}}",
     NULL,
     MOVES,
     {LOST(QUX, "Qux")}},
    {"an open parent is null: removed",
     PAIR(ON, OFF),
     SPEC(", foo: {qux: 1}"),
     SPEC(", foo: null"),
     NULL,
     MOVES,
     {LOST(QUX, "Qux")}},
    {"a parent of what is not persisted is removed",
     GATES(OFF("Qux", QUX)),
     "{spec: {foo: {baz: 1}}}",
     "{spec: {}}",
     NULL,
     MOVES,
     {NULL}},
    {"a parent is gone, with open and closed fields below it",
     GATES(OFF("A", ".spec.x.a") "," ON("B", ".spec.x.b") "," OFF("C", ".spec.x.b.c")),
     "{spec: {x: {a: 1, b: {c: 2}}}}",
     "{spec: {}}",
     "{spec: {x: {a: 1}}}",
     MOVES,
     {KEPT(".spec.x.a", "A"), LOST(".spec.x.b.c", "C")}},
    {"a parent below an open gate is removed",
     GATES(ON("Foo", FOO) "," OFF("Qux", ".spec.foo.a.qux")),
     "{spec: {foo: {a: {qux: 1, x: 2}}}}",
     "{spec: {foo: {}}}",
     "{spec: {foo: {a: {qux: 1}}}}",
     MOVES,
     {KEPT(".spec.foo.a.qux", "Qux")}},
    {"the old parent is no object",
     GATES(OFF("Qux", QUX)),
     "{spec: {foo: 5}}",
     "{spec: {foo: {qux: 1}}}",
     "{spec: {foo: {}}}",
     MOVES,
     {DROPPED(QUX, "Qux")}},

    /* null is a value. */
    {"null on create is present",
     R_OFF,
     NULL,
     SPEC(", replicas: null"),
     SPEC(),
     FIRST,
     {DROPPED(".spec.replicas", "R")}},
    {"a frozen null",
     R_OFF,
     SPEC(", replicas: null"),
     SPEC(", replicas: 3"),
     SPEC(", replicas: null"),
     SAME,
     {FROZEN(".spec.replicas", "R")}},
    {"a frozen null is put back",
     R_OFF,
     SPEC(", replicas: null"),
     SPEC(),
     SPEC(", replicas: null"),
     SAME,
     {KEPT(".spec.replicas", "R")}},
    {"a frozen value is not made null",
     R_OFF,
     SPEC(", replicas: 3"),
     SPEC(", replicas: null"),
     SPEC(", replicas: 3"),
     SAME,
     {FROZEN(".spec.replicas", "R")}},

    /* Equality is that of JSON. */
    {"1 is 1.0", R_OFF, SPEC(", replicas: 1"), SPEC(", replicas: 1.0"), NULL, SAME, {NULL}},
    {"1 is not \"1\"",
     R_OFF,
     SPEC(", replicas: 1"),
     SPEC(", replicas: '1'"),
     SPEC(", replicas: 1"),
     SAME,
     {FROZEN(".spec.replicas", "R")}},
    {"1 is not true",
     R_OFF,
     SPEC(", replicas: 1"),
     SPEC(", replicas: true"),
     SPEC(", replicas: 1"),
     SAME,
     {FROZEN(".spec.replicas", "R")}},
    {"the order of members is nothing",
     GATES(OFF("Foo", FOO)),
     SPEC(", foo: {a: 1, b: {c: 2}}"),
     SPEC(", foo: {b: {c: 2}, a: 1}"),
     NULL,
     SAME,
     {NULL}},
    {"the order of items is something",
     GATES(OFF("Foo", FOO)),
     SPEC(", foo: [1, 2]"),
     SPEC(", foo: [2, 1]"),
     SPEC(", foo: [1, 2]"),
     SAME,
     {FROZEN(FOO, "Foo")}},
    {"a list is gated as a whole",
     GATES(OFF("Foo", FOO)),
     SPEC(),
     SPEC(", foo: [1, 2]"),
     SPEC(),
     SAME,
     {DROPPED(FOO, "Foo")}},

    /* Names that need care in a pointer. */
    {"a slash and a tilde",
     GATES(OFF("A", "\".spec['k8s.io/~1'].x\"")),
     "{spec: {'k8s.io/~1': {x: 1}}}",
     "{spec: {'k8s.io/~1': {x: 2, y: 3}}}",
     "{spec: {'k8s.io/~1': {x: 1, y: 3}}}",
     MOVES,
     {FROZEN(".spec['k8s.io/~1'].x", "A")}},

    /* Deprecated fields. */
    {"deprecated, on create",
     GATES(OLD("D", ".spec.d")),
     NULL,
     SPEC(", d: 1"),
     NULL,
     FIRST,
     {USED(".spec.d")}},
    {"deprecated, absent on create", GATES(OLD("D", ".spec.d")), NULL, SPEC(), NULL, FIRST, {NULL}},
    {"deprecated, changed",
     GATES(OLD("D", ".spec.d")),
     SPEC(", d: 1"),
     SPEC(", d: 2"),
     NULL,
     MOVES,
     {USED(".spec.d")}},
    {"deprecated, new",
     GATES(OLD("D", ".spec.d")),
     SPEC(),
     SPEC(", d: 2"),
     NULL,
     MOVES,
     {USED(".spec.d")}},
    {"deprecated, unchanged",
     GATES(OLD("D", ".spec.d")),
     SPEC(", d: 1"),
     "{spec: {image: b, d: 1}}",
     NULL,
     MOVES,
     {NULL}},
    {"deprecated, removed: no nagging",
     GATES(OLD("D", ".spec.d")),
     SPEC(", d: 1"),
     SPEC(),
     NULL,
     MOVES,
     {NULL}},
    {"deprecated and off",
     GATES(GONE("D", ".spec.d")),
     NULL,
     SPEC(", d: 1"),
     SPEC(),
     FIRST,
     {DROPPED(".spec.d", "D")}},
    {"deprecated, with a text",
     GATES(
         "{name: D, preRelease: deprecated, default: true, fieldDeprecationWarning: 'use .spec.e', "
         "fieldPaths: [.spec.d, .spec.dd]}"),
     NULL,
     SPEC(", d: 1, dd: 2"),
     NULL,
     FIRST,
     {"use .spec.e"}},
    {"deprecated below deprecated: the shallowest says it",
     GATES(OLD("Foo", FOO) "," OLD("Qux", QUX)),
     NULL,
     SPEC(", foo: {qux: 1}"),
     NULL,
     FIRST,
     {USED(FOO)}},
    {"deprecated, and only what is frozen below it was to change",
     PAIR(OLD, OFF),
     SPEC(", foo: {baz: 1, qux: 1}"),
     SPEC(", foo: {baz: 1, qux: 2}"),
     SPEC(", foo: {baz: 1, qux: 1}"),
     SAME,
     {FROZEN(QUX, "Qux")}},
    {"deprecated, and more than what is frozen below it changes",
     PAIR(OLD, OFF),
     SPEC(", foo: {baz: 1, qux: 1}"),
     SPEC(", foo: {baz: 2, qux: 2}"),
     SPEC(", foo: {baz: 2, qux: 1}"),
     MOVES,
     {USED(FOO), FROZEN(QUX, "Qux")}},
    {"deprecated below closed says nothing",
     PAIR(OFF, OLD),
     SPEC(),
     SPEC(", foo: {qux: 3}"),
     SPEC(),
     SAME,
     {DROPPED(FOO, "Foo")}},

    /* Whole parts, and none. */
    {"all of spec is gated",
     GATES(OFF("S", ".spec")),
     NULL,
     SPEC(),
     "{}",
     FIRST,
     {DROPPED(".spec", "S")}},
    {"no gates", "{}", SPEC(", replicas: 3"), SPEC(), NULL, MOVES, {NULL}},
};

/* "is not a row" when w has them; else the first text that differs. */
static void check_warnings(const struct row *row, const struct test_gates_write *w)
{
    size_t n = 0;

    while (n < EK_ARRAY_SIZE(row->warnings) && row->warnings[n])
        n++;
    ck_assert_msg(w->outcome.n_warnings == n, "%s: %zu warnings, %s", row->name,
                  w->outcome.n_warnings, w->outcome.n_warnings ? w->outcome.warnings[0] : "none");
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(!strcmp(w->outcome.warnings[i], row->warnings[i]), "%s: %s", row->name,
                      w->outcome.warnings[i]);
}

/* Metadata is free to change, so that it is not part of what a row says. */
static void check_stored(const struct row *row, const struct test_gates_write *w)
{
    yyjson_doc *want = test_gates_yaml(row->stored ? row->stored : row->new);
    char *got = yyjson_write(w->stored, 0, NULL);

    ck_assert_msg((w->outcome.patch != NULL) == (row->stored != NULL), "%s: patch", row->name);
    ck_assert_msg(ek_json_equal(yyjson_obj_get(yyjson_doc_get_root(w->stored), "spec"),
                                yyjson_obj_get(yyjson_doc_get_root(want), "spec")),
                  "%s: %s", row->name, got);
    free(got);
    yyjson_doc_free(want);
}

START_TEST(test_rows)
{
    const struct row *row = &rows[_i];
    struct test_gates_case c = {.spec = row->spec, .old = row->old, .new = row->new};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert_msg(w.outcome.allowed, "%s: %s", row->name, w.outcome.message);
    check_stored(row, &w);
    check_warnings(row, &w);
    if (row->generation != FIRST)
        ck_assert_msg(test_gates_moves_generation(&w) == (row->generation == MOVES), "%s",
                      row->name);
    const char *broken = test_gates_broken_law(&w);
    ck_assert_msg(!broken, "%s: %s", row->name, broken);
    test_gates_close(&w);
}
END_TEST

/* ---- The patch itself ---- */

static const struct {
    const char *name, *spec, *old, *new, *patch;
} patches[] = {
    {"remove", R_OFF, NULL, "{spec: {replicas: 3}}",
     "[{\"op\":\"remove\",\"path\":\"/spec/replicas\"}]"},
    {"replace", R_OFF, "{spec: {replicas: 3}}", "{spec: {replicas: 5}}",
     "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]"},
    {"add", R_OFF, "{spec: {replicas: 3}}", "{spec: {}}",
     "[{\"op\":\"add\",\"path\":\"/spec/replicas\",\"value\":3}]"},
    {"add with parents, once", GATES(OFF("A", ".spec.x.a, .spec.x.b")),
     "{spec: {x: {a: 1, b: 2, c: 3}}}", "{}",
     "[{\"op\":\"add\",\"path\":\"/spec\",\"value\":{\"x\":{\"a\":1,\"b\":2}}}]"},
    {"null gives way", GATES(OFF("A", ".spec.x.a")), "{spec: {x: {a: 1}}}", "{spec: {x: null}}",
     "[{\"op\":\"replace\",\"path\":\"/spec/x\",\"value\":{\"a\":1}}]"},
    {"escapes", GATES(OFF("A", "\".spec['a/b~c']\"")), NULL, "{spec: {a/b~c: 1}}",
     "[{\"op\":\"remove\",\"path\":\"/spec/a~1b~0c\"}]"},
    {"several gates", GATES(OFF("B", ".spec.b") "," OFF("A", ".spec.a")), "{spec: {b: 1}}",
     "{spec: {a: 1}}",
     "[{\"op\":\"remove\",\"path\":\"/spec/a\"},"
     "{\"op\":\"add\",\"path\":\"/spec/b\",\"value\":1}]"},
};

START_TEST(test_patches)
{
    struct test_gates_case c = {patches[_i].spec, patches[_i].old, patches[_i].new, NULL, 0, NULL};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert_msg(w.outcome.patch != NULL, "%s", patches[_i].name);
    char *text = yyjson_mut_val_write(w.outcome.patch, 0, NULL);
    ck_assert_str_eq(text, patches[_i].patch);
    free(text);
    test_gates_close(&w);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, test_rows, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, test_patches, 0, EK_ARRAY_SIZE(patches));
    return ek_test_run("gates_decide", tcase);
}
