/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaulting. A server calls a function for each struct that has one, from the object downwards,
 * and fills in the values of +default markers on its way. What such a function gives without a
 * condition is a row of the table here. Source: Kubernetes 1.36, pkg/apis: defaults.go and
 * zz_generated.defaults.go of each group.
 */
#include <string.h>

#include "api/base/mem.h"
#include "api/decode/builtin-internal.h"

/* A field of a struct of any version of a group, and the JSON that it has when it is zero. */
struct row {
    const char *owner, *field, *json;
};

/* Sorted by owner. */
static const struct row rows[] = {
    {"admissionregistration.MatchResources", "matchPolicy", "\"Equivalent\""},
    {"admissionregistration.MatchResources", "namespaceSelector", "{}"},
    {"admissionregistration.MatchResources", "objectSelector", "{}"},
    {"admissionregistration.MutatingAdmissionPolicySpec", "failurePolicy", "\"Fail\""},
    {"admissionregistration.MutatingWebhook", "failurePolicy", "\"Fail\""},
    {"admissionregistration.MutatingWebhook", "matchPolicy", "\"Equivalent\""},
    {"admissionregistration.MutatingWebhook", "namespaceSelector", "{}"},
    {"admissionregistration.MutatingWebhook", "objectSelector", "{}"},
    {"admissionregistration.MutatingWebhook", "reinvocationPolicy", "\"Never\""},
    {"admissionregistration.MutatingWebhook", "timeoutSeconds", "10"},
    {"admissionregistration.NamedRuleWithOperations", "scope", "\"*\""},
    {"admissionregistration.RuleWithOperations", "scope", "\"*\""},
    {"admissionregistration.ServiceReference", "port", "443"},
    {"admissionregistration.ValidatingAdmissionPolicySpec", "failurePolicy", "\"Fail\""},
    {"admissionregistration.ValidatingWebhook", "failurePolicy", "\"Fail\""},
    {"admissionregistration.ValidatingWebhook", "matchPolicy", "\"Equivalent\""},
    {"admissionregistration.ValidatingWebhook", "namespaceSelector", "{}"},
    {"admissionregistration.ValidatingWebhook", "objectSelector", "{}"},
    {"admissionregistration.ValidatingWebhook", "timeoutSeconds", "10"},
    {"apiextensions.ServiceReference", "port", "443"},
    {"apiregistration.ServiceReference", "port", "443"},
    {"apps.DaemonSetSpec", "revisionHistoryLimit", "10"},
    {"apps.DaemonSetUpdateStrategy", "type", "\"RollingUpdate\""},
    {"apps.DeploymentSpec", "progressDeadlineSeconds", "600"},
    {"apps.DeploymentSpec", "replicas", "1"},
    {"apps.DeploymentSpec", "revisionHistoryLimit", "10"},
    {"apps.DeploymentStrategy", "type", "\"RollingUpdate\""},
    {"apps.ReplicaSetSpec", "replicas", "1"},
    {"apps.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", "\"Retain\""},
    {"apps.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", "\"Retain\""},
    {"apps.StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"},
    {"apps.StatefulSetSpec", "podManagementPolicy", "\"OrderedReady\""},
    {"apps.StatefulSetSpec", "replicas", "1"},
    {"apps.StatefulSetSpec", "revisionHistoryLimit", "10"},
    {"authentication.TokenRequestSpec", "expirationSeconds", "3600"},
    {"autoscaling.HorizontalPodAutoscalerSpec", "minReplicas", "1"},
    {"batch.CronJobSpec", "concurrencyPolicy", "\"Allow\""},
    {"batch.CronJobSpec", "failedJobsHistoryLimit", "1"},
    {"batch.CronJobSpec", "successfulJobsHistoryLimit", "3"},
    {"batch.CronJobSpec", "suspend", "false"},
    {"batch.PodFailurePolicyOnPodConditionsPattern", "status", "\"True\""},
    {"core.ConfigMapVolumeSource", "defaultMode", "420"},
    {"core.Container", "terminationMessagePath", "\"/dev/termination-log\""},
    {"core.Container", "terminationMessagePolicy", "\"File\""},
    {"core.DownwardAPIVolumeSource", "defaultMode", "420"},
    {"core.EndpointPort", "protocol", "\"TCP\""},
    {"core.EphemeralContainer", "terminationMessagePath", "\"/dev/termination-log\""},
    {"core.EphemeralContainer", "terminationMessagePolicy", "\"File\""},
    {"core.HTTPGetAction", "path", "\"/\""},
    {"core.HTTPGetAction", "scheme", "\"HTTP\""},
    {"core.HostPathVolumeSource", "type", "\"\""},
    {"core.NamespaceStatus", "phase", "\"Active\""},
    {"core.ObjectFieldSelector", "apiVersion", "\"v1\""},
    {"core.PersistentVolumeClaimSpec", "volumeMode", "\"Filesystem\""},
    {"core.PersistentVolumeClaimStatus", "phase", "\"Pending\""},
    {"core.PersistentVolumeStatus", "phase", "\"Pending\""},
    {"core.PodSpec", "dnsPolicy", "\"ClusterFirst\""},
    {"core.PodSpec", "restartPolicy", "\"Always\""},
    {"core.PodSpec", "schedulerName", "\"default-scheduler\""},
    {"core.PodSpec", "securityContext", "{}"},
    {"core.PodSpec", "terminationGracePeriodSeconds", "30"},
    {"core.Probe", "failureThreshold", "3"},
    {"core.Probe", "periodSeconds", "10"},
    {"core.Probe", "successThreshold", "1"},
    {"core.Probe", "timeoutSeconds", "1"},
    {"core.ProjectedVolumeSource", "defaultMode", "420"},
    {"core.Secret", "type", "\"Opaque\""},
    {"core.SecretVolumeSource", "defaultMode", "420"},
    {"core.ServiceAccountTokenProjection", "expirationSeconds", "3600"},
    {"core.ServiceSpec", "sessionAffinity", "\"None\""},
    {"core.ServiceSpec", "type", "\"ClusterIP\""},
    {"discovery.EndpointPort", "name", "\"\""},
    {"discovery.EndpointPort", "protocol", "\"TCP\""},
    {"flowcontrol.ExemptPriorityLevelConfiguration", "lendablePercent", "0"},
    {"flowcontrol.ExemptPriorityLevelConfiguration", "nominalConcurrencyShares", "0"},
    {"flowcontrol.FlowSchemaSpec", "matchingPrecedence", "1000"},
    {"flowcontrol.LimitedPriorityLevelConfiguration", "lendablePercent", "0"},
    {"flowcontrol.LimitedPriorityLevelConfiguration", "nominalConcurrencyShares", "30"},
    {"flowcontrol.QueuingConfiguration", "handSize", "8"},
    {"flowcontrol.QueuingConfiguration", "queueLengthLimit", "50"},
    {"flowcontrol.QueuingConfiguration", "queues", "64"},
    {"networking.IngressClassParametersReference", "scope", "\"Cluster\""},
    {"networking.NetworkPolicyPort", "protocol", "\"TCP\""},
    {"rbac.RoleRef", "apiGroup", "\"rbac.authorization.k8s.io\""},
    {"resource.DeviceSubRequest", "allocationMode", "\"ExactCount\""},
    {"resource.ExactDeviceRequest", "allocationMode", "\"ExactCount\""},
    {"resource.NodeAllocatableResourceMapping", "allocationMultiplier", "\"1\""},
    {"scheduling.PriorityClass", "preemptionPolicy", "\"PreemptLowerPriority\""},
    {"storage.CSIDriverSpec", "attachRequired", "true"},
    {"storage.CSIDriverSpec", "fsGroupPolicy", "\"ReadWriteOnceWithFSType\""},
    {"storage.CSIDriverSpec", "podInfoOnMount", "false"},
    {"storage.CSIDriverSpec", "requiresRepublish", "false"},
    {"storage.CSIDriverSpec", "seLinuxMount", "false"},
    {"storage.CSIDriverSpec", "storageCapacity", "false"},
    {"storage.StorageClass", "reclaimPolicy", "\"Delete\""},
    {"storage.StorageClass", "volumeBindingMode", "\"Immediate\""},
};

/* ---- Defaults without a condition ---- */

/* "core/v1.Container" beside "core.Container". */
static int compare_owner(const char *name, const char *owner)
{
    size_t group = strcspn(name, "/");
    int order = strncmp(name, owner, group);

    if (order)
        return order;
    return owner[group] == '.' ? strcmp(strchr(name, '.'), owner + group) : '.' - owner[group];
}

void ek_go_default_rows(struct ek_go_reader *r, const char *name, yyjson_mut_val *object)
{
    size_t low = 0, high = EK_ARRAY_SIZE(rows);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_owner(name, rows[middle].owner) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < EK_ARRAY_SIZE(rows) && compare_owner(name, rows[low].owner) == 0; low++)
        if (!ek_go_get(object, rows[low].field))
            ek_go_put(r, object, rows[low].field, ek_go_literal(r, rows[low].json));
}

/* The function of a struct in a table that is sorted by owner; NULL when it has none. */
static const struct ek_go_function *find_function(const struct ek_go_function *functions, size_t n,
                                                  const char *name)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_owner(name, functions[middle].owner);
        if (order == 0)
            return &functions[middle];
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- The walk ---- */

/* Quantities of resources are rounded in the groups whose functions know them. */
static void round_resources(struct ek_go_reader *r, yyjson_mut_val *resources)
{
    static const char *const groups[] = {"", "apps", "batch", "storage.k8s.io"};
    bool known = false;
    yyjson_mut_val *key, *value;
    size_t i, n;

    for (i = 0; i < EK_ARRAY_SIZE(groups); i++)
        known = known || !strcmp(groups[i], r->kind->group);
    yyjson_mut_obj_foreach(resources, i, n, key, value)
    {
        yyjson_mut_val *rounded = known ? ek_go_round_up(r, value) : value;
        if (rounded && rounded != value) {
            value->tag = rounded->tag;
            value->uni = rounded->uni;
        }
    }
}

struct pass {
    struct ek_go_reader *r;
    const struct ek_go_function *functions;
    size_t n;
    bool defaults; /* also those of rows and markers */
};

static void walk_value(const struct pass *pass, const struct ek_go_type *type,
                       yyjson_mut_val *value);

/* The value of a field, which is made where it has a default or is a struct of zeros. */
static yyjson_mut_val *open_field(const struct pass *pass, const struct ek_go_field *field,
                                  yyjson_mut_val *object)
{
    const struct ek_go_type *type = &ek_go_types[field->type];
    yyjson_mut_val *value = ek_go_get(object, field->name);

    if (value || !pass->defaults)
        return value;
    if (type->form == EK_GO_STRUCT)
        return ek_go_open(pass->r, object, field->name);
    if (field->initial && (type->form == EK_GO_POINTER || strcmp(field->initial, "\"\"") != 0))
        ek_go_put(pass->r, object, field->name, ek_go_literal(pass->r, field->initial));
    return NULL;
}

static void walk_struct(const struct pass *pass, const struct ek_go_struct *s,
                        yyjson_mut_val *object)
{
    const struct ek_go_function *function = find_function(pass->functions, pass->n, s->name);

    if (pass->defaults)
        ek_go_default_rows(pass->r, s->name, object);
    if (function && !pass->r->rc)
        function->run(pass->r, object);
    for (size_t i = s->first; i < (size_t)s->first + s->n && !pass->r->rc; i++) {
        const struct ek_go_field *field = &ek_go_fields[i];
        const struct ek_go_type *type = &ek_go_types[field->type];
        yyjson_mut_val *value =
            field->minors & pass->r->minor ? open_field(pass, field, object) : NULL;
        if (value && !pass->r->rc && type->form >= EK_GO_STRUCT)
            walk_value(pass, type, value);
    }
}

static void walk_elements(const struct pass *pass, const struct ek_go_type *of,
                          yyjson_mut_val *value)
{
    yyjson_mut_val *key, *member;
    size_t i, n;

    if (of->form < EK_GO_STRUCT)
        return;
    yyjson_mut_arr_foreach(value, i, n, member)
    {
        walk_value(pass, of, member);
    }
    yyjson_mut_obj_foreach(value, i, n, key, member)
    {
        walk_value(pass, of, member);
    }
}

static void walk_value(const struct pass *pass, const struct ek_go_type *type,
                       yyjson_mut_val *value)
{
    if (!pass->r->rc && !ek_work_do(pass->r->work, 1))
        pass->r->rc = EK_E_CANCELED;
    if (pass->r->rc || yyjson_mut_is_null(value))
        return;
    if (type->form == EK_GO_POINTER && ek_go_types[type->of].form >= EK_GO_STRUCT)
        walk_value(pass, &ek_go_types[type->of], value);
    else if (type->form == EK_GO_STRUCT)
        walk_struct(pass, &ek_go_structs[type->of], value);
    else if (type->form == EK_GO_RESOURCES && pass->defaults)
        round_resources(pass->r, value);
    else if (type->form == EK_GO_SLICE || type->form == EK_GO_MAP)
        walk_elements(pass, &ek_go_types[type->of], value);
}

void ek_go_default(struct ek_go_reader *r, yyjson_mut_val *object)
{
    const struct pass pass = {r, ek_go_default_functions, ek_go_n_default_functions, true};

    walk_struct(&pass, &ek_go_structs[r->kind->of], object);
}

void ek_go_convert(struct ek_go_reader *r, yyjson_mut_val *object)
{
    const struct pass pass = {r, ek_go_convert_functions, ek_go_n_convert_functions, false};

    walk_struct(&pass, &ek_go_structs[r->kind->of], object);
}
