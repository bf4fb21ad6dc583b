/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of objects, compiled for two versions. The types of fields are not known here, so
 * nearly everything is dyn: what fails for the newest version already says nothing about a version.
 */
#include <string.h>

#include "api/cel/cel.h"
#include "api/cel/library.h"
#include "api/obj.h"
#include "reconcilers/plan/objects-internal.h"

#define SCHEMA_DEPTH_MAX 64

/* What an expression may use. */
enum usage {
    USE_KUBERNETES,
    USE_MUTATION,
    USE_DEVICES, /* selectors of devices (dynamic-resource-allocation/cel/compile.go:newCompiler) */
    USE_CONFIG,  /* a file of the API server itself, which compiles what its binary has
                    (apiserver/pkg/authorization/cel/compile.go:CompileCELExpression,
                    authentication/cel/compile.go:compile at 1.36) */
};

/* Where kinds have expressions. */
static const struct {
    const char *kind, *path;
    enum usage usage;
} places[] = {
#define KUBERNETES USE_KUBERNETES
    {"ValidatingAdmissionPolicy", "spec.validations[].expression", KUBERNETES},
    {"ValidatingAdmissionPolicy", "spec.validations[].messageExpression", KUBERNETES},
    {"ValidatingAdmissionPolicy", "spec.auditAnnotations[].valueExpression", KUBERNETES},
    {"ValidatingAdmissionPolicy", "spec.variables[].expression", KUBERNETES},
    {"ValidatingAdmissionPolicy", "spec.matchConditions[].expression", KUBERNETES},
    {"MutatingAdmissionPolicy", "spec.variables[].expression", KUBERNETES},
    {"MutatingAdmissionPolicy", "spec.matchConditions[].expression", KUBERNETES},
    {"MutatingAdmissionPolicy", "spec.mutations[].applyConfiguration.expression", USE_MUTATION},
    {"MutatingAdmissionPolicy", "spec.mutations[].jsonPatch.expression", USE_MUTATION},
    {"ValidatingWebhookConfiguration", "webhooks[].matchConditions[].expression", KUBERNETES},
    {"MutatingWebhookConfiguration", "webhooks[].matchConditions[].expression", KUBERNETES},
    {"AuthorizationConfiguration", "authorizers[].webhook.matchConditions[].expression",
     USE_CONFIG},
    {"AuthenticationConfiguration", "jwt[].claimMappings.username.expression", USE_CONFIG},
    {"AuthenticationConfiguration", "jwt[].claimMappings.groups.expression", USE_CONFIG},
    {"AuthenticationConfiguration", "jwt[].claimMappings.uid.expression", USE_CONFIG},
    {"AuthenticationConfiguration", "jwt[].claimMappings.extra[].valueExpression", USE_CONFIG},
    {"AuthenticationConfiguration", "jwt[].claimValidationRules[].expression", USE_CONFIG},
    {"AuthenticationConfiguration", "jwt[].userValidationRules[].expression", USE_CONFIG},
    {"DeviceClass", "spec.selectors[].cel.expression", USE_DEVICES},
    {"ResourceClaim", "spec.devices.requests[].selectors[].cel.expression", USE_DEVICES},
    {"ResourceClaim", "spec.devices.requests[].exactly.selectors[].cel.expression", USE_DEVICES},
    {"ResourceClaim", "spec.devices.requests[].firstAvailable[].selectors[].cel.expression",
     USE_DEVICES},
    {"ResourceClaimTemplate",
     "spec.spec.devices.requests[].firstAvailable[].selectors[].cel.expression", USE_DEVICES},
    {"ResourceClaimTemplate", "spec.spec.devices.requests[].selectors[].cel.expression",
     USE_DEVICES},
    {"ResourceClaimTemplate", "spec.spec.devices.requests[].exactly.selectors[].cel.expression",
     USE_DEVICES},
#undef KUBERNETES
};

static const struct {
    const char *name, *type;
} variables[] = {
    {"object", "dyn"},
    {"oldObject", "dyn"},
    {"params", "dyn"},
    {"request", "dyn"},
    {"namespaceObject", "dyn"},
    {"variables", "dyn"},
    {"self", "dyn"},
    {"oldSelf", "dyn"},
    {"device", "dyn"},
    {"authorizer", "kubernetes.authorization.Authorizer"},
    {"authorizer.requestResource", "kubernetes.authorization.ResourceCheck"},
};

/* Variables of authentication configurations. */
static const char *const token_variables[] = {"claims", "user"};

/* The variable of selectors. allowMultipleAllocations needs the gate DRAConsumableCapacity, which
 * is on by default since 1.36. */
static const struct {
    const char *name, *type;
    int since; /* minor of the version of Kubernetes */
} device_fields[] = {
    {"driver", "string", 0},
    {"attributes", "map(string, map(string, dyn))", 0},
    {"capacity", "map(string, map(string, kubernetes.Quantity))", 0},
    {"allowMultipleAllocations", "bool", 36},
};

/* Environments of one object: a usage at each of the versions that are compared. */
#define ENVS_MAX 12
struct envs {
    struct {
        enum usage usage;
        int compat_minor;
        struct ek_cel_env *env;
    } list[ENVS_MAX];
    size_t n;
};

/* cel.bind and the variable device, since the compatibility version 1.31. */
static void declare_device(struct ek_cel_env *env, int compat_minor)
{
    if (compat_minor < 31)
        return;
    ek_cel_env_add_library(env, &ek_cel_lib_bindings, 0, NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(device_fields); i++)
        if (compat_minor + 1 >= device_fields[i].since)
            ek_cel_env_declare_field(env, "kubernetes.DRADevice", device_fields[i].name,
                                     device_fields[i].type, NULL);
    ek_cel_env_declare(env, "device", "kubernetes.DRADevice", NULL);
}

/* The environment of a usage at a compatibility version, made once; NULL without memory. */
static struct ek_cel_env *env_of(struct envs *envs, enum usage usage, int compat_minor)
{
    for (size_t i = 0; i < envs->n; i++)
        if (envs->list[i].usage == usage && envs->list[i].compat_minor == compat_minor)
            return envs->list[i].env;
    struct ek_cel_env *env = ek_cel_env_new(
        &(struct ek_cel_env_options){.set = usage == USE_MUTATION ? EK_CEL_ENV_MUTATION
                                                                  : EK_CEL_ENV_KUBERNETES,
                                     .mode = EK_CEL_NEW,
                                     .compat_minor = compat_minor},
        NULL);
    if (env && usage == USE_DEVICES)
        declare_device(env, compat_minor);
    for (size_t i = 0; env && usage != USE_DEVICES && i < EK_ARRAY_SIZE(variables); i++)
        ek_cel_env_declare(env, variables[i].name, variables[i].type, NULL);
    for (size_t i = 0; env && usage == USE_CONFIG && i < EK_ARRAY_SIZE(token_variables); i++)
        ek_cel_env_declare(env, token_variables[i], "dyn", NULL);
    envs->list[envs->n].usage = usage;
    envs->list[envs->n].compat_minor = compat_minor;
    envs->list[envs->n++].env = env;
    return env;
}

/* Compiles text as a new expression of a compatibility version; *ret_why is the first issue. */
static bool compiles(struct envs *envs, const char *text, enum usage usage, int compat_minor,
                     struct ek_arena *arena, const char **ret_why)
{
    struct ek_cel_env *env = env_of(envs, usage, compat_minor);
    struct ek_cel_issues issues = {0};

    *ret_why = "";
    struct ek_cel_program *program =
        env ? ek_cel_compile(env, text, strlen(text), NULL, &issues) : NULL;
    if (!program && issues.len)
        *ret_why = ek_arena_strdup(arena, issues.list[0].message);
    bool good = program != NULL;
    ek_cel_program_unref(program);
    ek_cel_issues_done(&issues);
    return good;
}

/* What a server of a version lets users write: what the version before can run. A file of its own
 * may have what the version has. False for versions whose environment is not known. */
static bool compat_of(struct ek_minor version, enum usage usage, int *ret)
{
    *ret = (int)version.minor - (usage != USE_CONFIG);
    return version.known && version.major == 1 && *ret >= EK_CEL_COMPAT_MIN &&
           *ret <= EK_CEL_COMPAT_MAX;
}

struct one {
    const struct ek_plan_check *check;
    enum usage usage;
    struct envs envs;
};

static void check_expression(void *ctx, yyjson_val *value, const struct ek_plan_place *place)
{
    struct one *one = ctx;
    const struct ek_plan_check *check = one->check;
    const char *text = yyjson_get_str(value), *why;
    struct ek_arena *arena = check->scratch;
    char at[EK_MINOR_SIZE];
    int to, from;

    if (!text || ek_arena_exhausted(check->report->arena) ||
        !ek_work_do(check->object->work, EK_WORK_STRIDE))
        return;
    if (!compat_of(check->target->to, one->usage, &to)) {
        ek_plan_say__(check, EK_PLAN_UNKNOWN, "expression", ek_plan_place_text__(place, arena),
                      "the CEL environment of the target is not known",
                      "use a release of Evenkeel that knows the target");
        return;
    }
    bool has_from = compat_of(check->target->from, one->usage, &from);
    if (compiles(&one->envs, text, one->usage, to, arena, &why)) {
        if (has_from && from < to && !compiles(&one->envs, text, one->usage, from, arena, &why))
            ek_plan_say__(check, EK_PLAN_WARNING, "expression-rollback",
                          ek_plan_place_text__(place, arena),
                          ek_arena_printf(arena, "%s refuses the expression: %s",
                                          ek_minor_format(check->target->from, at), why),
                          "write the expression after the step from which nobody goes back");
        return;
    }
    /* What no version here compiles is broken, or is newer than the engine. */
    const char *unused;
    bool changes = compiles(&one->envs, text, one->usage, EK_CEL_COMPAT_MAX, arena, &unused) ||
                   (has_from && compiles(&one->envs, text, one->usage, from, arena, &unused));
    if (changes)
        ek_plan_say__(check, EK_PLAN_ERROR, "expression", ek_plan_place_text__(place, arena),
                      ek_arena_printf(arena, "%s refuses the expression: %s",
                                      ek_minor_format(check->target->to, at), why),
                      "use functions that the target has in new expressions");
    else
        ek_plan_say__(
            check, EK_PLAN_UNKNOWN, "expression-broken", ek_plan_place_text__(place, arena),
            ek_arena_printf(arena, "no version up to 1.%d compiles the expression: %s",
                            EK_CEL_COMPAT_MAX + 1, why),
            "correct the expression, or use a release of Evenkeel that knows its functions");
}

/* The rules of a schema, without the schemas within. */
static void check_rules(struct one *one, yyjson_val *schema, const struct ek_plan_place *at)
{
    static const char *const members[] = {"rule", "messageExpression"};
    struct ek_plan_place list = {
        .up = at, .name = "x-kubernetes-validations", .len = strlen("x-kubernetes-validations")};
    size_t i, n;
    yyjson_val *rule;

    yyjson_arr_foreach(yyjson_obj_get(schema, list.name), i, n, rule)
    {
        struct ek_plan_place item = {.up = &list, .index = i};
        for (size_t m = 0; m < EK_ARRAY_SIZE(members); m++)
            check_expression(one, yyjson_obj_get(rule, members[m]),
                             &(struct ek_plan_place){
                                 .up = &item, .name = members[m], .len = strlen(members[m])});
    }
}

/* The rules of a schema of a CustomResourceDefinition, at any depth. */
static void check_schema(struct one *one, yyjson_val *schema, const struct ek_plan_place *at,
                         unsigned depth)
{
    static const char *const members[] = {"items", "additionalProperties"};
    struct ek_plan_place properties = {.up = at, .name = "properties", .len = strlen("properties")};
    size_t i, n;
    yyjson_val *key, *value;

    if (depth > SCHEMA_DEPTH_MAX) {
        ek_plan_say__(one->check, EK_PLAN_UNKNOWN, "expression",
                      ek_plan_place_text__(at, one->check->scratch),
                      "the schema is nested too deeply: the rules below this place are not checked",
                      "check the rules with an API server of the target");
        return;
    }
    check_rules(one, schema, at);
    ek_json_each_member(yyjson_obj_get(schema, "properties"), i, n, key, value)
    {
        const char *name = yyjson_get_str(key);
        check_schema(one, value,
                     &(struct ek_plan_place){.up = &properties, .name = name, .len = strlen(name)},
                     depth + 1);
    }
    for (size_t m = 0; m < EK_ARRAY_SIZE(members); m++) {
        value = yyjson_obj_get(schema, members[m]);
        if (yyjson_is_obj(value))
            check_schema(
                one, value,
                &(struct ek_plan_place){.up = at, .name = members[m], .len = strlen(members[m])},
                depth + 1);
    }
}

static void check_definition(void *ctx, yyjson_val *value, const struct ek_plan_place *place)
{
    check_schema(ctx, value, place, 0);
}

void ek_plan_check_expressions__(const struct ek_plan_check *check)
{
    struct one one = {check, USE_KUBERNETES, {.n = 0}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(places); i++)
        if (!strcmp(places[i].kind, check->kind)) {
            one.usage = places[i].usage;
            ek_plan_follow__(check->object->value, places[i].path, check_expression, &one);
        }
    one.usage = USE_KUBERNETES;
    if (!strcmp(check->kind, "CustomResourceDefinition"))
        ek_plan_follow__(check->object->value, "spec.versions[].schema.openAPIV3Schema",
                         check_definition, &one);
    for (size_t i = 0; i < one.envs.n; i++)
        ek_cel_env_unref(one.envs.list[i].env);
}
