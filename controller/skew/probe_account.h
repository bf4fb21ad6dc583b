/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of --probe-service-account: the ServiceAccount whose tokens are sent to schedulers and
 * controller managers to read their metrics. Shared by `evenkeel run` and `evenkeel check`. Pure.
 */
#ifndef CONTROLLER_SKEW_PROBE_ACCOUNT_H
#define CONTROLLER_SKEW_PROBE_ACCOUNT_H

#include "api/base/err.h"

#define EK_PROBE_ACCOUNT_DEFAULT "evenkeel-probe"
#define EK_PROBE_ACCOUNT_HELP                                                                      \
    "ServiceAccount, as `[namespace/]name`, whose short-lived tokens are sent to schedulers and "  \
    "controller managers; the namespace is by default that of the pod, or evenkeel-system"

#define EK_PROBE_ACCOUNT_SIZE 256

struct ek_probe_account {
    char namespace[EK_PROBE_ACCOUNT_SIZE];
    char name[EK_PROBE_ACCOUNT_SIZE];
};

/* Reads value ("name" or "namespace/name"); pod_namespace (NULL outside a cluster) stands in for a
 * namespace that is not given. EK_E_INVAL for what no namespace or ServiceAccount can be called. */
int ek_probe_account_parse(const char *value, const char *pod_namespace,
                           struct ek_probe_account *ret_account, struct ek_err *err);

/* The flag's check, see struct ek_flag. */
int ek_probe_account_check(const char *value, struct ek_err *err);

#endif
