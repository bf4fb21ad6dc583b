/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether those who write the webhook's authorities somewhere, the publishers, have written the
 * present ones: an authority may be replaced only when all of them have, for an API server that
 * does not know the next one would turn away what it issues.
 *
 * A publisher counts once it is expected. With nobody to expect nothing is ever published. Pure;
 * time is an argument. Threading: none.
 */
#ifndef CONTROLLER_WEBHOOK_PUBLICATION_H
#define CONTROLLER_WEBHOOK_PUBLICATION_H

#include <stdbool.h>
#include <stdint.h>

/* One for each webhook configuration, or group of them. */
enum ek_webhook_publisher {
    EK_PUBLISHER_MUTATING,   /* the MutatingWebhookConfiguration of policies */
    EK_PUBLISHER_VALIDATING, /* their ValidatingWebhookConfiguration */
    EK_PUBLISHER_GATES,      /* what field gates register */
    EK_PUBLISHER_MAX,
};

struct ek_publication {
    bool expected[EK_PUBLISHER_MAX], told[EK_PUBLISHER_MAX];
    int64_t since_ms; /* when the last of them had told; EK_TIME_UNSET: not all have */
};

void ek_publication_init(struct ek_publication *publication);

/* Has publisher be waited for, from now on. */
void ek_publication_expect(struct ek_publication *publication, enum ek_webhook_publisher publisher);

/* There are other authorities now: all have to tell again. */
void ek_publication_renew(struct ek_publication *publication);

/* A publisher tells whether all that it has registered carries the present authorities; it is
 * expected, too, from now on. Returns true when since_ms has changed by that. */
bool ek_publication_tell(struct ek_publication *publication, enum ek_webhook_publisher publisher,
                         bool everywhere, int64_t now_ms);

#endif
