/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/ff_scene.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/base/time.h"

#define WORDS_MAX 16

/* The words of one item; message is the text between quotes, "" without. */
struct item {
    char *words[WORDS_MAX];
    int n;
    const char *message;
};

static void split(char *text, struct item *item)
{
    char *save = NULL, *quote = strchr(text, '\'');

    *item = (struct item){.message = ""};
    if (quote) {
        *quote = '\0';
        item->message = quote + 1;
        *strchr(quote + 1, '\'') = '\0';
    }
    for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
        ck_assert_int_lt(item->n, WORDS_MAX);
        item->words[item->n++] = w;
    }
}

/* The value of the word "name=value", or of a word "name" itself; NULL where it is absent. */
static const char *option(const struct item *item, const char *name)
{
    size_t len = strlen(name);

    for (int i = 1; i < item->n; i++)
        if (!strncmp(item->words[i], name, len) &&
            (item->words[i][len] == '=' || !item->words[i][len]))
            return item->words[i] + len + (item->words[i][len] == '=');
    return NULL;
}

static const char *at(const char *seconds_ago)
{
    static char bufs[8][EK_TIME_SIZE];
    static unsigned i;
    long ago = seconds_ago && *seconds_ago ? strtol(seconds_ago, NULL, 10) : 0;
    return ek_time_format(EK_FF_NOW - ago * INT64_C(1000), bufs[i++ % 8]);
}

static void keep(struct ek_ff_scene *scene, int kind, const struct ek_buf *json)
{
    struct ek_err err = {0};
    struct ek_obj *obj = NULL;

    ck_assert_msg(!ek_obj_parse(json->data, json->len, &obj, &err), "%s: %s", err.message,
                  json->data);
    ck_assert_uint_lt(scene->n[kind], 16);
    scene->objects[kind][scene->n[kind]++] = obj;
}

static void begin(struct ek_buf *json, const char *kind, const char *namespace, const char *name,
                  const char *more)
{
    ek_buf_init(json, 65536);
    ek_buf_printf(
        json,
        "{\"kind\":\"%s\",\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"%s-uid\","
        "\"resourceVersion\":\"7\"%s},",
        kind, namespace, name, name, more);
}

static const char *dash(const char *word)
{
    ck_assert_ptr_nonnull(word);
    return strcmp(word, "-") != 0 ? word : "";
}

static void add_sub(struct ek_ff_scene *scene, const struct item *item, const char *name)
{
    EK_AUTO(ek_buf) json;
    const char *ref = option(item, "ref"), *start = option(item, "start");
    const char *unresolved = option(item, "unresolved"), *unpacked = option(item, "unpacked");
    const char *package = option(item, "package");
    bool other = !strcmp(item->words[0], "neighbor");

    begin(&json, "Subscription", "ns", name, "");
    ek_buf_printf(&json,
                  "\"spec\":{\"name\":\"%s\",\"source\":\"cat\",\"sourceNamespace\":\"olm\","
                  "\"installPlanApproval\":\"%s\",\"startingCSV\":\"%s\"},\"status\":{",
                  package ? package : name, option(item, "manual") ? "Manual" : "Automatic",
                  start ? start : "");
    if (!other || item->n > 1)
        ek_buf_printf(&json, "\"currentCSV\":\"%s\",\"installedCSV\":\"%s\",", dash(item->words[1]),
                      dash(item->words[2]));
    if (ref)
        ek_buf_printf(&json, "\"installPlanRef\":{\"name\":\"%s\"},", ref);
    if (unresolved || unpacked)
        ek_buf_printf(&json,
                      "\"conditions\":[{\"type\":\"%s\",\"status\":\"True\","
                      "\"message\":\"%s\",\"lastTransitionTime\":\"%s\"}],",
                      unresolved ? "ResolutionFailed" : "BundleUnpackFailed",
                      *item->message ? item->message : "not satisfiable",
                      at(unresolved ? unresolved : unpacked));
    ek_buf_puts(&json, "\"state\":\"\"}}");
    keep(scene, EK_FF_SCENE_SUBS, &json);
}

static void add_ring(struct ek_buf *json, const struct item *item)
{
    const char *fails = option(item, "fails"), *entries = option(item, "entries");
    const char *reason = fails ? strchr(fails, '/') + 1 : "";
    long n = fails ? strtol(fails, NULL, 10) : 0;
    char ago[32];

    ek_buf_puts(json, "\"conditions\":[{\"phase\":\"Pending\"}");
    for (long i = 1; entries && i < strtol(entries, NULL, 10); i++)
        ek_buf_puts(json, ",{\"phase\":\"Pending\"}");
    if (option(item, "ran"))
        ek_buf_puts(json, ",{\"phase\":\"InstallReady\"}");
    for (long i = n; i > 0; i--) {
        snprintf(ago, sizeof ago, "%ld", i * 60);
        ek_buf_printf(json,
                      ",{\"phase\":\"Failed\",\"reason\":\"%s\",\"message\":\"%s\","
                      "\"lastTransitionTime\":\"%s\"}",
                      reason, item->message, at(ago));
    }
    ek_buf_puts(
        json,
        "],\"requirementStatus\":[{\"kind\":\"CustomResourceDefinition\",\"status\":\"Present\"}");
    if (option(item, "account"))
        ek_buf_puts(json,
                    ",{\"kind\":\"ServiceAccount\",\"name\":\"op-sa\",\"status\":\"NotPresent\","
                    "\"message\":\"Service account does not exist\"}");
    if (option(item, "rights"))
        ek_buf_puts(json, ",{\"kind\":\"ServiceAccount\",\"name\":\"op-sa\",\"status\":"
                          "\"PresentNotSatisfied\",\"dependents\":[{\"kind\":\"PolicyRule\","
                          "\"status\":\"NotSatisfied\"}]}");
    if (option(item, "definition"))
        ek_buf_printf(json,
                      ",{\"kind\":\"CustomResourceDefinition\",\"name\":\"%s\",\"status\":"
                      "\"NotPresent\",\"message\":\"CRD %s\"}",
                      strcmp(option(item, "definition"), "required") != 0 ? "op-crd" : "other-crd",
                      strcmp(option(item, "definition"), "unserved") != 0 ? "is not present"
                                                                          : "version not served");
    if (option(item, "unmet"))
        ek_buf_printf(json,
                      ",{\"kind\":\"X\",\"status\":\"PresentNotSatisfied\",\"message\":\"%s\"}",
                      item->message);
    ek_buf_puts(json, "]");
}

static void add_csv(struct ek_ff_scene *scene, const struct item *item)
{
    EK_AUTO(ek_buf) json;
    char *name = item->words[1], *phase = item->words[2], more[256];

    ck_assert_ptr_nonnull(name);
    ck_assert_ptr_nonnull(phase);
    char *old = strchr(name, '<'), *reason = strchr(phase, '/');

    if (old)
        *old++ = '\0';
    if (reason)
        *reason++ = '\0';
    const char *label = option(item, "label");
    snprintf(more, sizeof more, ",\"creationTimestamp\":\"%s\",\"labels\":{\"%s%s\":\"x\"}",
             at(option(item, "made")),
             option(item, "copied") ? "olm.copiedFrom" : "operators.coreos.com/",
             option(item, "copied") ? ""
             : label                ? label
                                    : "op.ns");
    begin(&json, "ClusterServiceVersion", option(item, "elsewhere") ? "elsewhere" : "ns", name,
          more);
    ek_buf_printf(
        &json,
        "\"spec\":{\"replaces\":\"%s\"%s%s},\"status\":{\"phase\":\"%s\",\"reason\":\"%s\","
        "\"message\":\"%s\",\"lastTransitionTime\":\"%s\",",
        old ? old : "",
        option(item, "definition")
            ? ",\"customresourcedefinitions\":{\"owned\":[{\"name\":\"op-crd\"}]}"
            : "",
        option(item, "converts") ? ",\"webhookdefinitions\":[{\"type\":\"ConversionWebhook\"}]"
                                 : "",
        dash(phase), reason ? reason : "", item->message, at(option(item, "ago")));
    add_ring(&json, item);
    ek_buf_puts(&json, "}}");
    keep(scene, EK_FF_SCENE_CSVS, &json);
}

static void add_plan(struct ek_ff_scene *scene, const struct item *item)
{
    EK_AUTO(ek_buf) json;
    char more[256];
    const char *gen = option(item, "gen"), *done = option(item, "done");
    const char *retried = option(item, "retried"), *replaces = option(item, "replaces");
    ck_assert_ptr_nonnull(item->words[3]);
    const char *message = option(item, "check") ? "" : item->message;
    bool installing = !strcmp(item->words[3], "Installing") && *message;

    snprintf(more, sizeof more, ",\"creationTimestamp\":\"%s\"%s", at(option(item, "ago")),
             option(item, "ours")
                 ? ",\"ownerReferences\":[{\"kind\":\"Subscription\",\"uid\":\"op-uid\"}]"
                 : "");
    begin(&json, "InstallPlan", "ns", item->words[1], more);
    ek_buf_printf(&json,
                  "\"spec\":{\"generation\":%s,\"clusterServiceVersionNames\":[\"%s\"]},"
                  "\"status\":{\"phase\":\"%s\",",
                  gen ? gen : "1", item->words[2], item->words[3]);
    if (retried)
        ek_buf_printf(&json, "\"message\":\"%s%s\"", EK_FF_RETRY_MESSAGE, at(retried));
    else
        ek_buf_printf(&json, "\"message\":\"%s%s\",\"startTime\":\"%s\"",
                      installing ? "retrying execution due to error: " : "", message,
                      at(option(item, "ago")));
    if (done || option(item, "check"))
        ek_buf_printf(&json,
                      ",\"conditions\":[{\"type\":\"Installed\",\"status\":\"%s\","
                      "\"lastTransitionTime\":\"%s\"%s%s%s}]",
                      done ? "True" : "False", at(done ? done : option(item, "check")),
                      done ? "" : ",\"reason\":\"InstallCheckFailed\",\"message\":\"",
                      done ? "" : item->message, done ? "" : "\"");
    ek_buf_printf(&json,
                  ",\"plan\":[{\"resolving\":\"%s\",\"status\":\"%s\",\"resource\":{\"kind\":"
                  "\"ClusterServiceVersion\",\"name\":\"%s\"",
                  item->words[2], option(item, "begins") ? "Unknown" : "Created", item->words[2]);
    if (!option(item, "image"))
        ek_buf_printf(&json,
                      ",\"manifest\":\"{\\\"metadata\\\":{\\\"name\\\":\\\"%s\\\","
                      "\\\"annotations\\\":{\\\"operatorframework.io/properties\\\":\\\"p\\\"}},"
                      "\\\"spec\\\":{\\\"version\\\":\\\"2.0.0\\\",\\\"replaces\\\":\\\"%s\\\"}}\"",
                      item->words[2], replaces ? replaces : "");
    ek_buf_puts(&json,
                "}},{\"status\":\"Created\",\"resource\":{\"kind\":\"ServiceAccount\",\"name\":"
                "\"op-sa\"}},{\"status\":\"Created\",\"resource\":{\"kind\":\"Role\",\"name\":"
                "\"op-role\"}},{\"status\":\"Present\",\"resource\":{\"kind\":"
                "\"CustomResourceDefinition\",\"name\":\"op-crd\"}}]}}");
    keep(scene, EK_FF_SCENE_PLANS, &json);
}

static void add_other(struct ek_ff_scene *scene, const struct item *item)
{
    EK_AUTO(ek_buf) json;
    const char *what = item->words[0];
    char name[16];

    snprintf(name, sizeof name, "og%zu", scene->n[EK_FF_SCENE_GROUPS]);
    if (!strcmp(what, "og")) {
        const char *mark = option(item, "mark");
        EK_AUTOFREE char *more =
            mark ? ek_xasprintf(
                       ",\"generation\":3,\"annotations\":{\"" EK_FF_SWITCH_MARK "\":\"%s\"}", mark)
                 : ek_xstrdup("");
        begin(&json, "OperatorGroup", "ns", name, more);
        ek_buf_printf(&json, "\"spec\":{\"upgradeStrategy\":\"%s\"}}",
                      option(item, "on") ? "TechPreviewUnsafeFailForward" : "Default");
        keep(scene, EK_FF_SCENE_GROUPS, &json);
    } else if (!strcmp(what, "cat")) {
        begin(&json, "CatalogSource", "olm", "cat", "");
        ek_buf_printf(&json, "\"status\":{\"connectionState\":{\"lastObservedState\":\"%s\"}}}",
                      item->n > 1 ? item->words[1] : "READY");
        keep(scene, EK_FF_SCENE_CATALOGS, &json);
    } else if (!strcmp(what, "cond")) {
        begin(&json, "OperatorCondition", "ns", item->words[1], "");
        ek_buf_printf(
            &json,
            "\"spec\":{\"conditions\":[{\"type\":\"Upgradeable\",\"status\":\"%s\","
            "\"message\":\"a migration runs\"}]%s}}",
            item->words[2],
            item->n > 3 ? ",\"overrides\":[{\"type\":\"Upgradeable\",\"status\":\"True\"}]" : "");
        keep(scene, EK_FF_SCENE_CONDITIONS, &json);
    } else if (!strcmp(what, "hook")) {
        const char *labels = ",\"labels\":{\"olm.owner\":\"%s\",\"olm.owner.namespace\":\"ns\"}";
        EK_AUTOFREE char *more = ek_xasprintf(labels, dash(item->words[3]));
        begin(&json, "ValidatingWebhookConfiguration", "", item->words[1], more);
        ek_buf_printf(&json, "\"webhooks\":[{\"name\":\"other\"},{\"name\":\"%s\"}]}",
                      item->words[2]);
        keep(scene, EK_FF_SCENE_HOOKS, &json);
    } else {
        ck_abort_msg("no item of a scene: %s", what);
    }
}

void ek_ff_scene_init(struct ek_ff_scene *scene, const char *text)
{
    char *save = NULL;
    EK_AUTOFREE char *copy = ek_xstrdup(text);
    struct item item;

    *scene = (struct ek_ff_scene){0};
    for (char *one = strtok_r(copy, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
        split(one, &item);
        if (!item.n)
            continue;
        if (!strcmp(item.words[0], "sub"))
            add_sub(scene, &item, "op");
        else if (!strcmp(item.words[0], "neighbor"))
            add_sub(scene, &item, "other");
        else if (!strcmp(item.words[0], "csv"))
            add_csv(scene, &item);
        else if (!strcmp(item.words[0], "plan"))
            add_plan(scene, &item);
        else
            add_other(scene, &item);
    }
#define OBJS(kind) {scene->objects[kind], scene->n[kind]}
    scene->world = (struct ek_ff_world){
        .namespace = "ns",
        .subscriptions = OBJS(EK_FF_SCENE_SUBS),
        .plans = OBJS(EK_FF_SCENE_PLANS),
        .csvs = OBJS(EK_FF_SCENE_CSVS),
        .groups = OBJS(EK_FF_SCENE_GROUPS),
        .conditions = OBJS(EK_FF_SCENE_CONDITIONS),
        .catalogs = OBJS(EK_FF_SCENE_CATALOGS),
        .hooks = OBJS(EK_FF_SCENE_HOOKS),
    };
#undef OBJS
}

void ek_ff_scene_done(struct ek_ff_scene *scene)
{
    for (int kind = 0; kind < EK_FF_SCENE_KINDS; kind++)
        for (size_t i = 0; i < scene->n[kind]; i++)
            ek_obj_unref(scene->objects[kind][i]);
}

struct ek_obj *ek_ff_scene_sub(const struct ek_ff_scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->n[EK_FF_SCENE_SUBS]; i++)
        if (!strcmp(ek_obj_name(scene->objects[EK_FF_SCENE_SUBS][i]), name))
            return scene->objects[EK_FF_SCENE_SUBS][i];
    ck_abort_msg("no subscription %s", name);
}

void ek_ff_scene_judge(const struct ek_ff_scene *scene, const struct ek_ff_given *g,
                       struct ek_ff_judged *j)
{
    *j = (struct ek_ff_judged){0};
    j->edges = (struct ek_ff_edges){
        .known = !g->unknown,
        .from_failing.next = g->from_failing,
        .from_running.next = g->from_running,
        .head = g->head,
        .changed_ms = g->changed_ago ? EK_FF_NOW - g->changed_ago * INT64_C(1000) : 0,
        .known_ms = g->known_ago ? EK_FF_NOW - g->known_ago * INT64_C(1000) : 0,
    };
    j->consent = (struct ek_ff_consent){.mode = g->off       ? EK_FF_OFF
                                                : g->observe ? EK_FF_OBSERVE
                                                : g->mode    ? g->mode
                                                             : EK_FF_ASSIST,
                                        .grace_ms = g->grace * INT64_C(1000),
                                        .max_retries = g->retries ? g->retries : 3,
                                        .max_hops = 5,
                                        .approve = g->approve,
                                        .shared = g->shared,
                                        .denied = g->denied};
    ek_ff_observe(&scene->world, ek_ff_scene_sub(scene, "op"), EK_FF_NOW, &j->state);
    ek_ff_classify(&j->state, EK_FF_NOW, &j->finding);
    ek_ff_remember(&j->state, &j->finding, EK_FF_NOW, &j->memory);
    if (g->failing)
        snprintf(j->memory.failing, sizeof j->memory.failing, "%s", g->failing);
    j->memory.acts[EK_FF_CLEAR].n = g->cleared;
    if (g->cleared)
        j->memory.acts[EK_FF_CLEAR].last_ms = EK_FF_NOW - g->done_ago * INT64_C(1000);
    j->memory.acts[g->done].n = g->done_n;
    j->memory.acts[g->done].last_ms = EK_FF_NOW - g->done_ago * INT64_C(1000);
    j->memory.hops = g->hops;
    j->memory.hops_ms = g->hops ? EK_FF_NOW - 3600 * INT64_C(1000) : 0;
    j->memory.switched = g->switched;
    snprintf(j->memory.pinned, sizeof j->memory.pinned, "%s", g->pinned ? g->pinned : "");
    ek_ff_classify_edges(&j->state, &j->edges, EK_FF_NOW, &j->finding);
    ek_ff_decide(&j->state, &j->finding, &j->edges, &j->consent, &j->memory, EK_FF_NOW, &j->next);
}

void ek_ff_scene_check(const struct ek_ff_step_row *row)
{
    struct ek_ff_scene scene;
    struct ek_ff_judged j;
    char next[64];

    ek_ff_scene_init(&scene, row->scene);
    ek_ff_scene_judge(&scene, &row->given, &j);
    snprintf(next, sizeof next, "%s%s%s", ek_ff_step_name(j.next.step), j.next.blocked ? ":" : "",
             ek_ff_blocked_name(j.next.blocked));
    ck_assert_msg(!strcmp(next, row->next), "%s: %s (%s)", row->name, next, j.next.why);
    ck_assert_msg(j.next.act == row->act, "%s: act %d", row->name, j.next.act);
    if (row->target)
        ck_assert_msg(j.next.target && !strcmp(j.next.target, row->target), "%s: target %s",
                      row->name, j.next.target);
    ek_ff_scene_done(&scene);
}
