/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connection of a serving thread works next: a pure decision over the connections that have
 * work. Nobody waits for all the work of another.
 *
 * A turn is a round of the thread's loop: the thread reads what has come, works for a bounded time,
 * and reads again. A connection that has work stands in one of three lanes. Of each lane the turn
 * takes one connection after the other, which does one piece of work (at most one request, or one
 * piece of a body) and stands at the end again when more work is left:
 *
 *   CHEAP      bodies that come, requests with small bodies: until EK_HTTP_TURN_NS are over, one
 *              in any case
 *   HANDSHAKE  TLS handshakes: after CHEAP, at most EK_HTTP_TURN_HANDSHAKES
 *   COSTLY     requests with large bodies: at last, at most one, and as long as CHEAP is not empty
 *              only when CHEAP has had twice the time of the last COSTLY one since: the shortest
 *              work goes first, and the other gets a third of the time at least. None while the
 *              lane is paused: the owner has handed the last one to another thread
 *
 * Within a lane sources (evict.h) take turns: one with 100 connections gets as much as one with a
 * single one. Sources that are known go before the others: a handler has vouched for one of their
 * requests in the last EK_HTTP_KNOWN_MS. Of the connections of a source, those which had nothing
 * left to do after their last piece go before those which had: where a network hides all clients
 * behind one address, a client that waits for its answers goes before one that sends without a
 * pause. In either case the others get one of EK_HTTP_TURN_ROW + 1 places, so nobody starves.
 *
 * At most EK_HTTP_TURN_ACCEPTS new connections are accepted in a turn.
 *
 * Ownership: turns are members of their owners, which take them out before they go. Times come from
 * the caller, from a clock that does not go back. Threading: one thread.
 */
#ifndef CONTROLLER_HTTP_TURNS_H
#define CONTROLLER_HTTP_TURNS_H

#include "controller/http/evict.h"

#define EK_HTTP_TURN_NS         ((int64_t)1000000)
#define EK_HTTP_TURN_HANDSHAKES 2u
#define EK_HTTP_TURN_ACCEPTS    8u
#define EK_HTTP_TURN_ROW        3u
#define EK_HTTP_KNOWN_MS        ((int64_t)60000)

enum ek_http_lane {
    EK_HTTP_LANE_CHEAP,
    EK_HTTP_LANE_HANDSHAKE,
    EK_HTTP_LANE_COSTLY,
    EK_HTTP_LANE_MAX,
};

struct ek_http_turns;

/* A connection that may have work. Zeroed at first; members are those of turns.c, but owner. */
struct ek_http_turn {
    void *owner; /* what the caller knows it by */
    struct ek_http_turn *prev, *next;
    struct ek_http_turn_source *source; /* NULL while it stands in no lane */
    bool again;
};

struct ek_http_turns *ek_http_turns_new(void);

/* No turn may stand in a lane any more. NULL is fine. */
void ek_http_turns_free(struct ek_http_turns *turns);

/* Puts turn at the end of its source in lane; again: it had work left after its last piece. Does
 * nothing when it stands in a lane already. */
void ek_http_turns_add(struct ek_http_turns *turns, struct ek_http_turn *turn,
                       const struct ek_http_source *source, enum ek_http_lane lane, bool again,
                       int64_t now_ms);

/* Takes turn out of its lane, if it stands in one. */
void ek_http_turn_leave(struct ek_http_turn *turn);

/* True when turn stands in a lane. */
bool ek_http_turn_waits(const struct ek_http_turn *turn);

/* Begins a turn of the loop. */
void ek_http_turns_begin(struct ek_http_turns *turns, int64_t now_ns);

/* Takes the connection that works next out of its lane; NULL at the end of the turn of the loop.
 * Called at the end of each piece of work, whose time is counted. */
struct ek_http_turn *ek_http_turns_next(struct ek_http_turns *turns, int64_t now_ns);

/* Pauses the lane COSTLY, or ends the pause. */
void ek_http_turns_pause(struct ek_http_turns *turns, bool paused);

/* True when a connection stands in a lane that is not paused. */
bool ek_http_turns_any(const struct ek_http_turns *turns);

/* Whether one more connection may be accepted in this turn of the loop; counts it. */
bool ek_http_turns_accept(struct ek_http_turns *turns);

/* Marks the source as known for EK_HTTP_KNOWN_MS from now on. Only the 64 sources that were marked
 * last are kept. */
void ek_http_turns_vouch(struct ek_http_turns *turns, const struct ek_http_source *source,
                         int64_t now_ms);

#endif
