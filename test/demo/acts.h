/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acts of the demo: a table of changes of the cluster and of the status that Evenkeel must
 * report after each.
 *
 * An act ends when the status, read through the API, has all expected values. An act that does not
 * end in time fails the demo. Not thread safe.
 */
#ifndef TEST_DEMO_ACTS_H
#define TEST_DEMO_ACTS_H

#include "test/demo/replicas.h"
#include "test/demo/screen.h"
#include "test/demo/stage.h"

struct ek_show {
    struct ek_stage *stage;
    struct ek_replicas replicas;
    struct ek_screen screen;
    int64_t pause_ms;    /* for the reader, after each act */
    int64_t deadline_ms; /* for each act */
    int failed;          /* an EK_E code that ends every wait, set from the loop */
};

/* The time that the screen shows, in milliseconds. */
int64_t ek_show_now(void);

/* Plays all acts. Returns 0; EK_E_CANCELED after a signal; or the error, which has been printed
 * on the screen. */
int ek_show_play(struct ek_show *show);

#endif
