/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An audit log of a plan: whatever it holds, the findings are whole, their number has a bound, and
 * they do not depend on the parts in which the log is read.
 */
#include <string.h>

#include "reconcilers/plan/audit.h"
#include "test/fuzz/fuzz.h"

#define ARENA_LIMIT ((size_t)64 << 20)
#define INPUT_MAX   ((size_t)32 << 10)

static const struct ek_plan_data *plan_data(void)
{
    static struct ek_plan_data data;

    if (!data.n_docs)
        fuzz_require(ek_plan_data_open((struct ek_str){0}, &data, NULL) == 0);
    return &data;
}

static void read_log(const uint8_t *log, size_t size, size_t part, struct ek_plan_report *report)
{
    const struct ek_plan_target target = {plan_data(), EK_MINOR_UNKNOWN, EK_MINOR(1, 37)};
    EK_AUTO(ek_plan_audit) audit;

    ek_plan_audit_init(&audit, &target);
    ek_plan_audit_begin(&audit, "log");
    for (size_t at = 0, n; at < size; at += n) {
        n = part < size - at ? part : size - at;
        ek_plan_audit_octets(&audit, (const char *)log + at, n);
    }
    ek_plan_audit_end(&audit);
    fuzz_require(audit.n_unread <= audit.n_lines && !audit.line.len);
    ek_plan_audit_report(&audit, report);
    fuzz_require(report->n <= audit.n_kinds * (EK_PLAN_AUDIT_CLIENTS_MAX + 1) + 1);
    fuzz_require(report->n <= audit.n_events + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_plan_report whole = {.arena = ek_arena_new(ARENA_LIMIT)};
    struct ek_plan_report parts = {.arena = ek_arena_new(ARENA_LIMIT)};

    if (size <= INPUT_MAX) {
        read_log(data, size, size + 1, &whole);
        read_log(data, size, 7, &parts);
        fuzz_require(whole.n == parts.n);
    }
    for (size_t i = 0; i < whole.n; i++) {
        fuzz_require(*whole.list[i].rule && *whole.list[i].remedy);
        fuzz_require(!strcmp(whole.list[i].message, parts.list[i].message));
    }
    ek_arena_free(whole.arena);
    ek_arena_free(parts.arena);
    return 0;
}
