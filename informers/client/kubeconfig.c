/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/kubeconfig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/buf.h"
#include "api/base/line.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "informers/client/file.h"
#include "informers/client/kubeconfig-internal.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

static const char *env_get(const struct ek_client_env *env, const char *name)
{
    const char *value = env && env->getenv ? env->getenv(env->ctx, name) : getenv(name);
    return value && *value ? value : NULL;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void set_done(struct kubeconfig_set *set)
{
    for (size_t i = 0; i < set->n_files; i++) {
        ek_free(set->files[i].path);
        yyjson_doc_free(set->files[i].doc);
    }
    ek_free(set->files);
    for (size_t i = 0; i < set->warnings.n; i++)
        ek_free(set->warnings.items[i]);
    ek_free(set->warnings.items);
}

EK_CLEANUP(kubeconfig_set, set_done)

/* Adds one file's content; name stands for its path. */
static int set_add(struct kubeconfig_set *set, const char *data, size_t len, const char *name,
                   struct ek_err *err)
{
    yyjson_doc *doc = NULL;
    int rc = ek_yaml_parse(data, len, EK_KUBECONFIG_SIZE_MAX, &doc, err);

    if (rc) {
        ek_err_prefix(err, "%s", name);
        return rc;
    }
    set->files = ek_xrealloc(set->files, set->n_files + 1, sizeof *set->files);
    struct kubeconfig_file *file = &set->files[set->n_files++];
    *file = (struct kubeconfig_file){ek_xstrdup(name), doc};
    return kubeconfig_check__(file, &set->warnings, err);
}

static int set_add_file(struct kubeconfig_set *set, const char *path, struct ek_err *err)
{
    char *data = NULL;
    size_t size;
    int rc = ek_file_read(path, EK_KUBECONFIG_SIZE_MAX, &data, &size, err);

    if (!rc)
        rc = set_add(set, data, size, path, err);
    ek_secret_free(data);
    return rc;
}

/* Finds a named entry in the first file that has it, as clientcmd merges. */
static struct kubeconfig_entry set_find(const struct kubeconfig_set *set, const char *section,
                                        const char *member, const char *name)
{
    for (size_t i = 0; i < set->n_files; i++) {
        yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(set->files[i].doc), section);
        yyjson_arr_iter iter;
        yyjson_val *item;
        yyjson_arr_iter_init(list, &iter);
        while ((item = yyjson_arr_iter_next(&iter)))
            if (yyjson_equals_str(yyjson_obj_get(item, "name"), name))
                return (struct kubeconfig_entry){&set->files[i],
                                                 yyjson_get_str(yyjson_obj_get(item, "name")),
                                                 yyjson_obj_get(item, member)};
    }
    return (struct kubeconfig_entry){NULL, NULL, NULL};
}

static const char *current_context(const struct kubeconfig_set *set)
{
    for (size_t i = 0; i < set->n_files; i++) {
        yyjson_val *root = yyjson_doc_get_root(set->files[i].doc);
        const char *name = yyjson_get_str(yyjson_obj_get(root, "current-context"));
        if (name && *name)
            return name;
    }
    return NULL;
}

/* "/a/config" or "/a/config and 2 more files", for messages. */
static void describe_files(const struct kubeconfig_set *set, struct ek_buf *out)
{
    ek_buf_puts(out, set->n_files ? set->files[0].path : "kubeconfig");
    if (set->n_files > 1)
        ek_buf_printf(out, " and %zu more file%s", set->n_files - 1, set->n_files > 2 ? "s" : "");
}

/* "a, b, c, ...": the first contexts there are, "none" for none. */
static void describe_contexts(const struct kubeconfig_set *set, struct ek_buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n_files; i++) {
        yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(set->files[i].doc), "contexts");
        yyjson_arr_iter iter;
        yyjson_val *item;
        yyjson_arr_iter_init(list, &iter);
        while ((item = yyjson_arr_iter_next(&iter))) {
            if (n++ == 5) {
                ek_buf_puts(out, ", ...");
                return;
            }
            ek_buf_printf(out, "%s%.60s", n > 1 ? ", " : "",
                          yyjson_get_str(yyjson_obj_get(item, "name")));
        }
    }
    if (!n)
        ek_buf_puts(out, "none");
}

static int no_context(const struct kubeconfig_set *set, const char *name, struct ek_err *err)
{
    EK_AUTO(ek_buf) files;
    EK_AUTO(ek_buf) contexts;

    ek_buf_init(&files, 400);
    ek_buf_init(&contexts, 500);
    describe_files(set, &files);
    describe_contexts(set, &contexts);
    if (!name)
        return ek_err_set(err, EK_E_NOENT, "%s: no current-context is set (contexts: %s)",
                          ek_buf_str(&files), ek_buf_str(&contexts));
    return ek_err_set(err, EK_E_NOENT, "%s: context \"%.100s\" does not exist (contexts: %s)",
                      ek_buf_str(&files), name, ek_buf_str(&contexts));
}

/* Finds what the context refers to as its cluster or user. */
static int find_referred(const struct kubeconfig_set *set, const struct kubeconfig_entry *context,
                         const char *section, const char *member,
                         struct kubeconfig_entry *ret_entry, struct ek_err *err)
{
    const char *name = yyjson_get_str(yyjson_obj_get(context->value, member));

    if (!name || !*name)
        return ek_err_set(err, EK_E_INVAL, "%s: context \"%.100s\": has no %s", context->file->path,
                          context->name, member);
    *ret_entry = set_find(set, section, member, name);
    if (!ret_entry->name)
        return ek_err_set(err, EK_E_NOENT,
                          "%s: context \"%.100s\": its %s \"%.100s\" does not exist",
                          context->file->path, context->name, member, name);
    return 0;
}

/* The plugin's extension of a cluster, handed to exec plugins that ask for cluster info. */
static char *cluster_extension(const struct kubeconfig_entry *cluster)
{
    yyjson_val *list = yyjson_obj_get(cluster->value, "extensions");
    yyjson_arr_iter iter;
    yyjson_val *item;

    yyjson_arr_iter_init(list, &iter);
    while ((item = yyjson_arr_iter_next(&iter)))
        if (yyjson_equals_str(yyjson_obj_get(item, "name"), "client.authentication.k8s.io/exec"))
            return yyjson_val_write_opts(yyjson_obj_get(item, "extension"), YYJSON_WRITE_NOFLAG,
                                         &ek_json_xalc, NULL, NULL);
    return NULL;
}

static int read_context(const struct kubeconfig_set *set, const struct kubeconfig_entry *context,
                        struct ek_client_config *config, struct ek_err *err)
{
    const char *namespace = yyjson_get_str(yyjson_obj_get(context->value, "namespace"));
    struct kubeconfig_entry cluster, user;
    int rc = find_referred(set, context, "clusters", "cluster", &cluster, err);

    if (!rc)
        rc = find_referred(set, context, "users", "user", &user, err);
    if (rc)
        return rc;
    config->source = ek_xstrdup(cluster.file->path);
    config->context = ek_xstrdup(context->name);
    config->cluster = ek_xstrdup(cluster.name);
    config->user = ek_xstrdup(user.name);
    config->namespace = namespace && *namespace ? ek_xstrdup(namespace) : NULL;
    rc = kubeconfig_read_cluster__(&cluster, config, err);
    if (!rc)
        rc = kubeconfig_read_user__(&user, config, err);
    if (!rc && config->exec)
        config->exec->cluster_config = cluster_extension(&cluster);
    return rc;
}

static bool has_credentials(const struct ek_client_config *config)
{
    return config->token || config->token_file || config->username || config->password ||
           config->cert_data || config->cert_file || config->exec;
}

/* Turns the files into the settings of the chosen context. */
static int set_choose(const struct kubeconfig_set *set, const char *context_name,
                      struct ek_client_config **ret_config, struct ek_err *err)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    const char *name = context_name && *context_name ? context_name : current_context(set);
    struct kubeconfig_entry context = {NULL, NULL, NULL};

    if (name)
        context = set_find(set, "contexts", "context", name);
    if (!context.name)
        return no_context(set, name, err);
    for (size_t i = 0; i < set->warnings.n; i++)
        ek_strings_add(&config->warnings, set->warnings.items[i]);
    int rc = read_context(set, &context, config, err);
    if (rc)
        return rc;
    if (config->server && !ek_client_config_uses_tls(config) && has_credentials(config))
        kubeconfig_warn__(&config->warnings,
                          "%s: context \"%.100s\": the credentials are not sent, because the "
                          "connection to the server does not use TLS",
                          context.file->path, context.name);
    *ret_config = config;
    config = NULL;
    return 0;
}

/* Names in a file may hold anything; the message that quotes them is one clean line. */
static int cleaned(int rc, struct ek_err *err)
{
    if (rc && err)
        ek_line_clean(err->message);
    return rc;
}

int ek_kubeconfig_parse(const char *data, size_t len, const char *name, const char *context,
                        struct ek_client_config **ret_config, struct ek_err *err)
{
    EK_AUTO(kubeconfig_set) set = {0};
    int rc = set_add(&set, data, len, name, err);

    if (!rc)
        rc = set_choose(&set, context, ret_config, err);
    return cleaned(rc, err);
}

/* Reads the files of a colon-separated list; missing ones are skipped, as clientcmd does. */
static int set_add_list(struct kubeconfig_set *set, const char *list, struct ek_err *err)
{
    size_t n = 0;

    for (const char *p = list; *p; p += strcspn(p, ":"), p += *p == ':') {
        EK_AUTOFREE char *path = ek_xstrndup(p, strcspn(p, ":"));
        if (!*path || !exists(path))
            continue;
        if (n++ >= EK_KUBECONFIG_FILES_MAX)
            return ek_err_set(err, EK_E_LIMIT, "KUBECONFIG names more than %d files",
                              EK_KUBECONFIG_FILES_MAX);
        int rc = set_add_file(set, path, err);
        if (rc)
            return rc;
    }
    if (!set->n_files)
        return ek_err_set(err, EK_E_NOENT, "KUBECONFIG names no file that exists: %.500s", list);
    return 0;
}

static char *service_account_path(const struct ek_client_env *env, const char *name)
{
    return ek_xasprintf("%s%s/%s", env && env->root ? env->root : "", SERVICE_ACCOUNT_DIR, name);
}

/* The pod's namespace, NULL when it is not to be read. */
static char *pod_namespace(const struct ek_client_env *env)
{
    EK_AUTOFREE char *path = service_account_path(env, "namespace");
    char *text = NULL;

    if (ek_file_read(path, 4096, &text, NULL, NULL))
        return NULL;
    text[strcspn(text, " \r\n\t")] = '\0';
    if (*text)
        return text;
    ek_free(text);
    return NULL;
}

/* Go's clients honour the proxy variables; libcurl is not left to read them by itself, so that
 * what happens depends on the configuration alone. */
static void read_proxy(const struct ek_client_env *env, struct ek_client_config *config)
{
    bool plain = config->server && !strncmp(config->server, "http://", 7);
    const char *proxy = env_get(env, plain ? "HTTP_PROXY" : "HTTPS_PROXY");
    const char *no_proxy = env_get(env, "NO_PROXY");

    if (config->proxy_url)
        return;
    if (!proxy)
        proxy = env_get(env, plain ? "http_proxy" : "https_proxy");
    if (!no_proxy)
        no_proxy = env_get(env, "no_proxy");
    config->proxy_url = ek_xstrdup(proxy);
    config->no_proxy = proxy ? ek_xasprintf("localhost,127.0.0.0/8,::1%s%s", no_proxy ? "," : "",
                                            no_proxy ? no_proxy : "")
                             : NULL;
}

/*
 * The service account's configuration (KUBERNETES_SERVICE_HOST and _PORT and the mounted files), as
 * client-go's InClusterConfig. EK_E_NOENT when this is no pod, or the token cannot be read.
 */
static int in_cluster(const struct ek_client_env *env, struct ek_client_config **ret_config,
                      struct ek_err *err)
{
    const char *host = env_get(env, "KUBERNETES_SERVICE_HOST");
    const char *port = env_get(env, "KUBERNETES_SERVICE_PORT");

    if (!host || !port)
        return ek_err_set(err, EK_E_NOENT,
                          "not in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set");
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = ek_client_config_new();
    config->token_file = service_account_path(env, "token");
    int rc = ek_file_read(config->token_file, 1 << 20, &config->token, NULL, err);
    if (rc) {
        ek_err_prefix(err, "in cluster, but without a service account token");
        return rc;
    }
    ek_secret_free(config->token); /* credentials read it again, and then regularly */
    config->token = NULL;
    EK_AUTOFREE char *ca = service_account_path(env, "ca.crt");
    if (exists(ca)) /* without it the system's authorities count, as in client-go */
        config->ca_file = ek_xstrdup(ca);
    config->server = strchr(host, ':') ? ek_xasprintf("https://[%s]:%s", host, port)
                                       : ek_xasprintf("https://%s:%s", host, port);
    config->source = ek_xstrdup("in-cluster");
    config->namespace = pod_namespace(env);
    read_proxy(env, config);
    *ret_config = config;
    config = NULL;
    return 0;
}

/* Reads the files that count: the user's choice, else those of $KUBECONFIG, else the one in the
 * home folder. pod_err says why this is no pod, for the message. */
static int add_files(struct kubeconfig_set *set, const char *path, const struct ek_client_env *env,
                     const struct ek_err *pod_err, struct ek_err *err)
{
    const char *list = env_get(env, "KUBECONFIG");
    const char *home = env_get(env, "HOME");
    EK_AUTOFREE char *in_home = ek_xasprintf("%s/.kube/config", home ? home : "");

    if (path && *path)
        return set_add_file(set, path, err);
    if (list)
        return set_add_list(set, list, err);
    if (home && exists(in_home))
        return set_add_file(set, in_home, err);
    return ek_err_set(err, EK_E_NOENT,
                      "no cluster to talk to: KUBECONFIG is not set, %s, and %s; "
                      "give --kubeconfig",
                      pod_err->code ? pod_err->message : "the service account was not used",
                      home ? "there is no ~/.kube/config" : "HOME is not set");
}

int ek_kubeconfig_load(const char *path, const char *context, const struct ek_client_env *env,
                       struct ek_client_config **ret_config, struct ek_err *err)
{
    EK_AUTO(kubeconfig_set) set = {0};
    bool chosen = (path && *path) || (context && *context) || env_get(env, "KUBECONFIG");
    struct ek_err pod_err = {0};

    if (!chosen && !in_cluster(env, ret_config, &pod_err))
        return 0;
    int rc = add_files(&set, path, env, &pod_err, err);
    if (!rc)
        rc = set_choose(&set, context, ret_config, err);
    if (!rc)
        read_proxy(env, *ret_config);
    return cleaned(rc, err);
}

static bool has_name(const struct ek_strings *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->items[i], name))
            return true;
    return false;
}

int ek_kubeconfig_contexts(const char *path, const struct ek_client_env *env,
                           struct ek_strings *ret_names, struct ek_err *err)
{
    EK_AUTO(kubeconfig_set) set = {0};
    const struct ek_err pod_err = {0};
    int rc = add_files(&set, path, env, &pod_err, err);

    for (size_t i = 0; i < set.n_files && !rc; i++) {
        yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(set.files[i].doc), "contexts");
        yyjson_val *item;
        size_t k, n;
        yyjson_arr_foreach(list, k, n, item)
        {
            const char *name = ek_json_str(item, "name", NULL);
            if (name && *name && !has_name(ret_names, name))
                ek_strings_add(ret_names, name);
        }
    }
    return cleaned(rc, err);
}
