/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Webhooks that convert custom resources: an object whose stored version is not the requested one
 * cannot be read without the webhook, also when a client or a controller of the target asks for a
 * newer version. And the versions of reviews, which webhooks of both kinds name.
 */
#include <string.h>

#include "api/base/words.h"
#include "api/obj.h"
#include "reconcilers/plan/objects-internal.h"

static const struct ek_plan_place spec = {.name = "spec", .len = 4};
static const struct ek_plan_place conversion = {.up = &spec, .name = "conversion", .len = 10};
static const struct ek_plan_place webhook = {.up = &conversion, .name = "webhook", .len = 7};
static const struct ek_plan_place client = {.up = &webhook, .name = "clientConfig", .len = 12};

static void say(const struct ek_plan_check *check, enum ek_plan_severity severity, const char *rule,
                const struct ek_plan_place *place, const char *message, const char *remedy)
{
    ek_plan_say__(check, severity, rule, ek_plan_place_text__(place, check->scratch), message,
                  remedy);
}

/* ---- Versions of reviews ---- */

static bool names(yyjson_val *versions, const char *version)
{
    size_t i, n;
    yyjson_val *item;

    yyjson_arr_foreach(versions, i, n, item)
    {
        if (yyjson_equals_str(item, version))
            return true;
    }
    return false;
}

/* API servers of 1.36 send v1 and v1beta1
 * (apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go:
 * acceptedConversionReviewVersions, apiserver/pkg/admission/plugin/webhook/generic/webhook.go:
 * NewWebhook). */
static void check_versions(const struct ek_plan_check *check, yyjson_val *versions,
                           const struct ek_plan_place *place, const char *kind)
{
    if (!yyjson_arr_size(versions) || names(versions, "v1")) /* API servers require one */
        return;
    if (names(versions, "v1beta1"))
        say(check, EK_PLAN_WARNING, "review-version", place,
            ek_arena_printf(check->scratch,
                            "the webhook reads only %s v1beta1, which Kubernetes has declared "
                            "removed: a release may stop to send it",
                            kind),
            "let the webhook read v1, and name v1 first");
    else
        say(check, EK_PLAN_ERROR, "review-version", place,
            ek_arena_printf(check->scratch,
                            "the webhook reads no version of %s that API servers send (v1, "
                            "v1beta1)",
                            kind),
            "let the webhook read v1, and name v1");
}

static void check_admission(void *ctx, yyjson_val *hook, const struct ek_plan_place *place)
{
    const struct ek_plan_place list = {
        .up = place, .name = "admissionReviewVersions", .len = strlen("admissionReviewVersions")};

    const struct ek_plan_check *const *check = ctx;

    check_versions(*check, yyjson_obj_get(hook, list.name), &list, "AdmissionReview");
}

/* ---- Conversion ---- */

/* Controllers that write the caBundle of what has their annotation: cert-manager, OpenShift. */
static bool is_injected(yyjson_val *object)
{
    static const char *const names_of[] = {
        "cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret",
        "cert-manager.io/inject-apiserver-ca", "service.beta.openshift.io/inject-cabundle", NULL};
    yyjson_val *annotations = ek_json_get(object, "metadata", "annotations", NULL);

    for (size_t i = 0; names_of[i]; i++)
        if (yyjson_obj_get(annotations, names_of[i]))
            return true;
    return false;
}

/* The caBundle is base64; API servers take one of blanks for none. */
static bool has_authority(yyjson_val *config)
{
    const char *text = ek_json_str(config, "caBundle", NULL);

    return text && text[strspn(text, " \t\r\n")];
}

static void check_client(const struct ek_plan_check *check, yyjson_val *config)
{
    const struct ek_plan_place bundle = {.up = &client, .name = "caBundle", .len = 8};
    yyjson_val *service = yyjson_obj_get(config, "service"), *url = yyjson_obj_get(config, "url");
    yyjson_val *object = check->object->value;
    bool in_cluster = check->object->is_served;

    if ((service != NULL) == (url != NULL) ||
        (service && (!ek_is_given(ek_json_str(service, "name", NULL)) ||
                     !ek_is_given(ek_json_str(service, "namespace", NULL))))) {
        say(check, EK_PLAN_ERROR, "conversion", &client,
            "the conversion webhook has no service with name and namespace, and no url, or both: "
            "API servers refuse the definition",
            "name the service of the webhook, or remove the conversion");
        return;
    }
    if (!service || has_authority(config) || (!in_cluster && is_injected(object)))
        return;
    say(check, in_cluster ? EK_PLAN_ERROR : EK_PLAN_WARNING, "conversion", &bundle,
        "the conversion webhook is a service, and has no caBundle: no authority of the system "
        "signs names of services, and objects of another stored version cannot be read",
        in_cluster ? "set caBundle before a step that reads or stores another version"
                   : "set caBundle, or make sure that a controller sets it");
}

static void check_conversion(const struct ek_plan_check *check)
{
    const struct ek_plan_place list = {.up = &webhook,
                                       .name = "conversionReviewVersions",
                                       .len = strlen("conversionReviewVersions")};
    yyjson_val *value = ek_json_get(check->object->value, "spec", "conversion", NULL);
    yyjson_val *hook = yyjson_obj_get(value, "webhook");

    if (!yyjson_equals_str(yyjson_obj_get(value, "strategy"), "Webhook"))
        return;
    check_client(check, yyjson_obj_get(hook, "clientConfig"));
    check_versions(check, yyjson_obj_get(hook, list.name), &list, "ConversionReview");
}

void ek_plan_check_webhooks__(const struct ek_plan_check *check)
{
    if (!strcmp(check->api_version, "apiextensions.k8s.io/v1") &&
        !strcmp(check->kind, "CustomResourceDefinition"))
        check_conversion(check);
    if (!strcmp(check->api_version, "admissionregistration.k8s.io/v1") &&
        (!strcmp(check->kind, "ValidatingWebhookConfiguration") ||
         !strcmp(check->kind, "MutatingWebhookConfiguration")))
        ek_plan_follow__(check->object->value, "webhooks[]", check_admission, &check);
}
