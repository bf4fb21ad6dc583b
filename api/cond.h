/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions, as metav1.Condition: the array in an object's status that says how it is doing.
 *
 * A reconciler says what is true now (struct ek_cond); ek_conds_merge joins that with the array
 * that the object holds, so that lastTransitionTime moves only when a status flips and an
 * unchanged world gives an equal array, whatever the clock says
 * (apimachinery/pkg/api/meta/conditions.go: SetStatusCondition). The whole array is the caller's
 * intent: a condition that the caller leaves out is dropped.
 *
 * Pure: now is an argument. Any thread.
 */
#ifndef API_COND_H
#define API_COND_H

#include <stdint.h>
#include <yyjson.h>

#include "api/base/err.h"

enum ek_cond_status {
    EK_COND_UNKNOWN, /* also what an absent condition means */
    EK_COND_FALSE,
    EK_COND_TRUE,
    EK_COND_STATUS_MAX,
};

/* Limits of metav1.Condition, in bytes; a longer message is cut after a whole character. */
#define EK_COND_TYPE_MAX    316
#define EK_COND_REASON_MAX  1024
#define EK_COND_MESSAGE_MAX 32768

/* One condition to be published; strings are copied into the document. */
struct ek_cond {
    const char *type; /* CamelCase, or domain/CamelCase; once per array */
    enum ek_cond_status status;
    const char *reason;  /* CamelCase, for programs */
    const char *message; /* for people; NULL means "" */
};

/* "True", "False" or "Unknown". */
const char *ek_cond_status_name(enum ek_cond_status status);

/*
 * Checks type, status and reason of a condition by metav1's patterns and sizes. Returns 0 or
 * EK_E_INVAL. A message is never wrong: merging cuts it.
 */
int ek_cond_check(const struct ek_cond *cond, struct ek_err *err);

/*
 * Returns a new array of doc with the n conditions in their order. Each has
 * observedGeneration (generation; left out when 0 or below), and as lastTransitionTime the one
 * that old_conditions (NULL: none) holds for its type if the status is the same, else now_ms
 * (milliseconds since the epoch). Old entries that are malformed count as absent.
 *
 * Returns NULL when a condition fails ek_cond_check, when two have one type (both are
 * errors in the program, not of any input), and without memory.
 */
yyjson_mut_val *ek_conds_merge(yyjson_mut_doc *doc, yyjson_val *old_conditions,
                               const struct ek_cond *want, size_t n, int64_t generation,
                               int64_t now_ms);

/* The first condition of that type in an array of conditions (may be NULL), lent; NULL when there
 * is none. */
yyjson_val *ek_cond_find(yyjson_val *conditions, const char *type);

/* The status of the condition of that type; Unknown when it is absent or malformed. */
enum ek_cond_status ek_cond_status(yyjson_val *conditions, const char *type);

#endif
