/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/conditions.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"

#define CONDITIONS_MAX 32

bool ek_rehearse_has_conditions(const char *group, const char *resource)
{
    return (!strcmp(group, "apiextensions.k8s.io") &&
            !strcmp(resource, "customresourcedefinitions")) ||
           (!strcmp(group, "apiregistration.k8s.io") && !strcmp(resource, "apiservices")) ||
           (!strcmp(group, "admissionregistration.k8s.io") && strstr(resource, "policies"));
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *ek_rehearse_conditions(yyjson_val *object, struct ek_arena *arena)
{
    const char *texts[CONDITIONS_MAX];
    yyjson_val *list = ek_json_get(object, "status", "conditions", NULL), *v;
    size_t i, n, k = 0;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    if (yyjson_is_obj(ek_json_get(object, "spec", "service", NULL)))
        return ek_arena_strdup(arena, "");
    yyjson_arr_foreach(list, i, n, v)
    {
        const char *type = ek_json_text(v, "type"), *status = ek_json_text(v, "status");
        if (k < CONDITIONS_MAX && *type && !strpbrk(type, "=,") && !strpbrk(status, "=,"))
            texts[k++] = ek_arena_printf(arena, "%.100s=%.20s", type, status);
    }
    if (k)
        qsort(texts, k, sizeof *texts, text_order);
    for (i = 0; i < k; i++)
        ek_buf_printf(&out, "%s%s", i ? "," : "", texts[i]);
    return ek_arena_strdup(arena, ek_buf_str(&out));
}

/* The status of a type in a text of ek_rehearse_conditions; empty without. */
static struct ek_str status_of(const char *text, struct ek_str type)
{
    struct ek_str ret = {"", 0};

    while (*text) {
        size_t len = strcspn(text, ","), name = strcspn(text, "=");
        if (name < len && ek_str_eq((struct ek_str){text, name}, type))
            ret = (struct ek_str){text + name + 1, len - name - 1};
        text += len;
        text += *text == ',';
    }
    return ret;
}

/* Conditions that report a defect when they are True; all others report that something works. */
static bool is_defect(struct ek_str type)
{
    return ek_str_eq(type, EK_STR("NonStructuralSchema")) || ek_str_eq(type, EK_STR("Terminating"));
}

const char *ek_rehearse_conditions_changed(const char *before, const char *after,
                                           struct ek_arena *arena,
                                           enum ek_rehearse_severity *ret_severity)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    *ret_severity = EK_REHEARSE_WARNING;
    while (*after) {
        size_t len = strcspn(after, ","), name = strcspn(after, "=");
        struct ek_str type = {after, name}, now = {after + name + 1, len - name - 1};
        struct ek_str then = status_of(before, type);
        after += len;
        after += *after == ',';
        if (!then.len || ek_str_eq(then, now))
            continue;
        if (ek_str_eq(now, EK_STR("True")) == is_defect(type))
            *ret_severity = EK_REHEARSE_ERROR;
        ek_buf_printf(&out, "%s%.*s: %.*s, then %.*s", out.len ? "; " : "", (int)type.len, type.p,
                      (int)then.len, then.p, (int)now.len, now.p);
    }
    return out.len ? ek_arena_strdup(arena, ek_buf_str(&out)) : NULL;
}
