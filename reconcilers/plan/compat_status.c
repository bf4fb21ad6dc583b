/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a CompatibilityPlan and the Event of its verdict. Nothing in the status moves with
 * the clock alone, so that an unchanged cluster costs no write.
 */
#include <string.h>

#include "api/base/time.h"
#include "reconcilers/plan/compat-internal.h"
#include "reconcilers/skew/text.h"

#define NAME_MAX_LEN 253
#define TEXT_MAX     512
#define MESSAGE_MAX  1024
#define UNREAD_MAX   32

static const struct ek_resource plans = {.group = "evenkeel.dev",
                                         .version = "v1alpha1",
                                         .resource = "compatibilityplans",
                                         .kind = "CompatibilityPlan"};

struct out {
    const struct ek_compat_draft *draft;
    struct ek_arena *arena;
    yyjson_mut_doc *doc;
};

/* Names and messages come from the cluster. */
static void put_text(const struct out *o, yyjson_mut_val *object, const char *name,
                     const char *text, size_t max)
{
    if (*text)
        yyjson_mut_obj_add_strcpy(o->doc, object, name, ek_skew_clean_max(o->arena, text, max));
}

static void put_minor(const struct out *o, yyjson_mut_val *object, const char *name,
                      struct ek_minor version)
{
    char text[EK_MINOR_SIZE];

    put_text(o, object, name, ek_minor_format(version, text), EK_MINOR_SIZE);
}

static void put_findings(const struct out *o, yyjson_mut_val *status, const char *name,
                         const struct ek_plan_finding *const *list, size_t n)
{
    yyjson_mut_val *array = n ? yyjson_mut_obj_add_arr(o->doc, status, name) : NULL;

    for (size_t i = 0; i < n && i < EK_COMPAT_FINDINGS_MAX; i++) {
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);
        put_text(o, v, "component", list[i]->source, NAME_MAX_LEN);
        yyjson_mut_obj_add_strcpy(o->doc, v, "reason", list[i]->rule);
        put_text(o, v, "step", list[i]->object, NAME_MAX_LEN);
        put_text(o, v, "message", list[i]->message, TEXT_MAX);
        put_text(o, v, "remedy", list[i]->remedy, TEXT_MAX);
    }
}

static void put_omitted(const struct out *o, yyjson_mut_val **omitted, const char *name, size_t n)
{
    if (n <= EK_COMPAT_FINDINGS_MAX)
        return;
    if (!*omitted)
        *omitted = yyjson_mut_obj(o->doc);
    yyjson_mut_obj_add_uint(o->doc, *omitted, name, n - EK_COMPAT_FINDINGS_MAX);
}

static void put_way_back(const struct out *o, yyjson_mut_val *v, const struct ek_part *part,
                         const struct ek_upgrade_step *step)
{
    if (ek_upgrade_step_is_marked(part, step))
        yyjson_mut_obj_add_bool(o->doc, v, "canBeUndone", !step->lost.known);
    put_minor(o, v, "endsWayBackTo", step->lost);
}

static void put_next(const struct out *o, yyjson_mut_val *status)
{
    const struct ek_compat_draft *d = o->draft;

    if (!d->routed || !d->steps.n)
        return;
    const struct ek_upgrade_step *step = &d->steps.list[0];
    const struct ek_part *part = &d->world->cluster.parts[step->part];
    struct ek_minor from = ek_upgrade_step_version(&step->before, step->kind);
    struct ek_minor to = ek_upgrade_step_version(&step->after, step->kind);
    const char *change = ek_upgrade_step_name(step->kind);
    char was[EK_MINOR_SIZE], is[EK_MINOR_SIZE];
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, status, "nextStep");

    put_text(o, v, "summary",
             ek_arena_printf(o->arena, "%s: %s %s to %s", part->name, change,
                             ek_minor_format(from, was), ek_minor_format(to, is)),
             TEXT_MAX);
    put_text(o, v, "component", part->name, NAME_MAX_LEN);
    put_text(o, v, "change", change, TEXT_MAX);
    put_minor(o, v, "from", from);
    put_minor(o, v, "to", to);
    put_way_back(o, v, part, step);
}

static void put_summary(const struct out *o, yyjson_mut_val *status)
{
    const struct ek_compat_draft *d = o->draft;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, status, "summary");

    yyjson_mut_obj_add_uint(o->doc, v, "blockers", d->n_blockers);
    yyjson_mut_obj_add_uint(o->doc, v, "unknowns", d->n_unknowns);
    yyjson_mut_obj_add_uint(o->doc, v, "accepted", d->n_accepted);
    yyjson_mut_obj_add_uint(o->doc, v, "warnings", d->n_warnings);
}

/* What was read of the objects. Readings are minutes apart, so that the time is no reason to write
 * often. */
static void put_objects(const struct out *o, yyjson_mut_val *status)
{
    const struct ek_plan_seen *seen = o->draft->seen;
    char at[EK_TIME_SIZE];

    if (!seen)
        return;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, status, "objects");
    put_text(o, v, "readAt", ek_time_format(seen->at_ms, at), EK_TIME_SIZE);
    yyjson_mut_obj_add_uint(o->doc, v, "count", seen->n_objects);
    yyjson_mut_val *unread = seen->n_unread ? yyjson_mut_obj_add_arr(o->doc, v, "unread") : NULL;
    for (size_t i = 0; i < seen->n_unread && i < UNREAD_MAX; i++)
        yyjson_mut_arr_add_strcpy(o->doc, unread,
                                  ek_skew_clean_max(o->arena, seen->unread[i], TEXT_MAX));
}

static void put_plan(const struct out *o, yyjson_mut_val *status)
{
    const struct ek_compat_draft *d = o->draft;
    yyjson_mut_val *omitted = NULL, *v;

    put_minor(o, status, "from", d->from);
    put_minor(o, status, "target", d->to);
    v = yyjson_mut_obj_add_obj(o->doc, status, "data");
    yyjson_mut_obj_add_strcpy(o->doc, v, "version", d->world->data->binary_version);
    yyjson_mut_obj_add_strcpy(o->doc, v, "recorded", d->world->data->recorded);
    put_summary(o, status);
    put_objects(o, status);
    if (d->routed)
        yyjson_mut_obj_add_uint(o->doc, status, "steps", d->steps.n);
    put_next(o, status);
    put_findings(o, status, "blockers", d->blockers, d->n_blockers);
    put_findings(o, status, "unknowns", d->unknowns, d->n_unknowns);
    put_omitted(o, &omitted, "blockers", d->n_blockers);
    put_omitted(o, &omitted, "unknowns", d->n_unknowns);
    if (omitted)
        yyjson_mut_obj_add_val(o->doc, status, "omitted", omitted);
}

/* ---- The guard ---- */

static yyjson_val *old_guard(const struct ek_obj *plan)
{
    return ek_json_get(ek_obj_root(plan), "status", "guard", NULL);
}

bool ek_compat_was_guarded__(const struct ek_obj *plan)
{
    return yyjson_is_true(yyjson_obj_get(old_guard(plan), "active"));
}

static const char *guard_message(const struct out *o, bool active)
{
    const struct ek_compat_draft *d = o->draft;
    const struct ek_guard *g = &d->guard;
    const char *problem = d->guarding ? d->guarding->problem : "Evenkeel serves no webhook";
    char back[EK_MINOR_SIZE], newest[EK_MINOR_SIZE];

    ek_minor_format(g->way_back, back);
    ek_minor_format(g->newest, newest);
    if (!g->needed && !strcmp(g->reason, "NoStepTaken"))
        return "no step is taken yet: there is nothing that a way back would lose";
    if (!g->needed && !strcmp(g->reason, "Confirmed"))
        return ek_arena_printf(o->arena, "the API servers need not go back below %s", back);
    if (!g->needed && !strcmp(g->reason, "BeyondData"))
        return ek_arena_printf(o->arena,
                               "what %s does not know is not in the data of Evenkeel: writes are "
                               "not guarded",
                               back);
    if (!g->needed)
        return "the versions of the API servers are not known: writes are not guarded";
    if (!active)
        return ek_arena_printf(o->arena, "the webhook is not registered yet%s%s",
                               problem && *problem ? ": " : "", problem ? problem : "");
    return ek_arena_printf(o->arena,
                           "writes that use what %s does not know are %s; look for what was "
                           "stored before: evenkeel plan --guard%s",
                           back, g->mode == EK_GUARD_DENY ? "denied" : "warned of",
                           ek_minor_cmp(g->newest, d->world->data->newest) > 0
                               ? "; what is newer than the data of Evenkeel is not seen"
                               : "");
}

/* Since when the guard is on; the time moves only when the guard is turned on. */
static const char *guard_since(const struct ek_obj *plan, int64_t now_ms, char buf[EK_TIME_SIZE])
{
    const char *since = ek_json_text(old_guard(plan), "since");

    return ek_compat_was_guarded__(plan) && *since ? since : ek_time_format(now_ms, buf);
}

static void put_guard(const struct out *o, yyjson_mut_val *status, const struct ek_obj *plan,
                      int64_t now_ms)
{
    const struct ek_compat_draft *d = o->draft;
    const struct ek_guard *g = &d->guard;
    bool active = g->needed && d->guarding && d->guarding->registered;
    char at[EK_TIME_SIZE];

    if (g->mode == EK_GUARD_OFF)
        return;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, status, "guard");
    yyjson_mut_obj_add_str(o->doc, v, "mode", ek_guard_mode_name(g->mode));
    yyjson_mut_obj_add_bool(o->doc, v, "active", active);
    yyjson_mut_obj_add_str(o->doc, v, "reason", !g->needed || active ? g->reason : "NotRegistered");
    put_text(o, v, "message", guard_message(o, active), TEXT_MAX);
    if (!active)
        return;
    put_minor(o, v, "wayBackTo", g->way_back);
    put_text(o, v, "since", guard_since(plan, now_ms, at), EK_TIME_SIZE);
    yyjson_mut_val *counts = yyjson_mut_obj_add_obj(o->doc, v, "writes");
    for (int i = 0; i < EK_GUARD_RESULT_MAX; i++)
        if (i != EK_GUARD_CLEAN)
            yyjson_mut_obj_add_uint(o->doc, counts, ek_guard_result_name((enum ek_guard_result)i),
                                    d->guarding->n_of[i]);
}

struct ek_obj *ek_compat_status__(const struct ek_compat_draft *draft, const struct ek_obj *plan,
                                  int64_t now_ms)
{
    static const enum ek_cond_status safe[] = {[EK_COMPAT_UNKNOWN] = EK_COND_UNKNOWN,
                                               [EK_COMPAT_SAFE] = EK_COND_TRUE,
                                               [EK_COMPAT_BLOCKED] = EK_COND_FALSE};
    struct out o = {draft, ek_arena_new((size_t)1 << 20), ek_json_doc_new()};
    yyjson_mut_val *status = yyjson_mut_obj(o.doc);
    int64_t generation = ek_obj_generation(plan);
    const struct ek_cond cond = {"Safe", safe[draft->verdict], draft->reason,
                                 ek_skew_clean_max(o.arena, draft->message, MESSAGE_MAX)};

    if (generation > 0)
        yyjson_mut_obj_add_sint(o.doc, status, "observedGeneration", generation);
    yyjson_mut_obj_add_str(o.doc, status, "verdict", ek_compat_verdict_name(draft->verdict));
    if (draft->world) {
        put_plan(&o, status);
        put_guard(&o, status, plan, now_ms);
    }
    yyjson_mut_obj_add_val(
        o.doc, status, "conditions",
        ek_conds_merge(o.doc, ek_json_get(ek_obj_root(plan), "status", "conditions", NULL), &cond,
                       1, generation, now_ms));
    struct ek_obj *ret = ek_obj_from_mut(status);
    yyjson_mut_doc_free(o.doc);
    ek_arena_free(o.arena);
    return ret;
}

/* ---- Intents ---- */

static void announce(const struct ek_obj *plan, enum ek_compat_verdict verdict, const char *message,
                     struct ek_intents *intents)
{
    static const char *const reasons[] = {[EK_COMPAT_UNKNOWN] = "PlanUnknown",
                                          [EK_COMPAT_SAFE] = "PlanSafe",
                                          [EK_COMPAT_BLOCKED] = "PlanBlocked"};
    struct ek_event event = {.regarding = ek_event_about(plan),
                             .warning = verdict == EK_COMPAT_BLOCKED,
                             .reason = reasons[verdict],
                             .action = "Plan",
                             .note = message};

    event.regarding.resource_version = NULL; /* that of the object with the new status */
    ek_intents_depend(ek_intents_event(intents, &event));
}

void ek_compat_intents(const struct ek_obj *plan, const struct ek_compat *compat,
                       struct ek_intents *intents)
{
    yyjson_val *old = ek_json_get(ek_obj_root(plan), "status", NULL);
    yyjson_val *now = ek_obj_root(compat->status);
    const struct ek_apply_target target = {
        .resource = &plans, .name = ek_obj_name(plan), .uid = ek_obj_uid(plan)};
    const char *was = ek_json_text(old, "verdict");

    if (old && ek_json_equal(old, now))
        return;
    ek_intents_apply_status(intents, &target, yyjson_val_mut_copy(ek_intents_doc(intents), now));
    /* A plan whose first verdict is Unknown is no news. */
    if (strcmp(was, ek_compat_verdict_name(compat->verdict)) != 0 &&
        (*was || compat->verdict != EK_COMPAT_UNKNOWN))
        announce(
            plan, compat->verdict,
            ek_json_text(ek_cond_find(ek_json_get(now, "conditions", NULL), "Safe"), "message"),
            intents);
}
