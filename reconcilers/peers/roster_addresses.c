/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reconcilers/peers/pod.h"
#include "reconcilers/peers/roster-internal.h"

#define COMPONENT    "kube-apiserver"
#define SERVICE      "kubernetes"
#define DEFAULT_PORT 6443
#define NODE_SHOWN   64 /* bytes of a node's name in a note */

/* Rows read before duplicates are merged. Whoever may write EndpointSlices could name millions of
 * addresses, and each takes memory of the plan. */
#define ROWS_MAX 4096

struct roster_address *ek_roster_find_address__(const struct roster *r, const char *s)
{
    size_t low = 0, high = r->n_addresses;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(r->addresses[mid].text, s);
        if (order == 0)
            return &r->addresses[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    const struct roster_address *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    if (order == 0) /* the best source first: it is the one that is kept */
        order = (int)x->source - (int)y->source;
    if (order == 0)
        order = strcmp(y->host, x->host); /* a known node before none */
    return order;
}

static void merge(struct roster_address *into, const struct roster_address *from)
{
    into->ready = into->ready || from->ready;
    if (!*into->host) {
        into->host = from->host;
        into->host_proven = from->host_proven;
    }
    if (!*into->pod_host)
        into->pod_host = from->pod_host;
}

/* Sorts the table and merges rows of one address. */
static void settle(struct roster *r)
{
    size_t kept = 0;

    if (!r->n_addresses)
        return;
    qsort(r->addresses, r->n_addresses, sizeof *r->addresses, by_text);
    for (size_t i = 0; i < r->n_addresses; i++) {
        struct roster_address *last = kept ? &r->addresses[kept - 1] : NULL;
        if (!last || strcmp(last->text, r->addresses[i].text) != 0)
            r->addresses[kept++] = r->addresses[i];
        else
            merge(last, &r->addresses[i]);
    }
    r->n_addresses = kept;
}

static void append(struct roster *r, const char *text, const char *ip,
                   enum ek_address_source source, bool ready, const char *host)
{
    if (r->n_addresses == ROWS_MAX) {
        r->n_passed_over++;
        return;
    }
    if ((r->n_addresses & (r->n_addresses - 1)) == 0) { /* grows by powers of two */
        size_t cap = r->n_addresses ? r->n_addresses * 2 : 1;
        struct roster_address *grown = ek_arena_alloc(r->arena, cap * sizeof *grown);
        if (r->n_addresses)
            memcpy(grown, r->addresses, r->n_addresses * sizeof *grown);
        r->addresses = grown;
    }
    r->addresses[r->n_addresses++] = (struct roster_address){
        .text = ek_arena_strdup(r->arena, text),
        .ip = ek_arena_strdup(r->arena, ip),
        .source = source,
        .ready = ready,
        .pod_host = "",
        .host = host,
        .host_proven = *host,
    };
}

/* The user's own list may name loopback (a controller beside its API server), but not link-local
 * addresses: who may edit a ControlPlane is not thereby one who may reach metadata services. */
static bool may_be_listed(const char *ip)
{
    return ek_address_is_routable(ip) || ek_address_is_loopback(ip);
}

static void read_static(struct roster *r)
{
    char text[EK_ADDRESS_SIZE], ip[EK_ADDRESS_SIZE];

    for (size_t i = 0; i < r->in->n_endpoints; i++) {
        if (!ek_address_parse(r->in->endpoints[i], text, ip))
            continue;
        if (may_be_listed(ip))
            append(r, text, ip, EK_ADDRESS_SPEC, false, "");
        else
            ek_notes_add(r->notes,
                         "spec.peers.endpoints: %s is not contacted: link-local, multicast and "
                         "unspecified addresses never are",
                         text);
    }
}

/* The port named https, or the only one; 0 when there is no such port. */
static int64_t slice_port(yyjson_val *slice)
{
    yyjson_val *ports = yyjson_obj_get(slice, "ports");
    yyjson_val *port;
    size_t i, n;

    yyjson_arr_foreach(ports, i, n, port)
    {
        const char *name = ek_json_str(port, "name", NULL);
        if (yyjson_arr_size(ports) == 1 || (name && !strcmp(name, "https")))
            return yyjson_get_sint(yyjson_obj_get(port, "port"));
    }
    return 0;
}

static void read_endpoint(struct roster *r, yyjson_val *endpoint, int64_t port)
{
    char text[EK_ADDRESS_SIZE], ip[EK_ADDRESS_SIZE];
    yyjson_val *ready = ek_json_get(endpoint, "conditions", "ready", NULL);
    const char *node = ek_json_str(endpoint, "nodeName", NULL);
    /* Of several addresses consumers use the first (EndpointSlice API). */
    const char *first = yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(endpoint, "addresses")));

    if (!ek_address_ip(first, ip) || !ek_address_is_routable(ip) ||
        !ek_address_join(ip, port, text))
        return;
    bool is_ready = !yyjson_is_false(ready); /* absent counts as ready (EndpointSlice API) */
    if (!r->in->only_static) {
        append(r, text, ip, EK_ADDRESS_SLICE, is_ready,
               node && *node ? ek_node_hostname(&r->in->nodes, node) : "");
        return;
    }
    struct roster_address *listed = ek_roster_find_address__(r, text);
    if (listed && is_ready)
        listed->ready = true;
}

static void read_slice(struct roster *r, const struct ek_obj *obj)
{
    const char *service = ek_obj_label(obj, "kubernetes.io/service-name");
    yyjson_val *root = ek_obj_root(obj);
    yyjson_val *endpoint;
    size_t i, n;

    if (strcmp(ek_obj_namespace(obj), "default") != 0 || !service || strcmp(service, SERVICE) != 0)
        return;
    /* API servers keep this one and delete others of their Service, but only every few seconds: who
     * may create EndpointSlices must not thereby name addresses that see our token. */
    if (strcmp(ek_obj_name(obj), SERVICE) != 0) {
        ek_notes_add(r->notes,
                     "EndpointSlices of default/kubernetes other than the one that API servers "
                     "write are ignored: name the API servers in spec.peers.endpoints");
        return;
    }
    yyjson_arr_foreach(yyjson_obj_get(root, "endpoints"), i, n, endpoint)
    {
        read_endpoint(r, endpoint, slice_port(root));
    }
}

/* host is of a proven pod: a kubelet may give its own node the hostname of another
 * (kubernetes.io/hostname is one of the labels that NodeRestriction leaves to it), and what it
 * wrote would lead the Lease of that host to this address. */
static void mark_pod_host(struct roster_address *address, const char *host)
{
    if (!*address->pod_host || strcmp(host, address->pod_host) < 0)
        address->pod_host = host;
}

static struct roster_address *only_with_ip(struct roster *r, const char *ip)
{
    struct roster_address *found = NULL;

    for (size_t i = 0; i < r->n_addresses; i++) {
        if (strcmp(r->addresses[i].ip, ip) != 0)
            continue;
        if (found)
            return NULL;
        found = &r->addresses[i];
    }
    return found;
}

/* The row of an IP of a pod: by its port, or by the IP alone where only one row has it, because
 * the port is not always to be seen in the pod. */
static struct roster_address *match_pod(struct roster *r, const char *ip, int64_t port)
{
    char text[EK_ADDRESS_SIZE];
    struct roster_address *found = NULL;

    if (ek_address_join(ip, port, text))
        found = ek_roster_find_address__(r, text);
    return found ? found : only_with_ip(r, ip);
}

#define POD_IPS_MAX 8

struct pod_ips {
    char ip[POD_IPS_MAX][EK_ADDRESS_SIZE];
    size_t n;
};

static void add_ip(struct pod_ips *ips, const char *s)
{
    if (ips->n < POD_IPS_MAX && ek_address_ip(s, ips->ip[ips->n]) &&
        ek_address_is_routable(ips->ip[ips->n]))
        ips->n++;
}

/* All IPs that may be the server's, the likeliest first. */
static void collect_ips(const struct ek_obj *pod, struct pod_ips *ips)
{
    yyjson_val *status = yyjson_obj_get(ek_obj_root(pod), "status");
    static const char *const lists[] = {"podIPs", "hostIPs"};
    yyjson_val *item;
    size_t i, n;

    ips->n = 0;
    add_ip(ips, ek_json_str(status, "podIP", NULL));
    add_ip(ips, ek_json_str(status, "hostIP", NULL));
    add_ip(ips, ek_pod_flag(pod, COMPONENT, "--advertise-address"));
    for (size_t k = 0; k < EK_ARRAY_SIZE(lists); k++) {
        yyjson_arr_foreach(yyjson_obj_get(status, lists[k]), i, n, item)
        {
            add_ip(ips, ek_json_str(item, "ip", NULL));
        }
    }
}

/* True when the annotation of a renewed Lease names address: the server counts by its Lease then,
 * which no kubelet may write. */
static bool is_of_lease(const struct roster *r, const char *address)
{
    for (size_t i = 0; i < r->n_leases; i++)
        if (!r->leases[i].stale && !strcmp(r->leases[i].claim, address))
            return true;
    return false;
}

static void add_claim(struct roster *r, const struct ek_obj *pod, const char *address)
{
    const char *node = ek_json_str(ek_obj_root(pod), "spec", "nodeName", NULL);

    if (is_of_lease(r, address))
        return;
    if (r->n_claims < EK_ARRAY_SIZE(r->claims))
        r->claims[r->n_claims] =
            ek_arena_printf(r->arena, "%s of node %s", address,
                            ek_notes_cut(r->arena, node ? node : "(none)", NODE_SHOWN));
    r->n_claims++;
}

/* A pod says more of an address that is known already, or brings one. An address that only its
 * command line names is never brought: it is not what the kubelet reports. A pod that proves
 * nothing brings none either: the node's word makes no API server. */
static void read_pod(struct roster *r, const struct ek_obj *pod, bool proven)
{
    const char *configured = r->in->configured;
    const char *flag = ek_pod_flag(pod, COMPONENT, "--secure-port");
    int64_t port = flag ? strtol(flag, NULL, 10) : DEFAULT_PORT;
    const char *host = ek_pod_hostname(pod, &r->in->nodes);
    yyjson_val *status = yyjson_obj_get(ek_obj_root(pod), "status");
    char text[EK_ADDRESS_SIZE], ip[EK_ADDRESS_SIZE];
    struct pod_ips ips;

    collect_ips(pod, &ips);
    for (size_t i = 0; i < ips.n; i++) {
        struct roster_address *known = match_pod(r, ips.ip[i], port);
        if (known) {
            if (proven)
                mark_pod_host(known, host);
            return;
        }
    }
    const char *own = ek_json_str(status, "podIP", NULL);
    if (!own)
        own = ek_json_str(status, "hostIP", NULL);
    if (r->in->only_static || !ek_address_ip(own, ip) || !ek_address_is_routable(ip) ||
        !ek_address_join(ip, port, text))
        return;
    if (!proven) {
        add_claim(r, pod, text);
        return;
    }
    append(r, text, ip,
           configured && !strcmp(configured, text) ? EK_ADDRESS_CONFIGURED : EK_ADDRESS_POD, false,
           "");
    mark_pod_host(&r->addresses[r->n_addresses - 1], host);
    settle(r);
}

/* Reads the static pods that are proven, or those that are not. */
static void read_pods(struct roster *r, bool proven)
{
    const struct ek_objs *pods = &r->in->pods;
    const struct ek_obj **found = ek_arena_alloc(r->arena, (pods->n + 1) * sizeof(struct ek_obj *));
    size_t n = 0;

    for (size_t i = 0; i < pods->n; i++)
        if (ek_pod_is_component(pods->items[i], COMPONENT) && ek_pod_is_trusted(pods->items[i]) &&
            ek_pod_is_proven(pods->items[i], &r->in->nodes) == proven)
            found[n++] = pods->items[i];
    qsort(found, n, sizeof(struct ek_obj *), ek_obj_by_key);
    for (size_t i = 0; i < n && r->n_addresses < EK_ROSTER_ADDRESSES_MAX; i++)
        read_pod(r, found[i], proven);
}

/* One sentence for all of them: a node may write any number of such pods. */
static void note_claims(struct roster *r)
{
    size_t shown = r->n_claims < EK_ARRAY_SIZE(r->claims) ? r->n_claims : EK_ARRAY_SIZE(r->claims);
    const char *names = "";

    for (size_t i = 0; i < shown; i++)
        names = ek_arena_printf(r->arena, "%s%s%s", names, i ? ", " : "", r->claims[i]);
    if (r->n_claims == 0)
        return;
    if (r->n_claims > shown)
        names = ek_arena_printf(r->arena, "%s and %zu more", names, r->n_claims - shown);
    r->claimed = names;
    /* What helps comes first: a status cuts long sentences. */
    ek_notes_add(r->notes,
                 "static pods of nodes that are not known to have the label "
                 "node-role.kubernetes.io/control-plane are not counted as API servers (label the "
                 "node or name the address in spec.peers.endpoints; if the pod is not yours, "
                 "remove it): %s",
                 names);
}

static int by_ip(const void *a, const void *b)
{
    struct roster_address *const *x = a, *const *y = b;
    return strcmp((*x)->ip, (*y)->ip);
}

static int ip_vs_row(const void *key, const void *row)
{
    struct roster_address *const *address = row;
    return strcmp(key, (*address)->ip);
}

/* Gives all rows with ip the node's hostname; sorted holds the rows by IP. A node of the control
 * plane comes before others, whose kubelets may report any address and hostname as theirs. Where no
 * node of the control plane has the IP, because it runs elsewhere or has no label, another one
 * names the row: a name and a Lease for display, never an address, a version or a credential. */
static void mark_host(struct roster_address **sorted, size_t n, const char *ip, const char *host,
                      bool proven)
{
    struct roster_address **at = bsearch(ip, sorted, n, sizeof(struct roster_address *), ip_vs_row);

    if (!at)
        return;
    while (at > sorted && !strcmp(at[-1]->ip, ip))
        at--;
    for (; at < sorted + n && !strcmp((*at)->ip, ip); at++) {
        struct roster_address *row = *at;
        if (row->host_proven == proven ? *row->host && strcmp(host, row->host) >= 0 : !proven)
            continue;
        row->host = host;
        row->host_proven = proven;
    }
}

static void read_nodes(struct roster *r)
{
    struct roster_address **sorted =
        ek_arena_alloc(r->arena, (r->n_addresses + 1) * sizeof(struct roster_address *));
    const struct ek_objs *nodes = &r->in->nodes;
    char canonical[EK_ADDRESS_SIZE];
    yyjson_val *item;
    size_t i, n;

    for (size_t k = 0; k < r->n_addresses; k++)
        sorted[k] = &r->addresses[k];
    qsort(sorted, r->n_addresses, sizeof(struct roster_address *), by_ip);
    for (size_t k = 0; k < nodes->n && r->n_addresses; k++) {
        yyjson_val *status = yyjson_obj_get(ek_obj_root(nodes->items[k]), "status");
        const char *label = ek_obj_label(nodes->items[k], "kubernetes.io/hostname");
        const char *host = label && *label ? label : ek_obj_name(nodes->items[k]);
        bool proven = ek_node_is_control_plane(nodes->items[k]);
        yyjson_arr_foreach(yyjson_obj_get(status, "addresses"), i, n, item)
        {
            const char *type = ek_json_str(item, "type", NULL);
            if (type && !strcmp(type, "InternalIP") &&
                ek_address_ip(ek_json_str(item, "address", NULL), canonical))
                mark_host(sorted, r->n_addresses, canonical, host, proven);
        }
    }
}

static void read_probes(struct roster *r)
{
    char text[EK_ADDRESS_SIZE];

    for (size_t i = 0; i < r->in->n_probes; i++) {
        struct roster_address *address = NULL;
        if (ek_address_parse(r->in->probes[i].address, text, NULL))
            address = ek_roster_find_address__(r, text);
        if (address)
            address->probe = r->in->probes[i].probe;
    }
}

bool ek_roster_cert_names__(const struct ek_probe *probe, const char *host)
{
    char ip[EK_ADDRESS_SIZE];

    for (size_t i = 0; probe && *host && i < probe->n_cert_names; i++) {
        const char *name = probe->cert_names[i];
        if (!strcasecmp(name, host) || (ek_address_ip(name, ip) && !strcmp(ip, host)))
            return true;
    }
    return false;
}

void ek_roster_read_addresses__(struct roster *r)
{
    read_static(r);
    settle(r);
    for (size_t i = 0; i < r->in->endpoint_slices.n; i++)
        read_slice(r, r->in->endpoint_slices.items[i]);
    settle(r);
    if (r->n_addresses > EK_ROSTER_ADDRESSES_MAX) {
        ek_notes_add(r->notes, "only %d of %zu addresses of API servers were examined",
                     EK_ROSTER_ADDRESSES_MAX, r->n_addresses + r->n_passed_over);
        r->n_addresses = EK_ROSTER_ADDRESSES_MAX;
    }
    /* The proven ones first: no other pod's address or number keeps them out. */
    read_pods(r, true);
    read_pods(r, false);
    note_claims(r);
    read_nodes(r);
    read_probes(r);
}
