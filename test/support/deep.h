/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of walks over values of all the depth that JSON may have: the stack that the program's
 * threads have, and such JSON. */
#ifndef TEST_SUPPORT_DEEP_H
#define TEST_SUPPORT_DEEP_H

#include <check.h>
#include <string.h>

#include "api/base/stack.h"
#include "api/obj.h"

/* Runs body(NULL), which returns 0, on such a stack. For tests that Check runs in a process of
 * their own. */
#define EK_DEEP(body)                                                                              \
    do {                                                                                           \
        int code_ = 1;                                                                             \
        ck_assert_int_eq(ek_stack_run(body, NULL, &code_), 0);                                     \
        ck_assert_int_eq(code_, 0);                                                                \
    } while (0)

/* Returns leaf (NULL for "1"), levels objects (or, where list is true, lists) around it, in a
 * string that the caller frees with ek_free. */
static inline char *ek_deep_json(size_t levels, bool list, const char *leaf)
{
    const char *open = list ? "[" : "{\"a\":";
    size_t size = strlen(open), len = strlen(leaf ? leaf : "1");
    char *json = ek_xalloc(levels * (size + 1) + len + 1), *at = json;

    for (size_t i = 0; i < levels; i++, at += size)
        memcpy(at, open, size);
    memcpy(at, leaf ? leaf : "1", len);
    memset(at + len, list ? ']' : '}', levels);
    return json;
}

#endif
