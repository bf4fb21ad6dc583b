/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy while it is being read; the files that read policies share it. Source of the rules:
 * Kubernetes 1.36, pkg/apis/admissionregistration/validation/validation.go.
 */
#ifndef RECONCILERS_MUTATION_POLICY_INTERNAL_H
#define RECONCILERS_MUTATION_POLICY_INTERNAL_H

#include <stdatomic.h>

#include "api/fielderr.h"
#include "reconcilers/mutation/compile.h"

#define EK_POLICY_ARENA_LIMIT ((size_t)64 << 20) /* an object is at most some MB of text */
#define EK_POLICY_BLANKS      " \t\r\n\v\f"

/* The maximum number of items of a list; an object with more is refused. No object that etcd stores
 * by default (1.5 MiB) has as many mutations, validations or variables that can be run. */
#define EK_POLICY_ITEMS_MAX 50000

struct ek_policy_reader {
    struct ek_policy pub; /* the first member: what others see of it */
    atomic_uint refs;
    struct ek_obj *obj;
    struct ek_arena *arena;
    struct ek_rules *rules;
    struct ek_field_errors errors;
    struct ek_policy_envs envs;
};

/* Of an object that is a policy or a binding: whether it is of admissionregistration.k8s.io;
 * whether it is of validating policies (those of evenkeel.dev are mutating); its name, or without
 * one the start of the name that the server will give. */
bool ek_policy_obj_is_native(const struct ek_obj *obj);
bool ek_policy_obj_is_validating(const struct ek_obj *obj);
const char *ek_policy_obj_name(const struct ek_obj *obj);

/* What is wrong with a binding: the errors behind binding->problems. Borrowed. */
const struct ek_field_errors *ek_binding_errors(const struct ek_binding *binding);

/* True for a text without anything but blanks. */
bool ek_policy_is_blank(const char *s);

/* A text without blanks around it, in the policy's arena. */
const char *ek_policy_trimmed(struct ek_policy_reader *p, const char *s);

/* Compiles text, which is e->text or a part of it, into e; reports what is wrong with it at
 * e->field. want as in ek_policy_compile. */
void ek_policy_compile_text(struct ek_policy_reader *p, struct ek_cel_env *env, const char *text,
                            const char *want, struct ek_expression *e);

/* The items of a list to read: not all of a list with more than max, which is reported. */
size_t ek_policy_count_items(struct ek_policy_reader *p, yyjson_val *list, size_t max,
                             const char *field);

/* Reads spec.validations and spec.auditAnnotations of a ValidatingAdmissionPolicy. The variables
 * are in the environments already. */
void ek_policy_read_validations(struct ek_policy_reader *p, yyjson_val *spec);

/* Releases the programs of what ek_policy_read_validations has read. */
void ek_policy_drop_validations(const struct ek_policy *policy);

/* Reads spec.validationActions of a ValidatingAdmissionPolicyBinding: how many, in *ret (arena). */
size_t ek_binding_read_actions(yyjson_val *list, struct ek_arena *arena,
                               struct ek_field_errors *errors, const char *const **ret);

#endif
