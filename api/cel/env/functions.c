/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries into scopes: functions with their overloads read, macros and type names. */
#include <string.h>

#include "api/cel/env/scope-internal.h"

/* A function's declaration being made. */
struct work {
    struct ek_cel_scope *scope;
    const struct ek_cel_function *function;
    const struct ek_cel_decl_function *above; /* from another library, or NULL */
    struct ek_cel_decl_overload *overloads;
    uint32_t n;
    struct ek_err *err;
};

static bool in_version(const struct ek_cel_overload *o, int version)
{
    return o->version <= version && (!o->until || version < o->until);
}

/*
 * An overload of a function that several libraries have: what its own library said of all
 * overloads is put into it, because the function's declaration can speak for one library only.
 */
static const struct ek_cel_overload *made_whole(struct ek_cel_scope *scope,
                                                const struct ek_cel_function *function,
                                                const struct ek_cel_overload *o)
{
    if ((o->fn || !function->singleton) && (o->cost || !function->cost))
        return o;
    struct ek_cel_overload *copy = ek_cel_pool_take(&scope->pool, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *o;
    copy->fn = o->fn ? o->fn : function->singleton;
    copy->cost = o->cost ? o->cost : function->cost;
    return copy;
}

static bool has_overload(const struct work *w, const char *id)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (!strcmp(w->overloads[i].def->id, id))
            return true;
    return false;
}

static int add_overload(struct work *w, const struct ek_cel_overload *o)
{
    struct ek_cel_taker taker = {ek_cel_pool_take, &w->scope->pool};
    struct ek_cel_signature s;
    int rc = ek_cel_signature_read(o->signature, w->scope, &taker, &s, w->err);

    if (rc) {
        ek_err_prefix(w->err, "overload %s", o->id);
        return rc;
    }
    const struct ek_cel_type **args = ek_cel_pool_take(&w->scope->pool, (s.n + 1) * sizeof(void *));
    const struct ek_cel_overload *def = w->above ? made_whole(w->scope, w->function, o) : o;
    if (!args || !def)
        return ek_cel_no_memory__(w->err);
    memcpy(args, s.args, s.n * sizeof(void *));
    w->overloads[w->n++] = (struct ek_cel_decl_overload){.def = def,
                                                         .args = args,
                                                         .result = s.result,
                                                         .n = s.n,
                                                         .variables = s.variables,
                                                         .generic = s.variables > 0};
    return 0;
}

/* Takes over the overloads of the declaration above, with room for n more. */
static int start(struct work *w, uint32_t n)
{
    uint32_t have = w->above ? w->above->n : 0;

    w->overloads = ek_cel_pool_take(&w->scope->pool, (have + n) * sizeof *w->overloads);
    if (!w->overloads)
        return ek_cel_no_memory__(w->err);
    for (; w->n < have; w->n++) {
        w->overloads[w->n] = w->above->overloads[w->n];
        w->overloads[w->n].def = made_whole(w->scope, w->above->def, w->above->overloads[w->n].def);
        if (!w->overloads[w->n].def)
            return ek_cel_no_memory__(w->err);
    }
    return 0;
}

/* What the whole function says: of the first library that says anything. */
static const struct ek_cel_function *definition(struct work *w)
{
    struct ek_cel_function *def;

    if (!w->above)
        return w->function;
    def = ek_cel_pool_take(&w->scope->pool, sizeof *def);
    if (!def)
        return NULL;
    *def = *w->above->def;
    def->singleton = def->singleton ? def->singleton : w->function->singleton;
    def->cost = def->cost ? def->cost : w->function->cost;
    return def;
}

static int finish(struct work *w)
{
    struct ek_cel_symbol *symbol = ek_cel_scope_make(w->scope, w->function->name);
    struct ek_cel_decl_function *decl = ek_cel_pool_take(&w->scope->pool, sizeof *decl);
    const struct ek_cel_function *def = definition(w);

    if (!symbol || !decl || !def)
        return ek_cel_no_memory__(w->err);
    *decl = (struct ek_cel_decl_function){.def = def, .overloads = w->overloads, .n = w->n};
    symbol->function = decl;
    return ek_cel_scope_mark_heads(w->scope, def->name, EK_CEL_HEAD_FUNCTION)
               ? 0
               : ek_cel_no_memory__(w->err);
}

static int add_function(struct ek_cel_scope *scope, const struct ek_cel_function *function,
                        int version, struct ek_err *err)
{
    struct work w = {.scope = scope, .function = function, .err = err};
    const struct ek_cel_overload *o;
    uint32_t n = 0;
    int rc;

    for (o = function->overloads; o && o->id; o++)
        n += in_version(o, version);
    if (!n)
        return 0;
    EK_CEL_SCOPE_LOOKUP(scope, function->name, function, w.above);
    rc = start(&w, n);
    for (o = function->overloads; !rc && o->id; o++)
        if (in_version(o, version) && !has_overload(&w, o->id))
            rc = add_overload(&w, o);
    return rc ? rc : finish(&w);
}

static int add_type(struct ek_cel_scope *scope, const struct ek_cel_opaque_kind *kind,
                    struct ek_err *err)
{
    struct ek_cel_taker taker = {ek_cel_pool_take, &scope->pool};
    const struct ek_cel_type *type =
        ek_cel_type_build(&taker, EK_CEL_T_OPAQUE, kind->name, NULL, 0);
    struct ek_cel_symbol *symbol = ek_cel_scope_make(scope, kind->name);

    if (!type || !symbol || !ek_cel_scope_mark_heads(scope, kind->name, EK_CEL_HEAD_VALUE))
        return ek_cel_no_memory__(err);
    symbol = ek_cel_scope_make(scope, kind->name);
    symbol->type = type;
    symbol->named = kind->named;
    return 0;
}

/* A macro of the same name, form and number of arguments as one above it replaces that. */
bool ek_cel_scope_add_macros(struct ek_cel_scope *scope, const struct ek_cel_macro *macros,
                             int version)
{
    for (; macros && macros->name; macros++) {
        if (macros->version > version)
            continue;
        struct ek_cel_symbol *symbol = ek_cel_scope_make(scope, macros->name);
        struct ek_cel_macro_entry *entry = ek_cel_pool_take(&scope->pool, sizeof *entry);
        if (!symbol || !entry)
            return false;
        *entry = (struct ek_cel_macro_entry){macros, symbol->macros};
        symbol->macros = entry;
    }
    return true;
}

int ek_cel_scope_add_types(struct ek_cel_scope *scope, const struct ek_cel_library *library,
                           struct ek_err *err)
{
    const struct ek_cel_opaque_kind *const *kind = library->types;
    int rc = 0;

    for (; !rc && kind && *kind; kind++)
        rc = add_type(scope, *kind, err);
    return rc;
}

int ek_cel_scope_add_library(struct ek_cel_scope *scope, const struct ek_cel_library *library,
                             int version, struct ek_err *err)
{
    const struct ek_cel_function *function = library->functions;
    int rc = ek_cel_scope_add_types(scope, library, err);

    for (; !rc && function && function->name; function++)
        rc = add_function(scope, function, version, err);
    if (!rc && !ek_cel_scope_add_macros(scope, library->macros, version))
        rc = ek_cel_no_memory__(err);
    if (rc)
        ek_err_prefix(err, "library %s", library->name);
    return rc;
}
