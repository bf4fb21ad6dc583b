/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/keys.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/obj.h"

#define KEYS_OF_PAGE   5000
#define VALUES_OF_PAGE 100
#define PAGES_MAX      20000

/* The end of the range of all keys that begin with prefix: the prefix with its last octet one
 * higher. The prefixes of a rehearsal end in "/". */
static char *range_end(const char *prefix)
{
    char *end = ek_xstrdup(prefix);
    size_t len = strlen(end);

    if (len)
        end[len - 1]++;
    return end;
}

static char *range_body(const char *from, size_t from_size, const char *end, bool values)
{
    EK_AUTOFREE char *key = ek_base64_encode(from, from_size);
    EK_AUTOFREE char *stop = ek_base64_encode(end, strlen(end));

    return ek_xasprintf("{\"key\":\"%s\",\"range_end\":\"%s\",\"keys_only\":%s,\"limit\":%d}", key,
                        stop, values ? "false" : "true", values ? VALUES_OF_PAGE : KEYS_OF_PAGE);
}

static yyjson_doc *post(struct ek_rehearse_ask *ask, struct ek_client *etcd, const char *path,
                        const char *body, struct ek_err *err)
{
    return ek_rehearse_ask_one(ask, etcd,
                               &(struct ek_request){.method = "POST",
                                                    .path = path,
                                                    .content_type = "application/json",
                                                    .body = body,
                                                    .body_size = strlen(body)},
                               err);
}

/* Hands a page on; *last is its last key, owned. False at the end. */
static bool take_page(yyjson_val *root, ek_rehearse_key_fn fn, void *ctx, char **last)
{
    yyjson_val *kvs = yyjson_obj_get(root, "kvs"), *kv;
    bool more = yyjson_get_bool(yyjson_obj_get(root, "more"));
    size_t i, n;

    yyjson_arr_foreach(kvs, i, n, kv)
    {
        EK_AUTOFREE char *key = NULL;
        EK_AUTOFREE char *value = NULL;
        size_t size = 0, value_size = 0;
        if (ek_base64_decode(ek_json_text(kv, "key"), &key, &size))
            continue;
        if (ek_base64_decode(ek_json_text(kv, "value"), &value, &value_size))
            value_size = 0;
        if (!fn(ctx, key, value ? value : "", value_size))
            return false;
        ek_free(*last);
        *last = ek_xstrdup(key);
    }
    return more && yyjson_arr_size(kvs);
}

int ek_rehearse_keys(struct ek_rehearse_ask *ask, struct ek_client *etcd, const char *prefix,
                     bool values, ek_rehearse_key_fn fn, void *ctx, struct ek_err *err)
{
    EK_AUTOFREE char *end = range_end(prefix);
    EK_AUTOFREE char *last = ek_xstrdup(prefix);
    size_t size = strlen(last);

    for (int page = 0; page < PAGES_MAX; page++) {
        EK_AUTOFREE char *body = range_body(last, size, end, values);
        yyjson_doc *doc = post(ask, etcd, "/v3/kv/range", body, err);
        if (!doc)
            return err->code;
        bool more = take_page(yyjson_doc_get_root(doc), fn, ctx, &last);
        yyjson_doc_free(doc);
        size = strlen(last) + 1; /* with the NUL: the key behind the last */
        if (!more)
            return 0;
    }
    return ek_err_set(err, EK_E_LIMIT, "etcd holds too many keys");
}
