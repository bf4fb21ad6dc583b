/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from elsewhere in messages: quoted, so that a message stays one line, or cut at the end of a
 * character.
 *
 * Quoting follows Go's %q, as Kubernetes quotes the same input in its messages, for which users
 * search. The printable code points are those of Unicode 15.0 (Go, strconv.IsPrint). Pure; any
 * thread.
 */
#ifndef API_BASE_QUOTE_H
#define API_BASE_QUOTE_H

#include "api/base/buf.h"

/*
 * Appends s to out in double quotes, with escapes for control characters, invalid UTF-8 and code
 * points that are not printable. Returns 0 or the error of out.
 */
int ek_quote(struct ek_buf *out, struct ek_str s);

/* As ek_quote without the quotes, for text that is put between quotes together with other text. */
int ek_quote_inner(struct ek_buf *out, struct ek_str s);

/*
 * Appends s as one line for terminals, logs and comments of YAML (which also end at U+0085 and
 * U+2028). Escapes as ek_quote_inner, but not quotes and backslashes, so that text that is quoted
 * already does not change. An escape also breaks up the texts that CI systems read as commands in
 * their logs: "::" where out is at the beginning of a line, "##[" and "##vso[" anywhere
 * (github.com/actions/runner, ActionCommand.cs; microsoft/azure-pipelines-agent, Command.cs).
 * Returns 0 or the error of out.
 */
int ek_quote_line(struct ek_buf *out, struct ek_str s);

/* As ek_quote_line for a text that may have several lines: prefix comes before each line from the
 * second on; a carriage return before a line feed is left out. */
int ek_quote_lines(struct ek_buf *out, struct ek_str s, const char *prefix);

/* As ek_quote_line for a text by printf rules. A line feed at the end of fmt is not escaped. */
int ek_quote_printf(struct ek_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for one escape; it is not NUL-terminated. */
#define EK_QUOTE_ESCAPE_SIZE 10

/*
 * Writes the escape of the character at the start of s (len > 0) to out. Returns the length of the
 * escape; 0 when the character needs no escape. *ret_taken is the length of the character, 1 for an
 * octet that is not valid UTF-8. For texts that are not in a struct ek_buf.
 */
size_t ek_quote_escape(struct ek_str s, char out[EK_QUOTE_ESCAPE_SIZE], size_t *ret_taken);

/* The character reference of an octet that is markup in the text or in an attribute of HTML and XML
 * ("&lt;"); NULL for the others. */
const char *ek_quote_reference(char c);

/* Appends json as Go's encoding/json writes it: the characters of HTML markup (<, > and &), U+2028
 * and U+2029 are escaped. json is NUL-terminated. Returns 0 or out's error. */
int ek_go_json(const char *json, struct ek_buf *out);

#define EK_QUOTE_SIZE 256

/* Writes s as ek_quote does, of a long s some 200 bytes and "..."; returns buf. For messages of a
 * bounded size. */
const char *ek_quote_short(struct ek_str s, char buf[EK_QUOTE_SIZE]);

/*
 * Decodes the character at the start of s (len > 0) into *ret_rune and returns its length in
 * bytes, 0 when it is no valid UTF-8 (RFC 3629: no overlong forms, no surrogates).
 */
size_t ek_utf8_decode(struct ek_str s, unsigned *ret_rune);

/* The largest length <= max at which s may be cut without splitting a UTF-8 character. */
size_t ek_utf8_cut(struct ek_str s, size_t max);

#endif
