/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meters of listeners (controller/http/meter.h) as metrics, by server; use is "connections" or
 * "work":
 *
 *   evenkeel_http_connections{server}                 open connections
 *   evenkeel_http_connections_rejected_total{server,reason}
 *                                                     connections that the listener refused or
 *                                                     ended; the reasons are EK_HTTP_FAULTS
 *   evenkeel_http_memory_bytes{server,use}            memory in use
 *   evenkeel_http_memory_peak_bytes{server,use}       maximum since the start, the sum of the peaks
 *                                                     of the meters
 *   evenkeel_http_memory_limit_bytes{server,use}      limit of the memory
 *
 * Threading: listeners are added on the control loop before the first exposition; any thread may
 * collect.
 */
#ifndef CONTROLLER_HTTP_METER_METRICS_H
#define CONTROLLER_HTTP_METER_METRICS_H

#include "controller/http/meter.h"
#include "controller/telemetry/metrics.h"

#define EK_HTTP_METRICS_MAX 4

struct ek_http_metrics;

/* Registers the families in metrics. Returns an owned object; metrics must not be written after
 * the object is freed. */
struct ek_http_metrics *ek_http_metrics_new(struct ek_metrics *metrics);
void ek_http_metrics_free(struct ek_http_metrics *http);

/* Adds a listener: the samples have the sums of its n meters, and its work budget (NULL: none). All
 * arguments are borrowed for the lifetime of http. At most EK_HTTP_METRICS_MAX listeners. */
void ek_http_metrics_add(struct ek_http_metrics *http, const char *server,
                         struct ek_http_meter *meters, size_t n, struct ek_http_budget *work);

#endif
