/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel discovery` as its users meet it: arguments in, an exit code and two streams out. */
#include <check.h>
#include <stddef.h>

#include "api/base/mem.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

struct recorded {
    const char *name, *text;
};

#define ANSWER(path, file) "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\"}"
#define V2(path, file)                                                                             \
    "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\",\"headers\":{\"content-type\":"   \
    "\"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\"}}"
#define LISTS                                                                                      \
    ANSWER("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "leases.json")            \
    "," ANSWER("/api/v1/namespaces/kube-system/pods", "leases.json") "," ANSWER("/api/v1/nodes",   \
                                                                                "leases.json")
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define ANSWERS                                                                                    \
    "[" ANSWER("/version", "version.json") "," V2("/api", "api.json") "," V2("/apis",              \
                                                                             "apis.json") "]"
#define VERSION                                                                                    \
    "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\",\"emulationMajor\":\"1\","       \
    "\"emulationMinor\":\"36\",\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"35\"}"

#define DOCUMENT(items)                                                                            \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","               \
    "\"metadata\":{},\"items\":[" items "]}"
#define GROUP(name, resources, freshness)                                                          \
    "{\"metadata\":{" name "},\"versions\":[{\"version\":\"v1\",\"resources\":[" resources         \
    "],\"freshness\":\"" freshness "\"}]}"
#define RESOURCE(name, kind, short, verbs)                                                         \
    "{\"resource\":\"" name                                                                        \
    "\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"" kind                        \
    "\"},\"scope\":\"Namespaced\",\"singularResource\":\"\",\"verbs\":[" verbs                     \
    "],\"shortNames\":[\"" short "\"]}"

#define PODS    RESOURCE("pods", "Pod", "po", "\"list\",\"get\"")
#define JOBS    RESOURCE("jobs", "Job", "j", "\"get\",\"list\"")
#define READ    RESOURCE("jobs", "Job", "j", "\"get\"")
#define BATCH   GROUP("\"name\":\"batch\"", JOBS, "Current")
#define WIDGETS GROUP("\"name\":\"x.io\"", RESOURCE("widgets", "Widget", "w", "\"get\""), "Current")
#define STALE   GROUP("\"name\":\"m.io\"", "", "Stale")

#define LEASE(id, host, renewed)                                                                   \
    "{\"metadata\":{\"name\":\"apiserver-" id "\",\"namespace\":\"kube-system\",\"labels\":{"      \
    "\"apiserver.kubernetes.io/identity\":\"kube-apiserver\",\"kubernetes.io/hostname\":\"" host   \
    "\"}},\"spec\":{\"holderIdentity\":\"apiserver-" id "_1\",\"leaseDurationSeconds\":3600,"      \
    "\"renewTime\":\"2026-11-20T" renewed ".000000Z\"}}"

/* cp-2 has all of cp-1, and widgets. */
static const struct recorded two[] = {
    {"index.json", "[" LISTS "," ANSWER(SLICES, "slices.json") "]"},
    {"peers.json", "{\"apiservers\":[{\"hostname\":\"cp-1\",\"address\":\"10.0.0.1:6443\"},"
                   "{\"hostname\":\"cp-2\",\"address\":\"10.0.0.2:6443\"}],\"components\":[]}"},
    {"leases.json", "{\"items\":[]}"},
    {"named.json", "{\"items\":[" LEASE("tqsyvnc7rs47fayzipsuqpfg4m", "cp-a", "10:00:00") "]}"},
    {"slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":"
     "{\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],"
     "\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]},{\"addresses\":[\"10.0.0.2\"]}]}]}"},
    {"peers/cp-1/index.json", ANSWERS},
    {"peers/cp-1/version.json", VERSION},
    {"peers/cp-1/api.json", DOCUMENT(GROUP("", PODS, "Current"))},
    {"peers/cp-1/apis.json", DOCUMENT(BATCH)},
    {"peers/cp-2/index.json", ANSWERS},
    {"peers/cp-2/version.json", VERSION},
    {"peers/cp-2/api.json", DOCUMENT(GROUP("", PODS, "Current"))},
    {"peers/cp-2/apis.json", DOCUMENT(BATCH "," WIDGETS)},
    {"peers/cp-2/readyz.txt", "[+]ping ok\n[-]etcd failed: reason withheld\n"},
};

#define A "10.0.0.1:6443"
#define B "10.0.0.2:6443"

#define HEAD_OF "NAME      SHORTNAMES   APIVERSION   NAMESPACED   KIND     "
#define UNREAD                                                                                     \
    "=evenkeel: discovery of API server " B                                                        \
    " was not read: NoDocuments: /apis: not in the recording\n"

static char folder[TESTDIR_SIZE];

static void set_up(void)
{
    testdir_make(folder);
    for (size_t i = 0; i < EK_ARRAY_SIZE(two); i++)
        testdir_put(folder, two[i].name, two[i].text, 0600);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

static const struct {
    const char *name;
    struct recorded instead; /* of a file, name NULL for none */
    const char *args[COMMAND_ARGS_MAX];
    int code;
    const char *out, *err;
} rows[] = {
    {"who serves what",
     {NULL, NULL},
     {"--from", "@"},
     0,
     "=" HEAD_OF "SERVED BY\n"
     "pods      po           v1           true         Pod      all\n"
     "jobs      j            batch/v1     true         Job      all\n"
     "widgets   w            x.io/v1      true         Widget   " B "\n",
     ""},
    {"wide",
     {NULL, NULL},
     {"--from", "@", "-owide"},
     0,
     "=" HEAD_OF "SERVED BY       VERBS\n"
     "pods      po           v1           true         Pod      all             get,list\n"
     "jobs      j            batch/v1     true         Job      all             get,list\n"
     "widgets   w            x.io/v1      true         Widget   " B "   get\n",
     ""},
    {"the merged document, byte for byte",
     {NULL, NULL},
     {"--from=@", "-ojson"},
     0,
     "=" DOCUMENT(BATCH "," WIDGETS) "\n",
     ""},
    {"as YAML",
     {NULL, NULL},
     {"--from=@", "-oyaml"},
     0,
     "kind: APIGroupDiscoveryList\napiVersion: apidiscovery.k8s.io/v2\n",
     ""},
    {"what differs",
     {NULL, NULL},
     {"--from=@", "--diff"},
     0,
     "=NAME      APIVERSION   SERVED BY       MISSING FROM    DIFFERS\n"
     "widgets   x.io/v1      " B "   " A "   -\n",
     ""},
    {"other verbs",
     {"peers/cp-2/apis.json", DOCUMENT(GROUP("\"name\":\"batch\"", READ, "Current"))},
     {"--from=@", "--diff"},
     0,
     "=NAME   APIVERSION   SERVED BY   MISSING FROM   DIFFERS\n"
     "jobs   batch/v1     all         -              verbs: get,list at " A "; get at " B "\n",
     ""},
    {"other verbs as JSON",
     {"peers/cp-2/apis.json", DOCUMENT(GROUP("\"name\":\"batch\"", READ, "Current"))},
     {"--from=@", "--diff", "-ojson"},
     0,
     "="
     "{\n  \"apiServers\": [\n    {\n      \"name\": \"" A "\"\n    },\n    {\n      \"name\": \"" B
     "\"\n    }\n  ],\n  \"differences\": [\n    {\n      \"groupVersion\": \"batch/v1\",\n"
     "      \"resource\": \"jobs\",\n      \"servedBy\": [\n        \"" A "\",\n        \"" B
     "\"\n      ],\n      \"differs\": {\n        \"verbs\": {\n          \"" A
     "\": \"get,list\",\n          \"" B "\": \"get\"\n        }\n      }\n    }\n  ]\n}\n",
     ""},
    {"differences as YAML",
     {NULL, NULL},
     {"--from=@", "--diff", "-oyaml"},
     0,
     "=apiServers:\n- name: " A "\n- name: " B "\ndifferences:\n- groupVersion: x.io/v1\n"
     "  resource: widgets\n  servedBy:\n  - " B "\n  missingFrom:\n  - " A "\n",
     ""},
    {"no difference",
     {"peers/cp-2/apis.json", DOCUMENT(BATCH)},
     {"--from=@", "--diff"},
     0,
     "=No differences. API servers that were read: 2 of 2\n",
     ""},
    {"stale at one, which knows no resources",
     {"peers/cp-2/apis.json", DOCUMENT(BATCH "," STALE)},
     {"--from=@"},
     0,
     "\n-                   m.io/v1                          " B "(stale)\n",
     ""},
    {"one API server",
     {NULL, NULL},
     {"--from=@", "--peer", A},
     0,
     "=NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND   FRESHNESS\n"
     "pods   po           v1           true         Pod    Current\n"
     "jobs   j            batch/v1     true         Job    Current\n",
     ""},
    {"its document, byte for byte",
     {NULL, NULL},
     {"--from=@", "--peer=" A, "-o", "json"},
     0,
     "=" DOCUMENT(BATCH) "\n",
     ""},
    {"its verbs",
     {"peers/cp-2/apis.json", DOCUMENT(GROUP("\"name\":\"batch\"", READ, "Current"))},
     {"--from=@", "--peer=" B, "-owide"},
     0,
     "jobs   j            batch/v1     true         Job    Current     get\n",
     ""},
    {"an API server that is none",
     {NULL, NULL},
     {"--from=@", "--peer=cp-9"},
     1,
     "",
     "=evenkeel: no API server has the name, address or identity \"cp-9\"; there are " A ", " B
     "\n"},
    {"an API server and differences",
     {NULL, NULL},
     {"--from=@", "--peer=" A, "--diff"},
     1,
     "",
     "--diff and --peer exclude each other"},
    {"one was not read",
     {"peers/cp-2/index.json", "[" ANSWER("/version", "version.json") "]"},
     {"--from=@"},
     1,
     "=NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND   SERVED BY\n"
     "pods   po           v1           true         Pod    " A "," B "?\n"
     "jobs   j            batch/v1     true         Job    " A "," B "?\n",
     UNREAD},
    {"one was not read: differences",
     {"peers/cp-2/index.json", "[" ANSWER("/version", "version.json") "]"},
     {"--from=@", "--diff"},
     1,
     "=No differences. API servers that were read: 1 of 2\n",
     UNREAD},
    {"one was not read: differences as JSON",
     {"peers/cp-2/index.json", "[" ANSWER("/version", "version.json") "]"},
     {"--from=@", "--diff", "-ojson"},
     1,
     "\"error\": \"NoDocuments: /apis: not in the recording\"",
     UNREAD},
    {"one was not read: no merged document",
     {"peers/cp-2/index.json", "[" ANSWER("/version", "version.json") "]"},
     {"--from=@", "-ojson"},
     1,
     "",
     "there is no merged document"},
    {"one was not read: another one's document",
     {"peers/cp-2/index.json", "[" ANSWER("/version", "version.json") "]"},
     {"--from=@", "-ojson", "--peer=" A},
     0,
     "=" DOCUMENT(BATCH) "\n",
     ""},
    {"one was not read: its document",
     {"peers/cp-2/index.json", "[" ANSWER("/version", "version.json") "]"},
     {"--from=@", "-ojson", "--peer=" B},
     1,
     "",
     UNREAD},
    {"one does not answer",
     {"peers/cp-2/index.json", "[]"},
     {"--from=@"},
     1,
     "jobs   j            batch/v1     true         Job    " A "," B "?\n",
     "API server " B " was not read: Unreachable: "},
    {"one is not ready",
     {"peers/cp-2/index.json",
      "[" ANSWER("/version", "version.json") "," V2("/api", "api.json") "," V2(
          "/apis", "apis.json") ",{\"path\":\"/readyz?verbose=1\",\"status\":500,\"file\":"
                                "\"readyz.txt\"}]"},
     {"--from=@"},
     1,
     "jobs   j            batch/v1     true         Job    " A "," B "?\n",
     "API server " B " was not read: NotReady: etcd"},
    {"no API server is known",
     {"index.json", "[" LISTS "]"},
     {"--from=@"},
     1,
     "",
     "=evenkeel: the list of API servers is not known: no API server was found: there is no "
     "address in "
     "the EndpointSlice default/kubernetes and no identity lease in kube-system\n"},
    {"addresses may not be read",
     {"index.json",
      "[" ANSWER("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "named.json") "]"},
     {"--from=@"},
     1,
     "",
     "=evenkeel: discovery of API server cp-a was not read: NoAddress: EndpointSlices in the "
     "namespace default could not be read\n"},
    {"no recording", {NULL, NULL}, {"--from", "/nonexistent"}, 1, "", "so it is not a recording"},
    {"no folder", {NULL, NULL}, {"--from="}, 1, "", "--from: the folder's name is empty"},
    {"a stray argument", {NULL, NULL}, {"--from=@", "jobs"}, 1, "", "unexpected argument \"jobs\""},
};

START_TEST(answers)
{
    if (rows[_i].instead.name)
        testdir_put(folder, rows[_i].instead.name, rows[_i].instead.text, 0600);
    int code = command_run(folder, "discovery", rows[_i].args);
    command_expect(folder, rows[_i].name, "out", rows[_i].out);
    command_expect(folder, rows[_i].name, "err", rows[_i].err);
    ck_assert_msg(code == rows[_i].code, "%s: exit code %d", rows[_i].name, code);
}
END_TEST

/* A server that has ended is merged without, as other servers do; it was not read all the same. */
START_TEST(a_server_has_ended)
{
    testdir_put(folder, "leases.json",
                "{\"items\":[" LEASE("tqsyvnc7rs47fayzipsuqpfg4m", "cp-a", "10:00:00") "," LEASE(
                    "imkgstwjs6opnbwk2ixluu6fiq", "cp-b", "07:00:00") "]}",
                0600);
    testdir_put(folder, "slices.json",
                "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\","
                "\"labels\":{\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":"
                "6443}],\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]}]}]}",
                0600);
    testdir_put(folder, "peers.json",
                "{\"apiservers\":[{\"hostname\":\"cp-1\",\"address\":\"" A "\"}],"
                "\"components\":[]}",
                0600);
    int code = command_run(folder, "discovery", (const char *const[]){"--from=@", "-ojson", NULL});
    command_expect(folder, "ended", "out", "=" DOCUMENT(BATCH) "\n");
    command_expect(folder, "ended", "err",
                   "=evenkeel: discovery of API server cp-b was not read: LeaseStale: its Lease is "
                   "not renewed\n");
    ck_assert_int_eq(code, 1);
}
END_TEST

START_TEST(a_full_disk_is_a_failure)
{
    command_expect_full_disk(folder, "discovery",
                             (const char *const[]){"--from=@", _i ? "-ojson" : "-otable", NULL});
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discovery");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, a_server_has_ended);
    tcase_add_loop_test(tc, a_full_disk_is_a_failure, 0, 2);
    return ek_test_run("discovery", tc);
}
