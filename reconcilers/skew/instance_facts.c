/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/pod.h"
#include "reconcilers/skew/instance-internal.h"

static bool is_reachable(const struct instance *row)
{
    return row->probe && row->probe->reach.good_at_ms != EK_TIME_UNSET &&
           row->probe->reach.error.code == 0;
}

static bool leads(const struct instance *row)
{
    return row->holds && !row->holds_expired;
}

/* Signs of life that do not come from the candidate: they outlive it when a process restarts
 * without coordinated election. */
static bool lives_otherwise(const struct instance *row)
{
    return leads(row) || is_reachable(row) || (row->pod && ek_pod_is_running(row->pod));
}

static const char *staleness(const struct instance *row)
{
    if (lives_otherwise(row))
        return "";
    if (row->candidate)
        return row->stale_reason;
    if (row->pod)
        return "NotRunning";
    return row->holds ? "Expired" : "";
}

static int64_t age_of(const struct instance *row, int64_t now)
{
    int64_t newest = EK_TIME_UNSET;

    if (row->holds && row->lease_renewed > newest)
        newest = row->lease_renewed;
    if (row->candidate && row->renewed > newest)
        newest = row->renewed;
    if (row->probe && row->probe->reach.good_at_ms > newest)
        newest = row->probe->reach.good_at_ms;
    if (newest == EK_TIME_UNSET)
        return -1;
    return newest > now ? 0 : now - newest;
}

static struct reading probe_reading(const struct ek_probe *probe)
{
    bool current =
        probe->metrics_answer.good_at_ms != EK_TIME_UNSET && probe->metrics_answer.error.code == 0;
    struct reading reading = ek_facts_reading__(EK_SOURCE_VERSION_INFO, "the version_info metric",
                                                probe->info_binary, current);
    reading.emulation = probe->info_emulation;
    reading.min_compat = probe->info_min_compat;
    return reading;
}

static struct reading candidate_reading(const struct ek_obj *candidate)
{
    yyjson_val *spec = ek_json_get(ek_obj_root(candidate), "spec", NULL);
    const char *binary = ek_json_str(spec, "binaryVersion", NULL);
    const char *emulation = ek_json_str(spec, "emulationVersion", NULL);
    struct reading reading = ek_facts_reading__(EK_SOURCE_LEASE_CANDIDATE, "its LeaseCandidate",
                                                binary ? binary : "", true);
    reading.emulation = ek_facts_minor__(emulation ? emulation : "");
    return reading;
}

/* A dead candidate is what a process of the past said; it counts as long as nothing else lives. */
static struct ek_versions read_versions(struct facts *f, const struct instance *row)
{
    struct reading readings[3];
    size_t n = 0;

    if (row->probe)
        readings[n++] = probe_reading(row->probe);
    if (row->candidate && !(*row->stale_reason && lives_otherwise(row)))
        readings[n++] = candidate_reading(row->candidate);
    if (row->pod)
        readings[n++] = ek_facts_reading__(
            EK_SOURCE_POD_IMAGE, "its pod's image",
            ek_pod_image_version(row->pod, ek_component_name(row->component), f->arena),
            ek_pod_is_running(row->pod));
    struct ek_versions versions = ek_facts_merge__(f->arena, readings, n, "NotObservable");
    if (row->component == EK_CLOUD_CONTROLLER_MANAGER)
        ek_facts_no_emulation__(&versions);
    return versions;
}

static const char *name_of(const struct instance *row)
{
    if (row->main && *row->host)
        return row->host;
    if (*row->identity)
        return row->identity;
    return row->pod ? ek_obj_name(row->pod) : row->host;
}

static void collect(struct facts *f, const struct instance *row, struct ek_instance_fact *fact)
{
    *fact = (struct ek_instance_fact){
        .component = row->component,
        .name = name_of(row),
        .leader = leads(row),
        .stale_reason = staleness(row),
        .age_ms = age_of(row, f->view->now_ms),
        .versions = read_versions(f, row),
    };
    fact->stale = *fact->stale_reason != '\0';
}

static int by_component_and_name(const void *a, const void *b)
{
    const struct ek_instance_fact *x = a, *y = b;

    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* One sentence per component on versions that nothing tells, with what would help. */
static void note_unobservable(struct facts *f, enum ek_component component)
{
    const struct ek_skew_facts *out = f->out;
    const char **names = ek_arena_alloc(f->arena, (out->n_instances + 1) * sizeof *names);
    size_t n = 0;

    for (size_t i = 0; i < out->n_instances; i++) {
        const struct ek_instance_fact *fact = &out->instances[i];
        if (fact->component == component && !fact->stale &&
            !strcmp(fact->versions.unknown_reason, "NotObservable"))
            names[n++] = fact->name;
    }
    if (n == 0)
        return;
    const char *help =
        component == EK_CLOUD_CONTROLLER_MANAGER
            ? "its election lease has none, and its pod's image tag is no Kubernetes version"
            : "its election lease has none; enable the feature gate CoordinatedLeaderElection with "
              "coordination.k8s.io/v1beta1, or let its /metrics be read at the pod's address "
              "(--bind-address)";
    ek_notes_add(f->notes, "the version of %s on %s cannot be observed: %s",
                 ek_component_name(component), ek_notes_names(f->arena, names, n), help);
}

void ek_facts_collect_instances__(struct facts *f)
{
    struct instances table = {.f = f, .cap = EK_SKEW_INSTANCES_MAX};
    struct ek_skew_facts *out = f->out;

    table.rows = ek_arena_alloc(f->arena, table.cap * sizeof *table.rows);
    ek_instances_read__(&table);
    out->instances = ek_arena_alloc(f->arena, (table.n + 1) * sizeof *out->instances);
    out->n_instances = table.n;
    for (size_t i = 0; i < table.n; i++)
        collect(f, &table.rows[i], &out->instances[i]);
    qsort(out->instances, table.n, sizeof *out->instances, by_component_and_name);
    if (table.n_dropped)
        ek_notes_add(f->notes, "%zu more instances of control plane components were not looked at",
                     table.n_dropped);
    note_unobservable(f, EK_KUBE_CONTROLLER_MANAGER);
    note_unobservable(f, EK_KUBE_SCHEDULER);
    note_unobservable(f, EK_CLOUD_CONTROLLER_MANAGER);
}
