/* SPDX-License-Identifier: Apache-2.0 */
/* OpenAPI v3, as far as kubectl reads it: an index, and per group version the paths with the query
 * parameters of PATCH and the schemas of the kinds. Custom kinds have their whole schema, built-in
 * ones only their outline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/server-internal.h"

static void gv_path(const struct ek_kind *kind, char buf[EK_GV_SIZE + 8])
{
    char version[EK_GV_SIZE];

    snprintf(buf, EK_GV_SIZE + 8, "%s/%s", *kind->group ? "apis" : "api",
             ek_kind_api_version(kind, version));
}

static bool served_first(const struct ek_ask *call, size_t i)
{
    const struct ek_kinds *kinds = &call->server->kinds;
    const struct ek_kind *kind = kinds->items[i];

    if (!ek_peer_serves(call->peer, kind))
        return false;
    for (size_t k = 0; k < i; k++) {
        if (strcmp(kinds->items[k]->group, kind->group) == 0 &&
            strcmp(kinds->items[k]->version, kind->version) == 0 &&
            ek_peer_serves(call->peer, kinds->items[k]))
            return false;
    }
    return true;
}

static void put_index(struct ek_ask *call)
{
    const struct ek_kinds *kinds = &call->server->kinds;
    struct ek_buf *out = &call->response->body;
    char path[EK_GV_SIZE + 8];

    ek_reply_type(call, 200, "application/json");
    ek_buf_printf(out, "{\"paths\":{\"version\":{\"serverRelativeURL\":\"/openapi/v3/version\"}");
    for (size_t i = 0; i < kinds->n; i++) {
        if (!served_first(call, i))
            continue;
        gv_path(kinds->items[i], path);
        ek_buf_printf(out, ",\"%s\":{\"serverRelativeURL\":\"/openapi/v3/%s?hash=%016lX\"}", path,
                      path, kinds->changes);
    }
    ek_buf_puts(out, "}}\n");
}

/* The version is what the server emulates, as of Kubernetes' servers. */
static void put_head(struct ek_ask *call)
{
    char emulation[EK_MINOR_SIZE];

    ek_reply_type(call, 200, "application/json");
    ek_buf_printf(&call->response->body,
                  "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"%s\"},",
                  ek_minor_format(call->peer->emulation, emulation));
}

static void put_gvk(const struct ek_kind *kind, struct ek_buf *out)
{
    ek_buf_printf(out, "{\"group\":\"%s\",\"kind\":\"%s\",\"version\":\"%s\"}", kind->group,
                  kind->kind, kind->version);
}

static void put_operation(const struct ek_kind *kind, const char *method, const char *action,
                          const char *const *params, struct ek_buf *out)
{
    ek_buf_printf(out, "\"%s\":{\"parameters\":[", method);
    for (size_t i = 0; params[i]; i++)
        ek_buf_printf(out,
                      "%s{\"name\":\"%s\",\"in\":\"query\",\"schema\":{\"type\":\"string\","
                      "\"uniqueItems\":true}}",
                      i ? "," : "", params[i]);
    ek_buf_printf(out,
                  "],\"responses\":{\"200\":{\"description\":\"OK\"}},\"x-kubernetes-action\":"
                  "\"%s\",\"x-kubernetes-group-version-kind\":",
                  action);
    put_gvk(kind, out);
    ek_buf_puts(out, "}");
}

static void put_paths(const struct ek_kind *kind, struct ek_buf *out)
{
    static const char *const write_params[] = {"dryRun", "fieldManager", "fieldValidation", "force",
                                               NULL};
    static const char *const read_params[] = {"fieldSelector",   "labelSelector", "limit",
                                              "resourceVersion", "watch",         NULL};
    char base[2 * EK_GV_SIZE], path[EK_GV_SIZE + 8];

    gv_path(kind, path);
    snprintf(base, sizeof(base), "/%s%s/%s", path,
             kind->flags & EK_KIND_NAMESPACED ? "/namespaces/{namespace}" : "", kind->plural);
    ek_buf_printf(out, "\"%s\":{", base);
    if (!(kind->flags & EK_KIND_REVIEW)) {
        put_operation(kind, "get", "list", read_params, out);
        ek_buf_puts(out, ",");
    }
    put_operation(kind, "post", "post", write_params, out);
    ek_buf_puts(out, "}");
    if (kind->flags & EK_KIND_REVIEW)
        return;
    ek_buf_printf(out, ",\"%s/{name}\":{", base);
    put_operation(kind, "get", "get", read_params + 4, out);
    ek_buf_puts(out, ",");
    put_operation(kind, "put", "put", write_params, out);
    ek_buf_puts(out, ",");
    put_operation(kind, "patch", "patch", write_params, out);
    ek_buf_puts(out, ",");
    put_operation(kind, "delete", "delete", write_params, out);
    ek_buf_puts(out, "}");
}

/* "dev.evenkeel.v1alpha1.ControlPlane", "io.k8s.api.coordination.v1.Lease" */
static void put_schema_name(const struct ek_kind *kind, struct ek_buf *out)
{
    const char *group = *kind->group ? kind->group : "core";

    if (!(kind->flags & EK_KIND_CUSTOM)) {
        ek_buf_printf(out, "\"io.k8s.api.%.*s.%s.%s\":", (int)strcspn(group, "."), group,
                      kind->version, kind->kind);
        return;
    }
    ek_buf_puts(out, "\"");
    for (size_t end = strlen(group); end > 0;) {
        size_t start = end;
        while (start > 0 && group[start - 1] != '.')
            start--;
        ek_buf_printf(out, "%.*s.", (int)(end - start), group + start);
        end = start > 0 ? start - 1 : 0;
    }
    ek_buf_printf(out, "%s.%s\":", kind->version, kind->kind);
}

static void put_schema(const struct ek_kind *kind, struct ek_buf *out)
{
    put_schema_name(kind, out);
    ek_buf_puts(out, "{\"x-kubernetes-group-version-kind\":[");
    put_gvk(kind, out);
    ek_buf_puts(out, "],");
    if (kind->shapes.schema) {
        size_t len;
        char *json = yyjson_val_write(kind->shapes.schema, 0, &len);
        ek_buf_append(out, json + 1, len - 1);
        free(json);
        return;
    }
    bool has_data = strcmp(kind->plural, "configmaps") == 0 || strcmp(kind->plural, "secrets") == 0;
    ek_buf_printf(
        out,
        "\"description\":\"%s is a built-in kind, of which only the outline is known "
        "here.\",\"type\":\"object\",\"properties\":{\"apiVersion\":{\"type\":\"string\"},\"kind\":"
        "{\"type\":\"string\"},\"metadata\":{\"allOf\":[{\"$ref\":\"#/components/schemas/"
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\"}],\"default\":{}},%s\"spec\":{\"type\":"
        "\"object\",\"x-kubernetes-preserve-unknown-fields\":true},\"status\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}}}",
        kind->kind,
        has_data ? "\"data\":{\"type\":\"object\",\"additionalProperties\":{\"type\":"
                   "\"string\"}},"
                 : "");
}

static void put_object_meta(struct ek_buf *out)
{
    ek_buf_puts(out,
                "\"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\":{\"description\":"
                "\"ObjectMeta is metadata that all persisted resources must have.\",\"type\":"
                "\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"namespace\":{"
                "\"type\":\"string\"},\"labels\":{\"type\":\"object\",\"additionalProperties\":"
                "{\"type\":\"string\"}},\"annotations\":{\"type\":\"object\","
                "\"additionalProperties\":{\"type\":\"string\"}}}}");
}

/* The document of the group version that rest ("api/v1", "apis/apps/v1") names. */
static bool put_document(struct ek_ask *call, const char *rest)
{
    const struct ek_kinds *kinds = &call->server->kinds;
    struct ek_buf *out = &call->response->body;
    char path[EK_GV_SIZE + 8];

    for (int part = 0; part < 2; part++) {
        size_t n = 0;
        for (size_t i = 0; i < kinds->n; i++) {
            gv_path(kinds->items[i], path);
            if (strcmp(path, rest) != 0 || !ek_peer_serves(call->peer, kinds->items[i]))
                continue;
            if (part == 0 && n == 0)
                put_head(call);
            if (n++ == 0)
                ek_buf_puts(out, part == 0 ? "\"paths\":{" : "\"components\":{\"schemas\":{");
            else
                ek_buf_puts(out, ",");
            if (part == 0)
                put_paths(kinds->items[i], out);
            else
                put_schema(kinds->items[i], out);
        }
        if (n == 0)
            return false;
        ek_buf_puts(out, part == 0 ? "}," : ",");
    }
    put_object_meta(out);
    ek_buf_puts(out, "}}}\n");
    return true;
}

bool ek_ask_openapi(struct ek_ask *call)
{
    char rest[2 * EK_GV_SIZE] = "";

    if (call->n_parts < 2 || strcmp(call->parts[0], "openapi") != 0 ||
        strcmp(call->parts[1], "v3") != 0)
        return false;
    for (size_t i = 2; i < call->n_parts; i++) {
        size_t len = strlen(rest);
        snprintf(rest + len, sizeof(rest) - len, "%s%s", i > 2 ? "/" : "", call->parts[i]);
    }
    if (!*rest) {
        put_index(call);
        return true;
    }
    if (strcmp(rest, "version") == 0) {
        put_head(call);
        ek_buf_puts(&call->response->body,
                    "\"paths\":{\"/version/\":{\"get\":{\"responses\":{\"200\":{\"description\":"
                    "\"OK\"}}}}},\"components\":{\"schemas\":{}}}\n");
        return true;
    }
    return put_document(call, rest);
}
