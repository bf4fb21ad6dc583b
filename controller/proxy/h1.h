/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of an HTTP/1.1 connection in streaming form (RFC 9112): bytes go in, a head and
 * pieces of a body come out; and the way back, from pieces of a body to bytes. The reader holds the
 * head of one message and nothing of its body. It has no socket, no clock and no opinion on what a
 * message means.
 *
 * The reader is strict, because two parsers that disagree on where a message ends are the cause of
 * request smuggling: it refuses what llhttp refuses in its strict mode (Content-Length with
 * Transfer-Encoding, two lengths, folded lines, bare line feeds), and also more than one
 * Transfer-Encoding or one that is not "chunked", Transfer-Encoding in HTTP/1.0, control characters
 * in values, and octets beyond ASCII in the target. Bodies are framed again by whoever sends them
 * on (ek_h1_body), so chunk extensions and trailers are counted against the limit and dropped.
 *
 * Ownership: the strings of a head are borrowed until the next ek_h1_begin or ek_h1_done.
 * Threading: none; one thread at a time.
 */
#ifndef CONTROLLER_PROXY_H1_H
#define CONTROLLER_PROXY_H1_H

#include <llhttp.h>
#include <stdbool.h>

#include "api/base/buf.h"

/* Header lines of a message; more are refused. net/http has no such limit but that of the bytes.
 * kubectl --as-group adds a line for each group, and a token of Windows has up to 1,015 groups. */
#define EK_H1_FIELDS_MAX 1024

enum ek_h1_kind { EK_H1_REQUEST, EK_H1_RESPONSE };

/* What ends the body. */
enum ek_h1_framing {
    EK_H1_EMPTY,   /* there is no body, whatever the fields say (HEAD, 204, 304, 1xx) */
    EK_H1_LENGTH,  /* so many octets */
    EK_H1_CHUNKED, /* the last chunk */
    EK_H1_CLOSE,   /* the end of the connection; responses only */
};

enum ek_h1_event {
    EK_H1_MORE, /* all bytes are used; more are required */
    EK_H1_HEAD, /* the head is complete */
    EK_H1_END,  /* the message is complete */
    EK_H1_BAD,  /* not a message, or beyond a limit: see status of the reader */
};

struct ek_h1_field {
    const char *name; /* as it came */
    const char *value;
};

struct ek_h1_head {
    const char *method; /* of a request, "" of a response */
    const char *target; /* of a request, as it came */
    int status;         /* of a response */
    int minor;          /* of the version, HTTP/1.minor */
    const struct ek_h1_field *fields;
    size_t n_fields;
    enum ek_h1_framing framing;
    uint64_t length; /* with EK_H1_LENGTH */
    bool keep_alive; /* the connection may be used for a further message */
};

/* Called with each piece of a body, which is never empty. */
typedef void (*ek_h1_body_fn)(void *ctx, const char *data, size_t len);

/* Where a line of a head starts in the text. */
struct ek_h1_line {
    uint32_t name, value;
};

/* Members are those of h1.c, but for head and status. */
struct ek_h1 {
    llhttp_t parser;
    enum ek_h1_kind kind;
    size_t max_head;
    struct ek_h1_head head;   /* valid from EK_H1_HEAD on */
    int status;               /* after EK_H1_BAD: how a request is answered, 400, 414, 431 or 505 */
    struct ek_buf text;       /* target, then names and values, each with its NUL */
    struct ek_h1_line *lines; /* of a head that is not complete; owned, NULL for none */
    struct ek_h1_field *fields; /* of a head that is complete; owned, NULL for none */
    size_t lines_max;           /* the room in lines */
    size_t size;                /* bytes of head, extensions and trailers so far */
    char method[24];
    bool bodyless; /* a response to HEAD */
    bool in_name, in_body, ended;
    ek_h1_body_fn body;
    void *ctx;
};

/* Makes a reader of messages whose heads, with trailers and chunk extensions, have at most max_head
 * bytes. Allocates nothing until bytes come. */
void ek_h1_init(struct ek_h1 *reader, enum ek_h1_kind kind, size_t max_head);
void ek_h1_done(struct ek_h1 *reader);

/* Makes the reader ready for the next message, forgetting the last. bodyless: the response is one
 * to a HEAD request. */
void ek_h1_begin(struct ek_h1 *reader, bool bodyless);

/* Octets of memory that a head holds, until ek_h1_forget. */
size_t ek_h1_held(const struct ek_h1 *reader);

/* Releases the fields and the target of a head that nobody uses any more; the method stays. A
 * message of which the body lasts holds little then. */
void ek_h1_forget(struct ek_h1 *reader);

/*
 * Reads until the next event; returns how many bytes were used. After EK_H1_HEAD and EK_H1_END the
 * rest is for further calls. body is called with ctx during the call. A response of status 101 has
 * no end: what follows its head is no HTTP.
 */
size_t ek_h1_read(struct ek_h1 *reader, const char *data, size_t len, ek_h1_body_fn body, void *ctx,
                  enum ek_h1_event *ret_event);

/* The connection has ended: EK_H1_END when that ends the message, else EK_H1_BAD. */
enum ek_h1_event ek_h1_eof(struct ek_h1 *reader);

/* The first field of that name (in any letter case), NULL for none. */
const char *ek_h1_field(const struct ek_h1_head *head, const char *name);

/* Appends "name: value" and the end of the line. */
void ek_h1_put_field(struct ek_buf *out, const char *name, const char *value);

/* Appends the field that announces a body: Content-Length or Transfer-Encoding; nothing for
 * EK_H1_EMPTY and EK_H1_CLOSE. */
void ek_h1_put_framing(struct ek_buf *out, enum ek_h1_framing framing, uint64_t length);

/* Appends len octets of a body (len 0: nothing), and the end of a body. */
void ek_h1_put_body(struct ek_buf *out, enum ek_h1_framing framing, const char *data, size_t len);
void ek_h1_put_end(struct ek_buf *out, enum ek_h1_framing framing);

#endif
