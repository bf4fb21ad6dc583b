/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discovery endpoint of `evenkeel run`: /api, /apis and what is below them, for the merged view
 * of all API servers (KEP-4020). Documents and headers are those of `evenkeel proxy`
 * (reconcilers/proxy/discovery.h), from bytes that were encoded and compressed once. /openapi and
 * /version are read from API servers (controller/run/peer_documents.h). The responses:
 *
 *   200, 304   a document
 *   400, 414   a target that cannot be read (reconcilers/proxy/request.h)
 *   404        a group or version that no API server serves, while the documents of all are known;
 *              a path with escapes, which the documents do not need: access was reviewed for the
 *              path as it was sent
 *   406        no media type of the Accept header is served
 *   501        everything else, such as resources, which need `evenkeel proxy`
 *   503        before every API server was read or declared down (ek_view_is_complete)
 *   429        a large document, indented or as YAML, while two others are being written
 *   429, 503   and what else peer_documents.h says of /openapi and /version
 *
 * Threading: new, publish and free on the control loop; the route on the serving thread.
 */
#ifndef CONTROLLER_RUN_DISCOVERY_ENDPOINT_H
#define CONTROLLER_RUN_DISCOVERY_ENDPOINT_H

#include <uv.h>

#include "controller/http/handler.h"
#include "controller/http/metrics_auth.h"
#include "reconcilers/peers/view.h"

struct ek_discovery_endpoint;

struct ek_discovery_endpoint *ek_discovery_endpoint_new(void);

/* Releases it after the serving thread has ended. NULL is fine. */
void ek_discovery_endpoint_free(struct ek_discovery_endpoint *endpoint);

/* Serves the view from now on; takes a reference. */
void ek_discovery_endpoint_publish(struct ek_discovery_endpoint *endpoint,
                                   const struct ek_view *view);

/* The route of all paths, for a listener of its own. To be put behind a filter that knows who may
 * read discovery (controller/http/metrics_auth.h). sender sends requests to API servers for the
 * thread of loop, which the route is of; to be called once. */
struct ek_http_route ek_discovery_endpoint_route(struct ek_discovery_endpoint *endpoint,
                                                 const struct ek_reviewer *sender, uv_loop_t *loop);

#endif
