/* SPDX-License-Identifier: Apache-2.0 */
/* Watch sets against the test API server: rows, what they report, rows that are set later, and
 * objects that are followed by name. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/manager/watchset.h"
#include "informers/cache/reflector.h"
#include "test/support/apiworld.h"
#include "test/support/suite.h"

#define CM "/api/v1/namespaces/default/configmaps"

enum { MAPS, SECRETS, LATER, FOLLOWED, ROWS };

static unsigned n_seen;

static void on_seen(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                    const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    ++*(unsigned *)ctx;
}

/* Only objects that are new or gone, or whose label "v" is another one. */
static bool label_matters(const struct ek_obj *old, const struct ek_obj *obj)
{
    const char *a = old ? ek_obj_label(old, "v") : NULL, *b = obj ? ek_obj_label(obj, "v") : NULL;
    return !old || !obj || !a || !b || strcmp(a, b) != 0;
}

static const struct ek_watch_row rows[ROWS] = {
    [MAPS] = {.resource = {.group = "",
                           .version = "v1",
                           .resource = "configmaps",
                           .kind = "ConfigMap",
                           .namespace = "default"},
              .flags = EK_WATCH_BLIND,
              .matters = label_matters,
              .seen = on_seen},
    [SECRETS] =
        {.resource = {.group = "", .version = "v1", .resource = "secrets", .kind = "Secret"},
         .name = "hidden"},
    [LATER] = {.resource = {.group = "", .version = "v1", .resource = "pods", .kind = "Pod"},
               .flags = EK_WATCH_LATER},
    [FOLLOWED] =
        {.resource = {.group = "", .version = "v1", .resource = "namespaces", .kind = "Namespace"},
         .flags = EK_WATCH_FOLLOWED | EK_WATCH_QUIET},
};

static struct apiworld world;
static struct ek_watchset *set;
static unsigned n_changed;
static int closed;

static void on_changed(void *ctx)
{
    (void)ctx;
    n_changed++;
}

static void on_closed(void *ctx)
{
    (void)ctx;
    closed = 1;
}

/* "name state name state ..." of definitions. */
static char defined_so_far[256];

static void on_defined(void *ctx, const char *name, enum ek_definition state)
{
    size_t len = strlen(defined_so_far);

    (void)ctx;
    snprintf(defined_so_far + len, sizeof defined_so_far - len, "%s %s ", name,
             state == EK_DEFINITION_GONE      ? "gone"
             : state == EK_DEFINITION_PRESENT ? "present"
                                              : "deleting");
}

static void start_with(const char *rules, const struct ek_watch_row *table, size_t n,
                       bool definitions)
{
    apiworld_start(&world, rules);
    n_changed = n_seen = 0;
    *defined_so_far = '\0';
    closed = 0;
    set = ek_watchset_new(&(struct ek_watchset_config){.loop = &world.bench.loop,
                                                       .client = world.bench.client,
                                                       .rows = table,
                                                       .n = n,
                                                       .definitions = definitions,
                                                       .changed = on_changed,
                                                       .defined = on_defined});
    ek_watchset_set_seen(set, &n_seen);
}

static void start(const char *rules, const struct ek_watch_row *table, size_t n)
{
    start_with(rules, table, n, false);
}

static void stop(void)
{
    ek_watchset_close(set, on_closed, NULL);
    clientbench_run_until(&world.bench, &closed);
    apiworld_stop(&world);
}

static bool is_synced(const void *ctx)
{
    (void)ctx;
    return ek_watchset_is_synced(set);
}

static bool has_object(const void *key)
{
    for (size_t r = 0; r < ROWS; r++)
        if (ek_watchset_get(set, r, key))
            return true;
    return false;
}

static bool has_label(const void *value)
{
    const struct ek_obj *obj = ek_watchset_get(set, MAPS, "default/a");
    const char *label = obj ? ek_obj_label(obj, "v") : NULL;
    return label && !strcmp(label, value);
}

static bool has_data(const void *value)
{
    const struct ek_obj *obj = ek_watchset_get(set, MAPS, "default/a");
    const char *data = obj ? ek_json_str(ek_obj_root(obj), "data", "k", NULL) : NULL;
    return data && !strcmp(data, value);
}

/* "name name ..." of all informers, in order. */
static void add_name(void *arg, const char *name, struct ek_informer *informer)
{
    ck_assert_ptr_nonnull(informer);
    ek_buf_printf(arg, "%s ", name);
}

static void check_names(const char *want)
{
    EK_AUTO(ek_buf) names;

    ek_buf_init(&names, 4096);
    ek_watchset_each(set, add_name, &names);
    ck_assert_str_eq(ek_buf_str(&names), want);
}

static void put_map(const char *method, const char *path, const char *label, const char *data)
{
    EK_AUTOFREE char *body =
        ek_xasprintf("{\"metadata\":{\"name\":\"a\",\"labels\":{\"v\":\"%s\"}},\"data\":{\"k\":"
                     "\"%s\"}}",
                     label, data);
    int status = apiworld_request(&world, method, path, body, NULL);
    ck_assert_msg(status == 200 || status == 201, "%d", status);
}

START_TEST(rows_are_watched)
{
    struct ek_informer_status status;
    bool blind;

    start(NULL, rows, ROWS);
    check_names("configmaps hidden ");
    ck_assert_ptr_null(ek_watchset_problem(set, &blind));
    ck_assert(blind); /* nothing was listed yet */
    ek_watchset_start(set);
    apiworld_run_until(&world, is_synced, NULL);
    ck_assert_ptr_null(ek_watchset_problem(set, &blind));
    ck_assert(!blind);
    ck_assert_ptr_null(ek_watchset_failure(set));
    ck_assert_ptr_null(ek_watchset_store(set, LATER));
    ck_assert_str_eq(ek_watchset_resource(set, LATER)->resource, "pods");
    ek_watchset_status(set, LATER, &status);
    ck_assert(!status.synced);
    ek_watchset_status(set, MAPS, &status);
    ck_assert(status.synced);
    ck_assert_uint_gt(n_changed, 0);

    unsigned seen = n_seen;
    put_map("POST", CM, "1", "x");
    apiworld_run_until(&world, has_object, "default/a");
    ck_assert_uint_eq(n_seen, seen + 1);
    stop();
}
END_TEST

START_TEST(a_change_that_does_not_matter_is_only_seen)
{
    start(NULL, rows, ROWS);
    ek_watchset_start(set);
    apiworld_run_until(&world, is_synced, NULL);
    put_map("POST", CM, "1", "x");
    apiworld_run_until(&world, has_object, "default/a");
    unsigned changed = n_changed, seen = n_seen;
    put_map("PUT", CM "/a", "1", "y");
    apiworld_run_until(&world, has_data, "y");
    ck_assert_uint_eq(n_changed, changed);
    ck_assert_uint_eq(n_seen, seen + 1);
    put_map("PUT", CM "/a", "2", "y");
    apiworld_run_until(&world, has_label, "2");
    ck_assert_uint_eq(n_changed, changed + 1);
    stop();
}
END_TEST

/* What the rules of the client forbid, and what is reported of that. */
static const struct {
    const char *rules, *problem; /* problem NULL: none */
    unsigned flags;              /* of the first row */
    bool blind;
} permissions[] = {
    {"*", NULL, EK_WATCH_BLIND, false},
    {"get,list,watch secrets", "configmaps could not be read: forbidden: grant list and watch",
     EK_WATCH_BLIND, true},
    {"get,list,watch secrets", "configmaps could not be read: forbidden: grant list and watch", 0,
     false},
    {"get,list,watch secrets", NULL, EK_WATCH_QUIET, false},
    {"get,list,watch secrets", NULL, EK_WATCH_QUIET | EK_WATCH_BLIND, true},
    {"get,list,watch configmaps", "secrets could not be read: forbidden: grant list and watch",
     EK_WATCH_BLIND, false},
    {"get,list,watch nodes",
     "configmaps, secrets could not be read: forbidden: grant list and watch", 0, false},
};

START_TEST(what_is_forbidden_is_reported)
{
    struct ek_watch_row table[] = {rows[MAPS], rows[SECRETS]};
    bool blind;

    table[0].flags = permissions[_i].flags;
    start(permissions[_i].rules, table, 2);
    ek_watchset_start(set);
    apiworld_run_until(&world, is_synced, NULL);
    EK_AUTOFREE char *problem = ek_watchset_problem(set, &blind);
    if (permissions[_i].problem)
        ck_assert_str_eq(problem, permissions[_i].problem);
    else
        ck_assert_ptr_null(problem);
    ck_assert(blind == permissions[_i].blind);
    ck_assert_ptr_null(ek_watchset_failure(set));
    stop();
}
END_TEST

START_TEST(a_row_is_set_later)
{
    struct ek_resource resource = rows[LATER].resource;

    start(NULL, rows, ROWS);
    resource.resource = "namespaces";
    resource.kind = "Namespace";
    resource.field_selector = "metadata.name=default";
    ek_watchset_set(set, LATER, &resource, NULL);
    check_names("configmaps hidden namespaces ");
    ek_watchset_start(set);
    apiworld_run_until(&world, is_synced, NULL);
    ck_assert_uint_eq(ek_store_size(ek_watchset_store(set, LATER)), 1);
    /* Another one starts anew. */
    resource.field_selector = "metadata.name=kube-system";
    ek_watchset_set(set, LATER, &resource, NULL);
    ck_assert(!ek_watchset_is_synced(set));
    apiworld_run_until(&world, is_synced, NULL);
    ck_assert_ptr_nonnull(ek_watchset_get(set, LATER, "kube-system"));
    ck_assert_ptr_null(ek_watchset_get(set, LATER, "default"));
    ek_watchset_set(set, LATER, NULL, NULL);
    ck_assert_ptr_null(ek_watchset_store(set, LATER));
    check_names("configmaps hidden ");
    stop();
}
END_TEST

START_TEST(objects_are_followed_by_name)
{
    static const char *const both[] = {"kube-system", "default"}, *const one[] = {"default"};

    start(NULL, rows, ROWS);
    ek_watchset_start(set);
    ek_watchset_follow(set, FOLLOWED, both, 2);
    check_names("configmaps hidden namespaces-default namespaces-kube-system ");
    apiworld_run_until(&world, is_synced, NULL);
    ck_assert_str_eq(ek_obj_name(ek_watchset_get(set, FOLLOWED, "default")), "default");
    ck_assert_str_eq(ek_obj_name(ek_watchset_get(set, FOLLOWED, "kube-system")), "kube-system");
    ck_assert_ptr_null(ek_watchset_get(set, FOLLOWED, "kube-public"));
    const struct ek_obj *kept = ek_watchset_get(set, FOLLOWED, "default");
    ek_watchset_follow(set, FOLLOWED, one, 1);
    ck_assert(ek_watchset_is_synced(set)); /* the informer goes on */
    ck_assert_ptr_eq(ek_watchset_get(set, FOLLOWED, "default"), kept);
    ck_assert_ptr_null(ek_watchset_get(set, FOLLOWED, "kube-system"));
    check_names("configmaps hidden namespaces-default ");
    stop();
}
END_TEST

/* ---- Definitions ---- */

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/example.com/v1/widgets"

static const char widgets_definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\","
    "\"scope\":\"Cluster\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{"
    "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
    "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static const struct ek_watch_row defined[] = {
    {.resource = {.group = "example.com",
                  .version = "v1",
                  .resource = "widgets",
                  .kind = "Widget",
                  .optional = true},
     .flags = EK_WATCH_DEFINED},
};

static void check_request(const char *method, const char *path, const char *body)
{
    int status = apiworld_request(&world, method, path, body, NULL);
    ck_assert_msg(status == 200 || status == 201, "%s %s: %d", method, path, status);
}

/* Whether the informer of the kind has waited for less than the minute of a kind that is not
 * served. */
static bool was_hastened;

static void look_at_wait(void *arg, const char *name, struct ek_informer *informer)
{
    struct ek_reflector_status status;

    (void)arg;
    ek_reflector_status(ek_informer_reflector(informer), &status);
    if (!strcmp(name, "widgets") && status.state == EK_REFLECTOR_NOT_SERVED &&
        status.timer_ms < status.entered_ms + ek_reflector_config_default().not_served_retry_ms)
        was_hastened = true;
}

static bool is_served(const void *want)
{
    struct ek_informer_status status;

    ek_watchset_each(set, look_at_wait, NULL);
    ek_watchset_status(set, 0, &status);
    return status.synced && status.served == *(const bool *)want;
}

static bool has_widget(const void *ctx)
{
    (void)ctx;
    return ek_watchset_get(set, 0, "a") != NULL;
}

START_TEST(a_kind_is_noticed_by_its_definition)
{
    start_with(NULL, defined, EK_ARRAY_SIZE(defined), true);
    check_names("widgets widgets-definition ");
    ek_watchset_start(set);
    apiworld_run_until(&world, is_served, &(bool){false});
    for (int i = 0; i < 2; i++) {
        was_hastened = false;
        check_request("POST", CRDS, widgets_definition);
        apiworld_run_until(&world, is_served, &(bool){true});
        ck_assert(was_hastened);
        check_request("POST", WIDGETS,
                      "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\","
                      "\"metadata\":{\"name\":\"a\"}}");
        apiworld_run_until(&world, has_widget, NULL);
        check_request("DELETE", CRDS "/widgets.example.com", NULL);
        apiworld_run_until(&world, is_served, &(bool){false});
        ck_assert(!has_widget(NULL));
    }
    ck_assert_str_eq(defined_so_far, "widgets.example.com gone widgets.example.com present "
                                     "widgets.example.com gone ");
    stop();
}
END_TEST

/* Where the definition may not be read, nothing is reported, and the kind is watched. */
START_TEST(a_definition_may_be_forbidden)
{
    bool blind;

    start_with("get,list,watch widgets.example.com", defined, EK_ARRAY_SIZE(defined), true);
    ek_watchset_start(set);
    apiworld_run_until(&world, is_synced, NULL);
    ck_assert_ptr_null(ek_watchset_problem(set, &blind));
    ck_assert_ptr_null(ek_watchset_failure(set));
    stop();
}
END_TEST

static bool has_failed(const void *ctx)
{
    (void)ctx;
    return ek_watchset_failure(set) != NULL;
}

START_TEST(a_failure_of_all_is_reported)
{
    start(NULL, rows, ROWS);
    ek_apiserver_revoke_token(world.core, "secret");
    ek_watchset_start(set);
    apiworld_run_until(&world, has_failed, NULL);
    ck_assert_ptr_nonnull(strstr(ek_watchset_failure(set), "does not accept these credentials"));
    ck_assert(!ek_watchset_is_synced(set));
    stop();
}
END_TEST

START_TEST(a_set_closes_before_its_start_and_without_informers)
{
    start(NULL, rows, ROWS);
    stop();
    start(NULL, &rows[LATER], 1);
    ek_watchset_close(set, on_closed, NULL);
    ck_assert(closed);
    apiworld_stop(&world);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("watchset");

    tcase_add_test(tc, rows_are_watched);
    tcase_add_test(tc, a_change_that_does_not_matter_is_only_seen);
    tcase_add_loop_test(tc, what_is_forbidden_is_reported, 0, EK_ARRAY_SIZE(permissions));
    tcase_add_test(tc, a_row_is_set_later);
    tcase_add_test(tc, objects_are_followed_by_name);
    tcase_add_test(tc, a_kind_is_noticed_by_its_definition);
    tcase_add_test(tc, a_definition_may_be_forbidden);
    tcase_add_test(tc, a_failure_of_all_is_reported);
    tcase_add_test(tc, a_set_closes_before_its_start_and_without_informers);
    return ek_test_run("watchset", tc);
}
