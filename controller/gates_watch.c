/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_watch.h"

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
                       .kind = "CustomResourceDefinition"},
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

struct ek_gates_watch {
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

struct ek_gates_watch *ek_gates_watch_new(uv_loop_t *loop, struct ek_client *client,
                                          const char *own_namespace, void (*changed)(void *ctx),
                                          void *ctx)
{
    struct ek_gates_watch *watch = ek_xalloc(sizeof *watch);
    bool known = own_namespace && *own_namespace;

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
        watch->informers[r] = ek_informer_new(loop, client, &watch->resources[r]);
        ek_store_add_handler(ek_informer_store(watch->informers[r]), on_change, watch);
        ek_informer_set_observer(watch->informers[r], on_informer, watch);
    }
    return watch;
}

void ek_gates_watch_start(struct ek_gates_watch *watch)
{
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        if (watch->informers[r])
            ek_informer_start(watch->informers[r]);
}

static void on_stopped(void *ctx)
{
    struct ek_gates_watch *watch = ctx;

    if (--watch->n_stopping > 0)
        return;
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        ek_informer_free(watch->informers[r]);
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
    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        if (watch->informers[r])
            ek_informer_stop(watch->informers[r], on_stopped, watch);
}

/* ---- Reading ---- */

bool ek_gates_watch_is_settled(const struct ek_gates_watch *watch)
{
    struct ek_informer_status status;

    for (int r = 0; r < EK_GATES_RESOURCES; r++) {
        if (!watch->informers[r])
            continue;
        ek_informer_status(watch->informers[r], &status);
        /* What is not permitted stays so until someone acts: waiting for it helps nobody. */
        if (!status.synced && status.last_error_code != EK_E_FORBIDDEN)
            return false;
    }
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
    const char *names[EK_GATES_RESOURCES] = {
        [EK_GATES_MUTATING] = EK_GATES_MUTATING_NAME,
        [EK_GATES_VALIDATING] = EK_GATES_VALIDATING_NAME,
        [EK_GATES_NAMESPACE] = watch->namespace,
    };
    EK_AUTOFREE char *import = NULL;
    const char *key = names[resource];

    if (resource == EK_GATES_IMPORTS && watch->namespace)
        key = import = ek_xasprintf("%s/" EK_GATES_IMPORTS_NAME, watch->namespace);
    return store && key ? ek_store_get(store, key) : NULL;
}
