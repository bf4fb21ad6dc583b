/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs: what is read, what is chosen, what is refused and how that is said. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/buf.h"
#include "informers/client/kubeconfig.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define PEM_B64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==" /* -----BEGIN CERTIFICATE----- */

/* A kubeconfig of one context; its cluster and user entries are given. */
#define CONFIG(cluster, user)                                                                      \
    "apiVersion: v1\nkind: Config\n"                                                               \
    "clusters:\n- name: prod\n  cluster: " cluster "\n"                                            \
    "users:\n- name: admin\n  user: " user "\n"                                                    \
    "contexts:\n- name: main\n  context: {cluster: prod, user: admin}\n"                           \
    "current-context: main\n"

#define SERVER "{server: 'https://10.0.0.1:6443'}"

/* All that was read, one "name=value" per line, lists as one line per item. */
static void print(const struct ek_client_config *c, char *out, size_t size)
{
    const struct {
        const char *name, *value;
    } rows[] = {
        {"source", c->source},
        {"context", c->context},
        {"cluster", c->cluster},
        {"user", c->user},
        {"namespace", c->namespace},
        {"server", c->server},
        {"tls", c->tls_server_name},
        {"insecure", c->insecure_skip_tls_verify ? "yes" : NULL},
        {"proxy", c->proxy_url},
        {"no-proxy", c->no_proxy},
        {"plain", c->disable_compression ? "yes" : NULL},
        {"ca-data", c->ca_data},
        {"ca", c->ca_file},
        {"cert-data", c->cert_data},
        {"cert", c->cert_file},
        {"key-data", c->key_data},
        {"key", c->key_file},
        {"token", c->token},
        {"token-file", c->token_file},
        {"username", c->username},
        {"password", c->password},
        {"as", c->as_user},
        {"as-uid", c->as_uid},
        {"exec", c->exec ? c->exec->command : NULL},
        {"exec-version", c->exec ? c->exec->api_version : NULL},
        {"exec-hint", c->exec ? c->exec->install_hint : NULL},
        {"exec-info", c->exec && c->exec->provide_cluster_info ? "yes" : NULL},
        {"exec-config", c->exec ? c->exec->cluster_config : NULL},
    };
    size_t n = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        if (rows[i].value)
            n += (size_t)snprintf(out + n, size - n, "%s=%s\n", rows[i].name, rows[i].value);
    for (size_t i = 0; i < c->as_groups.n; i++)
        n += (size_t)snprintf(out + n, size - n, "group=%s\n", c->as_groups.items[i]);
    for (size_t i = 0; i < c->as_extra.n; i++)
        n += (size_t)snprintf(out + n, size - n, "extra %s=%s\n", c->as_extra.items[i].name,
                              c->as_extra.items[i].value);
    for (size_t i = 0; c->exec && i < c->exec->args.n; i++)
        n += (size_t)snprintf(out + n, size - n, "arg=%s\n", c->exec->args.items[i]);
    for (size_t i = 0; c->exec && i < c->exec->env.n; i++)
        n += (size_t)snprintf(out + n, size - n, "env %s=%s\n", c->exec->env.items[i].name,
                              c->exec->env.items[i].value);
    for (size_t i = 0; i < c->warnings.n; i++)
        n += (size_t)snprintf(out + n, size - n, "warning=%s\n", c->warnings.items[i]);
}

#define HEAD        "source=/etc/k/config\ncontext=main\ncluster=prod\nuser=admin\n"
#define WITH_SERVER HEAD "server=https://10.0.0.1:6443\n"

static const struct {
    const char *name, *text, *context, *want;
} good[] = {
    {"smallest", CONFIG(SERVER, "{}"), NULL, WITH_SERVER},
    {"JSON",
     "{\"clusters\":[{\"name\":\"prod\",\"cluster\":{\"server\":\"https://10.0.0.1:6443\"}}],"
     "\"users\":[{\"name\":\"admin\",\"user\":{\"token\":\"t\"}}],\"contexts\":[{\"name\":\"main\","
     "\"context\":{\"cluster\":\"prod\",\"user\":\"admin\"}}],\"current-context\":\"main\"}",
     NULL, WITH_SERVER "token=t\n"},
    {"null user", CONFIG(SERVER, "null"), NULL, WITH_SERVER},
    {"null fields", CONFIG(SERVER, "{token: null, exec: null, auth-provider: null, as-groups: }"),
     NULL, WITH_SERVER},
    {"cluster fields",
     CONFIG("{server: 'https://10.0.0.1:6443', tls-server-name: api, proxy-url: 'http://p:1', "
            "disable-compression: true, certificate-authority-data: " PEM_B64 ", extensions: []}",
            "{}"),
     NULL,
     WITH_SERVER "tls=api\nproxy=http://p:1\nplain=yes\nca-data=-----BEGIN CERTIFICATE-----\n\n"},
    {"insecure", CONFIG("{server: 'https://10.0.0.1:6443', insecure-skip-tls-verify: true}", "{}"),
     NULL, WITH_SERVER "insecure=yes\n"},
    {"relative files",
     CONFIG("{server: 'https://10.0.0.1:6443', certificate-authority: pki/ca.crt}",
            "{client-certificate: ../c.crt, client-key: /abs/c.key, tokenFile: token}"),
     NULL,
     WITH_SERVER "ca=/etc/k/pki/ca.crt\ncert=/etc/k/../c.crt\nkey=/abs/c.key\n"
                 "token-file=/etc/k/token\n"},
    {"token and file", CONFIG(SERVER, "{token: t, tokenFile: /f}"), NULL,
     WITH_SERVER "token=t\ntoken-file=/f\n"},
    {"basic", CONFIG(SERVER, "{username: u, password: p}"), NULL,
     WITH_SERVER "username=u\npassword=p\n"},
    {"certificate data",
     CONFIG(SERVER, "{client-certificate-data: " PEM_B64 ", client-key-data: " PEM_B64 "}"), NULL,
     WITH_SERVER
     "cert-data=-----BEGIN CERTIFICATE-----\n\nkey-data=-----BEGIN CERTIFICATE-----\n\n"},
    {"impersonation",
     CONFIG(SERVER,
            "{as: jane, as-uid: u1, as-groups: [a, b], as-user-extra: {x: [1st, 2nd], y: []}}"),
     NULL, WITH_SERVER "as=jane\nas-uid=u1\ngroup=a\ngroup=b\nextra x=1st\nextra x=2nd\n"},
    {"exec",
     CONFIG("{server: 'https://10.0.0.1:6443', extensions: [{name: "
            "client.authentication.k8s.io/exec, extension: {a: 1}}]}",
            "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [eks, tok], "
            "env: [{name: A, value: b}], installHint: get it, provideClusterInfo: true, "
            "interactiveMode: Never}}"),
     NULL,
     WITH_SERVER "exec=aws\nexec-version=client.authentication.k8s.io/v1\nexec-hint=get it\n"
                 "exec-info=yes\nexec-config={\"a\":1}\narg=eks\narg=tok\nenv A=b\n"},
    {"exec by path, v1beta1 without a mode",
     CONFIG(SERVER, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/x, "
                    "args: null, env: null}}"),
     NULL, WITH_SERVER "exec=/etc/k/bin/x\nexec-version=client.authentication.k8s.io/v1beta1\n"},
    {"token beats exec", CONFIG(SERVER, "{token: t, exec: {apiVersion: v1alpha1, command: x}}"),
     NULL,
     WITH_SERVER
     "token=t\nwarning=/etc/k/config: user \"admin\": exec is not used beside a token\n"},
    {"unknown fields",
     "colour: red\n" CONFIG("{server: 'https://10.0.0.1:6443', api-version: v1}",
                            "{tok: \"secret\"}"),
     NULL,
     WITH_SERVER "warning=/etc/k/config: unknown field colour\n"
                 "warning=/etc/k/config: unknown field clusters[0] (prod).cluster.api-version\n"
                 "warning=/etc/k/config: unknown field users[0] (admin).user.tok\n"},
    {"another context",
     "clusters: [{name: a, cluster: {server: 'https://a'}}]\n"
     "users: [{name: u, user: {}}]\n"
     "contexts: [{name: x, context: {cluster: a, user: u, namespace: ns}}]\n"
     "current-context: gone\n",
     "x", "source=/etc/k/config\ncontext=x\ncluster=a\nuser=u\nnamespace=ns\nserver=https://a\n"},
};

START_TEST(what_is_read)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *copy = NULL;
    struct ek_err err = {0};
    char text[4096] = "";
    const char *name = good[_i].name;

    int rc = ek_kubeconfig_parse(good[_i].text, strlen(good[_i].text), "/etc/k/config",
                                 good[_i].context, &config, &err);
    ck_assert_msg(rc == 0, "%s: %s", name, err.message);
    copy = ek_client_config_dup(config); /* a copy is equal */
    ek_client_config_free(config);
    config = NULL;
    print(copy, text, sizeof text);
    ck_assert_msg(!strcmp(text, good[_i].want), "%s:\n%s\nwant\n%s", name, text, good[_i].want);
}
END_TEST

#define USER "user \"admin\": "

static const struct {
    const char *name, *text, *context;
    int code;
    const char *message; /* contained in the error's */
} bad[] = {
    {"not YAML", "clusters: [\n", NULL, EK_E_PARSE, "/etc/k/config: "},
    {"text", "hello", NULL, EK_E_PARSE, "not a kubeconfig: it holds a string"},
    {"a list", "[]", NULL, EK_E_PARSE, "it holds a list"},
    {"another object", "apiVersion: v1\nkind: Pod\n", NULL, EK_E_PARSE, "not a kubeconfig"},
    {"another version", "apiVersion: v2\nkind: Config\n", NULL, EK_E_PARSE, "apiVersion v2"},
    {"empty", "", NULL, EK_E_NOENT, "no current-context is set (contexts: none)"},
    {"no context chosen", "contexts: [{name: a, context: {}}, {name: b, context: {}}]", NULL,
     EK_E_NOENT, "/etc/k/config: no current-context is set (contexts: a, b)"},
    {"no such context", CONFIG(SERVER, "{}"), "other", EK_E_NOENT,
     "/etc/k/config: context \"other\" does not exist (contexts: main)"},
    {"many contexts",
     "contexts: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}]", "x",
     EK_E_NOENT, "(contexts: a, b, c, d, e, ...)"},
    {"context without cluster", "contexts: [{name: a, context: {user: u}}]\ncurrent-context: a",
     NULL, EK_E_INVAL, "context \"a\": has no cluster"},
    {"context without content", "contexts: [{name: a}]\ncurrent-context: a", NULL, EK_E_INVAL,
     "context \"a\": has no cluster"},
    {"no such cluster", "contexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a",
     NULL, EK_E_NOENT, "/etc/k/config: context \"a\": its cluster \"c\" does not exist"},
    {"no such user",
     "clusters: [{name: c, cluster: {server: x}}]\n"
     "contexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a",
     NULL, EK_E_NOENT, "context \"a\": its user \"u\" does not exist"},
    {"context without user",
     "clusters: [{name: c, cluster: {server: x}}]\n"
     "contexts: [{name: a, context: {cluster: c}}]\ncurrent-context: a",
     NULL, EK_E_INVAL, "context \"a\": has no user"},
    {"no server", CONFIG("{}", "{}"), NULL, EK_E_INVAL, "cluster \"prod\": has no server"},
    {"server of another type", CONFIG("{server: 7}", "{}"), NULL, EK_E_PARSE,
     "/etc/k/config: clusters[0] (prod).cluster.server must be a string, not a number"},
    {"boolean in quotes", CONFIG("{server: x, insecure-skip-tls-verify: 'true'}", "{}"), NULL,
     EK_E_PARSE, "insecure-skip-tls-verify must be a boolean, not a string"},
    {"token is a number", CONFIG(SERVER, "{token: 31337}"), NULL, EK_E_PARSE,
     "users[0] (admin).user.token must be a string, not a number"},
    {"sections are lists", "clusters: {prod: {}}", NULL, EK_E_PARSE,
     "clusters must be a list, not an object"},
    {"entries are objects", "users: [admin]", NULL, EK_E_PARSE,
     "users[0] must be an object, not a string"},
    {"entries have names", "users: [{user: {}}]", NULL, EK_E_PARSE, "users[0] has no name"},
    {"names are unique", "users: [{name: a}, {name: b}, {name: a}]", NULL, EK_E_PARSE,
     "the name a occurs twice in users"},
    {"unused entries count too", "users: [{name: x, user: {as-groups: [1]}}]", NULL, EK_E_PARSE,
     "as-groups must be a list of strings, not a number"},
    {"groups are a list", CONFIG(SERVER, "{as: a, as-groups: devs}"), NULL, EK_E_PARSE,
     "as-groups must be a list of strings, not a string"},
    {"extra is an object of lists", CONFIG(SERVER, "{as: a, as-user-extra: {x: why}}"), NULL,
     EK_E_PARSE, "as-user-extra.x must be a list of strings, not a string"},
    {"groups without a user", CONFIG(SERVER, "{as-groups: [a]}"), NULL, EK_E_INVAL,
     USER "as-uid, as-groups and as-user-extra need as"},
    {"two authorities",
     CONFIG("{server: x, certificate-authority: a, certificate-authority-data: " PEM_B64 "}", "{}"),
     NULL, EK_E_INVAL,
     "cluster \"prod\": has both certificate-authority and certificate-authority-data"},
    {"authority without verification",
     CONFIG("{server: x, certificate-authority: a, insecure-skip-tls-verify: true}", "{}"), NULL,
     EK_E_INVAL, "has both insecure-skip-tls-verify and a certificate authority"},
    {"authority is not base64", CONFIG("{server: x, certificate-authority-data: '%%%'}", "{}"),
     NULL, EK_E_PARSE, "certificate-authority-data is not base64"},
    {"authority is not PEM", CONFIG("{server: x, certificate-authority-data: aGVsbG8=}", "{}"),
     NULL, EK_E_PARSE, "certificate-authority-data holds no PEM block"},
    {"proxy", CONFIG("{server: x, proxy-url: 'ftp://p'}", "{}"), NULL, EK_E_INVAL,
     "cluster \"prod\": proxy-url must begin with"},
    {"token and password", CONFIG(SERVER, "{token: hunter2, username: u, password: hunter2}"), NULL,
     EK_E_INVAL, USER "has both a token and a username"},
    {"certificate without key", CONFIG(SERVER, "{client-certificate: c}"), NULL, EK_E_INVAL,
     USER "has client-certificate but no client-key"},
    {"key without certificate", CONFIG(SERVER, "{client-key: c}"), NULL, EK_E_INVAL,
     USER "has client-key but no client-certificate"},
    {"key twice",
     CONFIG(SERVER, "{client-certificate: c, client-key: k, client-key-data: " PEM_B64 "}"), NULL,
     EK_E_INVAL, USER "has both client-key and client-key-data"},
    {"auth-provider", CONFIG(SERVER, "{auth-provider: {name: gcp, config: {token: hunter2}}}"),
     NULL, EK_E_UNSUPPORTED, USER "auth-provider was removed from Kubernetes in 1.26"},
    {"exec is an object", CONFIG(SERVER, "{exec: aws}"), NULL, EK_E_PARSE,
     "users[0] (admin).user.exec must be an object, not a string"},
    {"exec without command",
     CONFIG(SERVER, "{exec: {apiVersion: client.authentication.k8s.io/v1}}"), NULL, EK_E_INVAL,
     USER "exec has no command"},
    {"exec without version", CONFIG(SERVER, "{exec: {command: x}}"), NULL, EK_E_INVAL,
     USER "exec has no apiVersion"},
    {"exec of an old version",
     CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}"),
     NULL, EK_E_INVAL, USER "exec.apiVersion must be"},
    {"exec v1 without a mode",
     CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}"), NULL,
     EK_E_INVAL, USER "exec.interactiveMode is required"},
    {"exec with an odd mode",
     CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
                    "interactiveMode: Sometimes}}"),
     NULL, EK_E_INVAL, USER "exec.interactiveMode must be Never, IfAvailable or Always"},
    {"exec env without name",
     CONFIG(SERVER, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
                    "env: [{value: hunter2}], interactiveMode: Never}}"),
     NULL, EK_E_INVAL, USER "exec.env has an entry without a usable name"},
    {"a secret near a mistake", "users:\n- name: admin\n  user:\n    token: hunter2\n   bad: [\n",
     NULL, EK_E_PARSE, "/etc/k/config: "},
};

START_TEST(what_is_refused)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    struct ek_err err = {0};
    const char *name = bad[_i].name;

    int rc = ek_kubeconfig_parse(bad[_i].text, strlen(bad[_i].text), "/etc/k/config",
                                 bad[_i].context, &config, &err);
    ck_assert_msg(rc == bad[_i].code, "%s: %d %s", name, rc, err.message);
    ck_assert_msg(strstr(err.message, bad[_i].message) != NULL, "%s: %s", name, err.message);
    ck_assert_msg(strstr(err.message, "/etc/k/config") != NULL, "%s: %s", name, err.message);
    ck_assert_msg(!strstr(err.message, "hunter2"), "%s: a secret: %s", name, err.message);
    ck_assert_msg(!strchr(err.message, '\n'), "%s: %s", name, err.message);
    ck_assert_msg(!config, "%s: a configuration beside an error", name);
}
END_TEST

START_TEST(warnings_are_bounded)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1 << 20);
    ek_buf_puts(&text, CONFIG(SERVER, "{}"));
    for (int i = 0; i < 1000; i++)
        ek_buf_printf(&text, "\"odd%d\\n%0500d\": 1\n", i, i);
    ck_assert_int_eq(ek_kubeconfig_parse(text.data, text.len, "/k", NULL, &config, NULL), 0);
    ck_assert_uint_eq(config->warnings.n, EK_KUBECONFIG_WARNINGS_MAX);
    for (size_t i = 0; i < config->warnings.n; i++) {
        ck_assert_uint_lt(strlen(config->warnings.items[i]), 300);
        ck_assert_ptr_null(strchr(config->warnings.items[i], '\n'));
    }
}
END_TEST

/* A folder that stands for a machine, and the environment on it. */
struct machine {
    char root[TESTDIR_SIZE];
    const char *const *env; /* pairs, ended by NULL; "@" in a value stands for root */
    char values[4][512];    /* of the last calls */
    unsigned n_calls;
};

static const char *machine_getenv(void *ctx, const char *name)
{
    struct machine *machine = ctx;
    char *value = machine->values[machine->n_calls++ % EK_ARRAY_SIZE(machine->values)];
    size_t n = 0, size = sizeof machine->values[0];
    EK_AUTOFREE char *root = ek_xstrdup(machine->root);

    for (const char *const *p = machine->env; *p; p += 2) {
        if (strcmp(*p, name) != 0)
            continue;
        value[0] = '\0';
        for (const char *c = p[1]; *c && n < size; c++)
            n += (size_t)(*c == '@' ? snprintf(value + n, size - n, "%s", root)
                                    : snprintf(value + n, size - n, "%c", *c));
        return value;
    }
    return NULL;
}

#define SA     "var/run/secrets/kubernetes.io/serviceaccount/"
#define IN_POD "KUBERNETES_SERVICE_HOST", "10.96.0.1", "KUBERNETES_SERVICE_PORT", "443"

/* One file's content for context <c> of cluster <c>. */
#define FILE_FOR(c, server)                                                                        \
    "clusters: [{name: " c ", cluster: {server: '" server "'}}]\n"                                 \
    "users: [{name: " c ", user: {token: " c "}}]\n"                                               \
    "contexts: [{name: " c ", context: {cluster: " c ", user: " c "}}]\n"                          \
    "current-context: " c "\n"

static const struct {
    const char *name;
    const char *env[12];
    const char *path, *context;
    const char *files[10]; /* pairs */
    int code;
    const char *want; /* part of the print, or of the message */
} loads[] = {
    {"explicit file",
     {"KUBECONFIG", "@/other", IN_POD},
     "a",
     NULL,
     {"a", FILE_FOR("a", "https://a")},
     0,
     "\nserver=https://a\n"},
    {"explicit file is missing",
     {"HOME", "@", NULL},
     "a",
     NULL,
     {".kube/config", FILE_FOR("h", "https://h")},
     EK_E_NOENT,
     "/a: "},
    {"explicit file is a folder", {NULL}, "d", NULL, {"d/x", ""}, EK_E_IO, "cannot read "},
    {"KUBECONFIG",
     {"KUBECONFIG", "@/a", "HOME", "@", IN_POD},
     NULL,
     NULL,
     {"a", FILE_FOR("a", "https://a"), ".kube/config", FILE_FOR("h", "https://h")},
     0,
     "\nserver=https://a\n"},
    {"first file wins",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     NULL,
     {"a", "clusters: [{name: b, cluster: {server: 'https://first'}}]\n", "b",
      FILE_FOR("b", "https://second")},
     0,
     "server=https://first\ntoken=b\n"},
    {"a shadowed entry is not merged into",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     NULL,
     {"a", "users: [{name: b, user: {}}]\n", "b", FILE_FOR("b", "https://b")},
     0,
     "server=https://b\n"},
    {"first current-context wins",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     NULL,
     {"a", FILE_FOR("a", "https://a"), "b", FILE_FOR("b", "https://b")},
     0,
     "\nserver=https://a\n"},
    {"a context of the second file",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     "b",
     {"a", FILE_FOR("a", "https://a"), "b", FILE_FOR("b", "https://b")},
     0,
     "\nserver=https://b\n"},
    {"missing files are skipped",
     {"KUBECONFIG", "@/none::@/b:"},
     NULL,
     NULL,
     {"b", FILE_FOR("b", "https://b")},
     0,
     "\nserver=https://b\n"},
    {"all files are missing",
     {"KUBECONFIG", "@/none:@/neither"},
     NULL,
     NULL,
     {NULL},
     EK_E_NOENT,
     "KUBECONFIG names no file that exists"},
    {"a bad file among good ones",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     NULL,
     {"a", FILE_FOR("a", "https://a"), "b", "users: 7"},
     EK_E_PARSE,
     "/b: users must be a list"},
    {"no context in two files",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     "c",
     {"a", FILE_FOR("a", "https://a"), "b", FILE_FOR("b", "https://b")},
     EK_E_NOENT,
     "/a and 1 more file: context \"c\" does not exist (contexts: a, b)"},
    {"in a pod",
     {IN_POD, "HOME", "@"},
     NULL,
     NULL,
     {SA "token", "t", SA "ca.crt", "c", SA "namespace", "evenkeel\n", ".kube/config",
      FILE_FOR("h", "https://h")},
     0,
     "source=in-cluster\nnamespace=evenkeel\nserver=https://10.96.0.1:443\nca="},
    {"in a pod of an IPv6 cluster",
     {"KUBERNETES_SERVICE_HOST", "fd00::1", "KUBERNETES_SERVICE_PORT", "443"},
     NULL,
     NULL,
     {SA "token", "t"},
     0,
     "source=in-cluster\nserver=https://[fd00::1]:443\ntoken-file="},
    {"a pod without a token has a home",
     {IN_POD, "HOME", "@"},
     NULL,
     NULL,
     {".kube/config", FILE_FOR("h", "https://h")},
     0,
     "\nserver=https://h\n"},
    {"a pod without a token",
     {IN_POD},
     NULL,
     NULL,
     {NULL},
     EK_E_NOENT,
     "without a service account token"},
    {"a context is not the pod's",
     {IN_POD, "HOME", "@"},
     NULL,
     "h",
     {SA "token", "t", ".kube/config", FILE_FOR("h", "https://h")},
     0,
     "\nserver=https://h\n"},
    {"home",
     {"HOME", "@"},
     NULL,
     NULL,
     {".kube/config", FILE_FOR("h", "https://h")},
     0,
     "\nserver=https://h\n"},
    {"nothing",
     {"HOME", "@"},
     NULL,
     NULL,
     {NULL},
     EK_E_NOENT,
     "no cluster to talk to: KUBECONFIG is not set, not in a cluster: "},
    {"nothing at all", {NULL}, NULL, NULL, {NULL}, EK_E_NOENT, "HOME is not set"},
    {"proxy of the environment",
     {"HTTPS_PROXY", "http://p:1", "NO_PROXY", ".svc", "HOME", "@"},
     NULL,
     NULL,
     {".kube/config", FILE_FOR("h", "https://h")},
     0,
     "proxy=http://p:1\nno-proxy=localhost,127.0.0.0/8,::1,.svc\n"},
    {"proxy in lower case, for http",
     {"http_proxy", "http://q:1", "https_proxy", "x", "HOME", "@"},
     NULL,
     NULL,
     {".kube/config", FILE_FOR("h", "http://h")},
     0,
     "\nproxy=http://q:1\n"},
    {"credentials in the clear",
     {"HOME", "@"},
     NULL,
     NULL,
     {".kube/config", FILE_FOR("h", "http://h")},
     0,
     "context \"h\": the credentials are not sent, because the connection to the server does not "
     "use TLS\n"},
    {"the same without a scheme",
     {"HOME", "@"},
     NULL,
     NULL,
     {".kube/config", FILE_FOR("h", "h:8080")},
     0,
     "context \"h\": the credentials are not sent"},
};

START_TEST(which_is_loaded)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    struct machine machine = {.env = loads[_i].env};
    struct ek_client_env env = {machine_getenv, &machine, machine.root};
    struct ek_err err = {0};
    char text[4096] = "", path[128] = "";
    const char *name = loads[_i].name;

    testdir_make(machine.root);
    for (int i = 0; loads[_i].files[i]; i += 2)
        testdir_put(machine.root, loads[_i].files[i], loads[_i].files[i + 1], 0600);
    if (loads[_i].path)
        snprintf(path, sizeof path, "%s/%s", machine.root, loads[_i].path);
    int rc = ek_kubeconfig_load(path, loads[_i].context, &env, &config, &err);
    ck_assert_msg(rc == loads[_i].code, "%s: %d %s", name, rc, err.message);
    if (config)
        print(config, text, sizeof text);
    ck_assert_msg(strstr(rc ? err.message : text, loads[_i].want) != NULL, "%s: %s", name,
                  rc ? err.message : text);
    testdir_remove(machine.root);
}
END_TEST

/* The contexts of the files that are read, each once; what fails is what a load fails with. */
static const struct {
    const char *name;
    const char *env[4];
    const char *path; /* below the machine's root, NULL for none */
    const char *files[5];
    int code;
    const char *want; /* names with a blank behind each, or the message */
} context_rows[] = {
    {"one file",
     {"HOME", "@"},
     "a",
     {"a", "contexts: [{name: b}, {name: a}, {name: 'x,y'}]", ".kube/config",
      FILE_FOR("h", "https://h")},
     0,
     "b a x,y "},
    {"several files, a name twice",
     {"KUBECONFIG", "@/a:@/b"},
     NULL,
     {"a", "contexts: [{name: a}, {name: b}]", "b", "contexts: [{name: b}, {name: c}]"},
     0,
     "a b c "},
    {"the home folder", {"HOME", "@"}, NULL, {".kube/config", FILE_FOR("h", "https://h")}, 0, "h "},
    {"no context", {"HOME", "@"}, NULL, {".kube/config", "clusters: []"}, 0, ""},
    {"no file", {"KUBECONFIG", "@/none"}, NULL, {NULL}, EK_E_NOENT, "names no file that exists"},
    {"no kubeconfig", {"HOME", "@"}, NULL, {NULL}, EK_E_NOENT, "there is no ~/.kube/config"},
    {"a bad file", {"HOME", "@"}, "a", {"a", "contexts: 7"}, EK_E_PARSE, "contexts must be a list"},
};

START_TEST(which_contexts_there_are)
{
    struct machine machine = {.env = context_rows[_i].env};
    struct ek_client_env env = {machine_getenv, &machine, machine.root};
    struct ek_strings names = {NULL, 0};
    struct ek_err err = {0};
    char path[128] = "", text[256] = "";

    testdir_make(machine.root);
    for (int i = 0; context_rows[_i].files[i]; i += 2)
        testdir_put(machine.root, context_rows[_i].files[i], context_rows[_i].files[i + 1], 0600);
    if (context_rows[_i].path)
        snprintf(path, sizeof path, "%s/%s", machine.root, context_rows[_i].path);
    int rc = ek_kubeconfig_contexts(path, &env, &names, &err);
    ck_assert_msg(rc == context_rows[_i].code, "%s: %d %s", context_rows[_i].name, rc, err.message);
    for (size_t i = 0; i < names.n; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s ", names.items[i]);
    }
    if (rc)
        ck_assert_msg(strstr(err.message, context_rows[_i].want) != NULL, "%s: %s",
                      context_rows[_i].name, err.message);
    else
        ck_assert_msg(!strcmp(text, context_rows[_i].want), "%s: %s", context_rows[_i].name, text);
    ek_strings_done(&names);
    testdir_remove(machine.root);
}
END_TEST

static const struct {
    const char *text, *bytes; /* bytes NULL: refused */
} base64_rows[] = {
    {"", ""},
    {"Zg==", "f"},
    {"Zm8=", "fo"},
    {"Zm9v", "foo"},
    {"Zm9v\nYmFy\r\n", "foobar"},
    {"Zm9vYg==", "foob"},
    {"////", "\xff\xff\xff"},
    {"Zg", NULL},
    {"Zg=", NULL},
    {"Z", NULL},
    {"Zg==Zg==", NULL},
    {"Zm9v!", NULL},
    {"====", NULL},
    {"Zm 9v", NULL},
    {"Zm9-", NULL},
};

START_TEST(base64)
{
    char *data = NULL;
    size_t size = 0;
    int rc = ek_base64_decode(base64_rows[_i].text, &data, &size);

    ck_assert_msg((rc == 0) == (base64_rows[_i].bytes != NULL), "%s: %d", base64_rows[_i].text, rc);
    if (rc)
        return;
    ck_assert_uint_eq(size, strlen(base64_rows[_i].bytes));
    ck_assert_int_eq(memcmp(data, base64_rows[_i].bytes, size), 0);
    char *encoded = ek_base64_encode(data, size);
    if (!strchr(base64_rows[_i].text, '\n'))
        ck_assert_str_eq(encoded, base64_rows[_i].text);
    ek_free(encoded);
    ek_free(data);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("kubeconfig");

    tcase_add_loop_test(tcase, what_is_read, 0, (int)EK_ARRAY_SIZE(good));
    tcase_add_loop_test(tcase, what_is_refused, 0, (int)EK_ARRAY_SIZE(bad));
    tcase_add_test(tcase, warnings_are_bounded);
    tcase_add_loop_test(tcase, which_is_loaded, 0, (int)EK_ARRAY_SIZE(loads));
    tcase_add_loop_test(tcase, which_contexts_there_are, 0, (int)EK_ARRAY_SIZE(context_rows));
    tcase_add_loop_test(tcase, base64, 0, (int)EK_ARRAY_SIZE(base64_rows));
    return ek_test_run("kubeconfig", tcase);
}
