/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of questions to one component instance: which to ask, and what the answers mean.
 *
 * A session is sans-I/O: its owner takes questions out (ek_probe_session_next), fetches them in
 * any way and order, and puts the answers in; when nothing is outstanding and no further question
 * comes, ek_probe_session_finish gives the new probe. The prober asks over the network, a
 * recording asks a folder; both therefore read servers alike.
 *
 * Rounds are light or full. A light round asks /version, /readyz and discovery with its ETags; a
 * full one also OpenAPI's info.version and /metrics, which cost the server more. A light round
 * turns into a full one by itself when the version or the discovery document has changed.
 *
 * A failed question keeps the previous probe's answer with its age (peers sheet, section 10).
 * Not thread safe.
 */
#ifndef INFORMERS_PROBE_SESSION_H
#define INFORMERS_PROBE_SESSION_H

#include "informers/client.h"
#include "informers/probe.h"

struct ek_probe_session;

/* What is asked; borrowed from the session until it is answered. */
struct ek_probe_question {
    int id;
    const char *path;
    const char *accept;
    const char *etag; /* to send as If-None-Match, NULL for none */
    bool stream;      /* hand the body over in pieces by ek_probe_session_data */
    size_t max_body;
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

/* Takes the next question into *ret_question; false when there is none until an outstanding one is
 * answered. */
bool ek_probe_session_next(struct ek_probe_session *session,
                           struct ek_probe_question *ret_question);

/* Puts in a piece of a streamed body. Returns 0 or EK_E_NOMEM. */
int ek_probe_session_data(struct ek_probe_session *session, int id, const char *data, size_t len);

/* Puts in the outcome of question id, as an ek_response_fn gets it. */
void ek_probe_session_answer(struct ek_probe_session *session, int id,
                             const struct ek_response *resp, const struct ek_err *err);

/* True when no question is outstanding and none will come. */
bool ek_probe_session_is_over(const struct ek_probe_session *session);

/* The result, one reference; to be called once, when the session is over. */
struct ek_probe *ek_probe_session_finish(struct ek_probe_session *session);

#endif
