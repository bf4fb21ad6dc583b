/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benches: each prints its measurements, as ratios to a reference implementation where there is
 * one. No bench fails because of a measurement, since other load on the machine changes it.
 *
 * A bench returns 0, or 77 when a program or file that it needs is missing. The functions with the
 * suffix _main are roles: the program starts itself as a child with the name of the role and the
 * arguments args.
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
int bench_walks(const struct bench_options *options);
int bench_webhook(const struct bench_options *options);
int bench_flood(const struct bench_options *options);
int bench_policies(const struct bench_options *options);
int bench_failforward(const struct bench_options *options);
int bench_plan(const struct bench_options *options);
int bench_manifests(const struct bench_options *options);
int bench_mutate(const struct bench_options *options);

int bench_sync_main(const char *const *args);    /* url, resource, mode */
int bench_floor_main(const char *const *args);   /* likewise */
int bench_trivial_main(const char *const *args); /* url */

/* The client of the script `admission`: policies, authority, certificate, key, body (files), the
 * last policy's label, and servers as NAME=URL, of which the first runs no policies. */
int bench_admission_main(const char *const *args);

/* The client of the script `gated`: authority, certificate, key (files), and for each write its
 * name, URL, body (a file), and what the answer must not have. */
int bench_writes_main(const char *const *args);

/* The client of the script `abuse`: authority, certificate, key, body (files), URL, what each
 * answer must have, and for how many seconds. */
int bench_victim_main(const char *const *args);

/* The references of `plan` (server, token) and `manifests` (folder): the same lists or files, read
 * and dropped. */
int bench_plan_lists_main(const char *const *args);
int bench_plan_files_main(const char *const *args);

/* What the script `proxy` starts: an API server of canned answers (address, port, certificate,
 * key); clients (authority, certificate, key, URL, Accept and If-None-Match or "-", the status of
 * each answer, connections, seconds, the proxy's process or 0), which print requests a second,
 * median and 99th percentile in microseconds, and the proxy's CPU time of a request in
 * microseconds; and a client of many watches (authority, certificate, key, URL, how many), which
 * prints "ready" and holds the watches until its input ends. */
int bench_proxy_peer_main(const char *const *args);
int bench_proxy_load_main(const char *const *args);
int bench_proxy_watches_main(const char *const *args);

#endif
