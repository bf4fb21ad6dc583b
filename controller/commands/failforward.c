/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel failforward check`: which operators are stuck, why, and what would be done. */
#include <stdio.h>
#include <string.h>

#include "api/base/time.h"
#include "controller/commands/failforward-internal.h"
#include "controller/commands/failforward_publish.h"
#include "informers/client/file.h"
#include "informers/clock.h"

#define CATALOG_MAX ((size_t)64 << 20)

static int complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_EXIT_FAILED;
}

static int read_catalog(const struct ek_ffc_options *o, struct ek_ffc_inputs *in,
                        struct ek_ff_bundles **ret_bundles, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    size_t len = 0;

    if (!*o->catalog)
        return 0;
    int rc = ek_file_read(o->catalog, CATALOG_MAX, &text, &len, err);
    if (rc)
        return rc;
    ek_ff_graph_free(in->graph);
    in->graph = ek_ff_graph_new(CATALOG_MAX);
    rc = ek_ff_graph_read(in->graph, text, len, err);
    if (!rc)
        rc = ek_ff_bundles_read(text, len, CATALOG_MAX, ret_bundles, err);
    ek_err_prefix(err, "%s", o->catalog);
    return rc;
}

static int run(void *parsed, char **args, int n_args)
{
    const struct ek_ffc_options *o = parsed;
    struct ek_err err = {0};
    EK_AUTO(ek_ffc_inputs) in = {.now_ms = ek_wall_ms()};
    struct ek_ff_bundles *bundles = NULL; /* of --catalog */
    enum ek_ffp_verdict verdict = EK_FFP_ACCEPTED;

    if (n_args != 1 || strcmp(args[0], "check") != 0)
        return complain(
            (ek_err_set(&err, EK_E_INVAL, "failforward: the action is missing: check"), &err));
    int rc = *o->from ? ek_ffc_replay(o, &in, &err) : ek_ffc_fetch(o, &in, &err);
    if (!rc)
        rc = read_catalog(o, &in, &bundles, &err);
    if (rc)
        return complain(&err);
    if (o->registries && !*o->from && !in.graph)
        ek_ffc_read_registries(&in);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_bool(doc, root, "catalogRead", in.graph || in.catalogs);
    size_t stuck = ek_ffc_report(&in, o, doc, yyjson_mut_obj_add_arr(doc, root, "subscriptions"));
    yyjson_mut_obj_add_uint(doc, root, "stuck", stuck);
    if (bundles)
        verdict = ek_ffp_report(&in, o, bundles, doc, root);
    ek_ff_bundles_free(bundles);
    yyjson_doc *report = yyjson_mut_doc_imut_copy(doc, &ek_json_xalc);
    int code = ek_print(&o->print, yyjson_doc_get_root(report), ek_ffc_table, NULL);
    yyjson_doc_free(report);
    yyjson_mut_doc_free(doc);
    if (code)
        return code;
    return stuck || verdict == EK_FFP_REFUSED ? EK_EXIT_VIOLATIONS
           : verdict == EK_FFP_UNKNOWN        ? EK_EXIT_UNKNOWN
                                              : EK_EXIT_OK;
}

static int check_at(const char *value, struct ek_err *err)
{
    int64_t ms = 0;

    if (!ek_duration_parse(value, &ms) && ms < 0)
        return ek_err_set(err, EK_E_INVAL, "%s is before the begin of the recording", value);
    return 0;
}

static const struct ek_flag flags[] = {
    {.name = "namespace",
     .letter = 'n',
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_ffc_options, namespace),
     .help = "Report only the subscriptions of this `namespace`; by default, of all namespaces"},
    {.name = "from",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_ffc_options, from),
     .help = "Read a recorded timeline from a `file` of JSON lines and not a cluster"},
    {.name = "at",
     .type = EK_FLAG_DURATION,
     .offset = offsetof(struct ek_ffc_options, at_ms),
     .check = check_at,
     .help = "Moment of the recording to judge; by default its end"},
    {.name = "catalog",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_ffc_options, catalog),
     .help =
         "File-based catalog (`file` of JSON or YAML, or a ConfigMap with such texts), published "
         "or not, to read the upgrade graph from; also reports which installed versions it "
         "upgrades, and whether its "
         "CustomResourceDefinitions accept the objects that exist. Without a catalog, whether "
         "an edge leads on is not known, unless the recording has the catalog"},
    {.name = "registries",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_ffc_options, registries),
     .help = "Read the upgrade graphs from the registries that the CatalogSources name, over gRPC "
             "without TLS, as OLM does. Whoever may create a CatalogSource chooses the addresses"},
    {.name = "show-values",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct ek_ffc_options, show_values),
     .help = "With --catalog, print the values of objects that a definition refuses, which may be "
             "secret, and the messages that rules make of them; by default `<value>` is in their "
             "place"},
    {.name = "mode",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct ek_ffc_options, mode),
     .initial = "Assist",
     .choices = {"Assist", "Force"},
     .help = "Mode whose next step is reported; the report also has the mode of each subscription"},
    EK_CLUSTER_FLAGS(struct ek_ffc_options, cluster),
    EK_PRINT_FLAGS(struct ek_ffc_options, print),
};

static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_failforward(void *unused, int argc, char **argv)
{
    struct ek_ffc_options options = {0};

    (void)unused;
    return ek_command_run(&ek_failforward_command, argc, argv, &options, run);
}

const struct ek_command ek_failforward_command = {
    .name = "failforward",
    .usage = "check",
    .words = {"check"},
    .summary = "Find operators of OLM v0 whose upgrade failed",
    .text =
        "Reads the objects of the Operator Lifecycle Manager (OLM) v0 once and reports for each "
        "subscription the failure, the object that shows the failure, and the next step of the "
        "ladder S0 to S6 with its write. Nothing is written.\n\nWith "
        "--catalog, the command also reports what the catalog does to the installed versions: the "
        "edge of each, and what the definitions of the versions on the way refuse, by the schema "
        "and the CEL rules, the stored versions and the field gates. An installed version whose "
        "install plan has not completed is on the way itself. Only bundles whose objects the "
        "catalog contains can be checked. At most 10,000 objects of each version of a definition "
        "are read, of all namespaces.\n\nExit codes: 0 "
        "nothing is stuck; 1 a flag, a file or the cluster failed, or OLM is not installed; 2 "
        "a subscription is stuck, or, with --catalog, an installed version has no edge or a "
        "definition refuses what exists; 3 with --catalog, not all of this is known.\n\n  evenkeel "
        "failforward check\n  evenkeel failforward check "
        "-n my-ns --catalog catalog.yaml -o json\n  evenkeel failforward check --from "
        "timeline.jsonl --at 90s",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 1,
    .run = run_failforward,
};
