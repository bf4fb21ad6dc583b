/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cert_watcher.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "informers/file.h"

#define POLL_MS       10000
#define FILE_MAX_SIZE ((size_t)1024 * 1024)

/* File events come in bursts, and a pair is replaced one file after the other. */
#define SETTLE_MS 100

/* What one reading found. Filled by any thread. */
struct reading {
    struct ssl_ctx_st *context; /* NULL when unchanged or failed */
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct ek_err err; /* code 0 when it was good */
};

struct ek_cert_watcher {
    struct ek_cert_watcher_config config;
    char *cert_path, *key_path; /* owned */
    struct ek_tls_identity *identity;
    uv_timer_t poll;
    uv_timer_t settle;
    uv_fs_event_t event;
    uv_work_t work;
    struct reading reading;                     /* of the work under way */
    unsigned char digest[SHA256_DIGEST_LENGTH]; /* of the pair in use */
    bool working, again, closing;
    int n_handles;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

static void digest_pair(struct ek_str cert, struct ek_str key, unsigned char *digest)
{
    unsigned char both[2 * SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *)cert.p, cert.len, both);
    SHA256((const unsigned char *)key.p, key.len, both + SHA256_DIGEST_LENGTH);
    SHA256(both, sizeof both, digest);
}

/* Reads the pair; makes a context only when it differs from what known is the digest of. */
static void read_pair(const struct ek_cert_watcher *watcher, const unsigned char *known,
                      struct reading *ret_reading)
{
    char *cert = NULL, *key = NULL;
    size_t cert_size = 0, key_size = 0;
    struct ek_err *err = &ret_reading->err;

    *ret_reading = (struct reading){0};
    int rc = ek_file_read(watcher->cert_path, FILE_MAX_SIZE, &cert, &cert_size, err);
    if (!rc)
        rc = ek_file_read(watcher->key_path, FILE_MAX_SIZE, &key, &key_size, err);
    if (!rc) {
        struct ek_str cert_text = {cert, cert_size}, key_text = {key, key_size};
        digest_pair(cert_text, key_text, ret_reading->digest);
        if (!known || memcmp(known, ret_reading->digest, SHA256_DIGEST_LENGTH) != 0)
            ek_tls_context_new(cert_text, key_text, watcher->cert_path, &ret_reading->context, err);
    }
    if (key)
        OPENSSL_cleanse(key, key_size);
    ek_free(cert);
    ek_free(key);
}

/* Puts a reading to use and tells about it. */
static void take(struct ek_cert_watcher *watcher, struct reading *reading)
{
    bool changed = reading->context != NULL;

    if (changed) {
        memcpy(watcher->digest, reading->digest, sizeof watcher->digest);
        ek_tls_identity_set(watcher->identity, reading->context);
        reading->context = NULL;
    }
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
    ek_free(watcher->cert_path);
    ek_free(watcher->key_path);
    ek_free(watcher);
    if (on_closed)
        on_closed(ctx);
}

static void on_work(uv_work_t *work)
{
    struct ek_cert_watcher *watcher = work->data;
    read_pair(watcher, watcher->digest, &watcher->reading);
}

static void start_work(struct ek_cert_watcher *watcher);

static void on_worked(uv_work_t *work, int status)
{
    struct ek_cert_watcher *watcher = work->data;

    watcher->working = false;
    if (watcher->closing) {
        ek_tls_context_free(watcher->reading.context);
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

/* Watches the directory: Secrets are replaced by moving a symbolic link inside it. */
static void watch_directory(struct ek_cert_watcher *watcher)
{
    const char *slash = strrchr(watcher->cert_path, '/');
    EK_AUTOFREE char *dir =
        slash ? ek_xstrndup(watcher->cert_path, (size_t)(slash - watcher->cert_path) + 1)
              : ek_xstrdup(".");

    uv_fs_event_start(&watcher->event, on_event, dir, 0); /* without it, polling remains */
}

int ek_cert_watcher_new(uv_loop_t *loop, const struct ek_cert_watcher_config *config,
                        struct ek_tls_identity *identity, struct ek_cert_watcher **ret_watcher,
                        struct ek_err *err)
{
    struct ek_cert_watcher *watcher = ek_xalloc(sizeof *watcher);
    struct reading first;

    watcher->config = *config;
    watcher->cert_path = ek_xstrdup(config->cert_path);
    watcher->key_path = ek_xstrdup(config->key_path);
    watcher->identity = identity;
    read_pair(watcher, NULL, &first);
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

void ek_cert_watcher_poke(struct ek_cert_watcher *watcher)
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
