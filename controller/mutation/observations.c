/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/observations.h"

#include <openssl/rand.h>
#include <pthread.h>

#include "api/base/mem.h"

struct ek_observations {
    pthread_mutex_t lock; /* of results */
    struct ek_results *results;
    void (*rung)(void *ctx);
    void *ctx;
};

static bool draw(unsigned char *bytes, size_t n)
{
    return RAND_bytes(bytes, (int)n) == 1;
}

struct ek_observations *ek_observations_new(void (*rung)(void *ctx), void *ctx)
{
    struct ek_observations *o = ek_xalloc(sizeof *o);

    pthread_mutex_init(&o->lock, NULL);
    o->results = ek_results_new(draw);
    o->rung = rung;
    o->ctx = ctx;
    return o;
}

void ek_observations_free(struct ek_observations *observations)
{
    if (!observations)
        return;
    ek_results_free(observations->results);
    pthread_mutex_destroy(&observations->lock);
    ek_free(observations);
}

static struct ek_results *lock(struct ek_observations *o)
{
    pthread_mutex_lock(&o->lock);
    return o->results;
}

static void unlock(struct ek_observations *o)
{
    pthread_mutex_unlock(&o->lock);
}

static void unlock_and_ring(struct ek_observations *o, bool rings)
{
    unlock(o);
    if (rings && o->rung)
        o->rung(o->ctx);
}

void ek_observations_judged(struct ek_observations *observations,
                            const struct ek_admission_request *request,
                            const struct ek_mutation_outcome *outcome, int64_t now_ms)
{
    bool rings = ek_results_judged(lock(observations), request, outcome, now_ms);

    unlock_and_ring(observations, rings);
}

void ek_observations_checked(struct ek_observations *observations,
                             const struct ek_admission_request *request,
                             const struct ek_safety_outcome *outcome)
{
    bool rings = ek_results_checked(lock(observations), request, outcome);

    unlock_and_ring(observations, rings);
}

void ek_observations_undecided(struct ek_observations *observations,
                               const struct ek_admission_request *request,
                               const struct ek_policy *policy, const char *why, bool validate)
{
    bool rings = ek_results_undecided(lock(observations), request, policy, why, validate);

    unlock_and_ring(observations, rings);
}

void ek_observations_sync(struct ek_observations *observations,
                          const struct ek_results_policy *policies, size_t n)
{
    bool rings = ek_results_sync(lock(observations), policies, n);

    unlock_and_ring(observations, rings);
}

int64_t ek_observations_due(struct ek_observations *observations, int64_t now_ms)
{
    int64_t due = ek_results_due(lock(observations), now_ms);

    unlock(observations);
    return due;
}

bool ek_observations_take(struct ek_observations *observations, int64_t now_ms,
                          struct ek_results_news *ret_news)
{
    bool changed = ek_results_take(lock(observations), now_ms, ret_news);

    unlock(observations);
    return changed;
}

void ek_observations_read(struct ek_observations *observations, struct ek_arena *arena,
                          struct ek_policy_facts *facts)
{
    ek_results_read(lock(observations), arena, facts);
    unlock(observations);
}
