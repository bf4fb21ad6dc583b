/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of built-in kinds as API servers see them. A server reads what a client sends into a Go
 * struct, fills in defaults, converts it to its internal version and back, and only then shows it
 * to admission: unknown fields and nulls are gone, so are empty values that Go leaves out, zeros
 * that it writes are there, quantities and times have their one form.
 *
 * What depends on a cluster is not done: the plug-ins of the server that run before policies and
 * webhooks (ServiceAccount, Priority, DefaultTolerationSeconds and others), and what it sets of
 * metadata. Nor is the time put into taints of devices, where a server puts its own.
 *
 * Numbers are those that kubectl sends for a file: it has read 3.0 as 3.
 *
 * Pure; any thread. Source: Kubernetes 1.36, the types of k8s.io/api, pkg/apis: defaults.go and
 * conversion.go of each group, and apimachinery/pkg/runtime/converter.go: ToUnstructured.
 */
#ifndef API_DECODE_BUILTIN_H
#define API_DECODE_BUILTIN_H

#include "api/admission.h"
#include "api/base/arena.h"
#include "api/base/work.h"
#include "api/decode/metadata.h"
#include "api/schema/builtin.h"

/* Why an object cannot be read: what its author has to correct. */
struct ek_decode_problem {
    const char *pointer; /* JSON pointer of the value, "" for the object itself */
    const char *why;     /* "a string is wanted here, not bool" */
};

/*
 * Reads object, of that kind, as an API server 1.minor does, and sets *ret to what admission sees,
 * made in doc: members of structs are sorted by name, those of maps stand as in object. object is
 * not changed, and may be freed before doc. The texts of *ret_problem are in arena. work may be
 * NULL.
 *
 * unknown (NULL: not wanted) gets the paths of fields that the types do not have, in the order of
 * the object and in arena: "spec.template.spec.containers[0].imagePullPolcy". These are the fields
 * that strict decoding names (sigs.k8s.io/json: UnmarshalStrict). Types that decode themselves are
 * not read strictly, such as the items of a schema in a CustomResourceDefinition.
 *
 * Returns 0; EK_E_NOENT for a kind that 1.minor does not have; EK_E_INVAL with *ret_problem filled
 * when the server would refuse the object as malformed; EK_E_NOMEM; EK_E_CANCELED. Steps and memory
 * grow with the object alone, and are bounded for each of its values: an empty container gets its
 * defaults, too. The stack is that of other walks over values (api/base/stack.h): schemas of
 * CustomResourceDefinitions nest.
 */
int ek_decode_builtin(const struct ek_gvk *kind, int minor, yyjson_val *object,
                      struct ek_work *work, struct ek_arena *arena, yyjson_mut_doc *doc,
                      yyjson_mut_val **ret, struct ek_paths *unknown,
                      struct ek_decode_problem *ret_problem);

#endif
