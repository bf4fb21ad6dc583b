/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world for the mutation engine in tables: namespaces, params, schemas and permissions are JSON
 * that a test writes down. For tests, benches and fuzzers; one thread. Failures to build it end the
 * program.
 */
#ifndef TEST_SUPPORT_MUTATION_WORLD_H
#define TEST_SUPPORT_MUTATION_WORLD_H

#include "reconcilers/mutation/engine.h"

#define TEST_MUTATION_MAX 256

struct test_mutation_world {
    struct ek_mutation_world world; /* what the engine is given */
    struct ek_schema *schema;
    yyjson_doc *namespaces;   /* {name: Namespace} */
    yyjson_doc *params;       /* [object] */
    const char *cluster_kind; /* of params that live in no namespace; NULL: none */
    const char *unknown_kind; /* of params that the server does not know; NULL: none */
    bool allow;               /* what authorizer checks answer */
    bool broken_namespace;    /* Namespaces cannot be read */
    bool pending_namespace;   /* the next question is answered "not known yet", once each */
    bool pending_params, pending_schema, pending_authorize;
    unsigned asked; /* lookups so far */
    const struct ek_policy *policies[TEST_MUTATION_MAX];
    const struct ek_binding *bindings[TEST_MUTATION_MAX];
    struct ek_bound bound[TEST_MUTATION_MAX];
    struct ek_policy_set set; /* in the order of adding */
};

/* A world with ConfigMaps, Pods and Deployments cut down to a few fields, one namespace "shop"
 * {team: a}, and no policies. */
void test_mutation_open(struct test_mutation_world *w);

/* The same over the schemas of an OpenAPI document in a file; false when it is not there. */
bool test_mutation_open_file(struct test_mutation_world *w, const char *path);
void test_mutation_close(struct test_mutation_world *w);

/* Replaces the namespaces, or the params. JSON with ' for ". */
void test_mutation_set_namespaces(struct test_mutation_world *w, const char *json);
void test_mutation_set_params(struct test_mutation_world *w, const char *json);

/*
 * Adds a policy and a binding of it with the same name. spec and binding_spec are the members of
 * their specs beside what they need ("'failurePolicy': 'Ignore'"); a policy without
 * matchConstraints matches everything, one without reinvocationPolicy is Never. JSON with ' for ",
 * and ` for ' within it. Returns the bound policy, to be changed at will.
 */
struct ek_bound *test_mutation_add(struct test_mutation_world *w, const char *name,
                                   const char *spec, const char *binding_spec);

/* The same with one ApplyConfiguration. */
struct ek_bound *test_mutation_apply(struct test_mutation_world *w, const char *name,
                                     const char *expression);

/* Reads JSON with ' for " and ` for '. Owned. */
yyjson_doc *test_mutation_json(const char *json);

/* Makes a request, whose document is the caller's to free, out of its members in such JSON; what a
 * creation of a ConfigMap in "shop" has is there already. */
yyjson_doc *test_mutation_request(const char *members, struct ek_admission_request *ret_request);

#endif
