/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /openapi/v2 in front of API servers that serve different resources. The client's own request goes
 * to one API server, which decides whether the client may have the document, and then to each other
 * one that takes requests; the documents are merged on a thread of libuv's pool. Nothing is kept
 * between requests. While all API servers serve the same, the request is forwarded as any other.
 *
 * States of a gather: not granted (the request is forwarded as any other); granted (each further
 * response is taken or dropped); working (the loop waits for the thread). The request may end in
 * each state; a gather that works lives until the thread is done.
 */
#include "controller/proxy/proxy-internal.h"

struct ek_proxy_gather {
    struct ek_proxy *proxy;
    struct ek_proxy_front *front; /* NULL: the request is over */
    uv_work_t work;
    bool granted, working;
    bool expected; /* the response under way is a document */
    bool asked[EK_VIEW_PEERS_MAX];
    struct ek_openapi_gather documents;
};

_Static_assert(EK_OPENAPI_GATHERED_MAX == EK_RELAY_GATHER_MAX, "what a relay collects");

/* ---- Life ---- */

bool ek_proxy_gather_begin__(struct ek_proxy_front *front, const struct ek_h1_head *head)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_answer answer = {0};

    if (head->framing != EK_H1_EMPTY || !ek_openapi_v2_is_document(&x->request))
        return false;
    if (!ek_view_is_complete(x->view)) {
        ek_proxy_answer_set(&answer, 503, 1,
                            "the discovery documents of an API server are not known yet");
        ek_exchange_answer__(front, &answer);
        return true;
    }
    if (!ek_openapi_is_mixed(x->view))
        return false;
    if (front->proxy->gathers >= EK_OPENAPI_GATHERS_MAX) {
        ek_exchange_refuse__(front, 429, "openapi_merges",
                             "too many documents of OpenAPI are being merged");
        return true;
    }
    x->gather = ek_xalloc(sizeof *x->gather);
    x->gather->proxy = front->proxy;
    x->gather->front = front;
    front->proxy->gathers++;
    return false;
}

static void free_gather(struct ek_proxy_gather *g)
{
    g->proxy->gathers--;
    ek_openapi_gather_done(&g->documents);
    ek_free(g);
}

void ek_proxy_gather_end__(struct ek_proxy_gather *g)
{
    if (!g)
        return;
    g->front = NULL;
    if (!g->working)
        free_gather(g);
}

/* ---- The merged document ---- */

static void put_field(void *out, const char *name, const char *value)
{
    ek_h1_put_field(out, name, value);
}

static void answer(struct ek_proxy_gather *g)
{
    EK_AUTO(ek_buf) fields;
    struct ek_proxy_front *front = g->front;
    const struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_answer none = {0};
    struct ek_negotiate_reply reply;

    ek_buf_init(&fields, (size_t)64 * 1024);
    if (!g->documents.merged) {
        ek_proxy_answer_set(&none, 503, 1, "the documents of the API servers cannot be merged");
        ek_exchange_answer__(front, &none);
        return;
    }
    size_t missing = ek_openapi_gather_reply(&g->documents, x->view, x->accept_encoding,
                                             x->if_none_match, &reply);
    ek_discovery_each_field(&reply, put_field, &fields);
    if (missing > 0)
        ek_buf_printf(&fields, "Warning: " EK_OPENAPI_LACKS "\r\n", missing);
    ek_exchange_answer_document__(front, reply.code,
                                  (struct ek_str){ek_buf_str(&fields), fields.len}, reply.body);
}

/* On a thread of the pool: nobody else has the gather. */
static void on_work(uv_work_t *work)
{
    struct ek_proxy_gather *g = work->data;

    ek_openapi_gather_merge(&g->documents);
}

static void on_worked(uv_work_t *work, int status)
{
    struct ek_proxy_gather *g = work->data;
    struct ek_proxy *proxy = g->proxy;
    struct ek_proxy_front *front = g->front;

    (void)status;
    g->working = false;
    if (front) {
        answer(g); /* ends the request, and the gather */
        ek_front_go_on__(front);
    } else {
        free_gather(g);
    }
    ek_proxy_released__(proxy);
}

static void finish(struct ek_proxy_front *front)
{
    struct ek_proxy_gather *g = front->exchange.gather;

    if (g->documents.n == 0) { /* too large: one of them, as it is */
        front->exchange.gather = NULL;
        ek_proxy_gather_end__(g);
        ek_openapi_announce__(front);
        ek_exchange_forward__(front);
        return;
    }
    g->working = true;
    g->work.data = g;
    g->proxy->n_handles++;
    uv_queue_work(g->proxy->loop, &g->work, on_work, on_worked);
}

/* ---- Responses ---- */

bool ek_proxy_gather_is_granted__(const struct ek_proxy_exchange *x)
{
    return x->gather && x->gather->granted;
}

bool ek_proxy_gather_response__(struct ek_proxy_front *front, const struct ek_h1_head *head,
                                enum ek_relay_fate *ret_fate)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_gather *g = x->gather;
    uint64_t length = head->framing == EK_H1_LENGTH ? head->length : EK_RELAY_GATHER_MAX;
    bool document = head->status == 200 && !ek_h1_field(head, "content-encoding") &&
                    ek_openapi_gather_takes(&g->documents, ek_h1_field(head, "content-type"));

    if (!g->granted && !document) {
        if (head->status == 200)
            ek_openapi_announce__(front);
        return false;
    }
    g->granted = true;
    g->asked[x->peer] = true;
    g->expected = document && length <= ek_openapi_gather_room(&g->documents);
    if (g->expected)
        x->limit = ek_proxy_count_body__(front, g->documents.size + (size_t)length);
    *ret_fate = g->expected && !x->limit ? EK_RELAY_GATHER : EK_RELAY_DISCARD;
    return true;
}

void ek_proxy_gather_held__(struct ek_proxy_front *front, struct ek_str body)
{
    struct ek_proxy_gather *g = front->exchange.gather;

    if (g->expected)
        ek_openapi_gather_add(&g->documents, front->exchange.peer, body);
    ek_proxy_count_body__(front, g->documents.size);
    ek_proxy_gather_next__(front);
}

void ek_proxy_gather_next__(struct ek_proxy_front *front)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_gather *g = x->gather;
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(x->view, &n);

    for (size_t i = 0; i < n; i++) {
        if (g->asked[i] || x->marks[i] != EK_ROUTE_UNTRIED || !peers[i].routable ||
            !*peers[i].address)
            continue;
        g->asked[i] = true;
        x->attempts = 0; /* this is no repetition after a failure */
        if (ek_exchange_send__(front, i))
            return;
    }
    finish(front);
}
