/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer says about itself: /version, health, and the part of /metrics that reports
 * versions. */
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/server-internal.h"

/* Some gates with their history: minor, default, stage, in ascending order, as the feature gate
 * registry of kube-apiserver has them. */
struct gate {
    const char *name;
    struct {
        int minor;
        bool on;
        const char *stage; /* "" for GA, as the metric shows it */
    } specs[4];
};

static const struct gate gates[] = {
    {"APIServerIdentity", {{20, false, "ALPHA"}, {26, true, "BETA"}}},
    {"AtomicFIFO", {{36, true, "BETA"}}},
    {"ComponentFlagz", {{32, false, "ALPHA"}, {36, true, "BETA"}}},
    {"ComponentStatusz", {{32, false, "ALPHA"}, {36, true, "BETA"}}},
    {"ConsistentListFromCache", {{28, false, "ALPHA"}, {31, true, "BETA"}, {34, true, ""}}},
    {"CoordinatedLeaderElection", {{31, false, "ALPHA"}, {33, false, "BETA"}}},
    {"CRDObservedGenerationTracking", {{35, false, "BETA"}, {36, true, "BETA"}}},
    {"DRAAdminAccess", {{32, false, "ALPHA"}, {34, true, "BETA"}, {36, true, ""}}},
    {"DynamicResourceAllocation", {{26, false, "ALPHA"}, {32, false, "BETA"}, {34, true, ""}}},
    {"InPlacePodVerticalScaling", {{27, false, "ALPHA"}, {33, true, "BETA"}, {35, true, ""}}},
    {"MutatingAdmissionPolicy", {{32, false, "ALPHA"}, {34, false, "BETA"}, {36, true, ""}}},
    {"PodLevelResources", {{32, false, "ALPHA"}, {34, true, "BETA"}}},
    {"SidecarContainers", {{28, false, "ALPHA"}, {29, true, "BETA"}, {33, true, ""}}},
    {"UnknownVersionInteroperabilityProxy", {{28, false, "ALPHA"}, {36, true, "BETA"}}},
    {"UserNamespacesSupport",
     {{25, false, "ALPHA"}, {30, false, "BETA"}, {33, true, "BETA"}, {36, true, ""}}},
    {"WatchList",
     {{27, false, "ALPHA"}, {32, true, "BETA"}, {33, false, "BETA"}, {34, true, "BETA"}}},
};

static void put_gates(const struct ek_apiserver_peer *peer, struct ek_buf *out)
{
    ek_buf_puts(out, "# HELP kubernetes_feature_enabled [BETA] This metric records the data about "
                     "the stage and enablement of a k8s feature.\n"
                     "# TYPE kubernetes_feature_enabled gauge\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(gates); i++) {
        const struct gate *gate = &gates[i];
        int last = -1;
        char on[80], off[80];
        for (int k = 0; k < 4 && gate->specs[k].minor; k++)
            last = gate->specs[k].minor <= (int)peer->emulation.minor ? k : last;
        if (last < 0)
            continue;
        snprintf(on, sizeof(on), "%s=true", gate->name);
        snprintf(off, sizeof(off), "%s=false", gate->name);
        bool enabled = gate->specs[last].on;
        enabled = ek_words_have(peer->gates, on) || (enabled && !ek_words_have(peer->gates, off));
        ek_buf_printf(out, "kubernetes_feature_enabled{name=\"%s\",stage=\"%s\"} %d\n", gate->name,
                      gate->specs[last].stage, enabled);
    }
}

static void put_metrics(const struct ek_apiserver_peer *peer, struct ek_buf *out)
{
    struct ek_minor binary = ek_minor_parse(peer->binary);
    char emulation[EK_MINOR_SIZE], min_compat[EK_MINOR_SIZE];

    ek_buf_puts(out, "# HELP apiserver_storage_objects [STABLE] Number of stored objects.\n"
                     "# TYPE apiserver_storage_objects gauge\n");
    for (size_t i = 0; i < peer->server->kinds.n; i++) {
        const struct ek_kind *kind = peer->server->kinds.items[i];
        char resource[EK_GV_SIZE];
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again = again || (peer->server->kinds.items[k]->storage == kind->storage);
        if (!again && !(kind->flags & EK_KIND_REVIEW))
            ek_buf_printf(out, "apiserver_storage_objects{resource=\"%s\"} %zu\n",
                          ek_kind_resource_name(kind, resource),
                          ek_mvcc_count(peer->server->store, kind->storage));
    }
    ek_buf_puts(out, "# HELP kubernetes_build_info [ALPHA] A metric with a constant '1' value "
                     "labeled by major, minor, git version, git commit, git tree state, build "
                     "date, Go version, and compiler from which Kubernetes was built, and "
                     "platform on which it is running.\n"
                     "# TYPE kubernetes_build_info gauge\n");
    ek_buf_printf(
        out,
        "kubernetes_build_info{build_date=\"2026-11-20T00:00:00Z\",compiler=\"gc\","
        "git_commit=\"ref\",git_tree_state=\"\",git_version=\"v%s\",go_version=\"go1.26.10\","
        "major=\"%llu\",minor=\"%llu\",platform=\"linux/amd64\"} 1\n",
        peer->binary, (unsigned long long)binary.major, (unsigned long long)binary.minor);
    put_gates(peer, out);
    if (peer->hides_emulation)
        return;
    ek_buf_puts(out, "# HELP version_info [ALPHA] Provides the compatibility version info of the "
                     "component.\n# TYPE version_info gauge\n");
    ek_buf_printf(out,
                  "version_info{binary=\"%s\",component=\"kube\",emulation=\"%s\",min_compat="
                  "\"%s\"} 1\n",
                  peer->binary, ek_minor_format(peer->emulation, emulation),
                  ek_minor_format(peer->min_compat, min_compat));
}

static void put_version(const struct ek_apiserver_peer *peer, struct ek_buf *out)
{
    struct ek_minor binary = ek_minor_parse(peer->binary);

    ek_buf_printf(out, "{\n  \"major\": \"%llu\",\n  \"minor\": \"%llu\",\n",
                  (unsigned long long)binary.major, (unsigned long long)binary.minor);
    if (!peer->hides_emulation)
        ek_buf_printf(
            out,
            "  \"emulationMajor\": \"%llu\",\n  \"emulationMinor\": \"%llu\",\n"
            "  \"minCompatibilityMajor\": \"%llu\",\n"
            "  \"minCompatibilityMinor\": \"%llu\",\n",
            (unsigned long long)peer->emulation.major, (unsigned long long)peer->emulation.minor,
            (unsigned long long)peer->min_compat.major, (unsigned long long)peer->min_compat.minor);
    ek_buf_printf(out,
                  "  \"gitVersion\": \"v%s\",\n  \"gitCommit\": \"ref\",\n"
                  "  \"gitTreeState\": \"\",\n  \"buildDate\": \"2026-11-20T00:00:00Z\",\n"
                  "  \"goVersion\": \"go1.26.10\",\n  \"compiler\": \"gc\",\n"
                  "  \"platform\": \"linux/amd64\"\n}",
                  peer->binary);
}

static void reply_health(struct ek_ask *call, const char *what)
{
    static const char *const checks[] = {
        "ping",
        "log",
        "informer-sync",
        "poststarthook/start-apiextensions-controllers",
        "poststarthook/crd-informer-synced",
        "poststarthook/start-kube-apiserver-identity-lease-controller",
        "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
        "poststarthook/storage-readiness",
        "poststarthook/rbac/bootstrap-roles",
        "poststarthook/bootstrap-controller",
    };
    bool verbose = false;

    for (size_t i = 0; i < call->n_params; i++)
        verbose = verbose || strcmp(call->params[i].name, "verbose") == 0;
    ek_reply_text(call, 200, verbose ? "" : "ok");
    for (size_t i = 0; verbose && i < EK_ARRAY_SIZE(checks); i++)
        ek_buf_printf(&call->response->body, "[+]%s ok\n", checks[i]);
    if (verbose)
        ek_buf_printf(&call->response->body, "%s check passed\n", what);
}

bool ek_ask_well_known(struct ek_ask *call)
{
    const char *what = call->n_parts == 1 ? call->parts[0] : "";

    if (strcmp(what, "version") == 0) {
        ek_reply_type(call, 200, "application/json");
        put_version(call->peer, &call->response->body);
    } else if (strcmp(what, "metrics") == 0) {
        ek_reply_text(call, 200, "");
        ek_reply_type(call, 200, "text/plain; version=0.0.4; charset=utf-8");
        put_metrics(call->peer, &call->response->body);
    } else if (strcmp(what, "readyz") == 0 || strcmp(what, "livez") == 0 ||
               strcmp(what, "healthz") == 0) {
        reply_health(call, what);
    } else {
        return false;
    }
    return true;
}
