/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cel.block([e0, e1, ...], e): e with cel.index(0), cel.index(1), ... for values that are evaluated
 * at most once, each of which may use those before it. It is what optimizers write; as macros it
 * lets people and the conformance cases write the same. Each value becomes a binding of type dyn
 * around the next. cel.iterVar(d, u) and cel.accuVar(d, u) are variable names that collide with no
 * written one.
 */
#include <inttypes.h>

#include "api/cel/syntax/macro.h"

#define INDEX_NAME "@index%" PRId64
#define NAME_MAX_N 1000 /* of values in a block, of levels and variables */

static bool small_number(const struct ek_cel_node *node, int64_t *ret_n)
{
    *ret_n = node->literal.i;
    return node->kind == EK_CEL_N_LITERAL && node->literal.kind == EK_CEL_INT && *ret_n >= 0 &&
           *ret_n < NAME_MAX_N;
}

static struct ek_cel_node *expand_index(struct ek_cel_expander *x, struct ek_cel_node *target,
                                        struct ek_cel_node **args, uint32_t n)
{
    int64_t index;

    (void)target;
    (void)n;
    if (!small_number(args[0], &index))
        return ek_cel_macro_error(x, args[0],
                                  "cel.index requires a single non-negative int constant arg");
    return ek_cel_make_name(x, INDEX_NAME, index);
}

static struct ek_cel_node *numbered(struct ek_cel_expander *x, struct ek_cel_node **args,
                                    const char *prefix, const char *message)
{
    int64_t level, unique;

    if (!small_number(args[0], &level))
        return ek_cel_macro_error(x, args[0], message);
    if (!small_number(args[1], &unique))
        return ek_cel_macro_error(x, args[1], message);
    return ek_cel_make_name(x, "%s:%" PRId64 ":%" PRId64, prefix, level, unique);
}

static struct ek_cel_node *expand_iter_var(struct ek_cel_expander *x, struct ek_cel_node *target,
                                           struct ek_cel_node **args, uint32_t n)
{
    (void)target;
    (void)n;
    return numbered(x, args, "@it", "cel.iterVar requires two non-negative int constant args");
}

static struct ek_cel_node *expand_accu_var(struct ek_cel_expander *x, struct ek_cel_node *target,
                                           struct ek_cel_node **args, uint32_t n)
{
    (void)target;
    (void)n;
    return numbered(x, args, "@ac", "cel.accuVar requires two non-negative int constant args");
}

static struct ek_cel_node *expand_block(struct ek_cel_expander *x, struct ek_cel_node *target,
                                        struct ek_cel_node **args, uint32_t n)
{
    struct ek_cel_node *block = args[1];

    (void)target;
    (void)n;
    if (args[0]->kind != EK_CEL_N_LIST || args[0]->list.n > NAME_MAX_N)
        return ek_cel_macro_error(x, args[0],
                                  "cel.block requires the first arg to be a list literal");
    for (uint32_t i = args[0]->list.n; i-- > 0;) {
        struct ek_cel_node *index = ek_cel_make_name(x, INDEX_NAME, (int64_t)i);
        struct ek_cel_node *value = ek_cel_make_call(x, "dyn", 1, &args[0]->list.items[i]);
        if (!index)
            return NULL;
        block = ek_cel_make_fold(x, ek_cel_make_list(x, 0, NULL), "#unused", NULL, index->ident,
                                 value, ek_cel_make_literal(x, ek_cel_bool(false)), index, block);
    }
    return block;
}

static const struct ek_cel_macro macros[] = {
    {.name = "block", .target_name = "cel", .member = true, .args = 2, .expand = expand_block},
    {.name = "index", .target_name = "cel", .member = true, .args = 1, .expand = expand_index},
    {.name = "iterVar", .target_name = "cel", .member = true, .args = 2, .expand = expand_iter_var},
    {.name = "accuVar", .target_name = "cel", .member = true, .args = 2, .expand = expand_accu_var},
    {0},
};

const struct ek_cel_library ek_cel_lib_block = {
    .name = "cel.lib.ext.cel.block",
    .macros = macros,
};
