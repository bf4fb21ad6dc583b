/* SPDX-License-Identifier: Apache-2.0 */
/* Which PolicyStatuses are written, in which order, and with which Events. Words of
 * rows: test/support/policy_list.h. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/map.h"
#include "api/base/mem.h"
#include "reconcilers/mutation/status_plan.h"
#include "test/support/policy_list.h"
#include "test/support/suite.h"

#define NOW_MS 1760000000000

static const struct ek_resource resource = {.group = "evenkeel.dev",
                                            .version = "v1alpha1",
                                            .resource = "policystatuses",
                                            .kind = "PolicyStatus"};

/* ---- A cluster ---- */

/* A PolicyStatus that there is. */
struct live {
    char *name;
    struct ek_obj *obj;
};

/* The PolicyStatuses, and a state. */
struct cluster {
    struct ek_map live; /* struct live, by name */
    struct ek_mutation_state state;
};

static void drop(struct live *live)
{
    if (!live)
        return;
    ek_free(live->name);
    ek_obj_unref(live->obj);
    ek_free(live);
}

static const struct ek_obj *find(const struct cluster *c, const char *name)
{
    const struct live *live = ek_map_get(&c->live, name);
    return live ? live->obj : NULL;
}

static void drop_all(struct cluster *c)
{
    void *value;

    for (size_t i = 0; ek_map_next(&c->live, &i, NULL, &value);)
        drop(value);
    ek_map_done(&c->live);
    ek_mutation_state_done(&c->state);
}

static void set_policies(struct cluster *c, const char *policies, const char *bindings)
{
    struct test_policy_list list;

    test_policy_list_init(&list, policies, bindings);
    list.inputs.census = (struct ek_plugin_census){.absent = 1, .complete = true};
    ek_mutation_state_plan(&c->state, &list.inputs);
    test_policy_list_done(&list);
}

/* Plans a whole run; returns the intents, which are to be released. */
static struct ek_intents plan(struct cluster *c, const struct ek_status_inputs *more,
                              const struct ek_policy_facts *observed, int64_t now_ms)
{
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    struct ek_status_inputs inputs = more ? *more : (struct ek_status_inputs){.schemas_error = ""};
    struct ek_intents intents;

    inputs.state = &c->state;
    inputs.resource = &resource;
    inputs.now_ms = now_ms;
    ek_intents_init(&intents);
    for (size_t i = 0; i < c->state.n_policies; i++)
        ek_status_plan(&inputs, i, find(c, c->state.policies[i].policy->name), observed, arena,
                       &intents);
    ek_arena_free(arena);
    return intents;
}

/* Has the cluster take the statuses of intents over. */
static void carry_out(struct cluster *c, const struct ek_intents *intents)
{
    for (size_t i = 0; i < intents->n; i++) {
        const struct ek_intent *intent = &intents->items[i];
        if (intent->verb != EK_APPLY_STATUS)
            continue;
        struct live *live = ek_xalloc(sizeof *live);
        *live = (struct live){ek_xstrdup(intent->name), ek_obj_from_mut(intent->content)};
        drop(ek_map_take(&c->live, intent->name));
        ek_map_put(&c->live, live->name, live);
    }
}

/* "+a" creates, "a" writes a status, "a!" only after the write before, "(a True)" is an Event. */
static char *text_of(const struct ek_intents *intents)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1 << 16);
    for (size_t i = 0; i < intents->n; i++) {
        const struct ek_intent *intent = &intents->items[i];
        const struct ek_event *event = &intent->event;
        ek_buf_puts(&out, i ? " " : "");
        if (intent->verb == EK_EVENT)
            ek_buf_printf(&out, "(%s %s %s)", event->regarding.name,
                          event->warning ? "Warning" : "Normal", event->reason);
        else
            ek_buf_printf(&out, "%s%s", intent->verb == EK_APPLY ? "+" : "", intent->name);
        ek_buf_puts(&out, intent->verb != EK_EVENT && intent->depends ? "!" : "");
        ck_assert(intent->verb != EK_EVENT || intent->depends);
    }
    return ek_xstrdup(ek_buf_str(&out));
}

static void expect(const char *name, const struct ek_intents *intents, const char *want)
{
    EK_AUTOFREE char *got = text_of(intents);
    ck_assert_msg(!strcmp(got, want), "%s: %s", name, got);
}

/* ---- What is written ---- */

/* A first run over before, which is carried out; then a run over after. */
static const struct {
    const char *name;
    const char *before, *before_bindings;
    const char *after, *after_bindings;
    const char *want;
} rows[] = {
    {"a new policy", "", "", "a", "x>a", "+a a! (a Normal EnforcedByEvenkeel)"},
    {"a new policy that is not bound", "", "", "a", "", "+a a! (a Warning NoBinding)"},
    {"nothing changed", "a b", "x>a", "a b", "x>a", ""},
    {"one is bound", "a b", "", "a b", "x>a", "a (a Normal EnforcedByEvenkeel)"},
    {"another binding", "a", "x>a", "a", "x>a y>a", "a"},
    {"one is bound no more", "a", "x>a", "a", "", "a (a Warning NoBinding)"},
    {"a gone policy is left to the garbage collector", "a b", "x>a y>b", "b", "y>b", "b"},
    {"one is bound in front", "a b c", "x>b y>c", "a b c", "w>a x>b y>c",
     "a (a Normal EnforcedByEvenkeel) b"},
    {"one changes its scope, and so its place", "a b c d", "w>a x>b y>c z>d", "a/d@2 b c d",
     "w>a x>b y>c z>d", "a b"},
    {"of both groups, that of evenkeel.dev", "", "", "a !a", "x>a",
     "+a a! (a Normal EnforcedByEvenkeel)"},
    {"the other one goes", "a !a", "x>a", "a", "x>a", "a"},
    {"its own goes", "a !a", "x>a !y>a", "!a", "!y>a", "a"},
};

START_TEST(writes)
{
    struct cluster c = {0};

    set_policies(&c, rows[_i].before, rows[_i].before_bindings);
    struct ek_intents first = plan(&c, NULL, NULL, NOW_MS);
    carry_out(&c, &first);
    set_policies(&c, rows[_i].after, rows[_i].after_bindings);
    struct ek_intents intents = plan(&c, NULL, NULL, NOW_MS + 1);
    expect(rows[_i].name, &intents, rows[_i].want);
    ek_intents_done(&first);
    ek_intents_done(&intents);
    drop_all(&c);
}
END_TEST

START_TEST(creations)
{
    static const char want[] = "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":"
                               "\"admissionregistration.k8s.io/v1\",\"kind\":"
                               "\"MutatingAdmissionPolicy\",\"name\":\"a\",\"uid\":\"u-a\"}]}}";
    struct cluster c = {0};

    set_policies(&c, "!a", "");
    struct ek_intents intents = plan(&c, NULL, NULL, NOW_MS);
    const struct ek_intent *create = &intents.items[0], *event = &intents.items[2];
    ck_assert_int_eq(create->verb, EK_APPLY);
    ck_assert_str_eq(create->resource.resource, "policystatuses");
    EK_AUTOFREE char *got = yyjson_mut_val_write_opts(create->content, 0, &ek_json_alc, NULL, NULL);
    ck_assert_str_eq(got, want);
    /* The Event is about the policy, not about the status. */
    ck_assert_str_eq(event->event.regarding.kind, "MutatingAdmissionPolicy");
    ck_assert_str_eq(event->event.regarding.uid, "u-a");
    ck_assert_str_eq(event->event.regarding.resource_version, "1");
    ck_assert_str_eq(event->event.action, "Judge");
    ck_assert_str_eq(event->event.note, "no binding names the policy, so it does nothing");
    ek_intents_done(&intents);
    drop_all(&c);
}
END_TEST

/* ---- One of many ---- */

#define MANY 1000

/* Of MANY policies "q000" to "q999", the policies without one, and what is written when that one
 * comes, and when it goes again. */
static const struct {
    const char *name;
    size_t one;
    const char *comes, *goes;
} one_rows[] = {
    {"in front", 0, "+q000 q000! (q000 Normal EnforcedByEvenkeel) q001", "q001"},
    {"in the middle", 500, "+q500 q500! (q500 Normal EnforcedByEvenkeel) q501", "q501"},
    {"behind all", MANY - 1, "+q999 q999! (q999 Normal EnforcedByEvenkeel)", ""},
};

#define ALL MANY /* no policy is left out */

static void set_many(struct cluster *c, size_t without)
{
    struct test_policy_list list;
    struct ek_obj *policies[MANY], *bindings[MANY];
    size_t k = 0;

    for (size_t i = 0; i < MANY; i++) {
        char policy[32], binding[80];
        if (i == without)
            continue;
        snprintf(policy, sizeof policy, "q%03zu", i);
        snprintf(binding, sizeof binding, "b-%s>%s", policy, policy);
        test_policy_list_init(&list, policy, binding);
        policies[k] = ek_obj_ref(list.inputs.own_policies.items[0]);
        bindings[k++] = ek_obj_ref(list.inputs.own_bindings.items[0]);
        test_policy_list_done(&list);
    }
    const struct ek_mutation_inputs inputs = {
        .own_policies = {policies, k}, .own_bindings = {bindings, k}, .serving = true};
    ek_mutation_state_plan(&c->state, &inputs);
    while (k-- > 0) {
        ek_obj_unref(policies[k]);
        ek_obj_unref(bindings[k]);
    }
}

/* Plans and carries out a run over all policies but one. */
static void settle(struct cluster *c, const char *name, size_t without, const char *want)
{
    set_many(c, without);
    struct ek_intents intents = plan(c, NULL, NULL, NOW_MS);
    carry_out(c, &intents);
    if (want)
        expect(name, &intents, want);
    ek_intents_done(&intents);
}

START_TEST(one_of_many)
{
    struct cluster c = {0};

    settle(&c, one_rows[_i].name, one_rows[_i].one, NULL);
    settle(&c, one_rows[_i].name, ALL, one_rows[_i].comes);
    settle(&c, one_rows[_i].name, one_rows[_i].one, one_rows[_i].goes);
    drop_all(&c);
}
END_TEST

/* ---- Facts ---- */

#define SOURCE(version, kind_, trouble_, error_)                                                   \
    {                                                                                              \
        .api_version = (version), .kind = (kind_), .trouble = (trouble_), .error = (error_),       \
        .namespaced = true                                                                         \
    }

/* Of the policy "a", bound by x: a condition, and what must be in its message. */
static const struct facts_row {
    const char *name, *policy;
    bool checked;
    const char *schemas_error;
    struct ek_params_source params;
    const char *type, *status, *message;
} facts_rows[] = {
    {"no schema", "a", false, "", SOURCE("v1", "Secret", EK_PARAMS_FORBIDDEN, "forbidden"),
     "TypesChecked", "Unknown", "no schema of a kind that it matches is known"},
    {"no schema, and why", "a", false, "/openapi/v3: refused",
     SOURCE("v1", "Secret", EK_PARAMS_FORBIDDEN, "forbidden"), "TypesChecked", "Unknown",
     "/openapi/v3: refused"},
    {"checked", "a", true, "/openapi/v3: refused",
     SOURCE("v1", "Secret", EK_PARAMS_FORBIDDEN, "forbidden"), "TypesChecked", "True",
     "all expressions fit"},
    {"params that cannot be read", "a/p", false, "",
     SOURCE("v1", "ConfigMap", EK_PARAMS_FORBIDDEN, "forbidden"), "Enforced", "False",
     "params: forbidden"},
    {"and so it is not ready", "a/p", false, "",
     SOURCE("v1", "ConfigMap", EK_PARAMS_FORBIDDEN, "forbidden"), "Ready", "False",
     "matching requests are denied"},
    {"params of another kind", "a/p", false, "",
     SOURCE("v1", "Secret", EK_PARAMS_FORBIDDEN, "forbidden"), "Enforced", "True",
     "Evenkeel enforces the policy"},
    {"params of another version", "a/p", false, "",
     SOURCE("v2", "ConfigMap", EK_PARAMS_FORBIDDEN, "forbidden"), "Enforced", "True",
     "Evenkeel enforces the policy"},
    {"params that can be read", "a/p", false, "", SOURCE("v1", "ConfigMap", EK_PARAMS_FINE, ""),
     "Enforced", "True", "Evenkeel enforces the policy"},
    {"no params", "a", false, "", SOURCE("v1", "ConfigMap", EK_PARAMS_FORBIDDEN, "forbidden"),
     "Enforced", "True", "Evenkeel enforces the policy"},
};

static yyjson_mut_val *condition_of(const struct ek_intents *intents, const char *type)
{
    yyjson_mut_val *condition;
    size_t i, n;

    for (size_t k = 0; k < intents->n; k++) {
        yyjson_mut_val *status = yyjson_mut_obj_get(intents->items[k].content, "status");
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(status, "conditions"), i, n, condition)
        {
            if (yyjson_mut_equals_str(yyjson_mut_obj_get(condition, "type"), type))
                return condition;
        }
    }
    return NULL;
}

START_TEST(facts)
{
    const struct facts_row *row = &facts_rows[_i];
    const struct ek_status_inputs inputs = {
        .schemas_error = row->schemas_error, .params = &row->params, .n_params = 1};
    struct cluster c = {0};

    set_policies(&c, row->policy, "x>a/p");
    c.state.policies[0].types = (struct ek_policy_types){.made = true, .checked = row->checked};
    struct ek_intents intents = plan(&c, &inputs, NULL, NOW_MS);
    yyjson_mut_val *condition = condition_of(&intents, row->type);
    const char *status = yyjson_mut_get_str(yyjson_mut_obj_get(condition, "status"));
    const char *message = yyjson_mut_get_str(yyjson_mut_obj_get(condition, "message"));
    ck_assert_msg(status && !strcmp(status, row->status), "%s: %s", row->name, status);
    ck_assert_msg(message && strstr(message, row->message), "%s: %s", row->name, message);
    ek_intents_done(&intents);
    drop_all(&c);
}
END_TEST

START_TEST(blocked_is_a_warning)
{
    const struct ek_params_source source =
        SOURCE("v1", "ConfigMap", EK_PARAMS_FORBIDDEN, "forbidden");
    const struct ek_status_inputs inputs = {.schemas_error = "", .params = &source, .n_params = 1};
    struct cluster c = {0};

    set_policies(&c, "a/p", "x>a/p");
    struct ek_intents intents = plan(&c, &inputs, NULL, NOW_MS);
    expect("at once", &intents, "+a a! (a Warning ParamsForbidden)");
    ek_intents_done(&intents);
    drop_all(&c);
    c = (struct cluster){0};
    set_policies(&c, "a/p", "");
    intents = plan(&c, &inputs, NULL, NOW_MS);
    carry_out(&c, &intents);
    ek_intents_done(&intents);
    set_policies(&c, "a/p", "x>a/p");
    intents = plan(&c, &inputs, NULL, NOW_MS);
    expect("once it is bound", &intents, "a (a Warning ParamsForbidden)");
    ek_intents_done(&intents);
    drop_all(&c);
}
END_TEST

/* Of a policy whose kind of params is not among those that are read. */
START_TEST(kinds_beyond_the_limit)
{
    static const struct {
        const char *name, *policy, *binding, *kind, *want;
    } rows_beyond[] = {
        {"its kind", "a/p", "x>a/p", "Secret", "+a a! (a Warning TooManyParamKinds)"},
        {"its kind is read", "a/p", "x>a/p", "ConfigMap", "+a a! (a Normal EnforcedByEvenkeel)"},
        {"no paramRef", "a/p", "x>a", "Secret", "+a a! (a Normal EnforcedByEvenkeel)"},
        {"no params", "a", "x>a", "Secret", "+a a! (a Normal EnforcedByEvenkeel)"},
    };
    static const struct ek_params_source beyond = {.trouble = EK_PARAMS_NO_ROOM, .error = "64"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows_beyond); i++) {
        const struct ek_params_source source =
            SOURCE("v1", rows_beyond[i].kind, EK_PARAMS_FINE, "");
        const struct ek_status_inputs inputs = {
            .schemas_error = "", .params = &source, .n_params = 1, .beyond = &beyond};
        struct cluster c = {0};
        set_policies(&c, rows_beyond[i].policy, rows_beyond[i].binding);
        struct ek_intents intents = plan(&c, &inputs, NULL, NOW_MS);
        expect(rows_beyond[i].name, &intents, rows_beyond[i].want);
        ek_intents_done(&intents);
        drop_all(&c);
    }
}
END_TEST

/* The block of one policy, and an Event once; no write while nothing changes. */
START_TEST(unregistered_is_a_warning)
{
    const struct ek_policy_unregistered blocks[] = {
        {0}, {.reason = "NotRegistered", .message = "no webhook"}};
    const struct ek_status_inputs inputs = {.schemas_error = "", .unregistered = blocks};
    struct cluster c = {0};

    set_policies(&c, "a b", "x>a y>b");
    struct ek_intents intents = plan(&c, NULL, NULL, NOW_MS);
    carry_out(&c, &intents);
    ek_intents_done(&intents);
    intents = plan(&c, &inputs, NULL, NOW_MS);
    expect("one of two", &intents, "b (b Warning NotRegistered)");
    carry_out(&c, &intents);
    ek_intents_done(&intents);
    intents = plan(&c, &inputs, NULL, NOW_MS + 1);
    expect("no change", &intents, "");
    ek_intents_done(&intents);
    intents = plan(&c, NULL, NULL, NOW_MS + 2);
    expect("registered again", &intents, "b (b Normal EnforcedByEvenkeel)");
    ek_intents_done(&intents);
    drop_all(&c);
}
END_TEST

/* Only where a policy has to be confirmed. */
START_TEST(restless_while_it_is_confirmed)
{
    for (int confirm = 0; confirm < 2; confirm++) {
        struct ek_policy_facts observed = {.restless = true};
        struct cluster c = {0};
        set_policies(&c, "!a", "!x>a");
        c.state.policies[0].enforcement = (struct ek_enforcement){
            .apply = true, .confirm = confirm, .enforcer = EK_ENFORCER_MIXED};
        struct ek_intents intents = plan(&c, NULL, &observed, NOW_MS);
        expect("restless", &intents,
               confirm ? "+a a! (a Warning NeverRests)" : "+a a! (a Normal EnforcedByBoth)");
        ek_intents_done(&intents);
        drop_all(&c);
    }
}
END_TEST

/* What is not known is no warning: it may well be enforced. */
START_TEST(unknown_is_no_warning)
{
    struct cluster c = {0};

    set_policies(&c, "a", "x>a");
    c.state.policies[0].enforcement.enforcer = EK_ENFORCER_UNKNOWN;
    struct ek_intents intents = plan(&c, NULL, NULL, NOW_MS);
    expect("unknown", &intents, "+a a! (a Normal NotKnown)");
    ek_intents_done(&intents);
    drop_all(&c);
}
END_TEST

/* Results of requests are reported, and a change of them alone is a write. */
START_TEST(results)
{
    const struct ek_fight_seen fight = {.path = "/a", .kind = "v1, Kind=Pod", .since_ms = NOW_MS};
    const struct ek_policy_facts observed[] = {
        {.counts = {.known = true, .applied = 2}},
        {.counts = {.known = true, .applied = 2}, .fights = &fight, .n_fights = 1}};
    struct cluster c = {0};
    static const char *const want[] = {"a", "a (a Warning Fighting)"};

    set_policies(&c, "a", "x>a");
    struct ek_intents intents = plan(&c, NULL, NULL, NOW_MS);
    carry_out(&c, &intents);
    ek_intents_done(&intents);
    for (int i = 0; i < 2; i++) {
        intents = plan(&c, NULL, &observed[i], NOW_MS);
        expect("results", &intents, want[i]);
        carry_out(&c, &intents);
        ek_intents_done(&intents);
        intents = plan(&c, NULL, &observed[i], NOW_MS + 1);
        expect("no change", &intents, "");
        ek_intents_done(&intents);
    }
    drop_all(&c);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");

    tcase_add_loop_test(t, writes, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(t, creations);
    tcase_add_loop_test(t, one_of_many, 0, (int)EK_ARRAY_SIZE(one_rows));
    tcase_add_loop_test(t, facts, 0, (int)EK_ARRAY_SIZE(facts_rows));
    tcase_add_test(t, unknown_is_no_warning);
    tcase_add_test(t, blocked_is_a_warning);
    tcase_add_test(t, kinds_beyond_the_limit);
    tcase_add_test(t, unregistered_is_a_warning);
    tcase_add_test(t, restless_while_it_is_confirmed);
    tcase_add_test(t, results);
    return ek_test_run("status_plan", t);
}
