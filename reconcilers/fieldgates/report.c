/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/report.h"

#include "api/base/mem.h"
#include "reconcilers/fieldgates/annotation.h"
#include "reconcilers/fieldgates/events.h"

#define ARENA_LIMIT ((size_t)8 << 20)

static yyjson_mut_val *make_status(const struct ek_gated_kind *kind,
                                   const struct ek_gates_standing *standing,
                                   const struct ek_gates_counted *counted, int64_t now_ms,
                                   struct ek_arena *arena, yyjson_mut_doc *doc)
{
    yyjson_val *root = ek_obj_root(kind->obj);
    EK_AUTOFREE char *import = ek_gates_import_message(kind->crd, kind->obj);
    struct ek_gates_facts facts = {
        .gates = kind->defined,
        .resolution = kind->resolved ? &kind->resolution : NULL,
        .crd_problem = kind->problem.code ? kind->problem.message : NULL,
        .serving = standing->serving,
        .census = counted->census,
        .counts = counted->counts,
        .n_counts = kind->defined->n_gates,
        .import_message = import,
    };

    ek_gates_registrar_facts(standing->registrar, kind, standing->canary, standing->canary_message,
                             &facts);
    return ek_gates_status(&facts, yyjson_obj_get(root, "status"), now_ms, arena, doc);
}

static void plan_events(const struct ek_obj *obj, yyjson_val *status, struct ek_arena *arena,
                        struct ek_intents *intents)
{
    struct ek_gate_event events[EK_GATE_EVENTS_MAX];
    size_t n = ek_gate_events(yyjson_obj_get(ek_obj_root(obj), "status"), status, arena, events);

    for (size_t i = 0; i < n; i++) {
        struct ek_event event = {.regarding = ek_event_about(obj),
                                 .warning = events[i].warning,
                                 .reason = events[i].reason,
                                 .action = events[i].action,
                                 .note = events[i].note};
        ek_intents_depend(ek_intents_event(intents, &event));
    }
}

static void plan_status(const struct ek_obj *obj, yyjson_val *status,
                        const struct ek_gates_standing *standing, struct ek_intents *intents)
{
    struct ek_apply_target target = {.resource = standing->resource, .name = ek_obj_name(obj)};

    ek_intents_apply_status(intents, &target, yyjson_val_mut_copy(ek_intents_doc(intents), status))
        ->tag = EK_GATES_TAG_STATUS;
}

void ek_gates_plan_status(const struct ek_gated_kind *kind,
                          const struct ek_gates_standing *standing,
                          const struct ek_gates_counted *counted, int64_t now_ms,
                          struct ek_intents *intents)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_val *old = yyjson_obj_get(ek_obj_root(kind->obj), "status");
    struct ek_obj *status =
        ek_obj_from_mut(make_status(kind, standing, counted, now_ms, arena, doc));

    if (status && !(old && ek_json_equal(ek_obj_root(status), old))) {
        plan_status(kind->obj, ek_obj_root(status), standing, intents);
        plan_events(kind->obj, ek_obj_root(status), arena, intents);
    }
    ek_obj_unref(status);
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
}
