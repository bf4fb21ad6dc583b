/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/policy_list.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

struct word {
    const char *api_version;
    bool native;
    char name[64], of[64], options[16], version[16];
};

static bool has(const struct word *w, char option)
{
    return strchr(w->options, option) != NULL;
}

/* Copies what ends before one of stops; returns what follows. */
static const char *take(const char *p, const char *stops, char *ret, size_t size)
{
    size_t n = strcspn(p, stops);

    ck_assert(n < size);
    memcpy(ret, p, n);
    ret[n] = '\0';
    return p + n;
}

static const char *read_word(const char *p, struct word *w)
{
    *w = (struct word){.api_version = "evenkeel.dev/v1alpha1", .version = "1"};
    if (*p == '!' || *p == '?') {
        w->native = true;
        w->api_version = *p++ == '!' ? "admissionregistration.k8s.io/v1"
                                     : "admissionregistration.k8s.io/v1beta1";
    }
    p = take(p, ">/@ ", w->name, sizeof w->name);
    if (*p == '>')
        p = take(p + 1, "/@ ", w->of, sizeof w->of);
    if (*p == '/')
        p = take(p + 1, "@ ", w->options, sizeof w->options);
    if (*p == '@')
        p = take(p + 1, " ", w->version, sizeof w->version);
    return p + strspn(p, " ");
}

static const char *expression(const struct word *w)
{
    if (has(w, 'x'))
        return "Object{";
    if (has(w, 'd'))
        return "Object{spec: Object.spec{template: Object.spec.template{spec: "
               "Object.spec.template.spec{replicas: 1}}}}";
    return "Object{spec: Object.spec{replicas: 1}}";
}

static char *policy_json(const struct word *w)
{
    const char *enforcement = has(w, 'e') ? "Enforce" : has(w, 'o') ? "Observe" : "Auto";
    EK_AUTOFREE char *own = ek_xasprintf("\"enforcement\":\"%s\",", enforcement);
    EK_AUTOFREE char *annotation =
        ek_xasprintf("\"annotations\":{\"evenkeel.dev/enforcement\":\"%s\"},", enforcement);

    return ek_xasprintf(
        "{\"apiVersion\":\"%s\",\"kind\":\"MutatingAdmissionPolicy\",\"metadata\":{\"name\":\"%s\","
        "%s\"uid\":\"%s%s\",\"resourceVersion\":\"%s\",\"generation\":1},\"spec\":{%s%s"
        "\"failurePolicy\":\"%s\",\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{"
        "\"resourceRules\":[{\"operations\":[\"CREATE\"],%s}]},\"mutations\":[{\"patchType\":"
        "\"ApplyConfiguration\",\"applyConfiguration\":{\"expression\":\"%s\"}%s}]}}",
        w->api_version, w->name, w->native ? annotation : "", has(w, 'n') ? "v-" : "u-", w->name,
        w->version, w->native ? "" : own,
        has(w, 'p') ? "\"paramKind\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}," : "",
        has(w, 'i') ? "Ignore" : "Fail",
        has(w, 'm') ? "\"apiGroups\":[\"apps\"],\"apiVersions\":[\"v1\",\"v1beta1\"],"
                      "\"resources\":[\"deployments\"]"
                    : "\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]",
        expression(w), has(w, 's') ? ",\"safety\":{\"type\":\"Exact\"}" : "");
}

static char *binding_json(const struct word *w)
{
    return ek_xasprintf(
        "{\"apiVersion\":\"%s\",\"kind\":\"MutatingAdmissionPolicyBinding\",\"metadata\":{"
        "\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%s\"},\"spec\":{%s"
        "\"policyName\":\"%s\"}}",
        w->api_version, w->name, w->name, w->version,
        has(w, 'p') ? "\"paramRef\":{\"name\":\"c\",\"namespace\":\"n\","
                      "\"parameterNotFoundAction\":\"Deny\"},"
                    : "",
        w->of);
}

static int compare(const void *a, const void *b)
{
    const struct ek_obj *const *x = a, *const *y = b;
    return strcmp(ek_obj_name(*x), ek_obj_name(*y));
}

static void read_words(const char *text, char *(*to_json)(const struct word *w),
                       struct ek_obj **own, struct ek_obj **native,
                       struct ek_mutation_objects *ret_own, struct ek_mutation_objects *ret_native)
{
    struct ek_err err = {0};
    struct word w;

    *ret_own = (struct ek_mutation_objects){.items = own};
    *ret_native = (struct ek_mutation_objects){.items = native};
    for (const char *p = text; *p;) {
        p = read_word(p, &w);
        EK_AUTOFREE char *json = to_json(&w);
        struct ek_mutation_objects *to = w.native ? ret_native : ret_own;
        ck_assert(to->n < TEST_POLICY_LIST_MAX);
        ck_assert_msg(!ek_obj_parse(json, strlen(json), &(w.native ? native : own)[to->n++], &err),
                      "%s: %s", json, err.message);
    }
    qsort(own, ret_own->n, sizeof *own, compare);
    qsort(native, ret_native->n, sizeof *native, compare);
}

void test_policy_list_init(struct test_policy_list *list, const char *policies,
                           const char *bindings)
{
    struct ek_mutation_inputs *in = &list->inputs;

    *list = (struct test_policy_list){.inputs = {.serving = true}};
    read_words(policies, policy_json, list->items[0], list->items[1], &in->own_policies,
               &in->native_policies);
    read_words(bindings, binding_json, list->items[2], list->items[3], &in->own_bindings,
               &in->native_bindings);
}

void test_policy_list_done(struct test_policy_list *list)
{
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < TEST_POLICY_LIST_MAX; i++)
            ek_obj_unref(list->items[kind][i]);
}
