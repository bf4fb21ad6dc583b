/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication and authorization of scrapes: a filter in front of a route that sends reviews to
 * the API server, as controller-runtime's WithAuthenticationAndAuthorization does
 * (pkg/metrics/filters/filters.go). The bearer token goes into a TokenReview; its user, with the
 * request's verb and path, into a SubjectAccessReview for a nonResourceURL. The answers:
 *
 *   401 "Unauthorized"                        no bearer token, or the API server does not know it
 *   403 "Authorization denied for user X"     known, but not allowed
 *   500 "Authentication failed", "Authorization for user X failed"   a review could not be made
 *   503                                       too many reviews at once, of all or of one source
 *
 * The route behind the filter gets the user's name in the request, escaped and cut at 160 octets.
 *
 * (For an unknown token controller-runtime says 500; 401 is what RFC 6750, section 3.1, requires.)
 *
 * Decisions are remembered under a hash of token, verb and path: a minute when they allow, half of
 * that when they refuse; failures are not. Both memories are bounded and separate, so a flood of
 * made-up tokens does not push real scrapers out. The token itself is kept nowhere and never
 * logged. Our own identity needs create on tokenreviews and subjectaccessreviews.
 *
 * Threading: the loop's thread.
 */
#ifndef CONTROLLER_HTTP_METRICS_AUTH_H
#define CONTROLLER_HTTP_METRICS_AUTH_H

#include "controller/http/handler.h"
#include "controller/telemetry/log.h"
#include "informers/client/client.h"

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

/* inner behind the filter: a route of the same path and methods, for whose path access is reviewed.
 * inner is copied; the route lives as long as the filter. One filter guards several routes, by
 * which its limits and its memory are shared. */
struct ek_http_route ek_metrics_auth_route(struct ek_metrics_auth *auth,
                                           const struct ek_http_route *inner);

#endif
