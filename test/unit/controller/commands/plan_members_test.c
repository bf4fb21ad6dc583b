/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a finding that programs read: `evenkeel plan -f -o json`. */
#include <check.h>

#include "api/base/mem.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

static const struct {
    const char *name, *text;
} files[] = {
    {"cron.yaml", "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n"},
    {"psp.yaml", "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\n"},
    {"cidr.yaml", "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\nmetadata: {name: a}\n"
                  "spec: {cidrs: [10.0.0.0/24]}\n"},
    {"pod.yaml", "apiVersion: v1\nkind: Pod\nspec: {schedulingGroup: {podGroupName: a}}\n"},
    {"server.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{command: [kube-apiserver, "
                    "--feature-gates=Nope=true]}]}\n"},
    {"thing.yaml", "apiVersion: example.com/v1\nkind: Thing\n"},
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

#define MEMBER(name, value) "      \"" name "\": \"" value "\""
#define NEXT                ",\n"
#define END                 "\n    }"

static const struct command_row rows[] = {
    {"removed",
     {"--to=1.36", "-f@/cron.yaml", "-ojson"},
     2,
     MEMBER("apiVersion", "batch/v1beta1") NEXT MEMBER("kind", "CronJob") NEXT MEMBER(
         "what", "removed") NEXT MEMBER("since", "1.25") NEXT MEMBER("replacement", "batch/v1") END,
     ""},
    {"removed without a replacement",
     {"--to=1.36", "-f@/psp.yaml", "-ojson"},
     2,
     MEMBER("what", "removed") NEXT MEMBER("since", "1.25") END,
     ""},
    {"deprecated",
     {"--to=1.36", "--from=1.33", "-f@/cidr.yaml", "-ojson"},
     0,
     MEMBER("what", "deprecated") NEXT MEMBER("since", "1.34")
         NEXT MEMBER("replacement", "networking.k8s.io/v1") END,
     ""},
    {"rewritten",
     {"--to=1.36", "--from=1.33", "-f@/cidr.yaml", "-ojson", "--fix"},
     0,
     MEMBER("replacement", "networking.k8s.io/v1") NEXT MEMBER("fix", "networking.k8s.io/v1") END,
     ""},
    {"a field that is not known yet",
     {"--to=1.35", "-f@/pod.yaml", "-ojson"},
     2,
     MEMBER("apiVersion", "v1") NEXT MEMBER("kind", "Pod") NEXT MEMBER("what", "field")
         NEXT MEMBER("since", "1.36") END,
     ""},
    {"a flag",
     {"--to=1.36", "-f@/server.yaml", "-ojson"},
     2,
     MEMBER("kind", "Pod") NEXT MEMBER("what", "flag") END,
     ""},
    {"a kind that is not known",
     {"--to=1.36", "-f@/thing.yaml", "-ojson"},
     0,
     MEMBER("apiVersion", "example.com/v1") NEXT MEMBER("kind", "Thing")
         NEXT MEMBER("what", "unknown") END,
     ""},
    {"what blocks a step, and what to do first",
     {"--to=1.37", "--from=1.36", "-f@/cidr.yaml", "-ojson"},
     2,
     "\"to\": \"1.37\",\n      \"canBeUndone\": true,\n      \"errors\": 1,\n      \"blocks\": [\n"
     "        \"networking.k8s.io/v1beta1 ServiceCIDR is removed in 1.37\"\n",
     ""},
    {"the same in the table",
     {"--to=1.37", "--from=1.36", "-f@/cidr.yaml"},
     2,
     "  1 error    use networking.k8s.io/v1\n",
     ""},
    {"in Markdown",
     {"--to=1.37", "--from=1.36", "-f@/cidr.yaml", "-omarkdown"},
     2,
     "| emulation version | 1.36 | 1.37 |  |  | 1 error | use ",
     ""},
    {"a version that goes with another step",
     {"--to=1.38", "--from=1.36", "-f@/cidr.yaml", "-omarkdown"},
     2,
     "| emulation version | 1.37 | 1.38 |  |  |  |  |",
     ""},
    {"the changes of an older binary",
     {"--to=1.35", "--from=1.34", "-f@/thing.yaml"},
     0,
     "gates: 32, APIs served: +0 -0\n",
     ""},
    {"a binary changes nothing",
     {"--to=1.35", "--from=1.34", "-f@/thing.yaml"},
     0,
     "1.34   1.35                          gates: 0, APIs served: +0 -0\n",
     ""},
};

START_TEST(members)
{
    command_expect_row(folder, "plan", &rows[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan_members");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, members, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("plan_members", tc);
}
