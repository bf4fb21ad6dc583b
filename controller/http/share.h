/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many of few places one client may have: as many as it leaves free. One client alone has half
 * of the places, rounded up, and the next one half of the others (the dynamic threshold of
 * A. K. Choudhury and E. L. Hahne, IEEE/ACM Transactions on Networking 6 (1998), with the factor
 * 1): a client that has none finds a place, whatever one other client does.
 */
#ifndef CONTROLLER_HTTP_SHARE_H
#define CONTROLLER_HTTP_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a client that has mine of the places that are taken (taken of max, mine included) may
 * take one more. Pure; any thread. */
bool ek_http_share_allows(size_t mine, size_t taken, size_t max);

#endif
