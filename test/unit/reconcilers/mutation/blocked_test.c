/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps matching requests from being answered as a policy is written: by row. */
#include "reconcilers/mutation/blocked.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "api/selector.h"
#include "test/support/suite.h"

static const struct ek_policy plain = {.name = "p", .param_api_version = "", .param_kind = ""};
static const struct ek_policy fail = {
    .name = "p", .has_params = true, .param_api_version = "v1", .param_kind = "ConfigMap"};
static const struct ek_policy ignore = {.name = "p",
                                        .has_params = true,
                                        .ignore_failures = true,
                                        .param_api_version = "v1",
                                        .param_kind = "ConfigMap"};

#define NAMED(namespace_, name_, allow)                                                            \
    {                                                                                              \
        .name = "x", .has_param_ref = true, .param_namespace = (namespace_),                       \
        .param_name = (name_), .allow_missing_params = (allow)                                     \
    }

/* What is listed: "namespace/name" each, and whether a selector finds something. */
struct listed {
    const char *keys[3];
    bool selected;
};

static bool holds(void *ctx, const struct ek_params_wanted *wanted)
{
    const struct listed *listed = ctx;

    if (wanted->selector)
        return listed->selected;
    for (size_t i = 0; i < 3 && listed->keys[i]; i++) {
        const char *slash = strchr(listed->keys[i], '/');
        size_t len = slash ? (size_t)(slash - listed->keys[i]) : 0;
        if (!strcmp(slash ? slash + 1 : listed->keys[i], wanted->name) &&
            (!*wanted->namespace || (strlen(wanted->namespace) == len &&
                                     !strncmp(listed->keys[i], wanted->namespace, len))))
            return true;
    }
    return false;
}

static const struct row {
    const char *name;
    const struct ek_policy *policy;
    struct ek_binding binding;
    bool selects; /* the binding has a selector */
    enum ek_params_trouble trouble;
    const char *error;
    bool cluster, unknown; /* the kind is cluster-scoped; nothing is known of it */
    struct listed listed;
    bool unlisted, restless;
    const char *reason, *message; /* NULL: nothing blocks it */
} rows[] = {
    {"no params", &plain, {.name = "x"}, .error = "", .unknown = true},
    {"a kind of which nothing is known yet", &fail, NAMED("n", "c", false), .error = "",
     .unknown = true},
    {"nothing is listed yet", &fail, NAMED("n", "c", false), .error = "", .unlisted = true},
    {"forbidden", &fail, NAMED("n", "c", false), .trouble = EK_PARAMS_FORBIDDEN, .error = "no list",
     .unlisted = true, .reason = "ParamsForbidden",
     .message = "params: no list; matching requests are denied; allow Evenkeel to list"},
    {"forbidden, and failures are ignored", &ignore, NAMED("n", "c", false),
     .trouble = EK_PARAMS_FORBIDDEN, .error = "no list", .unlisted = true,
     .reason = "ParamsForbidden", .message = "matching requests are answered without the policy"},
    {"not served", &fail, NAMED("n", "c", false), .trouble = EK_PARAMS_NOT_SERVED,
     .error = "the cluster serves no ConfigMap of v1", .unlisted = true,
     .reason = "ParamKindNotServed", .message = "install the kind, or correct spec.paramKind"},
    {"not read", &fail, NAMED("n", "c", false), .trouble = EK_PARAMS_UNREADABLE,
     .error = "timed out", .unlisted = true, .reason = "ParamsNotRead", .message = "timed out"},
    {"too many kinds", &fail, NAMED("n", "c", true), .trouble = EK_PARAMS_NO_ROOM,
     .error = "at most 64 kinds", .unlisted = true, .reason = "TooManyParamKinds",
     .message = "params: at most 64 kinds; matching requests are denied; use a kind of params"},
    {"a policy without params of a kind in trouble",
     &plain,
     {.name = "x"},
     .trouble = EK_PARAMS_FORBIDDEN,
     .error = "no list"},
    {"there", &fail, NAMED("n", "c", false), .error = "", .listed = {{"n/c"}, false}},
    {"missing", &fail, NAMED("n", "c", false), .error = "", .listed = {{"n/d", "m/c"}, false},
     .reason = "ParamsNotFound",
     .message = "binding x: there is no ConfigMap c in namespace n, and parameterNotFoundAction is "
                "Deny; matching requests are denied; create the object, or set"},
    {"missing, which is allowed", &fail, NAMED("n", "c", true), .error = ""},
    {"in the namespace of the request: in some", &fail, NAMED("", "c", false), .error = "",
     .listed = {{"m/c"}, false}},
    {"in the namespace of the request: in none", &fail, NAMED("", "c", false), .error = "",
     .listed = {{"m/d"}, false}, .reason = "ParamsNotFound",
     .message = "there is no ConfigMap c, and"},
    {"cluster-scoped", &fail, NAMED("", "c", false), .error = "", .cluster = true,
     .listed = {{"c"}, false}},
    {"cluster-scoped with a namespace", &fail, NAMED("n", "c", false), .error = "", .cluster = true,
     .listed = {{"c"}, false}, .reason = "InvalidParamRef", .message = "remove the namespace"},
    {"selected", &fail, NAMED("n", "", false), true, .error = "", .listed = {{NULL}, true}},
    {"none is selected", &fail, NAMED("n", "", false), true, .error = "",
     .reason = "ParamsNotFound",
     .message = "there is no ConfigMap that its selector matches in namespace n"},
    {"a binding without params", &fail, {.name = "x"}, .error = ""},
    {"restless",
     &plain,
     {.name = "x"},
     .error = "",
     .unknown = true,
     .restless = true,
     .reason = "NeverRests",
     .message = "make it change nothing on its own result"},
    {"missing params come first", &fail, NAMED("n", "c", false), .error = "", .restless = true,
     .reason = "ParamsNotFound", .message = ""},
};

START_TEST(blocks)
{
    const struct row *row = &rows[_i];
    struct listed listed = row->listed;
    struct ek_binding binding = row->binding;
    struct ek_selector *selector = NULL;
    const struct ek_params_source source = {.api_version = "v1",
                                            .kind = "ConfigMap",
                                            .trouble = row->trouble,
                                            .error = row->error,
                                            .namespaced = !row->cluster,
                                            .holds = row->unlisted ? NULL : holds,
                                            .ctx = &listed};
    const struct ek_binding *bindings[] = {&binding};
    struct ek_arena *arena = ek_arena_new(1 << 16);

    ck_assert_int_eq(ek_selector_parse("a=b", &selector, NULL), 0);
    binding.param_selector = row->selects ? selector : NULL;
    if (!binding.param_name)
        binding.param_name = binding.param_namespace = "";
    struct ek_policy_block block = ek_policy_blocked(
        row->policy, bindings, 1, row->unknown ? NULL : &source, row->restless, arena);
    ck_assert_msg(row->reason ? block.reason && !strcmp(block.reason, row->reason) : !block.reason,
                  "%s: %s", row->name, block.reason ? block.reason : "nothing");
    ck_assert_msg(!row->message || strstr(block.message, row->message), "%s: %s", row->name,
                  block.message);
    ek_selector_free(selector);
    ek_arena_free(arena);
}
END_TEST

/* ---- Params of a namespace for objects of none ---- */

#define MATCH(group, resource, more)                                                               \
    "{\"resourceRules\":[{\"operations\":[\"CREATE\"],\"apiGroups\":[\"" group                     \
    "\"],\"apiVersions\":[\"v1\"],\"resources\":[" resource "]" more "}]}"

static const struct scope_row {
    const char *name, *policy, *binding; /* what they match; binding NULL: everything */
    const char *namespace;               /* of paramRef */
    bool allow, cluster, unlisted;
    bool blocked;
} scope_rows[] = {
    {"a kind in no namespace", MATCH("", "\"nodes\"", ""), NULL, "", .blocked = true},
    {"whatever may be missing", MATCH("", "\"nodes\"", ""), NULL, "", true, .blocked = true},
    {"of another group", MATCH("storage.k8s.io", "\"storageclasses\"", ""), NULL, "",
     .blocked = true},
    {"the binding narrows", MATCH("*", "\"*\"", ""), MATCH("", "\"nodes\"", ""), "",
     .blocked = true},
    {"by scope", MATCH("example.com", "\"toys\"", ",\"scope\":\"Cluster\""), NULL, "",
     .blocked = true},
    {"of a kind that is not known", MATCH("example.com", "\"toys\"", ""), NULL, "",
     .blocked = false},
    {"in namespaces as well", MATCH("", "\"nodes\",\"pods\"", ""), NULL, "", .blocked = false},
    {"a Namespace is in its own", MATCH("", "\"nodes\",\"namespaces\"", ""), NULL, "",
     .blocked = false},
    {"by scope, with Namespaces", MATCH("*", "\"*\"", ",\"scope\":\"Cluster\""), NULL, "",
     .blocked = false},
    {"params of one namespace", MATCH("", "\"nodes\"", ""), NULL, "n", .blocked = false},
    {"params of none", MATCH("", "\"nodes\"", ""), NULL, "", .cluster = true},
    {"nothing is listed yet", MATCH("", "\"nodes\"", ""), NULL, "", .unlisted = true},
};

static struct ek_rules *read_rules(const char *json)
{
    yyjson_doc *doc = json ? ek_json_parse(json, strlen(json), NULL) : NULL;
    struct ek_rules *rules = ek_rules_new(yyjson_doc_get_root(doc));

    ck_assert(!json || doc);
    yyjson_doc_free(doc);
    return rules;
}

START_TEST(scopes)
{
    const struct scope_row *row = &scope_rows[_i];
    EK_AUTOPTR(ek_rules, ek_rules_free) *matched = read_rules(row->policy);
    EK_AUTOPTR(ek_rules, ek_rules_free) *narrowed = read_rules(row->binding);
    struct listed listed = {{row->cluster ? "c" : "n/c"}, false};
    const struct ek_params_source source = {.api_version = "v1",
                                            .kind = "ConfigMap",
                                            .error = "",
                                            .namespaced = !row->cluster,
                                            .holds = row->unlisted ? NULL : holds,
                                            .ctx = &listed};
    struct ek_binding binding = NAMED(row->namespace, "c", row->allow);
    const struct ek_binding *bindings[] = {&binding};
    struct ek_policy policy = fail;
    struct ek_arena *arena = ek_arena_new(1 << 16);

    policy.rules = matched;
    binding.rules = narrowed;
    struct ek_policy_block block = ek_policy_blocked(&policy, bindings, 1, &source, false, arena);
    ck_assert_msg(row->blocked ? block.reason && !strcmp(block.reason, "ClusterScoped")
                               : !block.reason,
                  "%s: %s", row->name, block.reason ? block.reason : "nothing");
    if (row->blocked)
        ck_assert_ptr_nonnull(strstr(block.message, "matching requests are denied; "
                                                    "set paramRef.namespace"));
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, blocks, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, scopes, 0, EK_ARRAY_SIZE(scope_rows));
    return ek_test_run("policy blocked", tc);
}
