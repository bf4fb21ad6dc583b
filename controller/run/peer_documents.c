/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/peer_documents.h"

#include <stdio.h>
#include <string.h>

#include "controller/http/share.h"
#include "reconcilers/proxy/discovery.h"
#include "reconcilers/proxy/openapi_view.h"

#define STATUS_MAX  ((size_t)4096)
#define FETCHES_MAX 4
#define PEER_MS     10000

#define V2 "/openapi/v2"
#define V3 "/openapi/v3"

struct ek_peer_documents {
    struct ek_reviewer sender;
    uv_loop_t *loop;
    struct fetch *fetches; /* under way */
};

/* A request under way. The request and the reply are valid until the reply is sent. */
struct fetch {
    struct ek_peer_documents *documents;
    struct fetch *next;
    char *user; /* of the client; owned */
    const struct ek_http_request *request;
    struct ek_http_reply *reply;
    const struct ek_view *view; /* a reference */
    struct ek_proxy_request read;
    struct ek_openapi_document document;
    bool indexing, gathering;
    uint8_t marks[EK_VIEW_PEERS_MAX]; /* enum ek_route_mark */
    size_t peer;                      /* that is asked */
    struct ek_proxy_answer refusal;   /* of an API server of the gather; code 0: none */
    struct ek_openapi_gather gather;
    uv_work_t work;
};

struct ek_peer_documents *ek_peer_documents_new(const struct ek_reviewer *sender, uv_loop_t *loop)
{
    struct ek_peer_documents *documents = ek_xalloc(sizeof *documents);

    documents->sender = *sender;
    documents->loop = loop;
    return documents;
}

void ek_peer_documents_free(struct ek_peer_documents *documents)
{
    ek_free(documents);
}

bool ek_peer_documents_has(const struct ek_proxy_request *read)
{
    return !strcmp(read->verb, "get") &&
           (!strcmp(read->path, "/version") || !strcmp(read->path, V2) || !strcmp(read->path, V3) ||
            !strncmp(read->path, V3 "/", strlen(V3 "/")));
}

/* ---- Replies ---- */

static const char *header(const struct fetch *f, const char *name)
{
    const char *value = ek_http_request_header(f->request, name);
    return value ? value : "";
}

void ek_peer_documents_field(void *reply, const char *name, const char *value)
{
    if (strcmp(name, "Content-Type") != 0)
        ek_http_reply_header(reply, name, value);
}

void ek_peer_documents_refuse(const struct ek_proxy_answer *answer, struct ek_http_reply *reply)
{
    EK_AUTO(ek_buf) body;
    char seconds[16];

    ek_buf_init(&body, STATUS_MAX);
    ek_proxy_answer_write(answer, &body);
    snprintf(seconds, sizeof seconds, "%d", answer->retry_after_s);
    if (answer->retry_after_s > 0)
        ek_http_reply_header(reply, "Retry-After", seconds);
    ek_http_reply_header(reply, "Cache-Control", "no-cache, private");
    ek_http_reply_send(reply, answer->code, "application/json", ek_buf_str(&body), body.len);
}

static void free_fetch(struct fetch *f)
{
    struct fetch **slot = &f->documents->fetches;

    while (*slot != f)
        slot = &(*slot)->next;
    *slot = f->next;
    ek_free(f->user);
    ek_view_unref((struct ek_view *)(uintptr_t)f->view);
    ek_proxy_request_done(&f->read);
    ek_openapi_document_done(&f->document);
    ek_openapi_gather_done(&f->gather);
    ek_free(f);
}

static void refuse(struct fetch *f, const struct ek_proxy_answer *answer)
{
    ek_peer_documents_refuse(answer, f->reply);
    free_fetch(f);
}

static void send_reply(struct fetch *f, const struct ek_negotiate_reply *reply)
{
    ek_discovery_each_field(reply, ek_peer_documents_field, f->reply);
    ek_http_reply_send(f->reply, reply->code, reply->content_type, reply->body.p, reply->body.len);
    free_fetch(f);
}

/* The hash in a path of the index is the tag of the document without its quotes. */
static bool has_hash_of(const struct fetch *f, const char *etag)
{
    char hash[EK_ETAG_SIZE];
    size_t len = strlen(etag);

    return f->document.group && ek_proxy_query_first(f->read.query, "hash", hash, sizeof hash) &&
           len == strlen(hash) + 2 && !strncmp(etag + 1, hash, len - 2);
}

/* A document of one API server, as it is. */
static void send_document(struct fetch *f, const struct ek_response *resp)
{
    EK_AUTO(ek_buf) index;
    struct ek_negotiate_reply reply = {.code = resp->status,
                                       .content_type = resp->content_type,
                                       .etag = *resp->etag ? resp->etag : NULL,
                                       .cache_control = has_hash_of(f, resp->etag)
                                                            ? "public, max-age=31536000, immutable"
                                                            : "no-cache, private",
                                       .vary = {"Accept"},
                                       .body = resp->body};

    ek_buf_init(&index, EK_OPENAPI_INDEX_MAX);
    if (f->indexing && ek_openapi_index(f->view, resp->body, &index)) {
        reply.etag = NULL;
        reply.body = (struct ek_str){ek_buf_str(&index), index.len};
    }
    send_reply(f, &reply);
}

static void send_gathered(struct fetch *f)
{
    struct ek_negotiate_reply reply;
    char warning[128];
    size_t missing = ek_openapi_gather_reply(&f->gather, f->view, header(f, "accept-encoding"),
                                             header(f, "if-none-match"), &reply);

    snprintf(warning, sizeof warning, EK_OPENAPI_LACKS, missing);
    if (missing > 0)
        ek_http_reply_header(f->reply, "Warning", warning);
    send_reply(f, &reply);
}

/* On a thread of the pool: nobody else has the gather. */
static void on_work(uv_work_t *work)
{
    struct fetch *f = work->data;

    ek_openapi_gather_merge(&f->gather);
}

static void on_worked(uv_work_t *work, int status)
{
    struct fetch *f = work->data;
    struct ek_proxy_answer answer = {0};

    (void)status;
    if (f->gather.merged) {
        send_gathered(f);
        return;
    }
    ek_proxy_answer_set(&answer, 503, 1, "the documents of the API servers cannot be merged");
    refuse(f, &answer);
}

static void finish_gather(struct fetch *f)
{
    if (f->gather.n > 0) {
        f->work.data = f;
        uv_queue_work(f->documents->loop, &f->work, on_work, on_worked);
        return;
    }
    if (!f->refusal.code)
        ek_proxy_answer_set(&f->refusal, 503, 1, "no API server has sent its document");
    refuse(f, &f->refusal);
}

/* ---- Requests ---- */

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err);

static size_t max_body(const struct fetch *f)
{
    return f->indexing    ? EK_OPENAPI_INDEX_READ_MAX
           : f->gathering ? ek_openapi_gather_room(&f->gather)
                          : EK_OPENAPI_GATHERED_MAX;
}

static void ask(struct fetch *f, size_t i)
{
    size_t n;
    const struct ek_view_peer *peer = &ek_view_peers(f->view, &n)[i];
    bool changes = f->indexing || f->gathering; /* the document, and so its tag */
    const char *accept = header(f, "accept"), *known = header(f, "if-none-match");
    const struct ek_request request = {.path = f->read.path,
                                       .accept = *accept && !f->indexing ? accept : NULL,
                                       .if_none_match = *known && !changes ? known : NULL,
                                       .timeout_ms = PEER_MS,
                                       .max_body = max_body(f),
                                       .connect_to = peer->address,
                                       .own_name = peer->name};

    f->peer = i;
    f->documents->sender.send(f->documents->sender.ctx, &request, on_answer, f);
}

static void gather_next(struct fetch *f)
{
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(f->view, &n);

    for (size_t i = 0; i < n && ek_openapi_gather_room(&f->gather) > 0; i++)
        if (f->marks[i] == EK_ROUTE_UNTRIED && peers[i].routable && *peers[i].address) {
            ask(f, i);
            return;
        }
    finish_gather(f);
}

static void ask_next(struct fetch *f)
{
    struct ek_route_peer peers[EK_VIEW_PEERS_MAX];
    struct ek_route_decision decision = {0};
    const struct ek_route_memory memory = {0};
    size_t n = 0;
    const struct ek_view_peer *known = ek_view_peers(f->view, &n);

    for (size_t i = 0; i < n; i++)
        peers[i] =
            (struct ek_route_peer){.name = known[i].name,
                                   .routable = known[i].routable && *known[i].address,
                                   .serves = ek_openapi_serves(f->view, i, &f->read, &f->document),
                                   .mark = f->marks[i]};
    ek_route_decide(&(struct ek_route_input){.request = &f->read,
                                             .peers = peers,
                                             .n_peers = n,
                                             .memory = &memory,
                                             .can_resend = true},
                    &decision);
    if (decision.kind == EK_ROUTE_FORWARD) {
        ask(f, decision.peer);
        return;
    }
    if (!decision.answer.code)
        ek_proxy_answer_set(&decision.answer, 503, 1, "no API server has sent its document");
    refuse(f, &decision.answer);
}

/* An API server has said that it does not send the document, and another one would say the same. */
static bool is_final(const struct fetch *f, int status, int error,
                     struct ek_proxy_answer *ret_answer)
{
    if (error == EK_E_LIMIT) {
        ek_proxy_answer_set(ret_answer, 503, 0, "the document of an API server is too large");
        return true;
    }
    switch (status) {
    case 401:
    case 403:
        ek_proxy_answer_set(ret_answer, 503, 0,
                            "API servers do not let Evenkeel read %s: its account needs the "
                            "ClusterRole system:discovery",
                            f->read.path);
        return true;
    case 404:
        ek_proxy_answer_set(ret_answer, 404, 0, "the server could not find the requested resource");
        return true;
    case 406:
        ek_proxy_answer_set(ret_answer, 406, 0,
                            "no media type of the Accept header is served for this document");
        return true;
    default:
        return false;
    }
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct fetch *f = ctx;
    struct ek_proxy_answer answer = {0};
    int status = resp ? resp->status : 0, error = err ? err->code : 0;

    f->marks[f->peer] = status ? EK_ROUTE_SENT : EK_ROUTE_NOT_SENT;
    if (error == EK_E_CANCELED || ek_http_reply_is_orphan(f->reply)) {
        ek_proxy_answer_set(&answer, 503, 1, "the request was given up");
        refuse(f, &answer);
    } else if (!f->gathering) {
        if (resp && !error)
            send_document(f, resp);
        else if (is_final(f, status, error, &answer))
            refuse(f, &answer);
        else
            ask_next(f);
    } else {
        if (!error && status == 200 && ek_openapi_gather_takes(&f->gather, resp->content_type))
            ek_openapi_gather_add(&f->gather, f->peer, resp->body);
        else
            is_final(f, status, error, &f->refusal);
        gather_next(f);
    }
}

/* Each user leaves a place to others; an address may have many users, and a user many addresses. */
static bool has_place(const struct ek_peer_documents *documents, const char *user, bool gathering)
{
    size_t n = 0, mine = 0, n_gathers = 0, my_gathers = 0;

    for (const struct fetch *f = documents->fetches; f; f = f->next) {
        bool own = !strcmp(f->user, user);
        n++;
        mine += own;
        n_gathers += f->gathering;
        my_gathers += own && f->gathering;
    }
    return ek_http_share_allows(mine, n, FETCHES_MAX) &&
           (!gathering || ek_http_share_allows(my_gathers, n_gathers, EK_OPENAPI_GATHERS_MAX));
}

void ek_peer_documents_answer(struct ek_peer_documents *documents, const struct ek_view *view,
                              struct ek_proxy_request *read, const struct ek_http_request *request,
                              struct ek_http_reply *reply)
{
    bool gathering = ek_openapi_v2_is_document(read) && ek_openapi_is_mixed(view);
    struct ek_proxy_answer answer = {0};

    if (!has_place(documents, request->user, gathering)) {
        ek_proxy_answer_set(&answer, 429, 1, "too many documents are being read of API servers");
        ek_peer_documents_refuse(&answer, reply);
        return;
    }
    struct fetch *f = ek_xalloc(sizeof *f);
    *f = (struct fetch){.documents = documents,
                        .next = documents->fetches,
                        .user = ek_xstrdup(request->user),
                        .request = request,
                        .reply = reply,
                        .view = ek_view_ref(view),
                        .read = *read,
                        .indexing = ek_openapi_is_index(read),
                        .gathering = gathering};
    *read = (struct ek_proxy_request){0};
    ek_openapi_document_read(&f->read, &f->document);
    documents->fetches = f;
    if (gathering)
        gather_next(f);
    else
        ask_next(f);
}
