/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel run`: the controller. Wires the parts to one manager and runs it. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "controller/controllers.h"
#include "controller/debug_socket.h"
#include "controller/election.h"
#include "controller/gates_controller.h"
#include "controller/mutation_controller.h"
#include "controller/process_metrics.h"
#include "controller/run_options.h"
#include "controller/serving.h"
#include "controller/skew_controller.h"
#include "controller/uuid.h"
#include "controller/webhook_serving.h"
#include "informers/kubeconfig.h"

/* How overdue the lease may be before /healthz fails (controller-runtime's adaptor). */
#define ELECTION_TOLERANCE_MS 20000

struct process {
    const struct ek_run_options *options;
    uv_loop_t loop;
    struct ek_log *log;
    struct ek_client_config *config;
    struct ek_client *client;
    struct ek_metrics *metrics;
    struct ek_standard_metrics standard;
    struct ek_registry *registry;
    struct ek_process_metrics *process_metrics;
    struct ek_serving *serving;
    struct ek_webhook_serving *webhook;
    struct ek_manager *manager;
    struct ek_election *election;
    struct ek_recorder *recorder;
    struct ek_skew_controller *skew;
    struct ek_mutation_controller *mutation;
    struct ek_gates_controller *gates;
    struct ek_debug debug;
    struct ek_debug_loop debug_loop;
    struct ek_debug_socket *debug_socket;
    char identity[EK_ELECTION_NAME_SIZE];
};

static void on_rest(void *ctx, const char *method, const char *code, const char *host,
                    double seconds)
{
    struct process *p = ctx;
    (void)seconds;
    ek_standard_metrics_rest(&p->standard, method, code, host);
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
    ek_skew_controller_poke(p->skew);
    if (ek_webhook_serving_is_on(p->webhook))
        ek_webhook_certs_poke(ek_webhook_serving_certs(p->webhook));
    ek_mutation_controller_poke(p->mutation);
    ek_gates_controller_poke(p->gates, true);
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

/* NULL outside a cluster. */
static const char *pod_namespace(const struct process *p)
{
    return p->config->namespace && !strcmp(p->config->source, "in-cluster") ? p->config->namespace
                                                                            : NULL;
}

static const char *election_namespace(const struct process *p)
{
    if (*p->options->election_namespace)
        return p->options->election_namespace;
    return pod_namespace(p);
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
    const char *failure = ek_skew_watch_failure(ek_skew_controller_watch(p->skew));

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
                                 .prober = ek_skew_watch_prober(ek_skew_controller_watch(p->skew)),
                                 .webhook = ek_webhook_serving_is_on(p->webhook)
                                                ? ek_webhook_serving_webhook(p->webhook)
                                                : NULL,
                                 .certs = ek_webhook_serving_certs(p->webhook),
                                 .election = p->election,
                                 .manager = p->manager,
                                 .loop = &p->debug_loop,
                                 .may_write = may_write,
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

static void on_phase(void *ctx, enum ek_manager_phase phase)
{
    struct process *p = ctx;
    ek_log_info(p->log, "Manager", EK_S("phase", ek_manager_phase_name(phase)));
}

static int make_client(struct process *p, struct ek_err *err)
{
    const struct ek_cluster_options *o = &p->options->cluster;
    int rc = ek_kubeconfig_load(*o->kubeconfig ? o->kubeconfig : NULL,
                                *o->context ? o->context : NULL, NULL, &p->config, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < p->config->warnings.n; i++)
        ek_log_info(p->log, "Configuration warning", EK_S("warning", p->config->warnings.items[i]));
    rc = ek_client_new(&p->loop, p->config, ek_user_agent(), &p->client, err);
    if (!rc)
        ek_client_set_observer(p->client, on_rest, p);
    return rc;
}

static void make_metrics(struct process *p)
{
    p->metrics = ek_metrics_new();
    ek_standard_metrics_init(&p->standard, p->metrics);
    p->registry =
        ek_registry_new(ek_controller_rows, EK_CONTROLLERS, p->metrics, &p->standard, p->log);
    p->process_metrics = ek_process_metrics_new(p->metrics, "/proc");
    ek_build_info_register(p->metrics, EK_VERSION, "");
}

/* Who runs the plug-in of mutating policies decides who enforces them. */
static void on_planned(void *ctx, const struct ek_skew_view *view)
{
    struct process *p = ctx;
    if (p->mutation)
        ek_mutation_controller_observe(p->mutation, view);
    if (p->gates)
        ek_gates_controller_observe(p->gates, view);
}

static void make_parts(struct process *p)
{
    struct ek_serving_config serving = {.loop = &p->loop,
                                        .options = p->options,
                                        .client = p->client,
                                        .metrics = p->metrics,
                                        .standard = &p->standard,
                                        .log = p->log};
    struct ek_recorder_config recorder = {.client = p->client,
                                          .instance = p->identity,
                                          .may_record = may_write,
                                          .lost = on_event_lost,
                                          .ctx = p};
    p->serving = ek_serving_new(&serving);
    p->recorder = ek_recorder_new(&p->loop, &recorder);
    struct ek_skew_controller_config skew = {
        .loop = &p->loop,
        .client = p->client,
        .metrics = p->metrics,
        .recorder = p->recorder,
        .log = p->log,
        .may_write = may_write,
        .observer = ek_registry_observer(p->registry, EK_CONTROLLER_SKEW),
        .queue = ek_registry_queue(p->registry, EK_CONTROLLER_SKEW),
        .planned = on_planned,
        .ctx = p,
    };
    p->skew = ek_skew_controller_new(&skew);
    ek_registry_set(p->registry, EK_CONTROLLER_SKEW, p->skew);
}

static int make_webhook(struct process *p, struct ek_err *err)
{
    struct ek_webhook_serving_config config = {.loop = &p->loop,
                                               .options = p->options,
                                               .client = p->client,
                                               .namespace = pod_namespace(p),
                                               .metrics = p->metrics,
                                               .standard = &p->standard,
                                               .log = p->log,
                                               .may_write = may_write,
                                               .ctx = p};

    return ek_webhook_serving_new(&config, &p->webhook, err);
}

static void on_bundle(void *ctx)
{
    struct process *p = ctx;
    ek_mutation_controller_poke(p->mutation);
    ek_gates_controller_poke(p->gates, false);
}

static int64_t wall_clock_ms(void)
{
    return ek_log_wall_clock(NULL) / 1000000;
}

static void make_mutation(struct process *p)
{
    const struct ek_run_options *o = p->options;
    bool on = ek_webhook_serving_is_on(p->webhook);
    const char *namespace = ek_webhook_serving_namespace(p->webhook);
    struct ek_mutation_controller_config config = {
        .loop = &p->loop,
        .client = p->client,
        .webhook = on ? ek_webhook_serving_webhook(p->webhook) : NULL,
        .certs = ek_webhook_serving_certs(p->webhook),
        .needs_bundle = *o->webhook_cert_path == '\0',
        .options = {.url = o->webhook_url,
                    .service_namespace = namespace,
                    .service_name = o->webhook_service_name,
                    .own_namespace = namespace,
                    .with_kube_system = o->webhook_kube_system},
        .recorder = p->recorder,
        .log = p->log,
        .may_write = may_write,
        .observer = ek_registry_observer(p->registry, EK_CONTROLLER_MUTATION),
        .queue = ek_registry_queue(p->registry, EK_CONTROLLER_MUTATION),
        .now_ms = wall_clock_ms,
        .ctx = p,
    };
    p->mutation = ek_mutation_controller_new(&config);
    ek_registry_set(p->registry, EK_CONTROLLER_MUTATION, p->mutation);
    ek_registry_set(p->registry, EK_CONTROLLER_CERTIFICATES, config.certs);
    if (on)
        ek_webhook_serving_observe(p->webhook, on_bundle, p);
}

static void make_gates(struct process *p)
{
    const struct ek_run_options *o = p->options;
    const char *namespace = ek_webhook_serving_namespace(p->webhook);
    struct ek_gates_controller_config config = {
        .loop = &p->loop,
        .client = p->client,
        .webhook =
            ek_webhook_serving_is_on(p->webhook) ? ek_webhook_serving_webhook(p->webhook) : NULL,
        .certs = ek_webhook_serving_certs(p->webhook),
        .needs_bundle = *o->webhook_cert_path == '\0',
        .options = {.url = o->webhook_url,
                    .service_namespace = namespace,
                    .service_name = o->webhook_service_name,
                    .own_namespace = namespace,
                    .with_kube_system = o->webhook_kube_system},
        .metrics = p->metrics,
        .recorder = p->recorder,
        .log = p->log,
        .may_write = may_write,
        .observer = ek_registry_observer(p->registry, EK_CONTROLLER_GATES),
        .queue = ek_registry_queue(p->registry, EK_CONTROLLER_GATES),
        .now_ms = wall_clock_ms,
        .ctx = p,
    };
    p->gates = ek_gates_controller_new(&config);
    ek_registry_set(p->registry, EK_CONTROLLER_GATES, p->gates);
}

static void make_manager(struct process *p)
{
    struct ek_manager_config config = {.on_phase = on_phase, .ctx = p};
    struct ek_runnable watch, runner, serving, policies, policy_runner, gates, gates_runner;
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
    ek_skew_controller_runnables(p->skew, &watch, &runner);
    ek_mutation_controller_runnables(p->mutation, &policies, &policy_runner);
    ek_gates_controller_runnables(p->gates, &gates, &gates_runner);
    ek_manager_add(p->manager, &serving);
    ek_webhook_serving_add(p->webhook, p->manager);
    ek_manager_add(p->manager, &watch);
    ek_manager_add(p->manager, &policies);
    ek_manager_add(p->manager, &gates);
    ek_manager_add(p->manager, &recorder);
    ek_manager_add(p->manager, &runner);
    ek_manager_add(p->manager, &policy_runner);
    ek_manager_add(p->manager, &gates_runner);
    ek_health_add(ek_serving_readyz(p->serving), "informer-sync", check_ready, p);
    ek_health_add(ek_serving_readyz(p->serving), "webhook", ek_webhook_check_ready,
                  ek_webhook_serving_webhook(p->webhook));
    if (p->election)
        ek_health_add(ek_serving_healthz(p->serving), "leaderElection", check_election, p);
}

static int make(struct process *p, struct ek_err *err)
{
    int rc = ek_run_options_log(p->options, &p->log, err);
    if (rc)
        return rc;
    make_metrics(p);
    rc = make_client(p, err);
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
    make_mutation(p);
    make_gates(p);
    make_manager(p);
    return start_debugging(p, err);
}

static void destroy(struct process *p)
{
    ek_debug_socket_close(p->debug_socket, NULL, NULL);
    ek_debug_loop_stop(&p->debug_loop);
    ek_gates_controller_close(p->gates, NULL, NULL);
    ek_mutation_controller_close(p->mutation, NULL, NULL);
    ek_skew_controller_close(p->skew, NULL, NULL);
    ek_recorder_close(p->recorder, NULL, NULL);
    ek_election_close(p->election, NULL, NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    /* Nobody uses the client any more. */
    ek_client_close(p->client, NULL, NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_loop_close(&p->loop);
    ek_serving_free(p->serving);
    ek_webhook_serving_free(p->webhook);
    ek_manager_free(p->manager);
    ek_process_metrics_free(p->process_metrics);
    ek_metrics_free(p->metrics);
    ek_registry_free(p->registry);
    ek_client_config_free(p->config);
    ek_log_free(p->log);
}

static int run(void *options, char **args, int n_args)
{
    struct process p = {.options = options};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    (void)args;
    (void)n_args;
    uv_loop_init(&p.loop);
    if (make(&p, &err)) {
        ek_complain(&err);
    } else {
        ek_log_info(p.log, "Starting Evenkeel", EK_S("version", EK_VERSION),
                    EK_S("server", ek_client_server(p.client)), EK_S("identity", p.identity));
        code = ek_manager_run(p.manager, &p.loop);
        if (ek_manager_error(p.manager))
            ek_log_error(p.log, ek_manager_error(p.manager), "Stopped on an error");
        /* What still runs may use anything: nothing is released, the kernel does it. */
        if (ek_manager_is_abrupt(p.manager))
            _exit(code);
        ek_log_info(p.log, "Stopped", EK_I("exitCode", code));
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
    .summary = "Run the controller: watch version skew, enforce mutating policies",
    .text = "Watches the control plane and publishes what it finds as the status of the "
            "ControlPlane named \"cluster\", as Events and as metrics. In a cluster it also "
            "serves mutating admission policies by webhook.\n\n"
            "Exit codes: 0 after a clean stop (SIGTERM or SIGINT), 1 after an error or when the "
            "leader election was lost. A second signal ends the process at once.",
    .groups = ek_run_flag_groups,
    .n_groups = 5,
    .max_args = 0,
    .run = run_run,
};
