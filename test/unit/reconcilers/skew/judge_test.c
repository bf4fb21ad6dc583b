/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/judge.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/skew_facts.h"
#include "test/support/suite.h"

/* What most rows have besides their subject: nothing unknown. */
#define CONTROLLERS                                                                                \
    "inst kube-controller-manager kcm-a 1.36.2/1.36 leader\n"                                      \
    "inst kube-scheduler sched-a 1.36.2/1.36 leader\n"
#define ONE_SERVER "peer cp-a v1.36.2/1.36/1.35\n"

struct row {
    const char *name, *facts;
    const char *spec; /* JSON of .spec, NULL for none */
    const char *want; /* "name=Verdict[:Reason]" for all that is not plainly Supported */
    const char *next; /* "Status Reason version", NULL: not looked at */
};

static void say(struct ek_buf *out, const char *name, const struct ek_judged *judged)
{
    if (judged->verdict == EK_VERDICT_SUPPORTED)
        return;
    ek_buf_printf(out, "%s%s=%s:%s", out->len ? " " : "", name, ek_verdict_name(judged->verdict),
                  judged->reason);
}

/* Judges and writes the verdicts in one line. */
static void judge(const struct row *row, struct ek_test_facts *t, struct ek_judgement *j,
                  struct ek_buf *out)
{
    struct ek_skew_spec spec;
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;
    if (row->spec) {
        char *json = ek_arena_printf(t->arena, "{\"metadata\":{\"name\":\"cluster\"},\"spec\":%s}",
                                     row->spec);
        ck_assert_int_eq(ek_obj_parse(json, strlen(json), &object, NULL), 0);
    }
    ek_skew_spec_parse(object, t->arena, &spec);
    ck_assert_uint_eq(spec.n_errors, 0);
    ek_skew_judge(&t->facts, &spec, true, t->arena, j);
    for (size_t i = 0; i < t->facts.n_peers; i++)
        say(out, t->facts.peers[i].name, &j->peers[i]);
    for (size_t i = 0; i < t->facts.n_instances; i++)
        say(out, t->facts.instances[i].name, &j->instances[i]);
    for (size_t i = 0; i < t->facts.n_groups; i++)
        say(out, t->facts.groups[i].version[0] ? t->facts.groups[i].version : "-", &j->groups[i]);
    for (size_t i = 0; i < j->n_absent; i++)
        say(out, ek_component_name(j->absent[i].component), &j->absent[i].judged);
}

static const struct row rows[] = {
    {"all alike", ONE_SERVER CONTROLLERS "group kubelet v1.36.2 3 n1,n2,n3", NULL, "",
     "True Safe 1.37"},
    {"HA, all alike", ONE_SERVER "peer cp-b v1.36.1/1.36/1.35\n" CONTROLLERS, NULL, "",
     "True Safe 1.37"},
    {"controller one behind is at its limit",
     ONE_SERVER "inst kube-controller-manager kcm-a v1.35.1/1.35\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=AtLimit:NextUpgradeBreaks", "False ComponentsTooOld 1.37"},
    {"kubelet three behind is at its limit", ONE_SERVER CONTROLLERS "group kubelet v1.33.9 2 n1,n2",
     NULL, "v1.33.9=AtLimit:NextUpgradeBreaks", "False ComponentsTooOld 1.37"},
    {"kubelet two behind is not", ONE_SERVER CONTROLLERS "group kubelet v1.34.9 2 n1,n2", NULL, "",
     "True Safe 1.37"},
    {"kubelet four behind", ONE_SERVER CONTROLLERS "group kubelet v1.32.9 1 n1", NULL,
     "v1.32.9=Unsupported:KubeletRange", "False ComponentsTooOld 1.37"},
    {"kubelet ahead: the upgrade heals it",
     ONE_SERVER CONTROLLERS "group kubelet v1.37.0-alpha.1 1 n1", NULL,
     "v1.37.0-alpha.1=Unsupported:KubeletRange", "True Safe 1.37"},
    {"kubelet far ahead", ONE_SERVER CONTROLLERS "group kubelet v1.39.0 1 n1", NULL,
     "v1.39.0=Unsupported:KubeletRange", "False ComponentsTooOld 1.37"},
    {"vendor kubelets are what their minor is",
     ONE_SERVER CONTROLLERS "group kubelet v1.36.2-gke.1014001 1 n1\n"
                            "group kubelet v1.35.6-eks-db838b0 1 n2\n"
                            "group kubelet v1.34.2+k3s1 1 n3\n"
                            "group kubelet v1.36.2-14+84c76d1142ea4d 1 n4",
     NULL, "", "True Safe 1.37"},
    {"garbage is unknown, no violation",
     ONE_SERVER CONTROLLERS "group kubelet latest 1 n1\ngroup kubelet - 2 n2,n3", NULL,
     "latest=Unknown:Unparsable -=Unknown:Absent", "Unknown VersionsUnknown 1.37"},
    {"unstamped build is unknown",
     ONE_SERVER CONTROLLERS "group kubelet 0.0.0-master+$Format:%H$ 1 n1", NULL,
     "0.0.0-master+$Format:%H$=Unknown:NotObservable", "Unknown VersionsUnknown 1.37"},
    {"MCV=EV narrows", "peer cp-a v1.36.2/1.36/1.36\n" CONTROLLERS "group kubelet v1.33.1 1 n1",
     NULL, "v1.33.1=Unsupported:KubeletRange", NULL},
    {"EV at the floor",
     "peer cp-a v1.36.2/1.33/1.33\n"
     "inst kube-controller-manager kcm-a 1.36.2/1.33\n"
     "inst kube-scheduler sched-a 1.36.2/1.34\n"
     "group kubelet v1.31.0 1 n1\ngroup kubelet v1.30.0 1 n2",
     NULL, "sched-a=Unsupported:ControllerRange v1.30.0=Unsupported:KubeletRange", NULL},
    {"half upgraded: who is behind must follow",
     ONE_SERVER "peer cp-b v1.35.4/1.35/1.34\n"
                "inst kube-controller-manager kcm-a 1.35.4/1.35\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL,
     "cp-b=AtLimit:NextUpgradeBreaks kcm-a=AtLimit:NextUpgradeBreaks "
     "sched-a=Unsupported:ControllerRange",
     "False SkipsMinor 1.37"},
    {"half upgraded: finishing it is safe",
     ONE_SERVER "peer cp-b v1.35.4/1.35/1.34\n"
                "inst kube-controller-manager kcm-a 1.35.4/1.35\n"
                "inst kube-scheduler sched-a 1.35.4/1.35",
     "{\"nextVersion\":\"1.36\"}",
     "cp-b=AtLimit:NextUpgradeBreaks kcm-a=AtLimit:NextUpgradeBreaks "
     "sched-a=AtLimit:NextUpgradeBreaks",
     "True Safe 1.36"},
    {"three emulations", ONE_SERVER "peer cp-b v1.36.2/1.34/1.33\npeer cp-c v1.36.2/1.33/1.33\n",
     "{\"skewPolicy\":{\"ignoredComponents\":[\"kube-scheduler\",\"kube-controller-manager\"]}}",
     "cp-a=Unsupported:ApiserverCompatibility cp-b=Unsupported:ApiserverEmulationSpread "
     "cp-c=Unsupported:ApiserverEmulationSpread",
     "False SkipsMinor 1.37"},
    {"controller's binary before the servers'",
     "peer cp-a v1.35.4/1.35/1.34\n"
     "inst kube-controller-manager kcm-a 1.36.2/1.35\n"
     "inst kube-scheduler sched-a 1.35.4/1.35",
     NULL, "kcm-a=Unsupported:ControllerBinary", "True Safe 1.36"},
    {"server down, not known",
     ONE_SERVER "peer cp-b ?/?/? down=Refused\n" CONTROLLERS
                "group kubelet v1.32.1 1 n1\ngroup kubelet v1.36.0 1 n2",
     NULL,
     "cp-a=Unknown:ApiserverUnknown cp-b=Unknown:Absent kcm-a=Unknown:ApiserverUnknown "
     "sched-a=Unknown:ApiserverUnknown v1.32.1=Unsupported:KubeletRange "
     "v1.36.0=Unknown:ApiserverUnknown",
     "False ComponentsTooOld 1.37"},
    {"server gone does not count", ONE_SERVER "peer cp-b v1.30.1/1.30/1.29 dead\n" CONTROLLERS,
     NULL, "cp-b=NotJudged:NotLive", "True Safe 1.37"},
    {"servers cannot be listed", ONE_SERVER CONTROLLERS "unlisted forbidden", NULL,
     "cp-a=Unknown:ApiserverUnknown kcm-a=Unknown:ApiserverUnknown "
     "sched-a=Unknown:ApiserverUnknown",
     "Unknown VersionsUnknown 1.37"},
    {"no server", CONTROLLERS, NULL,
     "kcm-a=Unknown:ApiserverUnknown sched-a=Unknown:ApiserverUnknown", "Unknown VersionsUnknown "},
    {"dead candidate does not count",
     ONE_SERVER CONTROLLERS "inst kube-scheduler sched-b 1.30.0/1.30 stale=PingUnanswered", NULL,
     "sched-b=NotJudged:PingUnanswered", "True Safe 1.37"},
    {"only dead candidates are none",
     ONE_SERVER "inst kube-controller-manager kcm-a 1.36.2/1.36\n"
                "inst kube-scheduler sched-b 1.30.0/1.30 stale=Expired",
     NULL, "sched-b=NotJudged:Expired kube-scheduler=Unknown:NotObserved",
     "Unknown VersionsUnknown 1.37"},
    {"no controllers seen", ONE_SERVER, NULL,
     "kube-controller-manager=Unknown:NotObserved kube-scheduler=Unknown:NotObserved",
     "Unknown VersionsUnknown 1.37"},
    {"no controllers seen, and said to be hidden", ONE_SERVER,
     "{\"skewPolicy\":{\"ignoredComponents\":[\"kube-scheduler\",\"kube-controller-manager\"]}}",
     "", "True Safe 1.37"},
    {"controller not observable",
     ONE_SERVER "inst kube-controller-manager kcm-a ?/? reason=NotObservable\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=Unknown:NotObservable", "Unknown VersionsUnknown 1.37"},
    {"binary known, emulation not: neither a violation",
     "peer cp-a v1.36.2/1.35/1.34\n"
     "inst kube-controller-manager kcm-a v1.36.2/1.36 source=image assumed\n"
     "inst kube-scheduler sched-a 1.35.1/1.35",
     NULL, "kcm-a=Unknown:EmulationUnknown", "Unknown VersionsUnknown 1.36"},
    {"nor a fit",
     ONE_SERVER "inst kube-controller-manager kcm-a v1.36.2/1.36 source=image assumed\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=Unknown:EmulationUnknown", "Unknown VersionsUnknown 1.37"},
    {"binary too old at any emulation",
     ONE_SERVER "inst kube-controller-manager kcm-a v1.34.2/1.34 source=image assumed\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=Unsupported:ControllerRange", "False ComponentsTooOld 1.37"},
    {"binary that will be too old at any emulation",
     ONE_SERVER "inst kube-controller-manager kcm-a v1.35.2/1.35 source=image assumed\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=Unknown:EmulationUnknown", "False ComponentsTooOld 1.37"},
    {"emulation known, binary not: no fit",
     ONE_SERVER "inst kube-controller-manager kcm-a ?/1.36\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=Unknown:Absent", "Unknown VersionsUnknown 1.37"},
    {"an API server's emulation that is assumed proves nothing",
     "peer cp-a v1.36.2/1.36/1.35 assumed\n" CONTROLLERS "group kubelet v1.32.1 1 n1\n"
     "group kubelet v1.37.0 1 n2",
     NULL,
     "cp-a=Unknown:EmulationUnknown kcm-a=Unknown:ApiserverUnknown "
     "sched-a=Unknown:ApiserverUnknown v1.32.1=Unknown:ApiserverUnknown "
     "v1.37.0=Unsupported:KubeletRange",
     "Unknown VersionsUnknown "},
    {"a minimum compatibility that is assumed",
     "peer cp-a v1.36.2/1.36/1.35 assumed=mcv\n" CONTROLLERS, NULL,
     "cp-a=Unknown:CompatibilityUnknown kcm-a=Unknown:ApiserverUnknown "
     "sched-a=Unknown:ApiserverUnknown",
     "Unknown VersionsUnknown 1.37"},
    {"two answers from one address contradict each other",
     "peer cp-a v1.36.2/1.36/1.35 disputed=ev\n" CONTROLLERS "group kubelet v1.32.1 1 n1\n"
     "group kubelet v1.37.0 1 n2",
     NULL,
     "cp-a=Unknown:Contradiction kcm-a=Unknown:ApiserverUnknown sched-a=Unknown:ApiserverUnknown "
     "v1.32.1=Unknown:ApiserverUnknown v1.37.0=Unsupported:KubeletRange",
     "Unknown VersionsUnknown "},
    {"in the binary",
     "peer cp-a v1.36.2/1.36/1.35 disputed=bv\n" CONTROLLERS "group kubelet v1.37.0 1 n2", NULL,
     "cp-a=Unknown:Contradiction kcm-a=Unknown:ApiserverUnknown sched-a=Unknown:ApiserverUnknown "
     "v1.37.0=Unknown:ApiserverUnknown",
     "Unknown VersionsUnknown "},
    {"in the minimum compatibility",
     "peer cp-a v1.36.2/1.36/1.35 disputed=mcv\n" CONTROLLERS "group kubelet v1.37.0 1 n2", NULL,
     "cp-a=Unknown:Contradiction kcm-a=Unknown:ApiserverUnknown sched-a=Unknown:ApiserverUnknown "
     "v1.37.0=Unsupported:KubeletRange",
     "Unknown VersionsUnknown 1.37"},
    {"the word of a pod that proves nothing",
     ONE_SERVER "inst kube-controller-manager kcm-a v1.20.2/1.20 source=image unproven\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     NULL, "kcm-a=Unknown:NodeUnproven", "Unknown VersionsUnknown 1.37"},
    {"cloud provider's own numbers",
     ONE_SERVER CONTROLLERS "inst cloud-controller-manager ccm-a v1.20.0/? source=image", NULL,
     "ccm-a=Unknown:VendorVersion", "Unknown VersionsUnknown 1.37"},
    {"cloud provider in step",
     ONE_SERVER CONTROLLERS "inst cloud-controller-manager ccm-a v1.36.0/? source=image", NULL, "",
     "True Safe 1.37"},
    {"kube-proxy too far from its kubelet",
     "peer cp-a v1.36.2/1.36/1.33\n" CONTROLLERS
     "group kubelet v1.36.1 1 n1\ngroup kube-proxy v1.32.1 1 n1\npair 1.36 1.32 1 n1",
     NULL, "v1.32.1=Unsupported:KubeProxyNodeRange", NULL},
    {"kube-proxy near its kubelet",
     "peer cp-a v1.36.2/1.36/1.33\n" CONTROLLERS
     "group kubelet v1.35.1 1 n1\ngroup kube-proxy v1.32.1 1 n1\npair 1.35 1.32 1 n1",
     NULL, "v1.32.1=AtLimit:NextUpgradeBreaks", NULL},
    {"kube-proxy out of range", ONE_SERVER CONTROLLERS "group kube-proxy v1.32.1 1 n1", NULL,
     "v1.32.1=Unsupported:KubeProxyRange", NULL},
    {"ignored kubelets", ONE_SERVER CONTROLLERS "group kubelet v1.20.1 9 n1,n2,n3",
     "{\"skewPolicy\":{\"ignoredComponents\":[\"kubelet\"]}}", "v1.20.1=NotJudged:Ignored",
     "True Safe 1.37"},
    {"ignored API servers still bound",
     "peer cp-a v1.36.2/1.36/1.35\npeer cp-b v1.34.2/1.34/1.33\n" CONTROLLERS,
     "{\"skewPolicy\":{\"ignoredComponents\":[\"kube-apiserver\"]}}",
     "cp-a=NotJudged:Ignored cp-b=NotJudged:Ignored kcm-a=Unsupported:ControllerRange "
     "sched-a=Unsupported:ControllerRange",
     NULL},
    {"stricter kubelets by spec", ONE_SERVER CONTROLLERS "group kubelet v1.34.1 1 n1",
     "{\"skewPolicy\":{\"maxKubeletSkew\":1}}", "v1.34.1=Unsupported:KubeletRange", NULL},
    {"next version given and reached", ONE_SERVER CONTROLLERS, "{\"nextVersion\":\"1.36\"}", "",
     "True AlreadyReached 1.36"},
    {"next version skips a minor", ONE_SERVER CONTROLLERS, "{\"nextVersion\":\"1.38\"}", "",
     "False SkipsMinor 1.38"},
    {"a skipped minor counts in emulations, not binaries",
     "peer cp-a v1.36.2/1.33/1.33\ninst kube-controller-manager kcm-a 1.33.1/1.33\n"
     "inst kube-scheduler sched-a 1.33.1/1.33",
     NULL, "", "True Safe 1.34"},
    {"before 1.31",
     "peer cp-a v1.30.2/1.30/1.29\n"
     "inst kube-controller-manager kcm-a 1.29.1/1.29\n"
     "inst kube-scheduler sched-a 1.30.1/1.30",
     NULL, "kcm-a=AtLimit:NextUpgradeBreaks", NULL},
};

START_TEST(verdict_row)
{
    const struct row *row = &rows[_i];
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    struct ek_judgement j;
    char next[128];
    ek_test_facts_init(&t, row->facts);
    ek_buf_init(&out, 4096);
    judge(row, &t, &j, &out);
    ck_assert_msg(strcmp(ek_buf_str(&out), row->want) == 0, "%s: %s", row->name, ek_buf_str(&out));
    char version[EK_MINOR_SIZE];
    snprintf(next, sizeof(next), "%s %s %s", ek_cond_status_name(j.next.safe), j.next.reason,
             ek_minor_format(j.next.version, version));
    ck_assert_msg(!row->next || strcmp(next, row->next) == 0, "%s: next %s (%s)", row->name, next,
                  j.next.message);
}
END_TEST

#define CONTROLLER "inst kube-controller-manager kcm-a 1.36.2/1.36 leader\n"
#define IN_POD     "run it from a pod with its program as the command and its flags as plain arguments"
#define TAGGED     "run it from a pod whose image tag is its version"
#define GATE       "enable the feature gate CoordinatedLeaderElection with coordination.k8s.io/"
#define IGNORE(component)                                                                          \
    "list " component " in spec.skewPolicy.ignoredComponents, or run check with "                  \
    "--ignore=" component

/* Messages name the culprit and the remedy. */
static const struct {
    const char *name, *facts, *message, *remedy;
} texts[] = {
    {"too old", ONE_SERVER CONTROLLERS "group kubelet v1.32.9 5 n1,n2,n3",
     "kubelet v1.32.9 on 5 nodes (n1, n2, n3 and 2 more) is at 1.32, older than the 1.33 that API "
     "server cp-a requires",
     "upgrade it to 1.33 or later, at most 1.36"},
    {"too old, one version left",
     ONE_SERVER "peer cp-b v1.36.2/1.33/1.33\ngroup kubelet v1.32.9 1 n1",
     "kubelet v1.32.9 on 1 node (n1) is at 1.32, older than the 1.33 that API server cp-a requires",
     "upgrade it to 1.33"},
    {"too new", ONE_SERVER CONTROLLERS "group kubelet v1.37.0 1 n1",
     "kubelet v1.37.0 on 1 node (n1) is at 1.37, newer than the 1.36 that API server cp-a allows",
     "upgrade API server cp-a to 1.37 first, or return to 1.36"},
    {"no range at all",
     ONE_SERVER "peer cp-b v1.36.2/1.36/1.36\npeer cp-c v1.36.2/1.35/1.34\n"
                "inst kube-scheduler sched-a 1.36.2/1.36",
     "kube-scheduler sched-a is at 1.36, but no version suits all API servers: cp-b needs 1.36 or "
     "later, cp-c 1.35 or earlier",
     "bring API servers cp-b and cp-c closer together first"},
    {"binary", "peer cp-a v1.35.4/1.35/1.34\ninst kube-scheduler sched-a 1.36.2/1.35",
     "the binary of kube-scheduler sched-a (1.36) is newer than that of API server cp-a (1.35): it "
     "may call APIs that cp-a lacks",
     "upgrade API server cp-a to 1.36 first, or return to 1.35"},
    {"server behind in emulation", ONE_SERVER "peer cp-b v1.36.2/1.34/1.33",
     "API server cp-b emulates 1.34, more than 1 minor behind cp-a (1.36)",
     "raise --emulated-version of cp-b to 1.35"},
    {"server behind", ONE_SERVER "peer cp-b v1.34.2/1.34/1.33",
     "API server cp-b is at 1.34, more than 1 minor behind cp-a (1.36)", "upgrade cp-b to 1.35"},
    {"old binary", "peer cp-a v1.36.2/1.33/1.33\npeer cp-b v1.32.2/1.32/1.31",
     "the binary of API server cp-b (1.32) is more than 3 minors behind cp-a (1.36)",
     "upgrade the binary of cp-b to 1.33 or later"},
    {"far behind", ONE_SERVER "peer cp-b v1.33.2/1.33/1.32",
     "API server cp-b is at 1.33, more than 1 minor behind cp-a (1.36)",
     "upgrade cp-b to 1.35, one minor at a time"},
    {"before there was emulation", "peer cp-a v1.26.4/1.26/1.25\npeer cp-b v1.24.3/1.24/1.23",
     "API server cp-b is at 1.24, more than 1 minor behind cp-a (1.26)", "upgrade cp-b to 1.25"},
    {"before there was a flag", "peer cp-a v1.26.4/1.26/1.25\npeer cp-b v1.24.3/1.24/1.23",
     "API server cp-a is compatible with 1.25 and later only, but cp-b is at 1.24: it may not "
     "understand what cp-a stores",
     "upgrade cp-b to 1.25"},
    {"a flag that the binary has", "peer cp-a v1.36.2/1.36/1.36\npeer cp-b v1.36.2/1.35/1.34",
     "API server cp-a is compatible with 1.36 and later only, but cp-b emulates 1.35: it may not "
     "understand what cp-a stores",
     "raise --emulated-version of cp-b to 1.36, or start cp-a with "
     "--min-compatibility-version=1.35"},
    {"a flag of later binaries", "peer cp-a v1.34.2/1.34/1.33\npeer cp-b v1.34.2/1.32/1.31",
     "API server cp-a is compatible with 1.33 and later only, but cp-b emulates 1.32: it may not "
     "understand what cp-a stores",
     "raise --emulated-version of cp-b to 1.33"},
    {"a value that the binary refuses", "peer cp-a v1.36.2/1.33/1.33\npeer cp-b v1.32.2/1.32/1.31",
     "API server cp-a is compatible with 1.33 and later only, but cp-b is at 1.32: it may not "
     "understand what cp-a stores",
     "upgrade cp-b to 1.33"},
    {"a server must follow", ONE_SERVER "peer cp-b v1.35.4/1.35/1.34",
     "API server cp-b is at 1.35 while cp-a is at 1.36: no API server can be upgraded further "
     "before it",
     "upgrade cp-b to 1.36"},
    {"a server's emulation must follow", ONE_SERVER "peer cp-b v1.36.2/1.35/1.34",
     "API server cp-b emulates 1.35 while cp-a is at 1.36: no API server can be upgraded further "
     "before it",
     "raise --emulated-version of cp-b to 1.36"},
    {"at the limit", ONE_SERVER "inst kube-scheduler sched-a 1.35.4/1.35",
     "kube-scheduler sched-a is at 1.35: supported now, but not after the API servers are upgraded "
     "by one minor (they will require 1.36)",
     "upgrade it to 1.36 before the API servers are upgraded"},
    {"at the limit by emulation", ONE_SERVER "inst kube-scheduler sched-a 1.36.2/1.35",
     "kube-scheduler sched-a is at 1.35: supported now, but not after the API servers are upgraded "
     "by one minor (they will require 1.36)",
     "raise its --emulated-version to 1.36 before the API servers are upgraded"},
    {"at the limit, and may not move yet",
     ONE_SERVER "peer cp-b v1.35.4/1.35/1.34\ninst kube-scheduler sched-a 1.35.4/1.35",
     "kube-scheduler sched-a is at 1.35: supported now, but not after the API servers are upgraded "
     "by one minor (they will require 1.36)",
     "upgrade it to 1.36 once every API server is at 1.36, before one is upgraded further"},
    {"an emulation that is too old", ONE_SERVER "inst kube-scheduler sched-a 1.36.2/1.34",
     "kube-scheduler sched-a is at 1.34, older than the 1.35 that API server cp-a requires",
     "raise its --emulated-version to 1.35 or later, at most 1.36"},
    {"an emulation that is too old, in a binary before the servers'",
     ONE_SERVER "inst kube-scheduler sched-a 1.35.2/1.34",
     "kube-scheduler sched-a is at 1.34, older than the 1.35 that API server cp-a requires",
     "raise its --emulated-version to 1.35"},
    {"an emulation that is too new",
     "peer cp-a v1.36.2/1.35/1.34\ninst kube-scheduler sched-a 1.36.2/1.36",
     "kube-scheduler sched-a is at 1.36, newer than the 1.35 that API server cp-a allows",
     "raise --emulated-version of API server cp-a to 1.36 first, or start it with "
     "--emulated-version=1.35"},
    {"too new for an API server, in its binary as well",
     "peer cp-a v1.35.2/1.35/1.34\ninst kube-scheduler sched-a 1.36.2/1.36",
     "kube-scheduler sched-a is at 1.36, newer than the 1.35 that API server cp-a allows",
     "upgrade API server cp-a to 1.36 first, or return to 1.35"},
    {"too new before there was emulation",
     "peer cp-a v1.30.2/1.30/1.29\ninst kube-scheduler sched-a 1.31.2/1.31",
     "kube-scheduler sched-a is at 1.31, newer than the 1.30 that API server cp-a allows",
     "upgrade API server cp-a to 1.31 first, or return to 1.30"},
    {"far too new", ONE_SERVER "group kubelet v1.39.0 1 n1",
     "kubelet v1.39.0 on 1 node (n1) is at 1.39, newer than the 1.36 that API server cp-a allows",
     "upgrade API server cp-a to 1.39 first, one minor at a time, or return to 1.36"},
    {"a kube-proxy too far from its kubelet, of old",
     "peer cp-a v1.24.2/1.24/1.21\ngroup kubelet v1.24.1 1 n1\ngroup kube-proxy v1.21.1 1 n1\n"
     "pair 1.24 1.21 1 n1",
     "kube-proxy 1.21 runs with kubelet 1.24 on n1: more than two minors apart",
     "upgrade the older of the two"},
    {"an API server's emulation", "peer cp-a v1.36.2/1.36/1.35 assumed",
     "API server cp-a: emulation version not known",
     "grant get on /openapi/v3/version and /metrics, or " IN_POD},
    {"an API server's emulation, before there was a metric", "peer cp-a v1.33.2/1.33/1.32 assumed",
     "API server cp-a: emulation version not known",
     "grant get on /openapi/v3/version, or " IN_POD},
    {"an API server's emulation, of one that is down",
     "peer cp-a v1.36.2/1.36/1.35 assumed down=ConnectionRefused",
     "API server cp-a: emulation version not known",
     "see the condition PeersReachable, or " IN_POD},
    {"an API server's emulation, of one that is not contacted",
     "peer cp-a v1.36.2/1.36/1.35 assumed down=NotTrusted",
     "API server cp-a: emulation version not known",
     "name its address in spec.peers.endpoints, or " IN_POD},
    {"an API server's minimum compatibility", "peer cp-a v1.36.2/1.36/1.35 assumed=mcv",
     "API server cp-a: minimum compatibility version not known: it was not read",
     "grant get on /version and /metrics, or " IN_POD},
    {"an API server's minimum compatibility, of one that is down",
     "peer cp-a v1.36.2/1.36/1.35 assumed=mcv down=ConnectionRefused",
     "API server cp-a: minimum compatibility version not known: it was not read",
     "see the condition PeersReachable, or " IN_POD},
    {"a controller's emulation",
     ONE_SERVER "inst kube-scheduler sched-a v1.36.2/1.36 source=image assumed",
     "kube-scheduler sched-a: emulation version not known",
     IN_POD ", make its metrics readable, or " GATE "v1beta1"},
    {"a controller's emulation, before there was a metric",
     "peer cp-a v1.33.2/1.33/1.32\ninst kube-scheduler sched-a v1.33.2/1.33 source=image assumed",
     "kube-scheduler sched-a: emulation version not known", IN_POD ", or " GATE "v1beta1"},
    {"a controller's emulation, at 1.32",
     "peer cp-a v1.32.2/1.32/1.31\ninst kube-scheduler sched-a v1.32.2/1.32 source=image assumed",
     "kube-scheduler sched-a: emulation version not known", IN_POD ", or " GATE "v1alpha2"},
    {"a controller's emulation, with API servers that do not serve LeaseCandidates",
     "peer cp-a v1.34.2/1.31/1.31\ninst kube-scheduler sched-a v1.34.2/1.34 source=image assumed",
     "kube-scheduler sched-a: emulation version not known",
     IN_POD ", or make its metrics readable"},
    {"a controller's emulation, and nothing else",
     "peer cp-a v1.33.2/1.31/1.31\ninst kube-scheduler sched-a v1.33.2/1.33 source=image assumed",
     "kube-scheduler sched-a: emulation version not known", IN_POD},
    {"a controller that is not seen",
     ONE_SERVER "inst kube-scheduler sched-a ?/? reason=NotObservable",
     "kube-scheduler sched-a: version not known (NotObservable)",
     "make its metrics readable, or " IGNORE("kube-scheduler")},
    {"a controller that is not seen, before there was a metric",
     "peer cp-a v1.27.4/1.27/1.26\ninst kube-scheduler sched-a ?/? reason=NotObservable",
     "kube-scheduler sched-a: version not known (NotObservable)",
     TAGGED ", or " IGNORE("kube-scheduler")},
    {"a cloud controller has no metric of its version",
     ONE_SERVER "inst cloud-controller-manager ccm-a ?/? reason=NotObservable",
     "cloud-controller-manager ccm-a: version not known (NotObservable)",
     TAGGED ", or " IGNORE("cloud-controller-manager")},
    {"nor have kube-proxies one that is read",
     ONE_SERVER "group kube-proxy 0.0.0-master+$Format:%H$ 1 n1",
     "kube-proxy 0.0.0-master+$Format:%H$ on 1 node (n1): version not known (NotObservable, "
     "reported \"0.0.0-master+$Format:%H$\")",
     TAGGED ", or " IGNORE("kube-proxy")},
    {"nothing of a controller", ONE_SERVER CONTROLLER,
     "no live kube-scheduler was seen: no LeaseCandidate, election Lease or pod names one",
     "if the provider hides it, " IGNORE("kube-scheduler")},
    {"a tag that is no version", ONE_SERVER "inst kube-scheduler sched-a latest/? source=image",
     "kube-scheduler sched-a: version not known (Unparsable, reported \"latest\")", TAGGED},
    {"a version that is none", ONE_SERVER "group kubelet latest 1 n1",
     "kubelet latest on 1 node (n1): version not known (Unparsable, reported \"latest\")",
     "make it report a version such as v1.36.2"},
    {"an API server that denies", ONE_SERVER "peer cp-b ?/?/? reason=Forbidden",
     "API server cp-b: version not known (Forbidden)", "grant get on /version and /metrics"},
    {"an API server that does not say", ONE_SERVER "peer cp-b ?/?/? reason=NotObservable",
     "API server cp-b: version not known (NotObservable)", "check that it answers /version"},
};

/* The remedy of the first finding with this message; *ret_last gets the last message. */
static const char *remedy_of(const struct ek_test_facts *t, const struct ek_judgement *j,
                             const char *message, const char **ret_last)
{
    const struct ek_judged *all[64];
    size_t n = 0;

    for (size_t i = 0; i < j->n_violations; i++) {
        *ret_last = j->violations[i].message;
        if (strcmp(*ret_last, message) == 0)
            return j->violations[i].remedy;
    }
    for (size_t i = 0; i < t->facts.n_peers; i++)
        all[n++] = &j->peers[i];
    for (size_t i = 0; i < t->facts.n_instances; i++)
        all[n++] = &j->instances[i];
    for (size_t i = 0; i < t->facts.n_groups; i++)
        all[n++] = &j->groups[i];
    for (size_t i = 0; i < j->n_absent; i++)
        all[n++] = &j->absent[i].judged;
    for (size_t i = 0; i < n; i++) {
        *ret_last = *all[i]->message ? all[i]->message : *ret_last;
        if (strcmp(all[i]->message, message) == 0)
            return all[i]->remedy;
    }
    return NULL;
}

START_TEST(text_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    struct ek_judgement j;
    const struct row row = {.name = texts[_i].name};
    const char *last = "nothing";
    ek_test_facts_init(&t, texts[_i].facts);
    ek_buf_init(&out, 4096);
    judge(&row, &t, &j, &out);
    const char *remedy = remedy_of(&t, &j, texts[_i].message, &last);
    ck_assert_msg(remedy != NULL, "%s: not said, but: %s", texts[_i].name, last);
    ck_assert_msg(strcmp(remedy, texts[_i].remedy) == 0, "%s: %s", texts[_i].name, remedy);
}
END_TEST

START_TEST(nodes_are_counted_one_by_one)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    struct ek_judgement j;
    const struct row row = {.name = "counts"};
    ek_test_facts_init(&t, ONE_SERVER CONTROLLERS "group kubelet v1.32.9 7 n1\n"
                                                  "group kubelet v1.33.9 3 n8\n"
                                                  "group kubelet odd 2 n11");
    ek_buf_init(&out, 4096);
    judge(&row, &t, &j, &out);
    ck_assert_uint_eq(j.counts[EK_KUBELET][EK_VERDICT_UNSUPPORTED], 7);
    ck_assert_uint_eq(j.counts[EK_KUBELET][EK_VERDICT_AT_LIMIT], 3);
    ck_assert_uint_eq(j.counts[EK_KUBELET][EK_VERDICT_UNKNOWN], 2);
    ck_assert_uint_eq(j.counts[EK_KUBE_APISERVER][EK_VERDICT_SUPPORTED], 1);
    ck_assert_uint_eq(j.n_violations, 1);
}
END_TEST

START_TEST(nodes_that_cannot_be_listed_are_unknown)
{
    EK_AUTO(ek_test_facts) t;
    struct ek_judgement j;
    struct ek_skew_spec spec;
    ek_test_facts_init(&t, ONE_SERVER CONTROLLERS);
    ek_skew_spec_parse(NULL, t.arena, &spec);
    ek_skew_judge(&t.facts, &spec, false, t.arena, &j);
    ck_assert_uint_eq(j.n_absent, 1);
    ck_assert_int_eq(j.absent[0].component, EK_KUBELET);
    ck_assert_int_eq(j.next.safe, EK_COND_UNKNOWN);
}
END_TEST

START_TEST(blockers_are_bounded)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out, script;
    struct ek_judgement j;
    const struct row row = {.name = "blockers"};
    ek_buf_init(&out, 65536);
    ek_buf_init(&script, 65536);
    ek_buf_puts(&script, ONE_SERVER CONTROLLERS);
    for (int i = 0; i < 40; i++)
        ek_buf_printf(&script, "group kubelet v1.33.%d 1 n%d\n", i, i);
    ek_test_facts_init(&t, ek_buf_str(&script));
    judge(&row, &t, &j, &out);
    ck_assert_uint_eq(j.next.n_blockers, 40);
    ck_assert_msg(strstr(j.next.message, "and 35 more") != NULL, "%s", j.next.message);
    ck_assert_uint_lt(strlen(j.next.message), 1000);
}
END_TEST

static const struct {
    const char *name, *spec, *error; /* "" for none; part of the first sentence */
} specs[] = {
    {"empty", "{}", ""},
    {"all of it",
     "{\"peers\":{\"discovery\":\"Static\",\"endpoints\":[\"10.0.0.1:6443\",\"[fd00::1]:6443\"],"
     "\"probeInterval\":\"2s\",\"probeTimeout\":\"500ms\",\"forgetAfter\":\"1h\"},"
     "\"skewPolicy\":{\"maxAPIServerSkew\":2,\"maxControllerSkew\":0,\"maxKubeletSkew\":2,"
     "\"ignoredComponents\":[\"kubelet\"],\"violationGracePeriod\":\"5m\"},"
     "\"nextVersion\":\"v1.37\"}",
     ""},
    {"interval too short", "{\"peers\":{\"probeInterval\":\"10ms\"}}", "spec.peers.probeInterval"},
    {"interval no duration", "{\"peers\":{\"probeInterval\":7}}", "spec.peers.probeInterval"},
    {"mode unknown", "{\"peers\":{\"discovery\":\"Guess\"}}", "spec.peers.discovery: Guess"},
    {"static without endpoints", "{\"peers\":{\"discovery\":\"Static\"}}", "spec.peers.endpoints"},
    {"endpoint is a name",
     "{\"peers\":{\"discovery\":\"Static\",\"endpoints\":[\"evil.example:6443\"]}}",
     "spec.peers.endpoints[0]: evil.example:6443"},
    {"endpoint is a number", "{\"peers\":{\"endpoints\":[7]}}", "spec.peers.endpoints[0]"},
    {"skew too large", "{\"skewPolicy\":{\"maxKubeletSkew\":9}}", "spec.skewPolicy.maxKubeletSkew"},
    {"skew no number", "{\"skewPolicy\":{\"maxAPIServerSkew\":\"1\"}}",
     "spec.skewPolicy.maxAPIServerSkew"},
    {"component unknown", "{\"skewPolicy\":{\"ignoredComponents\":[\"etcd\"]}}",
     "no such component: etcd"},
    {"version unreadable", "{\"nextVersion\":\"next\"}", "spec.nextVersion"},
    {"version of nothing", "{\"nextVersion\":\"0.0\"}", "spec.nextVersion"},
    {"null is absent", "{\"peers\":{\"probeInterval\":null},\"nextVersion\":null}", ""},
    {"wrong types everywhere", "{\"peers\":[],\"skewPolicy\":7,\"nextVersion\":{}}",
     "spec.nextVersion"},
};

START_TEST(spec_row)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;
    struct ek_skew_spec spec;
    char *json = ek_arena_printf(arena, "{\"spec\":%s}", specs[_i].spec);
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &object, NULL), 0);
    ek_skew_spec_parse(object, arena, &spec);
    const char *first = spec.n_errors ? spec.errors[0] : "";
    ck_assert_msg(specs[_i].error[0] ? strstr(first, specs[_i].error) != NULL : first[0] == '\0',
                  "%s: %s", specs[_i].name, first);
    ck_assert_msg(spec.probe_interval_ms >= 1000 && spec.probe_timeout_ms >= 100, "%s",
                  specs[_i].name);
    ck_assert_msg(spec.mode == EK_PEERS_AUTO || spec.n_endpoints > 0, "%s", specs[_i].name);
    ek_arena_free(arena);
}
END_TEST

START_TEST(spec_values)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *object = NULL;
    struct ek_skew_spec spec;
    char *json = ek_arena_printf(arena, "{\"spec\":%s}", specs[1].spec);
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &object, NULL), 0);
    ek_skew_spec_parse(object, arena, &spec);
    ck_assert_int_eq(spec.mode, EK_PEERS_STATIC);
    ck_assert_uint_eq(spec.n_endpoints, 2);
    ck_assert_str_eq(spec.endpoints[1], "[fd00::1]:6443");
    ck_assert_int_eq(spec.probe_interval_ms, 2000);
    ck_assert_int_eq(spec.probe_timeout_ms, 500);
    ck_assert_int_eq(spec.forget_after_ms, 3600000);
    ck_assert_int_eq(spec.policy.max_apiserver_skew, 2);
    ck_assert_int_eq(spec.policy.max_controller_skew, 0);
    ck_assert_int_eq(spec.policy.max_kubelet_skew, 2);
    ck_assert_int_eq(spec.policy.grace_ms, 300000);
    ck_assert(spec.policy.ignored == 1u << EK_KUBELET);
    ck_assert_int_eq(ek_minor_cmp(spec.next_version, EK_MINOR(1, 37)), 0);
    ek_skew_spec_parse(NULL, arena, &spec);
    ck_assert_int_eq(spec.probe_interval_ms, 15000);
    ck_assert_int_eq(spec.policy.max_kubelet_skew, EK_SKEW_UNSET);
    ck_assert(!spec.next_version.known);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, verdict_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, text_row, 0, (int)EK_ARRAY_SIZE(texts));
    tcase_add_loop_test(tc, spec_row, 0, (int)EK_ARRAY_SIZE(specs));
    tcase_add_test(tc, spec_values);
    tcase_add_test(tc, nodes_are_counted_one_by_one);
    tcase_add_test(tc, nodes_that_cannot_be_listed_are_unknown);
    tcase_add_test(tc, blockers_are_bounded);
    return ek_test_run("judge", tc);
}
