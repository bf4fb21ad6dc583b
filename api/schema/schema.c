/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "api/schema/schema-internal.h"

/* Lists of lists of lists: how many of them a name of a path goes through. */
#define NESTED_LISTS_MAX 8

/* Longer names are not compared for a likely misspelling. */
#define GUESS_LEN_MAX 64

struct ek_str ek_schema_text(const struct ek_schema *schema, uint32_t text)
{
    uint32_t len;

    memcpy(&len, schema->strings + text - sizeof len, sizeof len);
    return (struct ek_str){schema->strings + text, len};
}

const struct ek_schema_kind *ek_schema_kinds(const struct ek_schema *schema, size_t *ret_n)
{
    *ret_n = schema->head->kinds.n;
    return schema->kinds;
}

static int compare_kind(const struct ek_schema *schema, const struct ek_schema_kind *k,
                        const char *group, const char *version, const char *kind)
{
    int order = ek_schema_compare(ek_schema_text(schema, k->kind), ek_str_from(kind));

    if (order == 0)
        order = ek_schema_compare(ek_schema_text(schema, k->group), ek_str_from(group));
    if (order == 0)
        order = ek_schema_compare(ek_schema_text(schema, k->version), ek_str_from(version));
    return order;
}

int ek_schema_find_kind(const struct ek_schema *schema, const char *group, const char *version,
                        const char *kind, uint32_t *ret_type, struct ek_err *err)
{
    size_t low = 0, high = schema->head->kinds.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_kind(schema, &schema->kinds[mid], group, version, kind);
        if (order == 0) {
            *ret_type = schema->kinds[mid].type;
            return 0;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return ek_err_set(err, EK_E_NOENT, "no corresponding type for %s/%s, Kind=%s", group, version,
                      kind);
}

const struct ek_schema_type *ek_schema_type(const struct ek_schema *schema, uint32_t type)
{
    return &schema->types[type];
}

const struct ek_schema_field *ek_schema_fields(const struct ek_schema *schema,
                                               const struct ek_schema_type *type)
{
    return schema->fields + type->fields;
}

const struct ek_schema_field *ek_schema_field(const struct ek_schema *schema,
                                              const struct ek_schema_type *type, struct ek_str name)
{
    const struct ek_schema_field *fields = schema->fields + type->fields;
    uint32_t low = 0, high = type->n_fields;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = ek_schema_compare(ek_schema_text(schema, fields[mid].name), name);
        if (order == 0)
            return &fields[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

uint32_t ek_schema_member(const struct ek_schema *schema, const struct ek_schema_type *type,
                          struct ek_str name)
{
    const struct ek_schema_field *field = ek_schema_field(schema, type, name);
    return field ? field->type : type->member;
}

struct ek_str ek_schema_key(const struct ek_schema *schema, const struct ek_schema_type *type,
                            uint32_t i)
{
    return ek_schema_text(schema, schema->keys[type->keys + i]);
}

bool ek_schema_scalar_value(const struct ek_schema *schema, uint32_t value, yyjson_mut_val *ret)
{
    const struct ek_schema_value *v = &schema->values[value];
    struct ek_str text = ek_schema_text(schema, v->text);
    double real;

    switch ((enum ek_schema_value_kind)v->kind) {
    case EK_VALUE_BOOL:
        return yyjson_mut_set_bool(ret, v->bits != 0);
    case EK_VALUE_INT:
        return yyjson_mut_set_sint(ret, (int64_t)v->bits);
    case EK_VALUE_UINT:
        return yyjson_mut_set_uint(ret, v->bits);
    case EK_VALUE_REAL:
        memcpy(&real, &v->bits, sizeof real);
        return yyjson_mut_set_real(ret, real);
    case EK_VALUE_STRING:
        return yyjson_mut_set_strn(ret, text.p, text.len);
    case EK_VALUE_JSON:
    case EK_VALUE_MAX:
        break;
    }
    return false;
}

yyjson_mut_val *ek_schema_initial(const struct ek_schema *schema,
                                  const struct ek_schema_field *field, yyjson_mut_doc *doc)
{
    yyjson_mut_val scalar = {0};

    if (field->initial == EK_SCHEMA_NONE)
        return NULL;
    if (ek_schema_scalar_value(schema, field->initial, &scalar))
        return yyjson_mut_val_mut_copy(doc, &scalar);
    struct ek_str json = ek_schema_text(schema, schema->values[field->initial].text);
    yyjson_doc *parsed = ek_json_parse(json.p, json.len, NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
    yyjson_doc_free(parsed);
    return copy;
}

/* The number of letters to change, add or leave out to get from a to b; case does not count. */
static size_t distance(struct ek_str a, struct ek_str b)
{
    unsigned char row[GUESS_LEN_MAX + 1];

    for (size_t j = 0; j <= b.len; j++)
        row[j] = (unsigned char)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned char diagonal = row[0];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned char above = row[j], best = diagonal;
            if (strncasecmp(&a.p[i - 1], &b.p[j - 1], 1) != 0) {
                best = above < row[j - 1] ? above : row[j - 1];
                best = (unsigned char)((best < diagonal ? best : diagonal) + 1);
            }
            row[j] = best;
            diagonal = above;
        }
    }
    return row[b.len];
}

/* The declared name that is likely meant, "" when none is near. */
static struct ek_str guess(const struct ek_schema *schema, const struct ek_schema_type *type,
                           struct ek_str name)
{
    struct ek_str found = EK_STR("");
    size_t nearest = name.len <= 3 ? 2 : 3;

    for (uint32_t i = 0; i < type->n_fields && name.len <= GUESS_LEN_MAX; i++) {
        struct ek_str field = ek_schema_text(schema, schema->fields[type->fields + i].name);
        size_t apart = name.len < field.len ? field.len - name.len : name.len - field.len;
        /* No name is nearer than its length. */
        size_t d = apart < nearest && field.len <= GUESS_LEN_MAX ? distance(name, field) : nearest;
        if (d < nearest) {
            nearest = d;
            found = field;
        }
    }
    return found;
}

static int no_such_field(const struct ek_schema *schema, const struct ek_schema_type *type,
                         struct ek_str before, struct ek_str name, struct ek_err *err)
{
    char where[EK_QUOTE_SIZE] = "the object", what[EK_QUOTE_SIZE], meant[EK_QUOTE_SIZE];
    struct ek_str likely = guess(schema, type, name);

    if (before.len > 0)
        ek_quote_short(before, where);
    ek_quote_short(name, what);
    if (likely.len == 0)
        return ek_err_set(err, EK_E_NOENT, "%s has no field %s", where, what);
    return ek_err_set(err, EK_E_NOENT, "%s has no field %s; did you mean %s?", where, what,
                      ek_quote_short(likely, meant));
}

/* The type of what a list holds, through lists of lists; a type with members is left alone. */
static const struct ek_schema_type *through_lists(const struct ek_schema *schema, uint32_t type)
{
    const struct ek_schema_type *t = &schema->types[type];

    for (int i = 0; i < NESTED_LISTS_MAX && t->map == EK_MAP_NONE && t->list != EK_LIST_NONE; i++)
        t = &schema->types[t->item];
    return t;
}

int ek_schema_resolve(const struct ek_schema *schema, uint32_t type, struct ek_str path,
                      uint32_t *ret_type, struct ek_err *err)
{
    size_t at = 0;

    while (at < path.len) {
        const struct ek_schema_type *t = through_lists(schema, type);
        const char *dot = memchr(path.p + at, '.', path.len - at);
        size_t end = dot ? (size_t)(dot - path.p) : path.len;
        struct ek_str name = {path.p + at, end - at};
        uint32_t next = ek_schema_member(schema, t, name);
        if (next == EK_SCHEMA_NONE)
            return no_such_field(schema, t, (struct ek_str){path.p, at ? at - 1 : 0}, name, err);
        type = next;
        at = end + 1;
    }
    *ret_type = type;
    return 0;
}
