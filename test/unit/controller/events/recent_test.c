/* SPDX-License-Identifier: Apache-2.0 */
/* The Events that a recorder accepted last. */
#include "controller/events/recent.h"

#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "test/support/suite.h"

static void put(void *ctx, const struct ek_recent_event *event)
{
    ek_buf_printf(ctx, "%s%s %s/%s %s %s x%d @%d;", event->warning ? "!" : "", event->kind,
                  event->namespace, event->name, event->reason, event->note, (int)event->count,
                  (int)event->last_ms);
}

static struct ek_event event_of(const char *name, const char *note, bool warning)
{
    return (struct ek_event){.regarding = {.kind = "Node", .namespace = NULL, .name = name},
                             .warning = warning,
                             .reason = "R",
                             .action = "A",
                             .note = note};
}

/* An Event is written "!name:note", "!" for a Warning. */
static const struct {
    const char *name;
    const char *events[5];
    const char *want;
} rows[] = {
    {"none", {0}, ""},
    {"the latest first", {"a:x", "b:x"}, "Node /b R x x1 @2;Node /a R x x1 @1;"},
    {"a repetition is counted and comes first",
     {"a:x", "b:x", "a:x"},
     "Node /a R x x2 @3;Node /b R x x1 @2;"},
    {"another note, type or object is another one",
     {"a:x", "a:y", "!a:x", "b:x"},
     "Node /b R x x1 @4;!Node /a R x x1 @3;Node /a R y x1 @2;Node /a R x x1 @1;"},
};

START_TEST(lists)
{
    EK_AUTO(ek_buf) out;
    struct ek_recent_events *recent = ek_recent_events_new();

    ek_buf_init(&out, 4096);
    for (size_t i = 0; rows[_i].events[i]; i++) {
        const char *text = rows[_i].events[i];
        bool warning = *text == '!';
        const char *colon = strchr(text, ':');
        EK_AUTOFREE char *name = ek_xstrndup(text + warning, (size_t)(colon - text - warning));
        const struct ek_event event = event_of(name, colon + 1, warning);
        ek_recent_events_add(recent, &event, (int64_t)i + 1);
    }
    ek_recent_events_each(recent, put, &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].want), "%s: %s", rows[_i].name,
                  ek_buf_str(&out));
    ek_recent_events_free(recent);
}
END_TEST

static void count(void *ctx, const struct ek_recent_event *event)
{
    size_t *n = ctx;

    ck_assert_uint_le(strlen(event->note), EK_EVENT_NOTE_MAX);
    (*n)++;
}

/* Of many the latest stay; a long note is cut between characters. */
START_TEST(is_bounded)
{
    struct ek_recent_events *recent = ek_recent_events_new();
    char name[32], note[4096];
    size_t n = 0;

    memset(note, 'a', sizeof note);
    for (size_t i = 1; i + 2 < sizeof note; i += 2)
        memcpy(note + i, "\xc3\xa9", 2);
    note[sizeof note - 1] = '\0';
    for (int i = 0; i < 3 * EK_EVENTS_RECENT_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        const struct ek_event event = event_of(name, note, false);
        ek_recent_events_add(recent, &event, i);
    }
    ek_recent_events_each(recent, count, &n);
    ck_assert_uint_eq(n, EK_EVENTS_RECENT_MAX);
    EK_AUTO(ek_buf) out;
    ek_buf_init(&out, 1 << 20);
    ek_recent_events_each(recent, put, &out);
    ck_assert_ptr_eq(strstr(ek_buf_str(&out), "Node /n149 "), ek_buf_str(&out));
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "Node /n99 "));
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "\xc3 x1"));
    ek_recent_events_free(recent);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("recent");

    tcase_add_loop_test(tc, lists, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, is_bounded);
    return ek_test_run("recent", tc);
}
