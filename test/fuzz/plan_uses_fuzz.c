/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of lists, as objects of a cluster, through what a plan collects of their clients, through a
 * reading of a CompatibilityPlan, and through the guard for the way back: every finding is whole,
 * and every review has an answer.
 * Input: a JSON array of items.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/guard.h"
#include "reconcilers/plan/scan.h"
#include "reconcilers/plan/uses.h"
#include "test/fuzz/fuzz.h"

#define ARENA_LIMIT ((size_t)64 << 20)
#define INPUT_MAX   ((size_t)32 << 10)

/* Of one reading: pages that always name a next one would go on for long. */
#define REQUESTS_MAX 200

static const struct ek_plan_data *plan_data(void)
{
    static struct ek_plan_data data;

    if (!data.n_docs)
        fuzz_require(ek_plan_data_open((struct ek_str){0}, &data, NULL) == 0);
    return &data;
}

static void check_uses(yyjson_val *items, unsigned from, unsigned to)
{
    const struct ek_plan_target target = {plan_data(), EK_MINOR(1, from), EK_MINOR(1, to)};
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_LIMIT)};
    struct ek_plan_use_list *lists;
    size_t i, n, n_lists = ek_plan_uses_lists(&target, report.arena, &lists);
    EK_AUTO(ek_plan_uses) uses;
    yyjson_val *item;

    ek_plan_uses_init(&uses, &target);
    yyjson_arr_foreach(items, i, n, item)
    {
        for (size_t k = 0; k < n_lists; k++)
            ek_plan_uses_item(&uses, &lists[k], item);
    }
    ek_plan_uses_report(&uses, &report);
    fuzz_require(report.n <= EK_PLAN_USES_MAX + 1);
    for (i = 0; i < report.n; i++)
        fuzz_require(*report.list[i].rule && *report.list[i].message && *report.list[i].remedy);
    ek_arena_free(report.arena);
}

/* The items are those of every list, and the input itself is one page of each. */
static void check_scan(yyjson_val *root, unsigned from, unsigned to)
{
    const struct ek_plan_target target = {plan_data(), EK_MINOR(1, from), EK_MINOR(1, to)};
    struct ek_plan_scan *scan = ek_plan_scan_new(&target, NULL);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *list = yyjson_mut_obj(doc);
    struct ek_plan_scan_request request;
    struct ek_err err = {.code = EK_E_GONE, .message = "expired"};
    size_t n = 0;

    yyjson_mut_doc_set_root(doc, list);
    yyjson_mut_obj_add_val(doc, list, "items", yyjson_val_mut_copy(doc, root));
    yyjson_doc *page = yyjson_mut_doc_imut_copy(doc, NULL);
    for (; n < REQUESTS_MAX && ek_plan_scan_next(scan, &request); n++) {
        const bool own = n % 3 == 1, fails = n % 5 == 4;
        ek_plan_scan_heard(scan,
                           &(struct ek_plan_scan_page){.list = fails ? NULL
                                                               : own ? root
                                                                     : yyjson_doc_get_root(page),
                                                       .err = &err,
                                                       .status = fails ? root : NULL});
    }
    struct ek_plan_seen *seen = ek_plan_scan_result(scan, 0);
    for (size_t i = 0; i < seen->report.n; i++)
        fuzz_require(*seen->report.list[i].rule && *seen->report.list[i].message);
    fuzz_require(seen->report.n <=
                 EK_PLAN_SEVERITY_MAX * EK_PLAN_SCAN_FINDINGS_MAX + EK_PLAN_USES_MAX + 1);
    ek_plan_seen_free(seen);
    ek_plan_scan_free(scan);
    yyjson_doc_free(page);
    yyjson_mut_doc_free(doc);
}

/* The user, the old and the new object. */
static void check_guard(yyjson_val *items, unsigned warn, unsigned deny)
{
    struct ek_guard_rules rules = {.newest = EK_MINOR(1, 36)};
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_admission_response response = {0};
    const struct ek_admission_request request = {.operation =
                                                     yyjson_arr_get(items, 2) ? "UPDATE" : "CREATE",
                                                 .subresource = "",
                                                 .user_info = yyjson_arr_get(items, 0),
                                                 .object = yyjson_arr_get(items, 1),
                                                 .old_object = yyjson_arr_get(items, 2)};

    if (warn)
        rules.warn = (struct ek_guard_level){EK_MINOR(1, warn), "w"};
    if (deny)
        rules.deny = (struct ek_guard_level){EK_MINOR(1, deny), "d"};
    enum ek_guard_result result =
        ek_guard_review(&rules, plan_data(), &request, arena, NULL, &response);
    fuzz_require(result != EK_GUARD_CLEAN || (response.allowed && !response.n_warnings));
    fuzz_require(result != EK_GUARD_WARNED || (response.allowed && response.n_warnings));
    fuzz_require(result != EK_GUARD_DENIED || (!response.allowed && *response.message));
    fuzz_require(response.n_warnings <= EK_GUARD_WARNINGS_MAX + 1);
    ek_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = size > INPUT_MAX ? NULL : ek_json_parse((const char *)data, size, NULL);

    if (!doc)
        return 0;
    check_uses(yyjson_doc_get_root(doc), 36, 39);
    check_uses(yyjson_doc_get_root(doc), 15, 25);
    check_scan(yyjson_doc_get_root(doc), 36, 39);
    check_guard(yyjson_doc_get_root(doc), 33, 0);
    check_guard(yyjson_doc_get_root(doc), 34, 35);
    yyjson_doc_free(doc);
    return 0;
}
