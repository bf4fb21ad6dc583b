/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses the API versions that go: rows with items of a list and the findings. */
#include "reconcilers/plan/uses.h"

#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)16 << 20)

static struct ek_plan_data data;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
}

static void close_data(void)
{
    ek_plan_data_done(&data);
}

#define OLD                     "\"apiVersion\":\"networking.k8s.io/v1beta1\""
#define NEW                     "\"apiVersion\":\"networking.k8s.io/v1\""
#define CIDR                    OLD ",\"kind\":\"ServiceCIDR\""
#define AT(t)                   "\"time\":\"2026-11-0" t "T00:00:00Z\""
#define META(name, rest)        "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"shop\"" rest "}}"
#define FIELDS(entries)         ",\"managedFields\":[" entries "]"
#define WROTE(manager, version) "{\"manager\":\"" manager "\"," version
#define LAST(text)                                                                                 \
    ",\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"" text "\"}"
#define OWNERS(kind) ",\"ownerReferences\":[{" kind ",\"name\":\"a\",\"uid\":\"u\"}]"
#define SCALER(target)                                                                             \
    "{\"metadata\":{\"name\":\"h\",\"namespace\":\"shop\"},\"spec\":{\"scaleTargetRef\":{" target  \
    ",\"name\":\"a\"}}}"
#define ROLE(groups, resources)                                                                    \
    "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"apps\"],\"resources\":[\"*\"]},"  \
    "{\"apiGroups\":[" groups "],\"resources\":[" resources "],\"verbs\":[\"get\"]}]}"
#define SERVICE(labels, group, version, rest)                                                      \
    "{\"metadata\":{\"name\":\"s\",\"labels\":{" labels "}},\"spec\":{\"group\":\"" group          \
    "\",\"version\":\"" version "\"" rest "}}"

/* resource: of the list; items: one or more, separated by commas; want: "severity rule object
 * field: message" lines, of which the message may be left out. */
static const struct {
    const char *name, *resource, *items;
    unsigned from, to;
    const char *want;
} rows[] = {
    /* Writes */
    {"a client of the version that goes", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "}"))), 36, 37,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : ctl wrote 1 object with "
     "networking.k8s.io/v1beta1 (removed in 1.37), the last at 2026-11-01T00:00:00Z; whether the "
     "client still uses the version is not known -> have the client use networking.k8s.io/v1\n"},
    {"the target still serves the version", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "}"))), 35, 36, ""},
    {"the way back: a version that came since", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", NEW "," AT("1") "}"))), 33, 32,
     "unknown api-written networking.k8s.io/v1beta1 ServiceCIDR shop/a : ctl wrote 1 object with "
     "networking.k8s.io/v1 (new in 1.33), the last at 2026-11-01T00:00:00Z; whether the client "
     "still uses the version is not known -> have the client use a version that stays\n"},
    {"a client of a version behind a gate", "clustertrustbundles",
     META("a",
          FIELDS(WROTE("ctl", "\"apiVersion\":\"certificates.k8s.io/v1alpha1\"," AT("1") "}"))),
     36, 37,
     "unknown api-written certificates.k8s.io/v1beta1 ClusterTrustBundle shop/a : ctl wrote 1 "
     "object with certificates.k8s.io/v1alpha1 (removed in 1.37)\n"},
    {"the version that stays", "servicecidrs", META("a", FIELDS(WROTE("ctl", NEW "," AT("1") "}"))),
     36, 37, ""},
    {"the newest of several objects", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "}"))) "," META(
         "b", FIELDS(WROTE("ctl", OLD "," AT("3") "}"))) "," META("c",
                                                                  FIELDS(WROTE("ctl", OLD
                                                                               "," AT("2") "}"))),
     36, 37,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/b : ctl wrote 3 objects with "
     "networking.k8s.io/v1beta1 (removed in 1.37), the last at 2026-11-03T00:00:00Z\n"},
    {"one finding for each client", "servicecidrs",
     META("a", FIELDS(WROTE("x", OLD "," AT("1") "},") WROTE("y", OLD "," AT("1") "}"))), 36, 37,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : x wrote 1 object\n"
     "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : y wrote 1 object\n"},
    {"the client uses the new version since", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "},") WROTE("ctl", NEW "," AT("2") "}"))), 36,
     37,
     "warning api-written networking.k8s.io/v1 ServiceCIDR shop/a : ctl wrote 1 object with "
     "networking.k8s.io/v1beta1 (removed in 1.37), the last at 2026-11-01T00:00:00Z; the client "
     "has "
     "written each of them with another version since\n"},
    {"the client went back to the old version", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("3") "},") WROTE("ctl", NEW "," AT("2") "}"))), 36,
     37, "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : ctl wrote\n"},
    {"another client uses the new version", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "},") WROTE("other", NEW "," AT("2") "}"))), 36,
     37, "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : ctl wrote\n"},
    {"one object of two is still written so", "servicecidrs",
     META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "},") WROTE(
                   "ctl", NEW "," AT("2") "}"))) "," META("b", FIELDS(WROTE("ctl",
                                                                            OLD "," AT("1") "}"))),
     36, 37, "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : ctl wrote 2 objects\n"},
    {"control characters of a manager", "servicecidrs",
     META("a", FIELDS(WROTE("c\\u001btl", OLD "," AT("1") "}"))), 36, 37,
     "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : c?tl wrote\n"},
    {"a list of what does not go", "pods", META("a", FIELDS(WROTE("ctl", OLD "," AT("1") "}"))), 36,
     37, ""},
    {"no metadata, no entries", "servicecidrs",
     "{},{\"metadata\":{\"managedFields\":{\"a\":1}}},7,"
     "{\"metadata\":{\"managedFields\":[7,{},{\"manager\":\"a\"}]}}",
     36, 37, ""},
    /* The annotation of kubectl */
    {"a manifest that was applied before", "servicecidrs",
     META("a", LAST("{\\\"apiVersion\\\":\\\"networking.k8s.io/v1beta1\\\",\\\"kind\\\":"
                    "\\\"ServiceCIDR\\\"}")),
     36, 37,
     "warning api-applied networking.k8s.io/v1 ServiceCIDR shop/a "
     "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: 1 object: the "
     "manifest "
     "that was applied last has networking.k8s.io/v1beta1 (removed in 1.37); that is a hint\n"},
    {"a write is more than the annotation", "servicecidrs",
     META("a", LAST("{\\\"apiVersion\\\":\\\"networking.k8s.io/v1beta1\\\",\\\"kind\\\":"
                    "\\\"ServiceCIDR\\\"}") FIELDS(WROTE("ctl", OLD "," AT("1") "}"))),
     36, 37, "unknown api-written networking.k8s.io/v1 ServiceCIDR shop/a : ctl wrote\n"},
    {"an annotation that is no JSON", "servicecidrs", META("a", LAST("{")), 36, 37, ""},
    /* Owners */
    {"an owner by the version that goes", "pods", META("a", OWNERS(CIDR)), 36, 37,
     "error owner-version v1 Pod shop/a metadata.ownerReferences: the owner of 1 object has the "
     "API "
     "version networking.k8s.io/v1beta1 (removed in 1.37) ServiceCIDR: the garbage collector does "
     "not find the owner any more, and does not delete the object with it -> name "
     "networking.k8s.io/v1 in the owner reference\n"},
    {"an owner by the version that stays", "pods",
     META("a", OWNERS(NEW ",\"kind\":\"ServiceCIDR\"")), 36, 37, ""},
    {"owners of objects that go are counted", "servicecidrs",
     META("a", OWNERS(CIDR)) "," META("b", OWNERS(CIDR)), 36, 37,
     "error owner-version networking.k8s.io/v1 ServiceCIDR shop/a metadata.ownerReferences: the "
     "owner of 2 objects\n"},
    /* Autoscalers */
    {"a target whose kind stays", "horizontalpodautoscalers", SCALER(CIDR), 36, 37,
     "warning scale-target autoscaling/v2 HorizontalPodAutoscaler shop/h spec.scaleTargetRef: the "
     "target of 1 object has the API version networking.k8s.io/v1beta1 (removed in 1.37) "
     "ServiceCIDR: autoscalers find the target by its group and kind, and go on\n"},
    {"a target whose group goes", "horizontalpodautoscalers",
     SCALER("\"apiVersion\":\"extensions/v1beta1\",\"kind\":\"Deployment\""), 15, 16,
     "error scale-target autoscaling/v2 HorizontalPodAutoscaler shop/h spec.scaleTargetRef: the "
     "target of 1 object has the API version extensions/v1beta1 (removed in 1.16) Deployment: "
     "autoscalers do not find the target any more -> name apps/v1 in scaleTargetRef\n"},
    {"a target of today", "horizontalpodautoscalers",
     SCALER("\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\""), 15, 16, ""},
    /* Rules */
    {"a rule for a resource that leaves the group", "clusterroles",
     ROLE("\"extensions\"", "\"ingresses/status\""), 21, 22,
     "warning rbac-rule rbac.authorization.k8s.io/v1 ClusterRole r rules: 1 object: a rule names "
     "ingresses of the group extensions, which does not serve the resource any more -> grant the "
     "resource of networking.k8s.io/v1 as well\n"},
    {"a rule for all of a group that goes", "clusterroles", ROLE("\"extensions\"", "\"*\""), 21, 22,
     "warning rbac-rule rbac.authorization.k8s.io/v1 ClusterRole r rules: 1 object: a rule "
     "names\n"},
    {"a rule for all groups", "clusterroles", ROLE("\"*\"", "\"ingresses\""), 21, 22, ""},
    {"only a version of the group goes", "clusterroles",
     ROLE("\"networking.k8s.io\"", "\"servicecidrs\""), 36, 37, ""},
    {"the resource goes, others of the group stay", "clusterroles",
     ROLE("\"coordination.k8s.io\"", "\"leasecandidates\""), 36, 39,
     "unknown rbac-rule rbac.authorization.k8s.io/v1 ClusterRole r rules: 1 object: a rule names "
     "leasecandidates of the group coordination.k8s.io, which has no version at the target that "
     "Evenkeel knows\n"},
    {"all of a group whose others stay", "clusterroles", ROLE("\"coordination.k8s.io\"", "\"*\""),
     36, 39, ""},
    /* APIServices */
    {"a service for what the target has itself", "apiservices",
     SERVICE("", "resource.k8s.io", "v1", ",\"service\":{\"name\":\"x\"}"), 33, 34,
     "warning apiservice apiregistration.k8s.io/v1 APIService s spec: the target serves "
     "resource.k8s.io/v1 itself, and requests go on to the service of 1 object\n"},
    {"a service for what was there before", "apiservices",
     SERVICE("", "apps", "v1", ",\"service\":{\"name\":\"x\"}"), 33, 34, ""},
    {"a version of its own that goes", "apiservices", SERVICE("", "extensions", "v1beta1", ""), 21,
     22,
     "warning apiservice apiregistration.k8s.io/v1 APIService s spec: the target does not serve "
     "extensions/v1beta1 any more, and the APIService stays: 1 object\n"},
    {"the API server removes its own", "apiservices",
     SERVICE("\"kube-aggregator.kubernetes.io/automanaged\":\"true\"", "extensions", "v1beta1", ""),
     21, 22, ""},
    {"a service goes on with the version", "apiservices",
     SERVICE("", "extensions", "v1beta1", ",\"service\":{\"name\":\"x\"}"), 21, 22, ""},
};

static const struct ek_plan_use_list *find_list(const struct ek_plan_use_list *lists, size_t n,
                                                const char *resource)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(lists[i].resource, resource))
            return &lists[i];
    return NULL;
}

/* Compares line by line: a line of want may end before the message does. */
static void check_lines(const char *name, const char *got, const char *want)
{
    while (*want) {
        size_t len = strcspn(want, "\n");
        ck_assert_msg(!strncmp(got, want, len), "%s: got %s, want %s", name, got, want);
        got += strcspn(got, "\n");
        got += *got == '\n';
        want += len + 1;
    }
    ck_assert_msg(!*got, "%s: also %s", name, got);
}

static void put_findings(const struct ek_plan_report *report, struct ek_buf *out)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct ek_plan_finding *f = &report->list[i];
        ek_buf_printf(out, "%s %s %s %s: %s -> %s\n", ek_plan_severity_name(f->severity), f->rule,
                      f->object, f->field, f->message, f->remedy);
    }
}

static struct ek_plan_target target_of(unsigned from, unsigned to)
{
    return (struct ek_plan_target){&data, EK_MINOR(1, from), EK_MINOR(1, to)};
}

START_TEST(findings)
{
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_MAX)};
    const struct ek_plan_target target = target_of(rows[_i].from, rows[_i].to);
    EK_AUTOFREE char *text = ek_xasprintf("[%s]", rows[_i].items);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    struct ek_plan_use_list *lists;
    size_t i, max, n = ek_plan_uses_lists(&target, report.arena, &lists);
    const struct ek_plan_use_list *list = find_list(lists, n, rows[_i].resource);
    EK_AUTO(ek_plan_uses) uses;
    EK_AUTO(ek_buf) out;
    yyjson_val *item;

    ck_assert_msg(doc != NULL, "%s: %s", rows[_i].name, text);
    ek_buf_init(&out, (size_t)1 << 20);
    ek_plan_uses_init(&uses, &target);
    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, item)
    {
        if (list)
            ek_plan_uses_item(&uses, list, item);
    }
    yyjson_doc_free(doc); /* nothing is borrowed */
    ek_plan_uses_report(&uses, &report);
    put_findings(&report, &out);
    check_lines(rows[_i].name, ek_buf_str(&out), rows[_i].want);
    ek_arena_free(report.arena);
}
END_TEST

/* "group/version/resource" of lists, with "+" where a version goes; others are left out. */
static const struct {
    unsigned from, to;
    const char *want;
} reads[] = {
    {35, 36, ""}, /* nothing goes, nothing is read */
    {36, 37,
     "certificates.k8s.io/v1beta1/clustertrustbundles " /* behind a gate */
     "networking.k8s.io/v1/ipaddresses networking.k8s.io/v1/servicecidrs "
     "storage.k8s.io/v1/volumeattributesclasses"},
    {33, 34,
     "admissionregistration.k8s.io/v1/validatingadmissionpolicies "
     "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"},
    {21, 22, "networking.k8s.io/v1/ingresses"}, /* the replacement is of another group */
};

START_TEST(lists_to_read)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    const struct ek_plan_target target = target_of(reads[_i].from, reads[_i].to);
    struct ek_plan_use_list *lists;
    size_t n = ek_plan_uses_lists(&target, arena, &lists);
    const char *want = reads[_i].want;

    ck_assert(*want ? find_list(lists, n, "pods") != NULL : n == 0);
    for (size_t i = 0; i < n; i++) {
        EK_AUTOFREE char *one =
            ek_xasprintf("%s/%s/%s", lists[i].group, lists[i].version, lists[i].resource);
        ck_assert_msg(_i == 3 || lists[i].goes == (strstr(want, one) != NULL), "1.%u: %s",
                      reads[_i].to, one);
    }
    for (char *at, *copy = ek_arena_strdup(arena, want), *one = strtok_r(copy, " ", &at); one;
         one = strtok_r(NULL, " ", &at))
        ck_assert_msg(find_list(lists, n, strrchr(one, '/') + 1) != NULL, "no list %s", one);
    ek_arena_free(arena);
}
END_TEST

/* Whoever may create objects decides about the number of managers. */
START_TEST(more_clients_than_room)
{
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_MAX)};
    const struct ek_plan_target target = target_of(36, 37);
    struct ek_plan_use_list *lists;
    size_t n = ek_plan_uses_lists(&target, report.arena, &lists);
    const struct ek_plan_use_list *list = find_list(lists, n, "servicecidrs");
    EK_AUTO(ek_plan_uses) uses;

    ek_plan_uses_init(&uses, &target);
    for (unsigned i = 0; i < EK_PLAN_USES_MAX + 5; i++) {
        EK_AUTOFREE char *text =
            ek_xasprintf("{\"metadata\":{\"managedFields\":[{\"manager\":\"m%u\"," OLD "}]}}", i);
        yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
        ek_plan_uses_item(&uses, list, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
    ek_plan_uses_report(&uses, &report);
    ck_assert_uint_eq(report.n, EK_PLAN_USES_MAX + 1);
    ck_assert_str_eq(report.list[EK_PLAN_USES_MAX].message,
                     "5 more uses of API versions that go are not listed");
    ck_assert_int_eq(report.list[EK_PLAN_USES_MAX].severity, EK_PLAN_UNKNOWN);
    ek_arena_free(report.arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("uses");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_loop_test(tcase, findings, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, lists_to_read, 0, EK_ARRAY_SIZE(reads));
    tcase_add_test(tcase, more_clients_than_room);
    return ek_test_run("uses", tcase);
}
