/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State machines driven by scripts: a file holds input lines, and after each the lines that the
 * machine must answer with, marked "> ". Blank lines and lines that start with # are comments.
 * The machine's own test says what an input line means; this driver only reads, compares and
 * reports the first difference with file and line.
 */
#ifndef TEST_SUPPORT_FSM_SCRIPT_H
#define TEST_SUPPORT_FSM_SCRIPT_H

#include "api/base/buf.h"

/* Takes one input line (may be changed) and appends to out what the machine answers, one line per
 * action, each ended by a newline and without the mark. Returns 0, or -1 for a line that makes no
 * sense. */
typedef int (*ek_script_feed_fn)(void *ctx, char *line, struct ek_buf *out);

/*
 * Runs the script at path. Returns 0, or -1 with an explanation in problem (size bytes). With the
 * environment variable EK_SCRIPT_PRINT set, the transcript goes to standard output as well, in the
 * form of a script.
 */
int ek_script_run(const char *path, ek_script_feed_fn feed, void *ctx, char *problem, size_t size);

/* Calls fn with the path of each file in dir whose name ends in ".script", in name order. Returns
 * how many there were. */
size_t ek_script_each(const char *dir, void (*fn)(void *ctx, const char *path), void *ctx);

#endif
