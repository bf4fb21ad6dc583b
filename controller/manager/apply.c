/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/apply.h"
#include "api/base/words.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST_TIMEOUT_MS 30000
#define ANSWER_MAX         ((size_t)16 << 20)

struct ek_apply {
    struct ek_call *call;
    ek_apply_fn on_done;
    void *ctx;
    char *what; /* "applying the status of controlplanes.evenkeel.dev cluster", owned */
    int fine;   /* an error that is none: the object exists already, or is gone already */
};

static void add_if_given(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key,
                         const char *value)
{
    if (ek_is_given(value))
        yyjson_mut_obj_put(obj, yyjson_mut_str(doc, key), yyjson_mut_str(doc, value));
}

/* apiVersion and kind first, then metadata, then the rest as content has it. */
static yyjson_mut_val *make_root(yyjson_mut_doc *doc, const struct ek_apply_target *target,
                                 yyjson_mut_val *content)
{
    const struct ek_resource *r = target->resource;
    yyjson_mut_val *root = yyjson_mut_obj(doc), *key, *value;
    yyjson_mut_val *given_meta = yyjson_mut_obj_get(content, "metadata");
    yyjson_mut_val *meta =
        given_meta ? yyjson_mut_val_mut_copy(doc, given_meta) : yyjson_mut_obj(doc);
    size_t i, n;

    EK_AUTOFREE char *api_version = ek_is_given(r->group)
                                        ? ek_xasprintf("%s/%s", r->group, r->version)
                                        : ek_xstrdup(r->version);
    yyjson_mut_obj_add_strcpy(doc, root, "apiVersion", api_version);
    yyjson_mut_obj_add_str(doc, root, "kind", r->kind);
    yyjson_mut_obj_add_val(doc, root, "metadata", meta);
    add_if_given(doc, meta, "name", target->name);
    add_if_given(doc, meta, "namespace", r->namespace);
    add_if_given(doc, meta, "uid", target->uid);
    add_if_given(doc, meta, "resourceVersion", target->resource_version);
    yyjson_mut_obj_foreach(content, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        if (strcmp(name, "metadata") != 0 && strcmp(name, "apiVersion") != 0 &&
            strcmp(name, "kind") != 0)
            yyjson_mut_obj_add(root, yyjson_mut_val_mut_copy(doc, key),
                               yyjson_mut_val_mut_copy(doc, value));
    }
    return root;
}

char *ek_apply_body(const struct ek_apply_target *target, yyjson_mut_val *content, size_t *ret_size)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_doc_set_root(doc, make_root(doc, target, content));
    char *json = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &ek_json_xalc, ret_size, NULL);
    yyjson_mut_doc_free(doc);
    return json;
}

static void release(struct ek_apply *apply)
{
    ek_free(apply->what);
    ek_free(apply);
}

void ek_apply_explain(struct ek_err *err)
{
    /* The verb is the API server's: an apply of an object that does not exist requires "create"
     * (staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes 1.36). */
    if (err->code == EK_E_FORBIDDEN && strstr(err->message, "cannot create resource"))
        ek_err_prefix(err, "the object does not exist and may not be created; apply the manifests "
                           "of Evenkeel again (kubectl apply -k deploy)");
}

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_apply *apply = ctx;
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
    struct ek_err local = {0};

    if (!err)
        ek_obj_parse(resp->body.p, resp->body.len, &obj, &local);
    else if (err->code != apply->fine)
        local = *err;
    ek_apply_explain(&local);
    ek_err_prefix(&local, "%s", apply->what);
    ek_apply_fn on_done = apply->on_done;
    void *done_ctx = apply->ctx;
    release(apply);
    on_done(done_ctx, obj, local.code ? &local : NULL);
}

enum operation { OBJECT, STATUS, CREATE, PATCH, PATCH_STATUS, DELETE, LIST };

static const struct {
    const char *method, *content_type, *suffix, *query, *what;
} operations[] = {
    [OBJECT] = {"PATCH", "application/apply-patch+yaml", "",
                "?fieldManager=" EK_FIELD_MANAGER "&force=true", "applying"},
    [STATUS] = {"PATCH", "application/apply-patch+yaml", "/status",
                "?fieldManager=" EK_FIELD_MANAGER "&force=true", "applying the status of"},
    [CREATE] = {"POST", "application/json", "", "?fieldManager=" EK_FIELD_MANAGER, "creating"},
    [PATCH] = {"PATCH", "application/merge-patch+json", "", "?fieldManager=" EK_FIELD_MANAGER,
               "patching"},
    [PATCH_STATUS] = {"PATCH", "application/merge-patch+json", "/status",
                      "?fieldManager=" EK_FIELD_MANAGER, "patching the status of"},
    [DELETE] = {"DELETE", "application/json", "", "", "deleting"},
    [LIST] = {"GET", NULL, "", "", "reading"},
};

/* metav1.DeleteOptions with the preconditions of target. */
static char *delete_options(const struct ek_apply_target *target, size_t *ret_size)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "DeleteOptions");
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "v1");
    yyjson_mut_val *preconditions = yyjson_mut_obj_add_obj(doc, root, "preconditions");
    add_if_given(doc, preconditions, "uid", target->uid);
    add_if_given(doc, preconditions, "resourceVersion", target->resource_version);
    char *json = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &ek_json_xalc, ret_size, NULL);
    yyjson_mut_doc_free(doc);
    return json;
}

static struct ek_apply *begin(struct ek_client *client, enum operation op,
                              const struct ek_apply_target *target, yyjson_mut_val *content,
                              ek_apply_fn on_done, void *ctx)
{
    const struct ek_resource *r = target->resource;
    struct ek_apply *apply = ek_xalloc(sizeof *apply);
    EK_AUTO(ek_buf) path;
    size_t size = 0;

    ek_buf_init(&path, 8192);
    ek_resource_path(r, &path);
    if (op == LIST && ek_is_given(r->field_selector)) {
        ek_buf_puts(&path, "?fieldSelector=");
        ek_uri_escape(&path, r->field_selector);
    } else if (op != CREATE && op != LIST) {
        ek_buf_puts(&path, "/");
        ek_uri_escape(&path, target->name);
        ek_buf_puts(&path, operations[op].suffix);
    }
    ek_buf_puts(&path, operations[op].query);
    char *body = op == LIST     ? NULL
                 : op == DELETE ? delete_options(target, &size)
                                : ek_apply_body(target, content, &size);
    *apply =
        (struct ek_apply){.on_done = on_done,
                          .ctx = ctx,
                          .fine = op == CREATE   ? EK_E_EXIST
                                  : op == DELETE ? EK_E_NOENT
                                                 : 0,
                          .what = ek_xasprintf("%s %s%s%s %s%s%s", operations[op].what, r->resource,
                                               ek_is_given(r->group) ? "." : "",
                                               ek_is_given(r->group) ? r->group : "",
                                               ek_is_given(r->namespace) ? r->namespace : "",
                                               ek_is_given(r->namespace) ? "/" : "", target->name)};
    apply->call = ek_client_send(client,
                                 &(struct ek_request){.method = operations[op].method,
                                                      .path = ek_buf_str(&path),
                                                      .content_type = operations[op].content_type,
                                                      .body = body,
                                                      .body_size = size,
                                                      .timeout_ms = REQUEST_TIMEOUT_MS,
                                                      .max_body = ANSWER_MAX,
                                                      .no_retry = true},
                                 on_answer, apply);
    ek_free(body);
    return apply;
}

struct ek_apply *ek_apply_object(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    return begin(client, OBJECT, target, content, on_done, ctx);
}

struct ek_apply *ek_apply_list(struct ek_client *client, const struct ek_apply_target *target,
                               yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    return begin(client, LIST, target, content, on_done, ctx);
}

struct ek_apply *ek_apply_status(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    return begin(client, STATUS, target, content, on_done, ctx);
}

struct ek_apply *ek_apply_create(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    struct ek_apply_target plain = {.resource = target->resource, .name = target->name};
    return begin(client, CREATE, &plain, content, on_done, ctx);
}

struct ek_apply *ek_apply_patch(struct ek_client *client, const struct ek_apply_target *target,
                                yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    return begin(client, PATCH, target, content, on_done, ctx);
}

struct ek_apply *ek_apply_patch_status(struct ek_client *client,
                                       const struct ek_apply_target *target,
                                       yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    return begin(client, PATCH_STATUS, target, content, on_done, ctx);
}

struct ek_apply *ek_apply_delete(struct ek_client *client, const struct ek_apply_target *target,
                                 yyjson_mut_val *content, ek_apply_fn on_done, void *ctx)
{
    return begin(client, DELETE, target, content, on_done, ctx);
}

void ek_apply_cancel(struct ek_apply *apply)
{
    if (!apply)
        return;
    ek_call_cancel(apply->call);
    release(apply);
}
