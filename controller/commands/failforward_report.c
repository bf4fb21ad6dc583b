/* SPDX-License-Identifier: Apache-2.0 */
/* What `evenkeel failforward check` reports. */
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "controller/cli/output.h"
#include "controller/commands/failforward-internal.h"
#include "controller/commands/failforward_publish.h"
#include "reconcilers/failforward/act.h"
#include "reconcilers/failforward/judge.h"
#include "reconcilers/failforward/status.h"

/* Names of neighbors in a report, in bytes. */
#define NEIGHBORS_MAX 4096

static int by_key(const void *a, const void *b)
{
    return ek_obj_by_key(a, b);
}

static void add_evidence(yyjson_mut_doc *doc, yyjson_mut_val *v,
                         const struct ek_ff_finding *finding)
{
    char since[EK_TIME_SIZE];

    if (finding->class == EK_FF_HEALTHY)
        return;
    yyjson_mut_val *e = yyjson_mut_obj_add_obj(doc, v, "evidence");
    yyjson_mut_obj_add_strcpy(doc, e, "kind", finding->kind);
    yyjson_mut_obj_add_strcpy(doc, e, "name", finding->name);
    yyjson_mut_obj_add_strcpy(doc, e, "phase", finding->phase);
    yyjson_mut_obj_add_strcpy(doc, e, "reason", finding->reason);
    yyjson_mut_obj_add_strcpy(doc, e, "message", finding->text);
    if (finding->since_ms != EK_TIME_UNSET)
        yyjson_mut_obj_add_strcpy(doc, e, "since", ek_time_format(finding->since_ms, since));
}

static void add_write(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_intent *intent)
{
    static const char *const verbs[EK_VERB_MAX] = {
        [EK_CREATE] = "create", [EK_APPLY] = "apply",
        [EK_PATCH] = "patch",   [EK_PATCH_STATUS] = "patch status",
        [EK_DELETE] = "delete",
    };
    yyjson_mut_val *w = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, w, "verb", verbs[intent->verb]);
    yyjson_mut_obj_add_strcpy(doc, w, "resource", intent->resource.resource);
    yyjson_mut_obj_add_strcpy(doc, w, "name", intent->name);
    if (intent->verb != EK_DELETE && intent->verb != EK_APPLY)
        yyjson_mut_obj_add_val(doc, w, "content", yyjson_mut_val_mut_copy(doc, intent->content));
}

static void add_next(yyjson_mut_doc *doc, yyjson_mut_val *v, const struct ek_ff_next *next,
                     const struct ek_intents *writes, const char *neighbors)
{
    yyjson_mut_val *n = yyjson_mut_obj_add_obj(doc, v, "next");

    yyjson_mut_obj_add_str(doc, n, "step", ek_ff_step_name(next->step));
    if (next->blocked)
        yyjson_mut_obj_add_str(doc, n, "reason", ek_ff_blocked_name(next->blocked));
    if (next->blocked == EK_FF_NAMESPACE_SHARED)
        yyjson_mut_obj_add_strcpy(doc, n, "subscriptions", neighbors);
    yyjson_mut_obj_add_str(doc, n, "message", next->why);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, n, "writes");
    for (size_t i = 0; i < writes->n; i++)
        add_write(doc, list, &writes->items[i]);
}

static void add_required(yyjson_mut_doc *doc, yyjson_mut_val *v,
                         const struct ek_ff_finding *finding, const struct ek_ff_next *next)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 4096);
    ek_ff_required(finding, next, &text);
    if (text.len)
        yyjson_mut_obj_add_strcpy(doc, v, "required", ek_buf_str(&text));
}

/* The consent of a namespace. */
struct common {
    struct ek_ff_rules rules;
    struct ek_ff_consented *consented; /* in the order of all subscriptions */
    struct ek_buf neighbors;           /* that do not consent, with commas */
};

/* Judges the i-th subscription in the given mode. Neighbors count for a subscription that consents;
 * for another one the report says what would be done if all of the namespace consented. */
static bool add_subscription(const struct ek_ffc_inputs *in, const struct ek_ffc_options *o,
                             const struct ek_ff_world *world, const struct common *common, size_t i,
                             yyjson_mut_doc *doc, yyjson_mut_val *array)
{
    struct ek_obj *sub = world->subscriptions.items[i];
    const struct ek_ff_consented *given = &common->consented[i];
    struct ek_ff_memory memory = {0};
    struct ek_ff_state state;
    struct ek_ff_finding finding;
    struct ek_ff_edges edges;
    struct ek_ff_consent consent = given->consent;
    struct ek_ff_next next;
    EK_AUTO(ek_intents) writes;

    ek_intents_init(&writes);
    ek_ff_mode_parse(o->mode, &consent.mode);
    ek_ff_observe(world, sub, in->now_ms, &state);
    ek_ff_classify(&state, in->now_ms, &finding);
    ek_ff_remember(&state, &finding, in->now_ms, &memory);
    const struct ek_ff_catalog catalog = ek_ffc_catalog_of(in, sub);
    ek_ff_find_edges(catalog.graph, &state, &finding, &edges);
    edges.changed_ms = catalog.changed_ms;
    edges.known_ms = catalog.known_ms;
    ek_ff_classify_edges(&state, &edges, in->now_ms, &finding);
    ek_ff_decide(&state, &finding, &edges, &consent, &memory, in->now_ms, &next);
    ek_ff_act(world, &state, &next, in->now_ms, &writes);

    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, array);
    yyjson_mut_obj_add_strcpy(doc, v, "namespace", ek_obj_namespace(sub));
    yyjson_mut_obj_add_strcpy(doc, v, "name", ek_obj_name(sub));
    yyjson_mut_obj_add_str(doc, v, "mode", ek_ff_mode_name(given->consent.mode));
    yyjson_mut_obj_add_strcpy(doc, v, "modeFrom", given->source);
    yyjson_mut_obj_add_strcpy(doc, v, "installed", state.installed);
    yyjson_mut_obj_add_strcpy(doc, v, "current", state.current);
    yyjson_mut_obj_add_strcpy(doc, v, "class", ek_ff_class_name(finding.class));
    if (finding.class != EK_FF_HEALTHY)
        yyjson_mut_obj_add_str(doc, v, "cause", ek_ff_cause_name(finding.cause));
    yyjson_mut_obj_add_strcpy(doc, v, "failing", finding.failing);
    yyjson_mut_obj_add_strcpy(doc, v, "fix",
                              edges.from_failing.next   ? edges.from_failing.next
                              : edges.from_running.next ? edges.from_running.next
                                                        : "");
    if (*catalog.error)
        yyjson_mut_obj_add_strcpy(doc, v, "catalogError", catalog.error);
    add_evidence(doc, v, &finding);
    add_required(doc, v, &finding, &next);
    add_next(doc, v, &next, &writes,
             finding.neighbor ? finding.neighbor : ek_buf_str(&common->neighbors));
    return finding.class != EK_FF_HEALTHY;
}

size_t ek_ffc_report(const struct ek_ffc_inputs *in, const struct ek_ffc_options *o,
                     yyjson_mut_doc *doc, yyjson_mut_val *array)
{
    const struct ek_ffc_list *l = in->lists;
    const struct ek_ffc_list *subs = &l[EK_FFC_SUBSCRIPTIONS];
    struct common common = {.rules = {{l[EK_FFC_POLICIES].items, l[EK_FFC_POLICIES].n},
                                      {l[EK_FFC_NAMESPACES].items, l[EK_FFC_NAMESPACES].n}}};
    const char *before = NULL;
    size_t stuck = 0;
    struct ek_ffc_list hooks = {0};

    for (int kind = EK_FFC_VALIDATING; kind <= EK_FFC_MUTATING; kind++)
        for (size_t i = 0; i < l[kind].n; i++)
            ek_ffc_append(&hooks, l[kind].items[i]);
    common.consented = ek_xalloc((subs->n + 1) * sizeof *common.consented);
    ek_buf_init(&common.neighbors, NEIGHBORS_MAX);
    if (subs->n)
        qsort(subs->items, subs->n, sizeof(struct ek_obj *), by_key);
    for (size_t i = 0; i < subs->n; i++) {
        const char *namespace = ek_obj_namespace(subs->items[i]);
        const struct ek_ff_world world = {
            .namespace = namespace,
            .subscriptions = {subs->items, subs->n},
            .plans = {l[EK_FFC_PLANS].items, l[EK_FFC_PLANS].n},
            .csvs = {l[EK_FFC_CSVS].items, l[EK_FFC_CSVS].n},
            .groups = {l[EK_FFC_GROUPS].items, l[EK_FFC_GROUPS].n},
            .conditions = {l[EK_FFC_CONDITIONS].items, l[EK_FFC_CONDITIONS].n},
            .catalogs = {l[EK_FFC_CATALOGS].items, l[EK_FFC_CATALOGS].n},
            .hooks = {hooks.items, hooks.n},
        };
        if (!before || strcmp(namespace, before) != 0) {
            ek_buf_reset(&common.neighbors);
            ek_ff_consent_all(&common.rules, &world, common.consented, &common.neighbors);
        }
        before = namespace;
        if (!*o->namespace || !strcmp(namespace, o->namespace))
            stuck += add_subscription(in, o, &world, &common, i, doc, array);
    }
    ek_buf_done(&common.neighbors);
    ek_free(common.consented);
    ek_free(hooks.items);
    return stuck;
}

static const char *cell(yyjson_val *v, const char *name)
{
    const char *text = ek_json_str(v, name, NULL);
    return text ? text : "";
}

int ek_ffc_table(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"namespace", "subscription", "mode", "class",
                                          "failing",   "cause",        "next", "message"};
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =
        ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
    size_t i, n;
    yyjson_val *v;

    (void)ctx;
    yyjson_arr_foreach(yyjson_obj_get(root, "subscriptions"), i, n, v)
    {
        yyjson_val *next = yyjson_obj_get(v, "next");
        bool stuck = *cell(v, "class") != '\0';
        EK_AUTOFREE char *step = ek_xasprintf(
            "%s%s%s", cell(next, "step"), *cell(next, "reason") ? ":" : "", cell(next, "reason"));
        const char *cells[] = {cell(v, "namespace"),
                               cell(v, "name"),
                               cell(v, "mode"),
                               stuck ? cell(v, "class") : "healthy",
                               cell(v, "failing"),
                               cell(v, "cause"),
                               step,
                               cell(next, "message")};
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 3, stuck ? EK_CELL_BAD : EK_CELL_GOOD);
    }
    int rc = ek_text_table_write(table, color, out);
    return rc ? rc : ek_ffp_table(root, color, out);
}
