/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel discovery`: what each API server serves, and the merged document, from a cluster or
 * from a recording. */
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/cli/print.h"
#include "controller/commands/discovery_report.h"
#include "controller/commands/live.h"
#include "reconcilers/peers/view_source.h"
#include "reconcilers/skew/facts.h"
#include "reconcilers/skew/text.h"

#define ARENA_MAX ((size_t)256 << 20)

/* Of the rows: no more documents than this are merged either. */
#define ROWS_ARENA_MAX (EK_VIEW_MERGE_MAX * 4)

/* Of a reason, in characters. */
#define REASON_MAX 600

struct options {
    struct ek_live_options live;
    struct ek_print_options print;
    bool diff;
    const char *peer;
};

/* What the last look has seen. */
struct reading {
    struct ek_view_source *source;         /* of the documents, from look to look */
    struct ek_arena *arena;                /* of the look; NULL before the first */
    const char *unread[EK_VIEW_PEERS_MAX]; /* for each peer of the view: why it was not read; NULL
                                              where it was */
    const char *not_enumerated; /* why the list of API servers is not known; "" where it is */
};

static const struct ek_view *view_of(const struct reading *reading)
{
    return ek_view_source_view(reading->source);
}

/* ---- Reading ---- */

/* What went wrong at the server, for a word of ek_view_source_why_not; "" where the word says all.
 */
static const char *detail(const char *word, const struct ek_peer *peer,
                          const struct ek_objs *slices)
{
    const struct ek_probe *probe = peer ? peer->probe : NULL;

    if (!strcmp(word, "NoAddress"))
        return slices->available ? "nothing in the cluster names its address"
                                 : "EndpointSlices in the namespace default could not be read";
    if (!strcmp(word, "NotTrusted"))
        return "its address may not be requested";
    if (!strcmp(word, "LeaseStale"))
        return "its Lease is not renewed";
    if (!probe)
        return "no response";
    if (!strcmp(word, "NotReady"))
        return *probe->not_ready ? probe->not_ready : probe->ready_answer.error.message;
    if (probe->reach.error.code)
        return probe->reach.error.message;
    if (!strcmp(word, "CertificateMismatch"))
        return "another API server answers at its address: the certificate has neither the address "
               "nor the host name";
    return probe->proven || strcmp(word, "Unreachable") != 0 ? probe->discovery_answer.error.message
                                                             : "its certificate was not verified";
}

static const struct ek_peer *find(const struct ek_peer_table *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (!strcmp(table->peers[i].name, name))
            return &table->peers[i];
    return NULL;
}

/* Notes why documents of the newest view are missing. */
static void note(struct reading *reading, const struct ek_skew_view *seen,
                 const struct ek_skew_plan *plan)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(view_of(reading), &n);

    for (size_t i = 0; i < n; i++) {
        const char *word = ek_view_source_why_not(reading->source, i);
        const char *more = detail(word, find(plan->peers, peers[i].name), &seen->endpoint_slices);
        char *text = ek_arena_printf(reading->arena, "%s%s%s", word, *more ? ": " : "", more);
        reading->unread[i] =
            peers[i].fetched ? NULL : ek_skew_clean_max(reading->arena, text, REASON_MAX);
    }
    reading->not_enumerated =
        ek_skew_clean_max(reading->arena, plan->facts->not_enumerated, REASON_MAX);
}

/* An ek_live_look_fn with a struct reading. */
static void look(void *ctx, struct ek_skew_view *seen, struct ek_skew_watch *watch)
{
    static const struct ek_exclusions none = {0};
    struct reading *reading = ctx;
    struct ek_skew_plan plan;

    ek_arena_free(reading->arena);
    reading->arena = ek_arena_new(ARENA_MAX);
    ek_skew_plan_make(seen, reading->arena, &plan);
    if (watch)
        ek_skew_watch_set_targets(watch, &plan, false);
    ek_view_source_update(reading->source, plan.peers, &none, seen->now_ms);
    note(reading, seen, &plan);
    ek_skew_plan_done(&plan);
}

/* ---- Showing ---- */

static int print_document(const struct options *options, const struct ek_view_document *document)
{
    struct ek_err err = {0};

    if (!strcmp(options->print.output, "json"))
        return ek_print_bytes(document->body.p, document->body.len);
    yyjson_doc *doc = ek_json_parse(document->body.p, document->body.len, &err);
    if (!doc) {
        ek_complain(&err);
        return EK_EXIT_FAILED;
    }
    int code = ek_print(&options->print, yyjson_doc_get_root(doc), NULL, NULL);
    yyjson_doc_free(doc);
    return code;
}

static int print_rows(const struct options *options, struct ek_discovery_shown *shown)
{
    struct ek_arena *arena = ek_arena_new(ROWS_ARENA_MAX);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;
    struct ek_served_row *rows = NULL;
    int code = EK_EXIT_FAILED;

    if (ek_served_rows(shown->view, arena, &rows, &shown->n_rows)) {
        ek_print_stderr("evenkeel: ", "the documents are too large");
    } else {
        shown->rows = rows;
        if (shown->differences)
            object = ek_discovery_differences(shown);
        code = ek_print(&options->print, object ? ek_obj_root(object) : NULL, ek_discovery_table,
                        shown);
    }
    ek_arena_free(arena);
    return code;
}

/* Whether the output is a discovery document as it is. */
static bool shows_document(const struct options *options)
{
    return !options->diff &&
           (!strcmp(options->print.output, "json") || !strcmp(options->print.output, "yaml"));
}

/* Reports what was not read; the exit code for that. */
static int complain_of_unread(const struct reading *reading)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(view_of(reading), &n);
    int code = EK_EXIT_OK;

    for (size_t i = 0; i < n; i++) {
        if (!reading->unread[i])
            continue;
        ek_print_stderr("evenkeel: ", "discovery of API server %s was not read: %s", peers[i].name,
                        reading->unread[i]);
        code = EK_EXIT_FAILED;
    }
    if (!code && !ek_view_is_complete(view_of(reading))) {
        ek_print_stderr("evenkeel: ",
                        "there are more than %d API servers, and the others are not "
                        "shown, or their documents are too large to be merged",
                        EK_VIEW_PEERS_MAX);
        code = EK_EXIT_FAILED;
    }
    if (*reading->not_enumerated) {
        ek_print_stderr("evenkeel: ", "the list of API servers is not known: %s",
                        reading->not_enumerated);
        code = EK_EXIT_FAILED;
    }
    return code;
}

static int show_all(const struct options *options, const struct reading *reading)
{
    const struct ek_view *view = view_of(reading);
    const struct ek_view_document *merged = ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2);
    struct ek_discovery_shown shown = {.view = view,
                                       .differences = options->diff,
                                       .wide = !strcmp(options->print.output, "wide"),
                                       .unread = reading->unread};
    int code = EK_EXIT_FAILED;

    if (!shows_document(options))
        code = print_rows(options, &shown);
    else if (merged)
        code = print_document(options, merged);
    else
        ek_print_stderr("evenkeel: ", "there is no merged document");
    int unread = complain_of_unread(reading);
    return code ? code : unread;
}

static int no_such_peer(const struct options *options, const struct reading *reading)
{
    size_t n;
    const struct ek_view_peer *peers = ek_view_peers(view_of(reading), &n);
    const char *names = "";

    for (size_t i = 0; i < n; i++)
        names = ek_arena_printf(reading->arena, "%s%s%s", names, i ? ", " : "", peers[i].name);
    ek_print_stderr(
        "evenkeel: ", "no API server has the name, address or identity \"%s\"; there %s %s",
        options->peer, n == 1 ? "is" : "are", names);
    return EK_EXIT_FAILED;
}

static int show_peer(const struct options *options, const struct reading *reading)
{
    const struct ek_view *view = view_of(reading);
    size_t n, at = 0;
    const struct ek_view_peer *peers = ek_view_peers(view, &n);

    while (at < n && strcmp(peers[at].name, options->peer) != 0 &&
           strcmp(peers[at].address, options->peer) != 0 &&
           strcmp(peers[at].server_id, options->peer) != 0)
        at++;
    if (at == n)
        return no_such_peer(options, reading);
    if (reading->unread[at]) {
        ek_print_stderr("evenkeel: ", "discovery of API server %s was not read: %s", options->peer,
                        reading->unread[at]);
        return EK_EXIT_FAILED;
    }
    if (shows_document(options))
        return print_document(options, ek_view_own(view, at, EK_VIEW_APIS, EK_VIEW_V2));
    return print_rows(options,
                      &(struct ek_discovery_shown){.view = view,
                                                   .peer = &peers[at],
                                                   .wide = !strcmp(options->print.output, "wide"),
                                                   .unread = reading->unread});
}

static int show(const struct options *options, const struct reading *reading)
{
    size_t n = 0;

    if (view_of(reading))
        ek_view_peers(view_of(reading), &n);
    if (n == 0) {
        ek_print_stderr("evenkeel: ", "the list of API servers is not known: %s",
                        reading->not_enumerated);
        return EK_EXIT_FAILED;
    }
    return *options->peer ? show_peer(options, reading) : show_all(options, reading);
}

static int discovery(void *ctx, char **args, int n_args)
{
    struct options *options = ctx;
    struct reading reading = {.not_enumerated = ""};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    (void)args;
    (void)n_args;
    options->live.probe_account = EK_PROBE_ACCOUNT_DEFAULT;
    options->live.documents_only = true;
    reading.source = ek_view_source_new();
    if (options->diff && *options->peer) {
        ek_err_set(&err, EK_E_INVAL, "--diff and --peer exclude each other");
        ek_complain(&err);
    } else if (ek_live_read(&options->live, look, &reading, &err)) {
        ek_complain(&err);
    } else {
        code = show(options, &reading);
    }
    ek_arena_free(reading.arena);
    ek_view_source_free(reading.source);
    return code;
}

static const struct ek_flag flags[] = {
    EK_CLUSTER_FLAGS(struct options, live.cluster),
    EK_LIVE_TIMEOUT_FLAG(struct options, live),
    EK_PRINT_FLAGS_MORE(struct options, print, "wide"),
    {.name = "from",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct options, live.recording),
     .help = "Read a recording in `DIR` instead of a cluster",
     .check = ek_live_folder_check},
    {.name = "diff",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct options, diff),
     .help = "Show only the resources that API servers serve differently"},
    {.name = "peer",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct options, peer),
     .help = "Show only what the API server with this `name` serves. Its address and the name of "
             "its identity Lease are names, too"},
};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_discovery(void *unused, int argc, char **argv)
{
    struct options options = {0};
    (void)unused;
    return ek_command_run(&ek_discovery_command, argc, argv, &options, discovery);
}

const struct ek_command ek_discovery_command = {
    .name = "discovery",
    .usage = "",
    .summary = "Show which API servers serve each resource, and the merged discovery document",
    .text =
        "Reads the discovery documents of every API server of the cluster and prints each resource "
        "and subresource with the API servers that serve it. In the table, \"all\" means all API "
        "servers, NAME(stale) an API server that marks the group version as Stale, because the "
        "extension API server behind it does not answer, and NAME? an API server whose documents "
        "were not read. Nothing is written to the cluster.\n\nThe formats json and yaml print the "
        "merged document of /apis: the one that a kube-apiserver with --peer-ca-file sends for the "
        "same documents (KEP-4020), in the format json with the same bytes. With \"--peer\" it is "
        "the document of this API server alone. Like /apis, it does not contain the core group. A "
        "kube-apiserver and \"evenkeel proxy\" leave the group versions of custom resources and of "
        "extension API servers out of the documents of peers; this command leaves out none, "
        "because it does not read APIServices. There is no merged document while an API server "
        "that is not declared down was not read.\n\nWith \"--diff\" the table has the resources "
        "that not every API server serves, or that API servers serve with another kind, scope, "
        "other verbs or other short names. A group version that is Stale at every API server is no "
        "difference. The formats json and yaml are then a list of these differences.\n\nExit "
        "codes: 0 all API servers were read, also if they differ; 1 an API server was not read, or "
        "not all API servers may be known. What was read is in the table in any case. A line on "
        "stderr names each API server that was not read, with the reason. With \"--peer\" the exit "
        "code is about this API server alone.",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .run = run_discovery,
};
