/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/decide-internal.h"

#include <string.h>

#include "api/obj.h"
#include "api/patch/pointer.h"

/* Octets of a pointer: a path with all its characters escaped, and slashes. */
#define POINTER_MAX ((size_t)2 * EK_FIELD_PATH_MAX + EK_FIELD_PATH_NAMES_MAX)

static bool is_closed(const struct ek_gate_node *node)
{
    return node->gate && !node->gate->on;
}

static yyjson_val *get(yyjson_val *parent, struct ek_str name)
{
    return yyjson_obj_getn(parent, name.p, name.len);
}

static void fail(struct ek_gates_walk__ *w, int code)
{
    if (!w->rc)
        w->rc = code;
}

static bool grow(struct ek_gates_walk__ *w)
{
    size_t cap = w->cap ? w->cap * 2 : 16;
    struct ek_gates_note__ *notes = ek_arena_try(w->arena, cap * sizeof *notes);

    if (!notes) {
        fail(w, EK_E_NOMEM);
        return false;
    }
    if (w->n_notes)
        memcpy(notes, w->notes, w->n_notes * sizeof *notes);
    w->notes = notes;
    w->cap = cap;
    return true;
}

void ek_gates_note__(struct ek_gates_walk__ *w, enum ek_gates_note_kind__ kind,
                     const struct ek_gate_node *node, bool silent)
{
    if (w->n_notes < w->cap || grow(w))
        w->notes[w->n_notes++] = (struct ek_gates_note__){kind, node->gate, node->path, silent};
}

/* ---- The patch ---- */

static yyjson_mut_val *copied(struct ek_gates_walk__ *w, yyjson_val *value)
{
    yyjson_mut_val *copy = yyjson_val_mut_copy(w->doc, value);

    if (!copy)
        fail(w, EK_E_NOMEM);
    return copy;
}

void ek_gates_patch__(struct ek_gates_walk__ *w, const char *op, yyjson_mut_val *value)
{
    yyjson_mut_val *operation = yyjson_mut_obj(w->doc);

    if (!w->patch)
        w->patch = yyjson_mut_arr(w->doc);
    if (!yyjson_mut_obj_add_str(w->doc, operation, "op", op) ||
        !yyjson_mut_obj_add_strncpy(w->doc, operation, "path", ek_buf_str(&w->pointer),
                                    w->pointer.len) ||
        (value && !yyjson_mut_obj_add_val(w->doc, operation, "value", value)) ||
        !yyjson_mut_arr_append(w->patch, operation))
        fail(w, EK_E_NOMEM);
}

/* Makes the member that the walk is at what the old object has. */
static void put_back(struct ek_gates_walk__ *w, const char *op, yyjson_val *old)
{
    yyjson_mut_val *value = w->doc ? copied(w, old) : NULL;

    if (value)
        ek_gates_patch__(w, op, value);
}

/* ---- A closed gate ---- */

static void visit_closed(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                         yyjson_val *new, yyjson_val *old)
{
    if (new == old || (new &&old &&ek_json_equal(new, old)))
        return;
    if (!old) {
        ek_gates_note__(w, EK_GATES_DROPPED__, node, false);
        if (w->doc)
            ek_gates_patch__(w, "remove", NULL);
    } else if (!new) {
        ek_gates_note__(w, EK_GATES_KEPT__, node, false);
        put_back(w, "add", old);
    } else {
        ek_gates_note__(w, EK_GATES_UNCHANGED__, node, false);
        put_back(w, "replace", old);
    }
}

/* ---- A parent that is gone ---- */

/* old, all of it, is gone with the field of an open gate, or gave way to no object. */
static void visit_lost(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old)
{
    for (size_t i = 0; i < node->n_children; i++) {
        const struct ek_gate_node *child = &node->children[i];
        yyjson_val *value = get(old, child->name);
        if (value && is_closed(child))
            ek_gates_note__(w, EK_GATES_LOST__, child, false);
        else if (value)
            visit_lost(w, child, value);
    }
}

static bool frozen_part(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old,
                        yyjson_mut_val **ret);

/* As frozen_part, for a member. */
static bool frozen_member(struct ek_gates_walk__ *w, const struct ek_gate_node *child,
                          yyjson_val *old, yyjson_mut_val **ret)
{
    if (is_closed(child)) {
        ek_gates_note__(w, EK_GATES_KEPT__, child, false);
        if (w->doc)
            *ret = copied(w, old);
        return true;
    }
    if (!child->gate)
        return frozen_part(w, child, old, ret);
    visit_lost(w, child, old);
    return false;
}

/* What of old is frozen, with the parents that it needs: into *ret when a patch is wanted. False
 * when nothing is. */
static bool frozen_part(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old,
                        yyjson_mut_val **ret)
{
    bool any = false;

    for (size_t i = 0; i < node->n_children; i++) {
        struct ek_str name = node->children[i].name;
        yyjson_val *value = get(old, name);
        yyjson_mut_val *part = NULL;
        if (!value || !frozen_member(w, &node->children[i], value, &part))
            continue;
        any = true;
        if (!w->doc || w->rc)
            continue;
        *ret = *ret ? *ret : yyjson_mut_obj(w->doc);
        if (!yyjson_mut_obj_add(*ret, yyjson_mut_strncpy(w->doc, name.p, name.len), part))
            fail(w, EK_E_NOMEM);
    }
    return any;
}

static void visit_gone(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *new,
                       yyjson_val *old)
{
    yyjson_mut_val *part = NULL;

    if (node->gate || (new && !yyjson_is_null(new)))
        visit_lost(w, node, old);
    else if (frozen_part(w, node, old, &part) && w->doc && !w->rc)
        ek_gates_patch__(w, new ? "replace" : "add", part);
}

/* ---- The walk ---- */

static bool is_same(const struct ek_gate_node *node, yyjson_val *new, yyjson_val *old);

static const struct ek_gate_node *child_of(const struct ek_gate_node *node, yyjson_val *key)
{
    struct ek_str name = {yyjson_get_str(key), yyjson_get_len(key)};

    for (size_t i = 0; i < node->n_children; i++)
        if (ek_str_eq(node->children[i].name, name))
            return &node->children[i];
    return NULL;
}

/* True when what a has is in b too. */
static bool is_within(const struct ek_gate_node *node, yyjson_val *a, yyjson_val *b)
{
    yyjson_val *key, *value;
    size_t i, n;

    yyjson_obj_foreach(a, i, n, key, value)
    {
        const struct ek_gate_node *child = child_of(node, key);
        yyjson_val *other = yyjson_obj_getn(b, yyjson_get_str(key), yyjson_get_len(key));
        if (child && is_closed(child))
            continue;
        if (!other || !(child ? is_same(child, value, other) : ek_json_equal(value, other)))
            return false;
    }
    return true;
}

/* True when new and old differ at most in what is frozen, and so will be the same. */
static bool is_same(const struct ek_gate_node *node, yyjson_val *new, yyjson_val *old)
{
    if (node->n_children == 0 || !yyjson_is_obj(new) || !yyjson_is_obj(old))
        return ek_json_equal(new, old);
    return is_within(node, new, old) && is_within(node, old, new);
}

static void visit(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *new,
                  yyjson_val *old, bool silent)
{
    if (is_closed(node)) {
        visit_closed(w, node, new, old);
        return;
    }
    if (new && node->gate && node->gate->stage == EK_GATE_DEPRECATED &&
        (!old || !is_same(node, new, old))) {
        ek_gates_note__(w, EK_GATES_USED__, node, silent);
        silent = true;
    }
    if (!yyjson_is_obj(new)) {
        if (yyjson_is_obj(old))
            visit_gone(w, node, new, old);
        return;
    }
    for (size_t i = 0; i < node->n_children; i++) {
        struct ek_str name = node->children[i].name;
        ek_pointer_push(&w->pointer, name);
        visit(w, &node->children[i], get(new, name), get(old, name), silent);
        ek_pointer_pop(&w->pointer);
    }
}

/* Which members of the object are written by this request, and which are going to be discarded. */
static bool is_written(const struct ek_gates_walk__ *w, struct ek_str name)
{
    bool is_status = ek_str_eq(name, EK_STR("status"));

    if (!strcmp(w->request->subresource, "status"))
        return is_status;
    return !is_status || !w->shape->has_status;
}

static void walk_object(struct ek_gates_walk__ *w)
{
    const struct ek_gate_node *root = w->gates->root;
    yyjson_val *old = w->creating ? NULL : w->request->old_object;

    if (!yyjson_is_obj(w->request->object))
        return;
    for (size_t i = 0; i < root->n_children; i++) {
        const struct ek_gate_node *child = &root->children[i];
        if (!is_written(w, child->name))
            continue;
        ek_pointer_push(&w->pointer, child->name);
        visit(w, child, get(w->request->object, child->name), get(old, child->name), false);
        ek_pointer_pop(&w->pointer);
    }
}

/* ---- The outcome ---- */

static int keep_hits(const struct ek_gates_walk__ *w, bool denied, struct ek_gates_outcome *ret)
{
    struct ek_gates_hit *hits = ek_arena_try(w->arena, w->n_notes * sizeof *hits);

    if (!hits)
        return EK_E_NOMEM;
    for (size_t i = 0; i < w->n_notes; i++) {
        const struct ek_gates_note__ *note = &w->notes[i];
        bool used = note->kind == EK_GATES_USED__;
        if (ek_gates_is_suppressed__(note) || (used && !denied))
            hits[ret->n_hits++] = (struct ek_gates_hit){note->gate, note->path, used};
    }
    ret->hits = hits;
    return 0;
}

static void deny(const struct ek_gates_walk__ *w, struct ek_gates_outcome *ret)
{
    bool reject = w->gates->on_disabled == EK_GATES_REJECT;

    ret->allowed = false;
    ret->code = reject ? 403 : 422;
    ret->reason = reject ? "Forbidden" : "Invalid";
    ret->message = ek_gates_denial__(w);
}

static bool any_suppressed(const struct ek_gates_walk__ *w)
{
    for (size_t i = 0; i < w->n_notes; i++)
        if (ek_gates_is_suppressed__(&w->notes[i]))
            return true;
    return false;
}

/* strict: nothing may be left to suppress. */
static int finish(const struct ek_gates_walk__ *w, bool strict, struct ek_gates_outcome *ret)
{
    bool denied = strict && any_suppressed(w);

    if (w->rc)
        return w->rc;
    if (w->n_notes == 0)
        return 0;
    if (denied)
        deny(w, ret);
    else if (w->doc)
        ret->warnings = ek_gates_warnings__(w, &ret->n_warnings);
    if (!denied)
        ret->patch = w->patch;
    int rc = denied || w->doc ? keep_hits(w, denied, ret) : 0;
    return rc == 0 && ek_arena_exhausted(w->arena) ? EK_E_LIMIT : rc;
}

static bool is_gated_operation(const struct ek_admission_request *request)
{
    return !strcmp(request->operation, "CREATE") || !strcmp(request->operation, "UPDATE");
}

/* doc NULL: the object is final. */
static int decide(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                  const struct ek_admission_request *request, struct ek_arena *arena,
                  yyjson_mut_doc *doc, struct ek_gates_outcome *ret, struct ek_err *err)
{
    struct ek_gates_walk__ w = {
        .gates = gates, .shape = shape, .request = request, .arena = arena, .doc = doc};
    bool strict = !doc || gates->on_disabled == EK_GATES_REJECT;

    *ret = (struct ek_gates_outcome){.allowed = true};
    if (!is_gated_operation(request))
        return 0;
    w.creating = !strcmp(request->operation, "CREATE");
    ek_buf_init(&w.pointer, POINTER_MAX);
    if (!strcmp(request->subresource, "scale"))
        strict |= ek_gates_walk_scale__(&w);
    else if (!*request->subresource || !strcmp(request->subresource, "status"))
        walk_object(&w);
    ek_buf_done(&w.pointer);
    int rc = finish(&w, strict, ret);
    return rc ? ek_err_set(err, rc, "deciding gates of %s: %s", gates->name, ek_strerror(rc)) : 0;
}

int ek_gates_decide(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    yyjson_mut_doc *doc, struct ek_gates_outcome *ret_outcome, struct ek_err *err)
{
    return decide(gates, shape, request, arena, doc, ret_outcome, err);
}

int ek_gates_verify(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_gates_outcome *ret_outcome, struct ek_err *err)
{
    return decide(gates, shape, request, arena, NULL, ret_outcome, err);
}
