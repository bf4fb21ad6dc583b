/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel rehearse`: the upgrade of the API server, on a copy of the data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/time.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "controller/commands/rehearse-internal.h"
#include "controller/manifests/documents.h"
#include "controller/rehearse/apart.h"
#include "informers/client/file.h"
#include "informers/clock.h"

#define MANIFEST_MAX ((size_t)4 << 20)
#define ARENA_MAX    ((size_t)64 << 20)

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_EXIT_FAILED;
}

/* ---- The manifest ---- */

struct manifest {
    struct ek_server_args *args;
    yyjson_doc *doc; /* the first with a kube-apiserver */
};

static int read_document(void *ctx, const struct ek_manifest_document *document, struct ek_err *err)
{
    struct manifest *m = ctx;
    yyjson_doc *doc = NULL;
    int rc =
        m->doc ? 0 : ek_yaml_parse(document->text.p, document->text.len, MANIFEST_MAX, &doc, err);

    if (rc)
        return ek_err_prefix(err, "document at line %zu", document->first_line + 1);
    if (doc && ek_server_args_read(yyjson_doc_get_root(doc), EK_KUBE_APISERVER, m->args))
        m->doc = doc;
    else
        yyjson_doc_free(doc);
    return 0;
}

int ek_rehearse_read_manifest(const char *path, struct ek_server_args *args, yyjson_doc **ret_doc,
                              struct ek_err *err)
{
    struct manifest m = {args, NULL};
    EK_AUTOFREE char *text = NULL;
    size_t len = 0;
    int rc = ek_file_read(path, MANIFEST_MAX, &text, &len, err);

    *ret_doc = NULL;
    if (rc)
        return rc; /* the error names the path */
    rc = ek_manifest_each_document(text, len, read_document, &m, err);
    *ret_doc = m.doc;
    if (!rc && !m.doc)
        rc = ek_err_set(err, EK_E_NOENT,
                        "there is no static Pod of a kube-apiserver and no ClusterConfiguration "
                        "of kubeadm with apiServer.extraArgs in the file");
    return rc ? ek_err_prefix(err, "%s", path) : 0;
}

/* ---- The command ---- */

/* The absolute path of a file that exists: servers run in another folder. "" stays "". */
static int absolute(const char *flag, const char *path, char **ret, struct ek_err *err)
{
    *ret = *path ? realpath(path, NULL) : ek_xstrdup("");
    return *ret ? 0 : ek_err_set(err, EK_E_NOENT, "--%s %s: %s", flag, path, strerror(errno));
}

static int print(const struct ek_rehearse_command_options *o,
                 const struct ek_rehearse_result *result)
{
    bool html = !strcmp(o->print.output, "html");
    int64_t now_ms = ek_wall_ms();
    yyjson_doc *doc = ek_rehearse_document(result);
    int code = ek_print(&o->print, yyjson_doc_get_root(doc),
                        html ? ek_rehearse_html : ek_rehearse_table, html ? &now_ms : NULL);

    yyjson_doc_free(doc);
    return code ? code : ek_rehearse_exit(result);
}

struct job {
    const struct ek_rehearse_command_options *o;
    struct ek_rehearse_options *options;
};

/* In the process of the rehearsal (controller/rehearse/apart.h). */
static int run(void *ctx)
{
    const struct job *job = ctx;
    const struct ek_rehearse_command_options *o = job->o;
    struct ek_rehearse_options *options = job->options;
    struct ek_rehearse_line line = {.terminal = isatty(STDERR_FILENO) == 1};
    EK_AUTO(ek_plan_data) data = {0};
    struct ek_rehearse_result result;
    struct ek_err err = {0};
    int code;

    if (ek_plan_data_open((struct ek_str){NULL, 0}, &data, &err))
        return complain(&err);
    options->data = &data;
    options->progress = ek_rehearse_show;
    options->ctx = &line;
    int rc = ek_rehearse_run(options, &result, &err);
    ek_rehearse_show_end(&line);
    code = rc ? complain(&err) : print(o, &result);
    if (*result.left) {
        ek_err_set(&err, EK_E_IO,
                   "%s could not be removed: remove the folder, which has a copy of "
                   "the data",
                   result.left);
        code = code ? code : EK_EXIT_FAILED;
        complain(&err);
    }
    ek_rehearse_result_done(&result);
    return code;
}

static int rehearse_with(const struct ek_rehearse_command_options *o, struct ek_server_args *args,
                         struct ek_err *err)
{
    EK_AUTOFREE char *snapshot = NULL;
    EK_AUTOFREE char *apiserver = NULL;
    EK_AUTOFREE char *old = NULL;
    EK_AUTOFREE char *etcd = NULL;
    EK_AUTOFREE char *encryption = NULL;

    if (absolute("snapshot", o->snapshot, &snapshot, err) ||
        absolute("kube-apiserver", o->apiserver, &apiserver, err) ||
        absolute("kube-apiserver-old", o->apiserver_old, &old, err) ||
        absolute("etcd", o->etcd, &etcd, err) ||
        absolute("encryption-config", o->encryption, &encryption, err))
        return complain(err);
    struct ek_rehearse_copy_options cluster = {.kubeconfig = o->cluster.kubeconfig,
                                               .context = o->cluster.context,
                                               .resources = o->resources,
                                               .secret_values = o->secret_values};
    struct ek_rehearse_options options = {.snapshot = snapshot,
                                          .cluster = o->from_cluster ? &cluster : NULL,
                                          .apiserver = apiserver,
                                          .apiserver_old = old,
                                          .etcd = etcd,
                                          .encryption = encryption,
                                          .args = args->text,
                                          .n_args = args->n,
                                          .from = ek_minor_parse(o->from),
                                          .start_timeout_ms = o->start_timeout_ms,
                                          .timeout_ms = o->timeout_ms,
                                          .dry_runs = (size_t)o->dry_runs,
                                          .host_network = o->host_network};
    struct job job = {o, &options};
    int code = EK_EXIT_FAILED;

    return ek_rehearse_apart(run, &job, &code, err) ? complain(err) : code;
}

/* Whether the flags say what is rehearsed, on which data. */
static int check_flags(const struct ek_rehearse_command_options *o, struct ek_err *err)
{
    bool of_cluster =
        *o->cluster.kubeconfig || *o->cluster.context || *o->resources || o->secret_values;

    if (!*o->apiserver || (!*o->snapshot && !o->from_cluster))
        return ek_err_set(err, EK_E_INVAL,
                          "--kube-apiserver is required, and --snapshot or --from-cluster");
    if (*o->snapshot && o->from_cluster)
        return ek_err_set(err, EK_E_INVAL, "--snapshot and --from-cluster exclude each other");
    if (of_cluster && !o->from_cluster)
        return ek_err_set(err, EK_E_INVAL,
                          "--kubeconfig, --context, --resources and --secret-values need "
                          "--from-cluster");
    if (*o->encryption && o->from_cluster)
        return ek_err_set(err, EK_E_INVAL,
                          "--encryption-config needs --snapshot: a copy is not encrypted");
    return 0;
}

static int rehearse(void *options, char **args, int n_args)
{
    const struct ek_rehearse_command_options *o = options;
    struct ek_server_args server = {.arena = ek_arena_new(ARENA_MAX)};
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};
    int code;

    (void)args;
    (void)n_args;
    if (check_flags(o, &err) ||
        (*o->manifest && ek_rehearse_read_manifest(o->manifest, &server, &doc, &err)))
        code = complain(&err);
    else
        code = rehearse_with(o, &server, &err);
    yyjson_doc_free(doc);
    ek_arena_free(server.arena);
    return code;
}

static int check_version(const char *value, struct ek_err *err)
{
    struct ek_minor v = ek_minor_parse(value);

    if (v.known && v.major == 1)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not a version such as \"1.36\"", value);
}

static int check_count(const char *value, struct ek_err *err)
{
    long n = strtol(value, NULL, 10);

    return n >= 0 && n <= 1000000
               ? 0
               : ek_err_set(err, EK_E_INVAL, "%s is not within 0 and 1000000", value);
}

static int check_time(const char *value, struct ek_err *err)
{
    int64_t ms = 0;

    if (!ek_duration_parse(value, &ms) && ms > 0)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not a duration above zero", value);
}

#define AT(member) offsetof(struct ek_rehearse_command_options, member)

static const struct ek_flag flags[] = {
    {.name = "snapshot",
     .type = EK_FLAG_STRING,
     .offset = AT(snapshot),
     .help = "Snapshot `FILE` of etcd (etcdctl snapshot save); the file is only read. This flag or "
             "--from-cluster is required"},
    {.name = "from-cluster",
     .type = EK_FLAG_BOOL,
     .offset = AT(from_cluster),
     .help = "Copy the objects of the cluster of the kubeconfig, which is only read, in place of a "
             "snapshot; resources that may not be read are in the report"},
    EK_CLUSTER_FLAGS(struct ek_rehearse_command_options, cluster),
    {.name = "resources",
     .type = EK_FLAG_STRING,
     .offset = AT(resources),
     .help = "Resources that --from-cluster copies, as a `list` such as "
             "configmaps,deployments.apps; by default all that can be listed and created. "
             "Namespaces, CustomResourceDefinitions and APIServices are always copied"},
    {.name = "secret-values",
     .type = EK_FLAG_BOOL,
     .offset = AT(secret_values),
     .help = "Copy also the values of Secrets, which --from-cluster replaces by zeros"},
    {.name = "kube-apiserver",
     .type = EK_FLAG_STRING,
     .offset = AT(apiserver),
     .help = "`FILE` of the kube-apiserver of the target; required"},
    {.name = "kube-apiserver-old",
     .type = EK_FLAG_STRING,
     .offset = AT(apiserver_old),
     .help = "`FILE` of the kube-apiserver that the cluster runs, for the step before the upgrade "
             "and for the way back; without this flag, the way back is the emulation of the old "
             "version"},
    {.name = "manifest",
     .type = EK_FLAG_STRING,
     .offset = AT(manifest),
     .help = "`FILE` with the static Pod of the kube-apiserver that the cluster runs, or with the "
             "ClusterConfiguration of kubeadm: its flags are rehearsed"},
    {.name = "etcd",
     .type = EK_FLAG_STRING,
     .offset = AT(etcd),
     .help = "`folder` with etcd and etcdutl; by default that of --kube-apiserver, or $PATH"},
    {.name = "from",
     .type = EK_FLAG_STRING,
     .offset = AT(from),
     .help =
         "`version` that the cluster runs; by default the emulation version of the manifest, the "
         "version of the cluster that is copied, the version of --kube-apiserver-old, or one minor "
         "version below --kube-apiserver",
     .check = check_version},
    {.name = "encryption-config",
     .type = EK_FLAG_STRING,
     .offset = AT(encryption),
     .help = "`FILE` with the EncryptionConfiguration of the cluster; without its keys, encrypted "
             "objects are counted and not read"},
    {.name = "dry-runs",
     .type = EK_FLAG_INT,
     .offset = AT(dry_runs),
     .initial = "500",
     .help = "Objects of each kind that are updated as a dry run at each step; of more objects, a "
             "sample is taken",
     .check = check_count},
    {.name = "start-timeout",
     .type = EK_FLAG_DURATION,
     .offset = AT(start_timeout_ms),
     .initial = "2m",
     .help = "How long to wait until an API server is ready",
     .check = check_time},
    {.name = "timeout",
     .type = EK_FLAG_DURATION,
     .offset = AT(timeout_ms),
     .initial = "1h",
     .help = "How long the rehearsal may take; the report names the steps that were not reached",
     .check = check_time},
    {.name = "allow-host-network",
     .type = EK_FLAG_BOOL,
     .offset = AT(host_network),
     .help = "Rehearse also where the system permits no namespaces: then the servers run in the "
             "network of this machine, and may call what the copied data names"},
    EK_PRINT_FLAGS_MORE(struct ek_rehearse_command_options, print, "html"),
};

static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_rehearse(void *unused, int argc, char **argv)
{
    struct ek_rehearse_command_options options = {0};

    (void)unused;
    return ek_command_run(&ek_rehearse_command, argc, argv, &options, rehearse);
}

const struct ek_command ek_rehearse_command = {
    .name = "rehearse",
    .usage = "",
    .summary = "Rehearse an upgrade of the API server on a copy of the cluster's data",
    .text =
        "Starts the kube-apiserver of the target on a copy of an etcd snapshot, or of the objects "
        "of "
        "a live cluster (--from-cluster), step by step: with the emulation of the old version, "
        "with "
        "a higher emulation version, with a higher minimum compatibility version, and then back "
        "(KEP-4330). The cluster is only read: GET requests, one at a time and at most twenty a "
        "second.\n\nFor each "
        "step, the report says whether the server starts with the flags of the manifest, which "
        "stored objects the server cannot decode or does not serve, which unchanged objects the "
        "server refuses in an update (a server-side dry run), which policies and custom resources "
        "the server refuses when these are created again, which conditions change, and what "
        "differs "
        "in the served APIs, the storage versions and the feature gates, beside what evenkeel plan "
        "predicts. What a server refuses of its flags is taken out, and the rehearsal goes "
        "on.\n\nThe servers run in network and process namespaces of their own (without these the "
        "rehearsal needs --allow-host-network), listen on the loopback address alone, and have no "
        "webhooks, no audit, no tracing and no "
        "connection to other servers: flags that need one are removed, and named in the report. "
        "All files lie in a folder below $TMPDIR that is removed at the end.\n\nExit codes: 0 "
        "nothing breaks, 2 something breaks, 1 not all steps could be rehearsed.\n\n  evenkeel "
        "rehearse "
        "--snapshot etcd.db --kube-apiserver ./kube-apiserver\n  evenkeel rehearse --snapshot "
        "etcd.db --kube-apiserver new/kube-apiserver \\\n    --kube-apiserver-old "
        "old/kube-apiserver --manifest kube-apiserver.yaml\n  evenkeel rehearse --from-cluster "
        "--context staging --kube-apiserver ./kube-apiserver",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .run = run_rehearse,
};
