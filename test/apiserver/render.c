/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as clients ask for them: whole, as metadata only, or as rows of a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

/* The value of a parameter of one Accept clause; "" when absent. */
static void clause_param(const char *clause, size_t len, const char *name, char *buf, size_t size)
{
    size_t name_len = strlen(name);
    const char *end = clause + len;

    buf[0] = '\0';
    for (const char *p = clause; p < end; p++) {
        if (*p != ';')
            continue;
        p++;
        p += strspn(p, " ");
        if ((size_t)(end - p) > name_len && strncmp(p, name, name_len) == 0 && p[name_len] == '=') {
            size_t n = strcspn(p + name_len + 1, ";, ");
            if (n > (size_t)(end - p) - name_len - 1)
                n = (size_t)(end - p) - name_len - 1;
            snprintf(buf, size, "%.*s", (int)n, p + name_len + 1);
            return;
        }
        p--;
    }
}

/* Whether one clause can be served, and how. */
static bool accept_clause(const char *clause, size_t len, struct ek_render *render)
{
    static const char *const types[] = {"application/json", "*/*", "application/*"};
    size_t type_len = strcspn(clause, ";, ");
    char as[64], group[64];
    bool known = false;

    if (type_len > len)
        type_len = len;
    for (size_t i = 0; i < EK_ARRAY_SIZE(types); i++)
        known = known || (type_len == strlen(types[i]) && memcmp(clause, types[i], type_len) == 0);
    clause_param(clause, len, "as", as, sizeof(as));
    clause_param(clause, len, "g", group, sizeof(group));
    if (!known || (*as && strcmp(group, "meta.k8s.io") != 0))
        return false;
    if (!*as)
        render->form = EK_FORM_OBJECT;
    else if (strcmp(as, "Table") == 0)
        render->form = EK_FORM_TABLE;
    else if (strncmp(as, "PartialObjectMetadata", 21) == 0)
        render->form = EK_FORM_PARTIAL;
    else
        return false;
    return true;
}

bool ek_render_negotiate(struct ek_ask *call, struct ek_render *ret_render)
{
    const char *accept = call->request->accept;
    const char *include = ek_ask_param(call, "includeObject");

    *ret_render = (struct ek_render){
        .kind = call->kind,
        .now_ms = call->now_ms,
        .include_object = strcmp(include, "Object") == 0,
        .include_none = strcmp(include, "None") == 0,
    };
    if (!accept || !*accept)
        return true;
    for (const char *p = accept; *p;) {
        p += strspn(p, " ,");
        size_t len = strcspn(p, ",");
        if (len > 0 && accept_clause(p, len, ret_render))
            return true;
        p += len;
    }
    ek_reply_type(call, 406, "application/json");
    ek_buf_puts(&call->response->body,
                "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n"
                "  \"status\": \"Failure\",\n  \"message\": \"406: Not Acceptable\\n\\n"
                "Available representations: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
                "application/vnd.kubernetes.protobuf;stream=watch\",\n"
                "  \"reason\": \"NotAcceptable\",\n  \"details\": {},\n  \"code\": 406\n}");
    return false;
}

static void put_type(const struct ek_kind *kind, const char *suffix, struct ek_buf *out)
{
    char version[EK_GV_SIZE];

    ek_kind_api_version(kind, version);
    if (kind->flags & EK_KIND_CUSTOM)
        ek_buf_printf(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s%s\",", version, kind->kind,
                      suffix);
    else
        ek_buf_printf(out, "{\"kind\":\"%s%s\",\"apiVersion\":\"%s\",", kind->kind, suffix,
                      version);
}

/* Names of members in the core form and in events.k8s.io. */
static const char *const event_names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
};

/* Renames the members of an Event; to: 1 for events.k8s.io, 0 for core. */
static void convert_event(yyjson_mut_doc *doc, yyjson_mut_val *root, int to)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(event_names); i++)
        yyjson_mut_obj_rename_key(doc, root, event_names[i][!to], event_names[i][to]);
}

void ek_event_to_storage(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    convert_event(doc, root, 0);
}

static void put_event(const struct ek_mvcc_value *value, struct ek_buf *out, size_t skip)
{
    yyjson_doc *stored = yyjson_read(value->json, value->len, 0);
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(stored, NULL);
    size_t len;

    convert_event(doc, yyjson_mut_doc_get_root(doc), 1);
    char *json = yyjson_mut_write(doc, 0, &len);
    if (json)
        ek_buf_append(out, json + skip, len - skip);
    free(json);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(stored);
}

/* Appends the stored bytes from skip on; rv (0: none) replaces the resourceVersion. */
static void put_stored(const struct ek_kind *kind, const struct ek_mvcc_value *value, uint64_t rv,
                       size_t skip, struct ek_buf *out)
{
    if (kind->flags & EK_KIND_EVENTS_V1) {
        put_event(value, out, skip);
        return;
    }
    if (rv == 0 || rv == value->rv || value->rv_off == 0) {
        ek_buf_append(out, value->json + skip, value->len - skip);
        return;
    }
    size_t digits = strspn(value->json + value->rv_off, "0123456789");
    ek_buf_append(out, value->json + skip, value->rv_off - skip);
    ek_buf_printf(out, "%llu", (unsigned long long)rv);
    ek_buf_puts(out, value->json + value->rv_off + digits);
}

/* Appends metadata only, as PartialObjectMetadata. */
static void put_partial(yyjson_val *root, struct ek_buf *out)
{
    size_t len;
    char *json = yyjson_val_write(yyjson_obj_get(root, "metadata"), 0, &len);

    ek_buf_puts(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                     "\"metadata\":");
    if (json)
        ek_buf_append(out, json, len);
    ek_buf_puts(out, "}");
    free(json);
}

static void put_row(const struct ek_render *render, yyjson_val *root, struct ek_buf *out)
{
    char version[EK_GV_SIZE];

    ek_buf_puts(out, "{\"cells\":[");
    ek_cells_row(render, root, out);
    ek_buf_puts(out, "]");
    if (render->include_none) {
        ek_buf_puts(out, "}");
        return;
    }
    ek_buf_puts(out, ",\"object\":");
    if (render->include_object) {
        size_t len;
        char *json = yyjson_val_write(root, 0, &len);
        ek_buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", render->kind->kind,
                      ek_kind_api_version(render->kind, version));
        if (json)
            ek_buf_append(out, json + 1, len - 1);
        free(json);
    } else {
        put_partial(root, out);
    }
    ek_buf_puts(out, "}");
}

static void put_table_begin(struct ek_buf *out, uint64_t rv)
{
    ek_buf_printf(out,
                  "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
                  "\"resourceVersion\":\"%llu\"",
                  (unsigned long long)rv);
}

void ek_render_object(const struct ek_render *render, const struct ek_mvcc_value *value,
                      uint64_t rv, struct ek_buf *out)
{
    if (render->form == EK_FORM_OBJECT) {
        put_type(render->kind, "", out);
        put_stored(render->kind, value, rv, 1, out);
        return;
    }
    yyjson_doc *doc = yyjson_read(value->json, value->len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (render->form == EK_FORM_PARTIAL) {
        put_partial(root, out);
    } else {
        put_table_begin(out, rv ? rv : value->rv);
        ek_buf_puts(out, "},");
        ek_cells_columns(render, out);
        ek_buf_puts(out, ",\"rows\":[");
        put_row(render, root, out);
        ek_buf_puts(out, "]}");
    }
    yyjson_doc_free(doc);
}

void ek_render_list_begin(const struct ek_render *render, struct ek_buf *out, uint64_t rv,
                          const char *token, int64_t remaining)
{
    if (render->form == EK_FORM_TABLE) {
        put_table_begin(out, rv);
    } else {
        if (render->form == EK_FORM_PARTIAL)
            ek_buf_puts(out, "{\"kind\":\"PartialObjectMetadataList\","
                             "\"apiVersion\":\"meta.k8s.io/v1\",");
        else
            put_type(render->kind, "List", out);
        ek_buf_printf(out, "\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)rv);
    }
    if (token)
        ek_buf_printf(out, ",\"continue\":\"%s\"", token);
    if (remaining > 0)
        ek_buf_printf(out, ",\"remainingItemCount\":%lld", (long long)remaining);
    ek_buf_puts(out, "},");
    if (render->form == EK_FORM_TABLE) {
        ek_cells_columns(render, out);
        ek_buf_puts(out, ",\"rows\":[");
    } else {
        ek_buf_puts(out, "\"items\":[");
    }
}

void ek_render_list_item(const struct ek_render *render, const struct ek_mvcc_value *value,
                         size_t position, struct ek_buf *out)
{
    if (position > 0)
        ek_buf_append(out, ",", 1);
    if (render->form == EK_FORM_OBJECT) {
        bool typed = (render->kind->flags & EK_KIND_CUSTOM) != 0;
        if (typed)
            put_type(render->kind, "", out);
        put_stored(render->kind, value, 0, typed, out);
        return;
    }
    yyjson_doc *doc = yyjson_read(value->json, value->len, 0);
    if (render->form == EK_FORM_PARTIAL)
        put_partial(yyjson_doc_get_root(doc), out);
    else
        put_row(render, yyjson_doc_get_root(doc), out);
    yyjson_doc_free(doc);
}

void ek_render_list_end(struct ek_buf *out)
{
    ek_buf_puts(out, "]}\n");
}

void ek_render_bookmark(const struct ek_render *render, uint64_t rv, bool initial_end,
                        struct ek_buf *out)
{
    static const char end[] = ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";

    if (render->form == EK_FORM_TABLE) {
        put_table_begin(out, rv);
        ek_buf_puts(out,
                    "},\"columnDefinitions\":null,\"rows\":[{\"cells\":[],\"object\":{\"kind\":"
                    "\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",");
    } else if (render->form == EK_FORM_PARTIAL) {
        ek_buf_puts(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",");
    } else {
        put_type(render->kind, "", out);
    }
    ek_buf_printf(out, "\"metadata\":{\"resourceVersion\":\"%llu\"%s}", (unsigned long long)rv,
                  initial_end ? end : "");
    if (render->form == EK_FORM_OBJECT && *render->kind->empty)
        ek_buf_printf(out, ",%s", render->kind->empty);
    ek_buf_puts(out, render->form == EK_FORM_TABLE ? "}}]}" : "}");
}
