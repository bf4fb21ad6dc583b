/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request smuggling: texts that two readers of HTTP/1.1 take apart differently, through the proxy
 * over sockets to a server that keeps the bytes. Whatever a client sends, readers of several habits
 * see the same requests in what the proxy has sent on, and those are the requests that the proxy
 * has answered.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

/* ---- Readers ---- */

/* What a reader does that RFC 9112 forbids, or leaves to it. */
struct habits {
    const char *name;
    bool line_feeds;  /* a line feed ends a line */
    bool length_wins; /* over Transfer-Encoding */
    bool last_length; /* of several counts */
    bool any_chunked; /* a coding that contains "chunked" is that */
    bool folds;       /* a line that begins with a blank belongs to the one before */
    bool trims;       /* blanks before the colon are none of the name */
    bool underscores; /* are hyphens */
    bool cuts;        /* at a NUL */
};

static const struct habits readers[] = {
    {.name = "as RFC 9112 says"},
    {.name = "line feeds", .line_feeds = true},
    {.name = "length wins", .length_wins = true},
    {.name = "the last length", .last_length = true},
    {.name = "any chunked", .any_chunked = true},
    {.name = "folded lines", .folds = true},
    {.name = "blanks in names", .trims = true},
    {.name = "underscores", .underscores = true},
    {.name = "NUL ends a line", .cuts = true},
    {.name = "all of these, length wins",
     .line_feeds = true,
     .length_wins = true,
     .any_chunked = true,
     .folds = true,
     .trims = true,
     .underscores = true},
};

struct reading {
    const struct habits *habits;
    const char *at, *end;
    char method[32], target[128];
    char coding[128], lengths[2][64];
    size_t n_lengths;
    bool chunked;
};

/* One line, without its end; false when it is not complete. */
static bool read_line(struct reading *r, char *line, size_t size)
{
    for (const char *p = r->at; p < r->end; p++) {
        bool full = *p == '\n' && p > r->at && p[-1] == '\r';
        if (!full && !(*p == '\n' && r->habits->line_feeds))
            continue;
        size_t len = (size_t)(p - r->at) - full;
        ck_assert_uint_lt(len, size);
        memcpy(line, r->at, len);
        line[len] = '\0';
        if (!r->habits->cuts)
            for (size_t i = 0; i < len; i++)
                line[i] = line[i] ? line[i] : '?';
        r->at = p + 1;
        return true;
    }
    return false;
}

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

static void take_field(struct reading *r, char *line)
{
    char *colon = strchr(line, ':');

    if (!colon)
        return;
    *colon = '\0';
    const char *value = trim(colon + 1);
    const char *name = r->habits->trims ? trim(line) : line;
    for (char *p = line; r->habits->underscores && *p; p++)
        *p = (char)(*p == '_' ? '-' : *p);
    if (!strcasecmp(name, "content-length")) {
        snprintf(r->lengths[r->n_lengths > 0], sizeof r->lengths[0], "%s", value);
        r->n_lengths++;
    } else if (!strcasecmp(name, "transfer-encoding")) {
        size_t used = strlen(r->coding);
        snprintf(r->coding + used, sizeof r->coding - used, "%s%s", used ? "," : "", value);
    }
}

/* False when the head is not complete. */
static bool read_head(struct reading *r)
{
    char line[2048], field[4096] = "";

    r->n_lengths = 0;
    r->coding[0] = '\0';
    if (!read_line(r, line, sizeof line) || sscanf(line, "%31s %127s", r->method, r->target) != 2)
        return false;
    while (read_line(r, line, sizeof line)) {
        bool folded = r->habits->folds && (*line == ' ' || *line == '\t') && *field;
        if (!folded)
            take_field(r, field);
        size_t used = folded ? strlen(field) : 0;
        snprintf(field + used, sizeof field - used, "%s", line);
        if (!*line)
            return true;
    }
    return false;
}

static bool read_chunks(struct reading *r, struct ek_buf *body)
{
    char line[2048];

    while (read_line(r, line, sizeof line)) {
        size_t n = strtoul(line, NULL, 16);
        if (n == 0) {
            while (read_line(r, line, sizeof line) && *line)
                ;
            return !*line;
        }
        if ((size_t)(r->end - r->at) < n)
            return false;
        ek_buf_append(body, r->at, n);
        r->at += n;
        if (!read_line(r, line, sizeof line) || *line)
            return false;
    }
    return false;
}

static bool read_body(struct reading *r, struct ek_buf *body)
{
    const struct habits *habits = r->habits;
    bool chunked = habits->any_chunked ? strstr(r->coding, "chunked") != NULL
                                       : !strcasecmp(r->coding, "chunked");

    if (r->n_lengths > 0 && habits->length_wins)
        chunked = false;
    if (chunked)
        return read_chunks(r, body);
    if (r->n_lengths == 0)
        return true;
    size_t n = strtoul(r->lengths[r->n_lengths > 1 && habits->last_length], NULL, 10);
    if ((size_t)(r->end - r->at) < n)
        return false;
    ek_buf_append(body, r->at, n);
    r->at += n;
    return true;
}

/* Appends "METHOD TARGET [BODY]|" for each request, "..." for one that is not complete. Returns how
 * many bytes are of complete ones. */
static size_t read_all(const struct habits *habits, const char *text, size_t len,
                       struct ek_buf *out)
{
    struct reading r = {.habits = habits, .at = text, .end = text + len};
    size_t used = 0;

    while (r.at < r.end) {
        EK_AUTO(ek_buf) body;
        ek_buf_init(&body, 1 << 16);
        if (!read_head(&r) || !read_body(&r, &body)) {
            ek_buf_puts(out, "...");
            break;
        }
        ek_buf_printf(out, "%s %s [%s]|", r.method, r.target, ek_buf_str(&body));
        used = (size_t)(r.at - text);
    }
    return used;
}

/* ---- The server behind the proxy ---- */

#define CONNECTIONS 64

static struct {
    int listener;
    uv_thread_t thread;
    int stop[2];
    uv_mutex_t lock;
    struct ek_buf raw[CONNECTIONS]; /* of the present row, in the order of the connections */
    size_t answered[CONNECTIONS];   /* bytes of raw */
    int fds[CONNECTIONS];
    size_t n;
} back;

static void answer_requests(size_t i)
{
    EK_AUTO(ek_buf) seen;
    const struct ek_buf *raw = &back.raw[i];

    ek_buf_init(&seen, 1 << 20);
    back.answered[i] += read_all(&readers[0], ek_buf_str(raw) + back.answered[i],
                                 raw->len - back.answered[i], &seen);
    for (const char *p = strchr(ek_buf_str(&seen), '|'); p; p = strchr(p + 1, '|'))
        ck_assert_int_gt(
            send(back.fds[i], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 40, MSG_NOSIGNAL),
            0);
}

static void receive(size_t i)
{
    char piece[4096];
    ssize_t n = recv(back.fds[i], piece, sizeof piece, 0);

    if (n <= 0) {
        close(back.fds[i]);
        back.fds[i] = -1;
        return;
    }
    uv_mutex_lock(&back.lock);
    ek_buf_append(&back.raw[i], piece, (size_t)n);
    answer_requests(i);
    uv_mutex_unlock(&back.lock);
}

static void run_back(void *ctx)
{
    struct pollfd polls[CONNECTIONS + 2];

    (void)ctx;
    for (;;) {
        polls[0] = (struct pollfd){.fd = back.stop[0], .events = POLLIN};
        polls[1] = (struct pollfd){.fd = back.listener, .events = POLLIN};
        size_t n = back.n;
        for (size_t i = 0; i < n; i++)
            polls[2 + i] = (struct pollfd){.fd = back.fds[i], .events = POLLIN};
        ck_assert_int_gt(poll(polls, 2 + n, -1), 0);
        if (polls[0].revents)
            return;
        for (size_t i = 0; i < n; i++)
            if (polls[2 + i].revents)
                receive(i);
        if (polls[1].revents && back.n < CONNECTIONS) {
            back.fds[back.n] = accept(back.listener, NULL, NULL);
            ek_buf_init(&back.raw[back.n], 1 << 20);
            back.n++;
        }
    }
}

static void start_back(char *address, size_t size)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;

    memset(&back, 0, sizeof back);
    uv_mutex_init(&back.lock);
    back.listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(back.listener, (struct sockaddr *)&in, sizeof in), 0);
    ck_assert_int_eq(listen(back.listener, 64), 0);
    ck_assert_int_eq(getsockname(back.listener, (struct sockaddr *)&in, &len), 0);
    snprintf(address, size, "127.0.0.1:%u", ntohs(in.sin_port));
    ck_assert_int_eq(pipe(back.stop), 0);
    ck_assert_int_eq(uv_thread_create(&back.thread, run_back, NULL), 0);
}

static void stop_back(void)
{
    ck_assert_int_eq(write(back.stop[1], "x", 1), 1);
    uv_thread_join(&back.thread);
    for (size_t i = 0; i < back.n; i++) {
        if (back.fds[i] >= 0)
            close(back.fds[i]);
        ek_buf_done(&back.raw[i]);
    }
    close(back.listener);
    close(back.stop[0]);
    close(back.stop[1]);
    uv_mutex_destroy(&back.lock);
}

/* ---- Rows ---- */

#define H        "Host: a\r\n"
#define EVIL     "GET /evil HTTP/1.1\r\n" H "\r\n"
#define EVIL_LEN "31"
#define TE       "Transfer-Encoding: chunked\r\n"
#define POST     "POST /a HTTP/1.1\r\n" H

static const struct row {
    const char *name, *text; /* "GET /end", the last request of a connection, follows */
    const char *codes;       /* of the responses */
    const char *back;        /* what the server gets, but /end; "...": no whole request */
    size_t len;              /* of text; 0: strlen */
} rows[] = {
    {"a body that is a request", POST "Content-Length: " EVIL_LEN "\r\n\r\n" EVIL, "200 200",
     "POST /a [" EVIL "]|", 0},
    {"a chunk that is a request", POST TE "\r\n1f\r\n" EVIL "\r\n0\r\n\r\n", "200 200",
     "POST /a [" EVIL "]|", 0},
    {"a GET with a body", "GET /a HTTP/1.1\r\n" H "Content-Length: " EVIL_LEN "\r\n\r\n" EVIL,
     "200 200", "GET /a [" EVIL "]|", 0},
    {"a pipeline", "GET /a HTTP/1.1\r\n" H "\r\nGET /b HTTP/1.1\r\n" H "\r\n", "200 200 200",
     "GET /a []|GET /b []|", 0},
    /* Which of two lengths. */
    {"CL.TE", POST "Content-Length: 5\r\n" TE "\r\n0\r\n\r\n" EVIL, "400", "", 0},
    {"TE.CL", POST TE "Content-Length: 4\r\n\r\n1f\r\n" EVIL "\r\n0\r\n\r\n", "400", "", 0},
    {"CL.CL", POST "Content-Length: 0\r\nContent-Length: " EVIL_LEN "\r\n\r\n" EVIL, "400", "", 0},
    {"CL.CL, equal", POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400", "", 0},
    {"CL, a list", POST "Content-Length: 0, " EVIL_LEN "\r\n\r\n" EVIL, "400", "", 0},
    {"CL, hexadecimal", POST "Content-Length: 0x1f\r\n\r\n" EVIL, "400", "", 0},
    {"CL, signed", POST "Content-Length: +" EVIL_LEN "\r\n\r\n" EVIL, "400", "", 0},
    {"CL, negative", POST "Content-Length: -1\r\n\r\n" EVIL, "400", "", 0},
    {"CL, empty", POST "Content-Length:\r\n\r\n" EVIL, "400", "", 0},
    {"CL, with a blank", POST "Content-Length: 3 5\r\n\r\n" EVIL, "400", "", 0},
    {"CL, with a form feed", POST "Content-Length: \f" EVIL_LEN "\r\n\r\n" EVIL, "400", "", 0},
    {"CL, beyond 64 bits", POST "Content-Length: 18446744073709551619\r\n\r\nabc" EVIL, "400", "",
     0},
    {"CL, leading zeros", POST "Content-Length: 003\r\n\r\nabc", "200 200", "POST /a [abc]|", 0},
    {"CL, of another name", POST "Content_Length: 3\r\n\r\n", "400", "", 0},
    {"TE, of another name", POST "Transfer_Encoding: chunked\r\n\r\n", "400", "", 0},
    {"TE, a vertical tab", POST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", "400", "", 0},
    {"TE, quoted", POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", "400", "", 0},
    {"TE, with a parameter", POST "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", "400", "", 0},
    {"TE, identity", POST "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc", "400", "",
     0},
    {"TE, empty", POST "Transfer-Encoding:\r\nContent-Length: 3\r\n\r\nabc", "400", "", 0},
    {"TE, chunked first", POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "400", "",
     0},
    {"TE, chunked last", POST "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", "400", "",
     0},
    {"TE.TE", POST TE "Transfer-Encoding: x\r\n\r\n0\r\n\r\n", "400", "", 0},
    {"TE, a comma", POST "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n", "400", "", 0},
    {"TE, in upper case", POST "TRANSFER-ENCODING: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n", "200 200",
     "POST /a [a]|", 0},
    {"TE, behind a NUL", POST "X: a\0\r\n" TE "\r\n0\r\n\r\n", "400", "",
     sizeof(POST "X: a\0\r\n" TE "\r\n0\r\n\r\n") - 1},
    {"TE, of HTTP/1.0", "POST /a HTTP/1.0\r\n" H TE "\r\n0\r\n\r\n" EVIL, "400", "", 0},
    {"lengths that Connection names",
     POST "Connection: Content-Length\r\nContent-Length: 3\r\n"
          "\r\nabc",
     "400", "", 0},
    /* Where a line ends, and where a name does. */
    {"TE, a blank before the colon", POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400", "",
     0},
    {"TE, a tab before the colon", POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n", "400", "",
     0},
    {"TE, a blank before the name", POST " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", "",
     0},
    {"TE, folded", POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "400", "", 0},
    {"TE, folded after another", POST "X: a\r\n\tTransfer-Encoding: chunked\r\n\r\n", "400", "", 0},
    {"a folded first line", "POST /a HTTP/1.1\r\n " H H "\r\n", "400", "", 0},
    {"TE, behind a line feed", POST "X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", "",
     0},
    {"TE, behind a carriage return", POST "X: a\rTransfer-Encoding: chunked\r\n\r\n", "400", "", 0},
    {"an end by line feeds", POST "X: a\n\n" EVIL, "400", "", 0},
    {"an end of two carriage returns", POST "X: a\r\r\n\r\n", "400", "", 0},
    {"a line without a colon", POST "X\r\n\r\n", "400", "", 0},
    {"a name that is empty", POST ": a\r\n\r\n", "400", "", 0},
    {"a name with a blank", POST "X Y: a\r\n\r\n", "400", "", 0},
    {"a name with a bracket", POST "X[: a\r\n\r\n", "400", "", 0},
    {"a name beyond ASCII", POST "X\xc2\xa0: a\r\n\r\n", "400", "", 0},
    /* The first line. */
    {"no version", "GET /a\r\n", "400", "", 0},
    {"HTTP/0.9 behind a request", "GET /a HTTP/1.1\r\n" H "\r\nGET /evil\r\n", "200 400",
     "GET /a []|", 0},
    {"two blanks", "GET  /a HTTP/1.1\r\n" H "\r\n", "200 200", "GET /a []|", 0},
    {"a blank in the target", "GET /a b HTTP/1.1\r\n" H "\r\n", "400", "", 0},
    {"a blank behind the version", "GET /a HTTP/1.1 \r\n" H "\r\n", "505", "", 0},
    {"a tab", "GET\t/a\tHTTP/1.1\r\n" H "\r\n", "400", "", 0},
    {"a method in lower case", "get /a HTTP/1.1\r\n" H "\r\n", "400", "", 0},
    {"a protocol in lower case", "GET /a http/1.1\r\n" H "\r\n", "400", "", 0},
    {"HTTP/1.10", "GET /a HTTP/1.10\r\n" H "\r\n", "505", "", 0},
    {"HTTP/1.2", "GET /a HTTP/1.2\r\n" H "\r\n", "505", "", 0},
    {"an absolute target", "GET http://b/a HTTP/1.1\r\n" H "\r\n", "400 200", "", 0},
    {"a target with a fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", "400 200", "", 0},
    {"an empty line before", "\r\nGET /a HTTP/1.1\r\n" H "\r\n", "200 200", "GET /a []|", 0},
    {"a blank before", " GET /a HTTP/1.1\r\n" H "\r\n", "400", "", 0},
    /* Chunks. */
    {"a chunk, 0x", POST TE "\r\n0x1\r\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, signed", POST TE "\r\n+1\r\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, negative", POST TE "\r\n-1\r\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, an underscore", POST TE "\r\n1_0\r\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, leading zeros", POST TE "\r\n0001\r\na\r\n00\r\n\r\n", "200 200", "POST /a [a]|", 0},
    {"a chunk, an empty size", POST TE "\r\n\r\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, beyond 64 bits", POST TE "\r\n10000000000000001\r\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, a line feed", POST TE "\r\n1\na\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, a carriage return", POST TE "\r\n1\ra\r\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, an extension", POST TE "\r\n1;a=\"b\"\r\na\r\n0\r\n\r\n", "200 200", "POST /a [a]|",
     0},
    {"a chunk, a line feed in an extension", POST TE "\r\n1;a\n\r\na\r\n0\r\n\r\n", "400", "...",
     0},
    {"a chunk, a request in an extension", POST TE "\r\n1;\n" EVIL "\r\na\r\n0\r\n\r\n", "400",
     "...", 0},
    {"a chunk, data that ends by a line feed", POST TE "\r\n1\r\na\n0\r\n\r\n", "400", "...", 0},
    {"a chunk, data without an end", POST TE "\r\n1\r\na0\r\n\r\n", "400", "...", 0},
    {"the last chunk, an end by a line feed", POST TE "\r\n0\r\n\n" EVIL, "400", "...", 0},
    {"trailers", POST TE "\r\n0\r\nContent-Length: 9\r\nHost: b\r\n\r\n", "400", "...", 0},
    {"trailers, dropped", POST TE "\r\n0\r\nX: a\r\n\r\n", "200 200", "POST /a []|", 0},
    {"trailers, folded", POST TE "\r\n0\r\nX: a\r\n b\r\n\r\n", "400", "...", 0},
};

static struct proxy_fixture fixture;

/* Sends the text and then the last request; the codes of the responses. */
static void exchange(const struct row *row, struct ek_buf *codes)
{
    static const char end[] = "GET /end HTTP/1.1\r\n" H "Connection: close\r\n\r\n";
    EK_AUTO(ek_buf) text;
    size_t len;
    int fd = proxy_fixture_connect(&fixture);

    ek_buf_init(&text, 1 << 16);
    ek_buf_append(&text, row->text, row->len ? row->len : strlen(row->text));
    ek_buf_puts(&text, end);
    ck_assert_int_eq(send(fd, text.data, text.len, MSG_NOSIGNAL), text.len);
    char *got = http_exchange(fd, "", 1 << 16, &len);
    for (const char *p = strstr(got, "HTTP/1.1 "); p; p = strstr(p + 1, "HTTP/1.1 "))
        ek_buf_printf(codes, "%s%.3s", codes->len ? " " : "", p + 9);
    ek_free(got);
    close(fd);
    proxy_fixture_wait_idle(&fixture);
}

/* What a reader sees in the bytes of the row, over all connections. */
static void read_row(const struct habits *habits, struct ek_buf *out)
{
    for (size_t i = 0; i < back.n; i++)
        read_all(habits, ek_buf_str(&back.raw[i]), back.raw[i].len, out);
}

static void begin_row(void)
{
    uv_mutex_lock(&back.lock);
    for (size_t i = 0; i < back.n; i++) {
        ek_buf_reset(&back.raw[i]);
        back.answered[i] = 0;
    }
    uv_mutex_unlock(&back.lock);
}

/* A request whose body is no good may have reached the server in part, but not whole. */
static bool is_expected(const struct row *row, const char *seen, bool ended)
{
    size_t len = strlen(row->back);

    if (!strcmp(row->back, "..."))
        return !*seen || !strcmp(seen, "...");
    return !strncmp(seen, row->back, len) && !strcmp(seen + len, ended ? "GET /end []|" : "");
}

static void check(const struct row *row)
{
    EK_AUTO(ek_buf) codes;
    size_t len = strlen(row->codes);
    bool ended = len > 3 && !strcmp(row->codes + len - 4, " 200");

    ek_buf_init(&codes, 4096);
    begin_row();
    exchange(row, &codes);
    ck_assert_msg(!strcmp(ek_buf_str(&codes), row->codes), "%s: codes %s", row->name,
                  ek_buf_str(&codes));
    uv_mutex_lock(&back.lock);
    for (size_t i = 0; i < EK_ARRAY_SIZE(readers); i++) {
        EK_AUTO(ek_buf) seen;
        ek_buf_init(&seen, 1 << 16);
        read_row(&readers[i], &seen);
        ck_assert_msg(is_expected(row, ek_buf_str(&seen), ended), "%s, %s: %s", row->name,
                      readers[i].name, ek_buf_str(&seen));
    }
    uv_mutex_unlock(&back.lock);
}

static void setup(void)
{
    proxy_fixture_prepare(&fixture, NULL);
    start_back(fixture.servers[0].address, sizeof fixture.servers[0].address);
    snprintf(fixture.servers[1].address, sizeof fixture.servers[1].address, "%s",
             fixture.servers[0].address);
    ek_proxy_board_set_trusts(fixture.board, (struct ek_proxy_trusts){0});
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
    stop_back();
}

START_TEST(sees_one_request)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        check(&rows[i]);
}
END_TEST

/* The readers do disagree where their habits differ: else the test above proves nothing. */
START_TEST(readers_disagree)
{
    static const char *const texts[] = {
        NULL,
        POST "X: a\nContent-Length: 3\r\n\r\nabc",
        POST "Content-Length: 5\r\n" TE "\r\n0\r\n\r\n" EVIL,
        POST "Content-Length: 0\r\nContent-Length: 3\r\n\r\nabc",
        POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST "Content-Length:\r\n 3\r\n\r\nabc",
        POST "Content-Length : 3\r\n\r\nabc",
        POST "Content_Length: 3\r\n\r\nabc",
    };

    for (size_t i = 1; i < EK_ARRAY_SIZE(texts); i++) {
        EK_AUTO(ek_buf) a, b;
        ek_buf_init(&a, 4096);
        ek_buf_init(&b, 4096);
        read_all(&readers[0], texts[i], strlen(texts[i]), &a);
        read_all(&readers[i], texts[i], strlen(texts[i]), &b);
        ck_assert_msg(strcmp(ek_buf_str(&a), ek_buf_str(&b)) != 0, "%s: %s", readers[i].name,
                      ek_buf_str(&a));
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pairs"), *plain = tcase_create("readers");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, sees_one_request);
    tcase_add_test(plain, readers_disagree);
    return ek_test_run("pairs", tcase, plain);
}
