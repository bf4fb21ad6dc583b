/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands that run until a signal (`evenkeel run`, `evenkeel proxy`) have in common:
 * their client, their start and their end. Threading: the loop thread.
 */
#ifndef CONTROLLER_RUN_PROCESS_H
#define CONTROLLER_RUN_PROCESS_H

#include "controller/cli/commands.h"
#include "controller/manager/manager.h"
#include "controller/telemetry/log.h"
#include "controller/telemetry/standard_metrics.h"
#include "informers/client/client.h"
#include "informers/client/kubeconfig.h"

/* Initializes loop, and how the process returns memory to the system. */
void ek_process_begin(uv_loop_t *loop);

/*
 * Makes the client that the flags name; log gets the warnings about its configuration, standard
 * counts its requests and outlives it. The caller owns both results; *ret_config (to be released
 * with ek_client_config_free) is set before the client is made, so that it may be set on errors.
 * Errors: as ek_kubeconfig_load and ek_client_new.
 */
int ek_process_client(uv_loop_t *loop, const struct ek_cluster_options *options, struct ek_log *log,
                      struct ek_standard_metrics *standard, struct ek_client_config **ret_config,
                      struct ek_client **ret_client, struct ek_err *err);

/* The namespace of the pod that the process runs in, borrowed from config; NULL outside a cluster.
 */
const char *ek_process_namespace(const struct ek_client_config *config);

/* A member on_phase of struct ek_manager_config, of which log (a struct ek_log) is the context. */
void ek_process_on_phase(void *log, enum ek_manager_phase phase);

/* Runs manager to its end, which log reports. Returns the exit code; ends the process instead when
 * parts of the manager did not stop in time. */
int ek_process_run(struct ek_manager *manager, uv_loop_t *loop, struct ek_log *log);

/* Runs loop until everything that is closing is closed, closes client (NULL is fine), which nothing
 * uses any more, and closes loop. */
void ek_process_end(uv_loop_t *loop, struct ek_client *client);

#endif
