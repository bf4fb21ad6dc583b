/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/stream.h"

#include <string.h>
#include <strings.h>

#include "api/media_type.h"

#define LENGTH_OCTETS 4u

static enum ek_stream_form form_of(const char *content_type, const char *encoding)
{
    if ((encoding && strcasecmp(encoding, "identity") != 0))
        return EK_STREAM_UNKNOWN;
    if (ek_media_type_is(content_type, "application/json"))
        return EK_STREAM_LINES;
    return ek_media_type_is(content_type, "application/vnd.kubernetes.protobuf")
               ? EK_STREAM_FRAMES
               : EK_STREAM_UNKNOWN;
}

void ek_stream_begin(struct ek_stream *stream, const char *content_type, const char *encoding)
{
    *stream = (struct ek_stream){.form = form_of(content_type, encoding), .between = true};
}

static size_t read_line(struct ek_stream *stream, const char *data, size_t len, bool one)
{
    const char *end = one ? memchr(data, '\n', len) : NULL;
    size_t n = end ? (size_t)(end - data) + 1 : len;

    stream->between = data[n - 1] == '\n';
    return n;
}

/* Reads of one frame. */
static size_t read_frame(struct ek_stream *stream, const char *data, size_t len)
{
    size_t n = 0;

    for (; n < len && stream->n_head < LENGTH_OCTETS; n++, stream->n_head++)
        stream->left = stream->left << 8 | (unsigned char)data[n];
    stream->between = false;
    if (stream->n_head < LENGTH_OCTETS)
        return n;
    size_t body = len - n < stream->left ? len - n : stream->left;
    stream->left -= (uint32_t)body;
    if (stream->left > 0)
        return n + body;
    stream->n_head = 0;
    stream->between = true;
    return n + body;
}

size_t ek_stream_read(struct ek_stream *stream, const char *data, size_t len, bool one)
{
    size_t n = 0;

    if (len == 0)
        return 0;
    if (stream->form == EK_STREAM_LINES)
        return read_line(stream, data, len, one);
    if (stream->form == EK_STREAM_UNKNOWN) {
        stream->between = false;
        return len;
    }
    do
        n += read_frame(stream, data + n, len - n);
    while (n < len && !(one && stream->between));
    return n;
}
