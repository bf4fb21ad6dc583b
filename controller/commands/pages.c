/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/pages.h"

#include "api/base/buf.h"
#include "api/base/mem.h"

/* Reads one page from *next, "" for the first, and sets it to the next; NULL after the last. */
static int read_page(struct ek_wait *wait, const struct ek_pages *list, char **next,
                     void (*fn)(void *ctx, yyjson_val *object), void *ctx)
{
    EK_AUTO(ek_buf) path;
    yyjson_val *item;
    size_t i, n;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_buf_printf(&path, "/%s%s/%s/%s?limit=%d", *list->group ? "apis/" : "api", list->group,
                  list->version, list->resource, list->page);
    if (**next) {
        ek_buf_puts(&path, "&continue=");
        ek_uri_escape(&path, *next);
    }
    ek_free(*next);
    *next = NULL;
    int rc = path.failed ? ek_err_set(&wait->err, EK_E_LIMIT, "the continue token is too long")
                         : ek_wait_send(wait, &(struct ek_request){.path = ek_buf_str(&path),
                                                                   .accept = list->accept});
    if (rc)
        return rc;
    yyjson_val *root = yyjson_doc_get_root(wait->doc), *items = yyjson_obj_get(root, "items");
    const char *token = ek_json_str(root, "metadata", "continue", NULL);
    if (!yyjson_is_arr(items) && !yyjson_is_null(items))
        rc = ek_err_set(&wait->err, EK_E_PARSE, "the response is no list");
    yyjson_arr_foreach(items, i, n, item)
    {
        fn(ctx, item);
    }
    if (token && *token)
        *next = ek_xstrdup(token);
    yyjson_doc_free(wait->doc);
    wait->doc = NULL;
    return rc;
}

int ek_pages_read(struct ek_wait *wait, const struct ek_pages *list,
                  void (*item)(void *ctx, yyjson_val *object), void *ctx)
{
    char *next = ek_xstrdup("");
    int rc = 0;

    for (int pages = 0; next && !rc; pages++)
        rc = pages < list->max
                 ? read_page(wait, list, &next, item, ctx)
                 : ek_err_set(&wait->err, EK_E_LIMIT, "there are more than %d objects",
                              list->max * list->page);
    ek_free(next);
    return rc;
}
