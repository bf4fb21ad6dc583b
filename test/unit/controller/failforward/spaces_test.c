/* SPDX-License-Identifier: Apache-2.0 */
/* Which namespaces are judged again after a change of a CatalogSource. */
#include "controller/failforward/spaces.h"

#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

#define SUBS 4

static struct ek_obj *subs[SUBS];

static struct ek_obj *make_sub(const char *namespace, const char *name, const char *source,
                               const char *source_namespace)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"source\":"
                     "\"%s\",\"sourceNamespace\":\"%s\"}}",
                     name, namespace, source, source_namespace);
    struct ek_obj *obj = NULL;

    ck_assert_int_eq(ek_obj_parse(text, strlen(text), &obj, NULL), 0);
    return obj;
}

/* The namespaces that are due, in their order, with commas. */
static void check_due(const struct ek_ff_spaces *spaces, const char *names)
{
    EK_AUTO(ek_buf) due;

    ek_buf_init(&due, 1024);
    for (size_t i = 0; i < spaces->n; i++)
        if (ek_ff_space_is_due(spaces->items[i], 0))
            ek_buf_printf(&due, "%s,", spaces->items[i]->name);
    ck_assert_str_eq(ek_buf_str(&due), names);
}

static void setup(struct ek_ff_spaces *spaces)
{
    *spaces = (struct ek_ff_spaces){0};
    subs[0] = make_sub("a", "one", "cat", "olm");
    subs[1] = make_sub("a", "two", "own", "a");
    subs[2] = make_sub("b", "one", "cat", "olm");
    subs[3] = make_sub("c", "one", "cat", "c");
    ek_ff_spaces_list(spaces, subs, SUBS);
    check_due(spaces, "a,b,c,");
    for (size_t i = 0; i < spaces->n; i++)
        ek_ff_space_keep(spaces->items[i], NULL, 0);
    check_due(spaces, "");
}

static void teardown(struct ek_ff_spaces *spaces)
{
    ek_ff_spaces_done(spaces);
    for (size_t i = 0; i < SUBS; i++)
        ek_obj_unref(subs[i]);
}

static const struct {
    const char *sources[3]; /* that changed */
    const char *due;
} cases[] = {
    {{"olm/cat"}, "a,b,"},        {{"a/own"}, "a,"},          {{"c/cat"}, "c,"},
    {{"c/cat", "a/own"}, "a,c,"}, {{"a/own", "a/own"}, "a,"}, {{"olm/other", "b/cat"}, ""},
};

START_TEST(a_source_changes)
{
    struct ek_ff_spaces spaces;

    setup(&spaces);
    for (size_t i = 0; cases[_i].sources[i]; i++) {
        EK_AUTOFREE char *gone = ek_xstrdup(cases[_i].sources[i]); /* the name is copied */
        ek_ff_spaces_touch_source(&spaces, gone);
    }
    check_due(&spaces, "");
    ek_ff_spaces_list(&spaces, subs, SUBS);
    check_due(&spaces, cases[_i].due);
    for (size_t i = 0; i < spaces.n; i++)
        ck_assert(!spaces.items[i]->is_stale); /* consent has not changed */
    for (size_t i = 0; i < spaces.n; i++)
        ek_ff_space_keep(spaces.items[i], NULL, 0);
    ek_ff_spaces_list(&spaces, subs, SUBS);
    check_due(&spaces, ""); /* a change counts once */
    teardown(&spaces);
}
END_TEST

/* The list has the CatalogSource before its first subscription: nothing is left over. */
START_TEST(a_source_changes_before_the_first_list)
{
    struct ek_ff_spaces spaces = {0};

    ek_ff_spaces_touch_source(&spaces, "olm/cat");
    ek_ff_spaces_list(&spaces, NULL, 0);
    ck_assert_uint_eq(spaces.n, 0);
    ek_ff_spaces_touch_source(&spaces, "olm/cat");
    ek_ff_spaces_done(&spaces);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("spaces");

    tcase_add_loop_test(tc, a_source_changes, 0, EK_ARRAY_SIZE(cases));
    tcase_add_test(tc, a_source_changes_before_the_first_list);
    return ek_test_run("spaces", tc);
}
