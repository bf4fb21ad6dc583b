/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/cel_tree.h"

/* Nodes with commas between them. */
static void format_nodes(struct ek_cel_node *const *nodes, uint32_t n, struct ek_buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        ek_buf_puts(out, i > 0 ? ", " : "");
        test_cel_tree(nodes[i], out);
    }
}

static void format_call(const struct ek_cel_node *node, struct ek_buf *out)
{
    if (node->call.target) {
        test_cel_tree(node->call.target, out);
        ek_buf_puts(out, ".");
    }
    ek_buf_printf(out, "%s(", node->call.function);
    format_nodes(node->call.args, node->call.n, out);
    ek_buf_puts(out, ")");
}

static void format_list(const struct ek_cel_node *node, struct ek_buf *out)
{
    ek_buf_puts(out, "[");
    for (uint32_t i = 0; i < node->list.n; i++) {
        ek_buf_puts(out, i > 0 ? ", " : "");
        ek_buf_puts(out, node->list.optional && node->list.optional[i] ? "?" : "");
        test_cel_tree(node->list.items[i], out);
    }
    ek_buf_puts(out, "]");
}

static void format_map(const struct ek_cel_node *node, struct ek_buf *out)
{
    ek_buf_puts(out, "{");
    for (uint32_t i = 0; i < node->map.n; i++) {
        const struct ek_cel_map_entry *entry = &node->map.entries[i];
        ek_buf_printf(out, "%s%s", i > 0 ? ", " : "", entry->optional ? "?" : "");
        test_cel_tree(entry->key, out);
        ek_buf_puts(out, ": ");
        test_cel_tree(entry->value, out);
    }
    ek_buf_puts(out, "}");
}

static void format_struct(const struct ek_cel_node *node, struct ek_buf *out)
{
    ek_buf_printf(out, "%s{", node->object.name);
    for (uint32_t i = 0; i < node->object.n; i++) {
        const struct ek_cel_field_init *field = &node->object.fields[i];
        ek_buf_printf(out, "%s%s%s: ", i > 0 ? ", " : "", field->optional ? "?" : "", field->name);
        test_cel_tree(field->value, out);
    }
    ek_buf_puts(out, "}");
}

/* fold(x, range, @result = init, condition, step, result) */
static void format_fold(const struct ek_cel_node *node, struct ek_buf *out)
{
    ek_buf_printf(out, "fold(%s, ", node->fold.var);
    if (node->fold.var2)
        ek_buf_printf(out, "%s, ", node->fold.var2);
    test_cel_tree(node->fold.range, out);
    ek_buf_printf(out, ", %s = ", node->fold.accu);
    format_nodes((struct ek_cel_node *[]){node->fold.init, node->fold.condition, node->fold.step,
                                          node->fold.result},
                 4, out);
    ek_buf_puts(out, ")");
}

static void format_select(const struct ek_cel_node *node, struct ek_buf *out)
{
    ek_buf_puts(out, node->select.test ? "has(" : "");
    test_cel_tree(node->select.operand, out);
    ek_buf_printf(out, ".%s%s", node->select.field, node->select.test ? ")" : "");
}

int test_cel_tree(const struct ek_cel_node *node, struct ek_buf *out)
{
    if (out->failed) /* shared nodes make the text of a small tree large */
        return out->failed;
    switch (node->kind) {
    case EK_CEL_N_LITERAL:
        return ek_cel_format(&node->literal, out);
    case EK_CEL_N_IDENT:
        return ek_buf_puts(out, node->ident);
    case EK_CEL_N_SELECT:
        format_select(node, out);
        break;
    case EK_CEL_N_CALL:
        format_call(node, out);
        break;
    case EK_CEL_N_LIST:
        format_list(node, out);
        break;
    case EK_CEL_N_MAP:
        format_map(node, out);
        break;
    case EK_CEL_N_STRUCT:
        format_struct(node, out);
        break;
    default:
        format_fold(node, out);
        break;
    }
    return out->failed;
}
