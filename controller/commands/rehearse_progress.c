/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rehearsal is, on one line of a terminal. */
#include <stdio.h>

#include "api/base/time.h"
#include "controller/commands/rehearse-internal.h"

#define REDRAW_MS 200

/* Time left of the whole: the steps are alike, so that their share of the time is their share of
 * the steps; 0 where nothing is known. */
static int64_t time_left(const struct ek_rehearse_progress *p)
{
    double part = p->total ? (double)p->done / (double)p->total : 0;
    double share = p->n_steps ? ((double)p->step + (part > 1 ? 1 : part)) / (double)p->n_steps : 0;

    return share > 0.05 ? (int64_t)((double)p->elapsed_ms * (1 - share) / share) : 0;
}

const char *ek_rehearse_progress_text(const struct ek_rehearse_progress *progress, char *buf,
                                      size_t size)
{
    char left[EK_TIME_SIZE], counts[80] = "", times[EK_TIME_SIZE + 16] = "";
    int64_t left_ms = time_left(progress);

    if (progress->total)
        snprintf(counts, sizeof counts, ", %zu of %zu objects", progress->done, progress->total);
    else if (progress->done)
        snprintf(counts, sizeof counts, ", %zu objects", progress->done);
    if (left_ms)
        snprintf(times, sizeof times, ", about %s left", ek_duration_human(left_ms, left));
    if (progress->n_steps)
        snprintf(buf, size, "step %zu of %zu: %s%s%s", progress->step + 1, progress->n_steps,
                 progress->what, counts, times);
    else
        snprintf(buf, size, "%s%s", progress->what, counts);
    return buf;
}

void ek_rehearse_show(void *ctx, const struct ek_rehearse_progress *progress)
{
    struct ek_rehearse_line *line = ctx;
    char text[200];

    if (!line->terminal || (progress->done && progress->elapsed_ms - line->drawn_ms < REDRAW_MS))
        return;
    line->drawn_ms = progress->elapsed_ms;
    line->shown = true;
    fprintf(stderr, "\r%s\033[K", ek_rehearse_progress_text(progress, text, sizeof text));
    fflush(stderr);
}

void ek_rehearse_show_end(struct ek_rehearse_line *line)
{
    if (line->shown)
        fputs("\r\033[K", stderr);
}
