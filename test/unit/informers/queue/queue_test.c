/* SPDX-License-Identifier: Apache-2.0 */
/* The work queue: its rules by scripts in one line each, then random operations against a model. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "informers/queue/backoff.h"
#include "informers/queue/queue.h"
#include "test/support/queue.h"
#include "test/support/suite.h"

/*
 * A script is words: +K add, +K:P with priority, ~K:MS add after, !K rate-limited, dK done,
 * fK forget, @MS set the time, ^ shut down. Each "g" gets a key and is answered by it ("-" for
 * none), "n" by the time to the next ready one, "r" K by its requeues, "?" by depth/waiting/
 * processing, "s" by drained or open.
 */
static const struct {
    const char *name;
    const char *script;
    const char *answers;
} rows[] = {
    {"first come first served", "+a +b +c g g g g", "a b c - "},
    {"a dirty key is queued once", "+a +b +a g g g", "a b - "},
    {"an event during processing is not lost", "+a g +a g da g da g", "a - a - "},
    {"many events during processing are one", "+a g +a +a +a da g da g", "a a - "},
    {"other keys go on meanwhile", "+a g +a +b g g db da g", "a b - a "},
    {"a key that became dirty first is first after its processing", "+a g +a +b da g g", "a a b "},
    {"done of what is not processed", "da +a da g da da g", "a - "},
    {"higher priority first", "+a:0 +b:5 +c:-100 +d:5 g g g g", "b d a c "},
    {"touch raises the priority", "+a +b +c +c:1 g g g", "c a b "},
    {"touch never lowers it", "+a:5 +b:4 +a:-100 g g", "a b "},
    {"a raised key is last of its level", "+a:1 +b:0 +c:1 +b:1 g g g", "a c b "},
    {"raised while processing", "+a g +a:0 +a:9 +b:5 da g g", "a a b "},
    {"after done the priority is that of the next add", "+a:9 g da +b:1 +a:0 g g", "a b a "},
    {"later", "~a:100 g n @99 g n @100 n g n", "- 100 - 1 0 a -1 "},
    {"not positive means now", "~a:0 ~b:-5 g g n", "a b -1 "},
    {"the earlier time wins", "~a:100 ~a:50 n @50 g n", "50 a -1 "},
    {"the later time is ignored", "~a:50 ~a:100 @50 g n", "a -1 "},
    {"an add takes the wait's place", "~a:50 +a g da @50 g n", "a - -1 "},
    {"a wait keeps the higher priority", "~a:50 ~b:50 @10 ~b:60 @60 g g", "a b "},
    {"waiting with priorities", "~a:50:1 ~a:60:7 +b:5 @50 g g", "a b "},
    {"in the order of their times", "~a:30 ~b:20 ~c:10 @100 g g g", "c b a "},
    {"same time, in order of adding", "~b:10 ~a:10 @10 g g", "b a "},
    {"time comes during processing", "+a g ~a:10 n @10 g n da n g", "a 10 - -1 0 a "},
    {"waiting is not dirty", "~a:10 ? @10 ? g ?", "0/1/0 0/1/0 a 0/0/1 "},
    {"depth counts what is dirty while processed", "+a +b ? g ? +a ? da ?",
     "2/0/0 a 1/0/1 2/0/1 2/0/0 "},
    {"rate limited: 5 ms and doubling", "!a n @5 g da !a n @15 g da !a n ra", "5 a 10 a 20 3 "},
    {"forget starts anew", "!a @5 g fa da ra !a n", "a 0 5 "},
    {"keys back off alone", "!a !a !b n @5 g n", "5 a 0 "},
    {"shut down: no more adds, the rest is handed out", "+a +b ^ +c g g g", "a b - "},
    {"shut down drops what waits", "~a:10 ^ @10 g n s", "- -1 drained "},
    {"drained after the last done", "+a g s ^ s da s", "a open open drained "},
    {"shut down keeps an event during processing", "+a g +a ^ da s g da s", "a open a drained "},
};

struct run {
    struct ek_queue *queue;
    int64_t now;
    struct ek_buf answers;
};

/* Splits "K:NUMBER:NUMBER". */
static void split(char *word, long *first, long *second)
{
    char *colon = strchr(word, ':');

    *first = *second = 0;
    if (!colon)
        return;
    *colon = '\0';
    *first = strtol(colon + 1, &colon, 10);
    if (*colon == ':')
        *second = strtol(colon + 1, NULL, 10);
}

static void answer_stats(struct run *run)
{
    struct ek_queue_stats stats;

    ek_queue_stats(run->queue, run->now, &stats);
    ek_buf_printf(&run->answers, "%zu/%zu/%zu ", stats.depth, stats.waiting, stats.processing);
}

/* Shut down, and nothing is ready or being processed any more. */
static void answer_shutdown(struct run *run)
{
    struct ek_queue_stats stats;

    ek_queue_stats(run->queue, run->now, &stats);
    bool drained =
        ek_queue_is_shutting_down(run->queue) && stats.depth == 0 && stats.processing == 0;
    ek_buf_puts(&run->answers, drained ? "drained " : "open ");
}

static void do_word(struct run *run, char *word)
{
    long first, second;
    const char *key;

    split(word, &first, &second);
    switch (*word) {
    case '+':
        ek_queue_add(run->queue, word + 1, (int)first, run->now);
        break;
    case '~':
        ek_queue_add_after(run->queue, word + 1, (int)second, first, run->now);
        break;
    case '!':
        ek_queue_add_rate_limited(run->queue, word + 1, (int)first, run->now);
        break;
    case 'd':
        ek_queue_done(run->queue, word + 1, run->now);
        break;
    case 'f':
        ek_queue_forget(run->queue, word + 1);
        break;
    case '@':
        run->now = strtol(word + 1, NULL, 10);
        break;
    case '^':
        ek_queue_shutdown(run->queue);
        ck_assert(ek_queue_is_shutting_down(run->queue));
        break;
    case 'g':
        key = ek_queue_get(run->queue, run->now, NULL);
        ek_buf_printf(&run->answers, "%s ", key ? key : "-");
        break;
    case 'n':
        ek_buf_printf(&run->answers, "%lld ",
                      (long long)ek_queue_next_ready_ms(run->queue, run->now));
        break;
    case 'r':
        ek_buf_printf(&run->answers, "%u ", test_queue_requeues(run->queue, word + 1));
        break;
    case '?':
        answer_stats(run);
        break;
    case 's':
        answer_shutdown(run);
        break;
    default:
        ck_abort_msg("unknown word %s", word);
    }
}

START_TEST(a_script_gives_its_answers)
{
    struct ek_queue_config config = EK_QUEUE_CONFIG_DEFAULT;
    struct run run = {.queue = ek_queue_new(&config)};
    char script[256], *save = NULL;

    ek_buf_init(&run.answers, 4096);
    snprintf(script, sizeof script, "%s", rows[_i].script);
    for (char *word = strtok_r(script, " ", &save); word; word = strtok_r(NULL, " ", &save))
        do_word(&run, word);
    ck_assert_msg(!strcmp(ek_buf_str(&run.answers), rows[_i].answers), "%s: %s", rows[_i].name,
                  ek_buf_str(&run.answers));
    ek_buf_done(&run.answers);
    ek_queue_free(run.queue);
}
END_TEST

START_TEST(retries_stop_growing_at_the_nineteenth)
{
    struct ek_queue_config config = EK_QUEUE_CONFIG_DEFAULT;
    struct ek_queue *queue = ek_queue_new(&config);
    int64_t now = 0, expected = 5;

    for (int i = 1; i <= 25; i++) {
        ek_queue_add_rate_limited(queue, "a", 0, now);
        ck_assert_int_eq(ek_queue_next_ready_ms(queue, now), i >= 19 ? 1000000 : expected);
        expected *= 2;
        now += 1000000;
        const char *key = ek_queue_get(queue, now, NULL);
        ck_assert_str_eq(key, "a");
        ek_queue_done(queue, key, now);
    }
    ek_queue_free(queue);
}
END_TEST

struct durations {
    int64_t waited, worked;
    int priority;
};

static void on_get(void *ctx, int priority, int64_t waited_ms)
{
    struct durations *durations = ctx;
    durations->priority = priority;
    durations->waited = waited_ms;
}

static void on_done(void *ctx, int64_t worked_ms)
{
    ((struct durations *)ctx)->worked = worked_ms;
}

static void note_depth(void *ctx, int priority, size_t depth)
{
    ek_buf_printf(ctx, "%d:%zu ", priority, depth);
}

START_TEST(metrics_are_told)
{
    struct durations durations = {0};
    struct ek_queue_config config = EK_QUEUE_CONFIG_DEFAULT;
    struct ek_queue_stats stats;
    struct ek_buf depths;

    config.on_get = on_get;
    config.on_done = on_done;
    config.ctx = &durations;
    struct ek_queue *queue = ek_queue_new(&config);
    ek_queue_add(queue, "a", EK_QUEUE_PRIORITY_INITIAL, 10);
    ek_queue_add(queue, "b", EK_QUEUE_PRIORITY_INITIAL, 10);
    ek_queue_add(queue, "c", 7, 10);
    ek_queue_add_after(queue, "d", 0, 10, 10);
    ek_buf_init(&depths, 256);
    ek_queue_depths(queue, note_depth, &depths);
    ck_assert_str_eq(ek_buf_str(&depths), "7:1 -100:2 ");
    ck_assert_str_eq(ek_queue_get(queue, 15, NULL), "c");
    ck_assert_int_eq(durations.waited, 5);
    ck_assert_int_eq(durations.priority, 7);
    ck_assert_str_eq(ek_queue_get(queue, 25, NULL), "d"); /* ready since 20 */
    ck_assert_int_eq(durations.waited, 5);
    ek_queue_stats(queue, 40, &stats);
    ck_assert_int_eq(stats.unfinished_ms, 25 + 15);
    ck_assert_int_eq(stats.longest_ms, 25);
    ck_assert_uint_eq(stats.adds, 4);
    ck_assert_uint_eq(stats.retries, 1);
    ck_assert_uint_eq(stats.processing, 2);
    ek_queue_done(queue, "c", 45);
    ck_assert_int_eq(durations.worked, 30);
    ek_buf_done(&depths);
    ek_queue_free(queue);
}
END_TEST

/* ---- random operations against a model: arrays that are searched ---- */

#define KEYS 8

struct model {
    struct {
        bool dirty, processing, waiting;
        int priority;
        int64_t ready;
        unsigned failures;
        unsigned long long seq;
    } keys[KEYS];
    unsigned long long seq;
};

static void model_promote(struct model *m, int64_t now)
{
    for (;;) {
        int first = -1;
        for (int i = 0; i < KEYS; i++)
            if (m->keys[i].waiting && m->keys[i].ready <= now &&
                (first < 0 || m->keys[i].ready < m->keys[first].ready ||
                 (m->keys[i].ready == m->keys[first].ready && m->keys[i].seq < m->keys[first].seq)))
                first = i;
        if (first < 0)
            return;
        m->keys[first].waiting = false;
        m->keys[first].dirty = true;
        m->keys[first].seq = ++m->seq;
    }
}

static void model_add(struct model *m, int i, int priority, int64_t delay, int64_t now)
{
    model_promote(m, now);
    bool known = m->keys[i].dirty || m->keys[i].waiting;
    bool raised = priority > m->keys[i].priority;
    if (m->keys[i].dirty) {
        if (raised)
            m->keys[i].seq = ++m->seq;
    } else if (delay <= 0) {
        m->keys[i].dirty = true;
        m->keys[i].waiting = false;
        m->keys[i].seq = ++m->seq;
    } else if (!m->keys[i].waiting) {
        m->keys[i].waiting = true;
        m->keys[i].ready = now + delay;
        m->keys[i].seq = ++m->seq;
    } else if (now + delay < m->keys[i].ready) {
        m->keys[i].ready = now + delay;
    }
    if (!known || raised)
        m->keys[i].priority = priority;
}

static int model_get(struct model *m, int64_t now)
{
    int best = -1;

    model_promote(m, now);
    for (int i = 0; i < KEYS; i++) {
        if (!m->keys[i].dirty || m->keys[i].processing)
            continue;
        if (best < 0 || m->keys[i].priority > m->keys[best].priority ||
            (m->keys[i].priority == m->keys[best].priority && m->keys[i].seq < m->keys[best].seq))
            best = i;
    }
    if (best >= 0) {
        m->keys[best].dirty = false;
        m->keys[best].processing = true;
    }
    return best;
}

static void random_add(struct model *m, struct ek_queue *queue, struct ek_rand *rand, int i,
                       int64_t now)
{
    char key[2] = {(char)('a' + i)};
    int priority = (int)(ek_rand_next(rand) % 3) - 1;
    int64_t delay = 0;

    switch (ek_rand_next(rand) % 3) {
    case 0:
        ek_queue_add(queue, key, priority, now);
        break;
    case 1:
        delay = (int64_t)(ek_rand_next(rand) % 60) - 5;
        ek_queue_add_after(queue, key, priority, delay, now);
        break;
    default:
        delay = (int64_t)5 << (m->keys[i].failures < 17 ? m->keys[i].failures : 17);
        m->keys[i].failures++;
        ek_queue_add_rate_limited(queue, key, priority, now);
    }
    model_add(m, i, priority, delay, now);
}

START_TEST(random_operations_match_the_model)
{
    struct ek_rand rand = {(uint64_t)_i + 100};
    struct ek_queue_config config = EK_QUEUE_CONFIG_DEFAULT;
    struct ek_queue *queue = ek_queue_new(&config);
    struct model m = {0};
    int64_t now = 0;

    for (int step = 0; step < 3000; step++) {
        int i = (int)(ek_rand_next(&rand) % KEYS);
        char name[2] = {(char)('a' + i)};
        now += (int64_t)(ek_rand_next(&rand) % 10);
        switch (ek_rand_next(&rand) % 6) {
        case 0:
        case 1:
            random_add(&m, queue, &rand, i, now);
            break;
        case 2:
        case 3: {
            const char *key = ek_queue_get(queue, now, NULL);
            int want = model_get(&m, now);
            ck_assert_msg((key ? key[0] - 'a' : -1) == want, "step %d: got %s, want %d", step,
                          key ? key : "nothing", want);
            break;
        }
        case 4:
            ek_queue_done(queue, name, now);
            m.keys[i].processing = false;
            break;
        default:
            if (ek_rand_next(&rand) % 4 == 0) {
                ek_queue_forget(queue, name);
                m.keys[i].failures = 0;
            }
        }
        ck_assert_uint_eq(test_queue_requeues(queue, name), m.keys[i].failures);
    }
    ek_queue_free(queue);
}
END_TEST

/* ---- keys are ready at their time ---- */

#define NEVER INT64_MAX

/* Of each key: by when it is to be handed out, NEVER for not at all. */
struct wishes {
    int64_t by[KEYS];
    bool processing[KEYS];
};

static void wish(struct wishes *w, int i, int64_t at_ms)
{
    if (at_ms < w->by[i])
        w->by[i] = at_ms;
}

static void ask(struct ek_queue *queue, struct wishes *w, struct ek_rand *rand, int i, int64_t now)
{
    const char key[2] = {(char)('a' + i)};
    int64_t delay = (int64_t)(ek_rand_next(rand) % 200) + 1;
    unsigned failures = test_queue_requeues(queue, key);

    switch (ek_rand_next(rand) % 3) {
    case 0:
        ek_queue_add(queue, key, 0, now);
        wish(w, i, now);
        break;
    case 1:
        ek_queue_add_after(queue, key, 0, delay, now);
        wish(w, i, now + delay);
        break;
    default:
        ek_queue_add_rate_limited(queue, key, 0, now);
        wish(w, i, now + ((int64_t)5 << failures));
    }
}

/* Hands out what is ready; each key that is due and not under way must be among it, and none else.
 */
static void hand_out(struct ek_queue *queue, struct wishes *w, int64_t now)
{
    for (const char *key; (key = ek_queue_get(queue, now, NULL));) {
        int i = key[0] - 'a';
        ck_assert_msg(!w->processing[i], "%s is handed out twice", key);
        ck_assert_msg(w->by[i] <= now, "%s is handed out before its time", key);
        w->by[i] = NEVER;
        w->processing[i] = true;
    }
    for (int i = 0; i < KEYS; i++)
        ck_assert_msg(w->processing[i] || w->by[i] > now, "%c is lost", 'a' + i);
}

START_TEST(no_wish_is_lost)
{
    struct ek_rand rand = {(uint64_t)_i + 1000};
    struct ek_queue_config config = EK_QUEUE_CONFIG_DEFAULT;
    struct ek_queue *queue = ek_queue_new(&config);
    struct wishes w = {0};
    int64_t now = 0;

    for (int i = 0; i < KEYS; i++)
        w.by[i] = NEVER;
    for (int step = 0; step < 3000; step++) {
        int i = (int)(ek_rand_next(&rand) % KEYS);
        char key[2] = {(char)('a' + i)};
        now += (int64_t)(ek_rand_next(&rand) % 20);
        switch (ek_rand_next(&rand) % 5) {
        case 0:
        case 1:
            if (test_queue_requeues(queue, key) < 10)
                ask(queue, &w, &rand, i, now);
            break;
        case 2:
            ek_queue_done(queue, key, now);
            w.processing[i] = false;
            break;
        case 3:
            ek_queue_forget(queue, key);
            break;
        default:
            hand_out(queue, &w, now);
        }
        if (step % 100)
            continue;
        /* The time to the next is what it is. */
        hand_out(queue, &w, now);
        int64_t next = NEVER;
        for (int k = 0; k < KEYS; k++)
            if (!(w.processing[k] && w.by[k] <= now) && w.by[k] < next)
                next = w.by[k];
        ck_assert_int_eq(ek_queue_next_ready_ms(queue, now), next == NEVER ? -1 : next - now);
    }
    ek_queue_free(queue);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("queue");

    tcase_add_loop_test(tcase, a_script_gives_its_answers, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, retries_stop_growing_at_the_nineteenth);
    tcase_add_test(tcase, metrics_are_told);
    tcase_add_loop_test(tcase, random_operations_match_the_model, 0, 30);
    tcase_add_loop_test(tcase, no_wish_is_lost, 0, 30);
    return ek_test_run("queue", tcase);
}
