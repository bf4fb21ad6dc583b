/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel run` under posts of 10 MiB that never end, by HTTPS: its memory, by how many there are,
 * and how long a small review takes beside them. */
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/world.h"

#define PATIENCE_MS 120000
#define ATTACKS_MAX 1024
#define VICTIMS     200
#define MIB         ((size_t)1 << 20)

struct client {
    int fd;
    SSL *ssl;
};

static struct bench_world world;
static struct sockaddr_in address = {.sin_family = AF_INET};
static SSL_CTX *context;
static struct client attackers[ATTACKS_MAX];
static char blanks[MIB];

/* A port that nobody listens on. */
static void choose_port(void)
{
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, len) ||
        getsockname(fd, (struct sockaddr *)&address, &len))
        bench_fail("no free port");
    close(fd);
}

static bool open_client(struct client *client)
{
    struct timeval limit = {.tv_sec = 5};

    client->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    client->ssl = NULL;
    if (connect(client->fd, (struct sockaddr *)&address, sizeof address))
        return false;
    client->ssl = SSL_new(context);
    SSL_set_fd(client->ssl, client->fd);
    return SSL_connect(client->ssl) == 1;
}

static void close_client(struct client *client)
{
    SSL_free(client->ssl);
    close(client->fd);
}

/* Sends all of a body of 10 MiB but its end, as far as it is taken. */
static void attack(struct client *client)
{
    static const char head[] = "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                               "\r\nContent-Length: 10485760\r\n\r\n";

    if (!open_client(client) || SSL_write(client->ssl, head, sizeof head - 1) <= 0)
        return;
    for (int i = 0; i < 9; i++) {
        if (SSL_write(client->ssl, blanks, sizeof blanks) <= 0)
            return;
    }
    SSL_write(client->ssl, blanks, sizeof blanks - 1024);
}

/* Asks once, on a connection of its own; true for any answer. */
static bool ask(void)
{
    static const char request[] =
        "POST /mutate?timeout=10s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n{}";
    struct client client;
    char answer[4096];

    bool good = open_client(&client) && SSL_write(client.ssl, request, sizeof request - 1) > 0 &&
                SSL_read(client.ssl, answer, sizeof answer) > 12 &&
                !memcmp(answer, "HTTP/1.1 400", 12);
    close_client(&client);
    return good;
}

static void measure(size_t n)
{
    double ms[VICTIMS];
    size_t n_failed = 0;

    for (size_t i = 0; i < n; i++) {
        attack(&attackers[i]);
        if (i % 16 == 0)
            bench_world_run(&world, 1);
    }
    for (size_t i = 0; i < VICTIMS; i++) {
        double start = bench_now_ms();
        n_failed += !ask();
        ms[i] = bench_now_ms() - start;
    }
    printf("%7zu  %6.1f MiB  %6.1f MiB  %6.1f ms  %6.1f ms  %3zu of %d\n", n,
           bench_proc_kb(world.controller, "status", "VmRSS") / 1024,
           bench_proc_kb(world.controller, "status", "VmHWM") / 1024, bench_median(ms, VICTIMS),
           bench_percentile(ms, VICTIMS, 99), n_failed, VICTIMS);
    fflush(stdout);
    for (size_t i = 0; i < n; i++)
        close_client(&attackers[i]);
}

int bench_flood(const struct bench_options *options)
{
    static const size_t attacks[] = {0, 32, 128, ATTACKS_MAX};
    static char bind_flag[64];
    struct rlimit files = {8192, 8192};

    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_NOFILE, &files);
    context = SSL_CTX_new(TLS_client_method());
    choose_port();
    snprintf(bind_flag, sizeof bind_flag, "--webhook-bind-address=127.0.0.1:%d",
             ntohs(address.sin_port));
    bench_world_open(&world, 1);
    world.flags[0] = bind_flag;
    world.flags[1] = "--webhook-url=https://127.0.0.1:9";
    world.flags[2] = "--webhook-namespace=evenkeel-system";
    world.flags[3] = "--webhook-threads=4";
    bench_world_send(&world, "POST", "/api/v1/namespaces", "application/json",
                     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                     "\"evenkeel-system\"}}",
                     201);
    bench_world_start(&world, options->evenkeel);
    if (!bench_world_wait(&world, 0, PATIENCE_MS))
        bench_fail("no status within %d s", PATIENCE_MS / 1000);
    for (double end = bench_now_ms() + PATIENCE_MS; !ask() && bench_now_ms() < end;)
        bench_world_run(&world, 100);
    printf("attacks         RSS        peak     median        p99  failed\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(attacks); i++)
        measure(attacks[i]);
    SSL_CTX_free(context);
    bench_world_close(&world);
    return 0;
}
