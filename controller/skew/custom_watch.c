/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/custom_watch.h"

#include "api/base/mem.h"

enum { CRDS, API_SERVICES, N_ROWS };

struct ek_custom_watch {
    struct ek_custom_watch_config config;
    struct ek_watchset *set;
    struct ek_custom_groups *groups;
    const struct ek_exclusions *exclusions;
    bool dirty;     /* the store has changed since the exclusions were made */
    int64_t due_ms; /* when time changes them; INT64_MAX: never */
};

static void on_object(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    struct ek_custom_watch *watch = ctx;

    (void)change;
    (void)old;
    (void)obj;
    watch->dirty = true;
    if (!initial)
        watch->config.on_change(watch->config.ctx, true);
}

static const struct ek_watch_row rows[N_ROWS] = {
    [CRDS] = {.resource = {.group = "apiextensions.k8s.io",
                           .version = "v1",
                           .resource = "customresourcedefinitions",
                           .kind = "CustomResourceDefinition",
                           .metadata_only = true,
                           .optional = true},
              .seen = on_object},
    [API_SERVICES] = {.resource = {.group = "apiregistration.k8s.io",
                                   .version = "v1",
                                   .resource = "apiservices",
                                   .kind = "APIService",
                                   .optional = true},
                      .seen = on_object},
};

static void on_set(void *ctx)
{
    struct ek_custom_watch *watch = ctx;
    watch->config.on_change(watch->config.ctx, false);
}

struct ek_custom_watch *ek_custom_watch_new(const struct ek_custom_watch_config *config)
{
    struct ek_custom_watch *watch = ek_xalloc(sizeof *watch);

    watch->config = *config;
    watch->groups = ek_custom_groups_new();
    watch->dirty = true;
    watch->set = ek_watchset_new(&(struct ek_watchset_config){.loop = config->loop,
                                                              .client = config->client,
                                                              .rows = rows,
                                                              .n = N_ROWS,
                                                              .changed = on_set,
                                                              .ctx = watch});
    ek_watchset_set_seen(watch->set, watch);
    return watch;
}

static int start(void *ctx, struct ek_err *err)
{
    struct ek_custom_watch *watch = ctx;

    (void)err;
    ek_watchset_start(watch->set);
    return 0;
}

static bool is_ready(void *ctx)
{
    const struct ek_custom_watch *watch = ctx;
    return ek_watchset_is_synced(watch->set);
}

void ek_custom_watch_runnable(struct ek_custom_watch *watch, struct ek_runnable *ret_runnable)
{
    *ret_runnable = (struct ek_runnable){.name = "custom resource informers",
                                         .group = EK_GROUP_CACHES,
                                         .start = start,
                                         .ready = is_ready,
                                         .ctx = watch};
}

const struct ek_exclusions *ek_custom_watch_exclusions(struct ek_custom_watch *watch,
                                                       int64_t now_ms, int64_t *ret_again_ms)
{
    if (watch->dirty || now_ms >= watch->due_ms) {
        size_t n = 0;
        int64_t again_ms = 0;
        struct ek_obj **services =
            ek_store_snapshot(ek_watchset_store(watch->set, API_SERVICES), &n);
        watch->exclusions = ek_custom_groups_update(watch->groups, services, n, now_ms, &again_ms);
        watch->due_ms = again_ms ? now_ms + again_ms : INT64_MAX;
        watch->dirty = false;
        ek_snapshot_free(services, n);
    }
    *ret_again_ms = watch->due_ms == INT64_MAX ? 0 : watch->due_ms - now_ms;
    return watch->exclusions;
}

char *ek_custom_watch_problem(const struct ek_custom_watch *watch)
{
    bool blind = false;
    return ek_watchset_problem(watch->set, &blind);
}

static void on_closed(void *ctx)
{
    struct ek_custom_watch *watch = ctx;

    ek_custom_groups_free(watch->groups);
    ek_free(watch);
}

void ek_custom_watch_close(struct ek_custom_watch *watch)
{
    if (watch)
        ek_watchset_close(watch->set, on_closed, watch);
}
