/* SPDX-License-Identifier: Apache-2.0 */
#include "api/mem.h"
#include "api/obj.h"
#include "api/patch/jsondiff-internal.h"

/* Longer runs have no lengths of common subsequences that fit the table. */
#define RUN_MAX 60000u

static uint64_t mix(uint64_t h)
{
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t hash_text(const char *p, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return mix(h);
}

/* Equal numbers of different kinds have one hash; -0 is 0. */
static uint64_t hash_number(double v)
{
    uint64_t bits;

    v = v == 0 ? 0 : v;
    memcpy(&bits, &v, sizeof bits);
    return mix(bits);
}

/* A scalar of either side: what is read here lies the same in both. */
static uint64_t hash_scalar(void *value)
{
    yyjson_val *v = value;

    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_NUM:
        return hash_number(yyjson_get_num(v));
    case YYJSON_TYPE_STR:
        return hash_text(v->uni.str, unsafe_yyjson_get_len(v));
    default:
        return mix(unsafe_yyjson_get_tag(v));
    }
}

/* Members are summed up, so that their order does not count; items are chained. */
uint64_t ek_diff_hash_old(yyjson_val *value, size_t depth)
{
    uint64_t h = unsafe_yyjson_get_type(value);

    if (!unsafe_yyjson_is_ctn(value) || depth >= EK_JSON_DEPTH_MAX)
        return hash_scalar(value);
    bool members = yyjson_is_obj(value);
    size_t n = unsafe_yyjson_get_len(value);
    yyjson_val *at = unsafe_yyjson_get_first(value);
    for (size_t i = 0; i < n; i++) {
        yyjson_val *val = members ? at + 1 : at;
        uint64_t own = ek_diff_hash_old(val, depth + 1);
        h = members ? h + mix(hash_scalar(at) ^ 3 * own) : mix(h ^ own);
        at = unsafe_yyjson_get_next(val);
    }
    return h;
}

uint64_t ek_diff_hash_new(yyjson_mut_val *value, size_t depth)
{
    size_t i, max;
    yyjson_mut_val *key, *val;
    uint64_t h = unsafe_yyjson_get_type(value);

    if (!unsafe_yyjson_is_ctn(value) || depth >= EK_JSON_DEPTH_MAX)
        return hash_scalar(value);
    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        h = mix(h ^ ek_diff_hash_new(val, depth + 1));
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        h += mix(hash_scalar(key) ^ 3 * ek_diff_hash_new(val, depth + 1));
    }
    return h;
}

/* Members by whose text people tell objects of a list apart; the first one that is there counts. */
static const char *const labels[] = {"name", "key", "type"};

/* A number for such a text, 0 when an object has none. */
static uint64_t label_old(yyjson_val *object)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(labels); i++) {
        yyjson_val *label = yyjson_obj_get(object, labels[i]);
        if (yyjson_is_str(label))
            return mix(hash_scalar(label) + i) | 1;
    }
    return 0;
}

static uint64_t label_new(yyjson_mut_val *object)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(labels); i++) {
        yyjson_mut_val *label = yyjson_mut_obj_get(object, labels[i]);
        if (yyjson_mut_is_str(label))
            return mix(hash_scalar(label) + i) | 1;
    }
    return 0;
}

/* What is being aligned: a number for each item, the same for those that may go together. */
struct table {
    const struct ek_diff_run *run;
    enum ek_diff_match match;
    uint64_t *old, *new;
    uint16_t *lengths; /* (n_old + 1) rows of n_new + 1 */
    void *block;       /* owned: all three */
};

static int table_init(struct table *t)
{
    size_t n = t->run->n_old, k = t->run->n_new, cells = (n + 1) * (k + 1);
    size_t depth = 1; /* at least: inside of the array */

    t->block = ek_alloc((n + k) * sizeof(uint64_t) + cells * sizeof(uint16_t));
    if (!t->block)
        return EK_E_NOMEM;
    t->old = t->block;
    t->new = t->old + n;
    t->lengths = (void *)(t->new + k);
    for (size_t i = 0; i < n; i++)
        t->old[i] = t->match == EK_DIFF_EQUAL ? ek_diff_hash_old(t->run->old[i].value, depth)
                                              : label_old(t->run->old[i].value);
    for (size_t i = 0; i < k; i++)
        t->new[i] = t->match == EK_DIFF_EQUAL ? ek_diff_hash_new(t->run->new[i].value, depth)
                                              : label_new(t->run->new[i].value);
    return 0;
}

static bool go_together(const struct table *t, size_t i, size_t j)
{
    int rc = 0;

    if (t->old[i] != t->new[j])
        return false;
    if (t->match == EK_DIFF_AKIN)
        return t->old[i] != 0;
    return ek_diff_equal(t->run->old[i].value, t->run->new[j].value, 1, &rc);
}

/* Fills lengths from the end: entry (i, j) is for the items from i and from j on. */
static void measure(struct table *t)
{
    size_t width = t->run->n_new + 1;

    for (size_t i = t->run->n_old; i-- > 0;) {
        uint16_t *row = t->lengths + i * width, *below = row + width;
        for (size_t j = t->run->n_new; j-- > 0;) {
            if (t->old[i] == t->new[j] && go_together(t, i, j))
                row[j] = (uint16_t)(below[j + 1] + 1);
            else
                row[j] = below[j] > row[j + 1] ? below[j] : row[j + 1];
        }
    }
}

/* Reads the pairs off the table, walking from the start. */
static void trace(const struct table *t, size_t *ret_match)
{
    size_t width = t->run->n_new + 1, j = 0;

    for (size_t i = 0; i < t->run->n_old && j < t->run->n_new;) {
        const uint16_t *row = t->lengths + i * width, *below = row + width;
        if (row[j] == below[j])
            i++;
        else if (row[j] == row[j + 1])
            j++;
        else
            ret_match[i++] = j++;
    }
}

int ek_diff_align(const struct ek_diff_run *run, enum ek_diff_match match, size_t *cells,
                  size_t *ret_match)
{
    struct table t = {.run = run, .match = match};
    size_t n = run->n_old, k = run->n_new;

    for (size_t i = 0; i < n; i++)
        ret_match[i] = SIZE_MAX;
    if (n == 0 || k == 0 || n > RUN_MAX || k > RUN_MAX || n * k > *cells)
        return 0;
    *cells -= n * k;
    int rc = table_init(&t);
    if (!rc) {
        measure(&t);
        trace(&t, ret_match);
    }
    ek_free(t.block);
    return rc;
}
