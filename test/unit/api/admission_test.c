/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "api/admission.h"
#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/obj.h"
#include "test/support/suite.h"

#define REVIEW(request)                                                                            \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":" request "}"
#define KIND     "\"kind\":{\"group\":\"apps\",\"version\":\"v1\",\"kind\":\"Deployment\"}"
#define RESOURCE "\"resource\":{\"group\":\"apps\",\"version\":\"v1\",\"resource\":\"deployments\"}"

static const struct {
    const char *name, *body, *error;
} bad_rows[] = {
    {"no JSON", "{", "line 1"},
    {"another kind", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", "expected an AdmissionReview"},
    {"v1beta1", "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\"}",
     "expected an AdmissionReview"},
    {"no request", "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}",
     "request is missing"},
    {"request is no object", REVIEW("[]"), "request is missing"},
    {"no kind", REVIEW("{\"uid\":\"u\"," RESOURCE ",\"operation\":\"CREATE\"}"), "request.kind"},
    {"no resource", REVIEW("{\"uid\":\"u\"," KIND ",\"operation\":\"CREATE\"}"),
     "request.resource"},
    {"no operation", REVIEW("{\"uid\":\"u\"," KIND "," RESOURCE "}"), "request.operation"},
    {"another operation", REVIEW("{\"uid\":\"u\"," KIND "," RESOURCE ",\"operation\":\"PATCH\"}"),
     "request.operation"},
    {"no uid", REVIEW("{" KIND "," RESOURCE ",\"operation\":\"CREATE\"}"), "request.uid"},
    {"the object is none",
     REVIEW("{\"uid\":\"u\"," KIND "," RESOURCE ",\"operation\":\"CREATE\",\"object\":3}"),
     "request.object"},
    {"the old object is none",
     REVIEW("{\"uid\":\"u\"," KIND "," RESOURCE ",\"operation\":\"UPDATE\",\"oldObject\":\"x\"}"),
     "request.oldObject"},
};

START_TEST(what_is_no_review_is_refused)
{
    struct ek_admission_review review;
    struct ek_err err = {0};

    int rc = ek_admission_review_parse(bad_rows[_i].body, strlen(bad_rows[_i].body), &review, &err);
    ck_assert_msg(rc == EK_E_PARSE, "%s: %d", bad_rows[_i].name, rc);
    ck_assert_msg(strstr(err.message, bad_rows[_i].error) != NULL, "%s: %s", bad_rows[_i].name,
                  err.message);
}
END_TEST

START_TEST(a_review_is_read)
{
    const char *body =
        REVIEW("{\"uid\":\"u-1\"," KIND "," RESOURCE ",\"subResource\":\"scale\","
               "\"requestKind\":{\"group\":\"extensions\",\"version\":\"v1beta1\",\"kind\":"
               "\"Deployment\"},"
               "\"requestResource\":{\"group\":\"extensions\",\"version\":\"v1beta1\",\"resource\":"
               "\"deployments\"},\"name\":\"web\",\"namespace\":\"prod\",\"operation\":\"UPDATE\","
               "\"dryRun\":true,\"object\":{\"a\":1},\"oldObject\":null,\"userInfo\":{\"username\":"
               "\"x\"}}");
    EK_AUTO(ek_admission_review) review = {0};

    ck_assert_int_eq(ek_admission_review_parse(body, strlen(body), &review, NULL), 0);
    const struct ek_admission_request *r = &review.request;
    ck_assert_str_eq(r->uid, "u-1");
    ck_assert_str_eq(r->kind.group, "apps");
    ck_assert_str_eq(r->resource.resource, "deployments");
    ck_assert_str_eq(r->subresource, "scale");
    ck_assert_str_eq(r->request_kind.group, "extensions");
    ck_assert_str_eq(r->request_resource.version, "v1beta1");
    ck_assert_str_eq(r->request_subresource, "");
    ck_assert_str_eq(r->name, "web");
    ck_assert_str_eq(r->namespace, "prod");
    ck_assert(r->dry_run);
    ck_assert(yyjson_is_obj(r->object));
    ck_assert_ptr_null(r->old_object);
}
END_TEST

/* Found in what cannot be parsed, and only where it stands. */
static const struct {
    const char *body, *uid; /* NULL: none */
} uid_rows[] = {
    {"{\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"a-1\",\"kind\":{", "a-1"},
    {" { \"request\" : { \"kind\" : {\"uid\":\"no\"}, \"x\": [{\"uid\":\"no\"}], \"uid\" : "
     "\"b_2\" ",
     "b_2"},
    {"{\"uid\":\"no\",\"request\":{\"name\":\"\\\"uid\\\":\\\"no\\\"\",\"uid\":\"c\"}}", "c"},
    {"{\"other\":{\"uid\":\"no\"},\"request\":{\"object\":{\"request\":{\"uid\":\"no\"}},\"uid\":"
     "\"d\"",
     "d"},
    {"{\"request\":[{\"uid\":\"no\"}]}", NULL},
    {"{\"request\":{\"uid\":7}}", NULL},
    {"{\"request\":{\"uid\":\"\"}}", NULL},
    {"{\"request\":{\"uid\":\"a\\u0022\"}}", NULL},
    {"{\"request\":{\"uid\":\"cut", NULL},
    {"{\"request\":{\"uid\"", NULL},
    {"{\"request\":{\"uid\":", NULL},
    {"{\"request\":{\"\\", NULL},
    {"]]]]}}}}{\"request\":{\"uid\":\"e\"", "e"},
    {"\"uid\":\"no\"", NULL},
    {"", NULL},
};

START_TEST(the_uid_is_found_without_parsing)
{
    char uid[EK_ADMISSION_UID_SIZE] = "";
    size_t len = strlen(uid_rows[_i].body);
    char *exact = len ? memcpy(ek_xalloc(len), uid_rows[_i].body, len) : NULL;
    bool found = ek_admission_uid_find(exact ? exact : "", len, uid);

    ck_assert_msg(found == (uid_rows[_i].uid != NULL), "%s: %s", uid_rows[_i].body, uid);
    if (found)
        ck_assert_str_eq(uid, uid_rows[_i].uid);
    ek_free(exact);
}
END_TEST

START_TEST(the_answer_carries_uid_patch_and_warnings)
{
    EK_AUTO(ek_buf) out;
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *patch = yyjson_mut_arr(doc);
    yyjson_mut_val *op = yyjson_mut_arr_add_obj(doc, patch);
    yyjson_mut_obj_add_str(doc, op, "op", "remove");
    yyjson_mut_obj_add_str(doc, op, "path", "/a");
    const char *warnings[] = {"mind the gap"};
    const char *audit[] = {"policy", "p"};

    ek_buf_init(&out, 4096);
    ck_assert_int_eq(
        ek_admission_response_write(&(struct ek_admission_response){.uid = "u-1",
                                                                    .allowed = true,
                                                                    .patch = patch,
                                                                    .warnings = warnings,
                                                                    .n_warnings = 1,
                                                                    .audit_annotations = audit,
                                                                    .n_audit_annotations = 1},
                                    &out),
        0);
    yyjson_mut_doc_free(doc);
    yyjson_doc *answer = ek_json_parse(out.data, out.len, NULL);
    yyjson_val *response = yyjson_obj_get(yyjson_doc_get_root(answer), "response");
    ck_assert_str_eq(ek_json_str(response, "uid", NULL), "u-1");
    ck_assert(yyjson_is_true(yyjson_obj_get(response, "allowed")));
    ck_assert_str_eq(ek_json_str(response, "patchType", NULL), "JSONPatch");
    ck_assert_str_eq(ek_json_str(response, "auditAnnotations", "policy", NULL), "p");
    char *text;
    size_t size;
    ck_assert_int_eq(ek_base64_decode(ek_json_str(response, "patch", NULL), &text, &size), 0);
    ck_assert_str_eq(text, "[{\"op\":\"remove\",\"path\":\"/a\"}]");
    ek_free(text);
    yyjson_doc_free(answer);
}
END_TEST

START_TEST(a_denial_carries_code_and_reason)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ek_admission_response_write(
        &(struct ek_admission_response){.uid = "u", .reason = "Invalid", .message = "no \"x\""},
        &out);
    ck_assert_str_eq(
        out.data,
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{"
        "\"uid\":\"u\",\"allowed\":false,\"status\":{\"code\":403,\"status\":\"Failure\","
        "\"reason\":\"Invalid\",\"message\":\"no \\\"x\\\"\"}}}");
    ek_buf_done(&out);
    ek_buf_init(&out, 10);
    ck_assert_int_eq(ek_admission_response_write(&(struct ek_admission_response){.uid = "u"}, &out),
                     EK_E_LIMIT);
}
END_TEST

/* What writing takes is known before: at least the patch, three times over in base64. */
START_TEST(memory_of_an_answer)
{
    static const char *const texts[] = {"", "plain", "\"\\\"", "\x01\x1f\n", "\xe2\x82\xac"};
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_admission_response response = {.uid = "u", .allowed = true};

    ck_assert_uint_eq(ek_admission_response_memory(&response), 0);
    response.patch = yyjson_mut_arr(doc);
    yyjson_mut_arr_add_real(doc, response.patch, -2.2250738585072014e-308);
    yyjson_mut_arr_add_sint(doc, response.patch, INT64_MIN);
    yyjson_mut_arr_add_null(doc, response.patch);
    yyjson_mut_arr_add_bool(doc, response.patch, false);
    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++)
        for (size_t k = 0; k < 100; k++)
            yyjson_mut_obj_add_str(doc, yyjson_mut_arr_add_obj(doc, response.patch), texts[i],
                                   texts[i]);
    size_t len;
    char *json = yyjson_mut_val_write(response.patch, 0, &len);
    ck_assert_uint_ge(ek_admission_response_memory(&response), 4 * len);
    ck_assert_uint_le(ek_admission_response_memory(&response), 6 * len);
    free(json);
    yyjson_mut_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("admission");
    tcase_add_loop_test(tc, what_is_no_review_is_refused, 0, EK_ARRAY_SIZE(bad_rows));
    tcase_add_test(tc, a_review_is_read);
    tcase_add_loop_test(tc, the_uid_is_found_without_parsing, 0, EK_ARRAY_SIZE(uid_rows));
    tcase_add_test(tc, the_answer_carries_uid_patch_and_warnings);
    tcase_add_test(tc, a_denial_carries_code_and_reason);
    tcase_add_test(tc, memory_of_an_answer);
    return ek_test_run("admission", tc);
}
