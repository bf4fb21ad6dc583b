/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of manifests that `evenkeel plan -f` does not know. */
#include <check.h>

#include "api/base/mem.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define OBJECT(version, kind) "apiVersion: " version "\nkind: " kind "\n---\n"

static const struct {
    const char *name, *text;
} files[] = {
    {"things.yaml",
     OBJECT("example.com/v1", "A") OBJECT("example.com/v1", "A") OBJECT("example.com/v1", "B")},
    {"definition.yaml",
     OBJECT("apiextensions.k8s.io/v1",
            "CustomResourceDefinition\nspec: {group: example.com, names: {kind: A}}")},
    {"ours.yaml",
     OBJECT("v1", "ConfigMap") OBJECT("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration")},
};

static char folder[TESTDIR_SIZE];

static void set_up(void)
{
    testdir_make(folder);
    for (size_t i = 0; i < EK_ARRAY_SIZE(files); i++)
        testdir_put(folder, files[i].name, files[i].text, 0600);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

static const struct command_row rows[] = {
    {"once, with the number of objects",
     {"--to=1.36", "-f@/things.yaml"},
     0,
     "things.yaml:1   example.com/v1 A           the kind is not known, and 2 objects of the kind "
     "were not checked ",
     ""},
    {"each of them",
     {"--to=1.36", "-f@/things.yaml"},
     0,
     "0 errors, 0 unknown, 2 warnings, 0 objects checked, 3 of other kinds, ",
     ""},
    {"one that a definition defines, in any order",
     {"--to=1.36", "-f@/things.yaml", "-f@/definition.yaml"},
     0,
     "0 errors, 0 unknown, 1 warning, 1 object checked, 3 of other kinds, ",
     ""},
    {"those of Kubernetes",
     {"--to=1.36", "-f@/ours.yaml"},
     0,
     "0 errors, 0 unknown, 0 warnings, 2 objects checked, 0 of other kinds, ",
     ""},
};

START_TEST(kinds)
{
    command_expect_row(folder, "plan", &rows[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan_kinds");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, kinds, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("plan_kinds", tc);
}
