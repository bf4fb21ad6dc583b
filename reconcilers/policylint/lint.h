/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies looked at before they are used: what will fail, what never runs, what is likely not
 * meant.
 *
 * Beyond what an API server says when a policy is created (it would not compile) and what
 * typecheck.h finds in its expressions, this sees policies beside their bindings and beside each
 * other, and the version of Kubernetes they are for. Findings are data: for a terminal, for a
 * pipeline, for an editor.
 *
 * Pure; any thread, with its own arena. Everything comes from the caller: the kinds that a
 * policy matches follow from a cluster, or from a folder of files.
 */
#ifndef RECONCILERS_POLICYLINT_LINT_H
#define RECONCILERS_POLICYLINT_LINT_H

#include "reconcilers/policylint/typecheck.h"

/* Findings that a report lists; of more, less severe ones are left out first, then later ones. */
#define EK_LINT_FINDINGS_MAX 1000

enum ek_lint_severity {
    EK_LINT_ERROR,   /* is refused, or fails when it runs */
    EK_LINT_WARNING, /* runs, but likely not as meant */
    EK_LINT_INFO,    /* worth knowing */
};

struct ek_lint_finding {
    enum ek_lint_severity severity;
    const char *rule;   /* a constant name for it: "unknown-field" */
    const char *policy; /* or binding, where binding is true, or definition */
    bool binding, definition;
    const char *object;    /* "apps/v1 Deployment shop/web", for a finding about an object of the
                              files and no policy; NULL for the others */
    size_t source_line;    /* of the field in source, from 1; 0 where the line is not known */
    const char *source;    /* of the policy; as given, may be NULL */
    const char *field;     /* "spec.matchConditions[0].expression"; "" for the policy as a whole */
    const char *text;      /* of the expression; NULL where there is none */
    uint32_t line, column; /* in text, from 1; 0 for the whole of it */
    const char *message;   /* may have several lines where the API server's words do */
};

/* A policy and what the caller knows of it; all borrowed. */
struct ek_lint_policy {
    const struct ek_policy *policy;        /* compiled as a new policy at the minimum
                                       compatibility version, as API servers do */
    const struct ek_obj *object;           /* as read, to compile it for others */
    const char *source;                    /* a file's name; NULL for none */
    const struct ek_typecheck_kind *kinds; /* that are matched; with and without a schema */
    size_t n_kinds;
    const struct ek_typecheck_kind *params; /* NULL: none, or not known */
    /* A sample that changes again when the policy runs on its own result: its name, NULL
     * when there is none or it was not tried. */
    const char *restless_on;
};

/* A CustomResourceDefinition; all borrowed. */
struct ek_lint_definition {
    const char *name;
    const char *source; /* a file's name; NULL for none */
    yyjson_val *object;
};

struct ek_lint_input {
    const struct ek_lint_policy *policies;
    size_t n_policies;
    const struct ek_binding *const *bindings;
    const char *const *binding_sources;          /* beside bindings; may be NULL */
    const struct ek_obj *const *binding_objects; /* as read, beside bindings; may be NULL */
    size_t n_bindings;
    const struct ek_lint_definition *definitions;
    size_t n_definitions;
    int kubernetes_minor;            /* 1.NN that the policies must work on */
    const struct ek_type_gaps *gaps; /* fields that 1.NN may not have; NULL: all of the schemas */
};

struct ek_lint_report {
    const struct ek_lint_finding *list; /* by policy in the given order, then by field and place;
                                           bindings and definitions follow */
    size_t n;
    size_t n_severity[EK_LINT_INFO + 1]; /* of all findings, listed or not */
    size_t n_dropped;                    /* findings that are not listed */
};

/* Looks at everything. All of *ret is in arena. Returns 0, or EK_E_LIMIT at the arena's end. */
int ek_lint(const struct ek_lint_input *input, struct ek_arena *arena, struct ek_lint_report *ret);

/* Whether the resourceRules of policy cover a resource (subresource "" for itself), as far as
 * groups, versions and resources go. */
bool ek_lint_covers(const struct ek_policy *policy, const struct ek_gvr *resource,
                    const char *subresource);

/* "error", "warning", "info". */
const char *ek_lint_severity_name(enum ek_lint_severity severity);

#endif
