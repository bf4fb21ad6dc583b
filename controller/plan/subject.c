/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/plan/subject.h"

#include <string.h>

#include "api/base/mem.h"
#include "controller/plan/guard.h"
#include "controller/plan/metrics.h"
#include "controller/plan/registration.h"
#include "controller/plan/scans.h"
#include "controller/telemetry/section.h"
#include "controller/webhook/registration.h"
#include "informers/clock.h"
#include "reconcilers/plan/compat.h"

/* A write that the watch does not show is waited for this long at most, and looked for so often. */
#define UNSEEN_MS 30000
#define LOOK_MS   200

/* Plans are made again after this time also when no change of the cluster was noticed. */
#define REFRESH_MS 60000

/* Plans beyond those that are evaluated: writes of one run. The next run goes on after a while. */
#define REFUSED_MAX 50
#define REFUSED_MS  1000

/* What is watched; deploy/components/plans/role.yaml and
 * deploy/components/webhook/registration.yaml grant exactly this. */
enum {
    OBJECTS,
    REGISTRATION, /* our ValidatingWebhookConfiguration alone */
    NAMESPACE,    /* ours alone; not watched where it is not known */
    ROWS,
};

static const struct ek_watch_row rows[ROWS] = {
    [OBJECTS] = {.resource = {.group = "evenkeel.dev",
                              .version = "v1alpha1",
                              .resource = "compatibilityplans",
                              .kind = "CompatibilityPlan",
                              .optional = true},
                 .flags = EK_WATCH_BLIND | EK_WATCH_DEFINED},
    [REGISTRATION] = {.resource = {.group = "admissionregistration.k8s.io",
                                   .version = "v1",
                                   .resource = "validatingwebhookconfigurations",
                                   .kind = "ValidatingWebhookConfiguration",
                                   .field_selector = "metadata.name=" EK_GUARD_NAME}},
    [NAMESPACE] =
        {.resource = {.group = "", .version = "v1", .resource = "namespaces", .kind = "Namespace"},
         .flags = EK_WATCH_LATER},
};

/* The newest verdict on a plan. */
struct judged {
    char *uid;          /* of the plan; owned; NULL: none */
    int64_t generation; /* of the plan */
    uint64_t world;     /* the number of the world; 0: there is no verdict yet */
    struct ek_compat compat;
};

struct plans {
    struct ek_controller *controller;
    const struct ek_subject_env *env;
    struct ek_watchset *watch;
    struct ek_plan_data data;
    struct ek_plan_world *world; /* NULL before the first facts */
    int64_t world_ms;            /* when it was made */
    uint64_t n_worlds;           /* its number, from 1 */
    char *written;               /* resource version of the last write; owned; NULL: seen */
    int64_t written_ms;
    /* Of the last run, for metrics and debugging. */
    size_t n_plans, n_judged, n_of[EK_COMPAT_VERDICT_MAX];
    struct judged judged[EK_COMPAT_PLANS_MAX]; /* of the first items of the last run */
    size_t turn;                               /* where the next run begins to judge */
    bool more;                                 /* plans are left for the next run */
    struct ek_plan_scans *scans;               /* of the objects of the cluster */
    /* The guard for the way back. */
    struct ek_plan_guard *guard;
    struct ek_plan_registration registration;
    struct ek_compat_guard guarding; /* for statuses; its problem is that of registration */
    /* Of the run under way. */
    struct ek_obj **items; /* the oldest first */
    size_t n_items;
    void (*closed)(void *ctx); /* at the end of close_plans */
    void *closed_ctx;
};

/* ---- Observing ---- */

static void forget_write(struct plans *p)
{
    ek_free(p->written);
    p->written = NULL;
}

/* True when the watch has seen what was written: an Event of a verdict is recorded once. */
static bool has_seen(struct plans *p)
{
    const struct ek_store *store = ek_watchset_store(p->watch, OBJECTS);

    if (!p->written)
        return true;
    if (!ek_store_has_reached(store, p->written) && p->env->now_ms() < p->written_ms + UNSEEN_MS)
        return false;
    forget_write(p);
    return true;
}

static void forget_run(struct plans *p)
{
    ek_snapshot_free(p->items, p->n_items);
    p->items = NULL;
    p->n_items = 0;
}

static void forget_verdict(struct judged *judged)
{
    ek_free(judged->uid);
    ek_compat_done(&judged->compat);
    *judged = (struct judged){0};
}

static void forget_verdicts(struct plans *p)
{
    for (size_t i = 0; i < EK_COMPAT_PLANS_MAX; i++)
        forget_verdict(&p->judged[i]);
}

/* Puts the verdicts in the order of the items; those on other plans go. */
static void keep_verdicts(struct plans *p)
{
    struct judged kept[EK_COMPAT_PLANS_MAX] = {0};

    for (size_t i = 0; i < p->n_judged; i++) {
        const char *uid = ek_obj_uid(p->items[i]);
        for (size_t j = 0; j < EK_COMPAT_PLANS_MAX && !kept[i].uid; j++)
            if (p->judged[j].uid && !strcmp(p->judged[j].uid, uid)) {
                kept[i] = p->judged[j];
                p->judged[j] = (struct judged){0};
            }
        if (!kept[i].uid)
            kept[i].uid = ek_xstrdup(uid);
    }
    forget_verdicts(p);
    memcpy(p->judged, kept, sizeof kept);
}

/* True when the verdict is that of the plan and the world as they are now. */
static bool is_current(const struct plans *p, size_t i)
{
    return p->judged[i].world == p->n_worlds &&
           p->judged[i].generation == ek_obj_generation(p->items[i]);
}

/* Judges one plan, so that no turn of the loop takes longer than that. Plans take turns: no plan is
 * left behind by another one that changes all the time. */
static void judge_next(struct plans *p)
{
    size_t n_due = 0, first = 0;

    for (size_t k = 0; k < p->n_judged; k++) {
        size_t i = (p->turn + k) % p->n_judged;
        if (!is_current(p, i) && n_due++ == 0)
            first = i;
    }
    p->more = n_due > 1;
    if (n_due == 0)
        return;
    struct judged *judged = &p->judged[first];
    struct ek_minor from, to;
    bool reads = ek_compat_window(p->items[first], p->world, &from, &to);
    ek_compat_done(&judged->compat);
    ek_plan_guard_counts(p->guard, p->guarding.n_of);
    p->guarding.problem = p->registration.problem;
    ek_compat_judge(p->items[first], p->world, reads ? ek_plan_scans_of(p->scans, to) : NULL,
                    p->env->serving.webhook ? &p->guarding : NULL, p->env->now_ms(),
                    &judged->compat);
    judged->world = p->n_worlds;
    judged->generation = ek_obj_generation(p->items[first]);
    p->turn = first + 1;
}

/* The targets of the plans that are judged. */
static void follow_targets(struct plans *p)
{
    struct ek_plan_wish wishes[EK_PLAN_SCANS_MAX];
    struct ek_minor from, to;
    size_t n = 0;

    for (size_t i = 0; i < p->n_judged; i++)
        if (ek_compat_window(p->items[i], p->world, &from, &to))
            n = ek_plan_wish_add(wishes, n, from, to, ek_obj_generation(p->items[i]));
    ek_plan_scans_follow(p->scans, wishes, n);
}

/* A reading of the objects has ended. */
static void on_read(void *ctx)
{
    struct plans *p = ctx;

    p->n_worlds++;
    ek_controller_observe(p->controller);
}

static enum ek_observed observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    struct plans *p = subject;

    (void)arena;
    p->more = false;
    /* Without plans there is no guard, whatever the control plane is: that is reported to the
     * webhook's certificates, which wait for it. */
    if (!p->world && ek_store_size(ek_watchset_store(p->watch, OBJECTS)))
        return EK_OBSERVED_NOTHING;
    if (!has_seen(p)) {
        *ret_again_ms = LOOK_MS;
        return EK_OBSERVED_NOTHING;
    }
    forget_run(p);
    p->items = ek_store_snapshot(ek_watchset_store(p->watch, OBJECTS), &p->n_items);
    ek_compat_sort(p->items, p->n_items);
    p->n_plans = p->n_items;
    p->n_judged = p->n_items < EK_COMPAT_PLANS_MAX ? p->n_items : EK_COMPAT_PLANS_MAX;
    keep_verdicts(p);
    follow_targets(p);
    judge_next(p);
    for (size_t i = 0; i < EK_COMPAT_VERDICT_MAX; i++)
        p->n_of[i] = 0;
    for (size_t i = 0; i < p->n_judged; i++)
        if (p->judged[i].world)
            p->n_of[p->judged[i].compat.verdict]++;
    return EK_OBSERVED_ALL;
}

/* True when each plan has a verdict: the guard of a plan that is not judged yet is not known. */
static bool all_are_judged(const struct plans *p)
{
    for (size_t i = 0; i < p->n_judged; i++)
        if (!p->judged[i].world)
            return false;
    return true;
}

/* Hands the guards over to serving threads, and compares the registration. Plans are judged again
 * when it came or went, because their status says so. */
static void publish_guard(struct plans *p)
{
    const char *namespace = p->env->serving.namespace;
    struct ek_guard_rules rules = {.newest = EK_MINOR_UNKNOWN};

    for (size_t i = 0; i < p->n_judged; i++)
        ek_guard_merge(&rules, &p->judged[i].compat.guard, ek_obj_name(p->items[i]));
    ek_plan_guard_publish(p->guard, &rules);
    ek_plan_registration_make(&p->registration, &rules, &p->data, p->env,
                              ek_watchset_get(p->watch, REGISTRATION, EK_GUARD_NAME),
                              namespace ? ek_watchset_get(p->watch, NAMESPACE, namespace) : NULL);
    bool on = ek_plan_registration_is_on(&p->registration);
    if (on == p->guarding.registered)
        return;
    p->guarding.registered = on;
    p->n_worlds++;
    p->more = true;
}

static void publish(void *subject)
{
    struct plans *p = subject;
    struct ek_plan_shown shown[EK_COMPAT_PLANS_MAX];
    size_t n = 0;

    if (all_are_judged(p))
        publish_guard(p);
    for (size_t i = 0; i < p->n_judged; i++)
        if (p->judged[i].world && !p->judged[i].compat.held)
            shown[n++] =
                (struct ek_plan_shown){ek_obj_name(p->items[i]), p->judged[i].compat.verdict,
                                       p->judged[i].compat.guard.needed && p->guarding.registered};
    ek_plan_metrics_show(p->env->metrics, shown, n);
}

/* True where there can be no plans. */
static bool is_absent(const struct plans *p)
{
    struct ek_informer_status status;

    ek_watchset_status(p->watch, OBJECTS, &status);
    return status.synced && !status.served;
}

static bool facts(void *subject, const struct ek_skew_facts *facts, const struct ek_skew_spec *spec)
{
    struct plans *p = subject;

    if (is_absent(p))
        return false;
    struct ek_plan_world *world = ek_plan_world_new(facts, spec, &p->data);
    int64_t now_ms = p->env->now_ms(), age_ms = now_ms - p->world_ms;
    if (ek_plan_world_equal(p->world, world) && age_ms >= 0 && age_ms < REFRESH_MS) {
        ek_plan_world_free(world);
        return false;
    }
    ek_plan_world_free(p->world);
    p->world = world;
    p->world_ms = now_ms;
    p->n_worlds++;
    return true;
}

/* ---- Writing ---- */

static bool stage_registration(void *subject, int64_t now_ms, struct ek_arena *arena,
                               struct ek_intents *intents)
{
    struct plans *p = subject;

    (void)now_ms;
    (void)arena;
    if (all_are_judged(p))
        ek_plan_registration_plan(&p->registration, ek_watchset_resource(p->watch, REGISTRATION),
                                  p->env, intents);
    return false;
}

static bool stage_statuses(void *subject, int64_t now_ms, struct ek_arena *arena,
                           struct ek_intents *intents)
{
    const struct plans *p = subject;
    size_t i, n_written = 0;

    (void)arena;
    for (i = 0; i < p->n_judged; i++)
        if (is_current(p, i) && !p->judged[i].compat.held)
            ek_compat_intents(p->items[i], &p->judged[i].compat, intents);
    for (; i < p->n_items && n_written < REFUSED_MAX; i++) {
        size_t before = intents->n;
        ek_compat_refuse(p->items[i], now_ms, intents);
        n_written += intents->n > before;
    }
    if (i < p->n_items)
        ek_intents_again(intents, REFUSED_MS);
    return false;
}

static void answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                     struct ek_err *err)
{
    struct plans *p = subject;

    if (intent->tag == EK_PLAN_TAG_REGISTRATION) {
        ek_plan_registration_answered(&p->registration, err);
        return;
    }
    if (obj) {
        forget_write(p);
        p->written = ek_xstrdup(ek_obj_resource_version(obj));
        p->written_ms = p->env->now_ms();
    }
    /* A plan that was deleted meanwhile, or created again, has another status or none. */
    enum ek_apply_class class = ek_apply_classify(err);
    if (class == EK_APPLY_ABSENT || class == EK_APPLY_CONFLICT)
        *err = (struct ek_err){0};
}

static void ended(void *subject)
{
    struct plans *p = subject;

    forget_run(p);
    if (p->more) /* after the gap of the pace */
        ek_controller_observe(p->controller);
}

/* ---- Life ---- */

static void make_guard(struct plans *p)
{
    const struct ek_subject_serving *serving = &p->env->serving;
    struct ek_resource own = rows[NAMESPACE].resource;

    p->guard = ek_plan_guard_new(&p->data, p->env->metrics);
    if (serving->webhook) {
        const struct ek_webhook_handler handler = ek_plan_guard_handler(p->guard);
        ek_webhook_add_handler(serving->webhook, &handler);
    }
    p->registration.publisher = ek_webhook_registration_expect(serving);
    if (!serving->namespace || !*serving->namespace)
        return;
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s", serving->namespace);
    own.field_selector = selector;
    ek_watchset_set(p->watch, NAMESPACE, &own, NULL);
}

static void *new_plans(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct plans *p = ek_xalloc(sizeof *p);

    p->controller = controller;
    p->env = env;
    p->watch = ek_controller_watchset(controller);
    /* The data is compiled into the program, and a test reads it. */
    if (ek_plan_data_open((struct ek_str){0}, &p->data, NULL))
        abort();
    make_guard(p);
    p->scans = ek_plan_scans_new(env->loop, env->client, &p->data, ek_monotonic_ms, on_read, p);
    return p;
}

/* Everything that borrows the data is gone. */
static void end(void *ctx)
{
    struct plans *p = ctx;
    void (*done)(void *ctx) = p->closed;
    void *done_ctx = p->closed_ctx;

    ek_plan_data_done(&p->data);
    ek_free(p);
    done(done_ctx);
}

static void close_plans(void *subject, void (*done)(void *ctx), void *ctx)
{
    struct plans *p = subject;

    forget_run(p);
    forget_verdicts(p);
    forget_write(p);
    ek_plan_world_free(p->world);
    ek_plan_registration_done(&p->registration);
    ek_plan_guard_free(p->guard);
    p->closed = done;
    p->closed_ctx = ctx;
    ek_plan_scans_close(p->scans, end, p);
}

static const char *state_of(const struct plans *p)
{
    struct ek_informer_status status;

    ek_watchset_status(p->watch, OBJECTS, &status);
    if (!status.synced)
        return "CompatibilityPlans were not read yet";
    if (is_absent(p))
        return "CompatibilityPlan is not served: apply deploy";
    return p->world ? "plans are kept" : "the control plane was not observed yet";
}

static void debug_plans(const void *subject, const struct ek_debug_doc *doc)
{
    const struct plans *p = subject;

    ek_debug_put(doc, "state", state_of(p));
    ek_debug_put_count(doc, "plans", p->n_plans);
    ek_debug_put_count(doc, "notEvaluated", p->n_plans - p->n_judged);
    ek_debug_put_count(doc, "safe", p->n_of[EK_COMPAT_SAFE]);
    ek_debug_put_count(doc, "blocked", p->n_of[EK_COMPAT_BLOCKED]);
    ek_debug_put_count(doc, "unknown", p->n_of[EK_COMPAT_UNKNOWN]);
    ek_debug_put_bool(doc, "guardRegistered", p->guarding.registered);
    ek_debug_put_some(doc, "guardProblem", p->registration.problem);
}

const struct ek_subject ek_plan_subject = {
    .name = "compatibilityplan",
    .kind = "CompatibilityPlan",
    .option = "plans",
    .part = "plan informers",
    .observe_key = "plans",
    .joins = true,
    .rows = rows,
    .n_rows = ROWS,
    .metrics = ek_plan_metrics,
    .n_metrics = EK_PLAN_METRICS,
    /* Whoever may write plans decides how often there is a run, which judges one plan: a quarter of
     * the thread at most. */
    .pace = {.settle_ms = 20, .gap_ms = 250, .share = 3, .max_gap_ms = 10000},
    .new = new_plans,
    .observe = observe,
    .publish = publish,
    .stages = {stage_registration, stage_statuses},
    .answered = answered,
    .ended = ended,
    .facts = facts,
    .debug = debug_plans,
    .close = close_plans,
};
