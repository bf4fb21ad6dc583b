/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/internal_form.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/members.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"

/* ---- Secrets ---- */

static yyjson_mut_val *encode(yyjson_mut_doc *doc, yyjson_mut_val *text)
{
    size_t len = yyjson_mut_is_str(text) ? yyjson_mut_get_len(text) : 0;
    char *encoded = ek_alloc(EK_BASE64_LEN(len) + 1);

    if (!encoded)
        return NULL;
    ek_base64_write(len ? yyjson_mut_get_str(text) : "", len, encoded);
    yyjson_mut_val *value = yyjson_mut_strncpy(doc, encoded, EK_BASE64_LEN(len));
    ek_free(encoded);
    return value;
}

static bool put(yyjson_mut_doc *doc, yyjson_mut_val *data, struct ek_members *members,
                struct ek_str name, yyjson_mut_val *value)
{
    yyjson_mut_val *old = ek_members_find_mut(members, name);

    if (!value || !old)
        return value && yyjson_mut_obj_add(data, yyjson_mut_strncpy(doc, name.p, name.len), value);
    old->tag = value->tag;
    old->uni = value->uni;
    return true;
}

/* stringData is written over data, and is gone then. */
static int fold_string_data(yyjson_mut_doc *doc, yyjson_mut_val *secret, struct ek_work *work)
{
    yyjson_mut_val *strings = yyjson_mut_obj_get(secret, "stringData");
    yyjson_mut_val *data = yyjson_mut_obj_get(secret, "data"), *key, *text;
    struct ek_members members;
    size_t i, n;
    int rc = 0;

    if (!strings)
        return 0;
    if (!yyjson_mut_is_obj(data) && yyjson_mut_obj_size(strings) > 0) {
        yyjson_mut_obj_remove_key(secret, "data");
        data = yyjson_mut_obj(doc);
        if (!yyjson_mut_obj_add_val(doc, secret, "data", data))
            return EK_E_NOMEM;
    }
    ek_members_init_mut(&members, data, work);
    yyjson_mut_obj_foreach(strings, i, n, key, text)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        ek_work_octets(work, yyjson_mut_get_len(text));
        if (!put(doc, data, &members, name, encode(doc, text))) {
            rc = EK_E_NOMEM;
            break;
        }
    }
    ek_members_done(&members);
    if (!rc)
        yyjson_mut_obj_remove_key(secret, "stringData");
    return rc;
}

/* ---- Services ---- */

/* A Service without session affinity has no affinity configuration. */
static void drop_affinity(yyjson_mut_val *service)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(service, "spec");
    const char *affinity = yyjson_mut_get_str(yyjson_mut_obj_get(spec, "sessionAffinity"));

    if (affinity && !strcmp(affinity, "None"))
        yyjson_mut_obj_remove_key(spec, "sessionAffinityConfig");
}

/* ---- Pods ---- */

static const char *text_of(yyjson_mut_val *object, const char *name)
{
    const char *s = yyjson_mut_get_str(yyjson_mut_obj_get(object, name));

    return s ? s : "";
}

/* Internally there is one name, which serviceAccount gives when serviceAccountName does not. */
static int name_account(yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
    const char *name = text_of(spec, "serviceAccountName"), *old = text_of(spec, "serviceAccount");
    static const char *const fields[] = {"serviceAccountName", "serviceAccount"};

    if (!strcmp(name, old))
        return 0;
    name = *name ? name : old;
    for (size_t i = 0; i < EK_ARRAY_SIZE(fields); i++) {
        yyjson_mut_val *copy = yyjson_mut_strcpy(doc, name);
        if (!copy || !yyjson_mut_obj_put(spec, yyjson_mut_str(doc, fields[i]), copy))
            return EK_E_NOMEM;
    }
    return 0;
}

/* Ports of containers on the host's network are the host's. */
static int host_ports(yyjson_mut_doc *doc, yyjson_mut_val *containers)
{
    size_t i, n, j, m;
    yyjson_mut_val *container, *port;

    if (!yyjson_mut_is_arr(containers))
        return 0;
    yyjson_mut_arr_foreach(containers, i, n, container)
    {
        yyjson_mut_val *ports = yyjson_mut_obj_get(container, "ports");
        if (!yyjson_mut_is_arr(ports))
            continue;
        yyjson_mut_arr_foreach(ports, j, m, port)
        {
            yyjson_mut_val *number = yyjson_mut_obj_get(port, "containerPort");
            if (number && !yyjson_mut_obj_get(port, "hostPort") &&
                !yyjson_mut_obj_add_val(doc, port, "hostPort",
                                        yyjson_mut_val_mut_copy(doc, number)))
                return EK_E_NOMEM;
        }
    }
    return 0;
}

/* A container's requests default to its limits. */
static int request_limits(yyjson_mut_doc *doc, yyjson_mut_val *container, struct ek_work *work)
{
    yyjson_mut_val *resources = yyjson_mut_obj_get(container, "resources");
    yyjson_mut_val *requests = yyjson_mut_obj_get(resources, "requests");
    yyjson_mut_val *limits = yyjson_mut_obj_get(resources, "limits"), *key, *value;
    struct ek_members members;
    size_t i, n;
    int rc = 0;

    if (!requests && yyjson_mut_obj_size(limits) > 0)
        requests = yyjson_mut_obj_add_obj(doc, resources, "requests");
    ek_members_init_mut(&members, requests, work);
    yyjson_mut_obj_foreach(limits, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        if (!ek_members_find_mut(&members, name) &&
            !yyjson_mut_obj_add(requests, yyjson_mut_val_mut_copy(doc, key),
                                yyjson_mut_val_mut_copy(doc, value))) {
            rc = EK_E_NOMEM;
            break;
        }
    }
    ek_members_done(&members);
    return rc;
}

static int request_all_limits(yyjson_mut_doc *doc, yyjson_mut_val *containers, struct ek_work *work)
{
    yyjson_mut_val *container;
    size_t i, n;
    int rc = 0;

    yyjson_mut_arr_foreach(yyjson_mut_is_arr(containers) ? containers : NULL, i, n, container)
    {
        rc = rc ? rc : request_limits(doc, container, work);
    }
    return rc;
}

/* Some defaults are those of Pods, and not of the templates of Pods. */
static int pod_defaults(yyjson_mut_doc *doc, yyjson_mut_val *spec, struct ek_work *work)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool host = yyjson_mut_is_true(yyjson_mut_obj_get(spec, "hostNetwork"));
    int rc = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(lists) && !rc; i++) {
        yyjson_mut_val *containers = yyjson_mut_obj_get(spec, lists[i]);
        rc = host ? host_ports(doc, containers) : 0;
        rc = rc ? rc : request_all_limits(doc, containers, work);
    }
    return rc;
}

/* Where the Pod of a kind is described; NULL-terminated names. Pods come first. */
static const struct {
    const char *group, *kind;
    const char *path[5];
} pods[] = {
    {"", "Pod", {"spec"}},
    {"", "PodTemplate", {"template", "spec"}},
    {"", "ReplicationController", {"spec", "template", "spec"}},
    {"apps", "DaemonSet", {"spec", "template", "spec"}},
    {"apps", "Deployment", {"spec", "template", "spec"}},
    {"apps", "ReplicaSet", {"spec", "template", "spec"}},
    {"apps", "StatefulSet", {"spec", "template", "spec"}},
    {"batch", "CronJob", {"spec", "jobTemplate", "spec", "template", "spec"}},
    {"batch", "Job", {"spec", "template", "spec"}},
};

int ek_internal_form(const struct ek_gvk *kind, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     yyjson_val *base, struct ek_work *work)
{
    if (!*kind->group && !strcmp(kind->kind, "Secret"))
        return fold_string_data(doc, object, work);
    if (!*kind->group && !strcmp(kind->kind, "Service"))
        drop_affinity(object);
    for (size_t i = 0; i < EK_ARRAY_SIZE(pods); i++) {
        yyjson_mut_val *spec = object;
        yyjson_val *before = base;
        if (strcmp(pods[i].group, kind->group) != 0 || strcmp(pods[i].kind, kind->kind) != 0)
            continue;
        for (size_t at = 0; at < EK_ARRAY_SIZE(pods[i].path) && pods[i].path[at]; at++) {
            spec = yyjson_mut_obj_get(spec, pods[i].path[at]);
            before = yyjson_obj_get(before, pods[i].path[at]);
        }
        if (!yyjson_mut_is_obj(spec) || (before && ek_jsondiff_equal(before, spec, work)))
            return 0;
        int rc = name_account(doc, spec);
        return rc || i > 0 ? rc : pod_defaults(doc, spec, work);
    }
    return 0;
}
