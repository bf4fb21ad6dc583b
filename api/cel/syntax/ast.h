/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The syntax tree: what the parser makes, the checker annotates and the planner reads.
 *
 * All of it lives in the compilation's arena. A node may have more than one parent (macros that
 * use an argument twice share it), so passes mark nodes instead of assuming a tree. Strings are
 * NUL-terminated and live in the arena too. Not for hosts.
 */
#ifndef API_CEL_SYNTAX_AST_H
#define API_CEL_SYNTAX_AST_H

#include "api/cel/cel.h"

enum ek_cel_node_kind {
    EK_CEL_N_LITERAL,
    EK_CEL_N_IDENT,
    EK_CEL_N_SELECT,
    EK_CEL_N_CALL,
    EK_CEL_N_LIST,
    EK_CEL_N_MAP,
    EK_CEL_N_STRUCT,
    EK_CEL_N_FOLD, /* a comprehension */
};

/* Operators are calls of functions with the names of cel-go. */
#define EK_CEL_OP_CONDITIONAL        "_?_:_"
#define EK_CEL_OP_AND                "_&&_"
#define EK_CEL_OP_OR                 "_||_"
#define EK_CEL_OP_NOT                "!_"
#define EK_CEL_OP_NEGATE             "-_"
#define EK_CEL_OP_EQ                 "_==_"
#define EK_CEL_OP_NE                 "_!=_"
#define EK_CEL_OP_LT                 "_<_"
#define EK_CEL_OP_LE                 "_<=_"
#define EK_CEL_OP_GT                 "_>_"
#define EK_CEL_OP_GE                 "_>=_"
#define EK_CEL_OP_ADD                "_+_"
#define EK_CEL_OP_SUB                "_-_"
#define EK_CEL_OP_MUL                "_*_"
#define EK_CEL_OP_DIV                "_/_"
#define EK_CEL_OP_MOD                "_%_"
#define EK_CEL_OP_IN                 "@in"
#define EK_CEL_OP_INDEX              "_[_]"
#define EK_CEL_OP_OPT_INDEX          "_[?_]"
#define EK_CEL_OP_OPT_SELECT         "_?._" /* operand, string literal */
#define EK_CEL_OP_NOT_STRICTLY_FALSE "@not_strictly_false"

struct ek_cel_node;

struct ek_cel_map_entry {
    struct ek_cel_node *key, *value;
    uint32_t position; /* of the colon, as the reference reports it */
    bool optional;     /* {?key: value} */
};

struct ek_cel_field_init {
    const char *name;
    struct ek_cel_node *value;
    uint32_t position; /* of the colon */
    bool optional;     /* T{?name: value} */
};

struct ek_cel_ref; /* api/cel/env/ref.h: what the checker resolved a node to */

struct ek_cel_node {
    uint8_t kind;      /* enum ek_cel_node_kind */
    uint8_t mark;      /* of the pass at work; 0 between passes */
    uint16_t depth;    /* nodes from here to the deepest below, with this one; capped */
    uint32_t position; /* code points before the token that the reference reports it at */
    const struct ek_cel_type *type; /* by the checker, else NULL */
    const struct ek_cel_ref *ref;   /* by the checker, NULL for what needs none */
    union {
        struct ek_cel_val literal; /* strings live in the arena */
        const char *ident;         /* a leading dot means the root container */
        struct {
            struct ek_cel_node *operand;
            const char *field;
            bool test; /* has(operand.field) */
        } select;
        struct {
            const char *function;
            struct ek_cel_node *target; /* of a member call, else NULL */
            struct ek_cel_node **args;
            uint32_t n;
        } call; /* && and || may have more than two arguments (flattened as in the reference) */
        struct {
            struct ek_cel_node **items;
            const bool *optional; /* [?item]: one per item, or NULL when none is */
            uint32_t n;
        } list;
        struct {
            struct ek_cel_map_entry *entries;
            uint32_t n;
        } map;
        struct {
            const char *name; /* as written: "Object.spec" */
            struct ek_cel_field_init *fields;
            uint32_t n;
        } object;
        struct {
            const char *var, *var2; /* var2 is NULL for one variable */
            const char *accu;       /* cannot be written in text: "@result" */
            struct ek_cel_node *range, *init, *condition, *step, *result;
        } fold;
    };
};

/* A parsed text. */
struct ek_cel_ast {
    struct ek_cel_node *root;
    const char *text; /* borrowed, len octets of UTF-8 */
    size_t len;
    uint32_t depth; /* of the deepest node, counting expanded macros; bounds recursion in passes */
    uint32_t nodes;
};

#endif
