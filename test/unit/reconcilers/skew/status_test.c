/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/status.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconcilers/skew/metrics.h"
#include "reconcilers/skew/text.h"
#include "test/support/skew_plans.h"
#include "test/support/skew_scripts.h"
#include "test/support/suite.h"

/* A CRD was created, and one API server knows it. */
#define FINE_CUSTOM                                                                                \
    "peer cp-a v1.36.2/1.36/1.35 lease=id-a address=10.0.0.1:6443\n"                               \
    "gates cp-a X=on\nserves cp-a core/v1/pods x.io/v1/as\n" B CONTROLLERS                         \
    "group kubelet v1.36.1 2 n1,n2\n"

#define OLD_SERVERS(new, old, older)                                                               \
    "peer cp-a v" new ".2/" new "/" old "\npeer cp-b v" old ".2/" old "/" older "\n"

static const struct {
    const char *name, *facts, *spec, *type, *want;
    const char *says; /* part of the message */
} conditions[] = {
    {"fine", FINE, NULL, "Ready", "True Supported", "2 API servers at 1.36"},
    {"fine: reachable", FINE, NULL, "PeersReachable", "True AllReachable", "2 of 2"},
    {"fine: skew", FINE, NULL, "SkewSupported", "True Supported", "1.36"},
    {"fine: discovery", FINE, NULL, "DiscoveryConsistent", "True Consistent", "2 API servers"},
    {"fine: gates", FINE, NULL, "FeatureGatesConsistent", "True Consistent", "2 API servers"},
    {"fine: next", FINE, NULL, "NextVersionSafe", "True Safe", "1.37"},
    {"down", A DOWN_B CONTROLLERS, NULL, "PeersReachable", "False PeerUnreachable",
     "cp-b at 10.0.0.2:6443 (Refused)"},
    {"down: ready tells", A DOWN_B CONTROLLERS, NULL, "Ready", "False PeerUnreachable", "cp-b"},
    {"down for good", A "peer cp-b ?/?/? dead stale lease=id-b down=LeaseStale\n" CONTROLLERS, NULL,
     "PeersReachable", "False PeerUnreachable", "delete its Lease id-b"},
    {"not asked yet", A "peer cp-b ?/?/? down=NotProbed\n" CONTROLLERS, NULL, "PeersReachable",
     "Unknown NotProbed", "cp-b"},
    {"no address", A "peer cp-b ?/?/? lease=id-b down=NoAddress\n" CONTROLLERS, NULL,
     "PeersReachable", "Unknown NotProbed", "cp-b"},
    {"no address: ready is unknown", A "peer cp-b ?/?/? lease=id-b down=NoAddress\n" CONTROLLERS,
     NULL, "Ready", "Unknown NotProbed", "cp-b"},
    {"nobody", CONTROLLERS, NULL, "PeersReachable", "Unknown NoPeers", "spec.peers.endpoints"},
    {"not listed", "unlisted needs list on leases\n" CONTROLLERS, NULL, "PeersReachable",
     "Unknown NotEnumerated", "needs list on leases"},
    {"not ready", A "peer cp-b v1.36.2/1.36/1.35 notready=etcd\n" SAME("cp-b") CONTROLLERS, NULL,
     "Ready", "False PeerNotReady", "cp-b (etcd)"},
    {"violations name rule, culprit and remedy", A B CONTROLLERS "group kubelet v1.32.9 1 n1\n",
     NULL, "SkewSupported", "False KubeletRange", "(n1) is at 1.32"},
    {"several rules", A OLD_B CONTROLLERS, NULL, "SkewSupported", "False MultipleViolations",
     "and 1 more"},
    {"unknown", A B CONTROLLERS "group kubelet latest 1 n1\n", NULL, "SkewSupported",
     "Unknown VersionsUnknown", "reported \"latest\""},
    {"unknown: ready", A B CONTROLLERS "group kubelet latest 1 n1\n", NULL, "Ready",
     "Unknown VersionsUnknown", "n1"},
    {"at the limit", A B CONTROLLERS "group kubelet v1.33.9 1 n1\n", NULL, "SkewSupported",
     "True AtLimit", "n1"},
    {"at the limit: next", A B CONTROLLERS "group kubelet v1.33.9 1 n1\n", NULL, "NextVersionSafe",
     "False ComponentsTooOld", "must be at 1.34 or later"},
    {"discovery by version", A OLD_B CONTROLLERS, NULL, "DiscoveryConsistent",
     "False DiscoveryDiffersByVersion", "v1 old is not served by cp-a"},
    {"discovery drift",
     A "peer cp-b v1.36.2/1.36/1.35\ngates cp-b X=on\nserves cp-b core/v1/x\n" CONTROLLERS, NULL,
     "DiscoveryConsistent", "False DiscoveryDiffers", "--runtime-config"},
    {"custom resources that are spreading", FINE_CUSTOM, NULL, "DiscoveryConsistent",
     "True Spreading", "x.io/v1 is not served by cp-b"},
    {"built-in resources before custom ones",
     A
     "peer cp-b v1.36.2/1.36/1.35\ngates cp-b X=on\nserves cp-b core/v1/x a.io/v1/as\n" CONTROLLERS,
     NULL, "DiscoveryConsistent", "False DiscoveryDiffers", "in v1 pods"},
    {"stale at all",
     "peer cp-a v1.36.2/1.36/1.35\nserves cp-a core/v1/pods m.io/v1!/ms\n" CONTROLLERS, NULL,
     "DiscoveryConsistent", "False GroupsStale", "m.io/v1"},
    {"discovery not known", A "peer cp-b v1.36.2/1.36/1.35\ngates cp-b X=on\n" CONTROLLERS, NULL,
     "DiscoveryConsistent", "Unknown NotCompared", "cp-b"},
    {"differences alone leave ready",
     A "peer cp-b v1.35.2/1.35/1.34\ngates cp-b X=off\nserves cp-b core/v1/pods\n"
       "inst kube-controller-manager kcm-a 1.35.2/1.35\ninst kube-scheduler sched-a 1.35.2/1.35\n",
     NULL, "Ready", "True SupportedWithDifferences", "1.35-1.36"},
    {"gates by version", A OLD_B CONTROLLERS, NULL, "FeatureGatesConsistent",
     "False FeatureGatesDifferByVersion", "X is on at cp-a and off at cp-b"},
    {"gates drift",
     A "peer cp-b v1.36.2/1.36/1.35\ngates cp-b X=off\nserves cp-b core/v1/pods\n" CONTROLLERS,
     NULL, "FeatureGatesConsistent", "False FeatureGatesDiffer", "align"},
    {"gates of a component", A CONTROLLERS "gates sched-a X=off\n", NULL, "FeatureGatesConsistent",
     "False ComponentFeatureGatesDiffer",
     "X is on at kube-apiserver/cp-a and off at kube-scheduler/sched-a; align"},
    {"gates not readable", A "peer cp-b v1.36.2/1.36/1.35\nserves cp-b core/v1/pods\n" CONTROLLERS,
     NULL, "FeatureGatesConsistent", "Unknown NotCompared", "/metrics"},
    {"gates not readable: what helps", A "peer cp-b v1.36.2/1.36/1.35\n" CONTROLLERS, NULL,
     "FeatureGatesConsistent", "Unknown NotCompared", "not known; grant get on /metrics"},
    {"gates not reported yet", OLD_SERVERS("1.25", "1.24", "1.23") CONTROLLERS, NULL,
     "FeatureGatesConsistent", "Unknown NotCompared",
     "not known; API servers before 1.26 do not report feature gates"},
    {"gates not reported yet by one of two", OLD_SERVERS("1.26", "1.25", "1.24") CONTROLLERS, NULL,
     "FeatureGatesConsistent", "Unknown NotCompared",
     "not known; grant get on /metrics; API servers before 1.26 do not report feature gates"},
    {"discovery by emulation version", A OLD_B CONTROLLERS, NULL, "DiscoveryConsistent",
     "False DiscoveryDiffersByVersion", "bring all API servers to one emulation version"},
    {"discovery by version, before there was emulation",
     OLD_SERVERS("1.25", "1.24", "1.23") "serves cp-a core/v1/pods\nserves cp-b core/v1/x\n", NULL,
     "DiscoveryConsistent", "False DiscoveryDiffersByVersion",
     "bring all API servers to one version"},
    {"gates by version, before there was emulation",
     OLD_SERVERS("1.28", "1.27", "1.26") "gates cp-a X=on\ngates cp-b X=off\n", NULL,
     "FeatureGatesConsistent", "False FeatureGatesDifferByVersion",
     "bring all API servers to one version"},
    {"invalid spec", FINE, "{\"nextVersion\":\"soon\"}", "Ready", "False InvalidSpec",
     "spec.nextVersion: soon"},
    {"grace", A B CONTROLLERS "group kubelet v1.32.9 1 n1\n",
     "{\"skewPolicy\":{\"violationGracePeriod\":\"5m\"}}", "SkewSupported",
     "True WithinGracePeriod", "n1"},
    {"grace does not hide the unknown",
     A B CONTROLLERS "group kubelet v1.32.9 1 n1\ngroup kubelet odd 1 n2\n",
     "{\"skewPolicy\":{\"violationGracePeriod\":\"5m\"}}", "SkewSupported",
     "Unknown VersionsUnknown", "n2"},
};

START_TEST(condition_row)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, conditions[_i].facts, conditions[_i].spec);
    const char *got = ek_test_plans_condition(&p, conditions[_i].type);
    const char *message = ek_test_plans_message(&p, conditions[_i].type);
    ck_assert_msg(strcmp(got, conditions[_i].want) == 0, "%s: %s (%s)", conditions[_i].name, got,
                  message);
    ck_assert_msg(strstr(message, conditions[_i].says) != NULL, "%s: %s", conditions[_i].name,
                  message);
}
END_TEST

static const struct {
    const char *name, *facts;
    int code;
} exits[] = {
    {"supported", FINE, 0},
    {"at the limit", FINE "group kubelet v1.33.9 1 n1\n", 0},
    {"violation", FINE "group kubelet v1.32.9 1 n1\n", 2},
    {"violation and unknown", FINE "group kubelet v1.32.9 1 n1\ngroup kubelet odd 1 n2\n", 2},
    {"unknown only", FINE "group kubelet odd 1 n2\n", 3},
    {"nothing to see", "", 3},
    {"servers not listed", FINE "unlisted forbidden\n", 3},
    {"differences only", A "peer cp-b v1.36.2/1.36/1.35\nserves cp-b core/v1/x\n" CONTROLLERS, 0},
};

START_TEST(exit_row)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, exits[_i].facts, NULL);
    ck_assert_msg(p.plan.exit_code == exits[_i].code, "%s: %d", exits[_i].name, p.plan.exit_code);
}
END_TEST

/* Two steps and the events of the second. */
static const struct {
    const char *name, *before, *after, *want;
} events[] = {
    {"first and fine", NULL, FINE, ""},
    {"first and broken", NULL, FINE "group kubelet v1.32.9 1 n3\n", "!SkewUnsupported"},
    {"nothing changed", FINE, FINE, ""},
    {"skew breaks", FINE, FINE "group kubelet v1.32.9 1 n3\n", "!SkewUnsupported"},
    {"still broken", FINE "group kubelet v1.32.9 1 n3\n", FINE "group kubelet v1.32.9 1 n3\n", ""},
    {"broken further", FINE "group kubelet v1.32.9 1 n3\n",
     FINE "group kubelet v1.32.9 1 n3\ngroup kubelet v1.31.9 1 n4\n", "!SkewUnsupported"},
    {"skew heals", FINE "group kubelet v1.32.9 1 n3\n", FINE, "SkewResolved"},
    {"skew heals by way of unknown", FINE "group kubelet odd 1 n3\n", FINE, "SkewResolved"},
    {"many break", FINE,
     FINE "group kubelet v1.32.1 1 a\ngroup kubelet v1.32.2 1 a\ngroup kubelet v1.32.3 1 a\n"
          "group kubelet v1.32.4 1 a\ngroup kubelet v1.32.5 1 a\ngroup kubelet v1.32.6 1 a\n",
     "!SkewUnsupported !SkewUnsupported !SkewUnsupported !SkewUnsupported !SkewUnsupported "
     "!SkewUnsupported"},
    {"peer goes down", FINE, A DOWN_B CONTROLLERS, "!PeerUnreachable"},
    {"peer comes back", A DOWN_B CONTROLLERS, FINE, "PeerReachable"},
    {"first and down", NULL, A DOWN_B CONTROLLERS, "!PeerUnreachable"},
    {"peer added", A CONTROLLERS, FINE, "PeerAdded"},
    {"peer stopped", FINE, A CONTROLLERS, "!PeerUnreachable"},
    {"peer changes its version", FINE,
     A "peer cp-b v1.36.3/1.36/1.35 lease=id-b\n" SAME("cp-b") CONTROLLERS, "PeerVersionChanged"},
    {"peer's version is read elsewhere", FINE,
     A "peer cp-b 1.36.2/1.36/1.35 lease=id-b\n" SAME("cp-b") CONTROLLERS, ""},
    {"peer changes its emulation", FINE,
     A "peer cp-b v1.36.2/1.35/1.34 lease=id-b\n" SAME("cp-b") CONTROLLERS,
     "!SkewUnsupported !SkewUnsupported PeerVersionChanged"},
    {"peer loses its host name only", FINE,
     A "peer 10.0.0.2:6443 v1.36.2/1.36/1.35 address=10.0.0.2:6443\n" SAME("10.0.0.2:6443")
         CONTROLLERS,
     ""},
    {"drift", FINE,
     A "peer cp-b v1.36.2/1.36/1.35\ngates cp-b X=off\nserves cp-b core/v1/x\n" CONTROLLERS,
     "!DiscoveryDiffers !FeatureGatesDiffer"},
    {"drift ends",
     A "peer cp-b v1.36.2/1.36/1.35\ngates cp-b X=off\nserves cp-b core/v1/x\n" CONTROLLERS, FINE,
     "DiscoveryConsistent FeatureGatesConsistent"},
    {"next version blocked", FINE, FINE "group kubelet v1.33.9 1 n3\n", "NextVersionBlocked"},
};

START_TEST(event_row)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    if (events[_i].before)
        ek_test_plans_step(&p, events[_i].before, NULL);
    p.now_ms += 60000;
    ek_test_plans_step(&p, events[_i].after, NULL);
    const char *got = ek_test_plans_events(&p);
    ck_assert_msg(strcmp(got, events[_i].want) == 0, "%s: %s", events[_i].name, got);
    for (size_t i = 0; i < p.plan.n_events; i++)
        ck_assert_msg(p.plan.events[i].note[0] && strlen(p.plan.events[i].note) <= 1024 &&
                          p.plan.events[i].action[0],
                      "%s: note", events[_i].name);
}
END_TEST

START_TEST(invalid_spec_is_reported_once)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, "{\"nextVersion\":\"soon\"}");
    ck_assert_str_eq(ek_test_plans_events(&p), "!InvalidSpec");
    ek_test_plans_step(&p, FINE, "{\"nextVersion\":\"soon\"}");
    ck_assert_str_eq(ek_test_plans_events(&p), "");
}
END_TEST

START_TEST(time_alone_changes_nothing)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, A DOWN_B CONTROLLERS "group kubelet v1.32.9 1 n3\nproblem no pods\n",
                       NULL);
    ck_assert(p.plan.status_changed);
    p.now_ms += 3600000 + 123;
    ek_test_plans_step(&p, A DOWN_B CONTROLLERS "group kubelet v1.32.9 1 n3\nproblem no pods\n",
                       NULL);
    ck_assert(!p.plan.status_changed);
    ck_assert_uint_eq(p.plan.n_events, 0);
}
END_TEST

/* The time at which documents were read last, while they are not read any more. */
START_TEST(old_documents_have_a_time)
{
    static const struct {
        const char *facts;
        int64_t ago_s; /* 0: no time */
    } rows[] = {
        {FINE, 0}, {FINE "forget cp-b discovery 59\n", 0}, {FINE "forget cp-b discovery 61\n", 61}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTO(ek_test_plans) p;
        char want[EK_TIME_SIZE] = "";
        ek_test_plans_init(&p);
        ek_test_plans_step(&p, rows[i].facts, NULL);
        yyjson_val *peers = ek_json_get(ek_test_plans_status(&p), "peers", NULL);
        const char *got = ek_json_str(yyjson_arr_get(peers, 1), "discovery", "readTime", NULL);
        if (rows[i].ago_s)
            ek_time_format(p.now_ms - rows[i].ago_s * 1000, want);
        ck_assert_msg(!strcmp(got ? got : "", want), "%s: %s", rows[i].facts, got ? got : "none");
        p.now_ms += rows[i].ago_s ? 5000 : 0;
        ek_test_plans_step(&p, rows[i].ago_s ? FINE "forget cp-b discovery 61\n" : rows[i].facts,
                           NULL);
        ck_assert_msg(!p.plan.status_changed, "%s", rows[i].facts);
    }
}
END_TEST

START_TEST(violations_keep_their_date)
{
    EK_AUTO(ek_test_plans) p;
    const char *old = FINE "group kubelet v1.32.9 1 n3\n";
    const char *more = FINE "group kubelet v1.32.9 2 n3,n4\ngroup kubelet v1.31.0 1 n5\n";
    char was[EK_TIME_SIZE], is[EK_TIME_SIZE];
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, old, NULL);
    ek_time_format(p.now_ms, was);
    p.now_ms += 600000;
    ek_time_format(p.now_ms, is);
    ek_test_plans_step(&p, more, NULL);
    yyjson_val *list = ek_json_get(ek_test_plans_status(&p), "violations", NULL);
    ck_assert_uint_eq(yyjson_arr_size(list), 2);
    ck_assert_str_eq(ek_json_str(yyjson_arr_get(list, 0), "since", NULL), was);
    ck_assert_str_eq(ek_json_str(yyjson_arr_get(list, 1), "since", NULL), is);
}
END_TEST

START_TEST(grace_ends)
{
    EK_AUTO(ek_test_plans) p;
    const char *spec = "{\"skewPolicy\":{\"violationGracePeriod\":\"20s\"}}";
    const char *facts = FINE "group kubelet v1.32.9 1 n3\n";
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, facts, spec);
    ck_assert_str_eq(ek_test_plans_condition(&p, "SkewSupported"), "True WithinGracePeriod");
    ck_assert_str_eq(ek_test_plans_events(&p), "");
    ck_assert_int_eq(p.plan.exit_code, 2);
    ck_assert_int_le(p.plan.requeue_after_ms, 21000);
    p.now_ms += p.plan.requeue_after_ms;
    ek_test_plans_step(&p, facts, spec);
    ck_assert_str_eq(ek_test_plans_condition(&p, "SkewSupported"), "False KubeletRange");
    ck_assert_str_eq(ek_test_plans_events(&p), "!SkewUnsupported");
}
END_TEST

START_TEST(custom_resources_spread)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, NULL);
    ek_test_plans_step(&p, FINE_CUSTOM, NULL);
    ck_assert_str_eq(ek_test_plans_condition(&p, "DiscoveryConsistent"), "True Spreading");
    ck_assert_str_eq(ek_test_plans_events(&p), "");
    ck_assert_int_le(p.plan.requeue_after_ms, EK_SPREADING_MS + 1000);
    p.now_ms += EK_SPREADING_MS - 2000;
    ek_test_plans_step(&p, FINE_CUSTOM, NULL);
    ck_assert(!p.plan.status_changed);
    p.now_ms += p.plan.requeue_after_ms;
    ek_test_plans_step(&p, FINE_CUSTOM, NULL);
    ck_assert_str_eq(ek_test_plans_condition(&p, "DiscoveryConsistent"),
                     "False CustomResourcesDiffer");
    const char *message = ek_test_plans_message(&p, "DiscoveryConsistent");
    ck_assert_msg(!strstr(message, "--runtime-config"), "%s", message);
    ck_assert_str_eq(ek_test_plans_events(&p), "DiscoveryDiffers");
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert_str_eq(ek_test_plans_condition(&p, "DiscoveryConsistent"), "True Consistent");
}
END_TEST

START_TEST(a_stopped_peer_is_unreachable_then_forgotten)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, NULL);
    p.now_ms += 5000;
    ek_test_plans_step(&p, A CONTROLLERS, NULL);
    yyjson_val *peers = ek_json_get(ek_test_plans_status(&p), "peers", NULL);
    ck_assert_uint_eq(yyjson_arr_size(peers), 2);
    ck_assert_str_eq(ek_json_str(yyjson_arr_get(peers, 1), "unreachableReason", NULL), "Gone");
    ck_assert_str_eq(ek_json_str(yyjson_arr_get(peers, 1), "verdict", NULL), "NotJudged");
    ck_assert_str_eq(ek_test_plans_condition(&p, "PeersReachable"), "False PeerUnreachable");
    ck_assert_str_eq(ek_test_plans_condition(&p, "SkewSupported"), "True Supported");
    p.now_ms += 599000;
    ek_test_plans_step(&p, A CONTROLLERS, NULL);
    ck_assert(!p.plan.status_changed);
    ck_assert_int_le(p.plan.requeue_after_ms, 2000);
    p.now_ms += p.plan.requeue_after_ms;
    ek_test_plans_step(&p, A CONTROLLERS, NULL);
    ck_assert_str_eq(ek_test_plans_events(&p), "PeerRemoved");
    ck_assert_str_eq(ek_test_plans_condition(&p, "PeersReachable"), "True AllReachable");
}
END_TEST

START_TEST(a_stopped_peer_comes_back)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, NULL);
    ek_test_plans_step(&p, A CONTROLLERS, NULL);
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert_str_eq(ek_test_plans_events(&p), "PeerReachable");
    ck_assert_str_eq(ek_test_plans_condition(&p, "Ready"), "True Supported");
}
END_TEST

START_TEST(what_is_taken_off_the_static_list_is_off)
{
    EK_AUTO(ek_test_plans) p;
    const char *spec = "{\"peers\":{\"discovery\":\"Static\",\"endpoints\":[\"10.0.0.1:6443\"]}}";
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, spec);
    ek_test_plans_step(&p, A CONTROLLERS, spec);
    ck_assert_str_eq(ek_test_plans_condition(&p, "PeersReachable"), "True AllReachable");
    ck_assert_str_eq(ek_test_plans_events(&p), "PeerRemoved");
}
END_TEST

START_TEST(unlisted_servers_are_not_gone)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, NULL);
    p.now_ms += 3600000;
    ek_test_plans_step(&p, "unlisted needs list on leases\n" CONTROLLERS, NULL);
    ck_assert_str_eq(ek_test_plans_condition(&p, "PeersReachable"), "Unknown NotEnumerated");
    ck_assert_uint_eq(yyjson_arr_size(ek_json_get(ek_test_plans_status(&p), "peers", NULL)), 2);
}
END_TEST

START_TEST(a_half_probed_view_leaves_the_status)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    p.probing = true;
    ek_test_plans_step(&p, "peer cp-a ?/?/? down=NotProbed\n" CONTROLLERS, NULL);
    ck_assert(p.plan.status_changed);
    ck_assert_str_eq(ek_test_plans_condition(&p, "Ready"), "Unknown NotProbed");
    p.probing = false;
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert_str_eq(ek_test_plans_condition(&p, "Ready"), "True Supported");
    p.probing = true;
    ek_test_plans_step(&p, "peer cp-a ?/?/? down=NotProbed\n" CONTROLLERS, NULL);
    ck_assert(!p.plan.status_changed);
    ck_assert_uint_eq(p.plan.n_events, 0);
    ck_assert_int_eq(p.plan.requeue_after_ms, 1000);
}
END_TEST

/* --- metrics --- */

START_TEST(metrics_are_unique_and_known)
{
    EK_AUTO(ek_test_plans) p;
    size_t n_families;
    const struct ek_skew_family *families = ek_skew_families(&n_families);
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, RICH, NULL);
    size_t family = 0;
    for (size_t i = 0; i < p.plan.n_metrics; i++) {
        const struct ek_skew_metric *m = &p.plan.metrics[i];
        while (family < n_families && strcmp(families[family].name, m->name) != 0)
            family++;
        ck_assert_msg(family < n_families, "%s: unknown or out of order", m->name);
        for (size_t k = 0; k < i; k++) {
            const struct ek_skew_metric *o = &p.plan.metrics[k];
            bool same = strcmp(o->name, m->name) == 0;
            for (size_t l = 0; same && m->labels[l][0]; l++)
                same = strcmp(o->labels[l][1], m->labels[l][1]) == 0;
            ck_assert_msg(!same, "%s: twice", m->name);
        }
    }
}
END_TEST

static const struct {
    const char *name, *label, *value; /* the sample whose first or second label has that value */
    double want;
} metrics[] = {
    {"evenkeel_peer_up", NULL, "cp-a", 1},
    {"evenkeel_peer_up", NULL, "cp-b", 0},
    {"evenkeel_peer_ready", NULL, "cp-d", 0},
    {"evenkeel_peer_probe_age_seconds", NULL, "cp-a", 1},
    {"evenkeel_peer_certificate_expiry_timestamp_seconds", NULL, "cp-a", 1763633589},
    {"evenkeel_component_version_info", "kube-apiserver", "cp-b", 1},
    {"evenkeel_skew_violations", "kubelet", "Unsupported", 11},
    {"evenkeel_skew_violations", "kubelet", "Unknown", 1},
    {"evenkeel_skew_violations", "kube-scheduler", "AtLimit", 0},
    {"evenkeel_peer_discovery_age_seconds", NULL, "cp-a", 0},
    {"evenkeel_discovery_missing_resources", NULL, "cp-b", 1},
    {"evenkeel_discovery_differences", NULL, NULL, 2},
    {"evenkeel_feature_gate_differences", NULL, NULL, 1},
    {"evenkeel_component_feature_gate_differences", NULL, NULL, 0},
    {"evenkeel_alpha_under_emulation", NULL, NULL, 0},
    {"evenkeel_nodes", NULL, "v1.32.1", 9},
    {"evenkeel_nodes", NULL, "unknown", 1},
    {"evenkeel_condition", "Ready", "False", 1},
    {"evenkeel_condition", "Ready", "True", 0},
};

/* Nothing wanted, or the same. */
static bool same_text(const char *want, const char *got)
{
    return !want || (got && strcmp(want, got) == 0);
}

START_TEST(metric_row)
{
    EK_AUTO(ek_test_plans) p;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, RICH, NULL);
    for (size_t i = 0; i < p.plan.n_metrics; i++) {
        const struct ek_skew_metric *m = &p.plan.metrics[i];
        const char *first = m->labels[0][0] ? m->labels[0][1] : NULL;
        const char *last = m->labels[0][0] && m->labels[1][0] ? m->labels[1][1] : first;
        if (strcmp(m->name, metrics[_i].name) != 0 || !same_text(metrics[_i].label, first) ||
            !same_text(metrics[_i].value, last))
            continue;
        ck_assert_msg(m->value == metrics[_i].want, "%s %s: %g", m->name,
                      metrics[_i].value ? metrics[_i].value : "", m->value);
        return;
    }
    ck_abort_msg("%s is missing", metrics[_i].name);
}
END_TEST

/* --- allowedVersions --- */

static const struct {
    const char *name, *facts, *component, *min, *max, *none;
} allowed[] = {
    {"a range", A, "kube-scheduler", "1.35", "1.36", NULL},
    {"one version", "peer cp-a v1.36.2/1.36/1.36\n", "kube-scheduler", "1.36", "1.36", NULL},
    {"no version suits all", "peer cp-a v1.36.2/1.36/1.35\npeer cp-b v1.36.2/1.33/1.33\n",
     "kube-scheduler", NULL, NULL,
     "no version suits all API servers: cp-a requires 1.35 or later, cp-b 1.33 or earlier"},
    {"a wider range beside it", "peer cp-a v1.36.2/1.36/1.35\npeer cp-b v1.36.2/1.33/1.33\n",
     "kubelet", "1.33", "1.33", NULL},
    {"half known", "peer cp-a v1.36.2/1.36/?\n", "kube-scheduler", NULL, "1.36", NULL},
};

START_TEST(allowed_row)
{
    EK_AUTO(ek_test_plans) p;
    yyjson_val *item;
    size_t i, n;
    ek_test_plans_init(&p);
    ek_test_plans_step(&p, allowed[_i].facts, NULL);
    yyjson_arr_foreach(ek_json_get(ek_test_plans_status(&p), "allowedVersions", NULL), i, n, item)
    {
        const char *want[] = {allowed[_i].min, allowed[_i].max, allowed[_i].none};
        static const char *const names[] = {"min", "max", "none"};
        if (strcmp(ek_json_text(item, "component"), allowed[_i].component) != 0)
            continue;
        for (size_t k = 0; k < EK_ARRAY_SIZE(names); k++)
            ck_assert_msg(!strcmp(ek_json_text(item, names[k]), want[k] ? want[k] : ""),
                          "%s: %s %s", allowed[_i].name, names[k], ek_json_text(item, names[k]));
        return;
    }
    ck_abort_msg("%s: %s is missing", allowed[_i].name, allowed[_i].component);
}
END_TEST

/* --- texts --- */

static const struct {
    const char *name, *in, *clean, *steady;
} strings[] = {
    {"plain", "v1.36.2", "v1.36.2", "v1.36.2"},
    {"control characters and what is not ASCII", "a\x01\xc3\xa9", "a???", "a???"},
    {"milliseconds go", "Failed to connect to 10.0.0.1 port 6443 after 3 ms: refused",
     "Failed to connect to 10.0.0.1 port 6443 after 3 ms: refused",
     "Failed to connect to 10.0.0.1 port 6443: refused"},
    {"in words too", "timed out after 5001 milliseconds", "timed out after 5001 milliseconds",
     "timed out"},
    {"other afters stay", "after all, after 3 apples", "after all, after 3 apples",
     "after all, after 3 apples"},
    {"at the end", "gone after ", "gone after ", "gone after "},
    {"too long", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg",
     "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff...",
     "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg"},
};

START_TEST(text_row)
{
    struct ek_arena *arena = ek_arena_new(65536);
    ck_assert_msg(strcmp(ek_skew_clean(arena, strings[_i].in), strings[_i].clean) == 0, "%s: %s",
                  strings[_i].name, ek_skew_clean(arena, strings[_i].in));
    ck_assert_msg(strcmp(ek_skew_steady(arena, strings[_i].in), strings[_i].steady) == 0, "%s: %s",
                  strings[_i].name, ek_skew_steady(arena, strings[_i].in));
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, condition_row, 0, (int)EK_ARRAY_SIZE(conditions));
    tcase_add_loop_test(tc, exit_row, 0, (int)EK_ARRAY_SIZE(exits));
    tcase_add_loop_test(tc, event_row, 0, (int)EK_ARRAY_SIZE(events));
    tcase_add_loop_test(tc, allowed_row, 0, (int)EK_ARRAY_SIZE(allowed));
    tcase_add_loop_test(tc, metric_row, 0, (int)EK_ARRAY_SIZE(metrics));
    tcase_add_loop_test(tc, text_row, 0, (int)EK_ARRAY_SIZE(strings));
    tcase_add_test(tc, invalid_spec_is_reported_once);
    tcase_add_test(tc, time_alone_changes_nothing);
    tcase_add_test(tc, old_documents_have_a_time);
    tcase_add_test(tc, violations_keep_their_date);
    tcase_add_test(tc, grace_ends);
    tcase_add_test(tc, custom_resources_spread);
    tcase_add_test(tc, a_stopped_peer_is_unreachable_then_forgotten);
    tcase_add_test(tc, a_stopped_peer_comes_back);
    tcase_add_test(tc, what_is_taken_off_the_static_list_is_off);
    tcase_add_test(tc, unlisted_servers_are_not_gone);
    tcase_add_test(tc, a_half_probed_view_leaves_the_status);
    tcase_add_test(tc, metrics_are_unique_and_known);
    return ek_test_run("skew_status", tc);
}
