/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `evenkeel rehearse`: the manifest, the progress, the report. One thread. */
#ifndef CONTROLLER_COMMANDS_REHEARSE_INTERNAL_H
#define CONTROLLER_COMMANDS_REHEARSE_INTERNAL_H

#include <yyjson.h>

#include "controller/cli/commands.h"
#include "controller/cli/print.h"
#include "controller/rehearse/rehearse.h"
#include "reconcilers/plan/server_args.h"

struct ek_rehearse_command_options {
    struct ek_print_options print; /* also "html" */
    struct ek_cluster_options cluster;
    const char *resources;
    const char *snapshot, *apiserver, *apiserver_old, *etcd, *manifest, *from, *encryption;
    int64_t dry_runs, start_timeout_ms, timeout_ms;
    bool host_network, from_cluster, secret_values;
};

/* Reads the command line of the kube-apiserver in the file at path into args, whose texts live as
 * long as *ret_doc (to be freed with yyjson_doc_free) and the arena of args. Errors: as
 * ek_file_read; EK_E_PARSE; EK_E_NOENT without a kube-apiserver in the file. */
int ek_rehearse_read_manifest(const char *path, struct ek_server_args *args, yyjson_doc **ret_doc,
                              struct ek_err *err);

/* Shows where a rehearsal is, on stderr where that is a terminal (ek_rehearse_options.progress);
 * ctx is a struct ek_rehearse_line. */
struct ek_rehearse_line {
    bool terminal;
    bool shown;
    int64_t drawn_ms; /* when the line was written last */
};
void ek_rehearse_show(void *ctx, const struct ek_rehearse_progress *progress);
void ek_rehearse_show_end(struct ek_rehearse_line *line);

/* "step 2 of 4: starting kube-apiserver, 1200 of 4000 objects, 12s left" in buf; pure. */
const char *ek_rehearse_progress_text(const struct ek_rehearse_progress *progress, char *buf,
                                      size_t size);

/* The report as data: {"verdict", "from", "to", "steps", "findings", "removedFlags", "cannotShow",
 * ...}; owned. */
yyjson_doc *ek_rehearse_document(const struct ek_rehearse_result *result);

/* Appends the document as tables (ek_print_table_fn). */
int ek_rehearse_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* Appends the document as an HTML page (ek_print_table_fn); ctx is the time for the footer, an
 * int64_t in milliseconds since the epoch. */
int ek_rehearse_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* "12 differences from the plan" and the like of a step, for both forms, in buf. */
const char *ek_rehearse_plan_text(yyjson_val *step, char *buf, size_t size);

/* EK_EXIT_VIOLATIONS where something breaks, EK_EXIT_FAILED where a step was not reached or a
 * kind was not read or not copied, else EK_EXIT_OK. */
int ek_rehearse_exit(const struct ek_rehearse_result *result);

#endif
