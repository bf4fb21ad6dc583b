/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/registrar.h"

#include <string.h>

#include "api/base/mem.h"

static void forget_exempt(struct ek_gates_registrar *r)
{
    for (size_t i = 0; i < r->n_exempt; i++)
        ek_free(r->exempt[i]);
    r->n_exempt = 0;
}

static void keep_exempt(struct ek_gates_registrar *r, const struct ek_webhooks_options *options)
{
    const char *names[EK_WEBHOOKS_EXEMPT_MAX];

    forget_exempt(r);
    r->n_exempt = ek_webhooks_exempt(options, names);
    for (size_t i = 0; i < r->n_exempt; i++)
        r->exempt[i] = ek_xstrdup(names[i]);
}

void ek_gates_registrar_make(struct ek_gates_registrar *registrar,
                             const struct ek_gated_kinds *kinds,
                             yyjson_val *const live[EK_GATES_CONFIGURATIONS],
                             const struct ek_webhooks_options *options, bool serving)
{
    struct ek_gates_registrar *r = registrar;
    size_t n;
    struct ek_gates_registered *list = ek_gated_kinds_registered(kinds, &n);

    yyjson_mut_doc_free(r->doc);
    r->doc = ek_json_doc_new();
    ek_gates_registration_write(list, serving ? n : 0, options, r->doc,
                                &r->contents[EK_GATES_MUTATING], &r->contents[EK_GATES_VALIDATING],
                                &r->hash);
    ek_free(list);
    keep_exempt(r, options);
    r->current = r->carries = r->empty = true;
    for (int k = 0; k < EK_GATES_CONFIGURATIONS; k++) {
        struct ek_webhooks_standing s =
            ek_webhooks_compare(r->contents[k], live[k], options->ca_bundle, false);
        r->standings[k] = s;
        r->current = r->current && s.current;
        r->carries = r->carries && s.carries;
        r->empty = r->empty && s.empty;
    }
    if (r->current)
        ek_gates_registrar_fail(r, NULL);
}

bool ek_gates_registrar_plan(struct ek_gates_registrar *registrar,
                             const struct ek_resource *const resources[EK_GATES_CONFIGURATIONS],
                             const char *not_ready, struct ek_intents *intents)
{
    static const char *const names[] = {[EK_GATES_MUTATING] = EK_GATES_MUTATING_NAME,
                                        [EK_GATES_VALIDATING] = EK_GATES_VALIDATING_NAME};
    struct ek_gates_registrar *r = registrar;

    if (!r->current && !r->empty) {
        ek_gates_registrar_fail(r, not_ready);
        if (not_ready) {
            ek_intents_again(intents, EK_WEBHOOKS_NOT_READY_MS);
            return false;
        }
    }
    for (int k = 0; k < EK_GATES_CONFIGURATIONS; k++) {
        if (r->standings[k].current)
            continue;
        ek_webhooks_apply(intents, resources[k], names[k], r->contents[k])->tag =
            EK_GATES_TAG_REGISTRATION;
    }
    return true;
}

void ek_gates_registrar_fail(struct ek_gates_registrar *registrar, const char *why)
{
    ek_free(registrar->failure);
    registrar->failure = ek_xstrdup(why);
}

const char *ek_gates_registrar_expects(const struct ek_gates_registrar *registrar)
{
    return registrar->current ? registrar->hash : NULL;
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
    return ek_gates_registration_digest(r->contents[EK_GATES_MUTATING],
                                        r->contents[EK_GATES_VALIDATING], crd);
}

void ek_gates_registrar_prove(struct ek_gates_registrar *registrar,
                              const struct ek_gated_kinds *kinds, enum ek_gates_canary canary)
{
    struct ek_gates_registrar *r = registrar;

    if (!r->current || canary != EK_CANARY_ANSWERED)
        return;
    forget(r);
    r->proofs = ek_xalloc((kinds->n + 1) * sizeof *r->proofs);
    for (size_t i = 0; i < kinds->n; i++) {
        const char *crd = ek_obj_name(kinds->kinds[i].obj);
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

    if (kind->resolved && kind->resolution.crd.namespaced) {
        facts->exempt = (const char *const *)r->exempt;
        facts->n_exempt = r->n_exempt;
    }
    if (kind->enforced && !digest && ek_gates_need_registration(&registered)) {
        facts->registration_message = "the webhook configurations have no room for the kind: too "
                                      "many kinds or fields are gated";
        return;
    }
    bool proven = digest && is_proven(r, crd, digest);
    facts->registered = r->current || proven || !r->failure;
    facts->registration_message = r->failure;
    facts->canary = r->current ? canary : EK_CANARY_PENDING;
    facts->canary_message = r->current ? canary_message : "the webhook is being registered";
    if (facts->canary == EK_CANARY_PENDING && proven) {
        facts->canary = EK_CANARY_ANSWERED;
        facts->canary_message = NULL;
    }
}

void ek_gates_registrar_done(struct ek_gates_registrar *registrar)
{
    forget(registrar);
    forget_exempt(registrar);
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

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

const char *const *ek_gates_orphans(const struct ek_gated_kinds *kinds, yyjson_val *live,
                                    struct ek_arena *arena, size_t *ret_n)
{
    yyjson_val *hook, *hooks = yyjson_obj_get(live, "webhooks");
    const char **names = ek_arena_alloc(arena, (yyjson_arr_size(hooks) + 1) * sizeof(const char *));
    size_t i, n, found = 0;

    yyjson_arr_foreach(hooks, i, n, hook)
    {
        const char *crd = kind_of(hook);
        if (crd && !is_listed(names, found, crd) && !ek_gated_kinds_find(kinds, crd))
            names[found++] = ek_arena_strdup(arena, crd);
    }
    *ret_n = found;
    return names;
}

void ek_gates_plan_orphan(const struct ek_obj *crd, struct ek_intents *intents)
{
    ek_intents_event(
        intents, &(struct ek_event){
                     .regarding = {.api_version = "apiextensions.k8s.io/v1",
                                   .kind = "CustomResourceDefinition",
                                   .name = ek_obj_name(crd),
                                   .uid = ek_obj_uid(crd),
                                   .resource_version = ek_obj_resource_version(crd)},
                     .warning = true,
                     .reason = "GatesRemoved",
                     .action = "Withdraw",
                     .note = "The CustomFeatureGates of this kind was deleted: no field is gated "
                             "any more, and frozen fields can be written"});
}
