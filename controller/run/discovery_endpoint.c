/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/discovery_endpoint.h"

#include <string.h>

#include "controller/proxy/board.h"
#include "controller/run/peer_documents.h"
#include "reconcilers/proxy/discovery.h"

struct ek_discovery_endpoint {
    struct ek_proxy_board *board;         /* has the view */
    struct ek_discovery_remade discovery; /* the serving thread's */
    struct ek_peer_documents *documents;  /* likewise; NULL before the route is made */
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

/* Sends the document of the choice; false with *ret_answer when there is none. */
static bool send_document(struct ek_discovery_endpoint *endpoint, const struct ek_view *view,
                          const struct ek_negotiate_choice *choice,
                          const struct ek_negotiate_headers *headers, struct ek_http_reply *reply,
                          struct ek_proxy_answer *ret_answer)
{
    const struct ek_view_document *document =
        ek_discovery_find(view, choice, ek_view_merges_as(view));
    struct ek_negotiate_reply found = {0};

    if (!document && choice->kind != EK_NEGOTIATE_ROOT && all_are_fetched(view)) {
        ek_proxy_answer_set(ret_answer, 404, 0, "the server could not find the requested resource");
        return false;
    }
    if (!document || !ek_discovery_reply(&endpoint->discovery, document, choice, headers, &found)) {
        ek_proxy_answer_set(ret_answer, 503, 1,
                            document ? "the discovery document cannot be written as YAML"
                                     : "the discovery document is not known yet");
        return false;
    }
    ek_discovery_each_field(&found, ek_peer_documents_field, reply);
    ek_http_reply_send(reply, found.code, found.content_type, found.body.p, found.body.len);
    return true;
}

/* Answers a request that was read, now or later; false with *ret_answer for an answer without a
 * document. */
static bool answer(struct ek_discovery_endpoint *endpoint, const struct ek_http_request *request,
                   struct ek_proxy_request *read, struct ek_http_reply *reply,
                   struct ek_proxy_answer *ret_answer)
{
    const struct ek_negotiate_headers headers = {.accept = header(request, "accept"),
                                                 .accept_encoding =
                                                     header(request, "accept-encoding"),
                                                 .if_none_match = header(request, "if-none-match"),
                                                 .user_agent = header(request, "user-agent")};
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
        return send_document(endpoint, view, &choice, &headers, reply, ret_answer);
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
    return (struct ek_http_route){
        .path = "/", .subtree = true, .methods = "GET", .handler = handle, .ctx = endpoint};
}
