/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel check` on recordings of control planes as installers make them (test/data/shapes). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "informers/client/file.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define OUTPUT_MAX ((size_t)1 << 20)
#define KCM        "kube-controller-manager"
#define SCHED      "kube-scheduler"
#define ID         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char folder[TESTDIR_SIZE];

static void set_up(void)
{
    testdir_make(folder);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

static const char *str(yyjson_val *object, const char *member)
{
    const char *s = ek_json_str(object, member, NULL);
    return s ? s : "";
}

/* The entries of a list of the status, one a line: what it is, its binary and emulation version,
 * its verdict and why. */
static void print(yyjson_val *status, const char *list, const char *what, struct ek_buf *out)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, list), i, n, item)
    {
        const char *component = str(item, "component"), *binary = str(item, "binaryVersion");
        const char *emulation = str(item, "emulationVersion");
        binary = *binary ? binary : str(item, "version");
        ek_buf_printf(out, "%s %s %s/%s %s:%s\n", *component ? component : what, str(item, "name"),
                      binary, emulation, str(item, "verdict"), str(item, "reason"));
    }
}

/* Every row of a shape: its folder, further arguments, the exit code, the verdicts. */
static const struct {
    const char *shape;
    const char *args[COMMAND_ARGS_MAX - 2];
    int code;
    const char *verdicts;
    const char *message; /* a part of the output, after "!" what is in none; NULL: not looked at */
} rows[] = {
    {"kubeadm",
     {NULL},
     0,
     "kube-apiserver cp-1 v1.36.2/1.35 Supported:WithinRange\n"
     "kube-apiserver cp-2 v1.36.2/1.35 Supported:WithinRange\n" KCM
     " cp-1 v1.36.2/1.35 Supported:WithinRange\n" KCM
     " cp-2 v1.36.2/1.35 Supported:WithinRange\n" SCHED
     " cp-1 v1.36.2/1.35 Supported:WithinRange\n" SCHED " cp-2 v1.36.2/1.35 Supported:WithinRange\n"
     "kubelet  v1.35.4/ Supported:WithinRange\nkubelet  v1.34.7/ Supported:WithinRange\n"
     "kube-proxy  v1.35.4/ Supported:WithinRange\n",
     "\"emulationVersionSource\": \"PodFlags\""},
    {"image-ids",
     {NULL},
     3,
     "kube-apiserver cp-1 v1.36.2/1.35 Supported:WithinRange\n"
     "kube-apiserver cp-2 v1.36.2/1.35 Supported:WithinRange\n" KCM
     " cp-1 / Unknown:NotObservable\n" KCM " cp-2 / Unknown:NotObservable\n" SCHED
     " cp-1 / Unknown:NotObservable\n" SCHED " cp-2 / Unknown:NotObservable\n"
     "kubelet  v1.35.4/ Supported:WithinRange\nkubelet  v1.34.7/ Supported:WithinRange\n"
     "kube-proxy  v1.35.4/ Supported:WithinRange\n",
     "the spec of pod " SCHED "-cp-1 is not confirmed by the status: image registry.k8s.io/" SCHED
     ":v1.36.2, running sha256:" ID ID " (1 more pod is like it); enable the feature gate "
     "CoordinatedLeaderElection with coordination.k8s.io/v1beta1, or let its /metrics be read at "
     "the pod's address (--bind-address)"},
    {"k3s",
     {NULL},
     3,
     "kube-apiserver server-1 v1.33.3+k3s1/1.33 Supported:WithinRange\n" KCM
     " server-1 / Unknown:NotObservable\n" SCHED " server-1 / Unknown:NotObservable\n"
     "kubelet  v1.33.3+k3s1/ Supported:WithinRange\n",
     NULL},
    {"rke2",
     {NULL},
     0,
     "kube-apiserver cp-1 v1.27.4+rke2r1/1.27 Supported:WithinRange\n" KCM " " KCM
     "-cp-1 v1.27.4-rke2r1-build20230719/1.27 Supported:WithinRange\n" SCHED " " SCHED
     "-cp-1 v1.27.4-rke2r1-build20230719/1.27 Supported:WithinRange\n"
     "kubelet  v1.27.4+rke2r1/ Supported:WithinRange\n",
     NULL},
    {"rke2-stale",
     {NULL},
     0,
     "kube-apiserver cp-1 v1.27.4+rke2r1/1.27 Supported:WithinRange\n" KCM " " KCM
     "-cp-1 v1.27.4-rke2r1-build20230719/1.27 Supported:WithinRange\n" SCHED " " SCHED
     "-cp-1 v1.27.4-rke2r1-build20230719/1.27 Supported:WithinRange\n"
     "kubelet  v1.27.4+rke2r1/ Supported:WithinRange\n",
     "the spec of pod " SCHED "-cp-1 is not what runs: image index.docker.io/rancher/"
     "hardened-kubernetes:v1.25.11-rke2r1-build20230614, running docker.io/rancher/"
     "hardened-kubernetes:v1.27.4-rke2r1-build20230719"},
    {"retagged",
     {NULL},
     3,
     "kube-apiserver cp-1 v1.27.4+rke2r1/1.27 Supported:WithinRange\n" KCM " " KCM
     "-cp-1 / Unknown:NotObservable\n" SCHED " " SCHED "-cp-1 / Unknown:NotObservable\n"
     "kubelet  v1.27.4+rke2r1/ Supported:WithinRange\n",
     NULL},
    {"eks",
     {NULL},
     3,
     "kube-apiserver 192.168.140.9:443 v1.33.5-eks-113cf36/1.33 Supported:WithinRange\n"
     "kube-apiserver 192.168.61.22:443 v1.33.5-eks-113cf36/1.33 Supported:WithinRange\n" KCM
     " ip-172-16-42-7.us-west-2.compute.internal / Unknown:NotObservable\n" SCHED
     " ip-172-16-98-150.us-west-2.compute.internal / Unknown:NotObservable\n"
     "kubelet  v1.33.5-eks-113cf36/ Supported:WithinRange\n"
     "kube-proxy  v1.33.3-minimal-eksbuild.4/ Supported:WithinRange\n",
     NULL},
    {"eks",
     {"--ignore=" KCM, "--ignore=" SCHED},
     0,
     "kube-apiserver 192.168.140.9:443 v1.33.5-eks-113cf36/1.33 Supported:WithinRange\n"
     "kube-apiserver 192.168.61.22:443 v1.33.5-eks-113cf36/1.33 Supported:WithinRange\n" KCM
     " ip-172-16-42-7.us-west-2.compute.internal / NotJudged:Ignored\n" SCHED
     " ip-172-16-98-150.us-west-2.compute.internal / NotJudged:Ignored\n"
     "kubelet  v1.33.5-eks-113cf36/ Supported:WithinRange\n"
     "kube-proxy  v1.33.3-minimal-eksbuild.4/ Supported:WithinRange\n",
     "!cannot be observed"},
    {"worker-at-server",
     {NULL},
     0,
     "kube-apiserver cp-1 v1.36.2/1.36 Supported:WithinRange\n" KCM
     " cp-1 v1.36.2/1.36 Supported:WithinRange\n" SCHED " cp-1 v1.36.2/1.36 Supported:WithinRange\n"
     "kubelet  v1.35.0/ Supported:WithinRange\n",
     "1 of 1 API servers answer"},
};

START_TEST(shape)
{
    EK_AUTOFREE char *path = ek_xasprintf(EK_TEST_DATA "/shapes/%s", rows[_i].shape);
    EK_AUTOFREE char *output = ek_xasprintf("%s/out", folder);
    const char *args[COMMAND_ARGS_MAX] = {ek_xasprintf("--from=%s", path), "-ojson"};
    EK_AUTOFREE char *text = NULL;
    size_t len;
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, OUTPUT_MAX);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows[_i].args); i++)
        args[i + 2] = rows[_i].args[i];
    int code = command_run(folder, "check", args);
    ck_assert_int_eq(ek_file_read(output, OUTPUT_MAX, &text, &len, NULL), 0);
    yyjson_doc *report = yyjson_read(text, len, 0);
    yyjson_val *status = yyjson_obj_get(yyjson_doc_get_root(report), "status");
    print(status, "peers", "kube-apiserver", &got);
    print(status, "components", "", &got);
    print(status, "nodes", "", &got);
    ck_assert_msg(!strcmp(ek_buf_str(&got), rows[_i].verdicts), "%s: got\n%swant\n%s",
                  rows[_i].shape, ek_buf_str(&got), rows[_i].verdicts);
    ck_assert_msg(code == rows[_i].code, "%s: exit code %d", rows[_i].shape, code);
    const char *message = rows[_i].message ? rows[_i].message : "";
    bool unsaid = *message == '!';
    ck_assert_msg((strstr(text, message + unsaid) != NULL) != unsaid, "%s: \"%s\" in %s",
                  rows[_i].shape, message, text);
    yyjson_doc_free(report);
    ek_free((char *)(uintptr_t)args[0]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("shapes");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, shape, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("shapes", tc);
}
