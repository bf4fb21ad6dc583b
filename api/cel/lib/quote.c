/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/quote.h"

#include "api/cel/lib/strings.h"

void ek_cel_text_quote(struct ek_cel_text *text, const char *s, size_t len)
{
    char escape[EK_QUOTE_ESCAPE_SIZE];
    size_t from = 0, taken;

    ek_cel_text_add(text, "\"", 1);
    for (size_t at = 0; at < len && !text->failed; at += taken) {
        size_t n = ek_quote_escape((struct ek_str){s + at, len - at}, escape, &taken);
        if (!n)
            continue;
        ek_cel_text_add(text, s + from, at - from);
        ek_cel_text_add(text, escape, n);
        from = at + taken;
    }
    ek_cel_text_add(text, s + from, len - from);
    ek_cel_text_add(text, "\"", 1);
}

void ek_cel_text_lossy(struct ek_cel_text *text, const char *s, size_t len)
{
    size_t from = 0, size;
    unsigned rune;

    for (size_t at = 0; at < len && !text->failed; at += size) {
        size = ek_utf8_decode((struct ek_str){s + at, len - at}, &rune);
        if (size)
            continue;
        size = 1;
        ek_cel_text_add(text, s + from, at - from);
        ek_cel_text_add(text, "\xef\xbf\xbd", 3);
        from = at + 1;
    }
    ek_cel_text_add(text, s + from, len - from);
}
