/* SPDX-License-Identifier: Apache-2.0 */
#include "test/registry/catalog.h"

#include <stdio.h>

#include "api/base/base64.h"
#include "api/obj.h"

#define MESSAGE_MAX ((size_t)16 << 20)

struct ek_catalog {
    yyjson_doc **docs; /* owned: n_docs blobs */
    size_t n_docs;
};

static void put_varint(struct ek_buf *out, size_t value)
{
    for (; value >= 0x80; value >>= 7)
        ek_buf_append(out, &(char){(char)(value | 0x80)}, 1);
    ek_buf_append(out, &(char){(char)value}, 1);
}

static void put_bytes(struct ek_buf *out, unsigned field, const char *data, size_t len)
{
    put_varint(out, (size_t)field << 3 | 2);
    put_varint(out, len);
    ek_buf_append(out, data, len);
}

static void put_text(struct ek_buf *out, unsigned field, const char *text)
{
    if (text && *text)
        put_bytes(out, field, text, strlen(text));
}

/* Adds a message with its prefix to the body, and releases the message. */
static void put_message(struct ek_buf *body, struct ek_buf *message)
{
    size_t n = message->len;
    char prefix[5] = {0, (char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};

    ek_buf_append(body, prefix, sizeof prefix);
    ek_buf_append(body, ek_buf_str(message), n);
    ek_buf_done(message);
}

static yyjson_val *blob_of(const struct ek_catalog *catalog, size_t i, const char *schema)
{
    yyjson_val *blob = yyjson_doc_get_root(catalog->docs[i]);
    const char *is = ek_json_str(blob, "schema", NULL);

    return is && !strcmp(is, schema) ? blob : NULL;
}

static bool says(yyjson_val *blob, const char *member, const char *text)
{
    const char *is = ek_json_str(blob, member, NULL);

    return is && text && !strcmp(is, text);
}

/* The blob of the bundle; NULL for none. */
static yyjson_val *find_bundle(const struct ek_catalog *catalog, const char *package,
                               const char *name)
{
    for (size_t i = 0; i < catalog->n_docs; i++) {
        yyjson_val *blob = blob_of(catalog, i, "olm.bundle");
        if (says(blob, "package", package) && says(blob, "name", name))
            return blob;
    }
    return NULL;
}

/* api.Bundle 4 (the CSV) and 5 (each object). */
static void put_object(struct ek_buf *out, yyjson_val *value)
{
    const char *text = ek_json_str(value, "data", NULL);
    char *data;
    size_t len;

    if (!text || ek_base64_decode(text, &data, &len))
        return;
    if (strstr(data, "\"ClusterServiceVersion\""))
        put_bytes(out, 4, data, len);
    put_bytes(out, 5, data, len);
    ek_free(data);
}

/* api.GroupVersionKind */
static void put_kind(struct ek_buf *out, unsigned field, yyjson_val *value)
{
    EK_AUTO(ek_buf) kind;

    ek_buf_init(&kind, MESSAGE_MAX);
    put_text(&kind, 1, ek_json_str(value, "group", NULL));
    put_text(&kind, 2, ek_json_str(value, "version", NULL));
    put_text(&kind, 3, ek_json_str(value, "kind", NULL));
    put_bytes(out, field, ek_buf_str(&kind), kind.len);
}

static void put_property(struct ek_buf *out, yyjson_val *property)
{
    const char *type = ek_json_str(property, "type", NULL);
    yyjson_val *value = ek_json_get(property, "value", NULL);
    EK_AUTO(ek_buf) message;

    ek_buf_init(&message, MESSAGE_MAX);
    if (!type)
        return;
    if (!strcmp(type, "olm.bundle.object")) {
        put_object(out, value);
        return;
    }
    if (!strcmp(type, "olm.gvk"))
        put_kind(out, 7, value);
    if (!strcmp(type, "olm.gvk.required"))
        put_kind(out, 8, value);
    if (!strcmp(type, "olm.package"))
        put_text(out, 9, ek_json_str(value, "version", NULL));
    char *json = yyjson_val_write(value, 0, NULL);
    put_text(&message, 1, type);
    put_text(&message, 2, json);
    free(json);
    put_bytes(out, 12, ek_buf_str(&message), message.len);
}

static void put_bundle(struct ek_buf *body, yyjson_val *channel, yyjson_val *entry,
                       yyjson_val *bundle)
{
    yyjson_val *item;
    yyjson_arr_iter iter;
    struct ek_buf message;

    ek_buf_init(&message, MESSAGE_MAX);
    put_text(&message, 1, ek_json_str(entry, "name", NULL));
    put_text(&message, 2, ek_json_str(channel, "package", NULL));
    put_text(&message, 3, ek_json_str(channel, "name", NULL));
    yyjson_arr_iter_init(ek_json_get(bundle, "properties", NULL), &iter);
    while ((item = yyjson_arr_iter_next(&iter)))
        put_property(&message, item);
    put_text(&message, 10, ek_json_str(entry, "skipRange", NULL));
    put_text(&message, 13, ek_json_str(entry, "replaces", NULL));
    yyjson_arr_iter_init(ek_json_get(entry, "skips", NULL), &iter);
    while ((item = yyjson_arr_iter_next(&iter)))
        put_text(&message, 14, yyjson_get_str(item));
    put_message(body, &message);
}

static void list_bundles(const struct ek_catalog *catalog, struct ek_buf *body)
{
    for (size_t i = 0; i < catalog->n_docs; i++) {
        yyjson_val *channel = blob_of(catalog, i, "olm.channel"), *entry;
        yyjson_arr_iter iter;
        yyjson_arr_iter_init(ek_json_get(channel, "entries", NULL), &iter);
        while ((entry = yyjson_arr_iter_next(&iter))) {
            yyjson_val *bundle = find_bundle(catalog, ek_json_str(channel, "package", NULL),
                                             ek_json_str(entry, "name", NULL));
            if (bundle)
                put_bundle(body, channel, entry, bundle);
        }
    }
}

static void list_packages(const struct ek_catalog *catalog, struct ek_buf *body)
{
    for (size_t i = 0; i < catalog->n_docs; i++) {
        yyjson_val *package = blob_of(catalog, i, "olm.package");
        struct ek_buf message;
        if (!package)
            continue;
        ek_buf_init(&message, MESSAGE_MAX);
        put_text(&message, 1, ek_json_str(package, "name", NULL));
        put_message(body, &message);
    }
}

/* True when another entry of the channel replaces or skips the entry. */
static bool is_covered(yyjson_val *channel, const char *name)
{
    yyjson_arr_iter entries, skips;
    yyjson_val *entry, *skip;

    yyjson_arr_iter_init(ek_json_get(channel, "entries", NULL), &entries);
    while ((entry = yyjson_arr_iter_next(&entries))) {
        if (says(entry, "replaces", name))
            return true;
        yyjson_arr_iter_init(ek_json_get(entry, "skips", NULL), &skips);
        while ((skip = yyjson_arr_iter_next(&skips)))
            if (name && !strcmp(yyjson_get_str(skip), name))
                return true;
    }
    return false;
}

static void put_channel(struct ek_buf *out, yyjson_val *channel)
{
    EK_AUTO(ek_buf) message;
    const char *head = NULL;
    yyjson_arr_iter iter;
    yyjson_val *entry;

    ek_buf_init(&message, MESSAGE_MAX);
    yyjson_arr_iter_init(ek_json_get(channel, "entries", NULL), &iter);
    while ((entry = yyjson_arr_iter_next(&iter)))
        if (!is_covered(channel, ek_json_str(entry, "name", NULL)))
            head = ek_json_str(entry, "name", NULL);
    put_text(&message, 1, ek_json_str(channel, "name", NULL));
    put_text(&message, 2, head);
    put_bytes(out, 2, ek_buf_str(&message), message.len);
}

/* Reads the text field 1 of a small request into name. */
static void read_name(struct ek_str body, char *name, size_t size)
{
    size_t len = body.len > 7 && body.p[5] == 0x0a ? (unsigned char)body.p[6] : 0;

    snprintf(name, size, "%.*s", (int)(len + 7 <= body.len ? len : 0), body.p + 7);
}

/* False when there is no such package. */
static bool get_package(const struct ek_catalog *catalog, struct ek_str request,
                        struct ek_buf *body)
{
    char name[256] = "";
    struct ek_buf message;
    bool found = false;

    if (request.len > 7)
        read_name(request, name, sizeof name);
    ek_buf_init(&message, MESSAGE_MAX);
    for (size_t i = 0; i < catalog->n_docs; i++) {
        yyjson_val *package = blob_of(catalog, i, "olm.package");
        yyjson_val *channel = blob_of(catalog, i, "olm.channel");
        if (says(package, "name", name)) {
            found = true;
            put_text(&message, 1, name);
            put_text(&message, 3, ek_json_str(package, "defaultChannel", NULL));
        }
        if (says(channel, "package", name))
            put_channel(&message, channel);
    }
    if (found)
        put_message(body, &message);
    else
        ek_buf_done(&message);
    return found;
}

void ek_catalog_serve(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply)
{
    const struct ek_catalog *catalog = ctx;

    if (!strcmp(path, "/api.Registry/ListBundles")) {
        list_bundles(catalog, &reply->body);
    } else if (!strcmp(path, "/api.Registry/ListPackages")) {
        list_packages(catalog, &reply->body);
    } else if (!strcmp(path, "/api.Registry/GetPackage")) {
        reply->grpc_status = get_package(catalog, body, &reply->body) ? 0 : 5;
    } else if (!strcmp(path, "/grpc.health.v1.Health/Check")) {
        struct ek_buf serving;
        ek_buf_init(&serving, 16);
        ek_buf_append(&serving, "\x08\x01", 2);
        put_message(&reply->body, &serving);
    } else {
        reply->grpc_status = 12;
    }
}

struct ek_catalog *ek_catalog_parse(const char *text, size_t len)
{
    struct ek_catalog *catalog = ek_xalloc(sizeof *catalog);
    struct ek_err err = {0};

    for (const char *p = text, *end = text + len; p < end;) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        line_end = line_end ? line_end : end;
        if (line_end > p) {
            yyjson_doc *doc = ek_json_parse(p, (size_t)(line_end - p), &err);
            if (!doc) {
                fprintf(stderr, "catalog: %s\n", err.message);
                ek_catalog_free(catalog);
                return NULL;
            }
            catalog->docs = ek_xrealloc(catalog->docs, catalog->n_docs + 1, sizeof(yyjson_doc *));
            catalog->docs[catalog->n_docs++] = doc;
        }
        p = line_end + 1;
    }
    return catalog;
}

void ek_catalog_free(struct ek_catalog *catalog)
{
    if (!catalog)
        return;
    for (size_t i = 0; i < catalog->n_docs; i++)
        yyjson_doc_free(catalog->docs[i]);
    ek_free(catalog->docs);
    ek_free(catalog);
}
