/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proxy in a thread with a loop of its own, and two scripted API servers behind it, "a" and "b",
 * over TLS. The thread of the test uses blocking clients (test/support/http_fixture.h). In the view
 * of the proxy, both API servers serve pods, only "a" serves deployments (apps/v1), and only "b"
 * serves jobs (batch/v1).
 */
#ifndef TEST_SUPPORT_PROXY_FIXTURE_H
#define TEST_SUPPORT_PROXY_FIXTURE_H

#include <stdatomic.h>
#include <uv.h>

#include "controller/proxy/proxy.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

struct proxy_fixture;

/* An API server of the fixture. */
struct proxy_fixture_server {
    struct proxy_fixture *fixture;
    const char *name;
    struct testserver *server; /* NULL: nobody listens there */
    char address[64];
    bool routable, down, unknown; /* in the view; set before proxy_fixture_publish */
    atomic_int requests;
};

struct proxy_fixture {
    struct proxy_fixture_server servers[2];
    testserver_fn handler; /* ctx: the server; called for each request */
    bool alike;            /* in the view, "b" serves the same resources as "a" */
    int n_more;            /* number of further resources that both serve in the view */
    struct testpki_cert authority, leaf;
    struct ek_proxy_board *board;
    struct ek_metrics *registry;
    struct ek_proxy_metrics *metrics;
    struct ek_proxy_config config;
    struct ek_proxy *proxy;
    struct ek_proxy_stats stats;
    char address[64];
    int64_t grace_ms;
    atomic_int stale; /* calls of the board's on_stale */
    uv_loop_t loop;
    uv_thread_t thread;
    uv_async_t async;
    uv_sem_t done, closed;
    uv_sem_t gate;    /* handlers wait here for the test */
    uv_sem_t entered; /* handlers post it */
    void (*task)(struct proxy_fixture *fixture);
    uv_timer_t tick; /* turns the loop while proxy_fixture_wait_idle looks at the counters */
    bool waiting;
    uv_sem_t idle;
};

/* Starts both servers and publishes the view. The caller may then change config before
 * proxy_fixture_start, which starts the proxy. */
void proxy_fixture_prepare(struct proxy_fixture *fixture, testserver_fn handler);
void proxy_fixture_start(struct proxy_fixture *fixture);
void proxy_fixture_stop(struct proxy_fixture *fixture);

/* Makes a view from the members of servers, and publishes the view. */
void proxy_fixture_publish(struct proxy_fixture *fixture);

/* Ends a server: nobody listens at its address any more. */
void proxy_fixture_kill(struct proxy_fixture *fixture, size_t i);

/* Begins to close the proxy; proxy_fixture_stop waits for the end. */
void proxy_fixture_drain(struct proxy_fixture *fixture, int64_t grace_ms);

/* As ek_proxy_end_users, on the loop. */
void proxy_fixture_end_users(struct proxy_fixture *fixture);

struct ek_proxy_stats proxy_fixture_stats(struct proxy_fixture *fixture);

/* Waits until no request is in flight and no client is connected. */
void proxy_fixture_wait_idle(struct proxy_fixture *fixture);

int proxy_fixture_connect(const struct proxy_fixture *fixture);

/* Sends one GET request on a new connection. Returns the whole response, owned. */
char *proxy_fixture_get(const struct proxy_fixture *fixture, const char *path);

#endif
