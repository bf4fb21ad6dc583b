/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds that went before the data begins, and of which the newest binary has no lifecycle.
 *
 * Sources: APILifecycleIntroduced, -Deprecated and -Removed of the releases of k8s.io/api that had
 * the kind; where these declare nothing, or the kind went earlier than declared, the first release
 * without the kind; the deprecation guide of Kubernetes. Go types that outlived their API have the
 * release of the release notes: rbac.authorization.k8s.io/v1alpha1 and scheduling.k8s.io/v1alpha1
 * of PriorityClass (kubernetes#104248), node.k8s.io/v1alpha1 (kubernetes#103061).
 */
#include "reconcilers/plan/data-internal.h"

#include <string.h>

#define PSP      "use Pod Security Admission, or an admission webhook"
#define CRD      "apiextensions.k8s.io", "v1", "CustomResourceDefinition"
#define WEBHOOKS "admissionregistration.k8s.io", "v1"
#define RBAC     "rbac.authorization.k8s.io", "v1alpha1"
#define DRA1     "resource.k8s.io", "v1alpha1"
#define DRA2     "resource.k8s.io", "v1alpha2"
#define DRA3     "resource.k8s.io", "v1alpha3"
#define FLOWS    "flowcontrol.apiserver.k8s.io", "v1alpha1"
#define NETWORK  "networking.k8s.io", "v1alpha1"
#define NOTHING  NULL, NULL, NULL
#define SAME     NOTHING /* the newest version of the group */

static const struct {
    const char *group, *version, *kind;
    unsigned introduced, deprecated, removed; /* minor versions; 0: not declared */
    const char *new_group, *new_version, *new_kind, *instead;
} retired[] = {
    {"admissionregistration.k8s.io", "v1alpha1", "ExternalAdmissionHookConfiguration", 7, 0, 9,
     WEBHOOKS, "ValidatingWebhookConfiguration", NULL},
    {"admissionregistration.k8s.io", "v1alpha1", "InitializerConfiguration", 7, 0, 14, WEBHOOKS,
     "MutatingWebhookConfiguration", NULL},
    {"apps", "v1beta1", "ReplicaSet", 0, 0, 16, "apps", "v1", "ReplicaSet", NULL},
    {"auditregistration.k8s.io", "v1alpha1", "AuditSink", 13, 0, 19, NOTHING,
     "use --audit-webhook-config-file of the API server"},
    {"autoscaling", "v2beta1", "HorizontalPodAutoscaler", 8, 22, 25, "autoscaling", "v2",
     "HorizontalPodAutoscaler", NULL},
    {"autoscaling", "v2beta2", "HorizontalPodAutoscaler", 12, 23, 26, "autoscaling", "v2",
     "HorizontalPodAutoscaler", NULL},
    {"batch", "v2alpha1", "CronJob", 0, 0, 21, SAME, NULL},
    {"certificates.k8s.io", "v1alpha1", "PodCertificateRequest", 34, 0, 35, SAME, NULL},
    {"coordination.k8s.io", "v1alpha1", "LeaseCandidate", 31, 0, 32, SAME, NULL},
    {"discovery.k8s.io", "v1alpha1", "EndpointSlice", 16, 0, 21, SAME, NULL},
    {"extensions", "v1beta1", "PodSecurityPolicy", 2, 11, 16, NOTHING, PSP},
    {"extensions", "v1beta1", "ThirdPartyResource", 0, 0, 8, CRD, NULL},
    {FLOWS, "FlowSchema", 18, 20, 21, SAME, NULL},
    {FLOWS, "PriorityLevelConfiguration", 18, 20, 21, SAME, NULL},
    {NETWORK, "ClusterCIDR", 25, 28, 29, NOTHING, NULL},
    {NETWORK, "IPAddress", 27, 30, 33, SAME, NULL},
    {NETWORK, "ServiceCIDR", 27, 30, 33, SAME, NULL},
    {"node.k8s.io", "v1alpha1", "RuntimeClass", 14, 0, 24, SAME, NULL},
    {"policy", "v1beta1", "PodSecurityPolicy", 10, 21, 25, NOTHING, PSP},
    {RBAC, "ClusterRole", 3, 17, 23, SAME, NULL},
    {RBAC, "ClusterRoleBinding", 3, 17, 23, SAME, NULL},
    {RBAC, "Role", 3, 17, 23, SAME, NULL},
    {RBAC, "RoleBinding", 3, 17, 23, SAME, NULL},
    {DRA1, "PodScheduling", 26, 0, 27, NOTHING, NULL},
    {DRA1, "ResourceClaim", 26, 0, 27, SAME, NULL},
    {DRA1, "ResourceClaimTemplate", 26, 0, 27, SAME, NULL},
    {DRA1, "ResourceClass", 26, 0, 27, NOTHING, NULL},
    {DRA2, "PodSchedulingContext", 27, 0, 31, NOTHING, NULL},
    {DRA2, "ResourceClaim", 27, 0, 31, SAME, NULL},
    {DRA2, "ResourceClaimParameters", 30, 0, 31, NOTHING, NULL},
    {DRA2, "ResourceClaimTemplate", 27, 0, 31, SAME, NULL},
    {DRA2, "ResourceClass", 27, 0, 31, NOTHING, NULL},
    {DRA2, "ResourceClassParameters", 30, 0, 31, NOTHING, NULL},
    {DRA2, "ResourceSlice", 30, 0, 31, SAME, NULL},
    {DRA3, "DeviceClass", 31, 0, 34, SAME, NULL},
    {DRA3, "PodSchedulingContext", 31, 0, 32, NOTHING, NULL},
    {DRA3, "ResourceClaim", 31, 0, 34, SAME, NULL},
    {DRA3, "ResourceClaimTemplate", 31, 0, 34, SAME, NULL},
    {DRA3, "ResourceSlice", 31, 0, 34, SAME, NULL},
    {"scheduling.k8s.io", "v1alpha1", "PriorityClass", 8, 14, 23, SAME, NULL},
    {"scheduling.k8s.io", "v1alpha1", "Workload", 35, 0, 36, SAME, NULL},
    {"settings.k8s.io", "v1alpha1", "PodPreset", 6, 0, 20, NOTHING,
     "use a mutating admission policy or webhook"},
    {"storagemigration.k8s.io", "v1alpha1", "StorageVersionMigration", 30, 33, 35, SAME, NULL},
};

const size_t ek_plan_n_retired = EK_ARRAY_SIZE(retired);

static struct ek_minor minor(unsigned number)
{
    return number ? EK_MINOR(1, number) : EK_MINOR_UNKNOWN;
}

static bool is_same(const struct ek_api_lifecycle *kind, size_t i)
{
    return !strcmp(kind->group, retired[i].group) && !strcmp(kind->version, retired[i].version) &&
           !strcmp(kind->kind, retired[i].kind);
}

static void put(size_t i, struct ek_api_lifecycle *ret)
{
    *ret = (struct ek_api_lifecycle){
        .group = retired[i].group,
        .version = retired[i].version,
        .kind = retired[i].kind,
        .introduced = minor(retired[i].introduced),
        .deprecated = minor(retired[i].deprecated),
        .removed = minor(retired[i].removed),
        .new_group = retired[i].new_group,
        .new_version = retired[i].new_version,
        .new_kind = retired[i].new_kind,
        .instead = retired[i].instead,
        .retired = true,
    };
}

size_t ek_plan_add_retired(struct ek_api_lifecycle *kinds, size_t n)
{
    size_t n_read = n, at;

    for (size_t i = 0; i < EK_ARRAY_SIZE(retired); i++) {
        for (at = 0; at < n_read && !is_same(&kinds[at], i);)
            at++;
        /* The data wins, but for Go types without a lifecycle, which no server serves. */
        if (at == n_read)
            put(i, &kinds[n++]);
        else if (!kinds[at].introduced.known && !kinds[at].removed.known)
            put(i, &kinds[at]);
    }
    return n;
}
