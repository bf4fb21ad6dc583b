/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benches: each prints what it measured, as ratios to a reference that ran beside it where
 * there is one. They judge nothing: a machine that does other things meanwhile makes no failure.
 *
 * A bench returns 0, or 77 when it lacks something. Roles are what this program runs as its own
 * children, with the arguments after the role's name.
 */
#ifndef TEST_BENCH_BENCH_H
#define TEST_BENCH_BENCH_H

#include <stddef.h>

struct bench_options {
    size_t repeats;
    const char *evenkeel; /* the program */
    const char *engine;   /* of CEL, to compare with: see README.md; NULL for none */
};

int bench_sync_leases(const struct bench_options *options);
int bench_sync_nodes(const struct bench_options *options);
int bench_judge(const struct bench_options *options);
int bench_start(const struct bench_options *options);
int bench_idle(const struct bench_options *options);
int bench_load(const struct bench_options *options);
int bench_cel(const struct bench_options *options);
int bench_mutation(const struct bench_options *options);
int bench_gates(const struct bench_options *options);
int bench_webhook(const struct bench_options *options);
int bench_policies(const struct bench_options *options);

int bench_sync_main(const char *const *args);    /* url, resource, mode */
int bench_floor_main(const char *const *args);   /* likewise */
int bench_trivial_main(const char *const *args); /* url */

/* The client of the script `admission`: policies, authority, certificate, key, body (files), the
 * last policy's label, and servers as NAME=URL, of which the first runs no policies. */
int bench_admission_main(const char *const *args);

/* The client of the script `gated`: authority, certificate, key (files), and for each write its
 * name, URL, body (a file), and what the answer must not have. */
int bench_writes_main(const char *const *args);

#endif
