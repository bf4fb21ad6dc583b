/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a hostile client through the HTTP connection engine, without a socket. Beyond not
 * crashing: how the bytes are cut into reads must not change the answer, and every byte that was
 * taken from the budget is given back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/http/conn.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct ek_http_reply *kept;

static void answer(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    ek_http_reply_header(reply, "X-Path", request->path);
    for (size_t i = 0; i < request->n_headers; i++)
        ek_http_reply_header(reply, request->headers[i].name, request->headers[i].value);
    ek_http_reply_send(reply, 200, "text/plain", request->body.p, request->body.len);
}

static void later(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    (void)request;
    kept = reply;
}

static const struct ek_http_route routes[] = {
    {.path = "/", .subtree = true, .handler = answer},
    {.path = "/later", .methods = "GET POST", .max_body = 10, .handler = later},
};

static struct ek_http_budget budget;

static const struct ek_http_conn_config config = {
    .budget = &budget,
    .limits = {.max_head = 512,
               .max_body = 256,
               .head_timeout_ms = 1,
               .body_timeout_ms = 1,
               .reply_timeout_ms = 1,
               .idle_timeout_ms = 1,
               .write_timeout_ms = 1},
    .routes = routes,
    .n_routes = EK_ARRAY_SIZE(routes),
};

/* Answers what is due and takes the output until nothing moves any more. */
static void settle(struct ek_http_conn *conn, struct ek_buf *out)
{
    for (;;) {
        struct ek_str more = ek_http_conn_output(conn);
        if (more.len == 0 && !kept)
            return;
        ek_buf_append(out, more.p, more.len);
        ek_http_conn_sent(conn, more.len, 0);
        struct ek_http_reply *reply = kept;
        kept = NULL;
        if (reply)
            ek_http_reply_text(reply, 202, "later");
        ek_http_conn_run(conn, 0);
    }
}

static void run(const unsigned char *data, size_t size, size_t piece, struct ek_buf *out)
{
    struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);

    for (size_t at = 0; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        ek_http_conn_input(conn, (const char *)data + at, n, 0);
        settle(conn, out);
    }
    ek_http_conn_timeout(conn, 0);
    if (size % 2)
        ek_http_conn_eof(conn, 0);
    settle(conn, out);
    ek_http_conn_timeout(conn, 1000);
    struct ek_http_reply *reply = kept;
    kept = NULL;
    ek_http_conn_free(conn);
    if (reply)
        ek_http_reply_text(reply, 200, "too late");
    if (ek_http_budget_used(&budget) != 0)
        abort();
}

/* Length of what precedes the first refusal. Its status may depend on the cuts: a head that is both
 * malformed and too long is refused for what is found first. */
static size_t accepted(const struct ek_buf *out)
{
    const char *refusal = memmem(ek_buf_str(out), out->len, "HTTP/1.1 4", 10);
    const char *other = memmem(ek_buf_str(out), out->len, "HTTP/1.1 5", 10);

    if (!refusal || (other && other < refusal))
        refusal = other;
    return refusal ? (size_t)(refusal - ek_buf_str(out)) : out->len;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    EK_AUTO(ek_buf) whole, pieces;
    size_t piece = size ? (size_t)data[0] % 16 + 1 : 1;

    ek_buf_init(&whole, 1 << 24);
    ek_buf_init(&pieces, 1 << 24);
    if (size > 4096)
        return 0;
    run(data, size, size ? size : 1, &whole);
    run(data, size, piece, &pieces);
    size_t n = accepted(&whole);
    if (n != accepted(&pieces) || (n < whole.len) != (n < pieces.len) ||
        memcmp(ek_buf_str(&whole), ek_buf_str(&pieces), n) != 0) {
        fprintf(stderr, "cut at %zu:\n%s\n--- but whole:\n%s\n", piece, ek_buf_str(&pieces),
                ek_buf_str(&whole));
        abort();
    }
    return 0;
}
