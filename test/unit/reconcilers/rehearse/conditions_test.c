/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of conditions means. */
#include "reconcilers/rehearse/conditions.h"

#include <string.h>

#include "api/obj.h"
#include "test/support/suite.h"

static const struct {
    const char *name, *before, *after, *changed;
    enum ek_rehearse_severity severity;
} rows[] = {
    {"no change", "Established=True", "Established=True", NULL, EK_REHEARSE_WARNING},
    {"a definition that is not established any more", "Established=True", "Established=False",
     "Established: True, then False", EK_REHEARSE_ERROR},
    {"a defect that appears", "NonStructuralSchema=False", "NonStructuralSchema=True",
     "NonStructuralSchema: False, then True", EK_REHEARSE_ERROR},
    {"a defect that goes", "NonStructuralSchema=True", "NonStructuralSchema=False",
     "NonStructuralSchema: True, then False", EK_REHEARSE_WARNING},
    {"something that works now", "Available=False,X=True", "Available=True,X=True",
     "Available: False, then True", EK_REHEARSE_WARNING},
    {"a condition that is new", "Established=True", "Established=True,New=False", NULL,
     EK_REHEARSE_WARNING},
    {"a condition that is gone", "Established=True,Old=True", "Established=True", NULL,
     EK_REHEARSE_WARNING},
    {"unknown", "Available=True", "Available=Unknown", "Available: True, then Unknown",
     EK_REHEARSE_ERROR},
};

START_TEST(row)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    enum ek_rehearse_severity severity;
    const char *changed =
        ek_rehearse_conditions_changed(rows[_i].before, rows[_i].after, arena, &severity);

    ck_assert_msg(changed || !rows[_i].changed, "%s", rows[_i].name);
    ck_assert_pstr_eq(changed, rows[_i].changed);
    if (changed)
        ck_assert_int_eq(severity, rows[_i].severity);
    ek_arena_free(arena);
}
END_TEST

START_TEST(reading)
{
    static const char text[] =
        "{\"status\":{\"conditions\":[{\"type\":\"B\",\"status\":\"True\"},{\"type\":\"A\","
        "\"status\":\"False\"},{\"type\":\"C,D\",\"status\":\"True\"},{}]}}";
    static const char other[] =
        "{\"spec\":{\"service\":{\"name\":\"x\"}},\"status\":{\"conditions\":[{\"type\":\"A\","
        "\"status\":\"True\"}]}}";
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    yyjson_doc *doc = ek_json_parse(text, sizeof text - 1, NULL);
    yyjson_doc *aggregated = ek_json_parse(other, sizeof other - 1, NULL);

    ck_assert_str_eq(ek_rehearse_conditions(yyjson_doc_get_root(doc), arena), "A=False,B=True");
    ck_assert_str_eq(ek_rehearse_conditions(yyjson_doc_get_root(aggregated), arena), "");
    ck_assert_str_eq(ek_rehearse_conditions(NULL, arena), "");
    ck_assert(ek_rehearse_has_conditions("apiregistration.k8s.io", "apiservices"));
    ck_assert(!ek_rehearse_has_conditions("apps", "deployments"));
    yyjson_doc_free(doc);
    yyjson_doc_free(aggregated);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("conditions");

    tcase_add_loop_test(tcase, row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, reading);
    return ek_test_run("rehearse conditions", tcase);
}
