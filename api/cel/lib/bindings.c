/* SPDX-License-Identifier: Apache-2.0 */
/* cel.bind(name, value, e): e with a name for value, which is evaluated when it is first used. */
#include "api/cel/syntax/macro.h"

static struct ek_cel_node *expand_bind(struct ek_cel_expander *x, struct ek_cel_node *target,
                                       struct ek_cel_node **args, uint32_t n)
{
    (void)target;
    (void)n;
    if (args[0]->kind != EK_CEL_N_IDENT)
        return ek_cel_macro_error(x, args[0],
                                  "cel.bind() variable names must be simple identifiers");
    const char *var = args[0]->ident;
    return ek_cel_make_fold(x, ek_cel_make_list(x, 0, NULL), "#unused", NULL, var, args[1],
                            ek_cel_make_literal(x, ek_cel_bool(false)), ek_cel_make_ident(x, var),
                            args[2]);
}

static const struct ek_cel_macro macros[] = {
    {.name = "bind", .target_name = "cel", .member = true, .args = 3, .expand = expand_bind},
    {0},
};

const struct ek_cel_library ek_cel_lib_bindings = {
    .name = "cel.lib.ext.cel.bindings",
    .macros = macros,
};
