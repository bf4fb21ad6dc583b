/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/order.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

/* Lists of letters, and their order. The recorded cases are test/data/discovery/order.jsonl. */
static const struct {
    const char *label, *lists[5], *order;
} rows[] = {
    {"nothing", {NULL}, ""},
    {"empty lists", {"", ""}, ""},
    {"one list", {"ba"}, "ba"},
    {"an empty list beside", {"", "ba"}, "ba"},
    {"common order", {"abcd", "abcd", "axzd", "zy", "q"}, "abcqxzdy"},
    {"the first list that has all", {"az", "zak", "kaz"}, "zak"},
    {"a list with a name twice is not whole", {"aab", "ba"}, "ba"},
    {"a name behind itself is a cycle", {"baa", "c"}, "abc"},
    {"contradiction", {"ab", "ba", "c"}, "abc"},
    {"a longer cycle", {"cab", "bcx"}, "abcx"},
    {"the lesser name first", {"mz", "az", "k"}, "akmz"},
    {"a tie in the middle", {"axz", "abz"}, "abxz"},
    {"contradiction of lists of different length", {"cab", "bad"}, "abcd"},
    {"contradiction in a part", {"dab", "abc", "ba"}, "abcd"},
    {"chained contradiction", {"dab", "bc", "cd"}, "abcd"},
    {"only neighbours count", {"abc", "bd"}, "abcd"},
};

START_TEST(order_row)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_name_list lists[5];
    struct ek_buf got;
    size_t n = 0, n_order;

    for (; n < 5 && rows[_i].lists[n]; n++) {
        size_t len = strlen(rows[_i].lists[n]);
        const char **names = ek_arena_alloc(arena, (len + 1) * sizeof *names);
        for (size_t i = 0; i < len; i++)
            names[i] = ek_arena_strndup(arena, rows[_i].lists[n] + i, 1);
        lists[n] = (struct ek_name_list){names, len};
    }
    const char *const *order = ek_order_merge(lists, n, arena, &n_order);
    ek_buf_init(&got, 1000);
    for (size_t i = 0; i < n_order; i++)
        ek_buf_puts(&got, order[i]);
    ck_assert_msg(!strcmp(ek_buf_str(&got), rows[_i].order), "%s: %s, not %s", rows[_i].label,
                  ek_buf_str(&got), rows[_i].order);
    ek_buf_done(&got);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("order");

    tcase_add_loop_test(tcase, order_row, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("order", tcase);
}
