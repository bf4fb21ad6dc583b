/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes kubeconfigs: whatever the bytes, either a configuration with a server, or an error of one
 * line that names the file and holds nothing of a secret. What a credential plugin prints goes
 * through its parser as well.
 */
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "informers/client/client-internal.h"
#include "informers/client/exec_credential.h"
#include "informers/client/kubeconfig.h"
#include "test/fuzz/fuzz.h"

#define NAME "/k/config"

static void check_error(int rc, const struct ek_err *err)
{
    if (rc >= 0 || err->code != rc || !err->message[0] || strchr(err->message, '\n'))
        abort();
}

/* The server's address is either taken apart or refused in one line. */
static void check_address(const struct ek_client_config *config)
{
    struct server_address address = {0};
    struct ek_err err = {0};
    int rc = server_address_parse__(config, &address, &err);

    if (rc) {
        check_error(rc, &err);
        return;
    }
    if (!*address.host || !*address.port || strncmp(address.origin, "http", 4) != 0 ||
        strpbrk(address.host, " /@?#\r\n"))
        abort();
    server_address_done__(&address);
}

static void check_config(const struct ek_client_config *config)
{
    struct ek_client_config *copy = ek_client_config_dup(config);

    check_address(config);
    if (!copy->server || !copy->context || copy->warnings.n > EK_KUBECONFIG_WARNINGS_MAX)
        abort();
    for (size_t i = 0; i < copy->warnings.n; i++)
        if (strchr(copy->warnings.items[i], '\n'))
            abort();
    if (copy->exec)
        ek_free(ek_exec_info_format(copy, copy->ca_data));
    ek_client_config_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const contexts[] = {NULL, "main"};
    struct ek_exec_credential credential = {.expires_ms = EK_TIME_UNSET};

    for (size_t i = 0; i < EK_ARRAY_SIZE(contexts); i++) {
        struct ek_client_config *config = NULL;
        struct ek_err err = {0};
        int rc = ek_kubeconfig_parse((const char *)data, size, NAME, contexts[i], &config, &err);
        if (rc) {
            check_error(rc, &err);
            if (config || strncmp(err.message, NAME, sizeof NAME - 1) != 0)
                abort();
            continue;
        }
        check_config(config);
        ek_client_config_free(config);
    }
    struct ek_err err = {0};
    int rc = ek_exec_credential_parse((const char *)data, size, "client.authentication.k8s.io/v1",
                                      &credential, &err);
    if (rc)
        check_error(rc, &err);
    else if (!credential.token && !credential.cert)
        abort();
    ek_exec_credential_done(&credential);
    return 0;
}
