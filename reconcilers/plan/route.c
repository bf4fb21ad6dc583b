/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/route.h"

#include "reconcilers/skew/policy.h"

/* Versions below cannot be emulated, and steps.h does not mark what cannot be undone there
 * (apiserver/pkg/util/compatibility/version.go:kubeEffectiveVersionFloors). */
#define OLDEST_KNOWN_WAY_BACK EK_MINOR(1, 31)

/* What is not known of a version outside of the data is one finding, not many. */
void ek_plan_say_beyond(const struct ek_plan_data *data, struct ek_minor version,
                        struct ek_plan_report *report)
{
    char at[EK_MINOR_SIZE], oldest[EK_MINOR_SIZE], newest[EK_MINOR_SIZE];

    if (!version.known ||
        (ek_minor_cmp(version, data->binary) <= 0 && ek_minor_cmp(version, data->oldest) >= 0))
        return;
    ek_plan_report_add(
        report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_UNKNOWN,
            .rule = "beyond-data",
            .message = ek_arena_printf(
                report->arena,
                "the data covers %s to %s, recorded %s: of %s, only the removals and "
                "deprecations of APIs that %s declares are known",
                ek_minor_format(data->oldest, oldest), ek_minor_format(data->newest, newest),
                data->recorded, ek_minor_format(version, at), data->binary_version),
            .remedy = "use --data with a file of that version, or a newer release of "
                      "Evenkeel",
        });
}

static void say_no_way_back(const struct ek_steps *steps, const struct ek_plan_cluster *cluster,
                            struct ek_minor target, struct ek_plan_report *report)
{
    const struct ek_part *part = &cluster->parts[steps->part];
    struct ek_arena *arena = report->arena;
    bool compat = steps->rule == EK_RULE_APISERVER_COMPATIBILITY;
    char at[EK_MINOR_SIZE], to[EK_MINOR_SIZE];

    ek_minor_format(compat ? part->at.min_compat : EK_STEPS_OLDEST_WAY_BACK, at);
    ek_minor_format(target, to);
    ek_plan_report_add(
        report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_ERROR,
            .rule = "steps",
            .source = part->name,
            .message =
                compat ? ek_arena_printf(
                             arena,
                             "there is no way back to %s: with the minimum compatibility version "
                             "%s, the API server may have stored what %s cannot read (rule %s)",
                             to, at, to, ek_rule_name(steps->rule))
                       : ek_arena_printf(arena,
                                         "there is no way back to %s: no binary emulates a version "
                                         "below %s",
                                         to, at),
            .remedy = compat ? ek_arena_printf(arena,
                                               "go back to %s, or restore a backup of etcd from "
                                               "before the step to %s",
                                               at, at)
                             : "restore a backup of etcd from before the upgrade"});
}

/* A search without a result is a finding. */
static void say_outcome(const struct ek_steps *steps, const struct ek_plan_cluster *cluster,
                        struct ek_minor target, struct ek_plan_report *report)
{
    struct ek_plan_finding f = {.severity = EK_PLAN_ERROR, .rule = "steps"};

    if (steps->outcome == EK_STEPS_BACK) {
        f.source = cluster->parts[steps->part].name;
        f.message = "the API server is newer than the target";
        f.remedy = "plan a newer target";
    } else if (steps->outcome == EK_STEPS_NO_WAY_BACK) {
        say_no_way_back(steps, cluster, target, report);
        return;
    } else if (steps->outcome == EK_STEPS_OUTSIDE) {
        f.source = cluster->parts[steps->part].name;
        f.message = ek_arena_printf(report->arena, "the rule %s is violated before the first step",
                                    ek_rule_name(steps->rule));
        f.remedy = "evenkeel check reports the violation";
    } else if (steps->outcome == EK_STEPS_IMPOSSIBLE) {
        f.source = cluster->parts[steps->part].name;
        f.message = ek_arena_printf(report->arena, "no order of steps keeps to the rule %s",
                                    ek_rule_name(steps->rule));
        f.remedy = "plan a target that is nearer";
    } else {
        f.severity = EK_PLAN_UNKNOWN;
        f.message = "the search for the order of steps found no end";
        f.remedy = "plan a target that is nearer";
    }
    ek_plan_report_add(report, &f);
}

bool ek_plan_route(const struct ek_plan_cluster *cluster, const struct ek_steps_goal *goal,
                   const struct ek_plan_data *data, struct ek_plan_report *report,
                   struct ek_steps *ret_steps)
{
    if (!cluster->complete)
        return false;
    ek_steps_find(cluster->parts, cluster->n, goal, report->arena, ret_steps);
    if (ret_steps->outcome != EK_STEPS_FOUND) {
        say_outcome(ret_steps, cluster, goal->version, report);
        return false;
    }
    ek_plan_cluster_check(cluster, ret_steps, data, report);
    return true;
}

const char *ek_upgrade_step_name(enum ek_upgrade_step_kind kind)
{
    return kind == EK_UPGRADE_BINARY      ? "binary"
           : kind == EK_UPGRADE_EMULATION ? "emulation version"
                                          : "minimum compatibility version";
}

struct ek_minor ek_upgrade_step_version(const struct ek_part_versions *at,
                                        enum ek_upgrade_step_kind kind)
{
    return kind == EK_UPGRADE_BINARY      ? at->binary
           : kind == EK_UPGRADE_EMULATION ? at->emulation
                                          : at->min_compat;
}

bool ek_upgrade_step_is_marked(const struct ek_part *part, const struct ek_upgrade_step *step)
{
    return part->component != EK_KUBE_APISERVER ||
           ek_minor_cmp(step->before.emulation, OLDEST_KNOWN_WAY_BACK) >= 0;
}
