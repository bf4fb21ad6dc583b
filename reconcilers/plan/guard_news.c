/* SPDX-License-Identifier: Apache-2.0 */
/* What an object uses that a version does not know: its API version, fields, expressions. */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/fields.h"
#include "reconcilers/plan/guard-internal.h"
#include "reconcilers/plan/objects-internal.h"
#include "reconcilers/skew/text.h"

#define SCRATCH_MAX ((size_t)1 << 20)
#define REPORT_MAX  ((size_t)4 << 20)
#define TEXT_MAX    256 /* of an issue of an expression */

struct collector {
    const struct ek_plan_target *target;
    yyjson_val *object;
    struct ek_arena *arena, *scratch;
    struct ek_work *work;
    struct ek_guard_list *ret;
};

/* The place without indices and keys of maps, "spec.containers[].env[].x". */
static const char *template_of(const char *field, struct ek_arena *arena)
{
    char *text = ek_arena_strdup(arena, field), *to = text;

    for (const char *at = text; *at; at++) {
        *to++ = *at;
        if (*at == '[' && strchr(at, ']')) {
            at = strchr(at, ']');
            *to++ = ']';
        }
    }
    *to = '\0';
    return text;
}

static void add(const struct collector *c, const char *rule, const char *field, const char *text,
                bool runs)
{
    struct ek_guard_list *ret = c->ret;
    const char *key = template_of(field, c->scratch);

    for (size_t i = 0; i < ret->n; i++)
        if (ret->list[i].rule == rule && !strcmp(ret->list[i].key, key)) {
            ret->list[i].n++;
            ret->list[i].runs &= runs;
            return;
        }
    if (ret->n == EK_GUARD_NEWS_MAX) {
        ret->more = true;
        return;
    }
    ret->list[ret->n++] = (struct ek_guard_news){
        rule,
        ek_arena_strdup(c->arena, key),
        ek_arena_strdup(c->arena, ek_skew_clean_max(c->scratch, field, TEXT_MAX)),
        ek_arena_strdup(c->arena, text),
        1,
        runs};
}

/* ---- Fields ---- */

/* The status is written by controllers through its subresource, and is dropped from other writes.
 */
static bool is_status(const char *path)
{
    return !strncmp(path, "status", 6) && (path[6] == '.' || path[6] == '\0' || path[6] == '[');
}

/* A field that is false is no use: API servers set new fields to false by default in every object
 * (pkg/apis/storage/v1/defaults.go:SetDefaults_CSIDriver at 1.36), and a version without the field
 * does what false stands for. */
static void on_field(void *ctx, const struct ek_field_unknown *field)
{
    const struct collector *c = ctx;
    char at[EK_MINOR_SIZE], back[EK_MINOR_SIZE];

    ek_work_do(c->work, 16);
    if (!field->went && !field->is_false && !is_status(field->path))
        add(c, "field-rollback", field->path,
            ek_arena_printf(c->scratch,
                            "Kubernetes %s does not know the field, which came with %s, and drops "
                            "it after a way back",
                            ek_minor_format(c->target->from, back), ek_minor_format(field->at, at)),
            false);
    ek_arena_reset(c->scratch);
}

/* ---- API versions ---- */

/* The version that brought the API version of the object, after the way back; unknown: none. Alpha
 * versions without a declared lifecycle are in the fields alone. */
static struct ek_minor came_with(const struct collector *c)
{
    const struct ek_plan_target *target = c->target;
    const struct ek_api_lifecycle *life = ek_plan_lifecycle__(target->data, c->object, c->scratch);
    struct ek_minor came = EK_MINOR_UNKNOWN;

    if (life && ek_api_state_at(life, target->from) == EK_API_ABSENT)
        return life->introduced;
    if (!life || !life->introduced.known)
        ek_fields_are_newer(target->data, ek_json_text(c->object, "apiVersion"),
                            ek_json_text(c->object, "kind"), target->from, &came);
    return came;
}

static void look_at_version(const struct collector *c)
{
    struct ek_minor came = came_with(c);
    char at[EK_MINOR_SIZE], back[EK_MINOR_SIZE];

    if (came.known)
        add(c, "api-rollback", "",
            ek_arena_printf(c->scratch, "Kubernetes %s does not serve %s %s, which came with %s",
                            ek_minor_format(c->target->from, back),
                            ek_json_text(c->object, "apiVersion"), ek_json_text(c->object, "kind"),
                            ek_minor_format(came, at)),
            false);
    ek_arena_reset(c->scratch);
}

/* ---- Expressions ---- */

/* The expressions that a new object may not have when the way back leads to the version. */
static void find_expressions(const struct collector *c, struct ek_minor back,
                             struct ek_arena *scratch, struct ek_plan_report *report)
{
    const struct ek_plan_target target = {c->target->data, back, c->target->to};
    const struct ek_plan_object object = {.value = c->object, .source = "", .work = c->work};
    const struct ek_plan_check check = {
        .target = &target,
        .object = &object,
        .report = report,
        .api_version = ek_json_text(c->object, "apiVersion"),
        .kind = ek_json_text(c->object, "kind"),
        .shown = "",
        .scratch = scratch,
    };

    ek_plan_check_expressions__(&check);
}

static bool is_refused(const struct ek_plan_report *report, const char *field)
{
    for (size_t i = 0; i < report->n; i++)
        if (!strcmp(report->list[i].rule, "expression-rollback") &&
            !strcmp(report->list[i].field, field))
            return true;
    return false;
}

/* What a version refuses in a new object is what its compatibility version, one minor below, does
 * not have. Of a stored object it runs what it has itself, which is what the next version takes in
 * a new object (apiserver/pkg/cel/environment/environment.go:Extend at 1.36). */
static void look_at_expressions(const struct collector *c)
{
    static const char refuses[] = "refuses the expression: ";
    struct ek_plan_report report = {.arena = ek_arena_new(REPORT_MAX)};
    struct ek_plan_report stored = {.arena = ek_arena_new(REPORT_MAX)};
    struct ek_arena *scratch = ek_arena_new(SCRATCH_MAX);
    char back[EK_MINOR_SIZE];

    find_expressions(c, c->target->from, scratch, &report);
    if (report.n)
        find_expressions(c, ek_minor_offset(c->target->from, 1), scratch, &stored);
    for (size_t i = 0; i < report.n; i++) {
        const struct ek_plan_finding *f = &report.list[i];
        const char *why = strstr(f->message, refuses);
        if (strcmp(f->rule, "expression-rollback") != 0)
            continue;
        bool runs = why && !is_refused(&stored, f->field);
        add(c, "expression-rollback", f->field,
            ek_arena_printf(
                c->scratch,
                runs ? "Kubernetes %s runs the expression where it is stored, and refuses the "
                       "expression in a new object: %s"
                     : "Kubernetes %s refuses the expression: %s",
                ek_minor_format(c->target->from, back),
                ek_skew_clean_max(c->scratch, why ? why + strlen(refuses) : f->message, TEXT_MAX)),
            runs);
        ek_arena_reset(c->scratch);
    }
    c->ret->failed |= ek_arena_exhausted(report.arena) || ek_arena_exhausted(stored.arena) ||
                      ek_arena_exhausted(scratch);
    ek_arena_free(scratch);
    ek_arena_free(stored.arena);
    ek_arena_free(report.arena);
}

void ek_guard_collect__(const struct ek_plan_target *target, yyjson_val *object,
                        struct ek_arena *arena, struct ek_work *work, struct ek_guard_list *ret)
{
    struct collector c = {target, object, arena, ek_arena_new(SCRATCH_MAX), work, ret};

    *ret = (struct ek_guard_list){.n = 0};
    look_at_version(&c);
    ek_fields_unknown(target->data, object, target->from, c.scratch, on_field, &c);
    ret->failed |= !ek_work_do(work, EK_WORK_STRIDE) || ek_arena_exhausted(c.scratch);
    if (!ret->failed)
        look_at_expressions(&c);
    ret->failed |= ek_work_is_over(work) || ek_arena_exhausted(arena);
    ek_arena_free(c.scratch);
}
