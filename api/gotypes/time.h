/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of a text as a metav1.Time or a MicroTime, with the error texts of Go's time package.
 * Pure; any thread. Source: documentation of Go's time.Parse.
 */
#ifndef API_GOTYPES_TIME_H
#define API_GOTYPES_TIME_H

#include <stdbool.h>

#include "api/base/arena.h"

/* Returns NULL when text is a time in the layout of RFC 3339 (micro: with exactly six digits of
 * fraction), and otherwise the reason, in arena. */
const char *ek_go_time_check(const char *text, bool micro, struct ek_arena *arena);

#endif
