/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/metrics_route.h"

#include "api/base/err.h"

/* Families are bounded, so this is only reached when something is very wrong. */
#define EXPOSITION_MAX ((size_t)64 * 1024 * 1024)

static void handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    EK_AUTO(ek_buf) text;
    enum ek_metrics_format format = ek_metrics_negotiate(ek_http_request_header(request, "accept"));

    ek_buf_init(&text, EXPOSITION_MAX);
    if (ek_metrics_write(ctx, format, &text)) {
        ek_http_reply_text(reply, 500, "metrics are too large");
        return;
    }
    ek_http_reply_send(reply, 200, ek_metrics_content_type(format), ek_buf_str(&text), text.len);
}

struct ek_http_route ek_metrics_route(struct ek_metrics *metrics)
{
    return (struct ek_http_route){
        .path = "/metrics", .methods = "GET", .handler = handle, .ctx = metrics};
}
