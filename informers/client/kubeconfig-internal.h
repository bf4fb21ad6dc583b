/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the kubeconfig module share: the parsed files, their check against
 * the kubeconfig's schema, and the reading of checked entries into struct ek_client_config.
 */
#ifndef INFORMERS_CLIENT_KUBECONFIG_INTERNAL_H
#define INFORMERS_CLIENT_KUBECONFIG_INTERNAL_H

#include <yyjson.h>

#include "informers/client/kubeconfig.h"

/* One file. All members are owned. */
struct kubeconfig_file {
    char *path;
    yyjson_doc *doc;
};

/* The files in order of precedence, and what was odd in them. */
struct kubeconfig_set {
    struct kubeconfig_file *files;
    size_t n_files;
    struct ek_strings warnings;
};

/* A named entry and the file it is in. */
struct kubeconfig_entry {
    const struct kubeconfig_file *file;
    const char *name;
    yyjson_val *value; /* the cluster, user or context object; NULL when there is no such entry */
};

/* Checks every entry of a file: wrong types are EK_E_PARSE, unknown fields go to warnings. */
int kubeconfig_check__(const struct kubeconfig_file *file, struct ek_strings *warnings,
                       struct ek_err *err);

/* Reads checked entries into config. EK_E_INVAL, EK_E_PARSE or EK_E_UNSUPPORTED. */
int kubeconfig_read_cluster__(const struct kubeconfig_entry *entry, struct ek_client_config *config,
                              struct ek_err *err);
int kubeconfig_read_user__(const struct kubeconfig_entry *entry, struct ek_client_config *config,
                           struct ek_err *err);

/* Adds a printf line to warnings with control characters replaced, unless the list is full. */
void kubeconfig_warn__(struct ek_strings *warnings, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
