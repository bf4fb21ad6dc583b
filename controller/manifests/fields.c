/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that API servers of a version do not know, in the objects that are read. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/compat.h"
#include "controller/manifests/manifests-internal.h"
#include "reconcilers/plan/fields.h"

#define REPORT_MAX ((size_t)256 << 20)

static bool has_cluster(const struct ek_ci_options *options)
{
    for (size_t i = 0; i < options->schemas.n; i++)
        if (!strcmp(options->schemas.items[i], "cluster"))
            return true;
    return false;
}

int ek_ci_fields_open(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err)
{
    int compat = ek_compat_minor(options->compat);
    struct ek_ci_fields *fields = ek_xalloc(sizeof *fields);

    ci->fields = fields;
    fields->target.data = &fields->data;
    if (compat > 0) {
        fields->target.from = EK_MINOR(1, (uint64_t)compat);
        fields->target.to = EK_MINOR(1, (uint64_t)compat + 1);
    } else if (!has_cluster(options)) {
        fields->target.to = EK_MINOR(1, (uint64_t)ci->minor);
    }
    fields->report.arena = ek_arena_new(REPORT_MAX);
    return ek_plan_data_open((struct ek_str){0}, &fields->data, err);
}

void ek_ci_fields_free(struct ek_ci_fields *fields)
{
    if (!fields)
        return;
    ek_arena_free(fields->report.arena);
    ek_plan_data_done(&fields->data);
    ek_free(fields);
}

void ek_ci_fields_check(struct ek_ci *ci, const struct ek_ci_object *object,
                        size_t (*line)(void *ctx, const char *path), void *ctx)
{
    const struct ek_plan_object checked = {
        .value = object->value, .source = object->source, .line = line, .ctx = ctx};

    if (ci->fields)
        ek_plan_check_fields(&ci->fields->target, &checked, &ci->fields->report);
}

static bool has_field(const struct ek_plan_report *report, const char *field)
{
    for (size_t i = 0; i < report->n; i++)
        if (!strcmp(report->list[i].field, field))
            return true;
    return false;
}

void ek_ci_fields_check_result(struct ek_ci *ci, yyjson_val *before,
                               const struct ek_ci_object *after)
{
    const struct ek_plan_target *target = &ci->fields->target;
    const struct ek_plan_object old = {.value = before, .source = ""};
    const struct ek_plan_object new = {.value = after->value, .source = after->source};
    struct ek_plan_report was = {.arena = ek_arena_new(REPORT_MAX)};
    struct ek_plan_report is = {.arena = ek_arena_new(REPORT_MAX)};

    ek_plan_check_fields(target, &old, &was);
    ek_plan_check_fields(target, &new, &is);
    for (size_t i = 0; i < is.n; i++)
        if (!has_field(&was, is.list[i].field))
            ek_plan_report_add(&ci->fields->report, &is.list[i]);
    ek_arena_free(was.arena);
    ek_arena_free(is.arena);
}

/* ---- Gaps ---- */

static bool find_gap(void *ctx, const struct ek_gvk *kind, const char *path,
                     struct ek_type_gap *ret_gap)
{
    const struct ek_ci_fields *fields = ctx;
    const struct ek_plan_target *target = &fields->target;
    struct ek_field_unknown field;
    char api_version[512];
    int n = snprintf(api_version, sizeof api_version, "%s%s%s", kind->group,
                     *kind->group ? "/" : "", kind->version);

    if (n < 0 || (size_t)n >= sizeof api_version)
        return false;
    if (ek_fields_find(&fields->data, api_version, kind->kind, path, target->to, &field)) {
        ret_gap->at = field.at;
        ret_gap->why = field.went ? EK_TYPE_GAP_GONE : EK_TYPE_GAP_LATER;
        return true;
    }
    if (!ek_fields_find(&fields->data, api_version, kind->kind, path, target->from, &field) ||
        field.went)
        return false;
    ret_gap->at = field.at;
    ret_gap->why = EK_TYPE_GAP_BACK;
    return true;
}

const struct ek_type_gaps *ek_ci_fields_gaps(struct ek_ci *ci)
{
    struct ek_type_gaps *gaps = ek_arena_alloc(ci->arena, sizeof *gaps);

    gaps->find = find_gap;
    gaps->ctx = ci->fields;
    return gaps;
}
