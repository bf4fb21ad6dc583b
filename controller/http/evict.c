/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/evict.h"

#include <endian.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum rank { ENDING, STALE, REST, NEVER };
enum turn { NEW, IDLE, YOUNG }; /* in REST */

struct ek_http_source ek_http_source_of(const struct sockaddr_storage *addr)
{
    struct ek_http_source source = {0};

    if (addr->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
        source.rest = UINT64_C(0xffff00000000) | ntohl(in->sin_addr.s_addr);
    } else if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
        uint64_t half;
        memcpy(&source.prefix, in6->sin6_addr.s6_addr, sizeof source.prefix);
        if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
            memcpy(&half, in6->sin6_addr.s6_addr + 8, sizeof half);
            source.rest = UINT64_C(0xffff00000000) | (be64toh(half) & UINT64_C(0xffffffff));
        }
    }
    return source;
}

bool ek_http_source_is(const struct ek_http_source *a, const struct ek_http_source *b)
{
    return a->prefix == b->prefix && a->rest == b->rest;
}

static enum rank rank_of(const struct ek_http_candidate *candidate, const struct ek_http_want *want)
{
    enum rank rank = NEVER;

    if (want->only && !ek_http_source_is(&candidate->source, want->only))
        return NEVER;
    if (want->bytes && candidate->bytes == 0)
        return NEVER;
    switch (candidate->progress) {
    case EK_HTTP_ENDING:
        rank = ENDING;
        break;
    case EK_HTTP_OWED:
        rank = want->now_ms - candidate->since_ms > EK_HTTP_YOUNG_MS ? STALE : REST;
        break;
    case EK_HTTP_IDLE:
        rank = REST;
        break;
    case EK_HTTP_BUSY:
        break;
    }
    return want->spare && rank > STALE ? NEVER : rank;
}

static int turn_of(const struct ek_http_candidate *candidate, enum rank rank)
{
    if (rank != REST || !candidate->served)
        return NEW;
    return candidate->progress == EK_HTTP_IDLE ? IDLE : YOUNG;
}

/* Moves the candidates of the first class that there are to the front; returns how many. */
static size_t gather(struct ek_http_candidate *candidates, size_t n,
                     const struct ek_http_want *want)
{
    enum rank best = NEVER;
    size_t n_best = 0;

    for (size_t i = 0; i < n; i++) {
        enum rank rank = rank_of(&candidates[i], want);
        candidates[i].order = i;
        candidates[i].turn = turn_of(&candidates[i], rank);
        best = rank < best ? rank : best;
    }
    for (size_t i = 0; best != NEVER && i < n; i++) {
        if (rank_of(&candidates[i], want) == best)
            candidates[n_best++] = candidates[i];
    }
    return n_best;
}

#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* By source, then by turn, then by age. */
static int compare(const void *a, const void *b)
{
    const struct ek_http_candidate *x = a, *y = b;
    int order = ORDER(x->source.prefix, y->source.prefix);

    if (!order)
        order = ORDER(x->source.rest, y->source.rest);
    if (!order)
        order = ORDER(x->turn, y->turn);
    if (!order)
        order = ORDER(x->since_ms, y->since_ms);
    return order ? order : ORDER(x->order, y->order);
}

void *ek_http_evict_choose(struct ek_http_candidate *candidates, size_t n,
                           const struct ek_http_want *want)
{
    const struct ek_http_candidate *chosen = NULL;
    size_t most = 0, start = 0, weight = 0;

    n = gather(candidates, n, want);
    qsort(candidates, n, sizeof *candidates, compare);
    for (size_t i = 0; i < n; i++) {
        if (!ek_http_source_is(&candidates[i].source, &candidates[start].source)) {
            start = i;
            weight = 0;
        }
        weight += want->bytes ? candidates[i].bytes : 1;
        bool older = chosen && candidates[start].since_ms < chosen->since_ms;
        if (weight > most || (weight == most && older)) {
            most = weight;
            chosen = &candidates[start];
        }
    }
    return chosen ? chosen->owner : NULL;
}

bool ek_http_source_is_greedy(size_t n_source, size_t n, size_t max)
{
    return n >= max - max / 4 && n_source > max / 2;
}
