/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the cluster that record who uses the API versions that go. */
#include <string.h>

#include "controller/commands/pages.h"
#include "controller/commands/plan-internal.h"
#include "reconcilers/plan/uses.h"

/* A page of objects with the largest metadata that API servers take, 256 KiB of annotations each,
 * would not fit: such a list is not read to its end, and reported. */
#define BODY_MAX ((size_t)64 << 20)
#define PAGE     500

/* Of one list: 200,000 objects. */
#define PAGES_MAX 400

#define METADATA "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

struct reading {
    struct ek_plan_uses uses;
    const struct ek_plan_use_list *list; /* that is read */
    struct ek_wait wait;
};

static void say_unread(struct ek_plan_report *report, const char *what, const char *why)
{
    ek_plan_report_add(
        report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_UNKNOWN,
            .rule = "objects-unread",
            .source = "cluster",
            .message = ek_arena_printf(
                report->arena, "%s cannot be read to find who uses what goes: %s", what, why),
            .remedy = "use credentials that may list them",
        });
}

static void take_item(void *ctx, yyjson_val *item)
{
    struct reading *r = ctx;

    ek_plan_uses_item(&r->uses, r->list, item);
}

static int read_list(struct reading *r, const struct ek_plan_use_list *list)
{
    const bool metadata = list->what == EK_PLAN_USE_METADATA;
    const struct ek_pages pages = {
        list->group, list->version, list->resource, metadata ? METADATA : NULL, PAGE, PAGES_MAX};

    r->list = list;
    return ek_pages_read(&r->wait, &pages, take_item, r);
}

void ek_plan_check_uses(const struct ek_cluster_options *cluster,
                        const struct ek_plan_target *target, struct ek_plan_report *report)
{
    struct reading r = {.wait = {.max_body = BODY_MAX, .levels = 2}};
    struct ek_plan_use_list *lists;
    size_t n = target->from.known ? ek_plan_uses_lists(target, report->arena, &lists) : 0;

    if (!n)
        return;
    ek_plan_uses_init(&r.uses, target);
    int rc = ek_wait_open(&r.wait, cluster);
    if (rc)
        say_unread(report, "objects", r.wait.err.message);
    for (size_t i = 0; i < n && !rc; i++) {
        int failed = read_list(&r, &lists[i]);
        if (failed && failed != EK_E_NOENT)
            say_unread(report, lists[i].resource, r.wait.err.message);
    }
    ek_wait_close(&r.wait);
    ek_plan_uses_report(&r.uses, report);
    ek_plan_uses_done(&r.uses);
}
