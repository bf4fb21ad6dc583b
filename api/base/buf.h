/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes: a borrowed string (ek_str) and an owned, bounded buffer (ek_buf).
 *
 * A buffer gets its maximum when it is made; an append beyond it fails with EK_E_LIMIT and leaves
 * the content as it was. Content is always NUL-terminated, so that data may be read as a C string.
 * Values are not thread safe.
 *
 * Lack of memory is EK_E_NOMEM for buffers that may become large. One of at most EK_BUF_SMALL_MAX
 * bytes (a path, a table's cell, a line) aborts instead, as ek_xalloc does: its writers check for
 * the limit at most, and a text that silently lacks a piece would be worse.
 */
#ifndef API_BASE_BUF_H
#define API_BASE_BUF_H

#include <stddef.h>
#include <string.h>

#include "api/base/mem.h"

/* A borrowed run of bytes, not NUL-terminated; p may be NULL only when len is 0. */
struct ek_str {
    const char *p;
    size_t len;
};

#define EK_STR(literal) ((struct ek_str){(literal), sizeof(literal) - 1})

static inline struct ek_str ek_str_from(const char *s)
{
    return (struct ek_str){s, s ? strlen(s) : 0};
}

static inline int ek_str_eq(struct ek_str a, struct ek_str b)
{
    return a.len == b.len && (a.len == 0 || (a.p && b.p && memcmp(a.p, b.p, a.len) == 0));
}

#define EK_BUF_SMALL_MAX ((size_t)64 * 1024)

struct ek_buf {
    char *data; /* owned; NULL until the first append, then NUL-terminated */
    size_t len; /* bytes in use */
    size_t cap; /* bytes allocated */
    size_t max; /* len never exceeds this */
    int failed; /* first error of any append, 0 while all succeeded */
};

/* Makes an empty buffer that holds at most max bytes. Allocates nothing. */
void ek_buf_init(struct ek_buf *buf, size_t max);

/* Releases the content; the buffer may be initialised again. */
void ek_buf_done(struct ek_buf *buf);

/* Forgets the content but keeps the memory and the maximum; clears failed. */
void ek_buf_reset(struct ek_buf *buf);

/*
 * Appends len bytes, a C string, or text by printf rules. Return 0, EK_E_LIMIT beyond the
 * maximum, or EK_E_NOMEM (see above); the first failure is also kept in buf->failed, so that a
 * writer of many pieces may check once at the end.
 */
int ek_buf_append(struct ek_buf *buf, const void *data, size_t len);
int ek_buf_puts(struct ek_buf *buf, const char *s);
int ek_buf_printf(struct ek_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The bytes that the buffer has allocated after an append of extra bytes: twice as many as before
 * while they are few, a quarter more above a MiB, never more than the maximum and its NUL. */
size_t ek_buf_grown(const struct ek_buf *buf, size_t extra);

/* Removes the first n bytes (at most len). */
void ek_buf_consume(struct ek_buf *buf, size_t n);

/* Returns the content as an owned C string ("" when empty) and empties the buffer. */
char *ek_buf_steal(struct ek_buf *buf);

/* The content as a C string, "" when empty; borrowed until the next change. */
static inline const char *ek_buf_str(const struct ek_buf *buf)
{
    return buf->data ? buf->data : "";
}

EK_CLEANUP(ek_buf, ek_buf_done)

#endif
