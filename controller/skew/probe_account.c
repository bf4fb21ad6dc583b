/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/skew/probe_account.h"

#include <stdio.h>
#include <string.h>

#define NAMESPACE_DEFAULT "evenkeel-system"
#define NAMESPACE_MAX     63  /* RFC 1123 label */
#define ACCOUNT_MAX       253 /* RFC 1123 subdomain */

/* Narrow enough that a value cannot lead to another path of the API. */
static bool is_dns_name(const char *s, size_t len, size_t max)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";

    return len > 0 && len <= max && strspn(s, inside) >= len && !strchr("-.", s[0]) &&
           !strchr("-.", s[len - 1]) && !memmem(s, len, "..", 2);
}

int ek_probe_account_parse(const char *value, const char *pod_namespace,
                           struct ek_probe_account *ret_account, struct ek_err *err)
{
    const char *slash = strchr(value, '/');
    const char *name = slash ? slash + 1 : value;
    const char *namespace = slash ? value : pod_namespace ? pod_namespace : NAMESPACE_DEFAULT;
    size_t len = slash ? (size_t)(slash - value) : strlen(namespace);

    if (!is_dns_name(namespace, len, NAMESPACE_MAX) ||
        !is_dns_name(name, strlen(name), ACCOUNT_MAX))
        return ek_err_set(err, EK_E_INVAL,
                          "%.100s is not the name of a ServiceAccount, such as "
                          "\"evenkeel-system/evenkeel-probe\"",
                          value);
    snprintf(ret_account->namespace, sizeof ret_account->namespace, "%.*s", (int)len, namespace);
    snprintf(ret_account->name, sizeof ret_account->name, "%s", name);
    return 0;
}

int ek_probe_account_check(const char *value, struct ek_err *err)
{
    struct ek_probe_account account;
    return ek_probe_account_parse(value, NULL, &account, err);
}
