/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/decide-internal.h"

#include <string.h>

#include "api/members.h"
#include "api/obj.h"
#include "api/patch/pointer.h"

/* Octets of a pointer: keys of maps are as long as objects may be. */
#define POINTER_MAX ((size_t)16 << 20)

/* Closed, and its values may not be removed either. */
static bool is_frozen(const struct ek_gate_node *node)
{
    return ek_gates_is_closed__(node) && !node->gate->removable;
}

void ek_gates_fail__(struct ek_gates_walk__ *w, int code)
{
    if (!w->rc)
        w->rc = code;
}

static bool grow(struct ek_gates_walk__ *w)
{
    size_t cap = w->cap ? w->cap * 2 : 16;
    struct ek_gates_note__ *notes = ek_arena_try(w->arena, cap * sizeof *notes);

    if (!notes) {
        ek_gates_fail__(w, EK_E_NOMEM);
        return false;
    }
    if (w->n_notes)
        memcpy(notes, w->notes, w->n_notes * sizeof *notes);
    w->notes = notes;
    w->cap = cap;
    return true;
}

/* The items of a list have the same note. */
static struct ek_gates_note__ *find_note(const struct ek_gates_walk__ *w,
                                         enum ek_gates_note_kind__ kind,
                                         const struct ek_gate_node *node)
{
    ek_work_do(w->work, w->n_notes / 8);
    for (size_t i = w->n_notes; i-- > 0;)
        if (w->notes[i].kind == kind && w->notes[i].path == node->path)
            return &w->notes[i];
    return NULL;
}

void ek_gates_note__(struct ek_gates_walk__ *w, enum ek_gates_note_kind__ kind,
                     const struct ek_gate_node *node, bool silent)
{
    struct ek_gates_note__ *note = find_note(w, kind, node);

    if (note)
        note->silent = note->silent && silent;
    else if (w->n_notes < w->cap || grow(w))
        w->notes[w->n_notes++] = (struct ek_gates_note__){kind, node->gate, node->path, silent};
}

/* ---- The patch ---- */

static yyjson_mut_val *copied(struct ek_gates_walk__ *w, yyjson_val *value)
{
    yyjson_mut_val *copy = yyjson_val_mut_copy(w->doc, value);

    if (!copy)
        ek_gates_fail__(w, EK_E_NOMEM);
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
        ek_gates_fail__(w, EK_E_NOMEM);
    if (w->pointer.failed)
        ek_gates_fail__(w, w->pointer.failed);
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
    if (new == old || (new &&old &&ek_json_equal_within(new, old, w->work)))
        return;
    if (!old) {
        ek_gates_note__(w, EK_GATES_DROPPED__, node, false);
        if (w->doc)
            ek_gates_patch__(w, "remove", NULL);
    } else if (!new && node->gate->removable) {
        return;
    } else if (!new) {
        ek_gates_note__(w, EK_GATES_KEPT__, node, false);
        put_back(w, "add", old);
    } else {
        ek_gates_note__(w, EK_GATES_UNCHANGED__, node, false);
        put_back(w, "replace", old);
    }
}

/* ---- A parent that is gone ---- */

bool ek_gates_holds_any__(struct ek_gates_walk__ *w, const struct ek_gate_node *each,
                          yyjson_val *old, enum ek_gates_note_kind__ kind)
{
    size_t i, n;
    yyjson_val *key, *value;
    bool any = false;

    ek_json_each_member(old, i, n, key, value)
    {
        if ((any && kind == EK_GATES_UNNOTED__) || !ek_work_do(w->work, 1))
            break;
        any |= ek_gates_holds__(w, each, value, kind);
    }
    yyjson_arr_foreach(old, i, n, value)
    {
        if ((any && kind == EK_GATES_UNNOTED__) || !ek_work_do(w->work, 1))
            break;
        any |= ek_gates_holds__(w, each, value, kind);
    }
    return any;
}

bool ek_gates_holds__(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old,
                      enum ek_gates_note_kind__ kind)
{
    const struct ek_gate_node *each = ek_gates_each_of__(node);
    struct ek_members olds;
    bool any = false;

    if (each)
        return ek_gates_holds_any__(w, each, old, kind);
    ek_members_init(&olds, old, w->work);
    for (size_t i = 0; i < node->n_children; i++) {
        const struct ek_gate_node *child = &node->children[i];
        yyjson_val *value = ek_members_find(&olds, child->name);
        bool closed = value && ek_gates_is_closed__(child);
        if (closed && kind != EK_GATES_UNNOTED__ && (kind != EK_GATES_LOST__ || is_frozen(child)))
            ek_gates_note__(w, kind, child, false);
        any |= closed || (value && ek_gates_holds__(w, child, value, kind));
    }
    ek_members_done(&olds);
    return any;
}

/* old, all of it, is gone with the field of an open gate, with an item of a list or a map, or gave
 * way to no object. */
static void visit_lost(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old)
{
    ek_gates_holds__(w, node, old, EK_GATES_LOST__);
}

static bool frozen_part(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old,
                        yyjson_mut_val **ret);

/* As frozen_part, for a member. */
static bool frozen_member(struct ek_gates_walk__ *w, const struct ek_gate_node *child,
                          yyjson_val *old, yyjson_mut_val **ret)
{
    if (is_frozen(child)) {
        ek_gates_note__(w, EK_GATES_KEPT__, child, false);
        if (w->doc)
            *ret = copied(w, old);
        return true;
    }
    if (ek_gates_is_closed__(child))
        return false;
    if (!child->gate)
        return frozen_part(w, child, old, ret);
    visit_lost(w, child, old);
    return false;
}

/* What of old is frozen, with the parents that it needs: into *ret when a patch is wanted. False
 * when nothing is. Items of a list or a map are gone with it. */
static bool frozen_part(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *old,
                        yyjson_mut_val **ret)
{
    struct ek_members olds;
    bool any = false;

    if (ek_gates_each_of__(node)) {
        visit_lost(w, node, old);
        return false;
    }
    ek_members_init(&olds, old, w->work);
    for (size_t i = 0; i < node->n_children; i++) {
        struct ek_str name = node->children[i].name;
        yyjson_val *value = ek_members_find(&olds, name);
        yyjson_mut_val *part = NULL;
        if (!value || !frozen_member(w, &node->children[i], value, &part))
            continue;
        any = true;
        if (!w->doc || w->rc)
            continue;
        *ret = *ret ? *ret : yyjson_mut_obj(w->doc);
        if (!yyjson_mut_obj_add(*ret, yyjson_mut_strncpy(w->doc, name.p, name.len), part))
            ek_gates_fail__(w, EK_E_NOMEM);
    }
    ek_members_done(&olds);
    return any;
}

static void visit_gone(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *new,
                       yyjson_val *old)
{
    yyjson_mut_val *part = NULL;

    if (node->gate || node->each || (new && !yyjson_is_null(new)))
        visit_lost(w, node, old);
    else if (frozen_part(w, node, old, &part) && w->doc && !w->rc)
        ek_gates_patch__(w, new ? "replace" : "add", part);
}

/* ---- The walk ---- */

static const struct ek_gate_node *child_of(const struct ek_gate_node *node, struct ek_str name)
{
    size_t low = 0, high = node->n_children;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct ek_str own = node->children[mid].name;
        size_t shared = own.len < name.len ? own.len : name.len;
        int order = memcmp(own.p, name.p, shared);
        if (order == 0 && own.len == name.len)
            return &node->children[mid];
        if (order < 0 || (order == 0 && own.len < name.len))
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* How many members of an object are not frozen. */
static size_t count_open(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                         yyjson_val *object)
{
    size_t n = yyjson_obj_size(object);
    struct ek_members members;

    ek_members_init(&members, object, w->work);
    for (size_t i = 0; i < node->n_children; i++)
        n -= ek_gates_is_closed__(&node->children[i]) &&
             ek_members_find(&members, node->children[i].name) != NULL;
    ek_members_done(&members);
    return n;
}

bool ek_gates_is_same__(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *new,
                        yyjson_val *old)
{
    const struct ek_gate_node *each = ek_gates_each_of__(node);
    struct ek_members olds;
    yyjson_val *key, *value;
    size_t i, n;

    if (each)
        return ek_gates_is_same_each__(w, each, new, old);
    if (node->n_children == 0 || !yyjson_is_obj(new) || !yyjson_is_obj(old))
        return ek_json_equal_within(new, old, w->work);
    bool same = count_open(w, node, new) == count_open(w, node, old);
    ek_members_init(&olds, old, w->work);
    ek_json_each_member(same ? new : NULL, i, n, key, value)
    {
        struct ek_str name = {unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        const struct ek_gate_node *child = child_of(node, name);
        if (child && ek_gates_is_closed__(child))
            continue;
        yyjson_val *other = ek_members_find(&olds, name);
        same = other && (child ? ek_gates_is_same__(w, child, value, other)
                               : ek_json_equal_within(value, other, w->work));
        if (!same)
            break;
    }
    ek_members_done(&olds);
    return same;
}

/* The members that gates, or the parents of gated paths, name. */
static void visit_members(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                          yyjson_val *new, yyjson_val *old, bool silent)
{
    struct ek_members news, olds;

    ek_members_init(&news, new, w->work);
    ek_members_init(&olds, old, w->work);
    for (size_t i = 0; i < node->n_children; i++) {
        struct ek_str name = node->children[i].name;
        ek_pointer_push(&w->pointer, name);
        ek_gates_visit__(w, &node->children[i], ek_members_find(&news, name),
                         ek_members_find(&olds, name), silent);
        ek_pointer_pop(&w->pointer);
    }
    ek_members_done(&news);
    ek_members_done(&olds);
}

/* A list or a map whose items hold what is gated. */
static void visit_container(struct ek_gates_walk__ *w, const struct ek_gate_node *node,
                            yyjson_val *new, yyjson_val *old, bool silent)
{
    if (yyjson_is_ctn(new))
        ek_gates_visit_each__(w, ek_gates_each_of__(node), new, old, silent);
    else
        visit_lost(w, node, old);
}

void ek_gates_visit__(struct ek_gates_walk__ *w, const struct ek_gate_node *node, yyjson_val *new,
                      yyjson_val *old, bool silent)
{
    if (ek_gates_is_closed__(node)) {
        visit_closed(w, node, new, old);
        return;
    }
    if (new && node->gate && node->gate->stage == EK_GATE_DEPRECATED &&
        (!old || !ek_gates_is_same__(w, node, new, old))) {
        ek_gates_note__(w, EK_GATES_USED__, node, silent);
        silent = true;
    }
    if (ek_gates_each_of__(node)) {
        visit_container(w, node, new, old, silent);
        return;
    }
    if (!yyjson_is_obj(new)) {
        if (yyjson_is_obj(old))
            visit_gone(w, node, new, old);
        return;
    }
    visit_members(w, node, new, old, silent);
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
    struct ek_members news, olds;

    if (!yyjson_is_obj(w->request->object))
        return;
    ek_members_init(&news, w->request->object, w->work);
    ek_members_init(&olds, w->creating ? NULL : w->request->old_object, w->work);
    for (size_t i = 0; i < root->n_children; i++) {
        const struct ek_gate_node *child = &root->children[i];
        if (!is_written(w, child->name))
            continue;
        ek_pointer_push(&w->pointer, child->name);
        ek_gates_visit__(w, child, ek_members_find(&news, child->name),
                         ek_members_find(&olds, child->name), false);
        ek_pointer_pop(&w->pointer);
    }
    ek_members_done(&news);
    ek_members_done(&olds);
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

    if (w->rc || ek_work_is_over(w->work))
        return w->rc ? w->rc : EK_E_CANCELED;
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
                  struct ek_work *work, yyjson_mut_doc *doc, struct ek_gates_outcome *ret,
                  struct ek_err *err)
{
    struct ek_gates_walk__ w = {.gates = gates,
                                .shape = shape,
                                .request = request,
                                .arena = arena,
                                .work = work,
                                .doc = doc};
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
    int rc = finish(&w, strict || w.unmatched, ret);
    return rc ? ek_err_set(err, rc, "deciding gates of %s: %s", gates->name, ek_strerror(rc)) : 0;
}

int ek_gates_decide(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_work *work, yyjson_mut_doc *doc, struct ek_gates_outcome *ret_outcome,
                    struct ek_err *err)
{
    return decide(gates, shape, request, arena, work, doc, ret_outcome, err);
}

/* ---- Versions without a gated field ---- */

static const struct ek_field_path *path_of(const struct ek_gate *gate, const char *text)
{
    for (size_t i = 0; gate && i < gate->n_paths; i++)
        if (!strcmp(gate->paths[i].text, text))
            return &gate->paths[i];
    return NULL;
}

/* NULL for a write that erases nothing. */
static const struct ek_gates_lack *find_lack(const struct ek_gates_shape *shape,
                                             const struct ek_admission_request *request)
{
    if (strcmp(request->operation, "UPDATE") != 0 ||
        ek_json_str(request->object, "metadata", "deletionTimestamp", NULL))
        return NULL;
    for (size_t i = 0; i < shape->n_lacks; i++)
        if (!strcmp(shape->lacks[i].version, request->request_resource.version))
            return &shape->lacks[i];
    return NULL;
}

/* Denies a write through a version that lacks what lack says. */
static int deny_version(const struct ek_gates *gates, const struct ek_gates_lack *lack,
                        struct ek_arena *arena, struct ek_gates_outcome *ret, struct ek_err *err)
{
    const struct ek_gate *gate = ek_gates_find(gates, lack->gate);
    const struct ek_field_path *path = path_of(gate, lack->path);
    struct ek_gates_hit *hit = ek_arena_alloc(arena, sizeof *hit);

    *hit = (struct ek_gates_hit){.gate = gate, .path = path};
    *ret = (struct ek_gates_outcome){
        .code = 403,
        .reason = "Forbidden",
        .message = ek_arena_printf(arena,
                                   "version %s has no field %s, and an update through it would "
                                   "erase the stored value, but feature gate %s is off: update "
                                   "through a version that has the field",
                                   lack->version, lack->path, lack->gate),
        .hits = hit,
        .n_hits = path ? 1 : 0,
    };
    return ek_arena_exhausted(arena) ? ek_err_set(err, EK_E_LIMIT, "deciding gates of %s: %s",
                                                  gates->name, ek_strerror(EK_E_LIMIT))
                                     : 0;
}

int ek_gates_verify(const struct ek_gates *gates, const struct ek_gates_shape *shape,
                    const struct ek_admission_request *request, struct ek_arena *arena,
                    struct ek_work *work, struct ek_gates_outcome *ret_outcome, struct ek_err *err)
{
    const struct ek_gates_lack *lack = find_lack(shape, request);

    return lack ? deny_version(gates, lack, arena, ret_outcome, err)
                : decide(gates, shape, request, arena, work, NULL, ret_outcome, err);
}
