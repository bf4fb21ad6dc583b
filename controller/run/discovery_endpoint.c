/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/discovery_endpoint.h"

#include <string.h>

#include "controller/proxy/board.h"
#include "controller/proxy/remakes.h"
#include "controller/run/peer_documents.h"

struct ek_discovery_endpoint {
    struct ek_proxy_board *board;        /* has the view */
    struct ek_peer_documents *documents; /* the serving thread's; NULL before the route is made */
    struct ek_remakes *remakes;          /* likewise */
};

/* A request whose document is being made. */
struct later {
    struct ek_discovery_endpoint *endpoint;
    const struct ek_http_request *request;
    struct ek_http_reply *reply;
    struct ek_view *view; /* a reference */
    const struct ek_view_document *document;
    struct ek_negotiate_choice choice;
    struct ek_remakes_wait wait;
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
    ek_remakes_close(endpoint->remakes, NULL, NULL);
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
                          const struct ek_remakes_want *want, struct ek_http_reply *reply,
                          struct ek_proxy_answer *ret_answer)
{
    struct ek_negotiate_reply found = {0};

    if (!ek_remakes_reply(endpoint->remakes, want, &found)) {
        ek_proxy_answer_set(ret_answer, 503, 1, "the discovery document cannot be written as YAML");
        return false;
    }
    ek_discovery_each_field(&found, ek_peer_documents_field, reply);
    ek_http_reply_send(reply, found.code, found.content_type, found.body.p, found.body.len);
    return true;
}

static void on_made(void *ctx, bool made)
{
    struct later *later = ctx;
    const struct ek_negotiate_headers headers = headers_of(later->request);
    const struct ek_remakes_want want = {
        .document = later->document, .choice = &later->choice, .headers = &headers};
    struct ek_proxy_answer answer = {0};

    if (!made)
        ek_proxy_answer_set(&answer, 503, 1, "there is no memory for the discovery document");
    if (!made || !send_document(later->endpoint, &want, later->reply, &answer))
        ek_peer_documents_refuse(&answer, later->reply);
    ek_negotiate_done(&later->choice);
    ek_view_unref(later->view);
    ek_free(later);
}

/* Answers, or begins to make the document; then the choice is taken. False with *ret_answer for an
 * answer without a document. */
static bool answer_later(struct ek_discovery_endpoint *endpoint, const struct ek_remakes_want *want,
                         struct ek_negotiate_choice *choice, const struct ek_http_request *request,
                         struct ek_http_reply *reply, struct ek_proxy_answer *ret_answer)
{
    EK_AUTOFREE struct later *later = ek_xalloc(sizeof *later);

    switch (ek_remakes_begin(endpoint->remakes, want, &later->wait, on_made, later)) {
    case EK_REMAKES_NOW:
        return send_document(endpoint, want, reply, ret_answer);
    case EK_REMAKES_FULL:
        ek_proxy_answer_set(ret_answer, 429, 1, "too many large documents are being written");
        return false;
    case EK_REMAKES_WAIT:
        break;
    }
    later->endpoint = endpoint;
    later->request = request;
    later->reply = reply;
    later->view = ek_view_ref(want->view);
    later->document = want->document;
    later->choice = *choice;
    *choice = (struct ek_negotiate_choice){0};
    later = NULL;
    return true;
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
    const struct ek_remakes_want want = {.view = view,
                                         .document = document,
                                         .choice = choice,
                                         .headers = &headers,
                                         .user = request->user};
    return answer_later(endpoint, &want, choice, request, reply, ret_answer);
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
    endpoint->remakes = ek_remakes_new(loop);
    return (struct ek_http_route){
        .path = "/", .subtree = true, .methods = "GET", .handler = handle, .ctx = endpoint};
}
