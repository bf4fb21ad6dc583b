/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in APIs at a version: which resources an API server lists, in which version it stores
 * objects, what is deprecated and removed between two versions.
 *
 * Served resources follow apiserver/pkg/server/deleted_kinds.go and resourceconfig/helpers.go at
 * 1.36, storage versions apiserver/pkg/server/storage/resource_encoding_config.go. Pure; what is
 * returned is borrowed from the data or lives in the arena given.
 */
#ifndef RECONCILERS_PLAN_APIS_H
#define RECONCILERS_PLAN_APIS_H

#include "reconcilers/plan/data.h"

/* What configures which APIs an API server serves. */
struct ek_api_config {
    struct ek_minor emulation;
    bool emulates;              /* the emulation version is older than the binary */
    const char *runtime_config; /* --runtime-config, "api/all=true,batch/v1=false"; "" for none */
    bool forward_compatible;    /* --emulation-forward-compatible */
    bool runtime_forward_compatible;    /* --runtime-config-emulation-forward-compatible */
    const struct ek_features *features; /* at that version */
    bool no_fairness;                   /* --enable-priority-and-fairness=false */
    bool no_mutating_policies; /* the admission plug-in MutatingAdmissionPolicy is disabled */
    bool authorizes_nodes;     /* --authorization-mode has Node */
};

/*
 * Sets served[i] for each resource of data that the server lists (its subresources with it).
 * Returns NULL, or the sentence with which the binary of the data refuses to start.
 */
const char *ek_api_served(const struct ek_plan_data *data, const struct ek_api_config *config,
                          struct ek_arena *arena, bool *served);

/*
 * The sentence about what an API server that emulates a version reads of itself and does not serve,
 * so that it does not become ready; NULL where it serves all of that. served is that of
 * ek_api_served; strings in arena. A binary reads one version of an API, whatever version it
 * emulates: admission plug-ins (apiserver/pkg/admission/plugin/policy/mutating/plugin.go,
 * plugin/pkg/admission/job, podgroup), and the node authorizer
 * (pkg/kubeapiserver/authorizer/config.go), at 1.36.
 */
const char *ek_api_unserved(const struct ek_plan_data *data, const struct ek_api_config *config,
                            const bool *served, struct ek_arena *arena);

/* What a version is to a kind. */
enum ek_api_state {
    EK_API_UNKNOWN, /* the data has no such kind */
    EK_API_ABSENT,  /* not introduced yet */
    EK_API_SERVED,
    EK_API_DEPRECATED, /* served, and to be removed */
    EK_API_REMOVED,
};

/* The state of a kind at a version, without feature gates and --runtime-config. */
enum ek_api_state ek_api_state_at(const struct ek_api_lifecycle *kind, struct ek_minor version);

/* True when API servers serve a version without --runtime-config: not alpha, not beta. */
bool ek_api_is_stable(const char *version);

/*
 * What takes the place of a kind at a version: the replacement that Kubernetes declares, and where
 * none is declared, the newest version of the group that serves the same kind; where that is
 * deprecated or removed at the version as well, what takes its place in turn. NULL without.
 */
const struct ek_api_lifecycle *ek_api_replacement(const struct ek_plan_data *data,
                                                  const struct ek_api_lifecycle *kind,
                                                  struct ek_minor at);

/* The "group/version" in which an API server with this minimum compatibility version stores
 * objects of a resource; NULL where the data does not have the version. */
const char *ek_api_storage(const struct ek_plan_data *data, const char *group, const char *resource,
                           struct ek_minor min_compat, struct ek_arena *arena);

#endif
