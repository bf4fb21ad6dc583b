/* SPDX-License-Identifier: Apache-2.0 */
/* What is written into the stage's cluster, through its API as anyone would. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/base/time.h"
#include "informers/client/file.h"
#include "test/demo/stage-internal.h"

#define ANSWER_MS 60000
#define CRD_MAX   ((size_t)1 << 20)
#define NODES     "/api/v1/nodes"
#define LEASES    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define RUNNERS   "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"
#define PLANES    "/apis/evenkeel.dev/v1alpha1/controlplanes"
#define CRDS      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define MERGE     "application/merge-patch+json"
#define JSON      "application/json"

/* --- requests that are waited for --------------------------------------------------------- */

struct exchange {
    bool done;
    struct ek_err err; /* code 0 when it went well */
};

static void on_answer(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct exchange *exchange = ctx;

    (void)resp;
    exchange->done = true;
    if (err)
        exchange->err = *err;
}

static bool is_answered(void *ctx)
{
    const struct exchange *exchange = ctx;
    return exchange->done;
}

static int ask(struct ek_stage *stage, const char *method, const char *path, const char *type,
               const char *body, struct ek_err *err)
{
    struct exchange exchange = {0};
    struct ek_request request = {
        .method = method,
        .path = path,
        .content_type = body ? type : NULL,
        .body = body,
        .body_size = body ? strlen(body) : 0,
    };
    struct ek_call *call = ek_client_send(stage->client, &request, on_answer, &exchange);

    int rc = ek_stage_wait(stage, is_answered, &exchange, ANSWER_MS);
    if (rc) {
        ek_call_cancel(call);
        return ek_err_set(err, rc, "%s %s: %s", method, path, ek_strerror(rc));
    }
    if (!exchange.err.code)
        return 0;
    if (err)
        *err = exchange.err;
    return ek_err_prefix(err, "%s %s", method, path);
}

/* Changes an object by a merge patch to it or its subresource, or creates it. */
static int set_object(struct ek_stage *stage, const char *collection, const char *name,
                      const char *subresource, const char *json, struct ek_err *err)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s%s", collection, name, subresource);

    int rc = ask(stage, "PATCH", path, MERGE, json, err);
    return rc == EK_E_NOENT ? ask(stage, "POST", collection, JSON, json, err) : rc;
}

static const char *now(char buf[EK_TIME_SIZE])
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    return ek_time_format_micro((int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000, buf);
}

/* --- the parts of a cluster --------------------------------------------------------------- */

int ek_stage_set_node(struct ek_stage *stage, const char *name, const char *version,
                      struct ek_err *err)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
        "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"%s\","
        "\"operatingSystem\":\"linux\",\"architecture\":\"amd64\"},\"conditions\":[{\"type\":"
        "\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\"}]}}",
        name, name, version);

    return set_object(stage, NODES, name, "/status", json, err);
}

/* The lease is held for a day: nobody of this stage would take it over. */
static int set_lease(struct ek_stage *stage, const char *component, const char *holder,
                     struct ek_err *err)
{
    char time[EK_TIME_SIZE];
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
        "\"%s\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":86400,"
        "\"renewTime\":\"%s\"}}",
        component, holder, now(time));

    return set_object(stage, LEASES, component, "", json, err);
}

int ek_stage_set_controller(struct ek_stage *stage, const char *component, const char *binary,
                            struct ek_err *err)
{
    char time[EK_TIME_SIZE], minor[EK_MINOR_SIZE];
    EK_AUTOFREE char *holder = ek_xasprintf("cp-a_%s", component);

    ek_minor_format(ek_minor_parse(binary), minor);
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"coordination.k8s.io/v1beta1\",\"kind\":\"LeaseCandidate\",\"metadata\":"
        "{\"name\":\"%s\"},\"spec\":{\"leaseName\":\"%s\",\"binaryVersion\":\"%s\","
        "\"emulationVersion\":\"%s.0\",\"strategy\":\"OldestEmulationVersion\",\"renewTime\":"
        "\"%s\"}}",
        holder, component, binary, minor, now(time));
    int rc = set_object(stage, RUNNERS, holder, "", json, err);
    return rc ? rc : set_lease(stage, component, holder, err);
}

static int add_definition(struct ek_stage *stage, const char *path, struct ek_err *err)
{
    char *yaml = NULL;

    int rc = ek_file_read(path, CRD_MAX, &yaml, NULL, err);
    if (!rc)
        rc = ask(stage, "POST", CRDS, "application/yaml", yaml, err);
    ek_free(yaml);
    return rc;
}

/* Addresses of this machine's loopback are probed only where the ControlPlane lists them itself. */
static int add_control_plane(struct ek_stage *stage, const char *probe_timeout, struct ek_err *err)
{
    EK_AUTO(ek_buf) json;

    ek_buf_init(&json, 4096);
    ek_buf_printf(
        &json,
        "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":\"ControlPlane\",\"metadata\":{"
        "\"name\":\"cluster\"},\"spec\":{\"peers\":{\"discovery\":\"Static\","
        "\"probeInterval\":\"1s\",\"probeTimeout\":\"%s\",\"endpoints\":[",
        probe_timeout);
    for (size_t i = 0; i < EK_STAGE_PEERS; i++)
        ek_buf_printf(&json, "%s\"%s:%u\"", i ? "," : "",
                      ek_apiserver_peer_address(stage->peers[i]),
                      ek_apiserver_peer_port(stage->peers[i]));
    ek_buf_puts(&json, "]}}}");
    return ask(stage, "POST", PLANES, JSON, ek_buf_str(&json), err);
}

static int add_namespace(struct ek_stage *stage, struct ek_err *err)
{
    return ask(stage, "POST", "/api/v1/namespaces", JSON,
               "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" //
               EK_STAGE_NAMESPACE "\"}}",
               err);
}

static void on_change(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    struct ek_stage *stage = ctx;

    (void)change, (void)old, (void)initial;
    if (obj && stage->hooks.status)
        stage->hooks.status(stage->hooks.ctx, obj);
}

static void watch_control_planes(struct ek_stage *stage)
{
    static const struct ek_resource planes = {.group = "evenkeel.dev",
                                              .version = "v1alpha1",
                                              .resource = "controlplanes",
                                              .kind = "ControlPlane"};

    stage->control_planes = ek_informer_new(&stage->loop, stage->client, &planes);
    ek_store_add_handler(ek_informer_store(stage->control_planes), on_change, stage);
    ek_informer_start(stage->control_planes);
}

int ek_stage_set(struct ek_stage *stage, const char *crd_path, const char *probe_timeout,
                 struct ek_err *err)
{
    int rc = add_definition(stage, crd_path, err);

    if (!rc)
        rc = add_namespace(stage, err);
    if (!rc)
        rc = add_control_plane(stage, probe_timeout, err);
    if (!rc)
        rc = ek_stage_set_controller(stage, "kube-controller-manager", "1.35.4", err);
    if (!rc)
        rc = ek_stage_set_controller(stage, "kube-scheduler", "1.35.4", err);
    if (!rc)
        rc = ek_stage_set_node(stage, "worker-1", "v1.33.9", err);
    if (!rc)
        rc = ek_stage_set_node(stage, "worker-2", "v1.34.6", err);
    if (!rc)
        rc = ek_stage_set_node(stage, "worker-3", "v1.34.6", err);
    if (!rc)
        watch_control_planes(stage);
    return rc;
}

/* --- what can be seen of it --------------------------------------------------------------- */

const char *ek_stage_folder(const struct ek_stage *stage)
{
    return stage->folder;
}

const char *ek_stage_kubeconfig(const struct ek_stage *stage)
{
    return stage->kubeconfig;
}

const char *ek_stage_replica_kubeconfig(const struct ek_stage *stage)
{
    return stage->replica_kubeconfig;
}

const struct ek_obj *ek_stage_control_plane(const struct ek_stage *stage)
{
    return stage->control_planes ? ek_store_get(ek_informer_store(stage->control_planes), "cluster")
                                 : NULL;
}

const char *ek_stage_leader(const struct ek_stage *stage)
{
    const struct ek_obj *lease =
        ek_store_get(ek_informer_store(stage->leases), EK_STAGE_NAMESPACE "/" EK_STAGE_LEASE);
    const char *holder =
        lease ? ek_json_str(ek_obj_root(lease), "spec", "holderIdentity", NULL) : NULL;

    return holder ? holder : "";
}
