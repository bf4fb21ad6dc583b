/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a response in HTTP/1.1, from its owner to nghttp2. */
#include <stdio.h>

#include "controller/proxy/h2-internal.h"
#include "reconcilers/proxy/identity.h"

/* What the owner has beyond what was taken. */
static struct ek_str rest_of(const struct ek_h2_stream *stream)
{
    struct ek_str out = stream->h2->ops->stream->output(stream->owner);

    return (struct ek_str){out.p + stream->taken, out.len - stream->taken};
}

/* ---- The body ---- */

/* Where octets of a body go. */
struct room {
    uint8_t *to;
    size_t n;
};

static void copy(void *ctx, const char *data, size_t len)
{
    struct room *room = ctx;

    memcpy(room->to + room->n, data, len);
    room->n += len;
}

/* nghttp2 takes octets. A piece of text never has more octets of the body than of text. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct ek_h2_stream *stream = source->ptr;
    struct room room = {.to = to};

    (void)session;
    (void)id;
    (void)ctx;
    while (stream->owner && !stream->complete && room.n < size) {
        enum ek_h1_event event;
        struct ek_str rest = rest_of(stream);
        size_t piece = rest.len < size - room.n ? rest.len : size - room.n;
        if (piece == 0)
            break;
        stream->taken += ek_h1_read(&stream->response, rest.p, piece, copy, &room, &event);
        if (event == EK_H1_BAD)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        stream->complete = event == EK_H1_END;
    }
    if (!stream->owner && !stream->complete)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (stream->complete)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    stream->deferred = room.n == 0 && !stream->complete;
    return stream->deferred ? NGHTTP2_ERR_DEFERRED : (ssize_t)room.n;
}

/* ---- The head ---- */

static void no_body(void *ctx, const char *data, size_t len)
{
    (void)ctx;
    (void)data;
    (void)len;
}

static nghttp2_nv nv_of(const char *name, const char *value)
{
    /* nghttp2 copies both. */
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

/* Names in lower case, each with its NUL (RFC 9113, 8.2.1). */
static void put_names(const struct ek_h1_head *head, struct ek_buf *names)
{
    for (size_t i = 0; i < head->n_fields; i++)
        for (const char *c = head->fields[i].name;; c++) {
            char lower = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
            ek_buf_append(names, &lower, 1);
            if (!*c)
                break;
        }
}

static int submit(struct ek_h2_stream *stream, const nghttp2_nv *nvs, size_t n)
{
    nghttp2_session *session = stream->h2->session;
    const nghttp2_data_provider body = {.source = {.ptr = stream}, .read_callback = read_body};

    if (!stream->headed)
        return nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, stream->id, NULL, nvs, n, NULL);
    return nghttp2_submit_response(session, stream->id, nvs, n, stream->complete ? NULL : &body);
}

/* Fields of an HTTP/1.1 connection stay here (RFC 9113, 8.2.2). */
static int submit_head(struct ek_h2_stream *stream)
{
    EK_AUTO(ek_buf) names;
    const struct ek_h1_head *head = &stream->response.head;
    EK_AUTOFREE nghttp2_nv *nvs = ek_xrealloc(NULL, head->n_fields + 1, sizeof *nvs);
    char status[8];
    size_t n = 0, at = 0;

    ek_buf_init(&names, stream->response.max_head);
    put_names(head, &names);
    if (names.failed)
        return names.failed;
    snprintf(status, sizeof status, "%d", head->status);
    nvs[n++] = nv_of(":status", status);
    for (size_t i = 0; i < head->n_fields; i++) {
        const char *name = names.data + at;
        at += strlen(name) + 1;
        if (!ek_identity_drops_from_answer(name, NULL, false))
            nvs[n++] = nv_of(name, head->fields[i].value);
    }
    return submit(stream, nvs, n);
}

/* Reads heads up to the final one; false when that is no response. */
static bool read_heads(struct ek_h2_stream *stream)
{
    struct ek_h1 *reader = &stream->response;
    enum ek_h1_event event = EK_H1_HEAD;

    while (!stream->headed) {
        struct ek_str rest = rest_of(stream);
        stream->taken += ek_h1_read(reader, rest.p, rest.len, no_body, NULL, &event);
        if (event == EK_H1_BAD)
            return false;
        if (event == EK_H1_MORE)
            return true;
        if (event == EK_H1_END) { /* of an informational response */
            ek_h1_begin(reader, !strcmp(ek_buf_str(&stream->request.method), "HEAD"));
            continue;
        }
        stream->headed = reader->head.status / 100 != 1;
        if (!stream->headed && submit_head(stream))
            return false;
    }
    ek_h1_read(reader, "", 0, no_body, NULL, &event); /* an end that takes no bytes */
    stream->complete = event == EK_H1_END;
    int rc = submit_head(stream);
    ek_h1_forget(reader); /* nghttp2 has copied it */
    return rc == 0;
}

void ek_h2_response_taken__(struct ek_h2_stream *stream)
{
    size_t n = stream->taken;

    stream->taken = 0;
    if (n > 0 && stream->owner)
        stream->h2->ops->stream->sent(stream->owner, n);
}

void ek_h2_response_go_on__(struct ek_h2_stream *stream)
{
    if (stream->gone || !stream->owner || stream->complete || stream->h2->over)
        return;
    if (!stream->headed) {
        if (rest_of(stream).len == 0)
            return;
        if (!read_heads(stream)) {
            ek_h2_stream_reset__(stream, NGHTTP2_INTERNAL_ERROR);
            return;
        }
        ek_h2_response_taken__(stream);
    } else if (stream->deferred && rest_of(stream).len > 0) {
        stream->deferred = false;
        nghttp2_session_resume_data(stream->h2->session, stream->id);
    }
}
