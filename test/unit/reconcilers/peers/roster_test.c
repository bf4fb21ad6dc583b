/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/roster.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "reconcilers/peers/address.h"
#include "reconcilers/skew/spec.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

/* The roster as text, a peer a line: name address source tied_by flags; "-" for what is empty. */
static void print_roster(const struct ek_roster *roster, struct ek_buf *out)
{
    for (size_t i = 0; i < roster->n_peers; i++) {
        const struct ek_roster_peer *p = &roster->peers[i];
        ek_buf_printf(out, "%s %s %s %s%s%s%s%s%s\n", p->name, *p->address ? p->address : "-",
                      *p->address_source ? p->address_source : "-", *p->tied_by ? p->tied_by : "-",
                      *p->server_id ? " lease" : "", p->lease_stale ? " stale" : "",
                      p->in_endpoints ? " ready" : "", p->certificate_matches ? " cert" : "",
                      *p->address && p->credential != EK_PROBE_OWN ? " untrusted" : "");
    }
    if (!roster->enumerated)
        ek_buf_printf(out, "not enumerated: %s\n", roster->not_enumerated);
}

static void build(struct ek_view_fixture *fx, struct ek_buf *out, struct ek_buf *notes_out)
{
    const struct ek_skew_view *view = ek_view_fixture_view(fx);
    struct ek_arena *arena = ek_arena_new((size_t)64 * 1024 * 1024);
    struct ek_skew_spec spec;
    struct ek_notes notes;
    struct ek_roster roster;

    ek_notes_init(&notes, arena);
    ek_skew_spec_parse(view->control_plane, arena, &spec);
    const struct ek_roster_input input = {
        .now_ms = view->now_ms,
        .only_static = spec.mode == EK_PEERS_STATIC,
        .endpoints = spec.endpoints,
        .n_endpoints = spec.n_endpoints,
        .leases = view->leases,
        .configured = view->configured,
        .endpoint_slices = view->endpoint_slices,
        .nodes = view->nodes,
        .pods = view->pods,
        .probes = view->probes,
        .n_probes = view->n_probes,
    };
    ek_roster_build(&input, &notes, &roster);
    print_roster(&roster, out);
    for (size_t i = 0; i < notes.n; i++)
        ek_buf_printf(notes_out, "%s\n", notes.items[i]);
    ek_arena_free(arena);
}

#define CONTROL_PLANE "node cp-a role=control-plane\nnode cp-b role=control-plane\n"
#define NOBODY                                                                                     \
    "not enumerated: no API server was found: there is no address in the EndpointSlice "           \
    "default/kubernetes and no identity lease in kube-system\n"
#define NOT_COUNTED                                                                                \
    "static pods of nodes that are not known to have the label "                                   \
    "node-role.kubernetes.io/control-plane are not counted as API servers (label the node or "     \
    "name the address in spec.peers.endpoints; if the pod is not yours, remove it): "

/* notes: a part of the notes that must be there; "" when there must be none. */
static const struct {
    const char *name, *script, *peers, *notes;
} rows[] = {
    {"annotations",
     "lease cp-a claim=10.0.0.1:6443\nlease cp-b claim=10.0.0.2:6443\nslice 10.0.0.1 10.0.0.2",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Annotation lease ready\n",
     ""},
    {"the annotation brings no address of its own",
     "lease cp-a claim=169.254.169.254:80\nlease cp-b claim=10.0.0.2:6443\nslice 10.0.0.2",
     "cp-a - - - lease\ncp-b 10.0.0.2:6443 EndpointSlice Annotation lease ready\n", ""},
    {"another port is another address",
     "lease cp-a claim=10.0.0.1:22\nlease cp-b\nslice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "2 identity leases (cp-b and cp-a) and 2 addresses (10.0.0.1:6443 and 10.0.0.2:6443) of API "
     "servers could not be matched"},
    {"pods",
     CONTROL_PLANE "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\n"
                   "pod kube-apiserver cp-a ip=10.0.0.1\npod kube-apiserver cp-b ip=10.0.0.2",
     "cp-a 10.0.0.1:6443 EndpointSlice Pod lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Pod lease ready\n",
     ""},
    {"pods, by the node's hostname label",
     "lease host-a\nlease host-b\nslice 10.0.0.1 10.0.0.2\nnode n1 hostname=host-a "
     "role=master\nnode n2 "
     "hostname=host-b role=control-plane\npod kube-apiserver n1 ip=10.0.0.1\npod kube-apiserver n2 "
     "ip=10.0.0.2",
     "host-a 10.0.0.1:6443 EndpointSlice Pod lease ready\n"
     "host-b 10.0.0.2:6443 EndpointSlice Pod lease ready\n",
     ""},
    {"a pod brings an address, with its port, that sees no credential",
     CONTROL_PLANE "lease cp-a\nlease cp-b\nslice 10.0.0.1\n"
                   "pod kube-apiserver cp-a ip=10.0.0.1\n"
                   "pod kube-apiserver cp-b ip=10.0.0.2 args=--secure-port=7443",
     "cp-a 10.0.0.1:6443 EndpointSlice Pod lease ready\ncp-b 10.0.0.2:7443 Pod Pod lease "
     "untrusted\n",
     ""},
    {"a static pod is also told by its owner",
     "node cp-a role=control-plane\npod kube-apiserver cp-a ip=10.0.0.1 static=owner",
     "cp-a 10.0.0.1:6443 Pod - untrusted\n", ""},
    {"the spec vouches for a pod's address",
     CONTROL_PLANE "controlplane endpoints=10.0.0.1:6443\npod kube-apiserver cp-a ip=10.0.0.1",
     "cp-a 10.0.0.1:6443 Static -\n", ""},
    {"so does the kubeconfig",
     "node cp-a role=control-plane\npod kube-apiserver cp-a ip=10.9.9.9\nconfigured 10.9.9.9:6443",
     "cp-a 10.9.9.9:6443 Configured -\n", ""},
    {"but not for a worker's, which any kubelet may write at the server's address",
     "node w-1\npod kube-apiserver w-1 ip=10.96.0.1 args=--secure-port=443\n"
     "configured 10.96.0.1:443",
     NOBODY, NOT_COUNTED "10.96.0.1:443 of node w-1"},
    {"nor while nodes cannot be read",
     "pod kube-apiserver cp-a ip=10.9.9.9\nconfigured 10.9.9.9:6443\ndeny nodes forbidden",
     "not enumerated: it is not known whether static pods are API servers: 10.9.9.9:6443 of node "
     "cp-a (forbidden)\n",
     NOT_COUNTED "10.9.9.9:6443 of node cp-a"},
    {"nor is the list of API servers known then, whatever else names some",
     "slice 10.0.0.1\npod kube-apiserver cp-b ip=10.0.0.2\ndeny nodes forbidden",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "not enumerated: it is not known whether static pods are API servers: 10.0.0.2:6443 of node "
     "cp-b (forbidden)\n",
     NOT_COUNTED},
    {"a worker's pod is no API server",
     "node w-1\nslice 10.0.0.1\npod kube-apiserver w-1 ip=10.0.0.9",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     NOT_COUNTED "10.0.0.9:6443 of node w-1\n"},
    {"nor is that of a node that nobody knows",
     "slice 10.0.0.1\npod kube-apiserver w-1 ip=10.0.0.9",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     NOT_COUNTED "10.0.0.9:6443 of node w-1\n"},
    {"many of them are one sentence",
     "slice 10.0.0.1\npod kube-apiserver w-1 ip=10.0.0.9\n"
     "pod kube-apiserver w-1 name=w-1-x ip=10.0.0.8\npod kube-apiserver w-2 ip=10.0.0.7\n"
     "pod kube-apiserver w-3 ip=10.0.0.6\npod kube-apiserver w-4 ip=10.0.0.5",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     NOT_COUNTED "10.0.0.9:6443 of node w-1, 10.0.0.7:6443 of node w-2, 10.0.0.6:6443 of node w-3 "
                 "and 2 more\n"},
    {"a worker's pods take no Lease: their servers count by their Leases",
     "lease cp-b\nlease cp-c\nslice 10.0.0.1\nnode cp-a ip=10.0.0.1\nlease cp-a\nnode w-1\n"
     "pod kube-apiserver w-1 ip=10.0.0.8\npod kube-apiserver w-1 name=x ip=10.0.0.9",
     "cp-a 10.0.0.1:6443 EndpointSlice Node lease ready\ncp-b - - - lease\ncp-c - - - lease\n",
     NOT_COUNTED},
    {"nor do they make a stale Lease that of a server that has none",
     "lease old age=600\nlease cp-a\nslice 10.0.0.1\nnode w-1 hostname=old\n"
     "pod kube-apiserver w-1 ip=10.0.0.8\npod kube-apiserver w-1 name=x ip=10.0.0.9",
     "cp-a 10.0.0.1:6443 EndpointSlice Elimination lease ready\nold - - - lease stale\n",
     NOT_COUNTED},
    {"where a renewed Lease names the address, its server counts by the Lease",
     "node w-1\nlease w-1 claim=10.0.0.9:6443\npod kube-apiserver w-1 ip=10.0.0.9\n"
     "slice 10.0.0.1\nnode cp-a ip=10.0.0.1\nlease cp-a",
     "cp-a 10.0.0.1:6443 EndpointSlice Node lease ready\nw-1 - - - lease\n", ""},
    {"where a stale one names it, the pod is not what the Lease needs",
     "node w-1\nlease w-1 claim=10.0.0.9:6443 age=600\npod kube-apiserver w-1 ip=10.0.0.9\n"
     "slice 10.0.0.1\nnode cp-a ip=10.0.0.1\nlease cp-a",
     "cp-a 10.0.0.1:6443 EndpointSlice Node lease ready\nw-1 - - - lease stale\n", NOT_COUNTED},
    {"a pod with the IP of one of the control plane, and another port, is not in its way",
     "node cp-b role=control-plane\nnode a-1\nslice 10.0.0.1\n"
     "pod kube-apiserver a-1 ip=10.0.0.2 args=--secure-port=1\npod kube-apiserver cp-b ip=10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\ncp-b 10.0.0.2:6443 Pod - untrusted\n", ""},
    {"but not for another port of it",
     "node cp-a role=control-plane\n"
     "pod kube-apiserver cp-a ip=10.9.9.9 args=--secure-port=7443\nconfigured 10.9.9.9:6443",
     "cp-a 10.9.9.9:7443 Pod - untrusted\n", ""},
    {"another slice of the Service names nobody: whoever may create EndpointSlices wrote it",
     "slice 10.0.0.1\nslice 10.6.6.6 name=kubernetes-v6\nslice 10.6.6.7 name=evil",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     "EndpointSlices of default/kubernetes other than the one that API servers write"},
    {"nor does it make a listed server ready",
     "controlplane mode=Static endpoints=10.0.0.1:6443\nslice 10.0.0.1 name=evil",
     "10.0.0.1:6443 10.0.0.1:6443 Static -\n", "are ignored"},
    {"IPv6",
     CONTROL_PLANE "lease cp-a claim=[fd00::1]:6443\nslice fd00::1 fd00:0:0::2 type=IPv6\n"
                   "pod kube-apiserver cp-b ip=10.0.0.2 ips=10.0.0.2,fd00::2",
     "cp-a [fd00::1]:6443 EndpointSlice Annotation lease ready\n"
     "cp-b [fd00::2]:6443 EndpointSlice - ready\n",
     "has no identity lease"},
    {"a pod's port may be hidden: its IP is enough",
     CONTROL_PLANE
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2 port=7443\npod kube-apiserver cp-a "
     "ip=10.0.0.1",
     "cp-a 10.0.0.1:7443 EndpointSlice Pod lease ready\n"
     "cp-b 10.0.0.2:7443 EndpointSlice Elimination lease ready\n",
     ""},
    {"a pod that advertises another of its addresses brings none",
     CONTROL_PLANE "lease cp-a\nslice 192.168.0.1\npod kube-apiserver cp-a ip=10.0.0.1 "
                   "args=--advertise-address=192.168.0.1",
     "cp-a 192.168.0.1:6443 EndpointSlice Pod lease ready\n", ""},
    {"a pod that anyone may create brings no address",
     "lease cp-a\nslice 10.0.0.1\npod kube-apiserver cp-a ip=10.0.0.1 static=false\n"
     "pod kube-apiserver evil ip=10.9.9.9 static=false\npod kube-apiserver evil2 ip=10.9.9.8 "
     "hostnet=false",
     "cp-a 10.0.0.1:6443 EndpointSlice Elimination lease ready\n", ""},
    {"a worker's pod names no host, as which its kubelet may label the node",
     CONTROL_PLANE "node w-1 hostname=cp-b\nlease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\n"
                   "pod kube-apiserver cp-a ip=10.0.0.1\npod kube-apiserver cp-b ip=10.0.0.2\n"
                   "pod kube-apiserver w-1 name=a ip=10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Pod lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Pod lease ready\n",
     ""},
    {"nor one of a server that has no pod",
     "node w-1 hostname=a\nslice 10.0.0.1\npod kube-apiserver w-1 ip=10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n", ""},
    {"nor does a worker's address take the place of that of a control plane node",
     "node cp-a ip=10.0.0.1 role=control-plane\nnode cp-b ip=10.0.0.2 role=control-plane\n"
     "node a-1 hostname=a ip=10.0.0.1,10.0.0.2\nlease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2",
     "cp-a 10.0.0.1:6443 EndpointSlice Node lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Node lease ready\n",
     ""},
    {"nodes",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\nnode cp-a ip=10.0.0.1\n"
     "node other ip=10.0.0.2,fd00::2 hostname=cp-b",
     "cp-a 10.0.0.1:6443 EndpointSlice Node lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Node lease ready\n",
     ""},
    {"hostnames in capitals",
     "lease CP-A\nlease CP-B\nslice 10.0.0.1 10.0.0.2\nnode cp-a ip=10.0.0.1\nnode cp-b "
     "ip=10.0.0.2",
     "CP-A 10.0.0.1:6443 EndpointSlice Node lease ready\n"
     "CP-B 10.0.0.2:6443 EndpointSlice Node lease ready\n",
     ""},
    {"an endpoint's nodeName",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 node=cp-a\nslice 10.0.0.2 node=cp-b",
     "cp-a 10.0.0.1:6443 EndpointSlice Node lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Node lease ready\n",
     ""},
    {"certificates",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\n"
     "probe 10.0.0.1:6443 cert=kubernetes.default.svc,cp-a,10.0.0.1\n"
     "probe 10.0.0.2:6443 cert=kubernetes.default.svc,cp-b",
     "cp-a 10.0.0.1:6443 EndpointSlice Certificate lease ready cert\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Certificate lease ready cert\n",
     ""},
    {"a certificate may have the name of the node, or a wildcard for it",
     "slice 10.0.0.1 10.0.0.2 10.0.0.3\nnode a.example.com ip=10.0.0.1\n"
     "node b.example.com ip=10.0.0.2\nnode c.sub.example.com ip=10.0.0.3\n"
     "probe 10.0.0.1:6443 cert=a.example.com\nprobe 10.0.0.2:6443 cert=*.example.com\n"
     "probe 10.0.0.3:6443 cert=*.example.com,a.example.com",
     "a.example.com 10.0.0.1:6443 EndpointSlice - ready cert\n"
     "b.example.com 10.0.0.2:6443 EndpointSlice - ready cert\n"
     "c.sub.example.com 10.0.0.3:6443 EndpointSlice - ready\n",
     ""},
    {"a certificate for all tells nobody apart",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\nprobe 10.0.0.1:6443 cert=cp-a,cp-b\n"
     "probe 10.0.0.2:6443 cert=kubernetes",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "could not be matched"},
    {"what helps: the annotation of 1.28 and later",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\nprobe 10.0.0.1:6443 version=v1.28.2\n"
     "probe 10.0.0.2:6443 version=v1.36.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "named by their addresses: what helps is the annotation "
     "kubernetes.io/peer-advertise-address, which servers write with the feature gate "
     "UnknownVersionInteroperabilityProxy\n"},
    {"what helps: nothing that older servers have",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\nprobe 10.0.0.1:6443 version=v1.27.4\n"
     "probe 10.0.0.2:6443 version=v1.28.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "could not be matched, so these servers are named by their addresses\n"},
    {"what helps: permissions that lack",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2\ndeny nodes forbidden\n"
     "probe 10.0.0.1:6443 version=v1.27.4",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "named by their addresses: what helps is list permission on kube-system pods and on nodes\n"},
    {"a certificate with another's address tells nobody apart either",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2 10.0.0.3\n"
     "probe 10.0.0.1:6443 cert=cp-a,10.0.0.1,10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready cert\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n"
     "10.0.0.3:6443 10.0.0.3:6443 EndpointSlice - ready\n",
     "could not be matched"},
    {"one left over on each side",
     "lease cp-a claim=10.0.0.1:6443\nlease cp-b\nslice 10.0.0.1 10.0.0.2",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Elimination lease ready\n",
     ""},
    {"one left over on each side, and the lease names an address that is not listed",
     "lease cp-c claim=10.0.0.3:6443\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     "1 identity lease (cp-c) and 1 address (10.0.0.1:6443)"},
    {"one left over on each side, of two nodes",
     "node cp-a ip=10.0.0.1 role=control-plane\nnode cp-c ip=10.0.0.3 role=control-plane\n"
     "lease cp-c\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice - ready\n",
     "1 identity lease (cp-c) and 1 address (10.0.0.1:6443)"},
    {"one left over on each side, where no node has the hostname",
     "node cp-a ip=10.0.0.1 role=control-plane\nlease cp-c\nslice 10.0.0.1",
     "cp-c 10.0.0.1:6443 EndpointSlice Elimination lease ready\n", ""},
    {"two left over stay apart, and are two servers",
     "lease cp-a\nlease cp-b\nslice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "2 identity leases (cp-b and cp-a) and 2 addresses"},
    {"more leases than addresses: the surplus is a server",
     "lease cp-a\nlease cp-b\nlease cp-c\nslice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\ncp-a - - - lease\n",
     "3 identity leases (cp-b, cp-c and cp-a) and 2 addresses"},
    {"more addresses than leases", "lease cp-a\nslice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "1 identity lease (cp-a) and 2 addresses"},
    {"a shared hostname: one lease, two servers",
     "lease cp-a claim=10.0.0.1:6444\nslice 10.0.0.1 port=6443\nslice 10.0.0.1 port=6444\n"
     "node cp-a ip=10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "cp-a 10.0.0.1:6444 EndpointSlice Annotation lease ready\n",
     "1 API server (10.0.0.1:6443) has no identity lease of its own"},
    {"a server without a lease goes by its node",
     "lease cp-a claim=10.0.0.1:6443\nslice 10.0.0.1 10.0.0.2\nnode cp-b ip=10.0.0.2",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice - ready\n",
     "has no identity lease"},
    {"no leases at all", "slice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     ""},
    {"no slices: leases are servers without address", "lease cp-a\ndeny endpoint_slices forbidden",
     "cp-a - - - lease\n", ""},
    {"a crashed server's lease",
     "lease cp-a claim=10.0.0.1:6443\nlease cp-b claim=10.0.0.2:6443 age=61\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\ncp-b - - - lease stale\n", ""},
    {"60 s is not yet stale", "lease cp-a claim=10.0.0.1:6443 age=60\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"a stale lease of a server that is in the endpoints",
     "lease cp-a claim=10.0.0.1:6443 age=300\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease stale ready\n", ""},
    {"a renamed host: the old lease does not take the new one's address",
     "lease old claim=10.0.0.1:6443 age=300\nlease new\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\nold - - - lease stale\n",
     "1 identity lease (new) and 1 address"},
    {"a stale lease's address is not left over",
     "lease old claim=10.0.0.1:6443 age=300\nlease new\nslice 10.0.0.1 10.0.0.2",
     "new 10.0.0.2:6443 EndpointSlice Elimination lease ready\n"
     "old 10.0.0.1:6443 EndpointSlice Annotation lease stale ready\n",
     ""},
    {"a clock that is ahead", "lease cp-a claim=10.0.0.1:6443 age=-30\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"1.26", "lease cp-a form=1.26\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Elimination lease ready\n", ""},
    {"upgraded from 1.26: the old lease is superseded",
     "lease cp-a form=1.26 age=600\nlease cp-a claim=10.0.0.1:6443\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"another namespace", "lease evil claim=10.0.0.1:6443 ns=default\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n", ""},
    {"a name that is none", "lease cp-a name=my-lease\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     "lease my-lease is labelled as an identity lease, but its name is not that of one"},
    {"no holder", "lease cp-a holder=none\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n",
     "apiserver-tqsyvnc7rs47fayzipsuqpfg4m has no holder"},
    {"a hostname that the name disproves",
     "lease cp-a label=cp-z claim=10.0.0.1:6443\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice Annotation lease ready\n",
     "is labelled with the hostname cp-z, which its name does not prove"},
    {"a disproved lease is no server of its own", "lease cp-a label=cp-z\nlease cp-b\n",
     "cp-b - - - lease\n", "which its name does not prove"},
    {"nor when it is no longer renewed", "lease cp-a label=cp-z age=3600\nlease cp-b\n",
     "cp-b - - - lease\n", "which its name does not prove"},
    {"no hostname label",
     "lease cp-a label=none claim=10.0.0.1:6443\nslice 10.0.0.1\nnode cp-a ip=10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"no renewTime", "lease cp-a renew=none\nslice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n"
     "cp-a - - - lease stale\n",
     "has no readable renewTime"},
    {"garbled renewTime", "lease cp-a renew=yesterday claim=10.0.0.1:6443\nslice 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease stale ready\n",
     "has no readable renewTime"},
    {"garbled annotation", "lease cp-a claim=10.0.0.1\nlease cp-b claim=host:6443\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\ncp-a - - - lease\n",
     "2 identity leases (cp-b and cp-a) and 1 address"},
    {"one address, claimed by two: neither has it",
     "lease cp-a claim=10.0.0.1:6443\nlease cp-b claim=10.0.0.1:6443\nslice 10.0.0.1 10.0.0.2",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n"
     "10.0.0.2:6443 10.0.0.2:6443 EndpointSlice - ready\n",
     "could not be matched"},
    {"one address, claimed by two: the pod decides",
     CONTROL_PLANE
     "lease cp-a claim=10.0.0.1:6443\nlease cp-b claim=10.0.0.1:6443\nslice 10.0.0.1 10.0.0.2\n"
     "pod kube-apiserver cp-a ip=10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Elimination lease ready\n",
     ""},
    {"a forged annotation does not outweigh the other's pod",
     CONTROL_PLANE "lease cp-a\nlease cp-b claim=10.0.0.1:6443\nslice 10.0.0.1 10.0.0.2\n"
                   "pod kube-apiserver cp-a ip=10.0.0.1\npod kube-apiserver cp-b ip=10.0.0.2",
     "cp-a 10.0.0.1:6443 EndpointSlice Pod lease ready\n"
     "cp-b 10.0.0.2:6443 EndpointSlice Pod lease ready\n",
     ""},
    {"a forged lease does not take a proven one's address",
     "lease cp-a claim=10.0.0.1:6443\nlease x label=none claim=10.0.0.1:6443\nslice 10.0.0.1",
     "apiserver-X - - - lease\ncp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"IPv6",
     "lease cp-a claim=[fd00:0:0::1]:6443\nslice fd00::1 fd00::2 type=IPv6\n"
     "lease cp-b\nnode cp-b ip=fd00:0:0:0:0:0:0:2",
     "cp-a [fd00::1]:6443 EndpointSlice Annotation lease ready\n"
     "cp-b [fd00::2]:6443 EndpointSlice Node lease ready\n",
     ""},
    {"one server twice in the slices",
     "lease cp-a claim=10.0.0.1:6443\nslice 10.0.0.1 ready=false\nslice 10.0.0.1 10.0.0.1",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"not ready", "lease cp-a claim=10.0.0.1:6443\nslice 10.0.0.1 ready=false",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease\n", ""},
    {"readiness not told", "lease cp-a claim=10.0.0.1:6443\nslice 10.0.0.1 ready=nil",
     "cp-a 10.0.0.1:6443 EndpointSlice Annotation lease ready\n", ""},
    {"addresses that are never called",
     "slice 127.0.0.1 169.254.169.254 0.0.0.0 224.0.0.1 ::1 fe80::1 ::ffff:127.0.0.1 not-an-ip",
     "not enumerated: no API server was found: there is no address in the EndpointSlice "
     "default/kubernetes and no identity lease in kube-system\n",
     ""},
    {"slices of others",
     "slice 10.0.0.1 ns=kube-system\nslice 10.0.0.2 service=other\nslice 10.0.0.3 port=0",
     "not enumerated: no API server was found: there is no address in the EndpointSlice "
     "default/kubernetes and no identity lease in kube-system\n",
     ""},
    {"the static list adds", "controlplane endpoints=10.0.0.9:443,10.0.0.1:6443\nslice 10.0.0.1",
     "10.0.0.1:6443 10.0.0.1:6443 EndpointSlice - ready\n10.0.0.9:443 10.0.0.9:443 Static -\n", ""},
    {"the static list alone",
     "controlplane mode=Static endpoints=127.0.0.1:6443,10.0.0.1:6443\nslice 10.0.0.1 10.0.0.2\n"
     "lease cp-a claim=10.0.0.1:6443\nlease cp-b\npod kube-apiserver cp-c ip=10.0.0.3",
     "127.0.0.1:6443 127.0.0.1:6443 Static -\n"
     "cp-a 10.0.0.1:6443 Static Annotation lease ready\n",
     ""},
    {"not even the static list names link-local addresses",
     "controlplane mode=Static endpoints=169.254.169.254:80,[fe80::1]:443,10.0.0.1:6443",
     "10.0.0.1:6443 10.0.0.1:6443 Static -\n",
     "spec.peers.endpoints: 169.254.169.254:80 is not contacted: link-local, multicast and "
     "unspecified addresses never are\n"
     "spec.peers.endpoints: [fe80::1]:443 is not contacted: link-local, multicast and unspecified "
     "addresses never are\n"},
    {"nothing may be read",
     "deny leases forbidden: list leases\ndeny endpoint_slices forbidden: list endpointslices",
     "not enumerated: neither EndpointSlices (forbidden: list endpointslices) nor Leases "
     "(forbidden: list leases) could be read\n",
     ""},
};

static void replace_server_id(struct ek_buf *out)
{
    /* Lease names of unproven hostnames, shortened so that rows stay readable. */
    char *at = out->data ? strstr(out->data, "apiserver-") : NULL;
    if (!at || strlen(at) < 36)
        return;
    at[10] = 'X';
    memmove(at + 11, at + 36, strlen(at + 36) + 1);
}

static void check_row(int i, bool reversed)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    EK_AUTO(ek_buf) peers;
    EK_AUTO(ek_buf) notes;

    ek_buf_init(&peers, 65536);
    ek_buf_init(&notes, 65536);
    ek_view_fixture_script(fx, rows[i].script);
    if (reversed && !strstr(rows[i].script, "node"))
        ek_view_fixture_reverse(fx);
    build(fx, &peers, &notes);
    replace_server_id(&peers);
    ck_assert_msg(!strcmp(ek_buf_str(&peers), rows[i].peers), "%s: got\n%swant\n%snotes:\n%s",
                  rows[i].name, ek_buf_str(&peers), rows[i].peers, ek_buf_str(&notes));
    bool as_wanted =
        *rows[i].notes ? strstr(ek_buf_str(&notes), rows[i].notes) != NULL : notes.len == 0;
    ck_assert_msg(as_wanted, "%s: notes are\n%swant %s", rows[i].name, ek_buf_str(&notes),
                  rows[i].notes);
}

START_TEST(row)
{
    check_row(_i, false);
}
END_TEST

START_TEST(row_in_another_order)
{
    check_row(_i, true);
}
END_TEST

START_TEST(an_empty_static_list)
{
    struct ek_arena *arena = ek_arena_new(65536);
    const struct ek_roster_input input = {.only_static = true};
    struct ek_notes notes;
    struct ek_roster roster;

    ek_notes_init(&notes, arena);
    ek_roster_build(&input, &notes, &roster);
    ck_assert(!roster.enumerated);
    ck_assert_ptr_nonnull(strstr(roster.not_enumerated, "names no address"));
    ek_arena_free(arena);
}
END_TEST

/* Far more of everything than is looked at. */
START_TEST(bounds)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    EK_AUTO(ek_buf) peers;
    EK_AUTO(ek_buf) notes;
    char line[128];

    ek_buf_init(&peers, (size_t)1024 * 1024);
    ek_buf_init(&notes, 65536);
    for (int i = 0; i < 400; i++) {
        snprintf(line, sizeof line, "lease stale-%d age=%d\nslice 10.1.%d.%d", i, 3600 + i, i / 200,
                 i % 200 + 1);
        ek_view_fixture_script(fx, line);
    }
    ek_view_fixture_script(fx, "lease cp-a");
    build(fx, &peers, &notes);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&notes), "only the 256 freshest of 401"));
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&notes), "only 128 of 400 addresses"));
    size_t lines = 0;
    for (const char *c = ek_buf_str(&peers); *c; c++)
        lines += *c == '\n';
    ck_assert_uint_eq(lines, EK_ROSTER_ADDRESSES_MAX + EK_ROSTER_STALE_MAX);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&peers), "stale-0 - - - lease stale"));
}
END_TEST

/* Whoever may write EndpointSlices in "default" could name a million addresses. */
START_TEST(a_flood_of_addresses_takes_little_memory)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new((size_t)64 << 20);
    struct ek_skew_plan plan;

    for (int slice = 0; slice < 50; slice++) {
        EK_AUTO(ek_buf) json;
        ek_buf_init(&json, (size_t)1 << 20);
        ek_buf_printf(&json, "{'kind':'EndpointSlice','metadata':{'name':'kubernetes','namespace':"
                             "'default','labels':{'kubernetes.io/service-name':'kubernetes'}},"
                             "'addressType':'IPv4','ports':[{'port':6443}],'endpoints':[");
        for (int i = 0; i < 1000; i++)
            ek_buf_printf(&json, "%s{'addresses':['10.%d.%d.%d']}", i ? "," : "", slice, i / 250,
                          i % 250 + 1);
        ek_buf_puts(&json, "]}");
        ek_view_fixture_add(fx, ek_buf_str(&json));
    }
    ek_skew_plan_make(ek_view_fixture_view(fx), arena, &plan);
    ck_assert_uint_lt(ek_arena_used(arena), (size_t)4 << 20);
    char *status = yyjson_mut_val_write(plan.status, YYJSON_WRITE_NOFLAG, NULL);
    ck_assert_ptr_nonnull(strstr(status, "only 128 of 50000 addresses"));
    free(status);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
}
END_TEST

static const struct {
    const char *text, *canonical, *ip;
} addresses[] = {
    {"10.0.0.1:6443", "10.0.0.1:6443", "10.0.0.1"},
    {"10.0.0.1:06443", "10.0.0.1:6443", "10.0.0.1"},
    {"[FD00::0:1]:443", "[fd00::1]:443", "fd00::1"},
    {"[::ffff:10.0.0.1]:443", "10.0.0.1:443", "10.0.0.1"},
    {"fd00::1:443", "", ""},
    {"[10.0.0.1]:443", "", ""},
    {"10.0.0.1", "", ""},
    {"10.0.0.1:", "", ""},
    {"10.0.0.1:0", "", ""},
    {"10.0.0.1:65536", "", ""},
    {"10.0.0.1:123456", "", ""},
    {"10.0.0.1:+443", "", ""},
    {"10.0.0.1:44 3", "", ""},
    {"010.0.0.1:443", "", ""},
    {"host:443", "", ""},
    {"[fe80::1%eth0]:443", "", ""},
    {"[]:443", "", ""},
    {":443", "", ""},
    {"[:443", "", ""},
    {"", "", ""},
    {NULL, "", ""},
};

START_TEST(address_row)
{
    char text[EK_ADDRESS_SIZE], ip[EK_ADDRESS_SIZE];
    bool ok = ek_address_parse(addresses[_i].text, text, ip);

    ck_assert_msg(ok == (*addresses[_i].canonical != '\0') &&
                      !strcmp(text, addresses[_i].canonical) && !strcmp(ip, addresses[_i].ip),
                  "%s: got %s, %s", addresses[_i].text, text, ip);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, row_in_another_order, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, address_row, 0, (int)EK_ARRAY_SIZE(addresses));
    tcase_add_test(tc, an_empty_static_list);
    tcase_add_test(tc, bounds);
    tcase_add_test(tc, a_flood_of_addresses_takes_little_memory);
    tcase_set_timeout(tc, 60);
    return ek_test_run("roster", tc);
}
