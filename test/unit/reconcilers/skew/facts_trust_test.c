/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes the facts let us ask, and what is said of the others. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "reconcilers/skew/facts.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

#define KCM    "kube-controller-manager"
#define SCHED  "kube-scheduler"
#define PROVEN "\nslice 10.0.0.1\nprobe 10.0.0.1:6443 proven=true\n"
#define BESIDE "peer 10.0.0.1:6443 live NotProbed\n"
#define ASK    "ask kube-apiserver 10.0.0.1:6443 own\n"
/* The same by IPv6. */
#define PROVEN6 "\nslice fd00::1 type=IPv6\nprobe [fd00:0::1]:6443 proven=true"
#define BESIDE6 "peer [fd00::1]:6443 live NotProbed\n"
#define ASK6    "ask kube-apiserver [fd00::1]:6443 own\n"

static const char *const credentials[EK_PROBE_CREDENTIAL_MAX] = {"?", "probe", "own"};

/* Versions as binary/emulation, "~" before what was assumed. */
static void print(const struct ek_skew_facts *facts, const struct ek_probe_target *targets,
                  size_t n, struct ek_buf *out)
{
    char text[EK_MINOR_SIZE];

    for (size_t i = 0; i < facts->n_peers; i++)
        ek_buf_printf(out, "peer %s%s %s\n", facts->peers[i].name,
                      facts->peers[i].live ? " live" : "", facts->peers[i].unreachable_reason);
    for (size_t i = 0; i < facts->n_instances; i++) {
        const struct ek_instance_fact *f = &facts->instances[i];
        ek_buf_printf(out, "%s %s %s%s %s\n", ek_component_name(f->component), f->name,
                      f->versions.assumed_emulation ? "~" : "",
                      ek_minor_format(f->versions.emulation, text),
                      ek_source_name(f->versions.source));
    }
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, "ask %s %s %s\n", targets[i].component, targets[i].address,
                      credentials[targets[i].credential]);
}

/* problem: a part of the problems; "" when there must be none. */
static const struct {
    const char *name, *script, *facts, *problem;
} rows[] = {
    {"only a static pod names the address: shown, and not asked",
     "node cp-a role=control-plane\nlease cp-a\npod kube-apiserver cp-a ip=10.0.0.1\n"
     "probe 10.0.0.1:6443 version=v1.36.2",
     "peer cp-a live NotTrusted\n", ""},
    {"the same without a lease: it may have ended",
     "node cp-a role=control-plane\npod kube-apiserver cp-a ip=10.0.0.1", "peer cp-a NotTrusted\n",
     ""},
    {"the same of a worker: it is not one of them", "node w-1\npod kube-apiserver w-1 ip=10.0.0.1",
     "", "are not counted as API servers"},
    {"nothing vouches for the pod's address: any node may write such a pod",
     "pod " SCHED " cp-a ip=10.0.0.1", SCHED " cp-a ~1.36 PodImage\n",
     "kube-scheduler on cp-a is not contacted: no API server was verified at its address"},
    {"an API server that answers elsewhere vouches for nobody here",
     "pod " SCHED " cp-a ip=10.0.0.2" PROVEN, BESIDE SCHED " cp-a ~1.36 PodImage\n" ASK,
     "kube-scheduler on cp-a is not contacted"},
    {"nothing vouches for it, and its candidate tells all: no need for a sentence",
     "candidate cp-a of=" SCHED "\npod " SCHED " cp-a ip=10.0.0.1",
     SCHED " cp-a 1.36 LeaseCandidate\n", ""},
    {"what an untrusted process said before is not read",
     "pod " SCHED " cp-a ip=10.0.0.1\nprobe 10.0.0.1:10259 info=1.31.0 info_ev=1.31",
     SCHED " cp-a ~1.36 PodImage\n", "is not contacted"},
    {"a probe of the component itself proves nothing",
     "pod " SCHED " cp-a ip=10.0.0.1\nprobe 10.0.0.1:10259 info=1.36.2 info_ev=1.36",
     SCHED " cp-a ~1.36 PodImage\n", "is not contacted"},
    {"the spec vouches for an IP",
     "controlplane endpoints=10.0.0.1:6443 mode=Static\npod " SCHED " cp-a ip=10.0.0.1",
     "peer 10.0.0.1:6443 live NotProbed\n" SCHED
     " cp-a ~1.36 PodImage\nask kube-apiserver 10.0.0.1:6443 own\nask " SCHED
     " 10.0.0.1:10259 probe\n",
     ""},
    {"an API server's port is not a scheduler's",
     "pod " SCHED " cp-a ip=10.0.0.1 args=--secure-port=6443\n"
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 proven=true version=v1.30.0 info=1.30.0",
     "peer 10.0.0.1:6443 live \n" SCHED " cp-a ~1.36 PodImage\n" ASK, ""},
    {"the configured server vouches for nobody: its IP may be a Service's or a load balancer's",
     "node cp-a role=control-plane\npod kube-apiserver cp-a ip=10.96.0.1 args=--secure-port=443\n"
     "configured 10.96.0.1:443\nprobe 10.96.0.1:443 proven=true\n"
     "pod " SCHED " w-1 ip=10.96.0.1",
     "peer cp-a live NotProbed\n" SCHED " w-1 ~1.36 PodImage\n"
     "ask kube-apiserver 10.96.0.1:443 own\n",
     "kube-scheduler on w-1 is not contacted: no API server was verified at its address"},
    {"a worker's pod is not the configured server, and vouches for nobody",
     "node w-1\npod kube-apiserver w-1 ip=10.96.0.1 args=--secure-port=443\n"
     "configured 10.96.0.1:443\nprobe 10.96.0.1:443 proven=true version=v1.36.2\n"
     "pod " SCHED " w-1 ip=10.96.0.1",
     SCHED " w-1 ~1.36 PodImage\n", "is not contacted"},
    {"no token: not contacted, and what lacks is said",
     "pod " SCHED " cp-a ip=10.0.0.1\nprobe 10.0.0.1:10259 error=token" PROVEN,
     BESIDE SCHED " cp-a ~1.36 PodImage\n" ASK "ask " SCHED " 10.0.0.1:10259 probe\n",
     "kube-scheduler on cp-a is not contacted: forbidden"},
    {"no problem of a component that the spec ignores: it has no token",
     "controlplane ignored=" SCHED "\npod " SCHED " cp-a ip=10.0.0.1\n"
     "probe 10.0.0.1:10259 error=token" PROVEN,
     BESIDE SCHED " cp-a ~1.36 PodImage\n" ASK "ask " SCHED " 10.0.0.1:10259 probe\n", ""},
    {"it denies /metrics",
     "controlplane ignored=" KCM "\npod " KCM " cp-a ip=10.0.0.1\n"
     "probe 10.0.0.1:10257 error=forbidden" PROVEN,
     BESIDE KCM " cp-a ~1.36 PodImage\n" ASK "ask " KCM " 10.0.0.1:10257 probe\n", ""},
    {"nothing vouches for its address",
     "controlplane ignored=" SCHED "\npod " SCHED " cp-a ip=10.0.0.1",
     SCHED " cp-a ~1.36 PodImage\n", ""},
    {"nothing has its version", "controlplane ignored=" SCHED "\nelection " SCHED " holder=x_1",
     SCHED " x  None\n", ""},
    {"LeaseCandidates would have it",
     "controlplane ignored=" SCHED "," KCM "\nelection " SCHED " holder=x_1\n"
     "deny candidates forbidden",
     SCHED " x  None\n", ""},
    {"the spec of its pod is stale",
     "controlplane ignored=kube-proxy\npod kube-proxy w-1 label=k8s-app "
     "image=r/kube-proxy:v1.35.0 running=r/kube-proxy:v1.36.0",
     "", ""},
    {"nodes cannot be read, and kubelets are ignored",
     "controlplane ignored=kubelet\ndeny nodes forbidden", "",
     "Nodes could not be read (forbidden): which of them are of the control plane is not known"},
    {"/metrics denied", "pod " KCM " cp-a ip=10.0.0.1\nprobe 10.0.0.1:10257 error=forbidden" PROVEN,
     BESIDE KCM " cp-a ~1.36 PodImage\n" ASK "ask " KCM " 10.0.0.1:10257 probe\n",
     "kube-controller-manager on cp-a denies /metrics: bind the ClusterRole evenkeel-probe"},
    {"IPv6", "pod " SCHED " cp-a ip=fd00::1" PROVEN6,
     BESIDE6 SCHED " cp-a ~1.36 PodImage\n" ASK6 "ask " SCHED " [fd00::1]:10259 probe\n", ""},
    {"IPv6, listening everywhere", "pod " SCHED " cp-a ip=fd00::1 args=--bind-address=::" PROVEN6,
     BESIDE6 SCHED " cp-a ~1.36 PodImage\n" ASK6 "ask " SCHED " [fd00::1]:10259 probe\n", ""},
    {"IPv6, another spelling of the address that it listens at",
     "pod " SCHED " cp-a ip=fd00::1 args=--bind-address=fd00:0:0::1" PROVEN6,
     BESIDE6 SCHED " cp-a ~1.36 PodImage\n" ASK6 "ask " SCHED " [fd00::1]:10259 probe\n", ""},
    {"IPv6, loopback only", "pod " SCHED " cp-a ip=fd00::1 args=--bind-address=::1",
     SCHED " cp-a ~1.36 PodImage\n", ""},
    {"dual-stack: asked where an API server has proven itself",
     "pod " SCHED " cp-a ip=10.0.0.1 ips=10.0.0.1,fd00::1 args=--bind-address=::" PROVEN6,
     BESIDE6 SCHED " cp-a ~1.36 PodImage\n" ASK6 "ask " SCHED " [fd00::1]:10259 probe\n", ""},
    {"dual-stack: listening at the second address only",
     "pod " SCHED
     " cp-a ip=10.0.0.1 ips=10.0.0.1,fd00::1 args=--bind-address=fd00::1" PROVEN6 PROVEN,
     BESIDE BESIDE6 SCHED " cp-a ~1.36 PodImage\n" ASK ASK6 "ask " SCHED " [fd00::1]:10259 probe\n",
     ""},
    {"an unspecified IPv4 address stands for both families",
     "pod " SCHED " cp-a ip=fd00::1 args=--bind-address=0.0.0.0" PROVEN6,
     BESIDE6 SCHED " cp-a ~1.36 PodImage\n" ASK6 "ask " SCHED " [fd00::1]:10259 probe\n", ""},
};

START_TEST(who_is_asked)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    const char *problems = "";
    size_t n;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    ek_view_fixture_script(fx, rows[_i].script);
    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n);
    print(&facts, targets, n, &out);
    for (size_t i = 0; i < facts.n_problems; i++)
        problems = ek_arena_printf(arena, "%s%s\n", problems, facts.problems[i]);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].facts), "%s: got\n%swant\n%s", rows[_i].name,
                  ek_buf_str(&out), rows[_i].facts);
    ck_assert_msg(*rows[_i].problem ? strstr(problems, rows[_i].problem) != NULL : !*problems,
                  "%s: problems are\n%s", rows[_i].name, problems);
    ek_arena_free(arena);
}
END_TEST

START_TEST(targets_are_bounded_and_api_servers_come_first)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new((size_t)64 << 20);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets;
    char line[192];

    for (int i = 1; i <= 120; i++) {
        snprintf(line, sizeof line,
                 "slice 10.0.1.%d\npod " SCHED " n%d ip=10.0.1.%d\n"
                 "probe 10.0.1.%d:6443 proven=true",
                 i, i, i, i);
        ek_view_fixture_script(fx, line);
    }
    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n_targets);
    ck_assert_uint_eq(n_targets, EK_SKEW_TARGETS_MAX);
    for (size_t i = 0; i < n_targets; i++)
        ck_assert_str_eq(targets[i].component, i < 120 ? "kube-apiserver" : SCHED);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("facts_trust");
    tcase_add_loop_test(tc, who_is_asked, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, targets_are_bounded_and_api_servers_come_first);
    return ek_test_run("facts_trust", tc);
}
