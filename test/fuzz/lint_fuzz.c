/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy through the type check and lint, with the schemas of some built-in kinds. Whatever it
 * says, findings have a place in the policy, a message of one line and the kinds they hold for, and
 * a second look finds the same.
 */
#include <stdlib.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "reconcilers/mutation/lint.h"
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

    int rc = ek_typecheck_policy(policy, kinds, EK_ARRAY_SIZE(kinds), &kinds[2], arena, &first);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT);
    if (rc == 0) {
        check_types(policy, &first);
        rc = ek_typecheck_policy(policy, kinds, EK_ARRAY_SIZE(kinds), &kinds[2], arena, &second);
        fuzz_require(rc || (second.n == first.n && second.n_writes == first.n_writes));
    }
    ek_arena_reset(arena);
    rc = ek_lint(&input, arena, &report);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT);
    if (rc == 0)
        check_lint(&report);
    ek_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = size <= INPUT_MAX ? ek_json_parse((const char *)data, size, NULL) : NULL;
    struct ek_obj *obj = doc ? ek_obj_from_val(yyjson_doc_get_root(doc)) : NULL;

    if (obj) {
        const struct ek_policy *policy = ek_policy_new(obj, 0);
        look(obj, policy);
        ek_policy_unref(policy);
    }
    ek_obj_unref(obj);
    yyjson_doc_free(doc);
    return 0;
}
