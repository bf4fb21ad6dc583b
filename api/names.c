/* SPDX-License-Identifier: Apache-2.0 */
#include "api/names.h"

#include <stdbool.h>
#include <string.h>

#define LABEL     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"
#define KEY       "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

#define SUBDOMAIN_ERROR                                                                            \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '" SUBDOMAIN "')"
#define KEY_ERROR                                                                                  \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '" KEY "')"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_word(char c)
{
    return is_lower(c) || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_word(c) || (c >= 'A' && c <= 'Z');
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? */
static bool is_label(struct ek_str s)
{
    if (!s.len || !is_word(s.p[0]) || !is_word(s.p[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_word(s.p[i]) && s.p[i] != '-')
            return false;
    return true;
}

/* Labels joined by dots, of any length. */
static bool is_subdomain(struct ek_str s)
{
    for (;;) {
        const char *dot = s.len ? memchr(s.p, '.', s.len) : NULL;
        size_t len = dot ? (size_t)(dot - s.p) : s.len;
        if (!is_label((struct ek_str){s.p, len}))
            return false;
        if (!dot)
            return true;
        s = (struct ek_str){dot + 1, s.len - len - 1};
    }
}

static bool is_key_name(struct ek_str s)
{
    if (!s.len || !is_alnum(s.p[0]) || !is_alnum(s.p[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
            return false;
    return true;
}

static size_t check_label(struct ek_str s, const char **ret)
{
    size_t n = 0;

    if (s.len > 63)
        ret[n++] = "must be no more than 63 characters";
    if (!is_label(s))
        ret[n++] = is_subdomain(s)
                       ? "must not contain dots"
                       : "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                         "characters or '-', and must start and end with an alphanumeric character "
                         "(e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL
                         "')";
    return n;
}

static size_t check_subdomain(struct ek_str s, const char **ret)
{
    size_t n = 0;

    if (s.len > 253)
        ret[n++] = "must be no more than 253 characters";
    if (!is_subdomain(s))
        ret[n++] = SUBDOMAIN_ERROR;
    return n;
}

static size_t check_dns1035_label(struct ek_str s, const char **ret)
{
    size_t n = 0;

    if (s.len > 63)
        ret[n++] = "must be no more than 63 characters";
    if (!is_label(s) || !is_lower(s.p[0]))
        ret[n++] = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                   "start with an alphabetic character, and end with an alphanumeric character "
                   "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
                   "'[a-z]([-a-z0-9]*[a-z0-9])?')";
    return n;
}

static size_t check_key_prefix(struct ek_str s, const char **ret)
{
    size_t n = 0;

    if (!s.len)
        ret[n++] = "prefix part must be non-empty";
    if (s.len > 253)
        ret[n++] = "prefix part must be no more than 253 bytes";
    if (s.len && !is_subdomain(s))
        ret[n++] = "prefix part " SUBDOMAIN_ERROR;
    return n;
}

static size_t check_label_key(struct ek_str s, const char **ret)
{
    const char *slash = s.len ? memchr(s.p, '/', s.len) : NULL;
    size_t n = 0;

    if (slash) {
        size_t prefix = (size_t)(slash - s.p);
        struct ek_str name = {slash + 1, s.len - prefix - 1};
        if (name.len && memchr(name.p, '/', name.len)) {
            ret[0] = "a valid label key " KEY_ERROR " with an optional DNS subdomain prefix and "
                     "'/' (e.g. 'example.com/MyName')";
            return 1;
        }
        n = check_key_prefix((struct ek_str){s.p, prefix}, ret);
        s = name;
    }
    if (!s.len)
        ret[n++] = "name part must be non-empty";
    else if (s.len > 63)
        ret[n++] = "name part must be no more than 63 bytes";
    if (!is_key_name(s))
        ret[n++] = "name part " KEY_ERROR;
    return n;
}

static size_t check_label_value(struct ek_str s, const char **ret)
{
    size_t n = 0;

    if (s.len > 63)
        ret[n++] = "must be no more than 63 bytes";
    if (s.len && !is_key_name(s))
        ret[n++] =
            "a valid label must be an empty string or consist of alphanumeric characters, "
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyValue',  or 'my_value',  or '12345', regex used for validation is '(" KEY ")?')";
    return n;
}

static size_t check_path_segment(struct ek_str s, const char **ret)
{
    size_t n = 0;

    if ((s.len == 1 || s.len == 2) && !memcmp(s.p, "..", s.len)) {
        ret[0] = s.len == 1 ? "may not be '.'" : "may not be '..'";
        return 1;
    }
    if (s.len && memchr(s.p, '/', s.len))
        ret[n++] = "may not contain '/'";
    if (s.len && memchr(s.p, '%', s.len))
        ret[n++] = "may not contain '%'";
    return n;
}

size_t ek_name_check(enum ek_name_format format, struct ek_str s,
                     const char *ret[EK_NAME_ERRORS_MAX])
{
    switch (format) {
    case EK_NAME_DNS1123_LABEL:
        return check_label(s, ret);
    case EK_NAME_DNS1123_SUBDOMAIN:
        return check_subdomain(s, ret);
    case EK_NAME_DNS1035_LABEL:
        return check_dns1035_label(s, ret);
    case EK_NAME_LABEL_KEY:
        return check_label_key(s, ret);
    case EK_NAME_LABEL_VALUE:
        return check_label_value(s, ret);
    case EK_NAME_PATH_SEGMENT:
    case EK_NAME_FORMAT_MAX:
        break;
    }
    return check_path_segment(s, ret);
}
