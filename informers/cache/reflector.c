/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/reflector-internal.h"

#include <assert.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/base/time.h"

/* A server may ask for patience, but not for ever. */
#define RETRY_AFTER_MAX_MS 300000

/* How soon a resource is requested whose definition has changed. */
#define DEFINITION_MS 250

/* A server that refuses requests is requested no sooner. */
#define HURRY_MS 1000

static const char *const state_names[EK_REFLECTOR_STATE_MAX] = {
#define X(name) #name,
    EK_REFLECTOR_STATES(X)
#undef X
};

const char *ek_reflector_state_name(enum ek_reflector_state state)
{
    return state_names[state];
}

const char *ek_reflector_event_name(enum ek_reflector_event_kind kind)
{
    static const char *const names[EK_EVENT_MAX] = {
#define X(name) #name,
        EK_REFLECTOR_EVENTS(X)
#undef X
    };
    return names[kind];
}

struct ek_reflector_config ek_reflector_config_default(void)
{
    return (struct ek_reflector_config){
        .streaming = true,
        .max_objects = 250000,
        .page_size = 500,
        .list_timeout_ms = 90000,
        .watch_timeout_min_s = 300,
        .watch_grace_ms = 10000,
        .initial_idle_ms = 30000,
        .initial_total_ms = 300000,
        .internal_retry_ms = 30000,
        .not_served_retry_ms = 60000,
        .backoff = EK_BACKOFF_REFLECTOR,
    };
}

struct ek_reflector *ek_reflector_new(const struct ek_reflector_config *config, int64_t now_ms)
{
    struct ek_reflector *r = ek_xalloc(sizeof *r);

    r->config = *config;
    r->random.state = config->seed;
    ek_backoff_init(&r->backoff, &config->backoff, ek_rand_next(&r->random), now_ms);
    r->entered_ms = now_ms;
    r->served = true;
    r->timer_ms = EK_TIME_UNSET;
    r->internal_first_ms = r->internal_last_ms = EK_REFLECTOR_NEVER;
    r->last_rv = ek_xstrdup("");
    r->list_rv = ek_xstrdup("");
    r->first_page_rv = ek_xstrdup("");
    r->next = ek_xstrdup("");
    return r;
}

static void release_replaced(struct ek_reflector *r)
{
    ek_snapshot_free(r->replaced, r->n_replaced);
    r->replaced = NULL;
    r->n_replaced = 0;
}

void ek_reflector_free(struct ek_reflector *r)
{
    if (!r)
        return;
    release_replaced(r);
    ek_gather_clear(&r->fresh);
    ek_free(r->last_rv);
    ek_free(r->list_rv);
    ek_free(r->first_page_rv);
    ek_free(r->next);
    ek_free(r);
}

struct ek_reflector_action *ek_reflector_emit__(struct ek_reflector_step__ *s,
                                                enum ek_reflector_action_kind kind)
{
    assert(s->out->n < EK_REFLECTOR_ACTIONS_MAX);
    struct ek_reflector_action *action = &s->out->items[s->out->n++];
    *action = (struct ek_reflector_action){.kind = kind};
    return action;
}

/* What an event says went wrong, NULL for nothing. */
static const struct ek_err *error_of(const struct ek_reflector_event *event)
{
    if (event->kind == EK_EVENT_WATCH_FRAME)
        return event->frame->type == EK_WATCH_ERROR ? &event->frame->status : NULL;
    return event->err;
}

static void remember(struct ek_reflector_step__ *s, enum ek_reflector_state to)
{
    struct ek_reflector_transition *t =
        &s->r->history[s->r->n_transitions++ % EK_REFLECTOR_HISTORY];
    const struct ek_err *wrong = s->wrong ? s->wrong : error_of(s->event);

    *t = (struct ek_reflector_transition){
        .from = s->r->state, .to = to, .cause = s->event->kind, .at_ms = s->now_ms};
    if (!wrong)
        return;
    struct ek_str why = ek_str_from(wrong->message);
    t->code = wrong->code;
    memcpy(t->why, why.p, ek_utf8_cut(why, sizeof t->why - 1));
}

void ek_reflector_transition__(struct ek_reflector_step__ *s, enum ek_reflector_state state)
{
    remember(s, state);
    s->r->state = state;
    s->r->entered_ms = s->now_ms;
    s->r->entered[state]++;
}

void ek_reflector_set_timer__(struct ek_reflector_step__ *s, int64_t ms)
{
    ek_reflector_emit__(s, EK_ACTION_SET_TIMER)->timer_ms = ms;
    s->r->timer_ms = ms < 0 ? EK_TIME_UNSET : s->now_ms + ms;
}

void ek_reflector_illegal__(struct ek_reflector_step__ *s)
{
    s->r->illegal++;
}

void ek_reflector_set_str__(char **slot, const char *value)
{
    char *copy = ek_xstrdup(value);
    ek_free(*slot);
    *slot = copy;
}

static bool is_of_connection(const struct ek_err *err)
{
    return err->http_status < 400 &&
           (err->code == EK_E_NET || err->code == EK_E_REFUSED || err->code == EK_E_TIMEOUT);
}

/* The server does not allow the request, or does not know what it is about. */
static bool is_of_request(const struct ek_err *err)
{
    return err->http_status >= 400 && err->http_status < 500 && err->http_status != 429;
}

void ek_reflector_failed__(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    s->r->away = s->r->away || is_of_connection(err);
    /* A server that is back, and still starts, may refuse what it will allow in a moment: the wait
     * for it is not as long as its absence made the waits. */
    if (s->r->away && !s->r->hastened && is_of_request(err)) {
        ek_backoff_reset(&s->r->backoff);
        s->r->hastened = true;
    }
    s->r->err = *err;
    s->r->failure = *err;
    s->r->failure_ms = s->now_ms;
    s->r->failures++;
    s->wrong = &s->r->err;
    ek_reflector_emit__(s, EK_ACTION_REPORT)->err = &s->r->err;
}

void ek_reflector_succeeded__(struct ek_reflector_step__ *s)
{
    s->r->err = (struct ek_err){0};
    s->r->away = s->r->hastened = false;
}

void ek_reflector_back_off__(struct ek_reflector_step__ *s, enum ek_reflector_state state)
{
    int64_t delay = ek_backoff_next(&s->r->backoff, s->now_ms);
    int64_t asked = s->r->err.retry_after_ms;

    if (asked > RETRY_AFTER_MAX_MS)
        asked = RETRY_AFTER_MAX_MS;
    ek_reflector_set_timer__(s, delay > asked ? delay : asked);
    ek_reflector_transition__(s, state);
}

void ek_reflector_end_run__(struct ek_reflector_step__ *s, const struct ek_err *err)
{
    ek_reflector_drop_fresh__(s->r);
    ek_reflector_failed__(s, err);
    ek_reflector_back_off__(s, EK_REFLECTOR_BACKOFF);
}

void ek_reflector_drop_fresh__(struct ek_reflector *r)
{
    ek_gather_clear(&r->fresh);
}

void ek_reflector_replace__(struct ek_reflector_step__ *s, const char *rv)
{
    struct ek_reflector *r = s->r;

    r->replaced = ek_gather_take(&r->fresh, &r->n_replaced);
    ek_reflector_set_str__(&r->last_rv, rv);
    r->synced = true;
    ek_reflector_succeeded__(s);
    struct ek_reflector_action *action = ek_reflector_emit__(s, EK_ACTION_REPLACE);
    action->replace.items = r->replaced;
    action->replace.n = r->n_replaced;
    action->replace.rv = r->last_rv;
}

bool ek_reflector_is_expired__(const struct ek_err *err)
{
    return err->code == EK_E_GONE;
}

/* The cause ResourceVersionTooLarge does not get into an ek_err, but the message has said the same
 * since 1.16, and client-go also looks for it there. */
bool ek_reflector_is_rv_unavailable__(const struct ek_err *err)
{
    return ek_reflector_is_expired__(err) ||
           (err->code == EK_E_TIMEOUT && strstr(err->message, "Too large resource version"));
}

bool ek_reflector_is_busy__(const struct ek_err *err)
{
    return err->code == EK_E_REFUSED || err->code == EK_E_THROTTLED;
}

static void on_start_only(struct ek_reflector_step__ *s)
{
    if (s->event->kind == EK_EVENT_START)
        ek_reflector_start_run__(s);
    else
        ek_reflector_illegal__(s);
}

static void on_backoff(struct ek_reflector_step__ *s)
{
    if (s->event->kind == EK_EVENT_TIMER)
        ek_reflector_start_run__(s);
    else
        ek_reflector_illegal__(s);
}

static void on_stream_backoff(struct ek_reflector_step__ *s)
{
    if (s->event->kind == EK_EVENT_TIMER)
        ek_reflector_start_stream__(s);
    else
        ek_reflector_illegal__(s);
}

static void on_watch_backoff(struct ek_reflector_step__ *s)
{
    if (s->event->kind == EK_EVENT_TIMER)
        ek_reflector_start_watch__(s);
    else
        ek_reflector_illegal__(s);
}

static void on_definition(struct ek_reflector_step__ *s)
{
    struct ek_reflector *r = s->r;

    if (!r->config.optional)
        return;
    r->absent_ms = DEFINITION_MS;
    switch (r->state) {
    case EK_REFLECTOR_NOT_SERVED:
        if (r->timer_ms > s->now_ms + DEFINITION_MS)
            ek_reflector_set_timer__(s, DEFINITION_MS);
        break;
    case EK_REFLECTOR_OPENING:
    case EK_REFLECTOR_WATCHING:
        if (!s->event->gone)
            break;
        ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
        ek_reflector_start_run__(s);
        break;
    default: /* a request is under way, or will be */
        break;
    }
}

static void stop(struct ek_reflector_step__ *s)
{
    switch (s->r->state) {
    case EK_REFLECTOR_STREAMING:
    case EK_REFLECTOR_LISTING:
    case EK_REFLECTOR_OPENING:
    case EK_REFLECTOR_WATCHING:
        ek_reflector_emit__(s, EK_ACTION_CANCEL_REQUEST);
        break;
    default:
        break;
    }
    ek_reflector_drop_fresh__(s->r);
    ek_reflector_set_timer__(s, -1);
    ek_reflector_transition__(s, EK_REFLECTOR_STOPPED);
}

void ek_reflector_step(struct ek_reflector *r, int64_t now_ms,
                       const struct ek_reflector_event *event,
                       struct ek_reflector_actions *ret_actions)
{
    static void (*const handlers[EK_REFLECTOR_STATE_MAX])(struct ek_reflector_step__ *) = {
        [EK_REFLECTOR_IDLE] = on_start_only,
        [EK_REFLECTOR_STREAMING] = ek_reflector_on_streaming__,
        [EK_REFLECTOR_STREAM_BACKOFF] = on_stream_backoff,
        [EK_REFLECTOR_LISTING] = ek_reflector_on_listing__,
        [EK_REFLECTOR_OPENING] = ek_reflector_on_opening__,
        [EK_REFLECTOR_WATCHING] = ek_reflector_on_watching__,
        [EK_REFLECTOR_WATCH_BACKOFF] = on_watch_backoff,
        [EK_REFLECTOR_BACKOFF] = on_backoff,
        [EK_REFLECTOR_NOT_SERVED] = on_backoff,
        [EK_REFLECTOR_STOPPED] = ek_reflector_illegal__,
    };
    struct ek_reflector_step__ s = {.r = r, .now_ms = now_ms, .event = event, .out = ret_actions};

    ret_actions->n = 0;
    release_replaced(r);
    if (event->kind == EK_EVENT_STOP && r->state != EK_REFLECTOR_STOPPED)
        stop(&s);
    else if (event->kind == EK_EVENT_DEFINITION && r->state != EK_REFLECTOR_STOPPED)
        on_definition(&s);
    else
        handlers[r->state](&s);
}

bool ek_reflector_may_hurry(const struct ek_reflector *r, int64_t now_ms)
{
    const struct ek_err *err = &r->err;
    int64_t asked_ms = err->retry_after_ms > HURRY_MS ? err->retry_after_ms : HURRY_MS;

    if (r->state != EK_REFLECTOR_BACKOFF && r->state != EK_REFLECTOR_STREAM_BACKOFF &&
        r->state != EK_REFLECTOR_WATCH_BACKOFF)
        return false;
    bool starts = r->synced && r->hastened && is_of_request(err);
    if (starts || err->http_status == 429 || err->http_status >= 500)
        return now_ms - r->entered_ms >= asked_ms;
    return is_of_connection(err);
}

void ek_reflector_status(const struct ek_reflector *r, struct ek_reflector_status *ret_status)
{
    *ret_status = (struct ek_reflector_status){
        .state = r->state,
        .entered_ms = r->entered_ms,
        .synced = r->synced,
        .served = r->served,
        .last_rv = r->last_rv,
        .err = &r->err,
        .failure = &r->failure,
        .failure_ms = r->failure_ms,
        .timer_ms = r->timer_ms,
        .lists = r->lists,
        .watches = r->watches,
        .events = r->events,
        .failures = r->failures,
        .illegal = r->illegal,
        .entered = r->entered,
    };
}

const struct ek_reflector_transition *ek_reflector_transition_at(const struct ek_reflector *r,
                                                                 size_t i)
{
    if (i >= r->n_transitions || i >= EK_REFLECTOR_HISTORY)
        return NULL;
    return &r->history[(r->n_transitions - 1 - i) % EK_REFLECTOR_HISTORY];
}
