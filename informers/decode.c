/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/decode.h"

#include <stdio.h>
#include <string.h>

#include "informers/line.h"

/* Retry-After beyond a day is nonsense, and must not overflow when it becomes milliseconds. */
#define RETRY_AFTER_MAX_S 86400

static const char *str_or_empty(const char *s)
{
    return s ? s : "";
}

static bool is_other_kind(yyjson_val *object, const struct ek_decode_type *type)
{
    const char *kind = ek_json_str(object, "kind", NULL);
    if (type->metadata_only && kind && !strcmp(kind, "PartialObjectMetadata"))
        return false;
    return kind && strcmp(kind, type->kind) != 0;
}

static int check_version(const char *version, const struct ek_decode_type *type, struct ek_err *err)
{
    if (strnlen(version, EK_RESOURCE_VERSION_MAX + 1) <= EK_RESOURCE_VERSION_MAX)
        return 0;
    return ek_err_set(err, EK_E_LIMIT, "malformed %s: a resourceVersion of more than %zu bytes",
                      type->kind, EK_RESOURCE_VERSION_MAX);
}

static struct ek_obj *make_item(yyjson_val *value, const struct ek_decode_type *type,
                                struct ek_err *err)
{
    if (!*str_or_empty(ek_json_str(value, "metadata", "name", NULL))) {
        ek_err_set(err, EK_E_PARSE, "malformed %s: an object without metadata.name", type->kind);
        return NULL;
    }
    struct ek_obj *obj = ek_obj_from_item(value, type->api_version, type->kind);
    if (!obj)
        ek_err_set(err, EK_E_NOMEM, "no memory for a %s", type->kind);
    return obj;
}

static int check_list(yyjson_val *root, const struct ek_decode_type *type, struct ek_err *err)
{
    const char *kind = str_or_empty(ek_json_str(root, "kind", NULL));
    yyjson_val *items = yyjson_obj_get(root, "items");
    size_t len = strlen(kind);

    if (!strcmp(kind, "Table"))
        return ek_err_set(err, EK_E_UNSUPPORTED, "asked for a list of %s, got a Table", type->kind);
    if (len < 4 || strcmp(kind + len - 4, "List") != 0)
        return ek_err_set(err, EK_E_PARSE, "asked for a list of %s, got kind \"%.60s\"", type->kind,
                          kind);
    if (items && !yyjson_is_arr(items) && !yyjson_is_null(items))
        return ek_err_set(err, EK_E_PARSE, "malformed %.60s: items is no array", kind);
    return 0;
}

static int read_page(yyjson_val *root, const struct ek_decode_type *type, struct ek_list_page *page,
                     struct ek_err *err)
{
    yyjson_val *items = yyjson_obj_get(root, "items");
    size_t i, n;
    yyjson_val *item;

    page->resource_version =
        ek_xstrdup(str_or_empty(ek_json_str(root, "metadata", "resourceVersion", NULL)));
    page->next = ek_xstrdup(str_or_empty(ek_json_str(root, "metadata", "continue", NULL)));
    if (strlen(page->next) > EK_CONTINUE_MAX)
        return ek_err_set(err, EK_E_LIMIT, "malformed list of %s: a continue token of %zu bytes",
                          type->kind, strlen(page->next));
    int rc = check_version(page->resource_version, type, err);
    if (rc)
        return rc;
    page->items = ek_alloc(yyjson_arr_size(items) * sizeof(struct ek_obj *));
    if (!page->items)
        return ek_err_set(err, EK_E_NOMEM, "no memory for a page of %s", type->kind);
    yyjson_arr_foreach(items, i, n, item)
    {
        struct ek_err why = {0};
        if (is_other_kind(item, type))
            return ek_err_set(err, EK_E_UNSUPPORTED, "asked for a list of %s, got a \"%.60s\"",
                              type->kind, ek_json_str(item, "kind", NULL));
        page->items[page->n] = make_item(item, type, &why);
        if (!page->items[page->n]) {
            if (err)
                *err = why;
            return why.code;
        }
        page->n++;
    }
    return 0;
}

int ek_decode_list_page(const char *json, size_t len, const struct ek_decode_type *type,
                        struct ek_list_page *ret_page, struct ek_err *err)
{
    struct ek_err why = {0};
    yyjson_doc *doc = ek_json_parse(json, len, &why);

    if (!doc) {
        if (err)
            *err = why;
        return why.code;
    }
    *ret_page = (struct ek_list_page){0};
    yyjson_val *root = yyjson_doc_get_root(doc);
    int rc = check_list(root, type, err);
    if (!rc)
        rc = read_page(root, type, ret_page, err);
    if (rc)
        ek_list_page_done(ret_page);
    yyjson_doc_free(doc);
    return rc;
}

void ek_list_page_done(struct ek_list_page *page)
{
    for (size_t i = 0; i < page->n; i++)
        ek_obj_unref(page->items[i]);
    ek_free(page->items);
    ek_free(page->resource_version);
    ek_free(page->next);
    *page = (struct ek_list_page){0};
}

static const char *const type_names[EK_WATCH_TYPE_MAX] = {
    [EK_WATCH_ADDED] = "ADDED",     [EK_WATCH_MODIFIED] = "MODIFIED",
    [EK_WATCH_DELETED] = "DELETED", [EK_WATCH_BOOKMARK] = "BOOKMARK",
    [EK_WATCH_ERROR] = "ERROR",     [EK_WATCH_UNKNOWN] = "UNKNOWN",
};

const char *ek_watch_type_name(enum ek_watch_type type)
{
    return type_names[type];
}

static enum ek_watch_type read_type(const char *name)
{
    int type = 0;
    while (type < EK_WATCH_UNKNOWN && strcmp(type_names[type], name) != 0)
        type++;
    return (enum ek_watch_type)type;
}

/* Errors are one line. */
static void join_lines(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20)
            *s = ' ';
}

int ek_decode_status(yyjson_val *status, struct ek_err *err)
{
    const char *reason = str_or_empty(ek_json_str(status, "reason", NULL));
    const char *message = str_or_empty(ek_json_str(status, "message", NULL));
    int64_t http_status = yyjson_get_sint(yyjson_obj_get(status, "code"));
    int64_t retry_s = yyjson_get_sint(ek_json_get(status, "details", "retryAfterSeconds", NULL));

    if (http_status < 100 || http_status > 599)
        http_status = 0;
    int code = ek_err_from_status((int)http_status, reason);
    ek_err_set(err, code ? code : EK_E_HTTP, "%s",
               *message ? message : "the server sent an error without a message");
    if (!err)
        return code ? code : EK_E_HTTP;
    join_lines(err->message);
    ek_line_clean(err->message);
    err->http_status = (int)http_status;
    if (retry_s > 0)
        err->retry_after_ms = 1000 * (retry_s < RETRY_AFTER_MAX_S ? retry_s : RETRY_AFTER_MAX_S);
    ek_line_copy(reason, strlen(reason), err->reason, sizeof err->reason);
    return err->code;
}

static int read_frame(yyjson_val *root, const struct ek_decode_type *type,
                      struct ek_watch_frame *frame, struct ek_err *err)
{
    const char *name = ek_json_str(root, "type", NULL);
    yyjson_val *object = yyjson_obj_get(root, "object");
    struct ek_err why = {0};

    if (!name || !yyjson_is_obj(object))
        return ek_err_set(err, EK_E_PARSE, "malformed watch event: no type or no object");
    frame->type = read_type(name);
    if (frame->type == EK_WATCH_ERROR) {
        ek_decode_status(object, &frame->status);
        return 0;
    }
    /* As client-go does: an object of another kind is passed over, not fatal. */
    if (frame->type == EK_WATCH_UNKNOWN || is_other_kind(object, type)) {
        frame->type = EK_WATCH_UNKNOWN;
        return 0;
    }
    const char *version = str_or_empty(ek_json_str(object, "metadata", "resourceVersion", NULL));
    int rc = check_version(version, type, err);
    if (rc)
        return rc;
    if (frame->type == EK_WATCH_BOOKMARK) {
        frame->obj = ek_obj_from_val(object);
        if (!frame->obj)
            ek_err_set(&why, EK_E_NOMEM, "no memory for a bookmark");
    } else {
        frame->obj = make_item(object, type, &why);
    }
    if (!frame->obj && err)
        *err = why;
    return why.code;
}

int ek_decode_watch_frame(const char *json, size_t len, const struct ek_decode_type *type,
                          struct ek_watch_frame *ret_frame, struct ek_err *err)
{
    struct ek_err why = {0};
    yyjson_doc *doc = ek_json_parse(json, len, &why);

    if (!doc) {
        if (err)
            *err = why;
        return why.code;
    }
    *ret_frame = (struct ek_watch_frame){0};
    int rc = read_frame(yyjson_doc_get_root(doc), type, ret_frame, err);
    yyjson_doc_free(doc);
    return rc;
}

void ek_watch_frame_done(struct ek_watch_frame *frame)
{
    ek_obj_unref(frame->obj);
    *frame = (struct ek_watch_frame){0};
}
