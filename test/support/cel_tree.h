/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_CEL_TREE_H
#define TEST_SUPPORT_CEL_TREE_H

#include "api/cel/syntax/ast.h"

/* Appends a syntax tree in CEL-like text: "_+_(a, 1)", "fold(x, range, ...)". Returns 0 or the
 * error of out. */
int test_cel_tree(const struct ek_cel_node *node, struct ek_buf *out);

#endif
