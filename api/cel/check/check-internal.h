/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check in progress. The checker's files share it; nothing else needs it.
 *
 * Type variables are bound as in the reference: a binding is looked up step by step, a failed
 * attempt to assign undoes its bindings, and a variable without a binding becomes dyn at the end.
 * Work on types is counted, because types can be made to grow with every nesting: beyond a bound
 * the text is refused.
 *
 * Source: cel-go 0.26, checker.
 */
#ifndef API_CEL_CHECK_CHECK_INTERNAL_H
#define API_CEL_CHECK_CHECK_INTERNAL_H

#include "api/cel/check/check.h"
#include "api/cel/syntax/parse.h"
#include "api/cel/values/type-internal.h"

/* A variable of a fold whose body is being checked. */
struct ek_cel_local {
    const char *name;
    const struct ek_cel_type *type;
    const struct ek_cel_local *up;
};

struct ek_cel_binding {
    const struct ek_cel_type *variable; /* NULL until it is needed */
    const struct ek_cel_type *type;     /* NULL while free */
};

struct ek_cel_undo {
    uint32_t index;
    const struct ek_cel_type *old;
};

struct ek_cel_check {
    const struct ek_cel_env *env;
    const struct ek_cel_env_rules *rules;
    const struct ek_cel_ast *ast;
    struct ek_arena *arena;
    struct ek_cel_issues *issues;
    int failed; /* EK_E_LIMIT: memory or work used up */
    bool wrong; /* something was reported */
    bool mixed_order;
    const struct ek_cel_local *locals; /* innermost first */
    struct ek_cel_binding *bindings;   /* by variable's number */
    uint32_t n_bindings, cap_bindings;
    struct ek_cel_undo *undo;
    uint32_t n_undo, cap_undo;
    uint64_t steps;
    struct ek_cel_node **nodes; /* that were checked */
    uint32_t n_nodes, cap_nodes;
    char *name; /* of the chain of fields at hand */
    size_t cap_name;
};

#define EK_CEL_CHECK_STEPS 20000000u /* on types */
#define EK_CEL_TYPE_SIZE   1000u

void *ek_cel_check_take(struct ek_cel_check *c, size_t size);

/* Makes room for one more of size octets in *list, which has n of *cap. False without memory. */
bool ek_cel_check_room(struct ek_cel_check *c, void *list, uint32_t n, uint32_t *cap, size_t size);

/* A NUL-terminated copy of len octets; NULL without memory. */
const char *ek_cel_check_text(struct ek_cel_check *c, const char *s, size_t len);

/* Reports at position by printf rules. */
void ek_cel_check_report(struct ek_cel_check *c, uint32_t position, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends the type as messages print it: "timestamp", "null". */
void ek_cel_type_message(const struct ek_cel_type *type, struct ek_buf *out);

/* The type as messages print it; lives in the arena. */
const char *ek_cel_type_text(struct ek_cel_check *c, const struct ek_cel_type *type);

/* ---- check/types.c --------------------------------------------------------------------------- */

/* Reserves n new type variables and returns the number of the first. */
uint32_t ek_cel_vars_new(struct ek_cel_check *c, uint32_t n);
/* The type variable of that number; dyn without memory. */
const struct ek_cel_type *ek_cel_var_type(struct ek_cel_check *c, uint32_t index);

/* A type with one or two parameters (b may be NULL); dyn without memory. */
const struct ek_cel_type *ek_cel_check_make(struct ek_cel_check *c, enum ek_cel_type_kind kind,
                                            const char *name, const struct ek_cel_type *a,
                                            const struct ek_cel_type *b);

/* The type of a signature with its variables counted from first. */
const struct ek_cel_type *ek_cel_instantiate(struct ek_cel_check *c, const struct ek_cel_type *type,
                                             uint32_t first);

/* type with what is bound put in; free variables become dyn when to_dyn. */
const struct ek_cel_type *ek_cel_substitute(struct ek_cel_check *c, const struct ek_cel_type *type,
                                            bool to_dyn);

/* True when a value of type b may be where a is wanted (the order matters as in the reference);
 * then what it took to agree is bound. */
bool ek_cel_assignable(struct ek_cel_check *c, const struct ek_cel_type *a,
                       const struct ek_cel_type *b);

/* As ek_cel_assignable, but what is bound may be undone, to a mark, until it is committed. */
bool ek_cel_assignable_try(struct ek_cel_check *c, const struct ek_cel_type *a,
                           const struct ek_cel_type *b);
void ek_cel_assign_undo(struct ek_cel_check *c);
void ek_cel_assign_commit(struct ek_cel_check *c);

/* What type is bound to in the end; itself when it is no bound variable. */
const struct ek_cel_type *ek_cel_bound(const struct ek_cel_check *c,
                                       const struct ek_cel_type *type);

/* The more general of two types that agree. */
const struct ek_cel_type *ek_cel_most_general(struct ek_cel_check *c, const struct ek_cel_type *a,
                                              const struct ek_cel_type *b);

/* The type in an optional, which *ret_optional says it is; else type. */
const struct ek_cel_type *ek_cel_unwrap(const struct ek_cel_type *type, bool *ret_optional);

static inline bool ek_cel_is_dyn(const struct ek_cel_type *type)
{
    return type->kind == EK_CEL_T_DYN;
}

/* ---- check/names.c --------------------------------------------------------------------------- */

/* What a name stands for. */
struct ek_cel_named {
    enum ek_cel_ref_kind kind; /* VARIABLE, LOCAL or TYPE */
    const struct ek_cel_decl_variable *variable;
    const struct ek_cel_local *local;
    const struct ek_cel_type *type; /* of the variable; or the type that is named */
};

bool ek_cel_check_find(struct ek_cel_check *c, const char *name, struct ek_cel_named *ret);
const struct ek_cel_decl_function *ek_cel_check_find_function(struct ek_cel_check *c,
                                                              const char *name);

/* "a.b.c" when node is such a chain of fields whose name could be declared (as a function when
 * function), with one more field when last is not NULL; else NULL. Good until the next call. */
const char *ek_cel_check_chain(struct ek_cel_check *c, const struct ek_cel_node *node,
                               const char *last, bool function);

/* The type of an expression that is a name: of the variable, or type(T). */
const struct ek_cel_type *ek_cel_named_type(struct ek_cel_check *c,
                                            const struct ek_cel_named *named);

/* Sets what node refers to. */
struct ek_cel_ref *ek_cel_check_refer(struct ek_cel_check *c, struct ek_cel_node *node,
                                      enum ek_cel_ref_kind kind);

/* Looks up a field of a struct type and reports at position when there is none; NULL then. */
const struct ek_cel_type *ek_cel_check_field(struct ek_cel_check *c, uint32_t position,
                                             const struct ek_cel_type *type, const char *field);

/* ---- check/call.c, check/literal.c, check.c ---------------------------------------------------
 */

void ek_cel_check_call(struct ek_cel_check *c, struct ek_cel_node *node);
void ek_cel_check_list(struct ek_cel_check *c, struct ek_cel_node *node);
void ek_cel_check_map(struct ek_cel_check *c, struct ek_cel_node *node);
void ek_cel_check_struct(struct ek_cel_check *c, struct ek_cel_node *node);

/* Sets node->type and all below it, once. */
void ek_cel_check_node(struct ek_cel_check *c, struct ek_cel_node *node);

/* The type of field of operand, which is checked first; optional for `a.?b`. */
const struct ek_cel_type *ek_cel_check_select(struct ek_cel_check *c, struct ek_cel_node *node,
                                              struct ek_cel_node *operand, const char *field,
                                              bool optional);

#endif
