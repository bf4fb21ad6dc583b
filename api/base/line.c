/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/line.h"

#include <stdbool.h>
#include <string.h>

#include "api/base/quote.h"

void ek_line_clean(char *text)
{
    size_t len = text ? strlen(text) : 0;

    for (size_t i = 0; i < len;) {
        unsigned rune;
        size_t n = ek_utf8_decode((struct ek_str){text + i, len - i}, &rune);
        if (!n || rune < 0x20 || rune == 0x7f)
            text[i] = '?';
        i += n ? n : 1;
    }
}

void ek_line_copy(const char *text, size_t len, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n + 1 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool blank = c <= 0x20 || c == 0x7f;
        if (!blank)
            out[n++] = (char)c;
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    ek_line_clean(out);
}
