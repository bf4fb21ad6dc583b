/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One mutation on one object: evaluate, make the patch, apply it by schema. Not for those outside
 * this folder. Source: Kubernetes 1.36,
 * apiserver/pkg/admission/plugin/policy/mutating/patch/{smd,json_patch}.go: Patch.
 */
#ifndef RECONCILERS_MUTATION_MUTATE_H
#define RECONCILERS_MUTATION_MUTATE_H

#include "reconcilers/mutation/evaluate.h"

/*
 * The object as it is between mutations. Mutations change the tree; expressions read the document,
 * which is made from the tree on demand. Neither is made before it is needed: until a mutation
 * has changed something the object is base, as it came.
 */
struct ek_working {
    yyjson_val *base;     /* what the tree is made from, borrowed; NULL when there is no object */
    yyjson_mut_doc *tree; /* owned; NULL until a mutation runs */
    yyjson_doc *doc;      /* owned; NULL while it has to be made again */
    bool dirty;           /* a mutation has run in this pass, even one that changed nothing */
    bool changed;         /* in any pass: the object is no longer base */
    bool checked;         /* the tree is known to fit its schema, for merging */
    yyjson_val *authored; /* with trace, in the run's arena: the object without the defaults that
                             were added to what policies wrote (authored.h); NULL: there are none */
    yyjson_doc **save;    /* where the document goes that the next change makes old, if that is
                             free; NULL: nowhere */
};

/* Starts from object, which may be NULL and must outlive working. */
void ek_working_init(struct ek_working *working, yyjson_val *object);
void ek_working_done(struct ek_working *working);

/* Makes the tree, if there is an object and it is not made yet. 0 or EK_E_NOMEM. */
int ek_working_open(struct ek_working *working);

/* The object to read, NULL when there is none or without memory. */
yyjson_val *ek_working_object(struct ek_working *working);

/*
 * Brings the object through the server's internal form, as at the end of every pass
 * (api/gotypes/internal_form.h), and into the version of the request. What cannot be converted is
 * put into run->status. 0 or EK_E_NOMEM.
 */
int ek_working_convert(struct ek_working *working, struct ek_run *run);

struct ek_mutation_result {
    const char *error;       /* NULL when it went well; obeys failurePolicy */
    enum ek_step_error kind; /* of that error */
    uint64_t cost;
};

/*
 * Runs the i-th mutation of invocation on working. Errors that no failurePolicy covers are put
 * into run->status, and a schema that has to be fetched sets run->pending; then *ret says nothing.
 */
void ek_mutate(struct ek_run *run, const struct ek_invocation *invocation, size_t i,
               struct ek_working *working, struct ek_mutation_result *ret);

#endif
