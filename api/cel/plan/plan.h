/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner: checked syntax tree to flat program. Not for hosts.
 *
 * It follows cel-go's planner closely, because what that folds, fuses or evaluates early decides
 * what an expression costs: a node becomes a constant, an attribute that may still get qualifiers,
 * or an op. Everything lives in the compilation's arena until it is packed into the program's
 * block.
 *
 * Source: cel-go 0.26, interpreter/planner.go, decorators.go (Optimize), attributes.go.
 */
#ifndef API_CEL_PLAN_PLAN_H
#define API_CEL_PLAN_PLAN_H

#include "api/cel/check/check.h"
#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/syntax/ast.h"

/* Nodes that a text may expand to, shared ones counted each time. */
#define EK_CEL_PLAN_NODES_MAX 2000000u

/* A growing array in the arena. */
struct ek_cel_vec {
    void *data;
    uint32_t len, cap;
};

/* ---- Paths that a program reads (plan/reads.c) ----------------------------------------------- */

/* A value reached from a variable. A tree per variable; used: its whole value matters. */
struct ek_cel_path {
    struct ek_cel_path *parent, *child, *sibling;
    const char *name; /* of a field; NULL for the elements of a list or map */
    uint32_t len;
    uint32_t slot;
    bool index; /* name is a number in brackets */
    bool used;
};

/* What an attribute may be, any of the paths in the list. */
struct ek_cel_paths {
    struct ek_cel_path *path;
    struct ek_cel_paths *next;
};

/* ---- Plans ----------------------------------------------------------------------------------- */

enum ek_cel_base {
    EK_CEL_BASE_VAR,   /* slot */
    EK_CEL_BASE_LOCAL, /* slot */
    EK_CEL_BASE_ACCU,  /* slot, fold */
    EK_CEL_BASE_VALUE, /* op */
    EK_CEL_BASE_COND,  /* op ? yes : no */
};

struct ek_cel_plan_qual {
    struct ek_cel_qual qual;
    struct ek_cel_plan_qual *next;
};

struct ek_cel_attr {
    enum ek_cel_base base;
    uint32_t slot, fold, op, position;
    struct ek_cel_attr *yes, *no;
    struct ek_cel_plan_qual *first, *last;
    bool test;  /* made by has() */
    bool grows; /* of a loop: see ek_cel_plan_scope */
    struct ek_cel_paths *paths;
};

enum ek_cel_plan_kind { EK_CEL_PLAN_CONST, EK_CEL_PLAN_ATTR, EK_CEL_PLAN_OP };

struct ek_cel_plan {
    enum ek_cel_plan_kind kind;
    uint32_t position;
    union {
        struct ek_cel_val value;
        struct ek_cel_attr *attr;
        uint32_t op;
    };
};

/* A variable of an enclosing fold. */
struct ek_cel_plan_scope {
    struct ek_cel_plan_scope *outer;
    const char *name;
    bool accu;
    bool grows; /* the accumulator of a loop, not a name that cel.bind or optMap gives */
    uint32_t slot, fold;
    struct ek_cel_paths *paths;
};

struct ek_cel_planner {
    struct ek_cel_frame frame; /* for what is evaluated now */
    struct ek_cel_env *env;
    const struct ek_cel_env_rules *rules;
    struct ek_arena *arena;
    const struct ek_cel_ast *ast;
    struct ek_cel_issues *issues;
    struct ek_cel_vec ops, kids, quals, calls, folds, sets, structs, optionals, regexes;
    struct ek_cel_plan_scope *scope;
    uint32_t next_local, n_locals, nodes;
    struct ek_cel_path **roots; /* per slot */
    uint32_t n_slots, n_paths;
    size_t regex_budget; /* octets that more regular expressions may take */
    int code;            /* EK_E_* once planning failed */
};

/* Plans ast into an owned program, or returns NULL with issues filled. env gets a reference. */
struct ek_cel_program *ek_cel_plan(struct ek_cel_env *env, const struct ek_cel_ast *ast,
                                   struct ek_arena *arena, struct ek_cel_issues *issues);

/* Plans one node. False when planning failed, for good. */
bool ek_cel_plan_node(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan *ret);
bool ek_cel_plan_call(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan *ret);

/* Attributes (plan/attr.c). */
bool ek_cel_plan_ident(struct ek_cel_planner *p, const struct ek_cel_node *node,
                       struct ek_cel_plan *ret);
bool ek_cel_plan_select(struct ek_cel_planner *p, const struct ek_cel_node *node,
                        struct ek_cel_plan *ret);
bool ek_cel_plan_index(struct ek_cel_planner *p, const struct ek_cel_node *node,
                       struct ek_cel_plan *operand, struct ek_cel_plan *index, bool optional,
                       struct ek_cel_plan *ret);
bool ek_cel_plan_cond(struct ek_cel_planner *p, const struct ek_cel_node *node,
                      struct ek_cel_plan args[3], struct ek_cel_plan *ret);
/* Writes an attribute's op; whole is true when its value is used. */
bool ek_cel_plan_emit_attr(struct ek_cel_planner *p, struct ek_cel_attr *attr, bool whole,
                           uint32_t *ret_op);

/* Writes a plan's op, whatever it is. */
bool ek_cel_plan_emit(struct ek_cel_planner *p, struct ek_cel_plan *plan, uint32_t *ret_op);
/* Writes an op; the result is its plan. */
bool ek_cel_plan_op(struct ek_cel_planner *p, const struct ek_cel_op *op, struct ek_cel_plan *ret);

/* The dotted name that node may be ("a.b.c"), or NULL; allocated. */
const char *ek_cel_plan_name(struct ek_cel_planner *p, const struct ek_cel_node *node);

/* Adds one item to a vector and returns its index, or UINT32_MAX when planning failed. */
uint32_t ek_cel_plan_push(struct ek_cel_planner *p, struct ek_cel_vec *vec, const void *item,
                          size_t size);
/* The same for n items in a row; returns the first's index. */
uint32_t ek_cel_plan_push_all(struct ek_cel_planner *p, struct ek_cel_vec *vec, const void *items,
                              uint32_t n, size_t size);
void *ek_cel_plan_alloc(struct ek_cel_planner *p, size_t size); /* zeroed; NULL: failed */

/* Fails planning for want of memory, within its bound or at all; returns false. */
bool ek_cel_plan_no_memory(struct ek_cel_planner *p);

/* Fails planning with "program instantiation failed: ..."; returns false. */
bool ek_cel_plan_fail(struct ek_cel_planner *p, uint32_t position, const char *message);

/* Paths (plan/reads.c). A NULL list is of a value that comes from no variable. */
struct ek_cel_paths *ek_cel_paths_of_slot(struct ek_cel_planner *p, uint32_t slot);
struct ek_cel_paths *ek_cel_paths_step(struct ek_cel_planner *p, struct ek_cel_paths *paths,
                                       const struct ek_cel_val *key); /* NULL key: elements */
struct ek_cel_paths *ek_cel_paths_join(struct ek_cel_planner *p, struct ek_cel_paths *a,
                                       struct ek_cel_paths *b);
void ek_cel_paths_use(struct ek_cel_paths *paths);
/* Marks those of which nothing below is used. */
void ek_cel_paths_use_leaves(struct ek_cel_paths *paths);
/* Appends one step to a path as hosts see it; name NULL is "[*]". */
void ek_cel_path_push(struct ek_buf *buf, const char *name, uint32_t len);
/* Lists what is read, as a host sees it. */
bool ek_cel_plan_reads(struct ek_cel_planner *p, struct ek_cel_vec *ret_reads);

/* Copies the plan into one block (pack.c). */
struct ek_cel_program *ek_cel_pack(struct ek_cel_planner *p, uint32_t root,
                                   const struct ek_cel_vec *reads, const char *type);

#endif
