/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/callers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api/base/mem.h"

#define TEXT_SIZE 64

/* IPv4 addresses are those that IPv6 has for them (RFC 4291, section 2.5.5.2). */
struct prefix {
    unsigned char address[16];
    unsigned bits;
};

struct ek_webhook_callers {
    atomic_uint refs;
    struct prefix *prefixes;
    size_t n;
};

struct ek_webhook_callers *ek_webhook_callers_new(void)
{
    struct ek_webhook_callers *callers = ek_xalloc(sizeof *callers);

    atomic_init(&callers->refs, 1);
    return callers;
}

struct ek_webhook_callers *ek_webhook_callers_ref(struct ek_webhook_callers *callers)
{
    if (callers)
        atomic_fetch_add_explicit(&callers->refs, 1, memory_order_relaxed);
    return callers;
}

void ek_webhook_callers_unref(struct ek_webhook_callers *callers)
{
    if (!callers || atomic_fetch_sub_explicit(&callers->refs, 1, memory_order_acq_rel) != 1)
        return;
    ek_free(callers->prefixes);
    ek_free(callers);
}

/* ---- Texts ---- */

static bool read_address(const char *text, unsigned char ret_address[16], bool *ret_v4)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    *ret_v4 = uv_inet_pton(AF_INET, text, ret_address + sizeof mapped) == 0;
    if (*ret_v4)
        memcpy(ret_address, mapped, sizeof mapped);
    return *ret_v4 || uv_inet_pton(AF_INET6, text, ret_address) == 0;
}

/* Cuts the port off "10.0.0.1:6443" and "[fd00::1]:6443". */
static bool read_host(const char *text, unsigned char ret_address[16], bool *ret_v4)
{
    const char *colon = strrchr(text, ':'), *end = text + strlen(text);
    char host[TEXT_SIZE];

    if (*text == '[') {
        end = strchr(++text, ']');
        if (!end || (end[1] && end[1] != ':'))
            return false;
    } else if (colon && strchr(text, ':') == colon) {
        end = colon;
    }
    if ((size_t)(end - text) >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(end - text), text);
    return read_address(host, ret_address, ret_v4);
}

static bool read_bits(const char *text, unsigned max, unsigned *ret_bits)
{
    size_t len = strspn(text, "0123456789");

    *ret_bits = len && len <= 3 && !text[len] ? (unsigned)strtoul(text, NULL, 10) : max + 1;
    return *ret_bits <= max;
}

static bool read_prefix(const char *text, struct prefix *ret)
{
    const char *slash = strchr(text, '/');
    char host[TEXT_SIZE];
    bool v4;

    if (!slash) {
        ret->bits = 128;
        return read_host(text, ret->address, &v4);
    }
    snprintf(host, sizeof host, "%.*s", (int)(slash - text), text);
    if ((size_t)(slash - text) >= sizeof host || !read_address(host, ret->address, &v4) ||
        !read_bits(slash + 1, v4 ? 32 : 128, &ret->bits))
        return false;
    ret->bits += v4 ? 96 : 0;
    return true;
}

int ek_webhook_callers_add(struct ek_webhook_callers *callers, const char *text)
{
    struct prefix prefix = {0};

    if (!read_prefix(text, &prefix))
        return EK_E_INVAL;
    if (callers->n == EK_WEBHOOK_CALLERS_MAX)
        return EK_E_LIMIT;
    callers->prefixes = ek_xrealloc(callers->prefixes, callers->n + 1, sizeof prefix);
    callers->prefixes[callers->n++] = prefix;
    return 0;
}

static bool is_in(const unsigned char address[16], const struct prefix *prefix)
{
    unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;

    if (memcmp(address, prefix->address, whole) != 0)
        return false;
    return !rest || ((address[whole] ^ prefix->address[whole]) >> (8 - rest)) == 0;
}

bool ek_webhook_callers_has(const struct ek_webhook_callers *callers, const char *remote)
{
    unsigned char address[16];
    bool v4;

    if (!read_host(remote, address, &v4))
        return false;
    for (size_t i = 0; i < callers->n; i++)
        if (is_in(address, &callers->prefixes[i]))
            return true;
    return false;
}

bool ek_webhook_callers_equal(const struct ek_webhook_callers *a,
                              const struct ek_webhook_callers *b)
{
    if (!a || !b)
        return a == b;
    for (size_t i = 0; a->n == b->n && i < a->n; i++)
        if (a->prefixes[i].bits != b->prefixes[i].bits ||
            memcmp(a->prefixes[i].address, b->prefixes[i].address, 16) != 0)
            return false;
    return a->n == b->n;
}

/* ---- Rules ---- */

/* Calls fn for each part of a list; ends with the first that is not 0. */
static int each_part(const char *list, int (*fn)(void *ctx, const char *part), void *ctx)
{
    int rc = 0;

    while (*list && !rc) {
        size_t len = strcspn(list, ",");
        EK_AUTOFREE char *part = ek_xstrndup(list, len);
        rc = fn(ctx, part);
        list += len + (list[len] == ',');
    }
    return rc;
}

struct parsing {
    struct ek_webhook_caller_rules *rules;
    struct ek_webhook_callers *callers;
    struct ek_err *err;
};

static int parse_part(void *ctx, const char *part)
{
    const struct parsing *p = ctx;

    if (!strcmp(part, "any")) {
        p->rules->any = true;
        return 0;
    }
    if (!strcmp(part, "apiservers")) {
        p->rules->api_servers = true;
        return 0;
    }
    if (ek_webhook_callers_add(p->callers, part))
        return ek_err_set(
            p->err, EK_E_INVAL,
            "\"%s\" is not any, apiservers, an address or a prefix such as 10.0.0.0/8", part);
    char *all = ek_xasprintf("%s%s%s", p->rules->prefixes, *p->rules->prefixes ? "," : "", part);
    ek_free(p->rules->prefixes);
    p->rules->prefixes = all;
    return 0;
}

int ek_webhook_caller_rules_parse(const char *text, struct ek_webhook_caller_rules *ret_rules,
                                  struct ek_err *err)
{
    struct parsing parsing = {ret_rules, ek_webhook_callers_new(), err};

    *ret_rules = (struct ek_webhook_caller_rules){.prefixes = ek_xstrdup("")};
    int rc = each_part(text, parse_part, &parsing);
    ek_webhook_callers_unref(parsing.callers);
    if (!rc && !*text)
        rc = ek_err_set(err, EK_E_INVAL, "no caller is named: use any, apiservers or prefixes");
    return rc;
}

void ek_webhook_caller_rules_done(struct ek_webhook_caller_rules *rules)
{
    ek_free(rules->prefixes);
    rules->prefixes = NULL;
}

/* ---- Sets ---- */

static int add_part(void *ctx, const char *part)
{
    ek_webhook_callers_add(ctx, part);
    return 0;
}

static void add_own(struct ek_webhook_callers *callers)
{
    uv_interface_address_t *list;
    char text[TEXT_SIZE];
    int n = 0;

    if (uv_interface_addresses(&list, &n))
        return;
    for (int i = 0; i < n; i++) {
        int rc = list[i].address.address4.sin_family == AF_INET
                     ? uv_ip4_name(&list[i].address.address4, text, sizeof text)
                     : uv_ip6_name(&list[i].address.address6, text, sizeof text);
        if (!rc)
            add_part(callers, text);
    }
    uv_free_interface_addresses(list, n);
}

/* Pods name addresses, too, but a kubelet writes them. */
static void add_peers(struct ek_webhook_callers *callers, const struct ek_peer_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct ek_peer *peer = &table->peers[i];
        if (peer->in_endpoints || !strcmp(peer->address_source, "EndpointSlice") ||
            !strcmp(peer->address_source, "Static"))
            add_part(callers, peer->address);
    }
}

struct ek_webhook_callers *ek_webhook_callers_make(const struct ek_webhook_caller_rules *rules,
                                                   const struct ek_peer_table *peers)
{
    if (rules->any)
        return NULL;
    struct ek_webhook_callers *callers = ek_webhook_callers_new();
    each_part(rules->prefixes, add_part, callers);
    if (rules->api_servers)
        add_own(callers);
    if (rules->api_servers && peers)
        add_peers(callers, peers);
    return callers;
}
