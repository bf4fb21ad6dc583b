/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities such as "1.5Gi" and "250m", exact, as apimachinery's resource.Quantity reads, adds,
 * compares and writes them.
 *
 * A quantity is small (an int64 times a power of ten) or big (a decimal of any size). Which one it
 * is can be seen from outside: only a small one is an integer. Sums are made where the reference
 * makes them: adding to a big quantity changes it and all that share its number, and comparing a
 * small one with a big one makes it big. An expression that holds on to a quantity sees that, so
 * add and compare take their left side as something that may change.
 *
 * Pure but for the evaluation's arena; one thread per evaluation. Not for hosts. Source:
 * Kubernetes 1.36, apimachinery/pkg/api/resource and apiserver/pkg/cel/library/quantity.go.
 */
#ifndef API_CEL_VALUES_QUANTITY_H
#define API_CEL_VALUES_QUANTITY_H

#include "api/cel/values/decimal.h"

enum ek_cel_quantity_suffix {
    EK_CEL_QUANTITY_DECIMAL,  /* n u m k M G T P E */
    EK_CEL_QUANTITY_EXPONENT, /* e3 */
    EK_CEL_QUANTITY_BINARY,   /* Ki Mi Gi Ti Pi Ei */
};

struct ek_cel_quantity {
    enum ek_cel_quantity_suffix suffix; /* what its text is to have */
    int32_t scale;                      /* of a small one: value * 10^scale */
    int64_t value;
    struct ek_cel_decimal *number; /* of a big one, shared with what was made of it; else NULL */
    struct ek_str text;            /* as it was written, where that is how it is printed */
};

/* NULL when text is a quantity, else why not, in the reference's words (static). */
const char *ek_cel_quantity_check(struct ek_str text);

/* Reads text, which the quantity borrows, into *ret. Returns 0, EK_E_PARSE (*ret_why says why) or
 * EK_E_NOMEM. */
int ek_cel_quantity_parse(struct ek_cel_eval *eval, struct ek_str text, struct ek_cel_quantity *ret,
                          const char **ret_why);

/* The quantity that an int is in add and sub. */
struct ek_cel_quantity ek_cel_quantity_of_int(int64_t value);

/* *ret is a + b; a as said above. False without memory. */
bool ek_cel_quantity_add(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                         const struct ek_cel_quantity *b, struct ek_cel_quantity *ret);
bool ek_cel_quantity_sub(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                         const struct ek_cel_quantity *b, struct ek_cel_quantity *ret);

/* Makes a big when it is to be compared with a big one. False without memory. */
bool ek_cel_quantity_meet(struct ek_cel_eval *eval, struct ek_cel_quantity *a,
                          const struct ek_cel_quantity *b);

/* -1, 0 or 1. */
int ek_cel_quantity_compare(const struct ek_cel_quantity *a, const struct ek_cel_quantity *b);
int ek_cel_quantity_sign(const struct ek_cel_quantity *q);

/* True, with *ret filled, for small ones without a fraction that fit. "1.5Gi" is not one. */
bool ek_cel_quantity_int(const struct ek_cel_quantity *q, int64_t *ret);

/* About the same number. False without memory. */
bool ek_cel_quantity_double(struct ek_cel_eval *eval, const struct ek_cel_quantity *q, double *ret);

/* Appends the canonical text, "1536Mi". Returns 0 or the buffer's error. */
int ek_cel_quantity_format(const struct ek_cel_quantity *q, struct ek_buf *out);

/* For programs that embed the engine: appends the canonical form of the quantity in text. Returns
 * 0, EK_E_PARSE (the reason is in *ret_why), or the error if arena or out has no memory. */
int ek_cel_quantity_canonical(struct ek_str text, struct ek_arena *arena, struct ek_buf *out,
                              const char **ret_why);

#endif
