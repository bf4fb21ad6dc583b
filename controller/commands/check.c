/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel check`: the skew reconciler's verdict once, from a cluster or from a recording. */
#include <string.h>

#include "api/base/time.h"
#include "controller/commands/check-internal.h"
#include "controller/skew/report.h"
#include "informers/client/file.h"
#include "informers/clock.h"
#include "reconcilers/proxy/clients_seen.h"
#include "reconcilers/skew/policy.h"

#define ARENA_MAX ((size_t)256 << 20)

/* Of the metrics of one proxy. */
#define PAGE_MAX ((size_t)16 << 20)

/* The documents that a proxy at this place would merge. */
static const struct ek_view *make_documents(void *ctx, const struct ek_peer_table *peers)
{
    static const struct ek_exclusions none = {0};
    struct ek_check_verdict *verdict = ctx;

    ek_view_source_update(verdict->documents, peers, &none, verdict->now_ms);
    return ek_view_source_view(verdict->documents);
}

/* The clients that proxies have seen: the controller does not know them, and no status has them. */
static void put_clients(const struct ek_check_options *options, const struct ek_bounds *bounds,
                        yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    struct ek_clients_seen seen = {0};
    char time[EK_TIME_SIZE];

    for (size_t i = 0; i < options->pages.n; i++)
        ek_clients_seen_read(&seen, ek_str_from(options->texts[i]), bounds);
    if (options->pages.n == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "clients");
    for (size_t i = 0; i < seen.n; i++) {
        const struct ek_client_seen *row = &seen.rows[i];
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_str(doc, o, "name", row->is.client);
        if (*row->is.version)
            yyjson_mut_obj_add_strcpy(doc, o, "version", row->is.version);
        yyjson_mut_obj_add_str(doc, o, "verdict", ek_verdict_name(row->is.verdict));
        if (row->last_ms != EK_TIME_UNSET)
            yyjson_mut_obj_add_strcpy(doc, o, "lastSeen", ek_time_format(row->last_ms, time));
    }
}

/* The ControlPlane as the cluster would show it: what the user wrote, and the new status. */
static struct ek_obj *make_object(const struct ek_check_options *options,
                                  const struct ek_skew_view *view, const struct ek_skew_plan *plan)
{
    yyjson_mut_doc *doc = plan->doc;
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_val *spec =
        view->control_plane ? yyjson_obj_get(ek_obj_root(view->control_plane), "spec") : NULL;

    yyjson_mut_obj_add_str(doc, root, "apiVersion", "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind", "ControlPlane");
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_mut_obj_add_str(doc, metadata, "name", "cluster");
    if (spec)
        yyjson_mut_obj_add_val(doc, root, "spec", yyjson_val_mut_copy(doc, spec));
    yyjson_mut_obj_add_val(doc, root, "status", plan->status);
    put_clients(options, plan->bounds, doc, root);
    return ek_obj_from_mut(root);
}

/* The member of object that is a list or an object; a new one in place of anything else. */
static yyjson_mut_val *member(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                              bool is_list)
{
    yyjson_mut_val *value = yyjson_mut_obj_get(object, name);

    if (is_list ? yyjson_mut_is_arr(value) : yyjson_mut_is_obj(value))
        return value;
    yyjson_mut_obj_remove_key(object, name);
    return is_list ? yyjson_mut_obj_add_arr(doc, object, name)
                   : yyjson_mut_obj_add_obj(doc, object, name);
}

/* Adds name to list, which is a set. */
static void add_once(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *name)
{
    yyjson_mut_val *item;
    size_t i, n;

    yyjson_mut_arr_foreach(list, i, n, item)
    {
        if (yyjson_mut_equals_str(item, name))
            return;
    }
    yyjson_mut_arr_add_strcpy(doc, list, name);
}

/* A ControlPlane with spec.nextVersion set to what --next-version says, and the components of
 * --ignore added to spec.skewPolicy.ignoredComponents. */
static struct ek_obj *with_flags(const struct ek_obj *control_plane,
                                 const struct ek_check_options *options)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root =
        control_plane ? yyjson_val_mut_copy(doc, ek_obj_root(control_plane)) : yyjson_mut_obj(doc);
    yyjson_mut_val *spec = member(doc, root, "spec", false);

    if (*options->next_version) {
        yyjson_mut_obj_remove_key(spec, "nextVersion");
        yyjson_mut_obj_add_str(doc, spec, "nextVersion", options->next_version);
    }
    for (size_t i = 0; i < options->ignored.n; i++)
        add_once(doc,
                 member(doc, member(doc, spec, "skewPolicy", false), "ignoredComponents", true),
                 options->ignored.items[i]);
    struct ek_obj *obj = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    return obj;
}

/* Judges a view, and lets watch (NULL for a recording) probe the peers of the plan. */
static struct ek_obj *judge(const struct ek_check_options *options, struct ek_skew_view *view,
                            struct ek_skew_watch *watch, int *ret_exit_code)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *changed = NULL;
    struct ek_skew_plan plan;

    if (*options->next_version || options->ignored.n) {
        changed = with_flags(view->control_plane, options);
        view->control_plane = changed;
    }
    ek_skew_plan_make(view, arena, &plan);
    if (watch)
        ek_skew_watch_set_targets(watch, &plan, false);
    struct ek_obj *object = make_object(options, view, &plan);
    *ret_exit_code = plan.exit_code;
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
    return object;
}

static int print_report(const struct ek_check_options *options, const struct ek_obj *object)
{
    bool is_page = !strcmp(options->print.output, "html");
    int64_t now_ms = ek_wall_ms();

    return ek_print(&options->print, ek_obj_root(object),
                    is_page ? ek_skew_report_html : ek_skew_report_tables, &now_ms);
}

void ek_check_look(void *ctx, struct ek_skew_view *view, struct ek_skew_watch *watch)
{
    struct ek_check_verdict *verdict = ctx;

    ek_obj_unref(verdict->result);
    verdict->now_ms = view->now_ms;
    view->make_documents = make_documents;
    view->documents_ctx = verdict;
    verdict->result = judge(verdict->options, view, watch, &verdict->exit_code);
}

/* Reads the pages of the proxies; a file that is not one of a proxy is an error. */
static int read_pages(struct ek_check_options *options, struct ek_err *err)
{
    static const struct ek_bounds nobody = {0};

    options->texts = ek_xalloc((options->pages.n + 1) * sizeof *options->texts);
    for (size_t i = 0; i < options->pages.n; i++) {
        struct ek_clients_seen seen = {0};
        size_t size;
        int rc = ek_file_read(options->pages.items[i], PAGE_MAX, &options->texts[i], &size, err);
        if (rc)
            return rc;
        rc = ek_clients_seen_read(&seen, (struct ek_str){options->texts[i], size}, &nobody);
        if (rc)
            return ek_err_set(err, rc, "%s has no metrics of evenkeel proxy",
                              options->pages.items[i]);
    }
    return 0;
}

static void drop_pages(struct ek_check_options *options)
{
    for (size_t i = 0; i < options->pages.n; i++)
        ek_free(options->texts[i]);
    ek_free(options->texts);
}

void ek_check_verdict_init(struct ek_check_verdict *verdict, const struct ek_check_options *options)
{
    *verdict = (struct ek_check_verdict){
        .options = options, .exit_code = EK_EXIT_FAILED, .documents = ek_view_source_new()};
}

void ek_check_verdict_done(struct ek_check_verdict *verdict)
{
    ek_obj_unref(verdict->result);
    ek_view_source_free(verdict->documents);
}

static int check_one(struct ek_check_options *options)
{
    struct ek_check_verdict verdict;
    struct ek_err err = {0};

    ek_check_verdict_init(&verdict, options);
    if (read_pages(options, &err) || ek_live_read(&options->live, ek_check_look, &verdict, &err)) {
        ek_complain(&err);
        verdict.exit_code = EK_EXIT_FAILED;
    } else if (print_report(options, verdict.result) != EK_EXIT_OK) {
        verdict.exit_code = EK_EXIT_FAILED;
    }
    ek_check_verdict_done(&verdict);
    drop_pages(options);
    return verdict.exit_code;
}

static int check(void *ctx, char **args, int n_args)
{
    struct ek_check_options *options = ctx;
    struct ek_strings contexts = {0};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    (void)args;
    (void)n_args;
    if (ek_check_contexts(options, &contexts, &err))
        ek_complain(&err);
    else
        code = contexts.n ? ek_check_fleet(options, &contexts) : check_one(options);
    ek_strings_done(&contexts);
    return code;
}

static int check_version(const char *value, struct ek_err *err)
{
    if (ek_policy_usable(ek_minor_parse(value)).known)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not a version such as \"1.37\"", value);
}

static const struct ek_flag flags[] = {
    EK_LIVE_FLAGS(struct ek_check_options, live),
    EK_PRINT_FLAGS_MORE(struct ek_check_options, print, "html"),
    {.name = "all-contexts",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_check_options, all_contexts),
     .help = "Check the clusters of all contexts of the kubeconfig in one report. To check some of "
             "them, set \"--context\" to their names, separated by commas"},
    {.name = "from",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_check_options, live.recording),
     .help = "Read a recording in `DIR` instead of a cluster",
     .check = ek_live_folder_check},
    {.name = "record",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_check_options, live.record),
     .help = "Write a recording of the responses to `DIR`, for a report of a bug: \"--from\" reads "
             "the recording and prints the same report. DIR must be empty or absent. The text "
             "above lists the contents",
     .check = ek_live_folder_check},
    {.name = "next-version",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_check_options, next_version),
     .help =
         "`version` to judge NextVersionSafe for, such as \"1.37\", instead of spec.nextVersion",
     .check = check_version},
    {.name = "ignore",
     .type = EK_FLAG_STRINGS,
     .offset = offsetof(struct ek_check_options, ignored),
     .help = "A `component` that is listed but not judged, in addition to "
             "spec.skewPolicy.ignoredComponents, such as one that the provider of the control "
             "plane hides. Can be repeated",
     .choices = {"kube-apiserver", "kube-controller-manager", "kube-scheduler",
                 "cloud-controller-manager", "kubelet", "kube-proxy"}},
    {.name = "proxy-metrics",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_check_options, pages),
     .help = "Judge the clients that a proxy has seen, by the page /metrics of \"evenkeel proxy\" "
             "in `FILE`. Can be repeated, for several proxies. The exit code does not depend on "
             "clients"},
};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_check(void *unused, int argc, char **argv)
{
    struct ek_check_options options = {0};
    (void)unused;
    return ek_command_run(&ek_check_command, argc, argv, &options, check);
}

const struct ek_command ek_check_command = {
    .name = "check",
    .usage = "",
    .summary = "Check the version skew of a control plane once and print a report",
    .text =
        "Probes every API server of the cluster, finds the other components, and judges their "
        "versions by the compatibility-version skew rules (KEP-4330). Nothing is written to the "
        "cluster. Your credentials are sent to API servers only. Schedulers and controller "
        "managers get a token of the ServiceAccount evenkeel-probe, if you may create one (see "
        "deploy/README.md, \"Who gets which credential\").\n\nThe format html is one page without "
        "requests to other places, for a ticket.\n\nA recording (\"--record\") contains names, "
        "labels, addresses, images, versions, feature gates, discovery documents, and the names "
        "and fingerprints of serving certificates. A recording contains no environment, volume, "
        "Secret, ConfigMap or token. Of command lines, a recording contains only the values of "
        "the flags that Evenkeel reads.\n\nSeveral clusters (\"--context "
        "a,b,c\", \"--all-contexts\") are checked at the same time, each within \"--timeout\". The "
        "report has a column for the cluster, which has the name of the context. A cluster that "
        "cannot be read is a row with the reason. The exit code is the worst of all: 2 before 1, 1 "
        "before 3, 3 before 0.\n\nExit "
        "codes: 0 supported, 2 "
        "violations, 3 no violation but some component could not be judged, 1 the check failed. "
        "The "
        "exit code is about the version skew alone: an API server that is not reachable or not "
        "ready, and whose versions are known, does not change the exit code. The report then "
        "begins "
        "with \"Not ready\" or \"Readiness unknown\" and the reason of the condition Ready, which "
        "the formats json and yaml "
        "have.",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .run = run_check,
};
