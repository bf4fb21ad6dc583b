/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/proxy.h"

#include <netinet/in.h>
#include <stdio.h>

#include "controller/http/server.h"
#include "controller/proxy/proxy-internal.h"
#include "controller/proxy/room.h"
#include "informers/clock.h"

#define BACKLOG 512

static void set_default(size_t *value, size_t otherwise)
{
    *value = *value ? *value : otherwise;
}

static void set_default_64(int64_t *value, int64_t otherwise)
{
    *value = *value ? *value : otherwise;
}

static void set_defaults(struct ek_proxy_options *o)
{
    set_default(&o->connections, 10000);
    set_default(&o->connections_per_client, 1000);
    set_default(&o->requests_per_client, 2000);
    set_default(&o->streams, 10000);
    set_default(&o->head_octets, (size_t)64 << 20);
    set_default(&o->head_octets_per_client, (size_t)8 << 20);
    set_default(&o->body_octets, (size_t)128 << 20);
    set_default(&o->body_octets_per_client, (size_t)64 << 20);
    set_default(&o->waiting_octets, (size_t)96 << 20);
    set_default(&o->upgrades, 1000);
    set_default(&o->max_head, (size_t)256 * 1024);
    set_default_64(&o->head_ms, 10000);
    set_default_64(&o->idle_ms, 90000);
    set_default_64(&o->body_ms, 30000);
    set_default_64(&o->body_rate, 512);
    set_default_64(&o->write_ms, 60000);
    set_default_64(&o->dial_ms, 5000);
    set_default_64(&o->answer_ms, 75000);
    set_default_64(&o->look_ms, 5000);
    o->wall_ms = o->wall_ms ? o->wall_ms : ek_wall_ms;
}

/* ---- Clients and loads ---- */

static void forget_client(struct ek_proxy *proxy, struct ek_proxy_client *client)
{
    if (--client->connections > 0)
        return;
    ek_map_take(&proxy->clients, client->ip);
    ek_free(client->ip);
    ek_free(client);
}

struct ek_proxy_load *ek_proxy_load__(struct ek_proxy *proxy, const char *name)
{
    struct ek_proxy_load *load = ek_map_get(&proxy->loads, name);

    if (load)
        return load;
    load = ek_xalloc(sizeof *load);
    load->name = ek_xstrdup(name);
    ek_map_put(&proxy->loads, load->name, load);
    return load;
}

static void free_loads(struct ek_proxy *proxy)
{
    size_t cursor = 0;
    const char *name;
    void *value;

    while (ek_map_next(&proxy->loads, &cursor, &name, &value)) {
        struct ek_proxy_load *load = value;
        ek_free(load->name);
        ek_free(load);
    }
    ek_map_done(&proxy->loads);
    ek_map_done(&proxy->clients);
    ek_grants_free(proxy->grants);
}

/* ---- The cap ---- */

/* In another order each time, so that nobody is always the last. */
static void on_cap_timer(uv_timer_t *timer)
{
    struct ek_proxy *proxy = timer->data;
    size_t n = 0, first = proxy->stats.connections ? proxy->turn++ % proxy->stats.connections : 0;

    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next)
            if ((n++ >= first) == (pass == 0))
                for (struct ek_proxy_front *front = conn->fronts; front; front = front->next)
                    if (front->peer)
                        ek_front_go_on__(front);
    }
}

bool ek_proxy_holds__(struct ek_proxy *proxy, bool up)
{
    int64_t wait_ms = ek_cap_wait(&proxy->cap, ek_proxy_now__(proxy));

    if (wait_ms == 0)
        return false;
    *(up ? &proxy->stats.holds_up : &proxy->stats.holds_down) += 1;
    if (!proxy->closing && !uv_is_active((uv_handle_t *)&proxy->cap_timer))
        uv_timer_start(&proxy->cap_timer, on_cap_timer, (uint64_t)wait_ms, 0);
    return true;
}

bool ek_proxy_count_heads__(struct ek_proxy *proxy, struct ek_proxy_client *client, size_t *counted,
                            size_t now)
{
    bool more = now > *counted;

    proxy->head_octets = proxy->head_octets - *counted + now;
    client->head_octets = client->head_octets - *counted + now;
    *counted = now;
    if (!more)
        return true;
    if (client->head_octets > proxy->options.head_octets_per_client) {
        ek_proxy_metrics_rejected(proxy->config->metrics, "head_octets_per_client");
        return false;
    }
    if (proxy->head_octets <= proxy->options.head_octets)
        return true;
    ek_proxy_metrics_rejected(proxy->config->metrics, "head_octets");
    return false;
}

const char *ek_proxy_count_body__(struct ek_proxy_front *front, size_t octets)
{
    struct ek_proxy *proxy = front->proxy;
    struct ek_proxy_client *client = front->conn->client;
    size_t all = proxy->body_octets - front->body_octets + octets;
    size_t of_client = client->body_octets - front->body_octets + octets;

    if (octets > front->body_octets && of_client > proxy->options.body_octets_per_client)
        return "body_octets_per_client";
    if (octets > front->body_octets && all > proxy->options.body_octets)
        return "body_octets";
    proxy->body_octets = all;
    client->body_octets = of_client;
    front->body_octets = octets;
    return NULL;
}

/* ---- Octets that wait ---- */

/* Ends connections until an eighth of the limit is free, so that the next octets do not look for
 * room again. Their clients see that a response is not whole. */
static void make_room(uv_timer_t *timer)
{
    struct ek_proxy *proxy = timer->data;
    size_t max = proxy->options.waiting_octets, n = 0;
    EK_AUTOFREE struct ek_room_candidate *table =
        ek_xalloc((proxy->stats.connections + 1) * sizeof *table);

    if (proxy->waiting <= max)
        return;
    for (struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next)
        if (conn->waiting > 0 && !conn->closing)
            table[n++] = (struct ek_room_candidate){.owner = conn,
                                                    .client = conn->client,
                                                    .octets = conn->waiting,
                                                    .moved_ms = conn->moved_ms};
    ek_room_choose(table, n, proxy->waiting - max + max / 8, ek_proxy_now__(proxy));
    for (size_t i = 0; i < n; i++) {
        if (!table[i].chosen)
            continue;
        ek_proxy_metrics_rejected(proxy->config->metrics, "waiting_octets");
        proxy->stats.rejected++;
        ek_conn_close__(table[i].owner, true);
    }
}

void ek_proxy_count_waiting__(struct ek_proxy_conn *conn, size_t *counted, size_t now)
{
    struct ek_proxy *proxy = conn->proxy;

    if (conn->waiting == 0)
        conn->moved_ms = ek_proxy_now__(proxy);
    conn->waiting = conn->waiting - *counted + now;
    proxy->waiting = proxy->waiting - *counted + now;
    *counted = now;
    if (proxy->waiting > proxy->options.waiting_octets && !proxy->closing &&
        !uv_is_active((uv_handle_t *)&proxy->room_timer))
        uv_timer_start(&proxy->room_timer, make_room, 0, 0);
}

bool ek_proxy_is_filled__(const struct ek_proxy *proxy)
{
    return proxy->waiting >= proxy->options.waiting_octets / 2;
}

/* ---- The end ---- */

static void end_if_over(struct ek_proxy *proxy)
{
    if (!proxy->closing || proxy->conns || proxy->n_handles > 0 || !proxy->pool_closed)
        return;
    void (*on_closed)(void *ctx) = proxy->on_closed;
    void *ctx = proxy->ctx;
    free_loads(proxy);
    ek_free(proxy);
    if (on_closed)
        on_closed(ctx);
}

void ek_proxy_released__(struct ek_proxy *proxy)
{
    proxy->n_handles--;
    end_if_over(proxy);
}

static void on_handle_closed(uv_handle_t *handle)
{
    ek_proxy_released__(handle->data);
}

static void on_remakes_closed(void *ctx)
{
    ek_proxy_released__(ctx);
}

static void on_pool_closed(void *ctx)
{
    struct ek_proxy *proxy = ctx;

    proxy->pool_closed = true;
    end_if_over(proxy);
}

static void stop_listening(struct ek_proxy *proxy)
{
    if (proxy->listening)
        uv_close((uv_handle_t *)&proxy->listener, on_handle_closed);
    proxy->listening = false;
}

/* Nobody is left, or the time is over. */
static void finish(struct ek_proxy *proxy)
{
    if (proxy->closing)
        return;
    proxy->closing = true;
    uv_close((uv_handle_t *)&proxy->grace, on_handle_closed);
    uv_close((uv_handle_t *)&proxy->cap_timer, on_handle_closed);
    uv_close((uv_handle_t *)&proxy->room_timer, on_handle_closed);
    for (struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next)
        ek_conn_close__(conn, true);
    ek_remakes_close(proxy->remakes, on_remakes_closed, proxy);
    ek_pool_close(proxy->pool, on_pool_closed, proxy);
}

void ek_proxy_gone__(struct ek_proxy *proxy, struct ek_proxy_conn *conn)
{
    *(conn->prev ? &conn->prev->next : &proxy->conns) = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    proxy->stats.connections--;
    ek_proxy_metrics_connections(proxy->config->metrics, -1);
    forget_client(proxy, conn->client);
    if (proxy->draining && !proxy->conns)
        finish(proxy);
    end_if_over(proxy);
}

static void on_grace(uv_timer_t *timer)
{
    struct ek_proxy *proxy = timer->data;

    ek_log_info(proxy->config->log, "Closing connections that did not finish in time",
                EK_U("connections", proxy->stats.connections));
    finish(proxy);
}

void ek_proxy_end_users(struct ek_proxy *proxy)
{
    for (struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next) {
        if (!conn->has_subject && !conn->unverified)
            continue;
        conn->outdated = true;
        ek_conn_drain__(conn);
    }
}

void ek_proxy_close(struct ek_proxy *proxy, int64_t grace_ms, void (*on_closed)(void *ctx),
                    void *ctx)
{
    proxy->on_closed = on_closed;
    proxy->ctx = ctx;
    proxy->draining = true;
    stop_listening(proxy);
    for (struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next)
        ek_conn_drain__(conn);
    if (!proxy->conns)
        finish(proxy);
    else
        uv_timer_start(&proxy->grace, on_grace, (uint64_t)(grace_ms > 0 ? grace_ms : 0), 0);
}

/* ---- The begin ---- */

static void on_connection(uv_stream_t *listener, int status)
{
    struct ek_proxy *proxy = listener->data;

    if (status < 0)
        ek_log_info_limited(proxy->config->log, 1, 60000, "Cannot accept a connection",
                            EK_S("reason", uv_strerror(status)));
    else
        ek_conn_accept__(proxy);
}

static int listen_on(struct ek_proxy *proxy, struct ek_err *err)
{
    struct sockaddr_storage addr = {0};
    int len = sizeof addr;

    int rc = ek_http_address_parse(proxy->options.address, &addr, err);
    if (rc)
        return rc;
    uv_tcp_init(proxy->loop, &proxy->listener);
    proxy->listener.data = proxy;
    proxy->listening = true;
    proxy->n_handles++;
    rc = uv_tcp_bind(&proxy->listener, (const struct sockaddr *)&addr, 0);
    if (!rc)
        rc = uv_listen((uv_stream_t *)&proxy->listener, BACKLOG, on_connection);
    if (rc)
        return ek_err_set(err, EK_E_IO, "cannot listen on \"%s\": %s", proxy->options.address,
                          uv_strerror(rc));
    uv_tcp_getsockname(&proxy->listener, (struct sockaddr *)&addr, &len);
    char ip[INET6_ADDRSTRLEN] = "";
    uv_ip_name((struct sockaddr *)&addr, ip, sizeof ip);
    unsigned port = addr.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&addr)->sin6_port)
                                               : ntohs(((struct sockaddr_in *)&addr)->sin_port);
    snprintf(proxy->address, sizeof proxy->address, strchr(ip, ':') ? "[%s]:%u" : "%s:%u", ip,
             port);
    return 0;
}

int ek_proxy_new(uv_loop_t *loop, const struct ek_proxy_config *config, struct ek_proxy **ret_proxy,
                 struct ek_err *err)
{
    struct ek_proxy *proxy = ek_xalloc(sizeof *proxy);

    proxy->loop = loop;
    proxy->config = config;
    proxy->options = config->options;
    set_defaults(&proxy->options);
    proxy->relay_config = (struct ek_relay_config){.max_head = proxy->options.max_head,
                                                   .idle_ms = proxy->options.idle_ms,
                                                   .head_ms = proxy->options.head_ms,
                                                   .body_ms = proxy->options.body_ms,
                                                   .body_rate = proxy->options.body_rate,
                                                   .write_ms = proxy->options.write_ms,
                                                   .half_ms = proxy->options.write_ms};
    proxy->h2_config = (struct ek_h2_config){.max_head = proxy->options.max_head,
                                             .head_ms = proxy->options.head_ms,
                                             .idle_ms = proxy->options.idle_ms,
                                             .write_ms = proxy->options.write_ms};
    if (proxy->options.identity)
        ek_tls_identity_offer_h2(proxy->options.identity);
    ek_map_init(&proxy->clients);
    ek_map_init(&proxy->loads);
    uv_timer_init(loop, &proxy->grace);
    uv_timer_init(loop, &proxy->cap_timer);
    uv_timer_init(loop, &proxy->room_timer);
    proxy->grace.data = proxy->cap_timer.data = proxy->room_timer.data = proxy;
    proxy->remakes = ek_remakes_new(loop);
    proxy->n_handles = 4; /* the timers and remakes */
    proxy->grants = ek_grants_new(proxy->options.grant_ms);
    proxy->cap.rate = proxy->options.peer_rate;
    proxy->pool = ek_pool_new(loop, config->board, config->options.egress);
    int rc = listen_on(proxy, err);
    if (rc) {
        ek_proxy_close(proxy, 0, NULL, NULL);
        return rc;
    }
    ek_log_info(config->log, "Serving", EK_S("server", "proxy"), EK_S("address", proxy->address),
                EK_B("tls", proxy->options.identity != NULL));
    *ret_proxy = proxy;
    return 0;
}

const char *ek_proxy_address(const struct ek_proxy *proxy)
{
    return proxy->address;
}

void ek_proxy_stats(const struct ek_proxy *proxy, struct ek_proxy_stats *ret_stats)
{
    *ret_stats = proxy->stats;
    ret_stats->peer_connections = ek_pool_size(proxy->pool);
    ret_stats->waiting = ret_stats->waiting_up = 0;
    ret_stats->head_octets = proxy->head_octets;
    ret_stats->body_octets = proxy->body_octets;
    ret_stats->waiting_octets = proxy->waiting;
    for (const struct ek_proxy_conn *conn = proxy->conns; conn; conn = conn->next)
        for (const struct ek_proxy_front *front = conn->fronts; front; front = front->next) {
            ret_stats->waiting += ek_relay_client_output(front->relay).len;
            ret_stats->waiting_up += ek_relay_waiting(front->relay);
        }
}

void ek_proxy_peer_stats(const struct ek_proxy *proxy, const char *name,
                         struct ek_proxy_peer_stats *ret_stats)
{
    const struct ek_proxy_load *load = ek_map_get(&proxy->loads, name);

    *ret_stats = (struct ek_proxy_peer_stats){.requests = load ? load->requests : 0,
                                              .in_flight = load ? load->in_flight : 0};
}
