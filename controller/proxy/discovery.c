/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery, which the proxy answers from the view once an API server has granted it. */
#include <string.h>
#include <strings.h>

#include "controller/proxy/proxy-internal.h"

static struct ek_negotiate_headers headers_of(const struct ek_proxy_exchange *x)
{
    return (struct ek_negotiate_headers){.accept = x->accept,
                                         .accept_encoding = x->accept_encoding,
                                         .if_none_match = x->if_none_match,
                                         .user_agent = x->user_agent};
}

static const struct ek_view_document *document_of(const struct ek_proxy_exchange *x)
{
    return ek_discovery_find(x->view, &x->choice, x->tried ? x->peer : SIZE_MAX);
}

/* The request by which the API server judges the client: the client's own, for a form of the
 * document that is not sent. */
static bool put_permission(struct ek_proxy_front *front, const struct ek_h1_head *head)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_identity_pair headers[EK_H1_FIELDS_MAX + 2];
    size_t n = 0, n_peers = 0;
    const struct ek_view_document *own = NULL;
    enum ek_view_place place = x->choice.core ? EK_VIEW_API : EK_VIEW_APIS;

    for (size_t i = 0; i < head->n_fields; i++)
        if (strcasecmp(head->fields[i].name, "accept") != 0 &&
            strcasecmp(head->fields[i].name, "accept-encoding") != 0 &&
            strcasecmp(head->fields[i].name, "if-none-match") != 0)
            headers[n++] = (struct ek_identity_pair){head->fields[i].name, head->fields[i].value};
    headers[n++] = (struct ek_identity_pair){"Accept", ek_negotiate_permission_accept};
    /* Any peer's tag will do: where the documents are equal, the tags are. */
    const struct ek_view_peer *peers = ek_view_peers(x->view, &n_peers);
    for (size_t i = 0; i < n_peers && x->choice.kind == EK_NEGOTIATE_ROOT && !own; i++)
        if (!front->conn->memory.names[0] || !strcmp(front->conn->memory.names[0], peers[i].name))
            own = ek_view_own(x->view, i, place, EK_VIEW_V2);
    if (own)
        headers[n++] = (struct ek_identity_pair){"If-None-Match", own->etag};
    ek_buf_printf(&x->head, "%s %s HTTP/1.1\r\n", head->method, head->target);
    return ek_exchange_identify__(front, headers, n);
}

static void put_field(void *out, const char *name, const char *value)
{
    ek_h1_put_field(out, name, value);
}

static void send_document(struct ek_proxy_front *front, const struct ek_remakes_want *want,
                          bool kept)
{
    EK_AUTO(ek_buf) fields;
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_negotiate_reply reply = {0};
    struct ek_proxy_answer answer = {0};

    ek_buf_init(&fields, (size_t)64 * 1024);
    if (!ek_remakes_reply(front->proxy->remakes, want, &reply)) {
        ek_proxy_answer_set(&answer, 503, 1, "the discovery document cannot be written as YAML");
        ek_exchange_answer__(front, &answer);
        return;
    }
    ek_proxy_metrics_permission(front->proxy->config->metrics, kept);
    ek_discovery_each_field(&reply, put_field, &fields);
    ek_proxy_metrics_discovery(front->proxy->config->metrics, x->choice.kind != EK_NEGOTIATE_ROOT
                                                                  ? EK_PROXY_PART
                                                              : x->choice.own ? EK_PROXY_NOPEER
                                                                              : EK_PROXY_MERGED);
    ek_exchange_answer_document__(front, reply.code,
                                  (struct ek_str){ek_buf_str(&fields), fields.len}, reply.body);
}

/* The permission is new: one that was kept is for documents that need not be made. */
static void on_made(void *ctx, bool made)
{
    struct ek_proxy_front *front = ctx;
    const struct ek_negotiate_headers headers = headers_of(&front->exchange);
    const struct ek_remakes_want want = {.document = document_of(&front->exchange),
                                         .choice = &front->exchange.choice,
                                         .headers = &headers};
    struct ek_proxy_answer answer = {0};

    if (made) {
        send_document(front, &want, false);
    } else {
        ek_proxy_answer_set(&answer, 503, 1, "there is no memory for the discovery document");
        ek_exchange_answer__(front, &answer);
    }
    ek_front_go_on__(front);
}

/* kept: the permission was given to an earlier request. */
static void answer_document(struct ek_proxy_front *front, bool kept)
{
    struct ek_proxy_exchange *x = &front->exchange;
    const struct ek_negotiate_headers headers = headers_of(x);
    const struct ek_remakes_want want = {.view = x->view,
                                         .document = document_of(x),
                                         .choice = &x->choice,
                                         .headers = &headers,
                                         .user = front->conn->client->ip};
    struct ek_proxy_answer answer = {0};

    if (!want.document) {
        ek_proxy_answer_set(&answer, 503, 1, "the discovery document is not known yet");
        ek_exchange_answer__(front, &answer);
        return;
    }
    switch (ek_remakes_begin(front->proxy->remakes, &want, &x->remake, on_made, front)) {
    case EK_REMAKES_NOW:
        send_document(front, &want, kept);
        break;
    case EK_REMAKES_FULL:
        ek_exchange_refuse__(front, 429, "discovery_documents",
                             "too many large documents are being written");
        break;
    case EK_REMAKES_WAIT:
        break;
    }
}

/* An API server has granted the same request a moment ago. The document of one API server
 * (profile=nopeer) comes from the one that grants it, and a request that has made its hop is
 * refused. To indent a document, or to make YAML of it, takes longer than to ask, and the API
 * server limits who asks. */
static bool is_granted(struct ek_proxy_front *front)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy *proxy = front->proxy;
    const struct ek_grants_request request = {.ip = front->conn->client->ip,
                                              .peers = ek_proxy_board_changes(proxy->config->board),
                                              .ours = x->identity.ours,
                                              .head = {ek_buf_str(&x->head), x->head.len}};
    int64_t now_ms = ek_proxy_now__(proxy);

    if (x->choice.own || x->choice.pretty || x->choice.yaml || x->identity.marked ||
        x->identity.upgrade)
        return false;
    ek_grants_key(proxy->grants, &request, now_ms, &x->grant);
    return ek_grants_has(proxy->grants, &x->grant, now_ms);
}

bool ek_discovery_begin__(struct ek_proxy_front *front, const struct ek_h1_head *head)
{
    struct ek_proxy_exchange *x = &front->exchange;
    const struct ek_negotiate_headers headers = headers_of(x);
    struct ek_proxy_answer answer = {0};

    if (head->framing != EK_H1_EMPTY) /* what has a body is an API server's affair */
        return false;
    ek_negotiate_choose(&x->request, &headers, &x->choice);
    if (x->choice.kind == EK_NEGOTIATE_FORWARD)
        return false;
    if (x->choice.kind == EK_NEGOTIATE_REFUSE) {
        ek_exchange_answer__(front, &x->choice.answer);
        return true;
    }
    if (!ek_view_is_complete(x->view)) {
        ek_proxy_answer_set(&answer, 503, 1,
                            "the discovery documents of an API server are not known yet");
        ek_exchange_answer__(front, &answer);
        return true;
    }
    /* What no API server serves, one of them says. */
    if (x->choice.kind != EK_NEGOTIATE_ROOT && !document_of(x))
        return false;
    if (!put_permission(front, head) || !ek_exchange_is_allowed__(front))
        return true;
    if (is_granted(front)) {
        ek_buf_done(&x->head);
        answer_document(front, true);
    } else {
        x->asking = true;
        ek_exchange_forward__(front);
    }
    return true;
}

void ek_discovery_granted__(struct ek_proxy_front *front)
{
    ek_grants_add(front->proxy->grants, &front->exchange.grant, ek_proxy_now__(front->proxy));
    answer_document(front, false);
}
