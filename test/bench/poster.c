/* SPDX-License-Identifier: Apache-2.0 */
#include "test/bench/poster.h"

#include <string.h>

#include "test/bench/measure.h"

static size_t on_data(char *data, size_t size, size_t n, void *ctx)
{
    struct bench_poster *poster = ctx;

    return ek_buf_append(&poster->got, data, size * n) ? 0 : size * n;
}

void bench_poster_open(struct bench_poster *poster, const struct bench_identity *identity,
                       const char *name, const char *url, const char *body)
{
    *poster = (struct bench_poster){.name = name, .easy = curl_easy_init()};
    ek_buf_init(&poster->got, BENCH_RESPONSE_MAX);
    poster->headers = curl_slist_append(NULL, "Content-Type: application/json");
    poster->headers = curl_slist_append(poster->headers, "Expect:");
    curl_easy_setopt(poster->easy, CURLOPT_URL, url);
    curl_easy_setopt(poster->easy, CURLOPT_CAINFO, identity->authority);
    curl_easy_setopt(poster->easy, CURLOPT_SSLCERT, identity->cert);
    curl_easy_setopt(poster->easy, CURLOPT_SSLKEY, identity->key);
    curl_easy_setopt(poster->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(poster->easy, CURLOPT_HTTPHEADER, poster->headers);
    curl_easy_setopt(poster->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(poster->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
    curl_easy_setopt(poster->easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(poster->easy, CURLOPT_WRITEDATA, poster);
    curl_easy_setopt(poster->easy, CURLOPT_ERRORBUFFER, poster->error);
    curl_easy_setopt(poster->easy, CURLOPT_NOSIGNAL, 1L);
}

void bench_poster_close(struct bench_poster *poster)
{
    curl_easy_cleanup(poster->easy);
    curl_slist_free_all(poster->headers);
    ek_buf_done(&poster->got);
}

double bench_poster_try(struct bench_poster *poster, long *ret_status)
{
    double start_ms = bench_now_ms();

    *ret_status = 0;
    ek_buf_reset(&poster->got);
    if (curl_easy_perform(poster->easy) == CURLE_OK)
        curl_easy_getinfo(poster->easy, CURLINFO_RESPONSE_CODE, ret_status);
    return bench_now_ms() - start_ms;
}

double bench_poster_post(struct bench_poster *poster)
{
    long status;
    double took = bench_poster_try(poster, &status);

    if (status != 201)
        bench_fail("%s: %s %ld %.300s", poster->name, status ? "status" : poster->error, status,
                   ek_buf_str(&poster->got));
    return took;
}
