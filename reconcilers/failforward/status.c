/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/status.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/cond.h"
#include "reconcilers/failforward/memory.h"

/* Texts of others in a status, in bytes. */
#define TEXT_MAX 1024

#define GATED                                                                                      \
    "the steps were not tried with this version of OLM: allow it by olmVersions in a "             \
    "FailForwardPolicy, or act by hand"

const char *ek_ff_remedy(enum ek_ff_blocked blocked)
{
    static const char *const remedies[EK_FF_BLOCKED_MAX] = {
        [EK_FF_NOT_BLOCKED] = "",
        [EK_FF_INCOMPATIBLE_CRD] =
            "Repair the objects, of which the message names the first (evenkeel failforward check "
            "--catalog lists them), or serve the stored version; or the author publishes a version "
            "whose CRD accepts them.",
        [EK_FF_NEEDS_ADMIN] =
            "Grant the missing right, keep one OperatorGroup in the namespace, or correct the "
            "install mode.",
        [EK_FF_NO_EDGE] =
            "The author of the operator publishes a version that replaces or skips the failing "
            "one; or the catalog becomes readable.",
        [EK_FF_NAMESPACE_SHARED] =
            "Give consent for all Subscriptions of the namespace, or move the operator to a "
            "namespace of its own.",
        [EK_FF_MANUAL_APPROVAL] = "Approve the InstallPlan.",
        [EK_FF_NOT_UPGRADEABLE] =
            "Wait for the operator, or override Upgradeable in its OperatorCondition.",
        [EK_FF_BUDGET_EXHAUSTED] =
            "Look at the failure; allow more attempts in the FailForwardPolicy.",
        [EK_FF_STARTING_CSV] = "Remove spec.startingCSV of the Subscription.",
        [EK_FF_NOT_ALLOWED] = "Allow the step: by the mode, by allowedActions of the "
                              "FailForwardPolicy, or by the rights of Evenkeel.",
    };
    return remedies[blocked];
}

/* What a person must do about a resolution that fails, or that does not take what follows. */
static const char *resolution_remedy(const struct ek_ff_finding *finding)
{
    if (finding->neighbor)
        return "Correct or delete the Subscription that the message names: OLM resolves none of "
               "the namespace before.";
    if (finding->is_untaken)
        return "Delete the operator of the namespace that owns a kind of the next version, or add "
               "a catalog with an operator that has the kind that it requires.";
    if (!strcmp(finding->phase, "Overtaken"))
        return "Delete the InstallPlan that waits for approval: OLM then makes one for the next "
               "version.";
    if (!strcmp(finding->phase, "ResolutionFailed") &&
        strstr(finding->text, "in the catalog referenced by subscription"))
        return "Correct the package, the channel or the catalog of the Subscription, or delete it.";
    return NULL;
}

/* What an administrator must do about the text of a failure. */
static const char *admin_remedy(const char *text)
{
    if (strstr(text, "exceeded quota"))
        return "Raise the quota that the message names, or delete what uses it.";
    if (strstr(text, "no operator group found") ||
        strstr(text, "make sure the service account exists"))
        return "Create the OperatorGroup, or the ServiceAccount that spec.serviceAccountName of "
               "the OperatorGroup names.";
    if (strstr(text, "in phase Failed instead of"))
        return "Delete the ClusterServiceVersion that the message names: it lacks the install "
               "mode, and the version that replaces it runs.";
    if (strstr(text, "because it is being terminated"))
        return "Wait until the namespace is gone, and install the operator in a new one.";
    if (strstr(text, "is forbidden: ") && !strstr(text, "is forbidden: User "))
        return "Allow the object in the policy that the message names.";
    return ek_ff_remedy(EK_FF_NEEDS_ADMIN);
}

void ek_ff_required(const struct ek_ff_finding *finding, const struct ek_ff_next *next,
                    struct ek_buf *out)
{
    const char *remedy = finding->class == EK_FF_F9 ? resolution_remedy(finding) : NULL;

    if (next->by_hook && finding->hook.kind)
        ek_ff_hook_remedy(&finding->hook, out);
    else if (remedy)
        ek_buf_puts(out, remedy);
    else if (next->blocked == EK_FF_NEEDS_ADMIN && finding->cause == EK_FF_ADMIN)
        ek_buf_puts(out, admin_remedy(finding->text));
    else
        ek_buf_puts(out, ek_ff_remedy(next->blocked));
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const char *text)
{
    struct ek_str s = ek_str_from(text ? text : "");

    if (s.len)
        yyjson_mut_obj_add_strncpy(doc, object, name, s.p, ek_utf8_cut(s, TEXT_MAX));
}

static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, int64_t ms)
{
    char time[EK_TIME_SIZE];

    if (ms != EK_TIME_UNSET && ms > 0)
        yyjson_mut_obj_add_strcpy(doc, object, name, ek_time_format(ms, time));
}

static bool fails(const struct ek_ff_verdict *v)
{
    return v->finding.class != EK_FF_HEALTHY;
}

/* The subscriptions that NamespaceShared is about. */
static const char *shared_with(const struct ek_ff_verdict *v)
{
    return v->finding.neighbor ? v->finding.neighbor : v->neighbors;
}

static const char *class_of(const struct ek_ff_verdict *v)
{
    return fails(v) ? ek_ff_class_name(v->finding.class) : "Healthy";
}

static const char *fix_of(const struct ek_ff_verdict *v)
{
    return v->edges.from_failing.next ? v->edges.from_failing.next : v->edges.from_running.next;
}

static void put_versions(const struct ek_ff_verdict *v, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    yyjson_mut_val *versions = yyjson_mut_obj_add_obj(doc, status, "versions");

    put(doc, versions, "installed", v->state.installed);
    put(doc, versions, "current", v->state.current);
    put(doc, versions, "running", v->state.running.obj ? v->state.running.name : "");
    put(doc, versions, "failing", fails(v) ? v->finding.failing : "");
    put(doc, versions, "next", fix_of(v));
}

static void put_evidence(const struct ek_ff_verdict *v, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    const struct ek_ff_finding *f = &v->finding;

    if (!fails(v))
        return;
    put(doc, status, "cause", ek_ff_cause_name(f->cause));
    yyjson_mut_val *e = yyjson_mut_obj_add_obj(doc, status, "evidence");
    put(doc, e, "kind", f->kind);
    put(doc, e, "name", f->name);
    put(doc, e, "phase", f->phase);
    put(doc, e, "reason", f->reason);
    put(doc, e, "message", f->text);
    /* a failure of no CSV begins no episode */
    put_time(doc, e, "since", *f->failing ? v->memory.since_ms : f->since_ms);
}

static void put_next(const struct ek_ff_verdict *v, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    const struct ek_ff_next *next = &v->next;

    if (next->step == EK_FF_NONE)
        return;
    yyjson_mut_val *n = yyjson_mut_obj_add_obj(doc, status, "next");
    put(doc, n, "step", ek_ff_step_name(next->step));
    put(doc, n, "write", ek_ff_act_name(next->act));
    put(doc, n, "target", next->target);
    put(doc, n, "reason", ek_ff_blocked_name(next->blocked));
    put(doc, n, "message", next->why);
    put(doc, n, "subscriptions", next->blocked == EK_FF_NAMESPACE_SHARED ? shared_with(v) : "");
    if (v->finding.again_ms != next->again_ms)
        put_time(doc, n, "notBefore", next->again_ms);
}

static void put_required(const struct ek_ff_verdict *v, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    bool gated = !v->next.blocked && v->is_gated && fails(v);
    EK_AUTO(ek_buf) required;

    ek_buf_init(&required, (size_t)2 * TEXT_MAX);
    ek_ff_required(&v->finding, &v->next, &required);
    put(doc, status, "required", gated ? GATED : ek_buf_str(&required));
}

static void put_conditions(const struct ek_ff_verdict *v, int64_t now_ms, yyjson_mut_doc *doc,
                           yyjson_mut_val *status)
{
    yyjson_val *root = v->report ? ek_obj_root(v->report) : NULL;
    bool off = v->given == EK_FF_OFF, failed = fails(v);
    EK_AUTO(ek_buf) blocked;

    ek_buf_init(&blocked, (size_t)4 * TEXT_MAX);
    ek_buf_printf(&blocked, "%s%s%s", v->next.why,
                  v->next.blocked == EK_FF_NAMESPACE_SHARED ? ": " : "",
                  v->next.blocked == EK_FF_NAMESPACE_SHARED ? shared_with(v) : "");
    struct ek_cond conditions[] = {
        {"Failing", failed ? EK_COND_TRUE : EK_COND_FALSE, class_of(v), v->finding.text},
        {"Blocked", EK_COND_FALSE, "NotBlocked", ""},
        {"Recovered", EK_COND_FALSE, failed ? "Failing" : "NeverFailed", ""},
    };
    if (v->next.blocked)
        conditions[1] = (struct ek_cond){"Blocked", EK_COND_TRUE,
                                         ek_ff_blocked_name(v->next.blocked), ek_buf_str(&blocked)};
    else if (v->is_gated && failed)
        conditions[1] = (struct ek_cond){"Blocked", EK_COND_TRUE, "UntriedOLM", GATED};
    if (!failed && v->memory.recovered)
        conditions[2] = (struct ek_cond){"Recovered", EK_COND_TRUE, "Healthy",
                                         "the operator is healthy after a failure"};
    for (size_t i = 0; off && i < EK_ARRAY_SIZE(conditions); i++)
        conditions[i] = (struct ek_cond){conditions[i].type, EK_COND_UNKNOWN, "Off",
                                         "nobody consents: nothing is observed"};
    yyjson_mut_obj_add_val(doc, status, "conditions",
                           ek_conds_merge(doc, ek_json_get(root, "status", "conditions", NULL),
                                          conditions, EK_ARRAY_SIZE(conditions), 0, now_ms));
}

yyjson_mut_val *ek_ff_status(const struct ek_ff_verdict *v, int64_t now_ms, yyjson_mut_doc *doc)
{
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    yyjson_mut_val *episode = ek_ff_memory_write(doc, &v->memory);

    put(doc, status, "mode", ek_ff_mode_name(v->consent.mode));
    put(doc, status, "modeFrom", v->source);
    if (v->given != EK_FF_OFF) {
        put(doc, status, "class", class_of(v));
        put_versions(v, doc, status);
        put_evidence(v, doc, status);
        put_required(v, doc, status);
        put(doc, status, "catalogError", v->catalog_error);
    }
    put_next(v, doc, status);
    if (episode)
        yyjson_mut_obj_add_val(doc, status, "episode", episode);
    put_conditions(v, now_ms, doc, status);
    return status;
}
