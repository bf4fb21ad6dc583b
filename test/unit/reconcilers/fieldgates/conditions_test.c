/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of match conditions: random definitions and writes (see test_gates_seed), with our
 * own CEL in the place of the API server's.
 *
 *   - a write of which the decision makes anything (a patch, a warning, a denial) is sent to us: a
 *     webhook is registered for the resource, and its conditions hold; with a failurePolicy that is
 *     no laxer than that of the gate
 *   - what the backstop would deny is sent to it
 *   - a condition never fails, and never holds for a write that changes nothing
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/cel.h"
#include "reconcilers/fieldgates/registration.h"
#include "test/support/gates_case.h"
#include "test/support/suite.h"

#define ROUNDS    3000
#define DEPTH     3
#define GATES_MAX 5

static uint64_t state;

static unsigned rnd(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % below);
}

/* ---- Random input ---- */

/* As in a path, in quotes of JSON; and as a member. The long one fills conditions up. */
#define LONG                                                                                       \
    "long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long"    \
    "_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_name"

static const struct {
    const char *path, *member;
} names[] = {
    {".a", "a"},      {".b", "b"},      {"['c/~d']", "c/~d"}, {"['e\\\\'f']", "e'f"},
    {"['in']", "in"}, {"." LONG, LONG},
};

/* How many of them are in use: the last, which makes conditions long, only now and then. */
static unsigned n_names;

static void add_path(struct ek_buf *out)
{
    static const char *const roots[] = {".spec", ".spec", ".spec", ".status", ".data"};

    ek_buf_printf(out, "\"%s", roots[rnd(EK_ARRAY_SIZE(roots))]);
    for (unsigned n = rnd(DEPTH + 1); n; n--) {
        ek_buf_puts(out, rnd(8) ? "" : "[*]");
        ek_buf_puts(out, names[rnd(n_names)].path);
    }
    ek_buf_puts(out, "\"");
}

static void add_definition(struct ek_buf *out)
{
    static const char *const stages[] = {"alpha", "beta", "stable", "deprecated"};
    static const char *const enabled[] = {"", "\"enabled\":true,", "\"enabled\":false,"};
    unsigned n = 1 + rnd(GATES_MAX);

    ek_buf_printf(out, "{%s\"featureGates\":[", rnd(4) ? "" : "\"onDisabled\":\"Reject\",");
    for (unsigned i = 0; i < n; i++) {
        ek_buf_printf(out, "%s{\"name\":\"G%u\",\"preRelease\":\"%s\",%s%s\"fieldPaths\":[",
                      i ? "," : "", i, stages[rnd(4)], enabled[rnd(3)],
                      rnd(3) ? "" : "\"failurePolicy\":\"Ignore\",");
        for (unsigned k = 1 + rnd(n_names == EK_ARRAY_SIZE(names) ? 12 : 3); k; k--) {
            add_path(out);
            ek_buf_puts(out, k > 1 ? "," : "]}");
        }
    }
    ek_buf_puts(out, "]}");
}

static void add_scalar(struct ek_buf *out)
{
    static const char *const scalars[] = {
        "0",
        "1",
        "1.0",
        "\"1\"",
        "true",
        "false",
        "null",
        "[1,2]",
        "[]",
        "{}",
        "\"\"",
        "-2147483648",
        "0.5",
        "9007199254740993",
        "[{\"a\":1}]",
        "[{\"a\":1},{\"b\":1},{\"a\":{\"b\":1}}]",
        "\"\\u00e9\"",
        "9007199254740992.0",
        "18446744073709551615",
    };

    ek_buf_puts(out, scalars[rnd(EK_ARRAY_SIZE(scalars))]);
}

static void add_value(struct ek_buf *out, unsigned depth)
{
    bool any = false;

    if (depth > DEPTH || rnd(depth + 3) > 2) {
        add_scalar(out);
        return;
    }
    ek_buf_puts(out, "{");
    for (unsigned i = 0; i < n_names; i++) {
        if (rnd(2))
            continue;
        ek_buf_printf(out, "%s\"%s\":", any ? "," : "", names[i].member);
        add_value(out, depth + 1);
        any = true;
    }
    ek_buf_puts(out, "}");
}

static void add_object(struct ek_buf *out)
{
    static const char *const roots[] = {"spec", "status", "data"};

    ek_buf_printf(out, "{\"metadata\":{\"name\":\"a\",\"generation\":%u}", rnd(9));
    for (size_t i = 0; i < EK_ARRAY_SIZE(roots); i++) {
        if (!rnd(6))
            continue;
        ek_buf_printf(out, ",\"%s\":", roots[i]);
        add_value(out, rnd(12) ? 0 : DEPTH + 1);
    }
    ek_buf_puts(out, "}");
}

/* new is often close to old: some of its text is that of old. */
static void change_scalars(struct ek_buf *object)
{
    for (size_t i = 0; i < object->len; i++)
        if (object->data[i] == '1' && !rnd(4))
            object->data[i] = '3';
}

/* Nothing persisted is the sentinel; 0 is not written. */
static void add_scale(struct ek_buf *out, bool may_lack)
{
    unsigned replicas = rnd(3);

    if (may_lack && !rnd(3))
        ek_buf_printf(out, "{\"spec\":{\"replicas\":%d}}", EK_GATES_SCALE_ABSENT);
    else if (replicas)
        ek_buf_printf(out, "{\"spec\":{\"replicas\":%u}}", replicas);
    else
        ek_buf_puts(out, rnd(2) ? "{\"spec\":{}}" : "{}");
}

/* ---- Conditions ---- */

static struct ek_cel_env *env; /* of all programs */

static bool condition_holds(const char *text, const struct ek_cel_val *vars)
{
    struct ek_cel_issues issues = {0};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_cel_result result;
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), "bool", &issues);

    ck_assert_msg(program != NULL, "%s: %s", text, issues.len ? issues.list[0].message : "");
    bool fine =
        ek_cel_eval(program, vars, arena,
                    &(struct ek_cel_limits){.cost = EK_CEL_MATCH_CONDITION_BUDGET}, &result);
    ck_assert_msg(fine && result.value.kind == EK_CEL_BOOL, "%s fails", text);
    bool is = result.value.b;
    ek_cel_program_unref(program);
    ek_cel_issues_done(&issues);
    ek_arena_free(arena);
    return is;
}

static bool has_resource(yyjson_val *hook, const char *subresource)
{
    char want[64];
    yyjson_val *name;
    size_t i, n;

    snprintf(want, sizeof want, "crontabs%s%s", *subresource ? "/" : "", subresource);
    yyjson_arr_foreach(yyjson_ptr_get(hook, "/rules/0/resources"), i, n, name)
    {
        if (yyjson_equals_str(name, want))
            return true;
    }
    return false;
}

/* Which failurePolicies the configuration's webhooks have that request is sent to. */
struct sent {
    bool fail, ignore;
};

/* Conditions of which the paths were too many. */
static unsigned met_coarse;

static struct sent send(yyjson_mut_val *configuration, const struct ek_admission_request *request)
{
    struct ek_obj *content = ek_obj_from_mut(configuration);
    yyjson_doc *asks =
        test_gates_yaml(!*request->subresource ? "{dryRun: false}"
                        : *request->subresource == 's' && request->subresource[1] == 'c'
                            ? "{subResource: scale, dryRun: false}"
                            : "{subResource: status, dryRun: false}");
    yyjson_doc *null = test_gates_yaml("null");
    const struct ek_cel_val vars[] = {
        ek_cel_from_json(request->object),
        ek_cel_from_json(request->old_object ? request->old_object : yyjson_doc_get_root(null)),
        ek_cel_from_json(yyjson_doc_get_root(asks))};
    struct sent sent = {0};
    yyjson_val *hook;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(ek_obj_root(content), "webhooks"), i, n, hook)
    {
        bool ignore = yyjson_equals_str(yyjson_obj_get(hook, "failurePolicy"), "Ignore");
        const char *text = yyjson_get_str(yyjson_ptr_get(hook, "/matchConditions/0/expression"));
        if (!has_resource(hook, request->subresource))
            continue;
        met_coarse += n_names == EK_ARRAY_SIZE(names) && !strstr(text, "long_name");
        if (condition_holds(text, vars))
            *(ignore ? &sent.ignore : &sent.fail) = true;
    }
    yyjson_doc_free(asks);
    yyjson_doc_free(null);
    ek_obj_unref(content);
    return sent;
}

/* ---- What is true ---- */

/* Which of the interesting cases have been met: a test that meets none proves nothing. */
static struct {
    unsigned sent, denied, scaled, statuses, backstops, spared;
} met;

static void check_sent(const struct ek_gates_outcome *outcome, struct sent sent, const char *what)
{
    if (!outcome->allowed || outcome->patch || outcome->n_warnings || outcome->n_hits)
        ck_assert_msg(sent.fail || sent.ignore, "%s is not sent", what);
    for (size_t i = 0; i < outcome->n_hits; i++)
        ck_assert_msg(outcome->hits[i].deprecated || outcome->hits[i].gate->ignore_failures ||
                          sent.fail,
                      "%s is sent by a webhook that may be ignored, for %s", what,
                      outcome->hits[i].path->text);
}

/* As validating webhooks see it: 0 in place of what stands for nothing. */
static void check_final(const struct test_gates_write *w, yyjson_mut_val *validating)
{
    struct ek_admission_request request = w->request;
    struct ek_gates_outcome outcome;
    yyjson_doc *zero = test_gates_yaml("{spec: {}}");

    if (!strcmp(request.subresource, "scale") &&
        yyjson_get_sint(yyjson_ptr_get(request.old_object, "/spec/replicas")) ==
            EK_GATES_SCALE_ABSENT)
        request.old_object = yyjson_doc_get_root(zero);
    ck_assert_int_eq(ek_gates_verify(w->gates, &w->shape, &request, w->arena, NULL, &outcome, NULL),
                     0);
    if (!outcome.allowed)
        check_sent(&outcome, send(validating, &request), "what the backstop denies");
    met.backstops += !outcome.allowed;
    yyjson_doc_free(zero);
}

static void check_write(struct test_gates_write *w)
{
    struct ek_gates_crd crd = {.group = "stable.example.com",
                               .plural = "crontabs",
                               .kind = "CronTab",
                               .storage = "v1",
                               .namespaced = true,
                               .shape = w->shape};
    const struct ek_gates_registered registered = {.gates = w->gates, .crd = &crd};
    const struct ek_webhooks_options options = {.url = "https://127.0.0.1:9443"};
    struct ek_admission_request same = w->request;
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *mutating, *validating;
    const char *hash;

    ek_gates_registration_write(&registered, 1, &options, doc, &mutating, &validating, &hash);
    struct sent sent = send(mutating, &w->request);
    check_sent(&w->outcome, sent, "a write");
    check_final(w, validating);
    met.sent += w->outcome.patch || w->outcome.n_warnings;
    met.denied += !w->outcome.allowed;
    met.scaled += *w->request.subresource == 's' && w->request.subresource[1] == 'c' &&
                  (w->outcome.patch || !w->outcome.allowed);
    met.statuses += !strcmp(w->request.subresource, "status") && w->outcome.n_warnings;
    met.spared += !sent.fail && !sent.ignore;
    same.object = same.old_object;
    struct sent unchanged = same.object ? send(mutating, &same) : (struct sent){0};
    ck_assert_msg(!unchanged.fail && !unchanged.ignore, "what changes nothing is sent");
    yyjson_mut_doc_free(doc);
}

static void add_write(const char *subresource, struct ek_buf *old, struct ek_buf *new)
{
    if (!strcmp(subresource, "scale")) {
        add_scale(old, true);
        add_scale(new, false);
        return;
    }
    add_object(old);
    if (rnd(2)) {
        add_object(new);
    } else {
        ek_buf_append(new, old->data, old->len);
        change_scalars(new);
    }
}

static void try_once(struct ek_buf *spec, struct ek_buf *old, struct ek_buf *new)
{
    static const char *const subresources[] = {"", "", "status", "scale"};
    static const char *const scales[] = {NULL, ".spec.a", ".spec.a.b", ".data"};
    const char *subresource = subresources[rnd(EK_ARRAY_SIZE(subresources))];
    bool creating = !*subresource && rnd(4) == 0;
    struct test_gates_write w;

    n_names = (unsigned)EK_ARRAY_SIZE(names) - (rnd(20) ? 1 : 0);
    ek_buf_reset(spec);
    ek_buf_reset(old);
    ek_buf_reset(new);
    add_definition(spec);
    add_write(subresource, old, new);
    struct test_gates_case c = {.spec = ek_buf_str(spec),
                                .old = creating ? NULL : ek_buf_str(old),
                                .new = ek_buf_str(new),
                                .subresource = subresource,
                                .has_status = *subresource == 's' || rnd(2),
                                .replicas = scales[rnd(EK_ARRAY_SIZE(scales))]};
    test_gates_open(&w, &c);
    check_write(&w);
    test_gates_close(&w);
}

START_TEST(sends_what_the_decision_makes_anything_of)
{
    unsigned rounds = test_gates_rounds(ROUNDS);
    struct ek_err err = {0};
    EK_AUTO(ek_buf) spec;
    EK_AUTO(ek_buf) old;
    EK_AUTO(ek_buf) new;

    ek_buf_init(&spec, 1 << 17);
    ek_buf_init(&old, 1 << 17);
    ek_buf_init(&new, 1 << 17);
    env =
        ek_cel_env_new(&(struct ek_cel_env_options){.mode = EK_CEL_NEW, .compat_minor = 33}, &err);
    ck_assert_msg(env && ek_cel_env_declare(env, "object", "dyn", &err) == 0 &&
                      ek_cel_env_declare(env, "oldObject", "dyn", &err) == 1 &&
                      ek_cel_env_declare(env, "request", "dyn", &err) == 2,
                  "%s", err.message);
    state = test_gates_seed();
    for (unsigned i = 0; i < rounds; i++)
        try_once(&spec, &old, &new);
    ek_cel_env_unref(env);
    printf("%u sent, %u denied, %u scales, %u statuses, %u backstops, %u spared, %u coarse of %u\n",
           met.sent, met.denied, met.scaled, met.statuses, met.backstops, met.spared, met_coarse,
           rounds);
    ck_assert_uint_gt(met.sent, rounds / 20);
    ck_assert_uint_gt(met.denied, rounds / 50);
    ck_assert_uint_gt(met.scaled, rounds / 200);
    ck_assert_uint_gt(met.statuses, rounds / 200);
    ck_assert_uint_gt(met.backstops, rounds / 20);
    ck_assert_uint_gt(met.spared, rounds / 20);
    ck_assert_uint_gt(met_coarse, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, sends_what_the_decision_makes_anything_of);
    return ek_test_run("gates_conditions", tcase);
}
