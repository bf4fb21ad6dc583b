/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/registry.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"

#define NAME_SIZE 192

/* The labels of one informer's series. */
struct series {
    char *labels[4]; /* name, group, version, resource */
    bool seen;       /* in the exposition that is being made */
};

struct ek_registry {
    const struct ek_controller_row *rows;
    size_t n_rows;
    struct ek_standard_metrics *standard;
    void *controllers[EK_REGISTRY_ROWS_MAX];
    struct ek_runner_metrics metrics[EK_REGISTRY_ROWS_MAX];
    struct series *series;
    size_t n_series, series_size;
};

/* --- looking ------------------------------------------------------------------------------ */

struct ek_registry_visit {
    ek_registry_informer_fn *fn;
    void *arg;
    const char *controller;
};

void ek_registry_visit(const struct ek_registry_visit *visit, const char *name,
                       struct ek_informer *informer)
{
    if (informer)
        visit->fn(visit->arg, visit->controller, name, informer);
}

void ek_registry_each_informer(const struct ek_registry *registry, ek_registry_informer_fn *fn,
                               void *arg)
{
    for (size_t i = 0; i < registry->n_rows; i++) {
        const struct ek_registry_visit visit = {fn, arg, registry->rows[i].name};
        if (registry->controllers[i] && registry->rows[i].each_informer)
            registry->rows[i].each_informer(registry->controllers[i], &visit);
    }
}

static struct ek_runner *runner_at(const struct ek_registry *registry, size_t i)
{
    return registry->controllers[i] && registry->rows[i].runner
               ? registry->rows[i].runner(registry->controllers[i])
               : NULL;
}

void ek_registry_each_runner(const struct ek_registry *registry, ek_registry_runner_fn *fn,
                             void *arg)
{
    for (size_t i = 0; i < registry->n_rows; i++) {
        struct ek_runner *runner = runner_at(registry, i);
        if (runner)
            fn(arg, registry->rows[i].name, runner);
    }
}

void ek_registry_each_section(const struct ek_registry *registry, ek_registry_section_fn *fn,
                              void *arg)
{
    for (size_t i = 0; i < registry->n_rows; i++)
        if (registry->controllers[i] && registry->rows[i].debug)
            fn(arg, &registry->rows[i], registry->controllers[i]);
}

/* --- metrics ------------------------------------------------------------------------------ */

static bool is_of(const struct series *series, const char *const *labels)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(series->labels); i++)
        if (strcmp(series->labels[i], labels[i]) != 0)
            return false;
    return true;
}

static void remember(struct ek_registry *registry, const char *const *labels)
{
    for (size_t i = 0; i < registry->n_series; i++) {
        if (is_of(&registry->series[i], labels)) {
            registry->series[i].seen = true;
            return;
        }
    }
    if (registry->n_series == registry->series_size) {
        registry->series_size = registry->series_size ? 2 * registry->series_size : 16;
        registry->series =
            ek_xrealloc(registry->series, registry->series_size, sizeof *registry->series);
    }
    struct series *series = &registry->series[registry->n_series++];
    series->seen = true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(series->labels); i++)
        series->labels[i] = ek_xstrdup(labels[i]);
}

static void collect_informer(void *arg, const char *controller, const char *name,
                             struct ek_informer *informer)
{
    struct ek_registry *registry = arg;
    const struct ek_resource *resource = ek_informer_resource(informer);
    char full[NAME_SIZE];

    snprintf(full, sizeof full, "%s-%s", controller, name);
    const char *const labels[] = {full, resource->group, resource->version, resource->resource};
    remember(registry, labels);
    ek_informer_metrics_store(registry->standard, labels,
                              ek_store_resource_version(ek_informer_store(informer)));
}

static void series_done(struct series *series)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(series->labels); i++)
        ek_free(series->labels[i]);
}

/* Those of informers that are gone would show their last values for ever. */
static void drop_unseen(struct ek_registry *registry)
{
    size_t kept = 0;

    for (size_t i = 0; i < registry->n_series; i++) {
        struct series *series = &registry->series[i];
        if (series->seen) {
            registry->series[kept++] = *series;
            continue;
        }
        ek_informer_metrics_remove(registry->standard, (const char *const *)series->labels);
        series_done(series);
    }
    registry->n_series = kept;
}

void ek_registry_collect(struct ek_registry *registry)
{
    for (size_t i = 0; i < registry->n_rows; i++) {
        struct ek_runner *runner = runner_at(registry, i);
        if (runner)
            ek_runner_metrics_collect(&registry->metrics[i], runner);
    }
    for (size_t i = 0; i < registry->n_series; i++)
        registry->series[i].seen = false;
    ek_registry_each_informer(registry, collect_informer, registry);
    drop_unseen(registry);
}

/* --- the whole ---------------------------------------------------------------------------- */

struct ek_runner_observer ek_registry_observer(struct ek_registry *registry, size_t row)
{
    return ek_runner_metrics_observer(&registry->metrics[row]);
}

const struct ek_queue_config *ek_registry_queue(struct ek_registry *registry, size_t row)
{
    return &registry->metrics[row].queue;
}

void ek_registry_set(struct ek_registry *registry, size_t row, void *controller)
{
    registry->controllers[row] = controller;
}

struct ek_registry *ek_registry_new(const struct ek_controller_row *rows, size_t n,
                                    struct ek_standard_metrics *standard, struct ek_log *log)
{
    struct ek_registry *registry = ek_xalloc(sizeof *registry);

    registry->rows = rows;
    registry->n_rows = n < EK_REGISTRY_ROWS_MAX ? n : EK_REGISTRY_ROWS_MAX;
    registry->standard = standard;
    for (size_t i = 0; i < registry->n_rows; i++)
        if (rows[i].runner)
            ek_runner_metrics_init(&registry->metrics[i], standard, log, rows[i].name, rows[i].kind,
                                   rows[i].workers);
    return registry;
}

void ek_registry_free(struct ek_registry *registry)
{
    if (!registry)
        return;
    for (size_t i = 0; i < registry->n_series; i++)
        series_done(&registry->series[i]);
    ek_free(registry->series);
    ek_free(registry);
}
