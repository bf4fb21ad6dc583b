/* SPDX-License-Identifier: Apache-2.0 */
/* A request of HTTP/2 as the text of HTTP/1.1 (RFC 9113, 8.2 and 8.3; RFC 9112, 3). */
#include <strings.h>

#include "api/base/ascii.h"
#include "controller/proxy/h2-internal.h"
#include "reconcilers/proxy/fields.h"

/* What the text has beyond the octets that count: ends of lines, of NULs, of the request line. */
#define TEXT_EXTRA ((size_t)8 * 1024)

void ek_h2_request_init__(struct ek_h2_request *r, size_t max_head)
{
    struct ek_buf *const parts[] = {&r->method, &r->path,   &r->authority, &r->host,
                                    &r->cookie, &r->length, &r->fields};

    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < EK_ARRAY_SIZE(parts); i++)
        ek_buf_init(parts[i], max_head + TEXT_EXTRA);
}

void ek_h2_request_forget__(struct ek_h2_request *r)
{
    ek_buf_done(&r->path);
    ek_buf_done(&r->authority);
    ek_buf_done(&r->host);
    ek_buf_done(&r->cookie);
    ek_buf_done(&r->length);
    ek_buf_done(&r->fields);
}

void ek_h2_request_done__(struct ek_h2_request *r)
{
    ek_h2_request_forget__(r);
    ek_buf_done(&r->method);
}

static void refuse(struct ek_h2_request *r, int status)
{
    if (!r->refusal)
        r->refusal = status;
}

/* Keeps what may occur once. */
static void keep(struct ek_h2_request *r, struct ek_buf *slot, const char *value)
{
    if (slot->len > 0 || !*value)
        refuse(r, 400);
    ek_buf_puts(slot, value);
}

static void put_pseudo(struct ek_h2_request *r, const char *name, const char *value)
{
    if (!strcmp(name, ":method"))
        keep(r, &r->method, value);
    else if (!strcmp(name, ":path"))
        keep(r, &r->path, value);
    else if (!strcmp(name, ":authority"))
        keep(r, &r->authority, value);
    else if (strcmp(name, ":scheme") != 0) /* no text of HTTP/1.1 has the scheme */
        refuse(r, 400);
}

static void put_field(struct ek_h2_request *r, const char *name, const char *value)
{
    static const char *const of_http1[] = {"connection", "keep-alive", "proxy-connection",
                                           "transfer-encoding", "upgrade"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(of_http1); i++)
        if (!strcasecmp(name, of_http1[i]))
            refuse(r, 400);
    if (!strcasecmp(name, "host")) {
        keep(r, &r->host, value);
    } else if (!strcasecmp(name, "content-length")) {
        keep(r, &r->length, value);
    } else if (!strcasecmp(name, "cookie")) { /* RFC 9113, 8.2.3: one line in HTTP/1.1 */
        ek_buf_printf(&r->cookie, "%s%s", r->cookie.len ? "; " : "", value);
    } else {
        ek_h1_put_field(&r->fields, name, value);
        if (++r->n_fields > EK_H1_FIELDS_MAX - 4) /* Host, Cookie and the framing are left */
            refuse(r, 431);
    }
}

void ek_h2_request_field__(struct ek_h2_request *r, struct ek_str name, struct ek_str value,
                           size_t max_head)
{
    r->size += name.len + value.len + 2;
    if (r->size > max_head)
        refuse(r, 431);
    if (r->refusal) /* nothing is kept */
        return;
    /* Strings of nghttp2 end with a NUL (nghttp2_on_header_callback). */
    bool good = strlen(name.p) == name.len && strlen(value.p) == value.len &&
                ek_field_name_is_good(name.p + (*name.p == ':')) && ek_field_value_is_good(value.p);

    if (!good)
        refuse(r, 400);
    else if (*name.p == ':')
        put_pseudo(r, name.p, value.p);
    else
        put_field(r, name.p, value.p);
}

static bool is_visible(const struct ek_buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] <= 0x20 || text->data[i] >= 0x7f)
            return false;
    return text->len > 0;
}

/* Digits alone, at most 18 of them (RFC 9110, 8.6). */
static bool read_length(struct ek_h2_request *r)
{
    const struct ek_buf *text = &r->length;

    r->left = 0;
    for (size_t i = 0; i < text->len; i++) {
        if (!ek_is_digit(text->data[i]) || i == 18)
            return false;
        r->left = r->left * 10 + (uint64_t)(text->data[i] - '0');
    }
    return true;
}

static int judge(struct ek_h2_request *r, bool ended)
{
    bool both = r->host.len > 0 && r->authority.len > 0;

    if (r->refusal)
        return r->refusal;
    if (!is_visible(&r->path) || !ek_field_name_is_good(ek_buf_str(&r->method)))
        return 400;
    /* RFC 9113, 8.3.1. */
    if (both && strcasecmp(ek_buf_str(&r->host), ek_buf_str(&r->authority)) != 0)
        return 400;
    if ((r->host.len == 0 && r->authority.len == 0) || !read_length(r) || (ended && r->left > 0))
        return 400;
    return r->fields.failed || r->cookie.failed ? 431 : 0;
}

int ek_h2_request_head__(struct ek_h2_request *r, bool ended, struct ek_buf *out)
{
    r->refusal = judge(r, ended);
    if (r->refusal)
        return r->refusal;
    ek_buf_printf(out, "%s %s HTTP/1.1\r\n", ek_buf_str(&r->method), ek_buf_str(&r->path));
    ek_h1_put_field(out, "Host", ek_buf_str(r->authority.len ? &r->authority : &r->host));
    ek_buf_append(out, ek_buf_str(&r->fields), r->fields.len);
    if (r->cookie.len > 0)
        ek_h1_put_field(out, "Cookie", ek_buf_str(&r->cookie));
    if (r->length.len > 0)
        r->framing = EK_H1_LENGTH;
    else
        r->framing = ended ? EK_H1_EMPTY : EK_H1_CHUNKED;
    ek_h1_put_framing(out, r->framing, r->left);
    ek_buf_puts(out, "\r\n");
    return 0;
}

bool ek_h2_request_body__(struct ek_h2_request *r, const char *data, size_t len, struct ek_buf *out)
{
    if (r->refusal)
        return true;
    if (r->ended || r->framing == EK_H1_EMPTY || (r->framing == EK_H1_LENGTH && len > r->left))
        return false;
    if (r->framing == EK_H1_LENGTH)
        r->left -= len;
    ek_h1_put_body(out, r->framing, data, len);
    return true;
}

bool ek_h2_request_end__(struct ek_h2_request *r, struct ek_buf *out)
{
    if (r->ended || (!r->refusal && r->framing == EK_H1_LENGTH && r->left > 0))
        return false;
    r->ended = true;
    if (r->refusal)
        return true;
    ek_h1_put_end(out, r->framing);
    return true;
}
