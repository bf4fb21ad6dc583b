/* SPDX-License-Identifier: Apache-2.0 */
#include "test/bench/measure.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_PATIENCE_MS 5000

void bench_fail(const char *fmt, ...)
{
    va_list args;

    fputs("ek-bench: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputs("\n", stderr);
    exit(1);
}

double bench_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double bench_cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

double bench_proc_kb(pid_t pid, const char *file, const char *name)
{
    char path[64], line[256];
    size_t len = strlen(name);
    double kb = 0;

    if (pid)
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    else
        snprintf(path, sizeof path, "/proc/self/%s", file);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, name, len) && line[len] == ':')
            kb = strtod(line + len + 1, NULL);
    fclose(f);
    return kb;
}

double bench_proc_cpu_ms(pid_t pid)
{
    char path[64], line[1024] = "", *p;
    double ticks = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    p = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    /* The name's ")" ends field 2; user and system time are fields 14 and 15. */
    for (int field = 3; p && field <= 15; field++) {
        p = strchr(p + 1, ' ');
        if (p && field >= 14)
            ticks += strtod(p, NULL);
    }
    if (f)
        fclose(f);
    return ticks * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

void bench_begin(struct bench_sample *sample)
{
    *sample = (struct bench_sample){0};
    sample->base_kb = bench_proc_kb(0, "status", "VmRSS");
    sample->cpu_ms = bench_cpu_ms();
    sample->wall_ms = bench_now_ms();
}

void bench_end(struct bench_sample *sample)
{
    sample->wall_ms = bench_now_ms() - sample->wall_ms;
    sample->cpu_ms = bench_cpu_ms() - sample->cpu_ms;
    sample->kept_kb = bench_proc_kb(0, "status", "VmRSS");
    sample->peak_kb = bench_proc_kb(0, "status", "VmHWM");
}

static char *const *as_argv(const char *const *argv)
{
    return (char *const *)(uintptr_t)argv; /* exec does not write to it */
}

pid_t bench_spawn(const char *const *argv, int *ret_out)
{
    const char *own[16] = {"ek-bench"};
    int ends[2];

    if (!argv[0]) {
        for (size_t i = 1; i < 15 && argv[i]; i++)
            own[i] = argv[i];
        argv = own;
    }
    if (pipe(ends))
        bench_fail("no pipe");
    pid_t pid = fork();
    if (pid < 0)
        bench_fail("no process");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(argv == own ? "/proc/self/exe" : argv[0], as_argv(argv));
        _exit(127);
    }
    close(ends[1]);
    *ret_out = ends[0];
    return pid;
}

void bench_read(int fd, void *data, size_t size)
{
    char *p = data;

    while (size) {
        ssize_t n = read(fd, p, size);
        if (n <= 0)
            bench_fail("a child ended early");
        p += n;
        size -= (size_t)n;
    }
}

struct bench_sample bench_child(const char *const *argv)
{
    struct bench_sample sample;
    int out, status;
    pid_t pid = bench_spawn(argv, &out);

    bench_read(out, &sample, sizeof sample);
    close(out);
    waitpid(pid, &status, 0);
    return sample;
}

void bench_say(const struct bench_sample *sample)
{
    if (write(STDOUT_FILENO, sample, sizeof *sample) != (ssize_t)sizeof *sample)
        bench_fail("nobody listens");
}

void bench_stop(pid_t pid)
{
    double until = bench_now_ms() + STOP_PATIENCE_MS;
    int status;

    kill(pid, SIGTERM);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (bench_now_ms() > until)
            kill(pid, SIGKILL);
        poll(NULL, 0, 10);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t n)
{
    return bench_percentile(values, n, 50);
}

double bench_percentile(double *values, size_t n, double percent)
{
    if (!n)
        return 0;
    qsort(values, n, sizeof *values, by_value);
    size_t i = (size_t)(percent / 100 * (double)n);
    return values[i < n ? i : n - 1];
}
