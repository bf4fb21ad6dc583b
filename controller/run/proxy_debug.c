/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_debug.h"

#include <string.h>

#include "controller/debug/socket.h"

/* The proxy never writes. */
static bool may_write(void *ctx)
{
    (void)ctx;
    return false;
}

static void put_peer(void *ctx, const char *address, const struct ek_debug_doc *doc)
{
    const struct ek_proxy_debug *debug = ctx;
    struct ek_proxy_peer_stats stats;

    const char *name = ek_controller_debug_peer(debug->config.controller, address, doc);
    if (!name || !*debug->config.proxy)
        return;
    ek_proxy_peer_stats(*debug->config.proxy, name, &stats);
    ek_debug_put_count(doc, "requests", stats.requests);
    ek_debug_put_count(doc, "inFlight", stats.in_flight);
}

static size_t put_unprobed(void *ctx, const struct ek_debug_doc *doc, yyjson_mut_val *list)
{
    const struct ek_proxy_debug *debug = ctx;
    return ek_controller_debug_unprobed(debug->config.controller, doc, list);
}

static void on_request(void *ctx, const char *line, size_t len, const struct ek_debug_peer *peer,
                       struct ek_buf *out)
{
    const struct ek_proxy_debug *debug = ctx;
    struct ek_debug_now now = ek_debug_clock();

    ek_debug_answer(&debug->debug, line, len, &now, peer, out);
}

static void open_socket(struct ek_proxy_debug *debug)
{
    const struct ek_debug_socket_config config = {
        .name = debug->config.socket, .answer = on_request, .ctx = debug};
    struct ek_err failure = {0};

    if (ek_debug_socket_open(debug->config.loop, &config, &debug->socket, &failure))
        ek_log_error(debug->config.log, &failure, "Not answering debug requests");
    else
        ek_log_info(debug->config.log, "Answering debug requests",
                    EK_S("socket", ek_debug_socket_name(debug->socket)));
}

int ek_proxy_debug_start(struct ek_proxy_debug *debug, const struct ek_proxy_debug_config *config,
                         struct ek_err *err)
{
    if (!strcmp(config->socket, "0"))
        return 0;
    if (ek_debug_name_check(config->socket, err))
        return ek_err_prefix(err, "--debug-socket");
    debug->config = *config;
    debug->debug = (struct ek_debug){.version = EK_VERSION,
                                     .identity = "",
                                     .server = config->server,
                                     .started_ms = ek_debug_clock().mono_ms,
                                     .log = config->log,
                                     .registry = config->registry,
                                     .prober = ek_controller_prober(config->controller),
                                     .manager = config->manager,
                                     .loop = &debug->meter,
                                     .may_write = may_write,
                                     .peer = put_peer,
                                     .unprobed = put_unprobed,
                                     .ctx = debug};
    ek_debug_loop_start(&debug->meter, config->loop);
    open_socket(debug);
    return 0;
}

void ek_proxy_debug_stop(struct ek_proxy_debug *debug)
{
    ek_debug_socket_close(debug->socket, NULL, NULL);
    ek_debug_loop_stop(&debug->meter);
}
