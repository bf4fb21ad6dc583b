/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard of a CompatibilityPlan for the way back: while a step is taken and not confirmed,
 * writes that use fields, API versions or expressions newer than the lowest version that API
 * servers may go back to are warned of, or denied.
 *
 *   ek_guard_find        whether the guard of a plan is needed, and for which version
 *   ek_guard_merge       what reviews go by: the guards of all plans
 *   ek_guard_review      one write
 *   ek_guard_resources   what is to be registered: no other write reaches the guard
 *   ek_guard_check       an object that is stored already (`evenkeel plan --guard`)
 *
 * What a version does not know is decided by the tables and checks of a plan's way back (fields.h,
 * apis.h, objects.h). reconcilers/plan/README.md, "The guard for the way back", has the reasons.
 * Pure; any thread.
 */
#ifndef RECONCILERS_PLAN_GUARD_H
#define RECONCILERS_PLAN_GUARD_H

#include "api/admission.h"
#include "reconcilers/plan/cluster.h"
#include "reconcilers/plan/objects.h"
#include "reconcilers/webhooks/configuration.h"

/* The path of reviews, and the name of the ValidatingWebhookConfiguration. */
#define EK_GUARD_PATH "/way-back"
#define EK_GUARD_NAME "evenkeel-way-back"

/* Warnings of one response, and findings that one write may have. */
#define EK_GUARD_WARNINGS_MAX 8
#define EK_GUARD_NEWS_MAX     64

enum ek_guard_mode { EK_GUARD_OFF, EK_GUARD_WARN, EK_GUARD_DENY };

/* "Off", "Warn", "Deny". */
const char *ek_guard_mode_name(enum ek_guard_mode mode);

/* The guard of one plan. */
struct ek_guard {
    enum ek_guard_mode mode;
    bool needed;
    const char *reason;       /* constant, CamelCase: why it is needed, or not */
    struct ek_minor way_back; /* the lowest version that API servers may go back to */
    struct ek_minor newest;   /* the newest binary */
};

/*
 * Decides about the guard of a plan with this spec and target (unknown: none). was_on: the guard
 * was on before, so that the way back stays guarded until it is confirmed, also when all API
 * servers are at rest at the new version.
 */
void ek_guard_find(yyjson_val *spec, const struct ek_plan_cluster *cluster,
                   const struct ek_plan_data *data, struct ek_minor target, bool was_on,
                   struct ek_guard *ret_guard);

/* The versions between which a way back leads: the highest minimum compatibility version and the
 * newest binary of the API servers; unknown without one. */
void ek_guard_window(const struct ek_plan_cluster *cluster, struct ek_minor *ret_back,
                     struct ek_minor *ret_newest);

/* A threshold: writes that use what the version does not know. */
struct ek_guard_level {
    struct ek_minor back; /* unknown: there is none */
    char plan[254];       /* whose */
};

/* What reviews go by; a value, which copies. */
struct ek_guard_rules {
    struct ek_minor newest;
    struct ek_guard_level warn, deny;
};

/* Adds the guard of a plan to rules, which are zero before the first. */
void ek_guard_merge(struct ek_guard_rules *rules, const struct ek_guard *guard, const char *plan);

/* True when some plan needs a guard. */
bool ek_guard_is_on(const struct ek_guard_rules *rules);

/* The lowest version that a rule is about; unknown when there is none. */
struct ek_minor ek_guard_lowest(const struct ek_guard_rules *rules);

enum ek_guard_result {
    EK_GUARD_CLEAN,
    EK_GUARD_WARNED,
    EK_GUARD_DENIED,
    EK_GUARD_UNDECIDED, /* for want of time or memory: a warning, or denied where a plan denies */
    EK_GUARD_RESULT_MAX,
};

/* "clean", "warned", "denied", "undecided". */
const char *ek_guard_result_name(enum ek_guard_result result);

/* Judges a write. Fills the response; its texts live in arena. Writes of the control plane and of
 * nodes are never denied: their objects follow from others, which were let in. */
enum ek_guard_result ek_guard_review(const struct ek_guard_rules *rules,
                                     const struct ek_plan_data *data,
                                     const struct ek_admission_request *request,
                                     struct ek_arena *arena, struct ek_work *work,
                                     struct ek_admission_response *response);

/* Calls fn for each resource whose objects may use what the version does not know, once, with a row
 * of the resource. webhooks: only those of which API servers call webhooks. */
void ek_guard_resources(const struct ek_plan_data *data, struct ek_minor back, bool webhooks,
                        void (*fn)(void *ctx, const struct ek_api_row *row), void *ctx);

/*
 * The content of the ValidatingWebhookConfiguration EK_GUARD_NAME for server-side apply, a value of
 * doc: without webhooks when no plan needs a guard. Failures are ignored in both modes, so that
 * writes go on while Evenkeel does not answer.
 */
yyjson_mut_val *ek_guard_registration(const struct ek_guard_rules *rules,
                                      const struct ek_plan_data *data,
                                      const struct ek_webhooks_options *options,
                                      yyjson_mut_doc *doc);

/* Adds to report, as errors, what a stored object uses that the version target->from does not know;
 * an expression that the version runs where it is stored as a warning. Rules: field-rollback,
 * api-rollback, expression-rollback. */
void ek_guard_check(const struct ek_plan_target *target, yyjson_val *object,
                    struct ek_plan_report *report);

#endif
