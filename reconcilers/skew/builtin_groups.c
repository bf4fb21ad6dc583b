/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/builtin_groups.h"

#include <stddef.h>
#include <string.h>

#include "api/base/mem.h"

bool ek_skew_is_builtin_group(const char *group)
{
    static const char *const groups[] = {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(groups); i++)
        if (!strcmp(group, groups[i]))
            return true;
    return false;
}
