/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scope of declarations: names to functions, variables, types, macros and fields, in a hash
 * table, with the scope that it extends above it. The base declarations of a version are one; each
 * environment that declares something of its own has another. Only environment files use this.
 *
 * A scope owns its memory (a pool of chunks) and is written by one thread until its environment is
 * frozen. Scopes above outlive it.
 */
#ifndef API_CEL_ENV_SCOPE_INTERNAL_H
#define API_CEL_ENV_SCOPE_INTERNAL_H

#include "api/cel/env/environment.h"
#include "api/cel/values/type-internal.h"

struct ek_cel_pool_chunk;

struct ek_cel_pool {
    struct ek_cel_pool_chunk *chunks; /* newest first */
};

/* Returns size octets of pool (a struct ek_cel_pool; as an allocator of types takes it), not
 * zeroed, aligned for anything, or NULL without memory. */
void *ek_cel_pool_take(void *pool, size_t size);
char *ek_cel_pool_strdup(struct ek_cel_pool *pool, const char *s);

/* Sets err for a want of memory, and returns its code. */
int ek_cel_no_memory__(struct ek_err *err);

struct ek_cel_macro_entry {
    const struct ek_cel_macro *macro;
    const struct ek_cel_macro_entry *next;
};

/* All that one name stands for. */
struct ek_cel_symbol {
    const char *name;
    uint32_t hash;
    uint8_t heads; /* flags of enum ek_cel_heads: names that begin with "name." */
    bool named;    /* type can be written in an expression */
    const struct ek_cel_decl_function *function;
    const struct ek_cel_decl_variable *variable;
    const struct ek_cel_type *type;   /* that is no struct */
    const struct ek_cel_type *object; /* a struct type */
    const struct ek_cel_macro_entry *macros;
};

enum ek_cel_heads {
    EK_CEL_HEAD_VALUE = 1, /* variables, types and structs */
    EK_CEL_HEAD_FUNCTION = 2,
};

/* A field of a struct type. */
struct ek_cel_field_symbol {
    const char *object, *field;
    uint32_t hash;
    const struct ek_cel_type *type;
};

struct ek_cel_scope {
    const struct ek_cel_scope *up;
    struct ek_cel_pool pool;
    struct ek_cel_symbol *symbols; /* open addressing; a free place has no name */
    uint32_t n_symbols, cap_symbols;
    struct ek_cel_field_symbol *fields;
    uint32_t n_fields, cap_fields;
};

void ek_cel_scope_done(struct ek_cel_scope *scope);

/* The symbol of name in this very scope, or NULL; and one to be filled, made when there is none
 * (name is copied). NULL without memory. Making one may move the others. */
const struct ek_cel_symbol *ek_cel_scope_find(const struct ek_cel_scope *scope, const char *name,
                                              uint32_t hash);
struct ek_cel_symbol *ek_cel_scope_make(struct ek_cel_scope *scope, const char *name);

/* Marks "a" and "a.b" as the heads of "a.b.c". False without memory. */
bool ek_cel_scope_mark_heads(struct ek_cel_scope *scope, const char *name, enum ek_cel_heads head);

/* Flags of the names that begin with "name." in scope and those above. */
uint8_t ek_cel_scope_heads(const struct ek_cel_scope *scope, const char *name);

/* Adds a field to a struct type, or changes its type; copies the names. False without memory. */
bool ek_cel_scope_put_field(struct ek_cel_scope *scope, const char *object, const char *field,
                            const struct ek_cel_type *type);

/* The type of a field in scope or above, or NULL. */
const struct ek_cel_type *ek_cel_scope_field(const struct ek_cel_scope *scope, const char *object,
                                             const char *field);

uint32_t ek_cel_name_hash(const char *name);

/* Walks symbols called name from scope upwards: the first that has the member. */
#define EK_CEL_SCOPE_LOOKUP(scope_, name_, member, ret)                                            \
    do {                                                                                           \
        uint32_t hash_ = ek_cel_name_hash(name_);                                                  \
        (ret) = NULL;                                                                              \
        for (const struct ek_cel_scope *s_ = (scope_); s_ && !(ret); s_ = s_->up) {                \
            const struct ek_cel_symbol *found_ = ek_cel_scope_find(s_, name_, hash_);              \
            if (found_)                                                                            \
                (ret) = found_->member;                                                            \
        }                                                                                          \
    } while (0)

/* ---- Reading types (signature.c) --------------------------------------------------------------
 */

#define EK_CEL_SIGNATURE_ARGS 16

struct ek_cel_signature {
    const struct ek_cel_type *args[EK_CEL_SIGNATURE_ARGS];
    const struct ek_cel_type *result;
    uint32_t n, variables;
};

/* Reads a type as declarations write it; names are looked up from scope. Returns NULL with err
 * filled (EK_E_INVAL, EK_E_NOMEM). */
const struct ek_cel_type *ek_cel_type_read(const char *text, const struct ek_cel_scope *scope,
                                           bool object_types, const struct ek_cel_taker *taker,
                                           struct ek_err *err);

/* Reads an overload's types: "list(T), T -> int". Unknown names are opaque types. */
int ek_cel_signature_read(const char *text, const struct ek_cel_scope *scope,
                          const struct ek_cel_taker *taker, struct ek_cel_signature *ret,
                          struct ek_err *err);

/* ---- Base declarations (environment.c) and libraries (functions.c) ------------------------- */

/* Fills rules for options and returns the scope of their base declarations, which is shared and
 * never released; NULL with err filled. Any thread. */
const struct ek_cel_scope *ek_cel_base_get(const struct ek_cel_env_options *options,
                                           struct ek_cel_env_rules *ret_rules, struct ek_err *err);

/* Adds what library has in that version to scope. Returns 0 or a negative error. */
int ek_cel_scope_add_library(struct ek_cel_scope *scope, const struct ek_cel_library *library,
                             int version, struct ek_err *err);

/* Declares the opaque types of library. Returns 0 or a negative error. */
int ek_cel_scope_add_types(struct ek_cel_scope *scope, const struct ek_cel_library *library,
                           struct ek_err *err);

/* Adds macros up to name NULL. False without memory. */
bool ek_cel_scope_add_macros(struct ek_cel_scope *scope, const struct ek_cel_macro *macros,
                             int version);

#endif
