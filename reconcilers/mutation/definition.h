/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a policy or a binding of evenkeel.dev when it is written: API servers check the same
 * of the kinds of admissionregistration.k8s.io, and CustomResourceDefinitions cannot.
 *
 *   fields and expressions   as ek_policy_validate says; the texts are the API server's
 *   params                   the author of a paramKind must be able to get all objects of that
 *                            kind; the author of a paramRef must be able to get the object that it
 *                            names, or to list those that it selects. Without this check a policy
 *                            would read, for its author, what the author may not read
 *
 * Expressions are compiled for the engine of this program, not for the version before: the API
 * servers that may be older never run them.
 *
 * An update is checked when its spec differs. A paramKind that stays needs no permission. A
 * paramRef always needs one, as in the API server: the objects that it is injected into may have
 * changed. Users of the group system:masters may do everything. Subresources and deletions are let
 * through.
 *
 * Pure: struct ek_definition_world gives access to the cluster; memory is the arena's. Threading:
 * any. Source: Kubernetes 1.36, pkg/registry/admissionregistration/mutatingadmissionpolicy and
 * mutatingadmissionpolicybinding, strategy.go and authz.go; pkg/registry/rbac/escalation_check.go.
 */
#ifndef RECONCILERS_MUTATION_DEFINITION_H
#define RECONCILERS_MUTATION_DEFINITION_H

#include "reconcilers/mutation/engine.h"

/* The check's view of the cluster. Everything returned is borrowed until the check ends. */
struct ek_definition_world {
    /* The resource of a kind, "configmaps"; any answer but FOUND and PENDING: it is not known. */
    enum ek_world_answer (*resource)(void *arg, const char *api_version, const char *kind,
                                     const char **ret_resource);
    /* The stored MutatingAdmissionPolicy of evenkeel.dev; likewise. */
    enum ek_world_answer (*policy)(void *arg, const char *name, yyjson_val **ret_object);
    /* The decision of the authorizer for the user of the request, in *ret. With EK_WORLD_ABSENT and
     * EK_WORLD_FAILED, the error of *ret is set. */
    enum ek_world_answer (*authorize)(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret);
    void *arg; /* of the functions above */
};

struct ek_definition_outcome {
    bool pending; /* check again when the world knows more; nothing else is meaningful */
    bool allowed;
    int code; /* of a denial: HTTP status; reason and message with it */
    const char *reason, *message;
};

/* Checks the object of request. The outcome lives in arena. Returns 0; EK_E_INVAL when the request
 * is for another resource, EK_E_NOMEM. */
int ek_definition_check(const struct ek_admission_request *request,
                        const struct ek_definition_world *world, struct ek_arena *arena,
                        struct ek_definition_outcome *ret);

#endif
