/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_names.h"

#include "reconcilers/proxy/identity_names.h"

struct ek_proxy_names {
    struct ek_watchset *set;
    struct ek_proxy_board *board;
    struct ek_log *log;
};

static void on_config_map(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                          const struct ek_obj *obj, bool initial)
{
    const struct ek_proxy_names *names = ctx;
    struct ek_err err = {0};

    (void)change;
    (void)old;
    (void)initial;
    if (!obj)
        return;
    struct ek_identity_names *read = ek_identity_names_read(obj, &err);
    if (!read)
        ek_log_error(names->log, &err, "Refusing client certificates");
    ek_proxy_board_set_names(names->board, read);
}

static const struct ek_watch_row row = {
    .resource = {.group = "",
                 .version = "v1",
                 .resource = "configmaps",
                 .kind = "ConfigMap",
                 .namespace = "kube-system",
                 .field_selector = "metadata.name=" EK_IDENTITY_CONFIG_MAP},
    .seen = on_config_map};

static void on_set(void *ctx)
{
    const struct ek_proxy_names *names = ctx;
    bool blind = false;
    EK_AUTOFREE char *problem = ek_watchset_problem(names->set, &blind);

    if (problem)
        ek_log_info_limited(
            names->log, 1, 60000,
            "Refusing client certificates until the ConfigMap kube-system/" EK_IDENTITY_CONFIG_MAP
            " can be read",
            EK_S("reason", problem));
}

struct ek_proxy_names *ek_proxy_names_new(uv_loop_t *loop, struct ek_client *client,
                                          struct ek_proxy_board *board, struct ek_log *log)
{
    struct ek_proxy_names *names = ek_xalloc(sizeof *names);

    names->board = board;
    names->log = log;
    names->set = ek_watchset_new(&(struct ek_watchset_config){
        .loop = loop, .client = client, .rows = &row, .n = 1, .changed = on_set, .ctx = names});
    ek_watchset_set_seen(names->set, names);
    return names;
}

static int start(void *ctx, struct ek_err *err)
{
    const struct ek_proxy_names *names = ctx;

    (void)err;
    ek_watchset_start(names->set);
    return 0;
}

static bool is_ready(void *ctx)
{
    const struct ek_proxy_names *names = ctx;
    return ek_watchset_is_synced(names->set);
}

void ek_proxy_names_runnable(struct ek_proxy_names *names, struct ek_runnable *ret_runnable)
{
    *ret_runnable = (struct ek_runnable){.name = "identity header informer",
                                         .group = EK_GROUP_CACHES,
                                         .start = start,
                                         .ready = is_ready,
                                         .ctx = names};
}

static void on_closed(void *ctx)
{
    ek_free(ctx);
}

void ek_proxy_names_close(struct ek_proxy_names *names)
{
    if (names)
        ek_watchset_close(names->set, on_closed, names);
}
