/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api/base/base64.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "controller/certificates/secret.h"
#include "informers/client/client.h"
#include "informers/client/file.h"
#include "informers/client/tls_material.h"

#define NAME       "evenkeel-proxy"
#define PEM_MAX    ((size_t)1 << 20)
#define BODY_MAX   ((size_t)4 << 20)
#define TIMEOUT_MS 30000
#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* ---- The text ---- */

/* What is not copied by default. */
static bool has_secrets(const struct ek_client_config *c)
{
    return (c->token && !c->token_file) || c->password || c->key_data ||
           (c->exec && (c->exec->env.n || c->exec->args.n));
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *value)
{
    if (value)
        yyjson_mut_obj_add_strcpy(doc, obj, key, value);
}

static void put_data(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *value)
{
    char *text = value ? ek_base64_encode(value, strlen(value)) : NULL;

    put(doc, obj, key, text);
    ek_secret_free(text);
}

/* {"name": NAME, member: {...}} of a new list; returns the inner object. */
static yyjson_mut_val *put_entry(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *list,
                                 const char *name, const char *member)
{
    yyjson_mut_val *items = yyjson_mut_obj_add_arr(doc, root, list);
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, items);

    yyjson_mut_obj_add_strcpy(doc, item, "name", name);
    return yyjson_mut_obj_add_obj(doc, item, member);
}

static void put_exec(yyjson_mut_doc *doc, yyjson_mut_val *user, const struct ek_exec_config *exec)
{
    static const char *const modes[EK_EXEC_INTERACTIVE_MAX] = {"IfAvailable", "Never", "Always"};
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(doc, user, "exec");

    put(doc, o, "apiVersion", exec->api_version);
    put(doc, o, "command", exec->command);
    if (exec->args.n) {
        yyjson_mut_val *args = yyjson_mut_obj_add_arr(doc, o, "args");
        for (size_t i = 0; i < exec->args.n; i++)
            yyjson_mut_arr_add_strcpy(doc, args, exec->args.items[i]);
    }
    if (exec->env.n) {
        yyjson_mut_val *env = yyjson_mut_obj_add_arr(doc, o, "env");
        for (size_t i = 0; i < exec->env.n; i++) {
            yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, env);
            put(doc, item, "name", exec->env.items[i].name);
            put(doc, item, "value", exec->env.items[i].value);
        }
    }
    put(doc, o, "interactiveMode", modes[exec->interactive]);
    yyjson_mut_obj_add_bool(doc, o, "provideClusterInfo", exec->provide_cluster_info);
    put(doc, o, "installHint", exec->install_hint);
}

static void put_extra(yyjson_mut_doc *doc, yyjson_mut_val *user, const struct ek_name_values *extra)
{
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(doc, user, "as-user-extra");

    for (size_t i = 0; i < extra->n; i++) {
        yyjson_mut_val *values = yyjson_mut_obj_get(o, extra->items[i].name);
        if (!values) {
            values = yyjson_mut_arr(doc);
            yyjson_mut_obj_add(o, yyjson_mut_strcpy(doc, extra->items[i].name), values);
        }
        yyjson_mut_arr_add_strcpy(doc, values, extra->items[i].value);
    }
}

static void put_impersonation(yyjson_mut_doc *doc, yyjson_mut_val *user,
                              const struct ek_client_config *c)
{
    put(doc, user, "as", c->as_user);
    put(doc, user, "as-uid", c->as_uid);
    if (c->as_groups.n) {
        yyjson_mut_val *groups = yyjson_mut_obj_add_arr(doc, user, "as-groups");
        for (size_t i = 0; i < c->as_groups.n; i++)
            yyjson_mut_arr_add_strcpy(doc, groups, c->as_groups.items[i]);
    }
    if (c->as_extra.n)
        put_extra(doc, user, &c->as_extra);
}

/* The kubeconfig may be moved, so that its paths are whole. */
static void put_path(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *path)
{
    char *whole = path ? realpath(path, NULL) : NULL;

    put(doc, obj, key, whole ? whole : path);
    free(whole); /* of the C library */
}

/* What the credential plugin is given about its cluster (client-go, the extension of clusters). */
static void put_plugin_config(yyjson_mut_doc *doc, yyjson_mut_val *cluster, const char *json)
{
    yyjson_doc *config = ek_json_parse(json, strlen(json), NULL);

    if (!config)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, cluster, "extensions");
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
    put(doc, item, "name", "client.authentication.k8s.io/exec");
    yyjson_mut_obj_add_val(doc, item, "extension",
                           yyjson_val_mut_copy(doc, yyjson_doc_get_root(config)));
    yyjson_doc_free(config);
}

static void put_user(yyjson_mut_doc *doc, yyjson_mut_val *user, const struct ek_client_config *c)
{
    put_data(doc, user, "client-certificate-data", c->cert_data);
    put_path(doc, user, "client-certificate", c->cert_file);
    put_data(doc, user, "client-key-data", c->key_data);
    put_path(doc, user, "client-key", c->key_file);
    put_path(doc, user, "tokenFile", c->token_file);
    if (!c->token_file)
        put(doc, user, "token", c->token);
    put(doc, user, "username", c->username);
    put(doc, user, "password", c->password);
    put_impersonation(doc, user, c);
    if (c->exec)
        put_exec(doc, user, c->exec);
}

int ek_proxy_kubeconfig_write(const struct ek_proxy_kubeconfig *k, struct ek_buf *out,
                              struct ek_err *err)
{
    const char *user_name = k->user->user && *k->user->user ? k->user->user : NAME;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    put(doc, root, "apiVersion", "v1");
    put(doc, root, "kind", "Config");
    put(doc, root, "current-context", NAME);
    yyjson_mut_val *cluster = put_entry(doc, root, "clusters", NAME, "cluster");
    put(doc, cluster, "server", k->server);
    put(doc, cluster, "tls-server-name", k->tls_server_name);
    put_data(doc, cluster, "certificate-authority-data", k->authorities);
    if (k->user->exec && k->user->exec->cluster_config)
        put_plugin_config(doc, cluster, k->user->exec->cluster_config);
    yyjson_mut_val *context = put_entry(doc, root, "contexts", NAME, "context");
    put(doc, context, "cluster", NAME);
    put(doc, context, "user", user_name);
    put(doc, context, "namespace", k->user->namespace);
    if (k->with_secrets || !has_secrets(k->user))
        put_user(doc, put_entry(doc, root, "users", user_name, "user"), k->user);
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
    int rc = ek_yaml_write(out, yyjson_doc_get_root(whole), err);
    yyjson_doc_free(whole);
    yyjson_mut_doc_free(doc);
    return rc;
}

/* ---- The cluster ---- */

struct options {
    struct ek_cluster_options cluster;
    const char *server, *tls_server_name, *authority;
    const char *namespace, *service, *secret;
    bool with_secrets;
};

struct printing {
    const struct options *options;
    uv_loop_t loop;
    struct ek_client_config *config;
    struct ek_client *client;
    bool done;
    struct ek_obj *answer;
    char *server, *tls_server_name, *authorities; /* owned */
    struct ek_err err;
};

static void on_answer(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct printing *p = ctx;

    p->done = true;
    if (err)
        p->err = *err;
    else
        ek_obj_parse(response->body.p, response->body.len, &p->answer, &p->err);
    uv_stop(&p->loop); /* in a timer, the loop would wait for the next event first */
}

/* The object, owned; NULL with p->err. */
static struct ek_obj *get(struct printing *p, const char *plural, const char *name)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 4096);
    ek_buf_puts(&path, "/api/v1/namespaces/");
    ek_uri_escape(&path, p->options->namespace);
    ek_buf_printf(&path, "/%s/", plural);
    ek_uri_escape(&path, name);
    const struct ek_request request = {
        .path = ek_buf_str(&path), .timeout_ms = TIMEOUT_MS, .max_body = BODY_MAX};
    p->done = false;
    p->answer = NULL;
    ek_client_send(p->client, &request, on_answer, p);
    while (!p->done)
        uv_run(&p->loop, UV_RUN_ONCE);
    if (!p->answer)
        ek_err_prefix(&p->err, "%s %s/%s", plural, p->options->namespace, name);
    return p->answer;
}

static char *url_of(const char *host, int64_t port)
{
    return ek_xasprintf(strchr(host, ':') ? "https://[%s]:%lld" : "https://%s:%lld", host,
                        (long long)port);
}

/* The address of the load balancer, else that of the cluster. */
static int read_service(struct printing *p)
{
    const struct options *o = p->options;
    struct ek_obj *service = get(p, "services", o->service);

    if (!service)
        return ek_err_prefix(&p->err, "name the address by --server");
    yyjson_val *root = ek_obj_root(service), *spec = yyjson_obj_get(root, "spec");
    yyjson_val *ingress =
        yyjson_arr_get_first(ek_json_get(root, "status", "loadBalancer", "ingress", NULL));
    const char *ip = ek_json_str(ingress, "ip", NULL);
    const char *host = ip ? ip : ek_json_str(ingress, "hostname", NULL);
    bool inside = !host;
    yyjson_val *port = yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(spec, "ports")), "port");
    if (inside)
        host = ek_json_str(spec, "clusterIP", NULL);
    if (host && *host && strcmp(host, "None") != 0 && yyjson_is_int(port)) {
        p->server = url_of(host, yyjson_get_sint(port));
        p->tls_server_name = ek_xasprintf("%s.%s.svc", o->service, o->namespace);
        if (inside)
            fprintf(stderr,
                    "evenkeel: %s is reachable from nodes and Pods; for clients elsewhere, name an "
                    "address by --server\n",
                    p->server);
    } else {
        ek_err_set(&p->err, EK_E_NOENT, "services %s/%s has no address: use --server", o->namespace,
                   o->service);
    }
    ek_obj_unref(service);
    return p->server ? 0 : p->err.code;
}

static int read_secret(struct printing *p)
{
    EK_AUTO(ek_cert_secret) secret = {0};
    struct ek_obj *obj = get(p, "secrets", p->options->secret);

    if (!obj)
        return ek_err_prefix(&p->err, "name the file by --certificate-authority");
    ek_cert_secret_read(obj, &secret);
    ek_obj_unref(obj);
    p->authorities = ek_cert_secret_bundle(&secret);
    if (!p->authorities)
        return ek_err_set(&p->err, EK_E_NOENT,
                          "secrets %s/%s has no certificate authority: is Evenkeel running?",
                          p->options->namespace, p->options->secret);
    return 0;
}

/* The certificates alone go into the file, which is handed around: what else the named file has,
 * such as a private key, is a mistake. */
static int check_authorities(const char *pem, const char *what, struct ek_err *err)
{
    X509_STORE *store = NULL;

    if (strstr(pem, "PRIVATE KEY-----"))
        return ek_err_set(err, EK_E_INVAL, "%s holds a private key, which is not to be handed on",
                          what);
    int rc = ek_tls_roots_parse(pem, what, &store, err);
    X509_STORE_free(store);
    return rc;
}

static int read_authorities(struct printing *p, const char *path, const char *what)
{
    int rc = ek_file_read(path, PEM_MAX, &p->authorities, NULL, &p->err);
    return rc ? rc : check_authorities(p->authorities, what, &p->err);
}

/* By --certificate-authority; for an address of --server that of the cluster; else the Secret's. */
static int find_authorities(struct printing *p)
{
    const struct options *o = p->options;

    if (*o->authority)
        return read_authorities(p, o->authority, "--certificate-authority: the file");
    if (!*o->server)
        return read_secret(p);
    if (p->config->ca_file)
        return read_authorities(p, p->config->ca_file,
                                "certificate-authority of the kubeconfig: the file");
    p->authorities = p->config->ca_data ? ek_xstrdup(p->config->ca_data) : NULL;
    return 0;
}

static int check_server(const char *server, struct ek_err *err)
{
    const char *host = !strncmp(server, "https://", 8) ? server + 8 : "";
    const char *path = host + strspn(host, LETTERS ".-_:[]");

    if (path > host && (!*path || *path == '/') && !path[strspn(path, LETTERS "/.-_~%")])
        return 0;
    return ek_err_set(err, EK_E_INVAL, "--server: use an address such as https://10.0.0.1:7443");
}

static int find_server(struct printing *p)
{
    const struct options *o = p->options;

    if (!*o->server)
        return read_service(p);
    p->server = ek_xstrdup(o->server);
    return check_server(o->server, &p->err);
}

static int find(struct printing *p)
{
    const struct options *o = p->options;
    int rc = ek_kubeconfig_load(*o->cluster.kubeconfig ? o->cluster.kubeconfig : NULL,
                                *o->cluster.context ? o->cluster.context : NULL, NULL, &p->config,
                                &p->err);

    if (!rc && (!*o->server || !*o->authority))
        rc = ek_client_new(&p->loop, p->config, ek_user_agent(), &p->client, &p->err);
    if (!rc)
        rc = find_server(p);
    if (!rc)
        rc = find_authorities(p);
    if (!rc && *o->tls_server_name) {
        ek_free(p->tls_server_name);
        p->tls_server_name = ek_xstrdup(o->tls_server_name);
    }
    return rc;
}

/* What a reader of the kubeconfig has to know. */
static void advise(const struct printing *p)
{
    const struct ek_client_config *c = p->config;

    if (has_secrets(c) && !p->options->with_secrets)
        fprintf(stderr,
                "evenkeel: the credentials of user \"%s\" are not copied: use both files "
                "(KUBECONFIG=new:%s), or --with-credentials\n",
                c->user ? c->user : "", c->source ? c->source : "old");
    if (c->cert_data || c->cert_file)
        fprintf(stderr,
                "evenkeel: user \"%s\" has a client certificate, which the proxy accepts "
                "only with --client-ca-file\n",
                c->user ? c->user : "");
}

static int print(struct printing *p)
{
    EK_AUTO(ek_buf) out;
    const struct ek_proxy_kubeconfig kubeconfig = {.server = p->server,
                                                   .authorities = p->authorities,
                                                   .tls_server_name = p->tls_server_name,
                                                   .user = p->config,
                                                   .with_secrets = p->options->with_secrets};

    ek_buf_init(&out, (size_t)16 << 20);
    int rc = ek_proxy_kubeconfig_write(&kubeconfig, &out, &p->err);
    if (rc)
        return rc;
    fputs(ek_buf_str(&out), stdout);
    advise(p);
    return 0;
}

static int run(void *options, char **args, int n_args)
{
    struct printing p = {.options = options};

    (void)args;
    (void)n_args;
    uv_loop_init(&p.loop);
    int rc = find(&p);
    if (!rc)
        rc = print(&p);
    if (rc)
        ek_complain(&p.err);
    ek_client_close(p.client, NULL, NULL);
    uv_run(&p.loop, UV_RUN_DEFAULT);
    uv_loop_close(&p.loop);
    ek_client_config_free(p.config);
    ek_free(p.server);
    ek_free(p.tls_server_name);
    ek_free(p.authorities);
    return rc ? EK_EXIT_FAILED : EK_EXIT_OK;
}

/* ---- The command ---- */

#define AT(member) .offset = offsetof(struct options, member)

static const struct ek_flag flags[] = {
    EK_CLUSTER_FLAGS(struct options, cluster),
    {.name = "server",
     .type = EK_FLAG_STRING,
     AT(server),
     .help = "`URL` of the proxy, such as https://10.0.0.1:7443; by default the address of the "
             "Service"},
    {.name = "certificate-authority",
     .type = EK_FLAG_STRING,
     AT(authority),
     .help =
         "`file` with the certificate authorities of the proxy; by default those in the Secret, "
         "or with --server those of the cluster"},
    {.name = "tls-server-name",
     .type = EK_FLAG_STRING,
     AT(tls_server_name),
     .help = "`name` in the certificate of the proxy; by default that of the Service, or with "
             "--server the host of the URL"},
    {.name = "namespace",
     .letter = 'n',
     .type = EK_FLAG_STRING,
     AT(namespace),
     .initial = "evenkeel-system",
     .help = "`namespace` of the Service and the Secret"},
    {.name = "service",
     .type = EK_FLAG_STRING,
     AT(service),
     .initial = NAME,
     .help = "`name` of the Service"},
    {.name = "secret",
     .type = EK_FLAG_STRING,
     AT(secret),
     .initial = "evenkeel-webhook-cert",
     .help = "`name` of the Secret with the certificate authorities"},
    {.name = "with-credentials",
     .type = EK_FLAG_BOOL,
     AT(with_secrets),
     .initial = "false",
     .help = "Copy the token, the password, the key, and the plugin of the user with its arguments "
             "and environment"},
};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_command(void *unused, int argc, char **argv)
{
    struct options options = {0};
    (void)unused;
    return ek_command_run(&ek_proxy_kubeconfig_command, argc, argv, &options, run);
}

const struct ek_command ek_proxy_kubeconfig_command = {
    .name = "proxy kubeconfig",
    .usage = "",
    .summary = "Print a kubeconfig for clients of the proxy",
    .text =
        "The user is that of the present context. Paths are copied, and credential plugins without "
        "arguments and environment. "
        "Secrets are copied only with --with-credentials; without them the context names the "
        "user, so that the printed file and your kubeconfig are used together "
        "(KUBECONFIG=new:old).",
    .groups = groups,
    .n_groups = 1,
    .max_args = 0,
    .run = run_command,
};
