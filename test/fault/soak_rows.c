/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/soak_rows.h"

unsigned soak_rows(struct soak_world *world)
{
    (void)world;
    return 0;
}
