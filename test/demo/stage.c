/* SPDX-License-Identifier: Apache-2.0 */
#include "test/demo/stage-internal.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "informers/client/kubeconfig.h"

#define TICK_MS      50
#define CLOSE_MS     60000
#define N_OWN        2 /* the parts that the stage closes last: its signals and its timer */
#define PORT_TRIES   50
#define FIRST_HOST   11 /* the peers are 127.0.0.11 and on */
#define OLDEST_MINOR 33 /* that a 1.36 binary can emulate */

const unsigned ek_stage_first_minors[EK_STAGE_PEERS] = {EK_STAGE_NEWEST, 34, 33};

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- waiting ------------------------------------------------------------------------------ */

static void on_tick(uv_timer_t *timer)
{
    struct ek_stage *stage = timer->data;

    if (stage->hooks.tick)
        stage->hooks.tick(stage->hooks.ctx);
}

bool ek_stage_is_canceled(const struct ek_stage *stage)
{
    return stage->n_signals > stage->n_ignored;
}

void ek_stage_ignore_signal(struct ek_stage *stage)
{
    stage->n_ignored = stage->n_signals;
}

int ek_stage_wait(struct ek_stage *stage, bool (*reached)(void *ctx), void *ctx, int64_t max_ms)
{
    uv_update_time(&stage->loop);
    uint64_t end = uv_now(&stage->loop) + (uint64_t)max_ms;

    while (!(reached && reached(ctx))) {
        if (ek_stage_is_canceled(stage))
            return EK_E_CANCELED;
        if (uv_now(&stage->loop) >= end)
            return reached ? EK_E_TIMEOUT : 0;
        uv_run(&stage->loop, UV_RUN_ONCE);
    }
    return 0;
}

/* --- peers -------------------------------------------------------------------------------- */

static void describe_peer(size_t i, unsigned minor, char name[8], char address[INET_ADDRSTRLEN],
                          struct ek_apiserver_peer_config *ret_config)
{
    snprintf(name, 8, "cp-%c", (char)('a' + i));
    snprintf(address, INET_ADDRSTRLEN, "127.0.0.%zu", i + FIRST_HOST);
    *ret_config = (struct ek_apiserver_peer_config){
        .name = name,
        .address = address,
        .binary = EK_STAGE_BINARY,
        .emulation = EK_MINOR(1, minor),
        .min_compat = EK_MINOR(1, minor > OLDEST_MINOR ? minor - 1 : OLDEST_MINOR),
    };
}

static size_t peer_index(const char *name)
{
    return (size_t)(name[3] - 'a') % EK_STAGE_PEERS;
}

static int add_peers(struct ek_stage *stage, uint16_t port, struct ek_err *err)
{
    char name[8], address[INET_ADDRSTRLEN];
    struct ek_apiserver_peer_config config;
    int rc = 0;

    for (size_t i = 0; i < EK_STAGE_PEERS && !rc; i++) {
        describe_peer(i, ek_stage_first_minors[i], name, address, &config);
        config.port = port;
        rc = ek_apiserver_add_peer(stage->server, &config, &stage->peers[i], err);
        if (!rc)
            rc = ek_apishell_start_peer(stage->shell, stage->peers[i], err);
        if (rc)
            ek_err_prefix(err, "starting API server %s", name);
    }
    return rc;
}

struct restart {
    struct ek_stage *stage;
    struct ek_apiserver_peer *peer;
    int rc;
    struct ek_err err;
};

/* A listener is closed by the loop, so the port is not free at once. */
static bool has_started(void *ctx)
{
    struct restart *restart = ctx;

    restart->rc = ek_apishell_start_peer(restart->stage->shell, restart->peer, &restart->err);
    return restart->rc != EK_E_EXIST;
}

int ek_stage_restart_peer(struct ek_stage *stage, const char *name, unsigned minor,
                          struct ek_err *err)
{
    struct restart restart = {.stage = stage, .peer = stage->peers[peer_index(name)]};
    char host[8], address[INET_ADDRSTRLEN];
    struct ek_apiserver_peer_config config;

    ek_apishell_stop_peer(stage->shell, restart.peer, false);
    describe_peer(peer_index(name), minor, host, address, &config);
    int rc = ek_apiserver_peer_change(restart.peer, &config, err);
    if (rc)
        return rc;
    rc = ek_stage_wait(stage, has_started, &restart, CLOSE_MS);
    if (rc == EK_E_CANCELED || (!rc && !restart.rc))
        return rc;
    if (err)
        *err = restart.err;
    return ek_err_prefix(err, "restarting API server %s", name);
}

void ek_stage_hang_peer(struct ek_stage *stage, const char *name, bool hangs)
{
    ek_apishell_hang_peer(stage->shell, stage->peers[peer_index(name)], hangs);
}

/* Binds host's port, 0 for a free one; returns the socket, or -1. */
static int try_port(size_t host, uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)host + FIRST_HOST),
                             .sin_port = htons(*port)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&at, size) || getsockname(fd, (struct sockaddr *)&at, &size)) {
        close(fd);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

/* A port that is free at all peers' addresses: an EndpointSlice has one port for all of them. 0
 * when there is none. */
static uint16_t find_port(void)
{
    for (int tries = 0; tries < PORT_TRIES; tries++) {
        int fds[EK_STAGE_PEERS];
        uint16_t port = 0;
        bool free = true;

        for (size_t i = 0; i < EK_STAGE_PEERS; i++) {
            fds[i] = try_port(i, &port);
            free = free && fds[i] >= 0;
        }
        for (size_t i = 0; i < EK_STAGE_PEERS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        if (free)
            return port;
    }
    return 0;
}

/* --- files -------------------------------------------------------------------------------- */

static int make_folder(struct ek_stage *stage, struct ek_err *err)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(stage->folder, sizeof stage->folder, "%s/evenkeel-demo-XXXXXX",
             tmp && *tmp == '/' && strlen(tmp) < 256 ? tmp : "/tmp");
    if (!mkdtemp(stage->folder)) {
        int rc = ek_err_set(err, EK_E_IO, "making the folder %s: %m", stage->folder);
        stage->folder[0] = '\0';
        return rc;
    }
    snprintf(stage->kubeconfig, sizeof stage->kubeconfig, "%s/kubeconfig", stage->folder);
    snprintf(stage->replica_kubeconfig, sizeof stage->replica_kubeconfig, "%s/evenkeel.kubeconfig",
             stage->folder);
    return 0;
}

static void remove_folder(const char *folder)
{
    char path[2 * EK_STAGE_PATH_MAX];
    const struct dirent *entry;
    DIR *dir = *folder ? opendir(folder) : NULL;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(dir);
    rmdir(folder);
}

static void make_token(char token[EK_STAGE_TOKEN])
{
    unsigned char bytes[EK_STAGE_TOKEN / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort();
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

static int write_kubeconfigs(struct ek_stage *stage, struct ek_err *err)
{
    static const char *const users[] = {"admin", "evenkeel"};
    const char *const tokens[] = {stage->user_token, stage->replica_token};

    int rc = ek_apishell_write_kubeconfig(stage->shell, stage->kubeconfig, &users[0], &tokens[0], 1,
                                          err);
    if (!rc)
        rc = ek_apishell_write_kubeconfig(stage->shell, stage->replica_kubeconfig, &users[1],
                                          &tokens[1], 1, err);
    return rc;
}

/* --- life --------------------------------------------------------------------------------- */

static void on_signal(void *ctx, int count)
{
    struct ek_stage *stage = ctx;

    stage->n_signals = count;
    if (count > 1) {
        if (stage->hooks.killed)
            stage->hooks.killed(stage->hooks.ctx);
        remove_folder(stage->folder);
        _exit(1);
    }
}

static int connect_client(struct ek_stage *stage, struct ek_err *err)
{
    static const struct ek_resource leases = {.group = "coordination.k8s.io",
                                              .version = "v1",
                                              .resource = "leases",
                                              .kind = "Lease",
                                              .namespace = EK_STAGE_NAMESPACE};
    struct ek_client_config *config = NULL;

    int rc = ek_kubeconfig_load(stage->kubeconfig, NULL, NULL, &config, err);
    if (!rc)
        rc = ek_client_new(&stage->loop, config, "evenkeel-demo/" EK_VERSION, &stage->client, err);
    ek_client_config_free(config);
    if (rc)
        return rc;
    stage->n_open++;
    stage->leases = ek_informer_new(&stage->loop, stage->client, &leases);
    ek_informer_start(stage->leases);
    return 0;
}

static int open_server(struct ek_stage *stage, uint16_t port, struct ek_err *err)
{
    struct ek_apiserver_config config = {0};

    make_token(stage->user_token);
    make_token(stage->replica_token);
    stage->server = ek_apiserver_new(&config, wall_ms());
    ek_apiserver_add_token(stage->server, stage->user_token, "admin", "system:masters", NULL);
    ek_apiserver_add_token(stage->server, stage->replica_token,
                           "system:serviceaccount:" EK_STAGE_NAMESPACE ":evenkeel",
                           "system:serviceaccounts", "*");
    struct ek_apishell_config shell = {.loop = &stage->loop, .server = stage->server};
    int rc = ek_apishell_new(&shell, &stage->shell, err);
    if (rc)
        return rc;
    stage->n_open++;
    rc = add_peers(stage, port ? port : find_port(), err);
    return rc ? rc : write_kubeconfigs(stage, err);
}

int ek_stage_open(uint16_t port, const struct ek_stage_hooks *hooks, struct ek_stage **ret_stage,
                  struct ek_err *err)
{
    struct ek_stage *stage = ek_xalloc(sizeof *stage);

    stage->hooks = *hooks;
    uv_loop_init(&stage->loop);
    uv_timer_init(&stage->loop, &stage->timer);
    stage->timer.data = stage;
    uv_timer_start(&stage->timer, on_tick, TICK_MS, TICK_MS);
    ek_signals_open(&stage->signals, &stage->loop, on_signal, stage);
    stage->n_open = N_OWN;

    int rc = make_folder(stage, err);
    if (!rc)
        rc = open_server(stage, port, err);
    if (!rc)
        rc = connect_client(stage, err);
    if (rc) {
        ek_stage_close(stage, false);
        return rc;
    }
    *ret_stage = stage;
    return 0;
}

static void on_part_closed(void *ctx)
{
    struct ek_stage *stage = ctx;
    stage->n_open--;
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

static void stop_informer(struct ek_stage *stage, struct ek_informer *informer)
{
    if (!informer)
        return;
    stage->n_open++;
    ek_informer_stop(informer, on_part_closed, stage);
}

static void run_until_closed(struct ek_stage *stage, unsigned n_left)
{
    uint64_t end = uv_hrtime() + (uint64_t)CLOSE_MS * 1000000;

    while (stage->n_open > n_left && uv_hrtime() < end)
        uv_run(&stage->loop, UV_RUN_ONCE);
}

bool ek_stage_close(struct ek_stage *stage, bool keep_files)
{
    if (!stage)
        return true;
    stage->hooks = (struct ek_stage_hooks){0};
    stop_informer(stage, stage->control_planes);
    stop_informer(stage, stage->leases);
    if (stage->client)
        ek_client_close(stage->client, on_part_closed, stage);
    if (stage->shell)
        ek_apishell_close(stage->shell, on_part_closed, stage);
    run_until_closed(stage, N_OWN);
    if (stage->n_open > N_OWN) {
        fprintf(stderr, "%u parts of the stage do not close. Handles of its loop:\n",
                stage->n_open - N_OWN);
        uv_print_all_handles(&stage->loop, stderr);
        return false;
    }
    ek_signals_close(&stage->signals, on_part_closed);
    uv_close((uv_handle_t *)&stage->timer, on_timer_closed);
    while (uv_run(&stage->loop, UV_RUN_ONCE) && stage->n_open)
        ;
    ek_informer_free(stage->control_planes);
    ek_informer_free(stage->leases);
    ek_apiserver_free(stage->server);
    uv_loop_close(&stage->loop);
    if (!keep_files)
        remove_folder(stage->folder);
    ek_free(stage);
    return true;
}
