/* SPDX-License-Identifier: Apache-2.0 */
/* The question of NextVersionSafe: what breaks once every API server is at the next version? */
#include "reconcilers/skew/judge.h"
#include "reconcilers/skew/judge_text.h"
#include "reconcilers/skew/text.h"

/* Blockers that a message names; the rest is counted. */
#define BLOCKERS_SHOWN 5

struct look {
    const struct ek_skew_facts *facts;
    const struct ek_skew_spec *spec;
    struct ek_arena *arena;
    struct ek_judgement *out;
    struct ek_server *servers; /* as they will be */
    struct ek_bounds bounds;
    const char *text; /* the blockers so far */
    bool unsure;      /* something could not be judged */
    bool skips;       /* a server would leave out a minor */
};

static void block(struct look *l, const char *text)
{
    size_t n = l->out->next.n_blockers++;
    if (n < BLOCKERS_SHOWN)
        l->text = ek_arena_printf(l->arena, "%s%s%s", l->text, n ? "; " : "", text);
}

static void look_at_servers(struct look *l, struct ek_minor target)
{
    const struct ek_skew_policy *policy = &l->spec->policy;
    if (ek_skew_ignored(l->spec, EK_KUBE_APISERVER))
        return;
    for (size_t i = 0; i < l->out->n_servers; i++) {
        const struct ek_server *now = &l->out->servers[i];
        if (ek_policy_skips_minor(now->ev, target)) {
            l->skips = true;
            block(l, ek_arena_printf(l->arena, "API server %s is at %s and would skip a minor",
                                     now->name, ek_skew_minor_text(l->arena, now->ev)));
        } else if (ek_policy_check_server(&l->servers[i], &l->bounds, policy, NULL, NULL) ==
                   EK_VERDICT_UNSUPPORTED)
            block(
                l,
                ek_arena_printf(
                    l->arena,
                    "API server %s would be outside of the supported skew of the other API servers",
                    now->name));
    }
}

static const char *blocker_text(struct look *l, enum ek_component component, const char *label,
                                struct ek_minor bv, struct ek_minor ev)
{
    struct ek_minor judged = ek_policy_judged_version(component, bv, ev);
    struct ek_minor own = judged.known ? judged : bv; /* the newest that it may be */
    struct ek_range range = ek_policy_range(component, bv, &l->bounds, &l->spec->policy);
    const char *at = ek_skew_minor_text(l->arena, own);
    if (range.min.at.known && ek_minor_cmp(own, range.min.at) < 0)
        return ek_arena_printf(l->arena, "%s is at %s and must be at %s or later", label, at,
                               ek_skew_minor_text(l->arena, range.min.at));
    return ek_arena_printf(l->arena, "%s is at %s and would still be too new", label, at);
}

/* One controller or node group against the servers as they will be. */
static void look_at(struct look *l, enum ek_component component, const char *label,
                    const struct ek_judged *judged, const struct ek_versions *versions)
{
    enum ek_rule rule;
    if (judged->verdict == EK_VERDICT_NOT_JUDGED)
        return;
    struct ek_known known = ek_skew_known__(versions);
    struct ek_minor bv = known.bv, ev = known.ev;
    enum ek_verdict then = ek_policy_check(component, bv, ev, &l->bounds, &l->spec->policy, &rule);
    bool vendor = component == EK_CLOUD_CONTROLLER_MANAGER &&
                  versions->source == EK_SOURCE_POD_IMAGE && then != EK_VERDICT_SUPPORTED;
    if (then == EK_VERDICT_UNKNOWN || vendor) {
        l->unsure = true;
        return;
    }
    if (then != EK_VERDICT_UNSUPPORTED)
        return;
    block(l, blocker_text(l, component, label, bv, ev));
}

static void look_at_all(struct look *l)
{
    const struct ek_skew_facts *facts = l->facts;
    for (size_t i = 0; i < facts->n_instances; i++)
        look_at(l, facts->instances[i].component,
                ek_judge_text_instance(l->arena, &facts->instances[i]), &l->out->instances[i],
                &facts->instances[i].versions);
    for (size_t i = 0; i < facts->n_groups; i++)
        look_at(l, facts->groups[i].component, ek_judge_text_group(l->arena, &facts->groups[i]),
                &l->out->groups[i], &facts->groups[i].versions);
    if (l->out->n_absent > 0)
        l->unsure = true;
}

static void conclude(struct look *l)
{
    struct ek_next *next = &l->out->next;
    const char *to = ek_skew_minor_text(l->arena, next->version);
    if (next->n_blockers > 0) {
        size_t more = next->n_blockers > BLOCKERS_SHOWN ? next->n_blockers - BLOCKERS_SHOWN : 0;
        const char *rest = more ? ek_arena_printf(l->arena, "; and %zu more", more) : "";
        next->safe = EK_COND_FALSE;
        next->reason = l->skips ? "SkipsMinor" : "ComponentsTooOld";
        next->message = ek_arena_printf(l->arena, "before the API servers are upgraded to %s: %s%s",
                                        to, l->text, rest);
    } else if (l->unsure || !l->bounds.complete) {
        next->safe = EK_COND_UNKNOWN;
        next->reason = "VersionsUnknown";
        next->message = ek_arena_printf(
            l->arena, "no known version prevents %s, but not every version is known%s%s", to,
            l->out->incomplete[0] ? ": " : " (see SkewSupported)", l->out->incomplete);
    } else {
        next->safe = EK_COND_TRUE;
        next->reason = "Safe";
        next->message = ek_arena_printf(l->arena, "every component supports API servers at %s", to);
    }
}

static bool all_reached(const struct ek_judgement *judgement, struct ek_minor target)
{
    return judgement->bounds.complete && ek_minor_cmp(judgement->bounds.min_ev.at, target) >= 0;
}

void ek_skew_judge_next__(const struct ek_skew_facts *facts, const struct ek_skew_spec *spec,
                          struct ek_arena *arena, struct ek_judgement *judgement)
{
    struct ek_next *next = &judgement->next;
    const struct ek_skew_bound *newest = &judgement->bounds.max_ev;
    next->version = spec->next_version.known ? spec->next_version : ek_minor_offset(newest->at, 1);
    if (!newest->at.known) {
        next->safe = EK_COND_UNKNOWN;
        next->reason = "VersionsUnknown";
        next->message = judgement->incomplete;
        return;
    }
    if (all_reached(judgement, next->version)) {
        next->safe = EK_COND_TRUE;
        next->reason = "AlreadyReached";
        next->message = ek_arena_printf(arena, "every API server is at %s or later",
                                        ek_skew_minor_text(arena, next->version));
        return;
    }
    struct look look = {.facts = facts, .spec = spec, .arena = arena, .out = judgement, .text = ""};
    look.servers = ek_arena_alloc(arena, (judgement->n_servers + 1) * sizeof(*look.servers));
    for (size_t i = 0; i < judgement->n_servers; i++)
        look.servers[i] = ek_policy_raised(judgement->servers[i], next->version);
    look.bounds = ek_policy_bounds(look.servers, judgement->n_servers);
    look.bounds.complete = judgement->bounds.complete;
    look_at_servers(&look, next->version);
    look_at_all(&look);
    conclude(&look);
}
