/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign text made fit for a message: quoted so that one line stays one line, or cut without
 * breaking a character.
 *
 * Quoting follows Go's %q, because the texts that Kubernetes itself prints about the same input
 * are written that way and users search for them. A code point is printable as Unicode 15.0 has it
 * (Go, strconv.IsPrint). Pure; any thread.
 */
#ifndef API_BASE_QUOTE_H
#define API_BASE_QUOTE_H

#include "api/base/buf.h"

/*
 * Appends s to out between double quotes: control characters, invalid UTF-8 and what does not
 * print become escapes. Returns what ek_buf_append returns; a failure also stays in out->failed.
 */
int ek_quote(struct ek_buf *out, struct ek_str s);

/* As ek_quote without the quotes, for text that is put between quotes together with other text. */
int ek_quote_inner(struct ek_buf *out, struct ek_str s);

/*
 * Appends s as text of a line of its own: ek_quote_inner, but that quotes and backslashes, which
 * are harmless there, stand for themselves, so that what was quoted before is left as it is. What a
 * CI system takes for a command in its log is broken up by an escape: "::" where out is at the
 * beginning of a line, "##[" and "##vso[" anywhere (github.com/actions/runner, ActionCommand.cs;
 * microsoft/azure-pipelines-agent, Command.cs). For terminals, logs, and comments of YAML, which
 * end at U+0085 and U+2028, too. Returns 0 or out's error.
 */
int ek_quote_line(struct ek_buf *out, struct ek_str s);

/* As ek_quote_line for a text that may have several lines: each line from the second on stands
 * behind prefix; a carriage return before a line feed is left out. */
int ek_quote_lines(struct ek_buf *out, struct ek_str s, const char *prefix);

/* As ek_quote_line for a text by printf rules. A line feed at the end of fmt stays one. */
int ek_quote_printf(struct ek_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for one escape; it is not NUL-terminated. */
#define EK_QUOTE_ESCAPE_SIZE 10

/*
 * Writes the escape of the character at the start of s (len > 0) to out and returns the octets of
 * the escape; 0 when the character stands for itself. *ret_taken is the octets of the character, 1
 * for an octet that is no valid UTF-8. For texts that are not struct ek_buf.
 */
size_t ek_quote_escape(struct ek_str s, char out[EK_QUOTE_ESCAPE_SIZE], size_t *ret_taken);

/* The character reference of an octet that is markup in the text or in an attribute of HTML and XML
 * ("&lt;"); NULL for the others. */
const char *ek_quote_reference(char c);

/* Appends json as Go's encoding/json writes it: the characters of HTML markup (<, > and &), U+2028
 * and U+2029 are escaped. json is NUL-terminated. Returns 0 or out's error. */
int ek_go_json(const char *json, struct ek_buf *out);

#define EK_QUOTE_SIZE 256

/* Writes the start of s as ek_quote does, at most some 200 bytes of it with "..." for the rest;
 * returns buf. For messages of a bounded size. */
const char *ek_quote_short(struct ek_str s, char buf[EK_QUOTE_SIZE]);

/*
 * Decodes the character at the start of s (len > 0) into *ret_rune and returns its length in
 * bytes, 0 when it is no valid UTF-8 (RFC 3629: no overlong forms, no surrogates).
 */
size_t ek_utf8_decode(struct ek_str s, unsigned *ret_rune);

/* The largest length <= max at which s may be cut without splitting a UTF-8 character. */
size_t ek_utf8_cut(struct ek_str s, size_t max);

#endif
