/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics on a thread of its own, when some metrics are to be read on the control loop first. A
 * scrape waits until the control loop has collected; all scrapes that wait meanwhile share one
 * collection. When the control loop does not come to it within a second, they get the values that
 * there are: a control loop that hangs is no reason to be blind.
 *
 * Threading: open, close and free on the control loop; the rest on the serving thread.
 */
#ifndef CONTROLLER_HTTP_METRICS_GATHER_H
#define CONTROLLER_HTTP_METRICS_GATHER_H

#include <uv.h>

#include "controller/http/handler.h"

struct ek_metrics_gather;

/* Collects by collect(ctx) on control, for scrapes that are served on serving. inner is copied: the
 * route that writes the metrics. To be called before serving runs. */
struct ek_metrics_gather *ek_metrics_gather_open(uv_loop_t *control, uv_loop_t *serving,
                                                 void (*collect)(void *ctx), void *ctx,
                                                 const struct ek_http_route *inner);

/* inner behind the collection. */
struct ek_http_route ek_metrics_gather_route(struct ek_metrics_gather *gather);

/* Answers the scrapes that wait, so that the serving loop can end. No further scrape arrives. */
void ek_metrics_gather_end(struct ek_metrics_gather *gather);

/* After the serving thread has ended: closes all and frees it; the caller runs the serving loop
 * once more, at once. */
void ek_metrics_gather_close(struct ek_metrics_gather *gather, void (*on_closed)(void *ctx),
                             void *ctx);

#endif
