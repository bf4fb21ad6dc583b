/* SPDX-License-Identifier: Apache-2.0 */
/* PATCH: the three patches that edit, and server-side apply. */
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "test/apiserver/patch.h"
#include "test/apiserver/server-internal.h"

static void reply_conflicts(struct ek_ask *call, const struct ek_conflicts *conflicts)
{
    EK_AUTO(ek_buf) message;
    EK_AUTO(ek_buf) details;

    ek_buf_init(&message, 65536);
    ek_buf_init(&details, 262144);
    ek_conflicts_format(conflicts, &message);
    ek_buf_puts(&details, "{\"causes\":[");
    for (size_t i = 0; i < conflicts->n; i++) {
        EK_AUTO(ek_buf) text;
        ek_buf_init(&text, 4096);
        ek_buf_printf(&text, "conflict with %s", conflicts->items[i].holder);
        ek_buf_printf(&details,
                      "%s{\"reason\":\"FieldManagerConflict\",\"message\":", i ? "," : "");
        ek_json_quote(&details, ek_buf_str(&text));
        ek_buf_puts(&details, ",\"field\":");
        ek_json_quote(&details, conflicts->items[i].path);
        ek_buf_puts(&details, "}");
    }
    ek_buf_puts(&details, "]}");
    ek_reply_status(call, 409, "Conflict", ek_buf_str(&details), "%s", ek_buf_str(&message));
}

/* Of a configuration, only what the endpoint may set counts. */
static void cut_config(struct ek_ask *call, yyjson_mut_doc *doc, yyjson_mut_val *config)
{
    bool has_status = (call->kind->flags & EK_KIND_STATUS) != 0;

    if (strcmp(call->subresource, "status") == 0) {
        yyjson_mut_val *status = yyjson_mut_obj_get(config, "status");
        yyjson_mut_val *metadata = yyjson_mut_obj(doc);
        yyjson_mut_obj_add_strcpy(doc, metadata, "name", ek_meta_str(config, "name"));
        yyjson_mut_obj_clear(config);
        yyjson_mut_obj_add_val(doc, config, "metadata", metadata);
        if (status)
            yyjson_mut_obj_add_val(doc, config, "status", status);
    } else if (has_status) {
        yyjson_mut_obj_remove_key(config, "status");
    }
    yyjson_mut_obj_remove_key(yyjson_mut_obj_get(config, "metadata"), "managedFields");
}

static void apply_new(struct ek_ask *call, struct ek_write *write, yyjson_mut_val *config,
                      const struct ek_field_manager *manager)
{
    struct ek_conflicts conflicts;

    if (*call->subresource) {
        ek_reply_not_found(call, call->name);
        return;
    }
    write->root = ek_managed_apply(write->doc, NULL, config, &write->kind->shapes, manager, true,
                                   call->now_ms, &conflicts);
    if (ek_write_prepare_create(call, write)) {
        write->dry_run = strcmp(ek_ask_param(call, "dryRun"), "All") == 0;
        ek_write_finish(call, write, true, 201);
    }
}

static void apply(struct ek_ask *call, struct ek_write *write)
{
    char version[EK_GV_SIZE], name[129];
    struct ek_field_manager manager = {
        .name = ek_ask_manager(call, name),
        .api_version = ek_kind_api_version(call->kind, version),
        .subresource = call->subresource,
        .has_status = (call->kind->flags & EK_KIND_STATUS) != 0,
    };
    struct ek_conflicts conflicts = {0};
    yyjson_mut_val *config;

    if (!*ek_ask_param(call, "fieldManager")) {
        ek_reply_status(call, 422, "Invalid",
                        "{\"group\":\"meta.k8s.io\",\"kind\":\"PatchOptions\",\"causes\":[{"
                        "\"reason\":\"FieldValueRequired\",\"message\":\"Required value: is "
                        "required for apply patch\",\"field\":\"fieldManager\"}]}",
                        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: "
                        "is required for apply patch");
        return;
    }
    config = ek_ask_body(call, write->doc);
    if (!config)
        return;
    if (!*ek_meta_str(config, "name"))
        yyjson_mut_obj_add_strcpy(write->doc, yyjson_mut_obj_get(config, "metadata"), "name",
                                  call->name);
    cut_config(call, write->doc, config);
    if (!write->stored) {
        apply_new(call, write, config, &manager);
        return;
    }
    const char *rv = ek_meta_str(config, "resourceVersion");
    if (*rv && strtoull(rv, NULL, 10) != write->stored->rv) {
        ek_reply_conflict(call, call->name, NULL);
        return;
    }
    write->root = ek_managed_apply(write->doc, write->before, config, &write->kind->shapes,
                                   &manager, ek_ask_flag(call, "force"), call->now_ms, &conflicts);
    if (write->root)
        ek_write_update(call, write, true);
    else
        reply_conflicts(call, &conflicts);
    ek_conflicts_done(&conflicts);
}

/* Changes the stored object by the patch in the body; NULL when answered. */
static yyjson_mut_val *edit(struct ek_ask *call, struct ek_write *write, const char *type)
{
    struct ek_err err = {0};
    struct ek_str body = call->request->body;
    yyjson_doc *parsed = ek_json_parse(body.p ? body.p : "", body.len, &err);
    yyjson_mut_val *patch = yyjson_val_mut_copy(write->doc, yyjson_doc_get_root(parsed));
    yyjson_mut_val *root = NULL;

    yyjson_doc_free(parsed);
    if (!patch) {
        ek_reply_status(call, 400, "BadRequest", NULL, "error decoding patch: %s", err.message);
        return NULL;
    }
    if (strstr(type, "json-patch")) {
        root = ek_patch_json(write->doc, write->before, patch, &err);
        if (!root)
            ek_reply_status(call, err.code == EK_E_PARSE ? 400 : 422,
                            err.code == EK_E_PARSE ? "BadRequest" : "Invalid", NULL,
                            "the server rejected our request due to an error in our request: %s",
                            err.message);
    } else if (strstr(type, "strategic-merge-patch")) {
        root = ek_patch_strategic(write->doc, write->before, patch,
                                  ek_schema_root(&write->kind->shapes));
    } else {
        root = ek_patch_merge(write->doc, write->before, patch);
    }
    return root;
}

void ek_ask_patch(struct ek_ask *call)
{
    const char *type = call->request->content_type ? call->request->content_type : "";
    bool applies = strstr(type, "apply-patch") != NULL;
    bool strategic = strstr(type, "strategic-merge-patch") != NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_write write = {.kind = call->kind, .doc = doc};
    char key[EK_KEY_SIZE];

    write.stored =
        ek_mvcc_get(call->server->store, call->kind->storage, ek_ask_key(call, call->name, key));
    if (write.stored)
        write.before = ek_stored_root(doc, write.stored);
    if (!applies && !strstr(type, "json-patch") && !strstr(type, "merge-patch")) {
        ek_reply_status(call, 415, "UnsupportedMediaType", NULL,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json-patch+json, application/merge-patch+json, "
                        "application/apply-patch+yaml");
    } else if (strategic && (call->kind->flags & EK_KIND_CUSTOM)) {
        ek_reply_status(call, 415, "UnsupportedMediaType", NULL,
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json-patch+json, application/merge-patch+json, "
                        "application/apply-patch+yaml");
    } else if (applies) {
        apply(call, &write);
    } else if (!write.stored) {
        ek_reply_not_found(call, call->name);
    } else {
        write.root = edit(call, &write, type);
        /* A patch changes what is there: only a version in the patch itself is a precondition. */
        if (write.root)
            ek_write_update(call, &write, false);
    }
    yyjson_mut_doc_free(doc);
}
