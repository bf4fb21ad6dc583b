/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about words: strings that end with NUL. */
#ifndef API_BASE_WORDS_H
#define API_BASE_WORDS_H

#include <stdbool.h>
#include <string.h>

/* True unless s is NULL or "". */
static inline bool ek_is_given(const char *s)
{
    return s && *s;
}

/* True when list, which ends with NULL, has s. */
static inline bool ek_is_one_of(const char *s, const char *const *list)
{
    while (*list && strcmp(s, *list) != 0)
        list++;
    return *list != NULL;
}

static inline bool ek_ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

#endif
