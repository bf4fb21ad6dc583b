/* SPDX-License-Identifier: Apache-2.0 */
/* Which API server is sent the canary's request when, and what answers prove: by row. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/fieldgates/canary.h"
#include "test/support/suite.h"

/* ---- Choosing ---- */

#define LIVE(n, a)                                                                                 \
    {                                                                                              \
        .name = n, .address = a, .live = true, .trusted = true                                     \
    }

static const struct {
    const char *name;
    struct ek_peer peers[3];
    size_t n;
    const char *want; /* "name=address ..." */
} tables[] = {
    {"nobody", {{0}}, 0, ""},
    {"all that live", {LIVE("a", "1:1"), LIVE("b", "2:2")}, 2, "a=1:1 b=2:2 "},
    {"none that is gone",
     {LIVE("a", "1:1"), {.name = "b", .address = "2:2", .trusted = true}},
     2,
     "a=1:1 "},
    {"no address that is not trusted",
     {LIVE("a", "1:1"), {.name = "b", .address = "2:2", .live = true}},
     2,
     "a=1:1 b= "},
    {"no address that is not known", {LIVE("a", ""), LIVE("b", "2:2")}, 2, "a= b=2:2 "},
    {"the configured one where none is known", {LIVE("a", ""), LIVE("b", "")}, 2, ""},
    {"nor trusted", {{.name = "b", .address = "2:2", .live = true}}, 1, ""},
};

START_TEST(chooses_servers)
{
    const struct ek_peer_table table = {.peers = tables[_i].peers, .n = tables[_i].n};
    struct ek_canary_server servers[EK_CANARY_SERVERS_MAX];
    size_t n = ek_canary_choose(&table, servers);
    char got[200] = "";

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s=%s ", servers[i].name, servers[i].address);
    }
    ck_assert_msg(!strcmp(got, tables[_i].want), "%s: %s", tables[_i].name, got);
}
END_TEST

START_TEST(leaves_out_too_many)
{
    struct ek_peer peers[EK_CANARY_SERVERS_MAX + 3];
    const struct ek_peer_table table = {.peers = peers, .n = EK_ARRAY_SIZE(peers)};
    struct ek_canary_server servers[EK_CANARY_SERVERS_MAX];

    for (size_t i = 0; i < EK_ARRAY_SIZE(peers); i++)
        peers[i] = (struct ek_peer)LIVE("a", "1:1");
    ck_assert_uint_eq(ek_canary_choose(&table, servers), EK_CANARY_SERVERS_MAX);
}
END_TEST

/* ---- Answers ---- */

static const struct {
    const char *name;
    int status;
    const char *body;
    struct ek_err err;
    const char *want; /* NULL: the right answer */
} answers[] = {
    {"right", 403, "x evenkeel canary abc x", {.code = EK_E_FORBIDDEN}, NULL},
    {"any code will do", 500, "evenkeel canary abc", {.code = EK_E_SERVER}, NULL},
    {"a success cannot be right", 201, "evenkeel canary abc", {0}, "does not have"},
    {"older", 403, "evenkeel canary abd", {.code = EK_E_FORBIDDEN}, "older registration"},
    {"denied by others", 403, "no", {.code = EK_E_FORBIDDEN, .message = "no way"}, "no way"},
    {"no answer", 0, "", {.code = EK_E_REFUSED, .message = "refused"}, "refused"},
    {"no answer that looks right",
     0,
     "evenkeel canary abc",
     {.code = EK_E_REFUSED, .message = "refused"},
     "refused"},
};

START_TEST(judges_answers)
{
    char room[200];
    const struct ek_canary_answer answer = {.status = answers[_i].status,
                                            .body = ek_str_from(answers[_i].body),
                                            .err = answers[_i].err.code ? &answers[_i].err : NULL};
    const char *got = ek_canary_judge("abc", &answer, room, sizeof room);

    ck_assert_msg(answers[_i].want ? got && strstr(got, answers[_i].want) : !got, "%s: %s",
                  answers[_i].name, got ? got : "right");
}
END_TEST

/* ---- One server over time ---- */

static const struct ek_canary_server cp = {"cp", "1:1"}, unknown = {"cp-z", ""},
                                     configured = {"https://a", NULL};

/* A step: R right, O an older registration, N no answer at all. */
static void hear(struct ek_canary_state *state, const struct ek_canary_server *server, char step,
                 int64_t now_ms)
{
    static const struct ek_err denied = {.code = EK_E_FORBIDDEN, .message = "denied"};
    static const struct ek_err gone = {.code = EK_E_REFUSED, .message = "refused"};
    const struct ek_canary_answer answer = {
        .status = step == 'N' ? 0 : 403,
        .body = step == 'R'   ? EK_STR("evenkeel canary abc")
                : step == 'O' ? EK_STR("evenkeel canary 123")
                              : EK_STR(""),
        .err = step == 'N' ? &gone : &denied,
    };
    ek_canary_heard(state, server, "abc", &answer, now_ms);
}

static const struct {
    const char *steps; /* answers so far, each heard when its request was due */
    int64_t delay_ms;  /* from the last of them to the next request */
    enum ek_gates_canary want;
    const char *message; /* a part of it; NULL: none */
} courses[] = {
    {"", 0, EK_CANARY_PENDING, NULL},
    {"R", 300000, EK_CANARY_ANSWERED, NULL},
    {"O", 500, EK_CANARY_PENDING, "cp: the server still has an older registration"},
    {"OO", 1000, EK_CANARY_PENDING, "older"},
    {"OOO", 2000, EK_CANARY_FAILED, "older"},
    {"OOOOOOO", 32000, EK_CANARY_FAILED, "older"},
    {"OOOOOOOO", 60000, EK_CANARY_FAILED, "older"},
    {"OOOOOOOOO", 60000, EK_CANARY_FAILED, "older"},
    {"OOOOR", 300000, EK_CANARY_ANSWERED, NULL},
    {"OOORO", 500, EK_CANARY_PENDING, "older"},
    {"ROOO", 2000, EK_CANARY_FAILED, "older"},
    {"N", 500, EK_CANARY_PENDING, "cp did not answer: refused"},
    {"NNNNN", 8000, EK_CANARY_PENDING, "did not answer"},
    {"NNO", 2000, EK_CANARY_FAILED, "older"},
    {"OOON", 4000, EK_CANARY_PENDING, "did not answer"},
};

START_TEST(tries_again)
{
    struct ek_canary_state state;
    const struct ek_canary_state *states[] = {&state};
    const char *message;
    int64_t now_ms = 7000;

    ek_canary_begin(&state, &cp, now_ms);
    for (const char *step = courses[_i].steps; *step; step++) {
        now_ms = state.due_ms;
        hear(&state, &cp, *step, now_ms);
    }
    ck_assert_msg(state.due_ms - now_ms == courses[_i].delay_ms, "%s: after %lld",
                  courses[_i].steps, (long long)(state.due_ms - now_ms));
    ck_assert_msg(ek_canary_result(states, 1, "abc", &message) == courses[_i].want, "%s",
                  courses[_i].steps);
    ck_assert_msg(courses[_i].message ? message && strstr(message, courses[_i].message) : !message,
                  "%s: %s", courses[_i].steps, message ? message : "nothing");
}
END_TEST

START_TEST(begins_anew)
{
    struct ek_canary_state state;

    ek_canary_begin(&state, &cp, 1000);
    hear(&state, &cp, 'O', 1000);
    hear(&state, &cp, 'R', 1500);
    ek_canary_begin(&state, &cp, 2000);
    ck_assert(!state.answered && !state.unheard && !state.tries && !*state.message);
    ck_assert_int_eq(state.due_ms, 2000);
    ck_assert(ek_canary_is_reachable(&cp) && ek_canary_is_reachable(&configured) &&
              !ek_canary_is_reachable(&unknown));
    ek_canary_begin(&state, &unknown, 2000);
    ck_assert(state.unheard);
    ck_assert_ptr_nonnull(strstr(state.message, "cp-z cannot be tested"));
}
END_TEST

/* ---- All servers ---- */

static const struct {
    const char *name, *hash;
    const char *servers[3]; /* the answers of each; "-": its address is not known */
    size_t n;
    enum ek_gates_canary want;
    const char *message;
} results[] = {
    {"nothing is expected", "", {"R"}, 1, EK_CANARY_PENDING, NULL},
    {"all answered", "abc", {"R", "OR"}, 2, EK_CANARY_ANSWERED, NULL},
    {"one did not yet", "abc", {"R", ""}, 2, EK_CANARY_PENDING, NULL},
    {"one does not", "abc", {"R", "OOO"}, 2, EK_CANARY_FAILED, "older"},
    {"the failure's words count", "abc", {"N", "OOO"}, 2, EK_CANARY_FAILED, "older"},
    {"one that is not known is no failure", "abc", {"R", "-"}, 2, EK_CANARY_PENDING, "cp-z"},
    {"the first words while nobody fails", "abc", {"O", "-"}, 2, EK_CANARY_PENDING, "older"},
};

START_TEST(sums_up)
{
    struct ek_canary_state states[3];
    const struct ek_canary_state *list[] = {&states[0], &states[1], &states[2]};
    const char *message;

    for (size_t i = 0; i < results[_i].n; i++) {
        const char *steps = results[_i].servers[i];
        ek_canary_begin(&states[i], *steps == '-' ? &unknown : &cp, 0);
        for (; *steps && *steps != '-'; steps++)
            hear(&states[i], &cp, *steps, states[i].due_ms);
    }
    ck_assert_msg(ek_canary_result(list, results[_i].n, results[_i].hash, &message) ==
                      results[_i].want,
                  "%s", results[_i].name);
    ck_assert_msg(results[_i].message ? message && strstr(message, results[_i].message) : !message,
                  "%s: %s", results[_i].name, message ? message : "nothing");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, chooses_servers, 0, EK_ARRAY_SIZE(tables));
    tcase_add_test(tc, leaves_out_too_many);
    tcase_add_loop_test(tc, judges_answers, 0, EK_ARRAY_SIZE(answers));
    tcase_add_loop_test(tc, tries_again, 0, EK_ARRAY_SIZE(courses));
    tcase_add_test(tc, begins_anew);
    tcase_add_loop_test(tc, sums_up, 0, EK_ARRAY_SIZE(results));
    return ek_test_run("canary decisions", tc);
}
