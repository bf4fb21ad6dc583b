/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reflector against scripts: test/fsm/reflector, one script per rule
 * (informers/cache/reflector.h). Input lines:
 *
 *   config streaming=0 optional=1   first, optional; jitter is off unless jitter=1
 *   [+MS] EVENT ARGS                time passes, then the event is stepped
 *   check key=value ...             the status at this point (rv err synced served illegal);
 * answers with what differs, so with nothing
 *
 * The machine answers with its actions in order, then with "state NAME" when that has changed.
 * Objects are written name@resourceVersion.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "informers/cache/reflector.h"
#include "test/support/fsm_script.h"
#include "test/support/suite.h"

#define SCRIPTS     EK_TEST_DATA "/../fsm/reflector"
#define SCRIPTS_MAX 100

struct script {
    struct ek_reflector *reflector;
    int64_t now_ms;
    int64_t watch_deadline_ms; /* of the last watch requested */
    struct ek_buf *transcript; /* the answer to the present line */
};

static const struct {
    const char *name;
    int code;
} codes[] = {
#define X(name, text) {#name, EK_E_##name},
    EK_ERRORS(X)
#undef X
};

static const char *code_name(int code)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(codes); i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "";
}

static struct ek_obj *make_obj(const char *spec, const char *annotations)
{
    char json[256];
    struct ek_obj *obj;
    const char *at = strchr(spec, '@');

    ck_assert_msg(at != NULL, "not name@rv: %s", spec);
    int n = snprintf(json, sizeof json,
                     "{\"metadata\":{\"name\":\"%.*s\",\"resourceVersion\":\"%s\"%s}}",
                     (int)(at - spec), spec, at + 1, annotations);
    ck_assert_int_eq(ek_obj_parse(json, (size_t)n, &obj, NULL), 0);
    return obj;
}

/* The value of key= among words, NULL when absent. */
static const char *arg(char **words, const char *key)
{
    size_t len = strlen(key);

    for (; *words; words++)
        if (!strncmp(*words, key, len) && (*words)[len] == '=')
            return *words + len + 1;
    return NULL;
}

static struct ek_err make_err(char **words)
{
    struct ek_err err = {0};

    for (size_t i = 0; words[0] && i < EK_ARRAY_SIZE(codes); i++)
        if (!strcmp(codes[i].name, words[0]))
            err.code = codes[i].code;
    ck_assert_msg(err.code != 0, "unknown error %s", words[0]);
    const char *http = arg(words, "http"), *after = arg(words, "retry-after");
    err.http_status = http ? (int)strtol(http, NULL, 10) : 0;
    err.retry_after_ms = after ? (int)strtol(after, NULL, 10) : 0;
    snprintf(err.message, sizeof err.message, "%s",
             arg(words, "too-large") ? "Timeout: Too large resource version: 9, current: 1" : "x");
    return err;
}

static void write_objects(struct ek_buf *out, struct ek_obj *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, " %s@%s", ek_obj_name(items[i]), ek_obj_resource_version(items[i]));
    ek_buf_puts(out, "\n");
}

static void write_list(struct ek_buf *out, const struct ek_list_query *list)
{
    ek_buf_puts(out, "list");
    if (*list->next)
        ek_buf_printf(out, " next=%s", list->next);
    if (*list->resource_version || !*list->next)
        ek_buf_printf(out, " rv=%s", list->resource_version);
    if (*list->resource_version_match)
        ek_buf_printf(out, " match=%s", list->resource_version_match);
    if (list->limit)
        ek_buf_printf(out, " limit=%d", (int)list->limit);
    ek_buf_puts(out, "\n");
}

static void write_timer(struct script *script, int64_t ms)
{
    if (ms < 0)
        ek_buf_puts(script->transcript, "timer off\n");
    else if (script->now_ms + ms == script->watch_deadline_ms)
        ek_buf_puts(script->transcript, "timer watch-deadline\n");
    else
        ek_buf_printf(script->transcript, "timer %lld\n", (long long)ms);
}

static void write_action(struct script *script, const struct ek_reflector_action *action)
{
    struct ek_buf *out = script->transcript;

    switch (action->kind) {
    case EK_ACTION_START_LIST:
        write_list(out, &action->list);
        break;
    case EK_ACTION_START_WATCH:
        script->watch_deadline_ms = script->now_ms + 1000 * action->watch.timeout_s + 10000;
        ck_assert_int_ge(action->watch.timeout_s, 300);
        ck_assert_int_lt(action->watch.timeout_s, 600);
        ek_buf_printf(out, "watch rv=%s%s\n", action->watch.resource_version,
                      action->watch.send_initial_events ? " initial" : "");
        break;
    case EK_ACTION_CANCEL_REQUEST:
        ek_buf_puts(out, "cancel\n");
        break;
    case EK_ACTION_REPLACE:
        ek_buf_printf(out, "replace rv=%s", action->replace.rv);
        write_objects(out, action->replace.items, action->replace.n);
        break;
    case EK_ACTION_PUT:
    case EK_ACTION_REMOVE:
        ek_buf_puts(out, action->kind == EK_ACTION_PUT ? "put" : "remove");
        write_objects(out, &action->obj, 1);
        break;
    case EK_ACTION_SET_RV:
        ek_buf_printf(out, "rv %s\n", action->rv);
        break;
    case EK_ACTION_SET_TIMER:
        write_timer(script, action->timer_ms);
        break;
    case EK_ACTION_REPORT:
        ek_buf_printf(out, "report %s\n", code_name(action->err->code));
        break;
    default:
        ck_abort_msg("unknown action");
    }
}

static void step(struct script *script, const struct ek_reflector_event *event)
{
    struct ek_reflector_actions actions;
    struct ek_reflector_status before, after;

    ek_reflector_status(script->reflector, &before);
    ek_reflector_step(script->reflector, script->now_ms, event, &actions);
    for (size_t i = 0; i < actions.n; i++)
        write_action(script, &actions.items[i]);
    ek_reflector_status(script->reflector, &after);
    if (before.state != after.state)
        ek_buf_printf(script->transcript, "state %s\n", ek_reflector_state_name(after.state));
}

static void step_page(struct script *script, char **words)
{
    struct ek_obj *items[16];
    struct ek_list_page page = {.items = items};
    const char *rv = arg(words, "rv"), *next = arg(words, "next");

    page.resource_version = ek_xstrdup(rv ? rv : "");
    page.next = ek_xstrdup(next ? next : "");
    for (; *words; words++)
        if (strchr(*words, '@'))
            items[page.n++] = make_obj(*words, "");
    step(script, &(struct ek_reflector_event){.kind = EK_EVENT_LIST_PAGE, .page = &page});
    for (size_t i = 0; i < page.n; i++)
        ek_obj_unref(items[i]);
    ek_free(page.resource_version);
    ek_free(page.next);
}

static void step_frame(struct script *script, enum ek_watch_type type, struct ek_obj *obj)
{
    struct ek_watch_frame frame = {.type = type, .obj = obj};

    step(script, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_FRAME, .frame = &frame});
    ek_watch_frame_done(&frame);
}

static void step_bookmark(struct script *script, const char *rv, bool end)
{
    char spec[64];

    snprintf(spec, sizeof spec, "@%s", rv);
    step_frame(
        script, EK_WATCH_BOOKMARK,
        make_obj(spec, end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : ""));
}

static void step_error(struct script *script, enum ek_reflector_event_kind kind, char **words)
{
    struct ek_err err = make_err(words);
    struct ek_watch_frame frame = {.type = EK_WATCH_ERROR, .status = err};

    step(script, &(struct ek_reflector_event){.kind = kind, .err = &err, .frame = &frame});
}

static void run_event(struct script *script, char **words)
{
    static const struct {
        const char *name;
        enum ek_reflector_event_kind kind;
    } plain[] = {
        {"start", EK_EVENT_START},     {"stop", EK_EVENT_STOP},     {"timer", EK_EVENT_TIMER},
        {"open", EK_EVENT_WATCH_OPEN}, {"eof", EK_EVENT_WATCH_EOF},
    };
    if (*words && **words == '+')
        script->now_ms += (int)strtol(*words++ + 1, NULL, 10);
    const char *name = *words ? *words++ : "";
    for (size_t i = 0; i < EK_ARRAY_SIZE(plain); i++) {
        if (!strcmp(name, plain[i].name)) {
            step(script, &(struct ek_reflector_event){.kind = plain[i].kind});
            return;
        }
    }
    if (!strcmp(name, "page"))
        step_page(script, words);
    else if (!strcmp(name, "definition") || !strcmp(name, "definition-gone"))
        step(script, &(struct ek_reflector_event){.kind = EK_EVENT_DEFINITION,
                                                  .gone = !strcmp(name, "definition-gone")});
    else if (!strcmp(name, "list-failed"))
        step_error(script, EK_EVENT_LIST_FAILED, words);
    else if (!strcmp(name, "watch-failed"))
        step_error(script, EK_EVENT_WATCH_FAILED, words);
    else if (!strcmp(name, "error"))
        step_error(script, EK_EVENT_WATCH_FRAME, words);
    else if (!strcmp(name, "added"))
        step_frame(script, EK_WATCH_ADDED, make_obj(words[0], ""));
    else if (!strcmp(name, "modified"))
        step_frame(script, EK_WATCH_MODIFIED, make_obj(words[0], ""));
    else if (!strcmp(name, "deleted"))
        step_frame(script, EK_WATCH_DELETED, make_obj(words[0], ""));
    else if (!strcmp(name, "unknown"))
        step_frame(script, EK_WATCH_UNKNOWN, NULL);
    else if (!strcmp(name, "bookmark") || !strcmp(name, "end-bookmark"))
        step_bookmark(script, words[0], *name == 'e');
    else
        ck_abort_msg("unknown event %s", name);
}

static struct ek_reflector *make_reflector(char **words)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    const char *value;

    config.seed = 1;
    config.streaming = !(value = arg(words, "streaming")) || *value == '1';
    config.optional = (value = arg(words, "optional")) && *value == '1';
    config.backoff.jitter = (value = arg(words, "jitter")) ? strtod(value, NULL) : 0;
    if ((value = arg(words, "max-objects")))
        config.max_objects = (size_t)strtol(value, NULL, 10);
    return ek_reflector_new(&config, 0);
}

static void check_status(struct script *script, char **words)
{
    struct ek_reflector_status status;

    ek_reflector_status(script->reflector, &status);
    for (; *words; words++) {
        char text[128], *value = strchr(*words, '=');
        size_t len = (size_t)(value - *words) + 1;
        ck_assert(value != NULL);
        if (!strncmp(*words, "rv=", len))
            snprintf(text, sizeof text, "rv=%s", status.last_rv);
        else if (!strncmp(*words, "err=", len))
            snprintf(text, sizeof text, "err=%s", code_name(status.err->code));
        else if (!strncmp(*words, "synced=", len))
            snprintf(text, sizeof text, "synced=%d", status.synced);
        else if (!strncmp(*words, "served=", len))
            snprintf(text, sizeof text, "served=%d", status.served);
        else
            snprintf(text, sizeof text, "illegal=%llu", status.illegal);
        if (strcmp(text, *words) != 0)
            ek_buf_printf(script->transcript, "%s\n", text);
    }
}

static int run_line(void *ctx, char *line, struct ek_buf *out)
{
    struct script *script = ctx;
    char *words[24], *save = NULL;
    size_t n = 0;

    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (n < EK_ARRAY_SIZE(words) - 1)
            words[n++] = word;
    words[n] = NULL;
    if (!n)
        return -1;
    script->transcript = out;
    bool config = !strcmp(words[0], "config");
    if (!script->reflector)
        script->reflector = make_reflector(config ? words : &words[n]);
    if (!strcmp(words[0], "check"))
        check_status(script, words + 1);
    else if (!config)
        run_event(script, words);
    return 0;
}

static char *scripts[SCRIPTS_MAX];
static int n_scripts;

static void note_script(void *ctx, const char *path)
{
    (void)ctx;
    if (n_scripts == SCRIPTS_MAX) {
        fprintf(stderr, "more than %d scripts\n", SCRIPTS_MAX);
        exit(EXIT_FAILURE);
    }
    scripts[n_scripts++] = ek_xstrdup(path);
}

START_TEST(a_script_gives_its_transcript)
{
    struct script script = {0};
    char problem[512] = "";

    int rc = ek_script_run(scripts[_i], run_line, &script, problem, sizeof problem);
    ek_reflector_free(script.reflector);
    ck_assert_msg(rc == 0, "%s", problem);
}
END_TEST

/* Rule 5: timeouts are spread over [5, 10) minutes, differently for each seed. */
/* A list or a watch fails so at time 0; from when on the wait may end. */
static const struct {
    const char *label;
    struct ek_err err;
    bool watch;      /* a watch after a list; else the list */
    int64_t from_ms; /* -1: never before its time */
} hurries[] = {
    {"refused list", {.code = EK_E_REFUSED}, false, 0},
    {"refused watch", {.code = EK_E_REFUSED}, true, 0},
    {"broken list", {.code = EK_E_NET}, false, 0},
    {"cut list", {.code = EK_E_NET, .http_status = 200}, false, 0},
    {"silent list", {.code = EK_E_TIMEOUT}, false, 0},
    {"bad certificate", {.code = EK_E_TLS}, false, -1},
    {"unauthorized", {.code = EK_E_UNAUTHORIZED, .http_status = 401}, false, -1},
    {"forbidden", {.code = EK_E_FORBIDDEN, .http_status = 403}, false, -1},
    {"stopping", {.code = EK_E_SERVER, .http_status = 503}, false, 1000},
    {"timeout of the server", {.code = EK_E_TIMEOUT, .http_status = 504}, false, 1000},
    {"throttled", {.code = EK_E_THROTTLED, .http_status = 429}, true, 1000},
    {"throttled for longer",
     {.code = EK_E_THROTTLED, .http_status = 429, .retry_after_ms = 7000},
     true,
     7000},
    {"garbage", {.code = EK_E_PARSE, .http_status = 200}, false, -1},
};

START_TEST(waits_may_end_in_a_hurry)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    struct ek_reflector_actions actions;
    char rv[] = "5", next[] = "";
    struct ek_list_page page = {.resource_version = rv, .next = next};
    int64_t from_ms = hurries[_i].from_ms;

    config.streaming = false;
    config.seed = 1;
    config.backoff = (struct ek_backoff_config){.initial_ms = 30000, .max_ms = 30000, .factor = 1};
    struct ek_reflector *r = ek_reflector_new(&config, 0);
    ck_assert(!ek_reflector_may_hurry(r, 0));
    ek_reflector_step(r, 0, &(struct ek_reflector_event){.kind = EK_EVENT_START}, &actions);
    ck_assert(!ek_reflector_may_hurry(r, 100000));
    if (hurries[_i].watch)
        ek_reflector_step(r, 0,
                          &(struct ek_reflector_event){.kind = EK_EVENT_LIST_PAGE, .page = &page},
                          &actions);
    ek_reflector_step(r, 0,
                      &(struct ek_reflector_event){.kind = hurries[_i].watch ? EK_EVENT_WATCH_FAILED
                                                                             : EK_EVENT_LIST_FAILED,
                                                   .err = &hurries[_i].err},
                      &actions);
    ck_assert_msg(ek_reflector_may_hurry(r, from_ms < 0 ? 100000 : from_ms) == (from_ms >= 0), "%s",
                  hurries[_i].label);
    ck_assert_msg(!from_ms || !ek_reflector_may_hurry(r, from_ms - 1), "%s", hurries[_i].label);
    ek_reflector_step(r, from_ms, &(struct ek_reflector_event){.kind = EK_EVENT_TIMER}, &actions);
    ck_assert(!ek_reflector_may_hurry(r, 100000));
    ek_reflector_free(r);
}
END_TEST

/* An API server that was away for a while and then answers so while it starts, until it allows what
 * it has allowed before; somebody misses it all the time. */
static const struct {
    const char *label;
    struct ek_err first, then; /* the first answer, and the others */
    bool synced;               /* it has allowed the request before */
    bool was_away;             /* its connections have failed */
    bool soon;                 /* what is then due */
} starts[] = {
    {"forbidden",
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     true,
     true,
     true},
    {"unauthorized",
     {.code = EK_E_UNAUTHORIZED, .http_status = 401},
     {.code = EK_E_UNAUTHORIZED, .http_status = 401},
     true,
     true,
     true},
    {"unavailable, then forbidden",
     {.code = EK_E_SERVER, .http_status = 503},
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     true,
     true,
     true},
    {"never allowed",
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     false,
     true,
     false},
    {"never away",
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     {.code = EK_E_FORBIDDEN, .http_status = 403},
     true,
     false,
     false},
};

#define AWAY_MS  120000
#define START_MS 40000
#define LOOK_MS  250 /* as ek_proxy_recheck_next */

/* The answer to what the reflector requests, which there may be none of. */
static void answer_start(struct ek_reflector *r, int64_t now_ms, int row, int n_answers,
                         struct ek_reflector_actions *actions)
{
    static const struct ek_err refused = {.code = EK_E_REFUSED};
    char rv[] = "5", next[] = "";
    struct ek_list_page page = {.resource_version = rv, .next = next};
    struct ek_reflector_event event = {.kind = EK_EVENT_MAX};
    bool list = false;

    for (size_t i = 0; i < actions->n; i++) {
        if (actions->items[i].kind != EK_ACTION_START_LIST &&
            actions->items[i].kind != EK_ACTION_START_WATCH)
            continue;
        list = actions->items[i].kind == EK_ACTION_START_LIST;
        event.kind = list ? EK_EVENT_LIST_FAILED : EK_EVENT_WATCH_FAILED;
    }
    if (event.kind == EK_EVENT_MAX)
        return;
    event.err = now_ms < AWAY_MS && starts[row].was_away ? &refused
                : n_answers == 0                         ? &starts[row].first
                                                         : &starts[row].then;
    bool allows = now_ms < 0 ? starts[row].synced : now_ms >= AWAY_MS + START_MS;
    if (allows) {
        event.kind = list ? EK_EVENT_LIST_PAGE : EK_EVENT_WATCH_OPEN;
        event.page = &page;
        event.err = NULL;
    }
    ek_reflector_step(r, now_ms, &event, actions);
    answer_start(r, now_ms, row, n_answers, actions);
}

START_TEST(finds_a_server_that_starts_slowly)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    const struct ek_err lost = {.code = EK_E_NET};
    struct ek_reflector_actions actions;
    struct ek_reflector_status status;
    int64_t now_ms = -AWAY_MS;
    int n_answers = 0;

    config.streaming = false;
    config.seed = 7;
    struct ek_reflector *r = ek_reflector_new(&config, now_ms);
    ek_reflector_step(r, now_ms, &(struct ek_reflector_event){.kind = EK_EVENT_START}, &actions);
    answer_start(r, now_ms, _i, 0, &actions);
    ek_reflector_status(r, &status);
    ck_assert_int_eq(status.state == EK_REFLECTOR_WATCHING, starts[_i].synced);
    const struct ek_reflector_event end = {
        .kind = starts[_i].was_away ? EK_EVENT_WATCH_FAILED : EK_EVENT_WATCH_EOF, .err = &lost};
    now_ms = 0;
    if (starts[_i].synced) {
        ek_reflector_step(r, now_ms, &end, &actions);
        answer_start(r, now_ms, _i, 0, &actions);
    }
    ek_reflector_status(r, &status);
    for (; status.state != EK_REFLECTOR_WATCHING; now_ms += LOOK_MS) {
        if (now_ms >= status.timer_ms || ek_reflector_may_hurry(r, now_ms)) {
            ek_reflector_step(r, now_ms, &(struct ek_reflector_event){.kind = EK_EVENT_TIMER},
                              &actions);
            answer_start(r, now_ms, _i, n_answers, &actions);
            n_answers += now_ms >= AWAY_MS;
        }
        ek_reflector_status(r, &status);
    }
    ck_assert_msg((now_ms <= AWAY_MS + START_MS + 1000 + 2 * LOOK_MS) == starts[_i].soon,
                  "%s: %lld", starts[_i].label, (long long)(now_ms - AWAY_MS - START_MS));
    ck_assert_msg(n_answers <= START_MS / 1000 + 5, "%s: %d", starts[_i].label, n_answers);
    ek_reflector_free(r);
}
END_TEST

START_TEST(watch_timeouts_are_spread)
{
    int64_t low = INT64_MAX, high = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct ek_reflector_config config = ek_reflector_config_default();
        struct ek_reflector_actions actions;
        config.seed = seed;
        struct ek_reflector *r = ek_reflector_new(&config, 0);
        ek_reflector_step(r, 0, &(struct ek_reflector_event){.kind = EK_EVENT_START}, &actions);
        ck_assert_int_eq(actions.items[0].kind, EK_ACTION_START_WATCH);
        int64_t timeout = actions.items[0].watch.timeout_s;
        low = timeout < low ? timeout : low;
        high = timeout > high ? timeout : high;
        ek_reflector_free(r);
    }
    ck_assert_int_ge(low, 300);
    ck_assert_int_lt(low, 310);
    ck_assert_int_gt(high, 590);
    ck_assert_int_lt(high, 600);
}
END_TEST

/* The next event of a random walk; what it lends lives in the caller's frame. */
static struct ek_reflector_event random_event(struct ek_rand *rand, struct ek_list_page *page,
                                              struct ek_watch_frame *frame, struct ek_err *err)
{
    struct ek_reflector_event event = {.page = page, .frame = frame, .err = err};

    event.kind = (enum ek_reflector_event_kind)(ek_rand_next(rand) % EK_EVENT_STOP);
    err->code = -(int)(1 + ek_rand_next(rand) % EK_ARRAY_SIZE(codes));
    err->http_status = ek_rand_next(rand) % 2 ? 500 : 0;
    frame->type = (enum ek_watch_type)(ek_rand_next(rand) % EK_WATCH_TYPE_MAX);
    frame->status = *err;
    page->next = ek_rand_next(rand) % 3 ? (char *)(uintptr_t) "" : (char *)(uintptr_t) "more";
    return event;
}

/* Whatever comes, there is never more than one request, and always something to wait for. */
START_TEST(a_random_walk_never_stalls)
{
    struct ek_rand rand = {(uint64_t)_i};
    struct ek_reflector_config config = ek_reflector_config_default();
    struct ek_reflector_actions actions;
    bool request = false, timer = false;
    int64_t now = 0;

    config.seed = (uint64_t)_i;
    config.optional = _i % 2;
    struct ek_reflector *r = ek_reflector_new(&config, 0);
    ek_reflector_step(r, now, &(struct ek_reflector_event){.kind = EK_EVENT_START}, &actions);
    request = timer = true;
    for (int i = 0; i < 2000; i++) {
        struct ek_obj *obj = make_obj("a@5", "");
        struct ek_list_page page = {.items = &obj, .n = 1, .resource_version = (char[]){"7"}};
        struct ek_watch_frame frame = {.obj = obj};
        struct ek_err err = {0};
        struct ek_reflector_event event = random_event(&rand, &page, &frame, &err);
        struct ek_reflector_status status;

        ek_reflector_status(r, &status);
        unsigned long long illegal = status.illegal;
        now += (int64_t)(ek_rand_next(&rand) % 100000);
        ek_reflector_step(r, now, &event, &actions);
        ek_reflector_status(r, &status);
        bool taken = status.illegal == illegal;
        if (taken && (event.kind == EK_EVENT_LIST_PAGE || event.kind == EK_EVENT_LIST_FAILED ||
                      event.kind == EK_EVENT_WATCH_EOF || event.kind == EK_EVENT_WATCH_FAILED))
            request = false;
        if (taken && event.kind == EK_EVENT_TIMER)
            timer = false;
        for (size_t a = 0; a < actions.n; a++) {
            enum ek_reflector_action_kind kind = actions.items[a].kind;
            if (kind == EK_ACTION_CANCEL_REQUEST) {
                ck_assert_msg(request, "cancel without a request");
                request = false;
            } else if (kind == EK_ACTION_START_LIST || kind == EK_ACTION_START_WATCH) {
                ck_assert_msg(!request, "two requests at once");
                request = true;
            } else if (kind == EK_ACTION_SET_TIMER) {
                timer = actions.items[a].timer_ms >= 0;
            }
        }
        ck_assert_msg(request || timer, "stalled in %s", ek_reflector_state_name(status.state));
        ek_obj_unref(obj);
    }
    ek_reflector_step(r, now, &(struct ek_reflector_event){.kind = EK_EVENT_STOP}, &actions);
    ek_reflector_free(r);
}
END_TEST

int main(void)
{
    if (!ek_script_each(SCRIPTS, note_script, NULL)) {
        fprintf(stderr, "no scripts in %s\n", SCRIPTS);
        return EXIT_FAILURE;
    }
    TCase *tcase = tcase_create("scripts");
    tcase_add_loop_test(tcase, a_script_gives_its_transcript, 0, n_scripts);
    tcase_add_loop_test(tcase, waits_may_end_in_a_hurry, 0, (int)EK_ARRAY_SIZE(hurries));
    tcase_add_loop_test(tcase, finds_a_server_that_starts_slowly, 0, (int)EK_ARRAY_SIZE(starts));
    tcase_add_test(tcase, watch_timeouts_are_spread);
    tcase_add_loop_test(tcase, a_random_walk_never_stalls, 0, 20);
    int code = ek_test_run("reflector", tcase);
    while (n_scripts)
        ek_free(scripts[--n_scripts]);
    return code;
}
