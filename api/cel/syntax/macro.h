/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a macro's expansion may make. Nodes live in the compilation's arena and are reported at the
 * position of the macro call. Every maker returns NULL without memory, and takes NULL arguments by
 * returning NULL, so that an expansion needs one check at its end at most. Names are kept as they
 * are, so they must be constants or come from a node. An argument may be used more than once.
 */
#ifndef API_CEL_SYNTAX_MACRO_H
#define API_CEL_SYNTAX_MACRO_H

#include "api/cel/library.h"
#include "api/cel/syntax/ast.h"

#define EK_CEL_ACCU "@result"

struct ek_cel_node *ek_cel_make_literal(struct ek_cel_expander *x, struct ek_cel_val value);
struct ek_cel_node *ek_cel_make_ident(struct ek_cel_expander *x, const char *name);
/* An identifier made by printf rules, shorter than 64 octets. */
struct ek_cel_node *ek_cel_make_name(struct ek_cel_expander *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct ek_cel_node *ek_cel_make_accu(struct ek_cel_expander *x); /* the identifier EK_CEL_ACCU */
struct ek_cel_node *ek_cel_make_call(struct ek_cel_expander *x, const char *function, uint32_t n,
                                     struct ek_cel_node *const *args);
struct ek_cel_node *ek_cel_make_member(struct ek_cel_expander *x, const char *function,
                                       struct ek_cel_node *target, uint32_t n,
                                       struct ek_cel_node *const *args);
struct ek_cel_node *ek_cel_make_list(struct ek_cel_expander *x, uint32_t n,
                                     struct ek_cel_node *const *items);
struct ek_cel_node *ek_cel_make_map(struct ek_cel_expander *x, uint32_t n,
                                    const struct ek_cel_map_entry *entries);
/* var2 is NULL for one variable; accu is EK_CEL_ACCU but for cel.bind and the like. */
struct ek_cel_node *ek_cel_make_fold(struct ek_cel_expander *x, struct ek_cel_node *range,
                                     const char *var, const char *var2, const char *accu,
                                     struct ek_cel_node *init, struct ek_cel_node *condition,
                                     struct ek_cel_node *step, struct ek_cel_node *result);

/* The plain identifier that node is, or NULL. */
const char *ek_cel_simple_name(const struct ek_cel_node *node);

/* Reports why the call is no good, at node's position (NULL: the call's); returns NULL. */
struct ek_cel_node *ek_cel_macro_error(struct ek_cel_expander *x, const struct ek_cel_node *node,
                                       const char *message);

/* The macros of the language itself: has, all, exists, exists_one, map, filter. */
extern const struct ek_cel_macro ek_cel_standard_macros[];

#endif
