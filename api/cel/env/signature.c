/* SPDX-License-Identifier: Apache-2.0 */
/* Types as text: what declarations and overloads are written in. */
#include <ctype.h>
#include <string.h>

#include "api/cel/env/scope-internal.h"

#define NAME_MAX_LEN 256
#define PARAMS_MAX   8
#define DEPTH_MAX    32

struct reader {
    const char *text, *p;
    const struct ek_cel_scope *scope;
    const struct ek_cel_taker *taker;
    struct ek_err *err;
    bool object_types; /* Object and all below it are types */
    bool signature;    /* capital letters are variables, unknown names are opaque types */
    const struct ek_cel_type *variables[PARAMS_MAX];
    uint32_t n_variables, depth;
};

static const struct ek_cel_type *fail(struct reader *r, const char *why)
{
    ek_err_set(r->err, EK_E_INVAL, "type \"%.200s\": %s", r->text, why);
    return NULL;
}

static const struct ek_cel_type *no_memory(struct reader *r)
{
    ek_err_set(r->err, EK_E_NOMEM, "type \"%.200s\": no memory", r->text);
    return NULL;
}

static const struct ek_cel_type *made(struct reader *r, const struct ek_cel_type *type)
{
    return type ? type : no_memory(r);
}

static void skip_spaces(struct reader *r)
{
    while (*r->p == ' ')
        r->p++;
}

static bool take_char(struct reader *r, char c)
{
    skip_spaces(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '@';
}

/* Copies the name at hand into buf; false when there is none, or it is too long. */
static bool read_name(struct reader *r, char *buf, size_t size)
{
    size_t n = 0;

    skip_spaces(r);
    while (is_name_char(r->p[n]))
        n++;
    if (n == 0 || n >= size)
        return false;
    memcpy(buf, r->p, n);
    buf[n] = '\0';
    r->p += n;
    return true;
}

static const struct ek_cel_type *simple_type(const char *name)
{
    static const struct {
        const char *name;
        const struct ek_cel_type *type;
    } names[] = {
        {"string", &ek_cel_type_string},
        {"int", &ek_cel_type_int},
        {"bool", &ek_cel_type_bool},
        {"dyn", &ek_cel_type_dyn},
        {"double", &ek_cel_type_double},
        {"uint", &ek_cel_type_uint},
        {"bytes", &ek_cel_type_bytes},
        {"timestamp", &ek_cel_type_timestamp},
        {"google.protobuf.Timestamp", &ek_cel_type_timestamp},
        {"duration", &ek_cel_type_duration},
        {"google.protobuf.Duration", &ek_cel_type_duration},
        {"null_type", &ek_cel_type_null},
        {"null", &ek_cel_type_null},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i].name, name))
            return names[i].type;
    return NULL;
}

static const struct ek_cel_type *variable_type(struct reader *r, char letter)
{
    static const char letters[] = "A\0B\0C\0D\0E\0F\0G\0H\0I\0J\0K\0L\0M\0N\0O\0P\0Q\0R\0S\0T\0U\0"
                                  "V\0W\0X\0Y\0Z";
    const char *name = letters + (ptrdiff_t)(letter - 'A') * 2;

    for (uint32_t i = 0; i < r->n_variables; i++)
        if (r->variables[i]->name == name)
            return r->variables[i];
    if (r->n_variables == PARAMS_MAX)
        return fail(r, "too many type variables");
    struct ek_cel_type_var *var = r->taker->take(r->taker->arg, sizeof *var);
    if (!var)
        return no_memory(r);
    *var = (struct ek_cel_type_var){.type = {.kind = EK_CEL_T_PARAM, .name = name, .size = 1},
                                    .index = r->n_variables};
    r->variables[r->n_variables++] = &var->type;
    return &var->type;
}

static const char *own_name(struct reader *r, const char *name)
{
    size_t len = strlen(name) + 1;
    char *copy = r->taker->take(r->taker->arg, len);

    if (copy)
        memcpy(copy, name, len);
    else
        no_memory(r);
    return copy;
}

static bool is_object_name(const char *name)
{
    return !strncmp(name, "Object", 6) && (!name[6] || name[6] == '.');
}

/* A type that was declared, or in signatures one that will be. */
static const struct ek_cel_type *declared_type(struct reader *r, const char *name,
                                               const struct ek_cel_type *const *params, uint32_t n)
{
    const struct ek_cel_type *type;
    enum ek_cel_type_kind kind = EK_CEL_T_OPAQUE;

    EK_CEL_SCOPE_LOOKUP(r->scope, name, type, type);
    if (!type)
        EK_CEL_SCOPE_LOOKUP(r->scope, name, object, type);
    if (type && !n)
        return type;
    if (!type && r->object_types && is_object_name(name))
        kind = EK_CEL_T_STRUCT;
    else if (!type && !r->signature)
        return fail(r, "unknown type");
    if (n && kind == EK_CEL_T_STRUCT)
        return fail(r, "Object types have no parameters");
    name = own_name(r, name);
    return name ? made(r, ek_cel_type_build(r->taker, kind, name, params, n)) : NULL;
}

/* Types that the language has with parameters; without them they are of dyn. */
static const struct ek_cel_type *container_type(struct reader *r, const char *name,
                                                const struct ek_cel_type *const *params, uint32_t n)
{
    static const struct {
        const char *name, *own;
        enum ek_cel_type_kind kind;
        uint32_t n;
        const struct ek_cel_type *plain;
    } names[] = {
        {"list", "list", EK_CEL_T_LIST, 1, &ek_cel_type_list_dyn},
        {"map", "map", EK_CEL_T_MAP, 2, &ek_cel_type_map_dyn},
        {"type", "type", EK_CEL_T_TYPE, 1, &ek_cel_type_type},
        {"optional_type", "optional_type", EK_CEL_T_OPTIONAL, 1, &ek_cel_type_optional_dyn},
        {"optional", "optional_type", EK_CEL_T_OPTIONAL, 1, &ek_cel_type_optional_dyn},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        if (!n)
            return names[i].plain;
        if (n != names[i].n)
            return fail(r, "wrong number of parameters");
        return made(r, ek_cel_type_build(r->taker, names[i].kind, names[i].own, params, n));
    }
    return declared_type(r, name, params, n);
}

static const struct ek_cel_type *read_type(struct reader *r)
{
    const struct ek_cel_type *params[PARAMS_MAX];
    char name[NAME_MAX_LEN];
    uint32_t n = 0;

    if (!read_name(r, name, sizeof name))
        return fail(r, "expected a name");
    if (r->signature && isupper((unsigned char)name[0]) && !name[1])
        return variable_type(r, name[0]);
    if (take_char(r, '(')) {
        if (++r->depth > DEPTH_MAX)
            return fail(r, "nested too deeply");
        do {
            if (n == PARAMS_MAX)
                return fail(r, "too many parameters");
            params[n] = read_type(r);
            if (!params[n++])
                return NULL;
        } while (take_char(r, ','));
        r->depth--;
        if (!take_char(r, ')'))
            return fail(r, "expected ) or ,");
    }
    const struct ek_cel_type *simple = simple_type(name);
    if (simple)
        return n ? fail(r, "a type that has no parameters") : simple;
    return container_type(r, name, params, n);
}

const struct ek_cel_type *ek_cel_type_read(const char *text, const struct ek_cel_scope *scope,
                                           bool object_types, const struct ek_cel_taker *taker,
                                           struct ek_err *err)
{
    struct reader r = {.text = text,
                       .p = text,
                       .scope = scope,
                       .taker = taker,
                       .err = err,
                       .object_types = object_types};
    const struct ek_cel_type *type = read_type(&r);

    skip_spaces(&r);
    return type && *r.p ? fail(&r, "text after the type") : type;
}

int ek_cel_signature_read(const char *text, const struct ek_cel_scope *scope,
                          const struct ek_cel_taker *taker, struct ek_cel_signature *ret,
                          struct ek_err *err)
{
    struct ek_err own = {0};
    struct reader r = {
        .text = text, .p = text, .scope = scope, .taker = taker, .err = &own, .signature = true};

    ret->n = 0;
    ret->result = NULL;
    skip_spaces(&r);
    while (strncmp(r.p, "->", 2) != 0) {
        if (ret->n == EK_CEL_SIGNATURE_ARGS || (ret->n && !take_char(&r, ','))) {
            fail(&r, "expected , or ->");
            break;
        }
        ret->args[ret->n] = read_type(&r);
        if (!ret->args[ret->n++])
            break;
        skip_spaces(&r);
    }
    if (!own.code) {
        r.p += 2;
        ret->result = read_type(&r);
        skip_spaces(&r);
        if (ret->result && *r.p)
            fail(&r, "text after the result");
    }
    ret->variables = r.n_variables;
    if (own.code && err)
        *err = own;
    return own.code;
}
