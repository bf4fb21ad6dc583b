/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meters of listeners (controller/http/meter.h) as metrics, by server; use is "connections" or
 * "work":
 *
 *   evenkeel_http_connections{server}                 open now
 *   evenkeel_http_connections_rejected_total{server,reason}
 *                                                     ended against the client's will; the reasons
 *                                                     are EK_HTTP_FAULTS
 *   evenkeel_http_memory_bytes{server,use}            held now
 *   evenkeel_http_memory_peak_bytes{server,use}       the most since the start, the sum of the
 *                                                     meters' peaks
 *   evenkeel_http_memory_limit_bytes{server,use}      what may be held
 *
 * Threading: added to on the control loop, before the first exposition; collected on any thread.
 */
#ifndef CONTROLLER_HTTP_METER_METRICS_H
#define CONTROLLER_HTTP_METER_METRICS_H

#include "controller/http/meter.h"
#include "controller/telemetry/metrics.h"

#define EK_HTTP_METRICS_MAX 4

struct ek_http_metrics;

/* Registers the families in metrics, which must not write any more once this is freed. */
struct ek_http_metrics *ek_http_metrics_new(struct ek_metrics *metrics);
void ek_http_metrics_free(struct ek_http_metrics *http);

/* Adds a listener with n meters, which are summed up, and its work budget (NULL: none). All is
 * borrowed. At most EK_HTTP_METRICS_MAX. */
void ek_http_metrics_add(struct ek_http_metrics *http, const char *server,
                         struct ek_http_meter *meters, size_t n, struct ek_http_budget *work);

#endif
