/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod_event.h"

#include <string.h>

static bool is_apiserver(const struct ek_obj *pod)
{
    const char *component = ek_obj_label(pod, "component");

    return component && !strcmp(component, "kube-apiserver");
}

static yyjson_val *statuses(const struct ek_obj *pod)
{
    return ek_json_get(ek_obj_root(pod), "status", "containerStatuses", NULL);
}

/* True when both statuses have an equal member, or neither has it. */
static bool same(yyjson_val *a, yyjson_val *b, const char *member)
{
    yyjson_val *x = yyjson_obj_get(a, member), *y = yyjson_obj_get(b, member);

    return x && y ? ek_json_equal(x, y) : !x && !y;
}

bool ek_pod_event_matters(const struct ek_obj *old, const struct ek_obj *obj)
{
    if (!old || !obj)
        return is_apiserver(obj ? obj : old);
    yyjson_val *a = statuses(old), *b = statuses(obj);
    size_t n = yyjson_arr_size(a);

    if (!is_apiserver(obj))
        return false;
    if (strcmp(ek_obj_uid(old), ek_obj_uid(obj)) != 0 || n != yyjson_arr_size(b))
        return true;
    for (size_t i = 0; i < n; i++) {
        yyjson_val *x = yyjson_arr_get(a, i), *y = yyjson_arr_get(b, i);
        if (!same(x, y, "restartCount") || !same(x, y, "containerID") || !same(x, y, "image") ||
            !same(x, y, "ready"))
            return true;
    }
    return false;
}
