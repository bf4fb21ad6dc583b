/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/classify.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

/* A plan that retries for this long does not end: OLM does not count Forbidden as a failure. */
#define RETRY_MS (INT64_C(10) * 60 * 1000)

const char *ek_ff_class_name(enum ek_ff_class class)
{
    static const char *const names[EK_FF_CLASS_MAX] = {"",   "F1", "F2", "F3", "F4", "F5",
                                                       "F6", "F7", "F8", "F9", "F10"};
    return names[class];
}

bool ek_ff_is_held(const struct ek_ff_csv *csv)
{
    return csv->phase == EK_FF_FAILED && !strcmp(csv->reason, "InstallComponentFailedNoRetry");
}

bool ek_ff_lacks_mode(const struct ek_ff_csv *csv)
{
    return csv->phase == EK_FF_FAILED && (!strcmp(csv->reason, "UnsupportedOperatorGroup") ||
                                          !strcmp(csv->reason, "InvalidInstallModes"));
}

static const char *phase_name(enum ek_ff_phase phase)
{
    static const char *const names[EK_FF_PHASE_MAX] = {
        "",       "Pending",   "InstallReady", "Installing", "Succeeded",
        "Failed", "Replacing", "Deleting",     "unknown",
    };
    return names[phase];
}

/* Reasons of a CSV that name their cause. A reason that is not here leaves it to the message. */
static enum ek_ff_cause cause_of_reason(const char *reason, const char *message)
{
    static const struct {
        const char *reason;
        enum ek_ff_cause cause;
    } reasons[] = {
        {"NoOperatorGroup", EK_FF_ADMIN},
        {"TooManyOperatorGroups", EK_FF_ADMIN},
        {"UnsupportedOperatorGroup", EK_FF_ADMIN},
        {"NoTargetNamespaces", EK_FF_ADMIN},
        {"InvalidInstallModes", EK_FF_ADMIN},
        {"CannotModifyStaticOperatorGroupProvidedAPIs", EK_FF_ADMIN},
        {"InterOperatorGroupOwnerConflict", EK_FF_ADMIN},
        {"OperatorConditionNotUpgradeable", EK_FF_ADMIN},
        {"InvalidInstallStrategy", EK_FF_PERMANENT},
        {"InvalidWebhookDescription", EK_FF_PERMANENT},
        {"OwnerConflict", EK_FF_PERMANENT},
        {"ComponentUnhealthy", EK_FF_SLOW},
        {"InstallCheckFailed", EK_FF_SLOW},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(reasons); i++)
        if (!strcmp(reason, reasons[i].reason))
            return reasons[i].cause;
    return ek_ff_cause_of(message);
}

static void say_csv(const struct ek_ff_csv *csv, enum ek_ff_class class, enum ek_ff_cause cause,
                    struct ek_ff_finding *finding)
{
    finding->class = class;
    finding->cause = cause;
    finding->kind = "ClusterServiceVersion";
    finding->name = csv->name;
    finding->phase = phase_name(csv->phase);
    finding->reason = csv->reason;
    finding->text = csv->message;
    finding->since_ms = csv->since_ms;
}

static void say_plan(const struct ek_ff_plan *plan, enum ek_ff_class class,
                     struct ek_ff_finding *finding)
{
    finding->class = class;
    finding->cause = ek_ff_cause_of(plan->message);
    finding->kind = "InstallPlan";
    finding->name = plan->name;
    finding->phase = plan->phase == EK_FF_PLAN_FAILED ? "Failed" : "Installing";
    finding->reason = plan->phase == EK_FF_PLAN_FAILED ? "InstallComponentFailed" : "Retrying";
    finding->text = plan->message;
    finding->since_ms = plan->start_ms;
}

/* True when since_ms is at least ms ago; otherwise the finding is judged again at that time. */
static bool lasts(int64_t since_ms, int64_t ms, int64_t now_ms, struct ek_ff_finding *finding)
{
    if (since_ms == EK_TIME_UNSET || now_ms - since_ms >= ms)
        return true;
    finding->again_ms = since_ms + ms;
    return false;
}

/* OLM works on a plan when the plan changes, and five seconds after an error of a plan that is
 * Installing. A plan that OLM loses waits for the next resync, fifteen minutes as shipped. */
static void say_untouched(const struct ek_ff_plan *plan, struct ek_ff_finding *finding)
{
    say_plan(plan, EK_FF_F7, finding);
    finding->cause = EK_FF_TRANSIENT;
    finding->reason = "NotBegun";
    finding->text = "OLM has not begun with the install plan since it was retried";
    finding->since_ms = plan->retried_ms;
}

/* OLM retries a plan that is refused with Forbidden for ever, and goes on once the refusal ends
 * (operator-lifecycle-manager at 992bb097, pkg/controller/operators/catalog/operator.go:
 * syncInstallPlans). RBAC, quotas, admission policies and namespaces that end refuse this way
 * (k8s.io/apiserver at Kubernetes 1.36, pkg/admission/errors.go:NewForbidden). */
static bool waits_for_admin(const struct ek_ff_plan *plan, enum ek_ff_cause cause)
{
    return cause == EK_FF_ADMIN ||
           (cause != EK_FF_TRANSIENT && strstr(plan->message, "is forbidden: "));
}

/* A plan that retries: a failure at once where no retry can help. */
static void classify_retry(const struct ek_ff_csv *csv, const struct ek_ff_plan *plan,
                           int64_t now_ms, struct ek_ff_finding *finding)
{
    enum ek_ff_cause cause = ek_ff_cause_of(plan->message);

    if (plan->phase != EK_FF_PLAN_INSTALLING)
        return;
    if (waits_for_admin(plan, cause)) {
        /* done_ms: since when OLM says so in the condition; an operator group that was just made */
        if (!lasts(plan->done_ms, EK_FF_SETTLE_MS, now_ms, finding))
            return;
        say_plan(plan, EK_FF_F7, finding);
        finding->cause = EK_FF_ADMIN;
        return;
    }
    if (plan->retried_ms != EK_TIME_UNSET) {
        if (lasts(plan->retried_ms, EK_FF_VERIFY_MS, now_ms, finding))
            say_untouched(plan, finding);
        return;
    }
    if (!*plan->message)
        return;
    if (plan->start_ms != EK_TIME_UNSET && lasts(plan->start_ms, RETRY_MS, now_ms, finding))
        say_plan(plan, EK_FF_F7, finding);
    else if (csv && (cause == EK_FF_PERMANENT || cause == EK_FF_REPAIRABLE))
        say_plan(plan, EK_FF_F2, finding);
}

/* A CSV that fails again and again: counted, because every turn resets its times. What is said is
 * said of the last failure: OLM changes the phase several times a second, and each change would be
 * a write of the report. */
static bool classify_loop(const struct ek_ff_csv *csv, int64_t now_ms,
                          struct ek_ff_finding *finding)
{
    bool crashes = csv->unhealthy && csv->n_failed >= 2;

    if (!crashes && csv->n_failed < 3)
        return false;
    if (csv->phase == EK_FF_SUCCEEDED && lasts(csv->since_ms, EK_FF_STABLE_MS, now_ms, finding)) {
        finding->again_ms = 0;
        return false;
    }
    say_csv(csv, crashes ? EK_FF_F10 : EK_FF_F4,
            cause_of_reason(csv->failed_reason, csv->failed_message), finding);
    finding->phase = phase_name(EK_FF_FAILED);
    finding->reason = csv->failed_reason;
    finding->text = csv->failed_message;
    finding->since_ms = csv->first_failed_ms;
    return true;
}

static void classify_pending(const struct ek_ff_csv *csv, const struct ek_ff_plan *plan,
                             int64_t now_ms, struct ek_ff_finding *finding)
{
    const char *unmet = csv->unmet ? csv->unmet : csv->message;
    int64_t since_ms = csv->since_ms;

    if (plan->done_ms != EK_TIME_UNSET && plan->done_ms > since_ms)
        since_ms = plan->done_ms; /* OLM has not looked at the CSV since */
    if (cause_of_reason(csv->reason, "") == EK_FF_ADMIN) {
        say_csv(csv, EK_FF_F6, EK_FF_ADMIN, finding);
    } else if (plan->phase == EK_FF_PLAN_INSTALLING) {
        classify_retry(csv, plan, now_ms, finding);
    } else if (strcmp(csv->reason, "RequirementsNotMet") != 0) {
        return;
    } else if (csv->has_lost && csv->has_run) {
        say_csv(csv, EK_FF_F6, EK_FF_TRANSIENT, finding);
    } else if (lasts(since_ms, EK_FF_SETTLE_MS, now_ms, finding)) {
        enum ek_ff_cause cause = ek_ff_cause_of(unmet);
        say_csv(csv, EK_FF_F6, cause == EK_FF_UNKNOWN ? EK_FF_SLOW : cause, finding);
    }
    if (finding->class == EK_FF_F6 && csv->unmet)
        finding->text = csv->unmet;
}

static void classify_csv(const struct ek_ff_csv *csv, const struct ek_ff_plan *plan, int64_t now_ms,
                         struct ek_ff_finding *finding)
{
    bool installed = csv->phase == EK_FF_SUCCEEDED || csv->phase == EK_FF_REPLACING ||
                     csv->phase == EK_FF_DELETING;
    enum ek_ff_cause cause = cause_of_reason(csv->reason, csv->message);

    if (csv->phase == EK_FF_REPLACING || csv->phase == EK_FF_DELETING)
        return;
    bool needs_admin = csv->phase == EK_FF_FAILED && cause == EK_FF_ADMIN;
    if (!needs_admin && !installed && !csv->has_run && plan->phase == EK_FF_PLAN_FAILED) {
        say_plan(plan, EK_FF_F2, finding);
        return;
    }
    if (!needs_admin && (classify_loop(csv, now_ms, finding) || installed))
        return;
    if (needs_admin || ek_ff_is_held(csv))
        say_csv(csv, EK_FF_F5, cause, finding);
    else if (csv->phase == EK_FF_PENDING)
        classify_pending(csv, plan, now_ms, finding);
    else if (csv->phase != EK_FF_PHASE_NONE && csv->phase != EK_FF_INSTALL_READY &&
             lasts(csv->since_ms, EK_FF_SETTLE_MS, now_ms, finding))
        say_csv(csv, EK_FF_F3, cause, finding);
}

static void say_missing_plan(const struct ek_ff_state *state, struct ek_ff_finding *finding)
{
    finding->class = EK_FF_F1;
    finding->cause = EK_FF_PERMANENT;
    finding->kind = "Subscription";
    finding->name = state->name;
    finding->phase = state->state;
    finding->reason = "InstallPlanMissing";
    finding->text = "the install plan that the status names does not exist";
    finding->since_ms = EK_TIME_UNSET;
}

static void say_subscription(const struct ek_ff_state *state, enum ek_ff_class class,
                             const char *condition, const char *text, struct ek_ff_finding *finding)
{
    finding->class = class;
    finding->cause = EK_FF_UNKNOWN;
    finding->kind = "Subscription";
    finding->name = state->name;
    finding->phase = condition;
    finding->reason = "";
    finding->text = text;
    finding->since_ms = EK_TIME_UNSET;
}

/* A version without the install mode that was released to one that has run since: OLM does not
 * delete it, and a chain with it is not resolved while fail forward is on. */
static bool has_rest(const struct ek_ff_state *state)
{
    return state->stuck.obj && ek_ff_lacks_mode(&state->stuck) && state->head.has_run;
}

/* ResolutionFailed=True proves nothing while an upgrade is under way, and stays after the upgrade
 * until the next resolution: it counts when it is younger than the installed version. */
static bool is_unresolvable(const struct ek_ff_state *state)
{
    if (!state->resolution || state->offered)
        return false;
    if (!state->head.obj)
        return !*state->current;
    if (state->culprit && state->head.phase == EK_FF_SUCCEEDED)
        return true;
    return state->head.phase == EK_FF_SUCCEEDED &&
           (has_rest(state) || (state->alone && !state->stuck.obj)) &&
           state->resolution_ms != EK_TIME_UNSET && state->resolution_ms > state->head.since_ms;
}

static void find_failure(const struct ek_ff_state *state, int64_t now_ms,
                         struct ek_ff_finding *finding)
{
    *finding = (struct ek_ff_finding){.failing = "", .text = "", .since_ms = EK_TIME_UNSET};
    if (state->stuck.obj && !has_rest(state)) {
        classify_csv(&state->stuck, &state->stuck_plan, now_ms, finding);
        finding->failing = state->stuck.name;
        finding->is_stuck = finding->class != EK_FF_HEALTHY;
    }
    if (finding->class == EK_FF_HEALTHY && state->head.obj) {
        classify_csv(&state->head, &state->plan, now_ms, finding);
        finding->failing = state->head.name;
        if (state->wedged && lasts(state->head.since_ms, EK_FF_SETTLE_MS, now_ms, finding))
            say_csv(&state->head, EK_FF_F3, EK_FF_PERMANENT, finding);
    } else if (!state->head.obj && *state->current) {
        finding->failing = state->current;
        if (state->plan.phase == EK_FF_PLAN_FAILED)
            say_plan(&state->plan, EK_FF_F1, finding);
        else if (state->plan_missing)
            say_missing_plan(state, finding);
        else
            classify_retry(NULL, &state->plan, now_ms, finding);
    }
    if (finding->class != EK_FF_HEALTHY)
        return;
    finding->failing = "";
    if (state->unpack_failed) {
        say_subscription(state, EK_FF_F8, "BundleUnpackFailed", state->unpack_failed, finding);
        finding->since_ms = state->unpack_ms;
    } else if (is_unresolvable(state)) {
        say_subscription(state, EK_FF_F9, "ResolutionFailed", state->resolution, finding);
        finding->since_ms = state->resolution_ms;
        if (has_rest(state) || (state->culprit && !strcmp(state->culprit, state->name)))
            finding->cause = EK_FF_ADMIN;
        else
            finding->neighbor = state->culprit;
    }
    if (state->n_groups > 1 && *state->current) {
        say_subscription(state, EK_FF_F9, "OperatorGroups",
                         "the namespace has more than one operator group", finding);
        finding->cause = EK_FF_ADMIN;
    }
}

void ek_ff_classify(const struct ek_ff_state *state, int64_t now_ms,
                    struct ek_ff_finding *ret_finding)
{
    find_failure(state, now_ms, ret_finding);
    ek_ff_find_hook(&state->hooks, ret_finding->text, &ret_finding->hook);
}

/* The plan that waits is not that of the version to which the catalog leads now: OLM makes no plan
 * for the new one while the old one waits. */
static bool is_overtaken(const struct ek_ff_state *state, const struct ek_ff_edges *edges,
                         int64_t now_ms, struct ek_ff_finding *finding)
{
    return state->offered && state->waiting.obj &&
           strcmp(state->current, edges->from_failing.next) != 0 &&
           lasts(state->waiting.created_ms, EK_FF_SETTLE_MS, now_ms, finding);
}

static bool is_untaken(const struct ek_ff_state *state, const struct ek_ff_edges *edges,
                       int64_t now_ms, struct ek_ff_finding *finding)
{
    int64_t known_ms = edges->known_ms ? edges->known_ms : EK_TIME_UNSET;

    return state->head.phase == EK_FF_SUCCEEDED && !state->offered && !state->busy &&
           !state->resolution && !state->stuck.obj && state->alone &&
           lasts(state->head.since_ms, EK_FF_TAKE_MS, now_ms, finding) &&
           lasts(known_ms, EK_FF_TAKE_MS, now_ms, finding);
}

void ek_ff_classify_edges(const struct ek_ff_state *state, const struct ek_ff_edges *edges,
                          int64_t now_ms, struct ek_ff_finding *finding)
{
    if (finding->class != EK_FF_HEALTHY || !edges->known || !edges->from_failing.next ||
        !state->catalog_ready)
        return;
    if (is_overtaken(state, edges, now_ms, finding)) {
        say_subscription(state, EK_FF_F9, "Overtaken",
                         "the catalog has another version than the plan that waits for approval",
                         finding);
        finding->cause = EK_FF_ADMIN;
    } else if (is_untaken(state, edges, now_ms, finding)) {
        say_subscription(state, EK_FF_F9, "NotTaken",
                         "OLM reports no error and does not take the version that follows: another "
                         "operator of the namespace owns a kind of it, or no catalog has a kind "
                         "that it requires",
                         finding);
        finding->cause = EK_FF_ADMIN;
        finding->is_untaken = true;
    }
}
