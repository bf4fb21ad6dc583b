/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credential plugins: running users[].user.exec of a kubeconfig and reading its output.
 *
 * The protocol is client.authentication.k8s.io v1 and v1beta1: the plugin gets the
 * cluster in the variable KUBERNETES_EXEC_INFO and prints one ExecCredential object. The formatting
 * and the parsing are pure; the run is a child process on the loop with a deadline and bounded
 * output. A plugin never gets our terminal: its standard input is empty, its session its own.
 *
 * Ownership and threading: a run belongs to the loop thread and to its caller until it is closed.
 */
#ifndef INFORMERS_CLIENT_EXEC_CREDENTIAL_H
#define INFORMERS_CLIENT_EXEC_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "api/base/err.h"
#include "informers/client/kubeconfig.h"

#define EK_EXEC_OUTPUT_MAX  ((size_t)1 << 20) /* of standard output; more is an error */
#define EK_EXEC_STDERR_MAX  ((size_t)4096)    /* kept for the error message */
#define EK_EXEC_DEADLINE_MS 60000

/* The credential that a plugin printed. Strings are owned, NULL where absent. */
struct ek_exec_credential {
    char *token;
    char *cert; /* PEM; cert and key come together or not at all */
    char *key;
    int64_t expires_ms; /* EK_TIME_UNSET when it does not expire */
};

void ek_exec_credential_done(struct ek_exec_credential *credential);
EK_CLEANUP(ek_exec_credential, ek_exec_credential_done)

/*
 * Reads an ExecCredential of the given apiVersion. Errors: EK_E_PARSE, EK_E_NOMEM; the message
 * never quotes what was read. Pure.
 */
int ek_exec_credential_parse(const char *json, size_t len, const char *api_version,
                             struct ek_exec_credential *ret_credential, struct ek_err *err);

/* Returns the value of KUBERNETES_EXEC_INFO, owned. ca_pem is the cluster's CA, NULL for none.
 * Pure. */
char *ek_exec_info_format(const struct ek_client_config *config, const char *ca_pem);

struct ek_exec_run;

/* Called once from the loop, with either the credential or the error; both are borrowed. */
typedef void (*ek_exec_fn)(void *ctx, const struct ek_exec_credential *credential,
                           const struct ek_err *err);

/* Starts config->exec, to be killed after deadline_ms. config must outlive the run. */
struct ek_exec_run *ek_exec_run_start(uv_loop_t *loop, const struct ek_client_config *config,
                                      const char *ca_pem, int64_t deadline_ms, ek_exec_fn fn,
                                      void *ctx);

/* Ends the run, killing the plugin if it still runs; fn is not called any more. on_closed is called
 * from the loop once nothing of the run is left. May be called inside fn. */
void ek_exec_run_close(struct ek_exec_run *run, void (*on_closed)(void *ctx), void *ctx);

#endif
