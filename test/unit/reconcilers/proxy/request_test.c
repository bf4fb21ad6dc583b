/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/proxy/request.h"
#include "test/support/suite.h"

/* ---- What a request is about: requestinfo_test.go and more ---- */

struct row {
    const char *method, *target, *verb, *group, *version, *namespace, *resource, *subresource,
        *name;
};

/* "-" as resource: no resource request. */
static const struct row rows[] = {
    {"GET", "/api/v1/namespaces", "list", "", "v1", "", "namespaces", "", ""},
    {"GET", "/api/v1/namespaces/other", "get", "", "v1", "other", "namespaces", "", "other"},
    {"GET", "/api/v1/namespaces/other/pods", "list", "", "v1", "other", "pods", "", ""},
    {"GET", "/api/v1/namespaces/other/pods/foo", "get", "", "v1", "other", "pods", "", "foo"},
    {"HEAD", "/api/v1/namespaces/other/pods/foo", "get", "", "v1", "other", "pods", "", "foo"},
    {"GET", "/api/v1/pods", "list", "", "v1", "", "pods", "", ""},
    {"HEAD", "/api/v1/pods", "list", "", "v1", "", "pods", "", ""},
    {"PATCH", "/api/v1/namespaces/new", "patch", "", "v1", "new", "namespaces", "", "new"},
    /* verbs in the path */
    {"GET", "/api/v1/proxy/namespaces/other/pods/foo", "proxy", "", "v1", "other", "pods", "",
     "foo"},
    {"GET", "/api/v1/proxy/namespaces/other/pods/foo/subpath/not/a/subresource", "proxy", "", "v1",
     "other", "pods", "", "foo"},
    {"POST", "/api/v1/proxy/pods/foo", "proxy", "", "v1", "", "pods", "", "foo"},
    {"GET", "/api/v1/watch/pods", "watch", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/watch/namespaces/other/pods", "watch", "", "v1", "other", "pods", "", ""},
    {"GET", "/api/v1/watch/namespaces/other/pods/foo", "watch", "", "v1", "other", "pods", "",
     "foo"},
    /* list and watch */
    {"GET", "/api/v1/pods?watch=true", "watch", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watch=false", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/namespaces/other/pods?watch=1", "watch", "", "v1", "other", "pods", "", ""},
    {"GET", "/api/v1/namespaces/other/pods?watch=0", "list", "", "v1", "other", "pods", "", ""},
    {"GET", "/api/v1/pods?watch", "watch", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watch=FALSE", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watch=no", "watch", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?limit=5&w%61tch=tr%75e", "watch", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watch=false&watch=true", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watch=true;x", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watch=%zz", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/pods?watches=true", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/apis/group/version/resource?fieldSelector=metadata.name=name1", "list", "group",
     "version", "", "resource", "", ""},
    {"GET", "/apis/group/version/resource?fieldSelector=metadata.name=name1,foo&watch=true",
     "watch", "group", "version", "", "resource", "", ""},
    {"GET", "/api/v1/namespaces/other/pods/foo?watch=true", "get", "", "v1", "other", "pods", "",
     "foo"},
    {"POST", "/api/v1/pods?watch=true", "create", "", "v1", "", "pods", "", ""},
    /* subresources */
    {"GET", "/api/v1/namespaces/other/pods/foo/status", "get", "", "v1", "other", "pods", "status",
     "foo"},
    {"GET", "/api/v1/namespaces/other/pods/foo/proxy/subpath", "get", "", "v1", "other", "pods",
     "proxy", "foo"},
    {"PUT", "/api/v1/namespaces/other/finalize", "update", "", "v1", "other", "namespaces",
     "finalize", "other"},
    {"PUT", "/api/v1/namespaces/other/status", "update", "", "v1", "other", "namespaces", "status",
     "other"},
    {"PATCH", "/apis/apps/v1/namespaces/d/deployments/web/scale", "patch", "apps", "v1", "d",
     "deployments", "scale", "web"},
    /* verbs of methods */
    {"PATCH", "/api/v1/namespaces/other/pods/foo", "patch", "", "v1", "other", "pods", "", "foo"},
    {"DELETE", "/api/v1/namespaces/other/pods/foo", "delete", "", "v1", "other", "pods", "", "foo"},
    {"POST", "/api/v1/namespaces/other/pods", "create", "", "v1", "other", "pods", "", ""},
    {"DELETE", "/api/v1/nodes", "deletecollection", "", "v1", "", "nodes", "", ""},
    {"DELETE", "/api/v1/namespaces", "deletecollection", "", "v1", "", "namespaces", "", ""},
    {"DELETE", "/apis/extensions/v1/namespaces/other/pods", "deletecollection", "extensions", "v1",
     "other", "pods", "", ""},
    {"get", "/api/v1/pods", "", "", "v1", "", "pods", "", ""},
    {"OPTIONS", "/api/v1/pods", "", "", "v1", "", "pods", "", ""},
    /* groups, versions */
    {"POST", "/apis/extensions/v1/namespaces/other/pods", "create", "extensions", "v1", "other",
     "pods", "", ""},
    {"POST", "/apis/extensions/v1beta3/namespaces/other/pods", "create", "extensions", "v1beta3",
     "other", "pods", "", ""},
    {"GET", "/apis/batch/v1/job/foo/scale", "get", "batch", "v1", "", "job", "scale", "foo"},
    /* no resource requests */
    {"GET", "/", "get", "", "", "", "-", "", ""},
    {"GET", "/api", "get", "", "", "", "-", "", ""},
    {"GET", "/api/version", "get", "", "", "", "-", "", ""},
    {"GET", "/api/version/", "get", "", "", "", "-", "", ""},
    {"GET", "/apis/group/version/", "get", "", "", "", "-", "", ""},
    {"GET", "/apis/version/resource", "get", "", "", "", "-", "", ""},
    {"GET", "/badprefix/version/resource", "get", "", "", "", "-", "", ""},
    {"GET", "/healthz?verbose", "get", "", "", "", "-", "", ""},
    {"POST", "/APIS/apps/v1/deployments", "post", "", "", "", "-", "", ""},
    {"GET", "/openapi/v3/apis/apps/v1?hash=1", "get", "", "", "", "-", "", ""},
    /* one slash at the end; names that are encoded */
    {"GET", "/api/v1/pods/", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", "get",
     "rbac.authorization.k8s.io", "v1", "", "clusterroles", "", "system:node"},
    {"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%20x", "get",
     "rbac.authorization.k8s.io", "v1", "", "clusterroles", "", "system:node x"},
    {"GET", "/api/v1/%70ods", "list", "", "v1", "", "pods", "", ""},
    {"GET", "/api/v1/namespaces/%E2%82%AC/pods", "list", "", "v1", "\xE2\x82\xAC", "pods", "", ""},
    /* the tail of a proxied path is another server's */
    {"GET", "/api/v1/namespaces/d/services/https:web:443/proxy/a%2Fb//c%25", "get", "", "v1", "d",
     "services", "proxy", "https:web:443"},
    {"GET", "/api/v1/nodes/n/proxy/", "get", "", "v1", "", "nodes", "proxy", "n"},
    {"GET", "/api/v1/nodes/n/proxy//", "get", "", "v1", "", "nodes", "proxy", "n"},
    {"GET", "/api/v1/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r", "get", "", "v1", "", "a", "c", "b"},
};

START_TEST(about)
{
    const struct row *row = &rows[_i];
    EK_AUTO(ek_proxy_request) r;
    struct ek_proxy_answer refusal = {0};

    ck_assert_msg(ek_proxy_request_read(row->method, row->target, &r, &refusal), "%s %s: %s",
                  row->method, row->target, refusal.message);
    ck_assert_msg(r.is_resource == (strcmp(row->resource, "-") != 0), "%s", row->target);
    ck_assert_msg(!strcmp(r.verb, row->verb), "%s: verb %s", row->target, r.verb);
    if (!r.is_resource)
        return;
    ck_assert_msg(!strcmp(r.group, row->group), "%s: group %s", row->target, r.group);
    ck_assert_msg(!strcmp(r.version, row->version), "%s: version %s", row->target, r.version);
    ck_assert_msg(!strcmp(r.namespace, row->namespace), "%s: ns %s", row->target, r.namespace);
    ck_assert_msg(!strcmp(r.resource, row->resource), "%s: resource %s", row->target, r.resource);
    ck_assert_msg(!strcmp(r.name, row->name), "%s: name %s", row->target, r.name);
    ck_assert_msg(!strcmp(r.subresource, row->subresource), "%s: %s", row->target, r.subresource);
}
END_TEST

/* ---- What is refused ---- */

static const struct {
    const char *method, *target;
    int code;
    const char *why;
} refused[] = {
    {"GET", "https://evil/api/v1/pods", 400, "begin with"},
    {"OPTIONS", "*", 400, "begin with"},
    {"GET", "", 400, "begin with"},
    {"CONNECT", "10.0.0.1:6443", 405, "CONNECT"},
    {"TRACE", "/api", 405, "TRACE"},
    {"GET", "/api/v1/pods#x", 400, "fragment"},
    {"GET", "/api/v1/po ds", 400, "printable"},
    {"GET",
     "/api/v1/p\xC3\xB6"
     "ds",
     400, "printable"},
    {"GET", "/api/v1/pods\r\nX-Remote-User: admin", 400, "printable"},
    {"GET", "/api/v1/pods?a=\x7f", 400, "printable"},
    {"GET", "/api/v1/pods%", 400, "broken"},
    {"GET", "/api/v1/pods%2", 400, "broken"},
    {"GET", "/api/v1/pods%zz", 400, "broken"},
    {"GET", "/api/v1/pods%00", 400, "control"},
    {"GET", "/api/v1/pods%0d%0aX", 400, "control"},
    {"GET", "/api/v1/pods%7f", 400, "control"},
    {"GET", "/api/v1\\pods", 400, "backslash"},
    {"GET", "/api/v1/namespaces/a%5cb/pods", 400, "encoded"},
    {"GET", "/api/v1/../../secrets", 400, "dot"},
    {"GET", "/api/v1/./pods", 400, "dot"},
    {"GET", "/api/v1/pods/..", 400, "dot"},
    {"GET", "/api/v1/%2e%2e/pods", 400, "dot"},
    {"GET", "/api/v1/.%2E/pods", 400, "dot"},
    {"GET", "/api/v1/pods%2f..%2fsecrets", 400, "dot"},
    {"GET", "/api/v1/pods%5c..%5csecrets", 400, "dot"},
    {"GET", "/api/v1/namespaces/a%2fb/pods", 400, "encoded"},
    {"GET", "/apis/apps%2Fv1/deployments", 400, "encoded"},
    {"GET", "/api%2Fv1/pods", 400, "encoded"},
    {"GET", "/api/v1/namespaces/a%252fb/pods", 400, "encoded"},
    {"GET", "//api/v1/pods", 400, "empty"},
    {"GET", "/api//v1/pods", 400, "empty"},
    {"GET", "/api/v1//pods", 400, "empty"},
    {"GET", "/api/v1/pods//", 400, "empty"},
    {"GET", "/api/v1/namespaces//pods", 400, "empty"},
    {"GET", "//evil.example/x", 400, "empty"},
    {"GET", "/healthz%2flog", 400, "encoded"},
    {"GET", "/logs//a", 400, "empty"},
    {"GET", "/api/v1/watch", 400, "verb"},
    {"GET", "/api/v1/proxy/", 400, "verb"},
    {"GET", "/api/v1/nodes/n/proxy/../../secrets", 400, "dot"},
    {"GET", "/api/v1/nodes/n/proxy/%2e%2e/%2e%2e/secrets", 400, "dot"},
    {"GET", "/api/v1/nodes/n%2fm/proxy/x", 400, "encoded"},
    {"GET", "/api/v1//nodes/n/proxy/x", 400, "empty"},
    {"GET", "/api/v1/nodes/n/proxy%2fx", 400, "encoded"},
};

START_TEST(refusals)
{
    EK_AUTO(ek_proxy_request) r;
    struct ek_proxy_answer refusal = {0};

    ck_assert_msg(!ek_proxy_request_read(refused[_i].method, refused[_i].target, &r, &refusal),
                  "%s is taken", refused[_i].target);
    ck_assert_msg(refusal.code == refused[_i].code && strstr(refusal.message, refused[_i].why),
                  "%s: %d %s", refused[_i].target, refusal.code, refusal.message);
    ck_assert_int_eq(refusal.retry_after_s, 0);
}
END_TEST

START_TEST(too_long)
{
    EK_AUTOFREE char *target = ek_xalloc(EK_PROXY_TARGET_MAX + 2);
    EK_AUTO(ek_proxy_request) r = {0};
    EK_AUTO(ek_proxy_request) fits = {0};
    struct ek_proxy_answer refusal = {0};

    memset(target, 'a', EK_PROXY_TARGET_MAX + 1);
    target[0] = '/';
    ck_assert(!ek_proxy_request_read("GET", target, &r, &refusal));
    ck_assert_int_eq(refusal.code, 414);
    target[EK_PROXY_TARGET_MAX] = '\0';
    ck_assert(ek_proxy_request_read("GET", target, &fits, &refusal));
}
END_TEST

START_TEST(without_memory)
{
    EK_AUTO(ek_proxy_request) r;
    struct ek_proxy_answer refusal = {0};

    ek_alloc_fail_after(1);
    ck_assert(!ek_proxy_request_read("GET", "/api", &r, &refusal));
    ek_alloc_fail_after(0);
    ck_assert_int_eq(refusal.code, 503);
    ck_assert_int_eq(refusal.retry_after_s, 1);
}
END_TEST

/* ---- Classes ---- */

static const struct {
    const char *method, *target;
    bool reads, runs, long_running, has_tail;
} classes[] = {
    {"GET", "/api/v1/pods", true, false, false, false},
    {"HEAD", "/version", true, false, false, false},
    {"POST", "/api/v1/namespaces/d/pods", false, false, false, false},
    {"DELETE", "/api/v1/namespaces/d/pods/p", false, false, false, false},
    {"GET", "/api/v1/pods?watch=1", true, false, true, false},
    {"GET", "/api/v1/namespaces/d/pods/p/log", true, false, true, false},
    {"GET", "/api/v1/namespaces/d/pods/p/exec?command=sh", true, true, true, false},
    {"POST", "/api/v1/namespaces/d/pods/p/attach", false, true, true, false},
    {"GET", "/api/v1/namespaces/d/pods/p/portforward", true, true, true, false},
    {"GET", "/api/v1/namespaces/d/pods/p/proxy/x", true, true, true, true},
    {"GET", "/api/v1/proxy/nodes/n/x", true, true, true, true},
    {"GET", "/api/v1/namespaces/d/pods/p/status", true, false, false, false},
};

START_TEST(class_of)
{
    EK_AUTO(ek_proxy_request) r;
    struct ek_proxy_answer refusal;

    ck_assert(ek_proxy_request_read(classes[_i].method, classes[_i].target, &r, &refusal));
    ck_assert_msg(r.reads == classes[_i].reads && r.runs == classes[_i].runs &&
                      r.long_running == classes[_i].long_running &&
                      r.has_tail == classes[_i].has_tail,
                  "%s", classes[_i].target);
}
END_TEST

/* ---- The query ---- */

static const struct {
    const char *query, *value; /* NULL: absent */
} queries[] = {
    {"", NULL},        {"a=1", NULL},        {"p", ""},
    {"p=", ""},        {"p=1&p=2", "1"},     {"a&p=1", "1"},
    {"%70=1", "1"},    {"p=a+b%21", "a b!"}, {"p=a=b", "a=b"},
    {"p=1;&p=2", "2"}, {"p=%&p=2", "2"},     {"p%=1", NULL},
    {"P=1", NULL},     {"&&p=1", "1"},       {"p=123456789", "1234567"},
    {"p=%4", NULL},    {"p=%41", "A"},       {"pp=1", NULL},
    {"=1", NULL},
};

START_TEST(query)
{
    char value[8];
    bool found = ek_proxy_query_first(queries[_i].query, "p", value, sizeof value);

    ck_assert_msg(found == (queries[_i].value != NULL), "%s", queries[_i].query);
    ck_assert_str_eq(value, found ? queries[_i].value : "");
}
END_TEST

/* ---- Answers ---- */

START_TEST(answers)
{
    struct ek_proxy_answer a;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ek_proxy_answer_set(&a, 503, 2, "no \"%s\"\n\\ now", "x\xff");
    ck_assert_int_eq(ek_proxy_answer_write(&a, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out),
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                     "\"status\":\"Failure\",\"message\":\"no \\\"x?\\\"?\\\\ now\","
                     "\"reason\":\"ServiceUnavailable\",\"details\":{\"retryAfterSeconds\":2},"
                     "\"code\":503}\n");
    ek_buf_reset(&out);
    ek_proxy_answer_set(&a, 414, 0, "x");
    ek_proxy_answer_write(&a, &out);
    ck_assert_str_eq(ek_buf_str(&out), "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                       "\"status\":\"Failure\",\"message\":\"x\",\"code\":414}\n");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("request");

    tcase_add_loop_test(tcase, about, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, refusals, 0, EK_ARRAY_SIZE(refused));
    tcase_add_test(tcase, too_long);
    tcase_add_test(tcase, without_memory);
    tcase_add_loop_test(tcase, class_of, 0, EK_ARRAY_SIZE(classes));
    tcase_add_loop_test(tcase, query, 0, EK_ARRAY_SIZE(queries));
    tcase_add_test(tcase, answers);
    return ek_test_run("proxy_request", tcase);
}
