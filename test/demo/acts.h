/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acts of the demo: a table of what happens to the cluster and what Evenkeel must say then.
 *
 * An act is over when the status holds everything that it expects, read through the API; one that
 * does not get there in time fails the demo. So a demo that ends well is a proof of the whole
 * program at work. Not thread safe.
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
