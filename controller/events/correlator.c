/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/events/correlator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/lru.h"
#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/obj.h"

#define KEY_MAX         ((size_t)16 * 1024)
#define COMBINED_PREFIX "(combined from similar events): "

/* What was written for one kind of happening. */
struct series {
    bool created; /* the Event was handed out to be created */
    int64_t last_ms;
    int64_t first_wall_ms;
    int64_t count;
    char name[EK_EVENT_NAME_SIZE];
    char note[EK_EVENT_NOTE_MAX + 1]; /* the first one: a note cannot be changed afterwards */
};

/* The different notes of otherwise same happenings, by their hash. */
struct similar {
    int64_t last_ms;
    uint64_t notes[EK_EVENT_SIMILAR_MAX];
    size_t n;
};

struct budget {
    bool known;
    double tokens;
    int64_t at_ms;
};

struct ek_event_correlator {
    struct ek_lru series, similar, budgets;
    char instance[EK_EVENT_WORD_MAX + 1];
    unsigned serial; /* makes names differ within a millisecond */
};

static const char *text(const char *s)
{
    return s ? s : "";
}

/* Copies at most size - 1 bytes of s as valid UTF-8: bytes that are none become "?", because a
 * JSON writer refuses them and one bad byte must not cost the whole Event. */
static void copy_utf8(char *to, size_t size, const char *s)
{
    struct ek_str rest = ek_str_from(text(s));
    size_t used = 0;

    while (rest.len) {
        unsigned rune;
        size_t n = ek_utf8_decode(rest, &rune);
        size_t take = n ? n : 1;
        if (used + take >= size)
            break;
        memcpy(to + used, n ? rest.p : "?", take);
        used += take;
        rest.p += take;
        rest.len -= take;
    }
    to[used] = '\0';
}

struct ek_event_correlator *ek_event_correlator_new(const char *reporting_instance)
{
    struct ek_event_correlator *c = ek_xalloc(sizeof *c);

    ek_lru_init(&c->series, EK_EVENT_CACHE_SIZE, sizeof(struct series));
    ek_lru_init(&c->similar, EK_EVENT_CACHE_SIZE, sizeof(struct similar));
    ek_lru_init(&c->budgets, EK_EVENT_CACHE_SIZE, sizeof(struct budget));
    copy_utf8(c->instance, sizeof c->instance, reporting_instance);
    return c;
}

void ek_event_correlator_free(struct ek_event_correlator *correlator)
{
    if (!correlator)
        return;
    ek_lru_done(&correlator->series);
    ek_lru_done(&correlator->similar);
    ek_lru_done(&correlator->budgets);
    ek_free(correlator);
}

void ek_event_write_done(struct ek_event_write *write)
{
    ek_free(write->create);
    ek_free(write->update);
    write->create = write->update = NULL;
}

/* Fields are joined by a byte that none of them may contain. */
static void object_key(struct ek_buf *key, const struct ek_event *event)
{
    const struct ek_event_regarding *r = &event->regarding;
    ek_buf_printf(key, "%s\x1f%s\x1f%s\x1f%s\x1f%s", text(r->api_version), text(r->kind),
                  text(r->namespace), text(r->name), text(r->uid));
}

static void similar_key(struct ek_buf *key, const struct ek_event *event)
{
    object_key(key, event);
    ek_buf_printf(key, "\x1f%c\x1f%s\x1f%s", event->warning ? 'W' : 'N', text(event->reason),
                  text(event->action));
}

static uint64_t hash_note(const char *s)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 0x100000001b3u;
    return hash;
}

/* True when this note is one too many and goes into the combined Event. */
static bool too_many_notes(struct ek_event_correlator *c, const char *key, const char *note,
                           int64_t now_ms)
{
    bool fresh = !ek_lru_get(&c->similar, key);
    struct similar *s = ek_lru_need(&c->similar, key);
    uint64_t hash = hash_note(note);
    size_t i = 0;

    if (fresh || now_ms - s->last_ms > EK_EVENT_WINDOW_MS)
        s->n = 0;
    s->last_ms = now_ms;
    while (i < s->n && s->notes[i] != hash)
        i++;
    if (i == s->n && s->n < EK_EVENT_SIMILAR_MAX)
        s->notes[s->n++] = hash;
    if (s->n < EK_EVENT_SIMILAR_MAX)
        return false;
    s->n--; /* the set stays one short of full, so the next note decides again */
    return true;
}

static bool take_token(struct ek_event_correlator *c, const char *key, int64_t now_ms)
{
    struct budget *b = ek_lru_need(&c->budgets, key);

    if (!b->known)
        *b = (struct budget){.known = true, .tokens = EK_EVENT_BURST, .at_ms = now_ms};
    b->tokens += (double)(now_ms - b->at_ms) / EK_EVENT_REFILL_MS;
    b->at_ms = now_ms;
    if (b->tokens > EK_EVENT_BURST)
        b->tokens = EK_EVENT_BURST;
    if (b->tokens < 1)
        return false;
    b->tokens -= 1;
    return true;
}

/* "<object>.<hex>", the hex being the time in nanoseconds as client-go has it. An object whose name
 * is no DNS subdomain (RBAC names may hold ":") gives the controller's name instead. */
static void make_name(struct ek_event_correlator *c, const char *object, int64_t wall_ms,
                      char name[EK_EVENT_NAME_SIZE])
{
    char hex[24];
    int hex_len =
        snprintf(hex, sizeof hex, ".%" PRIx64, (uint64_t)wall_ms * 1000000 + c->serial++ % 1000000);
    size_t len = strlen(object);
    size_t room = EK_EVENT_NAME_SIZE - 1 - (size_t)hex_len;

    if (!len || strspn(object, "abcdefghijklmnopqrstuvwxyz0123456789-.") != len) {
        object = "evenkeel";
        len = strlen(object);
    }
    if (len > room)
        len = room;
    while (len && (object[len - 1] == '.' || object[len - 1] == '-'))
        len--;
    snprintf(name, EK_EVENT_NAME_SIZE, "%.*s%s", (int)len, object, hex);
}

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *value,
                     size_t max)
{
    EK_AUTOFREE char *clean = ek_xalloc(max + 1);
    copy_utf8(clean, max + 1, value);
    if (*clean)
        yyjson_mut_obj_add_strcpy(doc, obj, key, clean);
}

static yyjson_mut_val *make_regarding(yyjson_mut_doc *doc, const struct ek_event_regarding *r)
{
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    add_text(doc, obj, "apiVersion", r->api_version, 320);
    add_text(doc, obj, "kind", r->kind, 64);
    add_text(doc, obj, "namespace", r->namespace, 63);
    add_text(doc, obj, "name", r->name, 253);
    add_text(doc, obj, "uid", r->uid, 64);
    add_text(doc, obj, "resourceVersion", r->resource_version, 64);
    return obj;
}

static yyjson_mut_val *make_series(yyjson_mut_doc *doc, const struct series *s, int64_t wall_ms)
{
    char time[EK_TIME_SIZE];
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_sint(doc, obj, "count", s->count);
    yyjson_mut_obj_add_strcpy(doc, obj, "lastObservedTime", ek_time_format_micro(wall_ms, time));
    return obj;
}

/* Writes root as text and releases the document. */
static char *finish(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_doc_set_root(doc, root);
    char *json = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &ek_json_xalc, NULL, NULL);
    yyjson_mut_doc_free(doc);
    return json;
}

static char *make_create(const struct ek_event_correlator *c, const struct ek_event *event,
                         const struct series *s, const struct ek_event_write *w, int64_t wall_ms)
{
    char time[EK_TIME_SIZE];
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *meta = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "events.k8s.io/v1");
    yyjson_mut_obj_add_str(doc, root, "kind", "Event");
    yyjson_mut_obj_add_val(doc, root, "metadata", meta);
    yyjson_mut_obj_add_str(doc, meta, "name", w->name);
    yyjson_mut_obj_add_str(doc, meta, "namespace", w->namespace);
    yyjson_mut_obj_add_strcpy(doc, root, "eventTime", ek_time_format_micro(s->first_wall_ms, time));
    yyjson_mut_obj_add_str(doc, root, "type", event->warning ? "Warning" : "Normal");
    add_text(doc, root, "reason", event->reason, EK_EVENT_WORD_MAX);
    add_text(doc, root, "action", event->action, EK_EVENT_WORD_MAX);
    add_text(doc, root, "note", s->note, EK_EVENT_NOTE_MAX);
    yyjson_mut_obj_add_val(doc, root, "regarding", make_regarding(doc, &event->regarding));
    yyjson_mut_obj_add_str(doc, root, "reportingController", EK_EVENT_CONTROLLER);
    yyjson_mut_obj_add_str(doc, root, "reportingInstance", c->instance);
    if (s->count > 1)
        yyjson_mut_obj_add_val(doc, root, "series", make_series(doc, s, wall_ms));
    return finish(doc, root);
}

static char *make_update(const struct series *s, int64_t wall_ms)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_val(doc, root, "series", make_series(doc, s, wall_ms));
    return finish(doc, root);
}

/* Counts the event in its series, or starts one. */
static struct series *count_in_series(struct ek_event_correlator *c, const struct ek_event *event,
                                      const char *key, const char *note, int64_t now_ms,
                                      int64_t wall_ms)
{
    struct series *s = ek_lru_need(&c->series, key);

    if (s->count == 0 || now_ms - s->last_ms > EK_EVENT_WINDOW_MS) {
        *s = (struct series){.first_wall_ms = wall_ms};
        snprintf(s->note, sizeof s->note, "%s", note);
        make_name(c, text(event->regarding.name), wall_ms, s->name);
    }
    s->last_ms = now_ms;
    s->count++;
    return s;
}

void ek_event_correlate(struct ek_event_correlator *correlator, const struct ek_event *event,
                        int64_t now_ms, int64_t wall_ms, struct ek_event_write *ret_write)
{
    EK_AUTO(ek_buf) key, object;
    char note[EK_EVENT_NOTE_MAX + 1];

    *ret_write = (struct ek_event_write){.verdict = EK_EVENT_DROP};
    ek_buf_init(&key, KEY_MAX);
    ek_buf_init(&object, KEY_MAX);
    object_key(&object, event);
    similar_key(&key, event);
    copy_utf8(note, sizeof note, event->note);
    if (too_many_notes(correlator, ek_buf_str(&key), note, now_ms)) {
        EK_AUTOFREE char *combined = ek_xasprintf(COMBINED_PREFIX "%s", note);
        copy_utf8(note, sizeof note, combined);
    } else {
        ek_buf_printf(&key, "\x1f%s", note);
    }
    if (key.failed)
        return; /* names of many kilobytes: nothing the API server would accept */
    struct series *s = count_in_series(correlator, event, ek_buf_str(&key), note, now_ms, wall_ms);
    if (!take_token(correlator, ek_buf_str(&object), now_ms))
        return;
    const char *space = text(event->regarding.namespace);
    snprintf(ret_write->namespace, sizeof ret_write->namespace, "%s",
             *space ? space : EK_EVENT_CLUSTER_SPACE);
    memcpy(ret_write->name, s->name, sizeof s->name);
    ret_write->verdict = s->created ? EK_EVENT_UPDATE : EK_EVENT_CREATE;
    ret_write->create = make_create(correlator, event, s, ret_write, wall_ms);
    if (s->created)
        ret_write->update = make_update(s, wall_ms);
    s->created = true;
}
