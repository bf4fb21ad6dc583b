/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/testserver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/base/buf.h"

#define REQUEST_MAX ((size_t)32 << 20)

struct testserver_conn {
    struct testserver *server;
    struct testserver_conn *next;
    pthread_t thread;
    SSL *ssl;
    int fd;
    unsigned number;
    bool closing, reset;
    char client_name[128];
};

struct testserver {
    struct testserver_options options;
    SSL_CTX *ssl_ctx;
    int fd;
    unsigned short port;
    pthread_t thread;
    atomic_bool stopping;
    atomic_uint requests, connections, n_handshakes;
    struct testserver_conn *conns; /* touched by the accepting thread only, until it ended */
};

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

static ssize_t receive(struct testserver_conn *conn, char *data, size_t size)
{
    if (!conn->ssl)
        return recv(conn->fd, data, size, 0);
    return SSL_read(conn->ssl, data, (int)size);
}

void testserver_write(struct testserver_conn *conn, const void *data, size_t size)
{
    const char *p = data;

    while (size && !conn->closing) {
        ssize_t n =
            conn->ssl ? SSL_write(conn->ssl, p, (int)size) : send(conn->fd, p, size, MSG_NOSIGNAL);
        if (n <= 0) {
            conn->closing = true;
            return;
        }
        p += n;
        size -= (size_t)n;
    }
}

void testserver_reply(struct testserver_conn *conn, int status, const char *headers,
                      const char *body)
{
    struct ek_buf out;

    ek_buf_init(&out, REQUEST_MAX);
    ek_buf_printf(&out, "HTTP/1.1 %d Status\r\nContent-Length: %zu\r\n%s\r\n", status, strlen(body),
                  headers);
    ek_buf_puts(&out, body);
    testserver_write(conn, out.data, out.len);
    ek_buf_done(&out);
}

void testserver_close(struct testserver_conn *conn)
{
    conn->closing = true;
}

void testserver_reset(struct testserver_conn *conn)
{
    conn->closing = conn->reset = true;
}

void testserver_stall(struct testserver_conn *conn)
{
    struct pollfd pollfd = {.fd = conn->fd, .events = POLLRDHUP};

    while (!atomic_load(&conn->server->stopping) && poll(&pollfd, 1, 20) == 0)
        ;
    conn->closing = true;
}

const char *testserver_header(const struct testserver_request *request, const char *name, char *buf,
                              size_t size)
{
    size_t len = strlen(name);

    buf[0] = '\0';
    for (const char *p = request->headers; *p; p = strstr(p, "\r\n") + 2)
        if (!strncasecmp(p, name, len) && p[len] == ':') {
            p += len + 1;
            p += strspn(p, " ");
            snprintf(buf, size, "%.*s", (int)strcspn(p, "\r"), p);
            break;
        }
    return buf;
}

/* Reads on until the buffer holds want bytes, or a blank line when want is 0. */
static bool fill(struct testserver_conn *conn, struct ek_buf *in, size_t want)
{
    char chunk[16384];

    while (want ? in->len < want : !in->len || !strstr(in->data, "\r\n\r\n")) {
        ssize_t n = receive(conn, chunk, sizeof chunk);
        if (n <= 0 || ek_buf_append(in, chunk, (size_t)n))
            return false;
    }
    return true;
}

/* Takes the head of a request apart in place. */
static bool parse_head(char *head, struct testserver_request *request)
{
    char *line_end = strstr(head, "\r\n"), *target, *version;

    *line_end = '\0';
    target = strchr(head, ' ');
    version = target ? strchr(target + 1, ' ') : NULL;
    if (!version)
        return false;
    *target++ = *version = '\0';
    request->method = head;
    request->target = target;
    request->headers = line_end + 2;
    return true;
}

static bool serve_one(struct testserver_conn *conn, struct ek_buf *in)
{
    struct testserver *server = conn->server;
    struct testserver_request request = {.connection = conn->number,
                                         .client_name = conn->client_name};
    char length[32];

    if (!fill(conn, in, 0))
        return false;
    size_t head_len = (size_t)(strstr(in->data, "\r\n\r\n") - in->data) + 2;
    char *head = strndup(in->data, head_len);
    bool good = head && parse_head(head, &request);
    if (good) {
        request.body_size =
            strtoul(testserver_header(&request, "Content-Length", length, sizeof length), NULL, 10);
        good = fill(conn, in, head_len + 2 + request.body_size);
    }
    if (good) {
        request.body = in->data + head_len + 2;
        request.sequence = atomic_fetch_add(&server->requests, 1) + 1;
        server->options.handler(server->options.ctx, &request, conn);
        ek_buf_consume(in, head_len + 2 + request.body_size);
    }
    free(head);
    return good && !conn->closing;
}

static bool handshake(struct testserver_conn *conn)
{
    if (!conn->server->ssl_ctx)
        return true;
    conn->ssl = SSL_new(conn->server->ssl_ctx);
    SSL_set_fd(conn->ssl, conn->fd);
    if (SSL_accept(conn->ssl) != 1)
        return false;
    X509 *cert = SSL_get0_peer_certificate(conn->ssl);
    atomic_fetch_add(&conn->server->n_handshakes, 1);
    if (cert)
        X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, conn->client_name,
                                  sizeof conn->client_name);
    return true;
}

static void *serve(void *arg)
{
    struct testserver_conn *conn = arg;
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct ek_buf in;

    ek_buf_init(&in, REQUEST_MAX);
    if (handshake(conn))
        while (serve_one(conn, &in))
            ;
    ek_buf_done(&in);
    if (conn->reset)
        setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    else if (conn->ssl)
        SSL_shutdown(conn->ssl);
    SSL_free(conn->ssl);
    conn->ssl = NULL;
    if (conn->reset) /* the descriptor itself is closed when the server stops; this resets now */
        dup2(conn->server->fd, conn->fd);
    else
        shutdown(conn->fd, SHUT_RDWR);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct testserver *server = arg;

    for (;;) {
        int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
        if (atomic_load(&server->stopping) || fd < 0) {
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        /* Answers are written in pieces; none may wait for an acknowledgement. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct testserver_conn *conn = calloc(1, sizeof *conn);
        conn->server = server;
        conn->fd = fd;
        conn->number = atomic_fetch_add(&server->connections, 1) + 1;
        conn->next = server->conns;
        server->conns = conn;
        must(pthread_create(&conn->thread, NULL, serve, conn) == 0, "pthread_create");
    }
}

static SSL_CTX *make_ssl_ctx(const struct testserver_options *options)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    BIO *cert_bio = BIO_new_mem_buf(options->cert, -1),
        *key_bio = BIO_new_mem_buf(options->key, -1);
    X509 *cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);

    must(SSL_CTX_use_certificate(ctx, cert) && SSL_CTX_use_PrivateKey(ctx, key), "certificate");
    if (options->client_ca) {
        BIO *ca_bio = BIO_new_mem_buf(options->client_ca, -1);
        X509 *ca = PEM_read_bio_X509(ca_bio, NULL, NULL, NULL);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca);
        X509_free(ca);
        BIO_free(ca_bio);
        SSL_CTX_set_verify(
            ctx, SSL_VERIFY_PEER | (options->require_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
            NULL);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    BIO_free(cert_bio);
    BIO_free(key_bio);
    return ctx;
}

/* Binds a socket of the address's family; returns it, and the port that it got. */
static int bind_address(const char *address, unsigned short port, unsigned short *ret_port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    bool is_v6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
    struct sockaddr *addr = is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t len = is_v6 ? sizeof v6 : sizeof v4;
    int one = 1;

    must(is_v6 || inet_pton(AF_INET, address, &v4.sin_addr) == 1, "inet_pton");
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    must(bind(fd, addr, len) == 0, "bind");
    must(listen(fd, 512) == 0, "listen");
    getsockname(fd, addr, &len);
    *ret_port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
    return fd;
}

bool testserver_has_ipv6(void)
{
    struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

struct testserver *testserver_start(const struct testserver_options *options)
{
    struct testserver *server = calloc(1, sizeof *server);

    signal(SIGPIPE, SIG_IGN);
    server->options = *options;
    server->ssl_ctx = options->cert ? make_ssl_ctx(options) : NULL;
    server->fd = bind_address(options->address ? options->address : "127.0.0.1", options->port,
                              &server->port);
    must(pthread_create(&server->thread, NULL, accept_all, server) == 0, "pthread_create");
    return server;
}

void testserver_stop(struct testserver *server)
{
    atomic_store(&server->stopping, true);
    shutdown(server->fd, SHUT_RDWR); /* wakes accept */
    pthread_join(server->thread, NULL);
    for (struct testserver_conn *conn = server->conns, *next; conn; conn = next) {
        next = conn->next;
        shutdown(conn->fd, SHUT_RDWR);
        pthread_join(conn->thread, NULL);
        close(conn->fd);
        free(conn);
    }
    close(server->fd);
    SSL_CTX_free(server->ssl_ctx);
    free(server);
}

unsigned short testserver_port(const struct testserver *server)
{
    return server->port;
}

unsigned testserver_requests(const struct testserver *server)
{
    return atomic_load(&server->requests);
}

unsigned testserver_handshakes(const struct testserver *server)
{
    return atomic_load(&server->n_handshakes);
}

unsigned testserver_connections(const struct testserver *server)
{
    return atomic_load(&server->connections);
}
