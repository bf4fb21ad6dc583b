/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "informers/clock.h"

#define ADMIN         "evenkeel-rehearse"
#define ADMIN_GROUP   "system:masters"
#define VERSION_MS    20000
#define RESTORE_MS    600000
#define ETCD_MS       60000
#define ARGS_MAX      (EK_REHEARSE_ARGS_MAX + 64)
#define DEFAULT_RANGE "10.96.0.0/12"

/* ---- Programs ---- */

static char *in_folder(const char *folder, size_t len, const char *name)
{
    char *path = ek_xasprintf("%.*s/%s", (int)len, folder, name);
    struct stat st;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
        return path;
    ek_free(path);
    return NULL;
}

static char *in_path(const char *name)
{
    const char *at = getenv("PATH");
    char *ret = NULL;

    while (at && *at && !ret) {
        size_t len = strcspn(at, ":");
        ret = len ? in_folder(at, len, name) : NULL;
        at += len;
        at += *at == ':';
    }
    return ret;
}

static char *find_program(const char *etcd_folder, const char *apiserver, const char *name,
                          struct ek_err *err)
{
    const char *slash = strrchr(apiserver, '/');
    char *ret = *etcd_folder ? in_folder(etcd_folder, strlen(etcd_folder), name) : NULL;

    if (!ret && !*etcd_folder && slash)
        ret = in_folder(apiserver, (size_t)(slash - apiserver), name);
    if (!ret && !*etcd_folder)
        ret = in_path(name);
    if (!ret)
        ek_err_set(err, EK_E_NOENT, "no program %s %s%s: use --etcd", name,
                   *etcd_folder ? "in " : "beside --kube-apiserver or in $PATH", etcd_folder);
    return ret;
}

static int make_certificates(struct ek_rehearse_servers *s, struct ek_err *err)
{
    static const char *const names[] = {ADMIN, "kubernetes.default.svc", "localhost", "127.0.0.1",
                                        "::1"};
    int64_t now_ms = ek_wall_ms();
    int rc = ek_cert_make_ca(now_ms, &s->authority, err);

    if (!rc)
        rc = ek_cert_make_member(&s->authority, ADMIN_GROUP, names, EK_ARRAY_SIZE(names), now_ms,
                                 &s->pair, err);
    if (!rc)
        rc = ek_rehearse_folder_write(s->folder, "ca.crt", s->authority.cert, &s->ca_file, err);
    if (!rc)
        rc = ek_rehearse_folder_write(s->folder, "server.crt", s->pair.cert, &s->cert_file, err);
    if (!rc)
        rc = ek_rehearse_folder_write(s->folder, "server.key", s->pair.key, &s->key_file, err);
    return rc;
}

int ek_rehearse_servers_open(struct ek_rehearse_servers *servers, const char *etcd_folder,
                             const char *apiserver, struct ek_err *err)
{
    servers->etcd_path = find_program(etcd_folder, apiserver, "etcd", err);
    if (!servers->etcd_path)
        return EK_E_NOENT;
    servers->etcdutl_path = find_program(etcd_folder, apiserver, "etcdutl", err);
    if (!servers->etcdutl_path)
        return EK_E_NOENT;
    servers->etcd_port = ek_rehearse_network_port();
    servers->peer_port = ek_rehearse_network_port();
    return make_certificates(servers, err);
}

/* Ends a process, and reads the rest of its log. */
static void end_child(struct ek_rehearse_servers *s, struct ek_rehearse_child *child)
{
    ek_rehearse_child_end(child);
    while (child->out_open)
        ek_rehearse_ask_turn(s->ask);
}

void ek_rehearse_servers_close(struct ek_rehearse_servers *servers)
{
    ek_rehearse_servers_end(servers);
    if (servers->etcd_client)
        ek_rehearse_ask_drop(servers->ask, servers->etcd_client);
    servers->etcd_client = NULL;
    if (servers->ask && servers->ask->open)
        end_child(servers, &servers->etcd);
    ek_cert_pair_done(&servers->authority);
    ek_cert_pair_done(&servers->pair);
    ek_free(servers->ca_file);
    ek_free(servers->cert_file);
    ek_free(servers->key_file);
    ek_free(servers->etcd_path);
    ek_free(servers->etcdutl_path);
}

/* The last line of a log, for an error. */
static const char *last_line(const struct ek_rehearse_log *log)
{
    size_t kept = log->n < EK_REHEARSE_LINES ? log->n : EK_REHEARSE_LINES;

    return *log->refusal ? log->refusal : kept ? ek_rehearse_log_line(log, kept - 1) : "no output";
}

/* Runs a program to its end, and its log with it. */
static int run_program(struct ek_rehearse_servers *s, const char *const *argv, int64_t timeout_ms,
                       struct ek_err *err)
{
    struct ek_rehearse_child *child = &s->server;
    int64_t end_ms = ek_monotonic_ms() + timeout_ms;
    int rc = ek_rehearse_child_start(child, &s->ask->loop, argv, s->folder->path, err);

    if (rc)
        return rc;
    while ((ek_rehearse_child_runs(child) || child->out_open) && ek_monotonic_ms() < end_ms &&
           !ek_rehearse_ask_ended(s->ask))
        ek_rehearse_ask_turn(s->ask);
    bool ended = !ek_rehearse_child_runs(child);
    end_child(s, child);
    if (!ended)
        return ek_err_set(err, EK_E_TIMEOUT, "%s did not end in time", argv[0]);
    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0)
        return 0;
    return ek_err_set(err, EK_E_IO, "%s failed: %.500s", argv[0], last_line(&child->log));
}

int ek_rehearse_servers_version(struct ek_rehearse_servers *servers, const char *program,
                                char *ret_text, size_t size, struct ek_err *err)
{
    const char *argv[] = {program, "--version", NULL};
    int rc = run_program(servers, argv, VERSION_MS, err);

    if (rc)
        return rc;
    const char *line = ek_rehearse_log_line(&servers->server.log, 0);
    snprintf(ret_text, size, "%s", line ? line : "");
    return 0;
}

/* ---- etcd ---- */

/* Restores into *data, an owned path, which may become another one. */
static int restore(struct ek_rehearse_servers *s, const char *copy, char **data, const char *peer,
                   struct ek_err *err)
{
    EK_AUTOFREE char *cluster = ek_xasprintf("--initial-cluster=rehearse=%s", peer);
    EK_AUTOFREE char *advertise = ek_xasprintf("--initial-advertise-peer-urls=%s", peer);
    EK_AUTOFREE char *to = ek_xasprintf("--data-dir=%s", *data);
    EK_AUTOFREE char *to_other = ek_xasprintf("%s-unhashed", to);
    const char *argv[] = {s->etcdutl_path,   "snapshot", "restore", copy, to,
                          "--name=rehearse", cluster,    advertise, NULL, NULL};
    int rc = run_program(s, argv, RESTORE_MS, err);

    /* A copy of member/snap/db has no hash behind it. */
    if (rc && strstr(err->message, "skip-hash-check")) {
        char *other = ek_xasprintf("%s-unhashed", *data); /* the first folder has remains */
        ek_free(*data);
        *data = other;
        argv[4] = to_other;
        argv[8] = "--skip-hash-check";
        rc = run_program(s, argv, RESTORE_MS, err);
    }
    return rc;
}

static bool etcd_is_ready(struct ek_rehearse_servers *s)
{
    struct ek_err err;
    yyjson_doc *doc =
        ek_rehearse_ask_one(s->ask, s->etcd_client, &(struct ek_request){.path = "/health"}, &err);

    yyjson_doc_free(doc);
    return doc != NULL;
}

static int start_etcd(struct ek_rehearse_servers *s, const char *data, const char *peer,
                      struct ek_err *err)
{
    EK_AUTOFREE char *data_flag = ek_xasprintf("--data-dir=%s", data);
    EK_AUTOFREE char *listen =
        ek_xasprintf("--listen-client-urls=https://127.0.0.1:%d", s->etcd_port);
    EK_AUTOFREE char *advertise =
        ek_xasprintf("--advertise-client-urls=https://127.0.0.1:%d", s->etcd_port);
    EK_AUTOFREE char *peer_listen = ek_xasprintf("--listen-peer-urls=%s", peer);
    EK_AUTOFREE char *peer_advertise = ek_xasprintf("--initial-advertise-peer-urls=%s", peer);
    EK_AUTOFREE char *cluster = ek_xasprintf("--initial-cluster=rehearse=%s", peer);
    EK_AUTOFREE char *cert = ek_xasprintf("--cert-file=%s", s->cert_file);
    EK_AUTOFREE char *key = ek_xasprintf("--key-file=%s", s->key_file);
    EK_AUTOFREE char *ca = ek_xasprintf("--trusted-ca-file=%s", s->ca_file);
    EK_AUTOFREE char *peer_cert = ek_xasprintf("--peer-cert-file=%s", s->cert_file);
    EK_AUTOFREE char *peer_key = ek_xasprintf("--peer-key-file=%s", s->key_file);
    EK_AUTOFREE char *peer_ca = ek_xasprintf("--peer-trusted-ca-file=%s", s->ca_file);
    const char *argv[] = {s->etcd_path,
                          "--name=rehearse",
                          data_flag,
                          listen,
                          advertise,
                          peer_listen,
                          peer_advertise,
                          cluster,
                          cert,
                          key,
                          ca,
                          peer_cert,
                          peer_key,
                          peer_ca,
                          "--client-cert-auth",
                          "--peer-client-cert-auth",
                          "--unsafe-no-fsync",
                          "--quota-backend-bytes=8589934592",
                          "--max-request-bytes=16777216", /* JSON is larger than protobuf */
                          "--log-level=warn",
                          NULL};
    return ek_rehearse_child_start(&s->etcd, &s->ask->loop, argv, s->folder->path, err);
}

int ek_rehearse_servers_etcd(struct ek_rehearse_servers *servers, const char *snapshot,
                             struct ek_err *err)
{
    struct ek_rehearse_servers *s = servers;
    EK_AUTOFREE char *data = ek_xasprintf("%s/etcd", s->folder->path);
    EK_AUTOFREE char *peer = ek_xasprintf("https://127.0.0.1:%d", s->peer_port);
    EK_AUTOFREE char *copy = NULL;
    int rc = 0;

    if (*snapshot)
        rc = ek_rehearse_folder_copy(s->folder, snapshot, "snapshot.db", &copy, err);
    if (!rc && *snapshot) {
        rc = restore(s, copy, &data, peer, err);
        unlink(copy);
    }
    if (!rc)
        rc = start_etcd(s, data, peer, err);
    if (rc)
        return rc;
    s->etcd_client = ek_rehearse_ask_client(s->ask, s->etcd_port, s->authority.cert, &s->pair, err);
    if (!s->etcd_client)
        return err->code;
    int64_t end_ms = ek_monotonic_ms() + ETCD_MS;
    while (ek_monotonic_ms() < end_ms && ek_rehearse_child_runs(&s->etcd) &&
           !ek_rehearse_ask_ended(s->ask)) {
        if (etcd_is_ready(s))
            return 0;
        ek_rehearse_ask_turn(s->ask);
    }
    return ek_err_set(err, EK_E_TIMEOUT, "etcd does not start: %.500s", last_line(&s->etcd.log));
}

/* ---- API servers ---- */

/* The arguments of an API server; the texts live in arena. */
struct argv {
    struct ek_arena *arena;
    const char *list[ARGS_MAX + 1];
    size_t n;
};

static void add_flag(struct argv *argv, const char *name, const char *value)
{
    if (argv->n < ARGS_MAX)
        argv->list[argv->n++] = ek_arena_printf(argv->arena, "--%s=%s", name, value);
}

static void add_version(struct argv *argv, const char *name, struct ek_minor version)
{
    char text[EK_MINOR_SIZE];

    add_flag(argv, name, ek_minor_format(version, text));
}

static void add_own(struct argv *argv, const struct ek_rehearse_servers *s, const char *range)
{
    struct ek_arena *arena = argv->arena;

    add_flag(argv, "etcd-servers", ek_arena_printf(arena, "https://127.0.0.1:%d", s->etcd_port));
    add_flag(argv, "etcd-cafile", s->ca_file);
    add_flag(argv, "etcd-certfile", s->cert_file);
    add_flag(argv, "etcd-keyfile", s->key_file);
    add_flag(argv, "cert-dir", s->folder->path);
    add_flag(argv, "bind-address", "127.0.0.1");
    /* The family of the address has to be that of the first range. */
    add_flag(argv, "advertise-address",
             strchr(range, ':') && strchr(range, ':') < range + strcspn(range, ",") ? "::1"
                                                                                    : "127.0.0.1");
    add_flag(argv, "secure-port", ek_arena_printf(arena, "%d", s->port));
    add_flag(argv, "tls-cert-file", s->cert_file);
    add_flag(argv, "tls-private-key-file", s->key_file);
    add_flag(argv, "client-ca-file", s->ca_file);
    add_flag(argv, "service-account-issuer", "https://kubernetes.default.svc");
    add_flag(argv, "service-account-key-file", s->cert_file);
    add_flag(argv, "service-account-signing-key-file", s->key_file);
    /* The record of the cluster's API servers stays as it is. */
    add_flag(argv, "endpoint-reconciler-type", "none");
    /* A kind with an object that cannot be decoded never fills a cache: without a cache each
     * request says what is wrong. */
    add_flag(argv, "watch-cache", "false");
    add_flag(argv, "disable-admission-plugins",
             "MutatingAdmissionWebhook,ValidatingAdmissionWebhook");
}

static void make_argv(struct argv *argv, const struct ek_rehearse_servers *s, const char *program,
                      const struct ek_rehearse_flags *flags, const struct ek_rehearse_step *step,
                      const char *encryption)
{
    const char *range = ek_rehearse_flag_value(flags->list, flags->n, "service-cluster-ip-range");

    argv->list[argv->n++] = program;
    for (size_t i = 0; i < flags->n && argv->n < ARGS_MAX; i++)
        argv->list[argv->n++] = flags->list[i];
    if (!range)
        add_flag(argv, "service-cluster-ip-range", DEFAULT_RANGE);
    if (!ek_rehearse_flag_value(flags->list, flags->n, "authorization-mode"))
        add_flag(argv, "authorization-mode", "Node,RBAC");
    if (!ek_rehearse_flag_value(flags->list, flags->n, "allow-privileged"))
        add_flag(argv, "allow-privileged", "true");
    add_own(argv, s, range ? range : DEFAULT_RANGE);
    if (*encryption)
        add_flag(argv, "encryption-provider-config", encryption);
    if (step->says_emulation)
        add_version(argv, "emulated-version", step->emulation);
    if (step->says_min_compat)
        add_version(argv, "min-compatibility-version", step->min_compat);
    argv->list[argv->n] = NULL;
}

struct readiness {
    bool done, answered, ready;
};

static void on_ready(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct readiness *r = ctx;

    r->done = true;
    r->answered = response->status != 0;
    r->ready = !err;
}

static struct readiness ask_ready(struct ek_rehearse_servers *s)
{
    struct readiness r = {0};

    ek_rehearse_ask_send(s->ask, s->client,
                         &(struct ek_request){.path = "/readyz", .accept = "*/*"}, on_ready, &r);
    while (!r.done)
        ek_rehearse_ask_turn(s->ask);
    return r;
}

/* Waits for an API server that was started. */
static enum ek_rehearse_start wait_ready(struct ek_rehearse_servers *s, int64_t timeout_ms)
{
    int64_t end_ms = ek_monotonic_ms() + timeout_ms;
    bool answered = false;

    while (ek_monotonic_ms() < end_ms && ek_rehearse_child_runs(&s->server) &&
           !ek_rehearse_ask_ended(s->ask)) {
        struct readiness r = ask_ready(s);
        answered |= r.answered;
        if (r.ready)
            return EK_REHEARSE_READY;
        ek_rehearse_ask_turn(s->ask);
    }
    if (ek_rehearse_ask_ended(s->ask))
        return EK_REHEARSE_STOPPED;
    if (!ek_rehearse_child_runs(&s->server))
        return EK_REHEARSE_REFUSED_TO_START;
    return answered ? EK_REHEARSE_NOT_READY : EK_REHEARSE_HUNG;
}

enum ek_rehearse_start ek_rehearse_servers_start(struct ek_rehearse_servers *servers,
                                                 const char *program,
                                                 const struct ek_rehearse_flags *flags,
                                                 const struct ek_rehearse_step *step,
                                                 const char *encryption, int64_t timeout_ms,
                                                 struct ek_err *err)
{
    struct ek_rehearse_servers *s = servers;
    struct argv *argv = ek_xalloc(sizeof *argv);

    s->port = ek_rehearse_network_port();
    argv->arena = flags->arena;
    make_argv(argv, s, program, flags, step, encryption);
    int rc = ek_rehearse_child_start(&s->server, &s->ask->loop, argv->list, s->folder->path, err);
    ek_free(argv);
    if (rc)
        return EK_REHEARSE_STOPPED;
    s->client = ek_rehearse_ask_client(s->ask, s->port, s->authority.cert, &s->pair, err);
    enum ek_rehearse_start how = s->client ? wait_ready(s, timeout_ms) : EK_REHEARSE_STOPPED;
    if (how == EK_REHEARSE_READY || how == EK_REHEARSE_NOT_READY)
        s->ask->server = &s->server;
    else
        ek_rehearse_servers_end(s);
    return how;
}

void ek_rehearse_servers_end(struct ek_rehearse_servers *servers)
{
    if (!servers->ask || !servers->ask->open)
        return;
    servers->ask->server = NULL;
    ek_rehearse_child_end(&servers->server); /* first, so that no request waits for its time */
    ek_rehearse_ask_drain(servers->ask);
    ek_rehearse_ask_drop(servers->ask, servers->client);
    servers->client = NULL;
    end_child(servers, &servers->server);
}
