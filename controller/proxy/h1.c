/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/h1.h"

#include <stdio.h>
#include <strings.h>

/* The first room for lines. */
#define LINES_MIN 16

static int refuse(struct ek_h1 *reader, int status)
{
    if (!reader->status)
        reader->status = status;
    return HPE_USER;
}

/* Counts bytes of the head (and of trailers and chunk extensions) against the limit. */
static int charge(struct ek_h1 *reader, size_t len, int status)
{
    if (len > reader->max_head - reader->size)
        return refuse(reader, status);
    reader->size += len;
    return 0;
}

static int keep(struct ek_h1 *reader, const char *at, size_t len)
{
    return ek_buf_append(&reader->text, at, len) ? refuse(reader, 431) : 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_h1 *reader = parser->data;

    for (size_t i = 0; i < len; i++)
        if (at[i] <= 0x20 || at[i] >= 0x7f)
            return refuse(reader, 400);
    return charge(reader, len, 414) || keep(reader, at, len) ? HPE_USER : 0;
}

static int on_url_complete(llhttp_t *parser)
{
    return keep(parser->data, "", 1);
}

static int start_piece(struct ek_h1 *reader, bool value)
{
    struct ek_h1_head *head = &reader->head;

    if (charge(reader, 2, 431))
        return HPE_USER;
    if (!value && head->n_fields == EK_H1_FIELDS_MAX)
        return refuse(reader, 431);
    if (head->n_fields == reader->lines_max) {
        reader->lines_max = reader->lines_max ? 2 * reader->lines_max : LINES_MIN;
        reader->lines = ek_xrealloc(reader->lines, reader->lines_max, sizeof *reader->lines);
    }
    struct ek_h1_line *line = &reader->lines[head->n_fields];
    *(value ? &line->value : &line->name) = (uint32_t)reader->text.len;
    return 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_h1 *reader = parser->data;

    if (!reader->in_body && !reader->in_name) {
        reader->in_name = true; /* a name may come in pieces */
        if (start_piece(reader, false))
            return HPE_USER;
    }
    if (charge(reader, len, 431))
        return HPE_USER;
    return reader->in_body ? 0 : keep(reader, at, len);
}

static int on_name_complete(llhttp_t *parser)
{
    struct ek_h1 *reader = parser->data;

    reader->in_name = false;
    if (reader->in_body)
        return 0;
    return keep(reader, "", 1) ? HPE_USER : start_piece(reader, true);
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_h1 *reader = parser->data;

    if (charge(reader, len, 431))
        return HPE_USER;
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)at[i] < 0x20 && at[i] != '\t') || at[i] == 0x7f)
            return refuse(reader, 400);
    return reader->in_body ? 0 : keep(reader, at, len);
}

static int on_value_complete(llhttp_t *parser)
{
    struct ek_h1 *reader = parser->data;
    struct ek_buf *text = &reader->text;

    if (reader->in_body)
        return 0;
    while (text->len > reader->lines[reader->head.n_fields].value &&
           strchr(" \t", text->data[text->len - 1]))
        text->len--;
    if (keep(reader, "", 1))
        return HPE_USER;
    reader->head.n_fields++;
    return 0;
}

static int on_chunk_extension(llhttp_t *parser, const char *at, size_t len)
{
    (void)at;
    return charge(parser->data, len, 431);
}

static void set_fields(struct ek_h1 *reader)
{
    struct ek_h1_head *head = &reader->head;
    const struct ek_h1_line *lines = reader->lines;

    if (head->n_fields > 0)
        reader->fields = ek_xrealloc(NULL, head->n_fields, sizeof *reader->fields);
    for (size_t i = 0; i < head->n_fields; i++)
        reader->fields[i] = (struct ek_h1_field){reader->text.data + lines[i].name,
                                                 reader->text.data + lines[i].value};
    ek_free(reader->lines);
    reader->lines = NULL;
    reader->lines_max = 0;
    head->fields = reader->fields;
    head->target = reader->kind == EK_H1_REQUEST ? ek_buf_str(&reader->text) : "";
    head->method = reader->method;
}

static size_t count(const struct ek_h1_head *head, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < head->n_fields; i++)
        n += !strcasecmp(head->fields[i].name, name);
    return n;
}

/* Transfer-Encoding is "chunked", once, and never of HTTP/1.0 (RFC 9112, section 6.1). */
static bool coding_is_fine(const struct ek_h1_head *head)
{
    size_t n = count(head, "transfer-encoding");

    return n == 0 || (n == 1 && head->minor == 1 &&
                      !strcasecmp(ek_h1_field(head, "transfer-encoding"), "chunked"));
}

static enum ek_h1_framing framing_of(const struct ek_h1 *reader)
{
    const llhttp_t *parser = &reader->parser;
    int status = reader->head.status;
    bool request = reader->kind == EK_H1_REQUEST;

    if (!request && (reader->bodyless || status / 100 == 1 || status == 204 || status == 304))
        return EK_H1_EMPTY;
    if (parser->flags & F_CHUNKED)
        return EK_H1_CHUNKED;
    if (parser->flags & F_CONTENT_LENGTH)
        return request && parser->content_length == 0 ? EK_H1_EMPTY : EK_H1_LENGTH;
    return request ? EK_H1_EMPTY : EK_H1_CLOSE;
}

static int on_head(llhttp_t *parser)
{
    struct ek_h1 *reader = parser->data;
    struct ek_h1_head *head = &reader->head;

    reader->in_body = true;
    if (parser->http_major != 1 || parser->http_minor > 1)
        return refuse(reader, 505);
    head->minor = parser->http_minor;
    head->status = reader->kind == EK_H1_RESPONSE ? parser->status_code : 0;
    if (reader->kind == EK_H1_REQUEST)
        snprintf(reader->method, sizeof reader->method, "%s",
                 llhttp_method_name((llhttp_method_t)parser->method));
    set_fields(reader);
    size_t n_hosts = count(head, "host");
    /* RFC 9112, section 3.2: exactly one Host in HTTP/1.1. More than one is refused in any version.
     */
    bool host = reader->kind == EK_H1_RESPONSE || n_hosts == 1 || (n_hosts == 0 && !head->minor);
    if (!host || !coding_is_fine(head) || (reader->kind == EK_H1_RESPONSE && head->status < 100))
        return refuse(reader, 400);
    head->framing = framing_of(reader);
    head->length = head->framing == EK_H1_LENGTH ? parser->content_length : 0;
    /* Upgrades are the caller's affair: to the reader a request has the body that it announces. */
    parser->upgrade = 0;
    if (head->framing == EK_H1_EMPTY)
        parser->flags |= F_SKIPBODY;
    head->keep_alive = llhttp_should_keep_alive(parser);
    return HPE_PAUSED;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct ek_h1 *reader = parser->data;

    if (len > 0)
        reader->body(reader->ctx, at, len);
    return 0;
}

static int on_end(llhttp_t *parser)
{
    struct ek_h1 *reader = parser->data;

    reader->ended = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_name,
    .on_header_field_complete = on_name_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_head,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_body = on_body,
    .on_message_complete = on_end,
};

void ek_h1_init(struct ek_h1 *reader, enum ek_h1_kind kind, size_t max_head)
{
    memset(reader, 0, sizeof *reader);
    reader->kind = kind;
    reader->max_head = max_head;
    /* With a NUL for each name and value, which is less than what charge counts for them. */
    ek_buf_init(&reader->text, 2 * max_head);
    ek_h1_begin(reader, false);
}

static void release(struct ek_h1 *reader)
{
    ek_buf_done(&reader->text);
    ek_free(reader->lines);
    ek_free(reader->fields);
    reader->lines = NULL;
    reader->fields = NULL;
    reader->lines_max = 0;
}

void ek_h1_done(struct ek_h1 *reader)
{
    release(reader);
}

void ek_h1_begin(struct ek_h1 *reader, bool bodyless)
{
    llhttp_init(&reader->parser, reader->kind == EK_H1_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE,
                &settings);
    reader->parser.data = reader;
    release(reader); /* an idle connection holds nothing */
    ek_buf_init(&reader->text, 2 * reader->max_head);
    reader->head = (struct ek_h1_head){.method = "", .target = ""};
    reader->method[0] = '\0';
    reader->status = 0;
    reader->size = 0;
    reader->bodyless = bodyless;
    reader->in_name = reader->in_body = reader->ended = false;
}

size_t ek_h1_held(const struct ek_h1 *reader)
{
    return reader->text.len + reader->lines_max * sizeof *reader->lines +
           (reader->fields ? reader->head.n_fields * sizeof *reader->fields : 0);
}

void ek_h1_forget(struct ek_h1 *reader)
{
    release(reader);
    ek_buf_init(&reader->text, 2 * reader->max_head);
    reader->head.fields = NULL;
    reader->head.n_fields = 0;
    reader->head.target = "";
}

size_t ek_h1_read(struct ek_h1 *reader, const char *data, size_t len, ek_h1_body_fn body, void *ctx,
                  enum ek_h1_event *ret_event)
{
    bool had_head = reader->in_body;

    *ret_event = EK_H1_MORE;
    if (len == 0 && !reader->in_body)
        return 0;
    reader->body = body;
    reader->ctx = ctx;
    llhttp_errno_t rc = llhttp_execute(&reader->parser, data, len);
    if (rc == HPE_OK)
        return len;
    const char *end = llhttp_get_error_pos(&reader->parser);
    size_t used = end && end >= data && end <= data + len ? (size_t)(end - data) : len;
    if (rc == HPE_PAUSED) {
        llhttp_resume(&reader->parser);
        *ret_event = reader->ended ? EK_H1_END : EK_H1_HEAD;
        if (reader->ended || !had_head)
            return used;
    }
    refuse(reader, rc == HPE_INVALID_VERSION || rc == HPE_PAUSED_H2_UPGRADE ? 505 : 400);
    *ret_event = EK_H1_BAD;
    return used;
}

enum ek_h1_event ek_h1_eof(struct ek_h1 *reader)
{
    if (!reader->in_body || reader->head.framing != EK_H1_CLOSE || reader->ended)
        return EK_H1_BAD;
    reader->ended = true;
    return EK_H1_END;
}

/* ---- Fields ---- */

const char *ek_h1_field(const struct ek_h1_head *head, const char *name)
{
    for (size_t i = 0; i < head->n_fields; i++)
        if (!strcasecmp(head->fields[i].name, name))
            return head->fields[i].value;
    return NULL;
}

/* ---- The way back ---- */

void ek_h1_put_field(struct ek_buf *out, const char *name, const char *value)
{
    ek_buf_puts(out, name);
    ek_buf_puts(out, ": ");
    ek_buf_puts(out, value);
    ek_buf_puts(out, "\r\n");
}

void ek_h1_put_framing(struct ek_buf *out, enum ek_h1_framing framing, uint64_t length)
{
    if (framing == EK_H1_LENGTH)
        ek_buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)length);
    else if (framing == EK_H1_CHUNKED)
        ek_buf_puts(out, "Transfer-Encoding: chunked\r\n");
}

void ek_h1_put_body(struct ek_buf *out, enum ek_h1_framing framing, const char *data, size_t len)
{
    if (len == 0)
        return;
    if (framing == EK_H1_CHUNKED)
        ek_buf_printf(out, "%zx\r\n", len);
    ek_buf_append(out, data, len);
    if (framing == EK_H1_CHUNKED)
        ek_buf_puts(out, "\r\n");
}

void ek_h1_put_end(struct ek_buf *out, enum ek_h1_framing framing)
{
    if (framing == EK_H1_CHUNKED)
        ek_buf_puts(out, "0\r\n\r\n");
}
