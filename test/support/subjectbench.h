/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subjects in the frame, against the built-in API server: what a process gives to its subjects
 * (controller/manager/subject.h), and texts to wait for. A test starts the bench with the subjects
 * and runs each, once or again. Before a run, the test may change the environment.
 *
 * Failures fail the test. Threading: the loop of world.
 */
#ifndef TEST_SUPPORT_SUBJECTBENCH_H
#define TEST_SUPPORT_SUBJECTBENCH_H

#include "controller/manager/subject.h"
#include "test/support/apiworld.h"

#define SUBJECTBENCH_MAX      4
#define SUBJECTBENCH_TEXT_MAX ((size_t)8 << 20) /* of metrics and topics */

/* Events of the namespace default. */
#define SUBJECTBENCH_EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
#define SUBJECTBENCH_SECRET "/api/v1/namespaces/default/secrets/evenkeel-webhook-cert"
#define SUBJECTBENCH_CRDS   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* One subject. */
struct subjectbench_slot {
    const struct ek_subject *subject;
    struct ek_controller *controller; /* NULL: it is not at work */
    struct ek_runnable watch, runner;
    bool leads; /* may write; true from the start of the bench */
    int n_closed;
    struct ek_err lost; /* of the first subject: of the last Event that the server refused */
};

struct subjectbench {
    struct apiworld world;
    struct ek_metrics *metrics;
    struct ek_standard_metrics standard;
    struct ek_registry *registry;
    struct ek_recorder *recorder; /* records while the first subject leads */
    struct ek_controller_row rows[SUBJECTBENCH_MAX];
    struct subjectbench_slot slots[SUBJECTBENCH_MAX];
    size_t n;
    /* Of subjects that register webhooks: NULL before subjectbench_serve. */
    struct ek_tls_identity *identity;
    struct ek_webhook_certs *certs;
    struct ek_webhook *webhook;
    struct ek_runnable serving;
};

/* What now_ms of every environment returns: 2026-11-20T11:00:00Z, unless a test changes it. */
extern int64_t subjectbench_now;

/* Starts the API server, and what n (1 to SUBJECTBENCH_MAX) subjects share. rules: as for
 * apiworld_start. */
void subjectbench_start(struct subjectbench *bench, const char *rules,
                        const struct ek_subject *const *subjects, size_t n);

/* Makes a webhook, with the certificates of the Secret SUBJECTBENCH_SECRET, which the subject of
 * certificates makes and reads (controller/certificates/subject.h). To be called before the
 * subjects are made; the test starts the runnable `serving` after that, and publishes a snapshot:
 * before, the webhook is not ready. */
void subjectbench_serve(struct subjectbench *bench);

/* The bundle has changed: all subjects that register webhooks write. */
void subjectbench_write_registrations(struct subjectbench *bench);

/* The environment of the i-th subject. */
struct ek_subject_env subjectbench_env(struct subjectbench *bench, size_t i);

/* Makes the controller of the i-th subject; starts neither of its runnables. env NULL: as
 * subjectbench_env has it. */
struct ek_controller *subjectbench_make(struct subjectbench *bench, size_t i,
                                        const struct ek_subject_env *env);

/* The same, and starts both runnables, the runner without waiting for the informers. */
struct ek_controller *subjectbench_run(struct subjectbench *bench, size_t i,
                                       const struct ek_subject_env *env);

/* Starts one runnable. */
void subjectbench_start_runnable(const struct ek_runnable *runnable);

/* Closes the i-th subject, and waits until it is closed. */
void subjectbench_close(struct subjectbench *bench, size_t i);

/* Closes all that is left and ends the loop. */
void subjectbench_stop(struct subjectbench *bench);

/* Lets the loop turn, by a request and its answer. */
void subjectbench_turn(struct subjectbench *bench);

/* Appends the metrics, or all topics of `evenkeel debug`. */
void subjectbench_metrics(struct subjectbench *bench, struct ek_buf *out);
void subjectbench_debug(struct subjectbench *bench, struct ek_buf *out);

/* Turns the loop until the metrics, or the topics, have piece in them. */
void subjectbench_wait_for_metrics(struct subjectbench *bench, const char *piece);
void subjectbench_wait_for_debug(struct subjectbench *bench, const char *piece);

/* Creates an object, which must succeed. */
void subjectbench_post(struct subjectbench *bench, const char *path, const char *body);

/* Checks that the answer to a GET of path does not have piece in it, now. */
void subjectbench_check_absent(struct subjectbench *bench, const char *path, const char *piece);

#endif
