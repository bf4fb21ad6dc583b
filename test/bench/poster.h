/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kept HTTPS connection to a real API server that posts one body over and over, by libcurl, with
 * a client's certificate. Failures end the program. One thread per poster.
 */
#ifndef TEST_BENCH_POSTER_H
#define TEST_BENCH_POSTER_H

#include <curl/curl.h>

#include "api/base/buf.h"

#define BENCH_RESPONSE_MAX ((size_t)4 << 20)

/* Who posts: files in PEM. Borrowed. */
struct bench_identity {
    const char *authority, *cert, *key;
};

struct bench_poster {
    const char *name; /* for messages; borrowed */
    CURL *easy;
    struct curl_slist *headers;
    struct ek_buf got; /* the last answer */
    char error[CURL_ERROR_SIZE];
};

/* Connects with the first post. url and body, JSON, are borrowed. */
void bench_poster_open(struct bench_poster *poster, const struct bench_identity *identity,
                       const char *name, const char *url, const char *body);
void bench_poster_close(struct bench_poster *poster);

/* Posts once; the answer, which must be 201, is in got. Returns the milliseconds that it took. */
double bench_poster_post(struct bench_poster *poster);

/* As bench_poster_post for any answer. *ret_status is its status, 0 when there is none. */
double bench_poster_try(struct bench_poster *poster, long *ret_status);

#endif
