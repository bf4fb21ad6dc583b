/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for: variables, types, functions, fields. */
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/check/check-internal.h"

bool ek_cel_candidates(const char *container, const char *name,
                       bool (*fn)(void *arg, const char *candidate), void *arg)
{
    char small[256];
    size_t prefix = strlen(container), len = strlen(name);
    char *big = NULL, *buf = small;
    bool found = false;

    if (*name == '.')
        return fn(arg, name + 1);
    if (!prefix)
        return fn(arg, name);
    if (prefix + len + 2 > sizeof small)
        buf = big = ek_alloc(prefix + len + 2);
    while (buf && prefix && !found) {
        memcpy(buf, container, prefix);
        buf[prefix] = '.';
        memcpy(buf + prefix + 1, name, len + 1);
        found = fn(arg, buf);
        while (--prefix && container[prefix] != '.')
            ;
    }
    ek_free(big);
    return found || fn(arg, name);
}

/* ---- Names of values and types --------------------------------------------------------------- */

static const struct ek_cel_local *find_local(const struct ek_cel_check *c, const char *name)
{
    const struct ek_cel_local *local = c->locals;

    while (local && strcmp(local->name, name) != 0)
        local = local->up;
    return local;
}

struct search {
    struct ek_cel_check *c;
    struct ek_cel_named *ret;
    bool locals;
};

static bool try_name(void *arg, const char *name)
{
    struct search *s = arg;
    struct ek_cel_named *ret = s->ret;

    ret->local = s->locals ? find_local(s->c, name) : NULL;
    if (ret->local) {
        ret->kind = EK_CEL_REF_LOCAL;
        ret->type = ret->local->type;
        return true;
    }
    ret->variable = ek_cel_env_variable(s->c->env, name);
    if (ret->variable) {
        ret->kind = EK_CEL_REF_VARIABLE;
        ret->type = ret->variable->type;
        return true;
    }
    ret->kind = EK_CEL_REF_TYPE;
    ret->type = ek_cel_env_struct(s->c->env, name, s->c->arena);
    if (!ret->type)
        ret->type = ek_cel_env_type(s->c->env, name);
    return ret->type != NULL;
}

bool ek_cel_check_find(struct ek_cel_check *c, const char *name, struct ek_cel_named *ret)
{
    struct search s = {c, ret, !c->rules->locals_first};

    *ret = (struct ek_cel_named){0};
    if (c->rules->locals_first && *name != '.') {
        ret->local = find_local(c, name);
        if (ret->local) {
            ret->kind = EK_CEL_REF_LOCAL;
            ret->type = ret->local->type;
            return true;
        }
    }
    return ek_cel_candidates(c->rules->container, name, try_name, &s);
}

struct function_search {
    struct ek_cel_check *c;
    const struct ek_cel_decl_function *found;
};

static bool try_function(void *arg, const char *name)
{
    struct function_search *s = arg;

    s->found = ek_cel_env_function(s->c->env, name);
    return s->found != NULL;
}

const struct ek_cel_decl_function *ek_cel_check_find_function(struct ek_cel_check *c,
                                                              const char *name)
{
    struct function_search s = {.c = c};

    ek_cel_candidates(c->rules->container, name, try_function, &s);
    return s.found;
}

/* ---- Chains of fields that may be one name --------------------------------------------------- */

/* The identifier that a chain of fields begins with, and the length of the chain's name. */
static const char *chain_head(const struct ek_cel_node *node, size_t *ret_len)
{
    size_t len = 0;

    for (; node->kind == EK_CEL_N_SELECT && !node->select.test; node = node->select.operand)
        len += strlen(node->select.field) + 1;
    if (node->kind != EK_CEL_N_IDENT)
        return NULL;
    *ret_len = len + strlen(node->ident);
    return node->ident;
}

/* False for nearly all chains: no name begins as this one does, so that it need not be built. */
static bool may_be_name(const struct ek_cel_check *c, const char *head, bool function)
{
    if (c->rules->locals_first && *head != '.' && find_local(c, head))
        return false;
    if (*c->rules->container && *head != '.')
        return true;
    return ek_cel_env_may_qualify(c->env, *head == '.' ? head + 1 : head, function);
}

const char *ek_cel_check_chain(struct ek_cel_check *c, const struct ek_cel_node *node,
                               const char *last, bool function)
{
    size_t len = 0, more = last ? strlen(last) + 1 : 0;
    const char *head = chain_head(node, &len);

    if (!head || !may_be_name(c, head, function))
        return NULL;
    if (len + more >= c->cap_name) {
        c->cap_name = (len + more + 1) * 2;
        c->name = ek_cel_check_take(c, c->cap_name);
        if (!c->name) {
            c->cap_name = 0;
            return NULL;
        }
    }
    if (last)
        memcpy(c->name + len + 1, last, more);
    c->name[len] = '.';
    c->name[len + more] = '\0';
    for (; node->kind == EK_CEL_N_SELECT; node = node->select.operand) {
        size_t n = strlen(node->select.field);
        len -= n;
        memcpy(c->name + len, node->select.field, n);
        c->name[--len] = '.';
    }
    memcpy(c->name, node->ident, len);
    return c->name;
}

/* ---- Results --------------------------------------------------------------------------------- */

const struct ek_cel_type *ek_cel_named_type(struct ek_cel_check *c,
                                            const struct ek_cel_named *named)
{
    /* The names `list` and `map` are declared with type variables, which messages show. */
    static const struct ek_cel_type_var a = {.type = {.kind = EK_CEL_T_PARAM, .name = "A"}};
    static const struct ek_cel_type_var b = {.type = {.kind = EK_CEL_T_PARAM, .name = "B"}};
    static const struct ek_cel_type *const params[] = {&a.type, &b.type};
    static const struct ek_cel_type list = {EK_CEL_T_LIST, 1, "list", params, 2};
    static const struct ek_cel_type map = {EK_CEL_T_MAP, 2, "map", params, 3};
    const struct ek_cel_type *type = named->type;

    if (named->kind != EK_CEL_REF_TYPE)
        return type;
    type = type == &ek_cel_type_list_dyn ? &list : type == &ek_cel_type_map_dyn ? &map : type;
    return ek_cel_check_make(c, EK_CEL_T_TYPE, "type", type, NULL);
}

struct ek_cel_ref *ek_cel_check_refer(struct ek_cel_check *c, struct ek_cel_node *node,
                                      enum ek_cel_ref_kind kind)
{
    struct ek_cel_ref *ref = ek_cel_check_take(c, sizeof *ref);

    if (!ref)
        return NULL;
    *ref = (struct ek_cel_ref){.kind = kind};
    node->ref = ref;
    return ref;
}

const struct ek_cel_type *ek_cel_check_field(struct ek_cel_check *c, uint32_t position,
                                             const struct ek_cel_type *type, const char *field)
{
    const struct ek_cel_type *found = NULL;

    if (type->kind == EK_CEL_T_STRUCT)
        found = ek_cel_env_field(c->env, type, field);
    if (found)
        return found;
    /* The reference declares every field of JSONPatch and gives types to those that exist. */
    if (type->kind == EK_CEL_T_STRUCT && !strcmp(type->name, "JSONPatch"))
        return &ek_cel_type_none;
    if (type->kind == EK_CEL_T_STRUCT)
        ek_cel_check_report(c, position, "undefined field '%s'", field);
    else
        ek_cel_check_report(c, position, "unexpected failed resolution of '%s'", type->name);
    return NULL;
}
