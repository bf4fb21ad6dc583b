/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flat program: what the planner writes and the evaluator reads. Not for hosts.
 *
 * Model: an array of ops of one size that name their operands by index (operands come before their
 * users, the root is last), and side tables for what does not fit an op: qualifiers, calls, folds,
 * operand lists, sets. All of it, with every constant, lies in one block that is freed at once.
 * Local variables (of folds) have fixed places in the evaluation's frame.
 *
 * Evaluating an op and resolving it are two things, because of cost: the reference charges for an
 * attribute (a variable and the qualifiers after it) when it is evaluated as an operand, but not
 * when a ternary or another attribute's index resolves it (cel-go 0.26, interpreter/attributes.go
 * and runtimecost.go).
 *
 * A program never changes once made; any number of threads may evaluate it.
 */
#ifndef API_CEL_EVAL_FLAT_H
#define API_CEL_EVAL_FLAT_H

#include <stdatomic.h>

#include "api/cel/env/environment.h"
#include "api/cel/regex/regex.h"

/* No function has more arguments. */
#define EK_CEL_ARGS_MAX 8u

enum ek_cel_code {
    EK_CEL_I_CONST, /* value */

    /* Attributes. a: slot, or the op of the operand; first: the first qualifier. */
    EK_CEL_I_VAR,        /* variable a */
    EK_CEL_I_LOCAL,      /* local a */
    EK_CEL_I_ACCU,       /* local a; b: the fold that initialises it when it is first read */
    EK_CEL_I_VAR_PATH,   /* as I_VAR, n qualifiers that are plain fields in a row */
    EK_CEL_I_LOCAL_PATH, /* as I_LOCAL, the same */
    EK_CEL_I_VAR_ATTR,   /* any qualifiers */
    EK_CEL_I_LOCAL_ATTR,
    EK_CEL_I_ACCU_ATTR,
    EK_CEL_I_VALUE_ATTR, /* of the value of op a */
    EK_CEL_I_COND,       /* op a ? resolve b : resolve c */
    EK_CEL_I_HAS,        /* resolve a, an attribute whose last qualifier tests */

    EK_CEL_I_AND, /* n operands from kids[a] */
    EK_CEL_I_OR,
    EK_CEL_I_NOT,
    EK_CEL_I_NOT_FALSE, /* @not_strictly_false */
    EK_CEL_I_EQ,        /* a == b; c: the call */
    EK_CEL_I_NE,
    EK_CEL_I_LT,
    EK_CEL_I_LE,
    EK_CEL_I_GT,
    EK_CEL_I_GE,
    EK_CEL_I_ADD,
    EK_CEL_I_SUB,
    EK_CEL_I_MUL,
    EK_CEL_I_CALL1,   /* a; c: the call */
    EK_CEL_I_CALL2,   /* a, b; c: the call; both are evaluated, whatever the first gave */
    EK_CEL_I_CALLN,   /* n operands from kids[a]; c: the call; stops at the first error */
    EK_CEL_I_UNKNOWN, /* as I_CALLN of a function that does not exist */
    EK_CEL_I_IN_SET,  /* a; b: the set */
    EK_CEL_I_OPT_OR,  /* a.or(b) */
    EK_CEL_I_OPT_OR_VALUE,

    EK_CEL_I_LIST,   /* n items from kids[a]; b: 1 + the first of n flags for optional items */
    EK_CEL_I_MAP,    /* n entries, keys and values, from kids[a]; b as above */
    EK_CEL_I_STRUCT, /* n fields from kids[a]; b as above; c: names of type and fields */
    EK_CEL_I_FOLD,   /* a: the fold */
    EK_CEL_I_BIND,   /* a: a fold over nothing, as cel.bind makes */
    EK_CEL_I_APPEND, /* a + [b], without making [b]; c: the call of _+_ */
};

struct ek_cel_op {
    uint8_t code;      /* enum ek_cel_code */
    uint8_t flags;     /* enum ek_cel_op_flags */
    uint16_t n;        /* operands or qualifiers */
    uint32_t position; /* of the node, for errors */
    union {
        struct ek_cel_val value;
        struct {
            uint32_t a, b, c, first; /* first: 1 + index of a qualifier, 0 is none */
        };
    };
};

enum ek_cel_op_flags {
    EK_CEL_OPF_COSTS = 1, /* I_HAS: the presence test costs 1 */
    EK_CEL_OPF_COND = 2,  /* I_HAS: of a ternary, for which the reference takes a cost off */
};

enum ek_cel_qual_kind {
    EK_CEL_Q_FIELD,  /* key is a string */
    EK_CEL_Q_OBJECT, /* the same, of a value whose static type is Object or below */
    EK_CEL_Q_KEY,    /* key is another constant */
    EK_CEL_Q_OP,     /* key is what op resolves or evaluates to */
};

/* One step from a value into it: a field or an index. */
struct ek_cel_qual {
    uint8_t kind;  /* enum ek_cel_qual_kind */
    bool optional; /* a.?b, a[?b] */
    bool test;     /* a presence test */
    bool resolve;  /* op is an attribute: resolve it, don't evaluate it */
    uint32_t next; /* 1 + index of the next, 0 is the end */
    uint32_t op;
    struct ek_cel_val key;
    struct ek_cel_fault missing; /* the error when a constant key is not there */
};

struct ek_cel_call {
    ek_cel_fn fn; /* of the one overload that remained, or the singleton; NULL: look for it */
    ek_cel_cost_fn cost;                     /* NULL is 1 */
    const struct ek_cel_decl_overload *only; /* whose types the arguments are held to, or NULL */
    const struct ek_cel_decl_function *function; /* NULL when fn is a singleton */
    const char *name;
    const struct ek_cel_regex *regex; /* the compiled argument 1, or NULL */
    const char *regex_text;           /* where the pattern lies */
    uint32_t masks[4];                /* kinds that the first arguments may have */
    bool masked;                      /* masks say it all */
    bool nonstrict;
};

/* Loops that are recognised and run without evaluating all of their ops. */
enum ek_cel_fold_kind {
    EK_CEL_FOLD_ANY,
    EK_CEL_FOLD_ALL,    /* @result && pred, while it is not false */
    EK_CEL_FOLD_EXISTS, /* @result || pred, while it is not true */
};

struct ek_cel_fold {
    uint32_t range, init, condition, step, result; /* ops */
    uint32_t var, var2, accu;                      /* locals */
    uint32_t pred;                                 /* op of all and exists */
    uint8_t kind;                                  /* enum ek_cel_fold_kind */
    bool pairs;                                    /* var2 is used */
    bool always;                                   /* condition is constantly true */
    bool constant_init;
};

/* Constants for `in`: every form in which an element is found (cel-go, maybeOptimizeSetMembership).
 * An open hash table. */
struct ek_cel_set {
    uint32_t mask;                  /* slots less one */
    const struct ek_cel_val *slots; /* kind EK_CEL_ERROR is free */
};

struct ek_cel_struct_names {
    const char *type;
    const char *const *fields;
    uint32_t n;
};

struct ek_cel_program {
    atomic_uint refs;
    uint32_t root, n_ops, n_locals, n_regexes, n_reads;
    const struct ek_cel_op *ops;
    const uint32_t *kids;
    const struct ek_cel_qual *quals;
    const struct ek_cel_call *calls;
    const struct ek_cel_fold *folds;
    const struct ek_cel_set *sets;
    const struct ek_cel_struct_names *structs;
    const bool *optionals;
    struct ek_cel_regex *const *regexes; /* owned */
    const struct ek_cel_read *reads;
    const char *text, *type;
    struct ek_cel_env *env; /* a reference: declarations are used in place */
    size_t size;            /* of the block */
};

#endif
