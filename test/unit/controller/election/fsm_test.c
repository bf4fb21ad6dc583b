/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election, the rules: every script in test/fsm/election, the settings, the health check. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/election/fsm.h"
#include "test/support/fsm_script.h"
#include "test/support/suite.h"

#define WALL_START INT64_C(1795000000000)

struct world {
    struct ek_election_fsm fsm;
    int64_t wall_offset;
};

static const struct ek_election_settings defaults = {
    .identity = "a",
    .duration_ms = EK_ELECTION_DURATION_MS,
    .deadline_ms = EK_ELECTION_DEADLINE_MS,
    .retry_ms = EK_ELECTION_RETRY_MS,
    .seed = 1,
};

static void print_record(const char *verb, const struct ek_election_action *a, struct ek_buf *out)
{
    const struct ek_election_record *r = &a->record;
    ek_buf_printf(out,
                  "%s rv=%s holder=%s duration=%" PRId64 " acquire=%s renew=%s"
                  " transitions=%" PRId64 "\n",
                  verb, r->resource_version, r->holder, r->duration_s, r->acquire_time,
                  r->renew_time, r->transitions);
}

static void print_action(const struct world *w, const struct ek_election_action *a,
                         struct ek_buf *out)
{
    switch (a->type) {
    case EK_ELECTION_DO_CREATE:
        print_record("create", a, out);
        return;
    case EK_ELECTION_DO_UPDATE:
        print_record("update", a, out);
        return;
    case EK_ELECTION_DO_SET_TIMER:
        if (a->at_ms < 0)
            ek_buf_puts(out, "timer off\n");
        else
            ek_buf_printf(out, "timer @%" PRId64 "\n", a->at_ms);
        return;
    case EK_ELECTION_DO_NEW_LEADER:
        ek_buf_printf(out, "leader \"%s\"\n", a->record.holder);
        return;
    case EK_ELECTION_DO_END:
        ek_buf_printf(out, "end%s%s\n", w->fsm.lost ? " lost" : "",
                      w->fsm.released ? " released" : "");
        return;
    default:
        break;
    }
    static const char *const names[EK_ELECTION_ACTION_MAX] = {[EK_ELECTION_DO_GET] = "get",
                                                              [EK_ELECTION_DO_CANCEL] = "cancel",
                                                              [EK_ELECTION_DO_STARTED] = "started",
                                                              [EK_ELECTION_DO_STOPPED] = "stopped",
                                                              [EK_ELECTION_DO_SLOWPATH] =
                                                                  "slowpath"};
    ek_buf_printf(out, "%s\n", names[a->type]);
}

static void set_text(char *to, size_t size, const char *value)
{
    snprintf(to, size, "%s", value);
}

/* "holder=b duration=15 renew=r1 ..." over what our own write would have said. */
static void read_record(char *words, struct ek_election_record *r)
{
    char *save = NULL;
    for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        ck_assert_msg(value, "%s has no value", word);
        *value++ = '\0';
        if (!strcmp(word, "holder"))
            set_text(r->holder, sizeof r->holder, value);
        else if (!strcmp(word, "duration"))
            r->duration_s = strtoll(value, NULL, 10);
        else if (!strcmp(word, "acquire"))
            set_text(r->acquire_time, sizeof r->acquire_time, value);
        else if (!strcmp(word, "renew"))
            set_text(r->renew_time, sizeof r->renew_time, value);
        else if (!strcmp(word, "transitions"))
            r->transitions = strtoll(value, NULL, 10);
        else if (!strcmp(word, "rv"))
            set_text(r->resource_version, sizeof r->resource_version, value);
        else
            ck_abort_msg("unknown member %s", word);
    }
}

static int code_of(const char *name)
{
#define X(id, text)                                                                                \
    if (!strcmp(name, #id))                                                                        \
        return EK_E_##id;
    EK_ERRORS(X)
#undef X
    ck_abort_msg("unknown error %s", name);
    return 0;
}

static int read_event(char *verb, struct ek_election_event *event,
                      struct ek_election_record *record)
{
    char *rest = strchr(verb, ' ');
    if (rest)
        *rest++ = '\0';
    *record = (struct ek_election_record){.holder = "a", .duration_s = 15, .renew_time = "own"};
    event->record = record;
    if (!strcmp(verb, "start")) {
        event->type = EK_ELECTION_START;
    } else if (!strcmp(verb, "timer")) {
        event->type = EK_ELECTION_TIMER;
    } else if (!strcmp(verb, "stop")) {
        event->type = EK_ELECTION_STOP;
        event->release = rest && !strcmp(rest, "release");
    } else if (!strcmp(verb, "failed") && rest) {
        event->type = EK_ELECTION_FAILED;
        event->code = code_of(rest);
    } else if (!strcmp(verb, "got") || !strcmp(verb, "written")) {
        event->type = *verb == 'g' ? EK_ELECTION_GOT : EK_ELECTION_WRITTEN;
        read_record(rest, record);
    } else {
        return -1;
    }
    return 0;
}

static int feed(void *ctx, char *line, struct ek_buf *out)
{
    struct world *w = ctx;
    struct ek_election_event event = {0};
    struct ek_election_record record;
    struct ek_election_actions actions;
    char *rest = NULL;

    if (!strncmp(line, "wall ", 5)) {
        w->wall_offset = strtoll(line + 5, NULL, 10);
        return 0;
    }
    if (!strncmp(line, "leads @", 7)) {
        bool leads = ek_election_fsm_leads(&w->fsm, strtoll(line + 7, NULL, 10));
        return ek_buf_puts(out, leads ? "yes\n" : "no\n");
    }
    if (*line != '@')
        return -1;
    int64_t now = strtoll(line + 1, &rest, 10);
    if (*rest != ' ' || read_event(rest + 1, &event, &record))
        return -1;
    ek_election_fsm_step(&w->fsm, &event,
                         (struct ek_election_now){now, WALL_START + w->wall_offset + now},
                         &actions);
    for (size_t i = 0; i < actions.n; i++)
        print_action(w, &actions.items[i], out);
    ek_buf_printf(out, "= %s%s\n", ek_election_state_name(w->fsm.state),
                  w->fsm.leading ? " leading" : "");
    return 0;
}

static void run_script(void *ctx, const char *path)
{
    (void)ctx;
    struct world w = {0};
    char problem[1024];

    ek_election_fsm_init(&w.fsm, &defaults);
    if (ek_script_run(path, feed, &w, problem, sizeof problem))
        ck_abort_msg("%s", problem);
}

START_TEST(scripts)
{
    size_t n = ek_script_each(EK_TEST_DATA "/../fsm/election", run_script, NULL);
    ck_assert_msg(n >= 30, "only %zu scripts found", n);
}
END_TEST

static const struct settings_row {
    const char *name;
    const char *identity;
    int64_t duration, deadline, retry;
    const char *problem; /* part of the message, NULL when fine */
} settings_rows[] = {
    {"defaults", "a", 15000, 10000, 2000, NULL},
    {"just above 1.2 x retry", "a", 15000, 2401, 2000, NULL},
    {"exactly 1.2 x retry", "a", 15000, 2400, 2000, "1.2 times the retry"},
    {"deadline equals duration", "a", 10000, 10000, 2000, "greater than renew deadline"},
    {"deadline above duration", "a", 10000, 11000, 2000, "greater than renew deadline"},
    {"no identity", "", 15000, 10000, 2000, "identity"},
    {"zero retry", "a", 15000, 10000, 0, "above zero"},
    {"negative deadline", "a", 15000, -1, 2000, "above zero"},
    {"zero duration", "a", 0, 10000, 2000, "at least 1s"},
    {"duration below what a Lease can say", "a", 999, 500, 100, "at least 1s"},
    {"absurd duration", "a", INT64_C(2000000000), 10000, 2000, "below"},
};

START_TEST(settings)
{
    const struct settings_row *row = &settings_rows[_i];
    struct ek_election_settings s = {
        .duration_ms = row->duration, .deadline_ms = row->deadline, .retry_ms = row->retry};
    struct ek_err err = {0};

    set_text(s.identity, sizeof s.identity, row->identity);
    int rc = ek_election_settings_check(&s, &err);
    ck_assert_msg((rc == 0) == (row->problem == NULL), "%s: %d %s", row->name, rc, err.message);
    if (row->problem)
        ck_assert_msg(strstr(err.message, row->problem) != NULL, "%s: %s", row->name, err.message);
}
END_TEST

static void step(struct ek_election_fsm *fsm, enum ek_election_event_type type, int64_t now,
                 const struct ek_election_record *record)
{
    struct ek_election_event event = {.type = type, .record = record, .code = EK_E_NOENT};
    struct ek_election_actions actions;
    ek_election_fsm_step(fsm, &event, (struct ek_election_now){now, now}, &actions);
}

START_TEST(health)
{
    const struct ek_election_record own = {.holder = "a", .duration_s = 15};
    struct ek_election_fsm fsm;

    ek_election_fsm_init(&fsm, &defaults);
    ck_assert(ek_election_fsm_healthy(&fsm, 1000000, 0));
    step(&fsm, EK_ELECTION_START, 0, NULL);
    step(&fsm, EK_ELECTION_FAILED, 0, NULL);
    step(&fsm, EK_ELECTION_WRITTEN, 100, &own);
    ck_assert(ek_election_fsm_healthy(&fsm, 100 + 15000, 0));
    ck_assert(!ek_election_fsm_healthy(&fsm, 100 + 15001, 0));
    ck_assert(ek_election_fsm_healthy(&fsm, 100 + 35000, 20000));
    ck_assert(!ek_election_fsm_healthy(&fsm, 100 + 35001, 20000));
}
END_TEST

START_TEST(request_timeout)
{
    struct ek_election_settings s = defaults;
    ck_assert_int_eq(ek_election_request_timeout_ms(&s), 5000);
    s.deadline_ms = 1500;
    ck_assert_int_eq(ek_election_request_timeout_ms(&s), 1000);
}
END_TEST

/* The waits of a candidate lie in [2 s, 4.4 s), spread over it, and follow from the seed. */
START_TEST(jitter)
{
    int64_t low = INT64_MAX, high = 0, first[2][3];

    for (int run = 0; run < 2; run++) {
        struct ek_election_settings s = defaults;
        struct ek_election_fsm fsm;
        s.seed = 42;
        ek_election_fsm_init(&fsm, &s);
        step(&fsm, EK_ELECTION_START, 0, NULL);
        int64_t now = 0;
        for (int i = 0; i < 500; i++) {
            struct ek_election_event failed = {.type = EK_ELECTION_FAILED, .code = EK_E_NET};
            struct ek_election_actions actions;
            ek_election_fsm_step(&fsm, &failed, (struct ek_election_now){now, now}, &actions);
            int64_t wait = fsm.next_try_at - now;
            low = wait < low ? wait : low;
            high = wait > high ? wait : high;
            if (i < 3)
                first[run][i] = wait;
            now = fsm.next_try_at;
            step(&fsm, EK_ELECTION_TIMER, now, NULL);
        }
    }
    ck_assert_msg(low >= 2000 && low < 2100, "shortest wait %" PRId64, low);
    ck_assert_msg(high < 4400 && high > 4300, "longest wait %" PRId64, high);
    ck_assert_mem_eq(first[0], first[1], sizeof first[0]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rules");
    tcase_add_test(tc, scripts);
    tcase_add_loop_test(tc, settings, 0, (int)EK_ARRAY_SIZE(settings_rows));
    tcase_add_test(tc, health);
    tcase_add_test(tc, request_timeout);
    tcase_add_test(tc, jitter);
    return ek_test_run("election_fsm", tc);
}
