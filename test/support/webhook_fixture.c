/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/webhook_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/schema/schema.h"

/* ---- The API server ---- */

struct answer {
    uv_timer_t timer;
    ek_response_fn on_done;
    void *ctx;
    int status;
    char *body;
};

static void tell(ek_response_fn on_done, void *ctx, int status, const char *body)
{
    struct ek_response response = {.status = status,
                                   .body = {body ? body : "", body ? strlen(body) : 0},
                                   .content_type = "application/json",
                                   .etag = "",
                                   .warning = ""};
    struct ek_err err;

    if (status / 100 != 2)
        ek_err_set(&err, ek_err_from_status(status, NULL), "the server says %d", status);
    on_done(ctx, &response, status / 100 == 2 ? NULL : &err);
}

static void on_answer_closed(uv_handle_t *handle)
{
    struct answer *answer = handle->data;

    ek_free(answer->body);
    ek_free(answer);
}

static void on_answer_due(uv_timer_t *timer)
{
    struct answer *answer = timer->data;

    tell(answer->on_done, answer->ctx, answer->status, answer->body);
    uv_close((uv_handle_t *)timer, on_answer_closed);
}

static struct ek_call *send_question(void *ctx, const struct ek_request *request,
                                     ek_response_fn on_done, void *done_ctx)
{
    struct webhook_fixture *fixture = ctx;
    EK_AUTOFREE char *body = ek_xstrndup(request->body ? request->body : "", request->body_size);

    atomic_fetch_add(&fixture->asked, 1);
    if (!fixture->answer) {
        ck_assert_uint_lt(fixture->n_held, WEBHOOK_HELD_MAX);
        struct webhook_held *held = &fixture->held[fixture->n_held++];
        snprintf(held->path, sizeof held->path, "%s", request->path);
        held->body = ek_xstrdup(body);
        held->on_done = on_done;
        held->ctx = done_ctx;
        return (struct ek_call *)held;
    }
    struct answer *answer = ek_xalloc(sizeof *answer);
    answer->on_done = on_done;
    answer->ctx = done_ctx;
    answer->status = 200;
    answer->body = ek_xstrdup(fixture->answer(request->path, body, &answer->status));
    uv_timer_init(&fixture->loop, &answer->timer);
    answer->timer.data = answer;
    uv_timer_start(&answer->timer, on_answer_due, 0, 0);
    return (struct ek_call *)answer;
}

static void cancel_question(void *ctx, struct ek_call *call)
{
    struct webhook_fixture *fixture = ctx;

    (void)call;
    atomic_fetch_add(&fixture->canceled, 1);
}

/* ---- The control loop ---- */

static void on_async(uv_async_t *async)
{
    struct webhook_fixture *fixture = async->data;
    void (*task)(struct webhook_fixture *) = fixture->task;

    if (!task)
        return;
    fixture->task = NULL;
    task(fixture);
    uv_sem_post(&fixture->done);
}

static void run_loop(void *arg)
{
    struct webhook_fixture *fixture = arg;

    uv_run(&fixture->loop, UV_RUN_DEFAULT);
}

void webhook_fixture_run(struct webhook_fixture *fixture,
                         void (*task)(struct webhook_fixture *fixture), void *arg)
{
    fixture->task = task;
    fixture->task_arg = arg;
    uv_async_send(&fixture->async);
    uv_sem_wait(&fixture->done);
}

static void renew(struct webhook_fixture *fixture)
{
    struct testpki_cert leaf = testpki_issue(
        &fixture->authority,
        &(struct testpki_spec){.common_name = "webhook", .names = "DNS:localhost,IP:127.0.0.1"});
    struct ssl_ctx_st *context = NULL;
    struct ek_err err;

    ck_assert_msg(ek_tls_context_new(ek_str_from(leaf.cert), ek_str_from(leaf.key), "test",
                                     &context, &err) == 0,
                  "%s", err.message);
    ek_tls_identity_set(fixture->identity, context);
    testpki_done(&leaf);
}

void webhook_fixture_renew(struct webhook_fixture *fixture)
{
    webhook_fixture_run(fixture, renew, NULL);
}

static void start_task(struct webhook_fixture *fixture)
{
    struct ek_err err;

    ck_assert_msg(fixture->runnable.start(fixture->runnable.ctx, &err) == 0, "%s", err.message);
}

void webhook_fixture_start(struct webhook_fixture *fixture, unsigned threads, bool tls,
                           int64_t grace_ms)
{
    uv_loop_init(&fixture->loop);
    uv_async_init(&fixture->loop, &fixture->async, on_async);
    fixture->async.data = fixture;
    uv_sem_init(&fixture->done, 0);
    uv_sem_init(&fixture->stopped, 0);
    fixture->metrics = ek_metrics_new();
    ek_standard_metrics_init(&fixture->standard, fixture->metrics);
    fixture->http = ek_http_metrics_new(fixture->metrics);
    if (tls) {
        fixture->identity = ek_tls_identity_new();
        fixture->authority = testpki_authority("webhook test");
        renew(fixture);
    }
    fixture->webhook = ek_webhook_new(&(struct ek_webhook_config){
        .loop = &fixture->loop,
        .bind_address = "127.0.0.1:0",
        .threads = threads,
        .identity = fixture->identity,
        .reviewer = {.send = send_question, .cancel = cancel_question, .ctx = fixture},
        .grace_ms = grace_ms,
        .refuse_unproven = fixture->refuse_unproven,
        .memory = fixture->memory,
        .http = fixture->http,
        .metrics = fixture->metrics,
        .standard = &fixture->standard});
    if (fixture->prepare)
        fixture->prepare(fixture->webhook);
    ek_webhook_runnable(fixture->webhook, &fixture->runnable);
    ck_assert_int_eq(uv_thread_create(&fixture->thread, run_loop, fixture), 0);
    webhook_fixture_run(fixture, start_task, NULL);
}

static void on_stopped(void *token)
{
    struct webhook_fixture *fixture = token;

    uv_close((uv_handle_t *)&fixture->async, NULL);
    uv_sem_post(&fixture->stopped);
}

static void stop_task(struct webhook_fixture *fixture)
{
    fixture->runnable.stop(fixture->runnable.ctx, on_stopped, fixture);
}

void webhook_fixture_begin_stop(struct webhook_fixture *fixture)
{
    webhook_fixture_run(fixture, stop_task, NULL);
    fixture->runnable.stop = NULL;
}

void webhook_fixture_stop(struct webhook_fixture *fixture)
{
    if (fixture->runnable.stop)
        webhook_fixture_begin_stop(fixture);
    uv_sem_wait(&fixture->stopped);
    uv_thread_join(&fixture->thread);
    ck_assert_int_eq(uv_loop_close(&fixture->loop), 0);
    ek_webhook_free(fixture->webhook);
    ek_http_metrics_free(fixture->http);
    ek_metrics_free(fixture->metrics);
    ek_tls_identity_free(fixture->identity);
    testpki_done(&fixture->authority);
    for (size_t i = 0; i < fixture->n_held; i++)
        ek_free(fixture->held[i].body);
    uv_sem_destroy(&fixture->done);
    uv_sem_destroy(&fixture->stopped);
}

static void count_held(struct webhook_fixture *fixture)
{
    *(size_t *)fixture->task_arg = fixture->n_held;
}

void webhook_fixture_wait_held(struct webhook_fixture *fixture, size_t n)
{
    size_t held = 0;

    while (held < n) {
        webhook_fixture_run(fixture, count_held, &held);
        sched_yield();
    }
}

struct to_tell {
    int status;
    const char *body;
};

static void answer_task(struct webhook_fixture *fixture)
{
    const struct to_tell *what = fixture->task_arg;
    size_t n = fixture->n_held;

    fixture->n_held = 0;
    for (size_t i = 0; i < n; i++) {
        struct webhook_held held = fixture->held[i];
        tell(held.on_done, held.ctx, what->status, what->body);
        ek_free(held.body);
    }
}

void webhook_fixture_answer_held(struct webhook_fixture *fixture, int status, const char *body)
{
    struct to_tell what = {status, body};

    webhook_fixture_run(fixture, answer_task, &what);
}

static void publish_task(struct webhook_fixture *fixture)
{
    ek_webhook_publish(fixture->webhook, fixture->task_arg);
}

void webhook_fixture_publish(struct webhook_fixture *fixture, struct ek_webhook_snapshot *snapshot)
{
    webhook_fixture_run(fixture, publish_task, snapshot);
}

unsigned short webhook_fixture_port(const struct webhook_fixture *fixture)
{
    const char *address = ek_webhook_address(fixture->webhook);

    return (unsigned short)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

/* ---- Policies ---- */

static struct ek_obj *parse_object(const char *json)
{
    struct ek_obj *obj = NULL;
    struct ek_err err;

    ck_assert_msg(ek_obj_parse(json, strlen(json), &obj, &err) == 0, "%s: %s", err.message, json);
    return obj;
}

static const struct ek_policy *make_policy(size_t i, const char *extra)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"MutatingAdmissionPolicy\","
        "\"metadata\":{\"name\":\"p%zu\",\"annotations\":{\"evenkeel.dev/safety\":\"Exact\"}},"
        "\"spec\":{\"reinvocationPolicy\":\"Never\","
        "\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"example.com\"],"
        "\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\",\"UPDATE\"],\"resources\":["
        "\"widgets\"]}]},"
        "\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{"
        "\"expression\":\"Object{metadata: Object.metadata{labels: {\\\"p%zu\\\": "
        "\\\"x\\\"}}}\"}}]%s%s}}",
        i, i, extra ? "," : "", extra ? extra : "");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse_object(json);
    const struct ek_policy *policy = ek_policy_new(obj, 0);

    ck_assert_msg(policy->n_problems == 0, "%s", policy->problems ? policy->problems[0] : "");
    return policy;
}

static const struct ek_binding *make_binding(size_t i)
{
    EK_AUTOFREE char *json =
        ek_xasprintf("{\"apiVersion\":\"admissionregistration.k8s.io/v1\","
                     "\"kind\":\"MutatingAdmissionPolicyBinding\",\"metadata\":{\"name\":\"b%zu\"},"
                     "\"spec\":{\"policyName\":\"p%zu\"}}",
                     i, i);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = parse_object(json);

    return ek_binding_new(obj);
}

static void add_policies(struct ek_webhook_snapshot *snapshot, size_t n, const char *extra)
{
    struct ek_bound *bound = ek_xalloc((n + 1) * sizeof *bound);

    for (size_t i = 0; i < n; i++)
        bound[i] = (struct ek_bound){
            .policy = make_policy(i, extra), .binding = make_binding(i), .apply = true};
    ek_webhook_snapshot_add_policies(snapshot, "", bound, n);
    for (size_t i = 0; i < n; i++) {
        ek_policy_unref(bound[i].policy);
        ek_binding_unref(bound[i].binding);
    }
    ek_free(bound);
}

static const char crd[] =
    "{\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"kind\":\"Widget\","
    "\"plural\":\"widgets\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"
    "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";

struct ek_webhook_snapshot *webhook_snapshot_early(size_t n, const char *extra)
{
    struct ek_webhook_snapshot *snapshot = ek_webhook_snapshot_new();
    EK_AUTOPTR(ek_obj, ek_obj_unref) *namespace = parse_object(
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"ns\"}}");
    EK_AUTOPTR(ek_object_list, ek_object_list_unref) *namespaces =
        ek_object_list_new(&namespace, 1);

    ek_webhook_snapshot_set_namespaces(snapshot, namespaces);
    add_policies(snapshot, n, extra);
    return snapshot;
}

struct ek_webhook_snapshot *webhook_snapshot(size_t n, const char *extra)
{
    struct ek_webhook_snapshot *snapshot = webhook_snapshot_early(n, extra);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *definition = parse_object(crd);
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
    struct ek_err err;

    ck_assert_msg(ek_schema_compile_crd(ek_obj_root(definition), "v1", &schema, &err) == 0, "%s",
                  err.message);
    ek_webhook_snapshot_add_schema(snapshot, "example.com", "v1", schema);
    return snapshot;
}

/* ---- Clients ---- */

static SSL *start_tls(const struct webhook_fixture *fixture, int fd)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO *bio = BIO_new_mem_buf(fixture->authority.cert, -1);
    X509 *authority = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    SSL *ssl;

    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
    X509_free(authority);
    BIO_free(bio);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    ssl = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set1_host(ssl, "localhost");
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

bool webhook_connect(const struct webhook_fixture *fixture, struct webhook_client *ret_client)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons(webhook_fixture_port(fixture))};
    struct timeval limit = {.tv_sec = 600};
    int on = 1;

    *ret_client = (struct webhook_client){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    setsockopt(ret_client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(ret_client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(ret_client->fd, (struct sockaddr *)&addr, sizeof addr) == 0 &&
        (!fixture->identity || (ret_client->ssl = start_tls(fixture, ret_client->fd)) != NULL))
        return true;
    close(ret_client->fd);
    return false;
}

void webhook_disconnect(struct webhook_client *client)
{
    SSL_free(client->ssl);
    close(client->fd);
}

bool webhook_send(struct webhook_client *client, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = client->ssl ? SSL_write(client->ssl, p, size < 16384 ? (int)size : 16384)
                                : send(client->fd, p, size, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static bool read_more(struct webhook_client *client, struct ek_buf *got)
{
    char piece[16384];
    ssize_t n = client->ssl ? SSL_read(client->ssl, piece, sizeof piece)
                            : TEMP_FAILURE_RETRY(recv(client->fd, piece, sizeof piece, 0));

    return n > 0 && !ek_buf_append(got, piece, (size_t)n);
}

char *webhook_receive(struct webhook_client *client)
{
    EK_AUTO(ek_buf) got;
    const char *end;

    ek_buf_init(&got, (size_t)64 << 20);
    while (!(end = strstr(ek_buf_str(&got), "\r\n\r\n")))
        if (!read_more(client, &got))
            return NULL;
    const char *length = strcasestr(ek_buf_str(&got), "\r\ncontent-length: ");
    size_t whole = (size_t)(end - ek_buf_str(&got)) + 4 +
                   (length ? strtoul(length + strlen("\r\ncontent-length: "), NULL, 10) : 0);
    while (got.len < whole)
        if (!read_more(client, &got))
            return NULL;
    return ek_buf_steal(&got);
}

char *webhook_post(struct webhook_client *client, const char *target, const char *body)
{
    EK_AUTOFREE char *request =
        ek_xasprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     target, strlen(body), body);

    return webhook_send(client, request, strlen(request)) ? webhook_receive(client) : NULL;
}

char *webhook_review(const char *namespace, const char *uid)
{
    return ek_xasprintf(
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
        "\"uid\":\"%s\",\"kind\":{\"group\":\"example.com\",\"version\":\"v1\",\"kind\":"
        "\"Widget\"},\"resource\":{\"group\":\"example.com\",\"version\":\"v1\",\"resource\":"
        "\"widgets\"},\"requestKind\":{\"group\":\"example.com\",\"version\":\"v1\",\"kind\":"
        "\"Widget\"},\"requestResource\":{\"group\":\"example.com\",\"version\":\"v1\","
        "\"resource\":\"widgets\"},\"name\":\"c\",\"namespace\":\"%s\",\"operation\":\"CREATE\","
        "\"userInfo\":{\"username\":\"jane\",\"uid\":\"7\",\"groups\":[\"devs\"],\"extra\":{"
        "\"scope\":[\"a\"]}},\"object\":{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\","
        "\"metadata\":{\"name\":\"c\",\"namespace\":\"%s\"},\"spec\":{\"size\":1}},"
        "\"oldObject\":null,\"dryRun\":false,\"options\":null}}",
        uid, namespace, namespace);
}
