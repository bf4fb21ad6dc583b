/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Go's time package says of a text that is to be a metav1.Time or MicroTime. Pure. Source:
 * documentation of Go's time.Parse.
 */
#ifndef API_GOTYPES_TIME_H
#define API_GOTYPES_TIME_H

#include <stdbool.h>

#include "api/base/arena.h"

/* Returns NULL when text is a time in the layout of RFC 3339 (micro: with exactly six digits of
 * fraction), and otherwise the reason, in arena. */
const char *ek_go_time_check(const char *text, bool micro, struct ek_arena *arena);

#endif
