/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAMES_SHOWN 3

void ek_notes_init(struct ek_notes *notes, struct ek_arena *arena)
{
    *notes = (struct ek_notes){.arena = arena};
}

/* The length of s[0..len) without a UTF-8 sequence that was cut at its end. */
static size_t whole_characters(const char *s, size_t len)
{
    while (len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80)
        len--;
    return len;
}

const char *ek_notes_cut(struct ek_arena *arena, const char *s, size_t max)
{
    return strnlen(s, max + 1) <= max ? s : ek_arena_strndup(arena, s, whole_characters(s, max));
}

void ek_notes_add(struct ek_notes *notes, const char *fmt, ...)
{
    char text[1100];
    va_list args;

    if (notes->n == EK_NOTES_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text[whole_characters(text, strnlen(text, 1024))] = '\0';
    if (notes->n == EK_NOTES_MAX - 1)
        snprintf(text, sizeof text, "further notes were left out");
    for (size_t i = 0; i < notes->n; i++)
        if (!strcmp(notes->items[i], text))
            return;
    if (!notes->items)
        notes->items = ek_arena_alloc(notes->arena, EK_NOTES_MAX * sizeof *notes->items);
    notes->items[notes->n++] = ek_arena_strdup(notes->arena, text);
}

const char *ek_notes_names(struct ek_arena *arena, const char *const *names, size_t n)
{
    size_t shown = n < NAMES_SHOWN ? n : NAMES_SHOWN;
    const char *text = "";

    for (size_t i = 0; i < shown; i++) {
        const char *gap = i == 0 ? "" : i == n - 1 ? " and " : ", ";
        text = ek_arena_printf(arena, "%s%s%s", text, gap, ek_notes_cut(arena, names[i], 64));
    }
    return n > shown ? ek_arena_printf(arena, "%s and %zu more", text, n - shown) : text;
}
