/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/facts.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

#define ARENA_LIMIT ((size_t)64 * 1024 * 1024)

/* Versions as text: binary/emulation/minimum compatibility, "?" for unknown, "~" before what was
 * assumed; then the source of the binary's, "unproven", the sources of the others where they
 * differ, the reason and the conflict, where there are any. */
static void print_versions(const struct ek_versions *v, struct ek_buf *out)
{
    char text[EK_MINOR_SIZE];

    ek_buf_printf(out, " %s", v->binary.known ? ek_minor_format(v->binary, text) : "?");
    ek_buf_printf(out, "/%s%s", v->assumed_emulation ? "~" : "",
                  v->emulation.known ? ek_minor_format(v->emulation, text) : "?");
    ek_buf_printf(out, "/%s%s", v->assumed_min_compat ? "~" : "",
                  v->min_compat.known ? ek_minor_format(v->min_compat, text) : "?");
    ek_buf_printf(out, " %s", ek_source_name(v->source));
    if (v->unproven)
        ek_buf_puts(out, " unproven");
    if (v->emulation.known && !v->assumed_emulation && v->emulation_source != v->source)
        ek_buf_printf(out, " ev:%s", ek_source_name(v->emulation_source));
    if (v->min_compat.known && !v->assumed_min_compat && v->min_compat_source != v->source)
        ek_buf_printf(out, " mcv:%s", ek_source_name(v->min_compat_source));
    if (*v->unknown_reason)
        ek_buf_printf(out, " %s", v->unknown_reason);
    if (*v->conflict)
        ek_buf_printf(out, " conflict(%s)", v->conflict);
}

static void print_peers(const struct ek_skew_facts *facts, struct ek_buf *out)
{
    for (size_t i = 0; i < facts->n_peers; i++) {
        const struct ek_peer_fact *p = &facts->peers[i];
        ek_buf_printf(out, "peer %s%s%s", p->name, p->live ? " live" : "",
                      p->reachable ? " reachable" : "");
        if (*p->unreachable_reason)
            ek_buf_printf(out, " (%s)", p->unreachable_reason);
        print_versions(&p->versions, out);
        ek_buf_puts(out, "\n");
    }
}

static void print_rest(const struct ek_skew_facts *facts, struct ek_buf *out)
{
    char left[EK_MINOR_SIZE], right[EK_MINOR_SIZE];

    for (size_t i = 0; i < facts->n_instances; i++) {
        const struct ek_instance_fact *f = &facts->instances[i];
        ek_buf_printf(out, "%s %s%s%s%s", ek_component_name(f->component), f->name,
                      f->leader ? " leader" : "", f->stale ? " stale:" : "", f->stale_reason);
        print_versions(&f->versions, out);
        ek_buf_puts(out, "\n");
    }
    for (size_t i = 0; i < facts->n_groups; i++) {
        const struct ek_node_group *g = &facts->groups[i];
        ek_buf_printf(out, "%s \"%s\" %zu:", ek_component_name(g->component), g->version, g->count);
        for (size_t k = 0; k < g->n_names; k++)
            ek_buf_printf(out, " %s", g->names[k]);
        print_versions(&g->versions, out);
        ek_buf_puts(out, "\n");
    }
    for (size_t i = 0; i < facts->n_pairs; i++) {
        const struct ek_node_pair *p = &facts->pairs[i];
        ek_buf_printf(out, "pair %s %s %zu:", ek_minor_format(p->kubelet, left),
                      ek_minor_format(p->kube_proxy, right), p->count);
        for (size_t k = 0; k < p->n_names; k++)
            ek_buf_printf(out, " %s", p->names[k]);
        ek_buf_puts(out, "\n");
    }
}

static void print_facts(struct ek_view_fixture *fx, struct ek_buf *out, struct ek_buf *problems)
{
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets;

    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n_targets);
    print_peers(&facts, out);
    print_rest(&facts, out);
    for (size_t i = 0; i < n_targets; i++)
        ek_buf_printf(out, "ask %s %s\n", targets[i].component, targets[i].address);
    for (size_t i = 0; i < facts.n_problems; i++)
        ek_buf_printf(problems, "%s\n", facts.problems[i]);
    ck_assert(!ek_arena_exhausted(arena));
    ek_arena_free(arena);
}

struct row {
    const char *name, *script, *facts;
    const char *problem; /* a part of the problems; "" when there must be none */
};

static void check_row(const struct row *row)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) problems;

    ek_buf_init(&out, 65536);
    ek_buf_init(&problems, 65536);
    ek_view_fixture_script(fx, row->script);
    print_facts(fx, &out, &problems);
    ck_assert_msg(!strcmp(ek_buf_str(&out), row->facts), "%s: got\n%swant\n%s", row->name,
                  ek_buf_str(&out), row->facts);
    bool as_wanted =
        *row->problem ? strstr(ek_buf_str(&problems), row->problem) != NULL : problems.len == 0;
    ck_assert_msg(as_wanted, "%s: problems are\n%swant %s", row->name, ek_buf_str(&problems),
                  row->problem);
}

#define ASK "ask kube-apiserver 10.0.0.1:6443\n"
#define ONE "slice 10.0.0.1\nprobe 10.0.0.1:6443 "
#define P   "peer 10.0.0.1:6443 live reachable "

static const struct row peers[] = {
    {"all sources agree",
     ONE "version=v1.36.2 ev=1.35 mcv=1.34 openapi=1.35 info=1.36.2 info_ev=1.35 info_mcv=1.34",
     P "1.36/1.35/1.34 VersionInfo\n" ASK, ""},
    {"/version alone", ONE "version=v1.36.2 ev=1.35 mcv=1.34", P "1.36/1.35/1.34 Version\n" ASK,
     ""},
    {"an old server: emulation by OpenAPI", ONE "version=v1.32.2+k3s1 openapi=1.32",
     P "1.32/1.32/1.31 Version ev:OpenAPI mcv:OpenAPI\n" ASK, ""},
    {"emulation assumed", ONE "version=v1.32.2", P "1.32/~1.32/~1.31 Version\n" ASK, ""},
    {"assumed minimum: one below", ONE "version=v1.36.2 ev=1.35", P "1.36/1.35/~1.34 Version\n" ASK,
     ""},
    {"assumed minimum: not below three behind", ONE "version=v1.36.2 ev=1.33",
     P "1.36/1.33/~1.33 Version\n" ASK, ""},
    {"minimum of a binary that has no flag for it: not below 1.31", ONE "version=v1.33.0 ev=1.31",
     P "1.33/1.31/1.31 Version\n" ASK, ""},
    {"1.31 cannot emulate, and did not have the floor", ONE "version=v1.31.4",
     P "1.31/1.31/1.30 Version\n" ASK, ""},
    {"before 1.31", ONE "version=v1.28.4", P "1.28/1.28/1.27 Version\n" ASK, ""},
    {"only OpenAPI may be read", ONE "openapi=1.34 error=forbidden failed=version,metrics",
     P "?/1.34/~1.33 None ev:OpenAPI Forbidden\n" ASK,
     "API servers deny /version, /metrics: grant get on these nonResourceURLs"},
    {"vendor suffix", ONE "version=v1.30.5-gke.1014001 info=1.30.5",
     P "1.30/1.30/1.29 VersionInfo\n" ASK, ""},
    {"not to be parsed", ONE "version=unknown", P "?/?/? Version Unparsable\n" ASK, ""},
    {"a build without tag", ONE "version=v0.0.0-master+$Format:%H$",
     P "?/?/? Version Unparsable\n" ASK, ""},
    {"two servers behind one address", ONE "version=v1.36.2 ev=1.35 mcv=1.34 openapi=1.34",
     P "1.36/~1.35/~1.34 Version conflict(/version reports emulation version 1.35, but OpenAPI's "
       "info.version reports 1.34: more than one server seems to answer at 10.0.0.1:6443)\n" ASK,
     ""},
    {"that differ in the minimum alone",
     ONE "version=v1.36.2 ev=1.36 mcv=1.35 info=1.36.2 info_ev=1.36 info_mcv=1.34",
     P "1.36/1.36/~1.34 VersionInfo conflict(the version_info metric reports minimum compatibility "
       "version 1.34, but /version reports 1.35: more than one server seems to answer at "
       "10.0.0.1:6443)\n" ASK,
     ""},
    {"kept metrics of before an upgrade do not count",
     ONE "version=v1.36.2 info=1.35.1 info_ev=1.34 info_mcv=1.33 error=forbidden failed=metrics",
     P "1.36/~1.36/~1.35 Version\n" ASK, "API servers deny /metrics: grant get"},
    {"kept metrics of the same binary do, for a minute",
     ONE "version=v1.36.2 info=1.36.2 info_ev=1.34 info_mcv=1.33 error=forbidden failed=metrics",
     P "1.36/1.34/1.33 Version ev:VersionInfo mcv:VersionInfo\n" ASK,
     "API servers deny /metrics: grant get"},
    {"after a minute they are assumed",
     ONE "version=v1.36.2 info=1.36.2 info_ev=1.34 info_mcv=1.33 error=forbidden failed=metrics "
         "failing=61",
     P "1.36/~1.34/~1.33 Version\n" ASK, "API servers deny /metrics: grant get"},
    {"and at once when the server was away",
     ONE "version=v1.36.2 info=1.36.2 info_ev=1.34 info_mcv=1.33 error=forbidden failed=metrics "
         "outdated=true",
     P "1.36/~1.34/~1.33 Version\n" ASK, "API servers deny /metrics: grant get"},
    {"unreachable, but in the endpoints: the last answers stand for a minute",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2 ev=1.35 mcv=1.34 error=refused age=90 "
     "failing=60",
     "peer 10.0.0.1:6443 live (ConnectionRefused) 1.36/1.35/1.34 Version\n" ASK, ""},
    {"and then prove nothing",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2 ev=1.35 mcv=1.34 error=refused age=90 "
     "failing=61",
     "peer 10.0.0.1:6443 live (ConnectionRefused) ?/~1.35/~1.34 Version ConnectionRefused\n" ASK,
     ""},
    {"nor do those that a light round did not repeat",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2 info=1.36.2 info_ev=1.35 info_mcv=1.34 "
     "error=refused failed=reach,version failing=61",
     "peer 10.0.0.1:6443 live (ConnectionRefused) ?/~1.35/~1.34 VersionInfo "
     "ConnectionRefused\n" ASK,
     ""},
    {"never answered", "slice 10.0.0.1\nprobe 10.0.0.1:6443 error=timeout",
     "peer 10.0.0.1:6443 live (Timeout) ?/?/? None Timeout\n" ASK, ""},
    {"not verified", "slice 10.0.0.1\nprobe 10.0.0.1:6443 error=tls",
     "peer 10.0.0.1:6443 live (TLSFailure) ?/?/? None TLSFailure\n" ASK, ""},
    {"listed, never asked", "controlplane mode=Static endpoints=10.0.0.1:6443",
     "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n" ASK, ""},
    {"another spelling of the address",
     "slice fd00::1 type=IPv6\nprobe [FD00:0::1]:6443 version=v1.36.2 ev=1.36 mcv=1.35",
     "peer [fd00::1]:6443 live reachable 1.36/1.36/1.35 Version\n"
     "ask kube-apiserver [fd00::1]:6443\n",
     ""},
    {"neither in the endpoints nor renewed",
     "slice 10.0.0.1 ready=false\nprobe 10.0.0.1:6443 version=v1.36.2 error=refused",
     "peer 10.0.0.1:6443 (ConnectionRefused) 1.36/~1.36/~1.35 Version\n" ASK, ""},
    {"a renewed lease without address is a live server of unknown version", "lease cp-a",
     "peer cp-a live (NoAddress) ?/?/? None NoAddress\n", ""},
    {"a crashed server", "slice 10.0.0.1\nlease cp-a age=1800",
     "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n"
     "peer cp-a (LeaseStale) ?/?/? None LeaseStale\n" ASK,
     "1 API server (10.0.0.1:6443) has no identity lease of its own"},
    {"slices may not be read", "lease cp-a\ndeny endpoint_slices forbidden: needs list",
     "peer cp-a live (NoAddress) ?/?/? None NoAddress\n",
     "EndpointSlices in the namespace default could not be read (forbidden: needs list)"},
    {"nodes may not be read", "slice 10.0.0.1\ndeny nodes forbidden: needs list on nodes",
     "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n" ASK,
     "Nodes could not be read (forbidden: needs list on nodes): versions of kubelets"},
    {"candidates that are not served are no problem of their own",
     "slice 10.0.0.1\ndeny candidates not served",
     "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n" ASK, ""},
    {"candidates that may not be read are",
     "slice 10.0.0.1\ndeny candidates forbidden: needs list on leasecandidates",
     "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n" ASK,
     "LeaseCandidates could not be read (forbidden"},
    {"the ControlPlane may not be read", "slice 10.0.0.1\ndeny controlplane forbidden: needs list",
     "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n" ASK,
     "the ControlPlane could not be read (forbidden: needs list): its spec does not apply"},
};

START_TEST(peer_row)
{
    check_row(&peers[_i]);
}
END_TEST

#define KCM    "kube-controller-manager"
#define SCHED  "kube-scheduler"
#define RKE2   "rancher/hardened-kubernetes"
#define PROVEN "\nslice 10.0.0.1\nprobe 10.0.0.1:6443 proven=true\n"
#define BESIDE "peer 10.0.0.1:6443 live (NotProbed) ?/?/? None NotProbed\n" /* and ASK */
#define HELP   "cannot be observed: its election lease has none, and no pod of it is seen; "
#define IGNORE                                                                                     \
    "list kube-scheduler in spec.skewPolicy.ignoredComponents, or run check with "                 \
    "--ignore=kube-scheduler\n"
#define UNTAGGED                                                                                   \
    "cannot be observed: its election lease has none, and the image of its pod has no "            \
    "Kubernetes version as its tag; "
#define TAG  "run it from a pod whose image tag is its version\n"
#define GATE "enable the feature gate CoordinatedLeaderElection with coordination.k8s.io/"

/* A scheduler that only its election lease knows, and an API server. */
#define ELECTED(answers)                                                                           \
    ONE answers "\nelection " SCHED " holder=cp-a_1-2-3", "peer 10.0.0.1:6443 live reachable "
#define LEADS SCHED " cp-a leader ?/?/? None NotObservable\n" ASK

static const struct row instances[] = {
    {"candidates and their leader",
     "candidate cp-a of=" SCHED "\ncandidate cp-b of=" SCHED " ev=1.35.0\n"
     "election " SCHED " holder=cp-b_11111111-2222-3333-4444-555555555555",
     SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n" SCHED
           " cp-b leader 1.36/1.35/~1.34 LeaseCandidate\n",
     ""},
    {"a leader that lost its lease is none",
     "candidate cp-a of=" SCHED "\nelection " SCHED
     " holder=cp-a_11111111-2222-3333-4444-555555555555 age=16",
     SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"the lease's own duration counts",
     "candidate cp-a of=" SCHED "\nelection " SCHED
     " holder=cp-a_11111111-2222-3333-4444-555555555555 age=16 duration=60",
     SCHED " cp-a leader 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"a ping that went unanswered", "candidate cp-a of=" SCHED " renewed=60 pinged=6",
     SCHED " cp-a stale:PingUnanswered 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"a ping just sent", "candidate cp-a of=" SCHED " renewed=60 pinged=5",
     SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"a ping answered", "candidate cp-a of=" SCHED " renewed=60 pinged=61",
     SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"who renews the lease lives, ping or no ping",
     "candidate cp-a of=" SCHED " renewed=60 pinged=6\nelection " SCHED
     " holder=cp-a_11111111-2222-3333-4444-555555555555",
     SCHED " cp-a leader 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"expired", "candidate cp-a of=" SCHED " created=4000 renewed=1801",
     SCHED " cp-a stale:Expired 1.36/1.36/~1.35 LeaseCandidate\n", ""},
    {"restarted: the old one is superseded",
     "candidate cp-a of=" SCHED " uuid=old created=900 renewed=300 bv=1.35.1 ev=1.35.0\n"
     "candidate cp-a of=" SCHED " uuid=new created=60 renewed=60",
     SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n" SCHED
           " cp-a_old stale:Superseded 1.35/1.35/~1.34 LeaseCandidate\n",
     ""},
    {"two on one host, both renewed",
     "candidate cp-a of=" SCHED " uuid=x created=900 renewed=30 bv=1.35.1 ev=1.35.0\n"
     "candidate cp-a of=" SCHED " uuid=y created=60 renewed=60",
     SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n" SCHED
           " cp-a_x 1.35/1.35/~1.34 LeaseCandidate\n",
     ""},
    {"the same host, another component is no successor",
     "candidate cp-a of=" KCM " uuid=x created=900 renewed=300\n"
     "candidate cp-a of=" SCHED " uuid=y created=60 renewed=60",
     KCM " cp-a 1.36/1.36/~1.35 LeaseCandidate\n" SCHED " cp-a 1.36/1.36/~1.35 LeaseCandidate\n",
     ""},
    {"candidates of others", "candidate cp-a of=my-operator", "", ""},
    {"garbage in a candidate", "candidate cp-a of=" SCHED " bv=latest ev=x",
     SCHED " cp-a ?/?/? LeaseCandidate Unparsable\n", ""},
    {"an election lease alone tells no version", "election " SCHED " holder=cp-a_1-2-3",
     SCHED " cp-a leader ?/?/? None NotObservable\n",
     "the version of kube-scheduler on cp-a " HELP IGNORE},
    {"and before there were LeaseCandidates and version_info",
     ELECTED("version=v1.27.4") "1.27/1.27/1.26 Version\n" LEADS, HELP IGNORE},
    {"LeaseCandidates of 1.32",
     ELECTED(
         "version=v1.32.2 openapi=1.32") "1.32/1.32/1.31 Version ev:OpenAPI mcv:OpenAPI\n" LEADS,
     HELP GATE "v1alpha2, or " IGNORE},
    {"LeaseCandidates of 1.32, where it may be 1.31 that is emulated",
     ELECTED("version=v1.32.2") "1.32/~1.32/~1.31 Version\n" LEADS, HELP IGNORE},
    {"LeaseCandidates of 1.33",
     ELECTED("version=v1.33.2 ev=1.33 mcv=1.32") "1.33/1.33/1.32 Version\n" LEADS,
     HELP GATE "v1beta1, or " IGNORE},
    {"LeaseCandidates of an older emulation, and metrics of a newer binary",
     ELECTED("version=v1.35.2 ev=1.32 mcv=1.32") "1.35/1.32/1.32 Version\n" LEADS,
     HELP GATE "v1alpha2, or " IGNORE},
    {"LeaseCandidates and metrics",
     ELECTED("version=v1.36.2 ev=1.36 mcv=1.35") "1.36/1.36/1.35 Version\n" LEADS,
     HELP GATE "v1beta1, or " IGNORE},
    {"candidates are not missed before there were any",
     ONE "version=v1.27.4\npod " SCHED " n1 static=false image=" SCHED
         ":v1\ndeny candidates not served",
     "peer 10.0.0.1:6443 live reachable 1.27/1.27/1.26 Version\n" SCHED
     " n1 ?/?/? PodImage Unparsable\n" ASK,
     ""},
    {"an expired election lease alone", "election " KCM " holder=cp-a_1-2-3 age=3600",
     KCM " cp-a stale:Expired ?/?/? None NotObservable\n", ""},
    {"API servers' own elections are none of these",
     "election leader-election-controller holder=cp-a_1\nelection my-operator holder=pod-1_2", "",
     ""},
    {"a cloud controller", "election cloud-controller-manager holder=cp-a_1",
     "cloud-controller-manager cp-a leader ?/?/? None NotObservable\n",
     "the version of cloud-controller-manager on cp-a cannot be observed: its election lease has "
     "none, and no pod of it is seen; list cloud-controller-manager in "
     "spec.skewPolicy.ignoredComponents, or run check with --ignore=cloud-controller-manager\n"},
    {"where a provider hides the control plane, no gate is named",
     ELECTED("version=v1.36.2 ev=1.36 mcv=1.35\nnode n1 kubelet=v1.36.0") "1.36/1.36/1.35 "
                                                                          "Version\n" SCHED
                                                                          " cp-a leader ?/?/? None "
                                                                          "NotObservable\nkubelet "
                                                                          "\"v1.36.0\" 1: n1 "
                                                                          "1.36/1.36/? Node\n" ASK,
     HELP IGNORE},
    {"metrics of a pod whose image says nothing",
     ONE "version=v1.36.2 ev=1.36 mcv=1.35\npod " SCHED " n1 static=false image=x/base:1",
     "peer 10.0.0.1:6443 live reachable 1.36/1.36/1.35 Version\n" SCHED
     " n1 ?/?/? None NotObservable\n" ASK,
     UNTAGGED GATE "v1beta1, or let its /metrics be read at the pod's address (--bind-address)\n"},
    {"pod, lease and node are one instance",
     "election " KCM " holder=host-1_uuid\nnode n1 hostname=host-1 kubelet=v1.36.0\n"
     "pod " KCM " n1 ip=10.0.0.1 image=registry.k8s.io/" KCM ":v1.35.3" PROVEN,
     BESIDE KCM " host-1 leader 1.35/~1.35/~1.34 PodImage unproven\n"
                "kubelet \"v1.36.0\" 1: n1 1.36/1.36/? Node\n" ASK "ask " KCM " 10.0.0.1:10257\n",
     ""},
    {"metrics tell most",
     "candidate cp-a of=" KCM " ev=1.35.0\npod " KCM " cp-a ip=10.0.0.1" PROVEN
     "probe 10.0.0.1:10257 info=1.36.2 info_ev=1.35 info_mcv=1.33",
     BESIDE KCM " cp-a 1.36/1.35/1.33 VersionInfo\n" ASK "ask " KCM " 10.0.0.1:10257\n", ""},
    {"sources that disagree",
     "candidate cp-a of=" KCM " ev=1.35.0\npod " KCM " cp-a ip=10.0.0.1" PROVEN
     "probe 10.0.0.1:10257 info=1.36.2 info_ev=1.36 info_mcv=1.35",
     BESIDE KCM
     " cp-a 1.36/1.36/1.35 VersionInfo conflict(the version_info metric reports emulation version "
     "1.36, but its LeaseCandidate reports 1.35)\n" ASK "ask " KCM " 10.0.0.1:10257\n",
     ""},
    {"restarted without coordinated election: the dead candidate tells nothing",
     "candidate cp-a of=" SCHED " created=4000 renewed=2000 bv=1.35.1 ev=1.35.0\n"
     "pod " SCHED " cp-a ip=10.0.0.1" PROVEN,
     BESIDE SCHED " cp-a 1.36/~1.36/~1.35 PodImage unproven\n" ASK "ask " SCHED " 10.0.0.1:10259\n",
     ""},
    {"another port", "pod " SCHED " cp-a ip=10.0.0.1 args=--secure-port=10300" PROVEN,
     BESIDE SCHED " cp-a 1.36/~1.36/~1.35 PodImage unproven\n" ASK "ask " SCHED " 10.0.0.1:10300\n",
     ""},
    {"no port", "pod " SCHED " cp-a ip=10.0.0.1 args=--secure-port=0" PROVEN,
     BESIDE SCHED " cp-a 1.36/~1.36/~1.35 PodImage unproven\n" ASK, ""},
    {"listening on loopback only",
     "pod " SCHED " cp-a ip=10.0.0.1 args=--bind-address=127.0.0.1" PROVEN,
     BESIDE SCHED " cp-a 1.36/~1.36/~1.35 PodImage unproven\n" ASK, ""},
    {"listening everywhere", "pod " SCHED " cp-a ip=10.0.0.1 args=--bind-address,0.0.0.0" PROVEN,
     BESIDE SCHED " cp-a 1.36/~1.36/~1.35 PodImage unproven\n" ASK "ask " SCHED " 10.0.0.1:10259\n",
     ""},
    {"a pod that is not static is not called", "pod " SCHED " cp-a ip=10.0.0.1 static=false",
     SCHED " cp-a 1.36/~1.36/~1.35 PodImage\n", ""},
    {"a pod that is never called: metadata service", "pod " SCHED " cp-a ip=169.254.169.254",
     SCHED " cp-a 1.36/~1.36/~1.35 PodImage unproven\n", ""},
    {"off the host's network, a process has its pod's name",
     "pod cloud-controller-manager n1 name=ccm-7f hostnet=false label=k8s-app "
     "image=registry.k8s.io/provider-aws/cloud-controller-manager:v1.34.1\n"
     "election cloud-controller-manager holder=ccm-7f_uuid",
     "cloud-controller-manager ccm-7f leader 1.34/1.34/? PodImage unproven\n", ""},
    {"a vendor's cloud controller has a version of its own",
     "pod cloud-controller-manager n1 image=docker.io/x/x-cloud-controller-manager:v1.20.0",
     "cloud-controller-manager n1 ?/?/? None NotObservable\n", "cannot be observed"},
    {"nor is a vendor's own name, though it has the component's in it",
     "pod " SCHED " n1 static=false image=corp.example/base-" SCHED ":v1.4.0\n"
     "pod " SCHED " n2 static=false image=corp.example/" SCHED "-operator:v1.4.0\n"
     "pod " SCHED " n3 static=false image=mirantis/ucp-hyperkube:3.4.0\n"
     "pod " SCHED " n4 static=false image=corp.example/" SCHED ":1.4.0",
     SCHED " n1 ?/?/? None NotObservable\n" SCHED " n2 ?/?/? None NotObservable\n" SCHED
           " n3 ?/?/? None NotObservable\n" SCHED " n4 ?/?/? None NotObservable\n",
     "the version of kube-scheduler on n1, n2, n3 and 1 more " UNTAGGED TAG},
    {"builds that keep Kubernetes' numbers",
     "pod " SCHED " n1 static=false image=public.ecr.aws/eks-distro/kubernetes/" SCHED
     ":v1.34.1-eks-1-34-5\n"
     "pod " SCHED
     " n2 static=false image=rancher/hardened-kubernetes:v1.34.1-rke2r1-build20251010\n"
     "pod " SCHED " n3 static=false image=rancher/hyperkube:v1.34.1-rancher1\n"
     "pod " SCHED " n4 static=false image=" SCHED "-amd64:v1.34.1\n"
     "pod " SCHED " n5 static=false image=x/hyperkube-arm64:v1.34.1",
     SCHED " n1 1.34/~1.34/~1.33 PodImage\n" SCHED " n2 1.34/~1.34/~1.33 PodImage\n" SCHED
           " n3 1.34/~1.34/~1.33 PodImage\n" SCHED " n4 1.34/~1.34/~1.33 PodImage\n" SCHED
           " n5 1.34/~1.34/~1.33 PodImage\n",
     ""},
    {"tags with a plus", "pod " SCHED " n1 static=false image=x:5000/a/" SCHED ":v1.34.2_k3s1",
     SCHED " n1 1.34/~1.34/~1.33 PodImage\n", ""},
    {"tag and digest", "pod " SCHED " n1 static=false image=" SCHED ":v1.34.2@sha256:00ff",
     SCHED " n1 1.34/~1.34/~1.33 PodImage\n", ""},
    {"a digest only", "pod " SCHED " n1 static=false image=x:5000/" SCHED "@sha256:00ff",
     SCHED " n1 ?/?/? None NotObservable\n", "the version of kube-scheduler on n1 " UNTAGGED TAG},
    {"a tag that is no version", "pod " SCHED " n1 static=false image=" SCHED ":v1",
     SCHED " n1 ?/?/? PodImage Unparsable\n", ""},
    {"the status says what runs, whatever the spec says",
     "pod " SCHED " n1 static=false image=index.docker.io/" RKE2 ":v1.25.11-rke2r1-build20230614 "
     "running=docker.io/" RKE2 ":v1.27.4-rke2r1-build20230719",
     SCHED " n1 1.27/1.27/1.26 PodImage conflict(the spec of pod " SCHED "-n1 is not what runs: "
           "image index.docker.io/" RKE2 ":v1.25.11-rke2r1-build20230614, running docker.io/" RKE2
           ":v1.27.4-rke2r1-build20230719)\n",
     ""},
    {"what runs is not known to be Kubernetes: not the spec's version",
     "pod " SCHED " n1 static=false image=x/" SCHED ":v1.30.4 running=x/base:v1.31.0",
     SCHED " n1 ?/?/? None NotObservable conflict(the spec of pod " SCHED "-n1 is not what runs: "
           "image x/" SCHED ":v1.30.4, running x/base:v1.31.0)\n",
     "the version of kube-scheduler on n1 cannot be observed: its election lease has none, and the "
     "spec of pod " SCHED "-n1 is not what runs: image x/" SCHED
     ":v1.30.4, running x/base:v1.31.0; "
     "run it from a pod whose image tag is its version, in its spec and in its status\n"},
    {"the tag of a static pod is not confirmed: two images are named",
     "pod " SCHED " n1 image=x/" SCHED ":v1.36.2 running=sha256:00ff",
     SCHED " n1 ?/?/? None NotObservable conflict(the spec of pod " SCHED "-n1 is not confirmed by "
           "the status: image x/" SCHED ":v1.36.2, running sha256:00ff)\n",
     "the spec of pod " SCHED "-n1 is not confirmed by the status: image x/" SCHED ":v1.36.2, "
     "running sha256:00ff; run it from a pod whose image tag is its version, in its spec and"},
    {"a pod that waits", "pod " SCHED " n1 phase=Pending",
     SCHED " n1 stale:NotRunning 1.36/~1.36/~1.35 PodImage unproven\n", ""},
    {"a pod that has ended", "pod " SCHED " n1 phase=Failed", "", ""},
    {"told by tier and name", "pod " SCHED " n1 static=false label=none",
     SCHED " n1 1.36/~1.36/~1.35 PodImage\n", ""},
    {"two pods on one host",
     "pod " SCHED " n1 static=false name=a\n"
     "pod " SCHED " n1 static=false name=b image=" SCHED ":v1.35.0",
     SCHED " b 1.35/~1.35/~1.34 PodImage\n" SCHED " n1 1.36/~1.36/~1.35 PodImage\n", ""},
    {"a recording's probe, by name",
     "probe " SCHED "/sched-a info=1.36.2 info_ev=1.34 info_mcv=1.33\nprobe x/y info=1.1",
     SCHED " sched-a 1.36/1.34/1.33 VersionInfo\n", ""},
    {"candidates are missed where a pod is all there is",
     "pod " SCHED " n1 static=false\ndeny candidates not served (coordination.k8s.io/v1beta1)",
     SCHED " n1 1.36/~1.36/~1.35 PodImage\n",
     "LeaseCandidates could not be read (not served (coordination.k8s.io/v1beta1))"},
};

START_TEST(instance_row)
{
    check_row(&instances[_i]);
}
END_TEST

static const struct row nodes[] = {
    {"by version, newest first, three names",
     "node n5 kubelet=v1.33.1\nnode n4 kubelet=v1.36.2\nnode n3 kubelet=v1.36.2\n"
     "node n2 kubelet=v1.36.2\nnode n1 kubelet=v1.36.2\nnode n6 kubelet=v1.36.10",
     "kubelet \"v1.36.10\" 1: n6 1.36/1.36/? Node\n"
     "kubelet \"v1.36.2\" 4: n1 n2 n3 1.36/1.36/? Node\n"
     "kubelet \"v1.33.1\" 1: n5 1.33/1.33/? Node\n",
     ""},
    {"unknown is a group", "node n1\nnode n2 kubelet=latest\nnode n3\nnode n4 kubelet=v1.36.0",
     "kubelet \"v1.36.0\" 1: n4 1.36/1.36/? Node\nkubelet \"latest\" 1: n2 ?/?/? Node Unparsable\n"
     "kubelet \"\" 2: n1 n3 ?/?/? None Absent\n",
     ""},
    {"kube-proxies by their images, paired with kubelets",
     "node n1 kubelet=v1.36.2\nnode n2 kubelet=v1.36.2\nnode n3 kubelet=v1.33.0\n"
     "pod kube-proxy n1\npod kube-proxy n2 image=eks/kube-proxy:v1.35.1-minimal-eksbuild.1\n"
     "pod kube-proxy n3 image=x/kube-proxy@sha256:00\npod kube-proxy n9",
     "kubelet \"v1.36.2\" 2: n1 n2 1.36/1.36/? Node\nkubelet \"v1.33.0\" 1: n3 1.33/1.33/? Node\n"
     "kube-proxy \"v1.36.2\" 2: n1 n9 1.36/1.36/? PodImage\n"
     "kube-proxy \"v1.35.1-minimal-eksbuild.1\" 1: n2 1.35/1.35/? PodImage\n"
     "kube-proxy \"\" 1: n3 ?/?/? None NotObservable\n"
     "pair 1.36 1.36 1: n1\npair 1.36 1.35 1: n2\n",
     ""},
    {"a kube-proxy's status says what runs",
     "node n1 kubelet=v1.36.2\nnode n2 kubelet=v1.36.2\n"
     "pod kube-proxy n1 running=x/kube-proxy:v1.33.0\n"
     "pod kube-proxy n2 static=false running=sha256:00ff\n",
     "kubelet \"v1.36.2\" 2: n1 n2 1.36/1.36/? Node\n"
     "kube-proxy \"v1.36.2\" 1: n2 1.36/1.36/? PodImage\n"
     "kube-proxy \"v1.33.0\" 1: n1 1.33/1.33/? PodImage\n"
     "pair 1.36 1.36 1: n2\npair 1.36 1.33 1: n1\n",
     "the spec of kube-proxy-n1 is not what runs: image registry.k8s.io/kube-proxy:v1.36.2, "
     "running x/kube-proxy:v1.33.0"},
    {"one that is not known to be a kube-proxy",
     "node n1 kubelet=v1.36.2\npod kube-proxy n1 running=x/base:v1.33.0\n",
     "kubelet \"v1.36.2\" 1: n1 1.36/1.36/? Node\nkube-proxy \"\" 1: n1 ?/?/? None NotObservable\n",
     "the spec of kube-proxy-n1 is not what runs: image registry.k8s.io/kube-proxy:v1.36.2, "
     "running x/base:v1.33.0"},
    {"a proxy that does not run", "pod kube-proxy n1 phase=Pending\npod kube-proxy n2 phase=Failed",
     "", ""},
};

START_TEST(node_row)
{
    check_row(&nodes[_i]);
}
END_TEST

/* Every node another version: the groups stay bounded, and every node is in one. */
START_TEST(groups_are_bounded)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets, count = 0, n_other = 0, n_folded = 0;
    char line[256];

    for (int i = 0; i < 600; i++) {
        snprintf(line, sizeof line, "node n%d kubelet=v1.%d.%d", i, i < 300 ? 30 + i % 7 : i, i);
        ek_view_fixture_script(fx, line);
    }
    ek_view_fixture_script(fx, "node x1 kubelet=garbage-1\nnode x2 kubelet=v1.36.2\n"
                               "node x3 kubelet=v1.36.2");
    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n_targets);
    ck_assert_uint_le(facts.n_groups, EK_SKEW_GROUPS_MAX);
    for (size_t i = 0; i < facts.n_groups; i++) {
        const struct ek_node_group *g = &facts.groups[i];
        count += g->count;
        n_folded += strstr(g->version, " (other builds)") != NULL;
        if (!strcmp(g->version, "other")) {
            n_other++;
            ck_assert_str_eq(g->versions.unknown_reason, "TooMany");
            ck_assert(!g->versions.binary.known);
        } else {
            ck_assert(g->versions.binary.known || !strcmp(g->version, "garbage-1"));
        }
    }
    ck_assert_uint_eq(count, 603);
    ck_assert_uint_eq(facts.n_nodes, 603);
    ck_assert_uint_eq(n_other, 1);
    ck_assert_uint_gt(n_folded, 6);
    ek_arena_free(arena);
}
END_TEST

/* A long version is cut between characters, so that what is written stays valid UTF-8. */
START_TEST(long_versions)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets;
    EK_AUTO(ek_buf) line;

    ek_buf_init(&line, 4096);
    ek_buf_puts(&line, "node n1 kubelet=v1.36.2-x");
    for (int i = 0; i < 200; i++)
        ek_buf_puts(&line, "\u20ac");
    ek_view_fixture_script(fx, ek_buf_str(&line));
    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n_targets);
    ck_assert_uint_eq(facts.n_groups, 1);
    ck_assert_uint_eq(strlen(facts.groups[0].version), 9 + 117);
    ck_assert_uint_eq(facts.groups[0].versions.binary.minor, 36);
    ek_arena_free(arena);
}
END_TEST

START_TEST(ages)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets;

    ek_view_fixture_script(fx, "candidate cp-a of=" SCHED " renewed=60\n"
                               "candidate cp-b of=" SCHED " renewed=90\n"
                               "election " SCHED " holder=cp-b_x age=7\n"
                               "pod " SCHED " cp-c static=false\n"
                               "lease cp-a age=12");
    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n_targets);
    ck_assert_uint_eq(facts.n_instances, 3);
    ck_assert_int_eq(facts.instances[0].age_ms, 60000);
    ck_assert_int_eq(facts.instances[1].age_ms, 7000);
    ck_assert_int_eq(facts.instances[2].age_ms, -1);
    ck_assert_int_eq(facts.peers[0].lease_age_ms, 12000);
    ek_arena_free(arena);
}
END_TEST

/* The same facts whatever order the objects come in. */
START_TEST(order_does_not_matter)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    EK_AUTO(ek_buf) forth;
    EK_AUTO(ek_buf) back;
    EK_AUTO(ek_buf) problems_forth;
    EK_AUTO(ek_buf) problems_back;

    ek_buf_init(&forth, 65536);
    ek_buf_init(&back, 65536);
    ek_buf_init(&problems_forth, 65536);
    ek_buf_init(&problems_back, 65536);
    ek_view_fixture_script(
        fx, "lease cp-a label=no\nlease cp-b\nlease cp-c holder=none\nlease cp-d\n"
            "slice 10.0.0.1 10.0.0.2\nslice 10.0.0.3\npod kube-apiserver cp-b ip=10.0.0.3\n"
            "candidate cp-a of=" SCHED " uuid=1\ncandidate cp-a of=" SCHED " uuid=2\n"
            "candidate cp-b of=" KCM " uuid=1\npod " KCM " cp-b ip=10.0.0.3\n"
            "pod " KCM " cp-b name=z static=false\nelection " KCM " holder=cp-b_1\n"
            "election " SCHED " holder=cp-z_1\nprobe 10.0.0.3:10257 info=1.36.2\n"
            "probe " SCHED "/cp-a info=1.36.2");
    print_facts(fx, &forth, &problems_forth);
    ek_view_fixture_reverse(fx);
    print_facts(fx, &back, &problems_back);
    ck_assert_str_eq(ek_buf_str(&forth), ek_buf_str(&back));
    ck_assert_str_eq(ek_buf_str(&problems_forth), ek_buf_str(&problems_back));
    ck_assert_uint_gt(problems_forth.len, 0);
}
END_TEST

static const char recorded_cluster[] =
    "peer cp-a live reachable 1.36/1.36/1.35 VersionInfo\n"
    "peer cp-b live reachable 1.36/1.35/1.34 VersionInfo\n"
    "peer cp-c live reachable 1.36/1.34/1.33 VersionInfo\n"
    "peer cp-d live reachable 1.36/1.33/1.33 VersionInfo\n"
    "peer cp-e live reachable 1.36/1.36/1.36 VersionInfo\n"
    "peer cp-f live reachable 1.36/1.35/1.33 VersionInfo\n" KCM
    " kcm-a 1.36/1.36/1.35 VersionInfo\n" KCM " kcm-b leader 1.36/1.35/1.34 VersionInfo\n" SCHED
    " sched-a 1.36/1.36/1.35 VersionInfo\n" SCHED
    " sched-a_763f546c-1ed3-41a8-9a83-2b6e559ec894 stale:Superseded 1.36/1.36/~1.35 "
    "LeaseCandidate\n" SCHED " sched-b leader 1.36/1.34/1.33 VersionInfo\n";

/* The recorded nodes whose version is not plain; all others are one group each. */
static const char *const recorded_groups[] = {
    "kubelet \"v1.36.2\" 1: n09 1.36/1.36/? Node\n",
    "kubelet \"v1.36.2-dirty\" 1: n22 1.36/1.36/? Node\n",
    "kubelet \" v1.36.2 \" 1: n30 1.36/1.36/? Node\n",
    "kubelet \"v1.34.2+k3s1\" 1: n12 1.34/1.34/? Node\n",
    "kubelet \"1.35.2\" 1: n23 1.35/1.35/? Node\n",
    "kubelet \"v1\" 1: n25 ?/?/? Node Unparsable\n",
    "kubelet \"unknown\" 1: n27 ?/?/? Node Unparsable\n",
    "kubelet \"v01.36.2\" 1: n29 ?/?/? Node Unparsable\n",
    "kubelet \"v99999999999999999999.1.1\" 1: n31 ?/?/? Node Unparsable\n",
    "kubelet \"containerd://2.0.4\" 1: n34 ?/?/? Node Unparsable\n",
    "kubelet \"\" 2: n26 n35 ?/?/? None Absent\n",
};

START_TEST(the_recorded_cluster)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) problems;

    ek_buf_init(&out, 65536);
    ek_buf_init(&problems, 65536);
    ek_view_fixture_add_recording(fx);
    print_facts(fx, &out, &problems);
    const char *text = ek_buf_str(&out);
    ck_assert_msg(!strncmp(text, recorded_cluster, strlen(recorded_cluster)), "got\n%s", text);
    for (size_t i = 0; i < EK_ARRAY_SIZE(recorded_groups); i++)
        ck_assert_msg(strstr(text, recorded_groups[i]) != NULL, "no %sin\n%s", recorded_groups[i],
                      text);
    ck_assert_ptr_nonnull(strstr(text, "ask kube-apiserver 10.99.0.11:7443\n"));
    ck_assert_str_eq(ek_buf_str(&problems), "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    if (!ek_view_fixture_has_recording()) {
        puts("no recorded cases: skipped");
        return 77;
    }
    tcase_add_loop_test(tc, peer_row, 0, (int)EK_ARRAY_SIZE(peers));
    tcase_add_loop_test(tc, instance_row, 0, (int)EK_ARRAY_SIZE(instances));
    tcase_add_loop_test(tc, node_row, 0, (int)EK_ARRAY_SIZE(nodes));
    tcase_add_test(tc, groups_are_bounded);
    tcase_add_test(tc, long_versions);
    tcase_add_test(tc, ages);
    tcase_add_test(tc, order_does_not_matter);
    tcase_add_test(tc, the_recorded_cluster);
    tcase_set_timeout(tc, 60);
    return ek_test_run("facts", tc);
}
