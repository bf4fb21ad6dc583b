/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "test/support/suite.h"

START_TEST(setting_fills_and_clears)
{
    struct ek_err err = {.code = -99, .http_status = 500, .retry_after_ms = 7, .reason = "Old"};

    ck_assert_int_eq(ek_err_set(&err, EK_E_PARSE, "line %d: %s", 3, "bad"), EK_E_PARSE);
    ck_assert_int_eq(err.code, EK_E_PARSE);
    ck_assert_str_eq(err.message, "line 3: bad");
    ck_assert_int_eq(err.http_status, 0);
    ck_assert_int_eq(err.retry_after_ms, 0);
    ck_assert_str_eq(err.reason, "");
    ck_assert_int_eq(ek_err_set(NULL, EK_E_IO, "nobody listens"), EK_E_IO);
}
END_TEST

START_TEST(arguments_may_come_from_the_error_itself)
{
    struct ek_err err;

    ek_err_set(&err, EK_E_IO, "inner");
    ek_err_set(&err, EK_E_NET, "outer: %s", err.message);
    ck_assert_str_eq(err.message, "outer: inner");
}
END_TEST

START_TEST(prefixes_add_context)
{
    struct ek_err err = {0}, none = {0};

    ek_err_set(&err, EK_E_GONE, "too old");
    err.http_status = 410;
    ck_assert_int_eq(ek_err_prefix(&err, "listing %s", "nodes"), EK_E_GONE);
    ck_assert_str_eq(err.message, "listing nodes: too old");
    ck_assert_int_eq(err.http_status, 410);
    ck_assert_int_eq(ek_err_prefix(NULL, "x"), 0);
    ck_assert_int_eq(ek_err_prefix(&none, "x"), 0);
    ck_assert_str_eq(none.message, "");
}
END_TEST

START_TEST(long_messages_end_with_a_whole_character)
{
    struct ek_err err;
    char text[2 * sizeof err.message];

    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', sizeof text);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        text[sizeof text - 1] = '\0';
        ek_err_set(&err, EK_E_IO, "%s", text);
        size_t len = strlen(err.message);
        ck_assert_uint_ge(len, sizeof err.message - 3);
        ck_assert_uint_eq((len - shift) % 3, 0);
        ek_err_prefix(&err, "a");
        ck_assert_uint_eq((strlen(err.message) - shift) % 3, 0);
        ck_assert_int_eq(strncmp(err.message, "a: ", 3), 0);
        ek_err_prefix(&err, "%s", text);
        ck_assert_uint_eq((strlen(err.message) - shift) % 3, 0);
    }
}
END_TEST

static const struct {
    const char *name;
    int status;
    const char *reason;
    int want;
    bool retryable;
} status_rows[] = {
    {"fine", 200, NULL, 0, false},
    {"created", 201, "", 0, false},
    {"unauthorized", 401, NULL, EK_E_UNAUTHORIZED, false},
    {"forbidden", 403, NULL, EK_E_FORBIDDEN, false},
    {"not found", 404, NULL, EK_E_NOENT, false},
    {"not found by reason", 500, "NotFound", EK_E_NOENT, false},
    {"conflict", 409, NULL, EK_E_CONFLICT, true},
    {"already exists", 409, "AlreadyExists", EK_E_EXIST, false},
    {"gone", 410, NULL, EK_E_GONE, true},
    {"expired", 410, "Expired", EK_E_GONE, true},
    {"invalid", 422, "Invalid", EK_E_INVAL, false},
    {"bad request", 400, NULL, EK_E_INVAL, false},
    {"throttled", 429, NULL, EK_E_THROTTLED, true},
    {"internal error", 500, NULL, EK_E_SERVER, true},
    {"unavailable", 503, NULL, EK_E_SERVER, true},
    {"gateway timeout", 504, NULL, EK_E_TIMEOUT, true},
    {"unknown server error", 599, NULL, EK_E_SERVER, true},
    {"unknown reason", 404, "Whatever", EK_E_NOENT, false},
    {"unknown status", 418, NULL, EK_E_HTTP, false},
    {"a failure inside 200", 200, "Expired", EK_E_GONE, true},
};

START_TEST(answers_have_codes)
{
    int got = ek_err_from_status(status_rows[_i].status, status_rows[_i].reason);
    ck_assert_msg(got == status_rows[_i].want, "%s: %d", status_rows[_i].name, got);
    ck_assert_msg(ek_err_is_retryable(got) == status_rows[_i].retryable, "%s",
                  status_rows[_i].name);
}
END_TEST

START_TEST(every_code_has_a_text)
{
#define X(name, text)                                                                              \
    ck_assert_int_lt(EK_E_##name, 0);                                                              \
    ck_assert_str_eq(ek_strerror(EK_E_##name), text);
    EK_ERRORS(X)
#undef X
    ck_assert_str_eq(ek_strerror(0), "no error");
    ck_assert_str_eq(ek_strerror(1), "unknown error");
    ck_assert_str_eq(ek_strerror(-1000), "unknown error");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("err");

    tcase_add_test(tcase, setting_fills_and_clears);
    tcase_add_test(tcase, arguments_may_come_from_the_error_itself);
    tcase_add_test(tcase, prefixes_add_context);
    tcase_add_test(tcase, long_messages_end_with_a_whole_character);
    tcase_add_loop_test(tcase, answers_have_codes, 0, EK_ARRAY_SIZE(status_rows));
    tcase_add_test(tcase, every_code_has_a_text);
    return ek_test_run("err", tcase);
}
