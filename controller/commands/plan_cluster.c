/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a cluster: made at each look, of which the last one counts. */
#include <string.h>

#include "api/obj.h"
#include "controller/commands/plan-internal.h"
#include "reconcilers/plan/guard.h"
#include "reconcilers/skew/spec.h"

#define ARENA_MAX ((size_t)512 << 20)

/* What the last look has made. */
struct cluster {
    const struct ek_plan_options *options;
    struct ek_plan_target target;
    struct ek_plan_target objects; /* of the way back: from the version to go back to */
    struct ek_minor emulation;     /* of the way back: the newest of the API servers */
    bool back;
    struct ek_plan_report report; /* arena NULL before the first look */
    yyjson_mut_doc *doc;
    yyjson_mut_val *steps; /* of doc; NULL without */
};

static void forget(struct cluster *c)
{
    yyjson_mut_doc_free(c->doc);
    ek_arena_free(c->report.arena);
    c->doc = NULL;
    c->report = (struct ek_plan_report){0};
    c->steps = NULL;
}

/* The way back in place of a plan: from the newest binary to the highest minimum compatibility
 * version. Of what is not known, only API servers matter. */
static void make_guard(struct cluster *c, const struct ek_skew_facts *facts,
                       const struct ek_skew_spec *spec)
{
    struct ek_plan_report all = {.arena = c->report.arena};
    struct ek_plan_cluster parts;

    ek_plan_cluster_read(facts, spec, c->target.data, &all, &parts);
    for (size_t i = 0; i < all.n; i++)
        if (!strcmp(all.list[i].rule, "not-enumerated") ||
            (strcmp(all.list[i].rule, "flags-unread") != 0 &&
             !strncmp(all.list[i].source, "kube-apiserver", strlen("kube-apiserver"))))
            ek_plan_report_add(&c->report, &all.list[i]);
    ek_guard_window(&parts, &c->target.from, &c->target.to);
    ek_plan_cluster_check_back(&parts, c->target.from, c->target.data, &c->report);
    ek_plan_say_beyond(c->target.data, c->target.from, &c->report);
    ek_plan_say_beyond(c->target.data, c->target.to, &c->report);
}

static void say_no_newer(struct ek_plan_report *report)
{
    ek_plan_report_add(
        report, &(struct ek_plan_finding){.severity = EK_PLAN_ERROR,
                                          .rule = "steps",
                                          .message = "no API server is newer than the target",
                                          .remedy = "name an older version with --to"});
}

/* The goal of the way back, and the versions between which it leads. */
static void aim_back(struct cluster *c, const struct ek_plan_cluster *parts,
                     struct ek_steps_goal *goal)
{
    struct ek_minor binary;

    ek_plan_cluster_newest(parts, &c->emulation, &binary);
    goal->back = c->back = true;
    if (*c->options->to)
        goal->version = ek_minor_parse(c->options->to);
    else
        ek_plan_cluster_previous(parts, goal);
    c->target.from = ek_minor_cmp(goal->binary, binary) ? binary : c->emulation;
    c->target.to = goal->version;
    c->objects = (struct ek_plan_target){c->target.data, goal->version, binary};
    if (goal->version.known && ek_minor_cmp(binary, goal->version) <= 0)
        say_no_newer(&c->report);
}

/* Plans with the facts. */
static void make(struct cluster *c, const struct ek_skew_facts *facts,
                 const struct ek_skew_spec *spec)
{
    const struct ek_plan_data *data = c->target.data;
    struct ek_steps_goal goal = {.policy = &spec->policy};
    struct ek_plan_cluster parts;
    struct ek_minor newest, binary;

    ek_plan_cluster_read(facts, spec, data, &c->report, &parts);
    ek_plan_cluster_newest(&parts, &newest, &binary);
    c->target.from = ek_plan_cluster_oldest(&parts);
    c->target.to = *c->options->to ? ek_minor_parse(c->options->to) : ek_plan_cluster_next(&parts);
    goal.version = c->target.to;
    if (c->options->rollback || (newest.known && ek_minor_cmp(newest, c->target.to) > 0))
        aim_back(c, &parts, &goal);
    ek_plan_say_beyond(data, c->target.from, &c->report);
    ek_plan_say_beyond(data, c->target.to, &c->report);
    c->steps = ek_plan_steps(data, &parts, &goal, &c->report, c->doc);
}

/* The versions between which APIs come and go: an API server serves by its emulation version. */
static struct ek_plan_target served(const struct cluster *c)
{
    return (struct ek_plan_target){c->target.data, c->back ? c->emulation : c->target.from,
                                   c->target.to};
}

/* What is stored, and who writes it, that the version to go back to does not know. */
static void read_back(struct cluster *c)
{
    const struct ek_plan_target uses = served(c);

    if (!c->target.to.known || ek_minor_cmp(c->target.to, c->target.from) >= 0)
        return;
    ek_plan_check_guard(&c->options->live.cluster, &c->objects, &c->report);
    ek_plan_check_uses(&c->options->live.cluster, &uses, &c->report);
}

static void look(void *ctx, struct ek_skew_view *view, struct ek_skew_watch *watch)
{
    struct cluster *c = ctx;
    struct ek_probe_target *targets;
    struct ek_skew_facts facts;
    struct ek_skew_spec spec;
    struct ek_skew_plan plan;
    size_t n;

    forget(c);
    c->back = false;
    c->report.arena = ek_arena_new(ARENA_MAX);
    c->doc = ek_json_doc_new();
    ek_skew_plan_make(view, c->report.arena, &plan);
    if (watch)
        ek_skew_watch_set_targets(watch, &plan, false);
    /* The facts are those of the skew plan, before anything was judged. */
    ek_skew_spec_parse(view->control_plane, c->report.arena, &spec);
    ek_skew_facts_collect(view, c->report.arena, &facts, &targets, &n);
    if (c->options->guard)
        make_guard(c, &facts, &spec);
    else
        make(c, &facts, &spec);
    ek_skew_plan_done(&plan);
}

/* The objects are read once, after the servers: what the target changes for them is known then. */
static void read_objects(struct cluster *c)
{
    if (c->options->guard) {
        if (c->target.from.known && c->target.to.known)
            ek_plan_check_guard(&c->options->live.cluster, &c->target, &c->report);
    } else if (*c->options->live.recording) {
        ek_plan_say_no_objects(&c->report);
    } else if (c->back) {
        read_back(c);
    } else if (c->target.to.known) {
        ek_plan_check_cluster(&c->options->live.cluster, &c->target, &c->report);
        ek_plan_check_uses(&c->options->live.cluster, &c->target, &c->report);
    }
}

int ek_plan_of_cluster(const struct ek_plan_options *options, const struct ek_plan_data *data)
{
    struct cluster c = {.options = options, .target = {data, EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN}};
    EK_AUTO(ek_plan_audit) audit = {0};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED, rc = ek_live_read(&options->live, look, &c, &err);
    bool logs = !rc && c.target.to.known && options->audit_logs.n;

    if (!rc)
        read_objects(&c);
    if (logs) {
        const struct ek_plan_target between = served(&c);
        ek_plan_audit_init(&audit, &between);
        rc = ek_plan_audit_read(options, &audit, &c.report, &err);
    }
    if (!rc && ek_arena_exhausted(c.report.arena))
        rc = ek_err_set(&err, EK_E_LIMIT, "the report of the cluster is too large");
    if (rc) {
        ek_complain(&err);
    } else {
        yyjson_doc *result = ek_plan_document(&c.target, &c.report, NULL, c.doc, c.steps,
                                              logs ? ek_plan_audit_value(&audit, c.doc) : NULL);
        code = ek_plan_print(options, yyjson_doc_get_root(result));
        code = code ? code : ek_plan_exit(&c.report);
        yyjson_doc_free(result);
    }
    forget(&c);
    return code;
}
