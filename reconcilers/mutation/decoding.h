/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies and bindings, mutating and validating, as an API server decodes them: JSON types that do
 * not fit its Go structs, and fields that the structs do not have. Pure; any thread, with its own
 * arena.
 *
 * Sources: k8s.io/api/admissionregistration v1 types.go and k8s.io/apimachinery meta/v1 types.go of
 * Kubernetes 1.36; encoding/json, UnmarshalTypeError. The texts were compared with kube-apiserver
 * 1.36.2 (test/unit/reconcilers/mutation/decoding_test.c).
 */
#ifndef RECONCILERS_MUTATION_DECODING_H
#define RECONCILERS_MUTATION_DECODING_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/arena.h"

struct ek_decoding_problem {
    const char *field;   /* "spec.mutations[0].jsonPatch" */
    const char *message; /* "json: cannot unmarshal ...", `unknown field "..."` */
    bool unknown;        /* a field that there is not: an error in strict decoding alone */
};

/*
 * Returns 0 for an object that can be decoded; else the number of problems, in
 * the order of the text, in *ret, an array of arena. binding: object is a binding, else a policy,
 * and its kind says which; own: of evenkeel.dev, which has more fields. At the end of the arena,
 * fewer problems are returned.
 */
size_t ek_decoding_problems(yyjson_val *object, bool binding, bool own, struct ek_arena *arena,
                            const struct ek_decoding_problem **ret);

#endif
