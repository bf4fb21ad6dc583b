/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/gates-internal.h"

#include <stdint.h>
#include <string.h>

/* Far more than 512 paths of 1024 octets with their tries, and 1000 problems, can take. */
#define MEMORY_MAX ((size_t)16 * 1024 * 1024)

const char *const ek_gate_stage_names__[] = {"alpha", "beta", "stable", "deprecated", NULL};

const char *ek_gate_stage_name(enum ek_gate_stage stage)
{
    return stage < EK_GATE_STAGE_UNKNOWN ? ek_gate_stage_names__[stage] : "";
}

bool ek_gate_is_on(enum ek_gate_stage stage, enum ek_gate_setting enabled,
                   enum ek_gate_setting initial, enum ek_gate_rule *ret_rule)
{
    if (stage == EK_GATE_STABLE) {
        *ret_rule = EK_GATE_RULE_STABLE;
        return true;
    }
    if (enabled != EK_GATE_UNSET) {
        *ret_rule = EK_GATE_RULE_ENABLED;
        return enabled == EK_GATE_TRUE;
    }
    if (initial != EK_GATE_UNSET) {
        *ret_rule = EK_GATE_RULE_DEFAULT;
        return initial == EK_GATE_TRUE;
    }
    *ret_rule = stage == EK_GATE_BETA ? EK_GATE_RULE_BETA : EK_GATE_RULE_OFF;
    return stage == EK_GATE_BETA;
}

const char *ek_gate_rule_text(enum ek_gate_rule rule, bool on)
{
    switch (rule) {
    case EK_GATE_RULE_STABLE:
        return "stable gates are always on";
    case EK_GATE_RULE_ENABLED:
        return on ? "enabled: true" : "enabled: false";
    case EK_GATE_RULE_DEFAULT:
        return on ? "default: true" : "default: false";
    case EK_GATE_RULE_BETA:
        return "beta gates are on by default";
    case EK_GATE_RULE_OFF:
        break;
    }
    return "off by default";
}

const struct ek_gates *ek_gates_new(yyjson_val *obj, const char *const *refused, size_t n)
{
    struct ek_gates_inner__ *inner = ek_xalloc(sizeof *inner);
    struct ek_gates_growing__ root = {.name = EK_STR("")};

    inner->arena = ek_arena_new(MEMORY_MAX);
    atomic_init(&inner->refs, 1);
    ek_gates_read__(inner, obj, &root);
    inner->gates.root = ek_gates_trie_finish__(inner->arena, &root, refused, n);
    return &inner->gates;
}

static struct ek_gates_inner__ *inner_of(const struct ek_gates *gates)
{
    return (struct ek_gates_inner__ *)(uintptr_t)gates;
}

const struct ek_gates *ek_gates_ref(const struct ek_gates *gates)
{
    if (gates)
        atomic_fetch_add_explicit(&inner_of(gates)->refs, 1, memory_order_relaxed);
    return gates;
}

void ek_gates_unref(const struct ek_gates *gates)
{
    if (!gates)
        return;
    struct ek_gates_inner__ *inner = inner_of(gates);
    if (atomic_fetch_sub_explicit(&inner->refs, 1, memory_order_acq_rel) != 1)
        return;
    ek_arena_free(inner->arena);
    ek_free(inner);
}

const struct ek_gate *ek_gates_find(const struct ek_gates *gates, const char *name)
{
    for (size_t i = 0; i < gates->n_gates; i++)
        if (!strcmp(gates->gates[i].name, name))
            return &gates->gates[i];
    return NULL;
}
