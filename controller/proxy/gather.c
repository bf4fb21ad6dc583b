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
#include "reconcilers/peers/document.h"

/* At once, of a proxy: each may need the memory of GATHER_MAX octets of documents, parsed. */
#define GATHERS_MAX 2

/* The documents of one gather have at most so many octets. */
#define GATHER_MAX ((size_t)32 << 20)

struct ek_proxy_gather {
    struct ek_proxy *proxy;
    struct ek_proxy_front *front; /* NULL: the request is over */
    uv_work_t work;
    bool granted, working;
    bool expected; /* the response under way is a document */
    char *content_type;
    enum ek_openapi_v2_form form;
    bool asked[EK_VIEW_PEERS_MAX];
    size_t peers[EK_OPENAPI_V2_DOCS_MAX];                  /* of the view; of docs */
    struct ek_openapi_v2_doc docs[EK_OPENAPI_V2_DOCS_MAX]; /* texts are owned */
    size_t n, size;
    bool merged;
    struct ek_document made;
};

_Static_assert(EK_OPENAPI_V2_DOCS_MAX >= EK_VIEW_PEERS_MAX, "one document of each API server");

/* ---- Which API servers ---- */

static bool serve_the_same(const struct ek_view *view, size_t i, size_t j)
{
    for (int place = 0; place < EK_VIEW_PLACE_MAX; place++) {
        const struct ek_view_document *a = ek_view_own(view, i, place, EK_VIEW_V2);
        const struct ek_view_document *b = ek_view_own(view, j, place, EK_VIEW_V2);
        if (!a || !b || strcmp(a->etag, b->etag) != 0)
            return false;
    }
    return true;
}

bool ek_proxy_gather_is_mixed__(const struct ek_view *view)
{
    size_t n = 0;

    ek_view_peers(view, &n);
    for (size_t i = 1; i < n; i++)
        if (!serve_the_same(view, 0, i))
            return true;
    return false;
}

/* API servers whose resources may be missing in the merged document. */
static size_t count_missing(const struct ek_proxy_gather *g, const struct ek_view *view)
{
    size_t n = 0, missing = 0;

    ek_view_peers(view, &n);
    for (size_t i = 0; i < n; i++) {
        bool covered = false;
        for (size_t d = 0; d < g->n && !covered; d++)
            covered = g->docs[d].used && (g->peers[d] == i || serve_the_same(view, g->peers[d], i));
        missing += !covered;
    }
    return missing;
}

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
    if (!ek_proxy_gather_is_mixed__(x->view))
        return false;
    if (front->proxy->gathers >= GATHERS_MAX) {
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
    for (size_t i = 0; i < g->n; i++)
        ek_free((void *)(uintptr_t)g->docs[i].text.p);
    ek_document_done(&g->made);
    ek_free(g->content_type);
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

static void put_fields(const struct ek_proxy_gather *g, bool gzip, struct ek_buf *out)
{
    size_t missing = count_missing(g, g->front->exchange.view);

    ek_h1_put_field(out, "Content-Type", g->content_type);
    ek_h1_put_field(out, "ETag", g->made.etag);
    ek_h1_put_field(out, "Cache-Control", "no-cache, private");
    ek_h1_put_field(out, "Vary", "Accept");
    ek_h1_put_field(out, "Vary", "Accept-Encoding");
    if (gzip)
        ek_h1_put_field(out, "Content-Encoding", "gzip");
    if (missing > 0)
        ek_buf_printf(out,
                      "Warning: 299 - \"the document lacks resources of %zu API servers that did "
                      "not send theirs\"\r\n",
                      missing);
}

static void answer(struct ek_proxy_gather *g)
{
    EK_AUTO(ek_buf) fields;
    struct ek_proxy_front *front = g->front;
    const struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_answer none = {0};
    bool gzip = g->made.gzip.len > 0 && ek_negotiate_takes_gzip(x->accept_encoding);
    const struct ek_buf *body = gzip ? &g->made.gzip : &g->made.body;

    ek_buf_init(&fields, (size_t)64 * 1024);
    if (!g->merged) {
        ek_proxy_answer_set(&none, 503, 1, "the documents of the API servers cannot be merged");
        ek_exchange_answer__(front, &none);
        return;
    }
    put_fields(g, gzip, &fields);
    bool known = ek_openapi_v2_is_known(x->if_none_match, g->made.etag);
    ek_exchange_answer_document__(front, known ? 304 : 200,
                                  (struct ek_str){ek_buf_str(&fields), fields.len},
                                  known ? EK_STR("") : (struct ek_str){body->data, body->len});
}

/* On a thread of the pool: nobody else has the gather. */
static void on_work(uv_work_t *work)
{
    struct ek_proxy_gather *g = work->data;
    EK_AUTO(ek_buf) body;

    ek_buf_init(&body, EK_OPENAPI_V2_MAX);
    g->merged = ek_openapi_v2_merge(g->form, g->docs, g->n, &body);
    if (g->merged)
        ek_document_make(&g->made, &body, NULL);
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

    if (g->n == 0) { /* too large: one of them, as it is */
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

/* A whole document in the form of the first one. */
static bool is_document(struct ek_proxy_gather *g, const struct ek_h1_head *head)
{
    const char *type = ek_h1_field(head, "content-type");
    enum ek_openapi_v2_form form;

    if (head->status != 200 || ek_h1_field(head, "content-encoding") || !type ||
        !ek_openapi_v2_form(type, &form) || (g->content_type && form != g->form))
        return false;
    if (!g->content_type)
        g->content_type = ek_xstrdup(type);
    g->form = form;
    return true;
}

bool ek_proxy_gather_response__(struct ek_proxy_front *front, const struct ek_h1_head *head,
                                enum ek_relay_fate *ret_fate)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_gather *g = x->gather;
    uint64_t length = head->framing == EK_H1_LENGTH ? head->length : EK_RELAY_GATHER_MAX;
    bool document = is_document(g, head);

    if (!g->granted && !document) {
        if (head->status == 200)
            ek_openapi_announce__(front);
        return false;
    }
    g->granted = true;
    g->asked[x->peer] = true;
    g->expected = document && length <= EK_RELAY_GATHER_MAX && length <= GATHER_MAX - g->size;
    if (g->expected)
        x->limit = ek_proxy_count_body__(front, g->size + (size_t)length);
    *ret_fate = g->expected && !x->limit ? EK_RELAY_GATHER : EK_RELAY_DISCARD;
    return true;
}

void ek_proxy_gather_held__(struct ek_proxy_front *front, struct ek_str body)
{
    struct ek_proxy_gather *g = front->exchange.gather;
    char *text = g->expected && body.len > 0 ? ek_alloc(body.len) : NULL;

    if (text) {
        memcpy(text, body.p, body.len);
        g->peers[g->n] = front->exchange.peer;
        g->docs[g->n++].text = (struct ek_str){text, body.len};
        g->size += body.len;
    }
    ek_proxy_count_body__(front, g->size);
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
