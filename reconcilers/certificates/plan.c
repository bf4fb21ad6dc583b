/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/certificates/plan.h"

#include "api/base/mem.h"
#include "api/base/time.h"

/* When two thirds of its life are over. */
static int64_t renewal(const struct ek_cert_fact *cert)
{
    return cert->not_before_ms + (cert->not_after_ms - cert->not_before_ms) / 3 * 2;
}

static bool is_valid(const struct ek_cert_fact *cert, int64_t now_ms)
{
    return cert->present && cert->usable && now_ms >= cert->not_before_ms &&
           now_ms < cert->not_after_ms;
}

static struct ek_cert_plan plan(enum ek_cert_intent intent, const char *why, int64_t now_ms)
{
    return (struct ek_cert_plan){intent, why, now_ms + EK_CERT_LOOK_MS};
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A leaf is due: when it cannot be served, has lived two thirds, or when its authority is not the
 * present one although nothing is being handed over. */
static const char *leaf_is_due(const struct ek_cert_facts *f, int64_t now_ms)
{
    if (!f->leaf.present)
        return "there is no serving certificate";
    if (!f->leaf.usable)
        return "the serving certificate does not fit its key, its names or its authority";
    if (!is_valid(&f->leaf, now_ms))
        return "the serving certificate is not valid now";
    if (!f->leaf_is_of_ca)
        return "the present authority did not issue the serving certificate";
    if (now_ms >= renewal(&f->leaf))
        return "two thirds of the lifetime of the serving certificate have passed";
    return NULL;
}

static const char *ca_is_due(const struct ek_cert_facts *f, int64_t now_ms)
{
    if (!is_valid(&f->ca, now_ms))
        return "the authority cannot issue certificates any more";
    if (now_ms >= renewal(&f->ca))
        return "two thirds of the lifetime of the authority have passed";
    return NULL;
}

/* The next authority waits until all API servers have trusted it for a while. */
static struct ek_cert_plan plan_trusting(const struct ek_cert_facts *f, int64_t now_ms,
                                         int64_t published_ms)
{
    if (published_ms != EK_TIME_UNSET && now_ms >= published_ms + EK_CERT_OVERLAP_MS)
        return plan(EK_CERT_SWITCH_CA, "all registrations trust the next authority", now_ms);
    const char *due = leaf_is_due(f, now_ms);
    if (due && is_valid(&f->ca, now_ms))
        return plan(EK_CERT_MAKE_LEAF, due, now_ms);
    struct ek_cert_plan wait = plan(EK_CERT_NOTHING, "", now_ms);
    if (published_ms != EK_TIME_UNSET)
        wait.look_at_ms = earlier(wait.look_at_ms, published_ms + EK_CERT_OVERLAP_MS);
    return wait;
}

static struct ek_cert_plan plan_steady(const struct ek_cert_facts *f, int64_t now_ms)
{
    const char *due = leaf_is_due(f, now_ms);

    /* The leaf first: it is what is being served. */
    if (due && is_valid(&f->ca, now_ms))
        return plan(EK_CERT_MAKE_LEAF, due, now_ms);
    if (f->old_ca.present &&
        now_ms >= f->leaf.not_before_ms + EK_CERT_BACKDATE_MS + EK_CERT_LEAVING_MS)
        return plan(EK_CERT_DROP_CA,
                    "no replica serves a certificate of the old authority any more", now_ms);
    due = ca_is_due(f, now_ms);
    if (due && !f->old_ca.present)
        return plan(EK_CERT_ADD_CA, due, now_ms);
    struct ek_cert_plan wait = plan(EK_CERT_NOTHING, "", now_ms);
    wait.look_at_ms = earlier(wait.look_at_ms, renewal(&f->leaf));
    return wait;
}

struct ek_cert_plan ek_cert_plan_make(const struct ek_cert_facts *facts, int64_t now_ms,
                                      int64_t published_ms)
{
    bool can_serve = is_valid(&facts->leaf, now_ms), can_issue = is_valid(&facts->ca, now_ms);

    /* Too late for patience: those who know the next authority already are better than nobody. */
    if (!can_serve && !can_issue && is_valid(&facts->next_ca, now_ms))
        return plan(EK_CERT_SWITCH_CA, "only the next authority can be used", now_ms);
    if (!can_serve && !can_issue)
        return plan(EK_CERT_MAKE_ALL,
                    facts->ca.present
                        ? "neither the certificate nor the authorities can be used any more"
                        : "there is no certificate yet",
                    now_ms);
    if (is_valid(&facts->next_ca, now_ms))
        return plan_trusting(facts, now_ms, published_ms);
    return plan_steady(facts, now_ms);
}

struct ek_cert_plan ek_cert_plan_restore(const struct ek_cert_facts *facts, int64_t now_ms,
                                         int64_t published_ms)
{
    struct ek_cert_plan what = ek_cert_plan_make(facts, now_ms, published_ms);

    if (what.intent != EK_CERT_NOTHING)
        return what;
    if (is_valid(&facts->next_ca, now_ms) || facts->old_ca.present)
        return plan(EK_CERT_RESTORE, "the Secret was deleted or damaged", now_ms);
    return plan(EK_CERT_ADD_CA, "the Secret was deleted or damaged: keys are replaced in order",
                now_ms);
}

struct ek_cert_plan ek_cert_plan_choose(const struct ek_cert_facts *facts,
                                        const struct ek_cert_facts *kept, int64_t now_ms,
                                        int64_t published_ms, bool *ret_kept)
{
    struct ek_cert_plan plan = ek_cert_plan_make(facts, now_ms, published_ms);

    *ret_kept = false;
    if (plan.intent != EK_CERT_MAKE_ALL || !kept)
        return plan;
    struct ek_cert_plan restored = ek_cert_plan_restore(kept, now_ms, published_ms);
    *ret_kept = restored.intent != EK_CERT_MAKE_ALL;
    return *ret_kept ? restored : plan;
}

void ek_cert_plan_write(const char *namespace, const char *name, const struct ek_obj *current,
                        yyjson_mut_val *content, struct ek_intents *intents)
{
    const struct ek_resource secrets = {.group = "",
                                        .version = "v1",
                                        .resource = "secrets",
                                        .kind = "Secret",
                                        .namespace = namespace};
    struct ek_apply_target target = {.resource = &secrets, .name = name};

    if (current) {
        target.uid = ek_obj_uid(current);
        target.resource_version = ek_obj_resource_version(current);
        ek_intents_apply(intents, &target, content);
    } else {
        ek_intents_create(intents, &target, content);
    }
    ek_intents_again(intents, EK_CERT_RETRY_MS);
}

void ek_cert_plan_answered(struct ek_err *err)
{
    if (ek_apply_classify(err) == EK_APPLY_CONFLICT)
        *err = (struct ek_err){0};
}

const char *ek_cert_intent_name(enum ek_cert_intent intent)
{
    static const char *const names[] = {
        [EK_CERT_NOTHING] = "nothing",     [EK_CERT_MAKE_ALL] = "make all",
        [EK_CERT_MAKE_LEAF] = "make leaf", [EK_CERT_ADD_CA] = "add CA",
        [EK_CERT_SWITCH_CA] = "switch CA", [EK_CERT_DROP_CA] = "drop CA",
        [EK_CERT_RESTORE] = "restore",
    };

    return intent < EK_ARRAY_SIZE(names) ? names[intent] : "?";
}
