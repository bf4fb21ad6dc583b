/* SPDX-License-Identifier: Apache-2.0 */
/* What two objects differ in, and which policies undo each other's work: by row. */
#include "reconcilers/mutation/fights.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

static struct ek_arena *arena;

static void setup(void)
{
    arena = ek_arena_new(1 << 20);
}

static void teardown(void)
{
    ek_arena_free(arena);
}

/* ---- Differences ---- */

#define ITEMS(items) "{\"l\":[" items "]}"
#define A            "{\"name\":\"a\",\"v\":1}"
#define A2           "{\"name\":\"a\",\"v\":2}"
#define B            "{\"name\":\"b\"}"

static const struct {
    const char *name, *before, *after;
    const char *want; /* paths; "+" before what is added, "-" before what is removed */
} differences[] = {
    {"nothing", "{\"a\":{\"b\":[1]}}", "{\"a\":{\"b\":[1]}}", ""},
    {"a value", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2}}", "/a/b "},
    {"another type", "{\"a\":{\"b\":1}}", "{\"a\":[1]}", "/a "},
    {"members", "{\"a\":1,\"b\":1}", "{\"b\":1,\"c\":1}", "-/a +/c "},
    {"items in their places", ITEMS("1,2,3"), ITEMS("1,4,3"), "/l/1 "},
    {"lists of other lengths", ITEMS("1,2"), ITEMS("1"), "/l "},
    {"named items", ITEMS(A "," B), ITEMS(A2 "," B), "/l/0/v "},
    {"a new one", ITEMS(A), ITEMS(A "," B), "+/l/1 "},
    {"one goes", ITEMS(A "," B), ITEMS(B), "-/l/0 "},
    {"they change places", ITEMS(A "," B), ITEMS(B "," A), "/l "},
    {"and one changes: no more than that", ITEMS(A "," B), ITEMS(B "," A2), "/l/1/v "},
    {"two of one name have places", ITEMS(A "," A), ITEMS(A "," A2), "/l/1/v "},
};

START_TEST(differs)
{
    yyjson_doc *before =
        ek_json_parse(differences[_i].before, strlen(differences[_i].before), NULL);
    yyjson_doc *after = ek_json_parse(differences[_i].after, strlen(differences[_i].after), NULL);
    const struct ek_change *list;
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 1024);
    size_t n =
        ek_changes_of(yyjson_doc_get_root(before), yyjson_doc_get_root(after), NULL, arena, &list);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&got, "%s%s ",
                      !list[i].before  ? "+"
                      : !list[i].after ? "-"
                                       : "",
                      list[i].path);
    ck_assert_msg(!strcmp(ek_buf_str(&got), differences[_i].want), "%s: %s", differences[_i].name,
                  ek_buf_str(&got));
    yyjson_doc_free(before);
    yyjson_doc_free(after);
}
END_TEST

/* ---- Fights ---- */

static const struct {
    const char *name;
    const char *steps; /* "1a/x": policy a changes /x in pass 1; "1A/x": A only observes */
    unsigned first_pass;
    size_t least;
    const char *want; /* "/x ab;": parties of each fight */
} fights[] = {
    {"one policy", "1a/x 2a/x", 1, 2, ""},
    {"two", "1a/x 1b/x", 1, 2, "/x ab;"},
    {"each once", "1a/x 1b/x 2a/x 2b/x", 1, 2, "/x ab;"},
    {"elsewhere", "1a/x 1b/y", 1, 2, ""},
    {"a name that only begins so", "1a/x 1b/xy", 1, 2, ""},
    {"above", "1a/x/y 1b/x", 1, 2, "/x ab;"},
    {"below", "1a/x 1b/x/y", 1, 2, "/x ab;"},
    {"before the first pass", "1a/x 2b/x", 2, 2, ""},
    {"from the first pass on", "2a/x 3b/x", 2, 2, "/x ab;"},
    {"who only observes fights nobody", "1a/x 1B/x", 1, 2, ""},
    {"all that was changed", "1a/x 1b/y", 1, 1, "/x a;/y b;"},
    {"too few", "1a/x 1b/x", 1, 3, ""},
    {"many", "1a/x 1b/x 1c/x 1d/x 1e/x", 1, 2, "/x abcde;"},
};

START_TEST(fight)
{
    static const struct ek_policy policies[26] = {{0}};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    EK_AUTOFREE char *text = ek_xstrdup(fights[_i].steps);
    struct ek_change changes[8] = {{0}};
    struct ek_bound bound[8] = {{0}};
    struct ek_step steps[8] = {{0}};
    const struct ek_fight *list;
    EK_AUTO(ek_buf) got;
    char *save = NULL;
    size_t n = 0;

    for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save), n++) {
        bound[n] =
            (struct ek_bound){.policy = &policies[(s[1] | 0x20) - 'a'], .apply = s[1] >= 'a'};
        changes[n] = (struct ek_change){.path = s + 2};
        steps[n] = (struct ek_step){.bound = &bound[n],
                                    .pass = (unsigned)(s[0] - '0'),
                                    .changes = &changes[n],
                                    .n_changes = 1};
    }
    ek_buf_init(&got, 1024);
    size_t found = ek_fights_of(steps, n, fights[_i].first_pass, fights[_i].least, arena, &list);
    for (size_t i = 0; i < found; i++) {
        ek_buf_printf(&got, "%s ", list[i].path);
        for (size_t p = 0; p < list[i].n; p++)
            ek_buf_append(&got, &letters[list[i].parties[p] - policies], 1);
        ek_buf_puts(&got, ";");
    }
    ck_assert_msg(!strcmp(ek_buf_str(&got), fights[_i].want), "%s: %s", fights[_i].name,
                  ek_buf_str(&got));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rows");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, differs, 0, EK_ARRAY_SIZE(differences));
    tcase_add_loop_test(tc, fight, 0, EK_ARRAY_SIZE(fights));
    return ek_test_run("fights", tc);
}
