/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field errors: the errors of the fields of an object, with the texts of apimachinery
 * (pkg/util/validation/field), which users know from kubectl.
 *
 *     struct ek_field_errors errors = {.arena = arena};
 *     ek_field_required(&errors, "spec.policyName", "");
 *     ek_field_errors_join(&errors, &out);
 *
 * Paths are printf formats, so that an index is written where it belongs. Everything lives in the
 * arena. Not thread safe.
 */
#ifndef API_FIELDERR_H
#define API_FIELDERR_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/arena.h"
#include "api/base/buf.h"

#define EK_FIELD_ERRORS_MAX 1000 /* more are dropped */

struct ek_field_errors {
    struct ek_arena *arena; /* borrowed */
    const char **texts;     /* "spec.a: Required value" */
    size_t n, cap;
};

/* "path: Required value[: detail]"; detail "" for none. */
void ek_field_required(struct ek_field_errors *errors, const char *detail, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* "path: Invalid value: <value>: detail". value is quoted by the caller: see ek_field_quote. */
void ek_field_invalid(struct ek_field_errors *errors, const char *value, const char *detail,
                      const char *path, ...) __attribute__((format(printf, 4, 5)));

/* "path: Unsupported value: "x": supported values: "a", "b""; supported ends with NULL. */
void ek_field_unsupported(struct ek_field_errors *errors, const char *value,
                          const char *const *supported, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

/* "path: Duplicate value: "x"". */
void ek_field_duplicate(struct ek_field_errors *errors, const char *value, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* "path: Forbidden: detail". */
void ek_field_forbidden(struct ek_field_errors *errors, const char *detail, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* "path: Too many: n: must have at most max items". */
void ek_field_too_many(struct ek_field_errors *errors, size_t n, size_t max, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

/* "path: Internal error: detail". */
void ek_field_internal(struct ek_field_errors *errors, const char *detail, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* "path: text", for texts that the functions above do not make. Both are copied. */
void ek_field_error(struct ek_field_errors *errors, const char *path, const char *text);

/* True when further errors are dropped: the list has EK_FIELD_ERRORS_MAX errors, or has an error
 * and the arena is exhausted. A validation can then end early. */
bool ek_field_errors_full(const struct ek_field_errors *errors);

/* s as Go's %q, in the arena; "" when the list is full. */
const char *ek_field_quote(struct ek_field_errors *errors, const char *s);

/* Appends all errors to out as apimachinery aggregates errors: a single error as its text, several
 * as "[a, b]", each text once. Returns 0, or the error of out. */
int ek_field_errors_join(const struct ek_field_errors *errors, struct ek_buf *out);

#endif
