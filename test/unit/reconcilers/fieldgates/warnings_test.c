/* SPDX-License-Identifier: Apache-2.0 */
/* How much is said about a gated write, and what is counted. */
#include "reconcilers/fieldgates/decide.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

/* ---- Limits of warnings ---- */

/* A create that uses n fields of one gate each, whose definitions end with tail. */
static void open_many(struct test_gates_write *w, size_t n, const char *field, const char *tail)
{
    EK_AUTO(ek_buf) spec;
    EK_AUTO(ek_buf) object;

    ek_buf_init(&spec, 1 << 20);
    ek_buf_init(&object, 1 << 20);
    ek_buf_puts(&spec, "{featureGates: [");
    ek_buf_puts(&object, "{spec: {");
    for (size_t i = 0; i < n; i++) {
        ek_buf_printf(&spec, "%s{name: Gate%zu, fieldPaths: [.spec.%s%02zu], ", i ? ", " : "", i,
                      field, i);
        ek_buf_printf(&spec, tail, i);
        ek_buf_puts(&spec, "}");
        ek_buf_printf(&object, "%s%s%02zu: 1", i ? ", " : "", field, i);
    }
    ek_buf_puts(&spec, "]}");
    ek_buf_puts(&object, "}}");
    struct test_gates_case c = {ek_buf_str(&spec), NULL, ek_buf_str(&object), NULL, 0, NULL};
    test_gates_open(w, &c);
}

static const struct {
    const char *name;
    size_t fields;
    const char *field, *tail;
    size_t warnings;
    const char *last;
} limits[] = {
    {"20 are said", 20, "f", "preRelease: alpha", 20, DROPPED(".spec.f19", "Gate19")},
    {"of 21 one is left out", 21, "f", "preRelease: alpha", 21,
     "and 1 more field is gated or deprecated"},
    {"of 60 forty are", 60, "f", "preRelease: alpha", 21,
     "and 40 more fields are gated or deprecated"},
    {"one text of an author for all", 60, "f",
     "preRelease: deprecated, default: true, fieldDeprecationWarning: use something else", 1,
     "use something else"},
    {"long texts of authors, in all less than what arrives", 20, "f",
     "preRelease: deprecated, default: true, fieldDeprecationWarning: "
     "'%03zu-23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd'",
     15, "and 6 more fields are gated or deprecated"},
};

START_TEST(test_limits)
{
    struct test_gates_write w;
    size_t size = 0;

    open_many(&w, limits[_i].fields, limits[_i].field, limits[_i].tail);
    ck_assert_msg(w.outcome.n_warnings == limits[_i].warnings, "%s: %zu", limits[_i].name,
                  w.outcome.n_warnings);
    ck_assert_str_eq(w.outcome.warnings[w.outcome.n_warnings - 1], limits[_i].last);
    for (size_t i = 0; i < w.outcome.n_warnings; i++)
        size += strlen(w.outcome.warnings[i]);
    ck_assert_uint_lt(size, 4096);
    ck_assert_uint_eq(w.outcome.n_hits, limits[_i].fields);
    test_gates_close(&w);
}
END_TEST

#define TEN "abcdefghij"
#define LONG                                                                                       \
    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
    const char *name, *spec, *old, *new, *warning;
} lengths[] = {
    {"a long path", GATES(OFF("R", ".spec." LONG)), NULL, "{spec: {" LONG ": 1}}",
     "field .spec.abcdefghijabcdefghijabcdefghijab...cdefghijabcdefghijabcdefghijabcdefghij was "
     "dropped: "
     "feature gate R is off"},
    {"a long gate", GATES(OFF(LONG, ".spec.a")), NULL, "{spec: {a: 1}}",
     "field .spec.a was dropped: feature gate abcdefghijabcdefgh...bcdefghijabcdefghij is off"},
    {"both", GATES(OFF(LONG, ".spec." LONG)), NULL, "{spec: {" LONG ": 1}}",
     "field .spec.abcdefghijab...bcdefghijabcdefghij was dropped: "
     "feature gate abcdefghijabcdefgh...bcdefghijabcdefghij is off"},
    {"deprecated", GATES(OLD("D", ".spec." LONG)), NULL, "{spec: {" LONG ": 1}}",
     "field .spec.abcdefghijabcdefghijabcdefghijabcdefghijab..."
     "bcdefghijabcdefghijabcdefghijabcdefghijabcdefghij is deprecated"},
};

START_TEST(test_lengths)
{
    struct test_gates_case c = {lengths[_i].spec, lengths[_i].old, lengths[_i].new, NULL, 0, NULL};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert_uint_eq(w.outcome.n_warnings, 1);
    ck_assert_uint_le(strlen(w.outcome.warnings[0]), EK_GATES_WARNING_TEXT_MAX);
    ck_assert_msg(!strcmp(w.outcome.warnings[0], lengths[_i].warning), "%s: %s", lengths[_i].name,
                  w.outcome.warnings[0]);
    test_gates_close(&w);
}
END_TEST

/* ---- Hits ---- */

START_TEST(test_hits)
{
    struct test_gates_case c = {
        GATES(OLD("Foo", FOO) "," OLD("Qux", QUX) "," OFF("R", ".spec.replicas")),
        NULL,
        SPEC(", foo: {qux: 1}, replicas: 3"),
        NULL,
        0,
        NULL};
    struct test_gates_write w;

    test_gates_open(&w, &c);
    ck_assert_uint_eq(w.outcome.n_hits, 3);
    ck_assert_str_eq(w.outcome.hits[0].gate->name, "Foo");
    ck_assert_str_eq(w.outcome.hits[1].path->text, QUX);
    ck_assert(w.outcome.hits[0].deprecated && w.outcome.hits[1].deprecated);
    ck_assert(!w.outcome.hits[2].deprecated);
    ck_assert_uint_eq(w.outcome.n_warnings, 2);
    test_gates_close(&w);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, test_limits, 0, EK_ARRAY_SIZE(limits));
    tcase_add_loop_test(tcase, test_lengths, 0, EK_ARRAY_SIZE(lengths));
    tcase_add_test(tcase, test_hits);
    return ek_test_run("gates_warnings", tcase);
}
