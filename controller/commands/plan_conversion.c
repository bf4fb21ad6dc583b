/* SPDX-License-Identifier: Apache-2.0 */
/* Services that convert custom resources: whether the cluster has them. */
#include <string.h>

#include "controller/commands/plan-internal.h"

#define PORT_DEFAULT 443 /* apiextensions.k8s.io/v1 ServiceReference */

/* A definition with one version needs no conversion. */
static bool converts(yyjson_val *definition)
{
    return yyjson_equals_str(ek_json_get(definition, "spec", "conversion", "strategy", NULL),
                             "Webhook") &&
           yyjson_arr_size(ek_json_get(definition, "spec", "versions", NULL)) > 1;
}

void ek_plan_services_note(struct ek_plan_services *services, yyjson_val *definition,
                           struct ek_arena *arena)
{
    yyjson_val *service =
        ek_json_get(definition, "spec", "conversion", "webhook", "clientConfig", "service", NULL);
    const char *namespace = ek_json_str(service, "namespace", NULL);
    const char *name = ek_json_str(service, "name", NULL);
    const char *crd = ek_json_str(definition, "metadata", "name", NULL);
    yyjson_val *port = yyjson_obj_get(service, "port");

    if (!converts(definition) || !namespace || !name || !*namespace || !*name)
        return;
    services->list = ek_xrealloc(services->list, services->n + 1, sizeof *services->list);
    services->list[services->n++] = (struct ek_plan_service){
        .namespace = ek_arena_strdup(arena, namespace),
        .name = ek_arena_strdup(arena, name),
        .definition = ek_arena_strdup(arena, crd ? crd : ""),
        .port = yyjson_is_int(port) ? yyjson_get_sint(port) : PORT_DEFAULT,
    };
}

static bool has_port(yyjson_val *service, int64_t port)
{
    size_t i, n;
    yyjson_val *item;

    yyjson_arr_foreach(ek_json_get(service, "spec", "ports", NULL), i, n, item)
    {
        if (yyjson_get_sint(yyjson_obj_get(item, "port")) == port)
            return true;
    }
    return false;
}

static void say(const struct ek_plan_service *s, struct ek_plan_report *report, const char *what)
{
    ek_plan_report_add(
        report,
        &(struct ek_plan_finding){
            .severity = EK_PLAN_ERROR,
            .rule = "conversion",
            .source = "cluster",
            .object = ek_arena_printf(report->arena,
                                      "apiextensions.k8s.io/v1 CustomResourceDefinition %s",
                                      s->definition),
            .field = "spec.conversion.webhook.clientConfig.service",
            .message = ek_arena_printf(report->arena,
                                       "the Service %s/%s of the conversion webhook %s: objects of "
                                       "another stored version cannot be read",
                                       s->namespace, s->name, what),
            .remedy = "install the webhook again, or correct the reference, before a step that "
                      "reads or stores another version",
        });
}

/* Looks at one service; true when the answer is known. */
static bool look(struct ek_wait *wait, const struct ek_plan_service *s,
                 struct ek_plan_report *report)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_buf_puts(&path, "/api/v1/namespaces/");
    ek_uri_escape(&path, s->namespace);
    ek_buf_puts(&path, "/services/");
    ek_uri_escape(&path, s->name);
    int rc = path.failed ? ek_err_set(&wait->err, EK_E_LIMIT, "the name is too long")
                         : ek_wait_get(wait, ek_buf_str(&path));
    if (rc == EK_E_NOENT)
        say(s, report, "does not exist");
    else if (!rc && !has_port(yyjson_doc_get_root(wait->doc), s->port))
        say(s, report, ek_arena_printf(report->arena, "has no port %lld", (long long)s->port));
    if (!rc)
        yyjson_doc_free(wait->doc);
    return !rc || rc == EK_E_NOENT;
}

const char *ek_plan_services_check(const struct ek_plan_services *services, struct ek_wait *wait,
                                   struct ek_plan_report *report)
{
    for (size_t i = 0; i < services->n; i++)
        if (!look(wait, &services->list[i], report))
            return ek_arena_printf(report->arena, "%s", wait->err.message);
    return NULL;
}
