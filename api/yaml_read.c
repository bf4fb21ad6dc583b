/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to JSON values: a descent over libyaml's events, as deep as EK_JSON_DEPTH_MAX allows.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "api/yaml-internal.h"
#include "api/yaml.h"

/* What each value costs when an alias repeats it, besides its text. */
#define NODE_COST 16

#define TAG_PREFIX "tag:yaml.org,2002:"

struct anchor {
    char *name; /* owned */
    yyjson_mut_val *value;
};

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one at hand */
    bool has_event;
    yyjson_mut_doc *doc;
    struct anchor *anchors; /* of the current document; a later one hides an earlier */
    size_t n_anchors, cap_anchors;
    size_t budget; /* what aliases may still add */
    struct ek_err *err;
};

/* A member of a mapping before it is known which members count. */
struct entry {
    struct ek_str key; /* in the document's memory */
    yyjson_mut_val *value;
    yaml_mark_t mark;
    size_t rank;  /* order of appearance, merged ones last */
    bool merged;  /* came through "<<" */
    bool dropped; /* hidden by another */
};

struct entries {
    struct entry *items; /* owned */
    size_t n, cap;
};

static yyjson_mut_val *read_value(struct reader *r, size_t depth);

static void *no_memory(struct reader *r)
{
    ek_err_set(r->err, EK_E_NOMEM, "no memory for the YAML");
    return NULL;
}

__attribute__((format(printf, 4, 5))) static void *fail(struct reader *r, int code,
                                                        yaml_mark_t mark, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    EK_AUTOFREE char *text = NULL;
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (!text)
        return no_memory(r);
    ek_err_set(r->err, code, "YAML line %zu column %zu: %s", mark.line + 1, mark.column + 1, text);
    return NULL;
}

static void parser_failed(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    bool encoding = p->error == YAML_READER_ERROR;

    if (p->error == YAML_MEMORY_ERROR) {
        no_memory(r);
        return;
    }
    fail(r, EK_E_PARSE, encoding ? p->mark : p->problem_mark, "%s%s%s",
         p->problem ? p->problem : "malformed text", p->context ? " " : "",
         p->context ? p->context : "");
}

/* Moves on to the next event; false with the error set when there is none. */
static bool advance(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event);
    if (!r->has_event)
        parser_failed(r);
    return r->has_event;
}

static bool set_anchor(struct reader *r, const char *name, yyjson_mut_val *value)
{
    if (r->n_anchors == r->cap_anchors) {
        size_t cap = r->cap_anchors ? r->cap_anchors * 2 : 8;
        struct anchor *anchors = ek_realloc(r->anchors, cap * sizeof *anchors);
        if (!anchors)
            return no_memory(r);
        r->anchors = anchors;
        r->cap_anchors = cap;
    }
    r->anchors[r->n_anchors++] = (struct anchor){ek_xstrdup(name), value};
    return true;
}

static void forget_anchors(struct reader *r)
{
    while (r->n_anchors > 0)
        ek_free(r->anchors[--r->n_anchors].name);
}

static bool charge(struct reader *r, size_t text)
{
    if (text + NODE_COST > r->budget) {
        fail(r, EK_E_LIMIT, r->event.start_mark, "aliases make the document too large");
        return false;
    }
    r->budget -= text + NODE_COST;
    return true;
}

/* Copies what an alias stands for. Strings are shared: both are in one document. */
static yyjson_mut_val *copy_value(struct reader *r, yyjson_mut_val *value, size_t depth)
{
    yyjson_mut_val *copy, *key, *member;
    size_t i, n;

    if (!charge(r, yyjson_mut_is_str(value) ? yyjson_mut_get_len(value) : 0))
        return NULL;
    if (yyjson_mut_is_str(value))
        return yyjson_mut_strn(r->doc, yyjson_mut_get_str(value), yyjson_mut_get_len(value));
    if (!yyjson_mut_is_ctn(value))
        return yyjson_mut_val_mut_copy(r->doc, value);
    if (depth >= EK_JSON_DEPTH_MAX)
        return fail(r, EK_E_LIMIT, r->event.start_mark, "nests deeper than %d levels",
                    EK_JSON_DEPTH_MAX);
    if (yyjson_mut_is_arr(value)) {
        copy = yyjson_mut_arr(r->doc);
        yyjson_mut_arr_foreach(value, i, n, member)
        {
            yyjson_mut_val *item = copy_value(r, member, depth + 1);
            if (!item || !yyjson_mut_arr_append(copy, item))
                return NULL;
        }
        return copy;
    }
    copy = yyjson_mut_obj(r->doc);
    yyjson_mut_obj_foreach(value, i, n, key, member)
    {
        yyjson_mut_val *name = copy_value(r, key, depth + 1);
        yyjson_mut_val *item = name ? copy_value(r, member, depth + 1) : NULL;
        if (!item || !yyjson_mut_obj_add(copy, name, item))
            return NULL;
    }
    return copy;
}

static yyjson_mut_val *read_alias(struct reader *r, size_t depth)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    char quoted[EK_QUOTE_SIZE];

    for (size_t i = r->n_anchors; i-- > 0;) {
        if (strcmp(r->anchors[i].name, name) != 0)
            continue;
        yyjson_mut_val *copy = copy_value(r, r->anchors[i].value, depth);
        return copy && advance(r) ? copy : NULL;
    }
    return fail(r, EK_E_PARSE, r->event.start_mark, "alias %s names no value that ends before it",
                ek_quote_short(ek_str_from(name), quoted));
}

static yyjson_mut_val *real_value(struct reader *r, double real)
{
    if (!isfinite(real))
        return fail(r, EK_E_UNSUPPORTED, r->event.start_mark,
                    "infinity and not-a-number have no JSON form");
    /* A whole number is an integer once it went through JSON, as Go writes it. */
    if (real == trunc(real) && fabs(real) < 9.2e18)
        return yyjson_mut_sint(r->doc, (int64_t)real);
    return yyjson_mut_real(r->doc, real);
}

static bool tag_is(const char *tag, const char *name)
{
    return tag && !strncmp(tag, TAG_PREFIX, sizeof TAG_PREFIX - 1) &&
           !strcmp(tag + sizeof TAG_PREFIX - 1, name);
}

/* True when a scalar of that kind may carry the tag. */
static bool tag_fits(const char *tag, enum ek_yaml_kind kind)
{
    switch (kind) {
    case EK_YAML_NULL:
        return tag_is(tag, "null");
    case EK_YAML_BOOL:
        return tag_is(tag, "bool");
    case EK_YAML_INT:
    case EK_YAML_UINT:
        return tag_is(tag, "int") || tag_is(tag, "float");
    case EK_YAML_REAL:
        return tag_is(tag, "float");
    case EK_YAML_TIME:
    case EK_YAML_STR:
    case EK_YAML_KIND_MAX:
        break;
    }
    return false;
}

static yyjson_mut_val *scalar_value(struct reader *r)
{
    const char *tag = (const char *)r->event.data.scalar.tag;
    struct ek_str text = {(const char *)r->event.data.scalar.value, r->event.data.scalar.length};
    struct ek_yaml_scalar found = {.kind = EK_YAML_STR};
    char quoted[EK_QUOTE_SIZE];
    bool typed =
        tag_is(tag, "null") || tag_is(tag, "bool") || tag_is(tag, "int") || tag_is(tag, "float");

    if (tag_is(tag, "binary"))
        return fail(r, EK_E_UNSUPPORTED, r->event.start_mark,
                    "the tag !!binary has no JSON form; write the base64 text without it");
    if (typed || (!tag && r->event.data.scalar.plain_implicit))
        found = ek_yaml_resolve__(text);
    if (typed && !tag_fits(tag, found.kind))
        return fail(r, EK_E_PARSE, r->event.start_mark, "%s is no !!%s",
                    ek_quote_short(text, quoted), tag + sizeof TAG_PREFIX - 1);
    switch (found.kind) {
    case EK_YAML_NULL:
        return yyjson_mut_null(r->doc);
    case EK_YAML_BOOL:
        return yyjson_mut_bool(r->doc, found.boolean);
    case EK_YAML_INT:
        return yyjson_mut_sint(r->doc, found.integer);
    case EK_YAML_UINT:
        return yyjson_mut_uint(r->doc, found.natural);
    case EK_YAML_REAL:
        return real_value(r, found.real);
    case EK_YAML_TIME:
    case EK_YAML_STR:
    case EK_YAML_KIND_MAX:
        break;
    }
    return yyjson_mut_strncpy(r->doc, text.p, text.len);
}

static yyjson_mut_val *read_scalar(struct reader *r)
{
    yyjson_mut_val *value = scalar_value(r);
    const char *anchor = (const char *)r->event.data.scalar.anchor;

    if (!value || (anchor && !set_anchor(r, anchor, value)) || !advance(r))
        return NULL;
    return value;
}

static yyjson_mut_val *read_sequence(struct reader *r, size_t depth)
{
    EK_AUTOFREE char *anchor = ek_xstrdup((const char *)r->event.data.sequence_start.anchor);
    yyjson_mut_val *list = yyjson_mut_arr(r->doc);

    if (!advance(r))
        return NULL;
    while (r->event.type != YAML_SEQUENCE_END_EVENT) {
        yyjson_mut_val *item = read_value(r, depth + 1);
        if (!item || !yyjson_mut_arr_append(list, item))
            return NULL;
    }
    if ((anchor && !set_anchor(r, anchor, list)) || !advance(r))
        return NULL;
    return list;
}

/* The text that a key has in JSON. */
static bool key_text(struct reader *r, yyjson_mut_val *key, yaml_mark_t mark,
                     struct ek_str *ret_text)
{
    char text[EK_YAML_REAL_SIZE];

    if (yyjson_mut_is_str(key)) {
        *ret_text = (struct ek_str){yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
        return true;
    }
    if (yyjson_mut_is_bool(key))
        snprintf(text, sizeof text, "%s", yyjson_mut_get_bool(key) ? "true" : "false");
    else if (yyjson_mut_is_sint(key))
        snprintf(text, sizeof text, "%lld", (long long)yyjson_mut_get_sint(key));
    else if (yyjson_mut_is_uint(key))
        snprintf(text, sizeof text, "%llu", (unsigned long long)yyjson_mut_get_uint(key));
    else if (yyjson_mut_is_real(key))
        ek_yaml_format_real__(yyjson_mut_get_real(key), text);
    else
        return fail(r, EK_E_PARSE, mark, "a key must be text, a number or a boolean");
    *ret_text = ek_str_from(yyjson_mut_get_str(yyjson_mut_strcpy(r->doc, text)));
    return ret_text->p || no_memory(r);
}

static struct entry *add_entry(struct reader *r, struct entries *entries)
{
    if (entries->n == entries->cap) {
        size_t cap = entries->cap ? entries->cap * 2 : 8;
        struct entry *items = ek_realloc(entries->items, cap * sizeof *items);
        if (!items)
            return no_memory(r);
        entries->items = items;
        entries->cap = cap;
    }
    struct entry *entry = &entries->items[entries->n];
    *entry = (struct entry){.rank = entries->n++};
    return entry;
}

/* Moves the members of what "<<" names (it was read or copied for this purpose) to merged. */
static bool merge(struct reader *r, yyjson_mut_val *source, yaml_mark_t mark,
                  struct entries *merged)
{
    yyjson_mut_val *key, *member;
    size_t i, n;

    if (yyjson_mut_is_arr(source)) {
        yyjson_mut_arr_foreach(source, i, n, member)
        {
            if (!yyjson_mut_is_obj(member))
                return fail(r, EK_E_PARSE, mark, "<< takes mappings only");
            if (!merge(r, member, mark, merged))
                return false;
        }
        return true;
    }
    if (!yyjson_mut_is_obj(source))
        return fail(r, EK_E_PARSE, mark, "<< takes a mapping or a list of mappings");
    yyjson_mut_obj_foreach(source, i, n, key, member)
    {
        struct entry *entry = add_entry(r, merged);
        if (!entry)
            return false;
        entry->key = (struct ek_str){yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
        entry->value = member;
        entry->merged = true;
    }
    return true;
}

static bool is_merge_key(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT &&
           !strcmp((const char *)event->data.scalar.value, "<<") &&
           (event->data.scalar.plain_implicit ||
            tag_is((const char *)event->data.scalar.tag, "merge"));
}

static bool read_entry(struct reader *r, size_t depth, struct entries *own, struct entries *merged)
{
    yaml_mark_t mark = r->event.start_mark;
    bool is_merge = is_merge_key(&r->event);
    struct ek_str key = {NULL, 0};

    if (r->event.type != YAML_SCALAR_EVENT && r->event.type != YAML_ALIAS_EVENT)
        return fail(r, EK_E_PARSE, mark, "a key must be text, a number or a boolean");
    yyjson_mut_val *name = read_value(r, depth + 1);
    if (!name || (!is_merge && !key_text(r, name, mark, &key)))
        return false;
    yyjson_mut_val *value = read_value(r, depth + 1);
    if (!value)
        return false;
    if (is_merge)
        return merge(r, value, mark, merged);
    struct entry *entry = add_entry(r, own);
    if (!entry)
        return false;
    entry->key = key;
    entry->value = value;
    entry->mark = mark;
    return true;
}

static int cmp_entries(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    int sign = len ? memcmp(x->key.p, y->key.p, len) : 0;

    if (sign == 0)
        sign = (x->key.len > y->key.len) - (x->key.len < y->key.len);
    return sign ? sign : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Drops merged members that another hides; a key that occurs twice otherwise is an error. */
static bool settle(struct reader *r, struct entries *entries)
{
    struct entry **sorted = ek_alloc((entries->n + 1) * sizeof(struct entry *));
    const struct entry *twice = NULL;
    char quoted[EK_QUOTE_SIZE];

    if (!sorted)
        return no_memory(r);
    for (size_t i = 0; i < entries->n; i++)
        sorted[i] = &entries->items[i];
    qsort(sorted, entries->n, sizeof(struct entry *), cmp_entries);
    for (size_t i = 1; i < entries->n; i++) {
        if (!ek_str_eq(sorted[i - 1]->key, sorted[i]->key))
            continue;
        if (sorted[i]->merged)
            sorted[i]->dropped = true;
        else if (!twice || sorted[i]->rank < twice->rank)
            twice = sorted[i];
    }
    if (twice)
        fail(r, EK_E_PARSE, twice->mark, "key %s occurs twice in this mapping",
             ek_quote_short(twice->key, quoted));
    ek_free(sorted);
    return !twice;
}

static yyjson_mut_val *build_mapping(struct reader *r, struct entries *own, struct entries *merged)
{
    yyjson_mut_val *object = yyjson_mut_obj(r->doc);

    for (size_t i = 0; i < merged->n; i++) {
        struct entry *entry = add_entry(r, own);
        if (!entry)
            return NULL;
        size_t rank = entry->rank;
        *entry = merged->items[i];
        entry->rank = rank;
    }
    if (!settle(r, own))
        return NULL;
    for (size_t i = 0; i < own->n; i++) {
        const struct entry *entry = &own->items[i];
        if (entry->dropped)
            continue;
        yyjson_mut_val *key = yyjson_mut_strn(r->doc, entry->key.p, entry->key.len);
        if (!yyjson_mut_obj_add(object, key, entry->value))
            return NULL;
    }
    return object;
}

static yyjson_mut_val *read_mapping(struct reader *r, size_t depth)
{
    EK_AUTOFREE char *anchor = ek_xstrdup((const char *)r->event.data.mapping_start.anchor);
    struct entries own = {0}, merged = {0};
    yyjson_mut_val *object = NULL;

    bool ok = advance(r);
    while (ok && r->event.type != YAML_MAPPING_END_EVENT)
        ok = read_entry(r, depth, &own, &merged);
    if (ok)
        object = build_mapping(r, &own, &merged);
    ek_free(own.items);
    ek_free(merged.items);
    if (!object || (anchor && !set_anchor(r, anchor, object)) || !advance(r))
        return NULL;
    return object;
}

/* Reads the value that starts with the event at hand; depth containers are around it. */
static yyjson_mut_val *read_value(struct reader *r, size_t depth)
{
    bool container =
        r->event.type == YAML_SEQUENCE_START_EVENT || r->event.type == YAML_MAPPING_START_EVENT;

    if (container && depth >= EK_JSON_DEPTH_MAX)
        return fail(r, EK_E_LIMIT, r->event.start_mark, "nests deeper than %d levels",
                    EK_JSON_DEPTH_MAX);
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return read_sequence(r, depth);
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return read_mapping(r, depth);
    if (r->event.type == YAML_ALIAS_EVENT)
        return read_alias(r, depth);
    return read_scalar(r);
}

/* Reads all documents; those that are null count only where all is NULL and nothing else came. */
static yyjson_mut_val *read_documents(struct reader *r, yyjson_mut_val *all)
{
    yyjson_mut_val *one = NULL;

    if (!advance(r) || !advance(r)) /* the stream's start, then what is in it */
        return NULL;
    while (r->event.type == YAML_DOCUMENT_START_EVENT) {
        yaml_mark_t mark = r->event.start_mark;
        forget_anchors(r);
        if (!advance(r))
            return NULL;
        yyjson_mut_val *value = read_value(r, all ? 1 : 0);
        if (!value || !advance(r)) /* the document's end */
            return NULL;
        if (yyjson_mut_is_null(value))
            continue;
        if (!all && one)
            return fail(r, EK_E_PARSE, mark, "a second document, where one was expected");
        one = value;
        if (all && !yyjson_mut_arr_append(all, value))
            return NULL;
    }
    if (all)
        return all;
    return one ? one : yyjson_mut_null(r->doc);
}

static int parse(const char *text, size_t len, size_t max, bool all, yyjson_doc **ret_doc,
                 struct ek_err *err)
{
    struct ek_err local = {0};
    struct reader r = {.err = &local, .budget = max, .doc = yyjson_mut_doc_new(&ek_json_alc)};
    yyjson_doc *doc = NULL;

    if (len > max) {
        ek_err_set(&local, EK_E_LIMIT, "%zu bytes of YAML where at most %zu are taken", len, max);
    } else if (yaml_parser_initialize(&r.parser)) {
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
        yyjson_mut_val *list = all ? yyjson_mut_arr(r.doc) : NULL;
        yyjson_mut_val *root = all && !list ? NULL : read_documents(&r, list);
        if (root)
            doc = yyjson_mut_val_imut_copy(root, &ek_json_alc);
        if (r.has_event)
            yaml_event_delete(&r.event);
        yaml_parser_delete(&r.parser);
    }
    forget_anchors(&r);
    ek_free(r.anchors);
    yyjson_mut_doc_free(r.doc);
    if (!doc) {
        if (!local.code)
            no_memory(&r);
        if (err)
            *err = local;
        return local.code;
    }
    *ret_doc = doc;
    return 0;
}

int ek_yaml_parse(const char *text, size_t len, size_t max, yyjson_doc **ret_doc,
                  struct ek_err *err)
{
    return parse(text, len, max, false, ret_doc, err);
}

int ek_yaml_parse_all(const char *text, size_t len, size_t max, yyjson_doc **ret_doc,
                      struct ek_err *err)
{
    return parse(text, len, max, true, ret_doc, err);
}
