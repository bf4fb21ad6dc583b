/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel check` of several clusters. */
#include <string.h>

#include "controller/commands/check-internal.h"
#include "controller/commands/fleet_report.h"
#include "informers/client/kubeconfig.h"
#include "informers/clock.h"

/* Clusters that are read at the same time: each takes some connections for each API server, and a
 * process has 1024 file descriptors by default. */
#define AT_ONCE 16

static bool has(const struct ek_strings *names, const char *name, size_t len)
{
    for (size_t i = 0; i < names->n; i++)
        if (strlen(names->items[i]) == len && !memcmp(names->items[i], name, len))
            return true;
    return false;
}

/* The names between the commas of list. */
static int split(const char *list, struct ek_strings *names, struct ek_err *err)
{
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t len = strcspn(p, ",");
        if (!len)
            return ek_err_set(err, EK_E_INVAL, "--context %s has an empty name", list);
        if (has(names, p, len))
            return ek_err_set(err, EK_E_INVAL, "--context names %.*s twice", (int)len, p);
        EK_AUTOFREE char *name = ek_xstrndup(p, len);
        ek_strings_add(names, name);
    }
    return 0;
}

/* What is about one cluster: a folder has no place for several. */
static int refuse_flags(const struct ek_check_options *options, struct ek_err *err)
{
    const char *flag = *options->live.recording                        ? "--from"
                       : options->live.record && *options->live.record ? "--record"
                       : options->pages.n                              ? "--proxy-metrics"
                                                                       : NULL;

    if (options->all_contexts && *options->live.cluster.context)
        return ek_err_set(err, EK_E_INVAL, "--context and --all-contexts exclude each other");
    if (!flag)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is for a check of one cluster, not of several", flag);
}

int ek_check_contexts(const struct ek_check_options *options, struct ek_strings *ret_names,
                      struct ek_err *err)
{
    const struct ek_cluster_options *cluster = &options->live.cluster;
    const char *context = cluster->context;

    if (!options->all_contexts && !strchr(context, ','))
        return 0;
    int rc = ek_kubeconfig_contexts(cluster->kubeconfig, NULL, ret_names, err);
    if (rc)
        return rc;
    bool is_one = !options->all_contexts && has(ret_names, context, strlen(context));
    if (is_one || !options->all_contexts)
        ek_strings_done(ret_names);
    if (is_one)
        return 0;
    rc = refuse_flags(options, err);
    if (!rc && !options->all_contexts)
        rc = split(context, ret_names, err);
    if (!rc && !ret_names->n)
        rc = ek_err_set(err, EK_E_NOENT, "the kubeconfig has no context");
    return rc;
}

static int print_fleet(const struct ek_check_options *options,
                       const struct ek_fleet_cluster *clusters, size_t n)
{
    bool is_page = !strcmp(options->print.output, "html");
    int64_t now_ms = ek_wall_ms();
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = ek_fleet_object(clusters, n);

    if (ek_print(&options->print, ek_obj_root(object), is_page ? ek_fleet_html : ek_fleet_report,
                 &now_ms) != EK_EXIT_OK)
        return EK_EXIT_FAILED;
    return ek_fleet_exit_code(clusters, n);
}

int ek_check_fleet(const struct ek_check_options *options, const struct ek_strings *contexts)
{
    size_t n = contexts->n;
    EK_AUTOFREE struct ek_live_job *jobs = ek_xalloc((n + 1) * sizeof *jobs);
    EK_AUTOFREE struct ek_live_options *lives = ek_xalloc((n + 1) * sizeof *lives);
    EK_AUTOFREE struct ek_check_verdict *verdicts = ek_xalloc((n + 1) * sizeof *verdicts);
    EK_AUTOFREE struct ek_fleet_cluster *clusters = ek_xalloc((n + 1) * sizeof *clusters);

    for (size_t i = 0; i < n; i++) {
        ek_check_verdict_init(&verdicts[i], options);
        lives[i] = options->live;
        lives[i].cluster.context = contexts->items[i];
        jobs[i] =
            (struct ek_live_job){.options = &lives[i], .look = ek_check_look, .ctx = &verdicts[i]};
    }
    ek_live_read_all(jobs, n, AT_ONCE);
    for (size_t i = 0; i < n; i++) {
        bool failed = jobs[i].err.code != 0;
        clusters[i] =
            (struct ek_fleet_cluster){.name = contexts->items[i],
                                      .exit_code = failed ? EK_EXIT_FAILED : verdicts[i].exit_code,
                                      .control_plane = failed ? NULL : verdicts[i].result,
                                      .error = failed ? jobs[i].err.message : ""};
    }
    int code = print_fleet(options, clusters, n);
    for (size_t i = 0; i < n; i++)
        ek_check_verdict_done(&verdicts[i]);
    return code;
}
