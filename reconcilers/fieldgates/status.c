/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/status.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/cond.h"
#include "api/obj.h"

#define TEXT_MAX     1024
#define SERVED_MAX   32
#define PROBLEMS_MAX 32
#define NOTES_MAX    32

/* A status while it is written. */
struct out {
    const struct ek_gates_facts *facts;
    yyjson_val *old; /* the old status */
    struct ek_arena *arena;
    yyjson_mut_doc *doc;
    yyjson_mut_val *status, *omitted;
};

/* ---- Facts in numbers ---- */

static bool is_refused(const struct ek_gates_facts *f, const struct ek_gate *gate)
{
    for (size_t i = 0; f->resolution && i < f->resolution->n_refused; i++)
        if (!strcmp(f->resolution->refused[i], gate->name))
            return true;
    return false;
}

/* Whether writes have to be looked at for its sake. */
static bool has_work(const struct ek_gates_facts *f, const struct ek_gate *gate)
{
    return gate->n_paths && (!gate->on || gate->stage == EK_GATE_DEPRECATED) &&
           !is_refused(f, gate);
}

enum resolved { RESOLVED, UNRESOLVED, UNKNOWN };

static enum resolved resolved_by(const struct ek_gate_finding *finding)
{
    switch (finding->kind) {
    case EK_GATE_PATH_NOT_IN_VERSION:
        return finding->guarded ? UNRESOLVED : RESOLVED;
    case EK_GATE_PATH_UNRESOLVED:
    case EK_GATE_PATH_KEY:
    case EK_GATE_PATH_IN_LIST:
        return UNRESOLVED;
    case EK_GATE_PATH_UNVERIFIED:
        return UNKNOWN;
    default:
        return RESOLVED;
    }
}

static enum resolved path_resolved(const struct ek_gates_facts *f, const struct ek_field_path *path)
{
    if (!f->resolution)
        return UNKNOWN;
    for (size_t i = 0; i < f->resolution->n_findings; i++) {
        const struct ek_gate_finding *finding = &f->resolution->findings[i];
        enum resolved r = resolved_by(finding);
        if (r != RESOLVED && !strcmp(finding->path->text, path->text))
            return r;
    }
    return RESOLVED;
}

static struct ek_gate_count count_of(const struct ek_gates_facts *f, const char *gate)
{
    for (size_t i = 0; i < f->n_counts; i++)
        if (!strcmp(f->counts[i].gate, gate))
            return f->counts[i];
    return (struct ek_gate_count){0};
}

/* The first finding that is such, and how many are. */
static const struct ek_gate_finding *find_such(const struct ek_gates_facts *f, bool refused,
                                               enum resolved resolved, size_t *ret_n)
{
    const struct ek_gate_finding *first = NULL;

    *ret_n = 0;
    for (size_t i = 0; f->resolution && i < f->resolution->n_findings; i++) {
        const struct ek_gate_finding *finding = &f->resolution->findings[i];
        if (refused ? !finding->refused : resolved_by(finding) != resolved)
            continue;
        first = first ? first : finding;
        (*ret_n)++;
    }
    return first;
}

/* ---- Conditions ---- */

enum { ACCEPTED, CRD_FOUND, PATHS_RESOLVED, ENFORCED, CONDITIONS };

static const char *and_more(const struct out *o, const char *text, size_t n)
{
    return n > 1 ? ek_arena_printf(o->arena, "%s (and %zu more)", text, n - 1) : text;
}

static const char *finding_text(const struct out *o, const struct ek_gate_finding *finding,
                                size_t n)
{
    return and_more(
        o, ek_arena_printf(o->arena, "gate %s: %s", finding->gate->name, finding->message), n);
}

static const struct ek_gate *ignored_enabled(const struct ek_gates *gates)
{
    for (size_t i = 0; i < gates->n_gates; i++)
        if (gates->gates[i].ignored_enabled)
            return &gates->gates[i];
    return NULL;
}

static const char *ignored_text(const struct out *o, const struct ek_gate *gate)
{
    return ek_arena_printf(o->arena,
                           "gate %s: enabled: false is ignored, because stable gates are always on",
                           gate->name);
}

static struct ek_cond accepted(const struct out *o)
{
    const struct ek_gates_facts *f = o->facts;
    const struct ek_gate *ignored = ignored_enabled(f->gates);

    if (f->gates->n_problems)
        return (struct ek_cond){"Accepted", EK_COND_FALSE, "Invalid",
                                and_more(o, f->gates->problems[0], f->gates->n_problems)};
    if (f->import_message)
        return (struct ek_cond){"Accepted", EK_COND_TRUE, "AnnotationIgnored", f->import_message};
    if (ignored)
        return (struct ek_cond){"Accepted", EK_COND_TRUE, "EnabledIgnored",
                                ignored_text(o, ignored)};
    return (struct ek_cond){"Accepted", EK_COND_TRUE, "Accepted", "the definition is valid"};
}

static struct ek_cond crd_found(const struct out *o)
{
    const struct ek_gates_facts *f = o->facts;

    if (!f->resolution && f->crd_problem)
        return (struct ek_cond){"CRDFound", EK_COND_UNKNOWN, "NotRead", f->crd_problem};
    if (!f->resolution)
        return (struct ek_cond){
            "CRDFound", EK_COND_FALSE, "NotFound",
            ek_arena_printf(o->arena, "there is no CustomResourceDefinition %s; install it",
                            f->gates->name)};
    if (!f->resolution->crd.established)
        return (struct ek_cond){"CRDFound", EK_COND_FALSE, "NotEstablished",
                                "the CustomResourceDefinition is not established: its conditions "
                                "have the reason"};
    return (struct ek_cond){"CRDFound", EK_COND_TRUE, "Found",
                            ek_arena_printf(o->arena,
                                            "the CustomResourceDefinition stores version %s",
                                            f->resolution->crd.storage)};
}

static struct ek_cond paths_resolved(const struct out *o)
{
    const struct ek_gates_facts *f = o->facts;
    const struct ek_gate_finding *first;
    size_t n;

    if (!f->resolution)
        return (struct ek_cond){"PathsResolved", EK_COND_UNKNOWN, "NotFound",
                                "the paths cannot be resolved without a schema"};
    first = find_such(f, false, UNRESOLVED, &n);
    if (first)
        return (struct ek_cond){"PathsResolved", EK_COND_FALSE, ek_gate_finding_name(first->kind),
                                finding_text(o, first, n)};
    first = find_such(f, false, UNKNOWN, &n);
    if (first)
        return (struct ek_cond){"PathsResolved", EK_COND_TRUE, "Unverified",
                                finding_text(o, first, n)};
    return (struct ek_cond){"PathsResolved", EK_COND_TRUE, "Resolved",
                            ek_arena_printf(o->arena, "all paths are fields of version %s",
                                            f->resolution->crd.storage)};
}

/* What is enforced, and how: by denying all updates through a version that lacks a path. */
static const struct ek_gate_finding *find_guarded(const struct ek_gates_facts *f, size_t *ret_n)
{
    const struct ek_gate_finding *first = NULL;

    *ret_n = 0;
    for (size_t i = 0; i < f->resolution->n_findings; i++) {
        const struct ek_gate_finding *finding = &f->resolution->findings[i];
        if (!finding->guarded)
            continue;
        first = first ? first : finding;
        (*ret_n)++;
    }
    return first;
}

static struct ek_cond enforced_by_denial(const struct out *o, struct ek_cond cond)
{
    size_t n;
    const struct ek_gate_finding *first = find_guarded(o->facts, &n);

    if (!first || cond.status != EK_COND_TRUE)
        return cond;
    cond.reason = "UpdatesDenied";
    cond.message = ek_arena_printf(o->arena, "%s; %s", cond.message, finding_text(o, first, n));
    return cond;
}

/* "a, b and c" */
static const char *join_names(const struct out *o, const char *const *names, size_t n)
{
    const char *text = names[0];

    for (size_t i = 1; i < n; i++)
        text = ek_arena_printf(o->arena, "%s%s%s", text, i + 1 < n ? ", " : " and ", names[i]);
    return text;
}

/* What is enforced says where it is not. */
static struct ek_cond enforced_except(const struct out *o, struct ek_cond cond)
{
    const struct ek_gates_facts *f = o->facts;

    if (f->n_exempt && cond.status == EK_COND_TRUE)
        cond.message = ek_arena_printf(o->arena, "%s; objects in %s %s are not gated", cond.message,
                                       f->n_exempt > 1 ? "namespaces" : "namespace",
                                       join_names(o, f->exempt, f->n_exempt));
    return cond;
}

static struct ek_cond enforced_by_canary(const struct out *o)
{
    static const struct {
        enum ek_cond_status status;
        const char *reason, *message;
    } says[] = {
        [EK_CANARY_PENDING] = {EK_COND_UNKNOWN, "CanaryPending",
                               "it is not proven yet that the API servers call the webhook"},
        [EK_CANARY_ANSWERED] = {EK_COND_TRUE, "Enforced", "the API servers call the webhook"},
        [EK_CANARY_FAILED] = {EK_COND_FALSE, "CanaryFailed",
                              "an API server cannot reach the webhook"},
    };
    const struct ek_gates_facts *f = o->facts;

    return enforced_by_denial(
        o,
        enforced_except(
            o, (struct ek_cond){"Enforced", says[f->canary].status, says[f->canary].reason,
                                f->canary_message ? f->canary_message : says[f->canary].message}));
}

/* The summary: what stands in the way, the most basic first. */
static struct ek_cond enforced(const struct out *o, const struct ek_cond *all)
{
    const struct ek_gates_facts *f = o->facts;
    size_t n, work = 0;

    if (all[ACCEPTED].status != EK_COND_TRUE)
        return (struct ek_cond){"Enforced", EK_COND_FALSE, "Invalid", all[ACCEPTED].message};
    if (all[CRD_FOUND].status != EK_COND_TRUE)
        return (struct ek_cond){"Enforced", EK_COND_FALSE,
                                f->resolution    ? "CRDNotEstablished"
                                : f->crd_problem ? "CRDNotRead"
                                                 : "CRDNotFound",
                                all[CRD_FOUND].message};
    const struct ek_gate_finding *first = find_such(f, true, RESOLVED, &n);
    if (first)
        return (struct ek_cond){"Enforced", EK_COND_FALSE, "Refused", finding_text(o, first, n)};
    for (size_t i = 0; i < f->gates->n_gates; i++)
        work += has_work(f, &f->gates->gates[i]);
    if (!work)
        return (struct ek_cond){"Enforced", EK_COND_TRUE, "NothingToDo",
                                "no gate is off or deprecated"};
    if (!f->serving)
        return (struct ek_cond){"Enforced", EK_COND_FALSE, "NotServing",
                                "the webhook does not serve requests: see --webhook-bind-address"};
    if (!f->registered)
        return (struct ek_cond){"Enforced", EK_COND_FALSE, "NotRegistered",
                                f->registration_message ? f->registration_message
                                                        : "the webhook is not registered yet"};
    return enforced_by_canary(o);
}

static void put_conditions(const struct out *o, yyjson_val *old_status, int64_t now_ms)
{
    struct ek_cond want[CONDITIONS];

    want[ACCEPTED] = accepted(o);
    want[CRD_FOUND] = crd_found(o);
    want[PATHS_RESOLVED] = paths_resolved(o);
    want[ENFORCED] = enforced(o, want);
    yyjson_mut_val *list = ek_conds_merge(o->doc, yyjson_obj_get(old_status, "conditions"), want,
                                          CONDITIONS, o->facts->gates->generation, now_ms);
    if (list)
        yyjson_mut_obj_add_val(o->doc, o->status, "conditions", list);
}

/* ---- Lists ---- */

static void put_text(const struct out *o, yyjson_mut_val *object, const char *key, const char *s)
{
    struct ek_str all = ek_str_from(s ? s : "");

    if (all.len)
        yyjson_mut_obj_add_strncpy(o->doc, object, key, all.p, ek_utf8_cut(all, TEXT_MAX));
}

static void put_texts(const struct out *o, yyjson_mut_val *object, const char *key,
                      const char *const *list, size_t n, size_t max)
{
    if (n == 0)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, object, key);
    for (size_t i = 0; i < n && i < max; i++) {
        struct ek_str s = ek_str_from(list[i]);
        yyjson_mut_arr_add_strncpy(o->doc, array, s.p, ek_utf8_cut(s, TEXT_MAX));
    }
    if (n > max)
        yyjson_mut_obj_add_uint(o->doc, o->omitted, key, n - max);
}

static void put_crd(const struct out *o)
{
    const struct ek_gates_resolution *r = o->facts->resolution;

    if (!r)
        return;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, o->status, "crd");
    put_text(o, v, "kind", r->crd.kind);
    put_text(o, v, "storageVersion", r->crd.storage);
    put_texts(o, v, "servedVersions", r->crd.served, r->crd.n_served, SERVED_MAX);
    yyjson_mut_obj_add_str(o->doc, v, "conversion", r->crd.converts ? "Webhook" : "None");
}

static void put_paths(const struct out *o, yyjson_mut_val *v, const struct ek_gate *gate)
{
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, v, "paths");

    for (size_t i = 0; i < gate->n_paths && i < EK_GATE_PATHS_MAX; i++) {
        yyjson_mut_val *path = yyjson_mut_arr_add_obj(o->doc, array);
        enum resolved resolved = path_resolved(o->facts, &gate->paths[i]);
        yyjson_mut_obj_add_strcpy(o->doc, path, "path", gate->paths[i].text);
        if (resolved != UNKNOWN)
            yyjson_mut_obj_add_bool(o->doc, path, "resolved", resolved == RESOLVED);
    }
}

/* ---- The census ---- */

static bool is_census_known(const struct ek_gates_facts *f)
{
    return f->census && f->census->known && f->census->generation == f->gates->generation;
}

/* What another replica has found out holds while the gates are the same. */
static yyjson_val *old_gate(const struct out *o, const char *name)
{
    yyjson_val *gate, *generation = yyjson_obj_get(o->old, "observedGeneration");
    size_t i, n;

    if (yyjson_get_sint(generation) != o->facts->gates->generation)
        return NULL;
    yyjson_arr_foreach(yyjson_obj_get(o->old, "gates"), i, n, gate)
    {
        if (yyjson_equals_str(yyjson_obj_get(gate, "name"), name))
            return gate;
    }
    return NULL;
}

static void put_held(const struct out *o, yyjson_mut_val *v, const struct ek_gate *gate)
{
    yyjson_val *old = yyjson_obj_get(old_gate(o, gate->name), "storedObjects");

    if (!ek_gate_is_counted(gate))
        return;
    if (is_census_known(o->facts))
        yyjson_mut_obj_add_uint(o->doc, v, "storedObjects",
                                o->facts->census->result.held[gate - o->facts->gates->gates]);
    else if (old)
        yyjson_mut_obj_add_uint(o->doc, v, "storedObjects", yyjson_get_uint(old));
}

static void put_census(const struct out *o)
{
    const struct ek_gates_census_state *census = o->facts->census;
    yyjson_val *old = yyjson_obj_get(o->old, "census");
    char text[EK_TIME_SIZE];

    if (!ek_gates_are_counted(o->facts->gates))
        return;
    if (!is_census_known(o->facts) && !(census && *census->message)) {
        if (yyjson_is_obj(old))
            yyjson_mut_obj_add_val(o->doc, o->status, "census", yyjson_val_mut_copy(o->doc, old));
        return;
    }
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, o->status, "census");
    if (census->known) {
        yyjson_mut_obj_add_strcpy(o->doc, v, "observedTime", ek_time_format(census->at_ms, text));
        yyjson_mut_obj_add_uint(o->doc, v, "objects", census->result.objects);
    }
    put_text(o, v, "message", census->message);
}

static void put_gate(const struct out *o, yyjson_mut_val *array, const struct ek_gate *gate)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);
    struct ek_gate_count count = count_of(o->facts, gate->name);

    yyjson_mut_obj_add_strcpy(o->doc, v, "name", gate->name);
    put_text(o, v, "preRelease", ek_gate_stage_name(gate->stage));
    yyjson_mut_obj_add_str(o->doc, v, "state", gate->on ? "On" : "Off");
    yyjson_mut_obj_add_int(o->doc, v, "rule", (int)gate->rule);
    put_text(o, v, "reason", ek_gate_rule_text(gate->rule, gate->on));
    if (is_refused(o->facts, gate))
        yyjson_mut_obj_add_bool(o->doc, v, "refused", true);
    put_paths(o, v, gate);
    put_held(o, v, gate);
    if (o->facts->n_counts) {
        yyjson_mut_obj_add_uint(o->doc, v, "suppressed", count.suppressed);
        yyjson_mut_obj_add_uint(o->doc, v, "deprecatedUses", count.deprecated_uses);
    }
}

/* A list-type=map has each name once; of gates with one name the first counts. */
static void put_gates(const struct out *o)
{
    const struct ek_gates *gates = o->facts->gates;

    if (!gates->n_gates)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, o->status, "gates");
    for (size_t i = 0; i < gates->n_gates && yyjson_mut_arr_size(array) < EK_GATES_MAX; i++)
        if (ek_gates_find(gates, gates->gates[i].name) == &gates->gates[i])
            put_gate(o, array, &gates->gates[i]);
}

static void put_finding(const struct out *o, yyjson_mut_val *array,
                        const struct ek_gate_finding *finding)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);

    yyjson_mut_obj_add_strcpy(o->doc, v, "gate", finding->gate->name);
    yyjson_mut_obj_add_strcpy(o->doc, v, "path", finding->path->text);
    yyjson_mut_obj_add_str(o->doc, v, "type", ek_gate_finding_name(finding->kind));
    put_text(o, v, "version", finding->version);
    if (finding->refused)
        yyjson_mut_obj_add_bool(o->doc, v, "refused", true);
    if (finding->guarded)
        yyjson_mut_obj_add_bool(o->doc, v, "updatesDenied", true);
    put_text(o, v, "message", finding->message);
}

static void put_findings(const struct out *o)
{
    const struct ek_gates_resolution *r = o->facts->resolution;

    if (!r || !r->n_findings)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, o->status, "findings");
    for (size_t i = 0; i < r->n_findings && i < EK_GATES_STATUS_FINDINGS_MAX; i++)
        put_finding(o, array, &r->findings[i]);
    if (r->n_findings > EK_GATES_STATUS_FINDINGS_MAX)
        yyjson_mut_obj_add_uint(o->doc, o->omitted, "findings",
                                r->n_findings - EK_GATES_STATUS_FINDINGS_MAX);
}

static void put_notes(const struct out *o)
{
    const struct ek_gates *gates = o->facts->gates;
    const char **list = ek_arena_alloc(o->arena, (gates->n_gates + 2) * sizeof *list);
    size_t n = 0;

    if (o->facts->import_message)
        list[n++] = o->facts->import_message;
    for (size_t i = 0; i < gates->n_gates; i++)
        if (gates->gates[i].ignored_enabled)
            list[n++] = ignored_text(o, &gates->gates[i]);
    put_texts(o, o->status, "notes", list, n, NOTES_MAX);
}

/* ---- The whole ---- */

static void put_summary(const struct out *o)
{
    const struct ek_gates_facts *f = o->facts;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, o->status, "summary");
    uint64_t suppressed = 0, deprecated_uses = 0;
    size_t on = 0, paths = 0, unresolved = 0;

    for (size_t i = 0; i < f->gates->n_gates; i++) {
        const struct ek_gate *gate = &f->gates->gates[i];
        on += gate->on;
        paths += gate->n_paths;
        for (size_t j = 0; j < gate->n_paths; j++)
            unresolved += path_resolved(f, &gate->paths[j]) == UNRESOLVED;
    }
    for (size_t i = 0; i < f->n_counts; i++) {
        suppressed += f->counts[i].suppressed;
        deprecated_uses += f->counts[i].deprecated_uses;
    }
    yyjson_mut_obj_add_uint(o->doc, v, "gates", f->gates->n_gates);
    yyjson_mut_obj_add_uint(o->doc, v, "on", on);
    yyjson_mut_obj_add_uint(o->doc, v, "paths", paths);
    if (f->resolution) {
        yyjson_mut_obj_add_uint(o->doc, v, "unresolved", unresolved);
        yyjson_mut_obj_add_uint(o->doc, v, "refused", f->resolution->n_refused);
        yyjson_mut_obj_add_uint(o->doc, v, "findings", f->resolution->n_findings);
    }
    yyjson_mut_obj_add_uint(o->doc, v, "suppressed", suppressed);
    yyjson_mut_obj_add_uint(o->doc, v, "deprecatedUses", deprecated_uses);
}

yyjson_mut_val *ek_gates_status(const struct ek_gates_facts *facts, yyjson_val *old_status,
                                int64_t now_ms, struct ek_arena *arena, yyjson_mut_doc *doc)
{
    const struct out o = {facts, old_status, arena, doc, yyjson_mut_obj(doc), yyjson_mut_obj(doc)};

    if (!o.status || !o.omitted)
        return NULL;
    if (facts->gates->generation > 0)
        yyjson_mut_obj_add_int(doc, o.status, "observedGeneration", facts->gates->generation);
    put_summary(&o);
    put_conditions(&o, old_status, now_ms);
    put_crd(&o);
    put_gates(&o);
    put_census(&o);
    put_findings(&o);
    put_texts(&o, o.status, "exemptNamespaces", facts->exempt, facts->n_exempt, facts->n_exempt);
    put_texts(&o, o.status, "problems", facts->gates->problems, facts->gates->n_problems,
              PROBLEMS_MAX);
    put_notes(&o);
    if (yyjson_mut_obj_size(o.omitted))
        yyjson_mut_obj_add_val(doc, o.status, "omitted", o.omitted);
    return o.status;
}
