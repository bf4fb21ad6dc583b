/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON pointers (RFC 6901), one token at a time: written with escapes, read without. Pure; any
 * thread.
 */
#ifndef API_PATCH_POINTER_H
#define API_PATCH_POINTER_H

#include <stdbool.h>

#include "api/base/buf.h"

/* Appends "/" and token, with "~0" for "~" and "~1" for "/". Returns what ek_buf_append returns. */
int ek_pointer_push(struct ek_buf *pointer, struct ek_str token);

/* The same for an index of an array. */
int ek_pointer_push_index(struct ek_buf *pointer, size_t index);

/* Takes off the last token, "/" included. */
void ek_pointer_pop(struct ek_buf *pointer);

/*
 * Moves *rest past its next token and sets *ret_token to that, escapes and all. What stands before
 * the first "/" is skipped. False when no "/" is left.
 */
bool ek_pointer_next(struct ek_str *rest, struct ek_str *ret_token);

/*
 * What an escaped token says. Returns token itself when it has no escapes; otherwise the text is
 * built in scratch, which must outlive it. "~" before anything but 0 and 1 stands for itself.
 */
struct ek_str ek_pointer_unescape(struct ek_str token, struct ek_buf *scratch);

#endif
