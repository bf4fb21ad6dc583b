/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutating admission policies in table rows, a kind of objects for them (Widget, with a list of
 * each sort), and a world in which they run.
 */
#ifndef TEST_SUPPORT_POLICIES_H
#define TEST_SUPPORT_POLICIES_H

#include "reconcilers/mutation/engine.h"

/* A policy of evenkeel.dev that matches creations and updates of widgets. */
struct ek_policy_row {
    const char *name;
    const char *expression; /* of its one mutation: JSONPatch when it begins with "[" */
    bool in_tree;           /* else Extended */
    bool once;              /* reinvocationPolicy Never, else IfNeeded */
    bool replace;           /* atomics */
    bool ignore;            /* failurePolicy */
    const char *safety;     /* "Exact", "Overwritable", or the condition; NULL for none */
    const char *condition;  /* its match condition; NULL for none */
    const char *variable;   /* expression of variables.v; NULL for none */
    const char *spec;       /* members of spec that come on top, or instead; JSON without braces */
};

/* Some policies, each with a binding of its name. */
struct ek_policies {
    const struct ek_policy **policies;
    const struct ek_binding **bindings;
    struct ek_bound *bound;
    size_t n;
    struct ek_policy_set set; /* in their order: ek_order_sort */
};

/* The object of a row. Owned. */
struct ek_obj *ek_policy_row_obj(const struct ek_policy_row *row);

void ek_policies_init(struct ek_policies *p, const struct ek_policy_row *rows, size_t n);
void ek_policies_done(struct ek_policies *p);

/* A request with object (JSON), and what it came to. */
struct ek_policies_run {
    yyjson_doc *doc;
    struct ek_admission_request request;
    struct ek_arena *arena;
    struct ek_mutation_outcome outcome;
};

void ek_policies_run(const struct ek_policies *p, const char *object, bool trace,
                     struct ek_policies_run *ret);
void ek_policies_run_done(struct ek_policies_run *run);

/* The world that they run in; the schema is that of widgets. */
const struct ek_mutation_world *ek_policies_world(void);

/* The result of a run as compact JSON without apiVersion, kind and metadata.name, or the message of
 * the denial. Owned. */
char *ek_policies_text(const struct ek_policies_run *run);

#endif
