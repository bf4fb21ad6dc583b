/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of a catalog from a registry in the same process: one that answers, and ones that do not
 * mean well. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "informers/registry/registry.h"
#include "test/registry/catalog.h"
#include "test/support/suite.h"

/* More than any test takes; only those that wait for it choose a shorter one. */
#define LONG_MS 60000

static const char catalog_text[] =
    "{\"schema\":\"olm.package\",\"name\":\"p\",\"defaultChannel\":\"stable\"}\n"
    "{\"schema\":\"olm.package\",\"name\":\"q\",\"defaultChannel\":\"fast\"}\n"
    "{\"schema\":\"olm.channel\",\"package\":\"p\",\"name\":\"stable\",\"entries\":["
    "{\"name\":\"p1\"},{\"name\":\"p3\",\"replaces\":\"p1\",\"skips\":[\"p2\"],"
    "\"skipRange\":\"<3.0.0\"}]}\n"
    "{\"schema\":\"olm.channel\",\"package\":\"q\",\"name\":\"fast\",\"entries\":[{\"name\":\"q1\"}"
    "]}\n"
    "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p1\",\"properties\":["
    "{\"type\":\"olm.package\",\"value\":{\"version\":\"1.0.0\"}},"
    "{\"type\":\"olm.bundle.object\",\"value\":{\"data\":\"e30=\"}}]}\n"
    "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"p3\",\"properties\":["
    "{\"type\":\"olm.deprecated\",\"value\":{}}]}\n"
    "{\"schema\":\"olm.bundle\",\"package\":\"q\",\"name\":\"q1\",\"properties\":[]}\n";

/* The reader's side: what it was given. */
struct scene {
    uv_loop_t loop;
    struct ek_h2 *h2;
    struct ek_registry_read *read;
    struct ek_buf seen;
    struct ek_err err;
    int n_done, n_closed;
    int refuse; /* what on_bundle returns */
    size_t n_bundles;
    const struct hostile *hostile;
};

static int on_package(void *ctx, struct ek_str name, struct ek_str default_channel)
{
    struct scene *scene = ctx;

    return ek_buf_printf(&scene->seen, "%.*s:%.*s;", (int)name.len, name.p,
                         (int)default_channel.len, default_channel.p ? default_channel.p : "");
}

static int on_bundle(void *ctx, const struct ek_registry_bundle *bundle)
{
    struct scene *scene = ctx;

    scene->n_bundles++;
    if (scene->n_bundles < 100)
        ek_buf_printf(&scene->seen, "%.*s<%.*s-%zu%s;", (int)bundle->name.len, bundle->name.p,
                      (int)bundle->replaces.len, bundle->replaces.p ? bundle->replaces.p : "",
                      bundle->n_skips, bundle->deprecated ? "!" : "");
    return scene->refuse;
}

static void on_done(void *ctx, const struct ek_err *err)
{
    struct scene *scene = ctx;

    scene->n_done++;
    if (err)
        scene->err = *err;
}

static void on_closed(void *ctx)
{
    struct scene *scene = ctx;

    scene->n_closed++;
    if (scene->h2)
        ek_h2_close(scene->h2);
    scene->h2 = NULL;
}

static void scene_init(struct scene *scene, ek_h2_fn fn, void *ctx)
{
    memset(scene, 0, sizeof *scene);
    ek_buf_init(&scene->seen, 10000);
    ck_assert_int_eq(uv_loop_init(&scene->loop), 0);
    if (fn)
        scene->h2 = ek_h2_new(&scene->loop, 0, fn, ctx);
}

static void start(struct scene *scene, const char *const *packages, size_t n, int64_t timeout_ms,
                  size_t max_bytes)
{
    char address[64];
    struct ek_registry_query query = {address, packages, n, timeout_ms, max_bytes};
    struct ek_registry_hooks hooks = {on_package, on_bundle, on_done, on_closed, scene};

    snprintf(address, sizeof address, "127.0.0.1:%d", scene->h2 ? ek_h2_port(scene->h2) : 1);
    ck_assert_int_eq(ek_registry_read(&scene->loop, &query, &hooks, &scene->read, NULL), 0);
}

/* Runs until nothing is left, on both sides. */
static void run(struct scene *scene)
{
    ck_assert_int_eq(uv_run(&scene->loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&scene->loop), 0);
    ck_assert_int_eq(scene->n_closed, 1);
}

static void scene_done(struct scene *scene)
{
    ek_buf_done(&scene->seen);
}

START_TEST(a_catalog_is_read)
{
    static const struct {
        const char *packages[3];
        const char *seen;
    } rows[] = {
        {{"p"}, "p:stable;p1<-0;p3<p1-1!;"},
        {{"q", "p"}, "q:fast;p:stable;p1<-0;p3<p1-1!;q1<-0;"},
        {{"gone", "q"}, "q:fast;q1<-0;"},
        {{NULL}, ""},
    };
    struct ek_catalog *catalog = ek_catalog_parse(catalog_text, strlen(catalog_text));
    struct scene scene;
    size_t n = 0;

    while (rows[_i].packages[n])
        n++;
    scene_init(&scene, ek_catalog_serve, catalog);
    start(&scene, rows[_i].packages, n, LONG_MS, 1 << 20);
    ck_assert_int_eq(scene.n_done, 0);
    run(&scene);
    ck_assert_int_eq(scene.n_done, 1);
    ck_assert_msg(!scene.err.code, "%s", scene.err.message);
    ck_assert_str_eq(ek_buf_str(&scene.seen), rows[_i].seen);
    scene_done(&scene);
    ek_catalog_free(catalog);
}
END_TEST

/* One answer of a registry that does not mean well, to ListBundles or to GetPackage. */
struct hostile {
    const char *name;
    bool package; /* the answer to GetPackage; otherwise to ListBundles */
    struct ek_str body;
    size_t repeat; /* of the body; 0 is 1 */
    int status;    /* 0: 200 */
    const char *content_type;
    bool endless, hang, reset;
    int grpc_status;
    const char *message;
    size_t n_filler;
    int64_t timeout_ms;
    int rc;
    const char *text; /* part of the error */
};

#define BODY(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
/* A bundle "n" of package "p", and a package. */
#define BUNDLE "\0\0\0\0\6\x0a\1n\x12\1p"

static const struct hostile hostiles[] = {
    {.name = "endless bundles",
     .body = BODY(BUNDLE),
     .repeat = 1000,
     .endless = true,
     .rc = EK_E_LIMIT,
     .text = "larger than what is read"},
    {.name = "endless empty messages",
     .body = BODY("\0\0\0\0\0"),
     .repeat = 10000,
     .endless = true,
     .rc = EK_E_LIMIT,
     .text = "larger than what is read"},
    {.name = "a message without an end",
     .body = BODY("\0\0\x3f\xff\xff"),
     .hang = true,
     .timeout_ms = 50,
     .rc = EK_E_TIMEOUT,
     .text = "in time"},
    {.name = "no answer", .hang = true, .timeout_ms = 50, .rc = EK_E_TIMEOUT, .text = "in time"},
    {.name = "a huge message",
     .body = BODY("\0\x10\0\0\0"),
     .rc = EK_E_LIMIT,
     .text = "a message of 268435456 bytes"},
    {.name = "compressed",
     .body = BODY("\1\0\0\0\0"),
     .rc = EK_E_UNSUPPORTED,
     .text = "compresses"},
    {.name = "no prefix of gRPC", .body = BODY("<html>"), .rc = EK_E_PARSE, .text = "prefix"},
    {.name = "cut off within a message",
     .body = BODY("\0\0\0\0\7\x0a\1n"),
     .rc = EK_E_PARSE,
     .text = "ends within a message"},
    {.name = "malformed bundle",
     .body = BODY("\0\0\0\0\2\x0a\5"),
     .rc = EK_E_PARSE,
     .text = "malformed message: a bundle"},
    {.name = "a good body and a bad status",
     .body = BODY(BUNDLE),
     .grpc_status = 13,
     .message = "broken  here",
     .rc = EK_E_SERVER,
     .text = "gRPC status 13: broken here"},
    {.name = "no package at ListBundles",
     .grpc_status = 5,
     .rc = EK_E_SERVER,
     .text = "gRPC status 5"},
    {.name = "no status",
     .body = BODY(BUNDLE),
     .grpc_status = -1,
     .rc = EK_E_HTTP,
     .text = "no grpc-status"},
    {.name = "trailers without an end",
     .n_filler = 60,
     .rc = EK_E_LIMIT,
     .text = "the head of an answer"},
    {.name = "a status of four digits",
     .body = BODY(BUNDLE),
     .grpc_status = 1000,
     .rc = EK_E_HTTP,
     .text = "no grpc-status"},
    {.name = "HTTP 503", .status = 503, .body = BODY(BUNDLE), .rc = EK_E_HTTP, .text = "HTTP 503"},
    {.name = "a page",
     .content_type = "text/html",
     .body = BODY("<html>"),
     .grpc_status = -1,
     .rc = EK_E_HTTP,
     .text = "no gRPC"},
    {.name = "an endless page",
     .content_type = "text/html",
     .body = BODY("<html>"),
     .repeat = 1000,
     .endless = true,
     .rc = EK_E_LIMIT,
     .text = "larger"},
    {.name = "reset", .body = BODY(BUNDLE), .reset = true, .rc = EK_E_NET, .text = "Stream error"},
    {.name = "a package twice",
     .package = true,
     .body = BODY("\0\0\0\0\0\0\0\0\0\0"),
     .rc = EK_E_PARSE,
     .text = "answers twice"},
    {.name = "no package in the answer", .package = true, .rc = EK_E_PARSE, .text = "no message"},
    {.name = "a malformed package",
     .package = true,
     .body = BODY("\0\0\0\0\1\x0a"),
     .rc = EK_E_PARSE,
     .text = "malformed message: a package"},
};

static void misbehave(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply)
{
    const struct hostile *hostile = ctx;

    (void)body;
    if (hostile->package != !strcmp(path, "/api.Registry/GetPackage")) {
        ek_buf_append(&reply->body, "\0\0\0\0\0", 5);
        return;
    }
    for (size_t i = 0; i < (hostile->repeat ? hostile->repeat : 1); i++)
        ek_buf_append(&reply->body, hostile->body.p ? hostile->body.p : "", hostile->body.len);
    reply->status = hostile->status ? hostile->status : 200;
    reply->content_type = hostile->content_type ? hostile->content_type : "application/grpc";
    reply->endless = hostile->endless;
    reply->hang = hostile->hang;
    reply->reset = hostile->reset;
    reply->grpc_status = hostile->grpc_status;
    reply->grpc_message = hostile->message;
    reply->n_filler = hostile->n_filler;
}

START_TEST(a_hostile_registry_is_an_error)
{
    static const char *const packages[] = {"p"};
    const struct hostile *row = &hostiles[_i];
    struct scene scene;

    scene_init(&scene, misbehave, (void *)(uintptr_t)row);
    start(&scene, packages, 1, row->timeout_ms ? row->timeout_ms : LONG_MS, 1 << 20);
    run(&scene);
    ck_assert_int_eq(scene.n_done, 1);
    ck_assert_msg(scene.err.code == row->rc, "%s: %d, %s", row->name, scene.err.code,
                  scene.err.message);
    ck_assert_msg(strstr(scene.err.message, row->text) != NULL, "%s: \"%s\"", row->name,
                  scene.err.message);
    ck_assert_msg(!row->status || scene.n_bundles == 0, "%s: a bundle", row->name);
    scene_done(&scene);
}
END_TEST

/* The bound holds for all answers together: here an empty package of 5 bytes, and a bundle. */
START_TEST(the_bound_is_what_is_read)
{
    static const struct hostile row = {.body = BODY(BUNDLE)};
    static const char *const packages[] = {"p"};
    const size_t size = 5 + row.body.len;
    struct scene scene;

    scene_init(&scene, misbehave, (void *)(uintptr_t)&row);
    start(&scene, packages, 1, LONG_MS, _i ? size - 1 : size);
    run(&scene);
    ck_assert_msg(scene.err.code == (_i ? EK_E_LIMIT : 0), "%d: %s", _i, scene.err.message);
    ck_assert_uint_eq(scene.n_bundles, _i ? 0 : 1);
    scene_done(&scene);
}
END_TEST

START_TEST(the_receiver_may_refuse)
{
    static const char *const packages[] = {"p"};
    struct ek_catalog *catalog = ek_catalog_parse(catalog_text, strlen(catalog_text));
    struct scene scene;

    scene_init(&scene, ek_catalog_serve, catalog);
    scene.refuse = EK_E_LIMIT;
    start(&scene, packages, 1, LONG_MS, 1 << 20);
    run(&scene);
    ck_assert_int_eq(scene.n_done, 1);
    ck_assert_int_eq(scene.err.code, EK_E_LIMIT);
    ck_assert_uint_eq(scene.n_bundles, 1);
    scene_done(&scene);
    ek_catalog_free(catalog);
}
END_TEST

START_TEST(nobody_listens)
{
    struct scene scene;

    scene_init(&scene, NULL, NULL);
    start(&scene, NULL, 0, LONG_MS, 1 << 20);
    run(&scene);
    ck_assert_int_eq(scene.err.code, EK_E_REFUSED);
    ck_assert(strstr(scene.err.message, "registry 127.0.0.1:1") != NULL);
    scene_done(&scene);
}
END_TEST

/* The reader gives up as soon as the registry has its request. */
static void cancel(void *ctx, const char *path, struct ek_str body, struct ek_h2_reply *reply)
{
    struct scene *scene = ctx;

    (void)path, (void)body;
    reply->hang = true;
    ek_registry_read_cancel(scene->read);
    ek_registry_read_cancel(NULL);
}

START_TEST(a_read_is_cancelled)
{
    struct scene scene;

    scene_init(&scene, cancel, &scene);
    start(&scene, NULL, 0, LONG_MS, 1 << 20);
    run(&scene);
    ck_assert_int_eq(scene.n_done, 0);
    scene_done(&scene);
}
END_TEST

START_TEST(what_is_no_address_is_refused)
{
    static const char *const addresses[] = {
        "",      "host",       "host:",         "host:0",      "host:65536", "host:1x",
        ":1",    "a b:1",      "a/b:1",         "u@h:1",       "[::1:1",     "[]:1",
        "[::1]", "::1:1",      "unix:/run/x:1", "dns:///h:1",  "h:1/path",   "h:1?x=:2",
        "h#:1",  "h\r\nX-Y:1", "[::1%25lo]:1",  "h:000000001", "h%41:1",
    };
    struct scene scene;
    struct ek_registry_hooks hooks = {on_package, on_bundle, on_done, on_closed, &scene};
    struct ek_registry_query query = {addresses[_i], NULL, 0, LONG_MS, 1000};
    struct ek_err err = {0};

    scene_init(&scene, NULL, NULL);
    ck_assert_msg(ek_registry_read(&scene.loop, &query, &hooks, &scene.read, &err) == EK_E_INVAL,
                  "%s", addresses[_i]);
    ck_assert(!strpbrk(err.message, "\r\n"));
    ck_assert_int_eq(uv_run(&scene.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(scene.n_done + scene.n_closed, 0);
    ck_assert_int_eq(uv_loop_close(&scene.loop), 0);
    scene_done(&scene);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("registry");

    signal(SIGPIPE, SIG_IGN);

    tcase_add_loop_test(tcase, a_catalog_is_read, 0, 4);
    tcase_add_loop_test(tcase, a_hostile_registry_is_an_error, 0, EK_ARRAY_SIZE(hostiles));
    tcase_add_loop_test(tcase, the_bound_is_what_is_read, 0, 2);
    tcase_add_test(tcase, the_receiver_may_refuse);
    tcase_add_test(tcase, nobody_listens);
    tcase_add_test(tcase, a_read_is_cancelled);
    tcase_add_loop_test(tcase, what_is_no_address_is_refused, 0, 23);
    return ek_test_run("registry", tcase);
}
