/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/metrics_auth.h"

static struct ek_call *send_by_client(void *ctx, const struct ek_request *request,
                                      ek_response_fn on_done, void *done_ctx)
{
    return ek_client_send(ctx, request, on_done, done_ctx);
}

static void cancel_by_client(void *ctx, struct ek_call *call)
{
    (void)ctx;
    ek_call_cancel(call);
}

struct ek_reviewer ek_metrics_auth_client(struct ek_client *client)
{
    return (struct ek_reviewer){.send = send_by_client, .cancel = cancel_by_client, .ctx = client};
}
