/* SPDX-License-Identifier: Apache-2.0 */
#include "api/obj.h"
#include "reconcilers/fieldgates/decide-internal.h"

/* The shallowest path at or above replicas that is closed, or else that is deprecated. */
static const struct ek_gate_node *find_gate(const struct ek_gate_node *root,
                                            const struct ek_field_path *replicas)
{
    const struct ek_gate_node *node = root, *deprecated = NULL;

    for (size_t i = 0; node && i < replicas->n; i++) {
        const struct ek_gate_node *next = NULL;
        for (size_t k = 0; k < node->n_children && !next; k++)
            if (node->children[k].each || ek_str_eq(node->children[k].name, replicas->names[i]))
                next = &node->children[k];
        node = next;
        if (node && node->gate && !node->gate->on)
            return node;
        if (node && node->gate && node->gate->stage == EK_GATE_DEPRECATED && !deprecated)
            deprecated = node;
    }
    return deprecated;
}

/* 0 is not written. */
static int64_t replicas_of(yyjson_val *scale)
{
    return yyjson_get_sint(ek_json_get(scale, "spec", "replicas", NULL));
}

/* Validating webhooks see 0 in place of what stands for nothing. */
static int64_t as_validated(int64_t replicas)
{
    return replicas == EK_GATES_SCALE_ABSENT ? 0 : replicas;
}

static void put_back(struct ek_gates_walk__ *w, yyjson_val *scale, int64_t replicas)
{
    yyjson_val *spec = yyjson_obj_get(scale, "spec");
    yyjson_mut_val *value = yyjson_mut_sint(w->doc, replicas);
    const char *op = yyjson_obj_get(spec, "replicas") ? "replace" : "add";

    ek_buf_puts(&w->pointer, "/spec");
    if (yyjson_is_obj(spec)) {
        ek_buf_puts(&w->pointer, "/replicas");
    } else { /* which replaces what is no object */
        yyjson_mut_val *parent = yyjson_mut_obj(w->doc);
        value = yyjson_mut_obj_add_val(w->doc, parent, "replicas", value) ? parent : NULL;
    }
    if (value)
        ek_gates_patch__(w, op, value);
    else
        w->rc = EK_E_NOMEM;
}

bool ek_gates_walk_scale__(struct ek_gates_walk__ *w)
{
    yyjson_val *scale = w->request->object;
    int64_t new = replicas_of(scale), old = replicas_of(w->request->old_object);

    if (!w->shape->replicas || !yyjson_is_obj(scale))
        return false;
    const struct ek_gate_node *node = find_gate(w->gates->root, w->shape->replicas);
    if (!node || (w->doc ? new == old : as_validated(new) == as_validated(old)))
        return false;
    if (node->gate->on) {
        ek_gates_note__(w, EK_GATES_USED__, node, false);
        return false;
    }
    if (w->doc && old == EK_GATES_SCALE_ABSENT) {
        ek_gates_note__(w, EK_GATES_DROPPED__, node, false);
        return true;
    }
    ek_gates_note__(w, EK_GATES_UNCHANGED__, node, false);
    if (w->doc)
        put_back(w, scale, old);
    return false;
}
