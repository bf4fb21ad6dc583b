/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel lint`: what is wrong with policies, before they are used. */
#include <stdio.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "api/version.h"
#include "controller/ci-internal.h"
#include "controller/commands.h"
#include "controller/lint-internal.h"
#include "controller/print.h"

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_CI_EXIT_USAGE;
}

static int wanted_minor(const struct ek_lint_options *o, const struct ek_ci *ci)
{
    struct ek_minor v = ek_minor_parse(o->inputs.compat);
    return v.known ? (int)v.minor : ci->minor;
}

static int exit_code(const struct ek_lint_options *o, const struct ek_lint_report *report)
{
    bool found =
        report->n_severity[EK_LINT_ERROR] || (o->strict && report->n_severity[EK_LINT_WARNING]);
    return found ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

static int run(void *parsed, char **args, int n_args)
{
    const struct ek_lint_options *o = parsed;
    struct ek_err err = {0};
    struct ek_lint_report report;
    EK_AUTO(ek_ci) ci;

    (void)args;
    (void)n_args;
    if (ek_ci_init(&ci, &o->inputs, &err))
        return complain(&err);
    if (!ci.policies.n)
        return complain((ek_err_set(&err, EK_E_NOENT, "there is no policy in these files"), &err));
    int minor = wanted_minor(o, &ci);
    ek_ci_bind(&ci, minor - 1);
    int rc = ek_lint_inputs(&ci, minor, &report, &err);
    if (rc)
        return complain(&err);
    yyjson_doc *doc = ek_lint_document(&report);
    int code = ek_print(&o->print, yyjson_doc_get_root(doc), ek_lint_table, NULL);
    yyjson_doc_free(doc);
    return code ? code : exit_code(o, &report);
}

static int check_compat(const char *value, struct ek_err *err)
{
    struct ek_minor v = ek_minor_parse(value);

    if (!*value || (v.known && v.major == 1 && v.minor > EK_CEL_COMPAT_MIN &&
                    v.minor <= EK_CEL_COMPAT_MAX + 1))
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is no version from 1.%d to 1.%d", value,
                      EK_CEL_COMPAT_MIN + 1, EK_CEL_COMPAT_MAX + 1);
}

static const struct ek_flag flags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_lint_options, inputs.files),
     .help = "`FILE` or folder of policies, bindings, CustomResourceDefinitions and objects to try "
             "policies on, or - for the standard input; may be repeated"},
    {.name = "schema",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_lint_options, inputs.schemas),
     .help =
         "Where schemas come from: `builtin`, builtin:1.NN, cluster (of the kubeconfig), or a file "
         "with a server's OpenAPI v3 document of a group version; may be repeated"},
    EK_CLUSTER_FLAGS(struct ek_lint_options, inputs.cluster),
    {.name = "compat",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_lint_options, inputs.compat),
     .help =
         "The oldest Kubernetes `version` that the policies must work on, such as 1.34; that of "
         "the schemas without it",
     .check = check_compat},
    {.name = "strict",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_lint_options, strict),
     .help = "Fail on warnings, too"},
    EK_PRINT_FLAGS(struct ek_lint_options, print),
};

static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_lint(void *unused, int argc, char **argv)
{
    struct ek_lint_options options = {0};

    (void)unused;
    return ek_command_run(&ek_lint_command, argc, argv, &options, run);
}

const struct ek_command ek_lint_command = {
    .name = "lint",
    .usage = "",
    .summary = "Find what is wrong with mutating admission policies",
    .text =
        "Compiles the policies of the files as a server of the wanted version would, holds their "
        "expressions against the schemas of the kinds that they match, and looks at them beside "
        "their bindings and each other: misspelt fields, atomic fields that an ApplyConfiguration "
        "may not change, items without key, conditions that are never true, policies that write "
        "one path, policies that change their own result again.\n\n"
        "Exit codes: 0 no findings of severity error; 1 there are some (with --strict: or "
        "warnings); 2 flags or files are no good.\n\n"
        "  evenkeel lint -f policies/\n"
        "  evenkeel lint -f policies/ -f crds/ --compat 1.34 --strict -o json",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .usage_exit = EK_CI_EXIT_USAGE,
    .run = run_lint,
};
