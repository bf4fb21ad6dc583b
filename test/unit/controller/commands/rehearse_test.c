/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel rehearse` without servers: its flags, manifests, the line of progress, the report. */
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "controller/commands/rehearse-internal.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

static char folder[TESTDIR_SIZE];

static void setup(void)
{
    testdir_make(folder);
    testdir_put(folder, "etcd.db", "no snapshot", 0600);
    testdir_put(folder, "liar", "#!/bin/sh\necho Kubernetes\n", 0700);
    testdir_put(folder, "etcd/etcd", "#!/bin/sh\n", 0700);
    testdir_put(folder, "etcd/etcdutl", "#!/bin/sh\n", 0700);
    testdir_put(folder, "pod.yaml",
                "kind: ConfigMap\n---\napiVersion: v1\nkind: Pod\nspec: {containers: [{command: "
                "[kube-apiserver, --a=1, --b]}]}\n",
                0600);
    testdir_put(folder, "kubeadm.yaml",
                "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\napiServer: "
                "{extraArgs: [{name: a, value: '1'}]}\n",
                0600);
    testdir_put(folder, "none.yaml", "apiVersion: v1\nkind: Pod\n", 0600);
    testdir_put(folder, "broken.yaml", "a: [\n", 0600);
}

static void teardown(void)
{
    testdir_remove(folder);
}

static const struct {
    const char *name;
    const char *args[COMMAND_ARGS_MAX];
    int code;
    const char *err;
} commands[] = {
    {"nothing", {NULL}, 1, "--kube-apiserver is required, and --snapshot or --from-cluster"},
    {"two sources",
     {"--snapshot=@/etcd.db", "--from-cluster", "--kube-apiserver=@/liar"},
     1,
     "--snapshot and --from-cluster exclude each other"},
    {"a cluster and a snapshot",
     {"--snapshot=@/etcd.db", "--kube-apiserver=@/liar", "--context=a"},
     1,
     "need --from-cluster"},
    {"a copy is not encrypted",
     {"--from-cluster", "--kube-apiserver=@/liar", "--encryption-config=@/pod.yaml"},
     1,
     "--encryption-config needs --snapshot"},
    {"a kubeconfig that is absent",
     {"--from-cluster", "--kube-apiserver=@/liar", "--kubeconfig=@/none"},
     1,
     "copying the cluster: "},
    {"a snapshot that is absent", {"--snapshot=@/x", "--kube-apiserver=@/liar"}, 1, "--snapshot "},
    {"a manifest without a server",
     {"--snapshot=@/etcd.db", "--kube-apiserver=@/liar", "--manifest=@/none.yaml"},
     1,
     "there is no static Pod of a kube-apiserver"},
    {"no etcd",
     {"--snapshot=@/etcd.db", "--kube-apiserver=@/liar", "--etcd=@", "--allow-host-network"},
     1,
     "no program etcd in "},
    {"a program that is no API server",
     {"--snapshot=@/etcd.db", "--kube-apiserver=@/liar", "--etcd=@/etcd", "--allow-host-network"},
     1,
     "is no kube-apiserver: --version prints \"Kubernetes\""},
    {"a version that is none", {"--from=two"}, 1, "two is not a version"},
    {"a time that is none", {"--timeout=0s"}, 1, "0s is not a duration above zero"},
    {"too many dry runs", {"--dry-runs=1000001"}, 1, "is not within 0 and 1000000"},
};

START_TEST(command_row)
{
    int code = command_run(folder, "rehearse", commands[_i].args);

    ck_assert_msg(code == commands[_i].code, "%s: %d", commands[_i].name, code);
    command_expect(folder, commands[_i].name, "out", "");
    command_expect(folder, commands[_i].name, "err", commands[_i].err);
}
END_TEST

static const struct {
    const char *file;
    int code;
    size_t n; /* arguments */
} manifests[] = {
    {"pod.yaml", 0, 3},
    {"kubeadm.yaml", 0, 1},
    {"none.yaml", EK_E_NOENT, 0},
    {"broken.yaml", EK_E_PARSE, 0},
    {"absent.yaml", EK_E_NOENT, 0},
};

START_TEST(manifest_row)
{
    struct ek_server_args args = {.arena = ek_arena_new((size_t)1 << 20)};
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, manifests[_i].file);
    struct ek_err err = {0};
    yyjson_doc *doc;

    ck_assert_int_eq(ek_rehearse_read_manifest(path, &args, &doc, &err), manifests[_i].code);
    ck_assert_uint_eq(args.n, manifests[_i].n);
    yyjson_doc_free(doc);
    ek_arena_free(args.arena);
}
END_TEST

static const struct {
    struct ek_rehearse_progress at;
    const char *text;
} lines[] = {
    {{0, 0, "restoring", 0, 0, 1000}, "restoring"},
    {{0, 0, "copying pods", 1200, 0, 1000}, "copying pods, 1200 objects"},
    {{0, 4, "starting", 0, 0, 1000}, "step 1 of 4: starting"},
    {{1, 4, "trying", 0, 0, 10000}, "step 2 of 4: trying, about 30s left"},
    {{1, 4, "trying", 50, 100, 15000}, "step 2 of 4: trying, 50 of 100 objects, about 25s left"},
    {{3, 4, "trying", 200, 100, 15000}, "step 4 of 4: trying, 200 of 100 objects"},
};

START_TEST(progress_row)
{
    char text[200];

    ck_assert_str_eq(ek_rehearse_progress_text(&lines[_i].at, text, sizeof text), lines[_i].text);
}
END_TEST

/* A result whose texts an enemy wrote. */
static void make_result(struct ek_rehearse_result *result, bool reached, bool breaks, bool copied)
{
    static struct ek_rehearse_refused refused = {"<b>no</b>", "flag --x", true};
    static const char *log[] = {"<i>last\x1b[2J"};

    *result = (struct ek_rehearse_result){.arena = ek_arena_new((size_t)1 << 24),
                                          .binary = "Kubernetes v1.36.2",
                                          .old_binary = "",
                                          .not_isolated = "",
                                          .left = "",
                                          .n_steps = 1};
    result->report.arena = result->arena;
    result->steps[0] = (struct ek_rehearse_outcome){.reached = reached,
                                                    .failure = "",
                                                    .refused = &refused,
                                                    .n_refused = 1,
                                                    .log = log,
                                                    .n_log = 1};
    if (breaks)
        ek_rehearse_report_add(&result->report, 0, EK_REHEARSE_ERROR, "undecodable",
                               "v1 pods <script>", "a\x1b[31m message");
    if (copied) {
        snprintf(result->copied.server, sizeof result->copied.server, "https://<b>cluster</b>");
        ek_rehearse_report_add(&result->report, 0, EK_REHEARSE_UNKNOWN, "not-copied", "v1 secrets",
                               "forbidden");
    }
}

static const struct {
    bool reached, breaks, copied;
    int code;
    const char *verdict;
} results[] = {
    {true, false, false, 0, "Clean"},     {true, true, false, 2, "Breaks"},
    {false, true, false, 2, "Breaks"},    {false, false, false, 1, "Incomplete"},
    {true, false, true, 1, "Incomplete"}, {true, true, true, 2, "Breaks"},
};

START_TEST(result_row)
{
    struct ek_rehearse_result result;
    int64_t now_ms = 0;
    struct ek_buf out;

    make_result(&result, results[_i].reached, results[_i].breaks, results[_i].copied);
    yyjson_doc *doc = ek_rehearse_document(&result);
    yyjson_val *root = yyjson_doc_get_root(doc);
    ck_assert_str_eq(ek_json_text(root, "verdict"), results[_i].verdict);
    ck_assert_int_eq(ek_rehearse_exit(&result), results[_i].code);
    ek_buf_init(&out, (size_t)1 << 22);
    ck_assert_int_eq(ek_rehearse_table(NULL, root, false, &out), 0);
    ck_assert(!strncmp(ek_buf_str(&out), results[_i].verdict, strlen(results[_i].verdict)));
    ck_assert(strstr(ek_buf_str(&out), "A rehearsal cannot show:") != NULL);
    ck_assert(strchr(ek_buf_str(&out), '\x1b') == NULL);
    bool snapshot = strstr(ek_buf_str(&out), "after the snapshot was taken") != NULL;
    bool values = strstr(ek_buf_str(&out), "the values of Secrets") != NULL;
    ck_assert(snapshot != results[_i].copied && values == results[_i].copied);
    ek_buf_reset(&out);
    ck_assert_int_eq(ek_rehearse_html(&now_ms, root, false, &out), 0);
    ck_assert(strstr(ek_buf_str(&out), "pods <script>") == NULL);
    ck_assert(strstr(ek_buf_str(&out), "<b>") == NULL);
    ck_assert(strchr(ek_buf_str(&out), '\x1b') == NULL);
    ek_buf_done(&out);
    yyjson_doc_free(doc);
    ek_rehearse_result_done(&result);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rehearse");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, command_row, 0, EK_ARRAY_SIZE(commands));
    tcase_add_loop_test(tcase, manifest_row, 0, EK_ARRAY_SIZE(manifests));
    tcase_add_loop_test(tcase, progress_row, 0, EK_ARRAY_SIZE(lines));
    tcase_add_loop_test(tcase, result_row, 0, EK_ARRAY_SIZE(results));
    return ek_test_run("rehearse", tcase);
}
