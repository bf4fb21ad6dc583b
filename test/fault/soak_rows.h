/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each fault by itself: what a client that meets it says, how long it waits between its tries, and
 * that it recovers; then the controller under the same fault. Threading: the main thread.
 */
#ifndef TEST_FAULT_SOAK_ROWS_H
#define TEST_FAULT_SOAK_ROWS_H

#include "test/fault/soak_world.h"

/* Runs all rows; returns how many failed, each printed on stdout. */
unsigned soak_rows(struct soak_world *world);

#endif
