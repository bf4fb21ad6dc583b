/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One admission request through the validating policies, after all mutations.
 *
 *   match    which (policy, binding, param) invocations run       generic/policy_dispatcher.go
 *   judge    conditions, validations, messages, annotations       validating/validator.go
 *   answer   what the validationActions of each binding ask for   validating/dispatcher.go
 *
 * Source: Kubernetes 1.36, the files above in apiserver/pkg/admission/plugin/policy; KEP-3488. The
 * results were compared with kube-apiserver 1.36.2 (test/data/validating).
 *
 * Pure, as reconcilers/mutation/engine.h is; the same world, the same rules for memory and threads.
 */
#ifndef RECONCILERS_MUTATION_VALIDATE_H
#define RECONCILERS_MUTATION_VALIDATE_H

#include "reconcilers/mutation/engine.h"

enum ek_validating_result {
    EK_VALIDATING_PASSED,
    EK_VALIDATING_SKIPPED, /* a match condition was false */
    EK_VALIDATING_IGNORED, /* failed, and failurePolicy is Ignore */
    EK_VALIDATING_AUDITED,
    EK_VALIDATING_WARNED,
    EK_VALIDATING_DENIED,
};

/* What came of one invocation: a step for each validation and annotation that did not pass, or one
 * for the whole. */
struct ek_validating_step {
    const struct ek_bound *bound;
    const char *param; /* "namespace/name", "" without */
    enum ek_validating_result result;
    const char *message; /* NULL for none */
    bool converted;      /* the object was seen in another version: by its apiVersion alone */
};

struct ek_audit_entry {
    const char *key, *value;
};

struct ek_validating_outcome {
    bool pending; /* run again when the world knows more; nothing else is meaningful */
    bool allowed;
    int code;            /* of a denial: HTTP status */
    const char *reason;  /* of a denial: "Invalid" */
    const char *message; /* of a denial, as the client gets it: 'pods "a" is forbidden: ...' */
    const char *const *warnings; /* each once, in the order of the set, as the client gets them: a
                                    response has room for some 4096 code points */
    size_t n_warnings;
    const struct ek_audit_entry *annotations; /* of the audit event */
    size_t n_annotations;
    const struct ek_validating_step *steps;
    size_t n_steps;
};

/* Runs request, whose object is the one after all mutations, through the validating policies of
 * set. arena bounds the memory; all of *ret lives in it. Returns 0; EK_E_LIMIT when the arena is
 * used up, EK_E_CANCELED, EK_E_NOMEM. */
int ek_validating_run(const struct ek_policy_set *set, const struct ek_admission_request *request,
                      const struct ek_mutation_world *world,
                      const struct ek_engine_options *options, struct ek_arena *arena,
                      struct ek_validating_outcome *ret);

#endif
