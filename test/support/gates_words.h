/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of tables about gates: definitions, objects, and what is said of them. For tests.
 */
#ifndef TEST_SUPPORT_GATES_WORDS_H
#define TEST_SUPPORT_GATES_WORDS_H

/* Definitions. */
#define GATES(list)  "{featureGates: [" list "]}"
#define REJECT(list) "{onDisabled: Reject, featureGates: [" list "]}"
#define REMOVABLE(name, path)                                                                      \
    "{name: " name ", preRelease: alpha, allowRemoval: true, fieldPaths: [" path "]}"
#define OFF(name, path) "{name: " name ", preRelease: alpha, fieldPaths: [" path "]}"
#define ON(name, path)  "{name: " name ", preRelease: beta, fieldPaths: [" path "]}"
#define OLD(name, path)                                                                            \
    "{name: " name ", preRelease: deprecated, default: true, fieldPaths: [" path "]}"
#define GONE(name, path)                                                                           \
    "{name: " name ", preRelease: deprecated, default: false, fieldPaths: [" path "]}"

#define R_OFF          GATES(OFF("R", ".spec.replicas"))
#define R_ON           GATES(ON("R", ".spec.replicas"))
#define FOO            ".spec.foo"
#define QUX            ".spec.foo.qux"
#define PAIR(foo, qux) GATES(foo("Foo", FOO) "," qux("Qux", QUX))

/* Objects; what stands in them beside the spec never matters. */
#define SPEC(members) "{metadata: {name: a}, spec: {image: a" members "}}"

/* Warnings. */
#define DROPPED(path, gate) "field " path " was dropped: feature gate " gate " is off"
#define FROZEN(path, gate)  "field " path " was not changed: feature gate " gate " is off"
#define KEPT(path, gate)    "field " path " was not removed: feature gate " gate " is off"
#define LOST(path, gate)                                                                           \
    "field " path " was removed with its parent, although feature gate " gate " is off"
#define USED(path)  "field " path " is deprecated"
#define CANNOT(how) "field .spec.replicas cannot be " how ": feature gate R is off"

/* A Scale, as API servers write it: 0 is left out, and what is not persisted is a sentinel. */
#define SCALE(n)   "{kind: Scale, spec: {replicas: " n "}}"
#define SCALE_ZERO "{kind: Scale, spec: {}}"
#define SCALE_NONE SCALE("-2147483648")

#endif
