/* SPDX-License-Identifier: Apache-2.0 */
/* The memory for admission requests: how it is divided, and that a flood stays within. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "controller/webhook/memory.h"
#include "test/support/suite.h"
#include "test/support/webhook_fixture.h"

#define MIB       ((size_t)1 << 20)
#define ATTACKERS 64
#define UID       "705ab4f5-6393-11e8-b7cc-42010a800002"

START_TEST(plans)
{
    static const struct {
        size_t total;
        unsigned threads, planned;
        size_t connections;
    } rows[] = {
        {0, 4, 4, 16 * MIB},          {128 * MIB, 4, 4, 16 * MIB}, {128 * MIB, 2, 2, 32 * MIB},
        {128 * MIB, 64, 4, 16 * MIB}, {64 * MIB, 4, 2, 16 * MIB},  {32 * MIB, 4, 1, 16 * MIB},
        {1024 * MIB, 8, 8, 64 * MIB},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_webhook_memory memory;
        ek_webhook_memory_plan(rows[i].total, rows[i].threads, &memory);
        ck_assert_msg(memory.threads == rows[i].planned &&
                          memory.connections == rows[i].connections,
                      "%zu: %u %zu", i, memory.threads, memory.connections);
        ck_assert_uint_le(memory.work + memory.threads * memory.connections,
                          rows[i].total ? rows[i].total : EK_WEBHOOK_MEMORY_DEFAULT);
        ck_assert_uint_le(memory.arena, memory.work);
        ck_assert_uint_ge(memory.connections / 4 * 3, EK_WEBHOOK_BODY_MAX);
    }
}
END_TEST

START_TEST(amounts)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: refused */
    } rows[] = {
        {"128Mi", 128 * MIB},
        {"33554432", 32 * MIB},
        {"1Gi", 1024 * MIB},
        {"32768Ki", 32 * MIB},
        {"31Mi", 0},
        {"", 0},
        {"Mi", 0},
        {"128M", 0},
        {"-128Mi", 0},
        {"128MiB", 0},
        {"99999999999999999999Gi", 0},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        size_t bytes = 0;
        struct ek_err err;
        int rc = ek_webhook_memory_parse(rows[i].text, &bytes, &err);
        ck_assert_msg((rc == 0) == (rows[i].bytes > 0) && bytes == rows[i].bytes, "%s: %zu",
                      rows[i].text, bytes);
    }
}
END_TEST

static void write_limit(const char *root, const char *name, const char *text)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", root, name);
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(limits_of_containers)
{
    char root[] = "/tmp/ek-cgroup-XXXXXX";
    static const struct {
        const char *text;
        size_t bytes;
    } rows[] = {
        {"268435456\n", 128 * MIB},
        {"max\n", EK_WEBHOOK_MEMORY_DEFAULT},
        {"1048576\n", 32 * MIB},
        {"99999999999\n", 1024 * MIB},
        {"9223372036854771712\n", EK_WEBHOOK_MEMORY_DEFAULT},
    };

    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_uint_eq(ek_webhook_memory_default(root), EK_WEBHOOK_MEMORY_DEFAULT);
    EK_AUTOFREE char *folder = ek_xasprintf("%s/memory", root);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        write_limit(root, "memory/memory.limit_in_bytes", rows[i].text); /* version 1 */
        ck_assert_msg(ek_webhook_memory_default(root) == rows[i].bytes, "%s", rows[i].text);
    }
    write_limit(root, "memory.max", "536870912\n");
    ck_assert_uint_eq(ek_webhook_memory_default(root), 256 * MIB);
    EK_AUTOFREE char *max = ek_xasprintf("%s/memory.max", root);
    EK_AUTOFREE char *old = ek_xasprintf("%s/memory.limit_in_bytes", folder);
    unlink(max);
    unlink(old);
    rmdir(folder);
    rmdir(root);
}
END_TEST

/* What a body is parsed to is known before: dense arrays take many times their size. */
START_TEST(costs)
{
    ck_assert_uint_ge(ek_webhook_memory_of(EK_STR("[1,1,1,1]")), 5 * 16 + 9);
    ck_assert_uint_ge(ek_webhook_memory_of(EK_STR("{\"a\":{\"b\":1}}")), 5 * 16 + 13);
    ck_assert_uint_lt(ek_webhook_memory_of(EK_STR("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"")),
                      200);
}
END_TEST

/* The value of a series in the fixture's metrics. */
static double value_of(struct webhook_fixture *fixture, const char *series)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4 * MIB);
    ck_assert_int_eq(ek_metrics_write(fixture->metrics, EK_METRICS_TEXT, &text), 0);
    const char *at = strstr(ek_buf_str(&text), series);
    ck_assert_msg(at != NULL, "%s", series);
    return strtod(at + strlen(series), NULL);
}

static void expect_allowed_by(struct webhook_fixture *fixture, const char *target)
{
    struct webhook_client client;
    EK_AUTOFREE char *review = webhook_review("ns", UID);

    ck_assert(webhook_connect(fixture, &client));
    EK_AUTOFREE char *answer = webhook_post(&client, target, review);
    ck_assert_msg(answer && strstr(answer, "\"allowed\":true"), "%s", answer ? answer : "nothing");
    webhook_disconnect(&client);
}

static void expect_allowed(struct webhook_fixture *fixture)
{
    expect_allowed_by(fixture, "/mutate?timeout=10s");
}

/* Unfinished posts of 10 MB on all threads, by HTTPS: reviews are answered beside them. */
START_TEST(unfinished_posts)
{
    static struct webhook_fixture fixture;
    static struct webhook_client attackers[ATTACKERS];
    static const char head[] = "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                               "\r\nContent-Length: 10000000\r\n\r\n";
    static char blanks[1 << 20];

    signal(SIGPIPE, SIG_IGN);
    memset(blanks, ' ', sizeof blanks);
    fixture.memory = 64 * MIB;
    webhook_fixture_start(&fixture, 4, true, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    for (size_t i = 0; i < ATTACKERS; i++) {
        ck_assert(webhook_connect(&fixture, &attackers[i]));
        webhook_send(&attackers[i], head, sizeof head - 1);
        for (int k = 0; k < 9 && webhook_send(&attackers[i], blanks, sizeof blanks); k++)
            ;
        if (i % 8 == 0)
            expect_allowed(&fixture);
    }
    double held = value_of(
        &fixture, "evenkeel_http_memory_peak_bytes{server=\"webhook\",use=\"connections\"} ");
    double refused =
        value_of(&fixture,
                 "evenkeel_http_connections_rejected_total{server=\"webhook\",reason=\"memory\"} ");
    ck_assert_double_gt(held, 0);
    ck_assert_double_le(held, 32.0 * (double)MIB);
    ck_assert_double_gt(refused, 0);
    for (size_t i = 0; i < ATTACKERS; i++)
        webhook_disconnect(&attackers[i]);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* What can never fit is refused for good; API servers need not repeat it. */
START_TEST(dense_reviews)
{
    static struct webhook_fixture fixture;
    EK_AUTO(ek_buf) body;
    struct webhook_client client;

    ek_buf_init(&body, 4 * MIB);
    while (body.len < 3 * MIB)
        ek_buf_puts(&body, "[1,1,1,1,1,1,1,1],");
    fixture.memory = 32 * MIB;
    webhook_fixture_start(&fixture, 1, false, 0);
    webhook_fixture_publish(&fixture, webhook_snapshot(1, NULL));
    ck_assert(webhook_connect(&fixture, &client));
    EK_AUTOFREE char *answer = webhook_post(&client, "/mutate", ek_buf_str(&body));
    ck_assert_msg(answer && strstr(answer, " 413 "), "%s", answer ? answer : "nothing");
    webhook_disconnect(&client);
    expect_allowed(&fixture);
    webhook_fixture_stop(&fixture);
}
END_TEST

/* A review of an update whose objects have n members each, which differ. */
static char *dense_update(size_t n)
{
    EK_AUTOFREE char *review = webhook_review("ns", UID);
    const char *create = strstr(review, "\"CREATE\""), *size = strstr(review, "\"size\":1"),
               *old = strstr(review, "\"oldObject\":null");
    EK_AUTO(ek_buf) body;

    ek_buf_init(&body, 8 * MIB);
    ek_buf_append(&body, review, (size_t)(create - review));
    ek_buf_puts(&body, "\"UPDATE\"");
    create += strlen("\"CREATE\"");
    ek_buf_append(&body, create, (size_t)(size - create));
    ek_buf_puts(&body, "\"size\":1");
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&body, ",\"%zx\":\"\"", i);
    size += strlen("\"size\":1");
    ek_buf_append(&body, size, (size_t)(old - size));
    ek_buf_puts(&body, "\"oldObject\":{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\","
                       "\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\"},\"spec\":{\"size\":1");
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&body, ",\"%zx\":\"x\"", i);
    ek_buf_puts(&body, "}}");
    ek_buf_puts(&body, old + strlen("\"oldObject\":null"));
    ck_assert_int_eq(body.failed, 0);
    return ek_buf_steal(&body);
}

/* What takes more than there is, although nobody else is there, is decided by the policies'
 * failurePolicy: by 503 the API server would let it through, silently. */
START_TEST(alone_it_never_fits)
{
    static const struct {
        const char *policy, *want, *counted;
    } rows[] = {
        {"\"failurePolicy\":\"Fail\",", "\"allowed\":false", "denied"},
        {"\"failurePolicy\":\"Ignore\",", "\"allowed\":true,\"warnings\":[", "allowed"},
    };
    static struct webhook_fixture fixture;
    EK_AUTOFREE char *body = dense_update(41500);

    fixture.memory = 32 * MIB;
    webhook_fixture_start(&fixture, 1, false, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOFREE char *extra =
            ek_xasprintf("%s\"matchConditions\":[{\"name\":\"c\",\"expression\":"
                         "\"object.spec.map(k, k + k).map(k, k + k).size() > 0\"}]",
                         rows[i].policy);
        struct webhook_client client;
        webhook_fixture_publish(&fixture, webhook_snapshot(1, extra));
        ck_assert(webhook_connect(&fixture, &client));
        EK_AUTOFREE char *answer = webhook_post(&client, "/mutate?timeout=30s", body);
        ck_assert_msg(answer && strstr(answer, rows[i].want), "%s", answer ? answer : "nothing");
        ck_assert_ptr_nonnull(strstr(answer, "\"uid\":\"" UID "\""));
        ck_assert_ptr_nonnull(strstr(answer, "the review takes more memory than the webhook has"));
        webhook_disconnect(&client);
        EK_AUTOFREE char *series =
            ek_xasprintf("evenkeel_webhook_undecided_total{webhook=\"/mutate\","
                         "reason=\"memory\",answer=\"%s\"} ",
                         rows[i].counted);
        ck_assert_double_eq(value_of(&fixture, series), 1);
        expect_allowed(&fixture); /* nothing is kept */
    }
    webhook_fixture_stop(&fixture);
}
END_TEST

#define SLOWER 100

/* Not 0: since then, the monotonic clock of this program and libuv goes so many times slower. A
 * client that reads nothing is then not given up, however long a busy machine takes. */
static atomic_int_least64_t slow_since_ns;

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    int64_t since_ns = atomic_load(&slow_since_ns);

    if (since_ns && (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE)) {
        int64_t passed_ns = ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec - since_ns;
        int64_t ns = since_ns + passed_ns / SLOWER;
        *ts = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    }
    return rc;
}

/* Allows, with a patch of as many KiB as its name says. */
static int fatten(void *ctx, const char *name, const struct ek_admission_request *request,
                  struct ek_arena *arena, struct ek_work *work,
                  struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                  struct ek_err *err)
{
    char text[1022];

    (void)ctx;
    (void)request;
    (void)arena;
    (void)work;
    (void)err;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    *ret_patch = yyjson_mut_doc_new(NULL);
    response->patch = yyjson_mut_arr(*ret_patch);
    for (size_t i = strtoul(name, NULL, 10); i > 0; i--)
        yyjson_mut_arr_add_strcpy(*ret_patch, response->patch, text);
    response->allowed = true;
    return 0;
}

static void add_fat(struct ek_webhook *webhook)
{
    ek_webhook_add_handler(webhook, &(struct ek_webhook_handler){.path = "/fat", .review = fatten});
}

static const char answered[] =
    "controller_runtime_webhook_requests_total{webhook=\"/fat\",code=\"200\"} ";
static const char too_large[] = "evenkeel_webhook_undecided_total{webhook=\"/fat\",reason="
                                "\"too_large\",answer=\"denied\"} ";
static const char too_much[] = "evenkeel_webhook_undecided_total{webhook=\"/fat\",reason="
                               "\"memory\",answer=\"denied\"} ";

/* Asks for a patch of 4.5 MiB; a large review goes by the thread for those. */
static void ask_for_much(struct webhook_client *client, bool large)
{
    EK_AUTOFREE char *review = webhook_review("ns", UID);
    EK_AUTOFREE char *request = ek_xasprintf(
        "POST /fat/4608?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s%*s",
        strlen(review) + (large ? 70000 : 0), review, large ? 70000 : 0, "");

    ck_assert(webhook_send(client, request, strlen(request)));
}

/* While clients do not read, their answers fill what the listener may hold. Who comes then is
 * denied by uid: a 503 would let the write through wherever failurePolicy is Ignore. */
START_TEST(answers_that_do_not_fit)
{
    static struct webhook_fixture fixture;
    static struct webhook_client clients[16];
    double n_denied = 0;

    atomic_store(&slow_since_ns, (int64_t)uv_hrtime());
    fixture.memory = 128 * MIB;
    fixture.prepare = add_fat;
    webhook_fixture_start(&fixture, 1, false, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(clients); i++) {
        ck_assert(webhook_connect(&fixture, &clients[i]));
        ask_for_much(&clients[i], i % 2);
        while (value_of(&fixture, answered) < (double)(i + 1))
            sched_yield();
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(clients); i++) {
        EK_AUTOFREE char *answer = webhook_receive(&clients[i]);
        ck_assert_msg(answer && strstr(answer, " 200 OK\r\n") &&
                          strstr(answer, "\"uid\":\"" UID "\""),
                      "%zu: %.300s", i, answer ? answer : "nothing");
        n_denied += strstr(answer, "\"allowed\":false") != NULL;
        webhook_disconnect(&clients[i]);
    }
    ck_assert_double_gt(n_denied, 1);
    ck_assert_double_lt(n_denied, 16);
    ck_assert_double_eq(value_of(&fixture, too_large), n_denied);
    expect_allowed_by(&fixture, "/fat/1"); /* there is room again */
    webhook_fixture_stop(&fixture);
    atomic_store(&slow_since_ns, 0);
}
END_TEST

/* Nor is there a way to write what takes more than the work budget. */
START_TEST(answers_that_never_fit)
{
    static struct webhook_fixture fixture;
    struct webhook_client client;
    EK_AUTOFREE char *review = webhook_review("ns", UID);

    fixture.memory = 32 * MIB;
    fixture.prepare = add_fat;
    webhook_fixture_start(&fixture, 1, false, 0);
    ck_assert(webhook_connect(&fixture, &client));
    EK_AUTOFREE char *answer = webhook_post(&client, "/fat/6144", review);
    ck_assert_msg(answer && strstr(answer, "\"allowed\":false"), "%.300s",
                  answer ? answer : "nothing");
    ck_assert_ptr_nonnull(strstr(answer, "\"uid\":\"" UID "\""));
    ck_assert_double_eq(value_of(&fixture, too_much), 1);
    webhook_disconnect(&client);
    expect_allowed_by(&fixture, "/fat/1");
    webhook_fixture_stop(&fixture);
}
END_TEST

/* ---- Definitions ---- */

#define WORK (2 * MIB)

/* A review that takes memory when the test says so, and has it until the end. */
static struct {
    uv_sem_t begun, go, full, end;
    size_t bytes;
} eater;

static int eat(void *ctx, const char *name, const struct ek_admission_request *request,
               struct ek_arena *arena, struct ek_work *work, struct ek_admission_response *response,
               yyjson_mut_doc **ret_patch, struct ek_err *err)
{
    (void)ctx;
    (void)name;
    (void)request;
    (void)work;
    (void)ret_patch;
    (void)err;
    uv_sem_post(&eater.begun);
    uv_sem_wait(&eater.go);
    ck_assert_ptr_nonnull(ek_arena_try(arena, eater.bytes));
    uv_sem_post(&eater.full);
    uv_sem_wait(&eater.end);
    response->allowed = true;
    return 0;
}

static void add_eater(struct ek_webhook *webhook)
{
    ek_webhook_add_handler(webhook, &(struct ek_webhook_handler){.path = "/eat", .review = eat});
}

/* The author may read no gadgets; by the time that this is known, others have the memory. */
static const char *refuse_gadgets(const char *path, const char *body, int *ret_status)
{
    (void)body;
    (void)ret_status;
    if (!strcmp(path, "/apis/example.com/v1"))
        return "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"gadgets\",\"kind\":"
               "\"Gadget\"}]}";
    uv_sem_post(&eater.go);
    uv_sem_wait(&eater.full);
    return "{\"status\":{\"allowed\":false}}";
}

/* A policy with params, of an author of whom there is so much to say. */
static char *definition(unsigned n)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    EK_AUTO(ek_buf) body;

    ek_buf_init(&body, MIB);
    ek_buf_puts(&body,
                "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
                "\"uid\":\"" UID "\",\"kind\":{\"group\":\"evenkeel.dev\",\"version\":\"v1alpha1\","
                "\"kind\":\"MutatingAdmissionPolicy\"},\"resource\":{\"group\":\"evenkeel.dev\","
                "\"version\":\"v1alpha1\",\"resource\":\"mutatingadmissionpolicies\"},\"name\":"
                "\"p\",\"operation\":\"CREATE\",\"object\":{\"apiVersion\":\"evenkeel.dev/"
                "v1alpha1\",\"kind\":\"MutatingAdmissionPolicy\",\"metadata\":{\"name\":\"p\"},"
                "\"spec\":{\"paramKind\":{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\"},"
                "\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{\"resourceRules\":[{"
                "\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],"
                "\"resources\":[\"pods\"]}]},\"mutations\":[{\"patchType\":\"ApplyConfiguration\","
                "\"applyConfiguration\":{\"expression\":\"Object{}\"}}]}},\"userInfo\":{"
                "\"username\":\"alice\",\"extra\":{\"a\":0");
    for (unsigned i = 0; i < n; i++)
        ek_buf_printf(&body, ",\"%c%c%c\":0", digits[i / 1296], digits[i / 36 % 36],
                      digits[i % 36]);
    ek_buf_puts(&body, "}}}}");
    ck_assert_int_eq(body.failed, 0);
    return ek_buf_steal(&body);
}

/* A policy whose check never fits is denied by its uid; by an HTTP error the author learns
 * nothing but that the call failed. */
START_TEST(definitions_that_never_fit)
{
    static struct webhook_fixture fixture;
    struct webhook_client first, second;
    EK_AUTOFREE char *body = definition(7900);
    EK_AUTOFREE char *review = webhook_review("ns", UID);
    EK_AUTOFREE char *large = ek_xasprintf("%s%*s", review, 70000, "");
    EK_AUTOFREE char *request =
        ek_xasprintf("POST /eat?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                     "\r\nContent-Length: %zu\r\n\r\n%s",
                     strlen(large), large);

    ck_assert_uint_lt(strlen(body), 65536); /* else it waits for the thread that the eater has */
    eater.bytes = WORK - ek_webhook_memory_of(ek_str_from(body)) -
                  ek_webhook_memory_of(ek_str_from(large)) - ((size_t)40 << 10);
    uv_sem_init(&eater.begun, 0);
    uv_sem_init(&eater.go, 0);
    uv_sem_init(&eater.full, 0);
    uv_sem_init(&eater.end, 0);
    fixture.memory = 2 * WORK;
    fixture.prepare = add_eater;
    fixture.answer = refuse_gadgets;
    webhook_fixture_start(&fixture, 1, false, 0);
    ck_assert(webhook_connect(&fixture, &first));
    ck_assert(webhook_send(&first, request, strlen(request)));
    uv_sem_wait(&eater.begun);
    ck_assert(webhook_connect(&fixture, &second));
    EK_AUTOFREE char *answer = webhook_post(&second, "/policy-definition?timeout=30s", body);
    ck_assert_msg(answer && strstr(answer, "\"allowed\":false"), "%.300s",
                  answer ? answer : "nothing");
    ck_assert_ptr_nonnull(strstr(answer, "\"uid\":\"" UID "\""));
    ck_assert_ptr_nonnull(strstr(answer, "the review takes more memory than the webhook has"));
    ck_assert_double_eq(value_of(&fixture,
                                 "evenkeel_webhook_undecided_total{webhook=\"/policy-definition\","
                                 "reason=\"memory\",answer=\"denied\"} "),
                        1);
    uv_sem_post(&eater.end);
    webhook_disconnect(&first);
    webhook_disconnect(&second);
    webhook_fixture_stop(&fixture);
    uv_sem_destroy(&eater.begun);
    uv_sem_destroy(&eater.go);
    uv_sem_destroy(&eater.full);
    uv_sem_destroy(&eater.end);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("webhook_memory");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, plans);
    tcase_add_test(tc, amounts);
    tcase_add_test(tc, limits_of_containers);
    tcase_add_test(tc, costs);
    tcase_add_test(tc, unfinished_posts);
    tcase_add_test(tc, dense_reviews);
    tcase_add_test(tc, alone_it_never_fits);
    tcase_add_test(tc, answers_that_do_not_fit);
    tcase_add_test(tc, answers_that_never_fit);
    tcase_add_test(tc, definitions_that_never_fit);
    return ek_test_run("webhook_memory", tc);
}
