/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the reflector, shared by its three files: reflector.c (states, runs, back-off),
 * reflector_list.c (pages and streaming lists), reflector_watch.c (watches).
 */
#ifndef INFORMERS_CACHE_REFLECTOR_INTERNAL_H
#define INFORMERS_CACHE_REFLECTOR_INTERNAL_H

#include "informers/cache/gather.h"
#include "informers/cache/reflector.h"
#include "informers/cache/store.h"

struct ek_reflector {
    struct ek_reflector_config config;
    enum ek_reflector_state state; /* written by transition__ only */
    int64_t entered_ms;
    unsigned long long entered[EK_REFLECTOR_STATE_MAX];
    unsigned long long lists, watches, events, failures, illegal;
    bool synced, served;
    struct ek_err err; /* of the last exchange */
    struct ek_err failure;
    int64_t failure_ms;
    int64_t timer_ms; /* when the timer is due, EK_TIME_UNSET for none */
    struct ek_reflector_transition history[EK_REFLECTOR_HISTORY]; /* a ring */
    size_t n_transitions;                                         /* ever */
    struct ek_backoff backoff;
    bool away;         /* the connection has failed since the last success */
    bool hastened;     /* the back-off was begun again since then */
    int64_t absent_ms; /* the next wait of NOT_SERVED; 0: as configured */
    struct ek_rand random;

    char *last_rv;            /* last seen resourceVersion, owned, never NULL */
    bool rv_unavailable;      /* last_rv was answered by Expired or "too large" (rule 1) */
    struct ek_gather fresh;   /* what a list under way has brought so far */
    struct ek_obj **replaced; /* lent to the last step's REPLACE */
    size_t n_replaced;

    /* A list under way. */
    char *list_rv;       /* of the request, owned */
    char *first_page_rv; /* the list's resourceVersion: the first page's (rule 3), owned */
    char *next;          /* continue token, owned */
    int64_t limit;
    size_t pages;          /* received in this attempt */
    bool paged;            /* some answer of this list came in pages */
    bool full;             /* restarted in one piece after an expired page (rule 3) */
    bool retried;          /* restarted at "" (rule 1) */
    bool paginated_result; /* the first RV=0 list came in pages: keep paging (rule 2) */

    /* A stream under way. */
    int64_t started_ms;  /* before the request (rule 5), or the end bookmark */
    int64_t deadline_ms; /* this side's, for the watch */
    int64_t progress_ms; /* last initial object of a streaming list */
    unsigned long long stream_events;
    bool rv_ordered;           /* event RVs may be taken (rule 6) */
    unsigned stream_attempts;  /* streaming lists without end bookmark, in a row */
    bool stream_refused;       /* list classically from now on (rule 12) */
    int64_t internal_first_ms; /* first and last of the InternalErrors in a row; first is */
    int64_t internal_last_ms;  /* EK_REFLECTOR_NEVER when there is none */
};

#define EK_REFLECTOR_NEVER INT64_MIN

/* One step: what handlers get. */
struct ek_reflector_step__ {
    struct ek_reflector *r;
    int64_t now_ms;
    const struct ek_reflector_event *event;
    struct ek_reflector_actions *out;
    const struct ek_err *wrong; /* what has gone wrong in this step, NULL for nothing yet */
};

/* reflector.c */
struct ek_reflector_action *ek_reflector_emit__(struct ek_reflector_step__ *s,
                                                enum ek_reflector_action_kind kind);
void ek_reflector_transition__(struct ek_reflector_step__ *s, enum ek_reflector_state state);
void ek_reflector_set_timer__(struct ek_reflector_step__ *s, int64_t ms);
void ek_reflector_illegal__(struct ek_reflector_step__ *s);
/* Keeps err as the last exchange's, counts it and reports it. */
void ek_reflector_failed__(struct ek_reflector_step__ *s, const struct ek_err *err);
void ek_reflector_succeeded__(struct ek_reflector_step__ *s);
/* Waits for the next run, or in state for a retry of the request alone. */
void ek_reflector_back_off__(struct ek_reflector_step__ *s, enum ek_reflector_state state);
void ek_reflector_end_run__(struct ek_reflector_step__ *s, const struct ek_err *err);
/* Emits REPLACE with the collected objects, as of rv, and notes success. */
void ek_reflector_replace__(struct ek_reflector_step__ *s, const char *rv);
void ek_reflector_drop_fresh__(struct ek_reflector *r);
void ek_reflector_set_str__(char **slot, const char *value);
bool ek_reflector_is_expired__(const struct ek_err *err);
bool ek_reflector_is_rv_unavailable__(const struct ek_err *err);
bool ek_reflector_is_busy__(const struct ek_err *err); /* refused or throttled (rule 8) */

/* reflector_list.c */
/* An optional resource is not served: the store becomes empty. */
void ek_reflector_not_served__(struct ek_reflector_step__ *s);
void ek_reflector_start_run__(struct ek_reflector_step__ *s);
void ek_reflector_start_stream__(struct ek_reflector_step__ *s);
void ek_reflector_on_streaming__(struct ek_reflector_step__ *s);
void ek_reflector_on_listing__(struct ek_reflector_step__ *s);

/* reflector_watch.c */
void ek_reflector_start_watch__(struct ek_reflector_step__ *s);
/* Goes on with the stream that brought the list (rule 10). */
void ek_reflector_continue_stream__(struct ek_reflector_step__ *s);
/* Emits START_WATCH with a random timeout and notes when and until when. */
void ek_reflector_request_watch__(struct ek_reflector_step__ *s, const char *rv, bool initial);
/* True when the stream brought nothing in less than a second (rule 8); then fills err. */
bool ek_reflector_was_short__(const struct ek_reflector_step__ *s, struct ek_err *err);
void ek_reflector_on_opening__(struct ek_reflector_step__ *s);
void ek_reflector_on_watching__(struct ek_reflector_step__ *s);

#endif
