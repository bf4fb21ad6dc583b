/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random identifiers: version 4 UUIDs (RFC 9562, section 5.4) for reconcile ids and for the
 * identity of a replica. Any thread.
 */
#ifndef CONTROLLER_MANAGER_UUID_H
#define CONTROLLER_MANAGER_UUID_H

#include <stdint.h>

#define EK_UUID_SIZE 37 /* text with NUL */

/* Writes a new UUID, lower case; returns buf. Aborts when the kernel gives no random bytes. */
const char *ek_uuid_make(char buf[EK_UUID_SIZE]);

/* 64 random bits, for seeds. */
uint64_t ek_uuid_seed(void);

#endif
