/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and bindings of evenkeel.dev when they are written: fields, and what their authors may
 * read. The texts are those of a kube-apiserver 1.36.2 for its own kinds. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "reconcilers/mutation/definition.h"
#include "test/support/suite.h"

#define ALICE "{\"username\":\"alice\",\"groups\":[\"system:authenticated\"]}"
#define DETAILS                                                                                    \
    "{\"username\":\"alice\",\"uid\":\"77\",\"groups\":[\"dev\",\"ops\",\"system:authenticated\"]" \
    ","                                                                                            \
    "\"extra\":{\"k\":[\"v\"],\"a\":[\"b\",\"c\"]}}"
#define MASTER "{\"username\":\"root\",\"groups\":[\"x\",\"system:masters\"]}"

#define POLICIES "mutatingadmissionpolicies"
#define BINDINGS "mutatingadmissionpolicybindings"

#define MATCH                                                                                      \
    "\"reinvocationPolicy\":\"Never\",\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"" \
    "\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\"pods\"]}]}"
#define MUTATE(expression)                                                                         \
    "\"mutations\":[{\"patchType\":\"ApplyConfiguration\",\"applyConfiguration\":{"                \
    "\"expression\":\"" expression "\"}}]"
#define PARAMS(version, kind) "\"paramKind\":{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\"}"
#define PLAIN                 MATCH "," MUTATE("Object{}")
#define WITH(api, kind)       PLAIN "," PARAMS(api, kind)
#define REF(members)                                                                               \
    "\"policyName\":\"p\",\"paramRef\":{\"parameterNotFoundAction\":\"Deny\"," members "}"
#define NAMED    "\"name\":\"x\",\"namespace\":\"ns\""
#define SELECTED "\"selector\":{},\"namespace\":\"ns\""

#define NOT_ALL(user, kind, version)                                                               \
    "MutatingAdmissionPolicy.evenkeel.dev \"o\" is invalid: spec.paramKind: Forbidden: user "      \
    "&{" user                                                                                      \
    "} must have \"get\" permission on all objects of the referenced paramKind (kind=" kind        \
    ", apiVersion=" version ")"
#define NOT_REF(text)                                                                              \
    "MutatingAdmissionPolicyBinding.evenkeel.dev \"o\" is invalid: spec.paramRef: "                \
    "Forbidden: " text
#define NOT_LEAST(what)                                                                            \
    NOT_REF(what " to determine minimum required permissions and user &{alice  "                   \
                 "[system:authenticated] map[]} does not have \"get\" permission for all groups, " \
                 "versions and resources")

struct row {
    const char *name, *resource, *user;
    const char *old; /* spec; NULL: it is created */
    const char *spec;
    const char *stored; /* spec of the policy "p"; NULL: there is none */
    const char *may;    /* what the user may: "verb group/resource namespace/name"; "*": all */
    const char *asked;  /* the last question, likewise; "" for none */
    const char *want;   /* the denial, or the beginning of it; NULL: allowed */
};

static const struct row rows[] = {
    {"no params", POLICIES, ALICE, NULL, PLAIN, NULL, "", "", NULL},
    {"an expression that does not compile", POLICIES, MASTER, NULL, MATCH "," MUTATE("Object{"),
     NULL, "*", "",
     "MutatingAdmissionPolicy.evenkeel.dev \"o\" is invalid: "
     "spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object{\": compilation "
     "failed: "},
    {"fields first", POLICIES, ALICE, NULL, MATCH "," PARAMS("v1", "ConfigMap"), NULL, "", "",
     "MutatingAdmissionPolicy.evenkeel.dev \"o\" is invalid: spec.mutations: Required value: "
     "mutations must contain at least one item"},
    {"params that the author may read", POLICIES, ALICE, NULL, WITH("v1", "ConfigMap"), NULL,
     "get /configmaps */*", "get /configmaps */*", NULL},
    {"params of a group", POLICIES, ALICE, NULL, WITH("example.com/v1", "Widget"), NULL,
     "get example.com/widgets */*", "get example.com/widgets */*", NULL},
    {"params that the author may not read", POLICIES, ALICE, NULL, WITH("v1", "ConfigMap"), NULL,
     "get /configmaps ns/x", "get /configmaps */*",
     NOT_ALL("alice  [system:authenticated] map[]", "ConfigMap", "v1")},
    {"a user as Go prints it", POLICIES, DETAILS, NULL, WITH("v1", "ConfigMap"), NULL, "",
     "get /configmaps */*",
     NOT_ALL("alice 77 [dev ops system:authenticated] map[a:[b c] k:[v]]", "ConfigMap", "v1")},
    {"a kind that nobody knows needs all resources", POLICIES, ALICE, NULL, WITH("v1", "Nothing"),
     NULL, "", "get /* */*", NOT_ALL("alice  [system:authenticated] map[]", "Nothing", "v1")},
    {"a superuser", POLICIES, MASTER, NULL, WITH("v1", "ConfigMap"), NULL, "", "", NULL},
    {"an error is no permission", POLICIES, ALICE, NULL, WITH("v1", "ConfigMap"), NULL, "error",
     "get /configmaps */*",
     "MutatingAdmissionPolicy.evenkeel.dev \"o\" is invalid: spec.paramKind: Forbidden: broken"},
    {"an update that keeps the kind", POLICIES, ALICE, WITH("v1", "ConfigMap"),
     MATCH "," MUTATE("Object{metadata: Object.metadata{}}") "," PARAMS("v1", "ConfigMap"), NULL,
     "", "", NULL},
    {"an update that changes the kind", POLICIES, ALICE, WITH("v1", "ConfigMap"),
     WITH("v1", "Secret"), NULL, "get /configmaps */*", "get /secrets */*",
     NOT_ALL("alice  [system:authenticated] map[]", "Secret", "v1")},
    {"an update that adds a kind", POLICIES, ALICE, PLAIN, WITH("v1", "ConfigMap"), NULL, "",
     "get /configmaps */*", NOT_ALL("alice  [system:authenticated] map[]", "ConfigMap", "v1")},
    {"an update of something else", POLICIES, ALICE, "\"bad\":1", "\"bad\":1", NULL, "", "", NULL},
    {"an update that stays wrong", POLICIES, ALICE, MATCH, MATCH ",\"failurePolicy\":\"Fail\"",
     NULL, "*", "", "MutatingAdmissionPolicy.evenkeel.dev \"o\" is invalid: spec.mutations: "},

    {"a binding without params", BINDINGS, ALICE, NULL, "\"policyName\":\"p\"", NULL, "", "", NULL},
    {"a binding without a policy", BINDINGS, ALICE, NULL, "\"policyName\":\"\"", NULL, "*", "",
     "MutatingAdmissionPolicyBinding.evenkeel.dev \"o\" is invalid: spec.policyName: Required "
     "value"},
    {"a param that the author may get", BINDINGS, ALICE, NULL, REF(NAMED), WITH("v1", "ConfigMap"),
     "get /configmaps ns/x", "get /configmaps ns/x", NULL},
    {"a param that the author may not get", BINDINGS, ALICE, NULL, REF(NAMED),
     WITH("v1", "ConfigMap"), "get /configmaps ns/y", "get /configmaps ns/x",
     NOT_REF("user get does not have \"&{alice  [system:authenticated] map[]}\" permission on the "
             "object referenced by paramRef")},
    {"params of every namespace", BINDINGS, ALICE, NULL, REF("\"name\":\"x\""),
     WITH("v1", "ConfigMap"), "get /configmaps ns/x", "get /configmaps /x", NOT_REF("user get ")},
    {"params that are selected", BINDINGS, ALICE, NULL, REF(SELECTED), WITH("v1", "ConfigMap"),
     "get /configmaps ns/x", "list /configmaps ns/",
     NOT_REF("user list does not have \"&{alice  [system:authenticated] map[]}\" permission on "
             "the object referenced by paramRef")},
    {"params that may be listed", BINDINGS, ALICE, NULL, REF(SELECTED), WITH("v1", "ConfigMap"),
     "list /configmaps ns/", "list /configmaps ns/", NULL},
    {"an unknown policy may have any params", BINDINGS, ALICE, NULL, REF(NAMED), NULL,
     "get /configmaps ns/x", "get */* ns/x", NOT_LEAST("unable to get policy p")},
    {"an unknown kind may be any", BINDINGS, ALICE, NULL, REF(NAMED), WITH("v1", "Nothing"), "",
     "get /* ns/x", NOT_LEAST("unable to resolve paramKind &{v1 Nothing}")},
    {"a kind that cannot be read may be any", BINDINGS, ALICE, NULL, REF(NAMED),
     WITH("a/b/c", "Nothing"), "", "get */* ns/x",
     NOT_LEAST("unable to parse paramKind &{a/b/c Nothing}")},
    {"a policy without a kind may get any", BINDINGS, ALICE, NULL, REF(NAMED), PLAIN, "",
     "get */* ns/x", NOT_REF("user get ")},
    {"a superuser binds", BINDINGS, MASTER, NULL, REF(NAMED), NULL, "", "", NULL},
    {"what params are injected into has changed", BINDINGS, ALICE,
     REF(NAMED) ",\"matchResources\":{\"matchPolicy\":\"Exact\"}", REF(NAMED),
     WITH("v1", "ConfigMap"), "", "get /configmaps ns/x", NOT_REF("user get ")},
    {"nothing of a binding has changed", BINDINGS, ALICE, REF(NAMED), REF(NAMED), NULL, "", "",
     NULL},
};

/* The cluster of a row. Each fact is pending the first time. */
struct cluster {
    const struct row *row;
    yyjson_doc *stored;
    char asked[128];
    bool knows_resource, knows_policy, knows_access;
};

static bool knows(bool *fact)
{
    bool known = *fact;

    *fact = true;
    return known;
}

static enum ek_world_answer resource(void *arg, const char *api_version, const char *kind,
                                     const char **ret_resource)
{
    struct cluster *c = arg;

    if (!knows(&c->knows_resource))
        return EK_WORLD_PENDING;
    if (!strcmp(api_version, "v1") && !strcmp(kind, "ConfigMap"))
        *ret_resource = "configmaps";
    else if (!strcmp(api_version, "v1") && !strcmp(kind, "Secret"))
        *ret_resource = "secrets";
    else if (!strcmp(api_version, "example.com/v1") && !strcmp(kind, "Widget"))
        *ret_resource = "widgets";
    else
        return EK_WORLD_ABSENT;
    return EK_WORLD_FOUND;
}

static enum ek_world_answer policy(void *arg, const char *name, yyjson_val **ret_object)
{
    struct cluster *c = arg;

    ck_assert_str_eq(name, "p");
    if (!knows(&c->knows_policy))
        return EK_WORLD_PENDING;
    *ret_object = yyjson_doc_get_root(c->stored);
    return c->stored ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

static enum ek_world_answer authorize(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret)
{
    struct cluster *c = arg;

    ck_assert(what->is_resource && !what->account_name.len);
    snprintf(c->asked, sizeof c->asked, "%.*s %.*s/%.*s %.*s/%.*s", (int)what->verb.len,
             what->verb.p, (int)what->group.len, what->group.p, (int)what->resource.len,
             what->resource.p, (int)what->namespace_.len, what->namespace_.p, (int)what->name.len,
             what->name.p);
    if (!knows(&c->knows_access))
        return EK_WORLD_PENDING;
    ret->allowed = !strcmp(c->row->may, "*") || !strcmp(c->row->may, c->asked);
    if (!strcmp(c->row->may, "error"))
        ret->error = EK_STR("broken");
    return EK_WORLD_FOUND;
}

static yyjson_doc *read_request(const struct row *row, struct ek_admission_request *request)
{
    bool is_policy = !strcmp(row->resource, POLICIES);
    const char *kind = is_policy ? "MutatingAdmissionPolicy" : "MutatingAdmissionPolicyBinding";
#define OBJECT                                                                                     \
    "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"o\"},"     \
    "\"spec\":{%s}}"
    EK_AUTOFREE char *old = row->old ? ek_xasprintf(OBJECT, kind, row->old) : ek_xstrdup("null");
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"uid\":\"1\",\"operation\":\"%s\",\"kind\":{\"group\":\"evenkeel.dev\",\"version\":"
        "\"v1alpha1\",\"kind\":\"%s\"},\"resource\":{\"group\":\"evenkeel.dev\",\"version\":"
        "\"v1alpha1\",\"resource\":\"%s\"},\"name\":\"o\",\"userInfo\":%s,\"oldObject\":%s,"
        "\"object\":" OBJECT "}",
        row->old ? "UPDATE" : "CREATE", kind, row->resource, row->user, old, kind, row->spec);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    struct ek_err err;

    ck_assert_msg(doc && !ek_admission_request_read(yyjson_doc_get_root(doc), request, &err), "%s",
                  text);
    return doc;
}

START_TEST(definitions)
{
    const struct row *row = &rows[_i];
    struct cluster cluster = {.row = row};
    const struct ek_definition_world world = {resource, policy, authorize, &cluster};
    struct ek_admission_request request;
    struct ek_definition_outcome outcome = {.pending = true};
    yyjson_doc *doc = read_request(row, &request);
    struct ek_arena *arena = ek_arena_new((size_t)1 << 24);
    EK_AUTOFREE char *stored = ek_xasprintf("{\"spec\":{%s}}", row->stored ? row->stored : "");

    cluster.stored = row->stored ? yyjson_read(stored, strlen(stored), 0) : NULL;
    for (int round = 0; outcome.pending && round < 4; round++)
        ck_assert_int_eq(ek_definition_check(&request, &world, arena, &outcome), 0);
    ck_assert_msg(!outcome.pending, "%s: pending", row->name);
    ck_assert_msg(outcome.allowed == !row->want, "%s: %s", row->name,
                  outcome.message ? outcome.message : "allowed");
    if (row->want) {
        ck_assert_msg(!strncmp(outcome.message, row->want, strlen(row->want)), "%s: %s", row->name,
                      outcome.message);
        ck_assert_int_eq(outcome.code, 422);
        ck_assert_str_eq(outcome.reason, "Invalid");
    }
    ck_assert_msg(!strcmp(cluster.asked, row->asked), "%s: asked %s", row->name, cluster.asked);
    yyjson_doc_free(cluster.stored);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

/* What is not its business is either refused or let through without a question. */
START_TEST(others)
{
    static const struct row plain = {"",   POLICIES, ALICE, NULL, WITH("v1", "ConfigMap"),
                                     NULL, "",       "",    NULL};
    struct ek_admission_request request;
    struct ek_definition_outcome outcome;
    const struct ek_definition_world nobody = {0};
    yyjson_doc *doc = read_request(&plain, &request);
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_admission_request other = request;

    other.resource.group = "admissionregistration.k8s.io";
    ck_assert_int_eq(ek_definition_check(&other, &nobody, arena, &outcome), EK_E_INVAL);
    other = request;
    other.resource.resource = "policystatuses";
    ck_assert_int_eq(ek_definition_check(&other, &nobody, arena, &outcome), EK_E_INVAL);
    other = request;
    other.operation = "DELETE";
    ck_assert_int_eq(ek_definition_check(&other, &nobody, arena, &outcome), 0);
    ck_assert(outcome.allowed && !outcome.pending);
    other = request;
    other.subresource = "status";
    ck_assert_int_eq(ek_definition_check(&other, &nobody, arena, &outcome), 0);
    ck_assert(outcome.allowed && !outcome.pending);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("definition");

    tcase_add_loop_test(tcase, definitions, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, others);
    return ek_test_run("definition", tcase);
}
