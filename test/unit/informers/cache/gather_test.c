/* SPDX-License-Identifier: Apache-2.0 */
/* What lists bring together: rows of puts and removals in any order, against what must come out. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "informers/cache/gather.h"
#include "informers/cache/store.h"
#include "test/support/suite.h"

static const struct {
    const char *name;
    const char *ops;  /* "b1" puts b with uid 1, "-b" removes it */
    const char *want; /* key and uid, in the order taken */
    bool in_row;      /* no store was needed */
} rows[] = {
    {"nothing", "", "", true},
    {"in order", "a1 b1 c1", "a1 b1 c1 ", true},
    {"the last one again", "a1 b1 b2", "a1 b2 ", false},
    {"an earlier one again", "a1 b1 c1 a2 d1", "a2 b1 c1 d1 ", false},
    {"out of order", "c1 a1 b1", "a1 b1 c1 ", false},
    {"removed", "a1 b1 -a c1", "b1 c1 ", false},
    {"the last one removed", "a1 b1 -b", "a1 ", false},
    {"removed and back", "a1 -a a2", "a2 ", false},
    {"removed before it came", "a1 -b b1", "a1 b1 ", true},
    {"removed from nothing", "-a", "", true},
};

static void apply(struct ek_gather *gather, const char *op)
{
    char json[128];
    struct ek_obj *obj;
    bool removal = *op == '-';

    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%c\",\"uid\":\"%s\"}}", op[removal],
             op + 1);
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &obj, NULL), 0);
    if (removal)
        ek_gather_remove(gather, obj);
    else
        ek_gather_put(gather, obj);
    ek_obj_unref(obj);
}

static void gather_row(struct ek_gather *gather, size_t row)
{
    char ops[128], *save = NULL;

    snprintf(ops, sizeof ops, "%s", rows[row].ops);
    for (char *op = strtok_r(ops, " ", &save); op; op = strtok_r(NULL, " ", &save))
        apply(gather, op);
}

START_TEST(what_was_gathered_comes_out_once_and_in_order)
{
    EK_AUTO(ek_buf) got;
    struct ek_gather gather;
    size_t n;

    ek_gather_init(&gather);
    ek_buf_init(&got, 256);
    gather_row(&gather, (size_t)_i);
    ck_assert_msg(!gather.store == rows[_i].in_row, "%s: store", rows[_i].name);
    size_t size = ek_gather_size(&gather);
    struct ek_obj **items = ek_gather_take(&gather, &n);
    ck_assert_msg(n == size, "%s: %zu of %zu", rows[_i].name, n, size);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&got, "%s%s ", ek_obj_key(items[i]), ek_obj_uid(items[i]));
    ck_assert_msg(!strcmp(ek_buf_str(&got), rows[_i].want), "%s: %s", rows[_i].name,
                  ek_buf_str(&got));
    ck_assert_msg(ek_gather_size(&gather) == 0, "%s: not empty", rows[_i].name);
    ek_snapshot_free(items, n);
    gather_row(&gather, (size_t)_i); /* cleared, it leaks nothing either */
    ek_gather_clear(&gather);
}
END_TEST

START_TEST(many_in_order_stay_in_a_row)
{
    struct ek_gather gather;
    size_t n;

    ek_gather_init(&gather);
    for (char name = 'a'; name <= 'z'; name++)
        apply(&gather, (char[]){name, '1', '\0'});
    ck_assert_ptr_null(gather.store);
    struct ek_obj **items = ek_gather_take(&gather, &n);
    ck_assert_uint_eq(n, 'z' - 'a' + 1);
    ek_snapshot_free(items, n);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("gather");

    tcase_add_loop_test(tcase, what_was_gathered_comes_out_once_and_in_order, 0,
                        (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, many_in_order_stay_in_a_row);
    return ek_test_run("gather", tcase);
}
