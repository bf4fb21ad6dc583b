/* SPDX-License-Identifier: Apache-2.0 */
/* Checked kubeconfig entries into struct ek_client_config, with clientcmd's rules of validity. */
#include <string.h>

#include "api/base/base64.h"
#include "informers/client/kubeconfig-internal.h"

/* A string member, NULL where it is absent, null or "". */
static const char *text(yyjson_val *object, const char *name)
{
    const char *s = yyjson_get_str(yyjson_obj_get(object, name));
    return s && *s ? s : NULL;
}

static int invalid(const struct kubeconfig_entry *entry, const char *kind, const char *what,
                   struct ek_err *err)
{
    return ek_err_set(err, EK_E_INVAL, "%s: %s \"%.100s\": %s", entry->file->path, kind,
                      entry->name, what);
}

/* Paths in a kubeconfig are relative to the file's directory. */
static char *resolve(const struct kubeconfig_file *file, const char *path)
{
    const char *slash = strrchr(file->path, '/');

    if (!path)
        return NULL;
    if (*path == '/' || !slash)
        return ek_xstrdup(path);
    return ek_xasprintf("%.*s/%s", (int)(slash - file->path), file->path, path);
}

/* Reads the pair <name>-data (base64 of PEM) and <name> (a path); the data wins and clientcmd
 * refuses both together. */
static int read_pem(const struct kubeconfig_entry *entry, const char *kind, const char *name,
                    char **ret_data, char **ret_file, struct ek_err *err)
{
    EK_AUTOFREE char *data_name = ek_xasprintf("%s-data", name);
    const char *encoded = text(entry->value, data_name);
    const char *path = text(entry->value, name);
    size_t size;

    if (encoded && path)
        return ek_err_set(err, EK_E_INVAL, "%s: %s \"%.100s\": has both %s and %s; keep one",
                          entry->file->path, kind, entry->name, name, data_name);
    if (encoded && ek_base64_decode(encoded, ret_data, &size))
        return ek_err_set(err, EK_E_PARSE, "%s: %s \"%.100s\": %s is not base64", entry->file->path,
                          kind, entry->name, data_name);
    if (encoded && (size != strlen(*ret_data) || !strstr(*ret_data, "-----BEGIN ")))
        return ek_err_set(err, EK_E_PARSE, "%s: %s \"%.100s\": %s holds no PEM block",
                          entry->file->path, kind, entry->name, data_name);
    *ret_file = resolve(entry->file, path);
    return 0;
}

static int check_proxy(const struct kubeconfig_entry *entry, const char *url, struct ek_err *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};

    if (!url)
        return 0;
    for (size_t i = 0; i < EK_ARRAY_SIZE(schemes); i++)
        if (!strncmp(url, schemes[i], strlen(schemes[i])) && url[strlen(schemes[i])])
            return 0;
    return invalid(entry, "cluster", "proxy-url must begin with http://, https:// or socks5://",
                   err);
}

int kubeconfig_read_cluster__(const struct kubeconfig_entry *entry, struct ek_client_config *config,
                              struct ek_err *err)
{
    yyjson_val *value = entry->value;

    config->server = ek_xstrdup(text(value, "server"));
    config->tls_server_name = ek_xstrdup(text(value, "tls-server-name"));
    config->proxy_url = ek_xstrdup(text(value, "proxy-url"));
    config->insecure_skip_tls_verify =
        yyjson_get_bool(yyjson_obj_get(value, "insecure-skip-tls-verify"));
    config->disable_compression = yyjson_get_bool(yyjson_obj_get(value, "disable-compression"));
    if (!config->server)
        return invalid(entry, "cluster", "has no server", err);
    int rc = read_pem(entry, "cluster", "certificate-authority", &config->ca_data, &config->ca_file,
                      err);
    if (rc)
        return rc;
    if (config->insecure_skip_tls_verify && (config->ca_data || config->ca_file))
        return invalid(entry, "cluster",
                       "has both insecure-skip-tls-verify and a certificate authority; keep one",
                       err);
    return check_proxy(entry, config->proxy_url, err);
}

static void read_strings(yyjson_val *list, struct ek_strings *out)
{
    yyjson_arr_iter iter;
    yyjson_val *item;

    yyjson_arr_iter_init(list, &iter);
    while ((item = yyjson_arr_iter_next(&iter)))
        ek_strings_add(out, yyjson_get_str(item));
}

static int read_impersonation(const struct kubeconfig_entry *entry, struct ek_client_config *config,
                              struct ek_err *err)
{
    yyjson_val *value = entry->value;
    yyjson_obj_iter iter;
    yyjson_val *key, *item;

    config->as_user = ek_xstrdup(text(value, "as"));
    config->as_uid = ek_xstrdup(text(value, "as-uid"));
    read_strings(yyjson_obj_get(value, "as-groups"), &config->as_groups);
    yyjson_obj_iter_init(yyjson_obj_get(value, "as-user-extra"), &iter);
    while ((key = yyjson_obj_iter_next(&iter))) {
        yyjson_arr_iter values;
        yyjson_arr_iter_init(yyjson_obj_iter_get_val(key), &values);
        while ((item = yyjson_arr_iter_next(&values)))
            ek_name_values_add(&config->as_extra, yyjson_get_str(key), yyjson_get_str(item));
    }
    if (!config->as_user && (config->as_uid || config->as_groups.n || config->as_extra.n))
        return invalid(entry, "user", "as-uid, as-groups and as-user-extra need as", err);
    return 0;
}

static int read_exec_env(const struct kubeconfig_entry *entry, yyjson_val *list,
                         struct ek_exec_config *exec, struct ek_err *err)
{
    yyjson_arr_iter iter;
    yyjson_val *item;

    yyjson_arr_iter_init(list, &iter);
    while ((item = yyjson_arr_iter_next(&iter))) {
        const char *name = text(item, "name");
        const char *value = text(item, "value");
        if (!name || strchr(name, '='))
            return invalid(entry, "user", "exec.env has an entry without a usable name", err);
        ek_name_values_add(&exec->env, name, value ? value : "");
    }
    return 0;
}

/* interactiveMode: required by v1, IfAvailable by default in v1beta1. */
static int read_interactive(const struct kubeconfig_entry *entry, yyjson_val *value,
                            struct ek_exec_config *exec, struct ek_err *err)
{
    static const char *const modes[EK_EXEC_INTERACTIVE_MAX] = {"IfAvailable", "Never", "Always"};
    const char *mode = text(value, "interactiveMode");

    if (!mode && !strcmp(exec->api_version, "client.authentication.k8s.io/v1"))
        return invalid(entry, "user", "exec.interactiveMode is required by this apiVersion", err);
    exec->interactive = EK_EXEC_IF_AVAILABLE;
    for (int i = 0; mode && i < EK_EXEC_INTERACTIVE_MAX; i++)
        if (!strcmp(mode, modes[i])) {
            exec->interactive = (enum ek_exec_interactive)i;
            return 0;
        }
    return mode ? invalid(entry, "user",
                          "exec.interactiveMode must be Never, IfAvailable or Always", err)
                : 0;
}

/* client-go lets a token or a password win over a plugin without a word. */
static bool exec_is_shadowed(const struct kubeconfig_entry *entry, struct ek_client_config *config)
{
    if (!config->token && !config->token_file && !config->username && !config->password)
        return false;
    kubeconfig_warn__(&config->warnings, "%s: user \"%.100s\": exec is not used beside %s",
                      entry->file->path, entry->name,
                      config->token || config->token_file ? "a token" : "a username");
    return true;
}

static int read_exec(const struct kubeconfig_entry *entry, yyjson_val *value,
                     struct ek_client_config *config, struct ek_err *err)
{
    struct ek_exec_config *exec = ek_xalloc(sizeof *exec);
    const char *command = text(value, "command");
    const char *version = text(value, "apiVersion");

    config->exec = exec;
    if (!command)
        return invalid(entry, "user", "exec has no command", err);
    if (!version)
        return invalid(entry, "user", "exec has no apiVersion", err);
    if (strcmp(version, "client.authentication.k8s.io/v1") != 0 &&
        strcmp(version, "client.authentication.k8s.io/v1beta1") != 0)
        return invalid(entry, "user",
                       "exec.apiVersion must be client.authentication.k8s.io/v1 or v1beta1; "
                       "update the plugin and its kubeconfig entry",
                       err);
    /* A bare name is looked up in PATH, anything with a slash is a path. */
    exec->command = strchr(command, '/') ? resolve(entry->file, command) : ek_xstrdup(command);
    exec->api_version = ek_xstrdup(version);
    exec->install_hint = ek_xstrdup(text(value, "installHint"));
    exec->provide_cluster_info = yyjson_get_bool(yyjson_obj_get(value, "provideClusterInfo"));
    read_strings(yyjson_obj_get(value, "args"), &exec->args);
    int rc = read_exec_env(entry, yyjson_obj_get(value, "env"), exec, err);
    return rc ? rc : read_interactive(entry, value, exec, err);
}

/* A user may have a token or a password (client certificates go with each). */
static int check_methods(const struct kubeconfig_entry *entry,
                         const struct ek_client_config *config, struct ek_err *err)
{
    bool token = config->token || config->token_file;
    bool basic = config->username || config->password;

    if (token && basic)
        return invalid(entry, "user", "has both a token and a username; keep one", err);
    if ((config->cert_data || config->cert_file) && !(config->key_data || config->key_file))
        return invalid(entry, "user", "has client-certificate but no client-key", err);
    if ((config->key_data || config->key_file) && !(config->cert_data || config->cert_file))
        return invalid(entry, "user", "has client-key but no client-certificate", err);
    return 0;
}

int kubeconfig_read_user__(const struct kubeconfig_entry *entry, struct ek_client_config *config,
                           struct ek_err *err)
{
    yyjson_val *value = entry->value;
    yyjson_val *exec = yyjson_obj_get(value, "exec");
    yyjson_val *provider = yyjson_obj_get(value, "auth-provider");

    if (provider && !yyjson_is_null(provider))
        return ek_err_set(err, EK_E_UNSUPPORTED,
                          "%s: user \"%.100s\": auth-provider was removed from Kubernetes in 1.26; "
                          "use an exec plugin instead",
                          entry->file->path, entry->name);
    config->token = ek_xstrdup(text(value, "token"));
    config->token_file = resolve(entry->file, text(value, "tokenFile"));
    config->username = ek_xstrdup(text(value, "username"));
    config->password = ek_xstrdup(text(value, "password"));
    int rc =
        read_pem(entry, "user", "client-certificate", &config->cert_data, &config->cert_file, err);
    if (!rc)
        rc = read_pem(entry, "user", "client-key", &config->key_data, &config->key_file, err);
    if (!rc)
        rc = read_impersonation(entry, config, err);
    if (!rc && exec && !yyjson_is_null(exec) && !exec_is_shadowed(entry, config))
        rc = read_exec(entry, exec, config, err);
    return rc ? rc : check_methods(entry, config, err);
}
