/* SPDX-License-Identifier: Apache-2.0 */
#include "api/admission.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/obj.h"

#define OBJECT_LEVEL 2 /* an AdmissionReview has its objects in {"request": {"object": ...}} */

static void read_kind(yyjson_val *v, struct ek_gvk *ret_kind)
{
    *ret_kind = (struct ek_gvk){ek_json_text(v, "group"), ek_json_text(v, "version"),
                                ek_json_text(v, "kind")};
}

static void read_resource(yyjson_val *v, struct ek_gvr *ret_resource)
{
    *ret_resource = (struct ek_gvr){ek_json_text(v, "group"), ek_json_text(v, "version"),
                                    ek_json_text(v, "resource")};
}

static yyjson_val *value_or_null(yyjson_val *parent, const char *name)
{
    yyjson_val *v = yyjson_obj_get(parent, name);

    return yyjson_is_null(v) ? NULL : v;
}

static int check_operation(const char *operation, struct ek_err *err)
{
    static const char *const known[] = {"CREATE", "UPDATE", "DELETE", "CONNECT"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(known); i++)
        if (!strcmp(operation, known[i]))
            return 0;
    return ek_err_set(err, EK_E_PARSE,
                      "request.operation is none of CREATE, UPDATE, DELETE, "
                      "CONNECT");
}

/* The request members that describe the client's own request are absent when it equals this one. */
static void read_original(yyjson_val *root, struct ek_admission_request *r)
{
    yyjson_val *kind = yyjson_obj_get(root, "requestKind");
    yyjson_val *resource = yyjson_obj_get(root, "requestResource");

    r->request_kind = r->kind;
    r->request_resource = r->resource;
    r->request_subresource = ek_json_text(root, "requestSubResource");
    if (yyjson_is_obj(kind))
        read_kind(kind, &r->request_kind);
    if (yyjson_is_obj(resource))
        read_resource(resource, &r->request_resource);
    if (!*r->request_subresource && !yyjson_is_obj(resource))
        r->request_subresource = r->subresource;
}

static int check_object(yyjson_val *v, const char *name, struct ek_err *err)
{
    return !v || yyjson_is_obj(v)
               ? 0
               : ek_err_set(err, EK_E_PARSE, "request.%s is not an object", name);
}

int ek_admission_request_read(yyjson_val *root, struct ek_admission_request *ret_request,
                              struct ek_err *err)
{
    struct ek_admission_request r = {.root = root};

    if (!yyjson_is_obj(root))
        return ek_err_set(err, EK_E_PARSE, "request is missing or not an object");
    r.uid = ek_json_text(root, "uid");
    read_kind(yyjson_obj_get(root, "kind"), &r.kind);
    read_resource(yyjson_obj_get(root, "resource"), &r.resource);
    r.subresource = ek_json_text(root, "subResource");
    read_original(root, &r);
    r.name = ek_json_text(root, "name");
    r.namespace = ek_json_text(root, "namespace");
    r.operation = ek_json_text(root, "operation");
    r.dry_run = yyjson_is_true(yyjson_obj_get(root, "dryRun"));
    r.user_info = yyjson_obj_get(root, "userInfo");
    r.object = value_or_null(root, "object");
    r.old_object = value_or_null(root, "oldObject");
    if (!*r.kind.kind || !*r.resource.resource)
        return ek_err_set(err, EK_E_PARSE, "request.kind or request.resource is missing");
    int rc = check_operation(r.operation, err);
    if (!rc)
        rc = check_object(r.object, "object", err);
    if (!rc)
        rc = check_object(r.old_object, "oldObject", err);
    if (!rc)
        *ret_request = r;
    return rc;
}

int ek_admission_review_parse(const char *body, size_t len, struct ek_admission_review *ret_review,
                              struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse_envelope(body, len, OBJECT_LEVEL, err);

    if (!doc)
        return err ? err->code : EK_E_PARSE;
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct ek_admission_request request;
    int rc = 0;
    if (strcmp(ek_json_text(root, "kind"), "AdmissionReview") != 0 ||
        strcmp(ek_json_text(root, "apiVersion"), "admission.k8s.io/v1") != 0)
        rc = ek_err_set(err, EK_E_PARSE,
                        "expected an AdmissionReview of admission.k8s.io/v1, as a webhook with "
                        "admissionReviewVersions [v1] gets it");
    if (!rc)
        rc = ek_admission_request_read(yyjson_obj_get(root, "request"), &request, err);
    if (!rc && !*request.uid)
        rc = ek_err_set(err, EK_E_PARSE, "request.uid is missing");
    if (rc) {
        yyjson_doc_free(doc);
        return rc;
    }
    *ret_review = (struct ek_admission_review){doc, request};
    return 0;
}

void ek_admission_review_done(struct ek_admission_review *review)
{
    yyjson_doc_free(review->doc);
    review->doc = NULL;
}

/* More than any number has in JSON (RFC 8259), with what follows it. */
#define NUMBER_SIZE 32

static size_t string_size(yyjson_mut_val *v)
{
    const char *s = yyjson_mut_get_str(v);
    size_t len = yyjson_mut_get_len(v), n = len + 2;

    for (size_t i = 0; i < len; i++) /* "\u0001" and "\\" */
        n += (unsigned char)s[i] < ' ' ? 5 : s[i] == '"' || s[i] == '\\';
    return n;
}

/* At least what the value comes to as JSON, with what follows it. */
static size_t json_size(yyjson_mut_val *v)
{
    yyjson_mut_val *key, *item;
    size_t i, max, n = 3;

    if (yyjson_mut_is_str(v))
        return string_size(v) + 1;
    if (!yyjson_mut_is_ctn(v))
        return yyjson_mut_is_num(v) ? NUMBER_SIZE : sizeof "false,";
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, max, item) n += json_size(item);
    } else {
        yyjson_mut_obj_foreach(v, i, max, key, item) n += json_size(key) + json_size(item);
    }
    return n;
}

/* The JSON and its base64 exist at a time; then that and the review; then the review and out, whose
 * growth may double it. Base64 has a third more octets than the JSON. */
size_t ek_admission_response_memory(const struct ek_admission_response *response)
{
    return response->patch ? 4 * json_size(response->patch) : 0;
}

/* The patch as a JSON string in base64, owned. Returns EK_E_NOMEM, or 0 with *ret_text NULL for no
 * patch. */
static int encode_patch(yyjson_mut_val *patch, char **ret_text, size_t *ret_len)
{
    size_t len;

    *ret_text = NULL;
    if (!patch || yyjson_mut_arr_size(patch) == 0)
        return 0;
    char *json = yyjson_mut_val_write_opts(patch, YYJSON_WRITE_NOFLAG, &ek_json_alc, &len, NULL);
    char *text = json ? ek_alloc(EK_BASE64_LEN(len) + 3) : NULL;
    if (text) {
        *ret_len = EK_BASE64_LEN(len) + 2;
        ek_base64_write(json, len, text + 1);
        text[0] = text[*ret_len - 1] = '"';
        text[*ret_len] = '\0';
    }
    ek_free(json);
    *ret_text = text;
    return text ? 0 : EK_E_NOMEM;
}

static void add_status(yyjson_mut_doc *doc, yyjson_mut_val *response,
                       const struct ek_admission_response *r)
{
    if (r->allowed)
        return;
    yyjson_mut_val *status = yyjson_mut_obj_add_obj(doc, response, "status");
    yyjson_mut_obj_add_int(doc, status, "code", r->code ? r->code : 403);
    yyjson_mut_obj_add_str(doc, status, "status", "Failure");
    if (r->reason)
        yyjson_mut_obj_add_str(doc, status, "reason", r->reason);
    yyjson_mut_obj_add_str(doc, status, "message", r->message ? r->message : "");
}

static void add_notes(yyjson_mut_doc *doc, yyjson_mut_val *response,
                      const struct ek_admission_response *r)
{
    if (r->n_warnings) {
        yyjson_mut_val *warnings = yyjson_mut_obj_add_arr(doc, response, "warnings");
        for (size_t i = 0; i < r->n_warnings && i < EK_ADMISSION_WARNINGS_MAX; i++)
            yyjson_mut_arr_add_str(doc, warnings, r->warnings[i]);
    }
    if (r->n_audit_annotations) {
        yyjson_mut_val *audit = yyjson_mut_obj_add_obj(doc, response, "auditAnnotations");
        for (size_t i = 0; i < r->n_audit_annotations; i++)
            yyjson_mut_obj_add_str(doc, audit, r->audit_annotations[2 * i],
                                   r->audit_annotations[2 * i + 1]);
    }
}

/* The review as JSON, owned; patch is a JSON string or NULL. NULL without memory. */
static char *write_review(const struct ek_admission_response *response, const char *patch,
                          size_t patch_len, size_t *ret_len)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "admission.k8s.io/v1");
    yyjson_mut_obj_add_str(doc, root, "kind", "AdmissionReview");
    yyjson_mut_val *r = yyjson_mut_obj_add_obj(doc, root, "response");
    yyjson_mut_obj_add_str(doc, r, "uid", response->uid);
    bool ok = yyjson_mut_obj_add_bool(doc, r, "allowed", response->allowed);
    add_status(doc, r, response);
    add_notes(doc, r, response);
    if (patch)
        ok = ok &&
             yyjson_mut_obj_add_val(doc, r, "patch", yyjson_mut_rawn(doc, patch, patch_len)) &&
             yyjson_mut_obj_add_str(doc, r, "patchType", "JSONPatch");
    char *json =
        ok ? yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &ek_json_alc, ret_len, NULL) : NULL;
    yyjson_mut_doc_free(doc);
    return json;
}

int ek_admission_response_write(const struct ek_admission_response *response, struct ek_buf *out)
{
    char *patch;
    size_t patch_len = 0, len;

    int rc = encode_patch(response->patch, &patch, &patch_len);
    if (rc)
        return rc;
    char *json = write_review(response, patch, patch_len, &len);
    ek_free(patch);
    rc = json ? ek_buf_append(out, json, len) : EK_E_NOMEM;
    ek_free(json);
    return rc;
}
