/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of `evenkeel proxy --impersonate`: puts the Authorization of the client configuration
 * on the board, and keeps it fresh (informers/client/credentials.h). A certificate of the
 * configuration goes with connections instead, and then no Authorization is sent. Threading: the
 * loop's thread.
 */
#ifndef CONTROLLER_RUN_PROXY_ACCOUNT_H
#define CONTROLLER_RUN_PROXY_ACCOUNT_H

#include <uv.h>

#include "controller/proxy/board.h"
#include "controller/telemetry/log.h"
#include "informers/client/kubeconfig.h"

struct ek_proxy_account;

/* config and board are borrowed until the loop has run after the close. Errors: EK_E_INVAL for a
 * configuration that names no credentials, a certificate half as a file, or a user to impersonate;
 * EK_E_UNSUPPORTED for a plugin; those of ek_credentials_new. */
int ek_proxy_account_new(uv_loop_t *loop, const struct ek_client_config *config,
                         struct ek_proxy_board *board, struct ek_log *log,
                         struct ek_proxy_account **ret_account, struct ek_err *err);

/* NULL is fine. Frees it once the loop has run. */
void ek_proxy_account_close(struct ek_proxy_account *account);

#endif
