/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server writes before it ends: the last lines, and the sentence with which it refuses.
 *
 * The server is not trusted: output without end, without lines and with any bytes is kept to a
 * bound and made printable. Pure; one thread for each log.
 */
#ifndef RECONCILERS_REHEARSE_LOG_H
#define RECONCILERS_REHEARSE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/arena.h"
#include "api/base/buf.h"

#define EK_REHEARSE_LINES    20
#define EK_REHEARSE_LINE_MAX 1024 /* octets of a line that are kept */

/* The last lines; zero-initialise. Owns nothing. */
struct ek_rehearse_log {
    char lines[EK_REHEARSE_LINES][EK_REHEARSE_LINE_MAX];
    size_t n; /* lines that were begun and ended since the start */
    char part[EK_REHEARSE_LINE_MAX];
    size_t part_len;
    char refusal[EK_REHEARSE_LINE_MAX]; /* the newest sentence of a refusal; "" without */
    uint64_t octets;                    /* that were written */
};

/* Takes len bytes as the server wrote them. */
void ek_rehearse_log_feed(struct ek_rehearse_log *log, const char *data, size_t len);

/* Takes the end: a line without an end counts. */
void ek_rehearse_log_end(struct ek_rehearse_log *log);

/* The line of that number among those that are kept, the oldest first; NULL behind the last. */
const char *ek_rehearse_log_line(const struct ek_rehearse_log *log, size_t i);

/*
 * The sentence with which a line says that the server does not start, in out (size octets with the
 * NUL): of `Error: ...`, of klog's `E... "command failed" err="..."` (without the quotes of Go), of
 * `F... ...`, and of `panic: ...`. False for another line.
 */
bool ek_rehearse_refusal(const char *line, char *out, size_t size);

#endif
