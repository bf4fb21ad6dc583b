/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of `evenkeel proxy --config`: a YAML mapping of flags to values.
 *
 * The members have the names of the flags, so that --help describes both. A flag of the command
 * line replaces the member, also where both are lists. An unknown member, a repeated member or a
 * value of the wrong type is an error with file and line. Blocks; not for a loop thread.
 */
#ifndef CONTROLLER_RUN_PROXY_CONFIG_H
#define CONTROLLER_RUN_PROXY_CONFIG_H

#include "controller/cli/flags.h"

#define EK_PROXY_CONFIG_MAX ((size_t)1 << 20) /* bytes of a file */

/* Command line arguments; owned, NULL-terminated. */
struct ek_proxy_arguments {
    char **items;
    int n;
};

void ek_proxy_arguments_done(struct ek_proxy_arguments *arguments);

/*
 * Reads text (len bytes of the file path) into arguments of command: those of the file first, then
 * the argc ones of argv (copied). argv must have been parsed without error. Errors: EK_E_INVAL,
 * EK_E_PARSE, EK_E_LIMIT with "path line N: ..."; then ret_arguments is empty.
 */
int ek_proxy_config_merge(const struct ek_command *command, const char *path, const char *text,
                          size_t len, int argc, char *const *argv,
                          struct ek_proxy_arguments *ret_arguments, struct ek_err *err);

#endif
