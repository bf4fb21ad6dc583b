/* SPDX-License-Identifier: Apache-2.0 */
/* Defaulting functions of which a row of builtin_default.c does not say enough. */
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/decode/builtin-internal.h"

/* Bytes of the name of a kind, beyond which others are not made of it. */
#define NAME_MAX_LEN 1024

static bool is(yyjson_mut_val *object, const char *name, const char *text)
{
    return !strcmp(ek_go_text_of(object, name), text);
}

static bool has_items(yyjson_mut_val *object, const char *name)
{
    yyjson_mut_val *value = ek_go_get(object, name);

    return value && !ek_go_is_empty(value);
}

static void put_bool(struct ek_go_reader *r, yyjson_mut_val *object, const char *name, bool value)
{
    ek_go_put(r, object, name, yyjson_mut_bool(r->doc, value));
}

static const char *pull_policy(const char *image)
{
    return ek_go_image_is_latest(image) ? "Always" : "IfNotPresent";
}

static void default_container(struct ek_go_reader *r, yyjson_mut_val *container)
{
    if (is(container, "imagePullPolicy", ""))
        ek_go_put_text(r, container, "imagePullPolicy",
                       pull_policy(ek_go_text_of(container, "image")));
}

static void default_volume(struct ek_go_reader *r, yyjson_mut_val *volume)
{
    yyjson_mut_val *image = ek_go_get(volume, "image");

    if (yyjson_mut_obj_size(volume) == (ek_go_get(volume, "name") ? 1 : 0))
        ek_go_open(r, volume, "emptyDir");
    if (image && r->minor >= EK_GO_FROM(35) && is(image, "pullPolicy", ""))
        ek_go_put_text(r, image, "pullPolicy", pull_policy(ek_go_text_of(image, "reference")));
}

static void default_controller(struct ek_go_reader *r, yyjson_mut_val *controller)
{
    yyjson_mut_val *spec = ek_go_open(r, controller, "spec");
    yyjson_mut_val *metadata = ek_go_get(ek_go_get(spec, "template"), "metadata");
    yyjson_mut_val *labels = ek_go_get(metadata, "labels");

    if (!labels || !spec)
        return;
    if (!has_items(spec, "selector"))
        ek_go_put(r, spec, "selector", ek_go_copy(r, labels));
    yyjson_mut_val *own = ek_go_open(r, controller, "metadata");
    if (own && !has_items(own, "labels"))
        ek_go_put(r, own, "labels", ek_go_copy(r, labels));
}

static void default_session(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *config = ek_go_get(spec, "sessionAffinityConfig");
    yyjson_mut_val *client = ek_go_get(config, "clientIP");

    if (is(spec, "sessionAffinity", "None"))
        yyjson_mut_obj_remove_key(spec, "sessionAffinityConfig");
    if (!is(spec, "sessionAffinity", "ClientIP") || ek_go_get(client, "timeoutSeconds"))
        return;
    yyjson_mut_obj_remove_key(spec, "sessionAffinityConfig");
    client = ek_go_open(r, ek_go_open(r, spec, "sessionAffinityConfig"), "clientIP");
    if (client)
        ek_go_put_number(r, client, "timeoutSeconds", 10800);
}

static void default_ports(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *port;
    size_t i, n;

    yyjson_mut_arr_foreach(ek_go_get(spec, "ports"), i, n, port)
    {
        yyjson_mut_val *target = ek_go_get(port, "targetPort"), *own = ek_go_get(port, "port");
        if (!target || ek_go_is_empty(target))
            ek_go_put(r, port, "targetPort", own ? ek_go_copy(r, own) : yyjson_mut_uint(r->doc, 0));
    }
}

static void default_ingress(struct ek_go_reader *r, yyjson_mut_val *service)
{
    yyjson_mut_val *balancer = ek_go_get(ek_go_get(service, "status"), "loadBalancer"), *ingress;
    size_t i, n;

    yyjson_mut_arr_foreach(ek_go_get(balancer, "ingress"), i, n, ingress)
    {
        if (has_items(ingress, "ip") && !ek_go_get(ingress, "ipMode"))
            ek_go_put_text(r, ingress, "ipMode", "VIP");
    }
}

static void default_service(struct ek_go_reader *r, yyjson_mut_val *service)
{
    yyjson_mut_val *spec = ek_go_open(r, service, "spec");

    if (!spec)
        return;
    ek_go_default_rows(r, "core/v1.ServiceSpec", spec);
    default_session(r, spec);
    default_ports(r, spec);
    bool balancer = is(spec, "type", "LoadBalancer"), node_port = is(spec, "type", "NodePort");
    bool external =
        balancer || node_port || (is(spec, "type", "ClusterIP") && has_items(spec, "externalIPs"));
    if (external && is(spec, "externalTrafficPolicy", ""))
        ek_go_put_text(r, spec, "externalTrafficPolicy", "Cluster");
    if (!ek_go_get(spec, "internalTrafficPolicy") &&
        (balancer || node_port || is(spec, "type", "ClusterIP")))
        ek_go_put_text(r, spec, "internalTrafficPolicy", "Cluster");
    if (!balancer)
        return;
    if (!ek_go_get(spec, "allocateLoadBalancerNodePorts"))
        put_bool(r, spec, "allocateLoadBalancerNodePorts", true);
    default_ingress(r, service);
}

static void default_persistent_volume(struct ek_go_reader *r, yyjson_mut_val *volume)
{
    yyjson_mut_val *spec = ek_go_open(r, volume, "spec");

    if (spec && is(spec, "persistentVolumeReclaimPolicy", ""))
        ek_go_put_text(r, spec, "persistentVolumeReclaimPolicy", "Retain");
    if (spec && !ek_go_get(spec, "volumeMode"))
        ek_go_put_text(r, spec, "volumeMode", "Filesystem");
}

static void default_namespace(struct ek_go_reader *r, yyjson_mut_val *namespace)
{
    yyjson_mut_val *metadata = ek_go_get(namespace, "metadata"),
                   *name = ek_go_get(metadata, "name");
    yyjson_mut_val *labels = name ? ek_go_open(r, metadata, "labels") : NULL;

    if (labels)
        ek_go_put(r, labels, "kubernetes.io/metadata.name", ek_go_copy(r, name));
}

static void default_node_status(struct ek_go_reader *r, yyjson_mut_val *status)
{
    yyjson_mut_val *capacity = ek_go_get(status, "capacity");

    if (capacity && !ek_go_get(status, "allocatable"))
        ek_go_put(r, status, "allocatable", ek_go_copy(r, capacity));
}

static void default_limits(struct ek_go_reader *r, yyjson_mut_val *item)
{
    if (!is(item, "type", "Container"))
        return;
    yyjson_mut_val *limit = ek_go_open(r, item, "default");
    yyjson_mut_val *request = ek_go_open(r, item, "defaultRequest");
    if (r->rc)
        return;
    ek_go_fill(r, limit, ek_go_get(item, "max"));
    ek_go_fill(r, request, limit);
    ek_go_fill(r, request, ek_go_get(item, "min"));
}

/* Rolling updates of Deployments and DaemonSets. */
static void default_strategy(struct ek_go_reader *r, yyjson_mut_val *strategy, bool deployment)
{
    yyjson_mut_val *update =
        is(strategy, "type", "RollingUpdate") ? ek_go_open(r, strategy, "rollingUpdate") : NULL;

    if (update && !ek_go_get(update, "maxUnavailable"))
        ek_go_put(r, update, "maxUnavailable", ek_go_literal(r, deployment ? "\"25%\"" : "1"));
    if (update && !ek_go_get(update, "maxSurge"))
        ek_go_put(r, update, "maxSurge", ek_go_literal(r, deployment ? "\"25%\"" : "0"));
}

static void default_deployment(struct ek_go_reader *r, yyjson_mut_val *strategy)
{
    default_strategy(r, strategy, true);
}

static void default_daemon_set(struct ek_go_reader *r, yyjson_mut_val *strategy)
{
    default_strategy(r, strategy, false);
}

static void default_stateful_set(struct ek_go_reader *r, yyjson_mut_val *strategy)
{
    bool unset = is(strategy, "type", "");

    if (unset) {
        ek_go_put_text(r, strategy, "type", "RollingUpdate");
        ek_go_open(r, strategy, "rollingUpdate");
    }
    yyjson_mut_val *update =
        is(strategy, "type", "RollingUpdate") ? ek_go_get(strategy, "rollingUpdate") : NULL;
    if (update && !ek_go_get(update, "partition"))
        ek_go_put_number(r, update, "partition", 0);
}

static void default_job_labels(struct ek_go_reader *r, yyjson_mut_val *job, yyjson_mut_val *spec)
{
    yyjson_mut_val *metadata = ek_go_get(ek_go_get(spec, "template"), "metadata");
    yyjson_mut_val *labels = ek_go_get(metadata, "labels"), *own = ek_go_open(r, job, "metadata");

    if (labels && own && !has_items(own, "labels"))
        ek_go_put(r, own, "labels", ek_go_copy(r, labels));
}

static void default_job(struct ek_go_reader *r, yyjson_mut_val *job)
{
    yyjson_mut_val *spec = ek_go_open(r, job, "spec");

    if (!spec)
        return;
    if (!ek_go_get(spec, "completions") && !ek_go_get(spec, "parallelism"))
        ek_go_put_number(r, spec, "completions", 1);
    if (!ek_go_get(spec, "parallelism"))
        ek_go_put_number(r, spec, "parallelism", 1);
    if (!ek_go_get(spec, "backoffLimit"))
        ek_go_put_number(r, spec, "backoffLimit",
                         ek_go_get(spec, "backoffLimitPerIndex") ? INT32_MAX : 6);
    default_job_labels(r, job, spec);
    if (!ek_go_get(spec, "completionMode"))
        ek_go_put_text(r, spec, "completionMode", "NonIndexed");
    if (!ek_go_get(spec, "suspend"))
        put_bool(r, spec, "suspend", false);
    if (!ek_go_get(spec, "podReplacementPolicy"))
        ek_go_put_text(r, spec, "podReplacementPolicy",
                       ek_go_get(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
    if (!ek_go_get(spec, "manualSelector"))
        put_bool(r, spec, "manualSelector", false);
}

static void add_policy(struct ek_go_reader *r, yyjson_mut_val *policies, const char *type,
                       uint64_t value)
{
    yyjson_mut_val *policy = ek_go_made(r, yyjson_mut_arr_add_obj(r->doc, policies));

    if (!policy)
        return;
    ek_go_put_text(r, policy, "type", type);
    ek_go_put_number(r, policy, "value", value);
    ek_go_put_number(r, policy, "periodSeconds", 15);
}

static void default_scaling(struct ek_go_reader *r, yyjson_mut_val *behavior, bool up)
{
    yyjson_mut_val *rules = ek_go_open(r, behavior, up ? "scaleUp" : "scaleDown");

    if (!rules)
        return;
    if (!ek_go_get(rules, "selectPolicy"))
        ek_go_put_text(r, rules, "selectPolicy", "Max");
    if (up && !ek_go_get(rules, "stabilizationWindowSeconds"))
        ek_go_put_number(r, rules, "stabilizationWindowSeconds", 0);
    if (ek_go_get(rules, "policies"))
        return;
    yyjson_mut_val *policies = ek_go_made(r, yyjson_mut_arr(r->doc));
    ek_go_put(r, rules, "policies", policies);
    if (up)
        add_policy(r, policies, "Pods", 4);
    add_policy(r, policies, "Percent", 100);
}

static void default_autoscaler(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *behavior = ek_go_get(spec, "behavior");

    if (strcmp(r->kind->version, "v1") != 0 && !has_items(spec, "metrics")) {
        yyjson_mut_val *metrics = ek_go_made(r, yyjson_mut_arr(r->doc));
        ek_go_put(r, spec, "metrics", metrics);
        yyjson_mut_val *metric = ek_go_made(r, yyjson_mut_arr_add_obj(r->doc, metrics));
        yyjson_mut_val *resource = metric ? ek_go_open(r, metric, "resource") : NULL;
        yyjson_mut_val *target = resource ? ek_go_open(r, resource, "target") : NULL;
        if (!target)
            return;
        ek_go_put_text(r, metric, "type", "Resource");
        ek_go_put_text(r, resource, "name", "cpu");
        ek_go_put_text(r, target, "type", "Utilization");
        ek_go_put_number(r, target, "averageUtilization", 80);
    }
    if (behavior) {
        default_scaling(r, behavior, true);
        default_scaling(r, behavior, false);
    }
}

static void default_network_policy(struct ek_go_reader *r, yyjson_mut_val *policy)
{
    yyjson_mut_val *spec = ek_go_open(r, policy, "spec");

    if (!spec || has_items(spec, "policyTypes"))
        return;
    yyjson_mut_val *types = ek_go_made(r, yyjson_mut_arr(r->doc));
    yyjson_mut_arr_add_str(r->doc, types, "Ingress");
    if (has_items(spec, "egress"))
        yyjson_mut_arr_add_str(r->doc, types, "Egress");
    ek_go_put(r, spec, "policyTypes", types);
}

static void default_subject(struct ek_go_reader *r, yyjson_mut_val *subject)
{
    if (is(subject, "apiGroup", "") &&
        (is(subject, "kind", "User") || is(subject, "kind", "Group")))
        ek_go_put_text(r, subject, "apiGroup", "rbac.authorization.k8s.io");
}

static void default_device_count(struct ek_go_reader *r, yyjson_mut_val *request)
{
    if (is(request, "allocationMode", "ExactCount") && !ek_go_get(request, "count"))
        ek_go_put_number(r, request, "count", 1);
}

/* Of v1beta1, in which a request without a class has others in it. */
static void default_device_request(struct ek_go_reader *r, yyjson_mut_val *request)
{
    if (strcmp(r->kind->version, "v1beta1") != 0 || is(request, "deviceClassName", ""))
        return;
    if (is(request, "allocationMode", ""))
        ek_go_put_text(r, request, "allocationMode", "ExactCount");
    default_device_count(r, request);
}

static void default_driver(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *modes;

    if (has_items(spec, "volumeLifecycleModes"))
        return;
    modes = ek_go_made(r, yyjson_mut_arr(r->doc));
    yyjson_mut_arr_add_str(r->doc, modes, "Persistent");
    ek_go_put(r, spec, "volumeLifecycleModes", modes);
}

static void put_names(struct ek_go_reader *r, yyjson_mut_val *names)
{
    const char *kind = ek_go_text_of(names, "kind");
    EK_AUTO(ek_buf) text = {0};

    ek_buf_init(&text, NAME_MAX_LEN);
    if (!*kind)
        return;
    if (is(names, "listKind", "")) {
        ek_buf_puts(&text, kind);
        ek_buf_puts(&text, "List");
        ek_go_put(r, names, "listKind", yyjson_mut_strcpy(r->doc, ek_buf_str(&text)));
    }
    if (!is(names, "singular", ""))
        return;
    ek_buf_reset(&text);
    ek_buf_puts(&text, kind);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] >= 'A' && text.data[i] <= 'Z')
            text.data[i] |= 0x20;
    ek_go_put(r, names, "singular", yyjson_mut_strcpy(r->doc, ek_buf_str(&text)));
}

static void default_definition(struct ek_go_reader *r, yyjson_mut_val *definition)
{
    yyjson_mut_val *spec = ek_go_open(r, definition, "spec"), *version;
    yyjson_mut_val *status = ek_go_open(r, definition, "status");
    yyjson_mut_val *names = spec ? ek_go_open(r, spec, "names") : NULL;
    size_t i, n;

    if (!names || !status)
        return;
    put_names(r, names);
    if (!ek_go_get(spec, "conversion"))
        ek_go_put_text(r, ek_go_open(r, spec, "conversion"), "strategy", "None");
    if (has_items(status, "storedVersions"))
        return;
    yyjson_mut_arr_foreach(ek_go_get(spec, "versions"), i, n, version)
    {
        yyjson_mut_val *name = ek_go_get(version, "name");
        if (!ek_go_get(version, "storage"))
            continue;
        yyjson_mut_val *stored = ek_go_made(r, yyjson_mut_arr(r->doc));
        yyjson_mut_arr_append(stored, name ? ek_go_copy(r, name) : yyjson_mut_str(r->doc, ""));
        ek_go_put(r, status, "storedVersions", stored);
        return;
    }
}

/* Sorted by owner. They run after the rows, and see what these gave. */
const struct ek_go_function ek_go_default_functions[] = {
    {"apiextensions.CustomResourceDefinition", default_definition},
    {"apps.DaemonSetUpdateStrategy", default_daemon_set},
    {"apps.DeploymentStrategy", default_deployment},
    {"apps.StatefulSetUpdateStrategy", default_stateful_set},
    {"autoscaling.HorizontalPodAutoscalerSpec", default_autoscaler},
    {"batch.Job", default_job},
    {"core.Container", default_container},
    {"core.EphemeralContainer", default_container},
    {"core.LimitRangeItem", default_limits},
    {"core.Namespace", default_namespace},
    {"core.NodeStatus", default_node_status},
    {"core.PersistentVolume", default_persistent_volume},
    {"core.Pod", ek_go_default_pod},
    {"core.ReplicationController", default_controller},
    {"core.Service", default_service},
    {"core.Volume", default_volume},
    {"networking.NetworkPolicy", default_network_policy},
    {"rbac.Subject", default_subject},
    {"resource.DeviceRequest", default_device_request},
    {"resource.DeviceSubRequest", default_device_count},
    {"resource.ExactDeviceRequest", default_device_count},
    {"storage.CSIDriverSpec", default_driver},
};

const size_t ek_go_n_default_functions = EK_ARRAY_SIZE(ek_go_default_functions);
