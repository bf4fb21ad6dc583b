/* SPDX-License-Identifier: Apache-2.0 */
/* One request: what is decided about it, and what is written down when it is over. */
#include <stdio.h>
#include <strings.h>

#include "controller/proxy/proxy-internal.h"
#include "informers/clock.h"

#define HEAD_MAX ((size_t)1 << 20)

static int64_t now_of(const struct ek_proxy_front *front)
{
    return ek_proxy_now__(front->proxy);
}

/* ---- Labels ---- */

static struct ek_proxy_labels labels_of(const struct ek_proxy_exchange *x)
{
    const struct ek_proxy_request *r = &x->request;
    size_t n = 0;

    if (x->view)
        ek_view_peers(x->view, &n);
    for (size_t i = 0; r->is_resource && i < n; i++)
        if (ek_view_serves(x->view, i, r->group, r->version, r->resource, "") == EK_VIEW_YES)
            return (struct ek_proxy_labels){r->group, r->version, r->resource};
    return (struct ek_proxy_labels){"", "", ""};
}

static void count_error(struct ek_proxy_front *front, enum ek_proxy_error error)
{
    const struct ek_proxy_labels labels = labels_of(&front->exchange);

    ek_proxy_metrics_error(front->proxy->config->metrics, error, &labels);
}

/* ---- Answers of the proxy's own ---- */

void ek_exchange_answer__(struct ek_proxy_front *front, const struct ek_proxy_answer *answer)
{
    EK_AUTO(ek_buf) fields, body;

    ek_buf_init(&fields, 4096);
    ek_buf_init(&body, (size_t)64 * 1024);
    ek_buf_puts(&fields, "Content-Type: application/json\r\nCache-Control: no-cache, private\r\n");
    if (answer->retry_after_s)
        ek_buf_printf(&fields, "Retry-After: %d\r\n", answer->retry_after_s);
    ek_proxy_answer_write(answer, &body);
    ek_relay_answer(front->relay, answer->code, (struct ek_str){ek_buf_str(&fields), fields.len},
                    (struct ek_str){ek_buf_str(&body), body.len}, now_of(front));
}

/* What two readers may take apart differently: to another one the next octets may be a body.
 * Nothing more is read of the connection. */
void ek_exchange_answer_ambiguous__(struct ek_proxy_front *front,
                                    const struct ek_proxy_answer *answer)
{
    if (answer->code == 400)
        ek_relay_drain(front->relay, now_of(front));
    ek_exchange_answer__(front, answer);
}

void ek_exchange_refuse__(struct ek_proxy_front *front, int code, const char *limit,
                          const char *text)
{
    struct ek_proxy_answer answer = {0};

    ek_proxy_metrics_rejected(front->proxy->config->metrics, limit);
    ek_proxy_answer_set(&answer, code, 1, "%s", text);
    ek_exchange_answer__(front, &answer);
}

/* The first large body of a connection of HTTP/2 may wait for the client; others only within the
 * limit for all responses that wait (ek_h2_is_full). */
static const char *limit_of_body(struct ek_proxy_front *front, size_t len)
{
    size_t waiting = len;
    bool first = true;

    if (len <= EK_RELAY_HIGH) /* any response may wait with so much */
        return NULL;
    for (const struct ek_proxy_front *f = front->conn->fronts; f; f = f->next) {
        size_t out = ek_relay_client_output(f->relay).len;
        waiting += out;
        first = first && (f == front || f->body_octets == 0 || out == 0);
    }
    if (!first && waiting > EK_H2_WAITING_MAX)
        return "responses_of_connection";
    return ek_proxy_count_body__(front, len);
}

static void refuse_body(struct ek_proxy_front *front, const char *limit)
{
    front->exchange.relayed = false;
    ek_exchange_refuse__(front, 429, limit, "too many large responses are under way");
}

void ek_exchange_answer_document__(struct ek_proxy_front *front, int code, struct ek_str fields,
                                   struct ek_str body)
{
    const char *limit = limit_of_body(front, body.len);

    if (limit)
        refuse_body(front, limit);
    else
        ek_relay_answer(front->relay, code, fields, body, now_of(front));
}

/* ---- Which API server ---- */

static enum ek_route_serves serves_of(const struct ek_proxy_exchange *x, size_t i)
{
    return ek_openapi_serves(x->view, i, &x->request, &x->document);
}

static size_t fill_peers(struct ek_proxy_front *front, struct ek_route_peer *ret_peers)
{
    struct ek_proxy_exchange *x = &front->exchange;
    size_t n = 0;
    const struct ek_view_peer *peers = ek_view_peers(x->view, &n);

    for (size_t i = 0; i < n && i < EK_ROUTE_PEERS_MAX; i++) {
        const struct ek_proxy_load *load = ek_map_get(&front->proxy->loads, peers[i].name);
        ret_peers[i] = (struct ek_route_peer){.name = peers[i].name,
                                              .routable = peers[i].routable && *peers[i].address,
                                              .serves = serves_of(x, i),
                                              .in_flight = load ? load->in_flight : 0,
                                              .mark = x->marks[i]};
    }
    return n < EK_ROUTE_PEERS_MAX ? n : EK_ROUTE_PEERS_MAX;
}

static void add_load(struct ek_proxy_front *front, int n)
{
    struct ek_proxy_load *load = ek_proxy_load__(front->proxy, front->exchange.peer_name);

    load->in_flight += n;
    load->requests += n > 0;
    ek_proxy_metrics_in_flight(front->proxy->config->metrics, load->name, n);
}

bool ek_exchange_send__(struct ek_proxy_front *front, size_t i)
{
    struct ek_proxy_exchange *x = &front->exchange;
    size_t n = 0;
    const struct ek_view_peer *peer = &ek_view_peers(x->view, &n)[i];
    const struct ek_pool_target target = {.address = peer->address,
                                          .host = peer->name,
                                          .ours = x->identity.ours,
                                          .fresh = x->identity.upgrade != NULL};
    const char *why = "";

    x->peer = i;
    x->tried = true;
    if (x->attempts++ > 0)
        ek_proxy_metrics_repeated(front->proxy->config->metrics);
    ek_free(x->peer_name);
    x->peer_name = ek_xstrdup(peer->name);
    if (!ek_front_connect__(front, &target, &why)) {
        ek_log_info_limited(front->proxy->config->log, 5, 60000, "Cannot connect to an API server",
                            EK_S("peer", peer->name), EK_S("reason", why));
        x->marks[i] = EK_ROUTE_NOT_SENT;
        count_error(front, EK_PROXY_ERROR_TRANSPORT);
        return false;
    }
    add_load(front, 1);
    if (x->forwarded) {
        ek_relay_repeat(front->relay, now_of(front));
    } else {
        x->forwarded = true;
        const struct ek_relay_forward how = {.head = {ek_buf_str(&x->head), x->head.len},
                                             .upgrade = x->identity.upgrade != NULL,
                                             .expects = x->identity.expects_continue};
        ek_relay_forward(front->relay, &how, now_of(front));
        ek_buf_done(&x->head); /* the relay has a copy */
    }
    return true;
}

/* No API server can be asked now. One may have come back since its last probe. */
static void note_unrouted(struct ek_proxy_front *front, const struct ek_route_peer *peers, size_t n)
{
    struct ek_proxy_exchange *x = &front->exchange;
    size_t n_known;
    const struct ek_view_peer *known = ek_view_peers(x->view, &n_known);

    x->unrouted = true;
    ek_proxy_board_stale(front->proxy->config->board);
    for (size_t i = 0; i < n; i++) {
        if (peers[i].serves != EK_ROUTE_YES || *known[i].address)
            continue;
        count_error(front, EK_PROXY_ERROR_RESOLUTION);
        return;
    }
}

/* Decides, and goes on so. */
void ek_exchange_forward__(struct ek_proxy_front *front)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_route_peer peers[EK_ROUTE_PEERS_MAX];
    struct ek_route_decision decision;
    size_t n = fill_peers(front, peers);

    x->relayed = false;
    for (;; n = fill_peers(front, peers)) {
        const struct ek_route_input input = {.request = &x->request,
                                             .peers = peers,
                                             .n_peers = n,
                                             .memory = &front->conn->memory,
                                             .held = x->held,
                                             .marked = x->identity.marked,
                                             .can_resend =
                                                 !x->forwarded || ek_relay_can_repeat(front->relay),
                                             .upgrade = x->identity.upgrade != NULL,
                                             .turn = front->proxy->turn};
        memset(&decision, 0, sizeof decision);
        ek_route_decide(&input, &decision);
        front->proxy->turn += decision.turned;
        if (decision.kind != EK_ROUTE_FORWARD)
            break;
        ek_route_remember(&front->conn->memory, peers, n, decision.peer);
        if (ek_exchange_send__(front, decision.peer))
            break;
    }
    x->held = EK_ROUTE_UNTRIED;
    x->relayed = decision.kind == EK_ROUTE_PASS_ON;
    if (decision.kind == EK_ROUTE_PASS_ON)
        ek_relay_pass(front->relay, now_of(front));
    else if (decision.kind == EK_ROUTE_ANSWER) {
        if (!x->identity.marked)
            note_unrouted(front, peers, n);
        ek_exchange_answer__(front, &decision.answer);
    }
}

/* ---- A request has come ---- */

static char *copy_field(const struct ek_h1_head *head, const char *name)
{
    const char *value = ek_h1_field(head, name);
    return ek_xstrdup(value ? value : "");
}

/* Both readers of the head must see the same body. */
static bool bodies_agree(const struct ek_h1_head *head, const struct ek_identity_result *identity)
{
    switch (head->framing) {
    case EK_H1_EMPTY:
        return identity->body == EK_IDENTITY_NO_BODY ||
               (identity->body == EK_IDENTITY_LENGTH && identity->length == 0);
    case EK_H1_LENGTH:
        return identity->body == EK_IDENTITY_LENGTH && identity->length == head->length;
    default:
        return identity->body == EK_IDENTITY_CHUNKED;
    }
}

bool ek_exchange_is_allowed__(struct ek_proxy_front *front)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy *proxy = front->proxy;
    struct ek_proxy_client *client = front->conn->client;

    if (client->requests > proxy->options.requests_per_client) {
        ek_exchange_refuse__(front, 429, "requests_per_client",
                             "too many requests of one client are under way");
        return false;
    }
    /* Header compression makes a large head of a few octets, and short lines many fields. */
    size_t octets = x->head.len + x->field_octets;
    if (octets + client->head_octets > proxy->options.head_octets_per_client) {
        ek_exchange_refuse__(
            front, 429, "head_octets_per_client",
            "the headers of the requests of one client that are under way are too large");
        return false;
    }
    if (octets + proxy->head_octets > proxy->options.head_octets) {
        ek_exchange_refuse__(front, 503, "head_octets",
                             "the headers of the requests under way are too large");
        return false;
    }
    x->head_octets = octets;
    proxy->head_octets += x->head_octets;
    client->head_octets += x->head_octets;
    if (!x->identity.upgrade)
        return true;
    if (proxy->upgrades >= proxy->options.upgrades) {
        ek_exchange_refuse__(front, 429, "upgrades",
                             "too many exec, attach and port-forward requests are under way");
        return false;
    }
    proxy->upgrades++;
    front->upgrade_counted = true;
    return true;
}

static void begin(struct ek_proxy_front *front, const struct ek_h1_head *head)
{
    struct ek_proxy_exchange *x = &front->exchange;

    memset(x, 0, sizeof *x);
    x->busy = x->counted = true;
    x->start_ns = uv_hrtime();
    x->field_octets = head->n_fields * sizeof *head->fields;
    snprintf(x->method, sizeof x->method, "%s", head->method);
    ek_buf_init(&x->head, HEAD_MAX);
    x->accept = copy_field(head, "accept");
    x->accept_encoding = copy_field(head, "accept-encoding");
    x->if_none_match = copy_field(head, "if-none-match");
    x->user_agent = copy_field(head, "user-agent");
    x->view = ek_proxy_board_view(front->proxy->config->board);
    front->conn->client->requests++;
    front->proxy->stats.requests++;
    /* This one is complete. */
    ek_proxy_count_heads__(front->proxy, front->conn->client, &front->head_octets, 0);
}

static void on_request(void *ctx, const struct ek_h1_head *head)
{
    struct ek_proxy_front *front = ctx;
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_answer refusal = {0};
    struct ek_identity_pair headers[EK_H1_FIELDS_MAX];
    size_t n = 0;

    begin(front, head);
    if (!ek_proxy_request_read(head->method, head->target, &x->request, &refusal)) {
        ek_exchange_answer__(front, &refusal);
        return;
    }
    front->watch = !strcmp(x->request.verb, "watch");
    if (!x->view) {
        ek_proxy_answer_set(&refusal, 503, 1, "the API servers are not known yet");
        ek_exchange_answer__(front, &refusal);
        return;
    }
    if (ek_discovery_begin__(front, head) || ek_openapi_begin__(front, head))
        return;
    for (size_t i = 0; i < head->n_fields; i++)
        if (!(x->indexing || x->gather) ||
            !ek_openapi_drops_header(head->fields[i].name, x->gather != NULL))
            headers[n++] = (struct ek_identity_pair){head->fields[i].name, head->fields[i].value};
    ek_buf_printf(&x->head, "%s %s HTTP/1.1\r\n", head->method, head->target);
    if (!ek_exchange_identify__(front, headers, n) || !ek_exchange_is_allowed__(front))
        return;
    if (!bodies_agree(head, &x->identity)) {
        ek_proxy_answer_set(&refusal, 400, 0, "the length of the body is ambiguous");
        ek_exchange_answer_ambiguous__(front, &refusal);
        return;
    }
    ek_exchange_forward__(front);
}

/* ---- The API server answers, or does not ---- */

void ek_exchange_sent__(struct ek_proxy_front *front)
{
    ek_proxy_metrics_forwarded(front->proxy->config->metrics,
                               (double)(uv_hrtime() - front->exchange.start_ns) / 1e9);
}

bool ek_exchange_peer_is_down__(const struct ek_proxy_front *front)
{
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_proxy_board_view(front->proxy->config->board);
    size_t n = 0;
    const struct ek_view_peer *peers = view ? ek_view_peers(view, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(peers[i].name, front->exchange.peer_name))
            return peers[i].down;
    return false;
}

/* An answer after which another API server may get the request. */
static bool may_be_held(const struct ek_proxy_exchange *x, int status)
{
    if (status == 404)
        return !x->asking && x->request.is_resource;
    return (status == 503 || status == 429) && !x->request.has_tail;
}

static enum ek_relay_fate on_response(void *ctx, const struct ek_h1_head *head)
{
    struct ek_proxy_front *front = ctx;
    struct ek_proxy_exchange *x = &front->exchange;
    const char *type = ek_h1_field(head, "content-type");
    enum ek_relay_fate fate;

    front->answer_due_ms = INT64_MAX;
    x->unaccepted = ek_exchange_is_unaccepted__(front, head->status);
    if (x->unaccepted || (x->asking && ek_negotiate_is_granted(head->status)))
        return EK_RELAY_DISCARD;
    if (x->gather && ek_proxy_gather_response__(front, head, &fate)) {
        x->relayed = true;
        return fate;
    }
    if (may_be_held(x, head->status) && !ek_h1_field(head, "content-encoding")) {
        ek_free(x->content_type);
        x->content_type = ek_xstrdup(type ? type : "");
        x->relayed = true; /* one that is too long */
        return EK_RELAY_HOLD;
    }
    x->relayed = true;
    return x->indexing && head->status == 200 && !ek_h1_field(head, "content-encoding")
               ? ek_openapi_collect__(front, head)
               : EK_RELAY_STREAM;
}

static enum ek_route_mark meaning_of(const struct ek_proxy_exchange *x, int status,
                                     struct ek_str body)
{
    if (status == 404)
        return ek_route_is_unknown_type(&x->request, x->content_type, body) ? EK_ROUTE_UNKNOWN_TYPE
                                                                            : EK_ROUTE_UNTRIED;
    return ek_route_is_refusal(&x->request, status, x->content_type, body) ? EK_ROUTE_REFUSED
                                                                           : EK_ROUTE_UNTRIED;
}

static void on_held(void *ctx, const struct ek_h1_head *head, struct ek_str body)
{
    struct ek_proxy_front *front = ctx;
    struct ek_proxy_exchange *x = &front->exchange;

    if (x->unaccepted) {
        ek_exchange_unaccepted__(front);
        return;
    }
    if (x->asking && ek_negotiate_is_granted(head->status)) {
        ek_discovery_granted__(front);
        return;
    }
    if (x->limit) {
        refuse_body(front, x->limit);
        return;
    }
    if (ek_proxy_gather_is_granted__(x)) {
        ek_proxy_gather_held__(front, body);
        return;
    }
    if (x->indexing && head->status == 200) {
        if (!ek_openapi_answer__(front, body))
            ek_relay_pass(front->relay, now_of(front));
        return;
    }
    x->held = meaning_of(x, head->status, body);
    if (x->held == EK_ROUTE_UNTRIED) {
        ek_relay_pass(front->relay, now_of(front));
        return;
    }
    x->marks[x->peer] = (uint8_t)x->held;
    if (x->held == EK_ROUTE_REFUSED)
        count_error(front, EK_PROXY_ERROR_REFUSED);
    else if (serves_of(x, x->peer) == EK_ROUTE_YES)
        count_error(front, EK_PROXY_ERROR_TYPE);
    ek_proxy_board_stale(front->proxy->config->board);
    ek_exchange_forward__(front);
}

static void on_failed(void *ctx, const char *why)
{
    struct ek_proxy_front *front = ctx;
    struct ek_proxy_exchange *x = &front->exchange;
    bool sent = ek_relay_has_sent(front->relay);

    ek_log_info_limited(front->proxy->config->log, 10, 60000,
                        "An API server did not answer a request", EK_S("peer", x->peer_name),
                        EK_S("reason", why), EK_B("sent", sent));
    x->marks[x->peer] = sent ? EK_ROUTE_SENT : EK_ROUTE_NOT_SENT;
    count_error(front, sent ? EK_PROXY_ERROR_LOST : EK_PROXY_ERROR_CONNECT);
    ek_proxy_board_stale(front->proxy->config->board);
    if (ek_proxy_gather_is_granted__(x))
        ek_proxy_gather_next__(front);
    else
        ek_exchange_forward__(front);
}

static void on_over(void *ctx, bool reusable)
{
    struct ek_proxy_front *front = ctx;
    struct ek_pool_conn *peer = front->peer;

    front->dial_due_ms = front->answer_due_ms = INT64_MAX;
    front->peer = NULL;
    if (!peer)
        return;
    add_load(front, -1);
    ek_pool_give(peer, reusable && front->peer_ready);
}

/* ---- It is over ---- */

static void write_line(const struct ek_proxy_front *front, int status, enum ek_relay_end end)
{
    static const char *const ends[] = {"", "peer_lost", "client_gone", "slow_client"};
    const struct ek_proxy_exchange *x = &front->exchange;
    const struct ek_proxy_request *r = &x->request;
    int level = front->proxy->options.access_log ? EK_LOG_LEVEL_INFO : 2;

    if (!ek_log_enabled(front->proxy->config->log, level))
        return;
    /* Queries may hold tokens. */
    const struct ek_log_field fields[] = {
        EK_S("method", x->method),
        EK_S("path", r->path ? r->path : ""),
        EK_S("verb", r->verb ? r->verb : ""),
        EK_I("code", status),
        EK_S("peer", x->relayed ? x->peer_name : ""),
        EK_S("end", ends[end]),
        EK_U("attempts", x->attempts),
        EK_U("up", ek_relay_octets_up(front->relay)),
        EK_U("down", ek_relay_octets_down(front->relay)),
        EK_F("seconds", (double)(uv_hrtime() - x->start_ns) / 1e9),
        EK_S("user_agent", x->user_agent),
        EK_S("remote", front->conn->remote),
        {.kind = EK_LOG_KIND_END},
    };
    ek_log_write(front->proxy->config->log, level, "Request", NULL, fields);
}

static void end_exchange(struct ek_proxy_exchange *x)
{
    ek_remakes_cancel(&x->remake);
    ek_proxy_request_done(&x->request);
    ek_negotiate_done(&x->choice);
    ek_openapi_document_done(&x->document);
    ek_proxy_gather_end__(x->gather);
    ek_free(x->accept);
    ek_free(x->accept_encoding);
    ek_free(x->if_none_match);
    ek_free(x->user_agent);
    ek_free(x->peer_name);
    ek_free(x->content_type);
    ek_buf_done(&x->head);
    ek_view_unref(x->view);
    memset(x, 0, sizeof *x);
}

static void on_done(void *ctx, int status, enum ek_relay_end end)
{
    struct ek_proxy_front *front = ctx;
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy *proxy = front->proxy;

    front->watch = false;
    front->conn->idle_since_ms = now_of(front);
    if (!x->busy) /* what came was no request */
        return;
    const struct ek_proxy_outcome outcome = {.peer = x->relayed ? x->peer_name : "",
                                             .code = status,
                                             .labels = labels_of(x),
                                             .unrouted = x->unrouted,
                                             .octets_up = ek_relay_octets_up(front->relay),
                                             .octets_down = ek_relay_octets_down(front->relay),
                                             .truncated = end == EK_RELAY_PEER_LOST};
    ek_proxy_metrics_request(proxy->config->metrics, &outcome);
    ek_proxy_metrics_client(proxy->config->metrics, x->user_agent,
                            ek_proxy_board_bounds(proxy->config->board), ek_wall_ms());
    if (end == EK_RELAY_PEER_LOST)
        count_error(front, EK_PROXY_ERROR_MIDWAY);
    if (end == EK_RELAY_SLOW)
        ek_proxy_metrics_rejected(proxy->config->metrics, "slow_client");
    write_line(front, status, end);
    if (front->upgrade_counted)
        proxy->upgrades--;
    front->upgrade_counted = false;
    front->conn->client->requests--;
    proxy->stats.requests--;
    proxy->head_octets -= x->head_octets;
    front->conn->client->head_octets -= x->head_octets;
    end_exchange(x);
}

const struct ek_relay_ops ek_exchange_ops__ = {.request = on_request,
                                               .response = on_response,
                                               .held = on_held,
                                               .failed = on_failed,
                                               .over = on_over,
                                               .done = on_done};
