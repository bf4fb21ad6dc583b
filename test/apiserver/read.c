/* SPDX-License-Identifier: Apache-2.0 */
/* Get and list: pages, continue tokens, resource versions, as an API server over etcd answers. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

#define TOKEN_MAX 4096

bool ek_ask_rv(struct ek_ask *call, uint64_t *ret_rv, bool *ret_set)
{
    const char *text = ek_ask_param(call, "resourceVersion");
    char *end;

    *ret_set = *text != '\0';
    *ret_rv = strtoull(text, &end, 10);
    if (strspn(text, "0123456789") == strlen(text))
        return true;
    ek_reply_status(call, 400, "BadRequest", NULL,
                    "invalid resource version: resourceVersion: Invalid value: \"%s\": "
                    "strconv.ParseUint: parsing \"%s\": invalid syntax",
                    text, text);
    return false;
}

void ek_reply_future_rv(struct ek_ask *call, uint64_t rv)
{
    ek_reply_status(call, 504, "Timeout",
                    "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large "
                    "resource version\"}],\"retryAfterSeconds\":1}",
                    "Timeout: Too large resource version: %llu, current: %llu",
                    (unsigned long long)rv, (unsigned long long)ek_mvcc_rv(call->server->store));
    ek_reply_header(call, "Retry-After", "1");
}

static bool forbid_option(struct ek_ask *call, const char *why)
{
    EK_AUTO(ek_buf) details;

    ek_buf_init(&details, 4096);
    ek_buf_printf(&details,
                  "{\"group\":\"meta.k8s.io\",\"kind\":\"ListOptions\",\"causes\":[{\"reason\":"
                  "\"FieldValueForbidden\",\"message\":\"Forbidden: %s\",\"field\":"
                  "\"resourceVersionMatch\"}]}",
                  why);
    ek_reply_status(call, 422, "Invalid", ek_buf_str(&details),
                    "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: %s",
                    why);
    return false;
}

bool ek_ask_options(struct ek_ask *call, bool watch)
{
    const char *match = ek_ask_param(call, "resourceVersionMatch");
    const char *rv = ek_ask_param(call, "resourceVersion");
    bool initial = *ek_ask_param(call, "sendInitialEvents") != '\0';

    if (initial && !watch)
        return forbid_option(call, "sendInitialEvents is forbidden for list");
    if (initial && strcmp(match, "NotOlderThan") != 0)
        return forbid_option(
            call, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (watch && *match && !initial)
        return forbid_option(call, "resourceVersionMatch is forbidden for watch unless "
                                   "sendInitialEvents is provided");
    if (watch || !*match)
        return true;
    if (*ek_ask_param(call, "continue"))
        return forbid_option(call, "resourceVersionMatch is forbidden when continue is provided");
    if (!*rv)
        return forbid_option(
            call, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (strcmp(match, "Exact") == 0 && strcmp(rv, "0") == 0)
        return forbid_option(
            call, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    return true;
}

void ek_ask_get(struct ek_ask *call)
{
    char key[EK_KEY_SIZE];
    struct ek_render render;
    uint64_t rv;
    bool set;

    if (!ek_ask_rv(call, &rv, &set) || !ek_render_negotiate(call, &render))
        return;
    if (rv > ek_mvcc_rv(call->server->store)) {
        ek_reply_future_rv(call, rv);
        return;
    }
    const struct ek_mvcc_value *value =
        ek_mvcc_get(call->server->store, call->kind->storage, ek_ask_key(call, call->name, key));
    if (!value) {
        ek_reply_not_found(call, call->name);
        return;
    }
    ek_reply_type(call, 200, "application/json");
    ek_render_object(&render, value, 0, &call->response->body);
    ek_buf_puts(&call->response->body, "\n");
}

/* --- continue tokens: base64url of {"v":"meta.k8s.io/v1","rv":N,"start":"<key>\0"} --- */

static void encode_token(int64_t rv, const char *start, char token[TOKEN_MAX])
{
    EK_AUTO(ek_buf) json;

    ek_buf_init(&json, TOKEN_MAX / 2);
    ek_buf_printf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":", (long long)rv);
    ek_json_quote(&json, start);
    json.len--;
    ek_buf_puts(&json, "\\u0000\"}");
    int n = EVP_EncodeBlock((unsigned char *)token, (const unsigned char *)ek_buf_str(&json),
                            (int)json.len);
    while (n > 0 && token[n - 1] == '=')
        n--;
    token[n] = '\0';
    for (char *p = token; *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
}

static size_t decode_base64url(const char *token, unsigned char *out, size_t size)
{
    char padded[TOKEN_MAX];
    size_t len = strlen(token);

    if (len == 0 || len + 4 > sizeof(padded) || size < sizeof(padded))
        return 0;
    for (size_t i = 0; i < len; i++)
        padded[i] = token[i] == '-' ? '+' : token[i] == '_' ? '/' : token[i];
    size_t padding = (4 - len % 4) % 4;
    memcpy(padded + len, "===", padding);
    int n = EVP_DecodeBlock(out, (const unsigned char *)padded, (int)(len + padding));
    return n < (int)padding ? 0 : (size_t)n - padding;
}

/* The first complaint of Go's JSON decoder about text, as far as a foreign token shows it. */
static void explain_json(const char *text, char *buf, size_t size)
{
    static const char *const words[] = {"null", "true", "false"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++) {
        const char *word = words[i];
        size_t n = 0;
        while (text[n] && text[n] == word[n])
            n++;
        if (n > 0 && word[n] && text[n]) {
            snprintf(buf, size, "invalid character '%c' in literal %s (expecting '%c')", text[n],
                     word, word[n]);
            return;
        }
    }
    if (!*text)
        snprintf(buf, size, "unexpected end of JSON input");
    else
        snprintf(buf, size, "invalid character '%c' looking for beginning of value", *text);
}

struct position {
    int64_t rv;              /* -1: any */
    char start[EK_KEY_SIZE]; /* the last key seen, within the list's prefix */
};

static bool decode_token(struct ek_ask *call, const char *token, struct position *ret_position)
{
    unsigned char text[TOKEN_MAX + 1];
    char why[256] = "";
    size_t len = decode_base64url(token, text, TOKEN_MAX);
    struct ek_err err;

    text[len] = '\0';
    yyjson_doc *doc = ek_json_parse((const char *)text, len, &err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *version = ek_json_str(root, "v", NULL), *start = ek_json_str(root, "start", NULL);
    if (len == 0)
        snprintf(why, sizeof(why), "illegal base64 data at input byte 0");
    else if (!yyjson_is_obj(root))
        explain_json((const char *)text, why, sizeof(why));
    else if (!version || strcmp(version, "meta.k8s.io/v1") != 0)
        snprintf(why, sizeof(why), "server does not recognize this encoded version \"%.64s\"",
                 version ? version : "");
    else if (!start)
        snprintf(why, sizeof(why), "encoded start key empty");
    if (!*why) {
        ret_position->rv = yyjson_get_sint(yyjson_obj_get(root, "rv"));
        snprintf(ret_position->start, sizeof(ret_position->start), "%s",
                 *start == '/' ? start + 1 : start);
    }
    yyjson_doc_free(doc);
    if (*why)
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "invalid continue token: continue key is not valid: %s", why);
    return !*why;
}

/* --- lists --- */

struct listing {
    struct ek_filter filter;
    struct ek_render render;
    uint64_t rv;
    size_t limit;
    char start[EK_KEY_SIZE]; /* whole keys must be above this; "" for all */
    struct ek_buf items;
    size_t n;
    char last[EK_KEY_SIZE];
    bool more;
    int64_t remaining;
};

static void reply_gone(struct ek_ask *call, const struct position *position)
{
    char token[TOKEN_MAX];
    EK_AUTO(ek_buf) body = {0};

    if (!position) {
        ek_reply_status(call, 410, "Expired", NULL,
                        "The resourceVersion for the provided list is too old.");
        return;
    }
    encode_token(-1, position->start, token);
    ek_reply_status(
        call, 410, "Expired", NULL,
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the first chunk was returned and now may show up in the list.");
    /* The token stands in the metadata that every other failure leaves empty. */
    static const char empty[] = "\"metadata\":{}";
    const char *status = ek_buf_str(&call->response->body);
    const char *at = strstr(status, empty);
    ek_buf_init(&body, EK_BODY_MAX);
    ek_buf_append(&body, status, (size_t)(at - status));
    ek_buf_printf(&body, "\"metadata\":{\"continue\":\"%s\"}%s", token, at + sizeof(empty) - 1);
    ek_buf_reset(&call->response->body);
    ek_buf_append(&call->response->body, body.data, body.len);
}

/* Decides at which revision to read and where to start; false when answered. */
static bool choose_revision(struct ek_ask *call, struct listing *listing)
{
    struct ek_mvcc *store = call->server->store;
    const char *token = ek_ask_param(call, "continue");
    bool exact = strcmp(ek_ask_param(call, "resourceVersionMatch"), "Exact") == 0;
    uint64_t rv, current = ek_mvcc_rv(store);
    struct position position;
    bool set;

    if (!ek_ask_rv(call, &rv, &set))
        return false;
    if (*token && set && rv > 0) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "specifying resource version is not allowed when using continue");
        return false;
    }
    if (set && rv == 0)
        listing->limit = 0; /* served from the watch cache, which knows no pages at "any" */
    exact = exact || (rv > 0 && listing->limit > 0 && !*ek_ask_param(call, "resourceVersionMatch"));
    if (*token) {
        if (!decode_token(call, token, &position))
            return false;
        snprintf(listing->start, sizeof(listing->start), "%.300s%.299s", listing->filter.prefix,
                 position.start);
        exact = position.rv > 0;
        rv = exact ? (uint64_t)position.rv : 0;
    }
    if (rv > current) {
        ek_reply_future_rv(call, rv);
        return false;
    }
    if (exact && rv < ek_mvcc_compacted(store, call->kind->storage)) {
        reply_gone(call, *token ? &position : NULL);
        return false;
    }
    listing->rv = exact ? rv : current;
    return true;
}

/* How many items are left at the start of this page; -1 when that has to be counted. */
static int64_t known_remaining(const struct ek_ask *call, const struct listing *listing)
{
    const struct ek_apiserver *server = call->server;

    for (size_t i = 0; i < EK_PAGE_ENDS && *listing->start; i++) {
        const struct ek_page_end *end = &server->pages[i];
        if (end->storage == call->kind->storage && end->rv == listing->rv &&
            strcmp(end->key, listing->start) == 0 &&
            strcmp(end->prefix, listing->filter.prefix) == 0)
            return end->remaining;
    }
    if (!*listing->start && !*listing->filter.prefix && listing->rv == ek_mvcc_rv(server->store))
        return (int64_t)ek_mvcc_count(server->store, call->kind->storage);
    return -1;
}

static void remember_page(struct ek_ask *call, const struct listing *listing)
{
    struct ek_page_end *end = &call->server->pages[call->server->next_page++ % EK_PAGE_ENDS];

    end->storage = call->kind->storage;
    end->rv = listing->rv;
    end->remaining = listing->remaining;
    snprintf(end->key, sizeof(end->key), "%s", listing->last);
    snprintf(end->prefix, sizeof(end->prefix), "%s", listing->filter.prefix);
}

static void collect(struct ek_ask *call, struct listing *listing)
{
    struct ek_mvcc_iter iter;
    struct ek_mvcc_value *value;
    const char *key, *prefix = listing->filter.prefix;
    size_t prefix_len = strlen(prefix);
    bool open = ek_filter_is_open(&listing->filter);
    int64_t known = open && listing->limit > 0 ? known_remaining(call, listing) : -1;

    ek_mvcc_seek(call->server->store, call->kind->storage,
                 *listing->start ? listing->start : prefix, listing->rv, &iter);
    while ((value = ek_mvcc_next(&iter, &key)) != NULL && strncmp(key, prefix, prefix_len) == 0) {
        if (*listing->start && strcmp(key, listing->start) == 0)
            continue;
        if (listing->limit > 0 && listing->n == listing->limit) {
            listing->more = true;
            listing->remaining = known >= 0 ? known - (int64_t)listing->n : listing->remaining + 1;
            if (!open || known >= 0)
                return;
            continue;
        }
        if (!open && !ek_filter_matches(&listing->filter, key, value))
            continue;
        ek_render_list_item(&listing->render, value, listing->n++, &listing->items);
        if (listing->limit > 0 && listing->n == listing->limit)
            snprintf(listing->last, sizeof(listing->last), "%s", key);
    }
}

void ek_ask_list(struct ek_ask *call)
{
    struct listing listing = {.limit = strtoul(ek_ask_param(call, "limit"), NULL, 10)};
    char token[TOKEN_MAX], start[EK_KEY_SIZE + 1];
    struct ek_buf *body = &call->response->body;

    ek_buf_init(&listing.items, EK_REPLY_MAX);
    if (!ek_render_negotiate(call, &listing.render) || !ek_ask_options(call, false) ||
        !ek_filter_read(call, &listing.filter) || !choose_revision(call, &listing)) {
        ek_filter_done(&listing.filter);
        return;
    }
    collect(call, &listing);
    if (listing.more) {
        remember_page(call, &listing);
        snprintf(start, sizeof(start), "/%s", listing.last + strlen(listing.filter.prefix));
        encode_token((int64_t)listing.rv, start, token);
    }
    ek_reply_type(call, 200, "application/json");
    ek_render_list_begin(&listing.render, body, listing.rv, listing.more ? token : NULL,
                         ek_filter_is_open(&listing.filter) ? listing.remaining : 0);
    ek_buf_append(body, listing.items.data, listing.items.len);
    ek_render_list_end(body);
    ek_buf_done(&listing.items);
    ek_filter_done(&listing.filter);
}
