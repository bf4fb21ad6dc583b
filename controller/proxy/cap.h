/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cap of octets in time, as a decision without a clock: octets that have moved are counted, and
 * more may move while those of the last tenth of a second are within the rate. Whoever moves a
 * piece may exceed the cap by that piece, and the next one waits for it.
 *
 * Times are monotonic milliseconds. Threading: none; one thread at a time.
 */
#ifndef CONTROLLER_PROXY_CAP_H
#define CONTROLLER_PROXY_CAP_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed at first, but for rate. */
struct ek_cap {
    int64_t rate;  /* octets a second; 0: no cap */
    int64_t level; /* thousandths of octets that the time has not paid for, at at_ms */
    int64_t at_ms;
};

/* n octets have moved. */
void ek_cap_count(struct ek_cap *cap, size_t n, int64_t now_ms);

/* How long the next octet must wait, in milliseconds; 0: not at all. */
int64_t ek_cap_wait(const struct ek_cap *cap, int64_t now_ms);

#endif
