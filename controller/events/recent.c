/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/events/recent.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"

/* Kind, namespace, name and reason: what the API server accepts of the longest. */
#define WORD_MAX ((size_t)EK_EVENT_NAME_SIZE)

struct ek_recent_events {
    struct ek_recent_event *entries[EK_EVENTS_RECENT_MAX]; /* the latest first; texts are owned */
    size_t n;
};

struct ek_recent_events *ek_recent_events_new(void)
{
    return ek_xalloc(sizeof(struct ek_recent_events));
}

static void free_entry(struct ek_recent_event *entry)
{
    const char *const texts[] = {entry->kind, entry->namespace, entry->name, entry->reason,
                                 entry->note};

    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++)
        ek_free((void *)(uintptr_t)texts[i]);
    ek_free(entry);
}

void ek_recent_events_free(struct ek_recent_events *recent)
{
    if (!recent)
        return;
    for (size_t i = 0; i < recent->n; i++)
        free_entry(recent->entries[i]);
    ek_free(recent);
}

/* As much of text as max bytes take, whole characters; owned. */
static char *copy(const char *text, size_t max)
{
    struct ek_str all = ek_str_from(text ? text : "");

    return ek_xstrndup(all.p, ek_utf8_cut(all, max));
}

static struct ek_recent_event *new_entry(const struct ek_event *event)
{
    struct ek_recent_event *entry = ek_xalloc(sizeof *entry);

    *entry = (struct ek_recent_event){
        .warning = event->warning,
        .kind = copy(event->regarding.kind, WORD_MAX),
        .namespace = copy(event->regarding.namespace, WORD_MAX),
        .name = copy(event->regarding.name, WORD_MAX),
        .reason = copy(event->reason, WORD_MAX),
        .note = copy(event->note, EK_EVENT_NOTE_MAX),
    };
    return entry;
}

static bool is_same(const struct ek_recent_event *a, const struct ek_recent_event *b)
{
    return a->warning == b->warning && !strcmp(a->kind, b->kind) &&
           !strcmp(a->namespace, b->namespace) && !strcmp(a->name, b->name) &&
           !strcmp(a->reason, b->reason) && !strcmp(a->note, b->note);
}

void ek_recent_events_add(struct ek_recent_events *recent, const struct ek_event *event,
                          int64_t wall_ms)
{
    struct ek_recent_event *entry = new_entry(event);
    size_t at = 0;

    while (at < recent->n && !is_same(recent->entries[at], entry))
        at++;
    if (at < recent->n) {
        free_entry(entry);
        entry = recent->entries[at];
    } else if (recent->n < EK_EVENTS_RECENT_MAX) {
        recent->n++;
    } else {
        free_entry(recent->entries[--at]);
    }
    memmove(recent->entries + 1, recent->entries, at * sizeof(struct ek_recent_event *));
    recent->entries[0] = entry;
    entry->count++;
    entry->last_ms = wall_ms;
}

void ek_recent_events_each(const struct ek_recent_events *recent,
                           void (*fn)(void *ctx, const struct ek_recent_event *event), void *ctx)
{
    for (size_t i = 0; i < recent->n; i++)
        fn(ctx, recent->entries[i]);
}
