/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/share.h"

bool ek_http_share_allows(size_t mine, size_t taken, size_t max)
{
    return taken < max && mine < max - taken;
}
