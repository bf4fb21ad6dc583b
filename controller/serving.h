/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process serves about itself: /healthz and /readyz on one listener, /metrics on another,
 * by HTTPS and for authorized scrapers only unless that is switched off. Non-leaders serve the
 * same (ecosystem sheet, section 1, "Endpoints" and "Metrics auth").
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_SERVING_H
#define CONTROLLER_SERVING_H

#include "controller/health.h"
#include "controller/manager.h"
#include "controller/run_options.h"
#include "controller/standard_metrics.h"
#include "informers/client.h"

struct ek_serving;

/* Everything is borrowed and must outlive the serving. */
struct ek_serving_config {
    uv_loop_t *loop;
    const struct ek_run_options *options;
    struct ek_client *client; /* asks whether a scraper may */
    struct ek_metrics *metrics;
    struct ek_standard_metrics *standard;
    struct ek_log *log;
};

struct ek_serving *ek_serving_new(const struct ek_serving_config *config);

/* Checks are added to these before the start. */
struct ek_health *ek_serving_healthz(struct ek_serving *serving);
struct ek_health *ek_serving_readyz(struct ek_serving *serving);

/* The runnable (group HTTP) that starts and stops both listeners. */
void ek_serving_runnable(struct ek_serving *serving, struct ek_runnable *ret_runnable);

/* Releases it after its runnable has stopped, or if it was never started. */
void ek_serving_free(struct ek_serving *serving);

#endif
