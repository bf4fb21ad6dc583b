/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/decode.h"

#include <stdio.h>
#include <string.h>

#include "api/base/line.h"
#include "informers/cache/decode-internal.h"

/* Retry-After beyond a day is nonsense, and must not overflow when it becomes milliseconds. */
#define RETRY_AFTER_MAX_S 86400

#define OBJECT_LEVEL 1 /* of {"type": ..., "object": ...} */

static const char *str_or_empty(const char *s)
{
    return s ? s : "";
}

bool ek_decode_is_other_kind__(yyjson_val *object, const struct ek_decode_type *type)
{
    const char *kind = ek_json_str(object, "kind", NULL);
    if (type->metadata_only && kind && !strcmp(kind, "PartialObjectMetadata"))
        return false;
    return kind && strcmp(kind, type->kind) != 0;
}

int ek_decode_check_version__(const char *version, const struct ek_decode_type *type,
                              struct ek_err *err)
{
    if (strnlen(version, EK_RESOURCE_VERSION_MAX + 1) <= EK_RESOURCE_VERSION_MAX)
        return 0;
    return ek_err_set(err, EK_E_LIMIT, "malformed %s: a resourceVersion of more than %zu bytes",
                      type->kind, EK_RESOURCE_VERSION_MAX);
}

struct ek_obj *ek_decode_item__(yyjson_val *value, const struct ek_decode_type *type,
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
    if (frame->type == EK_WATCH_UNKNOWN || ek_decode_is_other_kind__(object, type)) {
        frame->type = EK_WATCH_UNKNOWN;
        return 0;
    }
    const char *version = str_or_empty(ek_json_str(object, "metadata", "resourceVersion", NULL));
    int rc = ek_decode_check_version__(version, type, err);
    if (rc)
        return rc;
    if (frame->type == EK_WATCH_BOOKMARK) {
        frame->obj = ek_obj_from_val(object);
        if (!frame->obj)
            ek_err_set(&why, EK_E_NOMEM, "no memory for a bookmark");
    } else {
        frame->obj = ek_decode_item__(object, type, &why);
    }
    if (!frame->obj && err)
        *err = why;
    return why.code;
}

int ek_decode_watch_frame(const char *json, size_t len, const struct ek_decode_type *type,
                          struct ek_watch_frame *ret_frame, struct ek_err *err)
{
    struct ek_err why = {0};
    yyjson_doc *doc = ek_json_parse_envelope(json, len, OBJECT_LEVEL, &why);

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
