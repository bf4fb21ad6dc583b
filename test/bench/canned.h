/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of the sync bench: a corpus, made ready before the first request, so that sending it
 * costs next to nothing and what is measured is the reader. A process of its own.
 *
 *   /<any path>?watch=1...       the streaming list, then silence
 *   /pages/<any path>?limit=...  pages, as from storage
 *   /whole/<any path>            one answer whatever the limit, as from a watch cache
 */
#ifndef TEST_BENCH_CANNED_H
#define TEST_BENCH_CANNED_H

#include <sys/types.h>

struct bench_canned {
    pid_t pid;
    unsigned short port;
    double list_bytes, stream_bytes; /* of the whole list, of the stream */
};

/* Starts a server of n objects of a resource, by its plural; with TLS or without. */
struct bench_canned bench_canned_start(const char *resource, const char *n, const char *tls);
void bench_canned_stop(const struct bench_canned *server);

/* What the child runs: args are resource, n, "tls" or "plain". Never returns in good order. */
int bench_canned_main(const char *const *args);

#endif
