/* SPDX-License-Identifier: Apache-2.0 */
/* The /metrics endpoint: a registry behind a route. Threading: the loop's thread. */
#ifndef CONTROLLER_METRICS_HTTP_H
#define CONTROLLER_METRICS_HTTP_H

#include "controller/http.h"
#include "controller/metrics.h"

/* The route for a server's table; borrows metrics. Answers in the format that the client accepts
 * best. */
struct ek_http_route ek_metrics_route(struct ek_metrics *metrics);

#endif
