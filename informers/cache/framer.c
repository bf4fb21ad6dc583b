/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/framer.h"

#include <inttypes.h>
#include <string.h>

void ek_framer_init(struct ek_framer *framer, size_t max_frame)
{
    *framer = (struct ek_framer){.max_frame = max_frame};
    ek_buf_init(&framer->gathered, max_frame);
}

void ek_framer_done(struct ek_framer *framer)
{
    ek_buf_done(&framer->gathered);
    ek_framer_init(framer, framer->max_frame);
}

void ek_framer_reset(struct ek_framer *framer)
{
    struct ek_buf kept = framer->gathered;

    ek_framer_init(framer, framer->max_frame);
    framer->gathered = kept;
    ek_buf_reset(&framer->gathered);
}

void ek_framer_push(struct ek_framer *framer, const char *data, size_t len)
{
    framer->chunk = (struct ek_str){data, len};
}

static void open_bracket(struct ek_framer *framer, char c)
{
    unsigned char bit = (unsigned char)(1u << framer->depth % 8);
    unsigned char *byte = &framer->arrays[framer->depth / 8];

    *byte = (unsigned char)(c == '[' ? *byte | bit : *byte & ~bit);
    framer->depth++;
}

/* False when c is not what the innermost open bracket waits for. */
static bool close_bracket(struct ek_framer *framer, char c)
{
    unsigned level = framer->depth - 1;
    bool array = framer->arrays[level / 8] >> level % 8 & 1;

    framer->depth = level;
    return array == (c == ']');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The bytes up to the next one that scan must look at, at most len: most of a frame. */
static size_t plain(const struct ek_framer *framer, const char *p, size_t len)
{
    size_t n = 0;

    if (framer->in_string) {
        while (!framer->escaped && n < len && p[n] != '"' && p[n] != '\\')
            n++;
        return n;
    }
    while (n < len && p[n] != '"' && p[n] != '{' && p[n] != '}' && p[n] != '[' && p[n] != ']')
        n++;
    return n;
}

/* Looks at one byte inside a frame. Returns 1 when it ends the frame, 0, or an error. */
static int scan(struct ek_framer *framer, char c, uint64_t at)
{
    if (framer->in_string) {
        if (framer->escaped)
            framer->escaped = false;
        else if (c == '\\')
            framer->escaped = true;
        else if (c == '"')
            framer->in_string = false;
        return 0;
    }
    if (c == '"') {
        framer->in_string = true;
    } else if (c == '{' || c == '[') {
        if (framer->depth == EK_FRAME_DEPTH_MAX)
            return ek_err_set(&framer->error, EK_E_LIMIT,
                              "JSON nests deeper than %d levels at offset %" PRIu64
                              " of the stream",
                              EK_FRAME_DEPTH_MAX, at);
        open_bracket(framer, c);
    } else if (c == '}' || c == ']') {
        if (!close_bracket(framer, c))
            return ek_err_set(&framer->error, EK_E_PARSE,
                              "malformed JSON: '%c' closes another bracket at offset %" PRIu64
                              " of the stream",
                              c, at);
        return framer->depth == 0;
    }
    return 0;
}

void ek_framer_skip(struct ek_framer *framer, size_t n)
{
    framer->chunk.p += n;
    framer->chunk.len -= n;
    framer->offset += n;
}

void ek_framer_skip_blanks(struct ek_framer *framer)
{
    size_t n = 0;

    while (n < framer->chunk.len && is_blank(framer->chunk.p[n]))
        n++;
    ek_framer_skip(framer, n);
}

/* Skips what may stand between frames. Returns 1 at the start of one, 0 at the chunk's end. */
static int find_start(struct ek_framer *framer)
{
    ek_framer_skip_blanks(framer);
    if (!framer->chunk.len)
        return 0;
    if (framer->chunk.p[0] == '{')
        return 1;
    return ek_err_set(&framer->error, EK_E_PARSE,
                      "malformed JSON: byte 0x%02x where an object must begin, at offset %" PRIu64
                      " of the stream",
                      (unsigned char)framer->chunk.p[0], framer->offset);
}

/* Hands out the frame whose last n bytes begin the chunk, or keeps them when it goes on. */
static int use(struct ek_framer *framer, size_t n, bool complete, struct ek_str *ret_frame)
{
    int rc = 0;
    const char *p = framer->chunk.p;

    ek_framer_skip(framer, n);
    if (complete && !framer->gathered.len) {
        *ret_frame = (struct ek_str){p, n};
        framer->frame_size = 0;
        return 1;
    }
    rc = ek_buf_append(&framer->gathered, p, n);
    if (rc)
        return ek_err_set(&framer->error, rc, "no memory for a watch frame of %zu bytes",
                          framer->frame_size);
    if (!complete)
        return 0;
    *ret_frame = (struct ek_str){framer->gathered.data, framer->gathered.len};
    framer->frame_size = 0;
    framer->handed_out = true;
    return 1;
}

static int next(struct ek_framer *framer, struct ek_str *ret_frame)
{
    if (framer->frame_size == 0) {
        int rc = find_start(framer);
        if (rc <= 0)
            return rc;
    }
    const char *p = framer->chunk.p;
    size_t room = framer->max_frame - framer->frame_size, n = 0;
    size_t len = framer->chunk.len < room ? framer->chunk.len : room;
    int rc = 0;
    while (n < len && rc == 0) {
        n += plain(framer, p + n, len - n);
        if (n == len)
            break;
        rc = scan(framer, p[n], framer->offset + n);
        n++;
    }
    framer->frame_size += n;
    if (rc == 0 && n < framer->chunk.len)
        return ek_err_set(&framer->error, EK_E_LIMIT,
                          "a watch frame exceeds %zu bytes at offset %" PRIu64 " of the stream",
                          framer->max_frame, framer->offset + n);
    return rc < 0 ? rc : use(framer, n, rc == 1, ret_frame);
}

int ek_framer_next(struct ek_framer *framer, struct ek_str *ret_frame, struct ek_err *err)
{
    int rc = framer->error.code;

    if (framer->handed_out) {
        ek_buf_reset(&framer->gathered);
        framer->handed_out = false;
    }
    if (!rc)
        rc = next(framer, ret_frame);
    if (rc < 0 && err)
        *err = framer->error;
    return rc;
}

bool ek_framer_look(struct ek_framer *framer, struct ek_str *ret_line)
{
    if (framer->frame_size || framer->error.code)
        return false;
    ek_framer_skip_blanks(framer);
    const char *p = framer->chunk.p;
    const char *end = framer->chunk.len && *p == '{' ? memchr(p, '\n', framer->chunk.len) : NULL;
    if (!end || (size_t)(end - p) > framer->max_frame)
        return false;
    *ret_line = (struct ek_str){p, (size_t)(end - p)};
    return true;
}

void ek_framer_take_line(struct ek_framer *framer, struct ek_str line)
{
    ek_framer_skip(framer, line.len);
}

int ek_framer_end(const struct ek_framer *framer, struct ek_err *err)
{
    if (framer->frame_size == 0)
        return 0;
    return ek_err_set(err, EK_E_PARSE, "the stream ended %zu bytes into a frame",
                      framer->frame_size);
}
