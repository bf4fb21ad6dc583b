/* SPDX-License-Identifier: Apache-2.0 */
/* The /metrics endpoint: a registry behind a route. Threading: the loop's thread. */
#ifndef CONTROLLER_HTTP_METRICS_ROUTE_H
#define CONTROLLER_HTTP_METRICS_ROUTE_H

#include "controller/http/handler.h"
#include "controller/telemetry/metrics.h"

/* The route for a server's table; borrows metrics. Answers in the format that the client accepts
 * best. */
struct ek_http_route ek_metrics_route(struct ek_metrics *metrics);

#endif
