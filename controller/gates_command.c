/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel gates`: effective states of field gates, what is wrong with them, and what they make
 * of a write. */
#include <stdio.h>
#include <string.h>

#include "controller/gates-internal.h"

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_CI_EXIT_USAGE;
}

static void tell_notes(const struct ek_gates_inputs *in)
{
    yyjson_mut_val *note;
    size_t i, n;

    yyjson_mut_arr_foreach(in->ci.notes, i, n, note)
        fprintf(stderr, "note: %s\n", yyjson_mut_get_str(note));
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
        return complain(err);
    int code = ek_print(&o->print, yyjson_doc_get_root(report), ek_gates_diff, NULL);
    yyjson_doc_free(report);
    return code ? code : denied ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

static int run(void *parsed, char **args, int n_args)
{
    const struct ek_gates_options *o = parsed;
    struct ek_err err = {0};
    EK_AUTO(ek_gates_inputs) in = {0};

    if (check_flags(o, &err) || ek_gates_inputs_init(&in, o, args, n_args, &err))
        return complain(&err);
    int code = *o->new ? show_write(&in, o, &err) : show_states(&in, o);
    tell_notes(&in);
    return code;
}

static const struct ek_flag input_flags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_gates_options, files),
     .help = "`FILE` or folder of CustomFeatureGates, and of the CustomResourceDefinitions that "
             "they are for, or - for the standard input; may be repeated"},
    {.name = "crd",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_gates_options, crds),
     .help = "`FILE` or folder of CustomResourceDefinitions; gates that they bring as an "
             "annotation are read where no others are given; may be repeated"},
    {.name = "cluster",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_gates_options, cluster),
     .help = "Ask the cluster of the kubeconfig for what the files do not have: "
             "CustomResourceDefinitions, and without -f the gates"},
    EK_CLUSTER_FLAGS(struct ek_gates_options, which),
};

static const struct ek_flag write_flags[] = {
    {.name = "new",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, new),
     .help = "`FILE` with the object as it is sent, in the stored version; a Scale, too, with "
             "--subresource scale"},
    {.name = "old",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, old),
     .help = "`FILE` with the object as it is stored"},
    {.name = "operation",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, operation),
     .choices = {"CREATE", "UPDATE"},
     .help = "CREATE or UPDATE; without it, `operation` is UPDATE with --old"},
    {.name = "subresource",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_gates_options, subresource),
     .choices = {"status", "scale"},
     .help = "Write to this `subresource` of the object"},
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
static const struct ek_flag_group output_group = {"Output flags", output_flags,
                                                  EK_ARRAY_SIZE(output_flags)};
static const struct ek_flag_group *const groups[] = {&input_group, &write_group, &output_group};

static int run_gates(void *unused, int argc, char **argv)
{
    struct ek_gates_options options = {0};

    (void)unused;
    return ek_command_run(&ek_gates_command, argc, argv, &options, run);
}

const struct ek_command ek_gates_command = {
    .name = "gates",
    .usage = "[NAME...]",
    .summary = "Show the states of field gates, and what they make of a write",
    .text =
        "Tells for each gate of CustomFeatureGates whether it is on and which rule decided that, "
        "and what is wrong with the definition. With a CustomResourceDefinition it looks the paths "
        "up, too, and names those that cannot be gated: required fields, fields with a default, "
        "fields of list items, fields that a served version lacks.\n\n"
        "With --new it shows what would be stored of an object instead: what is dropped or "
        "frozen, with a diff, the warnings, and whether the generation moves. Defaulting and "
        "validation by schema are the API server's and are not repeated.\n\n"
        "Exit codes: 0 no errors, or the write is allowed; 1 there are some (with --strict: or "
        "warnings), or it is denied; 2 flags, files or the cluster are no good.\n\n"
        "  evenkeel gates -f gates.yaml --crd crd.yaml\n"
        "  evenkeel gates --cluster crontabs.stable.example.com -o json\n"
        "  evenkeel gates -f gates.yaml --crd crd.yaml --old stored.yaml --new sent.yaml",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = -1,
    .usage_exit = EK_CI_EXIT_USAGE,
    .run = run_gates,
};
