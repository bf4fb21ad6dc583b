/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framer: bytes of a watch stream in, complete JSON objects out.
 *
 * A watch body is a sequence of JSON objects. Where the network cuts it has nothing to do with
 * where an object ends: an object may span many chunks, a chunk may hold many objects
 * (informers/cache/reflector.h, rule 9). The framer finds the ends and nothing else: it knows
 * strings, escapes and brackets; whether a frame is valid JSON is for the parser to say. Every byte
 * is looked at once.
 *
 * Model: ek_framer_push lends a chunk; ek_framer_next is then called until it answers 0. A frame
 * that lies inside one chunk is lent from the chunk itself, others are gathered in the framer's
 * buffer. Blanks and newlines between frames are skipped. An error is final: the stream is lost,
 * every later call repeats it.
 *
 * Pure: no I/O, no clock. Not thread safe.
 */
#ifndef INFORMERS_CACHE_FRAMER_H
#define INFORMERS_CACHE_FRAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/obj.h"

/* Levels of a frame: {"type": ..., "object": ...} is one around an object. */
#define EK_FRAME_DEPTH_MAX (EK_JSON_DEPTH_MAX + 1)

struct ek_framer {
    struct ek_buf gathered; /* start of a frame that the chunks so far did not end */
    struct ek_str chunk;    /* what is left of the chunk lent last */
    size_t max_frame;       /* bytes a frame may have */
    uint64_t offset;        /* of chunk.p in the stream */
    size_t frame_size;      /* bytes of the current frame seen, 0 between frames */
    unsigned depth;         /* open brackets */
    bool in_string, escaped;
    bool handed_out;     /* gathered holds a frame that was returned already */
    struct ek_err error; /* code 0 until the stream is lost */
    /* Which brackets are open, one bit per level: 1 for '[', 0 for '{'. */
    unsigned char arrays[(EK_FRAME_DEPTH_MAX + 7) / 8];
};

/* Makes a framer whose frames have at most max_frame bytes. Allocates nothing. */
void ek_framer_init(struct ek_framer *framer, size_t max_frame);

/* Releases the buffer; the framer may be initialised again. */
void ek_framer_done(struct ek_framer *framer);

/* Forgets all state but the maximum, for the next stream. */
void ek_framer_reset(struct ek_framer *framer);

/* Lends len bytes, which must stay until ek_framer_next answers 0 or an error. The chunk before
 * must have been used up. */
void ek_framer_push(struct ek_framer *framer, const char *data, size_t len);

/*
 * Returns 1 and the next frame (borrowed until the next call of any function on framer), 0 when
 * the chunk is used up, or a negative code: EK_E_PARSE where an object cannot begin or a bracket
 * closes another kind, EK_E_LIMIT for a frame that is too large or nests deeper than
 * EK_FRAME_DEPTH_MAX, EK_E_NOMEM. Messages name the offset in the stream.
 */
int ek_framer_next(struct ek_framer *framer, struct ek_str *ret_frame, struct ek_err *err);

/*
 * The short way, for servers that send one object per line, which API servers do: a look at the
 * line that begins where the next frame does, when the chunk holds the whole of it. Returns false
 * when there is none. The line need not be one object: a caller that can read it as JSON calls
 * ek_framer_take_line; otherwise the caller continues with ek_framer_next.
 */
bool ek_framer_look(struct ek_framer *framer, struct ek_str *ret_line);

/* Takes the line that ek_framer_look gave just now, which was one object, as a frame. */
void ek_framer_take_line(struct ek_framer *framer, struct ek_str line);

/* Skips the blanks at the start of the chunk, or its next n bytes (at most chunk.len). To be called
 * between frames only, by a reader of a stream that has more than frames. */
void ek_framer_skip_blanks(struct ek_framer *framer);
void ek_framer_skip(struct ek_framer *framer, size_t n);

/* Call it when the stream has ended: 0 when it ended between frames, else EK_E_PARSE with a
 * message that says how much of a frame was there. */
int ek_framer_end(const struct ek_framer *framer, struct ek_err *err);

EK_CLEANUP(ek_framer, ek_framer_done)

#endif
