/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_kubeconfig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

#define PEM "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"
/* PEM blocks without content, in base64. */
#define CA  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFRPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
#define KEY "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tClFRPT0KLS0tLS1FTkQgUFJJVkFURSBLRVktLS0tLQo="

/* A kubeconfig with one user. */
#define HEAD                                                                                       \
    "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: "    \
    "'https://1.2.3.4:6443', certificate-authority-data: " CA ", extensions: [{name: "             \
    "client.authentication.k8s.io/exec, extension: {a: 1}}]}}]\ncontexts: [{name: c, context: "    \
    "{cluster: k, user: jane, namespace: team}}]\nusers:\n- name: jane\n  user: "
#define OUT                                                                                        \
    "apiVersion: v1\nkind: Config\ncurrent-context: evenkeel-proxy\nclusters:\n- name: "           \
    "evenkeel-proxy\n  cluster:\n    server: https://10.0.0.1:443\n    tls-server-name: p.n.svc\n" \
    "    certificate-authority-data: " CA "\n"
#define CONTEXT                                                                                    \
    "contexts:\n- name: evenkeel-proxy\n  context:\n    cluster: evenkeel-proxy\n    user: jane\n" \
    "    namespace: team\n"
#define USER "users:\n- name: jane\n  user:\n    "

static const struct {
    const char *label, *user;
    bool with_secrets;
    const char *expected; /* behind the cluster */
} rows[] = {
    {"a token stays", "{token: secret}", false, CONTEXT},
    {"a token that is chosen", "{token: secret}", true, CONTEXT USER "token: secret\n"},
    {"the path of a token", "{tokenFile: /no/such/token}", false,
     CONTEXT USER "tokenFile: /no/such/token\n"},
    {"a key stays", "{client-certificate-data: " CA ", client-key-data: " KEY "}", false, CONTEXT},
    {"a key that is chosen", "{client-certificate-data: " CA ", client-key-data: " KEY "}", true,
     CONTEXT USER "client-certificate-data: " CA "\n    client-key-data: " KEY "\n"},
    {"the paths of a certificate", "{client-certificate: /c.crt, client-key: /c.key}", false,
     CONTEXT USER "client-certificate: /c.crt\n    client-key: /c.key\n"},
    {"a password stays", "{username: u, password: p}", false, CONTEXT},
    {"impersonation", "{as: joe, as-groups: [g, h], as-user-extra: {k: [v, w]}, tokenFile: /t}",
     false,
     CONTEXT USER "tokenFile: /t\n    as: joe\n    as-groups:\n    - g\n    - h\n    "
                  "as-user-extra:\n      k:\n      - v\n      - w\n"},
};

static void print(const char *user, bool with_secrets, struct ek_buf *out)
{
    char text[2048];
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    struct ek_err err = {0};

    snprintf(text, sizeof text, "%s%s\n", HEAD, user);
    ck_assert_msg(!ek_kubeconfig_parse(text, strlen(text), "/f", NULL, &config, &err), "%s",
                  err.message);
    const struct ek_proxy_kubeconfig kubeconfig = {.server = "https://10.0.0.1:443",
                                                   .authorities = PEM,
                                                   .tls_server_name = "p.n.svc",
                                                   .user = config,
                                                   .with_secrets = with_secrets};
    ck_assert_int_eq(ek_proxy_kubeconfig_write(&kubeconfig, out, &err), 0);
}

START_TEST(users)
{
    EK_AUTO(ek_buf) out;
    char expected[2048];

    ek_buf_init(&out, 65536);
    snprintf(expected, sizeof expected, "%s%s", OUT, rows[_i].expected);
    print(rows[_i].user, rows[_i].with_secrets, &out);
    ck_assert_str_eq(ek_buf_str(&out), expected);
}
END_TEST

/* A plugin comes with the configuration of the cluster that it is given; its arguments and its
 * environment may hold secrets. */
START_TEST(plugins)
{
    static const char plugin[] =
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/p, "
        "interactiveMode: Never, provideClusterInfo: true}}";
    static const char with_args[] =
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/p, args: "
        "[--client-secret=secret], interactiveMode: Never}}";
    static const char with_env[] =
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/p, env: [{name: K, "
        "value: secret}], interactiveMode: Never}}";
    EK_AUTO(ek_buf) out, bare, chosen, args, chosen_args;

    ek_buf_init(&out, 65536);
    ek_buf_init(&bare, 65536);
    ek_buf_init(&chosen, 65536);
    ek_buf_init(&args, 65536);
    ek_buf_init(&chosen_args, 65536);
    print(plugin, false, &out);
    ck_assert_str_eq(
        ek_buf_str(&out), OUT
        "    extensions:\n    - name: client.authentication.k8s.io/exec\n      extension:\n     "
        "   a: 1\n" CONTEXT USER
        "exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: /bin/p\n      "
        "interactiveMode: Never\n      provideClusterInfo: true\n");
    print(with_env, false, &bare);
    ck_assert_ptr_null(strstr(ek_buf_str(&bare), "secret"));
    print(with_args, false, &args);
    ck_assert_ptr_null(strstr(ek_buf_str(&args), "secret"));
    ck_assert_ptr_null(strstr(ek_buf_str(&args), "users:"));
    print(with_args, true, &chosen_args);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&chosen_args), "- --client-secret=secret\n"));
    print(with_env, true, &chosen);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&chosen), "- name: K\n        value: secret\n"));
}
END_TEST

/* What is printed is a kubeconfig. */
START_TEST(is_read_again)
{
    EK_AUTO(ek_buf) out;
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;

    ek_buf_init(&out, 65536);
    print("{client-certificate-data: " CA ", client-key-data: " KEY "}", true, &out);
    ck_assert_int_eq(ek_kubeconfig_parse(ek_buf_str(&out), out.len, "/f", NULL, &config, NULL), 0);
    ck_assert_str_eq(config->server, "https://10.0.0.1:443");
    ck_assert_str_eq(config->tls_server_name, "p.n.svc");
    ck_assert_str_eq(config->ca_data, PEM);
    ck_assert_ptr_nonnull(strstr(config->key_data, "BEGIN PRIVATE KEY"));
    ck_assert_str_eq(config->user, "jane");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("kubeconfig");

    tcase_add_loop_test(tcase, users, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, plugins);
    tcase_add_test(tcase, is_read_again);
    return ek_test_run("proxy_kubeconfig", tcase);
}
