/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over an expression's syntax tree with the schemas of one kind. For typecheck*.c alone.
 */
#ifndef RECONCILERS_POLICYLINT_TYPECHECK_INTERNAL_H
#define RECONCILERS_POLICYLINT_TYPECHECK_INTERNAL_H

#include "api/base/table.h"
#include "api/cel/syntax/ast.h"
#include "reconcilers/policylint/typecheck.h"

enum ek_shape_kind {
    EK_SHAPE_ANY,   /* not known */
    EK_SHAPE_TYPED, /* a value of a schema's type */
    EK_SHAPE_LIST,  /* a list of what item is */
    EK_SHAPE_EMPTY, /* [] */
};

/* What is known of a value. */
struct ek_shape {
    enum ek_shape_kind kind;
    const struct ek_schema *schema;
    uint32_t type;
    const char *path;            /* "spec.containers", "" for the whole object */
    const struct ek_shape *item; /* of a list */
    const struct ek_gvk *root;   /* of typed ones: the kind of the whole object, NULL below what
                                    API servers may not have */
    const char *place;           /* the path of this shape in root, "spec.containers[]" */
};

/* What an expression does with a member. */
enum ek_type_use {
    EK_TYPE_TESTS, /* asks whether the member is there */
    EK_TYPE_READS,
    EK_TYPE_WRITES,
};

/* A name that a loop binds. */
struct ek_binding_scope {
    const char *name;
    struct ek_shape shape;
    const struct ek_binding_scope *outer;
    const struct ek_cel_node *fold; /* whose elements, or accumulator, it is; NULL for keys */
};

/* The kinds that a finding is of, one bit each. */
struct ek_type_of_kinds {
    uint64_t holds;   /* for these */
    uint64_t skipped; /* would hold for these, which do not come to the place */
    bool by_test;     /* the expression asks whether the field is there */
};

/* Collects over all kinds. */
struct ek_type_collector {
    struct ek_arena *arena;
    struct ek_type_finding *list;
    struct ek_type_of_kinds *kinds; /* beside list */
    size_t n, cap;
    struct ek_type_write *writes;
    size_t n_writes, cap_writes;
    struct ek_table written; /* the places in writes, by mutation, position and path */
    bool failed; /* the arena is used up, or there is no memory: what was found is not all */
};

/* A text in the arena, by printf rules; "" at its end, which fails the whole check. Not
 * ek_arena_printf: what expressions make it grow by is theirs to choose. */
const char *ek_type_text_of(struct ek_type_collector *to, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for size octets, not zeroed; NULL likewise. */
void *ek_type_room(struct ek_type_collector *to, size_t size);

/* What a condition is for all objects of the kind. */
enum ek_truth { EK_TRUTH_UNKNOWN, EK_TRUTH_TRUE, EK_TRUTH_FALSE };

struct ek_typewalk {
    struct ek_type_collector *to;
    const struct ek_typecheck_kind *kinds; /* all */
    size_t n_kinds;
    unsigned n_skipped; /* branches around the place that the kind does not take */
    unsigned n_unsure;  /* branches and loops around the place that some objects do not come to */
    unsigned kind;      /* the bit that findings get */
    const struct ek_policy *policy;
    const struct ek_type_gaps *gaps; /* NULL without */
    struct ek_shape object, params;  /* EK_SHAPE_ANY where there is no schema */
    struct ek_shape *variables;      /* n_variables of the policy's are known */
    enum ek_truth *truths;           /* of these */
    size_t n_variables;
    const char *field; /* of the expression at work */
    const struct ek_cel_ast *ast;
    const char *text_at;    /* in ast's text, the character at text_position: names are looked */
    uint32_t text_position; /* for from here, because fields come in order */
    size_t mutation;        /* index, of a mutation's expression */
    bool tests;             /* an operation of this mutation is a test: what follows may not run */
    const struct ek_binding_scope *scope;
    unsigned steps; /* nodes visited: shared ones are visited again, so there is a bound */
};

/* Where a value is to go. */
struct ek_type_target {
    struct ek_shape shape;
    const char *name; /* of the struct type that fits, "Object.spec"; NULL for any */
    bool atomics;     /* what is atomic is refused here: an ApplyConfiguration's declared parts */
    bool writes;      /* a leaf here is a write */
};

void ek_type_report(struct ek_typewalk *w, enum ek_type_problem problem, uint32_t position,
                    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* After a report of an unknown field at position: whether the expression asks for the field. */
void ek_type_note_test(struct ek_typewalk *w, uint32_t position, bool is_test);
void ek_type_write(struct ek_typewalk *w, const char *path, uint32_t position,
                   const struct ek_cel_node *value, bool removes);

/* Whether a condition that asks for the kind is true for all objects of the kind at work. */
enum ek_truth ek_type_truth(const struct ek_typewalk *w, const struct ek_cel_node *node);

/* Around the walk of a branch of a conditional: the first one is taken where the condition is true.
 */
static inline void ek_type_enter_branch(struct ek_typewalk *w, enum ek_truth truth, bool first)
{
    w->n_skipped += truth == (first ? EK_TRUTH_FALSE : EK_TRUTH_TRUE);
    w->n_unsure += truth == EK_TRUTH_UNKNOWN;
}
static inline void ek_type_leave_branch(struct ek_typewalk *w, enum ek_truth truth, bool first)
{
    w->n_skipped -= truth == (first ? EK_TRUTH_FALSE : EK_TRUTH_TRUE);
    w->n_unsure -= truth == EK_TRUTH_UNKNOWN;
}

/* The objects of a kind. */
struct ek_shape ek_type_shape_of(const struct ek_typecheck_kind *kind);

/* The shape of an expression; reports wrong reads of fields. */
struct ek_shape ek_type_infer(struct ek_typewalk *w, const struct ek_cel_node *node);

/* As above for a value that goes to target. */
void ek_type_expect(struct ek_typewalk *w, const struct ek_cel_node *node,
                    const struct ek_type_target *target);

/* The shape of the value of a loop. target is NULL when the use of its value is not known. */
struct ek_shape ek_type_fold(struct ek_typewalk *w, const struct ek_cel_node *node,
                             const struct ek_type_target *target);

/* The member of a shape by name; reports what is not declared, and what API servers may not have,
 * at position. */
struct ek_shape ek_type_member(struct ek_typewalk *w, const struct ek_shape *shape,
                               struct ek_str name, uint32_t position, enum ek_type_use use);
/* The elements of a list, EK_SHAPE_ANY of all else. */
struct ek_shape ek_type_item(struct ek_typewalk *w, const struct ek_shape *shape);

/* The type of a typed shape; NULL for other shapes and for types that take anything. */
const struct ek_schema_type *ek_type_of(const struct ek_shape *shape);

/* "a list", "text", "a number", ...: what a type takes. */
const char *ek_type_noun(const struct ek_schema_type *type);

/* A JSONPatch{...} literal. */
void ek_type_operation(struct ek_typewalk *w, const struct ek_cel_node *node);

/* Reports a value of a JSONPatch operation that no API server can convert. */
void ek_type_crash(struct ek_typewalk *w, const struct ek_cel_node *value);

/* path + name, as a path is read: a.b, a["b/c"]. */
const char *ek_type_join(struct ek_typewalk *w, const char *path, struct ek_str name);

/* True for a call of that member function of a namespace: optional.of(...). */
bool ek_type_is_call(const struct ek_cel_node *node, const char *space, const char *function);

static inline bool ek_type_is_text(const struct ek_cel_node *node)
{
    return node->kind == EK_CEL_N_LITERAL && node->literal.kind == EK_CEL_STRING;
}

static inline struct ek_str ek_type_text(const struct ek_cel_node *node)
{
    return (struct ek_str){node->literal.s, node->literal.n};
}

#endif
