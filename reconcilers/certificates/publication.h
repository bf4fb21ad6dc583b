/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the publishers, which write the webhook's authorities into webhook configurations, have
 * written the present ones: an authority may be replaced only when all publishers have, because an
 * API server that does not know the next authority would refuse its certificates.
 *
 * A publisher counts once it is expected, and is known by the handle that it got then: nothing here
 * names a subject. With nobody to expect nothing is ever published. Pure; time is an argument.
 * Threading: none.
 */
#ifndef RECONCILERS_CERTIFICATES_PUBLICATION_H
#define RECONCILERS_CERTIFICATES_PUBLICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ek_publication {
    bool *reported; /* by handle; owned */
    size_t n;
    int64_t since_ms; /* when the last of them reported; EK_TIME_UNSET: not all have */
};

/* Makes a publication without publishers; to be released with ek_publication_done, after which it
 * is as new. */
void ek_publication_init(struct ek_publication *publication);
void ek_publication_done(struct ek_publication *publication);

/* Waits for one more publisher from now on, and returns its handle: one for each webhook
 * configuration, or group of them. Handles count from 0. */
size_t ek_publication_expect(struct ek_publication *publication);

/* The authorities have changed: all publishers must report again. */
void ek_publication_renew(struct ek_publication *publication);

/* A publisher reports whether all its registrations carry the present authorities. Returns true
 * when since_ms has changed by that. publisher: from ek_publication_expect. now_ms: the wall clock,
 * ms since the epoch. */
bool ek_publication_report(struct ek_publication *publication, size_t publisher, bool everywhere,
                           int64_t now_ms);

#endif
