/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `evenkeel proxy kubeconfig`: prints a kubeconfig for clients of the proxy.
 *
 * Cluster: the address of the proxy and its certificate authorities. User: that of the present
 * context. Paths are copied. What is or may hold a secret (a token, a password, the data of a key,
 * a plugin with arguments or an environment) is copied only where that is chosen; without it the
 * context names the user, and the user comes from the other kubeconfig (KUBECONFIG=new:old).
 */
#ifndef CONTROLLER_RUN_PROXY_KUBECONFIG_H
#define CONTROLLER_RUN_PROXY_KUBECONFIG_H

#include "api/base/buf.h"
#include "controller/cli/commands.h"
#include "informers/client/kubeconfig.h"

extern const struct ek_command ek_proxy_kubeconfig_command;

/* What a kubeconfig is made of; borrowed. */
struct ek_proxy_kubeconfig {
    const char *server;                  /* URL of the proxy */
    const char *authorities;             /* PEM; NULL: those of the system */
    const char *tls_server_name;         /* NULL: the host of the server */
    const struct ek_client_config *user; /* whose user is taken over */
    bool with_secrets;
};

/* Appends the kubeconfig in YAML. Errors: those of ek_yaml_write. */
int ek_proxy_kubeconfig_write(const struct ek_proxy_kubeconfig *kubeconfig, struct ek_buf *out,
                              struct ek_err *err);

#endif
