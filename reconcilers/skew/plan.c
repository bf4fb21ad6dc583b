/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: from a view to what is to be published, by way of facts, verdicts and conditions. */
#include "reconcilers/skew/plan.h"

#include <string.h>

#include "reconcilers/skew/conditions.h"
#include "reconcilers/skew/events.h"
#include "reconcilers/skew/metrics.h"
#include "reconcilers/skew/remember.h"
#include "reconcilers/skew/status.h"

/* Ages in metrics and the freshness of leases are looked at at least this often. */
#define REQUEUE_MAX_MS 30000
/* While the first round of probes is under way. */
#define REQUEUE_PROBING_MS 1000
/* A lease that is not renewed for this long is stale, and so its holder (facts.h, lease_stale). */
#define LEASE_STALE_MS 60000
/* leaseDurationSeconds of leader election by default: an expired holder leads no more. */
#define ELECTION_STALE_MS 15000

#define EXIT_SUPPORTED  0
#define EXIT_VIOLATIONS 2
#define EXIT_UNKNOWN    3

/* A new object may wait this long for its first status to be a whole one. */
#define FIRST_STATUS_MS 10000

static bool is_young(const struct ek_skew_report *r)
{
    const struct ek_obj *object = r->view->control_plane;
    int64_t made =
        object
            ? ek_time_parse(ek_json_str(ek_obj_root(object), "metadata", "creationTimestamp", NULL))
            : EK_TIME_UNSET;
    return made != EK_TIME_UNSET && r->view->now_ms - made < FIRST_STATUS_MS &&
           made - r->view->now_ms < FIRST_STATUS_MS;
}

/* True when a half-probed view should not be published: after a restart everything would be
 * unknown for a moment, and each condition would flip twice. */
static bool wait_for_probes(const struct ek_skew_report *r)
{
    return !r->view->probing_done &&
           (ek_json_get(r->old_status, "conditions", NULL) != NULL || is_young(r));
}

static bool differs(const struct ek_skew_plan *plan, yyjson_val *old)
{
    yyjson_doc *now = yyjson_mut_val_imut_copy(plan->status, &ek_json_xalc);
    bool equal = old && ek_json_equal(yyjson_doc_get_root(now), old);
    yyjson_doc_free(now);
    return !equal;
}

static void sooner(int64_t *requeue, int64_t ms)
{
    if (ms > 0 && ms < *requeue)
        *requeue = ms;
}

/* When time alone will change the outcome: a lease gets stale, a grace period ends. One second is
 * added, so that the moment has passed by then. */
static int64_t requeue_after(const struct ek_skew_report *r)
{
    int64_t requeue = REQUEUE_MAX_MS;
    if (!r->view->probing_done)
        return REQUEUE_PROBING_MS;
    for (size_t i = 0; i < r->facts.n_peers; i++)
        if (r->facts.peers[i].lease_age_ms >= 0)
            sooner(&requeue, LEASE_STALE_MS - r->facts.peers[i].lease_age_ms + 1000);
    for (size_t i = 0; i < r->facts.n_instances; i++)
        if (r->facts.instances[i].leader && r->facts.instances[i].age_ms >= 0)
            sooner(&requeue, ELECTION_STALE_MS - r->facts.instances[i].age_ms + 1000);
    if (r->grace_end_ms != EK_TIME_UNSET)
        sooner(&requeue, r->grace_end_ms - r->view->now_ms + 1000);
    if (r->spreading_ms != EK_TIME_UNSET)
        sooner(&requeue, r->spreading_ms - r->view->now_ms + 1000);
    if (r->forget_ms != EK_TIME_UNSET)
        sooner(&requeue, r->forget_ms - r->view->now_ms + 1000);
    return requeue < 1000 ? 1000 : requeue;
}

static int exit_code(const struct ek_skew_report *r)
{
    if (r->judgement.n_violations > 0)
        return EXIT_VIOLATIONS;
    for (int c = 0; c < EK_COMPONENT_MAX; c++)
        if (r->judgement.counts[c][EK_VERDICT_UNKNOWN] > 0)
            return EXIT_UNKNOWN;
    return r->judgement.incomplete[0] ? EXIT_UNKNOWN : EXIT_SUPPORTED;
}

static void publish(const struct ek_skew_report *r, struct ek_arena *arena,
                    struct ek_skew_plan *plan)
{
    plan->doc = ek_json_doc_new();
    plan->status = ek_skew_status(r, arena, plan->doc);
    yyjson_mut_doc_set_root(plan->doc, plan->status);
    plan->create = !r->view->control_plane;
    if (!wait_for_probes(r)) {
        plan->status_changed = differs(plan, r->old_status);
        ek_skew_events(r, arena, &plan->events, &plan->n_events);
    }
    ek_skew_metrics(r, arena, &plan->metrics, &plan->n_metrics);
}

void ek_skew_plan_from_facts__(const struct ek_skew_view *view, const struct ek_skew_facts *facts,
                               const struct ek_skew_spec *spec, struct ek_arena *arena,
                               struct ek_skew_plan *ret_plan)
{
    struct ek_skew_report *r = ek_arena_alloc(arena, sizeof(*r));
    *r = (struct ek_skew_report){.view = view, .facts = *facts, .spec = *spec};
    if (view->control_plane)
        r->old_status = ek_json_get(ek_obj_root(view->control_plane), "status", NULL);
    r->last_seen =
        ek_skew_remember(&r->facts, &r->spec, r->old_status, view->now_ms, arena, &r->forget_ms);
    ek_skew_judge(&r->facts, &r->spec, view->nodes.available, arena, &r->judgement);
    ek_skew_compare(&r->facts, arena, &r->differences);
    ek_skew_conclude(r, arena);
    publish(r, arena, ret_plan);
    ret_plan->requeue_after_ms = requeue_after(r);
    ret_plan->probe_interval_ms = r->spec.probe_interval_ms;
    ret_plan->probe_timeout_ms = r->spec.probe_timeout_ms;
    ret_plan->bounds = &r->judgement.bounds;
    ret_plan->exit_code = exit_code(r);
}

static bool has_probe(const struct ek_skew_view *view, const char *address)
{
    for (size_t i = 0; i < view->n_probes; i++)
        if (strcmp(view->probes[i].address, address) == 0)
            return true;
    return false;
}

/* Other components are probed once API servers are verified: until then the first round
 * is not over. */
static bool is_probed(const struct ek_skew_view *view, const struct ek_skew_plan *plan)
{
    for (size_t i = 0; i < plan->n_targets; i++)
        if (plan->targets[i].credential == EK_PROBE_METRICS &&
            !has_probe(view, plan->targets[i].address))
            return false;
    return view->probing_done;
}

/* Another API server answers at the address: what it says is not said by this one. The certificate
 * is of the last attempt. */
static bool is_mismatched(const struct ek_peer_fact *fact)
{
    const struct ek_probe *probe = fact->probe;

    return probe && probe->n_cert_names > 0 && !fact->certificate_matches &&
           (fact->reachable || probe->reach.error.code == EK_E_TLS);
}

static struct ek_peer_table *make_table(const struct ek_skew_view *view,
                                        const struct ek_skew_facts *facts, struct ek_arena *arena)
{
    struct ek_peer *peers = ek_arena_alloc(arena, (facts->n_peers + 1) * sizeof *peers);

    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *fact = &facts->peers[i];
        peers[i] = (struct ek_peer){.name = fact->name,
                                    .server_id = fact->server_id,
                                    .address = fact->address,
                                    .address_source = fact->address_source,
                                    .trusted = fact->trusted,
                                    .in_endpoints = fact->in_endpoints,
                                    .live = fact->live,
                                    .lease_stale = fact->lease_stale,
                                    .lease_age_ms = fact->lease_age_ms,
                                    .reachable = fact->reachable,
                                    .mismatched = is_mismatched(fact),
                                    .probe = fact->probe};
    }
    return ek_peer_table_new(peers, facts->n_peers, facts->enumerated, view->probing_done);
}

void ek_skew_plan_make(const struct ek_skew_view *view, struct ek_arena *arena,
                       struct ek_skew_plan *ret_plan)
{
    struct ek_skew_view seen = *view;
    struct ek_skew_spec *spec = ek_arena_alloc(arena, sizeof *spec);
    struct ek_skew_facts *facts = ek_arena_alloc(arena, sizeof *facts);
    *ret_plan = (struct ek_skew_plan){.facts = facts, .spec = spec};
    ek_skew_spec_parse(view->control_plane, arena, spec);
    ek_skew_facts_collect(view, arena, facts, &ret_plan->targets, &ret_plan->n_targets);
    ret_plan->peers = make_table(view, facts, arena);
    seen.probing_done = ret_plan->probed = is_probed(view, ret_plan);
    if (view->make_documents)
        seen.documents = view->make_documents(view->documents_ctx, ret_plan->peers);
    ek_skew_plan_from_facts__(&seen, facts, spec, arena, ret_plan);
}

void ek_skew_plan_done(struct ek_skew_plan *plan)
{
    ek_peer_table_free(plan->peers);
    plan->peers = NULL;
    yyjson_mut_doc_free(plan->doc);
    plan->doc = NULL;
    plan->status = NULL;
}
