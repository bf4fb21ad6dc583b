/* SPDX-License-Identifier: Apache-2.0 */
/* What validating policies and their bindings have of their own. */
#include <string.h>

#include "api/base/mem.h"
#include "api/base/words.h"
#include "api/obj.h"
#include "reconcilers/mutation/policy-internal.h"
#include "reconcilers/mutation/validation.h"

#define ANNOTATIONS_MAX      20
#define ANNOTATIONS_READ_MAX 1000
#define VALUE_EXPRESSION_MAX 5120 /* octets, without the blanks around them */

/* A string is what a name is generated with: five letters behind metadata.generateName. */
#define GENERATED "aaaaa"

static const char *const reasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge", NULL};
static const char *const actions[] = {"Audit", "Deny", "Warn", NULL};

/* An expression of a policy without variables is compiled where there is no such name. */
static struct ek_cel_env *env_of(const struct ek_policy_reader *p)
{
    return p->pub.n_variables ? p->envs.variable : p->envs.condition;
}

/* ---- Validations ---- */

static void read_expression(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                            struct ek_expression *e)
{
    e->text = ek_json_text(v, "expression");
    e->field = ek_arena_printf(p->arena, "spec.validations[%zu].expression", i);
    if (ek_policy_is_blank(e->text)) {
        e->error = "Required value: expression is not specified";
        ek_field_required(&p->errors, "expression is not specified", "%s", e->field);
        return;
    }
    ek_policy_compile_text(p, env_of(p), e->text, "bool", e);
}

/* Messages have no authorizer, but for what variables have found out with it. */
static void read_message_expression(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                                    struct ek_expression *e)
{
    e->text = ek_json_text(v, "messageExpression");
    e->field = ek_arena_printf(p->arena, "spec.validations[%zu].messageExpression", i);
    if (!*e->text)
        return;
    if (ek_policy_is_blank(e->text)) {
        e->error = "must be non-empty if specified";
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, e->text), e->error, "%s", e->field);
        return;
    }
    ek_policy_compile_text(p, p->pub.n_variables ? p->envs.message : p->envs.plain_message, e->text,
                           "string", e);
}

static void read_message(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                         struct ek_policy_validation *validation)
{
    const char *message = ek_json_text(v, "message"), *wrong = NULL;

    validation->message = ek_policy_trimmed(p, message);
    if (*message && !*validation->message)
        wrong = "must be non-empty if specified";
    else if (validation->message[strcspn(validation->message, "\r\n")])
        wrong = "must not contain line breaks";
    if (wrong)
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, message), wrong,
                         "spec.validations[%zu].message", i);
}

static void read_validation(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                            struct ek_policy_validation *validation)
{
    read_expression(p, v, i, &validation->expression);
    read_message_expression(p, v, i, &validation->message_expression);
    read_message(p, v, i, validation);
    validation->reason = ek_json_text(v, "reason");
    if (yyjson_is_str(yyjson_obj_get(v, "reason")) && !ek_is_one_of(validation->reason, reasons))
        ek_field_unsupported(&p->errors, validation->reason, reasons,
                             "spec.validations[%zu].reason", i);
}

static void read_validations(struct ek_policy_reader *p, yyjson_val *list)
{
    size_t n = ek_policy_count_items(p, list, EK_POLICY_ITEMS_MAX, "spec.validations"), i, size;
    struct ek_policy_validation *validations =
        ek_arena_alloc(p->arena, (n + 1) * sizeof *validations);
    yyjson_val *v;

    yyjson_arr_foreach(list, i, size, v)
    {
        if (i == n || ek_field_errors_full(&p->errors))
            break;
        read_validation(p, v, i, &validations[i]);
    }
    p->pub.validations = validations;
    p->pub.n_validations = i;
}

/* ---- Audit annotations ---- */

static void read_key(struct ek_policy_reader *p, yyjson_val *v, size_t i,
                     struct ek_audit_annotation *list)
{
    const char *name = p->pub.name, *path;
    const char *end = *ek_obj_name(p->obj) ? "" : GENERATED;

    list[i].key = ek_json_text(v, "key");
    path = ek_arena_printf(p->arena, "spec.auditAnnotations[%zu].key", i);
    if (*name)
        ek_validate_qualified_name(
            &p->errors, ek_arena_printf(p->arena, "%s%s/%s", name, end, list[i].key), path);
    else
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, list[i].key),
                         "requires metadata.name be non-empty", "%s", path);
}

static void read_value(struct ek_policy_reader *p, yyjson_val *v, size_t i, struct ek_expression *e)
{
    static const char missing[] = "valueExpression is not specified";
    static const char too_long[] = "must not exceed 5120 bytes in length";

    e->text = ek_policy_trimmed(p, ek_json_text(v, "valueExpression"));
    e->field = ek_arena_printf(p->arena, "spec.auditAnnotations[%zu].valueExpression", i);
    e->error = !*e->text ? missing : strlen(e->text) > VALUE_EXPRESSION_MAX ? too_long : NULL;
    if (e->error) {
        ek_field_required(&p->errors, e->error, "%s", e->field);
        return;
    }
    enum ek_compile_error kind =
        ek_policy_compile(env_of(p), e->text, "string null_type", p->arena, &e->program, &e->error);
    if (kind == EK_COMPILE_INVALID)
        ek_field_invalid(&p->errors, ek_field_quote(&p->errors, ek_json_text(v, "valueExpression")),
                         e->error, "%s", e->field);
    else if (kind == EK_COMPILE_INTERNAL)
        ek_field_internal(&p->errors, e->error, "%s", e->field);
}

/* A list as Go prints the structs of such an error. */
static const char *annotations_text(struct ek_policy_reader *p, yyjson_val *list)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_arr(doc), *item;
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, v)
    {
        item = yyjson_mut_arr_add_obj(doc, root);
        yyjson_mut_obj_add_strcpy(doc, item, "Key", ek_json_text(v, "key"));
        yyjson_mut_obj_add_strcpy(doc, item, "ValueExpression", ek_json_text(v, "valueExpression"));
    }
    char *json = yyjson_mut_val_write_opts(root, 0, &ek_json_xalc, NULL, NULL);
    const char *copy = ek_arena_strdup(p->arena, json ? json : "[]");
    ek_free(json);
    yyjson_mut_doc_free(doc);
    return copy;
}

static void read_annotations(struct ek_policy_reader *p, yyjson_val *list)
{
    size_t n = yyjson_arr_size(list), i, size;
    yyjson_val *v;

    if (n > ANNOTATIONS_MAX)
        ek_field_invalid(&p->errors, annotations_text(p, list),
                         "must not have more than 20 auditAnnotations", "spec.auditAnnotations");
    n = n < ANNOTATIONS_READ_MAX ? n : ANNOTATIONS_READ_MAX;
    struct ek_audit_annotation *annotations =
        ek_arena_alloc(p->arena, (n + 1) * sizeof *annotations);
    yyjson_arr_foreach(list, i, size, v)
    {
        if (i == n || ek_field_errors_full(&p->errors))
            break;
        read_key(p, v, i, annotations);
        read_value(p, v, i, &annotations[i].value);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(annotations[i].key, annotations[j].key)) {
                ek_field_duplicate(&p->errors, annotations[i].key, "spec.auditAnnotations[%zu].key",
                                   i);
                break;
            }
    }
    p->pub.annotations = annotations;
    p->pub.n_annotations = i;
}

void ek_policy_read_validations(struct ek_policy_reader *p, yyjson_val *spec)
{
    static const char none[] = "validations or auditAnnotations must contain at least one item";
    yyjson_val *validations = yyjson_obj_get(spec, "validations");
    yyjson_val *annotations = yyjson_obj_get(spec, "auditAnnotations");

    if (!yyjson_arr_size(validations) && !yyjson_arr_size(annotations)) {
        ek_field_required(&p->errors, none, "spec.validations");
        ek_field_required(&p->errors, none, "spec.auditAnnotations");
        return;
    }
    read_validations(p, validations);
    read_annotations(p, annotations);
}

static void drop(const struct ek_cel_program *program)
{
    ek_cel_program_unref((struct ek_cel_program *)(uintptr_t)program);
}

void ek_policy_drop_validations(const struct ek_policy *policy)
{
    for (size_t i = 0; i < policy->n_validations; i++) {
        drop(policy->validations[i].expression.program);
        drop(policy->validations[i].message_expression.program);
    }
    for (size_t i = 0; i < policy->n_annotations; i++)
        drop(policy->annotations[i].value.program);
}

/* ---- Bindings ---- */

static bool has_earlier(const char *const *list, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], s))
            return true;
    return false;
}

size_t ek_binding_read_actions(yyjson_val *list, struct ek_arena *arena,
                               struct ek_field_errors *errors, const char *const **ret)
{
    size_t n = yyjson_arr_size(list), i, size;
    const char **texts = ek_arena_alloc(arena, (n + 1) * sizeof(char *));
    yyjson_val *v;

    yyjson_arr_foreach(list, i, size, v)
    {
        texts[i] = yyjson_is_str(v) ? yyjson_get_str(v) : "";
        if (ek_field_errors_full(errors))
            continue;
        if (!ek_is_one_of(texts[i], actions))
            ek_field_unsupported(errors, texts[i], actions, "spec.validationActions[%zu]", i);
        if (has_earlier(texts, i, texts[i]))
            ek_field_duplicate(errors, texts[i], "spec.validationActions[%zu]", i);
    }
    if (has_earlier(texts, n, "Deny") && has_earlier(texts, n, "Warn"))
        ek_field_invalid(errors, ek_validation_list_text(errors, list),
                         "must not contain both Deny and Warn (repeating the same validation "
                         "failure information in the API response and headers serves no purpose)",
                         "spec.validationActions");
    if (n == 0)
        ek_field_required(errors, "at least one validation action is required",
                          "spec.validationActions");
    *ret = texts;
    return n;
}
