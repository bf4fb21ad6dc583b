/* SPDX-License-Identifier: Apache-2.0 */
/* Results of `evenkeel mutate` as checks: JUnit's XML for CI systems, SARIF for code scanners. */
#include <string.h>

#include "controller/cli/junit.h"
#include "controller/cli/print.h"
#include "controller/cli/sarif.h"
#include "controller/manifests/manifests-internal.h"

#define TEXT_MAX ((size_t)256 << 20)

/* One of the two. */
struct ek_mutate_checks {
    struct ek_junit *junit;
    struct ek_sarif *sarif;
};

bool ek_mutate_is_checks(const struct ek_mutate_options *options)
{
    return !strcmp(options->output, "junit") || !strcmp(options->output, "sarif");
}

struct ek_mutate_checks *ek_mutate_checks_new(const char *format)
{
    struct ek_mutate_checks *checks = ek_xalloc(sizeof *checks);

    if (!strcmp(format, "junit"))
        checks->junit = ek_junit_new("evenkeel mutate");
    else
        checks->sarif = ek_sarif_new();
    return checks;
}

void ek_mutate_checks_free(struct ek_mutate_checks *checks)
{
    if (!checks)
        return;
    ek_junit_free(checks->junit);
    if (checks->sarif)
        yyjson_doc_free(ek_sarif_end(checks->sarif));
    ek_free(checks);
}

/* A failure is in both reports, what passed in JUnit's alone. */
static void add(struct ek_mutate_checks *checks, const struct ek_junit_case *test)
{
    if (checks->junit) {
        ek_junit_add(checks->junit, test);
    } else if (test->failure) {
        EK_AUTOFREE char *message = ek_xasprintf("%s: %s", test->name, test->failure);
        ek_sarif_add(checks->sarif, &(struct ek_sarif_result){.rule = test->type,
                                                              .level = "error",
                                                              .severity = "error",
                                                              .message = message,
                                                              .source = test->file,
                                                              .line = test->line,
                                                              .object = test->name,
                                                              .field = ""});
    }
}

void ek_mutate_checks_add(struct ek_mutate_checks *checks, yyjson_val *result,
                          const struct ek_golden *golden)
{
    EK_AUTO(ek_buf) name, output;
    yyjson_val *warning;
    size_t i, n;
    bool denied = !strcmp(ek_json_text(result, "result"), "denied");
    struct ek_junit_case test = {.file = ek_json_text(result, "source"),
                                 .line = yyjson_get_uint(yyjson_obj_get(result, "sourceLine"))};

    ek_buf_init(&name, TEXT_MAX);
    ek_buf_init(&output, TEXT_MAX);
    ek_mutate_title(result, &name);
    yyjson_arr_foreach(yyjson_obj_get(result, "warnings"), i, n, warning)
        ek_buf_printf(&output, "warning: %s\n", yyjson_get_str(warning));
    test.name = ek_buf_str(&name);
    test.output = ek_buf_str(&output);
    if (golden) {
        test.type = golden->rule;
        test.failure = golden->rule ? ek_buf_str(&golden->text) : NULL;
    } else if (denied) {
        test.type = "denied";
        test.failure = ek_json_text(result, "message");
    }
    add(checks, &test);
}

void ek_mutate_checks_stale(struct ek_mutate_checks *checks, const char *path, const char *text)
{
    add(checks,
        &(struct ek_junit_case){
            .file = path, .name = path, .type = "golden-stale", .failure = text, .output = ""});
}

int ek_mutate_checks_write(struct ek_mutate_checks *checks, struct ek_buf *out)
{
    if (checks->junit)
        return ek_junit_write(checks->junit, out);
    yyjson_doc *doc = ek_sarif_end(checks->sarif);
    checks->sarif = NULL;
    int rc = doc ? ek_print_render("json", yyjson_doc_get_root(doc), false, NULL, NULL, out)
                 : EK_E_NOMEM;
    yyjson_doc_free(doc);
    return rc;
}
