/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/fields.h"

#include <string.h>
#include <strings.h>

#include "api/base/ascii.h"

static const struct {
    const char *name; /* ends with "-": a prefix */
    enum ek_field_class class;
} known[] = {
    {"Host", EK_FIELD_HOST},
    {"Content-Length", EK_FIELD_LENGTH},
    {"Transfer-Encoding", EK_FIELD_CODING},
    {"Connection", EK_FIELD_CONNECTION},
    {"Upgrade", EK_FIELD_UPGRADE},
    {"Expect", EK_FIELD_EXPECT},
    {"Keep-Alive", EK_FIELD_HOP},
    {"TE", EK_FIELD_HOP},
    {"Trailer", EK_FIELD_HOP},
    {"HTTP2-Settings", EK_FIELD_HOP},
    {"Proxy-", EK_FIELD_HOP},
    {"X-Remote-", EK_FIELD_IDENTITY},
    {"Impersonate-", EK_FIELD_IMPERSONATE},
    {"Authorization", EK_FIELD_AUTHORIZATION},
    {EK_IDENTITY_MARKER, EK_FIELD_MARKER},
    {"Forwarded", EK_FIELD_FORWARDED},
    {"X-Forwarded-", EK_FIELD_FORWARDED},
    {"X-Real-Ip", EK_FIELD_FORWARDED},
    {"Sec-WebSocket-Protocol", EK_FIELD_SOCKET_PROTOCOL},
};

static bool begins(const char *name, const char *prefix)
{
    return !strncasecmp(name, prefix, strlen(prefix));
}

static bool is_of_policy(const struct ek_identity_policy *policy, const char *name)
{
    if (policy->servers && ek_identity_names_have(policy->servers, name))
        return true;
    for (size_t i = 0; i < policy->n_names; i++)
        if (!strcasecmp(name, policy->names[i]))
            return true;
    for (size_t i = 0; i < policy->n_prefixes; i++)
        if (begins(name, policy->prefixes[i]))
            return true;
    return false;
}

enum ek_field_class ek_field_class_of(const struct ek_identity_policy *policy, const char *name)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(known); i++) {
        const char *k = known[i].name;
        if ((*k | 0x20) != (*name | 0x20)) /* most names end here: letters in either case */
            continue;
        if (k[strlen(k) - 1] == '-' ? begins(name, k) : !strcasecmp(name, k))
            return known[i].class;
    }
    return is_of_policy(policy, name) ? EK_FIELD_IDENTITY : EK_FIELD_PLAIN;
}

bool ek_field_is_protected(enum ek_field_class class)
{
    switch (class) {
    case EK_FIELD_PLAIN:
    case EK_FIELD_HOP:
    case EK_FIELD_CONNECTION:
    case EK_FIELD_UPGRADE:
        return false;
    default:
        return true;
    }
}

bool ek_field_name_is_good(const char *name)
{
    for (const char *s = name; *s; s++)
        if (!ek_is_digit(*s) && !(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
            !strchr("!#$%&'*+-.^_`|~", *s))
            return false;
    return *name != '\0';
}

bool ek_field_value_is_good(const char *value)
{
    for (const unsigned char *s = (const unsigned char *)value; *s; s++)
        if ((*s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool ek_field_next(struct ek_str *list, struct ek_str *ret)
{
    while (list->len) {
        const char *comma = memchr(list->p, ',', list->len);
        size_t len = comma ? (size_t)(comma - list->p) : list->len;
        *ret = (struct ek_str){list->p, len};
        list->p += len + (comma != NULL);
        list->len -= len + (comma != NULL);
        while (ret->len && is_blank(*ret->p))
            ret->p++, ret->len--;
        while (ret->len && is_blank(ret->p[ret->len - 1]))
            ret->len--;
        if (ret->len)
            return true;
    }
    return false;
}
