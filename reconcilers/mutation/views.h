/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The versions in which policies see the object of one request: with matchPolicy Equivalent, a
 * policy sees the object in the version that the rules of the policy name. For this folder alone.
 *
 * As in the API server, each version is a separate object during a pass. It begins as the object of
 * the request, and the version that the last mutation changed becomes the result; changes of the
 * other versions are lost. Custom resources are converted by their apiVersion. For built-in kinds
 * the API server cannot convert back, and reports an error (kubernetes/kubernetes#142055).
 */
#ifndef RECONCILERS_MUTATION_VIEWS_H
#define RECONCILERS_MUTATION_VIEWS_H

#include "reconcilers/mutation/mutate.h"

struct ek_kind_view {
    struct ek_gvk kind;
    yyjson_doc *object, *old_object; /* as converted; NULL for none. Owned */
    yyjson_doc *request;             /* as expressions see it. Owned */
    struct ek_working working;
};

struct ek_views {
    struct ek_working *main;   /* borrowed: the object in the version of the request */
    struct ek_kind_view *list; /* empty while all policies match that version */
    size_t n;
    struct ek_kind_view *last; /* that a mutation was run on */
};

/* Makes the views that invocations need and ties them to it. 0, EK_E_NOMEM, EK_E_LIMIT, or
 * EK_E_CANCELED when the time is over. */
int ek_views_init(struct ek_views *views, struct ek_run *run, struct ek_working *main,
                  struct ek_invocation *invocations, size_t n);

/* What an invocation works on. use: its mutations are about to run. */
struct ek_working *ek_views_working(struct ek_views *views, const struct ek_invocation *invocation,
                                    bool use);

/* Brings the result back into the version of the request, and releases the views. 0 or
 * EK_E_NOMEM. */
int ek_views_finish(struct ek_views *views, struct ek_run *run);

/* The API server's words for a built-in kind that cannot be converted back. */
const char *ek_view_lost(const struct ek_kind_view *view, struct ek_run *run);

#endif
