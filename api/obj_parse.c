/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door where bytes become values: what yyjson reads is held to the depth and the names that
 * the API server's own decoder allows, before anything else sees a document.
 *
 * Both checks walk the values as they lie in a row, without recursion. Objects of few members, and
 * those whose names ascend (as Go writes every map), are checked without memory; the others are
 * sorted, so that no choice of names costs more than O(n log n) comparisons.
 */
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"

/* Members up to which every name is compared with every other, by a fingerprint first. */
#define FEW 32

/* Levels that fit every caller of ek_json_parse_envelope. */
#define LEVELS_MAX (EK_JSON_DEPTH_MAX + EK_JSON_ENVELOPE_MAX)

/* ---- Depth ---- */

/* True for text that nests too deep, whether or not it is JSON. */
static bool text_too_deep(const char *json, size_t len, size_t max)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        char c = json[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > max)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

/* ---- Names that stand twice ---- */

/* A key that is to go with its value; yyjson gives this tag to no value that it has read. */
static void drop(yyjson_val *key)
{
    key->tag = YYJSON_TYPE_NONE;
}

static bool is_dropped(const yyjson_val *key)
{
    return key->tag == YYJSON_TYPE_NONE;
}

static bool same_name(const yyjson_val *a, const yyjson_val *b)
{
    return a->tag >> YYJSON_TAG_BIT == b->tag >> YYJSON_TAG_BIT &&
           !memcmp(a->uni.str, b->uni.str, (size_t)(a->tag >> YYJSON_TAG_BIT));
}

/* Differs for most names that differ. */
static uint32_t fingerprint(const yyjson_val *key)
{
    size_t len = (size_t)(key->tag >> YYJSON_TAG_BIT);
    const unsigned char *s = (const unsigned char *)key->uni.str;

    if (len == 0)
        return 0;
    return (uint32_t)len << 24 ^ (uint32_t)s[0] << 16 ^ (uint32_t)s[len / 2] << 8 ^ s[len - 1];
}

/* Drops all but the last member of a name. Returns whether there was one to drop. */
static bool drop_few(yyjson_val *object)
{
    uint32_t prints[FEW];
    yyjson_val *keys[FEW], *key = object + 1;
    size_t n = unsafe_yyjson_get_len(object);
    bool any = false;

    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1)) {
        keys[i] = key;
        prints[i] = fingerprint(key);
        for (size_t j = 0; j < i; j++) {
            if (prints[j] == prints[i] && !is_dropped(keys[j]) && same_name(keys[j], key)) {
                drop(keys[j]);
                any = true;
            }
        }
    }
    return any;
}

static int by_bytes(const yyjson_val *a, const yyjson_val *b)
{
    size_t a_len = (size_t)(a->tag >> YYJSON_TAG_BIT), b_len = (size_t)(b->tag >> YYJSON_TAG_BIT);
    int order = memcmp(a->uni.str, b->uni.str, a_len < b_len ? a_len : b_len);

    return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* A key to be sorted. The hash saves most comparisons of texts; colliding hashes cost a comparison
 * of texts, and no more. */
struct named {
    uint64_t hash;
    yyjson_val *key;
};

static uint64_t hash_of(const yyjson_val *key)
{
    size_t len = (size_t)(key->tag >> YYJSON_TAG_BIT);
    uint64_t h = len, word;
    const char *s = key->uni.str;

    for (; len >= sizeof word; s += sizeof word, len -= sizeof word) {
        memcpy(&word, s, sizeof word);
        h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    for (; len > 0; s++, len--)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001B3);
    return h;
}

/* By hash, length, bytes, place. */
static int by_name(const void *left, const void *right)
{
    const struct named *x = left, *y = right;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    uint64_t x_len = x->key->tag >> YYJSON_TAG_BIT, y_len = y->key->tag >> YYJSON_TAG_BIT;
    if (x_len != y_len)
        return x_len < y_len ? -1 : 1;
    int order = memcmp(x->key->uni.str, y->key->uni.str, (size_t)x_len);
    return order ? order : (x->key > y->key) - (x->key < y->key);
}

static bool ascends(yyjson_val *object)
{
    yyjson_val *key = object + 1;

    for (size_t i = 1, n = unsafe_yyjson_get_len(object); i < n; i++) {
        yyjson_val *next = unsafe_yyjson_get_next(key + 1);
        if (by_bytes(key, next) >= 0)
            return false;
        key = next;
    }
    return true;
}

/* As drop_few, for any number of members. EK_E_NOMEM is the only error. */
static int drop_many(yyjson_val *object, bool *any)
{
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val *key = object + 1;

    if (ascends(object))
        return 0;
    struct named *keys = ek_realloc(NULL, n * sizeof *keys);
    if (!keys)
        return EK_E_NOMEM;
    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1))
        keys[i] = (struct named){hash_of(key), key};
    qsort(keys, n, sizeof *keys, by_name);
    for (size_t i = 1; i < n; i++) {
        if (keys[i - 1].hash != keys[i].hash || !same_name(keys[i - 1].key, keys[i].key))
            continue;
        drop(keys[i - 1].key);
        *any = true;
    }
    ek_free(keys);
    return 0;
}

static int drop_twins(yyjson_val *object, bool *any)
{
    size_t n = unsafe_yyjson_get_len(object);

    if (n > FEW)
        return drop_many(object, any);
    if (n > 1 && drop_few(object))
        *any = true;
    return 0;
}

/* ---- The paths of what was dropped ---- */

#define PATH_MAX_OCTETS ((size_t)64 << 10)

/* Who wants to know. */
struct asking {
    ek_json_twin_fn twin; /* NULL: nobody */
    void *ctx;
};

/* A container on the way to a value. */
struct step {
    yyjson_val *end;
    const char *name; /* of the member at hand */
    size_t n;         /* items so far */
    bool is_object, at_key;
};

/* Reports the member at hand of the last step; NULL for a path that is too long. */
static bool report(const struct asking *asking, const struct step *steps, size_t depth)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, PATH_MAX_OCTETS);
    for (size_t i = 0; i < depth && !path.failed; i++) {
        if (steps[i].is_object)
            ek_buf_printf(&path, "%s%s", path.len ? "." : "", steps[i].name);
        else
            ek_buf_printf(&path, "[%zu]", steps[i].n - 1);
    }
    return asking->twin(asking->ctx, path.failed ? NULL : ek_buf_str(&path));
}

static void report_twins(const struct asking *asking, yyjson_val *root, struct step *steps)
{
    yyjson_val *end = unsafe_yyjson_get_next(root);
    size_t depth = 0;

    for (yyjson_val *val = root; val < end; val++) {
        while (depth > 0 && steps[depth - 1].end <= val)
            depth--;
        struct step *top = depth > 0 ? &steps[depth - 1] : NULL;
        if (top && top->is_object && top->at_key) {
            top->at_key = false;
            top->name = val->uni.str;
            if (is_dropped(val) && !report(asking, steps, depth))
                return;
            continue;
        }
        if (top) {
            top->at_key = true;
            top->n++;
        }
        if (unsafe_yyjson_is_ctn(val))
            steps[depth++] = (struct step){.end = unsafe_yyjson_get_next(val),
                                           .is_object = unsafe_yyjson_is_obj(val),
                                           .at_key = true};
    }
}

/* ---- A document without what was dropped ---- */

/* A container that is being moved to its new place. */
struct moved {
    yyjson_val *end; /* of its old place */
    yyjson_val *to;  /* its new place */
    size_t n;        /* items or members so far */
    bool is_object, at_key;
};

static void finish(const struct moved *top, yyjson_val *end)
{
    top->to->tag = (uint64_t)top->n << YYJSON_TAG_BIT | (top->to->tag & YYJSON_TAG_MASK);
    top->to->uni.ofs = (size_t)(end - top->to) * sizeof(yyjson_val);
}

/* Notes that a value comes next in top; false for a key that was dropped. */
static bool enter(struct moved *top, const yyjson_val *val)
{
    bool is_key = top->is_object && top->at_key;

    if (is_key && is_dropped(val))
        return false;
    top->n += is_key || !top->is_object;
    top->at_key = !is_key;
    return true;
}

/* Moves the values that stay together, from the front to the back of the row. */
static void compact(yyjson_doc *doc, struct moved *open)
{
    yyjson_val *from = doc->root, *to = from, *end = unsafe_yyjson_get_next(from);
    size_t depth = 0;

    while (from < end) {
        while (depth > 0 && open[depth - 1].end <= from)
            finish(&open[--depth], to);
        if (depth > 0 && !enter(&open[depth - 1], from)) {
            from = unsafe_yyjson_get_next(from + 1);
            continue;
        }
        if (unsafe_yyjson_is_ctn(from))
            open[depth++] = (struct moved){.end = unsafe_yyjson_get_next(from),
                                           .to = to,
                                           .is_object = unsafe_yyjson_is_obj(from),
                                           .at_key = true};
        *to++ = *from++;
    }
    while (depth > 0)
        finish(&open[--depth], to);
    doc->val_read = (size_t)(to - doc->root);
}

/* ---- The door ---- */

static const struct asking nobody;

/* Takes out what was dropped, from containers of so many levels. Returns 0 or EK_E_NOMEM. */
static int take_out(yyjson_doc *doc, const struct asking *asking, size_t levels)
{
    struct moved *open = ek_realloc(NULL, levels * sizeof *open);
    struct step *steps = asking->twin ? ek_realloc(NULL, levels * sizeof *steps) : NULL;
    bool can = open && (steps || !asking->twin);

    if (can && steps)
        report_twins(asking, doc->root, steps);
    if (can)
        compact(doc, open);
    ek_free(steps);
    ek_free(open);
    return can ? 0 : EK_E_NOMEM;
}

/* Holds a document to max levels, and its objects to one member of a name. Returns 0, EK_E_LIMIT
 * or EK_E_NOMEM. */
static int admit(yyjson_doc *doc, size_t max, const struct asking *asking)
{
    yyjson_val *val = doc->root, *end = unsafe_yyjson_get_next(val);
    yyjson_val *ends[LEVELS_MAX]; /* of the open containers */
    size_t depth = 0, deepest = 0;
    bool any = false;

    for (; val < end; val++) {
        if (!unsafe_yyjson_is_ctn(val))
            continue;
        while (depth > 0 && ends[depth - 1] <= val)
            depth--;
        if (depth == max)
            return EK_E_LIMIT;
        ends[depth++] = unsafe_yyjson_get_next(val);
        deepest = depth > deepest ? depth : deepest;
        if (unsafe_yyjson_is_obj(val) && drop_twins(val, &any))
            return EK_E_NOMEM;
    }
    return any ? take_out(doc, asking, deepest) : 0;
}

static int no_memory(size_t len, struct ek_err *err)
{
    return ek_err_set(err, EK_E_NOMEM, "no memory for %zu bytes of JSON", len);
}

static int malformed(const char *json, size_t len, const yyjson_read_err *why, struct ek_err *err)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < why->pos && i < len; i++) {
        column++;
        if (json[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return ek_err_set(err, EK_E_PARSE, "malformed JSON at line %zu column %zu: %s", line, column,
                      why->msg);
}

static yyjson_doc *parse(const yyjson_alc *alc, const char *json, size_t len, unsigned levels,
                         const struct asking *asking, struct ek_err *err)
{
    size_t max =
        EK_JSON_DEPTH_MAX + (levels < EK_JSON_ENVELOPE_MAX ? levels : EK_JSON_ENVELOPE_MAX);
    yyjson_read_err why = {0};

    /* Without an in-situ flag yyjson only reads the bytes; and it reads without recursion, so that
     * depth may be judged afterwards, which is cheaper by far. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, len, YYJSON_READ_NOFLAG, alc, &why);
    int rc = doc                             ? admit(doc, max, asking)
             : text_too_deep(json, len, max) ? EK_E_LIMIT
                                             : EK_E_PARSE;
    if (!rc)
        return doc;
    yyjson_doc_free(doc);
    if (rc == EK_E_LIMIT)
        ek_err_set(err, rc, "JSON nests deeper than %zu levels", max);
    else if (rc == EK_E_NOMEM || why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        no_memory(len, err);
    else
        malformed(json, len, &why, err);
    return NULL;
}

yyjson_doc *ek_json_parse_envelope(const char *json, size_t len, unsigned levels,
                                   struct ek_err *err)
{
    return parse(&ek_json_alc, json, len, levels, &nobody, err);
}

yyjson_doc *ek_json_parse(const char *json, size_t len, struct ek_err *err)
{
    return ek_json_parse_envelope(json, len, 0, err);
}

yyjson_doc *ek_json_parse_twins(const char *json, size_t len, ek_json_twin_fn twin, void *ctx,
                                struct ek_err *err)
{
    return parse(&ek_json_alc, json, len, 0, &(struct asking){twin, ctx}, err);
}

/* ---- Documents in a scratch ---- */

static void *scratch_malloc(void *ctx, size_t size)
{
    struct ek_json_scratch *scratch = ctx;

    for (size_t i = 0; i < EK_ARRAY_SIZE(scratch->parts); i++) {
        if (scratch->parts[i].lent)
            continue;
        if (scratch->parts[i].size < size) {
            ek_free(scratch->parts[i].block);
            scratch->parts[i].block = ek_realloc(NULL, size);
            scratch->parts[i].size = scratch->parts[i].block ? size : 0;
        }
        scratch->parts[i].lent = scratch->parts[i].block != NULL;
        return scratch->parts[i].block;
    }
    return ek_realloc(NULL, size);
}

static void *scratch_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    struct ek_json_scratch *scratch = ctx;

    (void)old_size;
    for (size_t i = 0; i < EK_ARRAY_SIZE(scratch->parts); i++) {
        if (scratch->parts[i].block != ptr)
            continue;
        if (scratch->parts[i].size >= size)
            return ptr;
        void *block = ek_realloc(ptr, size);
        if (block) {
            scratch->parts[i].block = block;
            scratch->parts[i].size = size;
        }
        return block;
    }
    return ek_realloc(ptr, size);
}

static void scratch_free(void *ctx, void *ptr)
{
    struct ek_json_scratch *scratch = ctx;

    for (size_t i = 0; ptr && i < EK_ARRAY_SIZE(scratch->parts); i++) {
        if (scratch->parts[i].block != ptr)
            continue;
        scratch->parts[i].lent = false;
        if (scratch->parts[i].size <= EK_JSON_SCRATCH_MAX)
            return;
        scratch->parts[i].block = NULL;
        scratch->parts[i].size = 0;
        break;
    }
    ek_free(ptr);
}

yyjson_doc *ek_json_parse_scratch(struct ek_json_scratch *scratch, const char *json, size_t len,
                                  struct ek_err *err)
{
    const yyjson_alc alc = {scratch_malloc, scratch_realloc, scratch_free, scratch};

    return parse(&alc, json, len, 0, &nobody, err);
}

void ek_json_scratch_done(struct ek_json_scratch *scratch)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(scratch->parts); i++)
        ek_free(scratch->parts[i].block);
    *scratch = (struct ek_json_scratch){0};
}
