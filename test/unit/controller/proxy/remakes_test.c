/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of discovery that are made for clients: who waits for whom, and who is refused. */
#include "controller/proxy/remakes.h"

#include <check.h>
#include <string.h>

#include "reconcilers/peers/view_build.h"
#include "test/support/suite.h"

#define LARGE ((size_t)300 * 1024)

static uv_loop_t loop;
static struct ek_remakes *remakes;
static struct ek_view *view;
static bool closed;
static struct ek_buf bodies[4]; /* the first is small */
static struct ek_view_document documents[4];
static const struct ek_negotiate_headers headers = {"", "", "", ""};
static const struct ek_negotiate_choice pretty = {.kind = EK_NEGOTIATE_RESOURCES, .pretty = true};
static const struct ek_negotiate_choice yaml = {.kind = EK_NEGOTIATE_RESOURCES, .yaml = true};

/* One client. */
struct client {
    struct ek_remakes_wait wait;
    struct ek_remakes_want want;
    struct client *cancels, *follows; /* what its answer does to others; NULL: nothing */
    int order;                        /* of its answer; 0: none */
    bool ok;
};

static int n_answers;

static void on_closed(void *ctx)
{
    (void)ctx;
    closed = true;
}

static void setup(void)
{
    static const char *const tags[] = {"\"small\"", "\"a\"", "\"b\"", "\"c\""};

    uv_loop_init(&loop);
    n_answers = 0;
    closed = false;
    remakes = ek_remakes_new(&loop);
    view = ek_view_build(&(struct ek_view_input){0});
    for (size_t i = 0; i < 4; i++) {
        ek_buf_init(&bodies[i], 2 * LARGE);
        ek_buf_printf(&bodies[i], "{\"kind\":%s,\"names\":[\"\"", tags[i]);
        while (i > 0 && bodies[i].len < LARGE)
            ek_buf_puts(&bodies[i], ",\"deployments\"");
        ek_buf_puts(&bodies[i], "]}\n");
        documents[i] =
            (struct ek_view_document){.body = {bodies[i].data, bodies[i].len}, .etag = tags[i]};
    }
}

static void teardown(void)
{
    if (remakes)
        ek_remakes_close(remakes, on_closed, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(closed);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ek_view_unref(view);
    for (size_t i = 0; i < 4; i++)
        ek_buf_done(&bodies[i]);
}

static enum ek_remakes_state begin(struct client *client);

/* Checks that the reply is the whole document in the form that was wanted. */
static void check_reply(const struct client *client)
{
    struct ek_negotiate_reply reply;
    char first[64];

    ck_assert(ek_remakes_reply(remakes, &client->want, &reply));
    snprintf(first, sizeof first,
             client->want.choice->yaml ? "kind: %.*s\n" : "{\n  \"kind\": \"%.*s",
             (int)strlen(client->want.document->etag) - 2, client->want.document->etag + 1);
    ck_assert_uint_gt(reply.body.len, client->want.document->body.len / 2);
    ck_assert_msg(!strncmp(reply.body.p, first, strlen(first)), "%.40s", reply.body.p);
    ck_assert_str_eq(reply.etag, client->want.document->etag);
}

static void on_made(void *ctx, bool made)
{
    struct client *client = ctx;

    client->order = ++n_answers;
    client->ok = made;
    if (client->follows)
        ck_assert_int_eq(begin(client->follows), EK_REMAKES_WAIT);
    if (client->cancels)
        ek_remakes_cancel(&client->cancels->wait);
    check_reply(client);
}

static enum ek_remakes_state begin(struct client *client)
{
    client->want.view = view;
    client->want.headers = &headers;
    return ek_remakes_begin(remakes, &client->want, &client->wait, on_made, client);
}

static struct client wants(size_t document, const struct ek_negotiate_choice *choice,
                           const char *user)
{
    return (struct client){
        .want = {.document = &documents[document], .choice = choice, .user = user}};
}

/* Users in the order of their requests, what each wants, and whether it may have it: w it waits, f
 * there is no place. */
static const struct {
    const char *users, *documents, *forms, *states;
} rows[] = {
    {"a", "1", "p", "w"},
    {"aaa", "111", "ppp", "www"},     /* the same */
    {"ab", "11", "py", "ww"},         /* another form */
    {"aa", "11", "py", "wf"},         /* another form is another document */
    {"aab", "122", "ppp", "wfw"},     /* one of the two is for others */
    {"abc", "123", "ppp", "wwf"},     /* all are taken */
    {"abca", "1232", "pppp", "wwfw"}, /* what is made already may be shared */
    {"abc", "111", "pyy", "www"},
};

START_TEST(shares_the_places)
{
    struct client clients[8];
    size_t n = strlen(rows[_i].users);

    for (size_t i = 0; i < n; i++) {
        char user[2] = {rows[_i].users[i], '\0'};
        clients[i] = wants((size_t)(rows[_i].documents[i] - '0'),
                           rows[_i].forms[i] == 'y' ? &yaml : &pretty, user);
        enum ek_remakes_state state = begin(&clients[i]);
        ck_assert_msg(state == (rows[_i].states[i] == 'w' ? EK_REMAKES_WAIT : EK_REMAKES_FULL),
                      "row %d, client %zu: %d", _i, i, (int)state);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(!!clients[i].order == (rows[_i].states[i] == 'w') &&
                          (clients[i].ok || !clients[i].order),
                      "row %d, client %zu", _i, i);
}
END_TEST

/* Who came first is answered first. */
START_TEST(answers_in_order)
{
    struct client clients[3];

    for (int i = 0; i < 3; i++) {
        clients[i] = wants(1, &pretty, "a");
        ck_assert_int_eq(begin(&clients[i]), EK_REMAKES_WAIT);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(clients[i].order, i + 1);
}
END_TEST

/* Small documents are made at once, and do not take the place of a large one. */
START_TEST(keeps_what_was_made)
{
    struct client large = wants(1, &pretty, "a"), small = wants(0, &pretty, "a"),
                  other = wants(1, &yaml, "a");

    ck_assert_int_eq(begin(&large), EK_REMAKES_WAIT);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(begin(&small), EK_REMAKES_NOW);
    check_reply(&small);
    ck_assert_int_eq(begin(&large), EK_REMAKES_NOW);
    check_reply(&large);
    ck_assert_int_eq(begin(&other), EK_REMAKES_WAIT);
    ek_remakes_cancel(&other.wait);
}
END_TEST

/* What need not be made is no work: compact documents, and what the client has. */
START_TEST(makes_what_is_sent)
{
    static const struct ek_negotiate_choice compact = {.kind = EK_NEGOTIATE_RESOURCES};
    static const struct ek_negotiate_choice tagged = {.kind = EK_NEGOTIATE_ROOT, .pretty = true};
    const struct ek_negotiate_headers known = {"", "", "\"a\"", ""};
    struct client plain = wants(1, &compact, "a"), same = wants(1, &tagged, "a");

    ck_assert_int_eq(begin(&plain), EK_REMAKES_NOW);
    same.want.view = view;
    same.want.headers = &known;
    ck_assert_int_eq(ek_remakes_begin(remakes, &same.want, &same.wait, on_made, &same),
                     EK_REMAKES_NOW);
}
END_TEST

START_TEST(forgets_who_goes)
{
    struct client clients[4];

    for (int i = 0; i < 4; i++) {
        clients[i] = wants(1, &pretty, "a");
        ck_assert_int_eq(begin(&clients[i]), EK_REMAKES_WAIT);
    }
    clients[1].cancels = &clients[2];
    ek_remakes_cancel(&clients[0].wait);
    ek_remakes_cancel(&clients[0].wait); /* nothing */
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(clients[0].order, 0);
    ck_assert_int_eq(clients[1].order, 1);
    ck_assert_int_eq(clients[2].order, 0);
    ck_assert_int_eq(clients[3].order, 2);
    ek_remakes_cancel(&clients[3].wait);
}
END_TEST

/* An answer may be followed by the next request of the same client. The others still get what was
 * made. */
START_TEST(goes_on_within_an_answer)
{
    struct client first = wants(1, &pretty, "a"), second = wants(1, &pretty, "b"),
                  next = wants(2, &yaml, "a");

    first.follows = &next;
    ck_assert_int_eq(begin(&first), EK_REMAKES_WAIT);
    ck_assert_int_eq(begin(&second), EK_REMAKES_WAIT);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(first.ok && second.ok && next.ok);
    ck_assert_int_eq(next.order, 3);
}
END_TEST

/* The thread still has the document. */
START_TEST(closes_after_the_work)
{
    struct client client = wants(1, &pretty, "a");

    ck_assert_int_eq(begin(&client), EK_REMAKES_WAIT);
    ek_remakes_cancel(&client.wait);
    ek_remakes_close(remakes, on_closed, NULL);
    remakes = NULL;
    ck_assert(!closed);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(closed);
    ck_assert_int_eq(client.order, 0);
    ek_remakes_close(NULL, NULL, NULL);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("remakes");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, shares_the_places, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, answers_in_order);
    tcase_add_test(tc, keeps_what_was_made);
    tcase_add_test(tc, makes_what_is_sent);
    tcase_add_test(tc, forgets_who_goes);
    tcase_add_test(tc, goes_on_within_an_answer);
    tcase_add_test(tc, closes_after_the_work);
    return ek_test_run("remakes", tc);
}
