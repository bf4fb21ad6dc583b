/* SPDX-License-Identifier: Apache-2.0 */
/* API versions and fields of an object. */
#include "reconcilers/plan/objects.h"

#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/fields.h"
#include "reconcilers/plan/objects-internal.h"

#define SCRATCH_MAX ((size_t)256 << 20)

struct ek_plan_finding *ek_plan_say__(const struct ek_plan_check *check,
                                      enum ek_plan_severity severity, const char *rule,
                                      const char *field, const char *message, const char *remedy)
{
    const struct ek_plan_object *object = check->object;
    struct ek_plan_finding *ret = ek_plan_report_add(
        check->report,
        &(struct ek_plan_finding){
            .severity = severity,
            .rule = rule,
            .source = object->source,
            .line = object->line ? object->line(object->ctx, *field ? field : "apiVersion") : 0,
            .object = check->shown,
            .field = field,
            .message = message,
            .remedy = remedy,
            .api_version = check->api_version,
            .kind = check->kind,
        });

    ek_arena_reset(check->scratch);
    return ret;
}

static const char *object_name(yyjson_val *object, struct ek_arena *arena)
{
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);

    if (!name)
        name = ek_json_str(object, "metadata", "generateName", NULL);
    if (!name)
        return "";
    return namespace && *namespace ? ek_arena_printf(arena, "%s/%s", namespace, name) : name;
}

/* ---- API versions ---- */

static void split(const char *api_version, struct ek_arena *arena, const char **ret_group,
                  const char **ret_version)
{
    const char *slash = strchr(api_version, '/');

    *ret_group = slash ? ek_arena_strndup(arena, api_version, (size_t)(slash - api_version)) : "";
    *ret_version = slash ? slash + 1 : api_version;
}

const struct ek_api_lifecycle *ek_plan_lifecycle__(const struct ek_plan_data *data,
                                                   yyjson_val *object, struct ek_arena *arena)
{
    const char *api_version = ek_json_str(object, "apiVersion", NULL), *group, *version;
    const char *kind = ek_json_str(object, "kind", NULL);

    if (!api_version || !kind)
        return NULL;
    split(api_version, arena, &group, &version);
    return ek_plan_find_kind(data, group, version, kind);
}

/* "use apps/v1", with what stands in the way. */
static const char *advice(const struct ek_plan_check *check, const struct ek_api_lifecycle *kind)
{
    struct ek_arena *arena = check->report->arena;
    const struct ek_api_lifecycle *other =
        ek_api_replacement(check->target->data, kind, check->target->to);

    if (!other && kind->instead)
        return kind->instead;
    if (!other)
        return "remove the object, or find out what takes its place: Kubernetes names no "
               "replacement";
    bool renamed = strcmp(kind->kind, other->kind) != 0;
    enum ek_api_state state = ek_api_state_at(other, check->target->to);
    return ek_arena_printf(arena, "use %s%s%s%s%s%s", other->group, *other->group ? "/" : "",
                           other->version, renamed ? " " : "", renamed ? other->kind : "",
                           state == EK_API_ABSENT    ? ", which the target does not serve yet"
                           : state == EK_API_REMOVED ? ", which is removed as well"
                           : !ek_api_is_stable(other->version)
                               ? ", which API servers serve only with --runtime-config"
                               : "");
}

static const char *sentence(const struct ek_plan_check *check, const char *what,
                            struct ek_minor since, struct ek_minor removed)
{
    char a[EK_MINOR_SIZE], b[EK_MINOR_SIZE];
    struct ek_arena *arena = check->report->arena;
    const char *until =
        removed.known ? ek_arena_printf(arena, " and removed in %s", ek_minor_format(removed, b))
                      : "";

    return ek_arena_printf(arena, "%s %s is %s %s%s", check->api_version, check->kind, what,
                           ek_minor_format(since, a), until);
}

/* The replacement for programs, "apps/v1" or "policy/v1 Eviction"; "" without. */
static const char *replacement(const struct ek_plan_check *check,
                               const struct ek_api_lifecycle *kind)
{
    struct ek_arena *arena = check->report->arena;
    const struct ek_api_lifecycle *other =
        ek_api_replacement(check->target->data, kind, check->target->to);

    if (!other)
        return "";
    const char *version =
        ek_arena_printf(arena, "%s%s%s", other->group, *other->group ? "/" : "", other->version);
    return strcmp(kind->kind, other->kind) ? ek_arena_printf(arena, "%s %s", version, other->kind)
                                           : version;
}

static void check_api(const struct ek_plan_check *check, const struct ek_api_lifecycle *kind)
{
    const struct ek_plan_target *target = check->target;
    struct ek_minor never = EK_MINOR_UNKNOWN, since = kind->introduced;
    enum ek_api_state to = ek_api_state_at(kind, target->to);
    enum ek_api_state from =
        target->from.known ? ek_api_state_at(kind, target->from) : EK_API_SERVED;
    struct ek_plan_finding *finding = NULL;
    bool goes = false;

    if (to == EK_API_REMOVED && from != EK_API_REMOVED) {
        goes = true;
        since = kind->removed;
        finding = ek_plan_say__(check, EK_PLAN_ERROR, "api-removed", "",
                                sentence(check, "removed in", since, never), advice(check, kind));
    } else if (to == EK_API_ABSENT) {
        finding = ek_plan_say__(check, EK_PLAN_ERROR, "api-not-served", "",
                                sentence(check, "served only since", since, never),
                                "use a version that the target serves");
    } else if (to == EK_API_DEPRECATED && from != EK_API_DEPRECATED) {
        goes = true;
        since = kind->deprecated;
        finding = ek_plan_say__(check, EK_PLAN_WARNING, "api-deprecated", "",
                                sentence(check, "deprecated since", since, kind->removed),
                                advice(check, kind));
    } else if (from == EK_API_ABSENT) {
        finding = ek_plan_say__(check, EK_PLAN_WARNING, "api-rollback", "",
                                sentence(check, "served only since", since, never),
                                "apply the object after the step from which nobody goes back");
    }
    if (finding)
        finding->since = since;
    if (finding && goes)
        finding->replacement = replacement(check, kind);
}

/* ---- Fields ---- */

struct fields {
    const struct ek_plan_check *check;
    bool all;     /* also what went before target->from */
    bool back;    /* the version before, in the case of a way back */
    size_t first; /* finding of the object in the report */
};

/* True when a finding about the field is there: what the target drops is not lost on the way back.
 */
static bool has_finding(const struct fields *f, const char *field)
{
    const struct ek_plan_report *report = f->check->report;

    for (size_t i = f->first; i < report->n; i++)
        if (!strcmp(report->list[i].field, field))
            return true;
    return false;
}

static void say_field(void *ctx, const struct ek_field_unknown *field)
{
    const struct fields *f = ctx;
    struct ek_arena *arena = f->check->scratch;
    struct ek_minor from = f->check->target->from;
    struct ek_plan_finding *finding = NULL;
    char at[EK_MINOR_SIZE];

    ek_minor_format(field->at, at);
    if (f->back) {
        if (!field->went && !has_finding(f, field->path))
            finding = ek_plan_say__(
                f->check, EK_PLAN_WARNING, "field-rollback", field->path,
                ek_arena_printf(arena,
                                "%s has the field only since %s: after a way back the "
                                "field is dropped",
                                f->check->kind, at),
                "set the field after the step from which nobody goes back");
    } else if (!field->went) {
        finding = ek_plan_say__(
            f->check, EK_PLAN_ERROR, "field-unknown", field->path,
            ek_arena_printf(arena, "%s has the field only since %s: the target drops it",
                            f->check->kind, at),
            "remove the field");
    } else if (f->all || !from.known || ek_minor_cmp(field->at, from) > 0) {
        finding = ek_plan_say__(
            f->check, EK_PLAN_ERROR, "field-gone", field->path,
            ek_arena_printf(arena, "%s has no such field since %s: the target drops it",
                            f->check->kind, at),
            "remove the field");
    }
    if (finding)
        finding->since = field->at;
    ek_arena_reset(arena);
}

static void check_fields(const struct ek_plan_check *check, bool all)
{
    const struct ek_plan_target *target = check->target;
    struct fields f = {check, all, false, check->report->n};

    ek_fields_unknown(target->data, check->object->value,
                      ek_fields_nearest(target->data, target->to), check->scratch, say_field, &f);
    if (!target->from.known || ek_minor_cmp(target->from, target->to) >= 0)
        return;
    f.back = true;
    ek_fields_unknown(target->data, check->object->value,
                      ek_fields_nearest(target->data, target->from), check->scratch, say_field, &f);
}

/* "apps/v1 Deployment shop/web" */
static const char *show(const struct ek_plan_check *check, struct ek_arena *arena)
{
    const char *name = object_name(check->object->value, arena);

    return ek_arena_printf(arena, "%s %s%s%s", check->api_version, check->kind, *name ? " " : "",
                           name);
}

void ek_plan_check_fields(const struct ek_plan_target *target, const struct ek_plan_object *object,
                          struct ek_plan_report *report)
{
    struct ek_plan_check check = {
        .target = target,
        .object = object,
        .report = report,
        .api_version = ek_json_str(object->value, "apiVersion", NULL),
        .kind = ek_json_str(object->value, "kind", NULL),
    };

    if (!check.api_version || !check.kind)
        return;
    struct ek_arena *arena = ek_arena_new(SCRATCH_MAX);
    check.scratch = ek_arena_new(SCRATCH_MAX);
    check.shown = show(&check, arena);
    check_fields(&check, true);
    ek_arena_free(check.scratch);
    ek_arena_free(arena);
}

/* ---- All ---- */

/* A group of Kubernetes itself, in which the data knows every kind. */
static bool is_ours(const struct ek_plan_data *data, const char *group)
{
    return yyjson_obj_get(data->priority, group) != NULL;
}

/* A kind that the binary of the data does not have is refused at the version of that binary.
 * Whether an older version had the kind, or a newer one has it, is not known. */
static void say_no_kind(const struct ek_plan_check *check)
{
    const struct ek_plan_target *target = check->target;
    const struct ek_plan_data *data = ek_plan_data_at(target->data, target->to);
    bool refused = !target->from.known && ek_minor_cmp(target->to, data->binary) == 0 &&
                   !ek_plan_lifecycle__(data, check->object->value, check->scratch);

    ek_plan_say__(check, refused ? EK_PLAN_ERROR : EK_PLAN_UNKNOWN, "api-unknown", "",
                  ek_arena_printf(check->report->arena, "Kubernetes %s does not have %s %s",
                                  data->binary_version, check->api_version, check->kind),
                  "check the spelling of apiVersion and kind, or use a version that the target "
                  "serves");
}

bool ek_plan_check_object(const struct ek_plan_target *target, const struct ek_plan_object *object,
                          struct ek_plan_report *report)
{
    struct ek_plan_check check = {
        .target = target,
        .object = object,
        .report = report,
        .api_version = ek_json_str(object->value, "apiVersion", NULL),
        .kind = ek_json_str(object->value, "kind", NULL),
    };
    const char *group, *version;

    if (!check.api_version || !check.kind)
        return false;
    struct ek_arena *arena = ek_arena_new(SCRATCH_MAX); /* what the findings share */
    check.scratch = ek_arena_new(SCRATCH_MAX);
    check.shown = show(&check, arena);
    split(check.api_version, arena, &group, &version);
    const struct ek_api_lifecycle *kind = ek_plan_lifecycle__(target->data, object->value, arena);
    bool ours = kind || is_ours(target->data, group);
    if (kind) {
        if (!object->is_served)
            check_api(&check, kind);
        check_fields(&check, false);
    } else if (ours && !object->is_served) {
        say_no_kind(&check);
    }
    ek_plan_check_references__(&check);
    ek_plan_check_webhooks__(&check);
    ek_plan_check_expressions__(&check);
    bool flags = ek_plan_check_flags__(&check);
    ek_arena_free(check.scratch);
    ek_arena_free(arena);
    return flags || ours;
}
