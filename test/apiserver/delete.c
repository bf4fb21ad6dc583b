/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes: preconditions, finalizers, collections, and what a write means to other objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

static bool is_kind(const struct ek_kind *kind, const char *group, const char *plural)
{
    return strcmp(kind->group, group) == 0 && strcmp(kind->plural, plural) == 0;
}

/* --- namespaces --- */

static bool namespace_is_empty(struct ek_apiserver *server, const char *name, int64_t now_ms,
                               bool clear)
{
    char prefix[EK_KEY_SIZE];
    bool empty = true;

    snprintf(prefix, sizeof(prefix), "%s/", name);
    for (size_t i = 0; i < server->kinds.n; i++) {
        const struct ek_kind *kind = server->kinds.items[i];
        if (!(kind->flags & EK_KIND_NAMESPACED) || (kind->flags & EK_KIND_REVIEW))
            continue;
        for (;;) {
            struct ek_mvcc_iter iter;
            const char *key;
            ek_mvcc_seek(server->store, kind->storage, prefix, ek_mvcc_rv(server->store), &iter);
            struct ek_mvcc_value *value = ek_mvcc_next(&iter, &key);
            while (value && strncmp(key, prefix, strlen(prefix)) == 0 &&
                   strstr(value->json, "\"finalizers\":[")) {
                empty = false;
                value = ek_mvcc_next(&iter, &key);
            }
            if (!value || strncmp(key, prefix, strlen(prefix)) != 0)
                break;
            if (!clear)
                return false;
            char copy[EK_KEY_SIZE];
            snprintf(copy, sizeof(copy), "%s", key);
            ek_delete_now(server, kind, copy, now_ms);
        }
    }
    return empty;
}

/* A namespace that is being deleted goes with the last object in it. */
static void check_namespace(struct ek_apiserver *server, const char *key, int64_t now_ms)
{
    const struct ek_kind *kind = ek_kinds_find(&server->kinds, "", "v1", "namespaces");
    char name[EK_KEY_SIZE];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(key, "/"), key);
    const struct ek_mvcc_value *space = ek_mvcc_get(server->store, kind->storage, name);
    if (space && strstr(space->json, "\"phase\":\"Terminating\"") &&
        namespace_is_empty(server, name, now_ms, false))
        ek_delete_now(server, kind, name, now_ms);
}

/* --- effects of writes --- */

static void conditions_of_definition(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *now)
{
    static const char *const rows[][3] = {
        {"NamesAccepted", "NoConflicts", "no conflicts found"},
        {"Established", "InitialNamesAccepted", "the initial names have been accepted"},
    };
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, status, "conditions");

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        yyjson_mut_val *condition = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_str(doc, condition, "type", rows[i][0]);
        yyjson_mut_obj_add_str(doc, condition, "status", "True");
        yyjson_mut_obj_add_strcpy(doc, condition, "lastTransitionTime", now);
        yyjson_mut_obj_add_str(doc, condition, "reason", rows[i][1]);
        yyjson_mut_obj_add_str(doc, condition, "message", rows[i][2]);
    }
}

/* Serves the resource of a definition, and reports that in its status, as the API server's
 * controllers do a moment after the write. */
static void establish(struct ek_apiserver *server, const struct ek_kind *kind,
                      const struct ek_mvcc_value *value, int64_t now_ms)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = ek_stored_root(doc, value);
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec"), *version;
    yyjson_mut_val *names = yyjson_mut_obj_get(spec, "names");
    char now[EK_TIME_SIZE];
    size_t index, max;

    ek_time_format(now_ms, now);
    yyjson_mut_obj_remove_key(root, "status");
    yyjson_mut_val *status = yyjson_mut_obj_add_obj(doc, root, "status");
    conditions_of_definition(doc, status, now);
    if (names)
        yyjson_mut_obj_add_val(doc, status, "acceptedNames", yyjson_mut_val_mut_copy(doc, names));
    yyjson_mut_val *stored = yyjson_mut_obj_add_arr(doc, status, "storedVersions");
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "versions"), index, max, version)
    {
        if (yyjson_mut_get_bool(yyjson_mut_obj_get(version, "storage")))
            yyjson_mut_arr_add_val(
                stored, yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_get(version, "name")));
    }
    char name[EK_KEY_SIZE];
    snprintf(name, sizeof(name), "%s", ek_meta_str(root, "name"));
    ek_mvcc_put(server->store, kind->storage, name,
                ek_write_encode(doc, root, ek_mvcc_rv(server->store) + 1));
    yyjson_mut_doc_free(doc);
}

/* True when the specs of two stored definitions are the same. */
static bool same_spec(const struct ek_mvcc_value *a, const struct ek_mvcc_value *b)
{
    yyjson_doc *left = yyjson_read(a->json, a->len, 0), *right = yyjson_read(b->json, b->len, 0);
    bool same = yyjson_equals(yyjson_obj_get(yyjson_doc_get_root(left), "spec"),
                              yyjson_obj_get(yyjson_doc_get_root(right), "spec"));

    yyjson_doc_free(left);
    yyjson_doc_free(right);
    return same;
}

static void drop_definition(struct ek_apiserver *server, const struct ek_mvcc_value *old,
                            int64_t now_ms)
{
    yyjson_doc *doc = yyjson_read(old->json, old->len, 0);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
    const char *group = ek_json_str(spec, "group", NULL);
    const char *plural = ek_json_str(spec, "names", "plural", NULL);
    struct ek_kind row = {0};

    row.storage = group && plural ? ek_kinds_undefine(&server->kinds, group, plural) : -1;
    while (row.storage >= 0) {
        struct ek_mvcc_iter iter;
        const char *key;
        char copy[EK_KEY_SIZE];
        ek_mvcc_seek(server->store, row.storage, "", ek_mvcc_rv(server->store), &iter);
        if (!ek_mvcc_next(&iter, &key))
            break;
        snprintf(copy, sizeof(copy), "%s", key);
        row.group = row.plural = "";
        ek_delete_now(server, &row, copy, now_ms);
    }
    yyjson_doc_free(doc);
}

void ek_write_effects(struct ek_apiserver *server, const struct ek_kind *kind,
                      const struct ek_mvcc_value *value, const struct ek_mvcc_value *old,
                      int64_t now_ms)
{
    if (!is_kind(kind, "apiextensions.k8s.io", "customresourcedefinitions"))
        return;
    if (!value) {
        drop_definition(server, old, now_ms);
        return;
    }
    if (old && same_spec(value, old))
        return;
    struct ek_err err;
    if (ek_kinds_define(&server->kinds, server->store, value->json, value->len, &err) == 0)
        establish(server, kind, value, now_ms);
}

/* --- deletes --- */

void ek_delete_now(struct ek_apiserver *server, const struct ek_kind *kind, const char *key,
                   int64_t now_ms)
{
    struct ek_mvcc_value *old = ek_mvcc_value_ref(ek_mvcc_get(server->store, kind->storage, key));

    if (!old)
        return;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_mvcc_value *shown =
        ek_write_encode(doc, ek_stored_root(doc, old), ek_mvcc_rv(server->store) + 1);
    yyjson_mut_doc_free(doc);
    ek_mvcc_delete(server->store, kind->storage, key, shown);
    ek_write_effects(server, kind, NULL, old, now_ms);
    if (strchr(key, '/'))
        check_namespace(server, key, now_ms);
    ek_mvcc_value_unref(old);
}

static void answer_object(struct ek_ask *call, const struct ek_mvcc_value *value)
{
    struct ek_render render = {.kind = call->kind, .now_ms = call->now_ms};

    ek_reply_type(call, 200, "application/json");
    ek_render_object(&render, value, 0, &call->response->body);
    ek_buf_puts(&call->response->body, "\n");
}

static void answer_success(struct ek_ask *call, const char *name, const char *uid)
{
    struct ek_buf *body = &call->response->body;

    ek_reply_type(call, 200, "application/json");
    ek_buf_puts(body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                      "\"Success\",\"details\":{\"name\":");
    ek_json_quote(body, name);
    if (*call->kind->group)
        ek_buf_printf(body, ",\"group\":\"%s\"", call->kind->group);
    ek_buf_printf(body, ",\"kind\":\"%s\",\"uid\":\"%s\"}}\n", call->kind->plural, uid);
}

/* Marks an object whose finalizers (or contents, for a namespace) hold it. */
static void mark_deleted(struct ek_ask *call, yyjson_mut_doc *doc, yyjson_mut_val *root,
                         const char *key)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    yyjson_mut_val *generation = yyjson_mut_obj_get(metadata, "generation");
    char now[EK_TIME_SIZE];

    if (!yyjson_mut_obj_get(metadata, "deletionTimestamp")) {
        yyjson_mut_obj_add_strcpy(doc, metadata, "deletionTimestamp",
                                  ek_time_format(call->now_ms, now));
        yyjson_mut_obj_add_int(doc, metadata, "deletionGracePeriodSeconds", 0);
        if (generation)
            yyjson_mut_set_int(generation, (int)yyjson_mut_get_sint(generation) + 1);
        if (is_kind(call->kind, "", "namespaces"))
            yyjson_mut_obj_put(yyjson_mut_obj_get(root, "status"), yyjson_mut_str(doc, "phase"),
                               yyjson_mut_str(doc, "Terminating"));
        ek_mvcc_put(call->server->store, call->kind->storage, key,
                    ek_write_encode(doc, root, ek_mvcc_rv(call->server->store) + 1));
    }
}

static bool check_preconditions(struct ek_ask *call, yyjson_val *options, yyjson_mut_val *root,
                                const char *name)
{
    static const char *const members[][3] = {
        {"uid", "uid", "UID"}, {"resourceVersion", "resourceVersion", "ResourceVersion"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(members); i++) {
        const char *wanted = ek_json_str(options, "preconditions", members[i][0], NULL);
        const char *is = ek_meta_str(root, members[i][1]);
        char why[512];
        if (!wanted || strcmp(wanted, is) == 0)
            continue;
        snprintf(why, sizeof(why),
                 "Precondition failed: %s in precondition: %.128s, %s in object meta: %.128s",
                 members[i][2], wanted, members[i][2], is);
        ek_reply_conflict(call, name, why);
        return false;
    }
    return true;
}

static bool is_dry_run(const struct ek_ask *call, yyjson_val *options)
{
    return strcmp(ek_ask_param(call, "dryRun"), "All") == 0 ||
           yyjson_arr_size(ek_json_get(options, "dryRun", NULL)) > 0;
}

/* Asks the webhooks; false when answered, or when one has yet to say. */
static bool admit(struct ek_ask *call, const char *key, yyjson_val *options)
{
    struct ek_mvcc_value *old = ek_mvcc_get(call->server->store, call->kind->storage, key);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_write write = {.kind = call->kind,
                             .doc = doc,
                             .before = ek_stored_root(doc, old),
                             .stored = old,
                             .dry_run = is_dry_run(call, options)};
    bool admitted = ek_admit(call, &write, true) && ek_admit(call, &write, false);

    yyjson_mut_doc_free(doc);
    return admitted;
}

static void delete_one(struct ek_ask *call, const char *key, const char *name, yyjson_val *options)
{
    struct ek_mvcc *store = call->server->store;
    struct ek_mvcc_value *old = ek_mvcc_value_ref(ek_mvcc_get(store, call->kind->storage, key));
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = ek_stored_root(doc, old);
    yyjson_mut_val *finalizers =
        yyjson_mut_obj_get(yyjson_mut_obj_get(root, "metadata"), "finalizers");
    bool dry_run = is_dry_run(call, options);
    bool namespaces = is_kind(call->kind, "", "namespaces");

    if (!check_preconditions(call, options, root, name)) {
        /* answered */
    } else if (dry_run) {
        answer_success(call, name, ek_meta_str(root, "uid"));
    } else if (namespaces || yyjson_mut_arr_size(finalizers) > 0) {
        mark_deleted(call, doc, root, key);
        answer_object(call, ek_mvcc_get(store, call->kind->storage, key));
        if (namespaces && namespace_is_empty(call->server, key, call->now_ms, true) &&
            yyjson_mut_arr_size(finalizers) == 0)
            ek_delete_now(call->server, call->kind, key, call->now_ms);
    } else {
        ek_delete_now(call->server, call->kind, key, call->now_ms);
        answer_success(call, name, ek_meta_str(root, "uid"));
    }
    yyjson_mut_doc_free(doc);
    ek_mvcc_value_unref(old);
}

static yyjson_doc *read_options(struct ek_ask *call)
{
    struct ek_str body = call->request->body;

    return body.len > 0 ? ek_json_parse(body.p, body.len, NULL) : NULL;
}

void ek_ask_delete(struct ek_ask *call)
{
    char key[EK_KEY_SIZE];
    yyjson_doc *options = read_options(call);

    ek_ask_key(call, call->name, key);
    if (!ek_mvcc_get(call->server->store, call->kind->storage, key))
        ek_reply_not_found(call, call->name);
    else if (admit(call, key, yyjson_doc_get_root(options)))
        delete_one(call, key, call->name, yyjson_doc_get_root(options));
    yyjson_doc_free(options);
}

void ek_ask_delete_collection(struct ek_ask *call)
{
    struct ek_mvcc *store = call->server->store;
    struct ek_filter filter;
    struct ek_mvcc_iter iter;
    struct ek_mvcc_value *value;
    const char *key;
    char **keys = NULL;
    size_t n = 0;
    yyjson_doc *options = read_options(call);

    if (!ek_filter_read(call, &filter)) {
        ek_filter_done(&filter);
        yyjson_doc_free(options);
        return;
    }
    ek_mvcc_seek(store, call->kind->storage, filter.prefix, ek_mvcc_rv(store), &iter);
    while ((value = ek_mvcc_next(&iter, &key)) != NULL) {
        if (!ek_filter_matches(&filter, key, value))
            continue;
        keys = ek_xrealloc(keys, n + 1, sizeof(keys[0]));
        keys[n++] = ek_xstrdup(key);
    }
    /* All are reviewed before the first one is deleted, because waiting must not split the work. */
    bool admitted = true;
    for (size_t i = 0; i < n && admitted; i++)
        admitted = admit(call, keys[i], yyjson_doc_get_root(options));
    for (size_t i = 0; i < n; i++) {
        const char *slash = strchr(keys[i], '/');
        if (admitted) {
            ek_buf_reset(&call->response->body);
            delete_one(call, keys[i], slash ? slash + 1 : keys[i], yyjson_doc_get_root(options));
        }
        ek_free(keys[i]);
    }
    ek_free(keys);
    ek_filter_done(&filter);
    yyjson_doc_free(options);
    if (!admitted)
        return;
    ek_buf_reset(&call->response->body);
    ek_reply_type(call, 200, "application/json");
    ek_buf_puts(&call->response->body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                       "\"status\":\"Success\"}\n");
}
