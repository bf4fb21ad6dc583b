/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel mutate`: what policies do to manifests, without a cluster. */
#include <stdio.h>
#include <string.h>

#include "controller/ci-internal.h"
#include "controller/commands.h"
#include "controller/print.h"

#define ANSWER_MAX ((size_t)64 << 20)

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_CI_EXIT_USAGE;
}

/* The one object of a file. */
static int read_one(struct ek_ci *ci, const char *path, const char *flag, yyjson_val **ret,
                    struct ek_err *err)
{
    struct ek_ci_objects objects = {0};
    int rc = ek_ci_read(ci, path, &objects, err);

    if (!rc && objects.n != 1)
        rc = ek_err_set(err, EK_E_INVAL, "%s %s: one object is wanted, there are %zu", flag, path,
                        objects.n);
    if (!rc)
        *ret = objects.list[0].value;
    ek_free(objects.list);
    return rc;
}

/* A list of rules as in a ClusterRole, or a ClusterRole. */
static int read_rules(struct ek_ci *ci, const char *path, yyjson_val **ret, struct ek_err *err)
{
    yyjson_val *role = NULL;
    int rc = read_one(ci, path, "the rules in", &role, err);

    if (rc)
        return rc;
    *ret = yyjson_obj_get(role, "rules");
    if (!yyjson_is_arr(*ret))
        rc = ek_err_set(err, EK_E_INVAL, "%s: a ClusterRole with rules is wanted", path);
    return rc;
}

static int read_rest(struct ek_ci *ci, const struct ek_mutate_options *o, struct ek_err *err)
{
    int rc = *o->old ? ek_ci_read(ci, o->old, &ci->old, err) : 0;

    if (!rc && *o->namespace_object)
        rc = read_one(ci, o->namespace_object, "--namespace-object", &ci->namespace_object, err);
    if (!rc && *o->allow)
        rc = read_rules(ci, o->allow, &ci->allow, err);
    if (!rc && *o->deny)
        rc = read_rules(ci, o->deny, &ci->deny, err);
    if (!rc && o->update_golden && !*o->expect)
        rc = ek_err_set(err, EK_E_INVAL, "--update-golden needs --expect FOLDER");
    return rc;
}

static int print_report(const struct ek_mutate_options *o, yyjson_val *report)
{
    const struct ek_print_options print = {!strcmp(o->output, "diff") ? "table" : o->output,
                                           o->color};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, ANSWER_MAX);
    if (strcmp(o->output, "yaml") != 0)
        return ek_print(&print, report,
                        !strcmp(o->output, "diff") ? ek_mutate_diff : ek_mutate_table, NULL);
    if (ek_mutate_yaml(report, &out) || fwrite(ek_buf_str(&out), 1, out.len, stdout) != out.len ||
        fflush(stdout)) {
        fputs("evenkeel: the answer could not be written\n", stderr);
        return EK_EXIT_FAILED;
    }
    return EK_EXIT_OK;
}

/* Problems of the policies themselves, which make them deny whatever they match. */
static void tell_notes(yyjson_val *report)
{
    yyjson_val *note;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(report, "notes"), i, n, note)
        fprintf(stderr, "note: %s\n", yyjson_get_str(note));
}

static int run(void *parsed, char **args, int n_args)
{
    const struct ek_mutate_options *o = parsed;
    struct ek_err err = {0};
    EK_AUTO(ek_ci) ci;
    bool bad = false;

    (void)args;
    (void)n_args;
    int rc = ek_ci_init(&ci, &o->inputs, &err);
    if (!rc)
        rc = read_rest(&ci, o, &err);
    if (rc)
        return complain(&err);
    ek_ci_bind(&ci, 0);
    yyjson_doc *report = ek_mutate_report(&ci, o, &bad, &err);
    if (!report)
        return complain(&err);
    int code = print_report(o, yyjson_doc_get_root(report));
    tell_notes(yyjson_doc_get_root(report));
    rc = *o->expect
             ? ek_mutate_golden(o->expect, o->update_golden, yyjson_doc_get_root(report), &err)
             : 0;
    yyjson_doc_free(report);
    if (rc < 0)
        return complain(&err);
    /* A denial that a golden file tells of is what was wanted. */
    if (*o->expect)
        return rc ? EK_CI_EXIT_FOUND : code;
    return bad ? EK_CI_EXIT_FOUND : code;
}

static const struct ek_flag input_flags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, inputs.files),
     .help = "`FILE` or folder of policies, bindings, CustomResourceDefinitions, Namespaces and "
             "objects, or - for the standard input; may be repeated"},
    {.name = "params",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, inputs.params),
     .help = "`FILE` or folder of objects that are params and are not mutated; may be repeated"},
    {.name = "schema",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, inputs.schemas),
     .help =
         "Where schemas come from: `builtin`, builtin:1.NN, cluster (of the kubeconfig), or a file "
         "with a server's OpenAPI v3 document of a group version; may be repeated"},
    EK_CLUSTER_FLAGS(struct ek_mutate_options, inputs.cluster),
    {.name = "operation",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, operation),
     .choices = {"CREATE", "UPDATE"},
     .help = "What is done with the objects, CREATE or UPDATE; without it, `operation` is UPDATE "
             "for objects that --old has"},
    {.name = "subresource",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, subresource),
     .help = "What of the objects is written: status, scale, resize, eviction ...; their "
             "`subresource` instead of themselves. An update, for which --old has the state "
             "before; scale makes the Scale of the object that is scaled; objects without that "
             "subresource are left out"},
    {.name = "old",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, old),
     .help = "`FILE` or folder with the objects as they were before"},
    {.name = "namespace-object",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, namespace_object),
     .help = "`FILE` with the Namespace that objects are in"},
    {.name = "user",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, user),
     .initial = "ci",
     .help = "`name` of the user who asks"},
    {.name = "group",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, groups),
     .help = "A `group` of that user; may be repeated; system:authenticated without it"},
    {.name = "allow",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, allow),
     .help = "`FILE` with a ClusterRole: what the authorizer allows; without it nothing"},
    {.name = "deny",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, deny),
     .help = "`FILE` with a ClusterRole: what the authorizer denies, before --allow; alone, all "
             "else is allowed"},
};

static const struct ek_flag output_flags[] = {
    {.name = "output",
     .letter = 'o',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, output),
     .initial = "diff",
     .choices = {"diff", "yaml", "json", "table"},
     .help = "`format` of the answer: what changed by whom with a diff, the resulting objects, or "
             "the whole report"},
    {.name = "color",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, color),
     .initial = "auto",
     .choices = {"auto", "always", "never"},
     .help = "When to colour; auto means on a terminal, unless NO_COLOR is set"},
    {.name = "expect",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, expect),
     .help = "`FOLDER` of golden files that the results are compared with, one per object: "
             "kind_namespace_name.yaml"},
    {.name = "update-golden",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_mutate_options, update_golden),
     .help = "Write the golden files instead"},
};

static const struct ek_flag_group input_group = {"Input flags", input_flags,
                                                 EK_ARRAY_SIZE(input_flags)};
static const struct ek_flag_group output_group = {"Output flags", output_flags,
                                                  EK_ARRAY_SIZE(output_flags)};
static const struct ek_flag_group *const groups[] = {&input_group, &output_group};

static int run_mutate(void *unused, int argc, char **argv)
{
    struct ek_mutate_options options = {0};

    (void)unused;
    return ek_command_run(&ek_mutate_command, argc, argv, &options, run);
}

const struct ek_command ek_mutate_command = {
    .name = "mutate",
    .usage = "",
    .summary = "Show what mutating admission policies do to manifests",
    .text =
        "Runs the objects of the files through the policies of the files, with the engine that "
        "serves them in a cluster, and shows for each object what changes and by whose hand.\n\n"
        "A policy without a binding among the files is taken to be bound to everything that it "
        "matches. Defaults that an API server itself sets are not added.\n\n"
        "Exit codes: 0 all went well, and as the golden files say; 1 an object was denied, or is "
        "not as its golden file says; 2 flags or files are no good.\n\n"
        "  evenkeel mutate -f policies/ -f objects/\n"
        "  kustomize build . | evenkeel mutate -f policies/ -f - -o yaml\n"
        "  evenkeel mutate -f policies/ -f objects/ --expect golden/ -o table",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 0,
    .usage_exit = EK_CI_EXIT_USAGE,
    .run = run_mutate,
};
