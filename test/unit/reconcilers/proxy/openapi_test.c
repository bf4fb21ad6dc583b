/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "test/support/suite.h"

static const struct {
    const char *method, *target;
    bool index;
    const char *group, *version; /* group NULL: no document */
} requests[] = {
    {"GET", "/openapi/v3", true, NULL, NULL},
    {"GET", "/openapi/v3?timeout=32s", true, NULL, NULL},
    {"HEAD", "/openapi/v3", false, NULL, NULL},
    {"POST", "/openapi/v3", false, NULL, NULL},
    {"GET", "/openapi/v2", false, NULL, NULL},
    {"GET", "/openapi/v3x", false, NULL, NULL},
    {"GET", "/openapi/v3/apis/batch/v1?hash=AB", false, "batch", "v1"},
    {"HEAD", "/openapi/v3/apis/batch/v1", false, "batch", "v1"},
    {"GET", "/openapi/v3/api/v1", false, "", "v1"},
    {"POST", "/openapi/v3/api/v1", false, NULL, NULL},
    {"GET", "/openapi/v3/apis/batch", false, "batch", ""},
    {"GET", "/openapi/v3/apis/batch/", false, NULL, NULL},
    {"GET", "/openapi/v3/apis/", false, NULL, NULL},
    {"GET", "/openapi/v3/api/", false, NULL, NULL},
    {"GET", "/openapi/v3/apis", false, NULL, NULL},
    {"GET", "/openapi/v3/api", false, NULL, NULL},
    {"GET", "/openapi/v3/version", false, NULL, NULL},
    {"GET", "/openapi/v3/apis/batch/v1/jobs", false, NULL, NULL},
    {"GET", "/api/v1/pods", false, NULL, NULL},
};

START_TEST(reads_requests)
{
    EK_AUTO(ek_proxy_request) request;
    EK_AUTO(ek_openapi_document) document;
    struct ek_proxy_answer refusal;

    ck_assert(ek_proxy_request_read(requests[_i].method, requests[_i].target, &request, &refusal));
    ek_openapi_document_read(&request, &document);
    ck_assert_int_eq(ek_openapi_is_index(&request), requests[_i].index);
    ck_assert_int_eq(document.group != NULL, requests[_i].group != NULL);
    if (requests[_i].group) {
        ck_assert_str_eq(document.group, requests[_i].group);
        ck_assert_str_eq(document.version, requests[_i].version);
    }
}
END_TEST

#define URL(path) "{\"serverRelativeURL\":\"/openapi/v3/" path "\"}"

static const struct {
    const char *index, *group_versions[3], *merged; /* merged NULL: no index */
} merges[] = {
    {"{\"paths\":{\"api/v1\":" URL("api/v1?hash=A") "}}",
     {"/v1", "apps/v1", "apps/v1"},
     "{\"paths\":{\"api/v1\":" URL("api/v1?hash=A") ",\"apis/apps/v1\":" URL("apis/apps/v1") "}}"},
    {"{\"paths\":{},\"x\":1}", {"/v1"}, "{\"paths\":{\"api/v1\":" URL("api/v1") "},\"x\":1}"},
    {"{\"paths\":{}}", {NULL}, "{\"paths\":{}}"},
    {"{\"paths\":[]}", {"/v1"}, NULL},
    {"{}", {"/v1"}, NULL},
    {"[]", {"/v1"}, NULL},
    {"{\"paths\":{}", {"/v1"}, NULL},
    {"", {"/v1"}, NULL},
};

START_TEST(merges_indexes)
{
    EK_AUTO(ek_buf) out;
    size_t n = 0;

    while (n < 3 && merges[_i].group_versions[n])
        n++;
    ek_buf_init(&out, 1 << 20);
    bool done = ek_openapi_merge(ek_str_from(merges[_i].index), merges[_i].group_versions, n, &out);
    ck_assert_int_eq(done, merges[_i].merged != NULL);
    if (done)
        ck_assert_str_eq(ek_buf_str(&out), merges[_i].merged);
}
END_TEST

START_TEST(drops_what_makes_answers_partial)
{
    ck_assert(ek_openapi_drops_header("If-None-Match", false));
    ck_assert(ek_openapi_drops_header("accept-encoding", false));
    ck_assert(ek_openapi_drops_header("Range", false));
    ck_assert(!ek_openapi_drops_header("Authorization", false));
    ck_assert(!ek_openapi_drops_header("User-Agent", false));
    ck_assert(ek_openapi_drops_header("Accept", false));
    ck_assert(!ek_openapi_drops_header("Accept", true));
    ck_assert(ek_openapi_drops_header("Accept-Encoding", true));
    ck_assert(ek_openapi_drops_header("if-none-match", true));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("openapi");

    tcase_add_loop_test(tcase, reads_requests, 0, (int)EK_ARRAY_SIZE(requests));
    tcase_add_loop_test(tcase, merges_indexes, 0, (int)EK_ARRAY_SIZE(merges));
    tcase_add_test(tcase, drops_what_makes_answers_partial);
    return ek_test_run("proxy_openapi", tcase);
}
