/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/relay_scene.h"

#include <string.h>

struct relay_scene scene;

static void forward(void)
{
    const struct ek_relay_forward how = {
        .head = EK_STR("REQ\r\n"), .upgrade = scene.upgrades, .expects = scene.expects};
    ek_relay_forward(scene.relay, &how, scene.now_ms);
}

static void on_request(void *ctx, const struct ek_h1_head *head)
{
    (void)ctx;
    ek_buf_printf(&scene.story, "request %s %s;", head->method, head->target);
    if (!strcmp(head->target, "/own"))
        ek_relay_answer(scene.relay, 503, EK_STR("Retry-After: 1\r\n"), EK_STR("own"),
                        scene.now_ms);
    else if (!scene.later)
        forward();
}

static enum ek_relay_fate on_response(void *ctx, const struct ek_h1_head *head)
{
    (void)ctx;
    ek_buf_printf(&scene.story, "response %d;", head->status);
    return scene.fate;
}

static void on_held(void *ctx, const struct ek_h1_head *head, struct ek_str body)
{
    (void)ctx;
    ek_buf_printf(&scene.story, "held %d %.*s;", head->status, (int)body.len, body.p);
}

static void on_failed(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
    ek_buf_printf(&scene.story, "failed%s%s;", ek_relay_has_sent(scene.relay) ? " sent" : "",
                  ek_relay_can_repeat(scene.relay) ? " repeatable" : "");
}

static void on_over(void *ctx, bool reusable)
{
    (void)ctx;
    ek_buf_puts(&scene.story, reusable ? "keep;" : "drop;");
}

static void on_done(void *ctx, int status, enum ek_relay_end end)
{
    static const char *const ends[] = {"complete", "lost", "gone", "slow"};
    (void)ctx;
    ek_buf_printf(&scene.story, "done %d %s;", status, ends[end]);
}

static const struct ek_relay_ops ops = {.request = on_request,
                                        .response = on_response,
                                        .held = on_held,
                                        .failed = on_failed,
                                        .over = on_over,
                                        .done = on_done};

void relay_scene_make(void)
{
    scene = (struct relay_scene){.config = {.max_head = 4096,
                                            .idle_ms = 100,
                                            .head_ms = 10,
                                            .body_ms = 20,
                                            .write_ms = 30,
                                            .half_ms = 40},
                                 .fate = EK_RELAY_STREAM,
                                 .now_ms = 1000};
    ek_buf_init(&scene.story, 1 << 20);
    ek_buf_init(&scene.client, 1 << 24);
    ek_buf_init(&scene.peer, 1 << 24);
    scene.relay = ek_relay_new(&scene.config, &ops, NULL, scene.now_ms);
}

void relay_scene_done(void)
{
    ek_relay_free(scene.relay);
    ek_buf_done(&scene.story);
    ek_buf_done(&scene.client);
    ek_buf_done(&scene.peer);
}

void relay_scene_flush(void)
{
    for (;;) {
        struct ek_str up = ek_relay_peer_output(scene.relay), down;
        size_t n = up.len;
        ek_buf_append(&scene.peer, up.p, up.len);
        if (n > 0)
            ek_relay_peer_sent(scene.relay, n, scene.now_ms);
        down = ek_relay_client_output(scene.relay);
        size_t m = down.len;
        ek_buf_append(&scene.client, down.p, down.len);
        if (m > 0)
            ek_relay_client_sent(scene.relay, m, scene.now_ms);
        if (n + m == 0)
            return;
    }
}

void from_client(const char *text)
{
    ek_relay_client_input(scene.relay, text, strlen(text), scene.now_ms);
    relay_scene_flush();
}

void from_peer(const char *text)
{
    ek_relay_peer_input(scene.relay, text, strlen(text), scene.now_ms);
    relay_scene_flush();
}
