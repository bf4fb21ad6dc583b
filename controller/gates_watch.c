/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_watch.h"

#include <stdlib.h>

#include "api/mem.h"
#include "reconcilers/fieldgates/registration.h"

#define ADMISSION "admissionregistration.k8s.io"

/* What is read of the cluster; deploy/rbac/gates.yaml grants exactly this. */
static const struct ek_resource resources[EK_GATES_RESOURCES] = {
    [EK_GATES_OBJECTS] = {.group = "evenkeel.dev",
                          .version = "v1alpha1",
                          .resource = "customfeaturegates",
                          .kind = "CustomFeatureGates",
                          .optional = true},
    [EK_GATES_CRDS] = {.group = "apiextensions.k8s.io",
                       .version = "v1",
                       .resource = "customresourcedefinitions",
                       .kind = "CustomResourceDefinition",
                       .metadata_only = true},
    [EK_GATES_MUTATING] = {.group = ADMISSION,
                           .version = "v1",
                           .resource = "mutatingwebhookconfigurations",
                           .kind = "MutatingWebhookConfiguration",
                           .field_selector = "metadata.name=" EK_GATES_MUTATING_NAME},
    [EK_GATES_VALIDATING] = {.group = ADMISSION,
                             .version = "v1",
                             .resource = "validatingwebhookconfigurations",
                             .kind = "ValidatingWebhookConfiguration",
                             .field_selector = "metadata.name=" EK_GATES_VALIDATING_NAME},
    [EK_GATES_NAMESPACE] = {.group = "",
                            .version = "v1",
                            .resource = "namespaces",
                            .kind = "Namespace"},
    [EK_GATES_IMPORTS] = {.group = "",
                          .version = "v1",
                          .resource = "configmaps",
                          .kind = "ConfigMap",
                          .field_selector = "metadata.name=" EK_GATES_IMPORTS_NAME},
};

/* A CRD of which the whole is wanted. */
struct followed {
    char *name;
    struct ek_informer *informer;
};

struct ek_gates_watch {
    uv_loop_t *loop;
    struct ek_client *client;
    struct followed *followed; /* by name */
    size_t n_followed;
    bool started;
    void (*changed)(void *ctx);
    void *ctx;
    char *namespace, *namespace_selector;
    struct ek_resource resources[EK_GATES_RESOURCES];
    struct ek_informer *informers[EK_GATES_RESOURCES];
    bool closing;
    int n_stopping;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static void on_informer(void *ctx)
{
    struct ek_gates_watch *watch = ctx;
    if (!watch->closing)
        watch->changed(watch->ctx);
}

static void on_change(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    on_informer(ctx);
}

static struct ek_informer *new_informer(struct ek_gates_watch *watch,
                                        const struct ek_resource *resource)
{
    struct ek_informer *informer = ek_informer_new(watch->loop, watch->client, resource);

    ek_store_add_handler(ek_informer_store(informer), on_change, watch);
    ek_informer_set_observer(informer, on_informer, watch);
    return informer;
}

struct ek_gates_watch *ek_gates_watch_new(uv_loop_t *loop, struct ek_client *client,
                                          const char *own_namespace, void (*changed)(void *ctx),
                                          void *ctx)
{
    struct ek_gates_watch *watch = ek_xalloc(sizeof *watch);
    bool known = own_namespace && *own_namespace;

    watch->loop = loop;
    watch->client = client;
    watch->changed = changed;
    watch->ctx = ctx;
    memcpy(watch->resources, resources, sizeof resources);
    if (known) {
        watch->namespace = ek_xstrdup(own_namespace);
        watch->namespace_selector = ek_xasprintf("metadata.name=%s", own_namespace);
        watch->resources[EK_GATES_NAMESPACE].field_selector = watch->namespace_selector;
        watch->resources[EK_GATES_IMPORTS].namespace = watch->namespace;
    }
    for (int r = 0; r < EK_GATES_RESOURCES; r++) {
        if (!known && (r == EK_GATES_NAMESPACE || r == EK_GATES_IMPORTS))
            continue;
        watch->informers[r] = new_informer(watch, &watch->resources[r]);
    }
    return watch;
}

void ek_gates_watch_start(struct ek_gates_watch *watch)
{
    watch->started = true;
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        if (watch->informers[r])
            ek_informer_start(watch->informers[r]);
    for (size_t i = 0; i < watch->n_followed; i++)
        ek_informer_start(watch->followed[i].informer);
}

/* ---- CRDs that are followed ---- */

static void drop(struct followed *f)
{
    ek_informer_free(f->informer);
    ek_free(f->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct followed *)a)->name, ((const struct followed *)b)->name);
}

static struct followed *find(const struct ek_gates_watch *watch, const char *name)
{
    const struct followed key = {.name = (char *)(uintptr_t)name};
    return watch->n_followed
               ? bsearch(&key, watch->followed, watch->n_followed, sizeof *watch->followed, by_name)
               : NULL;
}

static struct followed follow(struct ek_gates_watch *watch, const char *name)
{
    EK_AUTOFREE char *selector = ek_xasprintf("metadata.name=%s", name);
    struct ek_resource resource = resources[EK_GATES_CRDS];
    struct followed f = {.name = ek_xstrdup(name)};

    resource.metadata_only = false;
    resource.field_selector = selector;
    f.informer = new_informer(watch, &resource);
    if (watch->started)
        ek_informer_start(f.informer);
    return f;
}

void ek_gates_watch_follow(struct ek_gates_watch *watch, const char *const *names, size_t n)
{
    struct followed *next = ek_xalloc((n + 1) * sizeof *next);

    for (size_t i = 0; i < n; i++) {
        struct followed *known = find(watch, names[i]);
        next[i] = known ? (struct followed){ek_xstrdup(known->name), known->informer}
                        : follow(watch, names[i]);
        if (known)
            known->informer = NULL;
    }
    for (size_t i = 0; i < watch->n_followed; i++)
        drop(&watch->followed[i]);
    ek_free(watch->followed);
    qsort(next, n, sizeof *next, by_name);
    watch->followed = next;
    watch->n_followed = n;
}

const struct ek_obj *ek_gates_watch_crd(const struct ek_gates_watch *watch, const char *name)
{
    const struct followed *f = find(watch, name);
    return f ? ek_store_get(ek_informer_store(f->informer), name) : NULL;
}

struct ek_informer *ek_gates_watch_followed(const struct ek_gates_watch *watch, size_t i,
                                            const char **ret_name)
{
    if (i >= watch->n_followed)
        return NULL;
    *ret_name = watch->followed[i].name;
    return watch->followed[i].informer;
}

/* ---- Ending ---- */

static void on_stopped(void *ctx)
{
    struct ek_gates_watch *watch = ctx;

    if (--watch->n_stopping > 0)
        return;
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        ek_informer_free(watch->informers[r]);
    for (size_t i = 0; i < watch->n_followed; i++)
        drop(&watch->followed[i]);
    ek_free(watch->followed);
    if (watch->on_closed)
        watch->on_closed(watch->closed_ctx);
    ek_free(watch->namespace);
    ek_free(watch->namespace_selector);
    ek_free(watch);
}

void ek_gates_watch_close(struct ek_gates_watch *watch, void (*on_closed)(void *ctx), void *ctx)
{
    watch->on_closed = on_closed;
    watch->closed_ctx = ctx;
    watch->closing = true;
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        watch->n_stopping += watch->informers[r] != NULL;
    watch->n_stopping += (int)watch->n_followed;
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        if (watch->informers[r])
            ek_informer_stop(watch->informers[r], on_stopped, watch);
    for (size_t i = 0; i < watch->n_followed; i++)
        ek_informer_stop(watch->followed[i].informer, on_stopped, watch);
}

/* ---- Reading ---- */

/* What is not permitted stays so until someone acts: waiting for it helps nobody. */
static bool is_settled(const struct ek_informer *informer)
{
    struct ek_informer_status status;

    ek_informer_status(informer, &status);
    return status.synced || status.last_error_code == EK_E_FORBIDDEN;
}

bool ek_gates_watch_is_settled(const struct ek_gates_watch *watch)
{
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        if (watch->informers[r] && !is_settled(watch->informers[r]))
            return false;
    for (size_t i = 0; i < watch->n_followed; i++)
        if (!is_settled(watch->followed[i].informer))
            return false;
    return true;
}

char *ek_gates_watch_problem(const struct ek_gates_watch *watch, bool *ret_blind)
{
    struct ek_informer_status status;
    char *problem = NULL;

    *ret_blind = false;
    for (int r = 0; r < EK_GATES_RESOURCES; r++) {
        const struct ek_resource *what = &watch->resources[r];
        if (!watch->informers[r])
            continue;
        ek_informer_status(watch->informers[r], &status);
        *ret_blind =
            *ret_blind || (!status.synced && (r == EK_GATES_OBJECTS || r == EK_GATES_CRDS));
        if (status.last_error_code == EK_E_FORBIDDEN && !problem)
            problem = ek_xasprintf("%s%s%s could not be read: forbidden: grant list and watch",
                                   what->resource, *what->group ? "." : "", what->group);
    }
    return problem;
}

bool ek_gates_watch_is_served(const struct ek_gates_watch *watch)
{
    struct ek_informer_status status;

    ek_informer_status(watch->informers[EK_GATES_OBJECTS], &status);
    return status.synced && status.served;
}

const struct ek_store *ek_gates_watch_store(const struct ek_gates_watch *watch,
                                            enum ek_gates_resource resource)
{
    return watch->informers[resource] ? ek_informer_store(watch->informers[resource]) : NULL;
}

struct ek_informer *ek_gates_watch_informer(const struct ek_gates_watch *watch,
                                            enum ek_gates_resource resource)
{
    return watch->informers[resource];
}

const struct ek_resource *ek_gates_watch_resource(const struct ek_gates_watch *watch,
                                                  enum ek_gates_resource resource)
{
    return &watch->resources[resource];
}

const struct ek_obj *ek_gates_watch_only(const struct ek_gates_watch *watch,
                                         enum ek_gates_resource resource)
{
    const struct ek_store *store = ek_gates_watch_store(watch, resource);
    EK_AUTOFREE char *import =
        ek_xasprintf("%s/" EK_GATES_IMPORTS_NAME, watch->namespace ? watch->namespace : "");
    const char *const names[EK_GATES_RESOURCES] = {
        [EK_GATES_MUTATING] = EK_GATES_MUTATING_NAME,
        [EK_GATES_VALIDATING] = EK_GATES_VALIDATING_NAME,
        [EK_GATES_NAMESPACE] = watch->namespace,
        [EK_GATES_IMPORTS] = import,
    };

    return store && names[resource] ? ek_store_get(store, names[resource]) : NULL;
}
