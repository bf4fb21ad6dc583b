/* SPDX-License-Identifier: Apache-2.0 */
/* JSON patches on containers that are opened: many operations in any order, held against a plain
 * model of what they make, and taken back. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/jsonpatch.h"
#include "test/support/suite.h"

#define SIZE         1200
#define OPS          4000
#define NAMES        1600
#define PATH_MAX_LEN 32

/* The model: names and values in order; a list has names that nobody looks at. */
struct model {
    int names[SIZE + OPS], values[SIZE + OPS];
    size_t n;
};

static unsigned next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33);
}

static void take(struct model *m, size_t at)
{
    m->n--;
    memmove(&m->names[at], &m->names[at + 1], (m->n - at) * sizeof(int));
    memmove(&m->values[at], &m->values[at + 1], (m->n - at) * sizeof(int));
}

static void put(struct model *m, size_t at, int name, int value)
{
    memmove(&m->names[at + 1], &m->names[at], (m->n - at) * sizeof(int));
    memmove(&m->values[at + 1], &m->values[at], (m->n - at) * sizeof(int));
    m->names[at] = name;
    m->values[at] = value;
    m->n++;
}

static size_t find(const struct model *m, int name)
{
    size_t i = 0;

    while (i < m->n && m->names[i] != name)
        i++;
    return i;
}

static yyjson_mut_val *make(yyjson_mut_doc *doc, const struct model *m, bool list)
{
    yyjson_mut_val *made = list ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
    char name[PATH_MAX_LEN];

    for (size_t i = 0; i < m->n; i++) {
        snprintf(name, sizeof name, "n%d", m->names[i]);
        if (list)
            yyjson_mut_arr_add_int(doc, made, m->values[i]);
        else
            yyjson_mut_obj_add(made, yyjson_mut_strcpy(doc, name),
                               yyjson_mut_int(doc, m->values[i]));
    }
    return made;
}

static struct ek_jsonpatch_op op_at(yyjson_mut_doc *doc, const char *op, const char *path,
                                    yyjson_mut_val *value)
{
    yyjson_mut_val *text = yyjson_mut_strcpy(doc, path);

    return (struct ek_jsonpatch_op){.op = ek_str_from(op),
                                    .path = {yyjson_mut_get_str(text), yyjson_mut_get_len(text)},
                                    .value = value};
}

/* An operation that applies, done to the model too. */
static struct ek_jsonpatch_op random_op(yyjson_mut_doc *doc, struct model *m, bool list,
                                        uint64_t *seed)
{
    unsigned what = next(seed) % 3;
    int value = (int)(next(seed) % 1000);
    int name = (int)(next(seed) % NAMES);
    size_t at = list ? next(seed) % (m->n + (what == 0)) : find(m, name);
    char path[PATH_MAX_LEN];

    if (list)
        snprintf(path, sizeof path, "/%zu", at);
    else
        snprintf(path, sizeof path, "/n%d", name);
    if (what == 0 || at == m->n) {
        if (!list && at < m->n)
            m->values[at] = value;
        else
            put(m, at, name, value);
        return op_at(doc, "add", path, yyjson_mut_int(doc, value));
    }
    if (what == 1) {
        take(m, at);
        return op_at(doc, "remove", path, NULL);
    }
    m->values[at] = value;
    return op_at(doc, "replace", path, yyjson_mut_int(doc, value));
}

START_TEST(many_operations)
{
    static struct model m;
    static struct ek_jsonpatch_op ops[OPS + 1];
    bool list = _i % 2;
    uint64_t seed = 4711 + (uint64_t)_i;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    m.n = 0;
    for (int i = 0; i < SIZE; i++)
        put(&m, m.n, i, i);
    yyjson_mut_val *root = make(doc, &m, list), *before = make(doc, &m, list);
    for (size_t i = 0; i < OPS; i++)
        ops[i] = random_op(doc, &m, list, &seed);
    ops[OPS] = op_at(doc, "remove", "/99999999", NULL);
    /* One that does not apply at the end takes all others back. */
    ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, ops, OPS + 1, 0, NULL, NULL, NULL), EK_E_INVAL);
    ck_assert(yyjson_mut_equals(root, before));
    char *a = yyjson_mut_val_write(root, 0, NULL), *b = yyjson_mut_val_write(before, 0, NULL);
    ck_assert_str_eq(a, b); /* in their order */
    ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, ops, OPS, 0, NULL, NULL, NULL), 0);
    char *got = yyjson_mut_val_write(root, 0, NULL);
    char *want = yyjson_mut_val_write(make(doc, &m, list), 0, NULL);
    ck_assert_str_eq(got, want);
    free(a);
    free(b);
    free(got);
    free(want);
    yyjson_mut_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("core");
    tcase_add_loop_test(tc, many_operations, 0, 8);

    return ek_test_run("jsonpatch_large", tc);
}
