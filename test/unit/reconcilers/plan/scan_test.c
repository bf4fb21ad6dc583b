/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the objects of a cluster: which requests follow which answers, and the result. */
#include "reconcilers/plan/scan.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "test/support/suite.h"

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

/* An answer to requests whose text ("networking.k8s.io/v1/servicecidrs 100 token") begins so; each
 * is given once, a list without one is empty. */
struct answer {
    const char *request;
    int code;         /* EK_E_*; 0: the page is body */
    const char *body; /* of a page, or the Status of a failure */
};

#define PAGE(items, next) "{\"metadata\":{\"continue\":\"" next "\"},\"items\":[" items "]}"
#define CIDR(name)                                                                                 \
    "{\"metadata\":{\"name\":\"" name "\",\"managedFields\":[{\"manager\":\"ctl\",\"apiVersion\":" \
    "\"networking.k8s.io/v1beta1\",\"time\":\"2026-11-01T00:00:00Z\"}]}}"
#define HOOK(version)                                                                              \
    "{\"metadata\":{\"name\":\"h\"},\"webhooks\":[{\"rules\":[{\"apiGroups\":["                    \
    "\"networking.k8s.io\"],\"apiVersions\":[\"" version                                           \
    "\"],\"resources\":[\"servicecidrs\"]}]}]}"
#define POLICY                                                                                     \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":[{"          \
    "\"apiGroups\":[\"networking.k8s.io\"],\"apiVersions\":[\"v1beta1\"],\"resources\":["          \
    "\"servicecidrs\"]}]}}}"
#define CRD                                                                                        \
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"group\":\"a.example.com\",\"versions\":[{\"name\"" \
    ":\"v1\",\"served\":true,\"schema\":{\"openAPIV3Schema\":{\"x-kubernetes-validations\":[{"     \
    "\"rule\":\"self.a.nosuchfunction()\"}]}}}]},\"status\":{\"storedVersions\":[\"v0\"]}}"
#define ROLE                                                                                       \
    "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"networking.k8s.io\"],"            \
    "\"resources\":[\"servicecidrs\"],\"verbs\":[\"get\"]}]}"
#define SCALER                                                                                     \
    "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":"                 \
    "\"networking.k8s.io/v1beta1\",\"kind\":\"ServiceCIDR\",\"name\":\"a\"}}}"
#define SERVICE                                                                                    \
    "{\"metadata\":{\"name\":\"v1.resource.k8s.io\"},\"spec\":{\"group\":\"storage.k8s.io\","      \
    "\"version\":\"v1beta1\"}}"
#define OWNED                                                                                      \
    "{\"metadata\":{\"name\":\"o\",\"ownerReferences\":[{\"apiVersion\":"                          \
    "\"networking.k8s.io/v1beta1\",\"kind\":\"ServiceCIDR\",\"name\":\"a\",\"uid\":\"u\"}]}}"
#define BUNDLES "certificates.k8s.io/v1beta1/clustertrustbundles 100 "
#define CIDRS   "networking.k8s.io/v1/servicecidrs 100 "
#define HOOKS   "admissionregistration.k8s.io/v1/validatingwebhookconfigurations 100 "

#define ANSWERS_MAX 4

static const struct {
    const char *name;
    unsigned from, to;
    struct answer answers[ANSWERS_MAX];
    const char *requests; /* that are sent among others, in this order, separated by ";" */
    const char *absent;   /* part of a request that is not sent; NULL: any may be */
    uint64_t n_objects;
    const char *want;   /* "severity rule object;" of the findings */
    const char *unread; /* of each resource, separated by ";" */
    bool is_partial;
} rows[] = {
    {"nothing goes: webhooks, policies and definitions are read",
     35,
     36,
     {{0}},
     HOOKS ";apiextensions.k8s.io/v1/customresourcedefinitions 100 ",
     "roles",
     0,
     "",
     "",
     false},
    {"what goes is read in the version that stays, and its metadata alone",
     36,
     37,
     {{0}},
     CIDRS "metadata;autoscaling/v2/horizontalpodautoscalers 100 ;rbac.authorization.k8s.io/v1/"
           "clusterroles 100 ;" HOOKS,
     "v1beta1/servicecidrs",
     0,
     "",
     "",
     false},
    {"Pods and ConfigMaps are not read", 36, 37, {{0}}, "", "pods", 0, "", "", false},
    {"a client of a version that goes",
     36,
     37,
     {{CIDRS, 0, PAGE(CIDR("a"), "")}},
     CIDRS,
     NULL,
     1,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR a;",
     "",
     false},
    {"pages follow each other, and objects are counted together",
     36,
     37,
     {{CIDRS, 0, PAGE(CIDR("a") "," CIDR("b"), "T")}, {CIDRS "T ", 0, PAGE(CIDR("c"), "")}},
     CIDRS "metadata;" CIDRS "T metadata",
     NULL,
     3,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR a;",
     "",
     false},
    {"a rule of a webhook",
     36,
     37,
     {{HOOKS, 0, PAGE(HOOK("v1beta1"), "")}},
     HOOKS,
     NULL,
     1,
     "error rule-version admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration h;",
     "",
     false},
    {"a rule of a policy of evenkeel.dev",
     36,
     37,
     {{"evenkeel.dev/v1alpha1/mutatingadmissionpolicies", 0, PAGE(POLICY, "")}},
     "evenkeel.dev/v1alpha1/mutatingadmissionpolicies 100 ;"
     "evenkeel.dev/v1alpha1/mutatingadmissionpolicybindings 100 ",
     NULL,
     1,
     "error rule-version evenkeel.dev/v1alpha1 MutatingAdmissionPolicy p;",
     "",
     false},
    {"a rule with the version that stays",
     36,
     37,
     {{HOOKS, 0, PAGE(HOOK("v1"), "")}},
     HOOKS,
     NULL,
     1,
     "",
     "",
     false},
    {"a stored version, but no expression",
     36,
     37,
     {{"apiextensions.k8s.io/", 0, PAGE(CRD, "")}},
     "",
     NULL,
     1,
     "error stored-version apiextensions.k8s.io/v1 CustomResourceDefinition a;",
     "",
     false},
    {"an autoscaler",
     36,
     37,
     {{"autoscaling/v2/", 0, PAGE(SCALER, "")}},
     "",
     NULL,
     1,
     "warning scale-target autoscaling/v2 HorizontalPodAutoscaler s;",
     "",
     false},
    {"a rule of RBAC on what stays",
     36,
     37,
     {{"rbac.authorization.k8s.io/v1/roles", 0, PAGE(ROLE, "")}},
     "",
     NULL,
     1,
     "",
     "",
     false},
    {"an APIService",
     36,
     37,
     {{"apiregistration.k8s.io/", 0, PAGE(SERVICE, "")}},
     "",
     NULL,
     1,
     "warning apiservice apiregistration.k8s.io/v1 APIService v1.resource.k8s.io;",
     "",
     false},
    {"an owner of an object that is read",
     36,
     37,
     {{CIDRS, 0, PAGE(OWNED, "")}},
     "",
     NULL,
     1,
     "error owner-version networking.k8s.io/v1 ServiceCIDR o;",
     "",
     false},
    {"forbidden: named, and not tried again",
     36,
     37,
     {{CIDRS, EK_E_FORBIDDEN, NULL}},
     CIDRS "metadata;" HOOKS,
     NULL,
     0,
     "",
     "servicecidrs.networking.k8s.io: failed;",
     false},
    {"a failure that may pass",
     36,
     37,
     {{CIDRS, EK_E_IO, NULL}},
     HOOKS,
     NULL,
     0,
     "",
     "servicecidrs.networking.k8s.io: failed;",
     true},
    {"the next page fails: what was found stays",
     36,
     37,
     {{CIDRS, 0, PAGE(CIDR("a"), "T")}, {CIDRS "T ", EK_E_NOENT, NULL}},
     HOOKS,
     NULL,
     1,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR a;",
     "servicecidrs.networking.k8s.io: failed;",
     true},
    {"a resource that is not served has no objects",
     36,
     37,
     {{CIDRS, EK_E_NOENT, NULL}},
     HOOKS,
     NULL,
     0,
     "",
     "",
     false},
    {"a resource behind a gate that is off has no objects",
     36,
     37,
     {{BUNDLES, EK_E_NOENT, NULL}},
     BUNDLES "metadata;" CIDRS,
     "v1alpha1/clustertrustbundles",
     0,
     "",
     "",
     false},
    {"a resource behind a gate that may not be read: whether it is served is not known",
     36,
     37,
     {{BUNDLES, EK_E_FORBIDDEN, NULL}},
     BUNDLES "metadata;" CIDRS,
     NULL,
     0,
     "",
     "clustertrustbundles.certificates.k8s.io: failed;",
     false},
    {"the next version of a resource that is not served",
     35,
     36,
     {{"admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies ", EK_E_NOENT, NULL}},
     "admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies 100 ;"
     "admissionregistration.k8s.io/v1alpha1/mutatingadmissionpolicies 100 ",
     "admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
     0,
     "",
     "",
     false},
    {"a page that is too large is halved",
     36,
     37,
     {{CIDRS, EK_E_LIMIT, NULL}, {"networking.k8s.io/v1/servicecidrs 50", 0, PAGE(CIDR("a"), "")}},
     CIDRS "metadata;networking.k8s.io/v1/servicecidrs 50 metadata",
     NULL,
     1,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR a;",
     "",
     false},
    {"an object that is too large",
     36,
     37,
     {{"networking.k8s.io/v1/servicecidrs ", EK_E_LIMIT, (const char *)"always"}},
     "networking.k8s.io/v1/servicecidrs 1 metadata;" HOOKS,
     NULL,
     0,
     "",
     "servicecidrs.networking.k8s.io: failed;",
     false},
    {"a list that expired goes on behind the same object",
     36,
     37,
     {{CIDRS, 0, PAGE(CIDR("a"), "T")},
      {CIDRS "T ", EK_E_GONE, "{\"metadata\":{\"continue\":\"U\"}}"},
      {CIDRS "U ", 0, PAGE(CIDR("b"), "")}},
     CIDRS "metadata;" CIDRS "T metadata;" CIDRS "U metadata",
     NULL,
     2,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR a;",
     "",
     false},
    {"twice expired",
     36,
     37,
     {{CIDRS, 0, PAGE(CIDR("a"), "T")},
      {CIDRS "T ", EK_E_GONE, "{\"metadata\":{\"continue\":\"U\"}}"},
      {CIDRS "U ", EK_E_GONE, "{\"metadata\":{\"continue\":\"V\"}}"}},
     HOOKS,
     "V",
     1,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR a;",
     "servicecidrs.networking.k8s.io: failed;",
     true},
    {"no list",
     36,
     37,
     {{CIDRS, 0, "{\"items\":7}"}},
     HOOKS,
     NULL,
     0,
     "",
     "servicecidrs.networking.k8s.io: the response is no list;",
     false},
    {"no version stays",
     35,
     40,
     {{0}},
     "",
     ".k8s.io/v1beta1/mutatingadmissionpolicies",
     0,
     "",
     "mutatingadmissionpolicies.admissionregistration.k8s.io: no version stays from the first step "
     "to the target;mutatingadmissionpolicybindings.admissionregistration.k8s.io: no version stays "
     "from the first step to the target;",
     false},
};

static const char *answer_of(const struct answer *answers, bool *given, const char *request,
                             int *ret_code)
{
    *ret_code = 0;
    for (size_t i = 0; i < ANSWERS_MAX; i++) {
        if (!answers[i].request || given[i] ||
            strncmp(answers[i].request, request, strlen(answers[i].request)) != 0)
            continue;
        given[i] = !answers[i].body || strcmp(answers[i].body, "always") != 0;
        *ret_code = answers[i].code;
        return answers[i].body && given[i] ? answers[i].body : "{}";
    }
    return PAGE("", "");
}

/* Reads to the end; appends the requests to out, each with a newline. */
static void run(struct ek_plan_scan *scan, const struct answer *answers, struct ek_buf *out)
{
    struct ek_plan_scan_request r;
    bool given[ANSWERS_MAX] = {0};

    for (int n = 0; ek_plan_scan_next(scan, &r); n++) {
        int code;
        char *request = ek_xasprintf("%s/%s/%s %u %s%s%s", r.group, r.version, r.resource, r.limit,
                                     r.next, *r.next ? " " : "", r.metadata ? "metadata" : "");
        const char *body = answer_of(answers, given, request, &code);
        struct ek_err err = {.code = code, .message = "failed"};
        yyjson_doc *doc = ek_json_parse(body, strlen(body), NULL);
        ck_assert_ptr_nonnull(doc);
        ck_assert_int_lt(n, 200);
        ek_plan_scan_heard(
            scan, &(struct ek_plan_scan_page){.list = code ? NULL : yyjson_doc_get_root(doc),
                                              .err = &err,
                                              .status = code ? yyjson_doc_get_root(doc) : NULL});
        yyjson_doc_free(doc);
        ek_buf_printf(out, "%s\n", request);
        ek_free(request);
    }
}

static void check_requests(const char *row, const char *want, const char *got)
{
    char *list = ek_xstrdup(want), *rest = NULL;

    for (char *one = strtok_r(list, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        const char *at = strstr(got, one);
        ck_assert_msg(at != NULL, "%s: \"%s\" is not among\n%s", row, one, got);
        got = at + 1;
    }
    ek_free(list);
}

START_TEST(readings)
{
    const char *row = rows[_i].name;
    const struct ek_plan_target target = {&data, EK_MINOR(1, rows[_i].from),
                                          EK_MINOR(1, rows[_i].to)};
    struct ek_plan_scan *scan = ek_plan_scan_new(&target, NULL);
    EK_AUTO(ek_buf) requests;
    EK_AUTO(ek_buf) found;
    EK_AUTO(ek_buf) unread;

    ek_buf_init(&requests, (size_t)1 << 20);
    ek_buf_init(&found, (size_t)1 << 20);
    ek_buf_init(&unread, (size_t)1 << 20);
    run(scan, rows[_i].answers, &requests);
    struct ek_plan_seen *seen = ek_plan_scan_result(scan, 77);
    ek_plan_scan_free(scan);
    for (size_t i = 0; i < seen->report.n; i++)
        ek_buf_printf(&found, "%s %s %s;", ek_plan_severity_name(seen->report.list[i].severity),
                      seen->report.list[i].rule, seen->report.list[i].object);
    for (size_t i = 0; i < seen->n_unread; i++)
        ek_buf_printf(&unread, "%s;", seen->unread[i]);
    check_requests(row, rows[_i].requests, ek_buf_str(&requests));
    ck_assert_msg(!rows[_i].absent || !strstr(ek_buf_str(&requests), rows[_i].absent), "%s: %s",
                  row, ek_buf_str(&requests));
    ck_assert_msg(seen->n_objects == rows[_i].n_objects, "%s: %d objects", row,
                  (int)seen->n_objects);
    ck_assert_msg(!strcmp(ek_buf_str(&found), rows[_i].want), "%s: %s", row, ek_buf_str(&found));
    ck_assert_msg(!strcmp(ek_buf_str(&unread), rows[_i].unread), "%s: %s", row,
                  ek_buf_str(&unread));
    ck_assert_msg(seen->is_partial == rows[_i].is_partial, "%s", row);
    ck_assert_int_eq(seen->at_ms, 77);
    ck_assert(ek_minor_cmp(seen->to, target.to) == 0);
    ek_plan_seen_free(seen);
}
END_TEST

/* Whoever may create objects decides how many findings there are: an error is not lost behind
 * them, and the others are counted. */
START_TEST(many_findings)
{
    const struct ek_plan_target target = {&data, EK_MINOR(1, 36), EK_MINOR(1, 37)};
    struct ek_plan_scan *scan = ek_plan_scan_new(&target, NULL);
    EK_AUTO(ek_buf) page;
    EK_AUTO(ek_buf) requests;

    ek_buf_init(&page, (size_t)1 << 20);
    ek_buf_init(&requests, (size_t)1 << 20);
    ek_buf_puts(&page, "{\"items\":[");
    for (int i = 0; i < 90; i++)
        ek_buf_printf(&page, "%s%s", i ? "," : "", HOOK("v1beta1"));
    ek_buf_puts(&page, "]}");
    const struct answer answers[ANSWERS_MAX] = {{HOOKS, 0, ek_buf_str(&page)}};
    run(scan, answers, &requests);
    struct ek_plan_seen *seen = ek_plan_scan_result(scan, 0);
    ck_assert_uint_eq(seen->report.n, EK_PLAN_SCAN_FINDINGS_MAX);
    ck_assert_uint_eq(seen->n_more, 90 - EK_PLAN_SCAN_FINDINGS_MAX);
    ck_assert_uint_eq(seen->n_objects, 90);
    ek_plan_seen_free(seen);
    ek_plan_scan_free(scan);
}
END_TEST

/* What a list had in the reading before stays when the list cannot be read; what another list had
 * does not, and nothing after a reading that could. */
START_TEST(findings_of_a_list_that_fails)
{
    static const struct {
        unsigned from; /* of the second reading */
        struct answer answers[ANSWERS_MAX];
        const char *want;
    } after[] = {
        {36, {{HOOKS, EK_E_FORBIDDEN, NULL}}, "rule-version ValidatingWebhookConfiguration;"},
        {36, {{HOOKS, EK_E_IO, NULL}}, "rule-version ValidatingWebhookConfiguration;"},
        {36, {{CIDRS, EK_E_FORBIDDEN, NULL}}, "api-written ServiceCIDR;"},
        {36, {{"autoscaling/v2/", EK_E_FORBIDDEN, NULL}}, ""},
        {36, {{HOOKS, 0, PAGE("", "")}}, ""},
        {36,
         {{HOOKS, 0, PAGE(HOOK("v1beta1"), "T")}, {HOOKS "T ", EK_E_IO, NULL}},
         "rule-version ValidatingWebhookConfiguration;"},
        {35, {{HOOKS, EK_E_FORBIDDEN, NULL}}, ""},
    };
    const struct answer before[ANSWERS_MAX] = {{HOOKS, 0, PAGE(HOOK("v1beta1"), "")},
                                               {CIDRS, 0, PAGE(CIDR("a"), "")}};
    const struct ek_plan_target first = {&data, EK_MINOR(1, 36), EK_MINOR(1, 37)};
    const struct ek_plan_target target = {&data, EK_MINOR(1, after[_i].from), EK_MINOR(1, 37)};
    struct ek_plan_seen *seen[3] = {NULL};
    EK_AUTO(ek_buf) requests;
    EK_AUTO(ek_buf) found;

    ek_buf_init(&requests, (size_t)1 << 20);
    ek_buf_init(&found, (size_t)1 << 20);
    for (int n = 0; n < 3; n++) { /* the third: it goes on like that */
        struct ek_plan_scan *scan = ek_plan_scan_new(n ? &target : &first, n ? seen[n - 1] : NULL);
        run(scan, n ? after[_i].answers : before, &requests);
        seen[n] = ek_plan_scan_result(scan, n);
        ek_plan_scan_free(scan);
    }
    for (size_t i = 0; i < seen[2]->report.n; i++)
        ek_buf_printf(&found, "%s %.*s;", seen[2]->report.list[i].rule,
                      (int)strcspn(strchr(seen[2]->report.list[i].object, ' ') + 1, " "),
                      strchr(seen[2]->report.list[i].object, ' ') + 1);
    ck_assert_uint_eq(seen[0]->report.n, 2);
    ck_assert_msg(!strcmp(ek_buf_str(&found), after[_i].want), "%d: %s", _i, ek_buf_str(&found));
    for (int n = 0; n < 3; n++)
        ek_plan_seen_free(seen[n]);
}
END_TEST

/* A list without an end is left after so many pages. */
START_TEST(many_pages)
{
    const struct ek_plan_target target = {&data, EK_MINOR(1, 36), EK_MINOR(1, 37)};
    struct ek_plan_scan *scan = ek_plan_scan_new(&target, NULL);
    yyjson_doc *doc = ek_json_parse(PAGE("", "T"), strlen(PAGE("", "T")), NULL);
    struct ek_plan_scan_request r;
    size_t n = 0, n_lists = 0;

    for (; ek_plan_scan_next(scan, &r); n++) {
        n_lists += !*r.next;
        ck_assert_uint_lt(n, (size_t)64 * EK_PLAN_SCAN_PAGES_MAX);
        ek_plan_scan_heard(scan, &(struct ek_plan_scan_page){.list = yyjson_doc_get_root(doc)});
    }
    struct ek_plan_seen *seen = ek_plan_scan_result(scan, 0);
    ck_assert_uint_eq(n, n_lists * EK_PLAN_SCAN_PAGES_MAX);
    ck_assert_uint_eq(seen->n_unread, n_lists);
    ek_plan_seen_free(seen);
    ek_plan_scan_free(scan);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("scan");

    tcase_add_unchecked_fixture(tc, open_data, close_data);
    tcase_add_loop_test(tc, readings, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, many_findings);
    tcase_add_test(tc, many_pages);
    tcase_add_loop_test(tc, findings_of_a_list_that_fails, 0, 7);
    return ek_test_run("scan", tc);
}
