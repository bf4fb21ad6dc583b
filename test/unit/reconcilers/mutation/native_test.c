/* SPDX-License-Identifier: Apache-2.0 */
/* In which version policies of admissionregistration.k8s.io are read, and of which API server. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/native.h"
#include "test/support/suite.h"

#define SERVERS_MAX 4

/* ---- API servers ---- */

/* Of a server that serves policies in the version, len bytes; 0: in none. */
static struct ek_probe *make_probe(const char *version, size_t len)
{
    EK_AUTOFREE char *list = ek_xasprintf(
        "{\"kind\":\"APIResourceList\",\"groupVersion\":\"%s%.*s\",\"resources\":[{\"name\":\"%s\","
        "\"kind\":\"%s\",\"verbs\":[\"list\"]}]}",
        len ? "admissionregistration.k8s.io/" : "v1", (int)len, version,
        len ? "mutatingadmissionpolicies" : "nodes", len ? "MutatingAdmissionPolicy" : "Node");
    struct ek_probe *probe = ek_probe_new();
    yyjson_doc *doc = ek_json_parse(list, strlen(list), NULL);

    probe->discovery = ek_discovery_new();
    ck_assert(!ek_discovery_add_resource_list(probe->discovery, yyjson_doc_get_root(doc), NULL));
    ek_discovery_seal(probe->discovery);
    yyjson_doc_free(doc);
    return probe;
}

/* Servers as ADDRESS:VERSION, a letter each for ADDRESS; "-" serves no policies, "?" was never
 * probed.
 * "!" before an address: it is not trusted; "~": the server is not live. */
static const struct {
    const char *name;
    const char *servers;
    const char *current;
    bool partial; /* there may be others */
    const char *version, *server;
    struct ek_plugin_census census;
    bool all;
} peer_rows[] = {
    {"none", "", NULL, false, NULL, NULL, {0, 0, 0, true}, false},
    {"all alike", "a:v1 b:v1", NULL, false, "v1", NULL, {2, 0, 0, true}, true},
    {"none serves policies", "a:- b:-", NULL, false, NULL, NULL, {0, 2, 0, true}, true},
    {"one is newer", "a:- b:v1", NULL, false, "v1", "b", {1, 1, 0, true}, true},
    {"v1 before v1beta1", "a:v1beta1 b:v1", NULL, false, "v1", "b", {1, 0, 1, true}, false},
    {"v1beta1 before v1alpha1",
     "a:v1beta1 b:v1alpha1",
     NULL,
     false,
     "v1beta1",
     "a",
     {0, 0, 2, true},
     false},
    {"the first of several", "a:- b:v1 c:v1", NULL, false, "v1", "b", {2, 1, 0, true}, true},
    {"the same as before", "a:- b:v1 c:v1", "c", false, "v1", "c", {2, 1, 0, true}, true},
    {"the same as before, which serves less now",
     "a:- b:v1",
     "a",
     false,
     "v1",
     "b",
     {1, 1, 0, true},
     true},
    {"the same as before, which is gone", "a:- b:v1", "z", false, "v1", "b", {1, 1, 0, true}, true},
    {"the same as before, while all serve it",
     "a:v1 b:v1",
     "b",
     false,
     "v1",
     "b",
     {2, 0, 0, true},
     true},
    {"one that may not be asked", "!a:v1 b:v1", NULL, false, "v1", "b", {2, 0, 0, true}, true},
    {"only one that may not be asked", "!a:v1 b:-", NULL, false, "v1", NULL, {1, 1, 0, true}, true},
    {"a dead one does not count", "~a:v1 b:-", NULL, false, NULL, NULL, {0, 1, 0, true}, true},
    {"a dead one is not asked", "~a:v1 b:v1 c:-", NULL, false, "v1", "b", {1, 1, 0, true}, true},
    {"a dead one that serves less", "~a:- b:v1", NULL, false, "v1", NULL, {1, 0, 0, true}, true},
    {"one was never probed", "a:v1 b:?", NULL, false, "v1", "a", {1, 0, 1, true}, false},
    {"there may be others", "a:v1", NULL, true, "v1", NULL, {1, 0, 0, false}, false},
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

START_TEST(peers)
{
    struct ek_peer list[SERVERS_MAX];
    struct ek_probe *probes[SERVERS_MAX] = {0};
    char addresses[SERVERS_MAX][2] = {{0}};
    struct ek_native_peers got;
    size_t n = 0;

    for (const char *p = peer_rows[_i].servers; *p; n++) {
        ck_assert(n < SERVERS_MAX);
        list[n] = (struct ek_peer){.server_id = "",
                                   .address_source = "EndpointSlice",
                                   .trusted = *p != '!',
                                   .live = *p != '~'};
        p += *p == '!' || *p == '~';
        addresses[n][0] = *p;
        list[n].name = list[n].address = addresses[n];
        size_t len = strcspn(p += 2, " ");
        list[n].probe = probes[n] = *p == '?' ? NULL : make_probe(p, *p == '-' ? 0 : len);
        p += len + (p[len] == ' ');
    }
    struct ek_peer_table *table = ek_peer_table_new(list, n, !peer_rows[_i].partial, true);
    ek_native_peers_read(table, peer_rows[_i].current, &got);
    ck_assert_msg(same(got.version, peer_rows[_i].version), "%s: %s", peer_rows[_i].name,
                  got.version);
    ck_assert_msg(same(got.server, peer_rows[_i].server), "%s: %s", peer_rows[_i].name, got.server);
    ck_assert_msg(ek_plugin_census_is_same(&got.census, &peer_rows[_i].census),
                  "%s: %u runs, %u absent, %u unknown, %d", peer_rows[_i].name, got.census.runs,
                  got.census.absent, got.census.unknown, got.census.complete);
    ck_assert_msg(got.all == peer_rows[_i].all, "%s: all", peer_rows[_i].name);
    ek_peer_table_free(table);
    for (size_t i = 0; i < n; i++)
        ek_probe_unref(probes[i]);
}
END_TEST

START_TEST(census_differs)
{
    static const struct ek_plugin_census census = {1, 2, 3, true};
    static const struct ek_plugin_census others[] = {
        {2, 2, 3, true}, {1, 3, 3, true}, {1, 2, 4, true}, {1, 2, 3, false}};

    ck_assert(ek_plugin_census_is_same(&census, &(struct ek_plugin_census){1, 2, 3, true}));
    for (size_t i = 0; i < EK_ARRAY_SIZE(others); i++)
        ck_assert(!ek_plugin_census_is_same(&census, &others[i]));
}
END_TEST

/* ---- Both sources ---- */

/* Answers of the configured address: a letter for each requested version, in order, "y"
 * when the list has policies, "n" when it has not, "-" for no answer; a space begins the next
 * minute. */
static const struct {
    const char *name, *answers;
    const char *peers; /* reported by the table */
    bool all;
    const char *version;
    bool known;
} source_rows[] = {
    {"nothing yet", "", NULL, false, NULL, false},
    {"v1", "y", NULL, false, "v1", true},
    {"v1beta1", "ny", NULL, false, "v1beta1", true},
    {"v1alpha1", "nny", NULL, false, "v1alpha1", true},
    {"none", "nnn", NULL, false, NULL, true},
    {"no answer", "---", NULL, false, NULL, true},
    {"not done yet", "nn", NULL, false, NULL, false},
    {"what was listed stays", "y nnn", NULL, false, "v1", true},
    {"what was listed stays, better comes", "nny y", NULL, false, "v1", true},
    {"what was listed stays, less comes", "ny nny", NULL, false, "v1beta1", true},
    {"peers know better", "nny", "v1", false, "v1", true},
    {"peers know less", "y", "v1beta1", false, "v1", true},
    {"peers alone", "", "v1", false, "v1", false},
    {"all peers have told", "", "v1beta1", true, "v1beta1", true},
    {"all peers have told, the answers are of the past", "y", "v1beta1", true, "v1beta1", true},
    {"all peers have told that none does", "y", NULL, true, NULL, true},
};

START_TEST(sources)
{
    static const char with[] = "{\"resources\":[{\"name\":\"mutatingadmissionpolicies/status\"},"
                               "{\"name\":\"mutatingadmissionpolicies\"}]}";
    static const char without[] = "{\"resources\":[{\"name\":\"mutatingadmissionpolicies/status\"},"
                                  "{\"name\":\"validatingadmissionpolicies\"}]}";
    struct ek_native_source source = {.peers = source_rows[_i].peers, .all = source_rows[_i].all};
    yyjson_doc *docs[] = {yyjson_read(with, sizeof with - 1, 0),
                          yyjson_read(without, sizeof without - 1, 0)};
    size_t i = 0;

    for (const char *p = source_rows[_i].answers; *p; p++) {
        if (*p == ' ') {
            ck_assert_uint_eq(i, 0);
            continue;
        }
        yyjson_val *list = *p == 'y'   ? yyjson_doc_get_root(docs[0])
                           : *p == 'n' ? yyjson_doc_get_root(docs[1])
                                       : NULL;
        bool ends = ek_native_source_answer(&source, i, list);
        ck_assert_msg(ends == (*p == 'y' || !ek_native_version(i + 1)), "%s: %zu",
                      source_rows[_i].name, i);
        i = ends ? 0 : i + 1;
    }
    ck_assert_msg(same(ek_native_source_version(&source), source_rows[_i].version), "%s: %s",
                  source_rows[_i].name, ek_native_source_version(&source));
    ck_assert_msg(ek_native_source_is_known(&source) == source_rows[_i].known, "%s: known",
                  source_rows[_i].name);
    yyjson_doc_free(docs[0]);
    yyjson_doc_free(docs[1]);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");

    tcase_add_loop_test(t, peers, 0, (int)EK_ARRAY_SIZE(peer_rows));
    tcase_add_test(t, census_differs);
    tcase_add_loop_test(t, sources, 0, (int)EK_ARRAY_SIZE(source_rows));
    return ek_test_run("native", t);
}
