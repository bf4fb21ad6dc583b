/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a CompatibilityPlan. */
#include "reconcilers/plan/compat.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/plan/compat-internal.h"
#include "reconcilers/skew/text.h"

/* A plan of 128 API servers over 8 minors takes less than 1 MiB. */
#define ARENA_MAX ((size_t)16 << 20)
/* States of a search. A straight way has one for each step of an API server, and each costs by the
 * number of parts: fewer in a large cluster, so that the time for a plan has a bound. */
#define STATES_MAX  1000
#define PART_STATES 20000

/* The rules whose unknown findings a spec may accept; without the others there are no steps. */
static const char *const acceptable[] = {"api-use",        "beyond-data",    "flags-unread",
                                         "objects-failed", "objects-unread", "version-assumed"};

const char *ek_compat_verdict_name(enum ek_compat_verdict verdict)
{
    static const char *const names[] = {"Unknown", "Safe", "Blocked"};

    return names[verdict];
}

/* ---- The spec ---- */

/* "1.37": nothing before, behind or between. */
static struct ek_minor read_version(const char *text)
{
    struct ek_minor version = ek_minor_parse(text);
    char same[EK_MINOR_SIZE];

    return version.known && version.major == 1 && version.minor < 100 &&
                   !strcmp(text, ek_minor_format(version, same))
               ? version
               : EK_MINOR_UNKNOWN;
}

/* What a spec accepts a rule by: a client that wrote with a version that goes may still use the
 * version, and a rule of RBAC is unknown where the target is beyond the data. */
static const char *accepted_by(const char *rule)
{
    if (!strcmp(rule, "api-written"))
        return "api-use";
    return !strcmp(rule, "rbac-rule") ? "beyond-data" : rule;
}

static bool is_accepted(yyjson_val *spec, const char *rule)
{
    yyjson_val *item;
    size_t i, n;

    rule = accepted_by(rule);
    for (i = 0; i < EK_ARRAY_SIZE(acceptable) && strcmp(acceptable[i], rule) != 0; i++)
        ;
    if (i == EK_ARRAY_SIZE(acceptable))
        return false;
    yyjson_arr_foreach(ek_json_get(spec, "acceptedUnknowns", NULL), i, n, item)
    {
        if (yyjson_equals_str(item, rule))
            return true;
    }
    return false;
}

/* ---- The verdict ---- */

static void conclude(struct ek_compat_draft *d, enum ek_compat_verdict verdict, const char *reason,
                     const char *message)
{
    d->verdict = verdict;
    d->reason = reason;
    d->message = message;
}

/* Sets the target. False, with the verdict, when there is no target that a plan can be made for. */
static bool find_target(struct ek_compat_draft *d)
{
    struct ek_arena *arena = d->report.arena;
    yyjson_val *target = ek_json_get(d->spec, "targetVersion", NULL);
    const char *text = target ? ek_json_text(d->spec, "targetVersion") : "";

    d->from = ek_plan_cluster_oldest(&d->world->cluster);
    d->to = target ? read_version(text) : ek_plan_cluster_next(&d->world->cluster);
    if (target && !d->to.known) {
        conclude(d, EK_COMPAT_UNKNOWN, "InvalidTarget",
                 ek_arena_printf(arena,
                                 "spec.targetVersion: \"%s\" is not a minor version such as 1.37",
                                 ek_skew_clean(arena, text)));
        return false;
    }
    if (d->from.known && d->to.known &&
        ek_minor_cmp(d->to, ek_minor_offset(d->from, EK_COMPAT_MINORS_MAX)) > 0) {
        char at[EK_MINOR_SIZE];
        conclude(d, EK_COMPAT_UNKNOWN, "InvalidTarget",
                 ek_arena_printf(arena,
                                 "spec.targetVersion: more than %d minor versions above %s, the "
                                 "oldest version of the API servers; choose a target that is "
                                 "nearer",
                                 EK_COMPAT_MINORS_MAX, ek_minor_format(d->from, at)));
        return false;
    }
    return true;
}

/* ---- Objects ---- */

static void say(struct ek_compat_draft *d, const char *rule, const char *message,
                const char *remedy)
{
    ek_plan_report_add(&d->report, &(struct ek_plan_finding){.severity = EK_PLAN_UNKNOWN,
                                                             .rule = rule,
                                                             .source = "objects of the cluster",
                                                             .message = message,
                                                             .remedy = remedy});
}

/* The object is in the message: a finding of a status has no other place for the object. */
static void add_seen(struct ek_compat_draft *d, const struct ek_plan_finding *f)
{
    struct ek_plan_finding copy = *f;

    copy.source = "";
    copy.object = "";
    copy.message = ek_arena_printf(d->report.arena, "%s%s%s%s%s", f->object,
                                   *f->object && *f->field ? " " : "", f->field,
                                   *f->object || *f->field ? ": " : "", f->message);
    ek_plan_report_add(&d->report, &copy);
}

static void say_unread(struct ek_compat_draft *d)
{
    const struct ek_plan_seen *seen = d->seen;
    struct ek_arena *arena = d->report.arena;
    char to[EK_MINOR_SIZE];

    say(d, "objects-unread",
        "a CompatibilityPlan does not read the fields and expressions of objects, the Services of "
        "conversion webhooks, nor the owners of Pods and other common kinds: whether they use what "
        "goes or changes, and whether the webhooks can be called, is not known",
        ek_arena_printf(arena,
                        "run evenkeel plan --to %s, and check their manifests: evenkeel plan --to "
                        "%s -f",
                        ek_minor_format(d->to, to), to));
    if (seen->n_unread)
        say(d, "objects-failed",
            ek_arena_printf(arena, "%zu resource%s cannot be read to find who uses what goes: %s",
                            seen->n_unread, seen->n_unread == 1 ? "" : "s", seen->unread[0]),
            "where list is forbidden, apply deploy/components/plans; status.objects.unread has the "
            "reasons");
    if (seen->n_more)
        say(d, "objects-failed",
            ek_arena_printf(arena, "%zu more findings about objects are left out", seen->n_more),
            "change what the other findings name, or run evenkeel plan");
}

static void say_objects(struct ek_compat_draft *d)
{
    if (!d->seen || ek_minor_cmp(d->from, d->seen->from) < 0) {
        say(d, "objects-pending", "the objects of the cluster are being read", "wait");
        return;
    }
    for (size_t i = 0; i < d->seen->report.n; i++)
        add_seen(d, &d->seen->report.list[i]);
    say_unread(d);
}

static bool has_window(struct ek_minor from, struct ek_minor to)
{
    return from.known && to.known && ek_minor_cmp(from, to) < 0;
}

static void find_steps(struct ek_compat_draft *d)
{
    const struct ek_plan_world *w = d->world;
    size_t states = PART_STATES / (w->cluster.n + 1);
    const struct ek_steps_goal goal = {.version = d->to,
                                       .policy = &w->policy,
                                       .max_states = states < STATES_MAX ? states : STATES_MAX};

    for (size_t i = 0; i < w->report.n; i++)
        ek_plan_report_add(&d->report, &w->report.list[i]);
    ek_plan_say_beyond(w->data, d->from, &d->report);
    ek_plan_say_beyond(w->data, d->to, &d->report);
    if (has_window(d->from, d->to))
        say_objects(d);
    d->routed = ek_plan_route(&w->cluster, &goal, w->data, &d->report, &d->steps);
}

/* The findings by what they mean for the verdict. */
static void sort_findings(struct ek_compat_draft *d)
{
    size_t room = (d->report.n + 1) * sizeof(struct ek_plan_finding *);

    d->blockers = ek_arena_alloc(d->report.arena, room);
    d->unknowns = ek_arena_alloc(d->report.arena, room);
    for (size_t i = 0; i < d->report.n; i++) {
        const struct ek_plan_finding *f = &d->report.list[i];
        if (f->severity == EK_PLAN_ERROR)
            d->blockers[d->n_blockers++] = f;
        else if (f->severity == EK_PLAN_WARNING)
            d->n_warnings++;
        else if (f->severity == EK_PLAN_UNKNOWN && is_accepted(d->spec, f->rule))
            d->n_accepted++;
        else if (f->severity == EK_PLAN_UNKNOWN)
            d->unknowns[d->n_unknowns++] = f;
    }
}

/* "kube-apiserver a: what is so: what to do (and 2 more)". */
static const char *first_of(const struct ek_compat_draft *d,
                            const struct ek_plan_finding *const *list, size_t n)
{
    struct ek_arena *arena = d->report.arena;
    const struct ek_plan_finding *f = list[0];
    const char *more = n > 1 ? ek_arena_printf(arena, " (and %zu more)", n - 1) : "";

    return ek_arena_printf(arena, "%s%s%s%s%s%s", f->source, *f->source ? ": " : "", f->message,
                           *f->remedy ? ": " : "", f->remedy, more);
}

static const char *safe_text(const struct ek_compat_draft *d)
{
    struct ek_arena *arena = d->report.arena;
    char from[EK_MINOR_SIZE], to[EK_MINOR_SIZE];
    const char *accepted =
        d->n_accepted ? ek_arena_printf(arena, "; accepted by spec.acceptedUnknowns: %zu unknown",
                                        d->n_accepted)
                      : "";

    ek_minor_format(d->from, from);
    ek_minor_format(d->to, to);
    if (!d->steps.n)
        return ek_arena_printf(arena, "all components are at %s%s", to, accepted);
    return ek_arena_printf(arena, "nothing blocks the %zu step%s from %s to %s%s", d->steps.n,
                           d->steps.n == 1 ? "" : "s", from, to, accepted);
}

static void judge(struct ek_compat_draft *d)
{
    if (!find_target(d))
        return;
    find_steps(d);
    sort_findings(d);
    if (d->n_blockers)
        conclude(d, EK_COMPAT_BLOCKED, "Blocked", first_of(d, d->blockers, d->n_blockers));
    else if (d->n_unknowns)
        conclude(d, EK_COMPAT_UNKNOWN, "Unknown", first_of(d, d->unknowns, d->n_unknowns));
    else if (!d->routed)
        conclude(d, EK_COMPAT_UNKNOWN, "Unknown", "the version of no API server is known");
    else
        conclude(d, EK_COMPAT_SAFE, "Safe", safe_text(d));
}

/* True when the status has a verdict for which objects were read, for this target. */
static bool was_read(const struct ek_obj *plan, struct ek_minor to)
{
    yyjson_val *status = ek_json_get(ek_obj_root(plan), "status", NULL);
    char text[EK_MINOR_SIZE];

    return *ek_json_text(yyjson_obj_get(status, "objects"), "readAt") &&
           !strcmp(ek_json_text(status, "target"), ek_minor_format(to, text));
}

bool ek_compat_window(const struct ek_obj *plan, const struct ek_plan_world *world,
                      struct ek_minor *ret_from, struct ek_minor *ret_to)
{
    struct ek_compat_draft d = {.world = world,
                                .spec = ek_json_get(ek_obj_root(plan), "spec", NULL),
                                .report = {.arena = ek_arena_new(ARENA_MAX)}};
    bool found = !ek_plan_world_is_too_large(world) && find_target(&d) && has_window(d.from, d.to);

    *ret_from = d.from;
    *ret_to = d.to;
    ek_arena_free(d.report.arena);
    return found;
}

void ek_compat_judge(const struct ek_obj *plan, const struct ek_plan_world *world,
                     const struct ek_plan_seen *seen, const struct ek_compat_guard *guard,
                     int64_t now_ms, struct ek_compat *ret)
{
    struct ek_compat_draft d = {.world = world,
                                .seen = seen,
                                .spec = ek_json_get(ek_obj_root(plan), "spec", NULL),
                                .report = {.arena = ek_arena_new(ARENA_MAX)}};

    if (!ek_plan_world_is_too_large(world))
        judge(&d);
    if (ek_plan_world_is_too_large(world) || ek_arena_exhausted(d.report.arena)) {
        ek_arena_free(d.report.arena);
        d = (struct ek_compat_draft){
            .world = world, .spec = d.spec, .report = {.arena = ek_arena_new(ARENA_MAX)}};
        conclude(&d, EK_COMPAT_UNKNOWN, "TooLarge", "the plan of the cluster is too large");
    }
    ek_guard_find(d.spec, &world->cluster, world->data, d.to, ek_compat_was_guarded__(plan),
                  &d.guard);
    d.guarding = guard;
    ret->verdict = d.verdict;
    ret->guard = d.guard;
    ret->status = ek_compat_status__(&d, plan, now_ms);
    ret->held =
        !seen && d.verdict != EK_COMPAT_BLOCKED && has_window(d.from, d.to) && was_read(plan, d.to);
    ek_arena_free(d.report.arena);
}

void ek_compat_done(struct ek_compat *compat)
{
    ek_obj_unref(compat->status);
    compat->status = NULL;
}

/* ---- Which plans ---- */

static const char *made_at(const struct ek_obj *plan)
{
    const char *text = ek_json_str(ek_obj_root(plan), "metadata", "creationTimestamp", NULL);

    return text ? text : "";
}

/* API servers write all times in one form, which sorts as text. */
static int by_age(const void *a, const void *b)
{
    const struct ek_obj *const *x = a, *const *y = b;
    int order = strcmp(made_at(*x), made_at(*y));

    return order ? order : strcmp(ek_obj_name(*x), ek_obj_name(*y));
}

void ek_compat_sort(struct ek_obj **plans, size_t n)
{
    if (n)
        qsort(plans, n, sizeof(struct ek_obj *), by_age);
}

void ek_compat_refuse(const struct ek_obj *plan, int64_t now_ms, struct ek_intents *intents)
{
    yyjson_val *old =
        ek_cond_find(ek_json_get(ek_obj_root(plan), "status", "conditions", NULL), "Safe");
    struct ek_compat_draft d = {.report = {.arena = NULL}};
    struct ek_compat compat;

    if (!strcmp(ek_json_text(old, "reason"), "TooManyPlans") &&
        yyjson_get_sint(ek_json_get(old, "observedGeneration", NULL)) == ek_obj_generation(plan))
        return;
    conclude(&d, EK_COMPAT_UNKNOWN, "TooManyPlans",
             "Evenkeel evaluates the 20 oldest CompatibilityPlans: delete others");
    compat =
        (struct ek_compat){.verdict = d.verdict, .status = ek_compat_status__(&d, plan, now_ms)};
    ek_compat_intents(plan, &compat, intents);
    ek_compat_done(&compat);
}
