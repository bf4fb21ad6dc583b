/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/apiworld.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

static struct ek_client *make_client(struct apiworld *world, const char *token)
{
    struct ek_client *client = NULL;
    struct ek_err err = {0};

    ek_free(world->config->token);
    world->config->token = ek_xstrdup(token);
    int rc = ek_client_new(&world->bench.loop, world->config, "test/1.0", &client, &err);
    ck_assert_msg(rc == 0, "%s", err.message);
    return client;
}

void apiworld_start(struct apiworld *world, const char *rules)
{
    const struct ek_apiserver_peer_config cp_a = {
        .name = "cp-a", .address = "127.0.0.1", .binary = "1.36.2"};
    struct ek_apiserver_peer *peer;
    struct ek_err err = {0};

    *world = (struct apiworld){0};
    world->core = ek_apiserver_new(&(struct ek_apiserver_config){.seed = 1}, 0);
    ek_apiserver_add_token(world->core, "root", "admin", "system:masters", NULL);
    ek_apiserver_add_token(world->core, "secret", "evenkeel", "", rules ? rules : "*");
    ck_assert_int_eq(ek_apiserver_add_peer(world->core, &cp_a, &peer, &err), 0);
    world->config = ek_client_config_new();
    world->config->server = ek_xstrdup("https://127.0.0.1:1");
    /* The first client is made for its loop; the server's port is known once it listens there. */
    clientbench_start(&world->bench, world->config);
    uv_prepare_init(&world->bench.loop, &world->turn);
    world->audit = open_memstream(&world->requests, &world->requests_size);
    ck_assert_ptr_nonnull(world->audit);
    fflush(world->audit); /* sets requests */
    const struct ek_apishell_config shell = {
        .loop = &world->bench.loop, .server = world->core, .audit = world->audit, .seed = 1};
    ck_assert_msg(ek_apishell_new(&shell, &world->shell, &err) == 0, "%s", err.message);
    ck_assert_msg(ek_apishell_start_peer(world->shell, peer, &err) == 0, "%s", err.message);
    ek_client_close(world->bench.client, NULL, NULL);
    ek_free(world->config->server);
    world->config->server = ek_apishell_url(peer);
    world->config->ca_data = ek_xstrdup(ek_apishell_ca(world->shell));
    world->bench.client = make_client(world, "secret");
    world->admin = make_client(world, "root");
}

void apiworld_stop(struct apiworld *world)
{
    uv_close((uv_handle_t *)&world->turn, NULL);
    ek_client_close(world->admin, NULL, NULL);
    ek_apishell_close(world->shell, NULL, NULL);
    clientbench_stop(&world->bench);
    fclose(world->audit);
    free(world->requests);
    ek_apiserver_free(world->core);
    ek_client_config_free(world->config);
}

int apiworld_request(struct apiworld *world, const char *method, const char *path, const char *body,
                     char **ret_body)
{
    const struct ek_request request = {.method = method,
                                       .path = path,
                                       .content_type = !body ? NULL
                                                       : !strcmp(method, "PATCH")
                                                           ? "application/merge-patch+json"
                                                           : "application/json",
                                       .body = body,
                                       .body_size = body ? strlen(body) : 0};
    struct outcome out = {0};

    ek_client_send(world->admin, &request, outcome_keep, &out);
    clientbench_run_until(&world->bench, &out.n_done);
    int status = out.status;
    if (ret_body)
        *ret_body = ek_xstrdup(out.body ? out.body : "");
    outcome_done(&out);
    return status;
}

void apiworld_wait_for(struct apiworld *world, const char *path, const char *piece)
{
    for (bool found = false; !found;) {
        char *body = NULL;
        apiworld_request(world, "GET", path, NULL, &body);
        found = strstr(body, piece) != NULL;
        ek_free(body);
    }
}

struct wait {
    bool (*done)(const void *ctx);
    const void *ctx;
};

/* A timer may have made it true: then the loop must not wait for something else to happen. */
static void on_turn(uv_prepare_t *turn)
{
    const struct wait *wait = turn->data;

    if (wait->done(wait->ctx))
        uv_stop(turn->loop);
}

void apiworld_run_until(struct apiworld *world, bool (*done)(const void *ctx), const void *ctx)
{
    struct wait wait = {done, ctx};

    world->turn.data = &wait;
    uv_prepare_start(&world->turn, on_turn);
    while (!done(ctx))
        uv_run(&world->bench.loop, UV_RUN_ONCE);
    uv_prepare_stop(&world->turn);
}
