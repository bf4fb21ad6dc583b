/* SPDX-License-Identifier: Apache-2.0 */
#include "api/patch/jsondiff.h"

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/jsondiff-internal.h"
#include "api/patch/pointer.h"

/* The work that one difference may spend on aligning arrays: pairs of items looked at. */
#define CELLS_MAX ((size_t)4 * 1024 * 1024)

/* What an operation takes beside its path and its value, in octets. */
#define OP_SIZE 32u

/* Paths of all operations together. Where they do not suffice, an operation is taken to be so long
 * that a container around it is replaced. */
#define PATHS_MAX ((size_t)16 * 1024 * 1024)
#define TOO_LONG  ((size_t)1 << 40)

enum op { OP_ADD, OP_REMOVE, OP_REPLACE };

struct operation {
    enum op op;
    size_t path, path_len;
    yyjson_mut_val *value; /* of the new side */
};

struct diff {
    struct operation *ops; /* owned */
    size_t n_ops, cap;
    struct ek_buf paths; /* of the operations, one behind the other */
    struct ek_buf path;  /* of what is being compared */
    size_t size;         /* of the patch so far, in octets, roughly */
    size_t cells;
    struct ek_diff_state state;
};

static void compare(struct diff *d, yyjson_val *old, yyjson_mut_val *new, size_t depth);

/* Roughly how many octets of JSON a value takes; something above enough when it takes more. */
static size_t weigh(yyjson_mut_val *value, size_t enough, size_t depth)
{
    size_t i, max, size = 2;
    yyjson_mut_val *key, *val;

    if (yyjson_mut_is_str(value))
        return size + unsafe_yyjson_get_len(value);
    if (!unsafe_yyjson_is_ctn(value) || depth > EK_JSON_DEPTH_MAX)
        return 4;
    yyjson_mut_arr_foreach(yyjson_mut_is_arr(value) ? value : NULL, i, max, val)
    {
        if (size > enough)
            return size;
        size += 1 + weigh(val, enough - size, depth + 1);
    }
    yyjson_mut_obj_foreach(yyjson_mut_is_obj(value) ? value : NULL, i, max, key, val)
    {
        if (size > enough)
            return size;
        size += 4 + unsafe_yyjson_get_len(key) + weigh(val, enough - size, depth + 1);
    }
    return size;
}

/* The same, as a part of the work: some sixteen octets are a step. */
static size_t weigh_within(struct diff *d, yyjson_mut_val *value, size_t enough, size_t depth)
{
    size_t size = weigh(value, enough, depth);

    if (!ek_work_do(d->state.work, 1 + size / 16) && !d->state.rc)
        d->state.rc = EK_E_CANCELED;
    return size;
}

/* Makes room for one more operation and its path. */
static bool reserve(struct diff *d)
{
    if (d->paths.len + d->path.len > PATHS_MAX) {
        d->size += TOO_LONG;
        return false;
    }
    if (d->n_ops < d->cap)
        return true;
    size_t cap = d->cap ? d->cap * 2 : 16;
    struct operation *ops = ek_realloc(d->ops, cap * sizeof *ops);
    if (!ops) {
        d->state.rc = EK_E_NOMEM;
        return false;
    }
    d->ops = ops;
    d->cap = cap;
    return true;
}

/* Notes an operation at the current path. */
static void emit(struct diff *d, enum op op, yyjson_mut_val *value, size_t depth)
{
    size_t start = d->paths.len;

    if (!reserve(d))
        return;
    if (ek_buf_append(&d->paths, ek_buf_str(&d->path), d->path.len))
        d->state.rc = EK_E_NOMEM;
    d->ops[d->n_ops++] = (struct operation){op, start, d->path.len, value};
    d->size += OP_SIZE + d->path.len + (value ? weigh_within(d, value, SIZE_MAX, depth) : 0);
}

static void cut_path(struct diff *d, size_t len)
{
    d->path.len = len;
    if (d->path.data)
        d->path.data[len] = '\0';
}

/* Goes one step down, to come back by cut_path with what is returned. */
static size_t go_down(struct diff *d, struct ek_str key)
{
    size_t len = d->path.len;
    int rc = ek_pointer_push(&d->path, key);

    d->state.rc = d->state.rc ? d->state.rc : rc;
    return len;
}

static size_t go_to_item(struct diff *d, size_t index)
{
    size_t len = d->path.len;
    int rc = ek_pointer_push_index(&d->path, index);

    d->state.rc = d->state.rc ? d->state.rc : rc;
    return len;
}

/* How far the patch was when a comparison began. */
struct mark {
    size_t n_ops, paths_len, size;
};

static struct mark mark(const struct diff *d)
{
    return (struct mark){d->n_ops, d->paths.len, d->size};
}

/* Forgets what was noted since, and replaces the value as a whole. */
static void replace_since(struct diff *d, struct mark since, yyjson_mut_val *new, size_t depth)
{
    d->n_ops = since.n_ops;
    d->paths.len = since.paths_len;
    d->size = since.size;
    emit(d, OP_REPLACE, new, depth);
}

/* Compares a member that both sides have. */
static void compare_member(struct diff *d, struct ek_str key, yyjson_val *old, yyjson_mut_val *new,
                           size_t depth)
{
    size_t len = go_down(d, key);

    compare(d, old, new, depth + 1);
    cut_path(d, len);
}

/* Members in no common order: those that only the old side has are removed, those that only the new
 * one has are added. */
static void compare_members(struct diff *d, const struct ek_diff_parts *olds,
                            const struct ek_diff_parts *news, size_t depth)
{
    size_t cursor = 0, n_shared = 0;

    for (size_t i = 0; !d->state.rc && i < news->n; i++) {
        const struct ek_diff_part *part = &news->all[i];
        size_t at = ek_diff_find(olds, part->key, &cursor);
        if (at != SIZE_MAX) {
            n_shared++;
            compare_member(d, part->key, olds->all[at].value, part->value, depth);
        } else {
            size_t len = go_down(d, part->key);
            emit(d, OP_ADD, part->value, depth + 1);
            cut_path(d, len);
        }
    }
    cursor = 0;
    for (size_t i = 0; n_shared < olds->n && !d->state.rc && i < olds->n; i++) {
        if (ek_diff_find(news, olds->all[i].key, &cursor) != SIZE_MAX)
            continue;
        size_t len = go_down(d, olds->all[i].key);
        emit(d, OP_REMOVE, NULL, 0);
        cut_path(d, len);
    }
}

static void compare_rest(struct diff *d, yyjson_val *old, yyjson_mut_val *new, size_t skip,
                         size_t depth)
{
    struct ek_diff_parts olds, news;
    bool listed_old = ek_diff_parts_old(&olds, old, skip);
    bool listed_new = ek_diff_parts_new(&news, new, skip);

    if (!listed_old || !listed_new)
        d->state.rc = EK_E_NOMEM;
    else
        compare_members(d, &olds, &news, depth);
    ek_diff_parts_done(&olds);
    ek_diff_parts_done(&news);
}

/* Members mostly come in the same order: as long as they do, nothing is searched. */
static void compare_objects(struct diff *d, yyjson_val *old, yyjson_mut_val *new, size_t depth)
{
    yyjson_val *key = unsafe_yyjson_get_first(old);
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(new);
    size_t n = unsafe_yyjson_get_len(old), k = unsafe_yyjson_get_len(new), i;

    for (i = 0; !d->state.rc && i < n && i < k; i++) {
        yyjson_mut_val *other = yyjson_mut_obj_iter_next(&iter);
        if (!ek_diff_same_text(key, other))
            break;
        compare_member(d, (struct ek_str){key->uni.str, unsafe_yyjson_get_len(key)}, key + 1,
                       other->next, depth);
        key = unsafe_yyjson_get_next(key + 1);
    }
    if (!d->state.rc && (i < n || i < k))
        compare_rest(d, old, new, i, depth);
}

/* Items that go together in no way but by their order: compared in pairs, the rest removed or
 * added. at is the place in the array as changed so far. */
static void compare_in_order(struct diff *d, const struct ek_diff_run *run, size_t *at,
                             size_t depth)
{
    size_t n_pairs = run->n_old < run->n_new ? run->n_old : run->n_new;

    for (size_t i = 0; !d->state.rc && i < n_pairs; i++) {
        size_t len = go_to_item(d, (*at)++);
        compare(d, run->old[i].value, run->new[i].value, depth + 1);
        cut_path(d, len);
    }
    for (size_t i = n_pairs; !d->state.rc && i < run->n_old; i++) {
        size_t len = go_to_item(d, *at);
        emit(d, OP_REMOVE, NULL, 0);
        cut_path(d, len);
    }
    for (size_t i = n_pairs; !d->state.rc && i < run->n_new; i++) {
        size_t len = go_to_item(d, (*at)++);
        emit(d, OP_ADD, run->new[i].value, depth + 1);
        cut_path(d, len);
    }
}

static void compare_run(struct diff *d, const struct ek_diff_run *run, enum ek_diff_match match,
                        size_t *at, size_t depth);

/* What lies between two pairs: aligned by a weaker likeness, if there is one left. */
static void compare_gap(struct diff *d, const struct ek_diff_run *run, enum ek_diff_match match,
                        size_t *at, size_t depth)
{
    if (match == EK_DIFF_EQUAL && run->n_old > 0 && run->n_new > 0)
        compare_run(d, run, EK_DIFF_AKIN, at, depth);
    else
        compare_in_order(d, run, at, depth);
}

static void compare_run(struct diff *d, const struct ek_diff_run *run, enum ek_diff_match match,
                        size_t *at, size_t depth)
{
    size_t *pairs = ek_realloc(NULL, (run->n_old + 1) * sizeof *pairs);
    size_t i = 0, j = 0;

    if (!pairs || ek_diff_align(run, match, &d->cells, &d->state, pairs)) {
        d->state.rc = d->state.rc ? d->state.rc : EK_E_NOMEM;
        ek_free(pairs);
        return;
    }
    for (size_t k = 0; !d->state.rc && k <= run->n_old; k++) {
        bool end = k == run->n_old;
        size_t pair = end ? run->n_new : pairs[k];
        if (pair == SIZE_MAX)
            continue;
        struct ek_diff_run gap = {run->old + i, run->new + j, k - i, pair - j};
        compare_gap(d, &gap, match, at, depth);
        if (end)
            break;
        size_t len = go_to_item(d, (*at)++);
        if (match == EK_DIFF_AKIN)
            compare(d, run->old[k].value, run->new[pair].value, depth + 1);
        cut_path(d, len);
        i = k + 1;
        j = pair + 1;
    }
    ek_free(pairs);
}

/* Sets aside the equal items at both ends; *ret_start of them at the start. */
static struct ek_diff_run trim(struct diff *d, const struct ek_diff_parts *olds,
                               const struct ek_diff_parts *news, size_t depth, size_t *ret_start)
{
    size_t n = olds->n < news->n ? olds->n : news->n, start = 0, end = 0;

    if (olds->n == 1 && news->n == 1) /* to be compared anyway */
        n = 0;
    while (start < n &&
           ek_diff_equal(olds->all[start].value, news->all[start].value, depth + 1, &d->state))
        start++;
    if (olds->n == news->n && start + 1 == n) /* known to differ */
        n = start;
    while (end < n - start &&
           ek_diff_equal(olds->all[olds->n - 1 - end].value, news->all[news->n - 1 - end].value,
                         depth + 1, &d->state))
        end++;
    *ret_start = start;
    return (struct ek_diff_run){olds->all + start, news->all + start, olds->n - start - end,
                                news->n - start - end};
}

static void compare_arrays(struct diff *d, yyjson_val *old, yyjson_mut_val *new, size_t depth)
{
    struct ek_diff_parts olds, news;
    bool listed_old = ek_diff_parts_old(&olds, old, 0);
    bool listed_new = ek_diff_parts_new(&news, new, 0);
    size_t at = 0;

    if (!listed_old || !listed_new) {
        d->state.rc = EK_E_NOMEM;
    } else {
        struct ek_diff_run run = trim(d, &olds, &news, depth, &at);
        bool one_pair = run.n_old == 1 && run.n_new == 1;
        if (run.n_old > 0 && run.n_new > 0 && !one_pair)
            compare_run(d, &run, EK_DIFF_EQUAL, &at, depth);
        else
            compare_in_order(d, &run, &at, depth);
    }
    ek_diff_parts_done(&olds);
    ek_diff_parts_done(&news);
}

/* Replaces the value as a whole, if that is shorter than what was noted since. */
static void shorten(struct diff *d, struct mark since, yyjson_mut_val *new, size_t depth)
{
    size_t noted = d->size - since.size, around = OP_SIZE + d->path.len;

    if (!d->state.rc && noted > around &&
        weigh_within(d, new, noted - around, depth) < noted - around)
        replace_since(d, since, new, depth);
}

/* Notes what makes new out of old. */
static void compare(struct diff *d, yyjson_val *old, yyjson_mut_val *new, size_t depth)
{
    yyjson_type type = unsafe_yyjson_get_type(new);
    struct mark start = mark(d);

    if (!ek_work_do(d->state.work, 1))
        d->state.rc = EK_E_CANCELED;
    if (type != unsafe_yyjson_get_type(old) || !unsafe_yyjson_is_ctn(new)) {
        if (!ek_diff_equal(old, new, depth, &d->state))
            emit(d, OP_REPLACE, new, depth);
        return;
    }
    if (depth >= EK_JSON_DEPTH_MAX) {
        d->state.rc = EK_E_LIMIT;
        return;
    }
    if (type == YYJSON_TYPE_OBJ)
        compare_objects(d, old, new, depth);
    else
        compare_arrays(d, old, new, depth);
    shorten(d, start, new, depth);
}

static bool add_operation(const struct diff *d, const struct operation *o, yyjson_mut_doc *doc,
                          yyjson_mut_val *patch)
{
    static const char *const names[] = {
        [OP_ADD] = "add", [OP_REMOVE] = "remove", [OP_REPLACE] = "replace"};
    const char *path = ek_buf_str(&d->paths) + o->path;
    yyjson_mut_val *op = yyjson_mut_arr_add_obj(doc, patch);

    return yyjson_mut_obj_add_str(doc, op, "op", names[o->op]) &&
           yyjson_mut_obj_add_strncpy(doc, op, "path", path, o->path_len) &&
           (!o->value ||
            yyjson_mut_obj_add_val(doc, op, "value", yyjson_mut_val_mut_copy(doc, o->value)));
}

int ek_jsondiff(yyjson_val *from, yyjson_mut_val *to, yyjson_mut_doc *doc, struct ek_work *work,
                yyjson_mut_val **ret_patch, struct ek_err *err)
{
    struct diff d = {.cells = CELLS_MAX, .state.work = work};
    yyjson_mut_val *patch = yyjson_mut_arr(doc);

    ek_buf_init(&d.paths, PATHS_MAX);
    ek_buf_init(&d.path, SIZE_MAX);
    compare(&d, from, to, 0);
    for (size_t i = 0; !d.state.rc && i < d.n_ops; i++)
        if (!add_operation(&d, &d.ops[i], doc, patch))
            d.state.rc = EK_E_NOMEM;
    if (!patch)
        d.state.rc = EK_E_NOMEM;
    if (d.state.rc == EK_E_LIMIT)
        ek_err_set(err, d.state.rc, "a value nests deeper than %d levels", EK_JSON_DEPTH_MAX);
    else if (d.state.rc == EK_E_CANCELED)
        ek_err_set(err, d.state.rc, "the time to compare two values is over");
    else if (d.state.rc)
        ek_err_set(err, d.state.rc, "no memory for a JSON patch");
    else
        *ret_patch = patch;
    ek_free(d.ops);
    ek_buf_done(&d.paths);
    ek_buf_done(&d.path);
    return d.state.rc;
}
