/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an episode: begun, continued, ended, and what was done in it. */
#include <stdio.h>
#include <string.h>

#include "api/base/time.h"
#include "reconcilers/failforward/ladder-internal.h"

/* OLM is back at the version before the one that failed: S5 was taken, or the version that fixes it
 * waits for approval. This version is no recovery. It was made before the failure, which has a time
 * of the API server or of OLM; that of S5 is of another clock. */
static bool is_back(const struct ek_ff_state *state, const struct ek_ff_memory *memory)
{
    bool offered = state->offered && strcmp(state->head.name, memory->failing) != 0;

    return (memory->acts[EK_FF_CLEAR].n || offered) && state->head.created_ms <= memory->since_ms;
}

/* Another CSV fails in place of the one that failed. What was done for either is kept until the
 * episode ends: versions of a chain that fail in turn have the tries of one version each. */
static void turn_to(const char *failing, struct ek_ff_memory *memory)
{
    struct ek_ff_past known = {0};
    size_t at = 0;

    while (at < EK_FF_PAST_MAX - 1 && strcmp(memory->past[at].failing, failing) != 0)
        at++;
    if (!strcmp(memory->past[at].failing, failing))
        known = memory->past[at];
    if (*memory->failing) {
        memmove(&memory->past[1], &memory->past[0], at * sizeof memory->past[0]);
        memcpy(memory->past[0].failing, memory->failing, sizeof memory->failing);
        memcpy(memory->past[0].acts, memory->acts, sizeof memory->acts);
    }
    memcpy(memory->acts, known.acts, sizeof memory->acts);
    snprintf(memory->failing, sizeof memory->failing, "%s", failing);
}

void ek_ff_remember(const struct ek_ff_state *state, const struct ek_ff_finding *finding,
                    int64_t now_ms, struct ek_ff_memory *memory)
{
    bool fails = finding->class != EK_FF_HEALTHY && *finding->failing;

    if (!fails) {
        if (*memory->failing && state->head.phase == EK_FF_SUCCEEDED && !is_back(state, memory)) {
            memset(memory->acts, 0, sizeof memory->acts);
            memset(memory->past, 0, sizeof memory->past);
            memory->failing[0] = '\0';
            memory->recovered = true;
            memory->changed_ms = 0;
        }
    } else if (strcmp(memory->failing, finding->failing) != 0 || !*memory->failing) {
        turn_to(finding->failing, memory);
        memory->since_ms = finding->since_ms == EK_TIME_UNSET ? now_ms : finding->since_ms;
        memory->recovered = false;
    }
    if (!fails && now_ms - memory->acts[EK_FF_POKE].last_ms >= EK_FF_DAY_MS)
        memory->acts[EK_FF_POKE].n = 0;
    if (*memory->pinned && state->head.obj && !strcmp(memory->pinned, state->head.name) &&
        !ek_ff_is_held(&state->head) && state->head.phase != EK_FF_PENDING)
        memory->pinned[0] = '\0';
    if (memory->switched && state->group && !state->switched_on)
        memory->switched = false; /* a person switched the group off */
}

void ek_ff_note(const struct ek_ff_next *next, int64_t now_ms, struct ek_ff_memory *memory)
{
    enum ek_ff_act act = next->act;

    if (act == EK_FF_NO_ACT)
        return;
    if (ek_ff_is_hop__(act) && !ek_ff_is_counted__(memory)) {
        if (now_ms - memory->hops_ms >= EK_FF_DAY_MS) {
            memory->hops = 0;
            memory->hops_ms = now_ms;
        }
        memory->hops++;
    }
    memory->acts[act].n++;
    memory->acts[act].last_ms = now_ms;
    if (act == EK_FF_PIN)
        snprintf(memory->pinned, sizeof memory->pinned, "%s", next->target);
    else if (act == EK_FF_UNPIN || act == EK_FF_RELEASE)
        memory->pinned[0] = '\0';
    else if (act == EK_FF_SWITCH)
        memory->switched = true;
    else if (act == EK_FF_UNSWITCH)
        memory->switched = false;
}
