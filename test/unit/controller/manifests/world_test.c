/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces of the world that files stand for. */
#include <string.h>

#include "controller/manifests/manifests-internal.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define NAMESPACE(name, label)                                                                     \
    "kind: Namespace\nmetadata: {name: " name ", labels: {is: " label "}}\n"

static char folder[TESTDIR_SIZE];
static struct ek_ci ci;
static struct ek_mutation_world world;

static void set_up(void)
{
    struct ek_err err = {0};
    char path[TESTDIR_SIZE + 16];
    char *files[] = {path};

    testdir_make(folder);
    testdir_put(folder, "objects.yaml",
                "apiVersion: v1\n" NAMESPACE("here", "first") "---\napiVersion: v1\n" NAMESPACE(
                    "here", "second") "---\napiVersion: example.com/v1\n" NAMESPACE("other", "no"),
                0600);
    snprintf(path, sizeof path, "%s/objects.yaml", folder);
    const struct ek_ci_options options = {.files = {.items = files, .n = 1}, .compat = ""};
    ck_assert_msg(!ek_ci_init(&ci, &options, &err), "%s", err.message);
    ek_ci_world(&ci, &world);
}

static void tear_down(void)
{
    ek_ci_done(&ci);
    testdir_remove(folder);
}

static yyjson_val *find(const char *name)
{
    yyjson_val *found = NULL;

    ck_assert_int_eq(world.namespace(world.arg, name, &found, NULL), EK_WORLD_FOUND);
    return found;
}

START_TEST(the_first_of_the_files)
{
    const char *is = ek_json_str(find("here"), "metadata", "labels", "is", NULL);

    ck_assert_str_eq(is ? is : "", "first");
    ck_assert_uint_eq(yyjson_mut_arr_size(ci.notes), 0);
}
END_TEST

/* Ten thousand objects are in one namespace: none of them makes it anew. */
START_TEST(one_that_is_not_there_is_made_once)
{
    yyjson_val *made = find("other");
    size_t n_docs = ci.n_docs;

    ck_assert_ptr_null(ek_json_get(made, "metadata", "labels", "is", NULL));
    ek_ci_world(&ci, &world);
    ck_assert_ptr_eq(find("other"), made);
    ck_assert_uint_eq(ci.n_docs, n_docs);
    ck_assert_ptr_eq(ek_map_get(&ci.made, "other"), made);
    ck_assert_ptr_null(ek_map_get(&ci.made, "here"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("world");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, the_first_of_the_files);
    tcase_add_test(tc, one_that_is_not_there_is_made_once);
    return ek_test_run("world", tc);
}
