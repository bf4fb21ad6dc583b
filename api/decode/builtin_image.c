/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References to images, "registry/name:tag@digest". Source: Kubernetes 1.36,
 * pkg/util/parsers: ParseImageName, and the grammar of github.com/distribution/reference.
 */
#include <string.h>

#include "api/base/ascii.h"
#include "api/decode/builtin-internal.h"

#define NAME_MAX_LEN 255
#define TAG_MAX      128

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || ek_is_digit(c);
}

static bool is_word(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Runs of letters and digits with ".", "_", "__" or any number of "-" between them. */
static bool skip_component(const char **at, const char *end)
{
    const char *c = *at;

    while (c < end && is_lower(*c)) {
        while (c < end && is_lower(*c))
            c++;
        *at = c;
        if (c == end || *c == '/')
            return true;
        if (*c == '-')
            while (c < end && *c == '-')
                c++;
        else if (*c == '.' || *c == '_')
            c += *c == '_' && end - c > 1 && c[1] == '_' ? 2 : 1;
    }
    return false;
}

static bool is_path(const char *path, const char *end)
{
    while (skip_component(&path, end)) {
        if (path == end)
            return true;
        path++;
    }
    return false;
}

/* Labels of letters, digits and inner "-" with dots between, or an address in brackets; a port. */
static bool is_domain(const char *domain, const char *end)
{
    const char *colon = memchr(domain, ':', (size_t)(end - domain));

    if (*domain == '[') {
        const char *close = memchr(domain, ']', (size_t)(end - domain));
        if (!close || strspn(domain + 1, "0123456789abcdefABCDEF:") != (size_t)(close - domain - 1))
            return false;
        colon = close + 1 < end ? close + 1 : NULL;
        if (colon && *colon != ':')
            return false;
    } else {
        const char *stop = colon ? colon : end;
        for (const char *c = domain; c < stop; c++) {
            bool edge = c == domain || c[-1] == '.' || c + 1 == stop || c[1] == '.';
            if (!(is_word(*c) && *c != '_') && (edge || (*c != '-' && *c != '.')))
                return false;
        }
        if (stop == domain)
            return false;
    }
    return !colon ||
           (colon + 1 < end && strspn(colon + 1, "0123456789") >= (size_t)(end - colon - 1));
}

static bool is_tag(const char *tag, const char *end)
{
    size_t len = (size_t)(end - tag);

    if (len == 0 || len > TAG_MAX || !is_word(*tag))
        return false;
    for (; tag < end; tag++)
        if (!is_word(*tag) && *tag != '.' && *tag != '-')
            return false;
    return true;
}

static bool is_digest(const char *digest)
{
    static const struct {
        const char *name;
        size_t digits;
    } algorithms[] = {{"sha256:", 64}, {"sha384:", 96}, {"sha512:", 128}};

    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        size_t len = strlen(algorithms[i].name);
        if (!strncmp(digest, algorithms[i].name, len))
            return strlen(digest + len) == algorithms[i].digits &&
                   strspn(digest + len, "0123456789abcdef") == algorithms[i].digits;
    }
    return false;
}

/* Where the domain ends, with its "/"; the image itself when it has none. */
static const char *behind_domain(const char *image)
{
    const char *slash = strchr(image, '/');
    bool upper = false;

    for (const char *c = image; slash && c < slash; c++)
        upper = upper || *c == '.' || *c == ':' || (*c >= 'A' && *c <= 'Z');
    if (!slash || (!upper && strncmp(image, "localhost/", 10) != 0))
        return image;
    return slash + 1;
}

bool ek_go_image_is_latest(const char *image)
{
    size_t len = strlen(image);
    const char *path = behind_domain(image);
    const char *at = strchr(path, '@'), *end = at ? at : image + len;
    const char *colon = memchr(path, ':', (size_t)(end - path)), *stop = colon ? colon : end;

    if (len == 64 && strspn(image, "0123456789abcdef") == len)
        return false;
    if (path != image && !is_domain(image, path - 1))
        return false;
    if (!is_path(path, stop) || stop - path > NAME_MAX_LEN || (at && !is_digest(at + 1)))
        return false;
    if (!colon)
        return !at;
    return is_tag(colon + 1, end) && end - colon == 7 && !strncmp(colon, ":latest", 7);
}
