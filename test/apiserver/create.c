/* SPDX-License-Identifier: Apache-2.0 */
/* Create and update, and the metadata that the server gives to objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

#define NAME_MAX_LEN 253

static bool is_dns_subdomain(const char *name)
{
    char before = '.';

    for (const char *p = name; *p; before = *p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        if (!letter && *p != '-' && *p != '.')
            return false;
        if ((*p == '.' && (before == '.' || before == '-')) || (*p == '-' && before == '.'))
            return false;
    }
    return *name && before != '-' && before != '.' && strlen(name) <= NAME_MAX_LEN;
}

static bool check_name(struct ek_ask *call, const char *name)
{
    if (!*name) {
        ek_reply_invalid(call, "", "FieldValueRequired", "metadata.name",
                         "Required value: name or generateName is required");
        return false;
    }
    if ((call->kind->flags & EK_KIND_PATH_NAME) ? !strpbrk(name, "/%") : is_dns_subdomain(name))
        return true;
    ek_reply_invalid(call, name, "FieldValueInvalid", "metadata.name",
                     "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower "
                     "case alphanumeric characters, '-' or '.', and must start and end with an "
                     "alphanumeric character (e.g. 'example.com', regex used for validation is "
                     "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                     name);
    return false;
}

static void generate_name(struct ek_ask *call, struct ek_write *write)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    yyjson_mut_val *metadata = yyjson_mut_obj_get(write->root, "metadata");
    const char *base = ek_meta_str(write->root, "generateName");
    char name[NAME_MAX_LEN + 1], suffix[6] = "";

    if (*ek_meta_str(write->root, "name") || !*base)
        return;
    for (int i = 0; i < 5; i++)
        suffix[i] = alphabet[ek_server_random(call->server) % (sizeof(alphabet) - 1)];
    snprintf(name, sizeof(name), "%.240s%s", base, suffix);
    yyjson_mut_obj_remove_key(metadata, "name");
    yyjson_mut_obj_add_strcpy(write->doc, metadata, "name", name);
}

/* The namespace in the body must be that of the path; objects of a namespace need one that is
 * there and stays. */
static bool settle_namespace(struct ek_ask *call, struct ek_write *write, bool creates)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(write->root, "metadata");
    const char *given = ek_meta_str(write->root, "namespace");
    const struct ek_kind *kind = ek_kinds_find(&call->server->kinds, "", "v1", "namespaces");

    if (*given && strcmp(given, call->name_space) != 0) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "the namespace of the provided object does not match the namespace sent on "
                        "the request");
        return false;
    }
    yyjson_mut_obj_remove_key(metadata, "namespace");
    if (!(write->kind->flags & EK_KIND_NAMESPACED))
        return true;
    yyjson_mut_obj_add_strcpy(write->doc, metadata, "namespace", call->name_space);
    const struct ek_mvcc_value *space =
        creates ? ek_mvcc_get(call->server->store, kind->storage, call->name_space) : NULL;
    if (creates && !space) {
        ek_reply_status(call, 404, "NotFound", NULL, "namespaces \"%s\" not found",
                        call->name_space);
        return false;
    }
    if (space && strstr(space->json, "\"phase\":\"Terminating\"")) {
        char resource[EK_GV_SIZE];
        ek_reply_failure(call, 403, "Forbidden", ek_meta_str(write->root, "name"),
                         "%s \"%s\" is forbidden: unable to create new content in namespace %s "
                         "because it is being terminated",
                         ek_kind_resource_name(write->kind, resource),
                         ek_meta_str(write->root, "name"), call->name_space);
        return false;
    }
    return true;
}

/* What some built-in kinds look like after their defaults. */
static void default_builtin(struct ek_ask *call, struct ek_write *write)
{
    yyjson_mut_doc *doc = write->doc;
    yyjson_mut_val *root = write->root, *metadata = yyjson_mut_obj_get(root, "metadata");
    const char *plural = *write->kind->group ? "" : write->kind->plural;
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");

    if (strcmp(plural, "namespaces") == 0) {
        yyjson_mut_val *labels = yyjson_mut_obj_get(metadata, "labels");
        if (!yyjson_mut_is_obj(labels)) {
            yyjson_mut_obj_remove_key(metadata, "labels");
            labels = yyjson_mut_obj_add_obj(doc, metadata, "labels");
        }
        yyjson_mut_obj_remove_key(labels, "kubernetes.io/metadata.name");
        yyjson_mut_obj_add_strcpy(doc, labels, "kubernetes.io/metadata.name",
                                  ek_meta_str(root, "name"));
        if (!spec)
            spec = yyjson_mut_obj_add_obj(doc, root, "spec");
        yyjson_mut_obj_remove_key(spec, "finalizers");
        yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, spec, "finalizers"), "kubernetes");
        yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "status"), "phase", "Active");
    } else if (strcmp(plural, "services") == 0 && yyjson_mut_is_obj(spec)) {
        char ip[32];
        unsigned n = ++call->server->next_cluster_ip;
        snprintf(ip, sizeof(ip), "10.0.%u.%u", n >> 8 & 255, n & 255);
        if (!yyjson_mut_obj_get(spec, "clusterIP"))
            yyjson_mut_obj_add_strcpy(doc, spec, "clusterIP", ip);
        if (!yyjson_mut_obj_get(spec, "type"))
            yyjson_mut_obj_add_str(doc, spec, "type", "ClusterIP");
        if (!yyjson_mut_obj_get(spec, "sessionAffinity"))
            yyjson_mut_obj_add_str(doc, spec, "sessionAffinity", "None");
    } else if (strcmp(plural, "pods") == 0) {
        yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "status"), "phase",
                               "Pending");
    }
}

bool ek_write_prepare_create(struct ek_ask *call, struct ek_write *write)
{
    static const char *const not_for_clients[] = {"uid", "creationTimestamp", "deletionTimestamp",
                                                  "deletionGracePeriodSeconds", "generation"};
    yyjson_mut_val *metadata = yyjson_mut_obj_get(write->root, "metadata");
    char uid[37], now[EK_TIME_SIZE];

    if (*ek_meta_str(write->root, "resourceVersion")) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "resourceVersion should not be set on objects to be created");
        return false;
    }
    generate_name(call, write);
    if (!check_name(call, ek_meta_str(write->root, "name")) || !settle_namespace(call, write, true))
        return false;
    for (size_t i = 0; i < EK_ARRAY_SIZE(not_for_clients); i++)
        yyjson_mut_obj_remove_key(metadata, not_for_clients[i]);
    ek_server_uid(call->server, uid);
    yyjson_mut_obj_add_strcpy(write->doc, metadata, "uid", uid);
    yyjson_mut_obj_add_strcpy(write->doc, metadata, "creationTimestamp",
                              ek_time_format(call->now_ms, now));
    if ((write->kind->flags & EK_KIND_STATUS) && !(write->kind->flags & EK_KIND_KEEP_STATUS))
        yyjson_mut_obj_remove_key(write->root, "status");
    default_builtin(call, write);
    return true;
}

static bool is_dry_run(const struct ek_ask *call)
{
    return strcmp(ek_ask_param(call, "dryRun"), "All") == 0;
}

void ek_ask_create(struct ek_ask *call)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_write write = {.kind = call->kind, .doc = doc, .dry_run = is_dry_run(call)};
    char key[EK_KEY_SIZE], resource[EK_GV_SIZE];

    write.root = ek_ask_body(call, doc);
    if (write.root && ek_write_prepare_create(call, &write)) {
        const char *name = ek_meta_str(write.root, "name");
        snprintf(call->response->name, sizeof(call->response->name), "%s", name);
        yyjson_mut_obj_remove_key(yyjson_mut_obj_get(write.root, "metadata"), "managedFields");
        if (ek_mvcc_get(call->server->store, call->kind->storage, ek_ask_key(call, name, key)))
            ek_reply_failure(call, 409, "AlreadyExists", name, "%s \"%s\" already exists",
                             ek_kind_resource_name(call->kind, resource), name);
        else
            ek_write_finish(call, &write, false, 201);
    }
    yyjson_mut_doc_free(doc);
}

/* Kinds whose updates need a resourceVersion. */
static bool needs_version(const struct ek_kind *kind)
{
    static const char strict[] = "leases leasecandidates customresourcedefinitions";

    return (kind->flags & EK_KIND_CUSTOM) || ek_words_have(strict, kind->plural);
}

static bool check_preconditions(struct ek_ask *call, const struct ek_write *write)
{
    const char *rv = ek_meta_str(write->root, "resourceVersion");
    const char *uid = ek_meta_str(write->root, "uid"), *old_uid = ek_meta_str(write->before, "uid");
    char why[256], resource[EK_GV_SIZE];

    if (!*rv && needs_version(call->kind) && strcmp(call->verb, "update") == 0) {
        EK_AUTO(ek_buf) details;
        ek_buf_init(&details, 4096);
        ek_buf_printf(&details,
                      "{\"name\":\"%s\",\"group\":\"%s\",\"kind\":\"%s\",\"causes\":[{\"reason\":"
                      "\"FieldValueInvalid\",\"message\":\"Invalid value: 0: must be specified for "
                      "an update\",\"field\":\"metadata.resourceVersion\"}]}",
                      call->name, call->kind->group, call->kind->plural);
        ek_reply_status(call, 422, "Invalid", ek_buf_str(&details),
                        "%s \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
                        "specified for an update",
                        ek_kind_resource_name(call->kind, resource), call->name);
        return false;
    }
    if (*uid && strcmp(uid, old_uid) != 0) {
        snprintf(why, sizeof(why),
                 "Precondition failed: UID in precondition: %.64s, UID in object meta: %.64s", uid,
                 old_uid);
        ek_reply_conflict(call, call->name, why);
        return false;
    }
    if (*rv && strtoull(rv, NULL, 10) != write->stored->rv) {
        ek_reply_conflict(call, call->name, NULL);
        return false;
    }
    return true;
}

static void move_member(yyjson_mut_doc *doc, yyjson_mut_val *from, yyjson_mut_val *to,
                        const char *name)
{
    yyjson_mut_val *value = yyjson_mut_obj_get(from, name);

    yyjson_mut_obj_remove_key(to, name);
    if (value)
        yyjson_mut_obj_add_val(doc, to, name, yyjson_mut_val_mut_copy(doc, value));
}

/* Keeps what this endpoint must not change. */
static void keep_the_rest(struct ek_ask *call, struct ek_write *write)
{
    static const char *const fixed[] = {"name",
                                        "generateName",
                                        "namespace",
                                        "uid",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "generation"};
    yyjson_mut_doc *doc = write->doc;

    if (strcmp(call->subresource, "status") == 0) {
        yyjson_mut_val *root = yyjson_mut_val_mut_copy(doc, write->before);
        move_member(doc, write->root, root, "status");
        move_member(doc, yyjson_mut_obj_get(write->root, "metadata"),
                    yyjson_mut_obj_get(root, "metadata"), "managedFields");
        write->root = root;
    } else if (write->kind->flags & EK_KIND_STATUS) {
        move_member(doc, write->before, write->root, "status");
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(fixed); i++)
        move_member(doc, yyjson_mut_obj_get(write->before, "metadata"),
                    yyjson_mut_obj_get(write->root, "metadata"), fixed[i]);
}

void ek_write_update(struct ek_ask *call, struct ek_write *write, bool applied)
{
    if (!check_preconditions(call, write) || !settle_namespace(call, write, false))
        return;
    if (strcmp(ek_meta_str(write->root, "name"), call->name) != 0) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "the name of the object (%s) does not match the name on the URL (%s)",
                        ek_meta_str(write->root, "name"), call->name);
        return;
    }
    keep_the_rest(call, write);
    write->dry_run = is_dry_run(call);
    ek_write_finish(call, write, applied, 200);
}

void ek_ask_update(struct ek_ask *call)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_write write = {.kind = call->kind, .doc = doc};
    char key[EK_KEY_SIZE];

    write.root = ek_ask_body(call, doc);
    write.stored =
        ek_mvcc_get(call->server->store, call->kind->storage, ek_ask_key(call, call->name, key));
    if (write.root && !write.stored) {
        ek_reply_not_found(call, call->name);
    } else if (write.root) {
        write.before = ek_stored_root(doc, write.stored);
        ek_write_update(call, &write, false);
    }
    yyjson_mut_doc_free(doc);
}
