/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to the test API server: what each verb does to metadata, and in which words it refuses. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/fixture.h"
#include "test/support/suite.h"

#define CM     "/api/v1/namespaces/default/configmaps"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define CRDS   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define SHIPS  "/apis/example.com/v1/ships"
#define MERGE  "application/merge-patch+json"
#define APPLY  "application/apply-patch+yaml"

static struct ek_fixture f;

static const char crd[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"ships.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":"
    "\"Cluster\",\"names\":{\"plural\":\"ships\",\"singular\":\"ship\",\"kind\":\"Ship\","
    "\"shortNames\":[\"sh\"]},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
    "\"subresources\":{\"status\":{}},\"additionalPrinterColumns\":[{\"name\":\"Size\",\"type\":"
    "\"integer\",\"jsonPath\":\".spec.size\"},{\"name\":\"Ready\",\"type\":\"string\",\"jsonPath\":"
    "\".status.conditions[?(@.type==\\\"Ready\\\")].status\"}],\"schema\":{\"openAPIV3Schema\":{"
    "\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"size\"],"
    "\"properties\":{\"size\":{\"type\":\"integer\",\"minimum\":1},\"flag\":{\"type\":\"string\","
    "\"default\":\"none\",\"enum\":[\"none\",\"red\"]}}},\"status\":{\"type\":\"object\","
    "\"properties\":{\"conditions\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"type\"],\"items\":{\"type\":\"object\",\"properties\":{"
    "\"type\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"}}}}}}}}}}]}}";

static void setup(void)
{
    ek_fixture_init(&f, 1000);
}

static void teardown(void)
{
    ek_fixture_done(&f);
}

static void expect(int status, int wanted)
{
    ck_assert_msg(status == wanted, "status %d instead of %d: %s", status, wanted,
                  ek_fixture_body(&f));
}

/* Requests on a server that has the ConfigMap "a" and the Lease "l"; in each row one request. */
static const struct {
    const char *name, *method, *target, *type, *body;
    int status;
    const char *pointer, *text; /* what the answer holds there */
} rows[] = {
    {"create", "POST", CM, NULL, "{\"metadata\":{\"name\":\"b\"}}", 201, "/metadata/namespace",
     "default"},
    {"create what exists", "POST", CM, NULL, "{\"metadata\":{\"name\":\"a\"}}", 409, "/message",
     "configmaps \"a\" already exists"},
    {"create without a name", "POST", CM, NULL, "{}", 422, "/message",
     "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"},
    {"create another kind", "POST", CM, NULL, "{\"kind\":\"Pod\"}", 400, "/reason", "BadRequest"},
    {"create in no namespace", "POST", "/api/v1/namespaces/void/configmaps", NULL,
     "{\"metadata\":{\"name\":\"b\"}}", 404, "/message", "namespaces \"void\" not found"},
    {"create in two namespaces", "POST", CM, NULL,
     "{\"metadata\":{\"name\":\"b\",\"namespace\":\"kube-system\"}}", 400, "/message",
     "the namespace of the provided object does not match the namespace sent on the request"},
    {"create with bad JSON", "POST", CM, NULL, "{\"metadata\":", 400, "/reason", "BadRequest"},
    {"create dry", "POST", CM "?dryRun=All", NULL, "{\"metadata\":{\"name\":\"dry\"}}", 201,
     "/metadata/resourceVersion", ""},
    {"get", "GET", CM "/a", NULL, NULL, 200, "/data/k", "v"},
    {"get what is not", "GET", CM "/z", NULL, NULL, 404, "/message", "configmaps \"z\" not found"},
    {"update", "PUT", CM "/a", NULL, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"w\"}}", 200,
     "/data/k", "w"},
    {"update another name", "PUT", CM "/a", NULL, "{\"metadata\":{\"name\":\"c\"}}", 400,
     "/message", "the name of the object (c) does not match the name on the URL (a)"},
    {"update from the past", "PUT", CM "/a", NULL,
     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}", 409, "/message",
     "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please "
     "apply your changes to the latest version and try again"},
    {"update another object", "PUT", CM "/a", NULL, "{\"metadata\":{\"name\":\"a\",\"uid\":\"x\"}}",
     409, "/reason", "Conflict"},
    {"update a lease blindly", "PUT", LEASES "/l", NULL, "{\"metadata\":{\"name\":\"l\"}}", 422,
     "/message",
     "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid value: 0: "
     "must be specified for an update"},
    {"merge patch", "PATCH", CM "/a", MERGE, "{\"data\":{\"k\":null,\"n\":\"1\"}}", 200, "/data/n",
     "1"},
    {"JSON patch", "PATCH", CM "/a", "application/json-patch+json",
     "[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"v\"},{\"op\":\"move\",\"from\":\"/data/"
     "k\",\"path\":\"/data/m\"}]",
     200, "/data/m", "v"},
    {"JSON patch that fails", "PATCH", CM "/a", "application/json-patch+json",
     "[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"x\"}]", 422, "/reason", "Invalid"},
    {"patch in an unknown way", "PATCH", CM "/a", "text/plain", "{}", 415, "/reason",
     "UnsupportedMediaType"},
    {"apply without a manager", "PATCH", CM "/a", APPLY, "{}", 422, "/details/causes/0/field",
     "fieldManager"},
    {"apply YAML", "PATCH", CM "/y?fieldManager=m", APPLY,
     "apiVersion: v1\nkind: ConfigMap\ndata:\n  k: yes-it-is\n", 201, "/data/k", "yes-it-is"},
    {"delete", "DELETE", CM "/a", NULL, NULL, 200, "/status", "Success"},
    {"delete another object", "DELETE", CM "/a", NULL, "{\"preconditions\":{\"uid\":\"x\"}}", 409,
     "/reason", "Conflict"},
    {"delete what is not", "DELETE", CM "/z", NULL, NULL, 404, "/reason", "NotFound"},
    {"a subresource that is not", "GET", CM "/a/status", NULL, NULL, 404, "/message",
     "the server could not find the requested resource"},
    {"a resource that is not", "GET", "/api/v1/nothing", NULL, NULL, 404, "/message",
     "the server could not find the requested resource"},
    {"a field that is no selector", "GET", CM "?fieldSelector=data.k%3Dv", NULL, NULL, 400,
     "/message", "field label not supported: data.k"},
    {"lists by name", "GET", CM "?fieldSelector=metadata.name%3Da", NULL, NULL, 200,
     "/items/0/metadata/name", "a"},
    {"lists by label", "GET", CM "?labelSelector=tier%20in%20(x,y)", NULL, NULL, 200,
     "/items/0/metadata/name", "a"},
    {"lists by a label that is not", "GET", CM "?labelSelector=!tier", NULL, NULL, 200,
     "/items/0/metadata/name", ""},
};

START_TEST(verbs)
{
    ek_fixture_send(&f, "POST", CM, NULL,
                    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"tier\":\"x\"}},"
                    "\"data\":{\"k\":\"v\"}}");
    ek_fixture_send(&f, "POST", LEASES, NULL, "{\"metadata\":{\"name\":\"l\"},\"spec\":{}}");
    int status =
        ek_fixture_send(&f, rows[_i].method, rows[_i].target, rows[_i].type, rows[_i].body);
    const char *text = ek_fixture_text(&f, rows[_i].pointer);
    ck_assert_msg(status == rows[_i].status, "%s: status %d: %s", rows[_i].name, status,
                  ek_fixture_body(&f));
    ck_assert_msg(strcmp(text, rows[_i].text) == 0, "%s: %s is \"%s\" in %s", rows[_i].name,
                  rows[_i].pointer, text, ek_fixture_body(&f));
}
END_TEST

START_TEST(what_changes_nothing_writes_nothing)
{
    ek_fixture_send(&f, "POST", CM, NULL, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    uint64_t rv = ek_apiserver_rv(f.server);
    f.now_ms += 60000;
    expect(ek_fixture_send(&f, "PUT", CM "/a", NULL,
                           "{\"data\":{\"k\":\"v\"},\"metadata\":{\"name\":\"a\"}}"),
           200);
    expect(ek_fixture_send(&f, "PATCH", CM "/a", MERGE, "{\"data\":{\"k\":\"v\"}}"), 200);
    ck_assert_uint_eq(ek_apiserver_rv(f.server), rv);
    ek_fixture_send(&f, "PATCH", CM "/a?fieldManager=m", APPLY, "{\"data\":{\"k\":\"v\"}}");
    ck_assert_uint_eq(ek_apiserver_rv(f.server), rv + 1);
    f.now_ms += 60000;
    ek_fixture_send(&f, "PATCH", CM "/a?fieldManager=m", APPLY, "{\"data\":{\"k\":\"v\"}}");
    ck_assert_uint_eq(ek_apiserver_rv(f.server), rv + 1);
}
END_TEST

START_TEST(finalizers_hold_an_object)
{
    ek_fixture_send(&f, "POST", CM, NULL,
                    "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"example.com/f\"]}}");
    expect(ek_fixture_send(&f, "DELETE", CM "/a", NULL, NULL), 200);
    ck_assert_str_ne(ek_fixture_text(&f, "/metadata/deletionTimestamp"), "");
    expect(ek_fixture_get(&f, CM "/a", NULL), 200);
    expect(ek_fixture_send(&f, "PATCH", CM "/a", MERGE, "{\"metadata\":{\"finalizers\":[]}}"), 200);
    expect(ek_fixture_get(&f, CM "/a", NULL), 404);
}
END_TEST

START_TEST(a_namespace_goes_with_its_last_object)
{
    const char *maps = "/api/v1/namespaces/n/configmaps";

    ek_fixture_send(&f, "POST", "/api/v1/namespaces", NULL, "{\"metadata\":{\"name\":\"n\"}}");
    ek_fixture_send(&f, "POST", maps, NULL, "{\"metadata\":{\"name\":\"a\"}}");
    ek_fixture_send(&f, "POST", maps, NULL,
                    "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"example.com/f\"]}}");
    expect(ek_fixture_send(&f, "DELETE", "/api/v1/namespaces/n", NULL, NULL), 200);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/phase"), "Terminating");
    expect(ek_fixture_get(&f, "/api/v1/namespaces/n/configmaps/a", NULL), 404);
    expect(ek_fixture_send(&f, "POST", maps, NULL, "{\"metadata\":{\"name\":\"c\"}}"), 403);
    expect(ek_fixture_send(&f, "DELETE", "/api/v1/namespaces/n/configmaps/b", NULL, NULL), 200);
    expect(ek_fixture_get(&f, "/api/v1/namespaces/n", NULL), 200);
    ek_fixture_send(&f, "PATCH", "/api/v1/namespaces/n/configmaps/b", MERGE,
                    "{\"metadata\":{\"finalizers\":null}}");
    expect(ek_fixture_get(&f, "/api/v1/namespaces/n", NULL), 404);
}
END_TEST

START_TEST(a_definition_is_served)
{
    expect(ek_fixture_get(&f, SHIPS, NULL), 404);
    expect(ek_fixture_send(&f, "POST", CRDS, NULL, crd), 201);
    ek_fixture_get(&f, CRDS "/ships.example.com", NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/1/type"), "Established");
    expect(ek_fixture_send(&f, "POST", SHIPS, NULL,
                           "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3,\"x\":1},"
                           "\"status\":{\"conditions\":[]}}"),
           201);
    ck_assert_str_eq(ek_fixture_text(&f, "/spec/flag"), "none");
    ck_assert_ptr_null(strstr(ek_fixture_body(&f), "\"x\""));
    ck_assert_ptr_null(strstr(ek_fixture_body(&f), "\"status\""));
    ck_assert_str_eq(f.response.headers[0].value, "299 - \"unknown field \\\"spec.x\\\"\"");
    expect(ek_fixture_send(&f, "PATCH", SHIPS "/a/status", MERGE,
                           "{\"spec\":{\"size\":9},\"status\":{\"conditions\":[{\"type\":"
                           "\"Ready\",\"status\":\"True\"}]}}"),
           200);
    ck_assert_int_eq(ek_fixture_number(&f, "/spec/size"), 3);
    ck_assert_int_eq(ek_fixture_number(&f, "/metadata/generation"), 1);
    expect(
        ek_fixture_send(&f, "PATCH", SHIPS "/a", MERGE, "{\"spec\":{\"size\":4},\"status\":null}"),
        200);
    ck_assert_int_eq(ek_fixture_number(&f, "/metadata/generation"), 2);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/0/status"), "True");
    ek_fixture_get(&f, SHIPS, "application/json;as=Table;v=v1;g=meta.k8s.io");
    ck_assert_str_eq(ek_fixture_text(&f, "/columnDefinitions/1/name"), "Size");
    ck_assert_int_eq(ek_fixture_number(&f, "/rows/0/cells/1"), 4);
    ck_assert_str_eq(ek_fixture_text(&f, "/rows/0/cells/2"), "True");
    expect(ek_fixture_send(&f, "DELETE", CRDS "/ships.example.com", NULL, NULL), 200);
    expect(ek_fixture_get(&f, SHIPS, NULL), 404);
    expect(ek_fixture_send(&f, "POST", CRDS, NULL, crd), 201);
    expect(ek_fixture_get(&f, SHIPS "/a", NULL), 404);
}
END_TEST

static const struct {
    const char *name, *body;
    int status;
    const char *message;
} invalid_rows[] = {
    {"required", "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}", 422,
     "Ship.example.com \"a\" is invalid: spec.size: Required value"},
    {"type", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":\"x\"}}", 422,
     "Ship.example.com \"a\" is invalid: spec.size: Invalid value: \"string\": spec.size in body "
     "must be of type integer: \"string\""},
    {"minimum", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":0}}", 422,
     "Ship.example.com \"a\" is invalid: spec.size: Invalid value: 0: spec.size in body should be "
     "greater than or equal to 1"},
    {"enum", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":1,\"flag\":\"blue\"}}", 422,
     "Ship.example.com \"a\" is invalid: spec.flag: Unsupported value: \"blue\": supported values: "
     "\"none\", \"red\""},
    {"unknown", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":1,\"x\":1}}", 400,
     "Ship in version \"v1\" cannot be handled as a Ship: strict decoding error: unknown field "
     "\"spec.x\""},
};

START_TEST(custom_resources_are_checked)
{
    ek_fixture_send(&f, "POST", CRDS, NULL, crd);
    int status =
        ek_fixture_send(&f, "POST", SHIPS "?fieldValidation=Strict", NULL, invalid_rows[_i].body);
    ck_assert_msg(status == invalid_rows[_i].status, "%s: %d", invalid_rows[_i].name, status);
    ck_assert_str_eq(ek_fixture_text(&f, "/message"), invalid_rows[_i].message);
}
END_TEST

START_TEST(appliers_share_a_status)
{
    const char *status = SHIPS "/a/status?fieldManager=";
    char target[128];

    ek_fixture_send(&f, "POST", CRDS, NULL, crd);
    ek_fixture_send(&f, "POST", SHIPS, NULL,
                    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3}}");
    snprintf(target, sizeof(target), "%sone", status);
    expect(ek_fixture_send(&f, "PATCH", target, APPLY,
                           "{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\"},"
                           "{\"type\":\"B\",\"status\":\"True\"}]}}"),
           200);
    snprintf(target, sizeof(target), "%stwo", status);
    expect(ek_fixture_send(&f, "PATCH", target, APPLY,
                           "{\"status\":{\"conditions\":[{\"type\":\"C\",\"status\":\"True\"}]}}"),
           200);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/2/type"), "C");
    /* One's field, another value: refused, then forced. */
    const char *other = "{\"status\":{\"conditions\":[{\"type\":\"C\",\"status\":\"True\"},"
                        "{\"type\":\"A\",\"status\":\"False\"}]}}";
    expect(ek_fixture_send(&f, "PATCH", target, APPLY, other), 409);
    ck_assert_str_eq(ek_fixture_text(&f, "/message"),
                     "Apply failed with 1 conflict: conflict with \"one\" with subresource "
                     "\"status\": .status.conditions[type=\"A\"].status");
    ck_assert_str_eq(ek_fixture_text(&f, "/details/causes/0/reason"), "FieldManagerConflict");
    snprintf(target, sizeof(target), "%stwo&force=true", status);
    expect(ek_fixture_send(&f, "PATCH", target, APPLY, other), 200);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/0/status"), "False");
    /* What nobody sends any more goes; what another still holds stays. */
    snprintf(target, sizeof(target), "%sone", status);
    expect(ek_fixture_send(&f, "PATCH", target, APPLY, "{\"status\":{}}"), 200);
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/0/type"), "A");
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/1/type"), "C");
    ck_assert_str_eq(ek_fixture_text(&f, "/status/conditions/2/type"), "");
}
END_TEST

START_TEST(updates_take_fields_from_appliers)
{
    ek_fixture_send(&f, "PATCH", CM "/a?fieldManager=m", APPLY,
                    "{\"data\":{\"k\":\"v\",\"l\":\"v\"}}");
    ek_fixture_send(&f, "PATCH", CM "/a?fieldManager=u", MERGE, "{\"data\":{\"k\":\"w\"}}");
    char *fields =
        yyjson_val_write(yyjson_doc_ptr_get(f.json, "/metadata/managedFields/0/fieldsV1"), 0, NULL);
    ck_assert_str_eq(fields, "{\"f:data\":{\"f:l\":{}}}");
    free(fields);
    fields =
        yyjson_val_write(yyjson_doc_ptr_get(f.json, "/metadata/managedFields/1/fieldsV1"), 0, NULL);
    ck_assert_str_eq(fields, "{\"f:data\":{\"f:k\":{}}}");
    free(fields);
    expect(ek_fixture_send(&f, "PATCH", CM "/a?fieldManager=m", APPLY, "{\"data\":{}}"), 200);
    ck_assert_str_eq(ek_fixture_text(&f, "/data/k"), "w");
    ck_assert_str_eq(ek_fixture_text(&f, "/data/l"), "");
}
END_TEST

START_TEST(events_have_two_shapes)
{
    const char *v1 = "/apis/events.k8s.io/v1/namespaces/default/events";
    const char *core = "/api/v1/namespaces/default/events";
    char target[256];

    expect(ek_fixture_send(&f, "POST", v1, NULL,
                           "{\"metadata\":{\"name\":\"e\"},\"regarding\":{\"kind\":\"Node\","
                           "\"name\":\"n\"},\"note\":\"hello\",\"type\":\"Normal\"}"),
           201);
    ck_assert_str_eq(ek_fixture_text(&f, "/note"), "hello");
    snprintf(target, sizeof(target), "%s?fieldSelector=involvedObject.name%%3Dn", core);
    ek_fixture_get(&f, target, NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/items/0/message"), "hello");
    snprintf(target, sizeof(target), "%s?fieldSelector=regarding.name%%3Dother", v1);
    ek_fixture_get(&f, target, NULL);
    ck_assert_str_eq(ek_fixture_text(&f, "/items/0/note"), "");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rest");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, verbs, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, what_changes_nothing_writes_nothing);
    tcase_add_test(tcase, finalizers_hold_an_object);
    tcase_add_test(tcase, a_namespace_goes_with_its_last_object);
    tcase_add_test(tcase, a_definition_is_served);
    tcase_add_loop_test(tcase, custom_resources_are_checked, 0, EK_ARRAY_SIZE(invalid_rows));
    tcase_add_test(tcase, appliers_share_a_status);
    tcase_add_test(tcase, updates_take_fields_from_appliers);
    tcase_add_test(tcase, events_have_two_shapes);
    return ek_test_run("apiserver_rest", tcase);
}
