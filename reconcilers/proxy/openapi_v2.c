/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/openapi_v2.h"

#include <string.h>
#include <strings.h>

#include "api/base/map.h"
#include "api/obj.h"
#include "reconcilers/proxy/fields.h"
#include "reconcilers/proxy/openapi_v2-internal.h"

bool ek_openapi_v2_is_document(const struct ek_proxy_request *request)
{
    return !strcmp(request->verb, "get") && !strcmp(request->path, "/openapi/v2");
}

bool ek_openapi_v2_form(const char *content_type, enum ek_openapi_v2_form *ret_form)
{
    /* kube-openapi, pkg/handler/handler.go: the second one since 1.27 */
    static const struct {
        const char *type;
        enum ek_openapi_v2_form form;
    } rows[] = {
        {"application/json", EK_OPENAPI_V2_JSON},
        {"application/com.github.proto-openapi.spec.v2.v1.0+protobuf", EK_OPENAPI_V2_PROTOBUF},
        {"application/com.github.proto-openapi.spec.v2@v1.0+protobuf", EK_OPENAPI_V2_PROTOBUF}};
    size_t len = strcspn(content_type, "; \t");

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        if (strlen(rows[i].type) == len && !strncasecmp(rows[i].type, content_type, len)) {
            *ret_form = rows[i].form;
            return true;
        }
    return false;
}

bool ek_openapi_v2_is_known(const char *if_none_match, const char *etag)
{
    struct ek_str list = ek_str_from(if_none_match), item;

    while (ek_field_next(&list, &item)) {
        if (item.len > 2 && !memcmp(item.p, "W/", 2))
            item = (struct ek_str){item.p + 2, item.len - 2};
        if (ek_str_eq(item, EK_STR("*")) || ek_str_eq(item, ek_str_from(etag)))
            return true;
    }
    return false;
}

void ek_openapi_v2_order_add__(struct ek_openapi_v2_order *order, size_t i, const char *version)
{
    struct ek_minor minor = ek_minor_parse(version);
    size_t at = order->n++;

    while (at > 0 && minor.known &&
           (!order->versions[at - 1].known || ek_minor_cmp(order->versions[at - 1], minor) < 0)) {
        order->at[at] = order->at[at - 1];
        order->versions[at] = order->versions[at - 1];
        at--;
    }
    order->at[at] = i;
    order->versions[at] = minor;
}

/* ---- JSON ---- */

/* Members that are maps of names. */
static const char *const sections[] = {"paths", "definitions", "parameters", "responses",
                                       "securityDefinitions"};

struct json {
    yyjson_val *roots[EK_OPENAPI_V2_DOCS_MAX]; /* the newest first */
    size_t n;
    struct ek_buf *out;
    bool failed;
};

static bool is_section(const char *name)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(sections); i++)
        if (!strcmp(name, sections[i]))
            return true;
    return false;
}

/* No name has a NUL, which would end it for us and not for clients. */
static bool names_are_good(yyjson_val *object)
{
    size_t i, n;
    yyjson_val *key, *value;

    ek_json_each_member(object, i, n, key, value)
    {
        if (strlen(yyjson_get_str(key)) != yyjson_get_len(key))
            return false;
    }
    return true;
}

static bool is_document(yyjson_val *root)
{
    bool good = yyjson_is_obj(yyjson_obj_get(root, "paths")) && names_are_good(root);

    for (size_t i = 0; i < EK_ARRAY_SIZE(sections) && good; i++) {
        yyjson_val *section = yyjson_obj_get(root, sections[i]);
        good = !section || (yyjson_is_obj(section) && names_are_good(section));
    }
    return good;
}

static void put_value(struct json *json, yyjson_val *value)
{
    size_t len = 0;
    char *text = yyjson_val_write_opts(value, 0, &ek_json_alc, &len, NULL);

    json->failed = json->failed || !text || ek_buf_append(json->out, text, len);
    ek_free(text);
}

/* The comma before each member but the first one, and the name. */
static void put_name(struct json *json, yyjson_val *key, bool *first)
{
    if (!*first)
        ek_buf_puts(json->out, ",");
    *first = false;
    put_value(json, key);
    ek_buf_puts(json->out, ":");
}

static void put_section(struct json *json, const char *name)
{
    struct ek_map seen = {0};
    size_t i, n;
    bool first = true;
    yyjson_val *key, *value;

    ek_buf_puts(json->out, "{");
    for (size_t d = 0; d < json->n && !json->failed; d++) {
        yyjson_val *section = yyjson_obj_get(json->roots[d], name);
        ek_json_each_member(section, i, n, key, value)
        {
            const char *text = yyjson_get_str(key);
            if (json->failed || ek_map_get(&seen, text))
                continue;
            ek_map_put(&seen, text, value);
            put_name(json, key, &first);
            put_value(json, value);
        }
    }
    ek_buf_puts(json->out, "}");
    ek_map_done(&seen);
}

/* The members of each document that none before has; sections with the members of all. */
static void put_document(struct json *json)
{
    struct ek_map seen = {0};
    size_t i, n;
    bool first = true;
    yyjson_val *key, *value;

    ek_buf_puts(json->out, "{");
    for (size_t d = 0; d < json->n && !json->failed; d++)
        ek_json_each_member(json->roots[d], i, n, key, value)
        {
            const char *name = yyjson_get_str(key);
            if (json->failed || ek_map_get(&seen, name) || (d > 0 && !is_section(name)))
                continue;
            ek_map_put(&seen, name, value);
            put_name(json, key, &first);
            if (is_section(name))
                put_section(json, name);
            else
                put_value(json, value);
        }
    ek_buf_puts(json->out, "}");
    ek_map_done(&seen);
}

static bool merge_json(struct ek_openapi_v2_doc *docs, size_t n, struct ek_buf *out)
{
    struct ek_openapi_v2_order order = {.n = 0};
    struct json json = {.out = out};
    yyjson_doc *parsed[EK_OPENAPI_V2_DOCS_MAX];

    for (size_t i = 0; i < n; i++) {
        parsed[i] = ek_json_parse(docs[i].text.p, docs[i].text.len, NULL);
        yyjson_val *root = yyjson_doc_get_root(parsed[i]);
        const char *version = ek_json_str(root, "info", "version", NULL);
        docs[i].used = is_document(root);
        if (docs[i].used)
            ek_openapi_v2_order_add__(&order, i, version ? version : "");
    }
    for (json.n = 0; json.n < order.n; json.n++)
        json.roots[json.n] = yyjson_doc_get_root(parsed[order.at[json.n]]);
    if (json.n > 0)
        put_document(&json);
    for (size_t i = 0; i < n; i++)
        yyjson_doc_free(parsed[i]);
    return json.n > 0 && !json.failed && !out->failed;
}

bool ek_openapi_v2_merge(enum ek_openapi_v2_form form, struct ek_openapi_v2_doc *docs, size_t n,
                         struct ek_buf *out)
{
    return form == EK_OPENAPI_V2_JSON ? merge_json(docs, n, out)
                                      : ek_openapi_v2_merge_wire__(docs, n, out);
}
