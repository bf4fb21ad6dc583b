/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controllers of a process as metrics and debugging see them, all in the same way: each
 * has a name, maybe a runner, and informers that come and go. A table of rows holds the accessors;
 * a further controller is a further row (controller/run/controllers.c).
 *
 * It keeps nothing but the metrics: runners and informers are read each time, because what a
 * controller watches follows what users write. Series of an informer that is gone go, too.
 *
 * Order: the registry is made first, for the controllers' configurations take observer and queue
 * from it; each controller is reported once it exists. Ownership: rows and controllers are
 * borrowed. Threading: the loop thread.
 */
#ifndef CONTROLLER_MANAGER_REGISTRY_H
#define CONTROLLER_MANAGER_REGISTRY_H

#include "controller/manager/runner_metrics.h"
#include "informers/cache/informer.h"

#define EK_REGISTRY_ROWS_MAX 16

struct ek_registry;
struct ek_debug_doc; /* controller/telemetry/section.h */

/* Called for one informer: controller is the row's name; name identifies it within one controller,
 * "nodes". Both are borrowed for the call. */
typedef void ek_registry_informer_fn(void *arg, const char *controller, const char *name,
                                     struct ek_informer *informer);
typedef void ek_registry_runner_fn(void *arg, const char *controller, struct ek_runner *runner);

/* For each_informer of a row: hands one on. */
struct ek_registry_visit;
void ek_registry_visit(const struct ek_registry_visit *visit, const char *name,
                       struct ek_informer *informer);

/* How one controller is looked at. */
struct ek_controller_row {
    const char *name;                              /* of its metrics: "controlplane" */
    const char *kind;                              /* that it reconciles, for the log */
    unsigned workers;                              /* runs at once */
    struct ek_runner *(*runner)(void *controller); /* NULL: it has none */
    /* Calls ek_registry_visit for each informer that there is now. */
    void (*each_informer)(void *controller, const struct ek_registry_visit *visit);
    /* Adds the members of its section of `evenkeel debug`. NULL: it has none. */
    void (*debug)(const void *controller, const struct ek_debug_doc *doc);
};

/* Called for one controller with a section; the callee calls row->debug(controller, ...). */
typedef void ek_registry_section_fn(void *arg, const struct ek_controller_row *row,
                                    const void *controller);

/* Makes the runners' series in standard, which must outlive the registry's last exposition. n is at
 * most EK_REGISTRY_ROWS_MAX. */
struct ek_registry *ek_registry_new(const struct ek_controller_row *rows, size_t n,
                                    struct ek_standard_metrics *standard, struct ek_log *log);
void ek_registry_free(struct ek_registry *registry);

/* For the configuration of the row-th controller's runner; both live as long as the registry. */
struct ek_runner_observer ek_registry_observer(struct ek_registry *registry, size_t row);
const struct ek_queue_config *ek_registry_queue(struct ek_registry *registry, size_t row);

/* Sets what is read on demand, before an exposition. */
void ek_registry_collect(struct ek_registry *registry);

/* The row-th controller exists from now on; NULL: it does not any more. */
void ek_registry_set(struct ek_registry *registry, size_t row, void *controller);

/* Call fn for each runner or informer, in the order of the rows. */
void ek_registry_each_runner(const struct ek_registry *registry, ek_registry_runner_fn *fn,
                             void *arg);
void ek_registry_each_informer(const struct ek_registry *registry, ek_registry_informer_fn *fn,
                               void *arg);

/* Calls fn for every controller whose row has a section for debugging. */
void ek_registry_each_section(const struct ek_registry *registry, ek_registry_section_fn *fn,
                              void *arg);

#endif
