/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "reconcilers/peers/roster-internal.h"
#include "reconcilers/peers/server_id.h"

#define LABEL_IDENTITY  "apiserver.kubernetes.io/identity"
#define LABEL_OLD       "k8s.io/component" /* until 1.26 */
#define LABEL_HOSTNAME  "kubernetes.io/hostname"
#define PEER_ADDRESS    "kubernetes.io/peer-advertise-address"
#define COMPONENT       "kube-apiserver"
#define LEASE_NAMESPACE "kube-system"

static bool has_label(const struct ek_obj *obj, const char *name)
{
    const char *value = ek_obj_label(obj, name);
    return value && !strcmp(value, COMPONENT);
}

/* The API server checks neither namespace nor name (apiserver/pkg/util/peerproxy/peer_discovery.go:
 * isValidPeerIdentityLease); both are checked here, so that only those who may write leases in
 * kube-system can claim to be a server. */
static bool is_identity_lease(const struct ek_obj *obj)
{
    if (strcmp(ek_obj_namespace(obj), LEASE_NAMESPACE) != 0)
        return false;
    return has_label(obj, LABEL_IDENTITY) || has_label(obj, LABEL_OLD);
}

static void read_hostname(struct roster *r, const struct ek_obj *obj, struct roster_lease *lease)
{
    const char *label = ek_obj_label(obj, LABEL_HOSTNAME);

    lease->hostname = "";
    if (!label || !*label)
        return;
    if (ek_server_id_matches(lease->name, label)) {
        lease->hostname = label;
        return;
    }
    lease->disproved = true;
    ek_notes_add(r->notes,
                 "identity lease %s is labelled with the hostname %s, which its name does not "
                 "prove: the hostname is ignored",
                 lease->name, ek_notes_cut(r->arena, label, 64));
}

static void read_age(struct roster *r, const struct ek_obj *obj, struct roster_lease *lease)
{
    const char *text = ek_json_str(ek_obj_root(obj), "spec", "renewTime", NULL);
    int64_t renewed = ek_time_parse(text);

    if (renewed == EK_TIME_UNSET) {
        lease->age_ms = -1;
        lease->stale = true;
        ek_notes_add(
            r->notes,
            "identity lease %s has no readable renewTime: it is treated as no longer renewed",
            lease->name);
        return;
    }
    /* A server's clock may be ahead of ours. */
    lease->age_ms = renewed > r->in->now_ms ? 0 : r->in->now_ms - renewed;
    lease->stale = lease->age_ms > EK_ROSTER_STALE_AFTER_MS;
}

static bool read_lease(struct roster *r, const struct ek_obj *obj, struct roster_lease *lease)
{
    char address[EK_ADDRESS_SIZE];
    const char *holder = ek_json_str(ek_obj_root(obj), "spec", "holderIdentity", NULL);

    if (ek_server_id_form(ek_obj_name(obj)) == EK_SERVER_ID_NONE) {
        ek_notes_add(r->notes,
                     "lease %s is labelled as an identity lease, but its name is not that of one: "
                     "it is ignored",
                     ek_notes_cut(r->arena, ek_obj_name(obj), 64));
        return false;
    }
    if (!holder || !*holder) {
        ek_notes_add(r->notes, "identity lease %s has no holder: it is ignored", ek_obj_name(obj));
        return false;
    }
    *lease = (struct roster_lease){.name = ek_obj_name(obj), .tied_by = ""};
    read_hostname(r, obj, lease);
    read_age(r, obj, lease);
    ek_address_parse(ek_obj_annotation(obj, PEER_ADDRESS), address, NULL);
    lease->claim = ek_arena_strdup(r->arena, address);
    return true;
}

static int by_age(const void *a, const void *b)
{
    const struct roster_lease *x = a, *y = b;
    uint64_t age_x = (uint64_t)x->age_ms, age_y = (uint64_t)y->age_ms; /* unknown last */

    if (age_x != age_y)
        return age_x < age_y ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const struct roster_lease *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* A host that went from 1.26 to 1.27 has two leases, of which the old one stays behind. */
static bool is_superseded(const struct roster *r, const struct roster_lease *lease)
{
    if (!lease->stale || !*lease->hostname)
        return false;
    for (size_t i = 0; i < r->n_leases; i++)
        if (!r->leases[i].stale && !strcmp(r->leases[i].hostname, lease->hostname))
            return true;
    return false;
}

/* Fresh leases stand in front and are never dropped, so what is_superseded reads stays whole. */
static void drop_superseded(struct roster *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->n_leases; i++)
        if (!is_superseded(r, &r->leases[i]))
            r->leases[kept++] = r->leases[i];
    r->n_leases = kept;
}

void ek_roster_read_leases__(struct roster *r)
{
    const struct ek_objs *objs = &r->in->leases;
    const struct ek_obj **found = ek_arena_alloc(r->arena, (objs->n + 1) * sizeof(struct ek_obj *));
    size_t n = 0;

    for (size_t i = 0; i < objs->n; i++)
        if (is_identity_lease(objs->items[i]))
            found[n++] = objs->items[i];
    qsort(found, n, sizeof(struct ek_obj *), ek_obj_by_key);
    r->leases = ek_arena_alloc(r->arena, (n + 1) * sizeof *r->leases);
    for (size_t i = 0; i < n; i++)
        if (read_lease(r, found[i], &r->leases[r->n_leases]))
            r->n_leases++;
    /* The freshest first, because they are the ones to keep, and to keep ahead of stale ones. */
    qsort(r->leases, r->n_leases, sizeof *r->leases, by_age);
    if (r->n_leases > EK_ROSTER_LEASES_MAX) {
        ek_notes_add(r->notes, "only the %d freshest of %zu identity leases were examined",
                     EK_ROSTER_LEASES_MAX, r->n_leases);
        r->n_leases = EK_ROSTER_LEASES_MAX;
    }
    drop_superseded(r);
    qsort(r->leases, r->n_leases, sizeof *r->leases, by_name);
}
