/* SPDX-License-Identifier: Apache-2.0 */
/* Which stored objects hold values of gates, and what removes these: by row. */
#include "reconcilers/fieldgates/census.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

#define TWO GATES(OFF("A", ".spec.a, .spec.b.c, .status.s") "," ON("B", ".spec.b"))

static const struct {
    const char *name, *spec;
    const char *items; /* YAML */
    uint64_t first, second;
} rows[] = {
    {"none", TWO, "[]", 0, 0},
    {"one path", TWO, "[{spec: {a: 1}}, {spec: {d: 1}}, {}]", 1, 0},
    {"each object once", TWO, "[{spec: {a: 1, b: {c: 2}}}]", 1, 0},
    {"null is a value", TWO, "[{spec: {a: null}}]", 1, 0},
    {"a parent without the field", TWO, "[{spec: {b: {d: 1}}}, {spec: {b: 7}}, {spec: [1]}]", 0, 0},
    {"the status", TWO, "[{status: {s: 1}}]", 1, 0},
    {"items of lists", GATES(OFF("A", "'.spec.l[*].a'") "," OFF("B", "'.spec.k[*][*].b'")),
     "[{spec: {l: [{z: 1}, {a: 1}]}}, {spec: {l: [{a: 1}, {a: 2}]}}, {spec: {k: [[{b: 1}]]}}]", 2,
     1},
    {"values of maps", GATES(OFF("A", "'.spec.m[*].a'") "," OFF("B", "'.spec.m[*].b.c'")),
     "[{spec: {m: {k: {a: null}}}}, {spec: {m: {k: {b: {c: 1}}}}}, {spec: {m: {k: 1}}}, {spec: {m: "
     "7}}]",
     1, 1},
    {"a deprecated gate that is on", GATES(OLD("D", ".spec.d") "," OFF("A", ".spec.a")),
     "[{spec: {d: 1}}, {spec: {d: 2, a: 3}}]", 2, 1},
};

START_TEST(counts)
{
    const struct ek_gates *gates = test_gates_new(rows[_i].spec);
    EK_AUTOFREE char *text = ek_xasprintf("{items: %s}", rows[_i].items);
    yyjson_doc *list = test_gates_yaml(text);
    struct ek_gates_census census = {0};

    for (int page = 0; page < 2; page++)
        ek_gates_census_add(&census, gates, yyjson_doc_get_root(list));
    ck_assert_msg(census.held[0] == 2 * rows[_i].first && census.held[1] == 2 * rows[_i].second,
                  "%s: %d and %d", rows[_i].name, (int)census.held[0], (int)census.held[1]);
    ck_assert_uint_eq(census.objects,
                      2 * yyjson_arr_size(yyjson_ptr_get(yyjson_doc_get_root(list), "/items")));
    yyjson_doc_free(list);
    ek_gates_unref(gates);
}
END_TEST

#define REPLACE "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"},"

static const struct {
    const char *name, *paths, *object;
    bool has_status, status;
    const char *want; /* JSON; NULL: no patch */
} patches[] = {
    {"one", ".spec.a", "{spec: {a: 1, z: 2}}", false, false,
     "{\"spec\":{\"a\":null},\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"what is not there", ".spec.a", "{spec: {z: 2}}", false, false, NULL},
    {"two below one parent", ".spec.b.c, .spec.b.d", "{spec: {b: {c: 1, d: 2}}}", false, false,
     "{\"spec\":{\"b\":{\"c\":null,\"d\":null}},\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"a path within another", ".spec.b.c, .spec.b", "{spec: {b: {c: 1}}}", false, false,
     "{\"spec\":{\"b\":null},\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"the status apart", ".spec.a, .status.s", "{spec: {a: 1}, status: {s: 1}}", true, true,
     "{\"status\":{\"s\":null},\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"and the rest", ".spec.a, .status.s", "{spec: {a: 1}, status: {s: 1}}", true, false,
     "{\"spec\":{\"a\":null},\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"items of a list", "'.spec.l[*].a'", "{spec: {l: [{a: 1}, {z: 1}, {a: 2}]}}", false, false,
     REPLACE "{\"op\":\"remove\",\"path\":\"/spec/l/0/a\"},"
             "{\"op\":\"remove\",\"path\":\"/spec/l/2/a\"}]"},
    {"values of a map, and a field", "'.spec.m[*].a', .spec.b", "{spec: {b: 1, m: {k/~: {a: 1}}}}",
     false, false,
     REPLACE "{\"op\":\"remove\",\"path\":\"/spec/m/k~1~0/a\"},"
             "{\"op\":\"remove\",\"path\":\"/spec/b\"}]"},
    {"items below a path that is removed", "'.spec.l[*].a', .spec.l", "{spec: {l: [{a: 1}]}}",
     false, false, REPLACE "{\"op\":\"remove\",\"path\":\"/spec/l\"}]"},
    {"no value in the items", "'.spec.l[*].a'", "{spec: {l: [{z: 1}]}}", false, false, NULL},
    {"a status that is not apart", ".status.s", "{status: {s: 1}}", false, false,
     "{\"status\":{\"s\":null},\"metadata\":{\"resourceVersion\":\"7\"}}"},
};

START_TEST(clears)
{
    EK_AUTOFREE char *spec = ek_xasprintf(
        "{featureGates: [{name: A, preRelease: alpha, fieldPaths: [%s]}]}", patches[_i].paths);
    EK_AUTOFREE char *text =
        ek_xasprintf("{metadata: {name: a, resourceVersion: '7'}, %s", patches[_i].object + 1);
    const struct ek_gates *gates = test_gates_new(spec);
    yyjson_doc *object = test_gates_yaml(text);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *patch = ek_gate_clear_patch(&gates->gates[0], yyjson_doc_get_root(object),
                                                patches[_i].has_status, patches[_i].status, doc);
    char *got = patch ? yyjson_mut_val_write(patch, 0, NULL) : NULL;

    ck_assert_msg((got != NULL) == (patches[_i].want != NULL), "%s: %s", patches[_i].name,
                  got ? got : "no patch");
    if (got)
        ck_assert_str_eq(got, patches[_i].want);
    free(got);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(object);
    ek_gates_unref(gates);
}
END_TEST

/* Without a resourceVersion nothing can be promised. */
START_TEST(needs_a_resource_version)
{
    const struct ek_gates *gates = test_gates_new(TWO);
    yyjson_doc *object = test_gates_yaml("{metadata: {name: a}, spec: {a: 1}}");
    yyjson_mut_doc *doc = ek_json_doc_new();

    ck_assert_ptr_null(
        ek_gate_clear_patch(&gates->gates[0], yyjson_doc_get_root(object), false, false, doc));
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(object);
    ek_gates_unref(gates);
}
END_TEST

/* ---- The course of a census ---- */

#define NOW     1000000
#define WALL    1760000000000
#define SMALL   (EK_GATES_CENSUS_BODY_MAX / 4)
#define FORBIDS "no list; label a ClusterRole"
#define LARGE   "too large"
#define EXPIRED "expired"

/* What can come of a request for a page. */
enum page { PAGE, END, NOTHING };
static const struct reply {
    char letter;
    enum page page;
    size_t size;
    struct ek_err err;
    bool token; /* the Status of the failure has a continue token */
} replies[] = {
    {'p', PAGE, SMALL, {0}, false},
    {'P', PAGE, SMALL + 1, {0}, false},
    {'e', END, SMALL, {0}, false},
    {'f', NOTHING, 0, {.code = EK_E_FORBIDDEN, .message = "no list"}, false},
    {'l', NOTHING, 0, {.code = EK_E_LIMIT, .message = LARGE}, false},
    {'x', NOTHING, 0, {.code = EK_E_GONE, .message = EXPIRED}, true},
    {'X', NOTHING, 0, {.code = EK_E_GONE, .message = EXPIRED}, false},
};

/* The letters above, each when it is due; "g": the gates change, "u": the object is another one
 * with the same generation. */
static const struct course {
    const char *name, *course;
    int64_t due_ms;         /* after the last of them, from when that came */
    const char *next;       /* the continue token of the page that follows; NULL: none does */
    unsigned limit;         /* of the next page */
    bool known;             /* in the end */
    const char *message;    /* a part of it; "": there is none */
    uint64_t objects, held; /* of the result */
} courses[] = {
    {"one page", "e", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true, "", 1, 1},
    {"a page and another", "p", EK_GATES_CENSUS_GAP_MS, "c", 100, false, "", 0, 0},
    {"three pages", "ppe", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true, "", 3, 3},
    {"again: not added up", "pepe", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true, "", 2, 2},
    {"while the next runs, the last one counts", "pep", EK_GATES_CENSUS_GAP_MS, "c", 100, true, "",
     2, 2},
    {"it fails at first", "f", EK_GATES_CENSUS_AGAIN_MS, NULL, 100, false, FORBIDS, 0, 0},
    {"it fails midway, and what was known stays", "epf", EK_GATES_CENSUS_AGAIN_MS, NULL, 100, true,
     FORBIDS, 1, 1},
    {"it works again", "fe", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true, "", 1, 1},
    {"half a census is forgotten", "pfe", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true, "", 1, 1},
    {"the gates change: what is known is of the past, and a pause is made", "eg",
     EK_GATES_CENSUS_PAUSE_MS - 5, NULL, 100, false, "", 0, 0},
    {"the gates change midway", "pg", 0, NULL, 100, false, "", 0, 0},
    {"the object is replaced: what is known is of the past", "eu", EK_GATES_CENSUS_PAUSE_MS - 5,
     NULL, 100, false, "", 0, 0},
    {"the object is replaced midway", "pu", 0, NULL, 100, false, "", 0, 0},
    {"the first page is too large: half of it", "l", EK_GATES_CENSUS_GAP_MS, "", 50, false, "", 0,
     0},
    {"a later page is too large: half of the same", "pll", EK_GATES_CENSUS_GAP_MS, "c", 25, false,
     "", 0, 0},
    {"nothing is counted twice or left out", "lpllPe", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true,
     "", 3, 3},
    {"down to one object", "llllll", EK_GATES_CENSUS_GAP_MS, "", 1, false, "", 0, 0},
    {"one object is too large", "lllllll", EK_GATES_CENSUS_AGAIN_MS, NULL, 100, false, LARGE, 0, 0},
    {"large objects keep the limit", "lllPP", EK_GATES_CENSUS_GAP_MS, "c", 12, false, "", 0, 0},
    {"small ones double it", "lllPpp", EK_GATES_CENSUS_GAP_MS, "c", 48, false, "", 0, 0},
    {"up to the whole page", "lllPpppp", EK_GATES_CENSUS_GAP_MS, "c", 100, false, "", 0, 0},
    {"a change of gates ends it", "lg", 0, NULL, 100, false, "", 0, 0},
    {"the list expires, and goes on", "px", EK_GATES_CENSUS_GAP_MS, "d", 100, false, "", 0, 0},
    {"to its end", "pxpxpxe", EK_GATES_CENSUS_EVERY_MS, NULL, 100, true, "", 4, 4},
    {"it expires without a token", "pX", EK_GATES_CENSUS_AGAIN_MS, NULL, 100, false, EXPIRED, 0, 0},
    {"the token that it was given has expired", "pxx", EK_GATES_CENSUS_AGAIN_MS, NULL, 100, false,
     EXPIRED, 0, 0},
    {"which the next census does not suffer for", "pxxpx", EK_GATES_CENSUS_GAP_MS, "d", 100, false,
     EXPIRED, 0, 0},
    {"a first page cannot expire", "x", EK_GATES_CENSUS_AGAIN_MS, NULL, 100, false, EXPIRED, 0, 0},
    {"it expires while the page is halved", "plx", EK_GATES_CENSUS_GAP_MS, "d", 50, false, "", 0,
     0},
};

static const struct reply *reply_of(char letter)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(replies); i++)
        if (replies[i].letter == letter)
            return &replies[i];
    ck_abort_msg("there is no reply %c", letter);
}

/* One census and what answers it. */
struct scene {
    const struct ek_gates *gates;
    yyjson_doc *page, *end, *status;
    struct ek_gates_census_state state;
    const char *next; /* as the last reply was taken; NULL: a census begins */
    const char *uid;
    int64_t generation, now, came; /* came: the last event */
};

static void hear(struct scene *s, const struct reply *reply)
{
    const struct ek_gates_census_page page = {
        .at = s->next ? s->next : "",
        .list = yyjson_doc_get_root(reply->page == PAGE  ? s->page
                                    : reply->page == END ? s->end
                                                         : NULL),
        .size = reply->size,
        .err = &reply->err,
        .status = reply->token ? yyjson_doc_get_root(s->status) : NULL,
    };
    s->next = ek_gates_census_heard(&s->state, s->gates, &page, s->now, WALL + s->now);
    ck_assert_int_eq(s->state.more, s->next != NULL);
}

static void play(struct scene *s, const char *course)
{
    for (const char *p = course; *p; p++) {
        s->came = s->now;
        if (*p == 'g' || *p == 'u') {
            s->came = s->now = s->state.ended_ms ? s->state.ended_ms + 5 : s->now;
            s->generation += *p == 'g';
            s->uid = *p == 'u' ? "another" : s->uid;
            ck_assert(ek_gates_census_follow(&s->state, s->uid, s->generation, s->now));
            s->next = NULL;
        } else {
            hear(s, reply_of(*p));
        }
        s->now = s->state.due_ms;
    }
}

START_TEST(takes_its_course)
{
    const struct course *row = &courses[_i];
    struct scene s = {
        .gates = test_gates_new(TWO),
        .page = test_gates_yaml("{metadata: {continue: c}, items: [{spec: {a: 1}}]}"),
        .end = test_gates_yaml("{metadata: {}, items: [{spec: {a: 1}}]}"),
        .status = test_gates_yaml("{kind: Status, metadata: {continue: d}, reason: Expired}"),
        .state = {.generation = -1},
        .uid = "one",
        .generation = 1,
        .now = NOW,
        .came = NOW,
    };

    ck_assert(ek_gates_census_follow(&s.state, s.uid, 1, NOW));
    ck_assert(!ek_gates_census_follow(&s.state, s.uid, 1, NOW));
    ck_assert_int_eq(s.state.due_ms, NOW);
    play(&s, row->course);
    ck_assert_msg(s.state.due_ms - s.came == row->due_ms, "%s: due in %d ms", row->name,
                  (int)(s.state.due_ms - s.came));
    ck_assert_msg(s.next && row->next ? !strcmp(s.next, row->next) : s.next == row->next,
                  "%s: next is \"%s\"", row->name, s.next ? s.next : "(none)");
    ck_assert_msg(s.state.limit == row->limit, "%s: limit %u", row->name, s.state.limit);
    ck_assert_msg(s.state.known == row->known, "%s", row->name);
    ck_assert_msg(s.state.result.objects == row->objects && s.state.result.held[0] == row->held,
                  "%s: %d of %d", row->name, (int)s.state.result.held[0],
                  (int)s.state.result.objects);
    ck_assert_msg(*row->message ? strstr(s.state.message, row->message) != NULL : !*s.state.message,
                  "%s: %s", row->name, s.state.message);
    yyjson_doc_free(s.page);
    yyjson_doc_free(s.end);
    yyjson_doc_free(s.status);
    ek_gates_unref(s.gates);
}
END_TEST

static const struct {
    const char *name;
    struct ek_gates_census_state a, b;
    bool precedes;
} orders[] = {
    {"what is due first", {.due_ms = 1}, {.due_ms = 2}, true},
    {"what is due later", {.due_ms = 2}, {.due_ms = 1}, false},
    {"a census under way", {.due_ms = 2, .more = true}, {.due_ms = 1}, true},
    {"against a census under way", {.due_ms = 1}, {.due_ms = 2, .more = true}, false},
    {"of two under way, what is due first",
     {.due_ms = 1, .more = true},
     {.due_ms = 2, .more = true},
     true},
};

START_TEST(one_kind_after_the_other)
{
    ck_assert_msg(ek_gates_census_precedes(&orders[_i].a, &orders[_i].b) == orders[_i].precedes,
                  "%s", orders[_i].name);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, counts, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, clears, 0, EK_ARRAY_SIZE(patches));
    tcase_add_test(tc, needs_a_resource_version);
    tcase_add_loop_test(tc, takes_its_course, 0, EK_ARRAY_SIZE(courses));
    tcase_add_loop_test(tc, one_kind_after_the_other, 0, EK_ARRAY_SIZE(orders));
    return ek_test_run("gates census", tc);
}
