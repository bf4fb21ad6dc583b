/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/groups-internal.h"

/* The length of the UTF-8 sequence of U+2028 or U+2029 at s, else 0. */
static bool is_line_separator(const unsigned char *s)
{
    return s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9);
}

static bool is_plain(const unsigned char *s)
{
    return *s >= 0x20 && *s != '"' && *s != '\\' && *s != '<' && *s != '>' && *s != '&' &&
           !is_line_separator(s);
}

/* encoding/json, encode.go:appendString with escapeHTML. */
void ek_api_write_string(struct ek_buf *out, const char *s)
{
    static const char shorts[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const unsigned char *p = (const unsigned char *)s;

    ek_buf_append(out, "\"", 1);
    while (*p) {
        const unsigned char *start = p;
        while (*p && is_plain(p))
            p++;
        ek_buf_append(out, start, (size_t)(p - start));
        if (!*p)
            break;
        const char *at = strchr(shorts, *p);
        if (at)
            ek_buf_printf(out, "\\%c", letters[at - shorts]);
        else if (*p == 0xe2)
            ek_buf_printf(out, "\\u202%c", p[2] == 0xa8 ? '8' : '9');
        else
            ek_buf_printf(out, "\\u%04x", *p);
        p += *p == 0xe2 ? 3 : 1;
    }
    ek_buf_append(out, "\"", 1);
}

static void write_member(struct ek_buf *out, const char *prefix, const char *value)
{
    ek_buf_puts(out, prefix);
    ek_api_write_string(out, value);
}

static void write_names(struct ek_buf *out, const char *prefix, const struct ek_api_names *names)
{
    ek_buf_puts(out, prefix);
    if (!names->set) {
        ek_buf_puts(out, "null");
        return;
    }
    ek_buf_puts(out, "[");
    for (size_t i = 0; i < names->n; i++) {
        ek_buf_puts(out, i ? "," : "");
        ek_api_write_string(out, names->items[i]);
    }
    ek_buf_puts(out, "]");
}

static void write_kind(struct ek_buf *out, const char *prefix, const struct ek_api_kind *kind)
{
    ek_buf_puts(out, prefix);
    write_member(out, "{\"group\":", kind->group);
    write_member(out, ",\"version\":", kind->version);
    write_member(out, ",\"kind\":", kind->kind);
    ek_buf_puts(out, "}");
}

static void write_subresource(struct ek_buf *out, const struct ek_api_subresource *sub)
{
    write_member(out, "{\"subresource\":", sub->name);
    if (sub->kind)
        write_kind(out, ",\"responseKind\":", sub->kind);
    for (size_t i = 0; i < sub->accepted.n; i++)
        write_kind(out, i ? "," : ",\"acceptedTypes\":[", &sub->accepted.items[i]);
    ek_buf_puts(out, sub->accepted.n ? "]" : "");
    write_names(out, ",\"verbs\":", &sub->verbs);
    ek_buf_puts(out, "}");
}

static void write_resource(struct ek_buf *out, const struct ek_api_resource *resource)
{
    const struct ek_api_subresources *subs = &resource->subresources;

    write_member(out, "{\"resource\":", resource->name);
    if (resource->kind)
        write_kind(out, ",\"responseKind\":", resource->kind);
    write_member(out, ",\"scope\":", resource->scope);
    write_member(out, ",\"singularResource\":", resource->singular);
    write_names(out, ",\"verbs\":", &resource->verbs);
    if (resource->short_names.n)
        write_names(out, ",\"shortNames\":", &resource->short_names);
    if (resource->categories.n)
        write_names(out, ",\"categories\":", &resource->categories);
    for (size_t i = 0; i < subs->n; i++) {
        ek_buf_puts(out, i ? "," : ",\"subresources\":[");
        write_subresource(out, &subs->items[i]);
    }
    ek_buf_puts(out, subs->n ? "]}" : "}");
}

static void write_version(struct ek_buf *out, const struct ek_api_version *version)
{
    write_member(out, "{\"version\":", version->name);
    for (size_t i = 0; i < version->n; i++) {
        ek_buf_puts(out, i ? "," : ",\"resources\":[");
        write_resource(out, &version->resources[i]);
    }
    ek_buf_puts(out, version->n ? "]" : "");
    if (*version->freshness)
        write_member(out, ",\"freshness\":", version->freshness);
    ek_buf_puts(out, "}");
}

static void write_aggregated_group(struct ek_buf *out, const struct ek_api_group *group)
{
    ek_buf_puts(out, "{");
    if (group->kind && *group->kind) {
        write_member(out, "\"kind\":", group->kind);
        ek_buf_puts(out, ",");
    }
    if (group->api_version && *group->api_version) {
        write_member(out, "\"apiVersion\":", group->api_version);
        ek_buf_puts(out, ",");
    }
    ek_buf_puts(out, "\"metadata\":");
    ek_buf_puts(out, group->metadata);
    for (size_t i = 0; i < group->n; i++) {
        ek_buf_puts(out, i ? "," : ",\"versions\":[");
        write_version(out, &group->versions[i]);
    }
    ek_buf_puts(out, group->n ? "]}" : "}");
}

int ek_api_write_aggregated(struct ek_buf *out, const struct ek_api_list *list, const char *version)
{
    ek_buf_puts(out, "{");
    if (version)
        ek_buf_printf(
            out, "\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\",",
            version);
    ek_buf_puts(out, "\"metadata\":{},\"items\":");
    ek_buf_puts(out, list->set ? "[" : "null");
    for (size_t i = 0; i < list->n; i++) {
        ek_buf_puts(out, i ? "," : "");
        write_aggregated_group(out, &list->groups[i]);
    }
    ek_buf_puts(out, list->set ? "]}" : "}");
    return out->failed;
}

int ek_api_write_versions(struct ek_buf *out, const struct ek_api_list *list)
{
    const char *separator = "";

    ek_buf_puts(out, "{\"kind\":\"APIVersions\",\"versions\":[");
    for (size_t g = 0; g < list->n; g++) {
        for (size_t v = 0; !*list->groups[g].name && v < list->groups[g].n; v++) {
            write_member(out, separator, list->groups[g].versions[v].name);
            separator = ",";
        }
    }
    ek_buf_puts(out, "],\"serverAddressByClientCIDRs\":[]}");
    return out->failed;
}

static void write_group_version(struct ek_buf *out, const char *prefix,
                                const struct ek_api_group *group,
                                const struct ek_api_version *version)
{
    char *both = ek_xasprintf("%s/%s", group->name, version->name);

    ek_buf_puts(out, prefix);
    write_member(out, "{\"groupVersion\":", *group->name ? both : version->name);
    write_member(out, ",\"version\":", version->name);
    ek_buf_puts(out, "}");
    ek_free(both);
}

/* The members of an APIGroup behind its name. A version that is Stale is listed, and preferred only
 * when it is the first, as API servers do. */
static void write_group_members(struct ek_buf *out, const struct ek_api_group *group)
{
    write_member(out, "\"name\":", group->name);
    for (size_t v = 0; v < group->n; v++)
        write_group_version(out, v ? "," : ",\"versions\":[", group, &group->versions[v]);
    write_group_version(out, "],\"preferredVersion\":", group, &group->versions[0]);
    ek_buf_puts(out, "}");
}

int ek_api_write_group_list(struct ek_buf *out, const struct ek_api_list *list)
{
    const char *separator = "{";

    ek_buf_puts(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t g = 0; g < list->n; g++) {
        if (!list->groups[g].n)
            continue;
        ek_buf_puts(out, separator);
        write_group_members(out, &list->groups[g]);
        separator = ",{";
    }
    ek_buf_puts(out, "]}");
    return out->failed;
}

int ek_api_write_group(struct ek_buf *out, const struct ek_api_group *group)
{
    ek_buf_puts(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
    if (group->n)
        write_group_members(out, group);
    else
        ek_buf_puts(out, "\"versions\":[]}");
    return out->failed;
}

/* The members of an APIResource behind its name. */
static void write_plain(struct ek_buf *out, const struct ek_api_resource *resource,
                        const char *singular, const struct ek_api_kind *kind,
                        const struct ek_api_names *verbs)
{
    write_member(out, ",\"singularName\":", singular);
    ek_buf_puts(out, strcmp(resource->scope, "Namespaced") ? ",\"namespaced\":false"
                                                           : ",\"namespaced\":true");
    if (*kind->group)
        write_member(out, ",\"group\":", kind->group);
    if (*kind->version)
        write_member(out, ",\"version\":", kind->version);
    write_member(out, ",\"kind\":", kind->kind);
    write_names(out, ",\"verbs\":", verbs);
}

static void write_plain_subresources(struct ek_buf *out, const char **separator,
                                     const struct ek_api_resource *resource)
{
    for (size_t s = 0; s < resource->subresources.n; s++) {
        const struct ek_api_subresource *sub = &resource->subresources.items[s];
        if (!sub->kind)
            continue;
        char *name = ek_xasprintf("%s/%s", resource->name, sub->name);
        ek_buf_puts(out, *separator);
        write_member(out, "{\"name\":", name);
        write_plain(out, resource, "", sub->kind, &sub->verbs);
        ek_buf_puts(out, "}");
        ek_free(name);
        *separator = ",";
    }
}

int ek_api_write_resources(struct ek_buf *out, const struct ek_api_group *group,
                           const struct ek_api_version *version)
{
    const char *separator = "";
    char *both = ek_xasprintf("%s/%s", group->name, version->name);

    ek_buf_puts(out, "{\"kind\":\"APIResourceList\",");
    /* metav1's own types are of apiVersion v1, which API servers leave out for the core group. */
    ek_buf_puts(out, *group->name ? "\"apiVersion\":\"v1\"," : "");
    write_member(out, "\"groupVersion\":", *group->name ? both : version->name);
    ek_buf_puts(out, ",\"resources\":[");
    for (size_t r = 0; r < version->n; r++) {
        const struct ek_api_resource *resource = &version->resources[r];
        if (resource->kind) {
            ek_buf_puts(out, separator);
            write_member(out, "{\"name\":", resource->name);
            write_plain(out, resource, resource->singular, resource->kind, &resource->verbs);
            if (resource->short_names.n)
                write_names(out, ",\"shortNames\":", &resource->short_names);
            if (resource->categories.n)
                write_names(out, ",\"categories\":", &resource->categories);
            ek_buf_puts(out, "}");
            separator = ",";
        }
        write_plain_subresources(out, &separator, resource);
    }
    ek_buf_puts(out, "]}");
    ek_free(both);
    return out->failed;
}
