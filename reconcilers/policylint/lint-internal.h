/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting findings; for lint*.c alone. */
#ifndef RECONCILERS_POLICYLINT_LINT_INTERNAL_H
#define RECONCILERS_POLICYLINT_LINT_INTERNAL_H

#include "reconcilers/policylint/lint.h"

struct ek_linter {
    const struct ek_lint_input *input;
    struct ek_arena *arena;
    struct ek_lint_finding *list;
    size_t n;
    size_t n_severity[EK_LINT_INFO + 1]; /* of all findings */
    size_t n_listed[EK_LINT_INFO + 1];
    const struct ek_lint_policy *at; /* the policy at work */
    struct ek_type_findings *types;  /* one per policy */
    bool failed;                     /* for want of memory something was not looked at */
};

/* Adds a finding about the policy at work; e may be NULL, position UINT32_MAX. */
void ek_lint_add(struct ek_linter *l, enum ek_lint_severity severity, const char *rule,
                 const char *field, const struct ek_expression *e, uint32_t position,
                 const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* Match conditions that decide nothing. */
void ek_lint_conditions(struct ek_linter *l);
/* Policies that write one path. */
void ek_lint_pairs(struct ek_linter *l);
/* Policies of which each reads what another writes, round and round. */
void ek_lint_cycles(struct ek_linter *l);
/* Whether two policies match one kind. */
bool ek_lint_share_kind(const struct ek_lint_policy *a, const struct ek_lint_policy *b);

#endif
