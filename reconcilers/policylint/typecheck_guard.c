/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions ask of the kind of an object before they read it: a branch that a kind does not
 * take is no mistake for that kind. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "reconcilers/policylint/typecheck-internal.h"

#define NAME_MAX_OCTETS 512u /* of a group with its version, or of a resource */

static enum ek_truth truth_if(bool is)
{
    return is ? EK_TRUTH_TRUE : EK_TRUTH_FALSE;
}

static bool is_bound(const struct ek_typewalk *w, const char *name)
{
    for (const struct ek_binding_scope *s = w->scope; s; s = s->outer)
        if (!strcmp(s->name, name))
            return true;
    return false;
}

/* True for the variable of that name, and a chain of fields of it: "request", "kind", "kind". */
static bool is_path(const struct ek_typewalk *w, const struct ek_cel_node *node,
                    const char *const *names, size_t n)
{
    for (; n > 1; n--, node = node->select.operand)
        if (node->kind != EK_CEL_N_SELECT || node->select.test ||
            strcmp(node->select.field, names[n - 1]) != 0)
            return false;
    return node->kind == EK_CEL_N_IDENT && !strcmp(node->ident, names[0]) && !is_bound(w, names[0]);
}

/* The plural that a resource of the kind has by the rules of API servers
 * (apimachinery/pkg/api/meta/restmapper.go:UnsafeGuessKindToResource). */
static void plural_of(const char *kind, char out[NAME_MAX_OCTETS])
{
    char small[NAME_MAX_OCTETS - 8];
    size_t n = 0;

    for (; kind[n] && n + 1 < sizeof small; n++)
        small[n] = (char)tolower((unsigned char)kind[n]);
    small[n] = '\0';
    if (!strcmp(small, "endpoints"))
        snprintf(out, NAME_MAX_OCTETS, "%s", small);
    else if (n && small[n - 1] == 's')
        snprintf(out, NAME_MAX_OCTETS, "%ses", small);
    else if (n && small[n - 1] == 'y')
        snprintf(out, NAME_MAX_OCTETS, "%.*sies", (int)n - 1, small);
    else
        snprintf(out, NAME_MAX_OCTETS, "%ss", small);
}

/* What a value is for each object of the kind, in text; NULL where that is not known. */
static const char *text_of_kind(const struct ek_typewalk *w, const struct ek_cel_node *node,
                                char text[NAME_MAX_OCTETS])
{
    static const struct {
        const char *names[3];
        enum { KIND, VERSION, GROUP, API_VERSION, RESOURCE } is;
    } all[] = {
        {{"object", "kind"}, KIND},
        {{"oldObject", "kind"}, KIND},
        {{"object", "apiVersion"}, API_VERSION},
        {{"oldObject", "apiVersion"}, API_VERSION},
        {{"request", "kind", "kind"}, KIND},
        {{"request", "kind", "version"}, VERSION},
        {{"request", "kind", "group"}, GROUP},
        {{"request", "resource", "resource"}, RESOURCE},
        {{"request", "resource", "version"}, VERSION},
        {{"request", "resource", "group"}, GROUP},
    };
    const struct ek_gvk *kind = w->object.kind == EK_SHAPE_TYPED ? w->object.root : NULL;
    size_t i = 0;

    while (kind && i < EK_ARRAY_SIZE(all) &&
           !is_path(w, node, all[i].names, all[i].names[2] ? 3 : 2))
        i++;
    if (!kind || i == EK_ARRAY_SIZE(all))
        return NULL;
    switch (all[i].is) {
    case KIND:
        return kind->kind;
    case VERSION:
        return kind->version;
    case GROUP:
        return kind->group;
    case RESOURCE:
        plural_of(kind->kind, text);
        return text;
    default:
        snprintf(text, NAME_MAX_OCTETS, "%s%s%s", kind->group, *kind->group ? "/" : "",
                 kind->version);
        return text;
    }
}

static enum ek_truth compare(const struct ek_typewalk *w, const struct ek_cel_node *a,
                             const struct ek_cel_node *b)
{
    char text[NAME_MAX_OCTETS];
    const char *is = ek_type_is_text(b) ? text_of_kind(w, a, text) : NULL;

    return is ? truth_if(ek_str_eq(ek_str_from(is), ek_type_text(b))) : EK_TRUTH_UNKNOWN;
}

static enum ek_truth is_in(const struct ek_typewalk *w, const struct ek_cel_node *value,
                           const struct ek_cel_node *list)
{
    enum ek_truth found = EK_TRUTH_FALSE;

    if (list->kind != EK_CEL_N_LIST)
        return EK_TRUTH_UNKNOWN;
    for (uint32_t i = 0; i < list->list.n && found == EK_TRUTH_FALSE; i++)
        found = compare(w, value, list->list.items[i]);
    return list->list.n ? found : EK_TRUTH_UNKNOWN;
}

/* The type of a chain of fields of an object; false where it is not known. *ret_absent: the kind
 * has no such field. */
static bool find_type(const struct ek_shape *root, const struct ek_cel_node *node,
                      const struct ek_schema_type **ret, bool *ret_absent)
{
    struct ek_shape shape = *root;
    const struct ek_schema_type *above;

    if (node->kind == EK_CEL_N_IDENT) {
        *ret = ek_type_of(root);
        return *ret != NULL;
    }
    if (node->kind != EK_CEL_N_SELECT || !find_type(root, node->select.operand, &above, ret_absent))
        return false;
    if (above->map == EK_MAP_NONE || above->flags & (EK_SCHEMA_PRESERVE | EK_SCHEMA_MISSING))
        return false;
    shape.type = ek_schema_member(root->schema, above, ek_str_from(node->select.field));
    *ret_absent = shape.type == EK_SCHEMA_NONE;
    *ret = *ret_absent ? NULL : ek_type_of(&shape);
    return *ret != NULL;
}

static const char *root_of(const struct ek_cel_node *node)
{
    while (node->kind == EK_CEL_N_SELECT)
        node = node->select.operand;
    return node->kind == EK_CEL_N_IDENT ? node->ident : "";
}

/* has(object.spec.template): a question for the kind where some kinds have the field. */
static enum ek_truth is_there(const struct ek_typewalk *w, const struct ek_cel_node *node)
{
    const char *root = root_of(node);
    const struct ek_schema_type *type;
    bool is_absent = false, other_has = false, other_lacks = false;

    if ((strcmp(root, "object") != 0 && strcmp(root, "oldObject") != 0) || is_bound(w, root) ||
        w->object.kind != EK_SHAPE_TYPED)
        return EK_TRUTH_UNKNOWN;
    bool is_known = find_type(&w->object, node, &type, &is_absent);
    for (size_t i = 0; (is_known || is_absent) && i < w->n_kinds; i++) {
        const struct ek_shape other = ek_type_shape_of(&w->kinds[i]);
        bool lacks = false;
        if (other.kind == EK_SHAPE_TYPED)
            other_has |= find_type(&other, node, &type, &lacks);
        other_lacks |= lacks;
    }
    if (is_absent)
        return other_has ? EK_TRUTH_FALSE : EK_TRUTH_UNKNOWN;
    return other_lacks ? EK_TRUTH_TRUE : EK_TRUTH_UNKNOWN;
}

static enum ek_truth not_of(enum ek_truth truth)
{
    return truth == EK_TRUTH_UNKNOWN ? truth : truth_if(truth == EK_TRUTH_FALSE);
}

static enum ek_truth truth_of_select(const struct ek_typewalk *w, const struct ek_cel_node *node)
{
    static const char *const variables[] = {"variables"};

    if (node->select.test)
        return is_there(w, node);
    for (size_t i = w->n_variables; is_path(w, node->select.operand, variables, 1) && i-- > 0;)
        if (w->policy->variables[i].name &&
            !strcmp(w->policy->variables[i].name, node->select.field))
            return w->truths[i];
    return EK_TRUTH_UNKNOWN;
}

/* && and ||: the value that decides, wherever it stands; else the other one if all have it. */
static enum ek_truth combine(const struct ek_typewalk *w, const struct ek_cel_node *node,
                             enum ek_truth decides)
{
    bool all = true;

    for (uint32_t i = 0; i < node->call.n; i++) {
        enum ek_truth truth = ek_type_truth(w, node->call.args[i]);
        if (truth == decides)
            return truth;
        all = all && truth != EK_TRUTH_UNKNOWN;
    }
    return all ? not_of(decides) : EK_TRUTH_UNKNOWN;
}

/* ["Pod", "Job"].all(kind, object.kind != kind), and the same with exists. */
static enum ek_truth truth_of_fold(const struct ek_typewalk *w, const struct ek_cel_node *node)
{
    const struct ek_cel_node *list = node->fold.range, *step = node->fold.step;
    char text[NAME_MAX_OCTETS];
    size_t n_equal = 0;

    if (list->kind != EK_CEL_N_LIST || step->kind != EK_CEL_N_CALL || step->call.n != 2 ||
        step->call.args[1]->kind != EK_CEL_N_CALL || node->fold.var2)
        return EK_TRUTH_UNKNOWN;
    const struct ek_cel_node *asked = step->call.args[1];
    bool all = !strcmp(step->call.function, EK_CEL_OP_AND);
    bool equal = !strcmp(asked->call.function, EK_CEL_OP_EQ);
    if ((!all && strcmp(step->call.function, EK_CEL_OP_OR) != 0) || asked->call.n != 2 ||
        (!equal && strcmp(asked->call.function, EK_CEL_OP_NE) != 0))
        return EK_TRUTH_UNKNOWN;
    const char *const item[] = {node->fold.var};
    const char *is = is_path(w, asked->call.args[1], item, 1)
                         ? text_of_kind(w, asked->call.args[0], text)
                         : NULL;
    for (uint32_t i = 0; i < list->list.n; i++) {
        if (!is || !ek_type_is_text(list->list.items[i]))
            return EK_TRUTH_UNKNOWN;
        n_equal += (size_t)ek_str_eq(ek_str_from(is), ek_type_text(list->list.items[i]));
    }
    size_t n_true = equal ? n_equal : list->list.n - n_equal;
    return is ? truth_if(all ? n_true == list->list.n : n_true > 0) : EK_TRUTH_UNKNOWN;
}

enum ek_truth ek_type_truth(const struct ek_typewalk *w, const struct ek_cel_node *node)
{
    enum ek_truth truth;

    if (node->kind == EK_CEL_N_SELECT)
        return truth_of_select(w, node);
    if (node->kind == EK_CEL_N_FOLD)
        return truth_of_fold(w, node);
    if (node->kind != EK_CEL_N_CALL || node->call.target)
        return EK_TRUTH_UNKNOWN;
    const char *f = node->call.function;
    struct ek_cel_node **args = node->call.args;
    if (!strcmp(f, EK_CEL_OP_AND))
        return combine(w, node, EK_TRUTH_FALSE);
    if (!strcmp(f, EK_CEL_OP_OR))
        return combine(w, node, EK_TRUTH_TRUE);
    if (!strcmp(f, EK_CEL_OP_NOT) && node->call.n == 1)
        return not_of(ek_type_truth(w, args[0]));
    if (node->call.n != 2)
        return EK_TRUTH_UNKNOWN;
    if (!strcmp(f, EK_CEL_OP_IN))
        return is_in(w, args[0], args[1]);
    if (strcmp(f, EK_CEL_OP_EQ) != 0 && strcmp(f, EK_CEL_OP_NE) != 0)
        return EK_TRUTH_UNKNOWN;
    truth = compare(w, args[0], args[1]);
    if (truth == EK_TRUTH_UNKNOWN)
        truth = compare(w, args[1], args[0]);
    return strcmp(f, EK_CEL_OP_EQ) ? not_of(truth) : truth;
}
