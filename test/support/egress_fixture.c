/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/egress_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/base/mem.h"

struct tunnel {
    struct egress_fixture *egress;
    int fd;
};

/* Up to the empty line, byte by byte: what follows belongs to the tunnel. */
static bool read_head(int fd, char *head, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && read(fd, head + n, 1) == 1) {
        head[++n] = '\0';
        if (n >= 4 && !strcmp(head + n - 4, "\r\n\r\n"))
            return true;
    }
    return false;
}

static int dial(const char *head)
{
    static const char method[] = "CONNECT ";
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strchr(head, ':');
    char ip[16] = "";
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (!strncmp(head, method, sizeof method - 1) && colon)
        snprintf(ip, sizeof ip, "%.*s", (int)(colon - head - (int)(sizeof method - 1)),
                 head + sizeof method - 1);
    if (!colon || inet_pton(AF_INET, ip, &to.sin_addr) != 1)
        ck_abort_msg("not a CONNECT: %s", head);
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool put(int fd, const char *data, size_t n)
{
    return send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* Passes bytes on until a side ends. */
static void pump(int a, int b)
{
    static _Thread_local char piece[65536];
    struct pollfd fds[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};

    for (;;) {
        if (poll(fds, 2, -1) < 0)
            return;
        for (int i = 0; i < 2; i++) {
            if (!fds[i].revents)
                continue;
            ssize_t n = read(fds[i].fd, piece, sizeof piece);
            if (n <= 0 || !put(fds[1 - i].fd, piece, (size_t)n))
                return;
        }
    }
}

static void serve(struct egress_fixture *egress, int fd)
{
    char head[sizeof egress->request];
    char rest;

    if (!read_head(fd, head, sizeof head))
        return;
    pthread_mutex_lock(&egress->lock);
    memcpy(egress->request, head, sizeof head);
    pthread_mutex_unlock(&egress->lock);
    if (egress->ends)
        return;
    if (egress->answer) {
        put(fd, egress->answer, strlen(egress->answer));
        while (read(fd, &rest, 1) == 1) {
        }
        return;
    }
    int to = dial(head);
    if (to < 0) {
        put(fd, "HTTP/1.1 502 Bad Gateway\r\n\r\n", 28);
        return;
    }
    put(fd, "HTTP/1.1 200 Connection established\r\n\r\n", 39);
    if (egress->banner)
        put(fd, egress->banner, strlen(egress->banner));
    pump(fd, to);
    close(to);
}

static void *run_tunnel(void *ctx)
{
    struct tunnel *tunnel = ctx;

    serve(tunnel->egress, tunnel->fd);
    shutdown(tunnel->fd, SHUT_RDWR); /* closed at the stop: its number is used until then */
    ek_free(tunnel);
    return NULL;
}

static void *run(void *ctx)
{
    struct egress_fixture *egress = ctx;

    for (;;) {
        int fd = accept(egress->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        struct tunnel *tunnel = ek_xalloc(sizeof *tunnel);
        *tunnel = (struct tunnel){egress, fd};
        pthread_mutex_lock(&egress->lock);
        ck_assert_uint_lt(egress->n, EGRESS_FIXTURE_CONNS);
        egress->fds[egress->n] = fd;
        pthread_create(&egress->tunnels[egress->n++], NULL, run_tunnel, tunnel);
        pthread_cond_signal(&egress->accepted);
        pthread_mutex_unlock(&egress->lock);
    }
}

void egress_fixture_start(struct egress_fixture *egress)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    egress->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(egress->listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(egress->listener, 64), 0);
    ck_assert_int_eq(getsockname(egress->listener, (struct sockaddr *)&at, &len), 0);
    snprintf(egress->url, sizeof egress->url, "http://127.0.0.1:%u", ntohs(at.sin_port));
    egress->n = 0;
    pthread_mutex_init(&egress->lock, NULL);
    pthread_cond_init(&egress->accepted, NULL);
    pthread_create(&egress->thread, NULL, run, egress);
}

void egress_fixture_stop(struct egress_fixture *egress)
{
    shutdown(egress->listener, SHUT_RDWR);
    pthread_join(egress->thread, NULL);
    close(egress->listener);
    for (size_t i = 0; i < egress->n; i++) {
        shutdown(egress->fds[i], SHUT_RDWR);
        pthread_join(egress->tunnels[i], NULL);
        close(egress->fds[i]);
    }
    pthread_cond_destroy(&egress->accepted);
    pthread_mutex_destroy(&egress->lock);
}

size_t egress_fixture_count(struct egress_fixture *egress)
{
    pthread_mutex_lock(&egress->lock);
    size_t n = egress->n;
    pthread_mutex_unlock(&egress->lock);
    return n;
}

size_t egress_fixture_await(struct egress_fixture *egress, size_t n)
{
    pthread_mutex_lock(&egress->lock);
    while (egress->n < n)
        pthread_cond_wait(&egress->accepted, &egress->lock);
    n = egress->n;
    pthread_mutex_unlock(&egress->lock);
    return n;
}

char *egress_fixture_request(struct egress_fixture *egress)
{
    pthread_mutex_lock(&egress->lock);
    char *request = ek_xstrdup(egress->request);
    pthread_mutex_unlock(&egress->lock);
    return request;
}
