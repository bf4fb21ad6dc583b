/* SPDX-License-Identifier: Apache-2.0 */
/* How long params and schemas are waited for. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/loading.h"
#include "test/support/suite.h"

#define LOOKS_MAX 4
#define T         EK_LOADING_PATIENCE_MS

/* The last of several looks is the one of the row. */
static const struct {
    const char *name;
    struct {
        int64_t now_ms;
        bool synced;
    } looks[LOOKS_MAX];
    size_t n;
    bool published;
    bool loading, publish, write;
} rows[] = {
    {"all is there", {{0, true}}, 1, false, false, true, true},
    {"at first", {{0, false}}, 1, false, true, false, false},
    {"while there is a snapshot", {{0, false}}, 1, true, true, true, false},
    {"just before the end", {{5, false}, {4 + T, false}}, 2, false, true, false, false},
    {"in the end", {{5, false}, {5 + T, false}}, 2, false, false, true, true},
    {"in the end, while there is a snapshot",
     {{5, false}, {5 + T, false}},
     2,
     true,
     false,
     true,
     true},
    {"long after", {{5, false}, {5 + T, false}, {50 + T, false}}, 3, true, false, true, true},
    {"it came", {{5, false}, {9, true}}, 2, true, false, true, true},
    {"something else is missing later",
     {{5, false}, {9, true}, {5 + T, false}},
     3,
     true,
     true,
     true,
     false},
    {"since then",
     {{5, false}, {9, true}, {5 + T, false}, {5 + T + T, false}},
     4,
     true,
     false,
     true,
     true},
};

START_TEST(looks)
{
    struct ek_loading loading = {0};
    struct ek_loading_plan got = {0};

    for (size_t i = 0; i < rows[_i].n; i++)
        ek_loading_plan(&loading, rows[_i].looks[i].synced, rows[_i].published,
                        rows[_i].looks[i].now_ms, &got);
    ck_assert_msg(got.loading == rows[_i].loading, "%s: loading", rows[_i].name);
    ck_assert_msg(got.publish == rows[_i].publish, "%s: publish", rows[_i].name);
    ck_assert_msg(got.write == rows[_i].write, "%s: write", rows[_i].name);
    ck_assert_msg(got.again_ms == (rows[_i].loading ? EK_LOADING_AGAIN_MS : 0), "%s: again",
                  rows[_i].name);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");

    tcase_add_loop_test(t, looks, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("loading", t);
}
