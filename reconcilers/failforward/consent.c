/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/consent.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/selector.h"

#define GRACE_DEFAULT_S 300
#define GRACE_MAX_S     (INT64_C(7) * 24 * 3600)
#define RETRIES_DEFAULT 3
#define RETRIES_MAX     20
#define HOPS_DEFAULT    5
#define HOPS_MAX        100

/* The name of the policy that is for all of the cluster. */
#define GLOBAL_POLICY "cluster"

static const char *const mode_names[] = {"Off", "Observe", "Assist", "Force"};

bool ek_ff_mode_parse(const char *text, enum ek_ff_mode *ret_mode)
{
    for (size_t i = 0; text && i < EK_ARRAY_SIZE(mode_names); i++)
        if (!strcmp(text, mode_names[i])) {
            *ret_mode = (enum ek_ff_mode)i;
            return true;
        }
    return false;
}

const char *ek_ff_mode_name(enum ek_ff_mode mode)
{
    return mode_names[mode];
}

static yyjson_val *labels_of(const struct ek_obj *obj)
{
    return obj ? ek_json_get(ek_obj_root(obj), "metadata", "labels", NULL) : NULL;
}

static const struct ek_obj *namespace_of(const struct ek_ff_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->namespaces.n; i++)
        if (!strcmp(ek_obj_name(rules->namespaces.items[i]), name))
            return rules->namespaces.items[i];
    return NULL;
}

/* True when the selector selects the labels. A selector that is absent does; one that is not valid
 * selects nothing. */
static bool selects(yyjson_val *selector, yyjson_val *labels)
{
    EK_AUTOPTR(ek_selector, ek_selector_free) *parsed = NULL;
    struct ek_err err = {0};

    if (!selector || yyjson_is_null(selector))
        return true;
    return !ek_selector_from_json(selector, &parsed, &err) && ek_selector_matches(parsed, labels);
}

/* How specific a policy is for the subscription: 0 where it does not select it. */
static int rank_of(const struct ek_obj *namespace, const struct ek_obj *policy,
                   const struct ek_obj *subscription)
{
    yyjson_val *spec = ek_json_get(ek_obj_root(policy), "spec", NULL);
    yyjson_val *by_subscription = ek_json_get(spec, "subscriptionSelector", NULL);
    yyjson_val *by_namespace = ek_json_get(spec, "namespaceSelector", NULL);

    if (!selects(by_subscription, labels_of(subscription)) ||
        !selects(by_namespace, labels_of(namespace)))
        return 0;
    if (!by_subscription && !by_namespace) /* a policy without a selector is for nobody else */
        return strcmp(ek_obj_name(policy), GLOBAL_POLICY) == 0 ? 1 : 0;
    return by_subscription ? by_namespace ? 4 : 3 : 2;
}

static enum ek_ff_mode policy_mode(const struct ek_obj *policy)
{
    yyjson_val *mode = ek_json_get(ek_obj_root(policy), "spec", "mode", NULL);
    enum ek_ff_mode parsed = EK_FF_OBSERVE;

    if (mode && !ek_ff_mode_parse(yyjson_get_str(mode), &parsed))
        return EK_FF_OFF;
    return parsed;
}

/* The most specific policy; of two that are equal, the one that allows less, then by name. */
static const struct ek_obj *find_policy(const struct ek_ff_rules *rules,
                                        const struct ek_obj *namespace,
                                        const struct ek_obj *subscription)
{
    const struct ek_obj *best = NULL;
    int best_rank = 0;

    for (size_t i = 0; i < rules->policies.n; i++) {
        const struct ek_obj *policy = rules->policies.items[i];
        int rank = rank_of(namespace, policy, subscription);
        int order = rank - best_rank;
        if (!rank)
            continue;
        if (best && !order)
            order = (int)policy_mode(best) - (int)policy_mode(policy);
        if (best && !order)
            order = strcmp(ek_obj_name(best), ek_obj_name(policy));
        if (order > 0) {
            best = policy;
            best_rank = rank;
        }
    }
    return best;
}

static int64_t number(yyjson_val *spec, const char *name, int64_t initial, int64_t max)
{
    yyjson_val *value = ek_json_get(spec, name, NULL);
    int64_t given = yyjson_is_int(value) ? yyjson_get_sint(value) : -1;

    if (given < 0)
        return initial;
    return given < max ? given : max;
}

/* Steps that allowedActions does not name; S0 is no write, and the restoration is never denied. */
static unsigned denied_steps(yyjson_val *allowed)
{
    unsigned denied = 0;
    size_t i, n;
    yyjson_val *name;

    if (!yyjson_is_arr(allowed))
        return 0;
    for (int step = EK_FF_S1; step <= EK_FF_S6; step++)
        denied |= 1U << step;
    yyjson_arr_foreach(allowed, i, n, name)
    {
        for (int step = EK_FF_S1; step <= EK_FF_S6; step++)
            if (yyjson_equals_str(name, ek_ff_step_name((enum ek_ff_step)step)))
                denied &= ~(1U << step);
    }
    return denied;
}

/* namespace is that of the subscription; NULL where it is absent. */
static void read_consent(const struct ek_ff_rules *rules, const struct ek_obj *namespace,
                         const struct ek_obj *subscription, struct ek_ff_consent *ret_consent,
                         const char **ret_source)
{
    const struct ek_obj *policy = find_policy(rules, namespace, subscription);
    yyjson_val *spec = policy ? ek_json_get(ek_obj_root(policy), "spec", NULL) : NULL;
    const char *annotation = ek_obj_annotation(subscription, EK_FF_MODE_ANNOTATION);

    *ret_consent = (struct ek_ff_consent){
        .mode = policy ? policy_mode(policy) : EK_FF_OFF,
        .grace_ms = 1000 * number(spec, "graceSeconds", GRACE_DEFAULT_S, GRACE_MAX_S),
        .max_retries =
            (unsigned)number(spec, "maxRetriesSameVersion", RETRIES_DEFAULT, RETRIES_MAX),
        .max_hops = (unsigned)number(spec, "maxHopsPerDay", HOPS_DEFAULT, HOPS_MAX),
        .approve = yyjson_is_true(ek_json_get(spec, "approve", NULL)),
        .any_olm = !strcmp(ek_json_text(spec, "olmVersions"), "Any"),
        .denied = denied_steps(ek_json_get(spec, "allowedActions", NULL)),
    };
    *ret_source = policy ? ek_obj_name(policy) : "";
    if (!annotation)
        return;
    *ret_source = "annotation";
    if (!ek_ff_mode_parse(annotation, &ret_consent->mode))
        ret_consent->mode = EK_FF_OFF;
}

/* True for a subscription that keeps the others of its namespace from a step. */
static bool withholds(const struct ek_obj *subscription, const struct ek_ff_consented *c)
{
    return c->consent.mode < EK_FF_ASSIST &&
           (*c->source || !ek_obj_annotation(subscription, "olm.generated-by"));
}

void ek_ff_consent_all(const struct ek_ff_rules *rules, const struct ek_ff_world *world,
                       struct ek_ff_consented *all, struct ek_buf *names)
{
    const struct ek_obj *namespace = namespace_of(rules, world->namespace);
    bool shared = false;

    for (size_t i = 0; i < world->subscriptions.n; i++) {
        const struct ek_obj *sub = world->subscriptions.items[i];
        if (strcmp(ek_obj_namespace(sub), world->namespace) != 0)
            continue;
        read_consent(rules, namespace, sub, &all[i].consent, &all[i].source);
        if (!withholds(sub, &all[i]))
            continue;
        shared = true;
        ek_buf_printf(names, "%s%s", names->len ? "," : "", ek_obj_name(sub));
    }
    for (size_t i = 0; i < world->subscriptions.n; i++)
        if (!strcmp(ek_obj_namespace(world->subscriptions.items[i]), world->namespace))
            all[i].consent.shared = shared && all[i].consent.mode >= EK_FF_ASSIST;
}
