/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/controllers.h"

#include <stdio.h>
#include <string.h>

#include "api/mem.h"
#include "controller/gates_controller.h"
#include "controller/mutation_controller.h"
#include "controller/skew_controller.h"
#include "controller/webhook_certs.h"

#define NAME_SIZE 96

/* --- skew --------------------------------------------------------------------------------- */

static struct ek_runner *skew_runner(void *controller)
{
    return ek_skew_controller_runner(controller);
}

static void skew_informers(void *controller, const struct ek_registry_visit *visit)
{
    struct ek_skew_watch *watch = ek_skew_controller_watch(controller);
    const struct ek_resource *r;
    struct ek_informer *informer;

    for (size_t i = 0; (informer = ek_skew_watch_informer(watch, i, &r)) != NULL; i++) {
        /* Pods are listed by two selectors. */
        bool proxy = r->label_selector && strstr(r->label_selector, "kube-proxy");
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%s%s", r->resource, proxy ? "-proxy" : "");
        ek_registry_visit(visit, name, informer);
    }
}

/* --- mutating admission ------------------------------------------------------------------- */

static struct ek_runner *mutation_runner(void *controller)
{
    return ek_mutation_controller_runner(controller);
}

/* Both groups have policies and bindings of the same names; the label group tells them apart.
 * Objects of any kind may be params: of one that is watched otherwise, too. */
static void mutation_informers(void *controller, const struct ek_registry_visit *visit)
{
    const struct ek_mutation_watch *watch = ek_mutation_controller_watch(controller);
    const struct ek_mutation_params *params = ek_mutation_watch_params(watch);
    struct ek_informer *informer;
    bool end = false;

    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        ek_registry_visit(visit, ek_mutation_watch_resource(watch, r)->resource,
                          ek_mutation_watch_informer(watch, r));
    for (size_t i = 0; !end; i++) {
        char name[NAME_SIZE];
        informer = ek_mutation_params_informer(params, i, &end);
        if (!informer)
            continue;
        snprintf(name, sizeof name, "params-%s", ek_informer_resource(informer)->resource);
        ek_registry_visit(visit, name, informer);
    }
}

/* --- field gates -------------------------------------------------------------------------- */

static struct ek_runner *gates_runner(void *controller)
{
    return ek_gates_controller_runner(controller);
}

static void gates_informers(void *controller, const struct ek_registry_visit *visit)
{
    const struct ek_gates_watch *watch = ek_gates_controller_watch(controller);
    struct ek_informer *informer;
    const char *crd;

    for (int r = 0; r < EK_GATES_RESOURCES; r++)
        ek_registry_visit(visit, ek_gates_watch_resource(watch, r)->resource,
                          ek_gates_watch_informer(watch, r));
    for (size_t i = 0; (informer = ek_gates_watch_followed(watch, i, &crd)) != NULL; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("customresourcedefinitions-%s", crd);
        ek_registry_visit(visit, name, informer);
    }
}

/* --- the webhook's certificates ----------------------------------------------------------- */

static void certificate_informers(void *certs, const struct ek_registry_visit *visit)
{
    ek_registry_visit(visit, "secrets", ek_webhook_certs_informer(certs));
}

const struct ek_controller_row ek_controller_rows[EK_CONTROLLERS] = {
    [EK_CONTROLLER_SKEW] = {"controlplane", "ControlPlane", 1, skew_runner, skew_informers},
    [EK_CONTROLLER_MUTATION] = {"mutatingadmissionpolicy", "MutatingAdmissionPolicy", 2,
                                mutation_runner, mutation_informers},
    [EK_CONTROLLER_GATES] = {"customfeaturegates", "CustomFeatureGates", 2, gates_runner,
                             gates_informers},
    [EK_CONTROLLER_CERTIFICATES] = {"webhookcertificates", "Secret", 0, NULL,
                                    certificate_informers},
};
