/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may scrape: a filter in front of a route that asks the API server, as controller-runtime's
 * WithAuthenticationAndAuthorization does (ecosystem sheet, section 1, "Metrics auth"). The bearer
 * token goes into a TokenReview; its user, with the request's verb and path, into a
 * SubjectAccessReview for a nonResourceURL. The answers:
 *
 *   401 "Unauthorized"                        no bearer token, or the API server does not know it
 *   403 "Authorization denied for user X"     known, but not allowed
 *   500 "Authentication failed", "Authorization for user X failed"   a review could not be made
 *   503                                       too many reviews at once
 *
 * (For an unknown token controller-runtime says 500; 401 is what RFC 6750, section 3.1, asks for.)
 *
 * Decisions are remembered under a hash of token, verb and path: a minute when they allow, half of
 * that when they refuse; failures are not. Both memories are bounded and separate, so a flood of
 * made-up tokens does not push real scrapers out. The token itself is kept nowhere and never
 * logged. Our own identity needs create on tokenreviews and subjectaccessreviews.
 *
 * Threading: the loop's thread.
 */
#ifndef CONTROLLER_METRICS_AUTH_H
#define CONTROLLER_METRICS_AUTH_H

#include "controller/http.h"
#include "controller/log.h"
#include "informers/client.h"

struct ek_metrics_auth;

/* How reviews are sent: ek_client_send and ek_call_cancel, or what a test puts in their place. */
struct ek_reviewer {
    struct ek_call *(*send)(void *ctx, const struct ek_request *request, ek_response_fn on_done,
                            void *done_ctx); /* calls on_done later, never before it returns */
    void (*cancel)(void *ctx, struct ek_call *call);
    void *ctx;
};

struct ek_metrics_auth_config {
    struct ek_reviewer reviewer;
    int64_t (*now_ms)(void *ctx); /* a clock that does not step, such as the loop's */
    void *now_ctx;
    struct ek_log *log; /* may be NULL */
};

/* Reviews through an API client, which must outlive the filter. */
struct ek_reviewer ek_metrics_auth_client(struct ek_client *client);

struct ek_metrics_auth *ek_metrics_auth_new(const struct ek_metrics_auth_config *config);

/* Cancels reviews under way (their requests are answered 503) and frees the filter; close its
 * servers first, or at least let no request come in any more. */
void ek_metrics_auth_free(struct ek_metrics_auth *auth);

/* inner behind the filter: a route of the same path and methods. inner is copied. One filter
 * guards one route. */
struct ek_http_route ek_metrics_auth_route(struct ek_metrics_auth *auth,
                                           const struct ek_http_route *inner);

#endif
