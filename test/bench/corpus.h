/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many objects of one kind, as an API server sends them: recorded objects multiplied under names,
 * uids and resourceVersions of their own, managedFields included. Ready as list bodies and as the
 * stream of a streaming list. Failures end the program.
 */
#ifndef TEST_BENCH_CORPUS_H
#define TEST_BENCH_CORPUS_H

#include <stddef.h>

#include "api/base/buf.h"
#include "informers/cache/informer.h"

/* The kinds there are. */
extern const struct ek_resource bench_leases, bench_nodes;

/* The resource whose plural is name. */
const struct ek_resource *bench_resource(const char *name);

struct bench_corpus {
    const struct ek_resource *resource;
    struct ek_buf items; /* the objects as list items, a comma after each */
    size_t *offsets;     /* n + 1 */
    size_t n;
    struct ek_buf stream; /* ADDED frames and the end bookmark, one HTTP chunk each */
};

/* Makes n objects from the recorded ones. Exits with 77 when there is no recording. */
void bench_corpus_init(struct bench_corpus *corpus, const struct ek_resource *resource, size_t n);
void bench_corpus_done(struct bench_corpus *corpus);

/* Writes what stands before and after the items of a list; next is the continue token or "". */
void bench_corpus_head(const struct bench_corpus *corpus, const char *next, struct ek_buf *out);
#define BENCH_CORPUS_TAIL "]}"

#endif
