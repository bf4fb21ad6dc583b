/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about what is stored: pages, their bounds, and the bounds of all answers together. */
#include "controller/rehearse/survey.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api/obj.h"
#include "controller/rehearse/list.h"
#include "informers/client/kubeconfig.h"
#include "test/support/suite.h"
#include "test/support/testserver.h"

#define REQUESTS_MAX 16
#define PIECE        ((size_t)1 << 20)

/* An answer: its body, or so many pieces of nothing where that is NULL; a signal for this process
 * and no answer without pieces. */
struct answer {
    const char *request, *body;
    size_t pieces;
};

static struct world {
    const struct answer *answers;
    size_t n, done;
    uv_mutex_t lock;
    char got[REQUESTS_MAX][256];
    struct testserver *server;
    struct ek_rehearse_ask ask;
    struct ek_client *client;
    struct ek_arena *arena;
    struct ek_rehearse_report report;
} world;

static void write_large(struct testserver_conn *conn, size_t pieces)
{
    EK_AUTOFREE char *piece = ek_xalloc(PIECE);
    char head[128];

    memset(piece, ' ', PIECE);
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", pieces * PIECE);
    testserver_write(conn, head, strlen(head));
    for (size_t i = 0; i < pieces; i++)
        testserver_write(conn, piece, PIECE);
    testserver_close(conn);
}

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct answer *answer = NULL;

    (void)ctx;
    uv_mutex_lock(&world.lock);
    if (world.done < REQUESTS_MAX)
        snprintf(world.got[world.done], sizeof world.got[0], "%s %s", request->method,
                 request->target);
    if (world.done < world.n)
        answer = &world.answers[world.done];
    world.done++;
    uv_mutex_unlock(&world.lock);
    if (answer && !answer->body && !answer->pieces) {
        kill(getpid(), SIGTERM);
        testserver_stall(conn);
    } else if (answer && !answer->body) {
        write_large(conn, answer->pieces);
    } else {
        testserver_reply(conn, answer ? 200 : 500, "", answer ? answer->body : "{}");
    }
}

static void setup(void)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();

    memset(&world, 0, sizeof world);
    uv_mutex_init(&world.lock);
    world.server = testserver_start(&(struct testserver_options){.handler = handle});
    config->server = ek_xasprintf("http://127.0.0.1:%u", testserver_port(world.server));
    ek_rehearse_ask_open(&world.ask, 16, 600000);
    ck_assert_int_eq(ek_client_new(&world.ask.loop, config, "test", &world.client, NULL), 0);
    world.arena = ek_arena_new((size_t)16 << 20);
    world.report.arena = world.arena;
}

static void teardown(void)
{
    ek_rehearse_ask_drain(&world.ask);
    ek_rehearse_ask_drop(&world.ask, world.client);
    ek_rehearse_ask_close(&world.ask);
    testserver_stop(world.server);
    uv_mutex_destroy(&world.lock);
    ek_rehearse_report_done(&world.report);
    ek_arena_free(world.arena);
}

static void play(const struct answer *answers, size_t n)
{
    world.answers = answers;
    world.n = n;
}

static void expect_requests(void)
{
    ck_assert_uint_eq(world.done, world.n);
    for (size_t i = 0; i < world.n; i++)
        ck_assert_str_eq(world.got[i], world.answers[i].request);
}

static void on_progress(void *ctx, size_t objects)
{
    *(size_t *)ctx = objects;
}

/* Surveys the pods of the server. */
static struct ek_rehearse_counts survey_pods(bool update)
{
    struct ek_rehearse_type pods = {.group = "",
                                    .version = "v1",
                                    .resource = "pods",
                                    .kind = "Pod",
                                    .namespaced = true,
                                    .can_list = true,
                                    .can_update = update,
                                    .hash = "",
                                    .stored = ""};
    struct ek_rehearse_view view = {.arena = world.arena, .types = &pods, .n_types = 1};
    struct ek_map none = {0}, conditions = {0};
    size_t seen = 0;
    struct ek_rehearse_survey survey = {.ask = &world.ask,
                                        .client = world.client,
                                        .etcd = world.client,
                                        .report = &world.report,
                                        .root = "/registry",
                                        .dry_runs = 10,
                                        .folders = &none,
                                        .conditions = &conditions,
                                        .remote = &none,
                                        .progress = on_progress,
                                        .progress_ctx = &seen,
                                        .view = &view};

    ek_rehearse_survey_objects(&survey);
    ek_map_done(&conditions);
    return survey.counts;
}

#define POD(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"shop\"}}"

START_TEST(smaller_pages)
{
    static const struct answer answers[] = {
        {"GET /api/v1/pods?limit=500", NULL, 65},
        {"GET /api/v1/pods?limit=250", NULL, 65},
        {"GET /api/v1/pods?limit=125",
         "{\"metadata\":{\"continue\":\"a/b=&c\"},\"items\":[" POD("one") "," POD("two") "]}", 0},
        {"GET /api/v1/pods?limit=125&continue=a%2Fb%3D%26c", "{\"items\":[" POD("three") "]}", 0},
    };

    play(answers, EK_ARRAY_SIZE(answers));
    struct ek_rehearse_counts counts = survey_pods(false);
    expect_requests();
    ck_assert_uint_eq(counts.objects, 3);
    ck_assert_uint_eq(world.report.n, 0);
}
END_TEST

START_TEST(large_answer_about_an_object)
{
    static const struct answer answers[] = {
        {"GET /api/v1/pods?limit=500", "{\"items\":[" POD("one") "]}", 0},
        {"PUT /api/v1/namespaces/shop/pods/one?dryRun=All&fieldManager=evenkeel-rehearse", NULL, 9},
    };

    play(answers, EK_ARRAY_SIZE(answers));
    survey_pods(true);
    expect_requests();
    ck_assert_uint_eq(world.report.n, 1);
    ck_assert_str_eq(world.report.list[0].rule, "not-answered");
}
END_TEST

static const struct {
    const char *body;
    size_t pieces;
    int code;
} pages[] = {
    {"{\"items\":[]}", 0, 0},          {"{\"items\":null}", 0, 0}, {NULL, 1, EK_E_LIMIT},
    {"{\"items\":{}}", 0, EK_E_PARSE}, {"{}", 0, EK_E_PARSE},      {"[", 0, EK_E_PARSE},
};

START_TEST(page_row)
{
    static const struct ek_rehearse_type type = {.group = "apps", .version = "v1", .resource = "r"};
    const struct answer answer = {"GET /apis/apps/v1/r?limit=7", pages[_i].body, pages[_i].pieces};
    struct ek_err err = {0};

    play(&answer, 1);
    yyjson_doc *doc =
        ek_rehearse_list_page(&world.ask, world.client, &type, 7, "", PIECE - 1, &err);
    expect_requests();
    ck_assert_int_eq(err.code, pages[_i].code);
    ck_assert((doc != NULL) == !pages[_i].code);
    yyjson_doc_free(doc);
}
END_TEST

/* A signal ends the wait for an answer, and nothing is sent any more. */
START_TEST(stopped)
{
    static const struct ek_rehearse_type type = {.group = "apps", .version = "v1", .resource = "r"};
    static const struct answer answers[] = {{"GET /apis/apps/v1/r?limit=7", NULL, 0}};

    play(answers, EK_ARRAY_SIZE(answers));
    for (int i = 0; i < 2; i++) {
        struct ek_err err = {0};
        ck_assert_ptr_null(ek_rehearse_list_page(&world.ask, world.client, &type, 7, "", 0, &err));
        ck_assert_int_eq(err.code, EK_E_CANCELED);
    }
    expect_requests();
    ck_assert_uint_eq(world.ask.in_flight, 0);
    ck_assert_uint_eq(world.ask.room, 0);
}
END_TEST

static void count(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    (void)response;
    (void)err;
    ++*(size_t *)ctx;
}

/* The third answer has no room beside the first two. */
START_TEST(room)
{
    static const struct answer answers[] = {{"", "{}", 0}, {"", "{}", 0}, {"", "{}", 0}};
    size_t ended = 0;

    play(answers, EK_ARRAY_SIZE(answers));
    for (size_t i = 0; i < EK_ARRAY_SIZE(answers); i++) {
        ek_rehearse_ask_send(&world.ask, world.client, &(struct ek_request){.path = "/"}, count,
                             &ended);
        ck_assert_uint_le(world.ask.room, EK_REHEARSE_BODIES_MAX);
        ck_assert_uint_le(world.ask.in_flight, 2);
    }
    ck_assert_uint_ge(ended, 1);
    ek_rehearse_ask_drain(&world.ask);
    ck_assert_uint_eq(ended, 3);
    ck_assert_uint_eq(world.ask.room, 0);
}
END_TEST

/* More than has room at all is sent alone. */
START_TEST(room_of_one)
{
    static const struct answer answer = {"GET /", "{}", 0};
    size_t ended = 0;

    play(&answer, 1);
    ek_rehearse_ask_send(&world.ask, world.client,
                         &(struct ek_request){.path = "/", .max_body = EK_REHEARSE_BODIES_MAX + 1},
                         count, &ended);
    ek_rehearse_ask_drain(&world.ask);
    ck_assert_uint_eq(ended, 1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("survey");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, smaller_pages);
    tcase_add_test(tcase, large_answer_about_an_object);
    tcase_add_loop_test(tcase, page_row, 0, EK_ARRAY_SIZE(pages));
    tcase_add_test(tcase, stopped);
    tcase_add_test(tcase, room);
    tcase_add_test(tcase, room_of_one);
    return ek_test_run("rehearse survey", tcase);
}
