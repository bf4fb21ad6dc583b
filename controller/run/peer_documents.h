/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents that the discovery endpoint of `evenkeel run` reads from API servers when a client asks
 * for them: /openapi/v2, /openapi/v3 and what is below it, and /version. Which API server is asked,
 * and what is merged, is decided as in `evenkeel proxy` (reconcilers/proxy/route.h,
 * openapi_view.h).
 *
 * The documents are the same for all who may read them, so they are read with the account of
 * Evenkeel, for clients whose permission for the path was reviewed. An API server gets the
 * credentials once its certificate has proven that it is the one at its address
 * (informers/client/client.h: own_name). Each has PEER_MS to answer, and is asked once; where one
 * fails, another one is. At once FETCHES_MAX requests are answered, and EK_OPENAPI_GATHERS_MAX that
 * merge; others get 429. Of these places a user has as many as are left for others
 * (controller/http/share.h). The documents of /openapi/v2 are merged on a thread of libuv's pool.
 * Nothing is kept between requests.
 *
 * The responses have the headers that an API server sends (kube-openapi,
 * pkg/handler3/handler.go:HandleGroupVersion), but a hash that is not that of the document is no
 * redirection: the document is sent, and is not to be kept.
 *
 * Threading: the serving thread.
 */
#ifndef CONTROLLER_RUN_PEER_DOCUMENTS_H
#define CONTROLLER_RUN_PEER_DOCUMENTS_H

#include <uv.h>

#include "controller/http/handler.h"
#include "controller/http/metrics_auth.h"
#include "reconcilers/peers/view.h"
#include "reconcilers/proxy/request.h"

struct ek_peer_documents;

/* loop is that of the serving thread; sender sends the requests (controller/webhook/relay.h). */
struct ek_peer_documents *ek_peer_documents_new(const struct ek_reviewer *sender, uv_loop_t *loop);

/* Releases it when no request is under way. NULL is fine. */
void ek_peer_documents_free(struct ek_peer_documents *documents);

/* True for a GET of a document that is answered here. */
bool ek_peer_documents_has(const struct ek_proxy_request *read);

/* Answers a request, now or later: 200, 304, 404, 406, 429 or 503. Takes read, and a reference of
 * the view, which is complete. */
void ek_peer_documents_answer(struct ek_peer_documents *documents, const struct ek_view *view,
                              struct ek_proxy_request *read, const struct ek_http_request *request,
                              struct ek_http_reply *reply);

/* Sends a Status as answer. */
void ek_peer_documents_refuse(const struct ek_proxy_answer *answer, struct ek_http_reply *reply);

/* Adds a header to reply, a struct ek_http_reply; the server adds the Content-Type. */
void ek_peer_documents_field(void *reply, const char *name, const char *value);

#endif
