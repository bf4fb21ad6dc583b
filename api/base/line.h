/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text on one line: makes text of servers, files and child processes safe for a message, a
 * log line or a condition. Pure; any thread.
 */
#ifndef API_BASE_LINE_H
#define API_BASE_LINE_H

#include <stddef.h>

/* Replaces, in place, control characters and bytes that are no UTF-8 by '?'. NULL is fine. */
void ek_line_clean(char *text);

/* Copies len bytes of text into out (size bytes with the NUL) as one clean line: control characters
 * and runs of blanks become one blank, what does not fit is cut. */
void ek_line_copy(const char *text, size_t len, char *out, size_t size);

#endif
