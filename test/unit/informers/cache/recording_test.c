/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/recording.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

static const struct ek_resource nodes = {
    .group = "", .version = "v1", .resource = "nodes", .kind = "Node"};
static const struct ek_resource identity_leases = {
    .group = "coordination.k8s.io",
    .version = "v1",
    .resource = "leases",
    .kind = "Lease",
    .namespace = "kube-system",
    .label_selector = "apiserver.kubernetes.io/identity=kube-apiserver"};
static const struct ek_resource absent = {
    .group = "example.com", .version = "v1", .resource = "things", .kind = "Thing"};

static void release(struct ek_obj **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ek_obj_unref(items[i]);
    ek_free(items);
}

START_TEST(reads_the_recorded_cluster)
{
    struct ek_recording *rec = NULL;
    struct ek_obj **items = NULL;
    struct ek_err err = {0};
    size_t n = 0;

    ck_assert_msg(ek_recording_open(EK_SHARED_DATA "/cluster", &rec, &err) == 0, "%s", err.message);
    ck_assert_int_eq(ek_recording_list(rec, &nodes, &items, &n, &err), 0);
    ck_assert_uint_eq(n, 35);
    ck_assert_str_eq(ek_obj_kind(items[0]), "Node");
    ck_assert_str_eq(ek_obj_api_version(items[0]), "v1");
    release(items, n);
    ck_assert_int_eq(ek_recording_list(rec, &identity_leases, &items, &n, &err), 0);
    ck_assert_uint_eq(n, 6);
    release(items, n);
    ck_assert_int_eq(ek_recording_list(rec, &absent, &items, &n, &err), EK_E_NOENT);
    ck_assert_uint_eq(ek_recording_size(rec), 10);
    ek_recording_close(rec);
}
END_TEST

/* Each peer's answers are its own, and the requested document is the one without its peers. */
START_TEST(probes_the_recorded_peers)
{
    static const unsigned emulation[] = {36, 35, 34, 33, 36, 35};
    struct ek_recording *rec = NULL;
    const char *address;

    ck_assert_int_eq(ek_recording_open(EK_SHARED_DATA "/cluster", &rec, NULL), 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(emulation); i++) {
        EK_AUTOPTR(ek_probe, ek_probe_unref) *p = ek_recording_probe(rec, i, 5000, &address);
        char expected[64];
        snprintf(expected, sizeof expected, "10.99.0.1%zu:7443", i + 1);
        ck_assert_str_eq(address, expected);
        ck_assert_str_eq(p->git_version, "v1.36.2");
        ck_assert_uint_eq(p->emulation.minor, emulation[i]);
        ck_assert_uint_eq(p->info_emulation.minor, emulation[i]);
        ck_assert(p->ready);
        ck_assert_uint_gt(p->n_gates, 150);
        ck_assert_int_eq(p->discovery_form, EK_DISCOVERY_V2);
        ck_assert(ek_discovery_has(p->discovery, "apps", "v1", "deployments"));
        ck_assert_int_eq(p->reach.good_at_ms, 5000);
        ck_assert_int_eq(ek_discovery_has(p->discovery, "resource.k8s.io", "v1", "resourceclaims"),
                         emulation[i] >= 34);
    }
    EK_AUTOPTR(ek_probe, ek_probe_unref) *kcm = ek_recording_probe(rec, 6, 5000, &address);
    ck_assert_str_eq(address, "kube-controller-manager/kcm-a");
    ck_assert_str_eq(kcm->info_binary, "1.36.2");
    ek_recording_close(rec);
}
END_TEST

/* --- folders made by hand ----------------------------------------------------------------- */

static const struct {
    const char *name, *index, *peers;
    int code;
    const char *text;
} bad[] = {
    {"no index", NULL, NULL, EK_E_NOENT, "no index.json there"},
    {"index is no JSON", "[", "{}", EK_E_PARSE, "index.json: malformed JSON at line 1"},
    {"index is no list", "{}", "{}", EK_E_PARSE, "index.json: not a list"},
    {"no peers", "[]", NULL, EK_E_NOENT, "peers.json"},
    {"peer without address", "[]", "{\"apiservers\":[{\"hostname\":\"a\"}]}", EK_E_PARSE,
     "apiservers[0] needs hostname and address"},
    {"peer outside", "[]", "{\"apiservers\":[{\"hostname\":\"../a\",\"address\":\"x:1\"}]}",
     EK_E_PARSE, "apiservers[0]"},
    {"component without name", "[]", "{\"components\":[{\"component\":\"kube-scheduler\"}]}",
     EK_E_PARSE, "components[0] needs hostname and component"},
};

START_TEST(bad_folders_are_one_clear_line)
{
    char folder[TESTDIR_SIZE];
    struct ek_recording *rec = NULL;
    struct ek_err err = {0};

    testdir_make(folder);
    if (bad[_i].index)
        testdir_put(folder, "index.json", bad[_i].index, 0600);
    if (bad[_i].peers)
        testdir_put(folder, "peers.json", bad[_i].peers, 0600);
    int rc = ek_recording_open(folder, &rec, &err);
    ck_assert_msg(rc == bad[_i].code, "%s: %d", bad[_i].name, rc);
    ck_assert_msg(strstr(err.message, bad[_i].text) != NULL, "%s: %s", bad[_i].name, err.message);
    ck_assert_msg(strstr(err.message, folder) != NULL, "%s: %s", bad[_i].name, err.message);
    testdir_remove(folder);
}
END_TEST

/* What was recorded of a peer may be little: the rest is unanswered, never invented. */
START_TEST(a_peer_may_have_answered_little)
{
    char folder[TESTDIR_SIZE];
    struct ek_recording *rec = NULL;
    struct ek_err err = {0};
    const char *address;

    testdir_make(folder);
    testdir_put(folder, "index.json", "[]", 0600);
    testdir_put(folder, "peers.json",
                "{\"apiservers\":[{\"hostname\":\"a\",\"address\":\"10.0.0.1:6443\"},"
                "{\"hostname\":\"never\",\"address\":\"10.0.0.2:6443\"}]}",
                0600);
    testdir_put(folder, "peers/a/index.json",
                "[{\"file\":\"version.json\",\"path\":\"/version\",\"status\":200},"
                "{\"file\":\"no.txt\",\"path\":\"/metrics\",\"status\":403},"
                "{\"file\":\"../../secret\",\"path\":\"/readyz?verbose=1\",\"status\":200},"
                "{\"file\":\"gone.json\",\"path\":\"/apis\",\"status\":200}]",
                0600);
    testdir_put(folder, "peers/a/version.json", "{\"major\":\"1\",\"minor\":\"29+\"}", 0600);
    testdir_put(folder, "peers/a/no.txt", "forbidden", 0600);
    testdir_put(folder, "secret", "[+]ping ok\n", 0600);
    ck_assert_msg(ek_recording_open(folder, &rec, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(ek_recording_size(rec), 1);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *p = ek_recording_probe(rec, 0, 1, &address);
    ck_assert_uint_eq(p->binary.minor, 29);
    ck_assert_int_eq(p->metrics_answer.error.code, EK_E_FORBIDDEN);
    ck_assert_int_eq(p->ready_answer.error.code, EK_E_NOENT);
    ck_assert(!p->ready);
    ck_assert_int_eq(p->discovery_answer.error.code, EK_E_NOENT);
    ck_assert_ptr_null(p->discovery);
    ek_recording_close(rec);
    testdir_remove(folder);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("recording");
    tcase_add_loop_test(tc, bad_folders_are_one_clear_line, 0, EK_ARRAY_SIZE(bad));
    tcase_add_test(tc, a_peer_may_have_answered_little);
    if (access(EK_SHARED_DATA "/cluster", R_OK) == 0) {
        tcase_add_test(tc, reads_the_recorded_cluster);
        tcase_add_test(tc, probes_the_recorded_peers);
    } else {
        printf("no recorded cluster in %s: its cases are not run\n", EK_SHARED_DATA);
    }
    return ek_test_run("recording", tc);
}
