/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel lint`: what is wrong with policies, before they are used. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/cli/compat.h"
#include "controller/cli/print.h"
#include "controller/commands/lint-internal.h"
#include "controller/manifests/manifests-internal.h"

/* The Kubernetes version whose API servers have the compatibility version by default. */
static int wanted_minor(const struct ek_lint_options *o, const struct ek_ci *ci)
{
    int compat = ek_compat_minor(o->inputs.compat);
    return compat > 0 ? compat + 1 : ci->minor;
}

static int exit_code(const struct ek_lint_options *o, const struct ek_lint_report *report)
{
    bool found =
        report->n_severity[EK_LINT_ERROR] || (o->strict && report->n_severity[EK_LINT_WARNING]);
    return found ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

static bool has_definition(const struct ek_ci *ci)
{
    for (size_t i = 0; i < ci->objects.n; i++)
        if (ek_ci_is_definition(&ci->objects.list[i]))
            return true;
    return false;
}

static int run(void *parsed, char **args, int n_args)
{
    struct ek_lint_options *o = parsed;
    struct ek_err err = {0};
    struct ek_lint_report report;
    EK_AUTO(ek_ci) ci;

    o->inputs.more_files = args;
    o->inputs.n_more_files = (size_t)n_args;
    if (ek_ci_init(&ci, &o->inputs, &err))
        return ek_ci_complain(&err);
    if (!ci.policies.n && !has_definition(&ci))
        return ek_ci_complain((ek_err_set(&err, EK_E_NOENT,
                                          "there is no policy and no CustomResourceDefinition in "
                                          "these files"),
                               &err));
    if (ek_ci_decode_all(&ci, &err))
        return ek_ci_complain(&err);
    int minor = wanted_minor(o, &ci);
    ek_ci_bind(&ci, minor - 1);
    int rc = ek_lint_inputs(&ci, minor, &report, &err);
    if (rc)
        return ek_ci_complain(&err);
    yyjson_doc *doc = ek_lint_document(&report);
    int code = ek_lint_print(o, &ci, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return code ? code : exit_code(o, &report);
}

static const struct ek_flag flags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_lint_options, inputs.files),
     .help = "`FILE` or folder of policies, bindings, CustomResourceDefinitions and objects to "
             "evaluate policies on, or - for the standard input; may be repeated"},
    EK_SKIP_UNKNOWN_FLAG(struct ek_lint_options, inputs.skip_unknown),
    {.name = "schema",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_lint_options, inputs.schemas),
     .help =
         "`source` of schemas: builtin, builtin:1.NN, cluster (of the kubeconfig), or a file "
         "with the OpenAPI v3 document of a group version or with CustomResourceDefinitions; may "
         "be repeated"},
    EK_CLUSTER_FLAGS(struct ek_lint_options, inputs.cluster),
    EK_COMPAT_FLAG(struct ek_lint_options, inputs.compat,
                   "that of API servers of the version of the schemas"),
    {.name = "strict",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_lint_options, strict),
     .help = "Fail on warnings, too"},
    EK_PRINT_FLAGS_MORE(struct ek_lint_options, print, "sarif", "junit"),
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
    .usage = "[FILE...]",
    .summary = "Find errors in admission policies and CustomResourceDefinitions",
    .text =
        "Compiles mutating and validating admission policies as an API server of the given "
        "compatibility version does, checks their "
        "expressions against the schemas of the matched kinds, and compares the policies with "
        "their bindings and with each other. Reports misspelled fields, atomic fields that an "
        "ApplyConfiguration must not change, list items without a key, conditions that are "
        "never true, JSON Patches below what may be absent, policies that write the same path or "
        "read what the others write, and policies that change their own result again, on the "
        "objects of the files as an API server decodes them. Fields "
        "and types of the policies and bindings themselves are checked as in strict "
        "decoding, and their labels, annotations, owners and finalizers as API servers do. "
        "Misspelled fields of objects are warnings with the file and the line. "
        "Fields of objects, and fields that policies set or read, are compared with "
        "those that API servers of the version, and of the version before with --compat, "
        "have.\n\nThe validation rules of CustomResourceDefinitions in the files of -f "
        "(x-kubernetes-validations) are compiled with the types of their schemas. Transition rules "
        "where old values cannot be found, and rules that exceed the cost limits of the API "
        "server, are errors.\n\nAt most 1,000 findings are listed, errors before warnings and "
        "warnings before the others; all of them count.\n\nExit codes: 0 no findings of severity "
        "error; 1 findings of severity error (with --strict: or warning); 2 a flag or a file is "
        "invalid.\n\n-o sarif is for code scanners, which show the findings in pull requests; -o "
        "junit has a "
        "test case for each policy, binding and CustomResourceDefinition, and for each object with "
        "findings.\n\n  evenkeel lint -f policies/\n  evenkeel lint -f policies/ -f crds/ --compat "
        "1.34 --strict -o json\n  evenkeel lint -f policies/ -o sarif >lint.sarif",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = -1,
    .usage_exit = EK_CI_EXIT_USAGE,
    .run = run_lint,
};
