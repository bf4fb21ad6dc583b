/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of an object share. */
#ifndef RECONCILERS_PLAN_OBJECTS_INTERNAL_H
#define RECONCILERS_PLAN_OBJECTS_INTERNAL_H

#include "reconcilers/plan/objects.h"
#include "reconcilers/skew/facts.h"

struct ek_plan_check {
    const struct ek_plan_target *target;
    const struct ek_plan_object *object;
    struct ek_plan_report *report;
    const char *api_version, *kind;
    const char *shown;        /* "apps/v1 Deployment shop/web" */
    struct ek_arena *scratch; /* for the texts of one finding; taken back when it is added */
};

/* A place in an object, as a chain of parts up to the object: a text is made only for a finding,
 * because the texts of all places of an object are quadratic in its size. */
struct ek_plan_place {
    const struct ek_plan_place *up; /* NULL: the object itself */
    const char *name;               /* of a member; NULL for an item */
    size_t len;                     /* of name */
    size_t index;                   /* of the item */
    bool is_key;                    /* a key of a map: "[name]" and not ".name" */
};

/* The text of a place, "spec.containers[0].env[a]"; "" for NULL. Lives in arena. */
const char *ek_plan_place_text__(const struct ek_plan_place *place, struct ek_arena *arena);

/* Adds a finding about a field ("" for the object) of the object. Takes back what is in the scratch
 * arena of the check. Returns the finding, good until the next. */
struct ek_plan_finding *ek_plan_say__(const struct ek_plan_check *check,
                                      enum ek_plan_severity severity, const char *rule,
                                      const char *field, const char *message, const char *remedy);

/* The lifecycle of an object's kind; NULL when the data has none. */
const struct ek_api_lifecycle *ek_plan_lifecycle__(const struct ek_plan_data *data,
                                                   yyjson_val *object, struct ek_arena *arena);

/* Calls fn for each place of value that a path with "[]" and "{}" names. */
void ek_plan_follow__(yyjson_val *value, const char *path,
                      void (*fn)(void *ctx, yyjson_val *value, const struct ek_plan_place *place),
                      void *ctx);

/* Expressions that a version does not compile. */
void ek_plan_check_expressions__(const struct ek_plan_check *check);

/* API versions that go, where rules of webhooks and admission policies name them, and stored
 * versions of a CustomResourceDefinition that the definition does not have. */
void ek_plan_check_references__(const struct ek_plan_check *check);

/* Webhooks: how API servers reach those that convert, and the versions of reviews. */
void ek_plan_check_webhooks__(const struct ek_plan_check *check);

/* Why a component of a version refuses a feature gate, as an error or unknown; strings in arena.
 * False for what the binary does not check. */
bool ek_plan_gate_problem__(const struct ek_plan_data *data, enum ek_component component,
                            struct ek_minor binary, const struct ek_feature_problem *problem,
                            struct ek_arena *arena, struct ek_plan_finding *ret_finding);

/*
 * The alpha features that the flags switch on ("AllAlpha, Foo"), and with served (one for each
 * resource of data; NULL: not known) the alpha versions of APIs. NULL without any. Kubernetes does
 * not support them while an older version is emulated (KEP-4330;
 * component-base/compatibility/registry.go: enabledAlphaFeatures,
 * apiserver/pkg/server/options/api_enablement.go at 1.36, which warns of versions that are named
 * alone).
 */
#define EK_PLAN_ALPHA_REMEDY "turn the alpha features off until the emulation version is raised"
const char *ek_plan_alpha__(const struct ek_plan_data *data, const struct ek_features *gates,
                            const bool *served, struct ek_arena *arena);

/* What to do about ek_api_unserved. */
#define EK_PLAN_UNSERVED_REMEDY                                                                    \
    "turn the feature gate off until the emulation version is raised, or set "                     \
    "--emulation-forward-compatible=true, with --runtime-config for an alpha or beta version"

/* What to do about flags that the version before refuses. */
#define EK_PLAN_BACK_REMEDY                                                                        \
    "remove the feature gate or the API version from the flags before the way back"

/* Flags of a kube-apiserver, kube-controller-manager or kube-scheduler, in a Pod, in a Pod template
 * or in a ClusterConfiguration of kubeadm, and feature gates of a KubeletConfiguration or
 * KubeProxyConfiguration. True when the object is one of these, also with a command that cannot be
 * read. */
bool ek_plan_check_flags__(const struct ek_plan_check *check);

#endif
