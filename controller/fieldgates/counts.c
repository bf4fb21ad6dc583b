/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fieldgates/counts.h"

#include "api/base/mem.h"

struct entry {
    char *crd, *gate;
    uint64_t suppressed, deprecated_uses;
};

struct ek_gates_counts {
    uv_mutex_t lock;       /* of all below but the families */
    struct entry *entries; /* by crd, gate */
    size_t n;
    bool changed_reported;
    uv_async_t async;
    struct ek_metric_family *suppressed, *deprecated_uses;
    void (*changed)(void *ctx);
    void *ctx;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static void on_async(uv_async_t *async)
{
    struct ek_gates_counts *counts = async->data;
    counts->changed(counts->ctx);
}

static const struct ek_metric_desc suppressed = {
    .name = "evenkeel_gate_suppressed_writes_total",
    .help = "Writes to fields whose gate is off that were not carried out.",
    .type = EK_METRIC_COUNTER,
    .labels = {"crd", "gate", "operation"},
    .max_series = (size_t)2 * EK_GATES_COUNTED_MAX};

static const struct ek_metric_desc deprecated_uses = {
    .name = "evenkeel_gate_deprecated_uses_total",
    .help = "Writes of deprecated fields whose gate is on.",
    .type = EK_METRIC_COUNTER,
    .labels = {"crd", "gate", "operation"},
    .max_series = (size_t)2 * EK_GATES_COUNTED_MAX};

struct ek_gates_counts *ek_gates_counts_new(uv_loop_t *loop, struct ek_metrics *metrics,
                                            void (*changed)(void *ctx), void *ctx)
{
    struct ek_gates_counts *counts = ek_xalloc(sizeof *counts);

    counts->changed = changed;
    counts->ctx = ctx;
    counts->suppressed = metrics ? ek_metrics_register(metrics, &suppressed) : NULL;
    counts->deprecated_uses = metrics ? ek_metrics_register(metrics, &deprecated_uses) : NULL;
    uv_mutex_init(&counts->lock);
    uv_async_init(loop, &counts->async, on_async);
    counts->async.data = counts;
    return counts;
}

/* Where the entry is, or would be. */
static size_t place(const struct ek_gates_counts *counts, const char *crd, const char *gate,
                    bool *ret_found)
{
    size_t low = 0, high = counts->n;

    *ret_found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(counts->entries[mid].crd, crd);
        if (order == 0)
            order = strcmp(counts->entries[mid].gate, gate);
        if (order == 0) {
            *ret_found = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct entry *find_or_add(struct ek_gates_counts *counts, const char *crd, const char *gate)
{
    bool found;
    size_t at = place(counts, crd, gate, &found);

    if (found)
        return &counts->entries[at];
    if (counts->n == EK_GATES_COUNTED_MAX)
        return NULL;
    counts->entries = ek_xrealloc(counts->entries, counts->n + 1, sizeof *counts->entries);
    memmove(&counts->entries[at + 1], &counts->entries[at],
            (counts->n - at) * sizeof *counts->entries);
    counts->n++;
    counts->entries[at] = (struct entry){.crd = ek_xstrdup(crd), .gate = ek_xstrdup(gate)};
    return &counts->entries[at];
}

void ek_gates_counts_add(struct ek_gates_counts *counts, const char *crd, const char *gate,
                         const char *operation, bool deprecated)
{
    bool report;

    if (counts->suppressed)
        ek_metric_add(ek_metric_with(deprecated ? counts->deprecated_uses : counts->suppressed, crd,
                                     gate, operation, NULL),
                      1);
    uv_mutex_lock(&counts->lock);
    struct entry *e = find_or_add(counts, crd, gate);
    if (e && deprecated)
        e->deprecated_uses++;
    else if (e)
        e->suppressed++;
    report = e && !counts->changed_reported;
    counts->changed_reported = counts->changed_reported || report;
    uv_mutex_unlock(&counts->lock);
    if (report)
        uv_async_send(&counts->async);
}

struct ek_gate_count ek_gates_counts_get(struct ek_gates_counts *counts, const char *crd,
                                         const char *gate)
{
    struct ek_gate_count count = {.gate = gate};
    bool found;

    uv_mutex_lock(&counts->lock);
    size_t at = place(counts, crd, gate, &found);
    if (found) {
        count.suppressed = counts->entries[at].suppressed;
        count.deprecated_uses = counts->entries[at].deprecated_uses;
    }
    uv_mutex_unlock(&counts->lock);
    return count;
}

bool ek_gates_counts_are_waiting(struct ek_gates_counts *counts)
{
    uv_mutex_lock(&counts->lock);
    bool waiting = counts->changed_reported;
    uv_mutex_unlock(&counts->lock);
    return waiting;
}

void ek_gates_counts_settle(struct ek_gates_counts *counts)
{
    uv_mutex_lock(&counts->lock);
    counts->changed_reported = false;
    uv_mutex_unlock(&counts->lock);
}

static void on_closed(uv_handle_t *handle)
{
    struct ek_gates_counts *counts = handle->data;

    for (size_t i = 0; i < counts->n; i++) {
        ek_free(counts->entries[i].crd);
        ek_free(counts->entries[i].gate);
    }
    ek_free(counts->entries);
    uv_mutex_destroy(&counts->lock);
    if (counts->on_closed)
        counts->on_closed(counts->closed_ctx);
    ek_free(counts);
}

void ek_gates_counts_close(struct ek_gates_counts *counts, void (*closed)(void *ctx), void *ctx)
{
    counts->on_closed = closed;
    counts->closed_ctx = ctx;
    uv_close((uv_handle_t *)&counts->async, on_closed);
}
