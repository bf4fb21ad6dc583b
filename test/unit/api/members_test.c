/* SPDX-License-Identifier: Apache-2.0 */
/* Members by name and numbers by hash: what is found, and in how many steps. */
#include "api/members.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base/hash.h"
#include "api/base/table.h"
#include "test/support/suite.h"

#define MANY 5000

static yyjson_mut_doc *make(size_t n)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    char name[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "k%zu", i);
        yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, name), yyjson_mut_uint(doc, i));
    }
    yyjson_mut_doc_set_root(doc, object);
    return doc;
}

static const size_t sizes[] = {0, 1, EK_MEMBERS_SMALL, EK_MEMBERS_SMALL + 1, MANY};

/* Every member is found, in any order, and none that is not there. */
START_TEST(finds)
{
    size_t n = sizes[_i / 3];
    yyjson_mut_doc *tree = make(n);
    yyjson_doc *doc = yyjson_mut_doc_imut_copy(tree, NULL);
    struct ek_work work = {0};
    struct ek_members members, others;
    char name[32];

    ek_members_init(&members, yyjson_doc_get_root(doc), &work);
    ek_members_init_mut(&others, yyjson_mut_doc_get_root(tree), &work);
    for (size_t i = 0; i < n; i++) {
        size_t at = _i % 3 == 0 ? i : _i % 3 == 1 ? n - 1 - i : i * 7919 % n;
        snprintf(name, sizeof name, "k%zu", at);
        struct ek_str key = ek_str_from(name);
        ck_assert_uint_eq(yyjson_get_uint(ek_members_find(&members, key)), at);
        ck_assert_uint_eq(yyjson_mut_get_uint(ek_members_find_mut(&others, key)), at);
    }
    ck_assert_ptr_null(ek_members_find(&members, EK_STR("k")));
    ck_assert_ptr_null(ek_members_find_mut(&others, EK_STR("none")));
    ck_assert_uint_le(work.steps, 2 * (EK_MEMBERS_SMALL + 1) * (n + 1));
    ek_members_done(&members);
    ek_members_done(&others);
    yyjson_doc_free(doc);
    yyjson_mut_doc_free(tree);
}
END_TEST

/* What is no object has no members; of a name that stands twice a strict search finds the first. */
START_TEST(odd_objects)
{
    struct ek_members members;
    yyjson_mut_doc *tree = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *twice = yyjson_mut_obj(tree);

    ek_members_init(&members, NULL, NULL);
    ck_assert_ptr_null(ek_members_find(&members, EK_STR("a")));
    ek_members_init_mut(&members, yyjson_mut_arr(tree), NULL);
    ck_assert_ptr_null(ek_members_find_mut(&members, EK_STR("a")));
    for (int i = 0; i < 2; i++)
        yyjson_mut_obj_add(twice, yyjson_mut_str(tree, "a"), yyjson_mut_int(tree, i));
    ek_members_init_mut(&members, twice, NULL);
    members.strict = true;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(yyjson_mut_get_int(ek_members_find_mut(&members, EK_STR("a"))), 0);
    ek_members_done(&members);
    yyjson_mut_doc_free(tree);
}
END_TEST

/* Numbers of one hash come in the order of adding, also when the table has grown. */
START_TEST(tables)
{
    struct ek_table table;
    size_t number;

    ck_assert_int_eq(ek_table_init(&table, 0), 0);
    for (size_t i = 0; i < MANY; i++) {
        size_t key = i % (MANY / 2);
        ck_assert_int_eq(ek_table_add(&table, ek_hash(&key, sizeof key), i), 0);
    }
    for (size_t key = 0; key < MANY / 2; key++) {
        struct ek_table_cursor at = ek_table_at(ek_hash(&key, sizeof key));
        for (size_t i = 0; i < 2; i++) {
            ck_assert(ek_table_next(&table, &at, &number));
            ck_assert_uint_eq(number, key + i * (MANY / 2));
        }
        ck_assert(!ek_table_next(&table, &at, &number));
    }
    ek_table_done(&table);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("core");
    tcase_add_loop_test(tc, finds, 0, 3 * (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(tc, odd_objects);
    tcase_add_test(tc, tables);

    return ek_test_run("members", tc);
}
