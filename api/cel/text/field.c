/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/text/field.h"

#include <ctype.h>

#include "api/base/mem.h"

/* What one character of a name becomes at most. */
#define LONGEST (sizeof "__underscores__" - 1)

static bool is_reserved(struct ek_str name)
{
    static const char *const words[] = {
        "true",     "false",   "null",      "in",       "as",  "break",  "const",
        "continue", "else",    "for",       "function", "if",  "import", "let",
        "loop",     "package", "namespace", "return",   "var", "void",   "while"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++)
        if (ek_str_eq(ek_str_from(words[i]), name))
            return true;
    return false;
}

/* Appends the character at *at, and steps over a second underscore; false for a character that no
 * name in an expression has. */
static bool escape_one(struct ek_buf *out, struct ek_str name, size_t *at)
{
    char c = name.p[*at];

    if (c == '_' && *at + 1 < name.len && name.p[*at + 1] == '_') {
        ek_buf_puts(out, "__underscores__");
        (*at)++;
    } else if (c == '.' || c == '-' || c == '/') {
        ek_buf_puts(out, c == '.' ? "__dot__" : c == '-' ? "__dash__" : "__slash__");
    } else if (isalnum((unsigned char)c) || c == '_') {
        ek_buf_append(out, &c, 1);
    } else {
        return false;
    }
    return true;
}

const char *ek_cel_escaped_name(struct ek_str name, struct ek_arena *arena)
{
    EK_AUTO(ek_buf) out = {0};

    if (!name.len || isdigit((unsigned char)*name.p))
        return NULL;
    if (is_reserved(name))
        return ek_arena_printf(arena, "__%.*s__", (int)name.len, name.p);
    ek_buf_init(&out, name.len * LONGEST);
    for (size_t i = 0; i < name.len; i++)
        if (!escape_one(&out, name, &i))
            return NULL;
    return out.failed ? NULL : ek_arena_strndup(arena, ek_buf_str(&out), out.len);
}
