/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/base/mem.h"
#include "test/support/suite.h"

START_TEST(an_empty_buffer_is_an_empty_string)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, 10);
    ck_assert_ptr_null(buf.data);
    ck_assert_str_eq(ek_buf_str(&buf), "");
    ek_buf_consume(&buf, 5);
    ck_assert_int_eq(ek_buf_append(&buf, NULL, 0), 0);
    ck_assert_str_eq(ek_buf_str(&buf), "");
}
END_TEST

START_TEST(pieces_join)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, 1000);
    ck_assert_int_eq(ek_buf_puts(&buf, "a"), 0);
    ck_assert_int_eq(ek_buf_append(&buf, "b\0c", 3), 0);
    ck_assert_int_eq(ek_buf_printf(&buf, "%d-%s", 42, "x"), 0);
    ck_assert_uint_eq(buf.len, 8);
    ck_assert_mem_eq(buf.data, "ab\0c42-x", 9);
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(ek_buf_puts(&buf, "yz"), 0);
    ck_assert_uint_eq(buf.len, 608);
    ck_assert_uint_eq(strlen(buf.data + 4), 604);
}
END_TEST

START_TEST(the_maximum_holds)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, 4);
    ck_assert_int_eq(ek_buf_puts(&buf, "abcd"), 0);
    ck_assert_int_eq(buf.failed, 0);
    ck_assert_int_eq(ek_buf_puts(&buf, "e"), EK_E_LIMIT);
    ck_assert_int_eq(ek_buf_printf(&buf, "%d", 7), EK_E_LIMIT);
    ck_assert_str_eq(ek_buf_str(&buf), "abcd");
    ck_assert_int_eq(buf.failed, EK_E_LIMIT);
    ck_assert_int_eq(ek_buf_append(&buf, "", 0), 0);
    ck_assert_int_eq(buf.failed, EK_E_LIMIT);
    ck_assert_int_eq(ek_buf_append(&buf, "x", SIZE_MAX), EK_E_LIMIT);
    ek_buf_reset(&buf);
    ck_assert_int_eq(buf.failed, 0);
    ck_assert_str_eq(ek_buf_str(&buf), "");
    ck_assert_int_eq(ek_buf_puts(&buf, "wxyz"), 0);
}
END_TEST

START_TEST(the_front_is_consumed)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, 10);
    ek_buf_puts(&buf, "abcdef");
    ek_buf_consume(&buf, 2);
    ck_assert_str_eq(buf.data, "cdef");
    ek_buf_consume(&buf, 0);
    ck_assert_uint_eq(buf.len, 4);
    ek_buf_consume(&buf, 100);
    ck_assert_uint_eq(buf.len, 0);
    ck_assert_str_eq(buf.data, "");
}
END_TEST

START_TEST(content_is_stolen)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, 10);
    EK_AUTOFREE char *nothing = ek_buf_steal(&buf);
    ck_assert_str_eq(nothing, "");
    ek_buf_puts(&buf, "abc");
    EK_AUTOFREE char *text = ek_buf_steal(&buf);
    ck_assert_str_eq(text, "abc");
    ck_assert_str_eq(ek_buf_str(&buf), "");
    ck_assert_int_eq(ek_buf_puts(&buf, "0123456789"), 0);
    ck_assert_int_eq(ek_buf_puts(&buf, "0"), EK_E_LIMIT);
}
END_TEST

START_TEST(lack_of_memory_keeps_the_content)
{
    EK_AUTO(ek_buf) buf;
    char block[1000] = {0};

    ek_buf_init(&buf, EK_BUF_SMALL_MAX + 1);
    ek_buf_puts(&buf, "abc");
    ek_alloc_fail_after(1);
    ck_assert_int_eq(ek_buf_append(&buf, block, sizeof block), EK_E_NOMEM);
    ek_alloc_fail_after(0);
    ck_assert_str_eq(ek_buf_str(&buf), "abc");
    ck_assert_int_eq(buf.failed, EK_E_NOMEM);
    ck_assert_int_eq(ek_buf_append(&buf, block, sizeof block), 0);
}
END_TEST

START_TEST(small_buffers_never_lack_memory)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, EK_BUF_SMALL_MAX);
    ek_alloc_fail_after(1);
    ck_assert_int_eq(ek_buf_puts(&buf, "abc"), 0);
    ck_assert(ek_alloc_unfailed());
    ek_alloc_fail_after(0);
}
END_TEST

START_TEST(strings_compare)
{
    ck_assert(ek_str_eq(EK_STR("ab"), ek_str_from("ab")));
    ck_assert(!ek_str_eq(EK_STR("ab"), EK_STR("ac")));
    ck_assert(!ek_str_eq(EK_STR("ab"), EK_STR("abc")));
    ck_assert(ek_str_eq(EK_STR(""), ek_str_from(NULL)));
    ck_assert(!ek_str_eq(EK_STR("a\0b"), EK_STR("a\0c")));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("buf");

    tcase_add_test(tcase, an_empty_buffer_is_an_empty_string);
    tcase_add_test(tcase, pieces_join);
    tcase_add_test(tcase, the_maximum_holds);
    tcase_add_test(tcase, the_front_is_consumed);
    tcase_add_test(tcase, content_is_stolen);
    tcase_add_test(tcase, lack_of_memory_keeps_the_content);
    tcase_add_test(tcase, small_buffers_never_lack_memory);
    tcase_add_test(tcase, strings_compare);
    return ek_test_run("buf", tcase);
}
