/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reconcilers/proxy/accept.h"
#include "reconcilers/proxy/negotiate.h"
#include "test/support/suite.h"

#define JSON   "application/json"
#define YAML   "application/yaml"
#define PROTO  "application/vnd.kubernetes.protobuf"
#define AS     ";as=APIGroupDiscoveryList"
#define V2     ";g=apidiscovery.k8s.io;v=v2" AS
#define V2BETA ";g=apidiscovery.k8s.io;v=v2beta1" AS
#define NOPEER ";profile=nopeer"

static const struct ek_negotiate_headers no_headers = {"", "", "", ""};

/* ---- Which document, in which form ---- */

/* Expected: the kind and form in letters: "root v2", "root v2 own", "group apps plain", "406",
 * "forward"; " pretty" or " yaml" at the end. */
static const struct {
    const char *method, *target, *accept, *expected;
} rows[] = {
    /* aggregated/wrapper_test.go, for a server that writes JSON */
    {"GET", "/apis", JSON ";foo=bar", "apis plain"},
    {"GET", "/apis", "", "apis plain"},
    {"GET", "/apis", JSON V2BETA, "apis v2beta1"},
    {"GET", "/apis", JSON V2, "apis v2"},
    {"GET", "/apis", PROTO V2, "406"},
    {"GET", "/apis", JSON, "apis plain"},
    {"GET", "/apis", PROTO, "406"},
    {"GET", "/apis", JSON V2 "," JSON, "apis v2"},
    {"GET", "/apis", PROTO V2 "," PROTO, "406"},
    {"GET", "/apis", JSON V2 NOPEER, "apis v2 own"},
    {"GET", "/apis", JSON V2 ";profile=foo", "apis v2"},
    /* profile */
    {"GET", "/apis", JSON V2BETA NOPEER, "apis v2beta1 own"},
    {"GET", "/apis", JSON ";profile=nopeer" V2, "apis v2 own"},
    {"GET", "/apis", JSON V2 ";profile=nopeer;profile=foo", "apis v2"},
    {"GET", "/apis", JSON NOPEER, "apis plain"},
    {"GET", "/apis", JSON V2 ";profile=", "apis v2"},
    /* clients: client-go, a peer, kubectl 1.33, one before 1.26 */
    {"GET", "/api", JSON V2 "," JSON V2BETA "," JSON, "api v2"},
    {"GET", "/apis", JSON V2 NOPEER "," JSON V2 "," JSON, "apis v2 own"},
    {"GET", "/apis", JSON ", */*", "apis plain"},
    {"GET", "/apis", PROTO "," JSON, "apis plain"},
    {"GET", "/apis", PROTO V2 "," JSON, "apis plain"},
    {"GET", "/apis", PROTO V2 "," JSON V2, "apis v2"},
    /* order: an aggregated clause anywhere goes before plain ones */
    {"GET", "/apis", JSON "," JSON V2, "apis v2"},
    {"GET", "/apis", JSON "," JSON V2 ";q=0.1", "apis v2"},
    {"GET", "/apis", JSON V2 ";q=0.1," JSON V2BETA ";q=0.9", "apis v2beta1"},
    {"GET", "/apis", JSON V2 ";q=0.5," JSON V2BETA ";q=0.50", "apis v2"},
    {"GET", "/apis", "*/*" V2 "," JSON V2BETA, "apis v2beta1"},
    {"GET", "/apis", JSON V2 ";q=x," JSON V2BETA ";q=0.1", "apis v2beta1"},
    /* forms of a clause */
    {"GET", "/apis", "*/*", "apis plain"},
    {"GET", "/apis", "*", "apis plain"},
    {"GET", "/apis", "*/*" V2, "apis v2"},
    {"GET", "/apis", "application/*" V2, "apis v2"},
    {"GET", "/apis",
     " application / json ; g = apidiscovery.k8s.io ;v=v2 ; as=APIGroupDiscoveryList", "apis v2"},
    {"GET", "/apis", JSON AS ";v=v2;g=apidiscovery.k8s.io", "apis v2"},
    {"GET", "/apis", "Application/JSON" V2, "406"},
    {"GET", "/apis", "text/html", "406"},
    {"GET", "/apis", "json", "406"},
    {"GET", "/apis", ",,", "406"},
    {"GET", "/apis", "application/json/x", "406"},
    {"GET", "/apis", JSON ";g=apidiscovery.k8s.io;v=v3" AS, "406"},
    {"GET", "/apis", JSON ";g=apidiscovery.k8s.io;v=v3" AS "," JSON, "apis plain"},
    {"GET", "/apis", JSON ";g=meta.k8s.io;v=v1;as=Table", "406"},
    {"GET", "/apis", JSON ";g=apidiscovery.k8s.io;v=v2;as==APIGroupDiscoveryList", "406"},
    {"GET", "/apis", JSON ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList=x", "406"},
    {"GET", "/apis", JSON ";v=v2", "406"},
    {"GET", "/apis", JSON AS, "406"},
    {"GET", "/apis", JSON V2 ";charset=utf-8", "apis v2"},
    {"GET", "/apis", JSON V2 ";stream=watch", "apis v2"},
    {"GET", "/apis", JSON V2 ";stream=x," JSON, "apis plain"},
    {"GET", "/apis", JSON V2 ";sv=v1," JSON, "apis plain"},
    {"GET", "/apis", JSON ";v=v2beta1;v=v2;g=apidiscovery.k8s.io" AS, "apis v2"},
    /* paths */
    {"GET", "/api", JSON V2, "api v2"},
    {"GET", "/api/", JSON V2, "api v2"},
    {"GET", "/apis/", JSON V2, "406"},
    {"GET", "/apis/", JSON V2 "," JSON, "apis plain"},
    {"HEAD", "/apis", JSON V2, "apis v2"},
    {"GET", "/apis/apps", "", "group apps plain"},
    {"GET", "/apis/apps/", JSON, "group apps plain"},
    {"GET", "/apis/apps", JSON V2 "," JSON, "group apps plain"},
    {"GET", "/apis/apps", JSON V2, "406"},
    {"GET", "/apis/apps/v1", "", "resources apps v1 plain"},
    {"GET", "/apis/apps/v1/", "", "resources apps v1 plain"},
    {"GET", "/api/v1", "", "resources  v1 plain"},
    {"GET", "/api/v1/", PROTO "," JSON, "resources  v1 plain"},
    {"GET", "/%61pis/apps", "", "group apps plain"},
    /* YAML, which is indented for all */
    {"GET", "/apis", YAML V2, "apis v2 yaml"},
    {"GET", "/api", YAML V2, "api v2 yaml"},
    {"GET", "/apis", YAML V2 NOPEER, "apis v2 own yaml"},
    {"GET", "/apis", YAML V2BETA, "apis v2beta1 yaml"},
    {"GET", "/apis", YAML, "apis plain yaml"},
    {"GET", "/apis/apps", YAML, "group apps plain yaml"},
    {"GET", "/apis/apps/v1?pretty=1", YAML, "resources apps v1 plain yaml"},
    {"GET", "/apis", YAML "," JSON V2, "apis v2"},
    {"GET", "/apis", YAML "," JSON, "apis plain yaml"},
    {"GET", "/apis", JSON "," YAML, "apis plain"},
    {"GET", "/apis", PROTO "," YAML ";q=0.5," JSON ";q=0.1", "apis plain yaml"},
    {"GET", "/apis", "application/*", "apis plain"},
    /* other requests */
    {"POST", "/apis", "", "forward"},
    {"DELETE", "/apis/apps", "", "forward"},
    {"GET", "/apis/apps/v1/deployments", "", "forward"},
    {"GET", "/api/v1/pods", "", "forward"},
    {"GET", "/apisx", "", "forward"},
    {"GET", "/apiserver", "", "forward"},
    {"GET", "/version", "", "forward"},
    {"GET", "/openapi/v3", "", "forward"},
    /* for people */
    {"GET", "/apis?pretty", "", "apis plain"},
    {"GET", "/apis?pretty=1", "", "apis plain pretty"},
    {"GET", "/apis?pretty=True", JSON V2, "apis v2 pretty"},
    {"GET", "/apis?pretty=yes", "", "apis plain"},
    {"GET", "/apis?pretty=0", JSON V2 ";pretty=1", "apis v2 pretty"},
    {"GET", "/apis", JSON ";pretty=1", "apis plain pretty"},
    {"GET", "/apis", JSON ";pretty=true", "apis plain"},
};

static const char *form_of(const struct ek_negotiate_choice *c)
{
    return c->form == EK_NEGOTIATE_V2        ? "v2"
           : c->form == EK_NEGOTIATE_V2BETA1 ? "v2beta1"
                                             : "plain";
}

static char *print(const struct ek_negotiate_choice *c)
{
    const char *pretty = c->yaml ? " yaml" : c->pretty ? " pretty" : "";

    switch (c->kind) {
    case EK_NEGOTIATE_FORWARD:
        return ek_xstrdup("forward");
    case EK_NEGOTIATE_ROOT:
        return ek_xasprintf("%s %s%s%s", c->core ? "api" : "apis", form_of(c), c->own ? " own" : "",
                            pretty);
    case EK_NEGOTIATE_GROUP:
        return ek_xasprintf("group %s %s%s", c->group, form_of(c), pretty);
    case EK_NEGOTIATE_RESOURCES:
        return ek_xasprintf("resources %s %s %s%s", c->group, c->version, form_of(c), pretty);
    case EK_NEGOTIATE_REFUSE:
        return ek_xasprintf("%d", c->answer.code);
    }
    return NULL;
}

static void choose(const char *method, const char *target,
                   const struct ek_negotiate_headers *headers, struct ek_negotiate_choice *ret)
{
    EK_AUTO(ek_proxy_request) request;
    struct ek_proxy_answer refusal;

    ck_assert_msg(ek_proxy_request_read(method, target, &request, &refusal), "%s", target);
    ek_negotiate_choose(&request, headers, ret);
}

START_TEST(choices)
{
    struct ek_negotiate_headers headers = no_headers;
    EK_AUTO(ek_negotiate_choice) choice;

    headers.accept = rows[_i].accept;
    choose(rows[_i].method, rows[_i].target, &headers, &choice);
    EK_AUTOFREE char *text = print(&choice);
    ck_assert_msg(!strcmp(text, rows[_i].expected), "%s %s: %s instead of %s", rows[_i].target,
                  rows[_i].accept, text, rows[_i].expected);
}
END_TEST

static const struct {
    const char *agent, *query;
    bool pretty;
} agents[] = {
    {"curl/7.88.1", "", true},
    {"Wget/1.21", "", true},
    {"Mozilla/5.0 (X11)", "", true},
    {"Mozilla/4.0", "", false},
    {"kubectl/v1.36.2", "", false},
    {"", "", false},
    {"curl/7.88.1", "?pretty=0", false},
    {"curl/7.88.1", "?pretty=", true},
    {"my-curl", "", false},
    {"kubectl", "?pretty=t", true},
};

START_TEST(people)
{
    struct ek_negotiate_headers headers = no_headers;
    EK_AUTO(ek_negotiate_choice) choice;
    EK_AUTOFREE char *target = ek_xasprintf("/apis%s", agents[_i].query);

    headers.user_agent = agents[_i].agent;
    choose("GET", target, &headers, &choice);
    ck_assert_msg(choice.pretty == agents[_i].pretty, "%s %s", agents[_i].agent, target);
}
END_TEST

START_TEST(without_memory)
{
    EK_AUTO(ek_proxy_request) request;
    EK_AUTO(ek_negotiate_choice) choice;
    struct ek_proxy_answer refusal;

    ck_assert(ek_proxy_request_read("GET", "/apis", &request, &refusal));
    ek_alloc_fail_after(1);
    ek_negotiate_choose(&request, &no_headers, &choice);
    ek_alloc_fail_after(0);
    ck_assert_int_eq(choice.kind, EK_NEGOTIATE_REFUSE);
    ck_assert_int_eq(choice.answer.code, 503);
}
END_TEST

/* ---- Clauses ---- */

/* The order of goautoneg.ParseAccept for "a/b;q=.." lists, as types with blanks between. */
static const struct {
    const char *header, *expected;
} orders[] = {
    {"a/a,b/b,c/c", "a b c"},
    {"a/a;q=0.1,b/b;q=0.5,c/c", "c b a"},
    {"*/*,a/*,b/b", "b a *"},
    {"a/*;q=0.9,b/b;q=0.8", "b a"}, /* specific before a higher q: the order is not strict */
    {"*/*;q=1,a/a;q=0.1", "a *"},
    {"a/a;q=0,b/b", "b a"},
    {"a/a;q=1e1,b/b;q=0.5", "b a"},
    {"a/a;q=,b/b;q=0.5", "a b"}, /* an empty value is not read */
    {"a/a; q=0.5,b/b;q= 0.9,c/c;q=0.7", "c a b"},
    {"a,b/b", "b"},
    {"", ""},
};

START_TEST(order)
{
    struct ek_accept accept;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1024);
    ek_accept_read(orders[_i].header, &accept);
    for (size_t i = 0; i < accept.n; i++)
        ek_buf_printf(&out, "%s%.*s", i ? " " : "", (int)accept.clauses[i].type.len,
                      accept.clauses[i].type.p);
    ck_assert_msg(!strcmp(ek_buf_str(&out), orders[_i].expected), "%s: %s", orders[_i].header,
                  ek_buf_str(&out));
}
END_TEST

START_TEST(many_clauses)
{
    EK_AUTO(ek_buf) header;
    struct ek_accept accept;

    ek_buf_init(&header, 1024);
    for (size_t i = 0; i < EK_ACCEPT_CLAUSES_MAX; i++)
        ek_buf_puts(&header, "a/b,");
    ek_buf_puts(&header, JSON);
    ek_accept_read(ek_buf_str(&header), &accept);
    ck_assert_uint_eq(accept.n, EK_ACCEPT_CLAUSES_MAX);
    ck_assert_ptr_null(ek_accept_plain(&accept));
}
END_TEST

/* ---- The reply ---- */

#define TAG "\"ABCD\""

static const struct {
    const char *name, *target, *accept, *if_none_match, *encoding;
    bool large;
    /* code, type, tag, cache control, Vary lines, encoding, "compact" or "gzip" */
    const char *expected;
} replies[] = {
    {"v2", "/apis", JSON V2, "", "", false, "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"v2beta1", "/apis", JSON V2BETA, "", "", false,
     "200|" JSON V2BETA "|" TAG "|public|Accept|-|-|compact"},
    {"the profile is not echoed", "/apis", JSON V2 NOPEER, "", "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"/api", "/api", JSON V2, "", "", false, "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"plain", "/apis", JSON, TAG, "", false, "200|" JSON "|-|no-cache, private|-|-|-|compact"},
    {"a group", "/apis/apps", "", TAG, "", false, "200|" JSON "|-|no-cache, private|-|-|-|compact"},
    {"the tag", "/apis", JSON V2, TAG, "gzip", true, "304|-|" TAG "|public|Accept|-|-|"},
    {"another tag", "/apis", JSON V2, "\"ABCE\"", "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"a list of tags", "/apis", JSON V2, TAG ", \"X\"", "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"any tag", "/apis", JSON V2, "*", "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"a weak tag", "/apis", JSON V2, "W/" TAG, "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"no quotes", "/apis", JSON V2, "ABCD", "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"pretty, and the same tag", "/apis?pretty=1", JSON V2, "", "", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"pretty 304", "/apis?pretty=1", JSON V2, TAG, "", false, "304|-|" TAG "|public|Accept|-|-|"},
    {"gzip of a large one", "/apis", JSON V2, "", "gzip", true,
     "200|" JSON V2 "|" TAG "|public|Accept|Accept-Encoding|gzip|gzip"},
    {"gzip of a large one, plain", "/apis", JSON, "", "deflate, gzip", true,
     "200|" JSON "|-|no-cache, private|Accept-Encoding|-|gzip|gzip"},
    {"no gzip of a small one", "/apis", JSON V2, "", "gzip", false,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"gzip with parameters is not read", "/apis", JSON V2, "", "gzip;q=1.0", true,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
    {"gzip of what is pretty", "/apis?pretty=1", JSON V2, "", "gzip", true,
     "200|" JSON V2 "|" TAG "|public|Accept|Accept-Encoding|gzip|gzip"},
    {"YAML", "/apis", YAML V2, "", "", false, "200|" YAML V2 "|" TAG "|public|Accept|-|-|compact"},
    {"YAML, and the same tag", "/apis", YAML V2, TAG, "", false,
     "304|-|" TAG "|public|Accept|-|-|"},
    {"plain YAML", "/apis", YAML, "", "", false, "200|" YAML "|-|no-cache, private|-|-|-|compact"},
    {"gzip is not accepted", "/apis", JSON V2, "", "br", true,
     "200|" JSON V2 "|" TAG "|public|Accept|-|-|compact"},
};

#define LARGE ((size_t)128 * 1024 + 1)

static const char *or_none(const char *s)
{
    return s ? s : "-";
}

START_TEST(reply)
{
    static char body[LARGE];
    struct ek_negotiate_headers headers = {replies[_i].accept, replies[_i].encoding,
                                           replies[_i].if_none_match, ""};
    struct ek_negotiate_document document = {
        {body, replies[_i].large ? LARGE : LARGE - 1}, EK_STR("gzip"), TAG};
    struct ek_negotiate_reply r;
    EK_AUTO(ek_negotiate_choice) choice;

    choose("GET", replies[_i].target, &headers, &choice);
    ek_negotiate_reply(&choice, &headers, &document, &r);
    EK_AUTOFREE char *text =
        ek_xasprintf("%d|%s|%s|%s|%s|%s|%s|%s", r.code, or_none(r.content_type), or_none(r.etag),
                     or_none(r.cache_control), or_none(r.vary[0]), or_none(r.vary[1]),
                     or_none(r.content_encoding),
                     r.body.p == body  ? "compact"
                     : r.body.len == 0 ? ""
                                       : "gzip");
    ck_assert_msg(!strcmp(text, replies[_i].expected), "%s: %s", replies[_i].name, text);
}
END_TEST

START_TEST(without_gzip)
{
    struct ek_negotiate_headers headers = {JSON V2, "gzip", "", ""};
    struct ek_negotiate_document document = {{NULL, LARGE}, {NULL, 0}, TAG};
    struct ek_negotiate_reply r;
    EK_AUTO(ek_negotiate_choice) choice;

    choose("GET", "/apis", &headers, &choice);
    ek_negotiate_reply(&choice, &headers, &document, &r);
    ck_assert_ptr_null(r.content_encoding);
    ck_assert_uint_eq(r.body.len, LARGE);
}
END_TEST

/* ---- Indentation: encoding/json:Indent ---- */

static const struct {
    const char *compact, *expected;
} texts[] = {
    {"{}\n", "{}"},
    {"[]", "[]"},
    {"{\"a\":[]}", "{\n  \"a\": []\n}"},
    {"{\"a\":{},\"b\":[1,\"x\"]}\n", "{\n  \"a\": {},\n  \"b\": [\n    1,\n    \"x\"\n  ]\n}"},
    {"[{\"a\":null},[]]", "[\n  {\n    \"a\": null\n  },\n  []\n]"},
    {"{\"a{\\\"}[],:\":\"\\\\\"}", "{\n  \"a{\\\"}[],:\": \"\\\\\"\n}"},
    {"true\n", "true"},
    {"\"\\u003c\"", "\"\\u003c\""},
    {"\"open", "\"open"},
    {"}", "\n}"},
    {"", ""},
};

/* As sigs.k8s.io/yaml:JSONToYAML writes it: members by name. */
static const struct {
    const char *json, *yaml;
} yamls[] = {
    {"{}\n", "{}\n"},
    {"{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}\n",
     "kind: APIVersions\nserverAddressByClientCIDRs: []\nversions:\n- v1\n"},
    {"{\"metadata\":{},\"items\":[{\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\"}],"
     "\"metadata\":{\"name\":\"a.io\"}}]}",
     "items:\n- metadata:\n    name: a.io\n  versions:\n  - freshness: Stale\n    version: v1\n"
     "metadata: {}\n"},
    {"{\"resources\":null,\"namespaced\":true}", "namespaced: true\nresources: null\n"},
};

START_TEST(yaml)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1024);
    ck_assert_int_eq(ek_negotiate_yaml(ek_str_from(yamls[_i].json), &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), yamls[_i].yaml);
}
END_TEST

START_TEST(indent)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ck_assert_int_eq(ek_negotiate_indent(ek_str_from(texts[_i].compact), &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), texts[_i].expected);
}
END_TEST

/* ---- Permission ---- */

START_TEST(permission)
{
    struct ek_negotiate_headers headers = no_headers;
    EK_AUTO(ek_negotiate_choice) choice;

    headers.accept = ek_negotiate_permission_accept;
    choose("GET", "/apis", &headers, &choice);
    ck_assert(choice.own && choice.form == EK_NEGOTIATE_V2);
    ck_assert(ek_negotiate_is_granted(200));
    ck_assert(ek_negotiate_is_granted(304));
    ck_assert(ek_negotiate_is_granted(404));
    ck_assert(!ek_negotiate_is_granted(401));
    ck_assert(!ek_negotiate_is_granted(403));
    ck_assert(!ek_negotiate_is_granted(429));
    ck_assert(!ek_negotiate_is_granted(500));
    ck_assert(!ek_negotiate_is_granted(503));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("negotiate");

    tcase_add_loop_test(tcase, choices, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, people, 0, EK_ARRAY_SIZE(agents));
    tcase_add_test(tcase, without_memory);
    tcase_add_loop_test(tcase, order, 0, EK_ARRAY_SIZE(orders));
    tcase_add_test(tcase, many_clauses);
    tcase_add_loop_test(tcase, reply, 0, EK_ARRAY_SIZE(replies));
    tcase_add_test(tcase, without_gzip);
    tcase_add_loop_test(tcase, indent, 0, EK_ARRAY_SIZE(texts));
    tcase_add_loop_test(tcase, yaml, 0, EK_ARRAY_SIZE(yamls));
    tcase_add_test(tcase, permission);
    return ek_test_run("proxy_negotiate", tcase);
}
