/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/registration.h"

#include "api/base/mem.h"
#include "controller/certificates/certificates.h"
#include "controller/webhook/webhook.h"

size_t ek_webhook_registration_expect(const struct ek_subject_serving *serving)
{
    return serving->certs ? ek_webhook_certs_expect(serving->certs) : 0;
}

char *ek_webhook_registration_bundle(const struct ek_subject_serving *serving)
{
    return ek_xstrdup(serving->certs ? ek_webhook_ca_bundle(serving->certs) : NULL);
}

struct ek_webhooks_options ek_webhook_registration_options(const struct ek_subject_serving *serving,
                                                           const char *bundle)
{
    return (struct ek_webhooks_options){.url = serving->url,
                                        .service_namespace = serving->namespace,
                                        .service_name = serving->service,
                                        .ca_bundle = bundle,
                                        .own_namespace = serving->namespace,
                                        .with_kube_system = serving->with_kube_system};
}

const char *ek_webhook_registration_waits(const struct ek_subject_serving *serving,
                                          const char *bundle, struct ek_err *err)
{
    if (!serving->webhook)
        ek_err_set(err, EK_E_NOENT, "this process serves no webhook");
    else if (serving->needs_bundle && !bundle)
        ek_err_set(err, EK_E_TIMEOUT, "the webhook has no certificate yet");
    else
        ek_webhook_check_ready(serving->webhook, err);
    return err->code ? err->message : NULL;
}

void ek_webhook_registration_report(const struct ek_subject_serving *serving, size_t publisher,
                                    const char *bundle, bool carries)
{
    if (serving->certs)
        ek_webhook_certs_published(serving->certs, publisher, bundle, carries);
}
