/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metric pages: the first byte chooses how the page is cut; whatever the cut, the samples must be
 * the same, and each must be a requested one.
 */
#include <string.h>

#include "api/promtext.h"
#include "test/fuzz/fuzz.h"

static const char *const wanted[] = {"version_info", "kubernetes_feature_enabled", "a", NULL};

static void on_sample(void *ctx, const struct ek_prom_sample *sample)
{
    struct ek_buf *out = ctx;
    bool known = false;

    for (const char *const *w = wanted; *w; w++)
        known = known || !strcmp(*w, sample->name);
    fuzz_require(known && sample->n_labels <= EK_PROMTEXT_LABELS_MAX);
    ek_buf_printf(out, "%s", sample->name);
    for (size_t i = 0; i < sample->n_labels; i++) {
        fuzz_require(*sample->labels[i].name != '\0');
        ek_prom_label(sample, sample->labels[i].name);
        ek_buf_printf(out, " %s=%s", sample->labels[i].name, sample->labels[i].value);
    }
    ek_buf_printf(out, " %a\n", sample->value);
}

static void read_page(const char *page, size_t len, size_t piece, struct ek_buf *out)
{
    EK_AUTO(ek_promtext) reader;

    ek_promtext_init(&reader, wanted, on_sample, out);
    for (size_t at = 0; at < len; at += piece)
        fuzz_require(ek_promtext_feed(&reader, page + at, piece < len - at ? piece : len - at) ==
                     0);
    fuzz_require(ek_promtext_finish(&reader) == 0);
    ek_buf_printf(out, "%lu bad of %lu", reader.n_bad, reader.n_line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EK_AUTO(ek_buf) whole;
    EK_AUTO(ek_buf) pieces;

    ek_buf_init(&whole, (size_t)1 << 30);
    ek_buf_init(&pieces, (size_t)1 << 30);
    if (size < 1)
        return 0;
    const char *page = (const char *)data + 1;
    read_page(page, size - 1, size, &whole);
    read_page(page, size - 1, 1 + data[0] % 64, &pieces);
    fuzz_require(whole.len == pieces.len && !memcmp(whole.data, pieces.data, whole.len));
    return 0;
}
