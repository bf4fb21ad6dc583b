/* SPDX-License-Identifier: Apache-2.0 */
/* One write, and one stored object, against the version that API servers may go back to. */
#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "reconcilers/plan/guard-internal.h"
#include "reconcilers/skew/text.h"

#define MESSAGE_NEWS 4   /* findings in the message of a denial */
#define SENTENCE_MAX 600 /* of one finding */

const char *ek_guard_result_name(enum ek_guard_result result)
{
    static const char *const names[] = {"clean", "warned", "denied", "undecided"};

    return result < EK_GUARD_RESULT_MAX ? names[result] : "";
}

/* ---- The write ---- */

struct review {
    const struct ek_plan_data *data;
    const struct ek_admission_request *request;
    struct ek_arena *arena;
    struct ek_work *work;
    const struct ek_guard_rules *rules;
};

static bool is_in(yyjson_val *groups, const char *name)
{
    size_t i, n;
    yyjson_val *group;

    yyjson_arr_foreach(groups, i, n, group)
    {
        if (yyjson_equals_str(group, name))
            return true;
    }
    return false;
}

/* The control plane and nodes: what these write follows from objects that were let in before, and
 * workloads must go on. */
static bool is_control_plane(const struct ek_admission_request *request)
{
    static const char *const users[] = {"system:apiserver", "system:kube-controller-manager",
                                        "system:kube-scheduler"};
    const char *name = ek_json_text(request->user_info, "username");
    yyjson_val *groups = yyjson_obj_get(request->user_info, "groups");

    for (size_t i = 0; i < EK_ARRAY_SIZE(users); i++)
        if (!strcmp(name, users[i]))
            return true;
    return is_in(groups, "system:nodes") || is_in(groups, "system:serviceaccounts:kube-system");
}

static size_t places_before(const struct ek_guard_list *old, const struct ek_guard_news *news)
{
    for (size_t i = 0; i < old->n; i++)
        if (old->list[i].rule == news->rule && !strcmp(old->list[i].key, news->key))
            return old->list[i].n;
    return 0;
}

/* Takes out what the object had before: a write that leaves as much is no new use. */
static void keep_added(struct ek_guard_list *now, const struct ek_guard_list *old)
{
    size_t n = 0;

    for (size_t i = 0; i < now->n; i++)
        if (now->list[i].n > places_before(old, &now->list[i]))
            now->list[n++] = now->list[i];
    now->n = n;
    now->failed |= old->failed;
}

/* What the write adds. */
static void collect(const struct review *r, struct ek_minor back, struct ek_guard_list *ret)
{
    const struct ek_plan_target target = {r->data, back, r->rules->newest};
    struct ek_guard_list *old = ek_arena_alloc(r->arena, sizeof *old);

    ek_guard_collect__(&target, r->request->object, r->arena, r->work, ret);
    if (!ret->n || !yyjson_is_obj(r->request->old_object))
        return;
    ek_guard_collect__(&target, r->request->old_object, r->arena, r->work, old);
    keep_added(ret, old);
}

static const char *sentence(const struct review *r, const struct ek_guard_news *news)
{
    const char *more =
        news->n > 1 ? ek_arena_printf(r->arena, " (and %zu more places)", news->n - 1) : "";

    return ek_skew_clean_max(r->arena,
                             ek_arena_printf(r->arena, "%s%s%s%s", news->field,
                                             *news->field ? ": " : "", news->text, more),
                             SENTENCE_MAX);
}

static const char *keeps_open(const struct review *r, const struct ek_guard_level *level)
{
    char at[EK_MINOR_SIZE];

    return ek_arena_printf(r->arena, "CompatibilityPlan %s keeps the way back to %s open",
                           level->plan, ek_minor_format(level->back, at));
}

static enum ek_guard_result warn(const struct review *r, const struct ek_guard_level *level,
                                 const struct ek_guard_list *list,
                                 struct ek_admission_response *response)
{
    const char **warnings =
        ek_arena_alloc(r->arena, (EK_GUARD_WARNINGS_MAX + 1) * sizeof *warnings);
    size_t n = 0;

    for (; n < list->n && n < EK_GUARD_WARNINGS_MAX; n++)
        warnings[n] =
            ek_arena_printf(r->arena, "%s (%s)", sentence(r, &list->list[n]), keeps_open(r, level));
    if (list->n > n || list->more) {
        warnings[n] = ek_arena_printf(r->arena, "there is more that Kubernetes does not know");
        n++;
    }
    response->allowed = true;
    response->warnings = warnings;
    response->n_warnings = n;
    return EK_GUARD_WARNED;
}

static void refuse(struct ek_admission_response *response, const char *message)
{
    response->allowed = false;
    response->code = 403;
    response->reason = "Forbidden";
    response->message = message;
}

static enum ek_guard_result deny(const struct review *r, const struct ek_guard_level *level,
                                 const struct ek_guard_list *list,
                                 struct ek_admission_response *response)
{
    char newest[EK_MINOR_SIZE];
    size_t n = 0;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < list->n; i++)
        if (!list->list[i].runs && n++ < MESSAGE_NEWS)
            ek_buf_printf(&out, "%s%s", out.len ? "; " : "", sentence(r, &list->list[i]));
    if (n > MESSAGE_NEWS || list->more)
        ek_buf_puts(&out, "; and more");
    refuse(response,
           ek_arena_printf(r->arena,
                           "%s: %s. When nobody will go back, set spec.confirmedVersion of the "
                           "plan to %s",
                           keeps_open(r, level), ek_buf_str(&out),
                           ek_minor_format(r->rules->newest, newest)));
    return EK_GUARD_DENIED;
}

static enum ek_guard_result undecided(const struct review *r, bool denies,
                                      struct ek_admission_response *response)
{
    static const char why[] = "the write cannot be judged within the limits of the guard for the "
                              "way back: the object is too large, or has too many expressions";
    static const char *const warnings[] = {why};

    if (denies) {
        refuse(response, why);
    } else {
        response->allowed = true;
        response->warnings = warnings;
        response->n_warnings = 1;
    }
    (void)r;
    return EK_GUARD_UNDECIDED;
}

/* An API version alone is no reason to deny an update: who removes a finalizer must be able to. An
 * expression that the version runs is no reason to deny anything. */
static bool is_denied(const struct review *r, const struct ek_guard_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (!list->list[i].runs && (strcmp(list->list[i].rule, "api-rollback") != 0 ||
                                    !strcmp(r->request->operation, "CREATE")))
            return true;
    return false;
}

static bool is_judged(const struct ek_admission_request *request)
{
    return yyjson_is_obj(request->object) && !*request->subresource &&
           !ek_json_str(request->object, "metadata", "deletionTimestamp", NULL) &&
           (!strcmp(request->operation, "CREATE") || !strcmp(request->operation, "UPDATE"));
}

enum ek_guard_result ek_guard_review(const struct ek_guard_rules *rules,
                                     const struct ek_plan_data *data,
                                     const struct ek_admission_request *request,
                                     struct ek_arena *arena, struct ek_work *work,
                                     struct ek_admission_response *response)
{
    const struct review r = {data, request, arena, work, rules};
    const struct ek_guard_level *levels[] = {&rules->deny, &rules->warn};
    struct ek_guard_list *list = ek_arena_alloc(arena, sizeof *list);
    bool denies = rules->deny.back.known && !is_control_plane(request);

    response->allowed = true;
    if (!is_judged(request))
        return EK_GUARD_CLEAN;
    for (size_t i = 0; i < EK_ARRAY_SIZE(levels); i++) {
        if (!levels[i]->back.known)
            continue;
        collect(&r, levels[i]->back, list);
        if (list->failed)
            return undecided(&r, denies, response);
        if (list->n && i == 0 && denies && is_denied(&r, list))
            return deny(&r, levels[i], list, response);
        if (list->n)
            return warn(&r, levels[i], list, response);
    }
    return EK_GUARD_CLEAN;
}

/* ---- A stored object ---- */

static const char *shown(yyjson_val *object, struct ek_arena *arena)
{
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);

    return ek_arena_printf(arena, "%s %s %s%s%s", ek_json_text(object, "apiVersion"),
                           ek_json_text(object, "kind"), namespace ? namespace : "",
                           namespace ? "/" : "", name ? name : "");
}

static void say(const struct ek_plan_target *target, yyjson_val *object,
                const struct ek_guard_news *news, struct ek_plan_report *report)
{
    char newest[EK_MINOR_SIZE];
    const char *remedy = ek_arena_printf(
        report->arena, "remove it before a way back, or confirm %s if nobody will go back",
        ek_minor_format(target->to, newest));

    ek_plan_report_add(
        report, &(struct ek_plan_finding){.severity = news->runs ? EK_PLAN_WARNING : EK_PLAN_ERROR,
                                          .rule = news->rule,
                                          .source = "cluster",
                                          .object = shown(object, report->arena),
                                          .field = news->field,
                                          .message = news->text,
                                          .remedy = remedy});
}

void ek_guard_check(const struct ek_plan_target *target, yyjson_val *object,
                    struct ek_plan_report *report)
{
    struct ek_arena *arena = ek_arena_new((size_t)8 << 20);
    struct ek_guard_list *list = ek_arena_alloc(arena, sizeof *list);

    ek_guard_collect__(target, object, arena, NULL, list);
    for (size_t i = 0; i < list->n; i++)
        say(target, object, &list->list[i], report);
    if (list->failed || list->more)
        ek_plan_report_add(
            report, &(struct ek_plan_finding){.severity = EK_PLAN_UNKNOWN,
                                              .rule = "objects-unread",
                                              .source = "cluster",
                                              .object = shown(object, report->arena),
                                              .message = "the object is too large to be checked "
                                                         "to its end",
                                              .remedy = "check its manifest with -f"});
    ek_arena_free(arena);
}
