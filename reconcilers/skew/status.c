/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/status.h"

#include <string.h>

#include "reconcilers/skew/text.h"

#define MESSAGE_MAX 400
#define PROBLEM_MAX 1024 /* ends with a remedy, which is not cut */

void ek_status_str__(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                     const char *value, size_t max)
{
    if (value && value[0])
        yyjson_mut_obj_add_strcpy(out->doc, obj, key, ek_skew_clean_max(out->arena, value, max));
}

void ek_status_minor__(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                       struct ek_minor value)
{
    char buf[EK_MINOR_SIZE];
    if (value.known)
        yyjson_mut_obj_add_strcpy(out->doc, obj, key, ek_minor_format(value, buf));
}

void ek_status_time__(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                      int64_t ms)
{
    char buf[EK_TIME_SIZE];
    if (ms != EK_TIME_UNSET)
        yyjson_mut_obj_add_strcpy(out->doc, obj, key, ek_time_format(ms, buf));
}

void ek_status_omitted__(const struct ek_status_out *out, const char *key, size_t n, size_t max)
{
    if (n > max)
        yyjson_mut_obj_add_uint(out->doc, out->omitted, key, n - max);
}

static size_t count(const struct ek_skew_report *r, enum ek_verdict verdict)
{
    size_t n = 0;
    for (int c = 0; c < EK_COMPONENT_MAX; c++)
        n += r->judgement.counts[c][verdict];
    return n;
}

static enum ek_verdict overall(const struct ek_skew_report *r)
{
    if (r->judgement.n_violations > 0)
        return EK_VERDICT_UNSUPPORTED;
    if (count(r, EK_VERDICT_UNKNOWN) > 0 || r->judgement.incomplete[0])
        return EK_VERDICT_UNKNOWN;
    return count(r, EK_VERDICT_AT_LIMIT) > 0 ? EK_VERDICT_AT_LIMIT : EK_VERDICT_SUPPORTED;
}

static void put_span(const struct ek_status_out *out, yyjson_mut_val *obj, const char *key,
                     struct ek_minor min, struct ek_minor max)
{
    if (!min.known || !max.known)
        return;
    const char *low = ek_skew_minor_text(out->arena, min);
    if (ek_minor_cmp(min, max) != 0)
        low = ek_arena_printf(out->arena, "%s-%s", low, ek_skew_minor_text(out->arena, max));
    yyjson_mut_obj_add_strcpy(out->doc, obj, key, low);
}

/* What the printer columns show. */
static void put_summary(const struct ek_status_out *out)
{
    const struct ek_skew_report *r = out->report;
    const struct ek_bounds *b = &r->judgement.bounds;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(out->doc, out->status, "summary");
    yyjson_mut_obj_add_str(out->doc, o, "verdict", ek_verdict_name(overall(r)));
    ek_status_str__(out, o, "peers",
                    ek_arena_printf(out->arena, "%zu/%zu", r->n_reachable, r->facts.n_peers), 32);
    put_span(out, o, "versions", b->min_ev.at, b->max_ev.at);
    put_span(out, o, "binaryVersions", b->min_bv.at, b->max_bv.at);
    yyjson_mut_obj_add_uint(out->doc, o, "violations", r->judgement.n_violations);
    yyjson_mut_obj_add_uint(out->doc, o, "atLimit", count(r, EK_VERDICT_AT_LIMIT));
    yyjson_mut_obj_add_uint(out->doc, o, "unknown", count(r, EK_VERDICT_UNKNOWN));
    yyjson_mut_obj_add_uint(out->doc, o, "nodes", r->facts.n_nodes);
    ek_status_minor__(out, o, "nextVersion", r->judgement.next.version);
}

static void put_conditions(const struct ek_status_out *out, int64_t generation)
{
    const struct ek_skew_report *r = out->report;
    struct ek_cond want[EK_SKEW_CONDITION_MAX];
    int n = ek_skew_n_conditions(r);
    for (int i = 0; i < n; i++) {
        const struct ek_skew_cond *c = &r->conditions[i];
        want[i] = (struct ek_cond){ek_skew_condition_name((enum ek_skew_condition)i), c->status,
                                   c->reason, c->message};
    }
    yyjson_mut_val *conditions =
        ek_conds_merge(out->doc, ek_json_get(r->old_status, "conditions", NULL), want, (size_t)n,
                       generation, r->view->now_ms);
    if (conditions)
        yyjson_mut_obj_add_val(out->doc, out->status, "conditions", conditions);
}

static void put_violations(const struct ek_status_out *out)
{
    const struct ek_judgement *j = &out->report->judgement;
    if (j->n_violations == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, out->status, "violations");
    for (size_t i = 0; i < j->n_violations && i < EK_STATUS_VIOLATIONS_MAX; i++) {
        const struct ek_violation *v = &j->violations[i];
        yyjson_mut_val *o = yyjson_mut_arr_add_obj(out->doc, list);
        yyjson_mut_obj_add_str(out->doc, o, "rule", ek_rule_name(v->rule));
        yyjson_mut_obj_add_str(out->doc, o, "component", ek_component_name(v->component));
        yyjson_mut_obj_add_strcpy(out->doc, o, "instance", v->instance);
        ek_status_str__(out, o, "message", v->message, MESSAGE_MAX);
        ek_status_str__(out, o, "remedy", v->remedy, MESSAGE_MAX);
        ek_status_time__(out, o, "since", v->since_ms);
    }
    ek_status_omitted__(out, "violations", j->n_violations, EK_STATUS_VIOLATIONS_MAX);
}

static void put_range(const struct ek_status_out *out, yyjson_mut_val *list, const char *component,
                      struct ek_range range)
{
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(out->doc, list);
    yyjson_mut_obj_add_strcpy(out->doc, o, "component", component);
    if (range.min.at.known && range.max.at.known && ek_minor_cmp(range.min.at, range.max.at) > 0) {
        /* No range: the reason takes its place. */
        const char *why = ek_arena_printf(
            out->arena,
            "no version suits all API servers: %s requires %s or later, %s %s or earlier",
            range.min.by, ek_skew_minor_text(out->arena, range.min.at), range.max.by,
            ek_skew_minor_text(out->arena, range.max.at));
        ek_status_str__(out, o, "none", why, MESSAGE_MAX);
        return;
    }
    ek_status_minor__(out, o, "min", range.min.at);
    ek_status_minor__(out, o, "max", range.max.at);
}

/* The ranges as far as they are known; kubectl's is reported here and nowhere judged. */
static void put_allowed(const struct ek_status_out *out)
{
    const struct ek_judgement *j = &out->report->judgement;
    if (!j->bounds.min_ev.at.known && !j->bounds.max_mcv.at.known)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, out->status, "allowedVersions");
    for (int c = EK_KUBE_CONTROLLER_MANAGER; c < EK_COMPONENT_MAX; c++)
        put_range(out, list, ek_component_name((enum ek_component)c),
                  ek_policy_range((enum ek_component)c, EK_MINOR_UNKNOWN, &j->bounds,
                                  &out->report->spec.policy));
    put_range(out, list, "kubectl", ek_policy_kubectl_range(&j->bounds));
}

static void put_problems(const struct ek_status_out *out)
{
    const struct ek_skew_facts *facts = &out->report->facts;
    if (facts->n_problems == 0)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(out->doc, out->status, "problems");
    for (size_t i = 0; i < facts->n_problems && i < EK_STATUS_PROBLEMS_MAX; i++)
        yyjson_mut_arr_add_strcpy(out->doc, list,
                                  ek_skew_clean_max(out->arena, facts->problems[i], PROBLEM_MAX));
    ek_status_omitted__(out, "problems", facts->n_problems, EK_STATUS_PROBLEMS_MAX);
}

yyjson_mut_val *ek_skew_status(const struct ek_skew_report *report, struct ek_arena *arena,
                               yyjson_mut_doc *doc)
{
    const struct ek_obj *object = report->view->control_plane;
    int64_t generation = object ? ek_obj_generation(object) : 0;
    struct ek_status_out out = {report, arena, doc, yyjson_mut_obj(doc), yyjson_mut_obj(doc)};
    if (generation > 0)
        yyjson_mut_obj_add_int(doc, out.status, "observedGeneration", generation);
    put_summary(&out);
    put_conditions(&out, generation);
    ek_status_peers__(&out);
    ek_status_components__(&out);
    ek_status_nodes__(&out);
    put_violations(&out);
    ek_status_differences__(&out);
    put_allowed(&out);
    put_problems(&out);
    if (yyjson_mut_obj_size(out.omitted) > 0)
        yyjson_mut_obj_add_val(doc, out.status, "omitted", out.omitted);
    return out.status;
}
