/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cond.h"

#include <stdbool.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "api/selector.h"

const char *ek_cond_status_name(enum ek_cond_status status)
{
    switch (status) {
    case EK_COND_TRUE:
        return "True";
    case EK_COND_FALSE:
        return "False";
    case EK_COND_UNKNOWN:
    case EK_COND_STATUS_MAX:
        break;
    }
    return "Unknown";
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ */
static bool reason_is_valid(const char *reason)
{
    size_t len = strlen(reason);

    if (len == 0 || len > EK_COND_REASON_MAX || !is_letter(reason[0]) || !is_word(reason[len - 1]))
        return false;
    for (size_t i = 1; i < len; i++)
        if (!is_word(reason[i]) && reason[i] != ',' && reason[i] != ':')
            return false;
    return true;
}

int ek_cond_check(const struct ek_cond *cond, struct ek_err *err)
{
    struct ek_str type = ek_str_from(cond->type);

    if (type.len > EK_COND_TYPE_MAX ||
        !ek_label_key_is_valid(type, EK_COND_TYPE_MAX, EK_COND_TYPE_MAX))
        return ek_err_set(err, EK_E_INVAL, "condition type \"%s\" has not the form of a name",
                          cond->type ? cond->type : "");
    if ((unsigned)cond->status >= EK_COND_STATUS_MAX)
        return ek_err_set(err, EK_E_INVAL, "condition %s: status %d does not exist", cond->type,
                          (int)cond->status);
    if (!cond->reason || !reason_is_valid(cond->reason))
        return ek_err_set(err, EK_E_INVAL,
                          "condition %s: reason \"%s\" must be 1 to %d letters, digits, '_', ',' "
                          "or ':', and start with a letter",
                          cond->type, cond->reason ? cond->reason : "", EK_COND_REASON_MAX);
    return 0;
}

yyjson_val *ek_cond_find(yyjson_val *conditions, const char *type)
{
    yyjson_val *cond;
    size_t i, n;

    if (!yyjson_is_arr(conditions))
        return NULL;
    yyjson_arr_foreach(conditions, i, n, cond)
    {
        if (yyjson_equals_str(yyjson_obj_get(cond, "type"), type))
            return cond;
    }
    return NULL;
}

static bool read_status(yyjson_val *cond, enum ek_cond_status *ret_status)
{
    yyjson_val *status = yyjson_obj_get(cond, "status");

    for (int i = 0; i < EK_COND_STATUS_MAX; i++) {
        if (yyjson_equals_str(status, ek_cond_status_name((enum ek_cond_status)i))) {
            *ret_status = (enum ek_cond_status)i;
            return true;
        }
    }
    return false;
}

enum ek_cond_status ek_cond_status(yyjson_val *conditions, const char *type)
{
    enum ek_cond_status status;
    return read_status(ek_cond_find(conditions, type), &status) ? status : EK_COND_UNKNOWN;
}

static void add_transition_time(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *old,
                                enum ek_cond_status status, int64_t now_ms)
{
    const char *since = ek_json_str(old, "lastTransitionTime", NULL);
    enum ek_cond_status before;
    char text[EK_TIME_SIZE];

    if (!read_status(old, &before) || before != status || ek_time_parse(since) == EK_TIME_UNSET)
        since = ek_time_format(now_ms, text);
    yyjson_mut_obj_add_strcpy(doc, object, "lastTransitionTime", since);
}

static bool add_cond(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_cond *cond,
                     yyjson_val *old, int64_t generation, int64_t now_ms)
{
    struct ek_str message = ek_str_from(cond->message ? cond->message : "");
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, object, "type", cond->type);
    yyjson_mut_obj_add_str(doc, object, "status", ek_cond_status_name(cond->status));
    if (generation > 0)
        yyjson_mut_obj_add_int(doc, object, "observedGeneration", generation);
    add_transition_time(doc, object, old, cond->status, now_ms);
    yyjson_mut_obj_add_strcpy(doc, object, "reason", cond->reason);
    return yyjson_mut_obj_add_strncpy(doc, object, "message", message.p,
                                      ek_utf8_cut(message, EK_COND_MESSAGE_MAX));
}

static bool wanted_before(const struct ek_cond *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(want[i].type, want[n].type))
            return true;
    return false;
}

yyjson_mut_val *ek_conds_merge(yyjson_mut_doc *doc, yyjson_val *old_conditions,
                               const struct ek_cond *want, size_t n, int64_t generation,
                               int64_t now_ms)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);

    for (size_t i = 0; i < n; i++) {
        if (ek_cond_check(&want[i], NULL) || wanted_before(want, i) ||
            !add_cond(doc, list, &want[i], ek_cond_find(old_conditions, want[i].type), generation,
                      now_ms))
            return NULL;
    }
    return list;
}
