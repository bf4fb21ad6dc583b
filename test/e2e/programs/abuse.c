/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-abuse: a hostile client of a server of ours. It holds N connections open in one of the ways
 * below, opens another for each that the server closes, and ends by itself after SECONDS. Then it
 * prints counts:
 *
 *     opened=1024 closed=12 sent=104857600 ok=0 refused=8
 *
 * opened and closed count connections, sent bytes of requests before encryption, ok answers with a
 * status below 400, refused the other answers.
 *
 *   connect  connects and sends nothing, not even a TLS handshake
 *   hello    sends the beginning of a TLS handshake that announces SIZE bytes, and no more
 *   keys     shakes hands, sends a complete head and then changes keys without a pause, wants the
 *            server to change its own, sends a byte of the body now and then, and never reads
 *   head     sends a request head, a byte a second
 *   drip     sends a complete head, then a body of SIZE bytes, a byte a second
 *   body     sends all but the last byte of a body of SIZE bytes as fast as the server takes them
 *   long     sends a head of SIZE bytes, all but the last, as fast as the server takes them
 *   reader   sends requests without a pause and never reads an answer
 *   get      the same with requests that have the header lines of FILE and no body
 *   post     posts FILE and reads the answer, again and again
 *
 * usage: ek-abuse MODE FROM TO PATH CONNECTIONS SECONDS SIZE|FILE
 *
 * FROM is the source address ("-": the system's choice), TO is ADDRESS:PORT, behind "tls:" for TLS.
 * Only loopback addresses and those of the caller's own network namespace are meant as TO.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/base/err.h"
#include "api/base/mem.h"
#include "informers/client/file.h"

#define CONNECTIONS_MAX 4096
#define SECONDS_MAX     600
#define FILE_MAX        ((size_t)16 << 20)
#define PIECE           ((size_t)16 * 1024)
#define TICK_NS         5000000
#define REOPEN_MS       20 /* between two connections in place of one that was closed */

#define KEY_CHANGES 30 /* for a byte of the body */

enum mode { CONNECT, HELLO, KEYS, HEAD, DRIP, BODY, LONG, READER, GET, POST, MODES };

static const char *const mode_names[MODES] = {"connect", "hello", "keys",   "head", "drip",
                                              "body",    "long",  "reader", "get",  "post"};

struct attacker {
    enum mode mode;
    struct sockaddr_in from, to;
    bool has_from;
    SSL_CTX *tls; /* NULL for plain HTTP */
    char *head;
    size_t head_len;
    char *body; /* of POST; NULL stands for spaces */
    size_t body_len;
    unsigned long opened, closed, sent, ok, refused;
};

struct connection {
    int fd; /* -1 while it is closed */
    SSL *tls;
    size_t at;       /* bytes of the request that are sent */
    int64_t next_ms; /* when the next byte is due, or the next connection */
    bool answered;   /* the status of the answer under way is counted */
};

static struct attacker attacker;

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- One connection ---- */

static void close_one(struct connection *c, int64_t now)
{
    SSL_free(c->tls);
    if (c->fd >= 0)
        close(c->fd);
    *c = (struct connection){.fd = -1, .next_ms = now + REOPEN_MS};
    attacker.closed++;
}

static void open_one(struct connection *c, int64_t now)
{
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0 ||
        (attacker.has_from &&
         bind(c->fd, (struct sockaddr *)&attacker.from, sizeof attacker.from) < 0) ||
        (connect(c->fd, (struct sockaddr *)&attacker.to, sizeof attacker.to) < 0 &&
         errno != EINPROGRESS)) {
        if (c->fd >= 0)
            close(c->fd);
        *c = (struct connection){.fd = -1, .next_ms = now + REOPEN_MS};
        return;
    }
    attacker.opened++;
    if (attacker.tls && attacker.mode != CONNECT && attacker.mode != HELLO) {
        c->tls = SSL_new(attacker.tls);
        SSL_set_fd(c->tls, c->fd);
        SSL_set_connect_state(c->tls);
    }
}

/* Returns bytes sent, 0 when the connection takes none now, -1 when it has ended. */
static ssize_t put(struct connection *c, const char *data, size_t len)
{
    if (!c->tls) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
        return n < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS) ? 0 : n;
    }
    int n = SSL_write(c->tls, data, (int)len);
    if (n > 0)
        return n;
    int why = SSL_get_error(c->tls, n);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

/* As put, for reading. */
static ssize_t take(struct connection *c, char *data, size_t size)
{
    if (!c->tls) {
        ssize_t n = recv(c->fd, data, size, 0);
        if (n == 0)
            return -1;
        return n < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS) ? 0 : n;
    }
    int n = SSL_read(c->tls, data, (int)size);
    if (n > 0)
        return n;
    int why = SSL_get_error(c->tls, n);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static bool reads_nothing(void)
{
    return attacker.mode == READER || attacker.mode == GET;
}

/* How far the request may go: the last byte of it is held back but by those who want answers. */
static size_t end_of_request(void)
{
    bool whole = reads_nothing() || attacker.mode == POST || attacker.mode == HELLO;

    return attacker.head_len + attacker.body_len - (whole ? 0 : 1);
}

/* The next bytes of the request from c->at on. */
static size_t next_piece(const struct connection *c, char *piece)
{
    size_t at = c->at, n;

    if (at < attacker.head_len) {
        n = attacker.head_len - at < PIECE ? attacker.head_len - at : PIECE;
        memcpy(piece, attacker.head + at, n);
    } else {
        n = end_of_request() - at < PIECE ? end_of_request() - at : PIECE;
        if (attacker.body)
            memcpy(piece, attacker.body + at - attacker.head_len, n);
        else
            memset(piece, ' ', n);
    }
    return n;
}

/* Changes the keys of a connection, as often as it takes now: the next write says why not more. */
static void change_keys(struct connection *c)
{
    for (int i = 0; i < KEY_CHANGES; i++)
        if (SSL_key_update(c->tls, SSL_KEY_UPDATE_REQUESTED) != 1 || SSL_do_handshake(c->tls) != 1)
            return;
}

/* Sends what the mode allows now; false when the connection has ended. */
static bool send_some(struct connection *c, int64_t now)
{
    char piece[PIECE];
    bool slow = attacker.mode == HEAD || (attacker.mode == DRIP && c->at >= attacker.head_len);

    if (attacker.mode == CONNECT || (slow && now < c->next_ms))
        return true;
    for (int i = 0; i < 64 && c->at < end_of_request(); i++) {
        bool keys = attacker.mode == KEYS && c->at >= attacker.head_len;
        size_t len = next_piece(c, piece);
        if (keys)
            change_keys(c);
        ssize_t n = put(c, piece, slow || keys ? 1 : len);
        if (n <= 0)
            return n == 0;
        c->at += (size_t)n;
        attacker.sent += (unsigned long)n;
        c->next_ms = now + 1000;
        if (reads_nothing() && c->at == end_of_request())
            c->at = 0;
        if (slow)
            break;
    }
    return true;
}

/* Reads what there is; false when the connection has ended. */
static bool read_some(struct connection *c)
{
    char data[PIECE];

    if (reads_nothing() || (attacker.mode == KEYS && c->at >= attacker.head_len))
        return true;
    for (int i = 0; i < 16; i++) {
        ssize_t n = take(c, data, sizeof data);
        if (n <= 0)
            return n == 0;
        if (!c->answered && n > 9 && !memcmp(data, "HTTP/1.1 ", 9)) {
            c->answered = true;
            *(data[9] < '4' ? &attacker.ok : &attacker.refused) += 1;
            if (attacker.mode == POST) { /* the next; what is left of the answer is skipped */
                c->at = 0;
                c->answered = false;
            }
        }
    }
    return true;
}

static void step(struct connection *c, int64_t now)
{
    if (c->fd < 0) {
        if (now >= c->next_ms)
            open_one(c, now);
        return;
    }
    if (!send_some(c, now) || !read_some(c))
        close_one(c, now);
}

/* ---- All ---- */

static bool read_address(const char *text, struct sockaddr_in *ret_addr)
{
    char host[64];
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);

    if (len >= sizeof host)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    ret_addr->sin_family = AF_INET;
    ret_addr->sin_port = htons(colon ? (uint16_t)strtoul(colon + 1, NULL, 10) : 0);
    return inet_pton(AF_INET, host, &ret_addr->sin_addr) == 1;
}

static bool read_body(const char *text)
{
    struct ek_err err;

    if (attacker.mode != POST && !reads_nothing()) {
        attacker.body_len = strtoul(text, NULL, 10);
        return attacker.body_len > 0;
    }
    if (ek_file_read(text, FILE_MAX, &attacker.body, &attacker.body_len, &err)) {
        fprintf(stderr, "ek-abuse: %s\n", err.message);
        return false;
    }
    return true;
}

/* A record with the first octets of a ClientHello (RFC 8446, 4 and 5.1) that announces so many. */
static void make_hello(size_t announced)
{
    static const char head[] = "\x16\3\1\0\x40\1";

    attacker.head_len = 5 + 0x40;
    attacker.head = ek_xalloc(attacker.head_len);
    memcpy(attacker.head, head, sizeof head - 1);
    for (int i = 0; i < 3; i++)
        attacker.head[6 + i] = (char)(announced >> (16 - 8 * i));
    attacker.head[9] = attacker.head[10] = 3; /* TLS 1.2, as in all hellos */
    attacker.body_len = 0;
}

static bool read_arguments(char **args)
{
    bool tls = !strncmp(args[2], "tls:", 4);

    for (attacker.mode = 0; attacker.mode < MODES; attacker.mode++)
        if (!strcmp(args[0], mode_names[attacker.mode]))
            break;
    attacker.has_from = strcmp(args[1], "-") != 0;
    if (attacker.mode == MODES || (attacker.has_from && !read_address(args[1], &attacker.from)) ||
        !read_address(args[2] + (tls ? 4 : 0), &attacker.to) || !read_body(args[6]))
        return false;
    if (tls) {
        attacker.tls = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_mode(attacker.tls,
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    if (attacker.mode == HELLO) {
        make_hello(attacker.body_len);
        return true;
    }
    if (attacker.mode == GET || attacker.mode == LONG) {
        attacker.head =
            ek_xasprintf("GET %s HTTP/1.1\r\nHost: abuse\r\n%s%s", args[3],
                         attacker.body ? attacker.body : "X-A: ", attacker.body ? "\r\n" : "");
        attacker.head_len = strlen(attacker.head);
        attacker.body_len = attacker.mode == GET ? 0 : attacker.body_len;
        return true;
    }
    attacker.head = ek_xasprintf("POST %s HTTP/1.1\r\nHost: abuse\r\n"
                                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                                 args[3], attacker.body_len);
    attacker.head_len = strlen(attacker.head);
    return true;
}

int main(int argc, char **argv)
{
    static struct connection connections[CONNECTIONS_MAX];
    unsigned long n = argc == 8 ? strtoul(argv[5], NULL, 10) : 0;
    unsigned long seconds = argc == 8 ? strtoul(argv[6], NULL, 10) : 0;

    if (n < 1 || n > CONNECTIONS_MAX || seconds < 1 || seconds > SECONDS_MAX ||
        !read_arguments(argv + 1)) {
        fprintf(stderr, "usage: ek-abuse connect|hello|keys|head|drip|body|long|reader|get|post "
                        "FROM TO PATH CONNECTIONS SECONDS SIZE|FILE\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (unsigned long i = 0; i < n; i++)
        connections[i].fd = -1;
    for (int64_t now = now_ms(), end = now + (int64_t)seconds * 1000; now < end; now = now_ms()) {
        for (unsigned long i = 0; i < n; i++)
            step(&connections[i], now);
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    }
    printf("opened=%lu closed=%lu sent=%lu ok=%lu refused=%lu\n", attacker.opened, attacker.closed,
           attacker.sent, attacker.ok, attacker.refused);
    return 0;
}
