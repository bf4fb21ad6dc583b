/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/gates_registrar.h"

#include <string.h>

#include "api/mem.h"
#include "api/obj.h"

static yyjson_val *live(const struct ek_gates_watch *watch, enum ek_gates_resource resource)
{
    const struct ek_obj *obj = ek_gates_watch_only(watch, resource);
    return obj ? ek_obj_root(obj) : NULL;
}

/* Whether every webhook of the cluster's configuration has the authorities of content's, whatever
 * else they say: those that are to come will have them, too. */
static bool carries_bundle(yyjson_mut_val *content, yyjson_val *configuration)
{
    yyjson_mut_val *wanted = yyjson_mut_arr_get_first(yyjson_mut_obj_get(content, "webhooks"));
    yyjson_mut_val *client = yyjson_mut_obj_get(wanted, "clientConfig");
    const char *bundle = yyjson_mut_get_str(yyjson_mut_obj_get(client, "caBundle"));
    yyjson_val *hook;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(configuration, "webhooks"), i, n, hook)
    {
        const char *had = ek_json_str(hook, "clientConfig", "caBundle", NULL);
        if (!bundle || !had || strcmp(had, bundle) != 0)
            return false;
    }
    return true;
}

void ek_gates_registrar_make(struct ek_gates_registrar *registrar,
                             const struct ek_gates_state *state, const struct ek_gates_watch *watch,
                             const struct ek_gates_registration_options *options, bool serving)
{
    struct ek_gates_registrar *r = registrar;
    size_t n;
    struct ek_gates_registered *list = ek_gates_state_registered(state, &n);

    yyjson_mut_doc_free(r->doc);
    r->doc = ek_json_doc_new();
    ek_gates_registration_write(list, serving ? n : 0, options, r->doc, &r->mutating,
                                &r->validating, &r->hash);
    ek_free(list);
    r->mutating_is_current =
        ek_gates_registration_is_current(r->mutating, live(watch, EK_GATES_MUTATING));
    r->validating_is_current =
        ek_gates_registration_is_current(r->validating, live(watch, EK_GATES_VALIDATING));
    r->bundle_is_everywhere = carries_bundle(r->mutating, live(watch, EK_GATES_MUTATING)) &&
                              carries_bundle(r->validating, live(watch, EK_GATES_VALIDATING));
    r->mutating_is_tried = r->validating_is_tried = false;
    r->empty = yyjson_mut_arr_size(yyjson_mut_obj_get(r->mutating, "webhooks")) == 0 &&
               yyjson_mut_arr_size(yyjson_mut_obj_get(r->validating, "webhooks")) == 0;
    if (r->mutating_is_current && r->validating_is_current)
        ek_gates_registrar_fail(r, NULL);
}

void ek_gates_registrar_fail(struct ek_gates_registrar *registrar, const char *why)
{
    ek_free(registrar->failure);
    registrar->failure = ek_xstrdup(why);
}

/* ---- Proofs ---- */

static void forget(struct ek_gates_registrar *r)
{
    for (size_t i = 0; i < r->n_proofs; i++)
        ek_free(r->proofs[i].crd);
    ek_free(r->proofs);
    r->proofs = NULL;
    r->n_proofs = 0;
}

static uint64_t digest_of(const struct ek_gates_registrar *r, const char *crd)
{
    return ek_gates_registration_digest(r->mutating, r->validating, crd);
}

void ek_gates_registrar_prove(struct ek_gates_registrar *registrar,
                              const struct ek_gates_state *state)
{
    struct ek_gates_registrar *r = registrar;

    forget(r);
    r->proofs = ek_xalloc((state->n + 1) * sizeof *r->proofs);
    for (size_t i = 0; i < state->n; i++) {
        const char *crd = ek_obj_name(state->kinds[i].obj);
        uint64_t digest = digest_of(r, crd);
        if (digest)
            r->proofs[r->n_proofs++] =
                (struct ek_gates_proof){.crd = ek_xstrdup(crd), .digest = digest};
    }
}

static bool is_proven(const struct ek_gates_registrar *r, const char *crd, uint64_t digest)
{
    for (size_t i = 0; i < r->n_proofs; i++)
        if (r->proofs[i].digest == digest && !strcmp(r->proofs[i].crd, crd))
            return true;
    return false;
}

void ek_gates_registrar_facts(const struct ek_gates_registrar *registrar,
                              const struct ek_gated_kind *kind, enum ek_gates_canary canary,
                              const char *canary_message, struct ek_gates_facts *facts)
{
    const struct ek_gates_registrar *r = registrar;
    const char *crd = ek_obj_name(kind->obj);
    const struct ek_gates_registered registered = {.gates = kind->enforced,
                                                   .crd = &kind->resolution.crd};
    uint64_t digest = digest_of(r, crd);

    if (kind->enforced && !digest && ek_gates_need_registration(&registered)) {
        facts->registration_message = "there is no room for it in the webhook configurations: too "
                                      "many kinds are gated, or too many fields";
        return;
    }
    bool current = r->mutating_is_current && r->validating_is_current;
    bool proven = digest && is_proven(r, crd, digest);
    facts->registered = current || proven || !r->failure;
    facts->registration_message = r->failure;
    facts->canary = current ? canary : EK_CANARY_PENDING;
    facts->canary_message = current ? canary_message : "the API servers are being told";
    if (facts->canary == EK_CANARY_PENDING && proven) {
        facts->canary = EK_CANARY_ANSWERED;
        facts->canary_message = NULL;
    }
}

void ek_gates_registrar_done(struct ek_gates_registrar *registrar)
{
    forget(registrar);
    yyjson_mut_doc_free(registrar->doc);
    ek_free(registrar->failure);
    *registrar = (struct ek_gates_registrar){0};
}

/* ---- Orphans ---- */

/* The kind's name in the path of a webhook's URL or service; NULL for other webhooks. */
static const char *kind_of(yyjson_val *hook)
{
    const char *url = ek_json_str(hook, "clientConfig", "url", NULL);
    const char *path = ek_json_str(hook, "clientConfig", "service", "path", NULL);
    const char *at = strstr(url ? url : path ? path : "", EK_GATES_PATH "/");

    return at ? at + strlen(EK_GATES_PATH "/") : NULL;
}

void ek_gates_registrar_each_orphan(const struct ek_gates_state *state,
                                    const struct ek_gates_watch *watch,
                                    void (*fn)(void *arg, const char *crd), void *arg)
{
    yyjson_val *hook, *hooks = ek_json_get(live(watch, EK_GATES_MUTATING), "webhooks", NULL);
    const char *last = "";
    size_t i, n;

    yyjson_arr_foreach(hooks, i, n, hook)
    {
        const char *crd = kind_of(hook);
        if (!crd || !strcmp(crd, last) || ek_gates_state_find(state, crd))
            continue;
        fn(arg, crd);
        last = crd;
    }
}
