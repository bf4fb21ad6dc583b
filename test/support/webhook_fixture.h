/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An admission webhook on a control loop in a thread of its own, and an API server that a test
 * scripts: for tests and for the bench. Clients are the test's own threads, blocking.
 */
#ifndef TEST_SUPPORT_WEBHOOK_FIXTURE_H
#define TEST_SUPPORT_WEBHOOK_FIXTURE_H

#include <openssl/ssl.h>
#include <stdatomic.h>

#include "controller/webhook/webhook.h"
#include "test/support/testpki.h"

#define WEBHOOK_HELD_MAX 64

/* A request of the webhook to the API server, when the test answers by hand. */
struct webhook_held {
    char path[256];
    char *body;
    ek_response_fn on_done;
    void *ctx;
};

struct webhook_fixture {
    uv_loop_t loop;
    uv_thread_t thread;
    uv_async_t async; /* runs the task below on the loop */
    uv_sem_t done, stopped;
    void (*task)(struct webhook_fixture *fixture);
    void *task_arg;
    struct ek_webhook *webhook;
    struct ek_runnable runnable;
    struct ek_metrics *metrics;
    struct ek_http_metrics *http;
    size_t memory; /* for requests; 0: the default */
    struct ek_standard_metrics standard;
    struct ek_tls_identity *identity;
    struct testpki_cert authority;
    atomic_uint asked; /* requests so far */
    /* Answers a question: a body, or NULL with an HTTP status. Called on the control loop. NULL:
     * questions are held until the test answers. */
    const char *(*answer)(const char *path, const char *body, int *ret_status);
    bool refuse_unproven;
    void (*prepare)(struct ek_webhook *webhook); /* called before the start; NULL: nothing */
    struct webhook_held held[WEBHOOK_HELD_MAX];
    size_t n_held;
    atomic_uint canceled;
};

/* Starts a webhook with a leaf for localhost of an authority of its own. tls false: plain HTTP.
 * The fixture is zeroed by the caller, who may set answer and
 * prepare. */
void webhook_fixture_start(struct webhook_fixture *fixture, unsigned threads, bool tls,
                           int64_t grace_ms);

/* Begins to stop; waits until it has stopped and releases everything. */
void webhook_fixture_begin_stop(struct webhook_fixture *fixture);
void webhook_fixture_stop(struct webhook_fixture *fixture);

/* Runs task on the control loop and waits for it. */
void webhook_fixture_run(struct webhook_fixture *fixture,
                         void (*task)(struct webhook_fixture *fixture), void *arg);

/* Waits until n questions are held, then answers all of them. */
void webhook_fixture_wait_held(struct webhook_fixture *fixture, size_t n);
void webhook_fixture_answer_held(struct webhook_fixture *fixture, int status, const char *body);

/* Publishes a snapshot from any thread; takes it. */
void webhook_fixture_publish(struct webhook_fixture *fixture, struct ek_webhook_snapshot *snapshot);

/* Serves a new leaf from now on. */
void webhook_fixture_renew(struct webhook_fixture *fixture);

/* The port. */
unsigned short webhook_fixture_port(const struct webhook_fixture *fixture);

/* ---- Policies ---- */

/* A snapshot with the Namespace "ns", the schema of example.com/v1 Widgets, and n policies, in the
 * set "", that set labels "p0", "p1", ... of Widgets, to "x", with
 * safety Exact. extra (may be NULL) is added to the spec of
 * each: a JSON text of members. */
struct ek_webhook_snapshot *webhook_snapshot(size_t n, const char *extra);

/* The same when the schema has not come yet. */
struct ek_webhook_snapshot *webhook_snapshot_early(size_t n, const char *extra);

/* ---- Clients ---- */

/* A connection: TLS that trusts the fixture's authority when the webhook has TLS. */
struct webhook_client {
    int fd;
    SSL *ssl;
};

bool webhook_connect(const struct webhook_fixture *fixture, struct webhook_client *ret_client);
void webhook_disconnect(struct webhook_client *client);

/* Sends bytes as they are; reads one answer by its Content-Length: owned, NULL at the end of the
 * stream. */
bool webhook_send(struct webhook_client *client, const void *data, size_t size);
char *webhook_receive(struct webhook_client *client);

/* A POST of a review of a Widget in a namespace; the answer as above. */
char *webhook_post(struct webhook_client *client, const char *target, const char *body);
char *webhook_review(const char *namespace, const char *uid);

#endif
