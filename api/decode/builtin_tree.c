/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/decode/builtin-internal.h"
#include "api/members.h"

yyjson_mut_val *ek_go_get(yyjson_mut_val *object, const char *name)
{
    return yyjson_mut_obj_get(object, name);
}

const char *ek_go_text_of(yyjson_mut_val *object, const char *name)
{
    const char *text = yyjson_mut_get_str(yyjson_mut_obj_get(object, name));

    return text ? text : "";
}

void ek_go_put(struct ek_go_reader *r, yyjson_mut_val *object, const char *name,
               yyjson_mut_val *value)
{
    yyjson_mut_val *key = ek_go_made(r, yyjson_mut_str(r->doc, name));

    if (key && ek_go_made(r, value))
        yyjson_mut_obj_put(object, key, value);
}

void ek_go_put_text(struct ek_go_reader *r, yyjson_mut_val *object, const char *name,
                    const char *text)
{
    ek_go_put(r, object, name, yyjson_mut_str(r->doc, text));
}

void ek_go_put_number(struct ek_go_reader *r, yyjson_mut_val *object, const char *name,
                      uint64_t number)
{
    ek_go_put(r, object, name, yyjson_mut_uint(r->doc, number));
}

yyjson_mut_val *ek_go_open(struct ek_go_reader *r, yyjson_mut_val *object, const char *name)
{
    yyjson_mut_val *member = yyjson_mut_obj_get(object, name);

    if (member)
        return member;
    member = ek_go_made(r, yyjson_mut_obj(r->doc));
    ek_go_put(r, object, name, member);
    return r->rc ? NULL : member;
}

yyjson_mut_val *ek_go_copy(struct ek_go_reader *r, yyjson_mut_val *value)
{
    return ek_go_made(r, yyjson_mut_val_mut_copy(r->doc, value));
}

yyjson_mut_val *ek_go_literal(struct ek_go_reader *r, const char *json)
{
    if (*json == '"')
        return yyjson_mut_strncpy(r->doc, json + 1, strlen(json) - 2);
    if (*json == '{')
        return yyjson_mut_obj(r->doc);
    if (*json == 't' || *json == 'f')
        return yyjson_mut_bool(r->doc, *json == 't');
    return yyjson_mut_uint(r->doc, strtoull(json, NULL, 10));
}

void ek_go_fill(struct ek_go_reader *r, yyjson_mut_val *to, yyjson_mut_val *from)
{
    struct ek_members members;
    yyjson_mut_val *key, *value;
    size_t i, n;

    if (!to || r->rc)
        return;
    ek_members_init_mut(&members, to, r->work);
    yyjson_mut_obj_foreach(from, i, n, key, value)
    {
        struct ek_str name = {yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
        if (!ek_members_find_mut(&members, name))
            yyjson_mut_obj_add(to, ek_go_copy(r, key), ek_go_copy(r, value));
    }
    ek_members_done(&members);
}
