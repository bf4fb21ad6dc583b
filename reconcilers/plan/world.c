/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/plan/world.h"

#include <inttypes.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/discovery.h"

/* Parts are few (EK_SKEW_TARGETS_MAX API servers, EK_SKEW_INSTANCES_MAX controllers, groups of
 * nodes); a digest has the longest text. */
#define ARENA_MAX  ((size_t)8 << 20)
#define DIGEST_MAX ((size_t)4 << 20)

static void put_versions(struct ek_buf *out, const struct ek_part_versions *at)
{
    char binary[EK_MINOR_SIZE], emulation[EK_MINOR_SIZE], min_compat[EK_MINOR_SIZE];

    ek_buf_printf(out, "%s %s %s\n", ek_minor_format(at->binary, binary),
                  ek_minor_format(at->emulation, emulation),
                  ek_minor_format(at->min_compat, min_compat));
}

/* Of discovery, the resources that a later version does not serve. */
static void put_served(struct ek_buf *out, const struct ek_plan_data *data,
                       const struct ek_discovery *served)
{
    for (size_t i = 0; served && i < data->n_resources; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (row->lifecycle && row->lifecycle->removed.known)
            ek_buf_puts(
                out, ek_discovery_has(served, row->group, row->version, row->resource) ? "1" : "0");
    }
    ek_buf_puts(out, served ? "\n" : "-\n");
}

/* What clients requested of an API server, and is deprecated. */
static void put_uses(struct ek_buf *out, const struct ek_probe *probe)
{
    for (size_t i = 0; probe && i < probe->n_uses; i++) {
        const struct ek_deprecated_use *use = &probe->uses[i];
        char removed[EK_MINOR_SIZE];
        ek_buf_printf(out, "%s %s %s %s\n", use->group, use->version, use->resource,
                      ek_minor_format(use->removed, removed));
    }
}

static void put_flags(struct ek_buf *out, const struct ek_pod_api_flags *flags)
{
    ek_buf_printf(out, "%s %d %d %d %d %d\n", flags->runtime_config ? flags->runtime_config : "",
                  flags->forward, flags->runtime_forward, flags->no_fairness,
                  flags->no_mutating_policies, flags->authorizes_nodes);
}

static char *digest(const struct ek_plan_world *world)
{
    const struct ek_plan_cluster *c = &world->cluster;
    const struct ek_skew_policy *p = &world->policy;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, DIGEST_MAX);
    ek_buf_printf(&out, "%d %d %d %d %x\n", c->complete, p->max_apiserver_skew,
                  p->max_controller_skew, p->max_kubelet_skew, p->ignored);
    for (size_t i = 0; i < c->n; i++) {
        ek_buf_printf(&out, "%d %zu %" PRIx64 " %s\n%s\n", c->parts[i].component, c->parts[i].count,
                      c->parts[i].nodes, c->parts[i].name, c->instances[i].gates);
        put_flags(&out, &c->instances[i].apis);
        put_versions(&out, &c->parts[i].at);
        put_served(&out, world->data, c->instances[i].served);
        put_uses(&out, c->instances[i].probe);
    }
    for (size_t i = 0; i < world->report.n; i++)
        ek_buf_printf(&out, "%d %s %s\n", world->report.list[i].severity,
                      world->report.list[i].source, world->report.list[i].message);
    return out.failed ? NULL : ek_xstrdup(ek_buf_str(&out));
}

struct ek_plan_world *ek_plan_world_new(const struct ek_skew_facts *facts,
                                        const struct ek_skew_spec *spec,
                                        const struct ek_plan_data *data)
{
    struct ek_plan_world *world = ek_xalloc(sizeof *world);

    *world = (struct ek_plan_world){.data = data,
                                    .report = {.arena = ek_arena_new(ARENA_MAX)},
                                    .policy = spec->policy,
                                    .probes =
                                        ek_xalloc((facts->n_peers + 1) * sizeof(struct ek_probe *)),
                                    .n_probes = facts->n_peers};
    for (size_t i = 0; i < facts->n_peers; i++)
        world->probes[i] = ek_probe_ref(facts->peers[i].probe);
    ek_plan_cluster_read(facts, spec, data, &world->report, &world->cluster);
    world->digest = digest(world);
    return world;
}

void ek_plan_world_free(struct ek_plan_world *world)
{
    if (!world)
        return;
    for (size_t i = 0; i < world->n_probes; i++)
        ek_probe_unref(world->probes[i]);
    ek_free(world->probes);
    ek_free(world->digest);
    ek_arena_free(world->report.arena);
    ek_free(world);
}

bool ek_plan_world_equal(const struct ek_plan_world *a, const struct ek_plan_world *b)
{
    return a && a->digest && b->digest && !strcmp(a->digest, b->digest);
}

bool ek_plan_world_is_too_large(const struct ek_plan_world *world)
{
    return !world->digest || ek_arena_exhausted(world->report.arena);
}
