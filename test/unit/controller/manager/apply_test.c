/* SPDX-License-Identifier: Apache-2.0 */
/* Server-side apply, create and get against a scripted server; what is sent, what failures mean. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/manager/apply.h"
#include "test/support/apitest.h"
#include "test/support/suite.h"

#define BASE "/apis/evenkeel.dev/v1alpha1/controlplanes"

static const struct ek_resource control_planes = {.group = "evenkeel.dev",
                                                  .version = "v1alpha1",
                                                  .resource = "controlplanes",
                                                  .kind = "ControlPlane"};
static const struct ek_resource config_maps = {.group = "",
                                               .version = "v1",
                                               .resource = "configmaps",
                                               .kind = "ConfigMap",
                                               .namespace = "kube-system"};

struct outcome {
    unsigned done;
    int code;
    char message[768];
    char name[64]; /* of the object, "" without one */
};

static void on_done(void *ctx, const struct ek_obj *obj, const struct ek_err *err)
{
    struct outcome *o = ctx;
    o->done++;
    o->code = err ? err->code : 0;
    snprintf(o->message, sizeof o->message, "%s", err ? err->message : "");
    snprintf(o->name, sizeof o->name, "%s", obj ? ek_obj_name(obj) : "");
}

enum operation { OBJECT, STATUS, CREATE, PATCH, PATCH_STATUS, DELETE };

static const struct row {
    const char *name;
    enum operation op;
    const char *uid, *resource_version;
    struct apitest_exchange exchange;
    int code;
    const char *message; /* its beginning */
    const char *object;  /* name of what is handed back */
} rows[] = {
    {"apply",
     OBJECT,
     NULL,
     NULL,
     {"PATCH " BASE "/cluster?fieldManager=evenkeel&force=true", "application/apply-patch+yaml",
      "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"ControlPlane\",\"metadata\":{\"labels\""
      ":{\"a\":\"b\"},\"name\":\"cluster\"},\"spec\":{\"x\":1}}",
      200, "{\"kind\":\"ControlPlane\",\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"apply creates",
     OBJECT,
     NULL,
     NULL,
     {"PATCH " BASE "/cluster?fieldManager=evenkeel&force=true", NULL, NULL, 201,
      "{\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"status, with preconditions",
     STATUS,
     "u-1",
     "77",
     {"PATCH " BASE "/cluster/status?fieldManager=evenkeel&force=true",
      "application/apply-patch+yaml",
      "\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"cluster\",\"uid\":\"u-1\","
      "\"resourceVersion\":\"77\"}",
      200, "{\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"conflict",
     STATUS,
     NULL,
     "77",
     {"PATCH " BASE "/cluster/status?fieldManager=evenkeel&force=true", NULL, NULL, 409,
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"the object "
      "has been modified\",\"reason\":\"Conflict\",\"code\":409}",
      NULL},
     EK_E_CONFLICT,
     "applying the status of controlplanes.evenkeel.dev cluster: ",
     ""},
    {"create",
     CREATE,
     "ignored",
     "ignored",
     {"POST " BASE "?fieldManager=evenkeel", "application/json",
      "\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"cluster\"}", 201,
      "{\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"create what exists",
     CREATE,
     NULL,
     NULL,
     {"POST " BASE "?fieldManager=evenkeel", NULL, NULL, 409,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"already exists\",\"reason\":"
      "\"AlreadyExists\",\"code\":409}",
      NULL},
     0,
     "",
     ""},
    {"create without permission",
     CREATE,
     NULL,
     NULL,
     {"POST " BASE "?fieldManager=evenkeel", NULL, NULL, 403,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"Forbidden\","
      "\"code\":403}",
      NULL},
     EK_E_FORBIDDEN,
     "creating controlplanes.evenkeel.dev cluster: ",
     ""},
    {"patch",
     PATCH,
     "u-1",
     "77",
     {"PATCH " BASE "/cluster?fieldManager=evenkeel", "application/merge-patch+json",
      "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"ControlPlane\",\"metadata\":{\"labels\""
      ":{\"a\":\"b\"},\"name\":\"cluster\",\"uid\":\"u-1\",\"resourceVersion\":\"77\"},\"spec\":{"
      "\"x\":1}}",
      200, "{\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"patch what is gone",
     PATCH,
     NULL,
     NULL,
     {"PATCH " BASE "/cluster?fieldManager=evenkeel", NULL, NULL, 404,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"gone\",\"reason\":\"NotFound\","
      "\"code\":404}",
      NULL},
     EK_E_NOENT,
     "patching controlplanes.evenkeel.dev cluster: ",
     ""},
    {"patch of the status",
     PATCH_STATUS,
     NULL,
     "77",
     {"PATCH " BASE "/cluster/status?fieldManager=evenkeel", "application/merge-patch+json",
      "\"resourceVersion\":\"77\"", 200, "{\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"delete",
     DELETE,
     "u-1",
     "77",
     {"DELETE " BASE "/cluster", "application/json",
      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u-1\","
      "\"resourceVersion\":\"77\"}}",
      200, "{\"metadata\":{\"name\":\"cluster\"}}", NULL},
     0,
     "",
     "cluster"},
    {"delete what is gone",
     DELETE,
     "u-1",
     NULL,
     {"DELETE " BASE "/cluster", NULL, NULL, 404,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"gone\",\"reason\":\"NotFound\","
      "\"code\":404}",
      NULL},
     0,
     "",
     ""},
    {"delete what changed",
     DELETE,
     "u-1",
     "77",
     {"DELETE " BASE "/cluster", NULL, NULL, 409,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"changed\",\"reason\":\"Conflict\","
      "\"code\":409}",
      NULL},
     EK_E_CONFLICT,
     "deleting controlplanes.evenkeel.dev cluster: ",
     ""},
    {"garbage instead of an object",
     CREATE,
     NULL,
     NULL,
     {"POST " BASE "?fieldManager=evenkeel", NULL, NULL, 200, "<html>", NULL},
     EK_E_PARSE,
     "creating controlplanes.evenkeel.dev cluster: ",
     ""},
};

static yyjson_mut_val *content_of(yyjson_mut_doc *doc)
{
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(doc, content, "metadata");
    yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, meta, "labels"), "a", "b");
    yyjson_mut_obj_add_int(doc, yyjson_mut_obj_add_obj(doc, content, "spec"), "x", 1);
    return content;
}

START_TEST(operations)
{
    const struct row *row = &rows[_i];
    const struct ek_apply_target target = {.resource = &control_planes,
                                           .name = "cluster",
                                           .uid = row->uid,
                                           .resource_version = row->resource_version};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *content = content_of(doc);
    struct outcome o = {0};
    struct apitest t;

    apitest_init(&t, &row->exchange, 1);
    switch (row->op) {
    case OBJECT:
        ek_apply_object(t.client, &target, content, on_done, &o);
        break;
    case STATUS:
        ek_apply_status(t.client, &target, content, on_done, &o);
        break;
    case CREATE:
        ek_apply_create(t.client, &target, content, on_done, &o);
        break;
    case PATCH:
        ek_apply_patch(t.client, &target, content, on_done, &o);
        break;
    case PATCH_STATUS:
        ek_apply_patch_status(t.client, &target, content, on_done, &o);
        break;
    case DELETE:
        ek_apply_delete(t.client, &target, content, on_done, &o);
        break;
    }
    yyjson_mut_doc_free(doc); /* everything was copied */
    ck_assert_uint_eq(o.done, 0);
    apitest_run_until(&t, &o.done);
    ck_assert_msg(o.code == row->code, "%s: code %d, %s", row->name, o.code, o.message);
    ck_assert_msg(!strncmp(o.message, row->message, strlen(row->message)), "%s: %s", row->name,
                  o.message);
    ck_assert_msg(!strcmp(o.name, row->object), "%s: object %s", row->name, o.name);
    apitest_done(&t);
}
END_TEST

START_TEST(canceled)
{
    const struct ek_apply_target target = {.resource = &control_planes, .name = "cluster"};
    struct outcome o = {0};
    struct apitest t;

    apitest_init(&t, NULL, 0);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    ek_apply_cancel(ek_apply_create(t.client, &target, content_of(doc), on_done, &o));
    yyjson_mut_doc_free(doc);
    ek_apply_cancel(NULL);
    apitest_done(&t);
    ck_assert_uint_eq(o.done, 0);
}
END_TEST

START_TEST(namespaced_body)
{
    const struct ek_apply_target target = {.resource = &config_maps, .name = "x"};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    size_t size = 0;

    yyjson_mut_obj_add_str(doc, content, "kind", "Ignored");
    yyjson_mut_obj_add_str(doc, content, "status", "s");
    char *json = ek_apply_body(&target, content, &size);
    ck_assert_str_eq(json, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                           "\"x\",\"namespace\":\"kube-system\"},\"status\":\"s\"}");
    ck_assert_uint_eq(size, strlen(json));
    free(json);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* A refusal to create says what to do; other refusals stay as they are. */
START_TEST(absent_objects)
{
    static const struct {
        int code;
        const char *message;
        bool explained;
    } rows_of_errors[] = {
        {EK_E_FORBIDDEN, "User \"x\" cannot create resource \"secrets\" in API group \"\"", true},
        {EK_E_FORBIDDEN, "User \"x\" cannot patch resource \"secrets\" in API group \"\"", false},
        {EK_E_SERVER, "cannot create resource", false},
        {0, "", false},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows_of_errors); i++) {
        struct ek_err err = {0};
        if (rows_of_errors[i].code)
            ek_err_set(&err, rows_of_errors[i].code, "%s", rows_of_errors[i].message);
        ek_apply_explain(&err);
        ck_assert_int_eq(err.code, rows_of_errors[i].code);
        ck_assert(strstr(err.message, rows_of_errors[i].message) != NULL);
        ck_assert((strstr(err.message, "apply the manifests of Evenkeel again") != NULL) ==
                  rows_of_errors[i].explained);
    }
}
END_TEST

static const struct class_row {
    int code, status;
    enum ek_apply_class want;
} class_rows[] = {
    {0, 0, EK_APPLY_DONE},
    {EK_E_CONFLICT, 409, EK_APPLY_CONFLICT},
    {EK_E_EXIST, 409, EK_APPLY_CONFLICT},
    {EK_E_NOENT, 404, EK_APPLY_ABSENT},
    {EK_E_UNAUTHORIZED, 401, EK_APPLY_DENIED},
    {EK_E_FORBIDDEN, 403, EK_APPLY_DENIED},
    {EK_E_INVAL, 422, EK_APPLY_TERMINAL},
    {EK_E_LIMIT, 0, EK_APPLY_TERMINAL},
    {EK_E_HTTP, 413, EK_APPLY_TERMINAL},
    {EK_E_HTTP, 415, EK_APPLY_TERMINAL},
    {EK_E_HTTP, 418, EK_APPLY_LATER},
    {EK_E_THROTTLED, 429, EK_APPLY_LATER},
    {EK_E_SERVER, 500, EK_APPLY_LATER},
    {EK_E_TIMEOUT, 0, EK_APPLY_LATER},
    {EK_E_REFUSED, 0, EK_APPLY_LATER},
    {EK_E_TLS, 0, EK_APPLY_LATER},
};

START_TEST(classes)
{
    const struct class_row *row = &class_rows[_i];
    struct ek_err err = {.code = row->code, .http_status = row->status};
    enum ek_apply_class got = ek_apply_classify(row->code ? &err : NULL);
    ck_assert_msg(got == row->want, "%s %d: class %d", ek_strerror(row->code), row->status, got);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("apply");
    tcase_add_loop_test(tc, operations, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, canceled);
    tcase_add_test(tc, namespaced_body);
    tcase_add_test(tc, absent_objects);
    tcase_add_loop_test(tc, classes, 0, (int)EK_ARRAY_SIZE(class_rows));
    return ek_test_run("apply", tc);
}
