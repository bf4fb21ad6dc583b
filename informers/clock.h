/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of the machine, for code that may read one: informers/ and controller/. Decisions
 * (api/ and reconcilers/) get an instant as an argument. Never fails; any thread.
 */
#ifndef INFORMERS_CLOCK_H
#define INFORMERS_CLOCK_H

#include <stdint.h>

int64_t ek_wall_ns(void); /* nanoseconds since the Unix epoch */
int64_t ek_wall_ms(void); /* milliseconds since the Unix epoch */

/* Milliseconds since an unspecified moment. ek_monotonic_ms leaves out the time in which the
 * machine was suspended; ek_boot_ms includes it. */
int64_t ek_monotonic_ms(void);
int64_t ek_boot_ms(void);

#endif
