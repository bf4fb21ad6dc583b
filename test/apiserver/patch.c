/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/patch.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

#define OPERATIONS_MAX 10000

yyjson_mut_val *ek_patch_merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    return yyjson_mut_merge_patch(doc, target, patch);
}

static const char *directive(yyjson_mut_val *object)
{
    const char *s = yyjson_mut_get_str(yyjson_mut_obj_get(object, "$patch"));

    return s ? s : "";
}

static bool same_key(yyjson_mut_val *a, yyjson_mut_val *b, const struct ek_list_shape *shape)
{
    EK_AUTO(ek_buf) left;
    EK_AUTO(ek_buf) right;

    ek_buf_init(&left, 65536);
    ek_buf_init(&right, 65536);
    ek_fieldset_item_name(&left, a, shape);
    ek_fieldset_item_name(&right, b, shape);
    return strcmp(ek_buf_str(&left), ek_buf_str(&right)) == 0;
}

static size_t index_of(yyjson_mut_val *list, yyjson_mut_val *wanted,
                       const struct ek_list_shape *shape)
{
    size_t index, max;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach(list, index, max, item)
    {
        if (same_key(item, wanted, shape))
            return index;
    }
    return SIZE_MAX;
}

static yyjson_mut_val *strategic_list(yyjson_mut_doc *doc, yyjson_mut_val *target,
                                      yyjson_mut_val *patch, struct ek_schema_at at)
{
    struct ek_list_shape shape = ek_schema_shape(at, patch);
    yyjson_mut_val *list = yyjson_mut_val_mut_copy(doc, target), *item;
    size_t index, max;

    if (shape.shape < EK_MERGE_MAP || !yyjson_mut_is_arr(target))
        return yyjson_mut_val_mut_copy(doc, patch);
    yyjson_mut_arr_foreach(patch, index, max, item)
    {
        size_t found = index_of(list, item, &shape);
        bool gone = strcmp(directive(item), "delete") == 0;
        if (gone && found != SIZE_MAX)
            yyjson_mut_arr_remove(list, found);
        else if (!gone && found != SIZE_MAX && shape.shape == EK_MERGE_MAP)
            yyjson_mut_arr_replace(
                list, found,
                ek_patch_strategic(doc, yyjson_mut_arr_get(list, found), item, ek_schema_item(at)));
        else if (!gone && found == SIZE_MAX)
            yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(doc, item));
    }
    return list;
}

static void delete_scalars(yyjson_mut_val *list, yyjson_mut_val *gone)
{
    size_t index, max;
    yyjson_mut_val *item;
    const struct ek_list_shape set = {.shape = EK_MERGE_SET};

    yyjson_mut_arr_foreach(gone, index, max, item)
    {
        size_t found = index_of(list, item, &set);
        if (found != SIZE_MAX)
            yyjson_mut_arr_remove(list, found);
    }
}

/* Handles a member whose name starts with "$". */
static void strategic_directive(yyjson_mut_val *object, const char *name, yyjson_mut_val *value)
{
    static const char from_list[] = "$deleteFromPrimitiveList/";
    size_t index, max;
    yyjson_mut_val *key, *member;

    if (strncmp(name, from_list, sizeof(from_list) - 1) == 0)
        delete_scalars(yyjson_mut_obj_get(object, name + sizeof(from_list) - 1), value);
    if (strcmp(name, "$retainKeys") != 0)
        return;
    const struct ek_list_shape set = {.shape = EK_MERGE_SET};
    yyjson_mut_val *gone[64];
    size_t n = 0;
    yyjson_mut_obj_foreach(object, index, max, key, member)
    {
        if (n < EK_ARRAY_SIZE(gone) && index_of(value, key, &set) == SIZE_MAX)
            gone[n++] = key;
    }
    for (size_t i = 0; i < n; i++)
        yyjson_mut_obj_remove(object, gone[i]);
}

yyjson_mut_val *ek_patch_strategic(yyjson_mut_doc *doc, yyjson_mut_val *target,
                                   yyjson_mut_val *patch, struct ek_schema_at at)
{
    size_t index, max;
    yyjson_mut_val *key, *member;

    if (yyjson_mut_is_arr(patch))
        return strategic_list(doc, target, patch, at);
    if (!yyjson_mut_is_obj(patch))
        return yyjson_mut_val_mut_copy(doc, patch);
    bool replace = strcmp(directive(patch), "replace") == 0 || !yyjson_mut_is_obj(target);
    yyjson_mut_val *object = replace ? yyjson_mut_obj(doc) : yyjson_mut_val_mut_copy(doc, target);
    yyjson_mut_obj_foreach(patch, index, max, key, member)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *old = yyjson_mut_obj_get(object, name);
        if (name[0] == '$') {
            strategic_directive(object, name, member);
        } else if (yyjson_mut_is_null(member) || strcmp(directive(member), "delete") == 0) {
            yyjson_mut_obj_remove_key(object, name);
        } else {
            yyjson_mut_val *value =
                ek_patch_strategic(doc, old, member, ek_schema_at_member(at, name));
            yyjson_mut_obj_put(object, yyjson_mut_strcpy(doc, name), value);
        }
    }
    return object;
}

/* Undoes ~1 and ~0 in one part of a pointer; returns where the next part begins, NULL at the end.
 */
static const char *pointer_part(const char *p, char *part, size_t size)
{
    size_t n = 0;

    for (; *p && *p != '/'; p++) {
        char c = *p;
        if (c == '~' && (p[1] == '0' || p[1] == '1'))
            c = *++p == '1' ? '/' : '~';
        if (n + 1 < size)
            part[n++] = c;
    }
    part[n] = '\0';
    return *p ? p + 1 : NULL;
}

static bool list_index(yyjson_mut_val *list, const char *part, bool for_add, size_t *ret_index)
{
    size_t size = yyjson_mut_arr_size(list);
    char *end;

    if (for_add && strcmp(part, "-") == 0) {
        *ret_index = size;
        return true;
    }
    *ret_index = strtoul(part, &end, 10);
    return *part >= '0' && *part <= '9' && *end == '\0' &&
           (*ret_index < size || (for_add && *ret_index == size));
}

/* Walks to the container of what pointer names; writes the last part. */
static yyjson_mut_val *walk(yyjson_mut_val *root, const char *pointer, char *part, size_t size)
{
    const char *rest = *pointer == '/' ? pointer_part(pointer + 1, part, size) : NULL;
    size_t index;

    if (*pointer != '/')
        return NULL;
    while (rest && root) {
        if (yyjson_mut_is_arr(root))
            root = list_index(root, part, false, &index) ? yyjson_mut_arr_get(root, index) : NULL;
        else
            root = yyjson_mut_obj_get(root, part);
        rest = pointer_part(rest, part, size);
    }
    return yyjson_mut_is_ctn(root) ? root : NULL;
}

static yyjson_mut_val *lookup(yyjson_mut_val *root, const char *pointer)
{
    char part[1024];
    size_t index;

    if (!*pointer)
        return root;
    yyjson_mut_val *parent = walk(root, pointer, part, sizeof(part));
    if (yyjson_mut_is_arr(parent))
        return list_index(parent, part, false, &index) ? yyjson_mut_arr_get(parent, index) : NULL;
    return yyjson_mut_obj_get(parent, part);
}

static int remove_at(yyjson_mut_val *root, const char *pointer)
{
    char part[1024];
    size_t index;
    yyjson_mut_val *parent = walk(root, pointer, part, sizeof(part));

    if (yyjson_mut_is_arr(parent) && list_index(parent, part, false, &index))
        return yyjson_mut_arr_remove(parent, index) ? 0 : EK_E_INVAL;
    return yyjson_mut_obj_remove_key(parent, part) ? 0 : EK_E_INVAL;
}

static int add_at(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *pointer,
                  yyjson_mut_val *value)
{
    char part[1024];
    size_t index;
    yyjson_mut_val *parent = walk(root, pointer, part, sizeof(part));

    if (yyjson_mut_is_arr(parent))
        return list_index(parent, part, true, &index) && yyjson_mut_arr_insert(parent, value, index)
                   ? 0
                   : EK_E_INVAL;
    if (!parent)
        return EK_E_INVAL;
    return yyjson_mut_obj_put(parent, yyjson_mut_strcpy(doc, part), value) ? 0 : EK_E_INVAL;
}

static int operate(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_mut_val *operation)
{
    const char *op = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "op"));
    const char *path = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "path"));
    const char *from = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "from"));
    yyjson_mut_val *value = yyjson_mut_obj_get(operation, "value");

    if (!op || !path)
        return EK_E_PARSE;
    if (strcmp(op, "test") == 0) {
        yyjson_mut_val *found = lookup(root, path);
        return found && value && yyjson_mut_equals(found, value) ? 0 : EK_E_INVAL;
    }
    if (strcmp(op, "remove") == 0)
        return remove_at(root, path);
    bool moves = strcmp(op, "move") == 0;
    if (moves || strcmp(op, "copy") == 0)
        value = from ? lookup(root, from) : NULL;
    if (!value)
        return EK_E_INVAL;
    value = yyjson_mut_val_mut_copy(doc, value);
    if (strcmp(op, "replace") == 0 ? remove_at(root, path) < 0 : moves && remove_at(root, from) < 0)
        return EK_E_INVAL;
    return add_at(doc, root, path, value);
}

yyjson_mut_val *ek_patch_json(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch,
                              struct ek_err *err)
{
    yyjson_mut_val *root = yyjson_mut_val_mut_copy(doc, target), *operation;
    size_t index, max;

    if (!yyjson_mut_is_arr(patch) || yyjson_mut_arr_size(patch) > OPERATIONS_MAX) {
        ek_err_set(err, EK_E_PARSE, "a JSON patch must be a list of at most %d operations",
                   OPERATIONS_MAX);
        return NULL;
    }
    yyjson_mut_arr_foreach(patch, index, max, operation)
    {
        int code = operate(doc, root, operation);
        if (code < 0) {
            const char *path = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "path"));
            ek_err_set(err, code, "operation %zu of the JSON patch does not apply at \"%s\"", index,
                       path ? path : "");
            return NULL;
        }
    }
    return root;
}
