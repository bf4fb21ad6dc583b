/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel plan --guard`: stored objects that use what the version does not know to which the API
 * servers may go back. */
#include <stdio.h>
#include <string.h>

#include "controller/commands/pages.h"
#include "controller/commands/plan-internal.h"
#include "reconcilers/plan/guard.h"

#define BODY_MAX ((size_t)64 << 20)
#define PAGE     200

/* Of one resource: 100,000 objects. */
#define PAGES_MAX 500

/* Findings that are listed; of further ones only the number is reported. */
#define FINDINGS_MAX 1000

struct scan {
    const struct ek_plan_target *target;
    struct ek_plan_report *report;
    struct ek_wait wait;
    const struct ek_api_row *row; /* that is read */
    size_t n_objects, n_unseen;   /* that were read; of which were not looked at */
};

static void say_unread(struct ek_plan_report *report, const char *what, const char *why)
{
    ek_plan_report_add(
        report, &(struct ek_plan_finding){
                    .severity = EK_PLAN_UNKNOWN,
                    .rule = "objects-unread",
                    .source = "cluster",
                    .message = ek_arena_printf(report->arena, "%s cannot be read: %s", what, why),
                    .remedy = "use credentials that may list them",
                });
}

/* Items of a list have neither apiVersion nor kind. */
static void check_item(void *ctx, yyjson_val *item)
{
    struct scan *s = ctx;
    const struct ek_api_row *row = s->row;
    char api_version[320];

    s->n_objects++;
    if (s->report->n >= FINDINGS_MAX || !yyjson_is_obj(item)) {
        s->n_unseen++;
        return;
    }
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, item);
    snprintf(api_version, sizeof api_version, "%s%s%s", row->group, *row->group ? "/" : "",
             row->version);
    yyjson_mut_obj_put(root, yyjson_mut_str(doc, "apiVersion"), yyjson_mut_str(doc, api_version));
    yyjson_mut_obj_put(root, yyjson_mut_str(doc, "kind"), yyjson_mut_str(doc, row->kind));
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *object = yyjson_mut_doc_imut_copy(doc, NULL);
    ek_guard_check(s->target, yyjson_doc_get_root(object), s->report);
    yyjson_doc_free(object);
    yyjson_mut_doc_free(doc);
}

/* Reads the resource of row in the first version that is served. */
static void scan_resource(void *ctx, const struct ek_api_row *first)
{
    struct scan *s = ctx;
    const struct ek_plan_data *data = s->target->data;
    int rc = EK_E_NOENT;

    for (size_t i = 0; i < data->n_resources && rc == EK_E_NOENT; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (strcmp(row->group, first->group) != 0 || strcmp(row->resource, first->resource) != 0)
            continue;
        s->row = row;
        rc = ek_pages_read(
            &s->wait,
            &(struct ek_pages){row->group, row->version, row->resource, NULL, PAGE, PAGES_MAX},
            check_item, s);
    }
    if (rc && rc != EK_E_NOENT)
        say_unread(s->report, first->resource, s->wait.err.message);
}

static void say_unseen(const struct scan *s)
{
    if (!s->n_unseen)
        return;
    say_unread(
        s->report,
        ek_arena_printf(s->report->arena, "%zu more objects of %zu", s->n_unseen, s->n_objects),
        "there are too many findings");
}

void ek_plan_check_guard(const struct ek_cluster_options *cluster,
                         const struct ek_plan_target *target, struct ek_plan_report *report)
{
    const struct ek_plan_data *data = target->data;
    struct scan s = {target, report, {.max_body = BODY_MAX, .levels = 2}, NULL, 0, 0};

    if (ek_minor_cmp(target->from, data->oldest) < 0 || ek_minor_cmp(target->from, target->to) >= 0)
        return;
    if (ek_wait_open(&s.wait, cluster))
        say_unread(report, "objects", s.wait.err.message);
    else
        ek_guard_resources(data, target->from, false, scan_resource, &s);
    ek_wait_close(&s.wait);
    say_unseen(&s);
}
