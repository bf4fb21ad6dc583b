/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's view of a request line, and of an answer 404. The first line is "METHOD TARGET", the
 * rest is a body. What is taken names no other resource when it is read again, decided on the same
 * bytes; a body of any form gets an answer.
 */
#include <string.h>

#include "reconcilers/proxy/route.h"
#include "test/fuzz/fuzz.h"

#define TEXT_MAX ((size_t)4096)

static void check_segment(const char *s)
{
    fuzz_require(!strchr(s, '/') && !strchr(s, '\\') && !strchr(s, '%') && strcmp(s, ".") != 0 &&
                 strcmp(s, "..") != 0);
    for (; *s; s++)
        fuzz_require((unsigned char)*s >= 0x20 && *s != 0x7f);
}

/* The path that the parts make is read as the same parts. */
static void check_parts(const struct ek_proxy_request *r)
{
    EK_AUTO(ek_proxy_request) again = {0};
    struct ek_proxy_answer refusal;
    EK_AUTO(ek_buf) path = {0};
    const char *parts[] = {r->group,    r->version, r->namespace,
                           r->resource, r->name,    r->subresource};

    for (size_t i = 0; i < EK_ARRAY_SIZE(parts); i++)
        check_segment(parts[i]);
    if (!r->is_resource || !strcmp(r->resource, "namespaces") || !strcmp(r->verb, "proxy"))
        return;
    ek_buf_init(&path, 4 * TEXT_MAX);
    ek_buf_printf(&path, *r->group ? "/apis/%s/%s" : "/api/%s%s", *r->group ? r->group : r->version,
                  *r->group ? r->version : "");
    if (*r->namespace)
        ek_buf_printf(&path, "/namespaces/%s", r->namespace);
    ek_buf_printf(&path, "/%s%s%s%s%s", r->resource, *r->name ? "/" : "", r->name,
                  *r->subresource ? "/" : "", r->subresource);
    for (const char *s = ek_buf_str(&path); *s; s++)
        if (*s <= 0x20 || *s == '#' || *s == '?' || *s == 0x7f)
            return; /* these need an escape */
    fuzz_require(ek_proxy_request_read("POST", ek_buf_str(&path), &again, &refusal));
    fuzz_require(!strcmp(again.group, r->group) && !strcmp(again.version, r->version) &&
                 !strcmp(again.namespace, r->namespace));
    /* "watch" and "proxy" in front are verbs, which the parts lack */
    if (strcmp(r->resource, "watch") != 0 && strcmp(r->resource, "proxy") != 0)
        fuzz_require(!strcmp(again.resource, r->resource) && !strcmp(again.name, r->name) &&
                     !strcmp(again.subresource, r->subresource));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *end = size ? memchr(data, '\n', size) : NULL;
    size_t len = end ? (size_t)(end - (const char *)data) : size;
    struct ek_proxy_answer refusal = {0};
    EK_AUTO(ek_proxy_request) request = {0};

    if (len > TEXT_MAX)
        return 0;
    EK_AUTOFREE char *line = ek_xstrndup((const char *)data, len);
    char *target = strchr(line, ' ');
    if (!target)
        return 0;
    *target++ = '\0';
    bool taken = ek_proxy_request_read(line, target, &request, &refusal);
    fuzz_require(taken == (refusal.code == 0));
    if (!taken)
        return 0;
    check_parts(&request);
    if (end) {
        static const char *const types[] = {"application/json", "text/plain",
                                            "application/vnd.kubernetes.protobuf"};
        struct ek_str body = {end + 1, size - len - 1};
        for (size_t i = 0; i < EK_ARRAY_SIZE(types); i++)
            if (ek_route_is_unknown_type(&request, types[i], body))
                fuzz_require(request.is_resource && !request.has_tail);
    }
    return 0;
}
