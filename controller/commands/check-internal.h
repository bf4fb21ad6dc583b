/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `evenkeel check` share: check.c (one cluster), check_fleet.c (several). */
#ifndef CONTROLLER_COMMANDS_CHECK_INTERNAL_H
#define CONTROLLER_COMMANDS_CHECK_INTERNAL_H

#include "controller/cli/commands.h"
#include "controller/cli/print.h"
#include "controller/commands/live.h"
#include "reconcilers/peers/view_source.h"

struct ek_check_options {
    struct ek_live_options live;
    struct ek_print_options print;
    bool all_contexts;
    const char *next_version;
    struct ek_flag_list ignored; /* names of components that are not judged */
    struct ek_flag_list pages;   /* files with the metrics of proxies */
    char **texts;                /* of these; owned */
};

/* The verdict of the last look at a cluster. */
struct ek_check_verdict {
    const struct ek_check_options *options;
    struct ek_obj *result; /* a reference */
    int exit_code;
    struct ek_view_source *documents; /* of the API servers, from look to look */
    int64_t now_ms;                   /* of the look */
};

/* An ek_live_look_fn with a struct ek_check_verdict. */
void ek_check_look(void *ctx, struct ek_skew_view *view, struct ek_skew_watch *watch);

void ek_check_verdict_init(struct ek_check_verdict *verdict,
                           const struct ek_check_options *options);
void ek_check_verdict_done(struct ek_check_verdict *verdict);

/*
 * The contexts that the flags name, where they name several clusters; *ret_n 0 where they name
 * one. "--context a,b" is one context where the kubeconfig has one of this name. ret_names is
 * owned: free with ek_check_contexts_done. Errors: EK_E_INVAL for an empty or repeated name and for
 * flags of one cluster, and those of the kubeconfig.
 */
int ek_check_contexts(const struct ek_check_options *options, struct ek_strings *ret_names,
                      struct ek_err *err);

/* Checks the clusters of contexts at the same time and prints one report; returns the exit code. */
int ek_check_fleet(const struct ek_check_options *options, const struct ek_strings *contexts);

#endif
