/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct ek_process_metrics {
    char *root; /* owned */
    struct ek_metric *cpu, *resident, *virtual, *open_fds, *max_fds, *start_time;
};

/* Reads at most size - 1 bytes of root/name as a string; false when there is no such file. */
static bool read_file(const struct ek_process_metrics *process, const char *name, char *buf,
                      size_t size)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", process->root, name);
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    size_t n = fread(buf, 1, size - 1, file);
    buf[n] = '\0';
    fclose(file);
    return n > 0;
}

/* The boot time that start times are counted from; -1 when unknown. */
static double boot_time(const struct ek_process_metrics *process)
{
    size_t size = (size_t)256 * 1024; /* a line per processor precedes it */
    EK_AUTOFREE char *text = ek_xalloc(size);

    if (!read_file(process, "stat", text, size))
        return -1;
    const char *line = strstr(text, "\nbtime ");
    return line ? strtod(line + 7, NULL) : -1;
}

/* Fields are counted from 1 as proc(5) does; the name in field 2 may hold blanks and brackets. */
static void collect_stat(const struct ek_process_metrics *process)
{
    char text[4096];
    double fields[25] = {0};

    if (!read_file(process, "self/stat", text, sizeof text))
        return;
    const char *p = strrchr(text, ')');
    p = p ? strchr(p, ' ') : NULL; /* before field 3, a letter */
    p = p ? strchr(p + 1, ' ') : NULL;
    int n = 4;
    for (char *end; p && n < 25; n++, p = end) {
        fields[n] = strtod(p, &end);
        if (end == p)
            break;
    }
    if (n < 25)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK), boot = boot_time(process);
    ek_metric_set(process->cpu, (fields[14] + fields[15]) / ticks);
    ek_metric_set(process->virtual, fields[23]);
    ek_metric_set(process->resident, fields[24] * (double)sysconf(_SC_PAGESIZE));
    if (boot >= 0)
        ek_metric_set(process->start_time, boot + fields[22] / ticks);
}

static void collect_open_fds(const struct ek_process_metrics *process)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/self/fd", process->root);
    DIR *dir = opendir(path);
    int n = 0;

    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    if (!strcmp(process->root, "/proc"))
        n--; /* the descriptor of this very walk */
    ek_metric_set(process->open_fds, n);
}

static void collect_max_fds(const struct ek_process_metrics *process)
{
    static const char title[] = "Max open files";
    char text[4096];

    if (!read_file(process, "self/limits", text, sizeof text))
        return;
    const char *line = strstr(text, title);
    if (!line)
        return;
    line += sizeof title - 1;
    line += strspn(line, " ");
    if (*line >= '0' && *line <= '9')
        ek_metric_set(process->max_fds, strtod(line, NULL));
}

static void collect(void *ctx)
{
    const struct ek_process_metrics *process = ctx;

    collect_stat(process);
    collect_open_fds(process);
    collect_max_fds(process);
}

static struct ek_metric *one(struct ek_metrics *metrics, const char *name, const char *help,
                             enum ek_metric_type type)
{
    return ek_metric_with(
        ek_metrics_register(metrics,
                            &(struct ek_metric_desc){.name = name, .help = help, .type = type}),
        NULL);
}

struct ek_process_metrics *ek_process_metrics_new(struct ek_metrics *metrics, const char *proc_root)
{
    struct ek_process_metrics *process = ek_xalloc(sizeof *process);

    process->root = ek_xstrdup(proc_root);
    process->cpu = one(metrics, "process_cpu_seconds_total",
                       "User and system CPU time spent, in seconds.", EK_METRIC_COUNTER);
    process->resident = one(metrics, "process_resident_memory_bytes",
                            "Memory of the process that is in RAM, in bytes.", EK_METRIC_GAUGE);
    process->virtual = one(metrics, "process_virtual_memory_bytes",
                           "Address space of the process, in bytes.", EK_METRIC_GAUGE);
    process->open_fds =
        one(metrics, "process_open_fds", "File descriptors that are open.", EK_METRIC_GAUGE);
    process->max_fds = one(metrics, "process_max_fds", "File descriptors that may be open at once.",
                           EK_METRIC_GAUGE);
    process->start_time =
        one(metrics, "process_start_time_seconds",
            "Start time of the process, in seconds since the Unix epoch.", EK_METRIC_GAUGE);
    ek_metrics_add_collector(metrics, collect, process);
    return process;
}

void ek_process_metrics_free(struct ek_process_metrics *process)
{
    if (!process)
        return;
    ek_free(process->root);
    ek_free(process);
}

void ek_build_info_register(struct ek_metrics *metrics, const char *version, const char *commit)
{
    struct ek_metric_family *family = ek_metrics_register(
        metrics,
        &(struct ek_metric_desc){.name = "evenkeel_build_info",
                                 .help = "Always 1; the labels identify the build of Evenkeel.",
                                 .type = EK_METRIC_GAUGE,
                                 .labels = {"version", "commit"}});
    ek_metric_set(ek_metric_with(family, version, commit, NULL), 1);
}
