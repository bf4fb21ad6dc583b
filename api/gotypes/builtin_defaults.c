/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/builtin_defaults.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
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
static const char *subject_group(struct ek_str field, yyjson_mut_val *object)
{
    const char *kind = string_of(object, "kind");
    bool named = kind && (!strcmp(kind, "User") || !strcmp(kind, "Group"));

    return is(field, "apiGroup") && named ? "rbac.authorization.k8s.io" : NULL;
}

/* Texts that depend on other fields; NULL for none. */
static const char *derived_text(struct ek_str owner, struct ek_str field, yyjson_mut_val *object)
{
    const char *type = string_of(object, "type");

    if ((is(owner, "Container") || is(owner, "EphemeralContainer")) && is(field, "imagePullPolicy"))
        return is_latest(string_of(object, "image")) ? "Always" : "IfNotPresent";
    if (is(owner, "ServiceSpec") && is(field, "externalTrafficPolicy") && type &&
        (!strcmp(type, "LoadBalancer") || !strcmp(type, "NodePort")))
        return "Cluster";
    return is(owner, "Subject") ? subject_group(field, object) : NULL;
}

/* Defaults made of other fields. */
static int derived(struct ek_str owner, struct ek_str field, yyjson_mut_val *object,
                   yyjson_mut_doc *doc, yyjson_mut_val **ret)
{
    const char *text = derived_text(owner, field, object), *type = string_of(object, "type");
    yyjson_mut_val *port = yyjson_mut_obj_get(object, "port");

    if (text)
        *ret = yyjson_mut_str(doc, text);
    else if (is(owner, "ServicePort") && is(field, "targetPort") && port)
        *ret = yyjson_mut_val_mut_copy(doc, port);
    else if (is(owner, "Volume") && is(field, "emptyDir") && yyjson_mut_obj_size(object) <= 1)
        *ret = yyjson_mut_obj(doc);
    else if (is(owner, "ServiceSpec") && is(field, "allocateLoadBalancerNodePorts") && type &&
             !strcmp(type, "LoadBalancer"))
        *ret = yyjson_mut_bool(doc, true);
    else
        return 0;
    return *ret ? 0 : EK_E_NOMEM;
}

static int compare_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct row *)row)->field);
}

static const struct row *find(struct ek_str owner, struct ek_str field)
{
    char name[160];

    if (owner.len + field.len + 2 > sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s.%.*s", (int)owner.len, owner.p, (int)field.len, field.p);
    return bsearch(name, rows, EK_ARRAY_SIZE(rows), sizeof rows[0], compare_name);
}

int ek_builtin_default(struct ek_str owner, struct ek_str field, yyjson_mut_val *object,
                       yyjson_mut_doc *doc, yyjson_mut_val **ret)
{
    const struct row *row = find(owner, field);

    *ret = NULL;
    if (!row)
        return derived(owner, field, object, doc, ret);
    const char *other = row->other ? string_of(object, row->other) : NULL;
    if (row->other &&
        (other ? strcmp(other, row->is) != 0 : !strcmp(row->other, "sessionAffinity")))
        return 0;
    yyjson_doc *json = yyjson_read(row->json, strlen(row->json), 0);
    *ret = yyjson_val_mut_copy(doc, yyjson_doc_get_root(json));
    yyjson_doc_free(json);
    return *ret ? 0 : EK_E_NOMEM;
}

bool ek_builtin_default_follows(struct ek_str owner, struct ek_str field)
{
    return is(owner, "ServiceSpec") &&
           (is(field, "sessionAffinityConfig") || is(field, "externalTrafficPolicy") ||
            is(field, "allocateLoadBalancerNodePorts"));
}

bool ek_builtin_default_replaces(struct ek_str owner, struct ek_str field)
{
    return is(owner, "ServicePort") && is(field, "targetPort");
}
