/* SPDX-License-Identifier: Apache-2.0 */
#include "api/schema/merge-internal.h"

/* The key fields of an item, in the order of their names. */
static void print_key(struct ek_buf *out, const struct ek_schema *schema,
                      const struct ek_schema_type *list, const yyjson_mut_val *parts)
{
    struct ek_str last = {NULL, 0};
    const char *separator = "[";

    for (uint32_t printed = 0; printed < list->n_keys; printed++) {
        uint32_t next = list->n_keys;
        for (uint32_t i = 0; i < list->n_keys; i++) {
            struct ek_str name = ek_schema_key(schema, list, i);
            if ((!last.p || ek_schema_compare(name, last) > 0) &&
                (next == list->n_keys ||
                 ek_schema_compare(name, ek_schema_key(schema, list, next)) < 0))
                next = i;
        }
        if (next == list->n_keys) /* a name occurs twice */
            break;
        last = ek_schema_key(schema, list, next);
        if (parts[next].tag == 0)
            continue;
        ek_buf_puts(out, separator);
        ek_buf_append(out, last.p, last.len);
        ek_buf_puts(out, "=");
        ek_go_part(out, &parts[next]);
        separator = ",";
    }
    ek_buf_puts(out, "]");
}

void ek_trail_print_step(struct ek_buf *out, const struct ek_schema *schema,
                         const struct ek_trail *step)
{
    if (step->list && step->list->list == EK_LIST_MAP) {
        print_key(out, schema, step->list, step->parts);
    } else if (step->list) {
        ek_buf_puts(out, "[=");
        ek_go_part(out, step->parts);
        ek_buf_puts(out, "]");
    } else if (step->index != SIZE_MAX) {
        ek_buf_printf(out, "[%zu]", step->index);
    } else {
        ek_buf_puts(out, ".");
        ek_buf_append(out, step->field.p, step->field.len);
    }
}

void ek_trail_print(struct ek_buf *out, const struct ek_schema *schema,
                    const struct ek_trail *trail)
{
    if (!trail)
        return;
    ek_trail_print(out, schema, trail->up);
    ek_trail_print_step(out, schema, trail);
}
