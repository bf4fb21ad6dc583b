/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stored objects hold a value of a gate: the census that status shows of gates that are off
 * or deprecated, and what `evenkeel gates clear` removes. Objects are in the storage version, in
 * pages of a list.
 *
 * Pure; any thread. Source: README.md beside this file.
 */
#ifndef RECONCILERS_FIELDGATES_CENSUS_H
#define RECONCILERS_FIELDGATES_CENSUS_H

#include "reconcilers/fieldgates/resolve.h"

/* What the pages so far came to. Zero is the beginning. */
struct ek_gates_census {
    uint64_t objects;            /* seen */
    uint64_t held[EK_GATES_MAX]; /* of them hold a value of the gate of that index */
};

/* When a census of a kind begins again, and how far the pages of all kinds are apart. */
#define EK_GATES_CENSUS_EVERY_MS  ((int64_t)6 * 3600 * 1000)
#define EK_GATES_CENSUS_AGAIN_MS  ((int64_t)600 * 1000) /* after a failure */
#define EK_GATES_CENSUS_PAUSE_MS  ((int64_t)60 * 1000)  /* after a change of the gates, at least */
#define EK_GATES_CENSUS_GAP_MS    ((int64_t)1000)
#define EK_GATES_CENSUS_TEXT_SIZE 400
#define EK_GATES_CENSUS_UID_SIZE  64

/* A page at most: objects, and octets of the answer. A parsed page takes about eight times its
 * octets at worst (an array of digits), and whoever may create objects decides what is in it. */
#define EK_GATES_CENSUS_PAGE     100
#define EK_GATES_CENSUS_BODY_MAX ((size_t)4 << 20)

/* What is known of one kind, and the census under way. Zero: nothing; ek_gates_census_follow begins
 * the first census. */
struct ek_gates_census_state {
    int64_t due_ms;   /* of the next page */
    int64_t ended_ms; /* the last census, also one that failed; 0: none */
    /* Of the CustomFeatureGates whose gates are counted. */
    char uid[EK_GATES_CENSUS_UID_SIZE];
    int64_t generation;
    struct ek_gates_census counting;
    bool more;      /* a census is under way: the next page is not its first request */
    bool resumed;   /* the list expired, and no page has come since */
    unsigned limit; /* objects to request with the next page */
    bool known;     /* a census has come to its end */
    struct ek_gates_census result;           /* of that one */
    int64_t at_ms;                           /* when it ended, in the time of day */
    char message[EK_GATES_CENSUS_TEXT_SIZE]; /* why the last one failed; "": it did not */
};

/* The gates are those of the object of that uid in that generation now. When they changed, what is
 * known is of the past: a census begins, but no sooner than EK_GATES_CENSUS_PAUSE_MS after the last
 * one. An object that was deleted and created again begins with generation 1 again, so that the
 * generation alone does not tell its gates apart. Returns true when they changed, so that a list
 * under way is to be given up. */
bool ek_gates_census_follow(struct ek_gates_census_state *state, const char *uid,
                            int64_t generation, int64_t now_ms);

/* The outcome of the request for a page. Everything is borrowed. */
struct ek_gates_census_page {
    const char *at;           /* the continue token that was sent; "" for the first page */
    yyjson_val *list;         /* the page; NULL: the request failed */
    size_t size;              /* octets of the page */
    const struct ek_err *err; /* why it failed; not read with list */
    yyjson_val *status;       /* the metav1.Status of a failure; NULL: none */
};

/*
 * Takes a page. now_ms is of any clock that does not go back, wall_ms the time of day. Returns the
 * continue token of the page that follows at due_ms, with state->limit objects ("": the first page;
 * borrowed from page), NULL when the census has ended.
 *
 * EK_E_LIMIT halves the limit and requests the same page again, down to one object; pages of at
 * most a quarter of EK_GATES_CENSUS_BODY_MAX double it again. EK_E_GONE, when a list has expired,
 * goes on with metadata.continue of the Status: after the same object, at the present
 * resourceVersion. Source: KEP-365;
 * apiserver/pkg/storage/etcd3/errors.go:handleCompactedErrorForPaging at 1.36.
 */
const char *ek_gates_census_heard(struct ek_gates_census_state *state, const struct ek_gates *gates,
                                  const struct ek_gates_census_page *page, int64_t now_ms,
                                  int64_t wall_ms);

/* Whether the page of a is requested before that of b: a census under way comes to its end before
 * that of another kind begins, since its continue token expires; else what is due first. */
bool ek_gates_census_precedes(const struct ek_gates_census_state *a,
                              const struct ek_gates_census_state *b);

/* Whether any gate is counted. */
bool ek_gates_are_counted(const struct ek_gates *gates);

/* Whether the values of the gate are counted: it is off, or deprecated. */
bool ek_gate_is_counted(const struct ek_gate *gate);

/* Whether object has a value at any path of gate. */
bool ek_gate_holds(const struct ek_gate *gate, yyjson_val *object);

/* Counts the items of a list. */
void ek_gates_census_add(struct ek_gates_census *census, const struct ek_gates *gates,
                         yyjson_val *list);

/* metadata.continue of a list, or of a Status; "": none, as of the last page. Borrowed. */
const char *ek_gates_census_next(yyjson_val *list);

/* The patch that removes the values of gate from object, on the condition that its resourceVersion
 * is still the same: a merge patch (RFC 7386), or, when paths of the gate have [*], a JSON Patch
 * (RFC 6902), which is an array. has_status: the CRD has the subresource status; then status
 * chooses between the patch for /status and the patch for the rest of the object. Returns a value
 * of doc, NULL when there is nothing to remove. */
yyjson_mut_val *ek_gate_clear_patch(const struct ek_gate *gate, yyjson_val *object, bool has_status,
                                    bool status, yyjson_mut_doc *doc);

#endif
