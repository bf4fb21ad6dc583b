/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in another API version: rows with a manifest and two versions. */
#include "reconcilers/plan/objects.h"

#include <string.h>

#include "api/schema/builtin.h"
#include "api/yaml.h"
#include "test/support/suite.h"

#define INPUT_MAX ((size_t)1 << 20)

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

#define CIDR "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\n"
#define PDB(selector)                                                                              \
    "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nspec: {minAvailable: 1" selector "}\n"
#define SHARES(n)                                                                                  \
    "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: PriorityLevelConfiguration\nspec: "   \
    "{type: Limited, limited: {nominalConcurrencyShares: " n "}}\n"
#define CRON(schedule)                                                                             \
    "apiVersion: batch/v1beta1\nkind: CronJob\nspec:\n  " schedule "\n  jobTemplate: {spec: "      \
    "{template: {spec: {containers: [{name: a}]}}}}\n"

static struct ek_minor minor(unsigned n)
{
    return n ? EK_MINOR(1, n) : EK_MINOR_UNKNOWN;
}

static yyjson_doc *parse(const char *text)
{
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    ck_assert_msg(!ek_yaml_parse(text, strlen(text), INPUT_MAX, &doc, &err), "%s: %s", text,
                  err.message);
    return doc;
}

static const struct {
    const char *name, *object;
    unsigned from, to;
    const char *want; /* the API version; after "!" a part of the reason */
} rows[] = {
    {"the same schema", CIDR "spec: {cidrs: [10.0.0.0/24]}\n", 33, 36, "networking.k8s.io/v1"},
    {"a job", CRON("schedule: '* * * * *'"), 0, 36, "batch/v1"},
    {"a field of the wrong type", CRON("schedule: 5"), 0, 36,
     "!spec.schedule: the field has another type"},
    {"a required field is absent",
     "apiVersion: batch/v1beta1\nkind: CronJob\nspec: {jobTemplate: {spec: {template: {spec: "
     "{}}}}}\n",
     0, 36, "!spec.jobTemplate.spec.template.spec.containers: the field is required"},
    {"a field that the other version does not have", CRON("shedule: a"), 0, 36,
     "!spec.shedule: the field does not exist"},
    {"a structure that changed",
     "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nspec: "
     "{devices: {requests: [{name: a, deviceClassName: b}]}}\n",
     34, 36, "!spec.devices.requests[0].deviceClassName: the field does not exist"},
    {"a selector", PDB(", selector: {matchLabels: {a: b}}"), 0, 36, "policy/v1"},
    {"an empty selector", PDB(", selector: {}"), 0, 36, "!an empty selector"},
    {"no selector", PDB(""), 0, 36, "!an empty selector"},
    {"shares", SHARES("1"), 0, 36, "flowcontrol.apiserver.k8s.io/v1"},
    {"no shares", SHARES("0"), 0, 36, "!nominalConcurrencyShares"},
    {"other defaults", "apiVersion: apps/v1beta1\nkind: Deployment\n", 0, 36, "!the defaults"},
    {"another kind", "apiVersion: v1\nkind: Endpoints\n", 32, 36,
     "!the replacement is another kind"},
    {"no replacement", "apiVersion: v1\nkind: Pod\n", 32, 36, "!Kubernetes names no replacement"},
    {"not known", "apiVersion: v1\nkind: Nope\n", 32, 36, "!the kind is not known"},
    {"not served before the upgrade",
     "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\n"
     "spec: {}\n",
     33, 36, "!1.33 does not serve the replacement yet"},
    {"served before the upgrade",
     "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\n"
     "spec: {}\n",
     34, 36, "resource.k8s.io/v1"},
    {"not served by default", "apiVersion: coordination.k8s.io/v1alpha2\nkind: LeaseCandidate\n",
     33, 35, "!API servers serve the replacement only with --runtime-config"},
};

START_TEST(rewriting)
{
    yyjson_doc *doc = parse(rows[_i].object);
    struct ek_plan_target target = {&data, minor(rows[_i].from), minor(rows[_i].to)};
    struct ek_arena *arena = ek_arena_new(INPUT_MAX);
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = NULL;
    const char *why = NULL, *want = rows[_i].want;

    ck_assert_int_eq(ek_schema_builtin_open((int)rows[_i].to, &schema, NULL), 0);
    const char *got = ek_plan_rewrite(&target, schema, yyjson_doc_get_root(doc), arena, &why);
    ck_assert_msg(!got == !!why, "%s", rows[_i].name);
    if (*want == '!')
        ck_assert_msg(why && strstr(why, want + 1), "%s: %s", rows[_i].name, why ? why : got);
    else
        ck_assert_msg(got && !strcmp(got, want), "%s: %s", rows[_i].name, got ? got : why);
    ek_arena_free(arena);
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(no_schema_no_rewriting)
{
    yyjson_doc *doc = parse(CIDR "spec: {}\n");
    struct ek_plan_target target = {&data, EK_MINOR(1, 33), EK_MINOR(1, 36)};
    struct ek_arena *arena = ek_arena_new(INPUT_MAX);
    const char *why = NULL;

    ck_assert_ptr_null(ek_plan_rewrite(&target, NULL, yyjson_doc_get_root(doc), arena, &why));
    ck_assert_str_eq(why, "the schema of networking.k8s.io/v1 ServiceCIDR is not known");
    ek_arena_free(arena);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rewrite");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_loop_test(tcase, rewriting, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, no_schema_no_rewriting);
    return ek_test_run("rewrite", tcase);
}
