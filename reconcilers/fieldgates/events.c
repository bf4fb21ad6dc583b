/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/events.h"

#include <string.h>

#include "api/base/quote.h"
#include "api/cond.h"
#include "api/obj.h"

#define NOTE_MAX   900 /* octets; the server takes 1 kB */
#define NAMED_MAX  8   /* gates that a note names */
#define REASON_MAX 200 /* octets of a gate's own words */

struct events {
    yyjson_val *old, *now;
    struct ek_arena *arena;
    struct ek_gate_event *list;
    size_t n;
};

static void write_event(struct events *e, bool warning, const char *reason, const char *action,
                        const char *note)
{
    e->list[e->n++] = (struct ek_gate_event){
        .warning = warning,
        .reason = reason,
        .action = action,
        .note = ek_arena_strndup(e->arena, note, ek_utf8_cut(ek_str_from(note), NOTE_MAX))};
}

/* ---- Gates ---- */

/* Whether an entry of status.gates is in the given state. */
typedef bool is_fn(yyjson_val *gate);

static bool is_on(yyjson_val *gate)
{
    return yyjson_equals_str(yyjson_obj_get(gate, "state"), "On");
}

static bool is_off(yyjson_val *gate)
{
    return yyjson_equals_str(yyjson_obj_get(gate, "state"), "Off");
}

static bool is_refused(yyjson_val *gate)
{
    return yyjson_get_bool(yyjson_obj_get(gate, "refused"));
}

static yyjson_val *find_gate(yyjson_val *status, const char *name)
{
    yyjson_val *gate;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "gates"), i, n, gate)
    {
        if (yyjson_equals_str(yyjson_obj_get(gate, "name"), name))
            return gate;
    }
    return NULL;
}

/* What the findings say of a refused gate; for others what decided. */
static const char *words_of(const struct events *e, yyjson_val *gate)
{
    const char *reason = ek_json_str(gate, "reason", NULL);
    yyjson_val *finding, *name = yyjson_obj_get(gate, "name");
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(e->now, "findings"), i, n, finding)
    {
        const char *message = ek_json_str(finding, "message", NULL);
        if (message && is_refused(gate) && is_refused(finding) &&
            ek_json_equal(yyjson_obj_get(finding, "gate"), name))
            return message;
    }
    return reason ? reason : "";
}

/* "Scaling (enabled: true), Tier (beta is on) and 3 more"; "" when no gate has become so. A gate
 * that was not there before has not changed, unless news of it counts. */
static const char *list_gates(const struct events *e, is_fn *is, bool also_new)
{
    const char *text = "";
    size_t i, n, found = 0;
    yyjson_val *gate;

    yyjson_arr_foreach(yyjson_obj_get(e->now, "gates"), i, n, gate)
    {
        const char *name = ek_json_str(gate, "name", NULL);
        yyjson_val *before = name ? find_gate(e->old, name) : NULL;
        if (!name || !is(gate) || (before ? is(before) : !also_new))
            continue;
        if (found++ < NAMED_MAX) {
            const char *words = words_of(e, gate);
            words = ek_arena_strndup(e->arena, words, ek_utf8_cut(ek_str_from(words), REASON_MAX));
            text = ek_arena_printf(e->arena, "%s%s%s (%s)", text, *text ? ", " : "", name, words);
        }
    }
    if (found > NAMED_MAX)
        text = ek_arena_printf(e->arena, "%s and %zu more", text, found - NAMED_MAX);
    return text;
}

static void report_gates(struct events *e)
{
    const char *on = list_gates(e, is_on, false);
    const char *off = list_gates(e, is_off, false);
    const char *refused = list_gates(e, is_refused, true);

    if (*on)
        write_event(
            e, false, "GateEnabled", "Open",
            ek_arena_printf(e->arena, "Turned on, so that their fields can be written: %s", on));
    if (*off)
        write_event(
            e, false, "GateDisabled", "Close",
            ek_arena_printf(e->arena,
                            "Turned off, so that new fields are dropped and existing fields are "
                            "frozen: %s",
                            off));
    if (*refused)
        write_event(e, true, "GateRefused", "Refuse",
                    ek_arena_printf(e->arena,
                                    "Not enforced, so that their fields can be written: %s",
                                    refused));
}

/* ---- Versions ---- */

static bool denies_updates(yyjson_val *finding)
{
    return yyjson_get_bool(yyjson_obj_get(finding, "updatesDenied"));
}

static bool did_deny(yyjson_val *old_status, yyjson_val *version)
{
    yyjson_val *finding;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(old_status, "findings"), i, n, finding)
    {
        if (denies_updates(finding) && ek_json_equal(yyjson_obj_get(finding, "version"), version))
            return true;
    }
    return false;
}

/* The first version through which updates are newly denied; the status has all of them. */
static void report_versions(struct events *e)
{
    yyjson_val *finding;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(e->now, "findings"), i, n, finding)
    {
        yyjson_val *version = yyjson_obj_get(finding, "version");
        const char *message = ek_json_str(finding, "message", NULL);
        if (!message || !version || !denies_updates(finding) || did_deny(e->old, version))
            continue;
        write_event(e, true, "UpdatesDenied", "Guard", message);
        return;
    }
}

/* ---- Conditions ---- */

static enum ek_cond_status state_of(yyjson_val *status, const char *type)
{
    return ek_cond_status(yyjson_obj_get(status, "conditions"), type);
}

static const char *message_of(const struct events *e, const char *type)
{
    const char *message =
        ek_json_str(ek_cond_find(yyjson_obj_get(e->now, "conditions"), type), "message", NULL);
    return message ? message : "";
}

static void report_conditions(struct events *e)
{
    enum ek_cond_status was = state_of(e->old, "Enforced"), is = state_of(e->now, "Enforced");

    if (state_of(e->now, "Accepted") == EK_COND_FALSE &&
        state_of(e->old, "Accepted") != EK_COND_FALSE)
        write_event(e, true, "DefinitionInvalid", "Refuse", message_of(e, "Accepted"));
    if (is == EK_COND_TRUE && was != EK_COND_TRUE)
        write_event(e, false, "Enforced", "Enforce", message_of(e, "Enforced"));
    if (is == EK_COND_FALSE && was == EK_COND_TRUE)
        write_event(e, true, "NotEnforced", "Enforce", message_of(e, "Enforced"));
}

size_t ek_gate_events(yyjson_val *old_status, yyjson_val *status, struct ek_arena *arena,
                      struct ek_gate_event ret[EK_GATE_EVENTS_MAX])
{
    struct events e = {.old = old_status, .now = status, .arena = arena, .list = ret};

    report_gates(&e);
    report_versions(&e);
    report_conditions(&e);
    return e.n;
}
