/* SPDX-License-Identifier: Apache-2.0 */
/* The walks over what comes from the cluster, on objects that an enemy would write: what an octet
 * costs, from 1 kB to 3 MB. */
#include <stdio.h>
#include <stdlib.h>

#include "api/base/arena.h"
#include "api/base/mem.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/support/walks.h"

#define ARENA_LIMIT ((size_t)256 << 20)
#define ROUND_MS    20.0   /* of one measurement: the best of several counts */
#define TOO_LONG_MS 5000.0 /* of one walk: larger objects are left out */

static const size_t sizes[] = {1 << 10, 32 << 10, 256 << 10, 3 << 20};

static size_t size_of(yyjson_val *value)
{
    size_t len = 0;

    ek_free(yyjson_val_write(value, 0, &len));
    return len;
}

/* Nanoseconds for each octet of the two objects; *ret_ms of one walk. */
static double measure(const struct test_walk *walk, struct test_walk_input *in, size_t repeats,
                      double *ret_ms)
{
    size_t size = size_of(in->old) + size_of(in->new);
    double best = 0;

    for (size_t round = 0; round < repeats; round++) {
        double start = bench_cpu_ms(), now;
        unsigned n = 0;
        do {
            ek_arena_reset(in->arena);
            walk->run(in);
            n++;
            now = bench_cpu_ms();
        } while (now - start < ROUND_MS);
        double each = (now - start) / n;
        best = round == 0 || each < best ? each : best;
        if (each > TOO_LONG_MS / 20)
            break;
    }
    *ret_ms = best;
    return best * 1e6 / (double)size;
}

static void measure_row(const struct test_walk *walk, enum test_grown_shape shape, size_t repeats)
{
    struct test_walk_input in = {.arena = ek_arena_new(ARENA_LIMIT)};
    double first = 0, last = 0, ms = 0;

    in.custom = shape == TEST_GROWN_FREE || shape == TEST_GROWN_WIDE;
    printf("%-18s  %-16s", walk->name, test_grown_name(shape));
    for (size_t i = 0; i < EK_ARRAY_SIZE(sizes); i++) {
        if (i > 0 && ms * (double)sizes[i] / (double)sizes[i - 1] > TOO_LONG_MS) {
            printf(" %9s", "-");
            last = 0;
            continue;
        }
        yyjson_doc *old = test_grown(shape, sizes[i], in.custom, false);
        yyjson_doc *new = test_grown(shape, sizes[i], in.custom, true);
        in.old = yyjson_doc_get_root(old);
        in.new = yyjson_doc_get_root(new);
        last = measure(walk, &in, repeats, &ms);
        first = i == 0 ? last : first;
        printf(" %9.2f", last);
        yyjson_doc_free(old);
        yyjson_doc_free(new);
    }
    if (last > 0)
        printf(" %9.1f\n", last / first);
    else
        printf(" %9s\n", "");
    fflush(stdout);
    ek_arena_free(in.arena);
}

int bench_walks(const struct bench_options *options)
{
    printf("ns an octet         of               %10s %9s %9s %9s %9s\n", "1 kB", "32 kB", "256 kB",
           "3 MB", "3 MB/1 kB");
    test_walks_open();
    for (size_t i = 0; i < test_n_walks; i++)
        for (int shape = 0; shape < TEST_GROWN_MAX; shape++)
            measure_row(&test_walks[i], (enum test_grown_shape)shape, options->repeats);
    test_walks_close();
    return 0;
}
