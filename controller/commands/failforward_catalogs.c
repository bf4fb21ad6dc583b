/* SPDX-License-Identifier: Apache-2.0 */
/* The upgrade graphs for `evenkeel failforward --registries`, read where OLM reads them. */
#include "controller/commands/failforward-internal.h"
#include "controller/failforward/wants.h"
#include "informers/clock.h"

static void on_changed(void *ctx, const char *source)
{
    (void)source;
    uv_stop(ctx); /* in a timer, the loop would wait for the next event first */
}

void ek_ffc_read_registries(struct ek_ffc_inputs *in)
{
    const struct ek_ffc_list *sources = &in->lists[EK_FFC_CATALOGS];
    const struct ek_ffc_list *subs = &in->lists[EK_FFC_SUBSCRIPTIONS];
    const struct ek_ff_objs all_sources = {sources->items, sources->n};
    const struct ek_ff_objs all_subs = {subs->items, subs->n};

    uv_loop_init(&in->loop);
    in->catalogs = ek_ff_catalogs_new(&in->loop, ek_wall_ms, on_changed, &in->loop);
    ek_ff_catalogs_follow(in->catalogs, &all_sources, &all_subs);
    while (ek_ff_catalogs_is_busy(in->catalogs)) {
        uv_run(&in->loop, UV_RUN_ONCE);
        ek_ff_catalogs_follow(in->catalogs, &all_sources, &all_subs);
    }
}

void ek_ffc_registries_done(struct ek_ffc_inputs *in)
{
    if (!in->catalogs)
        return;
    ek_ff_catalogs_close(in->catalogs, NULL, NULL);
    uv_run(&in->loop, UV_RUN_DEFAULT);
    uv_loop_close(&in->loop);
    in->catalogs = NULL;
}

struct ek_ff_catalog ek_ffc_catalog_of(const struct ek_ffc_inputs *in, const struct ek_obj *sub)
{
    struct ek_ff_catalog catalog = {
        .graph = in->graph, .changed_ms = in->graph_ms, .known_ms = in->graph_ms, .error = ""};

    if (!in->graph && in->catalogs) {
        ek_ff_catalogs_of(in->catalogs, sub, &catalog);
        catalog.known_ms = 0; /* one read does not say since when a catalog has its content */
    }
    return catalog;
}
