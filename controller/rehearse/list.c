/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/list.h"

#include <string.h>

#include "api/obj.h"

static void put_version(struct ek_buf *out, const struct ek_rehearse_type *t)
{
    ek_buf_printf(out, "/%s%s/%s", *t->group ? "apis/" : "api", t->group, t->version);
}

void ek_rehearse_object_path(struct ek_buf *out, const struct ek_rehearse_type *type,
                             const char *name, bool collection)
{
    const char *slash = type->namespaced ? strchr(name, '/') : NULL;

    put_version(out, type);
    if (slash) {
        EK_AUTOFREE char *namespace = ek_xstrndup(name, (size_t)(slash - name));
        ek_buf_puts(out, "/namespaces/");
        ek_uri_escape(out, namespace);
        name = slash + 1;
    }
    ek_buf_printf(out, "/%s", type->resource);
    if (collection)
        return;
    ek_buf_puts(out, "/");
    ek_uri_escape(out, name);
}

yyjson_doc *ek_rehearse_list_page(struct ek_rehearse_ask *ask, struct ek_client *client,
                                  const struct ek_rehearse_type *type, unsigned limit,
                                  const char *token, size_t max_body, struct ek_err *err)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_rehearse_object_path(&path, type, "", true); /* of all namespaces */
    ek_buf_printf(&path, "?limit=%u", limit);
    if (*token) {
        ek_buf_puts(&path, "&continue=");
        ek_uri_escape(&path, token);
    }
    yyjson_doc *doc = ek_rehearse_ask_one(
        ask, client, &(struct ek_request){.path = ek_buf_str(&path), .max_body = max_body}, err);
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(doc), "items");
    if (doc && !yyjson_is_arr(items) && !yyjson_is_null(items)) {
        yyjson_doc_free(doc);
        ek_err_set(err, EK_E_PARSE, "the response is no list");
        return NULL;
    }
    return doc;
}
