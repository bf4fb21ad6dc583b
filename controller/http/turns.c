/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/turns.h"

#include "api/base/mem.h"

#define BUCKETS   64u
#define KNOWN_MAX 64

struct queue {
    struct ek_http_turn *first, *last;
};

/* A source that has connections in a lane. */
struct ek_http_turn_source {
    struct ek_http_source id;
    struct lane *lane;
    struct ek_http_turn_source *chain;       /* in the bucket */
    struct ek_http_turn_source *prev, *next; /* in the ring */
    struct queue fresh, again;
    unsigned row; /* fresh ones that were taken since the last of again */
    bool known;
};

struct ring {
    struct ek_http_turn_source *first, *last;
};

struct lane {
    struct ring known, unknown;
    unsigned row; /* known ones that were taken since the last unknown one */
    struct ek_http_turn_source *buckets[BUCKETS];
};

struct known {
    struct ek_http_source source;
    int64_t until_ms; /* 0: no entry */
};

struct ek_http_turns {
    struct lane lanes[EK_HTTP_LANE_MAX];
    int64_t began_ns, last_ns;
    enum ek_http_lane last;                      /* whose piece of work is under way; MAX: none */
    int64_t owed_ns;                             /* time that CHEAP gets before COSTLY */
    bool paused;                                 /* the lane COSTLY */
    unsigned handshakes, costly, cheap, accepts; /* of this turn of the loop */
    struct known known[KNOWN_MAX];
};

struct ek_http_turns *ek_http_turns_new(void)
{
    struct ek_http_turns *turns = ek_xalloc(sizeof *turns);

    turns->last = EK_HTTP_LANE_MAX;
    return turns;
}

void ek_http_turns_free(struct ek_http_turns *turns)
{
    ek_free(turns);
}

/* ---- Sources ---- */

static struct ek_http_turn_source **bucket_of(struct lane *lane, const struct ek_http_source *id)
{
    uint64_t hash = (id->prefix ^ id->rest) * UINT64_C(0x9e3779b97f4a7c15);

    return &lane->buckets[hash >> 58];
}

static bool is_known(const struct ek_http_turns *turns, const struct ek_http_source *id,
                     int64_t now_ms)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (turns->known[i].until_ms > now_ms && ek_http_source_is(&turns->known[i].source, id))
            return true;
    return false;
}

void ek_http_turns_vouch(struct ek_http_turns *turns, const struct ek_http_source *source,
                         int64_t now_ms)
{
    struct known *place = &turns->known[0];

    for (size_t i = 0; i < KNOWN_MAX; i++) {
        struct known *known = &turns->known[i];
        if (known->until_ms && ek_http_source_is(&known->source, source)) {
            place = known;
            break;
        }
        if (known->until_ms < place->until_ms)
            place = known;
    }
    *place = (struct known){.source = *source, .until_ms = now_ms + EK_HTTP_KNOWN_MS};
}

static struct ring *ring_of(const struct ek_http_turn_source *source)
{
    return source->known ? &source->lane->known : &source->lane->unknown;
}

static void ring_add(struct ek_http_turn_source *source)
{
    struct ring *ring = ring_of(source);

    source->prev = ring->last;
    source->next = NULL;
    *(ring->last ? &ring->last->next : &ring->first) = source;
    ring->last = source;
}

static void ring_remove(struct ek_http_turn_source *source)
{
    struct ring *ring = ring_of(source);

    *(source->prev ? &source->prev->next : &ring->first) = source->next;
    *(source->next ? &source->next->prev : &ring->last) = source->prev;
}

static struct ek_http_turn_source *enter(struct ek_http_turns *turns, struct lane *lane,
                                         const struct ek_http_source *id, int64_t now_ms)
{
    struct ek_http_turn_source **bucket = bucket_of(lane, id), *source = *bucket;

    while (source && !ek_http_source_is(&source->id, id))
        source = source->chain;
    if (source)
        return source;
    source = ek_xalloc(sizeof *source);
    source->id = *id;
    source->lane = lane;
    source->known = is_known(turns, id, now_ms);
    source->chain = *bucket;
    *bucket = source;
    ring_add(source);
    return source;
}

/* A source without connections in the lane is forgotten. */
static void leave(struct ek_http_turn_source *source)
{
    struct ek_http_turn_source **at = bucket_of(source->lane, &source->id);

    if (source->fresh.first || source->again.first)
        return;
    while (*at != source)
        at = &(*at)->chain;
    *at = source->chain;
    ring_remove(source);
    ek_free(source);
}

/* ---- Connections ---- */

static struct queue *queue_of(const struct ek_http_turn *turn)
{
    return turn->again ? &turn->source->again : &turn->source->fresh;
}

void ek_http_turns_add(struct ek_http_turns *turns, struct ek_http_turn *turn,
                       const struct ek_http_source *source, enum ek_http_lane lane, bool again,
                       int64_t now_ms)
{
    if (turn->source)
        return;
    turn->source = enter(turns, &turns->lanes[lane], source, now_ms);
    turn->again = again;
    struct queue *queue = queue_of(turn);
    turn->prev = queue->last;
    turn->next = NULL;
    *(queue->last ? &queue->last->next : &queue->first) = turn;
    queue->last = turn;
}

/* Takes turn out of its queue; its source stays. */
static void dequeue(struct ek_http_turn *turn)
{
    struct queue *queue = queue_of(turn);

    *(turn->prev ? &turn->prev->next : &queue->first) = turn->next;
    *(turn->next ? &turn->next->prev : &queue->last) = turn->prev;
    turn->prev = turn->next = NULL;
    turn->source = NULL;
}

void ek_http_turn_leave(struct ek_http_turn *turn)
{
    struct ek_http_turn_source *source = turn->source;

    if (!source)
        return;
    dequeue(turn);
    leave(source);
}

bool ek_http_turn_waits(const struct ek_http_turn *turn)
{
    return turn->source != NULL;
}

static bool is_empty(const struct lane *lane)
{
    return !lane->known.first && !lane->unknown.first;
}

void ek_http_turns_pause(struct ek_http_turns *turns, bool paused)
{
    turns->paused = paused;
}

/* Whether the lane has a connection that may be taken. */
static bool has_next(const struct ek_http_turns *turns, enum ek_http_lane lane)
{
    return !is_empty(&turns->lanes[lane]) && !(turns->paused && lane == EK_HTTP_LANE_COSTLY);
}

bool ek_http_turns_any(const struct ek_http_turns *turns)
{
    for (int lane = 0; lane < EK_HTTP_LANE_MAX; lane++)
        if (has_next(turns, (enum ek_http_lane)lane))
            return true;
    return false;
}

/* ---- Choices ---- */

/* Whether the first of two classes gives the next one: most of the time, when both have one. */
static bool goes_first(bool first, bool second, unsigned *row)
{
    bool chosen = first && (!second || *row < EK_HTTP_TURN_ROW);

    *row = chosen && second ? *row + 1 : 0;
    return chosen;
}

static struct ek_http_turn *take(struct ek_http_turns *turns, enum ek_http_lane which)
{
    struct lane *lane = &turns->lanes[which];
    bool known = goes_first(lane->known.first, lane->unknown.first, &lane->row);
    struct ek_http_turn_source *source = known ? lane->known.first : lane->unknown.first;
    bool fresh = goes_first(source->fresh.first, source->again.first, &source->row);
    struct ek_http_turn *turn = fresh ? source->fresh.first : source->again.first;

    turns->last = which;
    dequeue(turn);
    ring_remove(source); /* to the end */
    ring_add(source);
    leave(source);
    return turn;
}

void ek_http_turns_begin(struct ek_http_turns *turns, int64_t now_ns)
{
    turns->began_ns = turns->last_ns = now_ns;
    turns->last = EK_HTTP_LANE_MAX;
    turns->cheap = turns->handshakes = turns->costly = turns->accepts = 0;
}

bool ek_http_turns_accept(struct ek_http_turns *turns)
{
    return turns->accepts++ < EK_HTTP_TURN_ACCEPTS;
}

/* Counts the time of the piece of work that has ended. */
static void account(struct ek_http_turns *turns, int64_t now_ns)
{
    int64_t ns = now_ns - turns->last_ns;

    if (turns->last == EK_HTTP_LANE_COSTLY)
        turns->owed_ns = 2 * ns;
    else if (turns->last == EK_HTTP_LANE_CHEAP)
        turns->owed_ns -= ns < turns->owed_ns ? ns : turns->owed_ns;
    turns->last = EK_HTTP_LANE_MAX;
    turns->last_ns = now_ns;
}

struct ek_http_turn *ek_http_turns_next(struct ek_http_turns *turns, int64_t now_ns)
{
    bool cheap = has_next(turns, EK_HTTP_LANE_CHEAP);

    account(turns, now_ns);
    if (cheap && (turns->cheap == 0 || now_ns - turns->began_ns < EK_HTTP_TURN_NS)) {
        turns->cheap++;
        return take(turns, EK_HTTP_LANE_CHEAP);
    }
    if (has_next(turns, EK_HTTP_LANE_HANDSHAKE) && turns->handshakes < EK_HTTP_TURN_HANDSHAKES) {
        turns->handshakes++;
        return take(turns, EK_HTTP_LANE_HANDSHAKE);
    }
    if (has_next(turns, EK_HTTP_LANE_COSTLY) && turns->costly == 0 &&
        (!cheap || turns->owed_ns <= 0)) {
        turns->costly++;
        return take(turns, EK_HTTP_LANE_COSTLY);
    }
    return NULL;
}
