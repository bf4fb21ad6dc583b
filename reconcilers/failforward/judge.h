/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts on the subscriptions of one namespace: consent, state, failure, edges, memory and
 * the next step of each. Pure: time is an argument. Threading: none.
 */
#ifndef RECONCILERS_FAILFORWARD_JUDGE_H
#define RECONCILERS_FAILFORWARD_JUDGE_H

#include "api/base/arena.h"
#include "reconcilers/failforward/consent.h"
#include "reconcilers/failforward/graph.h"

/* What is known of the catalog of a subscription. */
struct ek_ff_catalog {
    const struct ek_ff_graph *graph; /* NULL before the first good read; borrowed */
    int64_t changed_ms; /* when the content changed last; 0 before a second read found a
                           change */
    int64_t known_ms;   /* when this content was read first; 0 if unknown */
    const char *error;  /* of the last read; "" when it was good; borrowed */
    bool reading;       /* there was no read yet: no step is taken before its end */
};

/* The edges for a decision; graph may be NULL. Strings are borrowed from the graph. */
void ek_ff_find_edges(const struct ek_ff_graph *graph, const struct ek_ff_state *state,
                      const struct ek_ff_finding *finding, struct ek_ff_edges *ret_edges);

/* What a process knows of its writes for a subscription beside the report. */
struct ek_ff_kept {
    bool undone;                /* the write that the report remembers was not carried out: */
    struct ek_ff_memory memory; /* the memory before */
    char refused[768]; /* why the last write was refused, whole: the missing right is at its
                          end; "" when it was not */
    int64_t until_ms;  /* no write before this time; milliseconds since the epoch */
};

/* A namespace and what its verdicts depend on. All is borrowed. */
struct ek_ff_inputs {
    const struct ek_ff_world *world; /* without objects of other namespaces, but for catalogs */
    const struct ek_ff_rules *rules;
    struct ek_ff_objs reports; /* FailForwardStatuses of the namespace */
    const char *olm_version;   /* "": not known */
    /* The catalog of a subscription, lent until the next call of catalog; NULL: none was read. */
    void (*catalog)(void *ctx, const struct ek_obj *subscription,
                    struct ek_ff_catalog *ret_catalog);
    /* Returns what is kept of a subscription, NULL for nothing. NULL: nothing is kept. */
    const struct ek_ff_kept *(*recall)(void *ctx, const struct ek_obj *subscription);
    void *ctx;
    int64_t now_ms; /* milliseconds since the epoch */
};

/* The verdict on a subscription. Strings are of the arena, or borrowed from the objects of world
 * and rules; what catalog and recall lend is copied. */
struct ek_ff_verdict {
    struct ek_obj *subscription;
    struct ek_obj *report; /* its FailForwardStatus; NULL: there is none */
    bool is_taken;         /* an object of that name belongs to another subscription */
    enum ek_ff_mode given; /* what was consented to */
    const char *source;    /* of consent: "annotation", the name of a policy, "" for none */
    bool is_gated;         /* this version of OLM was not tried: Observe, whatever was given */
    struct ek_ff_consent consent; /* what counts */
    const char *neighbors;        /* subscriptions that do not consent, with commas */
    const char *catalog_error;    /* "" for none */
    struct ek_ff_state state;
    struct ek_ff_finding finding;
    struct ek_ff_edges edges;
    struct ek_ff_memory before, memory; /* the memory that was read, and as of now */
    struct ek_ff_memory undone;         /* the memory without the write of next */
    struct ek_ff_next next;
};

/*
 * Judges the subscriptions that somebody consented for, and those that have a report: *ret_verdicts
 * is of the arena, in the order of world->subscriptions. Returns how many they are.
 */
size_t ek_ff_judge(const struct ek_ff_inputs *inputs, struct ek_arena *arena,
                   struct ek_ff_verdict **ret_verdicts);

#endif
