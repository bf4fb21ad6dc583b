/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/debug/debug.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/base/quote.h"
#include "controller/debug/debug-internal.h"
#include "informers/clock.h"

struct ek_debug_now ek_debug_clock(void)
{
    return (struct ek_debug_now){
        .wall_ms = ek_wall_ms(), .mono_ms = ek_monotonic_ms(), .boot_ms = ek_boot_ms()};
}

/* --- topics ------------------------------------------------------------------------------- */

/* Pages in memory; 0 when /proc cannot be read. */
static unsigned long long resident_bytes(void)
{
    char text[128] = "", *end;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    strtoull(text, &end, 10);
    return strtoull(end, NULL, 10) * (unsigned long long)sysconf(_SC_PAGESIZE);
}

static unsigned open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    if (!dir)
        return 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n - 1; /* the descriptor of this very walk */
}

static void put_loop(const struct ek_debug_doc *d, const struct ek_debug_loop *meter)
{
    struct ek_debug_doc loop = ek_debug_object(d, "loop");

    ek_debug_put_count(&loop, "turns", meter->turns);
    ek_debug_put_count(&loop, "busyMs", meter->busy_ns / 1000000);
    ek_debug_put_count(&loop, "longestTurnMs", meter->longest_ns / 1000000);
    if (meter->turns)
        ek_debug_put_mono(&loop, "longestTurnTime", meter->longest_at_ms);
    ek_debug_put_count(&loop, "slowTurns", meter->slow_turns);
    if (meter->slow_turns)
        ek_debug_put_mono(&loop, "lastSlowTurnTime", meter->last_slow_ms);
}

static void put_process(const struct ek_debug *debug, const struct ek_debug_doc *d)
{
    struct rlimit files;
    struct rusage usage;

    ek_debug_put(d, "version", debug->version);
    ek_debug_put_count(d, "pid", (unsigned long long)getpid());
    ek_debug_put_some(d, "identity", debug->identity);
    ek_debug_put_some(d, "server", debug->server);
    ek_debug_put_mono(d, "startTime", debug->started_ms);
    ek_debug_put_count(d, "residentBytes", resident_bytes());
    ek_debug_put_count(d, "heapBytes", mallinfo2().uordblks);
    if (!getrusage(RUSAGE_SELF, &usage))
        ek_debug_put_count(
            d, "cpuMs",
            (unsigned long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                (unsigned long long)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
    ek_debug_put_count(d, "openFiles", open_files());
    if (!getrlimit(RLIMIT_NOFILE, &files))
        ek_debug_put_count(d, "maxFiles", files.rlim_cur);
    if (debug->loop)
        put_loop(d, debug->loop);
}

static void put_part(void *ctx, const struct ek_manager_part *part)
{
    const struct ek_debug_doc *d = ctx;
    struct ek_debug_doc item = ek_debug_item(d, yyjson_mut_obj_get(d->at, "parts"));

    ek_debug_put(&item, "name", part->name);
    ek_debug_put(&item, "group", ek_manager_group_name(part->group));
    ek_debug_put(&item, "state",
                 part->stopped    ? "stopped"
                 : part->stopping ? "stopping"
                 : part->ready    ? "running"
                 : part->started  ? "not ready"
                                  : "not started");
}

static void put_manager(const struct ek_debug *debug, const struct ek_debug_doc *d)
{
    const struct ek_err *error = ek_manager_error(debug->manager);

    ek_debug_put(d, "phase", ek_manager_phase_name(ek_manager_phase(debug->manager)));
    if (error)
        ek_debug_put_error(d, "error", error);
    yyjson_mut_obj_add_arr(d->doc, d->at, "parts");
    ek_manager_each(debug->manager, put_part, (void *)(uintptr_t)d);
}

static void put_leader(const struct ek_debug *debug, const struct ek_debug_doc *d)
{
    struct ek_election_status status;
    bool may_write = !debug->may_write || debug->may_write(debug->ctx);

    if (debug->election)
        ek_election_status(debug->election, &status);
    ek_debug_leader__(d, debug->identity, debug->election ? &status : NULL, may_write);
}

/* A list that is filled one by one. */
struct list {
    const struct ek_debug_doc *d;
    yyjson_mut_val *list;
    size_t n;
};

static void put_informer(void *ctx, const char *controller, const char *name,
                         struct ek_informer *informer)
{
    struct list *l = ctx;
    struct ek_informer_status status;

    (void)name;
    if (l->n++ >= EK_DEBUG_LIST_MAX)
        return;
    struct ek_debug_doc item = ek_debug_item(l->d, l->list);
    ek_informer_status(informer, &status);
    ek_debug_put(&item, "controller", controller);
    ek_debug_informer__(&item, ek_informer_resource(informer), ek_informer_reflector(informer),
                        ek_informer_store(informer), status.last_event_ms);
}

static void put_informers(const struct ek_debug *debug, const struct ek_debug_doc *d,
                          yyjson_mut_val *list)
{
    struct list informers = {d, list, 0};

    ek_registry_each_informer(debug->registry, put_informer, &informers);
    ek_debug_put_count(d, "informersTotal", informers.n);
}

static void put_queue(void *ctx, const char *controller, struct ek_runner *runner)
{
    const struct list *l = ctx;
    struct ek_debug_doc item = ek_debug_item(l->d, l->list);

    ek_debug_put(&item, "controller", controller);
    ek_debug_queue__(&item, runner);
}

static void put_queues(const struct ek_debug *debug, const struct ek_debug_doc *d,
                       yyjson_mut_val *list)
{
    struct list queues = {d, list, 0};

    ek_registry_each_runner(debug->registry, put_queue, &queues);
}

static void put_section(void *ctx, const struct ek_controller_row *row, const void *controller)
{
    struct ek_debug_doc section = ek_debug_object(ctx, row->name);

    row->debug(controller, &section);
}

static void put_subjects(const struct ek_debug *debug, const struct ek_debug_doc *d)
{
    ek_registry_each_section(debug->registry, put_section, (void *)(uintptr_t)d);
}

static void put_webhook(const struct ek_debug *debug, const struct ek_debug_doc *d)
{
    struct ek_webhook_status status;

    ek_webhook_status(debug->webhook, &status);
    ek_debug_webhook__(d, &status, debug->certs ? ek_webhook_ca_bundle(debug->certs) : NULL);
    ek_webhook_status_done(&status);
}

struct peers {
    const struct ek_debug *debug;
    struct list list;
};

static void put_peer(void *ctx, const struct ek_prober_state *state)
{
    struct peers *peers = ctx;

    if (peers->list.n++ >= EK_DEBUG_LIST_MAX)
        return;
    struct ek_debug_doc item = ek_debug_item(peers->list.d, peers->list.list);
    ek_debug_peer__(&item, state);
    if (peers->debug->peer && !strcmp(state->component, "kube-apiserver"))
        peers->debug->peer(peers->debug->ctx, state->address, &item);
}

static void put_peers(const struct ek_debug *debug, const struct ek_debug_doc *d,
                      yyjson_mut_val *list)
{
    struct peers peers = {debug, {d, list, 0}};

    ek_prober_each(debug->prober, put_peer, &peers);
    if (debug->unprobed)
        peers.list.n += debug->unprobed(debug->ctx, d, list);
    ek_debug_put_count(d, "peersTotal", peers.list.n);
}

static void put_level(const struct ek_debug_doc *d, const char *name, int level)
{
    char number[16];

    snprintf(number, sizeof number, "%d", level);
    ek_debug_put(d, name,
                 level <= EK_LOG_LEVEL_PANIC   ? "panic"
                 : level <= EK_LOG_LEVEL_ERROR ? "error"
                 : level <= EK_LOG_LEVEL_INFO  ? "info"
                 : level == EK_LOG_LEVEL_DEBUG ? "debug"
                                               : number);
}

static void put_log(const struct ek_debug *debug, const struct ek_debug_doc *d)
{
    put_level(d, "level", ek_log_level(debug->log));
    ek_debug_put_count(d, "droppedLines", ek_log_dropped(debug->log));
}

/* --- requests ----------------------------------------------------------------------------- */

enum topic { PROCESS, MANAGER, LEADER, INFORMERS, QUEUE, SUBJECTS, PEERS, WEBHOOK, LOG, N_TOPICS };

static const struct topic_row {
    const char *name;                                                        /* in a request */
    const char *member;                                                      /* in the answer */
    void (*put)(const struct ek_debug *debug, const struct ek_debug_doc *d); /* an object */
    void (*put_list)(const struct ek_debug *debug, const struct ek_debug_doc *d,
                     yyjson_mut_val *list); /* or a list */
} topics[N_TOPICS] = {
    [PROCESS] = {"process", "process", put_process, NULL},
    [MANAGER] = {"manager", "manager", put_manager, NULL},
    [LEADER] = {"leader", "leader", put_leader, NULL},
    [INFORMERS] = {"informers", "informers", NULL, put_informers},
    [QUEUE] = {"queue", "queues", NULL, put_queues},
    [SUBJECTS] = {"subjects", "subjects", put_subjects, NULL},
    [PEERS] = {"peers", "peers", NULL, put_peers},
    [WEBHOOK] = {"webhook", "webhook", put_webhook, NULL},
    [LOG] = {"log-level", "log", put_log, NULL},
};

static bool is_there(const struct ek_debug *debug, size_t topic)
{
    switch (topic) {
    case MANAGER:
        return debug->manager != NULL;
    case INFORMERS:
    case QUEUE:
    case SUBJECTS:
        return debug->registry != NULL;
    case PEERS:
        return debug->prober != NULL;
    case WEBHOOK:
        return debug->webhook != NULL;
    case LOG:
        return debug->log != NULL;
    default:
        return true;
    }
}

static void put_topic(const struct ek_debug *debug, const struct ek_debug_doc *d, size_t topic)
{
    const struct topic_row *row = &topics[topic];

    if (!is_there(debug, topic))
        return;
    if (row->put_list) {
        row->put_list(debug, d, yyjson_mut_obj_add_arr(d->doc, d->at, row->member));
        return;
    }
    struct ek_debug_doc member = ek_debug_object(d, row->member);
    row->put(debug, &member);
}

static int set_level(const struct ek_debug *debug, const char *word,
                     const struct ek_debug_peer *peer, struct ek_err *err)
{
    int level;
    int rc = ek_log_level_parse(word, &level, err);

    if (rc)
        return rc;
    int before = ek_log_level(debug->log);
    ek_log_set_level(debug->log, EK_LOG_LEVEL_INFO); /* the change itself is always logged */
    ek_log_info(debug->log, "Log level changed by request", EK_S("level", word),
                EK_I("before", before), EK_U("uid", peer ? peer->uid : 0),
                EK_I("pid", peer ? peer->pid : 0));
    ek_log_set_level(debug->log, level);
    return 0;
}

static int find_topic(const char *word, struct ek_err *err)
{
    char quoted[EK_QUOTE_SIZE];

    if (!strcmp(word, "all"))
        return N_TOPICS;
    for (int i = 0; i < N_TOPICS; i++)
        if (!strcmp(topics[i].name, word))
            return i;
    return ek_err_set(err, EK_E_INVAL,
                      "unknown topic %s: use all, process, manager, leader, informers, queue, "
                      "subjects, peers, webhook or log-level",
                      ek_quote_short(ek_str_from(word), quoted));
}

static int answer(const struct ek_debug *debug, char *line, const struct ek_debug_doc *d,
                  const struct ek_debug_peer *peer, struct ek_err *err)
{
    char *argument = strchr(line, ' ');

    if (argument)
        *argument++ = '\0';
    int topic = find_topic(line, err);
    if (topic < 0)
        return topic;
    if (argument && topic != LOG)
        return ek_err_set(err, EK_E_INVAL, "topic %s takes no argument", line);
    if (argument && debug->log) {
        int rc = set_level(debug, argument, peer, err);
        if (rc)
            return rc;
    }
    ek_debug_put_wall(d, "time", d->now.wall_ms);
    for (size_t i = 0; i < N_TOPICS; i++)
        if (topic == N_TOPICS || topic == (int)i)
            put_topic(debug, d, i);
    return 0;
}

static void write_document(yyjson_mut_doc *doc, struct ek_buf *out)
{
    size_t len;
    char *json = yyjson_mut_write_opts(doc, 0, &ek_json_xalc, &len, NULL);

    if (!json || ek_buf_append(out, json, len) || ek_buf_puts(out, "\n")) {
        ek_buf_reset(out);
        ek_buf_puts(out, "{\"error\":\"the answer is too large\"}\n");
    }
    ek_free(json);
}

void ek_debug_answer(const struct ek_debug *debug, const char *line, size_t len,
                     const struct ek_debug_now *now, const struct ek_debug_peer *peer,
                     struct ek_buf *out)
{
    EK_AUTOFREE char *copy = ek_xstrndup(line, len);
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_debug_doc d = {doc, yyjson_mut_obj(doc), *now};
    struct ek_err err = {0};

    yyjson_mut_doc_set_root(doc, d.at);
    if (answer(debug, copy, &d, peer, &err)) {
        yyjson_mut_obj_clear(d.at);
        ek_debug_put(&d, "error", err.message);
    }
    write_document(doc, out);
    yyjson_mut_doc_free(doc);
}
