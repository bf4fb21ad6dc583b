/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `evenkeel lint`: inputs, findings and output. One thread. */
#ifndef CONTROLLER_COMMANDS_LINT_INTERNAL_H
#define CONTROLLER_COMMANDS_LINT_INTERNAL_H

#include "controller/cli/print.h"
#include "controller/manifests/manifests-internal.h"
#include "reconcilers/policylint/lint.h"

struct ek_lint_options {
    struct ek_ci_options inputs;
    struct ek_print_options print; /* also "sarif" and "junit" */
    bool strict;
};

/* The name of a policy, a binding or a definition as findings have it; "" without. */
const char *ek_lint_name(const struct ek_ci_object *object);

/* Looks at all policies of ci, bound, for Kubernetes 1.minor; the report lives in ci's arena. */
int ek_lint_inputs(struct ek_ci *ci, int minor, struct ek_lint_report *ret, struct ek_err *err);

/* The report as data: {"findings": [...], "errors": n, "warnings": n}, of all
 * findings, and "dropped": n where the list leaves some out. */
yyjson_doc *ek_lint_document(const struct ek_lint_report *report);

/* The octets of all findings as text, at most. */
#define EK_LINT_TEXT_MAX ((size_t)64 << 20)

/* Appends a finding of the document as people read it, with a caret under the place. */
void ek_lint_put_finding(yyjson_val *finding, bool color, struct ek_buf *out);

/* All of them, and how many they are; an ek_print_table_fn. */
int ek_lint_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* Prints the document in the format of options; ci has the objects that were looked at. Returns an
 * exit code. */
int ek_lint_print(const struct ek_lint_options *options, const struct ek_ci *ci, yyjson_val *root);

#endif
