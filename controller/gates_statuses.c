/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_statuses.h"

#include "api/mem.h"
#include "reconcilers/fieldgates/gate_events.h"
#include "reconcilers/fieldgates/import.h"

#define ARENA_LIMIT ((size_t)8 << 20)

static yyjson_mut_val *make_status(const struct ek_gated_kind *kind,
                                   const struct ek_gates_standing *standing, yyjson_val *old,
                                   struct ek_arena *arena, yyjson_mut_doc *doc)
{
    yyjson_val *spec = yyjson_obj_get(ek_obj_root(kind->obj), "spec");
    EK_AUTOFREE char *import = ek_gates_import_message(kind->crd, spec);
    struct ek_gates_facts facts = {
        .gates = kind->defined,
        .resolution = kind->resolved ? &kind->resolution : NULL,
        .crd_problem = kind->problem.code ? kind->problem.message : NULL,
        .serving = standing->serving,
        .counts = ek_gates_tally_of(standing->tally, kind->obj, kind->defined, arena),
        .n_counts = kind->defined->n_gates,
        .import_message = import,
    };

    ek_gates_registrar_facts(standing->registrar, kind, standing->canary, standing->canary_message,
                             &facts);
    return ek_gates_status(&facts, old, standing->now_ms, arena, doc);
}

static void plan_one(const struct ek_gated_kind *kind, const struct ek_gates_standing *standing,
                     struct ek_gates_status_writes *writes)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_val *old = yyjson_obj_get(ek_obj_root(kind->obj), "status");
    struct ek_obj *wanted = ek_obj_from_mut(make_status(kind, standing, old, arena, doc));

    if (wanted && !(old && ek_json_equal(ek_obj_root(wanted), old))) {
        writes->items = ek_xrealloc(writes->items, writes->n + 1, sizeof *writes->items);
        struct ek_gates_status_write *w = &writes->items[writes->n++];
        *w = (struct ek_gates_status_write){.obj = ek_obj_ref(kind->obj), .doc = ek_json_doc_new()};
        w->content = yyjson_mut_obj(w->doc);
        yyjson_mut_obj_add_val(w->doc, w->content, "status",
                               yyjson_val_mut_copy(w->doc, ek_obj_root(wanted)));
    }
    ek_obj_unref(wanted);
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
}

void ek_gates_status_writes_plan(const struct ek_gates_state *state,
                                 const struct ek_gates_standing *standing,
                                 struct ek_gates_status_writes *ret_writes)
{
    *ret_writes = (struct ek_gates_status_writes){0};
    for (size_t i = 0; i < state->n; i++)
        plan_one(&state->kinds[i], standing, ret_writes);
}

void ek_gates_status_writes_done(struct ek_gates_status_writes *writes)
{
    for (size_t i = 0; i < writes->n; i++) {
        yyjson_mut_doc_free(writes->items[i].doc);
        ek_obj_unref(writes->items[i].obj);
    }
    ek_free(writes->items);
    *writes = (struct ek_gates_status_writes){0};
}

struct ek_gates_status_write *ek_gates_status_writes_next(struct ek_gates_status_writes *writes)
{
    return writes->next < writes->n ? &writes->items[writes->next++] : NULL;
}

static void record(const struct ek_obj *obj, const struct ek_gate_event *what,
                   struct ek_recorder *recorder)
{
    struct ek_event event = {
        .regarding = {.api_version = ek_obj_api_version(obj),
                      .kind = ek_obj_kind(obj),
                      .namespace = "",
                      .name = ek_obj_name(obj),
                      .uid = ek_obj_uid(obj),
                      .resource_version = ek_obj_resource_version(obj)},
        .warning = what->warning,
        .reason = what->reason,
        .action = what->action,
        .note = what->note,
    };
    ek_recorder_record(recorder, &event);
}

void ek_gates_status_write_record(const struct ek_gates_status_write *write,
                                  struct ek_recorder *recorder)
{
    struct ek_gate_event events[EK_GATE_EVENTS_MAX];
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    yyjson_val *old = yyjson_obj_get(ek_obj_root(write->obj), "status");
    struct ek_obj *content = ek_obj_from_mut(write->content);
    size_t n =
        content ? ek_gate_events(old, yyjson_obj_get(ek_obj_root(content), "status"), arena, events)
                : 0;

    for (size_t i = 0; recorder && i < n; i++)
        record(write->obj, &events[i], recorder);
    ek_obj_unref(content);
    ek_arena_free(arena);
}
