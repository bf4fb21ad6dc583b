/* SPDX-License-Identifier: Apache-2.0 */
/* How requests of the API client live and end: streams, cancelling, closing, many at once,
 * connections, and what an observer sees. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/clientscene.h"
#include "test/support/suite.h"

/* What a stream brought, and what its reader does after so many bytes. */
struct stream {
    struct outcome outcome; /* first: outcome_keep takes it */
    struct clientscene *scene;
    struct ek_buf text;
    size_t act_at;
    enum { READ_ON, REFUSE, CANCEL, CANCEL_OTHER, CLOSE, SEND } act;
    struct ek_call *call, *other;
    struct outcome other_outcome;
    int acted;
};

static int on_data(void *ctx, const char *data, size_t len)
{
    struct stream *stream = ctx;

    ek_buf_append(&stream->text, data, len);
    if (stream->acted || stream->text.len < stream->act_at)
        return 0;
    stream->acted = 1;
    switch (stream->act) {
    case REFUSE:
        return EK_E_GONE;
    case CANCEL:
        ek_call_cancel(stream->call);
        return 0;
    case CANCEL_OTHER:
        ek_call_cancel(stream->other);
        return 0;
    case CLOSE:
        clientbench_close(&stream->scene->bench);
        return 0;
    case SEND:
        clientbench_send(&stream->scene->bench, &(struct ek_request){.path = "/echo"},
                         &stream->other_outcome);
        return 0;
    case READ_ON:
    default:
        return 0;
    }
}

static void stream_start(struct stream *stream, struct clientscene *scene, const char *path)
{
    stream->scene = scene;
    ek_buf_init(&stream->text, 1 << 20);
    stream->call =
        ek_client_send(scene->bench.client, &(struct ek_request){.path = path, .on_data = on_data},
                       outcome_keep, stream);
}

static void stream_stop(struct stream *stream)
{
    outcome_done(&stream->outcome);
    outcome_done(&stream->other_outcome);
    ek_buf_done(&stream->text);
}

START_TEST(streams_come_in_pieces)
{
    struct clientscene scene;
    struct stream stream = {0};

    clientscene_start(&scene);
    stream_start(&stream, &scene, "/chunks");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.outcome.err.code, 0);
    ck_assert_str_eq(ek_buf_str(&stream.text), "event\nevent\nevent\nevent\nevent\n");
    ck_assert_uint_eq(stream.outcome.body_size, 0);
    stream_stop(&stream);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(an_error_answer_is_not_streamed)
{
    struct clientscene scene;
    struct stream stream = {0};

    clientscene_start(&scene);
    stream_start(&stream, &scene, "/e/410");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.outcome.err.code, EK_E_GONE);
    ck_assert_uint_eq(stream.text.len, 0);
    ck_assert_uint_gt(stream.outcome.body_size, 0);
    stream_stop(&stream);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(a_reader_may_end_its_stream)
{
    struct clientscene scene;
    struct stream stream = {.act = REFUSE, .act_at = 6};

    clientscene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.outcome.err.code, EK_E_GONE);
    ck_assert_int_eq(stream.outcome.n_done, 1);
    stream_stop(&stream);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(cancelling_inside_a_callback_is_safe)
{
    struct clientscene scene;
    struct stream stream = {.act = CANCEL, .act_at = 6};
    struct outcome after;

    clientscene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.acted);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &after);
    ck_assert_int_eq(after.err.code, 0);
    ck_assert_int_eq(stream.outcome.n_done, 0);
    outcome_done(&after);
    stream_stop(&stream);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(cancelling_another_inside_a_callback_is_safe)
{
    struct clientscene scene;
    struct stream stream = {.act = CANCEL_OTHER, .act_at = 30};

    clientscene_start(&scene);
    stream.other = clientbench_send(&scene.bench, &(struct ek_request){.path = "/stall"},
                                    &stream.other_outcome);
    stream_start(&stream, &scene, "/chunks");
    clientbench_run_until(&scene.bench, &stream.outcome.n_done);
    ck_assert_int_eq(stream.acted, 1);
    ck_assert_int_eq(stream.other_outcome.n_done, 0);
    ck_assert_int_eq(stream.outcome.err.code, 0);
    stream_stop(&stream);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(closing_inside_a_callback_is_safe)
{
    struct clientscene scene;
    struct stream stream = {.act = CLOSE, .act_at = 6};

    clientscene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.acted);
    clientscene_stop(&scene);
    ck_assert_int_eq(stream.outcome.n_done, 0);
    stream_stop(&stream);
}
END_TEST

START_TEST(sending_inside_a_callback_is_safe)
{
    struct clientscene scene;
    struct stream stream = {.act = SEND, .act_at = 6};

    clientscene_start(&scene);
    stream_start(&stream, &scene, "/chunks/endless");
    clientbench_run_until(&scene.bench, &stream.acted);
    clientbench_run_until(&scene.bench, &stream.other_outcome.n_done);
    ck_assert_int_eq(stream.other_outcome.err.code, 0);
    clientscene_stop(&scene);
    ck_assert_int_eq(stream.outcome.n_done, 0);
    stream_stop(&stream);
}
END_TEST

/* Each outcome starts the next request, cancels a neighbour, and at the end closes the client. */
struct chain {
    struct clientscene *scene;
    struct ek_call *neighbour;
    int n, over;
};

static void on_link(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct chain *chain = ctx;

    ck_assert(err == NULL);
    ck_assert_int_eq(resp->status, 200);
    ek_call_cancel(chain->neighbour);
    chain->neighbour = NULL;
    if (++chain->n == 20) {
        clientbench_close(&chain->scene->bench);
        chain->over = 1;
        return;
    }
    chain->neighbour = ek_client_send(chain->scene->bench.client,
                                      &(struct ek_request){.path = "/stall"}, NULL, NULL);
    ek_client_send(chain->scene->bench.client, &(struct ek_request){.path = "/echo"}, on_link,
                   chain);
}

START_TEST(outcomes_may_send_cancel_and_close)
{
    struct clientscene scene;
    struct chain chain = {.scene = &scene};

    clientscene_start(&scene);
    ek_client_send(scene.bench.client, &(struct ek_request){.path = "/echo"}, on_link, &chain);
    clientbench_run_until(&scene.bench, &chain.over);
    clientscene_stop(&scene);
    ck_assert_int_eq(chain.n, 20);
}
END_TEST

START_TEST(cancelling_before_the_start_is_safe)
{
    struct clientscene scene;
    struct outcome out, after;

    clientscene_start(&scene);
    ek_call_cancel(clientbench_send(&scene.bench, &(struct ek_request){.path = "/echo"}, &out));
    ek_call_cancel(NULL);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &after);
    ck_assert_int_eq(out.n_done, 0);
    ck_assert_uint_eq(testserver_requests(scene.server), 1);
    outcome_done(&after);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(a_hundred_requests_at_once)
{
    enum { N = 100 };
    struct clientscene scene;
    struct outcome out[N];

    clientscene_start(&scene);
    for (int i = 0; i < N; i++)
        clientbench_send(&scene.bench, &(struct ek_request){.path = "/echo"}, &out[i]);
    for (int i = 0; i < N; i++) {
        clientbench_run_until(&scene.bench, &out[i].n_done);
        ck_assert_msg(out[i].err.code == 0, "%d: %s", i, out[i].err.message);
        outcome_done(&out[i]);
    }
    ck_assert_uint_eq(testserver_requests(scene.server), N);
    clientscene_stop(&scene);
}
END_TEST

START_TEST(closing_drops_what_is_under_way)
{
    enum { N = 30 };
    struct clientscene scene;
    struct outcome out[N];
    struct outcome first;

    clientscene_start(&scene);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &first);
    for (int i = 0; i < N; i++)
        clientbench_send(&scene.bench,
                         &(struct ek_request){.path = i % 2 ? "/stall" : "/stall/headers"},
                         &out[i]);
    while (testserver_requests(scene.server) < N / 2)
        uv_run(&scene.bench.loop, UV_RUN_ONCE);
    clientscene_stop(&scene);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(out[i].n_done, 0);
    outcome_done(&first);
}
END_TEST

START_TEST(connections_are_kept_and_kept_apart)
{
    struct clientscene scene;
    struct outcome out;

    clientscene_start(&scene);
    for (int i = 0; i < 3; i++) {
        clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo"}, &out);
        outcome_done(&out);
    }
    ck_assert_uint_eq(testserver_connections(scene.server), 1);
    for (int i = 0; i < 3; i++) {
        clientbench_do(&scene.bench,
                       &(struct ek_request){.path = "/echo", .fresh_connection = true}, &out);
        outcome_done(&out);
    }
    ck_assert_uint_eq(testserver_connections(scene.server), 2);
    clientbench_do(
        &scene.bench,
        &(struct ek_request){.path = "/stall", .fresh_connection = true, .timeout_ms = 50}, &out);
    ck_assert_int_eq(out.err.code, EK_E_TIMEOUT);
    outcome_done(&out);
    clientbench_do(&scene.bench, &(struct ek_request){.path = "/echo", .fresh_connection = true},
                   &out);
    ck_assert_uint_eq(testserver_connections(scene.server), 3);
    outcome_done(&out);
    clientscene_stop(&scene);
}
END_TEST

struct observed {
    struct ek_buf text;
    char host[64];
};

static void on_observed(void *ctx, const char *method, const char *code, const char *host,
                        double seconds)
{
    struct observed *observed = ctx;

    ck_assert(seconds >= 0);
    snprintf(observed->host, sizeof observed->host, "%s", host);
    ek_buf_printf(&observed->text, "%s %s; ", method, code);
}

START_TEST(each_exchange_is_observed)
{
    static const struct ek_request requests[] = {
        {.path = "/throttle"},
        {.method = "PUT", .path = "/e/409"},
        {.path = "/stall", .timeout_ms = 50},
    };
    struct clientscene scene;
    struct outcome out;
    struct observed observed;
    char host[64];

    ek_buf_init(&observed.text, 4096);
    clientscene_start(&scene);
    ek_client_set_observer(scene.bench.client, on_observed, &observed);
    for (size_t i = 0; i < EK_ARRAY_SIZE(requests); i++) {
        clientbench_do(&scene.bench, &requests[i], &out);
        outcome_done(&out);
    }
    ck_assert_str_eq(ek_buf_str(&observed.text),
                     "GET 429; GET 429; GET 200; PUT 409; GET <error>; ");
    snprintf(host, sizeof host, "127.0.0.1:%d", testserver_port(scene.server));
    ck_assert_str_eq(observed.host, host);
    ek_buf_done(&observed.text);
    clientscene_stop(&scene);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("client_life");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, streams_come_in_pieces);
    tcase_add_test(tcase, an_error_answer_is_not_streamed);
    tcase_add_test(tcase, a_reader_may_end_its_stream);
    tcase_add_test(tcase, cancelling_inside_a_callback_is_safe);
    tcase_add_test(tcase, cancelling_another_inside_a_callback_is_safe);
    tcase_add_test(tcase, closing_inside_a_callback_is_safe);
    tcase_add_test(tcase, sending_inside_a_callback_is_safe);
    tcase_add_test(tcase, outcomes_may_send_cancel_and_close);
    tcase_add_test(tcase, cancelling_before_the_start_is_safe);
    tcase_add_test(tcase, a_hundred_requests_at_once);
    tcase_add_test(tcase, closing_drops_what_is_under_way);
    tcase_add_test(tcase, connections_are_kept_and_kept_apart);
    tcase_add_test(tcase, each_exchange_is_observed);
    return ek_test_run("client_life", tcase);
}
