/* SPDX-License-Identifier: Apache-2.0 */
/* A kubeconfig for kubectl and for the controller. */
#include <errno.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "test/apiserver/shell-internal.h"

static const char *peer_name(const struct ek_listener *listener)
{
    return ek_apiserver_peer_name(listener->peer);
}

/* The last listener of the list is the first that was added. */
static const struct ek_listener *first_listener(const struct ek_apishell *shell)
{
    const struct ek_listener *listener = shell->listeners;

    while (listener && listener->next)
        listener = listener->next;
    return listener;
}

static void put_clusters(const struct ek_apishell *shell, FILE *file)
{
    char *ca = ek_base64_encode(ek_pki_ca(shell->pki), strlen(ek_pki_ca(shell->pki)));

    fprintf(file, "clusters:\n");
    for (const struct ek_listener *l = shell->listeners; l; l = l->next) {
        char *url = ek_apishell_url(l->peer);
        fprintf(file,
                "- name: %s\n  cluster:\n    server: %s\n    certificate-authority-data: %s\n",
                peer_name(l), url, ca);
        ek_free(url);
    }
    ek_free(ca);
}

int ek_apishell_write_kubeconfig(const struct ek_apishell *shell, const char *path,
                                 const char *const *users, const char *const *tokens, size_t n,
                                 struct ek_err *err)
{
    const struct ek_listener *first = first_listener(shell);
    FILE *file = fopen(path, "w");

    if (!file)
        return ek_err_set(err, EK_E_IO, "writing %s: %s", path, strerror(errno));
    fprintf(file, "apiVersion: v1\nkind: Config\ncurrent-context: %s\n",
            first ? peer_name(first) : "\"\"");
    put_clusters(shell, file);
    fprintf(file, "users:\n");
    for (size_t i = 0; i < n; i++)
        fprintf(file, "- name: %s\n  user:\n    token: %s\n", users[i], tokens[i]);
    fprintf(file, "contexts:\n");
    for (const struct ek_listener *l = shell->listeners; l; l = l->next) {
        if (n > 0)
            fprintf(file, "- name: %s\n  context:\n    cluster: %s\n    user: %s\n", peer_name(l),
                    peer_name(l), users[0]);
        for (size_t i = 0; i < n; i++)
            fprintf(file, "- name: %s@%s\n  context:\n    cluster: %s\n    user: %s\n", users[i],
                    peer_name(l), peer_name(l), users[i]);
    }
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    return failed ? ek_err_set(err, EK_E_IO, "writing %s failed", path) : 0;
}
