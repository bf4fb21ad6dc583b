/* SPDX-License-Identifier: Apache-2.0 */
/* The test API server against recordings of a real one: the same state and the same request must
 * give the same bytes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/fixture.h"
#include "test/support/suite.h"

#define DATA     EK_SHARED_DATA "/cluster/"
#define LEASES   "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define IDENTITY "labelSelector=apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver"

static struct ek_fixture f;

static void setup(void)
{
    ek_fixture_init(&f, 10000);
}

static void teardown(void)
{
    ek_fixture_done(&f);
}

static void load(const char *file, const char *group, const char *version, const char *plural)
{
    char path[512];

    snprintf(path, sizeof(path), DATA "%s", file);
    ck_assert_msg(ek_fixture_load(&f, path, group, version, plural) >= 0, "cannot load %s", file);
}

static void load_leases(const char *file)
{
    load(file, "coordination.k8s.io", "v1", "leases");
}

static void expect_body(const char *name, const char *file)
{
    char path[512];

    snprintf(path, sizeof(path), DATA "%s", file);
    char *recorded = ek_fixture_read(path);
    ck_assert_msg(recorded != NULL, "%s: cannot read %s", name, file);
    const char *body = ek_fixture_body(&f);
    size_t at = 0;
    while (recorded[at] && recorded[at] == body[at])
        at++;
    size_t from = at > 100 ? at - 100 : 0;
    ck_assert_msg(strcmp(recorded, body) == 0,
                  "%s: differs at byte %zu from %s\n  recorded: ...%.200s\n  ours:     ...%.200s",
                  name, at, file, recorded + from, body + from);
    ek_free(recorded);
}

/* Requests that need no state, or the one of the pages. rv: the server's revision at the time. */
static const struct {
    const char *name, *target, *accept;
    int status;
    const char *file;
    uint64_t rv;
} rows[] = {
    {"first page of nodes", "/api/v1/nodes?limit=10", NULL, 200, "pages/nodes.01.json", 0},
    {"second page of nodes",
     "/api/v1/nodes?limit=10&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTYwMywic3RhcnQiOiIvbjEwX"
     "HUwMDAwIn0",
     NULL, 200, "pages/nodes.02.json", 0},
    {"last page of nodes",
     "/api/v1/nodes?limit=10&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTYwMywic3RhcnQiOiIvbjMwX"
     "HUwMDAwIn0",
     NULL, 200, "pages/nodes.04.json", 0},
    {"first page of leases", LEASES "?limit=3", NULL, 200, "pages/leases.01.json", 0},
    {"second page of leases",
     LEASES "?limit=3&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTYwMywic3RhcnQiOiIvYXBpc2VydmV"
            "yLWlta2dzdHdqczZvcG5id2syaXhsdXU2ZmlxXHUwMDAwIn0",
     NULL, 200, "pages/leases.02.json", 0},
    {"last page of leases",
     LEASES "?limit=3&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTYwMywic3RhcnQiOiIvYXBpc2VydmV"
            "yLXRxc3l2bmM3cnM0N2ZheXppcHN1cXBmZzRtXHUwMDAwIn0",
     NULL, 200, "pages/leases.03.json", 0},
    {"an exact revision before everything",
     LEASES "?resourceVersion=1&resourceVersionMatch=Exact&limit=2", NULL, 200,
     "pages/leases.exact-old-rv.json", 0},
    {"a revision of the future",
     LEASES "?resourceVersion=999999999&resourceVersionMatch=NotOlderThan", NULL, 504,
     "pages/leases.future-rv.json", 1615},
    {"no continue token", LEASES "?limit=2&continue=bm90LWEtdG9rZW4", NULL, 400,
     "pages/leases.bad-continue.json", 0},
    {"no revision", LEASES "?resourceVersion=abc", NULL, 400, "pages/leases.bad-rv.json", 0},
    {"no selector", LEASES "?labelSelector=a%3D%3D%3Db", NULL, 400,
     "pages/leases.bad-selector.json", 0},
    {"no such lease", LEASES "/apiserver-doesnotexist", NULL, 404, "pages/lease.notfound.json", 0},
    {"no such media type", LEASES, "application/x-unknown", 406, "pages/leases.notacceptable.json",
     0},
    {"initial events without a match", LEASES "?watch=1&sendInitialEvents=true", NULL, 422,
     "pages/gone.leases.watch-invalid.json", 0},
    {"the version", "/version", NULL, 200, "peers/cp-a/version.json", 0},
    {"legacy versions", "/api", NULL, 200, "peers/cp-a/discovery/api.legacy.json", 0},
    {"a legacy group", "/apis/coordination.k8s.io", NULL, 200,
     "peers/cp-a/discovery/apis_coordination.k8s.io.legacy.json", 0},
    {"a group that nobody has", "/apis/example.invalid", NULL, 404,
     "peers/cp-a/discovery/apis_example.invalid.legacy.txt", 0},
    {"a version that is not served", "/apis/resource.k8s.io/v1beta2", NULL, 404,
     "peers/cp-a/discovery/apis_resource.k8s.io_v1beta2.legacy.json", 0},
    {"discovery in a form that is gone", "/apis",
     "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", 406,
     "peers/cp-a/discovery/apis.v2beta1-accept.json", 0},
};

START_TEST(answers_equal_the_recorded_ones)
{
    load("pages/nodes.01.json", "", "v1", "nodes");
    load("pages/nodes.02.json", "", "v1", "nodes");
    load("pages/nodes.03.json", "", "v1", "nodes");
    load("pages/nodes.04.json", "", "v1", "nodes");
    load_leases("pages/leases.01.json");
    load_leases("pages/leases.02.json");
    load_leases("pages/leases.03.json");
    ek_apiserver_set_rv(f.server, rows[_i].rv);
    int status = ek_fixture_get(&f, rows[_i].target, rows[_i].accept);
    ck_assert_msg(status == rows[_i].status, "%s: status %d: %s", rows[_i].name, status,
                  ek_fixture_body(&f));
    expect_body(rows[_i].name, rows[_i].file);
}
END_TEST

START_TEST(metadata_lists_equal_the_recorded_one)
{
    load("nodes.json", "", "v1", "nodes");
    ck_assert_int_eq(
        ek_fixture_get(&f, "/api/v1/nodes?limit=5",
                       "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
        200);
    expect_body("metadata", "nodes.metadata.json");
}
END_TEST

START_TEST(lists_at_any_revision_have_no_pages)
{
    load_leases("leases.json");
    ek_fixture_get(&f, LEASES "?resourceVersion=0&limit=2", NULL);
    expect_body("rv0", "leases.json");
}
END_TEST

START_TEST(after_compaction_the_token_is_gone_but_helps_once_more)
{
    char target[512];

    load_leases("pages/gone.leases.page2-inconsistent.json");
    load_leases("pages/gone.leases.page1.json");
    ek_fixture_get(&f, LEASES "?limit=3", NULL);
    snprintf(target, sizeof(target), LEASES "?limit=3&continue=%s",
             "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MzAyOSwic3RhcnQiOiIvYXBpc2VydmVyLWxwbmFkbnM0ZG43M"
             "nhwaXluaWt1MmE2MmthXHUwMDAwIn0");
    ek_apiserver_set_rv(f.server, 3387);
    ek_apiserver_compact(f.server);
    ck_assert_int_eq(ek_fixture_get(&f, target, NULL), 410);
    expect_body("expired", "pages/gone.leases.page2-expired.json");
    snprintf(target, sizeof(target), LEASES "?limit=3&continue=%s",
             ek_fixture_text(&f, "/metadata/continue"));
    ck_assert_int_eq(ek_fixture_get(&f, target, NULL), 200);
    ck_assert_str_eq(ek_fixture_text(&f, "/items/0/metadata/name"),
                     "apiserver-npbtitaxiimvptb5rwlxt4xbci");
    ck_assert_str_eq(ek_fixture_text(&f, "/metadata/resourceVersion"), "3387");
    ck_assert_int_eq(
        ek_fixture_get(&f, LEASES "?resourceVersion=3029&resourceVersionMatch=Exact&limit=2", NULL),
        410);
    expect_body("exact", "pages/gone.leases.exact-old-rv.json");
}
END_TEST

/* Stores the object of a recorded event. */
static void seed_event(yyjson_val *event)
{
    size_t len;
    char *json = yyjson_val_write(yyjson_obj_get(event, "object"), 0, &len);

    ck_assert_int_eq(
        ek_apiserver_seed(f.server, "coordination.k8s.io", "v1", "leases", json, len, NULL), 0);
    free(json);
}

struct stream {
    char *text, *line;
    yyjson_doc *doc;
};

/* The next line of a recorded stream; false at the end. */
static bool next_line(struct stream *stream)
{
    char *from = stream->line ? stream->line + strlen(stream->line) + 1 : stream->text;

    yyjson_doc_free(stream->doc);
    stream->doc = NULL;
    char *end = strchr(from, '\n');
    if (!end)
        return false;
    *end = '\0';
    stream->line = from;
    stream->doc = yyjson_read(from, strlen(from), 0);
    return true;
}

static void expect_frames(struct ek_apiserver_watch *watch, const char *expected)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1 << 24);
    ek_apiserver_watch_pull(watch, f.now_ms, SIZE_MAX, &out);
    ck_assert_msg(strcmp(ek_buf_str(&out), expected) == 0, "recorded:\n%s\nours:\n%s", expected,
                  ek_buf_str(&out));
}

START_TEST(a_streaming_list_equals_the_recorded_one)
{
    struct stream stream = {.text = ek_fixture_read(DATA "watch/leases.watchlist.jsonl")};
    EK_AUTO(ek_buf) expected;
    bool initial = true;

    ek_buf_init(&expected, 1 << 24);
    /* The initial events are in order of names: seed them by version. */
    yyjson_mut_doc *list = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *sorted[16];
    size_t n = 0;
    while (initial && next_line(&stream)) {
        yyjson_val *event = yyjson_doc_get_root(stream.doc);
        ek_buf_printf(&expected, "%s\n", stream.line);
        initial = !yyjson_equals_str(yyjson_obj_get(event, "type"), "BOOKMARK");
        if (!initial)
            break;
        yyjson_mut_val *object = yyjson_val_mut_copy(list, event);
        size_t at = n++;
        const char *rv = ek_json_str(event, "object", "metadata", "resourceVersion", NULL);
        for (; at > 0; at--) {
            yyjson_mut_val *before = yyjson_mut_obj_get(
                yyjson_mut_obj_get(yyjson_mut_obj_get(sorted[at - 1], "object"), "metadata"),
                "resourceVersion");
            if (strcmp(yyjson_mut_get_str(before), rv) < 0)
                break;
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = object;
    }
    for (size_t i = 0; i < n; i++) {
        yyjson_doc *event = yyjson_mut_val_imut_copy(sorted[i], NULL);
        seed_event(yyjson_doc_get_root(event));
        yyjson_doc_free(event);
    }
    yyjson_mut_doc_free(list);
    ek_apiserver_set_rv(f.server, 1797);
    ck_assert_int_eq(
        ek_fixture_get(&f,
                       LEASES "?watch=1&" IDENTITY "&sendInitialEvents=true&resourceVersionMatch="
                              "NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=20",
                       NULL),
        200);
    struct ek_apiserver_watch *watch = ek_fixture_take_watch(&f);
    expect_frames(watch, ek_buf_str(&expected));
    n = 0;
    while (next_line(&stream)) {
        yyjson_val *event = yyjson_doc_get_root(stream.doc);
        if (yyjson_equals_str(yyjson_obj_get(event, "type"), "BOOKMARK"))
            continue;
        ek_buf_reset(&expected);
        ek_buf_printf(&expected, "%s\n", stream.line);
        seed_event(event);
        expect_frames(watch, ek_buf_str(&expected));
        n++;
    }
    ck_assert_uint_eq(n, 11);
    ek_apiserver_watch_free(watch);
    ek_free(stream.text);
}
END_TEST

START_TEST(a_watch_from_before_compaction_equals_the_recorded_one)
{
    char *recorded = ek_fixture_read(DATA "watch/leases.gone.jsonl");

    ek_apiserver_set_rv(f.server, 3052);
    ek_apiserver_compact(f.server);
    ck_assert_int_eq(
        ek_fixture_get(&f, LEASES "?watch=1&resourceVersion=1&timeoutSeconds=10", NULL), 200);
    struct ek_apiserver_watch *watch = ek_fixture_take_watch(&f);
    expect_frames(watch, recorded);
    ek_apiserver_watch_free(watch);
    ek_free(recorded);
}
END_TEST

int main(void)
{
    char *probe = ek_fixture_read(DATA "leases.json");

    if (!probe) {
        printf("skipped: no recordings in " DATA "\n");
        return 77;
    }
    ek_free(probe);
    TCase *tcase = tcase_create("recorded");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, answers_equal_the_recorded_ones, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, metadata_lists_equal_the_recorded_one);
    tcase_add_test(tcase, lists_at_any_revision_have_no_pages);
    tcase_add_test(tcase, after_compaction_the_token_is_gone_but_helps_once_more);
    tcase_add_test(tcase, a_streaming_list_equals_the_recorded_one);
    tcase_add_test(tcase, a_watch_from_before_compaction_equals_the_recorded_one);
    return ek_test_run("apiserver_recorded", tcase);
}
