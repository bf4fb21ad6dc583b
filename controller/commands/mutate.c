/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel mutate`: what policies do to manifests, without a cluster. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/cli/compat.h"
#include "controller/cli/print.h"
#include "controller/manifests/manifests-internal.h"

/* The one object of a file. */
static int read_one(struct ek_ci *ci, const char *path, const char *flag, yyjson_val **ret,
                    struct ek_err *err)
{
    struct ek_ci_objects objects = {0};
    int rc = ek_ci_read(ci, path, &objects, err);

    if (!rc && objects.n != 1)
        rc = ek_err_set(err, EK_E_INVAL, "%s %s: exactly one object is required, found %zu", flag,
                        path, objects.n);
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
        rc = ek_err_set(err, EK_E_INVAL, "%s: a ClusterRole with rules is required", path);
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
    if (!rc)
        rc = ek_ci_decode_all(ci, err);
    if (!rc && o->update_golden && !*o->expect)
        rc = ek_err_set(err, EK_E_INVAL, "--update-golden needs --expect FOLDER");
    return rc;
}

/* Problems of the policies themselves, which make them deny whatever they match. */
static void report_notes(const struct ek_ci *ci)
{
    yyjson_mut_val *note;
    size_t i, n;

    yyjson_mut_arr_foreach(ci->notes, i, n, note)
        ek_print_stderr("note: ", "%s", yyjson_mut_get_str(note));
}

/* Notes which fields API servers do not know, of what was read and of what the policies made. */
static int note_fields(struct ek_ci *ci, struct ek_err *err)
{
    const struct ek_plan_report *report = &ci->fields->report;

    if (ek_arena_exhausted(report->arena))
        return ek_err_set(err, EK_E_LIMIT, "the objects have too many fields that are not known");
    for (size_t i = 0; i < report->n; i++)
        ek_ci_note_finding(ci, &report->list[i]);
    return 0;
}

/* A pipeline that selects nothing must not look like one whose objects are fine. */
static int check_empty(const struct ek_ci *ci, const struct ek_mutate_options *o,
                       struct ek_err *err)
{
    if (o->allow_empty || (ci->n_compiled && ci->objects.n))
        return 0;
    return ek_err_set(err, EK_E_NOENT, "there is no %s in these files; --allow-empty allows this",
                      ci->n_compiled ? "object" : "policy");
}

struct results {
    struct ek_mutate_output output;
    struct ek_golden golden;
    bool compared;
};

static int take_result(void *ctx, yyjson_val *result, struct ek_err *err)
{
    struct results *r = ctx;
    int rc = r->compared ? ek_golden_add(&r->golden, result, err) : 0;

    return rc ? rc : ek_mutate_output_add(&r->output, result, r->compared ? &r->golden : NULL, err);
}

static int run_all(struct ek_ci *ci, const struct ek_mutate_options *o, struct results *r,
                   struct ek_err *err)
{
    int rc = ek_mutate_output_open(&r->output, o, err);

    r->compared = *o->expect;
    if (!rc && r->compared)
        rc = ek_golden_open(&r->golden, o->expect, o->update_golden, err);
    if (!rc)
        rc = ek_mutate_each(ci, o, take_result, r, err);
    if (!rc)
        ek_mutate_note_assumed(ci);
    if (!rc)
        rc = note_fields(ci, err);
    if (!rc && r->compared)
        rc = ek_golden_end(&r->golden, ek_mutate_output_stale, &r->output, err);
    if (!rc)
        rc = ek_mutate_output_end(&r->output, ci->notes, err);
    if (!rc)
        report_notes(ci);
    return rc;
}

/* A denial that a golden file states is expected, unless it left nothing to print. */
static int exit_code(const struct ek_mutate_options *o, const struct results *r)
{
    bool denied = r->output.denied > 0;
    bool held = denied && !strcmp(o->output, "yaml") && !strcmp(o->denied, "fail");

    return (r->compared ? held || r->golden.differ : denied) ? EK_CI_EXIT_FOUND : EK_EXIT_OK;
}

static int run(void *parsed, char **args, int n_args)
{
    struct ek_mutate_options *o = parsed;
    struct ek_err err = {0};
    struct results results = {0};
    EK_AUTO(ek_ci) ci;

    o->inputs.more_files = args;
    o->inputs.n_more_files = (size_t)n_args;
    int rc = ek_ci_init(&ci, &o->inputs, &err);
    if (!rc)
        rc = read_rest(&ci, o, &err);
    if (rc)
        return ek_ci_complain(&err);
    ek_ci_bind(&ci, ek_compat_minor(o->inputs.compat));
    rc = ek_ci_check_policies(&ci, &err);
    if (!rc)
        rc = check_empty(&ci, o, &err);
    if (!rc)
        rc = run_all(&ci, o, &results, &err);
    int code = rc ? ek_ci_complain(&err) : exit_code(o, &results);
    ek_mutate_output_done(&results.output);
    ek_golden_done(&results.golden);
    return rc == EK_E_NET ? EK_EXIT_FAILED : code;
}

static int check_extra(const char *value, struct ek_err *err)
{
    const char *equals = strchr(value, '=');

    return equals && equals != value
               ? 0
               : ek_err_set(err, EK_E_INVAL, "%s is not of the form KEY=VALUE", value);
}

static const struct ek_flag input_flags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, inputs.files),
     .help = "`FILE` or folder of policies, bindings, CustomResourceDefinitions, Namespaces and "
             "objects, or - for the standard input; may be repeated"},
    EK_SKIP_UNKNOWN_FLAG(struct ek_mutate_options, inputs.skip_unknown),
    {.name = "allow-empty",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_mutate_options, allow_empty),
     .help = "Succeed if the files have no policy or no object"},
    {.name = "params",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, inputs.params),
     .help = "`FILE` or folder of params, which are not mutated; may be repeated"},
    {.name = "schema",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, inputs.schemas),
     .help = "Source of schemas: `builtin`, builtin:1.NN, cluster (of the kubeconfig), or a file "
             "or folder with the OpenAPI v3 document of a group version or with "
             "CustomResourceDefinitions, "
             "which are not mutated; may be repeated"},
    EK_CLUSTER_FLAGS(struct ek_mutate_options, inputs.cluster),
    EK_COMPAT_FLAG(struct ek_mutate_options, inputs.compat,
                   "the policies are stored already, and may use everything"),
    {.name = "operation",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, operation),
     .choices = {"CREATE", "UPDATE"},
     .help = "`operation` of the requests; by default UPDATE for objects that --old contains, else "
             "CREATE"},
    {.name = "subresource",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, subresource),
     .help = "Write this `subresource` of the objects instead of the objects: status, scale, "
             "resize, eviction and so on. The request is an update, and --old has the state before "
             "it. For scale, the Scale of each object is mutated. Objects without the subresource "
             "are left out"},
    {.name = "namespace",
     .letter = 'n',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, namespace),
     .help = "`namespace` of the requests for objects that have none in their file; by default "
             "default. As in kubectl, an object of another namespace is an error. The printed "
             "objects keep what their file has"},
    {.name = "old",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, old),
     .help = "`FILE` or folder with the objects before the request"},
    {.name = "namespace-object",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, namespace_object),
     .help = "`FILE` with the Namespace of the objects"},
    {.name = "user",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, user),
     .initial = "ci",
     .help = "`name` of the user who sends the requests"},
    {.name = "group",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, groups),
     .help = "A `group` of that user; may be repeated; by default system:authenticated"},
    {.name = "extra",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct ek_mutate_options, extra),
     .help = "A value of userInfo.extra of that user, as `KEY=VALUE`; may be repeated",
     .check = check_extra},
    {.name = "field-manager",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, field_manager),
     .help = "`name` that the requests give to the field manager, which policies see as "
             "request.options.fieldManager; by default none"},
    {.name = "allow",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, allow),
     .help = "`FILE` with a ClusterRole that the authorizer allows; by default the authorizer "
             "allows nothing"},
    {.name = "deny",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, deny),
     .help = "`FILE` with a ClusterRole that the authorizer denies, even if --allow allows it; "
             "without --allow, everything else is allowed"},
};

static const struct ek_flag output_flags[] = {
    {.name = "output",
     .letter = 'o',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, output),
     .initial = "diff",
     .choices = {"diff", "yaml", "json", "table", "junit", "sarif"},
     .help = "Output `format`: the changes of each policy with a diff, the resulting objects, the "
             "whole report, or what failed for a CI system (junit, sarif)"},
    {.name = "color",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, color),
     .initial = "auto",
     .choices = {"auto", "always", "never"},
     .help = "When to use colors; auto means on a terminal, unless NO_COLOR is set"},
    {.name = "denied",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, denied),
     .initial = "fail",
     .choices = {"fail", "comment"},
     .help = "What -o yaml prints if objects are denied: nothing (`fail`), or the other objects, "
             "with a comment for each denied object (comment)"},
    {.name = "expect",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_mutate_options, expect),
     .help = "`FOLDER` of golden files to compare the results with, one for each object: "
             "kind.group_namespace_name.yaml"},
    {.name = "as-stored",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_mutate_options, as_stored),
     .help =
         "Print the objects as the API server would store them, with defaults and without "
         "unknown fields, instead of the objects of the files with the changes of the "
         "policies. What the API server itself writes is not there: uid, creationTimestamp, "
         "generation, managedFields, and a status of its own. The diff of -o diff is then between "
         "objects as stored, and does not apply to the file"},
    {.name = "update-golden",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_mutate_options, update_golden),
     .help = "Write the golden files instead of comparing with them; files that no object has are "
             "reported, and not deleted"},
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
    .usage = "[FILE...]",
    .summary = "Show the effect of admission policies on manifests",
    .text =
        "Evaluates the policies of the files on the objects of the files, with the engine that "
        "Evenkeel uses in a cluster, and prints for each object the changes and the policies "
        "that made them. Validating policies judge the objects after all mutations: Deny is a "
        "denial, Warn a warning on stderr, and audit annotations are in the report.\n\nA "
        "policy without a binding in the files counts as bound to "
        "everything that the policy matches. Policies see the objects as an API server decodes "
        "them: with defaults, and without fields that the schema does not declare; custom "
        "resources if their CustomResourceDefinition is in the files, which then also validates "
        "them after the policies. The printed object is "
        "the object of the file with what the policies wrote. What plug-ins of the API "
        "server add to Pods before policies see them is not added (ServiceAccount, Priority, "
        "DefaultTolerationSeconds). Fields "
        "of the objects and of the results that API servers of the version do not have are "
        "noted on stderr.\n\nExit "
        "codes: 0 success, and the results equal the golden files; 1 an object differs from "
        "its golden file or, without --expect, is denied, or a golden file has no object; 2 a "
        "flag or a file is invalid, as is one with a policy that API servers refuse, or the files "
        "have no policy or no object.\n\n  evenkeel "
        "mutate -f policies/ -f objects/\n  kustomize build . | evenkeel mutate -f policies/ "
        "-f - -o yaml\n  evenkeel mutate -f policies/ -f objects/ --expect golden/ -o table\n  "
        "evenkeel mutate "
        "-f policies/ -f objects/ --expect golden/ -o junit >mutate.xml",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = -1,
    .usage_exit = EK_CI_EXIT_USAGE,
    .run = run_mutate,
};
