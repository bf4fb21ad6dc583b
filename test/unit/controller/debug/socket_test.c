/* SPDX-License-Identifier: Apache-2.0 */
/* The debug socket and its client: who may ask, what is answered, and that nobody can hold it up.
 * Clients run on libuv's thread pool, the server on the test's loop. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/commands/debug_client.h"
#include "controller/debug/socket.h"
#include "test/support/suite.h"

#define GUARD_MS 600000 /* a test that takes this long has failed */

struct world {
    uv_loop_t loop;
    uv_timer_t guard;
    char name[EK_DEBUG_NAME_SIZE];
    struct ek_debug_socket *socket;
    unsigned answered, asked_may, closed;
    bool refuses;
    struct ek_debug_peer peer; /* of the last check */
    size_t padding;            /* of each answer */
    unsigned jobs;             /* under way */
};

/* A piece of client work that runs beside the loop. */
struct job {
    uv_work_t work;
    struct world *world;
    void (*run)(struct job *job);
    int fd, rc, status;
    pid_t child;
    const char *request;
    size_t request_size;
    bool half_close;
    char text[4096]; /* what came */
    ssize_t n;       /* of the last read */
    struct ek_err err;
    int64_t timeout_ms;
};

static void on_guard(uv_timer_t *timer)
{
    (void)timer;
    ck_abort_msg("nothing for %d ms", GUARD_MS);
}

static void on_question(void *ctx, const char *line, size_t len, const struct ek_debug_peer *peer,
                        struct ek_buf *out)
{
    struct world *w = ctx;

    w->answered++;
    ck_assert_uint_eq(peer->uid, geteuid());
    ek_buf_printf(out, "{\"asked\":\"%.*s\",\"padding\":\"", (int)len, line);
    for (size_t i = 0; i < w->padding; i++)
        ek_buf_puts(out, "x");
    ek_buf_puts(out, "\"}\n");
}

static bool may_ask(void *ctx, const struct ek_debug_peer *peer)
{
    struct world *w = ctx;

    w->asked_may++;
    w->peer = *peer;
    return !w->refuses;
}

static void on_closed(void *ctx)
{
    struct world *w = ctx;
    w->closed++;
}

static void world_open(struct world *w, bool injected, int64_t deadline_ms)
{
    struct ek_debug_socket_config config = {.name = w->name,
                                            .answer = on_question,
                                            .may_ask = injected ? may_ask : NULL,
                                            .ctx = w,
                                            .deadline_ms = deadline_ms};
    struct ek_err err = {0};

    snprintf(w->name, sizeof w->name, "%s-test-%d", EK_DEBUG_SOCKET_DEFAULT, (int)getpid());
    uv_loop_init(&w->loop);
    uv_timer_init(&w->loop, &w->guard);
    uv_timer_start(&w->guard, on_guard, GUARD_MS, 0);
    if (ek_debug_socket_open(&w->loop, &config, &w->socket, &err))
        ck_abort_msg("%s", err.message);
    ck_assert_str_eq(ek_debug_socket_name(w->socket), w->name);
}

static void world_done(struct world *w)
{
    uv_close((uv_handle_t *)&w->guard, NULL);
    ek_debug_socket_close(w->socket, on_closed, w);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(w->closed, 1);
    ck_assert_int_eq(uv_loop_close(&w->loop), 0);
}

static void on_work(uv_work_t *work)
{
    struct job *job = work->data;
    job->run(job);
}

static void on_worked(uv_work_t *work, int status)
{
    struct job *job = work->data;

    (void)status;
    job->world->jobs--;
}

static void job_start(struct world *w, struct job *job, void (*run)(struct job *job))
{
    job->world = w;
    job->run = run;
    job->work.data = job;
    w->jobs++;
    uv_queue_work(&w->loop, &job->work, on_work, on_worked);
}

static void run_jobs(struct world *w)
{
    while (w->jobs > 0)
        uv_run(&w->loop, UV_RUN_ONCE);
}

/* --- what clients do ---------------------------------------------------------------------- */

static int dial(const char *name)
{
    struct sockaddr_un addr;
    unsigned size = ek_debug_address(name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_msg(connect(fd, (const struct sockaddr *)&addr, size) == 0, "%s", strerror(errno));
    return fd;
}

/* Asks with our own client; text becomes what was understood. */
static void ask(struct job *job)
{
    yyjson_doc *doc = NULL;

    job->rc = ek_debug_ask(job->world->name, job->request,
                           job->timeout_ms ? job->timeout_ms : GUARD_MS, &doc, &job->err);
    if (job->rc)
        return;
    const char *asked = ek_json_str(yyjson_doc_get_root(doc), "asked", NULL);
    snprintf(job->text, sizeof job->text, "%s", asked ? asked : "");
    yyjson_doc_free(doc);
}

/* Sends bytes as they are and reads to the end. */
static void talk(struct job *job)
{
    size_t got = 0;

    job->fd = dial(job->world->name);
    if (job->request_size)
        job->n = send(job->fd, job->request, job->request_size, MSG_NOSIGNAL);
    if (job->half_close)
        shutdown(job->fd, SHUT_WR);
    do {
        job->n = recv(job->fd, job->text + got, sizeof job->text - 1 - got, 0);
        got += job->n > 0 ? (size_t)job->n : 0;
    } while (job->n > 0 && got < sizeof job->text - 1);
    close(job->fd);
}

static void wait_child(struct job *job)
{
    job->rc = waitpid(job->child, &job->status, 0) == job->child ? 0 : -1;
}

/* --- tests -------------------------------------------------------------------------------- */

START_TEST(question_and_answer)
{
    struct world w = {0};
    struct job jobs[3] = {{.request = "queue"}, {.request = "log-level debug"}, {.request = "all"}};

    world_open(&w, true, 0);
    for (size_t i = 0; i < 3; i++)
        job_start(&w, &jobs[i], ask);
    run_jobs(&w);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_msg(jobs[i].rc == 0, "%s", jobs[i].err.message);
        ck_assert_str_eq(jobs[i].text, jobs[i].request);
    }
    ck_assert_uint_eq(w.answered, 3);
    ck_assert_uint_eq(w.peer.uid, geteuid());
    ck_assert_int_eq(w.peer.pid, getpid());
    world_done(&w);
}
END_TEST

START_TEST(a_large_answer_arrives_whole)
{
    struct world w = {.padding = 3000000};
    struct job job = {.request = "all"};

    world_open(&w, false, 0);
    job_start(&w, &job, ask);
    run_jobs(&w);
    ck_assert_msg(job.rc == 0, "%s", job.err.message);
    world_done(&w);
}
END_TEST

START_TEST(who_may_not_ask_is_not_read)
{
    struct world w = {.refuses = true};
    struct job job = {.request = "log-level debug"};

    world_open(&w, true, 0);
    job_start(&w, &job, ask);
    run_jobs(&w);
    ck_assert_int_eq(job.rc, EK_E_SERVER);
    ck_assert_ptr_nonnull(strstr(job.err.message, "permission denied"));
    ck_assert_uint_eq(w.asked_may, 1);
    ck_assert_uint_eq(w.answered, 0);
    world_done(&w);
}
END_TEST

static const struct {
    const char *name;
    unsigned uid, own;
    bool may;
} uid_rows[] = {
    {"own user", 65532, 65532, true},           {"root", 0, 65532, true},
    {"another user", 1000, 65532, false},       {"a user, of root's controller", 65532, 0, false},
    {"root, of root's controller", 0, 0, true}, {"nobody", 65534, 65532, false},
};

START_TEST(own_user_and_root)
{
    ck_assert_msg(ek_debug_uid_may_ask(uid_rows[_i].uid, uid_rows[_i].own) == uid_rows[_i].may,
                  "%s", uid_rows[_i].name);
}
END_TEST

/* The kernel's word, for once: a process of another user is refused by the default rule. */
START_TEST(another_user_is_refused)
{
    struct world w = {0};
    struct job job = {0};

    if (geteuid() != 0)
        return; /* only root can become somebody else */
    world_open(&w, false, 0);
    job.child = fork();
    if (job.child == 0) {
        struct ek_err err = {0};
        yyjson_doc *doc = NULL;
        if (setuid(65533))
            _exit(2);
        int rc = ek_debug_ask(w.name, "all", GUARD_MS, &doc, &err);
        _exit(rc == EK_E_SERVER && strstr(err.message, "permission denied") ? 0 : 1);
    }
    job_start(&w, &job, wait_child);
    run_jobs(&w);
    ck_assert_int_eq(job.rc, 0);
    ck_assert_msg(WIFEXITED(job.status) && WEXITSTATUS(job.status) == 0, "status %d", job.status);
    ck_assert_uint_eq(w.answered, 0);
    world_done(&w);
}
END_TEST

static char long_line[EK_DEBUG_REQUEST_MAX + 1];

static const struct {
    const char *name;
    const char *request;
    size_t size; /* 0: of the string */
    const char *answer;
    unsigned answered;
    bool half_close;
} talk_rows[] = {
    {"a line", "queue\n", 0, "{\"asked\":\"queue\",", 1, false},
    {"an end instead of a line feed", "queue", 0, "{\"asked\":\"queue\",", 1, true},
    {"what follows the line is not looked at", "queue\nx\ny\n", 0, "{\"asked\":\"queue\",", 1,
     false},
    {"an empty line is a question too", "\n", 0, "{\"asked\":\"\",", 1, false},
    {"nothing", "", 0, "", 0, true},
    {"the longest line", long_line + 1, EK_DEBUG_REQUEST_MAX, "{\"asked\":\"aaaa", 1, false},
    {"a longer one", long_line, EK_DEBUG_REQUEST_MAX, "{\"error\":\"the request is too long\"}", 0,
     false},
};

START_TEST(requests)
{
    struct world w = {0};
    struct job job = {.request = talk_rows[_i].request, .half_close = talk_rows[_i].half_close};

    memset(long_line, 'a', sizeof long_line - 1);
    long_line[sizeof long_line - 1] = '\n';
    job.request_size = talk_rows[_i].size ? talk_rows[_i].size : strlen(job.request);
    world_open(&w, false, 0);
    job_start(&w, &job, talk);
    run_jobs(&w);
    const char *answer = talk_rows[_i].answer;
    ck_assert_msg(!strncmp(job.text, answer, strlen(answer)) && !*job.text == !*answer, "%s: %s",
                  talk_rows[_i].name, job.text);
    ck_assert_msg(w.answered == talk_rows[_i].answered, "%s: %u answers", talk_rows[_i].name,
                  w.answered);
    world_done(&w);
}
END_TEST

START_TEST(a_client_that_only_waits_is_cut_off)
{
    struct world w = {0};
    struct job job = {0};

    world_open(&w, false, 30);
    job_start(&w, &job, talk);
    run_jobs(&w);
    ck_assert_int_eq(job.n, 0); /* the end, without a byte */
    ck_assert_str_eq(job.text, "");
    world_done(&w);
}
END_TEST

/* Runs the loop until the server has dropped the clients that it does not wait for. */
static void run_until_served(struct world *w)
{
    struct job job = {.request = "again"};

    do {
        job.err = (struct ek_err){0};
        job_start(w, &job, ask);
        run_jobs(w);
        ck_assert_msg(job.rc == 0 || job.rc == EK_E_SERVER, "%s", job.err.message);
    } while (job.rc);
}

START_TEST(connections_are_bounded)
{
    struct world w = {0};
    struct job job = {.request = "queue"};
    int fds[EK_DEBUG_CONNECTIONS_MAX];

    world_open(&w, false, 200);
    for (size_t i = 0; i < EK_DEBUG_CONNECTIONS_MAX; i++) {
        fds[i] = dial(w.name);
        uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    job_start(&w, &job, ask);
    run_jobs(&w);
    ck_assert_int_eq(job.rc, EK_E_SERVER);
    ck_assert_ptr_nonnull(strstr(job.err.message, "too many connections"));
    run_until_served(&w); /* the eight are cut off by their deadline */
    for (size_t i = 0; i < EK_DEBUG_CONNECTIONS_MAX; i++)
        close(fds[i]);
    world_done(&w);
}
END_TEST

START_TEST(a_client_that_does_not_read_is_cut_off)
{
    struct world w = {.padding = 6000000};
    int fd;

    world_open(&w, false, 50);
    fd = dial(w.name);
    ck_assert_int_eq(send(fd, "all\n", 4, MSG_NOSIGNAL), 4);
    while (w.answered == 0)
        uv_run(&w.loop, UV_RUN_ONCE);
    w.padding = 0;
    run_until_served(&w); /* meanwhile others are answered */
    ck_assert_uint_eq(w.answered, 2);
    close(fd);
    world_done(&w);
}
END_TEST

START_TEST(clients_that_leave_do_no_harm)
{
    struct world w = {0};

    world_open(&w, false, 0);
    close(dial(w.name)); /* before it is accepted */
    int fd = dial(w.name);
    ck_assert_int_eq(send(fd, "que", 3, MSG_NOSIGNAL), 3);
    uv_run(&w.loop, UV_RUN_NOWAIT);
    close(fd); /* in the middle of a line */
    fd = dial(w.name);
    ck_assert_int_eq(send(fd, "queue\n", 6, MSG_NOSIGNAL), 6);
    close(fd); /* before the answer */
    run_until_served(&w);
    fd = dial(w.name); /* and one that is still there at the end */
    uv_run(&w.loop, UV_RUN_NOWAIT);
    world_done(&w);
    close(fd);
}
END_TEST

START_TEST(a_taken_name_gets_the_process_id)
{
    struct world w = {0};
    struct ek_debug_socket *second = NULL, *third = NULL;
    struct ek_debug_socket_config config = {.name = w.name, .answer = on_question, .ctx = &w};
    struct job job = {.request = "queue"};
    struct ek_err err = {0};
    char expected[EK_DEBUG_NAME_SIZE + 16];

    world_open(&w, false, 0);
    ck_assert_int_eq(ek_debug_socket_open(&w.loop, &config, &second, &err), 0);
    snprintf(expected, sizeof expected, "%s.%d", w.name, (int)getpid());
    ck_assert_str_eq(ek_debug_socket_name(second), expected);
    ck_assert_int_eq(ek_debug_socket_open(&w.loop, &config, &third, &err), EK_E_EXIST);
    ck_assert_ptr_null(third);
    memcpy(w.name, expected, sizeof w.name);
    job_start(&w, &job, ask);
    run_jobs(&w);
    ck_assert_msg(job.rc == 0, "%s", job.err.message);
    ek_debug_socket_close(second, NULL, NULL);
    world_done(&w);
}
END_TEST

static const struct {
    const char *name;
    int rc;
} name_rows[] = {
    {"@evenkeel-debug", 0},
    {"@a", 0},
    {"@123456789.123456789.123456789.123456789.123456789.123456789.123456789.123456789.123456789",
     0},
    {"@123456789.123456789.123456789.123456789.123456789.123456789.123456789.123456789.123456789.",
     EK_E_INVAL},
    {"", EK_E_INVAL},
    {"@", EK_E_INVAL},
    {"0", EK_E_INVAL}, /* the caller checks for "off" before */
    {"/run/evenkeel.sock", EK_E_INVAL},
    {"@with blank", EK_E_INVAL},
    {"@with\nline", EK_E_INVAL},
    {"@\xc3\xa9", EK_E_INVAL},
};

START_TEST(names)
{
    struct ek_err err = {0};

    ck_assert_msg(ek_debug_name_check(name_rows[_i].name, &err) == name_rows[_i].rc, "\"%s\": %s",
                  name_rows[_i].name, err.message);
}
END_TEST

START_TEST(nobody_listens)
{
    struct world w = {0};
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_int_eq(ek_debug_ask("@evenkeel-absent", "all", 100, &doc, &err), EK_E_REFUSED);
    world_open(&w, false, 0);
    ck_assert_int_eq(ek_debug_ask("@evenkeel-absent", "all", 100, &doc, &err), EK_E_REFUSED);
    ck_assert_msg(strstr(err.message, w.name) != NULL, "others are named: %s", err.message);
    world_done(&w);
}
END_TEST

/* A name may be taken by somebody before the controller does: their word is not taken for ours. */
START_TEST(another_users_socket_is_not_believed)
{
    const char *name = "@evenkeel-debug-impostor";
    struct sockaddr_un addr;
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    if (geteuid() != 0)
        return; /* only root can become somebody else */
    unsigned size = ek_debug_address(name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(seteuid(65533), 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&addr, size), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(seteuid(65532), 0);
    ck_assert_int_eq(ek_debug_ask(name, "all", 30, &doc, &err), EK_E_FORBIDDEN);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(ek_debug_ask(name, "all", 30, &doc, &err), EK_E_TIMEOUT); /* root may ask */
    close(fd);
}
END_TEST

START_TEST(a_controller_that_hangs_is_described)
{
    struct world w = {0};
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;
    char process[64];

    world_open(&w, false, 0); /* and its loop never runs */
    ck_assert_int_eq(ek_debug_ask(w.name, "all", 30, &doc, &err), EK_E_TIMEOUT);
    snprintf(process, sizeof process, "process %d, state R (running)", (int)getpid());
    ck_assert_msg(strstr(err.message, process) != NULL, "%s", err.message);
    world_done(&w);
}
END_TEST

static const struct {
    const char *name;
    const char *request;
    int rc;
} client_rows[] = {
    {"two lines", "all\nlog-level debug", EK_E_INVAL},
    {"too long", long_line, EK_E_INVAL},
    {"bytes that are no JSON come back as an error", "\"", EK_E_PARSE},
};

START_TEST(client_errors)
{
    struct world w = {0};
    struct job job = {.request = client_rows[_i].request};

    memset(long_line, 'a', sizeof long_line - 1);
    world_open(&w, false, 0);
    job_start(&w, &job, ask);
    run_jobs(&w);
    ck_assert_msg(job.rc == client_rows[_i].rc, "%s: %s", client_rows[_i].name, job.err.message);
    world_done(&w);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("socket");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, question_and_answer);
    tcase_add_test(tc, a_large_answer_arrives_whole);
    tcase_add_test(tc, who_may_not_ask_is_not_read);
    tcase_add_loop_test(tc, own_user_and_root, 0, EK_ARRAY_SIZE(uid_rows));
    tcase_add_test(tc, another_user_is_refused);
    tcase_add_loop_test(tc, requests, 0, EK_ARRAY_SIZE(talk_rows));
    tcase_add_test(tc, a_client_that_only_waits_is_cut_off);
    tcase_add_test(tc, connections_are_bounded);
    tcase_add_test(tc, a_client_that_does_not_read_is_cut_off);
    tcase_add_test(tc, clients_that_leave_do_no_harm);
    tcase_add_test(tc, a_taken_name_gets_the_process_id);
    tcase_add_loop_test(tc, names, 0, EK_ARRAY_SIZE(name_rows));
    tcase_add_test(tc, nobody_listens);
    tcase_add_test(tc, another_users_socket_is_not_believed);
    tcase_add_test(tc, a_controller_that_hangs_is_described);
    tcase_add_loop_test(tc, client_errors, 0, EK_ARRAY_SIZE(client_rows));
    return ek_test_run("debug_socket", tc);
}
