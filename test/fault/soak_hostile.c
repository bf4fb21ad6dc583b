/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_hostile.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct sockaddr_in address_of(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = address_of(0);
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        abort();
    close(fd);
    return ntohs(address.sin_port);
}

void soak_hostile_begin(struct soak_hostile *hostile)
{
    hostile->port = free_port();
    do
        hostile->tls_port = free_port();
    while (hostile->tls_port == hostile->port);
}

struct way {
    bool tls; /* to the port for metrics */
    const char *octets;
    size_t len;
};

#define WAY(tls, octets)                                                                           \
    {                                                                                              \
        tls, (octets), sizeof(octets) - 1                                                          \
    }

static const struct way ways[SOAK_HOSTILE_WAYS] = {
    WAY(false, ""),
    WAY(false, "GET /healthz HTTP/1.1\r\nHost: soak\r\nX-Slow: "),
    WAY(false, "POST /healthz HTTP/1.1\r\nHost: soak\r\nContent-Length: 1048576\r\n\r\nx"),
    WAY(false, "\x16\x03\x01\x02\x00\x01\x00"),
    WAY(false, "GET /healthz HTTP/1.1\r\nHost: soak\r\n\r\nGET /readyz HTTP/1.1\r\nHost: soak\r\n"
               "\r\n"),
    WAY(true, ""),
    WAY(true, "\x16\x03\x01\x02\x00\x01\x00"),
    /* Hellos of 131,000 octets, and of as many as there may be. */
    WAY(true, "\x16\x03\x01\x00\x0a\x01\x01\xff\xb8\x03\x03oooo"),
    WAY(true, "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03oooo"),
    WAY(true, "GET /metrics HTTP/1.1\r\nHost: soak\r\n\r\n"),
};

static void connect_one(struct soak_hostile *hostile, const struct way *way)
{
    const struct sockaddr_in address = address_of(way->tls ? hostile->tls_port : hostile->port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int *slot = &hostile->fds[hostile->next++ % SOAK_HOSTILE_MAX];

    if (*slot)
        close(*slot - 1);
    *slot = fd + 1;
    if (fd < 0)
        return;
    (void)connect(fd, (const struct sockaddr *)&address, sizeof address);
    (void)send(fd, way->octets, way->len, MSG_NOSIGNAL);
}

void soak_hostile_connect(struct soak_hostile *hostile, unsigned n, unsigned way)
{
    for (unsigned i = 0; i < n; i++)
        connect_one(hostile, &ways[way % SOAK_HOSTILE_WAYS]);
}

void soak_hostile_end(struct soak_hostile *hostile)
{
    for (unsigned i = 0; i < SOAK_HOSTILE_MAX; i++)
        if (hostile->fds[i])
            close(hostile->fds[i] - 1);
    memset(hostile->fds, 0, sizeof hostile->fds);
}

/* A connection that ends a hang; -1 without one. */
static int call(uint16_t port)
{
    const struct sockaddr_in address = address_of(port);
    const struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

bool soak_hostile_healthy(const struct soak_hostile *hostile)
{
    static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n", good[] = "HTTP/1.1 200";
    char answer[sizeof good] = "";
    int fd = call(hostile->port);
    bool answered = fd >= 0 && send(fd, request, strlen(request), MSG_NOSIGNAL) > 0 &&
                    recv(fd, answer, strlen(good), MSG_WAITALL) > 0;

    close(fd);
    return answered && !strcmp(answer, good);
}

bool soak_hostile_shakes(const struct soak_hostile *hostile)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n", good[] = "HTTP/1.1 401";
    char answer[sizeof good] = "";
    int fd = call(hostile->tls_port);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);

    SSL_set_fd(ssl, fd);
    bool answered = fd >= 0 && SSL_connect(ssl) == 1 &&
                    SSL_write(ssl, request, (int)strlen(request)) > 0 &&
                    SSL_read(ssl, answer, (int)strlen(good)) > 0;
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return answered && !strcmp(answer, good);
}
