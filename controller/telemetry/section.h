/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a debug answer (controller/debug/debug.h): what a subject's debug function fills its
 * section with. Every function adds a member to an object of a document that is written at once.
 * Nothing secret belongs in it. Threading: the loop thread.
 */
#ifndef CONTROLLER_TELEMETRY_SECTION_H
#define CONTROLLER_TELEMETRY_SECTION_H

#include <yyjson.h>

#include "api/base/err.h"
#include "api/base/time.h"

/* One moment by the three clocks that times are kept by, in milliseconds. */
struct ek_debug_now {
    int64_t wall_ms; /* since the epoch */
    int64_t mono_ms; /* CLOCK_MONOTONIC, which is also uv_now's and the runner's */
    int64_t boot_ms; /* CLOCK_BOOTTIME: the election's */
};

/* An object under construction and the moment it speaks of. */
struct ek_debug_doc {
    yyjson_mut_doc *doc;
    yyjson_mut_val *at;
    struct ek_debug_now now;
};

/* The same document, further down: a new object under name (or at the end of a list). */
struct ek_debug_doc ek_debug_object(const struct ek_debug_doc *d, const char *name);
struct ek_debug_doc ek_debug_item(const struct ek_debug_doc *d, yyjson_mut_val *list);

/* Members. text is foreign: what is not UTF-8 becomes escapes; "" is left out by put_some. */
void ek_debug_put(const struct ek_debug_doc *d, const char *name, const char *text);
void ek_debug_put_some(const struct ek_debug_doc *d, const char *name, const char *text);
void ek_debug_put_count(const struct ek_debug_doc *d, const char *name, unsigned long long n);
void ek_debug_put_bool(const struct ek_debug_doc *d, const char *name, bool value);

/* Appends text to list, an array of the document; text that is not UTF-8 is left out. */
void ek_debug_put_item(const struct ek_debug_doc *d, yyjson_mut_val *list, const char *text);

/* Times by the clock that the suffix names; EK_TIME_UNSET is left out. */
void ek_debug_put_wall(const struct ek_debug_doc *d, const char *name, int64_t ms);
void ek_debug_put_mono(const struct ek_debug_doc *d, const char *name, int64_t ms);
void ek_debug_put_boot(const struct ek_debug_doc *d, const char *name, int64_t ms);

/* reason and message of a failure: EK_E_* and a text. */
void ek_debug_put_reason(const struct ek_debug_doc *d, int code, const char *message);

/* The error as {reason, message, httpStatus}; code 0 is left out. */
void ek_debug_put_error(const struct ek_debug_doc *d, const char *name, const struct ek_err *err);

#endif
