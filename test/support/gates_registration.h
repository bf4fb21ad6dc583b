/* SPDX-License-Identifier: Apache-2.0 */
/* What is registered for gated kinds, made for tests. A failure fails the test that runs. */
#ifndef TEST_SUPPORT_GATES_REGISTRATION_H
#define TEST_SUPPORT_GATES_REGISTRATION_H

#include "api/obj.h"
#include "reconcilers/fieldgates/registration.h"

/* Gates in YAML flow; the CRD is namespaced, with /status and with /scale at .spec.replicas. */
#define ALPHA(name, path) "{name: " name ", preRelease: alpha, fieldPaths: [" path "]}"
#define BETA(name, path)  "{name: " name ", preRelease: beta, fieldPaths: [" path "]}"
#define OLD(name, path)                                                                            \
    "{name: " name ", preRelease: deprecated, default: true, fieldPaths: [" path "]}"
#define IGNORE(name, path)                                                                         \
    "{name: " name ", preRelease: alpha, failurePolicy: Ignore, fieldPaths: [" path "]}"

/* The two configurations. */
struct test_registration {
    yyjson_mut_doc *doc;
    yyjson_mut_val *mutating, *validating;
    const char *hash;
    struct ek_obj *contents[2];
};

/* YAML. Owned. */
yyjson_doc *test_registration_yaml(const char *text);

/* The definition of that name with gates, a list in YAML flow. Released by ek_gates_unref. */
const struct ek_gates *test_registration_gates(const char *name, const char *gates);

/* CronTab of stable.example.com, v1. */
struct ek_gates_crd test_registration_crontabs(void);

/* Writes the configurations of n kinds; bundle may be NULL. Released by test_registration_done. */
void test_registration_make(const struct ek_gates_registered *kinds, size_t n, const char *bundle,
                            struct test_registration *m);
void test_registration_done(struct test_registration *m);

#endif
