/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/refusals.h"

#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/mutation/policy.h"

/* ---- API servers ---- */

/* The minor version that expressions are new to; 0 where it is not known, or older than all that
 * are known here. */
static int minor_of(const struct ek_probe *probe)
{
    struct ek_minor compat = probe->min_compat.known ? probe->min_compat : probe->info_min_compat;
    struct ek_minor emulation = probe->emulation.known ? probe->emulation : probe->binary;

    /* API servers before 1.33 report no version; theirs is the one before (KEP-4330). */
    if (!compat.known)
        compat = ek_minor_offset(emulation, -1);
    if (!compat.known || compat.major != 1 || compat.minor < EK_CEL_COMPAT_MIN)
        return 0;
    return compat.minor < EK_CEL_COMPAT_MAX ? (int)compat.minor : EK_CEL_COMPAT_MAX;
}

void ek_refusal_servers_read(const struct ek_peer_table *table, struct ek_refusal_servers *ret)
{
    *ret = (struct ek_refusal_servers){.list = ek_xalloc((table->n + 1) * sizeof *ret->list)};
    for (size_t i = 0; i < table->n; i++) {
        const struct ek_peer *peer = &table->peers[i];
        int minor = peer->live && peer->probe ? minor_of(peer->probe) : 0;
        if (!minor)
            continue;
        ret->list[ret->n++] = (struct ek_refusal_server){ek_xstrdup(peer->name), minor};
        if (!ret->lowest || minor < ret->lowest)
            ret->lowest = minor;
    }
}

bool ek_refusal_servers_are_same(const struct ek_refusal_servers *a,
                                 const struct ek_refusal_servers *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; i < a->n && same; i++)
        same = a->list[i].minor == b->list[i].minor && !strcmp(a->list[i].name, b->list[i].name);
    return same;
}

void ek_refusal_servers_done(struct ek_refusal_servers *servers)
{
    for (size_t i = 0; i < servers->n; i++)
        ek_free(servers->list[i].name);
    ek_free(servers->list);
    *servers = (struct ek_refusal_servers){0};
}

/* ---- Policies ---- */

/* The first problem of obj as a new policy, owned; NULL for none. */
static char *problem_at(const struct ek_obj *obj, int minor)
{
    const struct ek_policy *policy = ek_policy_new(obj, minor);
    char *problem = policy->n_problems ? ek_xstrdup(policy->problems[0]) : NULL;

    ek_policy_unref(policy);
    return problem;
}

void ek_policy_refusal_check(const struct ek_obj *obj, const struct ek_refusal_servers *servers,
                             struct ek_policy_refusal *refusal)
{
    if (refusal->tried == servers->lowest)
        return;
    ek_policy_refusal_done(refusal);
    refusal->tried = servers->lowest;
    refusal->problem = servers->lowest ? problem_at(obj, servers->lowest) : NULL;
    if (!refusal->problem)
        return;
    for (refusal->needs = servers->lowest + 1; refusal->needs <= EK_CEL_COMPAT_MAX;
         refusal->needs++) {
        EK_AUTOFREE char *problem = problem_at(obj, refusal->needs);
        if (!problem)
            break;
    }
}

bool ek_policy_is_refused(const struct ek_policy_refusal *refusal,
                          const struct ek_refusal_server *server)
{
    return server->minor < refusal->needs;
}

void ek_policy_refusal_done(struct ek_policy_refusal *refusal)
{
    ek_free(refusal->problem);
    *refusal = (struct ek_policy_refusal){0};
}
