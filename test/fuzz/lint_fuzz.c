/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy, mutating or validating, through the type check and lint, with the schemas of some
 * built-in kinds; a validating one also through a request. Whatever it says, findings have a place
 * in the policy, a message of one line and the kinds they hold for, and a second look finds the
 * same. A CustomResourceDefinition goes through the check of its rules, twice with one result.
 */
#include <stdlib.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "reconcilers/mutation/validate.h"
#include "reconcilers/policylint/definition.h"
#include "reconcilers/policylint/lint.h"
#include "test/fuzz/fuzz.h"

#define ARENA_LIMIT ((size_t)16 << 20)
#define INPUT_MAX   ((size_t)32 << 10)

static const struct ek_schema *builtin(void)
{
    static struct ek_schema *schema;

    if (!schema)
        fuzz_require(ek_schema_builtin_open(EK_BUILTIN_MINOR_MAX, &schema, NULL) == 0);
    return schema;
}

static void check_types(const struct ek_policy *policy, const struct ek_type_findings *found)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct ek_type_finding *f = &found->list[i];
        fuzz_require(f->field && !strncmp(f->field, "spec.", 5));
        fuzz_require(f->message && *f->message && !strchr(f->message, '\n'));
        fuzz_require(f->kinds && (*f->kinds || f->all_kinds));
    }
    for (size_t i = 0; i < found->n_writes; i++) {
        fuzz_require(found->writes[i].mutation < policy->n_mutations);
        fuzz_require(found->writes[i].path != NULL);
    }
}

static void check_lint(const struct ek_lint_report *report)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n; i++) {
        const struct ek_lint_finding *f = &report->list[i];
        fuzz_require(f->rule && *f->rule && f->message && *f->message);
        fuzz_require((f->line == 0) == (f->column == 0));
        fuzz_require(!f->line || f->text);
    }
    for (size_t i = 0; i <= EK_LINT_INFO; i++)
        n += report->n_severity[i];
    fuzz_require(n == report->n);
}

/* Some fields are newer than the version, some are gone, some are newer than the version before. */
static bool find_gap(void *ctx, const struct ek_gvk *kind, const char *path,
                     struct ek_type_gap *ret_gap)
{
    (void)ctx;
    fuzz_require(kind && *path);
    ret_gap->at = EK_MINOR(1, 36);
    ret_gap->why = strlen(path) % 3;
    return strlen(path) % 5 == 0;
}

static const struct ek_type_gaps gaps = {find_gap, NULL};

static void look(const struct ek_obj *obj, const struct ek_policy *policy)
{
    const struct ek_typecheck_kind kinds[] = {{{"apps", "v1", "Deployment"}, builtin()},
                                              {{"", "v1", "Pod"}, builtin()},
                                              {{"", "v1", "ConfigMap"}, builtin()},
                                              {{"example.com", "v1", "Nobody"}, NULL}};
    const struct ek_lint_policy one = {.policy = policy,
                                       .object = obj,
                                       .kinds = kinds,
                                       .n_kinds = EK_ARRAY_SIZE(kinds),
                                       .params = &kinds[2]};
    const struct ek_lint_input input = {
        .policies = &one, .n_policies = 1, .kubernetes_minor = EK_BUILTIN_MINOR_MAX};
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_type_findings first, second;
    struct ek_lint_report report;

    int rc = ek_typecheck_policy_at(policy, kinds, EK_ARRAY_SIZE(kinds), &kinds[2], &gaps, arena,
                                    &first);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT);
    if (rc == 0) {
        check_types(policy, &first);
        rc = ek_typecheck_policy_at(policy, kinds, EK_ARRAY_SIZE(kinds), &kinds[2], &gaps, arena,
                                    &second);
        fuzz_require(rc || (second.n == first.n && second.n_writes == first.n_writes));
    }
    ek_arena_reset(arena);
    rc = ek_lint(&input, arena, &report);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT);
    if (rc == 0)
        check_lint(&report);
    ek_arena_free(arena);
}

static enum ek_world_answer find_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                           struct ek_err *err)
{
    (void)arg;
    (void)name;
    *ret_object = NULL;
    return ek_err_set(err, EK_E_NOENT, "there is none"), EK_WORLD_ABSENT;
}

/* One invocation without params, whose object is the policy itself. */
static void judge(const struct ek_obj *obj, const struct ek_policy *policy)
{
    static const char *const actions[] = {"Deny", "Audit"};
    struct ek_rules *rules = ek_rules_new(NULL);
    const struct ek_binding binding = {.name = "b",
                                       .policy_name = policy->name,
                                       .native = true,
                                       .validating = true,
                                       .actions = actions,
                                       .n_actions = EK_ARRAY_SIZE(actions),
                                       .rules = rules};
    const struct ek_bound bound = {.policy = policy, .binding = &binding, .apply = true};
    const struct ek_mutation_world world = {.namespace = find_namespace};
    const struct ek_admission_request request = {.kind = {"apps", "v1", "Deployment"},
                                                 .resource = {"apps", "v1", "deployments"},
                                                 .subresource = "",
                                                 .name = "x",
                                                 .namespace = "",
                                                 .operation = "CREATE",
                                                 .object = ek_obj_root(obj),
                                                 .root = ek_obj_root(obj)};
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_validating_outcome outcome;

    int rc = ek_validating_run(&(struct ek_policy_set){&bound, 1}, &request, &world,
                               &(struct ek_engine_options){0}, arena, &outcome);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT || rc == EK_E_NOMEM);
    if (rc == 0 && !outcome.pending)
        fuzz_require(outcome.allowed ? !outcome.code
                                     : outcome.code >= 400 && outcome.message && outcome.reason);
    ek_arena_free(arena);
    ek_rules_free(rules);
}

static void look_at_definition(yyjson_val *crd)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT), *again = ek_arena_new(ARENA_LIMIT);
    struct ek_definition_report first, second;

    int rc = ek_definition_lint(crd, 0, arena, &first);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT);
    if (rc == 0 && !ek_definition_lint(crd, 0, again, &second)) {
        fuzz_require(first.n == second.n && first.rules == second.rules);
        for (size_t i = 0; i < first.n; i++)
            fuzz_require(*first.list[i].field && *first.list[i].message &&
                         !strcmp(first.list[i].message, second.list[i].message));
    }
    ek_arena_free(arena);
    ek_arena_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = size <= INPUT_MAX ? ek_json_parse((const char *)data, size, NULL) : NULL;
    struct ek_obj *obj = doc ? ek_obj_from_val(yyjson_doc_get_root(doc)) : NULL;

    if (obj && !strcmp(ek_obj_kind(obj), "CustomResourceDefinition")) {
        look_at_definition(ek_obj_root(obj));
    } else if (obj) {
        const struct ek_policy *policy = ek_policy_new(obj, 0);
        look(obj, policy);
        if (policy->validating)
            judge(obj, policy);
        ek_policy_unref(policy);
    }
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
    return 0;
}
