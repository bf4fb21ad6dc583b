/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/ladder-internal.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

/* The grace of a cause that heals slowly, and of a crash loop without a fixing version. */
#define SLOW_FACTOR  6
#define RETRY_GAP_MS INT64_C(60000)
/* Stock OLM resolves within two seconds where it resolves at all. */
#define OLM_MOVES_MS INT64_C(10000)

struct view {
    const struct ek_ff_state *state;
    const struct ek_ff_finding *finding;
    const struct ek_ff_edges *edges;
    const struct ek_ff_consent *consent;
    const struct ek_ff_memory *memory;
    int64_t now_ms;
    const struct ek_ff_csv *csv; /* that fails; obj NULL where it does not exist */
    struct ek_ff_next *next;
};

static void propose(struct view *view, enum ek_ff_step step, enum ek_ff_act act, const char *target,
                    const char *why)
{
    view->next->step = step;
    view->next->act = act;
    view->next->target = target;
    view->next->why = why;
}

static void block(struct view *view, enum ek_ff_blocked blocked, const char *why)
{
    propose(view, EK_FF_BLOCKED, EK_FF_NO_ACT, NULL, why);
    view->next->blocked = blocked;
}

static void block_edge(struct view *view, const char *why)
{
    bool known = view->edges && view->edges->known;

    block(view, EK_FF_NO_EDGE,
          known ? why : "the catalog was not read: whether an edge leads on is not known");
}

static void wait_until(struct view *view, int64_t at_ms, const char *why)
{
    propose(view, EK_FF_S0, EK_FF_NO_ACT, NULL, why);
    if (at_ms > view->now_ms)
        view->next->again_ms = at_ms;
}

static bool dwelt(const struct view *view, int64_t ms)
{
    return view->now_ms - view->memory->since_ms >= ms;
}

static unsigned tries(const struct view *view, enum ek_ff_act act)
{
    return view->memory->acts[act].n;
}

static bool leads(const struct view *view, const struct ek_ff_edge *edge)
{
    return view->edges && view->edges->known && edge->next;
}

static bool leads_from_failing(const struct view *view)
{
    return view->edges && leads(view, &view->edges->from_failing);
}

/* An edge leads from the version that ran before, past the one that fails. */
static bool leads_past(const struct view *view)
{
    return view->edges && leads(view, &view->edges->from_running) &&
           strcmp(view->edges->from_running.next, view->finding->failing) != 0;
}

/* The catalog has changed since the plan was made: the version may be another one under its name.
 */
static bool is_republished(const struct view *view)
{
    int64_t made = view->state->plan.created_ms;

    return view->edges && view->edges->changed_ms && view->state->plan.obj &&
           made != EK_TIME_UNSET &&
           view->edges->changed_ms > made + 1000; /* creation times are whole seconds */
}

static int64_t latest(const struct view *view, enum ek_ff_act a, enum ek_ff_act b)
{
    int64_t a_ms = view->memory->acts[a].last_ms, b_ms = view->memory->acts[b].last_ms;

    return a_ms > b_ms ? a_ms : b_ms;
}

/* S1 until the retries are used up: once for a cause that a retry alone does not remove. */
static bool retry_plan(struct view *view, unsigned max)
{
    enum ek_ff_act act = EK_FF_REOPEN;
    unsigned n = tries(view, EK_FF_REOPEN) + tries(view, EK_FF_REDO_CSV);
    int64_t last = latest(view, EK_FF_REOPEN, EK_FF_REDO_CSV);
    int64_t gap = RETRY_GAP_MS << (n < 10 ? n : 10);

    if (!view->state->plan.obj || n >= max)
        return false;
    if (n && view->now_ms - last < gap) {
        wait_until(view, last + gap, "waits before the next retry");
        return true;
    }
    if (!view->csv->obj && view->state->running.phase == EK_FF_REPLACING)
        act = EK_FF_REDO_CSV; /* the plan remembers the CSV as created */
    propose(view, EK_FF_S1, act, view->state->plan.name, "retries the install plan");
    return true;
}

/* The plan that waits installs this CSV and nothing else. */
static bool offers(const struct view *view, const char *name)
{
    yyjson_val *names = ek_json_get(ek_obj_root(view->state->waiting.obj), "spec",
                                    "clusterServiceVersionNames", NULL);

    return yyjson_arr_size(names) == 1 && yyjson_equals_str(yyjson_arr_get_first(names), name);
}

/* The catalog has changed since the failure, and no plan was approved since that change. */
static bool is_new_content(const struct view *view)
{
    int64_t changed = view->edges->changed_ms;

    return changed > view->memory->since_ms + 1000 && /* times of a status are whole seconds */
           changed > view->memory->acts[EK_FF_APPROVE].last_ms;
}

/* The plan that waits installs the version that failed, as it was when it failed. After the plan of
 * this version is gone, OLM offers the version again. */
static bool fails_again(const struct view *view)
{
    return offers(view, view->memory->failing) && !(view->edges && is_new_content(view));
}

/* The plan that waits installs the fixing version and nothing else. */
static bool is_fix(const struct view *view)
{
    return leads_from_failing(view) && offers(view, view->edges->from_failing.next) &&
           !fails_again(view);
}

/* OLM offers a plan and waits. */
static void answer_offer(struct view *view)
{
    if (view->consent->approve && is_fix(view))
        propose(view, EK_FF_S3C, EK_FF_APPROVE, view->state->waiting.name,
                "approves the plan of the fixing version");
    else
        block(view, EK_FF_MANUAL_APPROVAL,
              fails_again(view) ? "OLM offers the version that failed again"
                                : "the plan of the fixing version waits for approval");
}

/* OLM ends a hold when rights change (reason DetectedClusterChange). So a hold before there is a
 * version that fixes this one is not repeated: the other tries are left for that version. Where the
 * catalog is not known, nothing says when that version is there. */
static bool may_hold_ahead(const struct view *view)
{
    bool known = view->edges && view->edges->known;

    return view->state->switched_on &&
           (!known || (!tries(view, EK_FF_PIN) && view->consent->max_retries > 1));
}

/* A write for a version that is not published yet helps only where this version never can. An
 * outage may end, and a hold would outlast it: OLM does not evaluate a CSV that is held. With an
 * edge the same writes take seconds. Without a grace other causes are held ahead, too, but never
 * the only version, which ran, unless it crashes. */
static bool may_act_ahead(const struct view *view)
{
    enum ek_ff_cause cause = view->finding->cause;
    bool outage = view->state->alone && view->csv->has_run && view->finding->class != EK_FF_F10;

    return cause == EK_FF_PERMANENT || cause == EK_FF_REPAIRABLE ||
           (!view->consent->grace_ms && !outage);
}

/* Holds the failing CSV and has OLM resolve again. With an edge the switch follows the hold,
 * because the switch makes OLM resolve; without one the switch comes first, so that OLM takes the
 * fixing version as soon as the catalog has it. Once OLM has a plan it need not resolve again. */
static void hold(struct view *view)
{
    const struct ek_ff_state *state = view->state;
    bool edge = leads_from_failing(view);
    bool held = ek_ff_is_held(view->csv), waits = edge && state->waiting.obj;
    bool ahead = !edge && may_act_ahead(view);

    if (view->csv->phase == EK_FF_SUCCEEDED)
        wait_until(view, 0, "the operator is healthy for the moment; a healthy CSV is not held");
    else if (!held && !waits && edge && state->alone)
        propose(view, EK_FF_S0, EK_FF_POKE, state->name,
                "has OLM resolve again: no older version is in the way");
    else if (!held && !waits && (edge || (ahead && may_hold_ahead(view))))
        propose(view, EK_FF_S3A, EK_FF_PIN, view->csv->name, "holds the failing version");
    else if (!state->switched_on && (ahead || (edge && !state->alone)))
        propose(view, EK_FF_S2, EK_FF_SWITCH, state->group ? ek_obj_name(state->group) : NULL,
                "switches fail forward of the operator group on");
    else if (waits)
        answer_offer(view);
    else if (edge)
        propose(view, EK_FF_S3A, EK_FF_POKE, state->name, "has OLM resolve again");
    else
        block_edge(view, "no edge leads from this version: the author must publish one that "
                         "replaces it");
}

/* Neither the policy nor the budget is in the way of a later write of a deletion. */
static bool can_follow(const struct view *view, enum ek_ff_step step, enum ek_ff_act act)
{
    return !(view->consent->denied & (1U << step)) && tries(view, act) < view->consent->max_retries;
}

/* The failing CSV may be deleted: it never ran, an older one is there, and OLM has no conversion to
 * reset. OLM resets the conversion of the CRDs of a CSV that is deleted and that nobody replaces
 * (operator-lifecycle-manager, pull request 2832). */
static bool may_delete(const struct view *view)
{
    return view->consent->mode == EK_FF_FORCE && !view->state->switched_on &&
           !view->csv->may_have_run && !view->state->alone && !ek_ff_is_held(view->csv) &&
           !view->csv->converts && !view->state->running.converts &&
           can_follow(view, EK_FF_S6, EK_FF_REINSTATE) && can_follow(view, EK_FF_S5, EK_FF_CLEAR);
}

/* The first version of an operator never ran, its plan failed, and no edge leads from it: the
 * channel has another head, which OLM installs where it finds no version. */
static bool may_reinstall(const struct view *view)
{
    const struct ek_ff_state *state = view->state;

    return view->consent->mode == EK_FF_FORCE && state->alone && !state->switched_on &&
           !view->csv->may_have_run && !view->csv->converts && !ek_ff_is_held(view->csv) &&
           !*state->starting && state->plan.phase == EK_FF_PLAN_FAILED && view->edges &&
           view->edges->known && view->edges->head && !leads_from_failing(view) &&
           can_follow(view, EK_FF_S5, EK_FF_CLEAR) &&
           strcmp(view->edges->head, view->csv->name) != 0;
}

/* A failing CSV that no retry repairs. */
static void leave_version(struct view *view)
{
    if (may_delete(view) && (leads_past(view) || !view->state->plan.obj ||
                             (!leads_from_failing(view) && is_republished(view))))
        propose(view, EK_FF_S6, EK_FF_DELETE, view->csv->name,
                "deletes the CSV that never ran, to start again from the version before");
    else if (may_reinstall(view))
        propose(view, EK_FF_S4, EK_FF_DELETE, view->csv->name,
                "deletes the first version, which never ran, to install the head of the channel");
    else
        hold(view);
}

/* A stand-in is made of the plan's manifest and of the version that runs. */
static bool can_stand_in(const struct view *view)
{
    if (!leads_from_failing(view) || !view->state->running.obj ||
        view->consent->mode != EK_FF_FORCE)
        return false;
    EK_AUTOPTR(ek_obj, ek_obj_unref) *bundle =
        ek_ff_plan_csv(&view->state->plan, view->finding->failing);
    return bundle != NULL;
}

static void decide_f1(struct view *view)
{
    const struct ek_ff_state *state = view->state;
    enum ek_ff_cause cause = view->finding->cause;
    bool orphan = state->running.phase == EK_FF_REPLACING;
    unsigned retries = view->consent->max_retries;

    if (state->moving) {
        wait_until(view, 0, "OLM installs another version");
        return;
    }
    if ((cause == EK_FF_TRANSIENT || cause == EK_FF_UNKNOWN) && retry_plan(view, retries))
        return;
    if (!state->running.obj && *state->starting)
        block(view, EK_FF_STARTING_CSV,
              "spec.startingCSV keeps OLM at the version that failed: clear the field");
    else if (orphan && state->switched_on)
        block(view, EK_FF_NEEDS_ADMIN,
              "the version that replaces the running one was deleted: install the operator again");
    else if (orphan && view->consent->mode != EK_FF_FORCE && !tries(view, EK_FF_DELETE))
        block(view, EK_FF_NOT_ALLOWED,
              "the version that replaces the running one was deleted: Force makes the running "
              "version the installed one again");
    else if (orphan)
        propose(view, EK_FF_S6, EK_FF_REINSTATE, state->running.name,
                "the version before is the installed one again");
    else if (state->plan_missing && !dwelt(view, EK_FF_SETTLE_MS))
        wait_until(view, view->memory->since_ms + EK_FF_SETTLE_MS, "the plan may be on its way");
    else if (state->plan_missing)
        propose(view, EK_FF_S5, EK_FF_CLEAR, state->name, "clears the plan that is gone");
    else if (leads_past(view) && state->switched_on && !dwelt(view, OLM_MOVES_MS))
        wait_until(view, view->memory->since_ms + OLM_MOVES_MS, "OLM resolves past this version");
    else if (leads_past(view))
        propose(view, EK_FF_S5, EK_FF_CLEAR, state->name, "has OLM resolve past this version");
    else if (can_stand_in(view))
        propose(view, EK_FF_S3D, EK_FF_STAND_IN, view->finding->failing,
                "creates a stand-in for the version that never came to exist");
    else if (is_republished(view) &&
             view->memory->acts[EK_FF_CLEAR].last_ms <= view->edges->changed_ms)
        propose(view, EK_FF_S5, EK_FF_CLEAR, state->name,
                "tries the version again as the catalog has it now");
    else if (!retry_plan(view, 1))
        block_edge(view, "no edge leads past this version: the author must publish one that "
                         "skips it");
}

/* Stored objects contradict the CRD. A person repairs them; the retry finds out. */
static void decide_incompatible(struct view *view)
{
    int64_t grace_end = view->memory->since_ms + view->consent->grace_ms;
    bool retries = view->now_ms >= grace_end && retry_plan(view, view->consent->max_retries);
    int64_t again_ms = view->now_ms < grace_end ? grace_end : view->next->again_ms;

    if (retries && view->next->act != EK_FF_NO_ACT)
        return;
    block(view, EK_FF_INCOMPATIBLE_CRD,
          "stored objects contradict the CRD of this version: repair the objects");
    view->next->again_ms = again_ms;
}

static void decide_f2(struct view *view)
{
    enum ek_ff_cause cause = view->finding->cause;

    if (view->finding->phase[0] == 'I' && !leads_from_failing(view))
        wait_until(view, 0, "OLM still retries the plan");
    else if ((cause == EK_FF_TRANSIENT || cause == EK_FF_UNKNOWN || cause == EK_FF_SLOW) &&
             retry_plan(view, view->consent->max_retries))
        return;
    else if (cause != EK_FF_REPAIRABLE || leads_from_failing(view))
        leave_version(view);
    else
        decide_incompatible(view);
}

/* A CSV that is there and does not work. */
static void decide_unhealthy(struct view *view)
{
    int64_t grace = view->consent->grace_ms;
    enum ek_ff_cause cause = view->finding->cause;

    if (!leads_from_failing(view) && cause != EK_FF_PERMANENT)
        grace *= SLOW_FACTOR;
    if (cause != EK_FF_PERMANENT && !dwelt(view, grace))
        wait_until(view, view->memory->since_ms + grace, "the version may still become healthy");
    else
        leave_version(view);
}

static void decide_f6(struct view *view)
{
    if (!strcmp(view->finding->reason, "OperatorConditionNotUpgradeable"))
        block(view, EK_FF_NOT_UPGRADEABLE, "the operator forbids an upgrade for now");
    else if (view->csv->has_lost && view->csv->has_run && view->state->plan.obj &&
             tries(view, EK_FF_REDO_LOST) < view->consent->max_retries)
        propose(view, EK_FF_S1, EK_FF_REDO_LOST, view->state->plan.name,
                "creates the lost objects of the operator again");
    else
        decide_unhealthy(view);
}

/* OLM probably made the webhook that refuses the objects of the plan, for a version that does not
 * answer.
 * The version that follows meets the same webhook. The last retry is for the time after a person
 * has removed the configuration, but the only one is not kept: the webhook may answer by then. */
static void decide_hook(struct view *view)
{
    unsigned max = view->consent->max_retries;

    if (retry_plan(view, max > 1 ? max - 1 : max))
        return;
    block(view, EK_FF_NEEDS_ADMIN,
          "a webhook, probably one that OLM made, refuses the objects of the plan and does not "
          "answer");
    view->next->by_hook = true;
}

/* A plan that OLM has lost: it neither fails nor ends, and OLM does not look at it. A change of the
 * plan makes OLM look. */
static void decide_f7(struct view *view)
{
    if (retry_plan(view, view->consent->max_retries))
        return;
    if (view->csv->obj)
        leave_version(view);
    else
        block(view, EK_FF_BUDGET_EXHAUSTED,
              "OLM does not go on with the plan: look at the catalog operator of OLM");
}

static void decide_failing(struct view *view)
{
    enum ek_ff_cause cause = view->finding->cause;
    bool is_left = view->csv->obj && !strcmp(view->memory->pinned, view->csv->name);

    if (view->finding->is_stuck && !ek_ff_is_held(view->csv) && !is_left &&
        cause != EK_FF_PERMANENT && cause != EK_FF_REPAIRABLE &&
        !dwelt(view, view->consent->grace_ms)) {
        wait_until(view, view->memory->since_ms + view->consent->grace_ms,
                   "the version may still become healthy");
        return;
    }
    if (view->finding->is_stuck) {
        propose(view, EK_FF_S3B, EK_FF_RELEASE, view->csv->name,
                "releases this version to the one that replaces it");
        return;
    }
    /* A retry needs no grace when the cause is permanent: it is the only thing that may help. The
     * grace of a version that was held is over. */
    if ((cause == EK_FF_TRANSIENT || cause == EK_FF_UNKNOWN) && !is_left &&
        !dwelt(view, view->consent->grace_ms)) {
        wait_until(view, view->memory->since_ms + view->consent->grace_ms,
                   "a transient failure may end without a write");
        return;
    }
    if (view->finding->hook.kind && view->state->plan.obj &&
        !strcmp(view->finding->kind, "InstallPlan")) {
        decide_hook(view);
        return;
    }
    switch (view->finding->class) {
    case EK_FF_F1:
        decide_f1(view);
        break;
    case EK_FF_F2:
        decide_f2(view);
        break;
    case EK_FF_F6:
        decide_f6(view);
        break;
    case EK_FF_F7:
        decide_f7(view);
        break;
    case EK_FF_F8:
    case EK_FF_F9:
        wait_until(view, 0, "OLM resolves again by itself");
        break;
    case EK_FF_F5:
        leave_version(view);
        break;
    default:
        decide_unhealthy(view);
    }
}

static bool may_poke(const struct view *view, int64_t since)
{
    return view->now_ms - since >= EK_FF_SETTLE_MS &&
           view->now_ms - view->memory->acts[EK_FF_POKE].last_ms >= EK_FF_VERIFY_MS &&
           tries(view, EK_FF_POKE) < view->consent->max_retries;
}

/* A healthy subscription whose fix or upgrade OLM does not notice: nothing triggers a resolution
 * when a CSV or a neighbor changes. */
static void decide_idle(struct view *view)
{
    const struct ek_ff_state *state = view->state;
    const struct ek_ff_csv *head = &state->head;
    bool stale = state->resolution && head->phase == EK_FF_SUCCEEDED && leads_from_failing(view) &&
                 state->catalog_ready && !state->waiting.obj;
    int64_t since = head->since_ms == EK_TIME_UNSET ? view->now_ms : head->since_ms;

    if (*view->memory->failing && state->offered &&
        state->waiting.obj) /* the failure is not over */
        answer_offer(view);
    else if (view->memory->switched && !view->consent->others_unfinished && state->switched_on &&
             head->phase == EK_FF_SUCCEEDED && state->alone)
        propose(view, EK_FF_RESTORE, EK_FF_UNSWITCH, ek_obj_name(state->group),
                "the old versions are gone: restores the operator group");
    else if (view->finding->neighbor)
        block(view, EK_FF_NAMESPACE_SHARED,
              "OLM resolves a namespace as one, and cannot resolve another subscription of it");
    else if (view->finding->is_untaken || (stale && may_poke(view, since)))
        propose(view, EK_FF_S0, EK_FF_POKE, state->name, "has OLM resolve again");
    else if (stale)
        wait_until(view, since + EK_FF_SETTLE_MS, "OLM resolves again by itself");
    else if (view->finding->class == EK_FF_F9)
        wait_until(view, 0, "OLM resolves again by itself");
    else
        propose(view, EK_FF_NONE, EK_FF_NO_ACT, NULL, "");
}

static bool needs_catalog(enum ek_ff_act act)
{
    return act == EK_FF_SWITCH || act == EK_FF_PIN || act == EK_FF_POKE || act == EK_FF_STAND_IN ||
           act == EK_FF_CLEAR || act == EK_FF_DELETE || act == EK_FF_REINSTATE;
}

static unsigned hops_today(const struct view *view)
{
    return view->now_ms - view->memory->hops_ms < EK_FF_DAY_MS ? view->memory->hops : 0;
}

/* The write leaves a version behind that the hops of the day do not contain. */
static bool begins_hop(const struct view *view, enum ek_ff_act act)
{
    return (ek_ff_leaves_version__(act) || ek_ff_is_hop__(act)) && !tries(view, act) &&
           !ek_ff_is_counted__(view->memory);
}

/* S4 or S6 was begun: we deleted the current CSV, and OLM has made no plan since. The plan that OLM
 * makes has not made the CSV yet. The times say nothing: the clock of the API server is not ours.
 */
static bool is_half_done(const struct view *view)
{
    const struct ek_ff_state *state = view->state;

    return tries(view, EK_FF_DELETE) && *state->current && !state->head.obj &&
           !strcmp(view->memory->failing, state->current) &&
           (!state->plan.obj || state->plan.has_made);
}

/* The rest of S4 or S6, whatever the plan says by now. */
static void finish(struct view *view)
{
    const struct ek_ff_state *state = view->state;
    bool orphan = state->running.phase == EK_FF_REPLACING;

    if (state->moving)
        wait_until(view, 0, "OLM installs another version");
    else if (orphan && state->n_groups != 1)
        block(view, EK_FF_NEEDS_ADMIN, "OLM requires exactly one operator group");
    else if (orphan && state->switched_on)
        block(view, EK_FF_NEEDS_ADMIN,
              "the version that replaces the running one was deleted: install the operator again");
    else if (orphan)
        propose(view, EK_FF_S6, EK_FF_REINSTATE, state->running.name,
                "the version before is the installed one again");
    else if (state->running.obj)
        propose(view, EK_FF_S5, EK_FF_CLEAR, state->name, "has OLM resolve past this version");
    else
        propose(view, EK_FF_S5, EK_FF_CLEAR, state->name,
                "has OLM install the head of the channel");
}

/* The rest of a deletion takes back a state that OLM does not leave by itself, so it needs no
 * consent that has ended since the deletion, and one try at least. */
static void limit_finish(struct view *view)
{
    const struct ek_ff_consent *consent = view->consent;
    enum ek_ff_act act = view->next->act;
    int64_t done = view->memory->acts[act].last_ms;
    bool given = consent->mode >= EK_FF_ASSIST && !consent->shared && consent->max_retries &&
                 !(consent->denied & (1U << view->next->step));

    if (act == EK_FF_NO_ACT)
        return;
    if (tries(view, act) && view->now_ms - done < EK_FF_VERIFY_MS)
        wait_until(view, done + EK_FF_VERIFY_MS, "waits for OLM to move");
    else if (tries(view, act) >= (consent->max_retries ? consent->max_retries : 1))
        block(view, EK_FF_BUDGET_EXHAUSTED,
              "the version was deleted, and OLM does not go on: install the operator again");
    else if (!given)
        view->next->step = EK_FF_RESTORE;
    else if (!view->state->catalog_ready)
        wait_until(view, 0, "the catalog is not ready");
}

/* What consent, neighbors, the catalog and the budget leave of a step. */
static void limit(struct view *view)
{
    enum ek_ff_act act = view->next->act;
    int64_t done = view->memory->acts[act].last_ms;

    if (act == EK_FF_NO_ACT || view->next->step == EK_FF_RESTORE)
        return;
    if (view->consent->shared && view->next->step == EK_FF_S0)
        wait_until(view, 0, "OLM resolves again by itself");
    else if (view->consent->shared)
        block(view, EK_FF_NAMESPACE_SHARED,
              "OLM resolves a namespace as one: all its subscriptions must consent");
    else if (view->state->not_upgradeable && ek_ff_leaves_version__(act))
        block(view, EK_FF_NOT_UPGRADEABLE, "the operator forbids an upgrade for now");
    else if (view->consent->denied & (1U << view->next->step))
        block(view, EK_FF_NOT_ALLOWED, "the policy does not allow this step");
    else if (tries(view, act) && act != EK_FF_REOPEN && act != EK_FF_REDO_CSV &&
             view->now_ms - done < EK_FF_VERIFY_MS)
        wait_until(view, done + EK_FF_VERIFY_MS, "waits for OLM to move");
    else if (tries(view, act) >= view->consent->max_retries)
        block(view, EK_FF_BUDGET_EXHAUSTED, "the step had no effect as often as the policy allows");
    else if (begins_hop(view, act) && hops_today(view) >= view->consent->max_hops)
        block(view, EK_FF_BUDGET_EXHAUSTED,
              "as many versions as the policy allows for a day failed");
    else if (needs_catalog(act) && !view->state->catalog_ready)
        wait_until(view, 0, "the catalog is not ready");
}

/* Takes back what was changed once consent ended. */
static bool withdraw(struct view *view)
{
    const struct ek_ff_state *state = view->state;
    const struct ek_ff_csv *held[] = {&state->stuck, &state->head, &state->running};

    if (is_half_done(view)) {
        finish(view);
        limit_finish(view);
        return true;
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(held); i++)
        if (held[i]->obj && *view->memory->pinned && ek_ff_is_held(held[i]) &&
            !strcmp(held[i]->name, view->memory->pinned) &&
            !strcmp(held[i]->message, EK_FF_PIN_MESSAGE)) {
            propose(view, EK_FF_RESTORE, EK_FF_UNPIN, held[i]->name,
                    "consent ended: OLM evaluates the version again");
            return true;
        }
    if (view->memory->switched && state->switched_on) {
        propose(view, EK_FF_RESTORE, EK_FF_UNSWITCH, ek_obj_name(state->group),
                "consent ended: restores the operator group");
        return true;
    }
    return false;
}

/* OLM resolves and leaves the edge that leads on alone: either it has not resolved since, which a
 * change of the subscription makes it do, or a person must act. */
static bool may_resolve_again(const struct view *view)
{
    return view->finding->is_untaken &&
           (!tries(view, EK_FF_POKE) ||
            view->now_ms - view->memory->acts[EK_FF_POKE].last_ms < EK_FF_VERIFY_MS);
}

/* No version can help, but for one that is not upgradeable yet, or that lacks an install mode which
 * the version that waits behind it has. */
static bool needs_admin(const struct view *view)
{
    const struct ek_ff_finding *finding = view->finding;
    bool waits = finding->is_stuck && view->state->head.phase == EK_FF_PENDING;

    return finding->cause == EK_FF_ADMIN && !may_resolve_again(view) &&
           !(waits && ek_ff_lacks_mode(view->csv)) &&
           strcmp(finding->reason, "OperatorConditionNotUpgradeable") != 0;
}

static void decide_as_if(struct view *view)
{
    const struct ek_ff_finding *finding = view->finding;

    if (needs_admin(view))
        block(view, EK_FF_NEEDS_ADMIN, "an administrator must remove the cause");
    else if (finding->class == EK_FF_HEALTHY || finding->class == EK_FF_F9)
        decide_idle(view);
    else if (view->state->n_groups != 1)
        block(view, EK_FF_NEEDS_ADMIN, "OLM requires exactly one operator group");
    else
        decide_failing(view);
}

void ek_ff_decide(const struct ek_ff_state *state, const struct ek_ff_finding *finding,
                  const struct ek_ff_edges *edges, const struct ek_ff_consent *consent,
                  const struct ek_ff_memory *memory, int64_t now_ms, struct ek_ff_next *ret_next)
{
    bool missing = finding->class == EK_FF_F1;
    static const struct ek_ff_csv none;
    struct view view = {
        .state = state,
        .finding = finding,
        .edges = edges,
        .consent = consent,
        .memory = memory,
        .now_ms = now_ms,
        .csv = finding->is_stuck ? &state->stuck
               : missing         ? &none
                                 : &state->head,
        .next = ret_next,
    };

    *ret_next = (struct ek_ff_next){.why = ""};
    if (consent->mode < EK_FF_ASSIST && withdraw(&view))
        return;
    if (consent->mode == EK_FF_OFF)
        return;
    if (is_half_done(&view)) {
        finish(&view);
        limit_finish(&view);
    } else {
        decide_as_if(&view);
        limit(&view);
    }
    if (consent->mode < EK_FF_ASSIST && ret_next->step != EK_FF_RESTORE)
        ret_next->act = EK_FF_NO_ACT;
    if (finding->again_ms > now_ms &&
        (!ret_next->again_ms || finding->again_ms < ret_next->again_ms))
        ret_next->again_ms = finding->again_ms;
}
