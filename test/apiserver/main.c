/* SPDX-License-Identifier: Apache-2.0 */
/* ek-apiserver: the test API server as a program. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/base/mem.h"
#include "test/apiserver/shell.h"

static const char usage[] =
    "usage: ek-apiserver [options]\n"
    "A Kubernetes API server in memory, for tests and demos: several peers, one storage.\n\n"
    "  --peers LIST       name=binary[/emulation[/min-compatibility]],...\n"
    "                     (default cp-a=1.36.2; a minor alone stands for its .0 release)\n"
    "  --address LIST     one address per peer (default 127.0.0.11, .12, ...)\n"
    "  --port N           port of all peers; 0 (default) takes free ones\n"
    "  --kubeconfig FILE  where to write the kubeconfig (default: ek-apiserver.kubeconfig)\n"
    "  --tokens LIST      user=token[:group+group...],...; the first is the default user\n"
    "                     (default admin=<random>:system:masters)\n"
    "  --rbac             decide by the Roles and bindings that are stored\n"
    "  --audit FILE       one JSON line per request\n"
    "  --window N         changes that each resource remembers (default 10000)\n"
    "  --seed N           of uids, names and chances of faults\n"
    "  --help\n";

#define PEERS_MAX 16
#define USERS_MAX 32

struct options {
    char *peers, *addresses, *tokens;
    const char *kubeconfig, *audit;
    uint16_t port;
    size_t window;
    uint64_t seed;
    bool rbac;
};

struct program {
    uv_loop_t loop;
    uv_signal_t signals[2];
    struct ek_apiserver *server;
    struct ek_apishell *shell;
    struct ek_apiserver_peer *peers[PEERS_MAX];
    size_t n_peers;
    char *users[USERS_MAX], *tokens[USERS_MAX];
    size_t n_users;
};

static int fail(const struct ek_err *err)
{
    fprintf(stderr, "ek-apiserver: %s\n", err->message);
    return EXIT_FAILURE;
}

static void random_token(char buf[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        abort();
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
}

static uint64_t random_seed(void)
{
    uint64_t seed = 1;

    (void)!getrandom(&seed, sizeof(seed), 0);
    return seed;
}

enum {
    OPT_PEERS = 1,
    OPT_ADDRESS,
    OPT_PORT,
    OPT_KUBECONFIG,
    OPT_TOKENS,
    OPT_RBAC,
    OPT_AUDIT,
    OPT_WINDOW,
    OPT_SEED,
    OPT_HELP
};

/* Returns 0 to go on, else the exit status plus one. */
static int parse_options(int argc, char **argv, struct options *ret)
{
    static const struct option longs[] = {
        {"peers", required_argument, NULL, OPT_PEERS},
        {"address", required_argument, NULL, OPT_ADDRESS},
        {"port", required_argument, NULL, OPT_PORT},
        {"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
        {"tokens", required_argument, NULL, OPT_TOKENS},
        {"rbac", no_argument, NULL, OPT_RBAC},
        {"audit", required_argument, NULL, OPT_AUDIT},
        {"window", required_argument, NULL, OPT_WINDOW},
        {"seed", required_argument, NULL, OPT_SEED},
        {"help", no_argument, NULL, OPT_HELP},
        {0},
    };
    int option;

    *ret = (struct options){.kubeconfig = "ek-apiserver.kubeconfig", .seed = random_seed()};
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == OPT_PEERS)
            ret->peers = optarg;
        else if (option == OPT_ADDRESS)
            ret->addresses = optarg;
        else if (option == OPT_PORT)
            ret->port = (uint16_t)strtoul(optarg, NULL, 10);
        else if (option == OPT_KUBECONFIG)
            ret->kubeconfig = optarg;
        else if (option == OPT_TOKENS)
            ret->tokens = optarg;
        else if (option == OPT_RBAC)
            ret->rbac = true;
        else if (option == OPT_AUDIT)
            ret->audit = optarg;
        else if (option == OPT_WINDOW)
            ret->window = strtoul(optarg, NULL, 10);
        else if (option == OPT_SEED)
            ret->seed = strtoull(optarg, NULL, 10);
        else
            return fputs(usage, option == '?' ? stderr : stdout), option == '?' ? 3 : 1;
    }
    return 0;
}

/* "1.36" becomes "1.36.0"; into buf. */
static const char *full_version(const char *text, char buf[64])
{
    size_t dots = 0;

    for (const char *p = text; *p; p++)
        dots += *p == '.';
    snprintf(buf, 64, "%s%s", text, dots == 1 ? ".0" : "");
    return buf;
}

/* Adds the peer that "name=binary/emulation/min" describes. */
static int add_peer(struct program *program, char *text, const char *address,
                    const struct options *options, struct ek_err *err)
{
    char *binary = strchr(text, '='), version[64], *save = NULL;

    if (!binary || program->n_peers == PEERS_MAX)
        return ek_err_set(err, EK_E_INVAL, "--peers: \"%s\" is not name=version", text);
    *binary++ = '\0';
    char *first = strtok_r(binary, "/", &save), *second = strtok_r(NULL, "/", &save);
    char *third = strtok_r(NULL, "/", &save);
    const struct ek_apiserver_peer_config config = {
        .name = text,
        .address = address,
        .port = options->port,
        .binary = full_version(first ? first : "", version),
        .emulation = ek_minor_parse(second ? second : ""),
        .min_compat = ek_minor_parse(third ? third : ""),
        /* /version reports emulation from 1.33 on. */
        .hides_emulation = ek_minor_parse(first ? first : "").minor < 33,
    };
    return ek_apiserver_add_peer(program->server, &config, &program->peers[program->n_peers++],
                                 err);
}

static int add_peers(struct program *program, const struct options *options, struct ek_err *err)
{
    char *peers = ek_xstrdup(options->peers ? options->peers : "cp-a=1.36.2");
    char *addresses = ek_xstrdup(options->addresses ? options->addresses : "");
    char *peer_save = NULL, *address_save = NULL, fallback[32];
    int code = 0;
    char *address = strtok_r(addresses, ",", &address_save);

    for (char *text = strtok_r(peers, ",", &peer_save); text && code == 0;
         text = strtok_r(NULL, ",", &peer_save)) {
        snprintf(fallback, sizeof(fallback), "127.0.0.%zu", 11 + program->n_peers);
        code = add_peer(program, text, address ? address : fallback, options, err);
        address = address ? strtok_r(NULL, ",", &address_save) : NULL;
    }
    ek_free(peers);
    ek_free(addresses);
    return code;
}

/* "user=token:group+group" */
static int add_user(struct program *program, char *text, struct ek_err *err)
{
    char *token = strchr(text, '='), *groups;

    if (!token || program->n_users == USERS_MAX)
        return ek_err_set(err, EK_E_INVAL, "--tokens: \"%s\" is not user=token[:groups]", text);
    *token++ = '\0';
    groups = strchr(token, ':');
    if (groups)
        *groups++ = '\0';
    for (char *p = groups; p && *p; p++)
        *p = *p == '+' ? ' ' : *p;
    ek_apiserver_add_token(program->server, token, text, groups, NULL);
    program->users[program->n_users] = ek_xstrdup(text);
    program->tokens[program->n_users++] = ek_xstrdup(token);
    return 0;
}

static int add_users(struct program *program, const struct options *options, struct ek_err *err)
{
    char random[33], *save = NULL;
    int code = 0;

    random_token(random);
    char *text = options->tokens ? ek_xstrdup(options->tokens)
                                 : ek_xasprintf("admin=%s:system:masters", random);
    for (char *user = strtok_r(text, ",", &save); user && code == 0;
         user = strtok_r(NULL, ",", &save))
        code = add_user(program, user, err);
    ek_free(text);
    return code;
}

static void on_signal_closed(uv_handle_t *handle)
{
    (void)handle;
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct program *program = handle->data;

    (void)number;
    if (uv_is_closing((uv_handle_t *)handle))
        return;
    for (int i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&program->signals[i], on_signal_closed);
    ek_apishell_close(program->shell, NULL, NULL);
}

static int serve(struct program *program, const struct options *options, struct ek_err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    int code = 0;

    for (size_t i = 0; i < program->n_peers && code == 0; i++) {
        code = ek_apishell_start_peer(program->shell, program->peers[i], err);
        char *url = ek_apishell_url(program->peers[i]);
        if (code == 0)
            printf("%s %s\n", ek_apiserver_peer_name(program->peers[i]), url);
        ek_free(url);
    }
    if (code == 0)
        code = ek_apishell_write_kubeconfig(
            program->shell, options->kubeconfig, (const char *const *)program->users,
            (const char *const *)program->tokens, program->n_users, err);
    for (int i = 0; i < 2 && code == 0; i++) {
        uv_signal_init(&program->loop, &program->signals[i]);
        program->signals[i].data = program;
        uv_signal_start(&program->signals[i], on_signal, numbers[i]);
    }
    if (code == 0) {
        printf("kubeconfig %s\n", options->kubeconfig);
        fflush(stdout);
    } else {
        ek_apishell_close(program->shell, NULL, NULL);
    }
    uv_run(&program->loop, UV_RUN_DEFAULT);
    return code;
}

static int64_t wall_ms(void)
{
    uv_timeval64_t now;

    uv_gettimeofday(&now);
    return now.tv_sec * 1000 + now.tv_usec / 1000;
}

int main(int argc, char **argv)
{
    struct program program = {0};
    struct options options;
    struct ek_err err = {0};
    int stop = parse_options(argc, argv, &options);

    if (stop)
        return stop - 1;
    signal(SIGPIPE, SIG_IGN);
    FILE *audit = options.audit ? fopen(options.audit, "a") : NULL;
    if (options.audit && !audit) {
        ek_err_set(&err, EK_E_IO, "cannot open %s", options.audit);
        return fail(&err);
    }
    uv_loop_init(&program.loop);
    const struct ek_apiserver_config config = {
        .window = options.window, .seed = options.seed, .rbac = options.rbac};
    program.server = ek_apiserver_new(&config, wall_ms());
    const struct ek_apishell_config shell = {
        .loop = &program.loop, .server = program.server, .audit = audit, .seed = options.seed};
    int code = add_peers(&program, &options, &err);
    if (code == 0)
        code = add_users(&program, &options, &err);
    if (code == 0)
        code = ek_apishell_new(&shell, &program.shell, &err);
    if (code == 0)
        code = serve(&program, &options, &err);
    for (size_t i = 0; i < program.n_users; i++) {
        ek_free(program.users[i]);
        ek_free(program.tokens[i]);
    }
    ek_apiserver_free(program.server);
    uv_loop_close(&program.loop);
    if (audit)
        fclose(audit);
    return code < 0 ? fail(&err) : EXIT_SUCCESS;
}
