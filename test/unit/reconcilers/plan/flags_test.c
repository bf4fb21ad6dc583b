/* SPDX-License-Identifier: Apache-2.0 */
/* Where manifests have the flags of a kube-apiserver, and its flags about APIs: rows with a
 * manifest, two versions and the findings. objects_test.c has the other flags. */
#include <string.h>

#include "api/base/buf.h"
#include "api/yaml.h"
#include "reconcilers/plan/objects.h"
#include "test/support/suite.h"

#define INPUT_MAX ((size_t)1 << 20)

/* A file of a newer binary, as --data brings it: one gate, no API. */
#define NEWER                                                                                      \
    "{\"version\":\"1.37\",\"recorded\":\"2027-01-01\",\"binary\":\"1.37.0\",\"gates\":[{"         \
    "\"name\":"                                                                                    \
    "\"Newer\",\"specs\":[{\"version\":\"1.37\",\"default\":false,\"lockToDefault\":false,"        \
    "\"preRelease\":\"ALPHA\"}],\"dependencies\":[]}],\"kinds\":[],\"priority\":{},\"resources\":" \
    "[],"                                                                                          \
    "\"storage\":[],\"fields\":[]}"

static struct ek_plan_data data, newer;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    ck_assert_int_eq(ek_plan_data_open(EK_STR(NEWER), &newer, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&newer);
    ek_plan_data_done(&data);
}

#define SERVER(flags)                                                                              \
    "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: b}, {name: c, command: "      \
    "[/bin/kube-apiserver], args: [" flags "]}]}\n"
#define CONTAINER(text) "apiVersion: v1\nkind: Pod\nspec: {containers: [{" text "}]}\n"
#define TEMPLATE        "{spec: {containers: [{command: [kube-apiserver, --feature-gates=Nope=true]}]}}"
#define WORKLOADS                                                                                  \
    "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not become ready: with the "  \
    "feature gate GenericWorkload it reads podgroups of scheduling.k8s.io/v1alpha2, which it "     \
    "does not serve while it emulates 1.35 -> turn the feature gate off until the emulation "      \
    "version is raised, or set --emulation-forward-compatible=true, with --runtime-config for an " \
    "alpha or beta version\n"
#define NOPE                                                                                       \
    ": kube-apiserver 1.36 does not start: unrecognized feature gate: Nope -> remove the gate"
#define UNREAD(field, why)                                                                         \
    "unknown flags-unread " field ": the flags of the kube-apiserver cannot be read: " why " -> "  \
    "look for feature gates and API versions that the target does not have\n"
#define KUBEADM(version, args)                                                                     \
    "apiVersion: kubeadm.k8s.io/" version                                                          \
    "\nkind: ClusterConfiguration\napiServer: {extraArgs: " args "}\n"

/* want: "severity rule field: message -> remedy", of which the end may be left out; "": nothing. */
struct row {
    const char *name, *object;
    unsigned from, to;
    const char *want;
};

static const struct row rows[] = {
    {"forward compatible without emulation", SERVER("--emulation-forward-compatible"), 35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: "
     "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation version "
     "is the same as the binary version -> correct the flag with the upgrade\n"},
    {"the same of --runtime-config",
     SERVER("--runtime-config=api/beta=true, --runtime-config-emulation-forward-compatible=true"),
     35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not start: "
     "ServerRunOptions.RuntimeConfigEmulationForwardCompatible cannot be set to true if the "
     "emulation version is the same as the binary version -> correct the flag with the upgrade\n"},
    {"off", SERVER("--emulation-forward-compatible=false"), 35, 36, ""},
    {"forward compatible while an older version is emulated",
     SERVER("--emulated-version=1.35, --emulation-forward-compatible=true, "
            "--runtime-config-emulation-forward-compatible"),
     35, 36, ""},
    {"an API that the emulation version does not have",
     SERVER("--emulated-version=1.33, --runtime-config=resource.k8s.io/v1=true"), 35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not start: cannot enable "
     "version resource.k8s.io/v1 in runtime-config because all the resources have been introduced "
     "after the current version 1.33. Consider setting "
     "--runtime-config-emulation-forward-compatible=true -> correct the flag with the upgrade\n"},
    {"the same, forward compatible",
     SERVER("--emulated-version=1.33, --runtime-config=resource.k8s.io/v1=true, "
            "--runtime-config-emulation-forward-compatible=true"),
     35, 36, ""},
    {"a version that the binary dropped", SERVER("--runtime-config=autoscaling/v2beta2=false"), 35,
     36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: group version "
     "autoscaling/v2beta2 that has not been registered -> correct the flag with the upgrade\n"},
    {"all APIs off", SERVER("--runtime-config=api/all=false"), 35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: "
     "--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true"},
    {"all APIs off, without priorities",
     SERVER("--runtime-config=api/all=false, --enable-priority-and-fairness=false"), 35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: invalid "
     "runtime-config with only api/all=false"},
    {"the beta MutatingAdmissionPolicy, while a version without v1 is emulated",
     SERVER("--emulated-version=1.35, --feature-gates=MutatingAdmissionPolicy=true, "
            "'--runtime-config=admissionregistration.k8s.io/v1beta1=true'"),
     35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not become ready: with the "
     "feature "
     "gate MutatingAdmissionPolicy it reads mutatingadmissionpolicies of "
     "admissionregistration.k8s.io/v1, which it does not serve while it emulates 1.35 -> turn the "
     "feature gate off until the emulation version is raised, or set "
     "--emulation-forward-compatible=true, with --runtime-config for an alpha or beta version\n"},
    {"the gate alone", SERVER("--emulated-version=1.34, --feature-gates=AllBeta=true"), 35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not become ready: with the "
     "feature "
     "gate MutatingAdmissionPolicy it reads "},
    {"the same, forward compatible",
     SERVER("--emulated-version=1.35, --feature-gates=MutatingAdmissionPolicy=true, "
            "'--runtime-config=admissionregistration.k8s.io/v1beta1=true', "
            "--emulation-forward-compatible"),
     35, 36, ""},
    {"the same, without the plug-in",
     SERVER("--emulated-version=1.35, --feature-gates=MutatingAdmissionPolicy=true, "
            "--disable-admission-plugins=MutatingAdmissionPolicy"),
     35, 36, ""},
    {"the same, nothing is emulated", SERVER("--feature-gates=MutatingAdmissionPolicy=true"), 0, 36,
     ""},
    {"what the node authorizer reads",
     SERVER("--emulated-version=1.33, --feature-gates=DynamicResourceAllocation=true, "
            "--runtime-config=resource.k8s.io/v1beta1=true, '--authorization-mode=Node,RBAC'"),
     35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not become ready: with the "
     "feature "
     "gate DynamicResourceAllocation it reads resourceslices of resource.k8s.io/v1, which "},
    {"without the node authorizer",
     SERVER("--emulated-version=1.33, --feature-gates=DynamicResourceAllocation=true, "
            "--runtime-config=resource.k8s.io/v1beta1=true, --authorization-mode=RBAC"),
     35, 36, ""},
    {"certificates of Pods",
     SERVER("--emulated-version=1.35, --feature-gates=PodCertificateRequest=true, "
            "--authorization-mode=Node"),
     35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not become ready: with the "
     "feature gate PodCertificateRequest it reads podcertificaterequests of "
     "certificates.k8s.io/v1beta1, "},
    {"certificates of Pods, served",
     SERVER("--emulated-version=1.35, --feature-gates=PodCertificateRequest=true, "
            "--authorization-mode=Node, --runtime-config=certificates.k8s.io/v1beta1=true"),
     35, 36, ""},
    {"certificates of Pods, the alpha version, forward compatible",
     SERVER("--emulated-version=1.34, --feature-gates=PodCertificateRequest=true, "
            "--authorization-mode=Node, --runtime-config=certificates.k8s.io/v1alpha1=true, "
            "--emulation-forward-compatible=true"),
     35, 36,
     "error flag spec.containers[1].args[1]: kube-apiserver 1.36 does not become ready: with the "
     "feature gate PodCertificateRequest it reads podcertificaterequests of "
     "certificates.k8s.io/v1beta1, which it does not serve while it emulates 1.34 -> turn the "
     "feature gate off until the emulation version is raised, or set "
     "--emulation-forward-compatible=true, with --runtime-config for an alpha or beta version\n"
     "warning alpha-emulated "},
    {"workloads", SERVER("--emulated-version=1.35, --feature-gates=GenericWorkload=true"), 35, 36,
     WORKLOADS "warning alpha-emulated "},
    {"APIs of a variable", SERVER("--runtime-config=$(APIS)"), 35, 36,
     "unknown flag spec.containers[1].args[0]: the flags about APIs cannot be read: "},
    {"behind go-runner",
     CONTAINER("command: [/go-runner, --log-file=/a, --redirect-stderr, /usr/local/bin/"
               "kube-apiserver], args: [--feature-gates=Nope=true]"),
     35, 36, "error flag spec.containers[0].args[0]" NOPE},
    {"behind go-runner, in the arguments",
     CONTAINER("args: [/go-runner, kube-apiserver, --feature-gates=Nope=true]"), 35, 36,
     "error flag spec.containers[0].args[2]" NOPE},
    {"the flags of go-runner are not those of the server",
     CONTAINER("command: [go-runner, --feature-gates=Nope=true, kube-apiserver]"), 35, 36, ""},
    {"a part of hyperkube",
     CONTAINER("command: [hyperkube, kube-apiserver, --feature-gates=Nope=true]"), 35, 36,
     "error flag spec.containers[0].command[2]" NOPE},
    {"a part of hyperkube that is another one",
     CONTAINER("command: [hyperkube, kubelet, --feature-gates=Nope=true]"), 35, 36, ""},
    {"a script",
     CONTAINER("command: [/bin/sh, -c, 'exec /usr/local/bin/kube-apiserver "
               "--feature-gates=Nope=true']"),
     35, 36, UNREAD("spec.containers[0].command", "its command is sh, not kube-apiserver")},
    {"a script of lines", CONTAINER("command: [bash, -c], args: ['kube-apiserver \\']"), 35, 36,
     UNREAD("spec.containers[0].command", "its command is bash, not kube-apiserver")},
    {"a script that calls a server",
     CONTAINER("command: [sh, -c, 'nc kube-apiserver 443; curl https://kube-apiserver/version']"),
     35, 36, ""},
    {"the command of the image",
     CONTAINER("name: kube-apiserver, args: [--feature-gates=Nope=true]"), 35, 36,
     UNREAD("spec.containers[0]", "its command is that of its image")},
    {"a program by the name of the container", CONTAINER("name: kube-apiserver, command: [/start]"),
     35, 36, UNREAD("spec.containers[0].command", "its command is start, not kube-apiserver")},
    {"arguments of another program",
     CONTAINER("name: a, command: [watch], args: [kube-apiserver --feature-gates=Nope=true]"), 35,
     36, ""},
    {"a template", "apiVersion: apps/v1\nkind: Deployment\nspec: {template: " TEMPLATE "}\n", 35,
     36, "error flag spec.template.spec.containers[0].command[1]" NOPE},
    {"a template of a job",
     "apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {template: " TEMPLATE "}}}\n",
     35, 36, "error flag spec.jobTemplate.spec.template.spec.containers[0].command[1]" NOPE},
    {"a template alone", "apiVersion: v1\nkind: PodTemplate\ntemplate: " TEMPLATE "\n", 35, 36,
     "error flag template.spec.containers[0].command[1]" NOPE},
    {"alpha features while an older version is emulated",
     SERVER("--emulated-version=1.35, "
            "'--feature-gates=GenericWorkload=true,AllAlpha=true,APIServerTracing=true'"),
     35, 36,
     WORKLOADS
     "warning alpha-emulated spec.containers[1].args[1]: kube-apiserver 1.36 emulates 1.35 with "
     "alpha features, which Kubernetes does not support: GenericWorkload, AllAlpha -> "},
    {"an alpha feature of a scheduler",
     CONTAINER("command: [kube-scheduler, --emulated-version=1.35, "
               "--feature-gates=GenericWorkload=true]"),
     35, 36,
     "warning alpha-emulated spec.containers[0].command[2]: kube-scheduler 1.36 emulates 1.35 with "
     "alpha features, which Kubernetes does not support: GenericWorkload -> turn the alpha"},
    {"alpha versions while an older version is emulated",
     SERVER("--emulated-version=1.35, --runtime-config=api/alpha=true"), 35, 36,
     "warning alpha-emulated spec.containers[1].args[1]: kube-apiserver 1.36 emulates 1.35 with "
     "alpha features, which Kubernetes does not support: "},
    {"a gate that the version before does not have",
     SERVER("--feature-gates=DRAListTypeAttributes=true"), 35, 36,
     "warning flag-rollback spec.containers[1].args[0]: after a way back to the emulation version "
     "1.35, kube-apiserver does not start: cannot set feature gate DRAListTypeAttributes to true, "
     "feature is PreAlpha at emulated version 1.35, min compatibility version 1.34 -> remove the "
     "feature gate or the API version from the flags before the way back\n"},
    {"the same, of a scheduler",
     CONTAINER("command: [kube-scheduler, --feature-gates=DRAListTypeAttributes=true]"), 35, 36,
     "warning flag-rollback spec.containers[0].command[1]: after a way back to the emulation "
     "version 1.35, kube-scheduler does not start: cannot set "},
    {"the same, without a version before", SERVER("--feature-gates=DRAListTypeAttributes=true"), 0,
     36, ""},
    {"an API version that the version before does not have",
     SERVER("--runtime-config=resource.k8s.io/v1=true"), 33, 36,
     "warning flag-rollback spec.containers[1].args[0]: after a way back to the emulation version "
     "1.33, kube-apiserver does not start: cannot enable version resource.k8s.io/v1 in "
     "runtime-config because all the resources have been introduced after the current version "},
    {"what the server reads and does not serve on the way",
     SERVER("--feature-gates=MutatingAdmissionPolicy=true, "
            "--runtime-config=admissionregistration.k8s.io/v1beta1=true"),
     35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 that emulates 1.35, as after the "
     "step of its binary, does not become ready: with the feature gate MutatingAdmissionPolicy it "
     "reads mutatingadmissionpolicies of admissionregistration.k8s.io/v1, which it does not serve "
     "while it emulates 1.35 -> turn the feature gate off until the emulation version is raised, "
     "or set --emulation-forward-compatible=true, with --runtime-config for an alpha or beta "
     "version\n"},
    {"the same, without the plug-in on the way",
     SERVER("--feature-gates=MutatingAdmissionPolicy=true, "
            "--disable-admission-plugins=MutatingAdmissionPolicy"),
     35, 36, ""},
    {"alpha features without emulation", SERVER("--feature-gates=AllAlpha=true"), 0, 36, ""},
    {"an alpha feature that is off",
     SERVER("--emulated-version=1.35, --feature-gates=GenericWorkload=false"), 35, 36, ""},
    {"gates of a variable of the container",
     CONTAINER("env: [{name: GATES, value: AllBeta=true}], command: [kube-apiserver, "
               "--feature-gates=$(GATES)]"),
     0, 36, ""},
    {"gates of a variable of the container that are refused",
     CONTAINER(
         "env: [{name: NAME, value: x}, {name: NAME, value: Nope}], command: [kube-apiserver], "
         "args: ['--feature-gates=$(NAME)=true']"),
     35, 36, "error flag spec.containers[0].args[0]" NOPE},
    {"gates of a variable of another object",
     CONTAINER("env: [{name: GATES, valueFrom: {configMapKeyRef: {name: a, key: b}}}], command: "
               "[kube-apiserver, --feature-gates, $(GATES)]"),
     35, 36,
     "unknown flags-unread spec.containers[0].command[2]: the flags of the kube-apiserver cannot "
     "be "
     "read: the manifest does not have the value of a variable -> "},
    {"a variable in place of a flag", CONTAINER("command: [kube-scheduler, $(FLAGS)]"), 35, 36,
     "unknown flags-unread spec.containers[0].command[1]: "},
    {"a variable in another flag", CONTAINER("command: [kube-scheduler, --v=$(V)]"), 35, 36, ""},
    {"a controller manager",
     CONTAINER("command: [kube-controller-manager, --feature-gates=Nope=true]"), 35, 36,
     "error flag spec.containers[0].command[1]: kube-controller-manager 1.36 does not start: "
     "unrecognized feature gate: Nope -> remove the gate"},
    {"a controller manager that emulates",
     CONTAINER("command: [kube-controller-manager, --emulated-version=1.33, "
               "--min-compatibility-version=1.34]"),
     35, 36,
     "error flag spec.containers[0].command[1]: kube-controller-manager 1.36 does not start: "
     "minCompatibilityVersion version 1.34 is not between [1.33, 1.33] -> "},
    {"a scheduler in a script", CONTAINER("command: [sh, -c, 'kube-scheduler --v=2']"), 35, 36,
     "unknown flags-unread spec.containers[0].command: the flags of the kube-scheduler cannot be "
     "read: its command is sh, not kube-scheduler -> "},
    {"APIs are not those of a scheduler",
     CONTAINER("command: [kube-scheduler, --emulation-forward-compatible]"), 35, 36,
     "error flag spec.containers[0].command[1]: kube-scheduler 1.36 does not start: unknown flag: "
     "--emulation-forward-compatible -> remove the flag before the upgrade"},
    {"flags that went",
     CONTAINER("command: [kube-apiserver, --secure_port=6443, --insecure-port=0, "
               "--cloud-provider=aws, -v=2, --v, '2', --, --nosuchflag]"),
     35, 36,
     "error flag spec.containers[0].command[2]: kube-apiserver 1.36 does not start: unknown flag: "
     "--insecure-port -> remove the flag before the upgrade\n"
     "error flag spec.containers[0].command[3]: kube-apiserver 1.36 does not start: unknown flag: "
     "--cloud-provider -> remove"},
    {"a flag that a distribution adds",
     CONTAINER("command: [kube-scheduler, --unsupported-kube-api-over-localhost]"), 35, 36,
     "error flag spec.containers[0].command[1]: kube-scheduler 1.36 does not start: unknown flag: "
     "--unsupported-kube-api-over-localhost -> remove"},
    {"a flag that another version may have", CONTAINER("command: [kube-apiserver, --new-flag]"), 36,
     37,
     "unknown flag spec.containers[0].command[1]: kube-apiserver 1.36.2 has no flag --new-flag; "
     "1.37 may have it -> "},
    {"a flag that goes, in kubeadm", KUBEADM("v1beta3", "{insecure-port: '0'}"), 35, 36,
     "error flag apiServer.extraArgs.insecure-port: kube-apiserver 1.36 does not start: unknown "},
    {"deprecated and hidden flags are flags", SERVER("--apiserver-count=3, --kubelet-port=1"), 35,
     36, ""},
    {"a controller manager in kubeadm",
     "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\ncontrollerManager: "
     "{extraArgs: {feature-gates: CSIServiceAccountTokenSecrets=false}}\n",
     35, 36,
     "error flag controllerManager.extraArgs.feature-gates: kube-controller-manager 1.36 does not "
     "start: cannot set feature gate CSIServiceAccountTokenSecrets to false, "},
    {"a scheduler in kubeadm",
     "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nscheduler: {extraArgs: "
     "[{name: feature-gates, value: 'Nope=true'}]}\n",
     35, 36,
     "error flag scheduler.extraArgs[0].value: kube-scheduler 1.36 does not start: unrecognized "},
    {"a kubelet",
     "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: "
     "{Nope: true, AllAlpha: false}\n",
     35, 36,
     "error flag featureGates.Nope: kubelet 1.36 does not start: unrecognized feature gate: Nope "
     "-> remove the gate from featureGates"},
    {"a kubelet with a gate that is locked",
     "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: "
     "{CSIServiceAccountTokenSecrets: false}\n",
     35, 36,
     "error flag featureGates.CSIServiceAccountTokenSecrets: kubelet 1.36 does not start: cannot "},
    {"a kubelet of an older version",
     "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: "
     "{CSIServiceAccountTokenSecrets: true}\n",
     33, 34,
     "error flag featureGates.CSIServiceAccountTokenSecrets: kubelet 1.34 does not start: cannot "
     "set feature gate CSIServiceAccountTokenSecrets to true, feature is PreAlpha at "},
    {"a kubelet beyond the data",
     "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: "
     "{CSIServiceAccountTokenSecrets: false}\n",
     36, 37,
     "unknown flag featureGates: the feature gates of 1.37 are not known -> use a release of "
     "Evenkeel that knows the target\n"
     "error flag featureGates.CSIServiceAccountTokenSecrets: kubelet 1.37 does not start: cannot "
     "set feature gate CSIServiceAccountTokenSecrets to false, feature is locked to true -> "},
    {"a gate that a target beyond the data may have", SERVER("--feature-gates=Nope=true"), 36, 37,
     "unknown flag spec.containers[1].args[0]: the feature gates of 1.37 are not known -> "},
    {"versions beyond the data", SERVER("--emulated-version=1.33"), 36, 37,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.37 does not start: emulation version "
     "1.33 is not between [1.34, 1.37.0] -> correct the flag before the upgrade\n"
     "error flag spec.containers[1].args[0]: kube-apiserver 1.37 does not start: "
     "minCompatibilityVersion version 1.34 is not between [1.34, 1.33] -> "},
    {"a kubelet without gates",
     "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", 36, 37, ""},
    {"a kube-proxy",
     "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nfeatureGates: "
     "{Nope: false}\n",
     35, 36, "error flag featureGates.Nope: kube-proxy 1.36 does not start: unrecognized "},
    {"gates of kubeadm itself",
     "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nfeatureGates: "
     "{ControlPlaneKubeletLocalMode: true}\n",
     35, 36, ""},
    {"a target whose APIs are not in the data", SERVER("--emulation-forward-compatible"), 34, 35,
     ""},
    {"forward compatible, in kubeadm",
     KUBEADM("v1beta4", "[{name: emulation-forward-compatible, value: 'true'}]"), 35, 36,
     "error flag apiServer.extraArgs[0].value: kube-apiserver 1.36 does not start: "
     "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation version "
     "is the same as the binary version -> correct the flag with the upgrade\n"},
};

/* Rows for the data of a newer binary. */
static const struct row newer_rows[] = {
    {"an unknown gate of 1.36 beside newer data", SERVER("--feature-gates=Nope=true"), 35, 36,
     "error flag spec.containers[1].args[0]" NOPE},
    {"an API version of 1.36 beside newer data",
     SERVER("--runtime-config=autoscaling/v2beta2=false"), 35, 36,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.36 does not start: group version "},
    {"a gate of newer data", SERVER("--feature-gates=Newer=true"), 36, 37,
     "warning flag-rollback spec.containers[1].args[0]: after a way back to the emulation version "
     "1.36, kube-apiserver does not start: cannot set feature gate Newer to true, "},
    {"a gate that newer data does not have", SERVER("--feature-gates=NodeLogQuery=true"), 36, 37,
     "error flag spec.containers[1].args[0]: kube-apiserver 1.37 does not start: unrecognized "},
};

/* The last line may have no end. */
static size_t lines(const char *text)
{
    size_t n = 0;

    for (const char *p = text; *p; p++)
        n += *p == '\n' || !p[1];
    return n;
}

static void expect(const struct ek_plan_data *with, const struct row *row)
{
    const struct ek_plan_target target = {
        with, row->from ? EK_MINOR(1, row->from) : EK_MINOR_UNKNOWN, EK_MINOR(1, row->to)};
    struct ek_plan_report report = {.arena = ek_arena_new(INPUT_MAX)};
    struct ek_err err = {0};
    yyjson_doc *doc;
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, INPUT_MAX);
    ck_assert_msg(!ek_yaml_parse(row->object, strlen(row->object), INPUT_MAX, &doc, &err), "%s: %s",
                  row->name, err.message);
    const struct ek_plan_object object = {.value = yyjson_doc_get_root(doc), .source = "a.yaml"};
    ek_plan_check_object(&target, &object, &report);
    for (size_t i = 0; i < report.n; i++)
        ek_buf_printf(&got, "%s %s %s: %s -> %s\n", ek_plan_severity_name(report.list[i].severity),
                      report.list[i].rule, report.list[i].field, report.list[i].message,
                      report.list[i].remedy);
    ck_assert_msg(*row->want ? !strncmp(ek_buf_str(&got), row->want, strlen(row->want)) : !got.len,
                  "%s: %s", row->name, ek_buf_str(&got));
    ck_assert_uint_eq(report.n, lines(row->want));
    yyjson_doc_free(doc);
    ek_arena_free(report.arena);
}

START_TEST(flags)
{
    expect(&data, &rows[_i]);
}
END_TEST

START_TEST(flags_with_newer_data)
{
    expect(&newer, &newer_rows[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("flags");

    tcase_add_unchecked_fixture(tc, open_data, close_data);
    tcase_add_loop_test(tc, flags, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, flags_with_newer_data, 0, EK_ARRAY_SIZE(newer_rows));
    return ek_test_run("flags", tc);
}
