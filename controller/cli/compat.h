/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --compat of cel, lint and mutate: the minimum compatibility version (KEP-4330) of the API servers
 * that expressions are new to. A kube-apiserver of Kubernetes 1.NN has 1.NN-1 unless
 * --min-compatibility-version says another. Pure; any thread.
 */
#ifndef CONTROLLER_CLI_COMPAT_H
#define CONTROLLER_CLI_COMPAT_H

#include "api/base/err.h"
#include "controller/cli/flags.h"

/* The minor of a version "1.33", 0 for "", -1 for what is no version that expressions know. */
int ek_compat_minor(const char *text);

/* Check of the flag. Returns 0 or EK_E_INVAL. */
int ek_compat_check(const char *value, struct ek_err *err);

/* unset: what holds without the flag, behind "by default". */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member's name */
#define EK_COMPAT_FLAG(holder, member, unset)                                                      \
    {                                                                                              \
        .name = "compat", .type = EK_FLAG_STRING, .offset = offsetof(holder, member),              \
        .help =                                                                                    \
            "Minimum compatibility `version` of the API servers, such as 1.34 for API servers "    \
            "of Kubernetes 1.35; by default " unset,                                               \
        .check = ek_compat_check                                                                   \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
