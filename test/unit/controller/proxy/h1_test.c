/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of HTTP/1.1 in pieces: what is read of them, what is refused, and what is written. */
#include <stdlib.h>

#include "controller/proxy/h1.h"
#include "test/support/suite.h"

#define MAX_HEAD 200

static void note_body(void *ctx, const char *data, size_t len)
{
    ek_buf_append(ctx, data, len);
}

static void note_head(const struct ek_h1 *reader, struct ek_buf *out)
{
    static const char *const framings[] = {"empty", "length", "chunked", "close"};
    const struct ek_h1_head *head = &reader->head;

    if (reader->kind == EK_H1_REQUEST)
        ek_buf_printf(out, "%s %s", head->method, head->target);
    else
        ek_buf_printf(out, "%d", head->status);
    ek_buf_printf(out, " %s %s", framings[head->framing], head->keep_alive ? "keep" : "last");
    for (size_t i = 0; i < head->n_fields; i++)
        if (head->fields[i].name[0] == 'x')
            ek_buf_printf(out, " %s=[%s]", head->fields[i].name, head->fields[i].value);
    ek_buf_puts(out, "|");
}

/* Reads text in pieces of so many bytes; writes "HEAD|BODY|" for each message, "!STATUS" when it is
 * refused, and "..." when the last one is not complete. */
static void read_all(const char *text, enum ek_h1_kind kind, bool bodyless, size_t piece, bool eof,
                     struct ek_buf *out)
{
    struct ek_h1 reader;
    size_t len = strlen(text), at = 0;
    bool headed = false;

    ek_h1_init(&reader, kind, MAX_HEAD);
    ek_h1_begin(&reader, bodyless);
    for (;;) {
        size_t n = len - at < piece ? len - at : piece;
        enum ek_h1_event event;
        size_t used = ek_h1_read(&reader, text + at, n, note_body, out, &event);
        ck_assert_uint_le(used, n);
        at += used;
        if (event == EK_H1_HEAD) {
            note_head(&reader, out);
            headed = true;
        } else if (event == EK_H1_END) {
            ek_buf_puts(out, "|");
            headed = false;
            ek_h1_begin(&reader, bodyless);
        } else if (event == EK_H1_BAD) {
            ek_buf_printf(out, "!%d", reader.status);
            break;
        } else if (at == len) {
            if (!eof)
                ek_buf_puts(out, headed ? "..." : "");
            else
                ek_buf_puts(out, ek_h1_eof(&reader) == EK_H1_END ? "|" : "cut");
            break;
        }
    }
    ek_h1_done(&reader);
}

struct row {
    const char *name, *text, *expected;
    enum ek_h1_kind kind;
    bool bodyless, eof;
};

#define H "Host: a\r\n"

static const struct row rows[] = {
    {"two requests",
     "GET /a HTTP/1.1\r\n" H "\r\nGET /b?c HTTP/1.1\r\n" H "Connection: close\r\n\r\n",
     "GET /a empty keep||GET /b?c empty last||", 0, 0, 0},
    {"a body by length", "POST /a HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello",
     "POST /a length keep|hello|", 0, 0, 0},
    {"a body in chunks",
     "POST /a HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
     "2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nx-t: u\r\n\r\n",
     "POST /a chunked keep|hello|", 0, 0, 0},
    {"length 0", "POST /a HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", "POST /a empty keep||", 0, 0,
     0},
    {"an unfinished body", "PUT /a HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhel",
     "PUT /a length keep|hel...", 0, 0, 0},
    {"an upgrade", "GET /a HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
     "GET /a empty keep||", 0, 0, 0},
    {"blanks around values", "GET /a HTTP/1.1\r\n" H "x-a: \t b c \t \r\nx-b:\r\n\r\n",
     "GET /a empty keep x-a=[b c] x-b=[]||", 0, 0, 0},
    {"both lengths",
     "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "!400", 0,
     0, 0},
    {"both lengths, the other way",
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "!400", 0,
     0, 0},
    {"two equal lengths", "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
     "!400", 0, 0, 0},
    {"a list of lengths", "POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\n", "!400", 0, 0, 0},
    {"a signed length", "POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\n", "!400", 0, 0, 0},
    {"chunked twice",
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: "
     "chunked\r\n\r\n",
     "!400", 0, 0, 0},
    {"chunked in a list", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n",
     "!400", 0, 0, 0},
    {"a look-alike of chunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n",
     "!400", 0, 0, 0},
    {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n", "!400", 0,
     0, 0},
    {"a blank before the colon", "GET / HTTP/1.1\r\n" H "Content-Length : 3\r\n\r\n", "!400", 0, 0,
     0},
    {"a folded line", "GET / HTTP/1.1\r\n" H "x-a: b\r\n c\r\n\r\n", "!400", 0, 0, 0},
    {"a bare line feed", "GET / HTTP/1.1\r\n" H "x-a: b\nx-c: d\r\n\r\n", "!400", 0, 0, 0},
    {"a bare carriage return", "GET / HTTP/1.1\r\n" H "x-a: b\rx-c: d\r\n\r\n", "!400", 0, 0, 0},
    {"a control character", "GET / HTTP/1.1\r\n" H "x-a: b\001\r\n\r\n", "!400", 0, 0, 0},
    {"no host", "GET / HTTP/1.1\r\n\r\n", "!400", 0, 0, 0},
    {"two hosts", "GET / HTTP/1.1\r\n" H H "\r\n", "!400", 0, 0, 0},
    {"a target beyond ASCII", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", "!400", 0, 0, 0},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "!505", 0, 0, 0},
    {"HTTP/3", "GET / HTTP/3.0\r\n" H "\r\n", "!505", 0, 0, 0},
    {"a chunk of a bad size",
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2 \r\nab\r\n",
     "POST / chunked keep|!400", 0, 0, 0},
    {"a chunk without its end",
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
     "POST / chunked keep|ab!400", 0, 0, 0},
    {"a chunk that overflows",
     "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
     "fffffffffffffffff\r\n",
     "POST / chunked keep|!400", 0, 0, 0},
    {"a response by length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
     "200 length keep|ok|", EK_H1_RESPONSE, 0, 0},
    {"a response of length 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 length keep||",
     EK_H1_RESPONSE, 0, 0},
    {"a response until the end", "HTTP/1.1 200 OK\r\n\r\nok", "200 close last|ok|", EK_H1_RESPONSE,
     0, 1},
    {"an unfinished response", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
     "200 length keep|okcut", EK_H1_RESPONSE, 0, 1},
    {"unfinished chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
     "200 chunked keep|okcut", EK_H1_RESPONSE, 0, 1},
    {"an unfinished head", "HTTP/1.1 200 OK\r\nContent-", "cut", EK_H1_RESPONSE, 0, 1},
    {"a response to HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "200 empty keep||",
     EK_H1_RESPONSE, 1, 0},
    {"304 with a length", "HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
     "304 empty keep||204 empty keep||", EK_H1_RESPONSE, 0, 0},
    {"100 before the response",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 C\r\nContent-Length: 1\r\n"
     "\r\nx",
     "100 empty keep||201 length keep|x|", EK_H1_RESPONSE, 0, 0},
    {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "200 length last|x|",
     EK_H1_RESPONSE, 0, 0},
    {"no response", "SSH-2.0-x\r\n\r\n", "!400", EK_H1_RESPONSE, 0, 0},
};

START_TEST(reads)
{
    const struct row *row = &rows[_i];

    for (size_t piece = 1; piece < 400; piece = piece < 8 ? piece + 1 : piece * 3) {
        EK_AUTO(ek_buf) out;
        ek_buf_init(&out, 4096);
        read_all(row->text, row->kind, row->bodyless, piece, row->eof, &out);
        ck_assert_msg(!strcmp(ek_buf_str(&out), row->expected), "%s, pieces of %zu: %s", row->name,
                      piece, ek_buf_str(&out));
    }
}
END_TEST

/* A head of n lines. */
static int status_of_lines(size_t n)
{
    EK_AUTO(ek_buf) text;
    struct ek_h1 reader;
    enum ek_h1_event event;

    ek_buf_init(&text, 1 << 16);
    ek_h1_init(&reader, EK_H1_REQUEST, 1 << 16);
    ek_buf_printf(&text, "GET / HTTP/1.1\r\n" H);
    for (size_t i = 1; i < n; i++)
        ek_buf_printf(&text, "Impersonate-Group: g-%zu\r\n", i);
    ek_buf_puts(&text, "\r\n");
    ek_h1_read(&reader, ek_buf_str(&text), text.len, NULL, NULL, &event);
    if (event == EK_H1_HEAD) {
        ck_assert_uint_ge(ek_h1_held(&reader), reader.text.len + n * sizeof *reader.lines);
        ck_assert_uint_eq(reader.head.n_fields, n);
        ck_assert_str_eq(reader.head.fields[n - 1].name, n > 1 ? "Impersonate-Group" : "Host");
    }
    ek_h1_done(&reader);
    return event == EK_H1_HEAD ? 0 : reader.status;
}

/* A group for each line: kubectl --as-group. */
START_TEST(lines)
{
    ck_assert_int_eq(status_of_lines(1), 0);
    ck_assert_int_eq(status_of_lines(16), 0);
    ck_assert_int_eq(status_of_lines(17), 0);
    ck_assert_int_eq(status_of_lines(129), 0);
    ck_assert_int_eq(status_of_lines(EK_H1_FIELDS_MAX), 0);
    ck_assert_int_eq(status_of_lines(EK_H1_FIELDS_MAX + 1), 431);
}
END_TEST

/* A head of n bytes in fields, of which the limit is 200. */
static int status_of(size_t target, size_t value, size_t fields, size_t trailer)
{
    EK_AUTO(ek_buf) text, out;
    const char *refusal;

    ek_buf_init(&text, 1 << 16);
    ek_buf_init(&out, 1 << 16);
    ek_buf_printf(&text, "POST /%0*d HTTP/1.1\r\n" H "x: %0*d\r\n", (int)target, 0, (int)value, 0);
    for (size_t i = 0; i < fields; i++)
        ek_buf_puts(&text, "y:\r\n");
    ek_buf_puts(&text, "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n");
    if (trailer)
        ek_buf_printf(&text, "t: %0*d\r\n", (int)trailer, 0);
    ek_buf_puts(&text, "\r\n");
    read_all(ek_buf_str(&text), EK_H1_REQUEST, false, 1000, false, &out);
    refusal = strchr(ek_buf_str(&out), '!');
    return refusal ? (int)strtol(refusal + 1, NULL, 10) : 0;
}

START_TEST(limits)
{
    ck_assert_int_eq(status_of(10, 10, 0, 0), 0);
    ck_assert_int_eq(status_of(100, 10, 0, 0), 0);
    ck_assert_int_eq(status_of(210, 10, 0, 0), 414);
    ck_assert_int_eq(status_of(10, 210, 0, 0), 431);
    ck_assert_int_eq(status_of(10, 10, 0, 100), 0);
    ck_assert_int_eq(status_of(10, 10, 0, 180), 431);
}
END_TEST

START_TEST(fields)
{
    const struct ek_h1_field list[] = {{"Connection", "close"}, {"Accept", "a"}, {"accept", "b"}};
    const struct ek_h1_head head = {.fields = list, .n_fields = EK_ARRAY_SIZE(list)};

    ck_assert_str_eq(ek_h1_field(&head, "ACCEPT"), "a");
    ck_assert_ptr_null(ek_h1_field(&head, "x"));
}
END_TEST

START_TEST(writes)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ek_h1_put_field(&out, "A", "b");
    ek_h1_put_framing(&out, EK_H1_LENGTH, 12);
    ek_h1_put_framing(&out, EK_H1_EMPTY, 0);
    ek_h1_put_framing(&out, EK_H1_CHUNKED, 0);
    ek_h1_put_body(&out, EK_H1_CHUNKED, "hello, hello, hello", 19);
    ek_h1_put_body(&out, EK_H1_CHUNKED, "", 0);
    ek_h1_put_end(&out, EK_H1_CHUNKED);
    ek_h1_put_body(&out, EK_H1_LENGTH, "x", 1);
    ek_h1_put_end(&out, EK_H1_LENGTH);
    ck_assert_str_eq(ek_buf_str(&out),
                     "A: b\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n"
                     "13\r\nhello, hello, hello\r\n0\r\n\r\nx");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("h1");

    tcase_add_loop_test(tcase, reads, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, lines);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, fields);
    tcase_add_test(tcase, writes);
    return ek_test_run("h1", tcase);
}
