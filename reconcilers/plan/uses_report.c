/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of the uses that were collected. */
#include <string.h>

#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/uses-internal.h"

/* ---- Findings ---- */

struct words {
    enum ek_plan_severity severity;
    const char *rule, *message, *remedy;
};

/* "networking.k8s.io/v1", what takes the place; "a version that stays" without. */
static const char *instead(const struct ek_plan_target *target, const struct ek_api_lifecycle *life,
                           struct ek_arena *arena)
{
    const struct ek_api_lifecycle *other = ek_api_replacement(target->data, life, target->to);

    return other ? ek_arena_printf(arena, "%s%s%s", other->group, *other->group ? "/" : "",
                                   other->version)
                 : "a version that stays";
}

static const char *objects(const struct ek_plan_use *use, struct ek_arena *arena)
{
    return ek_arena_printf(arena, "%zu object%s", use->n, use->n == 1 ? "" : "s");
}

static struct words of_write(const struct ek_plan_use *use, const char *version, const char *other,
                             struct ek_arena *arena)
{
    bool moved = use->n_current == 0;

    return (struct words){
        moved ? EK_PLAN_WARNING : EK_PLAN_UNKNOWN,
        "api-written",
        ek_arena_printf(arena, "%s wrote %s with %s, the last at %s; %s", use->who,
                        objects(use, arena), version, *use->time ? use->time : "a time unknown",
                        moved ? "the client has written each of them with another version since"
                              : "whether the client still uses the version is not known"),
        ek_arena_printf(arena, "have the client use %s", other),
    };
}

/* Without another version, an autoscaler finds no target. */
static struct words of_target(const struct ek_plan_uses *uses, const struct ek_plan_use *use,
                              const char *version, const char *other, struct ek_arena *arena)
{
    const char *plural = ek_plan_uses_plural__(&uses->target, use->life);
    bool works = plural && ek_plan_uses_remains__(&uses->target, use->life->group, plural);

    return (struct words){
        works ? EK_PLAN_WARNING : EK_PLAN_ERROR,
        "scale-target",
        ek_arena_printf(arena, "the target of %s has the API version %s %s: %s",
                        objects(use, arena), version, use->life->kind,
                        works ? "autoscalers find the target by its group and kind, and go on"
                              : "autoscalers do not find the target any more"),
        ek_arena_printf(arena, "name %s in scaleTargetRef", other),
    };
}

static struct words of_rule(const struct ek_plan_uses *uses, const struct ek_plan_use *use,
                            const char *other, struct ek_arena *arena)
{
    const struct ek_plan_target *target = &uses->target;
    const char *plural = ek_plan_uses_plural__(target, use->life);
    bool beyond = ek_minor_cmp(target->to, target->data->binary) > 0;

    return (struct words){
        beyond ? EK_PLAN_UNKNOWN : EK_PLAN_WARNING,
        "rbac-rule",
        ek_arena_printf(arena, "%s: a rule names %s of the group %s, which %s", objects(use, arena),
                        plural ? plural : use->life->kind, use->life->group,
                        beyond ? "has no version at the target that Evenkeel knows"
                               : "does not serve the resource any more"),
        ek_arena_printf(arena, "grant the resource of %s as well", other),
    };
}

static struct words of_apiservice(const struct ek_plan_use *use, const char *version,
                                  struct ek_arena *arena)
{
    const char *message =
        use->serves
            ? ek_arena_printf(
                  arena, "the target serves %s itself, and requests go on to the service of %s",
                  version, objects(use, arena))
            : ek_arena_printf(arena,
                              "the target does not serve %s any more, and the APIService stays: %s",
                              version, objects(use, arena));

    return (struct words){
        EK_PLAN_WARNING,
        "apiservice",
        message,
        use->serves ? "delete the APIService to have the version of the API server"
                    : "delete the APIService after the step",
    };
}

static struct words words_of(const struct ek_plan_uses *uses, const struct ek_plan_use *use,
                             const char *version, struct ek_arena *arena)
{
    const char *other = instead(&uses->target, use->life, arena);

    switch (use->rule) {
    case EK_PLAN_USE_WRITTEN:
        return of_write(use, version, other, arena);
    case EK_PLAN_USE_APPLIED:
        return (struct words){
            EK_PLAN_WARNING, "api-applied",
            ek_arena_printf(arena,
                            "%s: the manifest that was applied last has %s; that is a hint, and no "
                            "use: the manifest may have changed since",
                            objects(use, arena), version),
            ek_arena_printf(arena, "look at the manifest, and apply it with %s", other)};
    case EK_PLAN_USE_OWNER:
        return (struct words){
            EK_PLAN_ERROR, "owner-version",
            ek_arena_printf(arena,
                            "the owner of %s has the API version %s %s: the garbage collector does "
                            "not find the owner any more, and does not delete the object with it",
                            objects(use, arena), version, use->life->kind),
            ek_arena_printf(arena, "name %s in the owner reference", other)};
    case EK_PLAN_USE_TARGET:
        return of_target(uses, use, version, other, arena);
    case EK_PLAN_USE_RULE:
        return of_rule(uses, use, other, arena);
    case EK_PLAN_USE_APISERVICE:
        break;
    }
    return of_apiservice(use, version, arena);
}

void ek_plan_uses_report(const struct ek_plan_uses *uses, struct ek_plan_report *report)
{
    struct ek_arena *arena = report->arena;
    bool back = ek_minor_cmp(uses->target.to, uses->target.from) < 0;
    char at[EK_MINOR_SIZE];

    for (size_t i = 0; i < uses->n; i++) {
        const struct ek_plan_use *use = &uses->list[i];
        const char *version = ek_arena_printf(arena, "%s%s%s", use->life->group,
                                              *use->life->group ? "/" : "", use->life->version);
        if (use->rule != EK_PLAN_USE_APISERVICE)
            version = ek_arena_printf(
                arena, "%s (%s in %s)", version, back ? "new" : "removed",
                ek_minor_format(back ? use->life->introduced : use->life->removed, at));
        const struct words w = words_of(uses, use, version, arena);
        ek_plan_report_add(report, &(struct ek_plan_finding){.severity = w.severity,
                                                             .rule = w.rule,
                                                             .source = "cluster",
                                                             .object = use->object,
                                                             .field = use->field,
                                                             .message = w.message,
                                                             .remedy = w.remedy});
    }
    if (uses->n_more)
        ek_plan_report_add(
            report,
            &(struct ek_plan_finding){
                .severity = EK_PLAN_UNKNOWN,
                .rule = "api-written",
                .source = "cluster",
                .message = ek_arena_printf(
                    arena, "%zu more uses of API versions that go are not listed", uses->n_more),
                .remedy = "change the clients that are listed, and plan again"});
}
