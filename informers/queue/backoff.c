/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/queue/backoff.h"

uint64_t ek_rand_next(struct ek_rand *generator)
{
    uint64_t z = generator->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double ek_rand_unit(struct ek_rand *generator)
{
    return (double)(ek_rand_next(generator) >> 11) * 0x1p-53;
}

void ek_backoff_init(struct ek_backoff *backoff, const struct ek_backoff_config *config,
                     uint64_t seed, int64_t now_ms)
{
    *backoff = (struct ek_backoff){
        .config = *config,
        .random = {seed},
        .delay_ms = config->initial_ms,
        .used_ms = now_ms,
    };
}

int64_t ek_backoff_next(struct ek_backoff *backoff, int64_t now_ms)
{
    const struct ek_backoff_config *config = &backoff->config;

    if (config->reset_ms > 0 && now_ms - backoff->used_ms > config->reset_ms)
        ek_backoff_reset(backoff);
    backoff->used_ms = now_ms;
    int64_t delay = backoff->delay_ms;
    double grown = (double)delay * config->factor;
    backoff->delay_ms = grown >= (double)config->max_ms ? config->max_ms : (int64_t)grown;
    return delay + (int64_t)(ek_rand_unit(&backoff->random) * config->jitter * (double)delay);
}

void ek_backoff_reset(struct ek_backoff *backoff)
{
    backoff->delay_ms = backoff->config.initial_ms;
}
