/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes' URL library: url, isURL and the accessors of a URL.
 */
#include <string.h>

#include "api/cel/lib/opaque.h"
#include "api/cel/lib/strings.h"
#include "api/cel/library.h"
#include "api/cel/text/url.h"

/* A query of more settings reads as empty (Go net/url). */
#define QUERY_MAX 10000u

struct value {
    struct ek_cel_opaque base;
    struct ek_cel_url url;
    struct ek_str text; /* the URL written again: what == compares */
};

static bool equal(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b)
{
    return ek_str_eq(((const struct value *)a)->text, ((const struct value *)b)->text);
}

static int format(const struct ek_cel_opaque *value, struct ek_buf *out)
{
    struct ek_str text = ((const struct value *)value)->text;

    return ek_buf_append(out, text.p, text.len);
}

static const struct ek_cel_opaque_kind url_kind = {
    .name = "kubernetes.URL", .equal = equal, .format = format};

static const struct ek_cel_url *url_of(const struct ek_cel_val *value)
{
    return &((const struct value *)value->opaque)->url;
}

/* What is wrong with the first len octets of s. */
static struct ek_cel_val refuse(struct ek_cel_eval *eval, const struct ek_cel_val *s, size_t len,
                                const struct ek_cel_url_fault *fault)
{
    struct ek_cel_text text;
    struct ek_cel_val message;

    ek_cel_text_init(&text, eval);
    ek_cel_text_add(&text, "parse ", 6);
    ek_cel_text_quote(&text, s->s, len);
    ek_cel_text_add(&text, ": ", 2);
    ek_cel_text_add(&text, fault->before, strlen(fault->before));
    if (fault->quoted.p) {
        ek_cel_text_quote(&text, fault->quoted.p, fault->quoted.len);
        ek_cel_text_add(&text, fault->after, strlen(fault->after));
    }
    message = ek_cel_text_take(&text);
    if (message.kind == EK_CEL_ERROR)
        return message;
    return ek_cel_fail(eval, "URL parse error during conversion from string: %.*s", (int)message.n,
                       message.s);
}

/* Writes the URL again and makes it a value. */
static struct ek_cel_val finish(struct ek_cel_eval *eval, const struct ek_cel_url *url)
{
    struct value *value = ek_cel_alloc(eval, sizeof *value);
    char *text = ek_cel_alloc(eval, ek_cel_url_text_max(url));

    if (!value || !text)
        return ek_cel_no_memory(eval);
    *value = (struct value){{&url_kind}, *url, {text, ek_cel_url_text(url, text)}};
    return ek_cel_opaque_val(&value->base);
}

/* The text must do as the URI of a request, where a fragment belongs to the path, and is then read
 * with its fragment cut off. */
static struct ek_cel_val to_url(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    const struct ek_cel_val *s = &args[0];
    const char *hash = s->n ? memchr(s->s, '#', s->n) : NULL;
    size_t len = hash ? (size_t)(hash - s->s) : s->n, used;
    char *room = ek_cel_alloc(eval, s->n + (size_t)1);
    struct ek_cel_url_fault fault;
    struct ek_cel_url url;

    (void)n;
    if (!room)
        return ek_cel_no_memory(eval);
    if (!ek_cel_url_parse(s->s, s->n, true, room, &used, &url, &fault))
        return refuse(eval, s, s->n, &fault);
    if (!ek_cel_url_parse(s->s, len, false, room, &used, &url, &fault))
        return refuse(eval, s, len, &fault);
    if (hash && len + 1 < s->n) {
        struct ek_str fragment = {hash + 1, s->n - len - 1};

        if (!ek_cel_url_set_fragment(&url, fragment, room + used, &fault))
            return refuse(eval, s, s->n, &fault);
    }
    return finish(eval, &url);
}

static struct ek_cel_val is_url(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    char *room = ek_cel_alloc(eval, args[0].n + (size_t)1);
    struct ek_cel_url_fault fault;
    struct ek_cel_url url;
    size_t used;

    (void)n;
    if (!room)
        return ek_cel_no_memory(eval);
    return ek_cel_bool(ek_cel_url_parse(args[0].s, args[0].n, true, room, &used, &url, &fault));
}

/* A string of what was unescaped: octets that are no UTF-8 read as U+FFFD each. */
static struct ek_cel_val string_of(struct ek_cel_eval *eval, struct ek_str s)
{
    struct ek_cel_text text;
    size_t at = 0;

    while (at < s.len && (unsigned char)s.p[at] < 0x80)
        at++;
    if (at == s.len)
        return ek_cel_string(s.len ? s.p : "", s.len);
    ek_cel_text_init(&text, eval);
    ek_cel_text_lossy(&text, s.p, s.len);
    return ek_cel_text_take(&text);
}

static struct ek_cel_val get_scheme(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    uint32_t n)
{
    (void)n;
    return string_of(eval, url_of(args)->scheme);
}

static struct ek_cel_val get_host(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    (void)n;
    return string_of(eval, url_of(args)->host);
}

static struct ek_cel_val get_hostname(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                      uint32_t n)
{
    struct ek_str name, port;

    (void)n;
    ek_cel_url_split_host(url_of(args)->host, &name, &port);
    return string_of(eval, name);
}

static struct ek_cel_val get_port(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    struct ek_str name, port;

    (void)n;
    ek_cel_url_split_host(url_of(args)->host, &name, &port);
    return string_of(eval, port);
}

static struct ek_cel_val get_escaped_path(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                          uint32_t n)
{
    const struct ek_cel_url *url = url_of(args);
    char *room = ek_cel_alloc(eval, 3 * url->path.len + 1);

    (void)n;
    if (!room)
        return ek_cel_no_memory(eval);
    return string_of(eval, ek_cel_url_escaped_path(url, room));
}

/* Puts one setting of a query into map. False with *ret_error without memory. */
static bool put_setting(struct ek_cel_eval *eval, struct ek_cel_val *map, struct ek_str setting,
                        char *room, struct ek_cel_val *ret_error)
{
    const char *equals = memchr(setting.p, '=', setting.len);
    struct ek_str key = setting, value = {"", 0};
    struct ek_cel_val k, v, list;

    if (equals) {
        key.len = (size_t)(equals - setting.p);
        value = (struct ek_str){equals + 1, setting.len - key.len - 1};
    }
    if (!ek_cel_url_unescape_query(key, room, &key) ||
        !ek_cel_url_unescape_query(value, room + key.len, &value))
        return true; /* which leaves it out */
    k = string_of(eval, key);
    v = string_of(eval, value);
    if (ek_cel_map_find(map, &k, &list) != 1)
        list = ek_cel_list_new(eval, 1);
    if (k.kind == EK_CEL_STRING && v.kind == EK_CEL_STRING && list.kind == EK_CEL_LIST &&
        ek_cel_list_append(eval, &list, &v) && ek_cel_map_put(eval, map, &k, &list, true) >= 0)
        return true;
    *ret_error = ek_cel_no_memory(eval);
    return false;
}

static struct ek_cel_val query_map(struct ek_cel_eval *eval, struct ek_str query)
{
    struct ek_cel_val map = ek_cel_map_new(eval, 0), error;
    const char *at = query.p, *end = query.p + query.len;
    char *room = ek_cel_alloc(eval, query.len + 1);

    if (!room)
        return ek_cel_no_memory(eval);
    while (at < end && map.kind == EK_CEL_MAP) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        struct ek_str setting = {at, (size_t)((stop ? stop : end) - at)};

        if (setting.len && !memchr(setting.p, ';', setting.len) &&
            !put_setting(eval, &map, setting, room + (at - query.p), &error))
            return error;
        at = stop ? stop + 1 : end;
    }
    return map;
}

static struct ek_cel_val get_query(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct ek_str query = url_of(args)->query;
    size_t settings = 1;

    (void)n;
    for (size_t i = 0; i < query.len; i++)
        settings += query.p[i] == '&';
    if (settings > QUERY_MAX)
        return ek_cel_map_new(eval, 0);
    return query_map(eval, query);
}

#define ONE(name_, id_, signature_, flags_, fn_, cost_)                                            \
    {                                                                                              \
        .name = (name_),                                                                           \
        .overloads =                                                                               \
            (const struct ek_cel_overload[]){                                                      \
                {.id = (id_), .signature = (signature_), .flags = (flags_), .fn = (fn_)},          \
                {.id = NULL}},                                                                     \
        .cost = (cost_)                                                                            \
    }
#define GETTER(name_, id_, result_, fn_)                                                           \
    ONE(name_, id_, "kubernetes.URL -> " result_, EK_CEL_MEMBER, fn_, NULL)

static const struct ek_cel_function functions[] = {
    ONE("url", "string_to_url", "string -> kubernetes.URL", 0, to_url, ek_cel_cost_of_reading),
    ONE("isURL", "is_url_string", "string -> bool", 0, is_url, NULL),
    GETTER("getScheme", "url_get_scheme", "string", get_scheme),
    GETTER("getHost", "url_get_host", "string", get_host),
    GETTER("getHostname", "url_get_hostname", "string", get_hostname),
    GETTER("getPort", "url_get_port", "string", get_port),
    GETTER("getEscapedPath", "url_get_escaped_path", "string", get_escaped_path),
    GETTER("getQuery", "url_get_query", "map(string, list(string))", get_query),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {&url_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_urls = {
    .name = "kubernetes.urls", .functions = functions, .types = types};
