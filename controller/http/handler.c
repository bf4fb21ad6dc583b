/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/handler.h"

#include "api/base/ascii.h"

const char *ek_http_request_header(const struct ek_http_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        if (!strcmp(request->headers[i].name, name))
            return request->headers[i].value;
    }
    return NULL;
}

/* Decodes len bytes into an owned string; a broken escape stays as it is, NUL becomes a blank. */
static char *decode(const char *s, size_t len)
{
    char *out = ek_xalloc(len + 1), *w = out;

    for (size_t i = 0; i < len; i++) {
        char c = s[i] == '+' ? ' ' : s[i];
        if (c == '%' && i + 2 < len && ek_hex_digit(s[i + 1]) >= 0 && ek_hex_digit(s[i + 2]) >= 0) {
            c = (char)(ek_hex_digit(s[i + 1]) << 4 | ek_hex_digit(s[i + 2]));
            i += 2;
        }
        *w++ = c ? c : ' ';
    }
    return out;
}

void ek_http_query_each(const char *query,
                        void (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
    while (*query) {
        size_t len = strcspn(query, "&");
        size_t name_len = strcspn(query, "&=");
        if (len > 0) {
            EK_AUTOFREE char *name = decode(query, name_len);
            EK_AUTOFREE char *value =
                name_len < len ? decode(query + name_len + 1, len - name_len - 1) : decode("", 0);
            fn(ctx, name, value);
        }
        query += len;
        query += *query == '&';
    }
}

static bool route_matches(const struct ek_http_route *route, const char *path, size_t len)
{
    if (strncmp(path, route->path, len) != 0)
        return false;
    if (path[len] == '\0')
        return true;
    return route->subtree && (path[len] == '/' || (len > 0 && path[len - 1] == '/'));
}

const struct ek_http_route *ek_http_route_find(const struct ek_http_route *routes, size_t n,
                                               const char *path)
{
    const struct ek_http_route *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(routes[i].path);
        if ((!best || len > best_len) && route_matches(&routes[i], path, len)) {
            best = &routes[i];
            best_len = len;
        }
    }
    return best;
}

bool ek_http_route_allows(const struct ek_http_route *route, const char *method)
{
    const char *p = route->methods;
    size_t len = strlen(method);

    if (!p)
        return true;
    while (*p) {
        size_t n = strcspn(p, " ");
        if (n == len && !memcmp(p, method, n))
            return true;
        if (n == 3 && !memcmp(p, "GET", 3) && !strcmp(method, "HEAD"))
            return true;
        p += n;
        p += strspn(p, " ");
    }
    return false;
}
