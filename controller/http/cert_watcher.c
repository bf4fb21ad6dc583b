/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/cert_watcher.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "informers/client/file.h"

#define POLL_MS       10000
#define FILE_MAX_SIZE ((size_t)1024 * 1024)

/* File events come in bursts, and a pair is replaced one file after the other. */
#define SETTLE_MS 100

enum { CERT, KEY, AUTHORITIES, N_FILES };

/* What one reading found. Filled by any thread. */
struct reading {
    struct ssl_ctx_st *context; /* all are NULL when unchanged or failed */
    struct ek_tls_clients *clients;
    void *made; /* by the config's make */
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct ek_err err; /* code 0 when it was good */
};

struct ek_cert_watcher {
    struct ek_cert_watcher_config config;
    char *paths[N_FILES]; /* owned; NULL: not read */
    struct ek_tls_identity *identity;
    uv_timer_t poll;
    uv_timer_t settle;
    uv_fs_event_t event;
    uv_work_t work;
    struct reading reading;                     /* of the work under way */
    unsigned char digest[SHA256_DIGEST_LENGTH]; /* of the files in use */
    bool working, again, closing;
    int n_handles;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

static void digest_files(const struct ek_cert_texts *texts, unsigned char *digest)
{
    const struct ek_str all[N_FILES] = {texts->cert, texts->key, texts->authorities};
    unsigned char each[N_FILES * SHA256_DIGEST_LENGTH];

    for (size_t i = 0; i < N_FILES; i++)
        SHA256((const unsigned char *)all[i].p, all[i].len, each + i * SHA256_DIGEST_LENGTH);
    SHA256(each, sizeof each, digest);
}

/* Makes of the texts what the identity, or the caller, needs. */
static void make(const struct ek_cert_watcher *watcher, const struct ek_cert_texts *texts,
                 struct reading *ret)
{
    const struct ek_cert_watcher_config *config = &watcher->config;
    const char *name = watcher->paths[CERT];

    if (config->make)
        config->make(config->ctx, texts, &ret->made, &ret->err);
    else if (watcher->paths[KEY])
        ek_tls_context_new(texts->cert, texts->key, name, &ret->context, &ret->err);
    else
        ek_tls_clients_new(texts->cert, config->client_names, config->n_client_names, name,
                           &ret->clients, &ret->err);
    if (ret->clients && config->clients_optional)
        ek_tls_clients_optional(ret->clients);
}

/* Reads the files; makes something of them only when they differ from what known is the digest of.
 */
static void read_files(const struct ek_cert_watcher *watcher, const unsigned char *known,
                       struct reading *ret_reading)
{
    char *data[N_FILES] = {NULL};
    size_t sizes[N_FILES] = {0};
    struct ek_err *err = &ret_reading->err;
    int rc = 0;

    *ret_reading = (struct reading){0};
    for (size_t i = 0; i < N_FILES && !rc; i++)
        if (watcher->paths[i])
            rc = ek_file_read(watcher->paths[i], FILE_MAX_SIZE, &data[i], &sizes[i], err);
    if (!rc) {
        const struct ek_cert_texts texts = {
            .cert = {data[CERT] ? data[CERT] : "", sizes[CERT]},
            .key = {data[KEY] ? data[KEY] : "", sizes[KEY]},
            .authorities = {data[AUTHORITIES] ? data[AUTHORITIES] : "", sizes[AUTHORITIES]}};
        digest_files(&texts, ret_reading->digest);
        if (!known || memcmp(known, ret_reading->digest, SHA256_DIGEST_LENGTH) != 0)
            make(watcher, &texts, ret_reading);
    }
    if (data[KEY])
        OPENSSL_cleanse(data[KEY], sizes[KEY]);
    for (size_t i = 0; i < N_FILES; i++)
        ek_free(data[i]);
}

/* Puts a reading to use and reports it. */
static void take(struct ek_cert_watcher *watcher, struct reading *reading)
{
    bool changed = reading->context || reading->clients || reading->made;

    if (changed)
        memcpy(watcher->digest, reading->digest, sizeof watcher->digest);
    if (reading->context)
        ek_tls_identity_set(watcher->identity, reading->context);
    if (reading->clients)
        ek_tls_identity_set_clients(watcher->identity, reading->clients);
    if (reading->made)
        watcher->config.use(watcher->config.ctx, reading->made);
    reading->context = NULL;
    reading->clients = NULL;
    reading->made = NULL;
    if (watcher->config.on_read)
        watcher->config.on_read(watcher->config.ctx, reading->err.code ? &reading->err : NULL,
                                changed);
}

static void release(struct ek_cert_watcher *watcher)
{
    if (watcher->n_handles > 0 || watcher->working)
        return;
    void (*on_closed)(void *ctx) = watcher->on_closed;
    void *ctx = watcher->on_closed_ctx;
    for (size_t i = 0; i < N_FILES; i++)
        ek_free(watcher->paths[i]);
    ek_free(watcher);
    if (on_closed)
        on_closed(ctx);
}

static void on_work(uv_work_t *work)
{
    struct ek_cert_watcher *watcher = work->data;
    read_files(watcher, watcher->digest, &watcher->reading);
}

static void start_work(struct ek_cert_watcher *watcher);

static void on_worked(uv_work_t *work, int status)
{
    struct ek_cert_watcher *watcher = work->data;

    watcher->working = false;
    if (watcher->closing) {
        ek_tls_context_free(watcher->reading.context);
        ek_tls_clients_unref(watcher->reading.clients);
        if (watcher->reading.made)
            watcher->config.drop(watcher->reading.made);
        release(watcher);
        return;
    }
    if (status == 0)
        take(watcher, &watcher->reading);
    if (watcher->again)
        start_work(watcher);
}

static void start_work(struct ek_cert_watcher *watcher)
{
    watcher->again = watcher->working;
    if (watcher->working)
        return;
    watcher->work.data = watcher;
    watcher->working = uv_queue_work(watcher->poll.loop, &watcher->work, on_work, on_worked) == 0;
}

static void on_poll(uv_timer_t *timer)
{
    start_work(timer->data);
}

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct ek_cert_watcher *watcher = event->data;

    (void)name;
    (void)events;
    if (status == 0)
        uv_timer_start(&watcher->settle, on_poll, SETTLE_MS, 0);
}

/* Watches the directory of the first file: Secrets are replaced by moving a symbolic link inside
 * it. */
static void watch_directory(struct ek_cert_watcher *watcher)
{
    const char *path = watcher->paths[CERT] ? watcher->paths[CERT] : watcher->paths[AUTHORITIES];
    const char *slash = strrchr(path, '/');
    EK_AUTOFREE char *dir = slash ? ek_xstrndup(path, (size_t)(slash - path) + 1) : ek_xstrdup(".");

    uv_fs_event_start(&watcher->event, on_event, dir, 0); /* without it, polling remains */
}

int ek_cert_watcher_new(uv_loop_t *loop, const struct ek_cert_watcher_config *config,
                        struct ek_tls_identity *identity, struct ek_cert_watcher **ret_watcher,
                        struct ek_err *err)
{
    struct ek_cert_watcher *watcher = ek_xalloc(sizeof *watcher);
    struct reading first;

    watcher->config = *config;
    const char *const paths[N_FILES] = {config->cert_path, config->key_path,
                                        config->authorities_path};
    for (size_t i = 0; i < N_FILES; i++)
        watcher->paths[i] = paths[i] ? ek_xstrdup(paths[i]) : NULL;
    watcher->identity = identity;
    read_files(watcher, NULL, &first);
    int rc = first.err.code;
    take(watcher, &first);
    if (rc) {
        if (err)
            *err = first.err;
        release(watcher);
        return rc;
    }
    int64_t poll_ms = config->poll_ms ? config->poll_ms : POLL_MS;
    uv_timer_init(loop, &watcher->poll);
    uv_timer_init(loop, &watcher->settle);
    uv_fs_event_init(loop, &watcher->event);
    watcher->poll.data = watcher->settle.data = watcher->event.data = watcher;
    watcher->n_handles = 3;
    uv_timer_start(&watcher->poll, on_poll, (uint64_t)poll_ms, (uint64_t)poll_ms);
    watch_directory(watcher);
    *ret_watcher = watcher;
    return 0;
}

void ek_cert_watcher_enqueue(struct ek_cert_watcher *watcher)
{
    start_work(watcher);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct ek_cert_watcher *watcher = handle->data;

    watcher->n_handles--;
    release(watcher);
}

void ek_cert_watcher_close(struct ek_cert_watcher *watcher, void (*on_closed)(void *ctx), void *ctx)
{
    if (!watcher) {
        if (on_closed)
            on_closed(ctx);
        return;
    }
    watcher->closing = true;
    watcher->on_closed = on_closed;
    watcher->on_closed_ctx = ctx;
    uv_close((uv_handle_t *)&watcher->poll, on_handle_closed);
    uv_close((uv_handle_t *)&watcher->settle, on_handle_closed);
    uv_close((uv_handle_t *)&watcher->event, on_handle_closed);
}
