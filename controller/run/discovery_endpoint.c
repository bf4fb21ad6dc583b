/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/discovery_endpoint.h"

#include <string.h>

#include "controller/proxy/board.h"
#include "controller/run/peer_documents.h"
#include "reconcilers/proxy/discovery.h"

/* A longer document is indented, or written as YAML, on a thread of libuv's pool: the serving
 * thread has /healthz, too. */
#define REMADE_HERE_MAX ((size_t)256 * 1024)

/* So many at once: a document of 10 MiB has 25 when it is indented. */
#define REMAKES_MAX 2

struct ek_discovery_endpoint {
    struct ek_proxy_board *board;         /* has the view */
    struct ek_discovery_remade discovery; /* the serving thread's, as is what follows */
    struct ek_peer_documents *documents;  /* NULL before the route is made */
    uv_loop_t *loop;
    size_t remakes; /* under way */
};

/* A document that is made on another thread, which has document, choice and made meanwhile. */
struct remake {
    struct ek_discovery_endpoint *endpoint;
    const struct ek_http_request *request;
    struct ek_http_reply *reply;
    const struct ek_view *view; /* a reference */
    const struct ek_view_document *document;
    struct ek_negotiate_choice choice;
    struct ek_discovery_remade made;
    bool done;
    uv_work_t work;
};

struct ek_discovery_endpoint *ek_discovery_endpoint_new(void)
{
    struct ek_discovery_endpoint *endpoint = ek_xalloc(sizeof *endpoint);

    endpoint->board = ek_proxy_board_new(NULL, NULL);
    return endpoint;
}

void ek_discovery_endpoint_free(struct ek_discovery_endpoint *endpoint)
{
    if (!endpoint)
        return;
    ek_proxy_board_free(endpoint->board);
    ek_discovery_remade_done(&endpoint->discovery);
    ek_peer_documents_free(endpoint->documents);
    ek_free(endpoint);
}

void ek_discovery_endpoint_publish(struct ek_discovery_endpoint *endpoint,
                                   const struct ek_view *view)
{
    ek_proxy_board_set_view(endpoint->board, ek_view_ref(view));
}

/* ---- On the serving thread ---- */

static const char *header(const struct ek_http_request *request, const char *name)
{
    const char *value = ek_http_request_header(request, name);
    return value ? value : "";
}

static bool all_are_fetched(const struct ek_view *view)
{
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(view, &n);

    for (size_t i = 0; i < n; i++)
        if (!peers[i].fetched)
            return false;
    return true;
}

static struct ek_negotiate_headers headers_of(const struct ek_http_request *request)
{
    return (struct ek_negotiate_headers){.accept = header(request, "accept"),
                                         .accept_encoding = header(request, "accept-encoding"),
                                         .if_none_match = header(request, "if-none-match"),
                                         .user_agent = header(request, "user-agent")};
}

/* Sends the document; false with *ret_answer when it cannot be written. */
static bool send_document(struct ek_discovery_endpoint *endpoint,
                          const struct ek_view_document *document,
                          const struct ek_negotiate_choice *choice,
                          const struct ek_http_request *request, struct ek_http_reply *reply,
                          struct ek_proxy_answer *ret_answer)
{
    const struct ek_negotiate_headers headers = headers_of(request);
    struct ek_negotiate_reply found = {0};

    if (!ek_discovery_reply(&endpoint->discovery, document, choice, &headers, &found)) {
        ek_proxy_answer_set(ret_answer, 503, 1, "the discovery document cannot be written as YAML");
        return false;
    }
    ek_discovery_each_field(&found, ek_peer_documents_field, reply);
    ek_http_reply_send(reply, found.code, found.content_type, found.body.p, found.body.len);
    return true;
}

static void on_work(uv_work_t *work)
{
    struct remake *r = work->data;

    r->done = ek_discovery_remake(&r->made, r->document, &r->choice);
}

static void on_worked(uv_work_t *work, int status)
{
    struct remake *r = work->data;
    struct ek_discovery_endpoint *endpoint = r->endpoint;
    struct ek_proxy_answer answer = {0};

    (void)status;
    endpoint->remakes--;
    if (r->done) {
        ek_discovery_remade_done(&endpoint->discovery);
        endpoint->discovery = r->made;
    } else {
        ek_proxy_answer_set(&answer, 503, 1, "there is no memory for the discovery document");
    }
    if (!r->done ||
        !send_document(endpoint, r->document, &r->choice, r->request, r->reply, &answer))
        ek_peer_documents_refuse(&answer, r->reply);
    ek_negotiate_done(&r->choice);
    ek_view_unref((struct ek_view *)(uintptr_t)r->view);
    ek_free(r);
}

/* Takes the choice. */
static void begin_remake(struct ek_discovery_endpoint *endpoint, const struct ek_view *view,
                         const struct ek_view_document *document,
                         struct ek_negotiate_choice *choice, const struct ek_http_request *request,
                         struct ek_http_reply *reply)
{
    struct remake *r = ek_xalloc(sizeof *r);

    *r = (struct remake){.endpoint = endpoint,
                         .request = request,
                         .reply = reply,
                         .view = ek_view_ref(view),
                         .document = document,
                         .choice = *choice};
    *choice = (struct ek_negotiate_choice){0};
    r->work.data = r;
    endpoint->remakes++;
    uv_queue_work(endpoint->loop, &r->work, on_work, on_worked);
}

/* Answers with the document of the choice, which it may take; false with *ret_answer when there is
 * none. */
static bool answer_document(struct ek_discovery_endpoint *endpoint, const struct ek_view *view,
                            struct ek_negotiate_choice *choice,
                            const struct ek_http_request *request, struct ek_http_reply *reply,
                            struct ek_proxy_answer *ret_answer)
{
    const struct ek_view_document *document =
        ek_discovery_find(view, choice, ek_view_merges_as(view));
    const struct ek_negotiate_headers headers = headers_of(request);

    if (!document && choice->kind != EK_NEGOTIATE_ROOT && all_are_fetched(view)) {
        ek_proxy_answer_set(ret_answer, 404, 0, "the server could not find the requested resource");
        return false;
    }
    if (!document) {
        ek_proxy_answer_set(ret_answer, 503, 1, "the discovery document is not known yet");
        return false;
    }
    if (document->body.len <= REMADE_HERE_MAX ||
        !ek_discovery_must_remake(&endpoint->discovery, document, choice, &headers))
        return send_document(endpoint, document, choice, request, reply, ret_answer);
    if (endpoint->remakes >= REMAKES_MAX) {
        ek_proxy_answer_set(ret_answer, 429, 1, "too many large documents are being written");
        return false;
    }
    begin_remake(endpoint, view, document, choice, request, reply);
    return true;
}

/* Answers a request that was read, now or later; false with *ret_answer for an answer without a
 * document. */
static bool answer(struct ek_discovery_endpoint *endpoint, const struct ek_http_request *request,
                   struct ek_proxy_request *read, struct ek_http_reply *reply,
                   struct ek_proxy_answer *ret_answer)
{
    const struct ek_negotiate_headers headers = headers_of(request);
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_proxy_board_view(endpoint->board);
    EK_AUTO(ek_negotiate_choice) choice;

    ek_negotiate_choose(read, &headers, &choice);
    if (strcmp(read->path, request->path) != 0)
        ek_proxy_answer_set(ret_answer, 404, 0, "the server could not find the requested resource");
    else if (choice.kind == EK_NEGOTIATE_FORWARD && !ek_peer_documents_has(read))
        ek_proxy_answer_set(ret_answer, 501, 0,
                            "only discovery (/api, /apis), /openapi and /version are served here; "
                            "evenkeel proxy serves resources");
    else if (choice.kind == EK_NEGOTIATE_REFUSE)
        *ret_answer = choice.answer;
    else if (!view || !ek_view_is_complete(view))
        ek_proxy_answer_set(ret_answer, 503, 1,
                            "the discovery documents of an API server are not known yet");
    else if (choice.kind == EK_NEGOTIATE_FORWARD)
        ek_peer_documents_answer(endpoint->documents, view, read, request, reply);
    else
        return answer_document(endpoint, view, &choice, request, reply, ret_answer);
    return choice.kind == EK_NEGOTIATE_FORWARD && !ret_answer->code;
}

static void handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    EK_AUTOFREE char *target =
        ek_xasprintf("%s%s%s", request->path, *request->query ? "?" : "", request->query);
    EK_AUTO(ek_proxy_request) read;
    struct ek_proxy_answer refusal = {0};

    /* The server drops the body of the answer to a HEAD. */
    if (!ek_proxy_request_read("GET", target, &read, &refusal) ||
        !answer(ctx, request, &read, reply, &refusal))
        ek_peer_documents_refuse(&refusal, reply);
}

struct ek_http_route ek_discovery_endpoint_route(struct ek_discovery_endpoint *endpoint,
                                                 const struct ek_reviewer *sender, uv_loop_t *loop)
{
    endpoint->documents = ek_peer_documents_new(sender, loop);
    endpoint->loop = loop;
    return (struct ek_http_route){
        .path = "/", .subtree = true, .methods = "GET", .handler = handle, .ctx = endpoint};
}
