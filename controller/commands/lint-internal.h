/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `evenkeel lint`: inputs, findings and output. One thread. */
#ifndef CONTROLLER_COMMANDS_LINT_INTERNAL_H
#define CONTROLLER_COMMANDS_LINT_INTERNAL_H

#include "controller/cli/print.h"
#include "controller/manifests/manifests-internal.h"
#include "reconcilers/policylint/lint.h"

struct ek_lint_options {
    struct ek_ci_options inputs;
    struct ek_print_options print;
    bool strict;
};

/* Looks at all policies of ci, bound, for Kubernetes 1.minor; the report lives in ci's arena. */
int ek_lint_inputs(struct ek_ci *ci, int minor, struct ek_lint_report *ret, struct ek_err *err);

/* The report as data: {"findings": [...], "errors": n, "warnings": n}, of all
 * findings, and "dropped": n where the list leaves some out. */
yyjson_doc *ek_lint_document(const struct ek_lint_report *report);

/* As people read it, with a caret under the place; an ek_print_table_fn. */
int ek_lint_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

#endif
