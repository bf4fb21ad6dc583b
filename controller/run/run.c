/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel run`: the controller. Wires the parts to one manager and runs it. */
#include <stdio.h>
#include <string.h>

#include "controller/debug/socket.h"
#include "controller/election/election.h"
#include "controller/http/server.h"
#include "controller/manager/uuid.h"
#include "controller/run/fresh_documents.h"
#include "controller/run/options.h"
#include "controller/run/process.h"
#include "controller/run/serving.h"
#include "controller/run/subjects.h"
#include "controller/run/webhook_serving.h"
#include "controller/skew/probe_account.h"
#include "controller/telemetry/process_metrics.h"
#include "informers/clock.h"

/* How overdue the lease may be before /healthz fails (controller-runtime's adaptor). */
#define ELECTION_TOLERANCE_MS 20000

struct process {
    const struct ek_run_options *options;
    uv_loop_t loop;
    struct ek_log *log;
    struct ek_client_config *config;
    struct ek_client *client;
    struct ek_probe_account account;
    struct ek_metrics *metrics;
    struct ek_standard_metrics standard;
    struct ek_registry *registry;
    struct ek_process_metrics *process_metrics;
    struct ek_http_metrics *http_metrics;
    struct ek_ui *ui;
    struct ek_discovery_endpoint *discovery; /* NULL: discovery is not served, */
    struct ek_fresh_documents fresh;         /* and this is not set */
    struct ek_serving *serving;
    struct ek_webhook_serving *webhook;
    struct ek_manager *manager;
    struct ek_election *election;
    struct ek_recorder *recorder;
    struct ek_controller *controllers[EK_SUBJECTS_MAX]; /* as subjects.list */
    struct ek_selection subjects;
    struct ek_controller_row rows[EK_REGISTRY_ROWS_MAX];
    struct ek_debug debug;
    struct ek_debug_loop debug_loop;
    struct ek_debug_socket *debug_socket;
    char identity[EK_ELECTION_NAME_SIZE];
};

static bool serves_discovery(const struct ek_run_options *options)
{
    return !ek_http_address_is_off(options->discovery_address);
}

/* --- leadership --------------------------------------------------------------------------- */

static bool may_write(void *ctx)
{
    struct process *p = ctx;
    return !p->election || ek_election_leads(p->election);
}

static void on_leading(void *ctx)
{
    struct process *p = ctx;
    ek_log_info(p->log, "Became the leader", EK_S("identity", p->identity));
    ek_standard_metrics_leader(&p->standard, p->options->election_name, true);
    for (size_t i = 0; i < p->subjects.n; i++)
        ek_controller_elected(p->controllers[i]);
    ek_manager_elected(p->manager);
}

static void on_left(void *ctx, bool lost)
{
    struct process *p = ctx;
    if (lost)
        ek_log_error(p->log, NULL, "Leader election lost", EK_S("identity", p->identity));
    ek_standard_metrics_leader(&p->standard, p->options->election_name, false);
    ek_manager_election_ended(p->manager, lost);
}

static void on_new_leader(void *ctx, const char *identity)
{
    struct process *p = ctx;
    ek_log_info(p->log, "New leader", EK_S("leader", identity));
}

static void on_slowpath(void *ctx)
{
    struct process *p = ctx;
    ek_standard_metrics_slowpath(&p->standard, p->options->election_name);
}

static void on_election_failed(void *ctx, const struct ek_err *err)
{
    struct process *p = ctx;
    ek_log_error_limited(p->log, err, 5, 60000, "Leader election request failed",
                         EK_S("lease", p->options->election_name));
}

static void start_election(void *ctx)
{
    struct process *p = ctx;
    ek_election_start(p->election);
}

static void stop_election(void *ctx, bool release)
{
    struct process *p = ctx;
    ek_election_stop(p->election, release);
}

static const char *election_namespace(const struct process *p)
{
    if (*p->options->election_namespace)
        return p->options->election_namespace;
    return ek_process_namespace(p->config);
}

static int make_election(struct process *p, struct ek_err *err)
{
    struct ek_election_config config = {
        .client = p->client,
        .namespace = election_namespace(p),
        .name = p->options->election_name,
        .settings = {.duration_ms = p->options->lease_duration_ms,
                     .deadline_ms = p->options->renew_deadline_ms,
                     .retry_ms = p->options->retry_period_ms,
                     .seed = ek_uuid_seed()},
        .observer = {.started = on_leading,
                     .stopped = on_left,
                     .new_leader = on_new_leader,
                     .slowpath = on_slowpath,
                     .failed = on_election_failed},
        .ctx = p,
    };
    if (!p->options->leader_elect)
        return 0;
    if (!config.namespace)
        return ek_err_set(err, EK_E_INVAL,
                          "outside a cluster --leader-elect needs --leader-election-namespace");
    memcpy(config.settings.identity, p->identity, sizeof config.settings.identity);
    ek_standard_metrics_leader(&p->standard, p->options->election_name, false);
    return ek_election_new(&p->loop, &config, &p->election, err);
}

static int check_election(void *ctx, struct ek_err *err)
{
    struct process *p = ctx;
    return ek_election_check(p->election, ELECTION_TOLERANCE_MS, err);
}

static int check_ready(void *ctx, struct ek_err *err)
{
    struct process *p = ctx;
    struct ek_err local = {0};
    const char *failure = NULL;

    for (size_t i = 0; i < p->subjects.n && !failure; i++)
        failure = ek_watchset_failure(ek_controller_watchset(p->controllers[i]));
    int rc = ek_manager_check_ready(p->manager, &local);
    if (!rc)
        return 0;
    return ek_err_set(err, rc, "%s%s%s", local.message, failure ? ": " : "",
                      failure ? failure : "");
}

/* --- events ------------------------------------------------------------------------------- */

static void on_event_lost(void *ctx, enum ek_event_loss why, const struct ek_err *err)
{
    struct process *p = ctx;

    /* Too many about one object: what the limit is for, and no error. */
    if (why == EK_EVENT_LOST_BUDGET) {
        ek_log_debug(p->log, "Event not recorded", EK_S("why", ek_event_loss_name(why)));
        return;
    }
    ek_log_error_limited(p->log, err, 5, 60000, "Event not recorded",
                         EK_S("why", ek_event_loss_name(why)));
}

static int start_recorder(void *ctx, struct ek_err *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

static void stop_recorder(void *ctx, void (*stopped)(void *token), void *token)
{
    struct process *p = ctx;
    ek_recorder_drain(p->recorder, stopped, token);
}

/* --- debugging ---------------------------------------------------------------------------- */

static void on_debug(void *ctx, const char *line, size_t len, const struct ek_debug_peer *peer,
                     struct ek_buf *out)
{
    struct process *p = ctx;
    struct ek_debug_now now = ek_debug_clock();
    ek_debug_answer(&p->debug, line, len, &now, peer, out);
}

static const struct ek_prober *find_prober(const struct process *p)
{
    const struct ek_prober *prober = NULL;

    for (size_t i = 0; i < p->subjects.n && !prober; i++)
        prober = ek_controller_prober(p->controllers[i]);
    return prober;
}

static void put_peer(void *ctx, const char *address, const struct ek_debug_doc *doc)
{
    const struct process *p = ctx;

    for (size_t i = 0; i < p->subjects.n; i++)
        ek_controller_debug_peer(p->controllers[i], address, doc);
}

static size_t put_unprobed(void *ctx, const struct ek_debug_doc *doc, yyjson_mut_val *list)
{
    const struct process *p = ctx;
    size_t n = 0;

    for (size_t i = 0; i < p->subjects.n; i++)
        n += ek_controller_debug_unprobed(p->controllers[i], doc, list);
    return n;
}

/* What helps to find faults must not be one: without its socket the controller runs all the same.
 */
static int start_debugging(struct process *p, struct ek_err *err)
{
    struct ek_debug_socket_config config = {
        .name = p->options->debug_socket, .answer = on_debug, .ctx = p};
    struct ek_err failure = {0};

    p->debug = (struct ek_debug){.version = EK_VERSION,
                                 .identity = p->identity,
                                 .server = ek_client_server(p->client),
                                 .started_ms = ek_debug_clock().mono_ms,
                                 .log = p->log,
                                 .registry = p->registry,
                                 .prober = find_prober(p),
                                 .webhook = ek_webhook_serving_is_on(p->webhook)
                                                ? ek_webhook_serving_webhook(p->webhook)
                                                : NULL,
                                 .certs = ek_webhook_serving_certs(p->webhook),
                                 .election = p->election,
                                 .manager = p->manager,
                                 .loop = &p->debug_loop,
                                 .may_write = may_write,
                                 .peer = put_peer,
                                 .unprobed = put_unprobed,
                                 .ctx = p};
    if (!strcmp(config.name, "0"))
        return 0;
    if (ek_debug_name_check(config.name, err))
        return ek_err_prefix(err, "--debug-socket");
    ek_debug_loop_start(&p->debug_loop, &p->loop);
    if (ek_debug_socket_open(&p->loop, &config, &p->debug_socket, &failure))
        ek_log_error(p->log, &failure, "Not answering debug requests");
    else
        ek_log_info(p->log, "Answering debug requests",
                    EK_S("socket", ek_debug_socket_name(p->debug_socket)));
    return 0;
}

/* --- wiring ------------------------------------------------------------------------------- */

static void make_metrics(struct process *p)
{
    p->metrics = ek_metrics_new();
    ek_standard_metrics_init(&p->standard, p->metrics);
    for (size_t i = 0; i < p->subjects.n; i++)
        p->rows[i] = ek_subject_registry_row(p->subjects.list[i]);
    p->registry = ek_registry_new(p->rows, p->subjects.n, &p->standard, p->log);
    p->process_metrics = ek_process_metrics_new(p->metrics, "/proc");
    p->http_metrics = ek_http_metrics_new(p->metrics);
    ek_build_info_register(p->metrics, EK_VERSION, "");
}

/* Skew has found the API servers: everybody else reads the same table. */
static void on_peers(void *ctx, const struct ek_peer_table *table)
{
    struct process *p = ctx;

    if (p->webhook)
        ek_webhook_serving_observe_peers(p->webhook, table);
    for (size_t i = 0; i < p->subjects.n; i++)
        if (p->controllers[i])
            ek_controller_peers(p->controllers[i], table);
}

static void on_facts(void *ctx, const struct ek_skew_facts *facts, const struct ek_skew_spec *spec)
{
    struct process *p = ctx;

    for (size_t i = 0; i < p->subjects.n; i++)
        if (p->controllers[i])
            ek_controller_facts(p->controllers[i], facts, spec);
}

static void on_view(void *ctx, const struct ek_view *view, uint64_t took_ns)
{
    const struct process *p = ctx;

    (void)took_ns;
    if (p->discovery)
        ek_discovery_endpoint_publish(p->discovery, view);
}

static const struct ek_exclusions *exclusions(void *ctx, int64_t now_ms, int64_t *ret_again_ms)
{
    struct process *p = ctx;
    return ek_fresh_documents_exclusions(&p->fresh, now_ms, ret_again_ms);
}

static void on_scrape(void *ctx)
{
    struct process *p = ctx;
    ek_registry_collect(p->registry);
}

static void make_parts(struct process *p)
{
    struct ek_serving_config serving = {.loop = &p->loop,
                                        .options = p->options,
                                        .client = p->client,
                                        .metrics = p->metrics,
                                        .standard = &p->standard,
                                        .http = p->http_metrics,
                                        .collect = on_scrape,
                                        .ctx = p,
                                        .log = p->log};
    struct ek_recorder_config recorder = {.client = p->client,
                                          .instance = p->identity,
                                          .may_record = may_write,
                                          .lost = on_event_lost,
                                          .ctx = p};
    /* The flag was checked when it was read; a pod's namespace is a namespace. */
    ek_probe_account_parse(p->options->probe_account, ek_process_namespace(p->config), &p->account,
                           NULL);
    p->recorder = ek_recorder_new(&p->loop, &recorder);
    p->ui = serving.ui = ek_ui_new(&p->debug, p->recorder);
    if (serves_discovery(p->options)) {
        ek_fresh_documents_init(&p->fresh, &p->loop);
        p->discovery = serving.discovery = ek_discovery_endpoint_new();
    }
    p->serving = ek_serving_new(&serving);
}

static int make_webhook(struct process *p, struct ek_err *err)
{
    struct ek_webhook_serving_config config = {.loop = &p->loop,
                                               .options = p->options,
                                               .client = p->client,
                                               .namespace = ek_process_namespace(p->config),
                                               .metrics = p->metrics,
                                               .standard = &p->standard,
                                               .http = p->http_metrics,
                                               .log = p->log};

    return ek_webhook_serving_new(&config, &p->webhook, err);
}

static void on_bundle(void *ctx)
{
    struct process *p = ctx;
    for (size_t i = 0; i < p->subjects.n; i++)
        if (p->subjects.list[i]->registers || p->subjects.list[i]->joins)
            ek_controller_write(p->controllers[i], 0);
}

/* How API servers reach the webhook, for subjects that register with them. */
static struct ek_subject_serving serving_of(const struct process *p)
{
    const struct ek_run_options *o = p->options;
    bool on = ek_webhook_serving_is_on(p->webhook);

    return (struct ek_subject_serving){
        .webhook = on ? ek_webhook_serving_webhook(p->webhook) : NULL,
        .certs = ek_webhook_serving_certs(p->webhook),
        .needs_bundle = *o->webhook_cert_path == '\0',
        .with_kube_system = o->webhook_kube_system,
        .url = o->webhook_url,
        .namespace = ek_webhook_serving_namespace(p->webhook),
        .service = o->webhook_service_name,
    };
}

static void make_subjects(struct process *p)
{
    struct ek_subject_env env = {.loop = &p->loop,
                                 .client = p->client,
                                 .metrics = p->metrics,
                                 .recorder = p->recorder,
                                 .log = p->log,
                                 .account = &p->account,
                                 .serving = serving_of(p),
                                 .now_ms = ek_wall_ms,
                                 .may_write = may_write,
                                 .publish_peers = on_peers,
                                 .publish_view = on_view,
                                 .publish_facts = on_facts,
                                 .exclusions = p->discovery ? exclusions : NULL,
                                 .ctx = p};

    if (p->discovery)
        ek_fresh_documents_watch(&p->fresh, p->client, p->log);
    for (size_t i = 0; i < p->subjects.n; i++) {
        env.observer = ek_registry_observer(p->registry, i);
        env.queue = ek_registry_queue(p->registry, i);
        p->controllers[i] = ek_controller_new(p->subjects.list[i], &env);
        ek_registry_set(p->registry, i, p->controllers[i]);
        if (p->discovery && ek_controller_prober(p->controllers[i]))
            ek_fresh_documents_set_reader(&p->fresh, p->controllers[i]);
    }
    if (env.serving.webhook)
        ek_webhook_serving_observe(p->webhook, on_bundle, p);
}

/* Early subjects come before the webhook; of the others first the informers, then the recorder,
 * which outlives the runners, then these. */
static void add_early_subjects(struct process *p)
{
    struct ek_runnable watch, runner;

    for (size_t i = 0; i < p->subjects.n; i++) {
        if (!p->subjects.list[i]->early)
            continue;
        ek_controller_runnables(p->controllers[i], &watch, &runner);
        ek_manager_add(p->manager, &watch);
        ek_manager_add(p->manager, &runner);
    }
}

static void add_subjects(struct process *p, const struct ek_runnable *recorder)
{
    struct ek_runnable watch, runners[EK_SUBJECTS_MAX];
    size_t n = 0;

    if (p->discovery) {
        ek_fresh_documents_runnable(&p->fresh, &watch);
        ek_manager_add(p->manager, &watch);
    }

    for (size_t i = 0; i < p->subjects.n; i++) {
        if (p->subjects.list[i]->early)
            continue;
        ek_controller_runnables(p->controllers[i], &watch, &runners[n++]);
        ek_manager_add(p->manager, &watch);
    }
    ek_manager_add(p->manager, recorder);
    for (size_t i = 0; i < n; i++)
        ek_manager_add(p->manager, &runners[i]);
}

static void make_manager(struct process *p)
{
    struct ek_manager_config config = {.on_phase = ek_process_on_phase, .ctx = p->log};
    struct ek_runnable serving;
    struct ek_runnable recorder = {.name = "event recorder",
                                   /* Outlives the runners, whose last Events it sends. */
                                   .group = EK_GROUP_CACHES,
                                   .start = start_recorder,
                                   .stop = stop_recorder,
                                   .ctx = p};

    if (p->election)
        config.election = (struct ek_manager_election){
            .start = start_election,
            .stop = stop_election,
            .ctx = p,
            .release_on_cancel = p->options->release_on_cancel,
        };
    p->manager = ek_manager_new(&config);
    ek_serving_runnable(p->serving, &serving);
    ek_manager_add(p->manager, &serving);
    add_early_subjects(p);
    ek_webhook_serving_add(p->webhook, p->manager);
    add_subjects(p, &recorder);
    ek_serving_add_readyz(p->serving, "informer-sync", check_ready, p);
    ek_serving_add_readyz(p->serving, "webhook", ek_webhook_check_ready,
                          ek_webhook_serving_webhook(p->webhook));
    if (p->election)
        ek_serving_add_healthz(p->serving, "leaderElection", check_election, p);
}

static int make(struct process *p, struct ek_err *err)
{
    int rc = ek_run_options_log(p->options, &p->log, err);
    if (rc)
        return rc;
    make_metrics(p);
    rc = ek_process_client(&p->loop, &p->options->cluster, p->log, &p->standard, &p->config,
                           &p->client, err);
    if (rc)
        return rc;
    ek_election_identity(p->identity);
    rc = make_election(p, err);
    if (rc)
        return rc;
    make_parts(p);
    rc = make_webhook(p, err);
    if (rc)
        return rc;
    make_subjects(p);
    make_manager(p);
    return start_debugging(p, err);
}

static void destroy(struct process *p)
{
    ek_debug_socket_close(p->debug_socket, NULL, NULL);
    ek_debug_loop_stop(&p->debug_loop);
    for (size_t i = p->subjects.n; i-- > 0;)
        ek_controller_close(p->controllers[i], NULL, NULL);
    if (p->discovery)
        ek_fresh_documents_close(&p->fresh);
    ek_recorder_close(p->recorder, NULL, NULL);
    ek_election_close(p->election, NULL, NULL);
    ek_process_end(&p->loop, p->client);
    ek_serving_free(p->serving);
    ek_ui_free(p->ui);
    ek_discovery_endpoint_free(p->discovery);
    ek_webhook_serving_free(p->webhook);
    ek_manager_free(p->manager);
    ek_process_metrics_free(p->process_metrics);
    ek_http_metrics_free(p->http_metrics);
    ek_metrics_free(p->metrics);
    ek_registry_free(p->registry);
    ek_client_config_free(p->config);
    ek_log_free(p->log);
}

static int select_subjects(struct process *p, struct ek_err *err)
{
    int rc = ek_subjects_select(ek_subjects, &p->options->subjects, &p->subjects, err);

    if (rc)
        return ek_err_prefix(err, "--subjects");
    if (serves_discovery(p->options) && !p->subjects.finds_peers)
        return ek_err_set(err, EK_E_INVAL,
                          "--discovery-bind-address needs the subject that finds the API servers: "
                          "add skew to --subjects");
    return 0;
}

static int run(void *options, char **args, int n_args)
{
    struct ek_run_options *o = options;
    struct process p = {.options = options};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    (void)args;
    (void)n_args;
    if (select_subjects(&p, &err)) {
        ek_complain(&err);
        return code;
    }
    if (!p.subjects.webhook)
        o->webhook_address = "0";
    ek_process_begin(&p.loop);
    if (make(&p, &err)) {
        ek_complain(&err);
    } else {
        ek_log_info(p.log, "Starting Evenkeel", EK_S("version", EK_VERSION),
                    EK_S("server", ek_client_server(p.client)), EK_S("identity", p.identity));
        code = ek_process_run(p.manager, &p.loop, p.log);
    }
    destroy(&p);
    return code;
}

static int run_run(void *unused, int argc, char **argv)
{
    struct ek_run_options options = {0};
    (void)unused;
    return ek_command_run(&ek_run_command, argc, argv, &options, run);
}

const struct ek_command ek_run_command = {
    .name = "run",
    .usage = "",
    .summary =
        "Run the controller: version skew, admission policies, field gates, plans, operators",
    .text =
        "Runs the subjects that --subjects names. skew reports the version skew of the control "
        "plane as the status of the ControlPlane named \"cluster\", as Events and as metrics. "
        "policies and gates enforce mutating admission policies and field gates by a webhook, in "
        "a cluster. plans keeps the status of CompatibilityPlans. failforward upgrades failed "
        "operators of OLM v0 whose owners consent.\n\n/debug/ui, on the address of /metrics, "
        "is the page of \"evenkeel check -o html\" with admission policies, field gates, Events "
        "and informers. The page needs \"get\" on the nonResourceURL /debug/ui (the ClusterRole "
        "evenkeel-ui-reader).\n\n--discovery-bind-address serves /api, /apis and /openapi with "
        "what "
        "any API server serves, and /version; `evenkeel proxy` serves also all other "
        "paths.\n\nExit codes: 0 after a "
        "clean stop "
        "(SIGTERM or SIGINT), 1 after an error or when the leader election was lost. A second "
        "signal ends the process at once.",
    .groups = ek_run_flag_groups,
    .n_groups = EK_RUN_FLAG_GROUPS,
    .max_args = 0,
    .run = run_run,
};
