/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests each fault alone: the error of a client, the time between its attempts, and its recovery;
 * then the controller with the same fault. Threading: the main thread.
 */
#ifndef TEST_FAULT_SOAK_ROWS_H
#define TEST_FAULT_SOAK_ROWS_H

#include "test/fault/soak_world.h"

/* Runs all rows; returns how many failed, each printed on stdout. */
unsigned soak_rows(struct soak_world *world);

#endif
