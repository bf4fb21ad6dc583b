/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/decoding.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

#define PROBLEMS_MAX 200

enum form {
    ONE,
    LIST,
    MAP, /* of strings */
    ANY, /* not looked at */
};

enum basis { TEXT, INTEGER, BOOLEAN, OBJECT };

struct fields;

/* A field of a Go struct. */
struct field {
    const char *name;
    enum form form;
    enum basis basis; /* of the value, or of each element */
    const char *type; /* its Go type; "*" stands for the package of the object's version */
    const struct fields *fields; /* of an object */
    const char *embedded;        /* structs in between, as Go's texts have them: "Rule." */
    bool own;                    /* evenkeel.dev alone has the field */
};

struct fields {
    const char *name; /* of the Go struct */
    const struct field *list;
    size_t n;
};

#define STRUCT(variable, name, ...)                                                                \
    static const struct field variable##_list[] = {__VA_ARGS__};                                   \
    static const struct fields variable = {name, variable##_list, EK_ARRAY_SIZE(variable##_list)}

/* clang-format off */
#define FIELD(name)               {name, ONE, TEXT, "string", NULL, "", false}
#define NAMED(name, type)         {name, ONE, TEXT, type, NULL, "", false}
#define OWN(name)                 {name, ONE, TEXT, "string", NULL, "", true}
#define NUMBER(name)              {name, ONE, INTEGER, "int64", NULL, "", false}
#define TRUTH(name)               {name, ONE, BOOLEAN, "bool", NULL, "", false}
#define TEXTS(name)               {name, LIST, TEXT, "string", NULL, "", false}
#define TEXT_MAP(name)            {name, MAP, TEXT, "string", NULL, "", false}
#define FREE(name)                {name, ANY, TEXT, "", NULL, "", false}
#define PART(name, type, of)      {name, ONE, OBJECT, type, &(of), "", false}
#define OWN_PART(name, type, of)  {name, ONE, OBJECT, type, &(of), "", true}
#define PARTS(name, type, of)     {name, LIST, OBJECT, type, &(of), "", false}
#define IN(name, form, type, in)  {name, form, TEXT, type, NULL, in, false}

STRUCT(owner, "OwnerReference", FIELD("apiVersion"), FIELD("kind"), FIELD("name"),
       NAMED("uid", "types.UID"), TRUTH("controller"), TRUTH("blockOwnerDeletion"));
STRUCT(metadata, "ObjectMeta", FIELD("name"), FIELD("generateName"), FIELD("namespace"),
       FIELD("selfLink"), NAMED("uid", "types.UID"), FIELD("resourceVersion"), NUMBER("generation"),
       FIELD("creationTimestamp"), FIELD("deletionTimestamp"), NUMBER("deletionGracePeriodSeconds"),
       TEXT_MAP("labels"), TEXT_MAP("annotations"),
       PARTS("ownerReferences", "v1.OwnerReference", owner), TEXTS("finalizers"),
       FREE("managedFields"));
STRUCT(requirement, "LabelSelectorRequirement", FIELD("key"),
       NAMED("operator", "v1.LabelSelectorOperator"), TEXTS("values"));
STRUCT(selector, "LabelSelector", TEXT_MAP("matchLabels"),
       PARTS("matchExpressions", "v1.LabelSelectorRequirement", requirement));
STRUCT(rule, "NamedRuleWithOperations", TEXTS("resourceNames"),
       IN("operations", LIST, "v1.OperationType", "RuleWithOperations."),
       IN("apiGroups", LIST, "string", "RuleWithOperations.Rule."),
       IN("apiVersions", LIST, "string", "RuleWithOperations.Rule."),
       IN("resources", LIST, "string", "RuleWithOperations.Rule."),
       IN("scope", ONE, "v1.ScopeType", "RuleWithOperations.Rule."));
STRUCT(match_resources, "MatchResources",
       PART("namespaceSelector", "v1.LabelSelector", selector),
       PART("objectSelector", "v1.LabelSelector", selector),
       PARTS("resourceRules", "*.NamedRuleWithOperations", rule),
       PARTS("excludeResourceRules", "*.NamedRuleWithOperations", rule),
       NAMED("matchPolicy", "*.MatchPolicyType"));
STRUCT(param_kind, "ParamKind", FIELD("apiVersion"), FIELD("kind"));
STRUCT(param_ref, "ParamRef", FIELD("name"), FIELD("namespace"),
       PART("selector", "v1.LabelSelector", selector),
       NAMED("parameterNotFoundAction", "*.ParameterNotFoundActionType"));
STRUCT(safety, "Safety", FIELD("type"), FIELD("expression"));
STRUCT(apply_configuration, "ApplyConfiguration", FIELD("expression"));
STRUCT(json_patch, "JSONPatch", FIELD("expression"));
STRUCT(mutation, "Mutation", NAMED("patchType", "*.PatchType"),
       PART("applyConfiguration", "*.ApplyConfiguration", apply_configuration),
       PART("jsonPatch", "*.JSONPatch", json_patch), OWN_PART("safety", "*.Safety", safety),
       OWN("atomics"));
STRUCT(variable, "Variable", FIELD("name"), FIELD("expression"));
STRUCT(condition, "MatchCondition", FIELD("name"), FIELD("expression"));
STRUCT(policy_spec, "MutatingAdmissionPolicySpec", PART("paramKind", "*.ParamKind", param_kind),
       PART("matchConstraints", "*.MatchResources", match_resources),
       PARTS("variables", "*.Variable", variable), PARTS("mutations", "*.Mutation", mutation),
       NAMED("failurePolicy", "*.FailurePolicyType"),
       PARTS("matchConditions", "*.MatchCondition", condition),
       NAMED("reinvocationPolicy", "*.ReinvocationPolicyType"), OWN("behaviour"),
       OWN("enforcement"));
STRUCT(binding_spec, "MutatingAdmissionPolicyBindingSpec", FIELD("policyName"),
       PART("paramRef", "*.ParamRef", param_ref),
       PART("matchResources", "*.MatchResources", match_resources));
STRUCT(validation, "Validation", FIELD("expression"), FIELD("message"),
       NAMED("reason", "v1.StatusReason"), FIELD("messageExpression"));
STRUCT(annotation, "AuditAnnotation", FIELD("key"), FIELD("valueExpression"));
STRUCT(validating_spec, "ValidatingAdmissionPolicySpec",
       PART("paramKind", "*.ParamKind", param_kind),
       PART("matchConstraints", "*.MatchResources", match_resources),
       PARTS("validations", "*.Validation", validation),
       NAMED("failurePolicy", "*.FailurePolicyType"),
       PARTS("auditAnnotations", "*.AuditAnnotation", annotation),
       PARTS("matchConditions", "*.MatchCondition", condition),
       PARTS("variables", "*.Variable", variable));
STRUCT(validating_binding_spec, "ValidatingAdmissionPolicyBindingSpec", FIELD("policyName"),
       PART("paramRef", "*.ParamRef", param_ref),
       PART("matchResources", "*.MatchResources", match_resources),
       IN("validationActions", LIST, "*.ValidationAction", ""));
STRUCT(validating_kind, "ValidatingAdmissionPolicy", FIELD("kind"), FIELD("apiVersion"),
       PART("metadata", "v1.ObjectMeta", metadata),
       PART("spec", "*.ValidatingAdmissionPolicySpec", validating_spec), FREE("status"));
STRUCT(validating_binding_kind, "ValidatingAdmissionPolicyBinding", FIELD("kind"),
       FIELD("apiVersion"), PART("metadata", "v1.ObjectMeta", metadata),
       PART("spec", "*.ValidatingAdmissionPolicyBindingSpec", validating_binding_spec));
STRUCT(policy_kind, "MutatingAdmissionPolicy", FIELD("kind"), FIELD("apiVersion"),
       PART("metadata", "v1.ObjectMeta", metadata),
       PART("spec", "*.MutatingAdmissionPolicySpec", policy_spec));
STRUCT(binding_kind, "MutatingAdmissionPolicyBinding", FIELD("kind"), FIELD("apiVersion"),
       PART("metadata", "v1.ObjectMeta", metadata),
       PART("spec", "*.MutatingAdmissionPolicyBindingSpec", binding_spec));
/* clang-format on */

struct decoder {
    struct ek_arena *arena;
    struct ek_decoding_problem *list; /* PROBLEMS_MAX */
    size_t n;
    bool own;
    const char *package; /* "v1" */
};

/* Where a value stands, as a chain on the stack: a path is written for a problem alone, because an
 * object may have a million values. */
struct place {
    const struct place *up; /* NULL: the object itself */
    const char *embedded;   /* structs in between, for Go */
    const char *name;       /* of a member; NULL for an item */
    size_t index;           /* of the item */
};

/* The path of a place; "" for NULL. go: as Go's texts have it, without indexes. */
static const char *path_of(const struct decoder *d, const struct place *at, bool go)
{
    const char *up = at ? path_of(d, at->up, go) : "";

    if (!at || (go && !at->name))
        return up;
    if (!at->name)
        return ek_arena_printf(d->arena, "%s[%zu]", up, at->index);
    return ek_arena_printf(d->arena, "%s%s%s%s", up, at->up ? "." : "", go ? at->embedded : "",
                           at->name);
}

/* True when no more problems are taken: then the rest is not looked at. */
static bool is_full(const struct decoder *d)
{
    return d->n >= PROBLEMS_MAX || (d->n && ek_arena_exhausted(d->arena));
}

static void add(struct decoder *d, const char *field, const char *message, bool unknown)
{
    d->list[d->n++] = (struct ek_decoding_problem){field, message, unknown};
}

/* The last problem is kept for a type that does not fit: unknown fields cannot hide one. */
static void add_unknown(struct decoder *d, const struct place *at)
{
    const char *field;

    if (d->n >= PROBLEMS_MAX - 1 || is_full(d))
        return;
    field = path_of(d, at, false);
    add(d, field, ek_arena_printf(d->arena, "unknown field \"%s\"", field), true);
}

/* What encoding/json calls a value; a fraction is named as such. */
static const char *go_kind(struct decoder *d, yyjson_val *value, enum basis wanted)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_ARR:
        return "array";
    case YYJSON_TYPE_OBJ:
        return "object";
    default:
        break;
    }
    if (wanted != INTEGER)
        return "number";
    char *text = yyjson_val_write_opts(value, 0, &ek_json_xalc, NULL, NULL);
    const char *kind = ek_arena_printf(d->arena, "number %s", text ? text : "");
    ek_free(text);
    return kind;
}

static void refuse(struct decoder *d, const struct fields *in, const struct field *field,
                   yyjson_val *value, bool whole, const struct place *at)
{
    const char *type = field->type, *before = "";

    if (is_full(d))
        return;
    if (whole)
        before = field->form == LIST ? "[]" : field->form == MAP ? "map[string]" : "";
    if (*type == '*')
        type = ek_arena_printf(d->arena, "%s%s", d->package, type + 1);
    add(d, path_of(d, at, false),
        ek_arena_printf(d->arena,
                        "json: cannot unmarshal %s into Go struct field %s.%s of type %s%s",
                        go_kind(d, value, whole && field->form != ONE ? TEXT : field->basis),
                        in->name, path_of(d, at, true), before, type),
        false);
}

static void check_fields(struct decoder *d, const struct fields *fields, yyjson_val *object,
                         const struct place *at);

static bool fits(const struct field *field, yyjson_val *value)
{
    switch (field->basis) {
    case TEXT:
        return yyjson_is_str(value);
    case INTEGER:
        return yyjson_is_int(value);
    case BOOLEAN:
        return yyjson_is_bool(value);
    default:
        return yyjson_is_obj(value);
    }
}

static void check_element(struct decoder *d, const struct fields *in, const struct field *field,
                          yyjson_val *value, const struct place *at)
{
    if (yyjson_is_null(value))
        return;
    if (!fits(field, value))
        refuse(d, in, field, value, field->form == ONE, at);
    else if (field->fields)
        check_fields(d, field->fields, value, at);
}

static void check_value(struct decoder *d, const struct fields *in, const struct field *field,
                        yyjson_val *value, const struct place *at)
{
    yyjson_val *key, *v;
    size_t i, n;

    if (yyjson_is_null(value) || field->form == ANY)
        return;
    if (field->form == ONE) {
        check_element(d, in, field, value, at);
        return;
    }
    if (field->form == LIST ? !yyjson_is_arr(value) : !yyjson_is_obj(value)) {
        refuse(d, in, field, value, true, at);
        return;
    }
    yyjson_arr_foreach(value, i, n, v)
    {
        const struct place item = {.up = at, .index = i};
        if (is_full(d))
            return;
        check_element(d, in, field, v, &item);
    }
    ek_json_each_member(value, i, n, key, v)
    {
        if (is_full(d))
            return;
        check_element(d, in, field, v, at);
    }
}

static const struct field *find_field(const struct decoder *d, const struct fields *fields,
                                      const char *name)
{
    for (size_t i = 0; i < fields->n; i++)
        if (!strcmp(fields->list[i].name, name) && (!fields->list[i].own || d->own))
            return &fields->list[i];
    return NULL;
}

static void check_fields(struct decoder *d, const struct fields *fields, yyjson_val *object,
                         const struct place *at)
{
    yyjson_val *key, *v;
    size_t i, n;

    ek_json_each_member(object, i, n, key, v)
    {
        const char *name = yyjson_get_str(key);
        const struct field *field = find_field(d, fields, name);
        const struct place inner = {at, field ? field->embedded : "", name, 0};
        if (is_full(d))
            return;
        if (field)
            check_value(d, fields, field, v, &inner);
        else
            add_unknown(d, &inner);
    }
}

static const struct fields *kind_of(yyjson_val *object, bool binding)
{
    if (!strncmp(ek_json_text(object, "kind"), "Validating", 10))
        return binding ? &validating_binding_kind : &validating_kind;
    return binding ? &binding_kind : &policy_kind;
}

/* Whether any API server has policies and bindings of a version of admissionregistration.k8s.io
 * (kubernetes 1.26 to 1.36, pkg/apis/admissionregistration/install). */
static bool is_version(const char *version)
{
    return !strcmp(version, "v1") || !strcmp(version, "v1beta1") || !strcmp(version, "v1alpha1");
}

size_t ek_decoding_problems(yyjson_val *object, bool binding, bool own, struct ek_arena *arena,
                            const struct ek_decoding_problem **ret)
{
    const char *api_version = ek_json_text(object, "apiVersion");
    const char *slash = strchr(api_version, '/');
    struct decoder d = {.arena = arena, .own = own, .package = slash ? slash + 1 : "v1"};

    d.list = ek_arena_try(arena, PROBLEMS_MAX * sizeof *d.list);
    *ret = d.list;
    if (!d.list)
        return 0;
    if (!own && !is_version(d.package))
        d.list[d.n++] = (struct ek_decoding_problem){
            "apiVersion",
            ek_arena_printf(arena, "no matches for kind \"%s\" in version \"%s\"",
                            ek_json_text(object, "kind"), api_version),
            false};
    else
        check_fields(&d, kind_of(object, binding), object, NULL);
    return d.n;
}
