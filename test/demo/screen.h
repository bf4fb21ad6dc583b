/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the demo prints: acts, and a ControlPlane as kubectl shows it.
 *
 * A status becomes one line in the columns of `kubectl get ekcp` and beneath it the conditions that
 * are not what they were, with reason and message. A status that shows nothing new prints nothing.
 * Texts come from the status alone; nothing is worked out here. Not thread safe.
 */
#ifndef TEST_DEMO_SCREEN_H
#define TEST_DEMO_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/obj.h"

#define EK_SCREEN_ROW 256

struct ek_screen {
    FILE *out;
    bool color;
    size_t width;     /* columns */
    int64_t began_ms; /* of now_ms */
    char row[EK_SCREEN_ROW];
    struct ek_obj *shown; /* the last one, owned */
};

/* Makes a screen on out; its width is the terminal's, 100 where there is none. */
void ek_screen_init(struct ek_screen *screen, FILE *out, bool color, int64_t now_ms);
void ek_screen_done(struct ek_screen *screen);

/* Announces act n: a title, a text beneath it, and the header of the columns. */
void ek_screen_act(struct ek_screen *screen, size_t n, const char *title, const char *text,
                   int64_t now_ms);

/* Shows what has changed since the last time. */
void ek_screen_status(struct ek_screen *screen, const struct ek_obj *control_plane);

/* Shows all conditions in a line each. */
void ek_screen_summary(struct ek_screen *screen, const struct ek_obj *control_plane);

enum ek_screen_tone { EK_SCREEN_NOTE, EK_SCREEN_FAILURE };

/* A line on what happens. */
void ek_screen_say(struct ek_screen *screen, enum ek_screen_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
