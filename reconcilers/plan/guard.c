/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a guard is needed, for which version, and for which resources. */
#include "reconcilers/plan/guard.h"

#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/fields.h"
#include "reconcilers/skew/policy.h"

const char *ek_guard_mode_name(enum ek_guard_mode mode)
{
    static const char *const names[] = {"Off", "Warn", "Deny"};

    return names[mode];
}

static enum ek_guard_mode mode_of(yyjson_val *spec)
{
    const char *text = ek_json_text(spec, "guard");

    return !strcmp(text, "Warn")   ? EK_GUARD_WARN
           : !strcmp(text, "Deny") ? EK_GUARD_DENY
                                   : EK_GUARD_OFF;
}

/* ---- The way back ---- */

/* What the API servers are at. */
struct servers {
    struct ek_minor newest, back; /* binary; the highest minimum compatibility version */
    bool rest; /* all have one version, and the defaults of that version: no step is under way */
};

static struct ek_minor later(struct ek_minor a, struct ek_minor b)
{
    return !a.known || (b.known && ek_minor_cmp(b, a) > 0) ? b : a;
}

static bool is_at_rest(const struct ek_part_versions *at)
{
    return ek_minor_cmp(at->emulation, at->binary) == 0 &&
           ek_minor_cmp(at->min_compat, ek_policy_default_min_compat(at->binary, at->emulation)) ==
               0;
}

static struct servers look(const struct ek_plan_cluster *cluster)
{
    struct servers s = {EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN, true};

    for (size_t i = 0; i < cluster->n; i++) {
        const struct ek_part *part = &cluster->parts[i];
        if (part->component != EK_KUBE_APISERVER)
            continue;
        s.rest &= is_at_rest(&part->at) &&
                  (!s.newest.known || ek_minor_cmp(s.newest, part->at.binary) == 0);
        s.newest = later(s.newest, part->at.binary);
        s.back = later(s.back, part->at.min_compat);
    }
    return s;
}

void ek_guard_window(const struct ek_plan_cluster *cluster, struct ek_minor *ret_back,
                     struct ek_minor *ret_newest)
{
    const struct servers s = look(cluster);

    *ret_back = s.back;
    *ret_newest = s.newest;
}

static const char *reason_of(const struct ek_guard *g, const struct servers *s,
                             const struct ek_plan_data *data, struct ek_minor target, bool was_on)
{
    bool taken = was_on || !s->rest ||
                 (target.known && s->newest.known && ek_minor_cmp(target, s->newest) <= 0);

    if (g->mode == EK_GUARD_OFF)
        return "Off";
    if (!s->newest.known || !s->back.known)
        return "VersionsUnknown";
    if (!taken)
        return "NoStepTaken";
    if (ek_minor_cmp(g->way_back, s->newest) >= 0)
        return "Confirmed";
    if (ek_minor_cmp(g->way_back, data->oldest) < 0 || ek_minor_cmp(g->way_back, data->newest) >= 0)
        return "BeyondData";
    return NULL;
}

void ek_guard_find(yyjson_val *spec, const struct ek_plan_cluster *cluster,
                   const struct ek_plan_data *data, struct ek_minor target, bool was_on,
                   struct ek_guard *ret_guard)
{
    const struct servers s = look(cluster);
    const char *confirmed = ek_json_text(spec, "confirmedVersion");

    *ret_guard = (struct ek_guard){.mode = mode_of(spec), .way_back = s.back, .newest = s.newest};
    if (*confirmed && s.back.known)
        ret_guard->way_back = later(s.back, ek_minor_parse(confirmed));
    const char *reason = reason_of(ret_guard, &s, data, target, was_on);
    ret_guard->needed = !reason;
    ret_guard->reason = reason ? reason : "StepTaken";
}

/* ---- Of all plans ---- */

void ek_guard_merge(struct ek_guard_rules *rules, const struct ek_guard *guard, const char *plan)
{
    struct ek_guard_level *level = guard->mode == EK_GUARD_DENY ? &rules->deny : &rules->warn;

    if (!guard->needed)
        return;
    rules->newest = later(rules->newest, guard->newest);
    if (level->back.known && ek_minor_cmp(level->back, guard->way_back) <= 0)
        return;
    level->back = guard->way_back;
    snprintf(level->plan, sizeof level->plan, "%s", plan);
}

bool ek_guard_is_on(const struct ek_guard_rules *rules)
{
    return rules->warn.back.known || rules->deny.back.known;
}

struct ek_minor ek_guard_lowest(const struct ek_guard_rules *rules)
{
    const struct ek_minor warn = rules->warn.back, deny = rules->deny.back;

    return !deny.known || (warn.known && ek_minor_cmp(warn, deny) < 0) ? warn : deny;
}

/* ---- Resources ---- */

/* Resources with expressions besides those that API servers call no webhooks for. */
static const struct {
    const char *group, *resource;
} expressions[] = {
    {"apiextensions.k8s.io", "customresourcedefinitions"},
    {"resource.k8s.io", "deviceclasses"},
    {"resource.k8s.io", "resourceclaims"},
    {"resource.k8s.io", "resourceclaimtemplates"},
};

#define ADMISSION "admissionregistration.k8s.io"

static bool has_expressions(const struct ek_api_row *row)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(expressions); i++)
        if (!strcmp(expressions[i].group, row->group) &&
            !strcmp(expressions[i].resource, row->resource))
            return true;
    return !strcmp(row->group, ADMISSION);
}

static bool has_new_fields(const struct ek_plan_data *data, const struct ek_api_row *row,
                           struct ek_minor back)
{
    char api_version[320];
    struct ek_minor came;

    snprintf(api_version, sizeof api_version, "%s%s%s", row->group, *row->group ? "/" : "",
             row->version);
    return ek_fields_are_newer(data, api_version, row->kind, back, &came);
}

static bool may_be_new(const struct ek_plan_data *data, const struct ek_api_row *row,
                       struct ek_minor back)
{
    return (row->lifecycle && ek_api_state_at(row->lifecycle, back) == EK_API_ABSENT) ||
           has_expressions(row) || has_new_fields(data, row, back);
}

/* API servers call no webhooks for these (apiserver/pkg/admission/plugin/webhook/predicates/rules:
 * IsExemptAdmissionConfigurationResource), and calls for heartbeats would slow nodes down. */
static bool is_called(const struct ek_api_row *row)
{
    return strcmp(row->group, ADMISSION) != 0 && strcmp(row->resource, "leases") != 0 &&
           strcmp(row->resource, "leasecandidates") != 0 && strcmp(row->resource, "events") != 0;
}

/* Objects that are asked for and not kept: reviews of users, bindings, and what has no store. */
static bool is_kept(const struct ek_api_row *row)
{
    return row->stored || (strcmp(row->group, "authentication.k8s.io") != 0 &&
                           strcmp(row->group, "authorization.k8s.io") != 0 && *row->group);
}

static bool is_same(const struct ek_api_row *a, const struct ek_api_row *b)
{
    return !strcmp(a->group, b->group) && !strcmp(a->resource, b->resource);
}

/* True when any version of the resource of row i may be new, and row i is the first of them. */
static bool is_first(const struct ek_plan_data *data, size_t i, struct ek_minor back)
{
    const struct ek_api_row *row = &data->resources[i];

    for (size_t k = 0; k < i; k++)
        if (is_same(&data->resources[k], row))
            return false;
    for (size_t k = i; k < data->n_resources; k++)
        if (is_same(&data->resources[k], row) && may_be_new(data, &data->resources[k], back))
            return true;
    return false;
}

void ek_guard_resources(const struct ek_plan_data *data, struct ek_minor back, bool webhooks,
                        void (*fn)(void *ctx, const struct ek_api_row *row), void *ctx)
{
    for (size_t i = 0; i < data->n_resources; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (is_kept(row) && (!webhooks || is_called(row)) && is_first(data, i, back))
            fn(ctx, row);
    }
}
