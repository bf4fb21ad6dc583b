/* SPDX-License-Identifier: Apache-2.0 */
#include "api/decode/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/time.h"
#include "api/decode/gotext.h"
#include "api/gotypes/time.h"
#include "api/obj.h"

#define TIME_MAX   1024               /* octets of a time in an error */
#define SORTED_MAX ((size_t)64 << 20) /* of the keys of one object */

enum form {
    FORM_TEXT,
    FORM_UID,
    FORM_OPERATION,
    FORM_NUMBER,
    FORM_TRUTH,
    FORM_TIME,
    FORM_TEXT_MAP,
    FORM_TEXTS,
    FORM_STRUCTS,
    FORM_ANY,
};

struct field;

/* A Go struct. */
struct fields {
    const char *name;
    const struct field *list;
    size_t n;
};

struct field {
    const char *name;
    enum form form;
    bool keeps_zero; /* zeroes are written: a pointer, or a field without omitempty */
    const struct fields *of;
};

static const struct field owner_fields[] = {
    {"apiVersion", FORM_TEXT, true, NULL},  {"blockOwnerDeletion", FORM_TRUTH, true, NULL},
    {"controller", FORM_TRUTH, true, NULL}, {"kind", FORM_TEXT, true, NULL},
    {"name", FORM_TEXT, true, NULL},        {"uid", FORM_UID, true, NULL},
};
static const struct fields owner = {"OwnerReference", owner_fields, EK_ARRAY_SIZE(owner_fields)};

static const struct field entry_fields[] = {
    {"apiVersion", FORM_TEXT, false, NULL},     {"fieldsType", FORM_TEXT, false, NULL},
    {"fieldsV1", FORM_ANY, false, NULL},        {"manager", FORM_TEXT, false, NULL},
    {"operation", FORM_OPERATION, false, NULL}, {"subresource", FORM_TEXT, false, NULL},
    {"time", FORM_TIME, false, NULL},
};
static const struct fields entry = {"ManagedFieldsEntry", entry_fields,
                                    EK_ARRAY_SIZE(entry_fields)};

static const struct field meta_fields[] = {
    {"annotations", FORM_TEXT_MAP, false, NULL},
    {"creationTimestamp", FORM_TIME, false, NULL},
    {"deletionGracePeriodSeconds", FORM_NUMBER, true, NULL},
    {"deletionTimestamp", FORM_TIME, false, NULL},
    {"finalizers", FORM_TEXTS, false, NULL},
    {"generateName", FORM_TEXT, false, NULL},
    {"generation", FORM_NUMBER, false, NULL},
    {"labels", FORM_TEXT_MAP, false, NULL},
    {"managedFields", FORM_STRUCTS, false, &entry},
    {"name", FORM_TEXT, false, NULL},
    {"namespace", FORM_TEXT, false, NULL},
    {"ownerReferences", FORM_STRUCTS, false, &owner},
    {"resourceVersion", FORM_TEXT, false, NULL},
    {"selfLink", FORM_TEXT, false, NULL},
    {"uid", FORM_UID, false, NULL},
};
static const struct fields meta = {"ObjectMeta", meta_fields, EK_ARRAY_SIZE(meta_fields)};

/* Where a value stands. Go's texts leave the indexes out. */
struct place {
    const struct place *up; /* NULL: a field of metadata */
    const char *name;       /* NULL: an item */
    size_t index;
};

struct reading {
    const struct ek_metadata_reader *reader;
    const char *error; /* the first: a type that does not fit, after which Go reads on */
    bool is_hard;      /* Go reads no further */
    bool failed;       /* no memory, or no time */
};

void ek_paths_add__(struct ek_paths *paths, struct ek_arena *arena, const char *path)
{
    paths->n_all++;
    if (paths->n == EK_PATHS_MAX || ek_arena_exhausted(arena))
        return;
    if (paths->n == paths->cap) {
        size_t cap = paths->cap ? 2 * paths->cap : 8;
        const char **list = ek_arena_alloc(arena, cap * sizeof *list);
        if (paths->n)
            memcpy(list, paths->list, paths->n * sizeof *list);
        paths->list = list;
        paths->cap = cap;
    }
    paths->list[paths->n++] = path;
}

static void put_place(struct ek_buf *out, const struct place *at, bool go)
{
    if (at->up)
        put_place(out, at->up, go);
    if (!at->name) {
        if (!go)
            ek_buf_printf(out, "[%zu]", at->index);
        return;
    }
    ek_buf_puts(out, at->up ? "." : "");
    ek_buf_puts(out, at->name);
}

/* A path that is too long is cut. */
static const char *path_of(struct ek_arena *arena, const char *before, const struct place *at,
                           bool go)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    ek_buf_puts(&out, before);
    put_place(&out, at, go);
    return ek_arena_strdup(arena, ek_buf_str(&out));
}

/* What encoding/json calls a value: a number with its text where a number was expected. */
static const char *kind_of(struct reading *r, yyjson_mut_val *value, enum form form)
{
    const char *kind = ek_json_kind(yyjson_mut_get_type(value));

    if (form != FORM_NUMBER || !yyjson_mut_is_num(value))
        return kind;
    EK_AUTO(ek_buf) text;
    yyjson_doc *doc = yyjson_mut_val_imut_copy(value, &ek_json_alc);

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    ek_go_value(yyjson_doc_get_root(doc), &text);
    yyjson_doc_free(doc);
    kind = ek_arena_printf(r->reader->arena, "number %s", ek_buf_str(&text));
    return kind;
}

/* Notes the first value of another type than its place has; type as Go calls it, "before" it what
 * the value is to be a list or a map of. */
static void refuse(struct reading *r, const char *in, yyjson_mut_val *value, enum form form,
                   const char *before, const char *type, const struct place *at)
{
    struct ek_arena *arena = r->reader->arena;

    if (!r->error)
        r->error = ek_arena_printf(
            arena, "json: cannot unmarshal %s into Go struct field %s.%s of type %s%s",
            kind_of(r, value, form), in, path_of(arena, "", at, true), before, type);
}

static void refuse_hard(struct reading *r, const char *error)
{
    r->error = error;
    r->is_hard = true;
}

static yyjson_mut_val *made(struct reading *r, yyjson_mut_val *value)
{
    r->failed |= !value;
    return value;
}

static yyjson_mut_val *text_of(struct reading *r, yyjson_mut_val *value)
{
    return made(
        r, yyjson_mut_strn(r->reader->doc, yyjson_mut_get_str(value), yyjson_mut_get_len(value)));
}

/* ---- Scalars ---- */

static yyjson_mut_val *read_text(struct reading *r, const char *in, const struct field *field,
                                 yyjson_mut_val *value, const struct place *at)
{
    const char *type = field->form == FORM_UID         ? "types.UID"
                       : field->form == FORM_OPERATION ? "v1.ManagedFieldsOperationType"
                                                       : "string";

    if (yyjson_mut_is_str(value))
        return field->keeps_zero || yyjson_mut_get_len(value) ? text_of(r, value) : NULL;
    refuse(r, in, value, field->form, "", type, at);
    return NULL;
}

static yyjson_mut_val *read_number(struct reading *r, const char *in, const struct field *field,
                                   yyjson_mut_val *value, const struct place *at)
{
    double d = yyjson_mut_get_num(value);
    bool is_whole = yyjson_mut_is_sint(value) ||
                    (yyjson_mut_is_uint(value) && yyjson_mut_get_uint(value) <= INT64_MAX);
    int64_t i = is_whole ? yyjson_mut_get_sint(value) : 0;

    if (yyjson_mut_is_real(value) && d >= -9e18 && d <= 9e18 && d == (double)(int64_t)d) {
        is_whole = true;
        i = (int64_t)d;
    }
    if (!is_whole) {
        refuse(r, in, value, field->form, "", "int64", at);
        return NULL;
    }
    return i || field->keeps_zero ? made(r, yyjson_mut_sint(r->reader->doc, i)) : NULL;
}

static yyjson_mut_val *read_time(struct reading *r, const char *in, yyjson_mut_val *value,
                                 const struct place *at)
{
    char text[EK_TIME_SIZE];

    if (!yyjson_mut_is_str(value)) {
        r->error = NULL;
        refuse(r, in, value, FORM_TIME, "", "string", at);
        r->is_hard = true;
        return NULL;
    }
    const char *time = yyjson_mut_get_str(value), *why;
    if (yyjson_mut_get_len(value) > TIME_MAX)
        time = ek_arena_strndup(r->reader->arena, time, TIME_MAX);
    why = ek_go_time_check(time, false, r->reader->arena);
    if (why) {
        refuse_hard(r, why);
        return NULL;
    }
    ek_time_format(ek_time_parse(time), text);
    return made(r, yyjson_mut_strcpy(r->reader->doc, text));
}

/* ---- Containers ---- */

static yyjson_mut_val *read_text_map(struct reading *r, const char *in, yyjson_mut_val *value,
                                     const struct place *at)
{
    yyjson_mut_val *map, *key, *item;
    size_t i, n;

    if (!yyjson_mut_is_obj(value)) {
        refuse(r, in, value, FORM_TEXT_MAP, "map[string]", "string", at);
        return NULL;
    }
    if (!yyjson_mut_obj_size(value))
        return NULL;
    map = made(r, yyjson_mut_obj(r->reader->doc));
    yyjson_mut_obj_foreach(value, i, n, key, item)
    {
        yyjson_mut_val *name = text_of(r, key);
        yyjson_mut_val *text = yyjson_mut_is_str(item)
                                   ? text_of(r, item)
                                   : made(r, yyjson_mut_str(r->reader->doc, ""));
        if (!yyjson_mut_is_str(item) && !yyjson_mut_is_null(item))
            refuse(r, in, item, FORM_TEXT, "", "string", at);
        r->failed |= !ek_work_do(r->reader->work, 1) || !yyjson_mut_obj_add(map, name, text);
    }
    return map;
}

static yyjson_mut_val *read_texts(struct reading *r, const char *in, yyjson_mut_val *value,
                                  const struct place *at)
{
    yyjson_mut_val *list, *item;
    size_t i, n;

    if (!yyjson_mut_is_arr(value)) {
        refuse(r, in, value, FORM_TEXTS, "[]", "string", at);
        return NULL;
    }
    if (!yyjson_mut_arr_size(value))
        return NULL;
    list = made(r, yyjson_mut_arr(r->reader->doc));
    yyjson_mut_arr_foreach(value, i, n, item)
    {
        yyjson_mut_val *text = yyjson_mut_is_str(item)
                                   ? text_of(r, item)
                                   : made(r, yyjson_mut_str(r->reader->doc, ""));
        if (!yyjson_mut_is_str(item) && !yyjson_mut_is_null(item))
            refuse(r, in, item, FORM_TEXT, "", "string", at);
        r->failed |= !ek_work_do(r->reader->work, 1) || !yyjson_mut_arr_append(list, text);
    }
    return list;
}

static yyjson_mut_val *read_struct(struct reading *r, const struct fields *fields,
                                   yyjson_mut_val *object, const struct place *at);

static yyjson_mut_val *read_structs(struct reading *r, const char *in, const struct field *field,
                                    yyjson_mut_val *value, const struct place *at)
{
    yyjson_mut_val *list, *item;
    size_t i, n;

    if (!yyjson_mut_is_arr(value)) {
        refuse(r, in, value, field->form, "[]v1.", field->of->name, at);
        return NULL;
    }
    if (!yyjson_mut_arr_size(value))
        return NULL;
    list = made(r, yyjson_mut_arr(r->reader->doc));
    yyjson_mut_arr_foreach(value, i, n, item)
    {
        const struct place inner = {.up = at, .index = i};
        if (r->is_hard || r->failed)
            break;
        if (!yyjson_mut_is_obj(item) && !yyjson_mut_is_null(item))
            refuse(r, in, item, field->form, "v1.", field->of->name, at);
        yyjson_mut_val *read = read_struct(r, field->of, item, &inner);
        r->failed |= !read || !yyjson_mut_arr_append(list, read);
    }
    return list;
}

static yyjson_mut_val *read_field(struct reading *r, const char *in, const struct field *field,
                                  yyjson_mut_val *value, const struct place *at)
{
    if (yyjson_mut_is_null(value))
        return NULL;
    switch (field->form) {
    case FORM_TEXT:
    case FORM_UID:
    case FORM_OPERATION:
        return read_text(r, in, field, value, at);
    case FORM_NUMBER:
        return read_number(r, in, field, value, at);
    case FORM_TRUTH:
        if (yyjson_mut_is_bool(value))
            return made(r, yyjson_mut_bool(r->reader->doc, yyjson_mut_get_bool(value)));
        refuse(r, in, value, field->form, "", "bool", at);
        return NULL;
    case FORM_TIME:
        return read_time(r, in, value, at);
    case FORM_TEXT_MAP:
        return read_text_map(r, in, value, at);
    case FORM_TEXTS:
        return read_texts(r, in, value, at);
    case FORM_STRUCTS:
        return read_structs(r, in, field, value, at);
    default:
        return made(r, yyjson_mut_val_mut_copy(r->reader->doc, value));
    }
}

/* ---- Structs ---- */

static int by_name(const void *a, const void *b)
{
    yyjson_mut_val *x = *(yyjson_mut_val *const *)a, *y = *(yyjson_mut_val *const *)b;
    return strcmp(yyjson_mut_get_str(x), yyjson_mut_get_str(y));
}

/* The keys of an object in their order as texts, owned: the server reads metadata out of JSON that
 * Go wrote. */
static yyjson_mut_val **sorted_keys(yyjson_mut_val *object, size_t *ret_n)
{
    size_t size = yyjson_mut_obj_size(object), i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_val **keys =
        size < SORTED_MAX / sizeof(void *) ? ek_alloc((size + 1) * sizeof(void *)) : NULL;

    *ret_n = 0;
    if (!keys)
        return NULL;
    yyjson_mut_obj_foreach(object, i, n, key, value)
    {
        (void)value;
        keys[(*ret_n)++] = key;
    }
    if (size)
        qsort(keys, size, sizeof(void *), by_name);
    return keys;
}

static const struct field *find_field(const struct fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->n; i++)
        if (!strcmp(fields->list[i].name, name))
            return &fields->list[i];
    return NULL;
}

static void report_unknown(struct reading *r, const struct place *at)
{
    struct ek_arena *arena = r->reader->arena;
    bool full = r->reader->unknown->n == EK_PATHS_MAX || ek_arena_exhausted(arena);

    ek_paths_add__(r->reader->unknown, arena, full ? "" : path_of(arena, "metadata.", at, false));
}

/* Texts that are written although they are empty. */
static void add_zeroes(struct reading *r, const struct fields *fields, yyjson_mut_val *read)
{
    for (size_t i = 0; i < fields->n; i++) {
        const struct field *field = &fields->list[i];
        if (field->keeps_zero && (field->form == FORM_TEXT || field->form == FORM_UID) &&
            !yyjson_mut_obj_get(read, field->name))
            r->failed |= !yyjson_mut_obj_add_str(r->reader->doc, read, field->name, "");
    }
}

static void add_member(struct reading *r, const struct fields *fields, yyjson_mut_val *key,
                       yyjson_mut_val *value, const struct place *up, yyjson_mut_val *read)
{
    const char *name = yyjson_mut_get_str(key), *before = r->error;
    const struct field *field = find_field(fields, name);
    const struct place at = {.up = up, .name = name};

    r->failed |= !ek_work_do(r->reader->work, 4);
    if (!field) {
        report_unknown(r, &at);
        return;
    }
    yyjson_mut_val *got = read_field(r, fields->name, field, value, &at);
    if (r->reader->is_lenient && !up && r->error != before) {
        r->error = before;
        r->is_hard = false;
        return;
    }
    if (got)
        r->failed |=
            !yyjson_mut_obj_add(read, made(r, yyjson_mut_str(r->reader->doc, field->name)), got);
}

/* Reads an object, or null, into a struct. NULL: no memory. */
static yyjson_mut_val *read_struct(struct reading *r, const struct fields *fields,
                                   yyjson_mut_val *object, const struct place *up)
{
    yyjson_mut_val *read = made(r, yyjson_mut_obj(r->reader->doc));
    size_t n;
    yyjson_mut_val **keys = sorted_keys(object, &n);

    r->failed |= !keys;
    for (size_t i = 0; i < n && !r->is_hard && !r->failed; i++)
        add_member(r, fields, keys[i], yyjson_mut_obj_iter_get_val(keys[i]), up, read);
    ek_free(keys);
    if (!r->failed)
        add_zeroes(r, fields, read);
    return r->failed ? NULL : read;
}

yyjson_mut_val *ek_metadata_read__(const struct ek_metadata_reader *reader,
                                   yyjson_mut_val *metadata, const char **ret_error)
{
    struct reading r = {.reader = reader};

    *ret_error = NULL;
    if (!yyjson_mut_is_obj(metadata) && !yyjson_mut_is_null(metadata)) {
        *ret_error = ek_arena_printf(
            reader->arena, "json: cannot unmarshal %s into Go value of type v1.ObjectMeta",
            ek_json_kind(yyjson_mut_get_type(metadata)));
        return NULL;
    }
    yyjson_mut_val *read = read_struct(&r, &meta, metadata, NULL);
    if (r.failed)
        return NULL;
    *ret_error = r.error;
    return r.error ? NULL : read;
}
