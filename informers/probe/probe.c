/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/probe/probe.h"

#include <stdatomic.h>
#include <stddef.h>

#include "api/base/mem.h"

/* The count lives before the public part, so that readers cannot touch it. */
struct counted {
    atomic_uint refs;
    struct ek_probe probe;
};

static struct counted *counted_of(const struct ek_probe *probe)
{
    uintptr_t at = (uintptr_t)probe - offsetof(struct counted, probe);
    return (struct counted *)at; /* only the count changes through this pointer */
}

static struct ek_probe_answer unanswered(void)
{
    return (struct ek_probe_answer){
        .good_at_ms = EK_TIME_UNSET, .tried_at_ms = EK_TIME_UNSET, .failing_at_ms = EK_TIME_UNSET};
}

struct ek_probe *ek_probe_new(void)
{
    struct counted *c = ek_xalloc(sizeof *c);
    struct ek_probe *probe = &c->probe;

    atomic_init(&c->refs, 1);
    probe->reach = unanswered();
    probe->version_answer = unanswered();
    probe->ready_answer = unanswered();
    probe->openapi_answer = unanswered();
    probe->metrics_answer = unanswered();
    probe->flagz_answer = unanswered();
    probe->discovery_answer = unanswered();
    probe->cert_not_after_ms = EK_TIME_UNSET;
    return probe;
}

struct ek_probe *ek_probe_ref(const struct ek_probe *probe)
{
    if (!probe)
        return NULL;
    struct counted *c = counted_of(probe);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return &c->probe;
}

static void free_uses(struct ek_probe *probe)
{
    for (size_t i = 0; i < probe->n_uses; i++) {
        ek_free(probe->uses[i].group);
        ek_free(probe->uses[i].version);
        ek_free(probe->uses[i].resource);
    }
    ek_free(probe->uses);
    probe->uses = NULL;
    probe->n_uses = 0;
}

static void free_manifests(struct ek_probe *probe)
{
    for (size_t i = 0; i < probe->n_manifests; i++) {
        ek_free(probe->manifests[i].plugin);
        ek_free(probe->manifests[i].hash);
    }
    ek_free(probe->manifests);
    probe->manifests = NULL;
    probe->n_manifests = 0;
}

bool ek_probe_is_ready(const struct ek_probe *probe)
{
    return probe->ready_answer.error.code ? probe->ready_answer.good_at_ms == EK_TIME_UNSET
                                          : probe->ready;
}

void ek_probe_clear_metrics(struct ek_probe *probe)
{
    for (size_t i = 0; i < probe->n_gates; i++) {
        ek_free((char *)(uintptr_t)probe->gates[i].name);
        ek_free((char *)(uintptr_t)probe->gates[i].stage);
    }
    ek_free(probe->gates);
    probe->gates = NULL;
    probe->n_gates = 0;
    free_uses(probe);
    free_manifests(probe);
    probe->info_binary[0] = '\0';
    probe->info_emulation = probe->info_min_compat = EK_MINOR_UNKNOWN;
}

void ek_probe_unref(struct ek_probe *probe)
{
    if (!probe)
        return;
    struct counted *c = counted_of(probe);
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    ek_probe_clear_metrics(probe);
    for (size_t i = 0; i < probe->n_cert_names; i++)
        ek_free(probe->cert_names[i]);
    ek_free(probe->cert_names);
    for (size_t i = 0; i < probe->n_flagz; i++)
        ek_free(probe->flagz[i]);
    ek_free(probe->flagz);
    ek_discovery_free(probe->discovery);
    ek_api_groups_unref(probe->core);
    ek_api_groups_unref(probe->groups);
    ek_free(c);
}
