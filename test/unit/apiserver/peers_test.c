/* SPDX-License-Identifier: Apache-2.0 */
/* Peers, watches, users and faults of the test API server, without sockets. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/faults.h"
#include "test/apiserver/fixture.h"
#include "test/support/suite.h"

#define CM      "/api/v1/namespaces/default/configmaps"
#define V2      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define MERGE   "application/merge-patch+json"
#define LEASES  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define SLICE   "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
#define LEASE_A LEASES "/apiserver-tqsyvnc7rs47fayzipsuqpfg4m"

static struct ek_fixture f;
static struct ek_apiserver_peer *old_peer;

static void setup(void)
{
    const struct ek_apiserver_peer_config config = {
        .name = "cp-b",
        .address = "10.99.0.12",
        .port = 7443,
        .binary = "1.36.2",
        .emulation = EK_MINOR(1, 33),
        .resources_off = "configmaps/v1 policy/v1",
        .gates = "WatchList=true",
    };
    struct ek_err err;

    ek_fixture_init(&f, 20);
    ck_assert_int_eq(ek_apiserver_add_peer(f.server, &config, &old_peer, &err), 0);
}

static void teardown(void)
{
    ek_fixture_done(&f);
}

static void start_both(void)
{
    ek_apiserver_peer_start(f.peer, f.now_ms);
    ek_apiserver_peer_start(old_peer, f.now_ms);
}

START_TEST(peers_publish_themselves)
{
    char before[128];

    start_both();
    ek_fixture_get(&f, LEASE_A, NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/metadata/labels/kubernetes.io~1hostname"), "cp-a");
    ck_assert_str_eq(
        ek_fixture_text(&f, "/metadata/annotations/kubernetes.io~1peer-advertise-address"),
        "10.99.0.11:7443");
    snprintf(before, sizeof(before), "%s", ek_fixture_text(&f, "/spec/holderIdentity"));
    ek_fixture_get(&f, SLICE, NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/endpoints/1/addresses/0"), "10.99.0.12");
    ek_apiserver_peer_stop(old_peer, false, f.now_ms);
    ek_apiserver_peer_stop(f.peer, true, f.now_ms);
    ek_fixture_get(&f, LEASES, NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/items/0/metadata/labels/kubernetes.io~1hostname"),
                     "cp-a");
    ck_assert_str_eq(ek_fixture_text(&f, "/items/1/metadata/name"), "");
    ek_apiserver_peer_start(f.peer, f.now_ms);
    ek_fixture_get(&f, LEASE_A, NULL);
    ck_assert_str_ne(ek_fixture_text(&f, "/spec/holderIdentity"), before);
}
END_TEST

START_TEST(leases_are_renewed_every_ten_seconds)
{
    start_both();
    ck_assert_int_eq(ek_apiserver_tick(f.server, f.now_ms), f.now_ms + 10000);
    uint64_t rv = ek_apiserver_rv(f.server);
    ck_assert_int_eq(ek_apiserver_tick(f.server, f.now_ms + 10000), f.now_ms + 20000);
    ck_assert_uint_eq(ek_apiserver_rv(f.server), rv + 2);
    ek_fixture_get(&f, LEASE_A, NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/spec/renewTime"), "2026-11-20T11:00:10.000000Z");
}
END_TEST

START_TEST(peers_differ_in_what_they_serve)
{
    struct ek_apiserver_peer *new_peer = f.peer;

    start_both();
    ck_assert_int_eq(ek_fixture_get(&f, CM, NULL), 200);
    ek_fixture_get(&f, "/apis", V2 ";profile=nopeer");
    ck_assert_ptr_nonnull(strstr(ek_fixture_body(&f), "mutatingadmissionpolicies"));
    f.peer = old_peer;
    ck_assert_int_eq(ek_fixture_get(&f, CM, NULL), 404);
    ck_assert_int_eq(ek_fixture_get(&f, "/apis/policy/v1", NULL), 404);
    ek_fixture_get(&f, "/apis", V2 ";profile=nopeer");
    ck_assert_ptr_null(strstr(ek_fixture_body(&f), "mutatingadmissionpolicies"));
    ek_fixture_get(&f, "/apis", V2);
    ck_assert_ptr_nonnull(strstr(ek_fixture_body(&f), "mutatingadmissionpolicies"));
    ek_fixture_get(&f, "/metrics", "text/plain");
    ck_assert_ptr_nonnull(strstr(ek_fixture_body(&f), "{name=\"WatchList\",stage=\"BETA\"} 1"));
    ck_assert_ptr_nonnull(
        strstr(ek_fixture_body(&f), "binary=\"1.36.2\",component=\"kube\",emulation=\"1.33\""));
    f.peer = new_peer;
}
END_TEST

START_TEST(discovery_has_tags)
{
    char tag[512];

    ek_fixture_get(&f, "/apis", V2 ";profile=nopeer");
    snprintf(tag, sizeof(tag), "%s", f.response.headers[0].value);
    const struct ek_apiserver_request again = {.method = "GET",
                                               .path = "/apis",
                                               .accept = V2 ";profile=nopeer",
                                               .authorization = "Bearer admin",
                                               .if_none_match = tag};
    ek_apiserver_response_done(&f.response);
    ek_apiserver_handle(f.peer, &again, f.now_ms, &f.response);
    ck_assert_int_eq(f.response.status, 304);
    ck_assert_uint_eq(f.response.body.len, 0);
}
END_TEST

/* --- watches --- */

static struct ek_apiserver_watch *watch(const char *query)
{
    char target[256];

    snprintf(target, sizeof(target), CM "?watch=1&%s", query);
    ck_assert_msg(ek_fixture_get(&f, target, NULL) == 200, "%s", ek_fixture_body(&f));
    return ek_fixture_take_watch(&f);
}

static enum ek_watch_state last_state;

/* The frames as "TYPE name rv", one a line. */
static const char *frames(struct ek_apiserver_watch *w, char buf[1024])
{
    EK_AUTO(ek_buf) out;
    size_t len = 0;

    ek_buf_init(&out, 1 << 20);
    last_state = ek_apiserver_watch_pull(w, f.now_ms, SIZE_MAX, &out);
    buf[0] = '\0';
    for (char *p = out.data; p && *p;) {
        char *end = strchr(p, '\n');
        yyjson_doc *doc = yyjson_read(p, (size_t)(end - p), 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        const char *name = ek_json_str(root, "object", "metadata", "name", NULL);
        const char *x = ek_json_str(root, "object", "data", "x", NULL);
        len +=
            (size_t)snprintf(buf + len, 1024 - len, "%s %s%s%s\n", ek_json_str(root, "type", NULL),
                             name ? name : "-", x ? "=" : "", x ? x : "");
        yyjson_doc_free(doc);
        p = end + 1;
    }
    return buf;
}

static void set_map(const char *name, const char *label, const char *x)
{
    char path[64], body[256];

    snprintf(path, sizeof(path), CM "/%s", name);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"l\":\"%s\"}},\"data\":{\"x\":\"%s\"}}",
             name, label, x);
    if (ek_fixture_send(&f, "PATCH", path, MERGE, body) == 404)
        ek_fixture_send(&f, "POST", CM, NULL, body);
}

START_TEST(a_selector_makes_objects_come_and_go)
{
    char buf[1024];

    set_map("a", "yes", "1");
    set_map("b", "no", "1");
    struct ek_apiserver_watch *w = watch("labelSelector=l%3Dyes");
    ck_assert_str_eq(frames(w, buf), "ADDED a=1\n");
    set_map("b", "yes", "2");
    set_map("a", "yes", "3");
    set_map("a", "no", "4");
    set_map("a", "no", "5");
    ek_fixture_send(&f, "DELETE", CM "/b", NULL, NULL);
    ck_assert_str_eq(frames(w, buf), "ADDED b=2\nMODIFIED a=3\nDELETED a=3\nDELETED b=2\n");
    ck_assert_int_eq(last_state, EK_WATCH_STATE_IDLE);
    ek_apiserver_watch_free(w);
}
END_TEST

START_TEST(a_watch_goes_on_from_a_revision)
{
    char buf[1024], query[64];

    set_map("a", "l", "1");
    snprintf(query, sizeof(query), "resourceVersion=%llu",
             (unsigned long long)ek_apiserver_rv(f.server));
    set_map("a", "l", "2");
    struct ek_apiserver_watch *w = watch(query);
    ck_assert_str_eq(frames(w, buf), "MODIFIED a=2\n");
    ek_apiserver_watch_free(w);
}
END_TEST

START_TEST(bookmarks_come_each_minute_and_before_the_end)
{
    char buf[1024];
    struct ek_apiserver_watch *w = watch("allowWatchBookmarks=true&timeoutSeconds=100");
    int64_t start = f.now_ms;

    ck_assert_str_eq(frames(w, buf), "");
    set_map("a", "l", "1");
    ck_assert_str_eq(frames(w, buf), "ADDED a=1\n");
    ck_assert_int_eq(ek_apiserver_watch_deadline(w), start + 60000);
    ek_fixture_send(&f, "POST", "/api/v1/namespaces", NULL, "{\"metadata\":{\"name\":\"n\"}}");
    f.now_ms = start + 60000;
    ck_assert_str_eq(frames(w, buf), "BOOKMARK -\n");
    ck_assert_int_eq(ek_apiserver_watch_deadline(w), start + 98000);
    f.now_ms = start + 98000;
    ck_assert_str_eq(frames(w, buf), "");
    f.now_ms = start + 100000;
    ck_assert_str_eq(frames(w, buf), "");
    ck_assert_int_eq(last_state, EK_WATCH_STATE_OVER);
    ek_apiserver_watch_free(w);
}
END_TEST

START_TEST(a_slow_watch_falls_out_of_the_window)
{
    char buf[1024], x[16];
    struct ek_apiserver_watch *w = watch("resourceVersion=1");

    for (int i = 0; i < 30; i++) {
        snprintf(x, sizeof(x), "%d", i);
        set_map("a", "l", x);
    }
    frames(w, buf);
    ck_assert_int_eq(last_state, EK_WATCH_STATE_OVER);
    ek_apiserver_watch_free(w);
    w = watch("resourceVersion=1");
    ck_assert_str_eq(frames(w, buf), "ERROR -\n");
    ck_assert_int_eq(last_state, EK_WATCH_STATE_OVER);
    ek_apiserver_watch_free(w);
}
END_TEST

START_TEST(pulls_are_bounded_and_lose_nothing)
{
    EK_AUTO(ek_buf) out;
    size_t n = 0, pulls = 0;

    for (int i = 0; i < 15; i++) {
        char name[16];
        snprintf(name, sizeof(name), "m%d", i);
        set_map(name, "l", "1");
    }
    struct ek_apiserver_watch *w = watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                                         "allowWatchBookmarks=true");
    ek_buf_init(&out, 1 << 20);
    for (enum ek_watch_state s = EK_WATCH_STATE_MORE; s == EK_WATCH_STATE_MORE; pulls++) {
        ek_buf_reset(&out);
        s = ek_apiserver_watch_pull(w, f.now_ms, 1000, &out);
        for (const char *p = out.data; p && (p = strchr(p, '\n')) != NULL; p++)
            n++;
        if (pulls == 2)
            set_map("m0", "l", "2");
    }
    ck_assert_uint_eq(n, 15 + 1 + 1);
    ck_assert_uint_gt(pulls, 4);
    ek_apiserver_watch_free(w);
}
END_TEST

static const struct {
    const char *name;
    struct ek_watch_distortion how;
    const char *frames;
} distortion_rows[] = {
    {"none", {false, false, false}, "ADDED a=1\nADDED b=1\nBOOKMARK -\n"},
    {"no end", {true, false, false}, "ADDED a=1\nADDED b=1\n"},
    {"twice", {false, true, false}, "ADDED a=1\nADDED a=1\nADDED b=1\nADDED b=1\nBOOKMARK -\n"},
    {"reversed", {false, false, true}, "ADDED b=1\nADDED a=1\nBOOKMARK -\n"},
};

START_TEST(initial_events_can_be_distorted)
{
    char buf[1024];

    set_map("a", "l", "1");
    set_map("b", "l", "1");
    struct ek_apiserver_watch *w = watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                                         "allowWatchBookmarks=true");
    ek_apiserver_watch_distort(w, &distortion_rows[_i].how);
    frames(w, buf);
    ck_assert_msg(strcmp(buf, distortion_rows[_i].frames) == 0, "%s: %s", distortion_rows[_i].name,
                  buf);
    ek_apiserver_watch_free(w);
}
END_TEST

/* --- users --- */

static const struct {
    const char *name, *token, *method, *target, *body;
    int status;
    const char *message;
} user_rows[] = {
    {"nobody reads the version", NULL, "GET", "/version", NULL, 200, ""},
    {"nobody lists", NULL, "GET", CM, NULL, 403,
     "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" in "
     "API group \"\" in the namespace \"default\""},
    {"a wrong token", "nope", "GET", "/version", NULL, 401, "Unauthorized"},
    {"rules allow", "reader", "GET", CM, NULL, 200, ""},
    {"rules forbid", "reader", "DELETE", CM "/a", NULL, 403,
     "configmaps \"a\" is forbidden: User \"reader\" cannot delete resource \"configmaps\" in API "
     "group \"\" in the namespace \"default\""},
    {"rules forbid the cluster", "reader", "GET", "/api/v1/nodes", NULL, 403,
     "nodes is forbidden: User \"reader\" cannot list resource \"nodes\" in API group \"\" at the "
     "cluster scope"},
    {"a subresource", "reader", "PATCH", "/api/v1/nodes/n/status", "{}", 403,
     "nodes \"n\" is forbidden: User \"reader\" cannot patch resource \"nodes/status\" in API "
     "group "
     "\"\" at the cluster scope"},
    {"a path", "reader", "GET", "/metrics", NULL, 403,
     "forbidden: User \"reader\" cannot get path \"/metrics\""},
    {"a path that is allowed", "scraper", "GET", "/metrics", NULL, 200, ""},
    {"a role in its namespace", "sa", "GET", CM, NULL, 200, ""},
    {"a role elsewhere", "sa", "GET", "/api/v1/namespaces/kube-system/configmaps", NULL, 403,
     "configmaps is forbidden: User \"system:serviceaccount:default:s\" cannot list resource "
     "\"configmaps\" in API group \"\" in the namespace \"kube-system\""},
    {"a role for one name", "sa", "GET", "/api/v1/nodes/n1", NULL, 404, "nodes \"n1\" not found"},
    {"a role for another name", "sa", "GET", "/api/v1/nodes/n2", NULL, 403,
     "nodes \"n2\" is forbidden: User \"system:serviceaccount:default:s\" cannot get resource "
     "\"nodes\" in API group \"\" at the cluster scope"},
};

static void add_users(void)
{
    const char *rbac = "/apis/rbac.authorization.k8s.io/v1";
    const char *subject =
        "[{\"kind\":\"ServiceAccount\",\"name\":\"s\",\"namespace\":\"default\"}]";
    char path[128], body[512];

    ek_apiserver_add_token(f.server, "reader", "reader", "", "get,list,watch configmaps");
    ek_apiserver_add_token(f.server, "scraper", "scraper", "", "get /metrics;list nodes");
    ek_apiserver_add_token(f.server, "sa", "system:serviceaccount:default:s",
                           "system:serviceaccounts", NULL);
    snprintf(path, sizeof(path), "%s/namespaces/default/roles", rbac);
    ek_fixture_send(&f, "POST", path, NULL,
                    "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":"
                    "[\"configmaps\"],\"verbs\":[\"list\"]}]}");
    snprintf(path, sizeof(path), "%s/namespaces/default/rolebindings", rbac);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"r\"},\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"},"
             "\"subjects\":%s}",
             subject);
    ek_fixture_send(&f, "POST", path, NULL, body);
    snprintf(path, sizeof(path), "%s/clusterroles", rbac);
    ek_fixture_send(&f, "POST", path, NULL,
                    "{\"metadata\":{\"name\":\"c\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":"
                    "[\"nodes\"],\"resourceNames\":[\"n1\"],\"verbs\":[\"*\"]}]}");
    snprintf(path, sizeof(path), "%s/clusterrolebindings", rbac);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"c\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"c\"},"
             "\"subjects\":%s}",
             subject);
    ck_assert_int_eq(ek_fixture_send(&f, "POST", path, NULL, body), 201);
}

START_TEST(users_may_what_they_may)
{
    add_users();
    f.token = user_rows[_i].token;
    int status = ek_fixture_send(&f, user_rows[_i].method, user_rows[_i].target,
                                 "application/merge-patch+json", user_rows[_i].body);
    ck_assert_msg(status == user_rows[_i].status, "%s: %d %s", user_rows[_i].name, status,
                  ek_fixture_body(&f));
    ck_assert_str_eq(ek_fixture_text(&f, "/message"), user_rows[_i].message);
}
END_TEST

START_TEST(service_accounts_get_tokens_that_end)
{
    char token[128], body[256];

    ek_fixture_send(&f, "POST", "/api/v1/namespaces/default/serviceaccounts", NULL,
                    "{\"metadata\":{\"name\":\"s\"}}");
    ck_assert_int_eq(ek_fixture_send(&f, "POST",
                                     "/api/v1/namespaces/default/serviceaccounts/s/token", NULL,
                                     "{\"spec\":{\"expirationSeconds\":600}}"),
                     201);
    snprintf(token, sizeof(token), "%s", ek_fixture_text(&f, "/status/token"));
    snprintf(body, sizeof(body), "{\"spec\":{\"token\":\"%s\"}}", token);
    ek_fixture_send(&f, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", NULL, body);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/user/username"),
                     "system:serviceaccount:default:s");
    f.now_ms += 601000;
    ek_fixture_send(&f, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", NULL, body);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/error"), "invalid bearer token");
}
END_TEST

START_TEST(access_reviews_answer)
{
    add_users();
    ek_fixture_send(&f, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", NULL,
                    "{\"spec\":{\"user\":\"scraper\",\"nonResourceAttributes\":{\"path\":"
                    "\"/metrics\",\"verb\":\"get\"}}}");
    ck_assert(yyjson_get_bool(yyjson_doc_ptr_get(f.json, "/status/allowed")));
    ek_fixture_send(&f, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", NULL,
                    "{\"spec\":{\"user\":\"scraper\",\"resourceAttributes\":{\"verb\":\"delete\","
                    "\"resource\":\"nodes\"}}}");
    ck_assert(!yyjson_get_bool(yyjson_doc_ptr_get(f.json, "/status/allowed")));
}
END_TEST

/* --- faults --- */

START_TEST(faults_apply_where_and_as_often_as_told)
{
    struct ek_faults faults = {.random = 1};
    struct ek_fault fault;
    struct ek_err err;
    const char *json = "{\"kind\":\"reset\",\"peer\":\"cp-a\",\"path\":\"/apis\",\"count\":2,"
                       "\"bytes\":7}";

    ck_assert_int_eq(ek_fault_parse(json, strlen(json), &fault, &err), 0);
    ck_assert_int_eq(ek_faults_add(&faults, &fault, &err), 0);
    ck_assert_int_eq(ek_faults_take(&faults, "cp-b", "/apis", false).kind, EK_FAULT_NONE);
    ck_assert_int_eq(ek_faults_take(&faults, "cp-a", "/api", false).kind, EK_FAULT_NONE);
    ck_assert_uint_eq(ek_faults_take(&faults, "cp-a", "/apis/x", false).bytes, 7);
    ck_assert_int_eq(ek_faults_take(&faults, "cp-a", "/apis", true).kind, EK_FAULT_RESET);
    ck_assert_int_eq(ek_faults_take(&faults, "cp-a", "/apis", true).kind, EK_FAULT_NONE);
    fault = (struct ek_fault){.kind = EK_FAULT_NO_BOOKMARK};
    ek_faults_add(&faults, &fault, &err);
    ck_assert_int_eq(ek_faults_take(&faults, "cp-a", "/", false).kind, EK_FAULT_NONE);
    ck_assert_int_eq(ek_faults_take(&faults, "cp-a", "/", true).kind, EK_FAULT_NO_BOOKMARK);
    ck_assert_int_eq(ek_fault_parse("{\"kind\":\"odd\"}", 14, &fault, &err), EK_E_INVAL);
}
END_TEST

START_TEST(chances_repeat_with_their_seed)
{
    unsigned n[2] = {0, 0};

    for (int run = 0; run < 2; run++) {
        struct ek_faults faults = {.random = 42};
        const struct ek_fault fault = {.kind = EK_FAULT_BROKEN, .percent = 30};
        ek_faults_add(&faults, &fault, NULL);
        for (unsigned i = 0; i < 1000; i++)
            n[run] += ek_faults_take(&faults, "p", "/", false).kind ? i : 0;
        ck_assert_uint_gt(faults.n_applied, 200);
        ck_assert_uint_lt(faults.n_applied, 400);
    }
    ck_assert_uint_eq(n[0], n[1]);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("peers");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, peers_publish_themselves);
    tcase_add_test(tcase, leases_are_renewed_every_ten_seconds);
    tcase_add_test(tcase, peers_differ_in_what_they_serve);
    tcase_add_test(tcase, discovery_has_tags);
    tcase_add_test(tcase, a_selector_makes_objects_come_and_go);
    tcase_add_test(tcase, a_watch_goes_on_from_a_revision);
    tcase_add_test(tcase, bookmarks_come_each_minute_and_before_the_end);
    tcase_add_test(tcase, a_slow_watch_falls_out_of_the_window);
    tcase_add_test(tcase, pulls_are_bounded_and_lose_nothing);
    tcase_add_loop_test(tcase, initial_events_can_be_distorted, 0, EK_ARRAY_SIZE(distortion_rows));
    tcase_add_loop_test(tcase, users_may_what_they_may, 0, EK_ARRAY_SIZE(user_rows));
    tcase_add_test(tcase, service_accounts_get_tokens_that_end);
    tcase_add_test(tcase, access_reviews_answer);
    tcase_add_test(tcase, faults_apply_where_and_as_often_as_told);
    tcase_add_test(tcase, chances_repeat_with_their_seed);
    return ek_test_run("apiserver_peers", tcase);
}
