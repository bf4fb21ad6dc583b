/* SPDX-License-Identifier: Apache-2.0 */
/* What gates make of fields in the items of lists and in the values of maps, by row. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

#define QUOTED(path)  "'" path "'" /* in YAML */
#define MODE          ".spec.items[*].mode"
#define M_OFF         GATES(OFF("M", QUOTED(MODE)))
#define M_OLD         GATES(OLD("M", QUOTED(MODE)))
#define M_REJECT      REJECT(OFF("M", QUOTED(MODE)))
#define M_FREE        GATES(REMOVABLE("M", QUOTED(MODE)))
#define ITEMS(list)   "{spec: {items: [" list "]}}"
#define VALUES(list)  "{spec: {items: {" list "}}}"
#define MANY          3
#define DROP          DROPPED(MODE, "M")
#define FREEZE        FROZEN(MODE, "M")
#define KEEP          KEPT(MODE, "M")
#define LOSE          LOST(MODE, "M")
#define UNKNOWN(path) "field " path " cannot be kept in changed items: feature gate M is off"
#define REMEDY        "; change, move, add and remove items of the list in separate requests"
#define A             "{name: a, mode: x}"
#define B             "{name: b, mode: y}"

static const struct row {
    const char *name, *spec, *old, *new;
    const char *stored; /* NULL: as requested */
    const char *warnings[MANY];
    const char *denied; /* the message; NULL: it is allowed */
} keyed[] =
    {
        {"create",
         M_OFF,
         NULL,
         ITEMS(A ", {name: b}"),
         ITEMS("{name: a}, {name: b}"),
         {DROP},
         NULL},
        {"a warning for all items",
         M_OFF,
         NULL,
         ITEMS(A "," B),
         ITEMS("{name: a}, {name: b}"),
         {DROP},
         NULL},
        {"update: unchanged", M_OFF, ITEMS(A), ITEMS(A), NULL, {NULL}, NULL},
        {"update: set", M_OFF, ITEMS("{name: a}"), ITEMS(A), ITEMS("{name: a}"), {DROP}, NULL},
        {"update: changed", M_OFF, ITEMS(A), ITEMS("{name: a, mode: z}"), ITEMS(A), {FREEZE}, NULL},
        {"update: removed", M_OFF, ITEMS(A), ITEMS("{name: a}"), ITEMS(A), {KEEP}, NULL},
        {"update: null is a value",
         M_OFF,
         ITEMS(A),
         ITEMS("{name: a, mode: null}"),
         ITEMS(A),
         {FREEZE},
         NULL},
        {"update: what is open stays free",
         M_OFF,
         ITEMS(A),
         ITEMS("{name: a, mode: x, port: 1}"),
         NULL,
         {NULL},
         NULL},
        {"update: both",
         M_OFF,
         ITEMS(A),
         ITEMS("{name: a, mode: z, port: 1}"),
         ITEMS("{name: a, mode: x, port: 1}"),
         {FREEZE},
         NULL},
        {"moved", M_OFF, ITEMS(A "," B), ITEMS(B "," A), NULL, {NULL}, NULL},
        {"moved and changed",
         M_OFF,
         ITEMS(A "," B),
         ITEMS("{name: b, mode: x}, {name: a, mode: y}"),
         ITEMS(B "," A),
         {FREEZE},
         NULL},
        {"inserted before",
         M_OFF,
         ITEMS(A),
         ITEMS("{name: n, mode: x}, {name: a}"),
         ITEMS("{name: n}," A),
         {DROP, KEEP},
         NULL},
        {"another name with the old value",
         M_OFF,
         ITEMS(A),
         ITEMS("{name: n, mode: x}"),
         ITEMS("{name: n}"),
         {DROP, LOSE},
         NULL},
        {"an item is removed", M_OFF, ITEMS(A "," B), ITEMS(B), NULL, {LOSE}, NULL},
        {"an item without the field is removed",
         M_OFF,
         ITEMS("{name: a}," B),
         ITEMS(B),
         NULL,
         {NULL},
         NULL},
        {"the list is emptied", M_OFF, ITEMS(A), ITEMS(), NULL, {LOSE}, NULL},
        {"the list is removed", M_OFF, ITEMS(A), "{spec: {}}", NULL, {LOSE}, NULL},
        {"the list is null", M_OFF, ITEMS(A), "{spec: {items: null}}", NULL, {LOSE}, NULL},
        {"its parent is removed", M_OFF, ITEMS(A), "{}", NULL, {LOSE}, NULL},
        {"the list is a scalar", M_OFF, ITEMS(A), "{spec: {items: 1}}", NULL, {LOSE}, NULL},
        {"the list is a map",
         M_OFF,
         ITEMS(A),
         VALUES("a: {mode: x}"),
         VALUES("a: {}"),
         {LOSE, DROP},
         NULL},
        {"keys are equal as JSON",
         M_OFF,
         ITEMS("{name: 1, mode: x}"),
         ITEMS("{name: 1.0, mode: y}"),
         ITEMS("{name: 1, mode: x}"),
         {FREEZE},
         NULL},
        {"the text of a number is another key",
         M_OFF,
         ITEMS("{name: 1, mode: x}"),
         ITEMS("{name: \"1\", mode: x}"),
         ITEMS("{name: \"1\"}"),
         {DROP, LOSE},
         NULL},
        {"two items of one key: nothing is guessed",
         M_OFF,
         ITEMS(A),
         ITEMS("{name: a, mode: y}, {name: a, mode: z}"),
         NULL,
         {NULL},
         UNKNOWN(MODE) REMEDY},
        {"two items of one key: the old one and another",
         M_OFF,
         ITEMS(A),
         ITEMS(A ", {name: a, mode: z}"),
         ITEMS(A ", {name: a}"),
         {DROP},
         NULL},
        {"an item without a key", M_OFF, ITEMS(A), ITEMS("{mode: x}"), NULL, {NULL}, NULL},
        {"an item that is null", M_OFF, ITEMS(A "," B), ITEMS(A ", null"), NULL, {LOSE}, NULL},
        {"nulls beside",
         M_OFF,
         ITEMS("null," A),
         ITEMS("null, {name: a, mode: z}"),
         ITEMS("null," A),
         {FREEZE},
         NULL},
        {"allowRemoval: removed", M_FREE, ITEMS(A), ITEMS("{name: a}"), NULL, {NULL}, NULL},
        {"allowRemoval: the item is removed", M_FREE, ITEMS(A), ITEMS(), NULL, {NULL}, NULL},
        {"allowRemoval: changed",
         M_FREE,
         ITEMS(A),
         ITEMS("{name: a, mode: z}"),
         ITEMS(A),
         {FREEZE},
         NULL},
        {"Reject: set",
         M_REJECT,
         ITEMS("{name: a}"),
         ITEMS(A),
         NULL,
         {NULL},
         "field " MODE " cannot be set: feature gate M is off"},
        {"Reject: an item is removed", M_REJECT, ITEMS(A), ITEMS(), NULL, {LOSE}, NULL},
        {"deprecated: used on create", M_OLD, NULL, ITEMS(A), NULL, {USED(MODE)}, NULL},
        {"deprecated: unchanged and moved",
         M_OLD,
         ITEMS(A "," B),
         ITEMS(B "," A),
         NULL,
         {NULL},
         NULL},
        {"deprecated: changed",
         M_OLD,
         ITEMS(A "," B),
         ITEMS(A ", {name: b, mode: x}"),
         NULL,
         {USED(MODE)},
         NULL},
        {"deprecated: an item comes", M_OLD, ITEMS(A), ITEMS("{name: n}," A), NULL, {NULL}, NULL},
        {"below an open gate",
         GATES(ON("I", ".spec.items") "," OFF("M", QUOTED(MODE))),
         ITEMS(A),
         ITEMS(""),
         NULL,
         {LOSE},
         NULL},
        {"below a closed gate",
         GATES(OFF("I", ".spec.items") "," OFF("M", QUOTED(MODE))),
         ITEMS(A),
         ITEMS(B),
         ITEMS(A),
         {FROZEN(".spec.items", "I")},
         NULL},
        {"a parent in the item is put back",
         GATES(OFF("M", QUOTED(".spec.items[*].deep.mode"))),
         ITEMS("{name: a, deep: {mode: x}}"),
         ITEMS("{name: a}"),
         ITEMS("{name: a, deep: {mode: x}}"),
         {KEPT(".spec.items[*].deep.mode", "M")},
         NULL},
},
  atomic[] =
      {
          {"create",
           M_OFF,
           NULL,
           ITEMS(A ", {name: b}"),
           ITEMS("{name: a}, {name: b}"),
           {DROP},
           NULL},
          {"unchanged", M_OFF, ITEMS(A "," A), ITEMS(A "," A), NULL, {NULL}, NULL},
          {"set in place", M_OFF, ITEMS("{name: a}"), ITEMS(A), ITEMS("{name: a}"), {DROP}, NULL},
          {"changed in place",
           M_OFF,
           ITEMS(A),
           ITEMS("{name: a, mode: z}"),
           ITEMS(A),
           {FREEZE},
           NULL},
          {"removed in place", M_OFF, ITEMS(A), ITEMS("{name: a}"), ITEMS(A), {KEEP}, NULL},
          {"another field in place",
           M_OFF,
           ITEMS(A "," B),
           ITEMS("{name: a, mode: x, port: 1}," B),
           NULL,
           {NULL},
           NULL},
          {"another field, and the mode, in place",
           M_OFF,
           ITEMS(A),
           ITEMS("{name: a, mode: z, port: 1}"),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"another field and a removal in place",
           M_OFF,
           ITEMS(A),
           ITEMS("{name: a, port: 1}"),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"swapped values",
           M_OFF,
           ITEMS(A "," B),
           ITEMS("{name: a, mode: y}, {name: b, mode: x}"),
           ITEMS(A "," B),
           {FREEZE},
           NULL},
          {"moved", M_OFF, ITEMS(A ", {name: b}"), ITEMS("{name: b}," A), NULL, {NULL}, NULL},
          {"moved and changed",
           M_OFF,
           ITEMS(A ", {name: b}"),
           ITEMS("{name: b}, {name: a, mode: z}"),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"the value moves to another item",
           M_OFF,
           ITEMS(A ", {name: b}"),
           ITEMS("{name: a}, {name: b, mode: x}"),
           ITEMS(A ", {name: b}"),
           {KEEP, DROP},
           NULL},
          {"inserted before",
           M_OFF,
           ITEMS(A),
           ITEMS("{name: n, mode: x}," A),
           ITEMS("{name: n}," A),
           {DROP},
           NULL},
          {"inserted before, and changed",
           M_OFF,
           ITEMS(A),
           ITEMS("{name: n}, {name: a, mode: z}"),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"a copy gets no value",
           M_OFF,
           ITEMS(A),
           ITEMS(A "," A),
           ITEMS(A ", {name: a}"),
           {DROP},
           NULL},
          {"two copies",
           M_OFF,
           ITEMS(A "," A),
           ITEMS(A "," A "," A),
           ITEMS(A "," A ", {name: a}"),
           {DROP},
           NULL},
          {"removed and inserted",
           M_OFF,
           ITEMS(A "," B),
           ITEMS("{name: n, mode: z}," B),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"an item without the field is replaced",
           M_OFF,
           ITEMS("{name: n}," B),
           ITEMS("{name: m, mode: z}," B),
           ITEMS("{name: m}," B),
           {DROP},
           NULL},
          {"an item is removed", M_OFF, ITEMS(A "," B), ITEMS(B), NULL, {LOSE}, NULL},
          {"several are removed",
           M_OFF,
           ITEMS(A ", {name: n}," B "," A),
           ITEMS("{name: n}," A),
           NULL,
           {LOSE},
           NULL},
          {"removed and moved",
           M_OFF,
           ITEMS(A "," B ", {name: n}"),
           ITEMS("{name: n}," A),
           NULL,
           {LOSE},
           NULL},
          {"scalars beside", M_OFF, ITEMS("1, " A), ITEMS("2, " A), NULL, {NULL}, NULL},
          {"a scalar in place of an item", M_OFF, ITEMS(A), ITEMS("1"), NULL, {LOSE}, NULL},
          {"allowRemoval: removed in place",
           M_FREE,
           ITEMS(A),
           ITEMS("{name: a}"),
           NULL,
           {NULL},
           NULL},
          {"allowRemoval: replaced",
           M_FREE,
           ITEMS(A),
           ITEMS("{name: n, mode: z}"),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"Reject: what cannot be matched",
           M_REJECT,
           ITEMS(A),
           ITEMS("{name: n, mode: z}"),
           NULL,
           {NULL},
           UNKNOWN(MODE) REMEDY},
          {"deprecated: an item comes",
           M_OLD,
           ITEMS(A),
           ITEMS(A ", {name: n}"),
           NULL,
           {NULL},
           NULL},
          {"deprecated: another field in place",
           M_OLD,
           ITEMS(A),
           ITEMS("{name: a, mode: x, port: 1}"),
           NULL,
           {NULL},
           NULL},
          {"deprecated: changed",
           M_OLD,
           ITEMS(A),
           ITEMS("{name: a, mode: z}"),
           NULL,
           {USED(MODE)},
           NULL},
          {"two gates in the items",
           GATES(OFF("M", QUOTED(MODE)) "," OFF("Num", QUOTED(".spec.items[*].num"))),
           ITEMS("{mode: x, num: 1}"),
           ITEMS("{mode: x, num: 2}"),
           ITEMS("{mode: x, num: 1}"),
           {FROZEN(".spec.items[*].num", "Num")},
           NULL},
          {"lists in lists",
           GATES(OFF("M", QUOTED(".spec.items[*][*].mode"))),
           ITEMS("[" A "], [" B "]"),
           ITEMS("[" A "], [{name: b, mode: z}]"),
           ITEMS("[" A "], [" B "]"),
           {FROZEN(".spec.items[*][*].mode", "M")},
           NULL},
          {"lists in lists: set",
           GATES(OFF("M", QUOTED(".spec.items[*][*].mode"))),
           ITEMS("[{name: b}], []"),
           ITEMS("[{name: b}], [{mode: z}]"),
           ITEMS("[{name: b}], [{}]"),
           {DROPPED(".spec.items[*][*].mode", "M")},
           NULL},
},
  maps[] = {
      {"create", M_OFF, NULL, VALUES("a: {mode: x}, b: {}"), VALUES("a: {}, b: {}"), {DROP}, NULL},
      {"changed",
       M_OFF,
       VALUES("a: {mode: x}"),
       VALUES("a: {mode: y}"),
       VALUES("a: {mode: x}"),
       {FREEZE},
       NULL},
      {"removed",
       M_OFF,
       VALUES("a: {mode: x}"),
       VALUES("a: {}"),
       VALUES("a: {mode: x}"),
       {KEEP},
       NULL},
      {"another key",
       M_OFF,
       VALUES("a: {mode: x}"),
       VALUES("b: {mode: x}"),
       VALUES("b: {}"),
       {DROP, LOSE},
       NULL},
      {"a key is removed",
       M_OFF,
       VALUES("a: {mode: x}, b: {}"),
       VALUES("b: {}"),
       NULL,
       {LOSE},
       NULL},
      {"a value is null", M_OFF, VALUES("a: {mode: x}"), VALUES("a: null"), NULL, {LOSE}, NULL},
      {"a value was null",
       M_OFF,
       VALUES("a: null"),
       VALUES("a: {mode: x}"),
       VALUES("a: {}"),
       {DROP},
       NULL},
      {"a value is a scalar", M_OFF, VALUES("a: {mode: x}"), VALUES("a: 1"), NULL, {LOSE}, NULL},
      {"keys with slashes",
       M_OFF,
       VALUES("a/~b: {mode: x}"),
       VALUES("a/~b: {mode: y}"),
       VALUES("a/~b: {mode: x}"),
       {FREEZE},
       NULL},
      {"the map is a list",
       M_OFF,
       VALUES("a: {mode: x}"),
       ITEMS(A),
       ITEMS("{name: a}"),
       {LOSE, DROP},
       NULL},
      {"deprecated",
       M_OLD,
       VALUES("a: {mode: x}"),
       VALUES("a: {mode: x}, b: {mode: x}"),
       NULL,
       {USED(MODE)},
       NULL},
      {"deprecated: a map in use stays",
       GATES(OLD("S", ".spec.items") "," OFF("M", QUOTED(MODE))),
       VALUES("a: {mode: x}"),
       VALUES("a: {mode: z}"),
       VALUES("a: {mode: x}"),
       {FREEZE},
       NULL},
};

static void check_denied(const struct row *row, const struct test_gates_write *w)
{
    ck_assert_msg(!w->outcome.allowed, "%s is allowed", row->name);
    ck_assert_str_eq(w->outcome.message, row->denied);
}

static void check_allowed(const struct row *row, const struct test_gates_write *w)
{
    yyjson_doc *want = test_gates_yaml(row->stored ? row->stored : row->new);
    size_t n = 0;

    ck_assert_msg(w->outcome.allowed, "%s: %s", row->name, w->outcome.message);
    char *got = yyjson_write(w->stored, 0, NULL);
    ck_assert_msg(ek_json_equal(yyjson_doc_get_root(w->stored), yyjson_doc_get_root(want)),
                  "%s: %s", row->name, got);
    ck_assert_msg((w->outcome.patch != NULL) == (row->stored != NULL), "%s: patch", row->name);
    while (n < MANY && row->warnings[n])
        n++;
    for (size_t i = 0; i < w->outcome.n_warnings && i < n; i++)
        ck_assert_msg(!strcmp(w->outcome.warnings[i], row->warnings[i]), "%s: %s", row->name,
                      w->outcome.warnings[i]);
    ck_assert_msg(w->outcome.n_warnings == n, "%s: %zu warnings", row->name, w->outcome.n_warnings);
    free(got);
    yyjson_doc_free(want);
}

static void check_row(const struct row *row, const char *list)
{
    struct test_gates_case c = {.spec = row->spec, .old = row->old, .new = row->new};
    struct test_gates_write w;

    test_gates_open_keyed(&w, &c, list);
    if (row->denied)
        check_denied(row, &w);
    else
        check_allowed(row, &w);
    const char *broken = test_gates_broken_law(&w);
    ck_assert_msg(!broken, "%s: %s", row->name, broken);
    test_gates_close(&w);
}

START_TEST(matches_items_by_key)
{
    check_row(&keyed[_i], ".spec.items[*]");
}
END_TEST

START_TEST(matches_items_without_keys)
{
    check_row(&atomic[_i], NULL);
}
END_TEST

START_TEST(matches_values_of_maps)
{
    check_row(&maps[_i], NULL);
}
END_TEST

/* A path of /scale may lead through a map whose values are gated. */
START_TEST(closes_scale_of_a_map)
{
    struct test_gates_case c = {.spec = GATES(OFF("R", QUOTED(".spec.pools[*].replicas"))),
                                .old = SCALE("3"),
                                .new = SCALE("5"),
                                .subresource = "scale",
                                .replicas = ".spec.pools.main.replicas"};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert(w.outcome.allowed && w.outcome.patch);
    ck_assert_str_eq(w.outcome.warnings[0], FROZEN(".spec.pools[*].replicas", "R"));
    test_gates_close(&w);
}
END_TEST

/* Writes of .status look at .status alone, in lists too. */
START_TEST(looks_at_status_apart)
{
    struct test_gates_case c = {
        .spec = GATES(OFF("S", QUOTED(".status.parts[*].mode")) "," OFF("M", QUOTED(MODE))),
        .old = "{spec: {items: [{mode: x}]}, status: {parts: [{mode: x}]}}",
        .new = "{spec: {items: [{mode: y}]}, status: {parts: [{mode: y}]}}",
        .subresource = _i ? "status" : NULL,
        .has_status = true};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert_uint_eq(w.outcome.n_warnings, 1);
    ck_assert_str_eq(w.outcome.warnings[0], _i ? FROZEN(".status.parts[*].mode", "S") : FREEZE);
    test_gates_close(&w);
}
END_TEST

/* ---- Sizes ---- */

static void add_items(struct ek_buf *out, size_t n, const char *mode)
{
    ek_buf_puts(out, "{\"spec\":{\"items\":[");
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, "%s{\"name\":\"n%zu\",\"mode\":\"%s\"}", i ? "," : "", i, mode);
    ek_buf_puts(out, "]}}");
}

static uint64_t steps_of(size_t n, bool by_key)
{
    struct test_gates_write w;
    struct ek_work work = {.next = UINT64_MAX};
    struct ek_gates_outcome outcome;
    EK_AUTO(ek_buf) old;
    EK_AUTO(ek_buf) new;

    ek_buf_init(&old, 1 << 20);
    ek_buf_init(&new, 1 << 20);
    add_items(&old, n, "x");
    add_items(&new, n, "y");
    struct test_gates_case c = {.spec = M_OFF, .old = ek_buf_str(&old), .new = ek_buf_str(&new)};
    test_gates_open_keyed(&w, &c, by_key ? ".spec.items[*]" : NULL);
    ck_assert_uint_eq(w.outcome.n_hits, 1);
    ck_assert_int_eq(ek_gates_verify(w.gates, &w.shape, &w.request, w.arena, &work, &outcome, NULL),
                     0);
    ck_assert(!outcome.allowed);
    test_gates_close(&w);
    return work.steps;
}

/* Twice the items take twice the steps: nobody makes the comparison quadratic. */
START_TEST(grows_with_the_items)
{
    ck_assert_uint_lt(steps_of(2000, _i), 3 * steps_of(1000, _i));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, matches_items_by_key, 0, EK_ARRAY_SIZE(keyed));
    tcase_add_loop_test(tcase, matches_items_without_keys, 0, EK_ARRAY_SIZE(atomic));
    tcase_add_loop_test(tcase, matches_values_of_maps, 0, EK_ARRAY_SIZE(maps));
    tcase_add_test(tcase, closes_scale_of_a_map);
    tcase_add_loop_test(tcase, looks_at_status_apart, 0, 2);
    tcase_add_loop_test(tcase, grows_with_the_items, 0, 2);
    return ek_test_run("gates_items", tcase);
}
