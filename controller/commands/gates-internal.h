/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `evenkeel gates`: definitions and CRDs from files or a cluster, what they come to,
 * and what would be stored of an object. One thread; everything lives in struct ek_gates_inputs
 * and is released by ek_gates_inputs_done.
 */
#ifndef CONTROLLER_COMMANDS_GATES_INTERNAL_H
#define CONTROLLER_COMMANDS_GATES_INTERNAL_H

#include "controller/cli/print.h"
#include "controller/manifests/manifests-internal.h"
#include "reconcilers/fieldgates/resolve.h"

struct ek_gates_options {
    struct ek_flag_list files, crds;
    bool cluster;
    struct ek_cluster_options which; /* cluster */
    const char *old, *new, *operation, *subresource;
    struct ek_flag_list gates; /* of "clear" */
    const char *dry_run;       /* likewise: "none", "client", "server" */
    bool strict;
    struct ek_print_options print;
};

/* A CustomFeatureGates, and the CRD that it is for. */
struct ek_gates_input {
    const char *source; /* the file's name, "cluster" */
    yyjson_val *object; /* the definition */
    yyjson_val *crd;    /* NULL: there is none, or none is known */
    bool crd_wanted;    /* a cluster or files were searched for it */

    const struct ek_gates *gates; /* owned: all that is defined */
    bool resolved;                /* resolution is there */
    struct ek_gates_resolution resolution;
};

struct ek_gates_inputs {
    struct ek_ci ci; /* files read, arena and notes */
    struct ek_ci_objects read;
    struct ek_gates_input *list; /* owned, in the order they were read */
    size_t n;
};

/* Reads what the options name, pairs and lints it; names (n of them, none: all) choose definitions.
 * After success or failure: ek_gates_inputs_done. */
int ek_gates_inputs_init(struct ek_gates_inputs *in, const struct ek_gates_options *options,
                         char *const *names, int n_names, struct ek_err *err);
void ek_gates_inputs_done(struct ek_gates_inputs *in);
EK_CLEANUP(ek_gates_inputs, ek_gates_inputs_done)

/* Reads definitions from the cluster (with_gates), and for the CRDs of all definitions that lack
 * one; blocks. Without a CRD of that name an input's crd stays NULL. */
int ek_gates_fetch(struct ek_gates_inputs *in, const struct ek_cluster_options *which,
                   bool with_gates, struct ek_err *err);

/* Adds a definition; object is borrowed from a document of in->ci. */
void ek_gates_inputs_add(struct ek_gates_inputs *in, yyjson_val *object, const char *source);

/* ---- What they come to ---- */

struct ek_gates_totals {
    size_t errors;   /* problems, and findings that refuse */
    size_t warnings; /* other findings that are worth a look */
};

/* {"definitions": [...], "errors": n, "warnings": n} */
yyjson_doc *ek_gates_report(const struct ek_gates_inputs *in, struct ek_gates_totals *ret_totals);

/* As people read it; an ek_print_table_fn. */
int ek_gates_table(void *ctx, yyjson_val *report, bool color, struct ek_buf *out);

/* ---- What would be stored ---- */

/*
 * Runs the write that options describe through the gates of its kind. *ret_denied is true when it
 * was denied. NULL with err for inputs that are no good.
 */
yyjson_doc *ek_gates_dry_run(struct ek_gates_inputs *in, const struct ek_gates_options *options,
                             bool *ret_denied, struct ek_err *err);

/* The request and the stored object, with a diff; an ek_print_table_fn. */
int ek_gates_diff(void *ctx, yyjson_val *report, bool color, struct ek_buf *out);

/* ---- Clearing ---- */

/* `gates clear NAME`: removes the values of options->gates from the stored objects of the cluster,
 * and prints what became of each. Returns the exit code: EK_CI_EXIT_FOUND when a value stays. */
int ek_gates_clear(const struct ek_gates_options *options, char *const *names, int n_names);

#endif
