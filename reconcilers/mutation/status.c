/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/status.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/cond.h"
#include "api/obj.h"
#include "reconcilers/mutation/blocked.h"
#include "reconcilers/mutation/scopes.h"

#define TEXT_MAX 1024

/* ---- Names ---- */

static const char *enforcer_name(enum ek_enforcer enforcer)
{
    static const char *const names[EK_ENFORCER_MAX] = {
        [EK_ENFORCER_UNKNOWN] = "Unknown",
        [EK_ENFORCER_NOBODY] = "Nobody",
        [EK_ENFORCER_API_SERVERS] = "APIServers",
        [EK_ENFORCER_EVENKEEL] = "Evenkeel",
        [EK_ENFORCER_MIXED] = "Mixed",
    };

    return names[enforcer];
}

void ek_policy_types_done(struct ek_policy_types *types)
{
    ek_arena_free(types->arena);
    *types = (struct ek_policy_types){0};
}

bool ek_policy_has_status(const struct ek_policy *policy, bool other_group_has_name)
{
    return !policy->native || !other_group_has_name;
}

/* ---- Conditions ---- */

enum { READY, COMPILED, TYPES_CHECKED, BOUND, ENFORCED, CONVERGING, CONDITIONS };

/* A status while it is written. */
struct out {
    const struct ek_policy_facts *facts;
    struct ek_arena *arena;
    yyjson_mut_doc *doc;
    yyjson_mut_val *status, *omitted;
};

/* The servers that refuse the policy, at most max; returns how many there are. */
static size_t refusers(const struct out *o, const struct ek_refusal_server **ret, size_t max)
{
    const struct ek_policy_facts *f = o->facts;
    size_t n = 0;

    for (size_t i = 0; f->refusal && f->refusal->problem && i < f->servers->n; i++) {
        if (!ek_policy_is_refused(f->refusal, &f->servers->list[i]))
            continue;
        if (n < max)
            ret[n] = &f->servers->list[i];
        n++;
    }
    return n;
}

static struct ek_cond refused(const struct out *o, const struct ek_refusal_server *first, size_t n)
{
    const struct ek_policy_refusal *refusal = o->facts->refusal;
    const char *more = n > 1 ? ek_arena_printf(o->arena, " (and %zu more)", n - 1) : "";
    const char *needs = refusal->needs <= EK_CEL_COMPAT_MAX
                            ? ek_arena_printf(o->arena, "the policy needs 1.%d", refusal->needs)
                            : "no version takes the policy as a new one";

    return (struct ek_cond){
        "Compiled", EK_COND_TRUE, "RefusedBySome",
        ek_arena_printf(o->arena,
                        "all expressions compile, but the API server %s%s, of the minimum "
                        "compatibility version 1.%d, refuses a request that writes the policy; "
                        "%s: %s",
                        first->name, more, first->minor, needs, refusal->problem)};
}

static struct ek_cond compiled(const struct out *o)
{
    const struct ek_policy *p = o->facts->policy;
    const struct ek_refusal_server *first = NULL;
    size_t n = refusers(o, &first, 1);

    if (p->n_problems == 0 && n)
        return refused(o, first, n);
    if (p->n_problems == 0)
        return (struct ek_cond){"Compiled", EK_COND_TRUE, "Compiled",
                                "all fields are valid and all expressions compile"};
    return (struct ek_cond){
        "Compiled", EK_COND_FALSE, "Invalid",
        p->n_problems == 1
            ? p->problems[0]
            : ek_arena_printf(o->arena, "%s (and %zu more)", p->problems[0], p->n_problems - 1)};
}

static struct ek_cond types_checked(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;
    const struct ek_policy_finding *first = NULL;
    size_t errors = 0;

    if (f->types == EK_TYPES_PENDING)
        return (struct ek_cond){"TypesChecked", EK_COND_UNKNOWN, "Pending",
                                f->types_message ? f->types_message : "not checked yet"};
    for (size_t i = 0; i < f->n_findings; i++) {
        first = first || f->findings[i].warning ? first : &f->findings[i];
        errors += !f->findings[i].warning;
    }
    if (first)
        return (struct ek_cond){"TypesChecked", EK_COND_FALSE, "Mismatch",
                                ek_arena_printf(o->arena, "%s: %s%s", first->field, first->message,
                                                errors > 1 ? " (and more, see findings)" : "")};
    return (struct ek_cond){"TypesChecked", EK_COND_TRUE,
                            f->n_findings ? "CheckedWithWarnings" : "Checked",
                            "all expressions fit the kinds that are matched"};
}

/* Why each request that a binding matches is an error; NULL: it is not. */
static const char *failing(const struct ek_policy *policy, const struct ek_binding *binding)
{
    const char *problem = ek_rules_problem(binding->rules);

    return problem || !policy->has_params ? problem : binding->param_problem;
}

static struct ek_cond bound(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;
    const char *problem;

    if (f->n_bindings == 0)
        return (struct ek_cond){"Bound", EK_COND_FALSE, "NoBinding",
                                "no binding names the policy, so it does nothing"};
    for (size_t i = 0; i < f->n_bindings; i++)
        if ((problem = failing(f->policy, f->bindings[i])))
            return (struct ek_cond){"Bound", EK_COND_FALSE, "InvalidBinding",
                                    ek_arena_printf(o->arena, "binding %s: %s; %s; %s",
                                                    f->bindings[i]->name, problem,
                                                    ek_policy_consequence(f->policy),
                                                    problem == f->bindings[i]->param_problem
                                                        ? EK_BINDING_PARAMS_REMEDY
                                                        : EK_BINDING_SELECTOR_REMEDY)};
    for (size_t i = 0; i < f->n_bindings; i++)
        if (f->bindings[i]->n_problems)
            return (struct ek_cond){"Bound", EK_COND_TRUE, "InvalidBinding",
                                    ek_arena_printf(o->arena, "binding %s: %s; correct the field",
                                                    f->bindings[i]->name,
                                                    f->bindings[i]->problems[0])};
    return (struct ek_cond){"Bound", EK_COND_TRUE, "Bound",
                            ek_arena_printf(o->arena,
                                            f->n_bindings == 1 ? "%zu binding" : "%zu bindings",
                                            f->n_bindings)};
}

/* Also where it is not known which API servers do. */
static bool is_by_evenkeel(enum ek_enforcer enforcer)
{
    return enforcer != EK_ENFORCER_NOBODY && enforcer != EK_ENFORCER_API_SERVERS;
}

static struct ek_cond enforced(const struct out *o)
{
    static const struct {
        enum ek_cond_status status;
        const char *reason, *message;
    } says[EK_ENFORCER_MAX] = {
        [EK_ENFORCER_UNKNOWN] = {EK_COND_UNKNOWN, "NotKnown",
                                 "it is not known which API servers enforce the policy"},
        [EK_ENFORCER_NOBODY] = {EK_COND_FALSE, "NotEnforced",
                                "neither the API servers nor Evenkeel enforce the policy"},
        [EK_ENFORCER_API_SERVERS] = {EK_COND_TRUE, "EnforcedByAPIServers",
                                     "all API servers enforce the policy themselves"},
        [EK_ENFORCER_EVENKEEL] = {EK_COND_TRUE, "EnforcedByEvenkeel",
                                  "Evenkeel enforces the policy"},
        [EK_ENFORCER_MIXED] =
            {EK_COND_TRUE, "EnforcedByBoth",
             "some API servers enforce the policy, and Evenkeel enforces it for the others"},
    };
    const struct ek_policy_facts *f = o->facts;

    if (f->policy->enforcement == EK_POLICY_OBSERVE && f->enforcer == EK_ENFORCER_NOBODY)
        return (struct ek_cond){"Enforced", EK_COND_FALSE, "ObservedOnly",
                                "enforcement is Observe: the policy is evaluated and not applied"};
    if (f->unregistered.reason)
        return (struct ek_cond){"Enforced",
                                f->unregistered.unknown ? EK_COND_UNKNOWN : EK_COND_FALSE,
                                f->unregistered.reason, f->unregistered.message};
    if (f->block.reason && is_by_evenkeel(f->enforcer))
        return (struct ek_cond){"Enforced", EK_COND_FALSE, f->block.reason, f->block.message};
    return (struct ek_cond){"Enforced", says[f->enforcer].status, says[f->enforcer].reason,
                            f->enforcer_message ? f->enforcer_message : says[f->enforcer].message};
}

static const char *parties(const struct out *o, const struct ek_fight_seen *fight)
{
    const char *text = "";

    for (size_t i = 0; i < fight->n_parties && i < EK_POLICY_STATUS_PARTIES_MAX; i++)
        text = ek_arena_printf(o->arena, "%s%s%s", text, i ? ", " : "", fight->parties[i].policy);
    return text;
}

static struct ek_cond converging(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;

    if (f->n_fights == 0)
        return (struct ek_cond){"Converging", EK_COND_TRUE, "NoFights",
                                "no fight with another policy was observed"};
    return (struct ek_cond){"Converging", EK_COND_FALSE, "Fighting",
                            ek_arena_printf(o->arena, "%s of %s: %s%s", f->fights[0].path,
                                            f->fights[0].kind, parties(o, &f->fights[0]),
                                            f->n_fights > 1 ? " (and more, see fights)" : "")};
}

/* The summary: what is not as it should be, the most basic first. */
static struct ek_cond ready(const struct ek_cond *all)
{
    static const int basics[] = {COMPILED, BOUND, ENFORCED, TYPES_CHECKED, CONVERGING};

    for (size_t i = 0; i < EK_ARRAY_SIZE(basics); i++) {
        const struct ek_cond *c = &all[basics[i]];
        bool unknown_is_fine = basics[i] == TYPES_CHECKED || basics[i] == CONVERGING;
        if (c->status == EK_COND_FALSE || (c->status == EK_COND_UNKNOWN && !unknown_is_fine))
            return (struct ek_cond){"Ready", c->status, c->reason, c->message};
    }
    return (struct ek_cond){"Ready", EK_COND_TRUE, all[ENFORCED].reason, all[ENFORCED].message};
}

static void put_conditions(const struct out *o, yyjson_val *old_status, int64_t now_ms)
{
    struct ek_cond want[CONDITIONS];

    want[COMPILED] = compiled(o);
    want[TYPES_CHECKED] = types_checked(o);
    want[BOUND] = bound(o);
    want[ENFORCED] = enforced(o);
    want[CONVERGING] = converging(o);
    want[READY] = ready(want);
    yyjson_mut_val *list = ek_conds_merge(o->doc, yyjson_obj_get(old_status, "conditions"), want,
                                          CONDITIONS, o->facts->policy->generation, now_ms);
    if (list)
        yyjson_mut_obj_add_val(o->doc, o->status, "conditions", list);
}

/* ---- Lists ---- */

static void put_text(const struct out *o, yyjson_mut_val *object, const char *key, const char *s,
                     size_t max)
{
    struct ek_str all = ek_str_from(s ? s : "");

    if (all.len)
        yyjson_mut_obj_add_strncpy(o->doc, object, key, all.p, ek_utf8_cut(all, max));
}

static void put_texts(const struct out *o, const char *key, const char *const *list, size_t n,
                      size_t max)
{
    if (n == 0)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, o->status, key);
    for (size_t i = 0; i < n && i < max; i++) {
        struct ek_str all = ek_str_from(*list[i] ? list[i] : "(object)");
        yyjson_mut_arr_add_strncpy(o->doc, array, all.p, ek_utf8_cut(all, TEXT_MAX));
    }
    if (n > max)
        yyjson_mut_obj_add_uint(o->doc, o->omitted, key, n - max);
}

static void put_bindings(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;
    const char **names = ek_arena_alloc(o->arena, (f->n_bindings + 1) * sizeof *names);

    for (size_t i = 0; i < f->n_bindings; i++)
        names[i] = f->bindings[i]->name;
    put_texts(o, "bindings", names, f->n_bindings, EK_POLICY_STATUS_BINDINGS_MAX);
}

static void put_findings(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;

    if (f->types != EK_TYPES_CHECKED || f->n_findings == 0)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, o->status, "findings");
    for (size_t i = 0; i < f->n_findings && i < EK_POLICY_STATUS_FINDINGS_MAX; i++) {
        const struct ek_policy_finding *finding = &f->findings[i];
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);
        put_text(o, v, "field", finding->field, TEXT_MAX);
        put_text(o, v, "kind", finding->kind, TEXT_MAX);
        put_text(o, v, "severity", finding->warning ? "Warning" : "Error", TEXT_MAX);
        put_text(o, v, "message", finding->message, TEXT_MAX);
    }
    if (f->n_findings > EK_POLICY_STATUS_FINDINGS_MAX)
        yyjson_mut_obj_add_uint(o->doc, o->omitted, "findings",
                                f->n_findings - EK_POLICY_STATUS_FINDINGS_MAX);
}

static void put_fight(const struct out *o, yyjson_mut_val *array, const struct ek_fight_seen *fight)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);
    char since[EK_TIME_SIZE];

    yyjson_mut_obj_add_strncpy(o->doc, v, "path", fight->path,
                               ek_utf8_cut(ek_str_from(fight->path), TEXT_MAX));
    put_text(o, v, "kind", fight->kind, TEXT_MAX);
    if (fight->since_ms != EK_TIME_UNSET)
        yyjson_mut_obj_add_strcpy(o->doc, v, "since", ek_time_format(fight->since_ms, since));
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(o->doc, v, "parties");
    for (size_t i = 0; i < fight->n_parties && i < EK_POLICY_STATUS_PARTIES_MAX; i++) {
        yyjson_mut_val *party = yyjson_mut_arr_add_obj(o->doc, list);
        put_text(o, party, "policy", fight->parties[i].policy, TEXT_MAX);
        put_text(o, party, "valueHash", fight->parties[i].value_hash, TEXT_MAX);
    }
}

static void put_fights(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;

    if (f->n_fights == 0)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, o->status, "fights");
    for (size_t i = 0; i < f->n_fights && i < EK_POLICY_STATUS_FIGHTS_MAX; i++)
        put_fight(o, array, &f->fights[i]);
    if (f->n_fights > EK_POLICY_STATUS_FIGHTS_MAX)
        yyjson_mut_obj_add_uint(o->doc, o->omitted, "fights",
                                f->n_fights - EK_POLICY_STATUS_FIGHTS_MAX);
}

static void put_problems(const struct out *o)
{
    const struct ek_policy *p = o->facts->policy;
    const char **list = ek_arena_alloc(o->arena, (p->n_problems + 2) * sizeof *list);
    size_t n = 0;

    if (o->facts->shadows_native)
        list[n++] = "a policy of admissionregistration.k8s.io has the same name; this status is "
                    "about the policy of evenkeel.dev";
    for (size_t i = 0; i < p->n_problems; i++)
        list[n++] = p->problems[i];
    put_texts(o, "problems", list, n, EK_POLICY_STATUS_PROBLEMS_MAX);
}

/* What each mutation that says so demands of the final object; others demand nothing. */
static void put_safety(const struct out *o)
{
    static const char *const names[] = {
        [EK_SAFETY_NONE] = NULL,
        [EK_SAFETY_EXACT] = "Exact",
        [EK_SAFETY_OVERWRITABLE] = "Overwritable",
        [EK_SAFETY_CONDITION] = "Condition",
    };
    const struct ek_policy *p = o->facts->policy;
    yyjson_mut_val *array = yyjson_mut_arr(o->doc);
    size_t n = 0;

    for (size_t i = 0; i < p->n_mutations; i++) {
        const char *name = names[p->mutations[i].safety];
        if (!name || n++ >= EK_POLICY_STATUS_SAFETY_MAX)
            continue;
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);
        put_text(o, v, "field", ek_arena_printf(o->arena, "spec.mutations[%zu]", i), TEXT_MAX);
        put_text(o, v, "type", name, TEXT_MAX);
    }
    if (n)
        yyjson_mut_obj_add_val(o->doc, o->status, "safety", array);
    if (n > EK_POLICY_STATUS_SAFETY_MAX)
        yyjson_mut_obj_add_uint(o->doc, o->omitted, "safety", n - EK_POLICY_STATUS_SAFETY_MAX);
}

static void put_refusals(const struct out *o)
{
    const struct ek_refusal_server *list[EK_POLICY_STATUS_SERVERS_MAX];
    size_t n = refusers(o, list, EK_ARRAY_SIZE(list));

    if (n == 0)
        return;
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(o->doc, o->status, "refusedBy");
    for (size_t i = 0; i < n && i < EK_ARRAY_SIZE(list); i++) {
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(o->doc, array);
        put_text(o, v, "server", list[i]->name, TEXT_MAX);
        put_text(o, v, "minCompatibilityVersion", ek_arena_printf(o->arena, "1.%d", list[i]->minor),
                 TEXT_MAX);
    }
    if (n > EK_ARRAY_SIZE(list))
        yyjson_mut_obj_add_uint(o->doc, o->omitted, "refusedBy", n - EK_ARRAY_SIZE(list));
}

/* ---- The whole ---- */

/* The policy directly before, and no number: a number would change in the statuses of all policies
 * behind one that comes or goes. */
static void put_order(const struct out *o, yyjson_mut_val *summary)
{
    const char *after = o->facts->after;

    if (after)
        put_text(o, summary, "order",
                 *after ? ek_arena_printf(o->arena, "after %s", after) : "first", TEXT_MAX);
}

static void put_policy(const struct out *o)
{
    const struct ek_policy *p = o->facts->policy;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, o->status, "policy");

    yyjson_mut_obj_add_str(o->doc, v, "group",
                           p->native ? "admissionregistration.k8s.io" : "evenkeel.dev");
    put_text(o, v, "uid", p->uid, TEXT_MAX);
    yyjson_mut_obj_add_str(o->doc, v, "behaviour",
                           p->behaviour == EK_POLICY_EXTENDED ? "Extended" : "InTree");
    yyjson_mut_obj_add_str(o->doc, v, "enforcement", ek_policy_enforcement_name(p->enforcement));
    yyjson_mut_obj_add_str(o->doc, v, "failurePolicy", p->ignore_failures ? "Ignore" : "Fail");
}

static void put_summary(const struct out *o)
{
    const struct ek_policy_facts *f = o->facts;
    const struct ek_scopes *scopes = f->policy->scopes;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, o->status, "summary");

    yyjson_mut_obj_add_str(o->doc, v, "enforcedBy", enforcer_name(f->enforcer));
    put_order(o, v);
    put_text(o, v, "scope", *scopes->scope ? scopes->scope : "(object)", TEXT_MAX);
    yyjson_mut_obj_add_uint(o->doc, v, "bindings", f->n_bindings);
    yyjson_mut_obj_add_uint(o->doc, v, "mutations", f->policy->n_mutations);
    if (f->types == EK_TYPES_CHECKED)
        yyjson_mut_obj_add_uint(o->doc, v, "findings", f->n_findings);
    yyjson_mut_obj_add_uint(o->doc, v, "fights", f->n_fights);
}

static void put_counts(const struct out *o)
{
    const struct ek_policy_counts *c = &o->facts->counts;

    if (!c->known)
        return;
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(o->doc, o->status, "counts");
    yyjson_mut_obj_add_uint(o->doc, v, "applied", c->applied);
    yyjson_mut_obj_add_uint(o->doc, v, "ignored", c->ignored);
    yyjson_mut_obj_add_uint(o->doc, v, "denied", c->denied);
    yyjson_mut_obj_add_uint(o->doc, v, "observed", c->observed);
}

yyjson_mut_val *ek_policy_status(const struct ek_policy_facts *facts, yyjson_val *old_status,
                                 int64_t now_ms, struct ek_arena *arena, yyjson_mut_doc *doc)
{
    const struct out o = {facts, arena, doc, yyjson_mut_obj(doc), yyjson_mut_obj(doc)};
    const struct ek_scopes *scopes = facts->policy->scopes;

    if (!o.status || !o.omitted)
        return NULL;
    if (facts->policy->generation > 0)
        yyjson_mut_obj_add_int(doc, o.status, "observedGeneration", facts->policy->generation);
    put_policy(&o);
    put_summary(&o);
    put_conditions(&o, old_status, now_ms);
    put_bindings(&o);
    put_texts(&o, "writes", scopes->writes, scopes->n_writes, EK_POLICY_STATUS_PATHS_MAX);
    put_texts(&o, "reads", scopes->reads, scopes->n_reads, EK_POLICY_STATUS_PATHS_MAX);
    put_findings(&o);
    put_fights(&o);
    put_counts(&o);
    put_problems(&o);
    put_refusals(&o);
    put_safety(&o);
    if (yyjson_mut_obj_size(o.omitted))
        yyjson_mut_obj_add_val(doc, o.status, "omitted", o.omitted);
    return o.status;
}
