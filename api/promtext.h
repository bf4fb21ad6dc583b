/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the Prometheus text format (0.0.4), for picking a few series out of a large page.
 *
 * Bytes go in as they arrive, samples of the wanted metrics come out through a callback; nothing
 * else is kept, so the memory used does not depend on the size of the page (an API server's runs
 * to tens of megabytes). A line that is malformed or longer than the bound is skipped and counted:
 * one odd series must not hide the others.
 *
 * Pure and not thread safe. Format: Prometheus documentation, "Exposition formats".
 */
#ifndef API_PROMTEXT_H
#define API_PROMTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/buf.h"

#define EK_PROMTEXT_LABELS_MAX 32
#define EK_PROMTEXT_LINE_MAX   ((size_t)64 * 1024)

struct ek_prom_label {
    const char *name;
    const char *value; /* unescaped */
};

/* One sample; borrowed for the time of the callback. */
struct ek_prom_sample {
    const char *name;
    struct ek_prom_label labels[EK_PROMTEXT_LABELS_MAX];
    size_t n_labels;
    double value;
};

typedef void (*ek_prom_sample_fn)(void *ctx, const struct ek_prom_sample *sample);

struct ek_promtext {
    const char *const *wanted; /* metric names, NULL-terminated; borrowed */
    ek_prom_sample_fn fn;
    void *ctx;
    struct ek_buf line;
    bool skipping;        /* inside a line that is too long */
    unsigned long n_bad;  /* lines skipped because malformed or too long */
    unsigned long n_line; /* lines seen, for messages */
};

/* Prepares a reader that hands samples of the wanted metrics (a NULL-terminated list that must
 * outlive the reader) to fn with ctx. */
void ek_promtext_init(struct ek_promtext *reader, const char *const *wanted, ek_prom_sample_fn fn,
                      void *ctx);
void ek_promtext_done(struct ek_promtext *reader);

/* Takes the next len bytes; calls fn from inside. Returns 0 or EK_E_NOMEM. */
int ek_promtext_feed(struct ek_promtext *reader, const char *data, size_t len);

/* Takes the end of the page: a last line without newline counts. Returns 0 or EK_E_NOMEM. */
int ek_promtext_finish(struct ek_promtext *reader);

/* A label's value, "" when the sample does not have it. */
const char *ek_prom_label(const struct ek_prom_sample *sample, const char *name);

EK_CLEANUP(ek_promtext, ek_promtext_done)

#endif
