/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/census.h"

#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "api/patch/pointer.h"

#define POINTER_MAX ((size_t)16 << 20) /* of a JSON Patch; keys of maps are as long as objects */

bool ek_gate_is_counted(const struct ek_gate *gate)
{
    return gate->n_paths && (!gate->on || gate->stage == EK_GATE_DEPRECATED);
}

static bool holds_below(const struct ek_field_path *path, size_t i, yyjson_val *at);

/* Of any item of a list, or of any value of a map. */
static bool holds_in_any(const struct ek_field_path *path, size_t i, yyjson_val *at)
{
    yyjson_val *key, *value;
    size_t k, n;

    ek_json_each_member(at, k, n, key, value)
    {
        if (holds_below(path, i, value))
            return true;
    }
    yyjson_arr_foreach(at, k, n, value)
    {
        if (holds_below(path, i, value))
            return true;
    }
    return false;
}

/* Whether at, which the first i names of path lead to, has a value at path; null is a value. */
static bool holds_below(const struct ek_field_path *path, size_t i, yyjson_val *at)
{
    for (; i < path->n && at; i++) {
        if (ek_field_path_is_each(path->names[i]))
            return holds_in_any(path, i + 1, at);
        at = yyjson_obj_getn(at, path->names[i].p, path->names[i].len);
    }
    return at != NULL;
}

static bool holds(const struct ek_field_path *path, yyjson_val *object)
{
    return holds_below(path, 0, object);
}

bool ek_gate_holds(const struct ek_gate *gate, yyjson_val *object)
{
    for (size_t i = 0; i < gate->n_paths; i++)
        if (holds(&gate->paths[i], object))
            return true;
    return false;
}

void ek_gates_census_add(struct ek_gates_census *census, const struct ek_gates *gates,
                         yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(list, "items"), i, n, item)
    {
        census->objects++;
        for (size_t k = 0; k < gates->n_gates && k < EK_GATES_MAX; k++)
            census->held[k] +=
                ek_gate_is_counted(&gates->gates[k]) && ek_gate_holds(&gates->gates[k], item);
    }
}

bool ek_gates_are_counted(const struct ek_gates *gates)
{
    for (size_t i = 0; i < gates->n_gates; i++)
        if (ek_gate_is_counted(&gates->gates[i]))
            return true;
    return false;
}

/* ---- The course of a census ---- */

bool ek_gates_census_follow(struct ek_gates_census_state *state, const char *uid,
                            int64_t generation, int64_t now_ms)
{
    int64_t soonest = state->ended_ms ? state->ended_ms + EK_GATES_CENSUS_PAUSE_MS : now_ms;

    if (state->generation == generation && !strncmp(state->uid, uid, sizeof state->uid - 1))
        return false;
    *state = (struct ek_gates_census_state){.generation = generation,
                                            .limit = EK_GATES_CENSUS_PAGE,
                                            .ended_ms = state->ended_ms,
                                            .due_ms = soonest > now_ms ? soonest : now_ms};
    snprintf(state->uid, sizeof state->uid, "%s", uid);
    return true;
}

static void fail(struct ek_gates_census_state *state, const struct ek_err *err)
{
    snprintf(state->message, sizeof state->message, "%.250s%s", err->message,
             err->code == EK_E_FORBIDDEN ? "; label a ClusterRole that allows list with "
                                           "evenkeel.dev/aggregate-to-gated-kinds: 'true'"
                                         : "");
}

/* How a list that failed at page goes on: the continue token, NULL when it cannot. */
static const char *go_on(struct ek_gates_census_state *state,
                         const struct ek_gates_census_page *page)
{
    const char *token = ek_gates_census_next(page->status);

    if (page->err->code == EK_E_LIMIT && state->limit > 1) {
        state->limit /= 2;
        return page->at;
    }
    if (page->err->code != EK_E_GONE || !*page->at || !*token || state->resumed)
        return NULL;
    state->resumed = true;
    return token;
}

/* Counts a page; the continue token of the next one, NULL after the last. */
static const char *count_page(struct ek_gates_census_state *state, const struct ek_gates *gates,
                              const struct ek_gates_census_page *page)
{
    const char *next = ek_gates_census_next(page->list);

    ek_gates_census_add(&state->counting, gates, page->list);
    state->resumed = false;
    if (page->size <= EK_GATES_CENSUS_BODY_MAX / 4)
        state->limit =
            state->limit < EK_GATES_CENSUS_PAGE / 2 ? state->limit * 2 : EK_GATES_CENSUS_PAGE;
    return *next ? next : NULL;
}

const char *ek_gates_census_heard(struct ek_gates_census_state *state, const struct ek_gates *gates,
                                  const struct ek_gates_census_page *page, int64_t now_ms,
                                  int64_t wall_ms)
{
    const char *next = page->list ? count_page(state, gates, page) : go_on(state, page);

    state->more = next != NULL;
    if (next) {
        state->due_ms = now_ms + EK_GATES_CENSUS_GAP_MS;
        return next;
    }
    if (page->list) {
        state->known = true;
        state->result = state->counting;
        state->at_ms = wall_ms;
        state->message[0] = '\0';
    } else {
        fail(state, page->err);
    }
    state->counting = (struct ek_gates_census){0};
    state->limit = EK_GATES_CENSUS_PAGE;
    state->ended_ms = now_ms;
    state->due_ms = now_ms + (page->list ? EK_GATES_CENSUS_EVERY_MS : EK_GATES_CENSUS_AGAIN_MS);
    return NULL;
}

bool ek_gates_census_precedes(const struct ek_gates_census_state *a,
                              const struct ek_gates_census_state *b)
{
    return a->more != b->more ? a->more : a->due_ms < b->due_ms;
}

const char *ek_gates_census_next(yyjson_val *list)
{
    const char *next = ek_json_str(list, "metadata", "continue", NULL);
    return next ? next : "";
}

/* ---- Clearing ---- */

/* The member of that name, which is made where there is none. */
static yyjson_mut_val *enter(yyjson_mut_doc *doc, yyjson_mut_val *parent, struct ek_str name)
{
    yyjson_mut_val *child = yyjson_mut_obj_getn(parent, name.p, name.len);

    if (child)
        return child;
    child = yyjson_mut_obj(doc);
    yyjson_mut_obj_add(parent, yyjson_mut_strncpy(doc, name.p, name.len), child);
    return child;
}

/* A path below another one that is removed is removed with it. */
static bool is_covered(const struct ek_gate *gate, size_t i)
{
    for (size_t k = 0; k < gate->n_paths; k++)
        if (k != i && ek_field_path_covers(&gate->paths[k], &gate->paths[i]))
            return true;
    return false;
}

static void put_null(yyjson_mut_doc *doc, yyjson_mut_val *patch, const struct ek_field_path *path)
{
    struct ek_str last = path->names[path->n - 1];

    for (size_t i = 0; i + 1 < path->n; i++)
        patch = enter(doc, patch, path->names[i]);
    yyjson_mut_obj_add(patch, yyjson_mut_strncpy(doc, last.p, last.len), yyjson_mut_null(doc));
}

/* A JSON Patch (RFC 6902) while it grows: it is for what is in lists, which a merge patch replaces
 * as a whole. */
struct removing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *patch;
    struct ek_buf pointer;
};

static void add_operation(struct removing *r, const char *op, const char *path, const char *value)
{
    yyjson_mut_val *operation = yyjson_mut_arr_add_obj(r->doc, r->patch);

    yyjson_mut_obj_add_str(r->doc, operation, "op", op);
    yyjson_mut_obj_add_strcpy(r->doc, operation, "path", path);
    if (value)
        yyjson_mut_obj_add_strcpy(r->doc, operation, "value", value);
}

static void remove_below(struct removing *r, const struct ek_field_path *path, size_t i,
                         yyjson_val *at);

static void remove_in_each(struct removing *r, const struct ek_field_path *path, size_t i,
                           yyjson_val *at)
{
    yyjson_val *key, *value;
    size_t k, n;

    ek_json_each_member(at, k, n, key, value)
    {
        ek_pointer_push(&r->pointer, (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)});
        remove_below(r, path, i, value);
        ek_pointer_pop(&r->pointer);
    }
    yyjson_arr_foreach(at, k, n, value)
    {
        ek_pointer_push_index(&r->pointer, k);
        remove_below(r, path, i, value);
        ek_pointer_pop(&r->pointer);
    }
}

/* Removes what is at path from at, which the first i names lead to. */
static void remove_below(struct removing *r, const struct ek_field_path *path, size_t i,
                         yyjson_val *at)
{
    if (i == path->n) {
        add_operation(r, "remove", ek_buf_str(&r->pointer), NULL);
        return;
    }
    if (ek_field_path_is_each(path->names[i])) {
        remove_in_each(r, path, i + 1, at);
        return;
    }
    yyjson_val *value = yyjson_obj_getn(at, path->names[i].p, path->names[i].len);
    ek_pointer_push(&r->pointer, path->names[i]);
    if (value)
        remove_below(r, path, i + 1, value);
    ek_pointer_pop(&r->pointer);
}

static bool has_each(const struct ek_gate *gate)
{
    for (size_t i = 0; i < gate->n_paths; i++)
        for (size_t k = 0; k < gate->paths[i].n; k++)
            if (ek_field_path_is_each(gate->paths[i].names[k]))
                return true;
    return false;
}

/* A path of gate that the patch of that part removes from object. */
static bool is_removed(const struct ek_gate *gate, size_t i, yyjson_val *object, bool has_status,
                       bool status)
{
    const struct ek_field_path *path = &gate->paths[i];
    bool apart = has_status && ek_str_eq(path->names[0], EK_STR("status"));

    return apart == status && !is_covered(gate, i) && holds(path, object);
}

/* The condition replaces the resourceVersion, so that the API server answers 409 where it is not
 * that: apiserver/pkg/registry/generic/registry/store.go:Update at 1.36. */
static yyjson_mut_val *clear_lists(const struct ek_gate *gate, yyjson_val *object, bool has_status,
                                   bool status, yyjson_mut_doc *doc)
{
    struct removing r = {.doc = doc, .patch = yyjson_mut_arr(doc)};
    bool any = false;

    ek_buf_init(&r.pointer, POINTER_MAX);
    add_operation(&r, "replace", "/metadata/resourceVersion",
                  ek_json_str(object, "metadata", "resourceVersion", NULL));
    for (size_t i = 0; i < gate->n_paths; i++) {
        if (!is_removed(gate, i, object, has_status, status))
            continue;
        remove_below(&r, &gate->paths[i], 0, object);
        any = true;
    }
    any = any && !r.pointer.failed;
    ek_buf_done(&r.pointer);
    return any ? r.patch : NULL;
}

yyjson_mut_val *ek_gate_clear_patch(const struct ek_gate *gate, yyjson_val *object, bool has_status,
                                    bool status, yyjson_mut_doc *doc)
{
    const char *version = ek_json_str(object, "metadata", "resourceVersion", NULL);
    yyjson_mut_val *patch = yyjson_mut_obj(doc);
    bool any = false;

    if (!version)
        return NULL;
    if (has_each(gate))
        return clear_lists(gate, object, has_status, status, doc);
    for (size_t i = 0; i < gate->n_paths; i++) {
        if (!is_removed(gate, i, object, has_status, status))
            continue;
        put_null(doc, patch, &gate->paths[i]);
        any = true;
    }
    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, patch, "metadata"),
                              "resourceVersion", version);
    return any ? patch : NULL;
}
