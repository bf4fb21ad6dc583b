/* SPDX-License-Identifier: Apache-2.0 */
/* API versions that went before the data begins, in manifests: the deprecation guide of Kubernetes
 * row by row, and alpha versions. */
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects.h"
#include "test/support/suite.h"

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

#define FLOWS "flowcontrol.apiserver.k8s.io/"
#define PSP   "use Pod Security Admission, or an admission webhook"
#define HOOKS "admissionregistration.k8s.io/"
#define ASK   "remove the object, or find out what takes its place: "

/* removed: the minor version. */
static const struct {
    const char *api_version, *kind;
    unsigned removed;
    const char *remedy;
} rows[] = {
    {FLOWS "v1beta3", "FlowSchema", 32, "use " FLOWS "v1"},
    {FLOWS "v1beta3", "PriorityLevelConfiguration", 32, "use " FLOWS "v1"},
    {FLOWS "v1beta2", "FlowSchema", 29, "use " FLOWS "v1"},
    {FLOWS "v1beta2", "PriorityLevelConfiguration", 29, "use " FLOWS "v1"},
    {"storage.k8s.io/v1beta1", "CSIStorageCapacity", 27, "use storage.k8s.io/v1"},
    {FLOWS "v1beta1", "FlowSchema", 26, "use " FLOWS "v1"},
    {FLOWS "v1beta1", "PriorityLevelConfiguration", 26, "use " FLOWS "v1"},
    {"autoscaling/v2beta2", "HorizontalPodAutoscaler", 26, "use autoscaling/v2"},
    {"batch/v1beta1", "CronJob", 25, "use batch/v1"},
    {"discovery.k8s.io/v1beta1", "EndpointSlice", 25, "use discovery.k8s.io/v1"},
    {"events.k8s.io/v1beta1", "Event", 25, "use events.k8s.io/v1"},
    {"autoscaling/v2beta1", "HorizontalPodAutoscaler", 25, "use autoscaling/v2"},
    {"policy/v1beta1", "PodDisruptionBudget", 25, "use policy/v1"},
    {"policy/v1beta1", "PodSecurityPolicy", 25, PSP},
    {"node.k8s.io/v1beta1", "RuntimeClass", 25, "use node.k8s.io/v1"},
    {HOOKS "v1beta1", "MutatingWebhookConfiguration", 22, "use " HOOKS "v1"},
    {HOOKS "v1beta1", "ValidatingWebhookConfiguration", 22, "use " HOOKS "v1"},
    {"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22, "use apiextensions.k8s.io/v1"},
    {"apiregistration.k8s.io/v1beta1", "APIService", 22, "use apiregistration.k8s.io/v1"},
    {"authentication.k8s.io/v1beta1", "TokenReview", 22, "use authentication.k8s.io/v1"},
    {"authorization.k8s.io/v1beta1", "LocalSubjectAccessReview", 22, "use authorization.k8s.io/v1"},
    {"authorization.k8s.io/v1beta1", "SelfSubjectAccessReview", 22, "use authorization.k8s.io/v1"},
    {"authorization.k8s.io/v1beta1", "SubjectAccessReview", 22, "use authorization.k8s.io/v1"},
    {"certificates.k8s.io/v1beta1", "CertificateSigningRequest", 22, "use certificates.k8s.io/v1"},
    {"coordination.k8s.io/v1beta1", "Lease", 22, "use coordination.k8s.io/v1"},
    {"extensions/v1beta1", "Ingress", 22, "use networking.k8s.io/v1"},
    {"networking.k8s.io/v1beta1", "Ingress", 22, "use networking.k8s.io/v1"},
    {"networking.k8s.io/v1beta1", "IngressClass", 22, "use networking.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "ClusterRole", 22, "use rbac.authorization.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding", 22,
     "use rbac.authorization.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "Role", 22, "use rbac.authorization.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "RoleBinding", 22, "use rbac.authorization.k8s.io/v1"},
    {"scheduling.k8s.io/v1beta1", "PriorityClass", 22, "use scheduling.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSIDriver", 22, "use storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSINode", 22, "use storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "StorageClass", 22, "use storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "VolumeAttachment", 22, "use storage.k8s.io/v1"},
    {"extensions/v1beta1", "NetworkPolicy", 16, "use networking.k8s.io/v1"},
    {"extensions/v1beta1", "DaemonSet", 16, "use apps/v1"},
    {"apps/v1beta2", "DaemonSet", 16, "use apps/v1"},
    {"extensions/v1beta1", "Deployment", 16, "use apps/v1"},
    {"apps/v1beta1", "Deployment", 16, "use apps/v1"},
    {"apps/v1beta2", "Deployment", 16, "use apps/v1"},
    {"apps/v1beta1", "StatefulSet", 16, "use apps/v1"},
    {"apps/v1beta2", "StatefulSet", 16, "use apps/v1"},
    {"extensions/v1beta1", "ReplicaSet", 16, "use apps/v1"},
    {"apps/v1beta1", "ReplicaSet", 16, "use apps/v1"},
    {"apps/v1beta2", "ReplicaSet", 16, "use apps/v1"},
    {"extensions/v1beta1", "PodSecurityPolicy", 16, PSP},
    /* Not in the guide. */
    {"resource.k8s.io/v1alpha3", "ResourceClaim", 34, "use resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha2", "ResourceClass", 31, ASK},
    {"networking.k8s.io/v1alpha1", "ClusterCIDR", 29, ASK},
    {"node.k8s.io/v1alpha1", "RuntimeClass", 24, "use node.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1alpha1", "Role", 23, "use rbac.authorization.k8s.io/v1"},
    {"scheduling.k8s.io/v1alpha1", "PriorityClass", 23, "use scheduling.k8s.io/v1"},
    {"batch/v2alpha1", "CronJob", 21, "use batch/v1"},
    {"settings.k8s.io/v1alpha1", "PodPreset", 20, "use a mutating admission policy or webhook"},
    {"auditregistration.k8s.io/v1alpha1", "AuditSink", 19,
     "use --audit-webhook-config-file of the API server"},
    {HOOKS "v1alpha1", "InitializerConfiguration", 14,
     "use " HOOKS "v1 MutatingWebhookConfiguration"},
};

/* The findings for the object from a version (0: none) to another one; the report is the caller's.
 */
static void check(size_t row, unsigned from, unsigned to, struct ek_plan_report *report)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"a\"}}",
                     rows[row].api_version, rows[row].kind);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    struct ek_plan_target target = {&data, from ? EK_MINOR(1, from) : EK_MINOR_UNKNOWN,
                                    EK_MINOR(1, to)};
    struct ek_plan_object object = {.value = yyjson_doc_get_root(doc), .source = "a.yaml"};

    ck_assert_msg(ek_plan_check_object(&target, &object, report), "%s %s is a kind of others",
                  rows[row].api_version, rows[row].kind);
    yyjson_doc_free(doc);
}

static void expect(size_t row, unsigned from, unsigned to, const char *want)
{
    struct ek_plan_report report = {.arena = ek_arena_new((size_t)1 << 20)};

    check(row, from, to, &report);
    EK_AUTOFREE char *got = report.n ? ek_xasprintf("%s %s -> %s", report.list[0].rule,
                                                    report.list[0].message, report.list[0].remedy)
                                     : ek_xstrdup("");
    ck_assert_msg(report.n < 2 && !strncmp(got, want, strlen(want)) && *want == *got,
                  "from %u to %u: expected \"%s\", got %zu: \"%s\"", from, to, want, report.n, got);
    ek_arena_free(report.arena);
}

START_TEST(removals_are_found_with_their_replacement)
{
    unsigned removed = rows[_i].removed;
    EK_AUTOFREE char *want =
        ek_xasprintf("api-removed %s %s is removed in 1.%u -> %s", rows[_i].api_version,
                     rows[_i].kind, removed, rows[_i].remedy);

    expect((size_t)_i, 0, 36, want);
    expect((size_t)_i, removed - 1, 36, want);
    expect((size_t)_i, removed, 36, ""); /* before --from */
}
END_TEST

/* A kind of the source of Kubernetes without a lifecycle, of which servers have another version
 * only, would pass as served. */
START_TEST(no_kind_is_left_without_a_lifecycle)
{
    for (size_t i = 0; i < data.n_kinds; i++) {
        const struct ek_api_lifecycle *kind = &data.kinds[i];
        bool served = false, other = false;
        for (size_t k = 0; k < data.n_resources; k++) {
            const struct ek_api_row *row = &data.resources[k];
            bool same = !strcmp(row->group, kind->group) && !strcmp(row->kind, kind->kind);
            served |= same && !strcmp(row->version, kind->version);
            other |= same && row->stored;
        }
        ck_assert_msg(kind->introduced.known || kind->removed.known || served || !other, "%s/%s %s",
                      kind->group, kind->version, kind->kind);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("retired");

    tcase_add_unchecked_fixture(tc, open_data, close_data);
    tcase_add_loop_test(tc, removals_are_found_with_their_replacement, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, no_kind_is_left_without_a_lifecycle);
    return ek_test_run("retired", tc);
}
