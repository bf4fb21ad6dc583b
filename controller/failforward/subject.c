/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/subject.h"

#include <string.h>

#include "api/base/mem.h"
#include "controller/failforward/kept.h"
#include "controller/failforward/metrics.h"
#include "controller/failforward/olm.h"
#include "controller/failforward/wants.h"
#include "controller/failforward/watch.h"
#include "controller/telemetry/section.h"
#include "reconcilers/failforward/recheck.h"
#include "reconcilers/failforward/report.h"

/* Judged in one run at most; the others wait for the next run. */
#define NAMESPACES_MAX    64
#define SUBSCRIPTIONS_MAX 1000

/* A namespace with more Subscriptions is not judged. */
#define SPACE_MAX 200

/* Each Subscription is held against each object of OLM in its namespace, and OLM keeps five
 * InstallPlans and two versions of an operator. A namespace with more pairs is not judged, and one
 * run has so many: whoever may write these objects chooses how long the loop is busy. */
#define PAIRS_MAX 200000

/* Between two runs, at least; also when namespaces are left for the next run. */
#define GAP_MS 250

/* A write that the watches do not show is waited for this long at most. */
#define UNSEEN_MS 30000

/* Between two searches for what Subscriptions that are gone have left. What is found twice is taken
 * back: the watches have seen the reports by then. */
#define SEARCH_MS 30000

/* After a write of a search that was refused. */
#define REFUSED_MS 600000

/* One verdict of the run under way. */
struct ruling {
    struct ek_ff_verdict *verdict;
    const struct ek_ff_world *world;
    struct ek_ff_space *space;
    bool settled; /* nothing to write, or answered */
};

struct failforward {
    struct ek_controller *controller;
    const struct ek_subject_env *env;
    struct ek_watchset *watch;
    struct ek_ff_olm *olm;
    struct ek_ff_catalogs *catalogs;
    struct ek_ff_served watched; /* what the rows are set for */
    struct ek_ff_spaces spaces;
    struct ek_ff_kept_list kept;
    struct ek_ff_metrics metrics;
    char *olm_version; /* of the last run; owned; NULL before */
    int64_t search_ms; /* when to search for leftovers again */
    bool has_found;    /* the last search found some */
    bool takes_back;   /* this run takes them back */
    /* Of the run under way. */
    struct ek_ff_lists lists;
    struct ek_ff_rules rules;
    struct ek_ff_objs hooks; /* of the run's arena */
    struct ruling *rulings;  /* of the run's arena */
    size_t n_rulings, next;
    struct ek_obj *fresh[EK_FF_FRESH_MAX]; /* lists read before the step that is due; owned */
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

void ek_ff_on_change(void *ctx, const char *namespace, bool consent)
{
    struct failforward *ff = ctx;
    ek_ff_spaces_touch(&ff->spaces, namespace, consent);
}

void ek_ff_on_source(void *ctx, const char *source)
{
    struct failforward *ff = ctx;
    ek_ff_spaces_touch_source(&ff->spaces, source);
}

/* ---- Observing ---- */

/* What is served where both OLM and the reports are; NULL otherwise. */
static const struct ek_ff_served *usable(const struct failforward *ff)
{
    const struct ek_ff_served *served = ek_ff_olm_served(ff->olm);
    return served && served->olm && served->reports ? served : NULL;
}

static void follow(void *subject)
{
    struct failforward *ff = subject;
    const struct ek_ff_served *served = usable(ff);
    struct ek_ff_served want = served ? *served : (struct ek_ff_served){0};

    if (want.olm == ff->watched.olm && want.groups_version == ff->watched.groups_version &&
        want.conditions_version == ff->watched.conditions_version)
        return;
    ff->watched = want;
    ek_ff_watch_set(ff->watch, served);
    ek_ff_spaces_done(&ff->spaces);
}

/* A catalog whose CatalogSource is gone is known until the end of this run; it does not count. */
static void find_catalog(void *ctx, const struct ek_obj *subscription,
                         struct ek_ff_catalog *ret_catalog)
{
    const struct failforward *ff = ctx;
    yyjson_val *spec = ek_json_get(ek_obj_root(subscription), "spec", NULL);
    EK_AUTOFREE char *key =
        ek_xasprintf("%s/%s", ek_json_text(spec, "sourceNamespace"), ek_json_text(spec, "source"));

    *ret_catalog = (struct ek_ff_catalog){.error = ""};
    if (!ek_watchset_get(ff->watch, EK_FF_CATALOGS, key))
        return;
    /* What is not known is followed from the end of this run on. */
    if (!ek_ff_catalogs_of(ff->catalogs, subscription, ret_catalog))
        ret_catalog->reading = true;
}

static const struct ek_ff_kept *recall(void *ctx, const struct ek_obj *subscription)
{
    const struct failforward *ff = ctx;
    return ek_ff_kept_get(&ff->kept, ek_obj_uid(subscription));
}

/* True when the watches have seen what was written in the namespace. */
static bool has_seen(const struct failforward *ff, struct ek_ff_space *space, int64_t now_ms)
{
    for (size_t row = 0; row < EK_FF_ROWS; row++) {
        const struct ek_store *store = ek_watchset_store(ff->watch, row);
        if (!space->written[row])
            continue;
        if (store && !ek_store_has_reached(store, space->written[row]) &&
            now_ms < space->written_ms + UNSEEN_MS)
            return false;
        ek_ff_space_wrote(space, row, NULL, now_ms);
    }
    return true;
}

/* The configurations of webhooks that OLM made, of both kinds. */
static struct ek_ff_objs hooks_of(const struct ek_ff_lists *lists, struct ek_arena *arena)
{
    size_t n_validating = lists->n[EK_FF_VALIDATING], n_mutating = lists->n[EK_FF_MUTATING];
    struct ek_obj **all =
        ek_arena_alloc(arena, (n_validating + n_mutating + 1) * sizeof(struct ek_obj *));

    for (size_t i = 0; i < n_validating; i++)
        all[i] = lists->items[EK_FF_VALIDATING][i];
    for (size_t i = 0; i < n_mutating; i++)
        all[n_validating + i] = lists->items[EK_FF_MUTATING][i];
    return (struct ek_ff_objs){all, n_validating + n_mutating};
}

static struct ek_ff_world world_of(const struct failforward *ff, const char *namespace)
{
    const struct ek_ff_lists *l = &ff->lists;

    return (struct ek_ff_world){
        .namespace = namespace,
        .subscriptions = ek_ff_lists_in(l, EK_FF_SUBSCRIPTIONS, namespace),
        .plans = ek_ff_lists_in(l, EK_FF_PLANS, namespace),
        .csvs = ek_ff_lists_in(l, EK_FF_CSVS, namespace),
        .groups = ek_ff_lists_in(l, EK_FF_GROUPS, namespace),
        .conditions = ek_ff_lists_in(l, EK_FF_CONDITIONS, namespace),
        .catalogs = ek_ff_lists_all(l, EK_FF_CATALOGS),
        .hooks = ff->hooks,
    };
}

static void judge(struct failforward *ff, struct ek_ff_space *space, struct ek_arena *arena,
                  int64_t now_ms)
{
    struct ek_ff_world *world = ek_arena_alloc(arena, sizeof *world);
    struct ek_ff_verdict *verdicts;

    *world = world_of(ff, space->name);
    const struct ek_ff_inputs inputs = {
        .world = world,
        .rules = &ff->rules,
        .reports = ek_ff_lists_in(&ff->lists, EK_FF_REPORTS, space->name),
        .olm_version = ff->olm_version,
        .catalog = find_catalog,
        .recall = recall,
        .ctx = ff,
        .now_ms = now_ms,
    };
    size_t n = ek_ff_judge(&inputs, arena, &verdicts);
    for (size_t i = 0; i < n; i++)
        ff->rulings[ff->n_rulings++] =
            (struct ruling){.verdict = &verdicts[i], .world = world, .space = space};
    ek_ff_space_keep(space, verdicts, n);
}

/* Subscriptions of a namespace, times the other objects of OLM. */
static size_t count_pairs(const struct failforward *ff, const char *namespace, size_t n)
{
    static const enum ek_ff_row rows[] = {EK_FF_PLANS, EK_FF_CSVS, EK_FF_GROUPS, EK_FF_CONDITIONS};
    size_t n_objects = 0;

    for (size_t i = 0; n && i < EK_ARRAY_SIZE(rows); i++)
        n_objects += ek_ff_lists_in(&ff->lists, rows[i], namespace).n;
    return n * n_objects;
}

/* A namespace that is too large has no verdicts. True when it is. */
static bool pass_over(const struct failforward *ff, struct ek_ff_space *space, size_t n,
                      size_t n_pairs)
{
    bool was = space->is_large;

    space->is_large = n > SPACE_MAX || n_pairs > PAIRS_MAX;
    if (!space->is_large)
        return false;
    ek_ff_space_keep(space, NULL, 0);
    if (!was && ff->env->log)
        ek_log_info(ff->env->log, "Namespace not judged: it has too many objects of OLM",
                    EK_S("namespace", space->name), EK_I("subscriptions", (int64_t)n),
                    EK_I("objects", (int64_t)(n_pairs / n)));
    return true;
}

/* Judges what is due. A run begins with the first namespace that did not fit into an earlier run,
 * so that every namespace has its turn. Returns when to judge again, in milliseconds; 0: only after
 * a change. */
static int64_t judge_due(struct failforward *ff, struct ek_arena *arena)
{
    int64_t now_ms = ff->env->now_ms(), again_ms = INT64_MAX;
    size_t n_judged = 0, n_subscriptions = 0, n_pairs = 0, first = ek_ff_spaces_first(&ff->spaces);
    bool all_fit = true;

    ff->rulings =
        ek_arena_alloc(arena, (ff->lists.n[EK_FF_SUBSCRIPTIONS] + 1) * sizeof *ff->rulings);
    for (size_t i = 0; i < ff->spaces.n; i++) {
        struct ek_ff_space *space = ff->spaces.items[(first + i) % ff->spaces.n];
        bool due = ek_ff_space_is_due(space, now_ms);
        size_t n = due ? ek_ff_lists_in(&ff->lists, EK_FF_SUBSCRIPTIONS, space->name).n : 0;
        size_t pairs = count_pairs(ff, space->name, n);
        int64_t wait_ms = INT64_MAX;
        if (due && !pass_over(ff, space, n, pairs)) {
            bool fits = n_judged < NAMESPACES_MAX && n_subscriptions + n <= SUBSCRIPTIONS_MAX &&
                        n_pairs + pairs <= PAIRS_MAX;
            if (fits && has_seen(ff, space, now_ms)) {
                judge(ff, space, arena, now_ms);
                n_judged++;
                n_subscriptions += n;
                n_pairs += pairs;
            } else {
                wait_ms = fits ? 1000 : GAP_MS;
                if (!fits && all_fit)
                    ek_ff_spaces_begin_with(&ff->spaces, space);
                all_fit &= fits;
            }
        }
        if (space->again_ms && wait_ms == INT64_MAX)
            wait_ms = space->again_ms > now_ms ? space->again_ms - now_ms : GAP_MS;
        again_ms = wait_ms < again_ms ? wait_ms : again_ms;
    }
    return again_ms == INT64_MAX ? 0 : again_ms;
}

/* Appends what takes the leftovers of all namespaces back. */
static void plan_leftovers(const struct failforward *ff, int64_t now_ms, struct ek_intents *intents)
{
    const struct ek_ff_objs groups = ek_ff_lists_all(&ff->lists, EK_FF_GROUPS);
    const char *last = "";

    for (size_t i = 0; i < groups.n; i++) {
        const char *namespace = ek_obj_namespace(groups.items[i]);
        if (!strcmp(namespace, last))
            continue;
        last = namespace;
        const struct ek_ff_world world = world_of(ff, namespace);
        const struct ek_ff_inputs inputs = {
            .world = &world,
            .rules = &ff->rules,
            .reports = ek_ff_lists_in(&ff->lists, EK_FF_REPORTS, namespace),
            .now_ms = now_ms,
        };
        ek_ff_plan_leftovers(&inputs, intents);
    }
}

/* Searches from time to time; returns when to search again, 0: only after a change. */
static int64_t search(struct failforward *ff, int64_t now_ms)
{
    EK_AUTO(ek_intents) found;

    ek_intents_init(&found);
    if (now_ms < ff->search_ms)
        return ff->search_ms - now_ms;
    plan_leftovers(ff, now_ms, &found);
    ff->takes_back = ff->has_found && found.n;
    ff->has_found = found.n;
    ff->search_ms = now_ms + SEARCH_MS;
    return found.n ? SEARCH_MS : 0;
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return !a_ms || (b_ms && b_ms < a_ms) ? b_ms : a_ms;
}

static bool is_followed(const struct failforward *ff, const struct ek_obj *subscription)
{
    const struct ek_ff_space *space =
        ek_ff_spaces_find(&ff->spaces, ek_obj_namespace(subscription));

    for (size_t i = 0; space && i < space->n_briefs; i++)
        if (!strcmp(space->briefs[i].name, ek_obj_name(subscription)))
            return space->briefs[i].mode != EK_FF_OFF;
    return false;
}

/* Reads the catalogs of subscriptions with consent. */
static int64_t follow_catalogs(struct failforward *ff, struct ek_arena *arena)
{
    const struct ek_ff_objs all = ek_ff_lists_all(&ff->lists, EK_FF_SUBSCRIPTIONS);
    const struct ek_ff_objs sources = ek_ff_lists_all(&ff->lists, EK_FF_CATALOGS);
    struct ek_obj **followed = ek_arena_alloc(arena, (all.n + 1) * sizeof(struct ek_obj *));
    size_t n = 0;

    for (size_t i = 0; i < all.n; i++)
        if (is_followed(ff, all.items[i]))
            followed[n++] = all.items[i];
    const struct ek_ff_objs subscriptions = {followed, n};
    int64_t again_ms = ek_ff_catalogs_follow(ff->catalogs, &sources, &subscriptions);
    return again_ms == INT64_MAX ? 0 : again_ms;
}

static void read_version(struct failforward *ff)
{
    const struct ek_ff_objs csvs = ek_ff_lists_all(&ff->lists, EK_FF_CSVS);
    char *version = ek_xstrdup(ek_ff_olm_version(&csvs));

    ek_free(ff->olm_version);
    ff->olm_version = version;
}

static enum ek_observed observe(void *subject, struct ek_arena *arena, int64_t *ret_again_ms)
{
    struct failforward *ff = subject;

    ff->n_rulings = ff->next = 0;
    ff->takes_back = false;
    if (!ff->watched.olm) {
        ek_ff_catalogs_sync(ff->catalogs, NULL, 0);
        return EK_OBSERVED_PART;
    }
    ek_ff_lists_take(&ff->lists, ff->watch);
    ff->rules = (struct ek_ff_rules){ek_ff_lists_all(&ff->lists, EK_FF_POLICIES),
                                     ek_ff_lists_all(&ff->lists, EK_FF_NAMESPACES)};
    ff->hooks = hooks_of(&ff->lists, arena);
    read_version(ff);
    ek_ff_spaces_list(&ff->spaces, ff->lists.items[EK_FF_SUBSCRIPTIONS],
                      ff->lists.n[EK_FF_SUBSCRIPTIONS]);
    int64_t again_ms = judge_due(ff, arena);
    again_ms = sooner(again_ms, follow_catalogs(ff, arena));
    *ret_again_ms = sooner(again_ms, search(ff, ff->env->now_ms()));
    return EK_OBSERVED_ALL;
}

static void publish(void *subject)
{
    const struct failforward *ff = subject;
    ek_ff_metrics_show(&ff->metrics, &ff->spaces);
}

/* ---- Writing ---- */

/* Plans one verdict at a time, because its writes take time and consent may end meanwhile. A
 * verdict of a namespace whose consent changed stays unsettled: the namespace is judged again. */
static bool stage_reports(void *subject, int64_t now_ms, struct ek_arena *arena,
                          struct ek_intents *intents)
{
    struct failforward *ff = subject;

    (void)arena;
    for (; ff->next < ff->n_rulings && !intents->n; ff->next++) {
        struct ruling *r = &ff->rulings[ff->next];
        if (r->space->is_stale)
            continue;
        ek_ff_plan(r->verdict, ff->next, r->world, now_ms, intents);
        r->settled = !intents->n;
    }
    if (ff->takes_back && ff->next >= ff->n_rulings && !intents->n) {
        ff->takes_back = ff->has_found = false;
        plan_leftovers(ff, now_ms, intents);
    }
    return ff->next < ff->n_rulings || ff->takes_back;
}

static void on_remembered(struct failforward *ff, const struct ek_ff_verdict *v)
{
    ek_ff_kept_remembered(&ff->kept, ek_obj_uid(v->subscription));
    if (v->memory.recovered && !v->before.recovered && *v->before.failing)
        ek_ff_metrics_recovered(&ff->metrics, ff->env->now_ms() - v->before.since_ms);
}

static void on_step(struct failforward *ff, const struct ek_ff_verdict *v,
                    const struct ek_intent *intent, struct ek_err *err)
{
    const char *uid = ek_obj_uid(v->subscription);
    enum ek_apply_class class = EK_APPLY_DONE;

    if (err->code)
        class = ek_ff_kept_fail(&ff->kept, uid, &v->undone, err, ff->env->now_ms());
    else
        ek_ff_kept_forget(&ff->kept, uid);
    if (intent->verb != EK_APPLY || err->code) /* the apply keeps what is deleted next */
        ek_ff_metrics_wrote(&ff->metrics, v->next.act, class);
    if (err->code && ff->env->log)
        ek_log_info(ff->env->log, "Step not carried out",
                    EK_S("namespace", ek_obj_namespace(v->subscription)),
                    EK_S("subscription", ek_obj_name(v->subscription)),
                    EK_S("error", err->message));
}

static void forget_fresh(struct failforward *ff)
{
    for (int kind = 0; kind < EK_FF_FRESH_MAX; kind++) {
        ek_obj_unref(ff->fresh[kind]);
        ff->fresh[kind] = NULL;
    }
}

/* A list of what consent is read out of was read. The step is left out, as if its object had
 * changed, where the lists do not allow it any more, and where they cannot be read. */
static void on_fresh(struct failforward *ff, const struct ek_ff_verdict *v,
                     const struct ek_intent *intent, const struct ek_obj *list, struct ek_err *err)
{
    enum ek_ff_fresh kind = ek_ff_fresh_of(intent->resource.resource);
    const struct ek_obj *lists[EK_FF_FRESH_MAX];

    if (kind == EK_FF_FRESH_POLICIES)
        forget_fresh(ff);
    if (list && kind < EK_FF_FRESH_MAX)
        ff->fresh[kind] = ek_obj_ref(list);
    if (!err->code && kind + 1 < EK_FF_FRESH_MAX)
        return;
    for (int i = 0; i < EK_FF_FRESH_MAX; i++) {
        lists[i] = ff->fresh[i];
        if (!lists[i] && !err->code)
            ek_err_set(err, EK_E_CONFLICT, "what was consented to was not read");
    }
    if (!err->code && !ek_ff_is_still_given(v, lists))
        ek_err_set(err, EK_E_CONFLICT, "what was consented to has changed");
    forget_fresh(ff);
    if (!err->code)
        return;
    ek_ff_kept_fail(&ff->kept, ek_obj_uid(v->subscription), &v->undone, err, ff->env->now_ms());
    ek_controller_skip(ff->controller);
}

static void on_leftover(struct failforward *ff, const struct ek_intent *intent, struct ek_err *err)
{
    enum ek_apply_class class = ek_apply_classify(err);

    if (class == EK_APPLY_CONFLICT || class == EK_APPLY_ABSENT)
        *err = (struct ek_err){0};
    else if (err->code)
        ff->search_ms = ff->env->now_ms() + REFUSED_MS;
    else if (ff->env->log)
        ek_log_info(ff->env->log, "Took back what a deleted Subscription left",
                    EK_S("namespace", intent->resource.namespace),
                    EK_S("resource", intent->resource.resource), EK_S("name", intent->name));
}

/* An object that changed since is judged again at once: no failure of the run. */
static void answered(void *subject, const struct ek_intent *intent, const struct ek_obj *obj,
                     struct ek_err *err)
{
    struct failforward *ff = subject;
    size_t row = ek_ff_row_of(intent->resource.resource);

    if (ek_ff_tag_kind(intent->tag) == EK_FF_TAG_LEFTOVER) {
        on_leftover(ff, intent, err);
        return;
    }
    struct ruling *r = &ff->rulings[ek_ff_tag_index(intent->tag)];

    if (ek_ff_tag_kind(intent->tag) == EK_FF_TAG_CONSENT)
        on_fresh(ff, r->verdict, intent, obj, err);
    enum ek_apply_class class = ek_apply_classify(err);
    r->settled = true;
    if (obj && intent->verb != EK_LIST && row < EK_FF_ROWS && intent->verb != EK_DELETE)
        ek_ff_space_wrote(r->space, row, ek_obj_resource_version(obj), ff->env->now_ms());
    if (ek_ff_tag_kind(intent->tag) == EK_FF_TAG_STEP)
        on_step(ff, r->verdict, intent, err);
    else if (!err->code && ek_ff_tag_kind(intent->tag) == EK_FF_TAG_STATUS)
        on_remembered(ff, r->verdict);
    if (!err->code)
        return;
    r->space->dirty = true;
    if (class == EK_APPLY_CONFLICT || class == EK_APPLY_ABSENT) {
        *err = (struct ek_err){0};
        ek_controller_observe(ff->controller);
    }
}

/* What was not written is judged again. */
static void ended(void *subject)
{
    struct failforward *ff = subject;
    bool leads = ff->env->may_write(ff->env->ctx);

    for (size_t i = 0; leads && i < ff->n_rulings; i++)
        if (!ff->rulings[i].settled)
            ff->rulings[i].space->dirty = true;
    ff->n_rulings = 0;
    forget_fresh(ff);
    ek_ff_lists_done(&ff->lists);
}

static void elected(void *subject)
{
    struct failforward *ff = subject;

    ek_ff_kept_done(&ff->kept);
    ff->has_found = false;
    ek_ff_spaces_touch(&ff->spaces, NULL, false);
}

/* ---- Life ---- */

static void on_served(void *ctx)
{
    const struct failforward *ff = ctx;
    ek_controller_observe(ff->controller);
}

static void on_catalog(void *ctx, const char *source)
{
    struct failforward *ff = ctx;

    ek_ff_spaces_touch_source(&ff->spaces, source);
    ek_controller_observe(ff->controller);
}

static void *new_failforward(struct ek_controller *controller, const struct ek_subject_env *env)
{
    struct failforward *ff = ek_xalloc(sizeof *ff);

    ff->controller = controller;
    ff->env = env;
    ff->watch = ek_controller_watchset(controller);
    ek_watchset_set_seen(ff->watch, ff);
    ff->olm = ek_ff_olm_new(env->loop, env->client, on_served, ff);
    ff->catalogs = ek_ff_catalogs_new(env->loop, env->now_ms, on_catalog, ff);
    ek_ff_metrics_start(&ff->metrics, env->metrics);
    return ff;
}

static void start(void *subject)
{
    const struct failforward *ff = subject;
    ek_ff_olm_start(ff->olm);
}

static void on_part_closed(void *ctx)
{
    struct failforward *ff = ctx;

    if (--ff->n_closing > 0)
        return;
    forget_fresh(ff);
    ek_ff_lists_done(&ff->lists);
    ek_ff_spaces_done(&ff->spaces);
    ek_ff_kept_done(&ff->kept);
    ek_free(ff->olm_version);
    ff->on_closed(ff->closed_ctx);
    ek_free(ff);
}

static void close_failforward(void *subject, void (*done)(void *ctx), void *ctx)
{
    struct failforward *ff = subject;

    ff->on_closed = done;
    ff->closed_ctx = ctx;
    ff->n_closing = 2;
    ek_ff_olm_close(ff->olm, on_part_closed, ff);
    ek_ff_catalogs_close(ff->catalogs, on_part_closed, ff);
}

static const char *state_of(const struct failforward *ff)
{
    const struct ek_ff_served *served = ek_ff_olm_served(ff->olm);

    if (!served)
        return "discovery was not read yet";
    if (!served->olm)
        return "OLM v0 is not installed";
    if (!served->reports)
        return "OLM is installed, but FailForwardStatus is not served: apply "
               "deploy/overlays/failforward";
    return "OLM is watched";
}

static void debug_failforward(const void *subject, const struct ek_debug_doc *doc)
{
    const struct failforward *ff = subject;
    size_t consenting = 0, failing = 0, blocked = 0, large = 0;

    for (size_t i = 0; i < ff->spaces.n; i++) {
        large += ff->spaces.items[i]->is_large;
        for (size_t k = 0; k < ff->spaces.items[i]->n_briefs; k++) {
            const struct ek_ff_brief *b = &ff->spaces.items[i]->briefs[k];
            consenting += b->mode != EK_FF_OFF;
            failing += b->mode != EK_FF_OFF && b->class != EK_FF_HEALTHY;
            blocked += b->blocked != EK_FF_NOT_BLOCKED;
        }
    }
    ek_debug_put(doc, "state", state_of(ff));
    ek_debug_put_some(doc, "olmVersion", ff->olm_version ? ff->olm_version : "");
    ek_debug_put_bool(doc, "olmVersionTried",
                      ff->olm_version && ek_ff_olm_is_tried(ff->olm_version));
    ek_debug_put_count(doc, "namespaces", ff->spaces.n);
    ek_debug_put_count(doc, "namespacesTooLarge", large);
    ek_debug_put_count(doc, "withConsent", consenting);
    ek_debug_put_count(doc, "failing", failing);
    ek_debug_put_count(doc, "blocked", blocked);
    ek_debug_put_count(doc, "writesUndone", ff->kept.n);
}

const struct ek_subject ek_failforward_subject = {
    .name = "failforward",
    .option = "failforward",
    .kind = "FailForwardStatus",
    .part = "fail forward informers",
    .observe_key = "failforward",
    .rows = ek_ff_watch_rows,
    .n_rows = EK_FF_ROWS,
    .pace = {.settle_ms = 20, .gap_ms = GAP_MS, .share = 4, .max_gap_ms = 5000},
    .new = new_failforward,
    .start = start,
    .follow = follow,
    .observe = observe,
    .publish = publish,
    .stages = {stage_reports},
    .answered = answered,
    .ended = ended,
    .elected = elected,
    .debug = debug_failforward,
    .close = close_failforward,
};
