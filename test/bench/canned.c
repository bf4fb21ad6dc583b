/* SPDX-License-Identifier: Apache-2.0 */
#include "test/bench/canned.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/bench/corpus.h"
#include "test/bench/measure.h"
#include "test/support/testpki.h"
#include "test/support/testserver.h"

#define PIECE ((size_t)256 << 10) /* of one write */

static void write_all(struct testserver_conn *conn, const char *p, size_t len)
{
    for (size_t n; len; p += n, len -= n) {
        n = len < PIECE ? len : PIECE;
        testserver_write(conn, p, n);
    }
}

static void send_list(struct testserver_conn *conn, const struct bench_corpus *corpus, size_t from,
                      size_t to)
{
    EK_AUTO(ek_buf) head;
    char http[200], next[32] = "";
    size_t at = corpus->offsets[from], len = corpus->offsets[to] - at - (to > from);

    ek_buf_init(&head, 4096);
    if (to < corpus->n)
        snprintf(next, sizeof next, "%zu", to);
    bench_corpus_head(corpus, next, &head);
    int n = snprintf(http, sizeof http,
                     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     head.len + len + strlen(BENCH_CORPUS_TAIL));
    testserver_write(conn, http, (size_t)n);
    testserver_write(conn, head.data, head.len);
    write_all(conn, corpus->items.data + at, len);
    testserver_write(conn, BENCH_CORPUS_TAIL, strlen(BENCH_CORPUS_TAIL));
}

static size_t number(const char *target, const char *name)
{
    const char *p = strstr(target, name);
    return p ? strtoul(p + strlen(name), NULL, 10) : 0;
}

static void answer(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    static const char stream_head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                      "Transfer-Encoding: chunked\r\n\r\n";
    const struct bench_corpus *corpus = ctx;
    size_t limit = number(request->target, "limit="), from = number(request->target, "continue=");

    if (strstr(request->target, "watch=1")) {
        testserver_write(conn, stream_head, sizeof stream_head - 1);
        if (strstr(request->target, "sendInitialEvents=true"))
            write_all(conn, corpus->stream.data, corpus->stream.len);
        testserver_stall(conn);
        return;
    }
    if (!limit || !strncmp(request->target, "/whole", 6))
        limit = corpus->n;
    send_list(conn, corpus, from, from + limit < corpus->n ? from + limit : corpus->n);
}

int bench_canned_main(const char *const *args)
{
    static struct bench_corpus corpus;
    struct testpki_cert authority = testpki_authority("bench");
    struct testpki_cert cert = testpki_issue(
        &authority, &(struct testpki_spec){.common_name = "bench", .names = "IP:127.0.0.1"});
    bool tls = !strcmp(args[2], "tls");
    struct testserver_options options = {.handler = answer,
                                         .ctx = &corpus,
                                         .cert = tls ? cert.cert : NULL,
                                         .key = tls ? cert.key : NULL};
    struct bench_canned self = {.pid = getpid()};

    signal(SIGPIPE, SIG_IGN);
    bench_corpus_init(&corpus, bench_resource(args[0]), strtoul(args[1], NULL, 10));
    self.port = testserver_port(testserver_start(&options));
    self.list_bytes = (double)corpus.items.len;
    self.stream_bytes = (double)corpus.stream.len;
    if (write(STDOUT_FILENO, &self, sizeof self) != (ssize_t)sizeof self)
        return 1;
    for (;;)
        pause();
}

struct bench_canned bench_canned_start(const char *resource, const char *n, const char *tls)
{
    const char *argv[] = {NULL, "--canned", resource, n, tls, NULL};
    struct bench_canned server;
    int out;

    pid_t pid = bench_spawn(argv, &out);
    bench_read(out, &server, sizeof server);
    close(out);
    server.pid = pid;
    return server;
}

void bench_canned_stop(const struct bench_canned *server)
{
    bench_stop(server->pid);
}
