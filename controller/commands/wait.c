/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/wait.h"

#include "informers/client/client.h"
#include "informers/client/kubeconfig.h"

#define TIMEOUT_MS 30000

int ek_wait_open(struct ek_wait *wait, const struct ek_cluster_options *options)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;

    uv_loop_init(&wait->loop);
    int rc =
        ek_kubeconfig_load(*options->kubeconfig ? options->kubeconfig : NULL,
                           *options->context ? options->context : NULL, NULL, &config, &wait->err);
    return rc ? rc : ek_client_new(&wait->loop, config, ek_user_agent(), &wait->client, &wait->err);
}

static void on_answer(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct ek_wait *w = ctx;

    w->done = true;
    if (err)
        w->err = *err;
    else
        w->doc = ek_json_parse_envelope(response->body.p, response->body.len, w->levels, &w->err);
    uv_stop(&w->loop); /* in a timer, the loop would wait for the next event first */
}

int ek_wait_get(struct ek_wait *wait, const char *path)
{
    return ek_wait_send(wait, &(struct ek_request){.path = path});
}

int ek_wait_send(struct ek_wait *wait, const struct ek_request *request)
{
    struct ek_request whole = *request;

    whole.timeout_ms = TIMEOUT_MS;
    whole.max_body = wait->max_body;
    wait->done = false;
    wait->doc = NULL;
    wait->err = (struct ek_err){0};
    ek_client_send(wait->client, &whole, on_answer, wait);
    while (!wait->done)
        uv_run(&wait->loop, UV_RUN_ONCE);
    return wait->doc ? 0 : wait->err.code ? wait->err.code : EK_E_PARSE;
}

void ek_wait_close(struct ek_wait *wait)
{
    ek_client_close(wait->client, NULL, NULL);
    uv_run(&wait->loop, UV_RUN_DEFAULT);
    uv_loop_close(&wait->loop);
}
