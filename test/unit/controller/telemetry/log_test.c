/* SPDX-License-Identifier: Apache-2.0 */
/* Logging: the exact lines of both encoders, escaping, levels, limits, stuck readers. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "controller/telemetry/log.h"
#include "test/support/suite.h"

static int64_t now_ns;
static int pipe_fds[2];
static char line[128 * 1024];

static int64_t test_now(void *ctx)
{
    (void)ctx;
    return now_ns;
}

static void setup(void)
{
    now_ns = 1763636289123456789; /* 2025-11-20T10:58:09.123456789Z */
    ck_assert_int_eq(pipe2(pipe_fds, O_NONBLOCK), 0);
    fcntl(pipe_fds[1], F_SETPIPE_SZ, 1024 * 1024);
}

static void teardown(void)
{
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static struct ek_log *log_of(enum ek_log_encoder encoder, enum ek_log_time encoding, int level)
{
    struct ek_log_config config = {.encoder = encoder,
                                   .time_encoding = encoding,
                                   .level = level,
                                   .fd = pipe_fds[1],
                                   .now_ns = test_now};
    return ek_log_new(&config);
}

static const char *taken(void)
{
    ssize_t n = read(pipe_fds[0], line, sizeof line - 1);
    line[n > 0 ? n : 0] = '\0';
    return line;
}

START_TEST(encoders)
{
    static const struct {
        const char *name;
        enum ek_log_encoder encoder;
        enum ek_log_time time;
        const char *expected;
    } rows[] = {
        {"json", EK_LOG_JSON, EK_LOG_TIME_RFC3339,
         "{\"level\":\"info\",\"ts\":\"2025-11-20T10:58:09Z\","
         "\"msg\":\"Probed\",\"n\":-3,\"u\":18446744073709551615,\"f\":1.5,"
         "\"ok\":true,\"took\":0.25,\"none\":null}\n"},
        {"console", EK_LOG_CONSOLE, EK_LOG_TIME_RFC3339,
         "2025-11-20T10:58:09Z\tINFO\tProbed\t{\"n\": -3, "
         "\"u\": 18446744073709551615, \"f\": 1.5, \"ok\": true, \"took\": 0.25, "
         "\"none\": null}\n"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_log *log = log_of(rows[i].encoder, rows[i].time, EK_LOG_LEVEL_INFO);
        ek_log_info(log, "Probed", EK_I("n", -3), EK_U("u", UINT64_MAX), EK_F("f", 1.5),
                    EK_B("ok", true), EK_MS("took", 250), EK_S("none", NULL));
        ck_assert_msg(!strcmp(taken(), rows[i].expected), "%s: %s", rows[i].name, line);
        ek_log_free(log);
    }
}
END_TEST

START_TEST(bare_records)
{
    struct ek_log *json = log_of(EK_LOG_JSON, EK_LOG_TIME_RFC3339, 0);
    struct ek_log *console = log_of(EK_LOG_CONSOLE, EK_LOG_TIME_RFC3339, 0);

    ek_log_info(json, "Hello");
    ck_assert_str_eq(taken(),
                     "{\"level\":\"info\",\"ts\":\"2025-11-20T10:58:09Z\",\"msg\":\"Hello\"}\n");
    ek_log_info(console, "Hello");
    ck_assert_str_eq(taken(), "2025-11-20T10:58:09Z\tINFO\tHello\n");
    ek_log_info(NULL, "Nobody hears");
    ck_assert_str_eq(taken(), "");
    ek_log_free(json);
    ek_log_free(console);
}
END_TEST

START_TEST(times)
{
    static const struct {
        const char *flag;
        const char *expected;
    } rows[] = {
        {"rfc3339", "\"ts\":\"2025-11-20T10:58:09Z\","},
        {"rfc3339nano", "\"ts\":\"2025-11-20T10:58:09.123456789Z\","},
        {"ISO8601", "\"ts\":\"2025-11-20T10:58:09.123Z\","},
        {"epoch", "\"ts\":1763636289.123456,"},
        {"millis", "\"ts\":1763636289123.456789,"},
        {"nano", "\"ts\":1763636289123456789,"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        enum ek_log_time encoding = EK_LOG_TIME_MAX;
        ck_assert_int_eq(ek_log_time_parse(rows[i].flag, &encoding, NULL), 0);
        struct ek_log *log = log_of(EK_LOG_JSON, encoding, 0);
        ek_log_info(log, "x");
        ck_assert_msg(strstr(taken(), rows[i].expected) != NULL, "%s: %s", rows[i].flag, line);
        ek_log_free(log);
    }
}
END_TEST

START_TEST(escaping)
{
    static const struct {
        const char *name;
        const char *value;
        const char *expected;
    } rows[] = {
        {"quotes", "a\"b\\c", "\"a\\\"b\\\\c\""},
        {"new line forges no record", "x\n{\"level\":\"info\"}",
         "\"x\\n{\\\"level\\\":\\\"info\\\"}\""},
        {"terminal escape", "\x1b[31mred\x7f", "\"\\u001b[31mred\\u007f\""},
        {"C1 control",
         "\xc2\x9b"
         "31m",
         "\"\\u009b31m\""},
        {"right-to-left override", "\xe2\x80\xae", "\"\\u202e\""},
        {"UTF-8 stays", "gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x9a\xa2",
         "\"gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x9a\xa2\""},
        {"broken UTF-8", "a\xff\xc3", "\"a\\ufffd\\ufffd\""},
        {"overlong", "\xc0\xaf", "\"\\ufffd\\ufffd\""},
        {"surrogate", "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"tab and return", "\t\r", "\"\\t\\r\""},
        {"empty", "", "\"\""},
    };
    char expected[256];

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_log *log = log_of(EK_LOG_JSON, EK_LOG_TIME_RFC3339, 0);
        ek_log_info(log, "x", EK_S("v", rows[i].value));
        snprintf(expected, sizeof expected, "\"v\":%s}\n", rows[i].expected);
        ck_assert_msg(strstr(taken(), expected) != NULL, "%s: %s", rows[i].name, line);
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        ck_assert_msg(doc != NULL, "%s: not JSON: %s", rows[i].name, line);
        yyjson_doc_free(doc);
        ek_log_free(log);
    }
}
END_TEST

START_TEST(levels)
{
    static const struct {
        const char *flag;
        bool error, info, debug, v2;
    } rows[] = {
        {"panic", false, false, false, false}, {"error", true, false, false, false},
        {"info", true, true, false, false},    {"DEBUG", true, true, true, false},
        {"1", true, true, true, false},        {"2", true, true, true, true},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_log *log = log_of(EK_LOG_JSON, EK_LOG_TIME_RFC3339, 0);
        int level = 99;
        ck_assert_int_eq(ek_log_level_parse(rows[i].flag, &level, NULL), 0);
        ek_log_set_level(log, level);
        ck_assert_msg(ek_log_enabled(log, EK_LOG_LEVEL_ERROR) == rows[i].error, "%s", rows[i].flag);
        ck_assert_msg(ek_log_enabled(log, 0) == rows[i].info, "%s", rows[i].flag);
        ck_assert_msg(ek_log_enabled(log, 1) == rows[i].debug, "%s", rows[i].flag);
        ck_assert_msg(ek_log_enabled(log, 2) == rows[i].v2, "%s", rows[i].flag);
        ek_log_debug(log, "Detail");
        ck_assert_msg((*taken() != '\0') == rows[i].debug, "%s: %s", rows[i].flag, line);
        ek_log_free(log);
    }
}
END_TEST

START_TEST(bad_flags)
{
    static const char *const bad_levels[] = {
        "", "0", "-1", "2x", "warn", "128", "99999999999999999999"};
    struct ek_err err;
    int level = 7;
    enum ek_log_encoder encoder;
    enum ek_log_time encoding;

    for (size_t i = 0; i < EK_ARRAY_SIZE(bad_levels); i++)
        ck_assert_msg(ek_log_level_parse(bad_levels[i], &level, &err) == EK_E_INVAL && level == 7 &&
                          strstr(err.message, "panic"),
                      "%s", bad_levels[i]);
    ck_assert_int_eq(ek_log_encoder_parse("xml", &encoder, &err), EK_E_INVAL);
    ck_assert_str_eq(err.message, "invalid log encoder \"xml\": use json or console");
    ck_assert_int_eq(ek_log_time_parse("unix", &encoding, &err), EK_E_INVAL);
    ck_assert_int_eq(ek_log_stacktrace_parse("error", &err), 0);
    ck_assert_int_eq(ek_log_stacktrace_parse("verbose", &err), EK_E_INVAL);
}
END_TEST

START_TEST(errors_come_before_the_fields)
{
    struct ek_err err;
    struct ek_log *log = log_of(EK_LOG_JSON, EK_LOG_TIME_RFC3339, 0);

    ek_err_set(&err, EK_E_TIMEOUT, "no answer from %s", "a:6443");
    ek_log_error(log, &err, "Reconciler error", EK_I("retries", 2));
    ck_assert_str_eq(taken(), "{\"level\":\"error\",\"ts\":\"2025-11-20T10:58:09Z\","
                              "\"msg\":\"Reconciler error\",\"error\":\"no answer from a:6443\","
                              "\"retries\":2}\n");
    ek_log_free(log);
}
END_TEST

START_TEST(long_values_are_cut)
{
    struct ek_log *log = log_of(EK_LOG_JSON, EK_LOG_TIME_RFC3339, 0);
    char *huge = ek_xalloc(100000);

    memset(huge, 'a', 99999);
    ek_log_info(log, "x", EK_S("v", huge));
    ck_assert_uint_lt(strlen(taken()), 5000);
    ck_assert_ptr_nonnull(strstr(line, "aaa...\"}\n"));
    memset(huge, 1, 99999); /* each byte becomes six */
    ek_log_info(log, "x", EK_S("a", huge), EK_S("b", huge), EK_S("c", huge));
    ck_assert_ptr_nonnull(strstr(taken(), "\"truncated\":true}\n"));
    yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
    ck_assert_ptr_nonnull(doc);
    yyjson_doc_free(doc);
    ek_free(huge);
    ek_log_free(log);
}
END_TEST

static void remote_trouble(struct ek_log *log)
{
    ek_log_info_limited(log, 2, 1000, "Trouble", EK_S("peer", "x"));
}

START_TEST(rate_limit)
{
    struct ek_log *log = log_of(EK_LOG_JSON, EK_LOG_TIME_NANO, 0);

    for (int i = 0; i < 10; i++)
        remote_trouble(log);
    int lines = 0;
    for (const char *p = taken(); (p = strstr(p, "Trouble")); p++)
        lines++;
    ck_assert_int_eq(lines, 2);
    now_ns += 1000000000;
    remote_trouble(log);
    ck_assert_ptr_nonnull(strstr(taken(), "\"suppressed\":8,\"peer\":\"x\""));
    now_ns -= 5000000000; /* the wall clock is set back */
    remote_trouble(log);
    ck_assert_ptr_nonnull(strstr(taken(), "\"msg\":\"Trouble\",\"peer\":\"x\""));
    ek_log_free(log);
}
END_TEST

START_TEST(stuck_reader)
{
    struct ek_log *log = log_of(EK_LOG_JSON, EK_LOG_TIME_RFC3339, 0);
    char fill[4096] = {0};

    while (write(pipe_fds[1], fill, sizeof fill) > 0)
        ;
    ek_log_info(log, "x");
    ck_assert_uint_eq(ek_log_dropped(log), 1);
    ek_log_free(log);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("log");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, encoders);
    tcase_add_test(tc, bare_records);
    tcase_add_test(tc, times);
    tcase_add_test(tc, escaping);
    tcase_add_test(tc, levels);
    tcase_add_test(tc, bad_flags);
    tcase_add_test(tc, errors_come_before_the_fields);
    tcase_add_test(tc, long_values_are_cut);
    tcase_add_test(tc, rate_limit);
    tcase_add_test(tc, stuck_reader);
    return ek_test_run("log", tc);
}
