/* SPDX-License-Identifier: Apache-2.0 */
/* /debug/ui: what the page has of the facts, its limits, and the route. test/page opens the page of
 * a process in a browser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/http/conn.h"
#include "controller/run/ui.h"
#include "controller/run/ui_page.h"
#include "test/support/suite.h"

#define MANY 5000

static struct ek_obj *object(const char *json)
{
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    ck_assert_msg(ek_obj_parse(json, strlen(json), &obj, &err) == 0, "%s: %s", err.message, json);
    return obj;
}

/* ---- The page ---- */

#define POLICY(name, order, fights)                                                                \
    "{\"kind\":\"PolicyStatus\",\"metadata\":{\"name\":\"" name "\"},\"status\":{\"summary\":"     \
    "{\"order\":\"" order "\",\"enforcedBy\":\"Evenkeel\",\"scope\":\"spec\",\"fights\":1},"       \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"Fights\","              \
    "\"message\":\"m-" name "\"}],\"fights\":[" fights "]}}"
#define FIGHT                                                                                      \
    "{\"path\":\"/metadata/labels/a\",\"kind\":\"Pod\",\"since\":\"2026-01-02T03:04:05Z\","        \
    "\"parties\":[{\"policy\":\"p-1\"},{\"policy\":\"<p-2>\"}]}"
#define GATES                                                                                      \
    "{\"kind\":\"CustomFeatureGates\",\"metadata\":{\"name\":\"crontabs.example.com\"},"           \
    "\"status\":{\"summary\":{\"gates\":2,\"on\":1},\"conditions\":[{\"type\":\"Enforced\","       \
    "\"status\":\"True\",\"reason\":\"Served\"}],\"gates\":[{\"name\":\"Replicas\",\"state\":"     \
    "\"Off\",\"preRelease\":\"Alpha\",\"refused\":true}]}}"
#define SERVER                                                                                     \
    "{\"metadata\":{\"name\":\"cluster\"},\"status\":{\"summary\":{\"verdict\":\"Supported\","     \
    "\"peers\":\"1/1\",\"versions\":\"1.36\"},\"peers\":[{\"name\":\"cp-a\",\"reachable\":true,"   \
    "\"ready\":true,\"binaryVersion\":\"1.36.2\",\"verdict\":\"Supported\"}]}}"
#define ROW(cells)       "<tr role=\"row\">" cells
#define CELL(name, text) "<td role=\"cell\" data-name=\"" name "\">" text "</td>"

static const struct {
    const char *name;
    const char *control_plane, *policies[3], *gates[2];
    const char *leader, *informers, *events;
    const char *want[6]; /* parts, in this order */
    const char *absent;  /* and this is not there */
} pages[] = {
    {.name = "nothing is known",
     .want = {"<title>Unknown: version skew</title>", "The ControlPlane has no status yet."},
     .absent = "<table"},
    {.name = "no status",
     .control_plane = "{\"metadata\":{\"name\":\"cluster\"}}",
     .want = {"<title>Unknown: ", "no status yet"},
     .absent = "<table"},
    {.name = "servers and matrix",
     .control_plane = SERVER,
     .want = {"<title>Supported: version skew</title>", "id=\"matrix\"", "cp-a", "API servers",
              CELL("NAME", "cp-a")}},
    {.name = "policies by their order",
     .policies = {POLICY("b", "after c", ""), POLICY("a", "", ""), POLICY("c", "first", "")},
     .want =
         {"Admission policies<span class=\"count\">3</span>",
          ROW(CELL("ORDER", "first")) CELL(
              "POLICY",
              "c") "<td role=\"cell\" class=\"bad\" data-name=\"READY\">False</td>" CELL("REASON",
                                                                                         "Fights")
              CELL("ENFORCED BY", "Evenkeel") CELL("SCOPE", "spec") CELL("BINDINGS", "-")
                  CELL("FINDINGS", "-") CELL("FIGHTS", "1") CELL("MESSAGE", "m-c"),
          CELL("POLICY", "b"), CELL("POLICY", "a")},
     .absent = "Fights of admission policies"},
    {.name = "policies whose order is not of one moment",
     .policies = {POLICY("a", "after a", ""), POLICY("c", "after gone", ""),
                  POLICY("b", "first", "")},
     .want = {CELL("POLICY", "b"), CELL("POLICY", "a"), CELL("POLICY", "c")}},
    {.name = "fights",
     .policies = {POLICY("p-1", "first", FIGHT)},
     .want = {"Fights of admission policies<span class=\"count\">1</span>",
              ROW(CELL("POLICY", "p-1")), "/metadata/labels/a", CELL("KIND", "Pod"),
              CELL("PARTIES", "p-1, &lt;p-2&gt;")}},
    {.name = "gates",
     .gates = {GATES},
     .want = {CELL("DEFINITION", "crontabs.example.com"), ">True<", CELL("GATES", "2"),
              CELL("ON", "1"), CELL("GATE", "Replicas") CELL("STATE", "Off") CELL("STAGE", "Alpha"),
              "class=\"bad\" data-name=\"ENFORCED\">no<"}},
    {.name = "events, the replica and informers",
     .events = "[{\"time\":\"2026-01-02T03:04:05.678901Z\",\"type\":\"Warning\",\"count\":3,"
               "\"object\":\"ControlPlane cluster\",\"reason\":\"KubeletRange\",\"note\":\"<n>\"}]",
     .leader = "{\"leader\":{\"election\":true,\"identity\":\"pod_1\",\"mayWrite\":true,"
               "\"state\":\"holding\",\"holder\":\"pod_1\"}}",
     .informers = "{\"informersTotal\":300,\"informers\":[{\"controller\":\"controlplane\","
                  "\"resource\":\"nodes\",\"synced\":false,\"state\":\"BACKOFF\",\"objects\":7,"
                  "\"error\":{\"message\":\"forbidden\"}}]}",
     .want = {"Events that this replica recorded<span class=\"count\">1</span>",
              CELL("LAST", "2026-01-02T03:04:05Z") "<td role=\"cell\" class=\"warn\" "
                                                   "data-name=\"TYPE\">Warning (3)</td>" CELL(
                                                       "OBJECT", "ControlPlane cluster"),
              CELL("NOTE", "&lt;n&gt;"),
              CELL("REPLICA", "pod_1") CELL("LEADER ELECTION", "on") CELL("MAY WRITE", "true"),
              "Informers<span class=\"count\">300</span>",
              CELL("ERROR", "forbidden") "</tr>\n</tbody></table></div>\n"
                                         "<p>299 more are not shown: evenkeel debug informers "
                                         "lists 256 of them.</p>"}},
    {.name = "answers that are none",
     .leader = "{\"error\":\"x\"}",
     .informers = "[",
     .events = "{}",
     .want = {"Unknown"},
     .absent = "<table"},
    {.name = "foreign types",
     .control_plane = "{\"status\":{\"summary\":7,\"peers\":{},\"violations\":\"x\"}}",
     .policies = {"{\"metadata\":{\"name\":\"p\"},\"status\":[]}",
                  "{\"metadata\":{\"name\":\"q\"},\"status\":{\"summary\":{\"order\":1},"
                  "\"fights\":[7,{\"parties\":[{},1]}],\"conditions\":[1]}}"},
     .gates = {"{\"metadata\":{\"name\":\"g\"},\"status\":{\"gates\":[null,{}]}}"},
     .want = {CELL("POLICY", "p"), CELL("PARTIES", ""), CELL("DEFINITION", "g")}},
    {.name = "names of an enemy",
     .policies = {POLICY("<script>a</script>\\\"'\\u202e", "first", "")},
     .want = {"&lt;script&gt;a&lt;/script&gt;&quot;&#39;\\u202e"},
     .absent = "<script>a"},
};

static struct ek_ui_facts *make_facts(size_t row)
{
    struct ek_ui_facts *facts = ek_xalloc(sizeof *facts);

    facts->policies = ek_xalloc(3 * sizeof *facts->policies);
    facts->gates = ek_xalloc(2 * sizeof *facts->gates);
    if (pages[row].control_plane)
        facts->control_plane = object(pages[row].control_plane);
    for (size_t i = 0; i < 3 && pages[row].policies[i]; i++)
        facts->policies[facts->n_policies++] = object(pages[row].policies[i]);
    for (size_t i = 0; i < 2 && pages[row].gates[i]; i++)
        facts->gates[facts->n_gates++] = object(pages[row].gates[i]);
    facts->leader = pages[row].leader ? ek_xstrdup(pages[row].leader) : NULL;
    facts->informers = pages[row].informers ? ek_xstrdup(pages[row].informers) : NULL;
    facts->events = pages[row].events ? ek_xstrdup(pages[row].events) : NULL;
    return facts;
}

START_TEST(has_what_is_known)
{
    struct ek_ui_facts *facts = make_facts((size_t)_i);
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_UI_PAGE_MAX);
    ck_assert_int_eq(ek_ui_page(facts, &out), 0);
    const char *at = ek_buf_str(&out);
    for (size_t i = 0; i < EK_ARRAY_SIZE(pages[_i].want) && pages[_i].want[i]; i++) {
        const char *found = strstr(at, pages[_i].want[i]);
        ck_assert_msg(found, "%s: no %s in %.2000s", pages[_i].name, pages[_i].want[i],
                      strstr(at, "<body>") ? strstr(at, "<body>") : at);
        at = found;
    }
    ck_assert_msg(!pages[_i].absent || !strstr(ek_buf_str(&out), pages[_i].absent), "%s: has %s",
                  pages[_i].name, pages[_i].absent);
    ek_ui_facts_free(facts);
}
END_TEST

/* A page of a large cluster has the first policies, and the number of the others; long messages of
 * markup take no room from the end of the page. */
START_TEST(is_bounded)
{
    struct ek_ui_facts *facts = ek_xalloc(sizeof *facts);
    char json[8192], order[32];
    EK_AUTO(ek_buf) out;

    facts->policies = ek_xalloc(MANY * sizeof *facts->policies);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(order, sizeof order, "after p%zu", i + 1);
        int n = snprintf(json, sizeof json,
                         "{\"metadata\":{\"name\":\"p%zu\"},\"status\":{\"summary\":{\"order\":"
                         "\"%s\"},\"conditions\":[{\"type\":\"Ready\",\"message\":\"",
                         i, i == MANY - 1 ? "first" : order);
        size_t markup = _i ? 4000 : 1;
        memset(json + n, '<', markup);
        snprintf(json + (size_t)n + markup, sizeof json - (size_t)n - markup, "\"}]}}");
        facts->policies[facts->n_policies++] = object(json);
    }
    ek_buf_init(&out, EK_UI_PAGE_MAX);
    ck_assert_int_eq(ek_ui_page(facts, &out), 0);
    const char *page = ek_buf_str(&out);
    ck_assert_ptr_nonnull(strstr(page, CELL("ORDER", "first") CELL("POLICY", "p4999")));
    ck_assert_ptr_nonnull(strstr(page, "<span class=\"count\">5000</span>"));
    if (!_i)
        ck_assert_ptr_nonnull(strstr(page, "<p>4800 more are not shown: kubectl get ekps lists "
                                           "all.</p>"));
    ck_assert_ptr_nonnull(strstr(page, " more are not shown: kubectl get ekps"));
    if (!_i)
        ck_assert_ptr_nonnull(strstr(page, CELL("ORDER", "after p4801") CELL("POLICY", "p4800")));
    ck_assert_ptr_null(strstr(page, CELL("ORDER", "after p4800")));
    ck_assert_ptr_nonnull(strstr(page, "</html>"));
    ek_ui_facts_free(facts);
}
END_TEST

/* ---- The route ---- */

static struct ek_debug debug;
static struct ek_registry *registry;
static struct ek_standard_metrics standard;
static struct ek_metrics *metrics;
static struct ek_ui *ui;
static struct ek_http_route route;
static struct ek_http_conn_config config;

static void setup(void)
{
    metrics = ek_metrics_new();
    ek_standard_metrics_init(&standard, metrics);
    registry = ek_registry_new(NULL, 0, &standard, NULL);
    debug = (struct ek_debug){.version = "v", .identity = "pod_1", .registry = registry};
    ui = ek_ui_new(&debug, NULL);
    route = ek_ui_route(ui);
    config = (struct ek_http_conn_config){.routes = &route, .n_routes = 1};
    ek_http_limits_default(&config.limits);
}

static void teardown(void)
{
    ek_ui_free(ui);
    ek_registry_free(registry);
    ek_metrics_free(metrics);
}

/* The whole response, owned. */
static char *ask(const char *method)
{
    struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);
    EK_AUTOFREE char *request =
        ek_xasprintf("%s /debug/ui HTTP/1.1\r\nHost: x\r\nOrigin: https://evil\r\n\r\n", method);

    ek_http_conn_input(conn, request, strlen(request), 0);
    struct ek_str out = ek_http_conn_output(conn);
    char *text = ek_xstrndup(out.p, out.len);
    ek_http_conn_free(conn);
    return text;
}

static void collect(int64_t mono_ms, int64_t wall_ms)
{
    ek_ui_collect(ui, &(struct ek_debug_now){.mono_ms = mono_ms, .wall_ms = wall_ms});
}

START_TEST(responses)
{
    static const struct {
        const char *method;
        bool collected;
        const char *status, *has, *has_not;
    } rows[] = {
        {"GET", false, "HTTP/1.1 503 ", "Retry-After: 1\r\n", "<html"},
        {"GET", true, "HTTP/1.1 200 ", "Content-Type: text/html; charset=utf-8\r\n",
         "Access-Control"},
        {"GET", true, "HTTP/1.1 200 ", "Cache-Control: no-store\r\n", "Set-Cookie"},
        {"GET", true, "HTTP/1.1 200 ", "X-Content-Type-Options: nosniff\r\n", "evil"},
        {"GET", true, "HTTP/1.1 200 ",
         "Content-Security-Policy: default-src 'none'; style-src 'sha256-", "unsafe"},
        {"GET", true, "HTTP/1.1 200 ", "; frame-ancestors 'none'\r\n", "unsafe"},
        {"GET", true, "HTTP/1.1 200 ", "<!DOCTYPE html>", "unsafe"},
        {"HEAD", true, "HTTP/1.1 200 ", "Cache-Control: no-store\r\n", "<!DOCTYPE"},
        {"POST", true, "HTTP/1.1 405 ", "Allow: GET\r\n", "<html"},
        {"OPTIONS", true, "HTTP/1.1 405 ", "Allow: GET\r\n", "Access-Control"},
        {"DELETE", true, "HTTP/1.1 405 ", "Allow: GET\r\n", "<html"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        if (rows[i].collected)
            collect(0, 0);
        EK_AUTOFREE char *got = ask(rows[i].method);
        ck_assert_msg(!strncmp(got, rows[i].status, strlen(rows[i].status)) &&
                          strstr(got, rows[i].has) && !strstr(got, rows[i].has_not),
                      "%s (%zu): %.600s", rows[i].method, i, got);
    }
}
END_TEST

/* However often clients come, the facts are collected and the page is made once a second. */
START_TEST(is_kept_for_a_second)
{
    static const struct {
        int64_t mono_ms, wall_ms;
        const char *want;
    } rows[] = {
        {5000, 1000, "1970-01-01T00:00:01Z"}, {5000, 2000, "1970-01-01T00:00:01Z"},
        {5999, 3000, "1970-01-01T00:00:01Z"}, {6000, 4000, "1970-01-01T00:00:04Z"},
        {6999, 5000, "1970-01-01T00:00:04Z"}, {9000, 6000, "1970-01-01T00:00:06Z"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        collect(rows[i].mono_ms, rows[i].wall_ms);
        EK_AUTOFREE char *got = ask("GET");
        ck_assert_msg(strstr(got, rows[i].want), "%zu: %s", i, strstr(got, "<footer>"));
        EK_AUTOFREE char *again = ask("GET");
        ck_assert_str_eq(got, again);
    }
    collect(20000, 9000); /* facts that nobody takes are released */
    collect(30000, 9000);
}
END_TEST

int main(void)
{
    TCase *page = tcase_create("page"), *served = tcase_create("route");

    tcase_add_loop_test(page, has_what_is_known, 0, (int)EK_ARRAY_SIZE(pages));
    tcase_add_loop_test(page, is_bounded, 0, 2);
    tcase_add_checked_fixture(served, setup, teardown);
    tcase_add_test(served, responses);
    tcase_add_test(served, is_kept_for_a_second);
    return ek_test_run("ui", page, served);
}
