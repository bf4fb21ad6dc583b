/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "reconcilers/peers/address.h"
#include "reconcilers/peers/pod.h"
#include "reconcilers/peers/trust.h"
#include "reconcilers/skew/instance-internal.h"

#define SYSTEM_NAMESPACE     "kube-system"
#define CANDIDATE_EXPIRES_MS ((int64_t)30 * 60 * 1000)
#define PING_ANSWER_MS       5000
#define LEASE_DURATION_S     15 /* client-go's default */
#define DURATION_MAX_S       ((int64_t)24 * 3600)

/* A component whose processes elect a leader. */
static const struct {
    enum ek_component component;
    int64_t metrics_port; /* 0: not probed, it cannot emulate */
} kinds[] = {
    {EK_KUBE_CONTROLLER_MANAGER, 10257},
    {EK_KUBE_SCHEDULER, 10259},
    {EK_CLOUD_CONTROLLER_MANAGER, 0},
};

/* Reads a component's name; EK_COMPONENT_MAX for what is none of kinds. */
static enum ek_component component_named(const char *name)
{
    for (size_t i = 0; name && i < EK_ARRAY_SIZE(kinds); i++)
        if (!strcmp(name, ek_component_name(kinds[i].component)))
            return kinds[i].component;
    return EK_COMPONENT_MAX;
}

static int64_t time_of(const struct ek_obj *obj, const char *section, const char *field)
{
    return ek_time_parse(ek_json_str(ek_obj_root(obj), section, field, NULL));
}

/* The hostname in "<hostname>_<uuid>": hostnames have no "_". */
static const char *host_of_identity(struct ek_arena *arena, const char *identity)
{
    const char *cut = strrchr(identity, '_');
    return cut ? ek_arena_strndup(arena, identity, (size_t)(cut - identity)) : identity;
}

static struct instance *add(struct instances *table, enum ek_component component, const char *host)
{
    if (table->n == table->cap) {
        table->n_dropped++;
        return NULL;
    }
    struct instance *row = &table->rows[table->n++];
    *row = (struct instance){
        .component = component,
        .host = host,
        .identity = "",
        .main = true,
        .created = EK_TIME_UNSET,
        .renewed = EK_TIME_UNSET,
        .pinged = EK_TIME_UNSET,
        .stale_reason = "",
        .lease_renewed = EK_TIME_UNSET,
    };
    return row;
}

static struct instance *find_main(struct instances *table, enum ek_component component,
                                  const char *host)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].component == component && table->rows[i].main &&
            !strcmp(table->rows[i].host, host))
            return &table->rows[i];
    return NULL;
}

static struct instance *find_or_add(struct instances *table, enum ek_component component,
                                    const char *host)
{
    struct instance *row = find_main(table, component, host);
    return row ? row : add(table, component, host);
}

static int newest_first(const void *a, const void *b)
{
    const struct ek_obj *const *x = a, *const *y = b;
    int64_t time_x = time_of(*x, "metadata", "creationTimestamp");
    int64_t time_y = time_of(*y, "metadata", "creationTimestamp");

    if (time_x != time_y)
        return time_x > time_y ? -1 : 1;
    return strcmp(ek_obj_key(*x), ek_obj_key(*y));
}

/* Rows come newest first, so that the first of a host is its main one. */
static void read_candidate(struct instances *table, const struct ek_obj *obj)
{
    enum ek_component component =
        component_named(ek_json_str(ek_obj_root(obj), "spec", "leaseName", NULL));
    const char *host = host_of_identity(table->f->arena, ek_obj_name(obj));
    bool first = !find_main(table, component, host);
    struct instance *row = add(table, component, host);

    if (!row)
        return;
    row->identity = ek_obj_name(obj);
    row->main = first;
    row->candidate = obj;
    row->created = time_of(obj, "metadata", "creationTimestamp");
    row->renewed = time_of(obj, "spec", "renewTime");
    row->pinged = time_of(obj, "spec", "pingTime");
    if (row->renewed == EK_TIME_UNSET)
        row->renewed = row->created;
}

static bool is_candidate(const struct ek_obj *obj)
{
    return !strcmp(ek_obj_namespace(obj), SYSTEM_NAMESPACE) &&
           component_named(ek_json_str(ek_obj_root(obj), "spec", "leaseName", NULL)) !=
               EK_COMPONENT_MAX;
}

static void read_candidates(struct instances *table)
{
    const struct ek_objs *objs = &table->f->view->candidates;
    const struct ek_obj **found =
        ek_arena_alloc(table->f->arena, (objs->n + 1) * sizeof(struct ek_obj *));
    size_t n = 0;

    for (size_t i = 0; i < objs->n; i++)
        if (is_candidate(objs->items[i]))
            found[n++] = objs->items[i];
    qsort(found, n, sizeof(struct ek_obj *), newest_first);
    for (size_t i = 0; i < n; i++)
        read_candidate(table, found[i]);
}

/* The row of the process that holds a lease: of that identity, else the newest of its host. */
static struct instance *find_holder(struct instances *table, enum ek_component component,
                                    const char *identity)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].component == component && !strcmp(table->rows[i].identity, identity))
            return &table->rows[i];
    return find_or_add(table, component, host_of_identity(table->f->arena, identity));
}

static void read_election(struct instances *table, const struct ek_obj *lease)
{
    enum ek_component component = component_named(ek_obj_name(lease));
    yyjson_val *spec = ek_json_get(ek_obj_root(lease), "spec", NULL);
    const char *holder = ek_json_str(spec, "holderIdentity", NULL);

    if (component == EK_COMPONENT_MAX || strcmp(ek_obj_namespace(lease), SYSTEM_NAMESPACE) != 0 ||
        !holder || !*holder)
        return;
    struct instance *row = find_holder(table, component, holder);
    if (!row)
        return;
    int64_t seconds = yyjson_get_sint(yyjson_obj_get(spec, "leaseDurationSeconds"));
    if (seconds <= 0 || seconds > DURATION_MAX_S)
        seconds = LEASE_DURATION_S;
    row->lease_renewed = time_of(lease, "spec", "renewTime");
    row->holds = true;
    row->holds_expired = row->lease_renewed == EK_TIME_UNSET ||
                         table->f->view->now_ms - row->lease_renewed > seconds * 1000;
    if (!*row->identity)
        row->identity = holder;
    row->holds_as_candidate = !strcmp(row->identity, holder);
}

/* True when the process can be probed at its pod's address: kubeadm has controllers listen on
 * 127.0.0.1 only. Either unspecified address stands for both families: Go's net.Listen makes one
 * socket for both of it. */
static bool listens(const struct ek_obj *pod, const char *component, const char *pod_ip)
{
    const char *bind = ek_pod_flag(pod, component, "--bind-address");
    char ip[EK_ADDRESS_SIZE];

    return !bind || !*bind ||
           (ek_address_ip(bind, ip) &&
            (!strcmp(ip, "0.0.0.0") || !strcmp(ip, "::") || !strcmp(ip, pod_ip)));
}

/* The i-th IP of a pod in status, podIP first, then those of the other family; NULL beyond. */
static const char *pod_ip_at(const struct ek_obj *pod, size_t i)
{
    yyjson_val *status = yyjson_obj_get(ek_obj_root(pod), "status");

    if (i == 0)
        return ek_json_str(status, "podIP", NULL);
    return ek_json_str(yyjson_arr_get(yyjson_obj_get(status, "podIPs"), i - 1), "ip", NULL);
}

#define POD_IPS_MAX 5

/*
 * Finds where a pod's metrics can be read, and with which credential: the first of its addresses
 * that may see one. False when the process listens nowhere; EK_PROBE_NOT_CONTACTED in
 * *ret_credential where nothing vouches for its addresses.
 */
static bool metrics_address(const struct facts *f, const struct ek_obj *pod, const char *component,
                            int64_t port, char buf[EK_ADDRESS_SIZE],
                            enum ek_probe_credential *ret_credential)
{
    const char *flag = ek_pod_flag(pod, component, "--secure-port");
    char ip[EK_ADDRESS_SIZE];
    bool listening = false;

    if (flag)
        port = strtol(flag, NULL, 10);
    *ret_credential = EK_PROBE_NOT_CONTACTED;
    for (size_t i = 0; i < POD_IPS_MAX && !*ret_credential && ek_pod_is_trusted(pod); i++) {
        if (!ek_address_ip(pod_ip_at(pod, i), ip) || !ek_address_is_routable(ip) ||
            !listens(pod, component, ip) || !ek_address_join(ip, port, buf))
            continue;
        listening = true;
        *ret_credential = ek_trust_decide(&(struct ek_trust_input){
            .component = component,
            .address = buf,
            .source = EK_ADDRESS_POD,
            .ip_proven = ek_trust_is_proven(f->servers, f->n_servers, ip),
            .ip_in_spec = ek_trust_names_ip(f->spec->endpoints, f->spec->n_endpoints, ip)});
    }
    return listening;
}

/* An API server's answers are not those of a component whose pod claims the same port. */
static const struct ek_probe *probe_at(const struct ek_skew_view *view, const char *address)
{
    char canonical[EK_ADDRESS_SIZE];

    for (size_t i = 0; i < view->n_probes; i++)
        if (ek_address_parse(view->probes[i].address, canonical, NULL) &&
            !strcmp(canonical, address))
            return view->probes[i].probe->proven ? NULL : view->probes[i].probe;
    return NULL;
}

static void read_pod(struct instances *table, const struct ek_obj *pod, size_t kind)
{
    const struct ek_skew_view *view = table->f->view;
    enum ek_component component = kinds[kind].component;
    const char *name = ek_component_name(component);
    struct instance *row = find_or_add(table, component, ek_pod_hostname(pod, &view->nodes));
    enum ek_probe_credential credential;
    char address[EK_ADDRESS_SIZE];

    if (row && row->pod) { /* a second pod on one host is a process of its own */
        row = add(table, component, row->host);
        if (row)
            row->main = false;
    }
    if (!row)
        return;
    row->pod = pod;
    if (!kinds[kind].metrics_port || !ek_pod_is_running(pod) ||
        !metrics_address(table->f, pod, name, kinds[kind].metrics_port, address, &credential))
        return;
    row->untrusted = credential == EK_PROBE_NOT_CONTACTED;
    ek_facts_add_target__(table->f, name, ek_arena_strdup(table->f->arena, address), credential,
                          "");
    if (!row->untrusted)
        row->probe = probe_at(view, address);
}

/* A pod and how much it is worth: of a host's pods the first that is read is its main instance,
 * and of very many pods only the first are read. */
struct ranked_pod {
    const struct ek_obj *pod;
    int rank; /* 0 best */
};

static int rank_of(const struct ek_obj *pod, const struct ek_objs *nodes)
{
    bool stays = ek_pod_is_running(pod) &&
                 !ek_json_get(ek_obj_root(pod), "metadata", "deletionTimestamp", NULL);
    return (ek_pod_is_proven(pod, nodes) ? 0 : 2) + (stays ? 0 : 1);
}

static int by_rank_and_key(const void *a, const void *b)
{
    const struct ranked_pod *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : strcmp(ek_obj_key(x->pod), ek_obj_key(y->pod));
}

static void read_pods(struct instances *table, size_t kind)
{
    const struct ek_objs *pods = &table->f->pods[kinds[kind].component];
    struct ranked_pod *sorted = ek_arena_alloc(table->f->arena, (pods->n + 1) * sizeof *sorted);

    for (size_t i = 0; i < pods->n; i++)
        sorted[i] =
            (struct ranked_pod){pods->items[i], rank_of(pods->items[i], &table->f->view->nodes)};
    qsort(sorted, pods->n, sizeof *sorted, by_rank_and_key);
    for (size_t i = 0; i < pods->n; i++)
        read_pod(table, sorted[i].pod, kind);
}

/* "kube-scheduler/sched-a": a recording's probe, see view.h. */
static void read_named_probe(struct instances *table, const struct ek_probe_at *at)
{
    const char *slash = strchr(at->address, '/');
    if (!slash || !slash[1])
        return;
    char *name = ek_arena_strndup(table->f->arena, at->address, (size_t)(slash - at->address));
    enum ek_component component = component_named(name);
    if (component == EK_COMPONENT_MAX)
        return;
    struct instance *row = find_or_add(table, component, slash + 1);
    if (row && !row->probe)
        row->probe = at->probe;
}

/* A candidate is dead when it let a ping go unanswered, was not renewed for as long as the real
 * collector waits, or gave no sign of life since a newer one of its host came (Kubernetes 1.36,
 * pkg/controlplane/controller/leaderelection: electionDuration, leaseCandidateValidDuration). A
 * candidate that holds the lease and renews it is alive. */
static const char *candidate_staleness(const struct instances *table, const struct instance *row)
{
    int64_t now = table->f->view->now_ms;

    if (!row->candidate || (row->holds_as_candidate && !row->holds_expired))
        return "";
    if (row->pinged != EK_TIME_UNSET &&
        (row->renewed == EK_TIME_UNSET || row->pinged > row->renewed) &&
        now - row->pinged > PING_ANSWER_MS)
        return "PingUnanswered";
    if (row->renewed == EK_TIME_UNSET || now - row->renewed > CANDIDATE_EXPIRES_MS)
        return "Expired";
    for (size_t i = 0; i < table->n; i++) {
        const struct instance *other = &table->rows[i];
        if (other != row && other->candidate && other->component == row->component &&
            !strcmp(other->host, row->host) && other->created > row->created &&
            other->created > row->renewed)
            return "Superseded";
    }
    return "";
}

void ek_instances_read__(struct instances *table)
{
    const struct ek_skew_view *view = table->f->view;

    read_candidates(table);
    for (size_t i = 0; i < view->leases.n; i++)
        read_election(table, view->leases.items[i]);
    for (size_t kind = 0; kind < EK_ARRAY_SIZE(kinds); kind++)
        read_pods(table, kind);
    for (size_t i = 0; i < view->n_probes; i++)
        read_named_probe(table, &view->probes[i]);
    for (size_t i = 0; i < table->n; i++)
        table->rows[i].stale_reason = candidate_staleness(table, &table->rows[i]);
}
