/* SPDX-License-Identifier: Apache-2.0 */
/* A client for the `abuse` script: creates one object again and again as a dry run, over a kept
 * connection, while somebody else does harm. Prints one line:
 *
 *     writes=512 lost=0 undecided=0 p50_ms=2.31 p99_ms=6.02 max_ms=9.80
 *
 * lost counts answers other than 201, undecided objects that lack the mark of the policy. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "informers/client/file.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/poster.h"

#define WARM_UP     20 /* writes that do not count */
#define SAMPLES_MAX 100000

struct tally {
    size_t n, lost, undecided;
    double ms[SAMPLES_MAX];
};

static void write_once(struct bench_poster *poster, const char *wanted, struct tally *tally)
{
    long status;
    double ms = bench_poster_try(poster, &status);

    if (status != 201 && tally->lost++ < 3)
        fprintf(stderr, "%ld %.300s\n", status, status ? ek_buf_str(&poster->got) : poster->error);
    tally->undecided += status == 201 && !strstr(ek_buf_str(&poster->got), wanted);
    tally->ms[tally->n++] = ms;
}

int bench_victim_main(const char *const *args)
{
    static struct tally tally;
    struct bench_poster poster;
    char *body = NULL;
    struct ek_err err;

    for (int i = 0; i < 7; i++)
        if (!args[i])
            bench_fail("--victim AUTHORITY CERT KEY BODY URL WANTED SECONDS");
    if (ek_file_read(args[3], BENCH_RESPONSE_MAX, &body, NULL, &err))
        bench_fail("%s", err.message);
    const struct bench_identity identity = {args[0], args[1], args[2]};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    bench_poster_open(&poster, &identity, "victim", args[4], body);
    for (int i = 0; i < WARM_UP; i++)
        bench_poster_try(&poster, &(long){0});
    double end_ms = bench_now_ms() + strtod(args[6], NULL) * 1000;
    while (bench_now_ms() < end_ms && tally.n < SAMPLES_MAX)
        write_once(&poster, args[5], &tally);
    printf("writes=%zu lost=%zu undecided=%zu p50_ms=%.2f p99_ms=%.2f max_ms=%.2f\n", tally.n,
           tally.lost, tally.undecided, bench_median(tally.ms, tally.n),
           bench_percentile(tally.ms, tally.n, 99), bench_percentile(tally.ms, tally.n, 100));
    bench_poster_close(&poster);
    ek_free(body);
    return 0;
}
