/* SPDX-License-Identifier: Apache-2.0 */
/* What is written for a subscription: rows of a namespace, a consent and a memory. */
#include "reconcilers/failforward/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/status.h"
#include "test/support/ff_scene.h"
#include "test/support/statustest.h"
#include "test/support/suite.h"

#define G1                                                                                         \
    "og; cat; sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 "  \
    "Failed gen=2 ago=600 'C is invalid: x'"
#define HELD                                                                                       \
    "og on; cat; sub v2 v2; csv v1 Replacing ran; csv v2<v1 "                                      \
    "Failed/InstallComponentFailedNoRetry '" EK_FF_PIN_MESSAGE "'; plan p2 v2 Failed gen=2 "       \
    "ago=600 'C is invalid: x'"
#define SWITCHED "og on; cat; sub v1 v1; csv v1 Succeeded ran ago=900"
#define GOOD     "og; cat; sub v1 v1; csv v1 Succeeded ran ago=900"
#define WAS                                                                                        \
    "\"failing\":\"v2\",\"since\":\"2025-12-31T23:50:00Z\",\"held\":\"v2\",\"switched\":true"

/* Intents as words: "create", "status", "EVENT reason", and "verb resource/name" of a step. */
static const struct {
    const char *name, *scene, *mode; /* NULL: nobody consents */
    const char *episode;             /* of the report; NULL: there is no report */
    const char *olm, *wants;
} rows[] = {
    {"without consent nothing is written", G1, NULL, NULL, "0.46.0", ""},
    {"Observe reports", G1, "Observe", NULL, "0.46.0", "create status Event:OperatorFailing"},
    {"Assist writes the memory, then the step", G1, "Assist", "", "0.46.0",
     "status Event:OperatorFailing read read read patch:operatorgroups/og0 Event:SwitchOn"},
    {"the first report and the step", G1, "Assist", NULL, "0.46.0",
     "create status Event:OperatorFailing read read read patch:operatorgroups/og0 Event:SwitchOn"},
    {"a version of OLM that was not tried", G1, "Assist", "", "0.45.0",
     "status Event:OperatorFailing"},
    {"a version of OLM that is not known", G1, "Assist", "", "", "status Event:OperatorFailing"},
    {"every version of OLM is allowed", G1, "Assist\",\"olmVersions\":\"Any", "", "",
     "status Event:OperatorFailing read read read patch:operatorgroups/og0 Event:SwitchOn"},
    {"a healthy operator", GOOD, "Assist", NULL, "0.46.0", "create status"},
    {"an operator that is healthy again", GOOD, "Assist",
     "\"failing\":\"v1\",\"since\":\"2025-12-31T23:50:00Z\"", "0.46.0",
     "status Event:OperatorRecovered"},
    {"withdrawal takes back the hold first", HELD, "Off", WAS, "0.46.0",
     "status patch:clusterserviceversions/v2 Event:EndHold"},
    {"withdrawal to Observe takes back as well", HELD, "Observe", WAS, "0.46.0",
     "status Event:OperatorFailing patch:clusterserviceversions/v2 Event:EndHold"},
    {"so does a version of OLM that was not tried", HELD, "Assist", WAS, "0.45.0",
     "status Event:OperatorFailing patch:clusterserviceversions/v2 Event:EndHold"},
    {"then the operator group", SWITCHED, "Off", WAS, "0.46.0",
     "status patch:operatorgroups/og0 Event:SwitchOff"},
    {"withdrawal ends a deletion that was begun", "og; cat; sub v1 v1; plan p1 v1 Complete ago=900",
     "Off",
     "\"failing\":\"v1\",\"since\":\"2025-12-31T23:50:00Z\",\"writes\":[{\"name\":\"Delete\","
     "\"count\":1,"
     "\"lastTime\":\"2025-12-31T23:59:00Z\"}]",
     "0.46.0", "status patch:subscriptions/op Event:Clear"},
    {"what a person did is not taken back", HELD, "Off", "\"failing\":\"v2\"", "0.46.0", "status"},
};

static struct statustest schema;
static struct ek_arena *arena;
static struct ek_intents intents;

struct judged {
    struct ek_ff_scene scene;
    struct ek_obj *policy, *report;
    struct ek_ff_rules rules;
    struct ek_ff_verdict *verdicts;
    size_t n;
};

static struct ek_obj *parse(const char *json)
{
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    ck_assert_msg(!ek_obj_parse(json, strlen(json), &obj, &err), "%s: %s", err.message, json);
    return obj;
}

static struct ek_obj *make_report(const char *owner, const char *status)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"kind\":\"FailForwardStatus\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"op\","
        "\"uid\":"
        "\"r-uid\",\"resourceVersion\":\"9\",\"ownerReferences\":[{\"kind\":\"Subscription\","
        "\"uid\":\"%s\"}]},\"status\":%s}",
        owner, status);
    return parse(json);
}

static const struct ek_ff_kept *kept_now;

static const struct ek_ff_kept *recall(void *ctx, const struct ek_obj *subscription)
{
    (void)ctx;
    (void)subscription;
    return kept_now;
}

static void judge_at(struct judged *j, const char *olm, const struct ek_ff_kept *kept,
                     int64_t now_ms)
{
    j->rules.policies = (struct ek_ff_objs){&j->policy, j->policy ? 1 : 0};
    kept_now = kept;
    const struct ek_ff_inputs inputs = {.world = &j->scene.world,
                                        .rules = &j->rules,
                                        .reports = {&j->report, j->report ? 1 : 0},
                                        .olm_version = olm,
                                        .recall = recall,
                                        .now_ms = now_ms};
    j->n = ek_ff_judge(&inputs, arena, &j->verdicts);
}

static void begin(struct judged *j, const char *scene, const char *mode, const char *episode)
{
    *j = (struct judged){0};
    ek_ff_scene_init(&j->scene, scene);
    if (mode) {
        EK_AUTOFREE char *policy = ek_xasprintf(
            "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"graceSeconds\":0,\"mode\":\"%s\"}}",
            mode);
        j->policy = parse(policy);
    }
    if (episode) {
        EK_AUTOFREE char *status = ek_xasprintf("{\"episode\":{%s}}", episode);
        j->report = make_report("op-uid", status);
    }
}

static void end(struct judged *j)
{
    ek_ff_scene_done(&j->scene);
    ek_obj_unref(j->policy);
    ek_obj_unref(j->report);
}

static void setup(void)
{
    statustest_load(&schema, "failforward/evenkeel.dev_failforwardstatuses.yaml",
                    "FailForwardStatus");
    arena = ek_arena_new(1 << 20);
    ek_intents_init(&intents);
}

static void teardown(void)
{
    ek_intents_done(&intents);
    ek_arena_free(arena);
    statustest_free(&schema);
}

static void plan(struct judged *j)
{
    for (size_t i = 0; i < j->n; i++)
        ek_ff_plan(&j->verdicts[i], i, &j->scene.world, EK_FF_NOW, &intents);
}

static void print(const struct ek_intent *intent, struct ek_buf *out)
{
    static const char *const verbs[EK_VERB_MAX] = {
        [EK_CREATE] = "create", [EK_APPLY] = "apply",        [EK_APPLY_STATUS] = "status",
        [EK_PATCH] = "patch",   [EK_PATCH_STATUS] = "patch", [EK_DELETE] = "delete",
        [EK_LIST] = "read",     [EK_EVENT] = "Event"};

    ek_buf_printf(out, "%s%s", out->len ? " " : "", verbs[intent->verb]);
    if (intent->verb == EK_EVENT)
        ek_buf_printf(out, ":%s", intent->event.reason);
    else if (ek_ff_tag_kind(intent->tag) == EK_FF_TAG_STEP)
        ek_buf_printf(out, ":%s/%s", intent->resource.resource, intent->name);
}

static void check_words(const char *row, const char *wants)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    for (size_t i = 0; i < intents.n; i++)
        print(&intents.items[i], &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), wants), "%s: %s", row, ek_buf_str(&out));
}

/* What a step must keep to, whatever it is. */
static void check_order(const char *row)
{
    bool remembered = false;

    for (size_t i = 0; i < intents.n; i++) {
        const struct ek_intent *intent = &intents.items[i];
        enum ek_ff_tag kind = ek_ff_tag_kind(intent->tag);
        remembered = remembered || intent->verb == EK_APPLY_STATUS;
        ck_assert_msg(kind != EK_FF_TAG_STEP || (remembered && intent->depends), "%s", row);
        ck_assert_msg(intent->verb != EK_EVENT || intent->depends, "%s", row);
        ck_assert_msg(intent->verb == EK_EVENT || intent->on_failure == EK_GO_ON, "%s", row);
        if (intent->verb == EK_APPLY_STATUS) {
            struct statustest of = schema;
            of.doc = intents.doc;
            statustest_schema(&of, row, yyjson_mut_obj_get(intent->content, "status"));
        }
    }
}

START_TEST(intents_of_a_row)
{
    struct judged j;

    begin(&j, rows[_i].scene, rows[_i].mode, rows[_i].episode);
    judge_at(&j, rows[_i].olm, NULL, EK_FF_NOW);
    plan(&j);
    check_words(rows[_i].name, rows[_i].wants);
    check_order(rows[_i].name);
    end(&j);
}
END_TEST

static struct ek_obj *written_status(void)
{
    for (size_t i = 0; i < intents.n; i++)
        if (intents.items[i].verb == EK_APPLY_STATUS)
            return ek_obj_from_mut(yyjson_mut_obj_get(intents.items[i].content, "status"));
    ck_abort_msg("no status");
}

static void take_report(struct judged *j)
{
    struct ek_obj *status = written_status();
    char *text = yyjson_val_write(ek_obj_root(status), YYJSON_WRITE_NOFLAG, NULL);

    ek_obj_unref(j->report);
    j->report = make_report("op-uid", text);
    free(text);
    ek_obj_unref(status);
    ek_intents_done(&intents);
    ek_intents_init(&intents);
}

/* The report of a moment says all that there is to say some seconds later. */
START_TEST(the_clock_alone_writes_nothing)
{
    struct judged j;

    begin(&j, G1, "Observe", NULL);
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    plan(&j);
    take_report(&j);
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW + 5000);
    plan(&j);
    check_words("five seconds later", "");
    end(&j);
}
END_TEST

/* Another replica reads the memory, and does not do again what was done. */
START_TEST(the_report_is_the_memory)
{
    struct judged j;

    begin(&j, G1, "Assist", "");
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    plan(&j);
    take_report(&j);
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW + 1000);
    ck_assert_uint_eq(j.verdicts[0].memory.acts[EK_FF_SWITCH].n, 1);
    ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_NO_ACT);
    ck_assert_int_eq(j.verdicts[0].next.again_ms, EK_FF_NOW + EK_FF_VERIFY_MS);
    end(&j);
}
END_TEST

/* A write that did not happen is due at once, and does not count. */
START_TEST(what_was_undone_is_due_again)
{
    struct judged j;
    struct ek_ff_kept kept = {.undone = true};

    begin(&j, G1, "Assist", "");
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    plan(&j);
    kept.memory = j.verdicts[0].undone;
    ck_assert_uint_eq(kept.memory.acts[EK_FF_SWITCH].n, 0);
    take_report(&j);
    judge_at(&j, "0.46.0", &kept, EK_FF_NOW + 1000);
    ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_SWITCH);
    snprintf(kept.refused, sizeof kept.refused, "operatorgroups are forbidden");
    kept.until_ms = EK_FF_NOW + 60000;
    judge_at(&j, "0.46.0", &kept, EK_FF_NOW + 1000);
    ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_NO_ACT);
    ck_assert_int_eq(j.verdicts[0].next.blocked, EK_FF_NOT_ALLOWED);
    ck_assert_int_eq(j.verdicts[0].next.again_ms, kept.until_ms);
    judge_at(&j, "0.46.0", &kept, kept.until_ms);
    ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_SWITCH);
    end(&j);
}
END_TEST

static bool is_reading;

static int64_t catalog_changed_ms, catalog_known_ms;

static void find_catalog(void *ctx, const struct ek_obj *subscription,
                         struct ek_ff_catalog *ret_catalog)
{
    (void)ctx;
    (void)subscription;
    *ret_catalog = (struct ek_ff_catalog){.error = "",
                                          .reading = is_reading,
                                          .changed_ms = catalog_changed_ms,
                                          .known_ms = catalog_known_ms};
}

static void judge_with(struct judged *j,
                       void (*catalog)(void *, const struct ek_obj *, struct ek_ff_catalog *))
{
    const struct ek_ff_rules rules = {.policies = {&j->policy, 1}};
    const struct ek_ff_inputs inputs = {.world = &j->scene.world,
                                        .rules = &rules,
                                        .reports = {&j->report, 1},
                                        .olm_version = "0.46.0",
                                        .catalog = catalog,
                                        .now_ms = EK_FF_NOW};
    j->n = ek_ff_judge(&inputs, arena, &j->verdicts);
}

/* The order of the steps depends on the edges; what is taken back does not. */
START_TEST(a_catalog_that_is_read_is_waited_for)
{
    struct judged j;
    static const char *const scenes[] = {G1, HELD};
    static const char *const modes[] = {"Assist", "Off"};
    static const enum ek_ff_act acts[] = {EK_FF_SWITCH, EK_FF_UNPIN};

    begin(&j, scenes[_i], modes[_i], WAS);
    for (is_reading = false;; is_reading = true) {
        judge_with(&j, find_catalog);
        ck_assert_int_eq(j.verdicts[0].next.act, is_reading && _i == 0 ? EK_FF_NO_ACT : acts[_i]);
        ck_assert(j.verdicts[0].finding.again_ms > EK_FF_NOW || !is_reading || _i != 0);
        if (is_reading)
            break;
    }
    end(&j);
}
END_TEST

/* A change that another process saw counts as long as the failure lasts. What this process knows,
 * it knows since its own read. */
START_TEST(a_change_of_the_catalog_is_remembered)
{
    static const int64_t seen[] = {0, EK_FF_NOW - 90000, EK_FF_NOW - 30000};
    static const int64_t wants[] = {EK_FF_NOW - 60000, EK_FF_NOW - 60000, EK_FF_NOW - 30000};

    is_reading = false;
    for (size_t i = 0; i < 3; i++) {
        struct judged j;
        begin(&j, G1, "Observe", WAS ",\"catalogChanged\":\"2025-12-31T23:59:00Z\"");
        catalog_changed_ms = seen[i];
        catalog_known_ms = EK_FF_NOW - 1;
        judge_with(&j, find_catalog);
        ck_assert_int_eq(j.verdicts[0].edges.known_ms, EK_FF_NOW - 1);
        ck_assert_int_eq(j.verdicts[0].edges.changed_ms, wants[i]);
        ck_assert_int_eq(j.verdicts[0].memory.changed_ms, wants[i]);
        end(&j);
    }
    catalog_changed_ms = catalog_known_ms = 0;
}
END_TEST

/* A catalog with v3, and what else a process lends for the time of the judgement. */
static struct {
    struct ek_ff_graph *graph;
    char error[32];
    struct ek_ff_kept kept;
} lent;

static void lend_catalog(void *ctx, const struct ek_obj *subscription,
                         struct ek_ff_catalog *ret_catalog)
{
    (void)ctx;
    (void)subscription;
    *ret_catalog = (struct ek_ff_catalog){.graph = lent.graph, .error = lent.error};
}

static void lend(void)
{
#define STR(text) ek_str_from(text)
    const struct ek_ff_entry entries[] = {{.package = STR("op"),
                                           .channel = STR("stable"),
                                           .name = STR("v2"),
                                           .version = STR("2.0.0")},
                                          {.package = STR("op"),
                                           .channel = STR("stable"),
                                           .name = STR("v3"),
                                           .version = STR("3.0.0"),
                                           .replaces = STR("v2")}};

    lent.graph = ek_ff_graph_new(1 << 16);
    ck_assert_int_eq(ek_ff_graph_package(lent.graph, STR("op"), STR("stable")), 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(entries); i++)
        ck_assert_int_eq(ek_ff_graph_entry(lent.graph, &entries[i]), 0);
#undef STR
    snprintf(lent.error, sizeof lent.error, "registry x: no answer");
    lent.kept = (struct ek_ff_kept){.refused = "csvs are forbidden", .until_ms = EK_FF_NOW + 60000};
    kept_now = &lent.kept;
}

/* The CatalogSource is deleted, and other writes fail, before the verdict is written. */
static void take_back(void)
{
    ek_ff_graph_free(lent.graph);
    memset(lent.error, 'x', sizeof lent.error - 1);
    memset(lent.kept.refused, 'x', sizeof lent.kept.refused - 1);
}

START_TEST(a_verdict_outlives_what_was_lent)
{
    struct judged j;
    struct ek_ff_edges edges;

    begin(&j, G1, "Assist", "");
    lend();
    const struct ek_ff_inputs inputs = {.world = &j.scene.world,
                                        .rules = &(struct ek_ff_rules){.policies = {&j.policy, 1}},
                                        .reports = {&j.report, 1},
                                        .olm_version = "0.46.0",
                                        .catalog = lend_catalog,
                                        .recall = recall,
                                        .now_ms = EK_FF_NOW};
    j.n = ek_ff_judge(&inputs, arena, &j.verdicts);
    ck_assert_uint_eq(j.n, 1);
    ek_ff_find_edges(lent.graph, &j.verdicts[0].state, &j.verdicts[0].finding, &edges);
    ck_assert_str_eq(edges.from_failing.next, "v3");
    ck_assert_ptr_ne(j.verdicts[0].edges.from_failing.next, edges.from_failing.next);
    ck_assert_ptr_ne(j.verdicts[0].edges.from_failing.version, edges.from_failing.version);
    take_back();
    plan(&j);
    struct ek_obj *status = written_status();
    yyjson_val *root = ek_obj_root(status);
    ck_assert_str_eq(ek_json_text(root, "catalogError"), "registry x: no answer");
    ck_assert_str_eq(ek_json_str(root, "versions", "next", NULL), "v3");
    ck_assert_str_eq(ek_json_str(root, "next", "message", NULL), "csvs are forbidden");
    ek_obj_unref(status);
    end(&j);
}
END_TEST

#define TWO_GROUPS "og on; og; cat; sub v1 v1; csv v1 Succeeded ran ago=900"
#define NO_GROUP   "cat; sub v1 v1; csv v1 Succeeded ran ago=900"

/* v3 is offered while v2 runs: the edge that counts leads from v2. */
START_TEST(the_edge_of_an_offer)
{
    struct judged j;

    begin(&j, "og; cat; sub v3 v2; csv v2 Succeeded ran; plan p3 v3 RequiresApproval gen=3",
          "Assist", "");
    lend();
    const struct ek_ff_inputs inputs = {.world = &j.scene.world,
                                        .rules = &(struct ek_ff_rules){.policies = {&j.policy, 1}},
                                        .olm_version = "0.46.0",
                                        .catalog = lend_catalog,
                                        .now_ms = EK_FF_NOW};
    j.n = ek_ff_judge(&inputs, arena, &j.verdicts);
    ck_assert_uint_eq(j.n, 1);
    ck_assert_str_eq(j.verdicts[0].edges.from_failing.next, "v3");
    take_back();
    end(&j);
}
END_TEST

/* Whether fail forward is on is read out of one operator group: none and two of them say nothing.
 */
START_TEST(a_switch_is_remembered_without_its_group)
{
    static const struct {
        const char *scene, *mode;
        bool switched;
    } cases[] = {{TWO_GROUPS, "Off", true},    {NO_GROUP, "Off", true},    {GOOD, "Off", false},
                 {TWO_GROUPS, "Assist", true}, {NO_GROUP, "Assist", true}, {GOOD, "Assist", false}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct judged j;
        begin(&j, cases[i].scene, cases[i].mode, WAS);
        judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
        ck_assert_uint_eq(j.n, 1);
        ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_NO_ACT);
        ck_assert_msg(j.verdicts[0].memory.switched == cases[i].switched, "%s: %s", cases[i].mode,
                      cases[i].scene);
        end(&j);
    }
}
END_TEST

/* What is taken back is remembered until it was seen to be taken back. */
START_TEST(a_restoration_is_remembered)
{
    struct judged j;

    begin(&j, HELD, "Off", WAS);
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    plan(&j);
    take_report(&j);
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_UNPIN);
    ek_ff_scene_done(&j.scene);
    ek_ff_scene_init(&j.scene, G1); /* neither held nor switched on */
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    ck_assert_int_eq(j.verdicts[0].next.act, EK_FF_NO_ACT);
    ck_assert_str_eq(j.verdicts[0].memory.pinned, "");
    ck_assert(!j.verdicts[0].memory.switched);
    end(&j);
}
END_TEST

/* A report of a subscription that was deleted, or one that somebody made, is no memory. */
START_TEST(a_foreign_report_is_left_alone)
{
    struct judged j;

    begin(&j, HELD, "Off", NULL);
    j.report = make_report("old-uid", "{\"episode\":{" WAS "}}");
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    ck_assert_uint_eq(j.n, 0);
    ek_obj_unref(j.policy);
    j.policy = parse("{\"metadata\":{\"name\":\"cluster\"},\"spec\":{\"mode\":\"Assist\"}}");
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    ck_assert_uint_eq(j.n, 1);
    ck_assert_str_eq(j.verdicts[0].memory.pinned, "");
    plan(&j);
    check_words("foreign", "");
    end(&j);
}
END_TEST

/* The status write names the report that was read: a memory that is older than the last one is
 * refused, and with it the step. */
START_TEST(the_memory_has_a_precondition)
{
    struct judged j;

    begin(&j, G1, "Assist", "");
    judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
    plan(&j);
    ck_assert_int_eq(intents.items[0].verb, EK_APPLY_STATUS);
    ck_assert_str_eq(intents.items[0].uid, "r-uid");
    ck_assert_str_eq(intents.items[0].resource_version, "9");
    ck_assert_str_eq(intents.items[0].resource.namespace, "ns");
    end(&j);
}
END_TEST

/* A configuration is named where it is the reason, not while the failure is retried, nor where
 * something else is the reason. */
START_TEST(what_is_required)
{
#define DOWN(groups)                                                                               \
    groups "cat; sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 "  \
           "v2 Failed gen=2 ago=600 'failed calling webhook \\\"h.example.org\\\": x'; hook conf " \
           "h.example.org v1"
#define RETRIED                                                                                    \
    "\"failing\":\"v2\",\"since\":\"2025-12-31T23:00:00Z\",\"writes\":[{\"name\":\"Retry\","       \
    "\"count\":2,\"lastTime\":\"2025-12-31T23:30:00Z\"}]"
#define REFUSED(why)                                                                               \
    "og; cat; sub v2 v1; csv v1 Succeeded ran ago=900; plan p2 v2 Installing gen=2 ago=30 "        \
    "'services x is forbidden: " why "'"
    static const struct {
        const char *scene, *episode;
        const char *names, *names_not; /* NULL: nothing is required */
    } cases[] = {
        {DOWN("og on; "), "", NULL, NULL},
        {DOWN("og on; "), RETRIED, "ValidatingWebhookConfiguration conf", "OperatorGroup"},
        {DOWN("og on; og; "), RETRIED, "OperatorGroup", "conf"},
        {"og on; cat; sub v2 v2; csv v1 Replacing ran; csv v2<v1 "
         "Failed/InstallComponentFailedNoRetry ran 'failed calling webhook \\\"h.example.org\\\": "
         "x'; plan p2 v2 Complete gen=2; hook conf h.example.org v1",
         RETRIED, "author", "conf"},
        {REFUSED("User x cannot create"), "", "missing right", "quota"},
        {REFUSED("exceeded quota: few"), "", "quota", "right"},
        {REFUSED("ValidatingAdmissionPolicy p denied request: no"), "", "policy", "right"},
        {REFUSED("because it is being terminated"), "", "namespace is gone", "right"},
        {"og; cat; sub v1 -; plan p1 v1 Installing ago=30 check=30 'no operator group found that "
         "is "
         "managing this namespace'",
         "", "ServiceAccount", "right"},
        {"og; " REFUSED("exceeded quota: few"), "", "quota", "right"},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        struct judged j;
        begin(&j, cases[i].scene, "Assist", cases[i].episode);
        judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
        const char *text = yyjson_mut_get_str(
            yyjson_mut_obj_get(ek_ff_status(&j.verdicts[0], EK_FF_NOW, doc), "required"));
        ck_assert_msg(!text == !cases[i].names, "case %zu: %s", i, text ? text : "");
        ck_assert_msg(!text || strstr(text, cases[i].names), "case %zu: %s", i, text);
        ck_assert_msg(!text || !strstr(text, cases[i].names_not), "case %zu: %s", i, text);
        yyjson_mut_doc_free(doc);
        end(&j);
    }
}
END_TEST

/* Since when a failure lasts: the begin of the episode, or the time of the condition. */
START_TEST(since)
{
    static const struct {
        const char *scene, *since; /* NULL: absent */
    } cases[] = {
        {G1, "2025-12-31T23:50:00Z"},
        {"og; cat; sub v1 v1 unresolved=60; csv v1 Succeeded ran ago=900", "2025-12-31T23:59:00Z"},
        {"og; cat; sub - - unpacked=120", "2025-12-31T23:58:00Z"},
        {"og; og; cat; sub v1 v1; csv v1 Succeeded ran ago=900", NULL},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        struct judged j;
        begin(&j, cases[i].scene, "Assist", "");
        judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
        yyjson_mut_val *status = ek_ff_status(&j.verdicts[0], EK_FF_NOW, doc);
        yyjson_mut_val *evidence = yyjson_mut_obj_get(status, "evidence");
        const char *time = yyjson_mut_get_str(yyjson_mut_obj_get(evidence, "since"));
        ck_assert_ptr_nonnull(evidence);
        ck_assert_msg(!time == !cases[i].since && (!time || !strcmp(time, cases[i].since)),
                      "case %zu: %s", i, time ? time : "");
        yyjson_mut_doc_free(doc);
        end(&j);
    }
}
END_TEST

/* A Subscription that consents answers for the switch of one that is gone. The operator group is
 * that of all: with an upgrade of another one it stays switched on, for OLM to delete the old
 * versions. */
START_TEST(a_switch_of_another_subscription)
{
    static const struct {
        const char *scene, *mode;
        bool is_ours, restores;
    } cases[] = {
#define RUNS(more) "cat; sub v1 v1; csv v1 Succeeded ran ago=900; neighbor n3 n3; " more
#define OLD        "csv n1 Replacing ran; csv n2<n1 Replacing; csv n3<n2 Succeeded ran"
        {"og on mark=3; " RUNS("csv n3 Succeeded ran"), "Assist", true, true},
        {"og on mark=3; " RUNS("csv n3 Succeeded ran"), "Observe", false, false},
        {"og on mark=2; " RUNS("csv n3 Succeeded ran"), "Assist", false, false},
        {"og on mark=3; " RUNS(OLD), "Assist", true, false},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct judged j;
        begin(&j, cases[i].scene, cases[i].mode, "");
        judge_at(&j, "0.46.0", NULL, EK_FF_NOW);
        ck_assert(j.verdicts[0].memory.switched == cases[i].is_ours);
        ck_assert((j.verdicts[0].next.act == EK_FF_UNSWITCH) == cases[i].restores);
        end(&j);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("report");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, intents_of_a_row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, the_clock_alone_writes_nothing);
    tcase_add_test(tc, the_report_is_the_memory);
    tcase_add_test(tc, what_was_undone_is_due_again);
    tcase_add_loop_test(tc, a_catalog_that_is_read_is_waited_for, 0, 2);
    tcase_add_test(tc, a_change_of_the_catalog_is_remembered);
    tcase_add_test(tc, a_verdict_outlives_what_was_lent);
    tcase_add_test(tc, the_edge_of_an_offer);
    tcase_add_test(tc, a_switch_is_remembered_without_its_group);
    tcase_add_test(tc, a_restoration_is_remembered);
    tcase_add_test(tc, a_foreign_report_is_left_alone);
    tcase_add_test(tc, the_memory_has_a_precondition);
    tcase_add_test(tc, what_is_required);
    tcase_add_test(tc, since);
    tcase_add_test(tc, a_switch_of_another_subscription);
    return ek_test_run("report", tc);
}
