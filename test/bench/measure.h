/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring: what a process has used, children that are measured apart, and numbers over several
 * runs. Not for tests: nothing here asserts a time. Failures end the program with a message. Not
 * thread safe.
 */
#ifndef TEST_BENCH_MEASURE_H
#define TEST_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_REPEATS_MAX 32

/* What one run of one side came to. */
struct bench_sample {
    double wall_ms, cpu_ms;  /* cpu: user and system of the whole process, since the start */
    double base_kb, kept_kb; /* resident set before and after */
    double peak_kb;          /* its high-water mark */
    double bytes, objects;   /* how much was taken */
    double p50_ms, p99_ms;   /* of latencies, where the run measures them */
    double extra;            /* what the bench wants to add */
};

/* Ends the program: "ek-bench: ..." on stderr. */
void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The monotonic clock, and the CPU time of this process. */
double bench_now_ms(void);
double bench_cpu_ms(void);

/* A kB figure of /proc/<pid>/<file> ("status" or "smaps_rollup") by its name ("VmRSS", "Pss"); 0
 * pid is this process. 0 when it is not there. */
double bench_proc_kb(pid_t pid, const char *file, const char *name);

/* User and system time of another process so far. */
double bench_proc_cpu_ms(pid_t pid);

/* Begins a sample of this process (times and base), and completes it. */
void bench_begin(struct bench_sample *sample);
void bench_end(struct bench_sample *sample);

/*
 * Starts argv (NULL-terminated; argv[0] NULL means this very program) with its stdout on a pipe.
 * The descriptor's reading end is *ret_out. The child dies with us.
 */
pid_t bench_spawn(const char *const *argv, int *ret_out);

/* Reads exactly size bytes of what the child says. */
void bench_read(int fd, void *data, size_t size);

/* Runs this program with argv[1..], which ends by printing a sample (bench_say), to its end. */
struct bench_sample bench_child(const char *const *argv);

/* What such a child calls last. */
void bench_say(const struct bench_sample *sample);

/* Ends a child by SIGTERM, and by SIGKILL if it does not follow; waits for it. */
void bench_stop(pid_t pid);

/* Over n values, which are sorted in place. */
double bench_median(double *values, size_t n);
double bench_percentile(double *values, size_t n, double percent);

#endif
