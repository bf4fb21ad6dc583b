/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/probe/metrics.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"

#define GATES_MAX     2000
#define USES_MAX      2000
#define MANIFESTS_MAX 16 /* Kubernetes has four such plug-ins */

#define MANIFESTS_METRIC "apiserver_manifest_admission_config_controller_last_config_info"

static void add_gate(struct ek_probe *probe, const char *name, const char *stage, bool enabled)
{
    if (probe->n_gates == GATES_MAX)
        return;
    /* Grown by powers of two, which follow from n_gates. */
    if ((probe->n_gates & (probe->n_gates - 1)) == 0)
        probe->gates = ek_xrealloc(probe->gates, probe->n_gates ? probe->n_gates * 2 : 1,
                                   sizeof *probe->gates);
    probe->gates[probe->n_gates++] = (struct ek_feature_gate){
        .name = ek_xstrdup(name), .stage = ek_xstrdup(stage), .enabled = enabled};
}

/* A name as Kubernetes has them; "" is the core group. */
static bool is_name(const char *text)
{
    return !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-")];
}

static void add_use(struct ek_probe *probe, const char *group, const char *version,
                    const char *resource, struct ek_minor removed)
{
    if (probe->n_uses == USES_MAX || !is_name(group) || !is_name(version) || !*version ||
        !is_name(resource) || !*resource)
        return;
    if ((probe->n_uses & (probe->n_uses - 1)) == 0)
        probe->uses =
            ek_xrealloc(probe->uses, probe->n_uses ? probe->n_uses * 2 : 1, sizeof *probe->uses);
    probe->uses[probe->n_uses++] = (struct ek_deprecated_use){
        ek_xstrdup(group), ek_xstrdup(version), ek_xstrdup(resource), removed};
}

/* Keeps the list sorted. An API server has one series of a plug-in; of two the last one counts. */
static void add_manifests(struct ek_probe *probe, const char *plugin, const char *hash)
{
    size_t at = 0;

    while (at < probe->n_manifests && strcmp(probe->manifests[at].plugin, plugin) < 0)
        at++;
    if (at < probe->n_manifests && !strcmp(probe->manifests[at].plugin, plugin)) {
        ek_free(probe->manifests[at].hash);
        probe->manifests[at].hash = ek_xstrdup(hash);
        return;
    }
    if (probe->n_manifests == MANIFESTS_MAX || !*plugin)
        return;
    if (!probe->manifests)
        probe->manifests = ek_xrealloc(NULL, MANIFESTS_MAX, sizeof *probe->manifests);
    memmove(&probe->manifests[at + 1], &probe->manifests[at],
            (probe->n_manifests++ - at) * sizeof *probe->manifests);
    probe->manifests[at] = (struct ek_probe_manifests){ek_xstrdup(plugin), ek_xstrdup(hash)};
}

void ek_probe_metrics_copy(struct ek_probe *to, const struct ek_probe *from)
{
    memcpy(to->info_binary, from->info_binary, sizeof to->info_binary);
    to->info_emulation = from->info_emulation;
    to->info_min_compat = from->info_min_compat;
    for (size_t i = 0; i < from->n_gates; i++)
        add_gate(to, from->gates[i].name, from->gates[i].stage, from->gates[i].enabled);
    for (size_t i = 0; i < from->n_uses; i++)
        add_use(to, from->uses[i].group, from->uses[i].version, from->uses[i].resource,
                from->uses[i].removed);
    for (size_t i = 0; i < from->n_manifests; i++)
        add_manifests(to, from->manifests[i].plugin, from->manifests[i].hash);
}

void ek_probe_metrics_take(void *ctx, const struct ek_prom_sample *sample)
{
    struct ek_probe *probe = ctx;

    if (!strcmp(sample->name, "kubernetes_feature_enabled")) {
        add_gate(probe, ek_prom_label(sample, "name"), ek_prom_label(sample, "stage"),
                 sample->value > 0);
        return;
    }
    if (!strcmp(sample->name, "apiserver_requested_deprecated_apis")) {
        if (sample->value > 0)
            add_use(probe, ek_prom_label(sample, "group"), ek_prom_label(sample, "version"),
                    ek_prom_label(sample, "resource"),
                    ek_minor_parse(ek_prom_label(sample, "removed_release")));
        return;
    }
    if (!strcmp(sample->name, MANIFESTS_METRIC)) {
        if (sample->value > 0)
            add_manifests(probe, ek_prom_label(sample, "plugin"), ek_prom_label(sample, "hash"));
        return;
    }
    /* version_info of an aggregated server in the same process has another component. */
    const char *component = ek_prom_label(sample, "component");
    if (*component && strcmp(component, "kube") != 0)
        return;
    snprintf(probe->info_binary, sizeof probe->info_binary, "%s", ek_prom_label(sample, "binary"));
    probe->info_emulation = ek_minor_parse(ek_prom_label(sample, "emulation"));
    probe->info_min_compat = ek_minor_parse(ek_prom_label(sample, "min_compat"));
}

const char *const ek_probe_metrics[] = {"version_info", "kubernetes_feature_enabled",
                                        "apiserver_requested_deprecated_apis", MANIFESTS_METRIC,
                                        NULL};
