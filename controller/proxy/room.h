/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connections of clients end when the octets that wait in the proxy are beyond their limit: a
 * pure decision over a table of the connections that have some.
 *
 * Connections that have stood still for EK_ROOM_STILL_MS go first; others only where these are not
 * enough. Among them the client (IP address) with the most waiting octets gives, and of its
 * connections the one that has stood still the longest: a client with few connections keeps them
 * while another one fills the proxy. evict.h of controller/http chooses by the same rule, one
 * connection at a time; this choice is of many at once, because one pass over 10,000 connections
 * takes as long as a hundred requests.
 *
 * Threading: none.
 */
#ifndef CONTROLLER_PROXY_ROOM_H
#define CONTROLLER_PROXY_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EK_ROOM_STILL_MS 1000

struct ek_room_candidate {
    void *owner;        /* what the caller knows the connection by */
    const void *client; /* the same for all connections of a client */
    size_t octets;      /* that wait; what its end gives back */
    int64_t moved_ms;   /* when an octet moved last; monotonic milliseconds */
    bool chosen;        /* set by the choice */
};

/* Chooses connections until they have excess octets together, or there is none left. The order of
 * the table changes. Returns the octets of those that are chosen. Time: n log n, and the number of
 * clients for each connection that is chosen. */
size_t ek_room_choose(struct ek_room_candidate *candidates, size_t n, size_t excess,
                      int64_t now_ms);

#endif
