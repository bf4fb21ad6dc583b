/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/subject.h"

#include <string.h>
#include <time.h>

#include "api/base/mem.h"
#include "controller/manager/apply.h"

/* Writing: one run at a time, by the queue's law of one run per key. */
struct writing {
    struct ek_reconcile *run; /* NULL: nothing is under way */
    struct ek_apply *apply;   /* whose answer is waited for */
    struct ek_intents intents;
    size_t next;           /* intent */
    size_t stage;          /* whose intents these are */
    bool planned, more;    /* the stage was planned; it has more */
    bool written;          /* the last write of the list succeeded */
    char *uid, *version;   /* of the object that was returned for it; owned */
    struct ek_err failure; /* the first; code 0 for none */
    int64_t again_ms;
};

struct ek_controller {
    const struct ek_subject *subject;
    struct ek_subject_env env;
    struct ek_watchset *watchset;
    struct ek_runner *runner; /* NULL while closing */
    void *data;
    int64_t next_observe_ms; /* uv_now before which changes wait */
    bool observed;           /* once at least */
    struct writing w;
    int n_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Enqueueing ---- */

void ek_controller_observe(struct ek_controller *controller)
{
    struct ek_controller *c = controller;

    if (!c->runner)
        return;
    int64_t delay_ms =
        ek_pace_delay_ms(&c->subject->pace, (int64_t)uv_now(c->env.loop), c->next_observe_ms);
    ek_runner_add_after(c->runner, c->subject->observe_key, 0, delay_ms);
}

static void on_change(void *ctx)
{
    ek_controller_observe(ctx);
}

static void on_defined(void *ctx, const char *name, enum ek_definition state)
{
    const struct ek_controller *c = ctx;
    struct ek_err err = {0};

    if (state == EK_DEFINITION_PRESENT) {
        ek_log_info(c->env.log, "CustomResourceDefinition is back", EK_S("definition", name));
        return;
    }
    ek_err_set(
        &err, EK_E_NOENT, "%s: install the CustomResourceDefinition (kubectl apply -k deploy)",
        state == EK_DEFINITION_GONE ? "its objects are deleted" : "no object can be created");
    if (state == EK_DEFINITION_GONE)
        ek_log_error(c->env.log, &err, "CustomResourceDefinition is deleted",
                     EK_S("definition", name));
    else
        ek_log_error(c->env.log, &err, "CustomResourceDefinition is being deleted",
                     EK_S("definition", name));
}

void ek_controller_write(struct ek_controller *controller, int64_t delay_ms)
{
    const struct ek_subject *s = controller->subject;
    const char *key = s->write_key ? s->write_key : s->observe_key;

    if (!controller->runner)
        return;
    if (delay_ms > 0)
        ek_runner_add_after(controller->runner, key, 0, delay_ms);
    else
        ek_runner_add(controller->runner, key, 0);
}

void ek_controller_elected(struct ek_controller *controller)
{
    if (controller->runner && controller->subject->elected)
        controller->subject->elected(controller->data);
    ek_controller_write(controller, 0);
}

void ek_controller_peers(struct ek_controller *controller, const struct ek_peer_table *table)
{
    if (controller->runner && controller->subject->peers &&
        controller->subject->peers(controller->data, table))
        ek_controller_observe(controller);
}

void ek_controller_facts(struct ek_controller *controller, const struct ek_skew_facts *facts,
                         const struct ek_skew_spec *spec)
{
    if (controller->runner && controller->subject->facts &&
        controller->subject->facts(controller->data, facts, spec))
        ek_controller_observe(controller);
}

/* ---- Writing ---- */

static bool may_write(const struct ek_controller *c)
{
    return c->env.may_write(c->env.ctx);
}

static void note_failure(struct ek_controller *c, const struct ek_err *err)
{
    if (err->code && !c->w.failure.code)
        c->w.failure = *err;
}

static void look_again(struct ek_controller *c, int64_t ms)
{
    if (ms > 0 && (!c->w.again_ms || ms < c->w.again_ms))
        c->w.again_ms = ms;
}

static void forget_answer(struct ek_controller *c)
{
    ek_free(c->w.uid);
    ek_free(c->w.version);
    c->w.uid = c->w.version = NULL;
    c->w.written = false;
}

static void forget_intents(struct ek_controller *c)
{
    if (c->w.planned)
        ek_intents_done(&c->w.intents);
    c->w.planned = false;
    c->w.next = 0;
    forget_answer(c);
}

static void end_run(struct ek_controller *c, struct ek_reconcile *run, struct ek_outcome outcome,
                    const struct ek_err *failure)
{
    if (c->subject->ended)
        c->subject->ended(c->data);
    ek_reconcile_done(run, outcome, failure->code ? failure : NULL);
}

static void end_writing(struct ek_controller *c)
{
    struct ek_reconcile *run = c->w.run;
    struct ek_err failure = c->w.failure;
    struct ek_outcome outcome = {.requeue_after_ms = failure.code ? 0 : c->w.again_ms};

    forget_intents(c);
    c->w = (struct writing){0};
    end_run(c, run, outcome, &failure);
}

/* Plans the stage that is due. False after the last. */
static bool plan(struct ek_controller *c)
{
    struct writing *w = &c->w;

    if (w->planned && !w->more)
        w->stage++;
    forget_intents(c);
    ek_stage_fn *stage = w->stage < EK_SUBJECT_STAGES_MAX ? c->subject->stages[w->stage] : NULL;
    if (!stage)
        return false;
    ek_intents_init(&w->intents);
    w->planned = true;
    w->more = stage(c->data, c->env.now_ms(), ek_reconcile_arena(w->run), &w->intents);
    note_failure(c, &w->intents.failure);
    look_again(c, w->intents.again_ms);
    return true;
}

static void record(const struct ek_controller *c, const struct ek_intent *intent)
{
    struct ek_event event = intent->event;

    if (!c->env.recorder)
        return;
    if (intent->depends && !event.regarding.uid)
        event.regarding.uid = c->w.uid;
    if (intent->depends && !event.regarding.resource_version)
        event.regarding.resource_version = c->w.version;
    ek_recorder_record(c->env.recorder, &event);
}

static void advance(struct ek_controller *c);

static void on_answer(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct ek_controller *c = ctx;
    const struct ek_intent *intent = &c->w.intents.items[c->w.next - 1];
    struct ek_err failure = err ? *err : (struct ek_err){0};

    c->w.apply = NULL;
    if (obj) {
        c->w.written = true;
        c->w.uid = ek_xstrdup(ek_obj_uid(obj));
        c->w.version = ek_xstrdup(ek_obj_resource_version(obj));
    }
    if (c->subject->answered)
        c->subject->answered(c->data, intent, obj, &failure);
    note_failure(c, &failure);
    if (err && intent->on_failure == EK_STOP)
        end_writing(c);
    else
        advance(c);
}

void ek_controller_skip(struct ek_controller *c)
{
    c->w.written = false;
}

/* What carries out each write. */
static struct ek_apply *(*const writers[EK_VERB_MAX])(struct ek_client *,
                                                      const struct ek_apply_target *,
                                                      yyjson_mut_val *, ek_apply_fn, void *) = {
    [EK_CREATE] = ek_apply_create,
    [EK_APPLY] = ek_apply_object,
    [EK_APPLY_STATUS] = ek_apply_status,
    [EK_PATCH] = ek_apply_patch,
    [EK_PATCH_STATUS] = ek_apply_patch_status,
    [EK_DELETE] = ek_apply_delete,
    [EK_LIST] = ek_apply_list,
};

static void write_one(struct ek_controller *c, const struct ek_intent *intent)
{
    const struct ek_apply_target target = {.resource = &intent->resource,
                                           .name = intent->name,
                                           .uid = intent->uid,
                                           .resource_version = intent->resource_version};

    forget_answer(c);
    c->w.apply = writers[intent->verb](c->env.client, &target, intent->content, on_answer, c);
}

/* Carries out intents until one has to be waited for, or until there are no more. */
static void advance(struct ek_controller *c)
{
    struct writing *w = &c->w;

    do {
        while (w->planned && w->next < w->intents.n) {
            const struct ek_intent *intent = &w->intents.items[w->next++];
            bool skipped = intent->depends && !w->written;
            if (!may_write(c)) {
                end_writing(c);
                return;
            }
            if (intent->verb == EK_EVENT && !skipped) {
                record(c, intent);
            } else if (!skipped) {
                write_one(c, intent);
                return;
            }
        }
    } while (may_write(c) && plan(c));
    end_writing(c);
}

/* Notes what may not be read. False while the objects to conclude from were never listed: what was
 * written for them must not be withdrawn. */
static bool may_conclude(struct ek_controller *c)
{
    struct ek_err err = {0};
    bool blind;
    EK_AUTOFREE char *problem = ek_watchset_problem(c->watchset, &blind);

    if (problem)
        ek_err_set(&err, EK_E_FORBIDDEN, "%s", problem);
    note_failure(c, &err);
    return !blind;
}

static void begin_writing(struct ek_controller *c, struct ek_reconcile *run, int64_t again_ms)
{
    bool leads = may_write(c);

    c->w = (struct writing){.run = run, .again_ms = again_ms};
    if (!leads && c->subject->standby)
        c->subject->standby(c->data);
    if (leads && c->observed && may_conclude(c))
        advance(c);
    else
        end_writing(c);
}

/* ---- Observing ---- */

/* Not wall time: what others take of the processor says nothing about an observation. */
static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static enum ek_observed observe(struct ek_controller *c, struct ek_reconcile *run,
                                int64_t *ret_again_ms)
{
    const struct ek_subject *s = c->subject;
    int64_t begun_ns = cpu_ns();

    if (s->follow)
        s->follow(c->data);
    if (!ek_watchset_is_synced(c->watchset))
        return EK_OBSERVED_NOTHING;
    enum ek_observed observed = s->observe(c->data, ek_reconcile_arena(run), ret_again_ms);
    if (observed == EK_OBSERVED_NOTHING)
        return observed;
    if (s->publish)
        s->publish(c->data);
    c->observed = true;
    c->next_observe_ms =
        (int64_t)uv_now(c->env.loop) + ek_pace_gap_ms(&s->pace, cpu_ns() - begun_ns);
    return observed;
}

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    struct ek_controller *c = ctx;
    const struct ek_subject *s = c->subject;
    struct ek_outcome outcome = {0};

    if (s->write_key && !strcmp(key, s->write_key)) {
        begin_writing(c, run, 0);
        return;
    }
    enum ek_observed observed = observe(c, run, &outcome.requeue_after_ms);
    if (observed == EK_OBSERVED_ALL && !s->write_key) {
        begin_writing(c, run, outcome.requeue_after_ms);
        return;
    }
    if (observed == EK_OBSERVED_ALL)
        ek_controller_write(c, 0);
    if (s->write_key)
        ek_reconcile_done(run, outcome, NULL);
    else
        end_run(c, run, outcome, &(struct ek_err){0});
}

/* ---- Life ---- */

struct ek_controller *ek_controller_new(const struct ek_subject *subject,
                                        const struct ek_subject_env *env)
{
    struct ek_controller *c = ek_xalloc(sizeof *c);

    c->subject = subject;
    c->env = *env;
    for (size_t i = 0; env->metrics && i < subject->n_metrics; i++)
        ek_metrics_register(env->metrics, &subject->metrics[i]);
    c->watchset =
        ek_watchset_new(&(struct ek_watchset_config){.loop = env->loop,
                                                     .client = env->client,
                                                     .rows = subject->rows,
                                                     .n = subject->n_rows,
                                                     /* A proxy needs no kind of ours. */
                                                     .definitions = env->documents_ms == 0,
                                                     .changed = on_change,
                                                     .defined = on_defined,
                                                     .ctx = c});
    c->data = subject->new (c, &c->env);
    struct ek_runner_config runner = {
        .name = subject->name,
        .workers = subject->write_key ? 2 : 1,
        .queue = env->queue,
        .reconcile = reconcile,
        .ctx = c,
        .observer = env->observer,
    };
    c->runner = ek_runner_new(env->loop, &runner);
    return c;
}

static int start_watch(void *ctx, struct ek_err *err)
{
    struct ek_controller *c = ctx;
    (void)err;
    ek_watchset_start(c->watchset);
    if (c->subject->start)
        c->subject->start(c->data);
    return 0;
}

static bool watch_is_ready(void *ctx)
{
    const struct ek_controller *c = ctx;
    return c->subject->early || (ek_watchset_is_synced(c->watchset) &&
                                 (!c->subject->is_ready || c->subject->is_ready(c->data)));
}

void ek_controller_runnables(struct ek_controller *controller, struct ek_runnable *ret_watch,
                             struct ek_runnable *ret_runner)
{
    const struct ek_subject *s = controller->subject;

    *ret_watch = (struct ek_runnable){.name = s->part,
                                      .group = s->early ? EK_GROUP_WEBHOOKS : EK_GROUP_CACHES,
                                      .start = start_watch,
                                      .ready = watch_is_ready,
                                      .ctx = controller};
    ek_runner_runnable(controller->runner, ret_runner);
    if (s->early)
        ret_runner->group = EK_GROUP_WEBHOOKS;
    ek_runner_add(controller->runner, s->observe_key, 0);
}

static void on_part_closed(void *ctx)
{
    struct ek_controller *c = ctx;

    if (--c->n_closing > 0)
        return;
    if (c->on_closed)
        c->on_closed(c->closed_ctx);
    ek_free(c);
}

void ek_controller_close(struct ek_controller *controller, void (*on_closed)(void *ctx), void *ctx)
{
    struct ek_controller *c = controller;

    if (!c) {
        if (on_closed)
            on_closed(ctx);
        return;
    }
    struct ek_runner *runner = c->runner;
    c->on_closed = on_closed;
    c->closed_ctx = ctx;
    c->n_closing = 3;
    c->runner = NULL;
    ek_apply_cancel(c->w.apply);
    forget_intents(c);
    ek_watchset_close(c->watchset, on_part_closed, c);
    c->subject->close(c->data, on_part_closed, c);
    ek_runner_close(runner, on_part_closed, c);
}

/* ---- Looking ---- */

struct ek_prober *ek_controller_prober(const struct ek_controller *controller)
{
    return controller->subject->prober ? controller->subject->prober(controller->data) : NULL;
}

const char *ek_controller_debug_peer(const struct ek_controller *controller, const char *address,
                                     const struct ek_debug_doc *doc)
{
    const struct ek_subject *subject = controller->subject;
    return subject->debug_peer ? subject->debug_peer(controller->data, address, doc) : NULL;
}

size_t ek_controller_debug_unprobed(const struct ek_controller *controller,
                                    const struct ek_debug_doc *doc, yyjson_mut_val *list)
{
    const struct ek_subject *subject = controller->subject;
    return subject->debug_unprobed ? subject->debug_unprobed(controller->data, doc, list) : 0;
}

struct ek_watchset *ek_controller_watchset(const struct ek_controller *controller)
{
    return controller->watchset;
}

static struct ek_runner *row_runner(void *controller)
{
    const struct ek_controller *c = controller;
    return c->runner;
}

static void visit(void *arg, const char *name, struct ek_informer *informer)
{
    ek_registry_visit(arg, name, informer);
}

static void row_informers(void *controller, const struct ek_registry_visit *to)
{
    const struct ek_controller *c = controller;

    ek_watchset_each(c->watchset, visit, (void *)(uintptr_t)to);
    if (c->subject->informers)
        c->subject->informers(c->data, visit, (void *)(uintptr_t)to);
}

static void row_debug(const void *controller, const struct ek_debug_doc *doc)
{
    const struct ek_controller *c = controller;
    c->subject->debug(c->data, doc);
}

struct ek_controller_row ek_subject_registry_row(const struct ek_subject *subject)
{
    return (struct ek_controller_row){.name = subject->name,
                                      .kind = subject->kind,
                                      .workers = subject->write_key ? 2 : 1,
                                      .runner = row_runner,
                                      .each_informer = row_informers,
                                      .debug = subject->debug ? row_debug : NULL};
}
