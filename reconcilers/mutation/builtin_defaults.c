/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/builtin_defaults.h"

#include <string.h>

#include "api/mem.h"
#include "api/obj.h"

/* A default as JSON, given when the member other is absent or the string is. */
struct row {
    const char *field, *json, *other, *is;
};

/* Sorted by field. */
static const struct row rows[] = {
    {"ConfigMapVolumeSource.defaultMode", "420", NULL, NULL},
    {"Container.terminationMessagePath", "\"/dev/termination-log\"", NULL, NULL},
    {"Container.terminationMessagePolicy", "\"File\"", NULL, NULL},
    {"CronJobSpec.concurrencyPolicy", "\"Allow\"", NULL, NULL},
    {"CronJobSpec.failedJobsHistoryLimit", "1", NULL, NULL},
    {"CronJobSpec.successfulJobsHistoryLimit", "3", NULL, NULL},
    {"CronJobSpec.suspend", "false", NULL, NULL},
    {"DaemonSetSpec.revisionHistoryLimit", "10", NULL, NULL},
    {"DaemonSetUpdateStrategy.rollingUpdate", "{\"maxUnavailable\":1,\"maxSurge\":0}", "type",
     "RollingUpdate"},
    {"DaemonSetUpdateStrategy.type", "\"RollingUpdate\"", NULL, NULL},
    {"DeploymentSpec.progressDeadlineSeconds", "600", NULL, NULL},
    {"DeploymentSpec.replicas", "1", NULL, NULL},
    {"DeploymentSpec.revisionHistoryLimit", "10", NULL, NULL},
    {"DeploymentStrategy.rollingUpdate", "{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}",
     "type", "RollingUpdate"},
    {"DeploymentStrategy.type", "\"RollingUpdate\"", NULL, NULL},
    {"DownwardAPIVolumeSource.defaultMode", "420", NULL, NULL},
    {"EndpointPort.name", "\"\"", NULL, NULL},
    {"EndpointPort.protocol", "\"TCP\"", NULL, NULL},
    {"EphemeralContainer.terminationMessagePath", "\"/dev/termination-log\"", NULL, NULL},
    {"EphemeralContainer.terminationMessagePolicy", "\"File\"", NULL, NULL},
    {"GRPCAction.service", "\"\"", NULL, NULL},
    {"HTTPGetAction.path", "\"/\"", NULL, NULL},
    {"HTTPGetAction.scheme", "\"HTTP\"", NULL, NULL},
    {"HorizontalPodAutoscalerSpec.minReplicas", "1", NULL, NULL},
    {"HostPathVolumeSource.type", "\"\"", NULL, NULL},
    {"JobSpec.backoffLimit", "6", NULL, NULL},
    {"JobSpec.completionMode", "\"NonIndexed\"", NULL, NULL},
    {"JobSpec.parallelism", "1", NULL, NULL},
    {"JobSpec.suspend", "false", NULL, NULL},
    {"NetworkPolicyPort.protocol", "\"TCP\"", NULL, NULL},
    {"ObjectFieldSelector.apiVersion", "\"v1\"", NULL, NULL},
    {"PersistentVolumeClaimSpec.volumeMode", "\"Filesystem\"", NULL, NULL},
    {"PersistentVolumeClaimStatus.phase", "\"Pending\"", NULL, NULL},
    {"PersistentVolumeSpec.persistentVolumeReclaimPolicy", "\"Retain\"", NULL, NULL},
    {"PersistentVolumeSpec.volumeMode", "\"Filesystem\"", NULL, NULL},
    {"PodSpec.dnsPolicy", "\"ClusterFirst\"", NULL, NULL},
    {"PodSpec.restartPolicy", "\"Always\"", NULL, NULL},
    {"PodSpec.schedulerName", "\"default-scheduler\"", NULL, NULL},
    {"PodSpec.securityContext", "{}", NULL, NULL},
    {"PodSpec.terminationGracePeriodSeconds", "30", NULL, NULL},
    {"PriorityClass.preemptionPolicy", "\"PreemptLowerPriority\"", NULL, NULL},
    {"Probe.failureThreshold", "3", NULL, NULL},
    {"Probe.periodSeconds", "10", NULL, NULL},
    {"Probe.successThreshold", "1", NULL, NULL},
    {"Probe.timeoutSeconds", "1", NULL, NULL},
    {"ProjectedVolumeSource.defaultMode", "420", NULL, NULL},
    {"ReplicaSetSpec.replicas", "1", NULL, NULL},
    {"RoleRef.apiGroup", "\"rbac.authorization.k8s.io\"", NULL, NULL},
    {"RollingUpdateDaemonSet.maxSurge", "0", NULL, NULL},
    {"RollingUpdateDaemonSet.maxUnavailable", "1", NULL, NULL},
    {"RollingUpdateDeployment.maxSurge", "\"25%\"", NULL, NULL},
    {"RollingUpdateDeployment.maxUnavailable", "\"25%\"", NULL, NULL},
    {"RollingUpdateStatefulSetStrategy.partition", "0", NULL, NULL},
    {"Secret.type", "\"Opaque\"", NULL, NULL},
    {"SecretVolumeSource.defaultMode", "420", NULL, NULL},
    {"ServiceAccountTokenProjection.expirationSeconds", "3600", NULL, NULL},
    {"ServiceSpec.sessionAffinity", "\"None\"", NULL, NULL},
    {"ServiceSpec.sessionAffinityConfig", "{\"clientIP\":{\"timeoutSeconds\":10800}}",
     "sessionAffinity", "ClientIP"},
    {"ServiceSpec.type", "\"ClusterIP\"", NULL, NULL},
    {"StatefulSetSpec.podManagementPolicy", "\"OrderedReady\"", NULL, NULL},
    {"StatefulSetSpec.replicas", "1", NULL, NULL},
    {"StatefulSetSpec.revisionHistoryLimit", "10", NULL, NULL},
    {"StatefulSetUpdateStrategy.rollingUpdate", "{\"partition\":0}", "type", "RollingUpdate"},
    {"StatefulSetUpdateStrategy.type", "\"RollingUpdate\"", NULL, NULL},
    {"StorageClass.reclaimPolicy", "\"Delete\"", NULL, NULL},
    {"StorageClass.volumeBindingMode", "\"Immediate\"", NULL, NULL},
};

static const char *string_of(yyjson_mut_val *object, const char *name)
{
    return yyjson_mut_get_str(yyjson_mut_obj_get(object, name));
}

static bool is(struct ek_str s, const char *text)
{
    return ek_str_eq(s, ek_str_from(text));
}

/* Whether an image has no tag, or "latest", and no digest. */
static bool is_latest(const char *image)
{
    const char *slash = image ? strrchr(image, '/') : NULL;
    const char *name = slash ? slash + 1 : image;
    const char *tag = name ? strchr(name, ':') : NULL;

    return name && *name && !strchr(name, '@') && (!tag || !strcmp(tag, ":latest"));
}

/* Subjects of RBAC are of its own group, but service accounts. */
static yyjson_mut_val *subject_group(yyjson_mut_val *object, yyjson_mut_doc *doc)
{
    const char *kind = string_of(object, "kind");

    if (!kind || (strcmp(kind, "User") != 0 && strcmp(kind, "Group") != 0))
        return NULL;
    return yyjson_mut_str(doc, "rbac.authorization.k8s.io");
}

/* What services have that are reached from outside. */
static yyjson_mut_val *service_default(struct ek_str field, yyjson_mut_val *object,
                                       yyjson_mut_doc *doc)
{
    const char *type = string_of(object, "type");
    bool balanced = type && !strcmp(type, "LoadBalancer");

    if (is(field, "externalTrafficPolicy") && (balanced || (type && !strcmp(type, "NodePort"))))
        return yyjson_mut_str(doc, "Cluster");
    if (is(field, "allocateLoadBalancerNodePorts") && balanced)
        return yyjson_mut_bool(doc, true);
    return NULL;
}

/* Defaults made of other fields. */
static yyjson_mut_val *derived(struct ek_str owner, struct ek_str field, yyjson_mut_val *object,
                               yyjson_mut_doc *doc)
{
    bool container = is(owner, "Container") || is(owner, "EphemeralContainer");

    if (container && is(field, "imagePullPolicy"))
        return yyjson_mut_str(doc,
                              is_latest(string_of(object, "image")) ? "Always" : "IfNotPresent");
    if (is(owner, "ServicePort") && is(field, "targetPort"))
        return yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_get(object, "port"));
    if (is(owner, "Volume") && is(field, "emptyDir"))
        return yyjson_mut_obj_size(object) <= 1 ? yyjson_mut_obj(doc) : NULL;
    if (is(owner, "ServiceSpec"))
        return service_default(field, object, doc);
    if (is(owner, "Subject") && is(field, "apiGroup"))
        return subject_group(object, doc);
    return NULL;
}

static const struct row *find(struct ek_str owner, struct ek_str field)
{
    size_t low = 0, high = EK_ARRAY_SIZE(rows);
    char name[160];

    if (owner.len + field.len + 2 > sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s.%.*s", (int)owner.len, owner.p, (int)field.len, field.p);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(name, rows[mid].field);
        if (order == 0)
            return &rows[mid];
        if (order > 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

yyjson_mut_val *ek_builtin_default(struct ek_str owner, struct ek_str field, yyjson_mut_val *object,
                                   yyjson_mut_doc *doc)
{
    const struct row *row = find(owner, field);

    if (!row)
        return derived(owner, field, object, doc);
    const char *other = row->other ? string_of(object, row->other) : NULL;
    if (row->other &&
        (other ? strcmp(other, row->is) != 0 : !strcmp(row->other, "sessionAffinity")))
        return NULL;
    yyjson_doc *json = yyjson_read(row->json, strlen(row->json), 0);
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(json));
    yyjson_doc_free(json);
    return value;
}

bool ek_builtin_default_follows(struct ek_str owner, struct ek_str field)
{
    return is(owner, "ServiceSpec") &&
           (is(field, "sessionAffinityConfig") || is(field, "externalTrafficPolicy") ||
            is(field, "allocateLoadBalancerNodePorts"));
}
