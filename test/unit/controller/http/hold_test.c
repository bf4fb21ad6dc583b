/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection may cost: its deadlines and rates, with a clock in the test's hand, and its
 * bytes, taken from a budget. */
#include <check.h>
#include <stdlib.h>

#include "api/base/err.h"
#include "controller/http/conn.h"
#include "test/support/http_state.h"
#include "test/support/suite.h"

#define BODY_MAX ((size_t)8 << 20)

static int64_t now_ms;
static struct ek_http_conn *conn;
static struct ek_http_reply *kept;
static struct ek_http_budget budget;
static size_t n_handled;            /* by the handler of /count */
static int64_t began_ms;            /* of the last of them */
static struct ek_http_conn *victim; /* what make_room sheds; NULL: there is none */

static void later(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    kept = reply;
}

static void big(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    char *body = ek_xalloc(1000000);

    (void)ctx;
    (void)request;
    ek_http_reply_send(reply, 200, NULL, body, 1000000);
    ek_free(body);
}

static void count(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    n_handled++;
    began_ms = request->began_ms;
    ek_http_reply_vouch(reply);
    ek_http_reply_text(reply, 200, "ok");
}

static bool make_room(void *ctx, size_t n, size_t held)
{
    (void)ctx;
    (void)n;
    (void)held;
    if (!victim)
        return false;
    ek_http_conn_shed(victim, now_ms);
    victim = NULL;
    return true;
}

static const struct ek_http_route routes[] = {
    {.path = "/later", .handler = later},
    {.path = "/big", .handler = big},
    {.path = "/count", .handler = count},
    {.path = "/cut", .handler = count, .max_body = 65536, .cut_body = true},
};

static struct ek_http_conn_config config = {
    .limits = {.max_head = 1000,
               .max_body = BODY_MAX,
               .handshake_timeout_ms = 1000,
               .head_timeout_ms = 1000,
               .body_timeout_ms = 30000,
               .reply_timeout_ms = 3000,
               .idle_timeout_ms = 90000,
               .write_timeout_ms = 10000,
               .rate_grace_ms = 5000,
               .min_rate = 65536},
    .routes = routes,
    .n_routes = EK_ARRAY_SIZE(routes),
    .budget = &budget,
    .make_room = make_room,
};

static struct ek_http_conn *fresh(void)
{
    return ek_http_conn_new(&config, "", NULL, NULL, now_ms);
}

static void setup(void)
{
    now_ms = 1000000;
    kept = NULL;
    victim = NULL;
    config.handshake = false;
    config.costly_bytes = 0;
    n_handled = 0;
    ek_http_budget_init(&budget, (size_t)4 << 20);
    conn = fresh();
}

static void teardown(void)
{
    ek_http_conn_free(conn);
    ck_assert_uint_eq(ek_http_budget_used(&budget), 0); /* nothing is lost */
}

static void feed(struct ek_http_conn *to, const char *s)
{
    ek_http_conn_input(to, s, strlen(s), now_ms);
}

/* Sends n bytes of a body in pieces. */
static void feed_body(struct ek_http_conn *to, size_t n)
{
    static const char zeros[16384];

    for (size_t piece; n > 0; n -= piece) {
        piece = n < sizeof zeros ? n : sizeof zeros;
        ek_http_conn_input(to, zeros, piece, now_ms);
    }
}

static void expect(struct ek_http_conn *of, const char *state, const char *start)
{
    struct ek_str out = ek_http_conn_output(of);

    ck_assert_str_eq(test_http_state(of), state);
    ck_assert_msg(out.len >= strlen(start) && !memcmp(out.p, start, strlen(start)), "%.*s",
                  (int)out.len, out.p);
}

static const char *fault(void)
{
    return ek_http_fault_name(ek_http_conn_fault(conn));
}

#define POST(length) "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: " length "\r\n\r\n"

START_TEST(handshake)
{
    config.handshake = true;
    struct ek_http_conn *other = fresh();
    ck_assert_int_eq(ek_http_conn_deadline(other), now_ms + 1000);
    now_ms += 900;
    ek_http_conn_shaken(other, now_ms);
    expect(other, "IDLE", "");
    ck_assert_int_eq(ek_http_conn_deadline(other), now_ms + 1000); /* the head's own */
    feed(other, "GET");
    ek_http_conn_shaken(other, now_ms); /* once is enough */
    expect(other, "HEAD", "");
    ek_http_conn_free(other);
    other = fresh();
    now_ms += 1000;
    ek_http_conn_timeout(other, now_ms);
    expect(other, "CLOSED", "");
    ck_assert_str_eq(ek_http_fault_name(ek_http_conn_fault(other)), "handshake");
    ek_http_conn_free(other);
}
END_TEST

/* A byte now and then: the whole body time is for those only who send at the minimum rate. */
START_TEST(slow_body)
{
    feed(conn, POST("3000000"));
    ck_assert_int_eq(ek_http_conn_deadline(conn), now_ms + 5000);
    for (int i = 0; i < 49; i++) {
        now_ms += 100;
        feed_body(conn, 1);
        ek_http_conn_timeout(conn, now_ms);
        expect(conn, "BODY", "");
    }
    now_ms += 100;
    ek_http_conn_timeout(conn, now_ms);
    expect(conn, "CLOSING", "HTTP/1.1 408 ");
    ck_assert_str_eq(fault(), "slow_body");
    ck_assert_uint_lt(ek_http_budget_used(&budget), 4096);
}
END_TEST

/* An honest client on a loaded link. */
START_TEST(body_at_the_minimum_rate)
{
    int64_t start_ms = now_ms;

    feed(conn, POST("1500000"));
    for (size_t left = 1500000; left > 0;) {
        size_t piece = left < 65536 ? left : 65536;
        now_ms += 1000;
        ek_http_conn_timeout(conn, now_ms);
        feed_body(conn, piece);
        left -= piece;
    }
    ck_assert_int_gt(now_ms - start_ms, 20000);
    expect(conn, "HANDLER", "");
    ek_http_reply_text(kept, 200, "ok");
    ek_http_conn_sent(conn, ek_http_conn_output(conn).len, now_ms);
    /* But nobody gets more than the whole time. */
    feed(conn, POST("2900000"));
    for (int i = 0; i < 29; i++) {
        now_ms += 1000;
        feed_body(conn, 90000);
    }
    now_ms += 1000;
    ek_http_conn_timeout(conn, now_ms);
    ck_assert_str_eq(fault(), "slow_body");
}
END_TEST

/* Octets that are dropped count as those that are kept: a client that sends more than is read of it
 * has as long for it as any other. */
START_TEST(rate_of_a_body_that_is_cut)
{
    static const struct {
        const char *name;
        size_t rate; /* octets a second */
        int seconds;
        const char *state, *start, *fault;
    } rows[] = {
        {"at the minimum rate", 65536, 16, "IDLE", "HTTP/1.1 200 ", ""},
        {"at half of it", 32768, 10, "CLOSING", "HTTP/1.1 408 ", "slow_body"},
        {"a byte a second", 1, 5, "CLOSING", "HTTP/1.1 408 ", "slow_body"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        size_t left = 1000000;
        feed(conn, "POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
        for (int k = 0; k < rows[i].seconds; k++) {
            expect(conn, "BODY", "");
            size_t piece = left < rows[i].rate ? left : rows[i].rate;
            now_ms += 1000;
            feed_body(conn, piece);
            ek_http_conn_timeout(conn, now_ms);
            left -= piece;
        }
        ck_assert_msg(!strcmp(test_http_state(conn), rows[i].state), "%s: %s", rows[i].name,
                      test_http_state(conn));
        expect(conn, rows[i].state, rows[i].start);
        ck_assert_str_eq(fault(), rows[i].fault);
        ek_http_conn_free(conn);
        conn = fresh();
    }
}
END_TEST

/* Progress alone is not enough for a reader either. */
START_TEST(slow_reader)
{
    feed(conn, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_conn_timeout(conn, now_ms); /* its time begins */
    for (int i = 0; i < 50; i++) {
        now_ms += 100;
        ek_http_conn_timeout(conn, now_ms);
        ek_http_conn_sent(conn, 10, now_ms);
    }
    ck_assert_int_eq(ek_http_conn_deadline(conn), now_ms + 7); /* 500 bytes are 7 ms */
    now_ms += 7;
    ek_http_conn_timeout(conn, now_ms);
    expect(conn, "CLOSED", "");
    ck_assert_str_eq(fault(), "slow_reader");
    ck_assert_uint_lt(ek_http_budget_used(&budget), 4096);
}
END_TEST

START_TEST(refused_by_length)
{
    /* More than will ever fit; more than fits now; what fits. */
    feed(conn, POST("3200000"));
    expect(conn, "CLOSING", "HTTP/1.1 503 ");
    struct ek_str out = ek_http_conn_output(conn);
    ck_assert_ptr_nonnull(memmem(out.p, out.len, "\r\nRetry-After: 1\r\n", 18));
    ck_assert_str_eq(fault(), "memory");
    ek_http_conn_free(conn);
    conn = fresh();
    struct ek_http_conn *other = fresh();
    feed(other, POST("2000000"));
    feed_body(other, 1500000);
    feed(conn, POST("2000000"));
    expect(conn, "CLOSING", "HTTP/1.1 503 ");
    expect(other, "BODY", "");
    ek_http_conn_free(conn);
    conn = fresh();
    feed(conn, POST("1000000"));
    expect(conn, "BODY", "");
    ek_http_conn_free(other);
}
END_TEST

/* A length is a promise only: what counts is what comes. */
START_TEST(refused_by_bytes)
{
    struct ek_http_conn *other = fresh();

    feed(conn, POST("2500000"));
    feed(other, POST("2500000"));
    feed_body(conn, 2000000);
    feed_body(other, 2000000);
    expect(conn, "BODY", "");
    expect(other, "CLOSING", "HTTP/1.1 503 ");
    ck_assert_uint_le(ek_http_budget_peak(&budget), (size_t)4 << 20);
    struct ek_http_conn *small = fresh(); /* is served all the same */
    feed(small, POST("4") "abcd");
    expect(small, "HANDLER", "");
    ek_http_reply_text(kept, 200, "ok");
    expect(small, "IDLE", "HTTP/1.1 200 ");
    ek_http_conn_free(small);
    ek_http_conn_free(other);
}
END_TEST

/* Chunks promise nothing, and are counted all the same. */
START_TEST(chunks)
{
    feed(conn, "POST /later HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n700000\r\n");
    for (int i = 0; i < 1000 && ek_http_conn_state(conn) < EK_HTTP_CONN_CLOSING; i++)
        feed_body(conn, 16384);
    expect(conn, "CLOSING", "HTTP/1.1 503 ");
    ck_assert_uint_le(ek_http_budget_peak(&budget), (size_t)4 << 20);
}
END_TEST

START_TEST(room_is_made)
{
    struct ek_http_conn *other = fresh();

    feed(other, POST("2500000"));
    feed_body(other, 2000000);
    victim = other;
    feed(conn, POST("2000000"));
    expect(conn, "BODY", "");
    expect(other, "CLOSING", "HTTP/1.1 503 "); /* it will be repeated */
    ek_http_conn_free(other);
}
END_TEST

/* An answer that nobody has read yet counts; without room for it the client is told to come back.
 */
START_TEST(answers)
{
    ek_http_budget_init(&budget, 2500000);
    ek_http_budget_force(&budget, 4096); /* what conn gives back */
    struct ek_http_conn *other = fresh();
    feed(other, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(other, "IDLE", "HTTP/1.1 200 ");
    ck_assert_uint_gt(ek_http_budget_used(&budget), 1000000);
    struct ek_http_conn *third = fresh();
    feed(third, POST("0"));
    size_t used = ek_http_budget_used(&budget);
    ck_assert(!ek_http_reply_fits(kept, 1000000));
    ck_assert(ek_http_reply_fits(kept, 1000));
    ck_assert_uint_eq(ek_http_budget_used(&budget), used); /* nothing is taken yet */
    ek_http_reply_text(kept, 200, "short");
    expect(third, "IDLE", "HTTP/1.1 200 ");
    ek_http_conn_free(third);
    feed(conn, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(conn, "CLOSING", "HTTP/1.1 503 ");
    ek_http_conn_sent(other, ek_http_conn_output(other).len, now_ms);
    ck_assert_uint_lt(ek_http_budget_used(&budget), 20000);
    ek_http_conn_free(other);
    ek_http_conn_free(conn);
    ek_http_budget_init(&budget, (size_t)4 << 20);
    conn = fresh();
}
END_TEST

/* A request that outlives its connection keeps its bytes until it is answered. */
START_TEST(orphans)
{
    struct ek_http_conn *other = fresh();

    feed(other, POST("1000000"));
    feed_body(other, 1000000);
    expect(other, "HANDLER", "");
    ek_http_conn_free(other);
    ck_assert_uint_gt(ek_http_budget_used(&budget), 1000000);
    ek_http_reply_text(kept, 200, "too late");
    ck_assert_uint_lt(ek_http_budget_used(&budget), 4096);
}
END_TEST

/* Heads are small, but many. */
START_TEST(heads)
{
    struct ek_http_conn *others[2000];
    size_t n = 0;

    ek_http_budget_init(&budget, (size_t)1 << 20);
    ek_http_budget_force(&budget, 4096);
    for (; n < EK_ARRAY_SIZE(others); n++) {
        others[n] = fresh();
        feed(others[n], "GET /later HTTP/1.1\r\nHo");
        if (ek_http_conn_state(others[n]) == EK_HTTP_CONN_CLOSED)
            break;
    }
    ck_assert_uint_lt(n, 500);
    ck_assert_str_eq(ek_http_fault_name(ek_http_conn_fault(others[n])), "memory");
    ck_assert_uint_le(ek_http_budget_peak(&budget), ((size_t)1 << 20) + 8192);
    for (size_t i = 0; i <= n; i++)
        ek_http_conn_free(others[i]);
    ek_http_conn_free(conn);
    ek_http_budget_init(&budget, (size_t)4 << 20);
    conn = fresh();
}
END_TEST

START_TEST(progress)
{
    struct ek_http_candidate c;
    int64_t start_ms = now_ms;

    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_OWED); /* it has never sent a request */
    feed(conn, "POST /later HTTP/1.1\r\nHost: x\r\n");
    now_ms += 10;
    feed(conn, "Content-Length: 2\r\n\r\na");
    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_OWED);
    ck_assert_int_eq(c.since_ms, start_ms); /* the body buys no new youth */
    feed(conn, "b");
    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_BUSY);
    now_ms += 10;
    ek_http_conn_run(conn, now_ms);
    ek_http_reply_text(kept, 200, "ok");
    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_OWED);
    ck_assert_int_eq(c.since_ms, INT64_MAX); /* nothing has been sent */
    now_ms += 10;
    ek_http_conn_timeout(conn, now_ms);
    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_OWED); /* the reading */
    ck_assert_int_eq(c.since_ms, now_ms);
    ek_http_conn_sent(conn, ek_http_conn_output(conn).len, now_ms);
    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_IDLE);
    ck_assert_uint_eq(c.bytes, 0);
    ek_http_conn_drain(conn, now_ms);
    ek_http_conn_candidate(conn, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_ENDING);
}
END_TEST

/* What TLS holds counts until the connection is closing: shedding frees no more of that. */
START_TEST(bytes_of_the_owner)
{
    struct ek_http_candidate c;

    ek_http_conn_candidate(conn, &c);
    size_t before = c.bytes;
    ek_http_conn_hold(conn, 50000);
    ek_http_conn_candidate(conn, &c);
    ck_assert_uint_eq(c.bytes, before + 50000);
    ek_http_conn_shed(conn, now_ms);
    ek_http_conn_candidate(conn, &c);
    ck_assert_uint_eq(c.bytes, 0);
}
END_TEST

/* Takes all but left bytes of the output. */
static void take(size_t left)
{
    ek_http_conn_sent(conn, ek_http_conn_output(conn).len - left, now_ms);
}

/* Pipelined requests: one a call, and none before the client has taken the last reply. */
START_TEST(one_at_a_time)
{
    EK_AUTO(ek_buf) flood;

    ek_buf_init(&flood, 1 << 20);
    for (int i = 0; i < 200; i++)
        ek_buf_puts(&flood, "GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
    feed(conn, ek_buf_str(&flood));
    for (size_t n = 1; n <= 200; n++) {
        ck_assert_uint_eq(n_handled, n);
        take(1);
        ek_http_conn_run(conn, now_ms);
        ck_assert_uint_eq(n_handled, n);
        take(0);
        ck_assert_uint_eq(n_handled, n);
        ck_assert_int_eq(ek_http_conn_work(conn), n < 200 ? EK_HTTP_WORK_CHEAP : EK_HTTP_WORK_NONE);
        ek_http_conn_run(conn, now_ms);
    }
    ck_assert_uint_eq(n_handled, 200);
}
END_TEST

/* What came waits for run, and is as old as it is. */
START_TEST(bytes_that_came)
{
    static const char request[] = "GET /count HTTP/1.1\r\nHost: x\r\n\r\n";
    int64_t start_ms = now_ms;

    ek_http_conn_came(conn, request, sizeof request - 1, now_ms);
    now_ms += 500;
    ck_assert_uint_eq(n_handled, 0);
    ck_assert_int_eq(ek_http_conn_work(conn), EK_HTTP_WORK_CHEAP);
    ck_assert_uint_gt(ek_http_budget_used(&budget), 0);
    ek_http_conn_eof(conn, now_ms); /* after the request */
    ck_assert_uint_eq(n_handled, 0);
    ck_assert(!ek_http_conn_vouched(conn));
    ek_http_conn_run(conn, now_ms);
    ck_assert_uint_eq(n_handled, 1);
    ck_assert_int_eq(began_ms, start_ms);
    ck_assert(ek_http_conn_vouched(conn));
    ck_assert(!ek_http_conn_vouched(conn));
    expect(conn, "CLOSING", "HTTP/1.1 200 ");
}
END_TEST

static struct ek_http_conn *hold_one(void)
{
    struct ek_http_conn *held = fresh();

    feed(held, "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    feed_body(held, 1000);
    expect(held, "HANDLER", "");
    ck_assert_int_eq(ek_http_conn_work(held), EK_HTTP_WORK_COSTLY);
    ck_assert_uint_eq(n_handled, 0);
    return held;
}

/* A costly request waits for run, whatever comes before. */
START_TEST(costly)
{
    struct ek_http_candidate c;

    config.costly_bytes = 1000;
    feed(conn, "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n");
    feed_body(conn, 999);
    ck_assert_uint_eq(n_handled, 1);
    n_handled = 0;
    struct ek_http_conn *held = hold_one();
    feed(held, "GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
    ek_http_conn_eof(held, now_ms);
    ck_assert_uint_eq(n_handled, 0);
    ek_http_conn_candidate(held, &c);
    ck_assert_int_eq(c.progress, EK_HTTP_BUSY);
    ek_http_conn_run(held, now_ms);
    ck_assert_uint_eq(n_handled, 1);
    expect(held, "IDLE", "HTTP/1.1 200 ");
    ck_assert_int_eq(ek_http_conn_work(held), EK_HTTP_WORK_LATER);
    ek_http_conn_free(held);
    n_handled = 0;
    held = hold_one();
    now_ms = ek_http_conn_deadline(held);
    ek_http_conn_timeout(held, now_ms);
    expect(held, "CLOSING", "HTTP/1.1 503 ");
    ek_http_conn_run(held, now_ms);
    ck_assert_uint_eq(n_handled, 0);
    ek_http_conn_free(held);
    ek_http_conn_free(hold_one());
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_hold");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, handshake);
    tcase_add_test(tc, slow_body);
    tcase_add_test(tc, body_at_the_minimum_rate);
    tcase_add_test(tc, rate_of_a_body_that_is_cut);
    tcase_add_test(tc, slow_reader);
    tcase_add_test(tc, refused_by_length);
    tcase_add_test(tc, refused_by_bytes);
    tcase_add_test(tc, chunks);
    tcase_add_test(tc, room_is_made);
    tcase_add_test(tc, answers);
    tcase_add_test(tc, orphans);
    tcase_add_test(tc, heads);
    tcase_add_test(tc, progress);
    tcase_add_test(tc, bytes_of_the_owner);
    tcase_add_test(tc, one_at_a_time);
    tcase_add_test(tc, bytes_that_came);
    tcase_add_test(tc, costly);
    return ek_test_run("http_hold", tc);
}
