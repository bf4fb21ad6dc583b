/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election on the wire: what is sent for a Lease, and what answers do. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/election/election.h"
#include "controller/election/lease.h"
#include "test/support/apitest.h"
#include "test/support/suite.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/evenkeel-system/leases"
#define LEASE(rv, holder)                                                                          \
    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"evenkeel\",\"labels\":{\"keep\":\"me\"},"        \
    "\"managedFields\":[],\"resourceVersion\":\"" rv "\"},\"spec\":{" holder                       \
    "\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-01-01T00:00:00.000000Z\",\"renewTime\":"   \
    "\"2026-01-01T00:00:00.000000Z\",\"leaseTransitions\":3}}"
#define HELD(who) "\"holderIdentity\":\"" who "\","
#define STATUS(code, reason)                                                                       \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"m\",\"reason\":\"" reason           \
    "\",\"code\":" #code "}"

struct heard {
    struct ek_election *election;
    unsigned started, stopped, failed, closed, leaders;
    bool lost, stop_when_started;
    char leader[EK_ELECTION_NAME_SIZE];
    struct ek_err err;
};

static void on_started(void *ctx)
{
    struct heard *h = ctx;
    h->started++;
    ck_assert(ek_election_leads(h->election));
    if (h->stop_when_started)
        ek_election_stop(h->election, true);
}

static void on_stopped(void *ctx, bool lost)
{
    struct heard *h = ctx;
    h->stopped++;
    h->lost = lost;
}

static void on_leader(void *ctx, const char *identity)
{
    struct heard *h = ctx;
    h->leaders++;
    snprintf(h->leader, sizeof h->leader, "%s", identity);
}

static void on_failed(void *ctx, const struct ek_err *err)
{
    struct heard *h = ctx;
    h->failed++;
    h->err = *err;
}

static void on_closed(void *ctx)
{
    struct heard *h = ctx;
    h->closed++;
}

static void make(struct apitest *t, struct heard *h)
{
    struct ek_election_config config = {
        .client = t->client,
        .namespace = "evenkeel-system",
        .name = "evenkeel",
        .settings = {.identity = "me",
                     .duration_ms = EK_ELECTION_DURATION_MS,
                     .deadline_ms = EK_ELECTION_DEADLINE_MS,
                     .retry_ms = EK_ELECTION_RETRY_MS,
                     .seed = 1},
        .observer = {.started = on_started,
                     .stopped = on_stopped,
                     .new_leader = on_leader,
                     .failed = on_failed},
        .ctx = h,
    };
    struct ek_err err = {0};
    if (ek_election_new(&t->loop, &config, &h->election, &err))
        ck_abort_msg("%s", err.message);
    ek_election_start(h->election);
}

static void finish(struct apitest *t, struct heard *h)
{
    ek_election_close(h->election, on_closed, h);
    apitest_run_until(t, &h->closed);
    apitest_done(t);
}

/* The whole life: nobody holds it, created, led, given back. */
START_TEST(life)
{
    static const struct apitest_exchange script[] = {
        {"GET " LEASES "/evenkeel", NULL, NULL, 404, STATUS(404, "NotFound"), NULL},
        {"POST " LEASES, "application/json",
         "\"metadata\":{\"namespace\":\"evenkeel-system\",\"name\":\"evenkeel\"}", 201,
         LEASE("10", HELD("me")), NULL},
        {"GET " LEASES "/evenkeel", NULL, NULL, 200, LEASE("11", HELD("me")), NULL},
        {"PUT " LEASES "/evenkeel", "application/json",
         "\"spec\":{\"leaseDurationSeconds\":1,\"acquireTime\":", 200, LEASE("12", ""), NULL},
    };
    struct heard h = {.stop_when_started = true};
    struct apitest t;

    apitest_init(&t, script, EK_ARRAY_SIZE(script));
    make(&t, &h);
    apitest_run_until(&t, &h.stopped);
    ck_assert_uint_eq(h.started, 1);
    ck_assert(!h.lost);
    ck_assert_uint_eq(h.failed, 0); /* the 404 is no failure */
    ck_assert_uint_eq(h.leaders, 2);
    ck_assert_str_eq(h.leader, "");
    ck_assert(!ek_election_leads(h.election));
    ck_assert_str_eq(t.user_agent, "evenkeel/test/leader-election");
    finish(&t, &h);
    ck_assert_uint_eq(h.stopped, 1);
}
END_TEST

/* Taking over a free lease keeps what others wrote on the object and requires that version. */
START_TEST(takes_over)
{
    static const struct apitest_exchange script[] = {
        {"GET " LEASES "/evenkeel", NULL, NULL, 200, LEASE("20", ""), NULL},
        {"PUT " LEASES "/evenkeel", NULL, "\"labels\":{\"keep\":\"me\"},\"resourceVersion\":\"20\"",
         200, LEASE("21", HELD("me")), NULL},
    };
    struct heard h = {0};
    struct apitest t;

    apitest_init(&t, script, EK_ARRAY_SIZE(script));
    make(&t, &h);
    apitest_run_until(&t, &h.started);
    struct ek_election_status status;
    ek_election_status(h.election, &status);
    ck_assert_str_eq(status.machine->reported, "me");
    struct ek_err err = {0};
    ck_assert_int_eq(ek_election_check(h.election, 20000, &err), 0);
    ek_election_stop(h.election, false);
    apitest_run_until(&t, &h.stopped);
    finish(&t, &h);
}
END_TEST

static const struct refusal_row {
    const char *name;
    struct apitest_exchange exchange;
    int code;
} refusal_rows[] = {
    {"forbidden",
     {"GET " LEASES "/evenkeel", NULL, NULL, 403, STATUS(403, "Forbidden"), NULL},
     EK_E_FORBIDDEN},
    {"throttled, not retried below the machine",
     {"GET " LEASES "/evenkeel", NULL, NULL, 429, STATUS(429, "TooManyRequests"),
      "Retry-After: 1\r\n"},
     EK_E_THROTTLED},
    {"no JSON", {"GET " LEASES "/evenkeel", NULL, NULL, 200, "<html>", NULL}, EK_E_PARSE},
    {"no Lease",
     {"GET " LEASES "/evenkeel", NULL, NULL, 200, "{\"kind\":\"Pod\"}", NULL},
     EK_E_PARSE},
    {"no resourceVersion",
     {"GET " LEASES "/evenkeel", NULL, NULL, 200, "{\"kind\":\"Lease\"}", NULL},
     EK_E_PARSE},
};

START_TEST(refusals)
{
    const struct refusal_row *row = &refusal_rows[_i];
    struct heard h = {0};
    struct apitest t;

    apitest_init(&t, &row->exchange, 1);
    make(&t, &h);
    apitest_run_until(&t, &h.failed);
    ck_assert_msg(h.err.code == row->code, "%s: %s", row->name, h.err.message);
    ck_assert_msg(!strncmp(h.err.message, "lease evenkeel-system/evenkeel: ", 32), "%s: %s",
                  row->name, h.err.message);
    ek_election_stop(h.election, true);
    apitest_run_until(&t, &h.stopped);
    finish(&t, &h);
    ck_assert_uint_eq(h.started, 0);
}
END_TEST

START_TEST(follows)
{
    static const struct apitest_exchange script[] = {
        {"GET " LEASES "/evenkeel", NULL, NULL, 200, LEASE("20", HELD("other")), NULL},
    };
    struct heard h = {0};
    struct apitest t;

    apitest_init(&t, script, EK_ARRAY_SIZE(script));
    make(&t, &h);
    apitest_run_until(&t, &h.leaders);
    ck_assert_str_eq(h.leader, "other");
    ck_assert(!ek_election_leads(h.election));
    finish(&t, &h);
}
END_TEST

START_TEST(identity)
{
    char a[EK_ELECTION_NAME_SIZE], b[EK_ELECTION_NAME_SIZE];
    ek_election_identity(a);
    ek_election_identity(b);
    ck_assert_str_ne(a, b);
    ck_assert_ptr_nonnull(strrchr(a, '_'));
    ck_assert_uint_eq(strlen(strrchr(a, '_') + 1), 36);
}
END_TEST

START_TEST(bad_settings)
{
    struct ek_election *election = NULL;
    struct ek_err err = {0};
    ck_assert_int_eq(ek_election_new(NULL,
                                     &(struct ek_election_config){.namespace = "n", .name = "n"},
                                     &election, &err),
                     EK_E_INVAL);
    ck_assert_ptr_null(election);
}
END_TEST

/* Whatever a Lease holds is taken, cut to size, and never overflows. */
static const struct lease_row {
    const char *name;
    const char *json;
    const char *holder;
    int64_t duration, transitions;
} lease_rows[] = {
    {"empty spec", "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"}}", "", 0, 0},
    {"spec of the wrong type",
     "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":[1]}", "", 0, 0},
    {"members of the wrong type",
     "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":7,"
     "\"leaseDurationSeconds\":\"15\",\"leaseTransitions\":null}}",
     "", 0, 0},
    {"plain", LEASE("1", HELD("x")), "x", 15, 3},
};

START_TEST(leases)
{
    const struct lease_row *row = &lease_rows[_i];
    struct ek_election_record r;
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_obj_parse(row->json, strlen(row->json), &obj, &err), 0);
    ck_assert_msg(ek_election_lease_read(obj, &r, &err) == 0, "%s: %s", row->name, err.message);
    ck_assert_msg(!strcmp(r.holder, row->holder), "%s: holder %s", row->name, r.holder);
    ck_assert_msg(r.duration_s == row->duration && r.transitions == row->transitions, "%s",
                  row->name);
    ek_obj_unref(obj);
}
END_TEST

START_TEST(any_change_of_the_spec_counts)
{
    static const char *const texts[] = {LEASE("1", HELD("x")), LEASE("2", HELD("x")),
                                        LEASE("3", HELD("x") "\"strategy\":\"s\",")};
    struct ek_election_record r[3];

    for (size_t i = 0; i < 3; i++) {
        struct ek_obj *obj = NULL;
        ck_assert_int_eq(ek_obj_parse(texts[i], strlen(texts[i]), &obj, NULL), 0);
        ck_assert_int_eq(ek_election_lease_read(obj, &r[i], NULL), 0);
        ek_obj_unref(obj);
    }
    ck_assert_uint_eq(r[0].spec_hash, r[1].spec_hash); /* a new resourceVersion alone does not */
    ck_assert_uint_ne(r[0].spec_hash, r[2].spec_hash);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("wire");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, life);
    tcase_add_test(tc, takes_over);
    tcase_add_loop_test(tc, refusals, 0, (int)EK_ARRAY_SIZE(refusal_rows));
    tcase_add_test(tc, follows);
    tcase_add_test(tc, identity);
    tcase_add_test(tc, bad_settings);
    tcase_add_loop_test(tc, leases, 0, (int)EK_ARRAY_SIZE(lease_rows));
    tcase_add_test(tc, any_change_of_the_spec_counts);
    return ek_test_run("election", tc);
}
