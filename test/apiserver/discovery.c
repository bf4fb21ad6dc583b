/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: aggregated (v2, and v2beta1 of old peers) with ETags, and the legacy lists. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/server-internal.h"

#define DOCUMENT_MAX ((size_t)4 * 1024 * 1024)

static const char all_verbs[] = "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\","
                                "\"patch\",\"update\",\"watch\"]";

/* Which kinds a document is about: those of one peer, or of all that run (merged). */
struct scope {
    const struct ek_apiserver_peer *peer;
    bool merged;
};

static bool in_scope(const struct scope *scope, const struct ek_kind *kind)
{
    const struct ek_apiserver *server = scope->peer->server;

    if (ek_peer_serves(scope->peer, kind))
        return true;
    for (size_t i = 0; scope->merged && i < server->n_peers; i++) {
        if (server->peers[i]->running && ek_peer_serves(server->peers[i], kind))
            return true;
    }
    return false;
}

static void put_words(struct ek_buf *out, const char *member, const char *words)
{
    if (!*words)
        return;
    ek_buf_printf(out, ",\"%s\":[", member);
    for (size_t n = 0; *words; n++) {
        size_t len = strcspn(words, " ");
        ek_buf_printf(out, "%s\"%.*s\"", n ? "," : "", (int)len, words);
        words += len + (words[len] == ' ');
    }
    ek_buf_puts(out, "]");
}

static void put_response_kind(struct ek_buf *out, const struct ek_kind *kind)
{
    bool custom = (kind->flags & EK_KIND_CUSTOM) != 0;

    ek_buf_printf(out, "\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}",
                  custom ? kind->group : "", custom ? kind->version : "", kind->kind);
}

static void put_subresource(struct ek_buf *out, const struct ek_kind *kind, const char *name,
                            size_t len, size_t *n)
{
    bool token = len == 5 && memcmp(name, "token", 5) == 0;
    bool finalize = len == 8 && memcmp(name, "finalize", 8) == 0;

    ek_buf_printf(out, "%s{\"subresource\":\"%.*s\",", (*n)++ ? "," : "", (int)len, name);
    if (token)
        ek_buf_puts(out, "\"responseKind\":{\"group\":\"authentication.k8s.io\",\"version\":\"v1\","
                         "\"kind\":\"TokenRequest\"},\"verbs\":[\"create\"]}");
    else
        put_response_kind(out, kind);
    if (!token)
        ek_buf_printf(out, ",\"verbs\":%s}",
                      finalize ? "[\"update\"]" : "[\"get\",\"patch\",\"update\"]");
}

static void put_resource(struct ek_buf *out, const struct ek_kind *kind)
{
    size_t n = 0;

    ek_buf_printf(out, "{\"resource\":\"%s\",", kind->plural);
    put_response_kind(out, kind);
    ek_buf_printf(out, ",\"scope\":\"%s\",\"singularResource\":\"%s\",\"verbs\":%s",
                  kind->flags & EK_KIND_NAMESPACED ? "Namespaced" : "Cluster", kind->singular,
                  kind->flags & EK_KIND_REVIEW ? "[\"create\"]" : all_verbs);
    put_words(out, "shortNames", kind->short_names);
    put_words(out, "categories", kind->categories);
    if (*kind->subresources || (kind->flags & EK_KIND_STATUS)) {
        ek_buf_puts(out, ",\"subresources\":[");
        for (const char *p = kind->subresources; *p;) {
            size_t len = strcspn(p, " ");
            put_subresource(out, kind, p, len, &n);
            p += len + (p[len] == ' ');
        }
        if (kind->flags & EK_KIND_STATUS)
            put_subresource(out, kind, "status", 6, &n);
        ek_buf_puts(out, "]");
    }
    ek_buf_puts(out, "}");
}

static bool same_group(const struct ek_kind *a, const struct ek_kind *b)
{
    return strcmp(a->group, b->group) == 0;
}

static bool same_version(const struct ek_kind *a, const struct ek_kind *b)
{
    return same_group(a, b) && strcmp(a->version, b->version) == 0;
}

/* True when kind number i is the first in scope of its group (or group version). */
static bool is_first(const struct scope *scope, size_t i,
                     bool (*same)(const struct ek_kind *, const struct ek_kind *))
{
    const struct ek_kinds *kinds = &scope->peer->server->kinds;

    for (size_t k = 0; k < i; k++) {
        if (same(kinds->items[k], kinds->items[i]) && in_scope(scope, kinds->items[k]))
            return false;
    }
    return true;
}

static void put_version(struct ek_buf *out, const struct scope *scope, size_t first)
{
    const struct ek_kinds *kinds = &scope->peer->server->kinds;
    size_t n = 0;

    ek_buf_printf(out, "{\"version\":\"%s\",\"resources\":[", kinds->items[first]->version);
    for (size_t i = first; i < kinds->n; i++) {
        if (!same_version(kinds->items[i], kinds->items[first]) ||
            !in_scope(scope, kinds->items[i]))
            continue;
        ek_buf_puts(out, n++ ? "," : "");
        put_resource(out, kinds->items[i]);
    }
    ek_buf_puts(out, "],\"freshness\":\"Current\"}");
}

/* The list without kind and apiVersion: what the ETag is of. */
static char *build(const struct scope *scope, bool core)
{
    const struct ek_kinds *kinds = &scope->peer->server->kinds;
    struct ek_buf out;
    size_t n = 0;

    ek_buf_init(&out, DOCUMENT_MAX);
    ek_buf_puts(&out, "{\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < kinds->n; i++) {
        const struct ek_kind *kind = kinds->items[i];
        size_t versions = 0;
        if ((*kind->group == '\0') != core || !in_scope(scope, kind) ||
            !is_first(scope, i, same_group))
            continue;
        ek_buf_printf(&out, "%s{\"metadata\":{", n++ ? "," : "");
        if (!core)
            ek_buf_printf(&out, "\"name\":\"%s\"", kind->group);
        ek_buf_puts(&out, "},\"versions\":[");
        for (size_t k = i; k < kinds->n; k++) {
            if (!same_group(kinds->items[k], kind) || !in_scope(scope, kinds->items[k]) ||
                !is_first(scope, k, same_version))
                continue;
            ek_buf_puts(&out, versions++ ? "," : "");
            put_version(&out, scope, k);
        }
        ek_buf_puts(&out, "]}");
    }
    ek_buf_puts(&out, "]}");
    return ek_buf_steal(&out);
}

/* The quoted upper-case hex SHA-512 of a document. */
static char *tag_of(const char *document)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    char *tag = ek_xalloc(2 * EVP_MAX_MD_SIZE + 3), *p = tag;

    EVP_Digest(document, strlen(document), hash, &size, EVP_sha512(), NULL);
    *p++ = '"';
    for (unsigned i = 0; i < size; i++)
        p += snprintf(p, 3, "%02X", hash[i]);
    *p = '"';
    return tag;
}

/* The version of aggregated discovery that the Accept header requests and the peer has: "v2",
 * "v2beta1" or NULL for a legacy list. *ret_only says that nothing else is acceptable. */
static const char *negotiate(const struct ek_ask *call, bool *ret_nopeer, bool *ret_only)
{
    const char *accept = call->request->accept ? call->request->accept : "";
    uint64_t minor = call->peer->emulation.minor;

    *ret_nopeer = *ret_only = false;
    for (const char *p = accept; *p;) {
        size_t len = strcspn(p, ",");
        char clause[512];
        snprintf(clause, sizeof(clause), "%.*s", (int)len, p);
        p += len + (p[len] == ',');
        bool asks = strstr(clause, "as=APIGroupDiscoveryList") && !strstr(clause, "protobuf");
        *ret_nopeer = strstr(clause, "profile=nopeer") != NULL;
        if (asks && strstr(clause, "v=v2beta1") && minor <= 32)
            return "v2beta1";
        if (asks && strstr(clause, "v=v2;") && minor >= 30)
            return "v2";
    }
    *ret_only = strstr(accept, "v=v2beta1") && !strchr(accept, ',') &&
                strstr(accept, "as=APIGroupDiscoveryList");
    return NULL;
}

static void reply_aggregated(struct ek_ask *call, bool core, const char *version, bool merged)
{
    struct ek_apiserver_peer *peer = call->peer;
    unsigned long changes = peer->server->kinds.changes;
    const char *match = call->request->if_none_match;
    struct scope scope = {peer, merged};
    char type[160], *mine = NULL, *tag = NULL;

    if (peer->discovery_changes != changes)
        ek_peer_forget_documents(peer);
    peer->discovery_changes = changes;
    if (merged) {
        mine = build(&scope, core);
        tag = tag_of(mine);
    } else if (!peer->discovery[core]) {
        peer->discovery[core] = build(&scope, core);
        peer->discovery_tag[core] = tag_of(peer->discovery[core]);
    }
    const char *document = merged ? mine : peer->discovery[core];
    const char *etag = merged ? tag : peer->discovery_tag[core];
    snprintf(type, sizeof(type),
             "application/json;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList", version);
    ek_reply_type(call, match && strcmp(match, etag) == 0 ? 304 : 200, type);
    ek_reply_header(call, "ETag", "%s", etag);
    ek_reply_header(call, "Vary", "Accept");
    ek_reply_header(call, "Cache-Control", "public");
    if (call->response->status == 200)
        ek_buf_printf(&call->response->body,
                      "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
                      "\"apidiscovery.k8s.io/%s\",%s\n",
                      version, document + 1);
    ek_free(mine);
    ek_free(tag);
}

/* --- legacy lists --- */

static void put_group(struct ek_buf *out, const struct scope *scope, size_t first)
{
    const struct ek_kinds *kinds = &scope->peer->server->kinds;
    const struct ek_kind *kind = kinds->items[first];
    size_t n = 0;

    ek_buf_printf(out, "\"name\":\"%s\",\"versions\":[", kind->group);
    for (size_t i = first; i < kinds->n; i++) {
        if (same_group(kinds->items[i], kind) && in_scope(scope, kinds->items[i]) &&
            is_first(scope, i, same_version))
            ek_buf_printf(out, "%s{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", n++ ? "," : "",
                          kind->group, kinds->items[i]->version, kinds->items[i]->version);
    }
    ek_buf_printf(out, "],\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}",
                  kind->group, kind->version, kind->version);
}

static bool reply_groups(struct ek_ask *call, const char *only)
{
    const struct ek_kinds *kinds = &call->server->kinds;
    struct scope scope = {call->peer, false};
    struct ek_buf *out = &call->response->body;
    size_t n = 0;

    if (!only)
        ek_buf_puts(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < kinds->n; i++) {
        const struct ek_kind *kind = kinds->items[i];
        if (!*kind->group || !in_scope(&scope, kind) || !is_first(&scope, i, same_group) ||
            (only && strcmp(kind->group, only) != 0))
            continue;
        if (only)
            ek_buf_puts(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
        else
            ek_buf_puts(out, n ? ",{" : "{");
        n++;
        put_group(out, &scope, i);
        ek_buf_puts(out, "}");
    }
    ek_buf_puts(out, only ? "\n" : "]}\n");
    if (only && n == 0)
        return false;
    ek_reply_type(call, 200, "application/json");
    return true;
}

static void put_legacy(struct ek_buf *out, const struct ek_kind *kind, const char *sub, size_t len)
{
    bool token = len == 5 && memcmp(sub, "token", 5) == 0;

    ek_buf_printf(out, "{\"name\":\"%s%s%.*s\",\"singularName\":\"%s\",\"namespaced\":%s,",
                  kind->plural, len ? "/" : "", (int)len, sub, len ? "" : kind->singular,
                  kind->flags & EK_KIND_NAMESPACED ? "true" : "false");
    if (token)
        ek_buf_puts(out, "\"group\":\"authentication.k8s.io\",\"version\":\"v1\",");
    ek_buf_printf(out, "\"kind\":\"%s\",\"verbs\":%s", token ? "TokenRequest" : kind->kind,
                  token || (kind->flags & EK_KIND_REVIEW) ? "[\"create\"]"
                  : len                                   ? "[\"get\",\"patch\",\"update\"]"
                                                          : all_verbs);
    if (len == 0) {
        put_words(out, "shortNames", kind->short_names);
        put_words(out, "categories", kind->categories);
    }
    ek_buf_puts(out, "}");
}

static bool reply_resources(struct ek_ask *call, const char *group, const char *version)
{
    const struct ek_kinds *kinds = &call->server->kinds;
    struct ek_buf *out = &call->response->body;
    size_t n = 0;

    ek_buf_printf(out,
                  "{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%s%s%s\",\"resources\":[",
                  *group ? "\"apiVersion\":\"v1\"," : "", group, *group ? "/" : "", version);
    for (size_t i = 0; i < kinds->n; i++) {
        const struct ek_kind *kind = kinds->items[i];
        if (strcmp(kind->group, group) != 0 || strcmp(kind->version, version) != 0 ||
            !ek_peer_serves(call->peer, kind))
            continue;
        ek_buf_puts(out, n++ ? "," : "");
        put_legacy(out, kind, "", 0);
        for (const char *p = kind->subresources; *p;) {
            size_t len = strcspn(p, " ");
            ek_buf_puts(out, ",");
            put_legacy(out, kind, p, len);
            p += len + (p[len] == ' ');
        }
        if (kind->flags & EK_KIND_STATUS) {
            ek_buf_puts(out, ",");
            put_legacy(out, kind, "status", 6);
        }
    }
    ek_buf_puts(out, "]}\n");
    if (n == 0)
        ek_buf_reset(out);
    else
        ek_reply_type(call, 200, "application/json");
    return n > 0;
}

static void reply_versions(struct ek_ask *call)
{
    ek_reply_type(call, 200, "application/json");
    ek_buf_printf(&call->response->body,
                  "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":"
                  "[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"%s:%u\"}]}\n",
                  call->peer->address, call->peer->port);
}

/* Failures of negotiation come indented. */
static void reply_not_acceptable(struct ek_ask *call)
{
    ek_reply_type(call, 406, "application/json");
    ek_buf_puts(&call->response->body,
                "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n"
                "  \"status\": \"Failure\",\n  \"message\": \"only the following media types are "
                "accepted: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf\",\n  \"reason\": \"NotAcceptable\",\n"
                "  \"code\": 406\n}");
}

bool ek_ask_discovery(struct ek_ask *call)
{
    bool core = call->n_parts > 0 && strcmp(call->parts[0], "api") == 0, nopeer, only;

    if (call->n_parts == 0 || call->n_parts > 3 || (!core && strcmp(call->parts[0], "apis") != 0))
        return false;
    if (call->n_parts == 1) {
        const char *version = negotiate(call, &nopeer, &only);
        if (version)
            reply_aggregated(call, core, version, !core && !nopeer && strcmp(version, "v2") == 0);
        else if (only)
            reply_not_acceptable(call);
        else if (core)
            reply_versions(call);
        else
            (void)reply_groups(call, NULL);
        return true;
    }
    if (call->n_parts == 2)
        return core ? reply_resources(call, "", call->parts[1])
                    : reply_groups(call, call->parts[1]);
    return !core && reply_resources(call, call->parts[1], call->parts[2]);
}
