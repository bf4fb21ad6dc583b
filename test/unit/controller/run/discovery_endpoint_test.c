/* SPDX-License-Identifier: Apache-2.0 */
/* The discovery endpoint of `evenkeel run`, without sockets: what it answers, and to whom. */
#include "controller/run/discovery_endpoint.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

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
static uv_loop_t loop;

/* ---- API servers that answer when they are told to ---- */

static struct {
    char *address, *path, *accept, *known;
    size_t max_body;
    ek_response_fn on_done;
    void *ctx;
} asked[8];
static size_t n_asked;

static char *copy(const char *text)
{
    return ek_xstrdup(text ? text : "");
}

static struct ek_call *send_request(void *ctx, const struct ek_request *request,
                                    ek_response_fn on_done, void *done_ctx)
{
    (void)ctx;
    ck_assert_msg(request->own_name && !request->body && request->timeout_ms > 0,
                  "not to one API server, without an end");
    ck_assert(n_asked < EK_ARRAY_SIZE(asked));
    asked[n_asked].address = copy(request->connect_to);
    asked[n_asked].path = copy(request->path);
    asked[n_asked].accept = copy(request->accept);
    asked[n_asked].known = copy(request->if_none_match);
    asked[n_asked].max_body = request->max_body;
    asked[n_asked].on_done = on_done;
    asked[n_asked++].ctx = done_ctx;
    return (struct ek_call *)&asked[n_asked - 1];
}

/* Forgets the first request that was sent. */
static void forget(void)
{
    ek_free(asked[0].address);
    ek_free(asked[0].path);
    ek_free(asked[0].accept);
    ek_free(asked[0].known);
    memmove(&asked[0], &asked[1], sizeof asked - sizeof asked[0]);
    n_asked--;
}

/* The answer to the first request. status 0: the API server cannot be reached. */
static void tell(int status, const char *type, const char *etag, const char *body)
{
    const struct ek_response resp = {.status = status,
                                     .body = ek_str_from(body ? body : ""),
                                     .content_type = type ? type : "application/json",
                                     .etag = etag ? etag : "",
                                     .warning = ""};
    const struct ek_err err = {.code = EK_E_IO};
    ek_response_fn on_done = asked[0].on_done;
    void *ctx = asked[0].ctx;

    forget();
    on_done(ctx, status ? &resp : NULL, status == 200 || status == 304 ? NULL : &err);
}

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
    const struct ek_reviewer sender = {.send = send_request};

    n_asked = 0;
    uv_loop_init(&loop);
    endpoint = ek_discovery_endpoint_new();
    route = ek_discovery_endpoint_route(endpoint, &sender, &loop);
}

static void teardown(void)
{
    while (n_asked > 0)
        forget();
    ek_discovery_endpoint_free(endpoint);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
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
    uv_run(&loop, UV_RUN_DEFAULT);
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
    {"another schema", LIVE, "GET /openapi/v4", "", 501, {"evenkeel proxy"}, NULL},
    {"schemas below v2", LIVE, "GET /openapi/v2/x", "", 501, {"evenkeel proxy"}, NULL},
    {"schemas in another spelling", LIVE, "GET /openapi/v%33", "", 404, {"NotFound"}, NULL},
    {"schemas, and one is unread", UNREAD, "GET /openapi/v3", "", 503, {"Status"}, NULL},
    {"version, and one is unread", UNREAD, "GET /version", "", 503, {"Status"}, NULL},
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

    ck_assert_uint_gt(strlen(plain), (size_t)128 * 1024);
    ck_assert_msg(strstr(packed, "\r\nContent-Encoding: gzip\r\n") &&
                      strstr(packed, "\r\nVary: Accept-Encoding\r\n"),
                  "%s", packed);
    ck_assert(strstr(pretty, "\r\nContent-Encoding: gzip\r\n") != NULL);
    ck_assert(!strstr(plain, "Accept-Encoding"));
}
END_TEST

/* What takes long is done on another thread, once for all who want it, and one for a user. */
START_TEST(writes_large_documents_elsewhere)
{
    static const struct {
        const char *request, *has; /* NULL: 429 */
    } forms[] = {
        {"GET /apis/batch/v1?pretty=1 HTTP/1.1\r\nHost: x\r\n\r\n", "\n  \"resources\": ["},
        {"GET /apis/batch/v1?pretty=true HTTP/1.1\r\nHost: x\r\n\r\n", "\n  \"resources\": ["},
        {"GET /apis/batch/v1 HTTP/1.1\r\nHost: x\r\nAccept: application/yaml\r\n\r\n", NULL}};
    const struct ek_http_conn_config config = config_of(&route);
    struct ek_http_conn *conns[4];

    publish(LIVE, 4000);
    for (size_t i = 0; i < 4; i++) {
        conns[i] = ek_http_conn_new(&config, "", NULL, NULL, 0);
        ek_http_conn_input(conns[i], forms[i % 3].request, strlen(forms[i % 3].request), 0);
        struct ek_str out = ek_http_conn_output(conns[i]);
        ck_assert_msg(forms[i % 3].has ? out.len == 0 : !strncmp(out.p, "HTTP/1.1 429 ", 13),
                      "%zu: %.*s", i, (int)out.len, out.p);
    }
    publish(LIVE, 0); /* the old one stays until it is sent */
    ek_http_conn_free(conns[3]);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < 2; i++) {
        struct ek_str out = ek_http_conn_output(conns[i]);
        EK_AUTOFREE char *got = ek_xstrndup(out.p, out.len);
        ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13) && strstr(got, forms[i].has) &&
                          strstr(got, "more3999"),
                      "%.300s", got);
    }
    for (size_t i = 0; i < 3; i++)
        ek_http_conn_free(conns[i]);
}
END_TEST

/* What was made a moment ago is sent at once. */
START_TEST(keeps_what_it_wrote)
{
    const struct ek_http_conn_config config = config_of(&route);
    static const char request[] = "GET /apis/batch/v1?pretty=1 HTTP/1.1\r\nHost: x\r\n\r\n";

    publish(LIVE, 4000);
    EK_AUTOFREE char *first = get("GET /apis/batch/v1?pretty=1", "");
    struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);
    ek_http_conn_input(conn, request, sizeof request - 1, 0);
    struct ek_str out = ek_http_conn_output(conn);
    ck_assert_uint_eq(out.len, strlen(first));
    ek_http_conn_free(conn);
}
END_TEST

/* ---- Documents of API servers ---- */

#define A    "10.0.0.1:6443"
#define B    "10.0.0.2:6443"
#define JSON "Accept: application/json\r\n"
#define INDEX(path)                                                                                \
    "{\"paths\":{\"" path "\":{\"serverRelativeURL\":\"/openapi/v3/" path "?hash=H\"}}}"
#define SCHEMAS(version, path)                                                                     \
    "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"" version               \
    "\"},\"paths\":{\"" path "\":{}},\"definitions\":{}}"
#define KEEP "\r\nCache-Control: public, max-age=31536000, immutable\r\n"

static const struct {
    const char *name, *line, *fields;
    struct {
        const char *address, *path; /* asked of whom; NULL: nobody */
        int status;
        const char *etag, *body;
    } peers[2];
    int status;
    const char *has[3], *has_not;
} documents[] = {
    {"version",
     "GET /version",
     "",
     {{A, "/version", 200, NULL, "{\"major\":\"1\"}"}},
     200,
     {"{\"major\":\"1\"}", "\r\nContent-Type: application/json\r\n", PRIVATE},
     "ETag"},
    {"version by HEAD",
     "HEAD /version",
     "",
     {{A, "/version", 200, NULL, "{}"}},
     200,
     {"200"},
     "{}"},
    {"version of the one that is there",
     "GET /version",
     "",
     {{A, "/version", 0, NULL, NULL}, {B, "/version", 200, NULL, "{\"minor\":\"36\"}"}},
     200,
     {"minor"},
     NULL},
    {"version of nobody",
     "GET /version",
     "",
     {{A, "/version", 0, NULL, NULL}, {B, "/version", 500, NULL, ""}},
     503,
     {"Retry-After: 1", "Status"},
     NULL},
    {"index with what the other one serves",
     "GET /openapi/v3",
     "If-None-Match: \"T\"\r\n",
     {{A, "/openapi/v3", 200, "\"T\"", INDEX("apis/apps/v1")}},
     200,
     {"/openapi/v3/apis/apps/v1?hash=H\"", "\"/openapi/v3/apis/batch/v1\"", PRIVATE},
     "ETag"},
    {"document of a holder",
     "GET /openapi/v3/apis/batch/v1",
     JSON,
     {{B, "/openapi/v3/apis/batch/v1", 200, "\"H\"", "{\"openapi\":\"3.0.0\"}"}},
     200,
     {"\"3.0.0\"", "\r\nETag: \"H\"\r\n", PRIVATE},
     NULL},
    {"document of its hash",
     "GET /openapi/v3/apis/batch/v1?hash=H",
     JSON,
     {{B, "/openapi/v3/apis/batch/v1", 200, "\"H\"", "{}"}},
     200,
     {KEEP, "\r\nVary: Accept\r\n"},
     NULL},
    {"document of another hash",
     "GET /openapi/v3/apis/batch/v1?hash=OLD",
     JSON,
     {{B, "/openapi/v3/apis/batch/v1", 200, "\"H\"", "{}"}},
     200,
     {PRIVATE},
     "immutable"},
    {"document that the client has",
     "GET /openapi/v3/apis/batch/v1?hash=H",
     JSON "If-None-Match: \"H\"\r\n",
     {{B, "/openapi/v3/apis/batch/v1", 304, "\"H\"", ""}},
     304,
     {"\r\nETag: \"H\"\r\n", KEEP},
     NULL},
    {"document of nobody",
     "GET /openapi/v3/apis/none/v1",
     JSON,
     {{A, "/openapi/v3/apis/none/v1", 404, NULL, "404 page not found"}},
     404,
     {"NotFound", PRIVATE},
     "Retry-After"},
    {"document that Evenkeel may not read",
     "GET /openapi/v3/apis/apps/v1",
     JSON,
     {{A, "/openapi/v3/apis/apps/v1", 403, NULL, "{}"}},
     503,
     {"system:discovery"},
     "Retry-After"},
    {"document in a form that there is not",
     "GET /openapi/v3/apis/apps/v1",
     "Accept: text/html\r\n",
     {{A, "/openapi/v3/apis/apps/v1", 406, NULL, ""}},
     406,
     {"NotAcceptable"},
     NULL},
    {"OpenAPI v2 of both",
     "GET /openapi/v2",
     JSON "If-None-Match: \"T\"\r\n",
     {{A, "/openapi/v2", 200, "\"T\"", SCHEMAS("v1.36.2", "/apis/apps/v1/")},
      {B, "/openapi/v2", 200, "\"T\"", SCHEMAS("v1.35.0", "/apis/batch/v1/")}},
     200,
     {"/apis/apps/v1/", "/apis/batch/v1/", "\r\nETag: \""},
     "Warning"},
    {"OpenAPI v2 of one",
     "GET /openapi/v2",
     JSON,
     {{A, "/openapi/v2", 200, NULL, SCHEMAS("v1.36.2", "/apis/apps/v1/")},
      {B, "/openapi/v2", 0, NULL, NULL}},
     200,
     {"/apis/apps/v1/", "\r\nWarning: 299 - \"the document lacks resources of 1 API servers"},
     "batch"},
    {"OpenAPI v2 of nobody",
     "GET /openapi/v2",
     JSON,
     {{A, "/openapi/v2", 0, NULL, NULL}, {B, "/openapi/v2", 403, NULL, ""}},
     503,
     {"system:discovery"},
     NULL},
    {"OpenAPI v2 that is none",
     "GET /openapi/v2",
     JSON,
     {{A, "/openapi/v2", 200, NULL, "[]"}, {B, "/openapi/v2", 200, NULL, "{"}},
     503,
     {"cannot be merged", "Retry-After: 1"},
     NULL},
};

START_TEST(reads_documents)
{
    const struct ek_http_conn_config config = config_of(&route);
    struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);
    EK_AUTOFREE char *request =
        ek_xasprintf("%s HTTP/1.1\r\nHost: x\r\n%s\r\n", documents[_i].line, documents[_i].fields);
    const char *name = documents[_i].name;

    publish(LIVE, 0);
    ek_http_conn_input(conn, request, strlen(request), 0);
    for (size_t i = 0; i < 2 && documents[_i].peers[i].address; i++) {
        ck_assert_msg(n_asked == 1, "%s: %zu requests", name, n_asked);
        ck_assert_str_eq(asked[0].address, documents[_i].peers[i].address);
        ck_assert_str_eq(asked[0].path, documents[_i].peers[i].path);
        /* What is made of several documents has a tag of its own. */
        bool made = strstr(documents[_i].line, "/v2") || strstr(documents[_i].line, "/v3 ") ||
                    !strcmp(documents[_i].line, "GET /openapi/v3");
        ck_assert_msg(!made || !*asked[0].known, "%s: %s", name, asked[0].known);
        ck_assert(asked[0].max_body > 0 && asked[0].max_body <= (size_t)16 << 20);
        tell(documents[_i].peers[i].status, NULL, documents[_i].peers[i].etag,
             documents[_i].peers[i].body);
    }
    ck_assert_msg(n_asked == 0, "%s: %s is asked", name, n_asked ? asked[0].address : "");
    uv_run(&loop, UV_RUN_DEFAULT);
    struct ek_str out = ek_http_conn_output(conn);
    EK_AUTOFREE char *got = ek_xstrndup(out.p, out.len);
    ck_assert_msg(out.len > 9 && strtol(got + 9, NULL, 10) == documents[_i].status, "%s: %s", name,
                  got);
    for (size_t i = 0; i < 3 && documents[_i].has[i]; i++)
        ck_assert_msg(strstr(got, documents[_i].has[i]) != NULL, "%s: no %s: %s", name,
                      documents[_i].has[i], got);
    ck_assert_msg(!documents[_i].has_not || !strstr(got, documents[_i].has_not), "%s: %s", name,
                  got);
    ek_http_conn_free(conn);
}
END_TEST

static char user[2]; /* that the filter in front of the route passes on */

static void handle_as(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    (void)ctx;
    ek_http_reply_user(reply, user);
    route.handler(route.ctx, request, reply);
}

/* What is read of API servers is in memory whole: few are at once, and no user has all of them. */
static const struct {
    const char *line, *users,
        *refused; /* users in the order of their requests; x: one is refused */
} few[] = {{"GET /openapi/v3/apis/batch/v1", "aaabbacd", "..x.xx.x"},
           {"GET /openapi/v2", "aabc", ".x.x"}}; /* of which fewer are merged */

START_TEST(reads_few_at_once)
{
    const struct ek_http_route filtered = {.path = "/", .subtree = true, .handler = handle_as};
    const struct ek_http_conn_config config = config_of(&filtered);
    struct ek_http_conn *conns[8];
    EK_AUTOFREE char *request = ek_xasprintf("%s HTTP/1.1\r\nHost: x\r\n\r\n", few[_i].line);
    size_t n = strlen(few[_i].users);

    publish(LIVE, 0);
    for (size_t i = 0; i < n; i++) {
        conns[i] = ek_http_conn_new(&config, "", NULL, NULL, 0);
        user[0] = few[_i].users[i];
        ek_http_conn_input(conns[i], request, strlen(request), 0);
        struct ek_str out = ek_http_conn_output(conns[i]);
        ck_assert_msg(few[_i].refused[i] == '.' ? out.len == 0
                                                : !strncmp(out.p, "HTTP/1.1 429 ", 13),
                      "%zu, of %s: %.*s", i, user, (int)out.len, out.p);
    }
    while (n_asked > 0) /* what they took is free again */
        tell(0, NULL, NULL, NULL);
    ek_http_conn_free(conns[1]);
    conns[1] = ek_http_conn_new(&config, "", NULL, NULL, 0);
    ek_http_conn_input(conns[1], request, strlen(request), 0);
    ck_assert_uint_eq(n_asked, 1);
    for (size_t i = 0; i < n; i++) /* the clients go */
        ek_http_conn_free(conns[i]);
    tell(0, NULL, NULL, NULL);
    ck_assert_uint_eq(n_asked, 0);
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
    tcase_add_test(tc, writes_large_documents_elsewhere);
    tcase_add_test(tc, keeps_what_it_wrote);
    tcase_add_loop_test(tc, reads_documents, 0, (int)EK_ARRAY_SIZE(documents));
    tcase_add_loop_test(tc, reads_few_at_once, 0, (int)EK_ARRAY_SIZE(few));
    tcase_add_test(tc, is_guarded);
    return ek_test_run("discovery_endpoint", tc);
}
