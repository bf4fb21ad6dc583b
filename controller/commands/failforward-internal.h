/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `evenkeel failforward`: the objects of OLM from a cluster or a recording, and the
 * report. One thread; everything lives in struct ek_ffc_inputs and is released by
 * ek_ffc_inputs_done.
 */
#ifndef CONTROLLER_COMMANDS_FAILFORWARD_INTERNAL_H
#define CONTROLLER_COMMANDS_FAILFORWARD_INTERNAL_H

#include "controller/cli/commands.h"
#include "controller/cli/print.h"
#include "controller/failforward/catalogs.h"
#include "reconcilers/failforward/consent.h"
#include "reconcilers/failforward/graph.h"

struct ek_ffc_options {
    const char *namespace, *from, *catalog, *mode;
    int64_t at_ms;
    bool registries, show_values;
    struct ek_cluster_options cluster;
    struct ek_print_options print;
};

/* What is read. */
enum ek_ffc_kind {
    EK_FFC_SUBSCRIPTIONS,
    EK_FFC_PLANS,
    EK_FFC_CSVS,
    EK_FFC_GROUPS,
    EK_FFC_CONDITIONS,
    EK_FFC_CATALOGS,
    EK_FFC_NAMESPACES,
    EK_FFC_POLICIES,
    EK_FFC_VALIDATING, /* configurations of webhooks that OLM made */
    EK_FFC_MUTATING,
    EK_FFC_KIND_MAX,
};

struct ek_ffc_list {
    struct ek_obj **items; /* owned, as are the references */
    size_t n, size;
};

struct ek_ffc_inputs {
    struct ek_ffc_list lists[EK_FFC_KIND_MAX];
    struct ek_ff_graph *graph;       /* NULL: no catalog was read */
    int64_t graph_ms;                /* when the catalog changed last; 0: unknown */
    struct ek_ff_catalogs *catalogs; /* of ek_ffc_read_registries; NULL without */
    uv_loop_t loop;                  /* theirs */
    int64_t now_ms; /* milliseconds since the epoch: of the clock, or of the recording */
};

/* Appends to list, which grows; obj is not copied, and no reference is taken. */
void ek_ffc_append(struct ek_ffc_list *list, struct ek_obj *obj);

/* Reads from a cluster (o->from is ""); blocks. EK_E_UNSUPPORTED where OLM is not installed. After
 * success or failure: ek_ffc_inputs_done. */
int ek_ffc_fetch(const struct ek_ffc_options *o, struct ek_ffc_inputs *in, struct ek_err *err);

/* Reads a recorded timeline (test/data/failforward/README.md) up to o->at_ms; 0: to its end. */
int ek_ffc_replay(const struct ek_ffc_options *o, struct ek_ffc_inputs *in, struct ek_err *err);

/* Reads the upgrade graphs of the catalogs that the subscriptions use from their registries;
 * blocks. A registry that does not answer leaves its catalog without a graph, with the reason. */
void ek_ffc_read_registries(struct ek_ffc_inputs *in);
void ek_ffc_registries_done(struct ek_ffc_inputs *in);

/* The catalog of a subscription: of --catalog or of a recording, or from its registry; without a
 * graph where none was read. */
struct ek_ff_catalog ek_ffc_catalog_of(const struct ek_ffc_inputs *in, const struct ek_obj *sub);

void ek_ffc_inputs_done(struct ek_ffc_inputs *in);
EK_CLEANUP(ek_ffc_inputs, ek_ffc_inputs_done)

/* The graph of a record CATALOG, owned. NULL where it is larger than a recording has it. */
struct ek_ff_graph *ek_ffc_recorded_graph(yyjson_val *record);

/* Adds one object for each subscription to the array, in the order of namespace and name, and
 * returns how many of them are stuck. */
size_t ek_ffc_report(const struct ek_ffc_inputs *in, const struct ek_ffc_options *o,
                     yyjson_mut_doc *doc, yyjson_mut_val *array);

/* The report as a table, see ek_print. */
int ek_ffc_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

#endif
