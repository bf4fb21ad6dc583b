/* SPDX-License-Identifier: Apache-2.0 */
/* Which policies are compiled anew, joined with which bindings, in which order they run, and what
 * they need. Words of rows: test/support/policy_list.h. */
#include <check.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "reconcilers/mutation/needs.h"
#include "reconcilers/mutation/served_sets.h"
#include "test/support/policy_list.h"
#include "test/support/suite.h"

static const char *sign(bool native)
{
    return native ? "!" : "";
}

/* ---- Compiling ---- */

static const struct {
    const char *name, *before, *after;
    unsigned long compiled; /* of after */
} reuse_rows[] = {
    {"nothing changed", "a b !c", "a b !c", 0},
    {"a new version", "a b !c", "a b@2 !c", 1},
    {"another object of the same name", "a b", "a b/n", 1},
    {"the other group", "a", "!a", 1},
    {"another version of the API", "!a", "?a", 1},
    {"one comes first", "b c", "a b c", 1},
    {"one comes last", "a b", "a b c", 1},
    {"one goes", "a b c", "a c", 0},
    {"all go", "a b", "", 0},
    {"all come", "", "a b !a", 3},
    {"a name in both groups", "a !a", "a@2 !a", 1},
};

static const struct ek_policy_entry *find(const struct ek_mutation_state *state, const char *name,
                                          bool native)
{
    for (size_t i = 0; i < state->n_policies; i++)
        if (state->policies[i].policy->native == native &&
            !strcmp(state->policies[i].policy->name, name))
            return &state->policies[i];
    return NULL;
}

START_TEST(reuse)
{
    struct test_policy_list before, after;
    struct ek_mutation_state state = {0};

    test_policy_list_init(&before, reuse_rows[_i].before, "");
    test_policy_list_init(&after, reuse_rows[_i].after, "");
    ek_mutation_state_plan(&state, &before.inputs);
    unsigned long compiled = state.compiled;
    for (size_t i = 0; i < state.n_policies; i++)
        state.policies[i].types.made = true;
    ek_mutation_state_plan(&state, &after.inputs);
    ck_assert_msg(state.compiled - compiled == reuse_rows[_i].compiled, "%s: %lu",
                  reuse_rows[_i].name, state.compiled - compiled);
    /* The type check stays with the compiled policy, and is due for a new one. */
    size_t kept = 0;
    for (size_t i = 0; i < state.n_policies; i++)
        kept += state.policies[i].types.made;
    ck_assert_msg(kept == state.n_policies - reuse_rows[_i].compiled, "%s: %zu",
                  reuse_rows[_i].name, kept);
    ek_mutation_state_done(&state);
    test_policy_list_done(&before);
    test_policy_list_done(&after);
}
END_TEST

START_TEST(bindings_are_reused)
{
    struct test_policy_list before, after;
    struct ek_mutation_state state = {0};

    test_policy_list_init(&before, "a", "x>a y>a !x>a");
    test_policy_list_init(&after, "a", "w>a x>a y>a@2 !x>a");
    ek_mutation_state_plan(&state, &before.inputs);
    const struct ek_binding *was[] = {state.bindings[0].binding, state.bindings[1].binding,
                                      state.bindings[2].binding};
    for (int i = 0; i < 3; i++)
        ek_binding_ref(was[i]);
    ek_mutation_state_plan(&state, &after.inputs);
    ck_assert_uint_eq(state.n_bindings, 4);
    ck_assert_ptr_eq(state.bindings[1].binding, was[0]);
    ck_assert_ptr_ne(state.bindings[2].binding, was[1]);
    ck_assert_ptr_eq(state.bindings[3].binding, was[2]);
    for (int i = 0; i < 3; i++)
        ek_binding_unref(was[i]);
    ek_mutation_state_done(&state);
    test_policy_list_done(&before);
    test_policy_list_done(&after);
}
END_TEST

/* ---- Joining and order ---- */

/* Policies as NAME:BEFORE(BINDINGS), with the policy that runs before ("^" for the first, "-" for
 * one that does not run), "=" for a name that both groups have; then the bound policies in running
 * order as POLICY>BINDING, "-" for one that is not applied, "?" for one to be confirmed.
 */
static const struct {
    const char *name, *policies, *bindings;
    struct ek_plugin_census census;
    bool not_serving;
    const char *want;
} join_rows[] = {
    {"without bindings", "a b", "", {0}, false, "a:-() b:-() |"},
    {"a binding of nothing", "a", "x>z", {0}, false, "a:-() |"},
    {"of the other group", "a !b", "!x>a x>b", {0}, false, "a:-() !b:-() |"},
    {"by name", "b a", "x>b y>a", {0}, false, "a:^(y) b:a(x) | a>y b>x"},
    {"several bindings", "a b", "y>a x>a z>b", {0}, false, "a:^(x,y) b:a(z) | a>x a>y b>z"},
    {"the nearer to the root first", "a/d b", "x>a y>b", {0}, false, "a:b(x) b:^(y) | b>y a>x"},
    {"a name in both groups",
     "a !a",
     "x>a !y>a",
     {.absent = 1, .complete = true},
     false,
     "a=:^(x) !a=:a(y) | a>x !a>y"},
    {"that of evenkeel.dev runs first, whatever its binding is called",
     "a !a",
     "y>a !x>a",
     {.absent = 1, .complete = true},
     false,
     "a=:^(y) !a=:a(x) | a>y !a>x"},
    {"a name in both groups, one is bound",
     "a !a",
     "!y>a",
     {.absent = 1, .complete = true},
     false,
     "a=:-() !a=:^(y) | !a>y"},
    {"API servers run the plug-in",
     "a !b",
     "x>a !y>b",
     {.runs = 1, .complete = true},
     false,
     "a:^(x) !b:a(y) | a>x !b>y-"},
    {"some API servers do",
     "a !b",
     "x>a !y>b",
     {.runs = 1, .absent = 1, .complete = true},
     false,
     "a:^(x) !b:a(y) | a>x !b>y?"},
    {"observed", "a/o", "x>a", {0}, false, "a:^(x) | a>x-"},
    {"not serving", "a !b", "x>a !y>b", {0}, true, "a:^(x) !b:a(y) | a>x- !b>y-"},
};

static void write_state(const struct ek_mutation_state *state, struct ek_buf *out)
{
    for (size_t i = 0; i < state->n_policies; i++) {
        const struct ek_policy_entry *e = &state->policies[i];
        ek_buf_printf(out, "%s%s%s:%s(", sign(e->policy->native), e->policy->name,
                      e->shares_name ? "=" : "",
                      !e->after   ? "-"
                      : *e->after ? e->after
                                  : "^");
        for (size_t k = 0; k < e->n_bindings; k++)
            ek_buf_printf(out, "%s%s", k ? "," : "", e->bindings[k]->name);
        ek_buf_puts(out, ") ");
    }
    ek_buf_puts(out, "|");
    for (size_t i = 0; i < state->n_bound; i++) {
        const struct ek_bound *b = &state->bound[i];
        ek_buf_printf(out, " %s%s>%s%s", sign(b->policy->native), b->policy->name, b->binding->name,
                      !b->apply    ? "-"
                      : b->confirm ? "?"
                                   : "");
    }
}

START_TEST(joins)
{
    struct test_policy_list list;
    struct ek_mutation_state state = {0};
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 4096);
    test_policy_list_init(&list, join_rows[_i].policies, join_rows[_i].bindings);
    list.inputs.census = join_rows[_i].census;
    list.inputs.serving = !join_rows[_i].not_serving;
    ek_mutation_state_plan(&state, &list.inputs);
    write_state(&state, &got);
    ck_assert_msg(!strcmp(ek_buf_str(&got), join_rows[_i].want), "%s: %s", join_rows[_i].name,
                  ek_buf_str(&got));
    ek_mutation_state_done(&state);
    test_policy_list_done(&list);
}
END_TEST

/* ---- Without a webhook ---- */

static const struct {
    const char *name, *policy;
    struct ek_plugin_census census;
    enum ek_enforcer enforcer;
    bool explained; /* the message names the flag */
} unserved_rows[] = {
    {"ours", "a", {.runs = 1, .complete = true}, EK_ENFORCER_NOBODY, true},
    {"ours, observed", "a/o", {.runs = 1, .complete = true}, EK_ENFORCER_NOBODY, false},
    {"ours, with a check of safety",
     "a/s",
     {.runs = 1, .complete = true},
     EK_ENFORCER_NOBODY,
     true},
    {"the cluster's, which no server runs",
     "!a",
     {.absent = 1, .complete = true},
     EK_ENFORCER_NOBODY,
     true},
    {"the cluster's, which some run",
     "!a",
     {.runs = 1, .absent = 1, .complete = true},
     EK_ENFORCER_API_SERVERS,
     true},
    {"the cluster's, which all run",
     "!a",
     {.runs = 1, .complete = true},
     EK_ENFORCER_API_SERVERS,
     false},
};

START_TEST(not_serving)
{
    const bool native = unserved_rows[_i].policy[0] == '!';
    struct test_policy_list list;
    struct ek_mutation_state state = {0};

    test_policy_list_init(&list, unserved_rows[_i].policy, native ? "!x>a" : "x>a");
    list.inputs.census = unserved_rows[_i].census;
    list.inputs.serving = false;
    ek_mutation_state_plan(&state, &list.inputs);
    const struct ek_enforcement *got = &find(&state, "a", native)->enforcement;
    ck_assert_msg(got->enforcer == unserved_rows[_i].enforcer, "%s: %d", unserved_rows[_i].name,
                  got->enforcer);
    ck_assert_msg(!!strstr(got->message, "--webhook-bind-address") == unserved_rows[_i].explained,
                  "%s: %s", unserved_rows[_i].name, got->message);
    ck_assert(!got->apply && !got->confirm);
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++)
        ck_assert_uint_eq(state.registrations[kind].n_entries, 0);
    ek_mutation_state_done(&state);
    test_policy_list_done(&list);
}
END_TEST

/* ---- Needs ---- */

static const struct {
    const char *name, *policies, *bindings;
    const char *params, *schemas; /* "apiVersion kind", "group/version" */
} needs_rows[] = {
    {"nothing", "", "", "", ""},
    {"schemas without a binding, too", "a", "", "", " /v1"},
    {"each group version once, in order", "a b c/m", "", "", " /v1 apps/v1 apps/v1beta1"},
    {"params", "a/p", "x>a/p", " v1 ConfigMap", " /v1"},
    {"a binding without a paramRef", "a/p", "x>a", "", " /v1"},
    {"a policy without a paramKind", "a", "x>a/p", "", " /v1"},
    {"params of an unbound policy", "a/p", "", "", " /v1"},
};

START_TEST(needs)
{
    struct test_policy_list list;
    struct ek_mutation_state state = {0};
    EK_AUTO(ek_mutation_needs) got;
    EK_AUTO(ek_buf) params;
    EK_AUTO(ek_buf) schemas;

    ek_buf_init(&params, 4096);
    ek_buf_init(&schemas, 4096);
    test_policy_list_init(&list, needs_rows[_i].policies, needs_rows[_i].bindings);
    ek_mutation_state_plan(&state, &list.inputs);
    ek_mutation_needs_plan(&state, &got);
    for (size_t i = 0; i < got.n_params; i++)
        ek_buf_printf(&params, " %s %s", got.params[i].api_version, got.params[i].kind);
    for (size_t i = 0; i < got.n_schemas; i++)
        ek_buf_printf(&schemas, " %s/%s", got.schemas[i].group, got.schemas[i].version);
    ck_assert_msg(!strcmp(ek_buf_str(&params), needs_rows[_i].params), "%s: %s",
                  needs_rows[_i].name, ek_buf_str(&params));
    ck_assert_msg(!strcmp(ek_buf_str(&schemas), needs_rows[_i].schemas), "%s: %s",
                  needs_rows[_i].name, ek_buf_str(&schemas));
    ek_mutation_state_done(&state);
    test_policy_list_done(&list);
}
END_TEST

/* ---- Sets ---- */

static const struct {
    const char *name, *policies, *bindings;
    const char *want; /* the sets that hold policies, as NAME(POLICIES), "" as "all" */
} sets_rows[] = {
    {"nothing", "", "", ""},
    {"one", "a", "x>a", " fail(a) all(a)"},
    {"by failurePolicy", "a b/i c", "x>a y>b z>c", " fail(a,c) ignore(b) all(a,b,c)"},
    {"with a check of safety", "a b/s", "x>a y>b", " fail(a,b) safety-fail(b) all(a,b)"},
    {"in running order", "a/d b", "x>a y>b", " fail(b,a) all(b,a)"},
    {"unbound", "a b", "x>a", " fail(a) all(a)"},
};

static void write_set(const struct ek_mutation_state *state, const struct ek_served_set *set,
                      struct ek_buf *out)
{
    size_t n = set->all ? state->n_bound : set->n_bound;

    if (n == 0)
        return;
    ek_buf_printf(out, " %s(", *set->name ? set->name : "all");
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, "%s%s", i ? "," : "",
                      state->bound[set->all ? i : set->bound[i]].policy->name);
    ek_buf_puts(out, ")");
}

START_TEST(sets)
{
    struct test_policy_list list;
    struct ek_mutation_state state = {0};
    EK_AUTOFREE struct ek_served_set *got = NULL;
    EK_AUTO(ek_buf) text;
    const char *name;

    ek_buf_init(&text, 4096);
    test_policy_list_init(&list, sets_rows[_i].policies, sets_rows[_i].bindings);
    ek_mutation_state_plan(&state, &list.inputs);
    size_t n = ek_served_sets(&state, &got);
    for (size_t i = 0; i < n; i++)
        write_set(&state, &got[i], &text);
    ck_assert_msg(!strcmp(ek_buf_str(&text), sets_rows[_i].want), "%s: %s", sets_rows[_i].name,
                  ek_buf_str(&text));
    /* Every usual name has one set, empty or not, and so has "". */
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++)
        for (size_t i = 0; (name = ek_registration_name(kind, i)); i++) {
            size_t found = 0;
            for (size_t k = 0; k < n; k++)
                found += !strcmp(got[k].name, name);
            ck_assert_msg(found == 1, "%s: %zu of %s", sets_rows[_i].name, found, name);
        }
    ck_assert(got[n - 1].all && !*got[n - 1].name);
    ek_mutation_state_done(&state);
    test_policy_list_done(&list);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");

    tcase_add_loop_test(t, reuse, 0, (int)EK_ARRAY_SIZE(reuse_rows));
    tcase_add_test(t, bindings_are_reused);
    tcase_add_loop_test(t, joins, 0, (int)EK_ARRAY_SIZE(join_rows));
    tcase_add_loop_test(t, not_serving, 0, (int)EK_ARRAY_SIZE(unserved_rows));
    tcase_add_loop_test(t, needs, 0, (int)EK_ARRAY_SIZE(needs_rows));
    tcase_add_loop_test(t, sets, 0, (int)EK_ARRAY_SIZE(sets_rows));
    return ek_test_run("mutation_state", t);
}
