/* SPDX-License-Identifier: Apache-2.0 */
/* Gated kinds of a small cluster, for tests: CustomFeatureGates and CRDs in a line each. */
#ifndef TEST_SUPPORT_GATES_KINDS_H
#define TEST_SUPPORT_GATES_KINDS_H

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/yaml.h"
#include "reconcilers/fieldgates/kinds.h"

static inline struct ek_obj *test_object(const char *yaml)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_msg(ek_yaml_parse(yaml, strlen(yaml), 1 << 20, &doc, &err) == 0, "%s: %s", yaml,
                  err.message);
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return obj;
}

/* A CustomFeatureGates; more: members after spec, with a leading comma, or "". */
static inline struct ek_obj *test_gates(const char *name, const char *uid, int generation,
                                        const char *gates, const char *more)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{apiVersion: evenkeel.dev/v1alpha1, kind: CustomFeatureGates, metadata: "
                     "{name: %s, uid: %s, generation: %d, resourceVersion: '7'}, spec: "
                     "{featureGates: [%s]}%s}",
                     name, uid, generation, gates, more);
    return test_object(text);
}

/* A CRD with the fields a, b and must (required) in .spec; annotations in YAML flow. */
static inline struct ek_obj *test_crd(const char *plural, const char *uid, const char *version,
                                      const char *annotations)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "
        "%s.stable.example.com, uid: %s, resourceVersion: '%s', annotations: {%s}}, spec: {group: "
        "stable.example.com, scope: Namespaced, names: {plural: %s, kind: Kind}, versions: [{name: "
        "v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: "
        "{spec: {type: object, required: [must], properties: {a: {type: string}, b: {type: "
        "string}, must: {type: string}}}}}}}]}, status: {conditions: [{type: Established, status: "
        "'True'}]}}",
        plural, uid, version, annotations, plural);
    return test_object(text);
}

#define TEST_ALPHA(name, path) "{name: " name ", preRelease: alpha, fieldPaths: [" path "]}"
#define TEST_ON(name, path)    "{name: " name ", preRelease: beta, fieldPaths: [" path "]}"

/* The webhook's address and namespace. */
#define TEST_WEBHOOKS                                                                              \
    {                                                                                              \
        .service_namespace = "evenkeel-system", .service_name = "evenkeel-webhook",                \
        .ca_bundle = "PEM", .own_namespace = "evenkeel-system"                                     \
    }

#endif
