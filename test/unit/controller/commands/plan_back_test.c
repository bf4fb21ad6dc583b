/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel plan --rollback`, and targets below the version of a recorded cluster. */
#include <check.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define ANSWER(path, file) "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\"}"

/* What all clusters have. */
static const struct {
    const char *name, *text;
} common[] = {
    {"index.json",
     "[" ANSWER("/api/v1/nodes", "nodes.json") "," ANSWER(
         "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "slices.json") "]"},
    {"peers.json",
     "{\"apiservers\":[{\"hostname\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}],\"components\":["
     "{\"hostname\":\"kcm\",\"component\":\"kube-controller-manager\"},"
     "{\"hostname\":\"sched\",\"component\":\"kube-scheduler\"}]}"},
    {"slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{"
     "\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],\"endpoints\":["
     "{\"addresses\":[\"10.0.0.1\"]}]}]}"},
    {"nodes.json", "{\"items\":[{\"metadata\":{\"name\":\"n1\"},\"status\":{\"nodeInfo\":{"
                   "\"kubeletVersion\":\"v1.35.0\"}}}]}"},
    {"peers/cp-a/index.json", "[" ANSWER("/metrics", "m.txt") "]"},
    {"components/kcm/index.json", "[" ANSWER("/metrics", "m.txt") "]"},
    {"components/sched/index.json", "[" ANSWER("/metrics", "m.txt") "]"},
};

/* Clusters whose components all have these versions. */
static const struct {
    const char *folder, *emulation, *min_compat;
} clusters[] = {
    {"done", "1.36", "1.35"},
    {"binary", "1.35", "1.34"},
    {"ended", "1.36", "1.36"},
};

static char folder[TESTDIR_SIZE];

static void put(const char *cluster, const char *name, const char *text)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", cluster, name);

    testdir_put(folder, path, text, 0600);
}

static void set_up(void)
{
    static const char *const metrics[] = {"peers/cp-a/m.txt", "components/kcm/m.txt",
                                          "components/sched/m.txt"};

    testdir_make(folder);
    for (size_t i = 0; i < EK_ARRAY_SIZE(clusters); i++) {
        EK_AUTOFREE char *info = ek_xasprintf(
            "version_info{component=\"kube\",binary=\"1.36.2\",emulation=\"%s\",min_compat=\"%s\"} "
            "1\nkubernetes_feature_enabled{name=\"DRAListTypeAttributes\",stage=\"BETA\"} %s\n",
            clusters[i].emulation, clusters[i].min_compat, "1");
        for (size_t k = 0; k < EK_ARRAY_SIZE(common); k++)
            put(clusters[i].folder, common[k].name, common[k].text);
        for (size_t k = 0; k < EK_ARRAY_SIZE(metrics); k++)
            put(clusters[i].folder, metrics[k], info);
    }
}

static void tear_down(void)
{
    testdir_remove(folder);
}

#define EMULATION "1      kube-controller-manager kcm    emulation version   1.36   1.35"

static const struct command_row rows[] = {
    {"one step back", {"--rollback", "--recording=@/done"}, 2, "Blocked: 1.36 to 1.35 (data", ""},
    {"controllers go first", {"--rollback", "--recording=@/done"}, 2, EMULATION, ""},
    {"binaries stay", {"--rollback", "--recording=@/done"}, 2, "!  binary  ", ""},
    {"the end of the way back",
     {"--rollback", "--recording=@/done"},
     2,
     "\nThe way back ends at 1.35, the highest minimum compatibility version of the API "
     "servers.\n",
     ""},
    {"the same in JSON",
     {"--rollback", "--recording=@/done", "-ojson"},
     2,
     "\"wayBackTo\": \"1.35\"",
     ""},
    {"in YAML", {"--rollback", "--recording=@/done", "-oyaml"}, 2, "wayBackTo: \"1.35\"", ""},
    {"in Markdown",
     {"--rollback", "--recording=@/done", "-omarkdown"},
     2,
     "The way back ends at 1.35",
     ""},
    {"on the page",
     {"--rollback", "--recording=@/done", "-ohtml"},
     2,
     "The way back ends at 1.35",
     ""},
    {"in SARIF", {"--rollback", "--recording=@/done", "-osarif"}, 2, "\"ruleId\": \"flag\"", ""},
    {"what the step changes",
     {"--rollback", "--recording=@/done", "-ojson"},
     2,
     "\"notServed\": [",
     ""},
    {"a gate that the version before does not have",
     {"--rollback", "--recording=@/done"},
     2,
     "kube-apiserver 1.36 does not start: cannot set feature gate DRAListTypeAttributes to true",
     ""},
    {"the objects are not read",
     {"--rollback", "--recording=@/done"},
     2,
     "a recording does not have them",
     ""},
    {"after the new binary, that goes back",
     {"--rollback", "--recording=@/binary"},
     2,
     "kube-apiserver 10.0.0.1:6443   binary   1.36   1.35",
     ""},
    {"a target below goes back to it",
     {"--to=1.35", "--recording=@/done"},
     2,
     "kube-apiserver 10.0.0.1:6443   binary              1.36   1.35",
     ""},
    {"a target at the emulation version stays where that is not asked",
     {"--to=1.35", "--recording=@/binary"},
     3,
     "!kube-apiserver 10.0.0.1:6443   binary",
     ""},
    {"a target at the emulation version",
     {"--rollback", "--to=1.35", "--recording=@/binary"},
     2,
     "kube-apiserver 10.0.0.1:6443   binary   1.36   1.35",
     ""},
    {"too far back",
     {"--to=1.34", "--recording=@/done"},
     2,
     "there is no way back to 1.34: with the minimum compatibility version 1.35, the API server "
     "may "
     "have stored what 1.34 cannot read (rule ApiserverCompatibility)",
     ""},
    {"no way back",
     {"--rollback", "--recording=@/ended"},
     2,
     "there is no way back to 1.35: with the minimum compatibility version 1.36",
     ""},
    {"a target that is no way back",
     {"--rollback", "--to=1.37", "--recording=@/done"},
     2,
     "no API server is newer than the target",
     ""},
    {"not with files",
     {"--rollback", "-f@"},
     1,
     "",
     "--rollback reads a cluster: without -f and --guard"},
    {"not with the guard",
     {"--rollback", "--guard"},
     1,
     "",
     "--rollback reads a cluster: without -f and --guard"},
};

START_TEST(answers)
{
    command_expect_row(folder, "plan", &rows[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan_back");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("plan_back", tc);
}
