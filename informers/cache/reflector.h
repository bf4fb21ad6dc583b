/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reflector: the state machine that keeps a store true to one resource of an API server.
 *
 * It is a pure step function: an event and the time go in, actions come out as data. The caller
 * (informers/cache/informer.h, or a test) does the I/O. It decides what to list and to watch, with
 * which resourceVersion, when to back off and when to fall back; the rules are those of client-go
 * (tools/cache/reflector.go; streaming lists: KEP-3157), numbered below.
 *
 * Lists:
 *    1. The first list uses resourceVersion 0, later ones the last known. After Expired or "too
 *       large resource version" the next list uses "".
 *    2. Pages hold 500 objects for resourceVersion "" and 0. Other lists have no limit, unless the
 *       first list came in pages.
 *    3. Later pages send continue and limit only. When a later page has expired, the list restarts
 *       without a limit. The resourceVersion of a list is that of its first page.
 *    4. The store gets the result of a list as one replacement.
 * Watches:
 *    5. A watch requests bookmarks and a random timeout. Its clock starts before the request.
 *    6. Every event sets the last resourceVersion, but not the ADDED events that a watch from "" or
 *       0 starts with: these have no order.
 *    7. An ERROR event ends the stream: Expired lists again at the last resourceVersion, 429 backs
 *       off and watches again, InternalError watches again for a limited time, others list again.
 *    8. Connection refused and 429 back off and watch again without a list. A watch of less than
 *       a second without an event is an error.
 *    9. Chunks are not frames: an object may span chunks (informers/cache/framer.h).
 * Streaming lists:
 *   10. The store is replaced at the bookmark with the annotation k8s.io/initial-events-end, and
 *       the same stream goes on as the watch.
 *   11. Connection refused and 429 back off and retry. Expired retries with "". Other errors fall
 *       back to a list for this run.
 *   12. Some servers and proxies never send that bookmark: a deadline ends the stream.
 *
 * Model. A "run" brings the content and then watches; when a run ends the reflector backs off and
 * starts the next. At most one request and one timer exist at any time:
 *
 *   IDLE -> STREAMING (sendInitialEvents) -> WATCHING -> ... -> BACKOFF -> next run
 *              |  falls back                    ^  | ends
 *              v                                |  v
 *           LISTING (pages) --------------> OPENING (re-watch)
 *
 * Deviations from client-go, on purpose:
 * - The streaming list has a deadline; after two streams without the end bookmark the resource is
 *   listed classically for good (rule 12).
 * - A watch has a deadline on this side too: a peer that died silently is noticed.
 * - 429 and 5xx answers with Retry-After come here unretried; the longer of Retry-After and the
 *   back-off is waited. InternalError in a stream backs off before the re-watch.
 * - The first answer of 4xx, but 429, after the connection has failed starts the back-off again: a
 *   server that starts refuses what it will allow in a moment (RBAC, and tokens of
 *   ServiceAccounts).
 * - 404 for an optional resource means "not served", also as the answer to a watch: the store is
 *   empty and synced, and the next run comes after a minute, without growth.
 * - What happens to the CustomResourceDefinition of an optional resource is an event (DEFINITION).
 *   A resource that is not served is then requested after 250 ms, and while that answers 404, after
 *   twice as long each time. Where the definition is gone, an open watch ends and a run begins:
 *   kube-apiserver ends the watches of the kind only after it has waited for the requests in flight
 *   (apiextensions-apiserver/pkg/apiserver/customresource_handler.go:tearDown).
 *
 * Ownership: the reflector owns all it hands out; actions and what they point to are borrowed
 * until the next step. Events lend what they point to for the call. Threading: none.
 */
#ifndef INFORMERS_CACHE_REFLECTOR_H
#define INFORMERS_CACHE_REFLECTOR_H

#include "informers/cache/decode.h"
#include "informers/queue/backoff.h"

struct ek_reflector;

/* The states; each comment states when the state is entered, what it waits for and how it ends. */
#define EK_REFLECTOR_STATES(X)                                                                     \
    /* Born; waits for START. */                                                                   \
    X(IDLE)                                                                                        \
    /* A streaming list was requested; collects objects until the end bookmark (-> WATCHING), the  \
       deadline or an error (-> again, STREAM_BACKOFF or LISTING). */                              \
    X(STREAMING)                                                                                   \
    /* A streaming list was refused or throttled; waits for the timer (-> STREAMING). */           \
    X(STREAM_BACKOFF)                                                                              \
    /* A page was requested; collects pages until the last (-> OPENING) or an error (-> again,     \
       BACKOFF, NOT_SERVED). */                                                                    \
    X(LISTING)                                                                                     \
    /* A watch was requested; waits for its answer (-> WATCHING, WATCH_BACKOFF, BACKOFF). */       \
    X(OPENING)                                                                                     \
    /* A watch is open; applies its events until it ends (-> OPENING, WATCH_BACKOFF, BACKOFF). */  \
    X(WATCHING)                                                                                    \
    /* A watch was refused or throttled; waits for the timer (-> OPENING, without a list). */      \
    X(WATCH_BACKOFF)                                                                               \
    /* A run ended; waits for the timer (-> STREAMING or LISTING). */                              \
    X(BACKOFF)                                                                                     \
    /* An optional resource answered 404; waits for the timer (-> as from BACKOFF). */             \
    X(NOT_SERVED)                                                                                  \
    /* STOP was taken; final. */                                                                   \
    X(STOPPED)

enum ek_reflector_state {
#define X(name) EK_REFLECTOR_##name,
    EK_REFLECTOR_STATES(X)
#undef X
        EK_REFLECTOR_STATE_MAX,
};

/* The name of a state, "WATCHING"; constant. */
const char *ek_reflector_state_name(enum ek_reflector_state state);

#define EK_REFLECTOR_EVENTS(X)                                                                     \
    X(START)                                                                                       \
    X(LIST_PAGE)    /* page */                                                                     \
    X(LIST_FAILED)  /* err: a transport error, an HTTP status, an undecodable page */              \
    X(WATCH_OPEN)   /* a 2xx answer has begun; may be left out */                                  \
    X(WATCH_FRAME)  /* frame */                                                                    \
    X(WATCH_EOF)    /* the server ended the stream in good order */                                \
    X(WATCH_FAILED) /* err: could not open, broke, or sent what cannot be decoded */               \
    X(TIMER)        /* the time of the last SET_TIMER has come */                                  \
    X(DEFINITION)   /* the CustomResourceDefinition of the resource has changed, or is gone */     \
    X(STOP)

enum ek_reflector_event_kind {
#define X(name) EK_EVENT_##name,
    EK_REFLECTOR_EVENTS(X)
#undef X
        EK_EVENT_MAX,
};

struct ek_reflector_event {
    enum ek_reflector_event_kind kind;
    const struct ek_list_page *page;
    const struct ek_watch_frame *frame;
    const struct ek_err *err;
    bool gone; /* DEFINITION */
};

enum ek_reflector_action_kind {
    EK_ACTION_START_LIST,     /* GET the collection with list's parameters */
    EK_ACTION_START_WATCH,    /* GET the stream with watch's parameters */
    EK_ACTION_CANCEL_REQUEST, /* drop the request under way; nothing of it may come as an event */
    EK_ACTION_REPLACE,        /* the store's whole content is items, as of rv */
    EK_ACTION_PUT,            /* obj is new or changed */
    EK_ACTION_REMOVE,         /* obj is gone */
    EK_ACTION_SET_RV,         /* the store is at rv */
    EK_ACTION_SET_TIMER,      /* TIMER in ms from now, instead of any earlier; -1: no timer */
    EK_ACTION_REPORT,         /* err: something went wrong, for a log; the machine goes on */
    EK_ACTION_MAX,
};

struct ek_list_query {
    const char *resource_version;       /* "" to leave the parameter out */
    const char *resource_version_match; /* as above; reflectors list without it */
    const char *next;                   /* continue, "" for the first page */
    int64_t limit;                      /* 0 to leave it out */
    int64_t timeout_ms;                 /* for the whole exchange */
};

struct ek_watch_query {
    const char *resource_version; /* "" to leave the parameter out */
    bool send_initial_events;     /* with resourceVersionMatch=NotOlderThan */
    int64_t timeout_s;            /* timeoutSeconds; allowWatchBookmarks is always true */
};

struct ek_reflector_action {
    enum ek_reflector_action_kind kind;
    union {
        struct ek_list_query list;
        struct ek_watch_query watch;
        struct {
            struct ek_obj *const *items;
            size_t n;
            const char *rv;
        } replace;
        struct ek_obj *obj;       /* PUT, REMOVE */
        const char *rv;           /* SET_RV */
        int64_t timer_ms;         /* SET_TIMER */
        const struct ek_err *err; /* REPORT */
    };
};

#define EK_REFLECTOR_ACTIONS_MAX 8

/* What a step wants done, in order. */
struct ek_reflector_actions {
    struct ek_reflector_action items[EK_REFLECTOR_ACTIONS_MAX];
    size_t n;
};

struct ek_reflector_config {
    bool optional;               /* 404 is an answer: not served */
    bool streaming;              /* try the streaming list first */
    uint64_t seed;               /* of jitter and watch timeouts */
    size_t max_objects;          /* a list beyond this is EK_E_LIMIT */
    int64_t page_size;           /* limit of a paged list */
    int64_t list_timeout_ms;     /* for one page */
    int64_t watch_timeout_min_s; /* timeoutSeconds is random in [min, 2 * min) */
    int64_t watch_grace_ms;      /* beyond timeoutSeconds, before the peer counts as dead */
    int64_t initial_idle_ms;     /* of a streaming list, since its last initial object */
    int64_t initial_total_ms;    /* of a streaming list, until its end bookmark */
    int64_t internal_retry_ms;   /* MaxInternalErrorRetryDuration (rule 7) */
    int64_t not_served_retry_ms;
    struct ek_backoff_config backoff;
};

#define EK_REFLECTOR_STREAM_ATTEMPTS 2 /* streams without end bookmark before it is given up */
#define EK_REFLECTOR_PAGES_MAX       10000

/* The defaults: client-go's numbers, 250,000 objects, streaming on. */
struct ek_reflector_config ek_reflector_config_default(void);

/* One change of state, for the debug report. */
struct ek_reflector_transition {
    enum ek_reflector_state from, to;
    enum ek_reflector_event_kind cause; /* the event that was taken */
    int64_t at_ms;                      /* time of the step */
    int code;                           /* EK_E_* of what went wrong, 0 for nothing */
    char why[160];                      /* its message, cut; "" for nothing */
};

#define EK_REFLECTOR_HISTORY 16

/* How it is doing; strings and errors are borrowed until the next step. */
struct ek_reflector_status {
    enum ek_reflector_state state;
    int64_t entered_ms; /* time of the step that entered state */
    int64_t timer_ms; /* when the timer is due: the next try, or a deadline; EK_TIME_UNSET: none */
    bool synced;      /* the first REPLACE happened */
    bool served;      /* false in and while retrying from NOT_SERVED */
    const char *last_rv;
    const struct ek_err *err;     /* of the last exchange, code 0 when it went well */
    const struct ek_err *failure; /* the last thing that went wrong, code 0 before; stays */
    int64_t failure_ms;           /* and when */
    unsigned long long lists, watches, events, failures; /* requests, requests, frames, errors */
    unsigned long long illegal;                          /* events that the state did not expect */
    const unsigned long long *entered;                   /* per state, how often entered */
};

struct ek_reflector *ek_reflector_new(const struct ek_reflector_config *config, int64_t now_ms);
void ek_reflector_free(struct ek_reflector *reflector);

/*
 * Takes one event at now_ms (monotonic, any origin) and fills ret_actions. An event that the state
 * does not expect is counted and otherwise ignored; after STOP everything is. Never fails.
 */
void ek_reflector_step(struct ek_reflector *reflector, int64_t now_ms,
                       const struct ek_reflector_event *event,
                       struct ek_reflector_actions *ret_actions);

/*
 * Whether a wait after a failure may end at now_ms (by TIMER), where there is reason to believe
 * that the API server is back: at once when the connection failed; a second later, or after its
 * Retry-After, when the server answered 429 or 5xx, as one that stops does, or another 4xx to what
 * it has allowed before the connection failed, as one that starts does. Other answers to the
 * request itself are waited for.
 */
bool ek_reflector_may_hurry(const struct ek_reflector *reflector, int64_t now_ms);

void ek_reflector_status(const struct ek_reflector *reflector,
                         struct ek_reflector_status *ret_status);

/* The i-th last change of state, 0 for the newest; NULL beyond the last EK_REFLECTOR_HISTORY.
 * Borrowed until the next step. */
const struct ek_reflector_transition *
ek_reflector_transition_at(const struct ek_reflector *reflector, size_t i);

/* The name of an event, "LIST_FAILED"; constant. */
const char *ek_reflector_event_name(enum ek_reflector_event_kind kind);

#endif
