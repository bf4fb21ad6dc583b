/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "api/base/quote.h"
#include "controller/debug/debug-internal.h"

/* --- informers ---------------------------------------------------------------------------- */

static void put_history(const struct ek_debug_doc *d, const struct ek_reflector *reflector)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d->doc, d->at, "history");
    const struct ek_reflector_transition *t;

    for (size_t i = 0; (t = ek_reflector_transition_at(reflector, i)) != NULL; i++) {
        struct ek_debug_doc item = ek_debug_item(d, list);
        ek_debug_put_mono(&item, "time", t->at_ms);
        ek_debug_put(&item, "from", ek_reflector_state_name(t->from));
        ek_debug_put(&item, "to", ek_reflector_state_name(t->to));
        ek_debug_put(&item, "cause", ek_reflector_event_name(t->cause));
        if (t->code)
            ek_debug_put_reason(&item, t->code, t->why);
    }
}

/* The states in which the timer is a wait; in the others it is a deadline of the server's. */
static bool is_waiting(enum ek_reflector_state state)
{
    return state == EK_REFLECTOR_BACKOFF || state == EK_REFLECTOR_STREAM_BACKOFF ||
           state == EK_REFLECTOR_WATCH_BACKOFF || state == EK_REFLECTOR_NOT_SERVED;
}

static void put_counts(const struct ek_debug_doc *d, const struct ek_reflector_status *status)
{
    ek_debug_put_count(d, "lists", status->lists);
    ek_debug_put_count(d, "watches", status->watches);
    ek_debug_put_count(d, "events", status->events);
    ek_debug_put_count(d, "failures", status->failures);
    ek_debug_put_count(d, "unexpectedEvents", status->illegal);
}

void ek_debug_informer__(const struct ek_debug_doc *d, const struct ek_resource *resource,
                         const struct ek_reflector *reflector, const struct ek_store *store,
                         int64_t last_event_ms)
{
    struct ek_reflector_status status;

    ek_reflector_status(reflector, &status);
    ek_debug_put(d, "resource", resource->resource);
    ek_debug_put_some(d, "group", resource->group);
    ek_debug_put(d, "version", resource->version);
    ek_debug_put_some(d, "namespace", resource->namespace);
    ek_debug_put_some(d, "labelSelector", resource->label_selector);
    ek_debug_put_some(d, "fieldSelector", resource->field_selector);
    ek_debug_put(d, "state", ek_reflector_state_name(status.state));
    ek_debug_put_mono(d, "since", status.entered_ms);
    ek_debug_put_bool(d, "synced", status.synced);
    ek_debug_put_bool(d, "served", status.served);
    ek_debug_put_mono(d, is_waiting(status.state) ? "nextTryTime" : "deadlineTime",
                      status.timer_ms);
    if (store)
        ek_debug_put_count(d, "objects", ek_store_size(store));
    ek_debug_put_some(d, "resourceVersion", status.last_rv);
    put_counts(d, &status);
    if (last_event_ms)
        ek_debug_put_mono(d, "lastEventTime", last_event_ms);
    ek_debug_put_error(d, "error", status.err);
    if (status.failure->code) {
        ek_debug_put_error(d, "lastFailure", status.failure);
        ek_debug_put_mono(d, "lastFailureTime", status.failure_ms);
    }
    put_history(d, reflector);
}

/* --- queue -------------------------------------------------------------------------------- */

struct listing {
    const struct ek_debug_doc *d;
    yyjson_mut_val *list;
    size_t n;
};

static void put_key(void *ctx, const struct ek_queue_entry *entry)
{
    struct listing *l = ctx;

    if (l->n++ >= EK_DEBUG_LIST_MAX)
        return;
    struct ek_debug_doc item = ek_debug_item(l->d, l->list);
    ek_debug_put(&item, "key", entry->key);
    ek_debug_put(&item, "state",
                 entry->processing ? "processing"
                 : entry->dirty    ? "ready"
                 : entry->waiting  ? "waiting"
                                   : "resting");
    yyjson_mut_obj_add_int(item.doc, item.at, "priority", entry->priority);
    ek_debug_put_count(&item, "requeues", entry->requeues);
    if (entry->processing)
        ek_debug_put_mono(&item, "processingSince", entry->started_ms);
    if (entry->dirty)
        ek_debug_put_mono(&item, "readySince", entry->dirty_ms);
    if (entry->waiting)
        ek_debug_put_mono(&item, "dueTime", entry->ready_ms);
}

static const char *result_name(enum ek_reconciled result)
{
    static const char *const names[EK_RECONCILED_MAX] = {
        [EK_RECONCILED_OK] = "ok",
        [EK_RECONCILED_REQUEUE] = "requeue",
        [EK_RECONCILED_REQUEUE_AFTER] = "requeue after",
        [EK_RECONCILED_ERROR] = "error",
    };
    return (unsigned)result < EK_RECONCILED_MAX ? names[result] : "?";
}

static void put_run(void *ctx, const struct ek_run_info *run)
{
    struct listing *l = ctx;

    if (l->n++ >= EK_DEBUG_LIST_MAX)
        return;
    struct ek_debug_doc item = ek_debug_item(l->d, l->list);
    ek_debug_put(&item, "id", run->id);
    ek_debug_put(&item, "key", run->key);
    ek_debug_put_mono(&item, "startTime", run->since_ms);
    yyjson_mut_obj_add_sint(item.doc, item.at, "tookMs", run->took_ms);
    ek_debug_put(&item, "result", run->under_way ? "running" : result_name(run->result));
    if (run->code) {
        struct ek_debug_doc error = ek_debug_object(&item, "error");
        ek_debug_put_reason(&error, run->code, run->error);
    }
}

void ek_debug_queue__(const struct ek_debug_doc *d, struct ek_runner *runner)
{
    const struct ek_queue *queue = ek_runner_queue(runner);
    struct ek_queue_stats stats;
    struct listing keys = {d, NULL, 0}, runs = {d, NULL, 0};

    ek_queue_stats(queue, d->now.mono_ms, &stats);
    ek_debug_put_count(d, "depth", stats.depth);
    ek_debug_put_count(d, "waiting", stats.waiting);
    ek_debug_put_count(d, "processing", stats.processing);
    ek_debug_put_count(d, "adds", stats.adds);
    ek_debug_put_count(d, "retries", stats.retries);
    ek_debug_put_bool(d, "shuttingDown", ek_queue_is_shutting_down(queue));
    keys.list = yyjson_mut_obj_add_arr(d->doc, d->at, "keys");
    ek_queue_each(queue, put_key, &keys);
    ek_debug_put_count(d, "keysTotal", keys.n);
    runs.list = yyjson_mut_obj_add_arr(d->doc, d->at, "runs");
    ek_runner_each(runner, put_run, &runs);
}

/* --- leader ------------------------------------------------------------------------------- */

static void put_record(const struct ek_debug_doc *d, const struct ek_election_fsm *machine)
{
    const struct ek_election_record *record = &machine->observed;

    if (!machine->seen)
        return;
    ek_debug_put(d, "holder", record->holder);
    ek_debug_put_boot(d, "changeSeenTime", machine->observed_at);
    ek_debug_put_some(d, "renewTime", record->renew_time);
    ek_debug_put_some(d, "acquireTime", record->acquire_time);
    yyjson_mut_obj_add_sint(d->doc, d->at, "leaseDurationSeconds", record->duration_s);
    yyjson_mut_obj_add_sint(d->doc, d->at, "transitions", record->transitions);
}

static void put_machine(const struct ek_debug_doc *d, const struct ek_election_fsm *machine)
{
    bool waits = machine->state == EK_ELECTION_WAITING || machine->state == EK_ELECTION_GIVING_WAIT;

    ek_debug_put(d, "state", ek_election_state_name(machine->state));
    ek_debug_put_bool(d, "leads", ek_election_fsm_leads(machine, d->now.boot_ms));
    if (machine->leading) {
        ek_debug_put_boot(d, "heldSince", machine->held_since);
        ek_debug_put_boot(d, "leadsUntil", ek_election_fsm_lost_at(machine));
    }
    if (waits)
        ek_debug_put_boot(d, "nextTryTime", machine->next_try_at);
    if (machine->state == EK_ELECTION_ENDED) {
        ek_debug_put_bool(d, "lost", machine->lost);
        ek_debug_put_bool(d, "released", machine->released);
    }
}

void ek_debug_leader__(const struct ek_debug_doc *d, const char *identity,
                       const struct ek_election_status *status, bool may_write)
{
    ek_debug_put_bool(d, "election", status != NULL);
    ek_debug_put_some(d, "identity", identity);
    ek_debug_put_bool(d, "mayWrite", may_write);
    if (!status)
        return;
    struct ek_debug_doc lease = ek_debug_object(d, "lease");
    ek_debug_put(&lease, "namespace", status->namespace);
    ek_debug_put(&lease, "name", status->name);
    put_machine(d, status->machine);
    put_record(d, status->machine);
    ek_debug_put_count(d, "failures", status->n_failures);
    if (status->failure->code) {
        ek_debug_put_error(d, "lastFailure", status->failure);
        ek_debug_put_boot(d, "lastFailureTime", status->failure_ms);
    }
}

/* --- probe targets ------------------------------------------------------------------------ */

static void put_answer(const struct ek_debug_doc *d, const char *name,
                       const struct ek_probe_answer *answer)
{
    if (answer->tried_at_ms == EK_TIME_UNSET)
        return;
    struct ek_debug_doc at = ek_debug_object(d, name);
    ek_debug_put_wall(&at, "goodTime", answer->good_at_ms);
    ek_debug_put_wall(&at, "triedTime", answer->tried_at_ms);
    ek_debug_put_error(&at, "error", &answer->error);
}

static void put_answers(const struct ek_debug_doc *d, const struct ek_probe *probe)
{
    struct ek_debug_doc answers = ek_debug_object(d, "answers");

    put_answer(&answers, "reach", &probe->reach);
    put_answer(&answers, "version", &probe->version_answer);
    put_answer(&answers, "readyz", &probe->ready_answer);
    put_answer(&answers, "discovery", &probe->discovery_answer);
    put_answer(&answers, "openapi", &probe->openapi_answer);
    put_answer(&answers, "metrics", &probe->metrics_answer);
}

static void put_discovery(const struct ek_debug_doc *d, const struct ek_probe *probe)
{
    static const char *const forms[EK_DISCOVERY_FORM_MAX] = {
        [EK_DISCOVERY_V2] = "v2",
        [EK_DISCOVERY_V2BETA1] = "v2beta1",
        [EK_DISCOVERY_LEGACY] = "legacy",
    };
    size_t n, n_resources = 0;

    if (!probe->discovery)
        return;
    struct ek_debug_doc discovery = ek_debug_object(d, "discovery");
    const struct ek_discovery_entry *entries = ek_discovery_entries(probe->discovery, &n);
    for (size_t i = 0; i < n; i++)
        n_resources += entries[i].resource[0] != '\0';
    ek_debug_put(&discovery, "form", forms[probe->discovery_form]);
    ek_debug_put_count(&discovery, "resources", n_resources);
}

static void put_certificate(const struct ek_debug_doc *d, const struct ek_probe *probe)
{
    if (!*probe->cert_fingerprint)
        return;
    struct ek_debug_doc certificate = ek_debug_object(d, "certificate");
    ek_debug_put_wall(&certificate, "notAfter", probe->cert_not_after_ms);
    ek_debug_put(&certificate, "sha256", probe->cert_fingerprint);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d->doc, certificate.at, "names");
    for (size_t i = 0; i < probe->n_cert_names && i < EK_DEBUG_LIST_MAX; i++)
        ek_debug_put_item(d, list, probe->cert_names[i]);
}

static void put_probe(const struct ek_debug_doc *d, const struct ek_probe *probe)
{
    char minor[EK_MINOR_SIZE];

    ek_debug_put_bool(d, "reachable",
                      !probe->reach.error.code && probe->reach.good_at_ms != EK_TIME_UNSET);
    ek_debug_put_some(d, "gitVersion", probe->git_version);
    ek_debug_put_some(d, "emulation", ek_minor_format(probe->emulation, minor));
    ek_debug_put_some(d, "minCompatibility", ek_minor_format(probe->min_compat, minor));
    if (probe->ready_answer.good_at_ms != EK_TIME_UNSET) {
        ek_debug_put_bool(d, "ready", probe->ready);
        ek_debug_put_some(d, "failingChecks", probe->not_ready);
    }
    put_discovery(d, probe);
    if (probe->gates)
        ek_debug_put_count(d, "featureGates", probe->n_gates);
    put_certificate(d, probe);
    put_answers(d, probe);
}

void ek_debug_peer__(const struct ek_debug_doc *d, const struct ek_prober_state *state)
{
    ek_debug_put(d, "component", state->component);
    ek_debug_put(d, "address", state->address);
    ek_debug_put_bool(d, "asking", state->asking);
    ek_debug_put_count(d, "rounds", state->rounds);
    ek_debug_put_wall(d, "roundTime", state->round_ms);
    yyjson_mut_obj_add_sint(d->doc, d->at, "tookMs", state->took_ms);
    ek_debug_put_wall(d, "fullRoundTime", state->full_ms);
    if (state->next_in_ms >= 0)
        ek_debug_put_mono(d, "nextRoundTime", d->now.mono_ms + state->next_in_ms);
    if (state->probe)
        put_probe(d, state->probe);
}
