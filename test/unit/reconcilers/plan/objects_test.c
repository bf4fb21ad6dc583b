/* SPDX-License-Identifier: Apache-2.0 */
/* What an upgrade changes for objects: rows with a manifest, two versions and the findings. */
#include "reconcilers/plan/objects.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "test/support/suite.h"

#define INPUT_MAX ((size_t)1 << 20)

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

#define CIDR      "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\n"
#define VAP(gv)   "apiVersion: admissionregistration.k8s.io/" gv "\nkind: ValidatingAdmissionPolicy\n"
#define POD(spec) "apiVersion: v1\nkind: Pod\nspec: " spec "\n"
#define VALIDATION(text)                                                                           \
    VAP("v1") "spec: {validations: [{expression: 'true'}, {expression: '" text "'}]}\n"
#define SERVER(flags)                                                                              \
    POD("{containers: [{name: a, image: b}, {name: c, command: [/bin/kube-apiserver], args: "      \
        "[" flags "]}]}")
#define WEBHOOK(groups, versions, resources)                                                       \
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"          \
    "webhooks: [{name: a, rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods]}, "       \
    "{apiGroups: [" groups "], apiVersions: [" versions "], resources: [" resources "]}]}]\n"
#define STORED(versions)                                                                           \
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {versions: "       \
    "[{name: v1, served: true}, {name: v1beta1, served: false}]}\nstatus: {storedVersions: "       \
    "[" versions "]}\n"
#define CONVERSION(more, metadata)                                                                 \
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {" metadata    \
    "}\nspec: {conversion: {strategy: Webhook, webhook: {" more "}}}\n"
#define REVIEWS       "conversionReviewVersions: [v1]"
#define SERVICE(more) "clientConfig: {service: {name: a, namespace: b}" more "}"
#define REVIEWED(list)                                                                             \
    CONVERSION(SERVICE(", caBundle: eA==") ", conversionReviewVersions: [" list "]", "")
#define DEVICES(text)                                                                              \
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nspec: {selectors: [{cel: {expression: "    \
    "'" text "'}}]}\n"
#define AUTHORIZATION(text)                                                                        \
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: "      \
    "[{type: "                                                                                     \
    "Webhook, webhook: {matchConditions: [{expression: '" text "'}]}}]\n"
#define AUTHENTICATION(members)                                                                    \
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{" members   \
    "}]\n"
#define POLICY_OF_CLAIMS                                                                           \
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nspec: "         \
    "{validations: [{expression: 'claims.sub == \"a\"'}]}\n"
#define KUBEADM(version, args)                                                                     \
    "apiVersion: kubeadm.k8s.io/" version                                                          \
    "\nkind: ClusterConfiguration\napiServer: {extraArgs: " args "}\n"

/* from: 0 without; findings: "severity rule field: message" lines, of which message may be left
 * out. */
static const struct {
    const char *name, *object;
    unsigned from, to;
    const char *want;
    bool other; /* the object is of no kind of Kubernetes */
} rows[] = {
    /* API versions */
    {"deprecated between the two", CIDR, 33, 34,
     "warning api-deprecated : networking.k8s.io/v1beta1 ServiceCIDR is deprecated since 1.34 and "
     "removed in 1.37 -> use networking.k8s.io/v1\n",
     false},
    {"deprecated before", CIDR, 34, 36, "", false},
    {"deprecated after", CIDR, 32, 33, "", false},
    {"removed between", CIDR, 36, 37,
     "error api-removed : networking.k8s.io/v1beta1 ServiceCIDR is removed in 1.37 -> use "
     "networking.k8s.io/v1\n",
     false},
    {"removed before", CIDR, 37, 38, "", false},
    {"removed before, without a first version", CIDR, 0, 38, "error api-removed :", false},
    {"a kind that is no resource", "apiVersion: autoscaling/v1\nkind: Scale\n", 0, 36, "", false},
    {"not introduced at the target", VAP("v1"), 28, 29,
     "error api-not-served : admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy is served "
     "only since 1.30 -> use a version that the target serves\n",
     false},
    {"not introduced at the first version", VAP("v1"), 29, 30, "warning api-rollback :", false},
    {"no declared replacement: the newest version of the group", VAP("v1beta1"), 33, 34,
     "error api-removed : admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy is "
     "removed "
     "in 1.34 -> use admissionregistration.k8s.io/v1\n",
     false},
    {"the replacement of a replacement",
     "apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: FlowSchema\n", 28, 32,
     "error api-removed : flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema is removed in 1.29 -> "
     "use "
     "flowcontrol.apiserver.k8s.io/v1\n",
     false},
    {"a replacement that is not on by default",
     "apiVersion: certificates.k8s.io/v1alpha1\nkind: ClusterTrustBundle\n", 36, 37,
     "error api-removed : certificates.k8s.io/v1alpha1 ClusterTrustBundle is removed in 1.37 -> "
     "use "
     "certificates.k8s.io/v1beta1, which API servers serve only with --runtime-config\n",
     false},
    {"another kind takes the place", "apiVersion: v1\nkind: Endpoints\n", 32, 33,
     "warning api-deprecated : v1 Endpoints is deprecated since 1.33 -> use discovery.k8s.io/v1 "
     "EndpointSlice\n",
     false},
    {"nothing takes the place",
     "apiVersion: extensions/v1beta1\nkind: DeploymentRollback\nmetadata: {name: a}\n", 0, 36,
     "error api-removed :", false},
    {"no such kind at the version of the data", "apiVersion: apps/v1\nkind: Deploymnt\n", 0, 36,
     "error api-unknown : Kubernetes 1.36.2 does not have apps/v1 Deploymnt", false},
    {"gone before the first version",
     "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\n", 33, 36, "", false},
    {"no such kind, perhaps yet to come", "apiVersion: apps/v2\nkind: Deployment\n", 0, 37,
     "unknown api-unknown :", false},
    {"a custom resource", "apiVersion: example.com/v1beta1\nkind: Pod\n", 33, 36, "", true},
    {"no kind", "apiVersion: v1\n", 33, 36, "", true},

    /* Fields */
    {"the target does not know the field yet", POD("{schedulingGroup: {podGroupName: a}}"), 0, 35,
     "error field-unknown spec.schedulingGroup: Pod has the field only since 1.36: the target "
     "drops "
     "it -> remove the field\n",
     false},
    {"the target knows the field", POD("{schedulingGroup: {}}"), 0, 36, "", false},
    {"lost on the way back", POD("{schedulingGroup: {}}"), 35, 36,
     "warning field-rollback spec.schedulingGroup:", false},
    {"known to both", POD("{containers: [{restartPolicyRules: []}]}"), 34, 36, "", false},
    {"gone before a target beyond the data", POD("{workloadRef: {name: a}}"), 35, 37,
     "error field-gone spec.workloadRef: Pod has no such field since 1.36: the target drops it -> "
     "remove the field\n",
     false},
    {"gone before both, beyond the data", POD("{workloadRef: {name: a}}"), 36, 37, "", false},
    {"newer than a target before the data", POD("{schedulingGroup: {}}"), 0, 32,
     "error field-unknown spec.schedulingGroup: Pod has the field only since 1.36: ", false},
    {"newer than a way back before the data", POD("{schedulingGroup: {}}"), 32, 36,
     "warning field-rollback spec.schedulingGroup:", false},
    {"null is no field yet", POD("{schedulingGroup: null}"), 0, 35, "", false},
    {"null is no field any more", POD("{workloadRef: null}"), 34, 36, "", false},
    {"null is not lost on the way back", POD("{schedulingGroup: null}"), 35, 36, "", false},
    {"neither knows the field: once", POD("{schedulingGroup: {}}"), 33, 35,
     "error field-unknown spec.schedulingGroup:", false},
    {"the kind went",
     "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nspec: {podGroups: "
     "[{name: a}]}\n",
     35, 36,
     "error api-removed : scheduling.k8s.io/v1alpha1 Workload is removed in 1.36 -> use "
     "scheduling.k8s.io/v1alpha2, which API servers serve only with --runtime-config\n",
     false},

    /* Expressions */
    {"the target refuses", VALIDATION("[2, 1].sort() == [1, 2]"), 0, 34,
     "error expression spec.validations[1].expression: 1.34 refuses the expression: undeclared "
     "reference to 'sort'",
     false},
    {"refused on the way back", VALIDATION("[2, 1].sort() == [1, 2]"), 34, 35,
     "warning expression-rollback spec.validations[1].expression:", false},
    {"both compile", VALIDATION("[2, 1].sort() == [1, 2]"), 35, 36, "", false},
    {"both refuse, a newer one compiles", VALIDATION("[2, 1].sort() == [1, 2]"), 33, 34,
     "error expression spec.validations[1].expression:", false},
    {"broken at any version", VALIDATION("object.spec <"), 35, 36,
     "unknown expression-broken spec.validations[1].expression: no version up to 1.37 compiles the "
     "expression: Syntax error",
     false},
    {"no environment of the target", VALIDATION("true"), 36, 38,
     "unknown expression spec.validations[0].expression: the CEL environment of the target is not "
     "known -> use a release of Evenkeel that knows the target\n"
     "unknown expression spec.validations[1].expression:",
     false},
    {"rules of a definition",
     "apiVersion: apiextensions.k8s.io/v1\nkind: "
     "CustomResourceDefinition\nspec: {versions: [{schema: {openAPIV3Schema: {properties: {spec: "
     "{items: {additionalProperties: {x-kubernetes-validations: [{rule: 'self.sort() == [1]', "
     "messageExpression: '1 +'}]}}}}}}}]}\n",
     33, 34,
     "error expression spec.versions[0].schema.openAPIV3Schema.properties.spec.items."
     "additionalProperties.x-kubernetes-validations[0].rule: 1.34 refuses the expression: "
     "undeclared reference to 'sort' (in container '') -> use functions that the target has in new "
     "expressions\n"
     "unknown expression-broken spec.versions[0].schema.openAPIV3Schema.properties.spec.items."
     "additionalProperties.x-kubernetes-validations[0].messageExpression:",
     false},
    {"a request with alternatives",
     "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nspec: {devices: {requests: "
     "[{firstAvailable: [{selectors: [{cel: {expression: '[1].sort() == [1]'}}]}]}]}}\n",
     0, 34,
     "error expression spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression:",
     false},
    {"a request with alternatives, in a template",
     "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nspec: {spec: {devices: "
     "{requests: [{firstAvailable: [{selectors: [{cel: {expression: '[1].sort() == [1]'}}]}]}]}}}"
     "\n",
     0, 34,
     "error expression "
     "spec.spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression:",
     false},
    {"mutations",
     "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\n"
     "spec: {mutations: [{applyConfiguration: {expression: 'Object{spec: Object.spec{a: 1}}'}}, "
     "{jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/a\"}]'}}]}\n",
     36, 36, "", false},
    {"an authorizer",
     VALIDATION("authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()"), 35, 36, "",
     false},

    /* Flags */
    {"a gate that the target does not have", SERVER("--feature-gates=Nope=true"), 35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: unrecognized "
     "feature gate: Nope -> remove the gate",
     false},
    {"an older target may have the gate", SERVER("--feature-gates=Nope=true"), 33, 34,
     "unknown flag spec.containers[1].args[0]: 1.36.2 has no feature gate Nope; 1.34 may have it",
     false},
    {"a locked gate", SERVER("--v=2, --feature-gates=DynamicResourceAllocation=false"), 34, 36,
     "error flag spec.containers[1].args[1]:", false},
    {"the gate is not locked yet", SERVER("--feature-gates=DynamicResourceAllocation=false"), 33,
     34, "", false},
    {"no longer emulated", SERVER("--emulated-version=1.32"), 35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: emulation version "
     "1.32 is not between [1.33, 1.36.0] -> correct the flag before the upgrade\n"
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: "
     "minCompatibilityVersion version 1.33 is not between [1.33, 1.32]",
     false},
    {"a dependency that is off", SERVER("--v=2, --feature-gates=GangScheduling=true"), 35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not start: GangScheduling is "
     "enabled, but depends on features that are disabled: [GenericWorkload] -> set both gates",
     false},
    {"an older target may not declare the dependency",
     SERVER("--feature-gates=GangScheduling=true"), 34, 35,
     "unknown flag spec.containers[1].args[0]: with the dependencies of 1.36.2, 1.35 does "
     "not start: GangScheduling",
     false},
    {"no dependencies before 1.35",
     SERVER("--feature-gates=DRAPrioritizedList=true"
            ", --feature-gates="
            "DynamicResourceAllocation=false"),
     33, 34, "", false},
    {"a flag that the target does not have", SERVER("--min-compatibility-version=1.33"), 33, 34,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.34 does not have the flag "
     "--min-compatibility-version -> remove the flag",
     false},
    {"emulated", SERVER("--emulated-version=1.35"), 35, 36, "", false},
    {"gates of a version that is not known", SERVER("--feature-gates=Nope=true"), 36, 37,
     "unknown flag spec.containers[1].args[0]: the feature gates of 1.37 are not known", false},
    {"no gates", SERVER("--v=2"), 36, 37, "", false},
    {"another program", POD("{containers: [{command: [etcd, --feature-gates=Nope=true]}]}"), 35, 36,
     "", false},
    {"kubeadm, a list", KUBEADM("v1beta4", "[{name: feature-gates, value: Nope=true}]"), 35, 36,
     "error flag apiServer.extraArgs[0].value:", false},
    {"kubeadm, a map", KUBEADM("v1beta3", "{feature-gates: Nope=true}"), 35, 36,
     "error flag apiServer.extraArgs.feature-gates:", false},
    {"kubeadm without flags", KUBEADM("v1beta4", "[]"), 35, 36, "", true},
    /* API versions that rules name */
    {"a webhook for a version that goes", WEBHOOK("networking.k8s.io", "v1beta1", "servicecidrs"),
     36, 37,
     "error rule-version webhooks[0].rules[1]: networking.k8s.io/v1beta1 servicecidrs is removed "
     "in 1.37, and the rule names no version that is served: requests do not match the rule any "
     "more -> name networking.k8s.io/v1 in the rule as well\n",
     false},
    {"a webhook for both versions", WEBHOOK("networking.k8s.io", "v1beta1, v1", "servicecidrs"), 36,
     37, "", false},
    {"a webhook for all versions", WEBHOOK("networking.k8s.io", "'*'", "servicecidrs"), 36, 37, "",
     false},
    {"a webhook for a version and for all", WEBHOOK("networking.k8s.io", "v1beta1, '*'", "'*'"), 36,
     37, "", false},
    {"a webhook for a version that goes later",
     WEBHOOK("networking.k8s.io", "v1beta1", "servicecidrs"), 35, 36, "", false},
    {"a webhook for a version that went before",
     WEBHOOK("networking.k8s.io", "v1beta1", "servicecidrs"), 37, 38, "", false},
    {"a webhook for another resource", WEBHOOK("networking.k8s.io", "v1beta1", "ingressclasses/x"),
     36, 37, "", false},
    {"a webhook for all resources", WEBHOOK("networking.k8s.io", "v1beta1", "'*/*'"), 36, 37,
     "error rule-version webhooks[0].rules[1]: networking.k8s.io/v1beta1 ipaddresses is removed in "
     "1.37, and the rule names no version that is served: requests do not match the rule any more "
     "-> name networking.k8s.io/v1 in the rule as well\n"
     "error rule-version webhooks[0].rules[1]: networking.k8s.io/v1beta1 servicecidrs is",
     false},
    {"a webhook for a subresource", WEBHOOK("'*'", "v1beta1", "servicecidrs/status"), 36, 37,
     "error rule-version webhooks[0].rules[1]: networking.k8s.io/v1beta1 servicecidrs is", false},
    {"a webhook for a version that the binary of the data does not have",
     WEBHOOK("flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas"), 31, 32,
     "error rule-version webhooks[0].rules[1]: flowcontrol.apiserver.k8s.io/v1beta3 flowschemas is "
     "removed in 1.32",
     false},
    {"a webhook for a group that went", WEBHOOK("extensions", "v1beta1", "ingresses"), 21, 22,
     "error rule-version webhooks[0].rules[1]: extensions/v1beta1 ingresses is removed in 1.22, "
     "and "
     "the rule names no version that is served: requests do not match the rule any more -> name "
     "networking.k8s.io/v1 in the rule as well\n",
     false},
    {"a webhook for both groups",
     WEBHOOK("extensions, networking.k8s.io", "v1beta1, v1", "ingresses"), 21, 22, "", false},
    {"a policy excludes a version that goes",
     VAP("v1") "spec: {matchConstraints: {excludeResourceRules: [{apiGroups: [networking.k8s.io], "
               "apiVersions: [v1beta1], resources: [ipaddresses]}]}}\n",
     36, 37,
     "error rule-version spec.matchConstraints.excludeResourceRules[0]: networking.k8s.io/v1beta1 "
     "ipaddresses is removed in 1.37, and the rule names no version that is served: requests are "
     "not excluded any more -> name networking.k8s.io/v1 in the rule as well\n",
     false},
    {"a binding of a policy",
     "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nspec: "
     "{matchResources: {resourceRules: [{apiGroups: [networking.k8s.io], apiVersions: [v1beta1], "
     "resources: [ipaddresses]}]}}\n",
     36, 37, "error rule-version spec.matchResources.resourceRules[0]:", false},
    {"parameters of a version that goes",
     VAP("v1") "spec: {paramKind: {apiVersion: networking.k8s.io/v1beta1, kind: ServiceCIDR}}\n",
     36, 37,
     "error rule-version spec.paramKind: networking.k8s.io/v1beta1 ServiceCIDR is removed in 1.37: "
     "API servers find no parameters, and the failure policy decides -> use networking.k8s.io/v1\n",
     false},
    {"parameters of a version that stays",
     VAP("v1") "spec: {paramKind: {apiVersion: v1, kind: ConfigMap}}\n", 36, 37, "", false},
    {"parameters that are no kind", VAP("v1") "spec: {paramKind: [v1]}\n", 36, 37, "", false},

    /* Stored versions */
    {"a stored version that the definition does not have", STORED("v1alpha1, v1"), 35, 36,
     "error stored-version status.storedVersions[0]: objects may be stored as v1alpha1, which the "
     "definition does not have: API servers cannot read them ->",
     false},
    {"a stored version that is not served", STORED("v1, v1beta1"), 35, 36,
     "warning stored-version status.storedVersions[1]: objects may be stored as v1beta1, which is "
     "not served: the definition cannot drop the version ->",
     false},
    {"a stored version that is served", STORED("v1"), 35, 36, "", false},
    {"no stored version", STORED("1"), 35, 36, "", false},

    /* Conversion */
    {"a conversion webhook", CONVERSION(SERVICE(", caBundle: eA==") ", " REVIEWS, ""), 35, 36, "",
     false},
    {"a conversion webhook by url", CONVERSION("clientConfig: {url: 'https://a'}, " REVIEWS, ""),
     35, 36, "", false},
    {"a conversion webhook without a client", CONVERSION(REVIEWS, ""), 35, 36,
     "error conversion spec.conversion.webhook.clientConfig: the conversion webhook has no service",
     false},
    {"a conversion webhook with two clients",
     CONVERSION("clientConfig: {url: 'https://a', service: {name: a, namespace: b}}, " REVIEWS, ""),
     35, 36, "error conversion spec.conversion.webhook.clientConfig:", false},
    {"a service without a namespace",
     CONVERSION("clientConfig: {service: {name: a}}, " REVIEWS, ""), 35, 36,
     "error conversion spec.conversion.webhook.clientConfig:", false},
    {"a conversion webhook without an authority", CONVERSION(SERVICE("") ", " REVIEWS, ""), 35, 36,
     "warning conversion spec.conversion.webhook.clientConfig.caBundle:", false},
    {"an authority of blanks", CONVERSION(SERVICE(", caBundle: ' '") ", " REVIEWS, ""), 35, 36,
     "warning conversion spec.conversion.webhook.clientConfig.caBundle:", false},
    {"an authority that cert-manager sets",
     CONVERSION(SERVICE("") ", " REVIEWS, "annotations: {cert-manager.io/inject-ca-from: a/b}"), 35,
     36, "", false},
    {"reviews of an older version", REVIEWED("v1beta1"), 35, 36,
     "warning review-version spec.conversion.webhook.conversionReviewVersions: the webhook reads "
     "only "
     "ConversionReview v1beta1",
     false},
    {"reviews of both versions", REVIEWED("v1beta1, v1"), 35, 36, "", false},
    {"reviews of no version", REVIEWED("v2"), 35, 36,
     "error review-version spec.conversion.webhook.conversionReviewVersions: the webhook reads no "
     "version "
     "of ConversionReview that API servers send (v1, v1beta1)",
     false},
    {"another strategy",
     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {conversion: "
     "{strategy: "
     "None}}\n",
     35, 36, "", false},
    {"admission reviews of an older version",
     "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n"
     "webhooks: [{name: a, admissionReviewVersions: [v1]}, {name: b, admissionReviewVersions: "
     "[v1beta1]}]\n",
     35, 36, "warning review-version webhooks[1].admissionReviewVersions:", false},

    /* Devices */
    {"a device by its attribute",
     DEVICES("device.attributes[\"a.com\"].fast && device.driver == \"a\""), 34, 36, "", false},
    {"a name for a part", DEVICES("cel.bind(a, device.attributes[\"a.com\"], a.fast)"), 34, 36, "",
     false},
    {"a quantity of a device",
     DEVICES("device.capacity[\"a.com\"].memory.isGreaterThan(quantity(\"1Gi\"))"), 34, 36, "",
     false},
    {"a field of devices that the version before does not have",
     DEVICES("device.allowMultipleAllocations"), 35, 36,
     "warning expression-rollback spec.selectors[0].cel.expression: 1.35 refuses the expression: "
     "undefined field ",
     false},
    {"a field of devices that the target does not have", DEVICES("device.allowMultipleAllocations"),
     34, 35,
     "error expression spec.selectors[0].cel.expression: 1.35 refuses the expression: undefined "
     "field ",
     false},
    {"a function that is newer, of a device",
     DEVICES("device.attributes[\"a.com\"].list.sort()[0] == 1 && [1].distinct() == [1]"), 0, 34,
     "error expression spec.selectors[0].cel.expression:", false},
    {"no field of a device", DEVICES("device.colour == \"red\""), 35, 36,
     "unknown expression-broken spec.selectors[0].cel.expression:", false},

    /* Files of API servers may use what the binary has, one version before objects may */
    {"a file may use what its binary has", AUTHORIZATION("[request.user].sort() == []"), 33, 34,
     "warning expression-rollback authorizers[0].webhook.matchConditions[0].expression: 1.33 "
     "refuses",
     true},
    {"a file for an older binary", AUTHORIZATION("[request.user].sort() == []"), 32, 33,
     "error expression authorizers[0].webhook.matchConditions[0].expression: 1.33 refuses", true},
    {"a file for both", AUTHORIZATION("[request.user].sort() == []"), 34, 35, "", true},
    {"the user name of a token",
     AUTHENTICATION("claimMappings: {username: {expression: 'claims.a.sort()[0]'}}"), 32, 33,
     "error expression jwt[0].claimMappings.username.expression: 1.33 refuses", true},
    {"the groups of a token",
     AUTHENTICATION("claimMappings: {groups: {expression: 'claims.a.sort()'}}"), 32, 33,
     "error expression jwt[0].claimMappings.groups.expression: 1.33 refuses", true},
    {"the UID of a token",
     AUTHENTICATION("claimMappings: {uid: {expression: 'claims.a.sort()[0]'}}"), 32, 33,
     "error expression jwt[0].claimMappings.uid.expression: 1.33 refuses", true},
    {"what a token adds",
     AUTHENTICATION("claimMappings: {extra: [{key: a, valueExpression: 'claims.a.sort()'}]}"), 32,
     33, "error expression jwt[0].claimMappings.extra[0].valueExpression: 1.33 refuses", true},
    {"a rule of claims",
     AUTHENTICATION("claimValidationRules: [{expression: 'claims.a.sort() == []'}]"), 32, 33,
     "error expression jwt[0].claimValidationRules[0].expression: 1.33 refuses", true},
    {"a rule of users",
     AUTHENTICATION("userValidationRules: [{expression: 'user.groups.sort() == []'}]"), 32, 33,
     "error expression jwt[0].userValidationRules[0].expression: 1.33 refuses", true},
    {"expressions of tokens that both versions have",
     AUTHENTICATION("claimMappings: {username: {expression: 'claims.sub'}}, userValidationRules: "
                    "[{expression: '!user.username.startsWith(\"x\")'}]"),
     35, 36, "", true},
    {"an expression of tokens that is broken",
     AUTHENTICATION("userValidationRules: [{expression: 'nosuch(1)'}]"), 35, 36,
     "unknown expression-broken jwt[0].userValidationRules[0].expression", true},
    {"policies have no claims", POLICY_OF_CLAIMS, 35, 36,
     "unknown expression-broken spec.validations[0].expression", false},
};

static struct ek_minor minor(unsigned n)
{
    return n ? EK_MINOR(1, n) : EK_MINOR_UNKNOWN;
}

static yyjson_doc *parse(const char *text)
{
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    ck_assert_msg(!ek_yaml_parse(text, strlen(text), INPUT_MAX, &doc, &err), "%s: %s", text,
                  err.message);
    return doc;
}

/* True when the lines of got start with the lines of want, and there are no more of them. */
static bool fits(const char *want, const char *got)
{
    while (*want) {
        size_t len = strcspn(want, "\n");
        if (strncmp(want, got, len) != 0 || (want[len] == '\n' && got[len] != '\n'))
            return false;
        got = strchr(got, '\n') + 1;
        want += len + (want[len] == '\n');
    }
    return !*got;
}

START_TEST(findings)
{
    yyjson_doc *doc = parse(rows[_i].object);
    struct ek_plan_target target = {&data, minor(rows[_i].from), minor(rows[_i].to)};
    struct ek_plan_object object = {.value = yyjson_doc_get_root(doc), .source = "a.yaml"};
    struct ek_plan_report report = {.arena = ek_arena_new(INPUT_MAX)};
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, INPUT_MAX);
    bool ours = ek_plan_check_object(&target, &object, &report);
    for (size_t i = 0; i < report.n; i++) {
        const struct ek_plan_finding *f = &report.list[i];
        ck_assert_str_eq(f->source, "a.yaml");
        ck_assert_msg(*f->remedy, "%s: no remedy", rows[_i].name);
        ek_buf_printf(&got, "%s %s %s: %s -> %s\n", ek_plan_severity_name(f->severity), f->rule,
                      f->field, f->message, f->remedy);
    }
    ck_assert_msg(fits(rows[_i].want, ek_buf_str(&got)), "%s: expected\n%s\ngot\n%s", rows[_i].name,
                  rows[_i].want, ek_buf_str(&got));
    ck_assert_msg(ours == !rows[_i].other, "%s", rows[_i].name);
    ek_arena_free(report.arena);
    yyjson_doc_free(doc);
}
END_TEST

/* The API version of an object that an API server returned is that of the request. */
static const struct {
    const char *object;
    size_t n; /* findings */
} served_rows[] = {
    {CIDR, 0},
    {"apiVersion: admissionregistration.k8s.io/v9\nkind: MutatingAdmissionPolicy\n", 0},
    {WEBHOOK("networking.k8s.io", "v1beta1", "servicecidrs"), 1},
};

START_TEST(the_version_of_a_request)
{
    yyjson_doc *doc = parse(served_rows[_i].object);
    struct ek_plan_target target = {&data, EK_MINOR(1, 36), EK_MINOR(1, 37)};
    struct ek_plan_object object = {.value = yyjson_doc_get_root(doc), .source = "a"};
    struct ek_plan_report report = {.arena = ek_arena_new(INPUT_MAX)};

    ek_plan_check_object(&target, &object, &report);
    ck_assert_uint_eq(report.n, 1);
    object.is_served = true;
    report.n = 0;
    ek_plan_check_object(&target, &object, &report);
    ck_assert_uint_eq(report.n, served_rows[_i].n);
    ek_arena_free(report.arena);
    yyjson_doc_free(doc);
}
END_TEST

/* A controller that sets the authority would have done so in the cluster. */
START_TEST(an_authority_in_the_cluster)
{
    yyjson_doc *doc = parse(
        CONVERSION(SERVICE("") ", " REVIEWS, "annotations: {cert-manager.io/inject-ca-from: a/b}"));
    struct ek_plan_target target = {&data, EK_MINOR(1, 35), EK_MINOR(1, 36)};
    struct ek_plan_object object = {
        .value = yyjson_doc_get_root(doc), .source = "a", .is_served = true};
    struct ek_plan_report report = {.arena = ek_arena_new(INPUT_MAX)};

    ek_plan_check_object(&target, &object, &report);
    ck_assert_uint_eq(report.n, 1);
    ck_assert_int_eq(report.list[0].severity, EK_PLAN_ERROR);
    ck_assert_str_eq(report.list[0].rule, "conversion");
    ek_arena_free(report.arena);
    yyjson_doc_free(doc);
}
END_TEST

/* ---- Large objects ---- */

#define DEFINITION                                                                                 \
    "{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\", "       \
    "\"spec\": {\"versions\": [{\"schema\": {\"openAPIV3Schema\": "
#define LONG_NAME 130000

/* Checks a definition with a schema that is a text of JSON, within limit octets of the report. */
static void check_definition(struct ek_buf *schema, size_t limit, struct ek_plan_report *report)
{
    EK_AUTOFREE char *text = ek_xasprintf(DEFINITION "%s}}]}}", ek_buf_str(schema));
    struct ek_plan_target target = {&data, EK_MINOR_UNKNOWN, EK_MINOR(1, 36)};

    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    ck_assert_ptr_nonnull(doc);
    *report = (struct ek_plan_report){.arena = ek_arena_new(limit)};
    ck_assert(ek_plan_check_object(
        &target, &(struct ek_plan_object){.value = yyjson_doc_get_root(doc), .source = "a"},
        report));
    yyjson_doc_free(doc);
    ek_buf_done(schema);
}

/* A schema with one long name above n properties. */
static void make_wide(struct ek_buf *out, int n, const char *property)
{
    ek_buf_init(out, (size_t)16 << 20);
    ek_buf_puts(out, "{\"properties\": {\"");
    for (int i = 0; i < LONG_NAME; i++)
        ek_buf_puts(out, "x");
    ek_buf_puts(out, "\": {\"properties\": {");
    for (int i = 0; i < n; i++)
        ek_buf_printf(out, "%s\"p%d\": %s", i ? "," : "", i, property);
    ek_buf_puts(out, "}}}}");
}

START_TEST(a_long_name_above_many_properties)
{
    struct ek_plan_report report;
    struct ek_buf schema;

    make_wide(&schema, 16000, "{}");
    check_definition(&schema, INPUT_MAX, &report);
    ck_assert(!ek_arena_exhausted(report.arena));
    ck_assert_uint_eq(report.n, 0);
    ck_assert_uint_lt(ek_arena_used(report.arena), 4096);
    ek_arena_free(report.arena);
}
END_TEST

/* The report of what does not fit is void, and the program goes on. */
START_TEST(more_findings_than_memory)
{
    struct ek_plan_report report;
    struct ek_buf schema;

    make_wide(&schema, 100, "{\"x-kubernetes-validations\": [{\"rule\": \"1 +\"}]}");
    check_definition(&schema, INPUT_MAX, &report);
    ck_assert(ek_arena_exhausted(report.arena));
    ck_assert_uint_lt(report.n, 100);
    ek_arena_free(report.arena);
}
END_TEST

START_TEST(a_schema_that_is_too_deep)
{
    struct ek_plan_report report;
    struct ek_buf schema;

    ek_buf_init(&schema, INPUT_MAX);
    for (int i = 0; i < 65 + _i; i++)
        ek_buf_puts(&schema, i ? ",\"items\": {\"type\": \"array\"" : "{\"type\": \"array\"");
    for (int i = 0; i < 65 + _i; i++)
        ek_buf_puts(&schema, "}");
    check_definition(&schema, INPUT_MAX, &report);
    ck_assert_uint_eq(report.n, (size_t)_i);
    if (_i) {
        ck_assert_int_eq(report.list[0].severity, EK_PLAN_UNKNOWN);
        ck_assert_str_eq(report.list[0].rule, "expression");
        ck_assert_ptr_nonnull(strstr(report.list[0].message, "nested too deeply"));
    }
    ek_arena_free(report.arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("objects");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_loop_test(tcase, findings, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, an_authority_in_the_cluster);
    tcase_add_loop_test(tcase, the_version_of_a_request, 0, EK_ARRAY_SIZE(served_rows));
    tcase_add_test(tcase, a_long_name_above_many_properties);
    tcase_add_test(tcase, more_findings_than_memory);
    tcase_add_loop_test(tcase, a_schema_that_is_too_deep, 0, 2);
    return ek_test_run("objects", tcase);
}
