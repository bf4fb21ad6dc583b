/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans, from objects and probes to what is published. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/cond.h"
#include "reconcilers/skew/facts.h"
#include "reconcilers/skew/view.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

#define ARENA_LIMIT (32 << 20)

/* "Status Reason" of a condition in a status being built. */
static void condition(yyjson_mut_val *status, const char *type, char *buf, size_t size)
{
    size_t i, max;
    yyjson_mut_val *item;
    buf[0] = '\0';
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(status, "conditions"), i, max, item)
    {
        if (strcmp(yyjson_mut_get_str(yyjson_mut_obj_get(item, "type")), type) == 0)
            snprintf(buf, size, "%s %s", yyjson_mut_get_str(yyjson_mut_obj_get(item, "status")),
                     yyjson_mut_get_str(yyjson_mut_obj_get(item, "reason")));
    }
}

#define CANDIDATES                                                                                 \
    "candidate kcm-a of=kube-controller-manager bv=1.36.2 ev=1.36.0\n"                             \
    "candidate sched-a of=kube-scheduler bv=1.36.2 ev=1.36.0\n"                                    \
    "election kube-controller-manager holder=kcm-a_1\nelection kube-scheduler holder=sched-a_1\n"
#define PEER_A                                                                                     \
    "lease cp-a claim=10.0.0.1:6443\nprobe 10.0.0.1:6443 version=v1.36.2 ev=1.36 mcv=1.35\n"

static const struct {
    const char *name, *script, *type, *want;
    int exit_code;
} rows[] = {
    {"one server, all seen", PEER_A "slice 10.0.0.1\n" CANDIDATES "node n1 kubelet=v1.36.1\n",
     "Ready", "True Supported", 0},
    {"reachable", PEER_A "slice 10.0.0.1\n" CANDIDATES, "PeersReachable", "True AllReachable", 0},
    {"a node out of range", PEER_A "slice 10.0.0.1\n" CANDIDATES "node n1 kubelet=v1.30.1\n",
     "SkewSupported", "False KubeletRange", 2},
    {"nodes forbidden",
     PEER_A "slice 10.0.0.1\n" CANDIDATES "deny nodes forbidden: needs list on nodes\n",
     "SkewSupported", "Unknown VersionsUnknown", 3},
    {"two servers, one does not answer",
     PEER_A "lease cp-b claim=10.0.0.2:6443\nslice 10.0.0.1 10.0.0.2\n"
            "probe 10.0.0.2:6443 error=refused\n" CANDIDATES,
     "PeersReachable", "False PeerUnreachable", 3},
    {"nothing at all", "", "Ready", "Unknown NotEnumerated", 3},
};

START_TEST(plan_row)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_plan plan;
    char got[256];
    ek_view_fixture_script(fx, rows[_i].script);
    struct ek_skew_view view = *ek_view_fixture_view(fx);
    view.probing_done = true;
    ek_skew_plan_make(&view, arena, &plan);
    condition(plan.status, rows[_i].type, got, sizeof(got));
    ck_assert_msg(strcmp(got, rows[_i].want) == 0, "%s: %s", rows[_i].name, got);
    ck_assert_msg(plan.exit_code == rows[_i].exit_code, "%s: exit code %d", rows[_i].name,
                  plan.exit_code);
    ck_assert_msg(plan.create && plan.status_changed, "%s", rows[_i].name);
    ck_assert_int_eq(plan.probe_interval_ms, 15000);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
}
END_TEST

/* A ControlPlane that holds what plan would publish. */
static struct ek_obj *published(const struct ek_skew_plan *plan)
{
    struct ek_obj *object = NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_val(doc, root, "status", yyjson_mut_val_mut_copy(doc, plan->status));
    object = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    return object;
}

/* While the first probes are under way: a new object's first status is worth a short wait, an old
 * object's status is not replaced by half of one, and nobody waits forever. */
static const struct {
    const char *name, *object; /* %s: the view's now */
    int64_t later_ms;
    bool publishes;
} early[] = {
    {"new object", "{'metadata':{'creationTimestamp':'%s'}}", 1000, false},
    {"its clock is ahead of ours", "{'metadata':{'creationTimestamp':'%s'}}", -1000, false},
    {"new object, a peer hangs", "{'metadata':{'creationTimestamp':'%s'}}", 10000, true},
    {"an object of the user's, never filled", "{'metadata':{}}", 0, true},
    {"after a restart",
     "{'metadata':{},'status':{'conditions':[{'type':'Ready','status':'True'}]}}", 0, false},
};

START_TEST(half_a_view_is_not_published)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_plan plan;
    char now[EK_TIME_SIZE], json[256];
    struct ek_obj *object;

    ek_view_fixture_script(fx, PEER_A "slice 10.0.0.1\n");
    struct ek_skew_view view = *ek_view_fixture_view(fx);
    snprintf(json, sizeof json, early[_i].object, ek_time_format(view.now_ms, now));
    for (char *c = json; *c; c++)
        *c = (char)(*c == '\'' ? '"' : *c);
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &object, NULL), 0);
    view.control_plane = object;
    view.probing_done = false;
    view.now_ms += early[_i].later_ms;
    ek_skew_plan_make(&view, arena, &plan);
    ck_assert_msg(plan.status_changed == early[_i].publishes, "%s", early[_i].name);
    ek_skew_plan_done(&plan);
    ek_obj_unref(object);
    ek_arena_free(arena);
}
END_TEST

START_TEST(the_same_view_changes_nothing)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_plan first, second;
    ek_view_fixture_script(fx, PEER_A "slice 10.0.0.1\n" CANDIDATES "node n1 kubelet=v1.30.1\n"
                                      "node n2 kubelet=odd\n");
    struct ek_skew_view view = *ek_view_fixture_view(fx);
    view.probing_done = true;
    ek_skew_plan_make(&view, arena, &first);
    struct ek_obj *object = published(&first);
    view.control_plane = object;
    view.now_ms += 2000;
    ek_skew_plan_make(&view, arena, &second);
    ck_assert(!second.create && !second.status_changed);
    ck_assert_uint_eq(second.n_events, 0);
    ek_skew_plan_done(&first);
    ek_skew_plan_done(&second);
    ek_obj_unref(object);
    ek_arena_free(arena);
}
END_TEST

START_TEST(recorded_cluster)
{
    if (!ek_view_fixture_has_recording())
        return;
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_plan plan;
    char got[256];
    ek_view_fixture_add_recording(fx);
    struct ek_skew_view view = *ek_view_fixture_view(fx);
    view.probing_done = true;
    ek_skew_plan_make(&view, arena, &plan);
    char *text = yyjson_mut_val_write(plan.status, YYJSON_WRITE_PRETTY, NULL);
    if (getenv("EK_TEST_SHOW"))
        puts(text);
    ck_assert_int_eq(plan.exit_code, 2);
    condition(plan.status, "PeersReachable", got, sizeof(got));
    ck_assert_str_eq(got, "True AllReachable");
    condition(plan.status, "SkewSupported", got, sizeof(got));
    ck_assert_str_eq(got, "False MultipleViolations");
    condition(plan.status, "DiscoveryConsistent", got, sizeof(got));
    ck_assert_msg(strncmp(got, "False ", 6) == 0, "%s", got);
    condition(plan.status, "NextVersionSafe", got, sizeof(got));
    ck_assert_str_eq(got, "False SkipsMinor");
    yyjson_mut_val *summary = yyjson_mut_obj_get(plan.status, "summary");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(summary, "peers")), "6/6");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(summary, "versions")), "1.33-1.36");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(summary, "binaryVersions")), "1.36");
    ck_assert_uint_eq(yyjson_mut_get_uint(yyjson_mut_obj_get(summary, "nodes")), 35);
    free(text);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
}
END_TEST

/* A large cluster: peers with differing discovery and gates, nodes of every kind. */
static void add_large(struct ek_view_fixture *fx, int n_peers, int n_nodes)
{
    EK_AUTO(ek_buf) script;
    ek_buf_init(&script, 8 << 20);
    for (int i = 0; i < n_peers; i++)
        ek_buf_printf(&script,
                      "lease control-plane-host-with-a-long-name-%03d claim=10.0.1.%d:6443\n"
                      "slice 10.0.1.%d\nprobe 10.0.1.%d:6443 version=v1.36.%d ev=1.%d mcv=1.%d\n"
                      "candidate host-%03d of=kube-scheduler bv=1.36.2 ev=1.%d.0\n",
                      i, i, i, i, i % 9, 33 + i % 4, i % 4 ? 32 + i % 4 : 33, i, 33 + i % 4);
    for (int i = 0; i < n_nodes; i++)
        ek_buf_printf(&script, "node a-worker-node-with-a-rather-long-name-%05d kubelet=v1.%d.%d\n",
                      i, 30 + i % 8, i % 97);
    ek_view_fixture_script(fx, ek_buf_str(&script));
}

static void add_gates(struct ek_probe *probe, int peer)
{
    probe->gates = ek_xrealloc(NULL, 250, sizeof(*probe->gates));
    for (int i = 0; i < 250; i++)
        probe->gates[probe->n_gates++] =
            (struct ek_feature_gate){ek_xasprintf("AFeatureGateWithALongName%03d", i),
                                     ek_xstrdup("BETA"), (i + peer) % 3 == 0};
    probe->metrics_answer.good_at_ms = probe->metrics_answer.tried_at_ms = probe->reach.good_at_ms;
}

static void add_discovery(struct ek_probe *probe, int peer)
{
    EK_AUTO(ek_buf) json;
    probe->discovery = ek_discovery_new();
    for (int g = 0; g < 30; g++) {
        ek_buf_init(&json, 1 << 20);
        ek_buf_printf(&json,
                      "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
                      "\"group-%02d.example.io/v1\",\"resources\":[",
                      g);
        for (int r = 0; r < 20; r++)
            if ((r + g + peer) % 7)
                ek_buf_printf(&json, "{\"name\":\"resource%02d\",\"kind\":\"X\",\"verbs\":[]},", r);
        ek_buf_puts(&json, "{\"name\":\"zs\",\"kind\":\"Z\",\"verbs\":[]}]}");
        yyjson_doc *doc = ek_json_parse(ek_buf_str(&json), json.len, NULL);
        ck_assert_int_eq(
            ek_discovery_add_resource_list(probe->discovery, yyjson_doc_get_root(doc), NULL), 0);
        yyjson_doc_free(doc);
        ek_buf_done(&json);
    }
    ek_discovery_seal(probe->discovery);
    probe->discovery_answer.good_at_ms = probe->discovery_answer.tried_at_ms =
        probe->reach.good_at_ms;
}

/* The probes are ours, made a line before: filling them up is fair. */
static void fill_probes(const struct ek_skew_view *view)
{
    for (size_t i = 0; i < view->n_probes; i++) {
        struct ek_probe *probe = ek_probe_ref(view->probes[i].probe);
        add_gates(probe, (int)i);
        add_discovery(probe, (int)i);
        ek_probe_unref(probe);
    }
}

static const struct {
    const char *name;
    int n_peers, n_nodes;
} sizes[] = {
    {"7 peers, 5,000 nodes", 7, 5000},
    {"100 peers, 5,000 nodes", 100, 5000},
};

START_TEST(large_row)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_plan plan;
    size_t len = 0;
    add_large(fx, sizes[_i].n_peers, sizes[_i].n_nodes);
    struct ek_skew_view view = *ek_view_fixture_view(fx);
    view.probing_done = true;
    fill_probes(&view);
    ek_skew_plan_make(&view, arena, &plan);
    char *text = yyjson_mut_val_write(plan.status, 0, &len);
    printf("%s: %zu bytes of status, %zu of arena, %zu metrics\n", sizes[_i].name, len,
           ek_arena_used(arena), plan.n_metrics);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(len < 200000, "%s: %zu bytes", sizes[_i].name, len);
    ck_assert_msg(!ek_arena_exhausted(arena), "%s: %zu", sizes[_i].name, ek_arena_used(arena));
    ck_assert_msg(plan.n_metrics < 1500, "%s: %zu metrics", sizes[_i].name, plan.n_metrics);
    ck_assert_uint_le(plan.n_events, 32);
    free(text);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
}
END_TEST

START_TEST(five_thousand_nodes)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets;
    char line[256];

    for (int i = 0; i < 5000; i++) {
        snprintf(line, sizeof line,
                 "node n%04d kubelet=v1.3%d.%d ip=10.1.%d.%d\npod kube-proxy n%04d", i, i % 7,
                 i % 5, i / 250, i % 250, i);
        ek_view_fixture_script(fx, line);
    }
    ek_view_fixture_script(fx, "slice 10.1.0.1 10.1.0.2\nlease cp-a\nlease n0001");
    const struct ek_skew_view *view = ek_view_fixture_view(fx);
    ek_skew_facts_collect(view, arena, &facts, &targets, &n_targets);
    ck_assert_uint_eq(facts.n_groups, 36);
    ck_assert_uint_eq(facts.n_pairs, 7);
    ck_assert(!ek_arena_exhausted(arena));
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, plan_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, half_a_view_is_not_published, 0, (int)EK_ARRAY_SIZE(early));
    tcase_add_test(tc, the_same_view_changes_nothing);
    tcase_add_test(tc, recorded_cluster);
    tcase_add_test(tc, five_thousand_nodes);
    tcase_add_loop_test(tc, large_row, 0, (int)EK_ARRAY_SIZE(sizes));
    tcase_set_timeout(tc, 60);
    return ek_test_run("skew_plan", tc);
}
