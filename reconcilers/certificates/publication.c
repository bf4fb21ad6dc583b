/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/certificates/publication.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"

void ek_publication_init(struct ek_publication *publication)
{
    *publication = (struct ek_publication){.since_ms = EK_TIME_UNSET};
}

void ek_publication_done(struct ek_publication *publication)
{
    ek_free(publication->reported);
    ek_publication_init(publication);
}

static bool all_have_reported(const struct ek_publication *publication)
{
    for (size_t i = 0; i < publication->n; i++)
        if (!publication->reported[i])
            return false;
    return true;
}

/* Updates since_ms from the reports. */
static bool settle(struct ek_publication *publication, int64_t now_ms)
{
    bool before = publication->since_ms != EK_TIME_UNSET, now = all_have_reported(publication);

    if (before != now)
        publication->since_ms = now ? now_ms : EK_TIME_UNSET;
    return before != now;
}

size_t ek_publication_expect(struct ek_publication *publication)
{
    struct ek_publication *p = publication;

    p->reported = ek_xrealloc(p->reported, p->n + 1, sizeof *p->reported);
    p->reported[p->n] = false;
    p->since_ms = EK_TIME_UNSET;
    return p->n++;
}

void ek_publication_renew(struct ek_publication *publication)
{
    if (publication->n)
        memset(publication->reported, 0, publication->n * sizeof *publication->reported);
    publication->since_ms = EK_TIME_UNSET;
}

bool ek_publication_report(struct ek_publication *publication, size_t publisher, bool everywhere,
                           int64_t now_ms)
{
    publication->reported[publisher] = everywhere;
    return settle(publication, now_ms);
}
