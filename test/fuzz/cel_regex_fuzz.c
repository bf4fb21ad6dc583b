/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions: a pattern is refused with a reason, or compiles and finds places that are in
 * the text, in order, and between characters. The pattern is the first line, the text the rest.
 */
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/cel/regex/regex.h"
#include "api/cel/regex/syntax.h"
#include "test/fuzz/fuzz.h"

/* What a pattern's programs may take here: a large one only costs time. */
#define BUDGET ((size_t)256 * 1024)

#define PATTERN_MAX 200

static bool is_utf8(const char *s, size_t len)
{
    unsigned rune;
    size_t size;

    for (size_t at = 0; at < len; at += size) {
        size = ek_utf8_decode((struct ek_str){s + at, len - at}, &rune);
        if (size == 0)
            return false;
    }
    return true;
}

static bool inside_character(const char *text, size_t len, size_t at)
{
    return at < len && ((unsigned char)text[at] & 0xc0) == 0x80;
}

static void search(const struct ek_cel_regex *regex, const char *text, size_t len)
{
    size_t from = 0, start, end, found = 0;

    while (from <= len && ek_cel_regex_find(regex, text, len, from, &start, &end)) {
        fuzz_require(from <= start && start <= end && end <= len);
        fuzz_require(!inside_character(text, len, start) && !inside_character(text, len, end));
        from = end > from ? end : end + 1;
        while (inside_character(text, len, from))
            from++;
        found++;
    }
    fuzz_require(ek_cel_regex_matches(regex, text, len) == (found > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *pattern = (const char *)data;
    const char *newline = size ? memchr(pattern, '\n', size) : NULL;
    size_t len = newline ? (size_t)(newline - pattern) : size, budget = BUDGET;
    struct ek_err err = {0};

    if (len > PATTERN_MAX || !is_utf8(pattern, size))
        return 0;
    /* Copies of just their sizes let the sanitizer see reading beyond them. */
    EK_AUTOFREE char *copy = ek_xalloc(len + !len);
    size_t text_len = newline ? size - len - 1 : 0;
    EK_AUTOFREE char *text = ek_xalloc(text_len + !text_len);

    if (len)
        memcpy(copy, pattern, len);
    if (text_len)
        memcpy(text, newline + 1, text_len);
    struct ek_cel_regex *regex = ek_cel_regex_new_within(copy, len, &budget, &err);
    if (regex)
        search(regex, text, text_len);
    else
        fuzz_require(strncmp(err.message, "error parsing regexp: ", 22) == 0);
    ek_cel_regex_free(regex);
    return 0;
}
