/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of requests, counted by policy: how often each policy was applied, ignored, denied or
 * observed, its last denial, and the fights of which it is a party. Serving threads note results;
 * the control loop takes them over at a measured pace and reports them in the PolicyStatus. A
 * status therefore lags behind the requests and does not change with each of them.
 *
 *   a fight, a denial     taken over SOON_MS after the last time, at once after a quiet while
 *   counts                once in COUNTS_MS, when they have changed
 *   the end of a fight    when a party has changed, is unbound or is deleted; or when no request
 *                         has shown the fight for FIGHT_MS
 *
 * No report holds a value of an object, of params or of the text of an error: users who may read
 * PolicyStatus and Events need not have a right to read the objects. Reports hold paths, kinds and
 * names of policies (README.md, "Who may read values").
 *
 * A request with dryRun leaves no trace. Each replica counts its own requests; the leader reports
 * its counts since its start. A policy is identified by its uid, so a policy that is
 * deleted and created again begins at zero. Everything is bounded; fights and policies beyond the
 * bounds are not noted.
 *
 * Pure: time (wall clock, ms since the epoch) and randomness are arguments. Threading: none; the
 * caller holds a lock (controller/mutation/observations.h).
 */
#ifndef RECONCILERS_MUTATION_RESULTS_H
#define RECONCILERS_MUTATION_RESULTS_H

#include "reconcilers/mutation/safety.h"
#include "reconcilers/mutation/status.h"

#define EK_RESULTS_POLICIES_MAX 10000
#define EK_RESULTS_FIGHTS_MAX   256
#define EK_RESULTS_TEXT_MAX     512 /* bytes of a path or a denial; longer are cut */
#define EK_RESULTS_SOON_MS      ((int64_t)3000)
#define EK_RESULTS_COUNTS_MS    ((int64_t)60000)
#define EK_RESULTS_FIGHT_MS     ((int64_t)3600 * 1000)

struct ek_results;

/* draw fills n random bytes, and returns false without randomness: see results_fights.h. */
struct ek_results *ek_results_new(bool (*draw)(unsigned char *bytes, size_t n));
void ek_results_free(struct ek_results *results); /* NULL is fine */

/* ---- Noting; each returns true when ek_results_due has become earlier ---- */

/* A request that the engine finished, and one whose safety was checked. */
bool ek_results_judged(struct ek_results *results, const struct ek_admission_request *request,
                       const struct ek_mutation_outcome *outcome, int64_t now_ms);
bool ek_results_checked(struct ek_results *results, const struct ek_admission_request *request,
                        const struct ek_safety_outcome *outcome);

/* A request that could not be judged at all, and that was allowed because policy, and all others
 * that match the request, say failurePolicy: Ignore. validate: by the safety check. */
bool ek_results_undecided(struct ek_results *results, const struct ek_admission_request *request,
                          const struct ek_policy *policy, const char *why, bool validate);

/* A policy as it is now; borrowed for the call. */
struct ek_results_policy {
    const struct ek_policy *policy;
    bool bound;
};

/* Replaces the policies that exist by the n of the list: the notes of others are dropped, and
 * fights end whose parties have changed. */
bool ek_results_sync(struct ek_results *results, const struct ek_results_policy *policies,
                     size_t n);

/* ---- Reporting ---- */

/* When to take next; EK_TIME_UNSET: not before something is noted. */
int64_t ek_results_due(const struct ek_results *results, int64_t now_ms);

/* An Event about a policy. */
struct ek_results_note {
    char *uid;          /* of the policy; owned */
    char *note;         /* "denied a request for v1, Kind=Pod: ..."; holds no values; owned */
    const char *reason; /* "PolicyFight", "PolicyDenied", "SafetyViolated"; "RequestUndecided" when
                           a limit ended the run and the request was allowed. Constant */
    const char *action; /* "Mutate"; "Validate" for the safety check. Constant */
};

struct ek_results_news {
    struct ek_results_note *items;
    size_t n;
};

/* Takes over what is due: true when the reports of ek_results_read have changed. Release
 * *ret_news, which holds what is new since the last time, with ek_results_news_done. */
bool ek_results_take(struct ek_results *results, int64_t now_ms, struct ek_results_news *ret_news);
void ek_results_news_done(struct ek_results_news *news);

/* Sets counts, fights and restless of facts for its policy, as of the last ek_results_take; strings
 * live in arena. */
void ek_results_read(const struct ek_results *results, struct ek_arena *arena,
                     struct ek_policy_facts *facts);

EK_CLEANUP(ek_results_news, ek_results_news_done)

#endif
