/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel check` as its users meet it: arguments in, an exit code and two streams out. */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/buf.h"
#include "controller/commands.h"
#include "informers/file.h"

#define OUTPUT_MAX ((size_t)1 << 20)

/* What each row reads: files "name=text", in the folder that --from names as "@". */
struct recorded {
    const char *name, *text;
};

#define LIST(path, file) "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\"}"
#define SLICES           "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define CANDIDATES       "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"

/* One API server at 1.36, and a scheduler and a controller manager told by LeaseCandidates. */
static const struct recorded healthy[] = {
    {"index.json", "[" LIST("/api/v1/nodes", "nodes.json") "," LIST(SLICES, "slices.json") "," LIST(
                       "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                       "leases.json") "," LIST(CANDIDATES, "candidates.json") "]"},
    {"peers.json",
     "{\"apiservers\":[{\"hostname\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}],"
     "\"components\":[{\"hostname\":\"kcm\",\"component\":\"kube-controller-manager\"},"
     "{\"hostname\":\"sched\",\"component\":\"kube-scheduler\"}]}"},
    {"leases.json", "{\"items\":[]}"},
    {"candidates.json", "{\"items\":[]}"},
    {"slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":"
     "{\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],"
     "\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]}]}]}"},
    {"nodes.json", "{\"items\":[{\"metadata\":{\"name\":\"n1\"},"
                   "\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"}}}]}"},
    {"peers/cp-a/index.json", "[" LIST("/version", "version.json") "]"},
    {"peers/cp-a/version.json", "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\","
                                "\"emulationMajor\":\"1\",\"emulationMinor\":\"36\"}"},
    {"components/kcm/index.json", "[" LIST("/metrics", "metrics.txt") "]"},
    {"components/kcm/metrics.txt", "version_info{component=\"kube\",binary=\"1.36.2\","
                                   "emulation=\"1.36\",min_compat=\"1.35\"} 1\n"},
    {"components/sched/index.json", "[" LIST("/metrics", "metrics.txt") "]"},
    {"components/sched/metrics.txt", "version_info{component=\"kube\",binary=\"1.36.2\","
                                     "emulation=\"1.36\",min_compat=\"1.35\"} 1\n"},
};

static char folder[64], program[] = "evenkeel", command[] = "check";

static void put_file(const char *name, const char *text)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, name);

    FILE *f = fopen(path, "w");
    ck_assert_msg(f != NULL, "cannot write %s", path);
    fputs(text, f);
    fclose(f);
}

static void set_up(void)
{
    static const char *const folders[] = {"peers", "peers/cp-a", "components", "components/kcm",
                                          "components/sched"};

    snprintf(folder, sizeof folder, "/tmp/check_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (size_t i = 0; i < EK_ARRAY_SIZE(folders); i++) {
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, folders[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(healthy); i++)
        put_file(healthy[i].name, healthy[i].text);
}

static int erase(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void tear_down(void)
{
    nftw(folder, erase, 8, FTW_DEPTH | FTW_PHYS);
}

#define KUBELET(version)                                                                           \
    "{\"items\":[{\"metadata\":{\"name\":\"n1\"},"                                                 \
    "\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"" version "\"}}}]}"

static const struct {
    const char *name;
    const char *nodes; /* in place of nodes.json, NULL to keep it */
    const char *args[4];
    int code;
    const char *out, *err; /* what stdout and stderr must contain, "" for nothing at all */
} rows[] = {
    {"supported", NULL, {"--from", "@"}, 0, "Supported: 1/1 API servers", ""},
    {"a violation", KUBELET("v1.37.0"), {"--from=@"}, 2, ", 1 violation, 0 unknown", ""},
    {"an unknown", KUBELET("latest"), {"--from", "@"}, 3, "Unknown: 1/1", ""},
    {"no colour but on a terminal", KUBELET("v1.37.0"), {"--from", "@"}, 2, "!\033", ""},
    {"colour when asked for", NULL, {"--from", "@", "--color=always"}, 0, "\033[32m", ""},
    {"JSON", NULL, {"--from", "@", "-o", "json"}, 0, "\"verdict\": \"Supported\"", ""},
    {"YAML", NULL, {"--from", "@", "-oyaml"}, 0, "kind: ControlPlane\n", ""},
    {"a next version", NULL, {"--from", "@", "--next-version=1.38"}, 0, "go to 1.38", ""},
    {"no recording", NULL, {"--from", "/nonexistent"}, 1, "", "so it is not a recording"},
    {"no folder", NULL, {"--from="}, 1, "", "--from: the folder's name is empty"},
    {"a format that is none", NULL, {"--from=@", "-o", "xml"}, 1, "", "table, json, yaml"},
    {"a next version that is none",
     NULL,
     {"--from=@", "--next-version=abc"},
     1,
     "",
     "--next-version: abc is not a version"},
    {"no time", NULL, {"--from=@", "--timeout=-5s"}, 1, "", "--timeout: -5s is not above zero"},
    {"a stray argument", NULL, {"--from=@", "more"}, 1, "", "unexpected argument \"more\""},
};

/* Runs check with the row's arguments, its streams in files of the folder. */
static int run_row(const char *const args[4])
{
    char *argv[7] = {program, command};
    int argc = 2;

    for (int i = 0; i < 4 && args[i]; i++) {
        const char *at = strchr(args[i], '@');
        argv[argc++] =
            at ? ek_xasprintf("%.*s%s", (int)(at - args[i]), args[i], folder) : ek_xstrdup(args[i]);
    }
    EK_AUTOFREE char *out = ek_xasprintf("%s/out", folder);
    EK_AUTOFREE char *err = ek_xasprintf("%s/err", folder);
    fflush(stdout);
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(freopen(out, "w", stdout));
    ck_assert_ptr_nonnull(freopen(err, "w", stderr));
    int code = ek_program_run(argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(saved_out);
    close(saved_err);
    for (int i = 2; i < argc; i++)
        ek_free(argv[i]);
    return code;
}

/* wanted: a part; "" for nothing at all; after "!" what must not be there. */
static void expect(const char *row, const char *stream, const char *wanted)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, stream);
    EK_AUTOFREE char *text = NULL;
    size_t len;

    ck_assert_int_eq(ek_file_read(path, OUTPUT_MAX, &text, &len, NULL), 0);
    bool good = !*wanted         ? !*text
                : *wanted == '!' ? !strstr(text, wanted + 1)
                                 : strstr(text, wanted) != NULL;
    ck_assert_msg(good, "%s: expected \"%s\" on std%s, got: %s", row, wanted, stream, text);
}

START_TEST(answers)
{
    if (rows[_i].nodes)
        put_file("nodes.json", rows[_i].nodes);
    int code = run_row(rows[_i].args);
    expect(rows[_i].name, "out", rows[_i].out);
    expect(rows[_i].name, "err", rows[_i].err);
    ck_assert_msg(code == rows[_i].code, "%s: exit code %d", rows[_i].name, code);
}
END_TEST

START_TEST(a_full_disk_is_a_failure)
{
    EK_AUTOFREE char *from = ek_xasprintf("--from=%s", folder);
    char *argv[] = {program, command, from, NULL};

    int saved = dup(STDOUT_FILENO);
    ck_assert_ptr_nonnull(freopen("/dev/full", "w", stdout));
    int code = ek_program_run(3, argv);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    ck_assert_int_eq(code, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check");
    TCase *tc = tcase_create("check");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, a_full_disk_is_a_failure);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
