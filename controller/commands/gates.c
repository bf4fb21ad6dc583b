/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel gates`: effective states of field gates, what is wrong with them, and what they make
 * of a write. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/print.h"
#include "controller/commands/gates-internal.h"

static void report_notes(const struct ek_gates_inputs *in)
{
    yyjson_mut_val *note;
    size_t i, n;

    yyjson_mut_arr_foreach(in->ci.notes, i, n, note)
        ek_print_stderr("note: ", "%s", yyjson_mut_get_str(note));
}

static int check_flags(const struct ek_gates_options *o, struct ek_err *err)
{
    bool update = *o->old || !strcmp(o->operation, "UPDATE");

    if (!*o->new && (*o->old || *o->operation || *o->subresource))
        return ek_err_set(err, EK_E_INVAL,
                          "a dry run needs the object that is written: --new FILE");
    if (*o->old && !strcmp(o->operation, "CREATE"))
        return ek_err_set(err, EK_E_INVAL, "--operation CREATE has no --old");
    if (*o->new &&update && !*o->old)
        return ek_err_set(err, EK_E_INVAL, "--operation UPDATE needs --old FILE");
    if (*o->new && * o->subresource && !*o->old)
        return ek_err_set(err, EK_E_INVAL, "--subresource %s is an update and needs --old FILE",
                          o->subresource);
    return 0;
}

static int show_states(const struct ek_gates_inputs *in, const struct ek_gates_options *o)
{
    struct ek_gates_totals totals;
    yyjson_doc *report = ek_gates_report(in, &totals);
    int code = ek_print(&o->print, yyjson_doc_get_root(report), ek_gates_table, NULL);

    yyjson_doc_free(report);
    if (code)
        return code;
    return totals.errors || (o->strict && totals.warnings) ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

static int show_write(struct ek_gates_inputs *in, const struct ek_gates_options *o,
                      struct ek_err *err)
{
    bool denied = false;
    yyjson_doc *report = ek_gates_dry_run(in, o, &denied, err);

    if (!report)
        return ek_ci_complain(err);
    int code = ek_print(&o->print, yyjson_doc_get_root(report), ek_gates_diff, NULL);
    yyjson_doc_free(report);
    return code ? code : denied ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

static int run(void *parsed, char **args, int n_args)
{
    const struct ek_gates_options *o = parsed;
    struct ek_err err = {0};
    EK_AUTO(ek_gates_inputs) in = {0};

    if (n_args && !strcmp(args[0], "clear"))
        return ek_gates_clear(o, args + 1, n_args - 1);
    if (o->gates.n || strcmp(o->dry_run, "none") != 0) {
        ek_err_set(&err, EK_E_INVAL, "--gate and --dry-run are for gates clear NAME");
        return ek_ci_complain(&err);
    }
    if (check_flags(o, &err) || ek_gates_inputs_init(&in, o, args, n_args, &err))
        return ek_ci_complain(&err);
    int code = *o->new ? show_write(&in, o, &err) : show_states(&in, o);
    report_notes(&in);
    return code;
}

static const struct ek_flag input_flags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_gates_options, files),
     .help = "`FILE` or folder of CustomFeatureGates and of their CustomResourceDefinitions, or - "
             "for the standard input; may be repeated"},
    {.name = "crd",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_gates_options, crds),
     .help = "`FILE` or folder of CustomResourceDefinitions; gates in their annotations are read "
             "if no other gates are given; may be repeated"},
    {.name = "cluster",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_gates_options, cluster),
     .help = "Read CustomResourceDefinitions that the files lack from the cluster of the "
             "kubeconfig, and, without -f, also the gates"},
    EK_CLUSTER_FLAGS(struct ek_gates_options, which),
};

static const struct ek_flag write_flags[] = {
    {.name = "new",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, new),
     .help = "`FILE` with the object to write, in the storage version; with --subresource scale "
             "also a Scale"},
    {.name = "old",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, old),
     .help = "`FILE` with the stored object"},
    {.name = "operation",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, operation),
     .choices = {"CREATE", "UPDATE"},
     .help = "`operation` of the write: by default UPDATE with --old, else CREATE"},
    {.name = "subresource",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, subresource),
     .choices = {"status", "scale"},
     .help = "Write to this `subresource` of the object"},
};

static const struct ek_flag clear_flags[] = {
    {.name = "gate",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_gates_options, gates),
     .help = "`GATE` whose values are removed; may be repeated"},
    {.name = "dry-run",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, dry_run),
     .initial = "none",
     .choices = {"none", "client", "server"},
     .help = "`strategy` of a dry run: client only finds the values, server sends each removal to "
             "the API server as a dry run"},
};

static const struct ek_flag output_flags[] = {
    {.name = "strict",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_gates_options, strict),
     .help = "Fail on warnings, too"},
    EK_PRINT_FLAGS(struct ek_gates_options, print),
};

static const struct ek_flag_group input_group = {"Input flags", input_flags,
                                                 EK_ARRAY_SIZE(input_flags)};
static const struct ek_flag_group write_group = {"Dry run flags", write_flags,
                                                 EK_ARRAY_SIZE(write_flags)};
static const struct ek_flag_group clear_group = {"Clear flags", clear_flags,
                                                 EK_ARRAY_SIZE(clear_flags)};
static const struct ek_flag_group output_group = {"Output flags", output_flags,
                                                  EK_ARRAY_SIZE(output_flags)};
static const struct ek_flag_group *const groups[] = {&input_group, &write_group, &clear_group,
                                                     &output_group};

static int run_gates(void *unused, int argc, char **argv)
{
    struct ek_gates_options options = {0};

    (void)unused;
    return ek_command_run(&ek_gates_command, argc, argv, &options, run);
}

const struct ek_command ek_gates_command = {
    .name = "gates",
    .usage = "[NAME...|clear NAME]",
    .summary = "Show the state of field gates and their effect on a write",
    .text =
        "For each gate of CustomFeatureGates, prints whether the gate is on, the rule that decides "
        "the state, and the errors of the definition. With a CustomResourceDefinition, also looks "
        "up the paths and reports those that cannot be gated: required fields, fields with a "
        "default, fields of list items, and fields that a served version lacks.\n\nWith --new, "
        "prints the object that would be stored instead: the fields that are dropped or frozen as "
        "a diff, the warnings, and whether the generation changes. The objects are decoded as "
        "an API server does before admission, with defaults and without the fields that the schema "
        "does not declare, and what would be stored is validated by the CustomResourceDefinition. "
        "With --old, errors of values that the write does not change are no denial.\n\nWith clear, "
        "removes the "
        "values of "
        "the gates --gate from all stored objects of the kind, so that the field can be retired. A "
        "gate must be deprecated, or off with allowRemoval. Each object is changed only if it is "
        "as it was listed.\n\nExit codes: 0 no errors, or the "
        "write is allowed; 1 errors (with --strict: or warnings), the write is denied, or a value "
        "was not cleared; 2 a "
        "flag, a file or the cluster cannot be used.\n\n  evenkeel gates -f gates.yaml --crd "
        "crd.yaml\n  evenkeel gates --cluster crontabs.stable.example.com -o json\n  evenkeel "
        "gates -f gates.yaml --crd crd.yaml --old stored.yaml --new sent.yaml\n  evenkeel gates "
        "clear crontabs.stable.example.com --gate Replicas --dry-run=server",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .words = {"clear"},
    .max_args = -1,
    .usage_exit = EK_CI_EXIT_USAGE,
    .run = run_gates,
};
