/* SPDX-License-Identifier: Apache-2.0 */
/* What lists and watch frames have in common: one object, and its version. */
#ifndef INFORMERS_CACHE_DECODE_INTERNAL_H
#define INFORMERS_CACHE_DECODE_INTERNAL_H

#include "informers/cache/decode.h"

/* True when object names a kind, and it is not type's (or metadata alone, where that will do). */
bool ek_decode_is_other_kind__(yyjson_val *object, const struct ek_decode_type *type);

/* Returns one reference to a slimmed copy of value, or NULL with err (not NULL) set: EK_E_PARSE
 * without a name, EK_E_NOMEM. */
struct ek_obj *ek_decode_item__(yyjson_val *value, const struct ek_decode_type *type,
                                struct ek_err *err);

/* Returns 0, or EK_E_LIMIT for a resourceVersion that is too long. */
int ek_decode_check_version__(const char *version, const struct ek_decode_type *type,
                              struct ek_err *err);

#endif
