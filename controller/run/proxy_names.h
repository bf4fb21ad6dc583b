/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the ConfigMap kube-system/extension-apiserver-authentication for the proxy in the mode
 * front-proxy, and puts the names of identity headers that it has onto the board
 * (reconcilers/proxy/identity_names.h). Until the ConfigMap has been read, and while it is not what
 * API servers write, no names are on the board, and the proxy refuses client certificates. One that
 * is deleted leaves the names: API servers that live write it again.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_RUN_PROXY_NAMES_H
#define CONTROLLER_RUN_PROXY_NAMES_H

#include "controller/manager/manager.h"
#include "controller/manager/watchset.h"
#include "controller/proxy/board.h"
#include "controller/telemetry/log.h"

struct ek_proxy_names;

/* What is passed is borrowed until the watch is gone. Nothing runs before the runnable is started.
 */
struct ek_proxy_names *ek_proxy_names_new(uv_loop_t *loop, struct ek_client *client,
                                          struct ek_proxy_board *board, struct ek_log *log);

/* The informer as a part of the process. */
void ek_proxy_names_runnable(struct ek_proxy_names *names, struct ek_runnable *ret_runnable);

/* Stops and releases it; the loop has to run afterwards. NULL is fine. */
void ek_proxy_names_close(struct ek_proxy_names *names);

#endif
