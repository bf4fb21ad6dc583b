/* SPDX-License-Identifier: Apache-2.0 */
/* Literals of lists, maps and structs. */
#include "api/cel/check/check-internal.h"

/* The type that elements of types so far (NULL for none) and type have in common. Mixed literals
 * are of dyn; where they are forbidden, that is found out when all is checked (validate.c). */
static const struct ek_cel_type *join(struct ek_cel_check *c, const struct ek_cel_type *so_far,
                                      const struct ek_cel_type *type)
{
    if (!so_far)
        return type;
    if (ek_cel_assignable(c, so_far, type))
        return ek_cel_most_general(c, so_far, type);
    return &ek_cel_type_dyn;
}

/* The type of an element, entry or field that was checked; that of its content when it is
 * optional: [?e]. */
static const struct ek_cel_type *element_type(struct ek_cel_check *c,
                                              const struct ek_cel_node *node, bool optional)
{
    const struct ek_cel_type *type = node->type;
    bool unwrapped = false;

    if (!optional)
        return type;
    type = ek_cel_unwrap(type, &unwrapped);
    if (!unwrapped && !ek_cel_is_dyn(type))
        ek_cel_check_report(c, node->position, "expected type 'optional_type(%s)' but found '%s'",
                            ek_cel_type_text(c, type), ek_cel_type_text(c, type));
    return type;
}

void ek_cel_check_list(struct ek_cel_check *c, struct ek_cel_node *node)
{
    const struct ek_cel_type *type = NULL;

    for (uint32_t i = 0; i < node->list.n; i++) {
        ek_cel_check_node(c, node->list.items[i]);
        type = join(
            c, type,
            element_type(c, node->list.items[i], node->list.optional && node->list.optional[i]));
    }
    if (!type)
        type = ek_cel_var_type(c, ek_cel_vars_new(c, 1));
    node->type = ek_cel_check_make(c, EK_CEL_T_LIST, "list", type, NULL);
}

void ek_cel_check_map(struct ek_cel_check *c, struct ek_cel_node *node)
{
    const struct ek_cel_type *key = NULL, *value = NULL;

    for (uint32_t i = 0; i < node->map.n; i++) {
        const struct ek_cel_map_entry *e = &node->map.entries[i];
        ek_cel_check_node(c, e->key);
        key = join(c, key, e->key->type);
        ek_cel_check_node(c, e->value);
        value = join(c, value, element_type(c, e->value, e->optional));
    }
    if (!key) {
        uint32_t first = ek_cel_vars_new(c, 2);
        key = ek_cel_var_type(c, first);
        value = ek_cel_var_type(c, first + 1);
    }
    node->type = ek_cel_check_make(c, EK_CEL_T_MAP, "map", key, value);
}

/* The struct type that the literal names, or NULL with what is wrong reported. */
static const struct ek_cel_type *struct_type(struct ek_cel_check *c, struct ek_cel_node *node,
                                             bool *ret_known)
{
    struct ek_cel_named named;

    *ret_known = ek_cel_check_find(c, node->object.name, &named);
    if (!*ret_known) {
        ek_cel_check_report(c, node->position, "undeclared reference to '%s' (in container '%s')",
                            node->object.name, c->rules->container);
        return NULL;
    }
    if (named.type->kind == EK_CEL_T_ERROR)
        return NULL;
    if (named.kind != EK_CEL_REF_TYPE)
        ek_cel_check_report(c, node->position, "'%s' is not a type", named.type->name);
    else if (named.type->kind != EK_CEL_T_STRUCT)
        ek_cel_check_report(c, node->position, "'%s' is not a message type", named.type->name);
    else
        return named.type;
    return NULL;
}

static void check_field(struct ek_cel_check *c, const struct ek_cel_type *type, const char *name,
                        const struct ek_cel_field_init *f)
{
    const struct ek_cel_type *wanted = NULL, *given;

    ek_cel_check_node(c, f->value);
    if (!type)
        ek_cel_check_report(c, f->position, "unexpected failed resolution of '%s'", name);
    else
        wanted = ek_cel_check_field(c, f->position, type, f->name);
    given = element_type(c, f->value, f->optional);
    if (!wanted || ek_cel_assignable(c, wanted, given))
        return;
    ek_cel_check_report(c, f->position,
                        "expected type of field '%s' is '%s' but provided type is '%s'", f->name,
                        ek_cel_type_text(c, wanted), ek_cel_type_text(c, given));
}

void ek_cel_check_struct(struct ek_cel_check *c, struct ek_cel_node *node)
{
    bool known;
    const struct ek_cel_type *type = struct_type(c, node, &known);
    struct ek_cel_ref *ref = ek_cel_check_refer(c, node, EK_CEL_REF_STRUCT);

    node->type = type ? type : &ek_cel_type_error;
    if (ref)
        ref->type = node->type;
    for (uint32_t i = 0; known && i < node->object.n; i++)
        check_field(c, type, node->object.name, &node->object.fields[i]);
}
