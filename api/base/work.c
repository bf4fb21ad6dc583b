/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/work.h"

bool ek_work_look__(struct ek_work *work)
{
    work->next = work->steps + EK_WORK_STRIDE;
    if (!work->over && work->is_over && work->is_over(work->arg))
        work->over = true;
    return !work->over;
}
