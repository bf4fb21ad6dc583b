/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of the census against a scripted server: a page that is too large, a list that
 * expires, two kinds one after the other; and an object that is replaced. */
#include "controller/fieldgates/census.h"

#include <check.h>
#include <stdlib.h>

#include "test/support/apitest.h"
#include "test/support/gates_kinds.h"
#include "test/support/suite.h"

#define LIST(plural, query) "GET /apis/stable.example.com/v1/" plural "?limit=" query
#define OK(plural, query, body)                                                                    \
    {                                                                                              \
        LIST(plural, query), NULL, NULL, 200, body, NULL                                           \
    }
#define OBJECT "{\"spec\":{\"a\":1}}"
#define EXPIRED                                                                                    \
    "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"metadata\":{\"continue\":\"t/"     \
    "2\"}}"

struct ends {
    unsigned left, over; /* censuses to wait for; whether these have ended */
};

static void on_changed(void *ctx)
{
    struct ends *e = ctx;

    e->over = --e->left == 0;
}

/* Each look at the clock is a pause later, so that no page is waited for. */
static int64_t now_ms(void)
{
    static int64_t now = 1;

    return now += EK_GATES_CENSUS_GAP_MS;
}

static void on_closed(void *ctx)
{
    *(unsigned *)ctx = 1;
}

/* A list of one object that has more octets than a page may have, all of them blanks. Owned. */
static char *large_list(void)
{
    static const char head[] = "{\"items\":[" OBJECT "]", tail[] = "}";
    size_t blanks = EK_GATES_CENSUS_BODY_MAX;
    char *text = ek_xalloc(blanks + sizeof head + sizeof tail);

    memset(text, ' ', blanks + sizeof head);
    memcpy(text, head, sizeof head - 1);
    memcpy(text + sizeof head - 1 + blanks, tail, sizeof tail);
    return text;
}

/* Makes kinds those of two CustomFeatureGates, whose uids these are. */
static void set_kinds(struct ek_gated_kinds *kinds, const char *crons, const char *jobs)
{
    const char *const uids[] = {crons, jobs}, *const plurals[] = {"crons", "jobs"};
    struct ek_obj *objects[2], *crds[2];

    for (size_t i = 0; i < EK_ARRAY_SIZE(objects); i++) {
        EK_AUTOFREE char *name = ek_xasprintf("%s.stable.example.com", plurals[i]);
        objects[i] = test_gates(name, uids[i], 1, TEST_ALPHA("A", ".spec.a"), "");
        crds[i] = test_crd(plurals[i], plurals[i], "1", "");
    }
    ek_gated_kinds_update(kinds, objects, (const struct ek_obj *const *)crds, 2);
    for (size_t i = 0; i < EK_ARRAY_SIZE(objects); i++) {
        ek_obj_unref(objects[i]);
        ek_obj_unref(crds[i]);
    }
}

static const struct ek_gates_census_state *state_of(const struct ek_gates_censuses *censuses,
                                                    const char *name)
{
    const struct ek_gates_census_state *state = ek_gates_censuses_of(censuses, name);

    ck_assert_msg(state != NULL, "%s is not counted", name);
    return state;
}

START_TEST(counts_one_kind_after_the_other)
{
    EK_AUTOFREE char *large = large_list();
    const struct apitest_exchange script[] = {
        OK("crons", "100", large),
        OK("crons", "50", "{\"metadata\":{\"continue\":\"t/1\"},\"items\":[" OBJECT "]}"),
        {LIST("crons", "100&continue=t%2F1"), NULL, NULL, 410, EXPIRED, NULL},
        OK("crons", "100&continue=t%2F2", "{\"items\":[" OBJECT ",{}]}"),
        OK("jobs", "100", "{\"items\":[{}]}"),
    };
    struct ends e = {.left = 2};
    struct ek_gated_kinds kinds = {0};
    struct apitest t;
    unsigned closed = 0;

    apitest_init(&t, script, EK_ARRAY_SIZE(script));
    struct ek_gates_censuses *censuses =
        ek_gates_censuses_new(&t.loop, t.client, now_ms, on_changed, &e);
    set_kinds(&kinds, "a", "b");
    ek_gates_censuses_follow(censuses, &kinds);
    apitest_run_until(&t, &e.over);
    const struct ek_gates_census_state *crons = state_of(censuses, "crons.stable.example.com");
    ck_assert_msg(crons->known && !*crons->message, "%s", crons->message);
    ck_assert_uint_eq(crons->result.objects, 3);
    ck_assert_uint_eq(crons->result.held[0], 2);
    ck_assert_uint_eq(state_of(censuses, "jobs.stable.example.com")->result.objects, 1);

    /* The same again is nothing new; another object of the name and generation is. */
    ek_gates_censuses_follow(censuses, &kinds);
    ck_assert(state_of(censuses, "crons.stable.example.com")->known);
    set_kinds(&kinds, "c", "b");
    ek_gates_censuses_follow(censuses, &kinds);
    ck_assert(!state_of(censuses, "crons.stable.example.com")->known);
    ck_assert(state_of(censuses, "jobs.stable.example.com")->known);

    ek_gates_censuses_close(censuses, on_closed, &closed);
    apitest_run_until(&t, &closed);
    ek_gated_kinds_done(&kinds);
    apitest_done(&t);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, counts_one_kind_after_the_other);
    return ek_test_run("gates censuses", tc);
}
