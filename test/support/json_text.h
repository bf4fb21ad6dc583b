/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_JSON_TEXT_H
#define TEST_SUPPORT_JSON_TEXT_H

#include "api/obj.h"

/* The object as compact JSON, an owned string of *ret_len bytes (ret_len may be NULL); NULL without
 * memory. */
static inline char *test_json_text(const struct ek_obj *obj, size_t *ret_len)
{
    return yyjson_val_write_opts(ek_obj_root(obj), YYJSON_WRITE_NOFLAG, &ek_json_alc, ret_len,
                                 NULL);
}

#endif
