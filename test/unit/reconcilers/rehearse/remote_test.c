/* SPDX-License-Identifier: Apache-2.0 */
/* Which APIs other servers answer. */
#include "reconcilers/rehearse/remote.h"

#include <string.h>

#include "api/obj.h"
#include "test/support/suite.h"

static const struct {
    const char *json, *expected;
} rows[] = {
    {"{\"kind\":\"APIService\",\"spec\":{\"group\":\"metrics.k8s.io\",\"version\":\"v1beta1\","
     "\"service\":{\"name\":\"a\"}}}",
     "apis/metrics.k8s.io/v1beta1"},
    {"{\"kind\":\"APIService\",\"spec\":{\"group\":\"apps\",\"version\":\"v1\"}}", ""},
    {"{\"kind\":\"APIService\",\"spec\":{\"group\":\"apps\",\"version\":\"v1\",\"service\":null}}",
     ""},
    {"{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"group\":\"example.com\",\"names\":"
     "{\"plural\":\"widgets\"},\"conversion\":{\"strategy\":\"Webhook\"}}}",
     "example.com/widgets"},
    {"{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"group\":\"example.com\",\"names\":"
     "{\"plural\":\"widgets\"},\"conversion\":{\"strategy\":\"None\"}}}",
     ""},
    {"{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"conversion\":{\"strategy\":\"Webhook\"}}}",
     ""},
    {"{\"kind\":\"Pod\",\"spec\":{\"service\":{}}}", ""},
    {"[]", ""},
};

START_TEST(remote_row)
{
    yyjson_doc *doc = ek_json_parse(rows[_i].json, strlen(rows[_i].json), NULL);
    char got[EK_REHEARSE_REMOTE_SIZE] = "";

    ck_assert_msg(ek_rehearse_remote_of(yyjson_doc_get_root(doc), got) == (*rows[_i].expected != 0),
                  "%s", rows[_i].json);
    if (*rows[_i].expected)
        ck_assert_str_eq(got, rows[_i].expected);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("remote");

    tcase_add_loop_test(tcase, remote_row, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("rehearse remote", tcase);
}
