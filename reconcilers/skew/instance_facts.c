/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/pod.h"
#include "reconcilers/skew/instance-internal.h"
#include "reconcilers/skew/policy.h"
#include "reconcilers/skew/text.h"

static bool is_reachable(const struct instance *row)
{
    return row->probe && ek_facts_is_current__(row->probe, &row->probe->reach);
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
    struct reading reading = ek_facts_reading__(EK_SOURCE_VERSION_INFO, "the version_info metric",
                                                probe->info_binary, true);
    ek_facts_set_age__(&reading, probe, &probe->metrics_answer);
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
static struct ek_versions read_versions(struct facts *f, const struct instance *row,
                                        struct ek_pod_flags *ret_flags)
{
    struct reading readings[EK_FACTS_READINGS_MAX];
    size_t n = 0;

    if (row->probe)
        readings[n++] = probe_reading(row->probe);
    if (row->candidate && !(*row->stale_reason && lives_otherwise(row)))
        readings[n++] = candidate_reading(row->candidate);
    const char *flags =
        ek_facts_pod_readings__(f, row->pod, row->component, readings, &n, ret_flags);
    const char *unread =
        ek_arena_printf(f->arena, "neither metrics nor a LeaseCandidate were read, and %s", flags);
    struct ek_versions versions = ek_facts_merge__(f->arena, readings, n, "NotObservable", unread);
    if (row->component == EK_CLOUD_CONTROLLER_MANAGER)
        ek_facts_no_emulation__(&versions);
    versions.no_pod = !row->pod;
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
    struct ek_pod_flags set;
    struct ek_versions versions = read_versions(f, row, &set);

    *fact = (struct ek_instance_fact){
        .component = row->component,
        .name = name_of(row),
        .leader = leads(row),
        .stale_reason = staleness(row),
        .age_ms = age_of(row, f->view->now_ms),
        .probe = row->probe,
        .flags_read = !*set.unread,
        .flag_gates = set.gates,
        .n_flag_gates = set.n_gates,
        .versions = versions,
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

/* True when Nodes are listed and none is of the control plane: a provider hides it, and its users
 * start none of its processes. */
static bool is_hidden(const struct ek_objs *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (ek_node_is_control_plane(nodes->items[i]))
            return false;
    return nodes->available && nodes->n > 0;
}

/* Why no image shows the version of an instance. */
enum lack { LACK_PROOF, LACK_TAG, LACK_POD, LACK_MAX };

static enum lack lack_of(const struct ek_versions *versions)
{
    if (versions->no_pod)
        return LACK_POD;
    return *versions->conflict ? LACK_PROOF : LACK_TAG;
}

/* What lets a version be observed by the pod of the component; "" where there is none. */
static const char *pod_text(struct facts *f, bool elects, enum lack lack, struct ek_minor binary)
{
    if (lack == LACK_POD)
        return "";
    if (elects && ek_policy_has_version_info(binary))
        return "let its /metrics be read at the pod's address (--bind-address)";
    return ek_arena_printf(f->arena, "run it from a pod whose image tag is %s%s",
                           elects ? "its version" : "a Kubernetes version",
                           lack == LACK_PROOF ? ", in its spec and in its status" : "");
}

/* What lets the version of a component be observed, as far as instances as old as the API servers
 * have it; a pod is not named to who has none. */
static const char *observing_text(struct facts *f, enum ek_component component, enum lack lack)
{
    struct oldest oldest = ek_facts_oldest_server__(f->out);
    bool elects = component != EK_CLOUD_CONTROLLER_MANAGER, no_pod = lack == LACK_POD;
    const char *candidates = elects && !(no_pod && is_hidden(&f->view->nodes))
                                 ? ek_skew_candidates_text(f->arena, oldest.emulation)
                                 : "";
    const char *const ways[] = {candidates, pod_text(f, elects, lack, oldest.binary),
                                no_pod ? ek_skew_ignore_text(f->arena, component) : ""};

    return ek_skew_or_text(f->arena, ways, EK_ARRAY_SIZE(ways));
}

/* What the pods of n instances lack; doubt is that of the first. */
static const char *lack_text(struct facts *f, enum lack lack, const char *doubt, size_t n)
{
    if (lack == LACK_POD)
        return "no pod of it is seen";
    if (lack == LACK_TAG)
        return "the image of its pod has no Kubernetes version as its tag";
    return n == 1 ? doubt
                  : ek_arena_printf(f->arena, "%s (%zu more %s like it)", doubt, n - 1,
                                    n == 2 ? "pod is" : "pods are");
}

/* One sentence per component and lack on versions without a source, with the remedy; none where
 * nobody wants its verdict. */
static void note_unobservable(struct facts *f, enum ek_component component, enum lack lack)
{
    const struct ek_skew_facts *out = f->out;
    const char **names = ek_arena_alloc(f->arena, (out->n_instances + 1) * sizeof *names);
    const char *doubt = "";
    size_t n = 0;

    for (size_t i = 0; i < out->n_instances && !ek_skew_ignored(f->spec, component); i++) {
        const struct ek_instance_fact *fact = &out->instances[i];
        if (fact->component != component || fact->stale || lack_of(&fact->versions) != lack ||
            strcmp(fact->versions.unknown_reason, "NotObservable") != 0)
            continue;
        doubt = n ? doubt : fact->versions.conflict;
        names[n++] = fact->name;
    }
    if (n == 0)
        return;
    ek_notes_add(
        f->notes,
        "the version of %s on %s cannot be observed: its election lease has none, and %s; %s",
        ek_component_name(component), ek_notes_names(f->arena, names, n),
        lack_text(f, lack, doubt, n), observing_text(f, component, lack));
}

/* Why metrics of a process are not read: one sentence per component and reason. */
enum silence { SILENCE_UNTRUSTED, SILENCE_NO_TOKEN, SILENCE_DENIED, SILENCE_MAX };

static enum silence silence_of(struct facts *f, const struct instance *row)
{
    if (row->probe && row->probe->no_token)
        return SILENCE_NO_TOKEN;
    if (row->probe && row->probe->metrics_answer.error.code == EK_E_FORBIDDEN)
        return SILENCE_DENIED;
    /* Before the first answers no API server has proven itself anywhere. */
    if (!row->untrusted || !f->view->probing_done)
        return SILENCE_MAX;
    struct ek_pod_flags set;
    struct ek_versions versions = read_versions(f, row, &set);
    return !versions.binary.known || versions.assumed_emulation ? SILENCE_UNTRUSTED : SILENCE_MAX;
}

static void note_silent(struct facts *f, const struct instances *table, enum ek_component component,
                        enum silence silence)
{
    const char **names = ek_arena_alloc(f->arena, (table->n + 1) * sizeof *names);
    const struct ek_probe *probe = NULL;
    size_t n = 0;

    for (size_t i = 0; i < table->n && !ek_skew_ignored(f->spec, component); i++) {
        const struct instance *row = &table->rows[i];
        if (row->component != component || silence_of(f, row) != silence)
            continue;
        names[n++] = name_of(row);
        probe = row->probe;
    }
    if (n == 0)
        return;
    const char *who = ek_arena_printf(f->arena, "%s on %s", ek_component_name(component),
                                      ek_notes_names(f->arena, names, n));
    if (silence == SILENCE_NO_TOKEN)
        ek_notes_add(f->notes, "%s is not contacted: %.500s", who, probe->reach.error.message);
    else if (silence == SILENCE_DENIED)
        ek_notes_add(f->notes,
                     "%s denies /metrics: bind the ClusterRole evenkeel-probe to the "
                     "ServiceAccount whose token is presented (--probe-service-account)",
                     who);
    else
        ek_notes_add(f->notes,
                     "%s is not contacted: no API server was verified at its address, and "
                     "spec.peers.endpoints does not name it",
                     who);
}

static void note_silences(struct facts *f, const struct instances *table)
{
    for (int silence = 0; silence < SILENCE_MAX; silence++) {
        note_silent(f, table, EK_KUBE_CONTROLLER_MANAGER, (enum silence)silence);
        note_silent(f, table, EK_KUBE_SCHEDULER, (enum silence)silence);
    }
}

void ek_facts_collect_instances__(struct facts *f)
{
    static const enum ek_component components[] = {EK_KUBE_CONTROLLER_MANAGER, EK_KUBE_SCHEDULER,
                                                   EK_CLOUD_CONTROLLER_MANAGER};
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
        ek_notes_add(f->notes, "%zu more instances of control plane components were not examined",
                     table.n_dropped);
    note_silences(f, &table);
    for (int lack = 0; lack < LACK_MAX; lack++)
        for (size_t i = 0; i < EK_ARRAY_SIZE(components); i++)
            note_unobservable(f, components[i], (enum lack)lack);
}
