/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/decode/builtin.h"
#include "api/obj.h"
#include "test/support/suite.h"

#define POD        "", "v1", "Pod"
#define SECRET     "", "v1", "Secret"
#define SERVICE    "", "v1", "Service"
#define DEPLOYMENT "apps", "v1", "Deployment"
#define DAEMON_SET "apps", "v1", "DaemonSet"
#define STATEFUL   "apps", "v1", "StatefulSet"
#define AUTOSCALER "autoscaling", "v1", "HorizontalPodAutoscaler"

#define DEFINITION "apiextensions.k8s.io", "v1", "CustomResourceDefinition"

#define CONTAINER "\"containers\":[{\"name\":\"a\",\"image\":\"x:1\""

/* An object, a pointer into what is seen of it, and the JSON there; NULL: nothing. */
static const struct {
    const char *group, *version, *kind;
    int minor;
    const char *object, *pointer, *seen;
} rows[] = {
    /* What is empty goes, what is zero without omitempty comes. */
    {POD, 36, "{\"spec\":{\"nodeSelector\":{}}}", "/spec/nodeSelector", NULL},
    {POD, 36, "{\"spec\":{\"volumes\":[]}}", "/spec/volumes", NULL},
    {POD, 36, "{\"spec\":{\"hostNetwork\":false}}", "/spec/hostNetwork", NULL},
    {POD, 36, "{\"spec\":{\"hostUsers\":false}}", "/spec/hostUsers", "false"},
    {POD, 36, "{\"spec\":{\"hostUsers\":null}}", "/spec/hostUsers", NULL},
    {POD, 36, "{\"spec\":{\"unknown\":1}}", "/spec/unknown", NULL},
    {POD, 36, "{\"spec\":{}}", "/spec/containers", "null"},
    {POD, 36, "{\"metadata\":{\"labels\":{\"a\":null}}}", "/metadata/labels", "{\"a\":\"\"}"},
    {POD, 36, "{}", "/status", "{}"},
    {POD, 36, "{\"metadata\":{}}", "/metadata/creationTimestamp", NULL},
    {POD, 33, "{\"metadata\":{}}", "/metadata/creationTimestamp", "null"},
    /* Texts and numbers. */
    {POD, 36, "{\"spec\":{\"overhead\":{\"m\":\"0.5Gi\",\"c\":4,\"f\":0.5}}}", "/spec/overhead",
     "{\"m\":\"512Mi\",\"c\":\"4\",\"f\":\"500m\"}"},
    {POD, 36, "{\"spec\":{\"overhead\":{\"a\":\"+1\",\"b\":\"1.500\",\"c\":\"100u\"}}}",
     "/spec/overhead", "{\"a\":\"+1\",\"b\":\"1.500\",\"c\":\"1m\"}"},
    {POD, 36, "{\"spec\":{\"overhead\":{\"a\":\"1.000001\",\"b\":\"-9999u\",\"c\":\"1e-9\"}}}",
     "/spec/overhead", "{\"a\":\"1001m\",\"b\":\"-10m\",\"c\":\"1e-3\"}"},
    {POD, 36, "{\"spec\":{\"priority\":3.0}}", "/spec/priority", "3"},
    {POD, 36, "{\"metadata\":{\"deletionTimestamp\":\"2026-01-02T03:04:05.9+02:00\"}}",
     "/metadata/deletionTimestamp", "\"2026-01-02T01:04:05Z\""},
    {"coordination.k8s.io", "v1", "Lease", 36,
     "{\"spec\":{\"renewTime\":\"2026-01-02T03:04:05.123456-01:30\"}}", "/spec/renewTime",
     "\"2026-01-02T04:34:05.123456Z\""},
    {SERVICE, 36, "{\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":\"\"}]}}",
     "/spec/ports/0/targetPort", "80"},
    /* Secrets. */
    {SECRET, 36, "{\"stringData\":{\"a\":\"b\"},\"data\":{\"a\":\"YQ==\",\"c\":\"YQ==\"}}", "/data",
     "{\"c\":\"YQ==\",\"a\":\"Yg==\"}"},
    {SECRET, 36, "{\"stringData\":{\"a\":\"b\"}}", "/stringData", NULL},
    {SECRET, 36, "{\"data\":{\"a\":\"Y\\nQ==\"}}", "/data/a", "\"YQ==\""},
    /* Defaults. */
    {DEPLOYMENT, 36, "{}", "/spec/replicas", "1"},
    {DEPLOYMENT, 36, "{}", "/spec/strategy/rollingUpdate/maxSurge", "\"25%\""},
    {DEPLOYMENT, 36, "{\"spec\":{\"strategy\":{\"type\":\"Recreate\"}}}",
     "/spec/strategy/rollingUpdate", NULL},
    {DEPLOYMENT, 36, "{\"spec\":{\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":{}}}}",
     "/spec/strategy/rollingUpdate", "{\"maxUnavailable\":0,\"maxSurge\":0}"},
    {STATEFUL, 36, "{\"spec\":{\"updateStrategy\":{\"type\":\"RollingUpdate\"}}}",
     "/spec/updateStrategy/rollingUpdate", NULL},
    {POD, 36, "{\"spec\":{" CONTAINER "}]}}", "/spec/containers/0/resources", "{}"},
    {POD, 36, "{\"spec\":{" CONTAINER ",\"resources\":{\"limits\":{\"cpu\":4}}}]}}",
     "/spec/containers/0/resources/requests", "{\"cpu\":\"4\"}"},
    {DEPLOYMENT, 36,
     "{\"spec\":{\"template\":{\"spec\":{" CONTAINER
     ",\"resources\":{\"limits\":{\"cpu\":4}}}]}}}}",
     "/spec/template/spec/containers/0/resources/requests", NULL},
    {POD, 36, "{\"spec\":{\"volumes\":[{\"name\":\"a\"}]}}", "/spec/volumes/0/emptyDir", "{}"},
    {POD, 36, "{\"spec\":{\"volumes\":[{\"image\":{\"reference\":\"x\"}}]}}",
     "/spec/volumes/0/image/pullPolicy", "\"Always\""},
    {POD, 34, "{\"spec\":{\"volumes\":[{\"image\":{\"reference\":\"x\"}}]}}",
     "/spec/volumes/0/image/pullPolicy", NULL},
    {POD, 36,
     "{\"spec\":{\"hostNetwork\":true," CONTAINER ",\"ports\":[{\"containerPort\":80}]}]}}",
     "/spec/containers/0/ports/0/hostPort", "80"},
    {"batch", "v1", "Job", 36, "{\"spec\":{\"backoffLimitPerIndex\":1}}", "/spec/backoffLimit",
     "2147483647"},
    {"batch", "v1", "CronJob", 36, "{}", "/spec/jobTemplate/spec/backoffLimit", NULL},
    {"node.k8s.io", "v1", "RuntimeClass", 36, "{\"overhead\":{\"podFixed\":{\"a\":\"1n\"}}}",
     "/overhead/podFixed/a", "\"1n\""},
    {"resource.k8s.io", "v1", "ResourceClaim", 36,
     "{\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{}}]}}}",
     "/spec/devices/requests/0/exactly/count", "1"},
    /* Definitions, whose schemas have values of several types. */
    {DEFINITION, 36, "{\"spec\":{\"names\":{\"kind\":\"FooBar\"}}}", "/spec",
     "{\"conversion\":{\"strategy\":\"None\"},\"group\":\"\",\"names\":{\"kind\":\"FooBar\","
     "\"listKind\":\"FooBarList\",\"plural\":\"\",\"singular\":\"foobar\"},\"scope\":\"\","
     "\"versions\":null}"},
    {DEFINITION, 36,
     "{\"spec\":{\"versions\":[{\"name\":\"v1\"},{\"name\":\"v2\",\"storage\":true}]}}",
     "/status/storedVersions", "[\"v2\"]"},
    {DEFINITION, 36, "{\"spec\":{\"conversion\":{\"webhook\":{}}}}", "/spec/conversion",
     "{\"strategy\":\"\"}"},
    {DEFINITION, 36,
     "{\"spec\":{\"versions\":[{\"schema\":{\"openAPIV3Schema\":{\"properties\":{"
     "\"a\":{\"additionalProperties\":false,\"default\":null,\"nullable\":false,\"x\":1},"
     "\"b\":{\"additionalProperties\":{\"type\":\"string\",\"title\":\"\"}},"
     "\"c\":{\"items\":{\"type\":\"\"},\"enum\":[null,1],\"maximum\":5},"
     "\"d\":{\"items\":[{},{\"x\":1}]},\"e\":{\"items\":true},"
     "\"f\":{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"type\":\"\"},\"d\":[]}},"
     "\"g\":{\"default\":{\"a\":null}},\"h\":null}}}}]}}",
     "/spec/versions/0/schema/openAPIV3Schema/properties",
     "{\"a\":{\"additionalProperties\":false},"
     "\"b\":{\"additionalProperties\":{\"type\":\"string\"}},"
     "\"c\":{\"items\":{},\"enum\":[null,1],\"maximum\":5.0},"
     "\"d\":{\"items\":[{},{}]},\"e\":{\"items\":null},"
     "\"f\":{\"dependencies\":{\"a\":[\"b\"],\"c\":{},\"d\":null}},"
     "\"g\":{\"default\":{\"a\":null}},\"h\":{}}"},
    /* What a Pod asks for from what its containers do. */
    {POD, 36,
     "{\"spec\":{\"resources\":{\"limits\":{\"cpu\":\"9\",\"memory\":\"9Gi\"}},\"containers\":["
     "{\"resources\":{\"requests\":{\"memory\":\"1Gi\",\"cpu\":\"100m\"}}},"
     "{\"resources\":{\"requests\":{\"memory\":\"512Mi\"}}}],\"initContainers\":["
     "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"memory\":\"1Mi\"}}},"
     "{\"resources\":{\"requests\":{\"cpu\":\"1.5\"}}}]}}",
     "/spec/resources/requests", "{\"memory\":\"1537Mi\",\"cpu\":\"1500m\"}"},
    {POD, 33,
     "{\"spec\":{\"resources\":{\"limits\":{\"cpu\":\"9\"}},\"containers\":[{\"resources\":"
     "{\"requests\":{\"cpu\":\"1\"}}}]}}",
     "/spec/resources/requests", NULL},
    {POD, 36,
     "{\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"1\"}},\"containers\":[{\"resources\":"
     "{\"limits\":{\"hugepages-2Mi\":\"4Mi\"}}},{\"resources\":{\"limits\":{\"hugepages-2Mi\":"
     "\"2Mi\"}}}]}}",
     "/spec/resources",
     "{\"limits\":{\"hugepages-2Mi\":\"6Mi\"},\"requests\":{\"cpu\":\"1\","
     "\"hugepages-2Mi\":\"6Mi\"}}"},
    {POD, 36,
     "{\"spec\":{\"resources\":{\"limits\":{\"cpu\":\"1\"}},\"containers\":[{\"resources\":"
     "{\"requests\":{\"cpu\":\"-1m\",\"memory\":\"20E\"}}},{\"resources\":{\"requests\":{\"cpu\":"
     "\"1e-3\",\"memory\":\"1n\"}}}]}}",
     "/spec/resources/requests", "{\"cpu\":\"0\",\"memory\":\"20000000000000000000001m\"}"},
    /* The way to the internal version and back. */
    {POD, 36, "{\"spec\":{\"serviceAccount\":\"a\"}}", "/spec/serviceAccountName", "\"a\""},
    {POD, 36, "{\"spec\":{\"serviceAccount\":\"a\",\"serviceAccountName\":\"b\"}}",
     "/spec/serviceAccount", "\"b\""},
    {POD, 36, "{\"status\":{\"podIP\":\"1\",\"podIPs\":[{\"ip\":\"2\"},{\"ip\":\"3\"}]}}",
     "/status/podIPs", "[{\"ip\":\"1\"}]"},
    {POD, 36, "{\"status\":{\"podIPs\":[{\"ip\":\"2\"}]}}", "/status/podIP", "\"2\""},
    {DAEMON_SET, 36,
     "{\"metadata\":{\"annotations\":{\"deprecated.daemonset.template.generation\":\"+07\"}}}",
     "/metadata/annotations", "{\"deprecated.daemonset.template.generation\":\"7\"}"},
    {STATEFUL, 36, "{\"spec\":{\"volumeClaimTemplates\":[{}]}}",
     "/spec/volumeClaimTemplates/0/kind", "\"PersistentVolumeClaim\""},
    {AUTOSCALER, 36, "{}", "/spec/targetCPUUtilizationPercentage", "80"},
    {AUTOSCALER, 36, "{\"status\":{\"currentCPUUtilizationPercentage\":7}}",
     "/metadata/annotations",
     "{\"autoscaling.alpha.kubernetes.io/current-metrics\":\"[{\\\"type\\\":\\\"Resource\\\","
     "\\\"resource\\\":{\\\"name\\\":\\\"cpu\\\",\\\"currentAverageUtilization\\\":7,"
     "\\\"currentAverageValue\\\":\\\"0\\\"}}]\"}"},
    {AUTOSCALER, 36,
     "{\"metadata\":{\"annotations\":{\"autoscaling.alpha.kubernetes.io/metrics\":\"[{}]\","
     "\"autoscaling.alpha.kubernetes.io/behavior\":\"x\"}}}",
     "/spec",
     "{\"maxReplicas\":0,\"minReplicas\":1,\"scaleTargetRef\":{\"kind\":\"\",\"name\":"
     "\"\"}}"},
};

static const struct {
    const char *image, *policy;
} images[] = {
    {"nginx", "Always"},
    {"nginx:latest", "Always"},
    {"nginx:1", "IfNotPresent"},
    {"nginx:latest1", "IfNotPresent"},
    {"r.io:5000/a/b_c__d--e.f", "Always"},
    {"r.io:5000/a/b:latest", "Always"},
    {"localhost/a", "Always"},
    {"HOST/a", "Always"},
    {"[::1]:5/a", "Always"},
    {"", "IfNotPresent"},
    {"Nginx", "IfNotPresent"},
    {"a/B", "IfNotPresent"},
    {"a..b", "IfNotPresent"},
    {"a___b", "IfNotPresent"},
    {"a-", "IfNotPresent"},
    {"a//b", "IfNotPresent"},
    {"a/", "IfNotPresent"},
    {"a b", "IfNotPresent"},
    {"a:", "IfNotPresent"},
    {"-.io/a", "IfNotPresent"},
    {"r.io:x/a", "IfNotPresent"},
    {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "IfNotPresent"},
    {"a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "IfNotPresent"},
    {"a:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "Always"},
    {"a:latest@sha256:1", "IfNotPresent"},
};

/* What is refused, and where. */
static const struct {
    const char *group, *version, *kind, *object, *pointer;
} refused[] = {
    {POD, "[]", ""},
    {POD, "{\"metadata\":{\"labels\":{\"on\":true}}}", "/metadata/labels/on"},
    {POD, "{\"metadata\":{\"name\":5}}", "/metadata/name"},
    {POD, "{\"metadata\":{\"annotations\":{\"a/b\":1}}}", "/metadata/annotations/a~1b"},
    {POD, "{\"spec\":{\"containers\":[{},{\"image\":[1]}]}}", "/spec/containers/1/image"},
    {POD, "{\"spec\":{\"containers\":[{\"ports\":{}}]}}", "/spec/containers/0/ports"},
    {POD, "{\"spec\":{\"overhead\":{\"cpu\":\"abc\"}}}", "/spec/overhead/cpu"},
    {POD, "{\"spec\":{\"overhead\":{\"cpu\":true}}}", "/spec/overhead/cpu"},
    {POD, "{\"spec\":{\"priority\":2147483648}}", "/spec/priority"},
    {POD, "{\"metadata\":{\"deletionTimestamp\":\"\"}}", "/metadata/deletionTimestamp"},
    {POD, "{\"metadata\":{\"deletionTimestamp\":\"2026-02-30T00:00:00Z\"}}",
     "/metadata/deletionTimestamp"},
    {POD, "{\"metadata\":{\"deletionTimestamp\":\"2026-02-03T00:00:00+25:00\"}}",
     "/metadata/deletionTimestamp"},
    {POD, "{\"metadata\":{\"deletionTimestamp\":\"9999-12-31T23:59:59-01:00\"}}",
     "/metadata/deletionTimestamp"},
    {DEFINITION,
     "{\"spec\":{\"versions\":[{\"schema\":{\"openAPIV3Schema\":{\"additionalProperties\":1}}}]}}",
     "/spec/versions/0/schema/openAPIV3Schema/additionalProperties"},
    {DEPLOYMENT, "{\"spec\":{\"replicas\":\"x\"}}", "/spec/replicas"},
    {DEPLOYMENT, "{\"spec\":{\"replicas\":1.5}}", "/spec/replicas"},
    {SECRET, "{\"data\":{\"a\":\"b\"}}", "/data/a"},
    {SERVICE, "{\"spec\":{\"ports\":[{\"targetPort\":1.5}]}}", "/spec/ports/0/targetPort"},
    {"coordination.k8s.io", "v1", "Lease", "{\"spec\":{\"renewTime\":\"2026-01-02T03:04:05Z\"}}",
     "/spec/renewTime"},
    {DAEMON_SET,
     "{\"metadata\":{\"annotations\":{\"deprecated.daemonset.template.generation\":\"x\"}}}",
     "/metadata/annotations/deprecated.daemonset.template.generation"},
};

/* Reads text; the document of what is seen is the caller's. */
static int decode(const struct ek_gvk *kind, int minor, const char *text, yyjson_doc **ret_seen,
                  struct ek_arena *arena, struct ek_decode_problem *problem)
{
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    yyjson_mut_doc *out = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *seen = NULL;

    ck_assert_msg(doc != NULL, "not JSON: %s", text);
    int rc = ek_decode_builtin(kind, minor, yyjson_doc_get_root(doc), NULL, arena, out, &seen, NULL,
                               problem);
    yyjson_mut_doc_set_root(out, seen);
    *ret_seen = rc ? NULL : yyjson_mut_doc_imut_copy(out, &ek_json_alc);
    yyjson_mut_doc_free(out);
    yyjson_doc_free(doc);
    return rc;
}

START_TEST(objects_are_seen_as_by_a_server)
{
    const struct ek_gvk kind = {rows[_i].group, rows[_i].version, rows[_i].kind};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_decode_problem problem = {0};
    yyjson_doc *seen;

    int rc = decode(&kind, rows[_i].minor, rows[_i].object, &seen, arena, &problem);
    ck_assert_msg(!rc, "%s: %d %s", rows[_i].object, rc, problem.why);
    yyjson_val *value = yyjson_doc_ptr_get(seen, rows[_i].pointer);
    char *got = value ? yyjson_val_write(value, 0, NULL) : NULL;
    yyjson_doc *want =
        rows[_i].seen ? ek_json_parse(rows[_i].seen, strlen(rows[_i].seen), NULL) : NULL;
    ck_assert_msg(!value == !want && (!want || ek_json_equal(value, yyjson_doc_get_root(want))),
                  "%s at %s: %s, not %s", rows[_i].object, rows[_i].pointer, got ? got : "nothing",
                  rows[_i].seen ? rows[_i].seen : "nothing");
    free(got);
    yyjson_doc_free(want);
    yyjson_doc_free(seen);
    ek_arena_free(arena);
}
END_TEST

START_TEST(images_give_a_pull_policy)
{
    const struct ek_gvk kind = {POD};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    char *object =
        ek_xasprintf("{\"spec\":{\"containers\":[{\"image\":\"%s\"}]}}", images[_i].image);
    struct ek_decode_problem problem;
    yyjson_doc *seen;

    ck_assert_int_eq(decode(&kind, 36, object, &seen, arena, &problem), 0);
    yyjson_val *value = yyjson_doc_ptr_get(seen, "/spec/containers/0/imagePullPolicy");
    ck_assert_msg(yyjson_equals_str(value, images[_i].policy), "%s: %s", images[_i].image,
                  yyjson_get_str(value));
    yyjson_doc_free(seen);
    ek_free(object);
    ek_arena_free(arena);
}
END_TEST

START_TEST(what_a_server_refuses_has_a_place)
{
    const struct ek_gvk kind = {refused[_i].group, refused[_i].version, refused[_i].kind};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_decode_problem problem = {0};
    yyjson_doc *seen;

    ck_assert_int_eq(decode(&kind, 36, refused[_i].object, &seen, arena, &problem), EK_E_INVAL);
    ck_assert_str_eq(problem.pointer, refused[_i].pointer);
    ck_assert_msg(*problem.why, "%s", refused[_i].object);
    ek_arena_free(arena);
}
END_TEST

START_TEST(other_kinds_are_not_covered)
{
    static const struct ek_gvk kinds[] = {
        {"example.com", "v1", "Pod"},
        {"", "v2", "Pod"},
        {"apps", "v1", "Pod"},
        {"apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"},
    };
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_decode_problem problem;
    yyjson_doc *seen;

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        ck_assert_int_eq(decode(&kinds[i], 36, "{}", &seen, arena, &problem), EK_E_NOENT);
    const struct ek_gvk pod = {POD}, claim = {"resource.k8s.io", "v1", "ResourceClaim"};
    ck_assert_int_eq(decode(&pod, 32, "{}", &seen, arena, &problem), EK_E_NOENT);
    ck_assert_int_eq(decode(&pod, 37, "{}", &seen, arena, &problem), EK_E_NOENT);
    ck_assert_int_eq(decode(&claim, 33, "{}", &seen, arena, &problem), EK_E_NOENT);
    ek_arena_free(arena);
}
END_TEST

/* Every kind of every version can be empty, and what is seen of it is seen so again. */
START_TEST(all_kinds_are_covered)
{
    size_t n, found = 0;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_decode_problem problem;

    for (size_t i = 0; i < n; i++) {
        const struct ek_gvk kind = {all[i].kind_group, all[i].kind_version, all[i].kind};
        yyjson_doc *seen, *again;
        if (!ek_builtin_serves(&all[i], EK_BUILTIN_MINOR_MIN + _i) || strstr(kind.kind, "Options"))
            continue;
        int rc = decode(&kind, EK_BUILTIN_MINOR_MIN + _i, "{}", &seen, arena, &problem);
        ck_assert_msg(!rc, "%s %s: %d", kind.group, kind.kind, rc);
        char *text = yyjson_write(seen, 0, NULL);
        ck_assert_int_eq(decode(&kind, EK_BUILTIN_MINOR_MIN + _i, text, &again, arena, &problem),
                         0);
        ck_assert_msg(ek_json_equal(yyjson_doc_get_root(seen), yyjson_doc_get_root(again)), "%s",
                      text);
        free(text);
        yyjson_doc_free(seen);
        yyjson_doc_free(again);
        found++;
    }
    ck_assert_uint_gt(found, 60);
    ek_arena_free(arena);
}
END_TEST

static bool is_over(void *arg)
{
    (void)arg;
    return true;
}

#define CRD "apiextensions.k8s.io", "v1", "CustomResourceDefinition"
#define SCHEMA(members)                                                                            \
    "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{" members "}}}]}}"

/* Fields that strict decoding names, and those that it does not name. */
static const struct {
    const char *group, *version, *kind, *object, *unknown;
} misspelt[] = {
    {DEPLOYMENT, "{\"spec\":{\"replica\":3,\"replicas\":2}}", "spec.replica"},
    {DEPLOYMENT,
     "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{},{\"imagePullPolcy\":\"Always\"}]}}}}",
     "spec.template.spec.containers[1].imagePullPolcy"},
    {DEPLOYMENT, "{\"metadata\":{\"lables\":null},\"Spec\":{\"replica\":1},\"\":1}",
     "metadata.lables Spec "},
    {DEPLOYMENT, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"status\":{\"replicas\":1}}",
     ""},
    {POD,
     "{\"metadata\":{\"managedFields\":[{\"fieldsV1\":{\"f:x\":{}}}],\"annotations\":{\"a/"
     "b.c\":\"d\"}}}",
     ""},
    {POD,
     "{\"spec\":{\"volumes\":[{\"emptyDir\":{\"sizeLimit\":1}}],\"nodeSelector\":{\"x\":\"y\"}}}",
     ""},
    {SECRET, "{\"data\":{\"any\":\"YQ==\"},\"stringData\":{\"other\":\"b\"}}", ""},
    {"apps", "v1", "ControllerRevision", "{\"data\":{\"spec\":{\"replica\":1}}}", ""},
    {CRD, SCHEMA("\"properties\":{\"a\":{\"typ\":1}}"),
     "spec.versions[0].schema.openAPIV3Schema.properties.a.typ"},
    {CRD, SCHEMA("\"items\":{\"typ\":1},\"additionalProperties\":{\"typ\":1}"), ""},
    {CRD,
     SCHEMA("\"default\":{\"typ\":1},\"enum\":[{\"typ\":1}],\"x-kubernetes-int-or-string\":true"),
     ""},
};

START_TEST(unknown_fields_are_named)
{
    const struct ek_gvk kind = {misspelt[_i].group, misspelt[_i].version, misspelt[_i].kind};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_doc *doc = ek_json_parse(misspelt[_i].object, strlen(misspelt[_i].object), NULL);
    yyjson_mut_doc *out = yyjson_mut_doc_new(&ek_json_alc);
    struct ek_decode_problem problem = {0};
    struct ek_paths unknown = {0};
    yyjson_mut_val *seen;
    struct ek_buf got;

    ck_assert_msg(doc != NULL, "%s", misspelt[_i].object);
    int rc = ek_decode_builtin(&kind, 36, yyjson_doc_get_root(doc), NULL, arena, out, &seen,
                               &unknown, &problem);
    ck_assert_msg(!rc, "%s: %s", misspelt[_i].object, problem.why);
    ek_buf_init(&got, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < unknown.n; i++)
        ek_buf_printf(&got, "%s%s", i ? " " : "", unknown.list[i]);
    ck_assert_str_eq(ek_buf_str(&got), misspelt[_i].unknown);
    ek_buf_done(&got);
    yyjson_mut_doc_free(out);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

/* Many are counted, and some are kept. */
START_TEST(unknown_fields_are_bounded)
{
    const struct ek_gvk kind = {POD};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_mut_doc *in = yyjson_mut_doc_new(&ek_json_alc), *out = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *root = yyjson_mut_obj(in), *seen;
    struct ek_decode_problem problem = {0};
    struct ek_paths unknown = {0};

    for (unsigned i = 0; i < 2 * EK_PATHS_MAX; i++)
        yyjson_mut_obj_add_int(in, root, ek_arena_printf(arena, "x%u", i), 1);
    yyjson_doc *doc = yyjson_mut_val_imut_copy(root, &ek_json_alc);
    ck_assert_int_eq(ek_decode_builtin(&kind, 36, yyjson_doc_get_root(doc), NULL, arena, out, &seen,
                                       &unknown, &problem),
                     0);
    ck_assert_uint_eq(unknown.n, EK_PATHS_MAX);
    ck_assert_uint_eq(unknown.n_all, 2 * EK_PATHS_MAX);
    yyjson_doc_free(doc);
    yyjson_mut_doc_free(in);
    yyjson_mut_doc_free(out);
    ek_arena_free(arena);
}
END_TEST

START_TEST(work_can_end)
{
    const struct ek_gvk kind = {POD};
    struct ek_work work = {.is_over = is_over};
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_doc *doc = ek_json_parse("{\"spec\":{}}", 11, NULL);
    yyjson_mut_doc *out = yyjson_mut_doc_new(&ek_json_alc);
    struct ek_decode_problem problem;
    yyjson_mut_val *seen;

    ck_assert_int_eq(ek_decode_builtin(&kind, 36, yyjson_doc_get_root(doc), &work, arena, out,
                                       &seen, NULL, &problem),
                     EK_E_CANCELED);
    yyjson_mut_doc_free(out);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

/* Without memory an object is not read, or read whole. */
START_TEST(lack_of_memory_is_an_error)
{
    const struct ek_gvk kind = {SECRET};
    static const char text[] = "{\"stringData\":{\"a\":\"b\"},\"data\":{\"c\":\"YQ==\"}}";
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    bool failed = true;

    for (long n = 1; failed; n++) {
        struct ek_arena *arena = ek_arena_new(1 << 20);
        struct ek_decode_problem problem;
        yyjson_mut_val *seen = NULL;
        ek_alloc_fail_after(n);
        yyjson_mut_doc *out = yyjson_mut_doc_new(&ek_json_alc);
        int rc = out ? ek_decode_builtin(&kind, 36, yyjson_doc_get_root(doc), NULL, arena, out,
                                         &seen, NULL, &problem)
                     : EK_E_NOMEM;
        failed = !ek_alloc_unfailed();
        ek_alloc_fail_after(0);
        ck_assert_int_eq(rc, failed ? EK_E_NOMEM : 0);
        yyjson_mut_doc_free(out);
        ek_arena_free(arena);
    }
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("builtin");

    tcase_add_loop_test(tcase, objects_are_seen_as_by_a_server, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, images_give_a_pull_policy, 0, EK_ARRAY_SIZE(images));
    tcase_add_loop_test(tcase, what_a_server_refuses_has_a_place, 0, EK_ARRAY_SIZE(refused));
    tcase_add_test(tcase, other_kinds_are_not_covered);
    tcase_add_loop_test(tcase, all_kinds_are_covered, 0,
                        EK_BUILTIN_MINOR_MAX - EK_BUILTIN_MINOR_MIN + 1);
    tcase_add_loop_test(tcase, unknown_fields_are_named, 0, EK_ARRAY_SIZE(misspelt));
    tcase_add_test(tcase, unknown_fields_are_bounded);
    tcase_add_test(tcase, work_can_end);
    tcase_add_test(tcase, lack_of_memory_is_an_error);
    return ek_test_run("builtin", tcase);
}
