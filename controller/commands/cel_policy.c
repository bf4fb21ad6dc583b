/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `evenkeel cel check --policy`: each expression of the policies of a file, compiled in its place,
 * with the variables before it.
 */
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "controller/cli/commands.h"
#include "controller/cli/compat.h"
#include "controller/cli/print.h"
#include "controller/commands/cel-internal.h"
#include "controller/manifests/manifests-internal.h"
#include "reconcilers/mutation/compile.h"

/* The compatibility versions of the first API servers that have such policies. */
#define FLOOR_VALIDATING 29
#define FLOOR_MUTATING   31

#define N_VERSIONS (EK_CEL_COMPAT_MAX - FLOOR_VALIDATING + 1)

/* A policy, compiled as a new one for each version. */
struct versions {
    const struct ek_policy *list[N_VERSIONS]; /* from the floor on */
    int floor;
    size_t n;
};

/* The expressions of a policy in the order in which API servers compile them; NULL beyond the last.
 * An expression that is absent has no text. */
static const struct ek_expression *expression_at(const struct ek_policy *p, size_t i)
{
    if (i < p->n_conditions)
        return &p->conditions[i];
    i -= p->n_conditions;
    if (i < p->n_variables)
        return &p->variables[i];
    i -= p->n_variables;
    if (i < 2 * p->n_mutations)
        return i % 2 ? &p->mutations[i / 2].condition : &p->mutations[i / 2].expression;
    i -= 2 * p->n_mutations;
    if (i < 2 * p->n_validations)
        return i % 2 ? &p->validations[i / 2].message_expression
                     : &p->validations[i / 2].expression;
    i -= 2 * p->n_validations;
    return i < p->n_annotations ? &p->annotations[i].value : NULL;
}

static void compile(const struct ek_obj *obj, bool validating, struct versions *ret)
{
    *ret = (struct versions){.floor = validating ? FLOOR_VALIDATING : FLOOR_MUTATING};
    for (int minor = ret->floor; minor <= EK_CEL_COMPAT_MAX; minor++)
        ret->list[ret->n++] = ek_policy_new(obj, minor);
}

static void release(struct versions *versions)
{
    for (size_t i = 0; i < versions->n; i++)
        ek_policy_unref(versions->list[i]);
}

/* ---- Facts ---- */

static void add_needs(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct versions *versions,
                      size_t first)
{
    yyjson_mut_val *needs = yyjson_mut_obj_add_obj(doc, v, "needs");

    yyjson_mut_obj_add_bool(doc, needs, "any", first == 0);
    if (first < versions->n) {
        EK_AUTOFREE char *text = ek_xasprintf("1.%d", versions->floor + (int)first);
        yyjson_mut_obj_add_strcpy(doc, needs, "oldestCompat", text);
    }
}

/* The first version where the i-th expression compiles in its place. */
static size_t first_of_expression(const struct versions *versions, size_t i)
{
    size_t first = 0;

    while (first < versions->n) {
        const struct ek_expression *e = expression_at(versions->list[first], i);
        if (e && e->program)
            break;
        first++;
    }
    return first;
}

static size_t first_of_policy(const struct versions *versions)
{
    size_t first = 0;

    while (first < versions->n && versions->list[first]->n_problems)
        first++;
    return first;
}

static void add_reads(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_cel_program *program)
{
    yyjson_mut_val *variables = yyjson_mut_obj_add_arr(doc, v, "variables");
    yyjson_mut_val *paths = yyjson_mut_obj_add_arr(doc, v, "reads");
    const struct ek_cel_read *reads;
    size_t n = ek_cel_program_reads(program, &reads);

    for (int slot = 0; slot < EK_SLOT_MAX; slot++)
        if (ek_cel_program_uses(program, (size_t)slot))
            yyjson_mut_arr_add_str(doc, variables, ek_policy_slot_name(slot));
    for (size_t i = 0; i < n; i++) {
        const char *path = reads[i].path;
        EK_AUTOFREE char *whole =
            ek_xasprintf("%s%s%s", ek_policy_slot_name((enum ek_policy_slot)reads[i].slot),
                         !*path || *path == '[' ? "" : ".", path);
        yyjson_mut_arr_add_strcpy(doc, paths, whole);
    }
}

static void add_expression(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_expression *e,
                           const struct versions *versions, size_t i)
{
    if (!e->program && !e->error)
        return; /* there is none */
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_strcpy(doc, v, "field", e->field);
    if (e->name)
        yyjson_mut_obj_add_strcpy(doc, v, "name", e->name);
    if (e->program) {
        yyjson_mut_obj_add_strcpy(doc, v, "type", ek_cel_program_type(e->program));
        add_reads(doc, v, e->program);
    } else {
        yyjson_mut_obj_add_strcpy(doc, v, "error", e->error);
    }
    add_needs(doc, v, versions, first_of_expression(versions, i));
}

/* Adds the facts of one policy; returns whether all of it compiles for the version asked for. */
static bool add_policy(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_ci_object *object,
                       int compat_minor)
{
    struct ek_obj *obj = ek_obj_from_val(object->value);
    const struct ek_policy *policy = ek_policy_new(obj, compat_minor);
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
    struct versions versions;
    bool fine = policy->n_problems == 0;

    compile(obj, policy->validating, &versions);
    yyjson_mut_obj_add_strcpy(doc, v, "source", object->source);
    yyjson_mut_obj_add_strcpy(doc, v, "kind", ek_obj_kind(obj));
    yyjson_mut_obj_add_strcpy(doc, v, "name", policy->name);
    add_needs(doc, v, &versions, first_of_policy(&versions));
    yyjson_mut_val *problems = yyjson_mut_obj_add_arr(doc, v, "problems");
    for (size_t i = 0; i < policy->n_problems; i++)
        yyjson_mut_arr_add_strcpy(doc, problems, policy->problems[i]);
    yyjson_mut_val *expressions = yyjson_mut_obj_add_arr(doc, v, "expressions");
    const struct ek_expression *e;
    for (size_t i = 0; (e = expression_at(policy, i)); i++)
        add_expression(doc, expressions, e, &versions, i);
    release(&versions);
    ek_policy_unref(policy);
    ek_obj_unref(obj);
    return fine;
}

/* ---- As text ---- */

static void put_list(struct ek_buf *out, const char *name, yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, item)
    {
        ek_quote_printf(out, "    %-11s%s\n", i ? "" : name, yyjson_get_str(item));
    }
}

static void put_needs(struct ek_buf *out, const char *indent, yyjson_val *v)
{
    yyjson_val *needs = yyjson_obj_get(v, "needs");
    const char *oldest = ek_json_text(needs, "oldestCompat");

    if (yyjson_is_true(yyjson_obj_get(needs, "any")))
        ek_buf_printf(out, "%s%-11sany version that has such policies\n", indent, "needs:");
    else if (*oldest)
        ek_buf_printf(out, "%s%-11sat least %s\n", indent, "needs:", oldest);
    else
        ek_buf_printf(out, "%s%-11sno version takes it as new\n", indent, "needs:");
}

/* Texts of several lines stay below one another. */
static void put_text(struct ek_buf *out, const char *name, const char *text)
{
    for (bool first = true; *text; first = false) {
        size_t len = strcspn(text, "\n");
        ek_quote_printf(out, "    %-11s%.*s\n", first ? name : "", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void put_policy(struct ek_buf *out, yyjson_val *policy)
{
    yyjson_val *e, *problem;
    size_t i, n;

    ek_quote_printf(out, "%s %s (%s)\n", ek_json_text(policy, "kind"), ek_json_text(policy, "name"),
                    ek_json_text(policy, "source"));
    put_needs(out, "  ", policy);
    yyjson_arr_foreach(yyjson_obj_get(policy, "problems"), i, n, problem)
    {
        put_text(out, "error:", yyjson_get_str(problem));
    }
    yyjson_arr_foreach(yyjson_obj_get(policy, "expressions"), i, n, e)
    {
        const char *name = ek_json_text(e, "name");
        ek_quote_printf(out, "  %s%s%s%s\n", ek_json_text(e, "field"), *name ? " (" : "", name,
                        *name ? ")" : "");
        if (*ek_json_text(e, "type"))
            ek_quote_printf(out, "    %-11s%s\n", "type:", ek_json_text(e, "type"));
        else
            ek_buf_printf(out, "    %-11sdoes not compile\n", "type:");
        put_list(out, "variables:", yyjson_obj_get(e, "variables"));
        put_list(out, "reads:", yyjson_obj_get(e, "reads"));
        put_needs(out, "    ", e);
    }
}

static int write_policies(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    yyjson_val *policy;
    size_t i, n;

    (void)ctx;
    (void)color;
    yyjson_arr_foreach(yyjson_obj_get(root, "policies"), i, n, policy) put_policy(out, policy);
    return out->failed;
}

/* ---- All ---- */

static int print(const struct ek_cel_options *options, const struct ek_ci *ci)
{
    int minor = ek_compat_minor(options->compat);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    struct ek_print_options how = {.output = options->output, .color = "never"};
    bool fine = true;

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "policies");
    for (size_t i = 0; i < ci->policies.n; i++)
        if (!ek_ci_is_binding(&ci->policies.list[i]))
            fine = add_policy(doc, list, &ci->policies.list[i],
                              minor > 0 ? minor : EK_CEL_COMPAT_MAX) &&
                   fine;
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    int code = ek_print(&how, yyjson_doc_get_root(whole), write_policies, NULL);
    yyjson_doc_free(whole);
    return code ? code : fine ? EK_EXIT_OK : EK_EXIT_FAILED;
}

static bool has_policy(const struct ek_ci *ci)
{
    for (size_t i = 0; i < ci->policies.n; i++)
        if (!ek_ci_is_binding(&ci->policies.list[i]))
            return true;
    return false;
}

/* What is about one expression does not go with policies. */
static int check_flags(const struct ek_cel_options *options, const char *argument,
                       struct ek_err *err)
{
    bool variables = options->vars.n || options->sets.n;

    for (size_t i = 0; i < EK_CEL_FLAG_MAX; i++)
        variables = variables || *options->paths[i];
    if (argument || *options->file)
        return ek_err_set(err, EK_E_INVAL, "give an expression or --policy, not both");
    if (variables)
        return ek_err_set(err, EK_E_INVAL,
                          "--policy evaluates nothing: it takes no variables; see evenkeel mutate");
    if (*options->type || !strcmp(options->mode, "stored"))
        return ek_err_set(err, EK_E_INVAL,
                          "--policy checks new policies, whose types are known: it takes no --type "
                          "and no --mode=stored");
    return 0;
}

int ek_cel_check_policies(const struct ek_cel_options *options, const char *argument,
                          struct ek_err *err)
{
    const struct ek_ci_options inputs = {.files = options->policies, .compat = options->compat};
    EK_AUTO(ek_ci) ci = {0};
    int rc = check_flags(options, argument, err);

    if (!rc)
        rc = ek_ci_init(&ci, &inputs, err);
    if (!rc && !has_policy(&ci))
        rc = ek_err_set(err, EK_E_NOENT, "there is no policy in these files");
    return rc ? -1 : print(options, &ci);
}
