/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for the tools that show them: SARIF for code scanners, JUnit's XML for CI systems. */
#include <string.h>

#include "controller/cli/junit.h"
#include "controller/cli/sarif.h"
#include "controller/commands/lint-internal.h"

/* Which member of a finding names its subject. */
static const char *const subjects[] = {"policy", "binding", "definition", "object"};

/* What the finding is about; *ret_member is its member. */
static const char *subject_of(yyjson_val *finding, const char **ret_member)
{
    *ret_member = subjects[0];
    for (size_t i = 0; i < EK_ARRAY_SIZE(subjects); i++)
        if (yyjson_obj_get(finding, subjects[i]))
            *ret_member = subjects[i];
    return ek_json_text(finding, *ret_member);
}

/* ---- SARIF ---- */

static void add_result(struct ek_sarif *sarif, yyjson_val *finding)
{
    const char *member, *severity = ek_json_text(finding, "severity");
    const char *subject = subject_of(finding, &member), *field = ek_json_text(finding, "field");
    EK_AUTOFREE char *text = ek_xasprintf(
        "%s%s%s%s%s%s", !strcmp(member, "binding") ? "binding " : "", subject, *field ? " " : "",
        field, *subject || *field ? ": " : "", ek_json_text(finding, "message"));

    ek_sarif_add(sarif, &(struct ek_sarif_result){
                            .rule = ek_json_text(finding, "rule"),
                            .level = !strcmp(severity, "info") ? "note" : severity,
                            .severity = severity,
                            .message = text,
                            .source = ek_json_text(finding, "source"),
                            .line = yyjson_get_uint(yyjson_obj_get(finding, "sourceLine")),
                            .object = subject,
                            .field = field});
}

static yyjson_doc *make_sarif(yyjson_val *root)
{
    struct ek_sarif *sarif = ek_sarif_new();
    yyjson_val *finding;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "findings"), i, n, finding) add_result(sarif, finding);
    return ek_sarif_end(sarif);
}

/* ---- JUnit ---- */

struct cases {
    struct ek_junit *junit;
    yyjson_val *findings;
    bool *reported; /* owned, beside findings: a test case has it */
    bool strict;
};

static bool is_about(yyjson_val *finding, const char *member, const char *subject,
                     const char *source)
{
    return yyjson_obj_get(finding, member) && !strcmp(ek_json_text(finding, member), subject) &&
           !strcmp(ek_json_text(finding, "source"), source);
}

/* A test case, which the findings about the subject fail, or follow as output. */
static void add_case(const struct cases *cases, const struct ek_junit_case *test,
                     const char *member, const char *subject)
{
    struct ek_junit_case whole = *test;
    EK_AUTO(ek_buf) failure, output;
    yyjson_val *finding;
    size_t i, n;

    ek_buf_init(&failure, EK_LINT_TEXT_MAX);
    ek_buf_init(&output, EK_LINT_TEXT_MAX);
    yyjson_arr_foreach(cases->findings, i, n, finding)
    {
        const char *severity = ek_json_text(finding, "severity");
        bool fails = *severity == 'e' || (cases->strict && *severity == 'w');
        if (!is_about(finding, member, subject, test->file))
            continue;
        cases->reported[i] = true;
        if (fails && !failure.len)
            whole.type = ek_json_text(finding, "rule");
        ek_lint_put_finding(finding, false, fails ? &failure : &output);
    }
    whole.failure = failure.len ? ek_buf_str(&failure) : NULL;
    whole.output = ek_buf_str(&output);
    ek_junit_add(cases->junit, &whole);
}

static void add_object(const struct cases *cases, const struct ek_ci_object *object,
                       const char *member)
{
    const char *kind = ek_json_str(object->value, "kind", NULL);
    const char *subject = ek_lint_name(object);
    EK_AUTOFREE char *name = ek_xasprintf("%s %s", kind ? kind : "", subject);

    add_case(cases,
             &(struct ek_junit_case){.file = object->source,
                                     .line = ek_ci_path_line(object, "metadata.name"),
                                     .name = name},
             member, subject);
}

/* Of objects that are no policies, those with findings are test cases, in the place of the first.
 */
static void add_others(const struct cases *cases)
{
    yyjson_val *finding;
    size_t i, n;

    yyjson_arr_foreach(cases->findings, i, n, finding)
    {
        const char *member, *subject = subject_of(finding, &member);
        if (cases->reported[i])
            continue;
        add_case(
            cases,
            &(struct ek_junit_case){.file = ek_json_text(finding, "source"),
                                    .line = yyjson_get_uint(yyjson_obj_get(finding, "sourceLine")),
                                    .name = *subject ? subject : "all files"},
            member, subject);
    }
}

struct junit_ctx {
    const struct ek_ci *ci;
    bool strict;
};

/* ek_print_table_fn; ctx is a struct junit_ctx. */
static int write_junit(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    const struct junit_ctx *c = ctx;
    EK_AUTOPTR(ek_junit, ek_junit_free) *junit = ek_junit_new("evenkeel lint");
    yyjson_val *findings = yyjson_obj_get(root, "findings");
    EK_AUTOFREE bool *reported = ek_xalloc((yyjson_arr_size(findings) + 1) * sizeof *reported);
    const struct cases cases = {junit, findings, reported, c->strict};
    uint64_t dropped = yyjson_get_uint(yyjson_obj_get(root, "dropped"));

    (void)color;
    for (size_t i = 0; i < c->ci->n_compiled; i++)
        add_object(&cases, c->ci->compiled_from[i], "policy");
    for (size_t i = 0; i < c->ci->n_read_bindings; i++)
        add_object(&cases, c->ci->bindings_from[i], "binding");
    for (size_t i = 0; i < c->ci->objects.n; i++)
        if (ek_ci_is_definition(&c->ci->objects.list[i]))
            add_object(&cases, &c->ci->objects.list[i], "definition");
    add_others(&cases);
    if (dropped) {
        EK_AUTOFREE char *text = ek_xasprintf("%u more findings are not shown", (unsigned)dropped);
        ek_junit_add(junit, &(struct ek_junit_case){.file = "",
                                                    .name = "findings that are not shown",
                                                    .type = "dropped",
                                                    .failure = text,
                                                    .output = ""});
    }
    return ek_junit_write(junit, out);
}

int ek_lint_print(const struct ek_lint_options *options, const struct ek_ci *ci, yyjson_val *root)
{
    struct ek_print_options print = options->print;
    struct junit_ctx ctx = {ci, options->strict};

    if (!strcmp(print.output, "junit"))
        return ek_print(&print, root, write_junit, &ctx);
    if (strcmp(print.output, "sarif") != 0)
        return ek_print(&print, root, ek_lint_table, NULL);
    yyjson_doc *doc = make_sarif(root);
    print.output = "json";
    int code = ek_print(&print, yyjson_doc_get_root(doc), ek_lint_table, NULL);
    yyjson_doc_free(doc);
    return code;
}
