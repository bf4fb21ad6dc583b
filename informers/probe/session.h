/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of questions to one component instance: which to ask, and what the answers mean.
 *
 * A session is sans-I/O: its owner takes questions out (ek_probe_session_next), fetches them in
 * any way and order, and puts the answers in; when nothing is outstanding and no further question
 * comes, ek_probe_session_finish gives the new probe. The prober sends the requests over the
 * network, a recording reads a folder; both interpret answers alike.
 *
 * Rounds are light or full. A light round requests /version, /readyz and discovery with its ETags;
 * a full one also OpenAPI's info.version and /metrics, which cost the server more. A light round
 * turns into a full one by itself when the version or the discovery document has changed.
 *
 * A request that fails keeps the previous probe's answer and its age.
 * Not thread safe.
 */
#ifndef INFORMERS_PROBE_SESSION_H
#define INFORMERS_PROBE_SESSION_H

#include "informers/client/client.h"
#include "informers/probe/probe.h"

struct ek_probe_session;

/* One request; borrowed from the session until it is answered. */
struct ek_probe_question {
    int id;
    const char *path;
    const char *accept;
    const char *etag; /* to send as If-None-Match, NULL for none */
    bool stream;      /* hand the body over in pieces by ek_probe_session_data */
    size_t max_body;
};

/*
 * Sees what the answers of a target's rounds are, before the session does: for a recording of them.
 * component and address name the target; everything is borrowed for the call.
 */
struct ek_probe_tap {
    /* A piece of the metrics page. */
    void (*data)(void *ctx, const char *component, const char *address, const char *data,
                 size_t len);
    /* The outcome of a question, as an ek_response_fn gets it. */
    void (*answer)(void *ctx, const char *component, const char *address, const char *path,
                   const struct ek_response *resp, const struct ek_err *err);
    void *ctx;
};

/*
 * Starts a round for an API server (component "kube-apiserver") or another component. previous
 * (NULL for none) is what the last round gave; a reference is kept. now_ms is the wall clock,
 * stamped on every answer of the round.
 */
struct ek_probe_session *ek_probe_session_new(const char *component,
                                              const struct ek_probe *previous, bool full,
                                              int64_t now_ms);
void ek_probe_session_free(struct ek_probe_session *session);

/* Leaves out OpenAPI and /metrics: a full round then is one that reads the lists of a server
 * without aggregated discovery. To be called before the first ek_probe_session_next. */
void ek_probe_session_documents_only(struct ek_probe_session *session);

/* Requests /flagz as well, of an API server. To be called before the first
 * ek_probe_session_next. */
void ek_probe_session_ask_flagz(struct ek_probe_session *session);

/* Takes the next question into *ret_question; false when there is none until an outstanding one is
 * answered. */
bool ek_probe_session_next(struct ek_probe_session *session,
                           struct ek_probe_question *ret_question);

/* Hands over a piece of a streamed body. Returns 0 or EK_E_NOMEM. */
int ek_probe_session_data(struct ek_probe_session *session, int id, const char *data, size_t len);

/* Hands over the result of question id, with the arguments of an ek_response_fn. */
void ek_probe_session_answer(struct ek_probe_session *session, int id,
                             const struct ek_response *resp, const struct ek_err *err);

/* Ends a round that cannot begin, because there is no token to show: every question fails with err.
 * To be called before the first ek_probe_session_next. */
void ek_probe_session_no_token(struct ek_probe_session *session, const struct ek_err *err);

/* True when no question is outstanding and none will come. */
bool ek_probe_session_is_over(const struct ek_probe_session *session);

/* The result, one reference; to be called once, when the session is over. */
struct ek_probe *ek_probe_session_finish(struct ek_probe_session *session);

#endif
