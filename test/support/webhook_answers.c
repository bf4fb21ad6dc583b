/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/webhook_answers.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/obj.h"

char *webhook_exchange(const struct webhook_fixture *fixture, const char *target, const char *body)
{
    struct webhook_client client;

    ck_assert(webhook_connect(fixture, &client));
    char *got = webhook_post(&client, target, body);
    webhook_disconnect(&client);
    return got;
}

char *webhook_ask(const struct webhook_fixture *fixture, const char *target, const char *namespace)
{
    EK_AUTOFREE char *body = webhook_review(namespace, "u-1");

    return webhook_exchange(fixture, target, body);
}

int webhook_status(const char *answer)
{
    return answer ? (int)strtol(answer + strlen("HTTP/1.1 "), NULL, 10) : 0;
}

static const char *body_of(const char *answer)
{
    return strstr(answer, "\r\n\r\n") + 4;
}

void webhook_expect_review(const char *answer, bool allowed, const char *want)
{
    ck_assert_ptr_nonnull(answer);
    ck_assert_msg(webhook_status(answer) == 200, "%s", answer);
    yyjson_doc *doc = yyjson_read(body_of(answer), strlen(body_of(answer)), 0);
    yyjson_val *response = yyjson_obj_get(yyjson_doc_get_root(doc), "response");
    ck_assert_str_eq(ek_json_str(response, "uid", NULL), "u-1");
    ck_assert_msg(yyjson_get_bool(yyjson_obj_get(response, "allowed")) == allowed, "%s", answer);
    const char *patch = ek_json_str(response, "patch", NULL);
    const char *message = ek_json_str(response, "status", "message", NULL);
    if (!allowed) {
        ck_assert_msg(message && strstr(message, want), "want %s in %s", want, answer);
    } else if (!*want) {
        ck_assert_msg(!patch, "%s", answer);
    } else {
        char *text;
        size_t size;
        ck_assert_msg(patch && !ek_base64_decode(patch, &text, &size), "%s", answer);
        ck_assert_msg(strstr(text, want), "want %s in %s", want, text);
        ek_free(text);
    }
    yyjson_doc_free(doc);
}

void webhook_expect_metric(const struct webhook_fixture *fixture, const char *line)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, (size_t)1 << 20);
    ck_assert_int_eq(ek_metrics_write(fixture->metrics, EK_METRICS_TEXT, &text), 0);
    if (strstr(ek_buf_str(&text), line))
        return;
    const char *found = strstr(ek_buf_str(&text), "# HELP "); /* from the family on */
    for (; found && strncmp(found + 7, line, strcspn(line, "{ ")); found = strstr(found, "# HELP "))
        found++;
    ck_abort_msg("want %s in\n%.1500s", line, found ? found : "nothing of that name");
}

const char *webhook_allow(const char *path, const char *body, int *ret_status)
{
    (void)ret_status;
    ck_assert_str_eq(path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    ck_assert_msg(strstr(body, "\"user\":\"jane\"") && strstr(body, "\"groups\":[\"devs\"]") &&
                      strstr(body, "\"extra\":{\"scope\":[\"a\"]}") &&
                      strstr(body, "\"resource\":\"pods\"") && strstr(body, "\"verb\":\"get\"") &&
                      strstr(body, "\"namespace\":\"ns\""),
                  "%s", body);
    return "{\"status\":{\"allowed\":true,\"reason\":\"because\"}}";
}
