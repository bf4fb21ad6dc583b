/* SPDX-License-Identifier: Apache-2.0 */
#include "api/mem.h"
#include "api/patch/jsonpatch-internal.h"

int ek_edits_reserve(struct ek_edits *edits)
{
    if (edits->cap - edits->n >= 2)
        return 0;
    size_t cap = edits->cap ? edits->cap * 2 : 16;
    struct ek_edit *log = ek_realloc(edits->log, cap * sizeof *log);
    if (!log)
        return EK_E_NOMEM;
    edits->log = log;
    edits->cap = cap;
    return 0;
}

static void note(struct ek_edits *edits, struct ek_edit edit)
{
    edit.marked = edits->mark;
    edits->log[edits->n++] = edit;
}

void ek_edit_put_item(struct ek_edits *edits, yyjson_mut_val *array, yyjson_mut_val *value,
                      size_t at)
{
    yyjson_mut_arr_insert(array, value, at);
    note(edits,
         (struct ek_edit){.container = array, .key = NULL, .value = value, .at = at, .put = true});
}

yyjson_mut_val *ek_edit_take_item(struct ek_edits *edits, yyjson_mut_val *array, size_t at)
{
    yyjson_mut_val *value = yyjson_mut_arr_remove(array, at);

    note(edits,
         (struct ek_edit){.container = array, .key = NULL, .value = value, .at = at, .put = false});
    return value;
}

void ek_edit_put_member(struct ek_edits *edits, yyjson_mut_val *object, yyjson_mut_val *key,
                        yyjson_mut_val *value, size_t at)
{
    yyjson_mut_obj_insert(object, key, value, at);
    note(edits,
         (struct ek_edit){.container = object, .key = key, .value = value, .at = at, .put = true});
}

static yyjson_mut_val *cut_member(yyjson_mut_val *object, size_t at, yyjson_mut_val **ret_key)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);

    for (size_t i = 0; i <= at; i++)
        *ret_key = yyjson_mut_obj_iter_next(&iter);
    return yyjson_mut_obj_iter_remove(&iter);
}

yyjson_mut_val *ek_edit_take_member(struct ek_edits *edits, yyjson_mut_val *object, size_t at,
                                    yyjson_mut_val **ret_key)
{
    yyjson_mut_val *key = NULL, *value = cut_member(object, at, &key);

    note(edits,
         (struct ek_edit){.container = object, .key = key, .value = value, .at = at, .put = false});
    if (ret_key)
        *ret_key = key;
    return value;
}

size_t ek_edit_find(yyjson_mut_val *object, struct ek_str name, yyjson_mut_val **ret_value)
{
    size_t i, max;
    yyjson_mut_val *key, *value;

    yyjson_mut_obj_foreach(object, i, max, key, value)
    {
        if (yyjson_mut_equals_strn(key, name.p ? name.p : "", name.len)) {
            *ret_value = value;
            return i;
        }
    }
    *ret_value = NULL;
    return SIZE_MAX;
}

bool ek_edits_marked(const struct ek_edits *edits, const yyjson_mut_val *value)
{
    for (size_t i = edits->n; i-- > 0;)
        if (edits->log[i].put && edits->log[i].value == value)
            return edits->log[i].marked;
    return false;
}

void ek_edits_undo(struct ek_edits *edits)
{
    while (edits->n > 0) {
        struct ek_edit *e = &edits->log[--edits->n];
        yyjson_mut_val *key;
        if (e->put && e->key)
            cut_member(e->container, e->at, &key);
        else if (e->put)
            yyjson_mut_arr_remove(e->container, e->at);
        else if (e->key)
            yyjson_mut_obj_insert(e->container, e->key, e->value, e->at);
        else
            yyjson_mut_arr_insert(e->container, e->value, e->at);
    }
}

void ek_edits_done(struct ek_edits *edits)
{
    ek_free(edits->log);
}
