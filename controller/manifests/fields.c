/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that API servers of a version do not know, in the objects that are read. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/compat.h"
#include "controller/manifests/manifests-internal.h"
#include "reconcilers/plan/fields.h"

#define REPORT_MAX ((size_t)256 << 20)

/* Fields of one fault that are named, of one object and of all objects. */
#define NAMED_OF_OBJECT_MAX 5u
#define NAMED_MAX           1000u

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

void ek_ci_fields_check(struct ek_ci *ci, struct ek_ci_object *object,
                        size_t (*line)(void *ctx, const char *path), void *ctx)
{
    const struct ek_plan_object checked = {
        .value = object->value, .source = object->source, .line = line, .ctx = ctx};

    if (!ci->fields)
        return;
    object->first_finding = ci->fields->report.n;
    ek_plan_check_fields(&ci->fields->target, &checked, &ci->fields->report);
    object->n_findings = ci->fields->report.n - object->first_finding;
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

/* ---- Unknown and duplicate fields ---- */

/* What is wrong with fields, in the words of the server, and what becomes of the fields. */
struct fault {
    const char *rule, *words, *fate;
};
static const struct fault unknown_field = {
    "unknown-field", "unknown field",
    "API servers drop the field, or refuse the object with strict field validation"};
static const struct fault duplicate_field = {
    "duplicate-field", "duplicate field",
    "the last one counts, or API servers refuse the object with strict field validation"};

void ek_ci_note_finding(struct ek_ci *ci, const struct ek_plan_finding *f)
{
    /* Of these the message has the field. */
    bool named = !strcmp(f->rule, unknown_field.rule) || !strcmp(f->rule, duplicate_field.rule);
    char line[24] = "";

    if (f->line)
        snprintf(line, sizeof line, ":%zu", f->line);
    ek_ci_note(ci, "%s: %s%s%s%s%s%s%s%s", ek_plan_severity_name(f->severity), f->source, line,
               *f->source ? ": " : "", f->object, *f->object ? ": " : "", named ? "" : f->field,
               named ? "" : ": ", f->message);
}

static void warn(struct ek_ci *ci, const struct ek_plan_finding *finding)
{
    if (ci->fields)
        ek_plan_report_add(&ci->fields->report, finding);
    else
        ek_ci_note_finding(ci, finding);
}

/* The fields of an object that are in the report as fields of another release. */
static void map_reported(const struct ek_ci *ci, const struct ek_ci_object *object,
                         struct ek_map *ret)
{
    for (size_t i = 0; i < object->n_findings; i++) {
        struct ek_plan_finding *f = &ci->fields->report.list[object->first_finding + i];
        ek_map_put(ret, f->field, f);
    }
}

/* Reports one field, or, without one, how many more the object has. */
static void warn_of(struct ek_ci *ci, const struct ek_ci_object *object, const struct fault *fault,
                    const char *path, size_t more)
{
    const char *api_version = ek_json_text(object->value, "apiVersion");
    const char *kind = ek_json_text(object->value, "kind"), *key = ek_ci_key(ci, object->value);
    const char *named =
        ek_arena_printf(ci->arena, "%s %s%s%s", api_version, kind, *key ? " " : "", key);
    const char *message =
        path
            ? ek_arena_printf(ci->arena, "%s \"%s\"; %s", fault->words, path, fault->fate)
            : ek_arena_printf(ci->arena, "%zu more %s%s", more, fault->words, more == 1 ? "" : "s");

    warn(ci, &(struct ek_plan_finding){.severity = EK_PLAN_WARNING,
                                       .rule = fault->rule,
                                       .source = object->source,
                                       .line = ek_ci_path_line(object, path ? path : "apiVersion"),
                                       .object = named,
                                       .field = path ? path : "",
                                       .message = message});
}

/* Reports n_all fields, of which paths has n. reported: those that are not named again. */
static void warn_of_all(struct ek_ci *ci, const struct ek_ci_object *object,
                        const struct fault *fault, const struct ek_paths *paths,
                        const struct ek_map *reported, struct ek_ci_named *named)
{
    size_t n = 0, more = paths->n_all - paths->n;

    for (size_t i = 0; i < paths->n; i++) {
        if (ek_map_get(reported, paths->list[i]))
            continue;
        if (n == NAMED_OF_OBJECT_MAX || named->n == NAMED_MAX) {
            more++;
            continue;
        }
        warn_of(ci, object, fault, paths->list[i], 0);
        n++;
        named->n++;
    }
    if (more && named->n == NAMED_MAX)
        named->n_unlisted++;
    else if (more)
        warn_of(ci, object, fault, NULL, more);
}

void ek_ci_fields_unknown(struct ek_ci *ci, const struct ek_ci_object *object,
                          const struct ek_paths *unknown)
{
    struct ek_map reported = {0};

    if (!unknown->n_all)
        return;
    map_reported(ci, object, &reported);
    warn_of_all(ci, object, &unknown_field, unknown, &reported, &ci->unknown);
    ek_map_done(&reported);
}

void ek_ci_fields_twice(struct ek_ci *ci, const struct ek_ci_object *object)
{
    const struct ek_ci_file *file = object->file;
    const char *prefix = object->prefix ? object->prefix : "";
    size_t n = file ? file->n_twins : 0, len = strlen(prefix);
    struct ek_paths paths = {0};
    struct ek_map seen = {0}, reported = {0};

    for (size_t i = 0; i < n; i++) {
        const struct ek_ci_twin *twin = &file->twins[i];
        if (twin->number != object->number || strncmp(twin->path, prefix, len) != 0 ||
            ek_map_get(&seen, twin->path + len))
            continue;
        if (!paths.list)
            paths.list = ek_arena_alloc(ci->arena, n * sizeof *paths.list);
        paths.list[paths.n++] = twin->path + len;
        ek_map_put(&seen, twin->path + len, file->twins);
    }
    ek_map_done(&seen);
    paths.n_all = paths.n;
    warn_of_all(ci, object, &duplicate_field, &paths, &reported, &ci->twice);
}

/* A last finding, of no object. */
static void warn_of_rest(struct ek_ci *ci, const struct fault *fault, const char *message)
{
    warn(ci, &(struct ek_plan_finding){.severity = EK_PLAN_WARNING,
                                       .rule = fault->rule,
                                       .source = "",
                                       .object = "",
                                       .field = "",
                                       .message = message});
}

static void warn_of_unlisted(struct ek_ci *ci, const struct fault *fault,
                             const struct ek_ci_named *named)
{
    size_t n = named->n_unlisted;

    if (n)
        warn_of_rest(ci, fault,
                     ek_arena_printf(ci->arena, "%zu more object%s %ss", n,
                                     n == 1 ? " has" : "s have", fault->words));
}

void ek_ci_fields_unlisted(struct ek_ci *ci)
{
    warn_of_unlisted(ci, &unknown_field, &ci->unknown);
    warn_of_unlisted(ci, &duplicate_field, &ci->twice);
    if (ci->has_more_twins)
        warn_of_rest(ci, &duplicate_field, "the files have more duplicate fields");
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
