/* SPDX-License-Identifier: Apache-2.0 */
/* Which connection works next. Connections are letters; those of source 1 to 4 are in the rows. */
#include <check.h>
#include <stdio.h>

#include "api/base/mem.h"
#include "controller/http/turns.h"
#include "test/support/suite.h"

#define MS 1000000

static struct ek_http_turns *turns;
static int64_t now_ns, now_ms;
static struct ek_http_turn places['z' + 1];
static char names['z' + 1];

static void setup(void)
{
    turns = ek_http_turns_new();
    now_ns = now_ms = 1000;
    memset(places, 0, sizeof places);
    for (size_t i = 0; i < sizeof names; i++)
        names[i] = (char)i;
}

static void teardown(void)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(places); i++)
        ek_http_turn_leave(&places[i]);
    ck_assert(!ek_http_turns_any(turns));
    ek_http_turns_free(turns);
}

static struct ek_http_source source_of(char digit)
{
    return (struct ek_http_source){.rest = (uint64_t)digit};
}

/* Of "a1 b1! c2h d3c": a of source 1 has work, and so on; "!": it had work left; "h": a handshake;
 * "c": costly. */
static void add(const char *text)
{
    for (const char *p = text; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        struct ek_http_turn *turn = &places[(size_t)p[0]];
        struct ek_http_source source = source_of(p[1]);
        enum ek_http_lane lane = p[2] == 'h'   ? EK_HTTP_LANE_HANDSHAKE
                                 : p[2] == 'c' ? EK_HTTP_LANE_COSTLY
                                               : EK_HTTP_LANE_CHEAP;
        turn->owner = &names[(size_t)p[0]];
        ek_http_turns_add(turns, turn, &source, lane, p[2] == '!', now_ms);
    }
}

/* One turn of the loop, of which each piece of work takes that long; text gets who worked. */
static void work(int64_t piece_ns, char *text)
{
    struct ek_http_turn *turn;
    size_t n = 0;

    ek_http_turns_begin(turns, now_ns);
    while ((turn = ek_http_turns_next(turns, now_ns)) != NULL) {
        now_ns += piece_ns;
        text[n++] = *(const char *)turn->owner;
    }
    text[n] = '\0';
}

static const struct {
    const char *name;
    const char *waiting;
    const char *known;   /* sources */
    int64_t piece_ns;    /* what each piece of work takes */
    const char *turn[3]; /* who works in the first turns of the loop; NULL: not looked at */
} rows[] = {
    {"nobody", "", "", 1, {"", ""}},
    {"one after the other", "a1 b2 c3", "", 1, {"abc", ""}},
    {"a source with many is one source", "a1 b1 c1 d1 e1 f2 g3", "", 1, {"afgbcde", ""}},
    {"two sources with several", "a1 b1 c1 d2 e2 f2", "", 1, {"adbecf", ""}},
    {"the time of a turn", "a1 b2 c3 d4", "", MS / 2, {"ab", "cd", ""}},
    {"one in any case", "a1 b2 c3", "", 5 * MS, {"a", "b", "c"}},
    {"in its source, who waited for an answer goes first",
     "a1! b1! c1! d1 e2!",
     "",
     1,
     {"deabc", ""}},
    {"in its source, others get one of four places",
     "a1! b1! c1 d1 e1 f1 g1",
     "",
     1,
     {"cdeafgb", ""}},
    {"known sources go first", "a1 b2 c3", "3", 1, {"cab", ""}},
    {"others get one of four places", "a1 b2 c3 d3 e3 f3 g3", "3", 1, {"cdeafgb", ""}},
    {"two handshakes a turn", "a1h b2h c3h d4h e1h", "", 1, {"ab", "cd", "e"}},
    {"handshakes of a source with many", "a1h b1h c1h d1h e2h", "", 1, {"ae", "bc", "d"}},
    {"handshakes of a known source", "a1h b1h c2h d3h", "3", 1, {"da", "cb", ""}},
    {"handshakes after requests", "a1h b2", "", 1, {"ba", ""}},
    {"requests do not starve handshakes", "a1h b2h c1 d2 e3", "", MS, {"cab", "d", "e"}},
    {"costly ones last, one a turn", "a1c b2c c3h d4", "", 1, {"dca", "b", ""}},
    {"costly ones behind the same address", "a1c b1c c1c d1", "", 5 * MS, {"da", "b", "c"}},
    {"costly ones wait for the time of the last one, twice",
     "a1c b2c c3 d3 e3 f3 g3 h3 i3",
     "",
     MS,
     {"ca", "d", "eb"}},
    {"sources of costly ones", "a1c b1c c2c", "", 1, {"a", "c", "b"}},
};

START_TEST(choices)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        char text[64];
        for (const char *p = rows[i].known; *p; p++) {
            struct ek_http_source source = source_of(*p);
            ek_http_turns_vouch(turns, &source, now_ms);
        }
        add(rows[i].waiting);
        for (size_t k = 0; k < EK_ARRAY_SIZE(rows[i].turn) && rows[i].turn[k]; k++) {
            work(rows[i].piece_ns, text);
            ck_assert_msg(!strcmp(text, rows[i].turn[k]), "%s: turn %zu is %s", rows[i].name, k,
                          text);
        }
        teardown();
        setup();
    }
}
END_TEST

/* A thousand requests on one connection, each put at the end again as it is handled. */
START_TEST(endless)
{
    struct ek_http_turn *turn;
    size_t n = 0;

    add("a1");
    ek_http_turns_begin(turns, now_ns);
    while ((turn = ek_http_turns_next(turns, now_ns)) != NULL && n < 1000) {
        now_ns += MS / 100;
        n++;
        add("a1!");
        if (n == 50)
            add("b2");
        ck_assert(n != 51 || *(const char *)turn->owner == 'a');
        ck_assert(n != 52 || *(const char *)turn->owner == 'b');
    }
    ck_assert_uint_eq(n, 100); /* the time of the turn is over */
}
END_TEST

START_TEST(once)
{
    char text[64];

    add("a1 b2 c3");
    add("a1 a2h");
    ck_assert(ek_http_turn_waits(&places['a']));
    ek_http_turn_leave(&places['b']);
    ek_http_turn_leave(&places['b']);
    ck_assert(!ek_http_turn_waits(&places['b']));
    work(1, text);
    ck_assert_str_eq(text, "ac");
    ck_assert(!ek_http_turns_any(turns));
}
END_TEST

START_TEST(paused)
{
    char text[64];

    ek_http_turns_pause(turns, true);
    add("a1c b2c");
    ck_assert(!ek_http_turns_any(turns)); /* or the loop would never wait */
    add("c3 d4h");
    ck_assert(ek_http_turns_any(turns));
    work(1, text);
    ck_assert_str_eq(text, "cd");
    ck_assert(ek_http_turn_waits(&places['a']));
    ek_http_turns_pause(turns, false);
    ck_assert(ek_http_turns_any(turns));
    work(1, text);
    ck_assert_str_eq(text, "a");
    work(1, text);
    ck_assert_str_eq(text, "b");
}
END_TEST

START_TEST(acquaintance)
{
    struct ek_http_source source = source_of('2');
    char text[64];

    ek_http_turns_vouch(turns, &source, now_ms);
    now_ms += EK_HTTP_KNOWN_MS - 1;
    add("a1 b2");
    work(1, text);
    ck_assert_str_eq(text, "ba");
    now_ms++; /* forgotten */
    add("a1 b2");
    work(1, text);
    ck_assert_str_eq(text, "ab");
    ek_http_turns_vouch(turns, &source, now_ms);
    for (uint64_t i = 0; i < 63; i++) /* all places of the table but one */
        ek_http_turns_vouch(turns, &(struct ek_http_source){.prefix = i + 1}, now_ms + 1);
    for (uint64_t i = 0; i < 63; i++) /* the same ones again */
        ek_http_turns_vouch(turns, &(struct ek_http_source){.prefix = i + 1}, now_ms + 2);
    add("a1 b2");
    work(1, text);
    ck_assert_str_eq(text, "ba");
    ek_http_turns_vouch(turns, &(struct ek_http_source){.prefix = 64}, now_ms + 2);
    add("a1 b2");
    work(1, text);
    ck_assert_str_eq(text, "ab");
}
END_TEST

START_TEST(newcomers)
{
    for (int i = 0; i < 3; i++) {
        size_t n = 0;
        ek_http_turns_begin(turns, now_ns);
        while (ek_http_turns_accept(turns))
            n++;
        ck_assert_uint_eq(n, EK_HTTP_TURN_ACCEPTS);
    }
}
END_TEST

/* Many sources, whose places in the table of a lane are shared. */
START_TEST(many_sources)
{
    struct ek_http_turn crowd[500] = {{0}};
    struct ek_http_turn *turn;
    size_t n = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(crowd); i++) {
        struct ek_http_source source = {.prefix = i / 2};
        crowd[i].owner = &crowd[i];
        ek_http_turns_add(turns, &crowd[i], &source, EK_HTTP_LANE_CHEAP, false, now_ms);
    }
    ek_http_turns_begin(turns, now_ns);
    while ((turn = ek_http_turns_next(turns, now_ns)) != NULL) {
        size_t i = (size_t)((struct ek_http_turn *)turn->owner - crowd);
        ck_assert_uint_eq(i, n < 250 ? 2 * n : 2 * (n - 250) + 1);
        n++;
    }
    ck_assert_uint_eq(n, EK_ARRAY_SIZE(crowd));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("http_turns");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, choices);
    tcase_add_test(tc, endless);
    tcase_add_test(tc, once);
    tcase_add_test(tc, paused);
    tcase_add_test(tc, acquaintance);
    tcase_add_test(tc, newcomers);
    tcase_add_test(tc, many_sources);
    return ek_test_run("http_turns", tc);
}
