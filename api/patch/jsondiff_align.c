/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/hash.h"
#include "api/base/mem.h"
#include "api/base/table.h"
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

/* A scalar of either side: what is read here lies the same in both. Equal numbers of different
 * kinds have one hash; -0 is 0. */
static uint64_t hash_scalar(void *value, struct ek_work *work)
{
    yyjson_val *v = value;
    double number;

    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_NUM:
        number = yyjson_get_num(v);
        number = number == 0 ? 0 : number;
        ek_work_do(work, 1);
        return ek_hash(&number, sizeof number);
    case YYJSON_TYPE_STR:
    case YYJSON_TYPE_RAW:
        ek_work_octets(work, unsafe_yyjson_get_len(v));
        return ek_hash(v->uni.str, unsafe_yyjson_get_len(v));
    default:
        ek_work_do(work, 1);
        return mix(unsafe_yyjson_get_tag(v));
    }
}

/* Members are summed up, so that their order does not count; items are chained. */
static uint64_t hash_old(yyjson_val *value, size_t depth, struct ek_work *work)
{
    uint64_t h = unsafe_yyjson_get_type(value);

    if (!unsafe_yyjson_is_ctn(value) || depth >= EK_JSON_DEPTH_MAX)
        return hash_scalar(value, work);
    bool members = yyjson_is_obj(value);
    size_t n = unsafe_yyjson_get_len(value);
    yyjson_val *at = unsafe_yyjson_get_first(value);
    for (size_t i = 0; i < n && ek_work_do(work, 1); i++) {
        yyjson_val *val = members ? at + 1 : at;
        uint64_t own = hash_old(val, depth + 1, work);
        h = members ? h + mix(hash_scalar(at, work) ^ 3 * own) : mix(h ^ own);
        at = unsafe_yyjson_get_next(val);
    }
    return h;
}

static uint64_t hash_new(yyjson_mut_val *value, size_t depth, struct ek_work *work)
{
    size_t i, max;
    yyjson_mut_val *key, *val;
    uint64_t h = unsafe_yyjson_get_type(value);

    if (!unsafe_yyjson_is_ctn(value) || depth >= EK_JSON_DEPTH_MAX)
        return hash_scalar(value, work);
    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        if (!ek_work_do(work, 1))
            break;
        h = mix(h ^ hash_new(val, depth + 1, work));
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        if (!ek_work_do(work, 1))
            break;
        h += mix(hash_scalar(key, work) ^ 3 * hash_new(val, depth + 1, work));
    }
    return h;
}

uint64_t ek_jsondiff_hash(yyjson_val *value, struct ek_work *work)
{
    return hash_old(value, 0, work);
}

uint64_t ek_jsondiff_hash_mut(yyjson_mut_val *value, struct ek_work *work)
{
    return hash_new(value, 0, work);
}

/* Members whose text identifies objects of a list to people; the first one that is there counts. */
static const char *const labels[] = {"name", "key", "type"};

/* A number for such a text, 0 when an object has none. */
static uint64_t label_old(yyjson_val *object)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(labels); i++) {
        yyjson_val *label = yyjson_obj_get(object, labels[i]);
        if (yyjson_is_str(label))
            return mix(hash_scalar(label, NULL) + i) | 1;
    }
    return 0;
}

static uint64_t label_new(yyjson_mut_val *object)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(labels); i++) {
        yyjson_mut_val *label = yyjson_mut_obj_get(object, labels[i]);
        if (yyjson_mut_is_str(label))
            return mix(hash_scalar(label, NULL) + i) | 1;
    }
    return 0;
}

/* What is being aligned: a number for each item, the same for those that may go together, 0 for
 * those that go with none. */
struct align {
    const struct ek_diff_run *run;
    struct ek_diff_state *state;
    uint64_t *old, *new;
    uint16_t *lengths; /* (n_old + 1) rows of n_new + 1 */
    void *block;       /* owned: all three */
};

/* The first old item that is the same as another, or as one of the new; its number and one. */
static uint64_t number_of(const struct align *t, const struct ek_table *table, uint64_t hash,
                          yyjson_val *old, yyjson_mut_val *new)
{
    struct ek_table_cursor at = ek_table_at(hash);
    size_t i;

    while (!t->state->rc && ek_table_next(table, &at, &i)) {
        yyjson_val *other = t->run->old[i].value;
        if (old ? ek_json_equal_within(other, old, t->state->work)
                : ek_diff_equal(other, new, 1, t->state))
            return i + 1;
    }
    return 0;
}

/* Numbers items by what they are. Each is compared once, so that many equal ones cost no more. */
static int number_equal(struct align *t)
{
    struct ek_work *work = t->state->work;
    struct ek_table table;
    int rc = ek_table_init(&table, t->run->n_old);

    for (size_t i = 0; !rc && i < t->run->n_old; i++) {
        uint64_t hash = hash_old(t->run->old[i].value, 1, work);
        t->old[i] = number_of(t, &table, hash, t->run->old[i].value, NULL);
        if (t->old[i] == 0) {
            t->old[i] = i + 1;
            rc = ek_table_add(&table, hash, i);
        }
    }
    for (size_t i = 0; !rc && i < t->run->n_new; i++) {
        uint64_t hash = hash_new(t->run->new[i].value, 1, work);
        t->new[i] = number_of(t, &table, hash, NULL, t->run->new[i].value);
    }
    ek_table_done(&table);
    return rc ? rc : t->state->rc;
}

static int number_items(struct align *t, enum ek_diff_match match)
{
    size_t n = t->run->n_old, k = t->run->n_new, cells = (n + 1) * (k + 1);

    t->block = ek_alloc((n + k) * sizeof(uint64_t) + cells * sizeof(uint16_t));
    if (!t->block)
        return EK_E_NOMEM;
    t->old = t->block;
    t->new = t->old + n;
    t->lengths = (void *)(t->new + k);
    if (match == EK_DIFF_EQUAL)
        return number_equal(t);
    for (size_t i = 0; i < n; i++)
        t->old[i] = label_old(t->run->old[i].value);
    for (size_t i = 0; i < k; i++)
        t->new[i] = label_new(t->run->new[i].value);
    return 0;
}

/* Fills lengths from the end: entry (i, j) is for the items from i and from j on. */
static int measure(struct align *t)
{
    size_t width = t->run->n_new + 1;

    for (size_t i = t->run->n_old; i-- > 0;) {
        uint16_t *row = t->lengths + i * width, *below = row + width;
        if (!ek_work_do(t->state->work, 1 + t->run->n_new / 16))
            return EK_E_CANCELED;
        for (size_t j = t->run->n_new; j-- > 0;) {
            if (t->old[i] == t->new[j] && t->old[i] != 0)
                row[j] = (uint16_t)(below[j + 1] + 1);
            else
                row[j] = below[j] > row[j + 1] ? below[j] : row[j + 1];
        }
    }
    return 0;
}

/* Reads the pairs off the table, walking from the start. */
static void trace(const struct align *t, size_t *ret_match)
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
                  struct ek_diff_state *state, size_t *ret_match)
{
    struct align t = {.run = run, .state = state};
    size_t n = run->n_old, k = run->n_new;

    for (size_t i = 0; i < n; i++)
        ret_match[i] = SIZE_MAX;
    if (n == 0 || k == 0 || n > RUN_MAX || k > RUN_MAX || n * k > *cells)
        return 0;
    *cells -= n * k;
    int rc = number_items(&t, match);
    rc = rc ? rc : measure(&t);
    if (!rc)
        trace(&t, ret_match);
    ek_free(t.block);
    state->rc = state->rc ? state->rc : rc;
    return rc;
}
