/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash for texts that clients choose: SipHash-1-3 (Aumasson, Bernstein 2012) under a key that the
 * process draws at its start, so that no client can choose texts with equal hashes. Pure but for
 * the key; any thread.
 */
#ifndef API_BASE_HASH_H
#define API_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of len octets. Differs from process to process: not to be stored or shown. */
uint64_t ek_hash(const void *data, size_t len);

#endif
