/* SPDX-License-Identifier: Apache-2.0 */
/* Events without a server: what is written, when it is held back, how the queue tries again. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/base/lru.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "controller/events/queue.h"
#include "test/support/suite.h"

#define WALL INT64_C(1795000000000)

static const struct ek_event base = {
    .regarding = {.api_version = "evenkeel.dev/v1alpha1",
                  .kind = "ControlPlane",
                  .name = "cluster",
                  .uid = "u-1"},
    .warning = true,
    .reason = "SkewUnsupported",
    .action = "Judge",
    .note = "kubelet 1.30 is too old",
};

/* Correlates at a number of seconds; the write is to be released. */
static struct ek_event_write at(struct ek_event_correlator *c, const struct ek_event *event,
                                int64_t seconds)
{
    struct ek_event_write w;
    ek_event_correlate(c, event, seconds * 1000, WALL + seconds * 1000, &w);
    return w;
}

static enum ek_event_verdict verdict_at(struct ek_event_correlator *c, const struct ek_event *event,
                                        int64_t seconds)
{
    struct ek_event_write w = at(c, event, seconds);
    ek_event_write_done(&w);
    return w.verdict;
}

/* The text at a path of a JSON document; "" when absent. */
static void text_at(const char *json, const char *first, const char *second, char buf[2048])
{
    struct ek_err err = {0};
    ck_assert_ptr_nonnull(json);
    yyjson_doc *doc = ek_json_parse(json, strlen(json), &err);
    ck_assert_msg(doc != NULL, "%s: %s", json, err.message);
    yyjson_val *v = ek_json_get(yyjson_doc_get_root(doc), first, second, NULL);
    if (yyjson_is_int(v))
        snprintf(buf, 2048, "%" PRId64, yyjson_get_sint(v));
    else
        snprintf(buf, 2048, "%s", yyjson_get_str(v) ? yyjson_get_str(v) : "");
    yyjson_doc_free(doc);
}

static void expect(const char *json, const char *first, const char *second, const char *want)
{
    char got[2048];
    text_at(json, first, second, got);
    ck_assert_msg(!strcmp(got, want), "%s.%s is \"%s\", not \"%s\"", first, second ? second : "",
                  got, want);
}

START_TEST(first_event)
{
    struct ek_event_correlator *c = ek_event_correlator_new("host-1_uuid");
    struct ek_event_write w = at(c, &base, 0);
    char name[2048];

    ck_assert_int_eq(w.verdict, EK_EVENT_CREATE);
    ck_assert_str_eq(w.namespace, "default");
    ck_assert_ptr_null(w.update);
    expect(w.create, "apiVersion", NULL, "events.k8s.io/v1");
    expect(w.create, "kind", NULL, "Event");
    expect(w.create, "type", NULL, "Warning");
    expect(w.create, "reason", NULL, "SkewUnsupported");
    expect(w.create, "action", NULL, "Judge");
    expect(w.create, "note", NULL, "kubelet 1.30 is too old");
    expect(w.create, "reportingController", NULL, "evenkeel.dev/controller");
    expect(w.create, "reportingInstance", NULL, "host-1_uuid");
    expect(w.create, "eventTime", NULL, "2026-11-18T11:06:40.000000Z");
    expect(w.create, "regarding", "kind", "ControlPlane");
    expect(w.create, "regarding", "apiVersion", "evenkeel.dev/v1alpha1");
    expect(w.create, "regarding", "uid", "u-1");
    expect(w.create, "regarding", "namespace", "");
    expect(w.create, "series", "count", "");
    text_at(w.create, "metadata", "name", name);
    ck_assert_str_eq(name, w.name);
    ck_assert_str_eq(name, "cluster.18e91efd5bd38000");
    ek_event_write_done(&w);
    ek_event_correlator_free(c);
}
END_TEST

START_TEST(namespaced)
{
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event event = base;
    event.regarding.namespace = "team-a";
    struct ek_event_write w = at(c, &event, 0);
    ck_assert_str_eq(w.namespace, "team-a");
    expect(w.create, "metadata", "namespace", "team-a");
    expect(w.create, "regarding", "namespace", "team-a");
    ek_event_write_done(&w);
    ek_event_correlator_free(c);
}
END_TEST

/* The same again is a series on the first Event while it comes within the window. */
START_TEST(series)
{
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event_write first = at(c, &base, 0), second = at(c, &base, 600);
    struct ek_event_write third = at(c, &base, 1200), later = at(c, &base, 1801);

    ck_assert_int_eq(second.verdict, EK_EVENT_UPDATE);
    ck_assert_str_eq(second.name, first.name);
    expect(second.update, "series", "count", "2");
    expect(second.update, "series", "lastObservedTime", "2026-11-18T11:16:40.000000Z");
    expect(second.create, "eventTime", NULL, "2026-11-18T11:06:40.000000Z");
    expect(second.create, "series", "count", "2");
    expect(third.update, "series", "count", "3");
    ck_assert_int_eq(later.verdict, EK_EVENT_CREATE);
    ck_assert_str_ne(later.name, first.name);
    expect(later.create, "series", "count", "");
    ek_event_write_done(&first);
    ek_event_write_done(&second);
    ek_event_write_done(&third);
    ek_event_write_done(&later);
    ek_event_correlator_free(c);
}
END_TEST

static const struct difference_row {
    const char *name;
    struct ek_event event;
} difference_rows[] = {
    {"reason", {.reason = "Other"}},
    {"action", {.action = "Other"}},
    {"note", {.note = "other"}},
    {"uid", {.regarding = {.uid = "u-2"}}},
    {"name", {.regarding = {.name = "n"}}},
    {"kind", {.regarding = {.kind = "Node"}}},
    {"namespace", {.regarding = {.namespace = "x"}}},
};

/* Each difference between two occurrences makes two Events. */
START_TEST(difference)
{
    const struct difference_row *row = &difference_rows[_i];
    const struct ek_event *d = &row->event;
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event event = base;

    if (d->reason)
        event.reason = d->reason;
    if (d->action)
        event.action = d->action;
    if (d->note)
        event.note = d->note;
    if (d->regarding.uid)
        event.regarding.uid = d->regarding.uid;
    if (d->regarding.name)
        event.regarding.name = d->regarding.name;
    if (d->regarding.kind)
        event.regarding.kind = d->regarding.kind;
    if (d->regarding.namespace)
        event.regarding.namespace = d->regarding.namespace;
    struct ek_event_write first = at(c, &base, 0), second = at(c, &event, 0);
    ck_assert_msg(second.verdict == EK_EVENT_CREATE, "%s: verdict %d", row->name, second.verdict);
    ck_assert_msg(strcmp(first.name, second.name) != 0, "%s: same name", row->name);
    ek_event_write_done(&first);
    ek_event_write_done(&second);
    ek_event_correlator_free(c);
}
END_TEST

static struct ek_event_write with_note(struct ek_event_correlator *c, int i, int64_t seconds)
{
    char note[32];
    struct ek_event event = base;
    snprintf(note, sizeof note, "note %d", i);
    event.note = note;
    return at(c, &event, seconds);
}

/* From the tenth different note on, all go into one Event. */
START_TEST(similar)
{
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    char combined[EK_EVENT_NAME_SIZE] = "";

    for (int i = 1; i <= 12; i++) {
        struct ek_event_write w = with_note(c, i, i);
        char want[64];
        ck_assert_int_eq(w.verdict, i <= 10 ? EK_EVENT_CREATE : EK_EVENT_UPDATE);
        snprintf(want, sizeof want, "%snote %d",
                 i < 10 ? "" : "(combined from similar events): ", i < 10 ? i : 10);
        expect(w.create, "note", NULL, want);
        if (i == 10)
            memcpy(combined, w.name, sizeof combined);
        if (i > 10)
            ck_assert_str_eq(w.name, combined);
        ek_event_write_done(&w);
    }
    struct ek_event_write w = with_note(c, 13, 12 + 601); /* a quiet window starts it all anew */
    expect(w.create, "note", NULL, "note 13");
    ek_event_write_done(&w);
    ek_event_correlator_free(c);
}
END_TEST

/* 25 at once, then one every 300 s; what was held back is in the count. */
START_TEST(budget)
{
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event other = base;

    for (int i = 0; i < 25; i++)
        ck_assert_int_ne(verdict_at(c, &base, i / 10), EK_EVENT_DROP);
    ck_assert_int_eq(verdict_at(c, &base, 10), EK_EVENT_DROP);
    ck_assert_int_eq(verdict_at(c, &base, 299), EK_EVENT_DROP);
    other.regarding.uid = "u-2"; /* another object has a budget of its own */
    ck_assert_int_eq(verdict_at(c, &other, 299), EK_EVENT_CREATE);
    struct ek_event_write w = at(c, &base, 303);
    ck_assert_int_eq(w.verdict, EK_EVENT_UPDATE);
    expect(w.update, "series", "count", "28");
    ek_event_write_done(&w);
    ck_assert_int_eq(verdict_at(c, &base, 310), EK_EVENT_DROP);
    ek_event_correlator_free(c);
}
END_TEST

/* An Event whose first write was held back is created when there is budget again. */
START_TEST(held_back_create)
{
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event late = base;

    for (int i = 0; i < 25; i++)
        verdict_at(c, &base, 0);
    late.reason = "Late";
    ck_assert_int_eq(verdict_at(c, &late, 1), EK_EVENT_DROP);
    struct ek_event_write w = at(c, &late, 301);
    ck_assert_int_eq(w.verdict, EK_EVENT_CREATE);
    expect(w.create, "series", "count", "2");
    ek_event_write_done(&w);
    ek_event_correlator_free(c);
}
END_TEST

static const struct note_row {
    const char *name;
    const char *unit; /* repeated */
    size_t times;
    const char *end;
    size_t want; /* bytes */
} note_rows[] = {
    {"empty", "", 0, "", 0},
    {"exactly full", "x", 1024, "", 1024},
    {"one too many", "x", 1025, "", 1024},
    {"two-byte character at the edge", "x", 1023, "\u00e4", 1023},
    {"two-byte character that just fits", "x", 1022, "\u00e4", 1024},
    {"four-byte characters", "\U0001f6a2", 300, "", 1024},
    {"four-byte characters off by one", "\U0001f6a2", 255, "xyz\U0001f6a2", 1023},
    {"invalid byte", "x", 3, "\xff", 4},
    {"cut character", "x", 3, "\xe2\x82", 5},
};

START_TEST(notes)
{
    const struct note_row *row = &note_rows[_i];
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event event = base;
    struct ek_buf note;
    char got[2048];

    ek_buf_init(&note, 8192);
    for (size_t i = 0; i < row->times; i++)
        ek_buf_puts(&note, row->unit);
    ek_buf_puts(&note, row->end);
    event.note = ek_buf_str(&note);
    struct ek_event_write w = at(c, &event, 0);
    text_at(w.create, "note", NULL, got);
    ck_assert_msg(strlen(got) == row->want, "%s: %zu bytes", row->name, strlen(got));
    ek_event_write_done(&w);
    ek_buf_done(&note);
    ek_event_correlator_free(c);
}
END_TEST

static const struct name_row {
    const char *name;
    const char *object;
    const char *prefix; /* of the Event's name */
} name_rows[] = {
    {"plain", "node-1", "node-1."},
    {"dots", "a.b", "a.b."},
    {"no subdomain", "system:node:x", "evenkeel."},
    {"upper case", "Node", "evenkeel."},
    {"empty", "", "evenkeel."},
};

START_TEST(names)
{
    const struct name_row *row = &name_rows[_i];
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event event = base;
    event.regarding.name = row->object;
    struct ek_event_write w = at(c, &event, 0);
    ck_assert_msg(!strncmp(w.name, row->prefix, strlen(row->prefix)), "%s: %s", row->name, w.name);
    ek_event_write_done(&w);
    ek_event_correlator_free(c);
}
END_TEST

START_TEST(long_name)
{
    struct ek_event_correlator *c = ek_event_correlator_new("i");
    struct ek_event event = base;
    char object[254];
    memset(object, 'a', 253);
    object[253] = '\0';
    memset(object + 230, '-', 10); /* a cut must not leave "-." */
    event.regarding.name = object;
    struct ek_event_write w = at(c, &event, 0);
    ck_assert_uint_le(strlen(w.name), 253);
    ck_assert_ptr_null(strstr(w.name, "-."));
    ek_event_write_done(&w);
    ek_event_correlator_free(c);
}
END_TEST

START_TEST(least_recently_used)
{
    struct ek_lru lru;
    ek_lru_init(&lru, 3, sizeof(int));
    *(int *)ek_lru_need(&lru, "a") = 1;
    *(int *)ek_lru_need(&lru, "b") = 2;
    *(int *)ek_lru_need(&lru, "c") = 3;
    ck_assert_int_eq(*(int *)ek_lru_get(&lru, "a"), 1); /* now b is the oldest */
    ck_assert_int_eq(*(int *)ek_lru_need(&lru, "d"), 0);
    ck_assert_ptr_null(ek_lru_get(&lru, "b"));
    ck_assert_int_eq(*(int *)ek_lru_need(&lru, "c"), 3);
    ck_assert_uint_eq(lru.map.n, 3);
    ek_lru_done(&lru);
}
END_TEST

/* --- the queue --- */

static void offer(struct ek_event_queue *q, const char *name, enum ek_event_verdict verdict,
                  const char *update, bool taken)
{
    struct ek_event_write w = {.verdict = verdict, .create = strdup("{}")};
    snprintf(w.name, sizeof w.name, "%s", name);
    if (update)
        w.update = strdup(update);
    ck_assert_int_eq(ek_event_queue_offer(q, &w), taken);
    ck_assert_ptr_null(w.create);
}

static const char *next_name(struct ek_event_queue *q, int64_t now)
{
    int64_t wake;
    const struct ek_event_write *w = ek_event_queue_next(q, now, &wake);
    return w ? w->name : "";
}

START_TEST(queue_order)
{
    struct ek_event_queue *q = ek_event_queue_new();
    offer(q, "a", EK_EVENT_CREATE, NULL, true);
    offer(q, "b", EK_EVENT_CREATE, NULL, true);
    ck_assert_str_eq(next_name(q, 0), "a");
    ck_assert_str_eq(next_name(q, 0), ""); /* one at a time */
    ck_assert(!ek_event_queue_result(q, 0, 0, 0));
    ck_assert_str_eq(next_name(q, 0), "b");
    ek_event_queue_free(q);
}
END_TEST

static const struct result_row {
    const char *name;
    int code;
    int64_t retry_after_ms;
    int64_t again_ms; /* -1: not again */
    bool lost;
} result_rows[] = {
    {"good", 0, 0, -1, false},
    {"exists already", EK_E_EXIST, 0, -1, false},
    {"refused by the server", EK_E_FORBIDDEN, 0, -1, true},
    {"invalid", EK_E_INVAL, 0, -1, true},
    {"namespace is gone", EK_E_NOENT, 0, -1, true},
    {"unreachable", EK_E_REFUSED, 0, 10000, false},
    {"server error", EK_E_SERVER, 0, 10000, false},
    {"throttled", EK_E_THROTTLED, 0, 10000, false},
    {"throttled for longer", EK_E_THROTTLED, 25000, 25000, false},
    {"throttled for shorter", EK_E_THROTTLED, 1000, 10000, false},
};

START_TEST(queue_results)
{
    const struct result_row *row = &result_rows[_i];
    struct ek_event_queue *q = ek_event_queue_new();
    int64_t wake;

    offer(q, "a", EK_EVENT_CREATE, NULL, true);
    ck_assert_str_eq(next_name(q, 0), "a");
    bool lost = ek_event_queue_result(q, row->code, row->retry_after_ms, 0);
    ck_assert_msg(lost == row->lost, "%s: lost %d", row->name, lost);
    ck_assert_ptr_null(ek_event_queue_next(q, 0, &wake));
    ck_assert_msg(wake == row->again_ms, "%s: again at %" PRId64, row->name, wake);
    ek_event_queue_free(q);
}
END_TEST

START_TEST(queue_twelve_tries)
{
    struct ek_event_queue *q = ek_event_queue_new();
    offer(q, "a", EK_EVENT_CREATE, NULL, true);
    for (int i = 1; i <= 12; i++) {
        ck_assert_str_eq(next_name(q, i * 10000), "a");
        ck_assert_int_eq(ek_event_queue_result(q, EK_E_NET, 0, i * 10000), i == 12);
    }
    ck_assert_uint_eq(ek_event_queue_size(q), 0);
    ek_event_queue_free(q);
}
END_TEST

START_TEST(queue_update_of_what_is_gone)
{
    struct ek_event_queue *q = ek_event_queue_new();
    int64_t wake;
    offer(q, "a", EK_EVENT_UPDATE, "{\"n\":1}", true);
    ck_assert_int_eq(ek_event_queue_next(q, 0, &wake)->verdict, EK_EVENT_UPDATE);
    ck_assert(!ek_event_queue_result(q, EK_E_NOENT, 0, 0));
    ck_assert_int_eq(ek_event_queue_next(q, 0, &wake)->verdict, EK_EVENT_CREATE);
    ck_assert(ek_event_queue_result(q, EK_E_NOENT, 0, 0)); /* but not for ever */
    ek_event_queue_free(q);
}
END_TEST

START_TEST(queue_merges)
{
    struct ek_event_queue *q = ek_event_queue_new();
    int64_t wake;
    offer(q, "a", EK_EVENT_UPDATE, "{\"n\":1}", true);
    ek_event_queue_next(q, 0, &wake);
    offer(q, "a", EK_EVENT_UPDATE, "{\"n\":2}", true); /* not into the one under way */
    offer(q, "b", EK_EVENT_UPDATE, "{\"n\":9}", true);
    offer(q, "a", EK_EVENT_UPDATE, "{\"n\":3}", true);
    ck_assert_uint_eq(ek_event_queue_size(q), 3);
    ek_event_queue_result(q, 0, 0, 0);
    ck_assert_str_eq(ek_event_queue_next(q, 0, &wake)->update, "{\"n\":3}");
    ek_event_queue_free(q);
}
END_TEST

START_TEST(queue_bounded)
{
    struct ek_event_queue *q = ek_event_queue_new();
    for (int i = 0; i < EK_EVENT_QUEUE_MAX; i++)
        offer(q, "a", EK_EVENT_CREATE, NULL, true);
    offer(q, "b", EK_EVENT_CREATE, NULL, false);
    ck_assert_uint_eq(ek_event_queue_size(q), EK_EVENT_QUEUE_MAX);
    ek_event_queue_free(q);
}
END_TEST

START_TEST(queue_drains)
{
    struct ek_event_queue *q = ek_event_queue_new();
    offer(q, "a", EK_EVENT_CREATE, NULL, true);
    ek_event_queue_drain(q);
    ck_assert_str_eq(next_name(q, 0), "a");
    ck_assert(ek_event_queue_result(q, EK_E_NET, 0, 0));
    ck_assert_uint_eq(ek_event_queue_size(q), 0);
    ek_event_queue_free(q);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("correlator");
    tcase_add_test(tc, first_event);
    tcase_add_test(tc, namespaced);
    tcase_add_test(tc, series);
    tcase_add_loop_test(tc, difference, 0, (int)EK_ARRAY_SIZE(difference_rows));
    tcase_add_test(tc, similar);
    tcase_add_test(tc, budget);
    tcase_add_test(tc, held_back_create);
    tcase_add_loop_test(tc, notes, 0, (int)EK_ARRAY_SIZE(note_rows));
    tcase_add_loop_test(tc, names, 0, (int)EK_ARRAY_SIZE(name_rows));
    tcase_add_test(tc, long_name);
    tcase_add_test(tc, least_recently_used);
    TCase *queue = tcase_create("queue");
    tcase_add_test(queue, queue_order);
    tcase_add_loop_test(queue, queue_results, 0, (int)EK_ARRAY_SIZE(result_rows));
    tcase_add_test(queue, queue_twelve_tries);
    tcase_add_test(queue, queue_update_of_what_is_gone);
    tcase_add_test(queue, queue_merges);
    tcase_add_test(queue, queue_bounded);
    tcase_add_test(queue, queue_drains);
    return ek_test_run("events_logic", tc, queue);
}
