/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of controllers: what exists is reported and counted, what is gone is not; and the
 * rows of this program name every informer. */
#include <check.h>
#include <string.h>

#include "controller/debug/debug.h"
#include "controller/run/subjects.h"
#include "controller/skew/probe_account.h"
#include "test/support/suite.h"

/* A controller with what the test gives it. */
struct fake {
    struct ek_runner *runner;
    struct ek_informer *informers[3];
};

static struct ek_runner *fake_runner(void *controller)
{
    struct fake *fake = controller;
    return fake->runner;
}

static void fake_informers(void *controller, const struct ek_registry_visit *visit)
{
    struct fake *fake = controller;

    for (size_t i = 0; i < EK_ARRAY_SIZE(fake->informers); i++)
        ek_registry_visit(visit, i == 0 ? "first" : "next", fake->informers[i]);
}

static const struct ek_controller_row rows[] = {
    {"alpha", "Alpha", 1, fake_runner, fake_informers, NULL},
    {"beta", "Beta", 1, fake_runner, NULL, NULL},
    {"gamma", "Gamma", 0, NULL, fake_informers, NULL},
};

/* All the test's parts. */
struct parts {
    uv_loop_t loop;
    struct ek_metrics *metrics;
    struct ek_standard_metrics standard;
    struct ek_registry *registry;
    struct ek_buf out;
};

static void parts_init(struct parts *p, const struct ek_controller_row *table, size_t n)
{
    uv_loop_init(&p->loop);
    p->metrics = ek_metrics_new();
    ek_standard_metrics_init(&p->standard, p->metrics);
    p->registry = ek_registry_new(table, n, &p->standard, NULL);
    ek_buf_init(&p->out, EK_DEBUG_ANSWER_MAX);
}

static void parts_done(struct parts *p)
{
    ek_metrics_free(p->metrics);
    ek_registry_free(p->registry);
    ek_buf_done(&p->out);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&p->loop), 0);
}

static const char *scrape(struct parts *p)
{
    ek_buf_reset(&p->out);
    ek_registry_collect(p->registry);
    ck_assert_int_eq(ek_metrics_write(p->metrics, EK_METRICS_TEXT, &p->out), 0);
    return ek_buf_str(&p->out);
}

static const char *ask(struct parts *p, const char *topic)
{
    struct ek_debug debug = {.registry = p->registry};
    struct ek_debug_now now = ek_debug_clock();

    ek_buf_reset(&p->out);
    ek_debug_answer(&debug, topic, strlen(topic), &now, NULL, &p->out);
    return ek_buf_str(&p->out);
}

static struct ek_informer *make_informer(struct parts *p, const char *group, const char *resource)
{
    return ek_informer_new(
        &p->loop, NULL,
        &(struct ek_resource){
            .group = group, .version = "v1", .resource = resource, .kind = "Any"});
}

#define SERIES(name, group, resource)                                                              \
    "informer_store_resource_version{name=\"" name "\",group=\"" group                             \
    "\",version=\"v1\",resource=\"" resource "\"} 0"

START_TEST(informers_come_and_go)
{
    struct parts p;

    parts_init(&p, rows, EK_ARRAY_SIZE(rows));
    struct fake alpha = {.informers = {make_informer(&p, "", "nodes"), NULL,
                                       make_informer(&p, "a.example", "things")}};
    struct fake gamma = {.informers = {NULL, make_informer(&p, "", "secrets")}};
    ck_assert_ptr_null(strstr(scrape(&p), "informer_store_resource_version{"));
    ek_registry_set(p.registry, 0, &alpha);
    ek_registry_set(p.registry, 2, &gamma);
    const char *text = scrape(&p);
    ck_assert_msg(strstr(text, SERIES("alpha-first", "", "nodes")) != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, SERIES("alpha-next", "a.example", "things")));
    ck_assert_ptr_nonnull(strstr(text, SERIES("gamma-next", "", "secrets")));
    text = ask(&p, "informers");
    ck_assert_msg(strstr(text, "{\"controller\":\"alpha\",\"resource\":\"nodes\"") != NULL, "%s",
                  text);
    ck_assert_ptr_nonnull(strstr(text, "{\"controller\":\"gamma\",\"resource\":\"secrets\""));
    ck_assert_ptr_nonnull(strstr(text, "\"informersTotal\":3"));

    ek_informer_free(alpha.informers[0]);
    alpha.informers[0] = NULL;
    ek_registry_set(p.registry, 2, NULL);
    text = scrape(&p);
    ck_assert_ptr_null(strstr(text, "alpha-first"));
    ck_assert_ptr_null(strstr(text, "gamma-next"));
    ck_assert_ptr_nonnull(strstr(text, "alpha-next"));

    alpha.informers[0] = make_informer(&p, "", "nodes");
    ck_assert_ptr_nonnull(strstr(scrape(&p), SERIES("alpha-first", "", "nodes")));
    ek_registry_set(p.registry, 0, NULL);
    ek_informer_free(alpha.informers[0]);
    ek_informer_free(alpha.informers[2]);
    ek_informer_free(gamma.informers[1]);
    parts_done(&p);
}
END_TEST

static void reconcile(void *ctx, const char *key, struct ek_reconcile *run)
{
    (void)ctx;
    (void)key;
    ek_reconcile_done(run, (struct ek_outcome){0}, NULL);
}

START_TEST(runners_are_counted_by_their_names)
{
    struct parts p;
    struct fake fakes[2] = {0};

    parts_init(&p, rows, EK_ARRAY_SIZE(rows));
    for (size_t i = 0; i < 2; i++) {
        fakes[i].runner = ek_runner_new(
            NULL, &(struct ek_runner_config){.name = rows[i].name,
                                             .reconcile = reconcile,
                                             .observer = ek_registry_observer(p.registry, i),
                                             .queue = ek_registry_queue(p.registry, i)});
        ek_registry_set(p.registry, i, &fakes[i]);
        ek_runner_start(fakes[i].runner);
    }
    ek_runner_add(fakes[1].runner, "key", 0);
    ek_runner_step(fakes[1].runner);
    const char *text = scrape(&p);
    ck_assert_msg(strstr(text, "controller_runtime_reconcile_total{controller=\"beta\","
                               "result=\"success\"} 1") != NULL,
                  "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "controller_runtime_reconcile_total{controller=\"alpha\","
                                       "result=\"success\"} 0"));
    ck_assert_ptr_null(strstr(text, "controller=\"gamma\""));
    text = ask(&p, "queue");
    ck_assert_msg(strstr(text, "{\"queues\":[{\"controller\":\"alpha\"") ||
                      strstr(text, "\"queues\":[{\"controller\":\"alpha\""),
                  "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "{\"controller\":\"beta\""));
    ck_assert_ptr_nonnull(strstr(text, "\"key\":\"key\""));
    ek_runner_close(fakes[0].runner, NULL, NULL);
    ek_runner_close(fakes[1].runner, NULL, NULL);
    parts_done(&p);
}
END_TEST

/* Every informer that the program has before a policy names params: a controller whose informers
 * the rows forget is not seen by anybody. */
START_TEST(the_rows_of_this_program)
{
    static const char *const resources[] = {"leases",
                                            "nodes",
                                            "pods",
                                            "mutatingadmissionpolicies",
                                            "mutatingadmissionpolicybindings",
                                            "policystatuses",
                                            "namespaces",
                                            "mutatingwebhookconfigurations",
                                            "validatingwebhookconfigurations"};
    struct parts p;

    struct ek_controller_row table[EK_REGISTRY_ROWS_MAX];
    struct ek_controller *controllers[EK_SUBJECTS_MAX];
    size_t n = 0;

    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    struct ek_client *client;
    config->server = ek_xstrdup("https://127.0.0.1:6443");
    for (; ek_subjects[n]; n++)
        table[n] = ek_subject_registry_row(ek_subjects[n]);
    parts_init(&p, table, n);
    ck_assert_int_eq(ek_client_new(&p.loop, config, "test/1.0", &client, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        controllers[i] = ek_controller_new(
            ek_subjects[i],
            &(struct ek_subject_env){
                .loop = &p.loop,
                .client = client,
                .account = &(struct ek_probe_account){"evenkeel-system", "evenkeel-probe"},
                .metrics = p.metrics,
                .observer = ek_registry_observer(p.registry, i),
                .queue = ek_registry_queue(p.registry, i)});
        ek_registry_set(p.registry, i, controllers[i]);
    }
    const char *text = ask(&p, "informers");
    for (size_t i = 0; i < EK_ARRAY_SIZE(resources); i++) {
        EK_AUTOFREE char *member = ek_xasprintf("\"resource\":\"%s\"", resources[i]);
        ck_assert_msg(strstr(text, member) != NULL, "%s", resources[i]);
    }
    text = scrape(&p);
    ck_assert_ptr_nonnull(strstr(text, SERIES("controlplane-pods", "", "pods")));
    ck_assert_ptr_nonnull(strstr(text, SERIES("controlplane-pods-proxy", "", "pods")));
    ck_assert_ptr_nonnull(
        strstr(text, SERIES("mutatingadmissionpolicy-namespaces", "", "namespaces")));
    text = ask(&p, "queue");
    ck_assert_ptr_nonnull(strstr(text, "{\"controller\":\"controlplane\""));
    ck_assert_ptr_nonnull(strstr(text, "{\"controller\":\"mutatingadmissionpolicy\""));
    text = ask(&p, "subjects");
    for (size_t i = 0; i < n; i++) {
        EK_AUTOFREE char *section = ek_xasprintf("\"%s\":{\"", ek_subjects[i]->name);
        ck_assert_msg(strstr(text, section) != NULL, "%s: %s", section, text);
    }
    for (size_t i = 0; i < n; i++) {
        ek_registry_set(p.registry, i, NULL);
        ek_controller_close(controllers[i], NULL, NULL);
    }
    uv_run(&p.loop, UV_RUN_DEFAULT);
    ek_client_close(client, NULL, NULL);
    parts_done(&p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("registry");

    tcase_add_test(tc, informers_come_and_go);
    tcase_add_test(tc, runners_are_counted_by_their_names);
    tcase_add_test(tc, the_rows_of_this_program);
    return ek_test_run("registry", tc);
}
