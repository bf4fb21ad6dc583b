/* SPDX-License-Identifier: Apache-2.0 */
/* Which policies Evenkeel gets no requests for. Words of rows: test/support/policy_list.h. */
#include "reconcilers/mutation/registered.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "test/support/policy_list.h"
#include "test/support/suite.h"

#define MUTATING   EK_REGISTRATION_MUTATING
#define VALIDATING EK_REGISTRATION_VALIDATING

static const struct ek_webhooks_options options = {
    .url = "https://10.0.0.7:9443", .own_namespace = "evenkeel-system", .with_definitions = true};

/* What somebody has done to the configuration of the cluster. */
enum change {
    NONE,
    GONE,          /* there is no object */
    EMPTY,         /* it has no webhooks */
    FIRST_GONE,    /* the first webhook is not there */
    FIRST_NARROWED /* the first webhook is for labelled namespaces only */
};

static const struct row {
    const char *name;
    const char *policies, *bindings;
    enum ek_registration_kind kind; /* the one that could not be written */
    enum change change;
    bool waits;
    const char *want; /* "NAME REASON STATUS" each, separated by commas */
} rows[] = {
    {"all webhooks are there", "a b/i", "x>a y>b", MUTATING, NONE, false, ""},
    {"the object is gone", "a b/i", "x>a y>b", MUTATING, GONE, false,
     "a NotRegistered False, b NotRegistered False"},
    {"it has no webhooks", "a b/i", "x>a y>b", MUTATING, EMPTY, false,
     "a NotRegistered False, b NotRegistered False"},
    {"the webhook of one is gone", "a b/i", "x>a y>b", MUTATING, FIRST_GONE, false,
     "a NotRegistered False"},
    {"the webhook of one has another selector", "a b/i", "x>a y>b", MUTATING, FIRST_NARROWED, false,
     "a NotRegistered False"},
    {"requests could not be answered yet", "a", "x>a", MUTATING, GONE, true,
     "a NotRegistered Unknown"},
    {"several bindings", "a", "x>a y>a", MUTATING, GONE, false, "a NotRegistered False"},
    {"a policy without a binding", "a b", "x>b", MUTATING, GONE, false, "b NotRegistered False"},
    {"a policy that API servers run", "!a b", "!x>a x>b", MUTATING, GONE, false,
     "b NotRegistered False"},
    {"the checks of safety", "a b/s", "x>a y>b", VALIDATING, GONE, false, "b NotRegistered False"},
    {"the check of policies alone", "a b", "x>a y>b", VALIDATING, GONE, false, ""},
};

static void change(yyjson_mut_doc *doc, yyjson_mut_val *live, enum change what)
{
    yyjson_mut_val *webhooks = yyjson_mut_obj_get(live, "webhooks");
    yyjson_mut_val *first = yyjson_mut_arr_get_first(webhooks);

    if (what == EMPTY)
        yyjson_mut_arr_clear(webhooks);
    else if (what == FIRST_GONE)
        yyjson_mut_arr_remove_first(webhooks);
    else if (what == FIRST_NARROWED)
        yyjson_mut_obj_add_obj(doc, yyjson_mut_obj_get(first, "objectSelector"), "matchLabels");
}

/* The configuration that was written, with a bundle, and changed since. */
static struct ek_obj *make_live(const struct ek_mutation_state *state, const struct row *row)
{
    struct ek_webhooks_options with_bundle = options;
    yyjson_mut_doc *doc = ek_json_doc_new();

    with_bundle.ca_bundle = "a former bundle";
    yyjson_mut_val *live =
        ek_registration_write(&state->registrations[row->kind], state->bound, &with_bundle, doc);
    change(doc, live, row->change);
    struct ek_obj *obj = row->change == GONE ? NULL : ek_obj_from_mut(live);
    yyjson_mut_doc_free(doc);
    return obj;
}

static void expect(const char *name, const struct ek_mutation_state *state,
                   const struct ek_policy_unregistered *blocks, const char *want)
{
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 1 << 16);
    for (size_t i = 0; blocks && i < state->n_policies; i++)
        if (blocks[i].reason)
            ek_buf_printf(&got, "%s%s %s %s", got.len ? ", " : "", state->policies[i].policy->name,
                          blocks[i].reason, blocks[i].unknown ? "Unknown" : "False");
    ck_assert_msg(!strcmp(ek_buf_str(&got), want), "%s: %s", name, ek_buf_str(&got));
    ck_assert_msg(*want || !blocks, "%s", name);
}

/* All API servers run the plug-in. */
static void plan(struct ek_mutation_state *state, const struct row *row)
{
    struct test_policy_list list;

    test_policy_list_init(&list, row->policies, row->bindings);
    list.inputs.census = (struct ek_plugin_census){.runs = 1, .complete = true};
    ek_mutation_state_plan(state, &list.inputs);
    test_policy_list_done(&list);
}

START_TEST(finds)
{
    const struct row *row = &rows[_i];
    struct ek_mutation_state state = {0};
    struct ek_registration_standing standings[EK_REGISTRATION_KINDS] = {0};
    struct ek_registration_standing *standing = &standings[row->kind];
    struct ek_arena *arena = ek_arena_new(1 << 16);
    yyjson_mut_doc *doc = ek_json_doc_new();

    plan(&state, row);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *live = make_live(&state, row);
    standing->content =
        ek_registration_write(&state.registrations[row->kind], state.bound, &options, doc);
    standing->live = live ? ek_obj_root(live) : NULL;
    standing->error = "refused";
    standing->waits = row->waits;
    EK_AUTOFREE struct ek_policy_unregistered *blocks =
        ek_policies_unregistered(&state, standings, arena);
    expect(row->name, &state, blocks, row->want);
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
    ek_mutation_state_done(&state);
}
END_TEST

/* What a reader of the condition has to know. */
START_TEST(messages)
{
    static const struct row row = {.policies = "a b/s", .bindings = "x>a y>b"};
    static const char *const want[] = {
        "MutatingWebhookConfiguration evenkeel does not have the webhook of the policy: refused; "
        "Evenkeel does not apply the policy; Evenkeel tries again",
        "ValidatingWebhookConfiguration evenkeel does not have the webhook of the policy: refused; "
        "the safety of the policy is not checked; Evenkeel tries again"};
    struct ek_mutation_state state = {0};
    struct ek_arena *arena = ek_arena_new(1 << 16);
    yyjson_mut_doc *doc = ek_json_doc_new();

    plan(&state, &row);
    for (int kind = 0; kind < EK_REGISTRATION_KINDS; kind++) {
        struct ek_registration_standing standings[EK_REGISTRATION_KINDS] = {0};
        standings[kind].content =
            ek_registration_write(&state.registrations[kind], state.bound, &options, doc);
        standings[kind].error = "refused";
        EK_AUTOFREE struct ek_policy_unregistered *blocks =
            ek_policies_unregistered(&state, standings, arena);
        ck_assert_str_eq(blocks[1].message, want[kind]);
    }
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
    ek_mutation_state_done(&state);
}
END_TEST

/* ---- No room ---- */

#define MANY (EK_REGISTRATION_ENTRIES_MAX + 2)

static struct ek_obj *parse(const char *json)
{
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    ck_assert_msg(!ek_obj_parse(json, strlen(json), &obj, &err), "%s", err.message);
    return obj;
}

/* Each policy wants Pods in another version. */
static struct ek_obj *make_policy(size_t i)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicy\","
        "\"metadata\":{\"name\":\"q%02zu\",\"uid\":\"u-%zu\",\"resourceVersion\":\"1\"},\"spec\":{"
        "\"failurePolicy\":\"Fail\",\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{"
        "\"resourceRules\":[{\"operations\":[\"CREATE\"],\"apiGroups\":[\"\"],\"apiVersions\":["
        "\"v%zu\"],\"resources\":[\"pods\"]}]},\"mutations\":[{\"patchType\":"
        "\"ApplyConfiguration\",\"applyConfiguration\":{\"expression\":\"Object{}\"}}]}}",
        i, i, i + 1);

    return parse(json);
}

static struct ek_obj *make_binding(size_t i)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"MutatingAdmissionPolicyBinding\","
        "\"metadata\":{\"name\":\"b%02zu\",\"uid\":\"b-%zu\",\"resourceVersion\":\"1\"},"
        "\"spec\":{\"policyName\":\"q%02zu\"}}",
        i, i, i);

    return parse(json);
}

START_TEST(no_room)
{
    static const struct ek_registration_standing written[EK_REGISTRATION_KINDS];
    struct ek_obj *policies[MANY], *bindings[MANY];
    struct ek_mutation_state state = {0};
    struct ek_arena *arena = ek_arena_new(1 << 16);

    for (size_t i = 0; i < MANY; i++) {
        policies[i] = make_policy(i);
        bindings[i] = make_binding(i);
    }
    ek_mutation_state_plan(&state, &(struct ek_mutation_inputs){.own_policies = {policies, MANY},
                                                                .own_bindings = {bindings, MANY},
                                                                .serving = true});
    EK_AUTOFREE struct ek_policy_unregistered *blocks =
        ek_policies_unregistered(&state, written, arena);
    expect("65 and 66", &state, blocks, "q64 TooManyWebhooks False, q65 TooManyWebhooks False");
    ck_assert_str_eq(blocks[64].message,
                     "MutatingWebhookConfiguration evenkeel has 64 webhooks, which is the limit, "
                     "and none of them has room for the policy; Evenkeel does not apply the "
                     "policy; match each resource in the apiVersions in which other policies "
                     "match it");
    ek_mutation_state_done(&state);
    ek_arena_free(arena);
    for (size_t i = 0; i < MANY; i++) {
        ek_obj_unref(policies[i]);
        ek_obj_unref(bindings[i]);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");

    tcase_add_loop_test(t, finds, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(t, messages);
    tcase_add_test(t, no_room);
    return ek_test_run("policies registered", t);
}
