/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/cond.h"
#include "api/obj.h"
#include "test/support/suite.h"

#define NOW INT64_C(1795172289000) /* 2026-11-20T10:58:09Z */

static const char before[] =
    "[{\"type\":\"Ready\",\"status\":\"True\",\"observedGeneration\":1,"
    "\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"reason\":\"Old\",\"message\":\"old\"},"
    "{\"type\":\"Gone\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\","
    "\"reason\":\"Old\",\"message\":\"\"},"
    "{\"type\":\"Broken\",\"status\":\"True\",\"lastTransitionTime\":\"yesterday\"},"
    "{\"type\":\"Odd\",\"status\":\"true\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"},7]";

static const struct {
    const char *name;
    struct ek_cond want;
    int64_t generation;
    const char *json; /* the merged array */
} merge_rows[] = {
    {"the status stays",
     {"Ready", EK_COND_TRUE, "New", "new"},
     2,
     "[{\"type\":\"Ready\",\"status\":\"True\",\"observedGeneration\":2,"
     "\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"reason\":\"New\",\"message\":\"new\"}]"},
    {"the status flips",
     {"Ready", EK_COND_FALSE, "New", "new"},
     2,
     "[{\"type\":\"Ready\",\"status\":\"False\",\"observedGeneration\":2,"
     "\"lastTransitionTime\":\"2026-11-20T10:58:09Z\",\"reason\":\"New\",\"message\":\"new\"}]"},
    {"the first time",
     {"example.org/New", EK_COND_UNKNOWN, "R", NULL},
     0,
     "[{\"type\":\"example.org/New\",\"status\":\"Unknown\","
     "\"lastTransitionTime\":\"2026-11-20T10:58:09Z\",\"reason\":\"R\",\"message\":\"\"}]"},
    {"the old time is no time",
     {"Broken", EK_COND_TRUE, "R", ""},
     0,
     "[{\"type\":\"Broken\",\"status\":\"True\","
     "\"lastTransitionTime\":\"2026-11-20T10:58:09Z\",\"reason\":\"R\",\"message\":\"\"}]"},
    {"the old status is none",
     {"Odd", EK_COND_UNKNOWN, "R", ""},
     0,
     "[{\"type\":\"Odd\",\"status\":\"Unknown\","
     "\"lastTransitionTime\":\"2026-11-20T10:58:09Z\",\"reason\":\"R\",\"message\":\"\"}]"},
};

static char *merged(const char *old, const struct ek_cond *want, size_t n, int64_t generation)
{
    yyjson_doc *doc = old ? ek_json_parse(old, strlen(old), NULL) : NULL;
    yyjson_mut_doc *out = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *list = ek_conds_merge(out, yyjson_doc_get_root(doc), want, n, generation, NOW);
    char *text = list ? yyjson_mut_val_write(list, YYJSON_WRITE_NOFLAG, NULL) : NULL;

    yyjson_mut_doc_free(out);
    yyjson_doc_free(doc);
    return text;
}

START_TEST(conditions_merge)
{
    EK_AUTOFREE char *text = merged(before, &merge_rows[_i].want, 1, merge_rows[_i].generation);

    ck_assert_msg(text && !strcmp(text, merge_rows[_i].json), "%s: %s", merge_rows[_i].name, text);
    /* Merging once more changes nothing. */
    EK_AUTOFREE char *again = merged(text, &merge_rows[_i].want, 1, merge_rows[_i].generation);
    ck_assert_msg(again && !strcmp(again, text), "%s: %s", merge_rows[_i].name, again);
}
END_TEST

static const struct {
    const char *name;
    struct ek_cond cond;
    bool ok;
} check_rows[] = {
    {"plain", {"Ready", EK_COND_TRUE, "AllGood", ""}, true},
    {"prefix", {"evenkeel.dev/Ready", EK_COND_TRUE, "A", ""}, true},
    {"reason with more", {"A", EK_COND_TRUE, "a:B,c_9", ""}, true},
    {"no type", {"", EK_COND_TRUE, "A", ""}, false},
    {"absent type", {NULL, EK_COND_TRUE, "A", ""}, false},
    {"blank in the type", {"Not Ready", EK_COND_TRUE, "A", ""}, false},
    {"capital prefix", {"Evenkeel.dev/Ready", EK_COND_TRUE, "A", ""}, false},
    {"no reason", {"A", EK_COND_TRUE, "", ""}, false},
    {"absent reason", {"A", EK_COND_TRUE, NULL, ""}, false},
    {"blank in the reason", {"A", EK_COND_TRUE, "All good", ""}, false},
    {"reason starts with a digit", {"A", EK_COND_TRUE, "1a", ""}, false},
    {"reason ends with a colon", {"A", EK_COND_TRUE, "a:", ""}, false},
    {"reason with a dash", {"A", EK_COND_TRUE, "a-b", ""}, false},
    {"no status", {"A", EK_COND_STATUS_MAX, "A", ""}, false},
};

START_TEST(conditions_are_checked)
{
    struct ek_err err = {0};
    int rc = ek_cond_check(&check_rows[_i].cond, &err);
    EK_AUTOFREE char *text = merged(NULL, &check_rows[_i].cond, 1, 1);

    ck_assert_msg(rc == (check_rows[_i].ok ? 0 : EK_E_INVAL), "%s: %s", check_rows[_i].name,
                  err.message);
    ck_assert_msg(!!text == check_rows[_i].ok, "%s: merged", check_rows[_i].name);
}
END_TEST

START_TEST(sizes_are_bounded)
{
    char reason[EK_COND_REASON_MAX + 2], type[EK_COND_TYPE_MAX + 2];
    struct ek_cond cond = {type, EK_COND_TRUE, reason, ""};

    memset(reason, 'a', sizeof reason);
    memset(type, 'b', sizeof type);
    reason[EK_COND_REASON_MAX] = '\0';
    type[EK_COND_TYPE_MAX] = '\0';
    ck_assert_int_eq(ek_cond_check(&cond, NULL), 0);
    reason[EK_COND_REASON_MAX] = 'a';
    reason[EK_COND_REASON_MAX + 1] = '\0';
    ck_assert_int_eq(ek_cond_check(&cond, NULL), EK_E_INVAL);
    reason[3] = '\0';
    type[EK_COND_TYPE_MAX] = 'b';
    type[EK_COND_TYPE_MAX + 1] = '\0';
    ck_assert_int_eq(ek_cond_check(&cond, NULL), EK_E_INVAL);
}
END_TEST

START_TEST(long_messages_are_cut_after_a_character)
{
    EK_AUTOFREE char *message = ek_xalloc(EK_COND_MESSAGE_MAX + 3);
    struct ek_cond cond = {"A", EK_COND_TRUE, "A", message};

    memset(message, 'm', EK_COND_MESSAGE_MAX - 1);
    memcpy(message + EK_COND_MESSAGE_MAX - 1, "\xc3\xa4", 3);
    EK_AUTOFREE char *text = merged(NULL, &cond, 1, 1);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    ck_assert_ptr_nonnull(doc);
    yyjson_val *got = ek_json_get(yyjson_arr_get_first(yyjson_doc_get_root(doc)), "message", NULL);
    ck_assert_uint_eq(yyjson_get_len(got), EK_COND_MESSAGE_MAX - 1);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(the_order_is_the_callers_and_types_are_unique)
{
    struct ek_cond want[] = {{"B", EK_COND_TRUE, "R", ""}, {"A", EK_COND_TRUE, "R", ""}};
    EK_AUTOFREE char *text = merged(before, want, 2, 1);

    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "\"B\""));
    ck_assert(strstr(text, "\"B\"") < strstr(text, "\"A\""));
    ck_assert_ptr_null(strstr(text, "Gone"));
    want[1].type = "B";
    EK_AUTOFREE char *twice = merged(before, want, 2, 1);
    ck_assert_ptr_null(twice);
    EK_AUTOFREE char *none = merged(before, want, 0, 1);
    ck_assert_str_eq(none, "[]");
}
END_TEST

START_TEST(conditions_are_found)
{
    yyjson_doc *doc = ek_json_parse(before, sizeof before - 1, NULL);
    yyjson_val *list = yyjson_doc_get_root(doc);

    ck_assert_ptr_null(ek_cond_find(list, "Absent"));
    ck_assert_ptr_null(ek_cond_find(NULL, "Ready"));
    ck_assert_str_eq(ek_json_str(ek_cond_find(list, "Ready"), "reason", NULL), "Old");
    ck_assert_int_eq(ek_cond_status(list, "Ready"), EK_COND_TRUE);
    ck_assert_int_eq(ek_cond_status(list, "Odd"), EK_COND_UNKNOWN);
    ck_assert_int_eq(ek_cond_status(list, "Absent"), EK_COND_UNKNOWN);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cond");

    tcase_add_loop_test(tcase, conditions_merge, 0, EK_ARRAY_SIZE(merge_rows));
    tcase_add_loop_test(tcase, conditions_are_checked, 0, EK_ARRAY_SIZE(check_rows));
    tcase_add_test(tcase, sizes_are_bounded);
    tcase_add_test(tcase, long_messages_are_cut_after_a_character);
    tcase_add_test(tcase, the_order_is_the_callers_and_types_are_unique);
    tcase_add_test(tcase, conditions_are_found);
    return ek_test_run("cond", tcase);
}
