/* SPDX-License-Identifier: Apache-2.0 */
/* A client for the `gated` script: posts several bodies in turn, each as a dry run by a connection
 * of its own, and prints what they take beside the first of them. */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "informers/client/file.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/poster.h"

#define WRITES_MAX 8
#define WARM_UP    50 /* rounds that do not count */
#define ROUNDS     1000

struct write {
    const char *unwanted; /* what the answer must not have; "" for nothing */
    struct bench_poster poster;
    double ms[ROUNDS];
};

static void open_one(struct write *w, const struct bench_identity *identity,
                     const char *const args[4])
{
    char *body = NULL;
    struct ek_err err;

    if (ek_file_read(args[2], BENCH_RESPONSE_MAX, &body, NULL, &err))
        bench_fail("%s", err.message);
    w->unwanted = args[3];
    bench_poster_open(&w->poster, identity, args[0], args[1], body); /* which is kept to the end */
}

static double post_one(struct write *w)
{
    double took = bench_poster_post(&w->poster);

    if (*w->unwanted && strstr(ek_buf_str(&w->poster.got), w->unwanted))
        bench_fail("%s: %s is there", w->poster.name, w->unwanted);
    return took;
}

int bench_writes_main(const char *const *args)
{
    static struct write writes[WRITES_MAX];
    size_t n = 0;

    if (!args[0] || !args[1] || !args[2])
        bench_fail("--writes AUTHORITY CERT KEY (NAME URL BODY UNWANTED)...");
    const struct bench_identity identity = {args[0], args[1], args[2]};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    for (args += 3; args[0] && args[1] && args[2] && args[3] && n < WRITES_MAX; args += 4)
        open_one(&writes[n++], &identity, args);
    for (size_t round = 0; round < WARM_UP + ROUNDS; round++)
        for (size_t i = 0; i < n; i++) {
            double ms = post_one(&writes[(round + i) % n]);
            if (round >= WARM_UP)
                writes[(round + i) % n].ms[round - WARM_UP] = ms;
        }
    for (size_t i = 0; i < n; i++) {
        double p50 = bench_median(writes[i].ms, ROUNDS);
        printf("%-12s p50 %6.2f ms, p99 %6.2f ms; %+.2f ms\n", writes[i].poster.name, p50,
               bench_percentile(writes[i].ms, ROUNDS, 99),
               p50 - bench_median(writes[0].ms, ROUNDS));
        bench_poster_close(&writes[i].poster);
    }
    return 0;
}
