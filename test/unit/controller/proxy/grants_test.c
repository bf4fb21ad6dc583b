/* SPDX-License-Identifier: Apache-2.0 */
/* For how long, and for which requests, a permission holds, with a clock in the test's hand. */
#include <stdio.h>

#include "api/base/mem.h"
#include "controller/proxy/grants.h"
#include "test/support/suite.h"

#define TTL_MS ((int64_t)10000)
#define T0     ((int64_t)5000)

#define HEAD(line, fields) "GET " line " HTTP/1.1\r\nHost: kubernetes.default.svc\r\n" fields
#define TOKEN              "Authorization: Bearer t\r\n"
#define USER               "X-Remote-User: jane\r\nX-Remote-Group: dev\r\n"

static struct ek_grants *grants;

static void setup(void)
{
    grants = ek_grants_new(TTL_MS);
    ck_assert_ptr_nonnull(grants);
}

static void teardown(void)
{
    ek_grants_free(grants);
}

static struct ek_grants_key key_of(const char *ip, uint64_t peers, bool ours, const char *head,
                                   int64_t now_ms)
{
    const struct ek_grants_request request = {
        .ip = ip, .peers = peers, .ours = ours, .head = ek_str_from(head)};
    struct ek_grants_key key;

    ek_grants_key(grants, &request, now_ms, &key);
    return key;
}

static struct ek_grants_key key_at(const char *head, int64_t now_ms)
{
    return key_of("10.0.0.1", 1, false, head, now_ms);
}

/* ---- Which requests ---- */

/* The first request is granted; whether the second one is then known to be. */
static const struct {
    const char *ip;
    uint64_t peers;
    bool ours;
    const char *head;
    bool known;
} requests[] = {
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN), true},
    /* credentials */
    {"10.0.0.1", 1, false, HEAD("/apis", ""), false},
    {"10.0.0.1", 1, false, HEAD("/apis", "Authorization: Bearer u\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", "Authorization: Bearer t2\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", "Authorization: Basic t\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN TOKEN), false},
    {"10.0.0.1", 1, false, HEAD("/apis", "X-Other: Bearer t\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN "X-Any: a\r\n"), false},
    /* who is impersonated */
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN "Impersonate-User: a\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN "Impersonate-Group: a\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN "Impersonate-Uid: a\r\n"), false},
    {"10.0.0.1", 1, false, HEAD("/apis", TOKEN "Impersonate-Extra-A: a\r\n"), false},
    /* with the credentials of the proxy */
    {"10.0.0.1", 1, true, HEAD("/apis", TOKEN), false},
    {"10.0.0.1", 1, true, HEAD("/apis", USER), false},
    /* what is requested */
    {"10.0.0.1", 1, false, HEAD("/api", TOKEN), false},
    {"10.0.0.1", 1, false, HEAD("/apis/apps", TOKEN), false},
    {"10.0.0.1", 1, false, HEAD("/apis?a=b", TOKEN), false},
    {"10.0.0.1", 1, false, "HEAD /apis HTTP/1.1\r\nHost: kubernetes.default.svc\r\n" TOKEN, false},
    /* from where, and what was before */
    {"10.0.0.2", 1, false, HEAD("/apis", TOKEN), false},
    {"10.0.0.1", 2, false, HEAD("/apis", TOKEN), false},
    {"10.0.0.1", 0, false, HEAD("/apis", TOKEN), false},
    /* parts that move from one field to the next */
    {"10.0.0.1G", 1, false, "ET /apis HTTP/1.1\r\nHost: kubernetes.default.svc\r\n" TOKEN, false},
    {"10.0.0.", 1, false, "1" HEAD("/apis", TOKEN), false},
    {"", 1, false, "10.0.0.1" HEAD("/apis", TOKEN), false},
};

START_TEST(knows_equal_requests)
{
    const struct ek_grants_key first = key_at(HEAD("/apis", TOKEN), T0);
    const struct ek_grants_key second =
        key_of(requests[_i].ip, requests[_i].peers, requests[_i].ours, requests[_i].head, T0);

    ck_assert(first.known && second.known);
    ck_assert(!ek_grants_has(grants, &first, T0));
    ek_grants_add(grants, &first, T0);
    ck_assert(ek_grants_has(grants, &second, T0) == requests[_i].known);
    ck_assert(ek_grants_has(grants, &first, T0));
}
END_TEST

/* Clients that share a place share no permission. */
START_TEST(knows_clients_of_one_place)
{
    const struct ek_grants_key first = key_at(HEAD("/apis", TOKEN), T0);
    int n_shared = 0;
    char ip[32];

    ek_grants_add(grants, &first, T0);
    for (int i = 0; i < 10000; i++) {
        snprintf(ip, sizeof ip, "9.0.%d.%d", i / 100, i % 100);
        const struct ek_grants_key other = key_of(ip, 1, false, HEAD("/apis", TOKEN), T0);
        n_shared += other.place == first.place;
        ck_assert(!ek_grants_has(grants, &other, T0));
    }
    ck_assert_int_gt(n_shared, 0);
}
END_TEST

/* Each part of a user that a certificate names, in each order of the first and the second. */
START_TEST(knows_users)
{
    static const char *const heads[] = {
        HEAD("/apis", USER),
        HEAD("/apis", "X-Remote-User: joe\r\nX-Remote-Group: dev\r\n"),
        HEAD("/apis", "X-Remote-User: jane\r\nX-Remote-Group: ops\r\n"),
        HEAD("/apis", USER "X-Remote-Group: ops\r\n"),
        HEAD("/apis", "X-Remote-User: jane\r\n"),
        HEAD("/apis", "X-Remote-User: janeX-Remote-Group: dev\r\n"),
        HEAD("/apis", "Impersonate-User: jane\r\nImpersonate-Group: dev\r\n"),
        HEAD("/apis", "Impersonate-User: jane\r\nImpersonate-Group: dev\r\n" TOKEN),
    };
    const size_t n = EK_ARRAY_SIZE(heads);

    for (size_t i = 0; i < n; i++) {
        const struct ek_grants_key key = key_of("10.0.0.1", 1, true, heads[i], T0);
        for (size_t j = 0; j < n; j++) {
            const struct ek_grants_key other = key_of("10.0.0.1", 1, true, heads[j], T0);
            ck_assert_msg(ek_grants_has(grants, &other, T0) == (j < i), "%zu %zu", i, j);
        }
        ek_grants_add(grants, &key, T0);
    }
}
END_TEST

/* Another process, or another proxy of this one, finds other hashes. */
START_TEST(has_a_key_of_its_own)
{
    struct ek_grants *other = ek_grants_new(TTL_MS), *mine = grants;
    const struct ek_grants_key key = key_at("GET", T0);

    grants = other;
    const struct ek_grants_key again = key_at("GET", T0);
    grants = mine;
    ck_assert(memcmp(key.hash, again.hash, sizeof key.hash) != 0);
    ek_grants_free(other);
}
END_TEST

/* ---- For how long ---- */

/* Milliseconds from when the request was read to the answer, and from there to the next request. */
static const struct {
    int64_t answer_ms, next_ms;
    bool known;
} times[] = {
    {0, 0, true},
    {0, TTL_MS - 1, true},
    {0, TTL_MS, false},
    {0, 2 * TTL_MS, false},
    {4000, TTL_MS - 4001, true}, /* counted from the request, not from the answer */
    {4000, TTL_MS - 4000, false},
    {TTL_MS - 1, 0, true},
    {TTL_MS, 0, false},
    {100 * TTL_MS, 0, false},
};

START_TEST(holds_for_a_while)
{
    const struct ek_grants_key key = key_at("GET", T0);
    int64_t now_ms = T0 + times[_i].answer_ms;

    ek_grants_add(grants, &key, now_ms);
    ck_assert(ek_grants_has(grants, &key, now_ms + times[_i].next_ms) == times[_i].known);
}
END_TEST

START_TEST(is_not_renewed_by_its_use)
{
    const struct ek_grants_key key = key_at("GET", T0);

    ek_grants_add(grants, &key, T0);
    for (int64_t now_ms = T0; now_ms < T0 + TTL_MS; now_ms += 500) {
        const struct ek_grants_key next = key_at("GET", now_ms);
        ck_assert(ek_grants_has(grants, &next, now_ms));
    }
    const struct ek_grants_key last = key_at("GET", T0 + TTL_MS);
    ck_assert(!ek_grants_has(grants, &last, T0 + TTL_MS));
    /* An API server renews it, and an earlier request that it answers later does not end it. */
    ek_grants_add(grants, &last, T0 + TTL_MS);
    ck_assert(ek_grants_has(grants, &last, T0 + 2 * TTL_MS - 1));
    const struct ek_grants_key earlier = key_at("GET", T0 + 1000);
    ek_grants_add(grants, &earlier, T0 + TTL_MS);
    ck_assert(ek_grants_has(grants, &last, T0 + 2 * TTL_MS - 1));
}
END_TEST

/* ---- How many ---- */

static struct ek_grants_key nth_key(const char *ip, int n, int64_t now_ms)
{
    char head[32];

    snprintf(head, sizeof head, "%d", n);
    return key_of(ip, 1, false, head, now_ms);
}

/* Those that end first give way; nobody else's do. */
START_TEST(displaces_only_in_its_place)
{
    const struct ek_grants_key flooder = nth_key("10.0.0.1", 0, T0);
    struct ek_grants_key victim = {0};
    char ip[32];

    for (int i = 2; !victim.known || victim.place == flooder.place; i++) {
        snprintf(ip, sizeof ip, "10.0.%d.%d", i / 256, i % 256);
        victim = nth_key(ip, 0, T0);
    }
    ek_grants_add(grants, &victim, T0);
    for (int i = 0; i < 10 * EK_GRANTS_OF_CLIENT; i++) {
        const struct ek_grants_key key = nth_key("10.0.0.1", i, T0 + i);
        ck_assert_uint_eq(key.place, flooder.place);
        ek_grants_add(grants, &key, T0 + i);
    }
    ck_assert(ek_grants_has(grants, &victim, T0 + 2000));
    for (int i = 0; i < 10 * EK_GRANTS_OF_CLIENT; i++) {
        const struct ek_grants_key key = nth_key("10.0.0.1", i, T0);
        ck_assert_msg(ek_grants_has(grants, &key, T0 + 2000) == (i >= 9 * EK_GRANTS_OF_CLIENT),
                      "%d", i);
    }
}
END_TEST

START_TEST(judges_long_heads_each_time)
{
    char *head = ek_xalloc(EK_GRANTS_HEAD_MAX + 2), ip[200];

    memset(head, 'x', EK_GRANTS_HEAD_MAX + 1);
    ck_assert(!key_at(head, T0).known);
    head[EK_GRANTS_HEAD_MAX] = '\0';
    ck_assert(key_at(head, T0).known);
    ek_free(head);
    memset(ip, '1', sizeof ip - 1);
    ip[sizeof ip - 1] = '\0';
    ck_assert(!key_of(ip, 1, false, "GET", T0).known);
}
END_TEST

START_TEST(keeps_nothing_without_a_time)
{
    teardown();
    grants = ek_grants_new(0);
    ck_assert_ptr_null(grants);
    const struct ek_grants_key key = key_at("GET", T0);
    ck_assert(!key.known);
    ek_grants_add(grants, &key, T0);
    ck_assert(!ek_grants_has(grants, &key, T0));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("grants");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, knows_equal_requests, 0, (int)EK_ARRAY_SIZE(requests));
    tcase_add_test(tcase, knows_clients_of_one_place);
    tcase_add_test(tcase, knows_users);
    tcase_add_test(tcase, has_a_key_of_its_own);
    tcase_add_loop_test(tcase, holds_for_a_while, 0, (int)EK_ARRAY_SIZE(times));
    tcase_add_test(tcase, is_not_renewed_by_its_use);
    tcase_add_test(tcase, displaces_only_in_its_place);
    tcase_add_test(tcase, judges_long_heads_each_time);
    tcase_add_test(tcase, keeps_nothing_without_a_time);
    return ek_test_run("grants", tcase);
}
