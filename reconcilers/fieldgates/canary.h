/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canary: which API servers act by the registration. Each API server is sent a create of a
 * CustomFeatureGates, as a dry run, that only our canary webhook matches. The denial that comes
 * back names the registration that the server has, and proves that the server reaches us. Nothing
 * else does: a server learns of a registration seconds late, and one that cannot reach us
 * reports that only when a write needs us.
 *
 * Each API server whose address is known is sent the request at that address; while none is, the
 * configured address is, which speaks for the server behind it only. A server with another answer
 * is sent the request again, more and more seldom (0.5 s to 60 s); one that has answered, every
 * five minutes.
 *
 * Here is which server to try when, and what an answer proves; controller/fieldgates/canary.h has
 * the requests. Pure: time is an argument, of any clock that does not go back. Threading: none.
 */
#ifndef RECONCILERS_FIELDGATES_CANARY_H
#define RECONCILERS_FIELDGATES_CANARY_H

#include "api/base/buf.h"
#include "reconcilers/fieldgates/status.h"
#include "reconcilers/peers/table.h"

#define EK_CANARY_SERVERS_MAX  64
#define EK_CANARY_MESSAGE_SIZE 400
#define EK_CANARY_HASH_SIZE    24

/* An API server to be sent the request. */
struct ek_canary_server {
    const char *name;    /* for messages */
    const char *address; /* "ip:port"; "": not known, no request can be sent; NULL: the configured
                            one */
};

/* What is known of one API server. */
struct ek_canary_state {
    bool answered;
    bool unheard;                         /* no answer came at all, so that nothing is known */
    unsigned tries;                       /* without the right answer */
    int64_t due_ms;                       /* of the next request */
    char message[EK_CANARY_MESSAGE_SIZE]; /* what is wrong; "" for nothing */
};

/* An answer to the request. */
struct ek_canary_answer {
    int status;               /* HTTP; 0: none came */
    struct ek_str body;       /* of the answer */
    const struct ek_err *err; /* NULL: the request succeeded */
};

/* Chooses the servers to be sent requests from a table of peers: those that live, with the
 * addresses that may be trusted. Returns how many; 0 when no address is known: then the configured
 * one is all there is. Strings are borrowed from table. */
size_t ek_canary_choose(const struct ek_peer_table *table,
                        struct ek_canary_server ret_servers[EK_CANARY_SERVERS_MAX]);

/* Begins again with a server: what was heard is of the past, and the next request is due now. */
void ek_canary_begin(struct ek_canary_state *state, const struct ek_canary_server *server,
                     int64_t now_ms);

/* Takes a server's answer for the registration with that hash. */
void ek_canary_heard(struct ek_canary_state *state, const struct ek_canary_server *server,
                     const char *hash, const struct ek_canary_answer *answer, int64_t now_ms);

/* Whether a request can be sent to the server at all. */
bool ek_canary_is_reachable(const struct ek_canary_server *server);

/* The result of n servers together. hash "": no registration is expected. *ret_message is borrowed
 * from states, NULL for none. Never FAILED before a server was tried three times. */
enum ek_gates_canary ek_canary_result(const struct ek_canary_state *const *states, size_t n,
                                      const char *hash, const char **ret_message);

/* What an answer means: NULL for the right one, else what is wrong. message is the room for the
 * text. */
const char *ek_canary_judge(const char *hash, const struct ek_canary_answer *answer, char *message,
                            size_t size);

#endif
