/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/certificates/publication.h"

#include <string.h>

#include "api/base/time.h"

void ek_publication_init(struct ek_publication *publication)
{
    *publication = (struct ek_publication){.since_ms = EK_TIME_UNSET};
}

static bool all_have_told(const struct ek_publication *publication)
{
    bool any = false;

    for (int i = 0; i < EK_PUBLISHER_MAX; i++) {
        if (publication->expected[i] && !publication->told[i])
            return false;
        any = any || publication->expected[i];
    }
    return any;
}

/* Updates since_ms from the reports. */
static bool settle(struct ek_publication *publication, int64_t now_ms)
{
    bool before = publication->since_ms != EK_TIME_UNSET, now = all_have_told(publication);

    if (before != now)
        publication->since_ms = now ? now_ms : EK_TIME_UNSET;
    return before != now;
}

void ek_publication_expect(struct ek_publication *publication, enum ek_webhook_publisher publisher)
{
    publication->expected[publisher] = true;
    if (!publication->told[publisher])
        publication->since_ms = EK_TIME_UNSET;
}

void ek_publication_renew(struct ek_publication *publication)
{
    memset(publication->told, 0, sizeof publication->told);
    publication->since_ms = EK_TIME_UNSET;
}

bool ek_publication_tell(struct ek_publication *publication, enum ek_webhook_publisher publisher,
                         bool everywhere, int64_t now_ms)
{
    publication->expected[publisher] = true;
    publication->told[publisher] = everywhere;
    return settle(publication, now_ms);
}
