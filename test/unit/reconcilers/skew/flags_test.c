/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on control planes of kubeadm's shape: metrics listen on 127.0.0.1 and there are no
 * LeaseCandidates, so that the flags of pods are the only source of an emulation version.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "reconcilers/skew/view.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

#define ARENA_LIMIT ((size_t)64 * 1024 * 1024)

#define KCM "kube-controller-manager"
/* One API server and its node; what it answers is the row's. */
#define SERVER(answers)                                                                            \
    "slice 10.0.0.1\nprobe 10.0.0.1:6443 proven=true version=v1.36.2 " answers "\n"                \
    "node cp-a ip=10.0.0.1 role=control-plane kubelet=v1.35.0\n"
#define AT_1_36 SERVER("ev=1.36 mcv=1.35")
#define AT_1_35 SERVER("ev=1.35 mcv=1.34")
#define LOCAL   KCM "|--bind-address=127.0.0.1"
#define IMAGE   "x.io/" KCM
#define POD     "pod " KCM " cp-a ip=10.0.0.1 cmd="

static const char *str(yyjson_val *object, const char *member)
{
    const char *s = ek_json_str(object, member, NULL);
    return s ? s : "";
}

/* Every controller manager of the status: its verdict and reason, its emulation version and where
 * that was read. */
static void print(yyjson_val *status, struct ek_buf *out)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "components"), i, n, item)
    {
        if (strcmp(str(item, "component"), KCM) != 0)
            continue;
        ek_buf_printf(out, "%s%s %s:%s", out->len ? "; " : "", str(item, "name"),
                      str(item, "verdict"), str(item, "reason"));
        if (*str(item, "emulationVersionSource"))
            ek_buf_printf(out, " %s %s", str(item, "emulationVersion"),
                          str(item, "emulationVersionSource"));
    }
}

static const struct row {
    const char *name, *script, *want;
    const char *message; /* a part of the status, as JSON; NULL: not looked at */
} rows[] = {
    {"a violation that is none: the flags emulate what the API server emulates",
     AT_1_35 POD LOCAL "|--emulated-version=1.35", "cp-a Supported:WithinRange 1.35 PodFlags",
     NULL},
    {"a fit that is none: the flags emulate what the API server is no longer compatible with",
     AT_1_36 POD LOCAL "|--emulated-version=1.34", "cp-a Unsupported:ControllerRange 1.34 PodFlags",
     "is at 1.34, older than the 1.35 that API server cp-a requires"},
    {"flags that are not read prove no violation",
     AT_1_35 POD "sh|-c|exec~" KCM "~--emulated-version=1.35", "cp-a Unknown:EmulationUnknown",
     "its command is sh"},
    {"flags that are not read prove no fit", AT_1_36 POD "sh|-c|exec~" KCM,
     "cp-a Unknown:EmulationUnknown", "its command is sh"},
    {"the plain kubeadm control plane: flags that name no version leave the binary's",
     AT_1_36 POD LOCAL "|--leader-elect=true", "cp-a Supported:WithinRange 1.36 PodFlags", NULL},
    {"that is a violation where the API server emulates an older version",
     AT_1_35 POD LOCAL "|--leader-elect=true", "cp-a Unsupported:ControllerRange 1.36 PodFlags",
     "newer than the 1.35 that API server cp-a allows"},
    {"a binary below the range is out of it, whatever it emulates",
     AT_1_36 POD "sh|-c|x image=registry.k8s.io/" KCM ":v1.34.1",
     "cp-a Unsupported:ControllerRange", "is at 1.34 at most, older than the 1.35"},
    {"a vendor's numbering is not Kubernetes'",
     AT_1_36 POD LOCAL " image=corp.example/base-" KCM ":1.4.0", "cp-a Unknown:NotObservable",
     NULL},
    {"an emulation version without a binary is not enough for a fit",
     AT_1_36 POD LOCAL "|--emulated-version=1.36 image=x/" KCM "@sha256:00",
     "cp-a Unknown:NotObservable 1.36 PodFlags", NULL},
    {"but it is for a violation",
     AT_1_36 POD LOCAL "|--emulated-version=1.34 image=x/" KCM "@sha256:00",
     "cp-a Unsupported:ControllerRange 1.34 PodFlags", NULL},
    {"a live answer beats the flags, and the contradiction is told",
     AT_1_36 POD KCM "|--emulated-version=1.34\n"
                     "probe 10.0.0.1:10257 info=1.36.2 info_ev=1.36 info_mcv=1.35",
     "cp-a Supported:WithinRange 1.36 VersionInfo",
     "reports emulation version 1.36, but the command line of pod " KCM "-cp-a reports 1.34"},
    {"a LeaseCandidate beats the flags",
     AT_1_36 "candidate cp-a of=" KCM " ev=1.36.0\n" POD LOCAL "|--emulated-version=1.34",
     "cp-a Supported:WithinRange 1.36 LeaseCandidate", "but the command line of pod"},
    {"a worker's static pod proves no violation",
     AT_1_36 POD LOCAL "\nnode w-1 kubelet=v1.35.0\npod " KCM " w-1 ip=10.0.0.9 cmd=" LOCAL
                       " image=" KCM ":v1.20.0",
     "cp-a Supported:WithinRange 1.36 PodFlags; w-1 Unknown:NodeUnproven 1.20 PodImage",
     "node-role.kubernetes.io/control-plane"},
    {"and no fit: it does not speak for the leader that it claims to be",
     AT_1_36 "election " KCM " holder=cp-x_1\nnode w-1 hostname=cp-x kubelet=v1.35.0\n"
             "pod " KCM " w-1 ip=10.0.0.9 cmd=" LOCAL,
     "cp-x Unknown:NodeUnproven", "node-role.kubernetes.io/control-plane"},
    {"nor does it take the place of the real one on that host",
     AT_1_36 "node w-1 hostname=cp-a kubelet=v1.35.0\npod " KCM " w-1 name=a ip=10.0.0.9 cmd=" LOCAL
             "\n" POD LOCAL "|--emulated-version=1.34",
     "a Unknown:NodeUnproven; cp-a Unsupported:ControllerRange 1.34 PodFlags", NULL},
    {"a pod that no kubelet wrote needs no label on its node",
     AT_1_36 "pod " KCM " w-1 static=false cmd=" LOCAL, "w-1 Supported:WithinRange 1.36 PodFlags",
     NULL},
    {"a static pod that its owner tells, on a node of the older label",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 proven=true version=v1.36.2 ev=1.36 mcv=1.35\n"
     "node cp-a role=master\npod " KCM " cp-a static=owner cmd=" LOCAL,
     "cp-a Supported:WithinRange 1.36 PodFlags", NULL},
    {"metrics of before a restart: the flags are newer",
     AT_1_36 POD KCM "|--emulated-version=1.34\n"
                     "probe 10.0.0.1:10257 info=1.36.2 info_ev=1.36 info_mcv=1.35 error=refused",
     "cp-a Unsupported:ControllerRange 1.34 PodFlags", NULL},
    {"metrics that fail once: what they said holds",
     AT_1_36 POD "sh|-c|x\nprobe 10.0.0.1:10257 info=1.36.2 info_ev=1.36 info_mcv=1.35 "
                 "error=refused failing=60",
     "cp-a Supported:WithinRange 1.36 VersionInfo", NULL},
    {"metrics that are refused, and no readable flags: it may be another process now",
     AT_1_36 POD "sh|-c|x\nprobe 10.0.0.1:10257 info=1.36.2 info_ev=1.36 info_mcv=1.35 "
                 "error=refused failing=61",
     "cp-a Unknown:EmulationUnknown", "\"assumed\":[\"emulationVersion\","},
    {"which its predecessor's emulation does not convict either",
     AT_1_36 POD "sh|-c|x\nprobe 10.0.0.1:10257 info=1.36.2 info_ev=1.34 info_mcv=1.33 "
                 "error=forbidden failed=metrics failing=61",
     "cp-a Unknown:EmulationUnknown", "its command is sh"},
    {"a process that was away is another at once",
     AT_1_36 POD "sh|-c|x\nprobe 10.0.0.1:10257 info=1.36.2 info_ev=1.36 info_mcv=1.35 "
                 "error=forbidden failed=metrics outdated=true",
     "cp-a Unknown:EmulationUnknown", "its command is sh"},
    {"nor does its predecessor's binary",
     AT_1_36 POD
     "sh|-c|x image=x/" KCM "@sha256:00\n"
     "probe 10.0.0.1:10257 info=1.34.2 info_ev=1.34 info_mcv=1.33 error=refused failing=61",
     "cp-a Unknown:NotObservable", "\"binaryVersion\":\"1.34.2\""},
    {"an API server that answers nothing for a minute proves nothing",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.35.2 ev=1.35 mcv=1.34 error=timeout "
     "failing=61\n"
     "node cp-a role=control-plane\n" POD LOCAL,
     "cp-a Unknown:ApiserverUnknown 1.36 PodFlags", "\"reason\":\"Timeout\""},
    {"a node that cannot be read proves nothing",
     AT_1_36 POD LOCAL "\ndeny nodes forbidden: needs list on nodes", "cp-a Unknown:NodeUnproven",
     NULL},
    {"a static pod that is being replaced", AT_1_36 POD LOCAL " deleted=true",
     "cp-a Unknown:EmulationUnknown", "is being replaced"},
    {"a container that does not run", AT_1_36 POD LOCAL " state=waiting",
     "cp-a Unknown:EmulationUnknown", "is not running"},
    {"a stale spec's flags prove no violation",
     AT_1_36 POD LOCAL "|--emulated-version=1.34 image=" IMAGE ":v1.36.1 running=" IMAGE ":v1.36.2",
     "cp-a Unknown:EmulationUnknown",
     "the flags of pod " KCM "-cp-a cannot be read: its spec is not what runs: image " IMAGE
     ":v1.36.1, running " IMAGE ":v1.36.2"},
    {"and no fit",
     AT_1_35 POD LOCAL "|--emulated-version=1.35 image=" IMAGE ":v1.35.9 running=" IMAGE ":v1.36.2",
     "cp-a Unknown:EmulationUnknown", "its spec is not what runs: image " IMAGE ":v1.35.9"},
    {"a stale spec's version proves no fit",
     AT_1_36 POD LOCAL " image=" IMAGE ":v1.36.2 running=" IMAGE ":v1.33.0",
     "cp-a Unsupported:ControllerRange", "is at 1.33 at most, older than the 1.35"},
    {"and no violation",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.27.4 ev=1.27 mcv=1.26\n"
     "node cp-a role=control-plane\n" POD LOCAL " image=" IMAGE ":v1.25.11 running=" IMAGE
     ":v1.27.4",
     "cp-a Supported:WithinRange 1.27 PodImage",
     "\"message\":\"the spec of pod " KCM "-cp-a is not what runs: image " IMAGE
     ":v1.25.11, running " IMAGE ":v1.27.4\""},
    {"an API server's stale spec does not tell its flags",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2\nnode cp-a role=control-plane\n"
     "pod kube-apiserver cp-a ip=10.0.0.1 cmd=kube-apiserver|--emulated-version=1.35 "
     "image=kube-apiserver:v1.35.0 running=kube-apiserver:v1.36.2\n" POD LOCAL
     "|--emulated-version=1.35",
     "cp-a Unknown:ApiserverUnknown 1.35 PodFlags",
     "the spec of pod kube-apiserver-cp-a is not what runs: image kube-apiserver:v1.35.0, "
     "running "},
    {"the same image by another registry is no other image",
     AT_1_36 POD LOCAL " image=index." IMAGE ":v1.36.2 running=" IMAGE ":v1.36.2",
     "cp-a Supported:WithinRange 1.36 PodFlags", NULL},
    {"the pod that runs is the host's, not the one that is being replaced",
     AT_1_36 POD LOCAL "|--emulated-version=1.35 name=a deleted=true\n" POD LOCAL,
     "a Unknown:EmulationUnknown; cp-a Supported:WithinRange 1.36 PodFlags", NULL},
    {"a binary that cannot emulate needs no flags",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.31.4\n"
     "node cp-a role=control-plane\n" POD "sh|-c|x image=" KCM ":v1.31.0",
     "cp-a Supported:WithinRange 1.31 PodImage", NULL},
    {"an API server whose emulation version was not read proves nothing",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2\nnode cp-a role=control-plane\n" POD
         LOCAL,
     "cp-a Unknown:ApiserverUnknown 1.36 PodFlags",
     "API server 10.0.0.1:6443: emulation version not known: neither /version"},
    {"but what it may be at most does",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.35.2\nnode cp-a role=control-plane\n" POD
         LOCAL,
     "cp-a Unsupported:ControllerBinary 1.36 PodFlags", NULL},
    {"its own static pod tells it",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2\nnode cp-a role=control-plane\n"
     "pod kube-apiserver cp-a ip=10.0.0.1 cmd=kube-apiserver|--emulated-version=1.35\n" POD LOCAL
     "|--emulated-version=1.35",
     "cp-a Supported:WithinRange 1.35 PodFlags",
     "\"emulationVersion\":\"1.35\",\"minCompatibilityVersion\":\"1.34\",\"versionSource\":"
     "\"Version\",\"emulationVersionSource\":\"PodFlags\""},
    {"also while it does not answer",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 error=refused\nnode cp-a role=control-plane\n"
     "pod kube-apiserver cp-a ip=10.0.0.1 cmd=kube-apiserver|--min-compatibility-version=1.36\n" POD
         LOCAL "|--emulated-version=1.35",
     "cp-a Unsupported:ControllerRange 1.35 PodFlags",
     "older than the 1.36 that API server cp-a requires"},
    {"a worker's static pod does not speak for an API server",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2\nnode cp-a role=control-plane\n"
     "node w-1\npod kube-apiserver w-1 ip=10.0.0.1 cmd=kube-apiserver\n" POD LOCAL,
     "cp-a Unknown:ApiserverUnknown 1.36 PodFlags", "no pod of a control plane node has its"},
    {"nor do two of one address",
     "slice 10.0.0.1\nprobe 10.0.0.1:6443 version=v1.36.2\nnode cp-a role=control-plane\n"
     "pod kube-apiserver cp-a ip=10.0.0.1 cmd=kube-apiserver\n"
     "pod kube-apiserver cp-a ip=10.0.0.1 name=b cmd=kube-apiserver\n" POD LOCAL,
     "cp-a Unknown:ApiserverUnknown 1.36 PodFlags", NULL},
    {"an API server's contradiction is told, and is no second server",
     AT_1_36
     "pod kube-apiserver cp-a ip=10.0.0.1 cmd=kube-apiserver|--emulated-version=1.35\n" POD LOCAL,
     "cp-a Supported:WithinRange 1.36 PodFlags",
     "reports emulation version 1.36, but the command line of pod kube-apiserver-cp-a reports "
     "1.35\""},
    {"two processes behind one address: the first answer is not taken for the truth",
     SERVER("ev=1.36 mcv=1.35 openapi=1.34") POD LOCAL,
     "cp-a Unknown:ApiserverUnknown 1.36 PodFlags",
     "\"verdict\":\"Unknown\",\"reason\":\"Contradiction\",\"message\":\"API server cp-a: /version "
     "reports emulation version 1.36, but OpenAPI's info.version reports 1.34: more than one "
     "server seems to answer at 10.0.0.1:6443\""},
    {"nor is the first binary",
     SERVER("ev=1.36 mcv=1.35 info=1.35.4 info_ev=1.35 info_mcv=1.34") POD LOCAL
     "|--emulated-version=1.34",
     "cp-a Unknown:ApiserverUnknown 1.34 PodFlags",
     "seems to answer at 10.0.0.1:6443 (read each API server by an "
     "address of its own: where Evenkeel is installed, set spec.peers.discovery to Static and name "
     "the addresses"},
    {"flags that the binary refuses are not those of its process",
     AT_1_36 POD LOCAL "|--emulated-version=1.37", "cp-a Unknown:EmulationUnknown",
     "sets versions that a binary of 1.36 refuses"},
    {"nor are those below what it emulates", AT_1_36 POD LOCAL "|--emulated-version=1.32",
     "cp-a Unknown:EmulationUnknown", "sets versions that a binary of 1.36 refuses"},
};

START_TEST(verdict_row)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_plan plan;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    ek_view_fixture_script(fx, rows[_i].script);
    ek_skew_plan_make(ek_view_fixture_view(fx), arena, &plan);
    yyjson_doc *status = yyjson_mut_val_imut_copy(plan.status, &ek_json_xalc);
    print(yyjson_doc_get_root(status), &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].want), "%s: got %s", rows[_i].name,
                  ek_buf_str(&out));
    char *text = yyjson_write(status, 0, NULL);
    ck_assert_msg(!rows[_i].message || strstr(text, rows[_i].message), "%s: no \"%s\" in %s",
                  rows[_i].name, rows[_i].message, text);
    free(text);
    yyjson_doc_free(status);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, verdict_row, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("skew_flags", tc);
}
