/* SPDX-License-Identifier: Apache-2.0 */
/* The life of struct ek_client_config: copies and releases. Reading it is kubeconfig.c's. */
#include "informers/client/kubeconfig.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(struct ek_client_config, name)

/* Every string of the struct, so that copying and releasing cannot forget one. */
static const size_t string_fields[] = {
    FIELD(source),  FIELD(context),         FIELD(cluster),   FIELD(user),     FIELD(namespace),
    FIELD(server),  FIELD(tls_server_name), FIELD(proxy_url), FIELD(no_proxy), FIELD(ca_data),
    FIELD(ca_file), FIELD(cert_data),       FIELD(cert_file), FIELD(key_data), FIELD(key_file),
    FIELD(token),   FIELD(token_file),      FIELD(username),  FIELD(password), FIELD(as_user),
    FIELD(as_uid),
};

static char **string_at(struct ek_client_config *config, size_t offset)
{
    return (char **)(void *)((char *)config + offset);
}

void ek_secret_free(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    ek_free(secret);
}

void ek_strings_add(struct ek_strings *list, const char *value)
{
    list->items = ek_xrealloc(list->items, list->n + 1, sizeof *list->items);
    list->items[list->n++] = ek_xstrdup(value);
}

void ek_strings_done(struct ek_strings *list)
{
    for (size_t i = 0; i < list->n; i++)
        ek_free(list->items[i]);
    ek_free(list->items);
    *list = (struct ek_strings){NULL, 0};
}

static struct ek_strings strings_dup(const struct ek_strings *list)
{
    struct ek_strings copy = {NULL, 0};

    for (size_t i = 0; i < list->n; i++)
        ek_strings_add(&copy, list->items[i]);
    return copy;
}

void ek_name_values_add(struct ek_name_values *list, const char *name, const char *value)
{
    list->items = ek_xrealloc(list->items, list->n + 1, sizeof *list->items);
    list->items[list->n++] = (struct ek_name_value){ek_xstrdup(name), ek_xstrdup(value)};
}

static void name_values_done(struct ek_name_values *list)
{
    for (size_t i = 0; i < list->n; i++) {
        ek_free(list->items[i].name);
        ek_secret_free(list->items[i].value);
    }
    ek_free(list->items);
}

static struct ek_name_values name_values_dup(const struct ek_name_values *list)
{
    struct ek_name_values copy = {NULL, 0};

    for (size_t i = 0; i < list->n; i++)
        ek_name_values_add(&copy, list->items[i].name, list->items[i].value);
    return copy;
}

static void exec_free(struct ek_exec_config *exec)
{
    if (!exec)
        return;
    ek_free(exec->command);
    ek_strings_done(&exec->args);
    name_values_done(&exec->env);
    ek_free(exec->api_version);
    ek_free(exec->install_hint);
    ek_free(exec->cluster_config);
    ek_free(exec);
}

static struct ek_exec_config *exec_dup(const struct ek_exec_config *exec)
{
    if (!exec)
        return NULL;
    struct ek_exec_config *copy = ek_xalloc(sizeof *copy);
    *copy = *exec;
    copy->command = ek_xstrdup(exec->command);
    copy->args = strings_dup(&exec->args);
    copy->env = name_values_dup(&exec->env);
    copy->api_version = ek_xstrdup(exec->api_version);
    copy->install_hint = ek_xstrdup(exec->install_hint);
    copy->cluster_config = ek_xstrdup(exec->cluster_config);
    return copy;
}

bool ek_client_config_uses_tls(const struct ek_client_config *config)
{
    const char *scheme = config->server ? strstr(config->server, "://") : NULL;

    if (scheme)
        return scheme != config->server + 4 || strncmp(config->server, "http", 4) != 0;
    return config->ca_data || config->ca_file || config->cert_data || config->cert_file ||
           config->insecure_skip_tls_verify || config->exec;
}

struct ek_client_config *ek_client_config_new(void)
{
    return ek_xalloc(sizeof(struct ek_client_config));
}

struct ek_client_config *ek_client_config_dup(const struct ek_client_config *config)
{
    struct ek_client_config *copy = ek_xalloc(sizeof *copy);

    *copy = *config;
    for (size_t i = 0; i < EK_ARRAY_SIZE(string_fields); i++)
        *string_at(copy, string_fields[i]) = ek_xstrdup(*string_at(copy, string_fields[i]));
    copy->as_groups = strings_dup(&config->as_groups);
    copy->as_extra = name_values_dup(&config->as_extra);
    copy->exec = exec_dup(config->exec);
    copy->warnings = strings_dup(&config->warnings);
    return copy;
}

void ek_client_config_free(struct ek_client_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < EK_ARRAY_SIZE(string_fields); i++)
        ek_secret_free(*string_at(config, string_fields[i]));
    ek_strings_done(&config->as_groups);
    name_values_done(&config->as_extra);
    exec_free(config->exec);
    ek_strings_done(&config->warnings);
    ek_free(config);
}
