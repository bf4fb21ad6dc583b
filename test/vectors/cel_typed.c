/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/cel/lib/opaque.h"
#include "api/cel/library.h"
#include "api/cel/text/number.h"
#include "api/cel/text/time.h"
#include "api/cel/values/type.h"
#include "test/vectors/cel.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)

static yyjson_mut_val *one(yyjson_mut_doc *doc, const char *name, yyjson_mut_val *value)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);

    yyjson_mut_obj_add_val(doc, object, name, value);
    return object;
}

static yyjson_mut_val *one_text(yyjson_mut_doc *doc, const char *name, const char *text)
{
    return one(doc, name, yyjson_mut_strcpy(doc, text));
}

static yyjson_mut_val *typed_list(yyjson_mut_doc *doc, const struct ek_cel_val *value,
                                  bool plain_types)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    struct ek_cel_iter iter;

    ek_cel_iter_init(&iter, value);
    while (ek_cel_iter_next(&iter))
        yyjson_mut_arr_append(list, ek_cel_typed(doc, &iter.value, plain_types));
    return one(doc, "list", list);
}

/* Entries are sorted by the JSON text of their keys. */
struct entry {
    char *text;
    yyjson_mut_val *key, *value;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

static yyjson_mut_val *typed_map(yyjson_mut_doc *doc, const struct ek_cel_val *value,
                                 bool plain_types)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    struct ek_cel_iter iter;
    size_t n = 0;
    struct entry *entries = ek_xalloc((value->n + 1) * sizeof(*entries));

    ek_cel_iter_init(&iter, value);
    while (ek_cel_iter_next(&iter)) {
        yyjson_mut_val *key = ek_cel_typed(doc, &iter.key, plain_types);
        entries[n++] = (struct entry){.text = yyjson_mut_val_write(key, 0, NULL),
                                      .key = key,
                                      .value = ek_cel_typed(doc, &iter.value, plain_types)};
    }
    qsort(entries, n, sizeof(*entries), by_text);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *pair = yyjson_mut_arr_add_arr(doc, list);
        yyjson_mut_arr_append(pair, entries[i].key);
        yyjson_mut_arr_append(pair, entries[i].value);
        free(entries[i].text);
    }
    ek_free(entries);
    return one(doc, "map", list);
}

static yyjson_mut_val *typed_patch(yyjson_mut_doc *doc, const struct ek_cel_val *value,
                                   bool plain_types)
{
    static const char *const names[] = {"from", "op", "path"};
    yyjson_mut_val *patch = yyjson_mut_obj(doc);
    struct ek_cel_val field;

    for (size_t i = 0; i < 3; i++) {
        bool set = ek_cel_struct_find(value, names[i], strlen(names[i]), &field) == 1;
        yyjson_mut_obj_add_strncpy(doc, patch, names[i], set ? field.s : "", set ? field.n : 0);
    }
    if (ek_cel_struct_find(value, "value", 5, &field) == 1)
        yyjson_mut_obj_add_val(doc, patch, "value", ek_cel_typed(doc, &field, plain_types));
    return one(doc, "jsonpatch", patch);
}

static yyjson_mut_val *typed_struct(yyjson_mut_doc *doc, const struct ek_cel_val *value,
                                    bool plain_types)
{
    if (!strcmp(ek_cel_struct_type(value), "JSONPatch"))
        return typed_patch(doc, value, plain_types);
    struct ek_err err = {0};
    yyjson_mut_val *object = one_text(doc, "object", ek_cel_struct_type(value));
    yyjson_mut_val *fields = ek_cel_to_json(value, EK_CEL_JSON_PLAIN, doc, NULL, &err);
    if (fields)
        yyjson_mut_obj_add_val(doc, object, "fields", fields);
    else
        yyjson_mut_obj_add_strcpy(doc, object, "fieldsError", err.message);
    return object;
}

static yyjson_mut_val *typed_opaque(yyjson_mut_doc *doc, const struct ek_cel_val *value)
{
    yyjson_mut_val *object = one_text(doc, "opaque", ek_cel_type_name(value));
    const struct ek_cel_opaque_kind *kind = value->opaque->kind;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    /* Sums of quantities were recorded without their text. */
    bool sum = kind == &ek_cel_quantity_sum_kind;
    if (!sum && kind->format && !kind->format(value->opaque, &text))
        yyjson_mut_obj_add_strncpy(doc, object, "string", ek_buf_str(&text), text.len);
    return object;
}

static yyjson_mut_val *typed_bytes(yyjson_mut_doc *doc, const struct ek_cel_val *value)
{
    EK_AUTOFREE char *text = ek_base64_encode(value->n ? value->s : "", value->n);

    return one_text(doc, "bytes", text ? text : "");
}

/* Kubernetes' recordings have the type with dyn for its arguments, the conformance cases without
 * any. */
static yyjson_mut_val *typed_type(yyjson_mut_doc *doc, const struct ek_cel_val *value,
                                  bool plain_types)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    if (plain_types)
        ek_buf_puts(&text, value->type->name);
    else
        ek_cel_type_format(value->type, &text);
    return one_text(doc, "type", ek_buf_str(&text));
}

static yyjson_mut_val *typed_number(yyjson_mut_doc *doc, const struct ek_cel_val *value)
{
    char text[EK_CEL_DOUBLE_TEXT_MAX];

    switch (value->kind) {
    case EK_CEL_INT:
        snprintf(text, sizeof(text), "%" PRId64, value->i);
        return one_text(doc, "int", text);
    case EK_CEL_UINT:
        snprintf(text, sizeof(text), "%" PRIu64, value->u);
        return one_text(doc, "uint", text);
    case EK_CEL_TIMESTAMP:
        ek_cel_time_text(value, text);
        return one_text(doc, "timestamp", text);
    case EK_CEL_DURATION:
        ek_cel_duration_go(value->i, text);
        return one_text(doc, "duration", text);
    default:
        ek_cel_double_g(value->d, text);
        return one_text(doc, "double", text);
    }
}

yyjson_mut_val *ek_cel_typed(yyjson_mut_doc *doc, const struct ek_cel_val *value, bool plain_types)
{
    switch (value->kind) {
    case EK_CEL_ERROR: /* in an optional, where the reference keeps what it could not convert */
        return one_text(doc, "error", value->fault->message);
    case EK_CEL_NULL:
        return one(doc, "null", yyjson_mut_true(doc));
    case EK_CEL_BOOL:
        return one(doc, "bool", yyjson_mut_bool(doc, value->b));
    case EK_CEL_STRING:
        return one(doc, "string", yyjson_mut_strncpy(doc, value->n ? value->s : "", value->n));
    case EK_CEL_BYTES:
        return typed_bytes(doc, value);
    case EK_CEL_LIST:
        return typed_list(doc, value, plain_types);
    case EK_CEL_MAP:
        return typed_map(doc, value, plain_types);
    case EK_CEL_TYPE:
        return typed_type(doc, value, plain_types);
    case EK_CEL_OPTIONAL:
        return one(doc, "optional",
                   value->some ? ek_cel_typed(doc, value->some, plain_types)
                               : yyjson_mut_null(doc));
    case EK_CEL_STRUCT:
        return typed_struct(doc, value, plain_types);
    case EK_CEL_OPAQUE:
        return typed_opaque(doc, value);
    default:
        return typed_number(doc, value);
    }
}
