/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and names of etcd. */
#include "reconcilers/rehearse/stored.h"

#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

static const struct {
    const char *group, *resource;
    bool custom;
    const char *folder, *key, *name;
} rows[] = {
    {"", "pods", false, "pods", "/registry/pods/shop/web", "shop/web"},
    {"", "nodes", false, "minions", "/registry/minions/n1", "n1"},
    {"", "services", false, "services/specs", "/registry/services/specs/a/b", "a/b"},
    {"", "endpoints", false, "services/endpoints", "/registry/services/endpoints/a/b", "a/b"},
    {"apps", "deployments", false, "deployments", "/registry/deployments/a/b", "a/b"},
    {"networking.k8s.io", "ingresses", false, "ingress", "/registry/ingress/a/b", "a/b"},
    {"apiextensions.k8s.io", "customresourcedefinitions", false,
     "apiextensions.k8s.io/customresourcedefinitions",
     "/registry/apiextensions.k8s.io/customresourcedefinitions/a.b.c", "a.b.c"},
    {"example.com", "widgets", true, "example.com/widgets",
     "/registry/example.com/widgets/default/w", "default/w"},
};

START_TEST(row)
{
    char folder[EK_REHEARSE_FOLDER_SIZE];

    ek_rehearse_folder_of(rows[_i].group, rows[_i].resource, rows[_i].custom, folder);
    ck_assert_str_eq(folder, rows[_i].folder);
    ck_assert(ek_rehearse_folder_of_key("/registry", rows[_i].key, folder));
    ck_assert_str_eq(folder, rows[_i].folder);
    ck_assert_str_eq(ek_rehearse_name_of_key("/registry", folder, rows[_i].key), rows[_i].name);
}
END_TEST

START_TEST(no_objects)
{
    static const char *const keys[] = {"/registry/ranges/serviceips",
                                       "/registry/masterleases/10.0.0.1",
                                       "/registry/peerserverleases/apiserver-x",
                                       "/registry/pods",
                                       "/registry/",
                                       "/other/pods/a/b",
                                       "/registryx/pods/a/b",
                                       "/registry/services/specs",
                                       "compact_rev_key",
                                       ""};
    char folder[EK_REHEARSE_FOLDER_SIZE];

    for (size_t i = 0; i < EK_ARRAY_SIZE(keys); i++)
        ck_assert_msg(!ek_rehearse_folder_of_key("/registry", keys[i], folder), "%s", keys[i]);
    ck_assert_ptr_null(ek_rehearse_name_of_key("/registry", "pods", "/registry/podtemplates/a/b"));
    ck_assert_ptr_null(ek_rehearse_name_of_key("/registry", "pods", "/registry/pods/"));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("stored");

    tcase_add_loop_test(tcase, row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, no_objects);
    return ek_test_run("rehearse stored", tcase);
}
