/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the cluster that name API versions or contain expressions: webhooks, admission
 * policies, device classes, resource claims and CustomResourceDefinitions. */
#include <stdio.h>
#include <string.h>

#include "controller/commands/plan-internal.h"
#include "controller/commands/wait.h"
#include "informers/client/client.h"

#define BODY_MAX  ((size_t)64 << 20)
#define PAGE      "100"
#define PAGES_MAX 10000

#define ADMISSION "admissionregistration.k8s.io"
#define DRA       "resource.k8s.io"

/* Lists; of a resource in several versions, the first version that is served. */
static const struct list {
    const char *group, *version, *resource, *kind;
} lists[] = {
    {ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"},
    {ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"},
    {ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
    {ADMISSION, "v1beta1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
    {ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"},
    {ADMISSION, "v1beta1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"},
    {ADMISSION, "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
    {ADMISSION, "v1beta1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
    {ADMISSION, "v1alpha1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
    {ADMISSION, "v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"},
    {ADMISSION, "v1beta1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"},
    {ADMISSION, "v1alpha1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"},
    {DRA, "v1", "deviceclasses", "DeviceClass"},
    {DRA, "v1beta2", "deviceclasses", "DeviceClass"},
    {DRA, "v1beta1", "deviceclasses", "DeviceClass"},
    {DRA, "v1", "resourceclaims", "ResourceClaim"},
    {DRA, "v1beta2", "resourceclaims", "ResourceClaim"},
    {DRA, "v1beta1", "resourceclaims", "ResourceClaim"},
    {DRA, "v1", "resourceclaimtemplates", "ResourceClaimTemplate"},
    {DRA, "v1beta2", "resourceclaimtemplates", "ResourceClaimTemplate"},
    {DRA, "v1beta1", "resourceclaimtemplates", "ResourceClaimTemplate"},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"},
    {"evenkeel.dev", "v1alpha1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
    {"evenkeel.dev", "v1alpha1", "mutatingadmissionpolicybindings",
     "MutatingAdmissionPolicyBinding"},
};

struct reading {
    const struct ek_plan_target *target;
    struct ek_plan_report *report;
    struct ek_wait wait;
    struct ek_plan_services services; /* of conversion webhooks */
};

static void say_unread(struct ek_plan_report *report, const char *what, const char *why)
{
    ek_plan_report_add(
        report, &(struct ek_plan_finding){
                    .severity = EK_PLAN_UNKNOWN,
                    .rule = "objects-unread",
                    .source = "cluster",
                    .message = ek_arena_printf(report->arena, "%s cannot be read: %s", what, why),
                    .remedy = "check the objects with -f, or use credentials that may list them",
                });
}

void ek_plan_say_no_objects(struct ek_plan_report *report)
{
    say_unread(report, "webhooks, admission policies and CustomResourceDefinitions",
               "a recording does not have them");
}

/* Items of a list have neither apiVersion nor kind. */
static void check_item(struct reading *r, const struct list *list, yyjson_val *item)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, item);
    char api_version[128];

    snprintf(api_version, sizeof api_version, "%s/%s", list->group, list->version);
    if (yyjson_mut_is_obj(root)) {
        yyjson_mut_obj_put(root, yyjson_mut_str(doc, "apiVersion"),
                           yyjson_mut_str(doc, api_version));
        yyjson_mut_obj_put(root, yyjson_mut_str(doc, "kind"), yyjson_mut_str(doc, list->kind));
    }
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *object = yyjson_mut_doc_imut_copy(doc, NULL);
    ek_plan_check_object(r->target,
                         &(struct ek_plan_object){.value = yyjson_doc_get_root(object),
                                                  .source = "cluster",
                                                  .is_served = true},
                         r->report);
    if (!strcmp(list->kind, "CustomResourceDefinition"))
        ek_plan_services_note(&r->services, yyjson_doc_get_root(object), r->report->arena);
    yyjson_doc_free(object);
    yyjson_mut_doc_free(doc);
}

/* Reads one page from *next, "" for the first, and sets it to the next; NULL after the last. */
static int read_page(struct reading *r, const struct list *list, char **next)
{
    EK_AUTO(ek_buf) path;
    yyjson_val *item;
    size_t i, n;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_buf_printf(&path, "/apis/%s/%s/%s?limit=" PAGE, list->group, list->version, list->resource);
    if (**next) {
        ek_buf_puts(&path, "&continue=");
        ek_uri_escape(&path, *next);
    }
    ek_free(*next);
    *next = NULL;
    int rc = path.failed ? ek_err_set(&r->wait.err, EK_E_LIMIT, "the continue token is too long")
                         : ek_wait_get(&r->wait, ek_buf_str(&path));
    if (rc)
        return rc;
    yyjson_val *root = yyjson_doc_get_root(r->wait.doc), *items = yyjson_obj_get(root, "items");
    const char *token = ek_json_str(root, "metadata", "continue", NULL);
    if (!yyjson_is_arr(items) && !yyjson_is_null(items))
        rc = ek_err_set(&r->wait.err, EK_E_PARSE, "the response is no list");
    yyjson_arr_foreach(items, i, n, item)
    {
        check_item(r, list, item);
    }
    if (token && *token)
        *next = ek_xstrdup(token);
    yyjson_doc_free(r->wait.doc);
    return rc;
}

static int read_list(struct reading *r, const struct list *list)
{
    char *next = ek_xstrdup("");
    int rc = 0;

    for (int pages = 0; next && !rc; pages++)
        rc = pages < PAGES_MAX
                 ? read_page(r, list, &next)
                 : ek_err_set(&r->wait.err, EK_E_LIMIT, "the list has too many pages");
    ek_free(next);
    return rc;
}

/* True when the next list is another version of the same resource. */
static bool has_other(size_t i)
{
    return i + 1 < EK_ARRAY_SIZE(lists) && !strcmp(lists[i].resource, lists[i + 1].resource);
}

void ek_plan_check_cluster(const struct ek_cluster_options *cluster,
                           const struct ek_plan_target *target, struct ek_plan_report *report)
{
    struct reading r = {target, report, {.max_body = BODY_MAX, .levels = 2}, {0}};
    int rc = ek_wait_open(&r.wait, cluster);

    if (rc)
        say_unread(report, "webhooks, admission policies and CustomResourceDefinitions",
                   r.wait.err.message);
    for (size_t i = 0; i < EK_ARRAY_SIZE(lists) && !rc; i++) {
        int failed = read_list(&r, &lists[i]);
        if (failed && failed != EK_E_NOENT)
            say_unread(report, lists[i].resource, r.wait.err.message);
        while (failed != EK_E_NOENT && has_other(i))
            i++;
    }
    const char *why = rc ? NULL : ek_plan_services_check(&r.services, &r.wait, report);
    if (why)
        say_unread(report, "services of conversion webhooks", why);
    ek_free(r.services.list);
    ek_wait_close(&r.wait);
}
