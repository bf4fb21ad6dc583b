/* SPDX-License-Identifier: Apache-2.0 */
/* The counts that status shows, step by step. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/fieldgates/tally.h"
#include "test/support/suite.h"

#define PACE EK_GATES_TALLY_PACE_MS

enum what { TAKE, SHOW, RESTART };

struct step {
    enum what what;
    int64_t now_ms;   /* TAKE */
    bool waiting;     /* TAKE: something was counted since */
    const char *uid;  /* SHOW: of the object */
    uint64_t status;  /* SHOW: what its status says */
    uint64_t counted; /* SHOW: by this process, by now */
    int64_t want;     /* TAKE: when to take again; SHOW: what is shown */
    bool taken;       /* TAKE */
};

#define STEPS_MAX 8

static const struct {
    const char *name;
    struct step steps[STEPS_MAX];
    size_t n;
} rows[] = {
    {"the first is taken at once", {{TAKE, 1000, true, .want = 0, .taken = true}}, 1},
    {"the next has to wait",
     {{TAKE, 1000, .taken = true}, {TAKE, 2000, true, .want = PACE - 1000}},
     2},
    {"nothing counted waits for nothing",
     {{TAKE, 1000, .taken = true}, {TAKE, 2000, .waiting = false}},
     2},
    {"until its time",
     {{TAKE, 1000, .taken = true},
      {TAKE, 999 + PACE, true, .want = 1},
      {TAKE, 1000 + PACE, true, .taken = true}},
     3},
    {"status is the base",
     {{TAKE, 1000, .taken = true}, {SHOW, .uid = "u", .status = 7, .want = 7}},
     2},
    {"what was counted before is on top",
     {{TAKE, 1000, .taken = true}, {SHOW, .uid = "u", .status = 7, .counted = 3, .want = 10}},
     2},
    {"what is counted later waits",
     {{TAKE, 1000, .taken = true},
      {SHOW, .uid = "u", .status = 7, .want = 7},
      {SHOW, .uid = "u", .status = 7, .counted = 5, .want = 7},
      {TAKE, 1000 + PACE, true, .taken = true},
      {SHOW, .uid = "u", .status = 7, .counted = 5, .want = 12}},
     5},
    {"what status says of us is not added again",
     {{TAKE, 1000, .taken = true},
      {SHOW, .uid = "u", .status = 0, .counted = 5, .want = 5},
      {SHOW, .uid = "u", .status = 5, .counted = 5, .want = 5}},
     3},
    {"another leader has counted on",
     {{TAKE, 1000, .taken = true},
      {SHOW, .uid = "u", .status = 0, .counted = 5, .want = 5},
      {.what = RESTART},
      {SHOW, .uid = "u", .status = 9, .counted = 5, .want = 9},
      {TAKE, 1000 + PACE, true, .taken = true},
      {SHOW, .uid = "u", .status = 9, .counted = 6, .want = 10}},
     6},
    {"without that, status does not count",
     {{TAKE, 1000, .taken = true},
      {SHOW, .uid = "u", .status = 0, .counted = 5, .want = 5},
      {SHOW, .uid = "u", .status = 9, .counted = 5, .want = 5}},
     3},
    {"a new object begins at its own status",
     {{TAKE, 1000, .taken = true},
      {SHOW, .uid = "u", .status = 0, .counted = 5, .want = 5},
      {SHOW, .uid = "v", .status = 0, .counted = 8, .want = 0},
      {TAKE, 1000 + PACE, true, .taken = true},
      {SHOW, .uid = "v", .status = 0, .counted = 9, .want = 1}},
     5},
};

/* What is shown of the gate X of the named object. */
static uint64_t show_of(struct ek_gates_tally *tally, const char *name, const struct step *s)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\"},\"spec\":{\"featureGates\":[{\"name\":"
        "\"X\",\"preRelease\":\"alpha\",\"fieldPaths\":[\".spec.x\"]}]},\"status\":{\"gates\":[{"
        "\"name\":\"X\",\"suppressed\":%llu,\"deprecatedUses\":%llu}]}}",
        name, s->uid, (unsigned long long)s->status, (unsigned long long)s->status);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    const struct ek_gates *gates = ek_gates_new(ek_obj_root(obj), NULL, 0);
    const struct ek_gate_count counted = {"X", s->counted, s->counted};
    struct ek_arena *arena = ek_arena_new(1 << 16);
    const struct ek_gate_count *is = ek_gates_tally_of(tally, obj, gates, &counted, arena);
    uint64_t suppressed = is->suppressed;

    ck_assert_str_eq(is->gate, "X");
    ck_assert_uint_eq(suppressed, is->deprecated_uses);
    ek_arena_free(arena);
    ek_gates_unref(gates);
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
    return suppressed;
}

START_TEST(goes_on)
{
    struct ek_gates_tally *tally = ek_gates_tally_new();

    for (size_t i = 0; i < rows[_i].n; i++) {
        const struct step *s = &rows[_i].steps[i];
        int64_t got = 0;
        bool taken = false;
        if (s->what == TAKE)
            got = ek_gates_tally_take(tally, s->now_ms, s->waiting, &taken);
        else if (s->what == SHOW)
            got = (int64_t)show_of(tally, "a.b.c", s);
        else
            ek_gates_tally_restart(tally);
        ck_assert_msg(got == s->want && taken == s->taken, "%s: step %zu: %lld%s", rows[_i].name, i,
                      (long long)got, taken ? ", taken" : "");
    }
    ek_gates_tally_free(tally);
}
END_TEST

START_TEST(is_bounded)
{
    const struct step counted = {SHOW, .uid = "u", .counted = 5};
    struct ek_gates_tally *tally = ek_gates_tally_new();

    for (size_t i = 0; i <= EK_GATES_TALLY_MAX; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("a%zu", i);
        ck_assert_uint_eq(show_of(tally, name, &counted), i < EK_GATES_TALLY_MAX ? 5 : 0);
    }
    ek_gates_tally_free(tally);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, is_bounded);
    tcase_add_loop_test(tc, goes_on, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("gates tally decisions", tc);
}
