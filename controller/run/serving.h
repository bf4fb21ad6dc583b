/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners for the state of the process itself: /healthz and /readyz on one listener, /metrics
 * on another, by HTTPS and for authorized scrapers only unless that is switched off. Non-leaders
 * serve the same, as with controller-runtime. The listener of /metrics has /debug/ui, too, for
 * authorized clients; without authorization there is no /debug/ui, because the page names parts of
 * the cluster. A third listener, if its flag is set, serves the merged discovery documents, by
 * HTTPS and for authorized clients always (controller/run/discovery_endpoint.h).
 *
 * The listeners have a thread and a loop of their own, so that clients cannot delay the control
 * loop, which renews the Lease, and so that /healthz answers also while the control loop is
 * blocked. Three kinds of data come from the control loop:
 *
 *   checks    run on the control loop every half second; /healthz and /readyz report the results
 *             (controller/manager/health_board.h). While the control loop has been blocked for 30
 *             seconds, /healthz fails by the check "control-loop"
 *   reviews   of scrapers are sent by the control loop (controller/webhook/relay.h)
 *   metrics   that are read on demand are collected by the control loop, once for all scrapes that
 *             wait (controller/http/metrics_gather.h); when the control loop does not collect
 *             within a second, the last values are reported
 *
 * Threading: all functions are for the control loop's thread.
 */
#ifndef CONTROLLER_RUN_SERVING_H
#define CONTROLLER_RUN_SERVING_H

#include "controller/manager/health.h"
#include "controller/manager/manager.h"
#include "controller/run/discovery_endpoint.h"
#include "controller/run/options.h"
#include "controller/run/ui.h"
#include "controller/telemetry/standard_metrics.h"
#include "informers/client/client.h"

struct ek_serving;

/* Everything is borrowed and must outlive the serving. */
struct ek_serving_config {
    uv_loop_t *loop;
    const struct ek_run_options *options;
    struct ek_client *client; /* for the reviews of scrapers */
    struct ek_metrics *metrics;
    struct ek_standard_metrics *standard;
    struct ek_http_metrics *http; /* may be NULL */
    void (*collect)(void *ctx);   /* on the control loop, before metrics are written; may be NULL */
    struct ek_ui *ui;             /* NULL: /debug/ui is not served */
    struct ek_discovery_endpoint *discovery; /* at discovery_address of options; NULL: not served */
    void *ctx;
    struct ek_log *log;
};

struct ek_serving *ek_serving_new(const struct ek_serving_config *config);

/* Add checks, which run on the control loop; before the start. name is copied. */
void ek_serving_add_healthz(struct ek_serving *serving, const char *name, ek_health_check_fn fn,
                            void *ctx);
void ek_serving_add_readyz(struct ek_serving *serving, const char *name, ek_health_check_fn fn,
                           void *ctx);

/* Where /healthz and /metrics are served, "127.0.0.1:8081"; "" when they are not. Borrowed. */
const char *ek_serving_health_address(const struct ek_serving *serving);
const char *ek_serving_metrics_address(const struct ek_serving *serving);
const char *ek_serving_discovery_address(const struct ek_serving *serving);

/* The runnable (group HTTP) that starts and stops the listeners. */
void ek_serving_runnable(struct ek_serving *serving, struct ek_runnable *ret_runnable);

/* Releases it after its runnable has stopped, or if it was never started. */
void ek_serving_free(struct ek_serving *serving);

#endif
