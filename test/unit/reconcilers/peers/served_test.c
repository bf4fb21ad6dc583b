/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/served.h"

#include <check.h>
#include <string.h>

#include "reconcilers/peers/view_build.h"
#include "test/support/groups_fixture.h"
#include "test/support/suite.h"

#define ROOM ((size_t)16 << 20)

#define LIST(items)           "{\"items\":[" items "]}"
#define GROUP(name, versions) "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define VERSION(name, resources)                                                                   \
    "{\"version\":\"" name "\",\"resources\":[" resources "],\"freshness\":\"Current\"}"
#define STALE(name, resources)                                                                     \
    "{\"version\":\"" name "\",\"resources\":[" resources "],\"freshness\":\"Stale\"}"
#define RESOURCE(name, kind, scope, verbs, more)                                                   \
    "{\"resource\":\"" name "\",\"responseKind\":{\"kind\":\"" kind "\"},\"scope\":\"" scope       \
    "\",\"verbs\":[" verbs "]" more "}"
#define SUB(name, verbs)                                                                           \
    ",\"subresources\":[{\"subresource\":\"" name "\",\"responseKind\":{\"kind\":\"S\"},"          \
    "\"verbs\":[" verbs "]}]"

#define EMPTY LIST("")
#define JOBS  RESOURCE("jobs", "Job", "Namespaced", "\"list\",\"get\"", "")
#define BATCH LIST(GROUP("batch", VERSION("v1", JOBS)))

/* What one row is given: /apis of up to three API servers, NULL for one that was not read. Each row
 * of the result is "group/version resource/sub", a letter for each API server (y, n, s, ?), "!"
 * where it is uneven, and the facets that differ. */
static const struct {
    const char *name;
    size_t n; /* API servers */
    const char *groups[3];
    const char *wanted;
} rows[] = {
    {"nothing is read", 2, {NULL, NULL}, ""},
    {"nothing is served", 2, {EMPTY, EMPTY}, ""},
    {"the same", 2, {BATCH, BATCH}, "batch/v1 jobs yy\n"},
    {"one lacks it", 3, {BATCH, EMPTY, BATCH}, "batch/v1 jobs yny!\n"},
    {"one was not read", 3, {BATCH, NULL, BATCH}, "batch/v1 jobs y?y\n"},
    {"one was not read, one lacks it", 3, {EMPTY, NULL, BATCH}, "batch/v1 jobs n?y!\n"},
    {"in order of names",
     1,
     {LIST(GROUP("b", VERSION("v2", JOBS) "," VERSION("v1", JOBS)) "," GROUP("a",
                                                                             VERSION("v1", JOBS)))},
     "a/v1 jobs y\nb/v1 jobs y\nb/v2 jobs y\n"},
    {"verbs in another order",
     2,
     {BATCH, LIST(GROUP("batch", VERSION("v1", RESOURCE("jobs", "Job", "Namespaced",
                                                        "\"get\",\"list\"", ""))))},
     "batch/v1 jobs yy\n"},
    {"other verbs",
     2,
     {BATCH,
      LIST(GROUP("batch", VERSION("v1", RESOURCE("jobs", "Job", "Namespaced", "\"get\"", ""))))},
     "batch/v1 jobs yy verbs\n"},
    {"another kind and scope",
     2,
     {BATCH, LIST(GROUP("batch",
                        VERSION("v1", RESOURCE("jobs", "J", "Cluster", "\"get\",\"list\"", ""))))},
     "batch/v1 jobs yy kind scope\n"},
    {"other short names",
     2,
     {BATCH,
      LIST(GROUP("batch", VERSION("v1", RESOURCE("jobs", "Job", "Namespaced", "\"get\",\"list\"",
                                                 ",\"shortNames\":[\"j\"]"))))},
     "batch/v1 jobs yy shortNames\n"},
    {"a subresource",
     2,
     {LIST(GROUP("batch", VERSION("v1", RESOURCE("jobs", "Job", "Namespaced", "\"list\",\"get\"",
                                                 SUB("status", "\"get\""))))),
      BATCH},
     "batch/v1 jobs yy\nbatch/v1 jobs/status yn!\n"},
    {"a subresource is missing with its resource",
     2,
     {LIST(GROUP("batch", VERSION("v1", RESOURCE("jobs", "Job", "Namespaced", "\"list\",\"get\"",
                                                 SUB("status", "\"get\""))))),
      EMPTY},
     "batch/v1 jobs yn!\nbatch/v1 jobs/status yn\n"},
    {"a subresource alone",
     2,
     {LIST(GROUP("a", VERSION("v1", "{\"resource\":\"parts\"" SUB("log", "\"get\"") "}"))), EMPTY},
     "a/v1 parts/log yn!\n"},
    {"a resource without a name",
     1,
     {LIST(GROUP("a", VERSION("v1", RESOURCE("", "A", "", "", ""))))},
     ""},
    {"a resource twice",
     2,
     {LIST(GROUP("batch", VERSION("v1", JOBS "," JOBS))), BATCH},
     "batch/v1 jobs yy\n"},
    {"stale at one", 2, {BATCH, LIST(GROUP("batch", STALE("v1", JOBS)))}, "batch/v1 jobs ys!\n"},
    {"stale at one, which knows no resources",
     2,
     {BATCH, LIST(GROUP("batch", STALE("v1", "")))},
     "batch/v1 jobs ys!\n"},
    {"stale everywhere",
     2,
     {LIST(GROUP("batch", STALE("v1", JOBS))), LIST(GROUP("batch", STALE("v1", "")))},
     "batch/v1 jobs ss\n"},
    {"stale everywhere, and nobody knows resources",
     3,
     {LIST(GROUP("batch", STALE("v1", ""))), LIST(GROUP("batch", STALE("v1", ""))), EMPTY},
     "batch/v1  ssn!\n"},
    {"no resources at one",
     2,
     {BATCH, LIST(GROUP("batch", VERSION("v1", "")))},
     "batch/v1 jobs yn!\n"},
};

static struct ek_view *build(const char *const *groups, size_t n)
{
    static const char *const names[] = {"cp-a", "cp-b", "cp-c"};
    struct ek_view_input_peer peers[3] = {0};
    struct ek_api_groups *read[3] = {0}, *core = ek_test_groups(EMPTY);

    for (size_t i = 0; i < n; i++) {
        read[i] = groups[i] ? ek_test_groups(groups[i]) : NULL;
        peers[i] =
            (struct ek_view_input_peer){.peer = {.name = names[i], .server_id = "", .address = ""},
                                        .core = groups[i] ? core : NULL,
                                        .groups = read[i]};
    }
    struct ek_view *view = ek_view_build(&(struct ek_view_input){.peers = peers, .n = n});
    for (size_t i = 0; i < n; i++)
        ek_api_groups_unref(read[i]);
    ek_api_groups_unref(core);
    return view;
}

static void put(const struct ek_served_row *row, size_t n_peers, struct ek_buf *out)
{
    static const char *const facets[] = {"kind", "scope", "verbs", "shortNames"};
    const struct ek_served_entry *e = row->entries;

    ek_buf_printf(out, "%s/%s %s%s%s ", e->group, e->version, e->resource, *e->sub ? "/" : "",
                  e->sub);
    for (size_t i = 0; i < n_peers; i++)
        ek_buf_append(out, &"nys?"[row->at[i]], 1);
    ek_buf_puts(out, row->uneven ? "!" : "");
    for (size_t f = 0; f < EK_DISCOVERY_FACETS; f++)
        if (row->differs & 1U << f)
            ek_buf_printf(out, " %s", facets[f]);
    ek_buf_puts(out, "\n");
}

START_TEST(side_by_side)
{
    struct ek_arena *arena = ek_arena_new(ROOM);
    size_t n_peers = rows[_i].n, n = 0;
    struct ek_view *view = build(rows[_i].groups, n_peers);
    struct ek_served_row *got = NULL;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, ROOM);
    ck_assert_int_eq(ek_served_rows(view, arena, &got, &n), 0);
    for (size_t i = 0; i < n; i++)
        put(&got[i], n_peers, &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].wanted), "%s: %s", rows[_i].name,
                  ek_buf_str(&out));
    ek_view_unref(view);
    ek_arena_free(arena);
}
END_TEST

/* Texts of an entry are sets, so that a user can compare them. */
START_TEST(facets_are_in_order)
{
    static const char *const groups[] = {
        LIST(GROUP("a", VERSION("v1", RESOURCE("as", "A", "Cluster", "\"watch\",\"get\",\"list\"",
                                               ",\"shortNames\":[\"z\",\"b\"]"))))};
    struct ek_arena *arena = ek_arena_new(ROOM);
    struct ek_view *view = build(groups, 1);
    struct ek_served_row *got = NULL;
    size_t n = 0;

    ck_assert_int_eq(ek_served_rows(view, arena, &got, &n), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(got->entries->facets[EK_DISCOVERY_KIND], "A");
    ck_assert_str_eq(got->entries->facets[EK_DISCOVERY_SCOPE], "Cluster");
    ck_assert_str_eq(got->entries->facets[EK_DISCOVERY_VERBS], "get,list,watch");
    ck_assert_str_eq(got->entries->facets[EK_DISCOVERY_SHORT_NAMES], "b,z");
    ek_view_unref(view);
    ek_arena_free(arena);
}
END_TEST

/* No room: at each size an error or the rows, and never a part of them. */
START_TEST(a_small_arena_is_an_error)
{
    static const char *const groups[] = {BATCH, BATCH};
    struct ek_view *view = build(groups, 2);
    bool fits = false;

    for (size_t room = 1; room < 4096 && !fits; room += 7) {
        struct ek_arena *arena = ek_arena_new(room);
        struct ek_served_row *got = NULL;
        size_t n = 0;
        int rc = ek_served_rows(view, arena, &got, &n);
        ck_assert(rc == 0 || rc == EK_E_LIMIT);
        fits = rc == 0;
        ck_assert_uint_eq(n, fits ? 1 : 0);
        ek_arena_free(arena);
    }
    ck_assert(fits);
    ek_view_unref(view);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("served");
    tcase_add_loop_test(tc, side_by_side, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, facets_are_in_order);
    tcase_add_test(tc, a_small_arena_is_an_error);
    return ek_test_run("served", tc);
}
