/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of a cluster: its version, and lists that begin again. */
#include "controller/rehearse/copy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "api/obj.h"
#include "informers/clock.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"
#include "test/support/testserver.h"

#define EMPTY   "{\"items\":[]}"
#define NAME(n) "{\"metadata\":{\"name\":\"" n "\"}}"

struct answer {
    const char *target;
    int status;
    const char *body;
};

/* What a cluster without objects answers. */
static const struct answer empty[] = {
    {"/version", 200, "{\"gitVersion\":\"v1.35.2\"}"},
    {"/apis/apiregistration.k8s.io/v1/apiservices?limit=500", 200, EMPTY},
    {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=500", 200, EMPTY},
    {"/api/v1/namespaces?limit=500", 200, EMPTY},
    {"/api/v1", 200, "{\"groupVersion\":\"v1\",\"resources\":[]}"},
    {"/apis", 200, "{\"groups\":[]}"},
};

static char top[TESTDIR_SIZE];
static struct ek_rehearse_folder folder;
static uv_mutex_t lock;
static struct answer first[4]; /* each is given once, before those of an empty cluster */

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    struct answer answer = {request->target, 404, "{}"};

    (void)ctx;
    for (size_t i = 0; i < EK_ARRAY_SIZE(empty); i++)
        if (!strcmp(empty[i].target, request->target))
            answer = empty[i];
    uv_mutex_lock(&lock);
    for (size_t i = 0; i < EK_ARRAY_SIZE(first); i++) {
        if (!first[i].target || strcmp(first[i].target, request->target) != 0)
            continue;
        answer = first[i];
        first[i].target = NULL;
        break;
    }
    uv_mutex_unlock(&lock);
    testserver_reply(conn, answer.status, "Content-Type: application/json\r\n", answer.body);
}

/* The server has threads, and a process of its own: the copy forks, and locks that another thread
 * holds at a fork (of a sanitizer, for instance) stay locked in the child. */
static pid_t start_server(void)
{
    unsigned short port = 0;
    char text[512];
    int ports[2];

    ck_assert_int_eq(pipe2(ports, O_CLOEXEC), 0);
    pid_t parent = getpid(), pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            _exit(1);
        port = testserver_port(testserver_start(&(struct testserver_options){.handler = handle}));
        if (write(ports[1], &port, sizeof port) != sizeof port)
            _exit(1);
        for (;;)
            pause();
    }
    close(ports[1]);
    ck_assert_int_eq(read(ports[0], &port, sizeof port), sizeof port);
    close(ports[0]);
    snprintf(text, sizeof text,
             "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
             "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
             "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:%u'}}]\n",
             port);
    testdir_put(top, "kubeconfig", text, 0600);
    return pid;
}

static void stop_server(pid_t pid)
{
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void setup(void)
{
    memset(first, 0, sizeof first);
    uv_mutex_init(&lock);
    testdir_make(top);
    ck_assert_int_eq(ek_rehearse_folder_open(top, &folder, NULL), 0);
}

static void teardown(void)
{
    ek_rehearse_folder_close(&folder);
    testdir_remove(top);
    uv_mutex_destroy(&lock);
}

static void on_copied(void *ctx, const char *what, size_t n)
{
    (void)ctx;
    (void)what;
    (void)n;
}

static int copy(bool version_known, struct ek_rehearse_copied *copied, char **path,
                struct ek_err *err)
{
    EK_AUTOFREE char *kubeconfig = ek_xasprintf("%s/kubeconfig", top);
    struct ek_rehearse_copy_options options = {
        .kubeconfig = kubeconfig, .context = "", .resources = "", .version_known = version_known};

    pid_t server = start_server();
    int rc = ek_rehearse_copy_read(&options, &folder, "/registry", ek_monotonic_ms() + 600000,
                                   on_copied, NULL, copied, path, err);

    stop_server(server);
    return rc;
}

static const struct {
    struct answer version;
    bool known; /* by a flag */
    int code;
    int minor; /* -1: not known */
} versions[] = {
    {{"/version", 200, "{\"gitVersion\":\"v1.35.2\"}"}, false, 0, 35},
    {{"/version", 200,
      "{\"gitVersion\":\"v1.35.2\",\"emulationMajor\":\"1\",\"emulationMinor\":\"34\"}"},
     false,
     0,
     34},
    {{"/version", 403, "{}"}, false, EK_E_FORBIDDEN, -1},
    {{"/version", 403, "{}"}, true, 0, -1},
    {{"/version", 200, "["}, false, EK_E_PARSE, -1},
    {{"/version", 200, "{\"gitVersion\":\"new\"}"}, false, EK_E_PARSE, -1},
    {{"/version", 200, "{\"gitVersion\":\"new\"}"}, true, 0, -1},
};

START_TEST(version_row)
{
    struct ek_rehearse_copied copied;
    struct ek_err err = {0};
    EK_AUTOFREE char *path = NULL;

    first[0] = versions[_i].version;
    int rc = copy(versions[_i].known, &copied, &path, &err);
    ck_assert_msg(rc == versions[_i].code, "%d %s", rc, err.message);
    ck_assert(!rc || strstr(err.message, "--from") != NULL);
    ck_assert_int_eq(copied.version.known, versions[_i].minor >= 0);
    if (copied.version.known)
        ck_assert_int_eq(copied.version.minor, versions[_i].minor);
}
END_TEST

/* An object that was deleted before the list began again is not in the copy. */
START_TEST(expired_list)
{
    static const struct answer answers[] = {
        {"/api/v1/namespaces?limit=500", 200,
         "{\"metadata\":{\"continue\":\"t\"},\"items\":[" NAME("gone") "," NAME("stays") "]}"},
        {"/api/v1/namespaces?limit=500&continue=t", 410, "{}"},
        {"/api/v1/namespaces?limit=500", 200, "{\"items\":[" NAME("stays") "]}"},
    };
    struct ek_rehearse_copied copied;
    struct ek_err err = {0};
    EK_AUTOFREE char *path = NULL;
    char text[4096] = "";

    memcpy(first, answers, sizeof answers);
    int rc = copy(false, &copied, &path, &err);
    ck_assert_msg(!rc, "%s", err.message);
    ck_assert_uint_eq(copied.objects, 1);
    FILE *in = fopen(path, "re");
    ck_assert_ptr_nonnull(in);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, in), 0);
    fclose(in);
    ck_assert_str_eq(text, "/registry/namespaces/stays\n{\"metadata\":{\"name\":\"stays\"},"
                           "\"apiVersion\":\"v1\",\"kind\":\"Namespace\"}\n");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("copy");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, version_row, 0, EK_ARRAY_SIZE(versions));
    tcase_add_test(tcase, expired_list);
    return ek_test_run("rehearse copy of a cluster", tcase);
}
