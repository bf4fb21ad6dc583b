/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/metrics.h"

#include "api/base/mem.h"
#include "reconcilers/failforward/memory.h"

#define GROUP      "failforward"
#define SERIES_MAX 5000

void ek_ff_metrics_start(struct ek_ff_metrics *metrics, struct ek_metrics *all)
{
    static const double buckets[] = {10, 30, 60, 300, 900, 3600, 21600, 86400};

    *metrics = (struct ek_ff_metrics){.all = all};
    if (!all)
        return;
    ek_metrics_register(
        all, &(struct ek_metric_desc){
                 .name = "evenkeel_failforward_failing",
                 .help = "1 for each Subscription with consent whose operator fails, by class.",
                 .type = EK_METRIC_GAUGE,
                 .labels = {"subscription_namespace", "subscription", "class"},
                 .max_series = SERIES_MAX,
                 .snapshot = GROUP});
    ek_metrics_register(
        all, &(struct ek_metric_desc){
                 .name = "evenkeel_failforward_blocked",
                 .help = "1 for each Subscription with consent whose next step is blocked.",
                 .type = EK_METRIC_GAUGE,
                 .labels = {"subscription_namespace", "subscription", "reason"},
                 .max_series = SERIES_MAX,
                 .snapshot = GROUP});
    ek_metrics_register(
        all, &(struct ek_metric_desc){
                 .name = "evenkeel_failforward_namespaces_not_judged",
                 .help = "Number of namespaces that are not judged: too many objects of OLM.",
                 .type = EK_METRIC_GAUGE,
                 .snapshot = GROUP});
    metrics->actions = ek_metrics_register(
        all, &(struct ek_metric_desc){.name = "evenkeel_failforward_actions_total",
                                      .help = "Number of writes of steps, by result.",
                                      .type = EK_METRIC_COUNTER,
                                      .labels = {"action", "result"}});
    metrics->recovery = ek_metrics_register(
        all, &(struct ek_metric_desc){.name = "evenkeel_failforward_recovery_seconds",
                                      .help = "Time from a failure until the operator was healthy.",
                                      .type = EK_METRIC_HISTOGRAM,
                                      .buckets = buckets,
                                      .n_buckets = EK_ARRAY_SIZE(buckets)});
}

static size_t add_samples(const struct ek_ff_space *space, struct ek_metric_sample *samples)
{
    size_t n = 0;

    for (size_t i = 0; i < space->n_briefs; i++) {
        const struct ek_ff_brief *b = &space->briefs[i];
        if (b->mode == EK_FF_OFF)
            continue;
        if (b->class != EK_FF_HEALTHY)
            samples[n++] =
                (struct ek_metric_sample){.name = "evenkeel_failforward_failing",
                                          .labels = {{"subscription_namespace", space->name},
                                                     {"subscription", b->name},
                                                     {"class", ek_ff_class_name(b->class)}},
                                          .value = 1};
        if (b->blocked)
            samples[n++] =
                (struct ek_metric_sample){.name = "evenkeel_failforward_blocked",
                                          .labels = {{"subscription_namespace", space->name},
                                                     {"subscription", b->name},
                                                     {"reason", ek_ff_blocked_name(b->blocked)}},
                                          .value = 1};
    }
    return n;
}

void ek_ff_metrics_show(const struct ek_ff_metrics *metrics, const struct ek_ff_spaces *spaces)
{
    size_t room = 1, n = 0, n_large = 0; /* 1: the namespaces that are not judged */

    if (!metrics->all)
        return;
    for (size_t i = 0; i < spaces->n; i++)
        room += 2 * spaces->items[i]->n_briefs;
    EK_AUTOFREE struct ek_metric_sample *samples = ek_xalloc(room * sizeof *samples);
    for (size_t i = 0; i < spaces->n; i++) {
        n += add_samples(spaces->items[i], samples + n);
        n_large += spaces->items[i]->is_large;
    }
    samples[n++] = (struct ek_metric_sample){.name = "evenkeel_failforward_namespaces_not_judged",
                                             .value = (double)n_large};
    ek_metrics_replace(metrics->all, GROUP, samples, n);
}

void ek_ff_metrics_wrote(const struct ek_ff_metrics *metrics, enum ek_ff_act act,
                         enum ek_apply_class result)
{
    static const char *const results[EK_APPLY_CLASS_MAX] = {
        [EK_APPLY_DONE] = "done",     [EK_APPLY_CONFLICT] = "conflict",
        [EK_APPLY_ABSENT] = "absent", [EK_APPLY_LATER] = "failed",
        [EK_APPLY_DENIED] = "denied", [EK_APPLY_TERMINAL] = "refused",
    };

    if (metrics->actions)
        ek_metric_add(ek_metric_with(metrics->actions, ek_ff_act_name(act), results[result], NULL),
                      1);
}

void ek_ff_metrics_recovered(const struct ek_ff_metrics *metrics, int64_t ms)
{
    if (metrics->recovery && ms > 0)
        ek_metric_observe(ek_metric_with(metrics->recovery, NULL), (double)ms / 1000);
}
