/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all subjects of `evenkeel run`: the one place that names them. To add a subject, add
 * its row here (controller/README.md, "A subject").
 */
#ifndef CONTROLLER_RUN_SUBJECTS_H
#define CONTROLLER_RUN_SUBJECTS_H

#include "controller/cli/flags.h"
#include "controller/manager/subject.h"

/* Rows of the table, at most. */
#define EK_SUBJECTS_MAX EK_REGISTRY_ROWS_MAX

/* Up to the first NULL; in the order in which they are made, started and shown. */
extern const struct ek_subject *const ek_subjects[];

/* The subjects that run. */
struct ek_selection {
    const struct ek_subject *list[EK_SUBJECTS_MAX]; /* in the order of the table */
    size_t n;
    bool webhook;     /* one of them registers webhooks: without one, none is served */
    bool finds_peers; /* one of them finds the API servers, and publishes what they serve */
};

/*
 * Selects the rows of table (up to the first NULL) that names chooses by their options; no names
 * choose all. A row without an option follows the subjects that register webhooks. Errors:
 * EK_E_INVAL for a name that no row has, and for a subject that reads the table of API servers
 * (peers) or the facts of components (facts) without the one that finds them (prober). Pure.
 */
int ek_subjects_select(const struct ek_subject *const *table, const struct ek_flag_list *names,
                       struct ek_selection *ret_selection, struct ek_err *err);

#endif
