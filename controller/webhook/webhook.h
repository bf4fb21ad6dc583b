/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission webhook: what API servers ask before they store an object. It carries out mutating
 * policies (reconcilers/mutation/engine.h); which there are and where requests come from is
 * decided elsewhere, on the control loop, and handed over as snapshots.
 *
 *   /mutate, /mutate/<name>       POST of an AdmissionReview; its policies are those of the
 *                                 snapshot's set of that name
 *   /validate, /validate/<name>   likewise, when all mutators have run: whether what those policies
 *                                 set is still there (reconcilers/mutation/safety.h)
 *   /policy-definition            likewise of policies and bindings of evenkeel.dev themselves,
 *                                 when they are written (reconcilers/mutation/definition.h)
 *
 * Other subjects answer reviews under paths of their own (struct ek_webhook_handler), with the same
 * limits, refusals and counts.
 *
 * Answers: 200 with an AdmissionReview, also for denials; 400 for what is no review; 413 for a body
 * that no API server sends; 503 with Retry-After before the first snapshot, for a name without a
 * set, and while the memory for requests is used up. The API server repeats the review after a 503,
 * and applies the registration's failurePolicy to the other errors.
 *
 * A request that the engine could not finish, for its limits or for the time, is decided all the
 * same, in an answer that still reaches the API server: it is denied with code 500, unless all
 * policies that match it ignore failures; then it is allowed with a warning and an audit annotation
 * ("undecided"). Either is counted (evenkeel_webhook_undecided_total). The time is what the API
 * server gives (?timeout=10s) from the first byte of the request, less a quarter, at most two
 * seconds: an answer that comes too late would be decided by the failurePolicy of the registration,
 * and with Ignore an object would be stored that no policy has seen.
 *
 * Model: N serving threads, each with a loop, a listening socket on the same port (SO_REUSEPORT)
 * and a memory of its own for access reviews. A thread takes a reference to the newest snapshot for
 * each request and evaluates without any lock; data that only the API server has is requested on
 * the control loop, and the evaluation starts again when the answers have arrived.
 *
 * Callers. A review whose sender is not proven to be an API server (ek_webhook_set_callers) may be
 * forged. It is answered like any other, for addresses may be rewritten on the way, but no count,
 * fight, Event or metric of a policy or gate follows from it, params of kind Secret are not given
 * to it, and nobody's access is reviewed for it: an authorizer fails, so that a policy or binding
 * with params is denied to all but system:masters. A Namespace that is not known is read for it, in
 * a share of the requests (asks.h). With refuse_unproven, all are refused. Where the identity has
 * clients set (controller/http/tls.h), every client that completes the handshake is proven.
 *
 * Start and stop follow controller-runtime's webhooks (pkg/webhook/server.go: DefaultServer):
 * manager group WEBHOOKS, port 9443, requests under way are finished when stopping. Every replica
 * serves.
 *
 * Threading: all functions are for the control loop's thread.
 */
#ifndef CONTROLLER_WEBHOOK_WEBHOOK_H
#define CONTROLLER_WEBHOOK_WEBHOOK_H

#include "controller/http/meter_metrics.h"
#include "controller/http/metrics_auth.h"
#include "controller/http/tls.h"
#include "controller/manager/manager.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/standard_metrics.h"
#include "controller/webhook/callers.h"
#include "controller/webhook/snapshot.h"
#include "reconcilers/mutation/safety.h"

#define EK_WEBHOOK_THREADS_MAX  64
#define EK_WEBHOOK_HANDLERS_MAX 8

struct ek_webhook;

/* What is pointed to is borrowed and must outlive the webhook. */
struct ek_webhook_config {
    uv_loop_t *loop;                  /* the control loop */
    const char *bind_address;         /* ":9443"; "0": no webhook. Copied */
    unsigned threads;                 /* 0 means one per core, at most 4; fewer where the memory
                                         is too little for so many */
    struct ek_tls_identity *identity; /* NULL: plain HTTP, for tests */
    size_t memory;                    /* bytes for requests: see controller/webhook/memory.h; 0:
                                         the default without a limit of the container */
    struct ek_http_metrics *http;     /* counts connections and bytes; may be NULL */
    struct ek_reviewer reviewer;      /* sends reviews to the API server; send NULL: no reviews */
    int64_t grace_ms;                 /* for requests under way when stopping; 0 means 25 s, below
                                         the manager's 30 */
    int64_t linger_ms;                /* of which it goes on serving new requests: see
                                         ek_http_server_close */
    bool refuse_unproven;             /* reviews of callers that are not proven */
    struct ek_metrics *metrics;       /* may be NULL */
    struct ek_standard_metrics *standard; /* registered in metrics; NULL with it */
    struct ek_log *log;                   /* may be NULL */
};

/* Called with the outcome of each request, on serving threads, concurrently; everything is
 * borrowed. */
struct ek_webhook_observer {
    /* A request that the engine finished. */
    void (*judged)(void *ctx, const struct ek_admission_request *request,
                   const struct ek_mutation_outcome *outcome);
    /* One whose safety was checked. */
    void (*checked)(void *ctx, const struct ek_admission_request *request,
                    const struct ek_safety_outcome *outcome);
    /* One that could not be judged, and was let through because every policy for it says
     * failurePolicy: Ignore; policy is the first of them. */
    void (*undecided)(void *ctx, const struct ek_admission_request *request,
                      const struct ek_policy *policy, const char *why, bool validate);
    void *ctx;
};

/*
 * Answers the reviews of one path.
 *
 * review is called on serving threads, many at once, and must neither block nor lock for long. name
 * is the part of the path behind path and "/", as it was sent (percent-encoded); "" for path
 * itself. *response is zeroed but for the uid, which the webhook sets; the members of the response
 * live in arena, which is the request's own, or longer. work ends with the time of the request; a
 * review that is undecided then is to be denied. *ret_patch (NULL when called) is for
 * response->patch, which usually is its root; the webhook releases *ret_patch after writing.
 *
 * Returns 0, or the HTTP status of a refusal (4xx or 5xx), with the text in err->message; the API
 * server then applies the failurePolicy of the registration. 0 with err set: the review could not
 * be decided for the reason err->message, and the response is the consequence; the webhook counts
 * and logs this.
 */
struct ek_webhook_handler {
    const char *path; /* "/gates": serves "/gates" and "/gates/<name>"; borrowed */
    int (*review)(void *ctx, const char *name, const struct ek_admission_request *request,
                  struct ek_arena *arena, struct ek_work *work,
                  struct ek_admission_response *response, yyjson_mut_doc **ret_patch,
                  struct ek_err *err);
    void *ctx;
};

struct ek_webhook *ek_webhook_new(const struct ek_webhook_config *config);

/* Sets the observer, which is copied; before the start. */
void ek_webhook_set_observer(struct ek_webhook *webhook,
                             const struct ek_webhook_observer *observer);

/* Adds a handler, which is copied; before the start. There are at most EK_WEBHOOK_HANDLERS_MAX, of
 * different paths. */
void ek_webhook_add_handler(struct ek_webhook *webhook, const struct ek_webhook_handler *handler);

/* Makes snapshot the one that requests are judged by from now on. Takes the reference. Before the
 * start, too. */
void ek_webhook_publish(struct ek_webhook *webhook, struct ek_webhook_snapshot *snapshot);

/* The addresses whose reviews are proven to be an API server's; takes the reference. NULL, as it is
 * at first: all are. Before the start, too. */
void ek_webhook_set_callers(struct ek_webhook *webhook, struct ek_webhook_callers *callers);

/* The runnable (group WEBHOOKS) that starts and stops it. */
void ek_webhook_runnable(struct ek_webhook *webhook, struct ek_runnable *ret_runnable);

/* Where it listens, "[::]:9443"; "" when it does not. Borrowed. */
const char *ek_webhook_address(const struct ek_webhook *webhook);

/* For /readyz: 0 when requests can be answered, else EK_E_TIMEOUT saying what is missing. A webhook
 * that is off is ready. ctx is the webhook. */
int ek_webhook_check_ready(void *ctx, struct ek_err *err);

/* How it is doing, for debugging. */
struct ek_webhook_status {
    const char *address;       /* ek_webhook_address */
    unsigned threads;          /* that serve, or are to */
    struct ek_err not_ready;   /* why it is not ready; code 0: it is */
    int64_t cert_not_after_ms; /* of what is served; EK_TIME_UNSET without a certificate */
    struct ek_webhook_snapshot *snapshot; /* a reference; NULL before the first */
};

/* Release with ek_webhook_status_done. */
void ek_webhook_status(struct ek_webhook *webhook, struct ek_webhook_status *ret_status);
void ek_webhook_status_done(struct ek_webhook_status *status);

/* Releases it after its runnable has stopped, or if it was never started. NULL is fine. */
void ek_webhook_free(struct ek_webhook *webhook);

#endif
