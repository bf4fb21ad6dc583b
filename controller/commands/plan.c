/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel plan`: what the next version changes. */
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "api/version.h"
#include "controller/commands/plan-internal.h"
#include "informers/client/file.h"
#include "reconcilers/skew/policy.h"

#define ARENA_MAX ((size_t)1 << 30)
#define DATA_MAX  ((size_t)16 << 20)

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_EXIT_FAILED;
}

/* Reads the data of the program and that of --data. */
static int open_data(const struct ek_plan_options *o, struct ek_plan_data *ret, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    size_t len = 0;
    int rc = 0;

    if (*o->data)
        rc = ek_file_read(o->data, DATA_MAX, &text, &len, err);
    if (rc)
        return ek_err_prefix(err, "--data");
    rc = ek_plan_data_open((struct ek_str){text, len}, ret, err);
    if (rc && *o->data)
        ek_err_prefix(err, "--data %s", o->data);
    return rc;
}

/* The steps of a cluster whose components all run --from. */
static yyjson_mut_val *uniform_steps(const struct ek_plan_target *target,
                                     struct ek_plan_report *report, yyjson_mut_doc *doc)
{
    static const struct ek_skew_policy policy = {1, EK_SKEW_UNSET, EK_SKEW_UNSET, 0, 0};
    struct ek_plan_cluster cluster;

    if (!target->from.known)
        return NULL;
    ek_plan_uniform(target->from, report->arena, &cluster);
    return ek_plan_steps(target->data, &cluster,
                         &(struct ek_steps_goal){.version = target->to, .policy = &policy}, report,
                         doc);
}

/* A pipeline that reads nothing must not look like one whose objects are fine. */
static int check_empty(const struct ek_plan_counts *counts, struct ek_err *err)
{
    if (counts->objects || counts->others)
        return 0;
    return ek_err_set(err, EK_E_NOENT, "there is no object in these files: nothing was checked");
}

/* Checks the files, and then changes those that --fix changes. */
static int check_files(const struct ek_plan_options *o, const struct ek_plan_target *target,
                       struct ek_plan_report *report, struct ek_plan_counts *counts,
                       struct ek_err *err)
{
    struct ek_plan_fixes fixes = {0};
    int rc = ek_plan_check_files(o, target, report, counts, o->fix ? &fixes : NULL, err);

    if (!rc)
        rc = check_empty(counts, err);
    if (!rc && ek_arena_exhausted(report->arena))
        rc = ek_err_set(err, EK_E_LIMIT, "the manifests are too many");
    if (!rc)
        rc = ek_plan_fixes_write(&fixes, err);
    ek_plan_fixes_done(&fixes);
    return rc;
}

static int plan_files(const struct ek_plan_options *o, const struct ek_plan_target *target)
{
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_MAX)};
    struct ek_plan_counts counts = {0};
    EK_AUTO(ek_plan_audit) audit;
    struct ek_err err = {0};
    int code;

    ek_plan_audit_init(&audit, target);
    ek_plan_say_beyond(target->data, target->from, &report);
    ek_plan_say_beyond(target->data, target->to, &report);
    if (ek_plan_audit_read(o, &audit, &report, &err) ||
        check_files(o, target, &report, &counts, &err)) {
        code = complain(&err);
    } else {
        yyjson_mut_doc *doc = ek_json_doc_new();
        yyjson_mut_val *steps = uniform_steps(target, &report, doc);
        yyjson_doc *result =
            ek_plan_document(target, &report, &counts, doc, steps,
                             o->audit_logs.n ? ek_plan_audit_value(&audit, doc) : NULL);
        code = ek_plan_print(o, yyjson_doc_get_root(result));
        code = code ? code : ek_plan_exit(&report);
        yyjson_doc_free(result);
        yyjson_mut_doc_free(doc);
    }
    ek_arena_free(report.arena);
    return code;
}

/* Flags that exclude each other, and flags that need another one. from: the flag that gives the
 * version before the upgrade, as the user has typed the flag; "" without one. */
static int check_flags(const struct ek_plan_options *o, const struct ek_plan_target *target,
                       const char *from, struct ek_err *err)
{
    if (*o->from && *o->since)
        return ek_err_set(err, EK_E_INVAL, "--since is another name of --from: use one of them");
    if (o->rollback && (o->guard || o->files.n))
        return ek_err_set(err, EK_E_INVAL, "--rollback reads a cluster: without -f and --guard");
    if (o->guard && (o->files.n || o->audit_logs.n || *o->to || *from || *o->live.recording))
        return ek_err_set(err, EK_E_INVAL,
                          "--guard reads a cluster: without -f, --audit-log, --to, %s and "
                          "--recording",
                          *from ? from : "--from");
    if (ek_plan_audit_check(o, err))
        return err->code;
    if (!o->files.n && (*from || o->fix))
        return ek_err_set(err, EK_E_INVAL, "%s needs files: use -f", *from ? from : "--fix");
    if (o->files.n && !target->to.known)
        return ek_err_set(err, EK_E_INVAL, "say which version: --to 1.NN");
    if (target->from.known && target->to.known && ek_minor_cmp(target->from, target->to) > 0)
        return ek_err_set(err, EK_E_INVAL, "%s is newer than --to", from);
    return 0;
}

static int plan(void *options, char **args, int n_args)
{
    const struct ek_plan_options *o = options;
    EK_AUTO(ek_plan_data) data = {0};
    struct ek_err err = {0};

    (void)args;
    (void)n_args;
    if (open_data(o, &data, &err))
        return complain(&err);
    const char *from = *o->since ? "--since" : *o->from ? "--from" : "";
    struct ek_plan_target target = {&data, EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN};
    if (*o->to)
        target.to = ek_minor_parse(o->to);
    if (*from)
        target.from = ek_minor_parse(*o->since ? o->since : o->from);
    if (check_flags(o, &target, from, &err))
        return complain(&err);
    return o->files.n ? plan_files(o, &target) : ek_plan_of_cluster(o, &data);
}

static int check_version(const char *value, struct ek_err *err)
{
    struct ek_minor v = ek_minor_parse(value);

    if (v.known && v.major == 1)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not a version such as \"1.37\"", value);
}

/* `check --from` is a folder. */
static int check_from(const char *value, struct ek_err *err)
{
    if (!check_version(value, err))
        return 0;
    return ek_err_set(err, EK_E_INVAL,
                      "%s is not a version such as \"1.34\"; a recording is read with --recording",
                      value);
}

static const struct ek_flag flags[] = {
    EK_LIVE_FLAGS(struct ek_plan_options, live),
    {.name = "recording",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, live.recording),
     .help = "Read a recording in `DIR` instead of a cluster",
     .check = ek_live_folder_check},
    {.name = "to",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, to),
     .help = "Target `version`, such as 1.37; required with -f; below the emulation version of an "
             "API server, the steps lead back",
     .check = check_version},
    {.name = "from",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, from),
     .help = "With -f, the `version` before the upgrade: removals before this version are not "
             "reported, and what this version does not know is a warning",
     .check = check_from},
    {.name = "since",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, since),
     .help = "The same `version` as --from",
     .check = check_from},
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_plan_options, files),
     .help = "`FILE` or folder of manifests, or - for the standard input; may be repeated"},
    {.name = "audit-log",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_plan_options, audit_logs),
     .help = "Audit log of an API server in `FILE` (JSON lines of audit.k8s.io/v1), or - for the "
             "standard input; report who calls API versions that go; may be repeated"},
    {.name = "fix",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_plan_options, fix),
     .help = "Rewrite apiVersion in the files where the schema of the new version accepts the "
             "object unchanged"},
    {.name = "guard",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_plan_options, guard),
     .help = "Report the stored objects that use what the lowest version does not know that the "
             "API servers may go back to"},
    {.name = "rollback",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_plan_options, rollback),
     .help = "Report the steps one step back, or back to --to, and what they lose"},
    {.name = "data",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, data),
     .help = "`FILE` with the data of a version that this program does not know "
             "(reconcilers/plan/README.md)"},
    {.name = "output",
     .letter = 'o',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, print.output),
     .initial = "table",
     .choices = {"table", "json", "yaml", "markdown", "html", "sarif"},
     .help = "Output `format`"},
    {.name = "color",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_plan_options, print.color),
     .initial = "auto",
     .choices = {"auto", "always", "never"},
     .help = "When to use colors in tables; auto means on a terminal, unless NO_COLOR is set"},
};

static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_plan(void *unused, int argc, char **argv)
{
    struct ek_plan_options options = {.live = {.flagz = true}};

    (void)unused;
    return ek_command_run(&ek_plan_command, argc, argv, &options, plan);
}

const struct ek_command ek_plan_command = {
    .name = "plan",
    .usage = "",
    .summary = "Report what a Kubernetes version changes for a cluster or for manifests",
    .text =
        "Prints a verdict, the steps to the target, and what each step changes.\n\nWithout -f, the "
        "command reads the cluster as evenkeel check does. The steps are the binary, the emulation "
        "version and the minimum compatibility version of each API server, controller manager and "
        "scheduler, and the binaries of nodes (KEP-4330), in an order that keeps to the version "
        "skew "
        "policy. Reported are feature gates with which an API server or a controller does not "
        "start "
        "after a step, "
        "APIs that go, who requests them, who wrote objects with them and what refers to them, and "
        "the point of no return. Of the other objects, webhooks, "
        "admission policies, device classes, resource claims and CustomResourceDefinitions are "
        "read; check the manifests of others "
        "with -f. Nothing is written to the cluster.\n\nWith --guard, the command reports the "
        "stored "
        "objects that use fields, API versions or expressions that the lowest version does not "
        "know "
        "that the API servers may go back to, and the flags with which components do not start "
        "then.\n\nWith --rollback, or with --to below an emulation version, the command reports "
        "the steps back, emulation versions before binaries, and what these lose: flags, APIs, who "
        "wrote objects with them, and stored objects as with --guard. Without --to, that is one "
        "step: the opposite of the last one that the API servers took.\n\nWith -f, "
        "the command reads manifests and no cluster, and reports API versions that are removed or "
        "deprecated, fields that the target does not know, CEL expressions that the target "
        "refuses, "
        "and feature gates and versions with which a component in a Pod, a kubeadm configuration "
        "or "
        "a configuration of a node does not start. Each finding has the file, the line and the "
        "remedy. "
        "With --from, changes before that version are not reported, and the steps are those of a "
        "cluster whose components all run that version.\n\nWith --audit-log, the command also "
        "reports "
        "which user and user agent called an API version that is removed or deprecated at the "
        "target, how often and when last.\n\nWhat is not known is reported as "
        "unknown. The formats json, yaml and html list the feature gates, APIs and storage "
        "versions "
        "that a step changes; html is one page without requests to other places, for a "
        "ticket.\n\nExit codes: 0 safe, 2 blocked, 3 not blocked but something is unknown, "
        "1 the plan could not be made.\n\n  evenkeel plan --to 1.37\n  evenkeel plan --to 1.36 "
        "--from 1.34 -f manifests/\n  helm template . | evenkeel plan --to 1.36 -f - -o sarif\n  "
        "evenkeel plan --to 1.36 --from 1.34 -f manifests/ --fix\n  evenkeel plan --to 1.37 "
        "--audit-log audit.log\n  evenkeel plan --guard\n  evenkeel plan --rollback",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .run = run_plan,
};
