/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `evenkeel debug` reads of `evenkeel proxy`: the topics of the controller that a proxy has,
 * and for each API server the requests that the proxy has sent there. Threading: the loop's thread.
 */
#ifndef CONTROLLER_RUN_PROXY_DEBUG_H
#define CONTROLLER_RUN_PROXY_DEBUG_H

#include "controller/debug/debug.h"
#include "controller/manager/subject.h"
#include "controller/proxy/proxy.h"

/* Another name than that of `evenkeel run`, which may share the network namespace. */
#define EK_PROXY_DEBUG_SOCKET "@evenkeel-proxy-debug"

/* Borrowed until the loop has ended. */
struct ek_proxy_debug_config {
    uv_loop_t *loop;
    const char *socket; /* "0": none */
    const char *server; /* the configured API server */
    struct ek_log *log;
    const struct ek_registry *registry;
    const struct ek_manager *manager;
    const struct ek_controller *controller; /* of skew */
    struct ek_proxy *const *proxy;          /* NULL behind it: there is none (any more) */
};

/* Zeroed before the start. Members are those of proxy_debug.c. */
struct ek_proxy_debug {
    struct ek_proxy_debug_config config;
    struct ek_debug debug;
    struct ek_debug_loop meter;
    struct ek_debug_socket *socket; /* NULL: none */
};

/* Listens. A socket that cannot be opened is logged, and the proxy runs without it. Errors:
 * EK_E_INVAL for the name. */
int ek_proxy_debug_start(struct ek_proxy_debug *debug, const struct ek_proxy_debug_config *config,
                         struct ek_err *err);

/* One that was not started is left alone. debug is used until the loop has run. */
void ek_proxy_debug_stop(struct ek_proxy_debug *debug);

#endif
