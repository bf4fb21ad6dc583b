/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/route.h"

#include <string.h>

#define RETRY_AFTER_S 1
#define NONE          SIZE_MAX

/* ---- What a connection keeps ---- */

void ek_route_memory_done(struct ek_route_memory *memory)
{
    for (size_t i = 0; i < EK_ROUTE_KEPT_MAX; i++)
        ek_free(memory->names[i]);
    *memory = (struct ek_route_memory){0};
}

static size_t find(const struct ek_route_peer *peers, size_t n_peers, const char *name)
{
    for (size_t i = 0; i < n_peers; i++)
        if (!strcmp(peers[i].name, name))
            return i;
    return NONE;
}

static bool has_failed(const struct ek_route_peer *peer)
{
    return peer->mark == EK_ROUTE_NOT_SENT || peer->mark == EK_ROUTE_SENT ||
           peer->mark == EK_ROUTE_REFUSED;
}

void ek_route_remember(struct ek_route_memory *memory, const struct ek_route_peer *peers,
                       size_t n_peers, size_t peer)
{
    size_t n = 0;
    bool known = false;

    for (size_t i = 0; i < EK_ROUTE_KEPT_MAX && memory->names[i]; i++) {
        char *name = memory->names[i];
        size_t at = find(peers, n_peers, name);
        memory->names[i] = NULL;
        if (at == NONE || !peers[at].routable || has_failed(&peers[at])) {
            ek_free(name);
            continue;
        }
        known = known || at == peer;
        memory->names[n++] = name;
    }
    if (known)
        return;
    if (n == EK_ROUTE_KEPT_MAX)
        ek_free(memory->names[--n]);
    memory->names[n] = ek_xstrdup(peers[peer].name);
}

/* ---- Which peer ---- */

static bool is_candidate(const struct ek_route_peer *peer, enum ek_route_serves serves)
{
    return peer->routable && peer->mark == EK_ROUTE_UNTRIED && peer->serves == serves;
}

/* The nth of the candidates with that load. */
static size_t equal_in_turn(const struct ek_route_input *in, enum ek_route_serves serves,
                            size_t in_flight, size_t nth)
{
    size_t i = 0;

    while (!is_candidate(&in->peers[i], serves) || in->peers[i].in_flight != in_flight || nth-- > 0)
        i++;
    return i;
}

/* The peer among those that serve it (by what the documents say) that is to get the request. */
static size_t choose(const struct ek_route_input *in, enum ek_route_serves serves, bool *ret_turned)
{
    size_t best = NONE, equals = 0;

    *ret_turned = false;

    for (size_t i = 0; i < EK_ROUTE_KEPT_MAX && in->memory->names[i]; i++) {
        size_t at = find(in->peers, in->n_peers, in->memory->names[i]);
        if (at != NONE && is_candidate(&in->peers[at], serves))
            return at;
    }
    for (size_t i = 0; i < in->n_peers; i++) {
        if (!is_candidate(&in->peers[i], serves) ||
            (best != NONE && in->peers[i].in_flight > in->peers[best].in_flight))
            continue;
        equals =
            best != NONE && in->peers[i].in_flight == in->peers[best].in_flight ? equals + 1 : 1;
        best = i;
    }
    *ret_turned = equals > 1;
    return equals > 1 ? equal_in_turn(in, serves, in->peers[best].in_flight, in->turn % equals)
                      : best;
}

/* ---- What the attempts so far mean ---- */

struct past {
    size_t failed;  /* attempts that ended before a byte of the answer, or were refused */
    bool sent;      /* one of them may have been carried out */
    bool unknown;   /* a peer has answered "the type is unknown" */
    bool may_exist; /* a peer may serve it that has not said so to this request */
};

static struct past look_back(const struct ek_route_input *in)
{
    struct past past = {0};

    for (size_t i = 0; i < in->n_peers; i++) {
        const struct ek_route_peer *p = &in->peers[i];
        past.failed += has_failed(p);
        past.sent = past.sent || p->mark == EK_ROUTE_SENT;
        past.unknown = past.unknown || p->mark == EK_ROUTE_UNKNOWN_TYPE;
        /* Also a peer that is down: its resources exist, whether its documents are known or not. */
        if (p->mark != EK_ROUTE_UNKNOWN_TYPE)
            past.may_exist = past.may_exist || p->serves != EK_ROUTE_NO;
    }
    return past;
}

static void answer(struct ek_route_decision *ret, int retry_after_s, const char *text)
{
    ret->kind = EK_ROUTE_ANSWER;
    ek_proxy_answer_set(&ret->answer, 503, retry_after_s, "%s", text);
}

static void forward(struct ek_route_decision *ret, size_t peer)
{
    ret->kind = EK_ROUTE_FORWARD;
    ret->peer = peer;
}

/* No further: the peer's own answer where it refused the request last, else ours. */
static void give_up(const struct ek_route_input *in, struct ek_route_decision *ret,
                    const char *text)
{
    if (in->held == EK_ROUTE_REFUSED)
        ret->kind = EK_ROUTE_PASS_ON;
    else
        answer(ret, RETRY_AFTER_S, text);
}

/* A peer has failed: to one more, or no further. False: go on as if nothing had happened. */
static bool after_failure(const struct ek_route_input *in, const struct past *past,
                          struct ek_route_decision *ret)
{
    bool repeatable = in->request->reads && !in->request->runs && !in->upgrade;

    if (past->sent && !repeatable) {
        answer(ret, 0,
               "the connection to the API server ended before its response; the request may have "
               "been carried out");
        return true;
    }
    if (past->failed > 1 || (past->failed && !in->can_resend)) {
        give_up(in, ret, "the API server cannot be reached");
        return true;
    }
    return false;
}

/* To a peer that has not been asked. Without the body of the request, which a peer has taken that
 * does not know the type, only the client can ask it. */
static void ask_another(const struct ek_route_input *in, const struct past *past, size_t peer,
                        struct ek_route_decision *ret)
{
    if (past->unknown && !in->can_resend)
        answer(ret, RETRY_AFTER_S, "another API server may serve the requested resource");
    else
        forward(ret, peer);
}

/* No peer that serves it by its documents is left. */
static void nobody(const struct ek_route_input *in, const struct past *past,
                   struct ek_route_decision *ret)
{
    if (past->may_exist) {
        give_up(in, ret, "an API server that may serve the request cannot be reached");
        return;
    }
    size_t peer = choose(in, EK_ROUTE_NO, &ret->turned);
    if (peer != NONE)
        ask_another(in, past, peer, ret);
    else if (in->held == EK_ROUTE_UNKNOWN_TYPE)
        ret->kind = EK_ROUTE_PASS_ON;
    else
        give_up(in, ret, "no API server can be reached");
}

void ek_route_decide(const struct ek_route_input *in, struct ek_route_decision *ret)
{
    struct past past = look_back(in);

    *ret = (struct ek_route_decision){0};
    if (in->marked) {
        answer(ret, 0,
               "the request carries X-Kubernetes-Peer-Proxied: it was forwarded once, and is not "
               "forwarded again");
        return;
    }
    if (after_failure(in, &past, ret))
        return;
    size_t peer = choose(in, EK_ROUTE_YES, &ret->turned);
    /* Peers whose documents are not known may serve it; those with documents go first. */
    if (peer == NONE)
        peer = choose(in, EK_ROUTE_UNKNOWN, &ret->turned);
    if (peer != NONE)
        ask_another(in, &past, peer, ret);
    else
        nobody(in, &past, ret);
}
