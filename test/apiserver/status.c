/* SPDX-License-Identifier: Apache-2.0 */
/* Failures as metav1.Status, in the words of the API server. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "test/apiserver/server-internal.h"

void ek_json_quote(struct ek_buf *out, const char *s)
{
    static const char hex[] = "0123456789abcdef";
    const char *from = s;

    ek_buf_append(out, "\"", 1);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        /* Go's encoder escapes these three for the sake of HTML. */
        bool html = c == '<' || c == '>' || c == '&';
        if (c >= 0x20 && c != '"' && c != '\\' && !html)
            continue;
        ek_buf_append(out, from, (size_t)(s - from));
        from = s + 1;
        if (c == '"' || c == '\\') {
            ek_buf_append(out, (char[]){'\\', (char)c}, 2);
        } else if (c == '\n') {
            ek_buf_append(out, "\\n", 2);
        } else if (c == '\t') {
            ek_buf_append(out, "\\t", 2);
        } else {
            char escape[7] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], 0};
            ek_buf_append(out, escape, 6);
        }
    }
    ek_buf_append(out, from, (size_t)(s - from));
    ek_buf_append(out, "\"", 1);
}

void ek_reply_type(struct ek_ask *call, int code, const char *content_type)
{
    struct ek_apiserver_response *response = call->response;

    response->status = code;
    snprintf(response->content_type, sizeof(response->content_type), "%s", content_type);
}

void ek_reply_header(struct ek_ask *call, const char *name, const char *fmt, ...)
{
    struct ek_apiserver_response *response = call->response;
    va_list args;

    if (response->n_headers == EK_APISERVER_HEADERS_MAX)
        return;
    struct ek_header_pair *header = &response->headers[response->n_headers++];
    header->name = name;
    va_start(args, fmt);
    vsnprintf(header->value, sizeof(header->value), fmt, args);
    va_end(args);
}

void ek_reply_text(struct ek_ask *call, int code, const char *text)
{
    ek_reply_type(call, code, "text/plain; charset=utf-8");
    ek_buf_reset(&call->response->body);
    ek_buf_puts(&call->response->body, text);
}

static void reply(struct ek_ask *call, int code, const char *reason, const char *details,
                  const char *fmt, va_list args)
{
    struct ek_buf *body = &call->response->body;
    char message[4096];

    vsnprintf(message, sizeof(message), fmt, args);
    ek_reply_type(call, code, "application/json");
    ek_buf_reset(body);
    ek_buf_puts(body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                      "\"status\":\"Failure\",\"message\":");
    ek_json_quote(body, message);
    ek_buf_printf(body, ",\"reason\":\"%s\",", reason);
    if (details)
        ek_buf_printf(body, "\"details\":%s,", details);
    ek_buf_printf(body, "\"code\":%d}\n", code);
}

void ek_reply_status(struct ek_ask *call, int code, const char *reason, const char *details,
                     const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    reply(call, code, reason, details, fmt, args);
    va_end(args);
}

/* Begins details with name and group; kind is the resource or, for invalid objects, the kind. */
static void put_details(const struct ek_ask *call, struct ek_buf *out, const char *name,
                        const char *kind)
{
    ek_buf_puts(out, "{");
    if (*name) {
        ek_buf_puts(out, "\"name\":");
        ek_json_quote(out, name);
        ek_buf_puts(out, ",");
    }
    if (*call->kind->group)
        ek_buf_printf(out, "\"group\":\"%s\",", call->kind->group);
    ek_buf_printf(out, "\"kind\":\"%s\"", kind);
}

void ek_reply_failure(struct ek_ask *call, int code, const char *reason, const char *name,
                      const char *fmt, ...)
{
    va_list args;
    EK_AUTO(ek_buf) details;

    ek_buf_init(&details, 8192);
    put_details(call, &details, name, call->kind->plural);
    ek_buf_puts(&details, "}");
    va_start(args, fmt);
    reply(call, code, reason, ek_buf_str(&details), fmt, args);
    va_end(args);
}

void ek_reply_invalid(struct ek_ask *call, const char *name, const char *cause, const char *field,
                      const char *fmt, ...)
{
    char message[2048];
    va_list args;
    EK_AUTO(ek_buf) details;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    ek_buf_init(&details, 16384);
    put_details(call, &details, name, call->kind->kind);
    ek_buf_printf(&details, ",\"causes\":[{\"reason\":\"%s\",\"message\":", cause);
    ek_json_quote(&details, message);
    ek_buf_puts(&details, ",\"field\":");
    ek_json_quote(&details, field);
    ek_buf_puts(&details, "}]}");
    ek_reply_status(call, 422, "Invalid", ek_buf_str(&details), "%s%s%s \"%s\" is invalid: %s: %s",
                    call->kind->kind, *call->kind->group ? "." : "", call->kind->group, name, field,
                    message);
}

void ek_reply_not_found(struct ek_ask *call, const char *name)
{
    char resource[EK_GV_SIZE];

    ek_reply_failure(call, 404, "NotFound", name, "%s \"%s\" not found",
                     ek_kind_resource_name(call->kind, resource), name);
}

void ek_reply_conflict(struct ek_ask *call, const char *name, const char *why)
{
    char resource[EK_GV_SIZE];

    ek_reply_failure(call, 409, "Conflict", name, "Operation cannot be fulfilled on %s \"%s\": %s",
                     ek_kind_resource_name(call->kind, resource), name,
                     why ? why
                         : "the object has been modified; please apply your changes to the latest "
                           "version and try again");
}
