/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_account.h"

#include "api/base/time.h"
#include "informers/client/credentials.h"
#include "informers/clock.h"

/* Between two looks whether a token file is to be read again, which happens after 50 s
 * (EK_CREDENTIALS_TOKEN_MS). */
#define LOOK_MS 5000

struct ek_proxy_account {
    struct ek_credentials *credentials;
    struct ek_proxy_board *board;
    struct ek_log *log;
    uv_timer_t timer;
    int n_open; /* timer and credentials */
};

static int check(const struct ek_client_config *config, struct ek_err *err)
{
    bool has_file = config->cert_file != NULL, has_text = config->cert_data != NULL;

    if (config->exec)
        return ek_err_set(err, EK_E_UNSUPPORTED,
                          "--impersonate needs a token or a certificate, and no plugin, in the "
                          "client configuration");
    if (config->as_user)
        return ek_err_set(err, EK_E_INVAL,
                          "--impersonate: the client configuration itself impersonates a user");
    if ((has_file && !config->key_file) || (has_text && !config->key_data))
        return ek_err_set(
            err, EK_E_INVAL,
            "--impersonate: the client certificate and its key must both be files, or "
            "both be in the client configuration");
    if (!has_file && !has_text && !config->token && !config->token_file && !config->username)
        return ek_err_set(err, EK_E_INVAL,
                          "--impersonate: the client configuration names no credentials");
    return 0;
}

static void look(struct ek_proxy_account *account)
{
    EK_AUTOPTR(ek_auth, ek_auth_unref) *auth = NULL;
    struct ek_err err = {0};

    switch (ek_credentials_get(account->credentials, ek_wall_ms(), &auth, &err)) {
    case EK_CREDENTIALS_READY:
        ek_proxy_board_set_account(account->board, auth->cert ? "" : auth->authorization);
        break;
    case EK_CREDENTIALS_FAILED:
        ek_log_error_limited(account->log, &err, 1, 60000,
                             "Cannot read the credentials of the proxy");
        ek_proxy_board_set_account(account->board, NULL);
        break;
    default: /* the observer is called later */
        break;
    }
}

static void on_refreshed(void *ctx)
{
    look(ctx);
}

static void on_timer(uv_timer_t *timer)
{
    look(timer->data);
}

int ek_proxy_account_new(uv_loop_t *loop, const struct ek_client_config *config,
                         struct ek_proxy_board *board, struct ek_log *log,
                         struct ek_proxy_account **ret_account, struct ek_err *err)
{
    struct ek_credentials *credentials = NULL;

    int rc = check(config, err);
    if (!rc)
        rc = ek_credentials_new(loop, config, ek_wall_ms(), &credentials, err);
    if (rc)
        return rc;
    struct ek_proxy_account *account = ek_xalloc(sizeof *account);
    account->credentials = credentials;
    account->board = board;
    account->log = log;
    account->n_open = 2;
    ek_credentials_set_observer(credentials, on_refreshed, account);
    uv_timer_init(loop, &account->timer);
    account->timer.data = account;
    uv_timer_start(&account->timer, on_timer, LOOK_MS, LOOK_MS);
    look(account);
    *ret_account = account;
    return 0;
}

static void released(struct ek_proxy_account *account)
{
    if (--account->n_open == 0)
        ek_free(account);
}

static void on_credentials_closed(void *ctx)
{
    released(ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    released(handle->data);
}

void ek_proxy_account_close(struct ek_proxy_account *account)
{
    if (!account)
        return;
    uv_close((uv_handle_t *)&account->timer, on_timer_closed);
    ek_credentials_close(account->credentials, on_credentials_closed, account);
}
