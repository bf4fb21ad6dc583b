/* SPDX-License-Identifier: Apache-2.0 */
/* The document of OpenAPI v2 in front of two API servers, of which "a" alone serves apps/v1, and
 * "b" alone batch/v1. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "test/support/http_fixture.h"
#include "test/support/proxy_fixture.h"
#include "test/support/suite.h"

#define WIRE "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

#define LARGE ((size_t)17 << 20)

enum does {
    GOOD,
    FORBIDDEN,
    BROKEN, /* no JSON */
    LOST,   /* in the middle */
    LONG,   /* too large, and says so */
    CHUNKS, /* too large, in chunks */
    COMPRESSED,
    WAITS, /* for the gate of the fixture */
};

static struct proxy_fixture fixture;
static enum does does[2]; /* of the servers; set before a request */
static size_t padding;    /* octets of a document */

static void send_large(struct testserver_conn *conn, bool in_chunks)
{
    static char piece[1 << 16];
    char head[200];

    memset(piece, ' ', sizeof piece);
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%s%zu\r\n\r\n",
             in_chunks ? "Transfer-Encoding: chunked\r\nX: " : "Content-Length: ", LARGE);
    testserver_write(conn, head, strlen(head));
    for (size_t n = 0; n < LARGE; n += sizeof piece) {
        if (in_chunks)
            testserver_write(conn, "10000\r\n", 7);
        testserver_write(conn, piece, sizeof piece);
        if (in_chunks)
            testserver_write(conn, "\r\n", 2);
    }
    if (in_chunks)
        testserver_write(conn, "0\r\n\r\n", 5);
}

static void send_document(bool is_a, bool wire, struct testserver_conn *conn)
{
    static const char *const wires[] = {"\x42\x05\x12\x03\x0a\x01"
                                        "b",
                                        "\x42\x05\x12\x03\x0a\x01"
                                        "a"};
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1 << 21);
    if (wire)
        ek_buf_puts(&text, wires[is_a]);
    else
        ek_buf_printf(&text,
                      "{\"paths\":{\"/%s\":{}},\"info\":{\"version\":\"v1.3%d\"},\"x\":\"%0*d\"}",
                      is_a ? "apps" : "batch", is_a ? 6 : 4, (int)padding, 0);
    testserver_reply(conn, 200,
                     wire ? "Content-Type: " WIRE "\r\nETag: \"own\"\r\n"
                          : "Content-Type: application/json\r\nETag: \"own\"\r\n",
                     ek_buf_str(&text));
}

static void handle(void *ctx, const struct testserver_request *request,
                   struct testserver_conn *conn)
{
    const struct proxy_fixture_server *server = ctx;
    bool is_a = server->name[0] == 'a';
    static const char lost[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Content-Length: 99\r\n\r\n{";
    char accept[100], encoding[20], tag[20];

    testserver_header(request, "Accept", accept, sizeof accept);
    testserver_header(request, "Accept-Encoding", encoding, sizeof encoding);
    testserver_header(request, "If-None-Match", tag, sizeof tag);
    switch (*encoding || (*tag && !fixture.alike) ? BROKEN : does[is_a ? 0 : 1]) {
    case FORBIDDEN:
        testserver_reply(conn, 403, "Content-Type: application/json\r\n", "{\"kind\":\"Status\"}");
        return;
    case BROKEN:
        testserver_reply(conn, 200, "Content-Type: application/json\r\n", "{\"paths\":{}");
        return;
    case LOST:
        testserver_write(conn, lost, sizeof lost - 1);
        testserver_close(conn);
        return;
    case LONG:
    case CHUNKS:
        send_large(conn, does[is_a ? 0 : 1] == CHUNKS);
        return;
    case COMPRESSED:
        testserver_reply(conn, 200, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
                         "x");
        return;
    case WAITS:
        uv_sem_post(&fixture.entered);
        uv_sem_wait(&fixture.gate);
        break;
    case GOOD:
        break;
    }
    send_document(is_a, !strcmp(accept, WIRE), conn);
}

static void setup(void)
{
    does[0] = does[1] = GOOD;
    padding = 1;
    proxy_fixture_prepare(&fixture, handle);
}

static void teardown(void)
{
    proxy_fixture_stop(&fixture);
}

static int n_requests(size_t i)
{
    return atomic_load(&fixture.servers[i].requests);
}

static int ask(const char *fields)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "GET /openapi/v2?timeout=32s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s\r\n", fields);
    int fd = proxy_fixture_connect(&fixture);

    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    return fd;
}

/* The whole response, owned. */
static char *get(const char *fields, size_t *ret_size)
{
    int fd = ask(fields);
    char *got = http_exchange(fd, "", 64 << 20, ret_size);

    close(fd);
    return got;
}

static const char *body_of(const char *got)
{
    const char *end = strstr(got, "\r\n\r\n");

    ck_assert_ptr_nonnull(end);
    return end + 4;
}

#define MERGED                                                                                     \
    "{\"paths\":{\"/apps\":{},\"/batch\":{}},\"info\":{\"version\":\"v1.36\"},\"x\":\"0\"}"

/* Whichever server is asked first; and once more, with the tag. */
START_TEST(merges_documents)
{
    char tag[200] = "";

    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        char *got = get("Accept: application/json\r\nIf-None-Match: \"own\"\r\n", NULL);
        ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s", got);
        ck_assert_str_eq(body_of(got), MERGED);
        ck_assert_ptr_null(strstr(got, "Warning"));
        ck_assert_ptr_nonnull(strstr(got, "Content-Type: application/json\r\n"));
        ck_assert_ptr_nonnull(strstr(got, "Vary: Accept\r\n"));
        ck_assert_int_eq(sscanf(strstr(got, "ETag: "), "ETag: %199s", tag), 1);
        ck_assert_uint_eq(strlen(tag), 130);
        ek_free(got);
        EK_AUTOFREE char *fields = ek_xasprintf("If-None-Match: W/\"x\", %s\r\n", tag);
        got = get(fields, NULL);
        ck_assert_msg(!strncmp(got, "HTTP/1.1 304 ", 13), "%s", got);
        ck_assert_ptr_nonnull(strstr(got, tag));
        ck_assert_str_eq(body_of(got), "");
        ek_free(got);
    }
    ck_assert_int_eq(n_requests(0), 8);
    ck_assert_int_eq(n_requests(1), 8);
}
END_TEST

/* kubectl before 1.27, and others of that time, ask for Protocol Buffers. */
START_TEST(merges_protobuf)
{
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        char *got = get("Accept: " WIRE "\r\n", NULL);
        const char *body = body_of(got);
        ck_assert_ptr_nonnull(strstr(got, "Content-Type: " WIRE "\r\n"));
        ck_assert_uint_eq(strlen(body), 14);
        ck_assert_ptr_nonnull(strstr(body, "\x12\x03\x0a\x01"
                                           "a"));
        ck_assert_ptr_nonnull(strstr(body, "\x12\x03\x0a\x01"
                                           "b"));
        ek_free(got);
    }
}
END_TEST

START_TEST(compresses)
{
    static char out[4 << 20];
    z_stream z = {.avail_out = sizeof out, .next_out = (Bytef *)out};
    size_t size = 0;

    padding = 1 << 20;
    proxy_fixture_start(&fixture);
    char *got = get("Accept-Encoding: gzip\r\n", &size);
    ck_assert_ptr_nonnull(strstr(got, "Content-Encoding: gzip\r\n"));
    z.next_in = (Bytef *)body_of(got);
    z.avail_in = (uInt)(size - (size_t)(body_of(got) - got));
    ck_assert_int_eq(inflateInit2(&z, 31), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_ptr_nonnull(strstr(out, "\"/apps\":{},\"/batch\":{}"));
    inflateEnd(&z);
    ek_free(got);
}
END_TEST

/* One server does not send its document: the client learns that, or gets the reason. */
static const struct {
    enum does does;
    const char *status; /* when it is asked first, "200" also with a warning */
} failures[] = {{FORBIDDEN, "403"}, {BROKEN, "200"}, {LOST, "200"},
                {LONG, "200"},      {CHUNKS, "200"}, {COMPRESSED, "200"}};

START_TEST(says_what_is_missing)
{
    int n_merged = 0;

    does[1] = failures[_i].does;
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        char *got = get("", NULL);
        bool warned = strstr(got, "\r\nWarning: 299 - \"") != NULL;
        bool merged = warned && strstr(got, "\"/apps\":{}") != NULL;
        ck_assert_msg(merged || !strncmp(got + 9, failures[_i].status, 3), "%.300s", got);
        ck_assert_msg(warned || strncmp(got + 9, "200", 3) != 0, "%.300s", got);
        n_merged += merged;
        ek_free(got);
    }
    ck_assert_int_gt(n_merged, 0);
}
END_TEST

/* Both do not: the document of one of them, a reason, or 503; never one that looks complete. */
static const struct {
    enum does does;
    const char *status, *says;
} all_failures[] = {
    {FORBIDDEN, "403", "Status"},
    {BROKEN, "503", "cannot be merged"},
    {LONG, "200", "Warning: 299 - \"this document is that of one API server"},
    {CHUNKS, "200", "Warning: 299 - \"this document is that of one API server"},
    {COMPRESSED, "200", "Warning: 299 - \"this document is that of one API server"},
};

START_TEST(says_that_nothing_is_merged)
{
    does[0] = does[1] = all_failures[_i].does;
    proxy_fixture_start(&fixture);
    char *got = get("", NULL);
    ck_assert_msg(!strncmp(got + 9, all_failures[_i].status, 3), "%.300s", got);
    ck_assert_msg(strstr(got, all_failures[_i].says) != NULL, "%.300s", got);
    ek_free(got);
}
END_TEST

START_TEST(answers_while_a_server_is_away)
{
    fixture.servers[1].routable = false;
    fixture.servers[1].down = true;
    fixture.servers[1].unknown = _i == 1;
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
    char *got = get("", NULL);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 200 ", 13), "%s", got);
    ck_assert_ptr_nonnull(strstr(got, "lacks resources of 1 API servers"));
    ck_assert_ptr_nonnull(strstr(got, "/apps"));
    ck_assert_int_eq(n_requests(1), 0);
    ek_free(got);
}
END_TEST

START_TEST(waits_for_documents)
{
    fixture.servers[1].routable = false;
    fixture.servers[1].unknown = true;
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
    char *got = get("", NULL);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 503 ", 13), "%s", got);
    ck_assert_int_eq(n_requests(0) + n_requests(1), 0);
    ek_free(got);
}
END_TEST

/* Servers that serve the same: one document, as it is. */
START_TEST(forwards_where_nothing_is_to_be_merged)
{
    fixture.alike = true;
    proxy_fixture_publish(&fixture);
    proxy_fixture_start(&fixture);
    char *got = get("If-None-Match: \"x\"\r\n", NULL);
    ck_assert_ptr_nonnull(strstr(got, "ETag: \"own\"\r\n"));
    ck_assert_ptr_null(strstr(got, "Warning"));
    ck_assert_int_eq(n_requests(0) + n_requests(1), 1);
    ek_free(got);
}
END_TEST

/* More merges at once than there is memory for; and what clients leave behind that go away. */
START_TEST(limits_merges)
{
    int fds[2];

    does[0] = does[1] = WAITS;
    proxy_fixture_start(&fixture);
    for (int i = 0; i < 2; i++) {
        fds[i] = ask("");
        uv_sem_wait(&fixture.entered);
    }
    char *got = get("", NULL);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 429 ", 13), "%s", got);
    ck_assert_ptr_nonnull(strstr(got, "Retry-After: 1\r\n"));
    ek_free(got);
    for (int i = 0; i < 2; i++)
        close(fds[i]);
    proxy_fixture_wait_idle(&fixture);
    does[0] = does[1] = GOOD;
    uv_sem_post(&fixture.gate);
    uv_sem_post(&fixture.gate);
    for (int i = 0; i < 3; i++) {
        got = get("", NULL);
        ck_assert_str_eq(body_of(got), MERGED);
        ek_free(got);
    }
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).body_octets, 0);
}
END_TEST

/* Beyond the limit of bodies nothing is collected. */
START_TEST(limits_octets)
{
    padding = 100000;
    fixture.config.options.body_octets = 150000;
    proxy_fixture_start(&fixture);
    char *got = get("", NULL);
    ck_assert_msg(!strncmp(got, "HTTP/1.1 429 ", 13), "%.300s", got);
    ek_free(got);
    proxy_fixture_wait_idle(&fixture);
    ck_assert_uint_eq(proxy_fixture_stats(&fixture).body_octets, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("gather");

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, merges_documents);
    tcase_add_test(tcase, merges_protobuf);
    tcase_add_test(tcase, compresses);
    tcase_add_loop_test(tcase, says_what_is_missing, 0, (int)EK_ARRAY_SIZE(failures));
    tcase_add_loop_test(tcase, says_that_nothing_is_merged, 0, (int)EK_ARRAY_SIZE(all_failures));
    tcase_add_loop_test(tcase, answers_while_a_server_is_away, 0, 2);
    tcase_add_test(tcase, waits_for_documents);
    tcase_add_test(tcase, forwards_where_nothing_is_to_be_merged);
    tcase_add_test(tcase, limits_merges);
    tcase_add_test(tcase, limits_octets);
    return ek_test_run("gather", tcase);
}
