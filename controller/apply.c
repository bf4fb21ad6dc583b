/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apply.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST_TIMEOUT_MS 30000
#define ANSWER_MAX         ((size_t)16 << 20)

struct ek_apply {
    struct ek_call *call;
    ek_apply_fn on_done;
    void *ctx;
    char *what; /* "applying the status of controlplanes.evenkeel.dev cluster", owned */
    bool may_exist;
};

static bool given(const char *s)
{
    return s && *s;
}

static void add_if_given(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key,
                         const char *value)
{
    if (given(value))
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

    EK_AUTOFREE char *api_version =
        given(r->group) ? ek_xasprintf("%s/%s", r->group, r->version) : ek_xstrdup(r->version);
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

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_apply *apply = ctx;
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
    struct ek_err local = {0};

    if (!err)
        ek_obj_parse(resp->body.p, resp->body.len, &obj, &local);
    else if (!(apply->may_exist && err->code == EK_E_EXIST))
        local = *err;
    ek_err_prefix(&local, "%s", apply->what);
    ek_apply_fn on_done = apply->on_done;
    void *done_ctx = apply->ctx;
    release(apply);
    on_done(done_ctx, obj, local.code ? &local : NULL);
}

enum operation { OBJECT, STATUS, CREATE, GET };

static const struct {
    const char *method, *content_type, *suffix, *query, *what;
} operations[] = {
    [OBJECT] = {"PATCH", "application/apply-patch+yaml", "",
                "?fieldManager=" EK_FIELD_MANAGER "&force=true", "applying"},
    [STATUS] = {"PATCH", "application/apply-patch+yaml", "/status",
                "?fieldManager=" EK_FIELD_MANAGER "&force=true", "applying the status of"},
    [CREATE] = {"POST", "application/json", "", "?fieldManager=" EK_FIELD_MANAGER, "creating"},
    [GET] = {NULL, NULL, "", "", "reading"},
};

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
    if (op != CREATE) {
        ek_buf_puts(&path, "/");
        ek_uri_escape(&path, target->name);
        ek_buf_puts(&path, operations[op].suffix);
    }
    ek_buf_puts(&path, operations[op].query);
    char *body = content ? ek_apply_body(target, content, &size) : NULL;
    *apply = (struct ek_apply){.on_done = on_done,
                               .ctx = ctx,
                               .may_exist = op == CREATE,
                               .what = ek_xasprintf("%s %s%s%s %s%s%s", operations[op].what,
                                                    r->resource, given(r->group) ? "." : "",
                                                    given(r->group) ? r->group : "",
                                                    given(r->namespace) ? r->namespace : "",
                                                    given(r->namespace) ? "/" : "", target->name)};
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

struct ek_apply *ek_apply_get(struct ek_client *client, const struct ek_apply_target *target,
                              ek_apply_fn on_done, void *ctx)
{
    return begin(client, GET, target, NULL, on_done, ctx);
}

void ek_apply_cancel(struct ek_apply *apply)
{
    if (!apply)
        return;
    ek_call_cancel(apply->call);
    release(apply);
}

enum ek_apply_class ek_apply_classify(const struct ek_err *err)
{
    switch (err ? err->code : 0) {
    case 0:
        return EK_APPLY_DONE;
    case EK_E_CONFLICT:
    case EK_E_EXIST:
        return EK_APPLY_CONFLICT;
    case EK_E_NOENT:
        return EK_APPLY_ABSENT;
    case EK_E_UNAUTHORIZED:
    case EK_E_FORBIDDEN:
        return EK_APPLY_DENIED;
    case EK_E_INVAL:
    case EK_E_UNSUPPORTED:
    case EK_E_LIMIT:
        return EK_APPLY_TERMINAL;
    case EK_E_HTTP:
        /* 413 and 415: the body itself is refused */
        return err->http_status == 413 || err->http_status == 415 ? EK_APPLY_TERMINAL
                                                                  : EK_APPLY_LATER;
    default:
        return EK_APPLY_LATER;
    }
}
