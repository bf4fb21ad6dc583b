/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "reconcilers/fieldgates/decide-internal.h"

/* Writes s into at most max octets (max < size), with "..." for its middle when it is longer. */
static void cut(const char *s, size_t max, char *out, size_t size)
{
    size_t len = strlen(s);

    if (len <= max) {
        snprintf(out, size, "%s", s);
        return;
    }
    size_t head = ek_utf8_cut((struct ek_str){s, len}, (max - 3) / 2);
    size_t tail = len - (max - 3 - head);
    while (((unsigned char)s[tail] & 0xc0) == 0x80)
        tail++;
    snprintf(out, size, "%.*s...%s", (int)head, s, s + tail);
}

/* The text around a path and a gate, in three parts; no gate without the third. */
struct frame {
    const char *before, *between, *after;
};

static const char *framed(const struct ek_gates_walk__ *w, const struct frame *f,
                          const struct ek_gates_note__ *note)
{
    char path[EK_GATES_WARNING_TEXT_MAX + 1], gate[EK_GATES_WARNING_TEXT_MAX + 1] = "";
    size_t room = EK_GATES_WARNING_TEXT_MAX - strlen(f->before) - strlen(f->between);

    if (f->after) {
        room -= strlen(f->after);
        size_t whole = strlen(note->path->text) + strlen(note->gate->name);
        cut(note->gate->name, whole > room ? room / 2 : room, gate, sizeof gate);
        room -= strlen(gate);
    }
    cut(note->path->text, room, path, sizeof path);
    return ek_arena_printf(w->arena, "%s%s%s%s%s", f->before, path, f->between, gate,
                           f->after ? f->after : "");
}

static const char *warning_of(const struct ek_gates_walk__ *w, const struct ek_gates_note__ *note)
{
    static const struct frame frames[] = {
        [EK_GATES_DROPPED__] = {"field ", " was dropped: feature gate ", " is off"},
        [EK_GATES_UNCHANGED__] = {"field ", " was not changed: feature gate ", " is off"},
        [EK_GATES_KEPT__] = {"field ", " was not removed: feature gate ", " is off"},
        [EK_GATES_UNMATCHED__] = {"field ", " cannot be kept in changed items: feature gate ",
                                  " is off"},
        [EK_GATES_LOST__] = {"field ", " was removed with its parent, although feature gate ",
                             " is off"},
        [EK_GATES_USED__] = {"field ", " is deprecated", NULL},
    };

    if (note->kind == EK_GATES_USED__ && note->gate->warning)
        return note->gate->warning;
    return framed(w, &frames[note->kind], note);
}

static bool is_among(const char *text, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(texts[i], text))
            return true;
    return false;
}

const char *const *ek_gates_warnings__(const struct ek_gates_walk__ *w, size_t *ret_n)
{
    const char **texts = ek_arena_alloc(w->arena, (EK_GATES_WARNINGS_MAX + 1) * sizeof *texts);
    size_t n = 0, size = 0, more = 0;

    for (size_t i = 0; i < w->n_notes; i++) {
        if (w->notes[i].silent)
            continue;
        const char *text = warning_of(w, &w->notes[i]);
        size_t len = strlen(text);
        if (is_among(text, texts, n))
            continue;
        if (more || n == EK_GATES_WARNINGS_MAX || size + len > EK_GATES_WARNINGS_SIZE) {
            more++;
            continue;
        }
        texts[n++] = text;
        size += len;
    }
    if (more)
        texts[n++] = ek_arena_printf(w->arena, "and %zu more field%s gated or deprecated", more,
                                     more == 1 ? " is" : "s are");
    *ret_n = n;
    return texts;
}

const char *ek_gates_denial__(const struct ek_gates_walk__ *w)
{
    static const struct frame frames[] = {
        [EK_GATES_DROPPED__] = {"field ", " cannot be set: feature gate ", " is off"},
        [EK_GATES_UNCHANGED__] = {"field ", " cannot be changed: feature gate ", " is off"},
        [EK_GATES_KEPT__] = {"field ", " cannot be removed: feature gate ", " is off"},
        [EK_GATES_UNMATCHED__] = {"field ", " cannot be kept in changed items: feature gate ",
                                  " is off"},
    };
    const char *message = NULL;
    size_t named = 0, more = 0;

    for (size_t i = 0; i < w->n_notes; i++) {
        const struct ek_gates_note__ *note = &w->notes[i];
        if (!ek_gates_is_suppressed__(note))
            continue;
        if (named == EK_GATES_DENIED_MAX) {
            more++;
            continue;
        }
        const char *text = framed(w, &frames[note->kind], note);
        message = named++ ? ek_arena_printf(w->arena, "%s; %s", message, text) : text;
    }
    if (more)
        message = ek_arena_printf(w->arena, "%s; and %zu more", message, more);
    return w->unmatched ? ek_arena_printf(w->arena,
                                          "%s; change, move, add and remove items of the list in "
                                          "separate requests",
                                          message)
                        : message;
}
