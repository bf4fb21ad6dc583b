/* SPDX-License-Identifier: Apache-2.0 */
/* The answers for people: what is wrong, found in answers of every kind, and the tables. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "controller/commands/debug_report.h"
#include "test/support/suite.h"

#define NOW "2026-11-20T10:00:00.000000Z"

#define PEER(members)                                                                              \
    "\"peers\":[{\"component\":\"kube-apiserver\",\"address\":\"10.0.0.1:6443\"" members "}]"
#define REACH(members) "\"answers\":{\"reach\":{" members "}}"
#define INFORMER(members)                                                                          \
    "{\"resource\":\"nodes\",\"version\":\"v1\",\"state\":\"BACKOFF\",\"since\":"                  \
    "\"2026-11-20T09:59:30Z\",\"nextTryTime\":\"2026-11-20T10:00:05Z\"" members "}"
#define DEFINITION(name, objects, served)                                                          \
    "{\"resource\":\"customresourcedefinitions\",\"fieldSelector\":\"metadata.name=" name          \
    "\",\"state\":\"WATCHING\",\"synced\":true,\"objects\":" objects ",\"served\":" served "}"
#define ERROR(reason, message) ",\"error\":{\"reason\":\"" reason "\",\"message\":\"" message "\"}"

static const struct {
    const char *name;
    const char *answer; /* without braces and time */
    const char *found;  /* exactly; "" for nothing */
} finding_rows[] = {
    {"an empty answer", "", ""},
    {"a manager that runs",
     "\"manager\":{\"phase\":\"running\",\"parts\":[{\"name\":\"a\",\"state\":\"running\"}]}", ""},
    {"waiting for the election is no fault",
     "\"manager\":{\"phase\":\"electing\",\"parts\":[{\"name\":\"a\",\"state\":\"not started\"}]}",
     ""},
    {"a part that does not become ready",
     "\"manager\":{\"phase\":\"starting\",\"parts\":[{\"name\":\"skew informers\",\"state\":\"not "
     "ready\"},{\"name\":\"b\",\"state\":\"not started\"}]}",
     "- manager: \"skew informers\" is not ready\n"},
    {"a part that does not stop",
     "\"manager\":{\"phase\":\"stopping\",\"parts\":[{\"name\":\"a\",\"state\":\"stopping\"}]}",
     "- the manager is stopping\n- manager: \"a\" is stopping\n"},
    {"a manager that failed",
     "\"manager\":{\"phase\":\"stopping\",\"error\":{\"message\":\"a: no port\"},\"parts\":[]}",
     "- the manager is ending: a: no port\n"},

    {"API servers without an address: one that lives, one that has ended",
     "\"peers\":[{\"component\":\"kube-apiserver\",\"name\":\"cp-z\",\"routable\":false,"
     "\"reason\":\"NoAddress\"},{\"component\":\"kube-apiserver\",\"name\":\"cp-y\","
     "\"routable\":false,\"reason\":\"Gone\"}]",
     "- kube-apiserver cp-z: nothing in the cluster names its address\n"},

    {"no election", "\"leader\":{\"election\":false,\"mayWrite\":true}", ""},
    {"a leader",
     "\"leader\":{\"election\":true,\"leads\":true,\"mayWrite\":true,\"holder\":\"me\"}", ""},
    {"a follower",
     "\"leader\":{\"election\":true,\"leads\":false,\"mayWrite\":false,\"holder\":\"you\"}", ""},
    {"nobody leads",
     "\"leader\":{\"election\":true,\"leads\":false,\"state\":\"waiting\",\"mayWrite\":false}",
     "- leader: no replica is known to hold the lease: no replica writes\n"},
    {"a failure just now",
     "\"leader\":{\"election\":true,\"leads\":true,\"holder\":\"me\",\"failures\":3,\"lastFailure\""
     ":{\"message\":\"timed out\"},\"lastFailureTime\":\"2026-11-20T09:59:55Z\"}",
     "- leader: a request for the lease failed 5s ago (3 so far): timed out\n"},
    {"a failure long ago",
     "\"leader\":{\"election\":true,\"leads\":true,\"holder\":\"me\",\"failures\":3,\"lastFailure\""
     ":{\"message\":\"timed out\"},\"lastFailureTime\":\"2026-11-20T09:50:00Z\"}",
     ""},
    {"a lost lease", "\"leader\":{\"election\":true,\"lost\":true,\"holder\":\"you\"}",
     "- leader: the lease was lost\n"},
    {"a leader without leave",
     "\"leader\":{\"election\":true,\"leads\":true,\"mayWrite\":false,\"holder\":\"me\"}",
     "- leader: this replica leads but may not write\n"},

    {"an informer that watches",
     "\"informers\":[{\"resource\":\"nodes\",\"state\":\"WATCHING\",\"synced\":true}]", ""},
    {"a failure that is over",
     "\"informers\":[{\"resource\":\"nodes\",\"state\":\"WATCHING\",\"synced\":true,"
     "\"lastFailure\":{\"message\":\"reset\"}}]",
     ""},
    {"a definition of ours that is there",
     "\"informers\":[" DEFINITION("controlplanes.evenkeel.dev", "1", "true") "]", ""},
    {"a definition of ours that is missing",
     "\"informers\":[" DEFINITION("controlplanes.evenkeel.dev", "0", "true") "]",
     "- controlplanes.evenkeel.dev: the CustomResourceDefinition is missing: install it (kubectl "
     "apply -k deploy)\n"},
    {"a definition of others is not ours to miss",
     "\"informers\":[" DEFINITION("widgets.example.com", "0", "true") "]", ""},
    {"definitions that are not served",
     "\"informers\":[" DEFINITION("controlplanes.evenkeel.dev", "0", "false") "]", ""},
    {"not listed yet", "\"informers\":[" INFORMER(",\"synced\":false") "]",
     "- nodes: not listed yet, BACKOFF for 30s\n"},
    {"never allowed",
     "\"informers\":[" INFORMER(",\"synced\":false" ERROR("forbidden", "nodes is forbidden")) "]",
     "- nodes: nodes is forbidden (never listed); BACKOFF for 30s, next try in 5s: grant list "
     "and watch to the controller's user\n"},
    {"not updated",
     "\"informers\":[" INFORMER(
         ",\"namespace\":\"a\",\"synced\":true" ERROR("timed out", "slow")) "]",
     "- nodes in a: slow (cached objects are not updated); BACKOFF for 30s, next try in 5s\n"},
    {"all fail alike",
     "\"informers\":[" INFORMER(ERROR("connection refused", "no server")) "," INFORMER(
         ERROR("connection refused", "no server either")) "]",
     "- all 2 informers fail, so the caches are not updated: no server\n"},
    {"all that are served fail alike",
     "\"informers\":[{\"resource\":\"x\",\"served\":false,\"synced\":true}," INFORMER(
         ERROR("connection refused", "no server")) "," INFORMER(ERROR("connection refused",
                                                                      "no server either")) "]",
     "- all 2 informers fail, so the caches are not updated: no server\n"},
    {"all fail, each in its way",
     "\"informers\":[" INFORMER(ERROR("connection refused", "a")) "," INFORMER(
         ERROR("timed out", "b")) "]",
     "- nodes: a (cached objects are not updated); BACKOFF for 30s, next try in 5s\n"
     "- nodes: b (cached objects are not updated); BACKOFF for 30s, next try in 5s\n"},
    {"one line stays one line, without a terminal's codes",
     "\"informers\":[" INFORMER(ERROR("bad", "a\\n- b \\u001b[31m \\\"c\\\"")) "]",
     "- nodes: a\\n- b \\x1b[31m \"c\" (cached objects are not updated); BACKOFF for 30s, next try "
     "in 5s\n"},

    {"a key that rests",
     "\"queues\":[{\"controller\":\"policies\",\"keys\":[{\"key\":\"a\",\"requeues\":0}]}]", ""},
    {"a key that fails",
     "\"queues\":[{\"controller\":\"policies\",\"keys\":[{\"key\":\"a\",\"requeues\":7,\"dueTime\":"
     "\"2026-11-20T10:00:03Z\"}],"
     "\"runs\":[{\"key\":\"b\",\"error\":{\"message\":\"not this\"}},{\"key\":\"a\"},{\"key\":"
     "\"a\",\"error\":{\"message\":\"conflict\"}},{\"key\":\"a\",\"error\":{\"message\":\"older\"}}"
     "]}]",
     "- policies: \"a\" failed 7 times in a row, next try in 3s: conflict\n"},
    {"a run that takes long",
     "\"queues\":[{\"controller\":\"policies\",\"keys\":[{\"key\":\"a\",\"processingSince\":\"2026-"
     "11-20T09:58:00Z\"}]}]",
     "- policies: \"a\" has been reconciled for 2m\n"},
    {"a run that does not yet",
     "\"queues\":[{\"controller\":\"policies\",\"keys\":[{\"key\":\"a\",\"processingSince\":\"2026-"
     "11-20T09:59:40Z\"}]}]",
     ""},
    {"a key that nobody takes",
     "\"queues\":[{\"controller\":\"policies\",\"keys\":[{\"key\":\"a\",\"readySince\":\"2026-11-"
     "20T09:59:00Z\"}]}]",
     "- policies: \"a\" has waited for a worker for 60s\n"},

    {"another controller's runs say nothing",
     "\"queues\":[{\"controller\":\"skew\",\"runs\":[{\"key\":\"a\",\"error\":{"
     "\"message\":\"not this\"}}]},{\"controller\":\"policies\",\"keys\":[{\"key\":\"a\","
     "\"requeues\":1,\"dueTime\":\"2026-11-20T10:00:03Z\"}]}]",
     "- policies: \"a\" failed 1 times in a row, next try in 3s: see the log\n"},

    {"a webhook that is well",
     "\"webhook\":{\"ready\":true,\"certificate\":{\"notAfter\":\"2027-11-20T10:00:00Z\"},"
     "\"authorities\":[{\"readable\":true,\"notAfter\":\"2036-11-20T10:00:00Z\"}],\"snapshot\":"
     "{\"params\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"listed\":true}]}}",
     ""},
    {"a webhook that does not answer",
     "\"webhook\":{\"ready\":false" ERROR("timeout", "the webhook is not listening") "}",
     "- the webhook is not listening: requests are not answered\n"},
    {"its certificate is at its end",
     "\"webhook\":{\"certificate\":{\"notAfter\":\"2026-11-20T09:00:00Z\"}}",
     "- the webhook's certificate expired 60m ago\n"},
    {"an authority, too; another is none",
     "\"webhook\":{\"authorities\":[{\"readable\":true,\"notAfter\":\"2026-11-21T10:00:00Z\"},{"
     "\"readable\":false}]}",
     "- an authority of the webhook's certificate expires in 24h\n"
     "- the webhook's authorities hold a certificate that cannot be read\n"},
    {"params that are not listed",
     "\"webhook\":{\"snapshot\":{\"params\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
     "\"listed\":false}]}}",
     "- the webhook: params v1 ConfigMap are not listed yet: policies that use them wait\n"},

    {"a target not asked yet", PEER(""), "- kube-apiserver 10.0.0.1:6443: not probed yet\n"},
    {"a target that is well", PEER(",\"reachable\":true,\"ready\":true," REACH("")), ""},
    {"one that is gone",
     PEER(",\"reachable\":false," REACH("\"goodTime\":\"2026-11-20T09:55:00Z\"" ERROR("", "gone"))),
     "- kube-apiserver 10.0.0.1:6443: unreachable, last answered 5m ago: gone\n"},
    {"one that never was there",
     PEER(",\"reachable\":false," REACH("\"triedTime\":\"2026-11-20T09:55:00Z\"" ERROR("", "no"))),
     "- kube-apiserver 10.0.0.1:6443: unreachable, never answered: no\n"},
    {"one that is not ready",
     PEER(",\"reachable\":true,\"ready\":false,\"failingChecks\":\"etcd\"," REACH("")),
     "- kube-apiserver 10.0.0.1:6443: not ready: etcd\n"},
    {"a question without an answer",
     PEER(",\"reachable\":true,\"answers\":{\"reach\":{},\"metrics\":{\"error\":{\"message\":"
          "\"forbidden\"}}}"),
     "- kube-apiserver 10.0.0.1:6443: no answer about metrics: forbidden\n"},
    {"a certificate with time",
     PEER(",\"reachable\":true,\"certificate\":{\"notAfter\":\"2026-12-20T10:00:00Z\"}," REACH("")),
     ""},
    {"a certificate that ends soon",
     PEER(",\"reachable\":true,\"certificate\":{\"notAfter\":\"2026-11-23T10:00:00Z\"}," REACH("")),
     "- kube-apiserver 10.0.0.1:6443: its certificate expires in 3d\n"},
    {"a certificate that has ended",
     PEER(",\"reachable\":true,\"certificate\":{\"notAfter\":\"2026-11-20T09:00:00Z\"}," REACH("")),
     "- kube-apiserver 10.0.0.1:6443: its certificate expired 60m ago\n"},

    {"a process that is well",
     "\"process\":{\"openFiles\":20,\"maxFiles\":1024,\"loop\":{\"longestTurnMs\":30}}", ""},
    {"descriptors run out", "\"process\":{\"openFiles\":1000,\"maxFiles\":1024}",
     "- process: 1000 of 1024 file descriptors are in use\n"},
    {"a loop that was held up",
     "\"process\":{\"loop\":{\"longestTurnMs\":2500,\"longestTurnTime\":\"2026-11-20T09:59:00Z\"}}",
     "- process: the event loop was busy for 2500 ms at a stretch, 60s ago\n"},
    {"a log that nobody reads", "\"log\":{\"droppedLines\":5}",
     "- log: 5 lines were lost because the reader of the log is stuck\n"},

    {"what is of the wrong type is not there",
     "\"manager\":[],\"leader\":1,\"informers\":{\"a\":1},\"queues\":[{\"keys\":\"x\"}],\"peers\":"
     "null,\"webhook\":[],\"process\":\"\",\"log\":true",
     ""},
};

static yyjson_doc *parse(const char *members)
{
    struct ek_err err = {0};
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"time\":\"" NOW "\"%s%s}", *members ? "," : "", members);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), &err);

    ck_assert_msg(doc != NULL, "%s: %s", err.message, text);
    return doc;
}

START_TEST(findings)
{
    yyjson_doc *doc = parse(finding_rows[_i].answer);
    EK_AUTO(ek_buf) out;
    size_t lines = 0;

    ek_buf_init(&out, 1 << 20);
    size_t n = ek_debug_findings(yyjson_doc_get_root(doc), &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), finding_rows[_i].found), "%s:\n%s",
                  finding_rows[_i].name, ek_buf_str(&out));
    for (const char *p = ek_buf_str(&out); *p; p++)
        lines += *p == '\n';
    ck_assert_msg(n == lines, "%s: %zu told", finding_rows[_i].name, n);
    yyjson_doc_free(doc);
}
END_TEST

static const struct {
    const char *name;
    const char *answer;
    const char *only;
    bool overview;
    const char *shown; /* exactly */
} report_rows[] = {
    {"nothing", "", NULL, false, ""},
    {"the log", "\"log\":{\"level\":\"debug\",\"droppedLines\":0}", NULL, false,
     "LOG\n"
     "WHAT         VALUE\n"
     "level        debug\n"
     "lines lost   0\n"},
    {"the manager",
     "\"manager\":{\"phase\":\"running\",\"parts\":[{\"name\":\"HTTP servers\",\"group\":\"http\","
     "\"state\":\"running\"}]}",
     NULL, false,
     "MANAGER: running\n"
     "PART           GROUP   STATE\n"
     "HTTP servers   http    running\n"},
    {"a follower",
     "\"leader\":{\"election\":true,\"identity\":\"me\",\"leads\":false,\"mayWrite\":false,"
     "\"state\":\"waiting\",\"lease\":{\"namespace\":\"a\",\"name\":\"b\"},\"holder\":\"you\","
     "\"nextTryTime\":\"2026-11-20T10:00:02Z\",\"transitions\":4,\"failures\":0}",
     NULL, false,
     "LEADER\n"
     "WHAT              VALUE\n"
     "election          yes\n"
     "this replica      me\n"
     "leads             no\n"
     "may write         no\n"
     "state             waiting\n"
     "lease             a/b\n"
     "holder            you\n"
     "next try in       2s\n"
     "transitions       4\n"
     "failed requests   0\n"},
    {"an informer with its failure and its history",
     "\"informers\":[" INFORMER(ERROR(
         "timed out",
         "slow") ",\"synced\":true,\"served\":true,\"objects\":5,\"lists\":1,"
                 "\"watches\":2,\"events\":3,\"failures\":1,\"resourceVersion\":\"77\","
                 "\"lastFailure\":{"
                 "\"reason\":\"timed out\",\"message\":\"slow\"},\"lastFailureTime\":"
                 "\"2026-11-20T09:59:30Z\",\"history\":[{\"time\":\"2026-11-20T09:59:30Z\","
                 "\"from\":"
                 "\"WATCHING\",\"to\":\"BACKOFF\",\"cause\":\"TIMER\",\"message\":\"slow\"}]") "]",
     NULL, false,
     "INFORMERS\n"
     "RESOURCE   CONTROLLER   VERSION   SCOPE   STATE     FOR   NEXT TRY   SYNCED   SERVED   "
     "OBJECTS   AT   LISTS   WATCHES   EVENTS   FAILURES   LAST EVENT\n"
     "nodes      -            v1        -       BACKOFF   30s   5s         yes      yes      5     "
     "    77   1  "
     "     2         3        1          -\n"
     "\n"
     "LAST FAILURES OF INFORMERS\n"
     "RESOURCE   AGO   OVER   REASON      MESSAGE\n"
     "nodes      30s   no     timed out   slow\n"
     "\n"
     "HISTORY OF INFORMERS\n"
     "RESOURCE   AGO   FROM       TO        CAUSE   MESSAGE\n"
     "nodes      30s   WATCHING   BACKOFF   TIMER   slow\n"},
    {"a well informer's history is printed when it is asked for by name",
     "\"informers\":[{\"resource\":\"pods\",\"version\":\"v1\",\"state\":\"WATCHING\",\"history\":["
     "{\"from\":\"IDLE\"}]},{\"resource\":\"leases\",\"group\":\"coordination.k8s.io\",\"version\":"
     "\"v1\",\"namespace\":\"kube-system\",\"labelSelector\":\"a=b\",\"fieldSelector\":\"c=d\","
     "\"state\":\"WATCHING\",\"history\":[{\"from\":\"OPENING\",\"to\":\"WATCHING\",\"cause\":"
     "\"WATCH_OPEN\"}]}]",
     "leases", false,
     "INFORMERS\n"
     "RESOURCE   CONTROLLER   VERSION                  SCOPE                 STATE      FOR   NEXT "
     "TRY  "
     " SYNCED   SERVED   OBJECTS   AT   LISTS   WATCHES   EVENTS   FAILURES   LAST EVENT\n"
     "leases     -            coordination.k8s.io/v1   kube-system a=b c=d   WATCHING   -     -    "
     "    "
     "  -        "
     "-        -         -    -       -         -        -          -\n"
     "\n"
     "HISTORY OF INFORMERS\n"
     "RESOURCE   AGO   FROM      TO         CAUSE        MESSAGE\n"
     "leases     -     OPENING   WATCHING   WATCH_OPEN\n"},
    {"an overview has the last five runs",
     "\"queues\":[{\"controller\":\"c\",\"depth\":0,\"keys\":[],\"runs\":[{\"key\":\"1\"},{\"key\":"
     "\"2\"},{\"key\":\"3\"},"
     "{\"key\":\"4\"},{\"key\":\"5\",\"result\":\"error\",\"tookMs\":12,\"id\":\"u\",\"error\":{"
     "\"message\":\"why\"}},{\"key\":\"6\"}]}]",
     NULL, true,
     "LAST RECONCILES\n"
     "CONTROLLER   AGO   KEY   RESULT   MS   ID   ERROR\n"
     "c            -     1              -\n"
     "c            -     2              -\n"
     "c            -     3              -\n"
     "c            -     4              -\n"
     "c            -     5     error    12   u    why\n"},
    {"the queues alone have their numbers",
     "\"queues\":[{\"controller\":\"c\",\"depth\":1,\"waiting\":0,\"processing\":0,\"adds\":9,"
     "\"retries\":2,\"keys\":[{"
     "\"key\":\"cluster\",\"state\":\"ready\",\"readySince\":\"2026-11-20T09:59:58Z\",\"priority\":"
     "-100,\"requeues\":1}],\"runs\":[]}]",
     NULL, false,
     "QUEUES\n"
     "CONTROLLER   READY   WAITING   PROCESSING   ADDS   DELAYED ADDS\n"
     "c            1       0         0            9      2\n"
     "\n"
     "KEYS IN THE QUEUES\n"
     "CONTROLLER   KEY       STATE   FOR   DUE IN   PRIORITY   FAILURES\n"
     "c            cluster   ready   2s    -        -100       1\n"},
    {"sections of subjects, whatever is in them",
     "\"subjects\":{\"controlplane\":{\"apiServers\":3,\"allProbed\":false},\"census\":{\"at\":"
     "\"here\",\"list\":[1,\"b\"]},\"empty\":{},\"wrong\":5}",
     NULL, false,
     "SUBJECT controlplane\n"
     "WHAT         VALUE\n"
     "apiServers   3\n"
     "allProbed    no\n"
     "\n"
     "SUBJECT census\n"
     "WHAT   VALUE\n"
     "at     here\n"
     "list   [1,\"b\"]\n"},
    {"a webhook and what it answers by",
     "\"webhook\":{\"ready\":true,\"address\":\"[::]:9443\",\"threads\":2,\"certificate\":{"
     "\"notAfter\":\"2026-11-23T10:00:00Z\"},\"authorities\":[{\"notAfter\":"
     "\"2026-11-25T10:00:00Z\"}],\"snapshot\":{\"sets\":[{\"name\":\"mutate\",\"policies\":3,"
     "\"applied\":2}],\"params\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"objects\":"
     "4},{\"apiVersion\":\"a/v1\",\"kind\":\"B\"}],\"namespaces\":7,\"schemas\":1}}",
     NULL, true,
     "WEBHOOK\n"
     "WHAT                     VALUE\n"
     "ready                    yes\n"
     "address                  [::]:9443\n"
     "threads                  2\n"
     "certificate expires in   3d\n"
     "authority expires in     5d\n"
     "policies of /mutate      3, 2 applied\n"
     "params v1 ConfigMap      4\n"
     "params a/v1 B            not listed yet\n"
     "namespaces               7\n"
     "schemas                  1\n"},
    {"a target by its address shows every question",
     PEER(",\"reachable\":true,\"ready\":true,\"gitVersion\":\"v1.36.2\",\"emulation\":\"1.34\","
          "\"discovery\":{\"form\":\"v2\",\"resources\":120},\"certificate\":{\"notAfter\":"
          "\"2026-11-23T10:00:00Z\"},\"roundTime\":\"2026-11-20T09:59:50Z\",\"tookMs\":8,"
          "\"nextRoundTime\":\"2026-11-20T10:00:20Z\",\"answers\":{\"reach\":{\"goodTime\":"
          "\"2026-11-20T09:59:50Z\"},\"metrics\":{\"triedTime\":\"2026-11-20T09:59:50Z\"" ERROR(
              "forbidden", "no") "}}"),
     "10.0.0.1:6443", false,
     "PROBE TARGETS\n"
     "COMPONENT        ADDRESS         REACHABLE   ANSWERED   READY   VERSION   EMULATES   "
     "DISCOVERY   CERTIFICATE FOR   ROUND   MS   NEXT ROUND\n"
     "kube-apiserver   10.0.0.1:6443   yes         10s        yes     v1.36.2   1.34       v2, 120 "
     "    3d                10s     8    20s\n"
     "\n"
     "QUESTIONS\n"
     "ADDRESS         QUESTION   ANSWERED   ASKED   ERROR\n"
     "10.0.0.1:6443   reach      10s        -\n"
     "10.0.0.1:6443   metrics    -          10s     no\n"},
    {"a binary that runs as itself emulates nothing",
     PEER(",\"reachable\":true,\"gitVersion\":\"v1.36.2\",\"emulation\":\"1.36\""), NULL, false,
     "PROBE TARGETS\n"
     "COMPONENT        ADDRESS         REACHABLE   ANSWERED   READY   VERSION   EMULATES   "
     "DISCOVERY   CERTIFICATE FOR   ROUND   MS   NEXT ROUND\n"
     "kube-apiserver   10.0.0.1:6443   yes         -          -       v1.36.2   -          -       "
     "    -                 -       -    -\n"},
    {"nor does one that cannot",
     PEER(",\"reachable\":true,\"gitVersion\":\"v1.23.17\",\"emulation\":\"1.23\""), NULL, false,
     "PROBE TARGETS\n"
     "COMPONENT        ADDRESS         REACHABLE   ANSWERED   READY   VERSION    EMULATES   "
     "DISCOVERY   CERTIFICATE FOR   ROUND   MS   NEXT ROUND\n"
     "kube-apiserver   10.0.0.1:6443   yes         -          -       v1.23.17   -          -      "
     " "
     "    -                 -       -    -\n"},
    {"an API server without an address, which is not probed",
     "\"peers\":[{\"component\":\"kube-apiserver\",\"name\":\"cp-z\",\"routable\":false,"
     "\"reason\":\"NoAddress\",\"down\":true}]",
     NULL, false,
     "API SERVERS\n"
     "NAME   ADDRESS   ROUTABLE   REASON      DOWN   DOCUMENTS   REQUESTS   IN FLIGHT\n"
     "cp-z   -         no         NoAddress   yes    -           -          -\n"},
    {"what a proxy makes of an API server, by its name",
     PEER(",\"reachable\":true,\"name\":\"cp-a\",\"routable\":false,\"reason\":\"NotReady\","
          "\"down\":false,\"documentsTime\":\"2026-11-20T09:59:50Z\",\"requests\":12,"
          "\"inFlight\":3"),
     "cp-a", false,
     "API SERVERS\n"
     "NAME   ADDRESS         ROUTABLE   REASON     DOWN   DOCUMENTS   REQUESTS   IN FLIGHT\n"
     "cp-a   10.0.0.1:6443   no         NotReady   no     10s         12         3\n"
     "\n"
     "PROBE TARGETS\n"
     "COMPONENT        ADDRESS         REACHABLE   ANSWERED   READY   VERSION   EMULATES   "
     "DISCOVERY   CERTIFICATE FOR   ROUND   MS   NEXT ROUND\n"
     "kube-apiserver   10.0.0.1:6443   yes         -          -       -         -          -       "
     "    -                 -       -    -\n"},
    {"another name is another API server", PEER(",\"name\":\"cp-a\",\"routable\":true"), "cp-b",
     false, ""},
    {"a terminal's codes stay text", "\"log\":{\"level\":\"\\u001b[31mred\"}", NULL, false,
     "LOG\nWHAT    VALUE\nlevel   \\x1b[31mred\n"},
    {"what is of the wrong type is not there",
     "\"manager\":[],\"leader\":1,\"informers\":{\"a\":1},\"queues\":[1],\"webhook\":2,\"peers\":"
     "null,\"log\":true",
     NULL, true, ""},
};

START_TEST(reports)
{
    yyjson_doc *doc = parse(report_rows[_i].answer);
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1 << 20);
    ck_assert_int_eq(ek_debug_report(yyjson_doc_get_root(doc), report_rows[_i].only,
                                     report_rows[_i].overview, false, &out),
                     0);
    ck_assert_msg(!strcmp(ek_buf_str(&out), report_rows[_i].shown), "%s:\n%s", report_rows[_i].name,
                  ek_buf_str(&out));
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("report");

    tcase_add_loop_test(tc, findings, 0, EK_ARRAY_SIZE(finding_rows));
    tcase_add_loop_test(tc, reports, 0, EK_ARRAY_SIZE(report_rows));
    return ek_test_run("debug_report", tc);
}
