/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook of `evenkeel run`, as its flags want it: identity, certificates and listener in one.
 * The owner of the policies decides what is served and how it is registered with API servers.
 *
 * Threading: the control loop.
 */
#ifndef CONTROLLER_RUN_WEBHOOK_SERVING_H
#define CONTROLLER_RUN_WEBHOOK_SERVING_H

#include "controller/certificates/certificates.h"
#include "controller/run/options.h"
#include "controller/webhook/webhook.h"
#include "reconcilers/peers/table.h"

struct ek_webhook_serving;

/* Everything is borrowed and must outlive the serving. */
struct ek_webhook_serving_config {
    uv_loop_t *loop;
    const struct ek_run_options *options;
    struct ek_client *client;
    const char *namespace; /* of the pod; NULL outside a cluster */
    struct ek_metrics *metrics;
    struct ek_standard_metrics *standard;
    struct ek_http_metrics *http; /* may be NULL */
    struct ek_log *log;
};

/* Returns an owned serving. EK_E_INVAL, naming the flag, for flags that do not go together. */
int ek_webhook_serving_new(const struct ek_webhook_serving_config *config,
                           struct ek_webhook_serving **ret_serving, struct ek_err *err);

/* False when there is no webhook: by its flag, or because outside a cluster no flag says where
 * its certificates are. */
bool ek_webhook_serving_is_on(const struct ek_webhook_serving *serving);

/* Calls changed from the loop when the authorities of ek_webhook_serving_certs change; to be set
 * before the start. */
void ek_webhook_serving_observe(struct ek_webhook_serving *serving, void (*changed)(void *ctx),
                                void *ctx);

/* The API servers, as just found: their addresses may prove them, see --webhook-callers. */
void ek_webhook_serving_observe_peers(struct ek_webhook_serving *serving,
                                      const struct ek_peer_table *peers);

/* Adds its runnables to manager; none when it is off. */
void ek_webhook_serving_add(struct ek_webhook_serving *serving, struct ek_manager *manager);

/* The parts, borrowed; certs is NULL when it is off. */
struct ek_webhook *ek_webhook_serving_webhook(struct ek_webhook_serving *serving);
struct ek_webhook_certs *ek_webhook_serving_certs(struct ek_webhook_serving *serving);

/* Where the Service and the Secret are; "" when that is not known. */
const char *ek_webhook_serving_namespace(const struct ek_webhook_serving *serving);

/* Releases it after its runnables have stopped, or if they were never started. NULL is fine. */
void ek_webhook_serving_free(struct ek_webhook_serving *serving);

#endif
