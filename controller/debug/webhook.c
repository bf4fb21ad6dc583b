/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "controller/certificates/make.h"
#include "controller/debug/debug-internal.h"

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"

/* --- certificates ------------------------------------------------------------------------- */

static void put_authority(const struct ek_debug_doc *d, yyjson_mut_val *list, const char *pem)
{
    struct ek_cert_fact fact = ek_cert_read(pem, NULL);
    struct ek_debug_doc item = ek_debug_item(d, list);

    ek_debug_put_bool(&item, "readable", fact.present);
    if (fact.present) {
        ek_debug_put_wall(&item, "notBefore", fact.not_before_ms);
        ek_debug_put_wall(&item, "notAfter", fact.not_after_ms);
    }
}

/* Each certificate of a bundle by itself: while an authority is replaced there are two. */
static void put_authorities(const struct ek_debug_doc *d, const char *bundle)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d->doc, d->at, "authorities");
    size_t n = 0;

    for (const char *p = strstr(bundle, PEM_BEGIN), *next; p; p = next) {
        next = strstr(p + 1, PEM_BEGIN);
        if (n++ >= EK_DEBUG_LIST_MAX)
            return;
        EK_AUTOFREE char *one = ek_xstrndup(p, next ? (size_t)(next - p) : strlen(p));
        put_authority(d, list, one);
    }
}

/* --- the snapshot ------------------------------------------------------------------------- */

static void put_sets(const struct ek_debug_doc *d, const struct ek_webhook_snapshot *snapshot)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d->doc, d->at, "sets");
    const struct ek_policy_set *set;
    const char *name;

    for (size_t i = 0;
         i < EK_DEBUG_LIST_MAX && (set = ek_webhook_snapshot_policies_at(snapshot, i, &name));
         i++) {
        struct ek_debug_doc item = ek_debug_item(d, list);
        size_t n_applied = 0;
        for (size_t k = 0; k < set->n; k++)
            n_applied += set->bound[k].apply;
        ek_debug_put(&item, "name", name);
        ek_debug_put_count(&item, "policies", set->n);
        ek_debug_put_count(&item, "applied", n_applied);
    }
}

static void put_params(const struct ek_debug_doc *d, const struct ek_webhook_snapshot *snapshot)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d->doc, d->at, "params");
    const struct ek_webhook_params *params;

    for (size_t i = 0;
         i < EK_DEBUG_LIST_MAX && (params = ek_webhook_snapshot_params_at(snapshot, i)); i++) {
        struct ek_debug_doc item = ek_debug_item(d, list);
        ek_debug_put(&item, "apiVersion", params->api_version);
        ek_debug_put(&item, "kind", params->kind);
        ek_debug_put_bool(&item, "listed", params->objects != NULL);
        if (params->objects)
            ek_debug_put_count(&item, "objects", ek_object_list_size(params->objects));
    }
}

static void put_snapshot(const struct ek_debug_doc *d, const struct ek_webhook_snapshot *snapshot)
{
    struct ek_debug_doc at = ek_debug_object(d, "snapshot");
    const struct ek_object_list *namespaces = ek_webhook_snapshot_namespaces(snapshot);

    put_sets(&at, snapshot);
    put_params(&at, snapshot);
    if (namespaces)
        ek_debug_put_count(&at, "namespaces", ek_object_list_size(namespaces));
    ek_debug_put_count(&at, "schemas", ek_webhook_snapshot_n_schemas(snapshot));
}

void ek_debug_webhook__(const struct ek_debug_doc *d, const struct ek_webhook_status *status,
                        const char *bundle)
{
    ek_debug_put_some(d, "address", status->address);
    ek_debug_put_count(d, "threads", status->threads);
    ek_debug_put_bool(d, "ready", status->not_ready.code == 0);
    ek_debug_put_error(d, "error", &status->not_ready);
    if (status->cert_not_after_ms != EK_TIME_UNSET) {
        struct ek_debug_doc certificate = ek_debug_object(d, "certificate");
        ek_debug_put_wall(&certificate, "notAfter", status->cert_not_after_ms);
    }
    if (bundle)
        put_authorities(d, bundle);
    if (status->snapshot)
        put_snapshot(d, status->snapshot);
}
