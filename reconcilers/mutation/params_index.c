/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/params_index.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/hash.h"
#include "api/base/mem.h"
#include "api/selector.h"

/* What a posting is of. */
enum facet { NAME, NAMESPACE, LABEL };

/* Postings of one hash. */
struct range {
    size_t from, n;
};

static uint64_t hash_of(enum facet facet, const char *key, const char *value)
{
    const uint64_t parts[] = {facet, ek_hash(key, strlen(key)), ek_hash(value, strlen(value))};

    return ek_hash(parts, sizeof parts);
}

static int by_hash(const void *a, const void *b)
{
    const struct ek_params_posting *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->object > y->object) - (x->object < y->object);
}

static yyjson_val *labels_of(const struct ek_obj *obj)
{
    return ek_json_get(ek_obj_root(obj), "metadata", "labels", NULL);
}

static size_t count_postings(struct ek_obj *const *objects, size_t n)
{
    size_t postings = 2 * n;

    for (size_t i = 0; i < n; i++)
        postings += yyjson_obj_size(labels_of(objects[i]));
    return postings;
}

static void post(struct ek_params_index *index, size_t object, uint64_t hash)
{
    index->postings[index->n_postings++] = (struct ek_params_posting){hash, object};
}

void ek_params_index_init(struct ek_params_index *index, struct ek_obj *const *objects, size_t n)
{
    yyjson_val *key, *value;
    size_t k, max;

    *index = (struct ek_params_index){.objects = objects, .n_objects = n};
    index->postings =
        ek_xalloc((count_postings(objects, n) + 1) * sizeof(struct ek_params_posting));
    for (size_t i = 0; i < n; i++) {
        post(index, i, hash_of(NAME, "", ek_obj_name(objects[i])));
        post(index, i, hash_of(NAMESPACE, "", ek_obj_namespace(objects[i])));
        ek_json_each_member(labels_of(objects[i]), k, max, key, value)
        {
            if (yyjson_is_str(value))
                post(index, i, hash_of(LABEL, yyjson_get_str(key), yyjson_get_str(value)));
        }
    }
    if (index->n_postings)
        qsort(index->postings, index->n_postings, sizeof *index->postings, by_hash);
}

void ek_params_index_done(struct ek_params_index *index)
{
    ek_free(index->postings);
    *index = (struct ek_params_index){0};
}

/* The first posting whose hash is at least hash. */
static size_t lower_bound(const struct ek_params_index *index, uint64_t hash)
{
    size_t low = 0, high = index->n_postings;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (index->postings[mid].hash < hash)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct range find(const struct ek_params_index *index, uint64_t hash)
{
    size_t from = lower_bound(index, hash);
    size_t to = hash == UINT64_MAX ? index->n_postings : lower_bound(index, hash + 1);

    return (struct range){from, to - from};
}

static bool is_wanted(struct ek_params_index *index, size_t i,
                      const struct ek_params_wanted *wanted)
{
    const struct ek_obj *obj = index->objects[i];

    index->looked++;
    if (*wanted->namespace && strcmp(ek_obj_namespace(obj), wanted->namespace) != 0)
        return false;
    if (*wanted->name)
        return !strcmp(ek_obj_name(obj), wanted->name);
    return wanted->selector && ek_selector_matches(wanted->selector, labels_of(obj));
}

static bool any_of_range(struct ek_params_index *index, struct range range,
                         const struct ek_params_wanted *wanted)
{
    for (size_t i = 0; i < range.n; i++)
        if (is_wanted(index, index->postings[range.from + i].object, wanted))
            return true;
    return false;
}

static bool any_of_all(struct ek_params_index *index, const struct ek_params_wanted *wanted)
{
    for (size_t i = 0; i < index->n_objects; i++)
        if (is_wanted(index, i, wanted))
            return true;
    return false;
}

static bool any_of_label(struct ek_params_index *index, const struct ek_selector_values *values,
                         const struct ek_params_wanted *wanted)
{
    for (size_t i = 0; i < values->n; i++)
        if (any_of_range(index, find(index, hash_of(LABEL, values->key, values->values[i])),
                         wanted))
            return true;
    return false;
}

/* How many objects have the label with one of the values. */
static size_t count(const struct ek_params_index *index, const struct ek_selector_values *values)
{
    size_t n = 0;

    for (size_t i = 0; i < values->n; i++)
        n += find(index, hash_of(LABEL, values->key, values->values[i])).n;
    return n;
}

static bool any_selected(struct ek_params_index *index, const struct ek_params_wanted *wanted)
{
    struct range of_namespace = {0};
    struct ek_selector_values values, rarest = {0};
    size_t least = index->n_objects;

    if (*wanted->namespace) {
        of_namespace = find(index, hash_of(NAMESPACE, "", wanted->namespace));
        least = of_namespace.n;
    }
    for (size_t i = 0; ek_selector_values(wanted->selector, i, &values); i++) {
        size_t n = values.n ? count(index, &values) : SIZE_MAX;
        if (n > least)
            continue;
        least = n;
        rarest = values;
    }
    if (rarest.n)
        return any_of_label(index, &rarest, wanted);
    return *wanted->namespace ? any_of_range(index, of_namespace, wanted)
                              : any_of_all(index, wanted);
}

bool ek_params_index_holds(struct ek_params_index *index, const struct ek_params_wanted *wanted)
{
    if (*wanted->name)
        return any_of_range(index, find(index, hash_of(NAME, "", wanted->name)), wanted);
    return wanted->selector && any_selected(index, wanted);
}
