/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/report.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/act.h"
#include "reconcilers/failforward/memory.h"
#include "reconcilers/failforward/recheck.h"
#include "reconcilers/failforward/status.h"

#define NOTE_MAX 1024

/* What is taken back in one namespace at a time: whoever may write the status of CSVs can make as
 * many holds as they like. */
#define LEFTOVERS_MAX 16

static const struct ek_resource reports = {.group = "evenkeel.dev",
                                           .version = "v1alpha1",
                                           .resource = EK_FF_REPORTS_RESOURCE,
                                           .kind = "FailForwardStatus"};

enum ek_ff_tag ek_ff_tag_kind(int tag)
{
    return (enum ek_ff_tag)(tag % EK_FF_TAG_MAX);
}

size_t ek_ff_tag_index(int tag)
{
    return (size_t)tag / EK_FF_TAG_MAX;
}

static int make_tag(enum ek_ff_tag kind, size_t index)
{
    return (int)(index * EK_FF_TAG_MAX) + (int)kind;
}

static yyjson_mut_val *new_report(const struct ek_obj *subscription, yyjson_mut_doc *doc)
{
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_mut_val *owners = yyjson_mut_obj_add_arr(doc, metadata, "ownerReferences");
    yyjson_mut_val *owner = yyjson_mut_arr_add_obj(doc, owners);

    yyjson_mut_obj_add_strcpy(doc, owner, "apiVersion", ek_obj_api_version(subscription));
    yyjson_mut_obj_add_str(doc, owner, "kind", "Subscription");
    yyjson_mut_obj_add_strcpy(doc, owner, "name", ek_obj_name(subscription));
    yyjson_mut_obj_add_strcpy(doc, owner, "uid", ek_obj_uid(subscription));
    return root;
}

/* ---- Events ---- */

static void write_event(const struct ek_ff_verdict *v, bool warning, const char *reason,
                        const char *note, struct ek_intents *intents)
{
    const struct ek_event event = {.regarding = ek_event_about(v->subscription),
                                   .warning = warning,
                                   .reason = reason,
                                   .action = "FailForward",
                                   .note = note};

    ek_intents_depend(ek_intents_event(intents, &event));
}

static void report_changes(const struct ek_ff_verdict *v, yyjson_val *status,
                           struct ek_intents *intents)
{
    yyjson_val *old = v->report ? ek_json_get(ek_obj_root(v->report), "status", NULL) : NULL;
    const char *class = ek_json_text(status, "class"), *was = ek_json_text(old, "class");
    const char *reason = ek_json_text(ek_json_get(status, "next", NULL), "reason");
    EK_AUTO(ek_buf) note;

    ek_buf_init(&note, (size_t)4 * NOTE_MAX);
    if (v->finding.class != EK_FF_HEALTHY && *class && strcmp(class, was) != 0) {
        ek_buf_printf(&note, "%s: %s %s %s: %s", class, v->finding.kind, v->finding.name,
                      v->finding.phase, v->finding.text);
        write_event(v, true, "OperatorFailing", ek_buf_str(&note), intents);
    }
    if (v->memory.recovered && !v->before.recovered)
        write_event(v, false, "OperatorRecovered", "the operator is healthy after a failure",
                    intents);
    if (*reason && strcmp(reason, ek_json_text(ek_json_get(old, "next", NULL), "reason")) != 0) {
        ek_buf_reset(&note);
        ek_buf_printf(&note, "%s: %s", reason, v->next.why);
        write_event(v, true, "FailForwardBlocked", ek_buf_str(&note), intents);
    }
}

static void report_step(const struct ek_ff_verdict *v, struct ek_intents *intents)
{
    EK_AUTO(ek_buf) note;

    ek_buf_init(&note, NOTE_MAX);
    ek_buf_printf(&note, "%s: %s: %s", ek_ff_step_name(v->next.step), v->next.target, v->next.why);
    write_event(v, false, ek_ff_act_name(v->next.act), ek_buf_str(&note), intents);
}

/* ---- Writes ---- */

static bool can_act(const struct ek_ff_verdict *v, const struct ek_ff_world *world, int64_t now_ms)
{
    EK_AUTO(ek_intents) trial;

    ek_intents_init(&trial);
    return v->next.act != EK_FF_NO_ACT && ek_ff_act(world, &v->state, &v->next, now_ms, &trial);
}

static void plan_step(const struct ek_ff_verdict *v, size_t index, const struct ek_ff_world *world,
                      int64_t now_ms, struct ek_intents *intents)
{
    size_t first = intents->n;

    if (v->next.step != EK_FF_RESTORE) /* what is taken back requires no consent */
        ek_ff_recheck(world->namespace, intents);
    for (size_t i = first; i < intents->n; i++)
        intents->items[i].tag = make_tag(EK_FF_TAG_CONSENT, index);
    first = intents->n;
    ek_ff_act(world, &v->state, &v->next, now_ms, intents);
    for (size_t i = first; i < intents->n; i++) {
        struct ek_intent *intent = ek_intents_depend(&intents->items[i]);
        intent->on_failure = EK_GO_ON; /* the other subscriptions do not wait for this one */
        intent->tag = make_tag(EK_FF_TAG_STEP, index);
    }
    report_step(v, intents);
}

static void plan_status(const struct ek_ff_verdict *v, size_t index, yyjson_val *status,
                        struct ek_intents *intents)
{
    struct ek_resource resource = reports;
    yyjson_mut_doc *doc = ek_intents_doc(intents);
    struct ek_apply_target target = {.resource = &resource, .name = ek_obj_name(v->subscription)};

    resource.namespace = ek_obj_namespace(v->subscription);
    if (v->report) {
        target.uid = ek_obj_uid(v->report);
        target.resource_version = ek_obj_resource_version(v->report);
    } else {
        ek_intents_create(intents, &target, new_report(v->subscription, doc))->tag =
            make_tag(EK_FF_TAG_REPORT, index);
    }
    struct ek_intent *intent =
        ek_intents_apply_status(intents, &target, yyjson_val_mut_copy(doc, status));
    intent->depends = !v->report;
    intent->tag = make_tag(EK_FF_TAG_STATUS, index);
}

/* What is taken back is forgotten only when it was seen to be taken back. */
static void note(struct ek_ff_verdict *v, int64_t now_ms)
{
    struct ek_ff_memory was = v->memory;

    ek_ff_note(&v->next, now_ms, &v->memory);
    if (v->next.step != EK_FF_RESTORE)
        return;
    memcpy(v->memory.pinned, was.pinned, sizeof was.pinned);
    v->memory.switched = was.switched;
}

void ek_ff_plan(struct ek_ff_verdict *v, size_t index, const struct ek_ff_world *world,
                int64_t now_ms, struct ek_intents *intents)
{
    bool acts = can_act(v, world, now_ms);

    if (v->is_taken)
        return;
    v->undone = v->memory;
    if (acts)
        note(v, now_ms);
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_obj *status = ek_obj_from_mut(ek_ff_status(v, now_ms, doc));
    yyjson_val *old = v->report ? ek_json_get(ek_obj_root(v->report), "status", NULL) : NULL;
    if (status && (acts || !old || !ek_json_equal(ek_obj_root(status), old))) {
        plan_status(v, index, ek_obj_root(status), intents);
        report_changes(v, ek_obj_root(status), intents);
        if (acts)
            plan_step(v, index, world, now_ms, intents);
    }
    ek_obj_unref(status);
    yyjson_mut_doc_free(doc);
}

/* ---- What Subscriptions that are gone have left ---- */

static bool is_remembered(const struct ek_ff_objs *all, const char *held)
{
    for (size_t i = 0; i < all->n; i++) {
        yyjson_val *episode = ek_json_get(ek_obj_root(all->items[i]), "status", "episode", NULL);
        if (held ? !strcmp(ek_json_text(episode, "held"), held)
                 : yyjson_is_true(ek_json_get(episode, "switched", NULL)))
            return true;
    }
    return false;
}

static bool somebody_consents(const struct ek_ff_inputs *in)
{
    size_t n = in->world->subscriptions.n;
    struct ek_ff_consented *all = ek_xalloc((n + 1) * sizeof *all);
    bool given = false;
    EK_AUTO(ek_buf) names;

    ek_buf_init(&names, NOTE_MAX);
    ek_ff_consent_all(in->rules, in->world, all, &names);
    for (size_t i = 0; i < n; i++)
        given = given || all[i].consent.mode >= EK_FF_ASSIST;
    ek_free(all);
    return given;
}

static void take_back(const struct ek_ff_inputs *in, enum ek_ff_act act, const struct ek_obj *obj,
                      struct ek_intents *intents)
{
    const struct ek_ff_state none = {0};
    const struct ek_ff_next next = {.step = EK_FF_RESTORE, .act = act, .target = ek_obj_name(obj)};
    size_t first = intents->n;

    ek_ff_act(in->world, &none, &next, in->now_ms, intents);
    for (size_t i = first; i < intents->n; i++) {
        intents->items[i].on_failure = EK_GO_ON;
        intents->items[i].tag = make_tag(EK_FF_TAG_LEFTOVER, 0);
    }
}

static bool is_our_hold(const struct ek_obj *csv)
{
    yyjson_val *status = ek_json_get(ek_obj_root(csv), "status", NULL);

    return !strcmp(ek_json_text(status, "phase"), "Failed") &&
           !strcmp(ek_json_text(status, "message"), EK_FF_PIN_MESSAGE) &&
           !ek_obj_label(csv, "olm.copiedFrom");
}

size_t ek_ff_plan_leftovers(const struct ek_ff_inputs *inputs, struct ek_intents *intents)
{
    const struct ek_ff_world *world = inputs->world;
    size_t first = intents->n;

    for (size_t i = 0; i < world->csvs.n && intents->n - first < LEFTOVERS_MAX; i++) {
        const struct ek_obj *csv = world->csvs.items[i];
        if (is_our_hold(csv) && !is_remembered(&inputs->reports, ek_obj_name(csv)))
            take_back(inputs, EK_FF_UNPIN, csv, intents);
    }
    for (size_t i = 0; i < world->groups.n; i++) {
        const struct ek_obj *group = world->groups.items[i];
        if (ek_ff_is_switched(group) && !is_remembered(&inputs->reports, NULL) &&
            !somebody_consents(inputs))
            take_back(inputs, EK_FF_UNSWITCH, group, intents);
    }
    return intents->n - first;
}
