/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requests have shown of policies: how often each was applied, ignored, denied or observed,
 * what it denied last, and which fights it is a party of. Serving threads note it, the control loop
 * takes it over at a measured pace and tells it in the PolicyStatus; so what is told lags behind
 * what is noted, and does not move with each request.
 *
 *   a fight, a denial     taken over SOON_MS after the last time, at once after a quiet while
 *   counts                once in COUNTS_MS, when they have changed
 *   the end of a fight    when a party has changed, is bound no more or is gone; or when the fight
 *                         was not seen for FIGHT_MS
 *
 * Requests that say dryRun leave no trace. It is one replica's view: the leader tells what it has
 * seen itself since it started. Policies are known by uid, so one that is made anew begins at zero.
 * Everything is bounded; fights beyond the bound are not noted, policies neither.
 *
 * Time is the wall clock, ms since the epoch, and an argument. Threading: one short lock; any
 * thread may note, the rest is for the control loop.
 */
#ifndef CONTROLLER_MUTATION_OBSERVATIONS_H
#define CONTROLLER_MUTATION_OBSERVATIONS_H

#include "reconcilers/mutation/safety.h"
#include "reconcilers/mutation/status.h"

#define EK_OBSERVATIONS_POLICIES_MAX 10000
#define EK_OBSERVATIONS_FIGHTS_MAX   256
#define EK_OBSERVATIONS_TEXT_MAX     512 /* bytes of a path, a value or a denial; longer are cut */
#define EK_OBSERVATIONS_SOON_MS      ((int64_t)3000)
#define EK_OBSERVATIONS_COUNTS_MS    ((int64_t)60000)
#define EK_OBSERVATIONS_FIGHT_MS     ((int64_t)3600 * 1000)

struct ek_observations;

/* rung is called, without the lock and on whichever thread notes something, when
 * ek_observations_due has become earlier. */
struct ek_observations *ek_observations_new(void (*rung)(void *ctx), void *ctx);
void ek_observations_free(struct ek_observations *observations); /* NULL is fine */

/* ---- Serving threads ---- */

/* A request that the engine finished, and one whose safety was checked. */
void ek_observations_judged(struct ek_observations *observations,
                            const struct ek_admission_request *request,
                            const struct ek_mutation_outcome *outcome, int64_t now_ms);
void ek_observations_checked(struct ek_observations *observations,
                             const struct ek_admission_request *request,
                             const struct ek_safety_outcome *outcome, int64_t now_ms);

/* ---- The control loop ---- */

/* A policy as it is now; borrowed for the call. */
struct ek_observed_policy {
    const struct ek_policy *policy;
    bool bound;
};

/* Has it know the n policies that there are: what was noted of others is forgotten, and fights are
 * over whose parties have changed. */
void ek_observations_sync(struct ek_observations *observations,
                          const struct ek_observed_policy *policies, size_t n);

/* When to take next; EK_TIME_UNSET for not before it rings. */
int64_t ek_observations_due(struct ek_observations *observations, int64_t now_ms);

/* Something that people should hear of. */
struct ek_observed_news {
    char *uid;     /* of the policy that it is about */
    char *note;    /* "denied request: ..." */
    bool fight;    /* else a denial */
    bool validate; /* a denial of what others did, by the safety check */
};

struct ek_observations_news {
    struct ek_observed_news *items;
    size_t n;
};

/* Takes over what is due: true when what is told has changed. Release *ret_news, which holds
 * what is new since the last time, with ek_observations_news_done. */
bool ek_observations_take(struct ek_observations *observations, int64_t now_ms,
                          struct ek_observations_news *ret_news);
void ek_observations_news_done(struct ek_observations_news *news);

/* Sets counts and fights of facts for its policy, as taken; strings live in arena. */
void ek_observations_tell(struct ek_observations *observations, struct ek_arena *arena,
                          struct ek_policy_facts *facts);

EK_CLEANUP(ek_observations_news, ek_observations_news_done)

#endif
