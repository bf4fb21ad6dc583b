/* SPDX-License-Identifier: Apache-2.0 */
/* The discovery endpoint of `evenkeel run`, without sockets: what it answers, and to whom. */
#include "controller/run/discovery_endpoint.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/http/conn.h"
#include "controller/http/metrics_auth.h"
#include "reconcilers/peers/view_build.h"
#include "test/support/groups_fixture.h"
#include "test/support/suite.h"

#define RESOURCE(name)                                                                             \
    "{\"resource\":\"" name                                                                        \
    "\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"" name                        \
    "\"},\"scope\":\"Namespaced\",\"singularResource\":\"\",\"verbs\":[\"get\"]}"
#define GROUP(name, resource)                                                                      \
    "{\"metadata\":{\"name\":\"" name                                                              \
    "\"},\"versions\":[{\"version\":\"v1\",\"resources\":[" resource                               \
    "],\"freshness\":\"Current\"}]}"
#define LIST(items) "{\"items\":[" items "]}"

#define V2      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define ACCEPT  "Accept: " V2 "\r\n"
#define BETA    "Accept: application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList\r\n"
#define NOPEER  "Accept: " V2 ";profile=nopeer\r\n"
#define PROTO   "Accept: application/vnd.kubernetes.protobuf\r\n"
#define PRIVATE "\r\nCache-Control: no-cache, private\r\n"

static struct ek_discovery_endpoint *endpoint;
static struct ek_http_route route;

/* What "b" is; "a" is routable and serves core pods and apps/v1 deployments. */
enum state { LIVE, UNREAD, DOWN_AND_UNREAD };

/* "b" serves batch/v1 jobs, and n resources more, in place of apps. */
static struct ek_view *make_view(enum state state, int n)
{
    EK_AUTO(ek_buf) more;
    struct ek_view_input_peer peers[2] = {0};

    ek_buf_init(&more, (size_t)8 << 20);
    ek_buf_puts(&more, "{\"items\":[{\"metadata\":{\"name\":\"batch\"},\"versions\":[{"
                       "\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":[");
    for (int i = 0; i < n; i++)
        ek_buf_printf(&more, RESOURCE("more%d") ",", i, i);
    ek_buf_puts(&more, RESOURCE("jobs") "]}]}]}");
    struct ek_api_groups *core = ek_test_groups(LIST(GROUP("", RESOURCE("pods"))));
    struct ek_api_groups *groups[] = {ek_test_groups(LIST(GROUP("apps", RESOURCE("deployments")))),
                                      ek_test_groups(ek_buf_str(&more))};
    for (size_t i = 0; i < 2; i++) {
        bool live = i == 0 || state == LIVE;
        peers[i].peer = (struct ek_view_peer){.name = i ? "b" : "a",
                                              .server_id = i ? "b" : "a",
                                              .address = i ? "10.0.0.2:6443" : "10.0.0.1:6443",
                                              .routable = live,
                                              .down = i == 1 && state == DOWN_AND_UNREAD};
        peers[i].core = live ? core : NULL;
        peers[i].groups = live ? groups[i] : NULL;
    }
    struct ek_view *view = ek_view_build(&(struct ek_view_input){.peers = peers, .n = 2});
    ek_api_groups_unref(core);
    ek_api_groups_unref(groups[0]);
    ek_api_groups_unref(groups[1]);
    return view;
}

static void publish(enum state state, int n)
{
    EK_AUTOPTR(ek_view, ek_view_unref) *view = make_view(state, n);
    ek_discovery_endpoint_publish(endpoint, view);
}

static void setup(void)
{
    endpoint = ek_discovery_endpoint_new();
    route = ek_discovery_endpoint_route(endpoint);
}

static void teardown(void)
{
    ek_discovery_endpoint_free(endpoint);
}

static struct ek_http_conn_config config_of(const struct ek_http_route *served)
{
    struct ek_http_conn_config config = {.routes = served, .n_routes = 1};

    ek_http_limits_default(&config.limits);
    return config;
}

/* The response to a request, whole and owned. */
static char *get(const char *line, const char *fields)
{
    const struct ek_http_conn_config config = config_of(&route);
    struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);
    EK_AUTOFREE char *request = ek_xasprintf("%s HTTP/1.1\r\nHost: x\r\n%s\r\n", line, fields);

    ek_http_conn_input(conn, request, strlen(request), 0);
    struct ek_str out = ek_http_conn_output(conn);
    char *got = ek_xstrndup(out.p, out.len);
    ek_http_conn_free(conn);
    return got;
}

static const struct {
    const char *name;
    enum state state;
    const char *line, *fields;
    int status;
    const char *has[3], *has_not; /* NULL: nothing */
} rows[] = {
    {"merged",
     LIVE,
     "GET /apis",
     ACCEPT,
     200,
     {"\r\nContent-Type: " V2 "\r\n", "deployments", "jobs"},
     "no-cache"},
    {"merged, for caches",
     LIVE,
     "GET /apis",
     ACCEPT,
     200,
     {"\r\nVary: Accept\r\n", "\r\nCache-Control: public\r\n", "\r\nETag: \""},
     "gzip"},
    {"v2beta1", LIVE, "GET /apis", BETA, 200, {"v2beta1", "deployments", "jobs"}, NULL},
    {"core", LIVE, "GET /api", ACCEPT, 200, {"pods"}, "jobs"},
    {"plain", LIVE, "GET /apis", "", 200, {"APIGroupList", "batch/v1", PRIVATE}, "ETag"},
    {"plain core", LIVE, "GET /api", "", 200, {"APIVersions"}, NULL},
    {"a group", LIVE, "GET /apis/batch", "", 200, {"\"APIGroup\"", "batch/v1"}, "jobs"},
    {"a version", LIVE, "GET /apis/batch/v1", "", 200, {"APIResourceList", "jobs"}, NULL},
    {"core v1", LIVE, "GET /api/v1", "", 200, {"APIResourceList", "pods"}, NULL},
    {"that of the merging server", LIVE, "GET /apis", NOPEER, 200, {"deployments"}, "jobs"},
    {"indented", LIVE, "GET /apis?pretty=1", ACCEPT, 200, {"\n  \"items\": ["}, NULL},
    {"YAML",
     LIVE,
     "GET /api/v1",
     "Accept: application/yaml\r\n",
     200,
     {"kind: APIResourceList"},
     NULL},
    {"HEAD", LIVE, "HEAD /apis", ACCEPT, 200, {"ETag"}, "deployments"},
    {"a media type that is not served",
     LIVE,
     "GET /apis",
     PROTO,
     406,
     {"NotAcceptable", PRIVATE},
     NULL},
    {"no group", LIVE, "GET /apis/nobody.io", "", 404, {"NotFound", PRIVATE}, "Retry-After"},
    {"no version", LIVE, "GET /apis/batch/v2", "", 404, {"NotFound"}, NULL},
    {"another spelling than was reviewed", LIVE, "GET /%61pis", "", 404, {"NotFound"}, "batch"},
    {"a dot segment", LIVE, "GET /apis/../apis", "", 400, {"BadRequest"}, "batch"},
    {"a resource", LIVE, "GET /apis/batch/v1/jobs", "", 501, {"evenkeel proxy", "Status"}, NULL},
    {"schemas", LIVE, "GET /openapi/v3", "", 501, {"evenkeel proxy"}, NULL},
    {"old schemas", LIVE, "GET /openapi/v2", "", 501, {"evenkeel proxy"}, NULL},
    {"version", LIVE, "GET /version", "", 501, {"evenkeel proxy"}, NULL},
    {"another path", LIVE, "GET /", "", 501, {"evenkeel proxy"}, NULL},
    {"a write", LIVE, "POST /apis", "Content-Length: 0\r\n", 405, {""}, "batch"},
    {"one is unread",
     UNREAD,
     "GET /apis",
     ACCEPT,
     503,
     {"ServiceUnavailable", "\r\nRetry-After: 1\r\n"},
     "deployments"},
    {"one is unread: of the other one",
     UNREAD,
     "GET /apis",
     NOPEER,
     503,
     {"Status"},
     "deployments"},
    {"one is unread: a group", UNREAD, "GET /apis/apps", "", 503, {"Status"}, NULL},
    {"one is down", DOWN_AND_UNREAD, "GET /apis", ACCEPT, 200, {"deployments"}, "jobs"},
    {"one is down: what it may serve",
     DOWN_AND_UNREAD,
     "GET /apis/batch",
     "",
     503,
     {"not known", "\r\nRetry-After: 1\r\n"},
     NULL},
};

START_TEST(answers)
{
    publish(rows[_i].state, 0);
    EK_AUTOFREE char *got = get(rows[_i].line, rows[_i].fields);

    ck_assert_msg(strtol(got + 9, NULL, 10) == rows[_i].status, "%s: %s", rows[_i].name, got);
    for (size_t i = 0; i < 3 && rows[_i].has[i]; i++)
        ck_assert_msg(strstr(got, rows[_i].has[i]) != NULL, "%s: %s", rows[_i].name, got);
    ck_assert_msg(!rows[_i].has_not || !strstr(got, rows[_i].has_not), "%s: %s", rows[_i].name,
                  got);
}
END_TEST

START_TEST(waits_for_a_view)
{
    EK_AUTOFREE char *got = get("GET /apis", "");
    ck_assert_msg(strtol(got + 9, NULL, 10) == 503, "%s", got);
}
END_TEST

/* Copies the ETag of a response. */
static void tag_of(const char *response, char tag[160])
{
    const char *line = strstr(response, "\r\nETag: ");
    ck_assert_msg(line && sscanf(line, "\r\nETag: %159s", tag) == 1, "%s", response);
}

/* The tag is the same for all forms, until the document is another one. */
START_TEST(knows_what_the_client_has)
{
    char tag[160], other[160];

    publish(LIVE, 0);
    EK_AUTOFREE char *first = get("GET /apis", ACCEPT);
    EK_AUTOFREE char *pretty = get("GET /apis?pretty=1", ACCEPT);
    tag_of(first, tag);
    tag_of(pretty, other);
    ck_assert_str_eq(tag, other);
    EK_AUTOFREE char *fields = ek_xasprintf(ACCEPT "If-None-Match: %s\r\n", tag);
    EK_AUTOFREE char *same = get("GET /apis", fields);
    ck_assert_msg(!strncmp(same, "HTTP/1.1 304 ", 13) && strstr(same, "\r\nVary: Accept\r\n") &&
                      !strstr(same, "Content-") && !strcmp(same + strlen(same) - 4, "\r\n\r\n"),
                  "%s", same);
    publish(LIVE, 1);
    EK_AUTOFREE char *changed = get("GET /apis", fields);
    ck_assert_msg(!strncmp(changed, "HTTP/1.1 200 ", 13) && strstr(changed, "more0"), "%s",
                  changed);
    EK_AUTOFREE char *again = get("GET /apis?pretty=1", ACCEPT);
    ck_assert_msg(strstr(again, "more0") != NULL, "%s", again);
}
END_TEST

START_TEST(compresses_large_documents)
{
    publish(LIVE, 2000);
    EK_AUTOFREE char *plain = get("GET /apis", ACCEPT);
    EK_AUTOFREE char *packed = get("GET /apis", ACCEPT "Accept-Encoding: gzip\r\n");
    EK_AUTOFREE char *pretty = get("GET /apis?pretty=1", ACCEPT "Accept-Encoding: gzip\r\n");

    ck_assert(strlen(plain) > (size_t)128 * 1024);
    ck_assert_msg(strstr(packed, "\r\nContent-Encoding: gzip\r\n") &&
                      strstr(packed, "\r\nVary: Accept-Encoding\r\n"),
                  "%s", packed);
    ck_assert(strstr(pretty, "\r\nContent-Encoding: gzip\r\n") != NULL);
    ck_assert(!strstr(plain, "Accept-Encoding"));
}
END_TEST

/* ---- Who may read ---- */

static struct sent {
    char *body;
    ek_response_fn on_done;
    void *done_ctx;
} sent;

static struct ek_call *send_review(void *ctx, const struct ek_request *request,
                                   ek_response_fn on_done, void *done_ctx)
{
    (void)ctx;
    sent = (struct sent){ek_xstrndup(request->body, request->body_size), on_done, done_ctx};
    return (struct ek_call *)&sent;
}

static void cancel_review(void *ctx, struct ek_call *call)
{
    (void)ctx;
    (void)call;
}

static int64_t test_now(void *ctx)
{
    (void)ctx;
    return 0;
}

/* Answers the review, which must be about text. */
static void review(const char *text, const char *answer)
{
    const struct sent now = sent;
    const struct ek_response response = {.status = 201, .body = ek_str_from(answer)};

    ck_assert_msg(now.body && strstr(now.body, text), "%s", now.body ? now.body : "no review");
    sent = (struct sent){0};
    now.on_done(now.done_ctx, &response, NULL);
    ek_free(now.body);
}

/* Each path is reviewed as it was sent, before anything is said of it. */
START_TEST(is_guarded)
{
    static const struct {
        const char *path, *authorization, *reviewed, *allowed, *status;
    } who[] = {
        {"/apis", "X: y", NULL, NULL, "HTTP/1.1 401 "},
        {"/openapi/v3", "X: y", NULL, NULL, "HTTP/1.1 401 "},
        {"/apis/apps/v1", "Authorization: Bearer t",
         "\"nonResourceAttributes\":{\"path\":\"/apis/apps/v1\",\"verb\":\"get\"}", "true",
         "HTTP/1.1 200 "},
        {"/apis", "Authorization: Bearer t", "\"path\":\"/apis\"", "false", "HTTP/1.1 403 "},
        {"/version", "Authorization: Bearer t", "\"path\":\"/version\"", "false", "HTTP/1.1 403 "},
    };

    publish(LIVE, 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(who); i++) {
        struct ek_metrics_auth *auth = ek_metrics_auth_new(&(struct ek_metrics_auth_config){
            .reviewer = {.send = send_review, .cancel = cancel_review}, .now_ms = test_now});
        const struct ek_http_route guarded = ek_metrics_auth_route(auth, &route);
        const struct ek_http_conn_config config = config_of(&guarded);
        struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);
        EK_AUTOFREE char *request = ek_xasprintf("GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n",
                                                 who[i].path, who[i].authorization);
        ek_http_conn_input(conn, request, strlen(request), 0);
        if (who[i].reviewed) {
            EK_AUTOFREE char *access =
                ek_xasprintf("{\"status\":{\"allowed\":%s}}", who[i].allowed);
            review("TokenReview",
                   "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\"}}}");
            review(who[i].reviewed, access);
        }
        struct ek_str out = ek_http_conn_output(conn);
        ck_assert_msg(out.len > strlen(who[i].status) &&
                          !strncmp(out.p, who[i].status, strlen(who[i].status)),
                      "%s: %.*s", who[i].path, (int)out.len, out.p);
        ek_http_conn_free(conn);
        ek_metrics_auth_free(auth);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discovery_endpoint");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, answers, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, waits_for_a_view);
    tcase_add_test(tc, knows_what_the_client_has);
    tcase_add_test(tc, compresses_large_documents);
    tcase_add_test(tc, is_guarded);
    return ek_test_run("discovery_endpoint", tc);
}
