/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/review.h"

#include <openssl/sha.h>
#include <stdio.h>

#include "api/base/quote.h"
#include "api/obj.h"

#define REVIEW_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* ---- The question ---- */

static void add_str(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, struct ek_str s)
{
    if (s.len > 0)
        yyjson_mut_obj_add_strn(doc, obj, name, s.p, s.len);
}

static void copy_member(yyjson_mut_doc *doc, yyjson_mut_val *spec, const char *to, yyjson_val *user,
                        const char *from)
{
    yyjson_val *value = yyjson_obj_get(user, from);

    if (value && !yyjson_is_null(value))
        yyjson_mut_obj_add_val(doc, spec, to, yyjson_val_mut_copy(doc, value));
}

static void add_user(yyjson_mut_doc *doc, yyjson_mut_val *spec, yyjson_val *user)
{
    copy_member(doc, spec, "user", user, "username");
    copy_member(doc, spec, "groups", user, "groups");
    copy_member(doc, spec, "uid", user, "uid");
    copy_member(doc, spec, "extra", user, "extra");
}

/* authorizer.serviceAccount(namespace, name). */
static void add_account(yyjson_mut_doc *doc, yyjson_mut_val *spec,
                        const struct ek_cel_authz_attributes *what)
{
    int namespace_len = (int)what->account_namespace.len, name_len = (int)what->account_name.len;
    EK_AUTOFREE char *user =
        ek_xasprintf("system:serviceaccount:%.*s:%.*s", namespace_len, what->account_namespace.p,
                     name_len, what->account_name.p);
    EK_AUTOFREE char *group =
        ek_xasprintf("system:serviceaccounts:%.*s", namespace_len, what->account_namespace.p);

    yyjson_mut_obj_add_strcpy(doc, spec, "user", user);
    yyjson_mut_val *groups = yyjson_mut_obj_add_arr(doc, spec, "groups");
    yyjson_mut_arr_add_str(doc, groups, "system:serviceaccounts");
    yyjson_mut_arr_add_strcpy(doc, groups, group);
}

static void add_raw_selector(yyjson_mut_doc *doc, yyjson_mut_val *attributes, const char *name,
                             struct ek_str selector)
{
    if (selector.len > 0)
        add_str(doc, yyjson_mut_obj_add_obj(doc, attributes, name), "rawSelector", selector);
}

static void add_attributes(yyjson_mut_doc *doc, yyjson_mut_val *spec,
                           const struct ek_cel_authz_attributes *what)
{
    yyjson_mut_val *attributes = yyjson_mut_obj_add_obj(
        doc, spec, what->is_resource ? "resourceAttributes" : "nonResourceAttributes");

    add_str(doc, attributes, "verb", what->verb);
    if (!what->is_resource) {
        add_str(doc, attributes, "path", what->path);
        return;
    }
    add_str(doc, attributes, "group", what->group);
    yyjson_mut_obj_add_str(doc, attributes, "version", "*");
    add_str(doc, attributes, "resource", what->resource);
    add_str(doc, attributes, "subresource", what->subresource);
    add_str(doc, attributes, "namespace", what->namespace_);
    add_str(doc, attributes, "name", what->name);
    add_raw_selector(doc, attributes, "fieldSelector", what->field_selector);
    add_raw_selector(doc, attributes, "labelSelector", what->label_selector);
}

static char *hash(const char *text, size_t len)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char *key = ek_xalloc(2 * sizeof digest + 1);

    SHA256((const unsigned char *)text, len, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(key + 2 * i, 3, "%02x", digest[i]);
    return key;
}

struct ek_webhook_ask *ek_webhook_review_ask(yyjson_val *user_info,
                                             const struct ek_cel_authz_attributes *what)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    size_t size = 0;

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "authorization.k8s.io/v1");
    yyjson_mut_obj_add_str(doc, root, "kind", "SubjectAccessReview");
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    if (what->account_name.len > 0)
        add_account(doc, spec, what);
    else
        add_user(doc, spec, user_info);
    add_attributes(doc, spec, what);
    char *body = yyjson_mut_write_opts(doc, 0, &ek_json_alc, &size, NULL);
    yyjson_mut_doc_free(doc);
    if (!body)
        return NULL;
    return ek_webhook_ask_new(hash(body, size), ek_xstrdup(REVIEW_PATH), body, size);
}

/* ---- The answer ---- */

static void keep(char out[EK_WEBHOOK_REASON_SIZE], const char *text)
{
    struct ek_str s = ek_str_from(text ? text : "");

    s.len = ek_utf8_cut(s, EK_WEBHOOK_REASON_SIZE - 1);
    snprintf(out, EK_WEBHOOK_REASON_SIZE, "%.*s", (int)s.len, s.p);
}

bool ek_webhook_review_read(const struct ek_webhook_ask *ask, struct ek_webhook_review *ret_review)
{
    struct ek_err err = ask->err;

    *ret_review = (struct ek_webhook_review){0};
    yyjson_doc *doc = err.code ? NULL : ek_json_parse(ask->answer, ask->answer_size, &err);
    if (!doc) {
        ek_err_prefix(&err, "SubjectAccessReview");
        keep(ret_review->error, err.message);
        return false;
    }
    yyjson_val *status = yyjson_obj_get(yyjson_doc_get_root(doc), "status");
    bool is_answer = yyjson_is_bool(yyjson_obj_get(status, "allowed"));
    ret_review->allowed = yyjson_get_bool(yyjson_obj_get(status, "allowed"));
    keep(ret_review->reason, ek_json_str(status, "reason", NULL));
    keep(ret_review->error, is_answer ? ek_json_str(status, "evaluationError", NULL)
                                      : "SubjectAccessReview: the answer has no status");
    yyjson_doc_free(doc);
    return is_answer && !*ret_review->error;
}
