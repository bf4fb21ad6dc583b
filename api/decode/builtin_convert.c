/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object's way to the internal version and back changes of it. Most conversions give back
 * what they got; these do not. Source: Kubernetes 1.36, pkg/apis: conversion.go of each group, and
 * pkg/apis/autoscaling/annotations.go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/mem.h"
#include "api/decode/builtin-internal.h"
#include "api/members.h"
#include "api/obj.h"

#define ROLLBACK_TO         "deprecated.deployment.rollback.to"
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"
#define METRICS             "autoscaling.alpha.kubernetes.io/metrics"
#define CURRENT_METRICS     "autoscaling.alpha.kubernetes.io/current-metrics"
#define CONDITIONS          "autoscaling.alpha.kubernetes.io/conditions"
#define BEHAVIOR            "autoscaling.alpha.kubernetes.io/behavior"
#define TOLERANCE_DOWN      "autoscaling.alpha.kubernetes.io/scale-down-tolerance"
#define TOLERANCE_UP        "autoscaling.alpha.kubernetes.io/scale-up-tolerance"

static yyjson_mut_val *annotations_of(yyjson_mut_val *object)
{
    return ek_go_get(ek_go_get(object, "metadata"), "annotations");
}

static void remove_names(yyjson_mut_val *object, const char *const *names, size_t n)
{
    for (size_t i = 0; object && i < n; i++)
        yyjson_mut_obj_remove_key(object, names[i]);
}

/* A member that is zero where a number that is no pointer stands for it. */
static void put_zero(struct ek_go_reader *r, yyjson_mut_val *object, const char *name)
{
    if (!ek_go_get(object, name))
        ek_go_put_number(r, object, name, 0);
}

/* ---- Pods ---- */

static void drop_init_annotations(struct ek_go_reader *r, yyjson_mut_val *object)
{
    static const char *const names[] = {"pod.beta.kubernetes.io/init-containers",
                                        "pod.alpha.kubernetes.io/init-containers",
                                        "pod.beta.kubernetes.io/init-container-statuses",
                                        "pod.alpha.kubernetes.io/init-container-statuses"};

    (void)r;
    remove_names(annotations_of(object), names, EK_ARRAY_SIZE(names));
}

static void convert_pod(struct ek_go_reader *r, yyjson_mut_val *pod)
{
    yyjson_mut_val *spec = ek_go_get(pod, "spec");
    yyjson_mut_val *period = ek_go_get(spec, "terminationGracePeriodSeconds");

    drop_init_annotations(r, pod);
    if (period && yyjson_mut_is_sint(period) && yyjson_mut_get_sint(period) < 0)
        ek_go_put_number(r, spec, "terminationGracePeriodSeconds", 1);
}

static void convert_pod_spec(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *name = ek_go_get(spec, "serviceAccountName");

    if (!name && ek_go_get(spec, "serviceAccount"))
        ek_go_put(r, spec, "serviceAccountName", ek_go_copy(r, ek_go_get(spec, "serviceAccount")));
    else if (name)
        ek_go_put(r, spec, "serviceAccount", ek_go_copy(r, name));
}

/* An old member of one value and a new one of a list, whose first is the same. */
static void join(struct ek_go_reader *r, yyjson_mut_val *object, const char *one, const char *many,
                 const char *member)
{
    yyjson_mut_val *value = ek_go_get(object, one), *list = ek_go_get(object, many);
    yyjson_mut_val *first = yyjson_mut_arr_get_first(list);
    yyjson_mut_val *text = member ? ek_go_get(first, member) : first;

    if (value && (!first || !yyjson_mut_equals(value, text ? text : first))) {
        list = ek_go_made(r, yyjson_mut_arr(r->doc));
        yyjson_mut_val *item = member ? yyjson_mut_obj(r->doc) : ek_go_copy(r, value);
        if (member && ek_go_made(r, item))
            ek_go_put(r, item, member, ek_go_copy(r, value));
        yyjson_mut_arr_append(list, item);
        ek_go_put(r, object, many, list);
    } else if (first) {
        ek_go_put(r, object, one, text ? ek_go_copy(r, text) : yyjson_mut_str(r->doc, ""));
    }
}

static void convert_pod_status(struct ek_go_reader *r, yyjson_mut_val *status)
{
    join(r, status, "podIP", "podIPs", "ip");
}

static void convert_node_spec(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    join(r, spec, "podCIDR", "podCIDRs", NULL);
}

/* ---- Secrets ---- */

static yyjson_mut_val *encode(struct ek_go_reader *r, yyjson_mut_val *text)
{
    size_t len = yyjson_mut_get_len(text);
    char *encoded = ek_alloc(EK_BASE64_LEN(len) + 1);

    if (!encoded)
        return ek_go_made(r, NULL);
    ek_work_octets(r->work, len);
    ek_base64_write(yyjson_mut_get_str(text), len, encoded);
    yyjson_mut_val *value = yyjson_mut_strncpy(r->doc, encoded, EK_BASE64_LEN(len));
    ek_free(encoded);
    return ek_go_made(r, value);
}

static void convert_secret(struct ek_go_reader *r, yyjson_mut_val *secret)
{
    yyjson_mut_val *strings = ek_go_get(secret, "stringData"), *key, *value;
    yyjson_mut_val *data = ek_go_get(secret, "data");
    yyjson_mut_val *merged = ek_go_made(r, yyjson_mut_obj(r->doc));
    struct ek_members members;
    size_t i, n;

    if (!strings || !merged)
        return;
    ek_members_init_mut(&members, strings, r->work);
    yyjson_mut_obj_foreach(data, i, n, key, value)
    {
        struct ek_str name = {yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
        if (!ek_members_find_mut(&members, name))
            yyjson_mut_obj_add(merged, ek_go_copy(r, key), ek_go_copy(r, value));
    }
    ek_members_done(&members);
    yyjson_mut_obj_foreach(strings, i, n, key, value)
    {
        yyjson_mut_obj_add(merged, ek_go_copy(r, key), encode(r, value));
    }
    yyjson_mut_obj_remove_key(secret, "stringData");
    ek_go_put(r, secret, "data", merged);
}

/* ---- Controllers ---- */

/* Reads an annotation as strconv.ParseInt does, and writes it as FormatInt. */
static void renew_number(struct ek_go_reader *r, yyjson_mut_val *annotations, const char *name,
                         const char *text)
{
    size_t sign = *text == '+' || *text == '-', len = strlen(text);
    char *end = NULL;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (len == sign || strspn(text + sign, "0123456789") != len - sign || errno || *end) {
        const struct ek_go_place root = {NULL, {"", 0}, SIZE_MAX};
        const struct ek_go_place metadata = {&root, EK_STR("metadata"), SIZE_MAX};
        const struct ek_go_place all = {&metadata, EK_STR("annotations"), SIZE_MAX};
        const struct ek_go_place at = {&all, ek_str_from(name), SIZE_MAX};
        ek_go_fail(r, &at, "a whole number of 64 bits is wanted here");
        return;
    }
    ek_go_put(r, annotations, name,
              yyjson_mut_strcpy(r->doc, ek_arena_printf(r->arena, "%lld", number)));
}

static void convert_deployment(struct ek_go_reader *r, yyjson_mut_val *deployment)
{
    yyjson_mut_val *annotations = annotations_of(deployment);
    const char *revision = ek_go_text_of(annotations, ROLLBACK_TO);

    if (*revision)
        renew_number(r, annotations, ROLLBACK_TO, revision);
    else if (annotations)
        yyjson_mut_obj_remove_key(annotations, ROLLBACK_TO);
}

static void convert_daemon_set(struct ek_go_reader *r, yyjson_mut_val *set)
{
    yyjson_mut_val *metadata = ek_go_open(r, set, "metadata");
    yyjson_mut_val *annotations = metadata ? ek_go_open(r, metadata, "annotations") : NULL;

    if (!annotations)
        return;
    yyjson_mut_val *there = ek_go_get(annotations, TEMPLATE_GENERATION);
    renew_number(r, annotations, TEMPLATE_GENERATION, there ? yyjson_mut_get_str(there) : "0");
}

static void convert_rolling_update(struct ek_go_reader *r, yyjson_mut_val *update)
{
    put_zero(r, update, "maxSurge");
    put_zero(r, update, "maxUnavailable");
}

static void convert_partition(struct ek_go_reader *r, yyjson_mut_val *update)
{
    put_zero(r, update, "partition");
}

static void convert_stateful_set(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *claim;
    size_t i, n;

    yyjson_mut_arr_foreach(ek_go_get(spec, "volumeClaimTemplates"), i, n, claim)
    {
        ek_go_put_text(r, claim, "apiVersion", "v1");
        ek_go_put_text(r, claim, "kind", "PersistentVolumeClaim");
    }
}

/* ---- Autoscalers ---- */

/* Drops an annotation whose text is not of that type, or holds nothing; true when it stays. */
static bool keep_json(struct ek_go_reader *r, yyjson_mut_val *annotations, const char *name,
                      yyjson_type type)
{
    const char *text = ek_go_text_of(annotations, name);

    ek_work_octets(r->work, strlen(text));
    yyjson_doc *doc = *text ? ek_json_parse(text, strlen(text), NULL) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool kept = root && yyjson_get_type(root) == type && unsafe_yyjson_get_len(root) > 0;
    yyjson_doc_free(doc);
    if (!kept && annotations)
        yyjson_mut_obj_remove_key(annotations, name);
    return kept;
}

/*
 * v1 has its other metrics in annotations. Their text is kept where it is JSON of the right kind: a
 * server writes it anew, in the order of its structs.
 */
static void convert_autoscaler_v1(struct ek_go_reader *r, yyjson_mut_val *autoscaler)
{
    yyjson_mut_val *annotations = annotations_of(autoscaler);
    yyjson_mut_val *spec = ek_go_get(autoscaler, "spec"), *status = ek_go_get(autoscaler, "status");
    yyjson_mut_val *usage = ek_go_get(status, "currentCPUUtilizationPercentage");
    bool metrics = keep_json(r, annotations, METRICS, YYJSON_TYPE_ARR);

    keep_json(r, annotations, BEHAVIOR, YYJSON_TYPE_OBJ);
    keep_json(r, annotations, CONDITIONS, YYJSON_TYPE_ARR);
    if (!metrics && !ek_go_get(spec, "targetCPUUtilizationPercentage"))
        ek_go_put_number(r, spec, "targetCPUUtilizationPercentage", 80);
    if (keep_json(r, annotations, CURRENT_METRICS, YYJSON_TYPE_ARR) || !usage)
        return;
    yyjson_mut_val *metadata = ek_go_open(r, autoscaler, "metadata");
    annotations = metadata ? ek_go_open(r, metadata, "annotations") : NULL;
    if (annotations)
        ek_go_put(r, annotations, CURRENT_METRICS,
                  yyjson_mut_strcpy(
                      r->doc, ek_arena_printf(r->arena,
                                              "[{\"type\":\"Resource\",\"resource\":{\"name\":"
                                              "\"cpu\",\"currentAverageUtilization\":%lld,"
                                              "\"currentAverageValue\":\"0\"}}]",
                                              (long long)yyjson_mut_get_sint(usage))));
}

static void convert_autoscaler(struct ek_go_reader *r, yyjson_mut_val *autoscaler)
{
    static const char *const names[] = {TOLERANCE_DOWN, TOLERANCE_UP, METRICS,
                                        BEHAVIOR,       CONDITIONS,   CURRENT_METRICS};
    bool v1 = !strcmp(r->kind->version, "v1");

    remove_names(annotations_of(autoscaler), names, v1 ? 2 : EK_ARRAY_SIZE(names));
    if (v1)
        convert_autoscaler_v1(r, autoscaler);
}

/* ---- Others ---- */

/* A label that told apart the empty selectors of v1beta1 does so alone, or is dropped. */
static void convert_budget(struct ek_go_reader *r, yyjson_mut_val *budget)
{
    yyjson_mut_val *selector = ek_go_get(ek_go_get(budget, "spec"), "selector");
    yyjson_mut_val *expressions = ek_go_get(selector, "matchExpressions"), *one;
    yyjson_mut_val *kept = ek_go_made(r, yyjson_mut_arr(r->doc));
    static const char label[] = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    size_t i, n, dropped = 0;

    yyjson_mut_arr_foreach(expressions, i, n, one)
    {
        bool same = !strcmp(ek_go_text_of(one, "key"), label);
        bool alone = same && n == 1 && !strcmp(ek_go_text_of(one, "operator"), "Exists") &&
                     (!ek_go_get(one, "values") || ek_go_is_empty(ek_go_get(one, "values")));
        yyjson_mut_val *labels = ek_go_get(selector, "matchLabels");
        if (alone && (!labels || ek_go_is_empty(labels)))
            return;
        dropped += same;
        if (!same)
            yyjson_mut_arr_append(kept, ek_go_copy(r, one));
    }
    if (dropped)
        ek_go_put(r, selector, "matchExpressions", kept);
}

static void convert_device(struct ek_go_reader *r, yyjson_mut_val *device)
{
    if (!strcmp(r->kind->version, "v1beta1"))
        ek_go_open(r, device, "basic");
}

/* A webhook of which nothing is said is none. */
static void convert_conversion(struct ek_go_reader *r, yyjson_mut_val *conversion)
{
    yyjson_mut_val *webhook = ek_go_get(conversion, "webhook");

    (void)r;
    if (webhook && !ek_go_get(webhook, "clientConfig") &&
        !ek_go_get(webhook, "conversionReviewVersions"))
        yyjson_mut_obj_remove_key(conversion, "webhook");
}

const struct ek_go_function ek_go_convert_functions[] = {
    {"apiextensions.CustomResourceConversion", convert_conversion},
    {"apps.DaemonSet", convert_daemon_set},
    {"apps.Deployment", convert_deployment},
    {"apps.RollingUpdateDaemonSet", convert_rolling_update},
    {"apps.RollingUpdateDeployment", convert_rolling_update},
    {"apps.RollingUpdateStatefulSetStrategy", convert_partition},
    {"apps.StatefulSetSpec", convert_stateful_set},
    {"autoscaling.HorizontalPodAutoscaler", convert_autoscaler},
    {"core.NodeSpec", convert_node_spec},
    {"core.Pod", convert_pod},
    {"core.PodSpec", convert_pod_spec},
    {"core.PodStatus", convert_pod_status},
    {"core.PodTemplateSpec", drop_init_annotations},
    {"core.Secret", convert_secret},
    {"policy.PodDisruptionBudget", convert_budget},
    {"resource.Device", convert_device},
};

const size_t ek_go_n_convert_functions = EK_ARRAY_SIZE(ek_go_convert_functions);
