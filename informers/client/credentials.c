/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/time.h"
#include "informers/client/exec_credential.h"
#include "informers/client/file.h"
#include "informers/client/tls_material.h"

/* What one reading of files gives; made on a worker thread, or at start-up. */
struct reading {
    char *token, *ca, *cert, *key;
    X509_STORE *roots;
    struct ek_err token_err, tls_err; /* code 0 when that part was read well */
};

struct job {
    uv_work_t work;
    struct ek_credentials *owner;
    bool token, tls; /* what is to be read */
    int64_t started_ms;
    struct reading result;
};

struct ek_credentials {
    uv_loop_t *loop;
    const struct ek_client_config *config;
    struct ek_auth *auth; /* current snapshot; NULL while a plugin has given nothing yet */

    struct job *job; /* files being read, or NULL */
    int64_t token_read_ms, tls_read_ms;
    bool token_refused; /* the token file is being read because the server said 401 */

    struct ek_exec_run *run; /* plugin under way, or NULL */
    int64_t run_started_ms;
    uint64_t run_started_uv;
    int64_t plugin_expires_ms;
    int64_t plugin_failed_ms; /* EK_TIME_UNSET unless the last run failed */
    bool plugin_known, plugin_refused;
    struct ek_err plugin_err;

    void (*observer)(void *ctx);
    void *observer_ctx;

    uv_timer_t life; /* never started: its close makes on_closed come from the loop */
    bool closing;
    unsigned n_open; /* job, run and life that are still to end once closing */
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static struct ek_auth *auth_ref(struct ek_auth *auth)
{
    if (auth)
        auth->refs++;
    return auth;
}

void ek_auth_unref(struct ek_auth *auth)
{
    if (!auth || --auth->refs)
        return;
    ek_secret_free(auth->authorization);
    ek_free(auth->cert);
    ek_secret_free(auth->key);
    ek_free(auth->ca);
    X509_STORE_free(auth->roots);
    ek_free(auth);
}

static void reading_done(struct reading *reading)
{
    ek_secret_free(reading->token);
    ek_free(reading->ca);
    ek_free(reading->cert);
    ek_secret_free(reading->key);
    X509_STORE_free(reading->roots);
}

EK_CLEANUP(reading, reading_done)

/* Reads a token file: surrounding blanks do not count, anything but visible ASCII inside would
 * break out of the header it is sent in. */
static int read_token(const char *path, char **ret_token, struct ek_err *err)
{
    char *text = NULL;
    int rc = ek_file_read(path, EK_CREDENTIAL_FILE_MAX, &text, NULL, err);

    if (rc)
        return rc;
    char *start = text + strspn(text, " \t\r\n");
    size_t len = strcspn(start, " \t\r\n");
    if (!len)
        rc = ek_err_set(err, EK_E_PARSE, "the token file %s is empty", path);
    for (size_t i = 0; !rc && i < len; i++)
        if ((unsigned char)start[i] <= 0x20 || (unsigned char)start[i] >= 0x7f)
            rc = ek_err_set(err, EK_E_PARSE, "%s holds characters that are not allowed in a token",
                            path);
    if (!rc && start[len + strspn(start + len, " \t\r\n")])
        rc = ek_err_set(err, EK_E_PARSE, "%s holds white space inside the token", path);
    if (!rc)
        *ret_token = ek_xstrndup(start, len);
    ek_secret_free(text);
    return rc;
}

/* Copies data, or reads file, or leaves NULL. */
static int read_pem(const char *data, const char *file, char **ret_text, struct ek_err *err)
{
    if (data)
        *ret_text = ek_xstrdup(data);
    else if (file)
        return ek_file_read(file, EK_CREDENTIAL_FILE_MAX, ret_text, NULL, err);
    return 0;
}

static int read_tls(const struct ek_client_config *config, struct reading *out)
{
    const char *ca_what = config->ca_file ? config->ca_file : "certificate-authority-data";
    const char *cert_what = config->cert_file ? config->cert_file : "client-certificate-data";
    const char *key_what = config->key_file ? config->key_file : "client-key-data";
    struct ek_err *err = &out->tls_err;
    int rc = read_pem(config->ca_data, config->ca_file, &out->ca, err);

    if (!rc && out->ca)
        rc = ek_tls_roots_parse(out->ca, ca_what, &out->roots, err);
    if (!rc)
        rc = read_pem(config->cert_data, config->cert_file, &out->cert, err);
    if (!rc)
        rc = read_pem(config->key_data, config->key_file, &out->key, err);
    if (!rc && !out->cert != !out->key)
        rc = ek_err_set(err, EK_E_INVAL, "a client certificate and its key come together");
    if (!rc && out->cert)
        rc = ek_tls_pair_check(out->cert, cert_what, out->key, key_what, err);
    return rc;
}

static char *basic_authorization(const struct ek_client_config *config)
{
    EK_AUTOFREE char *pair = ek_xasprintf("%s:%s", config->username ? config->username : "",
                                          config->password ? config->password : "");
    EK_AUTOFREE char *encoded = ek_base64_encode(pair, strlen(pair));
    return ek_xasprintf("Basic %s", encoded);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Publishes a new snapshot; takes the strings of next, and its roots. */
static void publish(struct ek_credentials *credentials, struct ek_auth next)
{
    struct ek_auth *old = credentials->auth;
    struct ek_auth *auth = ek_xalloc(sizeof *auth);
    bool same_tls =
        old && same(old->cert, next.cert) && same(old->key, next.key) && same(old->ca, next.ca);

    *auth = next;
    auth->refs = 1;
    auth->tls_generation = old ? old->tls_generation + !same_tls : 1;
    credentials->auth = auth;
    ek_auth_unref(old);
}

/* The current snapshot's content as copies to start the next one from. */
static struct ek_auth dup_current(const struct ek_credentials *credentials)
{
    const struct ek_auth *old = credentials->auth;

    if (!old)
        return (struct ek_auth){0};
    if (old->roots)
        X509_STORE_up_ref(old->roots);
    return (struct ek_auth){
        .authorization = ek_xstrdup(old->authorization),
        .cert = ek_xstrdup(old->cert),
        .key = ek_xstrdup(old->key),
        .ca = ek_xstrdup(old->ca),
        .roots = old->roots,
    };
}

static void take(char **slot, char **from)
{
    ek_secret_free(*slot);
    *slot = *from;
    *from = NULL;
}

/* Publishes what was read well of a reading. A plugin's certificate outlives re-read files. */
static void apply_reading(struct ek_credentials *credentials, struct reading *reading, bool token,
                          bool tls)
{
    struct ek_auth next = dup_current(credentials);

    if (token && !reading->token_err.code) {
        ek_secret_free(next.authorization);
        next.authorization = ek_xasprintf("Bearer %s", reading->token);
    }
    if (tls && !reading->tls_err.code) {
        take(&next.ca, &reading->ca);
        X509_STORE_free(next.roots);
        next.roots = reading->roots;
        reading->roots = NULL;
        if (reading->cert) {
            take(&next.cert, &reading->cert);
            take(&next.key, &reading->key);
        }
    }
    publish(credentials, next);
}

static int check_token(const char *token, struct ek_err *err)
{
    for (; token && *token; token++)
        if ((unsigned char)*token <= 0x20 || (unsigned char)*token >= 0x7f)
            return ek_err_set(err, EK_E_PARSE,
                              "the token holds characters that are not allowed in a bearer token");
    return 0;
}

/* Reads everything for the first time; all of it has to be good. */
static int read_first(struct ek_credentials *credentials, struct ek_err *err)
{
    const struct ek_client_config *config = credentials->config;
    EK_AUTO(reading) reading = {0};
    int rc = read_tls(config, &reading);

    if (!rc && config->token_file)
        rc = read_token(config->token_file, &reading.token, &reading.token_err);
    if (rc && reading.token_err.code && config->token) /* the token itself is there to begin with */
        rc = 0;
    if (rc) {
        if (err)
            *err = reading.tls_err.code ? reading.tls_err : reading.token_err;
        return rc;
    }
    rc = check_token(config->token, err);
    if (rc)
        return rc;
    apply_reading(credentials, &reading, reading.token != NULL, true);
    if (!reading.token && config->token)
        credentials->auth->authorization = ek_xasprintf("Bearer %s", config->token);
    else if (!reading.token && (config->username || config->password))
        credentials->auth->authorization = basic_authorization(config);
    return 0;
}

int ek_credentials_new(uv_loop_t *loop, const struct ek_client_config *config, int64_t now_ms,
                       struct ek_credentials **ret_credentials, struct ek_err *err)
{
    struct ek_credentials *credentials = ek_xalloc(sizeof *credentials);

    credentials->loop = loop;
    credentials->config = config;
    credentials->token_read_ms = credentials->tls_read_ms = now_ms;
    credentials->plugin_expires_ms = credentials->plugin_failed_ms = EK_TIME_UNSET;
    int rc = read_first(credentials, err);
    if (rc) {
        ek_auth_unref(credentials->auth);
        ek_free(credentials);
        return rc;
    }
    uv_timer_init(loop, &credentials->life);
    credentials->life.data = credentials;
    *ret_credentials = credentials;
    return 0;
}

void ek_credentials_set_observer(struct ek_credentials *credentials, void (*fn)(void *ctx),
                                 void *ctx)
{
    credentials->observer = fn;
    credentials->observer_ctx = ctx;
}

static void part_closed(void *ctx)
{
    struct ek_credentials *credentials = ctx;

    if (--credentials->n_open || !credentials->closing)
        return;
    ek_auth_unref(credentials->auth);
    if (credentials->on_closed)
        credentials->on_closed(credentials->closed_ctx);
    ek_free(credentials);
}

static void notify(struct ek_credentials *credentials)
{
    if (credentials->observer)
        credentials->observer(credentials->observer_ctx);
}

/* On a worker thread: touches the job and the configuration, which is constant. */
static void job_work(uv_work_t *work)
{
    struct job *job = work->data;
    const struct ek_client_config *config = job->owner->config;

    if (job->token)
        read_token(config->token_file, &job->result.token, &job->result.token_err);
    if (job->tls)
        read_tls(config, &job->result);
}

/* The time to note for a reading: one that failed is due again soon. */
static int64_t read_at(const struct job *job, const struct ek_err *err, int64_t period)
{
    return err->code ? job->started_ms - period + EK_CREDENTIALS_RETRY_MS : job->started_ms;
}

static void job_done(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct ek_credentials *credentials = job->owner;

    credentials->job = NULL;
    if (!credentials->closing && status == 0) {
        apply_reading(credentials, &job->result, job->token, job->tls);
        if (job->token) {
            credentials->token_read_ms =
                read_at(job, &job->result.token_err, EK_CREDENTIALS_TOKEN_MS);
            credentials->token_refused = false;
        }
        if (job->tls)
            credentials->tls_read_ms = read_at(job, &job->result.tls_err, EK_CREDENTIALS_TLS_MS);
        notify(credentials);
    }
    reading_done(&job->result);
    ek_free(job);
    if (credentials->closing)
        part_closed(credentials);
}

/* True when a period has passed since then, or the wall clock was set back. */
static bool is_due(int64_t now_ms, int64_t then_ms, int64_t period_ms)
{
    return now_ms < then_ms || now_ms - then_ms >= period_ms;
}

static void start_reading(struct ek_credentials *credentials, int64_t now_ms)
{
    const struct ek_client_config *config = credentials->config;
    bool token =
        config->token_file && (credentials->token_refused ||
                               is_due(now_ms, credentials->token_read_ms, EK_CREDENTIALS_TOKEN_MS));
    bool tls = (config->ca_file || config->cert_file || config->key_file) &&
               is_due(now_ms, credentials->tls_read_ms, EK_CREDENTIALS_TLS_MS);

    if (credentials->job || (!token && !tls))
        return;
    struct job *job = ek_xalloc(sizeof *job);
    job->work.data = job;
    job->owner = credentials;
    job->token = token;
    job->tls = tls;
    job->started_ms = now_ms;
    if (uv_queue_work(credentials->loop, &job->work, job_work, job_done))
        ek_free(job);
    else
        credentials->job = job;
}

static int apply_plugin(struct ek_credentials *credentials,
                        const struct ek_exec_credential *credential, struct ek_err *err)
{
    int rc = check_token(credential->token, err);

    if (!rc && credential->cert)
        rc =
            ek_tls_pair_check(credential->cert, "its certificate", credential->key, "its key", err);
    if (rc) {
        ek_err_prefix(err, "credential plugin %s", credentials->config->exec->command);
        return rc;
    }
    struct ek_auth next = dup_current(credentials);
    if (credential->token) {
        ek_secret_free(next.authorization);
        next.authorization = ek_xasprintf("Bearer %s", credential->token);
    }
    if (credential->cert) {
        ek_free(next.cert);
        ek_secret_free(next.key);
        next.cert = ek_xstrdup(credential->cert);
        next.key = ek_xstrdup(credential->key);
    }
    publish(credentials, next);
    credentials->plugin_expires_ms = credential->expires_ms;
    credentials->plugin_known = true;
    return 0;
}

static void on_plugin(void *ctx, const struct ek_exec_credential *credential,
                      const struct ek_err *err)
{
    struct ek_credentials *credentials = ctx;
    struct ek_exec_run *run = credentials->run;
    struct ek_err failure = {0};
    int rc;

    credentials->run = NULL;
    credentials->n_open++;
    ek_exec_run_close(run, part_closed, credentials);
    rc = err ? err->code : apply_plugin(credentials, credential, &failure);
    credentials->plugin_refused = false;
    credentials->plugin_failed_ms = EK_TIME_UNSET;
    if (rc) {
        /* The caller's clock at the start, moved on by the loop's; the two may differ a little. */
        credentials->plugin_failed_ms =
            credentials->run_started_ms +
            (int64_t)(uv_now(credentials->loop) - credentials->run_started_uv);
        credentials->plugin_known = false;
        credentials->plugin_err = err ? *err : failure;
    }
    notify(credentials);
}

static bool plugin_is_needed(const struct ek_credentials *credentials, int64_t now_ms)
{
    int64_t expires = credentials->plugin_expires_ms;

    return credentials->config->exec &&
           (!credentials->plugin_known || credentials->plugin_refused ||
            (expires != EK_TIME_UNSET && now_ms >= expires));
}

static enum ek_credentials_state get_plugin(struct ek_credentials *credentials, int64_t now_ms,
                                            struct ek_err *err)
{
    if (credentials->run)
        return EK_CREDENTIALS_PENDING;
    if (credentials->plugin_failed_ms != EK_TIME_UNSET &&
        llabs(now_ms - credentials->plugin_failed_ms) < EK_CREDENTIALS_RETRY_MS) {
        if (err)
            *err = credentials->plugin_err;
        return EK_CREDENTIALS_FAILED;
    }
    credentials->run_started_ms = now_ms;
    credentials->run_started_uv = uv_now(credentials->loop);
    credentials->run =
        ek_exec_run_start(credentials->loop, credentials->config, credentials->auth->ca,
                          EK_EXEC_DEADLINE_MS, on_plugin, credentials);
    return EK_CREDENTIALS_PENDING;
}

enum ek_credentials_state ek_credentials_get(struct ek_credentials *credentials, int64_t now_ms,
                                             struct ek_auth **ret_auth, struct ek_err *err)
{
    if (credentials->closing) {
        ek_err_set(err, EK_E_CANCELED, "the client is closing");
        return EK_CREDENTIALS_FAILED;
    }
    start_reading(credentials, now_ms);
    if (credentials->token_refused && credentials->job)
        return EK_CREDENTIALS_PENDING;
    if (plugin_is_needed(credentials, now_ms))
        return get_plugin(credentials, now_ms, err);
    *ret_auth = auth_ref(credentials->auth);
    return EK_CREDENTIALS_READY;
}

int64_t ek_credentials_not_after(const struct ek_credentials *credentials)
{
    const struct ek_auth *auth = credentials->auth;

    return auth && auth->cert ? ek_tls_pem_not_after(auth->cert) : EK_TIME_UNSET;
}

bool ek_credentials_refused(struct ek_credentials *credentials, const struct ek_auth *used)
{
    const struct ek_auth *now = credentials->auth;

    if (credentials->closing)
        return false;
    if (!same(now->authorization, used->authorization) ||
        now->tls_generation != used->tls_generation)
        return true;
    if (credentials->config->exec)
        credentials->plugin_refused = true;
    else if (credentials->config->token_file)
        credentials->token_refused = true;
    else
        return false;
    return true;
}

static void on_life_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

void ek_credentials_close(struct ek_credentials *credentials, void (*on_closed)(void *ctx),
                          void *ctx)
{
    credentials->closing = true;
    credentials->observer = NULL;
    credentials->on_closed = on_closed;
    credentials->closed_ctx = ctx;
    credentials->n_open++;
    uv_close((uv_handle_t *)&credentials->life, on_life_closed);
    if (credentials->job) {
        credentials->n_open++;
        uv_cancel((uv_req_t *)&credentials->job->work);
    }
    if (credentials->run) {
        credentials->n_open++;
        ek_exec_run_close(credentials->run, part_closed, credentials);
        credentials->run = NULL;
    }
}
