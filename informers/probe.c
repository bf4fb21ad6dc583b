/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/probe.h"

#include <stdatomic.h>
#include <stddef.h>

#include "api/mem.h"

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
    return (struct ek_probe_answer){.good_at_ms = EK_TIME_UNSET, .tried_at_ms = EK_TIME_UNSET};
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

static void free_gates(struct ek_probe *probe)
{
    for (size_t i = 0; i < probe->n_gates; i++) {
        ek_free((char *)(uintptr_t)probe->gates[i].name);
        ek_free((char *)(uintptr_t)probe->gates[i].stage);
    }
    ek_free(probe->gates);
}

void ek_probe_unref(struct ek_probe *probe)
{
    if (!probe)
        return;
    struct counted *c = counted_of(probe);
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_gates(probe);
    for (size_t i = 0; i < probe->n_cert_names; i++)
        ek_free(probe->cert_names[i]);
    ek_free(probe->cert_names);
    ek_discovery_free(probe->discovery);
    ek_free(c);
}
