/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of controller/debug/debug.h for people: tables, and before them what is wrong, in
 * words. Pure: an answer in, text out; ages are counted to the answer's own "time".
 */
#ifndef CONTROLLER_COMMANDS_DEBUG_REPORT_H
#define CONTROLLER_COMMANDS_DEBUG_REPORT_H

#include "api/base/buf.h"
#include "api/obj.h"

/*
 * Appends the tables of all members that the answer has. only (NULL for none) narrows informers to
 * those of a resource and probe targets to an address, and shows all that is known of them. With
 * overview, histories are left to the narrower questions. Returns 0 or the buffer's error.
 */
int ek_debug_report(yyjson_val *answer, const char *only, bool overview, bool color,
                    struct ek_buf *out);

/* Appends one line per thing that is wrong, "- nodes: forbidden ...", for the members that the
 * answer has; nothing when nothing is. Returns how many. */
size_t ek_debug_findings(yyjson_val *answer, struct ek_buf *out);

/* The length of time between two times of an answer, for people: "3m10s", "-" when either is
 * missing; returns buf. */
const char *ek_debug_age(const char *from, const char *to, char *buf, size_t size);

#endif
