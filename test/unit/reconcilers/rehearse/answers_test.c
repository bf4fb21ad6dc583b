/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer of a server means. */
#include "reconcilers/rehearse/answers.h"

#include <string.h>

#include "test/support/suite.h"

#define READ   EK_REHEARSE_READ
#define UPDATE EK_REHEARSE_UPDATE
#define CREATE EK_REHEARSE_CREATE

static const struct {
    const char *name;
    enum ek_rehearse_request request;
    int status;
    const char *message;
    enum ek_rehearse_answer expected;
} rows[] = {
    {"a success", UPDATE, 0, NULL, EK_REHEARSE_FINE},
    {"a list that fails", READ, 500, "request to convert CR from an invalid group/version: a/v0",
     EK_REHEARSE_UNDECODABLE},
    {"an object without a key", READ, 500,
     "Internal error occurred: unable to transform key \"/registry/secrets/a/b\": no matching key",
     EK_REHEARSE_ENCRYPTED},
    {"an object that is encrypted, and no configuration", READ, 500,
     "Internal error occurred: identity transformer tried to read encrypted data",
     EK_REHEARSE_ENCRYPTED},
    {"a conversion webhook", READ, 500,
     "conversion webhook for a.io/v1, Kind=B failed: Post \"https://x\": no route",
     EK_REHEARSE_WEBHOOK},
    {"an object that went", READ, 404, "not found", EK_REHEARSE_FINE},
    {"a list that is refused for load", READ, 429, "storage is (re)initializing",
     EK_REHEARSE_SILENT},
    {"no answer", READ, 0, "timed out", EK_REHEARSE_SILENT},
    {"an invalid object", UPDATE, 422, "ConfigMap \"a\" is invalid: metadata.labels",
     EK_REHEARSE_REFUSED},
    {"a plug-in that refuses", UPDATE, 403, "forbidden: exceeded quota", EK_REHEARSE_REFUSED},
    {"a policy that denies", UPDATE, 422,
     "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
     "request: no",
     EK_REHEARSE_DENIED},
    {"an object that changed", UPDATE, 409, "the object has been modified", EK_REHEARSE_CHANGED},
    {"an object that went before the update", UPDATE, 404, "not found", EK_REHEARSE_FINE},
    {"an error of the server in an update", UPDATE, 500, "Internal error occurred: x",
     EK_REHEARSE_REFUSED},
    {"a server that is too slow", UPDATE, 504, "timeout", EK_REHEARSE_SILENT},
    {"no answer to an update", UPDATE, 0, "connection failed", EK_REHEARSE_SILENT},
    {"an object that would be accepted", CREATE, 409, "already exists", EK_REHEARSE_FINE},
    {"an object that is refused in a creation", CREATE, 422,
     "spec.validations[0].expression: Invalid", EK_REHEARSE_NOT_MADE},
    {"a namespace that goes", CREATE, 403,
     "unable to create new content in namespace a because it is being terminated",
     EK_REHEARSE_FINE},
};

START_TEST(row)
{
    struct ek_err err = {0};

    if (rows[_i].message) {
        ek_err_set(&err, EK_E_HTTP, "%s", rows[_i].message);
        err.http_status = rows[_i].status;
    }
    ck_assert_msg(ek_rehearse_answer_of(rows[_i].request, &err) == rows[_i].expected, "%s",
                  rows[_i].name);
    ck_assert_int_eq(ek_rehearse_answer_of(rows[_i].request, NULL), EK_REHEARSE_FINE);
}
END_TEST

START_TEST(rules)
{
    ck_assert_str_eq(ek_rehearse_answer_rule(EK_REHEARSE_UNDECODABLE), "undecodable");
    ck_assert_int_eq(ek_rehearse_answer_severity(EK_REHEARSE_UNDECODABLE), EK_REHEARSE_ERROR);
    ck_assert_int_eq(ek_rehearse_answer_severity(EK_REHEARSE_ENCRYPTED), EK_REHEARSE_UNKNOWN);
    ck_assert_str_eq(ek_rehearse_answer_rule(EK_REHEARSE_FINE), "");
}
END_TEST

START_TEST(pages)
{
    ck_assert_uint_eq(ek_rehearse_page_limit(500, &(struct ek_err){.code = EK_E_LIMIT}), 250);
    ck_assert_uint_eq(ek_rehearse_page_limit(1, &(struct ek_err){.code = EK_E_LIMIT}), 0);
    ck_assert_uint_eq(ek_rehearse_page_limit(500, &(struct ek_err){.code = EK_E_TIMEOUT}), 62);
    ck_assert_uint_eq(ek_rehearse_page_limit(7, &(struct ek_err){.code = EK_E_TIMEOUT}), 0);
    ck_assert_uint_eq(ek_rehearse_page_limit(500, &(struct ek_err){.code = EK_E_HTTP}), 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("answers");

    tcase_add_loop_test(tcase, row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, rules);
    tcase_add_test(tcase, pages);
    return ek_test_run("rehearse answers", tcase);
}
