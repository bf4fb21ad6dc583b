/* SPDX-License-Identifier: Apache-2.0 */
#include "api/patch/jsonpatch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/obj.h"
#include "api/patch/jsonpatch-internal.h"
#include "api/patch/pointer.h"

/* What the reference appends to errors that it can distinguish. */
#define MISSING       "missing value"
#define INVALID_INDEX "invalid index referenced"

/* A patch being carried out. */
struct run {
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    unsigned flags;
    struct ek_edits edits;
    size_t copied;
    struct ek_buf why; /* what a container says, before the words of the operation are put around */
    struct ek_buf message;
};

/* Where a path leads: a member of an object or a place in an array, there or not. */
struct target {
    yyjson_mut_val *container; /* NULL when the path leads nowhere */
    struct ek_str key;
    struct ek_buf scratch; /* holds key when it had escapes */
    size_t depth;          /* of what is put there */
};

struct verb {
    const char *name;
    int (*run)(struct run *r, const struct ek_jsonpatch_op *op);
};

/* Sets the message of a failed operation. */
static __attribute__((format(printf, 2, 3))) int fail(struct run *r, const char *fmt, ...)
{
    EK_AUTOFREE char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    struct ek_str whole = ek_str_from(text ? text : "no memory for a message");
    ek_buf_append(&r->message, whole.p, ek_utf8_cut(whole, EK_JSONPATCH_TEXT_MAX));
    return EK_E_INVAL;
}

static int no_memory(struct run *r)
{
    ek_buf_puts(&r->message, "no memory to apply a JSON patch");
    return EK_E_NOMEM;
}

/* The two arguments of "%.*s". */
#define STR(s) (int)(s).len, ((s).p ? (s).p : "")

/* True when a string of an operation can be read; otherwise why has the reason. */
static bool readable(struct run *r, struct ek_str s, const char *absent)
{
    if (!s.p) {
        ek_buf_puts(&r->why, absent);
        return false;
    }
    return !(r->flags & EK_JSONPATCH_QUOTED) || !ek_quoting_breaks(s, &r->why);
}

static bool path_readable(struct run *r, const struct ek_jsonpatch_op *op)
{
    return readable(r, op->path, "operation missing path field: " MISSING);
}

static bool from_readable(struct run *r, const struct ek_jsonpatch_op *op)
{
    return readable(r, op->from, "operation, missing from field: " MISSING);
}

static int bad_index(struct run *r, long long index)
{
    ek_buf_printf(&r->why, "Unable to access invalid index: %lld: " INVALID_INDEX, index);
    return EK_E_INVAL;
}

/* Reads a number as the reference does: a sign, digits, nothing else. */
static int parse_index(struct run *r, struct ek_str key, long long *ret_index)
{
    size_t sign = key.len > 0 && (key.p[0] == '-' || key.p[0] == '+');
    const char *wrong = key.len > sign ? NULL : "invalid syntax";
    char digits[32] = "";
    char *end = digits;

    for (size_t i = sign; i < key.len; i++)
        if (key.p[i] < '0' || key.p[i] > '9')
            wrong = "invalid syntax";
    while (key.len - sign > 1 && key.p[sign] == '0') /* zeros in front mean nothing */
        sign++;
    errno = 0;
    if (!wrong) {
        snprintf(digits, sizeof digits, "%s%.*s", key.p[0] == '-' ? "-" : "",
                 (int)(key.len - sign < 25 ? key.len - sign : 25), key.p + sign);
        *ret_index = strtoll(digits, &end, 10);
        if (errno == ERANGE)
            wrong = "value out of range";
    }
    if (!wrong)
        return 0;
    ek_buf_puts(&r->why, "strconv.Atoi: parsing ");
    ek_quote(&r->why, key);
    ek_buf_printf(&r->why, ": %s", wrong);
    return EK_E_INVAL;
}

/*
 * Reads an index that must be below limit; a negative one counts back from size. Both count the
 * item about to be added, where there is one.
 */
static int checked_index(struct run *r, long long index, size_t size, size_t *ret_at)
{
    long long n = (long long)size;

    if (index >= n || index < -n)
        return bad_index(r, index);
    *ret_at = (size_t)(index < 0 ? index + n : index);
    return 0;
}

static int item_index(struct run *r, struct ek_str key, size_t size, size_t *ret_at)
{
    long long index = 0;
    int rc = parse_index(r, key, &index);

    return rc ? rc : checked_index(r, index, size, ret_at);
}

/* True for a null that is the value of an operation: it counts as a value, without members. All
 * other nulls, those of the document and those put for want of a value, the reference takes for
 * absent. */
static bool is_null_value(const struct run *r, yyjson_mut_val *value)
{
    return yyjson_mut_is_null(value) && (value == r->root || ek_edits_marked(&r->edits, value));
}

/* Remembers, for the next put, whether what is put counts as a value. */
static void mark(struct run *r, yyjson_mut_val *source)
{
    r->edits.mark = source && (!yyjson_mut_is_null(source) || is_null_value(r, source));
}

/* The value under a key, NULL when an object has none. Errors are an array's only. */
static int get(struct run *r, const struct target *t, yyjson_mut_val **ret_value)
{
    size_t at;
    int rc = 0;

    *ret_value = NULL;
    if (yyjson_mut_is_obj(t->container)) {
        struct ek_patch_place place = ek_edit_find(&r->edits, t->container, t->key);
        *ret_value = ek_edit_value(t->container, &place);
    } else if (yyjson_mut_is_arr(t->container)) {
        rc = item_index(r, t->key, yyjson_mut_arr_size(t->container), &at);
        if (!rc) {
            struct ek_patch_place place = ek_edit_item(&r->edits, t->container, at);
            *ret_value = ek_edit_value(t->container, &place);
        }
    }
    return rc;
}

/* Finds the container that a path's last token is for, through what the path leads through. */
static void find(struct run *r, struct ek_str path, struct target *ret)
{
    struct ek_str token, rest = path;
    yyjson_mut_val *value = r->root;

    *ret = (struct target){0};
    ek_buf_init(&ret->scratch, path.len + 1);
    if (!ek_pointer_next(&rest, &token))
        return;
    for (;;) {
        if (!value || (!unsafe_yyjson_is_ctn(value) && !is_null_value(r, value)))
            return;
        ret->container = value;
        ret->key = ek_pointer_unescape(token, &ret->scratch);
        ret->depth++;
        if (!ek_pointer_next(&rest, &token))
            return;
        if (get(r, ret, &value))
            ek_buf_reset(&r->why);
        ret->container = NULL;
    }
}

static void target_done(struct target *t)
{
    ek_buf_done(&t->scratch);
}

static int too_deep(struct run *r)
{
    ek_buf_printf(&r->message, "JSON nests deeper than %d levels", EK_JSON_DEPTH_MAX);
    return EK_E_LIMIT;
}

/* A copy of an operation's value for the tree, to be put at a depth: null when there is none. */
static int own_copy(struct run *r, yyjson_mut_val *value, size_t depth, yyjson_mut_val **ret_copy)
{
    if (depth > EK_JSON_DEPTH_MAX ||
        (value && ek_jsonpatch_deeper(value, EK_JSON_DEPTH_MAX - depth, r->edits.work)))
        return too_deep(r);
    *ret_copy = value ? yyjson_mut_val_mut_copy(r->doc, value) : yyjson_mut_null(r->doc);
    return *ret_copy ? 0 : no_memory(r);
}

/* Puts a value of the tree's document under a member's name, in place of what is there. */
static int put_member(struct run *r, const struct target *t, yyjson_mut_val *value)
{
    yyjson_mut_val *key = yyjson_mut_strncpy(r->doc, t->key.p, t->key.len);
    struct ek_patch_place place = ek_edit_find(&r->edits, t->container, t->key);

    if (!key || ek_edits_reserve(&r->edits))
        return no_memory(r);
    if (place.node)
        ek_edit_take(&r->edits, t->container, &place);
    key->next = value;
    ek_edit_put(&r->edits, t->container, &place, key);
    return 0;
}

static int put_item(struct run *r, const struct target *t, yyjson_mut_val *value)
{
    size_t size = yyjson_mut_arr_size(t->container), at = size;
    long long index = 0;

    if (!ek_str_eq(t->key, EK_STR("-"))) {
        if (parse_index(r, t->key, &index)) {
            EK_AUTOFREE char *why = ek_xstrdup(ek_buf_str(&r->why));
            ek_buf_reset(&r->why);
            ek_buf_printf(&r->why, "value was not a proper array index: '%.*s': %s", STR(t->key),
                          why);
            return EK_E_INVAL;
        }
        int rc = checked_index(r, index, size + 1, &at);
        if (rc)
            return rc;
    }
    if (ek_edits_reserve(&r->edits))
        return no_memory(r);
    struct ek_patch_place place = ek_edit_item(&r->edits, t->container, at);
    place.node = NULL;
    ek_edit_put(&r->edits, t->container, &place, value);
    return 0;
}

/* Adds a value of the tree's document. EK_E_INVAL leaves the reason in why. */
static int put(struct run *r, const struct target *t, yyjson_mut_val *value)
{
    if (yyjson_mut_is_null(t->container)) {
        ek_buf_puts(&r->why, "null has no members");
        return EK_E_INVAL;
    }
    return yyjson_mut_is_obj(t->container) ? put_member(r, t, value) : put_item(r, t, value);
}

static int take(struct run *r, const struct target *t)
{
    struct ek_patch_place place;
    size_t at;

    if (ek_edits_reserve(&r->edits))
        return no_memory(r);
    if (yyjson_mut_is_arr(t->container)) {
        int rc = item_index(r, t->key, yyjson_mut_arr_size(t->container), &at);
        if (rc)
            return rc;
        place = ek_edit_item(&r->edits, t->container, at);
        ek_edit_take(&r->edits, t->container, &place);
        return 0;
    }
    place = yyjson_mut_is_obj(t->container) ? ek_edit_find(&r->edits, t->container, t->key)
                                            : (struct ek_patch_place){0};
    if (!place.node) {
        ek_buf_printf(&r->why, "Unable to remove nonexistent key: %.*s: " MISSING, STR(t->key));
        return EK_E_INVAL;
    }
    ek_edit_take(&r->edits, t->container, &place);
    return 0;
}

/* Overwrites what a path names; an array's item is known to be there. */
static int replace_at(struct run *r, const struct target *t, yyjson_mut_val *value)
{
    size_t at;

    if (!yyjson_mut_is_arr(t->container))
        return put(r, t, value);
    int rc = item_index(r, t->key, yyjson_mut_arr_size(t->container), &at);
    if (rc)
        return rc;
    if (ek_edits_reserve(&r->edits))
        return no_memory(r);
    struct ek_patch_place place = ek_edit_item(&r->edits, t->container, at);
    ek_edit_take(&r->edits, t->container, &place);
    ek_edit_put(&r->edits, t->container, &place, value);
    return 0;
}

static int run_add(struct run *r, const struct ek_jsonpatch_op *op)
{
    struct target t;
    yyjson_mut_val *value;

    if (!path_readable(r, op))
        return fail(r, "add operation failed to decode path: " MISSING);
    find(r, op->path, &t);
    r->edits.mark = op->value != NULL;
    int rc = 0;
    if (!t.container)
        rc = fail(r, "add operation does not apply: doc is missing path: \"%.*s\": " MISSING,
                  STR(op->path));
    else if (!(rc = own_copy(r, op->value, t.depth, &value)))
        rc = put(r, &t, value);
    if (rc == EK_E_INVAL && r->why.len)
        fail(r, "error in add for path: '%.*s': %s", STR(op->path), ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

static int run_remove(struct run *r, const struct ek_jsonpatch_op *op)
{
    struct target t;

    if (!path_readable(r, op))
        return fail(r, "remove operation failed to decode path: " MISSING);
    find(r, op->path, &t);
    int rc = 0;
    if (!t.container)
        rc = fail(r, "remove operation does not apply: doc is missing path: \"%.*s\": " MISSING,
                  STR(op->path));
    else
        rc = take(r, &t);
    if (rc == EK_E_INVAL && r->why.len)
        fail(r, "error in remove for path: '%.*s': %s", STR(op->path), ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

static int replace_root(struct run *r, yyjson_mut_val *value)
{
    if (!value)
        return fail(r, "replace operation value must be object or array: " MISSING);
    if (!unsafe_yyjson_is_ctn(value) && !yyjson_mut_is_null(value))
        return fail(r, "replace operation value must be object or array: %%!w(<nil>)");
    return own_copy(r, value, 0, &r->root);
}

static int run_replace(struct run *r, const struct ek_jsonpatch_op *op)
{
    struct target t;
    yyjson_mut_val *old, *value;

    if (!path_readable(r, op))
        return fail(r, "replace operation failed to decode path: %s", ek_buf_str(&r->why));
    if (op->path.len == 0)
        return replace_root(r, op->value);
    find(r, op->path, &t);
    r->edits.mark = op->value != NULL;
    int rc = 0;
    if (!t.container)
        rc = fail(r, "replace operation does not apply: doc is missing path: %.*s: " MISSING,
                  STR(op->path));
    else if (get(r, &t, &old))
        rc = fail(r, "replace operation does not apply: doc is missing key: %.*s: " MISSING,
                  STR(op->path));
    else if (!(rc = own_copy(r, op->value, t.depth, &value)))
        rc = replace_at(r, &t, value);
    if (rc == EK_E_INVAL && r->why.len && !r->message.len)
        fail(r, "error in remove for path: '%.*s': %s", STR(op->path), ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

/* Takes the value of a move out of the tree; *ret_value is never NULL on success. */
static int take_from(struct run *r, const struct ek_jsonpatch_op *op, yyjson_mut_val **ret_value)
{
    struct target t;

    find(r, op->from, &t);
    int rc = 0;
    if (!t.container)
        rc = fail(r, "move operation does not apply: doc is missing from path: %.*s: " MISSING,
                  STR(op->from));
    else if (!(rc = get(r, &t, ret_value))) {
        mark(r, *ret_value);
        rc = take(r, &t);
    }
    if (rc == EK_E_INVAL && r->why.len)
        fail(r, "error in move for path: '%.*s': %s", STR(t.key), ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

static int run_move(struct run *r, const struct ek_jsonpatch_op *op)
{
    struct target t;
    yyjson_mut_val *value = NULL;

    if (!from_readable(r, op))
        return fail(r, "move operation failed to decode from: %s", ek_buf_str(&r->why));
    int rc = take_from(r, op, &value);
    if (rc)
        return rc;
    if (!path_readable(r, op))
        return fail(r, "move operation failed to decode path: %s", ek_buf_str(&r->why));
    find(r, op->path, &t);
    if (!t.container)
        rc = fail(r,
                  "move operation does not apply: doc is missing destination path: %.*s: " MISSING,
                  STR(op->path));
    else if (t.depth > EK_JSON_DEPTH_MAX ||
             ek_jsonpatch_deeper(value, EK_JSON_DEPTH_MAX - t.depth, r->edits.work))
        rc = too_deep(r);
    else
        rc = put(r, &t, value);
    if (rc == EK_E_INVAL && r->why.len)
        fail(r, "error in move for path: '%.*s': %s", STR(op->path), ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

static int run_test(struct run *r, const struct ek_jsonpatch_op *op)
{
    struct target t = {0};
    yyjson_mut_val *value = r->root;
    int rc = 0;

    if (!path_readable(r, op))
        return fail(r, "test operation failed to decode path: %s", ek_buf_str(&r->why));
    if (op->path.len > 0) {
        find(r, op->path, &t);
        if (!t.container)
            rc = fail(r, "test operation does not apply: is missing path: %.*s: " MISSING,
                      STR(op->path));
        else if (get(r, &t, &value))
            rc = fail(r, "error in test for path: '%.*s': %s", STR(op->path), ek_buf_str(&r->why));
        target_done(&t);
    }
    if (rc)
        return rc;
    if (op->path.len == 0 && !op->value)
        return fail(r, "test operation on the document: " MISSING);
    bool absent = !value || (yyjson_mut_is_null(value) && !is_null_value(r, value));
    if (absent ? !op->value : op->value && ek_jsonpatch_same(value, op->value, r->edits.work))
        return 0;
    fail(r, "testing value %.*s failed: test failed", STR(op->path));
    return EK_E_CONFLICT;
}

/* The value of a copy, still in its place; NULL when the member is absent. */
static int read_from(struct run *r, const struct ek_jsonpatch_op *op, yyjson_mut_val **ret_value)
{
    struct target t;

    find(r, op->from, &t);
    int rc = 0;
    if (!t.container)
        rc = fail(r, "copy operation does not apply: doc is missing from path: %.*s: " MISSING,
                  STR(op->from));
    else if (get(r, &t, ret_value))
        rc = fail(r, "error in copy for from: '%.*s': %s", STR(op->from), ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

/* Counts what a copy adds. */
static int count_copied(struct run *r, yyjson_mut_val *value)
{
    size_t len = 0;

    if (!value)
        return 0;
    char *json = yyjson_mut_val_write_opts(value, 0, &ek_json_alc, &len, NULL);
    if (!json)
        return no_memory(r);
    ek_free(json);
    r->copied += len;
    if (r->copied <= EK_JSONPATCH_COPY_MAX)
        return 0;
    fail(r,
         "Unable to complete the copy, the accumulated size increase of copy is %zu, exceeding "
         "the limit %zu",
         r->copied, EK_JSONPATCH_COPY_MAX);
    return EK_E_LIMIT;
}

static int run_copy(struct run *r, const struct ek_jsonpatch_op *op)
{
    struct target t;
    yyjson_mut_val *value = NULL, *copy;

    if (!from_readable(r, op))
        return fail(r, "copy operation failed to decode from: %s", ek_buf_str(&r->why));
    int rc = read_from(r, op, &value);
    if (rc)
        return rc;
    if (!path_readable(r, op))
        return fail(r, "copy operation failed to decode path: " MISSING);
    find(r, op->path, &t);
    mark(r, value);
    if (!t.container)
        rc = fail(r,
                  "copy operation does not apply: doc is missing destination path: %.*s: " MISSING,
                  STR(op->path));
    else
        rc = count_copied(r, value);
    if (!rc)
        rc = own_copy(r, value, t.depth, &copy);
    if (!rc)
        rc = put(r, &t, copy);
    if (rc == EK_E_INVAL && r->why.len)
        fail(r, "error while adding value during copy: %s", ek_buf_str(&r->why));
    target_done(&t);
    return rc;
}

static const struct verb verbs[] = {
    {"add", run_add},   {"remove", run_remove}, {"replace", run_replace},
    {"move", run_move}, {"test", run_test},     {"copy", run_copy},
};

static int run_op(struct run *r, const struct ek_jsonpatch_op *op)
{
    if (!ek_work_octets(r->edits.work, op->path.len + op->from.len))
        return EK_E_CANCELED;
    struct ek_str name = readable(r, op->op, "") ? op->op : EK_STR("unknown");

    ek_buf_reset(&r->why);
    for (size_t i = 0; i < EK_ARRAY_SIZE(verbs); i++)
        if (ek_str_eq(name, ek_str_from(verbs[i].name)))
            return verbs[i].run(r, op);
    return fail(r, "Unexpected kind: %.*s", STR(name));
}

int ek_jsonpatch_apply(yyjson_mut_doc *doc, yyjson_mut_val **root,
                       const struct ek_jsonpatch_op *ops, size_t n, unsigned flags,
                       struct ek_work *work, struct ek_buf *ret_text, struct ek_err *err)
{
    struct run r = {.doc = doc, .root = *root, .flags = flags};
    int rc = ek_edits_init(&r.edits, work);

    ek_buf_init(&r.why, EK_JSONPATCH_TEXT_MAX);
    ek_buf_init(&r.message, EK_JSONPATCH_TEXT_MAX);
    if (rc)
        rc = no_memory(&r);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = run_op(&r, &ops[i]);
        if (!rc && r.edits.failed)
            rc = no_memory(&r);
    }
    if (!ek_work_do(work, 1) && rc != EK_E_NOMEM) {
        ek_buf_reset(&r.message);
        ek_buf_puts(&r.message, "the time to apply a JSON patch is over");
        rc = EK_E_CANCELED;
    }
    if (rc)
        ek_edits_undo(&r.edits);
    else
        *root = r.root;
    if (rc && ret_text)
        ek_buf_append(ret_text, ek_buf_str(&r.message), r.message.len);
    if (rc)
        ek_err_set(err, rc, "%s", ek_buf_str(&r.message));
    ek_edits_done(&r.edits);
    ek_buf_done(&r.why);
    ek_buf_done(&r.message);
    return rc;
}
