/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' authorizer library: questions are built up as values, and put to the host. */
#include <string.h>

#include "api/cel/authorizer.h"
#include "api/cel/lib/opaque.h"
#include "api/cel/text/runes.h"
#include "api/cel/values/account.h"
#include "api/names.h"
#include "api/selector.h"

#define CHECK_COST 350000u

/* An authorizer, or a question put together so far; its kind says how far. */
struct authz_val {
    struct ek_cel_opaque opaque;
    const struct ek_cel_authorizer *authorizer;
    struct ek_cel_authz_attributes attributes;
};

struct decision_val {
    struct ek_cel_opaque opaque;
    struct ek_cel_authz_decision decision;
};

/* None of them compares with anything. */
static const struct ek_cel_opaque_kind authorizer_kind = {
    .name = "kubernetes.authorization.Authorizer"};
static const struct ek_cel_opaque_kind path_kind = {.name = "kubernetes.authorization.PathCheck"};
static const struct ek_cel_opaque_kind group_kind = {.name = "kubernetes.authorization.GroupCheck"};
static const struct ek_cel_opaque_kind resource_kind = {
    .name = "kubernetes.authorization.ResourceCheck"};
static const struct ek_cel_opaque_kind decision_kind = {.name =
                                                            "kubernetes.authorization.Decision"};

/* ---- Values ---------------------------------------------------------------------------------- */

struct ek_cel_val ek_cel_authorizer_val(const struct ek_cel_authorizer *authorizer,
                                        struct ek_arena *arena)
{
    struct authz_val *value = ek_arena_alloc(arena, sizeof *value);

    *value = (struct authz_val){.opaque = {&authorizer_kind}, .authorizer = authorizer};
    return ek_cel_opaque_val(&value->opaque);
}

struct ek_cel_val ek_cel_authorizer_request_val(const struct ek_cel_authorizer *authorizer,
                                                const struct ek_cel_authz_attributes *request,
                                                struct ek_arena *arena)
{
    struct authz_val *value = ek_arena_alloc(arena, sizeof *value);

    *value = (struct authz_val){
        .opaque = {&resource_kind},
        .authorizer = authorizer,
        .attributes = {.is_resource = true,
                       .group = request->group,
                       .resource = request->resource,
                       .subresource = request->subresource,
                       .namespace_ = request->namespace_,
                       .name = request->name},
    };
    return ek_cel_opaque_val(&value->opaque);
}

/* A copy of the receiver that is of that kind; *ret_value is NULL without memory. */
static struct ek_cel_val derive(struct ek_cel_eval *eval, const struct ek_cel_val *receiver,
                                const struct ek_cel_opaque_kind *kind,
                                struct ek_cel_authz_attributes **ret_attributes)
{
    struct authz_val *value = ek_cel_alloc(eval, sizeof *value);

    *ret_attributes = NULL;
    if (!value)
        return ek_cel_no_memory(eval);
    *value = *(const struct authz_val *)receiver->opaque;
    value->opaque.kind = kind;
    *ret_attributes = &value->attributes;
    return ek_cel_opaque_val(&value->opaque);
}

/* ---- Building -------------------------------------------------------------------------------- */

static bool is_blank(struct ek_str s)
{
    for (size_t i = 0, size; i < s.len; i += size)
        if (!ek_cel_rune_is_space(ek_cel_rune_at(s.p + i, &size)))
            return false;
    return true;
}

/* Defines a function that sets one attribute to its argument, where blank is fine unless there is
 * an error for it. */
#define SETTER(function, field, kind, error)                                                       \
    static struct ek_cel_val function(struct ek_cel_eval *eval, const struct ek_cel_val *args,     \
                                      uint32_t n)                                                  \
    {                                                                                              \
        struct ek_cel_authz_attributes *attributes;                                                \
        const char *blank = error;                                                                 \
                                                                                                   \
        (void)n;                                                                                   \
        if (blank && is_blank(ek_cel_text_of(&args[1])))                                           \
            return ek_cel_fail(eval, "%s", blank);                                                 \
        struct ek_cel_val value = derive(eval, &args[0], &(kind), &attributes);                    \
        if (attributes)                                                                            \
            attributes->field = ek_cel_text_of(&args[1]);                                          \
        return value;                                                                              \
    }

SETTER(set_path, path, path_kind, "path must not be empty")
SETTER(set_group, group, group_kind, NULL)
SETTER(set_resource, resource, resource_kind, "resource must not be empty")
SETTER(set_subresource, subresource, resource_kind, NULL)
SETTER(set_namespace, namespace_, resource_kind, NULL)
SETTER(set_name, name, resource_kind, NULL)
SETTER(set_field_selector, field_selector, resource_kind, NULL)
SETTER(set_label_selector, label_selector, resource_kind, NULL)

static struct ek_cel_val service_account(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                         uint32_t n)
{
    struct ek_str namespace = ek_cel_text_of(&args[1]), name = ek_cel_text_of(&args[2]);
    const char *errors[EK_NAME_ERRORS_MAX];
    struct ek_cel_authz_attributes *attributes;

    (void)n;
    if (ek_name_check(EK_NAME_DNS1123_SUBDOMAIN, name, errors))
        return ek_cel_fail(eval, "Invalid service account name");
    if (ek_name_check(EK_NAME_DNS1123_LABEL, namespace, errors))
        return ek_cel_fail(eval, "Invalid service account namespace");
    struct ek_cel_val value = derive(eval, &args[0], &authorizer_kind, &attributes);
    if (attributes) {
        attributes->account_namespace = namespace;
        attributes->account_name = name;
    }
    return value;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static bool copy(struct ek_cel_eval *eval, const char *s, size_t len, struct ek_str *ret)
{
    struct ek_cel_val text = ek_cel_string_copy(eval, s, len);

    if (text.kind == EK_CEL_ERROR)
        return false;
    *ret = ek_cel_text_of(&text);
    return true;
}

/* s with a NUL behind it; NULL without memory. */
static char *terminated(struct ek_cel_eval *eval, struct ek_str s)
{
    char *out = ek_cel_alloc(eval, s.len + 1);

    if (!out)
        return NULL;
    if (s.len)
        memcpy(out, s.p, s.len);
    out[s.len] = '\0';
    return out;
}

static bool read_fields(struct ek_cel_eval *eval, struct ek_cel_authz_attributes *attributes)
{
    struct ek_err err = {0};
    int rc = ek_cel_field_selector_parse(attributes->field_selector, eval->arena,
                                         &attributes->fields, &attributes->n_fields, &err);

    if (rc == EK_E_NOMEM)
        return false;
    return rc == 0 ||
           (attributes->field_selector_error = terminated(eval, ek_str_from(err.message))) != NULL;
}

static bool read_labels(struct ek_cel_eval *eval, struct ek_cel_authz_attributes *attributes)
{
    EK_AUTOPTR(ek_selector, ek_selector_free) *selector = NULL;
    char *text = terminated(eval, attributes->label_selector);
    struct ek_err err = {0};

    if (!text)
        return false;
    if (strlen(text) != attributes->label_selector.len) {
        attributes->label_selector_error = "a label selector cannot hold a NUL character";
        return true;
    }
    if (ek_selector_parse(text, &selector, &err) == 0)
        return true;
    attributes->label_selector_error = terminated(eval, ek_str_from(err.message));
    return attributes->label_selector_error != NULL;
}

static struct ek_cel_val check(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    const struct authz_val *question = (const struct authz_val *)args[0].opaque;
    struct ek_cel_authz_attributes attributes = question->attributes;
    struct ek_cel_authz_decision answer = {0};
    struct decision_val *value = ek_cel_alloc(eval, sizeof *value);

    (void)n;
    attributes.is_resource = args[0].opaque->kind == &resource_kind;
    attributes.verb = ek_cel_text_of(&args[1]);
    if (!value)
        return ek_cel_no_memory(eval);
    if (attributes.field_selector.len && !read_fields(eval, &attributes))
        return ek_cel_no_memory(eval);
    if (attributes.label_selector.len && !read_labels(eval, &attributes))
        return ek_cel_no_memory(eval);
    question->authorizer->check(question->authorizer->arg, &attributes, &answer);
    *value =
        (struct decision_val){.opaque = {&decision_kind}, .decision = {.allowed = answer.allowed}};
    if (!copy(eval, answer.reason.p, answer.reason.len, &value->decision.reason))
        return ek_cel_no_memory(eval);
    if (answer.error.p && !copy(eval, answer.error.p, answer.error.len, &value->decision.error))
        return ek_cel_no_memory(eval);
    return ek_cel_opaque_val(&value->opaque);
}

static const struct ek_cel_authz_decision *decision_of(const struct ek_cel_val *value)
{
    return &((const struct decision_val *)value->opaque)->decision;
}

static struct ek_cel_val string_of(struct ek_str s)
{
    return ek_cel_string(s.p ? s.p : "", s.len);
}

EK_CEL_FN(allowed, ek_cel_bool(decision_of(args)->allowed))
EK_CEL_FN(reason, string_of(decision_of(args)->reason))
EK_CEL_FN(errored, ek_cel_bool(decision_of(args)->error.p != NULL))
EK_CEL_FN(error, string_of(decision_of(args)->error))

/* ---- The libraries --------------------------------------------------------------------------- */

static uint64_t cost_of_check(const struct ek_cel_val *args, uint32_t n,
                              const struct ek_cel_val *result)
{
    (void)args;
    (void)n;
    (void)result;
    return CHECK_COST;
}

/* A list, and for every two characters a requirement of a list and a struct. */
static uint64_t cost_of_selector(const struct ek_cel_val *args, uint32_t n,
                                 const struct ek_cel_val *result)
{
    uint64_t size = n < 2 ? 0 : ek_cel_cost_size(&args[1]);

    (void)result;
    return 10 + (size + 1) / 2 * 50 + ek_cel_cost_tenths(size, 1);
}

#define TYPE(name) "kubernetes.authorization." name
#define MEMBER(name, id, signature, fn, cost)                                                      \
    EK_CEL_FUNCTION(name, cost, EK_CEL_OVERLOAD(id, signature, EK_CEL_MEMBER, fn))
#define BUILDER(name, id, from, to, fn, cost)                                                      \
    MEMBER(name, id, TYPE(from) ", string -> " TYPE(to), fn, cost)
#define ANSWER(name, id, type, fn) MEMBER(name, id, TYPE("Decision") " -> " type, fn, NULL)

static const struct ek_cel_function functions[] = {
    BUILDER("path", "authorizer_path", "Authorizer", "PathCheck", set_path, NULL),
    BUILDER("group", "authorizer_group", "Authorizer", "GroupCheck", set_group, NULL),
    MEMBER("serviceAccount", "authorizer_serviceaccount",
           TYPE("Authorizer") ", string, string -> " TYPE("Authorizer"), service_account, NULL),
    BUILDER("resource", "groupcheck_resource", "GroupCheck", "ResourceCheck", set_resource, NULL),
    BUILDER("subresource", "resourcecheck_subresource", "ResourceCheck", "ResourceCheck",
            set_subresource, NULL),
    BUILDER("namespace", "resourcecheck_namespace", "ResourceCheck", "ResourceCheck", set_namespace,
            NULL),
    BUILDER("name", "resourcecheck_name", "ResourceCheck", "ResourceCheck", set_name, NULL),
    EK_CEL_FUNCTION("check", cost_of_check,
                    EK_CEL_OVERLOAD("pathcheck_check",
                                    TYPE("PathCheck") ", string -> " TYPE("Decision"),
                                    EK_CEL_MEMBER, check),
                    EK_CEL_OVERLOAD("resourcecheck_check",
                                    TYPE("ResourceCheck") ", string -> " TYPE("Decision"),
                                    EK_CEL_MEMBER, check)),
    ANSWER("errored", "decision_errored", "bool", errored),
    ANSWER("error", "decision_error", "string", error),
    ANSWER("allowed", "decision_allowed", "bool", allowed),
    ANSWER("reason", "decision_reason", "string", reason),
    {.name = NULL},
};

static const struct ek_cel_function selector_functions[] = {
    BUILDER("fieldSelector", "authorizer_fieldselector", "ResourceCheck", "ResourceCheck",
            set_field_selector, cost_of_selector),
    BUILDER("labelSelector", "authorizer_labelselector", "ResourceCheck", "ResourceCheck",
            set_label_selector, cost_of_selector),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {
    &authorizer_kind, &path_kind, &group_kind, &resource_kind, &decision_kind, NULL};
static const struct ek_cel_opaque_kind *const selector_types[] = {&resource_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_authz = {
    .name = "kubernetes.authz",
    .functions = functions,
    .types = types,
};

const struct ek_cel_library ek_cel_lib_k8s_authz_selectors = {
    .name = "kubernetes.authzSelectors",
    .functions = selector_functions,
    .types = selector_types,
};
