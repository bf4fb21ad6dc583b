/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: what stays of an object, and `evenkeel check --record` as its users meet it. */
#include "controller/commands/record.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/buf.h"
#include "controller/commands/record_strip.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

static char *strip(const char *json)
{
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};
    yyjson_mut_doc *doc = ek_json_doc_new();

    ck_assert_msg(ek_obj_parse(json, strlen(json), &obj, &err) == 0, "%s: %s", json, err.message);
    yyjson_mut_val *value = ek_record_strip(doc, obj);
    char *text = yyjson_mut_val_write(value, 0, NULL);
    yyjson_mut_doc_free(doc);
    ek_obj_unref(obj);
    return text;
}

/* Command lines, as JSON lists of words: command, args, and what stays of both. */
static const struct {
    const char *name, *command, *args, *kept_command, *kept_args;
} lines[] = {
    {"a flag that is read", "[\"kube-apiserver\",\"--emulated-version=1.35\"]", "[]",
     "[\"kube-apiserver\",\"--emulated-version=1.35\"]", "[]"},
    {"any other value", "[\"kube-apiserver\",\"--etcd-servers=https://u:p@e\"]", "[]",
     "[\"kube-apiserver\",\"--etcd-servers=removed\"]", "[]"},
    {"a value that is a word", "[\"kube-apiserver\",\"--token\",\"secret\"]", "[]",
     "[\"kube-apiserver\",\"--token\",\"removed\"]", "[]"},
    {"the value of a flag that is read",
     "[\"kube-apiserver\",\"--secure-port\",\"6444\",\"secret\"]", "[]",
     "[\"kube-apiserver\",\"--secure-port\",\"6444\",\"removed\"]", "[]"},
    {"a value in the other list", "[\"kube-apiserver\",\"--feature-gates\"]", "[\"A=true\",\"b\"]",
     "[\"kube-apiserver\",\"--feature-gates\"]", "[\"A=true\",\"removed\"]"},
    {"underscores", "[\"kube-apiserver\",\"--feature_gates=A=true\"]", "[]",
     "[\"kube-apiserver\",\"--feature_gates=A=true\"]", "[]"},
    {"a name that only begins alike", "[\"kube-apiserver\",\"--bind-address-hard=x\"]", "[]",
     "[\"kube-apiserver\",\"--bind-address-hard=removed\"]", "[]"},
    {"a short flag", "[\"kube-apiserver\",\"-psecret\"]", "[]", "[\"kube-apiserver\",\"-removed\"]",
     "[]"},
    {"a variable stays one", "[\"kube-apiserver\",\"$(SECRET)\"]", "[]",
     "[\"kube-apiserver\",\"$(removed)\"]", "[]"},
    {"a program behind a program",
     "[\"/go-runner\",\"--log-file=/x\",\"/usr/bin/kube-scheduler\",\"--x=y\"]", "[]",
     "[\"/go-runner\",\"--log-file=removed\",\"/usr/bin/kube-scheduler\",\"--x=removed\"]", "[]"},
    {"a shell", "[\"sh\",\"-c\",\"TOKEN=secret exec kube-apiserver\"]", "[]",
     "[\"sh\",\"-removed\",\"removed\"]", "[]"},
    {"a shell that ends with a program",
     "[\"/bin/sh\",\"-c\",\"P=secret exec /usr/local/bin/kube-apiserver\"]", "[]",
     "[\"/bin/sh\",\"-removed\",\"removed\"]", "[]"},
    {"a value that ends with a program",
     "[\"kube-apiserver\",\"--etcd-servers=https://u:p@e/kube-apiserver\"]", "[]",
     "[\"kube-apiserver\",\"--etcd-servers=removed\"]", "[]"},
    {"a word for the program of the image", "null", "[\"secret\"]", NULL, "[\"removed\"]"},
    {"a script in place of a program", "[\"TOKEN=secret\"]", "[\"a b\"]", "[\"removed\"]",
     "[\"removed\"]"},
    {"arguments without a command", "null", "[\"--bind-address=::\",\"--t=s\"]", NULL,
     "[\"--bind-address=::\",\"--t=removed\"]"},
    {"no words", "[1,\"--t=s\"]", "\"secret\"", "[null,\"--t=removed\"]", NULL},
};

START_TEST(command_lines)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\",\"command\":%s,\"args\":%s}]}}",
        lines[_i].command, lines[_i].args);
    const char *command = lines[_i].kept_command, *args = lines[_i].kept_args;
    EK_AUTOFREE char *wanted = ek_xasprintf(
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\"%s%s%s%s}]},\"status\":{\"containerStatuses\":[]}}",
        command ? ",\"command\":" : "", command ? command : "", args ? ",\"args\":" : "",
        args ? args : "");
    EK_AUTOFREE char *got = strip(json);

    ck_assert_msg(!strcmp(got, wanted), "%s: %s", lines[_i].name, got);
}
END_TEST

#define META "\"metadata\":{\"name\":\"x\"}"

static const struct {
    const char *name, *json, *kept;
} objects[] = {
    {"metadata",
     "{\"kind\":\"Other\",\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"},\"annotations\":{"
     "\"kubectl.kubernetes.io/last-applied-configuration\":\"s\",\"kubernetes.io/config.hash\":"
     "\"h\",\"vault/token\":\"s\"},\"managedFields\":[{\"manager\":\"m\"}]},\"data\":{\"k\":\"s\"},"
     "\"spec\":{\"s\":1}}",
     "{\"kind\":\"Other\",\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"},\"annotations\":{"
     "\"kubernetes.io/config.hash\":\"h\"}}}"},
    {"a pod",
     "{\"kind\":\"Pod\"," META
     ",\"spec\":{\"nodeName\":\"n\",\"hostNetwork\":true,\"volumes\":[{}],"
     "\"serviceAccountName\":\"s\",\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"T\","
     "\"value\":\"s\"}],\"envFrom\":[{}],\"volumeMounts\":[{}]}],\"initContainers\":[{\"env\":[]}]}"
     ","
     "\"status\":{\"phase\":\"Running\",\"message\":\"s\",\"containerStatuses\":[{\"name\":\"c\","
     "\"image\":\"r\",\"imageID\":\"i\",\"state\":{\"waiting\":{\"message\":\"s\"}}}]}}",
     "{\"kind\":\"Pod\"," META ",\"spec\":{\"nodeName\":\"n\",\"hostNetwork\":true,\"containers\":["
     "{\"name\":\"c\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\","
     "\"image\":\"r\",\"imageID\":\"i\",\"state\":{\"waiting\":{}}}]}}"},
    {"a node",
     "{\"kind\":\"Node\"," META ",\"spec\":{\"providerID\":\"s\"},\"status\":{\"nodeInfo\":{"
     "\"kubeletVersion\":\"v1.36.0\",\"machineID\":\"s\"},\"addresses\":[],\"images\":[{\"names\":["
     "\"s\"]}]}}",
     "{\"kind\":\"Node\"," META ",\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"},"
     "\"addresses\":[]}}"},
    {"a lease", "{\"kind\":\"Lease\"," META ",\"spec\":{\"holderIdentity\":\"h\"},\"data\":\"s\"}",
     "{\"kind\":\"Lease\"," META ",\"spec\":{\"holderIdentity\":\"h\"}}"},
    {"a slice",
     "{\"kind\":\"EndpointSlice\"," META ",\"addressType\":\"IPv4\",\"endpoints\":[],\"ports\":[]}",
     "{\"kind\":\"EndpointSlice\"," META
     ",\"addressType\":\"IPv4\",\"endpoints\":[],\"ports\":[]}"},
};

START_TEST(what_stays_of_an_object)
{
    EK_AUTOFREE char *got = strip(objects[_i].json);
    ck_assert_msg(!strcmp(got, objects[_i].kept), "%s: %s", objects[_i].name, got);
}
END_TEST

/* ---- Folders ---- */

#define LIST(path, file) "{\"path\":\"" path "\",\"status\":200,\"file\":\"" file "\"}"

/* One API server that answers, with a pod that has secrets, and one that refuses; a list that is
 * forbidden, one that is not served, one that failed, and one that nobody read. */
static const struct {
    const char *name, *text;
} recorded[] = {
    {"index.json",
     "[" LIST("/api/v1/nodes", "nodes.json") "," LIST(
         "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
         "slices.json") ","
                        "{\"path\":\"/apis/coordination.k8s.io/v1/namespaces/kube-system/"
                        "leases\",\"status\":403,"
                        "\"error\":{\"kind\":\"forbidden\",\"message\":\"no\"}},"
                        "{\"path\":\"/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/"
                        "leasecandidates\","
                        "\"status\":500,\"error\":{\"kind\":\"server error\",\"message\":\"etcd is "
                        "away\"}},"
                        "{\"path\":\"/apis/evenkeel.dev/v1alpha1/controlplanes\",\"status\":404,"
                        "\"error\":{\"kind\":\"not found\",\"message\":\"no\"}}," LIST(
                            "/api/v1/namespaces/kube-system/pods", "pods.json") "]"},
    {"peers.json",
     "{\"time\":\"2026-11-20T10:58:09.687000Z\",\"configured\":\"10.0.0.1:6443\",\"apiservers\":["
     "{\"hostname\":\"a\",\"address\":\"10.0.0.1:6443\"},"
     "{\"hostname\":\"b\",\"address\":\"10.0.0.2:6443\",\"proven\":false}],"
     "\"components\":[{\"hostname\":\"s\",\"component\":\"kube-scheduler\","
     "\"address\":\"10.0.0.1:10259\",\"noToken\":{\"kind\":\"forbidden\",\"message\":\"no "
     "create\"}}]}"},
    {"slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":"
     "{\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],"
     "\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]},{\"addresses\":[\"10.0.0.2\"]}]}]}"},
    {"nodes.json",
     "{\"items\":[{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"a\":\"SECRET\"},"
     "\"labels\":{\"node-role.kubernetes.io/control-plane\":\"\"}},"
     "\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"v1.37.0\",\"machineID\":\"SECRET\"}}}]}"},
    {"pods.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kube-apiserver-n1\",\"namespace\":\"kube-system\","
     "\"labels\":{\"component\":\"kube-apiserver\",\"tier\":\"control-plane\"},\"annotations\":{"
     "\"kubernetes.io/config.mirror\":\"h\",\"kubernetes.io/config.hash\":\"h\"}},\"spec\":{"
     "\"nodeName\":\"n1\",\"hostNetwork\":true,\"containers\":[{\"name\":\"kube-apiserver\","
     "\"image\":\"registry.k8s.io/kube-apiserver:v1.36.2\",\"command\":[\"kube-apiserver\","
     "\"--token-auth-file=SECRET\",\"--feature-gates=APIServerIdentity=true\"],"
     "\"env\":[{\"name\":\"A\",\"value\":\"SECRET\"}]}]},\"status\":{\"phase\":\"Running\","
     "\"podIP\":\"10.0.0.1\",\"hostIP\":\"10.0.0.1\"}},"
     "{\"metadata\":{\"name\":\"kube-scheduler-n1\",\"namespace\":\"kube-system\",\"labels\":{"
     "\"component\":\"kube-scheduler\",\"tier\":\"control-plane\"},\"annotations\":{"
     "\"kubernetes.io/config.mirror\":\"h\"}},\"spec\":{\"nodeName\":\"n1\",\"hostNetwork\":true,"
     "\"containers\":[{\"name\":\"kube-scheduler\",\"image\":\"k/kube-scheduler:v1.36.2\"}]},"
     "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"containerStatuses\":[{\"name\":"
     "\"kube-scheduler\",\"image\":\"k/kube-scheduler:v1.35.1\"}]}}]}"},
    {"peers/a/index.json",
     "[{\"path\":\"/version\",\"status\":200,\"file\":\"version.json\",\"certificate\":{"
     "\"fingerprint\":\"ab\",\"names\":[\"n1\"],\"notAfter\":\"2027-01-01T00:00:00Z\","
     "\"verified\":true}}," LIST(
         "/metrics",
         "metrics.txt") ","
                        "{\"path\":\"/readyz?verbose=1\",\"status\":500,\"file\":\"readyz\"}]"},
    {"peers/a/version.json", "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\","
                             "\"emulationMajor\":\"1\",\"emulationMinor\":\"36\","
                             "\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"35\"}"},
    {"peers/a/readyz", "[+]ping ok\n[-]etcd failed: reason withheld\n"},
    {"peers/a/metrics.txt",
     "kubernetes_feature_enabled{name=\"A\\\\\\\"\\nB\",stage=\"BETA\"} 1\n"
     "secret_metric{user=\"SECRET\"} 1\nversion_info{component=\"kube\",binary=\"1.36.2\","
     "emulation=\"1.36\",min_compat=\"1.35\"} 1\n"},
    {"peers/b/index.json",
     "[{\"path\":\"/version\",\"status\":0,"
     "\"error\":{\"kind\":\"connection refused\",\"message\":\"10.0.0.2:6443: refused\"}},"
     "{\"path\":\"/readyz?verbose=1\",\"status\":0,"
     "\"error\":{\"kind\":\"connection refused\",\"message\":\"10.0.0.2:6443: refused\"}}]"},
    {"components/s/index.json", "[]"},
};

static char folder[TESTDIR_SIZE];

static void set_up(void)
{
    testdir_make(folder);
    for (size_t i = 0; i < EK_ARRAY_SIZE(recorded); i++)
        testdir_put(folder, recorded[i].name, recorded[i].text, 0600);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

static char *read_out(void)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/out", folder);
    FILE *f = fopen(path, "re");
    char *text = ek_xalloc((size_t)1 << 20);

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_gt(fread(text, 1, ((size_t)1 << 20) - 1, f), 0);
    fclose(f);
    return text;
}

/* Whoever gets the recording sees the same report, in every form. */
START_TEST(a_recording_gives_the_same_report)
{
    static const char *const forms[] = {"-otable", "-ojson", "-oyaml"};
    const char *const record[] = {"--from=@", forms[_i], "--record", "@/new", NULL};
    const char *const replay[] = {"--from", "@/new", forms[_i], NULL};

    ck_assert_int_eq(command_run(folder, "check", record), 2);
    EK_AUTOFREE char *before = read_out();
    command_expect(folder, "the first report", "err", "");
    ck_assert_int_eq(command_run(folder, "check", replay), 2);
    EK_AUTOFREE char *after = read_out();
    ck_assert_msg(!strcmp(before, after), "%s\n%s", before, after);
    /* The report has all that the recording says of failures. */
    static const char *const facts[] = {"forbidden: grant list and watch on leases", "etcd is away",
                                        "10.0.0.2:6443", "no create"};
    for (size_t i = 0; i < EK_ARRAY_SIZE(facts); i++)
        ck_assert_msg(strstr(after, facts[i]) != NULL, "no \"%s\" in %s", facts[i], after);
}
END_TEST

static size_t n_files;

static int look_at(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type == FTW_D) {
        ck_assert_uint_eq(st->st_mode & 07777, 0700);
        return 0;
    }
    ck_assert_uint_eq(st->st_mode & 07777, 0600);
    FILE *f = fopen(path, "re");
    EK_AUTOFREE char *text = ek_xalloc((size_t)1 << 20);
    ck_assert_ptr_nonnull(f);
    size_t len = fread(text, 1, ((size_t)1 << 20) - 1, f);
    fclose(f);
    ck_assert_msg(!memmem(text, len, "SECRET", 6), "%s: %s", path, text);
    n_files++;
    return 0;
}

START_TEST(it_has_no_secrets_and_is_the_users_alone)
{
    static const char *const record[] = {"--from=@", "--record=@/new", NULL};
    EK_AUTOFREE char *path = ek_xasprintf("%s/new", folder);

    /* A folder that is there and empty is taken, and closed to others. */
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(command_run(folder, "check", record), 2);
    n_files = 0;
    ck_assert_int_eq(nftw(path, look_at, 8, FTW_PHYS), 0);
    ck_assert_uint_ge(n_files, 9);
}
END_TEST

START_TEST(it_overwrites_nothing)
{
    static const char *const record[] = {"--from=@", "--record=@", NULL};
    static const char *const file[] = {"--from=@", "--record=@/index.json", NULL};
    static const char *const nowhere[] = {"--from=@", "--record=@/no/folder", NULL};
    static const char *const empty[] = {"--from=@", "--record=", NULL};

    ck_assert_int_eq(command_run(folder, "check", record), 1);
    command_expect(folder, "full", "err", "the folder is not empty");
    command_expect(folder, "full", "out", "");
    ck_assert_int_eq(command_run(folder, "check", file), 1);
    command_expect(folder, "a file", "err", "index.json: Not a directory");
    ck_assert_int_eq(command_run(folder, "check", nowhere), 1);
    command_expect(folder, "nowhere", "err", "/no/folder: No such file or directory");
    ck_assert_int_eq(command_run(folder, "check", empty), 1);
    command_expect(folder, "empty", "err", "--record: the folder's name is empty");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("record");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, command_lines, 0, EK_ARRAY_SIZE(lines));
    tcase_add_loop_test(tc, what_stays_of_an_object, 0, EK_ARRAY_SIZE(objects));
    tcase_add_loop_test(tc, a_recording_gives_the_same_report, 0, 3);
    tcase_add_test(tc, it_has_no_secrets_and_is_the_users_alone);
    tcase_add_test(tc, it_overwrites_nothing);
    return ek_test_run("record", tc);
}
