/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The implementations of the standard library, for the table in lib/standard.c. Not for hosts.
 *
 * Operators are one function each that looks at its arguments' kinds, as in the reference, where
 * they are bound to what the left side can do (its traits). Conversions are one per overload.
 */
#ifndef API_CEL_LIB_STANDARD_H
#define API_CEL_LIB_STANDARD_H

#include "api/cel/library.h"

#define EK_CEL_STANDARD_FN(name)                                                                   \
    struct ek_cel_val name(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)

/* lib/standard_ops.c */
EK_CEL_STANDARD_FN(ek_cel_op_add);
EK_CEL_STANDARD_FN(ek_cel_op_subtract);
EK_CEL_STANDARD_FN(ek_cel_op_multiply);
EK_CEL_STANDARD_FN(ek_cel_op_divide);
EK_CEL_STANDARD_FN(ek_cel_op_modulo);
EK_CEL_STANDARD_FN(ek_cel_op_negate);

/*
 * The error for a left side that does not have an operator's trait: "no such overload: _+_", or
 * without a name when the left side is a receiver of functions (string, timestamp, duration), which
 * the reference consults instead.
 */
struct ek_cel_val ek_cel_no_trait(struct ek_cel_eval *eval, const char *function,
                                  const struct ek_cel_val *left);

/* lib/standard_text.c */
EK_CEL_STANDARD_FN(ek_cel_op_less);
EK_CEL_STANDARD_FN(ek_cel_op_less_equals);
EK_CEL_STANDARD_FN(ek_cel_op_greater);
EK_CEL_STANDARD_FN(ek_cel_op_greater_equals);
EK_CEL_STANDARD_FN(ek_cel_op_not);
EK_CEL_STANDARD_FN(ek_cel_op_in);
EK_CEL_STANDARD_FN(ek_cel_op_not_strictly_false);
EK_CEL_STANDARD_FN(ek_cel_op_equals);
EK_CEL_STANDARD_FN(ek_cel_op_not_equals);
EK_CEL_STANDARD_FN(ek_cel_op_none); /* of what the evaluator does itself */
EK_CEL_STANDARD_FN(ek_cel_fn_size);
EK_CEL_STANDARD_FN(ek_cel_fn_contains);
EK_CEL_STANDARD_FN(ek_cel_fn_starts_with);
EK_CEL_STANDARD_FN(ek_cel_fn_ends_with);
EK_CEL_STANDARD_FN(ek_cel_fn_matches);

/* lib/standard_convert.c */
EK_CEL_STANDARD_FN(ek_cel_fn_identity);
EK_CEL_STANDARD_FN(ek_cel_fn_type);
EK_CEL_STANDARD_FN(ek_cel_to_bool);
EK_CEL_STANDARD_FN(ek_cel_to_bytes);
EK_CEL_STANDARD_FN(ek_cel_to_double);
EK_CEL_STANDARD_FN(ek_cel_to_duration);
EK_CEL_STANDARD_FN(ek_cel_to_int);
EK_CEL_STANDARD_FN(ek_cel_to_string);
EK_CEL_STANDARD_FN(ek_cel_to_timestamp);
EK_CEL_STANDARD_FN(ek_cel_to_uint);

/* lib/standard_time.c: of a timestamp, with a time zone as second argument or in UTC */
EK_CEL_STANDARD_FN(ek_cel_get_full_year);
EK_CEL_STANDARD_FN(ek_cel_get_month);
EK_CEL_STANDARD_FN(ek_cel_get_day_of_year);
EK_CEL_STANDARD_FN(ek_cel_get_day_of_month);
EK_CEL_STANDARD_FN(ek_cel_get_date);
EK_CEL_STANDARD_FN(ek_cel_get_day_of_week);
EK_CEL_STANDARD_FN(ek_cel_get_hours);
EK_CEL_STANDARD_FN(ek_cel_get_minutes);
EK_CEL_STANDARD_FN(ek_cel_get_seconds);
EK_CEL_STANDARD_FN(ek_cel_get_milliseconds);
/* of a duration: all of it in that unit */
EK_CEL_STANDARD_FN(ek_cel_duration_hours);
EK_CEL_STANDARD_FN(ek_cel_duration_minutes);
EK_CEL_STANDARD_FN(ek_cel_duration_seconds);
EK_CEL_STANDARD_FN(ek_cel_duration_milliseconds);

#endif
