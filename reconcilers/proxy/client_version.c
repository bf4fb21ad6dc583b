/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/client_version.h"

#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"

/* Of a User-Agent, up to the blank behind the version. */
#define PRODUCT_MAX 128

/* Which are no components of a cluster. */
#define KUBECTL   EK_COMPONENT_MAX
#define CLIENT_GO (EK_COMPONENT_MAX + 1)

static const struct {
    const char *name;
    int component; /* enum ek_component, or one of the above */
} clients[] = {
    {"kubectl", KUBECTL},
    {"client-go", CLIENT_GO},
    {"kubelet", EK_KUBELET},
    {"kube-controller-manager", EK_KUBE_CONTROLLER_MANAGER},
    {"kube-scheduler", EK_KUBE_SCHEDULER},
    {"kube-proxy", EK_KUBE_PROXY},
    {"cloud-controller-manager", EK_CLOUD_CONTROLLER_MANAGER},
};

static bool is_within(struct ek_minor v, const struct ek_bounds *bounds)
{
    struct ek_minor newest = bounds->max_bv.at;

    if (!newest.known || v.major != newest.major)
        return false;
    uint64_t distance = v.minor > newest.minor ? v.minor - newest.minor : newest.minor - v.minor;
    return distance <= EK_CLIENT_VERSIONS_EACH_WAY;
}

static enum ek_verdict judge_kubectl(struct ek_minor v, const struct ek_bounds *bounds)
{
    const struct ek_range range = ek_policy_kubectl_range(bounds);
    bool below = range.min.at.known && ek_minor_cmp(v, range.min.at) < 0;
    bool above = range.max.at.known && ek_minor_cmp(v, range.max.at) > 0;

    if (below || above)
        return EK_VERDICT_UNSUPPORTED;
    return bounds->complete ? EK_VERDICT_SUPPORTED : EK_VERDICT_UNKNOWN;
}

static enum ek_verdict judge(int component, struct ek_minor v, const struct ek_bounds *bounds)
{
    static const struct ek_skew_policy policy = {.max_controller_skew = EK_SKEW_UNSET,
                                                 .max_kubelet_skew = EK_SKEW_UNSET};
    enum ek_rule rule = EK_RULE_NONE;

    if (component == CLIENT_GO) /* KEP-4330 has no rule for libraries */
        return EK_VERDICT_NOT_JUDGED;
    if (!v.known)
        return EK_VERDICT_UNKNOWN;
    if (component == KUBECTL)
        return judge_kubectl(v, bounds);
    return ek_policy_check((enum ek_component)component, v, EK_MINOR_UNKNOWN, bounds, &policy,
                           &rule);
}

/* The version of "kubectl/v1.36.2 ...", behind the slash: "v", three parts, and what vendors add.
 */
static struct ek_minor read_version(const char *text)
{
    struct ek_version v;
    size_t len = strcspn(text, " ");

    if (len >= PRODUCT_MAX || *text != 'v' ||
        ek_version_parse((struct ek_str){text, len}, EK_VERSION_SEMANTIC, &v))
        return EK_MINOR_UNKNOWN;
    return EK_MINOR(v.major, v.minor);
}

/* Releases of client-go are v0.36.2 where those of Kubernetes are v1.36.2
 * (kubernetes/client-go, README.md, "Versioning"). */
static struct ek_minor release_of(size_t client, struct ek_minor v)
{
    if (clients[client].component == CLIENT_GO)
        return v.known && v.major == 0 ? EK_MINOR(1, v.minor) : EK_MINOR_UNKNOWN;
    return ek_policy_usable(v);
}

struct ek_client_version ek_client_version_judge(const char *user_agent,
                                                 const struct ek_bounds *bounds)
{
    struct ek_client_version result = {.client = "other", .verdict = EK_VERDICT_NOT_JUDGED};
    const char *text = user_agent ? user_agent : "";
    size_t len = strcspn(text, "/ ");

    for (size_t i = 0; i < EK_ARRAY_SIZE(clients); i++) {
        if (strlen(clients[i].name) != len || memcmp(clients[i].name, text, len) != 0)
            continue;
        struct ek_minor v = text[len] == '/' ? read_version(text + len + 1) : EK_MINOR_UNKNOWN;
        v = release_of(i, v);
        result.client = clients[i].name;
        result.verdict = judge(clients[i].component, v, bounds);
        if (v.known && is_within(v, bounds))
            ek_minor_format(v, result.version);
        else if (v.known)
            snprintf(result.version, sizeof result.version, "other");
    }
    return result;
}
