/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of --runtime-config as a kube-apiserver reads it: component-base/cli/flag
 * (ConfigurationMap.Set), pkg/controlplane/apiserver/options (Options.Complete, validation.go),
 * apiserver/pkg/server/options/api_enablement.go (Validate) and server/resourceconfig/helpers.go
 * at 1.36. Pure; one thread; all texts live in the arena.
 */
#ifndef RECONCILERS_PLAN_RUNTIME_CONFIG_INTERNAL_H
#define RECONCILERS_PLAN_RUNTIME_CONFIG_INTERNAL_H

#include "reconcilers/plan/data.h"

struct ek_runtime_setting {
    const char *key, *value; /* without blanks around them; value "" without "=" */
};

struct ek_runtime_config {
    const struct ek_runtime_setting *list; /* one for each key, the last value of the flag */
    size_t n;
};

/* Reads the flag, "api/all=true, batch/v1=false". The core group is "/v1", as the server has it. */
void ek_runtime_config_read__(const char *text, struct ek_arena *arena,
                              struct ek_runtime_config *ret);

/* The value that a key has: -1 without, or with a value that the server refuses; 0 false, 1 true
 * ("" for a version or a resource). */
int ek_runtime_config_get__(const struct ek_runtime_config *config, const char *key);

/* The sentence with which a server with the group versions of data refuses the flag; NULL for one
 * that it takes. no_fairness is --enable-priority-and-fairness=false. Of several mistakes the
 * server names one or the other; the first in the order of the flag is said. */
const char *ek_runtime_config_refusal__(const struct ek_runtime_config *config,
                                        const struct ek_plan_data *data, bool no_fairness,
                                        struct ek_arena *arena);

#endif
