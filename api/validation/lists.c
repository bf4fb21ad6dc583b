/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that are sets or maps have no item twice: apiextensions-apiserver 1.36,
 * pkg/apiserver/schema/listtype/validation.go. Embedded resources have a kind: objectmeta. */
#include <string.h>

#include "api/base/map.h"
#include "api/obj.h"
#include "api/validation/validation-internal.h"

/* What identifies an item, as JSON in the arena: the item, or its keys; NULL for an item that is
 * no object in a list that is a map. */
static const char *identity(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *item, bool is_map)
{
    yyjson_val *key, *keys = yyjson_obj_get(schema, "x-kubernetes-list-map-keys");
    EK_AUTO(ek_buf) out;
    size_t i, n, n_found = 0;

    ek_buf_init(&out, (size_t)1 << 20);
    if (!is_map)
        return ek_vjson__(w, item);
    if (!yyjson_is_obj(item) && !yyjson_is_null(item))
        return NULL;
    ek_buf_puts(&out, "{");
    yyjson_arr_foreach(keys, i, n, key)
    {
        yyjson_val *value = yyjson_obj_get(item, yyjson_get_str(key));
        if (value)
            ek_buf_printf(&out, "%s%s:%s", n_found++ ? "," : "", ek_vjson__(w, key),
                          ek_vjson__(w, value));
    }
    ek_buf_puts(&out, "}");
    return ek_arena_strdup(w->arena, ek_buf_str(&out));
}

static void check_list(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *list,
                       const struct ek_vpath *path)
{
    static char once, twice;
    const char *type = ek_json_text(schema, "x-kubernetes-list-type");
    bool is_map = !strcmp(type, "map");
    struct ek_map seen;
    yyjson_val *item;
    size_t i, n;

    if (!is_map && strcmp(type, "set") != 0)
        return;
    ek_map_init(&seen);
    yyjson_arr_foreach(list, i, n, item)
    {
        const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
        const char *id = identity(w, schema, item, is_map);
        if (!ek_work_do(w->work, 4))
            break;
        if (!id) {
            ek_verror__(w, ek_vpath_text__(w, &at, true),
                        "Invalid value: %s: must be an object for an array of list-type map",
                        ek_vtext__(w, item));
            break;
        }
        const void *before = ek_map_get(&seen, id);
        if (before == &once)
            ek_verror__(w, ek_vpath_text__(w, &at, true), "Duplicate value: %s",
                        w->hides ? "<value>" : id);
        ek_map_put(&seen, id, before ? &twice : &once);
    }
    ek_map_done(&seen);
}

/* pkg/apiserver/schema/objectmeta/validation.go: the kind of an embedded resource. */
static void check_embedded(struct ek_vwalk *w, yyjson_val *value, const struct ek_vpath *path)
{
    static const char *const names[] = {"apiVersion", "kind"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        const struct ek_vpath at = {
            .up = path, .step = EK_VSTEP_FIELD, .name = ek_str_from(names[i])};
        if (*ek_json_text(value, names[i]))
            continue;
        w->n_blocking++;
        ek_verror__(w, ek_vpath_text__(w, &at, true), "Required value: must not be empty");
    }
    if (yyjson_obj_get(value, "metadata"))
        ek_vunknown__(w, path, "the metadata of an embedded resource is not evaluated");
}

void ek_vlists__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                 const struct ek_vpath *path)
{
    yyjson_val *key, *member;
    size_t i, n;

    if (!yyjson_is_ctn(value) || !ek_work_do(w->work, 1))
        return;
    if (yyjson_is_arr(value)) {
        yyjson_val *items = yyjson_obj_get(schema, "items");
        check_list(w, schema, value, path);
        yyjson_arr_foreach(yyjson_is_obj(items) ? value : NULL, i, n, member)
        {
            const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
            ek_vlists__(w, items, member, &at);
        }
        return;
    }
    if (yyjson_is_true(yyjson_obj_get(schema, "x-kubernetes-embedded-resource")))
        check_embedded(w, value, path);
    ek_json_each_member(value, i, n, key, member)
    {
        struct ek_vpath at = {.up = path};
        bool is_key;
        at.name = (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)};
        yyjson_val *of = ek_vmember__(w->work, schema, at.name, &is_key);
        at.step = is_key ? EK_VSTEP_KEY : EK_VSTEP_FIELD;
        if (of)
            ek_vlists__(w, of, member, &at);
    }
}
