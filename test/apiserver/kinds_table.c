/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in kinds, in the order in which discovery lists their groups. */
#include "api/base/mem.h"
#include "test/apiserver/kinds.h"

#define NS   EK_KIND_NAMESPACED
#define ST   EK_KIND_STATUS
#define GEN  EK_KIND_GENERATION
#define REV  EK_KIND_REVIEW
#define PATH EK_KIND_PATH_NAME
#define OFF  EK_KIND_OFF

#define NAME                                                                                       \
    {                                                                                              \
        "Name", "string", ".metadata.name", 0                                                      \
    }
#define AGE                                                                                        \
    {                                                                                              \
        "Age", "string", "@age", 0                                                                 \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, NULL, 0                                                                        \
    }

static const struct ek_column namespace_columns[] = {
    NAME, {"Status", "string", ".status.phase", 0}, AGE, END};
static const struct ek_column node_columns[] = {
    NAME,
    {"Status", "string", "@node-status", 0},
    {"Roles", "string", "@node-roles", 0},
    AGE,
    {"Version", "string", ".status.nodeInfo.kubeletVersion", 0},
    {"OS-Image", "string", ".status.nodeInfo.osImage", 1},
    {"Kernel-Version", "string", ".status.nodeInfo.kernelVersion", 1},
    {"Container-Runtime", "string", ".status.nodeInfo.containerRuntimeVersion", 1},
    END};
static const struct ek_column pod_columns[] = {NAME,
                                               {"Ready", "string", "@pod-ready", 0},
                                               {"Status", "string", ".status.phase", 0},
                                               {"Restarts", "string", "@pod-restarts", 0},
                                               AGE,
                                               {"IP", "string", ".status.podIP", 1},
                                               {"Node", "string", ".spec.nodeName", 1},
                                               END};
static const struct ek_column configmap_columns[] = {
    NAME, {"Data", "integer", "@count:data", 0}, AGE, END};
static const struct ek_column service_columns[] = {NAME,
                                                   {"Type", "string", ".spec.type", 0},
                                                   {"Cluster-IP", "string", ".spec.clusterIP", 0},
                                                   {"External-IP", "string", "@none", 0},
                                                   {"Port(s)", "string", "@service-ports", 0},
                                                   AGE,
                                                   END};
static const struct ek_column endpoints_columns[] = {
    NAME, {"Endpoints", "string", "@endpoints", 0}, AGE, END};
static const struct ek_column event_columns[] = {{"Last Seen", "string", "@event-age", 0},
                                                 {"Type", "string", ".type", 0},
                                                 {"Reason", "string", ".reason", 0},
                                                 {"Object", "string", "@event-object", 0},
                                                 {"Message", "string", "@event-message", 0},
                                                 {"Name", "string", ".metadata.name", 1},
                                                 END};
static const struct ek_column lease_columns[] = {
    NAME, {"Holder", "string", ".spec.holderIdentity", 0}, AGE, END};
static const struct ek_column candidate_columns[] = {
    NAME,
    {"LeaseName", "string", ".spec.leaseName", 0},
    {"BinaryVersion", "string", ".spec.binaryVersion", 0},
    {"EmulationVersion", "string", ".spec.emulationVersion", 0},
    AGE,
    END};
static const struct ek_column slice_columns[] = {NAME,
                                                 {"AddressType", "string", ".addressType", 0},
                                                 {"Ports", "string", "@slice-ports", 0},
                                                 {"Endpoints", "string", "@slice-endpoints", 0},
                                                 AGE,
                                                 END};
static const struct ek_column crd_columns[] = {
    NAME, {"Created At", "date", ".metadata.creationTimestamp", 0}, END};
static const struct ek_column deployment_columns[] = {
    NAME,
    {"Ready", "string", "@deployment-ready", 0},
    {"Up-to-date", "integer", ".status.updatedReplicas", 0},
    {"Available", "integer", ".status.availableReplicas", 0},
    AGE,
    END};

#define NODE_EMPTY                                                                                 \
    "\"spec\":{},\"status\":{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":0}},\"nodeInfo\":" \
    "{\"machineID\":\"\",\"systemUUID\":\"\",\"bootID\":\"\",\"kernelVersion\":\"\",\"osImage\":"  \
    "\"\",\"containerRuntimeVersion\":\"\",\"kubeletVersion\":\"\",\"kubeProxyVersion\":\"\","     \
    "\"operatingSystem\":\"\",\"architecture\":\"\"}}"
#define SLICE_EMPTY     "\"addressType\":\"\",\"endpoints\":null,\"ports\":null"
#define CANDIDATE_EMPTY "\"spec\":{\"leaseName\":\"\",\"binaryVersion\":\"\"}"
#define SPEC_EMPTY      "\"spec\":{}"
#define BOTH_EMPTY      "\"spec\":{},\"status\":{}"

/* group, version, kind, plural, singular, short names, categories, flags, since, until,
 * subresources, empty, columns */
#define ROW(g, v, k, p, s, sh, ca, f, from, to, sub, e, c)                                         \
    {                                                                                              \
        .group = (g), .version = (v), .kind = (k), .plural = (p), .singular = (s),                 \
        .short_names = (sh), .categories = (ca), .flags = (f), .since = (from), .until = (to),     \
        .subresources = (sub), .empty = (e), .columns = (c)                                        \
    }

#define AUTHN "authentication.k8s.io"
#define AUTHZ "authorization.k8s.io"
#define RBAC  "rbac.authorization.k8s.io"
#define ADM   "admissionregistration.k8s.io"
#define APIX  "api-extensions"
#define RES   "resource.k8s.io"

const struct ek_kind ek_kinds_table[] = {
    ROW("", "v1", "ConfigMap", "configmaps", "configmap", "cm", "", NS, 0, 0, "", "",
        configmap_columns),
    ROW("", "v1", "Endpoints", "endpoints", "endpoints", "ep", "", NS, 0, 0, "", "",
        endpoints_columns),
    ROW("", "v1", "Event", "events", "event", "ev", "", NS, 0, 0, "", "", event_columns),
    ROW("", "v1", "Namespace", "namespaces", "namespace", "ns", "", ST, 0, 0, "finalize",
        BOTH_EMPTY, namespace_columns),
    ROW("", "v1", "Node", "nodes", "node", "no", "", ST | EK_KIND_KEEP_STATUS, 0, 0, "", NODE_EMPTY,
        node_columns),
    ROW("", "v1", "Pod", "pods", "pod", "po", "all", NS | ST | GEN, 0, 0, "", BOTH_EMPTY,
        pod_columns),
    ROW("", "v1", "Secret", "secrets", "secret", "", "", NS, 0, 0, "", "", configmap_columns),
    ROW("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount", "sa", "", NS, 0, 0,
        "token", "", NULL),
    ROW("", "v1", "Service", "services", "service", "svc", "all", NS | ST, 0, 0, "",
        "\"spec\":{},\"status\":{\"loadBalancer\":{}}", service_columns),
    ROW("apps", "v1", "Deployment", "deployments", "deployment", "deploy", "all", NS | ST | GEN, 0,
        0, "", BOTH_EMPTY, deployment_columns),
    ROW("events.k8s.io", "v1", "Event", "events", "event", "ev", "", NS | EK_KIND_EVENTS_V1, 0, 0,
        "", "\"eventTime\":null", event_columns),
    ROW(AUTHN, "v1", "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview", "", "", REV, 0,
        0, "", "", NULL),
    ROW(AUTHN, "v1", "TokenReview", "tokenreviews", "tokenreview", "", "", REV, 0, 0, "", "", NULL),
    ROW(AUTHZ, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
        "selfsubjectaccessreview", "", "", REV, 0, 0, "", "", NULL),
    ROW(AUTHZ, "v1", "SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview", "", "",
        REV, 0, 0, "", "", NULL),
    ROW("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "networkpolicy", "netpol",
        "", NS | GEN, 0, 0, "", SPEC_EMPTY, NULL),
    ROW("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget", "pdb",
        "", NS | ST | GEN, 0, 0, "", BOTH_EMPTY, NULL),
    ROW(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding", "", "", PATH,
        0, 0, "", "", NULL),
    ROW(RBAC, "v1", "ClusterRole", "clusterroles", "clusterrole", "", "", PATH, 0, 0, "", "", NULL),
    ROW(RBAC, "v1", "RoleBinding", "rolebindings", "rolebinding", "", "", NS | PATH, 0, 0, "", "",
        NULL),
    ROW(RBAC, "v1", "Role", "roles", "role", "", "", NS | PATH, 0, 0, "", "", NULL),
    ROW(ADM, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies",
        "mutatingadmissionpolicy", "", APIX, GEN, 36, 0, "", SPEC_EMPTY, NULL),
    ROW(ADM, "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding", "", APIX, 0, 36, 0, "", SPEC_EMPTY, NULL),
    ROW(ADM, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration", "", APIX, GEN, 0, 0, "", "", NULL),
    ROW(ADM, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
        "validatingwebhookconfiguration", "", APIX, GEN, 0, 0, "", "", NULL),
    ROW("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
        "customresourcedefinition", "crd crds", APIX, ST | GEN, 0, 0, "", SPEC_EMPTY, crd_columns),
    ROW("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass", "pc", "",
        GEN, 0, 0, "", "\"value\":0", NULL),
    ROW("coordination.k8s.io", "v1", "Lease", "leases", "lease", "", "", NS, 0, 0, "", SPEC_EMPTY,
        lease_columns),
    ROW("coordination.k8s.io", "v1beta1", "LeaseCandidate", "leasecandidates", "leasecandidate", "",
        "", NS | PATH, 33, 0, "", CANDIDATE_EMPTY, candidate_columns),
    ROW("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice", "", "",
        NS | GEN, 0, 0, "", SLICE_EMPTY, slice_columns),
    ROW(RES, "v1", "DeviceClass", "deviceclasses", "deviceclass", "", "", GEN, 34, 0, "",
        SPEC_EMPTY, NULL),
    ROW(RES, "v1", "ResourceClaim", "resourceclaims", "resourceclaim", "", "", NS | ST, 34, 0, "",
        BOTH_EMPTY, NULL),
    ROW(RES, "v1", "ResourceSlice", "resourceslices", "resourceslice", "", "", GEN, 34, 0, "",
        SPEC_EMPTY, NULL),
    ROW(RES, "v1beta2", "DeviceClass", "deviceclasses", "deviceclass", "", "", GEN | OFF, 33, 0, "",
        SPEC_EMPTY, NULL),
};

const size_t ek_kinds_table_size = EK_ARRAY_SIZE(ek_kinds_table);
