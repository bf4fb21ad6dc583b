/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/fixpoint.h"

#include <string.h>

#include "api/obj.h"
#include "reconcilers/mutation/fights.h"
#include "reconcilers/mutation/scopes.h"

struct ek_fixpoint_state {
    const struct ek_bound *bound;
    const char *key;
    bool ran;    /* its mutations have */
    size_t seen; /* of the log, when it last ran or was skipped */
};

unsigned ek_fixpoint_limit(size_t n)
{
    size_t limit = n + 1;

    return limit < 2 ? 2 : limit > EK_PASSES_MAX ? EK_PASSES_MAX : (unsigned)limit;
}

static struct ek_fixpoint_state *find(const struct ek_fixpoint *fixpoint,
                                      const struct ek_invocation *invocation)
{
    for (size_t i = 0; i < fixpoint->n_states; i++) {
        struct ek_fixpoint_state *state = &fixpoint->states[i];
        if (state->bound == invocation->bound && !strcmp(state->key, invocation->key))
            return state;
    }
    return NULL;
}

static bool touches(const struct ek_policy *policy, const char *path)
{
    static const char object[] = "object";
    const struct ek_scopes *scopes = policy->scopes;
    const size_t len = sizeof object - 1;

    for (size_t i = 0; i < scopes->n_writes; i++)
        if (ek_scopes_touch(scopes->writes[i], path))
            return true;
    for (size_t i = 0; i < scopes->n_reads; i++) {
        const char *read = scopes->reads[i];
        if (strncmp(read, object, len) != 0 || (read[len] && !strchr(".[", read[len])))
            continue;
        if (ek_scopes_touch(read + len + (read[len] == '.'), path))
            return true;
    }
    return false;
}

bool ek_fixpoint_wants(const struct ek_fixpoint *fixpoint, const struct ek_invocation *invocation)
{
    const struct ek_fixpoint_state *state = find(fixpoint, invocation);
    const struct ek_policy *policy = invocation->bound->policy;

    if (!state)
        return true;
    if (state->ran && !policy->reinvoke)
        return false;
    for (size_t i = state->seen; i < fixpoint->n_log; i++)
        if (touches(policy, fixpoint->log[i]))
            return true;
    return false;
}

static struct ek_fixpoint_state *make(struct ek_run *run, struct ek_fixpoint *fixpoint,
                                      const struct ek_invocation *invocation)
{
    struct ek_fixpoint_state *states = ek_run_grow(run, fixpoint->states, fixpoint->n_states,
                                                   &fixpoint->cap_states, sizeof *states);

    if (!states)
        return NULL;
    fixpoint->states = states;
    states[fixpoint->n_states] =
        (struct ek_fixpoint_state){.bound = invocation->bound, .key = invocation->key};
    return &states[fixpoint->n_states++];
}

static void log_change(struct ek_run *run, struct ek_fixpoint *fixpoint, const char *pointer)
{
    const char **log =
        ek_run_grow(run, fixpoint->log, fixpoint->n_log, &fixpoint->cap_log, sizeof *fixpoint->log);

    if (!log)
        return;
    fixpoint->log = log;
    log[fixpoint->n_log++] = ek_scopes_of_pointer(pointer, run->arena);
}

void ek_fixpoint_note(struct ek_run *run, struct ek_fixpoint *fixpoint,
                      const struct ek_invocation *invocation, const struct ek_step *step)
{
    struct ek_fixpoint_state *state = find(fixpoint, invocation);

    if (!state)
        state = make(run, fixpoint, invocation);
    for (size_t i = 0; invocation->bound->apply && i < step->n_changes; i++)
        log_change(run, fixpoint, step->changes[i].path);
    if (!state)
        return;
    state->ran = state->ran || step->result != EK_STEP_SKIPPED;
    state->seen = fixpoint->n_log;
}

void ek_fixpoint_keep(struct ek_run *run, struct ek_fixpoint *fixpoint, unsigned pass,
                      yyjson_val *object)
{
    fixpoint->ends[pass] = object ? ek_value_keep(object, run->arena) : NULL;
    if (object && !fixpoint->ends[pass])
        run->error = EK_E_LIMIT;
}

unsigned ek_fixpoint_seen(const struct ek_fixpoint *fixpoint, unsigned pass, yyjson_val *object)
{
    for (unsigned i = 1; i < pass; i++)
        if (fixpoint->ends[i] && ek_json_equal(fixpoint->ends[i], object))
            return i;
    return 0;
}
