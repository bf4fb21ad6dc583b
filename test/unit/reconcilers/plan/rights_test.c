/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readings of CompatibilityPlans request against the ClusterRole evenkeel-plans of
 * deploy/components/plans, both ways round: a resource that the role leaves out makes each plan
 * Unknown, because API servers refuse the request before they look whether they serve the resource.
 */
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/plan/compat.h"
#include "reconcilers/skew/policy.h"
#include "test/support/suite.h"

#define LISTED_MAX 256
#define TEXT_MAX   ((size_t)1 << 16)

static struct ek_plan_data data;
static yyjson_doc *role;

/* "resource.group" of what plans request, and of what the role grants; owned. */
struct names {
    char *names[LISTED_MAX];
    size_t n;
};

static struct names requested, granted;

static bool has(const struct names *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (!strcmp(set->names[i], name))
            return true;
    return false;
}

static void add(struct names *set, const char *group, const char *resource)
{
    EK_AUTOFREE char *name = ek_xasprintf("%s.%s", resource, group);

    if (has(set, name))
        return;
    ck_assert_uint_lt(set->n, LISTED_MAX);
    set->names[set->n++] = ek_xstrdup(name);
}

/* All requests of a reading in which no resource is served, and the versions are tried in turn. */
static void request(struct ek_minor from, struct ek_minor to)
{
    const struct ek_plan_target target = {&data, from, to};
    const struct ek_err absent = {.code = EK_E_NOENT, .message = "not served"};
    struct ek_plan_scan *scan = ek_plan_scan_new(&target, NULL);
    struct ek_plan_scan_request page;

    while (ek_plan_scan_next(scan, &page)) {
        add(&requested, page.group, page.resource);
        ek_plan_scan_heard(scan, &(struct ek_plan_scan_page){.err = &absent});
    }
    ek_plan_scan_free(scan);
}

/* The windows of plans: from the oldest version that a binary emulates to those for which the data
 * declares removals. */
static void request_all(void)
{
    for (uint64_t from = EK_FIRST_EMULATION.minor; from <= data.binary.minor + 6; from++)
        for (uint64_t to = from + 1; to <= from + EK_COMPAT_MINORS_MAX; to++)
            request(EK_MINOR(1, from), EK_MINOR(1, to));
}

static void grant(yyjson_val *rule)
{
    size_t i, n, k, m;
    yyjson_val *group, *resource;

    yyjson_arr_foreach(yyjson_obj_get(rule, "apiGroups"), i, n, group)
    {
        yyjson_arr_foreach(yyjson_obj_get(rule, "resources"), k, m, resource)
        {
            add(&granted, yyjson_get_str(group), yyjson_get_str(resource));
        }
    }
}

/* The rules with list alone: CompatibilityPlans are watched as well, and are no object of a plan.
 */
static void grant_all(void)
{
    size_t i, n;
    yyjson_val *rule;

    yyjson_arr_foreach(ek_json_get(yyjson_arr_get_first(yyjson_doc_get_root(role)), "rules", NULL),
                       i, n, rule)
    {
        yyjson_val *verbs = yyjson_obj_get(rule, "verbs");
        const char *verb = yyjson_get_str(yyjson_arr_get_first(verbs));
        if (yyjson_arr_size(verbs) == 1 && verb && !strcmp(verb, "list"))
            grant(rule);
    }
}

static void open_all(void)
{
    static char text[TEXT_MAX];
    struct ek_err err = {0};
    FILE *file = fopen(EK_TEST_DATA "/../../deploy/components/plans/role.yaml", "r");

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof text, file);
    fclose(file);
    ck_assert_msg(ek_yaml_parse_all(text, len, TEXT_MAX, &role, &err) == 0, "%s", err.message);
    request_all();
    grant_all();
}

static void forget(struct names *set)
{
    for (size_t i = 0; i < set->n; i++)
        ek_free(set->names[i]);
    *set = (struct names){0};
}

static void close_all(void)
{
    forget(&requested);
    forget(&granted);
    yyjson_doc_free(role);
    ek_plan_data_done(&data);
}

START_TEST(the_role_grants_what_plans_request)
{
    ck_assert_uint_gt(requested.n, 20);
    for (size_t i = 0; i < requested.n; i++)
        ck_assert_msg(has(&granted, requested.names[i]),
                      "plans list %s, which evenkeel-plans does not grant", requested.names[i]);
}
END_TEST

START_TEST(plans_request_what_the_role_grants)
{
    ck_assert_uint_gt(granted.n, 20);
    for (size_t i = 0; i < granted.n; i++)
        ck_assert_msg(has(&requested, granted.names[i]),
                      "evenkeel-plans grants %s, which no plan lists", granted.names[i]);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rights");

    tcase_add_unchecked_fixture(tcase, open_all, close_all);
    tcase_add_test(tcase, the_role_grants_what_plans_request);
    tcase_add_test(tcase, plans_request_what_the_role_grants);
    return ek_test_run("rights", tcase);
}
