/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/differences.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/skew_facts.h"
#include "test/support/suite.h"

#define A "peer cp-a v1.36.2/1.36/1.35\n"
#define B "peer cp-b v1.35.2/1.35/1.34\n"
#define C "peer cp-c v1.36.2/1.36/1.35\n"

static void put_some(struct ek_buf *out, const struct ek_some_peers *some)
{
    for (size_t i = 0; i < some->n_names; i++)
        ek_buf_printf(out, "%s%s", i ? "," : "", some->names[i]);
    if (some->n > some->n_names)
        ek_buf_printf(out, "+%zu", some->n - some->n_names);
}

/* Each row "group/version resource served/missing" and so on, in one line. */
static void put_discovery(struct ek_buf *out, const struct ek_differences *d)
{
    for (size_t i = 0; i < d->discovery.n_rows; i++) {
        const struct ek_discovery_difference *row = &d->discovery_rows[i];
        ek_buf_printf(out, "%s%s %s %zu ", i ? "; " : "", row->group_version,
                      row->resource[0] ? row->resource : "*", row->n_resources);
        put_some(out, &row->served_by);
        ek_buf_puts(out, "/");
        put_some(out, row->differs[0] ? &row->differs_at : &row->missing_from);
        if (row->differs[0])
            ek_buf_printf(out, " differs:%s", row->differs);
        ek_buf_puts(out, row->custom ? " custom" : "");
    }
    if (d->discovery.n_stale)
        ek_buf_printf(out, " stale:%s", d->discovery.stale_example);
    if (d->discovery.not_compared.n) {
        ek_buf_puts(out, " not:");
        put_some(out, &d->discovery.not_compared);
    }
    if (d->discovery.drift)
        ek_buf_printf(out, " drift:%s", d->discovery.drift_example);
}

static const struct {
    const char *name, *facts, *want;
    const char *missing; /* per peer, "-" where not compared */
} discovery[] = {
    {"alike",
     A B "serves cp-a core/v1/pods apps/v1/deployments\n"
         "serves cp-b core/v1/pods apps/v1/deployments",
     "", "0 0"},
    {"one resource", A B "serves cp-a core/v1/pods core/v1/newpods\nserves cp-b core/v1/pods",
     "v1 newpods 1 cp-a/cp-b", "0 1"},
    {"whole group version in one row",
     A B "serves cp-a core/v1/pods x.io/v1/as x.io/v1/as/status x.io/v1/bs\n"
         "serves cp-b core/v1/pods",
     "x.io/v1 * 2 cp-a/cp-b custom", "0 2"},
    {"either lacks something",
     A B "serves cp-a core/v1/pods x.io/v1/as\n"
         "serves cp-b core/v1/pods x.io/v1beta1/as",
     "x.io/v1 * 1 cp-a/cp-b custom; x.io/v1beta1 * 1 cp-b/cp-a custom", "1 1"},
    {"subresource of a served resource",
     A B "serves cp-a core/v1/pods core/v1/pods/resize\n"
         "serves cp-b core/v1/pods",
     "v1 pods/resize 1 cp-a/cp-b", "0 1"},
    {"subresource falls with its resource",
     A B "serves cp-a core/v1/nodes core/v1/pods core/v1/pods/resize\nserves cp-b core/v1/nodes",
     "v1 pods 1 cp-a/cp-b", "0 1"},
    {"a name before the slash in order",
     A B "serves cp-a x.io/v1/as x.io/v1/as-b x.io/v1/as/scale\nserves cp-b x.io/v1/as-b",
     "x.io/v1 as 1 cp-a/cp-b custom", "0 1"},
    {"three peers, gone at one and partial at another",
     A B C "serves cp-a apps/v1/as apps/v1/bs\nserves cp-b core/v1/pods\nserves cp-c apps/v1/as",
     "v1 * 1 cp-b/cp-a,cp-c; apps/v1 * 2 cp-a,cp-c/cp-b; apps/v1 bs 1 cp-a/cp-c "
     "drift:apps/v1 bs",
     "1 2 2"},
    {"same versions differ: drift",
     A C "serves cp-a core/v1/pods core/v1/x\n"
         "serves cp-c core/v1/pods",
     "v1 x 1 cp-a/cp-c drift:v1 x", "0 1"},
    {"same versions differ in custom groups: no drift",
     A C "serves cp-a core/v1/pods x.io/v1/as gateway.networking.k8s.io/v1/gs\n"
         "serves cp-c core/v1/pods",
     "gateway.networking.k8s.io/v1 * 1 cp-a/cp-c custom; x.io/v1 * 1 cp-a/cp-c custom", "0 2"},
    {"other verbs", A C "serves cp-a core/v1/pods:get,list\nserves cp-c core/v1/pods:get",
     "v1 pods 1 cp-a/cp-c differs:verbs drift:v1 pods", "0 0"},
    {"verbs in another order",
     A C "serves cp-a core/v1/pods:get,list\nserves cp-c core/v1/pods:list,get", "", "0 0"},
    {"verbs of a subresource",
     A B "serves cp-a core/v1/pods core/v1/pods/log:get\nserves cp-b core/v1/pods "
         "core/v1/pods/log:get,patch",
     "v1 pods/log 1 cp-a/cp-b differs:verbs", "0 0"},
    {"kind, scope and short names",
     A C "serves cp-a x.io/v1/as:get:A:Namespaced:a\nserves cp-c x.io/v1/as:get:B:Cluster:a,aa",
     "x.io/v1 as 1 cp-a/cp-c differs:kind, scope, short names custom", "0 0"},
    {"three servers, two of them alike",
     A B C "serves cp-a core/v1/as:get core/v1/bs\nserves cp-b core/v1/as:list\n"
           "serves cp-c core/v1/as:get",
     "v1 as 1 cp-a,cp-c/cp-b differs:verbs; v1 bs 1 cp-a/cp-b,cp-c drift:v1 bs", "0 1 1"},
    {"stale at one",
     A B "serves cp-a core/v1/pods x.io/v1!/as\nserves cp-b core/v1/pods x.io/v1/as",
     " stale:x.io/v1", "0 0"},
    {"stale at all", A B "serves cp-a x.io/v1!/as x.io/v1!/bs\nserves cp-b x.io/v1!/as x.io/v1!/bs",
     " stale:x.io/v1", "0 0"},
    {"stale at the only one", A "serves cp-a x.io/v1!/as", " stale:x.io/v1", "0"},
    {"never read by any",
     A B "serves cp-a core/v1/pods x.io/v1!\nserves cp-b core/v1/pods x.io/v1!", " stale:x.io/v1",
     "0 0"},
    {"never read by the only one", A "serves cp-a x.io/v1!", " stale:x.io/v1", "0"},
    {"never read by one",
     A B "serves cp-a core/v1/pods x.io/v1!\nserves cp-b core/v1/pods x.io/v1/as x.io/v1/as/status",
     " stale:x.io/v1", "0 0"},
    {"never read by one, and stale at another", A B "serves cp-a x.io/v1!\nserves cp-b x.io/v1!/as",
     " stale:x.io/v1", "0 0"},
    {"never read by one, unknown to another",
     A B C "serves cp-a core/v1/pods x.io/v1!\nserves cp-b core/v1/pods\n"
           "serves cp-c core/v1/pods x.io/v1/as",
     "x.io/v1 * 1 cp-a,cp-c/cp-b custom stale:x.io/v1", "0 1 0"},
    {"never read by one, and two others differ",
     A B C "serves cp-a x.io/v1!\nserves cp-b x.io/v1/as x.io/v1/bs:get\n"
           "serves cp-c x.io/v1/bs:list",
     "x.io/v1 as 1 cp-b/cp-c custom; x.io/v1 bs 1 cp-b/cp-c differs:verbs custom stale:x.io/v1",
     "0 0 1"},
    {"versions in another order",
     A B "serves cp-a x.io/v1@0/as x.io/v2@1/as\nserves cp-b x.io/v1@1/as x.io/v2@0/as",
     "x.io * 1 cp-a/cp-b differs:version priorities custom", "0 0"},
    {"versions of a built-in group in another order",
     A B C "serves cp-a autoscaling/v1@1/as autoscaling/v2@0/as\n"
           "serves cp-b autoscaling/v1@1/as autoscaling/v2@0/as\n"
           "serves cp-c autoscaling/v1@0/as autoscaling/v2@1/as",
     "autoscaling * 1 cp-a,cp-b/cp-c differs:version priorities drift:autoscaling", "0 0 0"},
    {"a version between is no other order",
     A B "serves cp-a x.io/v1@0/as x.io/v2@2/as\nserves cp-b x.io/v1@0/as x.io/v2@1/as", "", "0 0"},
    {"a version less is no other order",
     A B "serves cp-a x.io/v1@1/as x.io/v2@0/as\nserves cp-b x.io/v1@0/as",
     "x.io/v2 * 1 cp-a/cp-b custom", "0 1"},
    {"the order of what one more has",
     A B C "serves cp-a x.io/v1@0/as\nserves cp-b x.io/v1@0/as x.io/v2@1/as\n"
           "serves cp-c x.io/v1@1/as x.io/v2@0/as",
     "x.io/v2 * 1 cp-b,cp-c/cp-a custom; x.io * 1 cp-a,cp-b/cp-c differs:version priorities custom",
     "1 0 0"},
    {"one without an answer", A B C "serves cp-a core/v1/pods\nserves cp-b core/v1/pods",
     " not:cp-c", "0 0 -"},
    {"old answer is not compared",
     A B "serves cp-a core/v1/pods\nserves cp-b core/v1/x\nforget cp-b discovery 61", " not:cp-b",
     "0 -"},
    {"one failed attempt does not matter",
     A B "serves cp-a core/v1/pods\nserves cp-b core/v1/pods\nforget cp-b discovery 59", "", "0 0"},
    {"one without an answer, the others differ",
     A B C "serves cp-a core/v1/pods core/v1/x\nserves cp-b core/v1/pods",
     "v1 x 1 cp-a/cp-b not:cp-c", "0 1 -"},
    {"dead peers are no peers",
     A "peer cp-z v1.36.2/1.36/1.35 dead\nserves cp-a core/v1/pods\n"
       "serves cp-z core/v1/x",
     "", "0 -"},
    {"a server that serves nothing", A B "serves cp-a core/v1/pods\nserves cp-b",
     "v1 * 1 cp-a/cp-b", "0 1"},
    {"alone", A "serves cp-a core/v1/pods", "", "0"},
    {"nobody", "", "", ""},
};

START_TEST(discovery_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out, missing;
    struct ek_differences d;
    ek_buf_init(&out, 65536);
    ek_buf_init(&missing, 1024);
    ek_test_facts_init(&t, discovery[_i].facts);
    ek_skew_compare(&t.facts, t.arena, &d);
    put_discovery(&out, &d);
    for (size_t i = 0; i < t.facts.n_peers; i++)
        if (d.missing_resources[i] == SIZE_MAX)
            ek_buf_printf(&missing, "%s-", i ? " " : "");
        else
            ek_buf_printf(&missing, "%s%zu", i ? " " : "", d.missing_resources[i]);
    ck_assert_msg(strcmp(ek_buf_str(&out), discovery[_i].want) == 0, "%s: %s", discovery[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(strcmp(ek_buf_str(&missing), discovery[_i].missing) == 0, "%s: missing %s",
                  discovery[_i].name, ek_buf_str(&missing));
}
END_TEST

static const struct {
    const char *name, *facts, *want;
    size_t n_missing;
} gates[] = {
    {"alike", A B "gates cp-a X=on Y=off\ngates cp-b X=on Y=off", "", 0},
    {"differs between versions", A B "gates cp-a X=on\ngates cp-b X=off",
     "X on:cp-a off:cp-b ?:", 0},
    {"by flags where the gates were not read", A C "gates cp-a X=on Y=on\nflags cp-c X=off",
     "X on:cp-a off:cp-c ?: flags:cp-c not:cp-c drift:X", 0},
    {"by flags of both", A C "flags cp-a X=on\nflags cp-c X=off",
     "X on:cp-a off:cp-c ?: flags:cp-a,cp-c not:cp-a,cp-c drift:X", 0},
    {"flags that agree prove no consistency", A C "gates cp-a X=on\nflags cp-c X=on", " not:cp-c",
     0},
    {"what flags do not set is not missing", A C "gates cp-a X=on Y=on\nflags cp-c Y=on",
     " not:cp-c", 0},
    {"gates that were read beat flags", A C "gates cp-a X=on\ngates cp-c X=on\nflags cp-c X=off",
     "", 0},
    {"flags between versions", A B "gates cp-a X=on\nflags cp-b X=off",
     "X on:cp-a off:cp-b ?: flags:cp-b not:cp-b", 0},
    {"does not exist at the other's version", A B "gates cp-a X=on Y=on\ngates cp-b X=on", "", 1},
    {"does not exist at the same version: drift", A C "gates cp-a X=on Y=on\ngates cp-c X=on",
     "Y on:cp-a off: ?:cp-c drift:Y", 1},
    {"differs at the same version: drift", A C "gates cp-a X=on\ngates cp-c X=off",
     "X on:cp-a off:cp-c ?: drift:X", 0},
    {"drift among three",
     A B C "gates cp-a X=on Y=on\ngates cp-b X=off Y=on\n"
           "gates cp-c X=on Y=off",
     "X on:cp-a,cp-c off:cp-b ?:; Y on:cp-a,cp-b off:cp-c ?: drift:Y", 0},
    {"one without an answer", A B "gates cp-a X=on", " not:cp-b", 0},
    {"old answer", A B "gates cp-a X=on\ngates cp-b X=off\nforget cp-b gates 90", " not:cp-b", 0},
    {"asked rarely: between two questions the answer holds",
     A B "gates cp-a X=on\ngates cp-b X=off\nasked cp-a gates 299\nasked cp-b gates 299",
     "X on:cp-a off:cp-b ?:", 0},
    {"not reached any more",
     A B "gates cp-a X=on\ngates cp-b X=off\nasked cp-b gates 90\nforget cp-b reach 90",
     " not:cp-b", 0},
    {"last in order", A B "gates cp-a A=on Z=on\ngates cp-b A=on Z=off",
     "Z on:cp-a off:cp-b ?:", 0},
};

START_TEST(gate_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    struct ek_differences d;
    ek_buf_init(&out, 65536);
    ek_test_facts_init(&t, gates[_i].facts);
    ek_skew_compare(&t.facts, t.arena, &d);
    for (size_t i = 0; i < d.gates.n_rows; i++) {
        ek_buf_printf(&out, "%s%s on:", i ? "; " : "", d.gate_rows[i].gate);
        put_some(&out, &d.gate_rows[i].enabled_by);
        ek_buf_puts(&out, " off:");
        put_some(&out, &d.gate_rows[i].disabled_by);
        ek_buf_puts(&out, " ?:");
        put_some(&out, &d.gate_rows[i].missing_from);
        if (d.gate_rows[i].by_flags.n)
            ek_buf_puts(&out, " flags:");
        put_some(&out, &d.gate_rows[i].by_flags);
    }
    if (d.gates.not_compared.n) {
        ek_buf_puts(&out, " not:");
        put_some(&out, &d.gates.not_compared);
    }
    if (d.gates.drift)
        ek_buf_printf(&out, " drift:%s", d.gates.drift_example);
    ck_assert_msg(strcmp(ek_buf_str(&out), gates[_i].want) == 0, "%s: %s", gates[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(d.n_gates_missing == gates[_i].n_missing, "%s: %zu missing", gates[_i].name,
                  d.n_gates_missing);
}
END_TEST

START_TEST(lists_are_bounded)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) script;
    struct ek_differences d;
    ek_buf_init(&script, 1 << 20);
    for (int i = 0; i < 10; i++)
        ek_buf_printf(&script, "peer p%d v1.36.2/1.36/1.35\n", i);
    ek_buf_puts(&script, "serves p0");
    for (int i = 0; i < 60; i++)
        ek_buf_printf(&script, " g%d.io/v1/as", i);
    for (int i = 1; i < 10; i++)
        ek_buf_printf(&script, "\nserves p%d core/v1/pods", i);
    for (int p = 0; p < 2; p++) {
        ek_buf_printf(&script, "\ngates p%d", p);
        for (int i = 0; i < 60; i++)
            ek_buf_printf(&script, " Gate%02d=%s", i, p ? "on" : "off");
    }
    ek_test_facts_init(&t, ek_buf_str(&script));
    ek_skew_compare(&t.facts, t.arena, &d);
    ck_assert_uint_eq(d.discovery.n, 61);
    ck_assert_uint_eq(d.discovery.n_rows, EK_DIFFERENCES_MAX);
    ck_assert_uint_eq(d.discovery_rows[1].missing_from.n, 9);
    ck_assert_uint_eq(d.discovery_rows[1].missing_from.n_names, EK_DIFFERENCES_NAMES_MAX);
    ck_assert_uint_eq(d.gates.n, 60);
    ck_assert_uint_eq(d.gates.n_rows, EK_DIFFERENCES_MAX);
}
END_TEST

#define KCM       "inst kube-controller-manager kcm v1.36.2/1.36\n"
#define SCHED     "inst kube-scheduler sched v1.36.2/1.36\n"
#define EMULATING "peer cp-e v1.36.2/1.35/1.34\n"

/* Gates of other components, and what is alpha under emulation. */
static const struct {
    const char *name, *facts, *want, *alpha;
} components[] = {
    {"alike", A KCM "gates cp-a X=on\ngates kcm X=on", "", ""},
    {"a scheduler differs", A SCHED "gates cp-a X=on Y=on\ngates sched X=on Y=off",
     "Y on:kube-apiserver/cp-a off:kube-scheduler/sched", ""},
    {"a gate that one component lacks", A KCM "gates cp-a X=on Y=on\ngates kcm X=on", "", ""},
    {"two components differ, and the API server lacks the gate",
     A KCM SCHED "gates cp-a X=on\ngates kcm Y=on\ngates sched Y=off",
     "Y on:kube-controller-manager/kcm off:kube-scheduler/sched", ""},
    {"another version has other defaults", B KCM "gates cp-b X=off\ngates kcm X=on", "", ""},
    {"the API server of the same version counts",
     A B KCM "gates cp-a X=on\ngates cp-b X=off\ngates kcm X=off",
     "X on:kube-apiserver/cp-a off:kube-controller-manager/kcm", ""},
    {"an assumed version proves nothing",
     A "inst kube-scheduler sched v1.36.2/1.36 assumed\ngates cp-a X=on\ngates sched X=off", "",
     ""},
    {"flags of a Pod", A KCM "gates cp-a X=on Y=on\nflags kcm Y=off",
     "Y on:kube-apiserver/cp-a off:kube-controller-manager/kcm flags:kube-controller-manager/kcm",
     ""},
    {"what flags do not set is not known", A KCM "gates cp-a X=on Y=on\nflags kcm X=on", "", ""},
    {"gates that were read beat flags", A KCM "gates cp-a X=on\ngates kcm X=on\nflags kcm X=off",
     "", ""},
    {"an old answer", A KCM "gates cp-a X=on\ngates kcm X=off\nforget kcm gates 90", "", ""},
    {"a dead instance",
     A "inst kube-scheduler sched v1.36.2/1.36 stale=Expired\ngates cp-a X=on\ngates sched X=off",
     "", ""},
    {"a cloud controller manager has gates of its own",
     A "inst cloud-controller-manager ccm v1.36.2/1.36\ngates cp-a X=on\ngates ccm X=off", "", ""},
    {"API servers alone", A C "gates cp-a X=on\ngates cp-c X=off", "", ""},
    {"alpha without emulation", A "gates cp-a X=alpha\nserves cp-a apps/v1alpha1/x", "", ""},
    {"an alpha gate under emulation", EMULATING "gates cp-e X=alpha Y=on", "",
     "gate X kube-apiserver/cp-e"},
    {"alpha gates of a scheduler",
     A "inst kube-scheduler sched v1.36.2/1.34\ngates cp-a X=alpha\ngates sched X=alpha", "",
     "gate X kube-scheduler/sched"},
    {"an alpha gate that is off", EMULATING "gates cp-e X=off", "", ""},
    {"an alpha API under emulation",
     EMULATING "serves cp-e apps/v1/x storage.k8s.io/v1alpha1/a storage.k8s.io/v1alpha1/b "
               "storage.k8s.io/v1beta1/c",
     "", "api storage.k8s.io/v1alpha1 kube-apiserver/cp-e"},
    {"an alpha version of a custom resource is no matter of emulation",
     EMULATING "serves cp-e gateway.networking.k8s.io/v1alpha2/x example.com/v1alpha1/y", "", ""},
    {"two servers",
     EMULATING "peer cp-f v1.36.2/1.35/1.34\nserves cp-e batch/v1alpha1/x\n"
               "serves cp-f batch/v1alpha1/x",
     "", "api batch/v1alpha1 kube-apiserver/cp-e,kube-apiserver/cp-f"},
};

START_TEST(component_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) alpha;
    struct ek_differences d;
    ek_buf_init(&out, 65536);
    ek_buf_init(&alpha, 65536);
    ek_test_facts_init(&t, components[_i].facts);
    ek_skew_compare(&t.facts, t.arena, &d);
    for (size_t i = 0; i < d.n_component_gate_rows; i++) {
        const struct ek_component_gate *row = &d.component_gates[i];
        ek_buf_printf(&out, "%s%s on:", i ? "; " : "", row->gate);
        put_some(&out, &row->enabled_by);
        ek_buf_puts(&out, " off:");
        put_some(&out, &row->disabled_by);
        if (row->by_flags.n)
            ek_buf_puts(&out, " flags:");
        put_some(&out, &row->by_flags);
    }
    for (size_t i = 0; i < d.n_alpha_rows; i++) {
        ek_buf_printf(&alpha, "%s%s %s ", i ? "; " : "", d.alpha[i].api ? "api" : "gate",
                      d.alpha[i].name);
        put_some(&alpha, &d.alpha[i].by);
    }
    ck_assert_msg(!strcmp(ek_buf_str(&out), components[_i].want), "%s: %s", components[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(!strcmp(ek_buf_str(&alpha), components[_i].alpha), "%s: %s", components[_i].name,
                  ek_buf_str(&alpha));
}
END_TEST

/* Static admission manifests. */
static const struct {
    const char *name, *facts, *want;
    bool none; /* no API server has any */
} manifests[] = {
    {"nobody has any", A B "gates cp-a X=on\ngates cp-b X=on", "", true},
    {"alike", A C "manifests cp-a P=1 Q=2\nmanifests cp-c P=1 Q=2", "", false},
    {"other files", A C "manifests cp-a P=1 Q=2\nmanifests cp-c P=1 Q=3", "Q cp-a/cp-c/ drift:Q",
     false},
    {"none at one", A C "manifests cp-a P=1\ngates cp-c X=on", "P cp-a//cp-c drift:P", false},
    {"none at the first", A C "gates cp-a X=on\nmanifests cp-c P=1", "P cp-c//cp-a drift:P", false},
    {"none at another version", A B "manifests cp-a P=1\ngates cp-b X=on", "P cp-a//cp-b", false},
    {"two plug-ins of two servers", A C "manifests cp-a P=1\nmanifests cp-c Q=1",
     "P cp-a//cp-c; Q cp-c//cp-a drift:P", false},
    {"three servers", A B C "manifests cp-a P=1\nmanifests cp-b P=2\nmanifests cp-c P=1",
     "P cp-a,cp-c/cp-b/", false},
    {"metrics that are not read", A C "manifests cp-a P=1", " not:cp-c", false},
    {"metrics that are old", A C "manifests cp-a P=1\nmanifests cp-c P=2\nforget cp-c gates 90",
     " not:cp-c", false},
    {"a dead server", A "peer cp-z v1.36.2/1.36/1.35 dead\nmanifests cp-a P=1\nmanifests cp-z P=2",
     "", false},
};

START_TEST(manifests_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    struct ek_differences d;

    ek_buf_init(&out, 65536);
    ek_test_facts_init(&t, manifests[_i].facts);
    ek_skew_compare(&t.facts, t.arena, &d);
    for (size_t i = 0; i < d.manifests.n_rows; i++) {
        const struct ek_manifests_difference *row = &d.manifests_rows[i];
        ek_buf_printf(&out, "%s%s ", i ? "; " : "", row->plugin);
        put_some(&out, &row->loaded_by);
        ek_buf_puts(&out, "/");
        put_some(&out, &row->differs_at);
        ek_buf_puts(&out, "/");
        put_some(&out, &row->missing_from);
    }
    if (d.manifests.not_compared.n) {
        ek_buf_puts(&out, " not:");
        put_some(&out, &d.manifests.not_compared);
    }
    if (d.manifests.drift)
        ek_buf_printf(&out, " drift:%s", d.manifests.drift_example);
    ck_assert_msg(!strcmp(ek_buf_str(&out), manifests[_i].want), "%s: %s", manifests[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(d.has_manifests == !manifests[_i].none, "%s", manifests[_i].name);
}
END_TEST

START_TEST(component_lists_are_bounded)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) script;
    struct ek_differences d;
    ek_buf_init(&script, 1 << 20);
    ek_buf_puts(&script, EMULATING "inst kube-scheduler s v1.36.2/1.35\n");
    for (int p = 0; p < 2; p++) {
        ek_buf_printf(&script, "\ngates %s", p ? "cp-e" : "s");
        for (int i = 0; i < 60; i++)
            ek_buf_printf(&script, " Gate%02d=%s", i, p ? "alpha" : "off");
    }
    ek_test_facts_init(&t, ek_buf_str(&script));
    ek_skew_compare(&t.facts, t.arena, &d);
    ck_assert_uint_eq(d.n_component_gates, 60);
    ck_assert_uint_eq(d.n_component_gate_rows, EK_DIFFERENCES_MAX);
    ck_assert_uint_eq(d.n_alpha, 60);
    ck_assert_uint_eq(d.n_alpha_rows, EK_DIFFERENCES_MAX);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, discovery_row, 0, (int)EK_ARRAY_SIZE(discovery));
    tcase_add_loop_test(tc, gate_row, 0, (int)EK_ARRAY_SIZE(gates));
    tcase_add_loop_test(tc, component_row, 0, (int)EK_ARRAY_SIZE(components));
    tcase_add_test(tc, lists_are_bounded);
    tcase_add_loop_test(tc, manifests_row, 0, (int)EK_ARRAY_SIZE(manifests));
    tcase_add_test(tc, component_lists_are_bounded);
    return ek_test_run("differences", tc);
}
