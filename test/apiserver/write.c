/* SPDX-License-Identifier: Apache-2.0 */
/* What all writes share: bodies in, metadata in order, checks, the storage, the answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "test/apiserver/server-internal.h"

uint64_t ek_server_random(struct ek_apiserver *server)
{
    /* SplitMix64: small, and the same everywhere for a seed. */
    uint64_t z = server->random += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

void ek_server_uid(struct ek_apiserver *server, char buf[37])
{
    uint64_t a = ek_server_random(server), b = ek_server_random(server);

    snprintf(buf, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffffU, (unsigned)a & 0xfffU,
             ((unsigned)(b >> 48) & 0x3fffU) | 0x8000U, (unsigned long long)(b & 0xffffffffffffU));
}

const char *ek_meta_str(yyjson_mut_val *root, const char *name)
{
    const char *s =
        yyjson_mut_get_str(yyjson_mut_obj_get(yyjson_mut_obj_get(root, "metadata"), name));

    return s ? s : "";
}

yyjson_mut_val *ek_stored_root(yyjson_mut_doc *doc, const struct ek_mvcc_value *value)
{
    yyjson_doc *stored = yyjson_read(value->json, value->len, 0);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(stored));

    yyjson_doc_free(stored);
    return root;
}

const char *ek_ask_manager(const struct ek_ask *call, char buf[129])
{
    const char *manager = ek_ask_param(call, "fieldManager");
    const char *agent = call->request->user_agent ? call->request->user_agent : "";

    if (*manager)
        snprintf(buf, 129, "%s", manager);
    else
        snprintf(buf, 129, "%.*s", (int)strcspn(agent, "/"), agent);
    if (!*buf)
        snprintf(buf, 129, "unknown");
    return buf;
}

/* Parses JSON, or YAML if the type is YAML or an apply patch is not valid JSON. */
static yyjson_doc *parse_body(struct ek_ask *call)
{
    const char *type = call->request->content_type ? call->request->content_type : "";
    struct ek_str body = call->request->body;
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    if (strstr(type, "protobuf")) {
        ek_reply_status(call, 415, "UnsupportedMediaType", NULL,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json, application/yaml");
        return NULL;
    }
    if (!strstr(type, "yaml") || (body.len > 0 && body.p[0] == '{'))
        doc = ek_json_parse(body.p ? body.p : "", body.len, &err);
    else
        (void)ek_yaml_parse(body.p ? body.p : "", body.len, EK_BODY_MAX, &doc, &err);
    if (!doc)
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "the object provided is unrecognized (must be of type %s): %s",
                        call->kind->kind, err.message);
    return doc;
}

/* Checks and takes away kind and apiVersion. */
static bool strip_type(struct ek_ask *call, yyjson_mut_val *root)
{
    const char *kind = yyjson_mut_get_str(yyjson_mut_obj_get(root, "kind"));
    const char *version = yyjson_mut_get_str(yyjson_mut_obj_get(root, "apiVersion"));
    char expected[EK_GV_SIZE];

    ek_kind_api_version(call->kind, expected);
    if (version && strcmp(version, expected) != 0) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "the API version in the data (%s) does not match the expected API version "
                        "(%s)",
                        version, expected);
        return false;
    }
    if (kind && strcmp(kind, call->kind->kind) != 0) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "%s in version \"%s\" cannot be handled as a %s", kind, call->kind->version,
                        call->kind->kind);
        return false;
    }
    yyjson_mut_obj_remove_key(root, "kind");
    yyjson_mut_obj_remove_key(root, "apiVersion");
    return true;
}

yyjson_mut_val *ek_ask_body(struct ek_ask *call, yyjson_mut_doc *doc)
{
    yyjson_doc *parsed = parse_body(call);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));

    yyjson_doc_free(parsed);
    if (!parsed)
        return NULL;
    if (!yyjson_mut_is_obj(root)) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "the object provided is unrecognized (must be of type %s)",
                        call->kind->kind);
        return NULL;
    }
    if (!strip_type(call, root))
        return NULL;
    if (call->kind->flags & EK_KIND_EVENTS_V1)
        ek_event_to_storage(doc, root);
    if (!yyjson_mut_is_obj(yyjson_mut_obj_get(root, "metadata"))) {
        yyjson_mut_obj_remove_key(root, "metadata");
        yyjson_mut_obj_add_val(doc, root, "metadata", yyjson_mut_obj(doc));
    }
    return root;
}

/* The order of metav1.ObjectMeta; whatever else a client sends there is dropped. */
static const char *const metadata_order[] = {
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
};

static yyjson_mut_val *ordered_metadata(yyjson_mut_doc *doc, yyjson_mut_val *metadata, uint64_t rv)
{
    yyjson_mut_val *ordered = yyjson_mut_obj(doc);
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)rv);
    for (size_t i = 0; i < EK_ARRAY_SIZE(metadata_order); i++) {
        const char *name = metadata_order[i];
        yyjson_mut_val *value = yyjson_mut_obj_get(metadata, name);
        if (strcmp(name, "resourceVersion") == 0) {
            if (rv > 0)
                yyjson_mut_obj_add_strcpy(doc, ordered, name, text);
            continue;
        }
        bool empty = yyjson_mut_is_ctn(value) && yyjson_mut_get_len(value) == 0;
        bool blank = yyjson_mut_is_str(value) && yyjson_mut_get_len(value) == 0;
        if (value && !yyjson_mut_is_null(value) && !empty && !blank)
            yyjson_mut_obj_add_val(doc, ordered, name, yyjson_mut_val_mut_copy(doc, value));
    }
    return ordered;
}

/* Go's encoder escapes <, > and &, and the two line separators of Unicode. Appends json so to out;
 * false, with nothing done, when there is none of them, which is nearly always. */
static bool escape_like_go(const char *json, size_t len, struct ek_buf *out)
{
    const char *from = json, *end = json + len;

    for (const char *p = json; p < end; p++) {
        bool html = *p == '<' || *p == '>' || *p == '&';
        bool line = !html && *p == '\xe2' && end - p > 2 && p[1] == '\x80' &&
                    (p[2] == '\xa8' || p[2] == '\xa9');
        if (!html && !line)
            continue;
        ek_buf_append(out, from, (size_t)(p - from));
        ek_buf_printf(out, "\\u%04x", html ? (unsigned)*p : p[2] == '\xa8' ? 0x2028U : 0x2029U);
        p += line ? 2 : 0;
        from = p + 1;
    }
    if (from == json)
        return false;
    ek_buf_append(out, from, (size_t)(end - from));
    return true;
}

struct ek_mvcc_value *ek_write_encode(yyjson_mut_doc *doc, yyjson_mut_val *root, uint64_t rv)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc), *key, *member;
    size_t index, max, len;

    yyjson_mut_obj_add_val(doc, object, "metadata",
                           ordered_metadata(doc, yyjson_mut_obj_get(root, "metadata"), rv));
    yyjson_mut_obj_foreach(root, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        if (strcmp(name, "metadata") != 0 && strcmp(name, "kind") != 0 &&
            strcmp(name, "apiVersion") != 0)
            yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, name),
                               yyjson_mut_val_mut_copy(doc, member));
    }
    char *json = yyjson_mut_val_write(object, 0, &len);
    struct ek_mvcc_value *value;
    EK_AUTO(ek_buf) escaped;
    ek_buf_init(&escaped, EK_REPLY_MAX);
    if (json && escape_like_go(json, len, &escaped))
        value = ek_mvcc_value_new(escaped.data, escaped.len, rv);
    else
        value = ek_mvcc_value_new(json ? json : "{}", json ? len : 2, rv);
    free(json);
    return value;
}

/* Custom resources: unknown fields, defaults, schema. False when answered. */
static bool check_custom(struct ek_ask *call, struct ek_write *write)
{
    yyjson_val *schema = write->kind->shapes.schema;
    const char *mode = ek_ask_param(call, "fieldValidation");
    const char *name = ek_meta_str(write->root, "name");
    EK_AUTO(ek_buf) path;
    EK_AUTO(ek_buf) unknown;
    EK_AUTO(ek_buf) causes;
    EK_AUTO(ek_buf) message;

    ek_buf_init(&path, 65536);
    ek_buf_init(&unknown, 65536);
    ek_buf_init(&causes, 262144);
    ek_buf_init(&message, 65536);
    ek_schema_prune(write->root, schema, true, &path, &unknown);
    if (unknown.len > 0 && strcmp(mode, "Strict") == 0) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                        write->kind->kind, write->kind->version, write->kind->kind,
                        ek_buf_str(&unknown));
        return false;
    }
    if (unknown.len > 0 && strcmp(mode, "Ignore") != 0) {
        EK_AUTO(ek_buf) quoted;
        ek_buf_init(&quoted, 65536);
        ek_json_quote(&quoted, ek_buf_str(&unknown));
        ek_reply_header(call, "Warning", "299 - %s", ek_buf_str(&quoted));
    }
    ek_schema_default(write->doc, write->root, schema);
    size_t n = ek_schema_check(write->root, schema, &causes, &message);
    if (n == 0)
        return true;
    EK_AUTO(ek_buf) details;
    ek_buf_init(&details, 300000);
    ek_buf_printf(&details, "{\"name\":\"%s\",\"group\":\"%s\",\"kind\":\"%s\",\"causes\":[%s]}",
                  name, write->kind->group, write->kind->kind, ek_buf_str(&causes));
    ek_reply_status(call, 422, "Invalid", ek_buf_str(&details), "%s.%s \"%s\" is invalid: %s%s%s",
                    write->kind->kind, write->kind->group, name, n > 1 ? "[" : "",
                    ek_buf_str(&message), n > 1 ? "]" : "");
    return false;
}

/* True when anything but metadata and status differs. */
static bool spec_differs(yyjson_mut_val *a, yyjson_mut_val *b, bool has_status)
{
    size_t index, max, n[2] = {0, 0};
    yyjson_mut_val *key, *member, *side[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        yyjson_mut_obj_foreach(side[i], index, max, key, member)
        {
            const char *name = yyjson_mut_get_str(key);
            if (strcmp(name, "metadata") == 0 || (has_status && strcmp(name, "status") == 0))
                continue;
            n[i]++;
            yyjson_mut_val *other = yyjson_mut_obj_get(side[!i], name);
            if (i == 0 && (!other || !yyjson_mut_equals(member, other)))
                return true;
        }
    }
    return n[0] != n[1];
}

static void put_generation(struct ek_write *write)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(write->root, "metadata");
    yyjson_mut_val *old =
        yyjson_mut_obj_get(yyjson_mut_obj_get(write->before, "metadata"), "generation");
    int64_t generation = yyjson_mut_get_sint(old);

    yyjson_mut_obj_remove_key(metadata, "generation");
    if (!(write->kind->flags & EK_KIND_GENERATION))
        return;
    if (!write->before)
        generation = 1;
    else if (spec_differs(write->before, write->root, (write->kind->flags & EK_KIND_STATUS) != 0))
        generation++;
    yyjson_mut_obj_add_int(write->doc, metadata, "generation", generation);
}

static void answer(struct ek_ask *call, const struct ek_mvcc_value *value, int code)
{
    struct ek_render render;

    if (!ek_render_negotiate(call, &render))
        return;
    ek_reply_type(call, code, "application/json");
    ek_render_object(&render, value, 0, &call->response->body);
    ek_buf_puts(&call->response->body, "\n");
}

/* An object that is being deleted and has lost its last finalizer goes. */
static bool is_finished(yyjson_mut_val *root)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");

    return yyjson_mut_obj_get(metadata, "deletionTimestamp") &&
           yyjson_mut_arr_size(yyjson_mut_obj_get(metadata, "finalizers")) == 0;
}

/* Whether nothing would change: times of managers do not move on their own, so bytes tell, and
 * values where a client has sent members in another order. */
static bool is_unchanged(const struct ek_write *write)
{
    struct ek_mvcc_value *same = ek_write_encode(write->doc, write->root, write->stored->rv);
    bool equal =
        same->len == write->stored->len && memcmp(same->json, write->stored->json, same->len) == 0;

    if (!equal) {
        yyjson_doc *a = yyjson_read(same->json, same->len, 0);
        yyjson_doc *b = yyjson_read(write->stored->json, write->stored->len, 0);
        equal = yyjson_equals(yyjson_doc_get_root(a), yyjson_doc_get_root(b));
        yyjson_doc_free(a);
        yyjson_doc_free(b);
    }
    ek_mvcc_value_unref(same);
    return equal;
}

static void commit(struct ek_ask *call, struct ek_write *write, int code)
{
    struct ek_apiserver *server = call->server;
    char key[EK_KEY_SIZE];
    struct ek_mvcc_value *old = ek_mvcc_value_ref(write->stored);
    struct ek_mvcc_value *value =
        ek_write_encode(write->doc, write->root, ek_mvcc_rv(server->store) + 1);

    ek_ask_key(call, ek_meta_str(write->root, "name"), key);
    ek_mvcc_put(server->store, write->kind->storage, key, ek_mvcc_value_ref(value));
    ek_write_effects(server, write->kind, value, old, call->now_ms);
    answer(call, value, code);
    if (is_finished(write->root))
        ek_delete_now(server, write->kind, key, call->now_ms);
    ek_mvcc_value_unref(value);
    ek_mvcc_value_unref(old);
}

void ek_write_finish(struct ek_ask *call, struct ek_write *write, bool applied, int code)
{
    char version[EK_GV_SIZE], manager_name[129];
    struct ek_field_manager manager = {
        .name = ek_ask_manager(call, manager_name),
        .api_version = ek_kind_api_version(write->kind, version),
        .subresource = call->subresource,
        .has_status = (write->kind->flags & EK_KIND_STATUS) != 0,
    };

    /* Webhooks see defaults, and what they add is checked like the rest. */
    if (write->kind->shapes.schema)
        ek_schema_default(write->doc, write->root, write->kind->shapes.schema);
    if (!ek_admit(call, write, true))
        return;
    if (write->kind->shapes.schema && !check_custom(call, write))
        return;
    put_generation(write);
    if (!applied)
        ek_managed_update(write->doc, write->before, write->root, &write->kind->shapes, &manager,
                          call->now_ms);
    if (!ek_admit(call, write, false))
        return;
    if (write->stored && is_unchanged(write)) {
        answer(call, write->stored, code == 201 ? 201 : 200);
        return;
    }
    if (write->dry_run) {
        struct ek_mvcc_value *value =
            ek_write_encode(write->doc, write->root, write->stored ? write->stored->rv : 0);
        answer(call, value, code);
        ek_mvcc_value_unref(value);
        return;
    }
    commit(call, write, code);
}
