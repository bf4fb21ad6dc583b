/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of admission webhooks. Each has a client of its own, because each may trust another
 * authority; the connection waits meanwhile, and all others go on. */
#include <string.h>

#include "api/base/mem.h"
#include "informers/client/kubeconfig.h"
#include "test/apiserver/shell-internal.h"

#define ANSWER_MAX ((size_t)4 * 1024 * 1024)

static void on_client_closed(void *ctx)
{
    ek_shell_released(ctx);
}

void ek_shell_webhook_cancel(struct ek_shell_conn *conn)
{
    if (conn->webhook)
        ek_client_close(conn->webhook, on_client_closed, conn->listener->shell);
    conn->webhook = NULL;
    ek_admission_free(conn->admission);
    conn->admission = NULL;
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_shell_conn *conn = ctx;
    struct ek_apishell *shell = conn->listener->shell;
    struct ek_http_reply *reply = conn->reply;

    ek_client_close(conn->webhook, on_client_closed, shell);
    conn->webhook = NULL;
    if (conn->closing)
        return;
    ek_admission_answer(conn->admission, resp->body, err ? err->message : NULL);
    conn->mode = EK_SHELL_HTTP;
    conn->reply = NULL;
    shell->current = conn;
    ek_shell_answer(conn, conn->request, reply);
    shell->current = NULL;
    ek_shell_conn_pump(conn);
}

/* A client for the server of url; *ret_path is the rest of it. */
static int new_client(struct ek_apishell *shell, const struct ek_admission_call *call,
                      struct ek_client **ret_client, const char **ret_path, struct ek_err *err)
{
    struct ek_client_config *config = ek_client_config_new();
    const char *host = strstr(call->url, "://") + 3;
    size_t len = (size_t)(host - call->url) + strcspn(host, "/");

    config->server = ek_xstrndup(call->url, len);
    config->ca_data = call->ca ? ek_xstrdup(call->ca) : NULL;
    *ret_path = call->url + len;
    int r = ek_client_new(shell->config.loop, config, "kube-apiserver-admission", ret_client, err);
    ek_client_config_free(config);
    return r;
}

void ek_shell_webhook_call(struct ek_shell_conn *conn, const struct ek_http_request *request,
                           struct ek_http_reply *reply)
{
    struct ek_apishell *shell = conn->listener->shell;
    const struct ek_admission_call *call = ek_admission_due(conn->admission);
    const char *path = "";
    struct ek_err err = {0};

    if (new_client(shell, call, &conn->webhook, &path, &err) < 0) {
        ek_admission_answer(conn->admission, EK_STR(""), err.message);
        ek_shell_answer(conn, request, reply);
        return;
    }
    shell->n_handles++;
    conn->mode = EK_SHELL_DELAY;
    conn->wake_ms = INT64_MAX;
    conn->request = request;
    conn->reply = reply;
    const struct ek_request post = {.method = "POST",
                                    .path = path,
                                    .content_type = "application/json",
                                    .body = call->body.p,
                                    .body_size = call->body.len,
                                    .timeout_ms = call->timeout_ms,
                                    .max_body = ANSWER_MAX,
                                    .no_retry = true};
    ek_client_send(conn->webhook, &post, on_answer, conn);
}
