/* SPDX-License-Identifier: Apache-2.0 */
/* Audit logs: who calls what goes, rows of lines and findings. */
#include "reconcilers/plan/audit.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "test/support/suite.h"

#define OUT_MAX ((size_t)1 << 20)

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

#define HEAD "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":\"a\","
#define CALL(stage, verb, user, agent, group, version, resource, second)                           \
    HEAD "\"stage\":\"" stage "\",\"verb\":\"" verb "\",\"user\":{\"username\":\"" user            \
         "\"},\"userAgent\":\"" agent "\",\"objectRef\":{\"apiGroup\":\"" group                    \
         "\",\"apiVersion\":\"" version "\",\"resource\":\"" resource                              \
         "\"},\"stageTimestamp\":\"2026-11-01T00:00:" second ".123456Z\"}\n"
#define CIDR(verb, user, second)                                                                   \
    CALL("ResponseComplete", verb, user, "ctl/1", "networking.k8s.io", "v1beta1", "servicecidrs",  \
         second)
#define ANSWERED(verb, code)                                                                       \
    HEAD "\"stage\":\"ResponseComplete\",\"verb\":\"" verb "\",\"user\":{\"username\":\"u\"},"     \
         "\"objectRef\":{\"apiGroup\":\"networking.k8s.io\",\"apiVersion\":\"v1beta1\","           \
         "\"resource\":"                                                                           \
         "\"servicecidrs\"},\"responseStatus\":{\"code\":" code "}}\n"
#define SAID "error api-called networking.k8s.io/v1beta1 servicecidrs: "
#define GOES " called the API version, which is removed in 1.37, "
#define USE  " -> have the client use networking.k8s.io/v1\n"

static const struct {
    const char *name, *log;
    unsigned from, to; /* from: 0 for none */
    const char *want;  /* "severity rule object: message -> remedy" lines; what does not end in a
                          line feed may be followed by more */
    uint64_t events, unread;
} rows[] = {
    {"a call of a version that goes", CIDR("list", "u", "07"), 36, 37,
     SAID "u with ctl/1" GOES "1 time (list), the last at 2026-11-01T00:00:07Z" USE, 1, 0},
    {"calls of one client together, the newest time, each verb once",
     CIDR("list", "u", "09") CIDR("create", "u", "08") CIDR("list", "u", "07"), 36, 37,
     SAID "u with ctl/1" GOES "3 times (list, create), the last at 2026-11-01T00:00:09Z" USE, 3, 0},
    {"clients apart, the most frequent one first",
     CIDR("get", "a", "01") CIDR("get", "b", "02") CIDR("get", "b", "03"), 36, 37,
     SAID "b with ctl/1" GOES "2 times (get), the last at 2026-11-01T00:00:03Z" USE SAID
          "a with ctl/1" GOES "1 time (get), the last at 2026-11-01T00:00:01Z" USE,
     3, 0},
    {"the stages of a request are one call",
     CALL("RequestReceived", "watch", "u", "w", "networking.k8s.io", "v1beta1", "servicecidrs",
          "01") CALL("ResponseStarted", "watch", "u", "w", "networking.k8s.io", "v1beta1",
                     "servicecidrs", "02")
         CALL("ResponseComplete", "watch", "u", "w", "networking.k8s.io", "v1beta1", "servicecidrs",
              "03"),
     36, 37, SAID "u with w" GOES "1 time (watch), the last at 2026-11-01T00:00:03Z" USE, 3, 0},
    {"a watch that goes on",
     CALL("ResponseStarted", "watch", "u", "", "networking.k8s.io", "v1beta1", "servicecidrs",
          "02"),
     36, 37, SAID "u" GOES "1 time (watch), ", 1, 0},
    {"a version that stays",
     CALL("ResponseComplete", "list", "u", "c", "networking.k8s.io", "v1", "servicecidrs", "01"),
     36, 37, "", 1, 0},
    {"another resource of the version that goes",
     CALL("ResponseComplete", "list", "u", "c", "networking.k8s.io", "v1beta1", "others", "01"), 36,
     37, "", 1, 0},
    {"the way back: a version that came since",
     CALL("ResponseComplete", "list", "u", "c", "networking.k8s.io", "v1", "servicecidrs", "01"),
     33, 32,
     "error api-called networking.k8s.io/v1 servicecidrs: u with c called the API version, which "
     "is new in 1.33, 1 time (list), the last at 2026-11-01T00:00:01Z -> have the client use a "
     "version that the target serves\n",
     1, 0},
    {"a version that goes later", CIDR("list", "u", "07"), 34, 36, "", 1, 0},
    {"a version that becomes deprecated", CIDR("list", "u", "07"), 33, 34,
     "warning api-called networking.k8s.io/v1beta1 servicecidrs: u with ctl/1 called the API "
     "version, which is deprecated in 1.34, 1 time (list), ",
     1, 0},
    {"a version that went before",
     CALL("ResponseComplete", "list", "u", "c", "autoscaling", "v2beta2",
          "horizontalpodautoscalers", "01"),
     33, 36, "", 1, 0},
    {"the same without a first version",
     CALL("ResponseComplete", "list", "u", "c", "autoscaling", "v2beta2",
          "horizontalpodautoscalers", "01"),
     0, 36,
     "error api-called autoscaling/v2beta2 horizontalpodautoscalers: u with c called the API "
     "version, which is removed in 1.26, 1 time (list), the last at 2026-11-01T00:00:01Z -> have "
     "the client use autoscaling/v2\n",
     1, 0},
    {"a kind without a replacement, by the name of its resource",
     CALL("ResponseComplete", "list", "u", "c", "policy", "v1beta1", "podsecuritypolicies", "01"),
     0, 36, "error api-called policy/v1beta1 podsecuritypolicies: u with c", 1, 0},
    {"the core group",
     HEAD "\"stage\":\"Panic\",\"user\":{\"username\":\"u\"},\"objectRef\":{\"apiVersion\":\"v1\","
          "\"resource\":\"endpoints\"}}\n",
     32, 33,
     "warning api-called v1 endpoints: u called the API version, which is deprecated in 1.33, 1 "
     "time, the last at a time unknown -> have the client use discovery.k8s.io/v1\n",
     1, 0},
    {"impersonation",
     HEAD "\"stage\":\"ResponseComplete\",\"user\":{\"username\":\"admin\"},\"impersonatedUser\":"
          "{\"username\":\"web\"},\"objectRef\":{\"apiGroup\":\"networking.k8s.io\","
          "\"apiVersion\":\"v1beta1\",\"resource\":\"servicecidrs\"},"
          "\"requestReceivedTimestamp\":\"2026-11-01T00:00:05Z\"}",
     36, 37, SAID "admin as web" GOES "1 time, the last at 2026-11-01T00:00:05Z" USE, 1, 0},
    {"names are cleaned", CIDR("x", "\\u001b[2Ju\\n", "07"), 36, 37,
     SAID "?[2Ju? with ctl/1" GOES "1 time, the last at ", 1, 0},
    {"a version that the server does not serve", ANSWERED("list", "404"), 36, 37, "", 1, 0},
    {"an object that does not exist", ANSWERED("get", "404"), 36, 37, SAID "u" GOES "1 time (get)",
     1, 0},
    {"a client that is not allowed to", ANSWERED("list", "403"), 36, 37,
     SAID "u" GOES "1 time (list)", 1, 0},
    {"requests without a response",
     CALL("RequestReceived", "list", "u", "c", "networking.k8s.io", "v1beta1", "servicecidrs",
          "01"),
     36, 37, "unknown audit-unread : the audit logs have no Event of a response -> ", 1, 0},
    {"no resource", HEAD "\"stage\":\"ResponseComplete\",\"requestURI\":\"/healthz\"}\n", 36, 37,
     "", 1, 0},
    {"a list of Events",
     "{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"items\":[{\"auditID\":\"a\","
     "\"stage\":\"ResponseComplete\",\"verb\":\"get\",\"user\":{\"username\":\"u\"},"
     "\"objectRef\":{\"apiGroup\":\"networking.k8s.io\",\"apiVersion\":\"v1beta1\","
     "\"resource\":\"servicecidrs\"}}]}\n",
     36, 37, SAID "u" GOES "1 time (get), ", 1, 0},
    {"a list with an item that is none",
     "{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"items\":[7]}\n", 36, 37,
     "unknown audit-unread : 1 of 1 lines of the audit logs are no Event of audit.k8s.io/v1, or "
     "longer than 4 MiB -> ",
     0, 1},
    {"an empty log", "", 36, 37,
     "unknown audit-unread : the audit logs have no Event of a response -> ", 0, 0},
    {"blank lines", "\n \r\n\t\n" CIDR("list", "u", "07") "\n", 36, 37,
     SAID "u with ctl/1" GOES "1 time (list), ", 1, 0},
    {"lines that are no Event",
     "{\n" CIDR("list", "u", "07") "[]\n{\"kind\":\"Event\",\"apiVersion\":\"v1\"}\n" HEAD
                                   "\"stage\":7}\n",
     36, 37,
     SAID "u with ctl/1" GOES "1 time (list), the last at 2026-11-01T00:00:07Z" USE
          "unknown audit-unread : 4 of 5 lines",
     1, 4},
    {"a line that was cut in the middle", "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s", 36, 37,
     "unknown audit-unread : 1 of 1 lines", 0, 1},
};

/* Reads the log in parts of size octets (0: at once), and appends the findings to out. */
static void read_log(const char *log, struct ek_plan_audit *audit, size_t size, struct ek_buf *out)
{
    struct ek_plan_report report = {.arena = ek_arena_new(OUT_MAX)};
    size_t len = strlen(log);

    ek_plan_audit_begin(audit, "a.log");
    for (size_t at = 0, n; at < len; at += n) {
        n = size && size < len - at ? size : len - at;
        ek_plan_audit_octets(audit, log + at, n);
    }
    ek_plan_audit_end(audit);
    ek_plan_audit_report(audit, &report);
    for (size_t i = 0; i < report.n; i++)
        ek_buf_printf(out, "%s %s %s: %s -> %s\n", ek_plan_severity_name(report.list[i].severity),
                      report.list[i].rule, report.list[i].object, report.list[i].message,
                      report.list[i].remedy);
    ek_arena_free(report.arena);
}

static struct ek_plan_target target_of(unsigned from, unsigned to)
{
    return (struct ek_plan_target){&data, from ? EK_MINOR(1, from) : EK_MINOR_UNKNOWN,
                                   EK_MINOR(1, to)};
}

START_TEST(logs)
{
    static const size_t sizes[] = {0, 1, 100};
    const struct ek_plan_target target = target_of(rows[_i].from, rows[_i].to);
    size_t len = strlen(rows[_i].want);
    bool whole = !len || rows[_i].want[len - 1] == '\n';

    for (size_t i = 0; i < EK_ARRAY_SIZE(sizes); i++) {
        EK_AUTO(ek_plan_audit) audit;
        EK_AUTO(ek_buf) got;
        ek_buf_init(&got, OUT_MAX);
        ek_plan_audit_init(&audit, &target);
        read_log(rows[_i].log, &audit, sizes[i], &got);
        ck_assert_msg(!strncmp(ek_buf_str(&got), rows[_i].want, len) && (!whole || got.len == len),
                      "%s: expected\n%s\ngot\n%s", rows[_i].name, rows[_i].want, ek_buf_str(&got));
        ck_assert_msg(audit.n_events == rows[_i].events && audit.n_unread == rows[_i].unread,
                      "%s: %d events, %d unread", rows[_i].name, (int)audit.n_events,
                      (int)audit.n_unread);
    }
}
END_TEST

/* Whoever calls the API server chooses the user agent. */
START_TEST(many_clients)
{
    const struct ek_plan_target target = target_of(36, 37);
    EK_AUTO(ek_plan_audit) audit;
    EK_AUTO(ek_buf) got;
    struct ek_plan_report report = {.arena = ek_arena_new(OUT_MAX)};

    ek_buf_init(&got, OUT_MAX);
    ek_plan_audit_init(&audit, &target);
    ek_plan_audit_begin(&audit, "a.log");
    for (int i = 0; i < 1000; i++) {
        EK_AUTOFREE char *line = ek_xasprintf(
            HEAD "\"stage\":\"ResponseComplete\",\"verb\":\"get\",\"user\":{\"username\":\"u%d\"},"
                 "\"objectRef\":{\"apiGroup\":\"networking.k8s.io\",\"apiVersion\":\"v1beta1\","
                 "\"resource\":\"servicecidrs\"}}\n",
            i);
        ek_plan_audit_octets(&audit, line, strlen(line));
    }
    read_log(CALL("ResponseComplete", "get", "x", "y", "networking.k8s.io", "v1beta1",
                  "ipaddresses", "01"),
             &audit, 0, &got);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&got), "further clients, which are not listed," GOES
                                                   "936 times (get), "));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&got), "ipaddresses: x with y")); /* has its own room */
    ek_plan_audit_report(&audit, &report);
    ck_assert_uint_eq(report.n, EK_PLAN_AUDIT_CLIENTS_MAX + 2);
    ek_arena_free(report.arena);
}
END_TEST

START_TEST(a_long_line_is_left_out)
{
    const struct ek_plan_target target = target_of(36, 37);
    EK_AUTO(ek_plan_audit) audit;
    EK_AUTO(ek_buf) got;
    char chunk[1 << 16];

    memset(chunk, 'x', sizeof chunk);
    ek_buf_init(&got, OUT_MAX);
    ek_plan_audit_init(&audit, &target);
    ek_plan_audit_begin(&audit, "first.log");
    for (size_t n = 0; n <= EK_PLAN_AUDIT_LINE_MAX; n += sizeof chunk)
        ek_plan_audit_octets(&audit, chunk, sizeof chunk);
    ck_assert_uint_le(audit.line.len, EK_PLAN_AUDIT_LINE_MAX);
    ek_plan_audit_octets(&audit, "\n", 1);
    read_log(CIDR("get", "u", "01"), &audit, 0, &got);
    ck_assert_uint_eq(audit.n_unread, 1);
    ck_assert_uint_eq(audit.n_events, 1);
    ck_assert_str_eq(audit.unread_in, "first.log");
    ck_assert_uint_eq(audit.unread_at, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("audit");

    tcase_add_unchecked_fixture(tc, open_data, close_data);
    tcase_add_loop_test(tc, logs, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, many_clients);
    tcase_add_test(tc, a_long_line_is_left_out);
    return ek_test_run("audit", tc);
}
