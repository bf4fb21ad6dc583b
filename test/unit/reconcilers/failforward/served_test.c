/* SPDX-License-Identifier: Apache-2.0 */
/* Whether OLM is installed, by documents of discovery; and its version. */
#include "reconcilers/failforward/served.h"

#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

#define OLD "subscriptions installplans clusterserviceversions catalogsources"
#define OUR "failforwardpolicies failforwardstatuses"

static const struct {
    const char *name, *documents[5]; /* names of resources; NULL: 404 */
    bool olm, reports;
    const char *groups, *conditions;
    size_t read; /* documents */
} rows[] = {
    {"a cluster without OLM", {NULL}, false, false, NULL, NULL, 1},
    {"OLM 0.46",
     {OLD, "operatorgroups", "operatorgroups operatorconditions olmconfigs", "operatorconditions",
      OUR},
     true,
     true,
     "v1",
     "v2",
     5},
    {"the oldest versions",
     {OLD, "operatorgroups", "operatorconditions", NULL, OUR},
     true,
     true,
     "v1alpha2",
     "v1",
     5},
    {"without conditions", {OLD, NULL, "operatorgroups", NULL, OUR}, true, true, "v1", NULL, 5},
    {"without groups", {OLD, NULL, NULL, "operatorconditions", OUR}, false, true, NULL, "v2", 5},
    {"another API of the group", {"subscriptions catalogsources"}, false, false, NULL, NULL, 1},
    {"without our kinds", {OLD, NULL, "operatorgroups", NULL, NULL}, true, false, "v1", NULL, 5},
    {"with one of our kinds",
     {OLD, NULL, "operatorgroups", NULL, "failforwardpolicies"},
     true,
     false,
     "v1",
     NULL,
     5},
};

static yyjson_doc *document(const char *names)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *list = yyjson_mut_arr(doc);
    char *save = NULL;

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_val(doc, root, "resources", list);
    EK_AUTOFREE char *copy = ek_xstrdup(names);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save))
        yyjson_mut_obj_add_strcpy(doc, yyjson_mut_arr_add_obj(doc, list), "name", name);
    yyjson_doc *result = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return result;
}

START_TEST(documents)
{
    struct ek_ff_served served = {.olm = true, .reports = true, .groups_version = "v1"};
    size_t i = 0;
    bool more = true;

    for (; more; i++) {
        ck_assert_ptr_nonnull(ek_ff_served_path(i));
        yyjson_doc *doc = rows[_i].documents[i] ? document(rows[_i].documents[i]) : NULL;
        more = ek_ff_served_note(&served, i, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
    ck_assert_uint_eq(i, rows[_i].read);
    ck_assert_msg(served.olm == rows[_i].olm, "%s", rows[_i].name);
    ck_assert_msg(served.reports == rows[_i].reports, "%s", rows[_i].name);
    ck_assert_pstr_eq(served.groups_version, rows[_i].groups);
    ck_assert_pstr_eq(served.conditions_version, rows[_i].conditions);
}
END_TEST

START_TEST(documents_end)
{
    size_t n = 0;

    while (ek_ff_served_path(n))
        n++;
    ck_assert_uint_eq(n, 5);
    ck_assert_str_eq(ek_ff_served_path(0), "/apis/operators.coreos.com/v1alpha1");
    ck_assert_str_eq(ek_ff_served_path(4), "/apis/evenkeel.dev/v1alpha1");
}
END_TEST

static const struct {
    const char *version;
    bool tried;
} versions[] = {
    {"0.46.0", true},          {"v0.46.3", true},     {"0.46.0-rc.1", false}, {"0.45.9", false},
    {"0.47.0", false},         {"0.47.0-rc1", false}, {"4.18.0", false},      {"", false},
    {"0.0.1-snapshot", false}, {"latest", false},
};

START_TEST(tried)
{
    ck_assert_msg(ek_ff_olm_is_tried(versions[_i].version) == versions[_i].tried, "%s",
                  versions[_i].version);
}
END_TEST

#define CSV(ns, name, version)                                                                     \
    "{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name                                     \
    "\"},\"spec\":{\"version\":\"" version "\"}}"

/* Whoever may create a CSV in a namespace of their own says nothing about OLM. */
static const struct {
    const char *csvs[2], *version;
} found[] = {
    {{CSV("ns", "packageserver", "0.46.0")}, ""},
    {{CSV("olm", "other", "0.46.0")}, ""},
    {{CSV("ns", "packageserver", "0.46.0"), CSV("olm", "packageserver", "0.30.0")}, "0.30.0"},
    {{CSV("openshift-operator-lifecycle-manager", "packageserver", "4.18.1")}, "4.18.1"},
    {{NULL}, ""},
};

START_TEST(version)
{
    struct ek_obj *items[2] = {NULL, NULL};
    struct ek_ff_objs csvs = {items, 0};

    for (; csvs.n < 2 && found[_i].csvs[csvs.n]; csvs.n++)
        ck_assert_int_eq(ek_obj_parse(found[_i].csvs[csvs.n], strlen(found[_i].csvs[csvs.n]),
                                      &items[csvs.n], NULL),
                         0);
    ck_assert_str_eq(ek_ff_olm_version(&csvs), found[_i].version);
    for (size_t i = 0; i < 2; i++)
        ek_obj_unref(items[i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("served");

    tcase_add_loop_test(tc, documents, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, documents_end);
    tcase_add_loop_test(tc, tried, 0, EK_ARRAY_SIZE(versions));
    tcase_add_loop_test(tc, version, 0, EK_ARRAY_SIZE(found));
    return ek_test_run("served", tc);
}
