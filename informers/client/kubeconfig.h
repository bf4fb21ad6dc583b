/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster's address and the client's identity: kubeconfig files and the pod's service account.
 *
 * This module finds and reads configuration; it opens no connection and keeps nothing fresh
 * (informers/client/credentials.h does). The outcome is one struct ek_client_config, the settings
 * of one context, with every relative path made absolute or relative to the working directory.
 *
 * Order, as kubectl and controller-runtime have it (controller-runtime,
 * pkg/client/config/config.go: GetConfigWithContext): the path given by the user; the files in
 * $KUBECONFIG, where the first file to name a cluster, user, context or current-context wins and
 * missing files are skipped; the service account of the pod; ~/.kube/config. Fields that kubectl
 * would ignore become warnings; fields that kubectl would refuse are one error that names file,
 * entry and field. No secret is ever part of an error or a warning.
 *
 * Ownership: a configuration owns all its strings. Threading: none of it is shared; the functions
 * that read files block and belong into start-up.
 */
#ifndef INFORMERS_CLIENT_KUBECONFIG_H
#define INFORMERS_CLIENT_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/err.h"
#include "api/base/mem.h"

#define EK_KUBECONFIG_SIZE_MAX     ((size_t)8 << 20) /* of one file */
#define EK_KUBECONFIG_FILES_MAX    64                /* in $KUBECONFIG */
#define EK_KUBECONFIG_WARNINGS_MAX 32

/* A list of owned strings. */
struct ek_strings {
    char **items;
    size_t n;
};

struct ek_name_value {
    char *name;
    char *value;
};

/* A list of owned pairs; a name may occur more than once. */
struct ek_name_values {
    struct ek_name_value *items;
    size_t n;
};

enum ek_exec_interactive {
    EK_EXEC_IF_AVAILABLE,
    EK_EXEC_NEVER,
    EK_EXEC_ALWAYS,
    EK_EXEC_INTERACTIVE_MAX,
};

/* A credential plugin: users[].user.exec. */
struct ek_exec_config {
    char *command; /* a name looked up in PATH, or a path */
    struct ek_strings args;
    struct ek_name_values env; /* added to our environment */
    char *api_version;         /* client.authentication.k8s.io/v1 or v1beta1 */
    bool provide_cluster_info;
    enum ek_exec_interactive interactive;
    char *install_hint;   /* NULL for none */
    char *cluster_config; /* the cluster's extension for plugins, as JSON; NULL for none */
};

/* The settings of one context. Strings are owned; NULL where not set. */
struct ek_client_config {
    char *source;  /* the file the cluster came from, or "in-cluster" */
    char *context; /* NULL in a cluster */
    char *cluster;
    char *user;
    char *namespace;

    char *server; /* URL as written, maybe without a scheme */
    char *tls_server_name;
    bool insecure_skip_tls_verify;
    char *proxy_url; /* of the cluster, else of the environment */
    char *no_proxy;  /* hosts reached without the environment's proxy */
    bool disable_compression;

    char *ca_data; /* PEM; data and file are never both set */
    char *ca_file;
    char *cert_data;
    char *cert_file;
    char *key_data;
    char *key_file;
    char *token; /* used until token_file was read */
    char *token_file;
    char *username;
    char *password;

    char *as_user; /* impersonation */
    char *as_uid;
    struct ek_strings as_groups;
    struct ek_name_values as_extra;

    struct ek_exec_config *exec; /* NULL for none */

    struct ek_strings warnings; /* one line each, for people */
};

/* The process's surroundings, as arguments. */
struct ek_client_env {
    /* NULL: the process's environment. The result remains valid during the call. */
    const char *(*getenv)(void *ctx, const char *name);
    void *ctx;
    const char *root; /* put before the service account's directory; NULL or "" for none */
};

/*
 * Finds and reads the configuration. path: the user's choice, NULL for none. context: overrides
 * current-context, NULL for none; with a context the pod's service account is not considered. env
 * may be NULL. *ret_config is owned. Errors: EK_E_NOENT (no configuration, or a context, cluster or
 * user that does not exist), EK_E_IO, EK_E_PARSE (not YAML, wrong types), EK_E_INVAL (contradicting
 * or missing settings), EK_E_UNSUPPORTED (auth-provider), EK_E_LIMIT. Blocks.
 */
int ek_kubeconfig_load(const char *path, const char *context, const struct ek_client_env *env,
                       struct ek_client_config **ret_config, struct ek_err *err);

/*
 * The names of the contexts of the files that ek_kubeconfig_load reads for the same path and env,
 * in their order, each once; the pod's service account is not considered. ret_names is empty
 * before, and owned. Errors as of ek_kubeconfig_load. Blocks.
 */
int ek_kubeconfig_contexts(const char *path, const struct ek_client_env *env,
                           struct ek_strings *ret_names, struct ek_err *err);

/*
 * As ek_kubeconfig_load, for one kubeconfig that is already in memory: len bytes of YAML or JSON;
 * name stands for its path in messages and gives the directory of relative paths.
 */
int ek_kubeconfig_parse(const char *data, size_t len, const char *name, const char *context,
                        struct ek_client_config **ret_config, struct ek_err *err);

/* Returns an empty configuration; aborts without memory. */
struct ek_client_config *ek_client_config_new(void);

/* False where requests to the server go in the clear, so that no credentials go with them. A server
 * without a scheme is https exactly when TLS settings are given (client-go:rest/url_utils.go,
 * DefaultServerUrlFor). */
bool ek_client_config_uses_tls(const struct ek_client_config *config);

/* Returns an owned copy. */
struct ek_client_config *ek_client_config_dup(const struct ek_client_config *config);

/* Releases config, wiping its secrets first; NULL is fine. */
void ek_client_config_free(struct ek_client_config *config);
EK_CLEANUP_PTR(ek_client_config, ek_client_config_free)

/* Append a copy of value, or of the pair, to a list. */
void ek_strings_add(struct ek_strings *list, const char *value);
void ek_name_values_add(struct ek_name_values *list, const char *name, const char *value);

/* Empties a list. */
void ek_strings_done(struct ek_strings *list);

/* Wipes and releases a string; NULL is fine. For secrets. */
void ek_secret_free(char *secret);

#endif
