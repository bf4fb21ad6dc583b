/* SPDX-License-Identifier: Apache-2.0 */
/* Places that clients share: how many of them one client may have. */
#include "controller/http/share.h"

#include <check.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

static const struct {
    const char *name;
    size_t mine, taken, max;
    bool allowed;
} rows[] = {
    {"the first of four", 0, 0, 4, true},
    {"the second", 1, 1, 4, true},
    {"a third would leave one", 2, 2, 4, false},
    {"the next client", 0, 2, 4, true},
    {"a second of the next client", 1, 3, 4, false},
    {"one more client", 0, 3, 4, true},
    {"none is left", 0, 4, 4, false},
    {"one of two", 0, 0, 2, true},
    {"two of two", 1, 1, 2, false},
    {"one of two is another's", 0, 1, 2, true},
    {"more are taken than there are", 0, 5, 4, false},
    {"no places", 0, 0, 0, false},
};

START_TEST(shares)
{
    ck_assert_msg(ek_http_share_allows(rows[_i].mine, rows[_i].taken, rows[_i].max) ==
                      rows[_i].allowed,
                  "%s", rows[_i].name);
}
END_TEST

/* One client takes what it can get; another one always finds a place then. */
START_TEST(leaves_a_place)
{
    for (size_t max = 2; max < 40; max++) {
        size_t mine = 0;
        while (ek_http_share_allows(mine, mine, max))
            mine++;
        ck_assert_msg(mine == (max + 1) / 2, "%zu of %zu", mine, max);
        ck_assert(ek_http_share_allows(0, mine, max));
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("share");

    tcase_add_loop_test(tc, shares, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, leaves_a_place);
    return ek_test_run("share", tc);
}
