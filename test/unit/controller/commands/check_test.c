/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel check` as its users meet it: arguments in, an exit code and two streams out. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "informers/client/file.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

/* What each row reads: files "name=text", in the folder that --from names as "@". */
struct recorded {
    const char *name, *text;
};

#define LIST(path, file) "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\"}"
#define SLICES           "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define CANDIDATES       "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"

/* One API server at 1.36, and a scheduler and a controller manager, known by LeaseCandidates. */
static const struct recorded healthy[] = {
    {"index.json", "[" LIST("/api/v1/nodes", "nodes.json") "," LIST(SLICES, "slices.json") "," LIST(
                       "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                       "leases.json") "," LIST(CANDIDATES, "candidates.json") "]"},
    {"peers.json",
     "{\"apiservers\":[{\"hostname\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}],"
     "\"components\":[{\"hostname\":\"kcm\",\"component\":\"kube-controller-manager\"},"
     "{\"hostname\":\"sched\",\"component\":\"kube-scheduler\"}]}"},
    {"leases.json", "{\"items\":[]}"},
    {"candidates.json", "{\"items\":[]}"},
    {"slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":"
     "{\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],"
     "\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]}]}]}"},
    {"nodes.json", "{\"items\":[{\"metadata\":{\"name\":\"n1\"},"
                   "\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"}}}]}"},
    {"peers/cp-a/index.json", "[" LIST("/version", "version.json") "]"},
    {"peers/cp-a/version.json",
     "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\","
     "\"emulationMajor\":\"1\",\"emulationMinor\":\"36\","
     "\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"35\"}"},
    {"components/kcm/index.json", "[" LIST("/metrics", "metrics.txt") "]"},
    {"components/kcm/metrics.txt", "version_info{component=\"kube\",binary=\"1.36.2\","
                                   "emulation=\"1.36\",min_compat=\"1.35\"} 1\n"},
    {"components/sched/index.json", "[" LIST("/metrics", "metrics.txt") "]"},
    {"page", "evenkeel_proxy_client_requests_total{client=\"kubectl\",version=\"1.30\","
             "verdict=\"Supported\"} 2\n"
             "evenkeel_proxy_client_last_request_timestamp_seconds{client=\"kubectl\","
             "version=\"1.30\"} 1700000000\n"
             "evenkeel_proxy_client_requests_total{client=\"kubectl\",version=\"1.36\","
             "verdict=\"Supported\"} 2\n"},
    {"components/sched/metrics.txt", "version_info{component=\"kube\",binary=\"1.36.2\","
                                     "emulation=\"1.36\",min_compat=\"1.35\"} 1\n"},
};

#define DOCUMENT(group)                                                                            \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":["    \
    "{\"metadata\":{\"name\":\"" group "\"},\"versions\":[{\"version\":\"v1\",\"resources\":[],"   \
    "\"freshness\":\"Current\"}]}]}"
#define AGGREGATED(path, file)                                                                     \
    "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\",\"headers\":{\"content-type\":"   \
    "\"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\"}}"

/* The API server with its discovery documents. */
static const struct recorded documents[] = {
    {"peers/cp-a/index.json", "[" LIST("/version", "version.json") "," AGGREGATED(
                                  "/api", "api.json") "," AGGREGATED("/apis", "apis.json") "]"},
    {"peers/cp-a/api.json", DOCUMENT("")},
    {"peers/cp-a/apis.json", DOCUMENT("apps")},
};

/* ---- Shapes of control planes ---- */

#define INDEX(pods)                                                                                \
    "[" LIST("/api/v1/nodes", "nodes.json") "," LIST(SLICES, "slices.json") "," LIST(              \
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",                              \
        "leases.json") "," LIST("/api/v1/namespaces/kube-system/pods", pods) "]"
#define TWO_ENDPOINTS                                                                              \
    "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":"     \
    "{\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],"                \
    "\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]},{\"addresses\":[\"10.0.0.2\"]}]}]}"
#define TWO_SERVERS                                                                                \
    "{\"apiservers\":[{\"hostname\":\"cp-1\",\"address\":\"10.0.0.1:6443\"},"                      \
    "{\"hostname\":\"cp-2\",\"address\":\"10.0.0.2:6443\"}],\"components\":[]}"
#define ANSWERS                                                                                    \
    "[" LIST("/version", "version.json") ",{\"path\":\"/readyz?verbose=1\",\"status\":200,"        \
                                         "\"file\":\"readyz.txt\"}]"

/* EKS: two API servers, kubelets, and nothing of the other components. */
#define EKS_VERSION                                                                                \
    "{\"major\":\"1\",\"minor\":\"33\",\"gitVersion\":\"v1.33.5-eks-113cf36\","                    \
    "\"emulationMajor\":\"1\",\"emulationMinor\":\"33\","                                          \
    "\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"32\"}"
static const struct recorded managed[] = {
    {"index.json", INDEX("pods.json")},
    {"peers.json", TWO_SERVERS},
    {"leases.json", "{\"items\":[]}"},
    {"pods.json", "{\"items\":[]}"},
    {"slices.json", TWO_ENDPOINTS},
    {"nodes.json", "{\"items\":[{\"metadata\":{\"name\":\"w0\"},\"status\":{\"nodeInfo\":"
                   "{\"kubeletVersion\":\"v1.33.5-eks-113cf36\"}}}]}"},
    {"peers/cp-1/index.json", ANSWERS},
    {"peers/cp-1/version.json", EKS_VERSION},
    {"peers/cp-1/readyz.txt", "ok"},
    {"peers/cp-2/index.json", ANSWERS},
    {"peers/cp-2/version.json", EKS_VERSION},
    {"peers/cp-2/readyz.txt", "ok"},
};

/* kubeadm: two API servers and the static pods of their hosts. */
#define POD(component, node, ip)                                                                   \
    "{\"metadata\":{\"name\":\"" component "-" node "\",\"namespace\":\"kube-system\","            \
    "\"labels\":{\"component\":\"" component "\",\"tier\":\"control-plane\"},"                     \
    "\"annotations\":{\"kubernetes.io/config.source\":\"file\","                                   \
    "\"kubernetes.io/config.mirror\":\"h\"}},"                                                     \
    "\"spec\":{\"nodeName\":\"" node                                                               \
    "\",\"hostNetwork\":true,\"containers\":[{\"name\":\"" component                               \
    "\",\"image\":\"registry.k8s.io/" component ":v1.36.2\",\"command\":[\"" component             \
    "\",\"--bind-address=127.0.0.1\"]}]},"                                                         \
    "\"status\":{\"phase\":\"Running\",\"podIP\":\"" ip "\",\"hostIP\":\"" ip                      \
    "\",\"containerStatuses\":[{\"name\":\"" component "\",\"ready\":true,"                        \
    "\"image\":\"registry.k8s.io/" component ":v1.36.2\",\"state\":{\"running\":{}}}]}}"
#define MASTER(name)                                                                               \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"node-role.kubernetes.io/control-plane\":"  \
    "\"\"}},\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.35.0\"}}}"
#define OLD_KUBELET                                                                                \
    "{\"items\":[" MASTER("cp-1") "," MASTER(                                                      \
        "cp-2") ",{\"metadata\":{\"name\":\"w-1\"},\"status\":{\"nodeInfo\":{\"kubeletVersion\":"  \
                "\"v1.31.0\"}}}]}"
#define NEW_VERSION                                                                                \
    "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\",\"emulationMajor\":\"1\","       \
    "\"emulationMinor\":\"36\",\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"35\"}"
static const struct recorded self_made[] = {
    {"index.json", INDEX("pods.json")},
    {"peers.json", TWO_SERVERS},
    {"leases.json", "{\"items\":[]}"},
    {"pods.json",
     "{\"items\":[" POD("kube-apiserver", "cp-1", "10.0.0.1") "," POD(
         "kube-apiserver", "cp-2", "10.0.0.2") "," POD("kube-controller-manager", "cp-1",
                                                       "10.0.0.1") "," POD("kube-scheduler", "cp-1",
                                                                           "10.0.0.1") "]}"},
    {"slices.json", TWO_ENDPOINTS},
    {"nodes.json", "{\"items\":[" MASTER("cp-1") "," MASTER("cp-2") "]}"},
    {"peers/cp-1/index.json", ANSWERS},
    {"peers/cp-1/version.json", NEW_VERSION},
    {"peers/cp-1/readyz.txt", "ok"},
    {"peers/cp-2/index.json", "[]"}, /* does not answer */
};
static const struct recorded answering[] = {
    {"peers/cp-2/index.json", ANSWERS},
    {"peers/cp-2/version.json", NEW_VERSION},
    {"peers/cp-2/readyz.txt", "ok"},
};

static char folder[TESTDIR_SIZE];

static void put(const struct recorded *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        testdir_put(folder, files[i].name, files[i].text, 0600);
}

static void set_up(void)
{
    testdir_make(folder);
    put(healthy, EK_ARRAY_SIZE(healthy));
}

static void tear_down(void)
{
    testdir_remove(folder);
}

#define KUBELET(version)                                                                           \
    "{\"items\":[{\"metadata\":{\"name\":\"n1\"},"                                                 \
    "\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"" version "\"}}}]}"

/* A client that is too old is no violation: what clients say proves nothing. */
#define CLIENTS                                                                                    \
    "CLIENTS OF PROXIES\n"                                                                         \
    "NAME      VERSION   VERDICT       LAST SEEN\n"                                                \
    "kubectl   1.30      Unsupported   2023-11-14T22:13:20Z\n"                                     \
    "kubectl   1.36      Supported     -\n"

static const struct {
    const char *name;
    const char *nodes; /* in place of nodes.json, NULL to keep it */
    const char *args[COMMAND_ARGS_MAX];
    int code;
    const char *out, *err; /* what stdout and stderr must contain, "" for nothing at all */
} rows[] = {
    {"supported", NULL, {"--from", "@"}, 0, "Supported: 1/1 API servers", ""},
    {"a violation", KUBELET("v1.37.0"), {"--from=@"}, 2, ", 1 violation, 0 unknown", ""},
    {"an unknown", KUBELET("latest"), {"--from", "@"}, 3, "Unknown: 1/1", ""},
    {"no colour but on a terminal", KUBELET("v1.37.0"), {"--from", "@"}, 2, "!\033", ""},
    {"colour when asked for", NULL, {"--from", "@", "--color=always"}, 0, "\033[32m", ""},
    {"JSON", NULL, {"--from", "@", "-o", "json"}, 0, "\"verdict\": \"Supported\"", ""},
    {"YAML", NULL, {"--from", "@", "-oyaml"}, 0, "kind: ControlPlane\n", ""},
    {"a page", NULL, {"--from", "@", "-ohtml"}, 0, "<title>Supported: version skew</title>", ""},
    {"a page: a violation",
     KUBELET("v1.37.0"),
     {"--from=@", "-o", "html"},
     2,
     "class=\"bad\" data-name=\"RULE\">KubeletRange</td>",
     ""},
    {"a page: the window of a component",
     KUBELET("v1.37.0"),
     {"--from=@", "-o", "html"},
     2,
     "<tr><th scope=\"row\">kubelet v1.37.0</th><td class=\"in\"><span class=\"hidden-text\">in "
     "the "
     "window</span>",
     ""},
    {"a page: the next version",
     NULL,
     {"--from=@", "-ohtml", "--next-version=1.38"},
     0,
     "class=\"version target\">1.38<br>next</th>",
     ""},
    {"a next version", NULL, {"--from", "@", "--next-version=1.38"}, 0, "upgraded to 1.38", ""},
    {"no recording", NULL, {"--from", "/nonexistent"}, 1, "", "so it is not a recording"},
    {"no folder", NULL, {"--from="}, 1, "", "--from: the folder's name is empty"},
    {"a format that is none", NULL, {"--from=@", "-o", "xml"}, 1, "", "table, json, yaml"},
    {"a next version that is none",
     NULL,
     {"--from=@", "--next-version=abc"},
     1,
     "",
     "--next-version: abc is not a version"},
    {"no time", NULL, {"--from=@", "--timeout=-5s"}, 1, "", "--timeout: -5s is not above zero"},
    {"clients of a proxy", NULL, {"--from=@", "--proxy-metrics=@/page"}, 0, CLIENTS, ""},
    {"clients as JSON",
     NULL,
     {"--from=@", "--proxy-metrics=@/page", "--proxy-metrics=@/page", "-ojson"},
     0,
     "\"verdict\": \"Unsupported\",\n      \"lastSeen\": \"2023-11-14T22:13:20Z\"",
     ""},
    {"no clients", NULL, {"--from=@"}, 0, "!CLIENTS", ""},
    {"no page", NULL, {"--from=@", "--proxy-metrics=@/none"}, 1, "", "/none"},
    {"a page of something else",
     NULL,
     {"--from=@", "--proxy-metrics=@/nodes.json"},
     1,
     "",
     "has no metrics of evenkeel proxy"},
    {"a stray argument", NULL, {"--from=@", "more"}, 1, "", "unexpected argument \"more\""},
};

START_TEST(answers)
{
    if (rows[_i].nodes)
        testdir_put(folder, "nodes.json", rows[_i].nodes, 0600);
    int code = command_run(folder, "check", rows[_i].args);
    command_expect(folder, rows[_i].name, "out", rows[_i].out);
    command_expect(folder, rows[_i].name, "err", rows[_i].err);
    ck_assert_msg(code == rows[_i].code, "%s: exit code %d", rows[_i].name, code);
}
END_TEST

/* A provider hides components, and only the user can know that. */
static const struct command_row hidden[] = {
    {"not seen", {"--from=@"}, 3, "Unknown: 2/2 API servers", ""},
    {"one of two", {"--from=@", "--ignore=kube-scheduler"}, 3, ", 1 unknown\n", ""},
    {"both",
     {"--from=@", "--ignore", "kube-controller-manager", "--ignore=kube-scheduler"},
     0,
     "Supported: 2/2 API servers",
     ""},
    {"both in one list",
     {"--from=@", "--ignore=kube-controller-manager,kube-scheduler"},
     0,
     "Supported: 2/2 API servers",
     ""},
    {"shown, not judged", {"--from=@", "--ignore=kubelet"}, 3, "NotJudged   Ignored", ""},
    {"in the object, once",
     {"--from=@", "--ignore=kubelet,kubelet,kube-scheduler", "-oyaml"},
     3,
     "  skewPolicy:\n    ignoredComponents:\n    - kubelet\n    - kube-scheduler\n",
     ""},
    {"with a next version",
     {"--from=@", "--ignore=kube-controller-manager,kube-scheduler", "--next-version=1.35"},
     0,
     "upgraded to 1.35: ",
     ""},
    {"every component",
     {"--from=@", "--ignore=kube-apiserver,kube-controller-manager,kube-scheduler,"
                  "cloud-controller-manager,kubelet,kube-proxy"},
     0,
     "Supported: 2/2",
     ""},
    {"none of ours",
     {"--from=@", "--ignore=kubelet,etcd"},
     1,
     "",
     "invalid value \"etcd\" for --ignore: use kube-apiserver, kube-controller-manager, "
     "kube-scheduler, cloud-controller-manager, kubelet, kube-proxy"},
};

START_TEST(hidden_components)
{
    put(managed, EK_ARRAY_SIZE(managed));
    command_expect_row(folder, "check", &hidden[_i]);
}
END_TEST

/* The list of the cluster's ControlPlane stays. */
START_TEST(ignores_in_addition)
{
    static const char *const args[] = {"--from=@", "--ignore=kube-scheduler", NULL};

    put(managed, EK_ARRAY_SIZE(managed));
    testdir_put(
        folder, "index.json",
        "[" LIST("/apis/evenkeel.dev/v1alpha1/controlplanes", "controlplanes.json") "," LIST(
            SLICES, "slices.json") "," LIST("/api/v1/nodes", "nodes.json") "]",
        0600);
    testdir_put(folder, "controlplanes.json",
                "{\"items\":[{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"skewPolicy\":"
                "{\"ignoredComponents\":[\"kube-controller-manager\"]}}}]}",
                0600);
    ck_assert_int_eq(command_run(folder, "check", args), 0);
}
END_TEST

/* A report does not begin with the word Supported while Ready is False; the exit code is about the
 * skew alone. */
static const struct {
    const char *name;
    const char *nodes; /* in place of nodes.json, NULL to keep it */
    bool answers;      /* so does cp-2 */
    const char *form;
    int code;
    const char *out;
} headlines[] = {
    {"one of two is down", NULL, false, "-otable", 0,
     "=Not ready (PeerUnreachable): 1/2 API servers reachable, versions 1.36, 0 violations, 0 "
     "unknown; skew Supported\n"},
    {"and a violation", OLD_KUBELET, false, "-otable", 2,
     "=Not ready (PeerUnreachable): 1/2 API servers reachable, versions 1.36, 1 violation, 0 "
     "unknown; skew Unsupported\n"},
    {"a violation alone", OLD_KUBELET, true, "-otable", 2,
     "=Unsupported: 2/2 API servers reachable, versions 1.36, 1 violation, 0 unknown\n"},
    {"both answer", NULL, true, "-otable", 0,
     "=Supported: 2/2 API servers reachable, versions 1.36, 0 violations, 0 unknown\n"},
    {"the title of a page", NULL, false, "-ohtml", 0,
     "<title>Not ready (PeerUnreachable): version skew</title>"},
    {"the banner of a page", NULL, false, "-ohtml", 0, "0 unknown; skew Supported"},
};

/* Leaves only the first line of what was written to stdout. */
static void keep_first_line(void)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/out", folder);
    EK_AUTOFREE char *text = NULL;
    size_t len;

    ck_assert_int_eq(ek_file_read(path, 1 << 20, &text, &len, NULL), 0);
    text[strcspn(text, "\n") + 1] = '\0';
    testdir_put(folder, "out", text, 0600);
}

START_TEST(begins_with_ready)
{
    const char *const args[] = {"--from=@", headlines[_i].form, NULL};

    put(self_made, EK_ARRAY_SIZE(self_made));
    if (headlines[_i].nodes)
        testdir_put(folder, "nodes.json", headlines[_i].nodes, 0600);
    put(answering, headlines[_i].answers ? EK_ARRAY_SIZE(answering) : 0);
    int code = command_run(folder, "check", args);
    if (*headlines[_i].out == '=')
        keep_first_line();
    command_expect(folder, headlines[_i].name, "out", headlines[_i].out);
    ck_assert_msg(code == headlines[_i].code, "%s: exit code %d", headlines[_i].name, code);
}
END_TEST

/* Nothing of a message is cut: each that the object has is in the tables, where a line may end
 * between two words. */
static const struct {
    const char *name;
    const struct recorded *files;
    size_t n;
    const char *nodes;
} whole[] = {
    {"a server that is down", self_made, EK_ARRAY_SIZE(self_made), OLD_KUBELET},
    {"what a provider hides", managed, EK_ARRAY_SIZE(managed), NULL},
};

/* What the command wrote to stdout, with one blank for each run of blanks and ends of lines. */
static char *words_of_output(void)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/out", folder);
    char *text = NULL;
    size_t len, n = 0;

    ck_assert_int_eq(ek_file_read(path, 1 << 20, &text, &len, NULL), 0);
    for (size_t i = 0; i < len; i++) {
        bool blank = text[i] == ' ' || text[i] == '\n';
        if (!blank || (n && text[n - 1] != ' '))
            text[n++] = blank ? ' ' : text[i];
    }
    text[n] = '\0';
    return text;
}

/* Looks for each text of the list; how many there were. */
static size_t expect_each(const char *row, const char *table, yyjson_val *list, const char *key)
{
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, one)
    {
        const char *text = key ? ek_json_text(one, key) : yyjson_get_str(one);
        ck_assert_msg(strstr(table, text) != NULL, "%s: no \"%s\" in %s", row, text, table);
    }
    return n;
}

START_TEST(cuts_no_message)
{
    static const char *const tables[] = {"--from=@", NULL};
    static const char *const json[] = {"--from=@", "-ojson", NULL};
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;

    put(whole[_i].files, whole[_i].n);
    if (whole[_i].nodes)
        testdir_put(folder, "nodes.json", whole[_i].nodes, 0600);
    command_run(folder, "check", json);
    EK_AUTOFREE char *text = words_of_output();
    ck_assert_int_eq(ek_obj_parse(text, strlen(text), &object, NULL), 0);
    yyjson_val *status = yyjson_obj_get(ek_obj_root(object), "status");
    command_run(folder, "check", tables);
    EK_AUTOFREE char *table = words_of_output();
    size_t n = expect_each(whole[_i].name, table, yyjson_obj_get(status, "conditions"), "message");
    expect_each(whole[_i].name, table, yyjson_obj_get(status, "violations"), "remedy");
    expect_each(whole[_i].name, table, yyjson_obj_get(status, "problems"), NULL);
    ck_assert_uint_ge(n, 6);
}
END_TEST

/* What a proxy at this place could serve: the report has it as the status of a ControlPlane has. */
START_TEST(says_whether_discovery_can_be_merged)
{
    static const char *const args[] = {"--from=@", NULL};
    static const char *const table[] = {
        "DiscoveryMerged          False     NotRead",
        "DiscoveryMerged          True      Complete",
    };

    put(documents, _i ? EK_ARRAY_SIZE(documents) : 0);
    ck_assert_int_eq(command_run(folder, "check", args), 0);
    command_expect(folder, "merged", "out", table[_i]);
}
END_TEST

START_TEST(a_full_disk_is_a_failure)
{
    command_expect_full_disk(folder, "check", (const char *const[]){"--from=@", NULL});
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("check");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, hidden_components, 0, EK_ARRAY_SIZE(hidden));
    tcase_add_test(tc, ignores_in_addition);
    tcase_add_loop_test(tc, begins_with_ready, 0, EK_ARRAY_SIZE(headlines));
    tcase_add_loop_test(tc, cuts_no_message, 0, EK_ARRAY_SIZE(whole));
    tcase_add_loop_test(tc, says_whether_discovery_can_be_merged, 0, 2);
    tcase_add_test(tc, a_full_disk_is_a_failure);
    return ek_test_run("check", tc);
}
