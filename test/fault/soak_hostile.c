/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_hostile.h"

#include <netinet/in.h>
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

void soak_hostile_begin(struct soak_hostile *hostile)
{
    struct sockaddr_in address = address_of(0);
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        abort();
    close(fd);
    hostile->port = ntohs(address.sin_port);
}

static void connect_one(struct soak_hostile *hostile, const char *text)
{
    const struct sockaddr_in address = address_of(hostile->port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int *slot = &hostile->fds[hostile->next++ % SOAK_HOSTILE_MAX];

    if (*slot)
        close(*slot - 1);
    *slot = fd + 1;
    if (fd < 0)
        return;
    (void)connect(fd, (const struct sockaddr *)&address, sizeof address);
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

void soak_hostile_connect(struct soak_hostile *hostile, unsigned n, unsigned way)
{
    static const char *const texts[] = {
        "",
        "GET /healthz HTTP/1.1\r\nHost: soak\r\nX-Slow: ",
        "POST /healthz HTTP/1.1\r\nHost: soak\r\nContent-Length: 1048576\r\n\r\nx",
        "\x16\x03\x01\x02\x00\x01\x00",
        "GET /healthz HTTP/1.1\r\nHost: soak\r\n\r\nGET /readyz HTTP/1.1\r\nHost: soak\r\n\r\n",
    };

    for (unsigned i = 0; i < n; i++)
        connect_one(hostile, texts[way % (sizeof texts / sizeof *texts)]);
}

void soak_hostile_end(struct soak_hostile *hostile)
{
    for (unsigned i = 0; i < SOAK_HOSTILE_MAX; i++)
        if (hostile->fds[i])
            close(hostile->fds[i] - 1);
    memset(hostile->fds, 0, sizeof hostile->fds);
}

bool soak_hostile_healthy(const struct soak_hostile *hostile)
{
    static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n", good[] = "HTTP/1.1 200";
    const struct sockaddr_in address = address_of(hostile->port);
    const struct timeval patience = {.tv_sec = 60}; /* the end of a hang, nothing else */
    char answer[sizeof good] = "";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool answered = fd >= 0 &&
                    connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                    send(fd, request, strlen(request), MSG_NOSIGNAL) > 0 &&
                    recv(fd, answer, strlen(good), MSG_WAITALL) > 0;
    close(fd);
    return answered && !strcmp(answer, good);
}
