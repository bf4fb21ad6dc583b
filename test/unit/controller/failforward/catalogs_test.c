/* SPDX-License-Identifier: Apache-2.0 */
/* Catalogs that are read from a registry in the same process. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/failforward/wants.h"
#include "test/registry/catalog.h"
#include "test/support/suite.h"

#define CATALOG(more)                                                                              \
    "{\"schema\":\"olm.package\",\"name\":\"p\",\"defaultChannel\":\"stable\"}\n"                  \
    "{\"schema\":\"olm.channel\",\"package\":\"p\",\"name\":\"stable\",\"entries\":["              \
    "{\"name\":\"p1\"},{\"name\":\"p2\",\"replaces\":\"p1\"}" more "]}\n"                          \
    "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p1\",\"properties\":[]}\n"            \
    "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p2\",\"properties\":["                \
    "{\"type\":\"olm.package\",\"value\":{\"version\":\"2.0.0\"}}]}\n"                             \
    "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p3\",\"properties\":["                \
    "{\"type\":\"olm.package\",\"value\":{\"version\":\"3.0.0\"}}]}\n"

static const char two[] = CATALOG("");
static const char three[] =
    CATALOG(",{\"name\":\"p3\",\"replaces\":\"p2\",\"skipRange\":\"<3.0.0\"}");

static struct {
    uv_loop_t loop;
    struct ek_h2 *h2;
    struct ek_catalog *content;
    struct ek_ff_catalogs *catalogs;
    int n_changed, n_requests;
    int64_t now_ms;
    bool hang; /* the registry does not answer */
    int port;
} scene;

static int64_t now_ms(void)
{
    return scene.now_ms;
}

static void on_changed(void *ctx, const char *source)
{
    ck_assert_ptr_eq(ctx, &scene);
    ck_assert_msg(strchr(source, '/') != NULL, "%s", source);
    scene.n_changed++;
    uv_stop(&scene.loop);
}

static void serve(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply)
{
    (void)ctx;
    scene.n_requests++;
    if (scene.hang) {
        reply->hang = true;
        uv_stop(&scene.loop);
        return;
    }
    ek_catalog_serve(scene.content, path, body, reply);
}

static void set_content(const char *text)
{
    ek_catalog_free(scene.content);
    scene.content = ek_catalog_parse(text, strlen(text));
}

static void setup(void)
{
    memset(&scene, 0, sizeof scene);
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(uv_loop_init(&scene.loop), 0);
    scene.h2 = ek_h2_new(&scene.loop, 0, serve, NULL);
    scene.port = ek_h2_port(scene.h2);
    scene.catalogs = ek_ff_catalogs_new(&scene.loop, now_ms, on_changed, &scene);
    scene.now_ms = 1000;
    set_content(two);
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static void teardown(void)
{
    bool closed = false;

    ek_ff_catalogs_close(scene.catalogs, on_closed, &closed);
    ek_h2_close(scene.h2);
    ck_assert_int_eq(uv_run(&scene.loop, UV_RUN_DEFAULT), 0);
    ck_assert(closed);
    ck_assert_int_eq(uv_loop_close(&scene.loop), 0);
    ek_catalog_free(scene.content);
}

static size_t n_packages = 1; /* that are wanted */

/* Gives the list of one catalog, at an address and with a time of its last connection; NULL for an
 * empty list. */
static int64_t sync_list(const char *host, int port, const char *connected)
{
    static const char *const packages[] = {"p", "q"};
    char text[512];
    struct ek_obj *source = NULL;

    if (!connected)
        return ek_ff_catalogs_sync(scene.catalogs, NULL, 0);
    int n = snprintf(text, sizeof text,
                     "{\"metadata\":{\"name\":\"cat\",\"namespace\":\"ns\"},\"spec\":{\"address\":"
                     "\"%s:%d\"},\"status\":{\"connectionState\":{\"lastConnect\":\"%s\"}}}",
                     host, port, connected);
    ck_assert_int_eq(ek_obj_parse(text, (size_t)n, &source, NULL), 0);
    struct ek_ff_catalog_want want = {source, packages, n_packages};
    int64_t again = ek_ff_catalogs_sync(scene.catalogs, &want, 1);
    ek_obj_unref(source);
    return again;
}

static int64_t sync_at(const char *connected)
{
    return sync_list("127.0.0.1", scene.port, connected);
}

static struct ek_ff_catalog get(void)
{
    struct ek_ff_catalog catalog = {0};

    ck_assert(ek_ff_catalogs_get(scene.catalogs, "ns", "cat", &catalog));
    return catalog;
}

/* The edges from p1, with p2 failing: "p3 p3". */
static const char *edges(char out[64])
{
    static const char p1[] = "{\"metadata\":{\"name\":\"p1\"},\"spec\":{\"version\":\"1.0.0\"}}";
    struct ek_obj *running;
    struct ek_ff_edges found = {0};

    ck_assert_int_eq(ek_obj_parse(p1, sizeof p1 - 1, &running, NULL), 0);
    struct ek_ff_edges_query query = {"p", "stable", NULL, "p2", running};
    ck_assert_int_eq(ek_ff_graph_fill(get().graph, &query, &found), 0);
    ck_assert(found.known);
    snprintf(out, 64, "%s %s", found.from_failing.next ? found.from_failing.next : "-",
             found.from_running.next ? found.from_running.next : "-");
    ek_obj_unref(running);
    return out;
}

START_TEST(a_catalog_is_read_when_it_is_new_and_when_it_changes)
{
    char text[64];

    ck_assert(!ek_ff_catalogs_is_busy(scene.catalogs));
    ck_assert(sync_at("1") <= EK_FF_CATALOG_RETRY_MS);
    ck_assert(ek_ff_catalogs_is_busy(scene.catalogs));
    ck_assert_ptr_null(get().graph);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert(!ek_ff_catalogs_is_busy(scene.catalogs));
    ck_assert_int_eq(scene.n_changed, 1);
    ck_assert_str_eq(edges(text), "- -");
    ck_assert_int_eq(get().changed_ms, 0);
    ck_assert_int_eq(get().known_ms, 1000);

    /* Nothing new: no request until the next refresh. */
    int n = scene.n_requests;
    ck_assert_int_eq(sync_at("1"), EK_FF_CATALOG_REFRESH_MS);
    ck_assert_int_eq(scene.n_requests, n);

    set_content(three);
    scene.now_ms = 5000;
    sync_at("2");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(scene.n_changed, 2);
    ck_assert_str_eq(edges(text), "p3 p3");
    ck_assert_int_eq(get().changed_ms, 5000);
    ck_assert_int_eq(get().known_ms, 5000);
}
END_TEST

/* The same names, versions and edges: a bundle that was repaired under its name is a change. */
START_TEST(a_bundle_that_is_repaired_under_its_name_is_a_change)
{
#define OBJECT(data) "{\"type\":\"olm.bundle.object\",\"value\":{\"data\":\"" data "\"}}"
#define REPAIRED(objects)                                                                          \
    CATALOG("")                                                                                    \
    "{\"schema\":\"olm.channel\",\"package\":\"p\",\"name\":\"fast\",\"entries\":[{\"name\":"      \
    "\"p4\"}]}\n{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p4\",\"properties\":"      \
    "[" objects "]}\n"
    static const struct {
        const char *text;
        bool changes;
    } reads[] = {
        {REPAIRED(OBJECT("e30=") "," OBJECT("e30K")), true}, /* the first one */
        {REPAIRED(OBJECT("e30=") "," OBJECT("e30K")), false},
        {REPAIRED(OBJECT("e30K") "," OBJECT("e30=")), false}, /* in another order */
        {REPAIRED(OBJECT("e30=") "," OBJECT("e30g")), true},
    };
    int64_t changed_ms = 0;
    int n_changed = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(reads); i++) {
        char connected[2] = {(char)('1' + i), '\0'};
        set_content(reads[i].text);
        scene.now_ms += 1000;
        changed_ms = i && reads[i].changes ? scene.now_ms : changed_ms;
        n_changed += reads[i].changes;
        sync_at(connected);
        while (ek_ff_catalogs_is_busy(scene.catalogs))
            uv_run(&scene.loop, UV_RUN_ONCE);
        ck_assert_msg(get().changed_ms == changed_ms && scene.n_changed == n_changed, "read %zu",
                      i);
    }
}
END_TEST

START_TEST(a_failure_keeps_the_graph_and_is_tried_again)
{
    char text[64];

    sync_at("1");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    sync_list("127.0.0.1", 1, "1");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(scene.n_changed, 2);
    ck_assert(strstr(get().error, "registry 127.0.0.1:1") != NULL);
    ck_assert_str_eq(edges(text), "- -");
    ck_assert_int_eq(sync_list("127.0.0.1", 1, "1"), EK_FF_CATALOG_RETRY_MS);
    scene.now_ms += EK_FF_CATALOG_RETRY_MS;
    sync_at("1");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert_str_eq(get().error, "");
}
END_TEST

START_TEST(what_is_no_address_is_an_error_without_a_read)
{
    ck_assert(sync_list("a b", 1, "1") == INT64_MAX);
    ck_assert(strstr(get().error, "no host:port") != NULL);
    ck_assert_int_eq(scene.n_requests, 0);
}
END_TEST

START_TEST(other_packages_are_read_at_once)
{
    n_packages = 1 + (size_t)_i;
    sync_at("1");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert(!ek_ff_catalogs_is_busy(scene.catalogs));
    n_packages = 2 - (size_t)_i;
    sync_at("1");
    ck_assert(ek_ff_catalogs_is_busy(scene.catalogs));
    n_packages = 1;
}
END_TEST

/* A read of what a catalog was does not tell of what it is. */
START_TEST(a_read_of_the_past_is_not_taken)
{
    sync_list("127.0.0.1", 1, "1");
    sync_at("2");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert_str_eq(get().error, "");
    ck_assert_ptr_nonnull(get().graph);
}
END_TEST

static struct ek_ff_catalog_want want_of(const char *space, size_t number, int port)
{
    static const char *const packages[] = {"p"};
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"metadata\":{\"name\":\"cat%zu\",\"namespace\":\"%s\"},\"spec\":{"
                     "\"address\":\"127.0.0.1:%d\"}}",
                     number, space, port);
    struct ek_obj *source = NULL;

    ck_assert_int_eq(ek_obj_parse(text, strlen(text), &source, NULL), 0);
    return (struct ek_ff_catalog_want){source, packages, 1};
}

static void unref_sources(const struct ek_ff_catalog_want *wants, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ek_obj_unref((struct ek_obj *)(uintptr_t)wants[i].source);
}

/* What may not be read yet waits for a second. */
START_TEST(reads_are_bounded)
{
    static const struct {
        const char *spaces[EK_FF_CATALOG_READS_MAX + 1];
        bool waits;
    } rows[] = {
        {{"a"}, false},
        {{"a", "a"}, true}, /* one of a namespace at a time */
        {{"a", "b", "c"}, false},
        {{"a", "b", "c", "d"}, true}, /* one read is left for the catalogs of the cluster */
        {{"a", "b", "c", "olm"}, false},
        {{"olm", "olm", "openshift-marketplace", "olm"}, false},
        {{"olm", "olm", "openshift-marketplace", "a"}, false},
        {{"olm", "olm", "olm", "olm", "a"}, true},
        {{"a", "b", "c", "olm", "olm"}, true},
    };
    struct ek_ff_catalog_want wants[EK_FF_CATALOG_READS_MAX + 1] = {{0}};
    size_t n = 0;

    scene.hang = true;
    for (; n < EK_ARRAY_SIZE(wants) && rows[_i].spaces[n]; n++)
        wants[n] = want_of(rows[_i].spaces[n], n, scene.port);
    ck_assert_int_eq(ek_ff_catalogs_sync(scene.catalogs, wants, n),
                     rows[_i].waits ? 1000 : EK_FF_CATALOG_RETRY_MS);
    unref_sources(wants, n);
}
END_TEST

/* Reads catalogs of more than three MB, one after another. Returns how many of them are kept. */
static size_t keep_large(const char *const *spaces, size_t n)
{
    EK_AUTO(ek_buf) text;
    EK_AUTOFREE struct ek_ff_catalog_want *wants = ek_xalloc(n * sizeof *wants);
    size_t n_kept = 0;

    ek_buf_init(&text, (size_t)16 << 20);
    ek_buf_printf(&text, CATALOG(""));
    for (size_t i = 0; i < 33; i++)
        ek_buf_printf(&text,
                      "{\"schema\":\"olm.channel\",\"package\":\"p\",\"name\":\"%0100000zu\","
                      "\"entries\":[{\"name\":\"p1\"}]}\n",
                      i);
    set_content(ek_buf_str(&text));
    for (size_t i = 0; i < n; i++)
        wants[i] = want_of(spaces[i], i, scene.port);
    ek_ff_catalogs_sync(scene.catalogs, wants, n);
    while (ek_ff_catalogs_is_busy(scene.catalogs)) {
        uv_run(&scene.loop, UV_RUN_ONCE);
        ek_ff_catalogs_sync(scene.catalogs, wants, n);
    }
    for (size_t i = 0; i < n; i++) {
        struct ek_ff_catalog catalog = {0};
        EK_AUTOFREE char *name = ek_xasprintf("cat%zu", i);
        ck_assert(ek_ff_catalogs_get(scene.catalogs, spaces[i], name, &catalog));
        ck_assert_int_eq(catalog.graph == NULL, strstr(catalog.error, "larger than") != NULL);
        n_kept += catalog.graph != NULL;
    }
    unref_sources(wants, n);
    return n_kept;
}

/* What a user of a namespace makes this process keep is bounded. */
START_TEST(what_is_kept_is_bounded)
{
    static const char *const one[] = {"a", "a", "a"};
    static const char *const many[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    static const char *const cluster[] = {"olm", "olm", "openshift-marketplace", "a"};

    switch (_i) {
    case 0:
        ck_assert_uint_eq(keep_large(one, EK_ARRAY_SIZE(one)), 1);
        break;
    case 1:
        ck_assert_uint_eq(keep_large(many, EK_ARRAY_SIZE(many)), 10);
        break;
    default:
        ck_assert_uint_eq(keep_large(cluster, EK_ARRAY_SIZE(cluster)), EK_ARRAY_SIZE(cluster));
    }
}
END_TEST

/* Catalogs that are read again and again do not keep another one from its first read. */
START_TEST(reads_are_in_turn)
{
    struct ek_ff_catalog_want wants[EK_FF_CATALOG_READS_MAX + 1] = {{0}};
    struct ek_ff_catalog last = {0};
    size_t n = EK_ARRAY_SIZE(wants);

    for (size_t i = 0; i < n; i++)
        wants[i] = want_of("olm", i, i < EK_FF_CATALOG_READS_MAX ? 1 : scene.port);
    ck_assert_int_eq(ek_ff_catalogs_sync(scene.catalogs, wants, n), 1000);
    while (scene.n_changed < EK_FF_CATALOG_READS_MAX)
        uv_run(&scene.loop, UV_RUN_ONCE);
    for (int turn = 0; turn < 8; turn++) /* the reads are closed */
        uv_run(&scene.loop, UV_RUN_NOWAIT);
    scene.now_ms += EK_FF_CATALOG_RETRY_MS;
    ck_assert_int_eq(ek_ff_catalogs_sync(scene.catalogs, wants, n), 1000);
    while (scene.n_changed == EK_FF_CATALOG_READS_MAX)
        uv_run(&scene.loop, UV_RUN_ONCE);
    ck_assert(ek_ff_catalogs_get(scene.catalogs, "olm", "cat4", &last));
    ck_assert_ptr_nonnull(last.graph);
    unref_sources(wants, n);
}
END_TEST

/* A Subscription has the catalogs of its namespace, and those of the cluster. */
START_TEST(catalogs_of_other_namespaces_are_not_read)
{
    static const struct {
        const char *namespace;
        bool is_read;
    } cases[] = {{"ns", true},
                 {"olm", true},
                 {"openshift-marketplace", true},
                 {"other", false},
                 {"", false}};
    EK_AUTOFREE char *source_text =
        ek_xasprintf("{\"metadata\":{\"name\":\"cat\",\"namespace\":\"%s\"},\"spec\":{"
                     "\"address\":\"127.0.0.1:%d\"}}",
                     cases[_i].namespace, scene.port);
    EK_AUTOFREE char *sub_text =
        ek_xasprintf("{\"metadata\":{\"name\":\"op\",\"namespace\":\"ns\"},\"spec\":{\"name\":"
                     "\"p\",\"source\":\"cat\",\"sourceNamespace\":\"%s\"}}",
                     cases[_i].namespace);
    struct ek_obj *source = NULL, *sub = NULL;
    struct ek_ff_catalog catalog;

    ck_assert_int_eq(ek_obj_parse(source_text, strlen(source_text), &source, NULL), 0);
    ck_assert_int_eq(ek_obj_parse(sub_text, strlen(sub_text), &sub, NULL), 0);
    const struct ek_ff_objs sources = {&source, 1}, subs = {&sub, 1};
    ek_ff_catalogs_follow(scene.catalogs, &sources, &subs);
    ck_assert(ek_ff_catalogs_is_busy(scene.catalogs) == cases[_i].is_read);
    ck_assert(ek_ff_catalogs_of(scene.catalogs, sub, &catalog));
    ck_assert(catalog.reading == cases[_i].is_read);
    ck_assert((strstr(catalog.error, "the catalog is not read") == NULL) == cases[_i].is_read);
    ek_obj_unref(source);
    ek_obj_unref(sub);
}
END_TEST

START_TEST(a_catalog_that_is_not_listed_is_forgotten)
{
    struct ek_ff_catalog catalog;

    sync_at("1");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert(sync_at(NULL) == INT64_MAX);
    ck_assert(!ek_ff_catalogs_get(scene.catalogs, "ns", "cat", &catalog));
}
END_TEST

START_TEST(a_read_ends_with_its_catalog)
{
    scene.hang = true;
    sync_at("1");
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(scene.n_requests, 1);
    if (_i == 0)
        sync_at(NULL);
    else if (_i == 1)
        sync_at("2"); /* begins again */
    /* The rest is the teardown's: all is closed with a read under way. */
    ck_assert_int_eq(scene.n_changed, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("catalogs");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_catalog_is_read_when_it_is_new_and_when_it_changes);
    tcase_add_test(tcase, a_bundle_that_is_repaired_under_its_name_is_a_change);
    tcase_add_test(tcase, a_failure_keeps_the_graph_and_is_tried_again);
    tcase_add_test(tcase, what_is_no_address_is_an_error_without_a_read);
    tcase_add_loop_test(tcase, other_packages_are_read_at_once, 0, 2);
    tcase_add_test(tcase, a_read_of_the_past_is_not_taken);
    tcase_add_loop_test(tcase, reads_are_bounded, 0, 9);
    tcase_add_loop_test(tcase, what_is_kept_is_bounded, 0, 3);
    tcase_add_test(tcase, reads_are_in_turn);
    tcase_add_loop_test(tcase, catalogs_of_other_namespaces_are_not_read, 0, 5);
    tcase_add_test(tcase, a_catalog_that_is_not_listed_is_forgotten);
    tcase_add_loop_test(tcase, a_read_ends_with_its_catalog, 0, 3);
    return ek_test_run("catalogs", tcase);
}
