/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/custom_watch.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/apiworld.h"
#include "test/support/suite.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define API  "/apis/apiregistration.k8s.io/v1/apiservices"
#define NOW  ((int64_t)1795172400000)

/* APIServices: the test server has no aggregator, so that they are custom resources. */
static const char kind[] =
    "{\"metadata\":{\"name\":\"apiservices.apiregistration.k8s.io\"},\"spec\":{\"group\":"
    "\"apiregistration.k8s.io\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"apiservices\","
    "\"singular\":\"apiservice\",\"kind\":\"APIService\"},\"versions\":[{\"name\":\"v1\","
    "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"group\":{\"type\":"
    "\"string\"},\"version\":{\"type\":\"string\"}}}}}}}]}}";
static const char other_kind[] =
    "{\"metadata\":{\"name\":\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\","
    "\"scope\":"
    "\"Cluster\",\"names\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\"},"
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
static const char service[] =
    "{\"apiVersion\":\"apiregistration.k8s.io/v1\",\"kind\":\"APIService\",\"metadata\":{\"name\":"
    "\"v1.example.com\",\"labels\":{\"kube-aggregator.kubernetes.io/automanaged\":\"true\"}},"
    "\"spec\":{\"group\":\"example.com\",\"version\":\"v1\"}}";

struct scene {
    struct apiworld world;
    struct ek_custom_watch *watch;
    struct ek_runnable runnable;
    int changed, states;
};

static void on_change(void *ctx, bool changed)
{
    struct scene *scene = ctx;

    scene->changed += changed;
    scene->states += !changed;
}

static void start(struct scene *scene, const char *rules)
{
    char *body = NULL;
    struct ek_err err = {0};

    *scene = (struct scene){0};
    apiworld_start(&scene->world, rules);
    ck_assert_int_eq(apiworld_request(&scene->world, "POST", CRDS, kind, &body), 201);
    ek_free(body);
    scene->watch =
        ek_custom_watch_new(&(struct ek_custom_watch_config){.loop = &scene->world.bench.loop,
                                                             .client = scene->world.bench.client,
                                                             .on_change = on_change,
                                                             .ctx = scene});
    ek_custom_watch_runnable(scene->watch, &scene->runnable);
    ck_assert(!scene->runnable.ready(scene->runnable.ctx));
    ck_assert_int_eq(scene->runnable.start(scene->runnable.ctx, &err), 0);
}

static void stop(struct scene *scene)
{
    ek_custom_watch_close(scene->watch);
    apiworld_stop(&scene->world);
}

static bool is_ready(const void *ctx)
{
    const struct scene *scene = ctx;
    return scene->runnable.ready(scene->runnable.ctx);
}

static bool has_changed(const void *ctx)
{
    return ((const struct scene *)ctx)->changed > 0;
}

static void write_object(struct scene *scene, const char *method, const char *path,
                         const char *object)
{
    char *body = NULL;

    scene->changed = 0;
    ck_assert_int_lt(apiworld_request(&scene->world, method, path, object, &body), 300);
    ek_free(body);
    apiworld_run_until(&scene->world, has_changed, scene);
}

START_TEST(each_change_is_reported_and_left_out)
{
    struct scene scene;
    int64_t again = -1;

    start(&scene, NULL);
    apiworld_run_until(&scene.world, is_ready, &scene);
    ck_assert_int_eq(scene.changed, 0); /* what was there before is no change */
    ck_assert_ptr_null(ek_custom_watch_problem(scene.watch));
    ck_assert_uint_eq(ek_custom_watch_exclusions(scene.watch, NOW, &again)->n, 0);
    write_object(&scene, "POST", CRDS, other_kind);
    ck_assert_uint_eq(ek_custom_watch_exclusions(scene.watch, NOW, &again)->n, 0);
    write_object(&scene, "POST", API, service);
    const struct ek_exclusions *out = ek_custom_watch_exclusions(scene.watch, NOW, &again);
    ck_assert_uint_eq(out->n, 1);
    ck_assert_str_eq(out->group_versions[0], "example.com/v1");
    ck_assert_int_eq(again, 0);
    write_object(&scene, "DELETE", API "/v1.example.com", NULL);
    ck_assert_uint_eq(ek_custom_watch_exclusions(scene.watch, NOW, &again)->n, 1);
    ck_assert_int_eq(again, EK_CUSTOM_GROUPS_KEPT_MS + 1);
    ck_assert_uint_eq(ek_custom_watch_exclusions(scene.watch, NOW + again - 1, &again)->n, 1);
    ck_assert_int_eq(again, 1);
    ck_assert_uint_eq(
        ek_custom_watch_exclusions(scene.watch, NOW + EK_CUSTOM_GROUPS_KEPT_MS + 1, &again)->n, 0);
    ck_assert_int_eq(again, 0);
    stop(&scene);
}
END_TEST

START_TEST(an_account_without_the_right_leaves_nothing_out)
{
    struct scene scene;
    int64_t again = -1;

    start(&scene, "list,watch customresourcedefinitions");
    apiworld_run_until(&scene.world, is_ready, &scene);
    char *problem = ek_custom_watch_problem(scene.watch);
    ck_assert_str_eq(problem, "apiservices.apiregistration.k8s.io could not be read: forbidden: "
                              "grant list and watch");
    ek_free(problem);
    ck_assert_uint_eq(ek_custom_watch_exclusions(scene.watch, NOW, &again)->n, 0);
    ck_assert_int_eq(again, 0);
    write_object(&scene, "POST", CRDS, other_kind); /* is still noticed */
    stop(&scene);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("custom watch");

    tcase_add_test(tcase, each_change_is_reported_and_left_out);
    tcase_add_test(tcase, an_account_without_the_right_leaves_nothing_out);
    return ek_test_run("custom_watch", tcase);
}
