/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work that a walk over values from outside may do: walks count their steps, and every so many
 * of them it is looked up whether the time for all of it is over.
 *
 * A step is what takes about as long as looking at one value: a value visited, a name compared, 64
 * octets of a text. One work goes through all the walks of one request. Once it is over it stays
 * so; walks then end soon with a result that means nothing (EK_E_CANCELED, or false), and the
 * caller reads `over` then. NULL stands for work without a limit.
 *
 * Here are no clocks: is_over is the caller's. One thread at a time.
 */
#ifndef API_BASE_WORK_H
#define API_BASE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps between two looks: some ten microseconds. */
#define EK_WORK_STRIDE 2048

struct ek_work {
    bool (*is_over)(void *arg); /* NULL: never */
    void *arg;
    uint64_t steps; /* so far */
    uint64_t next;  /* steps at which is_over is called next; 0 at the start */
    bool over;
};

/* Calls is_over; false when it is over. */
bool ek_work_look__(struct ek_work *work);

/* Counts n steps; false when the work is over. */
static inline bool ek_work_do(struct ek_work *work, uint64_t n)
{
    if (!work)
        return true;
    work->steps += n;
    return work->steps < work->next ? !work->over : ek_work_look__(work);
}

/* The same for len octets. */
static inline bool ek_work_octets(struct ek_work *work, size_t len)
{
    return ek_work_do(work, 1 + len / 64);
}

static inline bool ek_work_is_over(const struct ek_work *work)
{
    return work && work->over;
}

#endif
