/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel plan` as its users meet it: arguments and files in, an exit code and two streams out.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "informers/client/file.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define CIDR                                                                                       \
    "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\nmetadata: {name: a}\n"              \
    "spec: {cidrs: [10.0.0.0/24]}\n"
#define CLAIM                                                                                      \
    "apiVersion: resource.k8s.io/v1beta1 # old\nkind: ResourceClaim\nmetadata: {name: c}\n"        \
    "spec: {devices: {requests: [{name: a, deviceClassName: b}]}}\n"
#define LIST                                                                                       \
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: "   \
    "s}\n- kind: ServiceCIDR\n  apiVersion: \"networking.k8s.io/v1beta1\"\n  metadata: {name: "    \
    "b|c}\n"

/* The second object is of another kind with the API version of the first. */
#define MERGE                                                                                      \
    "apiVersion: v1\nkind: List\nitems:\n- &a\n  apiVersion: networking.k8s.io/v1beta1\n  kind: "  \
    "ServiceCIDR\n- <<: *a\n  kind: IPAddress\n"
/* API servers name neither the kind nor the API version of an item. */
#define TYPED                                                                                      \
    "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDRList\nitems:\n- metadata: {name: "    \
    "a}\n"                                                                                         \
    "- metadata: {name: b}\n  spec: {cidrs: [10.0.0.0/24]}\n"
/* Lines of editors and of YAML 1.1. */
#define BREAKS "# a\r# b\r\n# \xc3\xa9 \xe2\x80\xa8# \xc2\x85# c\n---\n"

/* One API server at 1.35 with a gate that 1.35 locks later, a controller manager and a scheduler.
 */
#define ANSWER(path, file) "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\"}"
#define INFO(v, mcv)                                                                               \
    "version_info{component=\"kube\",binary=\"" v ".2\",emulation=\"" v "\",min_compat=\"" mcv     \
    "\"} 1\n"
static const struct {
    const char *name, *text;
} recording[] = {
    {"r/index.json",
     "[" ANSWER("/api/v1/nodes", "nodes.json") "," ANSWER(
         "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "slices.json") "]"},
    {"r/peers.json",
     "{\"apiservers\":[{\"hostname\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}],\"components\":["
     "{\"hostname\":\"kcm\",\"component\":\"kube-controller-manager\"},"
     "{\"hostname\":\"sched\",\"component\":\"kube-scheduler\"}]}"},
    {"r/slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{"
     "\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],\"endpoints\":["
     "{\"addresses\":[\"10.0.0.1\"]}]}]}"},
    {"r/nodes.json", "{\"items\":[{\"metadata\":{\"name\":\"n1\"},\"status\":{\"nodeInfo\":{"
                     "\"kubeletVersion\":\"v1.34.0\"}}}]}"},
    {"r/peers/cp-a/index.json", "[" ANSWER("/metrics", "m.txt") "]"},
    {"r/peers/cp-a/m.txt",
     INFO("1.34",
          "1.33") "kubernetes_feature_enabled{name=\"DynamicResourceAllocation\",stage=\"\"} 0\n"},
    {"r/components/kcm/index.json", "[" ANSWER("/metrics", "m.txt") "]"},
    {"r/components/kcm/m.txt", INFO("1.34", "1.33")},
    {"r/components/sched/index.json", "[" ANSWER("/metrics", "m.txt") "]"},
    {"r/components/sched/m.txt", INFO("1.34", "1.33")},
};

#define AUDITED(version)                                                                           \
    "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":\"a\",\"stage\":"          \
    "\"ResponseComplete\",\"verb\":\"list\",\"user\":{\"username\":\"ci|bot\"},\"userAgent\":"     \
    "\"kubectl/1\",\"objectRef\":{\"apiGroup\":\"networking.k8s.io\",\"apiVersion\":\"" version    \
    "\",\"resource\":\"servicecidrs\"},\"stageTimestamp\":\"2026-11-01T00:00:00.000000Z\"}\n"

/* Files that rows read. */
static const struct {
    const char *name, *text;
} files[] = {
    {"m/values.yaml", "replicas: 3\n"},
    {"m/notes.txt", "not: [a manifest"},
    {"claim.yaml", CLAIM},
    {"pod.json",
     "{\"kind\": \"Pod\", \"apiVersion\": \"v1\",\n \"spec\":\n {\"schedulingGroup\": {}}}"},
    {"one.json", "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{\"kind\": "
                 "\"ServiceCIDR\", \"apiVersion\": \"networking.k8s.io/v1beta1\"}]}"},
    {"new-gate.yaml",
     "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, command: [kube-apiserver, "
     "--feature-gates=DRAListTypeAttributes=true]}]}\n"},
    {"custom.yaml", "apiVersion: example.com/v1\nkind: A\n"},
    {"api.yaml",
     "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command:\n    - kube-apiserver\n"
     "    - --feature-gates=Nope=true\n"},
    {"bidi.yaml", "apiVersion: networking.k8s.io/v1\nkind: \"Kind\\u202E|<b>\xc3\xa9\"\n"},
    {"bad.yaml", "a: 1\n---\na: ["},
    {"merge.yaml", MERGE},
    {"typed.yaml", TYPED},
    {"empty.yaml", "# nothing\n"},
    {"items.yaml", "apiVersion: v1\nkind: List\nitems: []\n"},
    {"void/notes.txt", ""},
    {"breaks.yaml", BREAKS CIDR},
    {"data.json", "{\"version\": \"1.38\"}"},
    {"next.json", "{\"version\": \"1.37\", \"fields\": []}"},
    {"audit.log", AUDITED("v1beta1")},
    {"audit.2.log", AUDITED("v1beta1") "cut\n" AUDITED("v1")},
};

static char folder[TESTDIR_SIZE];

static void set_up(void)
{
    testdir_make(folder);
    for (size_t i = 0; i < EK_ARRAY_SIZE(recording); i++)
        testdir_put(folder, recording[i].name, recording[i].text, 0600);
    for (size_t i = 0; i < EK_ARRAY_SIZE(files); i++)
        testdir_put(folder, files[i].name, files[i].text, 0600);
    testdir_put(folder, "m/cidr.yaml", "# first\n" CIDR "---\n" LIST, 0640);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

#define DIR     "-f", "@/m"
#define NOTHING "=evenkeel: there is no object in these files: nothing was checked\n"

static const struct command_row rows[] = {
    {"blocked", {"--to", "1.37", "--from", "1.36", DIR}, 2, "Blocked: 1.36 to 1.37 (data of ", ""},
    {"the file and the line", {"--to=1.37", DIR}, 2, "m/cidr.yaml:2 ", ""},
    {"the line in a List", {"--to=1.37", DIR}, 2, "m/cidr.yaml:14 ", ""},
    {"what was read",
     {"--to=1.37", DIR},
     2,
     "\n2 errors, 1 unknown, 0 warnings, 3 objects checked, 0 of other kinds, 1 document without a "
     "kind\n",
     ""},
    {"what no finding covers",
     {"--to=1.37", DIR},
     2,
     "\nNot checked: values that only the validation of a newer version accepts; references ",
     ""},
    {"the same as data", {"--to=1.37", DIR, "-o", "json"}, 2, "\"notChecked\": [", ""},
    {"the same in markdown", {"--to=1.37", DIR, "-o", "markdown"}, 2, "\nNot checked: values ", ""},
    {"the same in SARIF", {"--to=1.37", DIR, "-o", "sarif"}, 2, "\"notChecked\": \"Not ", ""},
    {"the same on the page", {"--to=1.37", DIR, "-o", "html"}, 2, "unknown. Not checked: ", ""},
    {"warnings are safe", {"--to=1.36", "--from=1.33", DIR}, 0, "Safe: 1.33 to 1.36", ""},
    {"not before", {"--to=1.36", "--from=1.34", DIR}, 0, "!deprecated", ""},
    {"since is from", {"--to=1.36", "--since", "1.34", DIR}, 0, "Safe: 1.34 to 1.36", ""},
    {"since without files", {"--since=1.35"}, 1, "", "--since needs files: use -f"},
    {"since above the target", {"--to=1.34", "--since=1.35", DIR}, 1, "", "--since is newer than"},
    {"since and from",
     {"--to=1.36", "--since=1.34", "--from=1.35", DIR},
     1,
     "",
     "--since is another name of --from: use one of them"},
    {"since with the guard", {"--guard", "--since=1.35"}, 1, "", "--to, --since and --recording"},
    {"a recording in the flag of a version",
     {"--from=@/r", "--to=1.36"},
     1,
     "",
     "/r is not a version such as \"1.34\"; a recording is read with --recording"},
    {"unknown", {"--to=1.37", "-f@/custom.yaml"}, 3, "the data covers 1.33 to 1.36, recorded", ""},
    {"the first version is not covered",
     {"--from=1.30", "--to=1.36", "-f@/custom.yaml"},
     3,
     "of 1.30, only the removals",
     ""},
    {"safe",
     {"--to=1.36", "-f@/custom.yaml"},
     0,
     "0 errors, 0 unknown, 1 warning, 0 objects checked, 1 of another kind, ",
     ""},
    {"JSON in a file", {"--to=1.35", "-f@/pod.json", "-o", "json"}, 2, "\"line\": 3,", ""},
    {"a flag of a static pod", {"--to=1.36", "-f@/api.yaml"}, 2, "api.yaml:7 ", ""},
    {"an older target: unknown", {"--to=1.35", "-f@/api.yaml"}, 3, "1.35 may have it", ""},
    {"steps with --from",
     {"--from=1.35", "--to=1.36", "-f@/custom.yaml"},
     0,
     "\n7      kube-apiserver            minimum compatibility version   1.34   1.35   1.34 ",
     ""},
    {"no steps without", {"--to=1.36", "-f@/custom.yaml"}, 0, "!STEP", ""},
    {"the changes of a step",
     {"--from=1.33", "--to=1.36", "-f@/custom.yaml", "-ojson"},
     0,
     "\"resource.k8s.io/v1/deviceclasses\"",
     ""},
    {"storage versions of a step",
     {"--from=1.34", "--to=1.35", "-f@/custom.yaml", "-oyaml"},
     0,
     "verdict: Safe\nfrom: \"1.34\"\nto: \"1.35\"\n",
     ""},
    {"JSON",
     {"--to=1.37", "--from=1.36", DIR, "-o", "json"},
     2,
     "\"verdict\": \"Blocked\",\n  \"from\": \"1.36\",\n  \"to\": \"1.37\",",
     ""},
    {"Markdown: no markup of a manifest",
     {"--to=1.37", "--from=1.36", DIR, "-o", "markdown"},
     2,
     "| networking.k8s.io/v1beta1 ServiceCIDR b\\|c |  | ",
     ""},
    {"Markdown: the verdict",
     {"--to=1.37", "--from=1.36", DIR, "-o", "markdown"},
     2,
     "## Blocked: Kubernetes 1.36 to 1.37\n\n2 errors, ",
     ""},
    {"Markdown: what cannot be seen",
     {"--to=1.36", "--from=1.34", "-f@/bidi.yaml", "-o", "markdown"},
     3,
     "Kind\\\\u202e\\|\\<b\\>\xc3\xa9 ",
     ""},
    {"SARIF: a rule of clusters",
     {"--recording=@/r", "--to=1.36", "-o", "sarif"},
     2,
     "\"id\": \"objects-unread\"",
     ""},
    {"HTML: the verdict",
     {"--to=1.37", "--from=1.36", DIR, "-o", "html"},
     2,
     "<p class=\"verdict\">Blocked</p><div><h1>Kubernetes 1.36 to 1.37</h1><p>2 errors, ",
     ""},
    {"HTML: a finding",
     {"--to=1.37", "--from=1.36", DIR, "-o", "html"},
     2,
     "<td role=\"cell\" data-name=\"object and field\">networking.k8s.io/v1beta1 ServiceCIDR "
     "b|c</td>",
     ""},
    {"HTML: what changes",
     {"--from=1.35", "--to=1.36", "-f@/custom.yaml", "-ohtml"},
     0,
     "<h2>emulation version 1.35 to 1.36: step 4<span",
     ""},
    {"components: before the first step",
     {"--from=1.34", "--to=1.36", "-f@/custom.yaml", "-ojson"},
     0,
     "\"name\": \"kube-scheduler\",\n      \"component\": \"kube-scheduler\",\n      "
     "\"instances\": "
     "2,\n      \"before\": {\n        \"binary\": \"1.34\",\n        \"emulation\": \"1.34\",\n   "
     "  "
     "   \"minCompatibility\": \"1.33\",\n        \"window\": {\n          \"from\": \"1.33\",\n   "
     " "
     "      \"to\": \"1.34\"\n",
     ""},
    {"components: after the last step",
     {"--from=1.34", "--to=1.36", "-f@/custom.yaml", "-ojson"},
     0,
     "\"after\": {\n        \"binary\": \"1.36\",\n        \"window\": {\n          \"from\": "
     "\"1.33\",\n          \"to\": \"1.36\"\n",
     ""},
    {"components: what the binary emulates",
     {"--from=1.33", "--to=1.34", "-f@/custom.yaml", "-ojson"},
     0,
     "\"minCompatibility\": \"1.32\",\n        \"window\": {\n          \"from\": \"1.31\",\n      "
     " "
     "   \"to\": \"1.33\"\n",
     ""},
    {"components: a binary that does not emulate",
     {"--from=1.29", "--to=1.30", "-f@/custom.yaml", "-ojson"},
     3,
     "\"minCompatibility\": \"1.28\",\n        \"window\": {\n          \"from\": \"1.29\",\n      "
     " "
     "   \"to\": \"1.29\"\n",
     ""},
    {"a step that can be undone",
     {"--from=1.34", "--to=1.35", "-f@/custom.yaml", "-ojson"},
     0,
     "\"canBeUndone\": false,\n      \"endsWayBackTo\": \"1.33\"",
     ""},
    {"it is not known whether a step can be undone",
     {"--from=1.29", "--to=1.30", "-f@/custom.yaml", "-ojson"},
     3,
     "\"component\": \"kube-apiserver\",\n      \"change\": \"binary\",\n      \"from\": "
     "\"1.29\",\n      \"to\": \"1.30\"\n",
     ""},
    {"no way back to what no binary emulates",
     {"--from=1.29", "--to=1.32", "-f@/custom.yaml"},
     3,
     "\nAPI servers have no way back to 1.29 by their emulation version: no binary emulates a "
     "version below 1.31.\n",
     ""},
    {"no way back: Markdown",
     {"--from=1.30", "--to=1.31", "-f@/custom.yaml", "-omarkdown"},
     3,
     "API servers have no way back to 1.30 by ",
     ""},
    {"no way back: the page",
     {"--from=1.24", "--to=1.25", "-f@/custom.yaml", "-ohtml"},
     3,
     "API servers have no way back to 1.24 by ",
     ""},
    {"the oldest way back",
     {"--from=1.31", "--to=1.32", "-f@/custom.yaml"},
     3,
     "\nAPI servers can go back to 1.31 after the last step.\n",
     ""},
    {"a way back that flags stand in the way of",
     {"--from=1.35", "--to=1.36", "-f@/new-gate.yaml"},
     0,
     "\nAPI servers can go back to 1.35 after the last step, once the flags of the findings "
     "flag-rollback are changed.\n",
     ""},
    {"SARIF: the rule",
     {"--to=1.37", "--from=1.36", DIR, "-o", "sarif"},
     2,
     "\"ruleId\": \"api-removed\",\n          \"level\": \"error\",",
     ""},
    {"SARIF: the place",
     {"--to=1.37", "--from=1.36", DIR, "-o", "sarif"},
     2,
     "m/cidr.yaml\"\n                },\n                \"region\": {\n                  "
     "\"startLine\": 2\n",
     ""},
    {"--fix: the reason why not",
     {"--to=1.36", "--from=1.34", "-f@/claim.yaml", "--fix"},
     0,
     "use resource.k8s.io/v1; not rewritten: spec.devices.requests[0].deviceClassName: the field "
     "does not exist",
     ""},
    {"--fix: a line with two API versions",
     {"--to=1.37", "--from=1.36", "-f@/one.json", "--fix"},
     3,
     "rewritten to networking.k8s.io/v1\n",
     ""},
    {"--fix: newer data has no newer schema",
     {"--to=1.37", "--from=1.36", "-f@/one.json", "--fix", "--data=@/next.json"},
     3,
     "rewritten to networking.k8s.io/v1\n",
     ""},
    {"--fix: an object that another one repeats",
     {"--to=1.37", "--from=1.36", "-f@/merge.yaml", "--fix"},
     2,
     "not rewritten: apiVersion stands in an unusual form, or the document has aliases",
     ""},
    {"the line of an editor", {"--to=1.37", "-f@/breaks.yaml"}, 2, "breaks.yaml:5 ", ""},
    {"--fix without a file",
     {"--to=1.36", "-f", "-", "--fix"},
     1,
     "",
     "--fix cannot rewrite the standard input"},
    {"a typed list: the first item", {"--to=1.37", "-f@/typed.yaml"}, 2, "typed.yaml:4 ", ""},
    {"a typed list: the second item",
     {"--to=1.37", "-f@/typed.yaml"},
     2,
     "networking.k8s.io/v1beta1 ServiceCIDR b ",
     ""},
    {"a typed list: all is checked",
     {"--to=1.37", "-f@/typed.yaml"},
     2,
     "2 objects checked, 0 of other kinds, 0 documents without a kind",
     ""},
    {"--fix: an item with the API version of the list",
     {"--to=1.37", "--from=1.36", "-f@/typed.yaml", "--fix"},
     2,
     "not rewritten: apiVersion stands in an unusual form",
     ""},
    {"no document", {"--to=1.36", "-f@/empty.yaml"}, 1, "", NOTHING},
    {"no file in the folder", {"--to=1.36", "-f@/void"}, 1, "", NOTHING},
    {"no item in the list", {"--to=1.36", "-f@/items.yaml"}, 1, "", NOTHING},
    {"no document with a kind", {"--to=1.36", "-f@/m/values.yaml"}, 1, "", NOTHING},
    {"a file without a document, and another one",
     {"--to=1.36", "-f@/empty.yaml", "-f@/custom.yaml"},
     0,
     "Safe",
     ""},
    {"the standard input and a file",
     {"--to=1.36", "-f", "-", "-f@/custom.yaml"},
     0,
     "1 of another kind, ",
     ""},
    {"the standard input twice",
     {"--to=1.36", "-f", "-", "-f", "-"},
     1,
     "",
     "the standard input can be read only once"},

    {"an audit log: who calls what goes",
     {"--to=1.37", "--from=1.36", "-f@/custom.yaml", "--audit-log=@/audit.log"},
     2,
     "ci|bot with kubectl/1 called the API version, which is removed in 1.37, 1 time (list), the "
     "last at 2026-11-01T00:00:00Z ",
     ""},
    {"an audit log: what was read",
     {"--to=1.37", "--from=1.36", "-f@/custom.yaml", "--audit-log=@/audit.log"},
     2,
     "0 documents without a kind, 1 audit event\nNot checked: ",
     ""},
    {"an audit log: nothing goes",
     {"--to=1.36", "--from=1.34", "-f@/custom.yaml", "--audit-log=@/audit.log"},
     0,
     "; requests that the audit logs do not have.",
     ""},
    {"audit logs: counted together",
     {"--to=1.37", "--from=1.36", "-f@/custom.yaml", "--audit-log=@/audit.log",
      "--audit-log=@/audit.2.log"},
     2,
     "2 times (list)",
     ""},
    {"audit logs: a line that is no Event",
     {"--to=1.37", "-f@/custom.yaml", "--audit-log=@/audit.log", "--audit-log=@/audit.2.log"},
     2,
     "audit.2.log:2 ",
     ""},
    {"an audit log, as JSON",
     {"--to=1.37", "-f@/custom.yaml", "--audit-log=@/audit.log", "-ojson"},
     2,
     "\"audit\": {\n    \"events\": 1,\n    \"unreadLines\": 0,\n    \"firstEvent\": "
     "\"2026-11-01T00:00:00Z\",\n    \"lastEvent\": \"2026-11-01T00:00:00Z\"\n  }",
     ""},
    {"an audit log, as YAML",
     {"--to=1.37", "-f@/custom.yaml", "--audit-log=@/audit.log", "-oyaml"},
     2,
     "rule: api-called",
     ""},
    {"an audit log, in Markdown",
     {"--to=1.37", "-f@/custom.yaml", "--audit-log=@/audit.log", "-omarkdown"},
     2,
     "ci\\|bot with kubectl/1 called",
     ""},
    {"an audit log, on the page",
     {"--to=1.37", "-f@/custom.yaml", "--audit-log=@/audit.log", "-ohtml"},
     2,
     "ci|bot with kubectl/1 called",
     ""},
    {"an audit log, in SARIF",
     {"--to=1.37", "-f@/custom.yaml", "--audit-log=@/audit.log", "-osarif"},
     2,
     "\"ruleId\": \"api-called\",\n          \"level\": \"error\",",
     ""},
    {"an audit log: a recording",
     {"--recording=@/r", "--to=1.37", "--audit-log=@/audit.log"},
     2,
     "ci|bot with kubectl/1 called",
     ""},
    {"an audit log: the standard input has no Event",
     {"--to=1.36", "--from=1.35", "-f@/custom.yaml", "--audit-log=-"},
     3,
     "the audit logs have no Event of a response",
     ""},
    {"an audit log: the standard input for both",
     {"--to=1.36", "-f-", "--audit-log=-"},
     1,
     "",
     "the standard input can be read only once"},
    {"an audit log that is not there",
     {"--to=1.36", "-f@/custom.yaml", "--audit-log=@/none.log"},
     1,
     "",
     "none.log: No such file"},
    {"an audit log that is a folder",
     {"--to=1.36", "-f@/custom.yaml", "--audit-log=@/m"},
     1,
     "",
     "/m: Is a directory"},
    {"an audit log and --guard",
     {"--guard", "--audit-log=@/audit.log"},
     1,
     "",
     "--guard reads a cluster: without -f, --audit-log, "},
    {"a cluster: the next version", {"--recording=@/r"}, 2, "Blocked: 1.34 to 1.35 (data", ""},
    {"a cluster: the steps",
     {"--recording=@/r"},
     2,
     "\n1      kube-apiserver 10.0.0.1:6443   binary                          1.34   1.35  ",
     ""},
    {"a cluster: a gate that a step refuses",
     {"--recording=@/r", "--to=1.36"},
     2,
     "kube-apiserver 10.0.0.1:6443   step 4",
     ""},
    {"a cluster: the flags are not read",
     {"--recording=@/r", "--to=1.36"},
     2,
     "the flags of the API server cannot be read",
     ""},
    {"a cluster: nor those of a controller",
     {"--recording=@/r", "--to=1.36"},
     2,
     "the flags of the kube-scheduler cannot be read: ",
     ""},
    {"a cluster: nor those of the nodes",
     {"--recording=@/r", "--to=1.36"},
     2,
     "the flags and the configurations of the nodes are not read: ",
     ""},
    {"a cluster: the objects are not read",
     {"--recording=@/r", "--to=1.36"},
     2,
     "webhooks, admission policies and CustomResourceDefinitions cannot be read: a recording does "
     "not have them",
     ""},
    {"a cluster: the way back",
     {"--recording=@/r", "--to=1.36"},
     2,
     "\nPoint of no return: after step 11, API servers cannot go back to 1.34.\n",
     ""},
    {"a cluster, as JSON", {"--recording=@/r", "-ojson"}, 2, "\"endsWayBackTo\": \"1.33\"", ""},
    {"a cluster that is newer",
     {"--recording=@/r", "--to=1.33"},
     3,
     "\nThe way back ends at 1.33, ",
     ""},
    {"no recording", {"--recording=/nonexistent"}, 1, "", "so it is not a recording"},
    {"--from without files", {"--from=1.35"}, 1, "", "--from needs files: use -f"},
    {"--fix without files", {"--fix"}, 1, "", "--fix needs files: use -f"},
    {"no target", {DIR}, 1, "", "say which version"},
    {"no version", {"--to=x", DIR}, 1, "", "x is not a version such as \"1.37\""},
    {"no version of Kubernetes", {"--to=2.1", DIR}, 1, "", "2.1 is not a version"},
    {"a way back", {"--to=1.34", "--from=1.35", DIR}, 1, "", "--from is newer than --to"},
    {"no such file", {"--to=1.36", "-f@/none"}, 1, "", "No such file"},
    {"a file that is no YAML",
     {"--to=1.36", "-f@/bad.yaml"},
     1,
     "",
     "bad.yaml, document at line 2: "},
    {"data with a gap",
     {"--to=1.36", DIR, "--data=@/data.json"},
     1,
     "",
     "data.json: the data has no file for each version from 1.33 to 1.38"},
    {"a format that is none", {"--to=1.36", DIR, "-o", "pdf"}, 1, "", "markdown, html, sarif"},
    {"help", {"--help"}, 0, "2 blocked, 3 not blocked but something is unknown", ""},
};

START_TEST(answers)
{
    command_expect_row(folder, "plan", &rows[_i]);
}
END_TEST

static void expect_file(const char *name, const char *wanted)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, name);
    EK_AUTOFREE char *text = NULL;

    ck_assert_int_eq(ek_file_read(path, 4096, &text, NULL, NULL), 0);
    ck_assert_str_eq(text, wanted);
}

START_TEST(fix_changes_nothing_but_the_version)
{
    const char *const args[] = {"--to=1.37", "--from=1.36", "-f@/m", "--fix", NULL};
    EK_AUTOFREE char *path = ek_xasprintf("%s/m/cidr.yaml", folder);
    struct stat st;

    ck_assert_int_eq(command_run(folder, "plan", args), 3); /* 1.37 is not in the data */
    command_expect(folder, "fix", "out", "0 errors, 1 unknown, 0 warnings, 2 fixed, ");
    expect_file("m/cidr.yaml",
                "# first\napiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: "
                "a}\nspec: {cidrs: [10.0.0.0/24]}\n---\napiVersion: v1\nkind: List\nitems:\n- "
                "apiVersion: v1\n  kind: Service\n  metadata: {name: s}\n- kind: ServiceCIDR\n  "
                "apiVersion: \"networking.k8s.io/v1\"\n  metadata: {name: b|c}\n");
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0640);
    ck_assert_int_eq(command_run(folder, "plan", args), 3);
    command_expect(folder, "again", "out", "0 errors, 1 unknown, 0 warnings, 3 objects");
}
END_TEST

#define M_CIDR "# first\n" CIDR "---\n" LIST

/* Runs --fix on files that must not be changed. */
static void expect_refusal(const char *file, const char *other, const char *message)
{
    const char *const args[] = {"--to=1.37", "--from=1.36", "--fix", file, other, NULL};

    ck_assert_int_eq(command_run(folder, "plan", args), 1);
    command_expect(folder, file, "err", message);
    command_expect(folder, file, "out", "");
    expect_file("m/cidr.yaml", M_CIDR);
    expect_file("merge.yaml", MERGE);
}

START_TEST(fix_does_not_replace_a_link)
{
    EK_AUTOFREE char *link = ek_xasprintf("%s/link.yaml", folder);
    EK_AUTOFREE char *target = ek_xasprintf("%s/m/cidr.yaml", folder);

    ck_assert_int_eq(symlink(target, link), 0);
    expect_refusal("-f@/link.yaml", NULL, "link.yaml: cannot be rewritten: no regular file");
}
END_TEST

START_TEST(fix_does_not_part_hard_links)
{
    EK_AUTOFREE char *other = ek_xasprintf("%s/other.yaml", folder);
    EK_AUTOFREE char *target = ek_xasprintf("%s/m/cidr.yaml", folder);

    ck_assert_int_eq(link(target, other), 0);
    expect_refusal("-f@/other.yaml", NULL,
                   "other.yaml: cannot be rewritten: the file has more than one hard link");
}
END_TEST

/* A folder that the user names may be a link, one that a folder contains may not. */
START_TEST(fix_does_not_follow_links_to_folders)
{
    EK_AUTOFREE char *link = ek_xasprintf("%s/tree/link", folder);
    EK_AUTOFREE char *target = ek_xasprintf("%s/m", folder);

    testdir_put(folder, "tree/notes.txt", "", 0600);
    ck_assert_int_eq(symlink(target, link), 0);
    expect_refusal("-f@/tree", NULL,
                   "cidr.yaml: cannot be rewritten: a symbolic link to a folder leads to the file");
    ck_assert_int_eq(command_run(folder, "plan",
                                 (const char *const[]){"--to=1.37", "--from=1.36", "-f@/tree/link",
                                                       "--fix", NULL}),
                     3);
    command_expect(folder, "named", "out", "2 fixed, ");
}
END_TEST

/* All files are read before one is changed. */
START_TEST(fix_changes_all_files_or_none)
{
    expect_refusal("-f@/m", "-f@/bad.yaml", "bad.yaml, document at line 2: ");
    expect_refusal("-f@/m", "-f@/none.yaml", "none.yaml");
    expect_refusal("-f@/m", "-f-", "--fix cannot rewrite the standard input");
}
END_TEST

START_TEST(fix_reads_a_file_twice_and_changes_it_once)
{
    const char *const args[] = {"--to=1.37",       "--from=1.36",     "--fix",
                                "-f@/breaks.yaml", "-f@/breaks.yaml", NULL};

    ck_assert_int_eq(command_run(folder, "plan", args), 3);
    expect_file("breaks.yaml", BREAKS "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\n"
                                      "metadata: {name: a}\nspec: {cidrs: [10.0.0.0/24]}\n");
}
END_TEST

START_TEST(fix_keeps_the_owner)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/m/cidr.yaml", folder);
    const char *const args[] = {"--to=1.37", "--from=1.36", "--fix", "-f@/m", NULL};
    struct stat st;

    ck_assert_int_eq(geteuid() == 0 ? chown(path, 4711, 4712) : 0, 0);
    uid_t owner = geteuid() == 0 ? 4711 : geteuid();
    ck_assert_int_eq(chmod(path, 02640), 0);
    ck_assert_int_eq(command_run(folder, "plan", args), 3);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_uid, owner);
    ck_assert_uint_eq(st.st_mode & 07777, 02640);
}
END_TEST

/* Names that are no manifests count as well: the limit is on what is read of a folder. */
START_TEST(a_folder_with_too_many_names)
{
    static const char *const args[] = {"--to=1.36", "-f@/big", "-f@/custom.yaml", NULL};
    static const char *const message = "big: the folder has more than 10000 entries: split the "
                                       "folder, or name "
                                       "the files and folders below the folder one by one";
    EK_AUTOFREE char *first = ek_xasprintf("%s/big/0.txt", folder);

    testdir_put(folder, "big/0.txt", "", 0600);
    for (int i = 1; i < 10000; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("%s/big/%d.txt", folder, i);
        ck_assert_int_eq(link(first, name), 0);
    }
    ck_assert_int_eq(command_run(folder, "plan", args), 0);
    testdir_put(folder, "big/zz.yaml", CIDR, 0600);
    ck_assert_int_eq(command_run(folder, "plan", args), 1);
    command_expect(folder, "plan", "err", message);
    ck_assert_int_eq(command_run(folder, "lint", (const char *const[]){"-f@/big", NULL}), 2);
    command_expect(folder, "lint", "err", message);
}
END_TEST

START_TEST(a_full_disk_is_a_failure)
{
    command_expect_full_disk(folder, "plan",
                             (const char *const[]){"--to=1.36", "-f@/custom.yaml", NULL});
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan_command");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, fix_changes_nothing_but_the_version);
    tcase_add_test(tc, fix_does_not_replace_a_link);
    tcase_add_test(tc, fix_does_not_part_hard_links);
    tcase_add_test(tc, fix_does_not_follow_links_to_folders);
    tcase_add_test(tc, fix_changes_all_files_or_none);
    tcase_add_test(tc, fix_reads_a_file_twice_and_changes_it_once);
    tcase_add_test(tc, fix_keeps_the_owner);
    tcase_add_test(tc, a_folder_with_too_many_names);
    tcase_add_test(tc, a_full_disk_is_a_failure);
    return ek_test_run("plan_command", tc);
}
