/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the publishers, which write the webhook's authorities into webhook configurations, have
 * written the present ones: an authority may be replaced only when all publishers have, because an
 * API server that does not know the next authority would refuse its certificates.
 *
 * A publisher counts once it is expected. With nobody to expect nothing is ever published. Pure;
 * time is an argument. Threading: none.
 */
#ifndef RECONCILERS_CERTIFICATES_PUBLICATION_H
#define RECONCILERS_CERTIFICATES_PUBLICATION_H

#include <stdbool.h>
#include <stdint.h>

/* One for each webhook configuration, or group of them. */
enum ek_webhook_publisher {
    EK_PUBLISHER_MUTATING,   /* the MutatingWebhookConfiguration of policies */
    EK_PUBLISHER_VALIDATING, /* their ValidatingWebhookConfiguration */
    EK_PUBLISHER_GATES,      /* what field gates register */
    EK_PUBLISHER_PLANS,      /* the guard of CompatibilityPlans */
    EK_PUBLISHER_MAX,
};

struct ek_publication {
    bool expected[EK_PUBLISHER_MAX], told[EK_PUBLISHER_MAX];
    int64_t since_ms; /* when the last of them reported; EK_TIME_UNSET: not all have */
};

void ek_publication_init(struct ek_publication *publication);

/* Has publisher be waited for, from now on. */
void ek_publication_expect(struct ek_publication *publication, enum ek_webhook_publisher publisher);

/* The authorities have changed: all publishers must report again. */
void ek_publication_renew(struct ek_publication *publication);

/* A publisher reports whether all its registrations carry the present authorities; the publisher is
 * expected from now on. Returns true when since_ms has changed by that. */
bool ek_publication_tell(struct ek_publication *publication, enum ek_webhook_publisher publisher,
                         bool everywhere, int64_t now_ms);

#endif
