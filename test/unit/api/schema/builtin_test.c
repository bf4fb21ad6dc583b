/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "test/support/suite.h"

static const struct {
    const char *group, *version, *kind;
    int since, until; /* minors; 0: always */
    const char *path; /* a field to be found */
} rows[] = {
    {"", "v1", "Pod", 0, 0, "spec.containers.image"},
    {"", "v1", "ConfigMap", 0, 0, "data.any"},
    {"", "v1", "Namespace", 0, 0, "metadata.labels.x"},
    {"apps", "v1", "Deployment", 0, 0, "spec.template.spec.containers.resources.limits.cpu"},
    {"autoscaling", "v1", "Scale", 0, 0, "spec.replicas"},
    {"policy", "v1", "Eviction", 0, 0, "deleteOptions"},
    {"batch", "v1", "CronJob", 0, 0, "spec.jobTemplate.spec.template.spec.nodeName"},
    {"networking.k8s.io", "v1", "Ingress", 0, 0, "spec.rules.host"},
    {"rbac.authorization.k8s.io", "v1", "ClusterRole", 0, 0, "rules.verbs"},
    {"resource.k8s.io", "v1", "ResourceClaim", 34, 0, "spec.devices"},
    {"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", 36, 0, "spec.mutations"},
    {"networking.k8s.io", "v1beta1", "IPAddress", 0, 0, "spec.parentRef.name"},
};

/* The schema of 1.minor, when it has the kind. */
static int open_with(int minor, const char *group, const char *version, const char *kind,
                     struct ek_schema **ret_schema, struct ek_err *err)
{
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
    uint32_t type;
    int rc = ek_schema_builtin_open(minor, &schema, err);

    if (!rc)
        rc = ek_schema_find_kind(schema, group, version, kind, &type, err);
    if (!rc)
        *ret_schema = ek_schema_ref(schema);
    return rc;
}

START_TEST(kinds_are_there_when_served)
{
    const int minor = EK_BUILTIN_MINOR_MIN + _i;

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
        struct ek_err err = {0};
        uint32_t type, end;
        bool want = minor >= rows[i].since && (!rows[i].until || minor <= rows[i].until);
        int rc = open_with(minor, rows[i].group, rows[i].version, rows[i].kind, &schema, &err);
        ck_assert_msg((rc == 0) == want, "1.%d %s: %d %s", minor, rows[i].kind, rc, err.message);
        if (rc)
            continue;
        ck_assert_int_eq(
            ek_schema_find_kind(schema, rows[i].group, rows[i].version, rows[i].kind, &type, &err),
            0);
        ck_assert_msg(!ek_schema_resolve(schema, type, ek_str_from(rows[i].path), &end, &err),
                      "1.%d %s: %s", minor, rows[i].kind, err.message);
    }
}
END_TEST

START_TEST(lists_merge_as_they_are_declared)
{
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
    struct ek_err err = {0};
    uint32_t type;

    ck_assert_int_eq(open_with(36, "", "v1", "Pod", &schema, &err), 0);
    ck_assert_int_eq(ek_schema_find_kind(schema, "", "v1", "Pod", &type, &err), 0);
    const char *const steps[] = {"spec", "containers"};
    for (size_t i = 0; i < EK_ARRAY_SIZE(steps); i++)
        type = ek_schema_member(schema, ek_schema_type(schema, type), ek_str_from(steps[i]));
    const struct ek_schema_type *t = ek_schema_type(schema, type);
    ck_assert_int_eq(t->list, EK_LIST_MAP);
    ck_assert_uint_eq(t->n_keys, 1);
    ck_assert_str_eq(ek_schema_key(schema, t, 0).p, "name");
    const struct ek_schema_type *c = ek_schema_type(schema, t->item);
    uint32_t args = ek_schema_member(schema, c, EK_STR("args"));
    ck_assert_int_eq(ek_schema_type(schema, args)->list, EK_LIST_ATOMIC);
    /* A key that a port leaves out has its default. */
    uint32_t ports = ek_schema_member(schema, c, EK_STR("ports"));
    const struct ek_schema_type *port = ek_schema_type(schema, ek_schema_type(schema, ports)->item);
    ck_assert_uint_ne(ek_schema_field(schema, port, EK_STR("protocol"))->initial, EK_SCHEMA_NONE);
}
END_TEST

START_TEST(each_resource_has_its_kind)
{
    size_t n;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);

    ck_assert_uint_gt(n, 100);
    for (size_t i = 0; i < n; i++)
        for (int m = EK_BUILTIN_MINOR_MIN; m <= EK_BUILTIN_MINOR_MAX; m++) {
            EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
            struct ek_err err = {0};
            /* Options of connections have no body, so that no document has them. */
            if (!ek_builtin_serves(&all[i], m) || strstr(all[i].kind, "Options"))
                continue;
            ck_assert_msg(
                !open_with(m, all[i].kind_group, all[i].kind_version, all[i].kind, &schema, &err),
                "1.%d %s: %s", m, all[i].resource, err.message);
        }
}
END_TEST

START_TEST(other_versions_are_errors)
{
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_schema_builtin_open(EK_BUILTIN_MINOR_MIN - 1, &schema, &err), EK_E_NOENT);
    ck_assert_int_eq(ek_schema_builtin_open(EK_BUILTIN_MINOR_MAX + 1, &schema, &err), EK_E_NOENT);
    ck_assert_msg(strstr(err.message, "it has 1.") != NULL, "%s", err.message);
    ck_assert_int_eq(open_with(36, "apps", "v1", "Deploymnt", &schema, &err), EK_E_NOENT);
    ck_assert_ptr_null(schema);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("builtin");
    tcase_add_loop_test(tc, kinds_are_there_when_served, 0,
                        EK_BUILTIN_MINOR_MAX - EK_BUILTIN_MINOR_MIN + 1);
    tcase_add_test(tc, lists_merge_as_they_are_declared);
    tcase_add_test(tc, each_resource_has_its_kind);
    tcase_add_test(tc, other_versions_are_errors);
    return ek_test_run("builtin", tc);
}
