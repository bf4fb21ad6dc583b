/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/rehearse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/obj.h"
#include "api/yaml.h"
#include "controller/rehearse/apart.h"
#include "controller/rehearse/folder.h"
#include "controller/rehearse/keys.h"
#include "controller/rehearse/servers.h"
#include "informers/client/file.h"
#include "informers/clock.h"
#include "reconcilers/rehearse/conditions.h"
#include "reconcilers/rehearse/encryption.h"
#include "reconcilers/rehearse/remote.h"
#include "reconcilers/rehearse/stored.h"

#define ARENA_MAX    ((size_t)128 << 20)
#define LOCKED_MS    30000 /* for a server that will not become ready without keys */
#define AT_ONCE      16
#define REQUEST_MS   10000
#define ATTEMPTS_MAX 16 /* starts of one step, each without what the last one refused */
#define FOLDERS_MAX  20000
#define CONFIG_MAX   ((size_t)4 << 20)
#define DEFAULT_ROOT "/registry"

struct run {
    const struct ek_rehearse_options *o;
    struct ek_rehearse_result *result;
    struct ek_rehearse_folder folder;
    struct ek_rehearse_ask ask;
    struct ek_rehearse_servers servers;
    const char *root;
    char *copy;               /* the file of a copied cluster, in the folder; owned; NULL: none */
    char *encryption;         /* the copy without plug-ins, in the folder; owned; NULL: none */
    struct ek_map folders;    /* of the snapshot: folder -> number of objects, size_t */
    struct ek_map conditions; /* as they were seen last */
    struct ek_map remote;     /* APIs that other servers answer (remote.h) */
    bool unread;              /* a definition that cannot be read may name another server */
    struct ek_rehearse_progress progress;
    int64_t start_ms;
    bool locked; /* the last server was not ready, and could not read what is encrypted */
};

static void say(struct run *r, const char *what, size_t done, size_t total)
{
    r->progress.what = what;
    r->progress.done = done;
    r->progress.total = total;
    r->progress.elapsed_ms = ek_monotonic_ms() - r->start_ms;
    r->o->progress(r->o->ctx, &r->progress);
}

static void on_copied(void *ctx, const char *resource, size_t objects)
{
    char what[300];

    snprintf(what, sizeof what, "copying %.253s", resource);
    say(ctx, what, objects, 0);
}

static void on_objects(void *ctx, size_t objects)
{
    struct run *r = ctx;

    say(r, r->progress.what, objects, r->result->stored);
}

/* ---- The snapshot, or the copy ---- */

/* Resources that were not copied are missing at each step. */
static void on_missing(void *ctx, const char *resource, const char *why)
{
    struct run *r = ctx;

    for (size_t i = 0; i < r->result->n_steps; i++)
        ek_rehearse_report_add(&r->result->report, i, EK_REHEARSE_UNKNOWN, "not-copied", resource,
                               why);
}

static int fill_etcd(struct run *r, struct ek_err *err)
{
    say(r, r->copy ? "writing the copy" : "restoring the snapshot", 0, 0);
    int rc = ek_rehearse_servers_etcd(&r->servers, r->copy ? "" : r->o->snapshot, err);

    if (!rc && r->copy) {
        rc = ek_rehearse_copy_write(&r->ask, r->servers.etcd_client, r->copy, on_missing, r, err);
        unlink(r->copy);
    }
    return rc;
}

static bool on_key(void *ctx, const char *key, const char *value, size_t size)
{
    struct run *r = ctx;
    char folder[EK_REHEARSE_FOLDER_SIZE];

    (void)value;
    (void)size;
    if (!ek_rehearse_folder_of_key(r->root, key, folder))
        return true;
    size_t *n = ek_map_get(&r->folders, folder);
    if (!n && r->folders.n < FOLDERS_MAX) {
        n = ek_arena_alloc(r->result->arena, sizeof *n);
        ek_map_put(&r->folders, ek_arena_strdup(r->result->arena, folder), n);
    }
    if (n)
        (*n)++;
    r->result->stored++;
    return true;
}

/* The conditions that the servers of the cluster wrote, and what other servers answer. */
static bool on_value(void *ctx, const char *key, const char *value, size_t size)
{
    struct run *r = ctx;
    yyjson_doc *doc = ek_json_parse(value, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *kind = ek_json_text(root, "kind");
    const char *resource =
        !strcmp(kind, "APIService") ? "apiservices" : "customresourcedefinitions";
    const char *name = ek_json_str(root, "metadata", "name", NULL);
    char remote[EK_REHEARSE_REMOTE_SIZE];

    (void)key;
    r->unread |= !name; /* encrypted, for instance */
    if (ek_rehearse_remote_of(root, remote))
        ek_map_put(&r->remote, ek_arena_strdup(r->result->arena, remote), r);
    if (name)
        ek_map_put(&r->conditions, ek_arena_printf(r->result->arena, "%s/%s", resource, name),
                   ek_rehearse_conditions(root, r->result->arena));
    yyjson_doc_free(doc);
    return true;
}

static int read_snapshot(struct run *r, struct ek_err *err)
{
    static const char *const with_conditions[] = {"apiextensions.k8s.io/customresourcedefinitions/",
                                                  "apiregistration.k8s.io/apiservices/"};
    EK_AUTOFREE char *prefix = ek_xasprintf("%s/", r->root);
    int rc = ek_rehearse_keys(&r->ask, r->servers.etcd_client, prefix, false, on_key, r, err);

    for (size_t i = 0; i < EK_ARRAY_SIZE(with_conditions) && !rc; i++) {
        EK_AUTOFREE char *folder = ek_xasprintf("%s/%s", r->root, with_conditions[i]);
        rc = ek_rehearse_keys(&r->ask, r->servers.etcd_client, folder, true, on_value, r, err);
    }
    r->result->n_folders = r->folders.n;
    if (!rc && !r->result->stored)
        rc = ek_err_set(err, EK_E_NOENT, "there are no objects below %s", r->root);
    return rc ? ek_err_prefix(err, "reading etcd") : 0;
}

/* ---- Flags ---- */

/* The flags of each step begin as they are in the manifest. */
static struct ek_rehearse_flags copy_flags(const struct ek_rehearse_flags *flags)
{
    struct ek_rehearse_flags copy = *flags;

    copy.list = ek_arena_alloc(flags->arena, (flags->n + 1) * sizeof *copy.list);
    if (flags->n)
        memcpy(copy.list, flags->list, flags->n * sizeof *copy.list);
    return copy;
}

static void add_refused(struct ek_rehearse_outcome *o, struct ek_arena *arena, const char *sentence,
                        const char *dropped)
{
    struct ek_rehearse_refused *list = ek_arena_alloc(arena, (o->n_refused + 1) * sizeof *list);

    if (o->n_refused)
        memcpy(list, o->refused, o->n_refused * sizeof *list);
    list[o->n_refused++] =
        (struct ek_rehearse_refused){ek_arena_strdup(arena, sentence), dropped, false};
    o->refused = list;
}

static void keep_log(struct run *r, struct ek_rehearse_outcome *o)
{
    struct ek_arena *arena = r->result->arena;
    const struct ek_rehearse_log *log = &r->servers.server.log;

    o->log = ek_arena_alloc(arena, EK_REHEARSE_LINES * sizeof *o->log);
    for (o->n_log = 0; ek_rehearse_log_line(log, o->n_log); o->n_log++)
        o->log[o->n_log] = ek_arena_strdup(arena, ek_rehearse_log_line(log, o->n_log));
}

/* Copies the EncryptionConfiguration without plug-ins, which a path of the machine leads to. */
static int copy_encryption(struct run *r, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    EK_AUTOFREE char *copy = NULL;
    yyjson_doc *doc = NULL;
    size_t len = 0, removed = 0;
    int rc = *r->o->encryption ? ek_file_read(r->o->encryption, CONFIG_MAX, &text, &len, err) : 0;

    if (rc || !text)
        return rc;
    rc = ek_yaml_parse(text, len, CONFIG_MAX, &doc, err);
    copy = ek_rehearse_encryption(yyjson_doc_get_root(doc), &removed);
    yyjson_doc_free(doc);
    if (!rc && !copy)
        rc = ek_err_set(err, EK_E_PARSE, "there is no EncryptionConfiguration in the file");
    if (rc)
        return ek_err_prefix(err, "%s", r->o->encryption);
    if (removed)
        ek_rehearse_flags_note(&r->result->flags, "--encryption-provider-config kms",
                               "asks a plug-in for keys");
    return ek_rehearse_folder_write(&r->folder, "encryption.json", copy, &r->encryption, err);
}

/* ---- A start ---- */

/* The sentence of a server that ended, or its last line. */
static const char *sentence_of(const struct ek_rehearse_log *log)
{
    size_t i = 0;

    if (*log->refusal)
        return log->refusal;
    while (ek_rehearse_log_line(log, i + 1))
        i++;
    return ek_rehearse_log_line(log, i) ? ek_rehearse_log_line(log, i)
                                        : "the server ended without a message";
}

static void note_failure(struct run *r, size_t at, const char *rule, const char *text)
{
    struct ek_rehearse_outcome *o = &r->result->steps[at];

    o->failure = ek_arena_strdup(r->result->arena, text);
    keep_log(r, o);
    ek_rehearse_report_add(&r->result->report, at, EK_REHEARSE_ERROR, rule, "kube-apiserver", text);
}

/* After a refusal: takes out what was refused. False when nothing more can be taken out. */
static bool take_out(struct run *r, size_t at, struct ek_rehearse_flags *flags)
{
    struct ek_rehearse_outcome *o = &r->result->steps[at];
    const char *sentence = sentence_of(&r->servers.server.log);
    const char *dropped = ek_rehearse_flags_drop(flags, sentence);

    if (!dropped && !*r->servers.server.log.refusal)
        return false; /* a crash, and no refusal of flags */
    if (!dropped && ek_rehearse_flags_strip(flags))
        dropped = "all flags of the manifest";
    if (!dropped)
        return false;
    add_refused(o, r->result->arena, sentence, dropped);
    ek_rehearse_report_add(&r->result->report, at, EK_REHEARSE_ERROR, "start-refused", dropped,
                           sentence);
    return true;
}

static enum ek_rehearse_start start(struct run *r, size_t at, struct ek_rehearse_flags *flags,
                                    struct ek_err *err)
{
    struct ek_rehearse_outcome *o = &r->result->steps[at];
    const char *program = o->step.old_binary ? r->o->apiserver_old : r->o->apiserver;
    enum ek_rehearse_start how = EK_REHEARSE_REFUSED_TO_START;

    for (int i = 0; i < ATTEMPTS_MAX && how == EK_REHEARSE_REFUSED_TO_START; i++) {
        say(r, "starting kube-apiserver", 0, 0);
        int64_t begin_ms = ek_monotonic_ms();
        how = ek_rehearse_servers_start(&r->servers, program, flags, &o->step,
                                        r->encryption ? r->encryption : "",
                                        r->locked ? LOCKED_MS : r->o->start_timeout_ms, err);
        o->start_ms = ek_monotonic_ms() - begin_ms;
        if (how == EK_REHEARSE_REFUSED_TO_START && !take_out(r, at, flags))
            break;
    }
    if (how == EK_REHEARSE_REFUSED_TO_START)
        note_failure(r, at, "start-failed", sentence_of(&r->servers.server.log));
    if (how == EK_REHEARSE_HUNG)
        note_failure(r, at, "start-hung", "the server does not answer in time");
    o->started = how == EK_REHEARSE_READY || how == EK_REHEARSE_NOT_READY;
    o->ready = how == EK_REHEARSE_READY;
    return how;
}

/* ---- Predictions ---- */

static bool sentence_contains(const char *sentence, const char *part)
{
    return strstr(sentence, part) != NULL;
}

/* Sets what plan predicted of the refusals: a refusal of plan is a part of a sentence of the
 * server, which puts several into one. */
static void match_refusals(struct ek_rehearse_outcome *o, const char *const *refusals, size_t n,
                           struct ek_arena *arena)
{
    const char **missed = ek_arena_alloc(arena, (n + 1) * sizeof *missed);

    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < o->n_refused; k++)
            if (sentence_contains(o->refused[k].sentence, refusals[i]))
                found = o->refused[k].predicted = true;
        if (!found && !sentence_contains(o->failure, refusals[i]))
            missed[o->n_missed++] = refusals[i];
    }
    o->missed = missed;
}

/* Compares with what plan says of the flags as the manifest has them and, where the server
 * started, of those that are left. */
static void compare_plan(struct run *r, size_t at, const struct ek_rehearse_flags *left)
{
    struct ek_rehearse_outcome *o = &r->result->steps[at];
    struct ek_arena *arena = r->result->arena;
    struct ek_rehearse_view predicted;
    const char *const *refusals;
    size_t n;

    if (!r->o->data || !ek_rehearse_predict(r->o->data, &o->step, r->result->flags.list,
                                            r->result->flags.n, arena, &predicted, &refusals, &n))
        return;
    match_refusals(o, refusals, n, arena);
    if (!o->started ||
        !ek_rehearse_predict(r->o->data, &o->step, left->list, left->n, arena, &predicted,
                             &refusals, &n) ||
        n)
        return;
    o->predicted = true;
    ek_rehearse_view_compare(&predicted, &o->view, r->o->data, arena, &o->plan);
}

/* ---- A step ---- */

/* The last step before this one whose server was seen; NULL without. */
static const struct ek_rehearse_outcome *seen_before(const struct run *r, size_t at)
{
    const struct ek_rehearse_outcome *ret = NULL;

    for (size_t i = 0; i < at; i++)
        if (r->result->steps[i].started)
            ret = &r->result->steps[i];
    return ret;
}

static bool is_served(const struct ek_rehearse_view *view, const char *folder)
{
    char own[EK_REHEARSE_FOLDER_SIZE];
    bool is = false;

    for (size_t i = 0; i < view->n_types && !is; i++) {
        const struct ek_rehearse_type *t = &view->types[i];
        for (int custom = 0; custom < 2 && !is; custom++) {
            ek_rehearse_folder_of(t->group, t->resource, custom, own);
            is = !strcmp(own, folder);
        }
    }
    return is;
}

/* Objects of the snapshot whose kind the server does not serve at all. */
static void note_not_served(struct run *r, size_t at)
{
    const char *folder;
    size_t cursor = 0;
    void *n;

    while (ek_map_next(&r->folders, &cursor, &folder, &n)) {
        char text[128];
        if (is_served(&r->result->steps[at].view, folder))
            continue;
        snprintf(text, sizeof text, "%zu stored, and the server serves no such kind", *(size_t *)n);
        ek_rehearse_report_add(&r->result->report, at, EK_REHEARSE_ERROR, "not-served", folder,
                               text);
    }
}

static void survey(struct run *r, size_t at)
{
    struct ek_rehearse_outcome *o = &r->result->steps[at];
    const struct ek_rehearse_outcome *before = seen_before(r, at);
    int64_t begin_ms = ek_monotonic_ms();
    struct ek_rehearse_survey s = {.ask = &r->ask,
                                   .client = r->servers.client,
                                   .etcd = r->servers.etcd_client,
                                   .report = &r->result->report,
                                   .step = at,
                                   .root = r->root,
                                   .dry_runs = r->o->dry_runs,
                                   .folders = &r->folders,
                                   .conditions = &r->conditions,
                                   .remote = &r->remote,
                                   .progress = on_objects,
                                   .progress_ctx = r,
                                   .view = &o->view};

    /* At the end of the way forward, as in an upgraded cluster that goes on writing. Where a
     * definition cannot be read, a webhook might be asked. */
    if (before && !r->unread && at + 2 == r->result->n_steps)
        s.first = &r->result->steps[0].view;
    o->view.arena = r->result->arena;
    say(r, "reading what is served", 0, 0);
    ek_rehearse_survey_view(&s);
    const char *unready = o->ready ? "" : ek_rehearse_survey_unready(&s, r->result->arena);
    note_not_served(r, at);
    say(r, "reading and trying objects", 0, r->result->stored);
    ek_rehearse_survey_objects(&s);
    o->counts = s.counts;
    r->locked = !o->ready && s.counts.encrypted;
    if (!o->ready) /* a server that cannot read its own objects does not become ready */
        ek_rehearse_report_add(
            s.report, at, r->locked ? EK_REHEARSE_UNKNOWN : EK_REHEARSE_ERROR, "not-ready",
            "kube-apiserver",
            ek_arena_printf(r->result->arena, "checks of /readyz that fail: %s", unready));
    o->survey_ms = ek_monotonic_ms() - begin_ms;
    if (!ek_rehearse_ask_ended(&r->ask) && !ek_rehearse_child_runs(&r->servers.server))
        note_failure(r, at, "crashed", sentence_of(&r->servers.server.log));
    if (before) {
        o->has_changes = true;
        ek_rehearse_view_compare(&before->view, &o->view, NULL, r->result->arena, &o->changes);
    }
}

static int run_step(struct run *r, size_t at, struct ek_err *err)
{
    struct ek_rehearse_outcome *o = &r->result->steps[at];
    struct ek_rehearse_flags flags = copy_flags(&r->result->flags);

    r->progress.step = at;
    enum ek_rehearse_start how = start(r, at, &flags, err);
    if (how == EK_REHEARSE_STOPPED) /* by a signal, or by the time: then the report says so */
        return err->code;
    if (o->started)
        survey(r, at);
    ek_rehearse_servers_end(&r->servers);
    o->reached = !ek_rehearse_ask_ended(&r->ask);
    compare_plan(r, at, &flags);
    return 0;
}

/* ---- The run ---- */

static int read_versions(struct run *r, struct ek_err *err)
{
    struct ek_rehearse_result *result = r->result;
    char text[256] = "", old[256] = "";
    int rc = ek_rehearse_servers_version(&r->servers, r->o->apiserver, text, sizeof text, err);

    if (!rc && *r->o->apiserver_old)
        rc = ek_rehearse_servers_version(&r->servers, r->o->apiserver_old, old, sizeof old, err);
    if (rc)
        return rc;
    result->binary = ek_arena_strdup(result->arena, text);
    result->old_binary = ek_arena_strdup(result->arena, old);
    result->route.binary = ek_rehearse_version(text);
    result->route.old_binary = ek_rehearse_version(old);
    if (!result->route.binary.known || (*r->o->apiserver_old && !result->route.old_binary.known))
        return ek_err_set(err, EK_E_INVAL, "%s is no kube-apiserver: --version prints \"%.100s\"",
                          result->route.binary.known ? r->o->apiserver_old : r->o->apiserver,
                          result->route.binary.known ? old : text);
    return 0;
}

static struct ek_minor flag_version(const struct run *r, const char *name)
{
    const char *value = ek_rehearse_flag_value(r->o->args, r->o->n_args, name);

    if (value && !strncmp(value, "kube=", 5))
        value += 5;
    return value ? ek_minor_parse(value) : EK_MINOR_UNKNOWN;
}

/* The version of the cluster as flags say it. */
static struct ek_minor named_version(const struct run *r)
{
    return r->o->from.known ? r->o->from : flag_version(r, "emulated-version");
}

static int find_route(struct run *r, struct ek_err *err)
{
    struct ek_rehearse_route *route = &r->result->route;
    struct ek_rehearse_step steps[EK_REHEARSE_STEPS_MAX];

    route->min_compat = flag_version(r, "min-compatibility-version");
    if (!route->min_compat.known)
        route->min_compat = r->result->copied.min_compat;
    route->from = named_version(r);
    if (!route->from.known)
        route->from = r->result->copied.version;
    if (!route->from.known)
        route->from = route->old_binary;
    if (!route->from.known)
        route->from = ek_minor_offset(route->binary, -1);
    const char *why = ek_rehearse_steps(route, steps, &r->result->n_steps);
    if (why)
        return ek_err_set(err, EK_E_INVAL, "%s", why);
    for (size_t i = 0; i < r->result->n_steps; i++)
        r->result->steps[i] = (struct ek_rehearse_outcome){.step = steps[i], .failure = ""};
    r->progress.n_steps = r->result->n_steps;
    return 0;
}

static int rehearse(struct run *r, struct ek_err *err)
{
    int rc = ek_rehearse_servers_open(&r->servers, r->o->etcd, r->o->apiserver, err);

    if (!rc)
        rc = copy_encryption(r, err);
    if (!rc)
        rc = read_versions(r, err);
    if (!rc)
        rc = find_route(r, err);
    if (!rc)
        rc = fill_etcd(r, err);
    if (!rc)
        rc = read_snapshot(r, err);
    for (size_t i = 0; i < r->result->n_steps && !rc && !ek_rehearse_ask_ended(&r->ask); i++)
        rc = run_step(r, i, err);
    if (!rc && !ek_rehearse_child_runs(&r->servers.etcd))
        rc = ek_err_set(err, EK_E_IO, "etcd has ended: %.500s", sentence_of(&r->servers.etcd.log));
    if (r->ask.signaled)
        rc = ek_err_set(err, EK_E_CANCELED, "stopped by a signal");
    return rc;
}

static void settle(struct run *r)
{
    struct ek_rehearse_result *result = r->result;

    ek_rehearse_report_settle(&result->report, result->route.old_binary.known);
    ek_rehearse_network_read(&result->traffic);
    result->elapsed_ms = ek_monotonic_ms() - r->start_ms;
}

/* "kubernetes.io" and "/kubernetes.io/" are the same folder of etcd
 * (apiserver/pkg/storage/etcd3/store.go:newStore). */
static const char *clean_root(const char *root, struct ek_arena *arena)
{
    size_t len;

    root += strspn(root, "/");
    for (len = strlen(root); len && root[len - 1] == '/';)
        len--;
    return ek_arena_printf(arena, "/%.*s", (int)len, root);
}

static int copy_cluster(struct run *r, struct ek_err *err)
{
    struct ek_rehearse_copy_options cluster = *r->o->cluster;

    cluster.version_known = named_version(r).known;
    return ek_rehearse_copy_read(&cluster, &r->folder, r->root, r->start_ms + r->o->timeout_ms,
                                 on_copied, r, &r->result->copied, &r->copy, err);
}

/* Enters namespaces of its own, or none where that is permitted. */
static int enter(struct run *r, struct ek_err *err)
{
    struct ek_rehearse_result *result = r->result;
    struct ek_err why = {0};
    int rc = ek_rehearse_network_enter(&why), own = rc;

    if (!rc || (rc == EK_E_FORBIDDEN && r->o->host_network)) {
        struct ek_err *where = rc ? NULL : &why; /* the first reason is reported */
        own = ek_rehearse_apart_processes(where);
        own = rc && own != EK_E_IO ? rc : own;
    }
    result->isolated = !own;
    if (getpid() == 1) /* the process that waits for this one waits for the keeper, too */
        r->folder.keeper = 0;
    if (own)
        result->not_isolated = ek_arena_strdup(result->arena, why.message);
    if (own == EK_E_FORBIDDEN && r->o->host_network)
        return 0;
    if (own == EK_E_FORBIDDEN)
        return ek_err_set(err, own,
                          "%.300s: use --allow-host-network to start the servers in the network of "
                          "this machine",
                          why.message);
    return own ? ek_err_set(err, own, "%s", why.message) : 0;
}

int ek_rehearse_run(const struct ek_rehearse_options *options,
                    struct ek_rehearse_result *ret_result, struct ek_err *err)
{
    struct run *r = ek_xalloc(sizeof *r);
    const char *temporary = getenv("TMPDIR");

    *ret_result = (struct ek_rehearse_result){.arena = ek_arena_new(ARENA_MAX),
                                              .binary = "",
                                              .old_binary = "",
                                              .not_isolated = "",
                                              .left = ""};
    ret_result->report.arena = ret_result->arena;
    *r = (struct run){.o = options, .result = ret_result, .start_ms = ek_monotonic_ms()};
    ek_rehearse_flags_make(options->args, options->n_args, ret_result->arena, &ret_result->flags);
    r->root = ek_rehearse_flag_value(options->args, options->n_args, "etcd-prefix");
    r->root = r->root ? clean_root(r->root, ret_result->arena) : DEFAULT_ROOT;
    int rc = ek_rehearse_folder_open(temporary && *temporary == '/' ? temporary : "/tmp",
                                     &r->folder, err);
    if (!rc) {
        if (options->cluster)
            rc = copy_cluster(r, err);
        if (!rc)
            rc = enter(r, err);
        ek_rehearse_ask_open(&r->ask, AT_ONCE, REQUEST_MS);
        r->ask.deadline_ms = r->start_ms + options->timeout_ms;
        r->servers.folder = &r->folder;
        r->servers.ask = &r->ask;
        if (!rc)
            rc = rehearse(r, err);
        ek_rehearse_servers_close(&r->servers);
        settle(r);
        ek_rehearse_ask_close(&r->ask);
        const char *path = ek_arena_strdup(ret_result->arena, r->folder.path);
        if (!ek_rehearse_folder_close(&r->folder))
            ret_result->left = path;
    }
    ek_free(r->copy);
    ek_free(r->encryption);
    ek_map_done(&r->folders);
    ek_map_done(&r->conditions);
    ek_map_done(&r->remote);
    ek_free(r);
    return rc;
}

void ek_rehearse_result_done(struct ek_rehearse_result *result)
{
    ek_rehearse_report_done(&result->report);
    ek_arena_free(result->arena);
    result->arena = NULL;
}
